"""Means as weighted sums over points: when two halves agree, and which rules are kept."""

import numpy as np
import pytest

from resstream.domains import Gaussian, Signs, cubature

ONE, SQUARE = (), ((0, 2),)
MEANS = {ONE: 1.0, SQUARE: 1.0, ((0, 1),): 0.0}
LAWS = [Gaussian(1, 1)]


def rule(*points, weights=((0.5, 0.5), (0.25, 0.75))):
    return cubature.Rule([np.array(points, dtype=float)[:, None, None]], tuple(map(np.array, weights)))


def test_the_mean_is_that_of_the_first_half_where_the_second_agrees():
    assert rule(1, 3, 5, 1).mean(lambda x: x).tolist() == [[2]]
    assert rule(2, 4, 1, weights=([1.0], [0.5, -0.0])).mean(lambda x: x).tolist() == [[2]]
    assert rule(2, -2, 0, 0).mean(lambda x: x).tolist() == [[0]]
    assert rule(1, 2, 3, 4).mean(lambda x: 0 * x).tolist() == [[0]]
    both = cubature.Rule([np.ones((2, 1, 1)), np.full((2, 1, 1), 3.0)], (np.ones(1), np.ones(1)))
    assert both.mean(lambda x, y: x + 2 * y).tolist() == [[7]]


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_halves_agree_to_a_millionth_of_their_terms(scale):
    near, far = 5 * scale * (1 + 1e-8), 5 * scale * (1 + 1e-4)
    assert rule(scale, 3 * scale, near, scale).mean(lambda x: x).item() == 2 * scale
    assert rule(scale, 3 * scale, far, scale).mean(lambda x: x) is None
    assert rule(scale, 3 * scale, 7 * scale, scale).mean(lambda x: x) is None


def of_square(x):
    return x * x


def of_twice(x):
    return 2 * x * x


def of_thrice(x):
    return 3 * x * x


@pytest.fixture
def kept(monkeypatch):
    """No rule is known yet, and two are kept at most, of two monomials."""
    monkeypatch.setattr(cubature, "_rules", {})
    monkeypatch.setattr(cubature, "MOST", 2)

    def learn(function, monomials=(ONE, SQUARE), laws=LAWS):
        cubature.learn(function, laws, {}, monomials, MEANS.__getitem__)
        return cubature.known(function, laws, {})

    return learn


def test_a_rule_is_made_once_and_gives_the_means_that_it_was_made_of(kept):
    assert cubature.known(of_square, LAWS, {}) is None
    made = kept(of_square)
    assert made.mean(of_square) == pytest.approx(1, abs=1e-12)
    assert made.mean(lambda x: 3 + 2 * x * x) == pytest.approx(5, abs=1e-12)
    assert [points.shape[1:] for points in made.points] == [(1, 1)]
    assert kept(of_square) is made
    assert cubature.known(of_square, [Signs(1, 1)], {}) is None


def test_entries_are_numbered_from_law_to_law(monkeypatch):
    monkeypatch.setattr(cubature, "_rules", {})
    product = ((0, 1), (2, 1), (4, 2))  # of the first law's entries 0 and 2, and of the second's first
    laws, means = [Gaussian(2, 2), Signs(1, 2)], {ONE: 1.0, product: 5.0}

    def function(x, s):
        return 3 + 2 * x[:1, :1] * x[1:, :1] * s[:, :1] ** 2

    cubature.learn(function, laws, {}, means, means.__getitem__)
    assert cubature.known(function, laws, {}).mean(function) == pytest.approx(13, abs=1e-9)


def test_so_many_rules_are_kept_and_of_so_many_monomials(kept):
    first = kept(of_square)
    assert kept(of_twice) is not None
    assert cubature.known(of_square, LAWS, {}) is first
    assert kept(of_thrice) is not None  # which makes room first
    assert cubature.known(of_square, LAWS, {}) is None
    assert kept(of_square, (ONE, SQUARE, SQUARE, ONE)) is not None
    assert kept(lambda x: x + x * x, (ONE, SQUARE, ((0, 1),))) is None


def test_what_cannot_be_told_from_other_functions_has_no_rule(kept):
    assert kept(np.square) is None

    def carried(factor):
        return lambda x: factor * x * x

    kept(carried(1))
    assert cubature.known(carried(1), LAWS, {}) is not None
    assert cubature.known(carried(2), LAWS, {}) is None
    kept(lambda x, k=3: k * x * x)
    assert cubature.known(lambda x, k=4: k * x * x, LAWS, {}) is None
