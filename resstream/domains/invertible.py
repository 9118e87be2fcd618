"""Invertible matrices, with their exact inverses, and the projections that they carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, eye, where
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, entries, is_all, rank_of, size_of
from resstream.domains.matrices import Matrix
from resstream.domains.pieces import Piece, fractions, triangular, with_inverse
from resstream.domains.triangular import diagonal_of, triangular_pair


@dataclass(frozen=True)
class Invertible(Domain):
    """Matrices (..., d, d) with an inverse: P L U, with P a permutation, L unit lower and U upper triangular.

    U has no zero on its diagonal. Every invertible matrix has this form. A raw zero on the diagonal stands for 1, and
    the order of raw numbers is that of P, so that raw zeros give the identity. `build` gives the matrix, `build_pair`
    gives it with its exact inverse.

    >>> Invertible(2).contains(np.array([[1.0, 2.0], [3.0, 4.0]]), {}), Invertible(2).contains(np.ones((2, 2)), {})
    (True, False)
    """

    size: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"lower": Part((d, d)), "upper": Part((d, d)), "order": Part((1, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return self.build_pair(raw)[0]

    def build_pair(self, raw: Parts) -> tuple[Array, Callable[[], Array]]:
        """The matrix (..., d, d), and what makes its inverse."""
        diagonal = diagonal_of(raw["upper"])
        matrix, inverse = triangular_pair(raw["lower"], raw["upper"], where(diagonal == 0, 1, diagonal))
        order = np.argsort(raw["order"], axis=-1, kind="stable")
        rows = np.broadcast_to(order.mT, matrix.shape)
        columns = np.broadcast_to(order, matrix.shape)
        return np.take_along_axis(matrix, rows, -2), lambda: np.take_along_axis(inverse(), columns, -1)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        matrix, _ = with_inverse(unknowns, size_of(self.size, sizes))
        return Piece(matrix, lambda value: triangular(value(matrix)))

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d = size_of(self.size, sizes)
        x = entries(value, (d, d))
        return x is not None and rank_of(x) == d

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


@dataclass(frozen=True)
class InvertiblePair(Invertible):
    """An invertible matrix (..., d, d) and its exact inverse, as a tuple of two.

    >>> B = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> InvertiblePair(2).contains((B, np.linalg.inv(B)), {})
    True
    """

    def shape(self) -> None:  # type: ignore[override]
        return None

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        matrix, inverse = self.build_pair(raw)
        return matrix, inverse()

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        pair = with_inverse(unknowns, size_of(self.size, sizes))
        return Piece(pair, lambda value: triangular(value(pair[0])))

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d = size_of(self.size, sizes)
        return isinstance(value, tuple) and len(value) == 2 and are_inverse(*value, d)

    def wider(self) -> Domain | None:
        return None


@dataclass(frozen=True)
class Projection(Domain):
    """Projections (..., d, d), P @ P = P, oblique in general: B D B^-1 with D of zeros and ones (raw kept > 0).

    >>> Projection(2).contains(np.array([[1.0, 5.0], [0.0, 0.0]]), {}), Projection(2).contains(2 * np.eye(2), {})
    (True, False)
    """

    size: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"kept": Part((1, size_of(self.size, sizes))), **Invertible(self.size).parts(sizes, options)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        basis, inverse = Invertible(self.size).build_pair(raw)
        return where(raw["kept"] > 0, basis, 0) @ inverse()

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        """One for each rank."""
        d = size_of(self.size, sizes)
        basis, inverse = with_inverse(unknowns, d)
        kept = np.arange(d)[None] < unknowns.among(range(d + 1))
        raw = {"kept": fractions(kept)}
        return Piece(basis * kept.astype(int) @ inverse, lambda value: {**raw, **triangular(value(basis))})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d = size_of(self.size, sizes)
        x = entries(value, (d, d))
        return x is not None and is_all(x @ x == x)

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


def are_inverse(first: Any, second: Any, d: int) -> bool:
    """Whether two values are matrices (d, d) that are inverse to each other, exactly."""
    x, y = entries(first, (d, d)), entries(second, (d, d))
    return x is not None and y is not None and is_all(x @ y == eye(d, x))
