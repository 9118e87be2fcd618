"""LayerNorm and RMSNorm on the last axis, and their Jacobians.

The variance is the population's, taken in two passes (centre first: E[x^2] - E[x]^2 loses a large mean to rounding),
and epsilon stands inside the root. `epsilon=0` is the mathematicians' norm; a claim writes others as `exact(1, 100)`.
"""

from __future__ import annotations

import numpy as np

from resstream.arithmetic import Array, Exact, absolute, amax, amin, eye, frozen, mean, sqrt, square
from resstream.errors import DomainError, ShapeError
from resstream.reference.checks import refuse_where, require_batch, require_matrix, require_width, values_matter

Epsilon = int | float | Exact | Array


def centre(x: Array) -> Array:
    """Every row less its mean, which is x @ P with P = I - 11'/d: (..., n, d) -> (..., n, d)."""
    require_matrix("x", x)
    return x - mean(x)


def layer_norm(x: Array, gain: Array | None = None, bias: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Rows centred, over the root of their variance plus epsilon, times gain, plus bias: (..., n, d) -> (..., n, d).

    Shapes: gain and bias (..., 1, d), 1 and 0 by default. A constant row raises DomainError unless epsilon is positive.
    Source: Definition 3 of "The Transformer Block and the Residual Stream" (gain 1, bias 0, epsilon 0).

    >>> layer_norm(np.array([[4.0, 0.0, 0.0, 0.0, 0.0]]))
    array([[ 2. , -0.5, -0.5, -0.5, -0.5]])
    """
    centred, size = _centred(x, epsilon)
    return _affine(centred / size, gain, bias)


def rms_norm(x: Array, gain: Array | None = None, bias: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Rows over the root of their mean square plus epsilon, times gain, plus bias: (..., n, d) -> (..., n, d).

    A zero row raises DomainError unless epsilon is positive. Source: Definition 3.
    """
    return _affine(x / _root_mean_square(x, epsilon), gain, bias)


def layer_norm_jacobian(x: Array, gain: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Jacobian of `layer_norm` at one row, (..., 1, d) -> (..., d, d), in the row convention (df = dx @ J).

    (P - c'c / (d s^2)) / s with c the centred row and s the root of variance plus epsilon; each column times its gain.
    Source: Corollary 1, which is the case of gain 1 and epsilon 0.
    """
    _require_one_row(x)
    centred, size = _centred(x, epsilon)
    d = x.shape[-1]
    outer: Array = centred.mT @ centred
    return _affine((centre(eye(d, like=x)) - outer / (d * square(size))) / size, gain)


def rms_norm_jacobian(x: Array, gain: Array | None = None, epsilon: Epsilon = 0) -> Array:
    """Jacobian of `rms_norm` at one row, (..., 1, d) -> (..., d, d), in the row convention: (I - x'x / (d s^2)) / s."""
    _require_one_row(x)
    size = _root_mean_square(x, epsilon)
    d = x.shape[-1]
    outer: Array = x.mT @ x
    return _affine((eye(d, like=x) - outer / (d * square(size))) / size, gain)


def _centred(x: Array, epsilon: Epsilon) -> tuple[Array, Array]:
    """The centred rows, and the root of their variance plus epsilon."""
    centred = centre(x)
    if values_matter(x):
        # Not the variance: the mean of equal floats may be rounded, and leaves a variance that is not quite zero.
        constant = (amax(frozen(x)) == amin(frozen(x))) & _vanishes(epsilon)
        refuse_where(constant[..., 0], "x: row {at} is constant, so LayerNorm with epsilon 0 is not defined")
    return centred, sqrt(mean(square(centred)) + epsilon)


def _root_mean_square(x: Array, epsilon: Epsilon) -> Array:
    require_matrix("x", x)
    if values_matter(x):
        zero = (amax(absolute(frozen(x))) == 0) & _vanishes(epsilon)
        refuse_where(zero[..., 0], "x: row {at} is zero, so RMSNorm with epsilon 0 is not defined")
    return sqrt(mean(square(x)) + epsilon)


def _vanishes(epsilon: Epsilon) -> Array:
    """Where epsilon is exactly zero."""
    value = epsilon.value if isinstance(epsilon, Exact) else epsilon
    if not isinstance(value, np.ndarray) and not value >= 0:
        raise DomainError(f"epsilon: expected 0 or more, got {value}")
    return np.asarray(value == 0)


def _affine(x: Array, gain: Array | None, bias: Array | None = None) -> Array:
    for name, parameter in (("gain", gain), ("bias", bias)):
        if parameter is not None:
            require_width(name, parameter, x.shape[-1], of="x has")
            require_batch(x=x, **{name: parameter})
    x = x if gain is None else x * gain
    return x if bias is None else x + bias


def _require_one_row(x: Array) -> None:
    require_matrix("x", x)
    if x.shape[-2] != 1:
        raise ShapeError(f"x: expected one row (..., 1, d), got shape {x.shape}")
