"""Shrinking a violating instance, exactly: simpler and simpler raw numbers, each step judged again.

The order is total and stated by `cost`: sizes, then options, then nonzero entries, then how much there is to write.
Candidates are filtered in float64 by the batch and judged from the simplest on, so a step costs a few judgements. What
is reached is a local minimum: no move listed here gives a simpler instance that still violates.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim, Instance
from resstream.domains import Part
from resstream.errors import ClaimFault
from resstream.falsify import climb, corners
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.judge import PRECISIONS

JUDGED = 6
"""Candidates of a batch that are judged before it is given up."""

ENUMERATED = 2048
"""Instances of the reached shape that are enumerated or sampled for a simpler one."""

SEARCHED = 1024
"""Evaluations of a climb at the next smaller shapes, where leaving out a row or a column does not do."""

Cost = tuple[Any, ...]


# ---- the order --------------------------------------------------------------


@lru_cache(maxsize=65536)
def entry_cost(value: float) -> int:
    """How much there is to an entry: 0 for zero, 1 for one; more for digits, denominators and signs."""
    if value == 0:
        return 0
    exact = tidy(value)
    if exact.numerator == exact.denominator:
        return 1
    return 2 * (_digits(abs(exact.numerator)) + 2 * _digits(exact.denominator)) + (exact < 0) - 5


def _digits(number: int) -> int:
    """Bits of a number without its trailing decimal zeros, and a little for those."""
    zeros = 0
    while number % 10 == 0:
        number //= 10
        zeros += 1
    return number.bit_length() + math.isqrt(4 * zeros)


@lru_cache(maxsize=65536)
def tidy(value: float) -> Fraction:
    """The simplest fraction that rounds to this float64: 1/3 or 1/10 where it is as near as a float can be."""
    value = float(value)
    if value.is_integer() and abs(value) < 2**53:
        return Fraction(int(value))
    near = Fraction(value).limit_denominator(1000)
    return near if float(near) == value else Fraction(repr(value))


def _costs(raw: Batch) -> tuple[Array, Array]:
    """For each instance of a batch: its nonzero entries, and the sum of the costs of its entries."""
    if not raw.arrays or not raw.count:
        return np.zeros(raw.count), np.zeros(raw.count)
    flat = np.concatenate([np.reshape(x, (raw.count, -1)) for x in raw.arrays.values()], axis=1)
    values, places = np.unique(flat, return_inverse=True)
    table = np.array([entry_cost(float(value)) for value in values])
    return np.count_nonzero(flat, axis=1), table[places.reshape(flat.shape)].sum(axis=1)


def cost(claim: Claim, raw: Instance) -> Cost:
    """The place of an instance in the order (float64 raw entries)."""
    nonzero, total = _costs(raw.batch())
    return (*_shape_cost(claim, raw), int(nonzero[0]), int(total[0]), *_last(raw))


def _shape_cost(claim: Claim, raw: Instance | Batch) -> Cost:
    options = tuple(values.index(raw.options[name]) for name, values in claim.option_values().items())
    sizes = tuple(raw.sizes.values())
    return (sum(sizes), sizes, options)


def _last(raw: Instance) -> Cost:
    """What tells instances of equal cost apart, so that the order is total."""
    return (
        tuple(float(v) for x in raw.arrays.values() for v in -np.abs(x).reshape(-1)),
        tuple(float(v) for x in raw.arrays.values() for v in x.reshape(-1)),
    )


# ---- the shrinker -----------------------------------------------------------


@dataclasses.dataclass
class Shrinker:
    """Holds the simplest violating instance so far: `floats` as the search sees it, `certificate` as certified.

    `better` is called with every improvement, so that an interruption loses none.
    """

    claim: Claim
    floats: Instance
    certificate: Certificate
    better: Callable[[Instance], None] = lambda _: None
    tidying: bool = False
    steps: int = 0

    @classmethod
    def of(cls, claim: Claim, found: Instance, better: Callable[[Instance], None] = lambda _: None) -> Shrinker:
        """A shrinker that starts from an instance whose violation is certified."""
        certificate = certify(claim, found)
        if not isinstance(certificate, Certificate):
            raise ClaimFault(f"claim {claim.id}: expected a violating instance to shrink, got one that {certificate}")
        floats = Instance(found.sizes, found.options, {k: np.asarray(x, dtype=float) for k, x in found.arrays.items()})
        shrinker = cls(claim, floats, certificate, better)
        shrinker.tidying = True
        tidied = certify(claim, shrinker._exact(floats))
        if isinstance(tidied, Certificate):
            shrinker.certificate = tidied
        else:  # the violation hangs on the very last digits
            shrinker.tidying = False
        return shrinker

    @property
    def exact(self) -> Instance:
        """The simplest instance, in exact numbers."""
        return self.certificate.raw

    def run(self) -> None:
        """Shrink to a local minimum."""
        rng = np.random.default_rng(0)
        self._shapes(rng)
        self._sampled(rng)
        while True:
            if any(self._try(batch) for batch in self._moves()):
                continue
            if not self._shapes(rng):
                return

    def _exact(self, floats: Instance) -> Instance:
        read = np.frompyfunc(tidy if self.tidying else Fraction, 1, 1)
        arrays = {}
        for name, x in floats.arrays.items():
            exact = np.empty(x.shape, dtype=object)
            exact[...] = read(x)
            arrays[name] = exact
        return dataclasses.replace(floats, arrays=arrays)

    def _try(self, batch: Batch) -> bool:
        """Take the simplest instance of a batch that is simpler than the present one and certainly violates."""
        if not batch.count:
            return False
        here = cost(self.claim, self.floats)
        shape = _shape_cost(self.claim, batch)
        if shape > here[: len(shape)]:
            return False
        batch = self._suspects(batch)
        nonzero, total = _costs(batch)
        order = np.lexsort((np.arange(len(total)), total, nonzero))
        if shape == here[: len(shape)]:
            simpler = (nonzero < here[3]) | ((nonzero == here[3]) & (total <= here[4]))
            order = order[simpler[order]]
        for index in order[:JUDGED]:
            candidate = batch.at(int(index))
            if cost(self.claim, candidate) < here and self._accept(candidate):
                return True
        return False

    def _suspects(self, batch: Batch) -> Batch:
        """Those that violate in float64, unless nothing is left of the violation when the entries are nudged."""
        from resstream.falsify.search import steady

        try:
            assessment = self.claim.assess(batch)
        except Exception:  # what cannot be evaluated is no simpler counterexample
            return batch.take(np.zeros(0, dtype=int))
        met = batch.take(np.flatnonzero(assessment.met))
        relative = assessment.conclusion.relative
        chosen = np.flatnonzero(relative < 0)
        suspects = met.take(chosen)
        if len(chosen) > JUDGED and not self.claim.assuming:
            stays = steady(self.claim, suspects, relative[chosen])
            if stays.any():
                return suspects.take(np.flatnonzero(stays))
        return suspects

    def _accept(self, candidate: Instance) -> bool:
        exact = self._exact(candidate)
        try:
            certificate = certify(self.claim, exact, PRECISIONS[:2])
        except Exception:  # a claim that raises there is a finding of its own, and no simpler counterexample
            return False
        if not isinstance(certificate, Certificate):
            return False
        self.floats, self.certificate = candidate, certificate
        self.steps += 1
        self.better(exact)
        return True

    # -- shapes

    def _shapes(self, rng: np.random.Generator) -> bool:
        """Lower sizes one by one and take simpler options, as far as that goes."""
        changed = False
        while self._try_shapes(self._left_out) or self._try_shapes(lambda shape: self._climbed(shape, rng)):
            changed = True
        return changed

    def _try_shapes(self, instances: Callable[[corners.Shape], Batch | None]) -> bool:
        for shape in self._smaller_shapes():
            batch = instances(shape)
            if batch is not None and self._try(batch):
                return True
        return False

    def _smaller_shapes(self) -> Iterator[corners.Shape]:
        sizes, options = dict(self.floats.sizes), dict(self.floats.options)
        for name, values in self.claim.size_ranges().items():
            lower = [value for value in values if value < sizes[name]]
            if lower:
                yield {**sizes, name: max(lower)}, options
        for name, choices in self.claim.option_values().items():
            for choice in choices[: choices.index(options[name])]:
                yield sizes, {**options, name: choice}

    def _left_out(self, shape: corners.Shape) -> Batch | None:
        """The present instance with one index less on the axes that have become shorter, each index in turn."""
        parts = self.claim.parts(*shape)
        longest = max((x.shape[axis] for name, x in self._overlap(parts).items() for axis in range(x.ndim)), default=1)
        instances = [self._without(parts, index) for index in range(longest)]
        arrays = {name: np.stack([instance[name] for instance in instances]) for name in parts}
        return Batch(*shape, arrays, longest)

    def _overlap(self, parts: Mapping[str, Part]) -> dict[str, Array]:
        return {name: x for name, x in self.floats.arrays.items() if name in parts}

    def _without(self, parts: Mapping[str, Part], index: int) -> dict[str, Array]:
        arrays = {}
        for name, part in parts.items():
            x = self.floats.arrays.get(name, np.zeros(part.shape))
            for axis, length in enumerate(part.shape):
                while x.shape[axis] > length:
                    x = np.delete(x, min(index, x.shape[axis] - 1), axis=axis)
                if x.shape[axis] < length:
                    x = np.concatenate(
                        [x, np.zeros((*x.shape[:axis], length - x.shape[axis], *x.shape[axis + 1 :]))], axis
                    )
            arrays[name] = part.settle(x)
        return arrays

    def _climbed(self, shape: corners.Shape, rng: np.random.Generator) -> Batch | None:
        """Violations that a short climb from the left-out instances and from corners meets at a smaller shape."""
        start = self._left_out(shape)
        parts = self.claim.parts(*shape)
        if start is None or not parts:
            return None
        met: list[Batch] = []
        fresh = climb.starts(self.claim, shape, rng, 512)
        batch = corners.corner_batch(self.claim, shape, rng, 1024)
        pool = Batch(
            *shape,
            {name: np.concatenate([start.arrays[name], batch.arrays[name], fresh.arrays[name]]) for name in parts},
            start.count + batch.count + fresh.count,
        )
        size = pool.count + SEARCHED

        def show(raw: Batch) -> Array:
            scores = _scores(self.claim, raw)
            found = np.flatnonzero(scores < -1e-9)
            if len(found):
                met.append(raw.take(found))
                raise _Met
            return scores

        try:
            climb.climb(self.claim, rng, size, show, pool)
        except _Met:
            return met[0]
        return None

    # -- values

    def _sampled(self, rng: np.random.Generator) -> None:
        """The simplest violation among the small integers of the shape, or among corners where they are too many."""
        parts = self.claim.parts(self.floats.sizes, self.floats.options)
        shape = (dict(self.floats.sizes), dict(self.floats.options))
        self._try(corners.corner_batch(self.claim, shape, rng, ENUMERATED))
        if parts:
            self._try(Batch(*shape, corners.sample(parts, rng, ENUMERATED), ENUMERATED))
        for name, part in parts.items():
            if part.kind == "whole":
                for place in range(part.entries):
                    self._try(self._all_lower(name, place, part))

    def _all_lower(self, name: str, place: int, part: Part) -> Batch:
        here = int(self.floats.arrays[name].reshape(-1)[place])
        reach = min(abs(here - part.anchor), 65536)
        values = np.arange(max(part.low, part.anchor - reach), min(part.high, part.anchor + reach) + 1)
        batch = _repeated(self.floats, len(values))
        batch.arrays[name].reshape(len(values), part.entries)[:, place] = values
        return batch

    def _moves(self) -> Iterator[Batch]:
        """Batches of simpler instances, the boldest first."""
        parts = self.claim.parts(self.floats.sizes, self.floats.options)
        if not parts:
            return
        flat = np.concatenate([x.reshape(-1) for x in self.floats.arrays.values()])
        groups = self._groups(parts)
        yield self._settled(parts, _wholesale(flat, groups))
        yield self._settled(parts, _single(flat))
        yield self._settled(parts, _in_groups(flat, groups))
        yield self._settled(parts, _pairs(flat))

    def _settled(self, parts: Mapping[str, Part], rows: Array) -> Batch:
        rows = np.unique(rows[np.isfinite(rows).all(axis=1)], axis=0)
        ordered = {name: parts[name] for name in self.floats.arrays}
        arrays = {name: parts[name].settle(x) for name, x in corners.split(ordered, rows).items()}
        return Batch(self.floats.sizes, self.floats.options, arrays, len(rows))

    def _groups(self, parts: Mapping[str, Part]) -> list[Array]:
        """Places of the flat entries that belong together: all, each part, each row, each column."""
        groups: list[Array] = []
        start = 0
        for name in self.floats.arrays:
            shape = parts[name].shape
            places = start + np.arange(int(np.prod(shape))).reshape(-1, *shape[-2:])
            start += places.size
            groups.append(places.reshape(-1))
            for block in places:
                groups += [*block, *block.T]
        return [np.arange(start), *groups]


class _Met(Exception):
    """A climb has met a violation."""


def _scores(claim: Claim, raw: Batch) -> Array:
    from resstream.falsify.search import scores_of

    try:
        return scores_of(claim.assess(raw))
    except Exception:  # a claim that raises there is a finding of its own, and no simpler counterexample
        return np.full(raw.count, 4.0)


def _repeated(raw: Instance, count: int) -> Batch:
    arrays = {name: np.repeat(x[None], count, axis=0) for name, x in raw.arrays.items()}
    return Batch(raw.sizes, raw.options, arrays, count)


_SMALL = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 10.0, 0.1)


def _simpler(values: Array) -> list[Array]:
    """Simpler numbers near each value: whole, with few digits, with small denominators, halved, without its sign."""
    size = np.where(values == 0, 1.0, np.abs(values))
    decade = 10.0 ** np.floor(np.log10(size))
    out = [np.abs(values), np.rint(values), np.floor(values), np.ceil(values), values / 2, np.rint(values / 2)]
    out += [np.rint(values / decade * digits) / digits * decade for digits in (1, 10, 100, 1000)]
    out += [np.rint(values * denominator) / denominator for denominator in (2, 3, 4, 5, 8, 10, 100)]
    out += [np.sign(values) * decade, np.sign(values) * decade * 10, values / 10, values * 10, values - np.sign(values)]
    # A rounded decimal is one again, and not its neighbour in the last place.
    rounded, places = np.unique(np.stack(out), return_inverse=True)
    return list(np.array([float(f"{v:.15g}") for v in rounded])[places.reshape(len(out), *values.shape)])


def _single(flat: Array) -> Array:
    """Every entry replaced, one at a time."""
    count = len(flat)
    choices = [*(np.full(count, value) for value in _SMALL), *_simpler(flat)]
    rows = np.repeat(flat[None], count * len(choices), axis=0)
    for k, values in enumerate(choices):
        rows[k * count + np.arange(count), np.arange(count)] = values
    return rows


def _wholesale(flat: Array, groups: list[Array]) -> Array:
    """Groups of entries made all zero, all one, or equal to another group of their length."""
    rows = []
    for group in groups:
        for value in (0.0, 1.0):
            row = flat.copy()
            row[group] = value
            rows.append(row)
        for other in groups:
            if len(other) == len(group) and other is not group:
                row = flat.copy()
                row[group] = flat[other]
                rows.append(row)
    return np.array(rows)


def _in_groups(flat: Array, groups: list[Array]) -> Array:
    """Groups scaled so that one of their entries becomes simple, and groups rounded together."""
    rows = []
    for group in groups:
        values = flat[group]
        factors = {1.0, 0.5, 2.0, 0.1, 10.0, -1.0} | {1 / abs(v) for v in values if v and math.isfinite(1 / v)}
        scaled = values * np.array(sorted(factors))[:, None]
        simple = np.concatenate([scaled, *_simpler(scaled)])
        block = np.repeat(flat[None], len(simple), axis=0)
        block[:, group] = simple
        rows.append(block)
    return np.concatenate(rows)


def _pairs(flat: Array) -> Array:
    """Every two entries replaced by small numbers, or rounded together; the nonzero ones where there are many."""
    places = np.arange(len(flat)) if len(flat) <= 16 else np.flatnonzero(flat)[:16]
    first, second = np.triu_indices(len(places), 1)
    first, second = places[first], places[second]
    choices = [(a, b) for a in _SMALL[:5] for b in _SMALL[:5]]
    rows = np.repeat(flat[None], len(first) * len(choices), axis=0)
    for k, (a, b) in enumerate(choices):
        block = slice(k * len(first), (k + 1) * len(first))
        rows[block][np.arange(len(first)), first] = a
        rows[block][np.arange(len(first)), second] = b
    moved = np.repeat(flat[None], len(first), axis=0)  # one entry gives up what another one takes
    moved[np.arange(len(first)), second] += flat[first]
    moved[np.arange(len(first)), first] = 0
    return np.concatenate([rows, moved])
