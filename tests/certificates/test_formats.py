"""Every form of a counterexample: all are written, those that run are run, and those that check can say no."""

import json
import os
import re
import subprocess
import sys

import pytest
from flint import arb

from resstream import claims
from resstream.arithmetic import Ball
from resstream.errors import ClaimError, NotExpressible
from resstream.falsify import falsify, formats
from resstream.falsify.formats import check
from resstream.falsify.formats.bounds import decimal_bounds
from resstream.falsify.formats.trace import trace
from resstream.reference import spectral_norm

NOT_SO = "not so:"
"""What a file prints first when it rejects."""


def exit_status(text):
    """How a file ends when Python runs it, and the first word that it prints."""
    printed = []
    try:
        exec(compile(text, "certificate", "exec"), {"__name__": "__main__", "print": lambda *a: printed.append(a[0])})
    except SystemExit as stop:
        return stop.code or 0, printed[0]
    return 0, printed[0]


def alone(text):
    """The same in a process of its own, which sees nothing of this package."""
    return subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=120, check=False)


def test_every_refuted_claim_is_checked(refuted, counterexample):
    """`check` accepts the counterexample, and rejects it with a side, the comparison or the instance changed."""
    text = counterexample(refuted).to("check")
    assert "resstream" not in re.sub(r'^""".*?"""', "", text, flags=re.DOTALL)
    assert exit_status(text)[0] == 0
    assert exit_status(other_comparison(text)) == (1, NOT_SO)
    assert (1, NOT_SO) in [exit_status(mutant) for mutant in other_sides(text)]


def other_sides(text):
    """The file with one digit of what it states of a side changed, in every such place."""
    for line in re.finditer(r"^require\(\"[lr]hs (?:is|lies).*$", text, re.MULTILINE):
        for found in re.finditer(r"(?<=Q\()-?(\d)", line[0]):
            place = line.start() + found.end() - 1
            digit = str(int(text[place]) % 9 + 1)
            yield text[:place] + digit + text[place + 1 :]


def other_comparison(text):
    """The comparison that fails the conclusion is its own contrary."""
    contrary = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}
    return re.sub(r", lhs (\S+) rhs\)", lambda found: f", lhs {contrary[found[1]]} rhs)", text)


def test_digits_of_the_instance_count(counterexample):
    """Another digit in the instance: the sides are no longer those that are stated, or a fact fails."""
    tried = rejected = 0
    for claim_id in ("contraction.diameter_squared", "contraction.every_pair", "contraction.scores_quarter"):
        text = counterexample(claim_id).to("check")
        start = text.index("# The instance")
        for found in re.finditer(r"Q\((\d)", text[start : text.index("\n\n", start)]):
            place = start + found.end() - 1
            tried += 1
            rejected += exit_status(text[:place] + str(int(text[place]) % 9 + 1) + text[place + 1 :])[0] == 1
    assert tried >= 20
    assert rejected >= tried / 2, "the others are counterexamples too"


@pytest.mark.parametrize("claim_id", ["contraction.diameter_squared", "contraction.scores_quarter"])
def test_a_file_stands_alone(counterexample, claim_id):
    """In a process without this package: accepted with 0, and with 1 where a check fails."""
    text = counterexample(claim_id).to("check")
    done = alone(text)
    assert done.returncode == 0, done.stderr
    assert f"checks hold: {claim_id} is false" in done.stdout
    done = alone(other_comparison(text))
    assert done.returncode == 1
    assert "not so" in done.stdout


def test_a_certificate_states_all_of_it(counterexample):
    """Membership, hypotheses, branches, both sides, and that the conclusion fails."""
    text = counterexample("layernorm.invariant_to_sign").to("check")
    for words in ("# The instance", "# The hypotheses", "# Branches, divisors and radicands", "# The conclusion"):
        assert words in text
    assert "is a member of RowStochastic(n)" in counterexample("contraction.diameter_squared").to("check")


def test_code_runs(counterexample):
    """NumPy and SymPy find the sides on the right sides of each other."""
    for claim_id in ("contraction.diameter_squared", "contraction.scores_quarter"):
        for form in ("numpy", "sympy"):
            done = alone(counterexample(claim_id).to(form))
            assert done.returncode == 0, done.stderr
            assert done.stdout.rstrip().endswith("True"), done.stdout


def test_every_form_is_written(counterexample):
    found = counterexample("contraction.scores_quarter")
    texts = {name: found.to(name) for name in formats.formats()}
    assert len(set(texts.values())) == len(texts) >= 11
    assert json.loads(texts["json"])["claim"] == "contraction.scores_quarter"
    assert "norm_num" in counterexample("contraction.diameter_squared").to("lean")
    assert "has not been\nchecked" in texts["lean"]
    assert "sorry" in texts["lean"], "bounds of exponentials are left open, and said to be"
    assert "sorry" not in counterexample("contraction.diameter_squared").to("lean")


def test_the_registry_is_open():
    form = formats.Format("headline", ".txt", "one line", lambda c: c.claim.headline)
    formats.register(form)
    try:
        found = falsify(claims.lookup("contraction.mean_token")).counterexample
        assert found.to("headline").startswith("Tempting and false")
        with pytest.raises(ClaimError, match="already"):
            formats.register(form)
        with pytest.raises(ClaimError, match=r"expected a resstream\.falsify\.formats\.Format, got str"):
            formats.register("headline")
    finally:
        formats._FORMATS.pop("headline")
    with pytest.raises(ClaimError, match="expected one of text, json, latex"):
        formats.lookup("headline")


PACK = """
from resstream.falsify.formats import Format
headline = Format("headline", ".txt", "one line", lambda found: found.claim.id + " is false")
other = "no format"
"""


@pytest.mark.parametrize(
    ("entry", "printed", "status"),
    [
        ("headline = pack_of_forms:headline", "contraction.mean_token is false\n", 1),
        (
            "other = pack_of_forms:other",
            "formats: other = pack_of_forms:other: expected a Format, got str",
            2,
        ),
        ("gone = pack_of_forms:gone", "formats: gone = pack_of_forms:gone: AttributeError", 2),
    ],
)
def test_an_installed_distribution_adds_a_form(tmp_path, entry, printed, status):
    """By an entry point, and the command line takes it; one that cannot be had is an error that names it."""
    (tmp_path / "pack_of_forms.py").write_text(PACK)
    (tmp_path / "pack_of_forms-1.dist-info").mkdir()
    (tmp_path / "pack_of_forms-1.dist-info" / "METADATA").write_text("Name: pack-of-forms\nVersion: 1\n")
    (tmp_path / "pack_of_forms-1.dist-info" / "entry_points.txt").write_text(f"[{formats.GROUP}]\n{entry}\n")
    command = [
        sys.executable,
        "-m",
        "resstream",
        "falsify",
        "contraction.mean_token",
        "--no-memory",
        "--as",
        "headline",
    ]
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == status, done.stderr
    said = done.stdout if status == 1 else " ".join(done.stderr.split())
    assert printed in said


def test_what_has_no_words_is_said():
    """The spectral norm of a 3 x 3 matrix has no closed form: no certificate, and the reason."""
    claim = claims.lookup("dobrushin.spectral_norm").replace(
        lhs=lambda A: spectral_norm(A), sizes={"n": range(3, 4)}, id="norm_of_three"
    )
    found = falsify(claim).counterexample
    assert found is not None
    with pytest.raises(NotExpressible, match="spectral norm"):
        found.to("check")


def test_a_trace_holds(counterexample):
    """Every fact of a trace is certain in terms."""
    found = counterexample("literature.collapse_lemma_boundary")
    facts = trace(found.claim, found.raw).facts
    assert len(facts) >= 3
    assert all(fact.holds() for fact in facts)


def test_bounds_enclose():
    """Decimal bounds lie on both sides of what they bound, a few units of the last digit apart."""
    with Ball(256).working():
        for value in (arb(2).sqrt(), -arb(2).sqrt() / 10**30, arb(10) ** 20 / 3, arb(0), arb(0.25, 1e-9)):
            low, high = decimal_bounds(value)
            assert value > arb(low)
            assert value < arb(high)


def test_the_prelude_is_sound():
    """The intervals of a certificate: certain comparisons only, exact values where there are some."""
    scope = {"__name__": "prelude"}
    text = check._HEAD.format(id="x", statement="", needs="", more=check._INTERVALS.read_text())
    exec(compile(text, "prelude", "exec"), scope)
    Q, exp, sqrt = scope["Q"], scope["exp"], scope["sqrt"]
    one = exp(Q(1))
    assert not one < one
    assert not one > one * Q(1)
    assert (one != one * Q(1)) is False
    assert one <= one
    assert Q(271828, 100000) < one < Q(271829, 100000)
    assert sqrt(Q(4, 9)) == Q(2, 3)
    assert Q(14142, 10000) < sqrt(Q(2)) < Q(14143, 10000)
    root = sqrt(Q(2))
    assert root * root == Q(2)
    assert one - one == 0
    assert one / one == 1
    assert one * Q(0) == 0
    for undefined in (lambda: 1 / (one - exp(Q(1))), lambda: sqrt(Q(-1)), lambda: scope["log"](one - exp(Q(1)))):
        with pytest.raises(SystemExit):
            undefined()
