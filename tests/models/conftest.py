"""Tests of real models: nothing is downloaded, and what needs more packages says how they come."""

from __future__ import annotations

import os
import warnings
from types import ModuleType

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"

COMMAND = "pip install -e '.[test-models,lens]' && pytest tests/models"


def package(name: str) -> ModuleType:
    """An optional package, or a skip that names the command which brings it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what such packages say of the packages that they import
        return pytest.importorskip(name, reason=f"needs {name}: {COMMAND}", exc_type=ImportError)


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    return package("torch")


@pytest.fixture(scope="session")
def transformers(torch: ModuleType) -> ModuleType:
    del torch  # which it needs
    return package("transformers")


@pytest.fixture(scope="session")
def safetensors(torch: ModuleType) -> ModuleType:
    del torch  # its tensors are what the tests save
    return package("safetensors.torch")
