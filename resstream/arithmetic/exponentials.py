"""Quotients of exponential sums: exact numbers (a_1 e^q_1 + ... + a_k e^q_k) / (b_1 e^r_1 + ...), all letters rational.

Softmax, sigmoid and tanh of rational scores are such numbers, and so is what sums, products and quotients make of
them. Here they can be told apart without an enclosure: exponentials of different rationals are linearly independent
over the rationals (Lindemann and Weierstrass), so a sum is zero only where every coefficient is, and of one that is
not, enough bits tell the sign, relative to its largest exponential. So 1 - p is e^-s/(1 + e^-s) however large s is, and
probabilities sum to 1. What is no such number (most roots and logarithms) raises NotExact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from resstream.arithmetic.balls import BallEntry
from resstream.arithmetic.entries import Entry, NoValue, entries_of
from resstream.arithmetic.rationals import RationalEntry, exact_value
from resstream.errors import ArithmeticLimit, NotExact, Undecided

MOST = 400
"""Terms of a sum, beyond which it is given up."""

_BITS = 128  # of the first enclosure of a sum, and of what is shown
_MOST_BITS = 2**14

Sum = dict[fmpq, fmpq]
"""Coefficients, none of them zero, by exponent."""

_NOUGHT = fmpq(0)
_ONE: Sum = {_NOUGHT: fmpq(1)}


class ExponentialEntry(Entry):
    """A quotient of two exponential sums; the largest exponential of the lower one is 1 = e^0, with coefficient 1."""

    __slots__ = ("lower", "upper")

    def __init__(self, upper: Sum, lower: Sum = _ONE) -> None:
        self.upper, self.lower = _reduced(upper, lower)

    def __repr__(self) -> str:
        return repr(self.settled())

    def of(self, value: fmpq) -> Entry:
        return ExponentialEntry({_NOUGHT: value} if value != 0 else {})

    def plus(self, other: Any) -> Entry:
        if self.lower == other.lower:
            return ExponentialEntry(_added(self.upper, other.upper), self.lower)
        upper = _added(_product(self.upper, other.lower), _product(other.upper, self.lower))
        return ExponentialEntry(upper, _product(self.lower, other.lower))

    def times(self, other: Any) -> Entry:
        return ExponentialEntry(_product(self.upper, other.upper), _product(self.lower, other.lower))

    def over(self, other: Any) -> Entry:
        if not other.upper:
            return NoValue("division by zero", True)
        return ExponentialEntry(_product(self.upper, other.lower), _product(self.lower, other.upper))

    def negative(self) -> Entry:
        return ExponentialEntry({exponent: -factor for exponent, factor in self.upper.items()}, self.lower)

    def _sign(self) -> int:
        return _sign(self.upper) * _sign(self.lower)

    def size(self) -> Entry:
        return self if self._sign() >= 0 else self.negative()

    def larger(self, other: Any) -> Entry:
        return other if self.below(other) else self

    def below(self, other: Any) -> bool | None:
        difference = self.minus(other)
        assert isinstance(difference, ExponentialEntry)
        return difference._sign() < 0

    def same(self, other: Any) -> bool | None:
        difference = self.minus(other)
        assert isinstance(difference, ExponentialEntry)
        return not difference.upper

    def _rational(self) -> fmpq | None:
        """The number, where it is seen to be rational."""
        if not self.upper:
            return fmpq(0)
        return self.upper.get(_NOUGHT) if len(self.upper) == 1 and self.lower == _ONE else None

    def _monomial(self) -> tuple[fmpq, fmpq] | None:
        """(coefficient, exponent) of a number a e^q that is not zero."""
        if len(self.upper) != 1 or self.lower != _ONE:
            return None
        ((exponent, factor),) = self.upper.items()
        return factor, exponent

    def square_root(self) -> Entry:
        sign = self._sign()
        if sign <= 0:
            return self if sign == 0 else NoValue("square root of a negative number", True)
        found = self._monomial()
        if found is None:
            raise NotExact("the square root of a sum of exponentials is none, as a rule")
        root = RationalEntry(found[0]).square_root()
        assert isinstance(root, RationalEntry)
        return ExponentialEntry({found[1] / 2: root.value})

    def _at_rational(self, name: str) -> fmpq:
        value = self._rational()
        if value is None:
            raise NotExact(f"{name} of a number that is not rational is no sum of exponentials")
        return value

    def exponential(self) -> Entry:
        return ExponentialEntry({self._at_rational("exp"): fmpq(1)})

    def logarithm(self) -> Entry:
        if self._sign() <= 0:
            return NoValue("logarithm of a number that is not positive", True)
        found = self._monomial()
        if found is None or found[0] != 1:
            raise NotExact("the logarithm of a sum of exponentials is none, as a rule")
        return self.of(found[1])

    def hyperbolic_tangent(self) -> Entry:
        twice = 2 * self._at_rational("tanh")
        up = {twice: fmpq(1)}
        return ExponentialEntry(_added(up, {_NOUGHT: fmpq(-1)}), _added(up, _ONE))

    def _of_a_rational(self, name: str, method: str) -> Entry:
        found = getattr(RationalEntry(self._at_rational(name)), method)()
        return self.of(found.value)

    def cosine(self) -> Entry:
        return self._of_a_rational("cos", "cosine")

    def sine(self) -> Entry:
        return self._of_a_rational("sin", "sine")

    def error_function(self) -> Entry:
        return self._of_a_rational("erf", "error_function")

    def pi(self) -> Entry:
        raise NotExact("pi is no sum of exponentials")

    def settled(self) -> Entry:
        value = self._rational()
        if value is not None:
            return RationalEntry(value)
        return BallEntry(_enclosure(self.upper, _BITS) / _enclosure(self.lower, _BITS))


def _reduced(upper: Sum, lower: Sum) -> tuple[Sum, Sum]:
    """The same quotient over a denominator whose largest exponential is 1 = e^0, with coefficient 1."""
    if not upper:
        return {}, _ONE
    top = max(lower)
    factor = lower[top]
    if top != 0 or factor != 1:
        upper, lower = (
            {exponent - top: value / factor for exponent, value in each.items()} for each in (upper, lower)
        )
    if len(lower) > 1 and len(upper) == len(lower):  # all of a softmax together: a multiple of its denominator
        shift = max(upper)
        scale = upper[shift]
        if all(upper.get(exponent + shift) == scale * value for exponent, value in lower.items()):
            return {shift: scale}, _ONE
    return upper, lower


def _added(first: Sum, second: Sum) -> Sum:
    found = dict(first)
    for exponent, factor in second.items():
        value = found.pop(exponent, _NOUGHT) + factor
        if value != 0:
            found[exponent] = value
    return found


def _product(first: Sum, second: Sum) -> Sum:
    if first is _ONE or second is _ONE:
        return second if first is _ONE else first
    if len(first) * len(second) > MOST:
        raise ArithmeticLimit(f"a sum of more than {MOST} exponentials")
    found: Sum = {}
    for exponent, factor in first.items():
        found = _added(found, {exponent + more: factor * value for more, value in second.items()})
    return found


def _enclosure(terms: Sum, bits: int) -> arb:
    with _precision(bits):
        return sum((factor * arb(exponent).exp() for exponent, factor in terms.items()), arb(0))


def _sign(terms: Sum) -> int:
    """-1, 0 or 1: by coefficients alone where there is no term, and else by an enclosure relative to the largest."""
    if not terms:
        return 0
    top, bits = max(terms), _BITS
    relative = {exponent - top: factor for exponent, factor in terms.items()}
    while bits <= _MOST_BITS:
        value = _enclosure(relative, bits)
        if value > 0:
            return 1
        if value < 0:
            return -1
        bits *= 2
    raise Undecided(f"the sign of a sum of exponentials is not known at {_MOST_BITS} bits")


@contextmanager
def _precision(bits: int) -> Iterator[None]:
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


@dataclass(frozen=True)
class Exponential:
    """The number system of quotients of exponential sums."""

    name: str = "exponential sums"

    def array(self, values: Any) -> np.ndarray[Any, Any]:
        """The values (floats, integers, `Fraction`, `fmpq`; any shape) as entries."""
        values = np.asarray(values, dtype=object)
        nought = ExponentialEntry({})
        return entries_of([nought.of(exact_value(value)) for value in values.ravel().tolist()], values.shape)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Where the entries are computed with: anywhere."""
        yield


EXPONENTIAL = Exponential()
