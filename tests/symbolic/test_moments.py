"""Moments of random maps and vectors with independent entries of mean zero: exact, for general sizes and at small ones.

At small sizes an expectation is taken term by term of a written-out polynomial; for general sizes, of sums over indices
with E[J_ij J_kl] = variance when (i, j) = (k, l), and 0 otherwise.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import sympy as sp

alpha = sp.Symbol("alpha", positive=True)
d, h, n, m, S = sp.symbols("d h n m S", integer=True, positive=True)


def expectation(expression, variances):
    """E of a polynomial in independent symbols of mean zero, in each of which it is at most quadratic."""
    result = sp.S.Zero
    for powers, coefficient in sp.Poly(sp.expand(expression), *variances).terms():
        assert max(powers) <= 2, "a moment above the second is not known"
        if all(power % 2 == 0 for power in powers):
            result += coefficient * sp.prod(v for v, power in zip(variances.values(), powers, strict=True) if power)
    return result


def squared(x):
    return np.sum(x * x)


def random_map(symbols, size):
    J = symbols("J", size, size)
    return J, dict.fromkeys(J.flat, alpha**2 / size)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_random_map_scales_the_gradient_by_alpha(size, same, symbols):
    """E ||gJ||^2 = alpha^2 ||g||^2 for entries of variance alpha^2/d, and with the skip (1 + alpha^2) ||g||^2."""
    g = symbols("g", 1, size)
    J, variances = random_map(symbols, size)
    assert same(expectation(squared(g @ J), variances), alpha**2 * squared(g))
    skipped = expectation(squared(g + g @ J), variances)
    assert same(skipped, (1 + alpha**2) * squared(g))
    assert not same(skipped, (1 + alpha) ** 2 * squared(g))  # as if the cross term had not mean zero
    assert same(expectation(squared(g @ J), dict.fromkeys(J.flat, alpha**2)), size * alpha**2 * squared(g))


def test_a_random_map_for_every_width():
    """The same for every d: the sum over j, i and k of g_i g_k E[J_ij J_kj], in which only k = i stays."""
    i, j, k = sp.symbols("i j k", integer=True, positive=True)
    g = sp.IndexedBase("g", real=True)
    summand = g[i] * g[k] * alpha**2 / d * sp.KroneckerDelta(i, k)
    over_k = summand.subs(k, i)  # the delta leaves one term
    over_j = sp.Sum(over_k, (j, 1, d)).doit()
    norm = sp.Sum(g[i] ** 2, (i, 1, d))
    assert sp.simplify(over_j - alpha**2 * g[i] ** 2) == 0
    plain = sp.Sum(over_j, (i, 1, d))
    assert sp.simplify(plain - alpha**2 * norm) == 0
    without = sp.Sum(over_k * d, (j, 1, d)).doit()  # variance alpha^2 in place of alpha^2/d
    assert sp.simplify(without - alpha**2 * g[i] ** 2) != 0


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_growth_after_some_steps(steps, same, symbols):
    """Independent maps: (1 + alpha^2)^S ||g||^2 with the skip and alpha^(2S) ||g||^2 without, at width two."""
    g = symbols("g", 1, 2)
    skipped, plain = squared(g), squared(g)
    for step in range(steps):
        J = symbols(f"J{step}_", 2, 2)
        variances = dict.fromkeys(J.flat, alpha**2 / 2)
        substitution = dict(zip(g.flat, (g + g @ J).flat, strict=True))
        skipped = expectation(sp.sympify(skipped).subs(substitution, simultaneous=True), variances)
        substitution = dict(zip(g.flat, (g @ J).flat, strict=True))
        plain = expectation(sp.sympify(plain).subs(substitution, simultaneous=True), variances)
    assert same(skipped, (1 + alpha**2) ** steps * squared(g))
    assert same(plain, alpha ** (2 * steps) * squared(g))
    assert not same(skipped, (1 + alpha) ** (2 * steps) * squared(g))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_paths_of_independent_maps_add_in_squares(steps, same, symbols):
    """The gradients along two different paths are uncorrelated, and that through k of S layers has the mean square
    alpha^(2k) ||g||^2: so in the text's random model a path weighs alpha^(2k), not alpha^k. For S = 1, 2, 3, width two.
    """
    g = symbols("g", 1, 2)
    maps = [symbols(f"J{step}_", 2, 2) for step in range(steps)]
    variances = {entry: alpha**2 / 2 for J in maps for entry in J.flat}
    along = {}
    for size in range(steps + 1):
        for path in combinations(range(steps), size):
            gradient = g
            for step in path:
                gradient = gradient @ maps[step]
            along[path] = gradient
    for first, second in product(along, repeat=2):
        mean = expectation(np.sum(along[first] * along[second]), variances)
        assert same(mean, alpha ** (2 * len(first)) * squared(g) if first == second else 0)
    assert same(sum(alpha ** (2 * len(path)) for path in along), (1 + alpha**2) ** steps)


def test_growth_is_bounded_where_branches_shrink_with_depth():
    """Root-mean-square growth (1 + 1/S)^(S/2) at alpha^2 = 1/S: it rises with S, to the limit e^(1/2) from below.

    For every real S > 0: the derivative of S log(1 + 1/S) is log(1 + u) - u/(1 + u) with u = 1/S, which is 0 at u = 0
    and has the derivative u/(1 + u)^2 > 0.
    """
    depth = sp.Symbol("S", positive=True)
    growth = (1 + 1 / depth) ** (depth / 2)
    assert sp.limit(growth, depth, sp.oo) == sp.exp(sp.Rational(1, 2))
    u = sp.Symbol("u", positive=True)
    slope = sp.diff(depth * sp.log(1 + 1 / depth), depth).subs(depth, 1 / u)
    assert sp.simplify(slope - (sp.log(1 + u) - u / (1 + u))) == 0
    assert sp.limit(slope, u, 0) == 0
    assert sp.simplify(sp.diff(slope, u) - u / (1 + u) ** 2) == 0
    assert sp.limit((1 + 1 / depth) ** depth, depth, sp.oo) != sp.exp(sp.Rational(1, 2))
    assert sp.limit((1 + alpha**2) ** (depth / 2), depth, sp.oo) == sp.oo  # without shrinking


@pytest.mark.parametrize("width", [1, 2, 3])
def test_variance_of_a_dot_product(width, same, symbols):
    """Var(q.k) = d_k for independent entries of variance one, so q.k/sqrt d_k has variance one, whatever d_k."""
    q, k = symbols("q", 1, width), symbols("k", 1, width)
    variances = dict.fromkeys([*q.flat, *k.flat], sp.S.One)
    product = (q @ k.T).item()
    assert expectation(product, variances) == 0
    assert same(expectation(product**2, variances), width)
    assert same(expectation(product**2 / width, variances), 1)


def test_variance_of_a_dot_product_for_every_width():
    """The double sum of E[q_i q_j] E[k_i k_j] = delta_ij has d_k terms."""
    i, j = sp.symbols("i j", integer=True, positive=True)
    diagonal = (sp.KroneckerDelta(i, j) ** 2).subs(j, i)
    assert sp.Sum(diagonal, (i, 1, h)).doit() == h


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 1, 1), (2, 3, 1), (2, 2, 2)])
def test_baseline_of_the_squared_composition_score(rows, inner, columns, same, symbols):
    """E ||AB||^2 over E ||A||^2 E ||B||^2 (Frobenius) is 1/d for independent entries, d the width where they meet."""
    A, B = symbols("A", rows, inner), symbols("B", inner, columns)
    v, w = sp.symbols("v w", positive=True)
    variances = dict.fromkeys(A.flat, v) | dict.fromkeys(B.flat, w)
    of_product = expectation(squared(A @ B), variances)
    apart = expectation(squared(A), variances) * expectation(squared(B), variances)
    assert same(of_product / apart, sp.Rational(1, inner))
    if rows != inner:
        assert not same(of_product / apart, sp.Rational(1, rows))


def test_baseline_of_the_squared_composition_score_for_every_size():
    """n m sums over the d inner indices, against n d and d m entries: 1/d for all n, d, m."""
    i, j, k = sp.symbols("i j k", integer=True, positive=True)
    v, w = sp.symbols("v w", positive=True)
    of_product = sp.Sum(v * w, (k, 1, d), (i, 1, n), (j, 1, m)).doit()
    apart = sp.Sum(v, (k, 1, d), (i, 1, n)).doit() * sp.Sum(w, (j, 1, m), (k, 1, d)).doit()
    assert sp.simplify(of_product / apart - 1 / d) == 0
    assert sp.simplify(of_product / apart - 1 / sp.sqrt(d)) != 0
