"""The interface of a domain: sizes, arguments, what a domain is without saying, and membership by entries."""

import importlib
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from resstream.arithmetic import RATIONAL, Ball, exact
from resstream.arithmetic.unknowns import SymbolicUnknowns, cases
from resstream.domains import Domain, Matrix, Part, RowStochastic, Stack, Vector
from resstream.domains.base import (
    COUNT,
    Condition,
    Size,
    entries,
    is_all,
    number,
    rank_of,
    require_domain,
    require_size,
    size_of,
    written,
)
from resstream.errors import DomainError, NotExpressible, Undecided

INNER = Matrix("n", 2)


@dataclass(frozen=True)
class Plain(Domain):
    """Rows of d numbers, of which nothing more is said; empty at d = 7."""

    d: Size = "d"
    of: Domain = INNER
    more: tuple = ()
    count: Size | None = field(default=None, metadata=COUNT)
    flag: bool = False

    def parts(self, sizes, options):  # noqa: ARG002
        return {"": Part((1, size_of(self.d, sizes)))}

    def build(self, raw, options, sizes):  # noqa: ARG002
        return 2 * raw[""]

    def why_empty(self, sizes):
        return "seven is too many" if size_of(self.d, sizes) == 7 else ""


@dataclass(frozen=True)
class Halved(Plain):
    """Whose piece is its own."""

    def piece(self, unknowns, sizes, options):
        return self.as_built(unknowns, sizes, options)


@dataclass(frozen=True)
class Redrawn(Halved):
    """Whose raw arrays are others than those that the piece was stated for."""

    def parts(self, sizes, options):  # noqa: ARG002
        return {"": Part((2, 1))}


@dataclass(frozen=True)
class Rebuilt(Halved):
    """Whose objects are others."""

    def build(self, raw, options, sizes):  # noqa: ARG002
        return 3 * raw[""]


@dataclass(frozen=True)
class Restated(Rebuilt):
    """And says so."""

    def piece(self, unknowns, sizes, options):
        return self.as_built(unknowns, sizes, options)


def test_what_a_domain_is_where_it_says_nothing():
    plain = Plain()
    assert (plain.shape(), plain.shapes(), plain.allowed({}), plain.wider()) == (None, [None], None, None)
    assert (plain.options(), plain.why_empty({"d": 1}), plain.grows_with("d")) == ({}, "", False)
    assert Domain.why_empty(plain, {}) == ""
    assert plain.projected(RATIONAL.array([[1]]), {}) is None
    assert Matrix("n", "d").shapes() == [("n", "d")]
    assert Matrix("n", 3).shape_at({"n": 2}) == (2, 3)
    for call in (lambda: plain.contains(1, {}), lambda: plain.beginning([], 1)):
        with pytest.raises(NotImplementedError, match="Plain does not say what"):
            call()
    with pytest.raises(DomainError, match="expected a domain of matrices"):
        plain.shape_at({"d": 1})
    assert importlib.import_module("resstream.strategies").members is not None
    assert plain.strategy({"d": 2, "n": 1}) is not None
    assert Condition("row 3 sums to", 1, 1, 2).scale == 1


def test_a_piece_is_that_of_the_objects_that_are_built():
    for domain in (Plain(), Redrawn(), Rebuilt()):
        with pytest.raises(NotExpressible, match=f"the domain {type(domain).__name__}, which states no pieces"):
            domain.own_piece(SymbolicUnknowns(next(cases())), {"d": 2}, {})
    assert Matrix(1, 2).own_piece(SymbolicUnknowns(next(cases())), {}, {}).object.shape == (1, 2)
    for domain, factor in ((Halved(), 2), (Restated(), 3)):
        piece = domain.own_piece(SymbolicUnknowns(next(cases())), {"d": 2}, {})
        assert piece.object.shape == (1, 2)
        assert (piece.object == factor * piece.raw[""]).all()


def test_sizes_are_those_of_a_domain_and_of_those_inside_it():
    assert (size_of("n", {"n": 3}), size_of(2, {"n": 3})) == (3, 2)
    with pytest.raises(DomainError, match=r"size 'q': expected one of \['d', 'n'\]"):
        size_of("q", {"n": 1, "d": 1})
    domain = Plain("d", Matrix("n", 2), (Vector("m"), 3, Stack("L", Vector("m"))))
    assert domain.size_names() == {"d", "n", "m", "L"}
    assert [str(inner) for inner in domain.inner_domains()] == [
        "Matrix(n, 2)",
        "Matrix(1, m)",
        "Stack(L, Matrix(1, m))",
    ]
    assert Plain(3, Matrix(1, 1)).size_names() == set()


def test_why_a_domain_cannot_be_had():
    sizes = {"d": 2, "n": 1, "k": 0}
    assert Plain().excluded(sizes) == ""
    assert Plain(count="k").excluded(sizes) == ""
    assert Plain("k").excluded(sizes) == "d is 0, expected at least 1"
    assert Plain(count="k").excluded({**sizes, "k": -1}) == "count is -1, expected at least 0"
    assert Plain(of=Matrix("k", 2)).excluded(sizes) == "rows is 0, expected at least 1"
    assert Plain().excluded({"d": 7, "n": 1}) == "seven is too many"
    with pytest.raises(DomainError, match=r"Plain\(of=Matrix\(1, 1\)\) has no members: seven|has no members: seven"):
        Plain(7, Matrix(1, 1))
    assert Plain(7).size_names() == {"n"}  # other sizes are known later


def test_arguments_are_checked_when_a_domain_is_made():
    for make, message in (
        (lambda: Plain(0), "Plain: d: expected a name such as 'n' or a whole number of at least 1, got 0"),
        (lambda: Plain(None), "Plain: d: expected a name such as 'n' or a whole number of at least 1, got None"),
        (lambda: Plain(count=-1), "Plain: count: expected a name such as 'n' or a whole number of at least 0, got -1"),
        (lambda: Plain(of=3), r"Plain: of: expected a domain such as Matrix\('n', 'd'\), got int 3"),
        (lambda: Plain(flag=1), "Plain: flag: expected True or False, got 1"),
    ):
        with pytest.raises(DomainError, match=message):
            make()
    assert Plain(count=0).count == 0
    for name in ("n", "n_2", 1, 10**9):
        require_size("D", "n", name)
    require_size("D", "n", 0, 0)
    for wrong in (0, -1, True, 2.0, "", "2n", "for", "n d", None):
        with pytest.raises(DomainError, match="D: n: expected a name such as 'n' or a whole number of at least 1"):
            require_size("D", "n", wrong)
    require_domain("A", Matrix(1, 1))
    for wrong, got in (
        (RowStochastic, r"got the class RowStochastic: call it with its sizes, RowStochastic\(\.\.\.\)"),
        ("Matrix", "got the text 'Matrix': write it without quotes"),
        (int, "got type <class 'int'>"),
    ):
        with pytest.raises(DomainError, match=rf"A: expected a domain such as Matrix\('n', 'd'\), {got}"):
            require_domain("A", wrong)


def test_a_domain_is_written_without_what_is_left_at_its_default():
    @dataclass(frozen=True)
    class Made(Plain):
        """With an argument that is none of the caller's."""

        kept: Any = field(default=5, init=False)

    assert str(Matrix("n", 2)) == "Matrix(n, 2)"
    assert str(Plain()) == "Plain()"
    assert str(Plain("e", more=(1,))) == "Plain(d=e, more=(1,))"
    assert str(Made(flag=True)) == "Made(flag=True)"
    assert [written(value) for value in (("l1", 2), ("l1",), "n", exact(1, 3))] == [
        "('l1', 2)",
        "('l1',)",
        "n",
        "exact(1, 3)",
    ]


def test_numbers_are_exact():
    found = [number("D", "x", value) for value in (3, Fraction(4, 2), Fraction(1, 3), exact(2), exact(1, 3))]
    assert found == [3, 2, Fraction(1, 3), 2, Fraction(1, 3)]
    assert [type(value) for value in found] == [int, int, Fraction, int, Fraction]
    for wrong, end in ((0.5, r"got 0\.5: write exact\('0\.5'\)$"), (True, "got True$"), ("1", "got '1'$")):
        with pytest.raises(DomainError, match=f"D: x: expected a whole number or a fraction, {end}"):
            number("D", "x", wrong)


def test_entries_are_exact_and_of_the_shape_that_is_asked_for():
    assert entries(np.array([[0.1, 1.0]]), (1, 2))[0, 0] == Fraction(0.1)
    exactly = RATIONAL.array([[1, 2]])
    assert entries(exactly, (1, 2)) is exactly
    for wrong in ([[1, 2]], np.ones((2, 1)), np.array([[np.nan, 1]]), np.array([["a", 1]], dtype=object)):
        assert entries(wrong, (1, 2)) is None
    assert entries(np.array([[1, Fraction(1, 2)]], dtype=object), (1, 2))[0, 1] == Fraction(1, 2)
    assert is_all(exactly >= 1)
    assert not is_all(exactly >= 2)


@pytest.mark.parametrize(
    ("rows", "rank"),
    [
        ([[0, 0], [0, 0]], 0),
        ([[0, 0, 3]], 1),
        ([[1, 2], [2, 4], [3, 6]], 1),
        ([[0, 1], [1, 0]], 2),
        ([[0, 2, 1], [0, 4, 5], [3, 1, 1]], 3),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 2),
        ([[1, 1, 1], [1, 1, 2], [1, 1, 3], [2, 2, 5]], 2),
    ],
)
def test_the_rank_by_elimination(rows, rank):
    x = RATIONAL.array(rows)
    before = x.copy()
    assert rank_of(x) == rank_of(x.mT) == rank
    assert (x == before).all()


def test_a_rank_that_enclosures_do_not_tell_is_undecided():
    with (system := Ball(64)).working():
        x = system.array([[1, 2], [2, 4]])
        assert rank_of(x) == 1
        with pytest.raises(Undecided):
            rank_of(x + arb(0, 2.0**-40))
