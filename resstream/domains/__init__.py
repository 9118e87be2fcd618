"""What a claim quantifies over.

A domain is two things. Its *raw* arrays are easy to draw, perturb and shrink: any finite numbers will do. Its *build*
turns raw arrays into the mathematical object with arithmetic-neutral operations, so that an exact raw instance gives
an exact object (rows sum to one as rationals, not to 0.9999999), and no change of the raw arrays leaves the domain.

Sizes are names ("n", "d") or whole numbers. Every built object has two trailing axes: a vector is one row (..., 1, d),
a scalar is (..., 1, 1). What cannot vary within a batch (the kind of a norm) is an *option*.
"""

from __future__ import annotations

from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of
from resstream.domains.invertible import Invertible, InvertiblePair, Projection
from resstream.domains.matrices import (
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Positive,
    PositiveSemidefinite,
    Scores,
    Symmetric,
    Vector,
)
from resstream.domains.models import AttentionOnly, Heads, ReluLayer, Tokens
from resstream.domains.norms import Norm
from resstream.domains.orthogonal import Orthogonal
from resstream.domains.scalars import Count, Scalar, Whole
from resstream.domains.stacks import Stack
from resstream.domains.stochastic import Causal, DoublyStochastic, Permutation, RowStochastic, Simplex

__all__ = [
    "AttentionOnly",
    "Causal",
    "Count",
    "Domain",
    "DoublyStochastic",
    "Heads",
    "Invertible",
    "InvertiblePair",
    "Matrix",
    "NonConstant",
    "NonNegative",
    "NonZero",
    "Norm",
    "Options",
    "Orthogonal",
    "Part",
    "Parts",
    "Permutation",
    "Positive",
    "PositiveSemidefinite",
    "Projection",
    "ReluLayer",
    "RowStochastic",
    "Scalar",
    "Scores",
    "Simplex",
    "Size",
    "Sizes",
    "Stack",
    "Symmetric",
    "Tokens",
    "Vector",
    "Whole",
    "size_of",
]
