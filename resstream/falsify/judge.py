"""The judge: what an instance does to a claim, decided in ball and rational arithmetic and never by a tolerance.

A judgement is one reading of a claim. A violation found here is no refutation yet: `certify` is the door to that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from resstream.arithmetic import EXPONENTIAL, RATIONAL, Ball, NumberSystem
from resstream.claim import Claim, Instance
from resstream.errors import ArithmeticLimit, DomainError, Unbounded, Undecided
from resstream.relations import HOLDS, TIED, UNDECIDED, UNDEFINED, VIOLATED, Decision

PRECISIONS = (128, 256, 1024, 4096)
"""Bits of the balls, in the order tried; rationals are tried after the first, exponential sums after the last."""

TIE_PRECISION = 1024
"""Bits at which two sides that cannot be told apart are left so: more bits never prove an equality."""

OUTSIDE = "outside"


@dataclass(frozen=True)
class Judgement:
    """What one instance does to a claim, as one reading has it.

    outcome: "violated" (its hypotheses hold), "holds", "tied" (the sides cannot be told apart at the largest precision;
    an equality counts as holding), "outside" (a hypothesis fails, or has no value), "undefined" (the hypotheses hold,
    and a side has no value) or "undecided". lhs and rhs are the sides, as stated, at the entry that decides: balls, or
    exact numbers where bits is None. margin is the relative margin there, reason why there is no decision or no value.
    """

    outcome: str
    bits: int | None = None
    lhs: Any = None
    kind: str = ""
    rhs: Any = None
    margin: float = float("nan")
    reason: str = ""
    sides: tuple[tuple[Any, Any], ...] = field(default=(), repr=False)
    """Both sides of every entry that was compared."""
    beside: tuple[tuple[str, Any, str, Any], ...] = field(default=(), repr=False)
    """What else the outcome rests on, as (what it is, lhs, symbol, rhs): a premise that holds, other alternatives."""
    met: bool = True
    """Whether the hypotheses are certain to hold; a conclusion that holds either way is not kept waiting for that."""

    @property
    def reading(self) -> str:
        """The number system, as it is called in reports."""
        return "exact numbers" if self.bits is None else f"{self.bits} bits"

    @property
    def at_zero(self) -> bool:
        """Whether both sides are known to be zero; a ball that may be is not."""
        try:
            return bool(self.lhs == 0) and bool(self.rhs == 0)
        except Undecided:
            return False


def judge(claim: Claim, raw: Instance, precisions: tuple[int, ...] = PRECISIONS, looks_tied: bool = False) -> Judgement:
    """Judge one exact instance of a claim.

    looks_tied: floats cannot tell its sides apart. Most such sides are equal, which balls of few bits cannot say: so
    first those are asked that would have the last word. The outcome is the same either way. Errors that the claim's own
    functions raise are passed on; only a limit of a number system makes the next one be tried.
    """
    if looks_tied and TIE_PRECISION in precisions:
        for last in (RATIONAL, Ball(TIE_PRECISION)):
            latest = read(claim, raw, last)
            if latest.outcome in (HOLDS, TIED, OUTSIDE):
                return latest
            if latest.outcome != UNDECIDED:
                break  # read in the usual order, so that a certificate does not depend on what floats made of it
    verdict = Judgement(UNDECIDED, reason="no precision was tried")
    systems: list[NumberSystem] = [Ball(bits) for bits in precisions]
    systems.insert(1, RATIONAL)
    enough = min(TIE_PRECISION, max(precisions, default=0))
    for system in systems:
        if verdict.outcome == TIED and isinstance(system, Ball) and system.bits < enough:
            continue  # a tie is left or told apart at `enough` bits, whatever these would say
        latest = read(claim, raw, system)
        if latest.outcome == TIED:
            verdict = latest
            if latest.bits is not None and latest.bits >= TIE_PRECISION:
                break
        elif latest.outcome != UNDECIDED:
            return latest
        elif verdict.outcome == UNDECIDED and latest.bits is not None:
            verdict = latest
    if verdict.outcome == UNDECIDED:
        latest = read(claim, raw, EXPONENTIAL)
        verdict = verdict if latest.outcome == UNDECIDED else latest
    return verdict


def judge_exactly(claim: Claim, raw: Instance) -> Judgement:
    """Judge one instance in rational arithmetic, where that can tell that it violates; elsewhere as `judge` does."""
    verdict = read(claim, raw, RATIONAL)
    return verdict if verdict.outcome == VIOLATED else judge(claim, raw)


def read(claim: Claim, raw: Instance, system: NumberSystem) -> Judgement:
    """The judgement of one number system, on objects built afresh for the hypotheses and for the conclusion."""
    bits = system.bits if isinstance(system, Ball) else None
    if not claim.fits(raw.sizes):
        return Judgement(OUTSIDE, bits, reason=f"the claim speaks of sizes with {claim.where}")
    with system.working():
        try:
            assumed = _assumed(claim, raw, system)
            if assumed.status in (VIOLATED, UNDEFINED):
                return _judgement(OUTSIDE, bits, assumed)
            return _concluded(claim, raw, system, bits, assumed)
        except Unbounded as limit:
            # At the last precision a value that no enclosure bounds counts as none.
            return Judgement(UNDEFINED if bits == PRECISIONS[-1] else UNDECIDED, bits, reason=str(limit))
        except ArithmeticLimit as limit:
            return Judgement(UNDECIDED, bits, reason=str(limit))


def _judgement(outcome: str, bits: int | None, decision: Decision, reason: str = "") -> Judgement:
    d = decision
    return Judgement(outcome, bits, d.lhs, d.symbol, d.rhs, d.margin, reason or d.reason, d.sides, d.beside)


def _assumed(claim: Claim, raw: Instance, system: NumberSystem) -> Decision:
    """What is certain of the hypotheses. One without a value is not met."""
    if not claim.assuming:
        return Decision(HOLDS)
    try:
        decision = claim.hypotheses(claim.build(raw, system)).decide(system)
    except DomainError as failure:
        return Decision(UNDEFINED, reason=str(failure))
    if decision.status in (TIED, UNDECIDED):
        return replace(decision, reason=f"a hypothesis could not be decided: {decision.reason}")
    return decision


def _concluded(claim: Claim, raw: Instance, system: NumberSystem, bits: int | None, assumed: Decision) -> Judgement:
    try:
        decision = claim.conclude(claim.build(raw, system)).decide(system)
    except DomainError as failure:
        decision = Decision(UNDEFINED, reason=str(failure))
    if assumed.status != HOLDS and decision.status in (VIOLATED, UNDEFINED):
        # Where the hypotheses may fail the conclusion may fail too, and need have no meaning.
        return _judgement(UNDECIDED, bits, decision, assumed.reason)
    return replace(_judgement(decision.status, bits, decision), met=assumed.status == HOLDS)


__all__ = [
    "HOLDS",
    "OUTSIDE",
    "PRECISIONS",
    "TIED",
    "UNDECIDED",
    "UNDEFINED",
    "VIOLATED",
    "Judgement",
    "judge",
    "judge_exactly",
    "read",
]
