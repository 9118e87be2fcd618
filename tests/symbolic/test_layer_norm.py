"""LayerNorm's and RMSNorm's Jacobians, derived from the definitions and compared with the closed forms.

By entries at d = 2, 3, 4, with gain, bias and epsilon; and for a general whole number d, by differentiating through the
sums. Jacobians are in the row convention: entry (j, i) is the derivative of output i by input j.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import jacobian
from resstream.reference import layer_norm, layer_norm_jacobian, rms_norm, rms_norm_jacobian

WIDTHS = (2, 3, 4)

# ---- by entries -------------------------------------------------------------


def derived(x, gain, bias, epsilon, centred):
    """Every derivative of the definition, written out entry by entry."""
    entries = list(x.flat)
    d = len(entries)
    middle = sum(entries) / d if centred else 0
    size = sp.sqrt(sum((entry - middle) ** 2 for entry in entries) / d + epsilon)
    outputs = [g * (entry - middle) / size + b for entry, g, b in zip(entries, gain.flat, bias.flat, strict=True)]
    return np.array([[sp.diff(output, entry) for output in outputs] for entry in entries], dtype=object)


EPSILON = np.array([[sp.Symbol("epsilon", positive=True)]], dtype=object)
NORMS = {"LayerNorm": (layer_norm, layer_norm_jacobian, True), "RMSNorm": (rms_norm, rms_norm_jacobian, False)}


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("name", NORMS)
def test_jacobian_with_gain_bias_and_epsilon(name, d, same, symbols):
    """For all real x, gain, bias and all epsilon > 0, at d = 2, 3, 4."""
    function, closed, centred = NORMS[name]
    x, gain, bias = symbols("x", 1, d), symbols("g", 1, d), symbols("b", 1, d)
    by_hand = derived(x, gain, bias, EPSILON.item(), centred)
    assert same(by_hand, closed(x, gain, EPSILON))
    assert same(by_hand, jacobian(lambda row: function(row, gain, bias, EPSILON), x))


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("name", NORMS)
def test_jacobian_without_epsilon(name, d, same, symbols):
    """For all real x at which the norm is defined, at d = 2, 3, 4."""
    _, closed, centred = NORMS[name]
    x = symbols("x", 1, d)
    one, zero = np.full((1, d), sp.S.One), np.full((1, d), sp.S.Zero)
    assert same(derived(x, one, zero, 0, centred), closed(x))


@pytest.mark.parametrize("d", WIDTHS)
def test_kernel_symmetry_square_trace_and_spectrum(d, same, symbols):
    """J' = J, 1J = 0, xJ = 0, J^2 = (sqrt d/||Px||) J and tr J = (d - 2) sqrt d/||Px||, hence the spectrum.

    J^2 = sJ leaves the eigenvalues s and 0, and the trace counts them. At d = 2 all of J is zero.
    """
    x = symbols("x", 1, d)
    J = layer_norm_jacobian(x)
    mean = sum(x.flat) / d
    scale = sp.sqrt(d) / sp.sqrt(sum((entry - mean) ** 2 for entry in x.flat))
    assert same(J, J.T)
    assert same(np.ones((1, d), dtype=int) @ J, np.zeros((1, d)))
    assert same(x @ J, np.zeros((1, d)))
    assert same(J @ J, scale * J)
    assert same(np.trace(J), (d - 2) * scale)
    if d == 2:
        assert same(J, np.zeros((2, 2)))


@pytest.mark.parametrize("d", WIDTHS)
def test_rms_norm_kernel_and_spectrum(d, same, symbols):
    """xJ = 0, J^2 = (sqrt d/||x||) J and tr J = (d - 1) sqrt d/||x||, at d = 2, 3, 4."""
    x = symbols("x", 1, d)
    J = rms_norm_jacobian(x)
    scale = sp.sqrt(d) / sp.sqrt(sum(entry**2 for entry in x.flat))
    assert same(J, J.T)
    assert same(x @ J, np.zeros((1, d)))
    assert same(J @ J, scale * J)
    assert same(np.trace(J), (d - 1) * scale)


def wrong_forms(x, gain, epsilon):
    """Closed forms with one mistake each."""
    d = x.shape[-1]
    identity, ones = np.eye(d, dtype=int), np.ones((d, d), dtype=int)
    c = x - np.sum(x) / d
    s = sp.sqrt(np.sum(c * c) / d + epsilon)
    outer = c.T @ c / (d * s**2)
    P = identity - ones * sp.Rational(1, d)
    return {
        "mean without 1/d": (identity - ones - outer) / s * gain,
        "outer product without 1/d": (P - d * outer) / s * gain,
        "sign of the outer product": (P + outer) / s * gain,
        "gain on the rows": (P - outer) / s * gain.T,
        "no mean": (identity - outer) / s * gain,
        "variance over d - 1": (P - outer) / (s * sp.sqrt(sp.Rational(d, d - 1))) * gain,
        "epsilon outside the root": (P - outer) / (sp.sqrt(np.sum(c * c) / d) + epsilon) * gain,
        "scale not cubed": (P - outer * s) / s * gain,
    }


@pytest.mark.parametrize(
    "mistake", wrong_forms(np.array([[sp.S.One, sp.S.Zero]]), np.array([[sp.S.One] * 2]), sp.S.One)
)
def test_planted_mistakes_are_rejected(mistake, same, symbols):
    x, gain = symbols("x", 1, 3), symbols("g", 1, 3)
    zero = np.full((1, 3), sp.S.Zero)
    by_hand = derived(x, gain, zero, EPSILON.item(), centred=True)
    assert not same(by_hand, wrong_forms(x, gain, EPSILON.item())[mistake])


# ---- for a general d --------------------------------------------------------

d = sp.Symbol("d", integer=True, positive=True)
i, j, k = (sp.Idx(name, (1, d)) for name in "ijk")
x = sp.IndexedBase("x", real=True)
m, sigma, epsilon = sp.symbols("mu sigma epsilon", positive=True)
delta = sp.KroneckerDelta


def differentiate(expression, index, mean_slope, scale_slope):
    """Derivative by x[index] of an expression in x, m and sigma, by the chain rule through m and sigma."""
    direct = sum(sp.diff(expression, entry) * delta(entry.indices[0], index) for entry in expression.atoms(sp.Indexed))
    return direct + sp.diff(expression, m) * mean_slope + sp.diff(expression, sigma) * scale_slope


def sum_over(expression, index):
    """Sum of an expression over 1..d, with sum x = d m, sum of delta(index, j) f(index) = f(j), sum 1 = d."""
    total = sp.S.Zero
    for term in sp.Add.make_args(sp.expand(expression)):
        (kronecker,) = term.atoms(sp.KroneckerDelta) or {None}
        entry = [e for e in term.atoms(sp.Indexed) if e.indices[0] == index]
        if kronecker is not None and index in kronecker.args:
            (other,) = set(kronecker.args) - {index}
            total += (term / kronecker).subs(index, other)
        elif entry:
            assert sp.degree(term, entry[0]) == 1
            total += term / entry[0] * d * m
        else:
            total += term * d
    return total


def slopes(index):
    """d mu/dx_j and d sigma/dx_j, from mu = sum x/d and sigma^2 = sum (x - mu)^2/d + epsilon."""
    mean_slope = sum_over(delta(k, index), k) / d
    variance_slope = sum_over(2 * (x[k] - m) * (delta(k, index) - mean_slope), k) / d
    return sp.simplify(mean_slope), sp.simplify(variance_slope / (2 * sigma))


def test_slopes_of_mean_and_scale_for_every_d():
    mean_slope, scale_slope = slopes(j)
    assert mean_slope == 1 / d
    assert sp.simplify(scale_slope - (x[j] - m) / (d * sigma)) == 0


def test_jacobian_for_every_d():
    """(delta_ij - 1/d)/sigma - c_i c_j/(d sigma^3) for every d, with any gain and bias; symmetric up to the gain."""
    g, b = sp.symbols("g_i b_i", real=True)
    J = differentiate(g * (x[i] - m) / sigma + b, j, *slopes(j))
    closed = g * ((delta(i, j) - 1 / d) / sigma - (x[i] - m) * (x[j] - m) / (d * sigma**3))
    assert sp.simplify(J - closed) == 0
    assert sp.simplify(closed - closed.subs({i: j, j: i}, simultaneous=True)) == 0
    for wrong in (
        g * ((delta(i, j) - 1) / sigma - (x[i] - m) * (x[j] - m) / (d * sigma**3)),
        g * ((delta(i, j) - 1 / d) / sigma - (x[i] - m) * (x[j] - m) / sigma**3),
        g * ((delta(i, j) - 1 / d) / sigma + (x[i] - m) * (x[j] - m) / (d * sigma**3)),
    ):
        assert sp.simplify(J - wrong) != 0


def test_rms_jacobian_for_every_d():
    """sigma^2 = sum x^2/d + epsilon gives d sigma/dx_j = x_j/(d sigma) and (delta_ij - x_i x_j/(d sigma^2))/sigma."""
    square_slope = sum_over(2 * x[k] * delta(k, j), k) / d
    J = differentiate(x[i] / sigma, j, 0, square_slope / (2 * sigma))
    assert sp.simplify(J - (delta(i, j) - x[i] * x[j] / (d * sigma**2)) / sigma) == 0


def combine(A, B, size):
    """Product of two matrices a I + b 11' + c vv', each as (a, b, c), where 1'v = 0, 1'1 = d and v'v = size."""
    (a, b, c), (p, q, r) = A, B
    return a * p, a * q + b * p + d * b * q, a * r + c * p + size * c * r


def test_kernel_square_and_trace_for_every_d():
    """With v = Px and v'v = d sigma^2 (epsilon 0): J^2 = J/sigma, J1 = 0, Jx = 0, tr J = (d - 2)/sigma, for every d.

    1/sigma is sqrt d/||Px||, so the eigenvalues are that, d - 2 times, and 0 twice.
    """
    size = d * sigma**2
    J = (1 / sigma, -1 / (d * sigma), -1 / (d * sigma**3))
    assert all(sp.simplify(p - q / sigma) == 0 for p, q in zip(combine(J, J, size), J, strict=True))
    on_ones, on_v = J[0] + d * J[1], J[0] + size * J[2]  # x = v + mu 1
    assert sp.simplify(on_ones) == sp.simplify(on_v) == 0
    assert sp.simplify(J[0] * d + J[1] * d + J[2] * size - (d - 2) / sigma) == 0
    with_epsilon = size - d * epsilon
    assert sp.simplify(J[0] + with_epsilon * J[2]) != 0  # x is in the kernel only where epsilon is 0


def test_the_table_of_products_is_right(same, symbols):
    """`combine` against matrices, at d = 3."""
    v = symbols("v", 1, 2)
    v = np.concatenate([v, -v[:, :1] - v[:, 1:]], axis=1)
    identity, ones = np.eye(3, dtype=int), np.ones((3, 3), dtype=int)
    A, B = symbols("a", 3), symbols("b", 3)
    matrix = lambda c: c[0] * identity + c[1] * ones + c[2] * (v.T @ v)  # noqa: E731
    product = [sp.sympify(entry).subs(d, 3) for entry in combine(A, B, (v @ v.T).item())]
    assert same(matrix(A) @ matrix(B), matrix(product))
