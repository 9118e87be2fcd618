"""Orthogonal matrices and orthonormal columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import eye, total, where
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of
from resstream.domains.matrices import Matrix


@dataclass(frozen=True)
class Orthogonal(Domain):
    """An orthogonal matrix (..., d, d), or its first columns (..., d, k): a product of reflections in raw vectors.

    A raw vector of zeros reflects nothing, so raw zeros give the identity.
    """

    size: Size
    columns: Size | None = None

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        vectors = raw[""]
        d = vectors.shape[-1]
        product = eye(d, vectors)
        for k in range(d):
            v = vectors[..., k : k + 1, :]
            length = total(v * v)
            length = where(np.all(v == 0, axis=-1, keepdims=True), 1, length)
            product = product - 2 * (product @ v.mT) @ v / length
        return product[..., : d if self.columns is None else size_of(self.columns, sizes)]

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size if self.columns is None else self.columns)
