"""Rows in the order of their values: sorted, cut to the largest, and the place of the largest as a one-hot row."""

from __future__ import annotations

import numpy as np

from resstream.arithmetic import Array, Entry, NoValue, amax, constant, descending
from resstream.errors import ShapeError, Undecided
from resstream.reference.checks import in_range, refuse_where, require_matrix, values_matter

_TIED = "which of two equal entries is the largest"


@in_range
def ascending(x: Array) -> Array:
    """The entries of every row in ascending order: (..., n, d) -> (..., n, d).

    >>> ascending(np.array([[3.0, 5.0, 1.0]])).tolist()
    [[1.0, 3.0, 5.0]]
    """
    return -descending(-require_matrix("x", x))


@in_range
def top_k(x: Array, k: int) -> Array:
    """The k largest entries of every row, in descending order: (..., n, d) -> (..., n, k), with k from 1 to d.

    >>> top_k(np.array([[3.0, 5.0, 1.0]]), 2).tolist()
    [[5.0, 3.0]]
    """
    x = require_matrix("x", x)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= x.shape[-1]:
        raise ShapeError(f"k: expected a whole number from 1 to {x.shape[-1]}, the columns of x, got {k!r:.40}")
    return amax(x) if k == 1 else descending(x)[..., :k]


@in_range
def one_hot_argmax(x: Array) -> Array:
    """1 at the largest entry of every row and 0 elsewhere: (..., n, d) -> (..., n, d).

    A row whose largest entry stands twice has no value: floats raise DomainError, and exact entries when they are asked
    for. Enclosures that do not tell raise Undecided.

    >>> one_hot_argmax(np.array([[3.0, 5.0, 1.0]]))
    array([[0., 1., 0.]])
    """
    x = require_matrix("x", x)
    if x.dtype == object:
        rows = [_one_hot(row) for row in x.reshape(-1, x.shape[-1])]
        hot: Array = np.stack(rows).reshape(x.shape)
        return hot
    values = np.real(x)
    found = (values == amax(values)).astype(float)
    tied = found.sum(axis=-1) > 1
    if values_matter(x):
        refuse_where(tied, "x: row {at}: " + f"it is not decided {_TIED}")
    return np.where(tied[..., None], np.nan, found)


def _one_hot(row: Array) -> Array:
    """The same of one row of exact entries, without a value where it is a tie."""
    one, nought = constant(1, row), constant(0, row)
    known = True
    hot = np.empty(row.shape, dtype=object)
    for place, entry in enumerate(row):
        others: list[Entry] = [*row[:place], *row[place + 1 :]]
        beaten = True
        for other in others:
            answer = _is_below(other, entry)
            known = known and answer is not None
            beaten = beaten and answer is True
            if not beaten:
                break
        if beaten:
            hot[:] = nought
            hot[place] = one
            return hot
    if not known:
        raise Undecided(f"x: it is not known at this precision {_TIED}")
    hot[:] = NoValue(f"it is not decided {_TIED}", True)
    return hot


def _is_below(first: Entry, second: Entry) -> bool | None:
    for entry in (first, second):
        if isinstance(entry, NoValue):
            entry.demand()
    return first.below(second)


__all__ = ["ascending", "one_hot_argmax", "top_k"]
