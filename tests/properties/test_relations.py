"""Relations: what they say in floats, what is certain of them in exact numbers, and their negations."""

import inspect
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from resstream.arithmetic import EXPONENTIAL, FLOAT64, RATIONAL, Ball, BallEntry, exact, exp, sqrt
from resstream.arithmetic.entries import NoValue
from resstream.arithmetic.rationals import RationalEntry
from resstream.errors import ClaimError, ClaimFault, Unbounded
from resstream.relations import (
    HOLDS,
    TIED,
    UNDECIDED,
    UNDEFINED,
    VIOLATED,
    AnyOf,
    AtMost,
    Decision,
    Differ,
    Equal,
    Every,
    Less,
    Margin,
    at_least,
    at_most,
    either,
    equal,
    every,
    less_than,
    more_than,
)
from resstream.relations.comparisons import _is_tied

BALL = Ball(128)
ONE, TWO = np.array([[1.0]]), np.array([[2.0]])


def status(relation, system=RATIONAL):
    with system.working():
        return relation.decide(system).status


def numbers(*values, system=RATIONAL):
    return system.array([list(values)])


@pytest.mark.parametrize(
    ("make", "symbol", "less", "same", "more"),
    [
        (at_most, "<=", HOLDS, HOLDS, VIOLATED),
        (at_least, ">=", VIOLATED, HOLDS, HOLDS),
        (less_than, "<", HOLDS, VIOLATED, VIOLATED),
        (more_than, ">", VIOLATED, VIOLATED, HOLDS),
        (equal, "==", VIOLATED, HOLDS, VIOLATED),
        (lambda a, b: Differ(a, b), "!=", HOLDS, VIOLATED, HOLDS),
    ],
    ids=["at_most", "at_least", "less_than", "more_than", "equal", "differ"],
)
def test_each_comparison_and_its_negation(make, symbol, less, same, more):
    for left, right, wanted in ((1, 2, less), (2, 2, same), (3, 2, more)):
        relation = make(numbers(left), numbers(right))
        assert relation.shown == symbol
        assert relation.stated == (relation.stated[0], symbol, relation.stated[2])
        assert (relation.stated[0].item(), relation.stated[2].item()) == (left, right)
        decision = relation.decide(RATIONAL)
        assert decision.status == wanted
        assert (decision.lhs, decision.symbol, decision.rhs) == (left, symbol, right)
        assert status(relation.negation()) == ({HOLDS: VIOLATED, VIOLATED: HOLDS}[wanted])
        assert relation.negation().negation().shown == symbol
        again = relation.with_stated(numbers(5), numbers(7))
        assert (again.shown, again.stated[0].item(), again.stated[2].item()) == (symbol, 5, 7)


def test_what_is_strict_and_what_an_equality():
    made = [f(ONE, ONE) for f in (at_most, at_least, less_than, more_than, equal)] + [Differ(ONE, ONE)]
    assert [relation.is_strict for relation in made] == [False, False, True, True, False, True]
    assert [AnyOf((one,)).is_strict for one in made] == [False] * 6
    assert [relation.is_equality for relation in made] == [False, False, False, False, True, False]


def test_ties_of_irrational_sides_speak_for_the_weak_and_against_the_strict():
    with BALL.working():
        root = sqrt(numbers(2, system=BALL)) * sqrt(numbers(3, system=BALL))
        other = sqrt(numbers(6, system=BALL))
        assert status(at_most(root, other), BALL) == TIED
        assert status(equal(root, other), BALL) == TIED
        assert status(less_than(root, other), BALL) == UNDECIDED
        assert status(Differ(root, other), BALL) == UNDECIDED
        wide = np.array([[BallEntry(arb(1, 1e-20))]])
        assert status(at_most(wide, 1), BALL) == UNDECIDED
        narrow = np.array([[BallEntry(arb(1, 2.0**-101))]])
        assert status(at_most(narrow, 1), BALL) == TIED
        around_zero = np.array([[BallEntry(arb(0, 2.0**-101))]])
        assert status(at_most(around_zero, 0), BALL) == TIED
        assert status(at_most(np.array([[BallEntry(arb(0, 2.0**-90))]]), 0), BALL) == UNDECIDED


def test_a_side_without_value_comes_first():
    nothing, perhaps = np.array([[NoValue("none", True)]]), np.array([[NoValue("perhaps", False)]])
    wrong = at_most(numbers(2), 1)
    assert status(at_most(nothing, 1)) == UNDEFINED
    assert status(every(wrong, at_most(nothing, 1))) == UNDEFINED
    assert status(every(wrong, at_most(perhaps, 1))) == UNDECIDED
    assert status(AnyOf((at_most(numbers(1), 1), at_most(nothing, 1)))) == UNDEFINED
    assert "none in" in at_most(1, nothing).decide(RATIONAL).reason
    with pytest.raises(Unbounded):
        at_most(np.array([[NoValue("overflow", False, unbounded=True)]]), 1).decide(RATIONAL)


def test_several_relations_are_decided_by_the_worst_and_alternatives_by_the_best():
    good, wrong, worse = at_most(numbers(1), 2), at_most(numbers(3), 2), at_most(numbers(9), 2)
    assert status(every(good, wrong)) == VIOLATED
    assert every(wrong, good, worse).decide(RATIONAL).lhs == 9
    assert status(AnyOf((good, wrong))) == HOLDS
    assert AnyOf((worse, wrong)).decide(RATIONAL).lhs == 3
    assert status(every(good, good)) == HOLDS
    assert [r.shown for r in every(good, every(wrong, worse))] == ["<="] * 3
    assert isinstance(every(good, wrong).negation(), AnyOf)
    assert isinstance(AnyOf((good, wrong)).negation(), Every)
    assert status(every(good, wrong).negation()) == HOLDS
    assert len(every(good, wrong).decide(RATIONAL).sides) == 2
    entry = at_most(numbers(1, 5, 3), 2).decide(RATIONAL)
    assert (entry.status, entry.lhs, len(entry.sides)) == (VIOLATED, 5, 3)
    assert abs(entry.margin + 3 / 7) < 1e-15


def test_margins_of_batches():
    x = np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1)
    assert at_most(x, 2).margin(3).slack.tolist() == [1, 0, -2]
    assert at_least(x, 2).margin(3).slack.tolist() == [-1, 0, 2]
    assert equal(x, 2).margin(3).slack.tolist() == [-1, 0, -2]
    assert Differ(x, 2).margin(3).slack.tolist() == [1, 0, 2]
    assert at_most(x, exact(5, 2)).margin(3).scale.tolist() == [3.5, 4.5, 6.5]
    assert at_most(x, Fraction(1, 2)).margin(3).slack.tolist() == [-0.5, -1.5, -3.5]
    both = every(at_most(x, 3), at_least(x, 2)).margin(3)
    assert both.slack.tolist() == [-1, 0, -1]
    one_of = AnyOf((at_most(x, 1), at_least(x, 4))).margin(3)
    assert np.abs(one_of.relative - [0, -1 / 3, 0]).max() < 1e-15
    wide = np.array([[[1.0, 5.0, 2.0]], [[0.0, 1.0, np.nan]]])
    found = at_most(wide, 2).margin(2)
    assert found.slack[0] == -3
    assert np.isnan(found.slack[1])
    assert np.isnan(every(at_most(wide, 2), at_most(wide * 0 + 9, 0)).margin(2).relative[1])
    assert at_most(np.zeros((2, 1, 1)), 0).margin(2).relative.tolist() == [0, 0]


def test_what_is_met_in_floats_and_by_how_much_it_is_missed():
    x = np.array([1, 1 + 1e-10, 1 + 1e-8, 2]).reshape(4, 1, 1)
    met, missing = at_most(x, 1).met(4)
    assert met.tolist() == [True, True, False, False]
    assert missing.tolist() == pytest.approx([0, 5e-11, 5e-9, 1 / 3], rel=1e-6)
    assert at_most(np.array([1e-13, 1e-11]).reshape(2, 1, 1), 0).met(2)[0].tolist() == [True, False]
    edge = 1.000000001e-12  # as far off as what is let in may be: 1e-12 + 1e-9 of itself
    assert at_most(np.array([edge, np.nextafter(edge, 1)]).reshape(2, 1, 1), 0).met(2)[0].tolist() == [True, False]
    assert more_than(np.array([0, 1e-300]).reshape(2, 1, 1), 0).met(2)[0].tolist() == [False, True]  # without slack
    met, missing = every(at_most(x, 1), at_least(x, 2), more_than(x, 1)).met(4)
    assert met.tolist() == [False] * 4
    assert missing.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1 / 3], rel=1e-6)
    assert every(at_most(x, 0), at_most(x, 1)).met(4)[1].tolist() == pytest.approx([1, 1, 1, 1 + 1 / 3], rel=1e-6)


def test_sides_that_are_none():
    for bad, message in (
        ("text", "a side of a relation is a str"),
        (None, "a side of a relation is a NoneType"),
        (np.array([[1j]]), "has the dtype complex128"),
        (np.array([["a"]]), "has the dtype <U1"),
    ):
        with pytest.raises(ClaimFault, match=message):
            at_most(bad, 1).margin(1)
    with pytest.raises(ClaimFault, match=r"has 3 instances where 2 were expected"):
        at_most(np.zeros((3, 1, 1)), 1).margin(2)
    with pytest.raises(ClaimFault, match="do not broadcast"):
        at_most(np.zeros((1, 2)), np.zeros((1, 3))).margin(1)
    with pytest.raises(ClaimFault, match="do not broadcast"):
        at_most(numbers(1, 2), numbers(1, 2, 3)).decide(RATIONAL)
    with pytest.raises(ClaimFault, match="without entries"):
        at_most(np.zeros((1, 0)), 1).margin(1)
    with pytest.raises(ClaimFault, match="without entries"):
        at_most(RATIONAL.array(np.zeros((1, 0))), 1).decide(RATIONAL)
    with pytest.raises(ClaimFault, match=r"a side of a relation: the float 0\.5"):
        at_most(numbers(1), 0.5).decide(RATIONAL)
    with pytest.raises(ClaimError, match="expected some relations, got none"):
        every()
    with pytest.raises(ClaimError, match=r"expected relations .* got bool"):
        every(True)


def test_numbers_as_sides_are_read_into_the_system():
    assert status(at_most(1, 2)) == HOLDS
    assert status(at_most(np.array([[3]]), 2.0)) == VIOLATED
    assert status(equal(exact(1, 3) * RATIONAL.array([[3]]), True)) == HOLDS
    with BALL.working():
        assert isinstance(at_most(1, 2).decide(BALL).lhs, BallEntry)


def test_negations_of_the_weak_are_strict():
    assert isinstance(at_most(ONE, TWO).negation(), Less)
    assert isinstance(less_than(ONE, TWO).negation(), AtMost)


def test_how_narrow_a_tie_must_be():
    """2^-100 of the scale of the sides, and of 1 where both may be zero."""
    unit = arb(2) ** -100

    def around(middle, factor):
        return BallEntry(arb(middle, factor * 2.0**-100))

    with BALL.working():
        zero, one = BallEntry(arb(0)), BallEntry(arb(1))
        for ball, other, tied in (
            (around(0, 0.75), zero, True),
            (around(0, 1), zero, False),
            (around(0, 1.5), zero, False),
            (around(1, 1.5), one, True),
            (around(1, 2.5), one, False),
            (around(2, 3.75), BallEntry(arb(2)), True),
            (BallEntry(unit / 2), around(0, 0.25), False),  # one side is not zero: the scale is its own
            (BallEntry(arb("nan")), one, False),
            (BallEntry(arb(0, "inf")), one, False),
        ):
            assert (_is_tied(ball, other), _is_tied(other, ball)) == (tied, tied), (ball, other)
        exactly_one = RationalEntry(fmpq(1))
        assert not _is_tied(one, exactly_one)
        assert not _is_tied(exactly_one, one)


@pytest.mark.parametrize("system", [RATIONAL, BALL], ids=["rational", "ball"])
def test_the_margin_of_a_decision(system):
    with system.working():
        for left, right, margin in ((1, 2, 1 / 3), (2, 1, -1 / 3), (0, 1, 1), (1, 0, -1), (0, 0, 0), (3, 3, 0)):
            lhs, rhs = numbers(left, system=system), numbers(right, system=system)
            for make, wanted in ((at_most, margin), (less_than, margin), (equal, -abs(margin)), (Differ, abs(margin))):
                assert make(lhs, rhs).decide(system).margin == pytest.approx(wanted, rel=1e-15, abs=0), (left, right)
        third = numbers(1, system=system) / 3
        assert at_most(third, 1).decide(system).margin == pytest.approx(0.5, rel=1e-15)
        assert at_most(third, third).decide(system).margin == 0
        assert np.isnan(at_most(np.array([[NoValue("none", True)]]), 1).decide(system).margin)


def test_of_as_near_ones_the_first_is_taken():
    x, y = np.full((1, 1, 1), 2.0), np.full((1, 1, 1), 4.0)
    for several in (Every, AnyOf):
        assert several((at_most(x, 1), at_most(y, 2))).margin(1).slack.tolist() == [-1]
        assert several((at_most(y, 2), at_most(x, 1))).margin(1).slack.tolist() == [-2]
        assert several((at_most(x, 1), at_most(y, 2), at_most(x, 1))).decide(RATIONAL).lhs == 2
        assert [r.lhs.item() for r in several((at_most(x, 1), at_most(y, 2)))] == [2, 4]
        nothing = several((at_most(x, 1), at_most(x * np.nan, 1)))
        assert np.isnan(nothing.margin(1).slack[0])
    with pytest.raises(ClaimError):
        AnyOf(()).decide(RATIONAL)
    low, high = Margin(np.array([1.0, 2]), np.array([4.0, 4])), Margin(np.array([2.0, 1]), np.array([4.0, 4]))
    assert (low.lower(high).slack.tolist(), low.higher(high).slack.tolist()) == ([1, 1], [2, 2])


def test_sides_of_every_kind_in_floats():
    x = np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1)
    for side in (
        2,
        2.0,
        np.int64(2),
        np.float32(2),
        exact(2),
        Fraction(2),
        np.array(2),
        np.array([2]),
        np.array([[2.0]]),
    ):
        assert at_most(x, side).margin(3).slack.tolist() == [1, 0, -2], repr(side)
    for side in (np.full((1, 1, 1), 2), np.full((3, 1, 1), 2), RATIONAL.array([[2]]), RATIONAL.array(2)):
        assert at_most(x, side).margin(3).slack.tolist() == [1, 0, -2], repr(side)
    assert at_most(np.array([1.0, 3.0]), x).margin(3).slack.tolist() == [-2, -1, 1]
    assert at_most(x[:2], np.array([[2.0, 1.0], [2.0, 3.0]])).margin(2).slack.tolist() == [0, -1]
    assert at_most(np.array([[1.0, 5.0], [1.0, 1.0]]), 2).margin(2).slack.tolist() == [-3, -3]  # of every instance
    assert at_most(np.array([1.0, 3.0]), np.array([[2.0], [2.0]])).margin(3).slack.tolist() == [-1, -1, -1]
    assert at_most(np.array([[True]]), np.array([[False]])).margin(1).slack.tolist() == [-1]
    assert at_most(True, False).margin(1).slack.tolist() == [-1]
    assert at_most(np.array([[np.uint8(1)]]), np.array([[np.uint8(0)]])).margin(1).slack.tolist() == [-1]
    assert at_most(np.arange(4.0).reshape(4, 1, 1), 2).margin(1).slack.tolist() == [-1]  # of one instance, any shape
    assert at_most(np.array([[1.0, 3.0]]), 2).margin(1).slack.tolist() == [-1]
    for empty in (np.zeros((1, 0), dtype=object), np.zeros((2, 1, 0))):
        with pytest.raises(ClaimFault, match="without entries"):
            at_most(empty, 1).margin(2)


def test_sides_of_every_kind_in_exact_numbers():
    for side in (2, 2.0, np.int64(2), exact(2), Fraction(2), np.array(2), np.array([[2]]), RATIONAL.array([[2]])):
        decision = at_most(side, 1).decide(RATIONAL)
        assert (decision.status, decision.lhs, len(decision.sides)) == (VIOLATED, 2, 1)
        assert isinstance(decision.lhs, RationalEntry)
    mixed = np.array([[Fraction(1, 2), RATIONAL.array(2).item()]], dtype=object)
    assert at_most(mixed, 1).decide(RATIONAL).lhs == 2
    with pytest.raises(ClaimFault, match="a side of a relation: list"):
        at_most([1, 2], 1).decide(RATIONAL)


def test_sides_are_kept_in_the_order_in_which_they_are_stated_and_evaluated():
    nothing = np.array([[NoValue("none", True)]])
    for made, symbol in ((at_most(nothing, 1), "<="), (at_least(nothing, 1), ">=")):
        found = made.decide(RATIONAL)
        assert (found.lhs.reason[:4], found.symbol, found.rhs) == ("none", symbol, 1)
    with EXPONENTIAL.working():
        e = exp(numbers(1, system=EXPONENTIAL))
        for made in (at_most(e, 3), at_most(e, 2), less_than(e / e, 2)):
            found = made.decide(EXPONENTIAL)
            assert isinstance(found.lhs, RationalEntry if made.rhs == 2 and found.status == HOLDS else BallEntry)
            assert {type(side) for pair in found.sides for side in pair} <= {RationalEntry, BallEntry}


def test_a_decision_is_shown_without_every_entry():
    shown = repr(at_most(numbers(1), 2).decide(RATIONAL))
    assert "sides" not in shown
    assert "beside" not in shown
    assert (Decision(HOLDS).unsure, Decision(HOLDS).sides, Equal(1, 1).turned) == (False, (), False)
    perhaps = np.array([[NoValue("perhaps", False)]])
    assert at_most(perhaps, 1).decide(RATIONAL).unsure
    assert not at_most(np.array([[NoValue("none", True)]]), 1).decide(RATIONAL).unsure


# ---- what is missed on average ----------------------------------------------


def test_what_is_missed_on_average_is_the_mean_over_entries_of_each_part():
    x = np.array([[[0.0, 3.0, 1.0, -3.0]], [[0.0, 0.0, 0.0, 0.0]]])
    below = at_most(x, 1)  # of 0, 3, 1, -3 the second misses it by (3 - 1)/(3 + 1)
    assert below.missed_on_average(2).tolist() == [0.125, 0]
    within_both = every(below, at_least(x, -1), equal(x, 0))  # 1/8, 1/8, and three of four wholly
    assert within_both.missed_on_average(2).tolist() == [1, 0]


def test_of_alternatives_is_missed_what_the_nearest_misses():
    x = np.array([[[3.0, 0.0]], [[0.5, 0.0]]])
    one = either(at_most(x, 1), at_most(x, 0.5))
    assert one.missed_on_average(2).tolist() == [0.5, 0]
    assert every(one, at_most(x, 1)).missed_on_average(2).tolist() == [0.75, 0]


def test_a_foreign_side_is_reported_at_the_line_that_states_the_relation():
    stated = at_most(RATIONAL.array([[1]]), 0.5)
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(ClaimFault, match=rf"0\.5 .*line {line} of test_relations\.py"):
        stated.decide(RATIONAL)
    with FLOAT64.working():  # a search makes thousands, which none asks
        assert "_place" not in vars(at_most(np.array([[1.0]]), 0.5))
