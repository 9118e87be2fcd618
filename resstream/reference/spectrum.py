"""Singular values, eigenvalues, rank, determinant and powers of matrices, in floats, in balls and exactly.

The enclosures do not mind multiple or clustered eigenvalues: the midpoints of a ball matrix are an exact rational
matrix, whose characteristic polynomial has certified roots with multiplicities, and what the radii may add is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat, fmpq, fmpq_mat

from resstream.arithmetic import (
    RATIONAL,
    Array,
    BallEntry,
    Entry,
    NoValue,
    RationalEntry,
    descending,
    eye,
    sqrt,
    square,
    total_entry,
)
from resstream.errors import DomainError, NotExact, Undecided
from resstream.reference.checks import in_range, require_matrix, require_square, require_whole
from resstream.reference.noted import are_terms, determinant_of, exact_values, noted_eigenvalues, noted_rank

RANK_TOLERANCE = 1e-9
"""Singular values of a float matrix below this share of the largest count as zero; exact matrices need none."""

MOST_FACTORS = 100_000
"""Of a matrix power."""

FACTORED = 512
"""Bits of the coefficients up to which a characteristic polynomial is factored over the rationals."""


@in_range
def singular_values(W: Array) -> Array:
    """Singular values in descending order: (..., d, e) -> (..., 1, min(d, e)), each at least 0.

    Rationals where every one is rational, elsewhere NotExact.
    """
    W = require_matrix("W", W)
    if W.dtype != object:
        return _float(W, lambda usable: np.linalg.svd(usable, compute_uv=False)[..., None, :])
    return _each(W, _singular_values_of_one)


@in_range
def smallest_singular_value(W: Array) -> Array:
    """Smallest of the min(d, e) singular values: (..., d, e) -> (..., 1, 1)."""
    return singular_values(W)[..., -1:]


@in_range
def eigenvalue_moduli(W: Array) -> Array:
    """Moduli of the eigenvalues, with multiplicity, in descending order: (..., d, d) -> (..., 1, d).

    Rationals where every modulus is that of a rational eigenvalue, elsewhere NotExact.
    """
    W = require_square("W", W)
    if W.dtype != object:
        return _float(W, lambda usable: -np.sort(-np.abs(np.linalg.eigvals(usable)), axis=-1)[..., None, :])
    return _each(W, lambda one: descending(_row([abs(root) for root in _eigenvalues(one)])))


@in_range
def spectral_radius(W: Array) -> Array:
    """Largest modulus of an eigenvalue: (..., d, d) -> (..., 1, 1)."""
    return eigenvalue_moduli(W)[..., :1]


@in_range
def second_modulus(W: Array) -> Array:
    """Second largest modulus of an eigenvalue, counted with multiplicity: (..., d, d) -> (..., 1, 1); 0 for d = 1."""
    moduli = eigenvalue_moduli(W)
    return moduli[..., 1:2] if moduli.shape[-1] > 1 else 0 * moduli


@in_range
def smallest_real_part(W: Array) -> Array:
    """Smallest real part of an eigenvalue: (..., d, d) -> (..., 1, 1). Rationals as in `eigenvalue_moduli`."""
    W = require_square("W", W)
    if W.dtype != object:
        return _float(W, lambda usable: np.linalg.eigvals(usable).real.min(axis=-1)[..., None, None])
    return _each(W, lambda one: -descending(_row([-_real(root) for root in _eigenvalues(one)]))[:, :1])


@in_range
def rank(W: Array) -> Array:
    """Rank, as an entry: (..., d, e) -> (..., 1, 1).

    Exact for rationals and for balls of radius 0. Other balls: certain for full rank, elsewhere Undecided. Floats count
    singular values above 1e-9 of the largest.
    """
    W = require_matrix("W", W)
    if W.dtype != object:
        values = singular_values(W)
        counted = np.sum(values > RANK_TOLERANCE * values[..., :1], axis=-1, keepdims=True).astype(float)
        return np.where(np.isnan(values[..., :1]), np.nan, counted)
    return _each(W, _rank_of_one)


@in_range
def determinant(W: Array) -> Array:
    """Determinant: (..., d, d) -> (..., 1, 1)."""
    W = require_square("W", W)
    if W.dtype != object:
        return np.linalg.det(W)[..., None, None]
    return _each(W, lambda one: _row([_determinant_of_one(one)]))


@in_range
def trace(W: Array) -> Array:
    """Sum of the diagonal: (..., d, d) -> (..., 1, 1)."""
    W = require_square("W", W)
    return total_entry(W * eye(W.shape[-1], like=W))


@in_range
def matrix_power(W: Array, exponent: int) -> Array:
    """W multiplied by itself `exponent` times, exponent >= 0: (..., d, d) -> (..., d, d); 0 gives the identity."""
    W = require_square("W", W)
    exponent = require_whole("exponent", exponent, 0, MOST_FACTORS)
    product = np.broadcast_to(eye(W.shape[-1], like=W), W.shape)
    for _ in range(exponent):
        product = product @ W
    return product


# ---- one matrix -------------------------------------------------------------


def _float(W: Array, function: Callable[[Array], Array]) -> Array:
    """A function of float matrices that gives NaN where a matrix is not finite, in place of LAPACK's error."""
    usable = np.isfinite(W).all(axis=(-2, -1), keepdims=True)
    return np.where(usable, function(np.where(usable, W, 0)), np.nan)


def _each(W: Array, function: Callable[[Array], Array]) -> Array:
    """A function of single exact matrices, for every matrix of a batch."""
    results = [function(W[index]) for index in np.ndindex(W.shape[:-2])]
    return np.stack(results).reshape(*W.shape[:-2], *results[0].shape[-2:]) if W.ndim > 2 else results[0]


def _row(numbers: list[Any]) -> Array:
    """Numbers of FLINT, or entries, as a row of entries (1, k)."""
    row = np.empty((1, len(numbers)), dtype=object)
    row[0] = [number if isinstance(number, Entry) else _entry(number) for number in numbers]
    return row


def _entry(number: Any) -> Entry:
    return RationalEntry(number) if isinstance(number, fmpq) else BallEntry(number)


def _plain(W: Array) -> list[list[Any]]:
    """The numbers of FLINT behind the entries of a matrix."""
    return [[entry.value for entry in row] for row in W]


def _nonnegative(number: arb) -> BallEntry:
    """An enclosure of what is nonnegative by its mathematics, cut at zero."""
    return BallEntry(number.nonnegative_part(), nonnegative=True)


def _is_rational(W: Array) -> bool:
    for entry in W.flat:
        if isinstance(entry, NoValue):
            entry.demand()
    if all(isinstance(entry, RationalEntry) for entry in W.flat):
        return True
    if not all(isinstance(entry, BallEntry) for entry in W.flat):
        raise DomainError("W: a spectrum takes float, ball or rational entries, and has no derivative here")
    return False


def _midpoints(W: Array) -> tuple[Array, arb]:
    """The exact rational matrix of the midpoints, and a bound on the Frobenius norm of what the radii may add."""
    exact = np.frompyfunc(lambda entry: RationalEntry(_dyadic(entry.value.mid())), 1, 1)(W)
    radii = np.frompyfunc(lambda entry: BallEntry(entry.value.rad(), nonnegative=True), 1, 1)(W)
    return exact, sqrt(total_entry(square(radii))).item().value.upper()


def _dyadic(entry: arb) -> fmpq:
    mantissa, exponent = entry.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _roots(M: Array) -> list[Any]:
    """Certified enclosures (complex balls) of the eigenvalues of an exact rational matrix, with multiplicity."""
    roots = fmpq_mat(_plain(M)).charpoly().numer().complex_roots()
    return [root for root, multiplicity in roots for _ in range(multiplicity)]


def _rational_roots(M: Array) -> list[fmpq]:
    """The eigenvalues of an exact rational matrix if all of them are rational, elsewhere NotExact."""
    polynomial = fmpq_mat(_plain(M)).charpoly().numer()
    if polynomial.height_bits() > FACTORED:
        raise NotExact("the characteristic polynomial is too large to look for rational roots")
    _, factors = polynomial.factor()
    roots: list[fmpq] = []
    for factor, multiplicity in factors:
        if factor.degree() != 1:
            raise NotExact("an eigenvalue of this matrix is not rational")
        roots += [fmpq(-factor[0], factor[1])] * multiplicity
    return roots


def _eigenvalues(W: Array) -> list[Any]:
    """Eigenvalues of one matrix: rationals, or enclosures (complex balls)."""
    if are_terms(W):
        return noted_eigenvalues(W, _rational_roots(RATIONAL.array(exact_values(W))))
    if _is_rational(W):
        return _rational_roots(W)
    middle, radius = _midpoints(W)
    if radius > 0:
        try:
            return list(acb_mat(arb_mat(_plain(W))).eig())
        except ValueError:  # multiple or too close: FLINT does not tell them apart
            pass
    roots = _roots(middle)
    if radius > 0:
        # Bhatia, Elsner and Krause: the eigenvalues of A and A + E pair up within
        # 4 (||A|| + ||A + E||)^(1 - 1/d) ||E||^(1/d).
        size = W.shape[-1]
        norm = arb(total_entry(square(middle)).item().value).sqrt()
        moved = 4 * (2 * norm + radius) ** (arb(1) - arb(1) / size) * radius ** (arb(1) / size)
        change = arb(0, moved.upper())
        roots = [type(root)(root.real + change, root.imag + change) for root in roots]
    return roots


def _determinant_of_one(W: Array) -> Any:
    return determinant_of(W) if are_terms(W) else (fmpq_mat if _is_rational(W) else arb_mat)(_plain(W)).det()


def _real(root: Any) -> Any:
    return root if isinstance(root, (fmpq, Entry)) else root.real


def _singular_values_of_one(W: Array) -> Array:
    if are_terms(W) or _is_rational(W):
        G = W @ W.mT if W.shape[-2] <= W.shape[-1] else W.mT @ W
        if are_terms(W):
            return descending(sqrt(_row(_eigenvalues(G))))
        return descending(sqrt(_row(_rational_roots(G))))
    middle, radius = _midpoints(W)
    G = middle @ middle.mT if W.shape[-2] <= W.shape[-1] else middle.mT @ middle
    values = descending(sqrt(_row([_nonnegative(root.real) for root in _roots(G)])))
    if radius > 0:  # no singular value moves by more than the norm of the change (Weyl)
        values = np.frompyfunc(lambda entry: _nonnegative(entry.value + arb(0, radius)), 1, 1)(values)
    return values


def _rank_of_one(W: Array) -> Array:
    if are_terms(W):
        return _row([noted_rank(W)])
    if _is_rational(W):
        return _row([fmpq(fmpq_mat(_plain(W)).rank())])
    middle, radius = _midpoints(W)
    full = min(W.shape)
    if radius == 0:
        return _row([arb(fmpq_mat(_plain(middle)).rank())])
    G = W @ W.mT if W.shape[-2] <= W.shape[-1] else W.mT @ W
    if abs(arb_mat(_plain(G)).det()) > 0 or _singular_values_of_one(W)[0, -1] > 0:
        return _row([arb(full)])
    raise Undecided("the rank of a ball matrix that is not certainly of full rank is not known")


__all__ = [
    "determinant",
    "eigenvalue_moduli",
    "matrix_power",
    "rank",
    "second_modulus",
    "singular_values",
    "smallest_real_part",
    "smallest_singular_value",
    "spectral_radius",
    "trace",
]
