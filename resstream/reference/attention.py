"""Scaled dot-product attention, heads, and multi-head attention in its two forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resstream.arithmetic import Array, exp, ones, peak, sqrt, total, where
from resstream.errors import DomainError, ShapeError
from resstream.reference.checks import (
    in_range,
    keep,
    refuse_where,
    require_batch,
    require_instance,
    require_matrix,
    require_row,
    require_rows,
    require_sequence,
    require_whole,
    require_width,
)

LONGEST = 1 << 16
"""Tokens of the longest mask: it has the square of them as entries."""


@in_range
def softmax(scores: Array, mask: Array | None = None) -> Array:
    """Softmax of every row over its allowed entries: (..., n, m) -> (..., n, m), probabilities.

    mask: booleans that broadcast to the scores, True where a query may look; all other entries get exactly zero,
    however large the finite scores. A row that allows nothing raises DomainError; so do NaN and infinite scores (a mask
    is how to forbid an entry). Rationals: exact where the allowed scores of a row are equal, elsewhere NotExact.

    >>> softmax(np.array([[0.0, 0.0, 1e300]]), np.array([[True, True, False]]))
    array([[0.5, 0.5, 0. ]])
    """
    scores = require_matrix("scores", scores)
    if mask is None:
        mask = np.ones(scores.shape[-1], dtype=bool)
    mask = _broadcast_mask(mask, scores)
    # A masked entry is first replaced by an allowed one of its row, so that it takes no part in the maximum.
    allowed = np.where(mask, scores, np.take_along_axis(scores, mask.argmax(-1, keepdims=True), -1))
    with np.errstate(over="ignore"):  # a difference below the range of floats is -inf, and its weight rightly 0
        weights = where(mask, exp(allowed - peak(allowed)), 0)
    return weights / total(weights)


def _broadcast_mask(mask: Array, scores: Array) -> Array:
    if type(mask) is not np.ndarray or mask.dtype != bool:
        got = f"dtype {mask.dtype}" if type(mask) is np.ndarray else type(mask).__name__
        raise DomainError(
            f"mask: expected booleans (True: may be attended to), not numbers to add to the scores; got {got}"
        )
    try:
        broadcast = np.broadcast_to(mask, scores.shape)
    except ValueError:
        raise ShapeError(f"mask: expected the shape {scores.shape} of the scores, got {mask.shape}") from None
    blind = np.asarray(~np.atleast_1d(mask).any(-1))
    refuse_where(blind, "mask: row {at} allows no entry, so its softmax is not defined")
    return broadcast


def causal_mask(n: int) -> Array:
    """Booleans (n, n), True where query i may look at key j: on and below the diagonal.

    >>> causal_mask(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return np.tri(require_whole("n", n, 1, LONGEST), dtype=bool)


def banded_mask(n: int, reach: int) -> Array:
    """Booleans (n, n), True where |i - j| <= reach.

    >>> banded_mask(3, 1).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    places = np.arange(require_whole("n", n, 1, LONGEST))
    return np.abs(places[:, None] - places) <= require_whole("reach", reach, 0, LONGEST)


def sliding_window_mask(n: int, window: int) -> Array:
    """Booleans (n, n), True where 0 <= i - j < window: query i may look at itself and at window - 1 keys before it.

    >>> sliding_window_mask(3, 2).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """
    places = np.arange(require_whole("n", n, 1, LONGEST))
    behind = places[:, None] - places
    return (behind >= 0) & (behind < require_whole("window", window, 1, LONGEST))


def block_mask(n: int, block: int) -> Array:
    """Booleans (n, n), True where i and j lie in the same block of the given size (the last one may be smaller).

    >>> block_mask(3, 2).astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """
    blocks = np.arange(require_whole("n", n, 1, LONGEST)) // require_whole("block", block, 1, LONGEST)
    return blocks[:, None] == blocks


@in_range
def attention_scores(Q: Array, K: Array) -> Array:
    """Scaled dot products: queries (..., n, h) and keys (..., m, h) -> (..., n, m).

    >>> attention_scores(np.array([[4.0, 0.0, 0.0, 0.0]]), np.eye(4)).tolist()
    [[2.0, 0.0, 0.0, 0.0]]
    """
    Q = require_matrix("Q", Q)
    K = require_width("K", K, Q.shape[-1], of="Q has")
    require_batch(Q=Q, K=K)
    return Q @ K.mT / sqrt(Q.shape[-1] * ones((1, 1), like=Q))


@in_range
def attention_weights(Q: Array, K: Array, mask: Array | None = None) -> Array:
    """Who looks at whom: queries (..., n, h) and keys (..., m, h) -> row-stochastic (..., n, m).

    >>> attention_weights(np.zeros((1, 2)), np.eye(2)).tolist()
    [[0.5, 0.5]]
    >>> attention_weights(np.zeros((2, 2)), np.eye(2), causal_mask(2)).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    return softmax(attention_scores(Q, K), mask)


@in_range
def attention(Q: Array, K: Array, V: Array, mask: Array | None = None) -> Array:
    """Scaled dot-product attention, weights times values (..., m, v): -> (..., n, v).

    Source: Proposition 1 (i) of "The Transformer Block and the Residual Stream", which calls it Attn.

    >>> attention(np.zeros((1, 2)), np.eye(2), np.array([[1.0], [3.0]])).tolist()
    [[2.0]]
    """
    weights = attention_weights(Q, K, mask)
    V = require_rows("V", V, weights.shape[-1], of="K has")
    require_batch(weights=weights, V=V)
    return weights @ V


@dataclass(frozen=True, eq=False)
class Head:
    """One attention head: W_Q, W_K (..., d, h), W_V (..., d, v), W_O (..., v, d), biases b_Q, b_K (..., 1, h) or None.

    Source: Definition 1 of "The Transformer Block and the Residual Stream".

    >>> head = Head(W_Q=np.zeros((3, 2)), W_K=np.zeros((3, 2)), W_V=np.ones((3, 1)), W_O=np.ones((1, 3)))
    >>> head_output(np.array([[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]), head).tolist()
    [[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]]
    """

    W_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    b_Q: Array | None = None
    b_K: Array | None = None

    def __post_init__(self) -> None:
        checked = {name: require_matrix(name, getattr(self, name)) for name in ("W_Q", "W_K", "W_V", "W_O")}
        d, h = checked["W_Q"].shape[-2:]
        require_width("W_K", checked["W_K"], h, of="W_Q has")
        for name in ("W_K", "W_V"):
            require_rows(name, checked[name], d, of="W_Q has")
        require_rows("W_O", checked["W_O"], checked["W_V"].shape[-1], of="W_V has columns")
        for name in ("b_Q", "b_K"):
            if getattr(self, name) is not None:
                checked[name] = require_row(name, getattr(self, name), h, of="W_Q has")
        require_batch(**checked)
        keep(self, checked)


@in_range
def head_scores(X: Array, head: Head) -> Array:
    """Scores of a head on a stream: (..., n, d) -> (..., n, n).

    >>> head = Head(np.eye(2)[:, :1], np.eye(2)[:, :1], np.zeros((2, 1)), np.zeros((1, 2)))
    >>> head_scores(np.array([[1.0, 7.0], [3.0, 8.0]]), head).tolist()
    [[1.0, 3.0], [3.0, 9.0]]
    """
    require_instance("head", head, Head)
    X = _stream(X, head)
    return attention_scores(_read(X, head.W_Q, head.b_Q), _read(X, head.W_K, head.b_K))


def _stream(X: Array, head: Head) -> Array:
    """The stream that a head reads, through the gate."""
    X = require_width("X", X, head.W_Q.shape[-2], of="the head's maps have rows")
    require_batch(X=X, W_Q=head.W_Q, W_K=head.W_K, W_V=head.W_V, W_O=head.W_O, b_Q=head.b_Q, b_K=head.b_K)
    return X


def _read(X: Array, W: Array, bias: Array | None) -> Array:
    return X @ W if bias is None else X @ W + bias


@in_range
def head_weights(X: Array, head: Head, mask: Array | None = None) -> Array:
    """Attention matrix of a head on a stream: (..., n, d) -> row-stochastic (..., n, n).

    >>> head = Head(np.zeros((2, 1)), np.zeros((2, 1)), np.ones((2, 1)), np.ones((1, 2)))
    >>> head_weights(np.array([[1.0, 7.0], [3.0, 8.0]]), head, causal_mask(2)).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    return softmax(head_scores(X, head), mask)


@in_range
def head_output(X: Array, head: Head, mask: Array | None = None) -> Array:
    """What a head writes: (..., n, d) -> (..., n, d). Source: Definition 1, head_h(X).

    >>> head = Head(np.zeros((2, 1)), np.zeros((2, 1)), np.ones((2, 1)), np.ones((1, 2)))
    >>> head_output(np.array([[1.0, 1.0], [3.0, 3.0]]), head, causal_mask(2)).tolist()
    [[2.0, 2.0], [4.0, 4.0]]
    """
    return head_weights(X, head, mask) @ _stream(X, head) @ head.W_V @ head.W_O


@in_range
def multi_head_attention(X: Array, heads: Sequence[Head], mask: Array | None = None) -> Array:
    """Sum of what the heads write: (..., n, d) -> (..., n, d). Source: Definition 1, MHA(X).

    >>> heads = [Head(np.zeros((2, 1)), np.zeros((2, 1)), np.ones((2, 1)), np.ones((1, 2))) for _ in range(2)]
    >>> multi_head_attention(np.array([[1.0, 1.0], [3.0, 3.0]]), heads).tolist()
    [[8.0, 8.0], [8.0, 8.0]]
    """
    outputs = [head_output(X, head, mask) for head in _heads(heads)]
    return sum(outputs[1:], start=outputs[0])


@in_range
def concatenated_attention(X: Array, heads: Sequence[Head], mask: Array | None = None) -> Array:
    """The same as the heads' results side by side, times their output maps stacked: (..., n, d) -> (..., n, d).

    Source: Proposition 1 (i) and its proof.

    >>> heads = [Head(np.zeros((2, 1)), np.zeros((2, 1)), np.ones((2, 1)), np.ones((1, 2))) for _ in range(2)]
    >>> concatenated_attention(np.array([[1.0, 1.0], [3.0, 3.0]]), heads).tolist()
    [[8.0, 8.0], [8.0, 8.0]]
    """
    heads = _heads(heads)
    for head in heads:
        X = _stream(X, head)
    results = [attention(_read(X, h.W_Q, h.b_Q), _read(X, h.W_K, h.b_K), X @ h.W_V, mask) for h in heads]
    side_by_side: Array = np.concatenate(results, axis=-1)
    stacked: Array = np.concatenate([head.W_O for head in heads], axis=-2)
    return side_by_side @ stacked


def _heads(heads: Sequence[Head]) -> list[Head]:
    return [
        require_instance(f"heads[{k}]", head, Head)
        for k, head in enumerate(require_sequence("heads", heads, "heads", least=1))
    ]
