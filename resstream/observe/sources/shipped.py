"""The induction models that come with the package, as transformers without MLPs and norms: `shipped:two_layers`."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

import numpy as np

from resstream.errors import ResstreamError
from resstream.induction.weights import load_model
from resstream.observe.seen import Activations
from resstream.observe.sources.model import Model
from resstream.observe.sources.request import PromptText, Request, run
from resstream.reference import AttentionOnlyModel
from resstream.reference.positions import ADJACENT, RotaryPositions
from resstream.reference.transformer import AttentionLayer, Transformer, TransformerBlock

PREFIX = "shipped:"
NAMES = ("two_layers", "one_layer", "filing_model", "fresh_names")


def takes(source: Any) -> bool:
    """Whether it is the name of a shipped model."""
    return isinstance(source, str) and source.startswith(PREFIX)


def see(source: Any, request: Request) -> Activations:
    """A shipped model, by default on three sequences of random symbols, each repeated after 8, 12 or 20."""
    name = source.removeprefix(PREFIX)
    if name not in NAMES:
        raise ResstreamError(f"{source}: expected {PREFIX} and one of {', '.join(NAMES)}")
    with as_file(files("resstream.induction") / "data" / f"{name}.npz") as path:
        weights, settings, _ = load_model(path)
    model = Model(name, "attention-only", as_transformer(weights))
    return run(model, request, "shipped induction model", _repeated(settings.symbols, settings.length))


def as_transformer(model: AttentionOnlyModel) -> Transformer:
    """An attention-only model as a transformer: the same logits."""
    names = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K")
    blocks = [
        TransformerBlock(AttentionLayer(**{name: getattr(model, name)[layer] for name in names}))
        for layer in range(model.layers)
    ]
    width = model.W_Q.shape[-1]
    rotary = None if model.base is None else RotaryPositions(width, model.base, ADJACENT)
    return Transformer(model.embedding, blocks, None, model.unembedding, rotary=rotary)


def _repeated(symbols: int, length: int) -> list[PromptText]:
    rng = np.random.default_rng(0)
    prompts: list[PromptText] = []
    for period in (8, 12, 20):
        block = rng.integers(0, symbols, period)
        prompts.append([int(token) for token in np.resize(block, length)])
    return prompts
