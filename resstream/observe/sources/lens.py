"""A bridge of TransformerLens 4: what its hooks see, beside our forward pass from the weights that it wraps."""

from __future__ import annotations

from typing import Any

from resstream.arithmetic import Array
from resstream.foreign import rounding
from resstream.observe.extras import needed
from resstream.observe.seen import Activations
from resstream.observe.sources import live
from resstream.observe.sources.model import build
from resstream.observe.sources.request import Request

WRAPPER = "._original_component"
"""What a bridge puts into the names of the weights it wraps."""


def takes(source: Any) -> bool:
    """Whether it is a bridge: something with a cache to run with and the model that it wraps."""
    return hasattr(source, "run_with_cache") and hasattr(source, "original_model")


def see(source: Any, request: Request) -> Activations:
    """The bridge's hook_pattern, hook_resid_pre and logits on every prompt; everything else from our forward pass."""
    torch = needed("torch")
    config = source.original_model.config.to_dict()
    tensors = {name.replace(WRAPPER, ""): value for name, value in source.original_model.state_dict().items()}
    model = build(config, tensors, str(getattr(source.cfg, "model_name", "bridge")), complete=False)
    if request.tokenizer is None and getattr(source, "tokenizer", None) is not None:
        request = Request(request.prompts, source.tokenizer, request.progress)

    def ask(tokens: Array) -> dict[str, Any]:
        with torch.no_grad():
            logits, cache = source.run_with_cache(torch.tensor(tokens)[None])
        layers = range(len(model.transformer.blocks))

        def hook(name: str) -> list[Array]:
            return [cache[f"blocks.{layer}.{name}"][0].detach().cpu().double().numpy() for layer in layers]

        return {
            "pattern": hook("attn.hook_pattern"),
            "stream": hook("hook_resid_pre"),
            "logits": logits[0].detach().cpu().double().numpy(),
        }

    described, epsilon = f"{model.family}, TransformerLens bridge", rounding(next(iter(tensors.values())))
    return live.beside(model.name, described, model.transformer, request, ask, epsilon)
