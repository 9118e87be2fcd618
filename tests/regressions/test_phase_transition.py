"""The phase transition of our models: stored along the training, made again for its first steps."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("phase_transition", ROOT / "benchmarks" / "phase_transition.py")
assert SPEC is not None
assert SPEC.loader is not None
phase = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(phase)
RUNS = json.loads((ROOT / "docs" / "phase-transition.json").read_text())
TWO = [name for name in RUNS if name.startswith("two")]


def test_the_stored_course_is_made_again() -> None:
    found = phase.course(2, 0, 50)
    stored = RUNS["two layers, seed 0"]
    for name, values in found.items():
        assert values == pytest.approx(stored[name][: len(values)], abs=2e-3), name


@pytest.mark.parametrize("name", TWO)
def test_induction_forms_suddenly(name: str) -> None:
    """Prefix matching goes from a tenth to nine tenths of its last value within a quarter of the training, and the loss
    falls by more than half of what it falls at all between the same two readings.
    """
    run = RUNS[name]
    start, end = phase.transition(run)
    assert 0 < start < end <= start + 250
    loss = dict(zip(run["step"], run["loss"], strict=True))
    assert loss[start] - loss[end] > 0.5 * (loss[0] - loss[1000])


def test_one_layer_has_none() -> None:
    run = RUNS["one layer, seed 0"]
    assert max(run["prefix_matching"]) < 0.2
    assert run["loss"][-1] > 4


def test_the_plot_is_that_of_the_numbers() -> None:
    assert (ROOT / "docs" / "phase-transition.svg").read_text() == phase.plot(RUNS)
