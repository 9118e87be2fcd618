"""The gate: what every public function of the reference asks of its arguments, with messages that name them.

Arrays are plain NumPy arrays of float16, float32 or float64, or object arrays of balls, rationals, series, expressions
or unknowns. Half and single precision are read as the float64 numbers that they are, so that results carry the rounding
of float64 alone. Everything else (masks, matrices, complex or integer entries, objects of another kind) is refused.

Kinds and shapes are always looked at. Values (finite entries, rows that sum to one, a constant vector) are looked at
too, except for floats inside `FLOAT64.working()`, where a search runs: one bad instance among thousands must not end
the batch, and shows as NaN in its own result instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import wraps
from numbers import Real
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import (
    Array,
    BallEntry,
    Entry,
    Exact,
    NoValue,
    RationalEntry,
    as_entry,
    frozen,
    is_differentiating,
    is_expression,
    is_screening,
    total,
)
from resstream.errors import DomainError, ShapeError, Undecided
from resstream.foreign import furthest_sum

CEILING = Fraction(1, 1000)
"""What a row sum may be away from one, and an entry below zero, at most, however coarse the dtype and wide the row.

Less than what is let in where objects are given to a claim (`resstream.foreign.FURTHEST_SUM`): there rows are divided
by their sums and the distance is reported, here one goes on with the rows as they are, and three digits are to stand.
"""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_NUMBERS = (arb, fmpq)
"""Numbers of FLINT as they are, which become entries at the gate."""
_KINDS = "float, ball or rational entries"


def in_range(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function of floats raise DomainError where float64 cannot hold its result, in place of inf and NaN."""

    @wraps(function)
    def guarded(*arguments: P.args, **named: P.kwargs) -> R:
        if is_screening():
            return function(*arguments, **named)
        try:
            with np.errstate(over="raise", divide="ignore", invalid="ignore", under="ignore"):
                result = function(*arguments, **named)
        except FloatingPointError as failure:
            _beyond(function, str(failure))
        if not _is_finite(result):
            _beyond(function, "the result is not finite")
        return result

    return guarded


def _beyond(function: Callable[..., Any], failure: str) -> NoReturn:
    raise DomainError(
        f"{function.__qualname__}: {failure}: these arguments are beyond the range of float64; scale them"
    ) from None


def _is_finite(result: Any) -> bool:
    if isinstance(result, np.ndarray):
        return result.dtype.kind not in "fc" or bool(np.isfinite(result).all())
    return not isinstance(result, (list, tuple)) or all(_is_finite(part) for part in result)


def values_matter(x: Array) -> bool:
    """Whether the values of x are to be checked: balls and rationals always, floats unless a search screens a batch.

    Expressions have no values.
    """
    if x.dtype == object:
        return x.size > 0 and not is_expression(x.flat[0])
    return not is_screening()


def refuse_where(bad: Array, message: str) -> None:
    """Raise DomainError if the boolean array holds anywhere; `{at}` in the message becomes the first such index."""
    if bad.any():
        raise DomainError(message.format(at=_index(bad)))


def _index(bad: Array) -> str:
    return "[" + ", ".join(str(int(i)) for i in np.argwhere(bad)[0]) + "]"


def number_of_each(X: Array, function: Callable[[Array], Any]) -> Array:
    """A number of every exact matrix of a batch, (..., n, d) -> (..., 1, 1); an entry without a value raises why."""
    found = np.empty((*X.shape[:-2], 1, 1), dtype=object)
    for index in np.ndindex(X.shape[:-2]):
        for entry in X[index].flat:
            if isinstance(entry, NoValue):
                entry.demand()
        found[(*index, 0, 0)] = function(X[index])
    return found


# ---- arrays -----------------------------------------------------------------


def require_entries(name: str, x: Any, axes: str = "") -> Array:
    """A plain array of the entries of a number system, floats as float64; anything else is refused. Values are not
    looked at.
    """
    if not isinstance(x, np.ndarray):
        raise ShapeError(f"{name}: expected a NumPy array{axes}, got {type(x).__name__}")
    foreign = (np.ma.MaskedArray, np.matrix, np.recarray)
    if isinstance(x, foreign) or not (x.dtype == object or type(x) in (np.ndarray, np.memmap)):
        raise DomainError(f"{name}: expected a plain NumPy array{axes}, got {type(x).__name__}; see numpy.asarray")
    if x.dtype == object:
        return _require_one_kind(name, x)
    if x.dtype.kind == "c":
        if is_differentiating() and x.dtype == np.complex128:
            return x
        raise DomainError(f"{name}: expected real entries, got dtype {x.dtype}; see .real, if that is what is meant")
    if x.dtype.kind != "f" or x.dtype.itemsize > 8:
        raise DomainError(f"{name}: expected {_KINDS}, got dtype {x.dtype}; see FLOAT64.array")
    return np.asarray(x).astype(np.float64, copy=False)


def require_like(name: str, x: Any) -> Array:
    """An array that says which number system is asked for: of any shape, but with an entry."""
    x = require_entries(name, x)
    if x.size == 0:
        raise ShapeError(f"{name}: expected at least one entry, got shape {x.shape}")
    return x


def _require_one_kind(name: str, x: Array) -> Array:
    kinds = set(map(type, x.ravel().tolist()))
    if all(issubclass(kind, Entry) for kind in kinds):
        return x
    exact = any(issubclass(kind, Entry) or _is_expression_type(kind) for kind in kinds)
    for kind in kinds:
        if issubclass(kind, (Entry, *_NUMBERS)) or _is_expression_type(kind) or (exact and kind is int):
            continue
        at = next(index for index, entry in np.ndenumerate(x) if type(entry) is kind)
        raise DomainError(
            f"{name}: expected {_KINDS}, got {kind.__name__} at {list(at)} of an object array; "
            "see FLOAT64.array and RATIONAL.array"
        )
    like = next((entry for entry in x.flat if isinstance(entry, Entry)), None)
    entries: Array = np.frompyfunc(lambda entry: as_entry(entry, like), 1, 1)(x)
    return entries


def _is_expression_type(kind: type) -> bool:
    sympy = sys.modules.get("sympy")
    if sympy is None or not issubclass(kind, sympy.Expr):
        return False
    infinite = (sympy.S.NaN, sympy.oo, -sympy.oo, sympy.zoo)
    return kind not in [type(entry) for entry in infinite]


def require_finite(name: str, x: Array) -> None:
    """Refuse NaN and infinite entries; a ball without bounds raises Undecided, since more precision may bound it."""
    if not values_matter(x):
        return
    if x.dtype != object:
        if not np.isfinite(x).all():
            bad = ~np.isfinite(x)
            raise DomainError(f"{name}: expected finite entries, got {x[bad][0]} at {_index(bad)}")
    elif not all(entry.value.is_finite() for entry in x.ravel().tolist() if type(entry) is BallEntry):
        index = next(i for i, e in np.ndenumerate(x) if isinstance(e, BallEntry) and not e.value.is_finite())
        raise Undecided(f"{name}: the ball at {list(index)} has no finite bounds")


def require_matrix(name: str, x: Any) -> Array:
    """A non-empty, finite array (..., rows, columns) of float or exact entries; floats come back as float64."""
    x = require_entries(name, x, " (..., rows, columns)")
    if x.ndim < 2:
        raise ShapeError(f"{name}: expected two axes or more (..., rows, columns), got shape {x.shape}")
    if x.size == 0:
        raise ShapeError(f"{name}: expected at least one entry, got shape {x.shape}")
    require_finite(name, x)
    return x


def require_square(name: str, x: Any) -> Array:
    """A matrix with as many rows as columns."""
    x = require_matrix(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: expected as many rows as columns, got shape {x.shape}")
    return x


def require_width(name: str, x: Any, width: int, of: str) -> Array:
    """A matrix with `width` columns, which is a size `of` another argument."""
    x = require_matrix(name, x)
    if x.shape[-1] != width:
        raise ShapeError(f"{name}: expected {width} columns, as {of}, got shape {x.shape}")
    return x


def require_rows(name: str, x: Any, rows: int, of: str) -> Array:
    """A matrix with `rows` rows, which is a size `of` another argument."""
    x = require_matrix(name, x)
    if x.shape[-2] != rows:
        raise ShapeError(f"{name}: expected {rows} rows, as {of}, got shape {x.shape}")
    return x


def require_row(name: str, x: Any, width: int, of: str) -> Array:
    """One row (..., 1, width), whose width is a size `of` another argument."""
    x = require_width(name, x, width, of)
    if x.shape[-2] != 1:
        raise ShapeError(f"{name}: expected one row (..., 1, {width}), got shape {x.shape}")
    return x


def require_entry(name: str, x: Any) -> Array:
    """One number for each instance: (..., 1, 1)."""
    x = require_matrix(name, x)
    if x.shape[-2:] != (1, 1):
        raise ShapeError(f"{name}: expected one entry (..., 1, 1), got shape {x.shape}")
    return x


def require_shape(name: str, x: Any, shape: tuple[int, ...]) -> Array:
    """A matrix whose trailing axes are of the shape given."""
    x = require_matrix(name, x)
    if x.shape[-len(shape) :] != shape:
        raise ShapeError(f"{name}: expected the shape (..., {', '.join(map(str, shape))}), got {x.shape}")
    return x


def keep(holder: object, arrays: Mapping[str, Array]) -> None:
    """Have a frozen dataclass hold its arrays as the gate gave them back."""
    for name, array in arrays.items():
        object.__setattr__(holder, name, array)


def require_batch(**arguments: Array | None) -> None:
    """Refuse leading axes that do not broadcast, and floats beside exact entries; None is no argument."""
    arrays = {name: x for name, x in arguments.items() if x is not None}
    try:
        np.broadcast_shapes(*(x.shape[:-2] for x in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise ShapeError(f"the leading axes do not broadcast: {shapes}") from None
    floats = [name for name, x in arrays.items() if x.dtype != object]
    if floats and len(floats) < len(arrays):
        exact = [name for name in arrays if name not in floats]
        raise DomainError(
            f"{', '.join(floats)}: expected entries of the number system of {', '.join(exact)}, got floats"
        )


def require_row_stochastic(name: str, A: Any) -> Array:
    """A matrix (..., n, m) whose rows are probability vectors.

    Floats: each row sum within 16 m eps of one and each entry above -m eps, with eps of the dtype that is given, and
    neither further away than 1e-3. Balls: each sum holds one and no entry is certainly negative. Rationals: exactly.
    """
    given, A = A, require_matrix(name, A)
    if not values_matter(A):
        return A
    if A.dtype == object:
        _require_exact_rows(name, A)
        return A
    values = frozen(A)
    sums = total(values)
    epsilon = float(np.finfo(given.dtype).eps)
    slack = float(furthest_sum(epsilon, A.shape[-1], CEILING))
    low = min(A.shape[-1] * epsilon, float(CEILING))
    if (values < -low).any():
        _refuse_entry(name, values, values < -low, f"below {-low:.3g}")
    off = np.abs(sums - 1) > slack
    if off.any():
        near = "; dividing every row by its sum would do" if np.abs(sums - 1).max() < 0.01 else ""
        _refuse_sum(name, sums, off, f" within {slack:.3g}{near}")
    return A


def _require_exact_rows(name: str, A: Array) -> None:
    sums = total(A)
    negative = certainly(A, lambda entry: entry < 0)
    if negative.any():
        _refuse_entry(name, A, negative, "below 0")
    off = certainly(sums, lambda entry: entry != 1)
    if off.any():
        _refuse_sum(name, sums, off, "")


def _refuse_entry(name: str, A: Array, bad: Array, why: str) -> NoReturn:
    at = tuple(np.argwhere(bad)[0])
    raise DomainError(f"{name}: expected a row-stochastic matrix, but the entry at {_index(bad)} is {A[at]}, {why}")


def _refuse_sum(name: str, sums: Array, off: Array, within: str) -> NoReturn:
    at = tuple(np.argwhere(off)[0])
    raise DomainError(
        f"{name}: expected a row-stochastic matrix, but row {_index(off[..., 0])} sums to {sums[at]}, "
        f"which is not 1{within}"
    )


def require_causal(name: str, A: Any) -> Array:
    """A square row-stochastic matrix (..., n, n) with exact zeros above the diagonal."""
    A = require_row_stochastic(name, A)
    require_square(name, A)
    if values_matter(A):
        ahead = certainly(A, lambda entry: (entry < 0) | (entry > 0)) & ~np.tri(A.shape[-1], dtype=bool)
        refuse_where(ahead, f"{name}: expected a causal pattern, but the entry at {{at}}, above the diagonal, is not 0")
    return A


def certainly(x: Array, condition: Callable[[Any], Any]) -> Array:
    """Where a condition holds: of floats, of rationals, and certainly of balls. Slopes and unknowns are let through."""
    if x.dtype != object:
        return condition(frozen(x))
    return np.reshape(
        [isinstance(entry, (BallEntry, RationalEntry)) and _is_certain(condition, entry) for entry in x.flat], x.shape
    )


def _is_certain(condition: Callable[[Any], Any], entry: Entry) -> bool:
    try:
        return bool(condition(entry))
    except Undecided:
        return False


# ---- what is no array -------------------------------------------------------


def require_whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number from least to most; truth values are none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise DomainError(f"{name}: expected a whole number, got {type(value).__name__}")
    if not least <= value <= most:
        bound = f"at least {least}" if value < least else f"at most {most}"
        raise DomainError(f"{name}: expected a whole number of {bound}, got {_shown(value)}")
    return int(value)


def _shown(number: Any) -> str:
    """A number as text, but not one of thousands of digits."""
    return f"one of {number.bit_length()} bits" if isinstance(number, int) and abs(number) > 10**20 else str(number)


def require_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(map(repr, sorted(choices)))
        raise DomainError(f"{name}: expected one of {expected}, got {str(value)[:40]!r}")
    return value


def require_tokens(tokens: Any, symbols: int) -> Array:
    """Tokens (..., n): whole numbers from 0 to symbols - 1, at least one."""
    if isinstance(tokens, np.ma.MaskedArray):
        raise DomainError("tokens: expected a plain array, got a masked one")
    try:
        tokens = np.asarray(tokens)
    except ValueError:
        raise ShapeError("tokens: expected integers (..., n), got lists of different lengths") from None
    if tokens.dtype.kind not in "iu":
        raise DomainError(f"tokens: expected integers, got dtype {tokens.dtype}")
    if tokens.ndim == 0 or tokens.size == 0:
        raise DomainError(f"tokens: expected integers (..., n), at least one, got shape {tokens.shape}")
    if not (tokens.min() >= 0 and tokens.max() < symbols):
        raise DomainError(f"tokens: expected 0..{symbols - 1}, got {tokens.min()}..{tokens.max()}")
    return tokens


def require_instance(name: str, value: Any, kind: type[T]) -> T:
    """An object of one of the reference's own classes."""
    if not isinstance(value, kind):
        raise DomainError(f"{name}: expected a {kind.__name__}, got {type(value).__name__}")
    return value


def require_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise DomainError(f"{name}: expected True or False, got {type(value).__name__}")
    return bool(value)


def require_callable(name: str, value: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise DomainError(f"{name}: expected a function of an array, got {type(value).__name__}")


def require_sequence(name: str, values: Any, what: str, *, least: int = 0) -> list[Any]:
    """A list or tuple of at least `least` elements, which are `what`."""
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        raise ShapeError(f"{name}: expected a list of {what}, got {type(values).__name__}")
    if len(values) < least:
        raise ShapeError(f"{name}: expected at least one {what.removesuffix('s')}, got none")
    return list(values)


def require_epsilon(name: str, value: Any, like: Array) -> Any:
    """What is added to a variance: a finite number, an exact literal, or an array (..., 1, 1); 0 or more."""
    if isinstance(value, (Entry, *_NUMBERS)) or is_expression(value):
        entry, value = value, np.empty((1, 1), dtype=object)
        value[0, 0] = entry
    if isinstance(value, np.ndarray):
        value = require_entry(name, value)
        require_batch(x=like, **{name: value})
        if values_matter(value):
            refuse_where(certainly(value, lambda entry: entry < 0), f"{name}: expected 0 or more, got less at {{at}}")
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, Exact)):
        raise DomainError(f"{name}: expected a number, exact(p, q) or an array (..., 1, 1), got {type(value).__name__}")
    number: Any = value.value if isinstance(value, Exact) else value
    if isinstance(number, np.floating):
        number = float(number)
    if not number >= 0:
        raise DomainError(f"{name}: expected 0 or more, got {_shown(number)}")
    if number > sys.float_info.max:
        raise DomainError(f"{name}: expected a number in the range of float64, got {_shown(number)}")
    if like.dtype != object:
        return float(number)
    if isinstance(number, Fraction) and number.denominator > 1:
        return Exact(number)
    if number != int(number):
        raise DomainError(f'{name}: expected an exact number beside exact entries, got {value}; see exact("{value}")')
    return int(number)
