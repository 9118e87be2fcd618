"""Places that floats find violated, and as many of the tightest as one asks for, judged in exact arithmetic."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from resstream.errors import ResstreamError
from resstream.falsify.at import at
from resstream.falsify.judge import HOLDS, OUTSIDE, TIED, UNDECIDED, VIOLATED
from resstream.observe.bind import Binding
from resstream.observe.seen import Activations
from resstream.observe.table import Line, Place, objects_at

MOST_DRAWN = 8192
"""Raw numbers of a drawn object, beyond which it is not built exactly: its products take minutes at width 100."""

MOST_SUSPECTS = 3
"""Places of one claim that are judged because floats find them violated; the rest is counted as unjudged."""


def judged(line: Line, binding: Binding, seen: Activations, certify: int, seed: int) -> Line:
    """The line with what exact arithmetic says of its suspects and of its tightest places.

    Where perturbations are asked for, the tightest of the objects themselves are judged a second time, as balls of that
    radius, all members of the domains at once.
    """
    suspects = [place for place in line.places if place.suspects]
    others = [place for place in line.places if not place.suspects and place.met and not place.draw]
    tightest = sorted(others, key=lambda place: -(place.tightness or 0.0))[:certify]
    violated, certified, tied, unsettled = [], 0, 0, ""
    undecided = 0
    for place in [*suspects[:MOST_SUSPECTS], *tightest]:
        outcome, reason = _outcome(binding, place, seen, seed, line.around)
        violated += [str(place.site)] if outcome == VIOLATED else []
        certified += outcome == HOLDS
        tied += outcome == TIED
        if outcome not in (VIOLATED, HOLDS, TIED):
            undecided += 1
            unsettled = unsettled or f"{place.site}: {reason}"
    balls = whole = 0
    if line.around is not None and line.is_bound:  # of an equality no ball holds whole
        found = [_outcome(binding, place, seen, seed, line.around, ball=True)[0] for place in tightest]
        balls, whole = len(found), found.count(HOLDS)
    return dataclasses.replace(
        line,
        violated=violated,
        certified=certified,
        tied=tied,
        undecided=undecided,
        unjudged=max(0, len(suspects) - MOST_SUSPECTS),
        unsettled=unsettled,
        balls=balls,
        whole_balls=whole,
    )


def _outcome(
    binding: Binding, place: Place, seen: Activations, seed: int, around: float | None, ball: bool = False
) -> tuple[str, str]:
    """What the judge says of the instance of a place that is nearest to a violation, and why where it says nothing."""
    objects = one_of(objects_at(binding, place, seen, seed, around), place.worst)
    for name in binding.drawn:
        numbers = sum(array.size for array in objects[name].raw.values())
        if numbers > MOST_DRAWN:
            domain = binding.claim.over[name]
            return UNDECIDED, f"{name} is drawn from {domain} by {numbers:,} numbers, more than are built exactly"
    try:
        found = at(binding.claim, objects, binding.counts(objects), around if ball else None)
    except ResstreamError as failure:
        return UNDECIDED, str(failure)
    if found.outcome == OUTSIDE:
        return OUTSIDE, "its hypotheses are not met exactly, by less than floats can tell"
    return found.outcome, found.judgement.reason


def one_of(objects: Mapping[str, Any], index: int) -> dict[str, Any]:
    """One instance of objects of which some are batches."""
    return {
        name: value[min(index, len(value) - 1)] if isinstance(value, np.ndarray) and value.ndim > 2 else value
        for name, value in objects.items()
    }
