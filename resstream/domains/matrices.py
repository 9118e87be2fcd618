"""Real matrices by their entries: any, nonnegative, positive, not zero, not constant, symmetric, semidefinite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, absolute, total, total_entry, where
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import Domain, Options, Part, Parts, Projected, Size, Sizes, entries, is_all, size_of
from resstream.domains.pieces import Piece
from resstream.domains.projections import lifted, mirrored
from resstream.domains.triangular import unit_lower


@dataclass(frozen=True)
class Matrix(Domain):
    """All real matrices (..., rows, columns).

    >>> Matrix("n", 2).contains(np.zeros((3, 2)), {"n": 3}), Matrix("n", 2).contains(np.zeros((3, 3)), {"n": 3})
    (True, False)
    """

    rows: Size
    columns: Size

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.columns

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part(self.shape_at(sizes))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""]

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        return entries(value, self.shape_at(sizes)) is not None


def Vector(size: Size) -> Matrix:  # noqa: N802 - reads as a domain
    """All real row vectors (..., 1, d).

    >>> Vector("d").contains(np.zeros((1, 4)), {"d": 4}), Vector("d").contains(np.zeros(4), {"d": 4})
    (True, False)
    """
    return Matrix(1, size)


def Scores(rows: Size, columns: Size | None = None) -> Matrix:  # noqa: N802 - reads as a domain
    """All real attention scores (..., n, n), or (..., n, m).

    >>> Scores("n").contains(np.zeros((3, 3)), {"n": 3}), str(Scores("n", "m"))
    (True, 'Matrix(n, m)')
    """
    return Matrix(rows, rows if columns is None else columns)


@dataclass(frozen=True)
class NonNegative(Domain):
    """Matrices (..., rows, columns) with entries at least 0: the absolute values of raw numbers.

    >>> NonNegative(1, 2).build({"": np.array([[-1.0, 2.0]])}, {}, {}).tolist()
    [[1.0, 2.0]]
    """

    rows: Size
    columns: Size

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.columns

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part(self.shape_at(sizes), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return absolute(raw[""])

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        x = unknowns.nonnegative(self.shape_at(sizes))
        return Piece(x, {"": x})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, self.shape_at(sizes))
        return x is not None and is_all(x >= 0)

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.columns)


@dataclass(frozen=True)
class Positive(NonNegative):
    """Matrices (..., rows, columns) with entries above 0; a raw zero stands for 1. `Positive()` is a scalar.

    >>> Positive().build({"": np.array([[0.0]])}, {}, {}).item()
    1.0
    """

    rows: Size = 1
    columns: Size = 1

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return where(raw[""] == 0, 1, absolute(raw[""]))

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        x = unknowns.positive(self.shape_at(sizes))
        return Piece(x, {"": x})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, self.shape_at(sizes))
        return x is not None and is_all(x > 0)

    def wider(self) -> Domain | None:
        return NonNegative(self.rows, self.columns)


@dataclass(frozen=True)
class NonZero(Matrix):
    """Matrices (..., rows, columns) that are not all zeros; raw zeros stand for the unit in the corner.

    >>> NonZero(2, 2).build({"": np.zeros((2, 2))}, {}, {}).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        corner = np.zeros(x.shape[-2:], dtype=bool)
        corner[0, 0] = True
        return where(np.all(x == 0, axis=(-2, -1), keepdims=True) & corner, 1, x)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        x = unknowns.real(self.shape_at(sizes))
        unknowns.assume(total_entry(x * x), ">")
        return Piece(x, {"": x})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, self.shape_at(sizes))
        return x is not None and not is_all(x == 0)

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.columns)


@dataclass(frozen=True)
class NonConstant(Domain):
    """Rows (..., rows, d), none a multiple of the all-ones vector: a constant raw row gets 1 added in front.

    Empty at d = 1.

    >>> NonConstant(3).build({"": np.array([[5.0, 5.0, 5.0]])}, {}, {}).tolist()
    [[6.0, 5.0, 5.0]]
    """

    size: Size
    rows: Size = 1

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return Matrix(self.rows, self.size).parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        is_constant = np.all(x == x[..., :1], axis=-1, keepdims=True)
        first = np.arange(x.shape[-1]) == 0
        return where(is_constant & first, x + 1, x)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        rows, d = size_of(self.rows, sizes), size_of(self.size, sizes)
        x = unknowns.real((rows, d))
        pairs = [x[:, i : i + 1] - x[:, j : j + 1] for i in range(d) for j in range(i)]
        unknowns.assume(total(np.concatenate([each * each for each in pairs], axis=-1)), ">")
        return Piece(x, {"": x})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (size_of(self.rows, sizes), size_of(self.size, sizes)))
        return x is not None and not any(is_all(row == row[:1]) for row in x)

    def why_empty(self, sizes: Sizes) -> str:
        return "a row of width 1 is constant" if size_of(self.size, sizes) == 1 else ""

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.size)


@dataclass(frozen=True)
class Symmetric(Domain):
    """Symmetric matrices (..., d, d): the lower triangle of the raw array, mirrored.

    >>> Symmetric(2).build({"": np.array([[1.0, 9.0], [2.0, 3.0]])}, {}, {}).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """

    size: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        return mirrored(x)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        return where(np.tri(x.shape[-1], dtype=bool), x, x.mT)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d = size_of(self.size, sizes)
        x = entries(value, (d, d))
        return x is not None and is_all(x == x.mT)

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


@dataclass(frozen=True)
class PositiveSemidefinite(Domain):
    """Symmetric positive semidefinite matrices (..., d, d): L D L^T, L unit lower triangular, D diagonal, D >= 0.

    >>> PositiveSemidefinite(2).contains(np.ones((2, 2)), {}), PositiveSemidefinite(2).contains(-np.eye(2), {})
    (True, False)
    """

    size: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        return lifted(x, _is_semidefinite)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"lower": Part((d, d)), "pivots": Part((1, d), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        lower = unit_lower(raw["lower"])
        return (lower * absolute(raw["pivots"])) @ lower.mT

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        d = size_of(self.size, sizes)
        raw = {"lower": unknowns.real((d, d)), "pivots": unknowns.nonnegative((1, d))}
        lower = unit_lower(raw["lower"])
        return Piece((lower * raw["pivots"]) @ lower.mT, raw)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d = size_of(self.size, sizes)
        x = entries(value, (d, d))
        return x is not None and is_all(x == x.mT) and _is_semidefinite(x)

    def wider(self) -> Domain | None:
        return Symmetric(self.size)


def _is_semidefinite(x: Array) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue: by its pivots, where one of 0 needs a row of zeros."""
    rest = x.copy()
    for k in range(len(rest)):
        pivot = rest[k, k]
        if pivot < 0:
            return False
        below = rest[k + 1 :, k].copy()
        if pivot == 0:
            if not is_all(below == 0):
                return False
        else:
            rest[k + 1 :, k + 1 :] = rest[k + 1 :, k + 1 :] - np.outer(below, below) / pivot
    return True
