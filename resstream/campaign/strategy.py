"""Where the next chunk goes: shares of time, larger for claims of which the last chunks brought something new.

A chunk has brought something if the nearest instance that it saw lies in a region that no chunk of the claim had come
nearest in (its sizes, its options, the order of magnitude of its margin), or if the smallest margin fell by a
hundredth. Of each claim the share of such chunks is kept, newer ones counting more, starting from one: whoever is new
is promising. Each claim has one chunk first; then the time that a claim has is held in proportion to a half and this
share, so that one which always brings something has three times the time of one that brings nothing, and nothing is
given up, however little it promised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from resstream.claim import Instance

KEPT = 0.85
"""What a chunk counts beside the next one."""

FALL = 0.99
"""The smallest margin has fallen when it is below so much of what it was."""

LEAST = 0.5
"""What is added to the share of chunks that brought something: what a claim has that brings nothing."""


def region_of(nearest: Instance | None, margin: float) -> str:
    """Where an instance lies: its sizes, its options, the order of magnitude of its relative margin."""
    if nearest is None:
        return ""
    magnitude = "0" if margin <= 0 else f"1e{math.floor(math.log10(margin))}"
    return " ".join([*(f"{name}={value}" for name, value in {**nearest.sizes, **nearest.options}.items()), magnitude])


@dataclass
class Standing:
    """What is known of a claim that is being searched."""

    seconds: float = 0.0
    chunks: int = 0
    promise: float = 1.0
    best: float = math.inf
    regions: set[str] = field(default_factory=set)
    pending: int = 0
    """Chunks that are under way."""

    def saw(self, margin: float | None, region: str, seconds: float) -> bool:
        """One more chunk is done; whether it brought something new."""
        fell = margin is not None and 0 < margin < FALL * self.best
        new = bool(region) and region not in self.regions
        self.regions.add(region)
        self.best = min(self.best, math.inf if margin is None else margin)
        self.seconds += seconds
        self.chunks += 1
        self.promise = KEPT * self.promise + (1 - KEPT) * (fell or new)
        return fell or new

    @property
    def cost(self) -> float:
        """Seconds of a chunk, so far."""
        return self.seconds / self.chunks if self.chunks else 0.0

    @property
    def spent(self) -> float:
        """Seconds that it had, or will have had when what is under way is done."""
        return self.seconds + self.pending * self.cost


def choose(standings: Iterable[tuple[str, Standing]]) -> str | None:
    """The claim that the next chunk goes to; None where there is none. Of several: the first."""
    standings = list(standings)
    new = (key for key, one in standings if not one.chunks and not one.pending)
    return next(new, None) or _least(standings, lambda one: one.spent / (LEAST + one.promise))


def equal(standings: Iterable[tuple[str, Standing]]) -> str | None:
    """Equal shares of time, which the strategy is held against: the claim that had the least."""
    return _least(standings, lambda one: one.spent)


def _least(standings: Iterable[tuple[str, Standing]], measure: Callable[[Standing], float]) -> str | None:
    ranked = min(standings, key=lambda one: (measure(one[1]), one[1].pending), default=None)
    return ranked and ranked[0]
