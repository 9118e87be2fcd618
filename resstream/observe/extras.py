"""Packages that only real models need, imported when they are."""

from __future__ import annotations

import importlib
from types import ModuleType

from resstream.errors import ResstreamError

INSTALL = "pip install 'resstream[models]'"


def needed(package: str) -> ModuleType:
    """An optional package; where it is missing, ResstreamError says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ResstreamError(f"this needs the package {package!r}: {INSTALL}") from None
