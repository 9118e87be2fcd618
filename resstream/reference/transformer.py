"""Transformers as they are trained: biases, gains, either norm, gated MLPs, shared keys, positions of every kind.

One model serves the claims (small, in balls), real weights (float64) and their decompositions. Its parts are read by
`resstream.observe` from the files of GPT-2, GPT-NeoX, GPT-J, BLOOM, Llama, BERT and their relatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from resstream.arithmetic import Array, ones, sqrt, total
from resstream.errors import DomainError, ShapeError
from resstream.reference.activations import ACTIVATIONS
from resstream.reference.attention import causal_mask, softmax
from resstream.reference.checks import (
    keep,
    require_batch,
    require_choice,
    require_epsilon,
    require_flag,
    require_instance,
    require_matrix,
    require_rows,
    require_sequence,
    require_shape,
    require_tokens,
    require_whole,
    require_width,
)
from resstream.reference.normalisation import Epsilon, centre, layer_norm, layer_norm_scale, rms_norm, rms_norm_scale
from resstream.reference.positions import RotaryPositions, alibi_bias

PRE, POST, PARALLEL = "pre", "post", "parallel"
"""Where the norms of a block are: before its sublayers, after each skip, or before two sublayers that add up."""

LAYER, RMS = "layer", "rms"


@dataclass(frozen=True, eq=False)
class NormLayer:
    """LayerNorm or RMSNorm with its parameters: kind "layer" or "rms", gain and bias (..., 1, d) or None, epsilon."""

    kind: str = LAYER
    gain: Array | None = None
    bias: Array | None = None
    epsilon: Epsilon = 0

    def __post_init__(self) -> None:
        require_choice("kind", self.kind, (LAYER, RMS))
        given = {name: getattr(self, name) for name in ("gain", "bias") if getattr(self, name) is not None}
        checked = {name: require_matrix(name, x) for name, x in given.items()}
        for name, x in checked.items():
            require_shape(name, x, (1, next(iter(checked.values())).shape[-1]))
        require_batch(**checked)
        like = next(iter(checked.values()), self.epsilon if isinstance(self.epsilon, np.ndarray) else np.ones((1, 1)))
        require_epsilon("epsilon", self.epsilon, like)
        keep(self, checked)

    def __call__(self, x: Array) -> Array:
        """The rows normalised: (..., n, d) -> (..., n, d)."""
        normalise = layer_norm if self.kind == LAYER else rms_norm
        return normalise(x, self.gain, self.bias, self.epsilon)

    def frozen(self, x: Array) -> Callable[[Array], Array]:
        """The norm as the linear map that it is once its scales are those of x: parts (..., n, d) -> (..., n, d).

        It leaves out the bias: norm(x) is the sum over the parts of x of what this gives, plus the bias.
        """
        scale = layer_norm_scale("x", x, self.epsilon) if self.kind == LAYER else rms_norm_scale(x, self.epsilon)

        def apply(part: Array) -> Array:
            part = (centre(part) if self.kind == LAYER else part) / scale
            return part if self.gain is None else part * self.gain

        return apply


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """The heads of one layer: W_Q (..., H, d, h), W_K (..., G, d, h), W_V (..., G, d, v), W_O (..., H, v, d).

    G key heads serve H query heads, H/G neighbours each (grouped-query attention; G = H is the common case). Biases, or
    None: b_Q (..., H, 1, h), b_K (..., G, 1, h), b_V (..., G, 1, v), b_O (..., 1, d). Scores are divided by
    sqrt h. Source: Definition 1 of "The Transformer Block and the Residual Stream"; Ainslie et al., GQA (2023).
    """

    W_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    b_Q: Array | None = None
    b_K: Array | None = None
    b_V: Array | None = None
    b_O: Array | None = None

    def __post_init__(self) -> None:
        checked = {name: require_matrix(name, getattr(self, name)) for name in ("W_Q", "W_K", "W_V", "W_O")}
        for name, W in checked.items():
            if W.ndim < 3:
                raise ShapeError(f"{name}: expected the shape (..., heads, rows, columns), got {W.shape}")
        heads, d, h = checked["W_Q"].shape[-3:]
        groups, v = checked["W_K"].shape[-3], checked["W_V"].shape[-1]
        if heads % groups:
            raise ShapeError(f"W_K: expected a number of key heads that divides the {heads} heads of W_Q, got {groups}")
        for name, shape in {
            "W_K": (groups, d, h), "W_V": (groups, d, v), "W_O": (heads, v, d),
            "b_Q": (heads, 1, h), "b_K": (groups, 1, h), "b_V": (groups, 1, v), "b_O": (1, d),
        }.items():  # fmt: skip
            if getattr(self, name) is not None:
                checked[name] = require_shape(name, getattr(self, name), shape)
        require_batch(**{name: x if name == "b_O" else x[..., 0, :, :] for name, x in checked.items()})
        keep(self, checked)

    @property
    def heads(self) -> int:
        """Number of heads H."""
        return int(self.W_Q.shape[-3])

    @property
    def values_map(self) -> Array:
        """The value map of every head, shared ones repeated: (..., H, d, v)."""
        return self.for_heads(self.W_V)

    @property
    def keys_map(self) -> Array:
        """The key map of every head, shared ones repeated: (..., H, d, h)."""
        return self.for_heads(self.W_K)

    def for_heads(self, shared: Array) -> Array:
        """What key heads have (..., G, n, k), for each head that reads it: (..., H, n, k)."""
        return np.repeat(shared, self.heads // shared.shape[-3], axis=-3)

    @property
    def constant_write(self) -> Array | None:
        """What the biases of values and output write at every position, (..., 1, d), as every row sums to one."""
        written = self.b_O
        if self.b_V is not None:
            moved = total(self.for_heads(self.b_V) @ self.W_O, -3)[..., 0, :, :]
            written = moved if written is None else moved + written
        return written


@dataclass(frozen=True, eq=False)
class FeedForward:
    """The MLP of one layer: activation(x W_in + b_in) W_out + b_out, or gated.

    Shapes: W_in, W_gate (..., d, w), W_out (..., w, d), b_in, b_gate (..., 1, w), b_out (..., 1, d). With W_gate it is
    (activation(x W_gate + b_gate) * (x W_in + b_in)) W_out + b_out. activation: a name in `ACTIVATIONS`.
    Source: Definition 1 of "The Transformer Block and the Residual Stream"; Shazeer, GLU Variants (2020).
    """

    W_in: Array
    W_out: Array
    activation: str = "gelu"
    b_in: Array | None = None
    b_out: Array | None = None
    W_gate: Array | None = None
    b_gate: Array | None = None

    def __post_init__(self) -> None:
        require_choice("activation", self.activation, ACTIVATIONS)
        checked = {"W_in": require_matrix("W_in", self.W_in)}
        d, w = checked["W_in"].shape[-2:]
        checked["W_out"] = require_rows("W_out", self.W_out, w, of="W_in has columns")
        shapes = {"W_gate": (d, w), "b_in": (1, w), "b_gate": (1, w), "b_out": (1, checked["W_out"].shape[-1])}
        for name, shape in shapes.items():
            if getattr(self, name) is not None:
                checked[name] = require_shape(name, getattr(self, name), shape)
        require_batch(**checked)
        keep(self, checked)

    def hidden(self, x: Array) -> Array:
        """The activations, which W_out takes to the stream: (..., n, d) -> (..., n, w)."""
        activate = ACTIVATIONS[self.activation]
        inner = _affine(x, self.W_in, self.b_in)
        return activate(inner) if self.W_gate is None else activate(_affine(x, self.W_gate, self.b_gate)) * inner


@dataclass(frozen=True, eq=False)
class TransformerBlock:
    """One block: attention, MLP, a norm for each, and where the norms are ("pre", "post" or "parallel").

    An attention-only block has no MLP, and a block without norms none of either.

    pre: x + attention(norm x), then x + mlp(norm x). post: norm(x + attention(x)), then norm(x + mlp(x)). parallel:
    x + attention(norm x) + mlp(other norm x). Source: Definition 1 of "The Transformer Block and the Residual Stream";
    the parallel form is that of GPT-J and GPT-NeoX.
    """

    attention: AttentionLayer
    mlp: FeedForward | None = None
    attention_norm: NormLayer | None = None
    mlp_norm: NormLayer | None = None
    layout: str = PRE

    def __post_init__(self) -> None:
        require_choice("layout", self.layout, (PRE, POST, PARALLEL))
        require_instance("attention", self.attention, AttentionLayer)
        if self.mlp is not None:
            require_instance("mlp", self.mlp, FeedForward)
        for name in ("attention_norm", "mlp_norm"):
            if getattr(self, name) is not None:
                require_instance(name, getattr(self, name), NormLayer)


@dataclass(frozen=True, eq=False)
class PredictionHead:
    """What BERT puts between the last state and the unembedding: norm(activation(x W + b))."""

    W: Array
    b: Array
    norm: NormLayer
    activation: str = "gelu"

    def __post_init__(self) -> None:
        W = require_matrix("W", self.W)
        b = require_shape("b", self.b, (1, W.shape[-1]))
        require_batch(W=W, b=b)
        keep(self, {"W": W, "b": b})
        require_instance("norm", self.norm, NormLayer)
        require_choice("activation", self.activation, ACTIVATIONS)

    def __call__(self, x: Array) -> Array:
        """(..., n, d) -> (..., n, d)."""
        return self.norm(ACTIVATIONS[self.activation](_affine(x, self.W, self.b)))


@dataclass(frozen=True)
class BlockTrace:
    """What one block computed on a stream (..., n, d)."""

    stream: Array
    """Before the block."""
    attention_input: Array
    """What the heads read."""
    queries: Array
    """Biased and rotated: (..., H, n, h)."""
    keys: Array
    """Biased, rotated, and repeated for the heads that share them: (..., H, n, h)."""
    scores: Array
    """Scaled and with ALiBi, before the mask: (..., H, n, n)."""
    pattern: Array
    """Attention weights, row-stochastic: (..., H, n, n)."""
    values: Array
    """attention_input @ W_V, without bias, for each head: (..., H, n, v)."""
    attention_write: Array
    middle: Array
    """After attention's skip and, in post-LN, its norm. In a parallel block the stream itself."""
    hidden: Array | None
    """The MLP's activations, (..., n, w); None without an MLP, as its write."""
    mlp_write: Array | None

    def head_writes(self, layer: AttentionLayer) -> Array:
        """What each head adds to the stream, biases aside: (..., H, n, d)."""
        return (self.pattern @ self.values) @ layer.W_O


@dataclass(frozen=True)
class TransformerTrace:
    """One forward pass: the parts of the embedding, the blocks, the last state and the logits."""

    embedded: dict[str, Array]
    """What adds up to the first state (before the embedding's norm, where there is one), by name."""
    blocks: list[BlockTrace]
    final: Array
    """The stream after the last block: (..., n, d)."""
    logits: Array | None
    """(..., n, V), or None for a model without an unembedding."""

    @property
    def states(self) -> list[Array]:
        """The stream before each block and after the last: L + 1 arrays (..., n, d)."""
        return [*(block.stream for block in self.blocks), self.final]


@dataclass(frozen=True, eq=False)
class Transformer:
    """A whole model: embedding (..., V, d), blocks, final norm, unembedding (..., d, V) with its bias (..., 1, V).

    Any of the rest may be missing: learned positions (..., P, d), a row that is added everywhere (BERT's segment 0), a
    norm of the embedding, rotary positions, ALiBi slopes (H, 1, 1), a prediction head. causal: whether a position sees
    only what comes before it. Without an unembedding the model ends at its last state. Tied embeddings are
    `unembedding=embedding.mT`. Source: Definition 1 of "The Transformer Block and the Residual Stream", generalised.
    """

    embedding: Array
    blocks: Sequence[TransformerBlock]
    final_norm: NormLayer | None = None
    unembedding: Array | None = None
    output_bias: Array | None = None
    position_embedding: Array | None = None
    segment: Array | None = None
    embedding_norm: NormLayer | None = None
    rotary: RotaryPositions | None = None
    alibi: Array | None = None
    prediction_head: PredictionHead | None = None
    causal: bool = True
    context: int | None = None
    """How many tokens the model may be given at once, where its positions do not say it."""

    def __post_init__(self) -> None:
        checked = {"embedding": require_matrix("embedding", self.embedding)}
        d = checked["embedding"].shape[-1]
        if self.unembedding is not None:
            checked["unembedding"] = require_rows("unembedding", self.unembedding, d, of="embedding has columns")
        if self.output_bias is not None:
            unembedding = checked.get("unembedding")
            if unembedding is None:
                raise ShapeError("output_bias: expected an unembedding beside it")
            checked["output_bias"] = require_shape("output_bias", self.output_bias, (1, unembedding.shape[-1]))
        for name in ("position_embedding", "segment"):
            if getattr(self, name) is not None:
                checked[name] = require_width(name, getattr(self, name), d, of="embedding has")
        if self.alibi is not None:
            checked["alibi"] = require_matrix("alibi", self.alibi)
        require_batch(**{name: x for name, x in checked.items() if name != "alibi"})
        keep(self, checked)
        for name, kind in {
            "final_norm": NormLayer, "embedding_norm": NormLayer, "rotary": RotaryPositions,
            "prediction_head": PredictionHead,
        }.items():  # fmt: skip
            if getattr(self, name) is not None:
                require_instance(name, getattr(self, name), kind)
        require_flag("causal", self.causal)
        if self.context is not None:
            require_whole("context", self.context, 1, 1 << 53)
        for index, block in enumerate(require_sequence("blocks", self.blocks, "blocks")):
            require_instance(f"blocks[{index}]", block, TransformerBlock)
            require_rows(f"blocks[{index}].W_Q", block.attention.W_Q, d, of="embedding has columns")
            if block.mlp is not None:
                require_rows(f"blocks[{index}].W_in", block.mlp.W_in, d, of="embedding has columns")

    def embed(self, tokens: Array) -> dict[str, Array]:
        """The parts of the first state: integers (n,) in 0..V-1 -> "tokens" and, if there are any, "positions" and
        "segment", each (n, d). Other tokens, and more of them than there are positions, raise DomainError.
        """
        tokens = require_tokens(tokens, self.embedding.shape[-2])
        if tokens.ndim != 1:
            raise ShapeError(f"tokens: expected integers (n,), got shape {tokens.shape}")
        return self.placed(self.embedding[..., tokens, :])

    def placed(self, rows: Array) -> dict[str, Array]:
        """The parts of the first state, given the tokens' own rows (..., n, d)."""
        n = rows.shape[-2]
        most = self.context if self.position_embedding is None else self.position_embedding.shape[-2]
        if most is not None and n > most:
            raise DomainError(f"tokens: expected at most {most}, as far as the model's positions reach, got {n}")
        parts = {"tokens": rows}
        if self.position_embedding is not None:
            parts["positions"] = self.position_embedding[..., :n, :]
        if self.segment is not None:
            parts["segment"] = self.segment
        return parts

    def forward(self, tokens: Array) -> TransformerTrace:
        """The model on tokens (n,): every state, pattern and write, and the logits."""
        return self.run(self.embed(tokens))

    def run(self, embedded: dict[str, Array]) -> TransformerTrace:
        """The model on the parts of a first state, as `embed` gives them."""
        x = sum_of(embedded)
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        traces = []
        for block in self.blocks:
            trace, x = self._block(block, x)
            traces.append(trace)
        return TransformerTrace(embedded, traces, x, self.read(x))

    def read(self, x: Array) -> Array | None:
        """A state as logits, through the final norm: (..., n, d) -> (..., n, V); None without an unembedding."""
        if self.unembedding is None:
            return None
        if self.final_norm is not None:
            x = self.final_norm(x)
        if self.prediction_head is not None:
            x = self.prediction_head(x)
        return _affine(x, self.unembedding, self.output_bias)

    def mask(self, n: int) -> Array:
        """Booleans (n, n), True where a query (a row) may look."""
        return causal_mask(n) if self.causal else np.ones((n, n), dtype=bool)

    def _block(self, block: TransformerBlock, x: Array) -> tuple[BlockTrace, Array]:
        post = block.layout == POST
        read = x if post else _normed(block.attention_norm, x)
        seen = self._attend(block.attention, read)
        attended = seen["attention_write"]
        middle = x if block.layout == PARALLEL else x + attended
        if post:
            middle = _normed(block.attention_norm, middle)
        after = middle + attended if block.layout == PARALLEL else middle
        hidden = written = None
        if block.mlp is not None:
            hidden = block.mlp.hidden(middle if post else _normed(block.mlp_norm, middle))
            written = _affine(hidden, block.mlp.W_out, block.mlp.b_out)
            after = after + written
        if post:
            after = _normed(block.mlp_norm, after)
        return BlockTrace(x, read, **seen, middle=middle, hidden=hidden, mlp_write=written), after

    def _attend(self, layer: AttentionLayer, x: Array) -> dict[str, Array]:
        n, spread = x.shape[-2], x[..., None, :, :]
        queries, keys = _affine(spread, layer.W_Q, layer.b_Q), _affine(spread, layer.W_K, layer.b_K)
        if self.rotary is not None:
            rotation = self.rotary.rotation(n, like=x)
            queries, keys = self.rotary.turn(queries, rotation), self.rotary.turn(keys, rotation)
        h = layer.W_Q.shape[-1]
        keys = layer.for_heads(keys)
        scores = queries @ keys.mT / sqrt(h * ones((1, 1), like=x))
        if self.alibi is not None:
            scores = scores + alibi_bias(self.alibi, n)
        pattern = softmax(scores, self.mask(n))
        values = layer.for_heads(spread @ layer.W_V)
        attended = total((pattern @ values) @ layer.W_O, -3)[..., 0, :, :]
        if layer.constant_write is not None:
            attended = attended + layer.constant_write
        return {
            "queries": queries,
            "keys": keys,
            "scores": scores,
            "pattern": pattern,
            "values": values,
            "attention_write": attended,
        }


def sum_of(parts: Mapping[str, Array]) -> Array:
    """The parts added up, broadcast against each other; no parts raise ShapeError."""
    if not isinstance(parts, Mapping) or not parts:
        raise ShapeError("parts: expected arrays by name, at least one")
    arrays = {f"parts[{name!r}]": require_matrix(f"parts[{name!r}]", part) for name, part in parts.items()}
    require_batch(**arrays)
    first, *rest = arrays.values()
    if any(part.shape[-1] != first.shape[-1] or part.shape[-2] not in (1, first.shape[-2]) for part in rest):
        shapes = ", ".join(f"{name} {part.shape}" for name, part in arrays.items())
        raise ShapeError(f"parts: expected one width, and one number of rows: {shapes}")
    for part in rest:
        first = first + part
    return first


def _normed(norm: NormLayer | None, x: Array) -> Array:
    return x if norm is None else norm(x)


def _affine(x: Array, W: Array, b: Array | None) -> Array:
    return x @ W if b is None else x @ W + b
