"""Mutants: what is changed, what is left alone, which tests are asked, and that the list of equivalents is no older."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

SOURCE = '''"""Text."""

from math import sqrt
from typing import TYPE_CHECKING

SCALE = 2.5
if TYPE_CHECKING:
    from numpy import ndarray


def length(x: int, y: int = 3) -> float:
    """Text."""
    if x < 0 and not y:
        raise ValueError(f"negative: {x + 1}")
    x = x * x
    return sqrt(x + y[0])
'''


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def mutants() -> Any:
    loaded("planted")
    return loaded("mutants")


def test_every_operator_number_and_statement_is_changed_and_no_text(mutants: Any) -> None:
    found = mutants.mutants("length.py", SOURCE)
    changes = {(m.function, m.before, m.after) for m in found}
    for expected in (
        ("(module)", "2.5", "6.0"),
        ("length", "3", "4"),
        ("length", "3", "2"),
        ("length", "x < 0", "x <= 0"),
        ("length", "x < 0", "x > 0"),
        ("length", "x < 0 and (not y)", "x < 0 or not y"),
        ("length", "not y", "y"),
        ("length", "x * x", "x / x"),
        ("length", "x = x * x", "pass"),
        ("length", "x + y[0]", "x - y[0]"),
        ("length", "return sqrt(x + y[0])", "return None"),
    ):
        assert expected in changes
    assert any(m.before.startswith("raise ValueError") and m.after == "pass" for m in found)
    assert not any("Text" in m.before or "TYPE_CHECKING" in m.before or m.before == "x + 1" for m in found)
    assert len({m.key for m in found}) == len(found)


def test_a_mutant_is_the_code_with_that_change(mutants: Any) -> None:
    for mutant in mutants.mutants("length.py", SOURCE):
        if mutant.before == "x + y[0]":
            scope: dict[str, Any] = {}
            exec(mutants.mutated(SOURCE, mutant), scope)
            assert scope["length"](3, [5]) == 2


def test_what_is_not_asked_is_no_part_of_the_score(mutants: Any) -> None:
    outcomes = {"a": "noticed by own tests", "b": mutants.SURVIVED, "c": mutants.NOT_ASKED, "d": "took too long"}
    assert mutants._score(outcomes) == 100 * 2 / 3
    assert mutants._score({"c": mutants.NOT_ASKED}) == 0


def test_every_file_of_the_reference_has_tests_of_its_own(mutants: Any) -> None:
    for file, (own, *more) in mutants.modules(["resstream/reference"]).items():
        assert len(own) >= 2 or file.endswith("__init__.py"), file
        assert all(more), file


def test_every_equivalent_is_a_mutant_with_a_reason(mutants: Any) -> None:
    equivalent = json.loads(mutants.EQUIVALENT.read_text())
    assert len(equivalent) > 10
    for file in {key.split("::")[0] for key in equivalent}:
        there = {mutant.key for mutant in mutants.mutants(file, (ROOT / file).read_text())}
        assert [key for key in equivalent if key.startswith(f"{file}::") and key not in there] == []
    assert all(len(reason.split()) >= 3 for reason in equivalent.values())


# ---- the record


def test_the_page_shows_the_record(mutants: Any) -> None:
    scores = json.loads(mutants.SCORES.read_text())
    begin, end = mutants.MARKERS
    assert mutants.PAGE.read_text(encoding="utf-8").split(begin)[1].split(end)[0] == mutants.table(scores)
    known, equivalent = mutants.modules([]), json.loads(mutants.EQUIVALENT.read_text())
    for file, found in scores.items():
        assert file in known
        assert found["equivalent"] == sum(key.startswith(f"{file}::") for key in equivalent), f"record {file} again"
        assert found["noticed"] >= 0.97 * (found["mutants"] - found["equivalent"]), file
        assert found["noticed"] <= found["mutants"] - found["equivalent"], file


def test_what_a_verdict_rests_on_is_on_record(mutants: Any) -> None:
    scores, trusted = json.loads(mutants.SCORES.read_text()), mutants.modules(mutants.TRUSTED)
    assert len(trusted) > 30
    missing = {file for file in trusted if file not in scores and mutants.mutants(file, (ROOT / file).read_text())}
    assert missing == set()


def test_scores_are_rounded_down_and_leave_the_equivalents_out(mutants: Any) -> None:
    found = {
        "b.py": {"mutants": 1002, "equivalent": 2, "noticed": 999},
        "a.py": {"mutants": 0, "equivalent": 0, "noticed": 0},
    }
    assert mutants.table(found).splitlines()[2:] == ["| `b.py` | 1002 | 2 | 999 | 99.9 % |"]
    assert "| 96.9 % |" in mutants.table({"a.py": {"mutants": 33, "equivalent": 0, "noticed": 32}})
    assert "| 96.0 % |" in mutants.table({"a.py": {"mutants": 25, "equivalent": 0, "noticed": 24}})
