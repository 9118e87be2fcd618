"""Sharpness, necessity, strengthened variants and the sample: known answers, and each can come out the other way."""

import numpy as np
import pytest
from flint import fmpq

from resstream.arithmetic import exact, tanh
from resstream.audit import necessity, profile, restate, sample, sharpness
from resstream.claim import Instance, at_least, at_most, claim, equal, every, less_than
from resstream.claims import contraction
from resstream.claims import dobrushin as dobrushin_claims
from resstream.domains import Causal, Matrix, Positive, RowStochastic, Scalar, Scores
from resstream.falsify import falsify
from resstream.reference import diameter, dobrushin, row_range, softmax

OVER = {"A": RowStochastic("n"), "X": Matrix("n", "d")}
SIZES = {"n": range(1, 5), "d": range(1, 4)}
BUDGET = 8192


def bounded_by(factor):
    @claim("trial", over=OVER, sizes=SIZES)
    def trial(A, X):
        return at_most(diameter(A @ X), factor * dobrushin(A) * diameter(X))

    return trial


# ---- sharpness --------------------------------------------------------------


def test_an_attained_bound_is_found_attained_at_a_simple_instance():
    found = sharpness.sharpness(bounded_by(1), budget=BUDGET)
    assert (found.status, found.ratio, found.gap) == (sharpness.ATTAINED, 1.0, 0.0)
    assert sum(found.extremal.raw.sizes.values()) == 3  # two tokens in one dimension
    assert all(value in (0, 1) for x in found.extremal.raw.arrays.values() for value in x.flat)
    assert found.extremal.judgement.lhs == found.extremal.judgement.rhs != 0


@pytest.mark.parametrize("factor", [2, 10])
def test_a_loose_bound_is_found_loose_by_its_factor(factor):
    found = sharpness.sharpness(bounded_by(factor), budget=BUDGET)
    assert found.status == sharpness.LOOSE
    assert found.ratio == pytest.approx(
        1 / factor, rel=0.02, abs=0
    )  # the shrunk instance may give 1% of the ratio away
    assert f"by a factor of about {factor}" in str(found)


def test_a_bound_that_is_only_approached_says_in_which_direction():
    @claim("trial", over={"x": Scalar(0)})
    def trial(x):
        return at_most(x / (1 + x), 1)

    found = sharpness.sharpness(trial, budget=BUDGET)
    assert (found.status, found.directions) == (sharpness.NEARLY, ("x grows",))
    assert 0 < found.gap < 1e-3


def test_a_bound_by_zero_is_attained_at_zero():
    @claim("trial", over={"A": RowStochastic("n")})
    def trial(A):
        return at_least(dobrushin(A), 0)

    assert sharpness.sharpness(trial, budget=BUDGET).status == sharpness.AT_ZERO


def test_a_bound_by_zero_that_is_never_met_is_not_attained():
    @claim("trial", over={"A": RowStochastic("n")})
    def trial(A):
        return at_least(1 + dobrushin(A), 0)

    assert sharpness.sharpness(trial, budget=BUDGET).status == sharpness.LOOSE


def test_the_ratio_of_the_sides_is_that_of_the_margin():
    assert sharpness.ratio_of(fmpq(1, 3)) == fmpq(1, 2)  # 1 <= 2 has margin 1/3
    assert sharpness.ratio_of(0) == 1
    assert sharpness.ratio_of(1) == 0


def test_no_seconds_left_is_no_error():
    found = sharpness.sharpness(bounded_by(1), budget=BUDGET, left=lambda: 0.0)
    assert found.evaluations == 0


# ---- a sharper bound --------------------------------------------------------


def test_the_printed_bound_on_scores_is_found_not_sharp_and_the_sharper_one_named():
    statement = contraction.contraction_scores
    extremal = sharpness.sharpness(statement, budget=BUDGET).extremal.raw
    found = profile.profile(statement, 0, extremal=extremal, budget=BUDGET)
    assert found.sharper.form == "tanh(row_range(S)/2)"
    assert found.sharper.attained
    curve = dict(found.curves["row_range(S)"])
    assert len(curve) > 8
    for r, ratio in curve.items():
        assert ratio <= np.tanh(r / 2) / -np.expm1(-r) * (1 + 1e-6)  # float64 cancels in the printed 1 - exp(-r)


def test_a_bound_that_is_sharp_has_no_sharper_one():
    @claim("trial", over={"S": Scores("n", "m")})
    def trial(S):
        return at_most(dobrushin(softmax(S)), tanh(row_range(S) / 2))

    assert profile.profile(trial, 0, budget=BUDGET).sharper is None


def test_quantities_are_the_calls_of_the_conclusion():
    statement = contraction.contraction_scores
    S = np.array([[[3.0, 0.0], [0.0, 1.0]]])
    values = profile.Quantities(statement).of({"S": S})
    assert set(values) == {"dobrushin(softmax(S))", "row_range(S)"}
    assert values["row_range(S)"].item() == 3.0


# ---- necessity --------------------------------------------------------------


def attack(statement):
    return falsify(statement, BUDGET)


def short_rows(A):
    """tau <= 1/2."""
    return at_most(2 * dobrushin(A), 1)


def nothing(A):
    """Holds always."""
    return at_most(dobrushin(A), 1)


def test_a_needed_hypothesis_is_refuted_without_and_a_superfluous_one_survives():
    @claim("trial", over=OVER, sizes=SIZES, assuming=[short_rows, nothing])
    def trial(A, X):
        return at_most(2 * diameter(A @ X), diameter(X))

    found = {variant.change: variant.status for variant in necessity.necessity(trial, attack, attack)}
    assert found["without short_rows"] == necessity.REFUTED
    assert found["without nothing"] == necessity.SURVIVED
    # Of other matrices tau is not defined, so they do not meet short_rows: nothing is said of them.
    assert found["A in NonNegative(n, n) instead of RowStochastic(n)"] == necessity.SURVIVED


def different(A):
    """No two rows agree."""
    return less_than(0, dobrushin(A))


def test_what_a_search_does_not_meet_is_not_called_superfluous():
    @claim("trial", over={"A": RowStochastic("n")}, sizes={"n": range(3, 5)}, assuming=[different])
    def trial(A):
        return at_most(dobrushin(A), 1)

    first = next(iter(necessity.necessity(trial, attack, attack)))
    assert (first.change, first.status) == ("without different", necessity.UNREACHED)


def test_a_domain_that_keeps_zero_out_is_not_called_superfluous():
    @claim("trial", over={"x": Positive()})
    def trial(x):
        return equal(x / x, 1)

    (variant,) = necessity.necessity(trial, attack, attack)
    assert variant.status == necessity.MEANINGLESS


def test_what_a_narrow_domain_is_needed_for_is_found():
    def first_stays(A, X):
        return equal((A @ X)[..., :1, :], X[..., :1, :])

    statement = claim("trial", over={"A": Causal("n"), "X": Matrix("n", "d")})(first_stays)
    (variant,) = necessity.necessity(statement, attack, attack)
    assert (variant.change, variant.status) == ("A in RowStochastic(n) instead of Causal(n)", necessity.REFUTED)
    assert variant.counterexample is not None


def test_strengthened_variants_of_a_sharp_and_of_a_loose_bound():
    def outcomes(statement):
        return {variant.change: variant.status for variant in necessity.strengthened(statement, attack)}

    sharp, loose = outcomes(bounded_by(1)), outcomes(bounded_by(2))
    factors = [f"the right side times {factor}" for factor in ("0.99", "0.9", "0.5")]
    assert list(sharp) == [*factors, "strict inequality", "equality"]
    assert set(sharp.values()) == {necessity.REFUTED}
    assert [loose[name] for name in factors] == [necessity.SURVIVED] * 3
    assert loose["strict inequality"] == necessity.REFUTED  # 0 = 0


def test_an_equality_has_no_strengthened_variants():
    assert list(necessity.strengthened(dobrushin_claims.dobrushin_two_forms, attack)) == []


def test_one_relation_of_several_can_be_asked_about_alone():
    @claim("trial", over={"A": RowStochastic("n")})
    def trial(A):
        return every(at_least(dobrushin(A), 0), at_most(dobrushin(A), exact(1, 2)))

    assert [relation.shown for relation in restate.relations_of(trial)] == [">=", "<="]
    assert falsify(restate.only(trial, 0), BUDGET).status == "survived"
    assert falsify(restate.only(trial, 1), BUDGET).status == "refuted"


# ---- the sample -------------------------------------------------------------


def test_a_sample_counts_what_it_drew_and_measures_the_floats():
    found = sample.sample(bounded_by(1))
    assert found.instances == sample.BATCHES * sample.BATCH
    assert sum(found.counts) + found.zeros == found.instances
    assert found.honesty.entries > 0
    assert 0 <= found.honesty.median <= found.honesty.largest


def test_a_float_that_cancels_is_measured_in_ulps():
    @claim("trial", over={"x": Scalar()})
    def trial(x):
        return at_most((x + 2**60) - 2**60, x)

    raw = Instance({}, {}, {"x": np.array([[1.0]])})
    (distance,) = sample._distances(trial, raw)
    assert distance == 2.0**52  # all of the side 1 is lost, in units of 2^-52


def test_a_float_beside_an_exact_zero_is_told_apart():
    @claim("trial", over={"x": Scalar()})
    def trial(x):
        return at_most((x / 49) * 49 - x, 0)

    raw = Instance({}, {}, {"x": np.array([[1.0]])})
    assert list(sample._distances(trial, raw)) == [float("inf")]  # 0.9999999999999999 - 1 against 0
