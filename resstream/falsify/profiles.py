"""How much work a run does: one of three profiles."""

from __future__ import annotations

from dataclasses import dataclass

from resstream.errors import ResstreamError
from resstream.falsify.search import Chunk, plan


@dataclass(frozen=True)
class Profile:
    """What a run does for each claim: instances drawn by Hypothesis, batches drawn at random, the floor of survival.

    Fewer accepted instances than `floor` are "gave up".
    """

    examples: int
    batches: int
    floor: int

    def chunks(self) -> list[Chunk]:
        """The chunks of the search of one claim."""
        return plan(self.examples, self.batches)


PROFILES = {
    "quick": Profile(examples=50, batches=1, floor=200),
    "default": Profile(examples=100, batches=2, floor=1000),
    "deep": Profile(examples=1000, batches=100, floor=10_000),
}


def profile(name: str) -> Profile:
    """The profile of that name; an unknown name raises ResstreamError."""
    if name not in PROFILES:
        raise ResstreamError(f"profile {name!r}: expected one of {', '.join(PROFILES)}")
    return PROFILES[name]
