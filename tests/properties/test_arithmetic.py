"""One implementation, several number systems: they agree with each other, and say so when they cannot answer."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from resstream import arithmetic as ar
from resstream.arithmetic import FLOAT64, RATIONAL, Ball, derivative, exact, jacobian
from resstream.arithmetic.rationals import LARGEST_BITS
from resstream.claim import Claim, Instance, at_most
from resstream.domains import Scalar
from resstream.errors import ArithmeticLimit, DomainError, NotExact, ShapeError, Undecided, Undefined
from resstream.falsify.judge import judge
from resstream.relations import VIOLATED

BALL = Ball(128)
EPS = 2.0**-52

NUMBERS = st.one_of(st.integers(-5, 5), st.integers(-64, 64).map(lambda k: k / 8), st.floats(-30, 30))
MATRICES = st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=2, max_size=2).map(np.array)


def assert_float_in_ball(values, balls, ulps):
    """Every float lies within `ulps` units in the last place of its ball; fails if nothing was compared."""
    assert values.shape == balls.shape
    assert values.size > 0
    for value, ball in zip(values.flat, balls.flat, strict=True):
        error = abs(arb(float(value)) - ball.value)
        assert error <= ulps * EPS * abs(ball.value) + arb(2) ** -1074, (value, ball)


def holds(ball, rational):
    """Whether a ball holds a rational number (asked without rounding the rational)."""
    return (ball.value * rational.value.q - rational.value.p).contains(0)


# ulps: NumPy states at most 4 for its transcendental functions; a root and an exact operation are rounded once.
FUNCTIONS = [
    ("exp", 4),
    ("tanh", 4),
    ("cos", 4),
    ("sin", 4),
    ("absolute", 0),
    ("relu", 0),
    ("square", 1),
]


@pytest.mark.parametrize(("name", "ulps"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
@given(x=MATRICES)
def test_floats_agree_with_balls(name, ulps, x):
    function = getattr(ar, name)
    with BALL.working():
        # cos and sin near their zeros lose relative accuracy in the argument itself, not in the function
        balls = function(BALL.array(x))
        assert_float_in_ball(function(FLOAT64.array(x)), balls, ulps)


def test_the_comparison_with_balls_can_fail():
    with BALL.working(), pytest.raises(AssertionError):
        assert_float_in_ball(np.array([1 + 4 * EPS]), BALL.array([1]), 2)
    with pytest.raises(AssertionError):
        assert_float_in_ball(np.array([]), np.array([], dtype=object), 2)


@given(x=MATRICES)
def test_reductions_keep_their_axis_and_agree_in_every_number_system(x):
    for name in ("total", "mean", "amax", "amin"):
        function = getattr(ar, name)
        exact_values = function(RATIONAL.array(x))
        assert exact_values.shape == (2, 1)
        with BALL.working():
            balls = function(BALL.array(x))
            for rational, ball in zip(exact_values.flat, balls.flat, strict=True):
                assert holds(ball, rational)
        # n additions each err by at most eps/2 of the partial sums, which sum|x| bounds
        bound = 3 * EPS * np.abs(x).sum(-1, keepdims=True)
        assert np.all(np.abs(function(x) - FLOAT64.array(exact_values)) <= bound)
    for name in ("largest_entry", "smallest_entry", "total_entry"):
        assert getattr(ar, name)(RATIONAL.array(x)).shape == (1, 1)


def test_a_vector_reduces_to_an_array_and_not_to_a_bare_scalar():
    for system in (FLOAT64, RATIONAL, BALL):
        assert isinstance(ar.total(system.array([1.0, 2.0])), np.ndarray)
        assert isinstance(ar.amax(system.array([1.0, 2.0])), np.ndarray)


@given(x=MATRICES)
def test_descending_sorts(x):
    expected = np.sort(x, axis=-1)[:, ::-1]
    for system in (FLOAT64, RATIONAL, BALL):
        assert np.array_equal(FLOAT64.array(ar.descending(system.array(x))), expected)


def test_a_maximum_of_overlapping_balls_holds_both_possible_answers():
    with BALL.working():
        x = np.array([[arb(1, 0.5), arb(1.25, 0.5)]], dtype=object)
        largest = ar.amax(x)[0, 0].value
        assert largest.contains(arb(1.25))
        assert largest.contains(arb(1.75))
        assert not largest < arb(1.6)


def test_the_root_of_a_ball_that_reaches_below_zero_is_cut_at_zero_where_the_number_cannot_be_negative():
    with BALL.working():
        around_zero = BALL.array([arb(0, 1e-20)])
        root = ar.sqrt(ar.square(around_zero))[0].value
        assert root.contains(arb(0))
        assert root.contains(arb(1e-20))
        for unsure in (ar.sqrt(around_zero), ar.sqrt(-ar.square(around_zero)), ar.sqrt(ar.square(around_zero) - 0)):
            with pytest.raises(Undecided, match="square root of a number that may be negative"):
                assert unsure[0] >= 0
        with pytest.raises(Undefined, match="square root of the negative number -1"):
            assert ar.sqrt(BALL.array([-1]))[0] >= 0


def test_square_and_power_of_a_ball_that_holds_zero_are_numbers():
    with BALL.working():
        x = BALL.array([arb(0, 1e-40)])
        for value in (ar.square(x)[0], ar.power(x, 3)[0]):
            assert value.value.is_finite()
            assert value.value.contains(arb(0))
    assert ar.power(RATIONAL.array([[2]]), 0)[0, 0] == 1
    with pytest.raises(DomainError, match="exponent: expected a whole number of at least 0, got -1"):
        ar.power(np.ones((1, 1)), -1)


@pytest.mark.parametrize(("name", "entry"), [("exp", 1), ("log", 2), ("tanh", 1), ("cos", 1), ("sin", 1), ("sqrt", 2)])
def test_rationals_refuse_what_is_irrational(name, entry):
    with pytest.raises(NotExact):
        getattr(ar, name)(RATIONAL.array([entry]))


def test_rationals_know_the_exact_values():
    assert ar.sqrt(RATIONAL.array([Fraction(4, 9)]))[0] == fmpq(2, 3)
    assert [ar.exp(RATIONAL.array([0]))[0], ar.tanh(RATIONAL.array([0]))[0], ar.log(RATIONAL.array([1]))[0]] == [
        1,
        0,
        0,
    ]


def test_raw_numbers_are_read_exactly():
    assert RATIONAL.array([0.1])[0] == fmpq(*(0.1).as_integer_ratio())
    assert RATIONAL.array(["0.1"])[0] == fmpq(1, 10)
    assert RATIONAL.array([Fraction(1, 3)])[0] == fmpq(1, 3)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(DomainError, match="expected a finite number"):
            RATIONAL.array([bad])


@pytest.mark.parametrize("system", [FLOAT64, RATIONAL, BALL], ids=lambda system: system.name)
def test_an_exact_literal_takes_the_number_system_it_meets(system):
    with system.working():
        x = system.array([[6.0]])
        third = exact(1, 3)
        for value, wanted in (
            (third * x, 2),
            (x * third, 2),
            (x - third, Fraction(17, 3)),
            (third - x, Fraction(-17, 3)),
            (x / third, 18),
            (third / x, Fraction(1, 18)),
            (third + x, Fraction(19, 3)),
            (x + third, Fraction(19, 3)),
        ):
            assert value.dtype == x.dtype
            got, expected = value[0, 0], ar.constant(Fraction(wanted), x)
            agrees = got.value.overlaps(expected.value) if system is BALL else got == expected
            assert agrees or (system is FLOAT64 and abs(got - expected) <= EPS * abs(expected))


def test_exact_literals_compute_among_themselves():
    assert ((1 - exact(1, 3)) * exact("0.99")).value == Fraction(66, 100)
    assert (exact(2) ** 3 / 4 - exact(1, 2)).value == Fraction(3, 2)
    assert (-exact(1, 2)).value == Fraction(-1, 2)
    assert isinstance(exact(1, 3) * ar.pi, ar.Literal)  # no float, which exact numbers would refuse
    assert repr(exact(1, 3) - ar.e) == "(1/3 - e)"


# ---- derivatives ------------------------------------------------------------


def _ratio(x):
    return ar.square(x) / (1 + ar.total(ar.square(x)))


@given(x=MATRICES.filter(lambda x: np.all(np.abs(x) < 1e6)), v=MATRICES)
def test_derivatives_agree_in_every_number_system(x, v):
    by_hand = (
        2 * x * v / (1 + (x**2).sum(-1, keepdims=True))
        - x**2 * 2 * (x * v).sum(-1, keepdims=True) / (1 + (x**2).sum(-1, keepdims=True)) ** 2
    )
    rational = derivative(_ratio, RATIONAL.array(x), RATIONAL.array(v))
    scale = np.abs(v).max() + 1
    assert np.all(np.abs(FLOAT64.array(rational) - by_hand) <= 64 * EPS * scale)
    assert np.all(np.abs(derivative(_ratio, x, v) - by_hand) <= 64 * EPS * scale)
    with BALL.working():
        balls = derivative(_ratio, BALL.array(x), BALL.array(v))
        assert all(holds(ball, q) for ball, q in zip(balls.flat, rational.flat, strict=True))


def test_the_derivative_of_every_function_is_its_known_one():
    x = np.array([[0.5, 1.25]])
    v = np.ones((1, 2))
    known = {
        "exp": np.exp(x),
        "log": 1 / x,
        "sqrt": 0.5 / np.sqrt(x),
        "tanh": 1 - np.tanh(x) ** 2,
        "cos": -np.sin(x),
        "sin": np.cos(x),
        "relu": v,
        "absolute": v,
        "square": 2 * x,
    }
    for name, wanted in known.items():
        function = getattr(ar, name)
        assert np.allclose(derivative(function, x, v), wanted, rtol=8 * EPS, atol=0), name
        with BALL.working():
            balls = derivative(function, BALL.array(x), BALL.array(v))
            assert np.allclose(FLOAT64.array(balls), wanted, rtol=8 * EPS, atol=0), name


def test_a_kink_has_no_derivative_in_exact_arithmetic():
    for system in (RATIONAL, BALL):
        for name in ("relu", "absolute"):
            with system.working(), pytest.raises(Undecided, match="kink"):
                derivative(getattr(ar, name), system.array([[0]]), system.array([[1]]))


def test_a_constant_function_has_derivative_zero():
    x = RATIONAL.array([[1, 2]])
    assert all(entry == 0 for entry in derivative(lambda _: x, x, x).flat)


def test_the_jacobian_is_in_the_row_convention():
    W = np.array([[1.0, 2, 3], [4, 5, 6]])
    for system in (FLOAT64, RATIONAL, BALL):
        with system.working():
            J = jacobian(lambda x, system=system: x @ system.array(W), system.array(np.zeros((1, 2))))
        assert np.array_equal(FLOAT64.array(J), W)


def test_a_direction_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"direction: expected the shape \(1, 2\) of x, got \(2,\)"):
        derivative(ar.square, np.ones((1, 2)), np.ones(2))


def test_an_empty_axis_has_no_largest_entry():
    with pytest.raises(ShapeError, match="largest entry of an empty axis"):
        ar.amax(np.ones((1, 0)))


# ---- fractions that grow ----------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [lambda x: x * x, lambda x: x + 1 / x, lambda x: x - 1 / x, lambda x: 1 / (x / (x + 1)) / x, lambda x: x @ x],
    ids=["times", "plus", "minus", "over", "product"],
)
def test_a_fraction_that_doubles_its_length_without_end_is_given_up(step):
    x = RATIONAL.array([[Fraction(5, 3)]])
    while 4 * x[0, 0].value.height_bits() <= LARGEST_BITS:
        x = step(x)
    with pytest.raises(ArithmeticLimit, match="a fraction of more than 32,768 bits"):
        step(step(step(x)))


def test_how_long_a_fraction_may_be():
    longest = RATIONAL.array([[2 ** (2**15 - 1)]])
    assert (longest + 0)[0, 0] == longest[0, 0] == fmpq(2 ** (2**15 - 1))
    with pytest.raises(ArithmeticLimit):
        longest + longest


def test_what_iterates_a_polynomial_map_is_judged_by_balls():
    def logistic(x):
        for _ in range(30):
            x = 2 * x * (1 - x)
        return at_most(x, exact(1, 4))

    stated = Claim("trial.logistic", {"x": Scalar(0, 1)}, logistic)
    judged = judge(stated, Instance({}, {}, {"x": np.array([[0.3]])}))
    assert (judged.outcome, judged.bits is not None) == (VIOLATED, True)
