"""The judge: what an instance does to a claim, decided in ball and rational arithmetic and never by a tolerance."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from resstream.arithmetic import RATIONAL, Ball, NumberSystem, to_float
from resstream.claim import Claim, Conjunction, Raw, exact_entries
from resstream.errors import ArithmeticLimit, DomainError, Undecided

PRECISIONS = (128, 256, 512, 1024)
"""Bits of the balls, in the order tried; rationals are tried after the first."""

TIE_BITS = 100
"""Two sides whose difference may be zero and is below 2^-100 of their scale are called tied."""

VIOLATED, HOLDS, TIED, OUTSIDE, UNDECIDED = "violated", "holds", "tied", "outside", "undecided"


@dataclass(frozen=True)
class Judgement:
    """What one instance does to a claim.

    outcome: "violated" (certified, with its hypotheses certified), "holds" (certified), "tied" (the sides cannot be
    told apart at the largest precision; an equality counts as holding), "outside" (a hypothesis certainly fails) or
    "undecided". lhs and rhs are the sides, as stated, at the entry that decides: balls, or rationals where bits is
    None. margin is the relative margin there.
    """

    outcome: str
    bits: int | None = None
    lhs: Any = None
    kind: str = ""
    rhs: Any = None
    margin: float = float("nan")


@dataclass(frozen=True)
class _Entry:
    """One entry of one relation: what is known of it."""

    status: str
    lhs: Any
    kind: str
    rhs: Any
    margin: float


def judge(claim: Claim, raw: Raw, precisions: tuple[int, ...] = PRECISIONS) -> Judgement:
    """Judge one exact instance of a claim.

    Errors that the claim's own functions raise are passed on; only a limit of a number system makes the next one be
    tried.
    """
    verdict = Judgement(UNDECIDED)
    systems: list[NumberSystem] = [Ball(bits) for bits in precisions]
    systems.insert(1, RATIONAL)
    for system in systems:
        with contextlib.suppress(ArithmeticLimit):
            verdict = _judge_in(claim, raw, system)
        if verdict.outcome not in (UNDECIDED, TIED):
            return verdict
        # More bits never prove an equality, and rationals have been asked: tied is as good as it gets.
        if verdict.outcome == TIED and verdict.kind == "==" and system is not systems[0]:
            return verdict
    return verdict


def judge_exactly(claim: Claim, raw: Raw) -> Judgement:
    """Judge one instance in rational arithmetic, where that can tell that it violates; elsewhere as `judge` does."""
    try:
        verdict = _judge_in(claim, raw, RATIONAL)
    except (ArithmeticLimit, ZeroDivisionError):
        verdict = Judgement(UNDECIDED)
    return verdict if verdict.outcome == VIOLATED else judge(claim, raw)


def _judge_in(claim: Claim, raw: Raw, system: NumberSystem) -> Judgement:
    bits = system.bits if isinstance(system, Ball) else None
    with system.working():
        objects = claim.build(raw, system)
        assumed, _ = _decide(claim.hypotheses(objects), system) if claim.assuming else (HOLDS, None)
        if assumed == VIOLATED:
            return Judgement(OUTSIDE, bits)
        try:
            concluded = claim.conclude(objects)
        except DomainError as failure:
            if assumed == HOLDS:
                raise
            # Where the hypotheses may fail the conclusion need have no meaning.
            raise Undecided(str(failure)) from failure
        outcome, entry = _decide(concluded, system)
        if outcome == VIOLATED and assumed != HOLDS:
            outcome = UNDECIDED
        assert entry is not None
        return Judgement(outcome, bits, entry.lhs, entry.kind, entry.rhs, entry.margin)


def _decide(relations: Conjunction, system: NumberSystem) -> tuple[str, _Entry | None]:
    """The status of a conjunction, and the entry that decides it (the worst of those with that status)."""
    like = system.array([0])
    entries: list[_Entry] = []
    for relation in relations:
        turned = relation.shown in (">=", ">")
        for lhs, rhs in exact_entries(relation, like):
            status = _status(lhs, relation.kind, rhs)
            sides = (rhs, relation.shown, lhs) if turned else (lhs, relation.kind, rhs)
            entries.append(_Entry(status, *sides, _margin(lhs, relation.kind, rhs)))
    for status in (VIOLATED, UNDECIDED, TIED, HOLDS):
        found = [entry for entry in entries if entry.status == status]
        if found:
            return status, min(found, key=lambda entry: entry.margin)
    return HOLDS, None  # a relation between arrays without entries


def _status(lhs: Any, kind: str, rhs: Any) -> str:
    # Comparisons of balls are true only when certain, so each question is asked on its own.
    if kind == "==":
        holds, violated = lhs == rhs, lhs != rhs
    elif kind == "<":
        holds, violated = lhs < rhs, lhs >= rhs
    else:
        holds, violated = lhs <= rhs, lhs > rhs
    if violated:
        return VIOLATED
    if holds:
        return HOLDS
    return TIED if _is_tied(arb(lhs), arb(rhs)) else UNDECIDED


def _is_tied(lhs: arb, rhs: arb) -> bool:
    difference = lhs - rhs
    if not difference.is_finite():
        return False
    scale = lhs.abs_upper() + rhs.abs_upper()
    if not abs(lhs) > 0 and not abs(rhs) > 0:
        scale = arb(1)  # both may be zero, and then have no scale of their own
    return bool(difference.abs_upper() < scale * arb(2) ** -TIE_BITS)


def _margin(lhs: Any, kind: str, rhs: Any) -> float:
    """(rhs - lhs)/(|lhs| + |rhs|) of one entry, as a float; two zeros give 0."""
    slack, scale = rhs - lhs, abs(lhs) + abs(rhs)
    if kind == "==":
        slack = -abs(slack)
    if isinstance(scale, fmpq):
        return 0.0 if scale == 0 else to_float(slack / scale)
    if scale == 0 or slack.contains(0):
        return 0.0
    return float((slack / scale).mid())
