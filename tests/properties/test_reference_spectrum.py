"""Spectra: floats against LAPACK's other routes, balls that hold what is known exactly, and rationals."""

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, RATIONAL, Ball, exact, to_float
from resstream.errors import DomainError, NotExact, ShapeError, Undecided
from resstream.reference import spectrum

BALL = Ball(128)
NILPOTENT = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
ROTATION = np.array([[0, -2], [2, 0]])
JORDAN = np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2]])
STOCHASTIC = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1]])
FUNCTIONS = (
    spectrum.singular_values,
    spectrum.eigenvalue_moduli,
    spectrum.second_modulus,
    spectrum.spectral_radius,
    spectrum.smallest_singular_value,
    spectrum.smallest_real_part,
    spectrum.determinant,
    spectrum.trace,
    spectrum.rank,
)


def holds(ball, value):
    return ball.value.contains(value) and ball.value.rad() < 1e-6


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_the_ball_holds_the_float_within_its_rounding(function, seed):
    W = np.random.default_rng(seed).standard_normal((4, 4))
    with BALL.working():
        balls = function(BALL.array(W))
    floats = function(W)
    # Backward stability: eigenvalues of these well-separated matrices move by their condition (below 100) times eps.
    slack = 1e4 * np.finfo(float).eps * np.linalg.norm(W) ** 4
    assert balls.shape == floats.shape
    assert all(abs(to_float(b.value.mid()) - f) <= slack for b, f in zip(balls.flat, floats.flat, strict=True))


@pytest.mark.parametrize(
    ("matrix", "moduli", "real"),
    [
        (NILPOTENT, [0, 0, 0], 0),
        (ROTATION, [2, 2], 0),
        (JORDAN, [2, 2, 2], 2),
        (STOCHASTIC, [3, 0, 0], 0),
        (np.eye(3, dtype=int), [1, 1, 1], 1),
        (np.array([[-5]]), [5], -5),
    ],
)
def test_multiple_eigenvalues_are_enclosed(matrix, moduli, real):
    with BALL.working():
        W = BALL.array(matrix)
        assert all(holds(b, m) for b, m in zip(spectrum.eigenvalue_moduli(W).flat, moduli, strict=True))
        assert holds(spectrum.smallest_real_part(W).item(), real)
        blurred = W * exact(1, 3) * 3  # no longer an exact matrix
        assert all(b.value.contains(m) for b, m in zip(spectrum.eigenvalue_moduli(blurred).flat, moduli, strict=True))


def test_singular_values_of_defective_matrices_are_enclosed():
    with BALL.working():
        for W in (BALL.array(NILPOTENT), BALL.array(NILPOTENT) * exact(1, 3) * 3):
            values = spectrum.singular_values(W)
            assert all(holds(b, m) for b, m in zip(values.flat, [1, 1, 0], strict=True))
            assert holds(spectrum.smallest_singular_value(W).item(), 0)


def test_rationals_are_exact_where_the_spectrum_is_rational():
    assert [str(v) for v in spectrum.eigenvalue_moduli(RATIONAL.array(JORDAN)).flat] == ["2", "2", "2"]
    assert [str(v) for v in spectrum.singular_values(RATIONAL.array(NILPOTENT)).flat] == ["1", "1", "0"]
    assert str(spectrum.determinant(RATIONAL.array([["1/2", "1/3"], [1, 1]])).item()) == "1/6"
    with pytest.raises(NotExact, match="an eigenvalue of this matrix is not rational"):
        spectrum.eigenvalue_moduli(RATIONAL.array([[0, 2], [1, 0]]))


def test_rank_is_exact_or_undecided_and_never_guessed():
    tiny = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-15]])
    assert spectrum.rank(tiny).item() == 1  # the tolerance of floats, as stated
    assert spectrum.rank(RATIONAL.array(tiny)).item() == 2
    with BALL.working():
        assert spectrum.rank(BALL.array(tiny)).item() == 2
        assert spectrum.rank(BALL.array(STOCHASTIC)).item() == 1
        with pytest.raises(Undecided, match="not known"):
            spectrum.rank(BALL.array(STOCHASTIC) * exact(1, 3))


def test_batches_are_stacks_of_singles():
    W = np.random.default_rng(0).standard_normal((2, 3, 4, 4))
    for function in FUNCTIONS:
        batch = function(W)
        singles = [function(W[index]) for index in np.ndindex(2, 3)]
        assert np.array_equal(batch.reshape(6, *batch.shape[-2:]), np.stack(singles))
    exacts = RATIONAL.array(np.stack([NILPOTENT, JORDAN]))
    assert spectrum.rank(exacts).shape == (2, 1, 1)


def test_matrices_that_are_not_finite_give_nan_in_a_search():
    W = np.full((2, 3, 3), np.nan)
    W[1] = np.eye(3)
    with FLOAT64.working():
        for function in (spectrum.singular_values, spectrum.eigenvalue_moduli, spectrum.rank):
            assert np.isnan(function(W)[0]).all()
            assert not np.isnan(function(W)[1]).any()


def test_powers_multiply():
    assert np.array_equal(spectrum.matrix_power(ROTATION.astype(float), 4), 16 * np.eye(2))
    assert np.array_equal(spectrum.matrix_power(ROTATION.astype(float), 0), np.eye(2))
    with pytest.raises(DomainError, match="exponent: expected a whole number of at least 0, got -1"):
        spectrum.matrix_power(np.eye(2), -1)


def test_shapes_are_checked():
    for function in (spectrum.eigenvalue_moduli, spectrum.determinant, spectrum.trace, spectrum.smallest_real_part):
        with pytest.raises(ShapeError, match="W: expected as many rows as columns"):
            function(np.ones((2, 3)))
