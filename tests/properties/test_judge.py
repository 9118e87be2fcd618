"""The judge decides what rounding cannot, says when it cannot, and never convicts a true claim."""

from fractions import Fraction

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, RATIONAL, Ball, exact, exp, log, sqrt, tanh, total_entry
from resstream.claim import Claim, Instance, at_least, at_most, equal, every, less_than, more_than
from resstream.domains import Matrix, Scalar
from resstream.errors import ClaimFault
from resstream.falsify import judge as judging
from resstream.falsify.judge import (
    HOLDS,
    OUTSIDE,
    TIED,
    UNDECIDED,
    UNDEFINED,
    VIOLATED,
    Judgement,
    judge,
    judge_exactly,
    read,
)

X = Instance({}, {}, {"x": np.array([[3.0]])})


def about(conclusion, *assuming):
    return Claim("trial", {"x": Scalar()}, conclusion, assuming)


def nonnegative(x):
    return at_least(x, 0)


def negative(x):
    return less_than(x, 0)


TINY = Fraction(1, 2**90)

CASES = {
    "plainly true": (lambda x: at_most(x, 4), HOLDS),
    "plainly false": (lambda x: at_most(x, 2), VIOLATED),
    "a tie is no violation": (lambda x: at_most(x, 3), HOLDS),
    "a tie violates a strict claim": (lambda x: less_than(x, 3), VIOLATED),
    "a tie violates a strict claim stated the other way": (lambda x: more_than(x, 3), VIOLATED),
    "below float resolution, false": (lambda x: at_most(x + exact(TINY), 3), VIOLATED),
    "below float resolution, true": (lambda x: at_most(x - exact(TINY), 3), HOLDS),
    "an equality of rationals": (lambda x: equal(x / 7 * 7, 3), HOLDS),
    "an equality off by less than an ulp": (lambda x: equal(x + exact(TINY), 3), VIOLATED),
    "an irrational equality": (lambda x: equal(sqrt(2 * x) * sqrt(3 * x), sqrt(6 * x * x)), TIED),
    "an irrational inequality with a tie": (lambda x: at_most(sqrt(2 * x) * sqrt(3 * x), sqrt(6 * x * x)), TIED),
    "tanh at its closed form": (lambda x: equal(tanh(x), (exp(2 * x) - 1) / (exp(2 * x) + 1)), TIED),
    "all of several": (lambda x: every(at_most(x, 4), at_least(x, 2)), HOLDS),
    "one of several fails": (lambda x: every(at_most(x, 4), at_least(x, 4)), VIOLATED),
}


@pytest.mark.parametrize("case", CASES)
def test_the_judge_decides(case):
    conclusion, outcome = CASES[case]
    assert judge(about(conclusion), X).outcome == outcome


def test_a_wrong_hypothesis_puts_an_instance_outside():
    assert judge(about(lambda x: at_most(x, 2), negative), X).outcome == OUTSIDE
    assert judge(about(lambda x: at_most(x, 2), nonnegative), X).outcome == VIOLATED


def test_a_violation_with_an_uncertain_hypothesis_convicts_nobody():
    def balanced(x):
        return equal(log(2 * x), log(2 + 0 * x) + log(x))  # true, and no number system here can prove it

    assert judge(about(lambda x: at_most(x, 2), balanced), X).outcome == UNDECIDED


def test_a_judgement_carries_both_sides_as_stated_and_their_precision():
    judgement = judge(about(lambda x: at_least(x * x, 10)), X)
    assert (judgement.lhs, judgement.kind, judgement.rhs) == (9, ">=", 10)
    assert judgement.bits == 128
    assert judgement.margin == pytest.approx(-1 / 19, rel=1e-15)
    assert judge(about(lambda x: less_than(x / 7, exact(3, 7))), X).bits is None  # a tie, told apart in rationals


def test_precision_is_doubled_until_the_sides_separate():
    def barely(x):
        return at_most(exp(x) + exact(Fraction(1, 2**400)), exp(x))

    judgement = judge(about(barely), X)
    assert judgement.outcome == VIOLATED
    assert judgement.bits == 1024


def test_float_rounding_is_acquitted():
    """0.1 + 0.2 > 0.3 in floats; the raw numbers are what they are, and the judge adds them exactly."""
    raw = Instance({}, {}, {"x": np.array([[0.1, 0.2, -0.3]])})
    claim = Claim("trial", {"x": Matrix(1, 3)}, lambda x: at_most(total_entry(x), 0))
    assert claim.margin(raw.batch())[1].relative[0] < 0
    exactly = Fraction(0.1) + Fraction(0.2) - Fraction(0.3)
    assert exactly > 0
    assert judge(claim, raw).outcome == VIOLATED  # these floats do add up to more than zero
    tenths = Instance({}, {}, {"x": np.array([[Fraction(1, 10), Fraction(2, 10), Fraction(-3, 10)]], dtype=object)})
    assert FLOAT64.array(tenths.arrays["x"]).sum() > 0
    assert judge(claim, tenths).outcome == HOLDS  # and these rationals do not


def test_an_error_of_the_claim_is_passed_on():
    with pytest.raises(ClaimFault, match=r"line \d+ of test_judge.py raised AttributeError"):
        judge(about(lambda x: at_most(x.nothing, 1)), X)


def test_a_quotient_by_zero_is_undefined():
    judgement = judge(about(lambda x: at_most(1 / (x - x), 1)), X)
    assert judgement.outcome == UNDEFINED
    assert "division by zero in line" in judgement.reason


def test_a_conclusion_without_meaning_where_a_hypothesis_is_uncertain_is_no_error():
    """Outside its hypotheses a conclusion may leave a domain, and whether this is outside is not known."""

    def balanced(x):
        return equal(log(2 * x), log(2 + 0 * x) + log(x))

    def conclusion(x):
        return at_most(sqrt(x - 5), 1)

    assert judge(about(conclusion, balanced), X).outcome == UNDECIDED
    judgement = judge(about(conclusion), X)
    assert judgement.outcome == UNDEFINED
    assert "square root of the negative number" in judgement.reason


# ---- which readings are asked, and which of them counts


SYSTEMS = ["ball(128)", "rational", "ball(256)", "ball(1024)", "ball(4096)", "exponential sums"]


def scripted(monkeypatch, *outcomes):
    """What the judge makes of readings with these outcomes, and which of them it asked for."""
    asked = []

    def answer(claim, raw, system):  # noqa: ARG001
        asked.append(system.name)
        bits = system.bits if isinstance(system, Ball) else None
        return Judgement(outcomes[len(asked) - 1], bits, reason=f"reading {len(asked)}")

    monkeypatch.setattr(judging, "read", answer)
    verdict = judge(about(lambda x: at_most(x, 2)), X)
    tied_early = TIED in outcomes[: min(len(asked), 2)]
    systems = [name for name in SYSTEMS if not (tied_early and name == "ball(256)")]
    assert asked == systems[: len(asked)]
    return verdict.outcome, verdict.bits, len(asked), verdict.reason


def test_the_readings_in_the_order_asked(monkeypatch):
    u, t = UNDECIDED, TIED
    for outcome in (HOLDS, VIOLATED, OUTSIDE, UNDEFINED):
        assert scripted(monkeypatch, outcome) == (outcome, 128, 1, "reading 1")
        assert scripted(monkeypatch, u, outcome) == (outcome, None, 2, "reading 2")
        assert scripted(monkeypatch, u, u, outcome) == (outcome, 256, 3, "reading 3")
        assert scripted(monkeypatch, t, u, outcome) == (outcome, 1024, 3, "reading 3")
        assert scripted(monkeypatch, u, u, u, u, outcome) == (outcome, 4096, 5, "reading 5")
    for outcome in (HOLDS, VIOLATED, OUTSIDE, UNDEFINED):
        assert scripted(monkeypatch, u, u, u, u, u, outcome) == (outcome, None, 6, "reading 6")
    assert scripted(monkeypatch, u, u, u, u, u, u) == (UNDECIDED, 4096, 6, "reading 5")
    assert scripted(monkeypatch, t, u, t) == (TIED, 1024, 3, "reading 3")  # more bits never prove an equality
    assert scripted(monkeypatch, u, t, t) == (TIED, 1024, 3, "reading 3")
    assert scripted(monkeypatch, u, u, t, t) == (TIED, 1024, 4, "reading 4")
    assert scripted(monkeypatch, u, u, t, u, u) == (TIED, 256, 5, "reading 3")
    assert scripted(monkeypatch, u, u, u, u, t) == (TIED, 4096, 5, "reading 5")
    assert scripted(monkeypatch, t, t, u, u) == (TIED, None, 4, "reading 2")

    def last(_claim, _raw, system):
        return Judgement(u, getattr(system, "bits", None), reason="last")

    monkeypatch.setattr(judging, "read", last)
    monkeypatch.setattr(judging, "RATIONAL", Ball(64))
    assert judge(about(lambda x: at_most(x, 2)), X, (128,)).bits == 64


@pytest.mark.parametrize("case", CASES)
def test_what_looks_tied_is_judged_the_same(case):
    claim = about(CASES[case][0])
    usual, tied = judge(claim, X), judge(claim, X, looks_tied=True)
    assert usual.outcome == tied.outcome == CASES[case][1]
    if usual.outcome == VIOLATED:
        assert (usual.bits, str(usual.lhs), str(usual.rhs)) == (tied.bits, str(tied.lhs), str(tied.rhs))
    assert judge(about(CASES[case][0], negative), X, looks_tied=True).outcome == OUTSIDE


def test_where_sides_look_tied_those_are_asked_first_that_have_the_last_word(monkeypatch):
    asked = []

    def answers(*outcomes):
        asked.clear()
        found = iter(outcomes)

        def answer(_claim, _raw, system):
            asked.append(system.name)
            return Judgement(next(found), getattr(system, "bits", None))

        monkeypatch.setattr(judging, "read", answer)
        return judge(about(lambda x: at_most(x, 2)), X, looks_tied=True).outcome

    last = ["rational", "ball(1024)"]
    for outcome in (HOLDS, OUTSIDE):
        assert (answers(outcome), asked) == (outcome, last[:1])
    for outcome in (HOLDS, OUTSIDE, TIED):
        assert (answers(UNDECIDED, outcome), asked) == (outcome, last)
    # A violation, and what has no value, are read in the usual order, by which they are reported.
    for outcome in (VIOLATED, UNDEFINED):
        assert (answers(outcome, outcome), asked) == (outcome, [last[0], "ball(128)"])
        assert (answers(UNDECIDED, outcome, outcome), asked) == (outcome, [*last, "ball(128)"])
    assert (answers(UNDECIDED, UNDECIDED, *[UNDECIDED] * 5, HOLDS), asked) == (HOLDS, [*last, *SYSTEMS])
    monkeypatch.setattr(judging, "read", lambda _claim, _raw, system: Judgement(HOLDS, getattr(system, "bits", None)))
    assert judge(about(lambda x: at_most(x, 2)), X, (128, 512), looks_tied=True).bits == 128


def test_without_a_ball_the_rational_reading_alone_says_why_it_is_undecided(monkeypatch):
    monkeypatch.setattr(judging, "read", lambda *_: Judgement(UNDECIDED))
    assert judge(about(lambda x: at_most(x, 2)), X, ()).reason == "no precision was tried"


def test_rationals_are_asked_first_for_exact_sides_and_count_where_they_violate():
    assert judge_exactly(about(lambda x: at_most(x, 2)), X).bits is None
    assert judge_exactly(about(lambda x: at_most(x, 4)), X).bits == 128
    assert judge_exactly(about(lambda x: at_most(exp(x), 2)), X).bits == 128


def test_how_readings_are_called():
    assert (Judgement(HOLDS).reading, Judgement(HOLDS, 256).reading) == ("exact numbers", "256 bits")
    shown = repr(judge(about(lambda x: at_most(x, 2)), X))
    assert "sides" not in shown
    assert "beside" not in shown


def test_a_claim_says_nothing_of_sizes_that_it_does_not_speak_of():
    stated = Claim("trial", {"x": Matrix("n", "d")}, lambda x: at_most(x, 2), where="n >= d + 1")
    for rows, outcome in ((1, OUTSIDE), (2, VIOLATED)):
        found = judge(stated, Instance({"n": rows, "d": 1}, {}, {"x": np.full((rows, 1), 3.0)}))
        assert (found.outcome, found.bits) == (outcome, 128)
    assert read(stated, Instance({"n": 1, "d": 1}, {}, {"x": np.ones((1, 1))}), RATIONAL).reason == (
        "the claim speaks of sizes with n >= d + 1"
    )


def test_a_tie_is_left_so_at_1024_bits_and_not_below(monkeypatch):
    monkeypatch.setattr(judging, "read", lambda _claim, _raw, system: Judgement(TIED, getattr(system, "bits", None)))
    claim = about(lambda x: at_most(x, 2))
    assert judge(claim, X, (1024, 2048)).bits == 1024
    assert judge(claim, X, (1023, 2048)).bits == 2048
    assert judge(claim, X, (128, 256, 512)).bits == 512
    assert judge(claim, X, (128,)).bits is None


def test_what_no_enclosure_bounds_counts_as_no_value_at_the_last_precision():
    vast = about(lambda x: at_most(exp(exp(exp(exp(exp(x))))), 1))
    for bits, outcome in ((128, UNDECIDED), (256, UNDECIDED), (1024, UNDECIDED), (4096, UNDEFINED)):
        found = read(vast, X, Ball(bits))
        assert (found.outcome, found.bits) == (outcome, bits)
        assert found.reason.startswith("overflow in line")
    assert read(about(lambda x: at_most(exp(x), 1)), X, RATIONAL).reason == "exp(3) is not rational"


def test_a_hypothesis_or_a_conclusion_that_asks_for_a_value_that_is_not_there():
    def asks(x):
        return at_most(1, 2) if sqrt(2 - x)[0, 0] > 1 else at_most(2, 1)

    outside = judge(about(lambda x: at_most(x, 2), asks), X)
    assert outside.outcome == OUTSIDE
    assert outside.reason.startswith("square root of the negative number -1.00000 in line")
    undefined = judge(about(asks), X)
    assert undefined.outcome == UNDEFINED
    assert undefined.reason.startswith("square root of the negative number -1.00000 in line")


def test_why_a_hypothesis_decides_nothing_is_said():
    def balanced(x):
        return equal(log(2 * x), log(2 + 0 * x) + log(x))

    def smaller(x):
        return less_than(log(2 * x), log(2 + 0 * x) + log(x))

    for unsure in (balanced, smaller):
        for conclusion in (lambda x: at_most(x, 2), lambda x: at_most(1 / (x - 3), 2)):
            found = read(about(conclusion, unsure), X, Ball(128))
            assert found.outcome == UNDECIDED
            assert found.reason == "a hypothesis could not be decided: the enclosures overlap"
        either_way = read(about(lambda x: at_most(x, 4), unsure), X, Ball(128))
        assert (either_way.outcome, either_way.met) == (HOLDS, False)
    assert read(about(lambda x: at_most(x, 4), nonnegative), X, Ball(128)).met
    assert Judgement(HOLDS).met
    outside = read(about(lambda x: at_most(x, 2), negative), X, RATIONAL)
    assert (outside.outcome, outside.reason, outside.lhs, outside.kind, outside.rhs) == (OUTSIDE, "", 3, "<", 0)


@pytest.mark.parametrize(
    ("conclusion", "both"),
    [
        (lambda x: less_than(x - x, 0 * x), True),
        (lambda x: at_most(x, 2), False),
        (lambda x: at_most(sqrt(2 * x) * sqrt(3 * x) - sqrt(6 * x * x), -exact(TINY)), False),
        (lambda x: equal(0 * x, sqrt(2 * x) * sqrt(3 * x) - sqrt(6 * x * x)), False),  # zero, as no ball can tell
    ],
)
def test_both_sides_are_zero_only_where_that_is_known(conclusion, both):
    assert judge(about(conclusion), X).at_zero is both
