"""The attention-only model: embedding, causal heads that read and write one stream, unembedding; no MLP, no LayerNorm.

One model serves everything: the claims (small, in balls, or with given patterns in rationals), training (float64,
batched over sequences) and the readings of what was trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from resstream.arithmetic import Array, ones, sqrt, total
from resstream.errors import DomainError, ShapeError
from resstream.reference.attention import causal_mask, softmax
from resstream.reference.checks import (
    in_range,
    keep,
    require_batch,
    require_causal,
    require_entries,
    require_like,
    require_matrix,
    require_rows,
    require_sequence,
    require_tokens,
    require_whole,
    require_width,
)
from resstream.reference.circuits import ov_circuit
from resstream.reference.rotary import MOST, Positions, Rotation, rotary_inverse, rotation

MOST_LAYERS, MOST_PATHS = 64, 1_000_000
"""Of a list of paths, which has (1 + heads)^layers of them."""

Head = tuple[int, int]
"""A head as (layer, index in its layer)."""

Path = tuple[Head, ...]
"""A chain of heads in layers that rise; the empty chain is the direct path."""

Reads = Mapping[int, Sequence[Head]]
"""For the layers named: read x_0 plus the writes of these earlier heads alone, instead of the whole stream."""


@dataclass(frozen=True)
class Trace:
    """What one forward pass computed. Layers are list indices; heads are the axis before the two trailing ones.

    >>> Trace(unembedding=np.eye(2), states=[np.zeros((1, 2)), np.array([[1.0, 2.0]])]).logits
    array([[1., 2.]])
    """

    unembedding: Array
    states: list[Array]
    """The stream before each layer and after the last: L + 1 arrays (..., n, d)."""
    patterns: list[Array] = field(default_factory=list)
    """Attention weights: L arrays (..., H, n, n)."""
    writes: list[Array] = field(default_factory=list)
    """What each head adds to the stream: L arrays (..., H, n, d)."""
    values: list[Array] = field(default_factory=list)
    """x_l @ W_V: L arrays (..., H, n, h)."""
    queries: list[Array] = field(default_factory=list)
    """Rotated queries over sqrt h, so that scores are queries @ keys.mT: L arrays, none when patterns were given."""
    keys: list[Array] = field(default_factory=list)
    """Rotated keys: L arrays (..., H, n, h), none when patterns were given."""

    @property
    @in_range
    def logits(self) -> Array:
        """The last state through the unembedding: (..., n, V)."""
        return self.states[-1] @ self.unembedding


class ScoreTerms(NamedTuple):
    """A later layer's scores (..., H, n, n) as a sum of four: who reads what earlier layers wrote.

    >>> terms = ScoreTerms(*np.ones((4, 1, 2, 2)))
    >>> sum(terms).tolist()
    [[[4.0, 4.0], [4.0, 4.0]]]
    """

    none: Array
    queries: Array
    keys: Array
    both: Array


@dataclass(frozen=True, eq=False)
class AttentionOnlyModel:
    """Embedding, unembedding and L layers of H causal heads with query and key biases and rotary positions.

    Shapes: embedding (..., V, d), unembedding (..., d, V); W_Q, W_K, W_V (..., L, H, d, h), W_O (..., L, H, h, d);
    b_Q, b_K (..., L, H, 1, h). Leading axes are a batch of models. `base` is the rotary base, None for no positions.
    Disagreeing shapes raise ShapeError. Source: Definition 4 of "The Transformer Block and the Residual Stream".

    >>> rng = np.random.default_rng(0)
    >>> shapes = [(5, 4), (4, 5), (1, 2, 4, 2), (1, 2, 4, 2), (1, 2, 4, 2), (1, 2, 2, 4), (1, 2, 1, 2), (1, 2, 1, 2)]
    >>> model = AttentionOnlyModel(*(rng.normal(size=shape) for shape in shapes))
    >>> model.forward(np.array([0, 3, 1])).logits.shape
    (3, 5)
    """

    embedding: Array
    unembedding: Array
    W_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    b_Q: Array
    b_K: Array
    base: int | None = 10_000

    def __post_init__(self) -> None:
        checked = {"embedding": require_matrix("embedding", self.embedding)}
        d = checked["embedding"].shape[-1]
        checked["unembedding"] = require_rows("unembedding", self.unembedding, d, of="embedding has columns")
        W_Q = require_entries("W_Q", self.W_Q, " (..., layers, heads, d, h)")
        if W_Q.ndim < 4:
            raise ShapeError(f"W_Q: expected the shape (..., layers, heads, d, h), got {W_Q.shape}")
        layers, heads, _, h = W_Q.shape[-4:]
        for name, rows, columns in (
            ("W_Q", d, h), ("W_K", d, h), ("W_V", d, h), ("W_O", h, d), ("b_Q", 1, h), ("b_K", 1, h)
        ):  # fmt: skip
            array = checked[name] = require_entries(name, getattr(self, name))
            if array.shape[-4:] != (layers, heads, rows, columns):
                expected = f"(..., {layers}, {heads}, {rows}, {columns})"
                raise ShapeError(
                    f"{name}: expected the shape {expected}, as embedding and W_Q have it, got {array.shape}"
                )
            if layers:
                require_matrix(name, array)
        self._require_one_batch(checked)
        keep(self, checked)
        if self.base is not None:
            require_whole("base", self.base, 1, MOST)
            if h % 2:
                raise ShapeError(f"W_Q: rotary positions need an even head width, got {h}")

    @staticmethod
    def _require_one_batch(arrays: Mapping[str, Array]) -> None:
        """Refuse leading axes that do not broadcast, and floats beside exact entries."""
        require_batch(**{name: x if "embed" in name else x[..., 0, 0, :, :] for name, x in arrays.items() if x.size})

    @property
    def layers(self) -> int:
        """Number of layers L."""
        return int(self.W_Q.shape[-4])

    @property
    def heads(self) -> int:
        """Number of heads H of every layer."""
        return int(self.W_Q.shape[-3])

    @property
    @in_range
    def ov_circuits(self) -> Array:
        """The OV circuit of every head: (..., L, H, d, d)."""
        return ov_circuit(self.W_V, self.W_O)

    # ---- the forward pass ---------------------------------------------------

    def embed(self, tokens: Array) -> Array:
        """Rows of the embedding: integers (..., n) in 0..V-1 -> x_0 (..., n, d); other tokens raise DomainError."""
        tokens = require_tokens(tokens, self.embedding.shape[-2])
        if self.embedding.ndim == 2:
            return self.embedding[tokens]
        try:
            batch = np.broadcast_shapes(self.embedding.shape[:-2], tokens.shape[:-1])
        except ValueError:
            shapes = f"embedding {self.embedding.shape}, tokens {tokens.shape}"
            raise ShapeError(f"the leading axes do not broadcast: {shapes}") from None
        rows = np.broadcast_to(tokens[..., None], (*batch, tokens.shape[-1], 1))
        return np.take_along_axis(np.broadcast_to(self.embedding, (*batch, *self.embedding.shape[-2:])), rows, axis=-2)

    @in_range
    def forward(self, tokens: Array) -> Trace:
        """The model on tokens (..., n): states, patterns, writes and logits."""
        return self.run(self.embed(tokens))

    @in_range
    def run(
        self,
        x0: Array,
        *,
        positions: Positions | None = None,
        patterns: Sequence[Array] | None = None,
        keys_read: Reads | None = None,
        queries_read: Reads | None = None,
    ) -> Trace:
        """The model on a stream x_0 (..., n, d), as it is or changed.

        patterns: use these attention weights, one (..., H, n, n) for each layer, in place of its own; they are causal
        and row-stochastic. keys_read and queries_read: cut runs, in which the keys (queries) of a layer read x_0 plus
        the writes of the heads named, while everything else reads the stream; `keys_read={1: []}` cuts layer 1's keys
        off from layer 0. Positions are 0..n-1 unless given. What would change nothing raises DomainError: a layer or
        head that is not there, a head named twice, and cuts or positions where the patterns are given.
        Source: Definition 4 and Induction heads.
        """
        x0 = self._stream("x0", x0)
        keys_read, queries_read = (
            self._reads(name, reads) for name, reads in (("keys_read", keys_read), ("queries_read", queries_read))
        )
        if patterns is not None:
            patterns = self._patterns(patterns, x0)
            for name, reads in (("keys_read", keys_read), ("queries_read", queries_read), ("positions", positions)):
                if reads:
                    raise DomainError(f"{name}: expected none beside patterns, which leave no scores to compute")
        turned = self.rotation(x0, positions) if patterns is None and self.layers else None
        trace = Trace(self.unembedding, [x0])
        for layer in range(self.layers):
            x = trace.states[-1]
            if patterns is None:
                q = self._queries(layer, _read(trace, layer, queries_read), turned)
                k = self._keys(layer, _read(trace, layer, keys_read), turned)
                trace.queries.append(q)
                trace.keys.append(k)
                trace.patterns.append(softmax(q @ k.mT, causal_mask(x.shape[-2])))
            else:
                trace.patterns.append(patterns[layer])
            trace.values.append(x[..., None, :, :] @ self.W_V[..., layer, :, :, :])
            trace.writes.append((trace.patterns[-1] @ trace.values[-1]) @ self.W_O[..., layer, :, :, :])
            trace.states.append(x + total(trace.writes[-1], -3)[..., 0, :, :])
        return trace

    # ---- arguments ----------------------------------------------------------

    def _stream(self, name: str, x: Array) -> Array:
        x = require_width(name, x, self.embedding.shape[-1], of="embedding has")
        require_batch(**{name: x, "embedding": self.embedding})
        return x

    def _layer(self, layer: int) -> int:
        return require_whole("layer", layer, 0, self.layers - 1)

    def _patterns(self, patterns: Sequence[Array], x0: Array) -> list[Array]:
        patterns = require_sequence("patterns", patterns, "arrays")
        if len(patterns) != self.layers:
            raise ShapeError(f"patterns: expected one array for each of {self.layers} layers, got {len(patterns)}")
        n = x0.shape[-2]
        for layer in range(self.layers):
            name = f"patterns[{layer}]"
            patterns[layer] = pattern = require_causal(name, patterns[layer])
            if pattern.shape[-3:] != (self.heads, n, n):
                raise ShapeError(f"{name}: expected the shape (..., {self.heads}, {n}, {n}), got {pattern.shape}")
            require_batch(x0=x0, **{name: pattern[..., 0, :, :]})
        return patterns

    def _reads(self, name: str, reads: Reads | None) -> Reads | None:
        """The heads that are read in place of the stream, each of which must be there and named once."""
        if reads is None:
            return None
        if not isinstance(reads, Mapping):
            raise DomainError(f"{name}: expected a mapping of layers to lists of heads, got {type(reads).__name__}")
        for layer, heads in reads.items():
            require_whole(f"{name}, a layer", layer, 0, self.layers - 1)
            named = require_sequence(f"{name}[{layer}]", heads, "heads (layer, index)")
            for head in named:
                if not (isinstance(head, (tuple, list)) and len(head) == 2):
                    raise DomainError(f"{name}[{layer}]: expected heads (layer, index), got {head!r}")
                if not all(isinstance(part, (int, np.integer)) and not isinstance(part, bool) for part in head):
                    raise DomainError(f"{name}[{layer}]: expected heads (layer, index), got {head!r}")
                if not (0 <= head[0] < layer and 0 <= head[1] < self.heads):
                    raise DomainError(f"{name}: layer {layer} cannot read a head ({head[0]}, {head[1]})")
            if len({tuple(head) for head in named}) < len(named):
                raise DomainError(f"{name}[{layer}]: expected every head once, got {named}")
        return reads

    # ---- scores -------------------------------------------------------------

    @in_range
    def queries(self, layer: int, x: Array, positions: Positions | None = None) -> Array:
        """Queries of a layer's heads from a stream: (..., n, d) -> (..., H, n, h), biased, rotated, over sqrt h."""
        x = self._stream("x", x)
        return self._queries(self._layer(layer), x, self.rotation(x, positions))

    @in_range
    def keys(self, layer: int, x: Array, positions: Positions | None = None) -> Array:
        """Keys of a layer's heads from a stream: (..., n, d) -> (..., H, n, h), biased, rotated."""
        x = self._stream("x", x)
        return self._keys(self._layer(layer), x, self.rotation(x, positions))

    def rotation(self, x: Array, positions: Positions | None = None) -> Rotation | None:
        """The rotation of queries and keys at positions, 0..n-1 unless given; None for a model without positions."""
        x = require_matrix("x", x)
        if self.base is None:
            if positions is not None:
                raise DomainError("positions: expected none for a model without positions (base None)")
            return None
        return rotation(range(x.shape[-2]) if positions is None else positions, self.W_Q.shape[-1], self.base, like=x)

    def _queries(self, layer: int, x: Array, turned: Rotation | None, *, biased: bool = True) -> Array:
        W, b = self.W_Q[..., layer, :, :, :], self.b_Q[..., layer, :, :, :]
        return _project(x, W, b if biased else None, turned) / self.score_scale(x)

    def _keys(self, layer: int, x: Array, turned: Rotation | None, *, biased: bool = True) -> Array:
        W, b = self.W_K[..., layer, :, :, :], self.b_K[..., layer, :, :, :]
        return _project(x, W, b if biased else None, turned)

    def score_scale(self, like: Array) -> Array:
        """The root of the head width, by which scores are divided: (1, 1), in the number system of `like`."""
        return sqrt(self.W_Q.shape[-1] * ones((1, 1), require_like("like", like)))

    @in_range
    def scores(
        self, layer: int, queries_from: Array, keys_from: Array | None = None, positions: Positions | None = None
    ) -> Array:
        """Scores of a layer's heads, unmasked: (..., n, d) -> (..., H, n, n), query by key.

        Queries and keys may read two different streams (keys_from; the same one by default).
        """
        queries_from = self._stream("queries_from", queries_from)
        keys_from = queries_from if keys_from is None else self._stream("keys_from", keys_from)
        return self.queries(layer, queries_from, positions) @ self.keys(layer, keys_from, positions).mT

    @in_range
    def score_terms(self, layer: int, x0: Array, written: Array, positions: Positions | None = None) -> ScoreTerms:
        """The scores of a layer that reads x_0 + written, as the sum of four terms, each (..., H, n, n).

        Queries and keys are each split into the part from x_0, biases included, and the part from what earlier layers
        wrote: none (neither reads it), queries, keys, both. Source: the term-by-term view of composition in "A
        Mathematical Framework for Transformer Circuits".
        """
        layer, x0, written = self._layer(layer), self._stream("x0", x0), self._stream("written", written)
        require_rows("written", written, x0.shape[-2], of="x0 has")
        require_batch(x0=x0, written=written)
        turned = self.rotation(x0, positions)
        q, k = self._queries(layer, x0, turned), self._keys(layer, x0, turned).mT
        dq = self._queries(layer, written, turned, biased=False)
        dk = self._keys(layer, written, turned, biased=False).mT
        return ScoreTerms(none=q @ k, queries=dq @ k, keys=q @ dk, both=dq @ dk)

    @in_range
    def content_free_kernel(self, offsets: Sequence[int]) -> Array:
        """b_q R(-offset) b_k / sqrt h of every head, in nats, for keys `offset` back: (..., L, H, 1, offsets).

        The part of a score that comes from the biases alone depends on the offset alone. Source: Induction heads.
        """
        offsets = require_sequence("offsets", offsets, "whole numbers", least=1)
        b_K = np.broadcast_to(self.b_K, (*self.b_K.shape[:-2], len(offsets), self.b_K.shape[-1]))
        keys = b_K if self.base is None else rotary_inverse(b_K, offsets, self.base)
        return self.b_Q @ keys.mT / self.score_scale(self.b_Q)

    # ---- paths --------------------------------------------------------------

    @in_range
    def path_expansion(self, x0: Array, patterns: Sequence[Array]) -> dict[Path, Array]:
        """The logits as a sum over paths, each (..., n, V), for attention patterns held fixed.

        The path (l_1, h_1), ..., (l_m, h_m) contributes A_m ... A_1 x_0 W_OV_1 ... W_OV_m U; the empty one x_0 U.
        Source: Theorem 3 of "The Transformer Block and the Residual Stream".
        """
        x0 = self._stream("x0", x0)
        patterns = self._patterns(patterns, x0)
        streams: dict[Path, Array] = {(): x0}
        for layer in range(self.layers):
            for path, x in list(streams.items()):
                for head in range(self.heads):
                    smoothed = patterns[layer][..., head, :, :] @ x
                    moved = smoothed @ self.W_V[..., layer, head, :, :] @ self.W_O[..., layer, head, :, :]
                    streams[(*path, (layer, head))] = moved
        return {path: streams[path] @ self.unembedding for path in paths(self.layers, self.heads)}


def paths(layers: int, heads: int) -> list[Path]:
    """Every path through L layers of H heads, the direct one first, in lexical order of the choices: (1 + H)^L of them.

    >>> paths(1, 2)
    [(), ((0, 0),), ((0, 1),)]
    """
    layers, heads = require_whole("layers", layers, 0, MOST_LAYERS), require_whole("heads", heads, 0, MOST_PATHS)
    if (1 + heads) ** layers > MOST_PATHS:
        raise DomainError(f"layers, heads: expected at most {MOST_PATHS:,} paths, got (1 + {heads})^{layers}")
    choices = product([None, *range(heads)], repeat=layers)
    return [tuple((layer, head) for layer, head in enumerate(choice) if head is not None) for choice in choices]


def _read(trace: Trace, layer: int, reads: Reads | None) -> Array:
    """What a layer's keys or queries read: the stream, or x_0 plus the writes of the heads named."""
    if reads is None or layer not in reads:
        return trace.states[layer]
    x = trace.states[0]
    for earlier, head in reads[layer]:
        x = x + trace.writes[earlier][..., head, :, :]
    return x


def _project(x: Array, W: Array, b: Array | None, turned: Rotation | None) -> Array:
    """Rows through every head's map, plus its bias, rotated."""
    projected = x[..., None, :, :] @ W
    if b is not None:
        projected = projected + b
    return projected if turned is None else turned.turn(projected)
