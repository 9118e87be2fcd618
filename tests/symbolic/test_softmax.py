"""Softmax, cross-entropy and label smoothing: derivatives from the definitions, against the closed forms.

By entries at two, three and four classes; and for a general whole number n of classes, by index.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import jacobian
from resstream.reference import softmax
from resstream.reference.training import cross_entropy, smoothed_targets

CLASSES = (2, 3, 4)


def probabilities(z):
    """softmax as it is defined, without any shift."""
    weights = [sp.exp(entry) for entry in z.flat]
    return np.array([[weight / sum(weights) for weight in weights]], dtype=object)


def gradient(expression, z):
    return np.array([[sp.diff(expression, entry) for entry in z.flat]], dtype=object)


def derived(z):
    """Entry (j, i): derivative of probability i by logit j."""
    return np.concatenate([gradient(p, z) for p in probabilities(z).flat]).T


@pytest.mark.parametrize("n", CLASSES)
def test_jacobian_is_diagonal_less_outer_product(n, same, symbols):
    """diag(p) - p'p for all real logits, at n = 2, 3, 4; symmetric, with the all-ones vector in its kernel."""
    z = symbols("z", 1, n)
    p = probabilities(z)
    J = derived(z)
    assert same(p, softmax(z))
    assert same(J, np.diag(p[0]) - p.T @ p)
    assert same(J, jacobian(softmax, z))
    assert same(J, J.T)
    assert same(np.ones((1, n), dtype=int) @ J, np.zeros((1, n)))


MISTAKES = {
    "no outer product": lambda p: np.diag(p[0]),
    "sign": lambda p: np.diag(p[0]) + p.T @ p,
    "half": lambda p: (np.diag(p[0]) - p.T @ p) / 2,
    "squares alone": lambda p: np.diag(p[0] - p[0] ** 2),
    "rows weighted": lambda p: np.diag(p[0]) - p.T @ np.ones((1, 3), dtype=int) / 3,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_rejected(mistake, same, symbols):
    z = symbols("z", 1, 3)
    assert not same(derived(z), MISTAKES[mistake](probabilities(z)))


def test_jacobian_for_every_number_of_classes():
    """d p_i/d z_j = p_i (delta_ij - p_j) for every n, from Z = sum exp z and d log Z/d z_j = exp(z_j)/Z."""
    n = sp.Symbol("n", integer=True, positive=True)
    i, j, k = sp.symbols("i j k", integer=True, positive=True)
    z = sp.IndexedBase("z", real=True)
    Z = sp.Sum(sp.exp(z[k]), (k, 1, n))
    (slope, inside), _ = sp.diff(Z, z[j]).doit().args
    assert inside == (j >= 1) & (j <= n) or inside == (j <= n)  # j is one of the classes
    assert slope == sp.exp(z[j])
    p_i, p_j = sp.exp(z[i]) / Z, slope / Z
    log_slope = sp.KroneckerDelta(i, j) - p_j
    direct = sp.exp(z[i]) * sp.KroneckerDelta(i, j) / Z - sp.exp(z[i]) * slope / Z**2  # the quotient rule
    assert sp.simplify(direct - p_i * log_slope) == 0
    assert sp.simplify(direct - p_i * (sp.KroneckerDelta(i, j) + p_j)) != 0


def test_spectral_norm_at_two_classes(same, symbols):
    """At two classes the eigenvalues are 0 and 2 p_1 p_2 = 1/2 - (p_1 - p_2)^2/2: exactly 1/2 at equal logits.

    For all real logits; "strictly below 1/2" is therefore false as stated for two classes.
    """
    z = symbols("z", 1, 2)
    (p, q), J = probabilities(z)[0], derived(z)
    difference = np.array([[1, -1]])
    assert same(difference @ J, 2 * p * q * difference)
    assert same(np.ones((1, 2), dtype=int) @ J, np.zeros((1, 2)))
    assert same(2 * p * q, sp.Rational(1, 2) - (p - q) ** 2 / 2)
    assert same((2 * p * q).subs(z[0, 1], z[0, 0]), sp.Rational(1, 2))
    assert not same(2 * p * q, sp.Rational(1, 2))


@pytest.mark.parametrize("n", CLASSES)
def test_gradient_of_cross_entropy(n, same, symbols):
    """-sum y log p has the gradient p sum(y) - y, so p - y for targets that sum to one, at n = 2, 3, 4."""
    z, y = symbols("z", 1, n), symbols("y", 1, n)
    p = probabilities(z)
    loss = -sum(target * sp.log(probability) for target, probability in zip(y.flat, p.flat, strict=True))
    slope = gradient(loss, z)
    assert same(slope, p * np.sum(y) - y)
    one = {y[0, -1]: 1 - sum(y[0, :-1])}
    targets = np.array([[sp.sympify(entry).subs(one) for entry in y.flat]], dtype=object)
    of_targets = np.array([[entry.subs(one) for entry in slope.flat]], dtype=object)
    assert same(of_targets, p - targets)
    assert same(gradient(cross_entropy(z, targets).item(), z), p - targets)
    assert not same(of_targets, targets - p)
    assert not same(slope, p - y)  # without the condition on the targets


@pytest.mark.parametrize("n", CLASSES)
def test_label_smoothing(n, same, symbols):
    """Targets 1 - e on the first class and e/(n - 1) elsewhere, for all real e and logits, at n = 2, 3, 4.

    They sum to one; the loss has the gradient p - q, which vanishes where p = q; its Hessian is diag(p) - p'p, which is
    positive semidefinite (by the Cauchy-Schwarz inequality), so that is the minimum, and its value is the entropy of q.
    """
    e = sp.Symbol("e", positive=True)
    z = symbols("z", 1, n)
    q = np.array([[1 - e] + [e / (n - 1)] * (n - 1)], dtype=object)
    first = np.array([[sp.S.One] + [sp.S.Zero] * (n - 1)], dtype=object)
    assert same(q, smoothed_targets(first, np.array([[e]], dtype=object)))
    assert same(np.sum(q), 1)
    p = probabilities(z)
    loss = -sum(
        target * (entry - sp.log(sum(sp.exp(w) for w in z.flat))) for target, entry in zip(q.flat, z.flat, strict=True)
    )
    slope = gradient(loss, z)
    assert same(slope, p - q)
    hessian = np.concatenate([gradient(entry, z) for entry in slope.flat])
    assert same(hessian, np.diag(p[0]) - p.T @ p)
    # At logits log q (up to a shift, which changes nothing) the model is q itself. Here w_k stands for q_k.
    weights = symbols("w", 1, n, positive=True)
    at = {entry: sp.log(weight) for entry, weight in zip(z.flat, weights.flat, strict=True)}
    there = np.array([[sp.sympify(entry).subs(at) for entry in p.flat]], dtype=object)
    assert same(there, weights / np.sum(weights))
    wrong = np.array([[1 - e] + [e / n] * (n - 1)], dtype=object)
    assert not same(np.sum(wrong), 1)
    assert not same(slope, p - first)
