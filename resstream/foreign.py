"""Arrays of other packages, and numbers written down, as exact numbers: nothing is rounded on the way in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.errors import DomainError

Array = np.ndarray[Any, Any]

ROUNDINGS = 16
"""How many roundings of each of its terms a sum may be away from what it should be, in the reference and for objects
that somebody gives: a softmax summed one entry after the other makes half of one, a product of matrices one each.
"""

FURTHEST_SUM = Fraction(1, 16)
"""And never further than this, however short the floats and many the terms, for given objects: they are moved into
their domain, which is said. (Weights of bfloat16 each rounded once are 1/256 away, those of a few products 1/16.)
"""


@dataclass(frozen=True)
class Format:
    """A binary format of floats: bits after the leading one, and the exponent of the smallest positive number."""

    digits: int
    smallest: int


FLOAT64_FORMAT = Format(52, -1074)

_FORMATS = {
    "bfloat16": Format(7, -133),
    "float16": Format(10, -24),
    "float32": Format(23, -149),
    "float64": FLOAT64_FORMAT,
}


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


def format_of(value: Any) -> Format | None:
    """The format of an array's floats; None for whole numbers and fractions, which nobody rounded."""
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if kind in _FORMATS:
        return _FORMATS[kind]
    if kind:  # whole numbers, booleans
        return None
    return FLOAT64_FORMAT if np.asarray(value).dtype.kind == "f" else None


def rounding(value: Any) -> float:
    """The relative rounding of an array's kind of numbers: bfloat16, float16, float32, else float64."""
    return float(2.0 ** -(format_of(value) or FLOAT64_FORMAT).digits)


def radii_of_rounding(value: Any, numbers: Array) -> Array:
    """How far from each of the numbers, read from `value`, one may be that rounds to it: fractions, of the same shape.

    Half a unit in the last place at most; 0 for a zero, which is taken for one (a mask, say), and for exact numbers.
    """
    form, radii = format_of(value), np.full(numbers.shape, Fraction(0), dtype=object)
    if form is not None:
        least = Fraction(1, 2 ** (1 - form.smallest))
        for place, number in np.ndenumerate(numbers):
            if number:
                radii[place] = max(abs(Fraction(number)) / 2 ** (form.digits + 1), least)
    return radii


def furthest_sum(epsilon: float, terms: int, most: Fraction = FURTHEST_SUM) -> Fraction:
    """How far a sum of so many terms, of size one, may be from what it should be where rounding by `epsilon` put it."""
    return min(ROUNDINGS * terms * Fraction(epsilon), most)
