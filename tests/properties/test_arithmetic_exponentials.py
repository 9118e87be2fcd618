"""Exponential sums: what they are is what mpmath computes, and they decide what no enclosure can."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import fmpq

from resstream.arithmetic import (
    EXPONENTIAL,
    Ball,
    BallEntry,
    NoValue,
    RationalEntry,
    e,
    exact,
    exp,
    exponentials,
    log,
    sqrt,
    tanh,
    total,
    where,
)
from resstream.arithmetic.surds import Surd
from resstream.claim import Claim, Instance
from resstream.domains import Vector
from resstream.errors import ArithmeticLimit, NotExact
from resstream.falsify import falsify
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.judge import HOLDS, UNDECIDED, VIOLATED, judge, read
from resstream.reference import softmax
from resstream.relations import Differ, at_most, less_than

mp = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
mp.dps = 60


def numbers(*values):
    return EXPONENTIAL.array([list(values)])


def drawn(seed, terms=3):
    """A random element of the field with its value: quotients of sums of rationals, roots and exponentials."""
    rng = np.random.default_rng(seed)

    def sum_of():
        entry, value = EXPONENTIAL.array(0).flat[0], mp.mpf(0)
        for _ in range(terms):
            a, q = (Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 10))) for _ in range(2))
            root = int(rng.integers(1, 13))
            pair = numbers(a, q, root)
            scaled = pair[:, 1:2] / sqrt(pair[:, 2:])
            entry = entry + (pair[:, :1] * exp(scaled)).flat[0]
            exponent = mp.mpf(q.numerator) / q.denominator / mp.sqrt(root)
            value += mp.mpf(a.numerator) / a.denominator * mp.exp(exponent)
        return entry, value

    (upper, above), (lower, below) = sum_of(), sum_of()
    return (upper / lower, above / below) if below else (upper, above)


def value_of(entry):
    """An entry as a number of mpmath."""
    entry = entry.settled()
    if isinstance(entry, RationalEntry):
        return mp.mpf(int(entry.value.p)) / int(entry.value.q)
    return mp.mpf(entry.value.mid().str(50, radius=False))


def near(entry, value):
    return abs(value_of(entry) - value) <= mp.mpf(10) ** -30 * (1 + abs(value))


def test_the_operations_against_mpmath():
    compared = 0
    for seed in range(60):
        (a, x), (b, y) = drawn(seed), drawn(1000 + seed)
        assert near(a + b, x + y)
        assert near(a - b, x - y)
        assert near(a * b, x * y)
        assert near(a / b, x / y)
        assert near(abs(a), abs(x))
        assert near(a.larger(b), max(x, y))
        assert (a < b) == (x < y)
        assert (a == b) == (x == y)
        compared += 8
    assert compared >= 400


def test_the_comparison_with_mpmath_can_fail():
    entry, value = drawn(0)
    assert near(entry, value)
    assert not near(entry, value + mp.mpf(10) ** -25)


def test_identities_of_the_field_are_seen():
    compared = 0
    for seed in range(20):
        a, b, c = (drawn(3 * seed + k, terms=2)[0] for k in range(3))
        assert a * (b + c) == a * b + a * c
        assert a - a == 0
        assert (a + b) / c == a / c + b / c
        if a != 0:
            assert a / a == 1
        compared += 1
    assert compared == 20


def test_roots_of_whole_numbers():
    def root(value):
        return sqrt(numbers(value)).flat[0]

    assert root(2) * root(3) == root(6)
    assert 1 / (root(2) + root(3)) == root(3) - root(2)
    assert root(Fraction(9, 8)) == 3 / (2 * root(2))
    assert root(50) == 5 * root(2)
    assert root(2) + root(3) < root(10)
    assert root(2) + root(8) == root(18)
    assert Surd.of(0).sign() == 0
    assert Surd({2: fmpq(-1), 3: fmpq(1)}).sign() == 1
    assert (Surd({2: fmpq(1)}) - Surd({2: fmpq(1)})).rational == 0
    for bad in (lambda: root(101 * 103), lambda: sqrt(1 + sqrt(numbers(2)))):
        with pytest.raises(NotExact):
            bad()
    assert isinstance(root(-2), NoValue)


def test_functions_and_what_they_refuse():
    x = numbers(Fraction(1, 3))
    assert (log(exp(x)) == x).all()
    assert (sqrt(exp(2 * x)) == exp(x)).all()
    assert (8 * exp(x)).flat[0].root(3) == (2 * exp(x / 3)).flat[0]
    assert (numbers(0).flat[0].root(3), numbers(1)[0, 0] * e) == (0, exp(numbers(1))[0, 0])
    assert isinstance(numbers(-8).flat[0].root(3), NoValue)
    assert (tanh(x) * (exp(2 * x) + 1) == exp(2 * x) - 1).all()
    assert (exp(x) * exp(-x) == 1).all()
    assert isinstance((1 / numbers(0)).flat[0], NoValue)
    assert isinstance(log(-exp(x)).flat[0], NoValue)
    for function in (
        lambda: exp(exp(x)),
        lambda: log(exp(x) + 1),
        lambda: log(2 * exp(x)),
        lambda: sqrt(exp(x) + 1),
        lambda: (exp(x) + 1).flat[0].root(3),
        lambda: (2 * exp(x)).flat[0].root(3),
        lambda: tanh(exp(x)),
        lambda: x.flat[0].cosine(),
        lambda: x.flat[0].sine(),
        lambda: x.flat[0].error_function(),
        lambda: x.flat[0].pi(),
    ):
        with pytest.raises(NotExact):
            function()
    nought = numbers(0).flat[0]
    assert (nought.cosine(), nought.sine(), nought.error_function()) == (1, 0, 0)
    sums = [total(exp(numbers(*(Fraction(k * k + j, 7) for k in range(30))))) for j in (1, 2)]
    with pytest.raises(ArithmeticLimit, match="a sum of more than 400 exponentials"):
        sums[0] * sums[1]


def test_what_looks_like_a_number_that_has_a_function_is_none():
    x = numbers(Fraction(1, 3))
    for number in (1 / (1 + exp(x)), 1 + exp(x), exp(x) / (1 + exp(x)), 2 / (3 + exp(x))):
        for function in (exp, log, sqrt, tanh, lambda z: z.flat[0].root(3)):
            with pytest.raises(NotExact):
                function(number)
        assert isinstance(number.flat[0].settled(), BallEntry)
        assert not isinstance(number.flat[0] - number.flat[0], BallEntry)
    for nothing in (
        numbers(1).flat[0] / 0,
        numbers(-8).flat[0].root(3),
        sqrt(numbers(-2)).flat[0],
        log(numbers(0)).flat[0],
    ):
        assert isinstance(nothing, NoValue)
        assert nothing.certain
    assert sqrt(numbers(0)).flat[0] == 0


def test_equal_numbers_are_neither_below_nor_above():
    x = numbers(Fraction(1, 3)).flat[0]
    p = 1 / (1 + x.exponential())
    again = 1 / (1 + (-x).exponential())
    assert p + again == 1
    for first, second in ((p, 1 - again), (x, x + 0), (0 * x, x - x)):
        assert (first < second, second < first, first <= second, first >= second) == (False, False, True, True)
        assert first.larger(second) == second
    assert isinstance(sqrt(numbers(2)).flat[0].settled(), BallEntry)


def test_a_quotient_is_brought_to_one_form():
    x = numbers(Fraction(1, 3))
    half = (numbers(1) / numbers(2)).flat[0]
    assert half.settled().value == fmpq(1, 2)
    assert half.exponential() ** 2 == e
    for quotient, wanted in (
        ((2 * exp(x) + 2) / (exp(x) + 1), 2),
        ((2 * exp(x) + 6 * exp(-x) + 4) / (exp(x) + 3 * exp(-x) + 2), 2),
        (exp(x) / (3 * exp(x)), fmpq(1, 3)),
        (0 / (exp(x) + 1), 0),
    ):
        assert quotient.flat[0].settled().value == wanted
    assert (log((exp(1 + x) + e) / (exp(x) + 1)) == 1).all()
    assert (log(exp(x) / exp(3 * x)) == -2 * x).all()
    for quotient in ((exp(x) + 2) / (exp(x) + 1), (2 * exp(x) + 1) / (exp(x) + 1), (exp(2 * x) + 1) / (exp(x) + 1)):
        with pytest.raises(NotExact):
            exp(quotient)


def test_signs_of_numbers_beyond_every_enclosure():
    far = numbers(Fraction(10) ** 40)
    assert (exp(far) - exp(far - 1)).flat[0] > 0
    assert (exp(-far) - exp(1 - far)).flat[0] < 0
    assert (exp(far) / (1 + exp(far))).flat[0] < 1
    farther = numbers(Fraction(10) ** 5000)  # the bits of which no enclosure has, so that the difference alone tells
    assert (exp(farther) - exp(farther - 1)).flat[0] > 0
    assert (exp(far) - exp(far + 1)).flat[0].size() == (exp(far + 1) - exp(far)).flat[0]


def test_what_a_product_of_sums_costs(monkeypatch):
    two, one = 1 + exp(numbers(1)), exp(numbers(1))
    monkeypatch.setattr(exponentials, "WORK", 4)
    with EXPONENTIAL.working():
        square = two * two
        two / two  # what is multiplied by one is as it was
        with pytest.raises(ArithmeticLimit, match="more than 4 products"):
            one * one
    with EXPONENTIAL.working():  # each reading has its own
        assert (two * two == square).all()
    with pytest.raises(ArithmeticLimit), EXPONENTIAL.working():
        square * square
    assert (square * square == two**4).all()  # elsewhere there is no limit
    monkeypatch.setattr(exponentials, "MOST", 6)
    assert (square * two == two**3).all()
    with pytest.raises(ArithmeticLimit, match="a sum of more than 6 exponentials"):
        square * square


def test_what_is_shown_is_rational_or_an_enclosure():
    p = softmax(numbers(0, 1, Fraction(1, 2)))
    assert total(p).flat[0].settled().value == 1
    assert repr(total(p).flat[0]) == "1"
    assert repr(p[0, 0]).startswith("[0.18632")
    assert numbers(0).flat[0].settled().value == 0


FAR = Instance({"n": 3}, {}, {"s": np.array([[-3e10, 0.0, 0.0]])})
"""Its softmax is 1/2 less e^(-3 10^10)/4, which no enclosure of 4,096 bits tells from 1/2."""


def about(conclude):
    return Claim("mine.far", {"s": Vector("n")}, conclude, sizes={"n": range(3, 4)})


@pytest.mark.parametrize(
    ("conclude", "outcome"),
    [
        (lambda s: less_than(softmax(s), exact(1, 2)), HOLDS),
        (lambda s: less_than(exact(1, 2), softmax(s)[..., 1:]), VIOLATED),
        (lambda s: Differ(total(softmax(s)), 1), VIOLATED),
        (lambda s: less_than(exp(exp(softmax(s))), exp(exp(softmax(s)))), UNDECIDED),
    ],
)
def test_the_judge_decides_what_no_enclosure_does(conclude, outcome):
    assert read(about(conclude), FAR, Ball(4096)).outcome == UNDECIDED
    found = judge(about(conclude), FAR)
    assert found.outcome == outcome
    assert found.bits == (4096 if outcome == UNDECIDED else None)
    certified = certify(about(conclude), FAR)
    assert isinstance(certified, Certificate) == (outcome == VIOLATED)


def test_what_a_claim_asks_of_sums_that_are_one_is_answered():
    verdict = falsify(about(lambda s: at_most(where(total(softmax(s)) >= 1, softmax(s), 0), 1)), 3000)
    assert (verdict.status, verdict.tally.undecided) == ("survived", 0)


def test_a_refutation_by_sums_of_exponentials_is_shown():
    verdict = falsify(about(lambda s: Differ(total(softmax(s)), 1)), 3000)
    assert verdict.status == "refuted"
    judged = verdict.counterexample.judgement
    assert (str(judged.lhs), str(judged.rhs), judged.reading) == ("1", "1", "exact numbers")
    assert "lhs = 1" in str(verdict)
