"""Numbers: real, in order, whole, subsets, and the number that a size stands for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from resstream.arithmetic import Array, absolute, constant, maximum, minimum, ones, to_fraction, where, zeros
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import COUNT, Domain, Options, Part, Parts, Size, Sizes, entries, is_all, number, size_of
from resstream.domains.parts import LARGEST_WHOLE, End
from resstream.domains.pieces import Piece, constants, fractions
from resstream.errors import DomainError


def _interval(domain: Any) -> None:
    """Check the ends of a domain with `low` and `high`, which then are exact numbers or None."""
    name = type(domain).__name__
    for end in ("low", "high"):
        value = getattr(domain, end)
        if value is not None:
            object.__setattr__(domain, end, number(name, end, value))
    if domain.low is not None and domain.high is not None and domain.low > domain.high:
        raise DomainError(f"{name}: low, high: expected the smaller end first, got {domain.low} and {domain.high}")


def _clamped(x: Array, low: End, high: End) -> Array:
    if low is not None:
        x = maximum(x, zeros((1, 1), x) + constant(low, x))
    if high is not None:
        x = minimum(x, zeros((1, 1), x) + constant(high, x))
    return x


def _is_within(x: Array, low: End, high: End) -> bool:
    above = low is None or is_all(x >= constant(low, x))
    return above and (high is None or is_all(x <= constant(high, x)))


@dataclass(frozen=True)
class Scalar(Domain):
    """Numbers (..., 1, 1) from low to high, both included (None: no end); raw numbers beyond an end stand for the end.

    Ends are whole numbers, fractions or `exact(1, 3)`.

    >>> Scalar(0, 1).build({"": np.array([[7.0]])}, {}, {}).item()
    1.0
    >>> Scalar(0, 1).contains(np.array([[0.5]]), {})
    True
    """

    low: End = None
    high: End = None

    def __post_init__(self) -> None:
        _interval(self)
        super().__post_init__()

    def shape(self) -> tuple[Size, Size]:
        return 1, 1

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, 1), ends=(self.low, self.high))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return _clamped(raw[""], self.low, self.high)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        if self.low is not None:
            x = self.low + unknowns.nonnegative((1, 1))
            if self.high is not None:
                unknowns.assume(self.high - x, ">=")
        elif self.high is not None:
            x = self.high - unknowns.nonnegative((1, 1))
        else:
            x = unknowns.real((1, 1))
        return Piece(x, {"": x})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (1, 1))
        return x is not None and _is_within(x, self.low, self.high)

    def wider(self) -> Domain | None:
        return None if self.low is None and self.high is None else Scalar()


@dataclass(frozen=True)
class Ordered(Domain):
    """Numbers in order, x_1 <= x_2 <= ..., from low to high (None: no end): a tuple of `count` scalars (..., 1, 1).

    >>> low, high = np.array([[0.25]]), np.array([[0.75]])
    >>> Ordered(2, 0, 1).contains((low, high), {}), Ordered(2, 0, 1).contains((high, low), {})
    (True, False)
    """

    count: Size = 2
    low: End = None
    high: End = None

    def __post_init__(self) -> None:
        _interval(self)
        super().__post_init__()

    def why_empty(self, sizes: Sizes) -> str:
        return "one number has no order" if size_of(self.count, sizes) == 1 else ""

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        gaps = Part((1, size_of(self.count, sizes) - 1), "weight")
        return {"first": Part((1, 1), ends=(self.low, self.high)), "gaps": gaps}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        numbers = [_clamped(raw["first"], self.low, self.high)]
        gaps = absolute(raw["gaps"])
        for k in range(gaps.shape[-1]):
            numbers.append(_clamped(numbers[-1] + gaps[..., k : k + 1], None, self.high))
        return tuple(numbers)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        first = Scalar(self.low, self.high).piece(unknowns, sizes, options).object
        gaps = unknowns.nonnegative((1, size_of(self.count, sizes) - 1))
        numbers = [first]
        for k in range(gaps.shape[-1]):
            numbers.append(numbers[-1] + gaps[:, k : k + 1])
        if self.high is not None:
            unknowns.assume(self.high - numbers[-1], ">=")
        return Piece(tuple(numbers), {"first": first, "gaps": gaps})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, tuple) or len(value) != size_of(self.count, sizes):
            return False
        numbers = [x for one in value if (x := entries(one, (1, 1))) is not None]
        if len(numbers) < len(value) or not all(_is_within(x, self.low, self.high) for x in numbers):
            return False
        return all(is_all(x <= y) for x, y in pairwise(numbers))


@dataclass(frozen=True)
class Whole(Domain):
    """Whole numbers (..., rows, columns) from low to high, both included, as entries of the number system.

    >>> Whole(1, 6).contains(np.array([[6.0]]), {}), Whole(1, 6).contains(np.array([[7.0]]), {})
    (True, False)
    """

    low: int
    high: int
    rows: Size = 1
    columns: Size = 1

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_WHOLE:
                limit = f"from -2^53 to 2^53 = {LARGEST_WHOLE}"
                raise DomainError(f"{type(self).__name__}: {name}: expected a whole number {limit}, got {value!r:.40}")
        _interval(self)
        super().__post_init__()

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.columns

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        shape = (size_of(self.rows, sizes), size_of(self.columns, sizes))
        return {"": Part(shape, "whole", self.low, self.high)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""]

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        numbers = unknowns.whole((size_of(self.rows, sizes), size_of(self.columns, sizes)), self.low, self.high)
        return Piece(numbers, {"": numbers})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (size_of(self.rows, sizes), size_of(self.columns, sizes)))
        return x is not None and _is_within(x, self.low, self.high) and _are_whole(x)


def _are_whole(x: Array) -> bool:
    """Whether rational entries are whole; DomainError for those of which that cannot be known."""
    known = [entry.known() for entry in x.flat]
    if any(value is None for value in known):
        raise DomainError("whether an enclosure is a whole number cannot be known: build it in rationals")
    return all(to_fraction(value).denominator == 1 for value in known)


def Integers(rows: Size = 1, columns: Size = 1) -> Whole:  # noqa: N802 - reads as a domain
    """All whole numbers (..., rows, columns) of at most 2^53 in size, beyond which floats leave some out.

    >>> Integers(1, 2).contains(np.array([[3.0, -2.0]]), {}), Integers().contains(np.array([[0.5]]), {})
    (True, False)
    """
    return Whole(-LARGEST_WHOLE, LARGEST_WHOLE, rows, columns)


@dataclass(frozen=True)
class Subset(Domain):
    """Subsets of n things as rows (..., 1, n) of zeros and ones; those of `count` things, where that is given.

    Empty for a count above n. The things chosen are those with the largest raw numbers, or whose raw number is 1.

    >>> Subset(3, 2).contains(np.array([[1.0, 0.0, 1.0]]), {}), Subset(3, 2).contains(np.array([[1.0, 1.0, 1.0]]), {})
    (True, False)
    """

    size: Size
    count: Size | None = field(default=None, metadata=COUNT)

    def why_empty(self, sizes: Sizes) -> str:
        n = size_of(self.size, sizes)
        count = 0 if self.count is None else size_of(self.count, sizes)
        return f"{n} things have no subset of {count}" if count > n else ""

    def shape(self) -> tuple[Size, Size]:
        return 1, self.size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        shape = (1, size_of(self.size, sizes))
        return {"": Part(shape, "whole", 0, 1) if self.count is None else Part(shape)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        if self.count is None:
            return x
        place = np.argsort(np.argsort(-x, axis=-1, kind="stable"), axis=-1, kind="stable")
        return where(place < size_of(self.count, sizes), ones((1, 1), x), zeros((1, 1), x))

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        n = size_of(self.size, sizes)
        every = itertools.product((0, 1), repeat=n)
        count = None if self.count is None else size_of(self.count, sizes)
        chosen = unknowns.among(one for one in every if count is None or sum(one) == count)
        return Piece(constants([chosen], unknowns), lambda _: {"": fractions([chosen])})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (1, size_of(self.size, sizes)))
        if x is None or not is_all((x == 0) | (x == 1)):
            return False
        return self.count is None or bool(np.sum(x == 1) == size_of(self.count, sizes))


@dataclass(frozen=True)
class Count(Domain):
    """The number that a size stands for, as a Python int (the same for a whole batch): how many layers, say.

    >>> Count("L").build({}, {}, {"L": 3})
    3
    """

    size: Size = field(metadata=COUNT)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return size_of(self.size, sizes)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return Piece(size_of(self.size, sizes), {})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        return type(value) is int and value == size_of(self.size, sizes)

    def grows_with(self, size: str) -> bool:
        return self.size == size

    def beginning(self, value: Any, count: int) -> Any:
        return count
