"""Rational entries (`flint.fmpq`): exact, where a value is rational; what is not raises NotExact."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from resstream.arithmetic.entries import SMALL, Entry, NoValue, entries_of
from resstream.arithmetic.literals import to_fmpq
from resstream.errors import ArithmeticLimit, NotExact

LARGEST_BITS = 2**15
"""Of a numerator or a denominator: an operation takes milliseconds there, and what iterates a polynomial map makes them
grow with every step by its degree, without end. Balls, which are asked next, do not grow.
"""


class RationalEntry(Entry):
    """An exact rational number.

    >>> RationalEntry(fmpq(1, 3)) + 1
    4/3
    """

    __slots__ = ("value",)

    def __init__(self, value: fmpq) -> None:
        self.value = value

    def __repr__(self) -> str:
        return str(self.value)

    def _sympy_(self) -> Any:
        """How SymPy's own functions read the entry."""
        from sympy import Rational as SympyRational

        return SympyRational(int(self.value.p), int(self.value.q))

    def of(self, value: fmpq) -> Entry:
        return RationalEntry(value)

    @staticmethod
    def matrix_product(rows: list[Any], columns: list[Any]) -> list[Any] | None:
        first, second = (fmpq_mat([[entry.value for entry in line] for line in lines]) for lines in (rows, columns))
        return list(map(_bounded, (first * second.transpose()).entries()))

    @staticmethod
    def sum_of(line: list[Any]) -> Entry | None:
        return RationalEntry(sum([entry.value for entry in line[1:]], start=line[0].value))

    @staticmethod
    def largest_of(line: list[Any]) -> Entry | None:
        return max(line, key=lambda entry: entry.value)

    def known(self) -> fmpq | None:
        return self.value

    def whole(self, value: int) -> Entry:
        return _WHOLE[value]

    def plus(self, other: Any) -> Entry:
        return _bounded(self.value + other.value)

    def minus(self, other: Any) -> Entry:
        return _bounded(self.value - other.value)

    def times(self, other: Any) -> Entry:
        return _bounded(self.value * other.value)

    def over(self, other: Any) -> Entry:
        return _bounded(self.value / other.value) if other.value != 0 else NoValue("division by zero", True)

    def negative(self) -> Entry:
        return RationalEntry(-self.value)

    def size(self) -> Entry:
        return RationalEntry(abs(self.value))

    def larger(self, other: Any) -> Entry:
        return self if self.value >= other.value else other

    def below(self, other: Any) -> bool | None:
        return bool(self.value < other.value)

    def same(self, other: Any) -> bool | None:
        return bool(self.value == other.value)

    def square_root(self) -> Entry:
        if self.value < 0:
            return NoValue(f"square root of the negative number {self.value}", True)
        root, rest = self.value.p.sqrtrem()
        other, other_rest = self.value.q.sqrtrem()
        if rest or other_rest:
            raise NotExact(f"the square root of {self.value} is not rational")
        return RationalEntry(fmpq(root, other))

    def root(self, degree: int) -> Entry:
        if self.value < 0:
            return NoValue(f"root of the negative number {self.value}", True)
        found = exact_root(self.value, degree)
        if found is None:
            raise NotExact(f"the root of degree {degree} of {self.value} is not rational")
        return RationalEntry(found)

    def _known(self, name: str, at: int, value: int) -> Entry:
        """A transcendental function: rational at one rational number alone."""
        if self.value == at:
            return RationalEntry(fmpq(value))
        raise NotExact(f"{name}({self.value}) is not rational")

    def exponential(self) -> Entry:
        return self._known("exp", 0, 1)

    def logarithm(self) -> Entry:
        if self.value <= 0:
            return NoValue(f"logarithm of {self.value}", True)
        return self._known("log", 1, 0)

    def cosine(self) -> Entry:
        return self._known("cos", 0, 1)

    def sine(self) -> Entry:
        return self._known("sin", 0, 0)

    def hyperbolic_tangent(self) -> Entry:
        return self._known("tanh", 0, 0)

    def error_function(self) -> Entry:
        return self._known("erf", 0, 0)

    def pi(self) -> Entry:
        raise NotExact("pi is not rational")


def _bounded(value: fmpq) -> RationalEntry:
    """The entry of a result, or ArithmeticLimit where it is too long."""
    if value.height_bits() > LARGEST_BITS:
        raise ArithmeticLimit(f"a fraction of more than {LARGEST_BITS:,} bits")
    return RationalEntry(value)


def exact_root(value: fmpq, degree: int) -> fmpq | None:
    """The root of a nonnegative rational number where that is rational."""
    found = fmpq(value.p.root(degree), value.q.root(degree))
    return found if found**degree == value else None


_WHOLE = {value: RationalEntry(fmpq(value)) for value in SMALL}


@dataclass(frozen=True)
class Rational:
    """The number system of exact rational entries."""

    name: str = "rational"

    def array(self, values: Any) -> np.ndarray[Any, Any]:
        """The values (floats, integers, `Fraction`, `fmpq`; any shape) as entries."""
        values = np.asarray(values, dtype=object)
        return entries_of([RationalEntry(exact_value(value)) for value in values.ravel().tolist()], values.shape)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Where the entries are computed with: anywhere."""
        yield


def one_entry(entry: Any) -> np.ndarray[Any, Any]:
    """An array without axes that holds one entry.

    >>> one_entry(RationalEntry(fmpq(1, 3))).shape
    ()
    """
    out = np.empty((), dtype=object)
    out[()] = entry
    return out


def exact_value(value: Any) -> fmpq:
    """The rational value of a raw number or of a rational entry."""
    return value.value if isinstance(value, RationalEntry) else to_fmpq(value)


RATIONAL = Rational()
