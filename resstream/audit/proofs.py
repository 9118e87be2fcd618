"""What the prove room is asked: the one module of the audit that knows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from resstream.claim import Claim
from resstream.falsify.formats.theorem import with_kernel
from resstream.prove import goals, vacuous
from resstream.prove.answer import PROVED, Answer, agree
from resstream.workers import Pipe, fork

GRACE = 1.0
"""By how much the last proof may overrun its time."""


def prove(claim: Claim, seconds: float, keep: Callable[[Answer], None]) -> str:
    """Proofs at small sizes, each kept as it comes; why there are no more, if that is known.

    In a process of their own: neither Z3 nor exact algebra can be trusted to look at the clock.
    """

    def work(pipe: Pipe) -> None:
        try:
            goals.prove(claim, seconds, progress=lambda answer: pipe.send(with_kernel(claim, answer)))
            pipe.send(None)
        except ModuleNotFoundError as missing:  # Z3 is an extra
            pipe.send(f"{missing}; install resstream[prove]")
        except Exception as failure:  # what cannot be evaluated has been reported by the search
            pipe.send(f"{type(failure).__name__}: {failure}")

    worker = fork(work)
    end = time.monotonic() + seconds + GRACE
    try:
        with suppress(EOFError, OSError):
            while worker.pipe.poll(max(end - time.monotonic(), 0)):
                goal = worker.pipe.recv()
                if goal is None:
                    return ""
                if isinstance(goal, str):
                    return goal
                keep(goal)
        return "broken off"
    finally:
        worker.kill()


def places(claim: Claim, seconds: float) -> list[Mapping[str, int]]:
    """Sizes of at least 2 at which a claim is proved for every option."""
    if seconds <= 0.2:
        return []
    found: list[Answer] = []
    prove(claim, seconds, found.append)
    return [sizes for sizes in whole(found) if all(size >= 2 for size in sizes.values())]


def whole(answers: Sequence[Answer]) -> list[Mapping[str, int]]:
    """The sizes at which all options are proved."""
    found: list[Mapping[str, int]] = []
    for goal in answers:
        alike = [other for other in answers if other.sizes == goal.sizes]
        if goal.sizes not in found and all(other.outcome == PROVED for other in alike):
            found.append(goal.sizes)
    return found


def never_met(claim: Claim, seconds: float) -> bool:
    """Whether it is proved that no instance meets the hypotheses, at any of the claim's sizes."""
    proved: list[bool] = []

    def work(pipe: Pipe) -> None:
        with suppress(Exception):  # Z3 is an extra, and what it cannot express is not proved
            pipe.send(bool(vacuous.no_instance(claim, seconds)))

    worker = fork(work)
    try:
        with suppress(EOFError, OSError):
            if worker.pipe.poll(seconds + GRACE):
                proved.append(worker.pipe.recv())
    finally:
        worker.kill()
    return bool(proved and proved[0])


__all__ = ["PROVED", "Answer", "agree", "never_met", "places", "prove", "whole"]
