"""The members of domains as Hypothesis strategies: for those who have code to test, and no theorem.

    @given(A=strategies.row_stochastic(n=range(1, 7)), X=strategies.matrix(n=4, d=3, dtype="float32"))

There is a function for every domain, named as it is in lower case: `RowStochastic` is `row_stochastic`. It takes what
the domain takes, and sizes by any name, in the domain's order: a whole number, a range, or a strategy (1 to 6 where a
size is not given). A member is drawn by its raw arrays, of small whole and dyadic numbers, and shrinks to the simplest.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from resstream.arithmetic import FLOAT64, RATIONAL, Array, to_fraction
from resstream.claim import DEFAULT_RANGE
from resstream.domains import Domain, Options, Parts, Sizes, require_domain
from resstream.errors import DomainError
from resstream.falsify.engines import part_values
from resstream.falsify.objects import arrays_in, with_arrays
from resstream.falsify.written_domains import domain_makers

_SIZES = ("Size", "Size | None")


def members(
    domain: Domain,
    sizes: Mapping[str, int | range | st.SearchStrategy[int]] | None = None,
    *,
    elements: st.SearchStrategy[Any] | None = None,
    dtype: Any = np.float64,
) -> st.SearchStrategy[Any]:
    """Members of a domain: arrays with two trailing axes, lists, tuples and dataclasses of such, norms.

    sizes: by the domain's size names, as above. elements: a strategy for the raw entries, which are brought into the
    range that the domain has for them. dtype: of the arrays, a float dtype of NumPy by name or itself, or a strategy of
    such; the member is computed in float64 and rounded to it. `Fraction`: the exact member, as object arrays. Raises
    DomainError for what is none of these and where the domain has no member; NotExact, when it is drawn, for a member
    that is irrational and asked for exactly.

    >>> from hypothesis import find
    >>> from resstream.domains import RowStochastic
    >>> find(members(RowStochastic("n"), {"n": 2}), lambda A: bool(A[0, 0] != A[1, 0])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    require_domain("members: domain", domain)
    names = sorted(domain.size_names())
    for name in sizes or {}:
        if name not in names:
            raise DomainError(f"members: sizes: {domain} has no size {name!r:.40}, expected some of {names}")
    chosen = {name: (sizes or {}).get(name, DEFAULT_RANGE) for name in names}
    drawn = {name: _size(name, size) for name, size in chosen.items()}
    fixed = {name: size for name, size in chosen.items() if isinstance(size, int)}
    if len(fixed) == len(names) and domain.excluded(fixed):
        raise DomainError(f"members: {domain} has no members at {fixed}: {domain.excluded(fixed)}")
    dtypes = dtype if isinstance(dtype, st.SearchStrategy) else st.just(_dtype(dtype))

    @st.composite
    def member(draw: st.DrawFn) -> Any:
        at = {name: draw(size) for name, size in drawn.items()}
        assume(not domain.excluded(at))
        options = {name: draw(st.sampled_from(values)) for name, values in domain.options().items()}
        raw = {name: draw(_raw(part, elements)) for name, part in domain.parts(at, options).items()}
        return _built(domain, raw, options, at, _dtype(draw(dtypes)))

    return member()


def _size(name: str, size: Any) -> st.SearchStrategy[int]:
    if isinstance(size, st.SearchStrategy):
        return size
    if isinstance(size, range) and len(size):
        return st.sampled_from(list(size))
    if type(size) is int and size >= 0:
        return st.just(size)
    raise DomainError(f"members: size {name}: expected a whole number, a range or a strategy, got {size!r:.40}")


def _dtype(dtype: Any) -> Any:
    if dtype is Fraction:
        return Fraction
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.kind != "f":
        raise DomainError(f"members: dtype: expected a float dtype or Fraction, got {dtype!r:.40}")
    return found


def _raw(part: Any, elements: st.SearchStrategy[Any] | None) -> st.SearchStrategy[Array]:
    if elements is None:
        return part_values(part, st.integers)
    flat = st.lists(elements, min_size=part.entries, max_size=part.entries)
    return flat.map(lambda entries: part.settle(np.array([float(x) for x in entries]).reshape(part.shape)))


def _built(domain: Domain, raw: Parts, options: Options, sizes: Sizes, dtype: Any) -> Any:
    """The object of raw arrays, with arrays of a dtype."""
    system = RATIONAL if dtype is Fraction else FLOAT64
    with system.working():
        value = domain.build({name: system.array(x) for name, x in raw.items()}, options, sizes)
    return with_arrays(value, {path: _as(x, dtype) for path, x in arrays_in(value).items()})


def _as(array: Array, dtype: Any) -> Array:
    if array.dtype == bool:
        return array.copy()
    return _fractions(array) if dtype is Fraction else array.astype(dtype)


def _fractions(array: Array) -> Array:
    out = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        out[index] = to_fraction(getattr(entry, "value", entry))
    return out


def __getattr__(name: str) -> Callable[..., st.SearchStrategy[Any]]:
    if name not in _MAKERS:
        raise AttributeError(f"module 'resstream.strategies' has no attribute {name!r}")
    return _function(name, _MAKERS[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_MAKERS})


_MAKERS = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): maker for name, maker in domain_makers().items()}


def _function(name: str, maker: Callable[..., Domain]) -> Callable[..., st.SearchStrategy[Any]]:
    """The strategy of one kind of domain, as a function of the domain's arguments and of sizes by any name."""
    parameters = inspect.signature(maker).parameters
    size_names = [one.name for one in parameters.values() if str(one.annotation) in _SIZES]
    required = [one for one in size_names if parameters[one].default is inspect.Parameter.empty]

    def strategy(
        *arguments: Any, elements: st.SearchStrategy[Any] | None = None, dtype: Any = np.float64, **named: Any
    ) -> st.SearchStrategy[Any]:
        if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters.values()):
            return members(maker(*arguments), named, elements=elements, dtype=dtype)
        given = dict(zip(parameters, arguments, strict=False)) | {k: v for k, v in named.items() if k in parameters}
        free = {k: v for k, v in named.items() if k not in parameters}
        places = [one for one in required if one not in given]
        places += [one for one in size_names if one not in given and one not in places]
        if len(arguments) > len(parameters) or len(free) > len(places):
            raise DomainError(f"{name}: expected the arguments {', '.join(parameters)}, got {[*arguments, *named]}")
        sizes: dict[str, Any] = dict(free)
        given |= dict(zip(places, free, strict=False)) | {one: one for one in places[len(free) :] if one in required}
        for one in size_names:
            if isinstance(given.get(one), range | st.SearchStrategy):
                sizes[one], given[one] = given[one], one
        try:
            domain = maker(**given)
        except TypeError as failure:
            raise DomainError(f"{name}: {failure}") from None
        return members(domain, sizes, elements=elements, dtype=dtype)

    strategy.__name__ = strategy.__qualname__ = name
    strategy.__doc__ = f"Members of `{getattr(maker, '__name__', name)}`: {(maker.__doc__ or '').strip()}"
    return strategy


__all__ = ["members"]
