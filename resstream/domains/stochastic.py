"""Stochastic matrices: row-stochastic, those that a mask allows, doubly stochastic, permutations."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resstream.arithmetic import Array, absolute, ones, total, where, zeros
from resstream.arithmetic.layout import in_lanes
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
    size_of,
)
from resstream.domains.matrices import NonNegative
from resstream.domains.pieces import Piece, birkhoff, constants, fractions, weights
from resstream.domains.projections import balanced, mirrored, of_row_sums, require_allowed, require_nonnegative, sums
from resstream.reference.attention import banded_mask, block_mask, causal_mask, sliding_window_mask


@dataclass(frozen=True)
class RowStochastic(Domain):
    """Matrices (..., rows, columns) with entries at least 0 and rows that sum to 1: raw weights over their row sums.

    A raw row of zeros means a uniform row.

    >>> RowStochastic(2).build({"": np.array([[1.0, 3.0], [0.0, 0.0]])}, {}, {}).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    >>> RowStochastic(1, 2).contains(np.array([[0.1, 0.9]]), {})  # these floats are not 1/10 and 9/10
    False
    """

    rows: Size
    columns: Size | None = None

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.rows if self.columns is None else self.columns

    def allowed(self, sizes: Sizes) -> Array:
        """Booleans (rows, columns): where an entry may be other than 0."""
        return np.ones(self.shape_at(sizes), dtype=bool)

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        require_allowed(x, self.allowed(sizes), self)
        require_nonnegative(x)
        return of_row_sums(x)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part(self.shape_at(sizes), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return over_row_sums(absolute(raw[""]), self.allowed(sizes))

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return weights(unknowns, self.allowed(sizes))

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, self.shape_at(sizes))
        return x is not None and _are_distributions(x) and is_all(x[~self.allowed(sizes)] == 0)

    def wider(self) -> Domain | None:
        return NonNegative(self.rows, self.rows if self.columns is None else self.columns)


def over_row_sums(weights: Array, allowed: Array) -> Array:
    """Weights over their row sums, zero where not allowed; a row of zeros is uniform over what is allowed."""
    weights = in_lanes(weights if allowed.all() else where(allowed, weights, 0))
    is_empty = np.all(weights == 0, axis=-1, keepdims=True)
    if is_empty.any():
        weights = where(is_empty & allowed, 1, weights)
    return weights / total(weights)


def _are_distributions(x: Array) -> bool:
    return is_all(x >= 0) and is_all(total(x) == 1)


def Simplex(size: Size) -> RowStochastic:  # noqa: N802 - reads as a domain
    """Probability vectors (..., 1, n): entries at least 0 that sum to 1.

    >>> Simplex(2).contains(np.array([[0.25, 0.75]]), {}), Simplex(2).contains(np.array([[0.5, 0.75]]), {})
    (True, False)
    """
    return RowStochastic(1, size)


@dataclass(frozen=True)
class PositiveRows(RowStochastic):
    """Row-stochastic matrices (..., rows, columns) without zeros; a raw weight of zero stands for 1.

    >>> PositiveRows(1, 2).build({"": np.array([[0.0, 3.0]])}, {}, {}).tolist()
    [[0.25, 0.75]]
    """

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        weights = where(raw[""] == 0, 1, absolute(raw[""]))
        return weights / total(weights)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return weights(unknowns, self.allowed(sizes), positive=True)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, self.shape_at(sizes))
        return x is not None and is_all(x > 0) and _are_distributions(x)

    def wider(self) -> Domain | None:
        return RowStochastic(self.rows, self.columns)


@dataclass(frozen=True)
class EqualRows(Domain):
    """Row-stochastic matrices (..., rows, columns) of rank one: all rows are the same.

    >>> EqualRows(2, 2).contains(np.array([[0.25, 0.75], [0.25, 0.75]]), {}), EqualRows(2, 2).contains(np.eye(2), {})
    (True, False)
    """

    rows: Size
    columns: Size

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.columns

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        require_nonnegative(x)
        means = total(x, -2) / len(x)
        apart = [
            Condition(f"entry [{i}, {j}] less the mean of its column is", x[i, j] - means[0, j], 0, len(x))
            for i, j in np.ndindex(x.shape)
        ]
        found = of_row_sums(ones((len(x), 1), x) @ means)
        return Projected(found.member, f"rows made their mean, {found.how}", [*apart, *sums(x)])

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, size_of(self.columns, sizes)), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        row = RowStochastic(1, self.columns).build(raw, options, sizes)
        return ones((size_of(self.rows, sizes), 1), row) @ row

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        row = weights(unknowns, np.ones((1, size_of(self.columns, sizes)), dtype=bool)).object
        return Piece(np.repeat(row, size_of(self.rows, sizes), axis=0), {"": row})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (size_of(self.rows, sizes), size_of(self.columns, sizes)))
        return x is not None and _are_distributions(x) and is_all(x == x[:1])

    def wider(self) -> Domain | None:
        return RowStochastic(self.rows, self.columns)


# ---- patterns under a mask --------------------------------------------------


@dataclass(frozen=True)
class Causal(RowStochastic):
    """Row-stochastic, lower triangular matrices (..., n, n): position i attends to positions up to i.

    >>> Causal(2).build({"": np.array([[1.0, 5.0], [1.0, 3.0]])}, {}, {}).tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """

    columns: None = field(default=None, init=False)

    def allowed(self, sizes: Sizes) -> Array:
        return causal_mask(size_of(self.rows, sizes))

    def wider(self) -> Domain | None:
        return RowStochastic(self.rows)


@dataclass(frozen=True)
class Banded(RowStochastic):
    """Row-stochastic matrices (..., n, n) within a band: zero where |i - j| is beyond `reach`.

    >>> Banded(3, 1).build({"": np.ones((3, 3))}, {}, {}).tolist()
    [[0.5, 0.5, 0.0], [0.3333333333333333, 0.3333333333333333, 0.3333333333333333], [0.0, 0.5, 0.5]]
    """

    columns: None = field(default=None, init=False)
    reach: Size = field(default=1, metadata={"least": 0})

    def allowed(self, sizes: Sizes) -> Array:
        return banded_mask(size_of(self.rows, sizes), size_of(self.reach, sizes))

    def wider(self) -> Domain | None:
        return RowStochastic(self.rows)


@dataclass(frozen=True)
class SlidingWindow(RowStochastic):
    """Causal matrices (..., n, n) of a sliding window: position i attends to itself and to `window` - 1 before it.

    >>> SlidingWindow(3, 2).build({"": np.ones((3, 3))}, {}, {}).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    """

    columns: None = field(default=None, init=False)
    window: Size = 2

    def allowed(self, sizes: Sizes) -> Array:
        return sliding_window_mask(size_of(self.rows, sizes), size_of(self.window, sizes))

    def wider(self) -> Domain | None:
        return Causal(self.rows)


@dataclass(frozen=True)
class BlockStochastic(RowStochastic):
    """Row-stochastic, block-diagonal matrices (..., n, n): each position attends within its block (of packed texts).

    >>> BlockStochastic(3, 2).build({"": np.ones((3, 3))}, {}, {}).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """

    columns: None = field(default=None, init=False)
    block: Size = 2

    def allowed(self, sizes: Sizes) -> Array:
        return block_mask(size_of(self.rows, sizes), size_of(self.block, sizes))

    def wider(self) -> Domain | None:
        return RowStochastic(self.rows)


# ---- masks ------------------------------------------------------------------


@dataclass(frozen=True)
class Mask(Domain):
    """Masks of attention, booleans (..., n, m), no row of which allows nothing; a raw row of zeros allows all.

    >>> Mask(2).build({"": np.array([[0.0, 0.0], [1.0, 0.0]])}, {}, {}).tolist()
    [[True, True], [True, False]]
    """

    rows: Size
    columns: Size | None = None

    def shape(self) -> tuple[Size, Size]:
        return self.rows, self.rows if self.columns is None else self.columns

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part(self.shape_at(sizes), "whole", 0, 1)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        allowed = np.asarray(raw[""] == 1, dtype=bool)
        return allowed | ~allowed.any(axis=-1, keepdims=True)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        shape = self.shape_at(sizes)
        rows = [row for row in itertools.product((0, 1), repeat=shape[1]) if any(row)]
        mask = np.array(unknowns.among(itertools.product(rows, repeat=shape[0])), dtype=bool).reshape(shape)
        return Piece(mask, lambda _: {"": fractions(mask)})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        right = isinstance(value, np.ndarray) and value.dtype == bool and value.shape == self.shape_at(sizes)
        return right and bool(value.any(axis=-1).all())


@dataclass(frozen=True)
class _OneMask(Domain):
    """One mask, which the sizes give."""

    size: Size

    @abstractmethod
    def mask(self, sizes: Sizes) -> Array:
        """The mask."""

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return self.mask(sizes)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return Piece(self.mask(sizes), {})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        return isinstance(value, np.ndarray) and value.dtype == bool and np.array_equal(value, self.mask(sizes))

    def wider(self) -> Domain | None:
        return Mask(self.size)


@dataclass(frozen=True)
class CausalMask(_OneMask):
    """The causal mask, booleans (n, n): True where j <= i.

    >>> CausalMask(3).build({}, {}, {}).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """

    def mask(self, sizes: Sizes) -> Array:
        return causal_mask(size_of(self.size, sizes))


@dataclass(frozen=True)
class BandedMask(_OneMask):
    """The mask of a band, booleans (n, n): True where |i - j| <= reach.

    >>> BandedMask(3, 1).build({}, {}, {}).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """

    reach: Size = field(default=1, metadata={"least": 0})

    def mask(self, sizes: Sizes) -> Array:
        return banded_mask(size_of(self.size, sizes), size_of(self.reach, sizes))


@dataclass(frozen=True)
class SlidingWindowMask(_OneMask):
    """The mask of a causal sliding window, booleans (n, n): True where 0 <= i - j < window.

    >>> SlidingWindowMask(3, 2).build({}, {}, {}).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """

    window: Size = 2

    def mask(self, sizes: Sizes) -> Array:
        return sliding_window_mask(size_of(self.size, sizes), size_of(self.window, sizes))


@dataclass(frozen=True)
class BlockMask(_OneMask):
    """The mask of blocks, booleans (n, n): True where i and j lie in the same block of the given size.

    >>> BlockMask(3, 2).build({}, {}, {}).astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """

    block: Size = 2

    def mask(self, sizes: Sizes) -> Array:
        return block_mask(size_of(self.size, sizes), size_of(self.block, sizes))


# ---- permutations and their mixtures ----------------------------------------


@dataclass(frozen=True)
class Permutation(Domain):
    """Permutation matrices (..., n, n): row i has its 1 where the i-th smallest raw number stands.

    >>> Permutation(3).build({"": np.array([[0.5, 0.1, 0.9]])}, {}, {}).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    size: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, size_of(self.size, sizes)))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        keys = raw[""]
        order = np.argsort(keys, axis=-1, kind="stable")[..., 0, :]
        hot = order[..., :, None] == np.arange(keys.shape[-1])
        return where(hot, ones((1, 1), keys), zeros((1, 1), keys))

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        n = size_of(self.size, sizes)
        order = unknowns.among(itertools.permutations(range(n)))
        hot = np.arange(n) == np.array(order)[:, None]
        keys = fractions([np.argsort(order)])  # row i has its 1 where the i-th smallest of them stands
        return Piece(constants(hot, unknowns), lambda _: {"": keys})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        n = size_of(self.size, sizes)
        x = entries(value, (n, n))
        return x is not None and is_all((x == 0) | (x == 1)) and _is_doubly_stochastic(x)

    def wider(self) -> Domain | None:
        return DoublyStochastic(self.size)


@dataclass(frozen=True)
class DoublyStochastic(Domain):
    """Matrices (..., n, n) with entries at least 0 and rows and columns that sum to 1.

    A mixture of (n - 1)^2 + 1 permutations, which are enough to reach all (Birkhoff, Caratheodory).

    >>> A = np.array([[0.25, 0.75], [0.75, 0.25]])
    >>> DoublyStochastic(2).contains(A, {}), DoublyStochastic(2).contains(np.array([[0.5, 0.5], [1.0, 0.0]]), {})
    (True, False)
    """

    size: Size

    def shape(self) -> tuple[Size, Size]:
        return self.size, self.size

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        require_nonnegative(x)
        return balanced(x)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        n = size_of(self.size, sizes)
        terms = (n - 1) ** 2 + 1
        return {"weights": Part((1, terms), "weight"), "orders": Part((terms, n))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        weights = RowStochastic(1, raw["weights"].shape[-1]).build({"": raw["weights"]}, options, sizes)
        mixture = None
        for k in range(weights.shape[-1]):
            permutation = Permutation(self.size).build({"": raw["orders"][..., k : k + 1, :]}, options, sizes)
            term = weights[..., k : k + 1] * permutation
            mixture = term if mixture is None else mixture + term
        return mixture

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        n = size_of(self.size, sizes)
        inner = self._unknown(unknowns, n)
        rows = np.concatenate([inner, 1 - total(inner)], axis=-1) if n > 1 else constants(np.ones((0, 1)), unknowns)
        matrix = np.concatenate([rows, 1 - total(rows, -2)], axis=-2) if n > 1 else constants([[1]], unknowns)
        unknowns.assume(np.concatenate([matrix[:-1, -1], matrix[-1]]), ">=")
        return Piece(matrix, lambda value: birkhoff(value(matrix), self.parts(sizes, options)))

    def _unknown(self, unknowns: Unknowns, n: int) -> Array:
        """The entries (n - 1, n - 1) that the others follow from."""
        return unknowns.nonnegative((n - 1, n - 1))

    def contains(self, value: Any, sizes: Sizes) -> bool:
        n = size_of(self.size, sizes)
        x = entries(value, (n, n))
        return x is not None and _is_doubly_stochastic(x)

    def wider(self) -> Domain | None:
        return RowStochastic(self.size)


def _is_doubly_stochastic(x: Array) -> bool:
    return _are_distributions(x) and is_all(total(x, -2) == 1)


@dataclass(frozen=True)
class SymmetricDoublyStochastic(DoublyStochastic):
    """Doubly stochastic matrices (..., n, n) that are symmetric: the mean of one and its transpose.

    >>> SymmetricDoublyStochastic(2).contains(np.array([[0.25, 0.75], [0.75, 0.25]]), {})
    True
    """

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        require_nonnegative(x)
        even, found = mirrored(x), balanced((x + x.mT) / 2)
        return Projected(found.member, f"{even.how}; {found.how}", [*even.missed, *balanced(x).missed])

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        matrix = super().build(raw, options, sizes)
        return (matrix + matrix.mT) / 2

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        # A symmetric member is its own mean with its transpose.
        return super().piece(unknowns, sizes, options)

    def _unknown(self, unknowns: Unknowns, n: int) -> Array:
        matrix = unknowns.nonnegative((n - 1, n - 1))
        return np.where(np.tri(n - 1, dtype=bool), matrix, matrix.mT)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        return super().contains(value, sizes) and is_all(value == value.mT)

    def wider(self) -> Domain | None:
        return DoublyStochastic(self.size)
