"""What an audit prints, read as a hostile referee reads it: each sentence says what it rests on, and no more."""

import dataclasses
import json

import jsonschema
import numpy as np
import pytest

from resstream import audit as audits
from resstream.arithmetic import absolute, amax, exact, exp, sqrt, square, total
from resstream.audit import failures, sharpness, thresholds, vacuity, worst
from resstream.audit import run as runs
from resstream.audit.attack import Attack, certified
from resstream.audit.report import data, numbers, referee, words
from resstream.audit.result import FAILS, LOOSE, SURVIVES, UNKNOWN, UNSURE, Part, Sharpness
from resstream.audit.witnesses import Witnesses
from resstream.claim import Instance, at_least, at_most, claim, equal, less_than
from resstream.domains import NonZero, Orthogonal, Scalar, Vector, Whole
from resstream.falsify import falsify
from resstream.falsify.memory import Memory
from resstream.falsify.verdict import TIME_IS_UP
from resstream.reference import L1, row_norms


def audit(statement, **options):
    return audits.audit(statement, budget=4096, seconds=2400, quick=True, **options)


def lines(found):
    return [sentence.text for sentence in words.sentences(found)]


# ---- the main search ----------------------------------------------------------


def test_a_search_cut_short_is_no_survival(monkeypatch):
    @claim("trial", over={"x": Scalar(0, 1)})
    def trial(x):
        return at_most(x * (1 - x), 1)

    def broken_off(*arguments, **options):
        found = falsify(*arguments, **options)
        half = dataclasses.replace(found.tally, evaluations=found.tally.evaluations // 2)
        return dataclasses.replace(found, tally=half, notes=(TIME_IS_UP, "3 of 9 chunks were not done"))

    monkeypatch.setattr(runs, "falsify", broken_off)
    found = audit(trial)
    assert found.status == "cut short"
    assert not found.as_expected
    assert words.headline(found) == "trial: cut short, with no counterexample in 2,048 of 4,096 evaluations"
    assert referee.opening(found)[0].startswith("No counterexample, but the search was cut short: ")
    said = json.loads(json.dumps(data.to_json(found)))
    assert (said["status"], said["budget"], said["evaluations"]) == ("cut short", 4096, 2048)
    jsonschema.Draft202012Validator(data.schema()).validate(said)


def test_a_strict_claim_that_fails_by_a_tie_says_so_and_that_there_was_nothing_to_restrict():
    @claim("trial", over={"x": Scalar(0, 1)})
    def trial(x):
        """False at 1/2."""
        return less_than(4 * x * (1 - x), 1)

    found = audit(trial)
    first, second = referee.opening(found)[:2]
    assert first == "False: a counterexample is certified; the sides are equal there."
    assert second == "There is no restriction to try: one size, one kind of argument."


def test_a_claim_without_sizes_whose_bound_is_attained_is_reported():
    @claim("trial", over={"x": Scalar(0, 1)})
    def trial(x):
        """Equality at 0."""
        return at_most(1 + x, exp(x))

    found = audit(trial)
    assert "attained: the sides are equal at an instance, where they are not zero" in lines(found)
    assert "Needed" not in "".join(referee.opening(found)) or "instead of" not in referee.opening(found)[-1]


# ---- equalities among the hypotheses --------------------------------------------


def unit(x):
    """|x| = 1."""
    return equal(total(square(x)), 1)


def long(x):
    """|x| >= 1."""
    return at_most(1, total(square(x)))


@pytest.mark.parametrize(("hypothesis", "thin"), [(unit, True), (long, False)])
def test_hypotheses_are_thin_where_no_instance_meets_them_after_a_nudge(hypothesis, thin):
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(2, 4)}, assuming=[hypothesis])
    def trial(x):
        return at_most(0, total(square(x)))

    assert vacuity.is_thin(trial, 0) is thin


def test_where_only_special_instances_meet_an_equality_nothing_is_said_to_survive():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(2, 4)}, assuming=[unit])
    def trial(x):
        """False at (3/5, 4/5), which no search here meets; true of the axes."""
        return at_most(1, amax(absolute(x)))

    found = failures.failure_map(trial, Attack(0), Witnesses(), 2048)
    assert SURVIVES not in {cell.outcome for cell in found.cells}
    assert {cell.evidence for cell in found.cells if cell.outcome == UNKNOWN} == {failures.SPECIAL}
    assert not any(rescue.label.startswith("d") for rescue in found.rescue)


# ---- sharpness -------------------------------------------------------------------


def test_a_hill_that_one_climb_of_many_ends_on_is_not_settled():
    assert sharpness._is_settled([0.1, 0.1, 0.3], 0.1)
    assert not sharpness._is_settled([0.1, 0.3, 0.3], 0.1)


def test_a_bound_attained_on_a_narrow_hill_is_not_called_loose():
    @claim("trial", over={"Q": Orthogonal("d")}, sizes={"d": range(8, 9)})
    def trial(Q):
        """Attained at d = 8, by a Hadamard matrix; most climbs end below."""
        return at_most(total(total(absolute(Q)), -2), 8 * sqrt(8 + 0 * Q[..., :1, :1]))

    found, refuting, _ = sharpness.sharpness(trial, Attack(0), 4096)
    assert found.status != LOOSE
    assert not refuting


def test_a_largest_ratio_is_put_to_a_search_of_its_own_which_is_counted():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 4)})
    def trial(x):
        return at_most(row_norms(x, L1), 2 * row_norms(x))

    found, _, _ = sharpness.sharpness(trial, Attack(0), 2048)
    assert found.searched >= 2 * 2048
    (law,) = found.laws
    assert law.closed_form in ("(1/2)*(sqrt(d))", "sqrt(d)/2")
    assert law.evaluations > 0
    denied = dataclasses.replace(law, closed_form="(49/100)*sqrt(d)")
    assert list(sharpness._borne_out(trial, Attack(0), [denied], 2048)) == []


# ---- sizes -----------------------------------------------------------------------


def test_the_first_size_at_which_a_claim_fails_beyond_the_stated_ones_is_shown_simply():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 5)})
    def trial(x):
        """False for d >= 7."""
        return at_most(2 * row_norms(x, L1), 5 * row_norms(x))

    (found,) = thresholds.beyond(trial, Attack(0), 2048)
    assert (found.holds_to, found.fails_from) == (6, 7)
    assert words.fails_from(found).endswith("no counterexample was found for d <= 6 (2,048 evaluations there)")
    assert len(numbers.instance(found.counterexample)) < 60


def test_a_number_that_is_not_shown_whole_says_so():
    assert numbers._entry("11529215046068469761") == "~1.15292e+19"
    assert numbers._entry("100000000000000/3") == "~3.33333e+13"
    assert numbers._entry("1/3") == "1/3"


def test_what_is_needed_is_named_and_not_what_was_tried():
    assert referee._needed("without wide") == "wide"
    wider = "x in NonNegative(1, 1) instead of Positive()"
    assert referee._needed(wider) == "x in Positive() (NonNegative(1, 1) is not enough)"


def test_what_is_not_needed_is_named_as_what_stood_there():
    assert referee._dropped("without shorter") == "shorter"
    wider = "x in Scalar() instead of Scalar(low=0)"
    assert referee._dropped(wider) == "x in Scalar(low=0) (in place of Scalar())"


def test_a_rescue_says_how_long_it_was_searched_and_where_it_is_proved():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 4)})
    def trial(x):
        """False for d >= 2."""
        return at_most(row_norms(x, L1), row_norms(x))

    found = audit(trial)
    assert FAILS in {cell.outcome for cell in found.failures.cells}
    rescue = next(rescue for rescue in found.failures.rescue if rescue.label == "d = 1")
    assert rescue.evaluations >= 4096
    assert rescue.proved == ("d = 1",)
    text = f"d = 1 ({rescue.evaluations:,} evaluations; proved at d = 1)"
    assert any(line.endswith(text) for line in lines(found))


def test_a_counterexample_of_an_earlier_run_joins_the_pool(tmp_path):
    @claim("trial.remembered", over={"k": Whole(0, 10**9)})
    def trial(k):
        """False at one number alone, which no search meets."""
        return less_than(0, (k - 123449929) * (k - 123449929))

    raw = Instance({}, {}, {"k": np.array([[123449929]], dtype=object)})
    assert Memory(tmp_path).remember(trial, raw)
    found = audits.audit(trial, budget=1024, seconds=2400, quick=True, memory=tmp_path)
    assert found.status == "refuted"
    assert found.verdict.counterexample.engine == "memory"
    assert found.witnesses >= 1


def test_sizes_at_which_alone_a_bound_is_met_are_named():
    table = {1: 1.0, 2: 1.0, 3: 0.8889, 4: 1.0, 5: 0.96}
    part = Part("lhs <= rhs", Sharpness("attained", 1.0, by_size={"n": table, "d": {2: 1.0, 3: 1.0}}))
    assert list(words.regimes(part)) == ["the ratio comes to 1 at n = 2, 4 alone; elsewhere at most 0.96 was found"]


def test_a_bound_that_was_searched_less_than_the_claim_is_not_called_loose(monkeypatch):
    @claim("trial", over={"x": Scalar(0, 1)})
    def trial(x):
        """Loose by a factor of four."""
        return at_most(x * (1 - x), 1)

    def hardly(*arguments, **options):
        found, refuting, telling = measured(*arguments, **options)
        return dataclasses.replace(found, evaluations=100), refuting, telling

    measured = sharpness.sharpness
    assert audit(trial).parts[0].sharpness.status == LOOSE
    monkeypatch.setattr(sharpness, "sharpness", hardly)
    found = audit(trial).parts[0]
    assert found.sharpness.status == UNSURE
    assert words.sharp(found)[0].endswith("not known to be sharp")


def near(u, v):
    """The cosine of u and v is at least 7/10."""
    return at_least(total(u * v), exact(7, 10) * row_norms(u) * row_norms(v))


def near_too(v, w):
    """The cosine of v and w is at least 7/10."""
    return at_least(total(v * w), exact(7, 10) * row_norms(v) * row_norms(w))


def test_a_violation_in_a_narrow_valley_is_climbed_to():
    over = {"u": NonZero(1, "d"), "v": NonZero(1, "d"), "w": NonZero(1, "d")}

    @claim("trial", over=over, sizes={"d": range(1, 4)}, assuming=[near, near_too])
    def trial(u, w):
        """False for d >= 2, at cosines up to 1/sqrt 2 only."""
        return at_least(total(u * w), 0)

    start = falsify(trial, 2048)
    assert start.status == "survived"
    certificate = worst.uphill(trial, Attack(0), start.tally.closest)
    assert certificate is not None
    assert certificate.raw.sizes["d"] >= 2


def test_a_counterexample_is_continued_to_larger_sizes_before_they_survive():
    over = {"u": NonZero(1, "d"), "v": NonZero(1, "d"), "w": NonZero(1, "d")}

    @claim("trial", over=over, sizes={"d": range(1, 6)}, assuming=[near, near_too])
    def trial(u, w):
        """False for d >= 2, where a short search finds little."""
        return at_least(total(u * w), 0)

    pool = Witnesses()
    raw = {"u": np.array([[-1, 10**6]]), "v": np.array([[1, 1]]), "w": np.array([[1, 0]])}
    certificate = certified(trial, Instance({"d": 2}, {}, raw))
    assert certificate is not None
    pool.add(certificate)
    found = failures.failure_map(trial, Attack(0), pool, 1024)
    assert [cell.outcome for cell in found.cells] == [SURVIVES, FAILS, FAILS, FAILS, FAILS]
    assert len(pool.found) >= 4
