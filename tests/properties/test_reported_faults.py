"""Faults that people reported in public, each as its whole kind, where no other test of the reference has it.

A gradient check that cannot fail, the Lipschitz constant of softmax, and a false claim whose smallest counterexample
understates it.
"""

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from resstream import claims
from resstream.arithmetic import FLOAT64, RATIONAL, Ball, derivative, exact, eye, jacobian, mean, total
from resstream.claim import Claim, at_most
from resstream.domains import RowStochastic
from resstream.falsify.search import plan, search
from resstream.reference import dobrushin, layer_norm, layer_norm_jacobian, row_norms, softmax, spectral_norm
from resstream.reference.norms import Norm

BALL = Ball(192)
EPS = 2.0**-52


def balls(rows):
    return BALL.array(np.array(rows, dtype=float))


def certainly_zero(difference):
    """Balls that hold zero and are below 2^-120."""
    return all(entry.value.contains(0) and entry.value.abs_upper() < arb(2) ** -120 for entry in difference.flat)


def certainly_not_zero(difference):
    return any(not entry.value.contains(0) for entry in difference.flat)


# ---- a gradient check that cannot fail --------------------------------------


def right(x, g):
    """LayerNorm's backward pass: the upstream gradient g (1, d) pulled back to x."""
    return g @ layer_norm_jacobian(x).mT


def scale(x):
    return row_norms(x - mean(x)) / row_norms(0 * x + 1)


def without_radial_part(x, g):
    """The fault: the part of g along LN(x) is not taken out."""
    return (g - mean(g)) / scale(x)


def without_mean(x, g):
    """The fault: the mean of g is not taken out."""
    return (g - layer_norm(x) * mean(g * layer_norm(x))) / scale(x)


def without_division(x, g):
    """The fault: the radial part without its 1/d."""
    return (g - mean(g) - layer_norm(x) * total(g * layer_norm(x))) / scale(x)


FAULTS = [without_radial_part, without_mean, without_division]

rows = st.lists(st.integers(-8, 8), min_size=4, max_size=4)


@given(rows)
def test_a_constant_loss_shows_no_fault(x):
    """The sum of LayerNorm's outputs and that of their squares are constants: right and one wrong backward pass agree
    on each, so a check with either as its loss cannot fail.
    """
    assume(len(set(x)) > 1)
    with BALL.working():
        x = balls([x])
        ones, normed = 0 * x + 1, layer_norm(x)
        for upstream in (ones, normed):
            assert certainly_zero(right(x, upstream))
        assert certainly_zero(without_radial_part(x, ones))
        assert certainly_zero(without_mean(x, normed))


@given(rows, rows)
def test_a_drawn_upstream_gradient_shows_every_fault(x, g):
    """Where g has a mean and a part along LN(x), every wrong backward pass is certainly another; the right one is the
    derivative.
    """
    assume(len(set(x)) > 1)
    with BALL.working():
        x, g = balls([x]), balls([g])
        gradient = jacobian(lambda x: total(g * layer_norm(x)), x).mT
        assert certainly_zero(right(x, g) - gradient)
        assume(certainly_not_zero(mean(g)) and certainly_not_zero(total(g * layer_norm(x))))
        for fault in FAULTS:
            assert certainly_not_zero(fault(x, g) - gradient), fault.__name__


def test_the_reported_gradient():
    x, g = balls([[1, 2, 4, -3]]), balls([[1, 2, -1, 0.5]])
    with BALL.working():
        reported = ("0.14708710", "0.58457694", "-0.50160473", "-0.23005931")
        for value, digits in zip(right(x, g).flat, reported, strict=True):
            assert abs(value - arb(digits)) < arb("0.5e-8")


# ---- the Lipschitz constant of softmax --------------------------------------


def softmax_jacobian(z):
    return jacobian(softmax, z)


def test_two_equal_logits_reach_one_half_exactly():
    """In rationals: diag(p) - p'p is a quarter of [[1, -1], [-1, 1]], with spectral norm exactly 1/2."""
    p = softmax(RATIONAL.array(np.array([[0, 0]])))
    J = eye(2, like=p) * p - p.mT @ p
    assert (np.array([[1, -1], [-1, 1]]) == 4 * J).all()
    assert spectral_norm(J).item() == fmpq(1, 2)
    direction = RATIONAL.array(np.array([[1, -1]]))
    assert (2 * (direction @ J) == direction).all()  # so the ratio is 1/2 in every norm
    for kind in ("l1", "linf"):
        assert 2 * row_norms(direction @ J, Norm(kind)).item() == row_norms(direction, Norm(kind)).item()


def test_three_logits_only_approach_one_half():
    with BALL.working():
        gap = spectral_norm(softmax_jacobian(balls([[0, 0, -10]]))).item() - arb(1) / 2
        assert arb("-2e-5") < gap < 0
        assert abs(gap - arb("-1.13e-5")) < arb("0.005e-5")


@given(st.lists(st.integers(-12, 12), min_size=3, max_size=5))
def test_three_logits_or_more_stay_below_one_half(z):
    with BALL.working():
        assert 2 * spectral_norm(softmax_jacobian(balls([z]))).item() < 1


@given(st.integers(-40, 40))
def test_two_logits_are_below_one_half_unless_equal(gap):
    with BALL.working():
        norm = spectral_norm(softmax_jacobian(balls([[0, gap / 4]]))).item()
        assert (2 * norm < 1) if gap else (2 * norm - 1).value.contains(0)


def test_the_float_derivative_reaches_one_half_too():
    z = FLOAT64.array(np.zeros((1, 2)))
    moved = derivative(softmax, z, np.array([[1.0, -1.0]]))
    assert np.all(np.abs(moved - [[0.5, -0.5]]) <= 4 * EPS)  # an exponential, a sum and a quotient


# ---- a small counterexample to a badly false claim --------------------------


def gap(A, B):
    """By how much tau(A) tau(B)/2 falls short of tau(AB)."""
    return (dobrushin(A @ B) - dobrushin(A) * dobrushin(B) / 2).item()


def test_the_shrunk_example_understates_the_claim():
    shrunk, worst = (RATIONAL.array(np.array(rows)) for rows in ([[0, 1], [0.5, 0.5]], [[1, 0], [0, 1]]))
    assert gap(shrunk, shrunk) == fmpq(1, 8)
    assert gap(worst, worst) == fmpq(1, 2)


def gap_at_most(bound):
    return Claim(
        "trial.gap",
        over={"A": RowStochastic("n"), "B": RowStochastic("n")},
        conclusion=lambda A, B: at_most(dobrushin(A @ B) - dobrushin(A) * dobrushin(B) / 2, bound),
        sizes={"n": range(2, 5)},
    )


@pytest.mark.parametrize("tolerance", ["0", "1e-9", "0.1", "0.2", "0.4"])
def test_every_tolerance_below_the_worst_gap_is_passed_too(tolerance):
    """The claim is not false by rounding: with any slack below 1/2 there is still a certified counterexample."""
    assert search(gap_at_most(exact(tolerance)), plan(examples=0, batches=2)).status == "refuted"


def test_the_worst_gap_is_one_half():
    assert search(gap_at_most(exact(1, 2)), plan(examples=50, batches=2)).status == "survived"


def test_the_claim_by_half_is_refuted_with_certified_hypotheses():
    verdict = search(claims.lookup("dobrushin.submultiplicative_by_half"), plan(examples=0, batches=1))
    assert verdict.status == "refuted"
    assert verdict.tally.certificate.judgement.outcome == "violated"
