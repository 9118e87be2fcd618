"""docs/real-models.md is what its generator writes: of the shipped models here, of MiniLM in tests/models."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "real-models.md").read_text()


def generator() -> ModuleType:
    """benchmarks/real_models.py"""
    spec = importlib.util.spec_from_file_location("real_models", ROOT / "benchmarks" / "real_models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_it_says_of_the_shipped_models_is_what_is_found() -> None:
    module = generator()
    # A claim that is newer than the document is not in it, which makes nothing in it untrue.
    named = [identifier for identifier in module.chosen() if f"| {identifier} |" in DOCUMENT]
    assert len(named) > 20
    found, causal = module.induction(workers=1, claims=named), module.causal_models()
    parts = [
        module.theorems("induction", found),
        module.hypotheses("induction", found) + "\n",
        module.COLLAPSE,
        *map(module.collapses, causal),
        module.replacement(causal),
        module.sums("induction", found),
    ]
    for part in parts:
        assert part.count("\n") > 0
        assert module.missing(part, DOCUMENT) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("| 0.256 |", "| 0.356 |"), ("skip.expansive", "skip.other"), ("reads\nthe cloud", "forgets\nthe cloud")],
)
def test_a_document_that_says_something_else_is_found_out(old: str, new: str) -> None:
    module = generator()
    assert old in DOCUMENT
    assert module.missing(DOCUMENT, DOCUMENT.replace(old, new)) != []
    assert module.missing(DOCUMENT, DOCUMENT) == []
