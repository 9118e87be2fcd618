"""Sums of square roots of whole numbers with rational coefficients: the field of what scaled scores are made of.

Square roots of different squarefree numbers are linearly independent over the rationals, so a sum is zero only where
every coefficient is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flint import arb, fmpq, fmpz

from resstream.arithmetic.balls import precision
from resstream.errors import NotExact, Undecided

BITS = 128
"""Of the first enclosure of a number, and of what is shown."""

_MOST_BITS = 2**14
_LARGEST_PRIME = 100


class Surd:
    """r_1 sqrt(s_1) + ... + r_k sqrt(s_k), by squarefree number s: rational coefficients, none of them zero."""

    __slots__ = ("parts",)

    def __init__(self, parts: Mapping[int, fmpq]) -> None:
        self.parts = {root: factor for root, factor in parts.items() if factor != 0}

    @classmethod
    def of(cls, value: fmpq | int) -> Surd:
        """A rational number."""
        return cls({1: fmpq(value)})

    @property
    def rational(self) -> fmpq | None:
        """The number, where it is rational."""
        if not self.parts:
            return fmpq(0)
        return self.parts.get(1) if len(self.parts) == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Surd) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(frozenset(self.parts.items()))

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __lt__(self, other: Surd) -> bool:
        return (self - other).sign() < 0

    def __add__(self, other: Surd) -> Surd:
        parts = dict(self.parts)
        for root, factor in other.parts.items():
            parts[root] = parts.get(root, fmpq(0)) + factor
        return Surd(parts)

    def __neg__(self) -> Surd:
        return Surd({root: -factor for root, factor in self.parts.items()})

    def __sub__(self, other: Surd) -> Surd:
        return self + -other

    def __mul__(self, other: Surd) -> Surd:
        parts: dict[int, fmpq] = {}
        for root, factor in self.parts.items():
            for second, value in other.parts.items():
                common = int(fmpz(root).gcd(second))
                product = root * second // common**2
                parts[product] = parts.get(product, fmpq(0)) + common * factor * value
        return Surd(parts)

    def __truediv__(self, other: Surd) -> Surd:
        """The quotient by a number that is not zero, whose denominator is made rational prime by prime."""
        upper, lower = self, other
        while (value := lower.rational) is None:
            prime = min(int(p) for root in lower.parts for p, _ in fmpz(root).factor())
            conjugate = Surd({root: -factor if root % prime == 0 else factor for root, factor in lower.parts.items()})
            upper, lower = upper * conjugate, lower * conjugate
        return Surd({root: factor / value for root, factor in upper.parts.items()})

    def enclosure(self) -> arb:
        """A ball that holds the number, at the working precision."""
        return sum((arb(factor) * arb(root).sqrt() for root, factor in self.parts.items()), arb(0))

    def sign(self) -> int:
        """-1, 0 or 1."""
        value = self.rational
        if value is not None:
            return (value > 0) - (value < 0)
        return sign_of(self.enclosure)

    def square_root(self) -> Surd:
        """The root of a nonnegative number; NotExact where it is no such sum, or not seen to be one."""
        value = self.rational
        if value is None:
            raise NotExact("the root of a sum of roots is none, as a rule")
        if value == 0:
            return self
        rest, whole, root = fmpz(value.p * value.q), 1, 1
        for prime in range(2, _LARGEST_PRIME):
            while rest % prime**2 == 0:
                rest, whole = rest // prime**2, whole * prime
            if rest % prime == 0:
                rest, root = rest // prime, root * prime
        last, left = rest.sqrtrem()
        if left:
            raise NotExact(f"the square root of {value} has a factor of more than {_LARGEST_PRIME}")
        return Surd({root: fmpq(whole * last, value.q)})


def sign_of(enclosure: Callable[[], arb]) -> int:
    """The sign, -1 or 1, of a number that is not zero, by enclosures of more and more bits."""
    bits = BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            value = enclosure()
        if value > 0:
            return 1
        if value < 0:
            return -1
        bits *= 2
    raise Undecided(f"the sign of a number is not known at {_MOST_BITS} bits")
