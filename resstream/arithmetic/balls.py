"""Ball entries (`flint.arb`): enclosures at a chosen precision, which hold the true value.

An entry also knows whether its number is nonnegative *by its form* (a square, an absolute value, a sum of such), which
an enclosure that touches zero cannot tell: the square root of such a number exists, and its enclosure is cut at zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter, is_
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from resstream.arithmetic.entries import SMALL, Entry, NoValue, entries_of
from resstream.arithmetic.literals import to_fmpq

_flag = attrgetter("nonnegative")


class BallEntry(Entry):
    """An enclosure of a real number, and whether that is certainly at least zero by its form.

    >>> with precision(64):
    ...     third = BallEntry(arb(1)) / 3
    >>> third, third.nonnegative
    ([0.3333333333333333333 +/- 4.24e-20], False)
    """

    __slots__ = ("nonnegative", "value")

    def __init__(self, value: arb, nonnegative: bool = False) -> None:
        self.value = value
        self.nonnegative = nonnegative

    def __repr__(self) -> str:
        return str(self.value.str(20))

    def of(self, value: fmpq) -> Entry:
        return BallEntry(arb(value), bool(value >= 0))

    def whole(self, value: int) -> Entry:
        return _WHOLE[value]

    def adopt(self, value: Any) -> Entry | None:
        return BallEntry(value) if isinstance(value, arb) else None

    @staticmethod
    def matrix_product(rows: list[Any], columns: list[Any]) -> list[Any] | None:
        first, second = (arb_mat([[entry.value for entry in line] for line in lines]) for lines in (rows, columns))
        above, across = ([all(entry.nonnegative for entry in line) for line in lines] for lines in (rows, columns))
        # A sum of products of nonnegative numbers is nonnegative by its form, and so is a sum of squares.
        flags = [
            (above[i] and across[j]) or (i == j and all(map(is_, row, column)))
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
        ]
        return list(map(BallEntry, (first * second.transpose()).entries(), flags))

    @staticmethod
    def sum_of(line: list[Any]) -> Entry | None:
        value = sum([entry.value for entry in line[1:]], start=line[0].value)
        return BallEntry(value, all(map(_flag, line)))

    @staticmethod
    def largest_of(line: list[Any]) -> Entry | None:
        value = reduce(arb.max, [entry.value for entry in line])
        return BallEntry(value, any(map(_flag, line)))

    def plus(self, other: Any) -> Entry:
        return BallEntry(self.value + other.value, self.nonnegative and other.nonnegative)

    def minus(self, other: Any) -> Entry:
        return BallEntry(self.value - other.value)

    def times(self, other: Any) -> Entry:
        return BallEntry(self.value * other.value, (self.nonnegative and other.nonnegative) or self is other)

    def over(self, other: Any) -> Entry:
        quotient = self.value / other.value
        if quotient.is_finite():
            return BallEntry(quotient, self.nonnegative and other.nonnegative)
        if other.value == 0:
            return NoValue("division by zero", True)
        return NoValue("division by a number that may be zero", False)

    def negative(self) -> Entry:
        return BallEntry(-self.value)

    def size(self) -> Entry:
        return BallEntry(abs(self.value), True)

    def larger(self, other: Any) -> Entry:
        return BallEntry(self.value.max(other.value), self.nonnegative or other.nonnegative)

    def below(self, other: Any) -> bool | None:
        if self.value < other.value:
            return True
        if self.value >= other.value or self is other or (self.nonnegative and other.value <= 0):
            return False
        return None

    def same(self, other: Any) -> bool | None:
        if self.value != other.value:
            return False
        return True if self.value == other.value or self is other else None

    def square_root(self) -> Entry:
        value = self.value
        if value < 0:
            return NoValue(f"square root of the negative number {value.mid().str(6, radius=False)}", True)
        if not value.lower() < 0:
            return BallEntry(value.sqrt(), True)
        if self.nonnegative:
            return BallEntry(arb(0).union(value.upper().sqrt()), True)
        return NoValue("square root of a number that may be negative", False)

    def root(self, degree: int) -> Entry:
        value = self.value
        if value < 0:
            return NoValue(f"root of the negative number {value.mid().str(6, radius=False)}", True)
        if value > 0:
            return BallEntry(value.root(degree), True)
        if value.lower() < 0 and not self.nonnegative:
            return NoValue("root of a number that may be negative", False)
        top = value.upper()
        return BallEntry(arb(0).union(top.root(degree)) if top > 0 else arb(0), True)

    def _finite(self, value: arb, nonnegative: bool = False) -> Entry:
        """The entry of a value, unless the enclosure is the whole line."""
        return BallEntry(value, nonnegative) if value.is_finite() else NoValue("overflow", False, unbounded=True)

    def exponential(self) -> Entry:
        return self._finite(self.value.exp(), True)

    def logarithm(self) -> Entry:
        value = self.value
        if value > 0:
            return self._finite(value.log())
        if value <= 0:
            return NoValue(f"logarithm of {value.mid().str(6, radius=False)}", True)
        return NoValue("logarithm of a number that may not be positive", False)

    def cosine(self) -> Entry:
        return self._finite(self.value.cos())

    def sine(self) -> Entry:
        return self._finite(self.value.sin())

    def hyperbolic_tangent(self) -> Entry:
        return self._finite(self.value.tanh())

    def error_function(self) -> Entry:
        return self._finite(self.value.erf())

    def pi(self) -> Entry:
        return BallEntry(arb.pi(), True)


_WHOLE = {value: BallEntry(arb(value), value >= 0) for value in SMALL}  # exact at every precision


@dataclass(frozen=True)
class Ball:
    """Ball arithmetic at a working precision of `bits` bits: every entry is an interval that holds the true value.

    >>> from resstream.arithmetic import exact
    >>> with Ball(64).working():
    ...     third = Ball(64).array([1]) / 3
    >>> third, bool((third < exact("0.34")).all())
    (Entries([[0.3333333333333333333 +/- 4.24e-20]], dtype=object), True)
    """

    bits: int = 128

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"ball({self.bits})"

    def array(self, values: Any) -> np.ndarray[Any, Any]:
        """The values (floats, integers, `Fraction`, `fmpq`, balls; any shape) as entries."""
        values = np.asarray(values, dtype=object)
        with self.working():
            return entries_of([_entry(value) for value in values.ravel().tolist()], values.shape)

    def working(self) -> AbstractContextManager[None]:
        """Where the entries are computed with."""
        return precision(self.bits)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Where FLINT computes with that many bits: its precision is global to the process, and set here alone."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def _entry(value: Any) -> Entry:
    if type(value) is float and value - value == 0:  # the usual case first, and exact
        return BallEntry(arb(value), value >= 0)
    if isinstance(value, Entry):
        value = value.value
    if isinstance(value, arb):
        return BallEntry(value)
    value = to_fmpq(value)
    return BallEntry(arb(value), bool(value >= 0))
