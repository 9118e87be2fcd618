"""Literals: exact numbers are Python's fractions, and numbers such as pi are what every number system makes of them."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq, fmpz
from hypothesis import given
from hypothesis import strategies as st

from resstream.arithmetic import FLOAT64, RATIONAL, SYMBOLIC, Ball, e, exact, literals, pi
from resstream.arithmetic.literals import COMPARED, DIGITS, Exact, Irrational, read_number, to_fmpq, to_fraction
from resstream.errors import DomainError, NotExact, Undecided

SIGNS = (operator.add, operator.sub, operator.mul, operator.truediv)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
FRACTIONS = st.fractions(min_value=-5, max_value=5, max_denominator=6)


# ---- reading numbers


@given(value=st.fractions(max_denominator=10**6), places=st.integers(0, 8), exponent=st.integers(-30, 30))
def test_written_numbers_are_read_exactly(value, places, exponent):
    assert read_number(str(value)) == value
    decimal = f"{value.numerator % 10**9}.{value.denominator % 10**places:0{places}d}"
    assert read_number(f"{decimal}e{exponent}") == Fraction(decimal) * Fraction(10) ** exponent


def test_what_is_no_written_number_is_refused():
    for text, value in (
        ("0.1", Fraction(1, 10)),
        (" -3/7 ", Fraction(-3, 7)),
        ("1e-9", Fraction(1, 10**9)),
        (".5", Fraction(1, 2)),
        ("+2.", 2),
    ):
        assert read_number(text) == value
    for text in ("", ".", "1/0", "1//2", "0x1", "one", "1e", "1_000", "nan", "1/2.5", "１"):
        with pytest.raises(DomainError, match="expected a decimal or a fraction"):
            read_number(text)


def test_written_numbers_of_too_many_digits_are_refused():
    assert DIGITS == 2000
    assert read_number("1" * 2000) == int("1" * 2000)
    assert (read_number("1e2000"), read_number("1e-2000")) == (10**2000, Fraction(1, 10**2000))
    for text in ("1" * 2001, "1e2001", "1e-2001", "9e999999999"):
        with pytest.raises(DomainError, match="expected a decimal or a fraction of at most 2000 digits") as found:
            read_number(text)
        assert repr(text if len(text) <= 40 else "1" * 40 + "...") in str(found.value)
    for length, shown in ((40, "x" * 40), (41, "x" * 40 + "...")):
        with pytest.raises(DomainError, match=f"got '{shown}'$".replace(".", r"\.")):
            read_number("x" * length)


def test_numbers_of_every_kind_are_rational_numbers():
    for value in (0.5, np.float64(0.5), np.float32(0.5), "1/2", "0.5", Fraction(1, 2), exact(1, 2), fmpq(1, 2)):
        found = to_fmpq(value)
        assert (type(found), found) == (fmpq, fmpq(1, 2))
        assert to_fraction(value) == Fraction(1, 2)
    for value in (3, np.int64(3), fmpz(3), 3.0, exact(3)):
        assert to_fmpq(value) == 3
    tenth = np.longdouble(1) / 10
    assert to_fraction(tenth) == Fraction(*tenth.as_integer_ratio())
    assert (to_fmpq(True), to_fmpq(np.True_), to_fmpq(-(2.0**-1074))) == (1, 1, fmpq(-1, 2**1074))
    for bad in (math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf")):
        with pytest.raises(DomainError, match=f"expected a finite number, got {bad}"):
            to_fmpq(bad)
    for bad in (None, 1j, [1], arb(1)):
        with pytest.raises(DomainError, match=f"expected a real number, got {type(bad).__name__} "):
            to_fmpq(bad)
    with pytest.raises(NotExact, match="pi is not rational"):
        to_fmpq(pi)


# ---- exact literals


@given(a=FRACTIONS, b=FRACTIONS)
def test_exact_literals_are_fractions(a, b):
    first = exact(a)
    for second in (exact(b), b, *([int(b), np.int64(b)] if b.denominator == 1 else [])):
        for operation in SIGNS:
            if operation is not operator.truediv or b:
                result = operation(first, second)
                assert (type(result), result.value) == (Exact, operation(a, b))
            if operation is not operator.truediv or a:
                assert operation(second, first).value == operation(b, a)
        for comparison in COMPARISONS:
            assert comparison(first, second) is comparison(a, b)
            assert comparison(second, first) is comparison(b, a)
    assert ((-first).value, abs(first).value, (+first).value, (first**2).value) == (-a, abs(a), a, a**2)
    assert repr(first) == f"exact({a.numerator}, {a.denominator})"


@given(a=FRACTIONS, x=st.integers(-8, 8))
def test_exact_literals_with_arrays_from_both_sides(a, x):
    literal = exact(a)
    for system in (RATIONAL, FLOAT64):
        number = (lambda value: fmpq(value.numerator, value.denominator)) if system is RATIONAL else float
        array = system.array([x])
        for operation in (*SIGNS, *COMPARISONS):
            for pair, values in (((literal, array), (a, Fraction(x))), ((array, literal), (Fraction(x), a))):
                if operation is operator.truediv and not values[1]:
                    continue
                result, wanted = operation(*pair)[0], operation(*values)
                if operation in COMPARISONS:
                    assert bool(result) is (wanted if system is RATIONAL else operation(*map(float, values)))
                elif system is RATIONAL:
                    assert result == number(wanted)
                else:
                    assert result == pytest.approx(wanted, rel=1e-15, abs=1e-15)


def test_exact_takes_whole_numbers_fractions_and_text():
    assert [exact(3).value, exact(3, 4).value, exact("0.1").value] == [3, Fraction(3, 4), Fraction(1, 10)]
    assert [exact(1, "0.5").value, exact(Fraction(1, 2), Fraction(3, 4)).value] == [2, Fraction(2, 3)]
    with pytest.raises(
        DomainError, match=r"numerator: expected a whole number, a Fraction or text, got 0.1: write exact\('0.1'\)$"
    ):
        exact(0.1)
    with pytest.raises(DomainError, match=r"denominator: expected a whole number, a Fraction or text, got None$"):
        exact(1, None)
    for nought in (0, "0", Fraction(0)):
        with pytest.raises(DomainError, match="denominator: expected another number than 0"):
            exact(1, nought)


# ---- literals that are no fractions


def in_balls(literal, bits=200):
    with (system := Ball(bits)).working():
        return (system.array([0]) + literal)[0].value


def holds(ball, expression):
    """Whether a narrow ball holds the number that SymPy knows."""
    with Ball(400).working():
        wanted = arb(str(sp.N(expression, 80)))
        return abs(ball - wanted) < arb(10) ** -40


KNOWN = {
    "pi": (lambda: pi, sp.pi),
    "e": (lambda: e, sp.E),
    "sum": (lambda: pi + 1, sp.pi + 1),
    "sum from the left": (lambda: 1 + pi, sp.pi + 1),
    "difference": (lambda: pi - e, sp.pi - sp.E),
    "difference from the left": (lambda: 1 - pi, 1 - sp.pi),
    "product": (lambda: pi * e, sp.pi * sp.E),
    "multiple": (lambda: 2 * pi, 2 * sp.pi),
    "multiple by a number of NumPy": (lambda: np.int64(2) * pi, 2 * sp.pi),
    "quotient": (lambda: pi / e, sp.pi / sp.E),
    "half": (lambda: pi / 2, sp.pi / 2),
    "inverse": (lambda: Fraction(1, 3) / pi, 1 / (3 * sp.pi)),
    "exact, less": (lambda: exact(2, 3) - e, sp.Rational(2, 3) - sp.E),
    "less an exact": (lambda: e - exact(2, 3), sp.E - sp.Rational(2, 3)),
    "power": (lambda: pi**3, sp.pi**3),
    "negative": (lambda: -pi, -sp.pi),
    "positive": (lambda: +pi, sp.pi),
    "absolute": (lambda: abs(3 - pi), sp.pi - 3),
}


@pytest.mark.parametrize("name", KNOWN)
def test_literals_that_are_no_fractions_against_sympy(name):
    build, expression = KNOWN[name]
    literal = build()
    assert isinstance(literal, Irrational)
    assert literal.nearest == pytest.approx(float(expression), rel=1e-14, abs=0)
    assert (FLOAT64.array([1.0]) * literal)[0] == pytest.approx(float(expression), rel=1e-14, abs=0)
    assert holds(in_balls(literal), expression)
    assert sp.simplify((SYMBOLIC.array([1]) * literal)[0].value - expression) == 0
    with pytest.raises(NotExact):
        RATIONAL.array([1]) * literal


def test_literals_that_are_no_fractions_are_shown_as_they_are_written():
    shown = [str(literal) for literal in (pi, pi + 1, 1 - pi, pi / 4, -e, pi**2, abs(e), exact(1, 2) * pi, pi * e)]
    assert shown == ["pi", "(pi + 1)", "(1 - pi)", "(pi / 4)", "(-e)", "pi**2", "abs(e)", "(1/2 * pi)", "(pi * e)"]
    assert [str(1 + pi), str(2 * pi), repr(e / pi)] == ["(1 + pi)", "(2 * pi)", "(e / pi)"]


def test_literals_are_compared_with_each_other():
    assert COMPARED == 1024
    numbers = [
        (pi, sp.pi),
        (e, sp.E),
        (exact(22, 7), sp.Rational(22, 7)),
        (3, 3),
        (Fraction(31, 10), sp.Rational(31, 10)),
        (2 * e, 2 * sp.E),
    ]
    compared = 0
    for first, a in numbers:
        for second, b in numbers:
            if a == b or not (isinstance(first, Irrational) or isinstance(second, Irrational)):
                continue
            for comparison in COMPARISONS:
                assert comparison(first, second) == comparison(sp.N(a, 30), sp.N(b, 30)), (first, comparison, second)
                compared += 1
    assert compared >= 100
    with pytest.raises(Undecided):
        assert pi - pi == 0
    close = Fraction(*math.pi.as_integer_ratio())  # no float tells it from pi, which is larger
    for near in (close, exact(close)):
        assert (near < pi, pi > near, near == pi, pi == near, near >= pi, pi <= near) == (True, True) + (False,) * 4


def test_literals_with_entries_and_balls():
    with Ball(100).working():
        balls = Ball(100).array([1, 4])
        assert ((balls < pi).tolist(), (pi < balls).tolist(), (balls >= pi).tolist()) == (
            [True, False],
            [False, True],
            [False, True],
        )
    assert (pi * np.array([2.0, 0.5])).tolist() == [2 * math.pi, 0.5 * math.pi]
    assert literals.to_fmpq(exact("2.5")) == fmpq(5, 2)
