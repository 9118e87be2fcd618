"""The sizes and the number system of what is being evaluated."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, RATIONAL, Ball, BallEntry, Exact, RationalEntry
from resstream.domains.current import Objects, evaluating, leading_now, objects_now, read_now, size, sizes_now
from resstream.errors import ClaimError

SIZES = {"n": 2, "d": 3}


@dataclass
class Holder:
    """Arrays inside an object, after something that is none."""

    name: str
    held: Any


def test_the_sizes_are_those_of_the_objects_and_then_those_from_before():
    assert (leading_now(), objects_now()) == (None, None)
    outer, inner = Objects({"x": np.ones((1, 1))}, SIZES), Objects({"x": np.ones((1, 1))}, {"n": 5})
    assert dict(outer) == {"x": outer["x"]}
    with evaluating(outer):
        assert sizes_now("here") == SIZES
        assert objects_now() is outer
        with evaluating(inner):
            assert (sizes_now("here"), objects_now()) == ({"n": 5}, inner)
        with evaluating({"x": np.ones((1, 1))}):  # plain ones say nothing of sizes
            assert objects_now() is outer
        assert sizes_now("here") == SIZES
        with pytest.raises(ZeroDivisionError), evaluating(inner):
            raise ZeroDivisionError
        assert objects_now() is outer
    assert objects_now() is None
    with pytest.raises(ClaimError, match="here: no instance is being evaluated; expected a call in a claim's own"):
        sizes_now("here")


def test_a_size_is_a_number_of_the_number_system_at_hand():
    with evaluating(Objects({"x": np.ones((4, 2, 3))}, SIZES)):
        assert size("d").tolist() == [[3.0]]
        assert size("d").dtype == np.float64
        with pytest.raises(ClaimError, match=r"size\('q'\): expected one of d, n"):
            size("q")
    for system, kind in ((RATIONAL, RationalEntry), (Ball(64), BallEntry)):
        with system.working(), evaluating(Objects({"x": system.array([[1]])}, SIZES)):
            assert size("n").shape == (1, 1)
            assert type(size("n").item()) is kind
            assert size("n").item() == 2
    with evaluating(Objects({"k": 7}, SIZES)):
        literal = size("n")
        assert (type(literal), literal.value) == (Exact, 2)
    with evaluating(Objects({}, {})), pytest.raises(ClaimError, match="expected one of no size"):
        size("n")


@pytest.mark.parametrize(
    "around",
    [
        lambda x: x,
        lambda x: [1, (x,)],
        lambda x: Holder("h", x),
        lambda x: Holder("h", [Holder("g", None), Holder("i", x)]),
        lambda x: [Holder, x],  # a class holds nothing
    ],
)
def test_the_first_array_is_found_wherever_it_stands(around):
    x = np.ones((2, 2))
    with evaluating(Objects({"k": 3, "x": around(x), "y": np.zeros(1)}, SIZES)):
        assert leading_now() is x


def test_rational_objects_are_read_into_the_number_system_at_hand():
    half = RATIONAL.array([[Fraction(1, 2), 3]])
    assert read_now(half) is half
    assert read_now("text") == "text"
    with FLOAT64.working():
        assert read_now(half).tolist() == [[0.5, 3.0]]
        assert read_now(half).dtype == np.float64
    with evaluating(Objects({"x": np.ones((1, 1))}, SIZES)):
        found = read_now((half, [half, 4]))
        assert (type(found), type(found[1]), found[1][1]) == (tuple, list, 4)
        assert found[0].dtype == found[1][0].dtype == np.float64
        assert found[1][0].tolist() == [[0.5, 3.0]]
    with (system := Ball(64)).working(), evaluating(Objects({"x": system.array([[1]])}, SIZES)):
        ball = read_now(half)
        assert {type(entry) for entry in ball.flat} == {BallEntry}
        assert [entry == Fraction(*pair) for entry, pair in zip(ball.flat, ((1, 2), (3, 1)), strict=True)] == [True] * 2
