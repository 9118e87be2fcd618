"""A model wrapped by nnsight: the model of `transformers` inside it. What a trace saved is a table (see `arrays`)."""

from __future__ import annotations

from typing import Any

from resstream.observe.seen import Activations
from resstream.observe.sources import live
from resstream.observe.sources.request import Request


def takes(source: Any) -> bool:
    """Whether it is an envoy of nnsight around a model of `transformers`."""
    inside = getattr(source, "_module", None)
    return type(source).__module__.startswith("nnsight.") and live.takes(inside)


def see(source: Any, request: Request) -> Activations:
    """What the wrapped model itself computes, and its tokenizer, if nnsight has one."""
    tokenizer = request.tokenizer or getattr(source, "tokenizer", None)
    return live.see(source._module, Request(request.prompts, tokenizer, request.progress))
