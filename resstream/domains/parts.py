"""Raw parts: the arrays that a domain's objects are built from, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from resstream.arithmetic import Array

LARGEST_WHOLE = 2**53
"""Whole numbers beyond this are not all floats, so a part cannot hold them."""

End = int | Fraction | None
"""An end of an interval, or none."""

_LEVELS: dict[str, tuple[tuple[int, ...], ...]] = {
    "real": ((0, 1, -1), (0, 1, -1), (0, 1, -1, 2, -2), (0, 1, -1, 2, -2, 3, -3, 4, -4)),
    "weight": ((0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4)),
    "whole": ((0, 1, -1), (0, 1, -1, 2, -2), (0, 1, -1, 2, -2, 3, -3), (*range(8), *range(-1, -8, -1))),
}
"""Values to enumerate, richer and richer; whole numbers count from the one nearest to zero."""

AT_END = 1 / 32
"""How often a whole number drawn from a wide range is an end of it."""

LEVELS = 4
"""How many levels there are."""


@dataclass(frozen=True)
class Part:
    """One raw array of a domain: its shape, and which numbers are natural in it.

    kind is "real" (within `ends`, where there are such), "weight" (only the absolute value matters) or "whole" (whole
    numbers from low to high).

    >>> Part((2, 2)).entries, Part((1, 1), ends=(0, 1)).is_bounded
    (4, True)
    """

    shape: tuple[int, ...]
    kind: str = "real"
    low: int = 0
    high: int = 0
    ends: tuple[End, End] = (None, None)

    @property
    def entries(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def anchor(self) -> int:
        """Of whole numbers, the one nearest to zero."""
        return max(self.low, min(0, self.high))

    @property
    def is_bounded(self) -> bool:
        """Whether real numbers have an end."""
        return self.ends != (None, None)

    def settle(self, values: Array) -> Array:
        """The nearest array that this part may hold (whole numbers are rounded, and cut to their range)."""
        if self.kind == "whole":
            return np.clip(np.rint(values), self.low, self.high)
        if self.is_bounded:
            low, high = self._float_ends()
            return np.clip(values, low, high)
        return values

    def stacked(self, length: int) -> Part:
        """The part of `length` objects side by side."""
        return Part((length, *self.shape), self.kind, self.low, self.high, self.ends)

    def simple(self, level: int) -> list[float]:
        """The values of an entry that are looked at first, richer from level to level (0 to 3)."""
        values = [float(value) for value in _LEVELS[self.kind][level]]
        if self.kind == "whole":
            values = [self.anchor + value for value in values if self.low <= self.anchor + value <= self.high]
            values += self._whole_ends() if level else []
        elif self.is_bounded:
            low, high = self._float_ends()
            middle = [(low + high) / 2] if level and math.isfinite(low + high) else []
            near = [end + step for end in (low, high) for step in (0, 1, -1) if math.isfinite(end)]
            values = [value for value in (*values, *near, *middle) if low <= value <= high]
        return list(dict.fromkeys(values))

    def reach(self, reach: float) -> tuple[float, float]:
        """Ends of an interval to search through: those of the part, cut at `reach` from zero or from its only end."""
        if self.kind == "whole":
            return float(self.low), float(self.high)
        if self.kind == "weight":
            return 0.0, reach
        low, high = self._float_ends()
        middle = 0.0 if low <= 0 <= high else low if abs(low) < abs(high) else high
        return max(low, middle - reach), min(high, middle + reach)

    def _whole_ends(self) -> list[float]:
        """Ends of whole numbers, but for 2^53, which stands for none."""
        return [float(end) for end in (self.low, self.high) if abs(end) < LARGEST_WHOLE]

    def _float_ends(self) -> tuple[float, float]:
        """The floats nearest to the ends that are not inside of them: beyond an end a raw number stands for the end."""
        low, high = self.ends
        return -math.inf if low is None else _beyond(low, -math.inf), math.inf if high is None else _beyond(
            high, math.inf
        )

    # -- drawing

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """A float64 batch (count, *shape) of raw arrays: a mixture of diffuse, tied, sparse, wide and degenerate."""
        if self.kind == "whole":
            return self._draw_whole(rng, (count, *self.shape))
        values = np.empty((count, *self.shape))
        edges = np.linspace(0, count, len(_RECIPES) + 1).astype(int)
        for recipe, start, stop in zip(_RECIPES, edges[:-1], edges[1:], strict=True):
            if stop > start:
                values[start:stop] = recipe(rng, (stop - start, *self.shape))
        # Two parts drawn one after the other must not pair the same recipes every time.
        values = values[rng.permutation(count)]
        return self._within(rng, values) if self.is_bounded else values

    def _draw_whole(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Those near to zero and the ends of the range turn up as often as the middle; wide ranges by magnitude."""
        steps = rng.integers(0, 4, shape)
        if self.low < self.anchor < self.high:
            steps = steps * rng.choice([-1, 1], shape)
        near = self.anchor + (-steps if self.anchor == self.high else steps)
        anywhere = rng.integers(self.low, self.high + 1, shape).astype(float)
        if self.high - self.low > 10_000:
            shrunk = np.rint((anywhere - self.anchor) * 2.0 ** -rng.uniform(0, 53, shape)) + self.anchor
            anywhere = np.where(rng.random(shape) < 0.5, shrunk, anywhere)
            if ends := self._whole_ends():
                anywhere = np.where(rng.random(shape) < AT_END, rng.choice(ends, shape), anywhere)
        each = (shape[0], *([1] * (len(shape) - 1)))
        return self.settle(np.where(rng.random(each) < 0.5, near, anywhere))

    def _within(self, rng: np.random.Generator, values: Array) -> Array:
        """Values brought between the ends: as they are where they lie there, spread inside, near an end, or at it."""
        low, high = self._float_ends()
        shape = values.shape
        cut = self.settle(values)
        least, most = (low, high) if math.isfinite(low) else (high, high)
        most = least if not math.isfinite(most) else most
        inward = np.where(rng.random(shape) < 0.5, least, most)  # one of the ends, or the only one
        sign = np.where(inward == low, 1.0, -1.0) if low != high else np.zeros(shape)
        span = high - low if math.isfinite(high - low) else 1.0
        spread = low + span * rng.random(shape) if math.isfinite(high - low) else inward + sign * np.abs(values)
        steps = inward + sign * span * rng.integers(0, 9, shape) / 8
        near = inward + sign * span * 10.0 ** rng.uniform(-9, -1, shape)
        choice = rng.choice(5, p=[0.35, 0.3, 0.15, 0.1, 0.1], size=shape)
        return self.settle(np.choose(choice, [cut, spread, steps, near, inward]))


def _beyond(end: int | Fraction, direction: float) -> float:
    near = float(end)
    inside = Fraction(near) > end if direction < 0 else Fraction(near) < end
    return math.nextafter(near, direction) if inside else near


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def _small_integers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(-2, 3, shape).astype(float)


def _sparse(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return ((rng.random(shape) < 0.3) * rng.integers(-3, 4, shape)).astype(float)


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
