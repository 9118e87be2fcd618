"""How much work a run does: one of four profiles."""

from __future__ import annotations

from dataclasses import dataclass

from resstream.errors import ResstreamError
from resstream.falsify.search import Chunk, plan


@dataclass(frozen=True)
class Profile:
    """What a run does for each claim: how many instances each engine looks at, and the floor of survival.

    Fewer accepted instances than `floor` are "gave up".
    """

    examples: int
    """Instances drawn by Hypothesis."""
    batches: int
    """Batches drawn at random, each of one shape."""
    batch: int
    """Instances of a batch."""
    corner_shapes: int
    """Smallest shapes whose degenerate instances are tried."""
    climbs: int
    """Climbs, of 1024 evaluations each."""
    floor: int

    def chunks(self) -> list[Chunk]:
        """The chunks of the search of one claim."""
        return plan(self.examples, self.batches, self.corner_shapes, self.climbs, self.batch)


PROFILES = {
    "quick": Profile(examples=10, batches=2, batch=2048, corner_shapes=4, climbs=1, floor=200),
    "default": Profile(examples=20, batches=3, batch=2048, corner_shapes=6, climbs=1, floor=1000),
    "tenfold": Profile(examples=200, batches=30, batch=2048, corner_shapes=60, climbs=10, floor=10_000),
    "deep": Profile(examples=1000, batches=100, batch=8192, corner_shapes=100, climbs=100, floor=10_000),
}


def profile(name: str) -> Profile:
    """The profile of that name; an unknown name raises ResstreamError."""
    if name not in PROFILES:
        raise ResstreamError(f"profile {name!r}: expected one of {', '.join(PROFILES)}")
    return PROFILES[name]


def as_markdown() -> str:
    """The profiles as a Markdown table: what the README shows."""
    columns = ("profile", "random instances", "corner shapes", "climbs", "drawn by Hypothesis", "floor")
    header = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"
    rows = (
        f"| {name} | {p.batches} x {p.batch:,} | {p.corner_shapes} | {p.climbs} | {p.examples} | {p.floor:,} |\n"
        for name, p in PROFILES.items()
    )
    return header + "".join(rows)
