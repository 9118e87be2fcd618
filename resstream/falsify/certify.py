"""The one door to a counterexample, and to the word "refuted".

What comes through was read twice from scratch, in two number systems or precisions: objects built afresh from the raw
numbers, every hypothesis certain, both sides existing, and the same strict violation of the conclusion each time.
Search, shrinking, replay, audits and the solvers' models all go through here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flint import arb

from resstream.arithmetic import EXPONENTIAL, RATIONAL, Ball, BallEntry, NoValue, NumberSystem, RationalEntry
from resstream.claim import Claim, Instance
from resstream.errors import NotDeterministic
from resstream.falsify.judge import PRECISIONS, UNDECIDED, VIOLATED, Judgement, judge, judge_exactly, read

_DOOR = object()


@dataclass(frozen=True)
class Certificate:
    """That an instance refutes a claim: two readings that agree. Made by `certify` alone."""

    claim: Claim
    raw: Instance
    judgement: Judgement
    confirmation: Judgement
    door: Any

    def __post_init__(self) -> None:
        if self.door is not _DOOR:
            raise TypeError("a certificate is made by resstream.falsify.certify.certify alone")


def certify(
    claim: Claim,
    raw: Instance,
    precisions: tuple[int, ...] = PRECISIONS,
    exactly: bool = False,
    looks_tied: bool = False,
) -> Certificate | Judgement:
    """The certificate that an instance refutes a claim; where it does not, the judgement that says what it does.

    exactly: rationals are asked first, so that both sides are exact where they can be; looks_tied: see `judge`.
    Raises NotDeterministic where the two readings contradict each other, and passes on what the claim's own functions
    raise.
    """
    first = judge_exactly(claim, raw) if exactly else judge(claim, raw, precisions, looks_tied)
    if first.outcome != VIOLATED:
        return first
    for system in _others(first):
        second = read(claim, raw, system)
        if second.outcome == UNDECIDED or second.outcome == "tied":
            continue
        if second.outcome != VIOLATED or not _agree(first, second):
            raise NotDeterministic(
                f"claim {claim.id} is not deterministic: the same instance was read as {_said(first)}, and then as "
                f"{_said(second)}"
            )
        return Certificate(claim, raw, first, second, _DOOR)
    return replace(first, outcome=UNDECIDED, reason="a second reading did not confirm the violation")


def _others(first: Judgement) -> list[NumberSystem]:
    """The readings that may confirm one, other than itself where there are such."""
    if first.bits is None:
        return [Ball(bits) for bits in PRECISIONS[1:3]] + [RATIONAL, EXPONENTIAL]
    return [Ball(2 * first.bits), RATIONAL, Ball(8 * first.bits)]


def _agree(first: Judgement, second: Judgement) -> bool:
    """Whether two readings may be of the same numbers, in every entry that was compared."""
    if len(first.sides) != len(second.sides):
        return False
    return all(
        _may_be_equal(a, b)
        for before, after in zip(first.sides, second.sides, strict=True)
        for a, b in zip(before, after, strict=True)
    )


def _may_be_equal(first: Any, second: Any) -> bool:
    if isinstance(first, NoValue) or isinstance(second, NoValue):  # behind a premise that fails
        return not any(isinstance(one, NoValue) and one.certain for one in (first, second)) or type(first) is type(
            second
        )
    if isinstance(first, RationalEntry) and isinstance(second, RationalEntry):
        return bool(first.value == second.value)
    return bool(_ball(first).overlaps(_ball(second)))


def _ball(entry: Any) -> arb:
    return entry.value if isinstance(entry, BallEntry) else arb(entry.value)


def _said(judgement: Judgement) -> str:
    sides = f" ({judgement.lhs} {judgement.kind} {judgement.rhs})" if judgement.kind else ""
    return f"{judgement.outcome}{sides} in {judgement.reading}"


__all__ = ["Certificate", "certify"]
