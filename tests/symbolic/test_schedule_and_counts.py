"""Noam's schedule, the lengths of paths, and what a block counts: formulas in the sizes, derived and compared."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.claims import training
from resstream.reference import MLP, AttentionOnlyModel, Head, paths
from resstream.reference.training import noam_rate

# ---- the learning rate ------------------------------------------------------

step, width, warmup = sp.symbols("step width warmup", positive=True)
RISING = step * warmup ** sp.Rational(-3, 2) / sp.sqrt(width)
FALLING = step ** sp.Rational(-1, 2) / sp.sqrt(width)


def test_noam_is_continuous_and_largest_at_the_end_of_the_warm_up(same):
    """The branches meet at the warm-up step, where one has risen and the other begins to fall: 1/sqrt(width warmup).

    For all positive steps, widths and warm-ups. Which branch is smaller: their quotient is (step/warmup)^(3/2).
    """
    peak = 1 / sp.sqrt(width * warmup)
    assert same(RISING.subs(step, warmup), peak)
    assert same(FALLING.subs(step, warmup), peak)
    assert same((RISING / FALLING) ** 2, (step / warmup) ** 3)
    assert sp.diff(RISING, step).is_positive
    assert sp.diff(FALLING, step).is_negative
    assert not same(RISING.subs(step, 2 * warmup), FALLING.subs(step, 2 * warmup))
    assert not same(peak, 1 / sp.sqrt(width))


def test_the_reference_follows_the_schedule(same):
    """min of the two branches, for all positive arguments."""
    arrays = [np.array([[entry]], dtype=object) for entry in (step, width, warmup)]
    assert same(noam_rate(*arrays).item(), sp.Min(RISING, FALLING))
    assert not same(noam_rate(*arrays).item(), sp.Max(RISING, FALLING))
    assert not same(noam_rate(*arrays).item(), RISING)


# ---- the lengths of paths ---------------------------------------------------

a, t = sp.symbols("a t", positive=True)
S = sp.Symbol("S", integer=True, positive=True)


@pytest.mark.parametrize("layers", range(1, 7))
def test_path_weights_at_small_depths(layers):
    """C(S, k) a^k/(1 + a)^S sums to one, with mean S a/(1 + a) and variance S a/(1 + a)^2, for S = 1..6 and every a.

    The number of paths through k layers is counted from the list of paths, one head a layer.
    """
    lengths = [len(path) for path in paths(layers, 1)]
    weights = [lengths.count(k) * a**k / (1 + a) ** layers for k in range(layers + 1)]
    assert sp.simplify(sum(weights) - 1) == 0
    mean = sum(k * weight for k, weight in enumerate(weights))
    assert sp.simplify(mean - layers * a / (1 + a)) == 0
    variance = sum(k**2 * weight for k, weight in enumerate(weights)) - mean**2
    assert sp.simplify(variance - layers * a / (1 + a) ** 2) == 0
    assert sp.simplify(mean - sp.Rational(layers, 2)) != 0


def test_path_weights_at_every_depth():
    """From the generating function sum C(S, k) (a t)^k = (1 + a t)^S, for every S and a: its derivatives at t = 1."""
    G = (1 + a * t) ** S / (1 + a) ** S
    assert sp.simplify(G.subs(t, 1) - 1) == 0
    mean = sp.diff(G, t).subs(t, 1)
    assert sp.simplify(mean - S * a / (1 + a)) == 0
    variance = sp.diff(t * sp.diff(G, t), t).subs(t, 1) - mean**2
    assert sp.simplify(variance - S * a / (1 + a) ** 2) == 0
    assert sp.simplify(variance - S * a / (1 + a)) != 0


# ---- what a block holds and does --------------------------------------------

d, H, L, V, n = sp.symbols("d H L V n", integer=True, positive=True)
h = d / H


def products(*shapes):
    """Multiplications and additions of matrix products (rows, inner, columns): two for each."""
    return sum(2 * rows * inner * columns for rows, inner, columns in shapes)


PER_HEAD = {"W_Q": (d, h), "W_K": (d, h), "W_V": (d, h), "W_O": (h, d)}
OF_MLP = {"W_1": (d, 4 * d), "W_2": (4 * d, d)}


def entries(shapes):
    return sum(rows * columns for rows, columns in shapes.values())


def test_parameters_of_a_block():
    """4 d^2/H a head, 4 d^2 all heads, 8 d^2 the MLP of width 4d, 12 d^2 a block without biases; for all d and H."""
    assert sp.expand(entries(PER_HEAD) - 4 * d**2 / H) == 0
    assert sp.expand(entries(OF_MLP) - 8 * d**2) == 0
    block = H * entries(PER_HEAD) + entries(OF_MLP)
    assert sp.expand(block - 12 * d**2) == 0
    assert sp.simplify(entries(OF_MLP) / block) == sp.Rational(2, 3)
    model = L * block + 2 * V * d
    assert sp.expand(model - (12 * L * d**2 + 2 * V * d)) == 0
    assert (
        sp.simplify(L * entries(OF_MLP) / model - sp.Rational(2, 3)) != 0
    )  # two thirds of the blocks, not of the model


@pytest.mark.parametrize(("width", "heads"), [(4, 2), (6, 3)])
def test_the_reference_holds_as_many(width, heads):
    """Entries of the arrays of heads and of the MLP, biases apart, at two sizes: as here, and as the claims count."""
    size = {d: width, H: heads, L: 2, V: 5}
    head_width = width // heads
    shapes = [(width, head_width)] * 3 + [(head_width, width)]
    head = Head(*(np.zeros(shape) for shape in shapes))
    assert sum(W.size for W in (head.W_Q, head.W_K, head.W_V, head.W_O)) == entries(PER_HEAD).subs(size)
    assert training.head_parameters(width, head_width) == entries(PER_HEAD).subs(size)
    weights = MLP(
        np.zeros((width, 4 * width)), np.zeros((1, 4 * width)), np.zeros((4 * width, width)), np.zeros((1, width))
    )
    assert weights.W_1.size + weights.W_2.size == entries(OF_MLP).subs(size)
    assert training.mlp_parameters(width) == entries(OF_MLP).subs(size)
    assert weights.b_1.size + weights.b_2.size == (5 * d).subs(size)
    maps = [np.zeros((2, heads, *shape)) for shape in shapes]
    biases = np.zeros((2, heads, 1, head_width))
    model = AttentionOnlyModel(np.zeros((5, width)), np.zeros((width, 5)), *maps, biases, biases, base=None)
    held = (
        sum(W.size for W in (model.W_Q, model.W_K, model.W_V, model.W_O))
        + model.embedding.size
        + model.unembedding.size
    )
    assert held == (L * H * entries(PER_HEAD) + 2 * V * d).subs(size)


def test_operations_of_a_block():
    """On n tokens: two for each weight and token, and 4 n d a token for scores and averages; for all n, d and H.

    So 24 d^2 + 4 n d a token, of which the quadratic part passes the rest at n = 6 d.
    """
    weights = H * products(*[(n, d, h)] * 3, (n, h, d)) + products((n, d, 4 * d), (n, 4 * d, d))
    attention = H * products((n, h, n), (n, n, h))
    assert sp.expand(weights / n - 2 * 12 * d**2) == 0
    assert sp.expand(attention / n - 4 * n * d) == 0
    per_token = sp.expand((weights + attention) / n)
    assert sp.expand(per_token - (24 * d**2 + 4 * n * d)) == 0
    assert sp.solve(sp.Eq(attention / n, weights / n), n) == [6 * d]
    whole = L * per_token + products((1, d, V))
    assert sp.expand(whole - (24 * L * d**2 + 4 * L * n * d + 2 * d * V)) == 0
    assert sp.expand(per_token - (12 * d**2 + 4 * n * d)) != 0  # one operation for each weight is not enough
