"""The functions of one number between the two maps of an MLP, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from resstream.arithmetic import (
    Array,
    erf,
    exact,
    exp,
    frozen,
    is_expression,
    leading,
    log,
    ones,
    relu,
    sqrt,
    tanh,
    zeros,
)
from resstream.reference.checks import in_range, require_matrix

_TWO_OVER_PI = exact(2 / Fraction(math.pi))  # with pi's float64, as implementations take it


@in_range
def gelu(x: Array) -> Array:
    """x times the normal distribution function, x/2 (1 + erf(x/sqrt 2)), entry by entry: (..., n, d), kept.

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016), section 2.

    >>> gelu(np.array([[0.0, 100.0]]))
    array([[  0., 100.]])
    """
    x = require_matrix("x", x)
    one = ones((1,) * x.ndim, like=x)
    return exact(1, 2) * x * (1 + erf(x / sqrt(2 * one)))


@in_range
def gelu_tanh(x: Array) -> Array:
    """GELU as it is approximated, x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), entry by entry: (..., n, d), kept.

    Source: Hendrycks and Gimpel (2016), section 2.

    >>> gelu_tanh(np.array([[0.0, 1.0]])).round(4).tolist()
    [[0.0, 0.8412]]
    """
    x = require_matrix("x", x)
    rate = sqrt(_TWO_OVER_PI * ones((1,) * x.ndim, like=x))
    return exact(1, 2) * x * (1 + tanh(rate * (x + exact("0.044715") * (x * x * x))))


@in_range
def silu(x: Array) -> Array:
    """x times the logistic function, x/(1 + exp(-x)), entry by entry: any shape, kept (also called swish).

    Source: Elfwing, Uchibe and Doya, Sigmoid-Weighted Linear Units (2017), equation 1.

    >>> silu(np.array([[0.0, 1000.0, -1000.0]]))
    array([[   0., 1000.,   -0.]])
    """
    x = require_matrix("x", x)
    with np.errstate(over="ignore"):  # far below zero the weight of x is rightly 0
        return x / (1 + exp(-x))


@in_range
def sigmoid(x: Array) -> Array:
    """The logistic function, 1/(1 + exp(-x)), entry by entry: any shape, kept, in (0, 1).

    >>> sigmoid(np.array([[0.0, 1000.0]]))
    array([[0.5, 1. ]])
    """
    x = require_matrix("x", x)
    with np.errstate(over="ignore"):  # far below zero it is rightly 0
        return 1 / (1 + exp(-x))


@in_range
def softplus(x: Array) -> Array:
    """log(1 + exp(x)), entry by entry: any shape, kept, above 0. Source: Dugas and others (2001).

    >>> softplus(np.array([[0.0, 1000.0]]))
    array([[6.93147181e-01, 1.00000000e+03]])
    """
    x = require_matrix("x", x)
    if x.dtype == np.float64:
        return np.logaddexp(0, x)
    symbolic = x.dtype == object and is_expression(leading(x))
    shift = zeros((1, 1), x) if symbolic else relu(frozen(x))  # as `peak` of x and 0
    return shift + log(exp(-shift) + exp(x - shift))


ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {"gelu": gelu, "gelu_tanh": gelu_tanh, "relu": relu, "silu": silu}
)
"""Every activation, by the name that a `FeedForward` gives."""
