"""Exact numbers as a claim writes them, and how numbers of any kind are turned into exact ones."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from resstream.errors import DomainError

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
    """
    if type(value) is float and value - value == 0:  # the usual case first; NaN and infinities go on
        return fmpq(*value.as_integer_ratio())
    if isinstance(value, fmpq):
        return value
    if isinstance(value, (int, np.integer, np.bool_, fmpz)):
        return fmpq(int(value))
    if isinstance(value, Exact):
        value = value.value
    if isinstance(value, str):
        value = read_number(value)
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    if not isinstance(value, (float, np.floating)):
        raise DomainError(f"expected a real number, got {type(value).__name__} {value!r:.40}")
    value = float(value)
    if not np.isfinite(value):
        raise DomainError(f"expected a finite number, got {value}")
    return fmpq(*value.as_integer_ratio())


def to_fraction(value: Any) -> Fraction:
    """The exact value of a raw entry as a `Fraction`."""
    value = to_fmpq(value)
    return Fraction(int(value.p), int(value.q))


class Exact:
    """An exact rational literal, read into the number system of whatever it meets: `exact(99, 100) * x`.

    A Python `0.99` is a dyadic number beside 99/100, and a `Fraction` turns a float array into objects; this does
    neither.
    """

    __array_ufunc__ = None  # so that `array * exact(1, 2)` comes here and not to NumPy's object loop
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"exact({self.value.numerator}, {self.value.denominator})"

    def _meet(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, (Exact, int, Fraction)):
            value = operation(self.value, Fraction(other.value if isinstance(other, Exact) else other))
            return Exact(value) if isinstance(value, Fraction) else value
        from resstream.arithmetic import constant  # the number systems know of literals, not the other way round

        return operation(constant(self.value, like=other), other)

    def __add__(self, other: Any) -> Any:
        return self._meet(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._meet(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._meet(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Any:
        return self._meet(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b / a)

    def __pow__(self, power: int) -> Exact:
        return Exact(self.value**power)

    def __neg__(self) -> Exact:
        return Exact(-self.value)

    def __abs__(self) -> Exact:
        return Exact(abs(self.value))

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
