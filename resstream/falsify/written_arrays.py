"""What expressions alone have names for: the shapes of arrays, and constant arrays in the number system at work."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Array
from resstream.domains.current import read_now
from resstream.errors import DomainError, ShapeError

LARGEST = 1000
"""Rows and columns of what is made."""

MOST_THINGS = 12
"""Things whose subsets are listed: there are 4,096."""


def _made(integers: Any) -> Array:
    return read_now(RATIONAL.array(np.asarray(integers)))


def _require_size(name: str, value: int, largest: int = LARGEST) -> int:
    if not 1 <= value <= largest:
        raise DomainError(f"{name}: expected a whole number from 1 to {largest}, got {value}")
    return value


def identity(n: int) -> Array:
    """The identity matrix (n, n); `identity(n)[k, :]` is the unit vector with a one in place k."""
    return _made(np.eye(_require_size("n", n), dtype=int))


def ones(rows: int, columns: int) -> Array:
    """A matrix (rows, columns) of ones."""
    return _made(np.ones((_require_size("rows", rows), _require_size("columns", columns)), dtype=int))


def counting(n: int) -> Array:
    """The row 0, 1, ..., n - 1."""
    return _made(np.arange(_require_size("n", n))[None])


def subsets(n: int) -> Array:
    """All subsets of n things, n at most 12, one a row of zeros and ones: (2^n, n)."""
    return _made(list(itertools.product((0, 1), repeat=_require_size("n", n, MOST_THINGS))))


def rows(X: Array) -> int:
    """How many rows a matrix has, as a whole number."""
    return int(X.shape[-2])


def columns(X: Array) -> int:
    """How many columns a matrix has, as a whole number."""
    return int(X.shape[-1])


def transpose(X: Array) -> Array:
    """The transpose of a matrix (..., n, d) -> (..., d, n)."""
    return X.mT


def diagonal(W: Array) -> Array:
    """The diagonal of a matrix as a row: (..., n, d) -> (..., 1, min(n, d))."""
    return np.diagonal(W, axis1=-2, axis2=-1)[..., None, :]


def beside(*Xs: Array) -> Array:
    """Matrices of as many rows, one beside the other: (..., n, d), (..., n, e) -> (..., n, d + e)."""
    return _joined(Xs, -1)


def above(*Xs: Array) -> Array:
    """Matrices of as many columns, one above the other: (..., n, d), (..., m, d) -> (..., n + m, d)."""
    return _joined(Xs, -2)


def _joined(Xs: tuple[Array, ...], axis: int) -> Array:
    lead = np.broadcast_shapes(*(X.shape[:-2] for X in Xs))
    other = {X.shape[-3 - axis] for X in Xs}
    if len(other) != 1:
        what = "rows" if axis == -1 else "columns"
        raise ShapeError(f"expected matrices of as many {what}, got {', '.join(str(X.shape[-2:]) for X in Xs)}")
    return np.concatenate([np.broadcast_to(X, (*lead, *X.shape[-2:])) for X in Xs], axis=axis)


__all__ = [
    "above",
    "beside",
    "columns",
    "counting",
    "diagonal",
    "identity",
    "ones",
    "rows",
    "subsets",
    "transpose",
]
