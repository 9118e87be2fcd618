"""What a proof owes: nothing is proved of what may have no value, and with the hypothesis that gives it one it is."""

import numpy as np
import pytest

from resstream.arithmetic import absolute, derivative, exact, exp, log, relu, sqrt, square, total
from resstream.claim import at_least, at_most, claim, equal, every, less_than, more_than
from resstream.domains import Matrix, NonConstant, Positive, RowStochastic, Scalar, Vector
from resstream.prove.answer import INEXPRESSIBLE, MODEL, PROVED, UNDECIDED
from resstream.prove.goals import prove
from resstream.reference import layer_norm

PATIENT = 60.0


def nonzero(x):
    return more_than(square(x), 0)


def nonnegative(x):
    return at_least(x, 0)


def positive(x):
    return more_than(x, 0)


def apart(x):
    return more_than(square(x[..., :1] - x[..., 1:]), 0)


def root_is_large(x):
    return at_least(sqrt(x), 1)


def slope(function):
    return lambda x: derivative(function, x, 0 * x + 1)


NUMBER, PAIR = Scalar(), Vector(2)

# What is stated, over what, the hypothesis that makes it true everywhere, and what is said of it without.
OWED = {
    "x over x": (lambda x: equal(x / x, 1), NUMBER, nonzero, "divide by zero"),
    "x over x, in an inequality": (
        lambda x: every(at_least(square(x), 0), at_most(x / x, 1)),
        NUMBER,
        nonzero,
        "divide by zero",
    ),
    "a power below zero": (lambda x: equal(x**-2 * x**2, 1), NUMBER, nonzero, "divide by zero"),
    "a divisor that cancels": (lambda x: equal(square(x) / x - x, 0), NUMBER, nonzero, "divide by zero"),
    "zero times a quotient": (lambda x: equal(0 * (1 / x), 0), NUMBER, nonzero, "divide by zero"),
    "a difference below": (
        lambda x: equal(total(x - x.mean()) * 0 + (x[..., :1] - x[..., 1:]) / (x[..., :1] - x[..., 1:]), 1),
        PAIR,
        apart,
        "divide by zero",
    ),
    "a root": (lambda x: at_least(sqrt(x), 0), NUMBER, nonnegative, "root of a negative number"),
    "a root beside its condition": (
        lambda x: every(at_least(square(x), 0), at_least(sqrt(x), 0)),
        NUMBER,
        nonnegative,
        "root of a negative number",
    ),
    "a root squared": (lambda x: equal(square(sqrt(x)), x), NUMBER, nonnegative, "root of a negative number"),
    "a root of a root": (lambda x: equal(sqrt(sqrt(x)) ** 4, x), NUMBER, nonnegative, "root of a negative number"),
    "one over a root": (lambda x: equal(sqrt(x) / sqrt(x), 1), Scalar(0), positive, "divide by zero"),
    "known by a root": (lambda x: equal(x / x, 1), NUMBER, root_is_large, "divide by zero"),
    "a logarithm": (lambda x: equal(exp(log(x)), x), NUMBER, positive, "logarithm of what is not positive"),
    "a logarithm of a square": (
        lambda x: equal(0 * log(square(x)), 0),
        NUMBER,
        nonzero,
        "logarithm of what is not positive",
    ),
    "the slope of a root": (lambda x: equal(2 * slope(sqrt)(x) * sqrt(x), 1), Scalar(0), positive, ""),
    "the slope of an absolute value": (lambda x: equal(square(slope(absolute)(x)), 1), NUMBER, nonzero, "at a kink"),
    "the slope of a ReLU": (lambda x: equal(slope(relu)(x) * x, relu(x)), NUMBER, nonzero, "at a kink"),
}


def outcomes(statement, *assuming, over):
    trial = claim("trial", over={"x": over}, assuming=assuming)(statement)
    return prove(trial, PATIENT, PATIENT)


@pytest.mark.parametrize("name", OWED)
def test_what_may_have_no_value_is_not_proved_and_with_its_hypothesis_it_is(name):
    statement, over, hypothesis, reason = OWED[name]
    (without,) = outcomes(statement, over=over)
    assert without.outcome in (UNDECIDED, INEXPRESSIBLE)
    if reason and without.outcome == UNDECIDED:
        assert f"{reason} in line " in without.detail
        assert "test_prove_obligations.py" in without.detail
    (with_it,) = outcomes(statement, hypothesis, over=over)
    assert with_it.outcome == PROVED, str(with_it)


def test_nothing_is_known_of_the_hypotheses_that_does_not_follow():
    (found,) = outcomes(lambda x: equal(x / x, 1), nonnegative, over=NUMBER)
    assert str(found).startswith("not decided (may divide by zero in line ")
    (found,) = outcomes(lambda x: at_least(sqrt(x - 1), 0), nonnegative, over=NUMBER)
    assert str(found).startswith("not decided (may take the root of a negative number in line ")


def test_an_obligation_is_not_proved_by_what_rests_on_it():
    """q with q x = 1 has no value at x = 0, so that there x is not "known" to be nonzero."""
    (found,) = outcomes(lambda x: every(equal(1 / x, 1 / x), equal(x * (1 / x), 1)), over=NUMBER)
    assert found.outcome == UNDECIDED
    (found,) = outcomes(lambda x: every(at_most(0 * (1 / x), 0), at_most(0 * (1 / x), x * (1 / x))), over=NUMBER)
    assert found.outcome == UNDECIDED
    (found,) = outcomes(lambda x: at_least(sqrt(x) + sqrt(x), 0), over=NUMBER)
    assert found.outcome == UNDECIDED


def test_a_hypothesis_without_a_value_is_not_met_so_it_owes_nothing():
    def quotient(x):
        return at_least(1 / x, 1)

    (found,) = outcomes(lambda x: at_most(x, 1), quotient, over=NUMBER)
    assert found.outcome == PROVED


def test_a_negative_power_is_read_as_what_it_is():
    (found,) = outcomes(lambda x: at_most(x**-1, 1), over=Positive())
    assert found.outcome == MODEL


def test_domains_give_conditions():
    (found,) = prove(
        claim("trial", over={"x": NonConstant(3)})(lambda x: equal(total(square(layer_norm(x))), 3)), PATIENT, PATIENT
    )
    assert found.outcome == PROVED
    assert found.obligations > 0
    (free,) = prove(
        claim("trial", over={"x": Matrix(1, 3)})(
            lambda x: equal(total(x - total(x) / 3) / sqrt(total(square(x - total(x) / 3))), 0)
        ),
        PATIENT,
        PATIENT,
    )
    assert free.outcome == UNDECIDED


def test_a_branch_is_a_case_split_or_not_expressible_and_never_one_branch():
    def indicator(A):
        return equal(np.where(A == 0, 0 * A + 1, 0 * A), 0)

    (found,) = prove(claim("trial", over={"A": RowStochastic(2)})(indicator), PATIENT, PATIENT)
    assert found.outcome == MODEL

    def safe(x):
        size = total(square(x))
        return size / np.where(size == 0, size + 1, size)

    goals = prove(
        claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 3)})(lambda x: equal(safe(x), 1)), PATIENT
    )
    assert [g.outcome for g in goals] == [MODEL]
    goals = prove(
        claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 3)})(lambda x: at_most(safe(x), 1)), PATIENT
    )
    assert [(g.outcome, g.pieces) for g in goals] == [(PROVED, 2)] * 2

    (found,) = prove(
        claim("trial", over={"x": NUMBER})(lambda x: equal(np.where(exp(x) == 1, exp(x), exp(x) + 0 * x), exp(x))),
        PATIENT,
    )
    assert found.outcome == INEXPRESSIBLE


def test_a_float_is_named_and_nothing_is_proved():
    (found,) = prove(claim("trial", over={"x": NUMBER})(lambda x: equal(10 * (0.1 * x), x)), PATIENT)
    assert found.outcome == INEXPRESSIBLE
    assert "the float 0.1" in found.detail


def test_conditions_that_are_strict_are_read_as_strict():
    def above_one(x):
        return more_than(x, 1)

    (found,) = outcomes(lambda x: less_than(1, x), above_one, over=NUMBER)
    assert found.outcome == PROVED
    (found,) = outcomes(lambda x: at_least(x, exact(1001, 1000)), above_one, over=NUMBER)
    assert found.outcome == MODEL
