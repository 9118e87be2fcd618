"""Matrices of a given structure: spectrum, rank, blocks, linear biases, and pairs near each other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array, absolute, constant, eye, maximum, minimum, ones, total, where
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import (
    Condition,
    Domain,
    Options,
    Part,
    Parts,
    Projected,
    Size,
    Sizes,
    entries,
    is_all,
    number,
    rank_of,
    size_of,
)
from resstream.domains.matrices import Matrix, Symmetric
from resstream.domains.pieces import Piece, fractions
from resstream.domains.projections import of_low_rank, require_allowed
from resstream.domains.triangular import unit_lower
from resstream.errors import DomainError
from resstream.reference.attention import block_mask


@dataclass(frozen=True)
class SymmetricWithSpectrum(Domain):
    """Symmetric matrices (..., d, d) whose eigenvalues are the d numbers given, each as often as it is given.

    The sum of each eigenvalue times the projection on one direction of an orthogonal basis. The basis is that of the
    rows of a unit upper triangular matrix with its columns permuted, made orthogonal in turn: every rational member,
    and none but members.

    >>> X = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> SymmetricWithSpectrum((1, 3)).contains(X, {}), SymmetricWithSpectrum((2, 2)).contains(X, {})
    (True, False)
    """

    spectrum: tuple[Any, ...]

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.spectrum, (tuple, list)) or not self.spectrum:
            raise DomainError(f"{name}: spectrum: expected numbers such as (4, 1, 0), got {self.spectrum!r:.40}")
        object.__setattr__(self, "spectrum", tuple(number(name, "spectrum", value) for value in self.spectrum))
        super().__post_init__()

    def shape(self) -> tuple[Size, Size]:
        return len(self.spectrum), len(self.spectrum)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = len(self.spectrum)
        return {"upper": Part((d, d)), "order": Part((1, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        basis = unit_lower(raw["upper"].mT).mT
        order = np.argsort(raw["order"], axis=-1, kind="stable")
        basis = np.take_along_axis(basis, np.broadcast_to(order, basis.shape), -1)
        result, directions = 0 * basis, list[tuple[Array, Array]]()
        for k, eigenvalue in enumerate(self.spectrum):
            direction = basis[..., k : k + 1, :]
            for earlier, length in directions:
                direction = direction - total(direction * earlier) / length * earlier
            length = total(direction * direction)
            directions.append((direction, length))
            result = result + constant(eigenvalue, basis) * (direction.mT @ direction) / length
        return result

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        """One for each order of the basis: every orthogonal basis is that of L U P for some order P."""
        d = len(self.spectrum)
        order = fractions([unknowns.among(itertools.permutations(range(d)))])
        upper = unknowns.real((d, d))
        built = self.build({"upper": upper, "order": order}, options, sizes)
        return Piece(built, lambda value: {"upper": value(upper), "order": order})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d = len(self.spectrum)
        x = entries(value, (d, d))
        if x is None or not is_all(x == x.mT):
            return False
        identity = eye(d, x)
        return all(d - rank_of(x - constant(v, x) * identity) == self.spectrum.count(v) for v in set(self.spectrum))

    def wider(self) -> Domain | None:
        return Symmetric(len(self.spectrum))


@dataclass(frozen=True)
class LowRank(Domain):
    """Matrices (..., rows, columns) of rank at most `rank`: products of two factors of that many columns and rows.

    >>> LowRank(2, 2, 1).contains(np.array([[1.0, 2.0], [2.0, 4.0]]), {}), LowRank(2, 2, 1).contains(np.eye(2), {})
    (True, False)
    """

    rows: Size
    columns: Size
    rank: Size

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.columns

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        return of_low_rank(x, size_of(self.rank, sizes))

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        rows, columns, rank = (size_of(size, sizes) for size in (self.rows, self.columns, self.rank))
        return {"column": Part((rows, rank)), "row": Part((rank, columns))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw["column"] @ raw["row"]

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (size_of(self.rows, sizes), size_of(self.columns, sizes)))
        return x is not None and rank_of(x) <= size_of(self.rank, sizes)

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.columns)


def RankOne(rows: Size, columns: Size) -> LowRank:  # noqa: N802 - reads as a domain
    """Matrices (..., rows, columns) that are a column times a row (zero too).

    >>> RankOne(2, 2).contains(np.array([[1.0, 2.0], [2.0, 4.0]]), {}), RankOne(2, 2).contains(np.eye(2), {})
    (True, False)
    """
    return LowRank(rows, columns, 1)


@dataclass(frozen=True)
class BlockDiagonal(Domain):
    """Matrices (..., d, d) with blocks of a given size on the diagonal, zeros elsewhere; the last may be smaller.

    >>> BlockDiagonal(3, 2).build({"": np.ones((3, 3))}, {}, {}).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    size: Size
    block: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def allowed(self, sizes: Sizes) -> Array:
        return block_mask(size_of(self.size, sizes), size_of(self.block, sizes))

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        require_allowed(x, self.allowed(sizes), self)
        return None

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return Matrix(self.size, self.size).parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return where(block_mask(raw[""].shape[-1], size_of(self.block, sizes)), raw[""], 0)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        d = size_of(self.size, sizes)
        x = entries(value, (d, d))
        return x is not None and is_all(x[~block_mask(d, size_of(self.block, sizes))] == 0)

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


@dataclass(frozen=True)
class Alibi(Domain):
    """Linear biases of attention scores (..., n, n): -m |i - j| with a slope m > 0; a raw zero stands for m = 1.

    Source: Press, Smith and Lewis, "Train Short, Test Long", who add them to the scores of causal attention.

    >>> Alibi(3).build({"slope": np.array([[0.5]])}, {}, {}).tolist()
    [[-0.0, -0.5, -1.0], [-0.5, -0.0, -0.5], [-1.0, -0.5, -0.0]]
    """

    size: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        near = x[0, -1] / max(len(x) - 1, 1) * _distances(len(x))
        off, size = x - near, absolute(near)
        missed = [
            Condition(f"entry [{i}, {j}] less its part of the furthest is", off[i, j], 0, 1, size[i, j])
            for i, j in np.ndindex(x.shape)
        ]
        return Projected(near, "the slope taken from the furthest pair", missed)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"slope": Part((1, 1), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        slope = where(raw["slope"] == 0, 1, absolute(raw["slope"]))
        return -slope * _distances(size_of(self.size, sizes))

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        slope = unknowns.positive((1, 1))
        return Piece(-slope * _distances(size_of(self.size, sizes)), {"slope": slope})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        n = size_of(self.size, sizes)
        x = entries(value, (n, n))
        if x is None:
            return False
        return is_all(x == 0) if n == 1 else bool(x[0, 1] < 0) and is_all(x == x[0, 1] * _distances(n))

    def wider(self) -> Domain | None:
        return Symmetric(self.size)


def _distances(n: int) -> Array:
    places = np.arange(n)
    return np.abs(places[:, None] - places)


@dataclass(frozen=True)
class NearbyPair(Domain):
    """Pairs (x, y) of matrices (..., rows, columns) as a tuple: y = x + delta, no entry of delta beyond `within`.

    Without `within` any two matrices, near each other as often as not: for claims of Lipschitz kind.

    >>> x = np.array([[1.0, 2.0]])
    >>> NearbyPair(1, 2, within=1).contains((x, x + 1), {}), NearbyPair(1, 2, within=1).contains((x, x + 2), {})
    (True, False)
    """

    rows: Size
    columns: Size
    within: Any = None

    def __post_init__(self) -> None:
        if self.within is not None:
            object.__setattr__(self, "within", number(type(self).__name__, "within", self.within))
            if self.within <= 0:
                raise DomainError(f"NearbyPair: within: expected a number above 0 or None, got {self.within}")
        super().__post_init__()

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        shape = size_of(self.rows, sizes), size_of(self.columns, sizes)
        ends = (None, None) if self.within is None else (-self.within, self.within)
        return {"first": Part(shape), "delta": Part(shape, ends=ends)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        delta = raw["delta"]
        if self.within is not None:
            limit = constant(self.within, delta) * ones((1, 1), delta)
            delta = maximum(minimum(delta, limit), -limit)
        return raw["first"], raw["first"] + delta

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        shape = size_of(self.rows, sizes), size_of(self.columns, sizes)
        raw = {"first": unknowns.real(shape), "delta": unknowns.real(shape)}
        if self.within is not None:
            for side in (raw["delta"], -raw["delta"]):
                unknowns.assume(self.within - side, ">=")
        return Piece((raw["first"], raw["first"] + raw["delta"]), raw)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, tuple) or len(value) != 2:
            return False
        x, y = (entries(one, (size_of(self.rows, sizes), size_of(self.columns, sizes))) for one in value)
        if x is None or y is None:
            return False
        return self.within is None or is_all(absolute(y - x) <= constant(self.within, x))
