"""How sharp a bound is: the largest ratio of its sides, by the falsifier's climb, certified and shrunk.

For sides of one sign the ratio is (1 - m)/(1 + m) with m the relative margin (rhs - lhs)/(|lhs| + |rhs|), so what is
climbed is the margin; instances at which both sides vanish say nothing about a bound and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from resstream.arithmetic import Array, exact
from resstream.audit import restate
from resstream.audit.attack import searched
from resstream.claim import Batch, Claim, Instance, Margin
from resstream.falsify import climb, corners, engines, judge
from resstream.falsify.counterexample import Exhibit
from resstream.falsify.search import scores_of
from resstream.falsify.shrink import Shrinker

BUDGET = 16_384
"""Evaluations of a climb."""

APPROACHED = Fraction(1, 1000)
"""A bound whose largest ratio is within this of one, and is not seen to be one, is called approached."""

TIE = exact(1, 2**90)
"""Relative margin below which two sides are taken to be equal: their balls at 128 bits tell them apart beyond it."""

SHAPES = 48
"""Shapes that are looked at before the climb."""

CANDIDATES = 12
"""Instances of a climb that are judged."""

CHECKED = 4096
"""Evaluations of the search for 0 = 0."""

ATTAINED, AT_ZERO, NEARLY, LOOSE, UNKNOWN = "attained", "attained at zero", "approached", "loose", "unknown"


@dataclass(frozen=True)
class Sharpness:
    """How sharp one relation of a claim is.

    status: "attained" (lhs = rhs, not both zero), "attained at zero" (only 0 = 0 was seen), "approached" (in the
    directions given), "loose" or "unknown" (no instance could be judged). ratio is the largest certified ratio of the
    sides, at `extremal`; by_size holds the largest float64 ratio seen for every value of every size.
    """

    status: str
    ratio: float
    gap: float = 0.0
    """One minus the ratio, which may be too near to one to be told from it."""
    extremal: Exhibit | None = None
    directions: tuple[str, ...] = ()
    by_size: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    evaluations: int = 0
    relation: str = ""

    def __str__(self) -> str:
        if self.status == ATTAINED:
            return "attained: the sides are equal at an instance where they are not zero"
        if self.status == AT_ZERO:
            return "attained where both sides are zero; elsewhere one side is always zero"
        if self.status == NEARLY:
            way = f" as {' and '.join(self.directions)}" if self.directions else ""
            return f"approached{way}: the largest ratio of the sides found is 1 - {self.gap:.1g}"
        if self.status == LOOSE:
            factor = f"by a factor of about {1 / self.ratio:.3g}" if self.ratio > 0 else "by any factor"
            return f"loose {factor}: the largest ratio of the sides found is {self.ratio:.4g}"
        return "unknown: no instance could be judged"


def ratio_of(margin: Any) -> Any:
    """The ratio of two sides of one sign with this relative margin."""
    return (1 - margin) / (1 + margin)


def saying(margin: Margin) -> Array:
    """Relative margins, with NaN where both sides vanish or are far below what is usual in the batch."""
    finite = margin.scale[np.isfinite(margin.scale) & (margin.scale > 0)]
    usual = float(np.median(finite)) if len(finite) else 1.0
    return np.where(margin.scale > 1e-9 * usual, margin.relative, np.nan)


class _TimeIsUp(Exception):
    """No seconds are left for a climb."""


class _Record:
    """What a climb saw: the best instances of every shape, and the best of every size."""

    def __init__(self, claim: Claim, seed: int, left: Callable[[], float]) -> None:
        self.claim = claim
        self.seed = seed
        self.left = left
        self.evaluations = 0
        self.found: list[tuple[float, Instance]] = []
        self.by_size: dict[str, dict[int, float]] = {}

    def show(self, raw: Batch) -> Array:
        """Score a batch for the climb: the margin, where it says something."""
        if self.left() <= 0:
            raise _TimeIsUp
        scores = np.full(raw.count, 4.0)
        self.evaluations += raw.count
        try:
            assessment = self.claim.assess(raw)
        except (ArithmeticError, ValueError):  # a batch outside of where the claim can be evaluated is of no use here
            return scores
        margins = saying(assessment.conclusion)
        scores = scores_of(assessment)
        scores[assessment.met] = np.where(np.isnan(margins), 1.5, np.maximum(margins, 0))
        best = int(np.argmin(scores))
        if scores[best] < 1:
            self.found.append((float(scores[best]), raw.at(best)))
            for name, size in raw.sizes.items():
                values = self.by_size.setdefault(name, {})
                values[size] = max(values.get(size, 0.0), float(ratio_of(scores[best])))
        return scores

    def best(self) -> list[tuple[float, Instance]]:
        """The best instances, smallest shapes first among equals, no two of one shape and margin."""
        seen: dict[Any, tuple[float, Instance]] = {}
        ordered = sorted(self.found, key=lambda pair: (pair[0], sum(pair[1].sizes.values())))
        for margin, raw in ordered:
            seen.setdefault((margin, *raw.sizes.values(), *raw.options.values()), (margin, raw))
        return list(seen.values())[:CANDIDATES]


def sharpness(
    claim: Claim, seed: int = 0, budget: int = BUDGET, left: Callable[[], float] = lambda: float("inf")
) -> Sharpness:
    """How sharp a claim of a single inequality is; `left` gives the seconds that are left, at which it stops."""
    record = _Record(claim, seed, left)
    rng = np.random.default_rng([seed, *claim.seed_words(), 7])
    shapes = corners.shapes(claim)
    with suppress(_TimeIsUp):
        for number in range(SHAPES):
            record.show(corners.corner_batch(claim, shapes[number % len(shapes)], rng, budget // (4 * SHAPES)))
            record.show(engines.random_batch(claim, rng, budget // (4 * SHAPES)))
        climb.climb(claim, rng, budget - record.evaluations, record.show)
    judged = [
        (judgement.margin, raw, judgement) for _, raw in record.best() if (judgement := _judged(claim, raw)) is not None
    ]
    if not judged:
        return _without_ratio(claim, record)
    margin, raw, judgement = min(judged, key=lambda entry: (max(entry[0], 0), sum(entry[1].sizes.values())))
    extremal = _simplified(claim, margin, raw, left) or Exhibit(claim, raw, judgement, seed, "climb")
    attained = is_attained(extremal)
    margin = max(extremal.judgement.margin, 0.0)
    status = ATTAINED if attained else NEARLY if ratio_of(margin) > 1 - APPROACHED else LOOSE
    directions = () if status != NEARLY else tuple(_directions(claim, extremal.raw, record))
    ratio = 1.0 if attained else float(ratio_of(margin))
    gap = 0.0 if attained else 2 * margin / (1 + margin)
    return Sharpness(status, ratio, gap, extremal, directions, record.by_size, record.evaluations)


def is_attained(extremal: Exhibit) -> bool:
    """Whether the sides are equal at an instance (to 2^-100 of their size, where they are irrational)."""
    judgement = extremal.judgement
    return judgement.outcome == judge.TIED or judgement.margin == 0


def _judged(claim: Claim, raw: Instance) -> judge.Judgement | None:
    """What an instance is, if its sides say something there and it is no counterexample."""
    try:
        if judge.judge(restate.with_margin(claim, exact(1, 1)), raw).outcome != judge.VIOLATED:
            return None
        judgement = judge.judge(claim, raw)
    except (ValueError, ArithmeticError):
        return None
    return judgement if judgement.outcome in (judge.HOLDS, judge.TIED) else None


def _without_ratio(claim: Claim, record: _Record) -> Sharpness:
    """Where one side is always zero, equality can only be 0 = 0."""
    strictly = searched(restate.strict(claim), CHECKED, record.seed)
    status = AT_ZERO if strictly.status == "refuted" else UNKNOWN if strictly.status == "error" else LOOSE
    return Sharpness(status, 0.0, by_size=record.by_size, evaluations=record.evaluations)


def _simplified(claim: Claim, margin: float, raw: Instance, left: Callable[[], float]) -> Exhibit | None:
    """The extremal instance rounded to simple numbers, as far as the ratio survives it."""

    def better(_: Instance) -> None:
        if left() <= 0:
            raise _TimeIsUp

    tolerances = [TIE, exact(1, 10**9)] if margin < 1e-9 else []
    for tolerance in (*tolerances, exact(Fraction(min(1.01 * margin + 1e-9, 1.0)).limit_denominator(10**12))):
        nearer = restate.with_margin(claim, tolerance)
        try:
            if judge.judge(nearer, raw).outcome != judge.VIOLATED:
                continue
            shrinker = Shrinker.of(nearer, raw, better)
            with suppress(_TimeIsUp):
                shrinker.run()
            judgement = judge.judge(claim, shrinker.exact)
        except (ValueError, ArithmeticError):
            continue
        return Exhibit(claim, shrinker.exact, judgement, engine="climb")
    return None


def _directions(claim: Claim, raw: Instance, record: _Record) -> list[str]:
    """Which variables grow or shrink, and which sizes grow, as the ratio nears one."""
    found = []
    for name in claim.over:
        margins = [_margin_at(claim, raw, name, 2.0**power) for power in range(-12, 13, 4)]
        known = [margin for margin in margins if margin is not None]
        if len(known) < len(margins) or max(known) <= 0:
            continue
        if _falls(known):
            found.append(f"{name} grows")
        elif _falls(known[::-1]):
            found.append(f"{name} shrinks")
    for name, values in record.by_size.items():
        gaps = [1 - values[size] for size in sorted(values)]
        if len(gaps) > 2 and all(later < 0.9 * earlier for earlier, later in pairwise(gaps)):
            found.append(f"{name} grows")
    return found


def _falls(margins: list[float]) -> bool:
    """Whether a list falls to less than half, without rising on the way."""
    return margins[-1] < margins[0] / 2 and all(later <= earlier for earlier, later in pairwise(margins))


def _margin_at(claim: Claim, raw: Instance, name: str, factor: float) -> float | None:
    """The margin with one variable's raw numbers scaled; None where whole numbers are among them."""
    parts = claim.parts(raw.sizes, raw.options)
    own = [key for key in raw.arrays if key.partition(".")[0] == name]
    if any(parts[key].kind == "whole" for key in own):
        return None
    arrays = {key: raw.arrays[key] * (Fraction(factor) if raw.arrays[key].dtype == object else factor) for key in own}
    try:
        judgement = judge.judge(claim, Instance(raw.sizes, raw.options, {**raw.arrays, **arrays}))
    except (ValueError, ArithmeticError):
        return None
    return judgement.margin if judgement.outcome in (judge.HOLDS, judge.TIED) else None
