"""Stochastic matrices: row-stochastic, causal, doubly stochastic, permutations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, absolute, ones, total, where, zeros
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of
from resstream.domains.matrices import NonNegative


@dataclass(frozen=True)
class RowStochastic(Domain):
    """A row-stochastic matrix (..., rows, columns): raw weights over their row sums; a row of zeros means uniform."""

    rows: Size
    columns: Size | None = None

    def _shape(self, sizes: Sizes) -> tuple[int, int]:
        return size_of(self.rows, sizes), size_of(self.rows if self.columns is None else self.columns, sizes)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part(self._shape(sizes), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return _over_row_sums(absolute(raw[""]), np.ones(self._shape(sizes), dtype=bool))

    def wider(self) -> Domain | None:
        return NonNegative(self.rows, self.rows if self.columns is None else self.columns)


def _over_row_sums(weights: Array, allowed: Array) -> Array:
    weights = where(allowed, weights, 0)
    is_empty = np.all(weights == 0, axis=-1, keepdims=True)
    weights = where(is_empty & allowed, 1, weights)
    return weights / total(weights)


@dataclass(frozen=True)
class Causal(RowStochastic):
    """A row-stochastic, lower-triangular matrix (..., n, n): position i attends to positions up to i."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return _over_row_sums(absolute(raw[""]), np.tri(*self._shape(sizes), dtype=bool))

    def wider(self) -> Domain | None:
        return RowStochastic(self.rows)


def Simplex(size: Size) -> RowStochastic:  # noqa: N802 - reads as a domain
    """A probability vector (..., 1, n)."""
    return RowStochastic(1, size)


@dataclass(frozen=True)
class Permutation(Domain):
    """A permutation matrix (..., n, n): row i has its 1 where the i-th smallest raw number stands."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, size_of(self.size, sizes)))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        keys = raw[""]
        order = np.argsort(keys, axis=-1, kind="stable")[..., 0, :]
        hot = order[..., :, None] == np.arange(keys.shape[-1])
        return where(hot, ones((1, 1), keys), zeros((1, 1), keys))

    def wider(self) -> Domain | None:
        return DoublyStochastic(self.size)


@dataclass(frozen=True)
class DoublyStochastic(Domain):
    """A doubly stochastic matrix (..., n, n), as Birkhoff has it: a mixture of enough permutations to reach all."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        n = size_of(self.size, sizes)
        terms = (n - 1) ** 2 + 1
        return {"weights": Part((1, terms), "weight"), "orders": Part((terms, n))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        weights = RowStochastic(1, raw["weights"].shape[-1]).build({"": raw["weights"]}, options, sizes)
        mixture = None
        for k in range(weights.shape[-1]):
            permutation = Permutation(self.size).build({"": raw["orders"][..., k : k + 1, :]}, options, sizes)
            term = weights[..., k : k + 1] * permutation
            mixture = term if mixture is None else mixture + term
        return mixture

    def wider(self) -> Domain | None:
        return RowStochastic(self.size)
