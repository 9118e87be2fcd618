"""Cross-entropy, label smoothing and the learning rate's schedule, against SciPy and by hand."""

import numpy as np
import pytest
from scipy.special import log_softmax

from resstream.arithmetic import FLOAT64
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


ONE = np.ones((1, 1))
RIGHT = np.array([[0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cross_entropy([[0.0]], ONE), ShapeError, "logits: expected a NumPy array"),
        (lambda: cross_entropy(np.zeros((2, 1)), np.ones((1, 1))), ShapeError, "targets: expected 2 rows"),
        (lambda: cross_entropy(np.zeros((2, 1, 1)), np.ones((3, 1, 1))), ShapeError, "logits"),
        (lambda: smoothed_targets([[0.0, 1.0]], ONE), ShapeError, "right: expected a NumPy array"),
        (lambda: smoothed_targets(RIGHT, 0.5), ShapeError, "epsilon: expected a NumPy array"),
        (lambda: smoothed_targets(RIGHT, np.ones((1, 3))), ShapeError, "epsilon: expected"),
        (lambda: smoothed_targets(np.stack([RIGHT] * 2), np.ones((3, 1, 1))), ShapeError, "right"),
        (lambda: smoothed_targets(RIGHT, -ONE / 1024), DomainError, "epsilon: expected numbers from 0 to 1"),
        (lambda: noam_rate(1.0, ONE, ONE), ShapeError, "step: expected a NumPy array"),
        (lambda: noam_rate(ONE, np.ones((1, 2)), ONE), ShapeError, "width: expected"),
        (lambda: noam_rate(np.ones((2, 1, 1)), np.ones((3, 1, 1)), ONE), ShapeError, "step"),
        (lambda: noam_rate(0 * ONE, ONE, ONE), DomainError, "step: expected positive numbers"),
        (lambda: noam_rate(ONE, -ONE / 1024, ONE), DomainError, "width: expected positive numbers"),
        (lambda: noam_rate(ONE, ONE, -ONE), DomainError, "warmup: expected positive numbers"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_ends_are_allowed():
    """Two classes, epsilon 0 and 1, in batches; and what a search screens is not looked at."""
    two = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]]])
    epsilon = np.array([0.0, 1.0, 0.25])[:, None, None]
    assert smoothed_targets(two, epsilon).tolist() == [[[1, 0]], [[1, 0]], [[0.25, 0.75]]]
    with FLOAT64.working():
        assert noam_rate(-ONE, ONE, ONE).shape == (1, 1)
