"""The symbolic reading itself: every function of the arithmetic takes SymPy expressions, and SymPy is imported late."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import (
    SYMBOLIC,
    absolute,
    amax,
    amin,
    constant,
    cos,
    derivative,
    exact,
    exp,
    eye,
    frozen,
    is_expression,
    jacobian,
    log,
    maximum,
    mean,
    minimum,
    ones,
    peak,
    relu,
    sin,
    sqrt,
    square,
    tanh,
    total,
    where,
    zeros,
)
from resstream.errors import DomainError, Undecided

a, b, c = sp.symbols("a b c", real=True)
X = np.array([[a, b, c]], dtype=object)

READINGS = {
    "exp": (exp(X), [sp.exp(a), sp.exp(b), sp.exp(c)]),
    "log": (log(X), [sp.log(a), sp.log(b), sp.log(c)]),
    "cos": (cos(X), [sp.cos(a), sp.cos(b), sp.cos(c)]),
    "sin": (sin(X), [sp.sin(a), sp.sin(b), sp.sin(c)]),
    "tanh": (tanh(X), [sp.tanh(a), sp.tanh(b), sp.tanh(c)]),
    "sqrt": (sqrt(square(X)), [abs(a), abs(b), abs(c)]),
    "absolute": (absolute(X), [abs(a), abs(b), abs(c)]),
    "relu": (relu(X), [sp.Max(a, 0), sp.Max(b, 0), sp.Max(c, 0)]),
    "maximum": (maximum(X, zeros((1, 1), X)), [sp.Max(a, 0), sp.Max(b, 0), sp.Max(c, 0)]),
    "minimum": (minimum(X, zeros((1, 1), X)), [-sp.Max(-a, 0), -sp.Max(-b, 0), -sp.Max(-c, 0)]),
    "amax": (amax(X), [sp.Max(a, b, c)]),
    "amin": (amin(X), [-sp.Max(-a, -b, -c)]),
    "peak": (peak(X), [0]),
    "total": (total(X), [a + b + c]),
    "mean": (mean(X), [a / 3 + b / 3 + c / 3]),
    "where": (where(np.array([[True, False, True]]), X, 0), [a, 0, c]),
    "eye": (eye(2, X), [1, 0, 0, 1]),
    "ones": (ones((1, 2), X), [1, 1]),
    "exact": (exact(1, 3) * X, [a / 3, b / 3, c / 3]),
    "frozen": (frozen(X), [a, b, c]),
    "exp of zero": (exp(zeros((1, 1), X)), [1]),
}


@pytest.mark.parametrize("name", READINGS)
def test_functions_of_the_arithmetic_take_expressions(name: str) -> None:
    value, expected = READINGS[name]
    assert list(value.flat) == expected
    assert all(is_expression(entry) for entry in value.flat)


def test_numbers_become_exact_expressions() -> None:
    assert list(SYMBOLIC.array([0.1, 2, a])) == [sp.Rational(*(0.1).as_integer_ratio()), 2, a]
    assert constant(3, like=X) == sp.Integer(3)
    with pytest.raises(DomainError, match="expected a finite number, got nan"):
        SYMBOLIC.array([float("nan")])


def test_derivatives_are_exact_and_refuse_a_kink() -> None:
    assert jacobian(lambda x: x * x * exp(x), X)[1, 1] == b**2 * sp.exp(b) + 2 * b * sp.exp(b)
    assert derivative(lambda x: x * frozen(x), X, ones((1, 3), X)).tolist() == [[a, b, c]]
    assert derivative(absolute, SYMBOLIC.array([[-3]]), SYMBOLIC.array([[2]])).tolist() == [[-2]]
    for function in (absolute, relu, lambda x: maximum(x, 2 * x)):
        with pytest.raises(Undecided, match="derivative asked at a kink"):
            derivative(function, SYMBOLIC.array([[0]]), SYMBOLIC.array([[1]]))


def test_the_library_works_without_importing_sympy() -> None:
    program = (
        "import sys, numpy as np\n"
        "import resstream, resstream.claims\n"
        "from resstream.arithmetic import RATIONAL, Ball, amax, sqrt\n"
        "from resstream.reference import diameter, layer_norm\n"
        "layer_norm(np.array([[1.0, 2.0, 4.0]]))\n"
        "diameter(Ball(64).array([[1, 2], [3, 4]])); amax(RATIONAL.array([[1, 2]]))\n"
        "sys.exit('sympy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
