"""The reference mathematics, small enough to read."""

from resstream.reference.norms import (
    L1,
    L2,
    LINF,
    Norm,
    frobenius_norm,
    largest_row_norm,
    operator_norm,
    row_norms,
    spectral_norm,
)

__all__ = [
    "L1",
    "L2",
    "LINF",
    "Norm",
    "frobenius_norm",
    "largest_row_norm",
    "operator_norm",
    "row_norms",
    "spectral_norm",
]
