"""Named weights, of which every one must be read or known to play no part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.errors import WeightsError
from resstream.reference.transformer import LAYER, NormLayer

Norms = tuple[NormLayer, NormLayer]


class Tensors:
    """A model's tensors by name, under any of some prefixes; keeps account of what was read.

    Values are read as float64, which holds every float16, bfloat16 and float32 exactly. Missing names, NaN and infinite
    entries and unexpected shapes raise WeightsError.
    """

    def __init__(self, tensors: Mapping[str, Any], prefixes: Sequence[str] = ("",)) -> None:
        self._tensors = tensors
        self._prefixes = tuple(dict.fromkeys((*prefixes, "")))
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def _find(self, name: str) -> str | None:
        return next((prefix + name for prefix in self._prefixes if prefix + name in self._tensors), None)

    def __call__(self, name: str, *shape: int) -> Array:
        """The tensor of a name, which must have the shape given."""
        found = self._find(name)
        if found is None:
            raise WeightsError(f"{name}: not among the {len(self._tensors)} tensors of the model")
        values = as_float64(self._tensors[found], found)
        self._read.add(found)
        if values.shape != shape:
            raise WeightsError(f"{found}: expected the shape {shape} by the configuration, got {values.shape}")
        if not np.isfinite(values).all():
            raise WeightsError(f"{found}: holds NaN or infinite entries")
        return values

    def row(self, name: str, width: int) -> Array:
        """A vector as one row: (1, width)."""
        return self(name, width)[None, :]

    def row_if_there(self, name: str, width: int) -> Array | None:
        """A vector as one row (1, width), or None where the model has none of that name."""
        return self.row(name, width) if name in self else None

    def linear(self, name: str, inputs: int, outputs: int) -> Array:
        """The weight of a linear layer, which is stored (outputs, inputs), as a map of rows: (inputs, outputs)."""
        return self(f"{name}.weight", outputs, inputs).T

    def norm(self, name: str, width: int, epsilon: float, kind: str = LAYER) -> NormLayer:
        """A norm with its gain and, where there is one, its bias."""
        return NormLayer(kind, self.row(f"{name}.weight", width), self.row_if_there(f"{name}.bias", width), epsilon)

    def norms(self, at: str, names: tuple[str, str], width: int, epsilon: float, kind: str = LAYER) -> Norms:
        """The norms of a block's attention and of its MLP."""
        first, second = (self.norm(f"{at}{name}", width, epsilon, kind) for name in names)
        return first, second

    def finish(self, without: Sequence[str] = ()) -> None:
        """Refuse tensors that nobody read, save those whose name matches one of some patterns."""
        left = [name for name in self._tensors if name not in self._read]
        strange = [name for name in left if not any(re.search(pattern, name) for pattern in without)]
        if strange:
            shown = ", ".join(strange[:5]) + (", ..." if len(strange) > 5 else "")
            raise WeightsError(f"{len(strange)} tensors that this family of models has no place for: {shown}")


def as_float64(value: Any, name: str) -> Array:
    """An array of NumPy, torch, JAX or nested lists as float64; float16, bfloat16, float32 keep their exact values.

    Other kinds of numbers raise WeightsError.
    """
    try:
        if hasattr(value, "detach"):  # torch, whose bfloat16 NumPy does not know
            value = value.detach().cpu().double().numpy()
        values = np.asarray(value)
        if values.dtype.kind == "V" or values.dtype.name == "bfloat16":
            values = values.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise WeightsError(f"{name}: cannot be read as an array of numbers ({error})") from None
    if values.dtype.kind not in "fiu" and values.dtype != np.float32:
        raise WeightsError(f"{name}: expected real numbers, got dtype {values.dtype}")
    return FLOAT64.array(values)


def heads_in(W: Array, heads: int) -> Array:
    """The columns of a map to several heads side by side, a head at a time: (d, H h) -> (H, d, h)."""
    return np.ascontiguousarray(W.reshape(W.shape[0], heads, -1).transpose(1, 0, 2))


def heads_out(W: Array, heads: int) -> Array:
    """The rows of a map from several heads side by side, a head at a time: (H v, d) -> (H, v, d)."""
    return W.reshape(heads, -1, W.shape[1])


def bias_of_heads(b: Array | None, heads: int) -> Array | None:
    """A bias of several heads side by side, a head at a time: (1, H h) -> (H, 1, h)."""
    return None if b is None else b.reshape(heads, 1, -1)


class Settings:
    """A model's configuration, whose entries are asked for by name and kind; what is amiss raises WeightsError."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number of at least 1; the default, where there is one, if it is missing or null."""
        value = self.values.get(name)
        if value is None:
            value = default
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise WeightsError(f"config: {name}: expected a whole number of at least 1, got {value!r}")
        return value

    def number(self, name: str, default: float) -> float:
        """A finite, nonnegative number."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise WeightsError(f"config: {name}: expected a number of at least 0, got {value!r}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise WeightsError(f"config: {name}: expected true or false, got {value!r}")
        return value

    def require(self, name: str, expected: Any, default: Any = None) -> None:
        """Refuse a model in which a setting has a value that this package does not implement."""
        value = self.values.get(name, expected if default is None else default)
        if value is not None and value != expected:
            raise WeightsError(f"config: {name} = {value!r} is not implemented, expected {expected!r}")

    def activation(self, name: str, default: str) -> str:
        """An activation by the name that this package gives it."""
        value = self.values.get(name, default)
        if value not in ACTIVATION_NAMES:
            raise WeightsError(f"config: {name}: expected one of {', '.join(ACTIVATION_NAMES)}, got {value!r}")
        return ACTIVATION_NAMES[value]


ACTIVATION_NAMES = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
"""Names in configurations, and ours."""
