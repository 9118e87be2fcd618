"""How far a cloud of tokens is from one with equal rows: the least distances, which stand for "there is"."""

from __future__ import annotations

from resstream.arithmetic import Array, amax, amin, descending, largest_entry, mean, total_entry
from resstream.errors import DomainError
from resstream.reference.checks import in_range, require_instance, require_matrix
from resstream.reference.norms import L2, Norm, frobenius_norm


@in_range
def distance_to_constant(X: Array, norm: Norm = L2) -> Array:
    """Least entrywise distance of X to a matrix with equal rows: (..., n, d) -> (..., 1, 1).

    Of all entries together: the sum of the absolute differences (L1), the root of the sum of their squares (L2, the
    Frobenius norm) or the largest (LINF); they are least at the medians, the means and the middles of the columns.
    Rational for L1 and LINF. DomainError for other norms, and for one in another basis.

    >>> import numpy as np
    >>> from resstream.reference import L1
    >>> distance_to_constant(np.array([[0.0], [1.0], [5.0]]), L1).item()
    5.0
    """
    X = require_matrix("X", X)
    if require_instance("norm", norm, Norm).basis is not None or norm.kind not in ("l1", "l2", "linf"):
        raise DomainError(f"norm: expected L1, L2 or LINF in the standard basis, got {norm}")
    if norm.kind == "l2":
        return frobenius_norm(X - mean(X, -2))
    if norm.kind == "linf":
        return largest_entry(amax(X, -2) - amin(X, -2)) / 2
    ordered, n = descending(X.mT), X.shape[-2]
    upper, lower = ordered[..., : n // 2], ordered[..., n - n // 2 :]
    return total_entry(upper - lower) if n > 1 else total_entry(X - X)


__all__ = ["distance_to_constant"]
