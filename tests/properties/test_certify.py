"""The door to a counterexample: what comes through was read twice, and the two readings agree."""

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL, Ball, exact, exp, log, sqrt
from resstream.claim import Claim, Instance, at_least, at_most, equal, every, implies, less_than
from resstream.domains import Matrix
from resstream.errors import ClaimFault, NotDeterministic
from resstream.falsify import certify as door
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.judge import HOLDS, OUTSIDE, TIED, UNDECIDED, UNDEFINED, VIOLATED, Judgement

X = Instance({}, {}, {"x": np.array([[3.0]])})


def about(conclusion, *hypotheses):
    return Claim("trial", {"x": Matrix(1, 1)}, conclusion, tuple(hypotheses))


def test_a_violation_is_certified_by_two_readings_of_different_kinds():
    found = certify(about(lambda x: at_most(x, 2)), X)
    assert isinstance(found, Certificate)
    assert (found.judgement.bits, found.confirmation.bits) == (128, 256)
    assert (found.judgement.lhs, found.judgement.rhs) == (3, 2)
    exactly = certify(about(lambda x: at_most(x, 2)), X, exactly=True)
    assert (exactly.judgement.bits, exactly.confirmation.bits) == (None, 256)
    assert certify(about(lambda x: at_most(x, 4)), X).bits == 128
    assert certify(about(lambda x: at_most(x, 4)), X, looks_tied=True).bits is None  # rationals were asked first
    strict = certify(about(lambda x: less_than(x / 7, exact(3, 7))), X)  # only rationals can tell
    assert (strict.judgement.bits, strict.confirmation.bits) == (None, None)


@pytest.mark.parametrize(
    ("conclusion", "hypothesis", "outcome"),
    [
        (lambda x: at_most(x, 3), None, HOLDS),
        (lambda x: equal(sqrt(2 * x) * sqrt(3 * x), sqrt(6 * x * x)), None, TIED),
        (lambda x: at_most(x, 2), lambda x: at_most(x, 1), OUTSIDE),
        (lambda x: at_most(1 / (x - 3), 1), None, UNDEFINED),
        (lambda x: at_most(x, 2), lambda x: equal(log(2 * x), log(2 + 0 * x) + log(x)), UNDECIDED),
    ],
    ids=["holds", "tied", "outside", "undefined", "undecided"],
)
def test_what_does_not_refute_gets_a_judgement(conclusion, hypothesis, outcome):
    found = certify(about(conclusion, *([hypothesis] if hypothesis else [])), X)
    assert isinstance(found, Judgement)
    assert found.outcome == outcome


def changing(answers):
    """A claim that answers as the list says, call by call."""
    calls = iter(answers)

    def conclusion(x):
        return at_most(x, next(calls))

    return about(conclusion)


@pytest.mark.parametrize("answers", [[2, 4, 4, 4], [2, 1, 1, 1], [1, 2, 2, 2]], ids=["holds then", "lower", "higher"])
def test_two_readings_that_differ_are_no_certificate(answers):
    with pytest.raises(NotDeterministic, match="not deterministic: the same instance was read as violated"):
        certify(changing(answers), X)


def test_a_hypothesis_that_differs_is_no_certificate():
    calls = iter([5, 1, 1, 1])
    with pytest.raises(NotDeterministic, match="and then as outside"):
        certify(about(lambda x: at_most(x, 2), lambda x: at_most(x, next(calls))), X)


def test_what_two_readings_said_is_said():
    with pytest.raises(NotDeterministic) as found:
        certify(changing([2, 4, 4, 4]), X)
    three, two, four = (f"{number}.{19 * '0'}" for number in (3, 2, 4))
    assert str(found.value) == (
        f"claim trial is not deterministic: the same instance was read as violated ({three} <= {two}) in 128 bits, "
        f"and then as holds ({three} <= {four}) in 256 bits"
    )
    calls = iter([1, 0])
    with pytest.raises(NotDeterministic, match=r"and then as undefined in 256 bits$"):
        certify(about(lambda x: at_most(x, 2) if next(calls) or sqrt(-x)[0, 0] > 1 else None), X)


def test_only_the_door_makes_a_certificate():
    judgement = Judgement(VIOLATED)
    with pytest.raises(TypeError, match="a certificate is made by"):
        Certificate(about(lambda x: at_most(x, 2)), X, judgement, judgement, None)


def test_which_readings_may_confirm_one(monkeypatch):
    asked = []

    def undecided(claim, raw, system):  # noqa: ARG001
        asked.append(system.name)
        return Judgement(UNDECIDED)

    monkeypatch.setattr(door, "read", undecided)
    certify(about(lambda x: at_most(x, 2)), X)
    assert asked == ["ball(256)", "rational", "ball(1024)"]
    asked.clear()
    certify(about(lambda x: less_than(x / 7, exact(3, 7))), X)
    assert asked == ["ball(256)", "ball(1024)", "rational", "exponential sums"]


def test_a_rational_may_be_what_an_enclosure_holds():
    found = certify(about(lambda x: at_most(x / 7, exact(1, 7))), X, exactly=True)
    assert isinstance(found, Certificate)
    assert (found.judgement.bits, found.confirmation.bits) == (None, 256)


def test_another_number_of_entries_is_no_certificate():
    calls = iter([1, 2, 2, 2])
    with pytest.raises(NotDeterministic):
        certify(about(lambda x: at_most(np.concatenate([x] * next(calls), axis=-1), 2)), X)


def behind_a_premise(divisors):
    """3 <= 2 is violated; beside it stands 1/divisor, behind a premise that fails, so that it need have no value."""
    calls = iter(divisors)
    return about(lambda x: every(implies(at_least(x, 5), at_most(1 / next(calls)(x), 1)), at_most(x, 2)))


def test_what_has_no_value_behind_a_premise_has_none_in_either_reading():
    def zero(x):
        return x - 3

    def open_at_128_bits(x):
        return sqrt(2 * x) * sqrt(3 * x) - sqrt(6 * x * x) + exact(1, 2**200)

    assert isinstance(certify(behind_a_premise([zero] * 2), X), Certificate)
    assert isinstance(certify(behind_a_premise([open_at_128_bits] * 2), X), Certificate)
    for divisors in ([zero, lambda x: x], [lambda x: x, zero]):
        with pytest.raises(NotDeterministic):
            certify(behind_a_premise(divisors), X)


def test_a_second_reading_that_cannot_tell_is_not_enough(monkeypatch):
    monkeypatch.setattr(door, "read", lambda *_: Judgement(UNDECIDED))
    found = certify(about(lambda x: at_most(x, 2)), X)
    assert isinstance(found, Judgement)
    assert (found.outcome, found.reason) == (UNDECIDED, "a second reading did not confirm the violation")


def test_a_tie_does_not_confirm_and_the_next_reading_is_asked(monkeypatch):
    asked = []
    real = door.read

    def tied_first(claim, raw, system):
        asked.append(system.name)
        return Judgement(TIED) if len(asked) == 1 else real(claim, raw, system)

    monkeypatch.setattr(door, "read", tied_first)
    assert isinstance(certify(about(lambda x: at_most(x, 2)), X), Certificate)
    assert asked == ["ball(256)", "rational"]


def test_the_claims_own_faults_are_passed_on():
    with pytest.raises(ClaimFault, match="AttributeError"):
        certify(about(lambda x: at_most(x.nothing, 2)), X)


def test_both_sides_of_every_entry_are_compared():
    """Two entries change places from call to call: the worst margin is the same, and the sides are not."""
    calls = iter([1, -1, 1, -1])

    def conclusion(x):
        sign = next(calls)
        return at_most(np.concatenate([4 + sign * (x - 2), 4 - sign * (x - 2)], axis=-1), 2)

    with pytest.raises(NotDeterministic):
        certify(about(conclusion), X)


def test_irrational_violations_are_confirmed_at_twice_the_precision():
    found = certify(about(lambda x: at_most(exp(x), 20)), X)
    assert (found.judgement.bits, found.confirmation.bits) == (128, 256)
    assert found.confirmation.lhs.value.rad() < found.judgement.lhs.value.rad()


def test_readings_say_what_they_are():
    assert Judgement(VIOLATED, 128).reading == "128 bits"
    assert Judgement(VIOLATED).reading == "exact numbers"
    assert RATIONAL.name == "rational"
    assert Ball(64).name == "ball(64)"


def test_balls_are_asked_first_unless_exact_sides_are_wanted():
    claim = about(lambda x: at_most(x, 2))
    assert certify(claim, X).judgement.bits == 128
    assert certify(claim, X, exactly=True).judgement.bits is None
