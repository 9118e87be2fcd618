"""The searches of an audit: the falsifier's, by several seeds and with an ascent from the nearest miss.

Ctrl-C ends the whole audit and not one of its many searches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from resstream.arithmetic import Array
from resstream.audit.ascent import ascend
from resstream.audit.result import FAILS, SURVIVES, UNKNOWN
from resstream.claim import Batch, Claim, Instance
from resstream.errors import ClaimError, ResstreamError
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.search import FLOOR, budget_plan, scores_of, search
from resstream.falsify.verdict import Verdict


def searched(claim: Claim, budget: int, seed: int, floor: int = FLOOR) -> Verdict:
    """A search without shrinking."""
    return heeded(search(claim, budget_plan(claim, budget), seed, floor))


def heeded(verdict: Verdict) -> Verdict:
    """The verdict, unless Ctrl-C ended its search: then KeyboardInterrupt, which the search has caught, is raised."""
    if any(note.startswith("interrupted") for note in verdict.notes):
        raise KeyboardInterrupt
    return verdict


@dataclass(frozen=True)
class Outcome:
    """What the searches of one claim came to: "fails", with a certificate; "survives", all of them whole; "unknown".

    reason: why it is unknown, or how many instances could not be decided.
    """

    outcome: str
    instances: int = 0
    evaluations: int = 0
    certificate: Certificate | None = None
    engine: str = ""
    reason: str = ""
    verdicts: tuple[Verdict, ...] = ()


@dataclass
class Attack:
    """How changed claims are put to the test, all alike: seed, time, and the pace of the claim."""

    seed: int
    left: Callable[[], float] = lambda: float("inf")
    rate: float = 1e5
    """Evaluations a second, as measured; a search that would not fit into what is left is not begun."""
    spent: int = field(default=0)

    def __call__(self, claim: Claim, budget: int, seeds: int = 1, floor: int = FLOOR, climb: bool = True) -> Outcome:
        """Search a claim with a budget for each of several seeds, then ascend from the nearest misses."""
        verdicts: list[Verdict] = []
        accepted = evaluations = unsure = 0
        for number in range(seeds):
            if self.left() <= 0 or budget / self.rate > 2 * self.left() + 0.2:
                return Outcome(UNKNOWN, accepted, evaluations, reason="time was short", verdicts=tuple(verdicts))
            start = time.monotonic()
            verdict = searched(claim, budget, self.seed + number, floor)
            verdicts.append(verdict)
            tally = verdict.tally
            accepted += tally.accepted
            evaluations += tally.evaluations
            if tally.evaluations > 2000:
                self.rate = 0.5 * self.rate + 0.5 * tally.evaluations / max(time.monotonic() - start, 1e-3)
            self.spent += tally.evaluations
            if verdict.status == "refuted":
                return Outcome(FAILS, accepted, evaluations, tally.certificate, tally.engine, verdicts=tuple(verdicts))
            if verdict.status == "undecided" and 2 * tally.undecided < tally.judged:
                unsure += tally.undecided
            elif verdict.status != "survived":
                reason = tally.error or verdict.status
                return Outcome(UNKNOWN, accepted, evaluations, reason=reason, verdicts=tuple(verdicts))
        if climb:
            for verdict in verdicts:
                near = verdict.tally.closest
                certificate = None if near is None else self.ascent(claim, near)
                if certificate is not None:
                    return Outcome(FAILS, accepted, evaluations, certificate, "ascent", verdicts=tuple(verdicts))
        reason = f"{unsure} instances could not be decided" if unsure else ""
        return Outcome(SURVIVES, accepted, evaluations, reason=reason, verdicts=tuple(verdicts))

    def ascent(self, claim: Claim, start: Instance) -> Certificate | None:
        """A certified counterexample uphill of an instance, if that is where it leads."""
        if claim.batched is False:
            return None
        reached, raw = ascend(claim, start, scores(claim), self.left)
        if reached >= 0:
            return None
        return certified(claim, raw)


def certified(claim: Claim, raw: Instance) -> Certificate | None:
    """The certificate that an instance refutes a claim, if it does."""
    try:
        answer = certify(claim, raw)
    except (ResstreamError, ArithmeticError):
        return None
    return answer if isinstance(answer, Certificate) else None


def scores(claim: Claim) -> Callable[[Batch], Array]:
    """How near the instances of a batch are to a violation, the lower the nearer; 4 where that has no float value."""

    def score(raw: Batch) -> Array:
        try:
            return scores_of(claim.assess(raw))
        except ClaimError:
            return np.full(raw.count, 4.0)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            return np.full(raw.count, 4.0)

    return score
