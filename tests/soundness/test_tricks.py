"""Trick claims go through every tool, and none of them tells a lie about any of them.

What each tool says is listed beside the lies of each trick (tests/soundness/tricks.py); every check counts what it
compared, and fails where that is nothing.
"""

import importlib.util
import json
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from resstream.audit import audit
from resstream.falsify import falsify
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.replay import replay
from resstream.falsify.variants import with_origin
from resstream.falsify.verdict import STATUSES

FILE = Path(__file__).with_name("tricks.py")
BUDGET = 6_000


def _load():
    spec = importlib.util.spec_from_file_location("resstream_tricks", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return {name: (kind, lies, with_origin(made, FILE)) for name, (kind, lies, made) in module.TRICKS.items()}


TRICKS = _load()


@pytest.fixture(scope="module")
def said():
    """The verdict on every trick, searched for once."""
    return {name: falsify(made, BUDGET) for name, (_, _, made) in TRICKS.items()}


def test_there_are_a_hundred_tricks_of_ten_kinds():
    kinds = Counter(kind for kind, _, _ in TRICKS.values())
    assert sum(kinds.values()) >= 100
    assert len(kinds) >= 10
    assert min(kinds.values()) >= 5
    for _, lies, _ in TRICKS.values():
        assert lies <= {"refuted", "survived", "proved"}
        assert lies


@pytest.mark.parametrize("name", TRICKS)
def test_the_falsifier_tells_no_lie(name, said):
    verdict = said[name]
    assert verdict.status in STATUSES
    assert verdict.status not in TRICKS[name][1], str(verdict)
    if verdict.status == "error":
        assert verdict.tally.error
    if verdict.status in ("undecided", "undefined"):
        assert "at {" in str(verdict)  # the instance is shown


def test_every_kind_of_honest_answer_is_given(said):
    counts = Counter(verdict.status for verdict in said.values())
    assert {"refuted", "survived", "undecided", "undefined", "error"} <= set(counts), counts


@pytest.mark.parametrize("kind", ["foreign", "broken", "flaky"])
def test_what_cannot_be_judged_is_an_error_that_names_the_claim(kind, said):
    compared = 0
    for name, verdict in said.items():
        if TRICKS[name][0] == kind and verdict.status == "error":
            assert name in verdict.tally.error
            compared += 1
    assert compared >= 4


def test_every_refutation_is_replayed_from_its_file(said, tmp_path):
    replayed = 0
    for verdict in said.values():
        if verdict.status == "refuted":
            saved = verdict.counterexample.save(tmp_path)
            again = replay(saved, FILE)
            assert isinstance(again, Counterexample), again
            assert json.loads(saved.read_text())["raw"] == again.json()["raw"]
            replayed += 1
    assert replayed >= 20


def test_a_file_that_tells_of_another_instance_is_not_believed(said, tmp_path):
    """The check above can fail: an instance that does not violate is not replayed as a refutation."""
    saved = said["tolerance.strictly_below_its_largest_value"].counterexample.save(tmp_path)
    data = json.loads(saved.read_text())
    data["raw"]["arrays"] = {"x": [["1/2"]]}
    saved.write_text(json.dumps(data))
    assert not isinstance(replay(saved, FILE), Counterexample)


AUDITED = random.Random(0).sample(sorted(TRICKS), 6)
"""benchmarks/audit_tricks.py audits all of them."""


@pytest.mark.parametrize("name", AUDITED)
def test_the_audit_tells_no_lie(name):
    _, lies, made = TRICKS[name]
    found = audit(made, seconds=8, quick=True)
    assert found.status in STATUSES
    assert found.status not in lies
    assert not ("proved" in lies and any(answer.proved for answer in found.proofs))


def test_the_plugin_passes_no_trick_whose_survival_would_be_a_lie(pytester):
    shutil.copy(FILE, pytester.path / "claims_tricks.py")
    result = pytester.runpytest_subprocess("-q", "--claim-budget", str(BUDGET), "-rA", "-p", "no:cacheprovider")
    outcomes = {}
    for line in result.outlines:
        outcome, _, where = line.partition(" ")
        if outcome in ("PASSED", "FAILED", "ERROR") and "::" in where:
            outcomes[where.split("::")[1].split(" ")[0]] = outcome
    assert set(outcomes) == set(TRICKS)
    lied = [name for name, outcome in outcomes.items() if outcome == "PASSED" and "survived" in TRICKS[name][1]]
    assert lied == []
    assert Counter(outcomes.values())["PASSED"] >= 20
