"""Triangular matrices, their products and exact inverses, against inverses written out."""

import numpy as np
import pytest

from resstream.domains.triangular import diagonal_of, triangular_pair, unit_lower, unit_lower_inverse

from .conftest import SYSTEMS, read

BELOW = np.array([[7, 7, 7], [2, 7, 7], [-3, 5, 7]])
"""Of which 2, -3 and 5 count: the inverse has -2, 13 and -5 there."""


@SYSTEMS
@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (5, 4)])
def test_a_unit_triangle_and_its_inverse(system, shape):
    lower = unit_lower(read(system, BELOW, *shape))
    assert lower.shape == (*shape, 3, 3)
    assert (lower == np.array([[1, 0, 0], [2, 1, 0], [-3, 5, 1]])).all()
    inverse = unit_lower_inverse(lower)
    assert inverse.shape == (*shape, 3, 3)
    assert (inverse == np.array([[1, 0, 0], [-2, 1, 0], [13, -5, 1]])).all()
    one = unit_lower(read(system, np.array([[4]]), *shape))
    assert (unit_lower_inverse(one) == 1).all()
    assert one.shape == (*shape, 1, 1)


@SYSTEMS
@pytest.mark.parametrize("shape", [(), (2,), (5, 4)])
def test_a_product_of_triangles_and_its_inverse(system, shape):
    """2 below ones, and 3 above ones, whose columns are multiplied: [[1, 0], [2, 1]] @ [[4, -3/2], [0, -1/2]]."""
    lower, upper = np.array([[9, 9], [2, 9]]), np.array([[9, 3], [9, 9]])
    diagonal = read(system, np.array([[8, -1]]), *shape) / 2
    product, inverse = triangular_pair(read(system, lower, *shape), read(system, upper, *shape), diagonal)
    assert product.shape == inverse().shape == (*shape, 2, 2)
    assert (2 * product == np.array([[8, -3], [16, -7]])).all()
    assert (product @ inverse() == np.eye(2, dtype=int)).all()


def test_the_diagonal_is_a_row():
    x = np.arange(18).reshape(2, 3, 3)
    assert diagonal_of(x).tolist() == [[[0, 4, 8]], [[9, 13, 17]]]
