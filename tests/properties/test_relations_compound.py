"""Relations made of relations: held against plain logic, in floats, in exact numbers and where nothing is certain."""

import itertools
import random

import numpy as np
import pytest
from flint import arb

from resstream import claims
from resstream.arithmetic import FLOAT64, RATIONAL, Ball, BallEntry, exact
from resstream.arithmetic.entries import NoValue
from resstream.claim import claim
from resstream.domains import Matrix, Scalar, Vector
from resstream.errors import ClaimError, Unbounded
from resstream.falsify import falsify
from resstream.falsify.counterexample import Counterexample, from_json
from resstream.falsify.formats.trace import trace
from resstream.falsify.syntax import ExpressionError
from resstream.falsify.variants import vary
from resstream.prove import goals
from resstream.relations import (
    HOLDS,
    TIED,
    UNDECIDED,
    UNDEFINED,
    VIOLATED,
    AnyOf,
    AtMost,
    Comparison,
    Differ,
    Every,
    Guarded,
    SomeEntry,
    at_least,
    at_most,
    differ,
    either,
    equal,
    every,
    iff,
    implies,
    in_some_entry,
    is_guarded,
    less_than,
    more_than,
    negation,
    within,
)

BALL = Ball(128)
COMPARISONS = {
    at_most: lambda a, b: a <= b,
    at_least: lambda a, b: a >= b,
    less_than: lambda a, b: a < b,
    more_than: lambda a, b: a > b,
    equal: lambda a, b: a == b,
}


def number(value, system=RATIONAL):
    return system.array([[value]])


def ball(low, high):
    return np.array([[BallEntry(arb((low + high) / 2, (high - low) / 2))]])


NONE = np.array([[NoValue("none", True)]])
PERHAPS = np.array([[NoValue("perhaps", False)]])
ENDLESS = np.array([[NoValue("overflow", False, unbounded=True)]])

YES, NO = at_most(number(1), 2), at_most(number(3), 2)
OPEN = at_most(ball(0, 2), 1)
LEVEL = at_most(np.array([[BallEntry(arb(1, 2.0**-110))]]), 1)
VOID, MAYBE = at_most(NONE, 1), at_most(PERHAPS, 1)


def is_proved(made, **sizes):
    return all(answer.proved for answer in goals.prove(made, sizes=[sizes]))


def status(relation, system=BALL):
    with system.working():
        return relation.decide(system).status


# ---- a relation drawn at random, and what plain logic says of it ------------


def drawn(rng, depth, sides):
    """A relation, and the same as a function of the numbers of its sides."""
    kind = rng.choice(
        ["comparison", "some", "differ", "every", "either", "implies", "iff", "not"] if depth else ["comparison"]
    )
    if kind in ("comparison", "some", "differ"):
        left, right = rng.randrange(len(sides)), rng.randrange(len(sides))
        make = rng.choice(list(COMPARISONS))
        holds = COMPARISONS[make]
        pairs = lambda s: list(zip(*np.broadcast_arrays(s[left], s[right]), strict=True))  # noqa: E731
        if kind == "differ":
            return differ(sides[left], sides[right]), lambda s: any(a != b for a, b in pairs(s))
        if kind == "some":
            return in_some_entry(make(sides[left], sides[right])), lambda s: any(holds(a, b) for a, b in pairs(s))
        return make(sides[left], sides[right]), lambda s: all(holds(a, b) for a, b in pairs(s))
    if kind == "not":
        inner, truth = drawn(rng, depth - 1, sides)
        return negation(inner), lambda s: not truth(s)
    (first, one), (second, two) = drawn(rng, depth - 1, sides), drawn(rng, depth - 1, sides)
    return {
        "every": lambda: (every(first, second), lambda s: one(s) and two(s)),
        "either": lambda: (either(first, second), lambda s: one(s) or two(s)),
        "implies": lambda: (implies(first, second), lambda s: not one(s) or two(s)),
        "iff": lambda: (iff(first, second), lambda s: one(s) == two(s)),
    }[kind]()


def values(rng):
    return [[rng.randrange(-2, 3) for _ in range(length)] for length in (1, 1, 3, 3)]


def test_exact_numbers_say_what_logic_says():
    rng, seen = random.Random(0), {True: 0, False: 0}
    for _ in range(600):
        numbers = values(rng)
        relation, truth = drawn(rng, 3, [RATIONAL.array([row]) for row in numbers])
        wanted = truth(numbers)
        assert status(relation, RATIONAL) == (HOLDS if wanted else VIOLATED), relation.wording
        assert status(relation.negation(), RATIONAL) == (VIOLATED if wanted else HOLDS), relation.wording
        assert relation.wording
        seen[wanted] += 1
    assert min(seen.values()) > 150


def test_floats_suspect_what_is_violated():
    """No instance that is violated has a margin above zero; few that are not have one below (nested strict ties)."""
    rng, seen, acquitted = random.Random(1), {True: 0, False: 0}, 0
    for _ in range(300):
        numbers = [values(rng) for _ in range(4)]
        sides = [FLOAT64.array([[one[k]] for one in numbers]) for k in range(4)]
        relation, truth = drawn(rng, 3, sides)
        margin = relation.margin(4)
        assert margin.slack.shape == margin.scale.shape == (4,)
        for place, one in enumerate(numbers):
            wanted = truth(one)
            assert margin.relative[place] <= 0 or wanted, relation.wording
            acquitted += wanted and bool(margin.relative[place] < 0)
            seen[wanted] += 1
            assert relation.met(4)[1][place] >= 0
    assert min(seen.values()) > 300
    assert acquitted < 0.1 * seen[True]


def test_what_is_certain_of_enclosures_is_so_of_every_number_in_them():
    rng, certain = random.Random(2), 0
    for _ in range(400):
        middles = values(rng)
        wide = [[rng.random() < 0.3 for _ in row] for row in middles]
        sides = [
            np.array([[BallEntry(arb(v, 0.75 if w else 0)) for v, w in zip(row, wides, strict=True)]])
            for row, wides in zip(middles, wide, strict=True)
        ]
        relation, truth = drawn(rng, 3, sides)
        found = status(relation)
        assert found in (HOLDS, VIOLATED, UNDECIDED, TIED)
        for _ in range(12):
            inside = [
                [v + (rng.choice([-0.75, -0.5, 0, 0.5, 0.75]) if w else 0) for v, w in zip(row, wides, strict=True)]
                for row, wides in zip(middles, wide, strict=True)
            ]
            if found in (HOLDS, VIOLATED):
                assert truth(inside) == (found == HOLDS), relation.wording
                certain += 1
    assert certain > 1000


# ---- what is not certain, and what has no value -----------------------------


def test_implication_where_something_is_open():
    for premise, conclusion, wanted in (
        (YES, YES, HOLDS),
        (YES, NO, VIOLATED),
        (YES, OPEN, UNDECIDED),
        (YES, LEVEL, TIED),
        (YES, VOID, UNDEFINED),
        (YES, MAYBE, UNDECIDED),
        (NO, YES, HOLDS),
        (NO, NO, HOLDS),
        (NO, OPEN, HOLDS),
        (NO, VOID, HOLDS),
        (NO, MAYBE, HOLDS),
        (NO, at_most(ENDLESS, 1), HOLDS),
        (OPEN, YES, HOLDS),
        (OPEN, NO, UNDECIDED),
        (OPEN, OPEN, UNDECIDED),
        (OPEN, LEVEL, TIED),
        (OPEN, VOID, UNDECIDED),
        (OPEN, at_most(ENDLESS, 1), UNDECIDED),
        (LEVEL, NO, UNDECIDED),
        (LEVEL, YES, HOLDS),
        (LEVEL, LEVEL, TIED),
        (VOID, YES, UNDEFINED),
        (VOID, NO, UNDEFINED),
        (MAYBE, YES, UNDECIDED),
        (MAYBE, NO, UNDECIDED),
    ):
        relation = implies(premise, conclusion)
        assert status(relation) == wanted, (status(premise), wanted)
        opposite = {HOLDS: VIOLATED, VIOLATED: HOLDS}.get(wanted)
        if opposite:
            assert status(relation.negation()) == opposite
            assert status(negation(relation.negation())) == wanted
        else:
            assert status(relation.negation()) in (UNDECIDED, UNDEFINED, TIED)
    with pytest.raises(Unbounded):
        status(implies(YES, at_most(ENDLESS, 1)))


def test_an_implication_that_may_have_no_value_counts_before_a_violation():
    assert status(every(implies(OPEN, VOID), NO)) == UNDECIDED
    assert status(every(implies(OPEN, MAYBE), NO)) == UNDECIDED
    assert status(every(implies(NO, VOID), NO)) == VIOLATED
    assert status(every(implies(OPEN, OPEN), NO)) == VIOLATED


def test_alternatives_where_something_is_open():
    for parts, wanted in (
        ((NO, OPEN), UNDECIDED),
        ((YES, OPEN), HOLDS),
        ((NO, LEVEL), TIED),
        ((YES, VOID), UNDEFINED),
        ((YES, MAYBE), UNDECIDED),
        ((NO, NO), VIOLATED),
    ):
        for order in itertools.permutations(parts):
            assert status(either(*order)) == wanted


def test_equivalence_where_something_is_open():
    for left, right, wanted in (
        (YES, YES, HOLDS),
        (NO, NO, HOLDS),
        (YES, NO, VIOLATED),
        (NO, YES, VIOLATED),
        (YES, OPEN, UNDECIDED),
        (NO, OPEN, UNDECIDED),
        (OPEN, OPEN, UNDECIDED),
        (NO, VOID, UNDEFINED),
    ):
        assert status(iff(left, right)) == wanted


def test_some_entry_where_something_is_open():
    def row(*entries):
        return np.array([[side.item() for side in entries]])

    low, high, wide = ball(0, 0), ball(3, 3), ball(0, 2)
    for entries, wanted in (
        ((low, high), HOLDS),
        ((high, high), VIOLATED),
        ((high, wide), UNDECIDED),
        ((low, wide), HOLDS),
        ((low, NONE), UNDEFINED),
        ((low, PERHAPS), UNDECIDED),
    ):
        assert status(in_some_entry(at_most(row(*entries), 1))) == wanted
        negated = status(negation(at_most(row(*entries), 1)))
        assert negated != HOLDS or high in entries


def test_that_no_entry_does_is_said_with_the_nearest():
    three = RATIONAL.array([[5, 3, 4]])
    found = in_some_entry(at_most(three, 2)).decide(RATIONAL)
    assert (found.status, found.lhs, len(found.sides)) == (VIOLATED, 3, 3)
    assert found.beside == (("so in each of 3 entries: the nearest is shown", None, "", None),)
    assert in_some_entry(at_most(three[:, :2], 2)).decide(RATIONAL).beside[0][0].startswith("so in each of 2 entries")
    assert in_some_entry(at_most(three[:, :1], 2)).decide(RATIONAL).beside == ()
    assert in_some_entry(at_most(three, 3)).decide(RATIONAL).beside == ()
    strict = [in_some_entry(make(three, 2)).is_strict for make in (at_most, less_than, equal, Differ)]
    assert strict == [False, True, False, True]


def test_alternatives_that_fail_are_shown_beside_the_nearest():
    x = RATIONAL.array([[3]])
    for count, more in ((1, ()), (2, ()), (5, ()), (6, ("and 1 more fail",)), (8, ("and 3 more fail",))):
        found = either(*(at_most(x, 2 - k) for k in range(count))).decide(RATIONAL)  # the first fails least
        assert (found.status, found.lhs, found.rhs) == (VIOLATED, 3, 2)
        shown = [("another alternative fails", 3, "<=", 2 - k) for k in range(1, min(count, 5))]
        assert found.beside == (*shown, *((text, None, "", None) for text in more))
    found = either(at_most(x, 1), at_most(x, 2)).decide(RATIONAL)  # of one left side
    assert (found.rhs, found.beside) == (2, (("another alternative fails", 3, "<=", 1),))
    assert either(at_most(x, 1), at_most(x, 4)).decide(RATIONAL).beside == ()


def test_an_implication_is_made_of_its_premise_and_its_conclusion():
    assert list(implies(YES, NO)) == [YES, NO]
    for premise in (YES, NO):
        assert len(implies(premise, NO).decide(BALL).sides) == 2


def test_a_premise_and_then_a_conclusion_where_something_is_open():
    for premise, conclusion, wanted in (
        (YES, YES, HOLDS),
        (NO, YES, VIOLATED),
        (OPEN, YES, UNDECIDED),
        (OPEN, NO, VIOLATED),
        (OPEN, LEVEL, UNDECIDED),
        (LEVEL, YES, TIED),
        (LEVEL, LEVEL, TIED),
        (LEVEL, NO, VIOLATED),
        (LEVEL, OPEN, UNDECIDED),
        (LEVEL, MAYBE, UNDECIDED),
    ):
        assert status(Guarded(premise, conclusion, otherwise=False)) == wanted, (status(premise), status(conclusion))


def test_the_margin_of_an_implication():
    """Of x <= 0 implies y <= 0: where x is above, the better of how far it is and of the conclusion's."""
    x, y = (np.array(values).reshape(-1, 1, 1) for values in ([0.0, 0.5, 0.5, 0.5, np.nan], [1.0, 1.0, -1.0, 3.0, 1.0]))
    margin = implies(at_most(x, 0), at_most(y, 0)).margin(5)
    assert np.array_equal(margin.slack, [-1, 0.5, 0.5, 0.5, np.nan], equal_nan=True)
    better = implies(at_most(x, 0.4), at_most(y, 0)).margin(5)
    assert np.array_equal(better.slack, [-1, 0.5 - 0.4, 1, 0.5 - 0.4, np.nan], equal_nan=True)
    nearly, one = np.full((1, 1, 1), 1e-13), np.ones((1, 1, 1))  # the inner premise is met but for rounding
    nested = implies(implies(at_most(nearly, 0), at_most(one, 0)), at_most(one, 0))
    assert nested.margin(1).slack == [0]  # never below zero where the premise is not met


# ---- how they are made and shown --------------------------------------------


def test_negations_of_arrays_are_of_some_entry():
    one, three = number(1), RATIONAL.array([[1, 2, 3]])
    assert isinstance(differ(one, 1), Differ)
    assert isinstance(differ(three, one), SomeEntry)
    assert isinstance(negation(at_most(three, 2)), SomeEntry)
    assert isinstance(negation(in_some_entry(at_most(three, 2))), Comparison)
    assert isinstance(differ(np.zeros((5, 1, 1)), 0), Differ)
    assert isinstance(differ(np.zeros((5, 1, 2)), 0), SomeEntry)
    assert isinstance(differ(np.zeros((5, 2, 1)), 0), SomeEntry)
    assert isinstance(differ(np.zeros((2, 1)), 0), SomeEntry)  # without a batch
    assert isinstance(negation(implies(YES, NO)), Guarded)
    assert status(differ(three, RATIONAL.array([[1, 2, 4]])), RATIONAL) == HOLDS
    assert status(differ(three, three), RATIONAL) == VIOLATED


def test_within_is_a_bound_on_the_distance():
    x = number(2)
    for relation, wanted in (
        (within(x, exact(5, 2), exact(1, 2)), HOLDS),
        (within(exact(5, 2), x, exact(2, 5)), VIOLATED),
        (within(x, 3, 1), HOLDS),
        (within(2, 4, exact(1)), VIOLATED),
        (within(exact(1, 3), exact(1, 3), 0), HOLDS),
    ):
        assert isinstance(relation, AtMost)
        assert status(relation, RATIONAL) == wanted
    assert within(np.full((3, 1, 1), 2.0), exact(5, 2), exact(1, 4)).margin(3).slack.tolist() == [-0.25] * 3


def test_what_is_no_relation_is_refused():
    for make in (every, either):
        with pytest.raises(ClaimError, match=f"{make.__name__}: expected some relations, got none"):
            make()
    for make in (every, either, iff, implies):
        with pytest.raises(ClaimError, match=f"{make.__name__}: expected relations .* got bool"):
            make(YES, True)
    with pytest.raises(ClaimError, match=r"negation: expected relations .* got int"):
        negation(1)
    with pytest.raises(ClaimError, match=r"in_some_entry: expected a comparison .* got lhs <= rhs and lhs <= rhs"):
        in_some_entry(every(YES, NO))


def test_how_they_are_worded():
    assert either(YES, every(NO, YES)).wording == "lhs <= rhs or (lhs <= rhs and lhs <= rhs)"
    assert implies(YES, NO).wording == "if lhs <= rhs then lhs <= rhs"
    assert implies(YES, NO).negation().wording == "lhs <= rhs and then lhs > rhs"
    assert in_some_entry(at_least(number(1), 2)).wording == "lhs >= rhs in some entry"
    assert [one.wording for one in every(YES, every(NO, either(YES, NO))).conjuncts] == [
        "lhs <= rhs",
        "lhs <= rhs",
        "lhs <= rhs or lhs <= rhs",
    ]
    assert either(either(YES, NO), YES) == AnyOf((YES, NO, YES))
    assert [is_guarded(one) for one in (YES, implies(YES, NO), either(NO, iff(YES, NO)))] == [False, True, True]
    assert isinstance(iff(YES, NO), Every)


# ---- as claims --------------------------------------------------------------


def stated():
    """The claims, by the last part of their ids (at the top level the plugin would take them for tests)."""

    @claim("compound.inverse", over={"x": Scalar()})
    def inverse(x):
        """If x > 0 then 1/x >= 1."""
        return implies(more_than(x, 0), at_least(1 / x, 1))

    @claim("compound.order", over={"x": Vector("d"), "y": Vector("d")}, sizes={"d": range(1, 4)})
    def order(x, y):
        """x <= y or y <= x, of vectors."""
        return either(at_most(x, y), at_most(y, x))

    @claim("compound.nonzero", over={"x": Matrix("n", "d")}, sizes={"n": range(1, 3), "d": range(1, 3)})
    def nonzero(x):
        """x is not zero, or its square has no entry below zero: true."""
        return either(differ(x, 0), at_least(x * x, 0))

    @claim("compound.equivalent", over={"x": Scalar(), "y": Scalar()})
    def equivalent(x, y):
        """x^2 <= y^2 exactly where x <= y: false."""
        return iff(at_most(x * x, y * y), at_most(x, y))

    @claim("compound.some", over={"x": Vector("d")}, sizes={"d": range(1, 4)})
    def some(x):
        """Some entry of x is at most 0: false."""
        return in_some_entry(at_most(x, 0))

    return {one.id.split(".")[1]: one for one in (inverse, order, nonzero, equivalent, some)}


CLAIMS = stated()


@pytest.mark.parametrize("name", ["inverse", "order", "equivalent", "some"])
def test_false_ones_are_refuted_and_the_violation_says_what_it_rests_on(name):
    made = CLAIMS[name]
    verdict = falsify(made, 6000)
    assert verdict.status == "refuted"
    found = verdict.counterexample
    facts = trace(made, found.raw).violation
    assert facts
    assert all(fact.holds() for fact in facts)
    said = "\n".join(line for line in str(found).splitlines())
    for label in {"inverse": ["the premise holds: "], "order": ["another alternative fails: "]}.get(name, []):
        assert label in said
        assert label.split(":")[0] in found.latex()
    again = from_json({**found.json(), "named": True}, made)
    assert isinstance(again, Counterexample)
    assert {"check", "rocq", "lean"} <= {form for form in ("check", "rocq", "lean") if found.to(form)}


def test_true_ones_survive_and_the_solver_proves_what_it_can():
    nonzero, some, order = (CLAIMS[name] for name in ("nonzero", "some", "order"))
    assert falsify(nonzero, 4000).status == "survived"
    assert is_proved(nonzero, n=1, d=2)
    assert not is_proved(some, d=2)
    assert not is_proved(order, d=2)
    assert is_proved(order, d=1)


def test_a_guarded_hypothesis_is_no_licence_for_a_proof():
    """Where x = 0 the hypothesis is met and 1/x has no value: no proof may leave that out."""

    def large(x):
        return implies(differ(x, 0), at_least(1 / x, 1))

    @claim("compound.guarded", over={"x": Scalar()}, assuming=[large])
    def guarded(x):
        """False: x = 0."""
        return more_than(x, 0)

    assert not is_proved(guarded)
    assert falsify(guarded, 3000).status == "refuted"


def test_in_the_language_of_the_command_line():
    contraction = claims.lookup("contraction.diameter")
    text = "implies(less_than(dobrushin(A), 1/2), at_most(lhs, rhs / 2))"
    verdict = falsify(vary(contraction, conclusion=text, sizes={"n": "2", "d": "1"}), 4000)
    assert verdict.status == "refuted"
    again = from_json(verdict.counterexample.json())
    assert isinstance(again, Counterexample)
    for bad, message in (
        ("dobrushin(A)", "expected a relation such as at_most"),
        ("either(at_most(lhs, rhs), 1)", "either: expected relations"),
        ("at_most(lhs, at_most(lhs, rhs))", "a side of a relation is a AtMost"),
    ):
        with pytest.raises(ClaimError, match=message):
            vary(contraction, conclusion=bad)
    with pytest.raises(ExpressionError, match="unknown name 'lhs'"):
        vary(contraction, assuming=["at_most(lhs, 1)"])
    with pytest.raises(ExpressionError, match="unknown function 'at_most'"):
        vary(contraction, rhs="at_most(lhs, 1)")
    with pytest.raises(ClaimError, match="not both"):
        vary(contraction, rhs="2 * rhs", conclusion="at_most(lhs, rhs)")
    narrowed = vary(contraction, assuming=["equal(dobrushin(A), 0)"], conclusion="equal(lhs, 0)")
    assert falsify(narrowed, 3000).status == "survived"
