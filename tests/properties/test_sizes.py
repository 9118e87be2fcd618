"""Sizes in formulas, relations between sizes, and sizes far beyond those that are searched."""

import dataclasses
import json

import numpy as np
import pytest

from resstream import claims
from resstream.arithmetic import RATIONAL, SYMBOLIC, Ball, BallEntry, exact, sqrt, square
from resstream.audit import thresholds
from resstream.claim import at_most, claim, equal, every, less_than, more_than, size
from resstream.domains import Matrix, Norm, Orthogonal, Vector
from resstream.domains.sizes import Where, choices
from resstream.errors import ClaimError, DomainError
from resstream.falsify import corners, engines, falsify
from resstream.falsify.climb import climb_shape
from resstream.falsify.counterexample import Counterexample, from_json
from resstream.falsify.formats.trace import trace
from resstream.falsify.judge import HOLDS, OUTSIDE, judge
from resstream.falsify.probe import larger, probe, said
from resstream.falsify.variants import sized, vary, with_origin
from resstream.prove import goals
from resstream.prove.identity import prove_identity
from resstream.reference import L1, L2, row_norms


def norms(constant, **settings):
    """|x|_1 <= c |x|_2, which is true for c = sqrt(d)."""

    @claim("sizes.norms", over={"x": Vector("d")}, **settings)
    def stated(x):
        return at_most(row_norms(x, L1), constant() * row_norms(x, L2))

    return stated


# ---- in formulas ------------------------------------------------------------


def test_a_size_is_a_number_of_every_system():
    seen = []

    def conclusion(X):
        seen.append((size("n"), size("d")))
        return at_most(square(X) * 0, size("n") * size("d"))

    stated = claim("sizes.seen", over={"X": Matrix("n", "d")})(conclusion)
    raw = engines.random_batch(stated, np.random.default_rng(0), 4)
    n, d = raw.sizes["n"], raw.sizes["d"]
    stated.assess(raw)
    for system in (RATIONAL, Ball(128), SYMBOLIC):
        with system.working():
            stated.conclude(stated.build(raw.at(0), system))
    for found in seen:
        assert [value.shape for value in found] == [(1, 1), (1, 1)]
        assert [value.item() == wanted for value, wanted in zip(found, (n, d), strict=True)] == [True, True]
    assert seen[0][0].dtype == np.float64
    assert isinstance(seen[2][0].item(), BallEntry)
    assert len({type(found[0].item()) for found in seen}) == 4


def test_the_root_of_a_size_is_exact():
    assert falsify(norms(lambda: sqrt(size("d"))), 6000).status == "survived"
    less = norms(lambda: sqrt(size("d")) - exact(1, 10))
    found = falsify(less, 6000)
    assert found.status == "refuted"
    assert trace(less, found.counterexample.raw).violation
    refuted = vary(claims.lookup("contraction.diameter"), rhs="rhs * sqrt(d / (d + 1))")
    verdict = falsify(refuted, 4000)
    assert isinstance(from_json(verdict.counterexample.json()), Counterexample)


def test_a_size_where_there_is_no_array_is_a_literal():
    @claim("sizes.norm", over={"norm": Norm("d")}, sizes={"d": range(2, 4)})
    def stated(norm):  # noqa: ARG001
        return more_than(size("d"), 1)

    assert falsify(stated, 400, engines=["random"]).tally.acquitted == 0
    assert judge(stated, engines.random_batch(stated, np.random.default_rng(0), 1).at(0)).outcome == HOLDS


def test_sizes_in_proofs():
    @claim("sizes.mean", over={"x": Vector("d")}, sizes={"d": range(1, 3)})
    def stated(x):
        return equal(size("d") * square(x), square(x) * size("d"))

    @claim("sizes.cauchy", over={"x": Vector("d")}, sizes={"d": range(1, 3)})
    def cauchy(x):
        return at_most(square(x.sum(-1, keepdims=True)), size("d") * square(x).sum(-1, keepdims=True))

    assert prove_identity(stated, {"d": 2}).proved
    assert all(answer.proved for answer in goals.prove(cauchy, sizes=[{"d": 2}]))


def test_names_that_are_no_size_are_refused():
    with pytest.raises(ClaimError, match=r"size\('d'\): no instance is being evaluated"):
        size("d")
    with pytest.raises(ClaimError, match=r"size\('q'\): expected one of d"):
        falsify(norms(lambda: size("q")), 400)
    with pytest.raises(ClaimError, match="unknown name 'q'"):
        vary(claims.lookup("contraction.diameter"), rhs="q * rhs")


# ---- relations between sizes ------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sizes", "holds"),
    [
        ("n >= d + 1", {"n": 3, "d": 2}, True),
        ("n >= d + 1", {"n": 2, "d": 2}, False),
        ("1 < n <= 2 * d", {"n": 4, "d": 2}, True),
        ("1 < n <= 2 * d", {"n": 1, "d": 2}, False),
        ("n % 2 == 0 and not d == n", {"n": 4, "d": 2}, True),
        ("n == 1 or d == 1", {"n": 4, "d": 2}, False),
        ("n // (d - 2) > 0", {"n": 4, "d": 2}, False),
        ("-n < d - 3", {"n": 4, "d": 0}, True),
    ],
)
def test_what_a_relation_of_sizes_says(text, sizes, holds):
    assert Where(text).holds(sizes) is holds
    assert Where(text).names == set(sizes)


@pytest.mark.parametrize("text", ["n", "n +", "n >= 0.5", "f(n) > 1", "n.real > 1", "n > 'a'", "[n] == n", "True", ""])
def test_what_is_no_relation_of_sizes(text):
    with pytest.raises(DomainError, match="where="):
        Where(text)


def test_sizes_by_their_sum():
    found = list(choices({"n": range(1, 4), "d": range(1, 3)}, Where("n >= d")))
    assert found == [{"n": n, "d": d} for n, d in ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2))]
    assert list(choices({}, None)) == [{}]


def wide(where="n >= d + 1", **settings):
    @claim("sizes.wide", over={"X": Matrix("n", "d")}, where=where, **settings)
    def stated(X):  # noqa: ARG001
        return less_than(size("d"), size("n"))

    return stated


def test_a_search_keeps_to_them():
    stated, rng, seen = wide(), np.random.default_rng(0), 0
    shapes = [engines.draw_shape(stated, rng) for _ in range(50)] + [climb_shape(stated, rng) for _ in range(50)]
    for sizes, _ in [*shapes, *corners.shapes(stated)]:
        assert sizes["n"] > sizes["d"]
        seen += 1
    assert seen > 110
    verdict = falsify(stated, 4000)
    assert verdict.status == "survived"
    assert verdict.tally.discarded == 0
    late = wide("n >= d + 5", sizes={"n": range(1, 9)})
    assert all(sizes["n"] >= sizes["d"] + 5 for sizes, _ in corners.shapes(late))


def test_what_is_outside_is_neither_refuted_nor_proved():
    without = dataclasses.replace(wide(), where="")
    found = falsify(without, 2000)
    assert found.status == "refuted"
    raw = found.counterexample.raw
    judged = judge(wide(), raw)
    assert judged.outcome == OUTSIDE
    assert "n >= d + 1" in judged.reason
    assert not wide().assess(raw.batch()).met.any()
    assert wide().replace(where="").fits(raw.sizes)
    for answer in goals.prove(wide()):
        assert answer.sizes["n"] > answer.sizes["d"]
    for sizes in ({"n": 1, "d": 1}, {"n": 1, "d": 2}):
        assert not any(answer.proved for answer in goals.prove(wide(), sizes=[sizes]))
        assert not prove_identity(wide(), sizes).proved


def test_relations_that_a_claim_cannot_have():
    with pytest.raises(ClaimError, match="q is no size of it, expected d, n"):
        wide("n > q")
    with pytest.raises(ClaimError, match="expected sizes of its ranges at which it holds, got none"):
        wide("n > 100")
    with pytest.raises(ClaimError, match="expected a relation of sizes"):
        wide("n >")
    nowhere = wide().replace(sizes={"n": range(1, 2)})  # as an audit asks size by size
    assert not nowhere.assess(engines.random_batch(nowhere, np.random.default_rng(0), 3)).met.any()
    assert len(corners.shapes(nowhere)) == 1
    with pytest.raises(ClaimError, match="got none"):
        vary(wide(), sizes={"n": "1"})
    assert wide("").fits({"n": 1, "d": 9})
    assert wide().nearest_fit({"n": 3, "d": 5}) in (
        {"n": 3, "d": 2},
        {"n": 6, "d": 5},
        {"n": 5, "d": 4},
        {"n": 4, "d": 3},
    )


def test_as_text():
    varied = vary(claims.lookup("contraction.diameter"), rhs="rhs / 2", where="n == d + 1")
    found = falsify(varied, 4000).counterexample
    assert found.raw.sizes["n"] == found.raw.sizes["d"] + 1
    again = from_json(json.loads(json.dumps(found.json())))
    assert again.claim.where == "n == d + 1"


# ---- sizes far beyond -------------------------------------------------------


def test_larger_sizes():
    assert list(larger(wide(), (5, 8))) == [{"d": 8}, {"n": 8}, {"d": 8, "n": 8}]
    assert list(larger(norms(int, sizes={"d": range(1, 3)}), (2, 3))) == [{"d": 3}]


def test_what_fails_late_is_found():
    """|x|_1 <= 7/2 |x|_2 holds up to d = 12."""
    for settings, stated in (({}, True), ({"sizes": {"d": range(1, 5)}}, False)):
        late = norms(lambda: exact(7, 2), **settings)
        assert falsify(late, 3000).status == "survived"
        found = list(probe(late, budget=600))
        assert [one.sizes["d"] for one in found] == [8, 12, 16]
        assert [one.verdict.status for one in found] == ["survived", "survived", "refuted"]
        assert [one.stated for one in found] == [stated] * 3
        lines = said(found, late)
        assert lines[0].startswith(
            "sizes.norms fails at d = 16, beyond the sizes " + ("searched" if stated else "that")
        )
        assert lines[1] == "no violation in a short search at d = 8; d = 12"
    beyond = list(thresholds.far_beyond(norms(lambda: exact(9, 2)), (), 0, lambda: 60.0))
    assert [(one.holds_to, one.fails_from) for one in beyond] == [(16, 24)]


def test_sizes_at_which_nothing_can_be_are_passed_over():
    assert said(list(probe(wide("n == 2 and d == 1"), budget=100)), wide()) == ["no larger sizes were tried"]


def test_the_claim_of_a_probe_can_be_had_again(tmp_path):
    file = tmp_path / "late.py"
    file.write_text("")
    late = with_origin(norms(lambda: exact(7, 2)), file)
    there = sized(late, {"d": 16})
    assert there.id == late.id
    assert there.origin.changes.sizes == {"d": "16"}
    assert sized(there, {"d": 17}).origin.changes.sizes == {"d": "17"}
    with pytest.raises(ClaimError, match="expected at most 64"):
        sized(late, {"d": 65})


def test_a_domain_that_needs_two_sizes_together_can_say_so():
    assert (
        falsify(
            claim("sizes.orthogonal", over={"Q": Orthogonal("d")}, where="d % 2 == 1")(
                lambda Q: every(equal(Q @ Q.mT @ Q, Q), at_most(size("d"), 5))
            ),
            500,
        ).status
        == "survived"
    )
