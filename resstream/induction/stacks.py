"""Hand-written gradients of pre-LN and post-LN stacks, and of LayerNorm with gain and bias.

Each takes the gradient of a loss at an output and gives those at the inputs and weights. Leading axes are draws: the
stream and the weights have the same ones. Forward passes are those of the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from resstream.arithmetic import Array, mean, ones, relu, sqrt, square, total, where
from resstream.errors import DomainError
from resstream.reference import (
    MLP,
    Block,
    Head,
    attention_scores,
    centre,
    layer_norm,
    mlp,
    multi_head_attention,
    post_ln_block,
    pre_ln_block,
    softmax,
)
from resstream.reference.normalisation import Epsilon

Placement = Literal["pre", "post"]
"""Where LayerNorm sits: before each sublayer, or after each addition."""


def layer_norm_gradient(
    x: Array, upstream: Array, gain: Array | None = None, epsilon: Epsilon = 0
) -> tuple[Array, Array, Array]:
    """Gradients of LayerNorm at x (..., n, d), its gain and its bias (..., 1, d), from that at its output (..., n, d).

    With c the centred row, s its scale and g the gradient times the gain: (g - mean g - c mean(g c) / s^2) / s.
    """
    centred = centre(x)
    scale = sqrt(mean(square(centred)) + epsilon)
    normalised = centred / scale
    g = upstream if gain is None else upstream * gain
    dx = (g - mean(g) - normalised * mean(g * normalised)) / scale
    return dx, total(upstream * normalised, -2), total(upstream, -2)


def mlp_gradient(x: Array, weights: MLP, upstream: Array) -> tuple[Array, MLP]:
    """Gradients of the MLP at x and at its weights: upstream (..., n, e) -> (..., n, d), and one array per weight."""
    before = x @ weights.W_1 + weights.b_1
    inner = relu(before)
    d_before = where(before > 0, upstream @ weights.W_2.mT, 0)
    gradient = MLP(W_1=x.mT @ d_before, b_1=total(d_before, -2), W_2=inner.mT @ upstream, b_2=total(upstream, -2))
    return d_before @ weights.W_1.mT, gradient


def attention_gradient(
    X: Array, heads: Sequence[Head], upstream: Array, mask: Array | None = None
) -> tuple[Array, list[Head]]:
    """Gradients of multi-head attention at the stream (..., n, d) and at every head's maps, from that at its output.

    Heads without biases only, as in the stacks measured here; others raise DomainError.
    """
    dX, gradients = 0 * X, []
    for index, head in enumerate(heads):
        if head.b_Q is not None or head.b_K is not None:
            raise DomainError(f"heads[{index}]: expected no query and key biases")
        Q, K, V = X @ head.W_Q, X @ head.W_K, X @ head.W_V
        A = softmax(attention_scores(Q, K), mask)
        read = A @ V
        d_read = upstream @ head.W_O.mT
        d_V = A.mT @ d_read
        d_scores = A * (d_read @ V.mT - total(d_read * read)) / sqrt(K.shape[-1] * ones((1, 1), like=K))
        d_Q, d_K = d_scores @ K, d_scores.mT @ Q
        dX = dX + d_Q @ head.W_Q.mT + d_K @ head.W_K.mT + d_V @ head.W_V.mT
        gradients.append(Head(W_Q=X.mT @ d_Q, W_K=X.mT @ d_K, W_V=X.mT @ d_V, W_O=read.mT @ upstream))
    return dX, gradients


def block_gradient(X: Array, block: Block, upstream: Array, placement: Placement) -> tuple[Array, Block]:
    """Gradients of one block at the stream and at its weights, LayerNorm with gain 1, bias 0 and epsilon 0."""
    _require(placement)
    if placement == "pre":
        normalised = layer_norm(X)
        middle = X + multi_head_attention(normalised, block.heads)
        d_fed, d_mlp = mlp_gradient(layer_norm(middle), block.mlp, upstream)
        d_middle = upstream + layer_norm_gradient(middle, d_fed)[0]
        d_attended, d_heads = attention_gradient(normalised, block.heads, d_middle)
        return d_middle + layer_norm_gradient(X, d_attended)[0], Block(d_heads, d_mlp)
    attended = X + multi_head_attention(X, block.heads)
    middle = layer_norm(attended)
    d_sum = layer_norm_gradient(middle + mlp(middle, block.mlp), upstream)[0]
    d_fed, d_mlp = mlp_gradient(middle, block.mlp, d_sum)
    d_attended = layer_norm_gradient(attended, d_sum + d_fed)[0]
    dX, d_heads = attention_gradient(X, block.heads, d_attended)
    return d_attended + dX, Block(d_heads, d_mlp)


@dataclass(frozen=True, eq=False)
class StackGradient:
    """The loss (..., 1, 1), the last state, and its gradients at the first state and at every block's weights."""

    loss: Array
    last: Array
    x0: Array
    blocks: list[Block]


def stack_loss(x0: Array, blocks: Sequence[Block], readout: Array, placement: Placement) -> Array:
    """Mean over tokens of the inner product of `readout` (..., n, d) with LayerNorm of the last state: (..., 1, 1)."""
    _require(placement)
    x = x0
    for block in blocks:
        x = _forward(x, block, placement)
    return mean(total(readout * layer_norm(x)), -2)


def stack_gradient(x0: Array, blocks: Sequence[Block], readout: Array, placement: Placement) -> StackGradient:
    """The gradient of `stack_loss` at x_0 (..., n, d) and at every weight."""
    _require(placement)
    states = [x0]
    for block in blocks:
        states.append(_forward(states[-1], block, placement))
    dx = layer_norm_gradient(states[-1], readout / readout.shape[-2])[0]
    gradients: list[Block] = []
    for x, block in zip(reversed(states[:-1]), reversed(blocks), strict=True):
        dx, gradient = block_gradient(x, block, dx, placement)
        gradients.append(gradient)
    loss = mean(total(readout * layer_norm(states[-1])), -2)
    return StackGradient(loss, states[-1], dx, gradients[::-1])


def _forward(x: Array, block: Block, placement: Placement) -> Array:
    return pre_ln_block(x, block) if placement == "pre" else post_ln_block(x, block)


def _require(placement: str) -> None:
    if placement not in get_args(Placement):
        raise DomainError(f"placement: expected one of {', '.join(get_args(Placement))}, got {placement!r}")
