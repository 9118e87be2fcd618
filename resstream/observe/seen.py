"""What was seen of a model: its weights, and for each prompt the patterns, scores and states of every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import DomainError, ShapeError
from resstream.foreign import FURTHEST_SUM, ROUNDINGS, furthest_sum
from resstream.reference.attention import causal_mask
from resstream.reference.transformer import AttentionLayer, FeedForward, NormLayer, Transformer, TransformerTrace


@dataclass(frozen=True)
class Seen:
    """One layer on one prompt of n tokens. What is not known is None.

    Shapes: pattern (H, n, n), row-stochastic; scores (H, n, n) before the mask; queries, keys (H, n, h); read (n, d),
    what the heads read; stream (n, d), the state before the layer.
    """

    pattern: Array
    scores: Array | None = None
    queries: Array | None = None
    keys: Array | None = None
    read: Array | None = None
    stream: Array | None = None


@dataclass(frozen=True)
class Prompt:
    """One prompt: its tokens as texts (or numbers), its layers, its last state and its logits, if they are known."""

    tokens: Sequence[str]
    layers: Sequence[Seen]
    final: Array | None = None
    logits: Array | None = None
    trace: TransformerTrace | None = None
    target: int | None = None
    """The token whose logit at the last position is taken apart: the likeliest one."""

    @property
    def states(self) -> list[Array] | None:
        """The stream before each layer and after the last, (n, d) each; None where one is not known."""
        states = [layer.stream for layer in self.layers]
        known = [state for state in (*states, self.final) if state is not None]
        return known if len(known) == len(states) + 1 else None


@dataclass(frozen=True)
class Weights:
    """The weights of one layer that claims speak of; None where only activations were given."""

    attention: AttentionLayer | None = None
    mlp: FeedForward | None = None
    norm: NormLayer | None = None
    """The norm that attention reads through."""


@dataclass(frozen=True)
class Activations:
    """Everything that was seen of one model."""

    name: str
    source: str
    """What it was read from: a family of models and a format, in words."""
    prompts: Sequence[Prompt]
    weights: Sequence[Weights]
    model: Transformer | None = None
    notes: Mapping[str, float] = field(default_factory=dict)
    """Differences between what the model's own code computed and our forward pass, largest of each kind."""
    epsilon: float = float(np.finfo(np.float64).eps)
    """Rounding of the numbers in which the patterns were given: their rows may miss one by that much an entry."""

    def __post_init__(self) -> None:
        if not self.prompts:
            raise ShapeError(f"{self.name}: expected at least one prompt, got none")
        for number, prompt in enumerate(self.prompts):
            if not prompt.layers:
                raise ShapeError(f"{self.name}, prompt {number}: expected at least one layer, got none")
            for index, layer in enumerate(prompt.layers):
                name = f"{self.name}: prompt {number}, layer {index}"
                _require_pattern(f"{name}: pattern", layer.pattern, self.epsilon)
                heads, n = self.heads, prompt.layers[0].pattern.shape[-1]
                if layer.pattern.shape != (heads, n, n):
                    raise ShapeError(
                        f"{name}: pattern: expected the shape {(heads, n, n)} of the first one, got "
                        f"{layer.pattern.shape}"
                    )
                _require_fitting(name, layer, self.weights[index].attention)

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.prompts[0].layers)

    @property
    def heads(self) -> int:
        """Number of heads of the first layer."""
        return int(self.prompts[0].layers[0].pattern.shape[0])

    @property
    def causal(self) -> bool:
        """Whether no position ever looked at a later one."""
        return all(
            not layer.pattern[:, ~causal_mask(layer.pattern.shape[-1])].any()
            for prompt in self.prompts
            for layer in prompt.layers
        )


def _require_pattern(name: str, pattern: Array, epsilon: float) -> None:
    if pattern.ndim != 3 or pattern.shape[-1] != pattern.shape[-2] or not pattern.size:
        raise ShapeError(f"{name}: expected the shape (heads, n, n), got {pattern.shape}")
    if not np.isfinite(pattern).all() or (pattern < 0).any():
        raise DomainError(f"{name}: expected nonnegative, finite weights")
    off, most = np.abs(pattern.sum(-1) - 1), float(furthest_sum(epsilon, pattern.shape[-1]))
    if off.max() > most:
        head, row = (int(index) for index in np.unravel_index(np.argmax(off), off.shape))
        raise DomainError(
            f"{name}: row {row} of head {head} sums to {pattern[head, row].sum():.9g}, which is not 1 within "
            f"{most:.3g}, {ROUNDINGS} roundings an entry of the numbers that it was given in, at most {FURTHEST_SUM}"
        )


def _require_fitting(name: str, layer: Seen, weights: AttentionLayer | None) -> None:
    """Refuse arrays of a layer that are of other numbers of heads, tokens or dimensions than its pattern or weights."""
    heads, n = layer.pattern.shape[:2]
    if layer.scores is not None and layer.scores.shape != layer.pattern.shape:
        raise ShapeError(f"{name}: scores: expected the shape {layer.pattern.shape}, got {layer.scores.shape}")
    for kind in ("queries", "keys"):
        array = getattr(layer, kind)
        if array is not None and (heads % array.shape[0] or array.shape[1] != n):
            raise ShapeError(f"{name}: {kind}: expected the shape ({heads}, {n}, h), got {array.shape}")
    widths = {kind: array.shape for kind in ("read", "stream") if (array := getattr(layer, kind)) is not None}
    if weights is not None:
        if weights.heads != heads:
            raise ShapeError(f"{name}: W_Q: expected {heads} heads, as the pattern has, got {weights.heads}")
        widths["W_Q"] = (n, weights.W_Q.shape[-2])
    if len(set(widths.values())) > 1 or any(shape[0] != n for shape in widths.values()):
        each = ", ".join(f"{kind} {shape}" for kind, shape in widths.items())
        raise ShapeError(f"{name}: expected ({n}, d) with one width d, got {each}")


def of_trace(trace: TransformerTrace, tokens: Sequence[str], target: int | None = None) -> Prompt:
    """What one forward pass of ours saw."""
    layers = [
        Seen(block.pattern, block.scores, block.queries, block.keys, block.attention_input, block.stream)
        for block in trace.blocks
    ]
    if target is None and trace.logits is not None:
        target = int(np.argmax(trace.logits[-1]))
    return Prompt(tokens, layers, trace.final, trace.logits, trace, target)


def weights_of(model: Transformer) -> list[Weights]:
    """The weights of every layer."""
    return [Weights(block.attention, block.mlp, block.attention_norm) for block in model.blocks]


def largest_difference(ours: Array | None, theirs: Array | None) -> float:
    """The largest difference of two arrays, over the largest entry; 0 where one is missing."""
    if ours is None or theirs is None:
        return 0.0
    if ours.shape != theirs.shape:
        raise ShapeError(f"expected the shape {ours.shape} of our forward pass, got {theirs.shape}")
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), np.finfo(float).tiny))
