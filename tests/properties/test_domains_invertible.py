"""Invertible matrices, pairs with their inverses, and projections: what is built of raw numbers, and what is held."""

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import RATIONAL
from resstream.arithmetic.unknowns import SymbolicUnknowns, cases
from resstream.domains import Invertible, InvertiblePair, Matrix, Projection

from .conftest import SYSTEMS

SIZES = {"d": 2}
SHAPES = pytest.mark.parametrize("shape", [(), (5,)])


def raw(system, *shape, **more):
    """2 below the diagonal of one, 3 above that of the other, which is 4 and -1/2; the rows in the other order."""
    halves = {"lower": [[9, 9], [4, 9]], "upper": [[8, 6], [9, -1]], "order": [[6, 2]], **more}
    return {name: system.array(np.broadcast_to(x, (*shape, *np.shape(x))).copy()) / 2 for name, x in halves.items()}


@SYSTEMS
@SHAPES
def test_an_invertible_matrix_is_a_product_of_triangles_in_some_order(system, shape):
    """[[1, 0], [2, 1]] @ [[1, 3], [0, 1]] with its columns multiplied by 4 and -1/2, and its rows exchanged."""
    wanted = np.array([[16, -7], [8, -3]])
    matrix = Invertible("d").build(raw(system, *shape), {}, SIZES)
    assert matrix.shape == (*shape, 2, 2)
    assert (2 * matrix == wanted).all()
    first, second = InvertiblePair("d").build(raw(system, *shape), {}, SIZES)
    assert (2 * first == wanted).all()
    assert second.shape == (*shape, 2, 2)
    assert (first @ second == np.eye(2, dtype=int)).all()


@SYSTEMS
@SHAPES
def test_three_rows_in_a_turn(system, shape):
    """The least raw number is of the row that comes first: a turn of three is not its own inverse."""
    parts = {"lower": np.zeros((3, 3), int), "upper": np.diag([2, 4, 8]), "order": [[4, 6, 2]]}
    first, second = InvertiblePair("d").build(raw(system, *shape, **parts), {}, {"d": 3})
    assert (first == np.array([[0, 0, 4], [1, 0, 0], [0, 2, 0]])).all()
    assert (first @ second == np.eye(3, dtype=int)).all()


@SYSTEMS
@SHAPES
def test_a_projection_keeps_some_directions(system, shape):
    """Of B = [[8, -7/2], [4, -3/2]] the first column, along the second: B diag(1, 0) B^-1."""
    found = Projection("d").build(raw(system, *shape, kept=[[1, 0]]), {}, SIZES)
    assert found.shape == (*shape, 2, 2)
    assert (found == np.array([[-6, 14], [-3, 7]])).all()
    for kept, wanted in (([[2, 3]], np.eye(2, dtype=int)), ([[0, -1]], np.zeros((2, 2), int))):
        assert (Projection("d").build(raw(system, *shape, kept=kept), {}, SIZES) == wanted).all()


def test_raw_zeros_are_the_identity_and_project_to_nothing():
    zeros = {name: 0 * values for name, values in raw(RATIONAL, kept=[[0, 0]]).items()}
    assert (Invertible("d").build(zeros, {}, SIZES) == np.eye(2, dtype=int)).all()
    assert (Projection("d").build(zeros, {}, SIZES) == 0).all()


def test_what_is_drawn_and_what_it_gives():
    shapes = {"lower": (3, 3), "upper": (3, 3), "order": (1, 3)}
    for domain, more in ((Invertible("d"), {}), (InvertiblePair("d"), {}), (Projection("d"), {"kept": (1, 3)})):
        assert {name: part.shape for name, part in domain.parts({"d": 3}, {}).items()} == {**shapes, **more}
    assert Invertible("d").shape() == Projection("d").shape() == ("d", "d")
    assert InvertiblePair("d").shape() is None
    assert Invertible("d").wider() == Projection("d").wider() == Matrix("d", "d")
    assert InvertiblePair("d").wider() is None


@SYSTEMS
def test_members_are_told_from_others(system):
    matrix, inverse = system.array([[4, 2], [0, 8]]) / 2, system.array([[4, -1], [0, 2]]) / 8
    singular, wide = system.array([[1, 2], [2, 4]]), system.array([[1, 2, 3], [2, 5, 7]])
    held = [Invertible("d").contains(x, SIZES) for x in (matrix, inverse, singular, wide, "x")]
    assert held == [True, True, False, False, False]
    pairs = [(matrix, inverse), (inverse, matrix), (matrix, matrix), (matrix, singular), (matrix, wide), (wide, matrix)]
    assert [InvertiblePair("d").contains(pair, SIZES) for pair in pairs] == [True, True, False, False, False, False]
    for wrong in ([matrix, inverse], (matrix,), (matrix, inverse, matrix), matrix):
        assert not InvertiblePair("d").contains(wrong, SIZES)
    assert not InvertiblePair("d").contains((matrix, inverse), {"d": 3})
    oblique = system.array([[1, 5], [0, 0]])
    held = [Projection("d").contains(x, SIZES) for x in (oblique, 0 * oblique, 2 * oblique, wide, "x")]
    assert held == [True, True, False, False, False]


@pytest.mark.parametrize("d", [1, 2])
def test_there_is_an_unknown_projection_of_every_rank(d):
    pieces = [Projection("d").piece(SymbolicUnknowns(case), {"d": d}, {}).object for case in cases()]
    traces = [sp.simplify(sum(piece[k, k].value for k in range(d))) for piece in pieces]
    assert traces == list(range(d + 1))
