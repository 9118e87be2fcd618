"""Rotary positions as configurations write them down, in the present form and in the one before it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from resstream.errors import WeightsError
from resstream.observe.sources.tensors import Settings
from resstream.reference.positions import HALVES, RotaryPositions


def rotary(config: Settings, head_width: int, *, share: float = 1.0, base: float = 10_000) -> RotaryPositions:
    """Rotary positions of a model: plain, with a linear scale, or with Llama 3's three bands of frequencies.

    share, base: which columns turn and how fast where the configuration does not say. Other scalings raise
    WeightsError.
    """
    if config.values.get("rope_parameters") and config.values.get("rope_scaling"):
        raise WeightsError("config: rope_parameters and rope_scaling: expected one of them")
    given: Any = config.values.get("rope_parameters") or config.values.get("rope_scaling") or {}
    if not isinstance(given, dict):
        raise WeightsError(f"config: rope_parameters: expected a table, got {given!r}")
    scaling = Settings(given)
    base = scaling.number("rope_theta", config.number("rope_theta", base))
    share = scaling.number("partial_rotary_factor", config.number("partial_rotary_factor", share))
    width = int(head_width * share)
    kind = given.get("rope_type", given.get("type", "default"))
    factors = None
    if kind == "linear":
        factors = np.full((1, width // 2), 1 / _positive(scaling, "factor"))
    elif kind == "llama3":
        factors = _three_bands(scaling, width, base)
    elif kind != "default":
        raise WeightsError(f"config: rotary positions of type {kind!r}: expected default, linear or llama3")
    return RotaryPositions(width, int(base) if base == int(base) else base, HALVES, factors)


def _positive(scaling: Settings, name: str) -> float:
    value = scaling.number(name, 0.0)
    if value == 0:
        raise WeightsError(f"config: {name}: expected a positive number")
    return value


def _three_bands(scaling: Settings, width: int, base: float) -> np.ndarray[Any, Any]:
    """Llama 3.1's factors: long waves slowed down, short ones kept, a blend between. (1, width/2)"""
    slow, low, high = (_positive(scaling, name) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    context = _positive(scaling, "original_max_position_embeddings")
    frequencies = float(base) ** (-np.arange(0, width, 2) / width)
    waves = 2 * math.pi / frequencies
    blend = np.clip((context / waves - low) / (high - low), 0, 1)
    return ((1 - blend) / slow + blend)[None, :]
