"""Claims about a size that grows: evidence along doubling sizes, and what a stated bound refutes."""

import json

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resstream import claims
from resstream.arithmetic import Ball, e, exact, log, ones, sqrt
from resstream.audit import audit
from resstream.audit.report.data import to_json
from resstream.audit.report.referee import opening
from resstream.audit.report.words import headline
from resstream.claim import Claim, Instance, at_most, limit, rate
from resstream.domains import Count, Matrix, Positive, Product, RowStochastic, Scalar, Stack, Vector
from resstream.errors import ClaimError
from resstream.falsify import evidence, falsify
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.check import check_one
from resstream.falsify.replay import replay
from resstream.falsify.report import verdict_json
from resstream.falsify.search import Chunk, search
from resstream.falsify.variants import statement, vary
from resstream.prove.goals import prove
from resstream.reference import LINF, diameter

COUNT = {"c": Positive(), "L": Count("L")}
LAYERS = {"As": Stack("L", RowStochastic("n")), "X": Matrix("n", "d")}
SMALL = {"n": range(1, 3), "d": range(1, 2)}


def of(quantity, as_grows, over=COUNT, **fields):
    return Claim("trial.growth", over, quantity, as_grows=as_grows, **fields)


def cloud(As, X):
    for A in As:
        X = A @ X
    return diameter(X, LINF)


def euler(c, L):
    return c * (1 + exact(1, L)) ** L


def tried(stated, budget=600):
    return falsify(stated, budget)


def like(c):
    return ones((1, 1), like=c)


# ---- verdicts ---------------------------------------------------------------

LOOKS = [
    ("power", lambda c, L: c * exact(1, L), limit("L"), "evidence"),
    ("root", lambda c, L: c / sqrt(L * like(c)), limit("L"), "evidence"),
    ("geometric", lambda c, L: c * exact(9, 10) ** L, limit("L", monotone="decreasing"), "evidence"),
    ("power_and_more", lambda c, L: c * (exact(1, L) + exact(1, L * L)), limit("L"), "evidence"),
    ("from_below", euler, limit("L", lambda c: c * e, monotone="increasing"), "evidence"),
    ("at_once", lambda c, L: c * (L < 2), limit("L", monotone="decreasing"), "evidence"),
    ("plateau", lambda c, L: c * (exact(1, 2) + exact(1, L)), limit("L"), "undecided"),
    ("low_plateau", lambda c, L: c * (exact(1, 200) + exact(1, L)), limit("L"), "undecided"),
    ("constant", lambda c: c, limit("L"), "undecided"),
    ("grows", lambda c, L: c * L, limit("L"), "undecided"),
    ("logarithm", lambda c, L: c / log((L + 1) * like(c)), limit("L"), "undecided"),
    ("oscillates", lambda c, L: c * exact((-1) ** L.bit_length(), 1), limit("L"), "undecided"),
    ("rises", lambda c, L: c * L, limit("L", monotone="decreasing"), "refuted"),
    ("crosses", lambda c, L: c * (exact(1, L) - exact(1, 50)), limit("L", monotone="decreasing"), "refuted"),
    ("too_low", euler, limit("L", lambda c: exact(271, 100) * c, monotone="increasing"), "refuted"),
    ("bounded", lambda c, L: c * (1 - exact(1, L)), rate("L"), "evidence"),
    ("exact_order", lambda c, L: c * (3 * L + 1), rate("L", lambda L: L, monotone="decreasing"), "evidence"),
    ("logarithmic", lambda c, L: c * log((L + 1) * like(c)), rate("L"), "undecided"),
    ("slow_power", lambda c, L: sqrt(L * like(c)), rate("L"), "undecided"),
    ("quotient_rises", lambda c, L: c * L, rate("L", lambda L: exact(1, L), monotone="decreasing"), "refuted"),
    ("constant_fails", lambda c, L: c * L, rate("L", lambda L: L, constant=lambda c: c * exact(1, 2)), "refuted"),
    ("constant_fails_late", lambda c, L: c * L, rate("L", constant=lambda c: 100 * c), "refuted"),
]


@pytest.mark.parametrize(("quantity", "as_grows", "wanted"), [one[1:] for one in LOOKS], ids=[one[0] for one in LOOKS])
def test_what_a_quantity_looks_like(quantity, as_grows, wanted):
    verdict = tried(of(quantity, as_grows))
    assert verdict.status == wanted, str(verdict)
    assert verdict.as_expected == (wanted == "evidence")
    if wanted == "refuted":
        shown = verdict.counterexample
        assert isinstance(certify(verdict.claim, shown.raw), Certificate)
    else:
        assert verdict.counterexample is None
        assert verdict.evidence.followed >= 3


def test_nothing_survives_by_evidence_and_it_is_said_to_be_none():
    text = str(tried(of(euler, limit("L", lambda c: c * e))))
    assert "survived" not in text
    assert "evidence for the limit, which is no proof" in text
    assert "no bound is stated beside it, so no instance could refute it" in text
    against = str(tried(of(lambda c: c, limit("L"))))
    assert "undecided, with evidence against it, which refutes nothing" in against
    assert "did not fall at each of the last three doublings" in against


def test_products_of_64_layers_and_a_sequence_that_does_not_fall():
    stated = of(cloud, limit("L", monotone="decreasing"), LAYERS, sizes=SMALL)
    verdict = tried(stated)
    assert verdict.status == "undecided"  # layers that copy every token are among them
    assert verdict.evidence.open > 0
    assert verdict.evidence.shown.lengths == (1, 2, 4, 8, 16, 32, 64)
    assert verdict.evidence.judged == 7 * verdict.evidence.followed > 0
    assert verdict.evidence.json() == evidence.weigh(stated, 0).json()


def test_a_bound_that_fails_at_64_layers_alone_is_refuted_there():
    def late(xs):
        return exact(len(xs) // 40, 1) + 0 * xs[0]

    verdict = tried(of(late, limit("L", monotone="decreasing"), {"xs": Stack("L", Scalar())}))
    assert verdict.status == "refuted"
    assert verdict.tally.engine == "doubling"
    assert 40 <= verdict.counterexample.raw.sizes["L"] <= 64
    shown = json.loads(json.dumps(verdict_json(verdict)))
    assert shown["counterexample"]["raw"]["sizes"] == dict(verdict.counterexample.raw.sizes)


# ---- certified values -------------------------------------------------------


@settings(max_examples=10)
@given(st.lists(st.lists(st.integers(1, 9), min_size=9, max_size=9), min_size=8, max_size=8))
def test_values_along_layers_are_those_of_mpmath_at_30_digits(layers):
    stated = of(cloud, limit("L"), LAYERS)
    weights = np.array(layers, dtype=float).reshape(8, 3, 3)
    points = np.array([[0.0], [1.0], [3.0]])
    raw = Instance({"L": 8, "n": 3, "d": 1}, {}, {"As": weights, "X": points})
    with mpmath.workdps(40), (system := Ball(256)).working():
        values = stated.along(stated.build(raw, system))
        column, wanted = mpmath.matrix([0, 1, 3]), []
        for layer in weights:
            shares = [[mpmath.mpf(v) / sum(row) for v in map(int, row)] for row in layer.tolist()]
            column = mpmath.matrix(shares) * column
            wanted.append(max(column) - min(column))
        compared = 0
        for length in (1, 2, 4, 8):
            (found,) = values(None, length).reshape(-1)
            text = found.value.str(35, radius=False)
            assert abs(mpmath.mpf(text) - wanted[length - 1]) <= mpmath.mpf(10) ** -30
            compared += 1
        assert compared == 4


def test_distances_that_are_shown_are_those_of_mpmath():
    to_e = limit("L", e, monotone="increasing")
    verdict = tried(of(lambda L: (1 + exact(1, L)) ** L, to_e, {"L": Count("L")}), 20_000)
    rows = list(verdict.evidence.shown.rows())
    assert [int(length) for length, _ in rows] == [2**k for k in range(11)]
    with mpmath.workdps(40):
        for length, shown in rows:
            wanted = mpmath.e - (1 + mpmath.mpf(1) / int(length)) ** int(length)
            assert shown == mpmath.nstr(wanted, 10, strip_zeros=False)


def test_the_beginning_of_an_instance_has_the_first_layers():
    stated = of(cloud, limit("L"), LAYERS)
    arrays = {"As": np.arange(18.0).reshape(2, 3, 3), "X": np.eye(3)}
    one = evidence.beginning(stated, Instance({"L": 2, "n": 3, "d": 3}, {}, arrays), 1)
    assert one.sizes == {"L": 1, "n": 3, "d": 3}
    assert one.arrays["As"].tolist() == arrays["As"][:1].tolist()
    assert one.arrays["X"].tolist() == arrays["X"].tolist()


# ---- what is not known ------------------------------------------------------


def test_too_few_doublings_and_hypotheses_that_are_never_met():
    few = tried(of(euler, limit("L", lambda c: c * e), sizes={"L": range(1, 7)}))
    assert (few.status, few.evidence.followed) == ("undecided", 0)
    assert "doubles too few times" in str(few)

    def never_at_eight(L):
        return at_most(L, 7)

    verdict = tried(of(euler, limit("L", lambda c: c * e), assuming=(never_at_eight,)))
    assert verdict.status == "gave up"


def test_a_value_that_is_missing_is_neither_evidence_nor_a_refutation():
    verdict = tried(of(lambda c, L: c / (L - 8 if L == 8 else 1) * exact(1, L), limit("L")))
    assert verdict.status in ("undecided", "error")
    assert "zero" in str(verdict)


def test_a_limit_in_time_is_kept_and_said():
    def slow(c, L):
        import time

        time.sleep(0.2 if L > 8 else 0)
        return c * exact(1, L)

    verdict = falsify(of(slow, limit("L")), 200, seconds=1.5)
    assert verdict.status == "gave up"
    assert "the time limit was reached" in str(verdict)


def test_a_fault_of_the_quantity_is_an_error_with_its_line():
    def raises(c, L):
        if L > 6:
            raise KeyError("beyond the sizes searched")
        return c

    verdict = tried(of(raises, limit("L")))
    assert verdict.status == "error"
    assert "beyond the sizes searched" in verdict.tally.error

    with pytest.raises(ClaimError, match="returned a relation, expected the quantity that tends to 0"):
        tried(of(lambda c, L: at_most(c, L), limit("L")))


# ---- what is refused --------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: limit(3), "limit: size: expected a name"),
        (lambda: limit("L", 0.5), r"to: expected a whole number.*write exact\('0.5'\)"),
        (lambda: limit("L", True), "to: expected a whole number"),
        (lambda: limit("L", monotone="falling"), "monotone: expected 'decreasing'"),
        (lambda: rate("L", "L"), "order: expected a whole number"),
        (lambda: rate("L", constant=0.1), "constant: expected"),
        (lambda: rate("L", monotone="increasing"), "monotone: expected 'decreasing' or None"),
        (lambda: of(euler, "L"), r"expected limit\(...\) or rate\(...\)"),
        (lambda: of(euler, limit("n")), "'n' is no size of its domains, expected one of L"),
        (lambda: of(lambda x: x, limit("L"), {"x": Vector("L")}), r"x in Matrix\(1, L\) is no list of L objects"),
        (
            lambda: of(euler, limit("L"), {"c": Product(Matrix("L", 1)), "L": Count("L")}),
            "is no list of L objects",
        ),
        (lambda: of(euler, limit("L", lambda L: L)), "to is a function of 'L', expected one of"),
        (lambda: of(cloud, limit("L", lambda As: len(As)), LAYERS), "to is a function of 'As'"),
        (lambda: of(euler, rate("L", lambda y: y)), "order is a function of 'y'"),
        (lambda: of(euler, limit("L")).replace(rhs=lambda rhs: rhs), "has no sides; give a conclusion"),
        (lambda: of(euler, limit("L")).at(c=1, L=2), "which no objects hold or violate"),
        (
            lambda: of(euler, limit("L"))(c=np.ones((1, 1)), L=2),
            "tends to 0 as L grows, which says nothing of one size",
        ),
        (lambda: of(euler, None).along({}), "says nothing of a size that grows"),
    ],
)
def test_what_is_no_claim_about_growth_is_refused(made, said):
    with pytest.raises(ClaimError, match=said):
        made()


def test_a_new_conclusion_is_an_ordinary_claim():
    again = of(euler, limit("L")).replace(conclusion=lambda c: at_most(c, 2 * c))
    assert again.as_grows is None
    assert falsify(again, 300).status == "survived"


def test_domains_that_do_not_grow_say_so():
    assert not Stack("L", Matrix("L", 1)).grows_with("L")
    assert not Matrix("L", 1).grows_with("L")
    with pytest.raises(NotImplementedError, match="begins with"):
        Matrix("L", 1).beginning(np.ones((2, 1)), 1)


def test_two_limits_are_two_statements():
    stated = [of(euler, one) for one in (limit("L", 1), limit("L", 2), limit("L", 1, monotone="increasing"))]
    stated.append(of(euler, limit("L", lambda c: c)))
    assert len({statement(one) for one in stated}) == 4


# ---- the other rooms --------------------------------------------------------


def test_no_size_is_a_proof_of_a_limit():
    stated = of(lambda c: 0 * c, limit("L"))
    answers = prove(stated, 2.0)
    assert answers
    assert not any(answer.proved for answer in answers)
    assert all("grows" in answer.detail for answer in answers)


def test_an_audit_says_its_verdict_and_nothing_of_a_size():
    found = audit(claims.lookup("depth.signed_branches_limit"), budget=600, seconds=20)
    assert (found.status, found.as_expected) == ("evidence", True)
    assert "evidence for the limit, which is no proof" in headline(found)
    assert opening(found)[0].startswith("Evidence for the limit, and no proof")
    assert [reason for reason in found.missing if "nothing of a size" in reason]
    assert not any((found.parts, found.proofs, found.necessity, found.beyond))
    data = to_json(found)
    assert data["evidence"]["speaks_for_it"] is True
    assert any(sentence["section"] == "as a size grows" for sentence in data["sentences"])


def test_it_is_shown_as_json_and_html_with_its_table():
    verdict = tried(of(euler, limit("L", lambda c: c * e, monotone="increasing")))
    data = json.loads(json.dumps(verdict_json(verdict)))
    assert data["status"] == "evidence"
    assert data["evidence"]["bounds"] == "increasing in L, at most its limit"
    assert [row["size"] for row in data["evidence"]["shown"]["along"]] == [2**k for k in range(11)]
    page = verdict._repr_html_()
    assert 'class="status evidence"' in page
    assert "<pre>" in page
    assert "1024" in page
    assert "The quantity tends to its stated limit as L grows." in verdict.claim._repr_html_()


def test_a_check_tells_it_apart_from_what_survived():
    row = check_one(claims.lookup("depth.path_lengths_spread"), "quick", 0)
    assert (row.verdict, row.as_expected) == ("evidence", True)
    assert row.sizes == {"L": "1..6 and doubled to 1024"}


def test_the_claims_of_the_library_about_depth():
    found = [one for one in claims.library().values() if one.as_grows is not None]
    assert len(found) >= 10
    assert {one.expect for one in found} == {"holds", "fails"}
    for one in found:
        assert one.as_grows.bounds, f"{one.id} states no bound that an instance could refute"


def test_a_search_without_chunks_gives_no_evidence():
    verdict = search(of(euler, limit("L")), [Chunk("random", 0, 8)], floor=100)
    assert (verdict.status, verdict.evidence) == ("gave up", None)


# ---- as text ----------------------------------------------------------------

SHORT = {"sizes": {"L": "1:8", "n": "2", "d": "1"}}
IN_WORDS = [
    (
        "limit(L, lhs, monotone=decreasing)",
        {"over": {"Ws": "Stack(L, Orthogonal(d))"}, **SHORT},
        "tends to 0 as L grows",
        {"undecided"},
    ),
    ("limit(L, lhs - lhs + 1/3, to=1/3)", SHORT, "tends to 1/3 as L grows", {"evidence"}),
    (
        "rate(L, lhs, constant=1/2, order=1/L)",
        SHORT,
        "is at most 1/2 times its stated order as L grows",
        {"refuted"},
    ),
]


@pytest.mark.parametrize(("text", "changes", "wording", "wanted"), IN_WORDS, ids=[one[0] for one in IN_WORDS])
def test_a_limit_or_a_rate_as_text(text, changes, wording, wanted, tmp_path):
    varied = vary(claims.lookup("contraction.stack"), conclusion=text, **changes)
    assert varied.as_grows.wording == wording
    verdict = falsify(varied, 120, memory=None)
    assert verdict.status in wanted, str(verdict)
    if verdict.counterexample:
        again = replay(verdict.counterexample.save(tmp_path))
        assert again.json() == verdict.counterexample.json()


def test_what_grows_may_be_stated_anew():
    doubled = vary(claims.lookup("depth.branches_over_depth_limit"), conclusion="limit(L, 2 * quantity, to=2 * exp(a))")
    assert doubled.as_grows == limit("L", doubled.as_grows.to)
    assert falsify(doubled, 200, memory=None).status == "evidence"
    at_one_size = vary(claims.lookup("depth.branches_over_depth_limit"), conclusion="at_most(quantity, 1/100)")
    assert at_one_size.as_grows is None
    assert falsify(at_one_size, 200, memory=None).status == "refuted"


BAD_WORDS = [
    ("limit(k, lhs)", r"column 7: expected a size that grows, one of L, d, n"),
    ("limit(L + 1, lhs)", "expected a size that grows"),
    ("limit(L)", r"expected limit\(size, quantity\) and of to=, monotone= what is needed"),
    ("rate(L, lhs, degree=2)", r"expected rate\(size, quantity\) and of order=, constant=, monotone= what is needed"),
    ("every(limit(L, lhs))", r"column 7: limit\(\.\.\.\) is a whole conclusion"),
    ("limit(L, lhs, to=L)", "conclusion: to, column 1: unknown name 'L'"),
    ("limit(L, lhs, monotone=falling)", "monotone: expected 'decreasing', 'increasing' or None, got 'falling'"),
    ("limit(n, lhs)", "As in .* is no list of n objects"),
    ("limit(L, quantity)", "unknown name 'quantity'"),
    ("limit(L, at_most(lhs, rhs))", "unknown function 'at_most'"),
]


@pytest.mark.parametrize(("text", "message"), BAD_WORDS, ids=[one[0] for one in BAD_WORDS])
def test_a_limit_in_bad_words_is_refused(text, message):
    with pytest.raises(ClaimError, match=message):
        vary(claims.lookup("contraction.stack"), conclusion=text)


def test_growth_without_a_quantity_is_refused():
    with pytest.raises(ClaimError, match="expected a conclusion beside it, which gives the quantity"):
        claims.lookup("contraction.stack").replace(as_grows=limit("L"))
