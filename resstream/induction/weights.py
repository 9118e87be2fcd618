"""Weights of a trained model in one file: NumPy's .npz without pickle, with the settings that made them."""

from __future__ import annotations

import json
import platform
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import ResstreamError, WeightsError
from resstream.induction.settings import Settings
from resstream.reference import AttentionOnlyModel

NAMES = ("embedding", "unembedding", "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K")
"""The weights of a model, in the order in which they lie in one vector."""

FORMAT = "resstream weights 1"


def shapes(settings: Settings) -> dict[str, tuple[int, ...]]:
    """The shape of every weight."""
    V, d, h = settings.symbols, settings.width, settings.head_width
    stack = (settings.layers, settings.heads)
    maps = dict.fromkeys(("W_Q", "W_K", "W_V"), (*stack, d, h))
    biases = dict.fromkeys(("b_Q", "b_K"), (*stack, 1, h))
    return {"embedding": (V, d), "unembedding": (d, V), **maps, "W_O": (*stack, h, d), **biases}


def split(vector: Array, settings: Settings) -> dict[str, Array]:
    """Every weight as a view into one vector, which therefore moves them all."""
    weights, start = {}, 0
    for name, shape in shapes(settings).items():
        size = int(np.prod(shape))
        weights[name] = vector[start : start + size].reshape(shape)
        start += size
    return weights


def model_of(weights: Mapping[str, Array], settings: Settings) -> AttentionOnlyModel:
    """The model of these weights."""
    return AttentionOnlyModel(**{name: weights[name] for name in NAMES}, base=settings.base)


def provenance() -> dict[str, str]:
    """What made a file: versions of Python and NumPy, and the machine."""
    return {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine()}


def save_arrays(path: Path, kind: str, settings: Settings, arrays: Mapping[str, Array], **notes: Any) -> None:
    """Write arrays with settings and provenance; the file appears whole or not at all."""
    header = {"format": FORMAT, "kind": kind, "settings": settings.to_dict(), "made with": provenance(), **notes}
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)
    partial.replace(path)


def load_arrays(path: Path, kind: str) -> tuple[Settings, dict[str, Array], dict[str, Any]]:
    """Read what `save_arrays` wrote: settings, arrays, header. Anything else raises WeightsError."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        found = (header["format"], header["kind"])
        settings = Settings.from_dict(header["settings"])
    except FileNotFoundError:
        raise WeightsError(f"{path}: no such file") from None
    except KeyError as missing:
        raise WeightsError(f"{path}: not a file of resstream weights (no {missing})") from None
    except (OSError, EOFError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, ResstreamError):
            raise WeightsError(f"{path}: {error}") from None
        raise WeightsError(f"{path}: corrupt, cut short or not an .npz file ({error})") from None
    if found != (FORMAT, kind):
        raise WeightsError(f"{path}: expected {FORMAT!r} of kind {kind!r}, got {found[0]!r} of kind {found[1]!r}")
    return settings, arrays, header


def save_model(path: Path, model: AttentionOnlyModel, settings: Settings, **notes: Any) -> None:
    """Write a model's weights with its settings, the versions that made it and any notes."""
    save_arrays(path, "model", settings, {name: getattr(model, name) for name in NAMES}, **notes)


def load_model(path: Path) -> tuple[AttentionOnlyModel, Settings, dict[str, Any]]:
    """Read a model, its settings and the header; a corrupt, cut, foreign or inconsistent file raises WeightsError."""
    settings, arrays, header = load_arrays(path, "model")
    for name, shape in shapes(settings).items():
        if name not in arrays or arrays[name].shape != shape or arrays[name].dtype != np.float64:
            got = f"{arrays[name].dtype} {arrays[name].shape}" if name in arrays else "nothing"
            raise WeightsError(f"{path}: {name}: expected float64 {shape} by its settings, got {got}")
        if not np.isfinite(arrays[name]).all():
            raise WeightsError(f"{path}: {name} holds NaN or infinite entries")
    return model_of(arrays, settings), settings, header
