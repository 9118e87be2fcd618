"""What a claim quantifies over.

A domain is two things. Its *raw* arrays are easy to draw, perturb and shrink: any finite numbers will do. Its *build*
turns raw arrays into the mathematical object with arithmetic-neutral operations, so that an exact raw instance gives
an exact object (rows sum to one as rationals, not to 0.9999999), and no change of the raw arrays leaves the domain.

Sizes are names ("n", "d") or whole numbers. Every built object has two trailing axes: a vector is one row (..., 1, d),
a scalar is (..., 1, 1). What cannot vary within a batch (the kind of a norm) is an *option*.
"""

from __future__ import annotations

from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, entries, is_all, require_domain, size_of
from resstream.domains.combined import Given, Pair, Product, Stack, Transformed
from resstream.domains.current import size
from resstream.domains.expectation import expectation
from resstream.domains.invertible import Invertible, InvertiblePair, Projection
from resstream.domains.laws import Gaussian, Law, OnSphere, Signs, Uniform
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
from resstream.domains.models import AttentionOnly, Heads, ReluLayer, SharedHeads, Tokens
from resstream.domains.norms import Norm
from resstream.domains.orthogonal import Ball, Orthogonal, Sphere
from resstream.domains.pieces import Piece, raw_values
from resstream.domains.scalars import Count, Integers, Ordered, Scalar, Subset, Whole
from resstream.domains.stochastic import (
    Banded,
    BandedMask,
    BlockMask,
    BlockStochastic,
    Causal,
    CausalMask,
    DoublyStochastic,
    EqualRows,
    Mask,
    Permutation,
    PositiveRows,
    RowStochastic,
    Simplex,
    SlidingWindow,
    SlidingWindowMask,
    SymmetricDoublyStochastic,
)
from resstream.domains.structured import Alibi, BlockDiagonal, LowRank, NearbyPair, RankOne, SymmetricWithSpectrum

__all__ = [
    "Alibi",
    "AttentionOnly",
    "Ball",
    "Banded",
    "BandedMask",
    "BlockDiagonal",
    "BlockMask",
    "BlockStochastic",
    "Causal",
    "CausalMask",
    "Count",
    "Domain",
    "DoublyStochastic",
    "EqualRows",
    "Gaussian",
    "Given",
    "Heads",
    "Integers",
    "Invertible",
    "InvertiblePair",
    "Law",
    "LowRank",
    "Mask",
    "Matrix",
    "NearbyPair",
    "NonConstant",
    "NonNegative",
    "NonZero",
    "Norm",
    "OnSphere",
    "Options",
    "Ordered",
    "Orthogonal",
    "Pair",
    "Part",
    "Parts",
    "Permutation",
    "Piece",
    "Positive",
    "PositiveRows",
    "PositiveSemidefinite",
    "Product",
    "Projection",
    "RankOne",
    "ReluLayer",
    "RowStochastic",
    "Scalar",
    "Scores",
    "SharedHeads",
    "Signs",
    "Simplex",
    "Size",
    "Sizes",
    "SlidingWindow",
    "SlidingWindowMask",
    "Sphere",
    "Stack",
    "Subset",
    "Symmetric",
    "SymmetricDoublyStochastic",
    "SymmetricWithSpectrum",
    "Tokens",
    "Transformed",
    "Uniform",
    "Vector",
    "Whole",
    "entries",
    "expectation",
    "is_all",
    "raw_values",
    "require_domain",
    "size",
    "size_of",
]
