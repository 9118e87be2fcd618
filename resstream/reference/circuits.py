"""Circuits of attention heads: what they read and write, how two heads compose, and what a stream says as logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from resstream.arithmetic import Array, sqrt, square, total, total_entry
from resstream.errors import ShapeError
from resstream.reference.checks import (
    certainly,
    in_range,
    refuse_where,
    require_batch,
    require_callable,
    require_matrix,
    require_row,
    require_rows,
    require_sequence,
    require_width,
    values_matter,
)
from resstream.reference.magnitudes import near_one
from resstream.reference.normalisation import Epsilon, centre, layer_norm_scale
from resstream.reference.spectrum import eigenvalue_moduli, trace


@in_range
def ov_circuit(W_V: Array, W_O: Array) -> Array:
    """What a head writes of the row it attends to, x -> x @ W_V @ W_O: (..., d, h), (..., h, e) -> (..., d, e).

    Source: Definition 4 of "The Transformer Block and the Residual Stream".

    >>> ov_circuit(np.array([[1.0], [2.0]]), np.array([[3.0, 4.0]])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    W_V = require_matrix("W_V", W_V)
    W_O = require_rows("W_O", W_O, W_V.shape[-1], of="W_V has columns")
    require_batch(W_V=W_V, W_O=W_O)
    return W_V @ W_O


@in_range
def qk_circuit(W_Q: Array, W_K: Array) -> Array:
    """The bilinear form of a score, x_i @ (W_Q @ W_K.mT) @ x_j.mT: (..., d, h), (..., e, h) -> (..., d, e).

    Rows belong to queries and columns to keys. Source: the QK circuit of "A Mathematical Framework for Transformer
    Circuits", in row vectors.

    >>> qk_circuit(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    W_Q = require_matrix("W_Q", W_Q)
    W_K = require_width("W_K", W_K, W_Q.shape[-1], of="W_Q has")
    require_batch(W_Q=W_Q, W_K=W_K)
    return W_Q @ W_K.mT


# ---- composition ------------------------------------------------------------


@in_range
def composition_score(first: Array, second: Array) -> Array:
    """||first @ second||_F / (||first||_F ||second||_F), in [0, 1]: (..., d, e), (..., e, f) -> (..., 1, 1).

    `first` is what the earlier head writes through, `second` what the later one reads with. The score is 1 only where
    both have rank one and meet; two identities score 1/sqrt d, and so do two random matrices, about. A zero matrix has
    no score and raises DomainError. Source: Definition 4 of "The Transformer Block and the Residual Stream".

    >>> composition_score(np.eye(4), np.eye(4))
    array([[0.5]])
    """
    first = require_matrix("first", first)
    second = require_rows("second", second, first.shape[-1], of="first has columns")
    require_batch(first=first, second=second)
    for name, matrix in (("first", first), ("second", second)):
        if values_matter(matrix):
            zero = np.all(certainly(matrix, lambda entry: entry == 0), axis=(-2, -1))
            refuse_where(zero, f"{name}: a zero matrix has no composition score (batch index {{at}})")
    first, second = near_one(first, axes=2), near_one(second, axes=2)
    squares = [total_entry(square(matrix)) for matrix in (first @ second, first, second)]
    return sqrt(squares[0] / (squares[1] * squares[2]))  # the root last, so that more scores are rational


class Composition(NamedTuple):
    """How strongly a later head's keys, queries and values read what an earlier head writes, each in [0, 1].

    >>> Composition(*np.array([[[[0.5]]], [[[0.25]]], [[[1.0]]]])).queries.item()
    0.25
    """

    keys: Array
    queries: Array
    values: Array


@in_range
def weight_composition(writer: Array, W_Q: Array, W_K: Array, W_OV: Array) -> Composition:
    """K-, Q- and V-composition of an earlier head's OV circuit with a later head's W_K, W_Q and OV circuit.

    Shapes: writer (..., d, d), W_Q and W_K (..., d, h), W_OV (..., d, d), scores (..., 1, 1).
    Source: Definition 4 of "The Transformer Block and the Residual Stream".

    >>> found = weight_composition(np.eye(2), np.eye(2), np.eye(2), np.eye(2))
    >>> round(found.keys.item(), 3), round(found.values.item(), 3)
    (0.707, 0.707)
    """
    return _composition(writer, W_Q=W_Q, W_K=W_K, W_OV=W_OV)


@in_range
def circuit_composition(writer: Array, W_Q: Array, W_K: Array, W_OV: Array) -> Composition:
    """K-, Q- and V-composition of an earlier head's OV circuit with a later head's QK circuit (transposed for keys).

    Shapes as for `weight_composition`, whose scores are others: here the query side weighs the keys' directions.
    Source: "A Mathematical Framework for Transformer Circuits", in row vectors: keys read with W_QK.mT, queries
    with W_QK.

    >>> found = circuit_composition(np.eye(2), np.eye(2), np.eye(2), np.eye(2))
    >>> round(found.keys.item(), 3), round(found.values.item(), 3)
    (0.707, 0.707)
    """
    form = qk_circuit(W_Q, W_K)
    return _composition(writer, W_Q=form, W_K=form.mT, W_OV=W_OV)


def _composition(writer: Array, W_Q: Array, W_K: Array, W_OV: Array) -> Composition:
    writer = require_matrix("writer", writer)
    readers = {"W_K": W_K, "W_Q": W_Q, "W_OV": W_OV}
    for name, reader in readers.items():
        reader = require_rows(name, reader, writer.shape[-1], of="writer has columns")
        require_batch(writer=writer, **{name: reader})
    return Composition(*(composition_score(writer, reader) for reader in readers.values()))


# ---- from tokens to tokens --------------------------------------------------


@in_range
def full_ov_circuit(embedding: Array, W_V: Array, W_O: Array, unembedding: Array) -> Array:
    """What attending to each token (a row) adds to each logit: (..., V, d), ..., (..., d, V) -> (..., V, V).

    >>> full_ov_circuit(np.eye(2), np.eye(2), 3 * np.eye(2), np.eye(2)).tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    embedding, W_V, W_O, unembedding = _token_maps(embedding, W_V, W_O, unembedding)
    return embedding @ ov_circuit(W_V, W_O) @ unembedding


def _token_maps(embedding: Array, W_V: Array, W_O: Array, unembedding: Array) -> tuple[Array, Array, Array, Array]:
    """The maps from tokens to tokens through a head, through the gate."""
    embedding = require_matrix("embedding", embedding)
    W_V = require_rows("W_V", W_V, embedding.shape[-1], of="embedding has columns")
    W_O = require_rows("W_O", W_O, W_V.shape[-1], of="W_V has columns")
    unembedding = require_rows("unembedding", unembedding, W_O.shape[-1], of="W_O has columns")
    require_batch(embedding=embedding, W_V=W_V, W_O=W_O, unembedding=unembedding)
    return embedding, W_V, W_O, unembedding


@in_range
def full_qk_circuit(embedding: Array, W_Q: Array, W_K: Array) -> Array:
    """The content score of each query token (a row) and key token, before scaling: (..., V, d), ... -> (..., V, V).

    >>> full_qk_circuit(np.eye(2), np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    embedding = require_matrix("embedding", embedding)
    W_Q = require_rows("W_Q", W_Q, embedding.shape[-1], of="embedding has columns")
    W_K = require_rows("W_K", W_K, embedding.shape[-1], of="embedding has columns")
    require_batch(embedding=embedding, W_Q=W_Q, W_K=W_K)
    return qk_circuit(embedding @ W_Q, embedding @ W_K)


@in_range
def copying_score(embedding: Array, W_V: Array, W_O: Array, unembedding: Array) -> Array:
    """sum(eigenvalues) / sum(|eigenvalues|) of the full OV circuit, in [-1, 1]: ... -> (..., 1, 1).

    Positive where a head raises the logits of the tokens it attends to. Only the (h, h) matrix W_O U E W_V is formed,
    whose eigenvalues are the nonzero ones of the (V, V) circuit. Rationals only where all of them are rational, as
    NotExact says; a circuit whose eigenvalues are all zero has no score and raises DomainError.
    Source: the copying analysis of "A Mathematical Framework for Transformer Circuits".

    >>> E = np.eye(3)
    >>> copying_score(E, E, E, E).item(), copying_score(E, -E, E, E).item()
    (1.0, -1.0)
    """
    embedding, W_V, W_O, unembedding = _token_maps(embedding, W_V, W_O, unembedding)
    if unembedding.shape[-1] != embedding.shape[-2]:
        symbols = embedding.shape[-2]
        raise ShapeError(f"unembedding: expected {symbols} columns, as embedding has rows, got {unembedding.shape}")
    small = W_O @ unembedding @ (embedding @ W_V)
    sizes = total(eigenvalue_moduli(small))
    if values_matter(small):
        refuse_where(sizes == 0, "W_V, W_O: a head that writes nothing has no copying score (batch index {at})")
    return trace(small) / sizes


# ---- from the stream to logits ----------------------------------------------


@in_range
def logit_lens(x: Array, unembedding: Array, final_norm: Callable[[Array], Array] | None = None) -> Array:
    """The stream (..., n, d) between two layers read as logits (..., n, V), through the final norm if there is one.

    The norm acts on x itself, with the scale of x: a scale kept from the last layer would flatten every earlier
    reading. Exact for a model without a final norm, a heuristic otherwise.
    Source: "The Transformer Block and the Residual
    Stream", Induction heads.

    >>> logit_lens(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    array([[1., 2., 3.]])
    """
    x = require_matrix("x", x)
    unembedding = require_rows("unembedding", unembedding, x.shape[-1], of="x has columns")
    require_batch(x=x, unembedding=unembedding)
    if final_norm is not None:
        require_callable("final_norm", final_norm)
        x = require_width("final_norm(x)", final_norm(x), x.shape[-1], of="x has")
    return x @ unembedding


class Attribution(NamedTuple):
    """Logits as a sum: one array (..., n, V) for each part, and what belongs to no part (bias terms), (..., 1, V).

    >>> parts = Attribution([np.array([[1.0, 2.0]]), np.array([[0.0, -1.0]])], np.array([[0.5, 0.5]]))
    >>> sum(parts.parts) + parts.constant
    array([[1.5, 1.5]])
    """

    parts: list[Array]
    constant: Array

    @in_range
    def total(self) -> Array:
        """The sum of all parts and the constant, which is the model's logits: (..., n, V)."""
        logits = self.constant
        for part in self.parts:
            logits = logits + part
        return logits


@in_range
def direct_logit_attribution(
    parts: Sequence[Array],
    unembedding: Array,
    gain: Array,
    bias: Array,
    output_bias: Array,
    epsilon: Epsilon = 0,
) -> Attribution:
    """Share of each write in the logits of a model with a final LayerNorm, with the scale of the whole stream frozen.

    Shapes: every part (..., n, d), which sum to the final stream; unembedding (..., d, V); gain and bias (..., 1, d);
    output_bias (..., 1, V). The part c contributes ((c - mean c) / sigma * gain) @ unembedding, where sigma is that of
    the sum of all parts; bias @ unembedding + output_bias is the constant. Without a final norm a part's share is
    `part @ unembedding`. No parts raise ShapeError, a constant stream (sigma = 0) raises DomainError.
    Source: Theorem 3 and its caveat (each token's scale frozen) of "The Transformer Block and the Residual Stream".

    >>> writes, ones = [np.array([[4.0, 0.0]]), np.array([[0.0, 2.0]])], np.ones((1, 2))
    >>> found = direct_logit_attribution(writes, np.eye(2), ones, 0 * ones, 0 * ones)
    >>> (sum(found.parts) + found.constant).tolist()
    [[1.0, -1.0]]
    """
    parts = require_sequence("parts", parts, "writes", least=1)
    for index, part in enumerate(parts):
        parts[index] = part = require_matrix(f"parts[{index}]", part)
        if part.shape[-2:] != parts[0].shape[-2:]:
            raise ShapeError(f"parts[{index}]: expected rows and columns {parts[0].shape[-2:]}, got shape {part.shape}")
        require_batch(**{"parts[0]": parts[0], f"parts[{index}]": part})
    d = parts[0].shape[-1]
    unembedding = require_rows("unembedding", unembedding, d, of="the parts have columns")
    gain = require_row("gain", gain, d, of="the parts have")
    bias = require_row("bias", bias, d, of="the parts have")
    output_bias = require_row("output_bias", output_bias, unembedding.shape[-1], of="unembedding has")
    stream = parts[0]
    for part in parts[1:]:
        stream = stream + part
    require_batch(parts=stream, unembedding=unembedding, gain=gain, bias=bias, output_bias=output_bias)
    scale = layer_norm_scale("parts", stream, epsilon)
    return Attribution(
        [(centre(part) / scale * gain) @ unembedding for part in parts], bias @ unembedding + output_bias
    )
