"""Laws of random objects: how a draw is made, and its moments where they are rational.

A law is no domain: nothing is claimed of all that it may give. `expectation` takes a mean over one exactly, and a
statistical claim is tested on draws. A finite domain stands for the law that gives each of its members as often.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from math import prod

import numpy as np

from resstream.arithmetic import Array, constant, sqrt, square, total
from resstream.domains.base import Size, Sizes, number, require_size, size_of, written
from resstream.errors import DomainError


@dataclass(frozen=True)
class Law(ABC):
    """The law of a random matrix: raw numbers are drawn, and `build` makes the object of them.

    >>> law = Uniform(1, 2)
    >>> isinstance(law, Law), law.draw(np.random.default_rng(0), 5, {}).shape
    (True, (5, 1, 2))
    """

    def __post_init__(self) -> None:
        for entry in fields(self):
            if entry.type in ("Size", "Size | None") and getattr(self, entry.name) is not None:
                require_size(type(self).__name__, entry.name, getattr(self, entry.name))

    @abstractmethod
    def shape(self, sizes: Sizes) -> tuple[int, int]:
        """The shape (n, d) of a draw."""

    @abstractmethod
    def moment(self, powers: Iterable[int], sizes: Sizes) -> Fraction:
        """The mean of a product of powers (each at least 1) of different entries."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int, sizes: Sizes) -> Array:
        """The raw numbers of independent draws, float64 (count, n, d)."""

    def build(self, raw: Array) -> Array:
        """The object, of raw numbers in any number system, with or without leading axes."""
        return raw

    def size_names(self) -> set[str]:
        """The names among the sizes."""
        values = [getattr(self, entry.name) for entry in fields(self) if entry.type in ("Size", "Size | None")]
        return {value for value in values if isinstance(value, str)}

    def __str__(self) -> str:
        shown = [
            written(getattr(self, entry.name)) if index < 2 else f"{entry.name}={written(getattr(self, entry.name))}"
            for index, entry in enumerate(fields(self))
            if index < 2 or getattr(self, entry.name) != entry.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True)
class _Independent(Law):
    """Matrices (rows, columns) with independent entries of one law."""

    rows: Size
    columns: Size

    def shape(self, sizes: Sizes) -> tuple[int, int]:
        return size_of(self.rows, sizes), size_of(self.columns, sizes)

    def moment(self, powers: Iterable[int], sizes: Sizes) -> Fraction:
        return prod((self.power_mean(power, sizes) for power in powers), start=Fraction(1))

    @abstractmethod
    def power_mean(self, power: int, sizes: Sizes) -> Fraction:
        """The mean of a power of one entry."""


@dataclass(frozen=True)
class Gaussian(_Independent):
    """Independent normal entries of mean 0, (rows, columns); their variance, a number, is divided by a size if named.

    >>> str(Gaussian("d", "d", divided_by="d"))
    'Gaussian(d, d, divided_by=d)'
    """

    variance: int | Fraction = 1
    divided_by: Size | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "variance", number("Gaussian", "variance", self.variance))
        if self.variance < 0:
            raise DomainError(f"Gaussian: variance: expected a number of at least 0, got {self.variance}")

    def _variance(self, sizes: Sizes) -> Fraction:
        return Fraction(self.variance) / (1 if self.divided_by is None else size_of(self.divided_by, sizes))

    def power_mean(self, power: int, sizes: Sizes) -> Fraction:
        return Fraction(0) if power % 2 else _odd_factorial(power) * self._variance(sizes) ** (power // 2)

    def draw(self, rng: np.random.Generator, count: int, sizes: Sizes) -> Array:
        return float(self._variance(sizes)) ** 0.5 * rng.standard_normal((count, *self.shape(sizes)))


@dataclass(frozen=True)
class Uniform(_Independent):
    """Independent entries, uniform between two numbers, (rows, columns).

    >>> Uniform(1, 1).moment([2], {})
    Fraction(1, 3)
    """

    low: int | Fraction = 0
    high: int | Fraction = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, number("Uniform", name, getattr(self, name)))
        if not self.low < self.high:
            raise DomainError(f"Uniform: low, high: expected low < high, got {self.low} and {self.high}")

    def power_mean(self, power: int, sizes: Sizes) -> Fraction:
        low, high = Fraction(self.low), Fraction(self.high)
        return (high ** (power + 1) - low ** (power + 1)) / ((power + 1) * (high - low))

    def draw(self, rng: np.random.Generator, count: int, sizes: Sizes) -> Array:
        return rng.uniform(float(self.low), float(self.high), (count, *self.shape(sizes)))


@dataclass(frozen=True)
class Signs(_Independent):
    """Independent entries, 1 or -1 with the same probability, (rows, columns).

    >>> Signs("n", "d").moment([2, 1], {"n": 1, "d": 2})
    Fraction(0, 1)
    """

    def power_mean(self, power: int, sizes: Sizes) -> Fraction:
        return Fraction(1 - power % 2)

    def draw(self, rng: np.random.Generator, count: int, sizes: Sizes) -> Array:
        return 2.0 * rng.integers(0, 2, (count, *self.shape(sizes))) - 1


@dataclass(frozen=True)
class OnSphere(Law):
    """A row uniform on the sphere of a radius, (1, d): no rotation changes its law.

    >>> OnSphere("d").moment([2], {"d": 4})
    Fraction(1, 4)
    """

    dimension: Size
    radius: int | Fraction = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", number("OnSphere", "radius", self.radius))

    def shape(self, sizes: Sizes) -> tuple[int, int]:
        return 1, size_of(self.dimension, sizes)

    def moment(self, powers: Iterable[int], sizes: Sizes) -> Fraction:
        powers = tuple(powers)
        if any(power % 2 for power in powers):
            return Fraction(0)
        d, degree = size_of(self.dimension, sizes), sum(powers)
        below = prod(range(d, d + degree, 2))
        return Fraction(self.radius) ** degree * prod(map(_odd_factorial, powers)) / below

    def draw(self, rng: np.random.Generator, count: int, sizes: Sizes) -> Array:
        return rng.standard_normal((count, *self.shape(sizes)))

    def build(self, raw: Array) -> Array:
        return raw / sqrt(total(square(raw))) * constant(self.radius, raw)


def _odd_factorial(even: int) -> Fraction:
    """(even - 1)!!, the mean of that power of a standard normal number."""
    return Fraction(prod(range(1, even, 2)))


__all__ = ["Gaussian", "Law", "OnSphere", "Signs", "Uniform"]
