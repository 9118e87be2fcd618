"""Singular values and what is made of them, eigenvalues, rank, determinant, trace, pseudo-inverse, powers of matrices.

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
    DualEntry,
    Entry,
    NoValue,
    RationalEntry,
    descending,
    eye,
    sqrt,
    square,
    total_entry,
    zeros,
)
from resstream.errors import DomainError, NotExact, NotExpressible, Undecided
from resstream.reference.checks import in_range, require_instance, require_matrix, require_square, require_whole
from resstream.reference.norms import L2, Norm, frobenius_norm, row_norms, spectral_norm
from resstream.reference.noted import are_terms, determinant_of, exact_values, noted_eigenvalues, noted_rank

RANK_TOLERANCE = 1e-9
"""Singular values of a float matrix below this share of the largest count as zero; exact matrices need none."""

EXPANDED = 5
"""Rows up to which a determinant of expressions is written out."""

MOST_FACTORS = 100_000
"""Of a matrix power."""

FACTORED = 512
"""Bits of the coefficients up to which a characteristic polynomial is factored over the rationals."""


@in_range
def singular_values(W: Array) -> Array:
    """Singular values in descending order: (..., d, e) -> (..., 1, min(d, e)), each at least 0.

    Rationals where every one is rational, elsewhere NotExact.

    >>> singular_values(np.diag([2.0, -4.0])).round(9).tolist()
    [[4.0, 2.0]]
    """
    W = require_matrix("W", W)
    if W.dtype != object:
        return _float(W, lambda usable: np.linalg.svd(usable, compute_uv=False)[..., None, :])
    return _each(W, _singular_values_of_one)


@in_range
def smallest_singular_value(W: Array) -> Array:
    """Smallest of the min(d, e) singular values: (..., d, e) -> (..., 1, 1).

    >>> smallest_singular_value(np.diag([2.0, -4.0])).round(9).item()
    2.0
    """
    return singular_values(W)[..., -1:]


@in_range
def condition_number(W: Array) -> Array:
    """Largest over smallest of the min(d, e) singular values: (..., d, e) -> (..., 1, 1), at least 1.

    A matrix that is not of full rank has none: floats raise DomainError.

    >>> condition_number(np.diag([4.0, 2.0])).round(9).item()
    2.0
    """
    values = singular_values(W)
    return values[..., :1] / values[..., -1:]


@in_range
def schatten_norm(W: Array, norm: Norm = L2) -> Array:
    """Schatten norm, the norm of the singular values: (..., d, e) -> (..., 1, 1).

    L1 gives the nuclear norm, L2 the Frobenius norm, LINF the spectral norm, Lp(p) the others; a change of basis raises
    DomainError.

    >>> from resstream.reference import L1
    >>> W = np.diag([4.0, 3.0])
    >>> schatten_norm(W, L1).round(9).item(), schatten_norm(W).round(9).item()
    (7.0, 5.0)
    """
    W = require_matrix("W", W)
    if require_instance("norm", norm, Norm).basis is not None:
        raise DomainError("norm: expected L1, L2, LINF or Lp(p), got a norm after a change of basis")
    if norm.kind == "l2" or min(W.shape[-2:]) == 1:
        return frobenius_norm(W)
    return spectral_norm(W) if norm.kind == "linf" else row_norms(singular_values(W), norm)


@in_range
def eigenvalue_moduli(W: Array) -> Array:
    """Moduli of the eigenvalues, with multiplicity, in descending order: (..., d, d) -> (..., 1, d).

    Rationals where every modulus is that of a rational eigenvalue, elsewhere NotExact.

    >>> eigenvalue_moduli(np.array([[0.0, 2.0], [-2.0, 0.0]])).round(9).tolist()
    [[2.0, 2.0]]
    """
    W = require_square("W", W)
    if W.dtype != object:
        return _float(W, lambda usable: -np.sort(-np.abs(np.linalg.eigvals(usable)), axis=-1)[..., None, :])
    return _each(W, lambda one: descending(_row([abs(root) for root in _eigenvalues(one)])))


@in_range
def spectral_radius(W: Array) -> Array:
    """Largest modulus of an eigenvalue: (..., d, d) -> (..., 1, 1).

    >>> spectral_radius(np.diag([2.0, -4.0])).round(9).item()
    4.0
    """
    return eigenvalue_moduli(W)[..., :1]


@in_range
def second_modulus(W: Array) -> Array:
    """Second largest modulus of an eigenvalue, counted with multiplicity: (..., d, d) -> (..., 1, 1); 0 for d = 1.

    >>> second_modulus(np.array([[2.0, 1.0], [0.0, -3.0]])).item()
    2.0
    """
    moduli = eigenvalue_moduli(W)
    return moduli[..., 1:2] if moduli.shape[-1] > 1 else 0 * moduli


@in_range
def smallest_real_part(W: Array) -> Array:
    """Smallest real part of an eigenvalue: (..., d, d) -> (..., 1, 1). Rationals as in `eigenvalue_moduli`.

    >>> smallest_real_part(np.array([[2.0, 1.0], [0.0, -3.0]])).item()
    -3.0
    """
    W = require_square("W", W)
    if W.dtype != object:
        return _float(W, lambda usable: np.linalg.eigvals(usable).real.min(axis=-1)[..., None, None])
    return _each(W, lambda one: -descending(_row([-_real(root) for root in _eigenvalues(one)]))[:, :1])


@in_range
def rank(W: Array) -> Array:
    """Rank, as an entry: (..., d, e) -> (..., 1, 1).

    Exact for rationals and for balls of radius 0. Other balls: from a certified lower bound, which `rank(W) > k - 1`
    asks for (ends of a ball are rounded), to full rank. Floats count singular values above 1e-9 of the largest.

    >>> rank(np.array([[1.0, 2.0], [2.0, 4.0]])).item()
    1.0
    """
    W = require_matrix("W", W)
    if W.dtype != object:
        values = singular_values(W)
        counted = np.sum(values > RANK_TOLERANCE * values[..., :1], axis=-1, keepdims=True).astype(float)
        return np.where(np.isnan(values[..., :1]), np.nan, counted)
    return _each(W, _rank_of_one)


@in_range
def affine_rank(X: Array) -> Array:
    """Dimension of the flat that the rows span, the rank of the rows less the first: (..., n, d) -> (..., 1, 1).

    One row gives 0. Entries as in `rank`.

    >>> affine_rank(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])).item()
    1.0
    """
    X = require_matrix("X", X)
    return rank(X[..., 1:, :] - X[..., :1, :]) if X.shape[-2] > 1 else zeros((*X.shape[:-2], 1, 1), like=X)


@in_range
def determinant(W: Array) -> Array:
    """Determinant: (..., d, d) -> (..., 1, 1).

    >>> determinant(np.array([[1.0, 2.0], [3.0, 4.0]])).round(9).item()
    -2.0
    """
    W = require_square("W", W)
    if W.dtype != object:
        return np.linalg.det(W)[..., None, None]
    return _each(W, lambda one: _row([_determinant_of_one(one)]))


@in_range
def pseudo_inverse(W: Array) -> Array:
    """Moore-Penrose inverse: (..., d, e) -> (..., e, d); of an invertible matrix the inverse.

    Exact for rationals and for balls of radius 0; other balls that are not certainly of full rank raise Undecided.
    Floats take singular values up to 1e-9 of the largest for zero. Expressions: of full rank, by determinants, up to
    three rows or columns.

    >>> pseudo_inverse(np.diag([4.0, 0.0])).round(9).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    W = require_matrix("W", W)
    if W.dtype == np.float64:
        return _float(W, lambda usable: np.linalg.pinv(usable, rcond=RANK_TOLERANCE))
    if W.dtype != object:  # a complex step: no conjugates, as these have no derivative
        if W.shape[-2] <= W.shape[-1]:
            return W.mT @ np.linalg.inv(W @ W.mT)
        return np.linalg.inv(W.mT @ W) @ W.mT
    return _each(W, _pseudo_inverse_of_one)


@in_range
def trace(W: Array) -> Array:
    """Sum of the diagonal: (..., d, d) -> (..., 1, 1).

    >>> trace(np.array([[1.0, 5.0], [0.0, 2.0]])).item()
    3.0
    """
    W = require_square("W", W)
    return total_entry(W * eye(W.shape[-1], like=W))


@in_range
def matrix_power(W: Array, exponent: int) -> Array:
    """W multiplied by itself `exponent` times, exponent >= 0: (..., d, d) -> (..., d, d); 0 gives the identity.

    >>> matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    W = require_square("W", W)
    exponent = require_whole("exponent", exponent, 0, MOST_FACTORS)
    product = np.broadcast_to(eye(W.shape[-1], like=W), W.shape)
    for _ in range(exponent):
        product = product @ W
    return product


# ---- one matrix -------------------------------------------------------------


def _float(W: Array, function: Callable[[Array], Array]) -> Array:
    """A function of float matrices that gives NaN where a matrix is not finite, in place of LAPACK's error.

    A complex step raises DomainError: what LAPACK makes of it is no derivative.
    """
    if W.dtype.kind == "c":
        raise DomainError("W: a spectrum takes real entries, and floats have no derivative of it here")
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
    if any(isinstance(entry, DualEntry) for entry in W.flat):
        raise NotExpressible("the derivative of a spectrum or rank")
    if not all(isinstance(entry, BallEntry) for entry in W.flat):
        raise NotExpressible("a spectrum or rank of other numbers than floats, rationals and enclosures")
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
    if are_terms(W) or _is_written(W):
        return _expanded(W)
    return (fmpq_mat if _is_rational(W) else arb_mat)(_plain(W)).det()


def _is_written(W: Array) -> bool:
    """Whether there are entries that only operators can go on with: expressions, unknowns, entries with a slope, ..."""
    return not any(isinstance(entry, NoValue) for entry in W.flat) and any(
        not isinstance(entry, (BallEntry, RationalEntry)) for entry in W.flat
    )


def _expanded(W: Array) -> Any:
    if len(W) > EXPANDED:
        raise NotExpressible(f"a determinant of {len(W)} rows")
    return determinant_of(W)


def _pseudo_inverse_of_one(W: Array) -> Array:
    if are_terms(W) or _is_written(W):
        wide = W.shape[0] <= W.shape[1]
        inverse = W if W.shape[0] == W.shape[1] else W @ W.mT if wide else W.mT @ W
        inverse = _adjugate(inverse) / _row([_expanded(inverse)])
        if any(isinstance(entry, NoValue) for entry in inverse.flat):
            raise NotExpressible("the pseudo-inverse of an expression that is not certainly of full rank")
        return inverse if W.shape[0] == W.shape[1] else W.mT @ inverse if wide else inverse @ W.mT
    if _is_rational(W):
        return RATIONAL.array(_rational_pseudo_inverse(_plain(W)))
    middle, radius = _midpoints(W)
    if radius == 0:
        return _entries(_rational_pseudo_inverse(_plain(middle)), arb)
    given, wide = arb_mat(_plain(W)), W.shape[0] <= W.shape[1]
    turned = given.transpose()
    try:
        return _entries((turned * (given * turned).inv() if wide else (turned * given).inv() * turned).tolist())
    except ZeroDivisionError:
        raise Undecided("the pseudo-inverse of a ball matrix that is not certainly of full rank is not known") from None


def _rational_pseudo_inverse(rows: list[list[Any]]) -> list[list[Any]]:
    """By W = B C with B the columns of the pivots and C the reduced rows: C^T (C C^T)^-1 (B^T B)^-1 B^T."""
    W = fmpq_mat(rows)
    reduced, rank = W.rref()
    if rank == 0:
        return [[fmpq(0)] * len(rows) for _ in rows[0]]
    C = reduced.tolist()[:rank]
    pivots = [next(k for k, entry in enumerate(line) if entry != 0) for line in C]
    B, C = fmpq_mat([[line[k] for k in pivots] for line in rows]), fmpq_mat(C)
    return (C.transpose() * (C * C.transpose()).inv() * (B.transpose() * B).inv() * B.transpose()).tolist()


def _adjugate(W: Array) -> Array:
    """The adjugate of a square matrix of entries that operators go on with."""
    size = len(W)
    result = eye(size, like=W)
    if size > 1:
        for i, j in np.ndindex(size, size):
            minor = _expanded(np.delete(np.delete(W, j, 0), i, 1))
            result[i, j] = minor if (i + j) % 2 == 0 else -minor
    return result


def _entries(rows: list[list[Any]], of: Callable[[Any], arb] = lambda number: number) -> Array:
    """Rows of numbers of FLINT as ball entries."""
    return np.concatenate([_row([of(number) for number in row]) for row in rows])


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
    if abs(arb_mat(_plain(G)).det()) > 0:
        return _row([arb(full)])
    least = sum(bool(entry.value > 0) for entry in _singular_values_of_one(W).flat)
    return _row([arb(least).union(full)])


__all__ = [
    "affine_rank",
    "condition_number",
    "determinant",
    "eigenvalue_moduli",
    "matrix_power",
    "pseudo_inverse",
    "rank",
    "schatten_norm",
    "second_modulus",
    "singular_values",
    "smallest_real_part",
    "smallest_singular_value",
    "spectral_radius",
    "trace",
]
