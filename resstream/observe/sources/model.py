"""A model as it was found: its mathematics, its name, its tokenizer if it came with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from resstream.errors import WeightsError
from resstream.observe.sources import bert, bloom, gpt2, gptj, llama, neox
from resstream.observe.sources.tensors import Settings, Tensors
from resstream.reference.transformer import Transformer

FAMILIES: Mapping[str, ModuleType] = {
    "bert": bert,
    "bloom": bloom,
    "distilbert": bert,
    "gpt2": gpt2,
    "gpt_neox": neox,
    "gptj": gptj,
    "llama": llama,
    "mistral": llama,
    "qwen2": llama,
    "roberta": bert,
}
"""The module that reads each `model_type`: it has PREFIXES, WITHOUT and `transformer`."""

Tokenizer = Callable[[str], tuple[list[int], list[str]]]
"""A text as token numbers, and as the tokens' own texts."""


@dataclass(frozen=True)
class Model:
    """A model that can be run on prompts."""

    name: str
    family: str
    transformer: Transformer
    tokenize: Tokenizer | None = None


def build(
    config: Any,
    tensors: Mapping[str, Any],
    name: str,
    tokenize: Tokenizer | None = None,
    *,
    complete: bool = True,
) -> Model:
    """The model of a configuration (a table with a `model_type`) and of named tensors.

    complete: whether every tensor must have its place; a wrapper may hold the same one under several names.

    Unknown families, settings that are not implemented, and tensors that are missing, misshapen or left over raise
    WeightsError.
    """
    if not isinstance(config, Mapping):
        raise WeightsError(f"{name}: config: expected a table of settings, got {type(config).__name__}")
    family = config.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        raise WeightsError(f"{name}: model_type: expected one of {', '.join(FAMILIES)}, got {family!r}")
    if config.get("quantization_config") is not None:
        raise WeightsError(f"{name}: quantization_config: quantized weights are not read")
    reader = FAMILIES[family]
    weights = Tensors(tensors, reader.PREFIXES)
    try:
        transformer = reader.transformer(Settings(config), weights)
        if complete:
            weights.finish(reader.WITHOUT)
    except ValueError as error:
        raise WeightsError(f"{name} ({family}): {error}") from None
    return Model(name, family, transformer, tokenize)
