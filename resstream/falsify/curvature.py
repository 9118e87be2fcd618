"""Second derivatives: steps down the curvature at ties, where gradients vanish and every small step looks level.

Where both sides are equal on a manifold, a climb ends on it. What lies beyond is seen in the Hessian of the score: its
lowest eigenvectors, tried as steps and, of a quadratic form, as the part itself. Newton's step takes the eigenvalues by
their absolute values, so that saddles repel (Dauphin and others 2014).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Claim
from resstream.domains import Part
from resstream.falsify import climb, corners, structures
from resstream.falsify.corners import Shape, Show
from resstream.falsify.descent import Coordinates, entries_of, flat_rows

MOST = 40
"""Raw numbers of an instance beyond which a Hessian costs too much."""

DIFFERENCE = 3e-3
"""Step of a difference: its third power is the error of curvatures, and rounding over its square."""

LENGTHS = np.array([0.03, 0.1, 0.3, 1.0, 2.0])
"""Of the steps along an eigenvector, both ways."""

LOWEST = 3
"""Eigenvectors that are tried."""

DAMPING = np.array([1e-6, 1e-3, 0.1])
"""Of Newton's step, relative to the largest eigenvalue."""

TRIED = 2 * len(LENGTHS) * LOWEST + len(DAMPING)

ROUNDS = 8

BATCH = 2048
"""Evaluations for the Hessians of a batch."""


def bend_down(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """Steps along the lowest curvatures from structured starts of one shape after the other, for `size` evaluations."""
    spent = idle = 0
    while spent < size and idle < 8:
        wide = rng.random() < 0.5
        shape = structures.wide_shape(claim, rng) if wide else climb.climb_shape(claim, rng, 0.5)
        parts = claim.parts(*shape)
        moving = _moving(parts, rng)
        entries = entries_of(moving)
        cost = _evaluations(entries) + TRIED
        if not 0 < entries <= MOST or spent + cost > size:
            idle += 1
            continue
        count = int(np.clip(BATCH // cost, 1, (size - spent) // cost))
        spent += _from_starts(claim, shape, parts, moving, rng, count, size - spent, show)


def _evaluations(entries: int) -> int:
    """Of one Hessian by differences."""
    return 1 + 2 * entries + entries * (entries - 1) // 2


def _moving(parts: Mapping[str, Part], rng: np.random.Generator) -> dict[str, Part]:
    """The parts that move: one, the smaller the likelier, or all."""
    real = corners.real(parts)
    if len(real) < 2 or rng.random() < 0.25:
        return real
    names = list(real)
    weights = 1 / np.array([real[name].entries for name in names])
    name = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    return {name: real[name]}


def _from_starts(
    claim: Claim,
    shape: Shape,
    parts: Mapping[str, Part],
    moving: Mapping[str, Part],
    rng: np.random.Generator,
    count: int,
    size: int,
    show: Show,
) -> int:
    """Go down from several starts as long as they get lower; returns the evaluations spent."""
    points, coordinates = _starts(claim, shape, parts, moving, rng, count)
    entries = points.shape[1]
    cost = _evaluations(entries) + TRIED
    of, spent = np.arange(count), 0
    for _ in range(ROUNDS):
        of, points = of[: (size - spent) // cost], points[: (size - spent) // cost]
        if not len(of):
            break
        spent += len(of) * cost
        now, gradients, hessians = _derivatives(coordinates, points, of, show)
        values, vectors = np.linalg.eigh(hessians)
        tried = points[:, None] + _steps(gradients, values, vectors)
        scores = show(coordinates.batch(tried.reshape(-1, entries), np.repeat(of, TRIED))).reshape(len(of), TRIED)
        best = scores.argmin(axis=1)
        lowest = scores[np.arange(len(of)), best]
        lower = lowest < now - 1e-12 * (1 + np.abs(now))
        ranked = np.flatnonzero(lower)[np.argsort(lowest[lower], kind="stable")][: -(-len(of) // 2)]
        points, of = tried[ranked, best[ranked]], of[ranked]
    return spent


def _starts(
    claim: Claim,
    shape: Shape,
    parts: Mapping[str, Part],
    moving: Mapping[str, Part],
    rng: np.random.Generator,
    count: int,
) -> tuple[Array, Coordinates]:
    """What moves at zero or structured and stirred, in logarithms where it is positive; what is held of all scales."""
    shaped = structures.structured_batch(claim, shape, rng, count).arrays
    held = {}
    for name, part in parts.items():
        if name in moving:
            continue
        if part.kind == "whole":
            held[name] = shaped[name]
            continue
        each = (count, *[1] * len(part.shape))
        sparse = rng.integers(-1, 2, shaped[name].shape) * (rng.random(shaped[name].shape) < rng.random(each))
        kind, scale = rng.random(each), 10.0 ** (rng.uniform(-2, 0.5, each) * (rng.random(each) < 0.7))
        drawn = np.where(kind < 0.4, sparse, rng.standard_normal(sparse.shape))
        held[name] = part.settle(scale * np.where(kind < 0.7, drawn, np.clip(shaped[name], -1e3, 1e3)))
    noise = 10.0 ** rng.uniform(-4, -1, (count, 1)) * rng.standard_normal((count, entries_of(moving)))
    flat = np.clip(flat_rows(shaped, moving, count), -1e3, 1e3) + noise
    if rng.random() < 0.5 and all(part.kind == "weight" for part in moving.values()):
        points = np.log(np.maximum(np.abs(flat), 10.0 ** rng.uniform(-2, -0.5, (count, 1))))
        return points, Coordinates(shape, moving, np.zeros_like(flat), np.ones_like(flat), None, held)
    if rng.random() < 0.5:
        flat = np.zeros_like(flat)
    return flat, Coordinates(shape, moving, np.zeros_like(flat), None, None, held)


def _derivatives(coordinates: Coordinates, points: Array, of: Array, show: Show) -> tuple[Array, Array, Array]:
    """Scores, gradients and Hessians at points by differences, all in one batch."""
    many, entries = points.shape
    step = DIFFERENCE * np.maximum(np.abs(points).max(axis=1), 0.1)[:, None, None]
    unit = np.eye(entries)
    first, second = np.triu_indices(entries, 1)
    moves = np.concatenate([np.zeros((1, entries)), unit, -unit, unit[first] + unit[second]])
    beside = points[:, None] + step * moves
    scores = show(coordinates.batch(beside.reshape(-1, entries), np.repeat(of, len(moves)))).reshape(many, -1)
    values = _unbounded(scores)
    now, ahead, behind = values[:, :1], values[:, 1 : entries + 1], values[:, entries + 1 : 2 * entries + 1]
    step = step[:, 0]
    hessians = np.zeros((many, entries, entries))
    hessians[:, first, second] = (values[:, 2 * entries + 1 :] - ahead[:, first] - ahead[:, second] + now) / step**2
    hessians += hessians.mT
    hessians[:, np.arange(entries), np.arange(entries)] = (ahead + behind - 2 * now) / step**2
    gradients = (ahead - behind) / (2 * step)
    tame = [np.clip(np.nan_to_num(x), -1e12, 1e12) for x in (gradients, hessians)]
    return scores[:, 0], tame[0], tame[1]


def _unbounded(scores: Array) -> Array:
    """Scores between -1 and 1 without the bend that bounds them, which would be a curvature of its own."""
    inside = np.abs(scores) < 1 - 1e-12
    return np.where(inside, scores / np.where(inside, 1 - np.abs(scores), 1), scores)


def _steps(gradients: Array, values: Array, vectors: Array) -> Array:
    """Steps (points, TRIED, entries): along the lowest eigenvectors both ways, and Newton's that saddles repel."""
    many, entries = gradients.shape
    lowest = np.zeros((many, LOWEST, entries))
    kept = vectors[..., :LOWEST].mT
    lowest[:, : kept.shape[1]] = kept
    lengths = np.concatenate([LENGTHS, -LENGTHS])
    along = (lowest[:, :, None] * lengths[:, None]).reshape(many, -1, entries)
    size = np.abs(values)
    damped = size[:, None] + DAMPING[:, None] * size.max(axis=1)[:, None, None] + 1e-300
    of_gradient = np.einsum("mij,mi->mj", vectors, gradients)
    newton = -np.einsum("mij,mkj->mki", vectors, of_gradient[:, None] / damped)
    length = np.linalg.norm(newton, axis=2, keepdims=True) + 1e-300
    # Where there is hardly a curvature a step is beyond all floats, and is none.
    newton = np.nan_to_num(newton * np.minimum(1, 3 / length), nan=0, posinf=0, neginf=0)
    return np.concatenate([along, newton], axis=1)


__all__ = ["bend_down"]
