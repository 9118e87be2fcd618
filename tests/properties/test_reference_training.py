"""Cross-entropy, label smoothing and the learning rate's schedule, against SciPy and by hand."""

import numpy as np
import pytest
from scipy.special import log_softmax

from resstream.errors import DomainError, ShapeError
from resstream.reference import cross_entropy, noam_rate, smoothed_targets

EPS = np.finfo(float).eps


def test_cross_entropy_agrees_with_scipy_on_a_batch():
    rng = np.random.default_rng(0)
    logits = 30 * rng.standard_normal((5, 4, 7))
    targets = rng.random((5, 4, 7))
    targets /= targets.sum(-1, keepdims=True)
    terms = targets * log_softmax(logits, axis=-1)
    expected = -terms.sum(-1, keepdims=True)
    # A sum of V terms, each with a few roundings of its own: relative to the sum of their sizes.
    tolerance = 8 * 7 * EPS * np.abs(terms).sum(-1, keepdims=True) + 8 * EPS * np.abs(logits).max()
    assert np.all(np.abs(cross_entropy(logits, targets) - expected) <= tolerance)


def test_cross_entropy_of_scores_beyond_the_range_of_exp_is_their_lead():
    logits = np.array([[1000.0, 0.0], [-1000.0, 0.0]])
    targets = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert cross_entropy(logits, targets).tolist() == [[1000.0], [0.0]]


def test_smoothed_targets_by_hand():
    right = np.array([[0.0, 1.0, 0.0]])
    assert smoothed_targets(right, np.array([[0.5]])).tolist() == [[0.25, 0.5, 0.25]]
    assert smoothed_targets(right, np.array([[0.0]])).tolist() == right.tolist()


def test_noam_rate_by_hand():
    rates = [noam_rate(*(np.array([[float(x)]]) for x in (step, 16, 4))).item() for step in (1, 4, 16)]
    assert rates == [1 / 32, 1 / 8, 1 / 16]


def test_bad_arguments_are_refused_by_name():
    logits, right = np.zeros((1, 3)), np.array([[0.0, 1.0, 0.0]])
    with pytest.raises(DomainError, match=r"targets: expected a row-stochastic matrix, but row \[0\] sums to 2"):
        cross_entropy(logits, 2 * right)
    with pytest.raises(ShapeError, match="targets: expected 3 columns, as logits have"):
        cross_entropy(logits, np.ones((1, 1)))
    with pytest.raises(ShapeError, match="right: expected two classes or more"):
        smoothed_targets(np.ones((1, 1)), np.array([[0.1]]))
    with pytest.raises(DomainError, match=r"epsilon: expected numbers from 0 to 1, got another at \[0, 0\]"):
        smoothed_targets(right, np.array([[1.5]]))
