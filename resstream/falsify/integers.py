"""Needles among whole numbers: one coordinate after the other scanned over its range, and sums of near misses."""

from __future__ import annotations

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim
from resstream.domains import Part
from resstream.falsify import climb, corners
from resstream.falsify.corners import Show

LINE = 400
"""Values of a coordinate that one scan looks at, at most."""

ELITES = 24


def has_integers(claim: Claim) -> bool:
    """Whether a part of the claim has whole numbers of a range worth a scan."""
    return any(part.high - part.low >= 4 for *_, part in corners.whole_entries(claim))


def coordinate_scans(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """From one start, give each whole number in turn the value of its range that scores best, until none changes."""
    spent, kind = 0, int(rng.integers(3))
    while spent < size:
        shape = climb.climb_shape(claim, rng)
        parts = claim.parts(*shape)
        kind = (kind + 1) % 3
        places = [(name, k) for name, part in parts.items() if part.kind == "whole" for k in range(part.entries)]
        if not places:
            return
        raw = _start(parts, rng, kind)
        reached, unchanged = np.inf, 0
        for turn in range(3 * len(places)):
            name, place = places[turn % len(places)]
            values = _line(parts[name], float(raw[name].reshape(-1)[place]), rng)[: max(size - spent, 0)]
            if not len(values) or unchanged >= len(places):
                break
            arrays = {key: np.repeat(x[None], len(values), axis=0) for key, x in raw.items()}
            arrays[name].reshape(len(values), -1)[:, place] = values
            spent += len(values)
            scores = show(Batch(*shape, arrays, len(values)))
            best = int(np.argmin(scores))
            unchanged = 0 if scores[best] < reached else unchanged + 1
            if scores[best] <= reached:
                reached = scores[best]
                raw = {key: x[best] for key, x in arrays.items()}


def _start(parts: dict[str, Part], rng: np.random.Generator, kind: int) -> dict[str, Array]:
    """All whole numbers at one end or the other, or anywhere; the rest from corners."""
    drawn = {name: x[0] for name, x in corners.sample(parts, rng, 1).items()}
    for name, part in parts.items():
        if part.kind == "whole" and kind < 2:
            drawn[name] = np.full(part.shape, float(part.high if kind else part.low))
    return drawn


def _line(part: Part, now: float, rng: np.random.Generator) -> Array:
    """The values of a range, or a sample of a long one: near to the present one, and of every magnitude."""
    span = part.high - part.low + 1
    if span <= LINE:
        return np.arange(part.low, part.high + 1, dtype=float)
    near = now + np.arange(-LINE // 4, LINE // 4)
    first = part.anchor + np.arange(LINE // 4) * (1 if part.anchor < part.high else -1)
    steps = np.rint((part.high - part.anchor or part.low - part.anchor) * 2.0 ** -rng.uniform(0, 53, LINE // 4))
    return np.unique(part.settle(np.concatenate([near, first, part.anchor + steps])))


def combinations(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """Add, subtract and multiply the whole numbers that came nearest: approximations are sums of coarser ones."""
    shape = climb.climb_shape(claim, rng)
    parts = claim.parts(*shape)
    whole = [name for name, part in parts.items() if part.kind == "whole"]
    if not whole:
        return
    count = min(1024, size)
    arrays = corners.sample(parts, rng, count)
    for name in whole:  # small numbers first, all of them
        part = parts[name]
        values = np.clip(part.low + np.arange(count * part.entries), part.low, part.high)
        arrays[name] = rng.permutation(values).reshape(count, *part.shape).astype(float)
    pool = Batch(*shape, arrays, count)
    scores = show(pool)
    spent = count
    while spent < size:
        elites, kept = _different(pool, scores, whole)
        count = min(512, size - spent)
        one, two = (rng.integers(elites.count, size=count) for _ in range(2))
        factor = np.rint(2.0 ** rng.uniform(0, 7, count)) * rng.choice([-1, 1], count)
        children = {}
        for name, x in elites.arrays.items():
            part = parts[name]
            if part.kind != "whole":
                children[name] = x[one]
                continue
            along = factor.reshape(count, *[1] * len(part.shape))
            kind = rng.random(along.shape)
            near = x[one] + rng.integers(-2, 3, x[one].shape)
            moved = np.select(
                [kind < 0.6, kind < 0.75, kind < 0.9],
                [x[one] + along * x[two], along * x[one], np.abs(x[one] - x[two])],
                near,
            )
            inside = (moved >= part.low) & (moved <= part.high)
            children[name] = part.settle(np.where(inside, moved, np.abs(x[one] - x[two]) + part.low))
        batch = Batch(*shape, children, count)
        spent += count
        its_scores = show(batch)
        joined = {name: np.concatenate([x, children[name]]) for name, x in elites.arrays.items()}
        pool, scores = Batch(*shape, joined, elites.count + count), np.concatenate([kept, its_scores])


def _different(pool: Batch, scores: Array, names: list[str]) -> tuple[Batch, Array]:
    """The best instances of a batch that differ in their whole numbers."""
    keys = np.concatenate([pool.arrays[name].reshape(pool.count, -1) for name in names], axis=1)
    ranked = np.argsort(scores, kind="stable")
    _, first = np.unique(keys[ranked], axis=0, return_index=True)
    kept = ranked[np.sort(first)][:ELITES]
    return pool.take(kept), scores[kept]
