"""Places that floats find violated, and as many of the tightest as one asks for, judged in exact arithmetic."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from resstream.errors import ResstreamError
from resstream.falsify.at import at
from resstream.falsify.judge import HOLDS, TIED, VIOLATED
from resstream.observe.bind import Binding
from resstream.observe.seen import Activations
from resstream.observe.table import Line, Place, objects_at

MOST_SUSPECTS = 3
"""Places of one claim that are judged because floats find them violated; the rest counts as undecided."""


def judged(line: Line, binding: Binding, seen: Activations, certify: int, seed: int) -> Line:
    """The line with what exact arithmetic says of its suspects and of its tightest places."""
    suspects = [place for place in line.places if place.suspects]
    others = [place for place in line.places if not place.suspects and place.met]
    tightest = sorted(others, key=lambda place: -(place.tightness or 0.0))[:certify]
    violated, certified, tied = [], 0, 0
    undecided = max(0, len(suspects) - MOST_SUSPECTS)
    for place in [*suspects[:MOST_SUSPECTS], *tightest]:
        outcome = _outcome(binding, place, seen, seed, line.around)
        violated += [str(place.site)] if outcome == VIOLATED else []
        certified += outcome == HOLDS
        tied += outcome == TIED
        undecided += outcome not in (VIOLATED, HOLDS, TIED)
    return dataclasses.replace(line, violated=violated, certified=certified, tied=tied, undecided=undecided)


def _outcome(binding: Binding, place: Place, seen: Activations, seed: int, around: float | None) -> str:
    objects = one_of(objects_at(binding, place, seen, seed, around), place.worst)
    try:
        return at(binding.claim, objects, binding.counts(objects)).outcome
    except ResstreamError:  # what was drawn in floats (a rotation, say) is no exact member of its domain
        return "undecided"


def one_of(objects: Mapping[str, Any], index: int) -> dict[str, Any]:
    """One instance of objects of which some are batches."""
    return {
        name: value[min(index, len(value) - 1)] if isinstance(value, np.ndarray) and value.ndim > 2 else value
        for name, value in objects.items()
    }
