"""Norms of row vectors and the operator norms that belong to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from resstream.arithmetic import (
    Array,
    Ball,
    BallEntry,
    NoValue,
    RationalEntry,
    absolute,
    amax,
    sqrt,
    square,
    total,
    total_entry,
)
from resstream.arithmetic.solver import SolverEntry
from resstream.arithmetic.terms import TermEntry
from resstream.errors import DomainError, NotExact, NotExpressible, ShapeError, Undecided
from resstream.reference.checks import (
    in_range,
    require_batch,
    require_instance,
    require_matrix,
    require_rows,
    require_square,
)
from resstream.reference.magnitudes import root_of_squares

KINDS = ("l1", "l2", "linf")


@dataclass(frozen=True, eq=False)
class Norm:
    """A norm of row vectors: ||x|| is the l1, l2 or linf norm of x @ basis.

    Shapes: basis (..., d, d) and inverse (..., d, d) with basis @ inverse = I, both None for no change of basis. The
    inverse may be given as a function that makes it: only operator norms ask for it.
    """

    kind: str
    basis: Array | None = None
    inverse: Any = field(default_factory=lambda: None)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise DomainError(f"kind: expected one of {', '.join(KINDS)}, got {str(self.kind)[:40]!r}")
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

    def __str__(self) -> str:
        return self.kind if self.basis is None else f"{self.kind} after a change of basis"


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
    """Norm of every row: (..., n, d) -> (..., n, 1)."""
    X = in_basis(X, norm)
    if norm.kind == "l2":
        return root_of_squares(lambda x: total(square(x)), X, axes=1)
    return total(absolute(X)) if norm.kind == "l1" else amax(absolute(X))


@in_range
def largest_row_norm(X: Array, norm: Norm = L2) -> Array:
    """Largest norm of a row: (..., n, d) -> (..., 1, 1). The root is taken last, so it is exact more often."""
    X = in_basis(X, norm)
    if norm.kind != "l2":
        return amax(row_norms(X, Norm(norm.kind)), -2)
    return root_of_squares(lambda x: amax(total(square(x)), -2), X, axes=2)


@in_range
def operator_norm(W: Array, norm: Norm = L2) -> Array:
    """Operator norm of the map of row vectors x -> x @ W, in and out in `norm`: (..., d, d) -> (..., 1, 1).

    l1: the largest absolute row sum; linf: the largest absolute column sum; l2: the spectral norm. After a change of
    basis B the map reads y -> y @ (B^-1 W B). W may be (..., d, e) where no basis is given.
    """
    W = require_matrix("W", W)
    require_instance("norm", norm, Norm)
    if norm.basis is not None and norm.inverse is not None:
        require_square("W", W)
        require_rows("norm.basis", norm.basis, W.shape[-1], of="W has columns")
        require_batch(W=W, basis=norm.basis, inverse=norm.inverse)
        W = norm.inverse @ W @ norm.basis
    if norm.kind == "l2":
        return spectral_norm(W)
    axis = -1 if norm.kind == "l1" else -2
    return amax(total(absolute(W), axis), -3 - axis)


@in_range
def frobenius_norm(W: Array) -> Array:
    """Root of the sum of squared entries: (..., d, e) -> (..., 1, 1)."""
    return root_of_squares(lambda x: total_entry(square(x)), require_matrix("W", W), axes=2)


@in_range
def spectral_norm(W: Array) -> Array:
    """Largest singular value: (..., d, e) -> (..., 1, 1).

    Floats by their singular values; balls by an enclosure whose relative radius is about the working precision, also
    for multiple singular values; rationals where it is rational and the Gram matrix is diagonal, 2 x 2 or of rank one,
    elsewhere NotExact. Derivatives are not provided: complex and series entries raise DomainError.
    """
    W = require_matrix("W", W)
    if W.dtype != object and W.dtype.kind != "c":
        usable = np.isfinite(W).all(axis=(-2, -1), keepdims=True)
        largest = np.linalg.norm(np.where(usable, W, 0), 2, axis=(-2, -1), keepdims=True)
        return np.where(usable, largest, np.nan)
    largest = np.empty((*W.shape[:-2], 1, 1), dtype=object)
    for index in np.ndindex(W.shape[:-2]):
        largest[(*index, 0, 0)] = _spectral_norm_of_one(W[index])
    return largest


def _spectral_norm_of_one(W: Array) -> Any:
    for entry in W.flat:
        if isinstance(entry, NoValue):
            entry.demand()
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
    if isinstance(W.flat[0], SolverEntry):
        if min(W.shape) > 1:
            raise NotExpressible("spectral norm")
        return frobenius_norm(W).item()
    if not all(isinstance(entry, BallEntry) for entry in W.flat):
        raise DomainError("W: the spectral norm takes float, ball or rational entries, and has no derivative here")
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

    ||N||^2 = t ||T|| for t = tr N'N and T = N'N / t, which is semidefinite of trace one; then the same for the midpoint
    of T, which is off by no more than the Frobenius norm of its radii. So every step halves the relative width of what
    is known at the end: ||T||_F^2 <= ||T|| <= ||T||_F, which a gap between the singular values closes much sooner.
    """
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
