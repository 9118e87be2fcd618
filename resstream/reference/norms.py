"""Norms of row vectors and the operator norms that belong to them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from types import FunctionType
from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat, ctx

from resstream.arithmetic import (
    Array,
    Ball,
    BallEntry,
    DualEntry,
    Exact,
    RationalEntry,
    absolute,
    amax,
    ones,
    power,
    root,
    sqrt,
    square,
    total,
    total_entry,
)
from resstream.arithmetic.terms import TermEntry
from resstream.errors import ClaimError, DomainError, NotExact, NotExpressible, ShapeError, Undecided
from resstream.reference.checks import (
    in_range,
    number_of_each,
    require_batch,
    require_instance,
    require_matrix,
    require_rows,
    require_square,
)
from resstream.reference.magnitudes import root_of_squares, scaled

KINDS = ("l1", "l2", "linf")
_KIND = re.compile(r"l[1-9]\d*(/[1-9]\d*)?")

LARGEST_EXPONENT = 100
"""Of an lp norm: its p has no larger numerator or denominator."""

MOST_SIGNS = 12
"""An operator norm that is a maximum over all rows of signs takes rows of this length."""

BASES = 3
"""In how many bases FLINT is asked for the eigenvalues of a Gram matrix."""


@dataclass(frozen=True, eq=False)
class Norm:
    """A norm of row vectors: ||x|| is the l1, l2, linf or another lp norm ("l3", "l3/2", see `Lp`) of x @ basis.

    Shapes: basis (..., d, d) and inverse (..., d, d) with basis @ inverse = I, both None for no change of basis. The
    inverse may be given as a function that makes it: only operator norms ask for it.

    >>> x, twice = np.array([[3.0, 4.0]]), Norm("l1", 2 * np.eye(2), np.eye(2) / 2)
    >>> row_norms(x, Norm("l1")).item(), row_norms(x, twice).item()
    (7.0, 14.0)
    """

    kind: str
    basis: Array | None = None
    inverse: Any = field(default_factory=lambda: None)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or (self.kind not in KINDS and not _is_lp(self.kind)):
            raise DomainError(f"kind: expected one of {', '.join(KINDS)}, or such as l3/2, got {str(self.kind)[:40]!r}")
        if (self.basis is None) != (self.inverse is None):
            raise ShapeError("basis, inverse: expected both or neither")
        if self.basis is not None:
            object.__setattr__(self, "basis", require_square("basis", self.basis))
            if isinstance(self.inverse, FunctionType):
                object.__setattr__(self, "_make_inverse", self.inverse)
                object.__delattr__(self, "inverse")
            else:
                self._keep_inverse(self.inverse)

    def __getattr__(self, name: str) -> Any:
        if name == "inverse" and "_make_inverse" in self.__dict__:
            return self._keep_inverse(self.__dict__["_make_inverse"]())
        raise AttributeError(f"Norm has no attribute {name!r}")

    def _keep_inverse(self, given: Any) -> Array:
        inverse, basis = require_square("inverse", given), require_square("basis", self.basis)
        if basis.shape[-1] != inverse.shape[-1]:
            raise ShapeError(f"inverse: expected the size of basis {basis.shape}, got {inverse.shape}")
        require_batch(basis=basis, inverse=inverse)
        object.__setattr__(self, "inverse", inverse)
        return inverse

    @property
    def exponent(self) -> Fraction | None:
        """The p of an lp norm; None for linf."""
        return None if self.kind == "linf" else Fraction(self.kind[1:])

    @property
    def dual_kind(self) -> str:
        """The kind of the dual norm: 1/p + 1/q = 1."""
        p = self.exponent
        return "l1" if p is None else "linf" if p == 1 else _kind(p / (p - 1))

    def __str__(self) -> str:
        return self.kind if self.basis is None else f"{self.kind} after a change of basis"


def _is_lp(kind: str) -> bool:
    return _KIND.fullmatch(kind) is not None and _kind(Fraction(kind[1:])) == kind


def _kind(p: Fraction) -> str:
    if p < 1 or max(p.numerator, p.denominator) > LARGEST_EXPONENT:
        raise DomainError(f"p: expected a fraction of at least 1 with terms up to {LARGEST_EXPONENT}, got {p}")
    return f"l{p}"


def Lp(p: int | Fraction | Exact) -> Norm:  # noqa: N802 - as L1, L2 and LINF
    """The norm (sum of |x|^p)^(1/p), p at least 1: a whole number, a fraction or exact(3, 2); others raise DomainError.

    >>> row_norms(np.array([[3.0, 4.0, 5.0]]), Lp(3))
    array([[6.]])
    """
    value = p.value if isinstance(p, Exact) else p
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise DomainError(f"p: expected a whole number or a fraction, got {value!r:.40}")
    return Norm(_kind(Fraction(value)))


L1 = Norm("l1")
L2 = Norm("l2")
LINF = Norm("linf")


@in_range
def in_basis(X: Array, norm: Norm) -> Array:
    """The rows of X (..., n, d) in the coordinates in which `norm` is plainly l1, l2 or linf: X @ basis."""
    X = require_matrix("X", X)
    if require_instance("norm", norm, Norm).basis is None:
        return X
    require_rows("norm.basis", norm.basis, X.shape[-1], of="X has columns")
    require_batch(X=X, basis=norm.basis)
    return X @ norm.basis


@in_range
def row_norms(X: Array, norm: Norm = L2) -> Array:
    """Norm of every row: (..., n, d) -> (..., n, 1).

    >>> row_norms(np.array([[3.0, 4.0], [1.0, 0.0]])).tolist(), row_norms(np.array([[3.0, 4.0]]), L1).tolist()
    ([[5.0], [1.0]], [[7.0]])
    """
    X = in_basis(X, norm)
    if norm.kind == "l2":
        return root_of_squares(lambda x: total(square(x)), X, axes=1)
    if norm.exponent is None:
        return amax(absolute(X))
    return total(absolute(X)) if norm.kind == "l1" else _lengths(absolute(X), norm.exponent)


def _lengths(X: Array, p: Fraction) -> Array:
    """The lp norms of nonnegative rows, 1 < p < infinity: (..., n, d) -> (..., n, 1)."""
    if X.dtype == object:
        powers = root(power(X, p.numerator), p.denominator)
        return root(power(total(powers), p.denominator), p.numerator)
    if X.dtype != np.float64:
        return total(X ** float(p)) ** float(1 / p)
    part, exponents = scaled(X, axes=1)
    return np.ldexp(total(part ** float(p)) ** float(1 / p), exponents)


@in_range
def largest_row_norm(X: Array, norm: Norm = L2) -> Array:
    """Largest norm of a row: (..., n, d) -> (..., 1, 1). The root is taken last, so it is exact more often.

    >>> largest_row_norm(np.array([[3.0, 4.0], [1.0, 0.0]])).item()
    5.0
    """
    X = in_basis(X, norm)
    if norm.kind != "l2":
        return amax(row_norms(X, Norm(norm.kind)), -2)
    return root_of_squares(lambda x: amax(total(square(x)), -2), X, axes=2)


@in_range
def operator_norm(W: Array, norm: Norm = L2, norm_out: Norm | None = None) -> Array:
    """Operator norm of the map of row vectors x -> x @ W, sup ||x @ W|| over ||x|| = 1: (..., d, e) -> (..., 1, 1).

    x is measured in `norm`, x @ W in `norm_out`, by default in the same. From l1 it is the largest norm of a row, to
    linf the largest dual norm of a column, in l2 the spectral norm; from linf, and to l1, the maximum over all rows of
    signs, of which there may be 12 (more raise ShapeError). Other pairs have no certified value and raise ClaimError.
    After changes of basis B and C the map reads y -> y @ (B^-1 W C); W is square where norm alone has a basis.

    >>> W = np.array([[1.0, 2.0], [0.0, 4.0]])
    >>> operator_norm(W, L1).item(), operator_norm(W, LINF).item()
    (4.0, 6.0)
    """
    W = require_matrix("W", W)
    require_instance("norm", norm, Norm)
    outer = norm if norm_out is None else require_instance("norm_out", norm_out, Norm)
    if norm.basis is not None and norm.inverse is not None:
        if norm_out is None:
            require_square("W", W)
        require_rows("norm.basis", norm.basis, W.shape[-2], of="W has rows")
        require_batch(W=W, basis=norm.basis, inverse=norm.inverse)
        W = norm.inverse @ W
    if outer.basis is not None:
        require_rows(
            "norm.basis" if norm_out is None else "norm_out.basis", outer.basis, W.shape[-1], of="W has columns"
        )
        require_batch(W=W, basis=outer.basis)
        W = W @ outer.basis
    kinds = norm.kind, outer.kind
    if kinds == ("l2", "l2"):
        return spectral_norm(W)
    if norm.kind == "l1":
        return amax(row_norms(W, Norm(outer.kind)), -2)
    if outer.kind == "linf":
        return amax(row_norms(W.mT, Norm(norm.dual_kind)), -2)
    # The norm of x -> x @ W is that of y -> y @ W^T between the dual norms.
    turned = outer.kind == "l1" and (norm.kind != "linf" or W.shape[-1] < W.shape[-2])
    if not turned and norm.kind != "linf":
        raise ClaimError(
            f"norm, norm_out: no certified value of an operator norm from {norm.kind} to {outer.kind}; "
            "expected one from l1, to linf, from linf, to l1, or from l2 to l2"
        )
    return _largest_over_signs(W.mT, Norm(norm.dual_kind)) if turned else _largest_over_signs(W, Norm(outer.kind))


def _largest_over_signs(W: Array, norm: Norm) -> Array:
    """The largest norm of s @ W of all rows s of signs, up to the sign of the whole: (..., d, e) -> (..., 1, 1)."""
    size = W.shape[-2]
    if size > MOST_SIGNS:
        raise ShapeError(f"W: expected at most {MOST_SIGNS} rows of signs to go through, got {size}")
    numbers = np.arange(2 ** (size - 1))[:, None]
    signs = ones((1, 1), W) * (1 - 2 * (numbers >> np.arange(size) & 1))
    return amax(row_norms(signs @ W, norm), -2)


@in_range
def frobenius_norm(W: Array) -> Array:
    """Root of the sum of squared entries: (..., d, e) -> (..., 1, 1).

    >>> frobenius_norm(np.array([[1.0, 2.0], [2.0, 0.0]])).item()
    3.0
    """
    return root_of_squares(lambda x: total_entry(square(x)), require_matrix("W", W), axes=2)


@in_range
def spectral_norm(W: Array) -> Array:
    """Largest singular value: (..., d, e) -> (..., 1, 1).

    Floats by their singular values; balls by an enclosure whose relative radius is about the working precision, also
    for multiple singular values; rationals where it is rational and the Gram matrix is diagonal, 2 x 2 or of rank one,
    elsewhere NotExact. Other exact entries, and those with a slope, raise NotExpressible unless W is a row or column.

    >>> spectral_norm(np.array([[0.0, 3.0], [4.0, 0.0]])).round(9).item()
    4.0
    """
    W = require_matrix("W", W)
    if W.dtype != object and W.dtype.kind != "c":
        usable = np.isfinite(W).all(axis=(-2, -1), keepdims=True)
        largest = np.linalg.norm(np.where(usable, W, 0), 2, axis=(-2, -1), keepdims=True)
        return np.where(usable, largest, np.nan)
    return number_of_each(W, _spectral_norm_of_one)


def _spectral_norm_of_one(W: Array) -> Any:
    if all(isinstance(entry, RationalEntry) for entry in W.flat):
        value = _closed_form(_gram(W))
        if value is None:
            raise NotExact("the spectral norm of this matrix has no closed form here")
        return sqrt(value).item()
    if any(isinstance(entry, TermEntry) for entry in W.flat):
        value = _closed_form(_gram(W))
        if value is None:
            raise NotExpressible("the spectral norm of a matrix of rank 3 or more")
        return sqrt(value).item()
    if W.dtype != object:
        raise DomainError("W: the spectral norm takes real entries, and floats have no derivative of it here")
    if not all(isinstance(entry, BallEntry) for entry in W.flat):
        if min(W.shape) == 1:
            return frobenius_norm(W).item()
        if any(isinstance(entry, DualEntry) for entry in W.flat):
            raise NotExpressible("the derivative of the spectral norm")
        raise NotExpressible("the spectral norm of other numbers than floats, rationals and enclosures")
    # The midpoints are taken for exact. The largest singular value moves by at most the Frobenius norm of a change.
    middle = np.asarray(np.frompyfunc(_middle, 1, 1)(W))
    radius = np.asarray(np.frompyfunc(_radius, 1, 1)(W))
    bits = ctx.prec
    with Ball(2 * bits + 64).working():
        value = _closed_form(_gram(middle))
        if value is None:
            largest = _largest_singular_value(arb_mat([[entry.value for entry in row] for row in middle]), bits)
        else:
            largest = sqrt(value).item().value
    moved = frobenius_norm(radius).item().value.upper()
    return BallEntry((largest + arb(0, moved)).nonnegative_part() if moved > 0 else +largest, nonnegative=True)


def _middle(entry: BallEntry) -> BallEntry:
    return BallEntry(entry.value.mid(), nonnegative=entry.nonnegative)


def _radius(entry: BallEntry) -> BallEntry:
    return BallEntry(entry.value.rad(), nonnegative=True)


def _gram(W: Array) -> Array:
    """W @ W.mT or W.mT @ W, whichever is smaller."""
    return W @ W.mT if W.shape[-2] <= W.shape[-1] else W.mT @ W


def _closed_form(G: Array) -> Array | None:
    """Largest eigenvalue (1, 1) of an exact positive semidefinite matrix, where it has a simple form."""
    size = G.shape[-1]
    diagonal = np.diagonal(G)[None]
    try:
        if all(G[i, j] == 0 for i in range(size) for j in range(i)):
            return amax(diagonal)
        if total(diagonal).item() ** 2 == total_entry(square(G)).item():  # rank one: a single eigenvalue, the trace
            return total(diagonal)
    except Undecided:  # the entries of a product may be rounded: then it is no special form that is certain
        pass
    if size == 2:
        gap = G[:1, :1] - G[1:, 1:]
        return (total(diagonal) + sqrt(square(gap) + 4 * square(G[:1, 1:]))) / 2
    return None


def _largest_singular_value(W: arb_mat, bits: int) -> arb:
    """An enclosure, of relative radius about 2^-bits, of the largest singular value of an exact matrix.

    By FLINT's eigenvalues, multiple ones too; it gives up on some that are few digits or many orders apart. Then
    ||N||^2 = t ||T|| for t = tr N'N and T = N'N / t, which is semidefinite of trace one; then the same for the midpoint
    of T, which is off by no more than the Frobenius norm of its radii. So every step halves the relative width of what
    is known at the end: ||T||_F^2 <= ||T|| <= ||T||_F, which a gap between the singular values closes much sooner.
    """
    gram = W.transpose() * W if W.ncols() <= W.nrows() else W * W.transpose()
    trace = gram.trace().mid()  # FLINT takes what is small for nothing, whatever the rest is
    for number in range(BASES):
        with suppress(ValueError):
            values = acb_mat(_in_another_basis(gram / trace, number)).eig(multiple=True)
            largest = (trace * reduce(arb.max, [value.real for value in values])).sqrt()
            if largest.rel_accuracy_bits() > bits:
                return largest
    N, traces, moved = W, [], [arb(0)]
    while True:
        product = N.transpose() * N
        traces.append(product.trace())
        if len(traces) > 1 and 1 - traces[-1] < arb(2) ** (len(traces) - bits - 4):
            break
        T = product / traces[-1]
        N = T.mid()
        moved.append(arb(0, sum((entry.rad() ** 2 for entry in T.entries()), arb(0)).sqrt().upper()))
    frobenius = traces.pop().sqrt() + moved.pop()
    largest = (frobenius**2).union(frobenius)
    for trace, shift in zip(reversed(traces), reversed(moved), strict=True):
        largest = (trace * largest).sqrt() + shift
    return largest


def _in_another_basis(G: arb_mat, number: int) -> arb_mat:
    """G in a basis of that number, with its eigenvalues: FLINT finds too few eigenvectors where entries are equal."""
    size = G.nrows()
    basis = arb_mat(np.linalg.qr(np.random.default_rng(number).standard_normal((size, size)))[0].tolist())
    return basis * G * basis.inv()
