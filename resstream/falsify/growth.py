"""Climbs that grow: good instances of a small shape embedded in the next larger one, and so on."""

from __future__ import annotations

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim
from resstream.domains import Part
from resstream.falsify import climb, corners, moves, structures
from resstream.falsify.corners import Show

STAGES = 4

CHILDREN = 96


def grow(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """Climb at a small shape, embed what is best in a larger one, climb there, until `size` evaluations are spent."""
    ranges = {name: sorted(values) for name, values in claim.size_ranges().items()}
    if not ranges or all(len(values) == 1 for values in ranges.values()):
        return
    level = {name: min(int(rng.geometric(0.5)) - 1, len(values) - 1) for name, values in ranges.items()}
    options = corners.drawn_options(claim, rng)
    share = size // STAGES
    pool: Batch | None = None
    together = rng.random() < 0.5
    for _ in range(STAGES):
        sizes = claim.nearest_fit({name: ranges[name][k] for name, k in level.items()})
        parts = claim.parts(sizes, options)
        if not parts:
            return
        count = structures.affordable(parts, share // 4)
        start = climb.joined(
            structures.structured_batch(claim, (sizes, options), rng, count // 2),
            climb.starts(claim, (sizes, options), rng, count - count // 2),
        )
        if pool is not None:
            start = _embedded(pool, parts, start, rng)
        best: list[tuple[Batch, Array]] = []

        def record(raw: Batch, best: list[tuple[Batch, Array]] = best) -> Array:
            scores = show(raw)
            best.append(climb.fittest(raw, scores))
            return scores

        climb.climb(claim, rng, share, record, start, moves.vary, CHILDREN)
        pool = min(best, key=lambda pair: float(pair[1].min()))[0]
        growing = [name for name, k in level.items() if k + 1 < len(ranges[name])]
        if not growing:
            return
        step = int(rng.integers(1, 3))
        for name in growing if together else [growing[int(rng.integers(len(growing)))]]:
            level[name] = min(level[name] + step, len(ranges[name]) - 1)


def _embedded(small: Batch, parts: dict[str, Part], start: Batch, rng: np.random.Generator) -> Batch:
    """The starts, two thirds of them replaced by small instances: beside zeros or a draw, or with entries repeated."""
    count = start.count
    kept = rng.integers(small.count, size=count)
    embedded = rng.random(count) < 2 / 3
    arrays = {}
    for name, part in parts.items():
        x, out = small.arrays[name][kept], start.arrays[name].copy()
        rows, columns = part.shape[-2:]
        height, width = min(rows, x.shape[-2]), min(columns, x.shape[-1])
        if x.shape[1:-2] != out.shape[1:-2]:
            return start
        beside = np.zeros_like(out) if rng.random() < 0.5 else out.copy()
        beside[..., :height, :width] = x[..., :height, :width]
        i, j = np.arange(rows), np.arange(columns)
        cycled = x[..., i % x.shape[-2], :][..., j % x.shape[-1]]
        stretched = x[..., i * x.shape[-2] // rows, :][..., j * x.shape[-1] // columns]
        kind = rng.random((count, *[1] * len(part.shape)))
        grown = np.select([kind < 0.6, kind < 0.8], [beside, cycled], stretched)
        out[embedded] = grown[embedded]
        arrays[name] = part.settle(out)
    return Batch(start.sizes, start.options, arrays, count)
