"""Statistical claims: tested at a level that is kept, by what is certain of the draws, and said apart."""

import json
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy.stats import beta, binom, binomtest

import resstream as rs
from resstream.arithmetic import amax, exact, relu, sqrt, square, total
from resstream.claim import at_least, at_most, claim, less_than
from resstream.domains import Matrix, Vector
from resstream.errors import ClaimError
from resstream.falsify import falsify
from resstream.falsify import statistical as runner
from resstream.falsify.certify import certify
from resstream.falsify.check import check
from resstream.falsify.statistical import GAVE_UP, NOT_REFUTED, REFUTED, by_draws
from resstream.falsify.tails import binomial, hoeffding, is_below
from resstream.statistical import Gaussian, OnSphere, Signs, StatisticalClaim, Uniform, average, probability
from resstream.statistical import statistical as stated

HALF = Fraction(1, 2)


def of_uniform(event, expect="holds", name="mine.uniform", **fields):
    """A claim on one uniform number in [0, 1]."""

    def conclusion(u):
        """Of a uniform number."""
        return event(u)

    return stated(name, over={"u": Uniform(1, 1)}, expect=expect, **fields)(conclusion)


# ---- bounds -----------------------------------------------------------------


@pytest.mark.parametrize(("draws", "most", "share"), [(20, 3, HALF), (200, 60, HALF), (500, 480, Fraction(99, 100))])
def test_binomial_tails_are_scipys(draws, most, share):
    found = binomial(draws, most, share)
    assert found.rad() < 1e-30
    assert float(found) == pytest.approx(binom.cdf(most, draws, float(share)), rel=1e-9)
    assert binomial(draws, draws, share) == 1
    assert binomial(draws, -1, share) == 0
    assert binomial(draws, most, Fraction(1)) == 0


@pytest.mark.parametrize("holding", [0, 7, 130, 200])
def test_a_bound_is_refuted_beyond_clopper_and_pearsons_limit(holding):
    """At level a the limit of k of n is the a-quantile of Beta(k + 1, n - k): beyond it refuted, before it not."""
    limit = beta.ppf(1 - 1e-6, holding + 1, 200 - holding) if holding < 200 else 1.0
    two_sided = binomtest(holding, 200).proportion_ci(1 - 2e-6, "exact").high
    assert limit == pytest.approx(two_sided, rel=1e-9)
    level = Fraction(1, 10**6)
    for step, refuted in ((1e-6, True), (-1e-6, False)):
        if 0 < limit + step < 1:
            assert is_below(binomial(200, holding, Fraction(limit + step)), level) is refuted


def test_hoeffdings_bound_holds_of_the_binomial_which_is_the_extreme_case():
    compared = 0
    for most in range(0, 40, 3):
        bound = hoeffding(100, arb(most) / 100, Fraction(2, 5))
        assert not bound < binomial(100, most, Fraction(2, 5))
        assert bound < 2 * arb(100) ** 2 * binomial(100, most, Fraction(2, 5))  # and is no empty one
        compared += 1
    assert compared == 14
    assert hoeffding(100, arb(40) / 100, Fraction(2, 5)) == 1
    assert hoeffding(100, arb("0.3", "0.2"), Fraction(2, 5)) == 1  # the upper end of a ball is what counts
    assert hoeffding(10, arb(0), HALF) == arb(1) / 1024


# ---- verdicts ---------------------------------------------------------------


def test_a_true_claim_is_not_refuted_and_a_false_one_is():
    true = of_uniform(lambda u: probability(at_most(u, HALF), at_least=HALF, at_most=HALF))
    assert by_draws(true).verdict == "not refuted at level 1e-9"
    for bounds, claimed in (({"at_least": Fraction(3, 4)}, ">= 3/4"), ({"at_most": Fraction(1, 4)}, "<= 1/4")):
        false = of_uniform(lambda u, bounds=bounds: probability(at_most(u, HALF), **bounds), expect="fails")
        verdict = by_draws(false)
        assert verdict.verdict == "refuted at level 1e-9"
        assert verdict.as_expected
        assert f"P(lhs <= rhs) {claimed}" in str(verdict)
        assert "statistical, not certified" in str(verdict)
        (side,) = verdict.places[0].sides
        assert 0 < side.probability <= 1e-9


def test_a_mean_of_a_bounded_number():
    """E u^2 = 1/3 for u uniform in [0, 1]; on another scale too."""
    for scale in (1, 5):
        third = Fraction(scale, 3)

        def mean_of(u, scale=scale, **bounds):
            return average(scale * square(u) - 1, between=(-1, scale - 1), **bounds)

        right = of_uniform(lambda u, f=mean_of, third=third: f(u, at_least=third - 1, at_most=third - 1))
        wrong = of_uniform(lambda u, f=mean_of, third=third: f(u, at_most=third * Fraction(2, 3) - 1))
        assert by_draws(right).status == NOT_REFUTED
        verdict = by_draws(wrong)
        assert verdict.status == REFUTED
        assert verdict.places[0].mean == pytest.approx(float(third) - 1, abs=0.1)
        assert f"<= {third * Fraction(2, 3) - 1} is refuted" in str(verdict)


def test_a_true_claim_is_refuted_no_more_often_than_the_level_says():
    """A fair sign, at level 1/20 and 400 seeds: as many refutations as a binomial of 1/20 has but once in 10^9."""
    fair = stated("mine.sign", over={"s": Signs(1, 1)}, draws=60, level=Fraction(1, 20))(
        lambda s: probability(at_least(s, 0), at_least=HALF)
    )
    wrong = sum(by_draws(fair, seed=seed).status == REFUTED for seed in range(400))
    assert 0 < wrong <= binom.ppf(1 - 1e-9, 400, 1 / 20)


def test_the_level_is_shared_by_sizes_and_bounds():
    """At two sizes and two bounds each test has a quarter of the level: 10 draws of 1/2 need 1/1024 <= level/4."""

    def claim_of(sizes, level):
        return stated("mine.shared", over={"s": Signs(1, "d")}, sizes={"d": sizes}, draws=10, level=level)(
            lambda s: probability(less_than(s[..., :1], -1), at_least=HALF, at_most=1 - HALF)
        )

    assert by_draws(claim_of([1, 2], Fraction(4, 1024))).status == REFUTED
    assert by_draws(claim_of([1], Fraction(2, 1024))).status == REFUTED
    with pytest.raises(ClaimError, match="10 draws cannot refute"):
        by_draws(claim_of([1, 2], Fraction(3, 1024)))


# ---- only what is certain counts --------------------------------------------


def test_draws_at_the_boundary_count_for_the_claim():
    """sqrt(u)^2 <= u is true and no ball decides it; a float that calls half of them violated refutes nothing."""
    tied = of_uniform(lambda u: probability(at_most(square(sqrt(u)), u), at_least=Fraction(9, 10)))
    verdict = by_draws(tied, 200)
    assert verdict.places[0].mean < 0.8
    assert verdict.status == NOT_REFUTED
    assert verdict.undecided == verdict.places[0].read > 20


def test_floats_that_lie_do_not_refute():
    """1e17 + u - 1e17 is 0 or 16 in floats: balls read every draw, and the claim stays."""
    large = of_uniform(lambda u: probability(at_least(u + 10**17 - 10**17, u), at_least=Fraction(9, 10)))
    verdict = by_draws(large, 200)
    assert verdict.places[0].mean < 0.5
    assert (verdict.status, verdict.undecided) in {(NOT_REFUTED, 0), (NOT_REFUTED, verdict.places[0].read)}
    assert verdict.places[0].read > 100


def test_a_value_that_does_not_exist_counts_for_the_claim():
    mean = of_uniform(lambda u: average(sqrt(u - 2), between=(0, 1), at_most=HALF))
    assert "is no number in float64" in str(by_draws(mean, 50))
    none = of_uniform(lambda u: probability(at_most(sqrt(u - 2), 0), at_least=Fraction(9, 10)))
    verdict = by_draws(none, 100)
    assert verdict.status == NOT_REFUTED
    assert verdict.undecided == 100


def test_a_value_out_of_its_interval_is_an_error():
    out = of_uniform(lambda u: average(2 * u, between=(0, 1), at_most=Fraction(9, 10)))
    with pytest.raises(ClaimError, match=r"between: a draw has the value .*, expected one from 0 to 1"):
        by_draws(out)


def test_two_readings_that_contradict_each_other_are_an_error():
    calls = []

    def conclusion(u):
        calls.append(1)
        return probability(at_most(u, len(calls) % 2), at_least=Fraction(99, 100))

    law = Uniform(1, 1, low=Fraction(1, 4), high=Fraction(3, 4))
    verdict = by_draws(stated("mine.turns", over={"u": law})(conclusion))
    assert verdict.status == "error"
    assert "not deterministic" in verdict.error
    assert not verdict.as_expected


def test_what_a_claims_function_raises_is_an_error():
    broken = of_uniform(lambda u: probability(at_most(u, {}["none"]), at_least=HALF))
    verdict = by_draws(broken)
    assert (verdict.status, verdict.error) == ("error", "KeyError: 'none'")


def test_a_claim_written_for_one_draw_is_evaluated_one_by_one():
    def single(x):
        """In one draw of four the first entry is the largest."""
        return probability(at_most(amax(x), x[0, 0]), at_least=Fraction(1, 8), at_most=Fraction(3, 8))

    one = stated("mine.single", over={"x": Gaussian(1, 4)}, draws=300)(single)
    assert by_draws(one).status == NOT_REFUTED
    wrong = stated("mine.single", over={"x": Gaussian(1, 4)}, draws=300)(
        lambda x: probability(at_most(amax(x), x[0, 0]), at_least=Fraction(3, 4))
    )
    assert by_draws(wrong).status == REFUTED


# ---- draws ------------------------------------------------------------------


def test_draws_come_from_the_seed_alone_and_more_begin_with_fewer(monkeypatch):
    fixed = of_uniform(lambda u: probability(at_most(u, Fraction(1, 3)), at_least=Fraction(1, 4)))
    first, second = (by_draws(fixed, seed=seed).places for seed in (0, 1))
    assert first == by_draws(fixed, seed=0).places
    assert first[0].mean != second[0].mean
    seen = []

    def kept(test, drawn, count):
        seen.append(drawn["u"][0][:count])
        return np.full(count, float(test.count > 0))

    monkeypatch.setattr(runner._Test, "_floats", kept)
    for count in (1_500, 3_000):
        by_draws(fixed, count)
    assert np.array_equal(np.concatenate(seen[:2]), np.concatenate(seen[2:])[:1_500])


def test_rows_of_a_check_do_not_depend_on_the_workers():
    claims = [
        of_uniform(lambda u, k=k: probability(at_most(u, HALF), at_least=Fraction(k, 4)), name=f"mine.u{k}")
        for k in (1, 2, 3)
    ]
    one, two = (
        [(row.id, row.verdict, row.accepted, row.undecided) for row in check(claims, "quick", workers=workers)]
        for workers in (1, 2)
    )
    assert one == two
    assert [verdict for _, verdict, *_ in one] == [*["not refuted at level 1e-9"] * 2, "refuted at level 1e-9"]


def test_a_test_that_is_broken_off_gives_up():
    slow = stated("mine.slow", over={"x": Gaussian("d", "d")}, sizes={"d": 200}, draws=10_000)(
        lambda x: probability(at_most(x[..., :1, :1], 0), at_least=Fraction(1, 4))
    )
    verdict = by_draws(slow, seconds=0.2)
    assert verdict.status == GAVE_UP
    assert not verdict.as_expected
    assert verdict.notes == ("the time limit was reached",)


def test_draws_without_an_end_are_refused():
    fixed = of_uniform(lambda u: probability(at_most(u, HALF), at_least=HALF))
    with pytest.raises(ClaimError, match="from 1 to 1,000,000, got 1000000000000"):
        by_draws(fixed, 10**12)


def test_confidence_limits_hold_the_mean():
    third = of_uniform(lambda u: probability(at_most(u, Fraction(1, 3)), at_least=Fraction(1, 10)), draws=400)
    (place,) = by_draws(third, limits=True).places
    low, high = place.limits
    assert low < 1 / 3 < high
    assert high - low < 0.4
    k = round(place.mean * 400)
    exactly = binomtest(k, 400).proportion_ci(1 - 1e-9, "exact")
    assert low <= exactly.low < low + 0.001 + 1e-9
    assert high - 0.001 - 1e-9 < exactly.high <= high


# ---- statements -------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: stated("mine.a", over={"x": Vector("d")}), "expected a law such as"),
        (lambda: stated("mine.a", over={"x": []}), "expected a law such as"),
        (lambda: stated("mine.a", over={"x": Gaussian(1, "d")}), "sizes are"),
        (lambda: stated("mine.a", over={"x": Gaussian(1, "d")}, sizes={"d": 0}), "expected whole numbers above 0"),
        (lambda: stated("mine.a", over={"x": Gaussian(1, "d")}, sizes={"d": range(1, 20)}), "at most 8 choices"),
        (lambda: stated("mine.a", over={"x": Gaussian(1, 10**7)}), "expected at most 4,000,000"),
        (lambda: stated("mine.a", over={"y": Signs(1, 1)}), "argument 'x' has no law"),
        (lambda: stated("mine a", over={"x": Signs(1, 1)}), "expected letters"),
        (lambda: stated("mine.a", over={"x": Signs(1, 1)}, expect="maybe"), "expected 'holds' or 'fails'"),
        (lambda: stated("mine.a", over={"x": Signs(1, 1)}, draws=0), "expected a whole number from 1 to"),
        (lambda: stated("mine.a", over={"x": Signs(1, 1)}, level=1), "at most 1/20"),
        (lambda: stated("mine.a", over={"x": Signs(1, 1)}, level=0.01), "write exact"),
    ],
)
def test_bad_statements(make, message):
    with pytest.raises(ClaimError, match=message):
        make()(lambda x: probability(at_most(x, 0), at_least=HALF))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda u: at_most(u, 1), "expected probability"),
        (lambda u: probability(at_most(u, 1)), "expected at_least= or at_most="),
        (lambda u: probability(u, at_least=HALF), "expected a relation"),
        (lambda u: probability(at_most(u, 1), at_least=2), "expected a number from 0 to 1"),
        (lambda u: probability(at_most(u, 1), at_least=0.5), "write exact"),
        (lambda u: average(u, between=(1, 0), at_least=HALF), "expected low < high"),
        (lambda u: average(u * np.ones((1, 2)), between=(0, 1), at_least=HALF), "expected an array"),
        (lambda u: average(u, between=(0, 1), at_least=3), "expected a number from 0 to 1"),
        (lambda u: probability(at_most(u, 1), at_most=1), "draws cannot refute"),
    ],
)
def test_bad_functions(function, message):
    with pytest.raises(ClaimError, match=message):
        by_draws(of_uniform(function))


# ---- never mixed with what is certified -------------------------------------


def test_it_is_no_claim_of_all_members_and_has_no_certificate():
    one = of_uniform(lambda u: probability(at_most(u, HALF), at_least=Fraction(3, 4)))
    assert not isinstance(one, rs.Claim)
    verdict = falsify(one)
    assert not isinstance(verdict, rs.Verdict)
    assert not hasattr(verdict, "counterexample")
    data = json.loads(json.dumps(verdict.json()))
    assert (data["status"], data["certified"], data["level"]) == ("refuted at level", False, 1e-9)
    with pytest.raises(AttributeError):
        certify(one, None)
    with pytest.raises(ClaimError, match="expected a claim; of a statistical one"):
        rs.audit(one)
    assert {"refuted", "survived"}.isdisjoint(runner.STATUSES)


def test_a_row_of_it_is_said_apart():
    wrong = of_uniform(lambda u: probability(at_most(u, HALF), at_least=Fraction(3, 4)))
    (row,) = check([wrong], "quick")
    assert (row.verdict, row.as_expected, row.level) == ("refuted at level 1e-9", False, 1e-9)
    assert row.json()["level"] == 1e-9

    @claim("mine.plain", over={"X": Matrix("n", "d")})
    def plain(X):
        """Squares are nonnegative."""
        return at_least(square(X), 0)

    (plain_row,) = check([plain], "quick")
    assert "level" not in plain_row.json()


def test_several_laws_and_lists_of_them():
    def conclusion(xs, q):
        """Sums of independent normal numbers, and a unit vector."""
        together = xs[0] + xs[1] + xs[2]
        return probability(at_most(square(together), 3 * total(square(q))), at_least=exact(3, 5), at_most=exact(3, 4))

    several = stated("mine.several", over={"xs": [Gaussian(1, 1)] * 3, "q": OnSphere("d")}, sizes={"d": 3})(conclusion)
    assert isinstance(several, StatisticalClaim)
    assert by_draws(several).status == NOT_REFUTED  # P(|N| <= 1) = 0.683
    assert repr(several).startswith("<statistical claim mine.several, expected: holds")
    assert relu(np.array([[-1.0]])) == 0
