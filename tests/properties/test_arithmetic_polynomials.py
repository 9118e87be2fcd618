"""Polynomials in random unknowns: their terms are those of SymPy, and what is no polynomial is refused."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from flint import fmpq
from scipy.special import erf as scipy_erf

from resstream import arithmetic as ar
from resstream.arithmetic import RATIONAL, Ball, DualEntry, NoValue, RationalEntry, exact
from resstream.arithmetic import polynomials as module
from resstream.arithmetic.polynomials import PolynomialEntry, averaged, unknowns
from resstream.errors import ClaimError, ForeignNumber, NotExact, Undecided

BALL = Ball(200)
ZERO = RationalEntry(fmpq(0))
SYMBOLS = x, y, z = sp.symbols("x y z")

FORMULAS = {
    "sum": lambda x, y, z: x + y + x + 3 - z,
    "difference": lambda x, y, z: 5 - x - (y - z) - 2,
    "gone": lambda x, y, z: (x * y - y * x) * z,
    "product": lambda x, y, z: (x + 2 * y - 1) * (z * x - y) * 4,
    "power": lambda x, y, z: (x - 2 * y) ** 4 * z**3,
    "quotient": lambda x, y, z: (x * x + 6 * y) / 4 + z / (y - y + 8),
    "negative": lambda x, y, z: -(x - y) * -z,
    "constant": lambda x, y, z: x**0 * 7 + y - z - y + z,
}


def terms_of(entry):
    """The terms that are not zero, with fractions or floats as coefficients."""
    read = {monomial: c if isinstance(c, float) else Fraction(str(c)) for monomial, c in entry.terms.items()}
    return {monomial: c for monomial, c in read.items() if c != 0}


def expanded(formula):
    """The same of SymPy's expansion, with x, y, z as unknowns 4, 5, 6."""
    found = sp.Poly(formula(*SYMBOLS), *SYMBOLS, domain="QQ").as_dict()
    monomials = {powers: tuple((4 + i, p) for i, p in enumerate(powers) if p) for powers in found}
    return {monomials[powers]: Fraction(str(c)) for powers, c in found.items() if c != 0}


@pytest.mark.parametrize("name", FORMULAS)
def test_terms_are_those_of_sympy(name):
    formula = FORMULAS[name]
    assert terms_of(formula(*unknowns((3,), ZERO, 4))) == expanded(formula)
    in_floats = terms_of(formula(*unknowns((3,), 0.0, 4)))  # dyadic numbers, without rounding
    assert in_floats == expanded(formula)
    assert all(type(c) is float or isinstance(c, np.float64) for c in in_floats.values())


def test_unknowns_are_different_and_numbered_row_by_row():
    found = unknowns((2, 2), ZERO, 3)
    assert [list(entry.terms) for entry in found.flat] == [[((n, 1),)] for n in (3, 4, 5, 6)]
    assert found.shape == (2, 2)
    assert repr(found[0, 1] * found[0, 0] * found[0, 0] - 2) == "1 x3^2 x4^1 + -2"
    assert repr(PolynomialEntry({}, ZERO)) == "0"
    assert found[0, 0].frozen() is found[0, 0]


def test_numbers_of_the_coefficients_are_met_and_others_refused():
    (p,) = unknowns((1,), ZERO, 0)
    thirds = {((0, 1),): 1, (): Fraction(1, 3)}
    for third in (exact(1, 3), Fraction(1, 3), RationalEntry(fmpq(1, 3)), fmpq(1, 3)):
        assert terms_of(p + third) == terms_of(third + p) == thirds
    assert terms_of(p + np.int64(2)) == {((0, 1),): 1, (): 2}
    for foreign in (0.1, math.nan, 1j):
        with pytest.raises(ForeignNumber):
            p + foreign
    with pytest.raises(TypeError):
        p + "text"
    with BALL.working():
        q = unknowns((1,), BALL.array([0])[0], 0)[0] * ar.pi
        assert q.terms[(0, 1),].value.overlaps((BALL.array([3])[0] * 0 + ar.pi).value)
    assert [terms_of(entry) for entry in p * np.array([2, 3])] == [{((0, 1),): 2}, {((0, 1),): 3}]


def test_floats_meet_floats_and_literals_as_floats():
    (p,) = unknowns((1,), 0.0, 0)
    for other, known in (
        (0.1, 0.1),
        (np.float64(0.1), 0.1),
        (np.float32(0.5), 0.5),
        (exact(1, 3), 1 / 3),
        (ar.pi / 4, math.pi / 4),
        (RationalEntry(fmpq(1, 3)), 1 / 3),
        (7, 7.0),
        (1j, 1j),
        (np.complex128(2j), 2j),
    ):
        assert (p + other).terms == (other + p).terms == {((0, 1),): 1.0, (): known}
    quotient = p / PolynomialEntry({(): 2j}, 0.0)
    assert quotient.terms == {((0, 1),): -0.5j}
    with np.errstate(divide="ignore", invalid="ignore"):
        assert (p / 0).terms == {((0, 1),): math.inf}  # as everywhere in floats, not an error
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        p / PolynomialEntry({(): 0j, ((0, 1),): 0.0}, 0.0)
    with pytest.raises(TypeError):
        p + "text"


def test_without_a_value_of_a_coefficient_there_is_none():
    (p,) = unknowns((1,), ZERO, 0)
    nothing = RationalEntry(fmpq(1)) / 0
    for lost in (
        p + nothing,
        nothing * p,
        p / 0,
        p / (p - p),
        (p - p) / 0,
        (p - p - 1).square_root(),
        (0 * p).logarithm(),
    ):
        assert isinstance(lost, NoValue)
        assert lost.certain
    assert p.meet(nothing) is nothing
    assert p._settled({(): ZERO, ((0, 1),): nothing}) is nothing


def constants(value):
    """That number as a polynomial over the rationals, over balls and over floats, with unknowns that cancel."""
    for zero in (ZERO, BALL.array([0])[0], 0.0):
        (p,) = unknowns((1,), zero, 0)
        yield p - p + value


FUNCTIONS = {
    "an absolute value": (ar.absolute, abs, -2.5),
    "a square root": (ar.sqrt, math.sqrt, 2.25),
    "a root": (lambda t: ar.root(t, 3), lambda t: t ** (1 / 3), 0.125),
    "an exponential": (ar.exp, math.exp, 0.75),
    "a logarithm": (ar.log, math.log, 0.75),
    "a cosine": (ar.cos, math.cos, 0.75),
    "a sine": (ar.sin, math.sin, 0.75),
    "a hyperbolic tangent": (ar.tanh, math.tanh, 0.75),
    "an error function": (ar.erf, scipy_erf, 0.75),
}


@pytest.mark.parametrize("what", FUNCTIONS)
def test_functions_of_what_is_a_number_are_those_of_the_number(what):
    function, plain, at = FUNCTIONS[what]
    compared = 0
    with BALL.working():
        for constant in constants(exact(str(at))):
            try:
                found = function(np.array([[constant]]))[0, 0]
            except NotExact:  # of a rational number
                assert isinstance(constant.zero, RationalEntry)
                continue
            value = found.terms[()]
            number = float(value) if isinstance(value, float) else float(sp.Rational(str(value))) if isinstance(
                value, RationalEntry
            ) else float(value.value.mid())  # fmt: skip
            assert number == pytest.approx(plain(at), rel=1e-15, abs=0)
            assert (list(found.terms), found.zero) == ([()], constant.zero)
            compared += 1
        assert compared >= 2
        for zero in (ZERO, BALL.array([0])[0], 0.0):
            varying = unknowns((1, 1), zero, 0) + 1
            with pytest.raises(ClaimError, match=f"expectation: {what} in line .* is no polynomial"):
                function(varying)


def test_the_number_pi():
    (p,) = unknowns((1,), 0.0, 0)
    assert p.pi().terms == {(): math.pi}
    with BALL.working():
        (q,) = unknowns((1,), BALL.array([0])[0], 0)
        assert list(q.pi().terms) == [()]
        assert float(q.pi().terms[()].value.mid()) == math.pi


@pytest.mark.parametrize("zero", [ZERO, 0.0], ids=["rational", "float"])
def test_comparisons_are_of_numbers_alone(zero):
    (p,) = unknowns((1,), zero, 0)
    three, four = p - p + 3, p - p + 4
    for question in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        for first, second in ((three, four), (four, three), (three, p * 0 + 3)):
            wanted = question(terms_of(first)[()], terms_of(second)[()])
            assert question(first, second) is wanted
        with pytest.raises(ClaimError, match="a comparison of random entries"):
            question(p, three)
        with pytest.raises(ClaimError, match="a comparison of random entries"):
            question(three, p)
    assert terms_of(three.larger(four)) == terms_of(four.larger(three)) == {(): 4}
    for first, second in ((p, three), (three, p)):
        with pytest.raises(ClaimError, match="a maximum of random entries"):
            first.larger(second)
    assert (three.below(four), four.below(three), three.same(three), three.same(four)) == (True, False, True, False)
    assert type(three.same(three)) is bool
    assert type(three.below(four)) is bool


def test_a_coefficient_that_may_be_zero_is_not_taken_for_zero():
    with BALL.working():
        zero = BALL.array([0])[0]
        (p,) = unknowns((1,), zero, 0)
        around = zero + ar.sqrt(BALL.array([2])[0]) ** 2 - 2
        assert (around * p).known_coefficient() is None
        assert (0 * p).known_coefficient() is zero  # no constant is the constant 0
        with pytest.raises(ClaimError, match="a quotient by random entries"):
            1 / (around * p + 1)
        assert (1 / (0 * p + 4)).terms[()].value == 0.25


def test_a_maximum_that_has_no_value_has_none():
    class Torn(RationalEntry):
        def larger(self, other):  # noqa: ARG002
            return NoValue("a maximum of nothing", certain=True)

    (p,) = unknowns((1,), ZERO, 0)
    lost = PolynomialEntry({(): Torn(fmpq(1))}, ZERO).larger(p - p + 2)
    assert isinstance(lost, NoValue)


def test_products_have_a_longest(monkeypatch):
    (p,) = unknowns((1,), 0.0, 0)

    def long(count):
        return PolynomialEntry({((unknown, 1),): 1.0 for unknown in range(count)}, 0.0)

    class Many(dict):
        def __init__(self, terms, length):
            super().__init__(terms)
            self.length = length

        def __len__(self):
            return self.length

    q = long(2)
    q.terms = Many(q.terms, 200_000)  # to write them out takes seconds
    assert len((q * 2).terms) == 2
    q.terms = Many(q.terms, 200_001)
    with pytest.raises(Undecided, match="a product of polynomials of 200,001 and 1 terms"):
        q * p
    monkeypatch.setattr(module, "LONGEST", 6)
    assert len((long(2) * long(3)).terms) == 5  # x0 x1 comes twice
    for first, second in ((7, 1), (2, 4)):
        with pytest.raises(Undecided, match=f"of {first} and {second} terms"):
            long(first) * long(second)


# ---- means


def second_moments(monomial):
    """Independent unknowns of mean 0, variance 1 and fourth moment 3."""
    return RationalEntry(fmpq(math.prod({1: 0, 2: 1, 3: 0, 4: 3}[power] for _, power in monomial)))


def test_moments_take_the_place_of_powers():
    p, q = unknowns((2,), ZERO, 0)
    assert averaged((p + 2 * q + 3) ** 2, second_moments) == 1 + 4 + 9
    assert averaged(p**4 - p * q + 5 * p * p * q * q, second_moments) == 3 + 5
    assert averaged(p - p, second_moments) == 0
    number = RationalEntry(fmpq(7))
    assert averaged(number, second_moments) is number


def test_a_mean_of_a_derivative_is_the_derivative_of_the_mean():
    p, q = unknowns((2,), ZERO, 0)
    found = averaged(DualEntry(p * p, 5 * q * q, 3), second_moments)
    assert (found.value, found.slope, found.level) == (1, 5, 3)
    nothing = RationalEntry(fmpq(1)) / 0
    for torn in (DualEntry(p, nothing, 1), DualEntry(nothing, p, 1)):
        assert averaged(torn, second_moments) is nothing


def test_the_comparison_with_sympy_can_fail():
    p, q, r = unknowns((3,), RATIONAL.array([0])[0], 4)
    assert terms_of((p + q) * r + exact(1, 10**9)) != expanded(lambda x, y, z: (x + y) * z)
