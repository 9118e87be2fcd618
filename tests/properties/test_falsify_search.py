"""The search: the same verdict for any workers and order, whatever hides the violation, and no false alarm."""

# ruff: noqa: N805 - what stands in the class below are claims, and no methods

import dataclasses

import numpy as np
import pytest

from resstream import claims
from resstream.arithmetic import absolute, exact, largest_entry, sqrt, total
from resstream.claim import Claim, at_least, at_most, claim, equal, every, less_than, more_than
from resstream.domains import Matrix, NonConstant, RowStochastic, Scalar, Simplex, Vector, Whole
from resstream.errors import ClaimError
from resstream.falsify import corners, curvature, falsify, judge
from resstream.falsify.descent import Coordinates
from resstream.falsify.registry import ENGINE_OF
from resstream.falsify.scores import gauged_scores
from resstream.falsify.search import ENGINES, Chunk, budget_plan, run_chunk, search
from resstream.falsify.verdict import add_up
from resstream.reference import diameter, dobrushin, frobenius_norm, layer_norm, rotary, softmax

BUDGET = 60_000


def zero_product(A, B):
    return equal(A @ B, 0)


def on_two_spheres(x, y):
    return every(equal(total(x * x), 25), equal(total(x), 7), equal(total(y), 0), more_than(total(y * y), 0))


def distinct(s):
    return more_than(absolute(s[..., :1] - s[..., 1:2]), 0)


def as_spread(p):
    return every(equal(121 * total(p * p), 49), equal(1331 * total(p * p * p), 251))


def long_enough(q, t):  # noqa: ARG001 - hypotheses name what the claim is over
    return more_than(total(q * q), exact(1, 1000))


class Trial:
    """Claims to try the search on, which are no tests by themselves."""

    __test__ = False

    @claim("trial.sharp", over={"A": RowStochastic("n"), "B": RowStochastic("n")}, sizes={"n": range(3, 6)})
    def sharp(A, B):
        """Sharp to within 5%, so that a diffuse draw hardly meets it."""
        return at_most(dobrushin(A @ B), exact("0.95") * dobrushin(A) * dobrushin(B))

    @claim("trial.true", over={"A": RowStochastic("n"), "X": Matrix("n", "d")})
    def true_claim(A, X):
        return at_most(diameter(A @ X), dobrushin(A) * diameter(X))

    @claim(
        "trial.thin",
        over={"A": Matrix("d", "d"), "B": Matrix("d", "d")},
        assuming=[zero_product],
        sizes={"d": range(1, 4)},
    )
    def thin(A, B):
        """A hypothesis of measure zero."""
        return equal(B @ A, 0)

    @claim("trial.thin_and_far", over={"x": Vector("d"), "y": Vector("d")}, assuming=[on_two_spheres])
    def thin_and_far(x, y):
        """Hypotheses that are met by (3, 4) and its like only."""
        return equal(total(x * y), 0)

    @claim("trial.large_scale", over={"X": Matrix("n", "d"), "Y": Matrix("n", "d")})
    def large_scale(X, Y):
        """Self-attention is no million-Lipschitz map: it takes scores beyond a thousand to see it."""
        moved = softmax(X @ X.mT) @ X - softmax(Y @ Y.mT) @ Y
        return at_most(frobenius_norm(moved), 10**6 * frobenius_norm(X - Y))

    @claim("trial.tiny_gap", over={"s": Vector(2)}, assuming=[distinct])
    def tiny_gap(s):
        """A softmax at scale 10^12 is one-hot but for gaps below 10^-12."""
        return at_most(1 - largest_entry(softmax(10**12 * s)), exact(1, 200))

    @claim("trial.whole_scan", over={"q": Vector(2), "t": Whole(1, 100_000)}, assuming=[long_enough])
    def whole_scan(q, t):
        """A rotation by t radians is nearly half a turn for a few whole t among a hundred thousand."""
        return at_most(absolute(total(q * rotary(q, t))), exact("0.99999999") * total(q * q))

    @claim("trial.power_sums", over={"p": Simplex(3)}, assuming=[as_spread])
    def power_sums(p):
        """The hypotheses hold at the six orders of (6, 3, 2)/11 alone."""
        return at_most(p[..., :1], exact("0.5"))

    @claim("trial.artefacts", over={"A": RowStochastic("n"), "X": Matrix("n", "d")})
    def artefacts(A, X):
        """False, and beside exact zeros: rounding alone violates it in float64 everywhere, by as much as can be."""
        return at_most(largest_entry(absolute((A @ X) @ X.mT - A @ (X @ X.mT))), largest_entry(absolute(A)) * 0 + 0)


def identical(verdict, other):
    raw, again = verdict.counterexample.raw, other.counterexample.raw
    assert (raw.sizes, raw.options) == (again.sizes, again.options)
    assert all((raw.arrays[name] == again.arrays[name]).all() for name in raw.arrays)
    assert verdict.counterexample.largest_violation == other.counterexample.largest_violation
    counts = ("evaluations", "accepted", "discarded", "judged", "acquitted", "smallest_margin", "engine")
    assert [getattr(verdict.tally, name) for name in counts] == [getattr(other.tally, name) for name in counts]
    return True


@pytest.mark.parametrize("stated", [Trial.sharp, Trial.thin, Trial.tiny_gap], ids=lambda stated: stated.id)
def test_the_verdict_is_the_same_for_one_worker_and_for_four(stated):
    one, four = (falsify(stated, BUDGET, seed=3, workers=workers) for workers in (1, 4))
    assert one.status == "refuted"
    assert identical(one, four)


def test_the_verdict_is_the_same_in_every_order_of_the_chunks():
    chunks = budget_plan(Trial.sharp, 12_000, ("random", "climb", "hypothesis"))
    done = [run_chunk(Trial.sharp, chunk, 1) for chunk in chunks]
    verdicts = []
    for order in (range(len(chunks)), range(len(chunks))[::-1], np.random.default_rng(0).permutation(len(chunks))):
        tallies = {int(number): run_chunk(Trial.sharp, chunks[number], 1) for number in order}
        tally, last = add_up(tallies, len(chunks))
        verdicts.append((last, tally.evaluations, tally.judged, tally.violating.arrays["A"].tolist()))
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0][0] == next(number for number, tally in enumerate(done) if tally.finished)


def test_another_seed_is_another_search():
    first, second = (
        run_chunk(Trial.true_claim, budget_plan(Trial.true_claim, 2000, ("random",))[0], seed) for seed in (0, 1)
    )
    assert first.closest.sizes != second.closest.sizes or any(
        not np.array_equal(values, second.closest.arrays[name]) for name, values in first.closest.arrays.items()
    )


FALSE_FOR = {"equations": Trial.power_sums, "integers": Trial.whole_scan}
"""False claims for the engines that look at hypotheses and whole numbers alone."""


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_refutes_a_plainly_false_claim(engine):
    stated = FALSE_FOR.get(engine) or claims.lookup("contraction.diameter_squared")
    verdict = falsify(stated, 20_000, engines=(engine,))
    assert verdict.status == "refuted"
    assert verdict.counterexample.engine == engine


@pytest.mark.parametrize(
    "stated",
    [Trial.sharp, Trial.thin, Trial.thin_and_far, Trial.large_scale, Trial.tiny_gap, Trial.whole_scan],
    ids=lambda stated: stated.id,
)
@pytest.mark.parametrize("seed", range(2))
def test_violations_that_hide_are_found(stated, seed):
    verdict = falsify(stated, seed=seed)
    assert verdict.status == "refuted"
    assert verdict.counterexample.judgement.outcome == judge.VIOLATED


def test_a_whole_number_is_scanned_over_its_whole_range():
    blocks = corners.scan_blocks(Trial.whole_scan, 8192, 100)
    rng = np.random.default_rng(0)
    seen = np.concatenate(
        [corners.scan_batch(Trial.whole_scan, rng, k, 8192).arrays["t"].reshape(-1) for k in range(blocks)]
    )
    assert sorted(seen) == list(range(1, 100_001))


def test_rounding_artefacts_are_acquitted_and_do_not_stop_the_search():
    verdict = search(Trial.artefacts, budget_plan(Trial.artefacts, 20_000))
    assert verdict.status == "survived"
    assert verdict.tally.suspects > 1000
    assert verdict.tally.acquitted > 10


def test_artefacts_do_not_crowd_out_a_real_violation():
    @claim("trial.crowded", over=Trial.artefacts.over, sizes={"n": range(3, 6), "d": range(2, 6)})
    def crowded(A, X):
        """Artefacts in every instance; a real violation where the smoothing is nearly total."""
        residue = largest_entry(absolute((A @ X) @ X.mT - A @ (X @ X.mT)))
        return every(at_most(residue, 0), at_most(exact(1, 100), dobrushin(A)))

    assert falsify(crowded, BUDGET).status == "refuted"


def test_a_batch_that_raises_is_taken_apart_to_the_instance():
    @claim("trial.raises_in_a_batch", over={"x": Vector("d")}, sizes={"d": range(2, 3)})
    def raises_in_a_batch(x):
        if x.dtype != object and (x > 100).any():
            raise RuntimeError("beyond a hundred")
        return at_most(0 * total(x), 1)

    verdict = search(raises_in_a_batch, budget_plan(raises_in_a_batch, 20_000))
    assert verdict.status == "error"
    assert verdict.tally.error.endswith("raised RuntimeError: beyond a hundred")
    assert (verdict.tally.faulty.arrays["x"] > 100).any()


def test_an_error_that_rounding_makes_is_left_to_the_judge():
    @claim("trial.rounded_constant", over={"x": NonConstant("d")}, sizes={"d": range(2, 3)})
    def rounded_constant(x):
        return at_most(total(layer_norm(10**9 + x)) * 0, 1)

    with np.errstate(invalid="raise"):
        assert search(rounded_constant, budget_plan(rounded_constant, 20_000)).status == "survived"


def test_a_claim_whose_hypotheses_are_proved_to_be_met_nowhere_is_vacuous():
    def never(x):
        return less_than(total(x * x), 0)

    @claim("trial.never", over={"x": Vector("d")}, assuming=[never])
    def vacuous(x):
        return equal(x, 0)

    assert falsify(vacuous, 5000).status == "vacuous"


def test_few_accepted_instances_are_no_survival():
    @claim("trial.rare", over={"x": Vector(3)}, assuming=[lambda x: equal(sqrt(total(x * x)), exact(7, 3))])
    def rare(x):
        return at_most(0 * total(x), 1)

    assert search(rare, budget_plan(rare, 500, ("random",))).status in ("gave up", "vacuous")


def test_a_plan_spends_its_budget_to_the_last_evaluation():
    for budget in (1, 999, 54_321):
        assert sum(chunk.size for chunk in budget_plan(Trial.true_claim, budget)) == budget


@pytest.mark.parametrize(("budget", "least"), [(700, 100), (30_000, 27_000)])
def test_a_search_never_evaluates_more_than_its_budget(budget, least):
    verdict = search(Trial.true_claim, budget_plan(Trial.true_claim, budget))
    assert least < verdict.tally.evaluations <= budget


@pytest.mark.parametrize("kind", ENGINE_OF)
def test_no_chunk_evaluates_more_than_it_has(kind):
    stated = Trial.whole_scan if kind == "scan" else FALSE_FOR.get(ENGINE_OF[kind].name, Trial.true_claim)
    size = 20 if kind == "hypothesis" else 300
    sizes = [run_chunk(stated, Chunk(kind, number, size), 0).evaluations for number in range(2)]
    assert 0 < max(sizes) <= size


FORM = (3, -1, 4, 1, -5, 9)


def nearly_parallel(w):
    """|w|^2 |v|^2 >= 1.0001 (w v)^2: false near the multiples of v alone."""
    along = sum(number * w[..., k : k + 1] for k, number in enumerate(FORM))
    return at_least(total(w * w) * 133 - exact("1.0001") * along**2, 0)


def test_steps_are_floats_where_there_is_hardly_a_curvature():
    """As of |X| >= 0 far from 0: a gradient over no curvature is beyond all floats."""
    gradients, values, vectors = np.array([[1.0, -1.0]]), np.zeros((1, 2)), np.eye(2)[None]
    for scale in (1.0, 1e-300, 1e12):
        with np.errstate(all="ignore"):  # as every chunk is run
            steps = curvature._steps(scale * gradients, scale * values, vectors)
        assert steps.shape == (1, curvature.TRIED, 2)
        assert np.isfinite(steps).all()


@pytest.mark.parametrize(("seed", "number"), [(3, 0), (5, 2)])
def test_a_descent_goes_on_where_the_square_of_a_change_is_no_float(seed, number):
    """Its length is divided by: here some gradient changes by less than 1e-162, and the claim is true."""

    def unmoved(s, b):
        return at_most(total(absolute(softmax(s + 10**8 * b) - softmax(s))), 0)

    stated = Claim("trial.shifted", {"s": Vector("n"), "b": Scalar()}, unmoved)
    tally = run_chunk(stated, Chunk("descent", number, 8192), seed)
    assert tally.evaluations > 1000
    assert tally.violating is None


def test_curvature_finds_the_direction_in_which_a_quadratic_form_is_negative():
    stated = Claim("trial.form", {"w": Vector(6)}, nearly_parallel)
    for number in range(3):
        found = run_chunk(stated, Chunk("curvature", number, 4096), 0).violating.arrays["w"][0]
        assert abs(found @ FORM) > 0.999 * np.linalg.norm(found) * np.linalg.norm(FORM)


def test_derivatives_by_differences_are_those_of_a_quadratic_form():
    stated = Claim("trial.form", {"w": Vector(6)}, nearly_parallel)
    points = np.array([np.zeros(6), np.linspace(-1, 1, 6)])
    coordinates = Coordinates(({}, {}), stated.parts({}, {}), np.zeros_like(points))

    def show(raw):
        return gauged_scores(stated.assess(raw))

    form = 2 * (133 * np.eye(6) - 1.0001 * np.outer(FORM, FORM))
    scores, gradients, hessians = curvature._derivatives(coordinates, points, np.arange(2), show)
    assert hessians[0] == pytest.approx(form, abs=1)
    assert gradients[1] == pytest.approx(points[1] @ form, rel=0.05)
    assert scores[0] == 0


def test_plans_refuse_unknown_engines_and_empty_budgets():
    with pytest.raises(ClaimError, match="engine 'guess': expected some of corners, random"):
        budget_plan(Trial.true_claim, 100, ("guess",))
    for engines in ((), []):
        with pytest.raises(ClaimError, match=r"engines: expected some of corners, .*, got none"):
            budget_plan(Trial.true_claim, 100, engines)
    for engine in ("equations", "integers"):
        with pytest.raises(ClaimError, match=f"engines: {engine} look at hypotheses or whole numbers, of which trial"):
            budget_plan(Trial.true_claim, 100, (engine,))
    assert len(budget_plan(Trial.whole_scan, 200_000, ("integers", "equations"))) > 8
    with pytest.raises(ClaimError, match="budget: expected at least 1 evaluation, got 0"):
        budget_plan(Trial.true_claim, 0)


def test_true_claims_survive_whatever_the_workers_say():
    verdicts = [search(Trial.true_claim, budget_plan(Trial.true_claim, 20_000), workers=workers) for workers in (1, 2)]
    assert [verdict.status for verdict in verdicts] == ["survived", "survived"]
    assert dataclasses.replace(verdicts[0].tally, closest=None) == dataclasses.replace(verdicts[1].tally, closest=None)
