"""The sizes of the instance that is being evaluated, for formulas that speak of them: sqrt(d), n - 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Exact, constant, is_screening, leading, one_entry
from resstream.arithmetic.rationals import exact_value
from resstream.domains.base import Sizes
from resstream.errors import ClaimError

_current: ContextVar[tuple[Sizes, Any] | None] = ContextVar("sizes", default=None)


class Objects(dict[str, Any]):
    """The objects of a claim's variables by name, with the sizes that they are of."""

    def __init__(self, objects: Mapping[str, Any], sizes: Sizes) -> None:
        super().__init__(objects)
        self.sizes = sizes


@contextmanager
def evaluating(objects: Mapping[str, Any]) -> Iterator[None]:
    """Where `size` gives the sizes of these objects, in their number system; of plain ones, what it gave before."""
    if not isinstance(objects, Objects):
        yield
        return
    before = _current.set((objects.sizes, objects))
    try:
        yield
    finally:
        _current.reset(before)


def size(name: str) -> Any:
    """A size of the claim as an exact number (1, 1) in the number system of its objects: `sqrt(size("d"))`.

    ClaimError for a name that is no size of the claim, and outside of a claim's functions.

    >>> from resstream.arithmetic import sqrt
    >>> from resstream.claim import claim
    >>> from resstream.domains import Vector
    >>> from resstream.falsify import falsify
    >>> from resstream.reference import L1, row_norms
    >>> from resstream.relations import at_most
    >>> @claim("mine.l1", over={"x": Vector("d")})
    ... def l1_and_l2(x):
    ...     return at_most(row_norms(x, L1), sqrt(size("d")) * row_norms(x))
    >>> falsify(l1_and_l2, budget=500).status
    'survived'
    """
    sizes = sizes_now(f"size({name!r})")
    if name not in sizes:
        raise ClaimError(f"size({name!r}): expected one of {', '.join(sorted(sizes)) or 'no size'}")
    like = leading_now()
    if like is None:  # there is no array: a literal meets any number system
        return Exact(Fraction(sizes[name]))
    number = constant(sizes[name], like)
    return one_entry(number)[None, None] if like.dtype == object else np.array([[number]])


def leading_now() -> Any | None:
    """An array among the objects that are being evaluated, whose number system is theirs; None where there is none."""
    current = _current.get()
    return None if current is None else next(_arrays(list(current[1].values())), None)


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays inside an object."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            yield from _arrays(vars(value).get(entry.name))


def sizes_now(what: str) -> Sizes:
    """The sizes of the instance that is being evaluated; ClaimError where there is none."""
    current = _current.get()
    if current is None:
        raise ClaimError(f"{what}: no instance is being evaluated; expected a call in a claim's own function")
    return current[0]


def objects_now() -> Any:
    """The objects that are being evaluated, with their sizes; None where there are none."""
    current = _current.get()
    return None if current is None else current[1]


def read_now(value: Any) -> Any:
    """An object of rational entries, read into the number system of the instance that is being evaluated."""
    like = leading_now()
    if isinstance(value, (list, tuple)):
        return type(value)(map(read_now, value))
    if not isinstance(value, np.ndarray):
        return value
    if like is None:
        return FLOAT64.array(value) if is_screening() else value
    if like.dtype != object:
        return FLOAT64.array(value)
    first = leading(like)
    out = np.empty(value.shape, dtype=object)
    for index, entry in np.ndenumerate(value):
        out[index] = constant(exact_value(entry), first)
    return out


__all__ = ["Objects", "evaluating", "leading_now", "objects_now", "read_now", "size", "sizes_now"]
