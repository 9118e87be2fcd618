"""The functions of arrays: every number system answers alike, keeps shapes, and refuses what it cannot read."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq

from resstream import arithmetic as ar
from resstream.arithmetic import (
    EXPONENTIAL,
    FLOAT64,
    RATIONAL,
    SYMBOLIC,
    Ball,
    BallEntry,
    NoValue,
    RationalEntry,
    SymbolicEntry,
    exact,
    pi,
)
from resstream.arithmetic.layout import in_lanes
from resstream.arithmetic.solver import Formula, SolverEntry
from resstream.arithmetic.terms import TermUnknowns
from resstream.errors import DomainError, ForeignNumber, Kink, ShapeError, Undefined

BALL = Ball(128)
SYSTEMS = [FLOAT64, RATIONAL, BALL, SYMBOLIC]
X = np.array([[3.0, -2.0, 0.5], [-1.0, 0.0, 4.0]])


def floats(x):
    """The entries of any system as floats."""
    return np.array(
        [float(sp.sympify(e.value)) if isinstance(e, SymbolicEntry) else ar.to_float(e) for e in x.flat]
    ).reshape(x.shape)


def agree(function, *, wanted, at=X):
    """Every number system gives what is wanted, exactly (for numbers that floats hold)."""
    for system in SYSTEMS:
        with system.working():
            result = function(system.array(at))
        assert result.shape == np.shape(wanted), system.name
        assert result.dtype == (np.float64 if system is FLOAT64 else object)
        assert np.array_equal(floats(result), wanted), system.name


# ---- numbers


def test_numbers_of_every_kind_have_a_nearest_float():
    assert ar.to_float(RationalEntry(fmpq(1, 3))) == ar.to_float(fmpq(1, 3)) == ar.to_float(exact(1, 3)) == 1 / 3
    assert ar.to_float(BallEntry(arb(0.5))) == ar.to_float(arb(0.5)) == ar.to_float(Fraction(1, 2)) == 0.5
    assert (ar.to_float(EXPONENTIAL.array([0.5])[0]), ar.to_float(ar.exp(EXPONENTIAL.array([1]))[0])) == (0.5, math.e)
    assert (ar.to_float(pi), ar.to_float(3), type(ar.to_float(3))) == (math.pi, 3.0, float)
    array = FLOAT64.array([RationalEntry(fmpq(1, 3)), 2, Fraction(1, 4)])
    assert (array.tolist(), array.dtype) == ([1 / 3, 2.0, 0.25], np.float64)
    assert FLOAT64.array([1, 2]).dtype == np.float64
    values = np.array([1.0, 2.0])
    assert FLOAT64.array(values) is values
    assert FLOAT64.name == "float64"


def test_floats_are_screened_without_warnings_where_they_are_worked_with():
    assert not ar.is_screening()
    with FLOAT64.working():
        assert ar.is_screening()
        assert np.isnan(np.float64(0.0) / np.float64(0.0))
        with FLOAT64.working():
            pass
        assert ar.is_screening()
    with pytest.raises(RuntimeError), FLOAT64.working():
        raise RuntimeError
    assert not ar.is_screening()


def test_numbers_become_entries_of_their_own_system_or_of_another():
    ball, rational, symbol = BALL.array([2])[0], RationalEntry(fmpq(2)), SymbolicEntry(sp.Symbol("x"))
    for value, kind in (
        (2, RationalEntry),
        (arb(2), BallEntry),
        (sp.Symbol("x"), SymbolicEntry),
        (Fraction(1, 2), RationalEntry),
    ):
        assert type(ar.as_entry(value)) is kind
    for like in (ball, rational, symbol):
        assert type(ar.as_entry(2, like)) is type(like)
        assert ar.as_entry(like, ball) is like
    for foreign in ("text", None, np.zeros(2)):
        with pytest.raises(
            ForeignNumber, match=rf"{type(foreign).__name__} .* in line \d+ of .* is no exact real number"
        ):
            ar.as_entry(foreign)
    nothing = NoValue("none", True)
    assert ar.leading(np.array([nothing, ball], dtype=object)) is ball
    assert ar.leading(np.array([sp.Symbol("x"), ball], dtype=object)).value == sp.Symbol("x")
    assert ar.leading(ball) is ball
    for empty in (np.array([nothing], dtype=object), np.zeros((0,), dtype=object), 3.0):
        assert ar.leading(empty) is None


def test_constants_take_the_system_of_what_they_are_like():
    for like, kind in (
        (BALL.array([1]), BallEntry),
        (RATIONAL.array([1])[0], RationalEntry),
        (SYMBOLIC.array([1]), SymbolicEntry),
    ):
        assert type(ar.constant(exact(1, 2), like)) is kind
        assert ar.constant(Fraction(1, 2), like) == fmpq(1, 2)
    assert (ar.constant(exact(1, 4), np.zeros(2)), type(ar.constant(1, np.zeros(2)))) == (0.25, float)
    assert (ar.constant(exact(1, 4), 2.0), ar.constant(pi, np.zeros(1))) == (0.25, math.pi)
    assert type(ar.constant(2, np.zeros((0,), dtype=object))) is RationalEntry
    complex_array = np.zeros(2, dtype=complex)
    for made, wanted in (
        (ar.eye(2, complex_array), np.eye(2)),
        (ar.ones((1, 2), complex_array), [[1, 1]]),
        (ar.zeros((2,), complex_array), [0, 0]),
    ):
        assert made.dtype == complex
        assert np.array_equal(made, wanted)
    agree(lambda x: ar.eye(3, x), wanted=np.eye(3))
    agree(lambda x: ar.ones((2, 1), x), wanted=np.ones((2, 1)))
    agree(lambda x: ar.zeros((2, 1), x), wanted=np.zeros((2, 1)))


# ---- functions of entries


def test_functions_of_entries_agree():
    agree(ar.absolute, wanted=np.abs(X))
    agree(ar.relu, wanted=np.maximum(X, 0))
    agree(ar.square, wanted=X * X)
    agree(lambda x: ar.power(x, 3), wanted=X**3)
    agree(lambda x: ar.power(x, 0), wanted=np.ones((1, 1)))
    agree(lambda x: ar.sqrt(x * x), wanted=np.abs(X))
    agree(lambda x: ar.exp(0 * x), wanted=np.ones_like(X))
    for name, at, value in (("exp", 0, 1), ("log", 1, 0), ("cos", 0, 1), ("sin", 0, 0), ("erf", 0, 0), ("tanh", 0, 0)):
        function = getattr(ar, name)
        assert (function.__name__, function.__qualname__) == (name, name)
        assert f"(rational at {at} alone; other" in function.__doc__
        assert f">>> {name}(RATIONAL.array([{at}])).tolist()\n    [{value}]\n" in function.__doc__
        assert function(RATIONAL.array([at])).tolist() == [value]
    assert np.allclose(ar.erf(X), np.vectorize(math.erf)(X), rtol=1e-15, atol=1e-100)
    assert ar.exp(np.array(BALL.array([0])[0], dtype=object)).shape == ()


@pytest.mark.parametrize("step", [1e-30, -1e-30])
def test_complex_steps_go_through_kinks_by_their_real_part(step):
    x = np.array([[2.0, -3.0, 0.0]]) + 1j * step * np.array([[1.0, 1.0, 0.0]])
    assert np.array_equal(ar.absolute(x), np.where(x.real < 0, -x, x))
    assert ar.absolute(x)[0, 1] == 3 - 1j * step
    assert np.array_equal(ar.relu(x), [[x[0, 0], 0, 0]])
    assert ar.maximum(x, x[:, ::-1]).tolist() == [[x[0, 0], x[0, 1], x[0, 0]]]
    assert ar.maximum(x, np.zeros((1, 1))).tolist() == ar.maximum(np.zeros((1, 1)), x).tolist() == [[x[0, 0], 0, 0]]
    assert ar.minimum(x, np.zeros((1, 1))).tolist() == [[0, x[0, 1], 0]]
    tie = np.array([1 + 1j]), np.array([1 + 2j])
    assert ar.maximum(*tie) == tie[0]  # the first of equal ones
    assert ar.amax(x).tolist() == [[x[0, 0]]]
    assert ar.descending(x).tolist() == [[x[0, 0], x[0, 2], x[0, 1]]]
    assert np.array_equal(ar.frozen(x), x.real)


def test_ties_of_complex_steps():
    """Of equal numbers the first is the larger, so that nothing of a step is lost where some are sorted."""
    i = 1e-30j
    at_nought = np.array([[0 + i, 0 - i, -0.5 + i]])
    assert ar.absolute(at_nought).tolist() == [[i, -i, 0.5 - i]]
    assert ar.relu(at_nought).tolist() == [[0, 0, 0]]
    for first, second in ((np.array([0 - i]), np.zeros(1)), (np.zeros(1), np.array([0 + i]))):
        assert ar.maximum(first, second) == first
        assert ar.minimum(first, second) == second
    assert ar.amax(np.array([[0 - i, 0, 0 + i]])).tolist() == [[-i]]
    assert ar.descending(np.array([[0, i, 1, -i]])).tolist() == [[1, 0, i, -i]]
    slope = ar.derivative(
        lambda x: ar.total(ar.descending(x)), np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 2.0, 4.0]])
    )
    assert slope.tolist() == [[7.0]]


def test_roots_of_a_whole_degree():
    cubes = np.array([[8.0, 27.0, 0.0], [1.0, 64.0, 0.125]])
    agree(lambda x: ar.root(x, 3), at=cubes, wanted=np.array([[2.0, 3.0, 0.0], [1.0, 4.0, 0.5]]))
    agree(lambda x: ar.root(x, 1), at=cubes, wanted=cubes)
    agree(lambda x: ar.root(x, 2), at=np.array([[4.0, 9.0]]), wanted=np.array([[2.0, 3.0]]))
    for system in (RATIONAL, EXPONENTIAL, SYMBOLIC, BALL):
        assert ar.root(system.array([[16]]), np.int64(4))[0, 0] == 2
    random = np.random.default_rng(5).random((1, 200))
    assert np.array_equal(ar.root(random, 2), np.sqrt(random))
    formula = Formula()
    x = formula.real((1, 1))
    assert ar.root(x * x, 2)[0, 0].polynomial.unknowns() == set(formula.choices)
    for degree in (3, 5, 7, 100):
        x = np.array([1e-300, 1e-9, 0.7, 3.0, 1e9, 1e300])
        near = ar.root(x, degree)
        exact_powers = [Fraction(float(r)) ** degree / Fraction(float(v)) for r, v in zip(near, x, strict=True)]
        assert all(abs(ratio - 1) <= Fraction(degree, 2**52) for ratio in exact_powers)
    with np.errstate(all="raise"):
        assert ar.root(np.array([0.0, np.inf, np.nan]), 3).tolist()[:2] == [0.0, np.inf]
    assert ar.root(np.array([0, 0, 1.0]), 1000).tolist() == [0, 0, 1]
    for bad in (0, -1, True, 2.0, "3", None):
        with pytest.raises(DomainError, match="degree: expected a whole number of at least 1, got"):
            ar.root(cubes, bad)
    for bad in (-1, True, 2.0, None):
        with pytest.raises(DomainError, match="exponent: expected a whole number of at least 0, got"):
            ar.power(cubes, bad)
    assert ar.power(cubes, np.int64(2)).tolist() == (cubes**2).tolist()


def test_maxima_and_minima_of_two():
    other = X[::-1]
    agree(lambda x: ar.maximum(x, x[::-1]), wanted=np.maximum(X, other))
    agree(lambda x: ar.minimum(x, x[::-1]), wanted=np.minimum(X, other))
    agree(lambda x: ar.maximum(x, x[:1, :1] * 0 + 1), wanted=np.maximum(X, 1))
    agree(lambda x: ar.maximum(x, 1), wanted=np.maximum(X, 1))
    agree(lambda x: ar.minimum(0, x), wanted=np.minimum(X, 0))
    assert ar.maximum(X, 0.5).tolist() == np.maximum(X, 0.5).tolist()
    with pytest.raises(ForeignNumber, match=r'the float 0.5 in .*: write exact\("0.5"\)'):
        ar.maximum(RATIONAL.array(X), 0.5)
    for literal in (exact(1, 2), Fraction(1, 2)):
        agree(lambda x, literal=literal: ar.maximum(x, literal), wanted=np.maximum(X, 0.5))
        agree(lambda x, literal=literal: ar.maximum(literal, x), wanted=np.maximum(X, 0.5))
        agree(lambda x, literal=literal: ar.minimum(x, literal), wanted=np.minimum(X, 0.5))
    assert ar.maximum(X, pi).tolist() == np.maximum(X, math.pi).tolist()
    with BALL.working():
        assert ar.maximum(BALL.array([[1, 4]]), pi)[0, 0].value.overlaps(arb.pi())
        mixed = ar.maximum(RATIONAL.array([1, 5]), BALL.array([3, 3]))
        assert [type(e) for e in mixed] == [BallEntry] * 2
        assert (
            floats(mixed).tolist() == floats(ar.maximum(BALL.array([3, 3]), RATIONAL.array([1, 5]))).tolist() == [3, 5]
        )
        for other in (np.array([3, 3], dtype=object), np.array([3.0, 3.0])):
            for pair in ((RATIONAL.array([1, 5]), other), (other, RATIONAL.array([1, 5]))):
                found = ar.maximum(*pair)
                assert [type(e) for e in found] == [RationalEntry] * 2
                assert found.tolist() == [3, 5]
        assert floats(ar.maximum(np.array([3, 3], dtype=object), BALL.array([1, 5]))).tolist() == [3, 5]
    nothing = np.array([NoValue("none", True)], dtype=object)
    for pair in ((nothing, RATIONAL.array([1])), (RATIONAL.array([1]), nothing), (nothing, nothing)):
        assert type(ar.maximum(*pair)[0]) is NoValue


def test_where_chooses_and_asks_no_value_of_what_is_not_chosen():
    condition = np.array([[True, False, True], [False, False, True]])
    agree(lambda x: ar.where(condition, x, -x), wanted=np.where(condition, X, -X))
    agree(lambda x: ar.where(condition, x, 0), wanted=np.where(condition, X, 0))
    agree(lambda x: ar.where(condition, exact(1, 2), x), wanted=np.where(condition, 0.5, X))
    agree(lambda x: ar.where(condition, Fraction(1, 2), x), wanted=np.where(condition, 0.5, X))
    safe = ar.where(np.array([True, False]), 0, 1 / RATIONAL.array([0, 2]))
    assert safe.tolist() == [0, fmpq(1, 2)]
    unsafe = ar.where(np.array([False, False]), 0, 1 / RATIONAL.array([0, 2]))
    with pytest.raises(Undefined, match="division by zero"):
        unsafe[0] >= 0  # noqa: B015
    numbers = ar.where(np.array([True, False]), 1, 0)
    assert (numbers.tolist(), numbers.dtype.kind) == ([1.0, 0.0], "f")
    for literals in ((exact(1, 3), 0), (1, Fraction(1, 3)), (exact(1, 3), Fraction(1, 7))):
        chosen = ar.where(np.array([True, False]), *literals)
        assert [type(e) for e in chosen] == [RationalEntry] * 2
        assert chosen.tolist() == [ar.to_fmpq(literal) for literal in literals]
        with FLOAT64.working():
            screened = ar.where(np.array([True, False]), *literals)
            assert (screened.tolist(), screened.dtype) == ([ar.to_float(value) for value in literals], np.float64)
    for bad in (np.array([1, 0]), np.array([1.0]), np.array([None])):
        with pytest.raises(ForeignNumber, match="condition: expected booleans, such as of a comparison, got dtype"):
            ar.where(bad, 1, 0)
    assert ar.where(True, np.array([1.0]), np.array([2.0])).tolist() == [1.0]


# ---- reductions


def test_reductions_along_each_axis():
    agree(ar.total, wanted=X.sum(-1, keepdims=True))
    agree(lambda x: ar.total(x, 0), wanted=X.sum(0, keepdims=True))
    agree(lambda x: ar.mean(2 * x, -2), wanted=X.sum(0, keepdims=True))
    agree(lambda x: ar.mean(3 * x), wanted=X.sum(-1, keepdims=True))
    agree(ar.amax, wanted=X.max(-1, keepdims=True))
    agree(lambda x: ar.amax(x, -2), wanted=X.max(0, keepdims=True))
    agree(ar.amin, wanted=X.min(-1, keepdims=True))
    agree(lambda x: ar.amin(x, 0), wanted=X.min(0, keepdims=True))
    agree(ar.largest_entry, wanted=[[4.0]])
    agree(ar.smallest_entry, wanted=[[-2.0]])
    agree(ar.total_entry, wanted=[[4.5]])
    agree(ar.descending, wanted=-np.sort(-X, -1))
    stacked = np.stack([X, 10 * X])
    for name in ("largest_entry", "smallest_entry", "total_entry"):
        assert getattr(ar, name)(stacked).shape == getattr(ar, name)(RATIONAL.array(stacked)).shape == (2, 1, 1)
    agree(ar.descending, at=np.array([[1.0]]), wanted=[[1.0]])
    agree(ar.descending, at=X[0], wanted=[3.0, 0.5, -2.0])
    agree(ar.descending, at=stacked, wanted=-np.sort(-stacked, -1))
    for name, wanted in (("total", 1.5), ("mean", 0.5), ("amax", 3.0), ("amin", -2.0)):
        agree(lambda x, name=name: getattr(ar, name)(x), at=X[0], wanted=[wanted])
        assert getattr(ar, name)(stacked).shape == (2, 2, 1)
    agree(ar.descending, at=np.array([[1.0, 2.0, 3.0, 4.0]]), wanted=[[4.0, 3.0, 2.0, 1.0]])
    for system in SYSTEMS:
        with pytest.raises(ShapeError, match=r"largest entry of an empty axis \(shape \(2, 0\), axis -1\)"):
            ar.amax(system.array(np.zeros((2, 0))))
        assert ar.amax(system.array(np.zeros((2, 0))), 0).shape == (1, 0)


def test_the_peak_is_the_largest_entry_as_a_constant_and_nothing_where_there_is_no_range():
    for system in (FLOAT64, RATIONAL, BALL):
        assert floats(ar.peak(system.array(X))).tolist() == X.max(-1, keepdims=True).tolist()
    zero = ar.peak(SYMBOLIC.array(X))
    assert (zero.shape, zero[0, 0].value) == ((1, 1), 0)
    with TermUnknowns().deciding():
        assert ar.peak(RATIONAL.array(X)).tolist() == [[0]]
        assert ar.peak(X).tolist() == X.max(-1, keepdims=True).tolist()
    assert ar.derivative(ar.peak, RATIONAL.array([[1, 2]]), RATIONAL.array([[1, 1]])).tolist() == [[0]]
    formula = Formula()
    assert isinstance(ar.peak(formula.array([[1, 2]]))[0, 0], SolverEntry)


# ---- derivatives


def cube(x):
    return x * x * x


def test_derivatives_of_floats_one_inside_another():
    x, v = np.array([[0.5, -1.25], [2.0, 0.0]]), np.array([[1.0, 3.0], [-2.0, 0.5]])
    assert np.allclose(ar.derivative(cube, x, v), 3 * x * x * v, rtol=1e-15, atol=1e-100)
    inner = lambda y: ar.derivative(cube, y, np.ones_like(x))  # noqa: E731
    assert np.allclose(ar.derivative(inner, x, v), 6 * x * v, rtol=1e-9, atol=1e-9)
    for scale in (1e-6, 1e6):
        second = ar.derivative(lambda y, length=scale: ar.derivative(ar.exp, y, np.full_like(x, length)), 3 * x, v)
        assert np.allclose(second, np.exp(3 * x) * v * scale, rtol=1e-7, atol=1e-7 * scale)
    batch = np.stack([1e-3 * x, 1e3 * x])  # each instance has a scale of its own
    nested = ar.derivative(lambda y: ar.derivative(cube, y, np.ones_like(batch)), batch, np.ones_like(batch))
    assert np.allclose(nested, 6 * batch, rtol=1e-9, atol=1e-12)
    batch = np.stack([1e-3 * x, 1e6 * x])
    nested = ar.derivative(lambda y: ar.derivative(np.sin, y, np.ones_like(batch)), batch, np.ones_like(batch))
    assert np.allclose(nested[0], -np.sin(batch[0]), rtol=0, atol=1e-9)
    for point, scale in ((1e-6, 1.0), (1e6, 1.0), (1.0, 1e-9), (1.0, 1e9)):
        at, along = np.array([point]), np.array([scale])
        second = ar.derivative(lambda y, along=along: ar.derivative(lambda z: 1 / z, y, along), at, np.ones(1))
        assert np.allclose(second, 2 * scale / point**3, rtol=1e-9, atol=0)
    for direction in (v, 0 * v):
        still = ar.derivative(lambda y, d=direction: ar.derivative(cube, y, d), 0 * x, direction)
        assert np.array_equal(still, np.zeros_like(x))
    polynomial = lambda y: y**4 - 2 * y**3  # noqa: E731  (of which differences of fourth order make no error)
    second = ar.derivative(lambda y: ar.derivative(polynomial, y, np.ones(2)), np.array([1.0, 2.0]), np.ones(2))
    assert np.allclose(second, [0.0, 24.0], rtol=0, atol=1e-9)


def test_whether_a_derivative_is_being_taken():
    seen = []

    def watched(x):
        seen.append(ar.is_differentiating())
        return x

    assert not ar.is_differentiating()
    for system in SYSTEMS:
        ar.derivative(watched, system.array([1]), system.array([1]))
    assert seen == [True] * 4
    assert not ar.is_differentiating()
    with pytest.raises(ZeroDivisionError):
        ar.derivative(lambda _: 1 // 0, np.ones(1), np.ones(1))
    assert not ar.is_differentiating()
    with pytest.raises(DomainError, match="x: expected real entries, got dtype complex128"):
        ar.derivative(cube, np.ones(1, dtype=complex), np.ones(1))


def test_derivatives_of_exact_entries_one_inside_another():
    x, v = RATIONAL.array([[2, -3]]), RATIONAL.array([[1, 5]])
    assert ar.derivative(cube, x, v).tolist() == [[12, 135]]
    assert ar.derivative(lambda y: ar.derivative(cube, y, v), x, v).tolist() == [[12, -18 * 25]]
    # the inner derivative of what the outer one moves alone is zero, and is not mistaken for the outer one
    assert ar.derivative(lambda y: y * ar.derivative(lambda z: y + 0 * z, x, v), x, v).tolist() == [[0, 0]]
    assert ar.derivative(lambda y: ar.derivative(lambda z: y * z, x, v), x, v).tolist() == [[1, 25]]
    assert ar.derivative(lambda _: x, x, v).tolist() == [[0, 0]]
    assert type(ar.derivative(lambda y: 1 / (y - y), x, v)[0, 0]) is NoValue
    assert ar.derivative(cube, np.array([[2, 3]], dtype=object), np.array([[1, 1]], dtype=object)).tolist() == [
        [12, 27]
    ]
    with pytest.raises(Kink):
        ar.derivative(ar.relu, RATIONAL.array([0]), RATIONAL.array([1]))


def test_frozen_values_have_no_derivative():
    for system in SYSTEMS:
        with system.working():
            slope = ar.derivative(lambda x: x * ar.frozen(x), system.array([3]), system.array([1]))
        assert floats(slope).tolist() == [3]
    assert np.array_equal(ar.frozen(X), X)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_jacobians_gradients_and_hessians(system):
    W = np.array([[1.0, 2, 3], [4, 5, 6]])
    with system.working():
        x = system.array([[2.0, -1.0]])
        J = ar.jacobian(lambda z: (z * z) @ system.array(W), x)
        assert J.shape == (2, 3)
        assert np.allclose(floats(J), 2 * np.array([[2.0], [-1.0]]) * W, rtol=1e-14, atol=1e-100)
        matrix = system.array([[2.0, -1.0], [0.5, 3.0]])
        G = ar.gradient(lambda z: ar.total_entry(cube(z)), matrix)
        assert np.allclose(floats(G), 3 * np.array([[4, 1], [0.25, 9]]), rtol=1e-14, atol=1e-100)
        H = ar.hessian(lambda z: ar.total(z[..., :1] * z[..., :1] * z[..., 1:]), x)
        assert np.allclose(floats(H), [[-2, 4], [4, 0]], rtol=1e-9, atol=1e-9)
        with pytest.raises(
            ShapeError, match=r"function: expected values of shape \(..., 1, 1\), got \(2, 1\); see jacobian"
        ):
            ar.gradient(ar.total, matrix)
        with pytest.raises(ShapeError, match=r"got \(1, 2\); see jacobian"):
            ar.gradient(cube, x)


def test_gradients_of_a_batch():
    several = np.stack([np.stack([X, 2 * X]), np.stack([X + 1, -X])])
    assert np.allclose(ar.gradient(lambda z: ar.total_entry(cube(z)), several), 3 * several**2, rtol=1e-14, atol=1e-100)
    assert ar.gradient(cube, RATIONAL.array([[2]])).tolist() == [[12]]
    batch = np.stack([X, 2 * X, X + 1])
    for system in (FLOAT64, RATIONAL):
        gradients = ar.gradient(lambda z: ar.total_entry(cube(z)), system.array(batch))
        assert np.allclose(floats(gradients), 3 * batch**2, rtol=1e-14, atol=1e-100)
        rows = system.array(batch[:, :1])
        jacobians = ar.jacobian(cube, rows)
        assert jacobians.shape == (3, 3, 3)
        assert np.allclose(floats(jacobians), [np.diag(3 * b[0] ** 2) for b in batch], rtol=1e-14, atol=1e-100)


# ---- the fast ways give what the slow ones give ------------------------------


@pytest.mark.parametrize("axis", [-1, -2])
def test_reductions_of_batches_are_bit_for_bit_those_of_each_instance(axis):
    rng, compared = np.random.default_rng(0), 0
    for length in (1, 2, 5, 7, 8, 9, 40):
        x = rng.standard_normal((100, length, length)) * 10.0 ** rng.uniform(-9, 9, (100, length, length))
        x[3, 0, 0] = np.nan
        for function in (ar.total, ar.amax, ar.amin, ar.mean):
            whole, each = function(x, axis), np.stack([function(one, axis) for one in x])
            assert whole.shape == each.shape
            assert np.array_equal(whole, each, equal_nan=True), (function, length)
            compared += whole.size
    assert compared > 10_000


def test_lanes_hold_the_same_numbers_and_few_instances_stay_as_they_are():
    x = np.arange(100 * 6, dtype=float).reshape(100, 2, 3)
    lanes = in_lanes(x)
    assert np.array_equal(lanes, x)
    assert lanes.strides[0] == x.itemsize
    assert in_lanes(lanes) is lanes
    assert in_lanes(x[:64].copy()).strides[0] == x.itemsize
    for other in (x[:10], x[:63], x[0], x.reshape(100, 6), x.astype(complex), RATIONAL.array(x[:1])):
        assert in_lanes(other) is other


@pytest.mark.parametrize("system", [BALL, RATIONAL], ids=["ball", "rational"])
@pytest.mark.parametrize("axis", [-1, -2])
def test_lines_of_entries_are_reduced_as_entry_by_entry(system, axis):
    values = np.array([[[0.1, 3.0, -2.0], [1e-30, 7.0, 7.0]], [[0.0, 0.0, 1e30], [-1.0, -3.0, 0.1]]])
    compared = 0
    with system.working():
        x = system.array(values)
        for fast, slow in ((ar.total, lambda a, b: a + b), (ar.amax, lambda a, b: a.larger(b))):
            found = fast(x, axis)
            lines = np.moveaxis(np.asarray(x), axis, -1)
            for index in np.ndindex(lines.shape[:-1]):
                entry = np.moveaxis(found, axis, -1)[(*index, 0)]
                wanted = lines[index][0]
                for other in lines[index][1:]:
                    wanted = slow(wanted, other)
                assert str(entry.value) == str(wanted.value)
                assert getattr(entry, "nonnegative", None) == getattr(wanted, "nonnegative", None)
                compared += 1
    assert compared == 2 * (4 if axis == -1 else 6)


@pytest.mark.parametrize("question", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_operators_of_arrays_are_those_of_their_entries(question):
    x, y = BALL.array(X), BALL.array([[2.0, 3.0, 0.1]])
    with BALL.working():
        found = question(x, y)
        for index in np.ndindex(X.shape):
            assert str(found[index].value) == str(question(x[index], y[0, index[1]]).value)
            assert found[index].nonnegative == question(x[index], y[0, index[1]]).nonnegative
        assert question(x, x)[0, 0].nonnegative == question(x[0, 0], x[0, 0]).nonnegative  # a square, by its form
        zero = x / BALL.array([[0.0, 1.0, 1.0]])
        mixed = question(zero, x)
    assert isinstance(mixed[0, 0], NoValue)
    assert isinstance(mixed[0, 1], BallEntry)
    with pytest.raises(ValueError, match="broadcast"):
        question(x, BALL.array([[1.0, 2.0]]))


def test_reductions_with_an_entry_that_has_no_value_have_none():
    x = RATIONAL.array([[1, 0], [2, 3]])
    quotients = 1 / x
    for function in (ar.total, ar.amax):
        found = function(quotients)
        assert isinstance(found[0, 0], NoValue)
        assert isinstance(found[1, 0], RationalEntry)


def test_one_entry_and_whole_numbers_among_entries_are_taken_too():
    (two,) = RATIONAL.array([2])
    mixed = np.array([[two, -3, two], [1, two, -5]], dtype=object)
    assert ar.absolute(mixed).tolist() == [[2, 3, 2], [1, 2, 5]]
    assert ar.absolute(-two) == 2
    assert ar.exp(two - 2) == 1


def test_along_the_last_axis_where_none_is_named():
    for x in (np.array([[1.0, 2.0, 4.0], [3.0, 5.0, -1.0]]), RATIONAL.array([[1, 2, 4], [3, 5, -1]])):
        assert (ar.total(x) == [[7], [7]]).all()
        assert (ar.amax(x) == [[4], [5]]).all()
