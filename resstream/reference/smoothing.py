"""Row-stochastic matrices as smoothers of a cloud of tokens: how wide a cloud is, and how far a layer shrinks it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resstream.arithmetic import Array, absolute, amax, amin, mean, minimum, sqrt, square, total, total_entry, zeros
from resstream.errors import DomainError, ShapeError
from resstream.reference.checks import (
    require_batch,
    require_matrix,
    require_row_stochastic,
    require_rows,
    require_square,
    require_width,
    values_matter,
)
from resstream.reference.norms import L2, Norm, in_basis, largest_row_norm, row_norms


def dobrushin(A: Array) -> Array:
    """Dobrushin coefficient, half the largest l1 distance of two rows: (..., n, m) -> (..., 1, 1), in [0, 1].

    Rows that do not sum to one raise DomainError. One row gives exactly 0.
    Source: Definition 2 of "The Transformer Block and the Residual Stream".

    >>> dobrushin(np.array([[0.75, 0.25], [0.25, 0.75]]))
    array([[0.5]])
    """
    require_row_stochastic("A", A)
    if A.shape[-2] == 1:
        return zeros((*A.shape[:-2], 1, 1), like=A)
    return amax(total(absolute(_pair_differences(A))), -2) / 2


def dobrushin_overlap(A: Array) -> Array:
    """The same coefficient as one minus the smallest overlap of two rows: (..., n, m) -> (..., 1, 1), in [0, 1].

    Source: Definition 2, second form.
    """
    require_row_stochastic("A", A)
    if A.shape[-2] == 1:
        return zeros((*A.shape[:-2], 1, 1), like=A)
    overlaps = [total(minimum(A[..., k:, :], A[..., :-k, :])) for k in range(1, A.shape[-2])]
    return 1 - amin(np.concatenate(overlaps, axis=-2), -2)


def diameter(X: Array, norm: Norm = L2) -> Array:
    """Largest distance of two tokens (rows): (..., n, d) -> (..., 1, 1). One token gives exactly 0.

    Source: the contraction section of "The Transformer Block and the Residual Stream", before Definition 2.
    """
    X = in_basis(X, norm)
    if X.shape[-2] == 1:
        return zeros((*X.shape[:-2], 1, 1), like=X)
    return largest_row_norm(_pair_differences(X), Norm(norm.kind))


def _pair_differences(X: Array) -> Array:
    """Differences of all pairs of two rows or more, each pair once: (..., n, d) -> (..., n(n - 1)/2, d)."""
    return np.concatenate([X[..., k:, :] - X[..., :-k, :] for k in range(1, X.shape[-2])], axis=-2)


def pairwise_distances(X: Array, norm: Norm = L2) -> Array:
    """Distance of every pair of rows: (..., n, d) -> (..., n, n), symmetric with a zero diagonal."""
    X = in_basis(X, norm)
    return np.concatenate([row_norms(X - X[..., i : i + 1, :], Norm(norm.kind)) for i in range(X.shape[-2])], axis=-1)


def relative_spread(X: Array) -> Array:
    """Frobenius norm of X less its mean row, over that of X: (..., n, d) -> (..., 1, 1), in [0, 1].

    A zero X raises DomainError. Source: after Proposition 2.
    """
    require_matrix("X", X)
    size = total_entry(square(X))
    if values_matter(X) and (size == 0).any():
        raise DomainError("X: the relative spread of a zero matrix is not defined")
    return sqrt(total_entry(square(X - mean(X, -2))) / size)


def row_range(S: Array) -> Array:
    """Largest range (maximum less minimum) of a row: (..., n, m) -> (..., 1, 1). Source: Theorem 1 (ii)."""
    require_matrix("S", S)
    return amax(amax(S) - amin(S), -2)


def smoothing_stack(As: Sequence[Array], X: Array, Ws: Sequence[Array]) -> list[Array]:
    """States X_0 .. X_L of X_{l+1} = A_l X_l W_l: L matrices A (..., n, n), X (..., n, d), L matrices W (..., d, d).

    Source: Definition 2, the pure attention stack.
    """
    _require_layers(As, X, Ws)
    states = [X]
    for A, W in zip(As, Ws, strict=True):
        states.append(A @ states[-1] @ W)
    return states


def skip_stack(As: Sequence[Array], X: Array, Ws: Sequence[Array]) -> list[Array]:
    """States X_0 .. X_L of X_{l+1} = X_l + A_l X_l W_l, with shapes as in `smoothing_stack`.

    Source: Definition 2, the stack with the skip.
    """
    _require_layers(As, X, Ws)
    states = [X]
    for A, W in zip(As, Ws, strict=True):
        states.append(states[-1] + A @ states[-1] @ W)
    return states


def _require_layers(As: Sequence[Array], X: Array, Ws: Sequence[Array]) -> None:
    require_matrix("X", X)
    if len(As) != len(Ws):
        raise ShapeError(f"As, Ws: expected one W for every A, got {len(As)} and {len(Ws)}")
    for layer, (A, W) in enumerate(zip(As, Ws, strict=True)):
        require_row_stochastic(f"As[{layer}]", A)
        require_square(f"As[{layer}]", A)
        require_width(f"As[{layer}]", A, X.shape[-2], of="X has rows")
        require_square(f"Ws[{layer}]", W)
        require_rows(f"Ws[{layer}]", W, X.shape[-1], of="X has columns")
        require_batch(A=A, X=X, W=W)
