"""Sums of square roots: a field in which what is written differently and is the same is seen to be the same."""

import math

import mpmath
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from resstream.arithmetic.balls import precision
from resstream.arithmetic.surds import Surd, sign_of
from resstream.errors import NotExact, Undecided

mp = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
mp.dps = 60

SQUAREFREE = [1, 2, 3, 5, 6, 7, 10, 15, 30, 97]
RATIONALS = st.fractions(min_value=-9, max_value=9, max_denominator=12)
SURDS = st.dictionaries(st.sampled_from(SQUAREFREE), RATIONALS, max_size=3).map(
    lambda parts: Surd({root: fmpq(f.numerator, f.denominator) for root, f in parts.items()})
)


def value_of(surd):
    """A sum of roots as a number of mpmath."""
    return sum((mp.mpf(int(f.p)) / int(f.q) * mp.sqrt(root) for root, f in surd.parts.items()), mp.mpf(0))


def near(surd, value):
    return abs(value_of(surd) - value) <= mp.mpf(10) ** -45 * (1 + abs(value))


def is_reduced(surd):
    return all(factor != 0 and root % 4 and root % 9 and root % 25 and root % 49 for root, factor in surd.parts.items())


@given(a=SURDS, b=SURDS)
def test_the_operations_against_mpmath(a, b):
    x, y = value_of(a), value_of(b)
    assert near(a + b, x + y)
    assert near(a - b, x - y)
    assert near(-a, -x)
    assert near(a * b, x * y)
    for result in (a + b, a - b, a * b):
        assert is_reduced(result)
    if b:
        assert near(a / b, x / y)
        assert a / b * b == a
    equal = abs(x - y) < mp.mpf(10) ** -40
    assert (a == b) is equal
    assert (a < b) is (x < y and not equal)
    assert (b < a) is (y < x and not equal)
    assert a.sign() == (0 if not a.parts else 1 if x > 0 else -1)
    assert bool(a) is (a.sign() != 0)
    if equal:
        assert hash(a) == hash(b)


def test_the_comparison_with_mpmath_can_fail():
    root = Surd({2: fmpq(1)})
    assert near(root, mp.sqrt(2))
    assert not near(root, mp.sqrt(2) + mp.mpf(10) ** -40)


def test_a_sum_of_roots_is_no_other_number():
    two = Surd.of(2)
    assert two == Surd({1: fmpq(2)})
    assert two != Surd({2: fmpq(2)})
    assert two != 2
    assert (two.rational, Surd.of(0).rational, Surd({2: fmpq(2)}).rational) == (2, 0, None)
    assert Surd({1: fmpq(1), 2: fmpq(1)}).rational is None
    assert (Surd({1: fmpq(1), 2: fmpq(1)}) - Surd({2: fmpq(1)})).rational == 1
    assert (Surd.of(3) < Surd.of(3), Surd.of(2) < Surd.of(3), Surd.of(3) < Surd.of(2)) == (False, True, False)
    assert [Surd.of(fmpq(value)).sign() for value in (-2, fmpq(-1, 2), 0, fmpq(1, 2), 2)] == [-1, -1, 0, 1, 1]
    three = Surd({3: fmpq(1), 5: fmpq(1), 15: fmpq(1)})
    assert Surd.of(1) / three * three == Surd.of(1)


@given(
    whole=st.fractions(min_value=0, max_value=99, max_denominator=99), root=st.sampled_from([*SQUAREFREE, 2 * 101**2])
)
def test_the_square_root_of_a_rational_number(whole, root):
    number = Surd.of(fmpq(whole.numerator, whole.denominator) ** 2 * root)
    found = number.square_root()
    assert found * found == number
    assert found.sign() == (whole > 0)
    assert is_reduced(found)


def test_square_roots_that_are_not_seen():
    assert Surd.of(0).square_root() == Surd.of(0)
    assert Surd.of(101**2).square_root() == Surd.of(101)
    assert Surd.of(fmpq(2 * 97**3, 9)).square_root() == Surd({2 * 97: fmpq(97, 3)})
    for number in (101, 2 * 103, fmpq(1, 101), 97 * 101**3):
        with pytest.raises(NotExact, match=f"square root of {number} has a factor of more than 100$"):
            Surd.of(number).square_root()
    with pytest.raises(NotExact, match="the root of a sum of roots"):
        Surd({1: fmpq(1), 2: fmpq(1)}).square_root()


def test_an_enclosure_holds_the_number_at_the_working_precision():
    root = Surd({1: fmpq(1, 3), 2: fmpq(-5), 15: fmpq(2, 7)})
    for bits in (64, 256):
        with precision(bits):
            ball = root.enclosure()
        assert 0 < ball.rad() < arb(2) ** (8 - bits)
        with precision(1024):
            assert ball.contains(root.enclosure())
    assert Surd.of(0).enclosure() == 0


def test_a_sign_is_asked_with_more_and_more_bits():
    asked = []

    root = Surd({2: fmpq(2**300), 1: -fmpq(math.isqrt(2**601))})  # below 1, of two numbers of 300 bits

    def difference():
        asked.append(ctx.prec)
        return root.enclosure()

    before = ctx.prec
    assert sign_of(difference) == 1
    assert asked == [128, 256, 512]
    assert sign_of(lambda: -difference()) == -1
    assert ctx.prec == before
    tiny = Surd.of(fmpq(1, 2**300)) * root
    for small in (root, tiny):
        assert (small.sign(), (-small).sign()) == (1, -1)


def test_a_sign_that_is_not_known_at_the_most_bits_is_undecided():
    asked = []

    def around_zero():
        asked.append(ctx.prec)
        return arb(0, 1)

    with pytest.raises(Undecided, match="not known at 16384 bits"):
        sign_of(around_zero)
    assert asked == [128 * 2**k for k in range(8)]
