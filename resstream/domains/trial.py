"""A domain on trial: what it builds lies in the set that it states, and a batch is its instances one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Array, Ball
from resstream.domains.base import Domain, Parts, Sizes
from resstream.errors import ArithmeticLimit, DomainError, Undecided

DRAWN = 6
"""Instances of a shape that are drawn; as many have small whole entries, and one has zeros."""

_tried: set[tuple[str, ...]] = set()


def foreign(domain: Domain) -> Iterator[Domain]:
    """A domain and those inside it, as far as they are not resstream's own."""
    for inner in domain.inner_domains():
        yield from foreign(inner)
    if not type(domain).__module__.startswith("resstream.domains"):
        yield domain


def require_its_set(domain: Domain, ranges: Mapping[str, range]) -> None:
    """Try a domain at the smallest, a middle and the largest sizes, once; DomainError where it is not its set.

    What does not say what it contains is tried for what a batch builds alone.
    """
    names = sorted(domain.size_names())
    for place in (0, 1, -1):
        sizes = {name: list(ranges[name])[min(place, len(ranges[name]) - 1)] for name in names}
        key = (type(domain).__module__, type(domain).__qualname__, str(domain), *map(str, sizes.items()))
        if key not in _tried:
            _require_at(domain, sizes)
            _tried.add(key)


def _require_at(domain: Domain, sizes: Sizes) -> None:
    at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    where = f"domain {domain}" + (f" at {at}" if at else "")
    rng = np.random.default_rng(0)
    try:
        names = domain.options()
        for choice in itertools.islice(itertools.product(*names.values()), 8):
            options = dict(zip(names, choice, strict=True))
            for raw in _raws(domain, sizes, options, rng):
                _require_member(domain, raw, options, sizes, where)
            _require_batch(domain, sizes, options, rng, where)
    except (DomainError, KeyboardInterrupt):
        raise
    except Exception as failure:  # whatever a domain's own functions raise
        raise DomainError(f"{where}: {type(failure).__name__}: {failure}") from failure


def _raws(domain: Domain, sizes: Sizes, options: Mapping[str, str], rng: np.random.Generator) -> Iterator[Parts]:
    parts = domain.parts(sizes, options)
    drawn = {name: part.draw(rng, DRAWN) for name, part in parts.items()}
    small = {name: part.settle(rng.integers(-2, 3, (DRAWN, *part.shape)).astype(float)) for name, part in parts.items()}
    zeros = {name: part.settle(np.zeros((1, *part.shape))) for name, part in parts.items()}
    for batch, count in ((zeros, 1), (small, DRAWN), (drawn, DRAWN)):
        for index in range(count):
            yield {name: values[index] for name, values in batch.items()}


def _require_member(domain: Domain, raw: Parts, options: Mapping[str, str], sizes: Sizes, where: str) -> None:
    for system in (RATIONAL, Ball(1024)):
        with system.working():
            try:
                value = domain.build({name: system.array(values) for name, values in raw.items()}, options, sizes)
                if domain.contains(value, sizes):
                    return
            except NotImplementedError:
                return
            except ArithmeticLimit:
                continue
        shown = "; ".join(f"{name or 'raw'} = {values.tolist()}" for name, values in raw.items())
        raise DomainError(
            f"{where} is not its set: {shown:.200} builds {_shown(value):.200}, which it does not contain"
        )


def _shown(value: Any) -> str:
    return str(value.tolist()) if isinstance(value, np.ndarray) else str(value)


def _require_batch(
    domain: Domain, sizes: Sizes, options: Mapping[str, str], rng: np.random.Generator, where: str
) -> None:
    drawn = {name: part.draw(rng, 3) for name, part in domain.parts(sizes, options).items()}
    for system in (RATIONAL, Ball(1024)):
        with system.working():
            arrays = {name: system.array(values) for name, values in drawn.items()}
            try:
                batch = domain.build(arrays, options, sizes)
                singles = [
                    domain.build({name: values[k] for name, values in arrays.items()}, options, sizes) for k in range(3)
                ]
            except ArithmeticLimit:
                continue
        if not isinstance(batch, np.ndarray):
            return
        for index, single in enumerate(singles):
            if single.ndim != 2:
                raise DomainError(
                    f"{where} builds an array of shape {single.shape}, expected two axes: a row is (1, d)"
                )
            of_batch = batch[index] if batch.ndim == 3 else batch
            if of_batch.shape != single.shape or _certainly_differ(of_batch, single):
                raise DomainError(f"{where} builds of a batch something else than of its instances one by one")
        return


def _certainly_differ(first: Array, second: Array) -> bool:
    """Whether two arrays of exact entries differ anywhere; enclosures that overlap do not tell that they do."""
    for one, other in zip(first.flat, second.flat, strict=True):
        try:
            if one != other:
                return True
        except Undecided:
            continue
    return False
