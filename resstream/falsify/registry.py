"""The engines of the search: objects with one protocol, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim
from resstream.falsify import climb, corners, curvature, descent, engines, growth, integers, patterns, structures
from resstream.falsify.corners import Show
from resstream.falsify.scores import Scoring, gauged_scores, scores_of

BATCH = 8192
"""Instances in a chunk of the random engine."""

SUSPECTS = 8
"""Instances of a batch that are judged for their float64 margin; as many again are judged by lot."""


class Examine(Protocol):
    """What a chunk shows its batches to: scores, the lower the nearer to a violation.

    Suspects are judged, with `ties` those that float64 shows as ties too, and `by_lot` more.
    """

    def __call__(self, raw: Batch, by_lot: int = 0, scoring: Scoring = scores_of, ties: bool = True) -> Array: ...


@dataclass(frozen=True)
class Orders:
    """What a chunk is given: `rng` and `number` are its own, `size` is how many evaluations it may spend."""

    claim: Claim
    number: int
    size: int
    rng: np.random.Generator
    examine: Examine

    def show(self, raw: Batch) -> Array:
        """The scores of a batch, of which suspects alone are judged."""
        return self.examine(raw)

    def gauge(self, raw: Batch) -> Array:
        """The same, with scores that tell sizes apart beside a side that is always zero; ties are no suspects."""
        return self.examine(raw, scoring=gauged_scores, ties=False)


Kind = Callable[[Orders], None]
"""A kind of chunk: a pure function of its orders, in that the same ones show the same batches."""


@dataclass(frozen=True)
class Engine:
    """A way to look for a violation, with the kinds of its chunks."""

    name: str
    kinds: Mapping[str, Kind]


def _random(orders: Orders) -> None:
    orders.examine(engines.random_batch(orders.claim, orders.rng, orders.size), SUSPECTS)


def _corners(orders: Orders) -> None:
    shapes = corners.shapes(orders.claim)
    orders.examine(corners.corner_batch(orders.claim, shapes[orders.number % len(shapes)], orders.rng, orders.size), 2)


def _scan(orders: Orders) -> None:
    orders.examine(corners.scan_batch(orders.claim, orders.rng, orders.number, BATCH), 2)


def _shown(look: Callable[[Claim, np.random.Generator, int, Show], None]) -> Kind:
    """A kind of chunk that is one call, which goes by the scores of what it shows."""
    return lambda orders: look(orders.claim, orders.rng, orders.size, orders.show)


def _gauged(look: Callable[[Claim, np.random.Generator, int, Show], None]) -> Kind:
    """The same, by scores that tell sizes apart beside a side that is always zero."""
    return lambda orders: look(orders.claim, orders.rng, orders.size, orders.gauge)


def _hypothesis(orders: Orders) -> None:
    seed = int(orders.rng.integers(2**32))
    engines.hypothesis_instances(orders.claim, orders.size, seed, lambda raw: float(orders.show(raw)[0]))


REGISTRY: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine("corners", {"corners": _corners, "scan": _scan}),
        Engine("random", {"random": _random}),
        Engine("climb", {"climb": _shown(climb.climb), "evolution": _shown(climb.differential_evolution)}),
        Engine("structures", {"structures": _shown(structures.sweep)}),
        Engine("patterns", {"patterns": _gauged(patterns.pattern_search)}),
        Engine("growth", {"growth": _gauged(growth.grow)}),
        Engine("descent", {"descent": _gauged(descent.descend)}),
        Engine("curvature", {"curvature": _gauged(curvature.bend_down)}),
        Engine("equations", {"equations": _shown(descent.solve)}),
        Engine("integers", {"scans": _shown(integers.coordinate_scans), "sums": _shown(integers.combinations)}),
        Engine("hypothesis", {"hypothesis": _hypothesis}),
    )
}
"""The engines, in the order in which a plan first calls them."""

ENGINE_OF: Mapping[str, Engine] = {kind: engine for engine in REGISTRY.values() for kind in engine.kinds}
"""The engine that a kind of chunk belongs to."""

__all__ = ["BATCH", "ENGINE_OF", "REGISTRY", "SUSPECTS", "Engine", "Examine", "Orders"]
