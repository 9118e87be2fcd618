"""LayerNorm, RMSNorm and their Jacobians: against the balls, the derivative, and the faults people reported."""

from collections.abc import Callable

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from resstream.arithmetic import (
    FLOAT64,
    RATIONAL,
    Array,
    Ball,
    derivative,
    exact,
    eye,
    jacobian,
    mean,
    sqrt,
    square,
    total,
)
from resstream.errors import DomainError
from resstream.reference import centre, layer_norm, layer_norm_jacobian, rms_norm, rms_norm_jacobian
from resstream.reference.normalisation import layer_norm_scale, rms_norm_scale

BALL = Ball(160)
EPS = float(np.finfo(np.float64).eps)
SYSTEMS = pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
ENTRIES = st.integers(-40, 40).map(lambda k: k / 8) | st.floats(2.0**-20, 2.0**20) | st.floats(-(2.0**20), -(2.0**-20))
EPSILONS = pytest.mark.parametrize("epsilon", [0, exact(1, 100), exact(1)], ids=["0", "1/100", "1"])

Norm = Callable[..., Array]


def rows(n: int, d: int, *batch: int) -> st.SearchStrategy[Array]:
    """Rows of which none is constant to rounding: a spread of at least a millionth of the size."""
    return arrays(np.float64, (*batch, n, d), elements=ENTRIES, fill=st.nothing()).filter(
        lambda x: bool((np.ptp(x, axis=-1) > 1e-6 * abs(x).max(-1)).all())
    )


def layer_norm_bound(x: Array) -> Array:
    """(1 + sqrt d)(d + 3) eps (1 + max|x| / std), one bound a row.

    The mean of d floats is off by d roundings of the largest; divided by the deviation that is the first term's error,
    and the deviation's own relative error acts on entries of size sqrt d at most.
    """
    d = x.shape[-1]
    size = abs(x).max(-1, keepdims=True) / x.std(-1, keepdims=True)
    return (1 + d**0.5) * (d + 3) * EPS * (1 + size)


# ---- values -----------------------------------------------------------------


@given(x=rows(3, 5, 2))
def test_layer_norm_is_a_few_units_from_the_ball(x: Array, assert_within: Callable) -> None:
    together = layer_norm(x)
    for batch, single in enumerate(x):
        with Ball(256).working():
            judged = layer_norm(Ball(256).array(single))
        assert_within(together[batch], judged, layer_norm_bound(single))
        assert_within(layer_norm(single), judged, layer_norm_bound(single))


@given(x=rows(3, 5, 2), gain=arrays(np.float64, (1, 5), elements=ENTRIES), bias=arrays(np.float64, (1, 5)))
def test_rms_norm_is_rounding_away_from_the_ball(
    x: Array, gain: Array, bias: Array, assert_rounding_only: Callable
) -> None:
    bias = np.nan_to_num(bias, posinf=1, neginf=-1) % 16
    assert_rounding_only(rms_norm, x)
    assert_rounding_only(lambda x, g, b: rms_norm(x, g, b, exact(1, 100)), x, gain, bias)


@given(x=rows(3, 5, 2))
def test_norms_agree_with_numpy(x: Array) -> None:
    centred = x - x.mean(-1, keepdims=True)
    expected = centred / x.std(-1, keepdims=True)
    assert (abs(layer_norm(x) - expected) <= 2 * layer_norm_bound(x)).all()
    expected = x / np.sqrt((x * x).mean(-1, keepdims=True))
    np.testing.assert_allclose(rms_norm(x), expected, rtol=9 * EPS, atol=0)  # two sums of 5 squares, a root, a quotient


def test_known_values() -> None:
    assert (layer_norm(RATIONAL.array([[4, 0, 0, 0, 0]])) * 2 == RATIONAL.array([[4, -1, -1, -1, -1]])).all()
    assert (layer_norm(RATIONAL.array([[1, 3], [3, -5]])) == RATIONAL.array([[-1, 1], [1, -1]])).all()  # d = 2: signs
    assert (rms_norm(RATIONAL.array([[1, 7], [-5, 5]])) * 5 == RATIONAL.array([[1, 7], [-5, 5]])).all()
    x = RATIONAL.array([["1/10", "-1/10"]])  # the variance is epsilon, where its place shows
    scaled = layer_norm(x, epsilon=exact(3, 100)) / x
    assert (scaled == 5).all()  # one over the root of 4/100, and not 10/(1 + 10 sqrt(3)/10)
    assert (centre(RATIONAL.array([[1, 2, 6]])) == RATIONAL.array([[-2, -1, 3]])).all()


def test_gain_bias_and_epsilon() -> None:
    x, gain, bias = (RATIONAL.array([row]) for row in ([4, 0, 0, 0, 0], [2, -1, 1, 0, 4], [1, 1, 0, 5, -1]))
    assert (layer_norm(x, gain, bias) * 2 == RATIONAL.array([[10, 3, -1, 10, -6]])).all()
    assert (rms_norm(x, gain, bias, exact(4, 5)) == RATIONAL.array([[5, 1, 0, 5, -1]])).all()
    assert (layer_norm(RATIONAL.array([[7, 7, 7]]), bias=bias[:, :3], epsilon=1) == bias[:, :3]).all()


def test_what_is_divided_by() -> None:
    """The population's deviation, and the root of the mean square, of one row or of several, without an epsilon."""
    assert layer_norm_scale("x", np.array([[1.0, 3], [2, 12]])).tolist() == [[1], [5]]
    assert rms_norm_scale(np.array([[1.0, 7], [-7, 17]])).tolist() == [[5], [13]]


def test_numbers_of_flint_are_normed_as_rationals() -> None:
    x = np.array([[fmpq(1), fmpq(7)]], dtype=object)
    assert [entry.value for entry in rms_norm(x).flat] == [fmpq(1, 5), fmpq(7, 5)]
    assert [entry.value for entry in layer_norm(x).flat] == [-1, 1]


def test_folding_gain_and_bias_into_the_next_map() -> None:
    g, b, b0 = (RATIONAL.array([row]) for row in ([2, -1, "1/2", 3, 1], ["1/2", 0, 1, 0, -1], [0, 1]))
    W = RATIONAL.array([[1, 2], [0, 1], [3, -1], [1, 1], [-2, 5]])
    x = RATIONAL.array([[4, 0, 0, 0, 0]])
    expected = layer_norm(x, g, b) @ W + b0
    folded, constant = g.mT * W, b0 + b @ W
    assert (layer_norm(x) @ folded + constant == expected).all()
    assert (layer_norm(x) @ (folded - mean(folded, -2)) + constant == expected).all()
    assert not (layer_norm(x) @ folded + b0 == expected).any()


def test_centring_matters_to_rms_norm_alone() -> None:
    x = RATIONAL.array([[7, 1]])
    assert (layer_norm(centre(x)) == layer_norm(x)).all()
    assert (rms_norm(centre(x)) == RATIONAL.array([[1, -1]])).all()
    assert (rms_norm(x) * 5 == RATIONAL.array([[7, 1]])).all()


# ---- the variance -----------------------------------------------------------


def assert_shift_invariant(implementation: Norm) -> None:
    """LN(y + c) = LN(y) while c leaves the digits of y alone: y + c is exact here, so only the norm can fail.

    The allowance is a unit in the last place of c over the deviation: what rounding the mean costs.
    """
    y = np.array([[0.0, 2, 4, 6, 8]])
    for c in (0.0, 5e4, 1e9, 2.0**49):
        off = abs(implementation(y + c) - layer_norm(y)).max()
        assert off <= (1 + 5**0.5) * 8 * EPS * (1 + (c + 8) / y.std()), f"not shift invariant at {c}: off by {off}"


def one_pass(x: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x - mean(x)) / sqrt(mean(square(x)) - square(mean(x)))


def test_a_large_mean_leaves_layer_norm_alone() -> None:
    assert_shift_invariant(layer_norm)


def test_the_variance_in_one_pass_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"not shift invariant at 1000000000\.0"):
        assert_shift_invariant(one_pass)


def test_shift_invariance_ends_where_the_shift_rounds_the_input() -> None:
    y = np.array([[0.0, 1, 2, 3]])
    assert not np.allclose(layer_norm(y + 1e16), layer_norm(y), rtol=0, atol=0.1)  # the input became 0, 0, 2, 4


def assert_population_variance_inside_the_root(implementation: Norm) -> None:
    """Exact values at small widths, and where the variance is as small as epsilon."""
    value = implementation(RATIONAL.array([[7, 1]]), epsilon=0)[0, 0]
    assert value == 1, f"LN(7, 1) starts with 1, not {value}"
    value = implementation(RATIONAL.array([[4, 0, 0, 0, 0]]), epsilon=0)[0, 0]
    assert value == 2, f"LN(4, 0, 0, 0, 0) starts with 2, not {value}"
    value = implementation(RATIONAL.array([["1/10", "-1/10"]]), epsilon=exact(3, 100))[0, 0] * 2
    assert value == 1, f"with epsilon 3/100, LN(0.1, -0.1) starts with 1/2, not {value / 2}"


def test_the_variance_is_the_population_s_with_epsilon_inside_the_root() -> None:
    assert_population_variance_inside_the_root(layer_norm)


def sample_variance(x: Array, epsilon: object) -> Array:
    return FLOAT64.array(layer_norm(x, epsilon=epsilon)) * np.sqrt((x.shape[-1] - 1) / x.shape[-1])


def epsilon_outside_the_root(x: Array, epsilon: object) -> Array:
    return centre(x) / (sqrt(mean(square(centre(x)))) + epsilon)


def no_epsilon(x: Array, epsilon: object) -> Array:
    return layer_norm(x, epsilon=0 * epsilon)


def uncentred_variance(x: Array, epsilon: object) -> Array:
    return centre(x) / sqrt(mean(square(x)) + epsilon)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (sample_variance, r"LN\(7, 1\) starts with 1, not 0\.707"),
        (epsilon_outside_the_root, r"LN\(0\.1, -0\.1\) starts with 1/2, not 10/13"),
        (no_epsilon, r"LN\(0\.1, -0\.1\) starts with 1/2, not 1\b"),
        (uncentred_variance, r"LN\(7, 1\) starts with 1, not 3/5"),
    ],
    ids=["sample variance", "epsilon outside the root", "no epsilon", "uncentred variance"],
)
def test_faults_in_the_variance_are_caught(fault: Norm, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_population_variance_inside_the_root(fault)


# ---- Jacobians --------------------------------------------------------------

POINTS = ([[4, 0, 0, 0, 0]], [[1, 2, 4, -3]], [[3, -1, 5]], [[1, 3]], [["1/3", "-7/2", "9/5", 2, 0, 11, "1/7"]])


def assert_is_the_derivative(implementation: Norm, norm: Norm = layer_norm) -> None:
    """Entry by entry in balls, at several widths, with a gain of both signs and with epsilon or without."""
    with BALL.working():
        for point in POINTS:
            x = BALL.array(point)
            gain = BALL.array([[2, -1, "1/2", 3, -2, 1, 5][: x.shape[-1]]])
            for g in (None, gain):
                for epsilon in (0, exact(1, 100)):
                    expected = jacobian(lambda z, g=g, e=epsilon: norm(z, g, epsilon=e), x)
                    difference = implementation(x, g, epsilon) - expected
                    assert all(entry.value.contains(0) for entry in difference.flat), (
                        "the Jacobian is not the derivative"
                    )
                    assert all(entry.value.rad() < arb(2) ** -140 for entry in difference.flat)


@pytest.mark.parametrize(
    ("implementation", "norm"),
    [(layer_norm_jacobian, layer_norm), (rms_norm_jacobian, rms_norm)],
    ids=["layer_norm", "rms_norm"],
)
def test_the_jacobian_is_the_derivative(implementation: Norm, norm: Norm) -> None:
    assert_is_the_derivative(implementation, norm)


def planted(centring: int = 1, radial: int = 1, over_d: int = 1, columns: bool = True) -> Norm:
    """A LayerNorm Jacobian with a part left out: the centring term, the radial one, its 1/d, the side of the gain."""

    def implementation(x: Array, gain: Array | None, epsilon: object) -> Array:
        d, c = x.shape[-1], centre(x)
        s = sqrt(mean(square(c)) + epsilon)
        J = eye(d, x) - BALL.array(np.full((d, d), centring)) / d
        J = (J - radial * (c.mT @ c) / ((d if over_d else 1) * square(s))) / s
        return J if gain is None else J * (gain if columns else gain.mT)

    return implementation


def test_the_planted_jacobian_without_a_fault_passes() -> None:
    assert_is_the_derivative(planted())


@pytest.mark.parametrize(
    "fault",
    [
        planted(over_d=0),
        planted(centring=0),
        planted(radial=0),
        planted(columns=False),
        lambda x, gain, epsilon: layer_norm_jacobian(x, gain, 0 * epsilon),
        rms_norm_jacobian,
    ],
    ids=["missing 1/d", "no centring term", "no radial term", "gain on the rows", "no epsilon", "of RMSNorm"],
)
def test_faults_in_the_jacobian_are_caught(fault: Norm) -> None:
    with pytest.raises(AssertionError, match="the Jacobian is not the derivative"):
        assert_is_the_derivative(fault)


def test_upstream_gradients_that_cannot_tell_are_known() -> None:
    # A loss that the norm makes constant (the sum, the sum of squares) has a zero gradient in the right Jacobian and in
    # wrong ones: such a check can not fail. A gradient outside the span of 1 and LN(x) tells them apart.
    with BALL.working():
        x = BALL.array([[1, 2, 4, -3]])
        ones, normed, other = BALL.array([[1] * 4]), layer_norm(x), BALL.array([[1, 2, -1, "1/2"]])

        def agree(upstream: Array, fault: Norm) -> bool:
            difference = upstream @ (fault(x, None, 0) - layer_norm_jacobian(x)).mT
            return all(entry.value.contains(0) for entry in difference.flat)

        assert agree(ones, planted(radial=0))
        assert agree(normed, planted(centring=0))
        assert not agree(other, planted(radial=0))
        assert not agree(other, planted(centring=0))
        right = [0.14708710, 0.58457694, -0.50160473, -0.23005931]
        assert np.abs(FLOAT64.array((other @ layer_norm_jacobian(x).mT)[0]) - right).max() < 1e-8  # as printed


@EPSILONS
@given(x=rows(1, 5, 2))
def test_jacobians_of_floats_lie_by_the_ball(epsilon: int, x: Array, assert_within: Callable) -> None:
    together, by_rms = layer_norm_jacobian(x, epsilon=epsilon), rms_norm_jacobian(x, epsilon=epsilon)
    for batch, single in enumerate(x):
        with Ball(256).working():
            point = Ball(256).array(single)
            judged, judged_rms = layer_norm_jacobian(point, epsilon=epsilon), rms_norm_jacobian(point, epsilon=epsilon)
        # As for LayerNorm itself, twice (two normalised entries are multiplied), and all over the deviation.
        bound = 8 * (5 + 3) * EPS * (1 + abs(single).max() / single.std()) / single.std()
        assert_within(together[batch], judged, bound)
        assert_within(layer_norm_jacobian(single, epsilon=epsilon), judged, bound)
        assert_within(by_rms[batch], judged_rms, 8 * (5 + 3) * EPS / np.sqrt((single**2).mean()))


@SYSTEMS
def test_the_complex_step_and_the_series_agree_with_the_closed_form(system: Ball) -> None:
    with system.working():
        x = system.array([[4, 0, 0, 0, 0]])
        direction = system.array([[1, -2, 0, 3, 5]])
        difference = derivative(layer_norm, x, direction) - direction @ layer_norm_jacobian(x)
        if system is FLOAT64:
            assert abs(difference).max() <= 32 * EPS * 5  # sums of 5 terms of size 5 at most
        else:
            assert all(entry == 0 if system is RATIONAL else entry.value.contains(0) for entry in difference.flat)


# ---- refusals ---------------------------------------------------------------


@SYSTEMS
@pytest.mark.parametrize("function", [layer_norm, layer_norm_jacobian], ids=lambda f: f.__name__)
def test_a_constant_row_into_layer_norm_is_refused_by_name(function: Norm, system: Ball, checking: Callable) -> None:
    with checking(system):
        for row in ([0.1, 0.1, 0.1], [0, 0], [7], [-1e300, -1e300]):
            with pytest.raises(DomainError, match=r"x: row \[0\] is constant, so LayerNorm with epsilon 0 is not def"):
                function(system.array([row]))
        with pytest.raises(DomainError, match=r"x: row \[0\] is constant"):
            function(system.array([[2, 2]]), epsilon=exact(0))
        if function is layer_norm:
            with pytest.raises(DomainError, match=r"x: row \[1, 2\] is constant"):
                layer_norm(system.array([[[1, 2]] * 3, [[1, 2], [2, 1], [3, 3]]]))


@SYSTEMS
@pytest.mark.parametrize("function", [rms_norm, rms_norm_jacobian], ids=lambda f: f.__name__)
def test_a_zero_row_into_rms_norm_is_refused_by_name(function: Norm, system: Ball, checking: Callable) -> None:
    with checking(system):
        with pytest.raises(DomainError, match=r"x: row \[0\] is zero, so RMSNorm with epsilon 0 is not defined"):
            function(system.array([[0, 0, 0]]))
        assert function(system.array([[0, 0, 0]]), epsilon=exact(1)).shape[-1] == 3


def test_epsilon_is_not_negative() -> None:
    with pytest.raises(DomainError, match="epsilon: expected 0 or more, got -1"):
        layer_norm(np.array([[1.0, 2]]), epsilon=-1)
    with pytest.raises(DomainError, match="epsilon: expected 0 or more, got -1/3"):
        rms_norm(np.array([[1.0, 2]]), epsilon=exact(-1, 3))
    with pytest.raises(DomainError, match="epsilon: expected 0 or more, got nan"):
        rms_norm(np.array([[1.0, 2]]), epsilon=float("nan"))


def test_a_constant_row_in_a_search_spoils_itself_only() -> None:
    x = np.array([[[1.0, 2, 4]], [[3, 3, 3]], [[0, 1, 0]]])
    with FLOAT64.working():
        values = layer_norm(x)
    assert np.isfinite(values[[0, 2]]).all()
    assert np.isnan(values[1]).all()
    assert abs(total(values[0])).item() <= 3 * layer_norm_bound(x[0]).item()
