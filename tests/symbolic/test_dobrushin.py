"""The Dobrushin coefficient: its two forms, and its largest value for scores of two values."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.reference import dobrushin, dobrushin_overlap, softmax

a, b = sp.symbols("a b", real=True)
n = sp.Symbol("n", integer=True, positive=True)
E = sp.Symbol("E", positive=True)  # exp(r)


def test_the_identity_behind_the_two_forms(same):
    """|a - b| = a + b - 2 min(a, b) for all real a, b."""
    assert same(abs(a - b), a + b - 2 * sp.Min(a, b))
    assert not same(abs(a - b), a + b - sp.Min(a, b))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_two_forms_for_two_rows(m, same, symbols):
    """sum |p - q|/2 = 1 - sum min(p, q) for all rows that sum to one, of one to four real entries."""
    p, q = symbols("p", m), symbols("q", m)
    p[-1], q[-1] = sp.S.One - sum(p[:-1]), sp.S.One - sum(q[:-1])
    distance = sum(abs(x - y) for x, y in zip(p, q, strict=True)) / 2
    overlap = 1 - sum(sp.Min(x, y) for x, y in zip(p, q, strict=True))
    A = np.array([p, q], dtype=object)
    assert same(distance, overlap)
    assert same(distance, dobrushin(A).item())
    assert same(overlap, dobrushin_overlap(A).item())
    if m > 1:
        assert not same(2 * distance, overlap)


def test_two_forms_for_three_rows(same, symbols):
    """For every stochastic matrix of three rows: the largest distance is one minus the smallest overlap."""
    A = symbols("a", 3, 3, positive=True)
    A = A / np.sum(A, axis=1, keepdims=True)
    half_distances = [sum(abs(x - y) for x, y in zip(A[i], A[j], strict=True)) / 2 for i, j in ((0, 1), (1, 2), (0, 2))]
    by_hand = sp.Max(sp.Max(*half_distances[:2], evaluate=False), half_distances[2], evaluate=False)
    assert same(dobrushin(A), dobrushin_overlap(A))
    assert same(by_hand, dobrushin(A).item())
    assert not same(by_hand, 1 - dobrushin(A).item())


def coefficient(high, low):
    """tau of two rows of softmax: one has r on the first `high` of high + low keys and 0 on the rest, one the reverse.

    A row with r on k keys has the weights E/Z and 1/Z with Z = kE + (the rest), E = e^r >= 1. On the first keys the
    overlap is the smaller of E/Z_1 and 1/Z_2, which is 1/Z_2 (E Z_2 - Z_1 = low (E^2 - 1) >= 0); likewise on the rest.
    """
    Z_1, Z_2 = high * E + low, low * E + high
    assert sp.expand(E * Z_2 - Z_1 - low * (E**2 - 1)) == 0
    assert sp.expand(E * Z_1 - Z_2 - high * (E**2 - 1)) == 0
    return 1 - high / Z_2 - low / Z_1


def test_the_maximum_over_scores_of_two_values(same):
    """tau <= (E - 1)/(E + 1) = tanh(r/2) = 1 - 2/(e^r + 1), with equality if and only if the halves are equal.

    For every range r >= 0 and all numbers of keys: the gap is a square over positive factors.
    """
    high, low = sp.symbols("high low", positive=True)
    gap = (E - 1) / (E + 1) - coefficient(high, low)
    Z_1, Z_2 = high * E + low, low * E + high
    assert same(gap, E * (E - 1) * (high - low) ** 2 / ((E + 1) * Z_1 * Z_2))
    assert same(coefficient(n / 2, n / 2), (E - 1) / (E + 1))
    assert not same(gap, E * (E - 1) * (high - low) / ((E + 1) * Z_1 * Z_2))
    r = sp.Symbol("r", positive=True)
    assert same(sp.tanh(r / 2), 1 - 2 / (sp.exp(r) + 1))
    assert same(((E - 1) / (E + 1)).subs(E, sp.exp(r)), sp.tanh(r / 2))
    assert not same(sp.tanh(r / 2), 1 - 1 / (sp.exp(r) + 1))
    assert not same(sp.tanh(r / 2), 1 - sp.exp(-r))  # the printed bound, which is larger


@pytest.mark.parametrize("size", [2, 4])
def test_the_maximum_is_attained(size, same):
    """Two rows with r on complementary halves have tau = tanh(r/2) exactly, for every r > 0, at n = 2 and 4."""
    r = sp.Symbol("r", positive=True)
    half = size // 2
    S = np.array([[r] * half + [sp.S.Zero] * half, [sp.S.Zero] * half + [r] * half], dtype=object)
    assert same(dobrushin(softmax(S)).item() ** 2, sp.tanh(r / 2) ** 2)
    at = dobrushin(softmax(S)).item().value.subs(r, sp.log(3))
    assert same(at, sp.Rational(1, 2))  # tanh(log(3)/2), so the sign is right too
