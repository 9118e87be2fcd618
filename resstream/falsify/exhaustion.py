"""Every instance of a claim that has finitely many, one after the other: data as a domain, whole numbers, subsets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from resstream.claim import Batch, Claim, Instance
from resstream.falsify.corners import Shape, enumeration

MOST = 4096
"""Instances of a claim that may be gone through: each of them is judged exactly."""


def _shapes(claim: Claim) -> Iterator[Shape]:
    options = claim.option_values()
    for sizes in claim.size_choices():
        for values in itertools.product(*options.values()):
            yield sizes, dict(zip(options, values, strict=True))


def _count(claim: Claim, shape: Shape) -> int | None:
    """How many instances of a shape there are; None where there is no end of them."""
    parts = claim.parts(*shape).values()
    if any(part.kind != "whole" and part.entries for part in parts):
        return None
    return math.prod((part.high - part.low + 1) ** part.entries for part in parts)


def count(claim: Claim) -> int | None:
    """How many instances a claim has, of all its sizes; None where there is no end of them, or more than 4,096."""
    found = 0
    for shape in _shapes(claim):
        number = _count(claim, shape)
        if number is None or (found := found + number) > MOST:
            return None
    return found


def instances(claim: Claim, start: int, stop: int) -> Iterator[Instance]:
    """The instances of a claim of which `count` knows the number, from one place to another."""
    first = 0
    for shape in _shapes(claim):
        number = _count(claim, shape) or 0
        parts = claim.parts(*shape)
        values = [np.arange(part.low, part.high + 1.0).tolist() for part in parts.values() for _ in range(part.entries)]
        wanted = np.arange(max(start - first, 0), min(stop - first, number))
        batch = Batch(*shape, enumeration(parts, values, wanted), len(wanted))
        yield from map(batch.at, range(len(wanted)))
        first += number


__all__ = ["MOST", "count", "instances"]
