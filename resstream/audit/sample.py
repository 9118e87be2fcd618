"""What a random sample of a claim's instances looks like, and how far its float64 margins are from the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from flint import arb

from resstream.arithmetic import FLOAT64, Ball, BallEntry, Literal, to_float
from resstream.claim import Claim, Comparison, Instance
from resstream.falsify import engines
from resstream.falsify.search import NEAR

BATCHES = 32
BATCH = 128
BINS = 40
MEASURED = 64
"""Instances whose float64 margins are held against balls."""

PRECISION = 256
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Honesty:
    """Distance of float64 margins from their balls, in units in the last place of the larger side.

    against_zero counts the entries where both sides are zero and the float64 ones are not: no unit measures those.
    """

    entries: int
    median: float
    largest: float
    against_zero: int

    def __str__(self) -> str:
        if not self.entries:
            return "no entry could be compared"
        zeros = f"; {self.against_zero} rounded away from an exact zero" if self.against_zero else ""
        return (
            f"float64 margins are off by up to {self.largest:.3g} ulps of the larger side (median {self.median:.2f}, "
            f"{self.entries} entries){zeros}"
        )


@dataclass(frozen=True)
class Sample:
    """A random sample: the histogram of relative margins between -1 and 1, ties of two zeros apart."""

    instances: int
    discarded: int
    counts: tuple[int, ...]
    zeros: int
    honesty: Honesty


def sample(claim: Claim, seed: int = 0, left: Callable[[], float] = lambda: float("inf")) -> Sample:
    """Draw a sample of many shapes, within the seconds that are left."""
    rng = np.random.default_rng([seed, *claim.seed_words(), 3])
    counts = np.zeros(BINS, dtype=int)
    instances = discarded = zeros = 0
    distances: list[float] = []
    against_zero = 0
    for _ in range(BATCHES):
        if left() <= 0:
            break
        raw = engines.random_batch(claim, rng, BATCH)
        try:
            assessment = claim.assess(raw)
        except (ValueError, ArithmeticError):  # outside of where the claim can be evaluated in float64
            continue
        margin = assessment.conclusion
        instances += len(margin.scale)
        discarded += BATCH - len(margin.scale)
        zeros += int(np.count_nonzero(margin.scale == 0))
        relative = margin.relative[(margin.scale > 0) & np.isfinite(margin.relative)]
        relative = np.where(np.abs(relative) < NEAR, 0.0, relative)  # a float64 cannot tell these from equality
        counts += np.histogram(relative, bins=BINS, range=(-1, 1))[0]
        accepted = raw.take(np.flatnonzero(assessment.met))
        for index in range(min(accepted.count or 0, MEASURED // BATCHES)):
            for distance in _distances(claim, accepted.at(index)):
                if np.isfinite(distance):
                    distances.append(distance)
                else:
                    against_zero += 1
    honesty = Honesty(
        len(distances), float(np.median(distances or [0])), float(max(distances, default=0)), against_zero
    )
    return Sample(instances, discarded, tuple(int(c) for c in counts), zeros, honesty)


def _distances(claim: Claim, raw: Instance) -> Iterator[float]:
    """How far the float64 margin of every entry is from its ball, in ulps of the larger side; infinite against zero."""
    ball = Ball(PRECISION)
    try:
        with FLOAT64.working():
            floats = [pair for relation in claim.conclude(claim.build(raw)) for pair in _floats(relation)]
        with ball.working():
            objects = claim.build(raw, ball)
            balls = [pair for relation in claim.conclude(objects) for pair in relation.pairs(ball)]
    except (ValueError, ArithmeticError):
        return
    for (lhs, rhs), (true_lhs, true_rhs) in zip(floats, balls, strict=True):
        if not isinstance(true_lhs, BallEntry) or not isinstance(true_rhs, BallEntry):
            continue
        left, right = true_lhs.value, true_rhs.value
        with ball.working():
            error = abs((arb(rhs) - arb(lhs)) - (right - left))
            vanish = left.contains(0) and right.contains(0)
            unit = EPS * max(float(abs(left).mid()), float(abs(right).mid()))
        distance = float(error.mid())
        if not vanish and unit > 0:
            yield distance / unit
        elif lhs != 0 or rhs != 0:
            yield float("inf")


def _floats(relation: Comparison) -> Iterator[tuple[float, float]]:
    sides = (to_float(side) if isinstance(side, Literal) else side for side in (relation.lhs, relation.rhs))
    lhs, rhs = np.broadcast_arrays(*(np.asarray(side, dtype=float) for side in sides))
    yield from zip(lhs.flat, rhs.flat, strict=True)
