"""Rotary and sinusoidal positions: what depends on the offset alone, for all real positions.

Derived with complex numbers: a pair (a, b) is a + ib, and a position p turns it by the factor exp(i p theta).
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.reference import rotary, rotary_inverse, sinusoidal

p, q, shift = sp.symbols("p q shift", real=True)
BASE = 10_000


def frequencies(width):
    return [sp.exp(-sp.Rational(2 * i, width) * sp.log(BASE)) for i in range(width // 2)]


def place(position):
    """One position as an array of one row."""
    return np.array([[position]], dtype=object)


def turned(x, position):
    """The row turned, pair by pair, by multiplication of complex numbers."""
    out = []
    for i, theta in enumerate(frequencies(len(x))):
        z = sp.expand((x[2 * i] + sp.I * x[2 * i + 1]) * (sp.cos(position * theta) + sp.I * sp.sin(position * theta)))
        out += [sp.re(z), sp.im(z)]
    return np.array([out], dtype=object)


def score_of_offset(x, y, offset):
    """Re of sum x conj(y) exp(i offset theta): what the score of two turned rows must be."""
    total = sp.S.Zero
    for i, theta in enumerate(frequencies(len(x))):
        same = x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1]
        cross = x[2 * i + 1] * y[2 * i] - x[2 * i] * y[2 * i + 1]
        total += same * sp.cos(offset * theta) - cross * sp.sin(offset * theta)
    return total


WIDTHS = (2, 4)


@pytest.mark.parametrize("width", WIDTHS)
def test_rotary_is_a_turn_of_every_pair(width, same, symbols):
    """For all real rows and positions, at widths two and four: the reference, its inverse, and the norm it keeps."""
    x = symbols("x", width)
    assert same(rotary(x[None], place(p)), turned(x, p))
    assert same(rotary_inverse(rotary(x[None], place(p)), place(p)), x[None])
    assert same(np.sum(rotary(x[None], place(p)) ** 2), np.sum(x**2))
    assert not same(rotary(x[None], place(p)), turned(x, -p))


@pytest.mark.parametrize("width", WIDTHS)
def test_scores_depend_on_the_offset_alone(width, same, symbols):
    """<R_p x, R_q y> is one function of p - q, for all real x, y, p, q; of the sum p + q it is not."""
    x, y = symbols("x", width), symbols("y", width)
    score = (rotary(x[None], place(p)) @ rotary(y[None], place(q)).T).item()
    assert same(score, score_of_offset(x, y, p - q))
    assert not same(score, score_of_offset(x, y, q - p))
    assert not same(score, score_of_offset(x, y, p + q))
    moved = (rotary(x[None], place(p + shift)) @ rotary(y[None], place(q + shift)).T).item()
    assert same(moved, score)
    one_moved = (rotary(x[None], place(p + shift)) @ rotary(y[None], place(q)).T).item()
    assert not same(one_moved, score)


def test_a_mixture_of_the_two_conventions_is_no_rotation(same, symbols):
    """Frequencies of adjacent pairs with halves turned: the norm is not kept."""
    x = symbols("x", 4)
    theta = [f for f in frequencies(4) for _ in range(2)]
    halves = np.concatenate([-x[2:], x[:2]])
    mixed = [a * sp.cos(p * t) + b * sp.sin(p * t) for a, b, t in zip(x, halves, theta, strict=True)]
    assert not same(sum(entry**2 for entry in mixed), np.sum(x**2))


@pytest.mark.parametrize("width", WIDTHS)
def test_shifting_sinusoidal_encodings_is_a_rotation(width, same):
    """The encoding of p + k is that of p turned by -k, pair by pair, for all real p and k."""
    like = place(p)
    by_hand = [f(p * theta) for theta in frequencies(width) for f in (sp.sin, sp.cos)]
    encoding = sinusoidal(place(p), width, like=like)
    assert same(encoding, np.array([by_hand], dtype=object))
    moved = sinusoidal(place(p + shift), width, like=like)
    assert same(moved, rotary(encoding, place(-shift)))
    assert not same(moved, rotary(encoding, place(shift)))


@pytest.mark.parametrize("width", WIDTHS)
def test_inner_products_of_sinusoidal_encodings(width, same):
    """PE(p).PE(q) = sum cos((p - q) theta_i), and width/2 at p = q, for all real p and q."""
    like = place(p)
    product = (sinusoidal(place(p), width, like=like) @ sinusoidal(place(q), width, like=like).T).item()
    assert same(product, sum(sp.cos((p - q) * theta) for theta in frequencies(width)))
    assert same(product.value.subs(q, p), sp.Rational(width, 2))
    assert not same(product, sum(sp.cos((p + q) * theta) for theta in frequencies(width)))
