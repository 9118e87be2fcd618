"""How a float64 result is held against the balls, for tests of the reference; what tests of domains are built of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from resstream.arithmetic import FLOAT64, RATIONAL, Array, Ball, BallEntry, NumberSystem

EPS = float(np.finfo(np.float64).eps)
SYSTEMS = pytest.mark.parametrize("system", [FLOAT64, RATIONAL], ids=lambda system: system.name)


def _assert_within(value: Array, judged: Array, bound: Any, what: str = "") -> None:
    """|value - judged| <= bound, entry by entry; the judged array holds balls, the bound is broadcast to it."""
    assert value.shape == judged.shape
    with Ball(256).working():
        bounds = np.broadcast_to(np.asarray(bound), value.shape)
        for index, ball in np.ndenumerate(judged):
            error = (arb(float(value[index])) - ball.value).abs_upper()
            assert error <= arb(float(bounds[index])), f"{what} {index}: off by {error}, allowed {bounds[index]}"


def _reach(ball: BallEntry) -> float:
    return float(ball.value.rad()) + 2 * EPS * abs(float(ball.value.mid()))


def _assert_rounding_only(function: Callable[..., Array], *arguments: Array, factor: int = 4) -> None:
    """A batched float64 result is the ball's to rounding, at every place of the batch, and so is each single one.

    What rounding may do is measured by the same code in balls of 53 bits, whose radius adds up one unit in the last
    place of every intermediate result. Floats make the same roundings, half as large, in another order: `factor` times
    that radius is allowed, and two units of the result itself where the ball is exact.
    """
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in arguments))
    stacks = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in arguments]
    together = function(*arguments)
    assert together.shape[:-2] == batch
    for index in np.ndindex(batch):
        singles = [stack[index] for stack in stacks]
        with Ball(256).working():
            judged = function(*(Ball(256).array(x) for x in singles))
        with Ball(53).working():
            coarse = function(*(Ball(53).array(x) for x in singles))
        radius = np.vectorize(
            lambda ball: float(ball.value.rad()) + 2 * EPS * abs(float(ball.value.mid())), otypes=[float]
        )
        _assert_within(together[index], judged, factor * radius(coarse), f"batch {index}")
        _assert_within(function(*singles), judged, factor * radius(coarse), f"single {index}")


def _assert_same_balls(first: Array, second: Array, bits: int = 120) -> None:
    """Every difference holds zero and is below 2^-bits: equal, as far as the working precision tells."""
    assert first.shape == second.shape
    for entry in (first - second).flat:
        assert entry.value.contains(0), f"the difference {entry} excludes zero"
        assert entry.value.abs_upper() < arb(2) ** -bits, f"the difference {entry} is not known well enough"


@pytest.fixture(scope="session")
def assert_within() -> Callable[..., None]:
    return _assert_within


@pytest.fixture(scope="session")
def assert_rounding_only() -> Callable[..., None]:
    return _assert_rounding_only


@pytest.fixture(scope="session")
def assert_same_balls() -> Callable[..., None]:
    return _assert_same_balls


@pytest.fixture(scope="session")
def checking() -> Callable[[NumberSystem], AbstractContextManager[None]]:
    """Where values are checked: at the working precision, but for floats outside the context of a search."""
    return lambda system: nullcontext() if system is FLOAT64 else system.working()


def read(system: NumberSystem, rows: Any, *shape: int) -> Array:
    """Rows of numbers (floats, fractions, text such as "1/3") in a number system, as often as the shape says."""
    rows = np.array(rows, dtype=object)
    one = system.array(np.array([Fraction(entry) for entry in rows.flat], dtype=object).reshape(rows.shape))
    return np.broadcast_to(one, (*shape, *one.shape)).copy()


def values(array: Array) -> list[Any]:
    """The numbers behind the entries of an array."""
    return [entry.value for entry in array.flat]
