"""Rotary pairs and ALiBi against their formulas, written out in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, Ball
from resstream.errors import DomainError, ShapeError
from resstream.reference.attention import LONGEST
from resstream.reference.positions import (
    ADJACENT,
    HALVES,
    RotaryPositions,
    alibi_bias,
    alibi_slopes,
    halves_to_adjacent,
)
from resstream.reference.rotary import MOST

LIKE = np.zeros((1, 1))


@pytest.mark.parametrize("system", [FLOAT64, Ball(128)], ids=lambda system: system.name)
@pytest.mark.parametrize("factors", [None, [[1.0, 0.5, 0.25]]])
def test_the_angles_are_position_times_frequency(system: Any, factors: Any) -> None:
    with system.working():
        positions = RotaryPositions(6, 100, factors=None if factors is None else system.array(np.array(factors)))
        rotation = positions.rotation(5, system.array(LIKE))
        cosines, sines = FLOAT64.array(rotation.cosines), FLOAT64.array(rotation.sines)
    frequencies = 100.0 ** -np.array([0, 2 / 6, 4 / 6]) * (1 if factors is None else np.array(factors[0]))
    angles = np.arange(5)[:, None] * frequencies
    assert cosines.shape == (5, 3)
    assert np.abs(cosines - np.cos(angles)).max() < 1e-14  # a few roundings of angles up to 4
    assert np.abs(sines - np.sin(angles)).max() < 1e-14


@pytest.mark.parametrize(("pairs", "first", "second"), [(HALVES, [0, 1], [2, 3]), (ADJACENT, [0, 2], [1, 3])])
def test_every_pair_is_turned_by_its_angle_and_the_rest_stays(pairs: str, first: list[int], second: list[int]) -> None:
    X = np.random.default_rng(0).standard_normal((2, 3, 6))
    positions = RotaryPositions(4, 10_000, pairs)
    turned = positions.turn(X, positions.rotation(3, X))
    angles = np.arange(3)[:, None] * np.array([1, 0.01])
    whole = (X[..., first] + 1j * X[..., second]) * np.exp(1j * angles)
    assert np.abs(turned[..., first] - whole.real).max() < 1e-14
    assert np.abs(turned[..., second] - whole.imag).max() < 1e-14
    assert np.array_equal(turned[..., 4:], X[..., 4:])
    one = positions.rotation(3, X)
    again = positions.turn(X[..., 1:2, :], type(one)(one.cosines[1:2], one.sines[1:2]))
    assert np.array_equal(again, turned[..., 1:2, :])


def test_one_row_of_angles_serves_every_row() -> None:
    positions = RotaryPositions(2)
    X = np.random.default_rng(0).standard_normal((3, 2))
    rotation = positions.rotation(2, X)
    second = type(rotation)(rotation.cosines[1:], rotation.sines[1:])
    turned = positions.turn(X, second)
    assert np.abs(np.hypot(*turned.T) - np.hypot(*X.T)).max() < 1e-15
    assert np.abs(turned - X @ np.array([[np.cos(1), np.sin(1)], [-np.sin(1), np.cos(1)]])).max() < 1e-15


def test_angles_may_differ_within_a_batch() -> None:
    """Cosines and sines with leading axes, as many as X has: one set of angles for each."""
    positions = RotaryPositions(4)
    X = np.random.default_rng(0).standard_normal((3, 5, 4))
    each = [RotaryPositions(4, base).rotation(5, X) for base in (2, 10, 50)]
    together = type(each[0])(np.stack([one.cosines for one in each]), np.stack([one.sines for one in each]))
    expected = np.stack([positions.turn(x, one) for x, one in zip(X, each, strict=True)])
    assert np.array_equal(positions.turn(X, together), expected)


def test_the_base_is_ten_thousand_where_none_is_given() -> None:
    assert RotaryPositions(4).rotation(2, LIKE).sines[1, 1] == pytest.approx(np.sin(0.01), rel=1e-15)  # a rounding


def test_what_does_not_fit_is_refused() -> None:
    positions = RotaryPositions(4)
    rotation = positions.rotation(3, LIKE)
    with pytest.raises(ShapeError, match="X: expected at least the 4 columns that turn, got shape"):
        positions.turn(np.zeros((3, 3)), rotation)
    for X, wrong in ((np.zeros((2, 4)), rotation), (np.zeros((3, 4)), RotaryPositions(6).rotation(3, LIKE))):
        with pytest.raises(ShapeError, match=rf"rotation: expected cosines \(\.\.\., {X.shape[-2]}, 2\) for X"):
            positions.turn(X, wrong)
    with pytest.raises(DomainError, match="rotation: expected"):
        positions.turn(np.zeros((3, 4)), None)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="X: expected a NumPy array"):
        positions.turn([[0.0] * 4] * 3, rotation)  # type: ignore[arg-type]


@pytest.mark.parametrize("base", [True, "1", 0, -1, MOST + 1, float("nan"), 1j])
def test_a_base_is_a_positive_number(base: Any) -> None:
    with pytest.raises(DomainError, match="base: expected a positive number of at most"):
        RotaryPositions(2, base)


def test_the_ends_of_what_is_allowed() -> None:
    assert RotaryPositions(MOST, MOST).pairs == HALVES
    assert RotaryPositions(2, 0.5).rotation(1, LIKE).cosines.item() == 1
    for make, error in (
        (lambda: RotaryPositions(0), DomainError),
        (lambda: RotaryPositions(1), DomainError),
        (lambda: RotaryPositions(2, pairs="thirds"), DomainError),
        (lambda: RotaryPositions(5), ShapeError),
        (lambda: RotaryPositions(MOST + 2), DomainError),
        (lambda: RotaryPositions(2).rotation(0, LIKE), DomainError),
        (lambda: RotaryPositions(2).rotation(LONGEST + 1, LIKE), DomainError),
        (lambda: RotaryPositions(4, factors=np.ones((1, 3))), ShapeError),
        (lambda: halves_to_adjacent(0), DomainError),
        (lambda: halves_to_adjacent(4, 5), DomainError),
        (lambda: halves_to_adjacent(4, -1), DomainError),
        (lambda: halves_to_adjacent(4, 3), ShapeError),
        (lambda: alibi_slopes(0), DomainError),
        (lambda: alibi_slopes(LONGEST + 1), DomainError),
        (lambda: alibi_bias(np.ones((1, 1, 1)), 0), DomainError),
        (lambda: alibi_bias([[[1.0]]], 1), ShapeError),  # type: ignore[arg-type]
        (lambda: alibi_bias(np.ones((1, 1, 2)), 1), ShapeError),
    ):
        with pytest.raises(error):
            make()


def test_the_order_of_columns() -> None:
    assert halves_to_adjacent(6).tolist() == [0, 3, 1, 4, 2, 5]
    assert halves_to_adjacent(6, 4).tolist() == [0, 2, 1, 3, 4, 5]
    assert halves_to_adjacent(3, 0).tolist() == [0, 1, 2]
    assert halves_to_adjacent(1, 0).tolist() == [0]
    assert halves_to_adjacent(LONGEST, 0).shape == (LONGEST,)


def test_slopes() -> None:
    """2^(-8k/m) for m heads if that is a power of two; else those of the largest one below, and every other of 2m's."""
    assert alibi_slopes(1) == [2.0**-8]
    assert alibi_slopes(2) == [2.0**-4, 2.0**-8]
    assert alibi_slopes(3) == [2.0**-4, 2.0**-8, 2.0**-2]
    assert alibi_slopes(5) == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1]
    assert alibi_slopes(7)[4:] == [2.0**-1, 2.0**-3, 2.0**-5]
    assert len(alibi_slopes(LONGEST)) == LONGEST


@pytest.mark.parametrize("system", [FLOAT64, Ball(128)], ids=lambda system: system.name)
def test_the_bias_is_the_slope_times_the_key_position(system: Any) -> None:
    with system.working():
        bias = FLOAT64.array(alibi_bias(system.array(np.array([[[0.5]], [[0.25]]])), 3))
        one = FLOAT64.array(alibi_bias(system.array(np.array([[[0.5]]])), 1))
    assert np.array_equal(bias, [[[0, 0.5, 1]], [[0, 0.25, 0.5]]])
    assert np.array_equal(one, [[[0]]])
