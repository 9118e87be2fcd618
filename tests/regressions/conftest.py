"""What takes long is done once per session, also when several workers share it (pytest -n)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from resstream.induction.reproduce import SHIPPED_SEED, measure, settings_of, shipped_models, source_of
from resstream.induction.training import train
from resstream.induction.weights import load_model, save_model
from resstream.reference import AttentionOnlyModel


def once(directory: Path, name: str, make: Callable[[Path], None]) -> Path:
    """The file `name`, made by whoever asks first; the others wait for it, and fail if making it failed."""
    target, failed = directory / name, directory / f"{name}.failed"
    try:
        (directory / f"{name}.lock").mkdir()
    except FileExistsError:
        while not target.exists():
            if failed.exists():
                pytest.fail(f"{name} could not be made: see the test that tried first")
            time.sleep(0.1)
        return target
    try:
        make(directory / f"making-{name}")
        (directory / f"making-{name}").replace(target)
    except BaseException:
        failed.touch()
        raise
    return target


@pytest.fixture(scope="session")
def shared_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that all workers of the session share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def shipped_values(shared_directory: Path) -> dict[str, float]:
    """Every figure's value, from the shipped weights."""

    def make(path: Path) -> None:
        path.write_text(json.dumps(measure(shipped_models(), SHIPPED_SEED)))

    values: dict[str, float] = json.loads(once(shared_directory, "shipped.json", make).read_text())
    return values


@pytest.fixture(scope="session")
def retrained(shared_directory: Path) -> Callable[[str], AttentionOnlyModel]:
    """A model of the shipped seed, trained again in this session."""

    def model(name: str) -> AttentionOnlyModel:
        settings = settings_of(name, SHIPPED_SEED)

        def make(path: Path) -> None:
            save_model(path, train(settings, source_of(name, SHIPPED_SEED)).model, settings)

        return load_model(once(shared_directory, f"retrained-{name}.npz", make))[0]

    return model
