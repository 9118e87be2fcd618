"""The unknown objects that cover a domain's set, for proofs, and the way back from a model to raw arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import Array, total
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.parts import Part
from resstream.errors import DomainError, NotExpressible

Value = Callable[[Array], Array]
"""Gives the values, as exact numbers, of an array of unknowns."""


@dataclass(frozen=True)
class Piece:
    """An unknown object of a domain, and the raw arrays that build it.

    raw: by part, in terms of the same unknowns; or a function that gives them as exact numbers when it is given the
    values (rational numbers) of arrays of unknowns; None where there is no way back, so that no model is shown.

    >>> Piece("an object", {"": np.array([[1.0]])}).object
    'an object'
    """

    object: Any
    raw: Mapping[str, Array] | Callable[[Value], Mapping[str, Array]] | None = None


def raw_values(piece: Piece, value: Value) -> Mapping[str, Array]:
    """The raw arrays of a piece as exact numbers, given the values of arrays of its unknowns. DomainError for none.

    >>> raw_values(Piece(None, {"": np.array([[1.0]])}), lambda x: x)[""].tolist()
    [[1.0]]
    """
    if piece.raw is None:
        raise DomainError("a piece without raw arrays has no instances")
    if callable(piece.raw):
        return piece.raw(value)
    return {name: value(entries) for name, entries in piece.raw.items()}


def constants(values: Any, unknowns: Unknowns) -> Array:
    """Known whole numbers (any shape) as entries."""
    return np.asarray(values, dtype=int).astype(object) * unknowns.one()


def fractions(values: Any) -> Array:
    """Whole numbers (any shape) as exact raw numbers."""
    return np.frompyfunc(Fraction, 1, 1)(np.asarray(values, dtype=int).astype(object))


# ---- weights ----------------------------------------------------------------


def weights(unknowns: Unknowns, allowed: Array, positive: bool = False) -> Piece:
    """Rows of nonnegative (or positive) weights where allowed, the last of which is 1 less the others."""
    rows = []
    for places in allowed:
        chosen = np.flatnonzero(places)
        if not len(chosen):
            raise NotExpressible("a row-stochastic matrix without columns, which is empty")
        make = unknowns.positive if positive else unknowns.nonnegative
        row = constants(np.zeros(len(places)), unknowns)
        if unknowns.solves:
            row[chosen] = make((len(chosen),))
            unknowns.assume(total(row[chosen]) - 1, "==")
        else:
            row[chosen[:-1]] = make((len(chosen) - 1,))
            row[chosen[-1]] = 1 - total(row)[0]
            unknowns.assume(row[chosen[-1:]], ">" if positive else ">=")
        rows.append(row)
    matrix = np.stack(rows)
    return Piece(matrix, {"": matrix})


def birkhoff(matrix: Array, parts: Mapping[str, Part]) -> Mapping[str, Array]:
    """Weights and orders of permutations that mix to a doubly stochastic matrix (n, n) of rational numbers.

    Each permutation is taken where all its entries are positive, and as often as its smallest one, which is then 0.
    """
    left, n = matrix.copy(), len(matrix)
    shares = fractions(np.zeros(parts["weights"].shape))
    orders = fractions(np.broadcast_to(np.arange(n), parts["orders"].shape))
    for term in range(shares.shape[-1]):
        columns = _matching(left > 0)
        if columns is None:
            break
        shares[0, term] = min(left[row, column] for row, column in enumerate(columns))
        for row, column in enumerate(columns):
            left[row, column] -= shares[0, term]
            orders[term, column] = Fraction(row)
    return {"weights": shares, "orders": orders}


def _matching(allowed: Array) -> list[int] | None:
    """A column for each row, all different, among the allowed places; None where there is no such choice."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    columns = maximum_bipartite_matching(csr_array(allowed.astype(np.int8)), perm_type="column")
    return None if (columns < 0).any() else [int(column) for column in columns]


# ---- reflections ------------------------------------------------------------


def reflected(unknowns: Unknowns, start: Array, count: int) -> Array:
    """Rows (n, d) reflected in `count` unknown vectors, none of them 0."""
    for _ in range(count):
        v = unknowns.real((1, start.shape[-1]))
        length = total(v * v)
        unknowns.assume(length, ">")
        start = start - 2 * (start @ v.mT) @ v / length
    return start


def reflections(matrix: Array) -> Array:
    """The vectors (d, d) of reflections whose product begins with the columns (d, k) of rational numbers.

    Exact for orthonormal columns; for columns nearly so, the product is near them.
    """
    d, columns = matrix.shape
    vectors = fractions(np.zeros((d, d)))
    left = matrix.copy()
    for k in range(columns):
        v = left[:, k].copy()
        v[:k] = Fraction(0)
        v[k] -= 1
        length = (v * v).sum()
        if length:
            vectors[k] = v
            left = left - 2 * np.outer(v, v @ left) / length
    return vectors


# ---- inverses ---------------------------------------------------------------


def with_inverse(unknowns: Unknowns, d: int) -> tuple[Array, Array]:
    """An unknown matrix (d, d) whose determinant is not 0, and its inverse."""
    matrix = unknowns.real((d, d))
    if unknowns.solves and d > 1:
        inverse = unknowns.real((d, d))
        for product in (matrix @ inverse, inverse @ matrix):
            unknowns.assume(product - np.eye(d, dtype=int), "==")
        return matrix, inverse
    determinant = np.full((1, 1), _determinant(matrix))
    unknowns.assume(determinant, "!=")
    minors = [[_determinant(np.delete(np.delete(matrix, j, 0), i, 1)) for j in range(d)] for i in range(d)]
    signs = [[(-1) ** (i + j) for j in range(d)] for i in range(d)]
    return matrix, np.array(minors, dtype=object) * constants(signs, unknowns) / determinant


def _determinant(matrix: Array) -> Any:
    """By the first row; 1 of no rows. More than four rows raise NotExpressible."""
    d = len(matrix)
    if d > 4:
        raise NotExpressible(f"a determinant of {d} rows")
    minors = (_determinant(np.delete(matrix[1:], j, 1)) for j in range(d))
    return sum((-1) ** j * matrix[0, j] * minor for j, minor in enumerate(minors)) if d else 1


def triangular(matrix: Array) -> Mapping[str, Array]:
    """lower, upper and order of an invertible matrix (d, d) of rational numbers, M[i] = (L U)[rank of i in the order].

    DomainError where it has no inverse.
    """
    d = len(matrix)
    left, rows = matrix.copy(), list(range(d))
    lower, upper = fractions(np.zeros((d, d))), fractions(np.zeros((d, d)))
    for k in range(d):
        pivot = next((i for i in range(k, d) if left[i, k]), None)
        if pivot is None:
            raise DomainError("a matrix without an inverse has no raw arrays")
        left[[k, pivot]], lower[[k, pivot]] = left[[pivot, k]], lower[[pivot, k]]
        rows[k], rows[pivot] = rows[pivot], rows[k]
        lower[k + 1 :, k] = left[k + 1 :, k] / left[k, k]
        left[k + 1 :] = left[k + 1 :] - np.outer(lower[k + 1 :, k], left[k])
    for k in range(d):
        # What lies above the diagonal is that of a unit triangular matrix, whose columns are scaled.
        upper[k, k] = left[k, k]
        upper[:k, k] = left[:k, k] / left[k, k]
    return {"lower": lower, "upper": upper, "order": fractions([rows])}


__all__ = [
    "Piece",
    "Value",
    "birkhoff",
    "constants",
    "fractions",
    "raw_values",
    "reflected",
    "reflections",
    "triangular",
    "weights",
    "with_inverse",
]
