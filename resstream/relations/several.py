"""Relations made of relations: all of some, one at least, one only where another holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from resstream.arithmetic import NumberSystem
from resstream.errors import ClaimError, Unbounded
from resstream.relations.base import (
    HOLDS,
    TIED,
    UNDECIDED,
    UNDEFINED,
    VIOLATED,
    Decision,
    Margin,
    Relation,
    best,
    together,
    worst,
)
from resstream.relations.comparisons import Comparison, SomeEntry, settled

SHOWN = 4
"""Alternatives that are shown beside the one that fails least."""


@dataclass(frozen=True)
class Every(Relation):
    """Several relations, all of which must hold.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_most
    >>> x = RATIONAL.array([[1]])
    >>> Every((at_most(x, 0), at_most(x, 2))).decide(RATIONAL).status
    'violated'
    """

    relations: tuple[Relation, ...]

    def __iter__(self) -> Iterator[Comparison]:
        for relation in self.relations:
            yield from relation

    @property
    def conjuncts(self) -> tuple[Relation, ...]:
        return tuple(part for relation in self.relations for part in relation.conjuncts)

    @property
    def wording(self) -> str:
        return " and ".join(_bracketed(relation) for relation in self.relations)

    def margin(self, count: int) -> Margin:
        return reduce(Margin.lower, (relation.margin(count) for relation in self.relations))

    def decide(self, system: NumberSystem) -> Decision:
        return together([relation.decide(system) for relation in self.relations], worst)

    def negation(self) -> Relation:
        return AnyOf(tuple(relation.negation() for relation in self.relations))


@dataclass(frozen=True)
class AnyOf(Relation):
    """Several relations, one of which at least must hold.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_most
    >>> x = RATIONAL.array([[1]])
    >>> AnyOf((at_most(x, 0), at_most(x, 2))).decide(RATIONAL).status
    'holds'
    """

    relations: tuple[Relation, ...]

    def __iter__(self) -> Iterator[Comparison]:
        for relation in self.relations:
            yield from relation

    @property
    def wording(self) -> str:
        return " or ".join(_bracketed(relation) for relation in self.relations)

    def margin(self, count: int) -> Margin:
        return reduce(Margin.higher, (relation.margin(count) for relation in self.relations))

    def decide(self, system: NumberSystem) -> Decision:
        return self._of([relation.decide(system) for relation in self.relations])

    def _of(self, decisions: Sequence[Decision]) -> Decision:
        decision = together(decisions, best)
        if decision.status != VIOLATED:
            return decision
        shown = decisions[place_of(decision, decisions)]
        others = [_beside("another alternative fails", one) for one in decisions if one is not shown]
        more = [(f"and {len(others) - SHOWN} more fail", None, "", None)] if len(others) > SHOWN else []
        return replace(decision, beside=(*decision.beside, *others[:SHOWN], *more))

    def negation(self) -> Relation:
        return Every(tuple(relation.negation() for relation in self.relations))


@dataclass(frozen=True)
class Guarded(Relation):
    """A relation that says something where a premise holds; where the premise fails it holds, or fails (`otherwise`).

    Where the premise fails the conclusion need not have a value, as with the hypotheses of a claim.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_most
    >>> x = RATIONAL.array([[1]])
    >>> Guarded(at_most(x, 0), at_most(x, -1)).decide(RATIONAL).status
    'holds'
    >>> Guarded(at_most(x, 0), at_most(x, -1), otherwise=False).decide(RATIONAL).status
    'violated'
    """

    premise: Relation
    conclusion: Relation
    otherwise: bool = True

    def __iter__(self) -> Iterator[Comparison]:
        yield from self.premise
        yield from self.conclusion

    @property
    def wording(self) -> str:
        join = "if {} then {}" if self.otherwise else "{} and then {}"
        return join.format(_bracketed(self.premise), _bracketed(self.conclusion))

    def margin(self, count: int) -> Margin:
        """Where the premise is met, the conclusion's; elsewhere the better of that and of the premise's miss."""
        met, _ = self.premise.met(count)
        premise, conclusion = self.premise.margin(count), self.conclusion.margin(count)
        if not self.otherwise:
            return premise.lower(conclusion).where(met, premise)
        missed = self.premise.negation().margin(count)
        missed = Margin(np.maximum(missed.slack, 0), missed.scale)
        better = conclusion.where(conclusion.relative > missed.relative, missed)
        found = conclusion.where(met, better)
        return premise.where(np.isnan(premise.relative), found)

    def decide(self, system: NumberSystem) -> Decision:
        premise = self.premise.decide(system)
        if premise.status == UNDEFINED or premise.unsure:
            return replace(premise, sides=(*premise.sides, *self._sides(system)))
        if premise.status == VIOLATED:
            sides = (*premise.sides, *self._sides(system))
            if not self.otherwise:
                return replace(premise, sides=sides)
            return replace(premise, status=HOLDS, margin=abs(premise.margin), sides=sides, beside=())
        try:
            conclusion = self.conclusion.decide(system)
        except Unbounded as limit:
            if premise.status == HOLDS:
                raise
            conclusion = Decision(UNDEFINED, reason=str(limit), sides=self._sides(system))
        conclusion = replace(conclusion, sides=(*premise.sides, *conclusion.sides))
        if premise.status == HOLDS:
            beside = (_beside("the premise holds", premise), *conclusion.beside)
            return replace(conclusion, beside=beside if conclusion.status == VIOLATED else ())
        return self._of_an_open_premise(premise, conclusion)

    def _of_an_open_premise(self, premise: Decision, conclusion: Decision) -> Decision:
        """What is certain where it is not certain whether the premise holds: what is so in either case."""
        settled = HOLDS if self.otherwise else VIOLATED
        if conclusion.status == settled:
            return conclusion
        if not conclusion.unsure and (
            (self.otherwise and conclusion.status == TIED)
            or (not self.otherwise and premise.status == TIED and conclusion.status in (HOLDS, TIED))
        ):
            return replace(conclusion, status=TIED)
        reason = f"whether the premise holds is not certain: {premise.reason}"
        unsure = conclusion.unsure or conclusion.status == UNDEFINED
        return replace(premise, status=UNDECIDED, reason=reason, unsure=unsure, sides=conclusion.sides)

    def _sides(self, system: NumberSystem) -> tuple[tuple[Any, Any], ...]:
        return settled(pair for comparison in self.conclusion for pair in comparison.pairs(system))

    def negation(self) -> Relation:
        return Guarded(self.premise, self.conclusion.negation(), not self.otherwise)


def place_of(decision: Decision, decisions: Sequence[Decision]) -> int:
    """Which of several decisions the one of all was taken from."""
    return next(k for k, one in enumerate(decisions) if one.lhs is decision.lhs and one.rhs is decision.rhs)


def _bracketed(relation: Relation) -> str:
    return relation.wording if isinstance(relation, Comparison) else f"({relation.wording})"


def _beside(label: str, decision: Decision) -> tuple[str, Any, str, Any]:
    return label, decision.lhs, decision.symbol, decision.rhs


def is_guarded(relation: Relation) -> bool:
    """Whether a part of a relation may have no value where the relation has one.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_least, at_most
    >>> x = RATIONAL.array([[1]])
    >>> is_guarded(at_most(x, 1)), is_guarded(implies(at_least(x, 1), at_most(1 / x, 1)))
    (False, True)
    """
    if isinstance(relation, (Every, AnyOf)):
        return any(is_guarded(part) for part in relation.relations)
    return not isinstance(relation, (Comparison, SomeEntry))


# ---- how claims write them --------------------------------------------------


def every(*relations: Relation) -> Every:
    """All of the given relations; ClaimError for none, and for what is no relation.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_least, at_most
    >>> x = RATIONAL.array([[1]])
    >>> every(at_least(x, 0), at_most(x, 1)).decide(RATIONAL).status
    'holds'
    """
    _require("every", relations)
    return Every(tuple(part for r in relations for part in (r.relations if isinstance(r, Every) else (r,))))


def either(*relations: Relation) -> AnyOf:
    """One at least of the given relations, all of which must have values; ClaimError as in `every`.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_least, at_most
    >>> x = RATIONAL.array([[1]])
    >>> either(at_most(x, 0), at_least(x, 1)).decide(RATIONAL).status
    'holds'
    """
    _require("either", relations)
    return AnyOf(tuple(part for r in relations for part in (r.relations if isinstance(r, AnyOf) else (r,))))


def implies(premise: Relation, conclusion: Relation) -> Guarded:
    """The conclusion where the premise holds; elsewhere it is true, whether or not the conclusion has a value there.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_least, at_most
    >>> x = RATIONAL.array([[0]])
    >>> implies(at_least(x, 1), at_most(1 / x, 1)).decide(RATIONAL).status
    'holds'
    """
    _require("implies", (premise, conclusion))
    return Guarded(premise, conclusion)


def iff(left: Relation, right: Relation) -> Every:
    """Each of two relations where the other holds.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_most
    >>> x = RATIONAL.array([[1]])
    >>> iff(at_most(x, 0), at_most(2 * x, 0)).decide(RATIONAL).status
    'holds'
    """
    _require("iff", (left, right))
    return Every((Guarded(left, right), Guarded(right, left)))


def negation(relation: Relation) -> Relation:
    """That a relation does not hold: of "in every entry", that some entry fails.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_most
    >>> x = RATIONAL.array([[1, 3]])
    >>> negation(at_most(x, 2)).decide(RATIONAL).status
    'holds'
    """
    _require("negation", (relation,))
    return relation.negation()


def _require(name: str, relations: tuple[Relation, ...]) -> None:
    for relation in relations:
        if not isinstance(relation, Relation):
            raise ClaimError(f"{name}: expected relations (at_most, equal, ...), got {type(relation).__name__}")
    if not relations:
        raise ClaimError(f"{name}: expected some relations, got none")
