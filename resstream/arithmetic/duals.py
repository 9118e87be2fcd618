"""Entries with a derivative: a + a' t with t^2 = 0, over the entries of any exact number system.

The derivatives that are being taken are numbered, so that one inside another is not mistaken for it.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from resstream.arithmetic.entries import Entry, NoValue
from resstream.errors import Kink


class DualEntry(Entry):
    """A value and its slope along the direction of derivative number `level`.

    >>> from resstream.arithmetic import RationalEntry
    >>> x = DualEntry(RationalEntry(fmpq(3)), RationalEntry(fmpq(1)), 1)
    >>> (x * x).value, (x * x).slope
    (9, 6)
    """

    __slots__ = ("level", "slope", "value")

    def __init__(self, value: Any, slope: Any, level: int) -> None:
        self.value = value
        self.slope = slope
        self.level = level

    def __repr__(self) -> str:
        return f"{self.value} + {self.slope} t"

    def of(self, value: fmpq) -> Entry:
        return self._constant(self.value.of(value))

    def _constant(self, value: Any) -> DualEntry:
        return DualEntry(value, value.of(fmpq(0)), self.level)

    def adopt(self, value: Any) -> Entry | None:
        adopted = self.value.adopt(value)
        return None if adopted is None else self._constant(adopted)

    def meet(self, other: Any) -> Any:
        if isinstance(other, Entry) and not isinstance(other, (DualEntry, NoValue)):
            return self._constant(other)
        return super().meet(other)

    def _pair(self, other: DualEntry) -> tuple[DualEntry, DualEntry]:
        """Both operands with the slopes of the inner derivative: what knows the outer alone is a constant there."""
        if self.level > other.level:
            return self, self._constant(other)
        return (self, other) if self.level == other.level else (other._constant(self), other)

    def _with(self, value: Any, slope: Any) -> Entry:
        for part in (value, slope):
            if isinstance(part, NoValue):
                return part
        return DualEntry(value, slope, self.level)

    def plus(self, other: Any) -> Entry:
        a, b = self._pair(other)
        return a._with(a.value + b.value, a.slope + b.slope)

    def minus(self, other: Any) -> Entry:
        a, b = self._pair(other)
        return a._with(a.value - b.value, a.slope - b.slope)

    def times(self, other: Any) -> Entry:
        a, b = self._pair(other)
        return a._with(a.value * b.value, a.value * b.slope + a.slope * b.value)

    def over(self, other: Any) -> Entry:
        a, b = self._pair(other)
        quotient = a.value / b.value
        return a._with(quotient, (a.slope - quotient * b.slope) / b.value)

    def negative(self) -> Entry:
        return self._with(-self.value, -self.slope)

    def size(self) -> Entry:
        if self.value > 0:
            return self
        if self.value < 0:
            return self.negative()
        return self._at_kink(self.slope == 0, self)

    def larger(self, other: Any) -> Entry:
        a, b = self._pair(other)
        if a.value > b.value:
            return a
        if a.value < b.value:
            return b
        return self._at_kink(a.slope == b.slope, a)

    @staticmethod
    def _at_kink(smooth: bool, result: Entry) -> Entry:
        if not smooth:
            raise Kink("derivative asked at a kink (absolute value, maximum or ReLU of equal values)")
        return result

    def square_root(self) -> Entry:
        root = self.value.square_root()
        return self._with(root, self.slope / (2 * root))

    def root(self, degree: int) -> Entry:
        root = self.value.root(degree)
        return self._with(root, self.slope / (degree * root ** (degree - 1)))

    def exponential(self) -> Entry:
        grown = self.value.exponential()
        return self._with(grown, grown * self.slope)

    def logarithm(self) -> Entry:
        return self._with(self.value.logarithm(), self.slope / self.value)

    def cosine(self) -> Entry:
        return self._with(self.value.cosine(), -self.value.sine() * self.slope)

    def sine(self) -> Entry:
        return self._with(self.value.sine(), self.value.cosine() * self.slope)

    def hyperbolic_tangent(self) -> Entry:
        result = self.value.hyperbolic_tangent()
        return self._with(result, (1 - result * result) * self.slope)

    def error_function(self) -> Entry:
        slope = 2 * (-self.value * self.value).exponential() / self.value.pi().square_root()
        return self._with(self.value.error_function(), slope * self.slope)

    def pi(self) -> Entry:
        return self._constant(self.value.pi())

    def below(self, other: Any) -> bool | None:
        a, b = self._pair(other)
        return bool(a.value < b.value)

    def same(self, other: Any) -> bool | None:
        a, b = self._pair(other)
        return bool(a.value == b.value)

    def frozen(self) -> Entry:
        """The value alone."""
        frozen: Entry = self.value.frozen()
        return frozen
