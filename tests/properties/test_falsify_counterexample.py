"""Counterexamples: shrunk by a stated order, exact, certified by a second checker, and the same in every form."""

import itertools
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from resstream import claims
from resstream.arithmetic import exp, largest_entry
from resstream.claim import Instance, at_most, claim, equal
from resstream.domains import Matrix, RowStochastic, Vector
from resstream.errors import ClaimError
from resstream.falsify import falsify, instance, judge, vary
from resstream.falsify.certify import Certificate
from resstream.falsify.counterexample import Counterexample, from_json
from resstream.falsify.memory import Memory
from resstream.falsify.replay import replay
from resstream.falsify.shrink import Shrinker, cost, tidy
from resstream.falsify.variants import distinct_name
from resstream.reference import diameter, dobrushin, row_norms


@pytest.fixture(scope="module")
def squared():
    """What the command `resstream falsify contraction.diameter --rhs "dobrushin(A)**2 * diameter(X, norm)"` finds."""
    changed = vary(claims.lookup("contraction.diameter"), rhs="dobrushin(A)**2 * diameter(X, norm)")
    return falsify(changed).counterexample


# ---- a second checker, written with nothing but fractions and whole square roo


def root_bounds(value, scale=10**40):
    """Rationals (low, high) with low <= sqrt(value) <= high, one part in `scale` apart, by whole square roots."""
    low = Fraction(math.isqrt(value.numerator * value.denominator * scale**2), value.denominator * scale)
    return low, low + Fraction(1, value.denominator * scale)


def weights_to_rows(weights):
    rows = [[abs(w) for w in row] for row in weights]
    rows = [row if any(row) else [Fraction(1)] * len(row) for row in rows]
    return [[w / sum(row) for w in row] for row in rows]


def times(A, B):
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*B, strict=True)] for row in A]


def l1_tau(A):
    return max(sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x in A for y in A) / 2


def squared_diameter(X):
    return max(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x in X for y in X)


def linf_diameter(X):
    return max(max(abs(a - b) for a, b in zip(x, y, strict=True)) for x in X for y in X)


def fractions_of(counterexample, name):
    return [[Fraction(v) for v in row] for row in counterexample.json()["raw"]["arrays"][name]]


def test_a_second_checker_confirms_a_rational_counterexample(squared):
    assert squared.raw.options["norm.kind"] == "linf"
    A, X = weights_to_rows(fractions_of(squared, "A")), fractions_of(squared, "X")
    lhs, rhs = linf_diameter(times(A, X)), l1_tau(A) ** 2 * linf_diameter(X)
    assert lhs > rhs
    assert (str(lhs), str(rhs)) == (squared.json()["lhs"], squared.json()["rhs"])


@pytest.mark.parametrize("seed", range(3))
def test_a_second_checker_confirms_counterexamples_with_square_roots(seed):
    @claim("trial.roots", over={"A": RowStochastic("n"), "X": Matrix("n", "d")}, sizes={"d": range(2, 5)})
    def roots(A, X):
        return at_most(3 * diameter(A @ X) + 1, 2 * dobrushin(A) * diameter(X) + row_norms(X[..., :1, :]) + 1)

    found = falsify(roots, seed=seed).counterexample
    A, X = weights_to_rows(fractions_of(found, "A")), fractions_of(found, "X")
    lhs = 3 * root_bounds(squared_diameter(times(A, X)))[0] + 1
    rhs = 2 * l1_tau(A) * root_bounds(squared_diameter(X))[1] + root_bounds(sum(x * x for x in X[0]))[1] + 1
    assert lhs > rhs


def test_the_second_checker_can_fail(squared):
    A = weights_to_rows([[Fraction(3), Fraction(1)], [Fraction(1), Fraction(3)]])
    X = fractions_of(squared, "X")
    assert not linf_diameter(times(A, X)) > l1_tau(A) * linf_diameter(X)


# ---- shrinking ---------------------------------------------------------------


def test_the_example_of_the_documents_has_two_tokens_in_one_dimension(squared):
    assert dict(squared.raw.sizes) == {"n": 2, "d": 1}
    assert sum(np.count_nonzero(x != 0) for x in squared.raw.arrays.values()) <= 3


@pytest.mark.parametrize("seed", range(3))
def test_shrinking_ends_at_the_same_sizes_from_any_start(seed):
    stated = claims.lookup("contraction.diameter_squared")
    rng = np.random.default_rng(seed)
    raw = Instance(
        {"n": 5, "d": 4},
        {"norm.kind": "l2", "norm.basis": "standard"},
        {"A": rng.random((5, 5)) + 10 * np.eye(5), "X": rng.standard_normal((5, 4))},
    )
    shrinker = Shrinker.of(stated, raw)
    shrinker.run()
    assert dict(shrinker.exact.sizes) == {"n": 2, "d": 1}
    assert shrinker.exact.options["norm.kind"] == "linf"
    assert all(abs(v) <= 4 and v.denominator <= 4 for x in shrinker.exact.arrays.values() for v in x.flat)


def test_every_step_is_judged_and_goes_down_in_the_order(monkeypatch):
    stated = claims.lookup("contraction.diameter_squared")
    verdict = falsify(stated, engines=("random",))
    start = verdict.tally.violating
    steps = []
    shrinker = Shrinker.of(stated, start, steps.append)
    before = cost(stated, shrinker.floats)
    original, costs = Shrinker._accept, []

    def watched(self, candidate):
        accepted = original(self, candidate)
        if accepted:
            costs.append(cost(stated, candidate))
        return accepted

    monkeypatch.setattr(Shrinker, "_accept", watched)
    shrinker.run()
    assert len(steps) == len(costs) == shrinker.steps > 0
    assert all(later < earlier for earlier, later in itertools.pairwise([before, *costs]))
    assert all(judge.judge(stated, raw).outcome == judge.VIOLATED for raw in steps)


def test_shrinking_again_changes_nothing(squared):
    shrinker = Shrinker.of(squared.claim, squared.raw)
    shrinker.run()
    assert shrinker.steps == 0


def test_the_order_tells_any_two_instances_apart():
    stated = claims.lookup("contraction.diameter_squared")
    shape = {"n": 1, "d": 2}, {"norm.kind": "linf", "norm.basis": "standard"}
    values = (0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 1 / 3, 10.0)
    raws = [
        Instance(*shape, {"A": np.ones((1, 1)), "X": np.array([pair])}) for pair in itertools.product(values, repeat=2)
    ]
    costs = [cost(stated, raw) for raw in raws]
    assert len(set(costs)) == len(raws)
    assert min(costs) == cost(stated, raws[0])


def test_entries_are_read_as_the_simplest_fraction_that_rounds_to_them():
    assert tidy(1 / 3) == Fraction(1, 3)
    assert tidy(0.1) == Fraction(1, 10)
    assert tidy(1e-13) == Fraction(1, 10**13)
    assert tidy(-2.0) == -2
    for value in (math.pi, 1e300, 5e-324, 0.1 + 0.2):
        assert float(tidy(value)) == value


def test_a_violation_in_the_last_digits_is_kept_exactly():
    third = Fraction(0.1)  # the dyadic number beside 1/10

    @claim("trial.last_digit", over={"x": Vector(1)}, assuming=[lambda x: equal(x * (2**55), int(third * 2**55))])
    def last_digit(x):
        return at_most(x, 0)

    shrinker = Shrinker.of(last_digit, Instance({}, {}, {"x": np.array([[0.1]])}))
    shrinker.run()
    assert shrinker.exact.arrays["x"].item() == third


def test_the_largest_violation_is_reported_beside_the_shrunk_one():
    @claim("trial.understated", over={"A": RowStochastic(2), "B": RowStochastic(2)})
    def understated(A, B):
        """The worst is 1/3, at A = B = I; a shrunk instance may be anywhere."""
        return at_most(dobrushin(A @ B), dobrushin(A) * dobrushin(B) / 2)

    found = falsify(understated).counterexample
    assert found.largest_violation >= -found.judgement.margin
    assert found.largest_violation == pytest.approx(1 / 3, rel=1e-9)  # the root of a margin in double precision
    assert judge.judge(understated, found.largest_raw).outcome == judge.VIOLATED


# ---- forms -------------------------------------------------------------------


@pytest.fixture(scope="module")
def irrational():
    @claim("trial.irrational", over={"x": Vector("d")})
    def stated(x):
        """exp is at most 1."""
        return at_most(largest_entry(exp(x)), 1)

    return falsify(stated).counterexample


def test_the_terminal_form_shows_what_one_needs(squared):
    text = str(squared)
    for line in ("with rhs: dobrushin(A)**2 * diameter(X, norm)", "at d = 1, n = 2", "lhs = 1/2", "rhs = 1/4"):
        assert line in text
    assert "lhs > rhs exactly; relative violation 0.333" in text
    assert max(map(len, text.splitlines())) < 160


def test_a_ball_is_shown_with_its_precision(irrational):
    assert "certified at 128 bits" in str(irrational)
    assert irrational.json()["bits"] == 128
    assert "+/-" in irrational.json()["lhs"]


def test_notebooks_get_html_and_latex(squared):
    assert squared._repr_html_().startswith("<style>")
    assert "&lt;=" in squared._repr_html_()
    latex = squared._repr_latex_()
    assert (latex[0], latex[-1]) == ("$", "$")
    assert r"\begin{pmatrix}" in latex
    assert r"\tfrac{1}{2}" in latex
    assert latex.count("{") == latex.count("}")


def test_the_snippet_runs_as_it_stands(squared, irrational, capsys):
    exec(squared.snippet(), {})
    assert "violated" in capsys.readouterr().out
    scope = {}
    exec(irrational.snippet(), scope)
    assert scope["x"][0][0] > 0


def test_the_pytest_file_runs(squared, pytester):
    pytester.makepyfile(test_found=squared.pytest_file())
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_claim_made_on_the_spot_has_no_pytest_file(irrational):
    with pytest.raises(ClaimError, match="made of functions on the spot"):
        irrational.pytest_file()
    with pytest.raises(ClaimError, match="made of functions on the spot"):
        from_json(irrational.json())


def test_json_comes_back_as_it_went(squared):
    data = json.loads(json.dumps(squared.json()))
    again = from_json(data)
    assert isinstance(again, Counterexample)
    assert again.judgement.outcome == judge.VIOLATED
    assert {**again.json(), "largest_raw": None} == {**data, "largest_raw": None}


# ---- replay ------------------------------------------------------------------


@pytest.fixture
def saved(squared, tmp_path):
    return squared.save(tmp_path)


def test_a_saved_file_is_judged_from_the_file_alone(saved):
    assert replay(saved).judgement.outcome == judge.VIOLATED
    assert not list(saved.parent.glob(".*"))


def change(saved, **changes):
    data = json.loads(saved.read_text())
    data.update(changes)
    saved.write_text(json.dumps(data))
    return saved


def test_an_instance_that_does_not_refute_is_not_said_to(saved):
    raw = json.loads(saved.read_text())["raw"]
    raw["arrays"]["X"] = [["0"], ["0"]]
    assert replay(change(saved, raw=raw)).judgement.outcome == judge.HOLDS


BROKEN = [
    ({"format": "else"}, "not a counterexample"),
    ({"claim": "contraction.diametre"}, "did you mean contraction.diameter"),
    ({"claim": 7}, "expected the claim's id"),
    ({"raw": []}, "expected its raw numbers, an object named 'raw'"),
    ({"raw": {"sizes": {}, "options": {}, "arrays": {}}}, "sizes: expected the names"),
    ({"changes": {"rhs": "__import__('os')"}}, "unknown function '__import__'"),
    ({"changes": {"rhs": 3}}, "changes: expected text for rhs"),
    ({"changes": {"exec": "x"}}, "changes: expected an object with some of lhs"),
    ({"changes": {"without": "A"}}, "changes: expected text for without"),
    ({"changes": {"sizes": {"n": "9999"}}}, "size n goes up to 9999, expected at most 64"),
    ({"file": "/etc/passwd"}, "name it with --claims, if you trust it"),
]


@pytest.mark.parametrize(("changes", "message"), BROKEN, ids=[str(changes)[:40] for changes, _ in BROKEN])
def test_hostile_and_broken_files_are_refused(saved, changes, message):
    with pytest.raises(ClaimError, match=message):
        replay(change(saved, **changes))


NUMBERS = ["1e999999999", "0x10", "1/0", "nan", "1.5", "", "9" * 500, 1.5, None, [1], True]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: repr(number)[:12])
def test_only_exact_numbers_are_read(saved, number):
    raw = json.loads(saved.read_text())["raw"]
    raw["arrays"]["X"] = [[number], ["0"]]
    with pytest.raises(ClaimError, match="array X: expected whole numbers or text such as"):
        replay(change(saved, raw=raw))


def test_shapes_and_sizes_are_those_of_the_claim(squared):
    good = squared.json()["raw"]
    with pytest.raises(ClaimError, match=r"array A: expected the shape \(2, 2\), got 1 where 2 were expected"):
        instance(squared.claim, good["sizes"], good["options"], {**good["arrays"], "A": [["1", "0"]]})
    with pytest.raises(ClaimError, match="size n: expected one of"):
        instance(squared.claim, {**good["sizes"], "n": 10**9}, good["options"], good["arrays"])
    with pytest.raises(ClaimError, match=r"option norm\.kind: expected one of"):
        instance(squared.claim, good["sizes"], {**good["options"], "norm.kind": "l3"}, good["arrays"])


def test_files_that_are_no_json_are_refused(tmp_path):
    path = tmp_path / "broken.json"
    for text, message in (("{", "not JSON"), ("[" * 100_000, "not JSON"), ("[]", "not a counterexample")):
        path.write_text(text)
        with pytest.raises(ClaimError, match=message):
            replay(path)
    path.write_text("0" * 4_000_001)
    with pytest.raises(ClaimError, match="expected at most 4,000,000"):
        replay(path)
    with pytest.raises(ClaimError, match="no such file"):
        replay(tmp_path / "absent.json")


# ---- memory ------------------------------------------------------------------


def test_what_was_found_is_tried_first_next_time(tmp_path):
    stated = claims.lookup("contraction.diameter_squared")
    first = falsify(stated, memory=tmp_path)
    second = falsify(stated, seed=5, memory=tmp_path)
    assert first.tally.engine != "memory"
    assert (second.tally.engine, second.tally.evaluations) == ("memory", 1)
    raw, again = first.counterexample.raw, second.counterexample.raw
    assert all((raw.arrays[name] == again.arrays[name]).all() for name in raw.arrays)


def test_memory_that_does_not_refute_any_more_is_passed_over(tmp_path):
    stated = claims.lookup("contraction.diameter")
    changed = vary(stated, rhs="0.9 * rhs")
    falsify(changed, memory=tmp_path)
    assert len(Memory(tmp_path).recall(stated)) == 1  # a claim shares its memory with its modifications
    assert falsify(stated, 5000, memory=tmp_path).status == "survived"
    assert falsify(changed, 5000, memory=tmp_path).tally.engine == "memory"


def test_broken_memory_is_passed_over(tmp_path):
    stated = claims.lookup("contraction.diameter_squared")
    memory = Memory(tmp_path)
    for value in (b"", b"{", b"\xff\xfe", b'{"sizes": {}}', b"[" * 100_000):
        memory._database.save(b"resstream:" + stated.id.encode(), value)
    assert memory.recall(stated) == []
    assert falsify(stated, memory=tmp_path).tally.engine != "memory"


def test_a_light_tally_can_be_sent_between_processes():
    stated = claims.lookup("contraction.diameter_squared")
    found = falsify(stated, 2000).tally
    assert isinstance(found.certificate, Certificate)
    assert found.light().certificate is None
    assert found.light().violating is found.violating


def test_only_the_door_makes_a_certificate_and_only_a_certificate_a_counterexample(squared):
    with pytest.raises(TypeError, match=r"made by .*certify alone"):
        Certificate(squared.claim, squared.raw, squared.judgement, squared.judgement, None)
    with pytest.raises(TypeError, match="made of a certificate"):
        Counterexample(squared.claim, squared.raw, squared.judgement)


def test_a_verdict_reads_well_at_a_prompt_and_in_a_notebook():
    refuted, survived = (falsify(claims.lookup(f"contraction.diameter{end}"), 2000) for end in ("_squared", ""))
    assert repr(refuted).startswith("contraction.diameter_squared is refuted\n")
    assert "evaluations" in repr(refuted)
    assert repr(survived).startswith("contraction.diameter survived: no violation found, which is no proof\n")
    assert ">survived</span>" in survived._repr_html_()
    assert repr(refuted.counterexample) == str(refuted.counterexample)
    assert repr(refuted.claim).startswith("<claim contraction.diameter_squared, expected: fails: Tempting and false")


def test_every_modification_of_a_claim_has_a_name_of_its_own_that_stays():
    stated = claims.lookup("contraction.diameter")
    assert distinct_name(stated) == "contraction.diameter"
    made = [
        lambda: vary(stated, rhs="rhs / 2"),
        lambda: vary(stated, rhs="rhs / 3"),
        lambda: vary(stated, rhs="rhs / 2", sizes={"n": "2:3"}),
        lambda: stated.replace(rhs=lambda rhs: rhs / 2),
        lambda: stated.replace(rhs=lambda rhs: rhs / 3),
        lambda: stated.replace(over={"A": RowStochastic("n")}),
        lambda: stated.replace(sizes={"n": range(2, 3)}),
        lambda: stated.replace(assuming=[lambda X: at_most(largest_entry(X), 1 if "one" in {"one", "two"} else 2)]),
    ]
    names = [distinct_name(make()) for make in made]
    assert len(set(names)) == len(names) == 8
    assert all(re.fullmatch(r"contraction\.diameter\+modified-[0-9a-f]{8}", name) for name in names)
    assert [distinct_name(make()) for make in made] == names
    assert distinct_name(stated.replace(rhs=lambda rhs: rhs / 2, id="mine")) == "mine"
