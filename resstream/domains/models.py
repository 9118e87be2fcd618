"""Tokens, heads, layers and models with any weights."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resstream.arithmetic import ones, total, where, zeros
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import COUNT, Domain, Options, Part, Parts, Size, Sizes, entries, is_all, size_of
from resstream.domains.combined import Stack
from resstream.domains.matrices import Matrix
from resstream.domains.pieces import Piece, constants, fractions
from resstream.errors import DomainError
from resstream.reference.attention import Head
from resstream.reference.attention_only import AttentionOnlyModel
from resstream.reference.mlp import MLP


@dataclass(frozen=True)
class Tokens(Domain):
    """Sequences of tokens as one-hot rows (..., length, vocabulary), so that `tokens @ E` is the embedding.

    >>> Tokens(2, 3).build({"": np.array([[2.0], [0.0]])}, {}, {}).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    length: Size
    vocabulary: Size

    def shape(self) -> tuple[Size, Size]:
        return self.length, self.vocabulary

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((size_of(self.length, sizes), 1), "whole", 0, size_of(self.vocabulary, sizes) - 1)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        tokens = raw[""]
        hot = tokens == np.arange(size_of(self.vocabulary, sizes))
        return where(hot, ones((1, 1), tokens), zeros((1, 1), tokens))

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        length, symbols = size_of(self.length, sizes), size_of(self.vocabulary, sizes)
        chosen = np.array(unknowns.among(itertools.product(range(symbols), repeat=length)), dtype=int)[:, None]
        return Piece(constants(chosen == np.arange(symbols), unknowns), lambda _: {"": fractions(chosen)})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        x = entries(value, (size_of(self.length, sizes), size_of(self.vocabulary, sizes)))
        return x is not None and is_all((x == 0) | (x == 1)) and is_all(total(x) == 1)


@dataclass(frozen=True)
class AttentionOnly(Domain):
    """Attention-only models with any weights: layers, heads of each, stream width, head width, vocabulary.

    `base` is the rotary base (None: no positions; otherwise the head width must be even).
    `biased=False` leaves the query and key biases at zero.

    >>> model = AttentionOnly(1, 2, 3, 2, 4)
    >>> {name: part.shape for name, part in model.parts({}, {}).items()}["W_Q"]
    (1, 2, 3, 2)
    """

    layers: Size
    heads: Size
    width: Size
    head_width: Size
    vocabulary: Size
    base: int | None = 10_000
    biased: bool = True

    def __post_init__(self) -> None:
        if self.base is not None and (isinstance(self.base, bool) or not isinstance(self.base, int) or self.base < 1):
            raise DomainError(f"AttentionOnly: base: expected a whole number of at least 1 or None, got {self.base!r}")
        super().__post_init__()

    def why_empty(self, sizes: Sizes) -> str:
        width = size_of(self.head_width, sizes)
        return f"rotary positions need an even head width, not {width}" if self.base is not None and width % 2 else ""

    def _shapes(self, sizes: Sizes) -> dict[str, tuple[int, ...]]:
        layers, heads, d, h, symbols = (
            size_of(size, sizes) for size in (self.layers, self.heads, self.width, self.head_width, self.vocabulary)
        )
        maps = {"W_Q": (d, h), "W_K": (d, h), "W_V": (d, h), "W_O": (h, d), "b_Q": (1, h), "b_K": (1, h)}
        of_heads = {name: (layers, heads, *shape) for name, shape in maps.items()}
        return {"embedding": (symbols, d), "unembedding": (d, symbols), **of_heads}

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        shapes = self._shapes(sizes)
        return {name: Part(shape) for name, shape in shapes.items() if self.biased or not name.startswith("b_")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        no_bias = 0 * raw["W_Q"][..., :1, :]
        return AttentionOnlyModel(**{"b_Q": no_bias, "b_K": no_bias, **raw}, base=self.base)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, AttentionOnlyModel) or value.base != self.base:
            return False
        arrays = {name: entries(getattr(value, name), shape) for name, shape in self._shapes(sizes).items()}
        if any(array is None for array in arrays.values()):
            return False
        return self.biased or all(is_all(arrays[name] == 0) for name in ("b_Q", "b_K"))


@dataclass(frozen=True)
class Heads(Domain):
    """Attention heads on a stream of the given width: lists of `Head` with any W_Q, W_K, W_V, W_O and no biases.

    >>> heads = Heads(2, 3, 1)
    >>> raw = {name: np.ones(part.shape) for name, part in heads.parts({}, {}).items()}
    >>> [head.W_Q.shape for head in heads.build(raw, {}, {})]
    [(3, 1), (3, 1)]
    """

    count: Size = field(metadata=COUNT)
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

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, list) or not all(isinstance(head, Head) for head in value):
            return False
        maps = {name: [getattr(head, name) for head in value] for name in self._maps()}
        unbiased = all(head.b_Q is None and head.b_K is None for head in value)
        return unbiased and all(stack.contains(maps[name], sizes) for name, stack in self._maps().items())


@dataclass(frozen=True)
class SharedHeads(Heads):
    """Attention heads of which each of `groups` groups shares its keys and values: lists of `Head` with no biases.

    Grouped-query attention; multi-query attention with one group. Heads h and h' share W_K and W_V where
    h * groups // count is the same. Empty where the number of heads is no multiple of the number of groups.

    >>> heads = SharedHeads(4, 3, 1, groups=2)
    >>> raw = {name: np.ones(part.shape) for name, part in heads.parts({}, {}).items()}
    >>> built = heads.build(raw, {}, {})
    >>> len(built), built[0].W_K is built[1].W_K
    (4, True)
    """

    groups: Size = 1

    def _maps(self) -> dict[str, Stack]:
        maps = super()._maps()
        return {name: Stack(self.groups, s.inner) if name in ("W_K", "W_V") else s for name, s in maps.items()}

    def why_empty(self, sizes: Sizes) -> str:
        count, groups = size_of(self.count, sizes), size_of(self.groups, sizes)
        return f"{count} heads do not make {groups} groups of equal size" if count % groups or count < groups else ""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        maps = {name: stack.build({"": raw[name]}, options, sizes) for name, stack in self._maps().items()}
        count, groups = size_of(self.count, sizes), size_of(self.groups, sizes)
        shared = [h * groups // count for h in range(count)]
        of_heads = (maps["W_Q"], [maps["W_K"][g] for g in shared], [maps["W_V"][g] for g in shared], maps["W_O"])
        return [Head(*of_one) for of_one in zip(*of_heads, strict=True)]

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if not Heads(self.count, self.width, self.head_width, self.value_width).contains(value, sizes):
            return False
        size = len(value) // size_of(self.groups, sizes)
        leaders = [value[h - h % size] for h in range(len(value))]
        return all(
            is_all(getattr(head, name) == getattr(leader, name))
            for head, leader in zip(value, leaders, strict=True)
            for name in ("W_K", "W_V")
        )

    def wider(self) -> Domain | None:
        return Heads(self.count, self.width, self.head_width, self.value_width)


@dataclass(frozen=True)
class ReluLayer(Domain):
    """Weights of a ReLU layer from one width to another (the same by default), as an `MLP`.

    >>> layer = ReluLayer(2, 4)
    >>> raw = {name: np.ones(part.shape) for name, part in layer.parts({}, {}).items()}
    >>> layer.build(raw, {}, {}).W_1.shape
    (2, 4)
    """

    width: Size
    hidden: Size
    out: Size | None = None

    def _shapes(self, sizes: Sizes) -> dict[str, tuple[int, int]]:
        d, w = size_of(self.width, sizes), size_of(self.hidden, sizes)
        e = d if self.out is None else size_of(self.out, sizes)
        return {"W_1": (d, w), "b_1": (1, w), "W_2": (w, e), "b_2": (1, e)}

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {name: Part(shape) for name, shape in self._shapes(sizes).items()}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return MLP(**raw)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        return self.as_built(unknowns, sizes, options)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, MLP):
            return False
        return all(entries(getattr(value, name), shape) is not None for name, shape in self._shapes(sizes).items())
