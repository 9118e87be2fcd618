"""Relations between numbers: what a claim and its hypotheses state.

A relation is an object that knows its float64 margin (for the search), its exact status (for the judge), how it is
worded, and its negation. Statuses are three-valued and more: what has no value is neither held nor violated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import (
    Array,
    BallEntry,
    Entry,
    Literal,
    NoValue,
    NumberSystem,
    RationalEntry,
    as_entry,
    leading,
    one_entry,
    to_float,
)
from resstream.errors import ClaimError, ClaimFault, ForeignNumber

HOLDS, TIED, VIOLATED, UNDECIDED, UNDEFINED = "holds", "tied", "violated", "undecided", "undefined"

TIE_BITS = 100
"""Two sides whose difference may be zero and is below 2^-100 of their scale are called tied."""


@dataclass(frozen=True)
class Margin:
    """How far a batch is from violating: the entry nearest to it, for each instance.

    slack is rhs - lhs there (minus the distance, for equalities), scale is |lhs| + |rhs|, both of shape (count,).
    """

    slack: Array
    scale: Array

    @property
    def relative(self) -> Array:
        """(rhs - lhs)/(|lhs| + |rhs|), in [-1, 1]; two zeros are a tie, 0; NaN where the float value is none."""
        with np.errstate(all="ignore"):
            return np.where(self.scale == 0, 0.0, self.slack / self.scale)

    def lower(self, other: Margin) -> Margin:
        """The lower of two for each instance, NaN where the other is."""
        return self._or(other, other.relative < self.relative)

    def higher(self, other: Margin) -> Margin:
        """The higher of two for each instance, NaN where the other is."""
        return self._or(other, other.relative > self.relative)

    def _or(self, other: Margin, chosen: Array) -> Margin:
        chosen = chosen | np.isnan(other.relative)
        return Margin(np.where(chosen, other.slack, self.slack), np.where(chosen, other.scale, self.scale))


@dataclass(frozen=True)
class Decision:
    """What is certain of a relation at one instance: a status, and the entry that decides it.

    lhs and rhs are the sides as stated, exact entries; margin is the relative margin there, as a float. reason says why
    there is no value, or no decision. unsure: a side may have no value, so that nothing else counts yet.
    """

    status: str
    lhs: Any = None
    symbol: str = ""
    rhs: Any = None
    margin: float = float("nan")
    reason: str = ""
    unsure: bool = False
    sides: tuple[tuple[Any, Any], ...] = field(default=(), repr=False)
    """Both sides of every entry of every comparison."""


class Relation(ABC):
    """What a hypothesis or a conclusion states."""

    @abstractmethod
    def __iter__(self) -> Iterator[Comparison]:
        """The comparisons that it is made of."""

    @abstractmethod
    def margin(self, count: int) -> Margin:
        """The float64 margin of each of `count` instances, nearest to a violation."""

    @abstractmethod
    def decide(self, system: NumberSystem) -> Decision:
        """What is certain of it at one instance, in an exact number system."""

    @abstractmethod
    def negation(self) -> Relation:
        """The relation that holds where this one does not (both have values in the same places)."""


# ---- comparisons ------------------------------------------------------------


@dataclass(frozen=True)
class Comparison(Relation):
    """lhs `symbol` rhs, entry by entry after broadcasting. `turned`: it was stated with its sides exchanged."""

    lhs: Any
    rhs: Any
    turned: bool = False

    symbol: ClassVar[str]
    mirrored: ClassVar[str]
    """The symbol with the sides exchanged."""
    is_equality: ClassVar[bool] = False
    is_strict: ClassVar[bool] = False

    def __iter__(self) -> Iterator[Comparison]:
        yield self

    # -- as stated

    @property
    def stated(self) -> tuple[Any, str, Any]:
        """(left, symbol, right) as the claim wrote them."""
        return (self.rhs, self.mirrored, self.lhs) if self.turned else (self.lhs, self.symbol, self.rhs)

    @property
    def shown(self) -> str:
        """The symbol as the claim wrote it."""
        return self.stated[1]

    def with_stated(self, left: Any, right: Any) -> Comparison:
        """The same comparison of other sides, in the order in which they are stated."""
        return replace(self, lhs=right, rhs=left) if self.turned else replace(self, lhs=left, rhs=right)

    # -- floats

    def slack(self, lhs: Array, rhs: Array) -> Array:
        """How much is to spare: negative where the comparison fails."""
        return rhs - lhs

    def margin(self, count: int) -> Margin:
        with np.errstate(all="ignore"):
            lhs, rhs = (_float_side(side, count) for side in (self.lhs, self.rhs))
            try:
                slack, scale = self.slack(lhs, rhs), np.abs(lhs) + np.abs(rhs)
            except ValueError:
                raise _no_fit(self.lhs, self.rhs) from None
            slack, scale = slack.reshape(count, -1), scale.reshape(count, -1)
            if slack.shape[1] == 0:
                raise ClaimFault(f"a relation between arrays without entries (shape {np.shape(self.lhs)})")
            if slack.shape[1] > 1:
                worst = np.argmin(Margin(slack, scale).relative, axis=1)[:, None]  # NaN counts as smallest, and stays
                slack, scale = np.take_along_axis(slack, worst, 1), np.take_along_axis(scale, worst, 1)
        return Margin(slack[:, 0], scale[:, 0])

    # -- exact numbers

    def pairs(self, system: NumberSystem) -> Iterator[tuple[Entry, Entry]]:
        """The pairs (lhs, rhs) of one instance, as entries of the system."""
        like = leading(system.array([0]))
        lhs, rhs = (_exact_side(side, like) for side in (self.lhs, self.rhs))
        try:
            lhs, rhs = np.broadcast_arrays(lhs, rhs)
        except ValueError:
            raise _no_fit(self.lhs, self.rhs) from None
        if lhs.size == 0:
            raise ClaimFault(f"a relation between arrays without entries (shape {lhs.shape})")
        yield from zip(lhs.flat, rhs.flat, strict=True)

    def decide(self, system: NumberSystem) -> Decision:
        pairs = tuple(self.pairs(system))
        sides = tuple((lhs.settled(), rhs.settled()) for lhs, rhs in pairs)
        return replace(_worst([self._decide_one(lhs, rhs) for lhs, rhs in pairs]), sides=sides)

    def _decide_one(self, lhs: Entry, rhs: Entry) -> Decision:
        sides = (rhs, self.shown, lhs) if self.turned else (lhs, self.shown, rhs)
        for side in (lhs, rhs):
            if isinstance(side, NoValue):
                if side.unbounded:
                    side.demand()
                status = UNDEFINED if side.certain else UNDECIDED
                return Decision(status, *sides, reason=side.reason, unsure=not side.certain)
        answer = self.holds(lhs, rhs)
        lhs, rhs = lhs.settled(), rhs.settled()
        sides = (rhs, self.shown, lhs) if self.turned else (lhs, self.shown, rhs)
        if answer is None:
            # A tie is likely what it looks like: that speaks for <= and ==, and against < and !=.
            status = TIED if not self.is_strict and _is_tied(lhs, rhs) else UNDECIDED
            return Decision(status, *sides, margin=self._relative(lhs, rhs), reason="the enclosures overlap")
        return Decision(HOLDS if answer else VIOLATED, *sides, margin=self._relative(lhs, rhs))

    @abstractmethod
    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        """Whether two entries compare so; None where that is not certain."""

    def _relative(self, lhs: Any, rhs: Any) -> float:
        """(rhs - lhs)/(|lhs| + |rhs|) of one entry, as a float; two zeros give 0."""
        slack: Any = self.slack(lhs, rhs)
        scale = abs(lhs) + abs(rhs)
        if isinstance(scale, RationalEntry):
            return 0.0 if scale.value == 0 else to_float(slack.value / scale.value)
        if not isinstance(scale, BallEntry) or slack.value.contains(0):
            return 0.0
        return float((slack.value / scale.value).mid())


class AtMost(Comparison):
    """lhs <= rhs."""

    symbol, mirrored = "<=", ">="

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        beyond = rhs.below(lhs)
        return None if beyond is None else not beyond

    def negation(self) -> Relation:
        return Less(self.rhs, self.lhs, not self.turned)


class Less(Comparison):
    """lhs < rhs."""

    symbol, mirrored, is_strict = "<", ">", True

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        return lhs.below(rhs)

    def negation(self) -> Relation:
        return AtMost(self.rhs, self.lhs, not self.turned)


class Equal(Comparison):
    """lhs == rhs."""

    symbol = mirrored = "=="
    is_equality = True

    def slack(self, lhs: Array, rhs: Array) -> Array:
        return -abs(rhs - lhs)

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        return lhs.same(rhs)

    def negation(self) -> Relation:
        return Differ(self.lhs, self.rhs)


class Differ(Comparison):
    """lhs != rhs."""

    symbol = mirrored = "!="
    is_strict = True

    def slack(self, lhs: Array, rhs: Array) -> Array:
        return abs(rhs - lhs)

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        same = lhs.same(rhs)
        return None if same is None else not same

    def negation(self) -> Relation:
        return Equal(self.lhs, self.rhs)


NEGATED = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "==": "!=", "!=": "=="}
"""The symbol of what is true where a comparison fails."""


# ---- sides ------------------------------------------------------------------


def _float_side(side: Any, count: int) -> Array:
    if isinstance(side, Literal):
        side = to_float(side)
    if not isinstance(side, (int, float, Fraction, np.ndarray, np.number, np.bool_)):
        raise ClaimFault(f"a side of a relation is a {type(side).__name__}, expected an array or a number")
    side = np.asarray(side)
    if side.dtype.kind not in "fiub":
        if side.dtype.kind != "O":
            raise ClaimFault(f"a side of a relation has the dtype {side.dtype}, expected real numbers")
        side = np.vectorize(to_float, otypes=[np.float64])(side)
    side = side.astype(np.float64, copy=False)
    if side.ndim < 3:  # the same for the whole batch
        side = np.broadcast_to(side, (count, *[1] * (2 - side.ndim), *side.shape))
    elif count > 1 and side.shape[0] not in (1, count):
        raise ClaimFault(f"a side of a relation has {side.shape[0]} instances where {count} were expected")
    return side


def _exact_side(side: Any, like: Entry | None) -> Array:
    values = side if isinstance(side, np.ndarray) else one_entry(side)
    try:
        return np.vectorize(lambda value: as_entry(value, like), otypes=[object])(values)
    except ForeignNumber as failure:
        raise ClaimFault(f"a side of a relation: {failure}") from None


def _no_fit(lhs: Any, rhs: Any) -> ClaimFault:
    return ClaimFault(f"the sides of a relation do not broadcast: shapes {np.shape(lhs)} and {np.shape(rhs)}")


def _is_tied(lhs: Any, rhs: Any) -> bool:
    if not isinstance(lhs, BallEntry) or not isinstance(rhs, BallEntry):
        return False
    scale = lhs.value.abs_upper() + rhs.value.abs_upper()
    if lhs.value.contains(0) and rhs.value.contains(0):
        scale = arb(1)  # both may be zero, and then have no scale of their own
    return bool((lhs.value - rhs.value).abs_upper() < scale * arb(fmpq(1, 2**TIE_BITS)))


# ---- several relations ------------------------------------------------------


@dataclass(frozen=True)
class Every(Relation):
    """Several relations, all of which must hold."""

    relations: tuple[Relation, ...]

    def __iter__(self) -> Iterator[Comparison]:
        for relation in self.relations:
            yield from relation

    def margin(self, count: int) -> Margin:
        return reduce(Margin.lower, (relation.margin(count) for relation in self.relations))

    def decide(self, system: NumberSystem) -> Decision:
        return _together([relation.decide(system) for relation in self.relations], _worst)

    def negation(self) -> Relation:
        return AnyOf(tuple(relation.negation() for relation in self.relations))


@dataclass(frozen=True)
class AnyOf(Relation):
    """Several relations, one of which at least must hold."""

    relations: tuple[Relation, ...]

    def __iter__(self) -> Iterator[Comparison]:
        for relation in self.relations:
            yield from relation

    def margin(self, count: int) -> Margin:
        return reduce(Margin.higher, (relation.margin(count) for relation in self.relations))

    def decide(self, system: NumberSystem) -> Decision:
        return _together([relation.decide(system) for relation in self.relations], _best)

    def negation(self) -> Relation:
        return Every(tuple(relation.negation() for relation in self.relations))


def _first(
    decisions: Sequence[Decision], order: Sequence[str], chosen: Callable[[list[Decision]], Decision]
) -> Decision:
    """The decision that decides several. Definedness comes first: what may have no value says nothing else."""
    for found in (
        [d for d in decisions if d.status == UNDEFINED],
        [d for d in decisions if d.unsure],
        *([d for d in decisions if d.status == status] for status in order),
    ):
        if found:
            return chosen(found)
    raise ClaimError("a relation between arrays without entries")


def _worst(decisions: Sequence[Decision]) -> Decision:
    order = (VIOLATED, UNDECIDED, TIED, HOLDS)
    return _first(decisions, order, lambda found: min(found, key=lambda d: d.margin))


def _best(decisions: Sequence[Decision]) -> Decision:
    order = (HOLDS, TIED, UNDECIDED, VIOLATED)
    return _first(decisions, order, lambda found: max(found, key=lambda d: d.margin))


def _together(decisions: Sequence[Decision], chosen: Callable[[Sequence[Decision]], Decision]) -> Decision:
    return replace(chosen(decisions), sides=tuple(pair for decision in decisions for pair in decision.sides))


# ---- how claims write them --------------------------------------------------


def at_most(lhs: Any, rhs: Any) -> Comparison:
    """lhs <= rhs, in every entry."""
    return AtMost(lhs, rhs)


def at_least(lhs: Any, rhs: Any) -> Comparison:
    """lhs >= rhs, in every entry."""
    return AtMost(rhs, lhs, turned=True)


def less_than(lhs: Any, rhs: Any) -> Comparison:
    """lhs < rhs, in every entry."""
    return Less(lhs, rhs)


def more_than(lhs: Any, rhs: Any) -> Comparison:
    """lhs > rhs, in every entry."""
    return Less(rhs, lhs, turned=True)


def equal(lhs: Any, rhs: Any) -> Comparison:
    """lhs == rhs, in every entry."""
    return Equal(lhs, rhs)


def every(*relations: Relation) -> Every:
    """All of the given relations; ClaimError for none, and for what is no relation."""
    for relation in relations:
        if not isinstance(relation, Relation):
            raise ClaimError(f"every: expected relations (at_most, equal, ...), got {type(relation).__name__}")
    if not relations:
        raise ClaimError("every: expected some relations, got none")
    return Every(tuple(part for r in relations for part in (r.relations if isinstance(r, Every) else (r,))))


__all__ = [
    "HOLDS",
    "NEGATED",
    "TIED",
    "UNDECIDED",
    "UNDEFINED",
    "VIOLATED",
    "AnyOf",
    "AtMost",
    "Comparison",
    "Decision",
    "Differ",
    "Equal",
    "Every",
    "Less",
    "Margin",
    "Relation",
    "at_least",
    "at_most",
    "equal",
    "every",
    "less_than",
    "more_than",
]
