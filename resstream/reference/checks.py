"""What the public functions of the reference ask of their arguments, with messages that name argument and place.

Shapes are always looked at. Values (finite entries, rows that sum to one, a constant vector) are looked at too, except
for floats under `np.errstate(invalid="ignore")`, which is where `FLOAT64.working()` puts a search: one bad instance
among thousands must not end the batch, and shows as NaN in its own result instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq

from resstream.arithmetic import Array, BallEntry, RationalEntry, is_expression, total
from resstream.arithmetic.entries import negated
from resstream.errors import DomainError, ShapeError, Undecided

ROUNDINGS = 16
"""How many roundings per entry a float row sum may be away from one: enough for a product of a dozen such matrices."""


def values_matter(x: Array) -> bool:
    """Whether the values of x are to be checked: balls and rationals always, floats unless the caller ignores NaN.

    Expressions have no values.
    """
    if x.dtype == object:
        return x.size > 0 and not is_expression(x.flat[0])
    return x.dtype.kind == "f" and np.geterr()["invalid"] != "ignore"


def refuse_where(bad: Array, message: str) -> None:
    """Raise DomainError if the boolean array holds anywhere; `{at}` in the message becomes the first such index."""
    if bad.any():
        raise DomainError(message.format(at=_index(bad)))


def _index(bad: Array) -> str:
    return "[" + ", ".join(str(int(i)) for i in np.argwhere(bad)[0]) + "]"


def require_finite(name: str, x: Array) -> None:
    """Refuse NaN and infinite entries; a ball without bounds raises Undecided, since more precision may bound it."""
    if not values_matter(x):
        return
    if x.dtype != object:
        if not np.isfinite(x).all():
            bad = ~np.isfinite(x)
            raise DomainError(f"{name}: expected finite entries, got {x[bad][0]} at {_index(bad)}")
        return
    for index, entry in np.ndenumerate(x):
        if isinstance(entry, BallEntry) and not entry.value.is_finite():
            raise Undecided(f"{name}: the ball at {list(index)} has no finite bounds")


def require_matrix(name: str, x: Any) -> None:
    """Refuse what is not a non-empty, finite array of float, complex or exact entries with two axes or more."""
    if not isinstance(x, np.ndarray):
        raise ShapeError(f"{name}: expected a NumPy array (..., rows, columns), got {type(x).__name__}")
    if x.dtype.kind not in "fcO":
        raise DomainError(f"{name}: expected float, ball or rational entries, got dtype {x.dtype}; see FLOAT64.array")
    if x.ndim < 2:
        raise ShapeError(f"{name}: expected two axes or more (..., rows, columns), got shape {x.shape}")
    if x.size == 0:
        raise ShapeError(f"{name}: expected at least one entry, got shape {x.shape}")
    require_finite(name, x)


def require_square(name: str, x: Any) -> None:
    """Refuse what is no matrix, or not a square one."""
    require_matrix(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: expected as many rows as columns, got shape {x.shape}")


def require_width(name: str, x: Any, width: int, of: str) -> None:
    """Refuse what is no matrix, or has not `width` columns, which is a size `of` another argument."""
    require_matrix(name, x)
    if x.shape[-1] != width:
        raise ShapeError(f"{name}: expected {width} columns, as {of}, got shape {x.shape}")


def require_rows(name: str, x: Any, rows: int, of: str) -> None:
    """Refuse what is no matrix, or has not `rows` rows, which is a size `of` another argument."""
    require_matrix(name, x)
    if x.shape[-2] != rows:
        raise ShapeError(f"{name}: expected {rows} rows, as {of}, got shape {x.shape}")


def require_batch(**arguments: Array) -> None:
    """Refuse arguments whose leading axes do not broadcast against each other."""
    try:
        np.broadcast_shapes(*(x.shape[:-2] for x in arguments.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arguments.items())
        raise ShapeError(f"the leading axes do not broadcast: {shapes}") from None


def require_row_stochastic(name: str, A: Any) -> None:
    """Refuse a matrix (..., n, m) whose rows are not probability vectors.

    Floats: each row sum within 16 m eps of one and each entry above -m eps, with eps of the array's own dtype. Balls:
    each sum holds one and no entry is certainly negative. Rationals: exactly.
    """
    require_matrix(name, A)
    if not values_matter(A):
        return
    sums = total(A)
    if A.dtype != object:
        slack = A.shape[-1] * float(np.finfo(A.dtype).eps)
        negative = A + slack < 0
        off = np.abs(sums - 1) > ROUNDINGS * slack
        below, within = f"below {-slack:.3g}", f" within {ROUNDINGS * slack:.3g}"
    else:
        negative = _where(A, lambda entry: entry.below(entry.of(fmpq(0))))
        off = _where(sums, lambda entry: negated(entry.same(entry.of(fmpq(1)))))
        below, within = "below 0", ""
    if negative.any():
        at = tuple(np.argwhere(negative)[0])
        raise DomainError(
            f"{name}: expected a row-stochastic matrix, but the entry at {_index(negative)} is {A[at]}, {below}"
        )
    if off.any():
        at = tuple(np.argwhere(off)[0])
        raise DomainError(
            f"{name}: expected a row-stochastic matrix, but row {_index(off[..., 0])} sums to {sums[at]}, "
            f"which is not 1{within}"
        )


def _where(x: Array, condition: Any) -> Array:
    """Where a three-valued condition on exact entries certainly holds; entries with a slope are let through."""
    return np.reshape(
        [isinstance(entry, (BallEntry, RationalEntry)) and condition(entry) is True for entry in x.flat], x.shape
    )
