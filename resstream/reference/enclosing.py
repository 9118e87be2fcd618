"""The smallest ball around a cloud of tokens: the least radius at which "there is a centre" holds.

The Euclidean one is settled by its support, points whose circumcentre lies in their hull (Elzinga and Hearn, 1972).
Floats find it; exact numbers certify it, from below by the dual (a weighted variance), from above by the farthest
token.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import comb
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from resstream.arithmetic import (
    Array,
    BallEntry,
    RationalEntry,
    amax,
    amin,
    largest_entry,
    sqrt,
    square,
    to_float,
    total,
)
from resstream.errors import DomainError, NotExact, NotExpressible
from resstream.reference.checks import in_range, number_of_each, require_instance, require_matrix
from resstream.reference.norms import L2, Norm, in_basis

TOGETHER = 256
"""Sets of tokens that floats go through for a whole batch; where there are more, one cloud is taken after another."""

MOST_SETS = 4096
"""Sets of tokens that exact numbers go through, where floats did not find the support."""

NEAR = 1e-9
"""How far, as a share of the scale, floats let a weight be below zero or an equation be missed; of the search."""


@in_range
def squared_enclosing_radius(X: Array) -> Array:
    """Square of the least radius of a Euclidean ball that holds all tokens: (..., n, d) -> (..., 1, 1), rational.

    Of other numbers than floats, rationals and enclosures it is known for up to two tokens, elsewhere NotExpressible.

    >>> squared_enclosing_radius(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])).item()
    1.0
    """
    X = require_matrix("X", X)
    if X.shape[-2] <= 2:
        return total(square(X[..., :1, :] - X[..., -1:, :])) / 4
    if X.dtype.kind == "c":
        raise DomainError("X: an enclosing radius takes real entries, and floats have no derivative of it here")
    if X.dtype != object:
        usable = np.isfinite(X).all(axis=(-2, -1), keepdims=True)
        return np.where(usable, _of_floats(np.where(usable, X, 0.0)), np.nan)
    return number_of_each(X, _of_one)


@in_range
def enclosing_radius(X: Array, norm: Norm = L2) -> Array:
    """Least radius of a ball of the norm that holds all tokens (rows): (..., n, d) -> (..., 1, 1).

    For LINF half the largest range of a column, for L2 the root of `squared_enclosing_radius`, for L1 in up to two
    dimensions; each in any basis. DomainError for other norms.

    >>> from resstream.reference import LINF
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> enclosing_radius(X, LINF).item(), enclosing_radius(X).round(6).item()
    (1.0, 1.118034)
    """
    kind = require_instance("norm", norm, Norm).kind
    X = in_basis(X, norm)
    if kind == "l2":
        return sqrt(squared_enclosing_radius(X))
    if kind == "l1" and X.shape[-1] == 2:  # |x| + |y| is the larger of |x + y| and |x - y|
        sums, differences = X[..., :1] + X[..., 1:], X[..., :1] - X[..., 1:]
        X = np.concatenate([sums, differences], axis=-1)
    elif kind != "linf" and X.shape[-1] > 1:
        raise DomainError(f"norm: expected L2, LINF, or L1 in up to two dimensions, got {norm} in {X.shape[-1]}")
    return largest_entry(amax(X, -2) - amin(X, -2)) / 2


# ---- floats -----------------------------------------------------------------


def _sets(n: int, d: int) -> Iterator[tuple[int, ...]]:
    """Sets of two tokens or more that may be a support: at most one more than there are dimensions."""
    return itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(2, min(n, d + 1) + 1))


def _count(n: int, d: int) -> int:
    return sum(comb(n, k) for k in range(2, min(n, d + 1) + 1))


def _of_floats(X: Array) -> Array:
    n, d = X.shape[-2:]
    if _count(n, d) <= TOGETHER:
        best = np.zeros(X.shape[:-2])
        for chosen in _sets(n, d):
            best = np.maximum(best, _circumscribed(X[..., list(chosen), :])[0])
        return best[..., None, None]
    found = np.empty((*X.shape[:-2], 1, 1))
    for index in np.ndindex(X.shape[:-2]):
        _, _, found[(*index, 0, 0)] = _support(X[index])
    return found


def _circumscribed(X: Array) -> tuple[Array, Array]:
    """Squared radius of the least sphere through k tokens (..., k, d), -1 where its centre is not in their hull; the
    weights (..., k) of the centre.
    """
    edges = X[..., 1:, :] - X[..., :1, :]
    scale = np.maximum(np.abs(edges).max(axis=(-2, -1), keepdims=True), 1e-300)
    edges = edges / scale
    products = edges @ edges.swapaxes(-2, -1)
    half = np.diagonal(products, axis1=-2, axis2=-1)[..., None] / 2
    others = np.linalg.pinv(products, hermitian=True) @ half
    weights = np.concatenate([1 - others.sum(-2, keepdims=True), others], axis=-2)[..., 0]
    missed = np.abs(products @ others - half).max(axis=(-2, -1))
    squared = (others * (products @ others)).sum(axis=(-2, -1)) * scale[..., 0, 0] ** 2
    return np.where((weights.min(-1) >= -NEAR) & (missed <= NEAR), squared, -1.0), weights


def _support(X: Array) -> tuple[list[int], Array, float]:
    """The support of one cloud of floats, its weights and the squared radius: the farthest token joins until all do.

    Each time the radius grows, so that no support comes twice.
    """
    support, weights, squared = [0], np.ones(1), 0.0
    for _ in range(16 * len(X)):
        distances = ((X - weights @ X[support]) ** 2).sum(-1)
        farthest = int(np.argmax(distances))
        if farthest in support or distances[farthest] <= squared * (1 + 1e-12):
            break
        tried = [*support, farthest]
        sets = [[tried[k] for k in chosen] for chosen in _sets(len(tried), X.shape[-1])]
        found = [(*_circumscribed(X[chosen]), chosen) for chosen in sets]
        best = max(found, key=lambda one: float(one[0]))
        if float(best[0]) <= squared:
            break
        squared, weights, support = float(best[0]), best[1], best[2]
    return support, weights, squared


# ---- one exact cloud --------------------------------------------------------


def _of_one(X: Array) -> Any:
    is_rational = all(isinstance(entry, RationalEntry) for entry in X.flat)
    if not is_rational and not all(isinstance(entry, BallEntry) for entry in X.flat):
        raise NotExpressible("an enclosing radius in other numbers than floats, rationals and enclosures")
    support, weights, _ = _support(np.array([[to_float(entry) for entry in row] for row in X]))
    if is_rational:
        return RationalEntry(_rational(_numbers(X), support))
    return BallEntry(_enclosed(_numbers(X), support, weights), nonnegative=True)


def _numbers(X: Array) -> list[list[Any]]:
    """The numbers of FLINT behind the entries of a matrix."""
    return [[entry.value for entry in row] for row in X]


def _dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    return sum((a * b for a, b in zip(x, y, strict=True)), start=0 * x[0])


def _less(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    return [a - b for a, b in zip(x, y, strict=True)]


def _weights(points: list[list[Any]], matrix: Any) -> list[Any]:
    """Weights of the circumcentre of some points; ZeroDivisionError where they are not known to be independent."""
    edges = [_less(point, points[0]) for point in points[1:]]
    if not edges:
        return [1 + 0 * points[0][0]]
    products = matrix([[_dot(x, y) for y in edges] for x in edges])
    solved = products.solve(matrix([[_dot(x, x) / 2] for x in edges]))
    others = [solved[k, 0] for k in range(len(edges))]
    return [1 - sum(others[1:], start=others[0]), *others]


def _centre(points: list[list[Any]], weights: Sequence[Any]) -> list[Any]:
    return [_dot(weights, [point[k] for point in points]) for k in range(len(points[0]))]


def _rational(points: list[list[fmpq]], support: list[int]) -> fmpq:
    """The squared radius of rational points: of the support that was found, or of the first that is one."""
    sets: Iterator[Sequence[int]] = itertools.chain([support], _sets(len(points), len(points[0])))
    for number, chosen in enumerate(sets):
        if number > MOST_SETS:
            break
        some = [points[k] for k in chosen]
        try:
            weights = _weights(some, fmpq_mat)
        except ZeroDivisionError:
            continue
        if min(weights) < 0:
            continue
        centre = _centre(some, weights)
        squared: fmpq = _dot(gap := _less(some[0], centre), gap)
        if all(_dot(gap := _less(point, centre), gap) <= squared for point in points):
            return squared
    raise NotExact(f"the enclosing radius of {len(points)} tokens: no support was found in {MOST_SETS:,} sets")


def _enclosed(points: list[list[arb]], support: list[int], guess: Array) -> arb:
    """An enclosure of the squared radius, whatever the support: any weights bound it from below, their centre from
    above. Those of the middles of the points are taken, for all that the balls hold.
    """
    some = [points[k] for k in support]
    try:
        middles = [[entry.mid() for entry in point] for point in some]
        weights = [weight.mid().nonnegative_part() for weight in _weights(middles, arb_mat)]
    except ZeroDivisionError:
        weights = [arb(max(float(weight), 0.0)) for weight in guess]
    whole = sum(weights[1:], start=weights[0])
    weights = [weight / whole for weight in weights]
    centre = _centre(some, weights)
    below = _dot(weights, [_dot(gap := _less(point, centre), gap) for point in some])
    squares = [_dot(gap := _less(point, centre), gap) for point in points]
    above = squares[0]
    for squared in squares[1:]:
        above = above.max(squared)
    return below.union(above).nonnegative_part()


__all__ = ["enclosing_radius", "squared_enclosing_radius"]
