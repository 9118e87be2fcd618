"""One implementation, several number systems.

The mathematics in `resstream.reference` is written once, on the trailing axes of NumPy arrays, with the functions of
this module in place of `np.exp`, `np.max` and so on. What the code computes in is decided by the *entries*:

=================  =====================  =============================================================
number system      entries                used for
=================  =====================  =============================================================
`FLOAT64`          float64                searching (batches of thousands), training, pinned numbers
`Ball(bits)`       `BallEntry`            judging: rigorous enclosures at a chosen precision (`flint.arb`)
`RATIONAL`         `RationalEntry`        judging ties exactly, where the value is rational (`flint.fmpq`)
`EXPONENTIAL`      `ExponentialEntry`     judging what balls leave open, where softmax and the like are all there is
`SYMBOLIC`         `SymbolicEntry`        deriving closed forms, proving identities at small sizes (SymPy)
the solver's       `SolverEntry`          proving at small sizes (`resstream.arithmetic.solver`)
=================  =====================  =============================================================

One module a number system, each one table of operations. Derivatives are one more reading of the same code: complex128
entries (the complex step) for floats, `DualEntry` over the exact ones, differentiation for expressions. A reduction
keeps its axis, so that a result is never a bare scalar and always broadcasts against what it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from operator import methodcaller
from typing import Any, Protocol

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import symbols
from resstream.arithmetic.balls import Ball, BallEntry
from resstream.arithmetic.duals import DualEntry
from resstream.arithmetic.entries import Entry, NoValue, along, entries_of, place
from resstream.arithmetic.exponentials import EXPONENTIAL, ExponentialEntry
from resstream.arithmetic.layout import in_lanes
from resstream.arithmetic.literals import Exact, Irrational, Literal, e, exact, pi, to_fmpq, to_fraction
from resstream.arithmetic.rationals import RATIONAL, RationalEntry, one_entry
from resstream.arithmetic.symbols import SYMBOLIC, SymbolicEntry, is_expression
from resstream.arithmetic.terms import proving
from resstream.errors import DomainError, ForeignNumber, ShapeError

Array = np.ndarray[Any, Any]
"""A NumPy array whose entries belong to one of the number systems."""

_STEP = 2.0**-200  # of the complex step: its square is far below the rounding of any float64
_DIFFERENCE = 2.0**-10  # of the scale of x: truncation and rounding are then about as large
_ONE_BY_ONE = 8  # numbers from which NumPy adds those that lie side by side in pairs
_SHORT = 32  # an axis up to this length is gone along faster in lanes
_screening: ContextVar[bool] = ContextVar("screening", default=False)


# ---- number systems ---------------------------------------------------------


class NumberSystem(Protocol):
    """How exact raw numbers become entries, and in which context those are computed with.

    >>> [system.name for system in (FLOAT64, RATIONAL, Ball(128))]
    ['float64', 'rational', 'ball(128)']
    """

    @property
    def name(self) -> str:
        """How reports call it."""
        ...

    def array(self, values: Any) -> Array:
        """The values (floats, integers, `Fraction`, `fmpq`; any shape) as entries of this number system."""
        ...

    def working(self) -> Any:
        """A context manager in which the entries are computed with."""
        ...


@dataclass(frozen=True)
class _Float64:
    name: str = "float64"

    def array(self, values: Any) -> Array:
        values = np.asarray(values)
        if values.dtype == object:
            return np.vectorize(to_float, otypes=[np.float64])(values)
        return values.astype(np.float64, copy=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        # Overflow, 0/0 and the like make an instance unfit for a float verdict; they are looked for in the result.
        before = _screening.set(True)
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            _screening.reset(before)


FLOAT64 = _Float64()


def is_screening() -> bool:
    """Whether `FLOAT64.working()` is on: one bad instance of a batch then shows as NaN in its own result.

    >>> with FLOAT64.working():
    ...     print(is_screening())
    True
    >>> is_screening()
    False
    """
    return _screening.get()


def to_float(value: Any) -> float:
    """The float nearest to a number of any kind (rationals are rounded once, balls give their middle).

    >>> to_float(RATIONAL.array([exact(1, 4)])[0]), to_float(exact(1, 8))
    (0.25, 0.125)
    """
    value = value.settled() if isinstance(value, Entry) else value
    value = value.value if isinstance(value, (RationalEntry, BallEntry)) else value
    value = value.value if isinstance(value, Exact) else value.nearest if isinstance(value, Irrational) else value
    return int(value.p) / int(value.q) if isinstance(value, fmpq) else float(value)


# ---- constants --------------------------------------------------------------


def as_entry(value: Any, like: Entry | None = None) -> Entry:
    """A number as an entry: of the system of `like`, or of its own. A foreign number raises ForeignNumber.

    >>> as_entry(3) / 2
    3/2
    """
    if isinstance(value, Entry):
        return value
    if like is None:
        like = BallEntry(arb(0)) if isinstance(value, arb) else RationalEntry(fmpq(0))
        like = SymbolicEntry(symbols.to_expression(0)) if is_expression(value) else like
    met = like.meet(value)
    if not isinstance(met, Entry):
        raise ForeignNumber(f"{type(value).__name__} {value!r:.40} in {place()} is no exact real number")
    return met


def leading(like: Any) -> Entry | None:
    """The first entry of an array that has a value, by which the number system of the array is known.

    >>> leading(RATIONAL.array([[exact(1, 3), 2]]))
    1/3
    """
    if isinstance(like, Entry):
        return like
    for entry in like.flat if isinstance(like, np.ndarray) else ():
        if type(entry) is not NoValue:
            return entry if isinstance(entry, Entry) else as_entry(entry)
    return None


def constant(value: int | Fraction | fmpq | Literal, like: Any) -> Any:
    """The exact number `value` as one entry of the number system of the array (or entry) `like`.

    >>> constant(Fraction(1, 3), RATIONAL.array([1])), constant(Fraction(1, 4), np.zeros(1))
    (1/3, 0.25)
    """
    if isinstance(like, Entry) or (isinstance(like, np.ndarray) and like.dtype == object):
        first = leading(like)
        return as_entry(value, RationalEntry(fmpq(0)) if first is None else first)
    return to_float(value)


def eye(size: int, like: Array) -> Array:
    """The identity matrix (size, size) in the number system of `like`.

    >>> eye(2, RATIONAL.array([0])).tolist()
    [[1, 0], [0, 1]]
    """
    return _plain(np.eye(size, dtype=int), like)


def ones(shape: tuple[int, ...], like: Array) -> Array:
    """An array of ones of the given shape in the number system of `like`.

    >>> ones((1, 2), RATIONAL.array([0])).tolist()
    [[1, 1]]
    """
    return _plain(np.ones(shape, dtype=int), like)


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    """An array of zeros of the given shape in the number system of `like`.

    >>> zeros((1, 2), RATIONAL.array([0])).tolist()
    [[0, 0]]
    """
    return _plain(np.zeros(shape, dtype=int), like)


def _plain(integers: Array, like: Array) -> Array:
    if like.dtype != object:
        return integers.astype(like.dtype)
    nought, one = constant(0, like), constant(1, like)
    return entries_of([one if entry else nought for entry in integers.ravel().tolist()], integers.shape)


# ---- functions of one entry -------------------------------------------------


def _map(function: Callable[..., Any], *arrays: Array) -> Array:
    """Apply a function entry by entry, giving an object array of the broadcast shape (also for no axes at all)."""
    with np.errstate(all="ignore"):  # FLINT may leave flags of the processor set, and NumPy would warn of them
        out = np.frompyfunc(function, len(arrays), 1)(*arrays)
    return out if isinstance(out, np.ndarray) else one_entry(out)


def _each(method: Callable[[Entry], Entry], x: Array) -> Array:
    """A method of every entry, giving an object array of the same shape: `_map` of one array, with less to call."""
    x = one_entry(x) if isinstance(x, Entry) else x
    entries = x.ravel().tolist()
    if not all(issubclass(kind, Entry) for kind in set(map(type, entries))):
        entries = [as_entry(entry) for entry in entries]
    return entries_of(list(map(method, entries)), x.shape)


def _is_float(x: Any) -> bool:
    return not isinstance(x, Entry) and x.dtype != object


def _entrywise(
    name: str,
    method: Callable[[Entry], Entry],
    numpy_function: Callable[[Array], Array],
    words: str,
    known: tuple[int, int],
) -> Callable[[Array], Array]:
    """A function of every entry. known: the one rational number at which it is rational, and its value there."""

    def function(x: Array) -> Array:
        return numpy_function(x) if _is_float(x) else _each(method, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{words} (rational at {known[0]} alone; other rationals raise NotExact) of every entry, (..., n, d) -> "
        f"(..., n, d).\n\n    >>> {name}(RATIONAL.array([{known[0]}])).tolist()\n    [{known[1]}]\n    "
    )
    return function


def _float_erf(x: Array) -> Array:
    from scipy.special import erf as of_floats  # SciPy's special functions load slowly, and few claims need them

    return of_floats(x)


exp = _entrywise("exp", methodcaller("exponential"), np.exp, "Exponential", (0, 1))
log = _entrywise("log", methodcaller("logarithm"), np.log, "Logarithm", (1, 0))
cos = _entrywise("cos", methodcaller("cosine"), np.cos, "Cosine", (0, 1))
sin = _entrywise("sin", methodcaller("sine"), np.sin, "Sine", (0, 0))
erf = _entrywise("erf", methodcaller("error_function"), _float_erf, "Error function", (0, 0))
tanh = _entrywise("tanh", methodcaller("hyperbolic_tangent"), np.tanh, "Hyperbolic tangent", (0, 0))


def sqrt(x: Array) -> Array:
    """Square root of every entry.

    A ball that reaches below zero is cut at zero where the number is nonnegative by its form (a sum of squares): what
    lies below is then rounding. Elsewhere it may have no root. A rational that is no square raises NotExact.

    >>> sqrt(np.array([2.25])).tolist(), sqrt(RATIONAL.array([exact(9, 4)])).tolist()
    ([1.5], [3/2])
    """
    return np.sqrt(x) if _is_float(x) else _each(methodcaller("square_root"), x)


def root(x: Array, degree: int) -> Array:
    """The root of a whole degree of at least 1 of every entry, all of which are nonnegative.

    A rational whose root is not rational raises NotExact, a degree that is none DomainError.

    >>> root(np.array([[8.0, 0.0]]), 3)
    array([[2., 0.]])
    """
    if not isinstance(degree, (int, np.integer)) or isinstance(degree, bool) or degree < 1:
        raise DomainError(f"degree: expected a whole number of at least 1, got {degree!r:.40}")
    degree = int(degree)
    if degree <= 2:
        return x if degree == 1 else sqrt(x)
    if not _is_float(x):
        return _map(lambda entry: as_entry(entry).root(degree), x)
    with np.errstate(all="ignore"):
        near = np.power(x, 1 / degree)  # off by what 1/degree is: a step of Newton's mends that
        step = (near - x / near ** (degree - 1)) / degree
    return np.where(np.isfinite(step), near - step, near)


def square(x: Array) -> Array:
    """Square of every entry.

    >>> square(RATIONAL.array([[exact(-2, 3)]])).tolist()
    [[4/9]]
    """
    return x * x


def power(x: Array, exponent: int) -> Array:
    """A whole power of every entry, exponent >= 0, by multiplication.

    >>> power(RATIONAL.array([exact(2, 3)]), 3).tolist()
    [8/27]
    """
    if not isinstance(exponent, (int, np.integer)) or isinstance(exponent, bool) or exponent < 0:
        raise DomainError(f"exponent: expected a whole number of at least 0, got {exponent!r}")
    result = ones((1,) * x.ndim, x)
    for _ in range(exponent):
        result = result * x
    return result


def absolute(x: Array) -> Array:
    """Absolute value of every entry.

    >>> absolute(np.array([[-2.0, 3.0]])).tolist(), absolute(RATIONAL.array([[exact(-1, 3)]])).tolist()
    ([[2.0, 3.0]], [[1/3]])
    """
    if _is_float(x):
        return np.where(x.real < 0, -x, x) if np.iscomplexobj(x) else np.abs(x)
    return _each(methodcaller("size"), x)


def relu(x: Array) -> Array:
    """max(x, 0) of every entry.

    >>> relu(np.array([[-2.0, 3.0]])).tolist()
    [[0.0, 3.0]]
    """
    if _is_float(x):
        return np.where(x.real > 0, x, np.zeros_like(x))
    return _map(lambda entry: _larger(entry, constant(0, as_entry(entry))), x)


# ---- functions of two entries -----------------------------------------------


def maximum(x: Array, y: Array) -> Array:
    """The larger of two arrays, entry by entry (broadcast); one may be a number, such as 0, exact(1, 2) or pi.

    >>> maximum(np.array([[1.0, 5.0]]), np.array([[2.0]])).tolist()
    [[2.0, 5.0]]
    """
    x, y = _beside(x, y), _beside(y, x)
    if _is_float(x) and _is_float(y):
        return (
            np.where(np.real(x) >= np.real(y), x, y) if np.iscomplexobj(x) or np.iscomplexobj(y) else np.maximum(x, y)
        )
    return _map(_larger, x, y)


def _beside(x: Any, other: Any) -> Array:
    """An operand as an array; an exact number as one of the system of the other operand."""
    known = isinstance(x, (int, Fraction, Literal)) and isinstance(other, np.ndarray)
    return np.asarray(constant(x, other) if known else x)


def minimum(x: Array, y: Array) -> Array:
    """The smaller of two arrays, entry by entry (broadcast); one may be a number.

    >>> minimum(np.array([[1.0, 5.0]]), np.array([[2.0]])).tolist()
    [[1.0, 2.0]]
    """
    return -maximum(-y, -x)  # of equal ones the second: sorting by both keeps the slopes of complex steps


def _larger(first: Any, second: Any) -> Entry:
    if type(first) is not type(second) or not isinstance(first, Entry):
        first = as_entry(first, second if isinstance(second, Entry) else None)
        met = first.meet(second)
        if met is NotImplemented:
            first, met = as_entry(second), as_entry(second).meet(first)
        second = met
    return second if type(second) is NoValue else first.larger(second)


def where(condition: Array, x: Any, y: Any) -> Array:
    """Entries of x where the boolean array holds, of y elsewhere (broadcast; numbers become entries).

    Both sides are computed everywhere; of a side that is not chosen no value is asked, so `where(x == 0, 0, y / x)`
    has one. A condition that is not a boolean array raises ForeignNumber.

    >>> x = RATIONAL.array([[0, 2]])
    >>> where(x == 0, 0, 1 / x).tolist()
    [[0, 1/2]]
    """
    condition = np.asarray(condition)
    if condition.dtype != bool:
        raise ForeignNumber(f"condition: expected booleans, such as of a comparison, got dtype {condition.dtype}")
    like = x if isinstance(x, np.ndarray) else y if isinstance(y, np.ndarray) else None
    if like is None:  # numbers alone: whole ones stay numbers, which every system reads
        exact_ones = [z for z in (x, y) if isinstance(z, (Literal, Fraction))]
        like = np.zeros(1) if is_screening() or not exact_ones else RATIONAL.array([0])
    if _is_float(like):
        return np.where(condition, *(to_float(z) if isinstance(z, (int, Fraction, Literal)) else z for z in (x, y)))
    x, y = (z if isinstance(z, np.ndarray) else one_entry(as_entry(z, leading(like))) for z in (x, y))
    return np.where(condition, x, y)


# ---- reductions, which keep their axis --------------------------------------


def total(x: Array, axis: int = -1) -> Array:
    """Sum along one axis, which stays with length 1.

    >>> total(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist(), total(np.array([[1.0, 2.0], [3.0, 4.0]]), -2).tolist()
    ([[3.0], [7.0]], [[4.0, 6.0]])
    """
    if x.dtype == object and (found := along(x, axis, "sum_of")) is not None:
        return found
    if x.shape[axis] < _ONE_BY_ONE:
        x = in_lanes(x)  # bit for bit the same: from _ONE_BY_ONE on NumPy adds in another order
    return np.sum(x, axis=axis, keepdims=True)


def mean(x: Array, axis: int = -1) -> Array:
    """Mean along one axis, which stays with length 1.

    >>> mean(np.array([[1.0, 2.0, 6.0]])).tolist(), mean(RATIONAL.array([[1, 1, 2]])).tolist()
    ([[3.0]], [[4/3]])
    """
    return total(x, axis) / constant(x.shape[axis], x)


def amax(x: Array, axis: int = -1) -> Array:
    """Largest entry along one axis, which stays with length 1; of balls, the ball of the maximum.

    >>> amax(np.array([[1.0, 5.0], [4.0, 2.0]])).tolist(), amax(np.array([[1.0, 5.0], [4.0, 2.0]]), -2).tolist()
    ([[5.0], [4.0]], [[4.0, 5.0]])
    """
    if x.shape[axis] == 0:
        raise ShapeError(f"largest entry of an empty axis (shape {x.shape}, axis {axis})")
    if _is_float(x) and not np.iscomplexobj(x):
        return np.max(in_lanes(x) if x.shape[axis] <= _SHORT else x, axis=axis, keepdims=True)
    if x.dtype == object and (found := along(x, axis, "largest_of")) is not None:
        return found
    parts = np.split(x, x.shape[axis], axis=axis)
    largest = parts[0]
    for part in parts[1:]:
        largest = maximum(largest, part)
    return largest


def amin(x: Array, axis: int = -1) -> Array:
    """Smallest entry along one axis, which stays with length 1.

    >>> amin(np.array([[1.0, 5.0], [4.0, 2.0]])).tolist()
    [[1.0], [2.0]]
    """
    return -amax(-x, axis)


def largest_entry(x: Array) -> Array:
    """Largest entry over the two trailing axes: (..., n, d) -> (..., 1, 1).

    >>> largest_entry(np.array([[1.0, 5.0], [4.0, 2.0]])).tolist()
    [[5.0]]
    """
    return amax(amax(x, -1), -2)


def smallest_entry(x: Array) -> Array:
    """Smallest entry over the two trailing axes: (..., n, d) -> (..., 1, 1).

    >>> smallest_entry(np.array([[1.0, 5.0], [4.0, 2.0]])).tolist()
    [[1.0]]
    """
    return -largest_entry(-x)


def total_entry(x: Array) -> Array:
    """Sum over the two trailing axes: (..., n, d) -> (..., 1, 1).

    >>> total_entry(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[10.0]]
    """
    return total(total(x, -1), -2)


def descending(x: Array) -> Array:
    """The entries along the last axis in descending order (by comparing and exchanging, so balls may overlap).

    >>> descending(np.array([[2.0, 5.0, 3.0]])).tolist()
    [[5.0, 3.0, 2.0]]
    """
    if _is_float(x) and not np.iscomplexobj(x):
        return -np.sort(-x, axis=-1)
    columns = np.split(x, x.shape[-1], axis=-1)
    for end in range(len(columns) - 1, 0, -1):
        for k in range(end):
            columns[k], columns[k + 1] = maximum(columns[k], columns[k + 1]), minimum(columns[k], columns[k + 1])
    return np.concatenate(columns, axis=-1)


# ---- derivatives ------------------------------------------------------------


_derivative: ContextVar[bool] = ContextVar("derivative", default=False)
_levels = count(1)


@contextmanager
def _differentiating() -> Iterator[None]:
    before = _derivative.set(True)
    try:
        yield
    finally:
        _derivative.reset(before)


def is_differentiating() -> bool:
    """Whether `derivative` runs: complex entries are then its step, and elsewhere a user's.

    >>> is_differentiating()
    False
    """
    return _derivative.get()


def derivative(function: Callable[[Array], Array], x: Array, direction: Array) -> Array:
    """Directional derivative of `function` at x, without finite differences.

    Shapes: x and direction agree; the result has the shape of `function(x)`. Floats use the complex step (exact to
    rounding), exact entries a number with a slope (an enclosure, or exact), expressions the derivative of
    f(x + t direction) at t = 0. A direction across a kink raises `Kink` for all but floats. A complex x raises
    DomainError, other shapes ShapeError.

    Derivatives may be nested. Those of floats then are a complex step of differences: about 1e-12 of the scale off.

    >>> derivative(lambda x: x**2, np.array([3.0]), np.array([1.0]))
    array([6.])
    """
    if x.shape != direction.shape:
        raise ShapeError(f"direction: expected the shape {x.shape} of x, got {direction.shape}")
    if np.iscomplexobj(x):
        if is_differentiating():
            return _difference(function, x, direction)
        raise DomainError(f"x: expected real entries, got dtype {x.dtype}")
    if _is_float(x):
        with _differentiating():
            return np.imag(function(x + 1j * _STEP * direction)) / _STEP
    first = leading(x)
    if isinstance(first, SymbolicEntry):
        with _differentiating(), symbols.along() as time:
            values = function(x + one_entry(time) * direction)
            return _map(lambda entry: as_entry(entry, time).slope(time.value), values)
    level = next(_levels)
    with _differentiating():
        moving = _map(lambda point, slope: DualEntry(as_entry(point), as_entry(slope, first), level), x, direction)
        values = function(moving)
    nought = constant(0, x)
    return _map(lambda entry: _slope(entry, level, nought), values)


def _difference(function: Callable[[Array], Array], x: Array, direction: Array) -> Array:
    """The derivative of an analytic function where another one is being taken: a difference of fourth order."""
    axes = tuple(range(-min(x.ndim, 2), 0))  # each instance has a scale of its own
    scale, length = (np.abs(z).max(axis=axes, keepdims=True) for z in (x, direction))
    step = _DIFFERENCE * np.where(scale > 0, scale, 1) / np.where(length > 0, length, 1)
    near, far = (function(x + k * step * direction) - function(x - k * step * direction) for k in (1, 2))
    return (8 * near - far) / (12 * step)


def _slope(entry: Any, level: int, nought: Entry) -> Entry:
    if isinstance(entry, NoValue):
        return entry
    slope: Entry = entry.slope if isinstance(entry, DualEntry) and entry.level == level else nought
    return slope


def frozen(x: Array) -> Array:
    """The values of x as constants: what is computed from them has no derivative (the shift inside a softmax).

    >>> derivative(lambda x: x * frozen(x), np.array([3.0]), np.array([1.0]))
    array([3.])
    """
    if _is_float(x):
        return x.real
    return _each(methodcaller("frozen"), x)


def peak(x: Array) -> Array:
    """What to subtract in exp(x - peak(x)) so that floats stay in range: the largest entry of each row, as a constant.

    Of expressions it is 0: they have no range to stay in, and are simpler without.

    >>> x = np.array([[1000.0, 1001.0]])
    >>> exp(x - peak(x)).round(4).tolist()
    [[0.3679, 1.0]]
    """
    if not _is_float(x) and (is_expression(leading(x)) or proving()):
        return zeros((1, 1), x)
    return amax(frozen(x))


def jacobian(function: Callable[[Array], Array], x: Array) -> Array:
    """Jacobian of a map of row vectors, in the row convention: (..., 1, d) -> (..., d, e) with df = dx @ J.

    Entry (i, j) is the derivative of output j with respect to input i, taken by `derivative`.

    >>> jacobian(lambda x: x @ np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    size = x.shape[-1]
    rows = []
    for i in range(size):
        direction = np.broadcast_to(eye(size, x)[i : i + 1], x.shape)
        rows.append(derivative(function, x, direction))
    return np.concatenate(rows, axis=-2)


def gradient(function: Callable[[Array], Array], x: Array) -> Array:
    """Gradient of a function of matrices with values (..., 1, 1): (..., n, d) -> (..., n, d), taken by `derivative`.

    Values of another shape raise ShapeError.

    >>> gradient(lambda x: total(x**2), np.array([[1.0, 2.0]]))
    array([[2., 4.]])
    """
    slopes = []
    for index in np.ndindex(x.shape[-2:]):
        unit = np.zeros(x.shape[-2:], dtype=int)
        unit[index] = 1
        slope = derivative(function, x, np.broadcast_to(_plain(unit, x), x.shape))
        if slope.shape[-2:] != (1, 1):
            raise ShapeError(f"function: expected values of shape (..., 1, 1), got {slope.shape}; see jacobian")
        slopes.append(slope)
    return np.concatenate(slopes, axis=-1).reshape(*slopes[0].shape[:-2], *x.shape[-2:])


def hessian(function: Callable[[Array], Array], x: Array) -> Array:
    """Second derivatives of a function of rows with values (..., 1, 1): (..., 1, d) -> (..., d, d), symmetric.

    >>> hessian(lambda x: total(x**3), RATIONAL.array([[1, 2]])).tolist()
    [[6, 0], [0, 12]]
    """
    return jacobian(lambda y: gradient(function, y), x)


__all__ = [
    "EXPONENTIAL",
    "FLOAT64",
    "RATIONAL",
    "SYMBOLIC",
    "Array",
    "Ball",
    "BallEntry",
    "DualEntry",
    "Entry",
    "Exact",
    "ExponentialEntry",
    "Irrational",
    "Literal",
    "NoValue",
    "NumberSystem",
    "RationalEntry",
    "SymbolicEntry",
    "absolute",
    "amax",
    "amin",
    "as_entry",
    "constant",
    "cos",
    "derivative",
    "descending",
    "e",
    "erf",
    "exact",
    "exp",
    "eye",
    "frozen",
    "gradient",
    "hessian",
    "is_differentiating",
    "is_expression",
    "is_screening",
    "jacobian",
    "largest_entry",
    "leading",
    "log",
    "maximum",
    "mean",
    "minimum",
    "one_entry",
    "ones",
    "peak",
    "pi",
    "power",
    "relu",
    "root",
    "sin",
    "smallest_entry",
    "sqrt",
    "square",
    "tanh",
    "to_float",
    "to_fmpq",
    "to_fraction",
    "total",
    "total_entry",
    "where",
    "zeros",
]
