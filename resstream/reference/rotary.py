"""Positions as angles: rotary positions and sinusoidal encodings, in one stated convention.

Columns (2i, 2i+1) of a row are one pair, and the pair i of a row of width d belongs to the frequency base^(-2i/d). The
other convention in use pairs column i with column i + d/2; either is right when used throughout, and a mixture of the
two is not a rotation of the pairs at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, DualEntry, RationalEntry, cos, exact, exp, log, sin, zeros
from resstream.errors import DomainError, NotExact, ShapeError
from resstream.reference.checks import (
    in_range,
    require_batch,
    require_like,
    require_matrix,
    require_sequence,
    require_whole,
)

MOST = 1 << 53
"""Positions, widths and bases up to this are whole numbers as floats, too."""

Positions = Sequence[int] | Array
"""One integer for each row, or an array (..., n, 1) of entries."""


@in_range
def rotary(X: Array, positions: Positions, base: int = 10_000) -> Array:
    """Turn every pair of columns of row i by the angle position_i * base^(-2i/d): (..., n, d) -> (..., n, d).

    The pair (a, b) becomes (a cos t - b sin t, a sin t + b cos t), so scores of rotated queries and keys depend on
    their offset alone. An odd width raises ShapeError; rationals raise NotExact, except where every position is 0.
    Source: Definition 1 and Definition 4 of "The Transformer Block and the Residual Stream" (rotary positions).

    >>> rotary(np.array([[1.0, 2.0]]), [0])
    array([[1., 2.]])
    """
    X = require_matrix("X", X)
    return rotation(positions, X.shape[-1], base, like=X).turn(X)


@in_range
def rotary_inverse(X: Array, positions: Positions, base: int = 10_000) -> Array:
    """Undo `rotary` by turning through the negative angles, which is its transpose: (..., n, d) -> (..., n, d).

    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> np.round(rotary_inverse(rotary(X, [0, 1]), [0, 1]), 12).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    X = require_matrix("X", X)
    return rotation(positions, X.shape[-1], base, like=X).inverse().turn(X)


@dataclass(frozen=True, eq=False)
class Rotation:
    """The cosines and sines of every position's angles, (..., n, d/2), kept where many arrays are turned alike.

    >>> turned = rotation([0], 2, like=np.zeros(1))
    >>> turned.cosines.tolist(), turned.sines.tolist()
    ([[1.0]], [[0.0]])
    """

    cosines: Array
    sines: Array

    def __post_init__(self) -> None:
        for name in ("cosines", "sines"):
            object.__setattr__(self, name, require_matrix(name, getattr(self, name)))
        if self.cosines.shape != self.sines.shape:
            raise ShapeError(f"sines: expected the shape {self.cosines.shape} of cosines, got {self.sines.shape}")
        require_batch(cosines=self.cosines, sines=self.sines)

    @in_range
    def turn(self, X: Array) -> Array:
        """Turn every pair of columns of X (..., n, d), as `rotary` does."""
        X = require_matrix("X", X)
        if X.shape[-1] != 2 * self.cosines.shape[-1] or self.cosines.shape[-2] not in (1, X.shape[-2]):
            *_, rows, pairs = self.cosines.shape
            raise ShapeError(f"X: expected {rows} rows of width {2 * pairs}, as the rotation has, got shape {X.shape}")
        require_batch(X=X, positions=self.cosines)
        first, second = X[..., 0::2], X[..., 1::2]
        return _interleave(first * self.cosines - second * self.sines, first * self.sines + second * self.cosines)

    def inverse(self) -> Rotation:
        """The rotation through the negative angles."""
        return Rotation(self.cosines, -self.sines)


@in_range
def rotation(positions: Positions, width: int, base: int = 10_000, *, like: Array) -> Rotation:
    """The rotation of rows of a width at positions, in the number system of `like`; raises what `rotary` raises.

    >>> rotation([0, 1], 2, like=np.zeros(1)).cosines.round(4).tolist()
    [[1.0], [0.5403]]
    """
    angle = _angles(positions, width, base, like)
    return Rotation(cos(angle), sin(angle))


@in_range
def sinusoidal(positions: Positions, width: int, base: int = 10_000, *, like: Array) -> Array:
    """Sinusoidal encodings (..., n, width): columns (2i, 2i+1) hold the sine and cosine of position * base^(-2i/width).

    In the number system of `like`. Moving every position by k is `rotary` with the position -k. An odd width raises
    ShapeError; rationals raise NotExact, except at position 0.

    >>> sinusoidal([0], 4, like=np.zeros(1))
    array([[0., 1., 0., 1.]])
    """
    angle = _angles(positions, width, base, like)
    return _interleave(sin(angle), cos(angle))


def _angles(positions: Positions, width: int, base: int, like: Array) -> Array:
    """position * base^(-2i/width), shape (..., n, width/2)."""
    like = require_like("like", like)
    width = require_whole("width", width, 1, MOST)
    if width % 2:
        raise ShapeError(f"rotary: expected an even, positive width (pairs of columns), got {width}")
    base = require_whole("base", base, 1, MOST)
    pairs = np.arange(0, width, 2)[None, :]
    places = _entries(_places(positions), like)
    if like.dtype == object and _is_rational(places.flat[0]):
        if not all(place == 0 for place in places.flat):
            raise NotExact("a rotation by a position other than 0 is not rational")
        return places * pairs.astype(object)
    # exp(0 * log base) is exactly 1, also for balls: the first pair turns by the position itself.
    frequency = exp(exact(-1, width) * _entries(pairs, like) * log(_entries(np.array([[base]]), like)))
    return places * frequency


def _is_rational(entry: Any) -> bool:
    while isinstance(entry, DualEntry):
        entry = entry.value
    return isinstance(entry, RationalEntry)


def _places(positions: Positions) -> Array:
    """Positions as a column: integers (n, 1), or entries (..., n, 1)."""
    if isinstance(positions, np.ndarray):
        if positions.dtype.kind not in "iu":
            places = require_matrix("positions", positions)
        elif positions.ndim == 1:
            places = np.array([[require_whole("positions", place, -MOST, MOST)] for place in positions.tolist()])
        else:
            places = positions
    else:
        whole = require_sequence("positions", positions, "integers")
        places = np.array([[require_whole("positions", place, -MOST, MOST)] for place in whole])
    if places.size == 0 or places.shape[-1] != 1:
        raise ShapeError(f"positions: expected integers (n,) or entries (..., n, 1), got shape {np.shape(positions)}")
    return places


def _entries(values: Array, like: Array) -> Array:
    """Integers (or entries) as entries on which the transcendental functions of the number system of `like` work."""
    if like.dtype != object:
        if values.dtype == object:
            raise DomainError("positions: expected floats or integers beside floats, got exact entries")
        return values if values.dtype.kind == "c" else values.astype(np.float64, copy=False)
    if values.dtype.kind == "f":
        raise DomainError("positions: expected exact entries or integers beside exact entries, got floats")
    return zeros((1, 1), like) + values.astype(object)


def _interleave(even: Array, odd: Array) -> Array:
    return np.stack((even, odd), axis=-1).reshape(*even.shape[:-1], 2 * even.shape[-1])
