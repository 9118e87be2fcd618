"""Tokens, heads, layers and models with any weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import ones, where, zeros
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of
from resstream.domains.matrices import Matrix
from resstream.domains.stacks import Stack
from resstream.reference.attention import Head
from resstream.reference.attention_only import AttentionOnlyModel
from resstream.reference.mlp import MLP


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
