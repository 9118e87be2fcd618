"""Triangular matrices and their exact inverses: what invertible and semidefinite matrices are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from resstream.arithmetic import Array, eye, where


def triangular_pair(lower: Array, upper: Array, diagonal: Array) -> tuple[Array, Callable[[], Array]]:
    """L U and what makes its inverse, each (..., d, d), of what stands below and above the diagonals of two matrices.

    L has ones on its diagonal; the diagonal of U, (..., 1, d), must have no zero.
    """
    left, right = unit_lower(lower), unit_lower(upper.mT)

    def inverse() -> Array:
        result: Array = (unit_lower_inverse(right).mT / diagonal.mT) @ unit_lower_inverse(left)
        return result

    return left @ (right.mT * diagonal), inverse


def diagonal_of(x: Array) -> Array:
    """The diagonal of a matrix (..., d, d) as a row (..., 1, d)."""
    return np.diagonal(x, axis1=-2, axis2=-1)[..., None, :]


def unit_lower(x: Array) -> Array:
    """What lies below the diagonal of a matrix (..., d, d), with ones on the diagonal and zeros above."""
    return where(np.tri(x.shape[-1], k=-1, dtype=bool), x, eye(x.shape[-1], x))


def unit_lower_inverse(lower: Array) -> Array:
    """Inverse of a unit lower triangular matrix (..., d, d), row by row."""
    size = lower.shape[-1]
    identity = np.broadcast_to(eye(size, lower), lower.shape)
    rows = [identity[..., :1, :]]
    for i in range(1, size):
        above = np.concatenate(rows, axis=-2)
        rows.append(identity[..., i : i + 1, :] - lower[..., i : i + 1, :i] @ above)
    return np.concatenate(rows, axis=-2)
