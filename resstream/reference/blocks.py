"""The transformer block, with LayerNorm before its sublayers or after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from resstream.arithmetic import Array
from resstream.reference.attention import Head, multi_head_attention
from resstream.reference.mlp import MLP, mlp
from resstream.reference.normalisation import layer_norm

Sublayer = Callable[[Array], Array]
"""A map of streams, (..., n, d) -> (..., n, d)."""


@dataclass(frozen=True, eq=False)
class Block:
    """The heads and the MLP of one block."""

    heads: Sequence[Head]
    mlp: MLP


def pre_ln_block(X: Array, block: Block, mask: Array | None = None, norm: Sublayer = layer_norm) -> Array:
    """One pre-LN block on a stream: (..., n, d) -> (..., n, d).

    Source: Definition 1 of "The Transformer Block and the Residual Stream".
    """
    X = X + multi_head_attention(norm(X), block.heads, mask)
    return X + mlp(norm(X), block.mlp)


def post_ln_block(X: Array, block: Block, mask: Array | None = None, norm: Sublayer = layer_norm) -> Array:
    """One post-LN block on a stream: (..., n, d) -> (..., n, d). Source: Definition 1."""
    X = norm(X + multi_head_attention(X, block.heads, mask))
    return norm(X + mlp(X, block.mlp))


def sublayers(block: Block, mask: Array | None = None) -> list[Sublayer]:
    """The two sublayers of a block as maps of the stream: attention, then the MLP."""
    return [lambda X: multi_head_attention(X, block.heads, mask), lambda X: mlp(X, block.mlp)]


def pre_ln_sublayers(block: Block, mask: Array | None = None, norm: Sublayer = layer_norm) -> list[Sublayer]:
    """What the sublayers of a pre-LN block write, F(norm(X)): as a `residual_stack` they are the block."""
    attend, feed = sublayers(block, mask)
    return [lambda X: attend(norm(X)), lambda X: feed(norm(X))]
