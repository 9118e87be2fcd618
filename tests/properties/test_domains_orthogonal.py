"""Orthogonal matrices, spheres and balls: what reflections build, what is unknown in proofs, and what is held."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import FLOAT64, RATIONAL
from resstream.arithmetic.unknowns import SymbolicUnknowns, cases
from resstream.domains import Ball, Matrix, Orthogonal, Sphere
from resstream.domains.pieces import constants

from .conftest import SYSTEMS, read, values

SHAPES = pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
SIZES = {"d": 2, "k": 1}


class Solving(SymbolicUnknowns):
    """Unknowns of what solves equations."""

    solves = True


class AtZero(SymbolicUnknowns):
    """Where every real unknown is zero."""

    def real(self, shape):
        return constants(np.zeros(shape), self)


def assert_is(found, wanted, system, shape):
    wanted = read(system, wanted)
    assert found.shape == (*shape, *wanted.shape)
    if system is RATIONAL:
        assert (found == wanted).all()
    else:
        assert np.abs(found - wanted).max() < 1e-15  # a few roundings


# ---- what is built ----------------------------------------------------------


@SYSTEMS
@SHAPES
@pytest.mark.parametrize(
    ("vectors", "flip", "wanted"),
    [
        ([[1, 1], [0, 0]], 0, [[0, -1], [-1, 0]]),
        ([[1, 1], [0, 0]], 1, [[0, 1], [-1, 0]]),
        ([[0, 0], [3, 4]], 0, [["7/25", "-24/25"], ["-24/25", "-7/25"]]),
        ([[1, 1], [3, 4]], 0, [["24/25", "7/25"], ["-7/25", "24/25"]]),
        ([[0, 0], [0, 0]], 0, [[1, 0], [0, 1]]),
        ([[0, 0], [0, 0]], 1, [[-1, 0], [0, 1]]),
    ],
)
def test_an_orthogonal_matrix_is_a_product_of_reflections(vectors, flip, wanted, system, shape):
    raw = {"vectors": read(system, vectors, *shape), "flip": read(system, [[flip]], *shape)}
    assert_is(Orthogonal("d").build(raw, {}, SIZES), wanted, system, shape)
    assert_is(Orthogonal("d", "k").build(raw, {}, SIZES), [row[:1] for row in wanted], system, shape)


@SYSTEMS
@SHAPES
def test_rows_on_the_sphere_and_in_the_ball(system, shape):
    """(1, 0) reflected in (3, 4), and (3, 4) inverted at the circle."""
    rows = [[3, 4], [0, 0], ["1/2", "-1/2"]]
    built = Sphere("d", 3).build({"": read(system, rows, *shape)}, {}, SIZES)
    assert_is(built, [["7/25", "-24/25"], [1, 0], [0, 1]], system, shape)
    for edge, wanted in (
        ([[0], [0], [0]], [["3/25", "4/25"], [0, 0], ["1/2", "-1/2"]]),
        ([[1], [1], [0]], [["7/25", "-24/25"], [1, 0], ["1/2", "-1/2"]]),
    ):
        raw = {"vectors": read(system, rows, *shape), "edge": read(system, edge, *shape)}
        assert_is(Ball("d", 3).build(raw, {}, SIZES), wanted, system, shape)


def test_in_three_dimensions():
    vectors = RATIONAL.array([[1, 1, 1]])
    third = read(RATIONAL, [["1/3", "-2/3", "-2/3"]])
    assert (Sphere(3).build({"": vectors}, {}, {}) == third).all()
    inside = Ball(3).build({"vectors": vectors, "edge": RATIONAL.array([[0]])}, {}, {})
    assert (3 * inside == vectors).all()
    raw = {"vectors": RATIONAL.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]]), "flip": RATIONAL.array([[0]])}
    built = Orthogonal(3).build(raw, {}, {})
    assert (built[:1] == third).all()
    assert (built @ built == np.eye(3, dtype=int)).all()


def test_what_is_drawn_and_its_shapes():
    def parts(domain):
        return {name: (p.shape, p.kind, p.low, p.high) for name, p in domain.parts({"d": 3, "n": 2}, {}).items()}

    for domain in (Orthogonal("d"), Orthogonal("d", "n")):
        assert parts(domain) == {"vectors": ((3, 3), "real", 0, 0), "flip": ((1, 1), "whole", 0, 1)}
    assert parts(Sphere("d", "n")) == {"": ((2, 3), "real", 0, 0)}
    assert parts(Ball("d", "n")) == {"vectors": ((2, 3), "real", 0, 0), "edge": ((2, 1), "whole", 0, 1)}
    assert (Orthogonal("d").shape(), Orthogonal("d", "n").shape()) == (("d", "d"), ("d", "n"))
    assert Sphere("d").shape() == Ball("d").shape() == (1, "d")
    assert Sphere("d", "n").shape() == Ball("d", "n").shape() == ("n", "d")
    assert (Orthogonal("d").wider(), Orthogonal("d", "n").wider()) == (Matrix("d", "d"), Matrix("d", "n"))
    assert (Sphere("d", "n").wider(), Ball("d", "n").wider()) == (Ball("d", "n"), Matrix("n", "d"))
    assert Orthogonal("d", "n").excluded({"d": 2, "n": 3}) == "no 3 columns of height 2 are orthonormal"
    assert Orthogonal("d", "n").excluded({"d": 2, "n": 2}) == ""


# ---- what is held -----------------------------------------------------------

UNIT = [["3/5", "4/5"]]


@pytest.mark.parametrize(
    ("domain", "held", "others"),
    [
        (
            Orthogonal("d"),
            [[["3/5", "4/5"], ["-4/5", "3/5"]], [[0, 1], [1, 0]]],
            [[["3/5", "4/5"], ["4/5", "3/5"]], [[2, 0], [0, 1]], [[1, 1], [0, 1]], [[1], [0]]],
        ),
        (Orthogonal("d", "k"), [[["3/5"], ["4/5"]]], [[[1], [1]], [[1, 0], [0, 1]]]),
        (Sphere("d", 2), [[*UNIT, [0, -1]]], [[*UNIT, [0, 0]], [[1, 1], *UNIT], UNIT]),
        (Ball("d", 2), [[*UNIT, [0, 0]], [["1/2", "1/2"], [1, 0]]], [[*UNIT, [1, 1]], [["1/2", 1], [0, 0]], UNIT]),
    ],
)
def test_members_are_told_from_others(domain, held, others):
    assert [domain.contains(read(RATIONAL, rows), SIZES) for rows in held] == [True] * len(held)
    assert [domain.contains(read(RATIONAL, rows), SIZES) for rows in others] == [False] * len(others)
    assert not domain.contains("rows", SIZES)


def test_what_rounding_moved_is_moved_back():
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    found = Orthogonal("d").projected(RATIONAL.array(turn), SIZES).member
    assert Orthogonal("d").contains(found, SIZES)
    assert np.abs(FLOAT64.array(found) - turn).max() < 1e-15
    longer = RATIONAL.array(np.array([[0.6, 0.8 + 2**-50], [0.5, 0.5]]))
    assert Sphere("d", 2).contains(Sphere("d", 2).projected(longer, SIZES).member, SIZES)
    inside = Ball("d", 2).projected(longer, SIZES).member
    assert Ball("d", 2).contains(inside, SIZES)
    assert (inside[1] == longer[1]).all()


# ---- what is unknown in proofs -----------------------------------------------


def test_both_components_are_pieces_of_reflections():
    pieces = [Orthogonal("d").piece(SymbolicUnknowns(case), SIZES, {}) for case in cases()]
    (rotation, reflection) = [sp.simplify(sp.Matrix(2, 2, values(piece.object)).det()) for piece in pieces]
    assert (rotation, reflection) == (1, -1)
    for case, count in zip(cases(), (2, 1), strict=True):
        unknowns = SymbolicUnknowns(case)
        Orthogonal("d").piece(unknowns, SIZES, {})
        assert [kind for _, kind in unknowns.known] == [">"] * count
    (piece,) = [Orthogonal("d", "k").piece(unknowns := SymbolicUnknowns(case), SIZES, {}) for case in cases()]
    assert [kind for _, kind in unknowns.known] == [">"]
    assert piece.object.shape == (2, 1)
    assert sp.simplify(sum(value**2 for value in values(piece.object))) == 1
    for rows in ([[0, 1], [1, 0]], [["3/5", "4/5"], ["-4/5", "3/5"]]):
        raw = pieces[0].raw(lambda _, rows=rows: np.vectorize(Fraction, otypes=[object])(np.array(rows, dtype=object)))
        exactly = {name: RATIONAL.array(numbers) for name, numbers in raw.items()}
        assert (Orthogonal("d").build(exactly, {}, SIZES) == read(RATIONAL, rows)).all()
        assert raw["flip"].tolist() == [[0]]


def test_equations_are_pieces_for_what_solves_them():
    unknowns = Solving()
    square = Orthogonal("d").piece(unknowns, SIZES, {}).object
    a, b, c, d = values(square)
    wanted = [a * a + c * c - 1, a * b + c * d, a * b + c * d, b * b + d * d - 1]
    wanted += [a * a + b * b - 1, a * c + b * d, a * c + b * d, c * c + d * d - 1]
    assert [kind for _, kind in unknowns.known] == ["=="] * 8
    assert [sp.expand(known - one) for (known, _), one in zip(unknowns.known, wanted, strict=True)] == [0] * 8
    unknowns = Solving()
    x, y = values(Orthogonal("d", "k").piece(unknowns, SIZES, {}).object)
    ((known, kind),) = unknowns.known
    assert (sp.expand(known - (x * x + y * y - 1)), kind) == (0, "==")
    unknowns = Solving()
    piece = Sphere("d", 2).piece(unknowns, SIZES, {})
    a, b, c, d = values(piece.object)
    assert [(sp.expand(known - one), kind) for (known, kind), one in zip(
        unknowns.known, (a * a + b * b - 1, c * c + d * d - 1), strict=True)] == [(0, "==")] * 2  # fmt: skip
    assert values(piece.raw[""]) == [a - 1, b, c - 1, d]


def test_every_row_of_a_sphere_is_reflected_or_the_first_unit_vector():
    pieces = [Sphere("d", 2).piece(SymbolicUnknowns(case), SIZES, {}) for case in cases()]
    for case, count in zip(cases(), (2, 1, 1, 0), strict=True):
        unknowns = SymbolicUnknowns(case)
        Sphere("d", 2).piece(unknowns, SIZES, {})
        assert [kind for _, kind in unknowns.known] == [">"] * count
    plain = [[values(row) == [1, 0] for row in piece.object] for piece in pieces]
    assert plain == [[False, False], [False, True], [True, False], [True, True]]
    for piece in pieces:
        assert piece.object.shape == (2, 2)
        for row, raw in zip(piece.object, piece.raw[""], strict=True):
            x, y = values(row)
            assert sp.simplify(x * x + y * y) == 1
            assert values(raw) == [x - 1, y]


def test_rows_of_a_ball_are_known_by_their_lengths():
    unknowns = SymbolicUnknowns()
    piece = Ball("d", 2).piece(unknowns, SIZES, {})
    a, b, c, d = values(piece.object)
    assert [kind for _, kind in unknowns.known] == [">="] * 2
    lengths = (1 - a * a - b * b, 1 - c * c - d * d)
    assert [sp.expand(known - one) for (known, _), one in zip(unknowns.known, lengths, strict=True)] == [0, 0]
    assert values(piece.raw["vectors"]) == [a, b, c, d]
    at_zero = Ball("d").piece(AtZero(), SIZES, {})
    assert values(at_zero.raw["edge"]) == [0]
    assert (piece.raw["edge"].shape, values(piece.raw["edge"])) == ((2, 1), [0, 0])
