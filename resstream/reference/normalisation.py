"""LayerNorm and RMSNorm on the last axis, and their Jacobians.

The variance is the population's, taken in two passes (centre first: E[x^2] - E[x]^2 loses a large mean to rounding),
and epsilon stands inside the root. `epsilon=0` is the mathematicians' norm; a claim writes others as `exact(1, 100)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resstream.arithmetic import Array, Exact, absolute, amax, amin, eye, frozen, mean, square
from resstream.errors import ShapeError
from resstream.reference.checks import (
    certainly,
    in_range,
    refuse_where,
    require_batch,
    require_epsilon,
    require_matrix,
    require_row,
    values_matter,
)
from resstream.reference.magnitudes import root_of_squares

Epsilon = int | float | Exact | Array


@in_range
def centre(x: Array) -> Array:
    """Every row less its mean, which is x @ P with P = I - 11'/d: (..., n, d) -> (..., n, d).

    >>> centre(np.array([[1.0, 2.0, 6.0]])).tolist()
    [[-2.0, -1.0, 3.0]]
    """
    x = require_matrix("x", x)
    return x - mean(x)


@in_range
def layer_norm(x: Array, gain: Array | None = None, bias: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Rows centred, over the root of their variance plus epsilon, times gain, plus bias: (..., n, d) -> (..., n, d).

    Shapes: gain and bias (..., 1, d), 1 and 0 by default. A constant row raises DomainError unless epsilon is positive.
    Source: Definition 3 of "The Transformer Block and the Residual Stream" (gain 1, bias 0, epsilon 0).

    >>> layer_norm(np.array([[4.0, 0.0, 0.0, 0.0, 0.0]]))
    array([[ 2. , -0.5, -0.5, -0.5, -0.5]])
    """
    return _affine(centre(x) / layer_norm_scale("x", x, epsilon), gain, bias)


@in_range
def rms_norm(x: Array, gain: Array | None = None, bias: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Rows over the root of their mean square plus epsilon, times gain, plus bias: (..., n, d) -> (..., n, d).

    A zero row raises DomainError unless epsilon is positive. Source: Definition 3.

    >>> rms_norm(np.array([[1.0, 7.0]])).tolist()
    [[0.2, 1.4]]
    """
    return _affine(x / rms_norm_scale(x, epsilon), gain, bias)


@in_range
def layer_norm_jacobian(x: Array, gain: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Jacobian of `layer_norm` at one row, (..., 1, d) -> (..., d, d), in the row convention (df = dx @ J).

    (P - c'c / (d s^2)) / s with c the centred row and s the root of variance plus epsilon; each column times its gain.
    Source: Corollary 1, which is the case of gain 1 and epsilon 0.

    >>> layer_norm_jacobian(np.array([[-1.0, 1.0]])).tolist()  # of two entries a sign is left, which has no slope
    [[0.0, 0.0], [0.0, 0.0]]
    """
    x = _one_row(x)
    size = layer_norm_scale("x", x, epsilon)
    d, direction = x.shape[-1], centre(x) / size
    return _affine((centre(eye(d, like=x)) - direction.mT @ direction / d) / size, gain)


@in_range
def rms_norm_jacobian(x: Array, gain: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Jacobian of `rms_norm` at one row, (..., 1, d) -> (..., d, d), in the row convention: (I - x'x / (d s^2)) / s.

    >>> rms_norm_jacobian(np.array([[1.0, -1.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    x = _one_row(x)
    size = rms_norm_scale(x, epsilon)
    d, direction = x.shape[-1], x / size
    return _affine((eye(d, like=x) - direction.mT @ direction / d) / size, gain)


@in_range
def layer_norm_scale(name: str, x: Array, epsilon: Epsilon = 0) -> Array:
    """What LayerNorm divides by, the root of the variance plus epsilon: (..., n, d) -> (..., n, 1).

    A constant row raises DomainError about the argument `name`, unless epsilon is positive.
    """
    x = require_matrix(name, x)
    epsilon = require_epsilon("epsilon", epsilon, x)
    if values_matter(x):
        # Not the variance: the mean of equal floats may be rounded, and leaves a variance that is not quite zero.
        constant = certainly(amax(frozen(x)) - amin(frozen(x)), _is_zero) & _vanishes(epsilon)
        refuse_where(constant[..., 0], f"{name}: row {{at}} is constant, so LayerNorm with epsilon 0 is not defined")
    return root_of_squares(_mean_square, centre(x), axes=1, epsilon=epsilon)


def rms_norm_scale(x: Array, epsilon: Epsilon = 0) -> Array:
    """What RMSNorm divides by, the root of the mean square plus epsilon: (..., n, d) -> (..., n, 1).

    A zero row raises DomainError unless epsilon is positive.
    """
    x = require_matrix("x", x)
    epsilon = require_epsilon("epsilon", epsilon, x)
    if values_matter(x):
        zero = certainly(amax(absolute(frozen(x))), _is_zero) & _vanishes(epsilon)
        refuse_where(zero[..., 0], "x: row {at} is zero, so RMSNorm with epsilon 0 is not defined")
    return root_of_squares(_mean_square, x, axes=1, epsilon=epsilon)


def _is_zero(entry: Any) -> bool:
    return entry == 0


def _mean_square(x: Array) -> Array:
    return mean(square(x))


def _vanishes(epsilon: Epsilon) -> Array:
    """Where epsilon is exactly zero."""
    return np.asarray((epsilon.value if isinstance(epsilon, Exact) else epsilon) == 0)


def _affine(x: Array, gain: Array | None, bias: Array | None = None) -> Array:
    for name, parameter in (("gain", gain), ("bias", bias)):
        if parameter is not None:
            parameter = require_row(name, parameter, x.shape[-1], of="x has")
            require_batch(x=x, **{name: parameter})
            x = x * parameter if name == "gain" else x + parameter
    return x


def _one_row(x: Array) -> Array:
    x = require_matrix("x", x)
    if x.shape[-2] != 1:
        raise ShapeError(f"x: expected one row (..., 1, d), got shape {x.shape}")
    return x
