"""One implementation, several number systems.

The mathematics in `resstream.reference` is written once, on the trailing axes of NumPy arrays, with the functions of
this module in place of `np.exp`, `np.max` and so on. What the code computes in is decided by the *entries*:

=================  =====================  =============================================================
number system      entries                used for
=================  =====================  =============================================================
`FLOAT64`          float64                searching (batches of thousands), training, pinned numbers
`Ball(bits)`       `flint.arb`            judging: rigorous enclosures at a chosen precision
`RATIONAL`         `flint.fmpq`           judging ties exactly, where the value is rational
`SYMBOLIC`         SymPy expressions      deriving closed forms, proving identities at small sizes
SMT                `Unknown`              proving at small sizes (`resstream.audit.smt`)
=================  =====================  =============================================================

Derivatives are one more reading of the same code: complex128 entries (the complex step) for floats, `arb_series` for
balls, `fmpq_series` for rationals, differentiation for expressions. A reduction keeps its axis, so that a result is
never a bare scalar and always broadcasts against what it came from.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any, Protocol

import numpy as np
from flint import arb, arb_series, ctx, fmpq, fmpq_series, fmpz

from resstream.errors import DomainError, NotExact, NotExpressible, ShapeError, Undecided

Array = np.ndarray[Any, Any]
"""A NumPy array whose entries belong to one of the number systems."""

_SERIES = (arb_series, fmpq_series)
_STEP = 2.0**-200  # of the complex step: its square is far below the rounding of any float64
_screening: ContextVar[bool] = ContextVar("screening", default=False)


# ---- number systems ---------------------------------------------------------


class NumberSystem(Protocol):
    """How exact raw numbers become entries, and in which context those are computed with."""

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


@dataclass(frozen=True)
class _Rational:
    name: str = "rational"

    def array(self, values: Any) -> Array:
        return _map(to_fmpq, np.asarray(values))

    @contextmanager
    def working(self) -> Iterator[None]:
        yield


@dataclass(frozen=True)
class Ball:
    """Ball arithmetic at a working precision of `bits` bits: every entry is an interval that holds the true value."""

    bits: int = 128

    @property
    def name(self) -> str:
        return f"ball({self.bits})"

    def array(self, values: Any) -> Array:
        with self.working():
            return _map(_to_arb, np.asarray(values))

    @contextmanager
    def working(self) -> Iterator[None]:
        # FLINT's precision is global to the process, hence set here and nowhere else.
        before = ctx.prec
        ctx.prec = self.bits
        try:
            yield
        finally:
            ctx.prec = before


@dataclass(frozen=True)
class _Symbolic:
    name: str = "symbolic"

    def array(self, values: Any) -> Array:
        """Expressions stay as they are; numbers become exact ones."""
        return _map(lambda value: value if is_expression(value) else _to_expression(value), np.asarray(values))

    @contextmanager
    def working(self) -> Iterator[None]:
        yield


def is_screening() -> bool:
    """Whether `FLOAT64.working()` is on: one bad instance of a batch then shows as NaN in its own result."""
    return _screening.get()


FLOAT64 = _Float64()
RATIONAL = _Rational()
SYMBOLIC = _Symbolic()


def to_fmpq(value: Any) -> fmpq:
    """The exact value of a float, integer, `Fraction`, decimal string or `fmpq`; NaN and infinity raise DomainError."""
    if isinstance(value, fmpq):
        return value
    if isinstance(value, (int, np.integer, fmpz)):
        return fmpq(int(value))
    if isinstance(value, (Fraction, str)):
        value = Fraction(value)
        return fmpq(value.numerator, value.denominator)
    value = float(value)
    if not np.isfinite(value):
        raise DomainError(f"expected a finite number, got {value}")
    return fmpq(*value.as_integer_ratio())


def _to_arb(value: Any) -> arb:
    return arb(value) if isinstance(value, (float, int)) else arb(to_fmpq(value))


def to_float(value: Any) -> float:
    """The float nearest to a number of any kind (rationals are rounded once, balls give their middle)."""
    return int(value.p) / int(value.q) if isinstance(value, fmpq) else float(value)


def _sympy() -> Any:
    """SymPy, imported when it is first needed: it takes longer than all the rest."""
    import sympy

    return sympy


def is_expression(entry: Any) -> bool:
    """Whether an entry is a SymPy expression, whose value is not known."""
    return "sympy" in sys.modules and isinstance(entry, _sympy().Basic)


def _is_small(expression: Any) -> bool:
    """Whether SymPy may look for a simpler form: on large expressions that takes longer than all else."""
    return sum(1 for _ in islice(_sympy().preorder_traversal(expression), 60)) < 60


def _to_expression(value: Any) -> Any:
    value = to_fmpq(value)
    return _sympy().Rational(int(value.p), int(value.q))


def to_fraction(value: Any) -> Fraction:
    """The exact value of a raw entry as a `Fraction`."""
    value = to_fmpq(value)
    return Fraction(int(value.p), int(value.q))


class Unknown(ABC):
    """A real number of which only conditions are known: an entry of the SMT reading.

    Its operators give further unknowns. What a subclass does not express, and any branch on unknown values, raises
    NotExpressible.
    """

    @abstractmethod
    def of(self, value: fmpq) -> Unknown:
        """A known number as an entry of the same reading."""

    @abstractmethod
    def larger(self, other: Any) -> Unknown:
        """The maximum of this and another entry or number."""

    @abstractmethod
    def sqrt(self) -> Unknown:
        """The square root."""

    def exp(self) -> Unknown:
        raise NotExpressible("exp")

    def log(self) -> Unknown:
        raise NotExpressible("log")

    def cos(self) -> Unknown:
        raise NotExpressible("cos")

    def sin(self) -> Unknown:
        raise NotExpressible("sin")

    def tanh(self) -> Unknown:
        raise NotExpressible("tanh")

    def erf(self) -> Unknown:
        raise NotExpressible("erf")


# ---- exact literals ---------------------------------------------------------


class Exact:
    """An exact rational literal, read into the number system of whatever it meets: `exact(99, 100) * x`.

    A Python `0.99` is a dyadic number beside 99/100, and a `Fraction` turns a float array into objects; this does
    neither.
    """

    __array_ufunc__ = None  # so that `array * exact(1, 2)` comes here and not to NumPy's object loop

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"exact({self.value.numerator}, {self.value.denominator})"

    def _meet(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Exact):
            return Exact(operation(self.value, other.value))
        if isinstance(other, (int, Fraction)):
            return Exact(Fraction(operation(self.value, Fraction(other))))
        return operation(constant(self.value, like=other), other)

    def __add__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._meet(other, lambda a, b: b / a)

    def __pow__(self, power: int) -> Exact:
        return Exact(self.value**power)

    def __neg__(self) -> Exact:
        return Exact(-self.value)


def exact(numerator: int | str | Fraction, denominator: int = 1) -> Exact:
    """The exact rational number numerator/denominator, as a literal for claims.

    >>> exact(99, 100) * FLOAT64.array([2.0])
    array([1.98])
    >>> exact(1, 3) * RATIONAL.array([2])
    array([2/3], dtype=object)
    """
    return Exact(Fraction(numerator) / denominator)


def constant(value: int | Fraction | fmpq, like: Any) -> Any:
    """The exact number `value` as one entry of the number system of the array `like`."""
    if not isinstance(like, np.ndarray):
        like = np.asarray(like)
    if like.dtype != object:
        return float(value) if not isinstance(value, fmpq) else to_float(value)
    first = like.flat[0] if like.size else None
    if isinstance(first, arb):
        return arb(to_fmpq(value))
    if isinstance(first, arb_series):
        return arb_series([arb(to_fmpq(value))])
    if isinstance(first, fmpq_series):
        return fmpq_series([to_fmpq(value)])
    if isinstance(first, Unknown):
        return first.of(to_fmpq(value))
    return _to_expression(value) if is_expression(first) else to_fmpq(value)


def eye(size: int, like: Array) -> Array:
    """The identity matrix (size, size) in the number system of `like`."""
    return _plain(np.eye(size, dtype=int), like)


def ones(shape: tuple[int, ...], like: Array) -> Array:
    """An array of ones of the given shape in the number system of `like`."""
    return _plain(np.ones(shape, dtype=int), like)


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    """An array of zeros of the given shape in the number system of `like`."""
    return _plain(np.zeros(shape, dtype=int), like)


def _plain(integers: Array, like: Array) -> Array:
    if like.dtype != object:
        return integers.astype(like.dtype)
    return _map(lambda entry: constant(int(entry), like), integers)


# ---- functions of one entry -------------------------------------------------


def _map(function: Callable[..., Any], *arrays: Array) -> Array:
    """Apply a function entry by entry, giving an object array of the broadcast shape (also for no axes at all)."""
    with np.errstate(all="ignore"):  # FLINT may leave flags of the processor set, and NumPy would warn of them
        out = np.frompyfunc(function, len(arrays), 1)(*arrays)
    return out if isinstance(out, np.ndarray) else _single(out)


def _single(entry: Any) -> Array:
    out = np.empty((), dtype=object)
    out[()] = entry
    return out


def _is_float(x: Array) -> bool:
    return x.dtype != object


def _exact_only(name: str, at: int, value: int) -> Callable[[fmpq], fmpq]:
    """A transcendental function on rationals: known at one point, irrational elsewhere."""

    def function(entry: fmpq) -> fmpq:
        if entry == at:
            return fmpq(value)
        raise NotExact(f"{name}({entry}) is not rational")

    return function


def _transcendental(
    name: str, numpy_function: Callable[[Array], Array], at: int, value: int
) -> Callable[[Array], Array]:
    rational = _exact_only(name, at, value)

    def entrywise(entry: Any) -> Any:
        if isinstance(entry, fmpq):
            return rational(entry)
        if isinstance(entry, fmpq_series) and entry[0] != at:
            raise NotExact(f"{name} of a series about {entry[0]} is not rational")
        if is_expression(entry):
            return getattr(_sympy(), name)(entry, evaluate=_is_small(entry))
        return getattr(entry, name)()

    def function(x: Array) -> Array:
        return numpy_function(x) if _is_float(x) else _map(entrywise, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of every entry; for rationals only at {at}, elsewhere NotExact is raised."
    return function


exp = _transcendental("exp", np.exp, 0, 1)
log = _transcendental("log", np.log, 1, 0)
cos = _transcendental("cos", np.cos, 0, 1)
sin = _transcendental("sin", np.sin, 0, 0)


def _float_erf(x: Array) -> Array:
    from scipy.special import erf as of_floats  # SciPy's special functions load slowly, and few claims need them

    return of_floats(x)


erf = _transcendental("erf", _float_erf, 0, 0)


def tanh(x: Array) -> Array:
    """Hyperbolic tangent of every entry; for rationals only at 0, elsewhere NotExact is raised."""
    if _is_float(x):
        return np.tanh(x)
    return _map(_tanh_entry, x)


def _tanh_entry(entry: Any) -> Any:
    if isinstance(entry, (arb, Unknown)):
        return entry.tanh()
    if isinstance(entry, fmpq):
        return _exact_only("tanh", 0, 0)(entry)
    if is_expression(entry):
        return _sympy().tanh(entry)
    grown = (2 * entry).exp()  # arb_series has no tanh of its own
    return (grown - 1) / (grown + 1)


def sqrt(x: Array) -> Array:
    """Square root of every entry.

    A ball that reaches below zero is cut at zero: the root is only asked of quantities that are nonnegative by their
    mathematics (a sum of squares), so what lies below is rounding. A rational that is no square raises NotExact.
    """
    return np.sqrt(x) if _is_float(x) else _map(_sqrt_entry, x)


def _sqrt_entry(entry: Any) -> Any:
    if isinstance(entry, arb):
        if not entry.lower() < 0:
            return entry.sqrt()
        if entry < 0:
            raise DomainError(f"square root of the negative number {entry}")
        return arb(0).union(entry.upper().sqrt())
    if isinstance(entry, fmpq):
        return _sqrt_rational(entry)
    if isinstance(entry, fmpq_series):
        root = _sqrt_rational(entry[0])
        if root == 0:
            raise NotExact("the square root has no derivative at 0")
        return root * (entry / entry[0]).sqrt()
    return _sympy().sqrt(entry) if is_expression(entry) else entry.sqrt()


def _sqrt_rational(entry: fmpq) -> fmpq:
    if entry < 0:
        raise DomainError(f"square root of the negative number {entry}")
    root, rest = entry.p.sqrtrem()
    other, other_rest = entry.q.sqrtrem()
    if rest or other_rest:
        raise NotExact(f"the square root of {entry} is not rational")
    return fmpq(root, other)


def square(x: Array) -> Array:
    """Square of every entry. (`x**2` of a ball that holds zero is NaN, as FLINT takes powers by logarithms.)"""
    return x * x


def power(x: Array, exponent: int) -> Array:
    """A whole power of every entry, exponent >= 0, by multiplication."""
    if exponent < 0:
        raise DomainError(f"exponent: expected a whole number of at least 0, got {exponent}")
    result = ones((1,) * x.ndim, x)
    for _ in range(exponent):
        result = result * x
    return result


def absolute(x: Array) -> Array:
    """Absolute value of every entry."""
    if _is_float(x):
        return np.where(x.real < 0, -x, x) if np.iscomplexobj(x) else np.abs(x)
    return _map(_absolute_entry, x)


def _absolute_entry(entry: Any) -> Any:
    if isinstance(entry, _SERIES):
        return -entry if _sign(entry) < 0 else entry
    return abs(entry)


def _sign(series: Any) -> int:
    """The sign of a series near its point, where a kink may lie."""
    value = series[0]
    if value > 0:
        return 1
    if value < 0:
        return -1
    if value == 0:
        raise Undecided("derivative asked at a kink (absolute value, maximum or ReLU of equal values)")
    raise Undecided("the sign of a ball that holds zero is not known")


def relu(x: Array) -> Array:
    """max(x, 0) of every entry."""
    if _is_float(x):
        return np.where(x.real > 0, x, np.zeros_like(x))
    return _map(_relu_entry, x)


def _relu_entry(entry: Any) -> Any:
    if isinstance(entry, _SERIES):
        return entry if _sign(entry) > 0 else 0 * entry
    return _larger(entry, arb(0) if isinstance(entry, arb) else fmpq(0))


# ---- functions of two entries -----------------------------------------------


def maximum(x: Array, y: Array) -> Array:
    """The larger of two arrays, entry by entry (broadcast)."""
    if _is_float(x) and _is_float(y):
        return (
            np.where(np.real(x) >= np.real(y), x, y) if np.iscomplexobj(x) or np.iscomplexobj(y) else np.maximum(x, y)
        )
    return _map(_larger, x, y)


def minimum(x: Array, y: Array) -> Array:
    """The smaller of two arrays, entry by entry (broadcast)."""
    return -maximum(-x, -y)


def _larger(first: Any, second: Any) -> Any:
    if isinstance(first, _SERIES) or isinstance(second, _SERIES):
        difference = first - second
        return first if difference == 0 or _sign(difference) > 0 else second
    if isinstance(first, arb) or isinstance(second, arb):
        return arb(first).max(arb(second))
    if is_expression(first) or is_expression(second):
        first, second = SYMBOLIC.array([first, second])
        return _sympy().Max(first, second, evaluate=_is_small(first) and _is_small(second))
    if isinstance(first, Unknown):
        return first.larger(second)
    if isinstance(second, Unknown):
        return second.larger(first)
    return max(first, second)


def where(condition: Array, x: Any, y: Any) -> Array:
    """Entries of x where the boolean array holds, of y elsewhere (broadcast; numbers become entries)."""
    like = x if isinstance(x, np.ndarray) else y
    if not _is_float(like):
        x, y = (z if isinstance(z, np.ndarray) else _single(constant(z, like)) for z in (x, y))
    return np.where(condition, x, y)


# ---- reductions, which keep their axis --------------------------------------


def total(x: Array, axis: int = -1) -> Array:
    """Sum along one axis, which stays with length 1."""
    return np.sum(x, axis=axis, keepdims=True)


def mean(x: Array, axis: int = -1) -> Array:
    """Mean along one axis, which stays with length 1."""
    return total(x, axis) / constant(x.shape[axis], x)


def amax(x: Array, axis: int = -1) -> Array:
    """Largest entry along one axis, which stays with length 1; of balls, the ball of the maximum."""
    if x.shape[axis] == 0:
        raise ShapeError(f"largest entry of an empty axis (shape {x.shape}, axis {axis})")
    if _is_float(x) and not np.iscomplexobj(x):
        return np.max(x, axis=axis, keepdims=True)
    parts = np.split(x, x.shape[axis], axis=axis)
    largest = parts[0]
    for part in parts[1:]:
        largest = maximum(largest, part)
    return largest


def amin(x: Array, axis: int = -1) -> Array:
    """Smallest entry along one axis, which stays with length 1."""
    return -amax(-x, axis)


def largest_entry(x: Array) -> Array:
    """Largest entry over the two trailing axes: (..., n, d) -> (..., 1, 1)."""
    return amax(amax(x, -1), -2)


def smallest_entry(x: Array) -> Array:
    """Smallest entry over the two trailing axes: (..., n, d) -> (..., 1, 1)."""
    return -largest_entry(-x)


def total_entry(x: Array) -> Array:
    """Sum over the two trailing axes: (..., n, d) -> (..., 1, 1)."""
    return total(total(x, -1), -2)


def descending(x: Array) -> Array:
    """The entries along the last axis in descending order (by comparing and exchanging, so balls may overlap)."""
    if _is_float(x) and not np.iscomplexobj(x):
        return -np.sort(-x, axis=-1)
    columns = np.split(x, x.shape[-1], axis=-1)
    for end in range(len(columns) - 1, 0, -1):
        for k in range(end):
            columns[k], columns[k + 1] = maximum(columns[k], columns[k + 1]), minimum(columns[k], columns[k + 1])
    return np.concatenate(columns, axis=-1)


# ---- derivatives ------------------------------------------------------------


def derivative(function: Callable[[Array], Array], x: Array, direction: Array) -> Array:
    """Directional derivative of `function` at x, without finite differences.

    Shapes: x and direction agree; the result has the shape of `function(x)`. Floats use the complex step (exact to
    rounding), balls and rationals a power series cut after its linear term (an enclosure, or exact), expressions the
    derivative of f(x + t direction) at t = 0. A direction across a kink raises `Undecided` for all but floats; unknowns
    raise `NotExpressible`.

    >>> derivative(lambda x: x**2, np.array([3.0]), np.array([1.0]))
    array([6.])
    """
    if x.shape != direction.shape:
        raise ShapeError(f"direction: expected the shape {x.shape} of x, got {direction.shape}")
    if np.iscomplexobj(x):
        raise DomainError(f"x: expected real entries, got dtype {x.dtype}")
    if _is_float(x):
        with _differentiating():
            return np.imag(function(x + 1j * _STEP * direction)) / _STEP
    if is_expression(x.flat[0]):
        with _differentiating():
            return _map(_slope, function(x + _time() * direction))
    if isinstance(x.flat[0], Unknown):
        raise NotExpressible("derivative")
    series = fmpq_series if isinstance(x.flat[0], fmpq) else arb_series
    before = ctx.cap
    ctx.cap = 2
    try:
        values = function(_map(lambda point, slope: series([point, slope]), x, direction))
        zero = fmpq(0) if series is fmpq_series else arb(0)
        return _map(lambda entry: entry[1] if isinstance(entry, _SERIES) else zero, values)
    except (ValueError, ZeroDivisionError) as failure:
        if isinstance(failure, ValueError) and "leading term" not in str(failure):
            raise
        raise Undecided(f"the derivative has no series at this precision: {failure}") from None
    finally:
        ctx.cap = before


@cache
def _time() -> Any:
    """The t of f(x + t direction)."""
    return _sympy().Dummy("t", real=True)


_derivative: ContextVar[bool] = ContextVar("derivative", default=False)


@contextmanager
def _differentiating() -> Iterator[None]:
    before = _derivative.set(True)
    try:
        yield
    finally:
        _derivative.reset(before)


def is_differentiating() -> bool:
    """Whether `derivative` runs: complex entries are then its step, and elsewhere a user's."""
    return _derivative.get()


def _slope(entry: Any) -> Any:
    sympy, t = _sympy(), _time()
    slope = sympy.sympify(entry).diff(t)
    if any(jump.args[0].subs(t, 0).is_zero for jump in slope.atoms(sympy.sign, sympy.Heaviside)):
        raise Undecided("derivative asked at a kink (absolute value, maximum or ReLU of equal values)")
    return slope.xreplace({t: sympy.S.Zero})


def frozen(x: Array) -> Array:
    """The values of x as constants: what is computed from them has no derivative (the shift inside a softmax)."""
    if _is_float(x):
        return x.real
    return _map(_value, x)


def _value(entry: Any) -> Any:
    if isinstance(entry, _SERIES):
        return entry[0]
    if _derivative.get() and is_expression(entry):
        return entry.xreplace({_time(): _sympy().S.Zero})
    return entry


def peak(x: Array) -> Array:
    """What to subtract in exp(x - peak(x)) so that floats stay in range: the largest entry of each row, as a constant.

    Of expressions it is 0: they have no range to stay in, and are simpler without.
    """
    if not _is_float(x) and is_expression(x.flat[0]):
        return zeros((1, 1), x)
    return amax(frozen(x))


def jacobian(function: Callable[[Array], Array], x: Array) -> Array:
    """Jacobian of a map of row vectors, in the row convention: (..., 1, d) -> (..., d, e) with df = dx @ J.

    Entry (i, j) is the derivative of output j with respect to input i, taken by `derivative`.
    """
    size = x.shape[-1]
    rows = []
    for i in range(size):
        direction = np.broadcast_to(eye(size, x)[i : i + 1], x.shape)
        rows.append(derivative(function, x, direction))
    return np.concatenate(rows, axis=-2)
