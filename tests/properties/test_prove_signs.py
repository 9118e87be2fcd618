"""What a proof owes, decided by signs: of terms, of factors, of what is known, and only then by Z3."""

import sys

import pytest
import sympy as sp
from flint import fmpq

from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, ZERO, Obligation
from resstream.arithmetic.solver import Condition, number, variable
from resstream.arithmetic.symbols import SymbolicEntry
from resstream.prove import obligations, solve
from resstream.prove.obligations import Signs, certain, opposite, unproved, wording

a, b = variable(0), variable(1)


# ---- polynomials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("polynomial", "known", "signs"),
    [
        # What is known, and what is certain of the polynomial: "+" above 0, "0" not below, "/" other than 0.
        (a, [], ""),
        (a, [(a, ">")], "+0/"),
        (a, [(a, ">=")], "0"),
        (a, [(a, "!=")], "/"),
        (a, [(a, "==")], ""),
        (a, [(b, ">")], ""),
        (-a, [(a, ">")], "/"),
        (-a, [(a, ">=")], ""),
        (-a, [(a, "!=")], "/"),
        (a * a, [], "0"),
        (-a * a, [], ""),
        (a * a, [(a, "!=")], "+0/"),
        (-a * a, [(a, "!=")], "/"),
        (a * a, [(a, ">=")], "0"),
        (a * a * a, [(a, ">")], "+0/"),
        (a * a * a, [(a, ">=")], "0"),
        (a * a * a, [(a, "!=")], ""),
        (a * b, [(a, ">"), (b, ">")], "+0/"),
        (a * b, [(a, ">"), (b, ">=")], "0"),
        (a * b, [(a, ">=")], ""),
        (a * a * b, [(a, "!="), (b, ">")], "+0/"),
        (a * a * b, [(b, ">")], "0"),
        (a + b, [(a, ">"), (b, ">=")], "+0/"),
        (a + b, [(a, ">="), (b, ">=")], "0"),
        (a + b * b, [(a, ">")], "+0/"),
        (a - b, [(a, ">"), (b, ">")], ""),
        (a + number(1), [(a, ">=")], "+0/"),
        (a - number(1), [(a, ">=")], ""),
        (number(1), [], "+0/"),
        (number(-1), [], "/"),
        (number(0), [], "0"),
        (number(0), [(number(0), ">=")], "0"),
        # Multiples of what is known.
        ((a - b).times(fmpq(3)), [(a - b, ">")], "+0/"),
        ((a - b).times(fmpq(3)), [(a - b, ">=")], "0"),
        ((a - b).times(fmpq(3)), [(a - b, "!=")], "/"),
        ((a - b).times(fmpq(-3)), [(a - b, ">")], "/"),
        ((a - b).times(fmpq(-3)), [(a - b, ">=")], ""),
        ((a - b).times(fmpq(-3)), [(a - b, "!=")], "/"),
        ((a - b).times(fmpq(-1, 2)), [(a - b, ">")], "/"),
        (a - b, [((a - b).times(fmpq(3)), ">")], "+0/"),
        ((a * a).times(fmpq(1, 2)), [], "0"),
        (a - b, [(a - b, "==")], ""),
        (a - b, [(a + b, ">")], ""),
        (a - b, [(a - b - number(1), ">")], ""),
    ],
)
def test_what_is_certain_of_a_polynomial(polynomial, known, signs):
    conditions = [Condition(each, kind) for each, kind in known]
    found = [certain(polynomial, kind, iter(conditions)) for kind in (POSITIVE, NONNEGATIVE, NONZERO)]
    assert "".join(sign for sign, said in zip("+0/", found, strict=True) if said) == signs


def test_the_opposite_of_a_sign():
    assert opposite(a, NONZERO) == Condition(a, ZERO)
    assert opposite(a, POSITIVE) == Condition(-a, NONNEGATIVE)
    assert opposite(a, NONNEGATIVE) == Condition(-a, POSITIVE)


def test_what_may_go_wrong_is_said_with_its_place():
    for kind, role, said in (
        (NONZERO, "divisor", "divide by zero"),
        (NONNEGATIVE, "radicand", "take the root of a negative number"),
        (POSITIVE, "argument", "take the logarithm of what is not positive"),
        (NONZERO, "distance to the kink", "stand at a kink"),
    ):
        assert wording(Obligation(None, kind, f"{role} in line 7 of mine.py")) == f"may {said} in line 7 of mine.py"


# ---- expressions ----------------------------------------------------------------------------------------------------

x, y = sp.symbols("x y", real=True)
p, q = sp.symbols("p q", positive=True)
n = sp.Symbol("n", nonnegative=True)


@pytest.mark.parametrize(
    ("expression", "signs"),
    [
        (x, ""),
        (p, "+0/"),
        (n, "0"),
        (sp.Integer(0), "0"),
        (sp.Integer(-2), "/"),
        (-p, "/"),
        (x**2, "0"),
        (x**2 + 1, "+0/"),
        (x**2 + n, "0"),
        (x**2 + y, ""),
        (x**2 - 1, ""),
        (sp.exp(x), "+0/"),
        (sp.exp(x) + n, "+0/"),
        (sp.exp(x) * (1 + abs(y)), "+0/"),
        (abs(y) * (x**2 + 1), "0"),
        (abs(y) * x, ""),
        ((x + abs(y)) ** 2, "0"),
        ((x + y) ** 3, ""),
        ((abs(x) + 1) ** 3, "+0/"),
        (sp.sqrt(x), "0"),  # wherever it has a value
        (sp.root(x + y, 3), "0"),
        (1 / (1 + sp.sqrt(x)), "+0/"),
        (x**p, ""),
        (p * sp.sqrt(x), "0"),
        ((sp.sqrt(x) - 1) ** 2, "0"),
        ((sp.sqrt(x) - 1) ** 3, ""),
    ],
)
def test_what_is_so_by_the_form_of_an_expression(expression, signs):
    found = [obligations._by_form(expression, kind) for kind in (POSITIVE, NONNEGATIVE, NONZERO)]
    assert "".join(sign for sign, said in zip("+0/", found, strict=True) if said) == signs


# What is known, an expression, and what is certain of it by signs alone; then what is with Z3.
CERTAIN = {
    "factors": ([(x, "!="), (y, "!=")], x * y, "/", "/"),
    "factors, one open": ([(x, "!=")], x * y, "", ""),
    "positive factors": ([(x, ">"), (x - y, ">")], x * (x - y), "+0/", "+0/"),
    "factors not below zero": ([(x, ">="), (x - y, ">=")], x * (x - y), "0", "0"),
    "negative factors": ([(-x, ">"), (-y, ">")], x * y, "/", "+0/"),
    "a negative multiple": ([(-x, ">"), (x - y, ">")], -2 * x * (x - y), "+0/", "+0/"),
    "minus a product": ([(-x, ">"), (x - y, ">")], -x * (x - y), "+0/", "+0/"),
    "half a product": ([(x, ">"), (x - y, ">")], x * (x - y) / 2, "+0/", "+0/"),
    "half a square": ([(x - y, "!=")], (x - y) ** 2 / 2, "+0/", "+0/"),
    "half of an exponent": ([(sp.exp(x) - 1, "!=")], sp.exp(x / 2) - 1, "", "/"),
    "beyond a root": ([(x - sp.sqrt(p), ">=")], x, "", "+0/"),
    "a negative square": ([(x - y, "!=")], -((x - y) ** 2), "/", "/"),
    "a square": ([(x - y, "!=")], (x - y) ** 2, "+0/", "+0/"),
    "a square of what may be zero": ([], (x - y) ** 2, "0", "0"),
    "a square times a factor": ([(x - y, "!="), (y, ">")], (x - y) ** 2 * y, "+0/", "+0/"),
    "a square that may be zero times a factor": ([(y, ">")], (x - y) ** 2 * y, "0", "0"),
    "a cube": ([(x - y, ">")], (x - y) ** 3, "+0/", "+0/"),
    "a quotient": ([(x, ">"), (y, ">")], x / y, "+0/", "+0/"),
    "a quotient of unknown sign below": ([(x, ">"), (y, "!=")], x / y, "/", "/"),
    "known as a quotient": ([(x / y, ">")], x * y, "+0/", "+0/"),
    "a quotient that is zero": ([(x / y, "==")], x, "", "0"),
    "the root of what is not zero": ([(x, "!=")], sp.sqrt(x**2 + y**2) + abs(x), "+0/", "+0/"),
    "a root": ([(p - q, "!="), (p - q, ">=")], sp.sqrt(p - q), "0/", "+0/"),
    "a root of what is positive": ([(p - q, ">")], sp.sqrt(p - q), "+0/", "+0/"),
    "a root of what may be zero": ([(p - q, ">=")], sp.sqrt(p - q), "0", "0"),
    "a root of what may be negative": ([], sp.sqrt(x), "", ""),
    "an absolute value": ([(x, "!=")], abs(x), "0/", "+0/"),
    "a multiple of an absolute value": ([(x, "!=")], -3 * abs(x), "/", "/"),
    "an absolute value that may be zero": ([(y, "!=")], abs(x), "0", "0"),
    "two absolute values": ([(x, "!=")], abs(x) + abs(y), "0", "+0/"),
    "by its square": ([(p - 4, ">")], sp.sqrt(p) - 2, "", "+0/"),
    "an inequality": ([(x - 1, ">="), (y - x, ">=")], y, "", "+0/"),
    "an equality": ([(x - y, "=="), (y - 1, ">")], x, "", "+0/"),
    "an exponential": ([], sp.exp(x) + abs(y), "+0/", "+0/"),
    "nothing": ([], x, "", ""),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_what_is_certain_of_an_expression(name, monkeypatch):
    known, expression, by_signs, by_solver = CERTAIN[name]

    def said():
        found = [Signs(known, expression).holds(expression, kind) for kind in (POSITIVE, NONNEGATIVE, NONZERO)]
        return "".join(sign for sign, holds in zip("+0/", found, strict=True) if holds)

    assert said() == by_solver
    monkeypatch.setattr(solve, "has_no_model", lambda _: False)
    assert said() == by_signs


def owed(*expressions, kind=NONZERO):
    return [Obligation(SymbolicEntry(sp.sympify(e)), kind, f"divisor in line {k}") for k, e in enumerate(expressions)]


def test_the_first_obligation_that_is_not_proved_is_named():
    assert unproved([], []) is None
    assert unproved(owed(1, p, x**2 + 1), []) is None
    assert unproved(owed(1, p, x, y), []).role == "divisor in line 2"
    assert unproved(owed(p, x, y, x), [(x, "!=")]).role == "divisor in line 2"
    assert unproved([*owed(x), *owed(x, kind=POSITIVE)], [(x, "!=")]).kind == POSITIVE
    assert unproved(owed(sp.gamma(x)), []).role == "divisor in line 0"  # without a rule nothing is proved


def test_what_is_owed_twice_is_looked_at_once(monkeypatch):
    asked = []
    monkeypatch.setattr(obligations, "_is_proved", lambda e, kind, _: not asked.append((e, kind)))
    assert unproved([*owed(x, y, x), *owed(x, kind=POSITIVE)], []) is None
    assert asked == [(x, NONZERO), (y, NONZERO), (x, POSITIVE)]


def test_without_z3_signs_alone_prove(monkeypatch):
    monkeypatch.setitem(sys.modules, "resstream.prove.solve", None)
    assert unproved(owed(x * y), [(x, "!="), (y, "!=")]) is None
    assert unproved(owed(y), [(x - 1, ">="), (y - x, ">=")]) is not None
