"""What is said of a quantity as a size grows: the stated bounds at one size, what is followed, and the words."""

from fractions import Fraction

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL, Exact, exact, pi
from resstream.errors import ClaimError
from resstream.relations import HOLDS, UNDEFINED, VIOLATED, Growth, limit, rate
from resstream.relations.growth import Limit, Rate


def along(*numbers):
    """Values of a quantity that is the k-th of some numbers at size k, and of functions of the size."""

    def values(what, count):
        assert count > 0
        found = numbers[count - 1] if what is None else what(count) if callable(what) else what
        if isinstance(found, Exact):
            found = found.value
        return RATIONAL.array(np.array([[found]] if np.ndim(found) == 0 else found, dtype=object))

    return values


def holds(growth, *numbers, at=None):
    status = growth.stated(along(*numbers), at or len(numbers)).decide(RATIONAL).status
    assert status in (HOLDS, VIOLATED)
    return status == HOLDS


def test_a_decreasing_limit_states_that_it_is_no_smaller_and_that_earlier_values_are():
    falling = limit("L", 2, monotone="decreasing")
    assert [holds(falling, value) for value in (1, 2, 3)] == [False, True, True]  # a size before the first is none
    assert holds(falling, 9, 7, 6, 5, 5, 4)
    assert not holds(falling, 9, 7, 6, 5, 3, 4)  # above the one before it
    assert not holds(falling, 9, 7, 3, 5, 5, 4)  # above that of half the size
    assert not holds(falling, 9, 7, 3, 5, 6, 5, 4)  # also where the size is odd
    assert holds(falling, 9, 7, 6, 3, 5, 4)  # two before it is not compared
    assert not holds(falling, 9, 7, 6, 5, 5, 1)
    moving = limit("L", lambda L: L, monotone="decreasing")
    assert (holds(moving, 9, 2), holds(moving, 9, 1)) == (True, False)


def test_an_increasing_limit_states_the_reverse():
    rising = limit("L", 6, monotone="increasing")
    assert [holds(rising, value) for value in (5, 6, 7)] == [True, True, False]
    assert holds(rising, 1, 2, 3, 4, 4, 5)
    assert not holds(rising, 1, 2, 3, 4, 6, 5)
    assert not holds(rising, 1, 2, 6, 4, 4, 5)
    assert not holds(rising, 1, 2, 3, 4, 4, 7)


def test_without_a_bound_no_instance_refutes():
    for growth in (limit("L"), limit("L", 3), rate("L"), rate("L", lambda L: -L)):
        assert holds(growth, 5, -7, 3)
        assert holds(growth, 5, 7, -3)
        assert holds(growth, 0)
        assert growth.bounds == ""
    nothing = rate("L", lambda L: L - 2)  # which is an order from the third on
    assert nothing.stated(along(5, 7), 2).decide(RATIONAL).status == UNDEFINED


def test_a_rate_states_its_constant():
    bounded = rate("L", lambda L: L, constant=3)
    assert [holds(bounded, 0, value) for value in (5, 6, 7, -6, -7)] == [True, True, False, True, False]
    assert holds(rate("L", 2, constant=lambda L: L), 0, 4)
    assert not holds(rate("L", 2, constant=lambda L: L), 0, 5)


def test_a_decreasing_quotient_is_compared_with_those_before():
    falling = rate("L", lambda L: L, monotone="decreasing")
    assert holds(falling, 3, 6, 9, -12)
    assert not holds(falling, 3, 6, 9, 13)
    assert not holds(falling, 3, 4, 12, 12)  # above that of half the size alone
    assert not holds(falling, 4, 9, 12, -17)  # above that of the size before alone
    both = rate("L", lambda L: L, constant=2, monotone="decreasing")
    assert [holds(both, *numbers) for numbers in ((2, 4), (2, 3), (1, 3), (3, 5))] == [True, True, False, False]


def test_what_is_followed_is_the_largest_distance_or_quotient():
    table = [[[1, -9], [4, 2]]]
    distance = limit("L", 5).measure(along(0, table[0]), 2)
    assert (distance.shape, str(distance.item())) == ((1, 1), "14")
    quotient = rate("L", lambda L: -L).measure(along(0, table[0]), 2)
    assert (quotient.shape, str(quotient.item())) == ((1, 1), "9/2")


def test_what_it_is_stated_with():
    assert limit("L").given() == {"to": 0}
    assert rate("L").given() == {"order": 1}
    assert rate("L", 2, constant=3).given() == {"order": 2, "constant": 3}
    assert (limit("L").to, limit("L").monotone, rate("L").order, rate("L").constant, rate("L").monotone) == (
        0,
        None,
        1,
        None,
        None,
    )
    assert (Limit("L"), Rate("L")) == (limit("L"), rate("L"))
    assert limit("L", 1, monotone="increasing") == Limit("L", 1, "increasing")
    assert rate("L", 2, constant=3, monotone="decreasing") == Rate("L", 2, 3, "decreasing")
    assert (Limit.name, Rate.name) == ("limit", "rate")
    assert all(isinstance(growth, Growth) for growth in (limit("L"), rate("L")))
    third = limit("L", Fraction(1, 3)).to
    assert (type(third), third.value) == (Exact, Fraction(1, 3))
    assert rate("L", constant=Fraction(1, 3)).constant.value == Fraction(1, 3)


@pytest.mark.parametrize(
    ("growth", "wording", "bounds"),
    [
        (limit("L", exact(1, 2)), "tends to 1/2 as L grows", ""),
        (limit("n", pi, monotone="decreasing"), "tends to pi as n grows", "decreasing in n, at least its limit"),
        (
            limit("L", lambda c: c, monotone="increasing"),
            "tends to its stated limit as L grows",
            "increasing in L, at most its limit",
        ),
        (rate("L"), "is at most a constant times 1 as L grows", ""),
        (
            rate("L", lambda L: L, constant=exact(7, 2)),
            "is at most 7/2 times its stated order as L grows",
            "at most 7/2 times the order",
        ),
        (rate("n", monotone="decreasing"), "is at most a constant times 1 as n grows", "the quotient decreasing in n"),
        (
            rate("L", constant=lambda c: c, monotone="decreasing"),
            "is at most its stated constant times 1 as L grows",
            "at most its constant times the order, the quotient decreasing in L",
        ),
    ],
)
def test_how_it_is_said(growth, wording, bounds):
    assert (growth.wording, growth.bounds) == (wording, bounds)


def test_what_it_cannot_be_stated_with_is_refused():
    for wrong in (3, "", "a b", "for", None):
        for make in (limit, rate):
            with pytest.raises(ClaimError, match=f"{make.__name__}: size: expected a name such as 'L', got {wrong!r}"):
                make(wrong)
    for number in (True, "2", None, 1j):
        with pytest.raises(ClaimError, match=r"limit: to: expected a whole number.* variables, got [^:]*$"):
            limit("L", number)
        with pytest.raises(ClaimError, match=r"rate: order: expected a whole number"):
            rate("L", number)
    with pytest.raises(ClaimError, match=r"rate: constant: .*got 0.5: write exact\('0.5'\)$"):
        rate("L", constant=0.5)
    with pytest.raises(ClaimError, match="limit: monotone: expected 'decreasing', 'increasing' or None, got 'down'"):
        limit("L", monotone="down")
    with pytest.raises(ClaimError, match="rate: monotone: expected 'decreasing' or None, got 'increasing'"):
        rate("L", monotone="increasing")
