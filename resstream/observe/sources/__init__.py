"""Where models and activations come from: one module for each family of models, and for each kind of source.

A kind of source is a module with `takes(source)` and `see(source, request)`; the first that takes it sees it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resstream.errors import ResstreamError
from resstream.observe.seen import Activations
from resstream.observe.sources import arrays, lens, live, published, shipped, traced
from resstream.observe.sources.request import Request

SOURCES = (shipped, lens, traced, live, arrays, published)


def see(source: Any, request: Request) -> Activations:
    """What a source shows: a folder, a file or table of activations, a live model, a bridge, `shipped:NAME`.

    Anything else raises ResstreamError.
    """
    if isinstance(source, str) and not shipped.takes(source):
        source = Path(source)
    for kind in SOURCES:
        if kind.takes(source):
            return kind.see(source, request)
    raise ResstreamError(
        f"source: expected a folder, an .npz or safetensors file, a table of arrays, a model of transformers, a bridge "
        f"of TransformerLens, a model of nnsight or {shipped.PREFIX}NAME, got {type(source).__name__}"
    )
