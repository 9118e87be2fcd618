"""Matrices by their entries: what is built of raw numbers, what is unknown of them in proofs, and what is held."""

import itertools

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import RATIONAL
from resstream.arithmetic.unknowns import SymbolicUnknowns
from resstream.domains import (
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Positive,
    PositiveSemidefinite,
    Scores,
    Symmetric,
    Vector,
)

from .conftest import SYSTEMS, read, values

SIZES = {"n": 2, "d": 3}
SHAPES = pytest.mark.parametrize("shape", [(), (5,), (5, 3)])


BUILT = [
    (Matrix("n", "d"), [[1, -2, 0], [0, 4, 5]], [[1, -2, 0], [0, 4, 5]]),
    (NonNegative("n", "d"), [[1, -2, 0], [0, 4, -5]], [[1, 2, 0], [0, 4, 5]]),
    (Positive("n", "d"), [[1, -2, 0], [0, 4, -5]], [[1, 2, 1], [1, 4, 5]]),
    (NonZero("n", "d"), [[0, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]),
    (NonZero("n", "d"), [[0, 0, 0], [0, 0, 2]], [[0, 0, 0], [0, 0, 2]]),
    (NonZero("n", "d"), [[0, 0, 0], [5, 0, 2]], [[0, 0, 0], [5, 0, 2]]),
    (NonConstant("d", "n"), [[4, 4, 4], [4, 4, 5]], [[5, 4, 4], [4, 4, 5]]),
    (NonConstant("d"), [[0, 0, 0]], [[1, 0, 0]]),
    (NonConstant("d"), [[0, 1, 1]], [[0, 1, 1]]),
    (Symmetric("n"), [[1, 9], [2, 3]], [[1, 2], [2, 3]]),
]


@SYSTEMS
@SHAPES
@pytest.mark.parametrize(("domain", "raw", "wanted"), BUILT)
def test_what_is_built(domain, raw, wanted, system, shape):
    built = domain.build({"": read(system, raw, *shape)}, {}, SIZES)
    assert built.shape == (*shape, *np.shape(wanted))
    assert (built == np.array(wanted)).all()
    assert domain.contains(built.reshape(-1, *np.shape(wanted))[0], SIZES)


@SYSTEMS
@SHAPES
def test_a_semidefinite_matrix_is_built_of_its_pivots(system, shape):
    """[[1, 0], [2, 1]] diag(3, 4) [[1, 2], [0, 1]]."""
    raw = {"lower": read(system, [[9, 9], [2, 9]], *shape), "pivots": read(system, [[-3, 4]], *shape)}
    built = PositiveSemidefinite("n").build(raw, {}, SIZES)
    assert built.shape == (*shape, 2, 2)
    assert (built == np.array([[3, 6], [6, 16]])).all()


def test_what_is_drawn():
    for domain in (Matrix("n", "d"), NonZero("n", "d"), NonConstant("d", "n")):
        (part,) = domain.parts(SIZES, {}).values()
        assert (part.shape, part.kind) == ((2, 3), "real")
    for domain in (NonNegative("n", "d"), Positive("n", "d")):
        (part,) = domain.parts(SIZES, {}).values()
        assert (part.shape, part.kind) == ((2, 3), "weight")
    assert Symmetric("d").parts(SIZES, {})[""].shape == (3, 3)
    parts = PositiveSemidefinite("d").parts(SIZES, {})
    assert {name: (part.shape, part.kind) for name, part in parts.items()} == {
        "lower": ((3, 3), "real"),
        "pivots": ((1, 3), "weight"),
    }
    assert Positive().parts({}, {})[""].shape == (1, 1)
    assert NonConstant("d").parts(SIZES, {})[""].shape == (1, 3)


def test_shapes_and_what_is_wider():
    assert (Vector("d"), Scores("n"), Scores("n", "d")) == (Matrix(1, "d"), Matrix("n", "n"), Matrix("n", "d"))
    every, square = Matrix("n", "d"), Matrix("d", "d")
    for domain, shape, wider in (
        (every, ("n", "d"), None),
        (NonNegative("n", "d"), ("n", "d"), every),
        (Positive("n", "d"), ("n", "d"), NonNegative("n", "d")),
        (NonZero("n", "d"), ("n", "d"), every),
        (NonConstant("d", "n"), ("n", "d"), every),
        (Symmetric("d"), ("d", "d"), square),
        (PositiveSemidefinite("d"), ("d", "d"), Symmetric("d")),
    ):
        assert (domain.shape(), domain.wider()) == (shape, wider)
    assert NonConstant("d").excluded({"d": 1}) == "a row of width 1 is constant"
    assert NonConstant("d").excluded({"d": 2}) == ""


@SYSTEMS
@pytest.mark.parametrize(
    ("domain", "held", "others"),
    [
        (Matrix("n", "d"), [np.zeros((2, 3), int)], [np.zeros((3, 2), int)]),
        (NonNegative("n", 2), [[[0, 1], [2, 3]]], [[[0, 1], [-1, 3]], [[1, 2]]]),
        (Positive("n", 2), [[[1, 1], [2, 3]]], [[[0, 1], [2, 3]], [[-1, 1], [2, 3]], [[1, 2]]]),
        (NonZero("n", 2), [[[0, 0], [0, -3]]], [[[0, 0], [0, 0]], [[1, 2]]]),
        (
            NonConstant("d", "n"),
            [[[1, 1, 2], [0, 3, 0]]],
            [[[1, 1, 2], [3, 3, 3]], [[0, 0, 0], [0, 1, 2]], [[1, 2, 3]]],
        ),
        (Symmetric("n"), [[[1, 5], [5, 2]]], [[[1, 5], [4, 2]], [[1]]]),
        (
            PositiveSemidefinite("d"),
            [
                [[1, 1, 1], [1, 1, 1], [1, 1, 1]],
                [[0, 0, 0], [0, 2, 2], [0, 2, 2]],
                [[4, 2, 0], [2, 2, 1], [0, 1, 1]],
                [[0] * 3] * 3,
            ],
            [
                [[1, 2, 0], [2, 1, 0], [0, 0, 1]],
                [[1, 1, 0], [0, 1, 0], [0, 0, 1]],
                [[0, 1, 0], [1, 5, 0], [0, 0, 1]],
                [[0, 0, 1], [0, 5, 0], [1, 0, 1]],
                [[-1, 0, 0], [0, 1, 0], [0, 0, 1]],
                [[1, 0, 0], [0, 1, 0], [0, 0, -1]],
                [[1, 1, 1], [1, 1, 2], [1, 2, 1]],
                [[4, 2, 0], [2, 2, 1], [0, 1, 0]],
                [[1]],
            ],
        ),
    ],
)
def test_members_are_told_from_others(domain, held, others, system):
    assert [domain.contains(system.array(np.array(x)), SIZES) for x in held] == [True] * len(held)
    assert [domain.contains(system.array(np.array(x)), SIZES) for x in others] == [False] * len(others)
    assert not domain.contains("matrix", SIZES)


def test_what_is_unknown_of_them():
    for domain, fact in ((NonNegative("n", "d"), "is_nonnegative"), (Positive("n", "d"), "is_positive")):
        unknowns = SymbolicUnknowns()
        piece = domain.piece(unknowns, SIZES, {})
        assert piece.object.shape == (2, 3)
        assert all(getattr(value, fact) for value in values(piece.object))
        assert values(piece.raw[""]) == values(piece.object)
        assert unknowns.known == []
    piece = Matrix("n", "d").piece(SymbolicUnknowns(), SIZES, {})
    assert piece.object.shape == (2, 3)
    assert [value.is_nonnegative for value in values(piece.object)] == [None] * 6
    piece = Symmetric("n").piece(SymbolicUnknowns(), SIZES, {})
    assert piece.object[0, 1] == piece.object[1, 0]
    raw = PositiveSemidefinite("n").piece(unknowns := SymbolicUnknowns(), SIZES, {})
    a, b = values(raw.raw["pivots"])
    l = raw.raw["lower"][1, 0].value  # noqa: E741 - as in L D L^T
    assert a.is_nonnegative
    assert b.is_nonnegative
    assert [sp.expand(value) for value in values(raw.object)] == [a, a * l, a * l, sp.expand(a * l**2 + b)]
    assert unknowns.known == []


def test_what_is_not_zero_or_not_constant_is_known_by_a_sum_of_squares():
    unknowns = SymbolicUnknowns()
    piece = NonZero("n", 2).piece(unknowns, SIZES, {})
    assert piece.object.shape == (2, 2)
    assert values(piece.raw[""]) == values(piece.object)
    ((known, kind),) = unknowns.known
    assert kind == ">"
    assert sp.expand(known - sum(value**2 for value in values(piece.object))) == 0
    unknowns = SymbolicUnknowns()
    piece = NonConstant("d", "n").piece(unknowns, {"d": 4, "n": 2}, {})
    assert piece.object.shape == (2, 4)
    assert values(piece.raw[""]) == values(piece.object)
    assert [kind for _, kind in unknowns.known] == [">", ">"]
    for (known, _), row in zip(unknowns.known, piece.object, strict=True):
        assert sp.expand(known - sum((x - y) ** 2 for x, y in itertools.combinations(values(row), 2))) == 0


def test_what_rounding_moved_is_moved_back():
    x = RATIONAL.array([[2, 1], [3, -4]])
    assert (Symmetric("n").projected(x, SIZES).member == RATIONAL.array([[2, 2], [2, -4]])).all()
    found = PositiveSemidefinite("n").projected(x, SIZES).member
    assert PositiveSemidefinite("n").contains(found, SIZES)
    assert found[0, 1] == 2
