"""The MLP's Jacobian and those of pre-LN and post-LN sublayers (Theorem 2 (ii) and (iii)), by entries.

Sizes: width three, where LayerNorm's Jacobian is not zero, one token, a few neurons. Row convention throughout.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import jacobian
from resstream.reference import MLP, identity_path_product, layer_norm, layer_norm_jacobian, mlp, stack_jacobians

D = 3
IDENTITY = np.eye(D, dtype=int).astype(object)


def entries(outputs, x):
    """Entry (j, i): derivative of output i by x_j."""
    return np.array([[sp.diff(output, entry) for output in outputs] for entry in x.flat], dtype=object)


def norm(x):
    """LayerNorm by its definition."""
    middle = sum(x) / len(x)
    size = sp.sqrt(sum((entry - middle) ** 2 for entry in x) / len(x))
    return [(entry - middle) / size for entry in x]


def linear(x, W):
    return [sum(a * W[i, j] for i, a in enumerate(x)) for j in range(W.shape[1])]


@pytest.mark.parametrize(("d", "w", "e"), [(2, 3, 2), (3, 1, 2), (1, 2, 3)])
def test_relu_mlp(d, w, e, same, symbols):
    """W_1 diag(step(x W_1 + b_1)) W_2, wherever no neuron is exactly at zero."""
    x, W_1, b_1 = symbols("x", 1, d), symbols("a", d, w), symbols("b", 1, w)
    W_2, b_2 = symbols("c", w, e), symbols("o", 1, e)
    inputs = [sum(x[0, k] * W_1[k, i] for k in range(d)) + b_1[0, i] for i in range(w)]
    outputs = [sum(sp.Max(inputs[i], 0) * W_2[i, j] for i in range(w)) + b_2[0, j] for j in range(e)]
    gates = np.diag([sp.Heaviside(entry) for entry in inputs])
    by_hand = entries(outputs, x)
    weights = MLP(W_1, b_1, W_2, b_2)
    assert same(np.array([outputs], dtype=object), mlp(x, weights))
    assert same(by_hand, W_1 @ gates @ W_2)
    assert same(by_hand, jacobian(lambda row: mlp(row, weights), x))
    assert not same(by_hand, W_1 @ W_2)
    assert not same(by_hand, W_1 @ np.diag([sp.Heaviside(-entry) for entry in inputs]) @ W_2)


@pytest.fixture
def x(symbols):
    return symbols("x", 1, D)


@pytest.fixture(name="W")
def linear_map(symbols):
    return symbols("w", D, D)


def test_pre_ln_sublayer(x, W, same):
    """x + LN(x) W has the Jacobian I + J_LN(x) W, for every W and every x that is not constant, at width 3."""
    outputs = [a + b for a, b in zip(x.flat, linear(norm(list(x.flat)), W), strict=True)]
    by_hand = entries(outputs, x)
    J = layer_norm_jacobian(x)
    assert same(by_hand, IDENTITY + J @ W)
    assert same(by_hand, identity_path_product(stack_jacobians([lambda row: layer_norm(row) @ W], x)))
    assert not same(by_hand, IDENTITY + W @ J)  # the page prints the column convention, which is the transpose
    assert not same(by_hand, J @ (IDENTITY + W))
    assert not same(by_hand, IDENTITY + J @ W.T)


def test_post_ln_sublayer(x, W, same):
    """LN(x + x W) has the Jacobian (I + W) J_LN(x + x W): the skip passes through the norm too. At width 3."""
    inside = [a + b for a, b in zip(x.flat, linear(list(x.flat), W), strict=True)]
    by_hand = entries(norm(inside), x)
    J = layer_norm_jacobian(np.array([inside], dtype=object))
    assert same(by_hand, (IDENTITY + W) @ J)
    assert same(by_hand, jacobian(lambda row: layer_norm(row + row @ W), x))
    assert not same(by_hand, IDENTITY + W @ J)
    assert not same(by_hand, (IDENTITY + W) @ layer_norm_jacobian(x))


def test_pre_ln_mlp_sublayer(x, same, symbols):
    """x + MLP(LN(x)) has the Jacobian I + J_LN(x) J_MLP(LN x), with one ReLU neuron, at width 3."""
    W_1, b_1, W_2 = symbols("a", D, 1), symbols("b", 1, 1), symbols("c", 1, D)
    (pre,) = linear(norm(list(x.flat)), W_1)
    gate = pre + b_1.item()
    by_hand = entries([entry + sp.Max(gate, 0) * W_2[0, j] for j, entry in enumerate(x.flat)], x)
    J_mlp = W_1 @ W_2 * sp.Heaviside(gate)
    assert same(by_hand, IDENTITY + layer_norm_jacobian(x) @ J_mlp)
    weights = MLP(W_1, b_1, W_2, 0 * x)
    assert same(by_hand, identity_path_product(stack_jacobians([lambda row: mlp(layer_norm(row), weights)], x)))


def test_two_post_ln_layers_pass_through_two_norms(same, symbols):
    """With F_k(x) = c_k x, x_2 has the Jacobian (1 + c_0) J_0 (1 + c_1) J_1, both of LayerNorm; at width 3.

    No path is the identity: even with c_0 = c_1 = 0 the Jacobian is J_0 J_1, which is J_0 over LN's own scale, one.
    """
    x, (c_0, c_1) = symbols("x", 1, D), sp.symbols("c_0 c_1", positive=True)
    first = norm([(1 + c_0) * entry for entry in x.flat])
    second = norm([(1 + c_1) * entry for entry in first])
    by_hand = entries(second, x)
    at = np.array([first], dtype=object)
    J_0, J_1 = layer_norm_jacobian((1 + c_0) * x), layer_norm_jacobian((1 + c_1) * at)
    assert same(by_hand, (1 + c_0) * J_0 @ ((1 + c_1) * J_1))
    assert not same(by_hand, IDENTITY + (1 + c_0) * J_0 @ ((1 + c_1) * J_1))
