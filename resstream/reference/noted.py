"""Ranks and eigenvalues of matrices of terms: found in exact arithmetic, and noted as facts that anybody can check.

A rank r is noted as a minor of that size that is not zero and larger ones that all are; eigenvalues are noted as the
coefficients of the characteristic polynomial, which are the elementary symmetric functions of them.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from resstream.arithmetic import Array, eye
from resstream.arithmetic.obligations import NONZERO, ZERO, note
from resstream.arithmetic.terms import TermEntry, number
from resstream.errors import NotExpressible

MINORS = 40
"""How many minors are noted to vanish, at most."""


def are_terms(W: Array) -> bool:
    """Whether a matrix has entries that are terms."""
    return any(isinstance(entry, TermEntry) for entry in W.flat)


def exact_values(W: Array) -> Array:
    """The rational numbers (d, e) that terms stand for; NotExpressible where one is not rational."""
    values = np.frompyfunc(lambda entry: entry.exact, 1, 1)(W)
    if any(value is None for value in values.flat):
        raise NotExpressible("a spectrum or a rank of numbers that are not rational")
    return values


def determinant_of(W: Array) -> Any:
    """The determinant of a small square matrix, by its first row."""
    if len(W) == 1:
        return W[0, 0]
    terms = [(W[0, k] if k % 2 == 0 else -W[0, k]) * determinant_of(np.delete(W[1:], k, axis=1)) for k in range(len(W))]
    return sum(terms[1:], start=terms[0])


def noted_rank(W: Array) -> TermEntry:
    """The rank of a rational matrix, noted by its minors; NotExpressible where these are too many."""
    rank = fmpq_mat(exact_values(W).tolist()).rank()
    rows, columns = W.shape
    above = min(rank + 1, rows, columns)
    if rank < above and comb(rows, above) * comb(columns, above) > MINORS:
        raise NotExpressible("the rank of a matrix this large")
    for chosen in _minors(W, rank) if rank else ():
        minor = determinant_of(chosen)
        if minor.exact != 0:
            note(minor, NONZERO, f"rank {rank}: a minor that is not zero")
            break
    if rank < above:
        for chosen in _minors(W, above):
            note(determinant_of(chosen), ZERO, f"rank {rank}: a larger minor")
    return number(fmpq(rank))


def _minors(W: Array, size: int) -> Any:
    rows, columns = W.shape
    return (W[np.ix_(i, j)] for i in combinations(range(rows), size) for j in combinations(range(columns), size))


def noted_eigenvalues(W: Array, roots: list[fmpq]) -> list[TermEntry]:
    """The eigenvalues of a rational matrix as numbers, with the coefficients of the characteristic polynomial noted."""
    size = len(W)
    values = [number(root) for root in roots]
    power, coefficient = W, None
    for k in range(1, size + 1):  # Faddeev and LeVerrier
        if k > 1:
            power = W @ (power + coefficient * eye(size, like=W))
        coefficient = -sum(power[i, i] for i in range(size)) / k
        symmetric = sum((prod(chosen) for chosen in combinations(values, k)), start=number(fmpq(0)))
        difference = coefficient - symmetric if k % 2 == 0 else coefficient + symmetric
        note(difference, ZERO, "the eigenvalues: a coefficient of the characteristic polynomial")
    return values
