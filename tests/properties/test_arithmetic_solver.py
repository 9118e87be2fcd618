"""The solver's entries: polynomials are what SymPy computes, and of other numbers what defines them is known."""

import operator

import numpy as np
import pytest
import sympy as sp
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from resstream import arithmetic as ar
from resstream.arithmetic.entries import NoValue
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, noting
from resstream.arithmetic.solver import (
    MONOMIALS,
    Choice,
    Condition,
    Formula,
    Polynomial,
    SolverEntry,
    number,
    root_of_square,
    variable,
)
from resstream.arithmetic.unknowns import cases
from resstream.errors import DomainError, NotExpressible

X = sp.symbols("x0:5")
COEFFICIENTS = st.fractions(min_value=-4, max_value=4, max_denominator=4).map(
    lambda f: fmpq(f.numerator, f.denominator)
)
MONOMIAL = st.lists(st.integers(0, 2), max_size=3).map(lambda unknowns: tuple(sorted(unknowns)))
POLYNOMIALS = st.dictionaries(MONOMIAL, COEFFICIENTS, max_size=4).map(Polynomial)


def written(polynomial):
    """A polynomial as an expression of SymPy; what no polynomial should be made of fails here."""
    assert all(
        coefficient != 0 and monomial == tuple(sorted(monomial)) for monomial, coefficient in polynomial.terms.items()
    )
    return sum(
        (sp.Rational(int(c.p), int(c.q)) * sp.prod([X[u] for u in m]) for m, c in polynomial.terms.items()),
        sp.Integer(0),
    )


def same(polynomial, expression):
    return sp.expand(written(polynomial) - expression) == 0


@given(p=POLYNOMIALS, q=POLYNOMIALS, factor=COEFFICIENTS)
def test_polynomials_against_sympy(p, q, factor):
    a, b, c = written(p), written(q), sp.Rational(int(factor.p), int(factor.q))
    assert same(p + q, a + b)
    assert same(p - q, a - b)
    assert same(-p, -a)
    assert same(p * q, a * b)
    assert same(p.times(factor), c * a)
    for unknown in range(3):
        assert same(p.substitute(unknown, q), a.subs(X[unknown], b))
    assert {X[u] for u in p.unknowns()} == a.free_symbols
    assert p.known() == (fmpq(int(a.p), int(a.q)) if a.is_number else None)
    assert (p == q) is (a == b)
    assert (p + q == q + p, hash(p + q) == hash(q + p)) == (True, True)
    assert p != a


def test_the_comparison_with_sympy_can_fail():
    assert same(variable(1) * variable(0), X[0] * X[1])
    assert not same(variable(1) + number(1), X[1])


def test_polynomials_of_too_many_monomials_are_refused():
    assert MONOMIALS == 2000
    first, second = (Polynomial({(k,): fmpq(1) for k in range(count)}) for count in (40, 50))
    assert len((first * second).terms) == 40 * 50 - 40 * 39 // 2
    with pytest.raises(NotExpressible, match="more than 2000 monomials"):
        Polynomial({(k,): fmpq(1) for k in range(3)}) * Polynomial({(k,): fmpq(1) for k in range(667)})


@given(p=POLYNOMIALS, q=POLYNOMIALS)
def test_the_root_of_a_square_is_found_and_of_no_other(p, q):
    root = root_of_square(p * p)
    if p.known() is None:
        assert root in (p, -p)
    else:
        assert root is None
    for other in (p * p + q, p * q, q):
        root = root_of_square(other)
        assert root is None or root * root == other


def test_what_has_no_polynomial_root():
    x, y = variable(0), variable(1)
    for square, root in (
        ((x + y) * (x + y), x + y),
        ((x * x + y + number(1)) * (x * x + y + number(1)), x * x + y + number(1)),
        ((x * x).times(fmpq(4, 9)), x.times(fmpq(2, 3))),
    ):
        assert root_of_square(square) == root
    for other in (
        x, x * y, x * x * y, -(x * x), (x * x).times(fmpq(-1, 4)),
        (x * x).times(fmpq(2)), (x * x).times(fmpq(4, 3)), x * x + number(1),
        x * x + x.times(fmpq(2)), x * x + y * y, x * x + y, number(4), number(0), x * x * x,
    ):  # fmt: skip
        assert root_of_square(other) is None, written(other)


# ---- the unknowns


def polynomials(entries):
    return [entry.polynomial for entry in np.ravel(entries)]


def test_unknowns_and_what_is_known_of_them():
    formula = Formula()
    x = formula.real((2, 1))
    assert (x.shape, polynomials(x)) == ((2, 1), [variable(0), variable(1)])
    assert (formula.conditions, formula.integral, formula.case) == ([], set(), None)
    s, t, k = formula.nonnegative((1,)), formula.positive((1,)), formula.whole((2,), -1, 3)
    (u,), (v,), (m, n) = polynomials(s), polynomials(t), polynomials(k)
    assert [u, v, m, n] == [variable(number) for number in range(2, 6)]
    assert formula.conditions == [
        Condition(u, ">="),
        Condition(v, ">"),
        Condition(m + number(1), ">="),
        Condition(n + number(1), ">="),
        Condition(number(3) - m, ">="),
        Condition(number(3) - n, ">="),
    ]
    assert formula.integral == {4, 5}
    assert formula.one().polynomial == number(1)
    assert formula.one() == 1
    depending = formula.real((1,), {0, 3})
    assert formula.base(depending[0].polynomial.unknowns() | {1}) == {0, 1, 3}
    assert formula.base([]) == set()
    assert (formula.name, formula.solves) == ("solver", True)
    with formula.working():
        assert polynomials(formula.array([[1, 0.5], ["1/3", fmpq(2)]])) == [
            number(value) for value in (1, 0.5, "1/3", 2)
        ]
    assert formula.array(np.zeros((2, 3))).shape == (2, 3)
    with pytest.raises(DomainError, match="expected a finite number"):
        formula.array([np.nan])


def test_other_conditions_of_the_same_unknowns():
    formula = Formula()
    (x,) = formula.nonnegative((1,))
    other = formula.knowing([Condition(x.polynomial, ">")])
    assert other.conditions == [Condition(x.polynomial, ">")]
    assert formula.conditions == [Condition(x.polynomial, ">=")]
    other.assume(np.array([x]), "!=")
    assert len(formula.conditions) == 1
    assert other.made_of is formula.made_of


def unknown(count=1):
    formula = Formula()
    return (formula, *formula.real((count,)))


def test_operations_of_polynomials_are_those_of_numbers():
    formula, x, y = unknown(2)
    a, b = X[:2]
    for entry, expression in (
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (-x, -a), (x / 4, a / 4), (3 - x, 3 - a), (x**3 * y, a**3 * b),
        (2 * x + fmpq(1, 2), 2 * a + sp.Rational(1, 2)), (0 * x, 0),
    ):  # fmt: skip
        assert isinstance(entry, SolverEntry)
        assert entry.formula is formula
        assert same(entry.polynomial, expression)
    assert formula.conditions == []
    assert (repr(x), repr(x - x), repr(0 * x + fmpq(1, 2))) == ("an unknown", "0", "1/2")


def test_a_quotient_is_what_times_the_divisor_is_the_dividend():
    formula, x, y = unknown(2)
    with noting() as notes:
        q = x / y
        assert formula.conditions == [Condition(q.polynomial * y.polynomial - x.polynomial, "==")]
        assert formula.made_of[2] == {0, 1}
        (y + 1) / 5
        q / (x + 1)
    assert formula.made_of[3] == {0, 1}
    assert [(n.entry.polynomial, n.kind, n.known) for n in notes] == [
        (y.polynomial, NONZERO, 0),
        (x.polynomial + number(1), NONZERO, 1),
    ]
    assert notes[0].role.startswith("divisor in line ")
    for nothing in (x / 0, x / (y - y), 1 / (0 * x)):
        assert isinstance(nothing, NoValue)
        assert nothing.certain
        assert nothing.reason.startswith("division by zero")
    formula.assume(np.array([y]), "==")
    assert isinstance(x / y, NoValue)
    assert (x / y).certain
    assert isinstance(x / (2 * y), SolverEntry)


def test_maxima():
    formula, x, y, z = unknown(3)
    two, three = formula.array([2, 3])
    assert two.larger(three).polynomial == three.larger(two).polynomial == number(3)
    assert x.larger(x + 0) is x
    assert formula.choices == {}
    largest = x.larger(y)
    assert formula.choices == {3: Choice(3, (x.polynomial, y.polynomial))}
    assert formula.choices[3].whole
    assert largest.polynomial == variable(3)
    assert formula.made_of[3] == {0, 1}
    again = largest.larger(z).larger(two)
    assert formula.choices[5] == Choice(5, (x.polynomial, y.polynomial, z.polynomial, number(2)))
    assert again.polynomial == variable(5)
    for other in (2 * largest, largest * largest, largest * x, largest + x, -largest):
        made = other.larger(z)
        ((name,),) = made.polynomial.terms
        assert formula.choices[name].alternatives == (other.polynomial, z.polynomial)
    assert two.larger(x).polynomial != x.polynomial
    assert (x - 1).larger(x).polynomial.known() is None  # a difference that is known, and is not zero, is not asked


def test_roots():
    formula, x, y = unknown(2)
    a, b = polynomials([x, y])
    with noting() as notes:
        assert formula.choices[(x * x).square_root().polynomial.unknowns().pop()].alternatives == (a, -a)
        joint = (x * x).larger((x - y) * (x - y)).square_root()
        assert formula.choices[joint.polynomial.unknowns().pop()].alternatives == (a, -a, a - b, b - a)
        assert (notes, formula.conditions) == ([], [])
        root = x.square_root()
        s = root.polynomial
        assert formula.conditions == [Condition(s, ">="), Condition(s * s - a, "==")]
        radicand = (x * x).larger(y)  # of which one is no square
        mixed = radicand.square_root().polynomial
        assert formula.conditions[2:] == [
            Condition(mixed, ">="),
            Condition(mixed * mixed - radicand.polynomial, "=="),
        ]
        cube = y.root(3)
        t = cube.polynomial
        assert formula.conditions[4:] == [Condition(t, ">="), Condition(t * t * t - b, "==")]
        t = y.root(4).polynomial
        assert formula.conditions[7].polynomial == t * t * t * t - b
    assert [(n.kind, n.known) for n in notes] == [(NONNEGATIVE, known) for known in (0, 2, 4, 6)]
    assert [n.entry.polynomial for n in notes] == [a, radicand.polynomial, b, b]
    assert all(n.role.startswith("radicand in line ") for n in notes)
    assert formula.made_of[s.unknowns().pop()] == {0}
    known = {value: formula.array([value])[0] for value in (8, 0, 2, -8, -4, fmpq(-1, 2))}
    count = len(formula.conditions)
    assert (known[8].root(3).polynomial, known[0].root(3).polynomial) == (number(2), number(0))
    assert len(formula.conditions) == count
    for value in (known[2].root(3), known[2].square_root(), known[0].square_root()):
        assert value.polynomial.known() is None
    for nothing, reason in (
        (known[-8].root(3), "root of -8"),
        (known[fmpq(-1, 2)].root(3), "root of -1/2"),
        (known[-4].square_root(), "square root of -4"),
        (known[fmpq(-1, 2)].square_root(), "square root of -1/2"),
    ):
        assert isinstance(nothing, NoValue)
        assert nothing.certain
        assert nothing.reason.startswith(reason)


@pytest.mark.parametrize(
    ("question", "kind", "otherwise"),
    [
        (operator.lt, ("y-x", ">"), ("x-y", ">=")),
        (operator.gt, ("x-y", ">"), ("y-x", ">=")),
        (operator.le, ("y-x", ">="), ("x-y", ">")),
        (operator.ge, ("x-y", ">="), ("y-x", ">")),
        (operator.eq, ("x-y", "=="), ("x-y", "!=")),
        (operator.ne, ("x-y", "!="), ("x-y", "==")),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_branch_makes_two_cases(question, kind, otherwise):
    found = []
    for case in cases():
        formula = Formula(case)
        x, y = formula.real((2,))
        difference = {"x-y": x.polynomial - y.polynomial, "y-x": y.polynomial - x.polynomial}
        answer = question(x, y)
        (condition,) = formula.conditions
        wanted, sign = kind if answer else otherwise
        assert condition == Condition(difference[wanted], sign)
        found.append(answer)
    assert sorted(found) == [False, True]


def test_a_branch_outside_a_proof_is_made_on_what_is_known_alone():
    _, x, y = unknown(2)
    for question in (operator.lt, operator.le, operator.eq, operator.ne):
        with pytest.raises(NotExpressible, match="a branch on the values"):
            question(x, y)
    assert (x < x + 1, x + 1 < x, x < x + 0, x == x + 0, x == x + 1, x + 1 != x) == (
        True,
        False,
        False,
        True,
        False,
        True,
    )


@pytest.mark.parametrize("name", ["exp", "log", "cos", "sin", "tanh", "erf"])
def test_what_is_no_polynomial_is_named(name):
    _, x = unknown()
    with pytest.raises(NotExpressible, match=f"^{name}$"):
        getattr(ar, name)(np.array([x], dtype=object))
    with pytest.raises(NotExpressible, match=r"^pi$"):
        x * ar.pi
