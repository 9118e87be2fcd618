"""Real matrices by their entries: any, nonnegative, positive, not zero, not constant, symmetric, semidefinite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, absolute, where
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of


@dataclass(frozen=True)
class Matrix(Domain):
    """Any real matrix (..., rows, columns)."""

    rows: Size
    columns: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((size_of(self.rows, sizes), size_of(self.columns, sizes)))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""]


def Vector(size: Size) -> Matrix:  # noqa: N802 - reads as a domain
    """Any real row vector (..., 1, d)."""
    return Matrix(1, size)


def Scores(rows: Size, columns: Size | None = None) -> Matrix:  # noqa: N802 - reads as a domain
    """Any real attention scores (..., n, n)."""
    return Matrix(rows, rows if columns is None else columns)


@dataclass(frozen=True)
class NonNegative(Domain):
    """A matrix (..., rows, columns) with entries at least 0."""

    rows: Size
    columns: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((size_of(self.rows, sizes), size_of(self.columns, sizes)), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return absolute(raw[""])

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.columns)


@dataclass(frozen=True)
class Positive(NonNegative):
    """A matrix (..., rows, columns) with entries above 0; a raw zero stands for 1. `Positive(1, 1)` is a scalar."""

    rows: Size = 1
    columns: Size = 1

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return where(raw[""] == 0, 1, absolute(raw[""]))

    def wider(self) -> Domain | None:
        return NonNegative(self.rows, self.columns)


@dataclass(frozen=True)
class NonZero(Matrix):
    """A matrix (..., rows, columns) that is not all zeros; raw zeros stand for the unit in the corner."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        return _with_corner(x, np.all(x == 0, axis=(-2, -1), keepdims=True))

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.columns)


@dataclass(frozen=True)
class NonConstant(Domain):
    """Rows (..., rows, d), d >= 2, none a multiple of the all-ones vector: a constant raw row gets 1 added in front."""

    size: Size
    rows: Size = 1

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return Matrix(self.rows, self.size).parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        is_constant = np.all(x == x[..., :1], axis=-1, keepdims=True)
        first = np.arange(x.shape[-1]) == 0
        return where(is_constant & first, x + 1, x)

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.size)


def _with_corner(x: Array, wanted: Array) -> Array:
    corner = np.zeros(x.shape[-2:], dtype=bool)
    corner[0, 0] = True
    return where(wanted & corner, 1, x)


@dataclass(frozen=True)
class Symmetric(Domain):
    """A symmetric matrix (..., d, d): the lower triangle of the raw array, mirrored."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        return where(np.tri(x.shape[-1], dtype=bool), x, x.mT)

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


@dataclass(frozen=True)
class PositiveSemidefinite(Domain):
    """A symmetric positive semidefinite matrix (..., d, d): G G^T."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""] @ raw[""].mT

    def wider(self) -> Domain | None:
        return Symmetric(self.size)
