"""Relations over all members of a domain: for all in a finite set, and that there is one.

What is finite is gone through, so that both answers are certain. Elsewhere that there is a member is certain only where
a witness is, and that there is none only where Z3 proves it; else it stays undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Entry, NumberSystem, is_screening, to_float
from resstream.domains.base import Domain, require_domain
from resstream.domains.current import objects_now, read_now, sizes_now
from resstream.domains.finite import members
from resstream.errors import ArithmeticLimit, ClaimError, DomainError
from resstream.relations.base import HOLDS, UNDECIDED, VIOLATED, Decision, Margin, Relation, together, worst
from resstream.relations.comparisons import Comparison
from resstream.relations.several import AnyOf, Every, place_of

Statement = Callable[[Any], Relation]


@dataclass(frozen=True)
class ExistsAmong(AnyOf):
    """That one of finitely many members meets a relation.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import equal
    >>> x = RATIONAL.array([[4]])
    >>> ExistsAmong((equal(x, 3), equal(x, 4)), (3, 4)).decide(RATIONAL).status
    'holds'
    """

    members: tuple[Any, ...] = ()

    @property
    def wording(self) -> str:
        return f"one of {len(self.relations)} has {self.relations[0].wording}"

    def _of(self, decisions: Sequence[Decision]) -> Decision:
        decision = super()._of(decisions)
        if decision.status == HOLDS:
            for member, found in zip(self.members, decisions, strict=True):
                if found.status == HOLDS:
                    return replace(decision, beside=((f"witness {_text(member)}", found.lhs, found.symbol, found.rhs),))
        return decision


@dataclass(frozen=True)
class ForAll(Every):
    """That each of finitely many members meets a relation.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import equal
    >>> x = RATIONAL.array([[4]])
    >>> ForAll((equal(x, 3), equal(x, 4)), (3, 4)).decide(RATIONAL).status
    'violated'
    """

    members: tuple[Any, ...] = ()

    @property
    def wording(self) -> str:
        return f"each of {len(self.relations)} has {self.relations[0].wording}"

    def decide(self, system: NumberSystem) -> Decision:
        decisions = [relation.decide(system) for relation in self.relations]
        decision = together(decisions, worst)
        if decision.status != VIOLATED:
            return decision
        member = self.members[place_of(decision, decisions)]
        return replace(decision, beside=((f"at {_text(member)}", None, "", None), *decision.beside))


@dataclass(frozen=True)
class Exists(Relation):
    """That a member of a domain without an end meets a relation, of which some witnesses are known.

    candidates: (witness, whether it certainly is a member, the relation of it). negated: that there is none. absent:
    whether it is proved that no member does, asked of rational objects alone.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import equal
    >>> x = RATIONAL.array([[4]])
    >>> Exists(((2, True, equal(RATIONAL.array([[2]]) ** 2, x)),)).decide(RATIONAL).status
    'holds'
    """

    candidates: tuple[tuple[Any, bool, Relation], ...]
    negated: bool = False
    absent: Callable[[], bool] | None = field(default=None, compare=False, repr=False)

    def __iter__(self) -> Iterator[Comparison]:
        for _, _, relation in self.candidates:
            yield from relation

    @property
    def wording(self) -> str:
        return f"there is {'none' if self.negated else 'one'} with {self.candidates[0][2].wording}"

    def margin(self, count: int) -> Margin:
        best = reduce(Margin.higher, (relation.margin(count) for _, _, relation in self.candidates))
        return Margin(-best.slack, best.scale) if self.negated else best

    def decide(self, system: NumberSystem) -> Decision:
        decisions = [(witness, inside, relation.decide(system)) for witness, inside, relation in self.candidates]
        sides = tuple(pair for _, _, found in decisions for pair in found.sides)
        for witness, inside, found in decisions:
            if inside and found.status == HOLDS:
                beside = ((f"witness {_text(witness)}", found.lhs, found.symbol, found.rhs),)
                return replace(found, status=VIOLATED if self.negated else HOLDS, sides=sides, beside=beside)
        nearest = max((found for _, _, found in decisions), key=lambda found: found.margin)
        if self.absent is not None and system is RATIONAL and nearest.status == VIOLATED and self.absent():
            beside = (("that no other member does is proved by Z3", None, "", None),)
            return replace(nearest, status=HOLDS if self.negated else VIOLATED, sides=sides, beside=beside)
        outside = any(not inside and found.status == HOLDS for _, inside, found in decisions)
        reason = "a witness is not certain to be a member" if outside else "no witness is certain"
        reason += ", and that there is no other cannot be told"
        unsure = any(found.unsure for _, _, found in decisions)
        return replace(nearest, status=UNDECIDED, reason=reason, unsure=unsure, sides=sides, beside=())

    def negation(self) -> Relation:
        return replace(self, negated=not self.negated)


def _text(value: Any) -> str:
    """An object in a line."""
    if isinstance(value, np.ndarray):
        return f"[{' '.join(map(_number, value.flat)):.80}]"
    return f"{value!s:.80}"


def _number(entry: Any) -> str:
    return f"{to_float(entry.settled() if isinstance(entry, Entry) else entry):.6g}"


# ---- how claims write them --------------------------------------------------


def for_all(domain: Domain, relation: Statement) -> ForAll:
    """That every member of a finite domain meets a relation, each of which is looked at, at the sizes of the instance.

    DomainError for a domain that is not finite: what a claim states of all members of such it has among its variables.

    >>> from resstream.arithmetic import absolute, total
    >>> from resstream.claim import claim
    >>> from resstream.domains import Subset, Vector
    >>> from resstream.falsify import falsify
    >>> from resstream.relations import at_most
    >>> @claim("mine.sets", over={"x": Vector("n")})
    ... def sums_of_sets(x):
    ...     return for_all(Subset("n"), lambda s: at_most(total(s * x), total(absolute(x))))
    >>> falsify(sums_of_sets, budget=500).status
    'survived'
    """
    found, relations = _of_members("for_all", domain, relation)
    return ForAll(relations, found)


def exists(domain: Domain, relation: Statement, witnesses: Sequence[Any] = ()) -> Relation:
    """That some member of a domain meets a relation, at the sizes of the instance.

    A finite domain is gone through. Any other needs witnesses, members computed from the claim's objects; where none of
    them certainly meets the relation the answer is "no" only if Z3 proves, of rational objects, that no member does,
    and undecided elsewhere. DomainError for another without witnesses.

    >>> from resstream.claim import claim
    >>> from resstream.domains import Positive
    >>> from resstream.falsify import falsify
    >>> from resstream.relations import less_than
    >>> @claim("mine.smaller", over={"x": Positive()})
    ... def none_is_smallest(x):
    ...     return exists(Positive(), lambda y: less_than(y, x), witnesses=[x / 2])
    >>> falsify(none_is_smallest, budget=500).status
    'survived'
    """
    if not witnesses:
        found, relations = _of_members("exists", domain, relation)
        return ExistsAmong(relations, found)
    _require_domain("exists", domain)
    sizes = sizes_now("exists")
    candidates = tuple((one, _is_member(domain, one, sizes), _stated("exists", relation(one))) for one in witnesses)
    objects = objects_now()

    def absent() -> bool:
        from resstream.prove.absence import none_meets  # a room above this one, and asked when it is needed

        return none_meets(domain, relation, sizes, objects)

    return Exists(candidates, absent=absent)


def _of_members(name: str, domain: Domain, relation: Statement) -> tuple[tuple[Any, ...], tuple[Relation, ...]]:
    _require_domain(name, domain)
    sizes = sizes_now(name)
    try:
        found = tuple(map(read_now, members(domain, sizes)))
    except DomainError as failure:
        mend = "; give witnesses=[...] for another" if name == "exists" else ""
        raise ClaimError(f"{name}: {failure}{mend}") from None
    return found, tuple(_stated(name, relation(member)) for member in found)


def _require_domain(name: str, domain: Any) -> None:
    try:
        require_domain(f"{name}: domain", domain)
    except DomainError as failure:  # of an object it would say that the claim has no value
        raise ClaimError(str(failure)) from None


def _stated(name: str, relation: Any) -> Relation:
    if not isinstance(relation, Relation):
        raise ClaimError(f"{name}: expected a function that gives a relation, got {type(relation).__name__}")
    return relation


def _is_member(domain: Domain, witness: Any, sizes: Any) -> bool:
    """Whether a witness certainly is a member; of floats, which only screen, that is not asked."""
    if is_screening():
        return True
    try:
        return domain.contains(witness, sizes)
    except NotImplementedError as unknown:
        raise ClaimError(f"exists: {unknown}, so that no witness can be one of its members") from None
    except (DomainError, ArithmeticLimit):  # enclosures that do not tell
        return False


__all__ = ["Exists", "ExistsAmong", "ForAll", "exists", "for_all"]
