"""Unknown numbers, the cases that a proof goes through, and what expressions ask for."""

from itertools import count, product

import pytest
import sympy as sp

from resstream.arithmetic import SymbolicEntry
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, Obligation, note, noted, noting
from resstream.arithmetic.unknowns import CASES, Case, SymbolicUnknowns, Unknowns, cases
from resstream.errors import NotExpressible


@pytest.mark.parametrize("sizes", [(1,), (2,), (3, 2), (2, 1, 3), (2, 3, 4), (24,)])
def test_every_sequence_of_choices_is_a_case(sizes):
    found = [tuple(case.among(range(size)) for size in sizes) for case in cases()]
    assert found == list(product(*map(range, sizes)))


def test_what_is_chosen_among_may_depend_on_what_was_chosen():
    found = []
    for case in cases():
        first = case.among("ab")
        found.append((first, case.among([1, 2, 3])) if first == "a" else (first,))
    assert found == [("a", 1), ("a", 2), ("a", 3), ("b",)]
    assert len(list(cases())) == 1  # nothing is chosen


def test_too_many_cases_are_refused():
    assert CASES == 24
    assert [case.among([7]) for case in cases(1)] == [7]
    seen = []
    with pytest.raises(NotExpressible, match="more than 5 pieces"):
        seen.extend((case.among("ab"), case.among("abc")) for case in cases(5))
    assert len(seen) == 5
    assert len([(case.among("ab"), case.among("abc")) for case in cases(6)]) == 6
    case = Case([], 3)
    assert case.among(range(3)) == 0
    assert (case.path, case.position) == ([(0, 3)], 1)
    for many in (range(4), count()):  # not gone through to its end
        with pytest.raises(NotExpressible, match="more than 3 pieces"):
            case.among(many)
    with pytest.raises(NotExpressible, match="a choice among nothing"):
        case.among([])
    with pytest.raises(NotExpressible, match="more than 24 pieces"):
        Case([]).among(range(25))
    assert Case([]).among(range(24)) == 0


def test_symbols_and_what_is_known_of_them():
    unknowns = SymbolicUnknowns()
    x, s, t = unknowns.real((2, 1)), unknowns.nonnegative((1,)), unknowns.positive((1,))
    assert (x.shape, unknowns.count, unknowns.solves, unknowns.case) == ((2, 1), 4, False, None)
    assert [entry.value.name for entry in (*x.flat, *s, *t)] == ["x0", "x1", "x2", "x3"]
    assert (x[0, 0].value.is_real, x[0, 0].value.is_nonnegative) == (True, None)
    assert (s[0].value.is_nonnegative, s[0].value.is_positive, t[0].value.is_positive) == (True, None, True)
    assert unknowns.one() == 1
    assert isinstance(unknowns.one(), SymbolicEntry)
    assert unknowns.known == []
    unknowns.assume(x, NONZERO)
    assert unknowns.known == [(x[0, 0].value, NONZERO), (x[1, 0].value, NONZERO)]
    found = [[e.value for e in SymbolicUnknowns(case).whole((2,), -1, 1)] for case in cases()]
    assert found == [[sp.Integer(a), sp.Integer(b)] for a, b in product((-1, 0, 1), repeat=2)]
    with pytest.raises(NotExpressible, match="a choice, outside a proof by cases"):
        unknowns.whole((1,), 0, 1)
    with pytest.raises(TypeError):
        Unknowns()


def test_what_is_asked_for_is_noted_where_somebody_collects():
    note("nobody", NONZERO, "divisor")
    assert noted() == []
    noted().append("nothing")
    assert noted() == []
    with noting() as outer:
        note("a", NONZERO, "divisor")
        with noting() as inner:
            note("b", NONNEGATIVE, "radicand", 3)
            assert noted() is inner
        assert noted() is outer
        with pytest.raises(RuntimeError), noting():
            raise RuntimeError
        note("c", NONZERO, "divisor")
    assert outer == [Obligation("a", NONZERO, "divisor", 0), Obligation("c", NONZERO, "divisor", 0)]
    assert Obligation("a", NONZERO, "divisor").known == 0
    assert inner == [Obligation("b", NONNEGATIVE, "radicand", 3)]
    assert noted() == []
