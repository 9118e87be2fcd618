"""Raw parts, and the interface of a domain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import DomainError

Size = int | str
Sizes = Mapping[str, int]
Parts = Mapping[str, Array]
Options = Mapping[str, str]


def size_of(size: Size, sizes: Sizes) -> int:
    """The number that a size stands for; an unknown name raises DomainError."""
    if isinstance(size, int):
        return size
    if size not in sizes:
        raise DomainError(f"size {size!r}: expected one of {sorted(sizes)}")
    return sizes[size]


@dataclass(frozen=True)
class Part:
    """One raw array of a domain: its shape, and which numbers are natural in it.

    kind is "real", "weight" (only the absolute value matters) or "whole" (integers from low to high).
    """

    shape: tuple[int, ...]
    kind: str = "real"
    low: int = 0
    high: int = 0

    def settle(self, values: Array) -> Array:
        """The nearest array that this part may hold (whole numbers are rounded and cut to their range)."""
        if self.kind != "whole":
            return values
        return np.clip(np.rint(values), self.low, self.high)

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """A float64 batch (count, *shape) of raw arrays: a mixture of diffuse, tied, sparse, wide and degenerate."""
        if self.kind == "whole":
            # Small values and the ends of the range turn up as often as the middle.
            near = np.minimum(rng.integers(0, 4, (count, *self.shape)), self.high - self.low) + self.low
            anywhere = rng.integers(self.low, self.high + 1, (count, *self.shape))
            return np.where(rng.random((count, *([1] * len(self.shape)))) < 0.5, near, anywhere).astype(float)
        values = np.empty((count, *self.shape))
        edges = np.linspace(0, count, len(_RECIPES) + 1).astype(int)
        for recipe, start, stop in zip(_RECIPES, edges[:-1], edges[1:], strict=True):
            if stop > start:
                values[start:stop] = recipe(rng, (stop - start, *self.shape))
        # Two parts drawn one after the other must not pair the same recipes every time.
        return values[rng.permutation(count)]


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def _small_integers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(-2, 3, shape).astype(float)


def _sparse(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.3, rng.integers(-3, 4, shape), 0).astype(float)


def _per_instance(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *([1] * (len(shape) - 1)))


def _wide(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-4, 6, _per_instance(shape))


def _wide_entries(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 3, shape)


def _tied_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    pool = rng.integers(-3, 4, (*shape[:-2], 2, shape[-1])).astype(float)
    return np.take_along_axis(pool, rng.integers(0, 2, (*shape[:-1], 1)), axis=-2)


def _nearly_tied_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    # A tight cluster, near the origin or far from it.
    centre = 10.0 ** rng.uniform(-1, 3, _per_instance(shape)) * rng.standard_normal((*shape[:-2], 1, shape[-1]))
    return centre + 10.0 ** rng.uniform(-6, 1, _per_instance(shape)) * rng.standard_normal(shape)


def _rank_one(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    column, row = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
    return (rng.integers(-2, 3, column) * rng.integers(-2, 3, row)).astype(float)


def _one_hot_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    hot = rng.integers(0, shape[-1], (*shape[:-1], 1))
    return (np.arange(shape[-1]) == hot) * rng.choice([1.0, -1.0, 3.0], _per_instance(shape))


_RECIPES: tuple[Callable[[np.random.Generator, tuple[int, ...]], Array], ...] = (
    *[_gaussian] * 4,
    *[_small_integers] * 3,
    *[_sparse] * 2,
    *[_wide] * 3,
    *[_wide_entries] * 3,
    *[_nearly_tied_rows] * 2,
    _tied_rows,
    _rank_one,
    _one_hot_rows,
)
"""As often as they stand here: most draws are generic, as an engine of its own (corners) looks at degenerate ones."""


class Domain(ABC):
    """A set of mathematical objects, reached from raw arrays by `build`.

    Subclasses are dataclasses whose sizes are whole numbers or names.
    """

    @abstractmethod
    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        """The raw arrays that one object is built from, by name ("" where there is one only)."""

    @abstractmethod
    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        """The object, from raw arrays in any number system, with or without leading batch axes."""

    def options(self) -> dict[str, tuple[str, ...]]:
        """Discrete choices, each with its values from the simplest on."""
        return {}

    def wider(self) -> Domain | None:
        """The next wider domain, or None: what an audit relaxes to."""
        return None

    def __str__(self) -> str:
        """As it is written in a claim, without what is left at its default: `RowStochastic(n)`."""
        values = [(f, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type]
        shown = [
            str(value) if f.default is MISSING else f"{f.name}={value}" for f, value in values if value != f.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"
