"""Activations that somebody saved: arrays by name, from an .npz or safetensors file, or a table in memory.

=====================================  ===============  ==================================================
name                                   shape            what
=====================================  ===============  ==================================================
`prompts.P.layers.L.pattern`           (H, n, n)        attention weights; the only ones that must be there
`prompts.P.layers.L.scores`            (H, n, n)        scaled scores, before the mask
`prompts.P.layers.L.queries`, `.keys`  (H, n, h)        after biases and rotary positions
`prompts.P.layers.L.read`              (n, d)           what the heads read (after the norm)
`prompts.P.layers.L.stream`            (n, d)           the state before the layer
`prompts.P.final`                      (n, d)           the state after the last layer
`layers.L.W_Q`, `.W_K`, `.W_V`         (H, d, h)        weights of the heads (fewer keys and values may be shared)
`layers.L.W_O`                         (H, h, d)
=====================================  ===============  ==================================================

P and L count from 0; `prompts.P.` may be left out where there is one prompt. Other names are refused. Values may be
arrays of NumPy, torch or JAX, as traces of nnsight save them.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import ResstreamError, ShapeError, WeightsError
from resstream.foreign import rounding
from resstream.observe.seen import Activations, Prompt, Seen, Weights
from resstream.observe.sources.folder import SafeTensors
from resstream.observe.sources.request import Request
from resstream.observe.sources.tensors import as_float64
from resstream.reference.transformer import AttentionLayer

_OF_PROMPT = re.compile(r"(?:prompts\.(\d+)\.)?(?:layers\.(\d+)\.(pattern|scores|queries|keys|read|stream)|final)")
_OF_WEIGHTS = re.compile(r"layers\.(\d+)\.(W_[QKVO])")
_AXES = {"pattern": 3, "scores": 3, "queries": 3, "keys": 3, "read": 2, "stream": 2, "final": 2}

NAMES = (
    "[prompts.P.]layers.L. with pattern, scores, queries, keys, read or stream, [prompts.P.]final, or layers.L. with "
    "W_Q, W_K, W_V or W_O"
)
"""The names as a message has them."""


def takes(source: Any) -> bool:
    """Whether it is a table of arrays, or a file of them."""
    return isinstance(source, Mapping) or (isinstance(source, Path) and source.suffix in (".npz", ".safetensors"))


def see(source: Any, request: Request) -> Activations:
    """The activations of a table or file; what is missing, misshapen or unknown raises WeightsError."""
    if request.prompts:
        raise ResstreamError("prompts: saved activations have prompts of their own")
    if isinstance(source, Mapping):
        return _of_table(source, "a table of arrays")
    return _of_table(read_arrays(source), source.name)


def read_arrays(path: Path) -> Mapping[str, Any]:
    """The arrays of an .npz (without pickle) or safetensors file by name."""
    if path.suffix == ".safetensors":
        return SafeTensors([path])
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise WeightsError(f"{path}: no such file") from None
    except (OSError, EOFError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        if "pickle" in str(error):  # NumPy would say how to load it all the same
            raise WeightsError(f"{path}: not an .npz file of numbers; pickles may run code and are not read") from None
        raise WeightsError(f"{path}: corrupt, cut short or not an .npz file ({error})") from None


def _of_table(table: Mapping[str, Any], name: str) -> Activations:
    layers: dict[int, dict[int, dict[str, Array]]] = {}
    finals: dict[int, Array] = {}
    weights: dict[int, dict[str, Array]] = {}
    for key in table:
        found = _OF_PROMPT.fullmatch(str(key))
        if found is None:
            of_weights = _OF_WEIGHTS.fullmatch(str(key))
            if of_weights is None:
                raise WeightsError(f"{name}: {key!r} is no name of an activation; expected {NAMES}")
            weights.setdefault(int(of_weights[1]), {})[of_weights[2]] = _array(table[key], f"{name}: {key}", 3)
            continue
        prompt, kind = int(found[1] or 0), found[3] or "final"
        array = _array(table[key], f"{name}: {key}", _AXES[kind])
        if kind == "final":
            finals[prompt] = array
        else:
            layers.setdefault(prompt, {}).setdefault(int(found[2]), {})[kind] = array
    if not layers:
        raise WeightsError(f"{name}: expected layers.0.pattern or prompts.0.layers.0.pattern, got no pattern")
    prompts = [_prompt(name, number, layers.get(number, {}), finals.get(number)) for number in range(max(layers) + 1)]
    count = len(prompts[0].layers)
    if any(len(prompt.layers) != count for prompt in prompts) or any(layer >= count for layer in weights):
        raise WeightsError(f"{name}: expected the same {count} layers for every prompt, and weights of those alone")
    known = [_weights(f"{name}: layer {k}", weights.get(k, {})) for k in range(count)]
    epsilon = max(rounding(value) for key, value in table.items() if str(key).endswith("pattern"))
    return Activations(name, "saved activations", prompts, known, epsilon=epsilon)


def _array(value: Any, name: str, axes: int) -> Array:
    array = as_float64(value, name)
    if array.ndim == axes + 1 and len(array) == 1:
        array = array[0]  # a batch of one
    if array.ndim != axes or not array.size:
        raise WeightsError(f"{name}: expected {axes} axes, none empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise WeightsError(f"{name}: holds NaN or infinite entries")
    return array


def _prompt(name: str, number: int, found: Mapping[int, Mapping[str, Array]], final: Array | None) -> Prompt:
    if sorted(found) != list(range(len(found))) or not found:
        raise WeightsError(f"{name}: prompt {number}: expected layers 0, 1, ..., got {sorted(found)}")
    layers = []
    for index in range(len(found)):
        arrays = dict(found[index])
        if "pattern" not in arrays:
            raise WeightsError(f"{name}: prompt {number}, layer {index}: expected a pattern")
        n = arrays["pattern"].shape[-1]
        for kind, array in arrays.items():
            rows = array.shape[-2]
            if rows != n:
                raise WeightsError(f"{name}: prompt {number}, layer {index}: {kind} has {rows} rows, not {n}")
        layers.append(Seen(**arrays))
    return Prompt([str(k) for k in range(layers[0].pattern.shape[-1])], layers, final)


def _weights(name: str, found: Mapping[str, Array]) -> Weights:
    if not found:
        return Weights()
    if set(found) != {"W_Q", "W_K", "W_V", "W_O"}:
        raise WeightsError(f"{name}: expected W_Q, W_K, W_V and W_O of a layer together, got {sorted(found)}")
    try:
        return Weights(AttentionLayer(**found))
    except ShapeError as error:
        raise WeightsError(f"{name}: {error}") from None
