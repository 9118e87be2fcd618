"""Trainings side by side: results in order, one progress, and errors that reach the caller."""

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from resstream.errors import TrainingError
from resstream.induction import reproduce
from resstream.induction.settings import Settings
from resstream.induction.training import train
from resstream.induction.weights import load_arrays
from resstream.workers.fresh import in_parallel


def test_results_come_in_the_order_of_the_arguments() -> None:
    told: list[float] = []
    assert in_parallel(math.hypot, [(3.0, 4.0), (5.0, 12.0), (8.0, 15.0)], steps=3, told=told.append) == [5, 13, 17]
    assert all(0 <= share <= 1 for share in told)


def test_workers_compute_with_one_thread_and_leave_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    assert in_parallel(os.getenv, [(name,) for name in names], steps=1) == ["1", "1", "1"]
    assert {name: os.environ.get(name) for name in names} == before


def test_an_interruption_of_the_caller_stops_training_which_goes_on_later(tmp_path: Path) -> None:
    arguments, path = [("one_layer", 0, tmp_path)], tmp_path / "one_layer-0.npz"

    def interrupt(share: float) -> None:
        if share > 0.11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_parallel(reproduce._train, arguments, steps=1000, told=interrupt)
    losses = load_arrays(path, "checkpoint")[1]["losses"]
    assert 100 <= len(losses) < 1000
    settings = replace(reproduce.settings_of("one_layer", 0), steps=len(losses))
    assert (losses == train(settings).losses).all()


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    with pytest.raises(TrainingError, match="batch: expected an integer of 1 or more, got 0"):
        in_parallel(Settings.from_dict, [({"batch": 1},), ({"batch": 0},)], steps=1)
