"""How float batches lie in memory: the instances side by side where a short axis is gone along.

NumPy reduces the last axis of a C-ordered batch (10000, 6, 6) in 60,000 loops of six steps. Laid out with the batch
innermost the same reduction adds six long arrays: 10 to 30 times as fast, and a copy that turns the one into the other
costs a tenth of the slow way. Elementwise operations keep the layout, so what follows a reduction is as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FEW = 64
"""Instances below which a batch is left as it is."""


def in_lanes(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A batch of floats (count, ..., n, d) with the same numbers, laid out batch innermost; other arrays as they are.

    >>> in_lanes(np.zeros((100, 2, 3))).strides
    (8, 2400, 800)
    """
    if x.ndim < 3 or x.dtype != np.float64 or len(x) < _FEW or x.strides[0] == x.itemsize:
        return x
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)


__all__ = ["in_lanes"]
