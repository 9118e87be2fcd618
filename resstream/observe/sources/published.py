"""A folder with a published model, which our own forward pass runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resstream.observe.seen import Activations
from resstream.observe.sources.folder import load
from resstream.observe.sources.request import Request, run


def takes(source: Any) -> bool:
    """Whether it is a path, and of nothing that another source takes."""
    return isinstance(source, Path)


def see(source: Any, request: Request) -> Activations:
    """The model in the folder on every prompt."""
    model = load(source)
    return run(model, request, f"{model.family}, safetensors and config.json")
