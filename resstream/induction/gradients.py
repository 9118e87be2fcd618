"""The attention-only model's loss and its gradient, written by hand.

Written with the functions of `resstream.arithmetic` like the reference, so that in balls the gradient can be compared
with the exact derivative of the loss: equal, with no tolerance.
"""

from __future__ import annotations

import numpy as np

from resstream.arithmetic import Array, exact, exp, log, peak, total, zeros
from resstream.errors import TrainingError
from resstream.induction.task import Batch
from resstream.induction.weights import NAMES
from resstream.reference import AttentionOnlyModel, Trace

Gradient = dict[str, Array]


def mean_loss(model: AttentionOnlyModel, batch: Batch) -> Array:
    """Mean cross-entropy of the scored positions, in nats: (1, 1)."""
    logits = model.forward(batch.inputs).states[-1][_scored(batch)] @ model.unembedding
    return _losses(logits, batch)[0] / len(logits)


def loss_and_gradient(model: AttentionOnlyModel, batch: Batch) -> tuple[Array, Gradient]:
    """The mean loss (1, 1), in nats, and its derivative with respect to every weight, in the weight's shape."""
    trace = model.forward(batch.inputs)
    rows = trace.states[-1][_scored(batch)]  # only these are read out: the others have no part in the loss
    loss, weights, sums = _losses(rows @ model.unembedding, batch)
    d_logits = weights / (len(rows) * sums)
    right = (np.arange(len(rows)), batch.targets[batch.scored])
    d_logits[right] = d_logits[right] - exact(1, len(rows))
    dx = zeros(trace.states[-1].shape, like=rows)
    dx[batch.scored] = d_logits @ model.unembedding.mT
    gradient = stream_gradient(model, trace, dx)
    gradient["unembedding"] = rows.mT @ d_logits
    gradient["embedding"] = zeros(model.embedding.shape, like=dx)
    np.add.at(gradient["embedding"], batch.inputs, gradient.pop("x0"))
    return loss / len(rows), gradient


def _scored(batch: Batch) -> Array:
    if not batch.scored.any():
        raise TrainingError("batch: expected at least one scored position, got none")
    return batch.scored


def _losses(logits: Array, batch: Batch) -> tuple[Array, Array, Array]:
    """Summed cross-entropy (1, 1) of scored logits (m, V); their probabilities as weights (m, V) over sums (m, 1)."""
    shifted = logits - peak(logits)
    weights = exp(shifted)
    sums = total(weights)
    right = np.take_along_axis(shifted, batch.targets[batch.scored][:, None], axis=-1)
    return total(log(sums) - right, axis=-2), weights, sums


def stream_gradient(model: AttentionOnlyModel, trace: Trace, dx: Array) -> Gradient:
    """From the gradient at the last state (..., n, d) to those of every head's weights, and of x_0 under "x0".

    Leading axes are sequences, over which the weights' gradients are summed.
    """
    layers: list[Gradient] = []
    turned = model.rotation(trace.states[0])
    back = None if turned is None else turned.inverse()
    scale = model.score_scale(dx)
    for layer in reversed(range(model.layers)):
        W_Q, W_K, W_V, W_O = (getattr(model, name)[layer] for name in ("W_Q", "W_K", "W_V", "W_O"))
        x, dy = trace.states[layer][..., None, :, :], dx[..., None, :, :]  # each head reads x and writes into dy
        A, values = trace.patterns[layer], trace.values[layer]
        read = A @ values
        d_read = dy @ W_O.mT
        d_values = A.mT @ d_read
        # The softmax subtracts the mean of dA under A, which is a product with what the head read.
        d_scores = A * (d_read @ values.mT - total(d_read * read))
        d_queries, d_keys = d_scores @ trace.keys[layer] / scale, d_scores.mT @ trace.queries[layer]
        if back is not None:
            d_queries, d_keys = back.turn(d_queries), back.turn(d_keys)
        layers.append(
            {
                "W_Q": _over_sequences(x.mT @ d_queries),
                "W_K": _over_sequences(x.mT @ d_keys),
                "W_V": _over_sequences(x.mT @ d_values),
                "W_O": _over_sequences(read.mT @ dy),
                "b_Q": _over_sequences(total(d_queries, -2)),
                "b_K": _over_sequences(total(d_keys, -2)),
            }
        )
        dx = dx + total(d_queries @ W_Q.mT + d_keys @ W_K.mT + d_values @ W_V.mT, -3)[..., 0, :, :]
    layers.reverse()
    gradient = {"x0": dx}
    for name in NAMES[2:]:
        parts = [layer[name] for layer in layers]
        gradient[name] = np.stack(parts) if parts else zeros(getattr(model, name).shape, like=dx)
    return gradient


def _over_sequences(x: Array) -> Array:
    """Sum over every axis but the three trailing ones (head, row, column)."""
    return np.sum(x.reshape(-1, *x.shape[-3:]), axis=0)
