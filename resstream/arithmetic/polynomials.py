"""Entries that are polynomials in random numbers, over the numbers of whatever a claim computes in.

They are how an expectation is read: a function of random entries is evaluated at unknowns, and moments take the place
of their powers. Coefficients are entries of an exact number system, or floats; what is no polynomial is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
from flint import fmpq

from resstream.arithmetic.duals import DualEntry
from resstream.arithmetic.entries import Entry, NoValue, place
from resstream.arithmetic.literals import Irrational
from resstream.arithmetic.rationals import RationalEntry
from resstream.errors import ArithmeticLimit, ClaimError, Undecided

Monomial = tuple[tuple[int, int], ...]
"""Powers by unknown, as sorted pairs (unknown, power of at least 1); () is the constant."""

LONGEST = 200_000
"""Products of two terms that one product of polynomials may take."""


class PolynomialEntry(Entry):
    """A polynomial in random unknowns. zero is the number 0 of its coefficients: an entry, or a float."""

    __slots__ = ("terms", "zero")

    def __init__(self, terms: Mapping[Monomial, Any], zero: Any) -> None:
        self.terms = dict(terms)
        self.zero = zero

    def __repr__(self) -> str:
        return " + ".join(f"{c}{''.join(f' x{i}^{p}' for i, p in m)}" for m, c in self.terms.items()) or "0"

    # -- numbers

    def of(self, value: fmpq) -> Entry:
        number = self.zero.of(value) if isinstance(self.zero, Entry) else int(value.p) / int(value.q)
        return self._constant(number)

    def _constant(self, value: Any) -> PolynomialEntry:
        return PolynomialEntry({(): value}, self.zero)

    def whole(self, value: int) -> Entry:
        return self.of(fmpq(value))

    def meet(self, other: Any) -> Any:
        if isinstance(other, (PolynomialEntry, NoValue)):
            return other
        if not isinstance(self.zero, Entry):
            if isinstance(other, (float, complex, np.floating, np.complexfloating)):
                return self._constant(other)
            if isinstance(other, Irrational):
                return self._constant(other.nearest)
            if isinstance(other, RationalEntry):
                return self.of(other.value)
            return super().meet(other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        met = self.zero.meet(other)
        return met if met is NotImplemented or isinstance(met, NoValue) else self._constant(met)

    def known_coefficient(self) -> Any | None:
        """The number that it is, as a coefficient; None where unknowns may be in it."""
        varying = (coefficient for monomial, coefficient in self.terms.items() if monomial)
        return self.terms.get((), self.zero) if all(map(_is_zero, varying)) else None

    def _settled(self, terms: dict[Monomial, Any]) -> Entry:
        for coefficient in terms.values():
            if isinstance(coefficient, NoValue):
                return coefficient
        return PolynomialEntry(terms, self.zero)

    # -- the table

    def plus(self, other: Any) -> Entry:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms[monomial] + coefficient if monomial in terms else coefficient
        return self._settled(terms)

    def times(self, other: Any) -> Entry:
        if len(self.terms) * len(other.terms) > LONGEST:
            raise Undecided(f"a product of polynomials of {len(self.terms):,} and {len(other.terms):,} terms")
        terms: dict[Monomial, Any] = {}
        for first, a in self.terms.items():
            for second, b in other.terms.items():
                monomial, product = _multiplied(first, second), a * b
                terms[monomial] = terms[monomial] + product if monomial in terms else product
        return self._settled(terms)

    def over(self, other: Any) -> Entry:
        divisor = other.known_coefficient()
        if divisor is None:
            refuse("a quotient by random entries")
        if not isinstance(divisor, Entry):
            divisor = np.float64(divisor) if not isinstance(divisor, complex) else np.complex128(divisor)
        return self._settled({monomial: coefficient / divisor for monomial, coefficient in self.terms.items()})

    def negative(self) -> Entry:
        return PolynomialEntry({monomial: -coefficient for monomial, coefficient in self.terms.items()}, self.zero)

    def frozen(self) -> Entry:
        return self

    # -- what is no polynomial

    def _of_number(self, what: str, exactly: Callable[[Any], Any], floating: Callable[[Any], Any]) -> Entry:
        value = self.known_coefficient()
        if value is None:
            refuse(what)
        found = exactly(value) if isinstance(value, Entry) else floating(value)
        return found if isinstance(found, NoValue) else self._constant(found)

    def size(self) -> Entry:
        return self._of_number("an absolute value", abs, abs)

    def square_root(self) -> Entry:
        return self._of_number("a square root", lambda x: x.square_root(), np.sqrt)

    def root(self, degree: int) -> Entry:
        return self._of_number("a root", lambda x: x.root(degree), lambda x: np.power(x, 1 / degree))

    def exponential(self) -> Entry:
        return self._of_number("an exponential", lambda x: x.exponential(), np.exp)

    def logarithm(self) -> Entry:
        return self._of_number("a logarithm", lambda x: x.logarithm(), np.log)

    def cosine(self) -> Entry:
        return self._of_number("a cosine", lambda x: x.cosine(), np.cos)

    def sine(self) -> Entry:
        return self._of_number("a sine", lambda x: x.sine(), np.sin)

    def hyperbolic_tangent(self) -> Entry:
        return self._of_number("a hyperbolic tangent", lambda x: x.hyperbolic_tangent(), np.tanh)

    def error_function(self) -> Entry:
        from scipy.special import erf  # loads slowly, and is hardly ever asked for

        return self._of_number("an error function", lambda x: x.error_function(), erf)

    def pi(self) -> Entry:
        return self._constant(self.zero.pi() if isinstance(self.zero, Entry) else np.pi)

    def larger(self, other: Any) -> Entry:
        first, second = self._two(other, "a maximum")
        if isinstance(first, Entry):
            larger = first.larger(second)
            return larger if isinstance(larger, NoValue) else self._constant(larger)
        return self._constant(max(first, second))

    def below(self, other: Any) -> bool | None:
        first, second = self._two(other, "a comparison")
        return bool(first < second)

    def same(self, other: Any) -> bool | None:
        first, second = self._two(other, "a comparison")
        return bool(first == second)

    def _two(self, other: Any, what: str) -> tuple[Any, Any]:
        first, second = self.known_coefficient(), other.known_coefficient()
        if first is None or second is None:
            refuse(f"{what} of random entries")
        return first, second


def _is_zero(coefficient: Any) -> bool:
    """Whether a coefficient certainly is zero."""
    try:
        return bool(coefficient == 0)
    except ArithmeticLimit:
        return False


def _multiplied(first: Monomial, second: Monomial) -> Monomial:
    if not first or not second:
        return first or second
    powers = dict(first)
    for unknown, power in second:
        powers[unknown] = powers.get(unknown, 0) + power
    return tuple(sorted(powers.items()))


def refuse(what: str) -> NoReturn:
    """Say that a function of random entries is no polynomial."""
    raise ClaimError(
        f"expectation: {what} in {place()} is no polynomial of the random entries, and has no exact mean here: "
        "expected + - * and whole powers, or a finite domain; other means are tested by resstream.statistical"
    )


def unknowns(shape: tuple[int, ...], zero: Any, start: int) -> np.ndarray[Any, Any]:
    """An array of different unknowns, numbered from `start` on, over the numbers of which `zero` is the 0."""
    one = zero.of(fmpq(1)) if isinstance(zero, Entry) else 1.0
    out = np.empty(shape, dtype=object)
    for number, index in enumerate(np.ndindex(shape), start):
        out[index] = PolynomialEntry({((number, 1),): one}, zero)
    return out


def averaged(entry: Any, moment: Callable[[Monomial], Any]) -> Any:
    """An entry with moments in the place of its powers of unknowns; the mean is taken of a derivative as well."""
    if isinstance(entry, DualEntry):
        value, slope = averaged(entry.value, moment), averaged(entry.slope, moment)
        return next((one for one in (value, slope) if isinstance(one, NoValue)), DualEntry(value, slope, entry.level))
    if not isinstance(entry, PolynomialEntry):
        return entry
    mean = entry.zero
    for monomial, coefficient in entry.terms.items():
        mean = mean + coefficient * moment(monomial)
    return mean


__all__ = ["Monomial", "PolynomialEntry", "averaged", "unknowns"]
