"""What a claim quantifies over.

A domain is two things. Its *raw* arrays are easy to draw, perturb and shrink: any finite numbers will do. Its *build*
turns raw arrays into the mathematical object with arithmetic-neutral operations, so that an exact raw instance gives
an exact object (rows sum to one as rationals, not to 0.9999999), and no change of the raw arrays leaves the domain.

Sizes are names ("n", "d") or whole numbers. Every built object has two trailing axes: a vector is one row (..., 1, d),
a scalar is (..., 1, 1). What cannot vary within a batch (the kind of a norm) is an *option*.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from resstream.arithmetic import (
    Array,
    absolute,
    constant,
    eye,
    maximum,
    minimum,
    ones,
    total,
    where,
    zeros,
)
from resstream.errors import DomainError
from resstream.reference.attention import Head
from resstream.reference.attention_only import AttentionOnlyModel
from resstream.reference.mlp import MLP
from resstream.reference.norms import Norm as NormValue

Size = int | str
Sizes = Mapping[str, int]
Parts = Mapping[str, Array]
Options = Mapping[str, str]


def size_of(size: Size, sizes: Sizes) -> int:
    """The number that a size stands for; an unknown name raises DomainError."""
    if isinstance(size, int):
        return size
    if size not in sizes:
        raise DomainError(f"size {size!r}: expected one of {sorted(sizes)}")
    return sizes[size]


# ---- raw parts --------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One raw array of a domain: its shape, and which numbers are natural in it.

    kind is "real", "weight" (only the absolute value matters) or "whole" (integers from low to high).
    """

    shape: tuple[int, ...]
    kind: str = "real"
    low: int = 0
    high: int = 0

    def settle(self, values: Array) -> Array:
        """The nearest array that this part may hold (whole numbers are rounded and cut to their range)."""
        if self.kind != "whole":
            return values
        return np.clip(np.rint(values), self.low, self.high)

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """A float64 batch (count, *shape) of raw arrays: a mixture of diffuse, tied, sparse, wide and degenerate."""
        if self.kind == "whole":
            # Small values and the ends of the range turn up as often as the middle.
            near = np.minimum(rng.integers(0, 4, (count, *self.shape)), self.high - self.low) + self.low
            anywhere = rng.integers(self.low, self.high + 1, (count, *self.shape))
            return np.where(rng.random((count, *([1] * len(self.shape)))) < 0.5, near, anywhere).astype(float)
        values = np.empty((count, *self.shape))
        edges = np.linspace(0, count, len(_RECIPES) + 1).astype(int)
        for recipe, start, stop in zip(_RECIPES, edges[:-1], edges[1:], strict=True):
            if stop > start:
                values[start:stop] = recipe(rng, (stop - start, *self.shape))
        # Two parts drawn one after the other must not pair the same recipes every time.
        return values[rng.permutation(count)]


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def _small_integers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(-2, 3, shape).astype(float)


def _sparse(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.3, rng.integers(-3, 4, shape), 0).astype(float)


def _per_instance(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *([1] * (len(shape) - 1)))


def _wide(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-4, 6, _per_instance(shape))


def _wide_entries(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 3, shape)


def _tied_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    pool = rng.integers(-3, 4, (*shape[:-2], 2, shape[-1])).astype(float)
    return np.take_along_axis(pool, rng.integers(0, 2, (*shape[:-1], 1)), axis=-2)


def _nearly_tied_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    # A tight cluster, near the origin or far from it.
    centre = 10.0 ** rng.uniform(-1, 3, _per_instance(shape)) * rng.standard_normal((*shape[:-2], 1, shape[-1]))
    return centre + 10.0 ** rng.uniform(-6, 1, _per_instance(shape)) * rng.standard_normal(shape)


def _rank_one(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    column, row = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
    return (rng.integers(-2, 3, column) * rng.integers(-2, 3, row)).astype(float)


def _one_hot_rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    hot = rng.integers(0, shape[-1], (*shape[:-1], 1))
    return (np.arange(shape[-1]) == hot) * rng.choice([1.0, -1.0, 3.0], _per_instance(shape))


_RECIPES: tuple[Callable[[np.random.Generator, tuple[int, ...]], Array], ...] = (
    *[_gaussian] * 4,
    *[_small_integers] * 3,
    *[_sparse] * 2,
    *[_wide] * 3,
    *[_wide_entries] * 3,
    *[_nearly_tied_rows] * 2,
    _tied_rows,
    _rank_one,
    _one_hot_rows,
)
"""As often as they stand here: most draws are generic, as an engine of its own (corners) looks at degenerate ones."""


# ---- domains ----------------------------------------------------------------


class Domain(ABC):
    """A set of mathematical objects, reached from raw arrays by `build`.

    Subclasses are dataclasses whose sizes are whole numbers or names.
    """

    @abstractmethod
    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        """The raw arrays that one object is built from, by name ("" where there is one only)."""

    @abstractmethod
    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        """The object, from raw arrays in any number system, with or without leading batch axes."""

    def options(self) -> dict[str, tuple[str, ...]]:
        """Discrete choices, each with its values from the simplest on."""
        return {}

    def wider(self) -> Domain | None:
        """The next wider domain, or None: what an audit relaxes to."""
        return None

    def __str__(self) -> str:
        """As it is written in a claim, without what is left at its default: `RowStochastic(n)`."""
        values = [(f, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type]
        shown = [
            str(value) if f.default is MISSING else f"{f.name}={value}" for f, value in values if value != f.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True)
class Matrix(Domain):
    """Any real matrix (..., rows, columns)."""

    rows: Size
    columns: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((size_of(self.rows, sizes), size_of(self.columns, sizes)))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""]


def Vector(size: Size) -> Matrix:  # noqa: N802 - reads as a domain
    """Any real row vector (..., 1, d)."""
    return Matrix(1, size)


def Scores(rows: Size, columns: Size | None = None) -> Matrix:  # noqa: N802 - reads as a domain
    """Any real attention scores (..., n, n)."""
    return Matrix(rows, rows if columns is None else columns)


@dataclass(frozen=True)
class NonNegative(Domain):
    """A matrix (..., rows, columns) with entries at least 0."""

    rows: Size
    columns: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((size_of(self.rows, sizes), size_of(self.columns, sizes)), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return absolute(raw[""])

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.columns)


@dataclass(frozen=True)
class Positive(NonNegative):
    """A matrix (..., rows, columns) with entries above 0; a raw zero stands for 1. `Positive(1, 1)` is a scalar."""

    rows: Size = 1
    columns: Size = 1

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return where(raw[""] == 0, 1, absolute(raw[""]))

    def wider(self) -> Domain | None:
        return NonNegative(self.rows, self.columns)


@dataclass(frozen=True)
class NonZero(Matrix):
    """A matrix (..., rows, columns) that is not all zeros; raw zeros stand for the unit in the corner."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        return _with_corner(x, np.all(x == 0, axis=(-2, -1), keepdims=True))

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.columns)


@dataclass(frozen=True)
class NonConstant(Domain):
    """Rows (..., rows, d), d >= 2, none a multiple of the all-ones vector: a constant raw row gets 1 added in front."""

    size: Size
    rows: Size = 1

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return Matrix(self.rows, self.size).parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        is_constant = np.all(x == x[..., :1], axis=-1, keepdims=True)
        first = np.arange(x.shape[-1]) == 0
        return where(is_constant & first, x + 1, x)

    def wider(self) -> Domain | None:
        return Matrix(self.rows, self.size)


def _with_corner(x: Array, wanted: Array) -> Array:
    corner = np.zeros(x.shape[-2:], dtype=bool)
    corner[0, 0] = True
    return where(wanted & corner, 1, x)


@dataclass(frozen=True)
class RowStochastic(Domain):
    """A row-stochastic matrix (..., rows, columns): raw weights over their row sums; a row of zeros means uniform."""

    rows: Size
    columns: Size | None = None

    def _shape(self, sizes: Sizes) -> tuple[int, int]:
        return size_of(self.rows, sizes), size_of(self.rows if self.columns is None else self.columns, sizes)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part(self._shape(sizes), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return _over_row_sums(absolute(raw[""]), np.ones(self._shape(sizes), dtype=bool))

    def wider(self) -> Domain | None:
        return NonNegative(self.rows, self.rows if self.columns is None else self.columns)


def _over_row_sums(weights: Array, allowed: Array) -> Array:
    weights = where(allowed, weights, 0)
    is_empty = np.all(weights == 0, axis=-1, keepdims=True)
    weights = where(is_empty & allowed, 1, weights)
    return weights / total(weights)


@dataclass(frozen=True)
class Causal(RowStochastic):
    """A row-stochastic, lower-triangular matrix (..., n, n): position i attends to positions up to i."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return _over_row_sums(absolute(raw[""]), np.tri(*self._shape(sizes), dtype=bool))

    def wider(self) -> Domain | None:
        return RowStochastic(self.rows)


def Simplex(size: Size) -> RowStochastic:  # noqa: N802 - reads as a domain
    """A probability vector (..., 1, n)."""
    return RowStochastic(1, size)


@dataclass(frozen=True)
class Permutation(Domain):
    """A permutation matrix (..., n, n): row i has its 1 where the i-th smallest raw number stands."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, size_of(self.size, sizes)))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        keys = raw[""]
        order = np.argsort(keys, axis=-1, kind="stable")[..., 0, :]
        hot = order[..., :, None] == np.arange(keys.shape[-1])
        return where(hot, ones((1, 1), keys), zeros((1, 1), keys))

    def wider(self) -> Domain | None:
        return DoublyStochastic(self.size)


@dataclass(frozen=True)
class DoublyStochastic(Domain):
    """A doubly stochastic matrix (..., n, n), as Birkhoff has it: a mixture of enough permutations to reach all."""

    size: Size

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

    def wider(self) -> Domain | None:
        return RowStochastic(self.size)


@dataclass(frozen=True)
class Orthogonal(Domain):
    """An orthogonal matrix (..., d, d), or its first columns (..., d, k): a product of reflections in raw vectors.

    A raw vector of zeros reflects nothing, so raw zeros give the identity.
    """

    size: Size
    columns: Size | None = None

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        vectors = raw[""]
        d = vectors.shape[-1]
        product = eye(d, vectors)
        for k in range(d):
            v = vectors[..., k : k + 1, :]
            length = total(v * v)
            length = where(np.all(v == 0, axis=-1, keepdims=True), 1, length)
            product = product - 2 * (product @ v.mT) @ v / length
        return product[..., : d if self.columns is None else size_of(self.columns, sizes)]

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size if self.columns is None else self.columns)


@dataclass(frozen=True)
class PositiveSemidefinite(Domain):
    """A symmetric positive semidefinite matrix (..., d, d): G G^T."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""] @ raw[""].mT

    def wider(self) -> Domain | None:
        return Symmetric(self.size)


@dataclass(frozen=True)
class Symmetric(Domain):
    """A symmetric matrix (..., d, d): the lower triangle of the raw array, mirrored."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        return where(np.tri(x.shape[-1], dtype=bool), x, x.mT)

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


@dataclass(frozen=True)
class Invertible(Domain):
    """A matrix (..., d, d) with an inverse: unit lower triangular times upper triangular with a diagonal of at least 1.

    `build` gives the matrix; `build_pair` gives it with its exact inverse. Raw zeros give the identity.
    """

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {"lower": Part((d, d)), "upper": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return self.build_pair(raw)[0]

    def build_pair(self, raw: Parts) -> tuple[Array, Array]:
        """The matrix and its inverse, each (..., d, d)."""
        identity = eye(raw["lower"].shape[-1], raw["lower"])
        strict = np.tri(identity.shape[-1], k=-1, dtype=bool)
        lower = identity + where(strict, raw["lower"], 0)
        unit_upper = identity + where(strict.mT, raw["upper"], 0)
        scales = total(where(identity == 1, 1 + absolute(raw["upper"]), 0)).mT  # of columns, (..., 1, d)
        upper_inverse = _unit_lower_inverse(unit_upper.mT).mT
        return lower @ (unit_upper * scales), (upper_inverse / scales.mT) @ _unit_lower_inverse(lower)

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


@dataclass(frozen=True)
class InvertiblePair(Invertible):
    """An invertible matrix (..., d, d) and its exact inverse, as a tuple of two."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return self.build_pair(raw)

    def wider(self) -> Domain | None:
        return None


@dataclass(frozen=True)
class Projection(Domain):
    """A projection (..., d, d), P @ P = P, oblique in general: B D B^-1 with D of zeros and ones (raw kept > 0)."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"kept": Part((1, size_of(self.size, sizes))), **Invertible(self.size).parts(sizes, options)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        basis, inverse = Invertible(self.size).build_pair(raw)
        return where(raw["kept"] > 0, basis, 0) @ inverse

    def wider(self) -> Domain | None:
        return Matrix(self.size, self.size)


def _unit_lower_inverse(lower: Array) -> Array:
    """Inverse of a unit lower triangular matrix (..., d, d), row by row."""
    size = lower.shape[-1]
    identity = np.broadcast_to(eye(size, lower), lower.shape)
    rows = [identity[..., :1, :]]
    for i in range(1, size):
        above = np.concatenate(rows, axis=-2)
        rows.append(identity[..., i : i + 1, :] - lower[..., i : i + 1, :i] @ above)
    return np.concatenate(rows, axis=-2)


@dataclass(frozen=True)
class Norm(Domain):
    """A norm on row vectors of width d: l1, l2 or linf, as it stands or after an invertible change of basis.

    `kinds` limits the choice; `bases=False` leaves the changes of basis out.
    """

    size: Size
    kinds: tuple[str, ...] = ("linf", "l1", "l2")
    bases: bool = True

    def options(self) -> dict[str, tuple[str, ...]]:
        return {"kind": self.kinds, "basis": ("standard", "changed") if self.bases else ("standard",)}

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {} if options["basis"] == "standard" else Invertible(self.size).parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        if options["basis"] == "standard":
            return NormValue(options["kind"])
        return NormValue(options["kind"], *Invertible(self.size).build_pair(raw))


@dataclass(frozen=True)
class Scalar(Domain):
    """A number (..., 1, 1) from low to high (None: no end); a raw number beyond an end stands for the end."""

    low: int | None = None
    high: int | None = None

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, 1))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        if self.low is not None:
            x = maximum(x, zeros((1, 1), x) + constant(self.low, x))
        if self.high is not None:
            x = minimum(x, zeros((1, 1), x) + constant(self.high, x))
        return x

    def wider(self) -> Domain | None:
        return None if self.low is None and self.high is None else Scalar()


@dataclass(frozen=True)
class Whole(Domain):
    """Whole numbers (..., rows, columns) from low to high, as entries of the number system."""

    low: int
    high: int
    rows: Size = 1
    columns: Size = 1

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        shape = (size_of(self.rows, sizes), size_of(self.columns, sizes))
        return {"": Part(shape, "whole", self.low, self.high)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""]


@dataclass(frozen=True)
class Count(Domain):
    """The number that a size stands for, as a Python int (the same for a whole batch): how many layers, say."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return size_of(self.size, sizes)


@dataclass(frozen=True)
class Tokens(Domain):
    """A sequence of tokens as one-hot rows (..., length, vocabulary), so that `tokens @ E` is the embedding."""

    length: Size
    vocabulary: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((size_of(self.length, sizes), 1), "whole", 0, size_of(self.vocabulary, sizes) - 1)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        tokens = raw[""]
        hot = tokens == np.arange(size_of(self.vocabulary, sizes))
        return where(hot, ones((1, 1), tokens), zeros((1, 1), tokens))


@dataclass(frozen=True)
class Stack(Domain):
    """A list of objects of one domain, one for each layer (or head)."""

    length: Size
    inner: Domain

    def options(self) -> dict[str, tuple[str, ...]]:
        return self.inner.options()

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        length = size_of(self.length, sizes)
        return {
            name: Part((length, *part.shape), part.kind, part.low, part.high)
            for name, part in self.inner.parts(sizes, options).items()
        }

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        depth = {name: len(part.shape) for name, part in self.parts(sizes, options).items()}
        return [
            self.inner.build({name: np.take(raw[name], k, axis=-depth[name]) for name in raw}, options, sizes)
            for k in range(size_of(self.length, sizes))
        ]

    def wider(self) -> Domain | None:
        inner = self.inner.wider()
        return None if inner is None else Stack(self.length, inner)


@dataclass(frozen=True)
class AttentionOnly(Domain):
    """An attention-only model with any weights: layers, heads of each, stream width, head width, vocabulary.

    `base` is the rotary base (None: no positions; a head width that is not even raises ShapeError otherwise).
    `biased=False` leaves the query and key biases at zero.
    """

    layers: Size
    heads: Size
    width: Size
    head_width: Size
    vocabulary: Size
    base: int | None = 10_000
    biased: bool = True

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        layers, heads, d, h, symbols = (
            size_of(size, sizes) for size in (self.layers, self.heads, self.width, self.head_width, self.vocabulary)
        )
        tables = {"embedding": (symbols, d), "unembedding": (d, symbols)}
        maps = {"W_Q": (d, h), "W_K": (d, h), "W_V": (d, h), "W_O": (h, d)}
        biases = {"b_Q": (1, h), "b_K": (1, h)} if self.biased else {}
        of_heads = {name: Part((layers, heads, *shape)) for name, shape in (maps | biases).items()}
        return {name: Part(shape) for name, shape in tables.items()} | of_heads

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        no_bias = 0 * raw["W_Q"][..., :1, :]
        return AttentionOnlyModel(**{"b_Q": no_bias, "b_K": no_bias, **raw}, base=self.base)


@dataclass(frozen=True)
class Heads(Domain):
    """Attention heads on a stream of the given width: a list of `Head` with any W_Q, W_K, W_V, W_O and no biases."""

    count: Size
    width: Size
    head_width: Size
    value_width: Size | None = None

    def _maps(self) -> dict[str, Stack]:
        value_width = self.head_width if self.value_width is None else self.value_width
        inward, values = Matrix(self.width, self.head_width), Matrix(self.width, value_width)
        shapes = {"W_Q": inward, "W_K": inward, "W_V": values, "W_O": Matrix(value_width, self.width)}
        return {name: Stack(self.count, matrix) for name, matrix in shapes.items()}

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {name: part for name, stack in self._maps().items() for part in stack.parts(sizes, options).values()}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        maps = [stack.build({"": raw[name]}, options, sizes) for name, stack in self._maps().items()]
        return [Head(*of_one) for of_one in zip(*maps, strict=True)]


@dataclass(frozen=True)
class ReluLayer(Domain):
    """The weights of a ReLU layer from one width to another (the same by default), as an `MLP`."""

    width: Size
    hidden: Size
    out: Size | None = None

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d, w = size_of(self.width, sizes), size_of(self.hidden, sizes)
        e = d if self.out is None else size_of(self.out, sizes)
        return {
            name: Part(shape) for name, shape in {"W_1": (d, w), "b_1": (1, w), "W_2": (w, e), "b_2": (1, e)}.items()
        }

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return MLP(**raw)
