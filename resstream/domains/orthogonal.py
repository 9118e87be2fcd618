"""Orthogonal matrices, orthonormal columns, and the vectors of the unit sphere and ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, constant, eye, maximum, ones, total, where
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import Domain, Options, Part, Parts, Projected, Size, Sizes, entries, is_all, size_of
from resstream.domains.matrices import Matrix
from resstream.domains.pieces import Piece, constants, fractions, reflected, reflections
from resstream.domains.projections import on_the_sphere, orthonormal


@dataclass(frozen=True)
class Orthogonal(Domain):
    """Matrices (..., d, k) with orthonormal columns, Q^T Q = I; k = d without `columns`. Empty for k > d.

    A product of d reflections in raw vectors, with the sign of the first row turned where the raw number `flip` is 1.
    A raw vector of zeros reflects nothing, so raw zeros give the identity. Every orthogonal matrix is a product of at
    most d reflections (Cartan, Dieudonne), a rational one of rational reflections.

    >>> Orthogonal(2).contains(np.array([[0.0, 1.0], [-1.0, 0.0]]), {}), Orthogonal(2).contains(2 * np.eye(2), {})
    (True, False)
    """

    size: Size
    columns: Size | None = None

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size if self.columns is None else self.columns

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        return orthonormal(x)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"vectors": Part((d, d)), "flip": Part((1, 1), "whole", 0, 1)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        vectors = raw["vectors"]
        d, columns = self.shape_at(sizes)
        first = np.arange(d)[:, None] == 0
        product = where(first, 1 - 2 * raw["flip"], 1) * eye(d, vectors)
        for k in range(d):
            v = vectors[..., k : k + 1, :]
            product = product - 2 * (product @ v.mT) @ v / _squared_length(v)
        return product[..., :columns]

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        """Both components: products of d and of d - 1 reflections, or the equations of orthonormal columns."""
        d, columns = self.shape_at(sizes)
        if unknowns.solves:
            matrix = unknowns.real((d, columns))
            unknowns.assume(matrix.mT @ matrix - np.eye(columns, dtype=int), "==")
            if columns == d:
                unknowns.assume(matrix @ matrix.mT - np.eye(d, dtype=int), "==")
        else:
            # Of fewer columns than rows both components have the same.
            count = d - 1 if columns < d else unknowns.among((d, d - 1))
            matrix = reflected(unknowns, constants(np.eye(d), unknowns), count)[:, :columns]
        flip = fractions([[0]])
        return Piece(matrix, lambda value: {"vectors": reflections(value(matrix)), "flip": flip})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d, columns = self.shape_at(sizes)
        x = entries(value, (d, columns))
        return x is not None and is_all(x.mT @ x == eye(columns, x))

    def why_empty(self, sizes: Sizes) -> str:
        d, columns = self.shape_at(sizes)
        return f"no {columns} columns of height {d} are orthonormal" if columns > d else ""

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size if self.columns is None else self.columns)


def _squared_length(v: Array) -> Array:
    """The squared length of every row (..., n, d) -> (..., n, 1), and 1 of a row of zeros."""
    return where(np.all(v == 0, axis=-1, keepdims=True), 1, total(v * v))


def _unit_rows(v: Array) -> Array:
    """The first unit vector, reflected in every row of v (..., n, d): all unit vectors, the first one for zeros."""
    first = ones((1, 1), v) * (np.arange(v.shape[-1]) == 0)
    return first - 2 * v[..., :1] * v / _squared_length(v)


@dataclass(frozen=True)
class Sphere(Domain):
    """Rows (..., rows, d) of Euclidean length 1: the first unit vector, reflected in raw vectors (zeros leave it).

    >>> Sphere(2).contains(np.array([[0.0, 1.0]]), {}), Sphere(2).contains(np.array([[1.0, 1.0]]), {})
    (True, False)
    """

    size: Size
    rows: Size = 1

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.size

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        return on_the_sphere(x)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return Matrix(self.rows, self.size).parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return _unit_rows(raw[""])

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        """The first unit vector, reflected in a vector other than 0, or as it is; or the equation of the sphere."""
        rows, d = size_of(self.rows, sizes), size_of(self.size, sizes)
        first = constants([np.arange(d) == 0], unknowns)
        if unknowns.solves:
            matrix = unknowns.real((rows, d))
            unknowns.assume(total(matrix * matrix) - 1, "==")
        else:
            counts = (unknowns.among((1, 0)) for _ in range(rows))
            matrix = np.concatenate([reflected(unknowns, first, count) for count in counts], axis=0)
        return Piece(matrix, {"": matrix - first})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (size_of(self.rows, sizes), size_of(self.size, sizes)))
        return x is not None and is_all(total(x * x) == 1)

    def wider(self) -> Domain | None:
        return Ball(self.size, self.rows)


@dataclass(frozen=True)
class Ball(Domain):
    """Rows (..., rows, d) of Euclidean length at most 1: raw rows, those beyond inverted at the sphere.

    Where the raw number `edge` is 1 the row lies on the sphere.

    >>> Ball(2).contains(np.array([[0.6, 0.8]]), {}), Ball(2).contains(np.array([[0.5, 0.5]]), {})
    (False, True)
    """

    size: Size
    rows: Size = 1

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.size

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        return on_the_sphere(x, inside=True)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        rows = size_of(self.rows, sizes)
        return {"vectors": Part((rows, size_of(self.size, sizes))), "edge": Part((rows, 1), "whole", 0, 1)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        v = raw["vectors"]
        inside = v / maximum(total(v * v), constant(1, v) * ones((1, 1), v))
        return where(raw["edge"] == 1, _unit_rows(v), inside)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        vectors = unknowns.real((size_of(self.rows, sizes), size_of(self.size, sizes)))
        unknowns.assume(1 - total(vectors * vectors), ">=")
        return Piece(vectors, {"vectors": vectors, "edge": 0 * vectors[:, :1]})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (size_of(self.rows, sizes), size_of(self.size, sizes)))
        return x is not None and is_all(total(x * x) <= 1)

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.size)
