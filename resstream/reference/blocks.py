"""The transformer block, with LayerNorm before its sublayers or after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from resstream.arithmetic import Array
from resstream.reference.attention import Head, multi_head_attention
from resstream.reference.checks import (
    in_range,
    require_batch,
    require_callable,
    require_instance,
    require_matrix,
    require_sequence,
    require_width,
)
from resstream.reference.mlp import MLP, mlp
from resstream.reference.normalisation import layer_norm

Sublayer = Callable[[Array], Array]
"""A map of streams, (..., n, d) -> (..., n, d)."""


@dataclass(frozen=True, eq=False)
class Block:
    """The heads and the MLP of one block.

    >>> import numpy as np
    >>> block = Block([Head(*np.zeros((4, 2, 2)))], MLP(np.eye(2), np.zeros((1, 2)), np.eye(2), np.zeros((1, 2))))
    >>> len(block.heads), block.mlp.W_1.shape
    (1, (2, 2))
    """

    heads: Sequence[Head]
    mlp: MLP

    def __post_init__(self) -> None:
        for k, head in enumerate(require_sequence("heads", self.heads, "heads", least=1)):
            require_instance(f"heads[{k}]", head, Head)
        require_instance("mlp", self.mlp, MLP)


@in_range
def pre_ln_block(X: Array, block: Block, mask: Array | None = None, norm: Sublayer = layer_norm) -> Array:
    """One pre-LN block on a stream: (..., n, d) -> (..., n, d).

    Source: Definition 1 of "The Transformer Block and the Residual Stream".

    >>> import numpy as np
    >>> block = Block([Head(*np.zeros((4, 2, 2)))], MLP(np.eye(2), np.zeros((1, 2)), np.eye(2), np.zeros((1, 2))))
    >>> pre_ln_block(np.array([[1.0, 5.0]]), block)
    array([[1., 6.]])
    """
    X = _stream(X, block, norm)
    X = X + multi_head_attention(norm(X), block.heads, mask)
    return X + mlp(norm(X), block.mlp)


@in_range
def post_ln_block(X: Array, block: Block, mask: Array | None = None, norm: Sublayer = layer_norm) -> Array:
    """One post-LN block on a stream: (..., n, d) -> (..., n, d). Source: Definition 1.

    >>> import numpy as np
    >>> block = Block([Head(*np.zeros((4, 2, 2)))], MLP(np.eye(2), np.zeros((1, 2)), np.eye(2), np.zeros((1, 2))))
    >>> post_ln_block(np.array([[1.0, 5.0]]), block)
    array([[-1.,  1.]])
    """
    X = _stream(X, block, norm)
    X = norm(X + multi_head_attention(X, block.heads, mask))
    return norm(X + mlp(X, block.mlp))


def sublayers(block: Block, mask: Array | None = None) -> list[Sublayer]:
    """The two sublayers of a block as maps of the stream: attention, then the MLP.

    >>> import numpy as np
    >>> block = Block([Head(*np.zeros((4, 2, 2)))], MLP(np.eye(2), np.zeros((1, 2)), np.eye(2), np.zeros((1, 2))))
    >>> attention, layer = sublayers(block)
    >>> attention(np.array([[1.0, -5.0]])).tolist(), layer(np.array([[1.0, -5.0]])).tolist()
    ([[0.0, 0.0]], [[1.0, 0.0]])
    """
    require_instance("block", block, Block)
    return [lambda X: multi_head_attention(X, block.heads, mask), lambda X: mlp(X, block.mlp)]


def pre_ln_sublayers(block: Block, mask: Array | None = None, norm: Sublayer = layer_norm) -> list[Sublayer]:
    """What the sublayers of a pre-LN block write, F(norm(X)): as a `residual_stack` they are the block.

    >>> import numpy as np
    >>> from resstream.reference import residual_stack
    >>> block = Block([Head(*np.zeros((4, 2, 2)))], MLP(np.eye(2), np.zeros((1, 2)), np.eye(2), np.zeros((1, 2))))
    >>> X = np.array([[1.0, 5.0]])
    >>> states, writes = residual_stack(pre_ln_sublayers(block), X)
    >>> bool((states[-1] == pre_ln_block(X, block)).all())
    True
    """
    require_callable("norm", norm)
    attend, feed = sublayers(block, mask)
    return [lambda X: attend(norm(X)), lambda X: feed(norm(X))]


def _stream(X: Array, block: Block, norm: Sublayer) -> Array:
    """The arguments of a block through the gate."""
    require_instance("block", block, Block)
    require_callable("norm", norm)
    X = require_matrix("X", X)
    for k, head in enumerate(block.heads):
        require_width(f"heads[{k}].W_O", head.W_O, X.shape[-1], of="X has")
    require_width("mlp.W_2", block.mlp.W_2, X.shape[-1], of="X has")
    require_batch(X=X, W_1=block.mlp.W_1)
    return X
