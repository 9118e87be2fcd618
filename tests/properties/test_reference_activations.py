"""Activations against their definitions, written out with the standard library's functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, Array, Ball
from resstream.errors import ShapeError
from resstream.reference.activations import ACTIVATIONS, gelu, gelu_tanh, silu

POINTS = np.array([[[-6.0, -1.5, -0.75], [0.0, 0.25, 1.0]], [[2.0, 3.5, 6.0], [-3.0, 0.5, -0.125]]])

DEFINITIONS: dict[str, Callable[[float], float]] = {
    "gelu": lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: x / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_its_definition(name: str) -> None:
    expected = np.vectorize(DEFINITIONS[name])(POINTS)
    found = ACTIVATIONS[name](POINTS)
    # Near zero of x + c x^3 nothing cancels: errors stay within a few roundings of the entries.
    assert np.abs(found - expected).max() <= 8 * np.finfo(float).eps * 6
    with Ball(128).working():
        balls = ACTIVATIONS[name](Ball(128).array(POINTS))
        assert np.abs(FLOAT64.array(balls) - expected).max() <= 8 * np.finfo(float).eps * 6
    assert found.shape == POINTS.shape == balls.shape


def test_the_names_are_those_of_the_library() -> None:
    assert set(ACTIVATIONS) == set(DEFINITIONS)


@pytest.mark.parametrize("function", [gelu, gelu_tanh, silu])
def test_far_from_zero_an_activation_is_zero_or_the_identity(function: Callable[[Array], Array]) -> None:
    assert np.array_equal(function(np.array([[-1e4, 1e4, 0.0]])), [[0, 1e4, 0]])


@pytest.mark.parametrize("function", [gelu, gelu_tanh, silu])
def test_what_is_no_matrix_is_refused(function: Callable[[Array], Array]) -> None:
    for wrong in ([[1.0]], np.array([1.0])):
        with pytest.raises(ShapeError, match="x: expected"):
            function(wrong)  # type: ignore[arg-type]
