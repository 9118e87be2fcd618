"""Counterexamples to claims whose code is not at hand: judged from their terms, as data, and hostile ones refused."""

import json
import subprocess
import sys
import time

import pytest

import resstream as rs
from resstream import claims
from resstream.errors import ClaimError
from resstream.falsify import falsify, load_claims
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.recorded import Recorded, judged, record
from resstream.falsify.replay import replay

FILE = '''
import resstream as rs

OVER = {"A": rs.domains.RowStochastic("n"), "X": rs.domains.Matrix("n", "d")}


def of_power(power):
    def conclusion(A, X):
        return rs.at_most(rs.reference.diameter(A @ X), rs.reference.dobrushin(A) ** power * rs.reference.diameter(X))

    return conclusion


class Suite:
    @rs.claim("theirs.in_class", over=OVER)
    def inside(A, X):
        """diam(AX) <= tau(A)^2 diam(X)."""
        return of_power(2)(A, X)


inside = Suite.inside
closed = rs.claim("theirs.closed", over=OVER)(of_power(3))
'''


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Saved counterexamples by name: of a class and a closure of a file that is gone, of functions made on the spot."""
    there = tmp_path_factory.mktemp("theirs")
    source = there / "claims_theirs.py"
    source.write_text(FILE)
    stated = load_claims(source)
    made = rs.claim("mine.softmax", over={"x": rs.domains.Vector("d")})(
        lambda x: rs.at_most(rs.reference.softmax(x), rs.exact("0.9"))
    )
    below = rs.lookup("contraction.diameter").replace(rhs=lambda rhs: rs.exact("0.9") * rhs)
    kept = {"class": stated["theirs.in_class"], "closure": stated["theirs.closed"], "spot": made, "changed": below}
    paths = {name: falsify(one, 2000).counterexample.save(there / "found") for name, one in kept.items()}
    source.unlink()
    return paths


@pytest.mark.parametrize("name", ["class", "closure", "spot", "changed"])
def test_the_file_alone_is_enough_whatever_stated_the_claim(found, name):
    again = replay(found[name])
    assert isinstance(again, Recorded)
    assert again.judgement.outcome == "violated"
    assert len(again.trace().facts) > 1
    data = json.loads(found[name].read_text())
    assert (str(again.judgement.lhs), str(again.judgement.rhs)) == (data["lhs"], data["rhs"])
    assert "the claim's own code was not run" in str(again)
    assert "refuted" not in str(again)  # that is a word of a claim that was judged
    assert again.json() == data


def test_every_form_that_needs_no_code_is_had(found, tmp_path):
    again = replay(found["class"])
    for form in ("text", "json", "latex", "html", "python", "numpy", "sympy", "rocq", "lean"):
        assert again.to(form).strip(), form
    check = tmp_path / "check.py"
    check.write_text(again.to("check"))
    assert subprocess.run([sys.executable, str(check)], capture_output=True).returncode == 0
    with pytest.raises(ClaimError, match="`--as check` is a file that checks it by itself"):
        again.to("pytest")


def test_where_the_code_is_at_hand_it_is_run_and_compared(tmp_path):
    source = tmp_path / "claims_theirs.py"
    source.write_text(FILE)
    path = falsify(load_claims(source)["theirs.in_class"], 2000).counterexample.save(tmp_path)
    assert isinstance(replay(path, source), Counterexample)
    data = json.loads(path.read_text())
    nodes, (_, lhs, _, rhs) = data["terms"]["nodes"], data["terms"]["violation"][0]
    nodes += ["7", "6"]
    data["terms"]["violation"] = [["conclusion fails", len(nodes) - 2, ">", len(nodes) - 1]]
    assert lhs != rhs
    path.write_text(json.dumps(data))
    with pytest.raises(ClaimError, match="the recorded terms are not those of the claim's code"):
        replay(path, source)
    source.write_text(FILE + "\n")
    with pytest.raises(ClaimError, match="without --claims the recorded terms are judged"):
        replay(path, source)


def test_what_the_library_refutes_is_judged_so_by_its_terms_too():
    counted = 0
    for claim in [one for one in claims.library().values() if one.expect == "fails"][::20]:
        counterexample = falsify(claim, 2000).counterexample
        if counterexample is None:
            continue
        assert counterexample.json()["terms"] is None  # the claim is at hand
        terms = json.loads(json.dumps(record(counterexample, None)))
        again = judged({"claim": claim.id, "terms": terms})
        assert again.judgement.outcome == "violated", (claim.id, again.judgement.reason)
        counted += 1
    assert counted >= 5


def test_a_claim_beyond_terms_says_so_and_is_not_replayed(tmp_path):
    over = {"M": rs.domains.Matrix(3, 3)}
    spectral = rs.claim("mine.spectral", over=over)(lambda M: rs.at_most(rs.reference.spectral_norm(M), 2))
    counterexample = falsify(spectral, 2000).counterexample
    path = counterexample.save(tmp_path)
    if "missing" not in counterexample.json()["terms"]:  # shrunk to a rank that has terms
        assert replay(path).judgement.outcome == "violated"
        data = json.loads(path.read_text())
        path.write_text(json.dumps({**data, "terms": {"missing": "no words for it"}}))
    with pytest.raises(ClaimError, match=r"made of functions on the spot.*no recorded terms to judge by"):
        replay(path)


def test_a_file_that_is_named_is_not_passed_over(found, tmp_path):
    for name, message in (("spot", "does not state it"), ("class", "no file .*absent.py")):
        with pytest.raises(ClaimError, match=message):
            replay(found[name], tmp_path / "absent.py")


# ---- terms that mean harm ---------------------------------------------------


@pytest.fixture(scope="module")
def honest(found):
    return json.loads(found["spot"].read_text())


def with_terms(honest, **changes):
    return {**honest, "terms": {**honest["terms"], **changes}}


def test_a_changed_number_is_not_said_to_fail(honest):
    nodes = ["91/100" if node == "9/10" else node for node in honest["terms"]["nodes"]]
    assert judged(with_terms(honest, nodes=nodes)).judgement.outcome == "violated"  # 1 > 91/100 as well
    nodes = ["11/10" if node == "9/10" else node for node in honest["terms"]["nodes"]]
    again = judged(with_terms(honest, nodes=nodes))
    assert (again.judgement.outcome, again.judgement.reason) == ("holds", "conclusion fails: not so")
    false = [["x is a member", 0, "<", 0]]
    assert judged(with_terms(honest, domain=false)).judgement.outcome == "outside"


def test_what_the_enclosures_cannot_tell_is_undecided(honest):
    nodes = ["2", ["sqrt", 0], ["*", 1, 1], ["exp", 1], ["log", 3], ["-", 4, 1], "0"]
    terms = {**honest["terms"], "objects": [], "nodes": nodes, "domain": [], "hypotheses": [], "conditions": []}
    tied = {**honest, "terms": {**terms, "violation": [["conclusion fails", 5, ">", 6]]}}
    assert judged(tied).judgement.outcome == "undecided"


BARE = {"objects": [], "domain": [], "hypotheses": [], "conditions": [], "violation": [["x", 0, "<", 0]]}
HUGE = ["3", *(["*", k, k] for k in range(60))]
STEEP = ["3", ["sqrt", 0], *(["exp", k] for k in range(1, 30))]
HOSTILE = [
    ({"nodes": [["__import__", 0]]}, "expected node 0 to be one of"),
    ({"nodes": ["1", ["eval", 0]]}, "expected node 1 to be one of"),
    ({"nodes": ["1", ["+", 0]]}, r"node 1 \(\+\) to have 2 operands"),
    ({"nodes": [["neg", 0]]}, "expected the number of a node before 0"),
    ({"nodes": ["1", ["neg", -1]]}, "expected the number of a node before 1"),
    ({"nodes": ["1", ["neg", True]]}, "expected the number of a node before 1"),
    ({"nodes": ["1", ["neg", 0.0]]}, "expected the number of a node before 1"),
    ({"nodes": ["1", [["neg"], 0]]}, "expected node 1 to be one"),
    ({"nodes": ["1e9"]}, "expected node 0 to be a rational number"),
    ({"nodes": ["1/0"]}, "expected node 0 to be a rational number"),
    ({"nodes": ["9" * 5000]}, "expected node 0 to be a rational number"),
    ({"nodes": [1.5]}, "expected node 0 to be one"),
    ({"nodes": ["0", ["/", 0, 0]]}, "node 1 has no value"),
    ({"nodes": ["-1", ["sqrt", 0]]}, "node 1 has no value"),
    ({"nodes": HUGE}, "expected numbers of moderate size"),
    ({"nodes": STEEP}, "expected numbers of moderate size|has no value"),
    ({"nodes": ["1"] * 50_001}, "expected at most 50,000 nodes"),
    ({"nodes": {}}, "expected lists of objects, nodes and facts"),
    ({"violation": []}, "expected a fact that contradicts the conclusion"),
    ({"violation": [["x", 0, "is", 0]]}, "expected a comparison among"),
    ({"violation": [["x", 0, ["<"], 0]]}, "expected a comparison among"),
    ({"violation": [["x", 0, "<", 10**6]]}, "expected the number of a node"),
    ({"violation": [["x\x1b[2J", 0, "<", 0]]}, "expected what a fact is about, a line of text"),
    ({"conditions": [["x", 0, "==", 0]] * 5001}, "expected at most 5,000 facts"),
    ({"id": "contraction.diameter"}, "expected the id of the claim that the counterexample names"),
    ({"id": 'x"""\nimport os'}, "expected an id"),
    ({"statement": "\x1b]0;owned\x07"}, "expected a statement in words"),
    ({"sizes": {"n\nimport os": 1}}, "expected whole sizes by name"),
    ({"sizes": {"n": 10**30}}, "expected whole sizes by name"),
    ({"objects": [{"name": "x = os", "shape": [], "entries": [0]}]}, "expected a name that any language takes"),
    ({"objects": [{"name": "lhs", "shape": [], "entries": [0]}]}, "expected a name that any language takes"),
    ({"objects": [{"name": "x", "shape": [10**6, 10**6], "entries": []}]}, "expected x to have entries of its shape"),
    ({"objects": [{"name": "x", "shape": [1], "entries": ["0"]}]}, "expected the number of a node"),
    ({"objects": [{"name": "x", "text": "a\nimport os"}]}, "expected the text of x, a line of text"),
    ({"objects": [5]}, "expected objects with a name"),
    ({"more": 1}, "expected an object with"),
]


@pytest.mark.parametrize("case", range(len(HOSTILE)))
def test_terms_that_mean_harm_are_refused(honest, case):
    changes, message = HOSTILE[case]
    start = time.monotonic()
    with pytest.raises(ClaimError, match=message):
        judged(with_terms(honest, **({**BARE, **changes} if "nodes" in changes else changes)))
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("terms", [None, 5, [], "x", {}, {"missing": "\x1b[2J"}, {"missing": 7}])
def test_what_are_no_terms_is_refused(honest, terms):
    with pytest.raises(ClaimError, match="terms") as refused:
        judged({**honest, "terms": terms})
    assert "\x1b" not in str(refused.value)


def test_a_comment_of_a_form_is_not_ended_by_the_words_of_a_file(honest):
    violation = [["-/ *) \"\"\" '''", *honest["terms"]["violation"][0][1:]]]
    again = judged(with_terms(honest, violation=violation, statement='*) -/ """ \\'))
    assert '*) -/ """' not in again.to("rocq") + again.to("check")
    assert again.to("lean").count("-/") == again.to("lean").count("/-")
    for form in ("check", "numpy", "sympy", "python"):
        compile(again.to(form), form, "exec")
