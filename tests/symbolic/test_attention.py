"""Attention's derivatives with respect to scores, queries, keys and values, by entries against the closed forms.

Sizes: one query and two or three keys (rows do not meet), widths one and two; all entries real symbols.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import derivative
from resstream.reference import attention, attention_scores, softmax

SHAPES = [(1, 2, 1, 1), (2, 2, 1, 2), (1, 3, 2, 1)]  # queries, keys, head width, value width
t = sp.Symbol("t", real=True)


def output(Q, K, V):
    """Attention written out: sums over keys of exp(q.k/sqrt h) v over the sum of the exponentials."""
    h = Q.shape[1]
    rows = []
    for q in Q:
        weights = [sp.exp(sum(a * b for a, b in zip(q, k, strict=True)) / sp.sqrt(h)) for k in K]
        rows.append([sum(w * v[c] for w, v in zip(weights, V, strict=True)) / sum(weights) for c in range(V.shape[1])])
    return np.array(rows, dtype=object)


def slope(values):
    """Derivative by t at t = 0, entry by entry."""
    return np.array([[sp.diff(entry, t).subs(t, 0) for entry in row] for row in values], dtype=object)


@pytest.fixture(params=SHAPES, ids=str)
def instance(request, symbols):
    n, m, h, v = request.param
    names = {"Q": (n, h), "K": (m, h), "V": (m, v)}
    return {name: (symbols(name.lower(), *shape), symbols("d" + name.lower(), *shape)) for name, shape in names.items()}


def closed(Q, K, V, dQ, dK, dV, sign=-1, scaled=True):
    """dO = dA V + A dV with dA = A o dS less A times the row sums of A o dS, and dS = (dQ K' + Q dK')/sqrt h."""
    A = softmax(attention_scores(Q, K))
    dS = (dQ @ K.T + Q @ dK.T) / (sp.sqrt(Q.shape[1]) if scaled else 1)
    weighted = A * dS
    dA = weighted + sign * A * np.sum(weighted, axis=1, keepdims=True)
    return dA @ V + A @ dV


@pytest.mark.parametrize("of", ["Q", "K", "V"])
def test_derivative_by_each_argument(of, instance, same):
    points = {name: point for name, (point, _) in instance.items()}
    moves = {name: direction if name == of else 0 * direction for name, (_, direction) in instance.items()}
    by_hand = slope(output(**{name: points[name] + t * moves[name] for name in points}))
    assert same(by_hand, closed(*points.values(), *moves.values()))

    def move(x):
        return attention(**{name: x if name == of else point for name, point in points.items()})

    assert same(by_hand, derivative(move, *instance[of]))


def test_derivative_by_the_scores(same, symbols):
    """dA = A o (dS - row sums of A o dS), for two rows of three scores."""
    S, dS = symbols("s", 2, 3), symbols("ds", 2, 3)
    moved = S + t * dS
    by_hand = slope([[sp.exp(entry) / sum(sp.exp(other) for other in row) for entry in row] for row in moved])
    A = softmax(S)
    assert same(by_hand, A * (dS - np.sum(A * dS, axis=1, keepdims=True)))
    assert same(by_hand, derivative(softmax, S, dS))
    assert not same(by_hand, A * (dS - np.sum(dS, axis=1, keepdims=True) / 3))
    assert not same(by_hand, A * dS)


@pytest.mark.parametrize("mistake", ["sign", "scale", "lost transpose"])
def test_planted_mistakes_are_rejected(mistake, same, symbols):
    n, m, h, v = (2, 2, 2, 1)
    Q, K, V = symbols("q", n, h), symbols("k", m, h), symbols("v", m, v)
    dQ, dK, dV = symbols("dq", n, h), 0 * K, 0 * V
    by_hand = slope(output(Q + t * dQ, K, V))
    assert same(by_hand, closed(Q, K, V, dQ, dK, dV))
    wrong = {
        "sign": lambda: closed(Q, K, V, dQ, dK, dV, sign=1),
        "scale": lambda: closed(Q, K, V, dQ, dK, dV, scaled=False),
        "lost transpose": lambda: closed(Q, K, V, dQ.T, dK, dV),
    }
    assert not same(by_hand, wrong[mistake]())
