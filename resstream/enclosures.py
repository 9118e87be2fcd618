"""Float results held against certified values: whether rounding explains a difference, or only a fault does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from resstream.arithmetic import Array, Ball, BallEntry, NoValue, to_fmpq
from resstream.errors import ArithmeticLimit, DomainError, ShapeError
from resstream.foreign import FLOAT64_FORMAT, Format, as_numbers, format_of

BITS = (256, 1024, 4096)
"""The precisions of the true value, until it is known to far below what rounding may do."""


@dataclass(frozen=True)
class Certified:
    """The value of a function at arrays of exact numbers, which is enclosed to as many bits as asked for.

    >>> third = Certified(lambda x: x / 3, (np.array([1.0]),))
    >>> third.balls(64)
    Entries([[0.3333333333333333333 +/- 4.24e-20]], dtype=object)
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def balls(self, bits: int) -> Array:
        """An array of balls at a working precision: each holds the true entry.

        Raises what the function does, and DomainError where its value is no array of numbers.
        """
        system = Ball(bits)
        with system.working():
            given = (system.array(x) if isinstance(x, np.ndarray) and x.dtype != bool else x for x in self.arguments)
            value = self.function(*given)
        if not isinstance(value, np.ndarray) or value.dtype != object:
            raise DomainError(f"certified: expected a function that returns an array of numbers, got {value!r:.60}")
        for entry in value.flat:
            if isinstance(entry, NoValue):
                entry.demand()
        return value


def certified(function: Callable[..., Any], *arguments: Any) -> Certified:
    """The value of a function of `resstream.reference` (or of your own, written like it) at given arrays.

    Arrays of NumPy, torch or JAX count as the exact numbers that they are; arrays of booleans (masks) and what is no
    array are passed on. Raises DomainError for arrays with NaN or infinities.

    >>> certified(lambda x: x / 3, np.array([[1.0]])).balls(64)
    Entries([[[0.3333333333333333333 +/- 4.24e-20]]], dtype=object)
    """
    return Certified(function, tuple(_argument(place, x) for place, x in enumerate(arguments)))


def _argument(place: int, value: Any) -> Any:
    if str(getattr(value, "dtype", "")).endswith("bool") or not (hasattr(value, "dtype") or isinstance(value, list)):
        return value
    return as_numbers(value, f"certified: argument {place}")


def assert_encloses(
    result: Any, value: Certified, *, ulp: float = 4, bound: int | float | Fraction | None = None
) -> float:
    """Fail unless every entry of a result is as near to the certified value as rounding allows.

    What rounding can do is measured: the function is evaluated in balls with as many bits as the result's dtype has
    (bfloat16, float16, float32, float64), whose radius adds up one unit in the last place of every intermediate result;
    `ulp` times that is allowed. bound: an absolute bound in its place. Returns the largest error as a multiple of what
    one `ulp` allows (of `bound`). Raises AssertionError with the entry, both values and that multiple; ShapeError where
    shapes differ, and ArithmeticLimit where at the dtype's precision nothing is known of the value: give a bound then.

    >>> import numpy as np, resstream as rs
    >>> scores = np.array([[0.0, 1.0, 100.0]], dtype=np.float32)
    >>> exact = rs.certified(rs.reference.softmax, scores)
    >>> kernel = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    >>> rs.assert_encloses(kernel, exact) < 4
    True
    >>> rs.assert_encloses(kernel + np.float32(1e-5), exact)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: entry (0, 0) is 9.9...e-06 and the certified value is [3.72...e-44 +/- ...]: off by ... times ...
    """
    found = as_numbers(result, "assert_encloses: result")
    form = format_of(result) or FLOAT64_FORMAT
    allowed = _allowed(value, form, ulp, bound)
    if found.shape != allowed.shape:
        raise ShapeError(f"assert_encloses: result: shape {found.shape}, expected {allowed.shape}, that of the value")
    if not found.size:
        raise DomainError("assert_encloses: result: has no entries, so there is nothing to compare")
    worst, truth = -1.0, None
    where: tuple[int, ...] = ()
    for precision in BITS:
        balls = value.balls(precision)
        worst, where = _worst(found, balls, allowed, precision)
        truth = balls[where]
        if all(ball.value.rad() * 1024 <= limit for ball, limit in zip(balls.flat, allowed.flat, strict=True)):
            break
    if worst <= (1 if bound is not None else ulp):
        return worst
    name = "float64" if form == FLOAT64_FORMAT else str(getattr(result, "dtype", "float64")).removeprefix("torch.")
    of = "the bound" if bound is not None else "what one unit in the last place of every step makes"
    raise AssertionError(
        f"entry {where} is {np.asarray(result)[where]} and the certified value is {truth}: off by {worst:.3g} times "
        f"{of}, allowed {1 if bound is not None else ulp:g}; rounding in {name} does not explain it"
    )


def _allowed(value: Certified, form: Format, ulp: float, bound: Any) -> Array:
    """What one unit allows of each entry, as balls' upper ends (arb). No ball tells of underflow, so it is added."""
    bits = form.digits + 1
    if not ulp > 0:
        raise DomainError(f"assert_encloses: ulp: expected a number above 0, got {ulp!r}")
    balls = value.balls(256 if bound is not None else bits)
    out = np.empty(balls.shape, dtype=object)
    for index, entry in np.ndenumerate(balls):
        if bound is not None:
            out[index] = arb(to_fmpq(Fraction(bound)))
            continue
        ball = entry.value
        if not ball.is_finite():
            raise ArithmeticLimit(f"assert_encloses: at {bits} bits nothing is known of entry {index}: give a bound")
        out[index] = arb(ball.rad()) + abs(ball).upper() * arb(2) ** (1 - bits) + arb(2) ** form.smallest
    return out


def _worst(found: Array, balls: Array, allowed: Array, precision: int) -> tuple[float, tuple[int, ...]]:
    """The largest error in units of what is allowed, and where."""
    worst, where = -1.0, (0,) * found.ndim
    with Ball(precision).working():
        for index, entry in np.ndenumerate(balls):
            assert isinstance(entry, BallEntry)
            error = abs(arb(to_fmpq(found[index])) - entry.value).upper()
            limit = allowed[index]
            ratio = float((error / limit).upper()) if limit > 0 else (0.0 if error == 0 else float("inf"))
            if ratio > worst:
                worst, where = ratio, index
    return worst, where
