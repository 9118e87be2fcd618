"""Lengths of vectors whose squares leave the range of float64, and scalings that round nothing."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL, Array, square, total, total_entry
from resstream.reference.magnitudes import near_one, root_of_squares

ROW = np.array([[3.0, 4.0], [0.0, 12.0]])


def squares(x: Array) -> Array:
    return total(square(x))


def all_squares(x: Array) -> Array:
    return total_entry(square(x))


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**600, 2.0**-1020, 2.0**1018])
def test_lengths_scale_exactly(scale: float) -> None:
    """By powers of two, of rows and of whole matrices, alone and in batches with ordinary ones."""
    assert np.array_equal(root_of_squares(squares, scale * ROW, 1), scale * np.array([[5.0], [12.0]]))
    assert np.array_equal(root_of_squares(all_squares, scale * ROW, 2), [[scale * 13.0]])
    mixed = np.stack([ROW, scale * ROW, np.zeros((2, 2))])
    lengths = root_of_squares(squares, mixed, 1)
    assert np.array_equal(lengths, np.stack([[[5.0], [12.0]], scale * np.array([[5.0], [12.0]]), [[0.0], [0.0]]]))
    whole = root_of_squares(all_squares, mixed, 2)
    assert np.array_equal(whole, np.array([13.0, scale * 13.0, 0.0])[:, None, None])


def test_an_epsilon_is_added_to_the_squares_at_every_scale() -> None:
    assert root_of_squares(squares, np.array([[3.0]]), 1, 16.0).item() == 5
    assert root_of_squares(squares, np.array([[5.0]]), 1, 11.0).item() == 6
    assert root_of_squares(squares, RATIONAL.array([[5]]), 1, 11).item().value == 6
    assert root_of_squares(squares, np.array([[0.0]]), 1, 16.0).item() == 4
    assert root_of_squares(squares, np.array([[2.0**600]]), 1, 16.0).item() == 2.0**600
    assert root_of_squares(squares, np.array([[3 * 2.0**-510]]), 1, 16 * 2.0**-1020).item() == 5 * 2.0**-510
    each = root_of_squares(squares, np.array([[3.0], [2.0**600], [0.0]]), 1, np.array([[16.0], [0.0], [9.0]]))
    assert np.array_equal(each, [[5], [2.0**600], [3]])


def test_squares_at_the_bounds_are_computed_again() -> None:
    """At 2^-960 and 2^1000 themselves, too, where the result is the same, as both ways are exact for powers of two."""
    for bound in (2.0**-960, 2.0**1000):
        for factor in (0.25, 1.0, 4.0):
            length = np.sqrt(bound * factor)
            calls: list[int] = []

            def counted(x: Array, calls: list[int] = calls) -> Array:
                calls.append(1)
                return squares(x)

            assert root_of_squares(counted, np.array([[length]]), 1).item() == length
            inside = (factor > 1) if bound < 1 else (factor < 1)
            assert len(calls) == (1 if inside else 2)
    for inside in (np.nextafter(2.0**-480, 1), np.nextafter(2.0**500, 0)):
        assert root_of_squares(once := mock.Mock(wraps=squares), np.array([[inside]]), 1).item() == inside
        assert once.call_count == 1


def test_other_numbers_have_no_such_range() -> None:
    huge = 2**3000
    row = RATIONAL.array([[3 * huge, 4 * huge]])
    assert root_of_squares(squares, row, 1).item().value == 5 * huge
    assert near_one(row, 1) is row


@pytest.mark.parametrize("scale", [1.0, 2.0**-299, 2.0**299])
def test_ordinary_entries_are_left_alone(scale: float) -> None:
    x = scale * np.array([[0.75, -0.5], [0.0, 0.0]])
    assert near_one(x, 1) is x
    assert near_one(x, 2) is x


@pytest.mark.parametrize("scale", [2.0**300, 2.0**-300, 2.0**1020, 2.0**-1060])
def test_huge_and_tiny_entries_are_scaled_exactly(scale: float) -> None:
    """The largest entry of each row, or of each matrix, comes to lie in [1/2, 1); zeros stay zeros."""
    x = scale * np.array([[1.0, -0.5], [0.0, 0.0], [0.25, 0.0]])
    assert np.array_equal(near_one(x, 1), [[0.5, -0.25], [0, 0], [0.5, 0]])
    assert np.array_equal(near_one(x, 2), [[0.5, -0.25], [0, 0], [0.125, 0]])


def test_what_is_not_finite_stays() -> None:
    x = np.array([[np.inf, 1.0], [np.nan, 2.0**400]])
    found = near_one(x, 1)
    assert np.array_equal(found, x * [[0.5], [0.5]], equal_nan=True)
