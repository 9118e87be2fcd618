"""Which sizes and options a proof is tried at, in which order, and when no more are tried."""

import dataclasses

import pytest

from resstream.arithmetic import exp, square
from resstream.claim import at_least, at_most, claim, equal, every, less_than, more_than
from resstream.domains import Matrix, Norm, Product, Scalar, Vector
from resstream.prove import goals, models
from resstream.prove.answer import INEXPRESSIBLE, MODEL, PROVED, UNDECIDED, Answer
from resstream.prove.goals import covered, options_at, prove, prove_at, small_sizes


def about(conclusion=lambda x: at_most(0 * x, 1), over=None, **more):
    return claim("trial", over=over or {"x": Matrix("n", "d")}, **more)(conclusion)


def with_norms(**sizes):
    """A claim of two norms, the second without a change of basis."""
    over = {"x": Vector("d"), "norm": Norm("d"), "plain": Norm("e", kinds=("l1", "l2"), bases=False)}
    return about(lambda x, norm, plain: at_most(0 * x, 1), over, sizes=sizes)  # noqa: ARG005


# ---- sizes and options


def pairs(made):
    return [tuple(sizes.values()) for sizes in small_sizes(made)]


def test_sizes_up_to_three_and_one_that_is_four_the_smallest_first():
    assert small_sizes(about())[0] == {"d": 1, "n": 1}
    below_five = [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 2)]  # as (d, n), of as large a sum the uneven first
    assert pairs(about()) == [*below_five, (4, 1), (1, 4), (2, 3), (3, 2), (3, 3)]
    one = {"x": Vector("d")}
    assert pairs(about(over=one)) == [(1,), (2,), (3,), (4,)]
    assert pairs(about(over=one, sizes={"d": range(1, 5)})) == [(1,), (2,), (3,), (4,)]
    assert pairs(about(over=one, sizes={"d": range(2, 4)})) == [(2,), (3,)]
    assert pairs(about(over=one, sizes={"d": range(3, 9)})) == [(3,), (4,)]
    assert pairs(about(over=one, sizes={"d": range(4, 9)})) == [(4,)]  # once
    assert pairs(about(over=one, sizes={"d": range(6, 9)})) == [(6,)]
    assert pairs(about(sizes={"n": range(5, 7), "d": range(2, 3)})) == [(2, 5)]
    assert pairs(about(where="n > d", sizes={"n": range(1, 4)})) == [(1, 2), (1, 3), (2, 3)]
    assert pairs(about(over={"x": Scalar()})) == [()]


def test_every_choice_of_options_has_a_label_and_in_one_dimension_one_norm_stands_for_all():
    made = with_norms()
    found = dict(options_at(made, {"d": 2, "e": 2}))
    bases = ["", " in any basis"]
    labels = [f"norm {kind}{basis} plain {plain}" for kind in ("linf", "l1", "l2") for basis in bases for plain in "12"]
    assert list(found) == [label.replace("plain ", "plain l") for label in labels]
    assert found["norm l1 in any basis plain l2"] == {
        "norm.kind": "l1",
        "norm.basis": "changed",
        "plain.kind": "l2",
        "plain.basis": "standard",
    }
    assert list(options_at(made, {"d": 1, "e": 1})) == [
        (
            "any norm",
            {"norm.kind": "linf", "norm.basis": "changed", "plain.kind": "l1", "plain.basis": "standard"},
        )
    ]
    assert [label for label, _ in options_at(made, {"d": 1, "e": 2})] == ["any norm plain l1", "any norm plain l2"]
    nested = about(lambda x: at_most(0, 1), {"x": Product(Norm(1, bases=False), Scalar())})  # noqa: ARG005
    assert [label for label, _ in options_at(nested, {})] == ["x.0 linf", "x.0 l1", "x.0 l2"]


def test_a_goal_covers_its_options_and_in_one_dimension_every_norm():
    made = with_norms()
    options = {"norm.kind": "l1", "norm.basis": "changed", "plain.kind": "l2", "plain.basis": "standard"}
    assert covered(made, {"d": 2, "e": 2}, options) == {name: (value,) for name, value in options.items()}
    assert covered(made, {"d": 1, "e": 1}, options) == {
        "norm.kind": ("l1", "linf", "l2"),
        "norm.basis": ("changed", "standard"),
        "plain.kind": ("l2", "l1"),
        "plain.basis": ("standard",),
    }


# ---- the order of the goals


def goal(outcome, options="", **sizes):
    return Answer(sizes, outcome, options=options)


def test_what_is_hopeless_after_a_goal_that_was_not_decided():
    failed = goal(UNDECIDED, "norm l1", n=2, d=2)
    assert goals._hopeless(failed, {"n": 2, "d": 2}, "norm l1")
    assert goals._hopeless(failed, {"n": 3, "d": 2}, "norm l1")
    assert not goals._hopeless(failed, {"n": 3, "d": 1}, "norm l1")
    assert not goals._hopeless(failed, {"n": 3, "d": 2}, "norm l2")
    assert goals._hopeless(goal(INEXPRESSIBLE, "any norm", n=2, d=1), {"n": 2, "d": 2}, "norm l2")
    assert not goals._hopeless(goal(PROVED, n=2), {"n": 2}, "")
    assert not goals._hopeless(goal(MODEL, n=2), {"n": 2}, "")


@pytest.fixture
def scripted(monkeypatch):
    """Prove a claim with answers by (sizes, label), proved elsewhere; what was asked for, and for how many seconds."""

    def run(made, answers=None, algebra=None, **more):
        asked = []

        def at(_, sizes, options, label, seconds):
            asked.append((tuple(sizes.values()), label, seconds))
            return Answer(sizes, (answers or {}).get((*sizes.values(), label), PROVED), options=label, covered=options)

        monkeypatch.setattr(goals, "prove_at", at)
        monkeypatch.setattr(goals, "_by_algebra", lambda _, sizes: (algebra or {}).get(tuple(sizes.values())))
        monkeypatch.setattr(goals.time, "monotonic", lambda: 100.0)  # no time passes
        seen = []
        found = prove(made, progress=seen.append, **more)
        assert seen == found
        return [(*answer.sizes.values(), answer.outcome) for answer in found], asked, found

    return run


def test_goals_are_asked_in_order_each_for_its_time(scripted):
    vector = about(over={"x": Vector("d")})
    assert scripted(vector)[0] == [(1, PROVED), (2, PROVED), (3, PROVED), (4, PROVED)]
    assert {seconds for *_, seconds in scripted(vector)[1]} == {goals.SECONDS_A_GOAL}
    assert {seconds for *_, seconds in scripted(vector, seconds=1.0)[1]} == {1.0}
    assert {seconds for *_, seconds in scripted(vector, seconds_a_goal=3.0)[1]} == {3.0}
    assert scripted(vector, seconds=0.0)[0] == []
    assert scripted(vector, sizes=[{"d": 5}, {"d": 2}])[0] == [(5, PROVED), (2, PROVED)]


def test_nothing_is_asked_after_a_model_nor_beyond_what_was_not_decided(scripted):
    vector = about(over={"x": Vector("d")})
    assert scripted(vector, {(2, ""): MODEL})[0] == [(1, PROVED), (2, MODEL)]
    assert scripted(vector, {(2, ""): UNDECIDED})[0] == [(1, PROVED), (2, UNDECIDED)]
    norms = about(lambda x, norm: at_most(0 * x, 1), {"x": Vector("d"), "norm": Norm("d", bases=False)})  # noqa: ARG005
    found = scripted(norms, {(2, "norm l1"): UNDECIDED})[1]
    assert [label for sizes, label, _ in found if sizes == (3,)] == ["norm linf", "norm l2"]


def test_what_is_proved_is_believed_of_steady_claims_alone(scripted, monkeypatch):
    monkeypatch.setattr(goals, "_if_steady", lambda _, answer: dataclasses.replace(answer, detail="was steady"))
    vector = about(over={"x": Vector("d")}, sizes={"d": range(1, 4)})
    algebra = {(1,): Answer({"d": 1}, PROVED, method="algebra")}
    _, _, found = scripted(vector, {(3, ""): UNDECIDED}, algebra)
    assert [answer.detail for answer in found] == ["was steady", "was steady", ""]


def test_what_algebra_proves_is_not_asked_again_and_what_it_does_not_decide_is_said(scripted):
    vector = about(over={"x": Vector("d")}, sizes={"d": range(1, 4)})
    algebra = {
        (1,): Answer({"d": 1}, PROVED, method="algebra"),
        (2,): Answer({"d": 2}, UNDECIDED, "may divide by zero", "algebra"),
        (3,): Answer({"d": 3}, INEXPRESSIBLE, "no symbolic reading", "algebra"),
    }
    _, asked, answers = scripted(vector, algebra=algebra)
    assert [answer.method for answer in answers] == ["algebra", "Z3", "Z3"]
    assert [sizes for sizes, *_ in asked] == [(2,), (3,)]
    _, _, (*_, last) = scripted(vector, {(2, ""): INEXPRESSIBLE}, algebra)
    assert (last.outcome, last.detail, last.method, last.covered) == (UNDECIDED, "may divide by zero", "algebra", {})
    _, _, (*_, last) = scripted(vector, {(3, ""): INEXPRESSIBLE}, algebra)
    assert (last.outcome, last.detail, last.method) == (INEXPRESSIBLE, "", "Z3")
    _, _, (*_, last) = scripted(vector, {(2, ""): UNDECIDED}, algebra)
    assert (last.outcome, last.detail) == (UNDECIDED, "")


# ---- one goal


def nonzero(x):
    return more_than(square(x), 0)


def one_goal(conclusion, seconds=20.0, **more):
    return prove_at(about(conclusion, {"x": Scalar()}, **more), {}, {}, "here", seconds)


def test_an_answer_says_what_it_went_through():
    found = one_goal(lambda x: every(at_least(square(x / x), 0), at_most(1 / x - 1 / x, 0)), assuming=[nonzero])
    assert (found.outcome, found.pieces, found.obligations, found.options) == (PROVED, 1, 3, "here")
    assert 0 < found.seconds < 20
    assert found.method == "Z3"
    split = one_goal(lambda x: at_least(square(x) if (x > 0).all() else -x, 0))
    assert (split.outcome, split.pieces) == (PROVED, 2)
    wrong = one_goal(lambda x: at_least(square(x) if (x > 0).all() else x, 0))
    assert (wrong.outcome, wrong.pieces, wrong.detail) == (MODEL, 2, "")
    assert wrong.model.arrays["x"].item() < 0
    at_once = one_goal(lambda x: at_least(x if (x > 0).all() else square(x), 1))
    assert (at_once.outcome, at_once.pieces) == (MODEL, 1)
    assert one_goal(lambda x: at_least(exp(x), 0)).detail == "exp"


def test_a_model_has_the_first_of_the_options_that_its_goal_covers():
    made = about(lambda x, norm: at_least(x, 0), {"x": Scalar(), "norm": Norm(1)})  # noqa: ARG005
    found = prove(made, 20.0)[-1]
    assert found.outcome == MODEL
    assert found.model.options == {"norm.kind": "linf", "norm.basis": "changed"}


def test_without_time_it_says_how_much_there_was():
    late = one_goal(lambda x: at_least(square(x), 0), seconds=0.0)
    assert (late.outcome, late.detail) == (UNDECIDED, "in 0.0 s")


def test_a_model_that_is_none_at_the_instance_is_said_to_be_none(monkeypatch):
    monkeypatch.setattr(models, "candidate", lambda *_: None)
    found = one_goal(lambda x: at_least(x, 0))
    assert (found.outcome, found.detail) == (UNDECIDED, "the solver's model is no counterexample")


def test_alternatives_of_several_conditions_are_refuted_one_by_one():
    assert list(goals._grouped([("a",), ("b", "c"), ("d",), ("e", "f", "g")])) == [
        ((), ["a", "d"]),
        (("c",), ["b"]),
        (("f", "g"), ["e"]),
    ]
    assert list(goals._grouped([("b", "c")])) == [(("c",), ["b"])]
    assert list(goals._grouped([])) == []


# ---- identities, and claims that change their minds


def test_an_identity_states_equalities_only():
    for conclusion, wanted in (
        (lambda x: equal(x, 2), True),
        (lambda x: every(equal(x, 2), equal(x, x)), True),
        (lambda x: every(equal(x, 2), at_most(x, 3)), False),
        (lambda x: less_than(x, 2), False),
        (lambda x: equal(x.nothing, 2), False),  # of what cannot be evaluated nothing is known
    ):
        assert goals._is_identity(about(conclusion, {"x": Scalar()}), {}) is wanted


def test_two_instances_are_drawn_at_the_first_options():
    batch = goals._drawn(with_norms(), {"d": 3, "e": 2})
    assert (batch.count, batch.arrays["x"].shape) == (2, (2, 1, 3))
    assert batch.options == {
        "norm.kind": "linf",
        "norm.basis": "standard",
        "plain.kind": "l1",
        "plain.basis": "standard",
    }
    assert goals._drawn(with_norms(), {"d": 3, "e": 2}).arrays["x"].tolist() == batch.arrays["x"].tolist()


def steady(answers):
    """What is left of a proof of a claim that answers so, from reading to reading."""
    calls = iter(answers)

    def conclusion(x):
        answer = next(calls)
        if isinstance(answer, Exception):
            raise answer
        return at_most(x, answer)

    return goals._if_steady(about(conclusion, {"x": Scalar()}), Answer({}, PROVED))


def test_a_claim_is_read_twelve_times_before_a_proof_of_it_is_believed():
    assert steady([1] * 12).outcome == PROVED
    assert steady([*[1] * 12, 2]).outcome == PROVED
    assert steady([ValueError("no")] * 12).outcome == PROVED
    for answers in ([2, *[1] * 11], [*[1] * 11, 2], [*[1] * 6, ValueError(), *[1] * 5]):
        found = steady(answers)
        assert (found.outcome, found.detail) == (UNDECIDED, "the claim answers differently when it is asked again")
    assert steady([*[ValueError("a")] * 11, ValueError("b")]).outcome == UNDECIDED
