"""Counterexample memory: what was found is kept in Hypothesis's example database, and tried first next time."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis.database import DirectoryBasedExampleDatabase

from resstream.claim import Claim, Instance
from resstream.errors import ClaimError
from resstream.falsify.counterexample import raw_from_json, raw_to_json

DIRECTORY = Path(".hypothesis") / "examples"
"""Where Hypothesis keeps its examples, from the directory in which it runs."""

RECALLED = 16
"""Instances of a claim that are tried at most."""


class Memory:
    """Instances that once refuted a claim, by the id of the claim (its modifications share one memory)."""

    def __init__(self, directory: str | Path = DIRECTORY) -> None:
        self._database = DirectoryBasedExampleDatabase(str(directory))

    def remember(self, claim: Claim, raw: Instance) -> bool:
        """Keep an exact instance; whether it is there now (Hypothesis says nothing of a directory it cannot write)."""
        value = json.dumps(raw_to_json(raw), sort_keys=True).encode()
        self._database.save(_key(claim), value)
        return value in set(self._database.fetch(_key(claim)))

    def recall(self, claim: Claim) -> list[Instance]:
        """The instances kept for a claim, in a fixed order; what is broken or does not fit is passed over."""
        found = []
        for value in sorted(self._database.fetch(_key(claim)), key=lambda value: (len(value), value))[:RECALLED]:
            try:
                found.append(raw_from_json(claim, json.loads(value)))
            except (ClaimError, ValueError, RecursionError):
                continue
        return found


def _key(claim: Claim) -> bytes:
    return b"resstream:" + claim.id.removesuffix("+modified").encode()
