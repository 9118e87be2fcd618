"""Exact numbers as a claim writes them, and how numbers of any kind are turned into exact ones."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from resstream.errors import DomainError, NotExact

DIGITS = 2000
"""Of a number written as text, with its exponent written out."""

_WRITTEN = re.compile(r"\s*[-+]?(\d*)(?:/(\d+)|\.?(\d*)(?:[eE]([-+]?\d{1,9}))?)\s*", re.ASCII)


def read_number(text: str) -> Fraction:
    """The exact value of a decimal or a fraction written as text: "0.1", "-3/7", "1e-9".

    DomainError where it is neither, has a zero below, or more than 2,000 digits.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None or len(text) > DIGITS or abs(int(found[4] or 0)) > DIGITS:
        shown = text if len(text) <= 40 else text[:40] + "..."
        raise DomainError(f"expected a decimal or a fraction of at most {DIGITS} digits, got {shown!r}")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise DomainError(f"expected a decimal or a fraction such as '0.1' or '-3/7', got {text!r}") from None


def to_fmpq(value: Any) -> fmpq:
    """The exact value of a float, integer, `Fraction`, number as text, `Exact` or `fmpq`.

    NaN, infinity and what is no real number raise DomainError.

    >>> to_fmpq(0.1), to_fmpq("1/3")
    (3602879701896397/36028797018963968, 1/3)
    """
    if type(value) is float and value - value == 0:  # the usual case first; NaN and infinities go on
        return fmpq(*value.as_integer_ratio())
    if isinstance(value, fmpq):
        return value
    if isinstance(value, (int, np.integer, np.bool_, fmpz)):
        return fmpq(int(value))
    if isinstance(value, Exact):
        value = value.value
    if isinstance(value, Irrational):
        raise NotExact(f"{value} is not rational")
    if isinstance(value, str):
        value = read_number(value)
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    if not isinstance(value, (float, np.floating)):
        raise DomainError(f"expected a real number, got {type(value).__name__} {value!r:.40}")
    if not np.isfinite(value):
        raise DomainError(f"expected a finite number, got {value}")
    return fmpq(*value.as_integer_ratio())


def to_fraction(value: Any) -> Fraction:
    """The exact value of a raw entry as a `Fraction`.

    >>> to_fraction(0.5)
    Fraction(1, 2)
    """
    value = to_fmpq(value)
    return Fraction(int(value.p), int(value.q))


class Literal:
    """A number as a claim writes it, read into the number system of whatever it meets.

    >>> from resstream.arithmetic import pi
    >>> isinstance(exact(1, 3), Literal), isinstance(pi, Literal), isinstance(0.5, Literal)
    (True, True, False)
    """

    __array_ufunc__ = None  # so that `array * exact(1, 2)` comes here and not to NumPy's object loop
    __hash__ = None  # type: ignore[assignment]

    def _meet(self, other: Any, operation: Callable[[Any, Any], Any], turned: bool = False) -> Any:
        """The operation on this number and another operand of whatever kind, or on these in the other order."""
        from resstream.arithmetic import constant  # the number systems know of literals, not the other way round

        own = constant(self, like=other)
        return operation(other, own) if turned else operation(own, other)

    def __add__(self, other: Any) -> Any:
        return self._meet(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._meet(other, operator.add, turned=True)

    def __sub__(self, other: Any) -> Any:
        return self._meet(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._meet(other, operator.sub, turned=True)

    def __mul__(self, other: Any) -> Any:
        return self._meet(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._meet(other, operator.mul, turned=True)

    def __truediv__(self, other: Any) -> Any:
        return self._meet(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._meet(other, operator.truediv, turned=True)

    def __pos__(self) -> Any:
        return self

    def __lt__(self, other: Any) -> Any:
        return self._meet(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._meet(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._meet(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._meet(other, operator.ge)

    def __eq__(self, other: Any) -> Any:
        return self._meet(other, operator.eq)

    def __ne__(self, other: Any) -> Any:
        return self._meet(other, operator.ne)


_FRACTIONS = (int, np.integer, Fraction)
"""What a literal computes with as with a number that it knows."""


class Exact(Literal):
    """An exact rational literal: `exact(99, 100) * x`.

    A Python `0.99` is a dyadic number beside 99/100, and a `Fraction` turns a float array into objects; this does
    neither.

    >>> from resstream.arithmetic import RATIONAL
    >>> Exact(Fraction(99, 100)) * np.array([100.0]), Exact(Fraction(1, 3)) * RATIONAL.array([3])
    (array([99.]), Entries([1], dtype=object))
    """

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"exact({self.value.numerator}, {self.value.denominator})"

    def _meet(self, other: Any, operation: Callable[[Any, Any], Any], turned: bool = False) -> Any:
        if isinstance(other, Irrational):
            return _as_irrational(self)._meet(other, operation, turned)
        if not isinstance(other, (Exact, *_FRACTIONS)):
            return super()._meet(other, operation, turned)
        known = to_fraction(other)
        value = operation(known, self.value) if turned else operation(self.value, known)
        return Exact(value) if isinstance(value, Fraction) else value

    def __pow__(self, power: int) -> Exact:
        return Exact(self.value**power)

    def __neg__(self) -> Exact:
        return Exact(-self.value)

    def __abs__(self) -> Exact:
        return Exact(abs(self.value))


class Irrational(Literal):
    """A literal of a number such as pi or pi/4, which is no fraction by its form.

    nearest is a float64 near it, of_system gives its entry in the number system of a given entry.

    >>> from resstream.arithmetic import pi
    >>> isinstance(pi / 4, Irrational), (pi / 4).nearest
    (True, 0.7853981633974483)
    """

    def __init__(self, text: str, nearest: float, of_system: Callable[[Any], Any]) -> None:
        self.text = text
        self.nearest = nearest
        self.of_system = of_system

    def __repr__(self) -> str:
        return self.text

    def _meet(self, other: Any, operation: Callable[[Any, Any], Any], turned: bool = False) -> Any:
        if not isinstance(other, (Literal, *_FRACTIONS)):
            return super()._meet(other, operation, turned)
        other = other if isinstance(other, Irrational) else _as_irrational(other)
        first, second = (other, self) if turned else (self, other)
        if operation not in _SIGNS:  # a comparison
            from resstream.arithmetic import Ball

            with (system := Ball(COMPARED)).working():
                (zero,) = system.array([0])
                return operation(first.of_system(zero), second.of_system(zero))
        return Irrational(
            f"({first} {_SIGNS[operation]} {second})",
            operation(first.nearest, second.nearest),
            lambda like: operation(first.of_system(like), second.of_system(like)),
        )

    def __pow__(self, power: int) -> Irrational:
        return Irrational(f"{self}**{power}", self.nearest**power, lambda like: self.of_system(like) ** power)

    def __neg__(self) -> Irrational:
        return Irrational(f"(-{self})", -self.nearest, lambda like: -self.of_system(like))

    def __abs__(self) -> Irrational:
        return Irrational(f"abs({self})", abs(self.nearest), lambda like: abs(self.of_system(like)))


def _as_irrational(number: Any) -> Irrational:
    value = to_fraction(number)
    return Irrational(str(value), float(value), lambda like: like.of(to_fmpq(value)))


COMPARED = 1024
"""Bits at which literals are compared with each other; Undecided where these do not tell."""

_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}

pi = Irrational("pi", math.pi, lambda like: like.pi())
e = Irrational("e", math.e, lambda like: like.of(fmpq(1)).exponential())


def exact(numerator: int | str | Fraction, denominator: int = 1) -> Exact:
    """The exact rational number numerator/denominator, as a literal for claims.

    Raises DomainError for a float (write it as text: `exact("0.1")`), for text that is no number, and for a zero below.

    >>> from resstream.arithmetic import FLOAT64, RATIONAL
    >>> exact(99, 100) * FLOAT64.array([2.0])
    array([1.98])
    >>> exact(1, 3) * RATIONAL.array([2])
    Entries([2/3], dtype=object)
    """
    for name, value in (("numerator", numerator), ("denominator", denominator)):
        if not isinstance(value, (int, str, Fraction)):
            mend = f": write exact({str(value)!r})" if isinstance(value, float) else ""
            raise DomainError(f"{name}: expected a whole number, a Fraction or text, got {value!r:.40}{mend}")
    above, below = (read_number(value) if isinstance(value, str) else value for value in (numerator, denominator))
    if below == 0:
        raise DomainError("denominator: expected another number than 0")
    return Exact(Fraction(above) / Fraction(below))
