"""Arrays of other packages, and numbers written down, as exact numbers: nothing is rounded on the way in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from resstream.errors import DomainError

Array = np.ndarray[Any, Any]

_DIGITS = {"bfloat16": 7, "float16": 10, "float32": 23}


def as_numbers(value: Any, name: str) -> Array:
    """An array of NumPy, torch or JAX, or nested lists, as float64 or, of fractions and big integers, as `Fraction`.

    bfloat16, float16, float32 and float64 are exact binary numbers and stay what they are. NaN, infinities, complex
    numbers, texts and ragged lists raise DomainError.
    """
    try:
        if hasattr(value, "detach"):  # torch, whose bfloat16 NumPy does not know
            value = value.detach().cpu().double().numpy()
        array = np.asarray(value)
        if array.dtype.name == "bfloat16":
            array = array.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DomainError(f"{name}: cannot be read as an array of numbers ({error})") from None
    if array.dtype == object:
        return _fractions(array, name)
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise DomainError(f"{name}: expected real numbers, got dtype {array.dtype}")
    if array.dtype.kind in "iu":
        return array.astype(np.float64) if np.abs(array).max(initial=0) < 2**53 else _fractions(array, name)
    if not np.isfinite(array).all():
        at = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise DomainError(f"{name}: expected finite numbers, got {array[at]} at {list(at)}")
    return array.astype(np.float64, copy=False)


def _fractions(array: Array, name: str) -> Array:
    out = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        if not isinstance(entry, int | float | Fraction | np.integer | np.floating) or isinstance(entry, bool):
            raise DomainError(f"{name}: expected numbers, got {type(entry).__name__} at {list(index)}")
        try:
            out[index] = Fraction(entry.item() if isinstance(entry, np.generic) else entry)
        except (ValueError, OverflowError):
            raise DomainError(f"{name}: expected finite numbers, got {entry} at {list(index)}") from None
    return out


def rounding(value: Any) -> float:
    """The relative rounding of an array's kind of numbers: bfloat16, float16, float32, else float64."""
    return float(2.0 ** -_DIGITS.get(str(getattr(value, "dtype", "float64")).removeprefix("torch."), 52))
