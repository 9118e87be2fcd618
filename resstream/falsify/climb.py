"""Climbing towards a violation: batched perturbation of raw arrays, and SciPy's differential evolution.

What is climbed is the score of an instance: the relative float64 margin of the conclusion where its hypotheses hold,
and how far the hypotheses are from holding elsewhere. So thin hypotheses are climbed to as well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim
from resstream.domains import Part
from resstream.falsify import corners
from resstream.falsify.corners import Shape, Show

ELITES = 16
CHILDREN = 512
PATIENCE = 8
"""Generations without a better score after which a climb begins anew, from other starts."""

Vary = Callable[[Mapping[str, Part], Batch, np.random.Generator, int], Batch]
"""What makes so many children of elites."""


def climb_shape(claim: Claim, rng: np.random.Generator, stay: float = 0.35) -> Shape:
    """A shape in which small sizes are likelier: each size is the least one left with the chance `stay`."""
    sizes = {}
    for name, values in claim.size_ranges().items():
        ordered = sorted(values)
        sizes[name] = ordered[min(int(rng.geometric(stay)) - 1, len(ordered) - 1)]
    return claim.nearest_fit(sizes), corners.drawn_options(claim, rng)


def climb(
    claim: Claim,
    rng: np.random.Generator,
    size: int,
    show: Show,
    start: Batch | None = None,
    children_of: Vary | None = None,
    generation: int = CHILDREN,
) -> None:
    """Climb for about `size` evaluations, from drawn starts or the batch `start`, by the moves of `children_of`."""
    spent = 0
    while spent < size:
        pool = start or starts(claim, climb_shape(claim, rng), rng, min(2 * CHILDREN, size - spent))
        spent += pool.count or 0
        parts = claim.parts(pool.sizes, pool.options)
        if not parts:
            show(pool)
            return
        best = fittest(pool, show(pool))
        reached, waited = best[1].min(), 0
        while spent < size and waited < PATIENCE:
            elites = best[0]
            children = min(generation, size - spent - (elites.count))
            if children <= 0:
                return
            batch = joined(elites, (children_of or vary)(parts, elites, rng, children))
            spent += batch.count or 0
            best = fittest(batch, show(batch))
            waited = 0 if best[1].min() < reached - 1e-9 * abs(reached) else waited + 1
            reached = min(reached, best[1].min())


def starts(claim: Claim, shape: Shape, rng: np.random.Generator, count: int) -> Batch:
    """Starts of one shape: half corners, half from each part's own mixture, some of those bent."""
    parts = claim.parts(*shape)
    half = count // 2
    drawn = {name: part.draw(rng, count - half) for name, part in parts.items()}
    bent = corners.bend(parts, drawn, rng, count - half)
    sampled = corners.sample(parts, rng, half)
    return Batch(*shape, {name: np.concatenate([sampled[name], bent[name]]) for name in parts}, count)


def fittest(batch: Batch, scores: Array) -> tuple[Batch, Array]:
    order = np.argsort(scores, kind="stable")
    # Equal scores are mostly equal instances; a plateau keeps some variety.
    _, first = np.unique(scores[order], return_index=True)
    order = np.concatenate([order[first], np.delete(order, first)])[:ELITES]
    return batch.take(order), scores[order]


def joined(first: Batch, second: Batch) -> Batch:
    arrays = {name: np.concatenate([values, second.arrays[name]]) for name, values in first.arrays.items()}
    return dataclasses.replace(first, arrays=arrays, count=first.count + second.count)


# ---- perturbation -----------------------------------------------------------


def vary(parts: Mapping[str, Part], elites: Batch, rng: np.random.Generator, count: int) -> Batch:
    """`count` children of the elites: each has one part or more changed by one of the moves."""
    many = elites.count
    # The best ones have more children.
    parents = np.minimum((rng.random(count) ** 2 * many).astype(int), many - 1)
    arrays = {name: values[parents] for name, values in elites.arrays.items()}
    chosen = rng.random((count, len(parts))) < 0.4
    chosen[np.arange(count), rng.integers(len(parts), size=count)] = True
    out = {}
    for column, (name, part) in enumerate(parts.items()):
        x = arrays[name]
        mates = elites.arrays[name][rng.integers(many, size=count)]
        twins = [arrays[other] for other, spec in parts.items() if other != name and spec.shape == part.shape]
        twin = twins[int(rng.integers(len(twins)))] if twins else mates
        moved = _whole_move(part, x, rng) if part.kind == "whole" else _real_move(x, mates, twin, rng)
        keep = ~chosen[:, column].reshape(count, *([1] * len(part.shape)))
        out[name] = part.settle(np.where(keep, x, moved))
    return dataclasses.replace(elites, arrays=out, count=count)


def _real_move(x: Array, mates: Array, twin: Array, rng: np.random.Generator) -> Array:
    each = (len(x), *([1] * (x.ndim - 1)))
    axes = tuple(range(1, x.ndim))
    size = np.abs(x).max(axis=axes, keepdims=True)
    size = np.where((size == 0) | ~np.isfinite(size), 1.0, size)
    step = 10.0 ** rng.uniform(-6, 0.3, each)
    noise = rng.standard_normal(x.shape)
    entry = corners._unit_entry(rng, x.shape) == 1
    flat = x.reshape(len(x), -1)
    other = flat[np.arange(len(x)), rng.integers(flat.shape[1], size=len(x))].reshape(each)
    rows = np.arange(x.shape[-2])[:, None]
    source = rng.integers(x.shape[-2], size=each)
    row = rng.integers(x.shape[-2], size=each)
    copied = np.where(
        rows == row, np.take_along_axis(x, np.broadcast_to(source, (*x.shape[:-2], 1, x.shape[-1])), -2), x
    )
    digits = 10.0 ** np.floor(np.log10(size))
    moves = (
        x + step * size * noise,
        x + np.where(entry, step * size * noise, 0),
        np.where(entry, x + size * rng.standard_normal(each), x),
        np.where(entry, -x, x),
        np.where(entry, 0, x),
        np.where(entry, rng.integers(-2, 3, each), x),
        np.where(entry, x * 10.0 ** rng.uniform(-3, 3, each), x),
        np.where(entry, other, x),
        np.where(rows == row, 0, x),
        np.where(rows == row, x * 10.0 ** rng.uniform(-2, 2, each), x),
        copied,
        x * 10.0 ** rng.uniform(-1, 1, each),
        x * rng.choice([0.1, 10.0, 0.5, 2.0, 1e-3, 1e3, -1.0], each),
        x * np.exp(step * noise),
        np.rint(x),
        np.rint(x / digits) * digits,
        mates,
        np.where(rng.random(x.shape) < 0.5, mates, x),
        x + rng.uniform(-1, 1.5, each) * (mates - x),
        twin,
        twin + step * size * noise * entry,
    )
    pick = rng.integers(len(moves), size=len(x))
    out = x.copy()
    for index, move in enumerate(moves):
        chosen = pick == index
        out[chosen] = move[chosen]
    return np.clip(np.nan_to_num(out), -1e30, 1e30)


def _whole_move(part: Part, x: Array, rng: np.random.Generator) -> Array:
    each = (len(x), *([1] * (x.ndim - 1)))
    entry = corners._unit_entry(rng, x.shape) == 1
    near = x + rng.integers(-3, 4, each)
    far = rng.integers(part.low, part.high + 1, x.shape)
    return np.where(entry, np.where(rng.random(each) < 0.5, near, far), x)


# ---- differential evolution -------------------------------------------------


class _Enough(Exception):
    """The evaluations are used up."""


def differential_evolution(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """SciPy's differential evolution on the score, over all raw entries of one shape at once."""
    from scipy.optimize import differential_evolution as evolve

    shape = climb_shape(claim, rng)
    parts = claim.parts(*shape)
    reach = float(rng.choice([1.0, 3.0, 10.0]))
    bounds = [part.reach(reach) for part in parts.values() for _ in range(part.entries)]
    if not bounds:
        return
    spent = 0

    def score(columns: Array) -> Array:
        nonlocal spent
        if spent >= size:
            raise _Enough
        rows = np.atleast_2d(columns.T)[: size - spent]
        spent += len(rows)
        arrays = {name: parts[name].settle(values) for name, values in corners.split(parts, rows).items()}
        scores = np.full(np.atleast_2d(columns.T).shape[0], 1e9)
        scores[: len(rows)] = np.nan_to_num(show(Batch(*shape, arrays, len(rows))), nan=1e9, posinf=1e9)
        return scores

    settings: dict[str, Any] = {"popsize": max(4, min(15, 400 // len(bounds))), "tol": 0, "polish": False}
    try:
        evolve(score, bounds, maxiter=size, rng=rng, vectorized=True, updating="deferred", **settings)
    except _Enough:
        return
