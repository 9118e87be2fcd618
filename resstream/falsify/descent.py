"""Gradients: quasi-Newton descents of the score, and Newton's method onto the equations of the hypotheses.

Derivatives are differences, taken for all starts in one batch: a claim need not know how to differentiate itself. The
update of Broyden, Fletcher, Goldfarb and Shanno copes with kinks of maxima and minima (Lewis and Overton 2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.claim import Batch, Claim
from resstream.domains import Part
from resstream.falsify import climb, corners, structures
from resstream.falsify.corners import Shape, Show
from resstream.relations import AtMost, Comparison

MOST = 96
"""Raw numbers of an instance beyond which a gradient costs too much."""

STEPS = np.array([1.0, 0.3, 0.1, 0.02, 2.0, 0.001])
"""Lengths tried along a direction."""

ITERATIONS = 80

PATIENCE = 12
"""Iterations in which a descent must have got somewhere."""

DIFFERENCE = 1e-6
"""Step of a difference, relative to the coordinate."""

DAMPING = np.array([1e-15, 1e-9, 1e-6, 1e-4, 1e-2, 1.0])
"""Of a step of Levenberg and Marquardt's, relative to the largest singular value squared."""

DENOMINATORS = 60
"""Solutions of equations are rounded to whole multiples of 1/q, for q up to this."""


@dataclass(frozen=True)
class Coordinates:
    """Points (count, entries) and the instances that they stand for: raw numbers beside a base, or logarithms.

    parts are those that move, and held the arrays of the others, of each start. lengths, of each start and part, are
    kept where there are such: what shrinks to nothing, so that both sides vanish, is no descent then.
    """

    shape: Shape
    parts: Mapping[str, Part]
    base: Array
    signs: Array | None = None
    lengths: Array | None = None
    held: Mapping[str, Array] = field(default_factory=dict)

    def batch(self, points: Array, of: Array) -> Batch:
        """The batch of points, each with what is kept of the start that it belongs to."""
        if self.signs is not None:
            flat = self.signs[of] * np.exp(np.clip(points, -60, 60))
        elif self.lengths is not None:
            ratio = self.lengths[of] / _lengths(points, self.parts)
            flat = points * np.repeat(ratio, [part.entries for part in self.parts.values()], axis=1) + self.base[of]
        else:
            flat = points + self.base[of]
        moving = corners.split(self.parts, np.clip(np.nan_to_num(flat), -1e30, 1e30))
        arrays = {name: self.parts[name].settle(x) for name, x in moving.items()}
        return Batch(*self.shape, {**{name: x[of] for name, x in self.held.items()}, **arrays}, len(points))


def _lengths(points: Array, parts: Mapping[str, Part]) -> Array:
    """The Euclidean length of each part of each point, (count, parts)."""
    ends = np.cumsum([part.entries for part in parts.values()])[:-1]
    return np.stack([np.linalg.norm(x, axis=1) for x in np.split(points, ends, axis=1)], axis=1) + 1e-300


def entries_of(parts: Mapping[str, Part]) -> int:
    """Raw numbers of an instance in some parts."""
    return sum(part.entries for part in parts.values())


def _moving(parts: Mapping[str, Part], rng: np.random.Generator) -> dict[str, Part]:
    """The parts that a descent moves: at times all but one, a pattern that the others are fitted to."""
    real = corners.real(parts)
    if len(real) > 1 and rng.random() < 0.6:
        real.pop(list(real)[int(rng.integers(len(real)))])
    return real


def descend(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """Quasi-Newton descents from several starts of one shape after the other, for about `size` evaluations."""
    spent = idle = 0
    while spent < size and idle < 8:
        wide = rng.random() < 0.4
        shape = structures.wide_shape(claim, rng) if wide else climb.climb_shape(claim, rng, rng.choice([0.35, 0.8]))
        parts = claim.parts(*shape)
        moving = _moving(parts, rng)
        if not 0 < entries_of(moving) <= MOST:
            idle += 1
            continue
        spent += _descend_from(claim, shape, parts, moving, rng, size - spent, show)


def _descend_from(
    claim: Claim,
    shape: Shape,
    parts: dict[str, Part],
    moving: dict[str, Part],
    rng: np.random.Generator,
    size: int,
    show: Show,
) -> int:
    """Descend from several starts; where parts were held, then from the best of what was reached with all free."""
    entries = entries_of(moving)
    many = int(np.clip(size // (100 * (entries + len(STEPS))), 1, 6))
    points, coordinates = _starts(claim, shape, parts, moving, rng, 4 * many)
    spent = 4 * many
    if spent > size:
        return size
    scores = show(coordinates.batch(points, np.arange(4 * many)))
    kept = np.concatenate([np.argsort(scores, kind="stable")[: -(-many // 2)], rng.integers(4 * many, size=many // 2)])
    points, scores, cost = _descended(coordinates, points[kept], scores[kept], kept, size - spent, show)
    spent += cost
    every = corners.real(parts)
    if len(every) > len(moving) and entries_of(every) <= MOST:
        best = np.argsort(scores, kind="stable")[: -(-many // 2)]
        reached = coordinates.batch(points[best], kept[best])
        flat = flat_rows(reached.arrays, every, len(best))
        whole = {name: x for name, x in reached.arrays.items() if name not in every}
        freed = Coordinates(shape, every, np.zeros_like(flat), None, _lengths(flat, every), whole)
        spent += _descended(freed, flat, scores[best], np.arange(len(best)), size - spent, show)[2]
    return spent


def _descended(
    coordinates: Coordinates, points: Array, scores: Array, of: Array, size: int, show: Show
) -> tuple[Array, Array, int]:
    """The points and scores that quasi-Newton steps lead to, and the evaluations that they took."""
    many, entries = points.shape
    inverse = np.tile(np.eye(entries), (many, 1, 1))
    fresh = np.ones(many, dtype=bool)  # nothing is known of the curvature
    alive = np.ones(many, dtype=bool)
    gradient, spent = np.zeros_like(points), 0
    previous = points.copy(), gradient.copy()
    before = scores.copy()
    for iteration in range(ITERATIONS):
        if iteration and iteration % PATIENCE == 0:
            alive &= scores < before - 1e-6 * np.abs(before) - 1e-9
            before = scores.copy()
        each = np.flatnonzero(alive)
        cost = len(each) * (entries + len(STEPS))
        if not len(each) or spent + cost > size:
            break
        spent += cost
        gradient[each] = _gradient(coordinates, points[each], scores[each], of[each], show)
        for k in each:
            fresh[k] &= not _update(inverse[k], points[k] - previous[0][k], gradient[k] - previous[1][k], fresh[k])
        previous = points.copy(), gradient.copy()
        direction = -np.einsum("sij,sj->si", inverse[each], gradient[each])
        longest = np.abs(direction).max(axis=1, keepdims=True)
        reach = 1 + np.abs(points[each]).max(axis=1, keepdims=True)
        limit = np.where(fresh[each, None], 0.3, 1.0) * reach / longest
        direction *= np.where((longest > 0) & (fresh[each, None] | (limit < 1)), limit, 1)
        tried = points[each, None] + STEPS[:, None] * direction[:, None]
        batch = coordinates.batch(tried.reshape(-1, entries), np.repeat(of[each], len(STEPS)))
        its = show(batch).reshape(len(each), -1)
        best = its.argmin(axis=1)
        lowest = its[np.arange(len(each)), best]
        better = lowest < scores[each]
        moved = each[better]
        points[moved], scores[moved] = tried[np.flatnonzero(better), best[better]], lowest[better]
        stuck = each[~better]  # once more along the gradient, then no more
        alive[stuck] = ~fresh[stuck]
        fresh[stuck], inverse[stuck] = True, np.eye(entries)
    return points, scores, spent


def _gradient(coordinates: Coordinates, points: Array, scores: Array, of: Array, show: Show) -> Array:
    many, entries = points.shape
    step = DIFFERENCE * np.maximum(np.abs(points), 1e-2)
    beside = points[:, None] + np.eye(entries) * step[:, None]
    its = show(coordinates.batch(beside.reshape(-1, entries), np.repeat(of, entries))).reshape(many, entries)
    slopes = (its - scores[:, None]) / step
    return np.clip(np.nan_to_num(slopes), -1e12, 1e12)


def _update(inverse: Array, step: Array, change: Array, fresh: bool) -> bool:
    """Update an inverse Hessian in place by a step and the change of the gradient, unless it would lose its sign."""
    product, lengths = float(step @ change), float(np.linalg.norm(step) * np.linalg.norm(change))
    if not lengths or product <= 1e-14 * lengths:  # also where a change is so small that its square is zero
        return False
    if fresh:
        inverse *= product / float(change @ change)
    left = np.eye(len(step)) - np.outer(step, change) / product
    inverse[:] = left @ inverse @ left.T + np.outer(step, step) / product
    return True


def _starts(
    claim: Claim,
    shape: Shape,
    parts: Mapping[str, Part],
    moving: Mapping[str, Part],
    rng: np.random.Generator,
    count: int,
) -> tuple[Array, Coordinates]:
    """Starts off the structured instances where both sides vanish: drawn, or structured and stirred, or far off."""
    shaped = structures.structured_batch(claim, shape, rng, count).arrays
    scale = 10.0 ** (rng.uniform(-2, 0.5, count) * (rng.random(count) < 0.6))
    held = {}
    for name, part in parts.items():
        if name not in moving:
            each = (count, *[1] * len(part.shape))
            pattern = part.settle(np.clip(shaped[name], -1e3, 1e3) * scale.reshape(each))
            held[name] = np.where(rng.random(each) < 0.3, rng.standard_normal(pattern.shape), pattern)
            held[name] = part.settle(held[name])
    noise = rng.standard_normal((count, entries_of(moving)))
    drawn = flat_rows({name: part.draw(rng, count) for name, part in moving.items()}, moving, count)
    stirred = np.clip(flat_rows(shaped, moving, count), -1e3, 1e3) + 10.0 ** rng.uniform(-2, 0, (count, 1)) * noise
    gaussian = noise * 10.0 ** rng.uniform(-0.5, 0.7, (count, 1))
    kind = rng.random((count, 1))
    flat = np.select([kind < 0.2, kind < 0.65], [np.clip(drawn, -1e3, 1e3), gaussian], stirred)
    nothing = np.zeros_like(flat)
    mode = rng.random()
    if mode < 0.35:
        wide = noise * 2.0 ** rng.uniform(-1, 2, (count, 1))
        points = np.where(kind < 0.65, wide, np.log(np.maximum(np.abs(flat), 1e-3)))
        return points, Coordinates(shape, moving, nothing, np.where(flat < 0, -1.0, 1.0), None, held)
    if mode < 0.75:
        return flat, Coordinates(shape, moving, nothing, None, _lengths(flat, moving), held)
    base = {}
    for name, part in moving.items():
        along = rng.random((count, *[1] * (len(part.shape) - 1), part.shape[-1])) < 0.5
        each = (count, *[1] * len(part.shape))
        far = 10.0 ** rng.uniform(1, 4, each) * (rng.random(each) < 0.7)
        base[name] = np.broadcast_to(along * far, (count, *part.shape))
    return flat, Coordinates(shape, moving, flat_rows(base, moving, count), None, None, held)


def flat_rows(arrays: Mapping[str, Array], parts: Mapping[str, Part], count: int) -> Array:
    """Arrays of some parts as one row for each instance, (count, entries)."""
    return np.concatenate([arrays[name].reshape(count, -1) for name in parts], axis=1).astype(float)


# ---- equations ----------------------------------------------------------------------------------------------------


def solve(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """Newton's method (Levenberg and Marquardt's) onto the hypotheses, then the solutions rounded to fractions."""
    spent = 0
    while spent < size and claim.assuming:
        shape = climb.climb_shape(claim, rng)
        parts = claim.parts(*shape)
        moving = corners.real(parts)
        entries = entries_of(moving)
        if not 0 < entries <= MOST:
            return
        many = int(np.clip(size // (20 * (entries + len(DAMPING))), 1, 16))
        held = {name: part.draw(rng, many) for name, part in parts.items() if name not in moving}
        points = rng.standard_normal((many, entries)) * 10.0 ** rng.uniform(-0.3, 0.5, (many, 1))
        coordinates = Coordinates(shape, moving, np.zeros_like(points), held=held)
        missed = _Missed(claim, coordinates, rng.random(many) < 0.5)
        points, cost = missed.solved(points, size - spent)
        spent += max(cost, 1)
        if len(points):
            batch = _rounded(coordinates, points, missed.of)
            batch = batch.take(np.arange(min(batch.count, max(size - spent, 1))))
            spent += batch.count
            show(batch)


@dataclass
class _Missed:
    """By how much the hypotheses are missed at points; of those that are `wanted` to fail it, the conclusion too."""

    claim: Claim
    coordinates: Coordinates
    wanted: Array
    of: Array = field(init=False)
    """The starts that the points belong to."""
    usual: Array | None = field(default=None, init=False)

    def solved(self, points: Array, size: int) -> tuple[Array, int]:
        """The points at which nothing is missed any more (of which `of` tells the starts), and the evaluations made."""
        many, entries = points.shape
        self.of = np.arange(many)
        now = self._at(points, self.of)
        spent = many
        for _ in range(ITERATIONS // 4):
            cost = many * (entries + len(DAMPING))
            if now is None or spent + cost > size:
                break
            spent += cost
            step = DIFFERENCE * np.maximum(np.abs(points), 1e-2)
            beside = points[:, None] + np.eye(entries) * step[:, None]
            its = self._at(beside.reshape(-1, entries), np.repeat(self.of, entries))
            if its is None:
                break
            slopes = ((its.reshape(many, entries, -1) - now[:, None]) / step[..., None]).mT
            left, values, right = np.linalg.svd(slopes, full_matrices=False)
            along = np.einsum("smv,sm->sv", left, now)
            largest = values[:, :1] ** 2 + 1e-300
            weights = values[:, None] / (values[:, None] ** 2 + DAMPING[:, None] * largest[:, None])
            tried = points[:, None] - (weights * along[:, None]) @ right
            after = self._at(tried.reshape(-1, entries), np.repeat(self.of, len(DAMPING)))
            if after is None:
                break
            after = after.reshape(many, len(DAMPING), -1)
            best = np.square(after).sum(-1).argmin(-1)
            each = np.arange(many)
            better = np.square(after[each, best]).sum(-1) < np.square(now).sum(-1)
            points = np.where(better[:, None], tried[each, best], points)
            now = np.where(better[:, None], after[each, best], now)
        if now is None:
            return points[:0], spent
        self.of = np.flatnonzero(np.square(now).sum(1) < 1e-14)
        return points[self.of], spent

    def _at(self, points: Array, of: Array) -> Array | None:
        """What is missed at points (count, entries), each entry beside its usual size at the first ones.

        None where the claim has no value for the batch as a whole.
        """
        raw = self.coordinates.batch(points, of)
        try:
            with FLOAT64.working():
                hypotheses = self.claim.hypotheses(self.claim.build(raw)).conjuncts
                margins = [_signed(part).entrywise(raw.count) for part in hypotheses if isinstance(part, Comparison)]
                slack = self.claim.conclude(self.claim.build(raw)).margin(raw.count).relative
        except Exception:  # whatever raises there is met, and reported, by the engines that look at single instances
            return None
        bounded = [part for part in hypotheses if isinstance(part, Comparison)]
        missed = [
            m.slack if part.is_equality else np.minimum(m.slack, 0) for part, m in zip(bounded, margins, strict=True)
        ]
        missed.append(np.where(self.wanted[of], np.maximum(slack + 0.05, 0), 0)[:, None])
        if self.usual is None:
            scales = np.concatenate([*(m.scale for m in margins), np.ones((raw.count, 1))], axis=1)
            scales = np.nan_to_num(np.median(scales, axis=0), nan=1.0, posinf=1.0)
            self.usual = np.where(scales > 0, scales, 1.0)
        return np.clip(np.nan_to_num(np.concatenate(missed, axis=1) / self.usual, nan=1e3), -1e6, 1e6)


def _signed(part: Comparison) -> Comparison:
    """Of an equality the comparison whose slack is the distance with its sign, which Newton's method needs."""
    return AtMost(part.lhs, part.rhs) if part.is_equality else part


def _rounded(coordinates: Coordinates, points: Array, of: Array) -> Batch:
    """Solutions with their entries rounded to whole multiples of 1/q; of weights, in shares of their row."""
    batch = coordinates.batch(points, of)
    arrays: dict[str, list[Array]] = {name: [x] for name, x in batch.arrays.items()}
    for q in range(1, DENOMINATORS + 1):
        for name, part in coordinates.parts.items():
            x = batch.arrays[name]
            if part.kind == "weight":
                sums = np.abs(x).sum(-1, keepdims=True)
                arrays[name].append(np.rint(np.abs(x) / np.where(sums > 0, sums, 1) * q))
            else:
                arrays[name].append(part.settle(np.rint(x * q) / q))
    joined = {name: np.concatenate(found) for name, found in arrays.items()}
    return Batch(*coordinates.shape, joined, (DENOMINATORS + 1) * batch.count)
