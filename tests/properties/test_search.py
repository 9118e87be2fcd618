"""The search refutes what is false, acquits rounding, keeps its outcomes apart, and repeats itself for a seed."""

import importlib
import re
import sys

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis.internal import observability
from hypothesis.internal.constants_ast import is_local_module_file

import resstream as rs
from resstream.arithmetic import exact, sqrt, to_float, total, total_entry
from resstream.claim import Batch, Claim, at_least, at_most, claim, equal, less_than, more_than
from resstream.domains import Given, Matrix, Norm, RowStochastic, Scalar, Subset, Vector, Whole
from resstream.errors import ClaimError
from resstream.falsify import exhaustion, falsify
from resstream.falsify.check import check_one
from resstream.falsify.engines import hypothesis_instances, whole_numbers
from resstream.falsify.report import verdict_json
from resstream.falsify.search import Chunk, plan, run_chunk, search
from resstream.falsify.verdict import Tally, conclude
from resstream.reference import diameter, dobrushin, layer_norm, row_norms


@claim("trial.contraction", over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "norm": Norm("d")})
def contraction(A, X, norm):
    """Theorem 1 (i), as a trial."""
    return at_most(diameter(A @ X, norm), dobrushin(A) * diameter(X, norm))


def scalar(conclusion, *assuming):
    return Claim("trial", {"x": Scalar()}, conclusion, assuming)


def test_a_true_claim_survives_and_its_rounding_is_acquitted():
    verdict = search(contraction, plan(100, 4))
    assert verdict.status == "survived"
    assert verdict.tally.accepted > 10_000
    assert verdict.tally.acquitted > 0, "ties abound in this claim, so some float64 margin must have been negative"
    assert verdict.tally.smallest_margin >= 0


@pytest.mark.parametrize("factor", ["0.99", "0.999999"])
def test_a_planted_false_claim_is_refuted_with_a_certificate(factor):
    planted = contraction.replace(rhs=lambda rhs: exact(factor) * rhs)
    verdict = search(planted, plan(100, 4))
    assert verdict.status == "refuted"
    assert verdict.tally.certificate.judgement.outcome == "violated"
    assert verdict.tally.certificate.judgement.lhs > verdict.tally.certificate.judgement.rhs


def test_few_accepted_instances_are_no_survival():
    def is_three(x):
        return equal(x, 3)

    verdict = search(scalar(lambda x: at_most(x, 4), is_three), plan(300, 0))
    assert verdict.status == "gave up"
    assert 0 < verdict.tally.accepted < 100
    assert verdict.tally.discarded > 0


def test_hypotheses_that_are_never_met_are_no_survival_and_say_by_how_much_they_were_missed():
    def impossible(x):
        return less_than(x * x, -1)

    verdict = search(scalar(lambda x: at_most(x, 4), impossible), plan(20, 1))
    assert verdict.status == "gave up"
    assert "hypotheses never met in" in str(verdict)
    assert 0 < verdict.tally.nearest_miss <= 1


def test_hypotheses_that_rounding_alone_meets_are_not_met():
    def rounded(x):
        return more_than(x / 10 + x / 5, 3 * x / 10)

    verdict = search(scalar(lambda x: at_most(x, 10**9), rounded), plan(20, 1))
    assert verdict.status == "gave up"
    assert verdict.tally.accepted == 0
    assert 0 < verdict.tally.outside == verdict.tally.judged - verdict.tally.open
    assert 0 < verdict.tally.let_in <= verdict.tally.discarded
    assert f"floats let in {verdict.tally.let_in:,}, exact arithmetic none of the" in str(verdict)


def test_an_error_in_the_claim_is_reported_with_the_instance():
    def conclusion(x):
        if np.any(x > 2):
            raise RuntimeError("a fault of the claim")
        return at_most(x, 10**9)

    verdict = search(scalar(conclusion), plan(0, 1))
    assert verdict.status == "error"
    assert re.search(r"line \d+ of test_search.py raised RuntimeError: a fault of the claim", verdict.tally.error)
    assert verdict.tally.faulty.arrays["x"][0, 0] > 2


def test_a_claim_that_returns_no_relation_is_refused_by_name():
    with pytest.raises(ClaimError, match=r"trial: <lambda> \(.*test_search.py, line \d+\) returned bool, expected"):
        search(scalar(lambda x: True), plan(0, 1))  # noqa: ARG005


UNSAFE = {
    "transposes all axes": lambda X: at_most(total_entry(X.T @ X), total_entry(X.T @ X)),
    "sums over the batch": lambda X: at_least(X.sum(axis=0), -7),
    "indexes the batch": lambda X: at_least(X[:1], -7),
    "reduces everything": lambda X: at_least(X.sum() * X, -7),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_a_claim_that_mixes_the_instances_of_a_batch_is_evaluated_one_by_one_and_says_so(case):
    mixing = Claim("trial", {"X": Matrix("n", "d")}, UNSAFE[case], sizes={"n": range(2, 3), "d": range(5, 6)})
    verdict = search(mixing, [Chunk("random", 0, 256)])
    assert any("one instance at a time" in note for note in verdict.notes)
    assert verdict.status == ("survived" if case == "transposes all axes" else "refuted")
    assert verdict.tally.evaluations > 0


def test_an_instance_that_only_rounding_takes_out_of_a_domain_does_not_stop_the_batch():
    """A row like 1e17 + (0, 1, 2) is constant in float64 after a shift, and LayerNorm then refuses the float batch."""
    shifted = Claim(
        "trial", {"x": Vector("d")}, lambda x: at_most(layer_norm(x + 10**17) * 0, 1), sizes={"d": range(3, 4)}
    )
    raw = Batch({"d": 3}, {}, {"x": np.array([[[0.0, 1.0, 2.0]], [[0.0, 1e18, 0.0]]])}, 2)
    from resstream.falsify.search import examine
    from resstream.falsify.verdict import Tally

    tally = Tally()
    examine(shifted, raw, np.random.default_rng(0), tally)
    assert not tally.error
    assert tally.accepted == 2


def test_the_same_seed_gives_the_same_chunk_and_another_seed_another():
    chunk = Chunk("random", 3, 512)
    first, again, other = (run_chunk(contraction, chunk, seed) for seed in (7, 7, 8))
    assert np.array_equal(first.closest.arrays["A"], again.closest.arrays["A"])
    assert (first.suspects, first.judged, first.acquitted) == (again.suspects, again.judged, again.acquitted)
    assert first.closest.sizes != other.closest.sizes or not np.array_equal(
        first.closest.arrays["A"], other.closest.arrays["A"]
    )


def test_an_unknown_engine_is_refused():
    with pytest.raises(ClaimError, match="engine 'guess'"):
        run_chunk(contraction, Chunk("guess", 0, 1), 0)


def test_a_violation_below_float_resolution_is_found_by_lot():
    """The float margin is exactly 0 everywhere; only the judge's share of such instances can see the difference."""
    tiny = exact(1, 2**80)
    verdict = search(scalar(lambda x: at_most(x * x + 1 + tiny, x * x + 1)), plan(0, 1))
    assert verdict.status == "refuted"


# ---- modified claims --------------------------------------------------------


def test_replace_makes_each_kind_of_modified_claim():
    def small(x):
        return at_most(x, 1)

    base = scalar(lambda x: at_least(x, 0), small)
    assert search(base, plan(0, 1)).status == "refuted"
    assert search(base.replace(over={"x": Scalar(0, 5)}), plan(0, 1)).status == "survived"
    assert search(base.replace(lhs=lambda lhs, x: lhs * x), plan(0, 1)).status == "survived"

    def negative(x):
        return less_than(x, 0)

    assert [f.__name__ for f in base.replace(assuming=[negative], without="small").assuming] == ["negative"]
    assert base.replace(without="small").assuming == ()
    assert contraction.replace(sizes={"n": range(2, 3)}).size_ranges()["n"] == range(2, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"without": "nothing"}, r"without='nothing', expected one of its hypotheses \(none\)"),
        ({"over": {"B": Matrix("n", "n")}}, r"over='B', expected one of its variables \['A', 'X', 'norm'\]"),
        ({"sizes": {"m": range(1, 3)}}, r"sizes='m', expected one of \['d', 'n'\]"),
        ({"rhs": lambda B: B}, r"a new side uses 'B', expected lhs, rhs or one of \['A', 'X', 'norm'\]"),
    ],
    ids=["without", "over", "sizes", "rhs"],
)
def test_replace_refuses_unknown_names(change, message):
    with pytest.raises(ClaimError, match=message):
        contraction.replace(**change)


def test_an_argument_without_a_domain_is_refused_with_its_place():
    with pytest.raises(ClaimError, match=r"argument 'y' of <lambda> \(.*test_search.py, line \d+\) has no domain"):
        scalar(lambda x, y: at_most(x, y))


@pytest.mark.parametrize(("field", "value"), [("expect", "maybe"), ("id", "two words")])
def test_a_badly_stated_claim_is_refused(field, value):
    with pytest.raises(ClaimError, match=value):
        Claim(**{"id": "trial", "over": {"x": Scalar()}, "conclusion": lambda x: at_most(x, 1), field: value})


# ---- claims with finitely many instances ------------------------------------


def few(conclusion, assuming=(), **over):
    return Claim("few", over or {"x": Whole(0, 4), "y": Whole(-1, 1, 1, 2)}, conclusion, tuple(assuming))


def test_every_instance_is_judged_once_and_that_is_said():
    seen = []

    def squares(x, y):
        if not isinstance(x[0, 0], float):
            seen.append((int(to_float(x[0, 0])), *(int(to_float(entry)) for entry in y[0])))
        return at_least(x * x + y * y, 0)

    verdict = falsify(few(squares))
    assert (verdict.status, verdict.every, verdict.tally.judged) == ("survived", 5 * 9, 5 * 9)
    assert len(set(seen)) == 45
    assert "the search was exhaustive, it holds at each of its 45 instances" in str(verdict)
    assert verdict_json(verdict)["every"] == 45
    assert falsify(few(squares), workers=2).every == 45
    assert falsify(few(squares), seconds=30).every == 45
    # What is left out, or given up, is not said to be all.
    assert falsify(few(squares), budget=44).every is None
    assert falsify(few(squares), budget=2000, engines=["random"]).every is None
    assert falsify(few(squares), seconds=0.0).every is None


def test_one_violation_of_many_is_found_and_no_exhaustion_claimed():
    verdict = falsify(few(lambda x, y: at_most(x + y[..., :1] - y[..., 1:], exact(59, 10))))
    assert (verdict.status, verdict.every, verdict.tally.engine) == ("refuted", None, "exhaustion")


def test_instances_outside_the_hypotheses_are_counted_apart_and_none_inside_is_vacuous():
    claim = few(lambda x: at_least(x, 3), [lambda x: at_least(x, 3)])
    verdict = falsify(claim)
    assert (verdict.status, verdict.every, verdict.tally.accepted) == ("survived", 45, 18)
    assert "at each of its 45 instances that meets its hypotheses (18)" in str(verdict)
    assert falsify(few(lambda x: at_least(x, 9), [lambda x: at_least(x, 9)])).status == "vacuous"


def test_hypotheses_that_nobody_decides_make_nothing_vacuous():
    tally = Tally(evaluations=2, accepted=1, judged=2, outside=1, open=1)
    assert conclude(few(lambda x: at_least(x, 0)), tally, 0, 0, 0.0, (), 2).status == "gave up"


def test_sizes_and_options_are_gone_through_and_what_has_no_end_is_not():
    verdict = falsify(few(lambda S: at_least(total(S), 0), S=Subset("n")))
    assert verdict.every == sum(2**n for n in range(1, 7))
    assert "n = 1..6" in str(verdict)
    norms = few(lambda x, norm: at_least(row_norms(x, norm), 0), x=Given([[1, 2]], [[3, 4]]), norm=Norm(2, bases=False))
    assert falsify(norms).every == 6
    endless = few(lambda x, norm: at_least(row_norms(x, norm), 0), x=Given([[1, 2]], [[3, 4]]), norm=Norm(2))
    assert exhaustion.count(endless) is None
    assert exhaustion.count(few(lambda x: at_least(x, 0), x=Whole(0, exhaustion.MOST))) is None
    assert exhaustion.count(few(lambda x: at_least(x, 0), x=Whole(1, exhaustion.MOST))) == exhaustion.MOST


def test_equalities_that_digits_alone_decide_are_said_to_be_so():
    verdict = falsify(few(lambda x: equal(sqrt(2 + x) * sqrt(3 + x), sqrt((2 + x) * (3 + x)))))
    assert verdict.status == "survived"
    if verdict.tally.tied:
        assert f"{verdict.tally.tied} of them as far as digits tell" in str(verdict)


def test_a_check_goes_through_them_too():
    row = check_one(few(lambda x, y: at_least(x * x, y * 0)), "quick", 0)
    assert (row.verdict, row.accepted) == ("survived", 45)


# ---- the engine Hypothesis --------------------------------------------------


def shown(claim, seed=3, count=120):
    """The instances that the engine shows, in order."""
    seen = []

    def score(raw):
        seen.append((dict(raw.sizes), {name: values.tolist() for name, values in raw.arrays.items()}))
        return 0.0  # nothing to climb to, so that all are drawn

    hypothesis_instances(claim, count, seed, score)
    assert len(seen) >= count / 2
    return seen


def wide():
    """A claim about whole numbers of wide ranges, each drawn alone."""
    over = {"x": rs.domains.Integers(3, 3), "y": rs.domains.Whole(1000, 10**6)}
    return rs.claim("mine.wide", over=over)(lambda x, y: rs.at_most(x, y))


def test_what_hypothesis_draws_depends_on_the_seed_and_not_on_what_was_imported(tmp_path, monkeypatch):
    before = shown(wide())
    (tmp_path / "of_many_numbers.py").write_text(f"NUMBERS = {[10**5 + 977 * k for k in range(900)]}\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("of_many_numbers")
    try:
        assert is_local_module_file(module.__file__)  # else the constants of it would not be drawn anyway
        assert shown(wide()) == before
    finally:
        del sys.modules["of_many_numbers"]
    assert shown(wide(), seed=4) != before


def test_nor_on_the_profile_nor_on_being_observed():
    before = shown(wide(), count=40)
    few = shown(wide(), count=6)
    with observability.with_observability_callback(lambda _: None):  # which traces every line
        assert shown(wide(), count=6) == few
    now = settings.get_current_profile_name()
    settings.register_profile("theirs", derandomize=True, max_examples=3, print_blob=True)
    settings.load_profile("theirs")
    try:
        assert shown(wide(), count=40) == before
    finally:
        settings.load_profile(now)


@pytest.mark.parametrize(("low", "high"), [(0, 3), (-5, 10**9), (10**6, 10**6 + 300), (-(2**53), 2**53), (-900, -700)])
def test_whole_numbers_are_those_of_the_range(low, high):
    numbers = whole_numbers(low, high)
    quiet = settings(max_examples=200, database=None, derandomize=True, deadline=None)
    drawn = []

    @quiet
    @given(numbers)
    def look(x):
        drawn.append(x)
        assert low <= x <= high

    look()
    assert len(set(drawn)) >= min(high - low + 1, 20)
    assert find(numbers, lambda _: True, settings=quiet) == min(max(0, low), high)  # the nearest to zero
