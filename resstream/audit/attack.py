"""The searches of an audit: the falsifier's, but Ctrl-C ends the whole audit and not one of its many searches."""

from __future__ import annotations

from resstream.claim import Claim
from resstream.falsify.search import FLOOR, budget_plan, search
from resstream.falsify.verdict import Verdict


def searched(claim: Claim, budget: int, seed: int, floor: int = FLOOR) -> Verdict:
    """A search without shrinking."""
    return heeded(search(claim, budget_plan(claim, budget), seed, floor))


def heeded(verdict: Verdict) -> Verdict:
    """The verdict, unless Ctrl-C ended its search: then KeyboardInterrupt, which the search has caught, is raised."""
    if any(note.startswith("interrupted") for note in verdict.notes):
        raise KeyboardInterrupt
    return verdict
