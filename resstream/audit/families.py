"""Families of instances by geometric steps: along which the ratio of the sides rises, and to what.

Only what is seen to close is called approached; a family is named by the built objects that grow or shrink on it, as
the scale of raw weights means nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import EXPONENTIAL, FLOAT64, Ball, BallEntry, RationalEntry
from resstream.audit import restate
from resstream.audit.result import Family
from resstream.claim import Claim, Instance
from resstream.errors import ResstreamError
from resstream.falsify import judge

STEPS = 8
STEP = 4
"""A family has this many instances, each with a scale that is this many times that of the last one."""

CLOSES = 0.8
"""By what factor at least the gap must fall at every one of the last steps."""

LAST = 4

FEWEST = 5
"""Instances of a family at least, or three where the last gap is below `CLOSED`: an exponential outruns every ball."""

CLOSED = arb(fmpq(1, 2**200))

SMALLEST = 5e-324
"""A gap that floats cannot hold."""

FALLEN = 1e-2
"""To what share of the first gap the last one must have fallen."""

AGREE = 1e-9
"""How well two extrapolations must agree, relatively, to be called a limit."""

BEYOND_BALLS = arb(fmpq(1, 2**1100))
"""The gap of sides that differ by less than balls of ordinary precision tell, which is none that floats can hold."""

MOST = 3
"""Variables that are scaled together, unless all are."""


@dataclass(frozen=True)
class Measured:
    """The sides of one instance: their ratio (the smaller over the larger), and its distance from 1, as balls."""

    ratio: arb
    gap: arb
    outcome: str


def judgement(claim: Claim, raw: Instance) -> judge.Judgement | None:
    """What an instance does to a claim; None where that cannot be computed."""
    try:
        return judge.judge(claim, raw)
    except (ResstreamError, ArithmeticError, ValueError):
        return None


def measure(claim: Claim, raw: Instance) -> Measured | None:
    """The certified ratio of a claim's sides at an instance that meets its hypotheses; None where it says nothing."""
    found = judgement(claim, raw)
    return None if found is None else measured(claim, raw, found)


def measured(claim: Claim, raw: Instance, found: judge.Judgement) -> Measured | None:
    """The same of an instance that has been judged."""
    if found.outcome not in (judge.HOLDS, judge.TIED):
        return None
    lhs, rhs = _number(found.lhs), _number(found.rhs)
    if lhs is None or rhs is None:
        return None
    if found.outcome == judge.TIED or (found.margin == 0 and lhs.overlaps(rhs)):
        # Equal as far as can be told; a tie of zeros says nothing.
        larger = max(abs(lhs), abs(rhs), key=float)
        exactly = all(
            isinstance(side, RationalEntry) and found.outcome == judge.HOLDS for side in (found.lhs, found.rhs)
        )
        gap = BEYOND_BALLS if not exactly and is_strictly_met(claim, raw) else arb(0)
        return Measured(arb(1), gap, found.outcome) if larger > 0 else None
    if not ((lhs > 0 and rhs > 0) or (lhs < 0 and rhs < 0)):
        return Measured(arb(0), arb(1), found.outcome)
    with Ball(judge.PRECISIONS[-1]).working():  # what the judge has told apart must not be rounded to a tie here
        small, large = abs(lhs), abs(rhs)
        small, large = (large, small) if large < small else (small, large)
        return Measured(small / large, (large - small) / large, found.outcome)


def is_strictly_met(claim: Claim, raw: Instance) -> bool:
    """Whether sides that balls of ordinary precision cannot tell apart are certainly not equal (1 - e^-1000 and 1)."""
    strict = restate.strict(claim)
    with suppress(ResstreamError, ArithmeticError, ValueError):
        return any(
            judge.read(strict, raw, system).outcome == judge.HOLDS
            for system in (Ball(judge.PRECISIONS[-1]), EXPONENTIAL)
        )
    return False


def _number(entry: Any) -> arb | None:
    if isinstance(entry, BallEntry):
        return entry.value if entry.value.is_finite() else None
    if isinstance(entry, RationalEntry):
        return arb(entry.value)
    return None


def best_family(
    claim: Claim, raw: Instance, left: Callable[[], float], first: Sequence[tuple[str, ...]] = ()
) -> Family | None:
    """The family through an instance whose ratio rises to the largest limit; the fewest variables among equals.

    first: ways that did it elsewhere, tried before others.
    """
    best: Family | None = None
    for chosen, power in _ways(claim, raw, first):
        if left() <= 0:
            return best
        found = _along(claim, raw, chosen, power)
        if found is not None and (best is None or found.limit > best.limit + 1e-9):
            best = found
            if best.limit == 1:
                return best
    edge = _to_the_edge(claim, raw, left) if claim.assuming and (best is None or best.limit < 1) else None
    return edge if edge is not None and (best is None or edge.limit > best.limit + 1e-9) else best


def _ways(claim: Claim, raw: Instance, first: Sequence[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Variables to scale, and whether they shrink or grow."""
    names = [name for name in claim.over if _scales(claim, raw, name)]
    subsets = [tuple(chosen) for count in range(1, MOST + 1) for chosen in itertools.combinations(names, count)]
    if len(names) > MOST:
        subsets.append(tuple(names))
    known = [chosen for chosen in first if set(chosen) <= set(names)]
    for chosen in dict.fromkeys([*known, *subsets[:40]]):
        yield chosen, -1
        yield chosen, 1


def _own(raw: Instance, name: str) -> list[str]:
    return [key for key in raw.arrays if key.partition(".")[0] == name]


def _scaled(raw: Instance, names: Sequence[str], factor: Fraction) -> Instance:
    """The instance with the raw numbers of some variables times a factor, exactly."""
    arrays = dict(raw.arrays)
    for key in (key for name in names for key in _own(raw, name)):
        values = np.asarray(arrays[key])
        arrays[key] = np.array([Fraction(v) * factor for v in values.reshape(-1)], dtype=object).reshape(values.shape)
    return Instance(raw.sizes, raw.options, arrays)


def _scales(claim: Claim, raw: Instance, name: str) -> bool:
    """Whether the built object of a variable grows with its raw numbers."""
    parts = claim.parts(raw.sizes, raw.options)
    own = _own(raw, name)
    if not own or any(parts[key].kind == "whole" for key in own):
        return False
    sizes = []
    for factor in (1.0, 64.0):
        arrays = {key: np.asarray(x, dtype=float) * (factor if key in own else 1) for key, x in raw.arrays.items()}
        with FLOAT64.working():
            try:
                built = claim.build_one(name, Instance(raw.sizes, raw.options, arrays), FLOAT64)
            except (ResstreamError, ArithmeticError, ValueError):
                return False
        entries = built if isinstance(built, list) else [built]
        if not all(isinstance(entry, np.ndarray) for entry in entries):
            return False
        sizes.append(max((float(np.abs(entry).max()) for entry in entries if entry.size), default=0.0))
    return sizes[0] > 0 and sizes[1] > 8 * sizes[0]


def _along(claim: Claim, raw: Instance, names: tuple[str, ...], power: int) -> Family | None:
    step = Fraction(STEP) if power > 0 else Fraction(1, STEP)
    rows = (_scaled(raw, names, step**k) for k in range(STEPS))
    way = " and ".join(names) + (" grow" if power > 0 else " shrink") + ("s" if len(names) == 1 else "")
    return _rising(claim, rows, way, names)


def _rising(claim: Claim, rows: Iterator[Instance], way: str, names: tuple[str, ...]) -> Family | None:
    """The family, if the ratio rises along it by steps that become smaller."""
    found: list[Measured] = []
    for place, raw in enumerate(rows):
        one = measure(claim, raw)
        if one is None or (one.gap != 0 and float(one.gap) == 0) or (found and not one.gap < found[-1].gap):
            if place < FEWEST and not (found and found[-1].gap < CLOSED):
                return None
            break
        found.append(one)
    gaps = [float(one.gap) for one in found]
    ratios = [float(one.ratio) for one in found]
    if gaps[-1] == 0 or len(found) < (3 if found[-1].gap < CLOSED else FEWEST):
        return None
    falls = [later / earlier for earlier, later in pairwise(gaps)][-LAST:]
    if all(fall <= CLOSES for fall in falls) and gaps[-1] < FALLEN * gaps[0]:
        return Family(way, names, tuple(ratios), tuple(gaps), 1.0)
    limit = _limit([one.ratio for one in found])
    if limit is None or not ratios[-1] <= limit <= 1 + 1e-12:
        return None
    return Family(way, names, tuple(ratios), tuple(gaps), min(limit, 1.0))


def _limit(ratios: list[arb]) -> float | None:
    """What a sequence tends to, by Aitken's process applied twice; None where that is not certain."""

    def shanks(values: list[arb]) -> list[arb]:
        out: list[arb] = []
        for a, b, c in zip(values, values[1:], values[2:], strict=False):
            divisor = (c - b) - (b - a)
            if divisor.contains(0):
                return out
            out.append(c - (c - b) * (c - b) / divisor)
        return out

    steps = [float(b - a) for a, b in pairwise(ratios)]
    if any(step <= 0 for step in steps) or any(later > CLOSES * earlier for earlier, later in pairwise(steps[-LAST:])):
        return None
    rows = [ratios]
    while len(rows[-1]) > 3:
        further = shanks(rows[-1])
        if len(further) < 2:
            break
        rows.append(further)
    last = [float(value.mid()) for value in rows[-1][-2:]]
    before = float(rows[-2][-1].mid()) if len(rows) > 1 else float(ratios[-1].mid())
    if not all(np.isfinite(last)) or abs(last[-1] - before) > AGREE * abs(last[-1]):
        return None
    return last[-1]


def _to_the_edge(claim: Claim, raw: Instance, left: Callable[[], float]) -> Family | None:
    """A family on which one variable is scaled up to where the hypotheses end, the rest of the way divided by four."""
    best: Family | None = None
    for name in claim.over:
        if left() <= 0 or not _scales(claim, raw, name):
            continue
        for far in (Fraction(2), Fraction(1, 2)):
            edge = _edge(claim, raw, name, far)
            if edge is None:
                continue
            rows = (_scaled(raw, (name,), 1 + (edge - 1) * (1 - Fraction(1, STEP ** (k + 1)))) for k in range(STEPS))
            found = _rising(claim, rows, f"{name} is scaled towards the edge of the hypotheses", ())
            if found is not None and (best is None or found.limit > best.limit):
                best = found
    return best


def _edge(claim: Claim, raw: Instance, name: str, far: Fraction) -> Fraction | None:
    """The factor between 1 and `far` at which an instance leaves the hypotheses, to 60 bits."""

    def inside(factor: Fraction) -> bool:
        return measure(claim, _scaled(raw, (name,), factor)) is not None

    if inside(far) or not inside(Fraction(1)):
        return None
    low, high = Fraction(1), far
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return low
