"""Row-stochastic matrices as smoothers of a cloud of tokens: how wide a cloud is, and how far a layer shrinks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from resstream.arithmetic import (
    Array,
    absolute,
    amax,
    amin,
    mean,
    minimum,
    sqrt,
    square,
    total,
    total_entry,
    zeros,
)
from resstream.arithmetic.layout import in_lanes
from resstream.errors import DomainError, ShapeError
from resstream.reference.checks import (
    certainly,
    in_range,
    refuse_where,
    require_batch,
    require_matrix,
    require_row_stochastic,
    require_rows,
    require_sequence,
    require_square,
    require_width,
    values_matter,
)
from resstream.reference.magnitudes import near_one, root_of_squares
from resstream.reference.norms import L2, Norm, in_basis, row_norms

TOGETHER = 1 << 20
"""Entries of differences of rows that are held at a time."""


@in_range
def dobrushin(A: Array) -> Array:
    """Dobrushin coefficient, half the largest l1 distance of two rows: (..., n, m) -> (..., 1, 1), in [0, 1].

    Rows that do not sum to one raise DomainError. One row gives exactly 0.
    Source: Definition 2 of "The Transformer Block and the Residual Stream".

    >>> dobrushin(np.array([[0.75, 0.25], [0.25, 0.75]]))
    array([[0.5]])
    """
    A = require_row_stochastic("A", A)
    return _largest_of_pairs(lambda differences: total(absolute(differences)), A) / 2


@in_range
def dobrushin_overlap(A: Array) -> Array:
    """The same coefficient as one minus the smallest overlap of two rows: (..., n, m) -> (..., 1, 1), in [0, 1].

    Source: Definition 2, second form.

    >>> dobrushin_overlap(np.array([[0.75, 0.25], [0.25, 0.75]])).item()
    0.5
    """
    A = require_row_stochastic("A", A)
    if A.shape[-2] == 1:
        return zeros((*A.shape[:-2], 1, 1), like=A)
    overlaps = [total(minimum(A[..., k:, :], A[..., :-k, :])) for k in range(1, A.shape[-2])]
    return 1 - amin(np.concatenate(overlaps, axis=-2), -2)


@in_range
def diameter(X: Array, norm: Norm = L2) -> Array:
    """Largest distance of two tokens (rows): (..., n, d) -> (..., 1, 1). One token gives exactly 0.

    Source: the contraction section of "The Transformer Block and the Residual Stream", before Definition 2.

    >>> diameter(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).item()
    5.0
    """
    X = in_basis(X, norm)
    if norm.kind == "l2":
        return root_of_squares(lambda x: _largest_of_pairs(lambda rows: total(square(rows)), x), X, axes=2)
    return _largest_of_pairs(lambda rows: row_norms(rows, Norm(norm.kind)), X)


def _largest_of_pairs(size_of: Callable[[Array], Array], X: Array) -> Array:
    """Largest size of a difference of two rows: (..., n, d) -> (..., 1, 1), exactly 0 for one row.

    size_of: rows (..., m, d) -> (..., m, 1). The pairs are gone through at one distance of their indices after another,
    as many together as `TOGETHER` entries hold, so that small matrices take one step and large ones little memory.
    """
    n = X.shape[-2]
    if n == 1:
        return zeros((*X.shape[:-2], 1, 1), like=X)
    X = in_lanes(X)  # before there are n/2 times as many numbers
    most = max(1, TOGETHER // X.size)
    tops = [amax(size_of(_differences(X, range(k, min(k + most, n)))), -2) for k in range(1, n, most)]
    return tops[0] if len(tops) == 1 else amax(np.concatenate(tops, axis=-2), -2)


def _differences(X: Array, offsets: Iterable[int]) -> Array:
    """Differences of the rows whose indices are one of the offsets apart: (..., n, d) -> (..., m, d)."""
    parts = [X[..., k:, :] - X[..., :-k, :] for k in offsets]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2)


@in_range
def pairwise_distances(X: Array, norm: Norm = L2) -> Array:
    """Distance of every pair of rows: (..., n, d) -> (..., n, n), symmetric with a zero diagonal.

    >>> pairwise_distances(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    X = in_basis(X, norm)
    return np.concatenate([row_norms(X - X[..., i : i + 1, :], Norm(norm.kind)) for i in range(X.shape[-2])], axis=-1)


@in_range
def mean_pairwise_distance(X: Array, norm: Norm = L2) -> Array:
    """Mean distance of two different tokens (rows): (..., n, d) -> (..., 1, 1). One token gives exactly 0.

    >>> from resstream.reference import L1
    >>> mean_pairwise_distance(np.array([[0.0], [1.0], [5.0]]), L1).round(6).item()
    3.333333
    """
    X = in_basis(X, norm)
    n = X.shape[-2]
    if n == 1:
        return zeros((*X.shape[:-2], 1, 1), like=X)
    sums = [total(row_norms(_differences(X, [k]), Norm(norm.kind)), -2) for k in range(1, n)]
    return 2 * total(np.concatenate(sums, axis=-1)) / (n * (n - 1))


@in_range
def dispersion(X: Array) -> Array:
    """Mean squared Euclidean distance of the tokens (rows) to their mean: (..., n, d) -> (..., 1, 1).

    It is half the mean of the squared distances of all n^2 pairs.

    >>> dispersion(np.array([[0.0, 0.0], [6.0, 8.0]])).item()
    25.0
    """
    X = require_matrix("X", X)
    return total_entry(square(X - mean(X, -2))) / X.shape[-2]


@in_range
def gram(X: Array) -> Array:
    """Gram matrix, the inner product of every pair of rows: (..., n, d) -> (..., n, n), X @ X^T.

    >>> gram(np.array([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [[5.0, 6.0], [6.0, 9.0]]
    """
    X = require_matrix("X", X)
    return X @ X.mT


@in_range
def cosine_similarity(X: Array, Y: Array | None = None) -> Array:
    """Cosine of the angle of every row of X and every row of Y: (..., n, d) and (..., m, d) -> (..., n, m), in [-1, 1].

    Y is X by default. A zero row raises DomainError.

    >>> cosine_similarity(np.array([[2.0, 0.0], [0.0, 3.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    X = require_matrix("X", X)
    Y = X if Y is None else require_width("Y", Y, X.shape[-1], of="X has")
    require_batch(X=X, Y=Y)
    lengths = []
    for name, rows in (("X", X), ("Y", Y)):
        rows = near_one(rows[..., None, :], axes=2)[..., 0, :]
        lengths.append((rows, total(square(rows))))
        if values_matter(rows):
            zero = certainly(lengths[-1][1], lambda length: length == 0)[..., 0]
            refuse_where(zero, f"{name}: row {{at}} is zero, so the cosine is not defined")
    (X, of_X), (Y, of_Y) = lengths
    return X @ Y.mT / sqrt(of_X @ of_Y.mT)


@in_range
def relative_spread(X: Array) -> Array:
    """Frobenius norm of X less its mean row, over that of X: (..., n, d) -> (..., 1, 1), in [0, 1].

    A zero X raises DomainError. Source: after Proposition 2.

    >>> relative_spread(np.ones((2, 2))).item(), relative_spread(np.array([[1.0], [-1.0]])).item()
    (0.0, 1.0)
    """
    X = near_one(require_matrix("X", X), axes=2)
    size = total_entry(square(X))
    if values_matter(X) and (size == 0).any():
        raise DomainError("X: the relative spread of a zero matrix is not defined")
    return sqrt(total_entry(square(X - mean(X, -2))) / size)


@in_range
def row_range(S: Array) -> Array:
    """Largest range (maximum less minimum) of a row: (..., n, m) -> (..., 1, 1). Source: Theorem 1 (ii).

    >>> row_range(np.array([[1.0, 4.0], [2.0, 2.0]])).item()
    3.0
    """
    S = require_matrix("S", S)
    return amax(amax(S) - amin(S), -2)


@in_range
def smoothing_stack(As: Sequence[Array], X: Array, Ws: Sequence[Array]) -> list[Array]:
    """States X_0 .. X_L of X_{l+1} = A_l X_l W_l: L matrices A (..., n, n), X (..., n, d), L matrices W (..., d, d).

    Source: Definition 2, the pure attention stack.

    >>> A, X, W = np.full((2, 2), 0.5), np.array([[0.0], [2.0]]), np.eye(1)
    >>> [state.ravel().tolist() for state in smoothing_stack([A, A], X, [W, W])]
    [[0.0, 2.0], [1.0, 1.0], [1.0, 1.0]]
    """
    As, X, Ws = _layers(As, X, Ws)
    states = [X]
    for A, W in zip(As, Ws, strict=True):
        states.append(A @ states[-1] @ W)
    return states


@in_range
def skip_stack(As: Sequence[Array], X: Array, Ws: Sequence[Array]) -> list[Array]:
    """States X_0 .. X_L of X_{l+1} = X_l + A_l X_l W_l, with shapes as in `smoothing_stack`.

    Source: Definition 2, the stack with the skip.

    >>> A, X, W = np.full((2, 2), 0.5), np.array([[0.0], [2.0]]), np.eye(1)
    >>> [state.ravel().tolist() for state in skip_stack([A, A], X, [W, W])]
    [[0.0, 2.0], [1.0, 3.0], [3.0, 5.0]]
    """
    As, X, Ws = _layers(As, X, Ws)
    states = [X]
    for A, W in zip(As, Ws, strict=True):
        states.append(states[-1] + A @ states[-1] @ W)
    return states


def _layers(As: Sequence[Array], X: Array, Ws: Sequence[Array]) -> tuple[list[Array], Array, list[Array]]:
    """The arguments of a stack through the gate."""
    X = require_matrix("X", X)
    As = require_sequence("As", As, "matrices")
    Ws = require_sequence("Ws", Ws, "matrices")
    if len(As) != len(Ws):
        raise ShapeError(f"As, Ws: expected one W for every A, got {len(As)} and {len(Ws)}")
    for layer in range(len(As)):
        As[layer] = A = require_row_stochastic(f"As[{layer}]", As[layer])
        require_square(f"As[{layer}]", A)
        require_width(f"As[{layer}]", A, X.shape[-2], of="X has rows")
        Ws[layer] = W = require_square(f"Ws[{layer}]", Ws[layer])
        require_rows(f"Ws[{layer}]", W, X.shape[-1], of="X has columns")
        require_batch(**{f"As[{layer}]": A, "X": X, f"Ws[{layer}]": W})
    return As, X, Ws
