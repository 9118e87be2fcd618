"""Numbers: real, in order, whole, subsets and counts; what is built, unknown in proofs, and held."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from flint import arb

from resstream.arithmetic import RATIONAL, Ball, exact
from resstream.arithmetic.unknowns import SymbolicUnknowns, cases
from resstream.domains import Count, Integers, Ordered, Scalar, Subset, Whole
from resstream.errors import DomainError

from .conftest import SYSTEMS, read, values

SHAPES = pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
ENDS = [(None, None), (-1, None), (None, 2), (-1, 2), (exact(-1, 2), exact(3, 2)), (2, 2)]


def clamped(x, low, high):
    low, high = (None if end is None else Fraction(str(getattr(end, "value", end))) for end in (low, high))
    x = x if low is None else max(x, low)
    return x if high is None else min(x, high)


# ---- one number -------------------------------------------------------------


@SYSTEMS
@SHAPES
@pytest.mark.parametrize(("low", "high"), ENDS)
def test_a_number_beyond_an_end_stands_for_the_end(low, high, system, shape):
    domain = Scalar(low, high)
    (part,) = domain.parts({}, {}).values()
    assert (part.shape, part.ends) == ((1, 1), (domain.low, domain.high))
    for number in (-7, -1, 0, 2, 9):
        built = domain.build({"": read(system, [[number]], *shape)}, {}, {})
        assert built.shape == (*shape, 1, 1)
        assert (built == clamped(Fraction(number), low, high)).all()
        assert domain.contains(built.reshape(-1, 1, 1)[0], {})
        within = clamped(Fraction(number), low, high) == number
        assert domain.contains(read(system, [[number]]), {}) is within
    assert not domain.contains(read(system, [[1, 1]]), {})
    assert domain.wider() == (None if low is None and high is None else Scalar())
    assert domain.shape() == (1, 1)


@pytest.mark.parametrize("domain", [Scalar, lambda **ends: Ordered(2, **ends)])
def test_ends_are_exact_and_in_order(domain):
    made = domain(low=exact(1, 2), high=Fraction(4, 2))
    assert (made.low, made.high, type(made.low), type(made.high)) == (Fraction(1, 2), 2, Fraction, int)
    for ends, message in (
        ({"low": 0.5}, "low: expected a whole number or a fraction, got 0.5"),
        ({"high": True}, "high: expected a whole number or a fraction, got True"),
        ({"low": 2, "high": 1}, "low, high: expected the smaller end first, got 2 and 1"),
    ):
        with pytest.raises(DomainError, match=message):
            domain(**ends)


def test_an_unknown_number_keeps_to_its_ends():
    y = sp.Symbol("x0", nonnegative=True)
    for ends, value, known in (
        ((3, None), 3 + y, []),
        ((3, 5), 3 + y, [(2 - y, ">=")]),
        ((None, 5), 5 - y, []),
        ((None, None), sp.Symbol("x0", real=True), []),
    ):
        unknowns = SymbolicUnknowns()
        piece = Scalar(*ends).piece(unknowns, {}, {})
        assert values(piece.object) == values(piece.raw[""]) == [value]
        assert piece.object.shape == (1, 1)
        assert unknowns.known == known


# ---- in order ---------------------------------------------------------------


@SYSTEMS
@SHAPES
@pytest.mark.parametrize(
    ("ends", "first", "gaps", "wanted"),
    [
        ((None, None), 1, [2, -3], [1, 3, 6]),
        ((0, 5), 1, [2, -3], [1, 3, 5]),
        ((2, None), 1, [2, 0], [2, 4, 4]),
        ((None, 0), 1, [2, 0], [0, 0, 0]),
    ],
)
def test_numbers_in_order_are_gaps_apart(ends, first, gaps, wanted, system, shape):
    domain = Ordered("k", *ends)
    raw = {"first": read(system, [[first]], *shape), "gaps": read(system, [gaps], *shape)}
    built = domain.build(raw, {}, {"k": 3})
    assert type(built) is tuple
    assert [x.shape for x in built] == [(*shape, 1, 1)] * 3
    assert [bool((x == one).all()) for x, one in zip(built, wanted, strict=True)] == [True] * 3
    singles = tuple(x.reshape(-1, 1, 1)[0] for x in built)
    assert domain.contains(singles, {"k": 3})
    assert not domain.contains(singles, {"k": 2})
    assert not domain.contains(list(singles), {"k": 3})


def test_what_is_drawn_of_numbers_in_order():
    parts = Ordered("k", 0, 1).parts({"k": 4}, {})
    assert {name: (p.shape, p.kind, p.ends) for name, p in parts.items()} == {
        "first": ((1, 1), "real", (0, 1)),
        "gaps": ((1, 3), "weight", (None, None)),
    }
    assert Ordered().count == 2
    with pytest.raises(DomainError, match="Ordered: count: expected a name"):
        Ordered(0)
    assert Ordered("k").excluded({"k": 1}) == "one number has no order"
    assert Ordered("k").excluded({"k": 2}) == ""


def test_numbers_out_of_order_or_beyond_an_end_are_no_members():
    def held(*numbers):
        return Ordered(2, 0, 1).contains(tuple(RATIONAL.array([[x]]) for x in numbers), {})

    assert [held(0, 1), held("1/2", "1/2"), held(1, 0), held(-1, 1), held(0, 2)] == [True, True, False, False, False]
    one = RATIONAL.array([[1]])
    assert not Ordered(2).contains((one, "x"), {})
    assert not Ordered(2).contains((one, RATIONAL.array([[1, 2]])), {})


def test_unknown_numbers_in_order():
    y, a, b = sp.symbols("x0 x1 x2", nonnegative=True)
    for ends, known in (((1, None), []), ((1, 5), [(4 - y, ">="), (4 - y - a - b, ">=")])):
        piece = Ordered(3, *ends).piece(unknowns := SymbolicUnknowns(), {}, {})
        assert [value for x in piece.object for value in values(x)] == [1 + y, 1 + y + a, 1 + y + a + b]
        assert (values(piece.raw["first"]), values(piece.raw["gaps"])) == ([1 + y], [a, b])
        assert unknowns.known == known
        assert type(piece.object) is tuple


# ---- whole numbers ----------------------------------------------------------


def test_whole_numbers_lie_between_their_ends():
    domain = Whole(-2, 3, "n", "d")
    (part,) = domain.parts({"n": 1, "d": 2}, {}).values()
    assert (part.shape, part.kind, part.low, part.high) == ((1, 2), "whole", -2, 3)
    raw = RATIONAL.array([[3, -2]])
    assert domain.build({"": raw}, {}, {}) is raw
    assert domain.shape() == ("n", "d")
    assert (Whole(0, 1).rows, Whole(0, 1).columns, Whole(1, 1).low) == (1, 1, 1)
    sizes = {"n": 1, "d": 2}
    for rows, held in (
        ([[3, -2]], True), ([[4, 0]], False), ([[0, -3]], False), ([["1/2", 0]], False), ([[0]], False),
    ):  # fmt: skip
        assert domain.contains(RATIONAL.array(rows), sizes) is held
    assert domain.contains(np.array([[1.0, 2.0]]), sizes)
    assert not domain.contains(np.array([[1.0, 2.5]]), sizes)
    wide = Ball(64).array([[1, 2]]) + arb(0, 0.1)
    with pytest.raises(DomainError, match="whether an enclosure is a whole number cannot be known"):
        domain.contains(wide, sizes)
    pieces = [Whole(-1, 1, 1, 2).piece(SymbolicUnknowns(case), {}, {}) for case in cases()]
    assert [values(piece.object) for piece in pieces] == [[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
    assert all(piece.raw[""] is piece.object for piece in pieces)


def test_ends_of_whole_numbers_are_whole_floats():
    most = 2**53
    assert Integers("n") == Whole(-most, most, "n", 1)
    assert Integers() == Whole(-most, most)
    for wrong in (most + 1, -most - 1, 0.0, True, Fraction(1, 2), None):
        for ends in ((wrong, most), (-most, wrong)):
            with pytest.raises(
                DomainError, match=r"Whole: (low|high): expected a whole number from -2\^53 to 2\^53 = 9"
            ):
                Whole(*ends)
    with pytest.raises(DomainError, match="Whole: low, high: expected the smaller end first, got 2 and 1"):
        Whole(2, 1)
    with pytest.raises(DomainError, match="Whole: rows: expected a name"):
        Whole(0, 1, 0)


# ---- subsets and counts ------------------------------------------------------


@SYSTEMS
@SHAPES
def test_the_things_with_the_largest_raw_numbers_are_chosen(system, shape):
    """Of equal ones those that stand first."""
    for raw, count, wanted in (
        ([[3, 1, 2]], 2, [[1, 0, 1]]),
        ([[1, 5, 5, 5]], 2, [[0, 1, 1, 0]]),
        ([[0, 0, 0]], 1, [[1, 0, 0]]),
        ([[4, 2]], 0, [[0, 0]]),
        ([[4, 2]], 2, [[1, 1]]),
        ([[2, 4, 3, 1]], 1, [[0, 1, 0, 0]]),
    ):
        found = Subset("n", "k").build({"": read(system, raw, *shape)}, {}, {"n": len(raw[0]), "k": count})
        assert found.shape == (*shape, *np.shape(wanted))
        assert (found == np.array(wanted)).all()
        assert type(found.flat[0]) is type(read(system, [[1]]).flat[0])
    ones = read(system, [[1, 0]])
    assert Subset("n").build({"": ones}, {}, {"n": 2}) is ones


def test_subsets_are_rows_of_zeros_and_ones():
    (part,) = Subset("n").parts({"n": 3}, {}).values()
    assert (part.shape, part.kind, part.low, part.high) == ((1, 3), "whole", 0, 1)
    (part,) = Subset("n", 2).parts({"n": 3}, {}).values()
    assert (part.shape, part.kind) == ((1, 3), "real")
    assert Subset("n").shape() == (1, "n")
    sizes = {"n": 3}
    for rows, any_of_them, two in (
        ([[1, 0, 1]], True, True), ([[1, 1, 1]], True, False), ([[0, 0, 0]], True, False), ([[2, 0, 0]], False, False),
        ([["1/2", 1, 1]], False, False), ([[1, 1]], False, False),
    ):  # fmt: skip
        x = RATIONAL.array(rows)
        assert (Subset("n").contains(x, sizes), Subset("n", 2).contains(x, sizes)) == (any_of_them, two)
    assert Subset("n", "k").excluded({"n": 2, "k": 3}) == "2 things have no subset of 3"
    assert [Subset("n", "k").excluded({"n": 2, "k": 2}), Subset("n").excluded({"n": 1})] == ["", ""]
    every = [values(Subset(2).piece(SymbolicUnknowns(case), {}, {}).object) for case in cases()]
    assert every == [[0, 0], [0, 1], [1, 0], [1, 1]]
    pieces = [Subset(3, 2).piece(SymbolicUnknowns(case), {}, {}) for case in cases()]
    assert [values(piece.object) for piece in pieces] == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert [piece.raw(None)[""].tolist() for piece in pieces] == [[[0, 1, 1]], [[1, 0, 1]], [[1, 1, 0]]]
    assert pieces[0].object.shape == (1, 3)


def test_a_count_is_the_number_that_a_size_stands_for():
    count = Count("L")
    assert (count.parts({"L": 3}, {}), count.build({}, {}, {"L": 3})) == ({}, 3)
    piece = count.piece(SymbolicUnknowns(), {"L": 3}, {})
    assert (piece.object, piece.raw) == (3, {})
    assert [count.contains(value, {"L": 3}) for value in (3, 2, 3.0, True)] == [True, False, False, False]
    assert not count.contains(True, {"L": 1})
    assert (count.grows_with("L"), count.grows_with("n"), count.beginning(5, 2)) == (True, False, 2)
    assert Count(0).size == 0
