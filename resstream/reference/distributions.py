"""Probability vectors as rows: the logarithms of softmax, entropy, and how far apart two of them are."""

from __future__ import annotations

import numpy as np

from resstream.arithmetic import Array, absolute, amax, amin, exp, log, ones, peak, sqrt, square, total, where, zeros
from resstream.reference.checks import (
    certainly,
    in_range,
    refuse_where,
    require_batch,
    require_matrix,
    require_row_stochastic,
    require_rows,
    require_width,
    values_matter,
)
from resstream.reference.magnitudes import root_of_squares


@in_range
def logsumexp(scores: Array) -> Array:
    """Logarithm of the sum of the exponentials of every row: (..., n, m) -> (..., n, 1).

    >>> logsumexp(np.array([[1000.0, 1000.0]])) - 1000
    array([[0.69314718]])
    """
    scores = require_matrix("scores", scores)
    top = peak(scores)
    return top + log(total(exp(scores - top)))


@in_range
def log_softmax(scores: Array) -> Array:
    """Logarithm of the softmax of every row: (..., n, m) -> (..., n, m), at most 0.

    >>> log_softmax(np.array([[0.0, 0.0]])).round(4).tolist()
    [[-0.6931, -0.6931]]
    """
    scores = require_matrix("scores", scores)
    shifted = scores - peak(scores)
    return shifted - log(total(exp(shifted)))


@in_range
def entropy(P: Array) -> Array:
    """Shannon entropy of every row in nats, with 0 log 0 = 0: (..., n, m) -> (..., n, 1), from 0 to log m.

    Rows that are no distributions raise DomainError.

    >>> entropy(np.array([[0.5, 0.5], [0.25, 0.75]])).round(4).tolist()
    [[0.6931], [0.5623]]
    """
    P = require_row_stochastic("P", P)
    return -total(_weighted_logarithm(P, P))


@in_range
def kl_divergence(P: Array, Q: Array) -> Array:
    """Kullback-Leibler divergence KL(P || Q) of rows in nats, sum of p log(p/q): (..., n, m) each -> (..., n, 1), >= 0.

    Rows that are no distributions raise DomainError, and so does a q of 0 beside a positive p.

    >>> kl_divergence(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]))
    array([[0.69314718]])
    """
    P, Q = _two_distributions(P, Q)
    if values_matter(P):
        missing = certainly(Q, lambda q: q == 0) & certainly(P, lambda p: p > 0)
        refuse_where(missing, "Q: the divergence is infinite, as Q is 0 at {at} and P is not")
    return total(_weighted_logarithm(P, P / Q))


@in_range
def total_variation(P: Array, Q: Array) -> Array:
    """Total variation distance of rows, half their l1 distance: (..., n, m) each -> (..., n, 1), in [0, 1].

    Rows that are no distributions raise DomainError.

    >>> total_variation(np.array([[1.0, 0.0]]), np.array([[0.75, 0.25]])).item()
    0.25
    """
    P, Q = _two_distributions(P, Q)
    return total(absolute(P - Q)) / 2


@in_range
def hellinger(P: Array, Q: Array) -> Array:
    """Hellinger distance of rows, that of their roots over sqrt(2): (..., n, m) each -> (..., n, 1), in [0, 1].

    Rows that are no distributions raise DomainError.

    >>> hellinger(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])).item()
    1.0
    """
    P, Q = _two_distributions(P, Q)
    return root_of_squares(lambda x: total(square(x)) / 2, sqrt(P) - sqrt(Q), axes=1)


@in_range
def hilbert_metric(X: Array, Y: Array) -> Array:
    """Hilbert's projective metric of positive rows, log(max(x/y) / min(x/y)): (..., n, m) each -> (..., n, 1), >= 0.

    Entries that are not positive raise DomainError.

    >>> hilbert_metric(np.array([[1.0, 2.0]]), np.array([[3.0, 3.0]]))
    array([[0.69314718]])
    """
    X, Y = _positive("X", X), _positive("Y", Y)
    _require_pair(X=X, Y=Y)
    quotients = X / Y
    return log(amax(quotients) / amin(quotients))


@in_range
def birkhoff_coefficient(A: Array) -> Array:
    """Birkhoff's coefficient of x -> x @ A in Hilbert's metric: positive (..., n, m) -> (..., 1, 1), in [0, 1).

    It is tanh(D/4) with D the largest distance of two rows; one row gives exactly 0. Entries that are not positive
    raise DomainError. Source: Birkhoff, Extensions of Jentzsch's theorem (1957); Seneta, Non-negative Matrices, 3.4.

    >>> birkhoff_coefficient(np.array([[0.8, 0.2], [0.2, 0.8]])).round(12).item()
    0.6
    """
    A = _positive("A", A)
    if A.shape[-2] == 1:
        return zeros((*A.shape[:-2], 1, 1), like=A)
    shares = []
    for k in range(1, A.shape[-2]):
        quotients = A[..., k:, :] / A[..., :-k, :]
        shares.append(amin(amin(quotients) / amax(quotients), -2))
    smallest = amin(np.concatenate(shares, axis=-1))
    return (1 - smallest) / square(1 + sqrt(smallest))


def _weighted_logarithm(P: Array, of: Array) -> Array:
    """p log x, entry by entry, which is 0 where p is."""
    return P * log(where(P == 0, ones((1,) * P.ndim, like=P), of))


def _two_distributions(P: Array, Q: Array) -> tuple[Array, Array]:
    P, Q = require_row_stochastic("P", P), require_row_stochastic("Q", Q)
    _require_pair(P=P, Q=Q)
    return P, Q


def _require_pair(**pair: Array) -> None:
    """Refuse two matrices of different trailing axes."""
    (first, x), (second, y) = pair.items()
    require_rows(second, y, x.shape[-2], of=f"{first} has")
    require_width(second, y, x.shape[-1], of=f"{first} has")
    require_batch(**pair)


def _positive(name: str, X: Array) -> Array:
    X = require_matrix(name, X)
    if values_matter(X):
        refuse_where(certainly(X, lambda x: x <= 0), f"{name}: expected positive entries, got another at {{at}}")
    return X
