"""Which code a claim runs: a claim of the library exercises the reference, or is pure arithmetic and is marked so."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64
from resstream.claim import Batch, Claim

_COUNT = 2
_REFERENCE = Path(__file__).parents[1] / "reference"


def files_used(claim: Claim) -> frozenset[str]:
    """The files whose functions run when the claim is evaluated on a few generic instances of its middle sizes."""
    rng = np.random.default_rng(0)
    sizes = {name: values[len(values) // 2] for name, values in claim.size_ranges().items()}
    options = {name: values[0] for name, values in claim.option_values().items()}
    arrays = {name: part.draw(rng, _COUNT) for name, part in claim.parts(sizes, options).items()}
    used: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            used.add(frame.f_code.co_filename)

    with FLOAT64.working():
        objects = claim.build(Batch(sizes, options, arrays, _COUNT))
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            claim.conclude(objects)
        finally:
            sys.setprofile(before)
    return frozenset(used)


def exercises_reference(claim: Claim) -> bool:
    """Whether the conclusion runs code of `resstream.reference`, its checks of inputs aside."""
    files = (Path(file) for file in files_used(claim))
    return any(file.parent == _REFERENCE and file.name != "checks.py" for file in files)
