"""Sharpness, necessity, strengthened variants and the sample: known answers, and each can come out the other way."""

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
from flint import fmpq

from resstream.arithmetic import absolute, amax, exact, square, tanh, total
from resstream.audit import audit, families, forms, necessity, profile, restate, sample, sharpness, thresholds
from resstream.audit.attack import Attack, certified
from resstream.audit.result import (
    AT_ZERO,
    ATTAINED,
    LOOSE,
    MEANINGLESS,
    NEARLY,
    NEEDED,
    NOT_KNOWN,
    REFUTED,
    SUPERFLUOUS,
    SURVIVED,
    UNREACHED,
    Law,
    Part,
)
from resstream.claim import Instance, at_least, at_most, claim, equal, every, less_than
from resstream.claims import contraction
from resstream.claims import dobrushin as dobrushin_claims
from resstream.domains import (
    Causal,
    Matrix,
    Orthogonal,
    Positive,
    RowStochastic,
    Scalar,
    Scores,
    Signs,
    Vector,
    expectation,
)
from resstream.falsify import falsify
from resstream.reference import L1, diameter, dobrushin, row_norms, row_range, softmax

OVER = {"A": RowStochastic("n"), "X": Matrix("n", "d")}
SIZES = {"n": range(1, 5), "d": range(1, 4)}
BUDGET = 8192


def bounded_by(factor):
    @claim("trial", over=OVER, sizes=SIZES)
    def trial(A, X):
        return at_most(diameter(A @ X), factor * dobrushin(A) * diameter(X))

    return trial


def attack():
    return Attack(0)


def how_sharp(statement):
    return sharpness.sharpness(statement, attack(), BUDGET)[0]


# ---- sharpness --------------------------------------------------------------


def test_an_attained_bound_is_found_attained_at_sizes_beyond_one():
    found = how_sharp(bounded_by(1))
    assert (found.status, found.ratio, found.gap) == (ATTAINED, 1.0, 0.0)
    assert not found.trivial_only
    assert found.shown.judgement.lhs == found.shown.judgement.rhs != 0


def test_where_equality_is_attained_nothing_is_climbed():
    def summed(factor):
        @claim("trial", over={"x": Vector("d")}, sizes={"d": range(2, 6)})
        def trial(x):
            return at_most(absolute(total(x)), factor * row_norms(x, L1))

        return trial

    attained, missed = how_sharp(summed(1)), how_sharp(summed(2))
    assert attained.by_size == {"d": dict.fromkeys(range(2, 6), 1.0)}
    assert attained.evaluations <= BUDGET < missed.evaluations


def test_a_loose_bound_is_found_loose_by_its_factor_and_that_is_named():
    found = how_sharp(bounded_by(10))
    assert found.status == LOOSE
    assert found.ratio == pytest.approx(0.1, rel=1e-9)
    assert found.constant.closed_form == "1/10"


def test_a_bound_that_is_only_approached_says_in_which_direction_and_how_the_gap_closes():
    @claim("trial", over={"x": Scalar(0)})
    def trial(x):
        return at_most(x / (1 + x), 1)

    found = how_sharp(trial)
    assert (found.status, found.directions) == (NEARLY, ("x grows",))
    assert found.family.limit == 1
    assert all(later < earlier for earlier, later in zip(found.family.gaps, found.family.gaps[1:], strict=False))


@pytest.mark.parametrize("relation", [at_most, less_than])
@pytest.mark.parametrize("far", [7, 60, 400, 4000])
def test_what_an_exponential_leaves_is_no_equality(relation, far):
    trial = claim("trial", over={"S": Scores(1, 2)})(lambda S: relation(amax(softmax(S)), 1))
    measured = families.measure(trial, Instance({}, {}, {"S": np.array([[float(far), 0.0]])}))
    assert measured.gap > 0
    assert measured.gap < 1e-2


@pytest.mark.parametrize("relation", [at_most, less_than])
def test_a_bound_that_is_approached_faster_than_floats_tell_is_not_called_attained(relation):
    trial = claim("trial", over={"x": Scalar()})(lambda x: relation(tanh(x), 1))
    found = how_sharp(trial)
    assert (found.status, found.directions) == (NEARLY, ("x grows",))
    assert all(0 < gap < 1e-2 for gap in found.family.gaps)


def test_a_bound_loose_by_a_little_is_not_called_approached():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(2, 5)})
    def trial(x):
        return at_most(10_000 * square(row_norms(x, L1)), 10_005 * x.shape[-1] * total(square(x)))

    found = how_sharp(trial)
    assert found.status == LOOSE
    assert found.ratio <= 10_000 / 10_005
    assert found.ratio == pytest.approx(10_000 / 10_005, rel=1e-9)


def test_a_bound_that_is_sharp_at_size_one_only_says_so_and_has_a_law():
    @claim("trial", over={"x": Vector("d")})
    def trial(x):
        return at_most(square(row_norms(x, L1)), x.shape[-1] ** 2 * total(square(x)))

    found = how_sharp(trial)
    assert found.trivial_only
    assert found.nontrivial == pytest.approx(1 / 2, rel=1e-9)
    assert {law.size: law.closed_form for law in found.laws} == {"d": "1/d"}


def test_negative_sides_have_a_ratio_too():
    @claim("trial", over={"x": Vector("d")})
    def trial(x):
        return at_most(-2 * total(square(x)), -total(square(x)))

    found = how_sharp(trial)
    assert found.status == LOOSE
    assert found.ratio == pytest.approx(1 / 2, rel=1e-12)


def test_a_float_that_lies_is_no_ratio():
    """At (2^52 + 1, 2^52, 2^52) float64 has a ratio above the truth; what is reported is certified."""

    @claim("trial", over={"x": Scalar()})
    def trial(x):
        return at_most(2 * square((x + 2**52) - 2**52), 3 * square(x))

    found = how_sharp(trial)
    assert found.ratio <= 2 / 3
    assert found.ratio == pytest.approx(2 / 3, rel=1e-12)


@pytest.mark.parametrize(("shift", "status"), [(0, AT_ZERO), (1, LOOSE)])
def test_a_bound_by_zero_has_no_ratio(shift, status):
    @claim("trial", over={"A": RowStochastic("n")})
    def trial(A):
        return at_least(shift + dobrushin(A), 0)

    found = how_sharp(trial)
    assert (found.status, bool(found.one_sided)) == (status, True)


def test_a_counterexample_met_on_the_way_is_handed_on():
    @claim("trial", over={"A": RowStochastic("n")}, sizes={"n": range(2, 4)})
    def trial(A):
        return at_most(2 * dobrushin(A), 1)

    assert sharpness.sharpness(trial, attack(), BUDGET)[1]


def test_the_ratio_of_the_sides_is_that_of_the_margin():
    assert sharpness.ratio_of(fmpq(1, 3)) == fmpq(1, 2)  # 1 <= 2 has margin 1/3
    assert sharpness.ratio_of(0) == 1
    assert sharpness.ratio_of(1) == 0


def test_no_seconds_left_is_no_error():
    found, _, _ = sharpness.sharpness(bounded_by(1), Attack(0, lambda: 0.0), BUDGET)
    assert found.evaluations == 0


# ---- closed forms -----------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["2/3", "1/sqrt(2)", "sqrt(3)/2", "2*sin(1/2)", "exp(3)/3", "1/exp(1)", "log(2)", "pi/4", "(1 + sqrt(5))/2"]
)
def test_numbers_are_named(text):
    name = forms.name_of(forms.value(text))
    assert forms.value(name) == pytest.approx(forms.value(text), rel=1e-12)


def test_a_number_that_is_near_to_none_is_not_named():
    assert forms.name_of(0.83742910573) == ""


@pytest.mark.parametrize(
    "text",
    [
        "(n-1)/n",
        "sqrt((n-1)/n)",
        "1/sqrt(n)",
        "n**(-0.5*1)",
        "2**((1-n)/2)",
        "exp(1)*(1-1/n)**n",
        "lambertw((n-1)/e)/log(n)",
    ],
)
def test_laws_in_a_size_are_named(text):
    table = {n: forms.value(text, n=n) for n in range(2, 7)}
    name, matched = forms.law_of(table, "n")
    assert matched == 5
    assert all(forms.value(name, n=n) == pytest.approx(value, rel=1e-6) for n, value in table.items())


def test_a_table_that_follows_no_law_has_none():
    assert forms.law_of({2: 0.5, 3: 0.61, 4: 0.733, 5: 0.801}, "n") is None
    assert forms.law_of({2: 0.5, 3: 0.5, 4: 0.5, 5: 0.5}, "n") is None


# ---- families ---------------------------------------------------------------


def test_a_scale_that_means_nothing_is_no_direction():
    @claim("trial", over={"A": RowStochastic("n"), "x": Scalar(0)}, sizes={"n": range(2, 3)})
    def trial(A, x):
        return at_most(dobrushin(A) * x, 1 + x)

    raw = Instance({"n": 2}, {}, {"A": np.eye(2), "x": np.ones((1, 1))})
    family = families.best_family(trial, raw, lambda: 60.0)
    assert (family.variables, family.limit) == (("x",), 1.0)


# ---- thresholds -------------------------------------------------------------


def test_a_threshold_in_a_quantity_is_bracketed_and_named():
    def at_one(x):
        return total(square(x))

    @claim("trial", over={"x": Vector(2)})
    def trial(x):
        return at_least(square(total(square(x))), 2 * total(square(x)) - exact(1, 4))

    raw = Instance({}, {}, {"x": np.array([[0.7, 0.0]])})
    assert certified(trial, raw) is not None
    quantity = thresholds.Quantity("|x|^2", lambda objects: at_one(objects["x"]))
    found = {end.side: end for end in thresholds.ends(trial, attack(), quantity, raw, BUDGET)}
    assert found["below"].value == pytest.approx(1 + math.sqrt(3) / 2, rel=1e-6)
    assert found["above"].value == pytest.approx(1 - math.sqrt(3) / 2, rel=1e-6)
    assert found["below"].instance.certificate is not None


def test_a_size_beyond_the_stated_ones_is_found_by_bisection():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 5)})
    def trial(x):
        return at_most(2 * square(row_norms(x, L1)), 13 * total(square(x)))

    (found,) = thresholds.beyond(trial, attack(), BUDGET)
    assert (found.size, found.holds_to, found.fails_from) == ("d", 6, 7)
    assert found.counterexample.raw.sizes == {"d": 7}


def test_sizes_at_which_an_evaluation_takes_too_long_are_not_searched():
    """Of a sum over subsets there are 2^16 terms at L = 16: a search there would outlast any limit."""
    looked = []

    @claim("trial", over={"x": Vector("L")}, sizes={"L": range(1, 3)})
    def trial(x):
        looked.append(x.shape[-1])
        subsets = (x[..., list(chosen)] for k in range(x.shape[-1]) for chosen in combinations(range(x.shape[-1]), k))
        return at_least(sum(total(absolute(part)) for part in subsets), 0)

    def quick(x):
        return at_least(total(square(x)), 0)

    assert list(thresholds.beyond(trial, attack(), 64)) == []
    assert 3 <= max(looked) < 16
    assert thresholds._searchable(dataclasses.replace(trial, conclusion=quick), "L", range(3, 17), 0, 1) == range(3, 17)


def test_sizes_at_which_a_domain_is_empty_are_not_searched():
    @claim("trial", over={"Q": Orthogonal("d", columns="k")}, sizes={"d": range(3, 5), "k": range(1, 3)})
    def trial(Q):
        return at_most(total(total(square(Q)), -2), 2)

    (found,) = thresholds.beyond(trial, attack(), 512)  # of columns four are not to be had at d = 3
    assert (found.size, found.holds_to, found.fails_from) == ("k", 2, 3)
    assert list(thresholds._searchable(trial, "k", range(3, 17), 0, 1)) == [3]


def moves(s, t):
    """No single weight moves by more than half the Euclidean length of the move of the scores."""
    return at_most(amax(absolute(softmax(s) - softmax(t))), row_norms(s - t) / 2)


two_rows = claim("trial", over={"s": Vector("n"), "t": Vector("n")}, sizes={"n": range(2, 4)})(moves)


def test_a_constant_that_no_instance_reaches_is_named_by_the_family_of_a_simple_instance():
    found = how_sharp(two_rows)
    assert found.status == LOOSE
    assert found.ratio < math.sqrt(0.5)
    assert found.constant.closed_form == "sqrt(2)/2"
    assert found.family.limit == pytest.approx(math.sqrt(0.5), rel=1e-12)
    assert max(found.family.ratios) < found.family.limit


# ---- a sharper bound --------------------------------------------------------


def test_the_printed_bound_on_scores_is_found_not_sharp_and_the_sharper_one_named():
    statement = contraction.contraction_scores
    extremal = how_sharp(statement).extremal.raw
    found = profile.profile(statement, 0, attack(), [extremal], BUDGET)
    assert found.sharper.form == "tanh(row_range(S)/2)"
    assert found.sharper.attained
    curve = dict(found.curves["row_range(S)"])
    assert len(curve) > 8
    for r, ratio in curve.items():
        assert ratio <= np.tanh(r / 2) / -np.expm1(-r) * (1 + 1e-6)  # float64 cancels in the printed 1 - exp(-r)


def test_small_differences_that_floats_round_exclude_no_form():
    """The difference of two softmaxes is off by 1e-16 however small it is."""
    tiny = Instance({"n": 2}, {}, {"s": np.zeros((1, 2)), "t": np.array([[3.0, -3.0]]) / 10**9})
    found = profile.profile(two_rows, 0, attack(), [tiny], BUDGET)
    assert found.sharper.form == "tanh(row_norms(s - t)/(2*sqrt(2)))"
    halved = dataclasses.replace(two_rows, conclusion=lambda s, t: at_most(0, row_norms(s - t)))
    assert profile.profile(halved, 0, attack(), [tiny], BUDGET).sharper is None


def test_a_bound_that_is_sharp_has_no_sharper_one():
    @claim("trial", over={"S": Scores("n", "m")})
    def trial(S):
        return at_most(dobrushin(softmax(S)), tanh(row_range(S) / 2))

    assert profile.profile(trial, 0, attack(), budget=BUDGET).sharper is None


def test_quantities_are_the_calls_of_the_conclusion():
    statement = contraction.contraction_scores
    S = np.array([[[3.0, 0.0], [0.0, 1.0]]])
    values = profile.Quantities(statement.conclusion).of({"S": S})
    assert set(values) == {"dobrushin(softmax(S))", "row_range(S)"}
    assert values["row_range(S)"].item() == 3.0


# ---- necessity --------------------------------------------------------------


def needs(statement, seconds=20.0):
    return list(necessity.needs(statement, attack(), BUDGET, lambda: seconds))


def short_rows(A):
    """tau <= 1/2."""
    return at_most(2 * dobrushin(A), 1)


def nothing(A):
    """Holds always."""
    return at_most(dobrushin(A), 1)


def test_a_needed_hypothesis_has_a_certified_instance_and_one_that_keeps_nothing_out_is_not_called_superfluous():
    @claim("trial", over=OVER, sizes=SIZES, assuming=[short_rows, nothing])
    def trial(A, X):
        return at_most(2 * diameter(A @ X), diameter(X))

    found = {variant.change: variant for variant in needs(trial)}
    assert (found["without short_rows"].status, found["without short_rows"].conclusion) == (REFUTED, NEEDED)
    assert found["without short_rows"].exhibit.certificate is not None
    assert found["without nothing"].conclusion == NOT_KNOWN


def short(x, y):
    """|y| <= |x|."""
    return at_most(total(square(y)), total(square(x)))


def acute(x, y):
    """<x, y> >= 0."""
    return at_least(total(x * y), 0)


def test_superfluous_is_said_where_it_is_proved():
    @claim("trial", over={"x": Vector("d"), "y": Vector("d")}, sizes={"d": range(1, 3)}, assuming=[acute, short])
    def trial(x, y):
        return at_least(total(square(x + y)), total(square(x)))

    found = {variant.change: variant for variant in needs(trial)}
    assert found["without acute"].conclusion == NEEDED
    assert found["without short"].conclusion == SUPERFLUOUS
    assert found["without short"].proved == ("d = 2",)


def below(a, b):
    """a < b."""
    return less_than(a, b)


def test_a_strict_hypothesis_is_needed_where_equality_breaks_the_claim():
    @claim("trial", over={"a": Scalar(), "b": Scalar()}, assuming=[below])
    def trial(a, b):
        return less_than(a + b, 2 * b)

    (variant,) = needs(trial)
    assert variant.conclusion == NEEDED


def test_a_domain_that_keeps_zero_out_is_not_called_superfluous():
    @claim("trial", over={"x": Positive()})
    def trial(x):
        return equal(x / x, 1)

    (variant,) = needs(trial)
    assert variant.status == MEANINGLESS


def test_what_a_narrow_domain_is_needed_for_is_found():
    def first_stays(A, X):
        return equal((A @ X)[..., :1, :], X[..., :1, :])

    statement = claim("trial", over={"A": Causal("n"), "X": Matrix("n", "d")})(first_stays)
    (variant,) = needs(statement)
    assert (variant.change, variant.status) == ("A in RowStochastic(n) instead of Causal(n)", REFUTED)


def test_strengthened_variants_of_a_sharp_and_of_a_loose_bound():
    def outcomes(statement):
        parts = [Part("lhs <= rhs", how_sharp(statement))]
        return {v.change: v.status for v in necessity.strengthened(statement, parts, attack(), BUDGET)}

    sharp, loose = outcomes(bounded_by(1)), outcomes(bounded_by(4))
    factors = [f"the right side times {factor}" for factor in ("0.99", "0.9", "0.5")]
    assert list(sharp) == [*factors, "strict inequality", "equality"]
    assert set(sharp.values()) == {REFUTED}
    assert [loose[name] for name in factors] == [SURVIVED] * 3
    assert loose["strict inequality"] == REFUTED  # 0 = 0


def test_a_factor_that_a_law_foresees_to_be_exceeded_survives_nothing():
    statement = bounded_by(4)
    laws = (Law("n", "1 - 1/n", 3, 1.0), Law("n", "1/(2*n - 4)", 3, 0.0))  # the second has no value at n = 2
    found = dataclasses.replace(how_sharp(statement), laws=laws)
    foreseen = 1 - 1 / max(statement.size_ranges()["n"])
    assert 0.5 < foreseen < 0.9
    parts = [Part("lhs <= rhs", found)]
    said = {v.change: v for v in necessity.strengthened(statement, parts, attack(), BUDGET)}
    assert said["the right side times 0.9"].status == SURVIVED
    half = said["the right side times 0.5"]
    assert half.status == UNREACHED
    assert "a law of the ratio foresees one" in half.detail


def test_an_equality_has_no_strengthened_variants():
    assert list(necessity.strengthened(dobrushin_claims.dobrushin_two_forms, [], attack(), BUDGET)) == []


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


def squared(row):
    return total(square(row))


def test_a_quantity_under_a_mean_is_no_number_and_is_passed_over():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 3)})
    def trial(x):
        return at_most(expectation(Signs("d", 2), lambda R: squared(x @ R)), 4 * squared(x))

    found = audit(trial, budget=512, seconds=20)
    assert found.status == "survived"
    assert [part.sharpness.extremal is not None for part in found.parts] == [True]
