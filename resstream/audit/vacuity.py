"""Where the hypotheses are met: everywhere, at some sizes only, by trivial instances only, or never."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.audit import proofs
from resstream.audit.attack import Attack, scores
from resstream.audit.result import Vacuity
from resstream.claim import Batch, Claim, Instance
from resstream.errors import ResstreamError
from resstream.falsify import climb, corners, engines, judge

BATCHES = 12
"""Batches drawn at each size."""

BATCH = 96

CLIMB = 1024
"""Evaluations of a climb towards the hypotheses, at a size where no drawn instance met them."""

JUDGED = 24
"""Instances of a size whose hypotheses are judged, until one is certain to meet them."""

VALUES = 12

NUDGE = 1e-4
"""By how much, relatively, instances are moved to see whether they meet the hypotheses by chance."""

PROOF = 2.0
"""Seconds for a proof that no instance of a size meets them."""


def vacuity(claim: Claim, attack: Attack, proof: float = PROOF) -> Vacuity:
    """Where the hypotheses of a claim are met; without any, all that is drawn counts.

    proof: seconds for the proof at a size.
    """
    if not claim.assuming:
        return Vacuity()
    met = drawn = 0
    missing: dict[str, tuple[int, ...]] = {}
    proved: dict[str, tuple[int, ...]] = {}
    least = 10**9
    kinds: set[str] = set()
    ranges = claim.size_ranges()
    for name, values in ranges.items() if ranges else [("", range(1))]:
        for value in list(values)[:VALUES]:
            if attack.left() <= 0:
                break
            fixed = claim.replace(sizes={name: range(value, value + 1)}) if name else claim
            here, there = met_at(fixed, attack, kinds)
            met, drawn = met + here, drawn + there
            if here == 0 and name:
                missing[name] = (*missing.get(name, ()), value)
                least = min(least, there)
    for name, never in missing.items():  # last, as they may take long: every size has been looked at by then
        for value in never:
            fixed = claim.replace(sizes={name: range(value, value + 1)})
            if attack.left() > proof and proofs.never_met(fixed, proof):
                proved[name] = (*proved.get(name, ()), value)
    trivial = " or ".join(sorted(kinds)) if kinds and "" not in kinds else ""
    return Vacuity(met, drawn, missing, least if missing else 0, proved, trivial, is_thin(claim, attack.seed))


def is_thin(claim: Claim, seed: int) -> bool:
    """Whether instances meet the hypotheses, and none of them still does after a nudge: an equality asks for that.

    What a search then sees are special instances only, of small whole numbers mostly, so that it has earned little.
    """
    rng = np.random.default_rng([seed, *claim.seed_words(), 37])
    score = scores(claim)
    shapes = corners.shapes(claim)
    special = 0
    for number in range(BATCHES):
        raw = corners.corner_batch(claim, shapes[number % len(shapes)], rng, BATCH) if number % 2 else None
        raw = raw or engines.random_batch(claim, rng, BATCH)
        met = raw.take(np.flatnonzero(score(raw) < 2))
        if not met.count:
            continue
        special += met.count
        if np.any(score(_nudged(claim, met, rng)) < 2):
            return False
    return special > 0


def _nudged(claim: Claim, raw: Batch, rng: np.random.Generator) -> Batch:
    """A batch with all raw numbers that are not whole ones moved a little."""
    parts = claim.parts(raw.sizes, raw.options)
    arrays = {
        name: values
        if parts[name].kind == "whole"
        else values + NUDGE * (np.abs(values) + np.abs(values).max(initial=0.0)) * rng.standard_normal(values.shape)
        for name, values in ((name, np.asarray(values, dtype=float)) for name, values in raw.arrays.items())
    }
    return Batch(raw.sizes, raw.options, arrays, raw.count)


def met_at(claim: Claim, attack: Attack, kinds: set[str]) -> tuple[int, int]:
    """How many of the instances drawn met the hypotheses, of how many; the kinds of those that did are added.

    Floats let in what misses a hypothesis by rounding, a strict one by equality: that none is let in wrongly is judged.
    """
    rng = np.random.default_rng([attack.seed, *claim.seed_words(), 23])
    met = drawn = 0

    def show(raw: Batch) -> Array:
        nonlocal met, drawn
        drawn += raw.count
        values = score(raw)
        met += int(np.count_nonzero(values < 2))
        seen.extend(raw.at(int(place)) for place in np.flatnonzero(values < 2)[: max(JUDGED - len(seen), 0)])
        return values

    seen: list[Instance] = []
    score = scores(claim)
    for number in range(BATCHES):
        shapes = corners.shapes(claim)
        raw = corners.corner_batch(claim, shapes[number % len(shapes)], rng, BATCH) if number % 2 else None
        raw = raw or engines.random_batch(claim, rng, BATCH)
        values = show(raw)
        for place in np.flatnonzero(values < 2)[:4]:
            if "" not in kinds:
                kinds |= {next(_trivial(claim, raw.at(int(place)).batch()), "")}
    if not met:
        climb.climb(claim, rng, CLIMB, show)
    return (met if any(_is_met(claim, raw) for raw in seen) else 0), drawn


def _is_met(claim: Claim, raw: Instance) -> bool:
    """Whether an instance certainly meets the hypotheses."""
    try:
        answer = judge.judge(claim, raw)
    except (ResstreamError, ArithmeticError):
        return False
    return answer.met and answer.outcome not in (judge.OUTSIDE, judge.UNDECIDED)


def _trivial(claim: Claim, raw: Batch) -> Iterator[str]:
    """What is trivial about an instance: all of its arrays have equal rows, are signed permutations or zero."""
    tests: dict[str, Callable[[Array], bool]] = {
        "zero": lambda x: not x.any(),
        "of equal rows": lambda x: x.shape[-2] > 1 and bool((x == x[..., :1, :]).all()),
        "a signed permutation": lambda x: (
            x.shape[-1] == x.shape[-2] > 1
            and bool(np.isin(np.abs(x), (0, 1)).all() and (np.count_nonzero(x, -1) == 1).all())
            and bool((np.count_nonzero(x, -2) == 1).all())
        ),
    }
    try:
        with FLOAT64.working():
            built = [value for value in claim.build(raw).values() if isinstance(value, np.ndarray)]
    except (ResstreamError, ArithmeticError):
        return
    for name, test in tests.items():
        if built and all(test(value) for value in built):
            yield name
            return


def bounds(found: Vacuity) -> str:
    """Where the hypotheses are met, in a sentence."""
    if not found.sizes:
        return ""
    sure, open_ = {}, {}
    for name, values in found.sizes.items():
        sure[name] = [value for value in values if value in found.proved.get(name, ())]
        open_[name] = [value for value in values if value not in found.proved.get(name, ())]
    parts = ((sure, "proved"), (open_, f"none of {found.tried:,} instances at each"))
    return "never met at " + ", nor at ".join(
        f"{_listed(places)} ({why})" for places, why in parts if any(places.values())
    )


def _listed(places: Mapping[str, Sequence[int]]) -> str:
    return "; ".join(f"{name} = {', '.join(map(str, values))}" for name, values in places.items() if values)
