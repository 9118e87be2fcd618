"""Quotients of exponential sums: exact numbers (a_1 e^q_1 + ... + a_k e^q_k) / (b_1 e^r_1 + ...), all letters surds.

Softmax, sigmoid and tanh of scores that are rational, or are divided by the root of a whole number, are such numbers,
and so is what sums, products and quotients make of them. Here they can be told apart without an enclosure:
exponentials of different algebraic numbers are linearly independent over the algebraic numbers (Lindemann and
Weierstrass), so a sum is zero only where every coefficient is, and of one that is not, enough bits tell the sign,
relative to its largest exponential. So 1 - p is e^-s/(1 + e^-s) however large s is, and probabilities sum to 1. What is
no such number (most roots and logarithms) raises NotExact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic.balls import BallEntry, precision
from resstream.arithmetic.entries import Entry, NoValue, entries_of
from resstream.arithmetic.rationals import RationalEntry, exact_root, exact_value
from resstream.arithmetic.surds import BITS, Surd, sign_of
from resstream.errors import ArithmeticLimit, NotExact

MOST = 400
"""Products of two terms that one product of sums may take, beyond which it is given up."""

WORK = 100_000
"""Such products of one reading of a claim, beyond which that is given up: a few seconds."""

_left: ContextVar[list[int]] = ContextVar("left")

Sum = dict[Surd, Surd]
"""Coefficients, none of them zero, by exponent."""

_NOUGHT, _UNIT = Surd.of(0), Surd.of(1)
_ONE: Sum = {_NOUGHT: _UNIT}


class ExponentialEntry(Entry):
    """A quotient of two exponential sums; the largest exponential of the lower one is 1 = e^0, with coefficient 1.

    >>> from resstream.arithmetic import EXPONENTIAL, exp
    >>> x = exp(EXPONENTIAL.array([1, 2]))
    >>> isinstance(x[0], ExponentialEntry), bool(x[0] * x[0] == x[1])
    (True, True)
    """

    __slots__ = ("lower", "upper")

    def __init__(self, upper: Sum, lower: Sum = _ONE) -> None:
        self.upper, self.lower = _reduced(upper, lower)

    def __repr__(self) -> str:
        return repr(self.settled())

    def of(self, value: fmpq) -> Entry:
        return _constant(Surd.of(value))

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

    def root(self, degree: int) -> Entry:
        sign = self._sign()
        if sign <= 0:
            return self if sign == 0 else NoValue("root of a negative number", True)
        found = self._monomial()
        value = found and found[0].rational
        root = None if value is None else exact_root(value, degree)
        if found is None or root is None:
            raise NotExact(f"the root of degree {degree} of such a number is none, as a rule")
        return ExponentialEntry({found[1] / Surd.of(degree): Surd.of(root)})

    def _algebraic(self, name: str) -> Surd:
        """The number, where it is seen to be a surd; NotExact says of which function this was asked."""
        value = self._surd()
        if value is None:
            raise NotExact(f"{name} of a number that is not algebraic is no sum of exponentials")
        return value

    def _surd(self) -> Surd | None:
        if not self.upper:
            return _NOUGHT
        return self.upper.get(_NOUGHT) if len(self.upper) == 1 and self.lower == _ONE else None

    def _monomial(self) -> tuple[Surd, Surd] | None:
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
        factor, exponent = found
        return ExponentialEntry({exponent / Surd.of(2): factor.square_root()})

    def exponential(self) -> Entry:
        return ExponentialEntry({self._algebraic("exp"): _UNIT})

    def logarithm(self) -> Entry:
        if self._sign() <= 0:
            return NoValue("logarithm of a number that is not positive", True)
        found = self._monomial()
        if found is None or found[0] != _UNIT:
            raise NotExact("the logarithm of a sum of exponentials is none, as a rule")
        return _constant(found[1])

    def hyperbolic_tangent(self) -> Entry:
        up = {Surd.of(2) * self._algebraic("tanh"): _UNIT}
        return ExponentialEntry(_added(up, {_NOUGHT: -_UNIT}), _added(up, _ONE))

    def _at_nought(self, name: str, value: int) -> Entry:
        if self.upper:
            raise NotExact(f"{name} of a number other than zero is no sum of exponentials")
        return self.of(fmpq(value))

    def cosine(self) -> Entry:
        return self._at_nought("cos", 1)

    def sine(self) -> Entry:
        return self._at_nought("sin", 0)

    def error_function(self) -> Entry:
        return self._at_nought("erf", 0)

    def pi(self) -> Entry:
        raise NotExact("pi is no sum of exponentials")

    def settled(self) -> Entry:
        value = self._surd()
        if value is not None and value.rational is not None:
            return RationalEntry(value.rational)
        with precision(BITS):
            return BallEntry(_enclosure(self.upper) / _enclosure(self.lower))


def _constant(value: Surd) -> ExponentialEntry:
    return ExponentialEntry({_NOUGHT: value} if value else {})


def _reduced(upper: Sum, lower: Sum) -> tuple[Sum, Sum]:
    """The same quotient over a denominator whose largest exponential is 1 = e^0, with coefficient 1."""
    if not upper:
        return {}, _ONE
    top = max(lower)
    factor = lower[top]
    if top or factor != _UNIT:
        upper, lower = ({exponent - top: value / factor for exponent, value in each.items()} for each in (upper, lower))
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
        if value:
            found[exponent] = value
    return found


def _product(first: Sum, second: Sum) -> Sum:
    if first is _ONE or second is _ONE:
        return second if first is _ONE else first
    products = len(first) * len(second)
    if products > MOST:
        raise ArithmeticLimit(f"a sum of more than {MOST} exponentials")
    if left := _left.get(None):
        left[0] -= products
        if left[0] < 0:
            raise ArithmeticLimit(f"more than {WORK} products of exponentials")
    found: Sum = {}
    for exponent, factor in first.items():
        for more, value in second.items():
            both = exponent + more
            found[both] = found.get(both, _NOUGHT) + factor * value
    return {exponent: factor for exponent, factor in found.items() if factor}


def _enclosure(terms: Sum) -> arb:
    return sum((factor.enclosure() * exponent.enclosure().exp() for exponent, factor in terms.items()), arb(0))


def _sign(terms: Sum) -> int:
    """-1, 0 or 1: zero where there is no term, and else by enclosures relative to the largest exponential."""
    if not terms:
        return 0
    top = max(terms)
    return sign_of(lambda: _enclosure({exponent - top: factor for exponent, factor in terms.items()}))


@dataclass(frozen=True)
class Exponential:
    """The number system of quotients of exponential sums."""

    name: str = "exponential sums"

    def array(self, values: Any) -> np.ndarray[Any, Any]:
        """The values (floats, integers, `Fraction`, `fmpq`; any shape) as entries."""
        values = np.asarray(values, dtype=object)
        return entries_of([_constant(Surd.of(exact_value(value))) for value in values.ravel().tolist()], values.shape)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Where the entries are computed with, as far as the work goes."""
        before = _left.set([WORK])
        try:
            yield
        finally:
            _left.reset(before)


EXPONENTIAL = Exponential()
