"""From a solver's model to an instance in exact raw numbers that may refute a claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from flint import fmpq

from resstream.arithmetic import RATIONAL, Ball
from resstream.arithmetic.literals import to_fraction
from resstream.claim import Claim, Instance
from resstream.domains import Options, Sizes
from resstream.errors import ArithmeticLimit, ResstreamError
from resstream.prove.statement import Statement, instance
from resstream.relations import HOLDS, VIOLATED

NEARBY = 24
"""How many points near a model are looked at."""


def candidate(
    claim: Claim, statement: Statement, model: Mapping[int, fmpq], sizes: Sizes, options: Options
) -> Instance | None:
    """An instance at a model or near it that seems to violate the claim; None where none does.

    Irrational values of a model are rounded, and a constraint may hold no longer there: so numbers nearby are tried.
    """
    for values in _nearby(model):
        raw = instance(statement, values, sizes, options)
        if raw is not None and _seems_violated(claim, raw):
            return raw
    return None


def _nearby(model: Mapping[int, fmpq]) -> Iterator[Mapping[int, fmpq]]:
    """The model; with smaller denominators; and moved a little, by seeded steps that shrink."""
    yield model
    for digits in (1, 2, 4, 8):
        yield {u: _rounded(value, 10**digits) for u, value in model.items()}
    rng = np.random.default_rng(0)
    for k in range(NEARBY):
        step = fmpq(1, 10 ** (2 + k // 3))
        moves = rng.integers(-2, 3, len(model))
        yield {u: value + step * int(move) for (u, value), move in zip(model.items(), moves, strict=True)}


def _rounded(value: fmpq, largest: int) -> fmpq:
    fraction = to_fraction(value).limit_denominator(largest)
    return fmpq(fraction.numerator, fraction.denominator)


def _seems_violated(claim: Claim, raw: Instance) -> bool:
    """Whether rationals or balls read it so. A certificate is another matter, and made elsewhere."""
    for system in (RATIONAL, Ball(256)):
        with system.working():
            try:
                if claim.assuming and claim.hypotheses(claim.build(raw, system)).decide(system).status != HOLDS:
                    return False
                return claim.conclude(claim.build(raw, system)).decide(system).status == VIOLATED
            except ArithmeticLimit:
                pass  # the next one may tell
            except (ResstreamError, ZeroDivisionError):
                return False
    return False


__all__ = ["candidate"]
