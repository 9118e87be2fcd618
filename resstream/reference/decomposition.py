"""Decompositions of what a transformer says, each of which adds up: parts plus one constant are the whole.

The scales of norms and the attention patterns are held at what they were (frozen), which makes everything between the
writes and the logits linear. The constant takes all biases; what is left depends on the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from resstream.arithmetic import Array, absolute, largest_entry, maximum, total, zeros
from resstream.errors import DomainError, ShapeError
from resstream.reference.checks import require_choice, require_instance, require_whole
from resstream.reference.transformer import (
    POST,
    AttentionLayer,
    BlockTrace,
    NormLayer,
    Transformer,
    TransformerBlock,
    TransformerTrace,
    sum_of,
)

Parts = dict[Hashable, Array]

HEAD, LAYER, LENGTH = "head", "layer", "length"
"""How paths are told apart: by their heads, by their layers alone, or by how many layers of attention they take."""

MOST_PATHS = 4096
MOST_ENTRIES = 50_000_000
"""Of all terms together in `six_sums`: 400 MB of floats."""


@dataclass(frozen=True)
class Sum:
    """A decomposition: parts (..., n, V) by name, the constant that belongs to none, and what they add up to."""

    name: str
    parts: Mapping[Hashable, Array]
    constant: Array
    whole: Array

    @property
    def total(self) -> Array:
        """The parts and the constant, added up."""
        result = self.constant
        for part in self.parts.values():
            result = result + part
        return result

    @property
    def gap(self) -> Array:
        """The largest difference between the sum and the whole: (..., 1, 1)."""
        return largest_entry(absolute(self.total - self.whole))

    @property
    def scale(self) -> Array:
        """The largest entry of any term, which says what rounding may do to the sum: (..., 1, 1)."""
        largest = largest_entry(absolute(self.whole))
        for part in (self.constant, *self.parts.values()):
            largest = maximum(largest, largest_entry(absolute(part)))
        return largest


class _Frozen:
    """Parts of the stream and their constant, carried through a model whose norms are frozen."""

    def __init__(self, model: Transformer, embedded: Mapping[str, Array], key: Callable[[str], Hashable]) -> None:
        self.parts: Parts = {key(source): part for source, part in embedded.items()}
        first = sum_of(embedded)
        self.constant = zeros((1, first.shape[-1]), first)
        if model.embedding_norm is not None:
            self.normalise(model.embedding_norm, first)

    def normalise(self, norm: NormLayer, x: Array) -> None:
        """Pass everything through a norm with the scales of x."""
        linear = norm.frozen(x)
        self.parts = {name: linear(part + 0 * x) for name, part in self.parts.items()}
        self.constant = self.through(norm, x)

    def through(self, norm: NormLayer, x: Array) -> Array:
        """The constant through a norm with the scales of x, whose bias joins it."""
        constant = norm.frozen(x)(self.constant + 0 * x)
        return constant if norm.bias is None else constant + norm.bias

    def write(self, parts: Parts, constant: Array | None) -> None:
        """Add what a sublayer writes; parts of a name that is there already are added to it."""
        for name, part in parts.items():
            self.parts[name] = self.parts[name] + part if name in self.parts else part
        if constant is not None:
            self.constant = self.constant + constant


Attend = Callable[[int, TransformerBlock, BlockTrace, _Frozen], tuple[Parts, Array | None]]


def _carry(
    model: Transformer, trace: TransformerTrace, attend: Attend, key: Callable[[str], Hashable] = str
) -> _Frozen:
    """The frozen pass up to the last state: what `attend` says that attention writes, and every MLP as one part."""
    frozen = _Frozen(model, trace.embedded, key)
    for index, (block, seen) in enumerate(zip(model.blocks, trace.blocks, strict=True)):
        frozen.write(*attend(index, block, seen, frozen))
        if block.layout == POST and block.attention_norm is not None:
            frozen.normalise(block.attention_norm, seen.stream + seen.attention_write)
        if block.mlp is not None and seen.hidden is not None:
            frozen.write({key(f"mlp {index}"): seen.hidden @ block.mlp.W_out}, block.mlp.b_out)
        if block.layout == POST and block.mlp_norm is not None:
            frozen.normalise(block.mlp_norm, seen.middle if seen.mlp_write is None else seen.middle + seen.mlp_write)
    return frozen


def _read(model: Transformer, trace: TransformerTrace, frozen: _Frozen, name: str) -> Sum:
    """Through the final norm and the unembedding; the last state where what follows is not linear, or nothing does."""
    if model.unembedding is None or model.prediction_head is not None or trace.logits is None:
        return Sum(name, frozen.parts, frozen.constant, trace.final)
    if model.final_norm is not None:
        frozen.normalise(model.final_norm, trace.final)
    constant = frozen.constant @ model.unembedding
    if model.output_bias is not None:
        constant = constant + model.output_bias
    return Sum(name, {key: part @ model.unembedding for key, part in frozen.parts.items()}, constant, trace.logits)


def _whole_layers(index: int, block: TransformerBlock, seen: BlockTrace, _: _Frozen) -> tuple[Parts, Array | None]:
    write = total(seen.head_writes(block.attention), -3)[..., 0, :, :]
    return {f"attention {index}": write}, block.attention.constant_write


def _heads(index: int, block: TransformerBlock, seen: BlockTrace, _: _Frozen) -> tuple[Parts, Array | None]:
    writes = seen.head_writes(block.attention)
    parts: Parts = {f"head {index}.{head}": writes[..., head, :, :] for head in range(block.attention.heads)}
    return parts, block.attention.constant_write


def stream_sum(model: Transformer, trace: TransformerTrace) -> Sum:
    """The last state as the embedding's parts and every sublayer's write: each (..., n, d).

    Source: Theorem 2 (i) of "The Transformer Block and the Residual Stream"; in post-LN with the norms frozen.
    """
    _require(model, trace)
    frozen = _carry(model, trace, _whole_layers)
    return Sum("stream", frozen.parts, frozen.constant, trace.final)


def attribution_by_layer(model: Transformer, trace: TransformerTrace) -> Sum:
    """Direct logit attribution by sublayer: the embedding's parts, "attention 0", "mlp 0", ...: each (..., n, V).

    Without an unembedding, or with a prediction head after the last state, it is the last state (..., n, d) that is
    taken apart; so for every decomposition here but `lens_increments`. Source: Theorem 3 and its caveat of "The
    Transformer Block and the Residual Stream", with norms of both kinds and places.
    """
    _require(model, trace)
    return _read(model, trace, _carry(model, trace, _whole_layers), "attribution by layer")


def attribution_by_head(model: Transformer, trace: TransformerTrace) -> Sum:
    """Direct logit attribution by head and MLP: the embedding's parts, "head 0.0", ..., "mlp 0", ...: (..., n, V)."""
    _require(model, trace)
    return _read(model, trace, _carry(model, trace, _heads), "attribution by head")


def neuron_terms(model: Transformer, trace: TransformerTrace, layer: int, position: int = -1) -> Sum:
    """What an MLP writes at one position as its neurons' activations times their rows of W_out: (..., 1, d) each.

    Source: Proposition 1 (ii) of "The Transformer Block and the Residual Stream", for any activation, gated or not.
    """
    _require(model, trace)
    layer = require_whole("layer", layer, 0, len(model.blocks) - 1)
    mlp, seen = model.blocks[layer].mlp, trace.blocks[layer]
    if mlp is None or seen.hidden is None or seen.mlp_write is None:
        raise DomainError(f"layer: expected one with an MLP, got {layer}")
    n = seen.hidden.shape[-2]
    at = require_whole("position", position, -n, n - 1) % n
    hidden = seen.hidden[..., at : at + 1, :]
    parts: Parts = {
        f"neuron {layer}.{k}": hidden[..., k : k + 1] * mlp.W_out[..., k : k + 1, :] for k in range(hidden.shape[-1])
    }
    whole = seen.mlp_write[..., at : at + 1, :]
    return Sum(f"neurons of mlp {layer}", parts, zeros((1, 1), whole) if mlp.b_out is None else mlp.b_out, whole)


def logit_lens_increments(model: Transformer, trace: TransformerTrace) -> Sum:
    """The logit lens of the first state, and by how much each block moves it: each (..., n, V).

    The norm is recomputed at every state. No constant belongs to it, since every reading has the biases in it.
    Source: "The Transformer Block and the Residual Stream", Induction heads.
    """
    _require(model, trace)
    readings = [model.read(state) for state in trace.states]
    lens = [state if seen is None else seen for state, seen in zip(trace.states, readings, strict=True)]
    parts: Parts = {"embedding": lens[0]}
    parts |= {f"block {index}": lens[index + 1] - lens[index] for index in range(len(trace.blocks))}
    return Sum("logit lens", parts, zeros((1, 1), lens[0]), trace.final if trace.logits is None else trace.logits)


def path_expansion(model: Transformer, trace: TransformerTrace, by: str = HEAD) -> Sum:
    """Every path from a source to the end with patterns and norms frozen: (..., n, V) for each (source, path).

    Sources are the embedding's parts and each MLP's write; a path is a tuple of heads (layer, head) by="head", of
    layers by="layer", or its length by="length". More than 4,096 of them raise DomainError, which says how to ask for
    fewer. Source: Theorem 3 of "The Transformer Block and the Residual Stream", with MLPs and norms.
    """
    _require(model, trace)
    count = number_of_paths(model, by, len(trace.embedded))
    if count > MOST_PATHS:
        fewer = LAYER if by == HEAD else LENGTH
        raise DomainError(f"by={by!r}: expected at most {MOST_PATHS} paths, got {count}; by={fewer!r} has fewer")

    def attend(index: int, block: TransformerBlock, seen: BlockTrace, frozen: _Frozen) -> tuple[Parts, Array | None]:
        layer = block.attention
        norm = None if block.layout == POST else block.attention_norm
        linear = (lambda part: part) if norm is None else norm.frozen(seen.stream)
        constant = frozen.constant if norm is None else frozen.through(norm, seen.stream)
        written: Parts = {}
        for key, part in frozen.parts.items():
            assert isinstance(key, tuple)
            source, path = key
            moved = _moved(seen.pattern, linear(part + 0 * seen.stream), layer)
            if by == HEAD:
                written |= {(source, (*path, (index, h))): moved[..., h, :, :] for h in range(layer.heads)}
                continue
            name = (source, (*path, index) if by == LAYER else path + 1)
            written[name] = total(moved, -3)[..., 0, :, :]
        fixed = total(_moved(seen.pattern, constant + 0 * seen.stream, layer), -3)[..., 0, :, :]
        return written, fixed if layer.constant_write is None else fixed + layer.constant_write

    start: Hashable = 0 if by == LENGTH else ()
    return _read(model, trace, _carry(model, trace, attend, lambda source: (source, start)), f"paths by {by}")


def number_of_paths(model: Transformer, by: str, embedded: int = 1) -> int:
    """How many terms `path_expansion` has, for a number of parts of the embedding."""
    require_instance("model", model, Transformer)
    require_choice("by", by, (HEAD, LAYER, LENGTH))
    embedded = require_whole("embedded", embedded, 0, MOST_PATHS)
    sources = [embedded, *(int(block.mlp is not None) for block in model.blocks)]
    layers = len(model.blocks)
    if by == LENGTH:
        return sum(count * (layers - start + 1) for start, count in enumerate(sources))
    found = 0
    for start, count in enumerate(sources):
        choices = 1
        for block in model.blocks[start:]:
            choices *= 1 + (block.attention.heads if by == HEAD else 1)
        found += count * choices
    return found


def six_sums(model: Transformer, trace: TransformerTrace) -> list[Sum]:
    """Stream, attribution by layer and by head, neurons of the last MLP, logit lens, paths as finely as they fit.

    Without an MLP they are five.
    """
    _require(model, trace)
    fed = [index for index, block in enumerate(model.blocks) if block.mlp is not None]
    finest = next(by for by in (HEAD, LAYER, LENGTH) if by == LENGTH or _fits(model, trace, by))
    return [
        stream_sum(model, trace),
        attribution_by_layer(model, trace),
        attribution_by_head(model, trace),
        *(neuron_terms(model, trace, index) for index in fed[-1:]),
        logit_lens_increments(model, trace),
        path_expansion(model, trace, finest),
    ]


def _fits(model: Transformer, trace: TransformerTrace, by: str) -> bool:
    width = trace.final.shape[-1] if trace.logits is None else trace.logits.shape[-1]
    terms = number_of_paths(model, by, len(trace.embedded))
    return terms <= MOST_PATHS and terms * trace.final.shape[-2] * width <= MOST_ENTRIES


def _moved(pattern: Array, read: Array, layer: AttentionLayer) -> Array:
    """What every head writes of a stream (..., n, d), biases aside: (..., H, n, d)."""
    return pattern @ (read[..., None, :, :] @ layer.values_map) @ layer.W_O


def _require(model: Transformer, trace: TransformerTrace) -> None:
    require_instance("model", model, Transformer)
    require_instance("trace", trace, TransformerTrace)
    if len(trace.blocks) != len(model.blocks):
        raise ShapeError(
            f"trace: expected one of {len(model.blocks)} blocks, as the model has, got {len(trace.blocks)}"
        )
