"""How false a false claim is: the largest certified ratio of its sides, for every value of its sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from resstream.arithmetic import Array
from resstream.audit.ascent import ascend
from resstream.audit.attack import Attack, certified, scores
from resstream.audit.families import measure
from resstream.audit.sharpness import VALUES, ratio_of
from resstream.audit.witnesses import Witnesses
from resstream.claim import Batch, Claim, Instance
from resstream.falsify import climb
from resstream.falsify.certify import Certificate

CLIMB = 3072
"""Evaluations of a climb at one shape."""

ROUNDS = 3
"""How often a surviving claim is climbed at each shape."""

TOP = 3
"""Instances of a shape that are judged."""

LOWEST = 1e-8 - 1
"""The score where a side is nothing beside the other, or of the other sign, to rounding: none is lower."""


@dataclass
class Worst:
    """The largest ratio of the sides by size (beyond 1 where the claim fails), and the certificate of the largest."""

    by_size: dict[str, dict[int, float]] = field(default_factory=dict)
    certificate: Certificate | None = None

    def count(self, sizes: Mapping[str, int], ratio: float) -> None:
        """Keep a certified ratio."""
        for name, value in sizes.items():
            row = self.by_size.setdefault(name, {})
            row[value] = max(row.get(value, 0.0), ratio)


def worst(claim: Claim, attack: Attack, witnesses: Witnesses) -> Worst:
    """Climb to the largest violation at every value of every size, with all else as at the worst one known."""
    found = Worst()
    rng = np.random.default_rng([attack.seed, *claim.seed_words(), 29])
    own = [w for w in witnesses.found if set(w.counterexample.claim.over.items()) == set(claim.over.items())]
    if not own or claim.batched is False:
        return found
    start = min(own, key=lambda w: w.counterexample.judgement.margin).raw
    for sizes in _shapes(claim, start):
        if attack.left() <= 0:
            break
        for raw in _climbed(claim, attack, sizes, start, rng):
            _judge(claim, raw, found, witnesses, attack)
    return found


def uphill(claim: Claim, attack: Attack, start: Instance, stream: int = 0) -> Certificate | None:
    """A counterexample by climbs of their own at every value of every size, with all else as at an instance.

    A violation in a narrow valley is found by one climb of a few: a search draws many instances and climbs little.
    """
    if claim.batched is False:
        return None
    rng = np.random.default_rng([attack.seed, *claim.seed_words(), 31, stream])
    for _ in range(ROUNDS):
        for sizes in _shapes(claim, start):
            if attack.left() <= 0:
                return None
            for raw in _climbed(claim, attack, sizes, start, rng):
                certificate = certified(claim, raw)
                if certificate is not None:
                    return certificate
    return None


def _shapes(claim: Claim, start: Instance) -> list[dict[str, int]]:
    """The sizes of an instance, and those with one of them at each of its values."""
    shapes = [dict(start.sizes)]
    for name, values in claim.size_ranges().items():
        shapes += [{**start.sizes, name: value} for value in list(values)[:VALUES]]
    return list({tuple(shape.items()): shape for shape in shapes}.values())


def _climbed(
    claim: Claim, attack: Attack, sizes: Mapping[str, int], start: Instance, rng: np.random.Generator
) -> list[Instance]:
    score = scores(claim)
    seen: list[tuple[float, Instance]] = []

    def show(raw: Batch) -> Array:
        values = score(raw)
        order = np.argsort(values, kind="stable")[:TOP]
        seen.extend((float(values[place]), raw.at(int(place))) for place in order if values[place] < 1)
        seen.sort(key=lambda pair: pair[0])
        del seen[TOP:]
        return values

    begin = climb.starts(claim, (dict(sizes), dict(start.options)), rng, 1024)
    climb.climb(claim, rng, CLIMB, show, begin)
    if dict(sizes) == dict(start.sizes):
        floats = {key: np.asarray(x, dtype=float) for key, x in start.arrays.items()}
        seen.append((0.0, Instance(start.sizes, start.options, floats)))
    tops = [ascend(claim, raw, score, attack.left)[1] for value, raw in seen[:2] if value > LOWEST]
    return [*tops, *(raw for _, raw in seen)]


def _judge(claim: Claim, raw: Instance, found: Worst, witnesses: Witnesses, attack: Attack) -> None:
    certificate = certified(claim, raw)
    if certificate is None:
        measured = measure(claim, raw)
        if measured is not None:
            found.count(raw.sizes, float(measured.ratio))
        return
    margin = certificate.judgement.margin
    if margin > -1:
        found.count(raw.sizes, float(ratio_of(margin)))
    known = found.certificate
    if known is None or margin < known.judgement.margin:
        found.certificate = certificate
    if witnesses.within({name: (size,) for name, size in raw.sizes.items()}, {}) is None:
        witnesses.add(certificate, attack.seed, "ascent")
