"""A model of `transformers` in memory: its own patterns and states, beside our forward pass from the same weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import ResstreamError
from resstream.foreign import rounding
from resstream.observe.extras import needed
from resstream.observe.seen import Activations, Prompt, largest_difference, of_trace, weights_of
from resstream.observe.sources.model import build
from resstream.observe.sources.request import Request
from resstream.reference.transformer import Transformer

FAR, ROUNDINGS = 1e-3, 64
"""How far our forward pass may be from the model's, over the largest entry, before it is no longer the same model; and
how many roundings of the model's own kind of numbers come on top.
"""


def takes(source: Any) -> bool:
    """Whether it is a model of `transformers`."""
    return hasattr(source, "state_dict") and hasattr(getattr(source, "config", None), "to_dict")


def see(source: Any, request: Request) -> Activations:
    """The model's own patterns, states and logits on every prompt; everything else from our forward pass.

    Patterns are asked for with eager attention. A forward pass of ours that is another model's raises ResstreamError.
    """
    torch = needed("torch")
    config = source.config.to_dict()
    model = build(config, source.state_dict(), str(config.get("_name_or_path") or type(source).__name__))
    first = next(source.parameters())

    def ask(tokens: Array) -> dict[str, Any]:
        before = getattr(source.config, "_attn_implementation", None)
        training = source.training
        try:
            source.set_attn_implementation("eager")
            source.eval()
            with torch.no_grad():
                ids = torch.tensor(tokens, device=first.device)[None]
                out = source(ids, output_attentions=True, output_hidden_states=True, return_dict=True)
        finally:
            source.train(training)
            if before is not None:
                source.set_attn_implementation(before)
        return {
            "pattern": [_first(array) for array in out.attentions],
            "stream": [_first(array) for array in out.hidden_states[: len(out.attentions)]],
            "logits": _first(out.logits) if getattr(out, "logits", None) is not None else None,
        }

    described = f"{model.family}, live model of transformers"
    return beside(model.name, described, model.transformer, request, ask, rounding(first))


Ask = Callable[[Array], Mapping[str, Any]]
"""A forward pass on token numbers: patterns, streams (and scores) by layer, and logits, by kind."""


def _first(tensor: Any) -> Array:
    found: Array = tensor[0].detach().cpu().double().numpy()
    return found


def beside(name: str, source: str, transformer: Transformer, request: Request, ask: Ask, epsilon: float) -> Activations:
    """What another forward pass saw (`ask`, by kind, a list over the layers each), completed by ours and compared.

    The differences, over the largest entry of each kind, become the notes of what was seen.
    """
    prompts: list[Prompt] = []
    notes: dict[str, float] = {}
    wanted = request.tokens(None)
    for number, (tokens, texts) in enumerate(wanted):
        request.progress(f"forward pass, prompt {number}", number / len(wanted))
        theirs: Mapping[str, Any] = ask(tokens)
        ours = of_trace(transformer.forward(np.asarray(tokens)), texts)
        for kind in ("pattern", "scores", "stream"):
            for mine, other in zip(ours.layers, theirs.get(kind, ()), strict=False):
                found = largest_difference(getattr(mine, kind), other)
                notes[kind] = max(notes.get(kind, 0.0), found)
        if theirs.get("logits") is not None:
            notes["logits"] = max(notes.get("logits", 0.0), largest_difference(ours.logits, theirs["logits"]))
        seen = [
            dataclasses.replace(layer, pattern=theirs["pattern"][index], stream=theirs["stream"][index])
            for index, layer in enumerate(ours.layers)
        ]
        prompts.append(dataclasses.replace(ours, layers=seen))
    for kind, difference in notes.items():
        if difference > FAR + ROUNDINGS * epsilon:
            raise ResstreamError(
                f"{name}: {kind}: our forward pass differs from the model's by {difference:.2g} of its largest entry, "
                "so its weights are not what we read them as"
            )
    return Activations(name, source, prompts, weights_of(transformer), transformer, notes, epsilon)
