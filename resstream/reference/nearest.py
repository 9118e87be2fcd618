"""How far a cloud of tokens is from one with equal rows: the least distances, which stand for "there is"."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from resstream.arithmetic import (
    Array,
    BallEntry,
    RationalEntry,
    amax,
    amin,
    descending,
    largest_entry,
    mean,
    total_entry,
)
from resstream.errors import DomainError, NotExact, NotExpressible
from resstream.reference.checks import in_range, number_of_each, require_instance
from resstream.reference.norms import L2, Norm, frobenius_norm, in_basis

HALVINGS = 64
"""Of the interval that holds the best entry of a column, in floats."""


@in_range
def distance_to_constant(X: Array, norm: Norm = L2) -> Array:
    """Least entrywise distance of X to a matrix with equal rows: (..., n, d) -> (..., 1, 1).

    Of all entries together, in the basis of the norm: the sum of the absolute differences (L1), the root of the sum of
    their squares (L2, the Frobenius norm), the largest (LINF), or (sum |difference|^p)^(1/p); they are least at the
    medians, the means and the middles of the columns, and for other p where the slope vanishes, which enclosures hold
    from both sides. Rational for L1 and LINF; other p of other numbers than floats and enclosures raise NotExact or
    NotExpressible.

    >>> from resstream.reference import L1
    >>> distance_to_constant(np.array([[0.0], [1.0], [5.0]]), L1).item()
    5.0
    """
    kind = require_instance("norm", norm, Norm).kind
    X, p = in_basis(X, norm), norm.exponent
    if kind == "l2":
        return frobenius_norm(X - mean(X, -2))
    if p is None:
        return largest_entry(amax(X, -2) - amin(X, -2)) / 2
    ordered, n = descending(X.mT), X.shape[-2]
    if n == 1:
        return total_entry(X - X)
    if p == 1:
        return total_entry(ordered[..., : n // 2] - ordered[..., n - n // 2 :])
    if X.dtype.kind == "c":
        raise DomainError("X: a least distance takes real entries, and floats have no derivative of it here")
    if X.dtype != object:
        return _of_floats(X, float(p))
    return number_of_each(X, lambda one: _of_one(one, p))


def _of_floats(X: Array, p: float) -> Array:
    low, high = X.min(-2, keepdims=True), X.max(-2, keepdims=True)
    scale = np.maximum((high - low).max(-1, keepdims=True), 1e-300)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        gaps = (middle - X) / scale
        rises = (np.sign(gaps) * np.abs(gaps) ** (p - 1)).sum(-2, keepdims=True) > 0
        low, high = np.where(rises, low, middle), np.where(rises, middle, high)
    return scale * (np.abs((X - (low + high) / 2) / scale) ** p).sum(axis=(-2, -1), keepdims=True) ** (1 / p)


def _of_one(X: Array, p: Fraction) -> Any:
    if all(isinstance(entry, RationalEntry) for entry in X.flat):
        if all(bool(entry == X[0, k]) for row in X for k, entry in enumerate(row)):
            return X[0, 0] - X[0, 0]
        raise NotExact(f"the least distance to equal rows in l{p}")
    if not all(isinstance(entry, BallEntry) for entry in X.flat):
        raise NotExpressible(f"the least distance to equal rows in l{p}, of other numbers than floats and enclosures")
    sums = [_of_column([row[k].value for row in X], p) for k in range(X.shape[1])]
    whole = sum(sums[1:], start=sums[0])
    return BallEntry(_power(whole, 1 / p), nonnegative=True)


def _of_column(column: list[arb], p: Fraction) -> arb:
    """An enclosure of the least sum of |x - c|^p: of all c in an interval that holds the best one, which is made
    smaller as long as the sign of the slope is certain in its middle, or at a quarter.
    """
    low, high = column[0], column[0]
    for entry in column[1:]:
        low, high = low.min(entry), high.max(entry)
    for _ in range(4 * ctx.prec):
        for share in (fmpq(1, 2), fmpq(1, 4), fmpq(3, 4)):
            place = (low + (high - low) * share).mid()
            slope = _slope(column, place, p)
            if slope < 0 or slope > 0:
                break
        else:
            break
        low, high = (place, high) if slope < 0 else (low, place)
    best = low.union(high)
    sums = [_power(abs(entry - best), p) for entry in column]
    return sum(sums[1:], start=sums[0])


def _slope(column: list[arb], place: arb, p: Fraction) -> arb:
    """That of the sum of |x - c|^p at c, over p; what holds both signs where a difference may be zero."""
    whole = arb(0)
    for entry in column:
        gap = place - entry
        size = _power(abs(gap), p - 1)
        whole += size if gap > 0 else -size if gap < 0 else size.union(-size)
    return whole


def _power(base: arb, exponent: Fraction) -> arb:
    """A power above 0 of what is nonnegative by its mathematics."""
    if base > 0:
        return base ** arb(fmpq(exponent.numerator, exponent.denominator))
    upper = base.upper()  # the power grows with its base
    return (upper ** arb(fmpq(exponent.numerator, exponent.denominator))).union(arb(0))


__all__ = ["distance_to_constant"]
