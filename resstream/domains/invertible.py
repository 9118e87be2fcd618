"""Invertible matrices, with their exact inverses, and the projections that they carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, absolute, eye, total, where
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of
from resstream.domains.matrices import Matrix


@dataclass(frozen=True)
class Invertible(Domain):
    """A matrix (..., d, d) with an inverse: unit lower triangular times upper triangular with a diagonal of at least 1.

    `build` gives the matrix; `build_pair` gives it with its exact inverse. Raw zeros give the identity.
    """

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"lower": Part((d, d)), "upper": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return self.build_pair(raw)[0]

    def build_pair(self, raw: Parts) -> tuple[Array, Array]:
        """The matrix and its inverse, each (..., d, d)."""
        identity = eye(raw["lower"].shape[-1], raw["lower"])
        strict = np.tri(identity.shape[-1], k=-1, dtype=bool)
        lower = identity + where(strict, raw["lower"], 0)
        unit_upper = identity + where(strict.mT, raw["upper"], 0)
        scales = total(where(identity == 1, 1 + absolute(raw["upper"]), 0)).mT  # of columns, (..., 1, d)
        upper_inverse = _unit_lower_inverse(unit_upper.mT).mT
        return lower @ (unit_upper * scales), (upper_inverse / scales.mT) @ _unit_lower_inverse(lower)

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


@dataclass(frozen=True)
class InvertiblePair(Invertible):
    """An invertible matrix (..., d, d) and its exact inverse, as a tuple of two."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return self.build_pair(raw)

    def wider(self) -> Domain | None:
        return None


@dataclass(frozen=True)
class Projection(Domain):
    """A projection (..., d, d), P @ P = P, oblique in general: B D B^-1 with D of zeros and ones (raw kept > 0)."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"kept": Part((1, size_of(self.size, sizes))), **Invertible(self.size).parts(sizes, options)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        basis, inverse = Invertible(self.size).build_pair(raw)
        return where(raw["kept"] > 0, basis, 0) @ inverse

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


def _unit_lower_inverse(lower: Array) -> Array:
    """Inverse of a unit lower triangular matrix (..., d, d), row by row."""
    size = lower.shape[-1]
    identity = np.broadcast_to(eye(size, lower), lower.shape)
    rows = [identity[..., :1, :]]
    for i in range(1, size):
        above = np.concatenate(rows, axis=-2)
        rows.append(identity[..., i : i + 1, :] - lower[..., i : i + 1, :i] @ above)
    return np.concatenate(rows, axis=-2)
