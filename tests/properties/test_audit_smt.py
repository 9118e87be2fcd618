"""The SMT reading itself: known entries compute as rationals do, unknown ones as polynomials, and limits are named."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from resstream.arithmetic import (
    RATIONAL,
    absolute,
    amax,
    cos,
    derivative,
    exp,
    log,
    maximum,
    relu,
    sin,
    sqrt,
    tanh,
    total,
)
from resstream.arithmetic.solver import Choice, Condition, Formula, Polynomial, number, root_of_square, variable
from resstream.errors import NotExpressible
from resstream.prove import solve
from resstream.reference import L1, LINF, Norm, diameter, dobrushin, operator_norm, row_range, spectral_norm

WEIGHTS = st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any), min_size=3, max_size=3)

FUNCTIONS = {
    "diameter l1": lambda A: diameter(A, L1),
    "diameter linf in a basis": lambda A: diameter(A, Norm("linf", A * 0 + np.eye(3, dtype=int) * 2, A)),
    "dobrushin": dobrushin,
    "row_range": row_range,
    "operator_norm": lambda A: operator_norm(A, LINF),
    "relu": lambda A: total(relu(A - A.mT)),
    "quotient": lambda A: total(A @ A) / (1 + total(absolute(A))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(weights=WEIGHTS)
def test_known_entries_give_what_rationals_give(name, weights):
    rational = RATIONAL.array(weights)
    rational = rational / total(rational)
    entries = Formula().array([[entry.value for entry in row] for row in rational])
    found = [entry.polynomial.known() for entry in FUNCTIONS[name](entries).flat]
    assert found == [entry.value for entry in FUNCTIONS[name](rational).flat]


def evaluated(polynomial, point):
    """The value of a polynomial where its unknowns are known."""
    for unknown, value in point.items():
        polynomial = polynomial.substitute(unknown, number(value))
    return polynomial.known()


@given(st.lists(st.integers(-4, 4), min_size=4, max_size=4))
def test_polynomials_compute_as_their_values_do(values):
    x, y, z, w = Formula().real((4,))
    point = dict(enumerate(values))
    a, b, c, d = map(fmpq, values)
    assert evaluated(((x - y) * (z + 2 * w) - x**2 / 3 + 1).polynomial, point) == (a - b) * (c + 2 * d) - a * a / 3 + 1


@pytest.mark.parametrize("function", [exp, log, cos, sin, tanh], ids=lambda function: function.__name__)
def test_what_has_no_polynomial_form_is_refused_by_name(function):
    with pytest.raises(NotExpressible, match=f"^{function.__name__}$"):
        function(Formula().real((1, 1)))


def test_spectral_norms_are_refused_by_name_and_derivatives_of_polynomials_are_polynomials():
    x = Formula().real((2, 2))
    (slope,) = {entry.polynomial for entry in derivative(lambda y: total(y[:1, :1] ** 3), x, x).flat}
    assert slope == (3 * x[0, 0] ** 3).polynomial
    with pytest.raises(NotExpressible, match=r"^the spectral norm of other numbers than floats"):
        spectral_norm(x)


@pytest.mark.parametrize("compare", [lambda x: x == 0, lambda x: x < 1, lambda x: x >= 1, lambda x: x != 0])
def test_a_branch_on_unknown_values_is_refused(compare):
    with pytest.raises(NotExpressible, match="a branch on the values"):
        compare(Formula().real((1, 1)))


def test_a_maximum_of_maxima_is_one_maximum():
    formula = Formula()
    amax(absolute(formula.real((1, 3))))
    assert [len(choice.alternatives) for choice in formula.choices.values()][-1] == 6


def test_the_root_of_a_square_is_an_absolute_value():
    formula = Formula()
    x = formula.real((1, 2))
    sqrt(maximum((x[:, :1] - x[:, 1:]) ** 2, 4 * x[:, :1] ** 2))
    assert not formula.conditions
    (choice,) = (choice for choice in formula.choices.values() if len(choice.alternatives) == 4)
    assert {tuple(a.terms.items()) for a in choice.alternatives} >= {(((0,), fmpq(2)),), (((0,), fmpq(-2)),)}
    assert root_of_square((x[0, 0] * x[0, 0] + x[0, 1]).polynomial) is None
    assert root_of_square((2 * x[0, 0] * x[0, 0]).polynomial) is None


@given(st.dictionaries(st.lists(st.integers(0, 3), max_size=2).map(lambda m: tuple(sorted(m))), st.integers(-3, 3)))
def test_the_root_of_a_square_is_found_and_of_nothing_else(terms):
    polynomial = Polynomial({monomial: fmpq(c) for monomial, c in terms.items()})
    if polynomial.known() is None:
        square = polynomial * polynomial
        root = root_of_square(square)
        assert root is not None
        assert (root * root - square).known() == 0
        assert root_of_square(square + variable(5)) is None
        assert root_of_square(-square) is None


def case(conditions, choices=(), violation=None, unknowns=6):
    violation = violation or Condition(variable(0) - variable(1), ">")
    return solve._Case(violation, tuple(conditions), tuple(choices), {u: {u} for u in range(unknowns)})


def test_cases_that_differ_in_names_have_one_canonical_form():
    first = case([Condition(variable(0) * variable(2) - variable(1) * variable(3), ">=")])
    second = case(
        [Condition(variable(4) * variable(5) - variable(1) * variable(3), ">=")],
        violation=Condition(variable(4) - variable(1), ">"),
    )
    assert solve.canonical(first) == solve.canonical(second)


a, b, c = (Polynomial({(u,): fmpq(1)}) for u in (2, 3, 4))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (case([Condition(a - b, ">=")]), case([Condition(a - b, "==")])),
        (case([Condition(a - b, ">=")]), case([Condition(a + b, ">=")])),
        (case([Condition(a - variable(0), ">=")]), case([Condition(a - variable(1), ">=")])),
        (case([], [Choice(2, (b, c))]), case([Condition(a - b, ">="), Condition(a - c, ">=")])),
        (case([], [Choice(2, (b, variable(0)))]), case([], [Choice(2, (b, variable(0)), whole=False)])),
        # One maximum of b and x0 with a condition on x1, or the other way round: the same facts in other roles.
        (
            case([Condition(a - variable(1), ">=")], [Choice(2, (b, variable(0)))]),
            case([Condition(a - variable(0), ">=")], [Choice(2, (b, variable(1)))]),
        ),
    ],
    ids=["kind", "sign", "place", "choice or conditions", "whole choice or part of it", "roles"],
)
def test_cases_that_say_different_things_have_different_canonical_forms(first, second):
    assert solve.canonical(first) != solve.canonical(second)
