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
from resstream.reference.smoothing import (
    diameter,
    dobrushin,
    dobrushin_overlap,
    pairwise_distances,
    relative_spread,
    row_range,
    skip_stack,
    smoothing_stack,
)

__all__ = [
    "L1",
    "L2",
    "LINF",
    "Norm",
    "diameter",
    "dobrushin",
    "dobrushin_overlap",
    "frobenius_norm",
    "largest_row_norm",
    "operator_norm",
    "pairwise_distances",
    "relative_spread",
    "row_norms",
    "row_range",
    "skip_stack",
    "smoothing_stack",
    "spectral_norm",
]
