"""The MLP of a block, and its reading as a memory of keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from resstream.arithmetic import Array, relu, total
from resstream.reference.checks import (
    in_range,
    keep,
    require_batch,
    require_instance,
    require_matrix,
    require_row,
    require_rows,
    require_width,
)


@dataclass(frozen=True, eq=False)
class MLP:
    """Weights of a ReLU layer: W_1 (..., d, w), b_1 (..., 1, w), W_2 (..., w, e), b_2 (..., 1, e).

    Source: Definition 1 of "The Transformer Block and the Residual Stream".

    >>> import numpy as np
    >>> weights = MLP(np.eye(2), np.array([[0.0, 1.0]]), np.ones((2, 1)), np.zeros((1, 1)))
    >>> mlp(np.array([[-1.0, 2.0]]), weights).tolist()
    [[3.0]]
    """

    W_1: Array
    b_1: Array
    W_2: Array
    b_2: Array

    def __post_init__(self) -> None:
        W_1 = require_matrix("W_1", self.W_1)
        b_1 = require_row("b_1", self.b_1, W_1.shape[-1], of="W_1 has")
        W_2 = require_rows("W_2", self.W_2, W_1.shape[-1], of="W_1 has columns")
        b_2 = require_row("b_2", self.b_2, W_2.shape[-1], of="W_2 has")
        require_batch(W_1=W_1, b_1=b_1, W_2=W_2, b_2=b_2)
        keep(self, {"W_1": W_1, "b_1": b_1, "W_2": W_2, "b_2": b_2})


@in_range
def mlp(x: Array, weights: MLP) -> Array:
    """ReLU(x W_1 + b_1) W_2 + b_2 on every row: (..., n, d) -> (..., n, e). Source: Definition 1.

    >>> import numpy as np
    >>> weights = MLP(np.eye(2), np.array([[0.0, 1.0]]), np.ones((2, 1)), np.zeros((1, 1)))
    >>> mlp(np.array([[-1.0, 2.0], [1.0, -2.0]]), weights).tolist()
    [[3.0], [1.0]]
    """
    x = _input(x, weights)
    return relu(x @ weights.W_1 + weights.b_1) @ weights.W_2 + weights.b_2


@in_range
def mlp_key_values(x: Array, weights: MLP) -> Array:
    """The same as b_2 plus, for every neuron, a gate times its value: (..., n, d) -> (..., n, e).

    The gate is ReLU(<x, k> + b), the key k a column of W_1, the value a row of W_2. Source: Proposition 1 (ii).

    >>> import numpy as np
    >>> weights = MLP(np.eye(2), np.array([[0.0, 1.0]]), np.ones((2, 1)), np.zeros((1, 1)))
    >>> mlp_key_values(np.array([[-1.0, 2.0], [1.0, -2.0]]), weights).tolist()
    [[3.0], [1.0]]
    """
    x = _input(x, weights)
    output = 0 * x[..., :1] + weights.b_2
    for i in range(weights.W_1.shape[-1]):
        key = weights.W_1[..., :, i : i + 1].mT
        gate = relu(total(x * key) + weights.b_1[..., i : i + 1])
        output = output + gate * weights.W_2[..., i : i + 1, :]
    return output


def _input(x: Array, weights: MLP) -> Array:
    require_instance("weights", weights, MLP)
    x = require_width("x", x, weights.W_1.shape[-2], of="W_1 has rows")
    require_batch(x=x, W_1=weights.W_1, b_1=weights.b_1, W_2=weights.W_2, b_2=weights.b_2)
    return x
