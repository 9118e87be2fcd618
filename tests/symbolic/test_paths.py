"""Sums over paths with symbols that do not commute: the order of every product counts, as it does for matrices.

The subset sum of a residual stack for up to five layers, the path expansion for up to three layers of two heads, and
the four terms of a second layer's scores.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import sympy as sp

from resstream.reference import (
    AttentionOnlyModel,
    backward_recursion,
    identity_path_product,
    paths,
    subset_sum,
)


def free(name):
    """A symbol that commutes with nothing."""
    return sp.Symbol(name, commutative=False)


def one(entry):
    """A matrix of one entry."""
    return np.array([[entry]], dtype=object)


def terms(expression):
    return sp.Add.make_args(sp.expand(expression))


def ordered(factors):
    result = sp.S.One
    for factor in factors:
        result = result * factor
    return result


# ---- the residual stack -----------------------------------------------------


@pytest.mark.parametrize("L", [1, 2, 3, 4, 5])
def test_the_product_is_the_sum_over_subsets(L):
    """(1 + J_0)...(1 + J_{L-1}) expands into 2^L different terms, one for each subset, in layer order."""
    Js = [free(f"J{k}") for k in range(L)]
    derived = sp.expand(ordered(1 + J for J in Js))
    assert len(set(terms(derived))) == 2**L
    assert set(terms(derived)) == {ordered(subset) for size in range(L + 1) for subset in combinations(Js, size)}
    arrays = [one(J) for J in Js]
    assert sp.expand(identity_path_product(arrays).item() - derived) == 0
    assert sp.expand(subset_sum(arrays).item() - derived) == 0
    assert sp.expand(subset_sum(arrays).item() - derived + 1) != 0


@pytest.mark.parametrize("L", [2, 3])
def test_the_reverse_order_is_another_product(L):
    Js = [free(f"J{k}") for k in range(L)]
    derived = sp.expand(ordered(1 + J for J in Js))
    assert sp.expand(ordered(1 + J for J in reversed(Js)) - derived) != 0
    assert sp.expand(identity_path_product([one(J) for J in reversed(Js)]).item() - derived) != 0


@pytest.mark.parametrize("L", [1, 2, 3, 4, 5])
def test_backpropagation_multiplies_from_the_last_layer(L):
    """g_0 = g (1 + J_{L-1})...(1 + J_0), where J stands for the transpose: 2^L terms; without the skip there is one."""
    g, Js = free("g"), [free(f"J{k}") for k in range(L)]
    gradients = backward_recursion(one(g), [one(J) for J in Js])
    assert sp.expand(gradients[0].item() - g * ordered(1 + J for J in reversed(Js))) == 0
    assert len(terms(gradients[0].item())) == 2**L
    assert g in terms(gradients[0].item())
    plain = backward_recursion(one(g), [one(J) for J in Js], residual=False)
    assert plain[0].item() == g * ordered(reversed(Js))


# ---- the path expansion -----------------------------------------------------


def letters(layers, heads):
    A = [[free(f"A{layer}{head}") for head in range(heads)] for layer in range(layers)]
    W = [[free(f"W{layer}{head}") for head in range(heads)] for layer in range(layers)]
    return A, W, free("x"), free("U")


def run(A, W, x, U):
    """The logits of x <- x + sum_h A x W, patterns on the left and circuits on the right."""
    for patterns, circuits in zip(A, W, strict=True):
        x = x + sum(pattern * x * circuit for pattern, circuit in zip(patterns, circuits, strict=True))
    return sp.expand(x * U)


def term(chain, A, W, x, U, *, later_first=True):
    """A_m ... A_1 x W_1 ... W_m U."""
    left = [A[layer][head] for layer, head in chain]
    right = [W[layer][head] for layer, head in chain]
    return ordered([*(reversed(left) if later_first else left), x, *right, U])


def by_choice(layers, heads):
    """At every layer the skip (None) or a head."""
    for choices in product([None, *range(heads)], repeat=layers):
        yield tuple((layer, head) for layer, head in enumerate(choices) if head is not None)


SIZES = [(layers, heads) for layers in (1, 2, 3) for heads in (1, 2)]


@pytest.mark.parametrize(("layers", "heads"), SIZES)
def test_the_logits_are_a_sum_over_paths(layers, heads):
    """(1 + H)^L different terms, one for each chain of heads, the direct path x U among them."""
    A, W, x, U = letters(layers, heads)
    derived = run(A, W, x, U)
    assert len(set(terms(derived))) == (1 + heads) ** layers
    chains = list(by_choice(layers, heads))
    assert set(terms(derived)) == {term(chain, A, W, x, U) for chain in chains}
    assert x * U in terms(derived)
    assert paths(layers, heads) == chains
    wrong = {term(chain, A, W, x, U, later_first=False) for chain in chains}
    assert (set(terms(derived)) == wrong) == (layers == 1)  # the order of patterns shows from two layers on


@pytest.mark.parametrize(("layers", "heads"), SIZES)
def test_the_reference_has_these_terms(layers, heads):
    """Read with the same letters: every path of `path_expansion`, and the logits of a run with the patterns given."""
    A, W, x, U = letters(layers, heads)
    shape = (layers, heads, 1, 1)
    zero, unit = np.full(shape, sp.S.Zero), np.full(shape, sp.S.One)
    circuits = np.array(W, dtype=object).reshape(shape)
    model = AttentionOnlyModel(one(sp.S.One), one(U), zero, zero, circuits, unit, zero, zero, base=None)
    patterns = [np.array(row, dtype=object).reshape(heads, 1, 1) for row in A]
    expansion = model.path_expansion(one(x), patterns)
    assert {chain: value.item() for chain, value in expansion.items()} == {
        chain: term(chain, A, W, x, U) for chain in by_choice(layers, heads)
    }
    logits = model.run(one(x), patterns=patterns).logits.item()
    assert sp.expand(logits - run(A, W, x, U)) == 0
    if layers > 1:
        assert sp.expand(logits - run(A[::-1], W, x, U)) != 0


# ---- the scores of a second layer -------------------------------------------


def test_scores_split_into_four_terms():
    """(x + w) Q K' (y + v): none, queries alone, keys alone, both; three terms are not enough."""
    x, w, Q, K, y, v = (free(name) for name in ("x", "w", "Q", "K", "y", "v"))
    derived = sp.expand((x + w) * Q * K * (y + v))
    split = {"none": x * Q * K * y, "queries": w * Q * K * y, "keys": x * Q * K * v, "both": w * Q * K * v}
    assert set(terms(derived)) == set(split.values())
    assert sp.expand(derived - sum(list(split.values())[:3])) != 0


def test_the_reference_splits_scores_alike(same, symbols):
    """For all real streams, maps and biases, at two tokens, width two, head width two; biases go with x_0."""
    x, w = symbols("x", 2, 2), symbols("w", 2, 2)
    W_Q, W_K, b_Q, b_K = symbols("q", 2, 2), symbols("k", 2, 2), symbols("bq", 1, 2), symbols("bk", 1, 2)
    zero = np.full((2, 2), sp.S.Zero)
    stack = lambda of: np.stack([np.stack([0 * of]), np.stack([of])])  # noqa: E731 - a first layer that is not read
    model = AttentionOnlyModel(
        zero, zero, stack(W_Q), stack(W_K), stack(zero), stack(zero), stack(b_Q), stack(b_K), base=None
    )
    split = model.score_terms(1, x, w)
    root = sp.sqrt(2)
    q, k, dq, dk = x @ W_Q + b_Q, x @ W_K + b_K, w @ W_Q, w @ W_K
    expected = {"none": q @ k.T, "queries": dq @ k.T, "keys": q @ dk.T, "both": dq @ dk.T}
    for name, value in expected.items():
        assert same(getattr(split, name)[0], value / root)
        assert not same(getattr(split, name)[0], value.T / root)
    whole = ((x + w) @ W_Q + b_Q) @ ((x + w) @ W_K + b_K).T / root
    assert same(sum(split)[0], whole)
    assert same(model.scores(1, x + w)[0], whole)
    assert not same((split.none + split.queries + split.keys)[0], whole)
