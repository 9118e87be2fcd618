"""The sizes at which a claim's domains have members."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from resstream.domains.base import Domain
from resstream.errors import DomainError

TRIED = 12
"""Sizes of a range that are looked at from its low end; of a longer one, as many again from its high end."""


def inhabited(over: Mapping[str, Domain], ranges: Mapping[str, range]) -> tuple[dict[str, range], tuple[str, ...]]:
    """The ranges without the sizes at which some domain has no member, and a note on each that was left out.

    DomainError where nothing is left of a range, where sizes in its midst drop out, or where it takes two sizes
    together to leave a domain empty, so that no range can say it.
    """
    notes = []
    left = {name: list(values) for name, values in ranges.items()}
    for domain in over.values():
        names = sorted(domain.size_names())
        tried = {name: _few(left[name]) for name in names}
        empty = {
            sizes: reason
            for sizes in itertools.product(*tried.values())
            if (reason := domain.excluded(dict(zip(names, sizes, strict=True))))
        }
        for place, name in enumerate(names):
            for value in tried[name]:
                alike = [sizes for sizes in itertools.product(*tried.values()) if sizes[place] == value]
                if alike and all(sizes in empty for sizes in alike):
                    left[name].remove(value)
                    notes.append(f"{name} = {value} is left out: {domain} has no members there ({empty[alike[0]]})")
        if names and not all(left[name] for name in names):
            raise DomainError(f"{domain} has no members at any of its sizes ({next(iter(empty.values()))})")
        for sizes, reason in empty.items():
            if all(value in left[name] for name, value in zip(names, sizes, strict=True)):
                at = ", ".join(f"{name} = {value}" for name, value in zip(names, sizes, strict=True))
                raise DomainError(
                    f"{domain} has no members at {at} ({reason}): expected ranges of sizes without such a pair"
                )
    return {name: _range(name, left[name]) for name in ranges}, tuple(dict.fromkeys(notes))


def _few(values: list[int]) -> list[int]:
    return values if len(values) <= 2 * TRIED else [*values[:TRIED], *values[-TRIED:]]


def _range(name: str, values: list[int]) -> range:
    """A range of those values."""
    step = values[1] - values[0] if len(values) > 1 else 1
    found = range(values[0], values[-1] + (1 if step > 0 else -1), step)
    if list(found) != values:
        raise DomainError(f"size {name}: what is left of its range, {values[:8]}, is no range: expected sizes= for it")
    return found
