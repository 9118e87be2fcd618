"""Symbolic entries: expressions are what SymPy makes of numbers, signs are asked of it, and what is owed is noted."""

import operator
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from flint import fmpq

from resstream import arithmetic as ar
from resstream.arithmetic import RATIONAL, SYMBOLIC, NoValue, SymbolicEntry, derivative, is_expression, symbols
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, noting
from resstream.arithmetic.symbols import along, to_expression
from resstream.errors import Kink, NotExpressible, Undecided

x, y = sp.symbols("x y", real=True)
p = sp.Symbol("p", positive=True)
q = sp.Symbol("q", nonnegative=True)
n = sp.Symbol("n", negative=True)


def entry(expression):
    return SymbolicEntry(sp.sympify(expression))


def test_numbers_and_expressions_become_expressions():
    rational = RATIONAL.array([Fraction(2, 3)])[0]
    assert [to_expression(value) for value in (rational, fmpq(2, 3), Fraction(2, 3), "2/3")] == [sp.Rational(2, 3)] * 4
    assert to_expression(0.5) == sp.Rational(1, 2)
    assert (to_expression(x), to_expression(entry(x))) == (x, x)
    assert [is_expression(value) for value in (x, entry(1), sp.Integer(1), 1, rational, "x")] == [True] * 3 + [
        False
    ] * 3
    assert (entry(x).adopt(y).value, entry(x).adopt("y"), entry(x).adopt(1.5)) == (y, None, None)
    assert sp.sympify(entry(x) + 1) == x + 1
    assert repr(entry(x + 1)) == "x + 1"
    assert (SYMBOLIC.name, entry(x).of(fmpq(1, 2)).value) == ("symbolic", sp.Rational(1, 2))
    array = SYMBOLIC.array([[1, x], [Fraction(1, 3), entry(y)]])
    assert [e.value for e in array.flat] == [1, x, sp.Rational(1, 3), y]
    scalar = SYMBOLIC.array(3)
    assert (scalar.shape, scalar.item().value) == ((), 3)
    with SYMBOLIC.working():
        assert (entry(1) + 1).value == 2


def test_operations_are_those_of_sympy():
    a, b = entry(x), entry(y)
    for got, wanted in (
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (-a, -x), (abs(a), abs(x)), (a.larger(b), sp.Max(x, y)),
        (entry(3).larger(entry(2)), 3), (a.exponential(), sp.exp(x)), (a.cosine(), sp.cos(x)), (a.sine(), sp.sin(x)),
        (a.hyperbolic_tangent(), sp.tanh(x)), (a.error_function(), sp.erf(x)), (a.pi(), sp.pi),
        (a.square_root(), sp.sqrt(x)), (a.root(3), sp.root(x, 3)), (a.logarithm(), sp.log(x)), (a / b, x / y),
    ):  # fmt: skip
        assert got.value == wanted


def nodes(expression):
    return sum(1 for _ in sp.preorder_traversal(expression))


def test_large_expressions_are_left_as_they_are():
    """From 60 nodes on SymPy does not look for a simpler form, which takes long."""
    for count in (56, 57):
        total = sum(sp.symbols(f"a0:{count}", positive=True)) + sp.log(p)
        evaluated = nodes(total) < 60
        assert evaluated is (count == 56)
        assert (entry(total).exponential().value.func is sp.Mul) is evaluated
        positive = sum(sp.symbols(f"a0:{count + 2}", positive=True))
        for first, second in ((entry(positive), entry(0)), (entry(0), entry(positive))):
            assert (first.larger(second).value == positive) is evaluated


def test_signs_are_known_where_sympy_is_certain():
    for sign, expression in (
        (1, p),
        (-1, n),
        (0, sp.Integer(0)),
        (1, x**2 + 1),
        (-1, -p - 1),
        (0, sp.sqrt(8) - 2 * sp.sqrt(2)),
    ):
        number = entry(expression)
        assert (number < 0, number > 0, number == 0) == (sign < 0, sign > 0, sign == 0)
        assert (number <= 0, number >= 0, number != 0) == (sign <= 0, sign >= 0, sign != 0)
    assert entry(x) != entry(x + 1)
    assert (entry(x) == entry(x), entry(p) == entry(p), entry(p) != entry(p + n)) == (True, True, True)
    either = sp.Symbol("z", real=True, zero=False)
    assert entry(either) != 0
    for question in (operator.lt, operator.le):
        with pytest.raises(NotExpressible, match="a branch on the values"):
            question(entry(either), 0)
    for unknown in (x, q):
        for question in (operator.lt, operator.eq):
            with pytest.raises(NotExpressible, match="a branch on the values"):
                question(entry(unknown), 0)


def test_where_there_is_no_value():
    for nothing, reason in (
        (entry(x) / 0, "division by zero"),
        (entry(x) / entry(sp.sqrt(8) - 2 * sp.sqrt(2)), "division by zero"),
        (entry(n).square_root(), "square root of n"),
        (entry(-2).square_root(), "square root of -2"),
        (entry(n).root(3), "root of n"),
        (entry(0).logarithm(), "logarithm of 0"),
        (entry(-1).logarithm(), "logarithm of -1"),
        (entry(n).logarithm(), "logarithm of n"),
    ):
        assert isinstance(nothing, NoValue)
        assert nothing.certain
        assert nothing.reason.startswith(reason)
    for something in (entry(0).square_root(), entry(0).root(3), entry(p).logarithm(), entry(q).square_root()):
        assert isinstance(something, SymbolicEntry)


def noted(build):
    with noting() as notes:
        build()
    assert all(" in line " in note.role for note in notes)
    return [(note.entry.value, note.kind, note.role.split(" in ")[0]) for note in notes]


def test_what_is_divided_by_and_what_has_a_root_is_noted_but_for_numbers():
    assert noted(lambda: (entry(x) / entry(y), entry(x) / 2, 1 / entry(p))) == [
        (y, NONZERO, "divisor"),
        (p, NONZERO, "divisor"),
    ]
    assert noted(lambda: (entry(x).square_root(), entry(2).square_root())) == [(x, NONNEGATIVE, "radicand")]
    assert noted(lambda: (entry(x).root(3), entry(2).root(3))) == [(x, NONNEGATIVE, "radicand")]
    assert noted(lambda: (entry(x).logarithm(), entry(2).logarithm())) == [(x, POSITIVE, "argument of a logarithm")]
    assert noted(lambda: entry(x) + entry(y) * 2) == []


# ---- derivatives


def slope(function, at, direction=1):
    return derivative(function, SYMBOLIC.array([[at]]), SYMBOLIC.array([[direction]]))[0, 0]


def test_slopes_are_derivatives():
    for function, expression in (
        (ar.exp, sp.exp(x)), (ar.sin, sp.sin(x)), (ar.log, sp.log(x)), (ar.sqrt, sp.sqrt(x)), (ar.square, x**2),
        (lambda z: 1 / z, 1 / x), (lambda z: z * ar.tanh(z), x * sp.tanh(x)), (lambda z: z**3 - z, x**3 - x),
    ):  # fmt: skip
        assert sp.simplify(slope(function, x, y).value - y * sp.diff(expression, x)) == 0
    assert slope(lambda z: z * ar.frozen(z), x).value == x
    assert slope(lambda z: derivative(ar.square, z, 0 * z + 1), x).value == 2
    assert slope(lambda z: z * derivative(lambda w: w * ar.frozen(w), z, 0 * z + 1), x).value == x
    assert ar.frozen(SYMBOLIC.array([[x]]))[0, 0].value == x


def test_a_kink_is_refused_and_that_there_is_none_is_noted():
    for function in (ar.absolute, ar.relu):
        with pytest.raises(Kink, match="derivative asked at a kink"):
            slope(function, 0)
        assert slope(function, 3).value == 1
        ((distance, kind, role),) = noted(lambda function=function: slope(function, x))
        assert (distance, kind, role) == (x, NONZERO, "distance to a kink")
    with pytest.raises(Undecided):
        slope(lambda z: ar.maximum(z, 2 * z), 0)
    assert noted(lambda: slope(ar.absolute, 3)) == [(3, NONZERO, "distance to a kink")]


def test_what_is_asked_along_the_way_is_asked_where_it_starts():
    assert noted(lambda: slope(ar.sqrt, x)) == [(x, POSITIVE, "radicand")]  # a root has no slope at 0
    assert noted(lambda: slope(ar.log, x)) == [(x, POSITIVE, "argument of a logarithm")]
    assert noted(lambda: slope(lambda z: 1 / z, x)) == [(x, NONZERO, "divisor")]
    assert noted(lambda: slope(lambda z: z / entry(y), x)) == [(y, NONZERO, "divisor")]
    with noting() as notes:
        entry(y).square_root()
        slope(lambda z: z * entry(y).square_root(), x)
    assert [(note.entry.value, note.kind) for note in notes] == [(y, NONNEGATIVE)] * 2


def test_derivatives_that_are_being_taken_are_no_more_when_they_are_done():
    with along() as time:
        assert time.value.is_real
        assert (time + 1).frozen().value == 1
    assert (time + 1).frozen().value == time.value + 1
    with pytest.raises(RuntimeError), along() as time:
        raise RuntimeError
    assert time.frozen() is time
    with along() as outer, along() as inner:
        assert outer.value != inner.value
        assert (outer + inner * x + y).frozen().value == y


def test_expressions_that_are_too_large_to_be_differentiated(monkeypatch):
    def is_refused(function, limit):
        monkeypatch.setattr(symbols, "LARGEST", limit)
        try:
            slope(function, x)
        except NotExpressible as error:
            assert "the derivative of so large an expression" in str(error)  # noqa: PT017
            return True
        return False

    size = nodes((x + y) ** 2 + (x + y))
    assert [is_refused(lambda z: z**2 + z, size + more) for more in (0, 1)] == [True, False]
    time = sp.Symbol("t", real=True)
    many = sp.Mul(*(sp.sin(time + x + k) for k in range(14)))
    grown, least = nodes(many.diff(time)), nodes(many) + 1
    assert grown > 10 * least
    for limit in (least, grown // 10, grown // 10 + 1, grown):
        refused = is_refused(lambda z: np.prod([ar.sin(z + k) for k in range(14)], axis=0), limit)
        assert refused is (grown >= 10 * limit)
