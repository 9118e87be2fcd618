"""From a model to an instance: at the model, at simpler numbers near it, or nowhere."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from resstream.arithmetic import exact, exp, square
from resstream.arithmetic.solver import Formula
from resstream.arithmetic.unknowns import cases
from resstream.claim import Instance, at_least, at_most, claim, differ, equal
from resstream.domains import Scalar
from resstream.prove import models
from resstream.prove.models import candidate
from resstream.prove.statement import state


def about(conclusion, *assuming):
    return claim("trial", over={"x": Scalar()}, assuming=assuming)(conclusion)


def found(conclusion, number, *assuming):
    """The number of the instance that a model leads to, None where it leads nowhere."""
    made = about(conclusion, *assuming)
    raw = candidate(made, state(about(lambda x: at_most(x, 1)), Formula(next(cases())), {}, {}), {0: number}, {}, {})
    return None if raw is None else raw.arrays["x"].item()


def test_a_model_that_is_one_is_taken_as_it_is():
    assert found(lambda x: at_most(x, 2), fmpq(31, 10)) == Fraction(31, 10)
    assert found(lambda x: at_most(exp(x), 2), fmpq(3)) == 3  # by balls, where rationals give up


def test_the_simplest_number_nearby_is_taken():
    near_half = fmpq(500_000_001, 10**9)
    assert found(lambda x: differ(x, exact(1, 2)), near_half) == Fraction(1, 2)
    root = fmpq(141_421_356_237_309_505, 10**17)
    shown = [str(values[0]) for values in models._nearby({0: root})]
    assert shown[:5] == [str(root), "7/5", "140/99", "8119/5741", "131836323/93222358"]


def test_then_numbers_a_little_off_and_then_none():
    near = found(lambda x: at_most(x, 0), fmpq(0))
    assert 0 < near <= Fraction(2, 100)
    far = found(lambda x: at_most(square(x), exact(3, 10_000)), fmpq(0))
    assert far in (Fraction(2, 100), Fraction(-2, 100))
    assert found(lambda x: at_most(x, exact(3, 100)), fmpq(0)) is None


def test_steps_shrink():
    values = [found[0] for found in models._nearby({0: fmpq(0)})]
    assert len(values) == 1 + 4 + 24
    assert values[:5] == [0] * 5
    assert {int(value * 10 ** (2 + k // 3)) for k, value in enumerate(values[5:])} == {-2, -1, 0, 1, 2}
    assert all((value * 10 ** (2 + k // 3)).q == 1 for k, value in enumerate(values[5:]))
    assert len(set(values)) > 10


def positive(x):
    return at_least(x, 1)


@pytest.mark.parametrize(
    ("conclusion", "hypothesis", "number", "wanted"),
    [
        (lambda x: at_most(x, 2), None, 3, True),
        (lambda x: at_most(x, 2), None, 2, False),
        (lambda x: at_most(x, 2), positive, 3, True),
        (lambda x: at_most(x, -2), positive, 0, False),  # outside
        (lambda x: at_most(exp(x), 2), None, 1, True),
        (lambda x: at_most(exp(x), 2), None, 0, False),
        (lambda x: at_most(x, 2), lambda x: at_most(exp(x), 100), 3, True),
        (lambda x: at_most(1 / x, 2), None, 0, False),  # no value
        (lambda x: at_most(exp(exp(exp(exp(exp(x))))), 2), None, 3, False),  # beyond both readings
        (lambda x: equal(x.nothing, 2), None, 3, False),
        (lambda x: at_most(1 // 0 * x, 2), None, 3, False),
    ],
)
def test_what_seems_violated(conclusion, hypothesis, number, wanted):
    made = about(conclusion, *([hypothesis] if hypothesis else []))
    raw = Instance({}, {}, {"x": np.array([[Fraction(number)]], dtype=object)})
    assert models._seems_violated(made, raw) is wanted
