"""What must hold for an expression to have a value: divisors that are not zero, radicands that are not negative.

Numbers decide that as they are computed. An expression whose value is not known cannot, so symbolic and solver entries
note it here, and a proof is one only when all that was noted is proved too. Terms decide, and note it for the reader
of a certificate, and so also which way a branch went.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

NONZERO, NONNEGATIVE, POSITIVE, ZERO = "!=", ">=", ">", "=="


@dataclass(frozen=True)
class Obligation:
    """An entry that must be `kind` zero, and for what: "divisor in line 3 of mine.py".

    known: how many conditions its system knew by then. What was added later may rest on this obligation.
    """

    entry: Any
    kind: str
    role: str
    known: int = 0


_notes: ContextVar[list[Obligation] | None] = ContextVar("obligations", default=None)


@contextmanager
def noting() -> Iterator[list[Obligation]]:
    """Collect what the expressions built inside the block ask for."""
    notes: list[Obligation] = []
    before = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(before)


def note(entry: Any, kind: str, role: str, known: int = 0) -> None:
    """Note that an entry must be `kind` zero; nothing where nobody collects."""
    notes = _notes.get()
    if notes is not None:
        notes.append(Obligation(entry, kind, role, known))


def noted() -> list[Obligation]:
    """What was noted so far, to be changed in place; empty where nobody collects."""
    notes = _notes.get()
    return [] if notes is None else notes
