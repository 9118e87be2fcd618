"""Lengths of float vectors whose squares would leave the range of float64, as those of 1e200 and 1e-200 do.

Everything is computed plainly first. Only where a sum of squares overflowed, or came near to where squares vanish, is
it computed again of entries scaled by a power of two, which rounds nothing. Other number systems have no such range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from resstream.arithmetic import Array, sqrt

LEAST, MOST = 2.0**-960, 2.0**1000
"""Between these a sum of squares has lost nothing to underflow that its rounding would show."""

LARGE = 2.0**300
"""Entries up to this, and down to its inverse, may be multiplied in threes."""


def root_of_squares(squares_of: Callable[[Array], Array], x: Array, axes: int, epsilon: Any = 0) -> Array:
    """sqrt(squares_of(x) + epsilon) for a function that is homogeneous of degree two.

    axes: how many trailing axes it reduces to length 1. Shapes: x (..., n, d) -> (..., n, 1) or (..., 1, 1); epsilon is
    a number, an exact literal or an array that broadcasts to the result.
    """
    if x.dtype != np.float64:
        return sqrt(squares_of(x) + epsilon)
    with np.errstate(over="ignore"):
        squares = squares_of(x) + epsilon
    extreme = ~((squares > LEAST) & (squares < MOST))
    if not extreme.any():
        return sqrt(squares)
    roots = np.sqrt(np.where(extreme, 0, squares))
    places = extreme.reshape(extreme.shape[:-axes])
    whole = np.broadcast_to(x, (*places.shape, *x.shape[-axes:]))
    part, exponents = scaled(whole[places], axes)
    again = np.ldexp(np.sqrt(squares_of(part)), exponents)
    roots[places] = np.hypot(again, np.broadcast_to(np.sqrt(epsilon), squares.shape)[places])
    return roots


def near_one(x: Array, axes: int) -> Array:
    """x scaled by a power of two, so that nothing is rounded, where its largest entry is huge or tiny.

    For functions that do not depend on the scale; axes as in `root_of_squares`.
    """
    if x.dtype != np.float64:
        return x
    largest = np.abs(x).max(axis=tuple(range(-axes, 0)), keepdims=True)
    if ((largest < LARGE) & ((largest > 1 / LARGE) | (largest == 0))).all():
        return x
    return scaled(x, axes)[0]


def scaled(x: Array, axes: int) -> tuple[Array, Array]:
    """x over a power of two that leaves its largest entry in [1/2, 1), and the exponents; zeros and NaN stay."""
    largest = np.abs(x).max(axis=tuple(range(-axes, 0)), keepdims=True)
    _, exponents = np.frexp(np.where(np.isfinite(largest), largest, 1))
    return np.ldexp(x, -exponents), exponents
