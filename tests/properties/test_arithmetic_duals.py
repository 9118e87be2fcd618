"""Numbers with a slope: derivatives of expressions are those that SymPy finds, one inside another included."""

import operator

import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq

from resstream import arithmetic as ar
from resstream.arithmetic import RATIONAL, Ball, DualEntry, NoValue, RationalEntry, derivative
from resstream.errors import Kink

BALL = Ball(200)
x = sp.Symbol("x", real=True)


def rational(value):
    return RationalEntry(fmpq(value))


def dual(value, slope, level=1):
    return DualEntry(rational(value), rational(slope), level)


def pair(entry):
    return entry.value.value, entry.slope.value


FUNCTIONS = {
    "sum": (lambda z: z + 3 + z, 2 * x + 3),
    "difference": (lambda z: 3 - z - 2 * z, 3 - 3 * x),
    "product": (lambda z: z * z * 5, 5 * x**2),
    "quotient": (lambda z: (z + 1) / (z * z + 2), (x + 1) / (x**2 + 2)),
    "inverse": (lambda z: 2 / z, 2 / x),
    "negative": (lambda z: -z * z, -(x**2)),
    "power": (lambda z: z**5, x**5),
    "below": (lambda z: z**-2, x**-2),
    "exp": (lambda z: ar.exp(2 * z), sp.exp(2 * x)),
    "log": (lambda z: ar.log(z * z), 2 * sp.log(x)),
    "sqrt": (lambda z: ar.sqrt(z * z * z), x ** sp.Rational(3, 2)),
    "root": (lambda z: ar.root(z, 5), x ** sp.Rational(1, 5)),
    "cos": (lambda z: ar.cos(3 * z), sp.cos(3 * x)),
    "sin": (lambda z: ar.sin(3 * z), sp.sin(3 * x)),
    "tanh": (ar.tanh, sp.tanh(x)),
    "erf": (lambda z: ar.erf(2 * z), sp.erf(2 * x)),
    "abs": (lambda z: ar.absolute(-3 * z), 3 * x),
    "abs above": (ar.absolute, x),
    "max": (lambda z: ar.maximum(z, z * z), x),
    "max second": (lambda z: ar.maximum(z * z, z), x),
    "pi": (lambda z: z * ar.pi, sp.pi * x),
    "frozen": (lambda z: z * ar.frozen(z * z), None),
}
AT = sp.Rational(3, 7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_against_sympy(name):
    function, expression = FUNCTIONS[name]
    with BALL.working():
        point, ones = BALL.array([fmpq(3, 7)]), BALL.array([1])
        first = derivative(function, point, ones)[0].value
        second = derivative(lambda z: derivative(function, z, 0 * z + 2), point, ones)[0].value
        wanted = (
            [AT**2, 0]
            if expression is None
            else [sp.diff(expression, x).subs(x, AT), 2 * sp.diff(expression, x, 2).subs(x, AT)]
        )
        for found, value in zip((first, second), wanted, strict=True):
            known = arb(str(sp.N(value, 60)))
            assert abs(found - known) < arb(10) ** -45, (found, value)


def test_the_comparison_with_sympy_can_fail():
    with BALL.working():
        found = derivative(ar.exp, BALL.array([fmpq(3, 7)]), BALL.array([1]))[0].value
        assert not abs(found - arb(str(sp.N(sp.exp(AT) * (1 + sp.Rational(1, 10**40)), 60)))) < arb(10) ** -45


def test_numbers_and_derivatives_of_another_level_are_constants():
    a = dual(3, 5)
    for other, found in (
        (a + 2, (5, 5)),
        (2 - a, (-1, -5)),
        (a * rational(2), (6, 10)),
        (rational(2) + a, (5, 5)),
        (a / 2, (fmpq(3, 2), fmpq(5, 2))),
    ):
        assert pair(other) == found
        assert other.level == 1
    assert pair(a.of(fmpq(7))) == (7, 0)
    inner = dual(2, 11, level=2)
    for product in (a * inner, inner * a):
        assert product.level == 2
        assert pair(product.value) == (6, 10)
        assert pair(product.slope) == (33, 55)
    difference = a - inner
    assert (difference.level, pair(difference.value), pair(difference.slope)) == (2, (1, 5), (-11, 0))
    difference = inner - a
    assert (difference.level, pair(difference.value), pair(difference.slope)) == (2, (-1, -5), (11, 0))
    assert repr(a) == "3 + 5 t"
    assert a.frozen() == 3
    assert (DualEntry(a, a, 2).frozen() == 3, type(DualEntry(a, a, 2).frozen())) == (True, RationalEntry)
    with BALL.working():
        ball = DualEntry(BALL.array([3])[0], BALL.array([5])[0], 1)
        assert (ball + arb(2)).value.value == 5
        assert (ball + arb(2)).slope.value == 5
        assert ball.adopt("text") is None
        assert ball.pi().slope.value == 0
        assert ball.pi().value.value.overlaps(arb.pi())


def test_comparisons_are_of_the_values():
    a, b, tied = dual(3, 5), dual(4, -9), dual(3, 7)
    for question in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        assert question(a, b) is question(3, 4)
        assert question(b, a) is question(4, 3)
        assert question(a, tied) is question(3, 3)
        assert question(a, dual(4, 0, level=2)) is question(3, 4)
    assert [a.below(b), b.below(a), a.below(tied), a.same(tied), a.same(b)] == [True, False, False, True, False]


def test_kinks():
    assert pair(dual(3, 5).larger(dual(2, 7))) == (3, 5)
    assert pair(dual(2, 5).larger(dual(3, 7))) == (3, 7)
    assert pair(dual(2, 5).larger(dual(2, 5))) == (2, 5)
    assert (pair(dual(2, 5).size()), pair(dual(-2, 5).size()), pair(dual(0, 0).size())) == ((2, 5), (2, -5), (0, 0))
    assert [pair(dual(fmpq(value, 2), 5).size())[1] for value in (-1, 1)] == [-5, 5]
    for kink in (lambda: dual(2, 5).larger(dual(2, 6)), lambda: dual(0, 1).size()):
        with pytest.raises(Kink, match="derivative asked at a kink"):
            kink()


def test_without_a_value_there_is_no_slope_either():
    nought, one = dual(0, 1), dual(1, 1)
    for nothing in (one / nought, nought.square_root(), nought.root(3), nought.logarithm(), dual(-1, 1).square_root()):
        assert isinstance(nothing, NoValue)
        assert nothing.certain
    nothing = one / nought
    assert one + nothing is nothing
    assert nothing * one is nothing
    assert one.meet(nothing) is nothing
    assert pair(dual(4, 1).square_root()) == (2, fmpq(1, 4))
    assert pair(dual(8, 1).root(3)) == (2, fmpq(1, 12))
    slopes = derivative(lambda z: ar.where(z > 1, z, 1 / (z - z)), RATIONAL.array([2]), RATIONAL.array([1]))
    assert slopes[0] == 1
    assert np.shape(slopes) == (1,)
