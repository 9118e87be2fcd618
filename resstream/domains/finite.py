"""All members of a finite domain, in exact numbers: its pieces, where they leave nothing unknown."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Array
from resstream.arithmetic.unknowns import Unknowns, cases
from resstream.domains.base import Domain, Sizes
from resstream.errors import DomainError, NotExpressible, Undecided

MOST = 256
"""Members of a domain that may be gone through."""


class _Endless(NotExpressible):
    """A domain has members without an end."""


class _Known(Unknowns):
    """A maker of objects of which nothing is unknown: each value in turn. A real number raises _Endless."""

    solves = True

    def real(self, shape: tuple[int, ...]) -> Array:
        raise _Endless("real numbers, of which there is no end")

    def nonnegative(self, shape: tuple[int, ...]) -> Array:
        return self.real(shape)

    def positive(self, shape: tuple[int, ...]) -> Array:
        return self.real(shape)

    def whole(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        return RATIONAL.array(np.array([self.among(range(low, high + 1)) for _ in np.ndindex(shape)]).reshape(shape))

    def one(self) -> Any:
        return RATIONAL.array([1])[0]

    def assume(self, entries: Array, kind: str) -> None:
        raise _Endless(f"members that are known by conditions ({kind} 0)")


def members(domain: Domain, sizes: Sizes) -> tuple[Any, ...]:
    """Every member of a finite domain at these sizes, in rational entries, each at least once.

    DomainError where the domain is not finite, or does not say so; Undecided where it has more than 256 members.
    """
    return _members(domain, tuple(sorted((name, sizes[name]) for name in domain.size_names() if name in sizes)))


@lru_cache(maxsize=256)
def _members(domain: Domain, sizes: tuple[tuple[str, int], ...]) -> tuple[Any, ...]:
    found = []
    try:
        for options in _options(domain):
            found += [domain.own_piece(_Known(case), dict(sizes), options).object for case in cases(MOST)]
    except _Endless as limit:
        raise DomainError(f"{domain}: expected a finite domain, got one with {limit}") from None
    except NotExpressible as limit:
        raise Undecided(f"{domain} is not gone through: {limit}") from None
    return tuple(found)


def _options(domain: Domain) -> list[Mapping[str, str]]:
    values = domain.options()
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


__all__ = ["MOST", "members"]
