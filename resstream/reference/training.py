"""What a transformer is trained with: cross-entropy, smoothed targets, and the learning rate's schedule."""

from __future__ import annotations

from resstream.arithmetic import Array, exp, log, minimum, peak, sqrt, total
from resstream.errors import ShapeError
from resstream.reference.checks import (
    certainly,
    in_range,
    refuse_where,
    require_batch,
    require_entry,
    require_matrix,
    require_row_stochastic,
    require_rows,
    require_width,
    values_matter,
)


@in_range
def cross_entropy(logits: Array, targets: Array) -> Array:
    """Cross-entropy in nats of the softmax of logits (..., n, V) against distributions (..., n, V): -> (..., n, 1).

    Targets that are no distributions raise DomainError.

    >>> import numpy as np
    >>> cross_entropy(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])).round(4).item()
    0.6931
    """
    logits = require_matrix("logits", logits)
    targets = require_row_stochastic("targets", targets)
    require_rows("targets", targets, logits.shape[-2], of="logits have")
    require_width("targets", targets, logits.shape[-1], of="logits have")
    require_batch(logits=logits, targets=targets)
    shifted = logits - peak(logits)
    return log(total(exp(shifted))) - total(targets * shifted)


@in_range
def smoothed_targets(right: Array, epsilon: Array) -> Array:
    """Label smoothing of one-hot rows: 1 - epsilon on the right class, epsilon/(V - 1) on every other.

    Shapes: (..., n, V) and epsilon (..., 1, 1) -> (..., n, V). Fewer than two classes raise ShapeError, an epsilon
    outside 0 to 1 DomainError.
    Source: "The Annotated Transformer, Circuit Framework Edition", 19.1.

    >>> import numpy as np
    >>> smoothed_targets(np.array([[1.0, 0.0, 0.0]]), np.array([[0.5]])).tolist()
    [[0.5, 0.25, 0.25]]
    """
    right = require_matrix("right", right)
    others = right.shape[-1] - 1
    if others < 1:
        raise ShapeError(f"right: expected two classes or more, got shape {right.shape}")
    epsilon = require_entry("epsilon", epsilon)
    require_batch(right=right, epsilon=epsilon)
    if values_matter(epsilon):
        outside = certainly(epsilon, lambda entry: (entry < 0) | (entry > 1))
        refuse_where(outside, "epsilon: expected numbers from 0 to 1, got another at {at}")
    return (1 - epsilon) * right + epsilon / others * (1 - right)


@in_range
def noam_rate(step: Array, width: Array, warmup: Array) -> Array:
    """Learning rate min(step^-1/2, step warmup^-3/2)/sqrt(width), all positive and of shape (..., 1, 1).

    Source: "The Annotated Transformer, Circuit Framework Edition", 19.1 (Vaswani and others, 2017).

    >>> import numpy as np
    >>> noam_rate(np.array([[100.0]]), np.array([[4.0]]), np.array([[100.0]])).item()
    0.05
    """
    step, width, warmup = (
        _positive(name, value) for name, value in (("step", step), ("width", width), ("warmup", warmup))
    )
    require_batch(step=step, width=width, warmup=warmup)
    root = sqrt(warmup)
    return minimum(1 / sqrt(step), step / (root * root * root)) / sqrt(width)


def _positive(name: str, value: Array) -> Array:
    value = require_entry(name, value)
    if values_matter(value):
        refuse_where(
            certainly(value, lambda entry: entry <= 0), f"{name}: expected positive numbers, got less at {{at}}"
        )
    return value
