"""Comparisons of numbers and arrays: <=, <, ==, != in every entry, or in some entry."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
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
    absolute,
    as_entry,
    is_screening,
    leading,
    one_entry,
    to_float,
)
from resstream.arithmetic.entries import place as current_place
from resstream.arithmetic.entries import stated_in
from resstream.errors import ClaimError, ClaimFault, ForeignNumber
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
    worst,
)

TIE_BITS = 100
"""Two sides whose difference may be zero and is below 2^-100 of their scale are called tied."""

# ---- comparisons ------------------------------------------------------------


@dataclass(frozen=True)
class Comparison(Relation):
    """lhs `symbol` rhs, entry by entry after broadcasting. `turned`: it was stated with its sides exchanged.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> comparison = at_least(x, 1)
    >>> comparison.shown, comparison.turned
    ('>=', True)
    """

    lhs: Any
    rhs: Any
    turned: bool = False

    symbol: ClassVar[str]
    mirrored: ClassVar[str]
    """The symbol with the sides exchanged."""
    is_equality: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not is_screening():
            object.__setattr__(self, "_place", current_place())

    def __iter__(self) -> Iterator[Comparison]:
        yield self

    # -- as stated

    @property
    def wording(self) -> str:
        return f"lhs {self.shown} rhs"

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
        return self._nearest(count, np.argmin)

    def entrywise(self, count: int) -> Margin:
        """The float64 margins of every entry: slack and scale (count, entries)."""
        with np.errstate(all="ignore"):
            lhs, rhs = (_float_side(side, count) for side in (self.lhs, self.rhs))
            try:
                slack, scale = self.slack(lhs, rhs), np.abs(lhs) + np.abs(rhs)
            except ValueError:
                raise _no_fit(self.lhs, self.rhs) from None
        return Margin(slack.reshape(count, -1), scale.reshape(count, -1))

    def mean_miss(self, count: int) -> Array:
        return np.maximum(-self.entrywise(count).relative, 0).mean(axis=1)

    def _nearest(self, count: int, chosen: Callable[..., Array]) -> Margin:
        """The margin of one entry of each instance: that of the smallest relative one, or of the largest."""
        every = self.entrywise(count)
        slack, scale = every.slack, every.scale
        with np.errstate(all="ignore"):
            if slack.shape[1] == 0:
                raise ClaimFault(f"a relation between arrays without entries (shape {np.shape(self.lhs)})")
            if slack.shape[1] > 1:
                place = chosen(every.relative, axis=1)[:, None]  # NaN comes first in both, and stays
                slack, scale = np.take_along_axis(slack, place, 1), np.take_along_axis(scale, place, 1)
        return Margin(slack[:, 0], scale[:, 0])

    # -- exact numbers

    def pairs(self, system: NumberSystem) -> Iterator[tuple[Entry, Entry]]:
        """The pairs (lhs, rhs) of one instance, as entries of the system."""
        like = leading(system.array([0]))
        with stated_in(vars(self).get("_place", "")):
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
        return replace(worst([self._decide_one(lhs, rhs) for lhs, rhs in pairs]), sides=settled(pairs))

    # -- negations

    def negation(self) -> Relation:
        """That some entry fails: of single numbers, the opposite comparison."""
        opposite = self.opposite()
        return opposite if _is_number(self.lhs) and _is_number(self.rhs) else SomeEntry(opposite)

    @abstractmethod
    def opposite(self) -> Comparison:
        """The comparison that an entry meets where it fails this one."""

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
    """lhs <= rhs.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> AtMost(x, 2 * x).decide(RATIONAL).status
    'holds'
    """

    symbol, mirrored = "<=", ">="

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        beyond = rhs.below(lhs)
        return None if beyond is None else not beyond

    def opposite(self) -> Comparison:
        return Less(self.rhs, self.lhs, not self.turned)


class Less(Comparison):
    """lhs < rhs.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> Less(x, x).decide(RATIONAL).status
    'violated'
    """

    symbol, mirrored, is_strict = "<", ">", True

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        return lhs.below(rhs)

    def opposite(self) -> Comparison:
        return AtMost(self.rhs, self.lhs, not self.turned)


class Equal(Comparison):
    """lhs == rhs.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> Equal(x + x, 2 * x).decide(RATIONAL).status
    'holds'
    """

    symbol = mirrored = "=="
    is_equality = True

    def slack(self, lhs: Array, rhs: Array) -> Array:
        return -abs(rhs - lhs)

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        return lhs.same(rhs)

    def opposite(self) -> Comparison:
        return Differ(self.lhs, self.rhs)


class Differ(Comparison):
    """lhs != rhs.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> Differ(x, x).decide(RATIONAL).status
    'violated'
    """

    symbol = mirrored = "!="
    is_strict = True

    def slack(self, lhs: Array, rhs: Array) -> Array:
        return abs(rhs - lhs)

    def holds(self, lhs: Entry, rhs: Entry) -> bool | None:
        same = lhs.same(rhs)
        return None if same is None else not same

    def opposite(self) -> Comparison:
        return Equal(self.lhs, self.rhs)


@dataclass(frozen=True)
class SomeEntry(Relation):
    """A comparison of which one entry at least holds.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> SomeEntry(at_most(x, 1)).decide(RATIONAL).status
    'holds'
    """

    comparison: Comparison

    def __iter__(self) -> Iterator[Comparison]:
        yield self.comparison

    @property
    def is_strict(self) -> bool:  # type: ignore[override]
        return self.comparison.is_strict

    @property
    def wording(self) -> str:
        return f"{self.comparison.wording} in some entry"

    def margin(self, count: int) -> Margin:
        return self.comparison._nearest(count, np.argmax)

    def decide(self, system: NumberSystem) -> Decision:
        pairs = tuple(self.comparison.pairs(system))
        decision = best([self.comparison._decide_one(lhs, rhs) for lhs, rhs in pairs])
        noted = decision.status == VIOLATED and len(pairs) > 1
        beside = ((f"so in each of {len(pairs)} entries: the nearest is shown", None, "", None),) if noted else ()
        return replace(decision, sides=settled(pairs), beside=beside)

    def negation(self) -> Relation:
        return self.comparison.opposite()


NEGATED = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "==": "!=", "!=": "=="}
"""The symbol of what is true where a comparison fails."""


def settled(pairs: Iterable[tuple[Entry, Entry]]) -> tuple[tuple[Entry, Entry], ...]:
    """The pairs of sides as they are kept: what was left unevaluated is evaluated."""
    return tuple((lhs.settled(), rhs.settled()) for lhs, rhs in pairs)


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
    if values.dtype == object and all(issubclass(kind, Entry) for kind in set(map(type, values.ravel().tolist()))):
        return values
    try:
        return np.vectorize(lambda value: as_entry(value, like), otypes=[object])(values)
    except ForeignNumber as failure:
        raise ClaimFault(f"a side of a relation: {failure}") from None


def _no_fit(lhs: Any, rhs: Any) -> ClaimFault:
    return ClaimFault(f"the sides of a relation do not broadcast: shapes {np.shape(lhs)} and {np.shape(rhs)}")


def _is_number(side: Any) -> bool:
    """Whether a side is one number: of floats, one for each instance of a batch."""
    shape: tuple[int, ...] = np.shape(side) if isinstance(side, np.ndarray) else ()
    return math.prod(shape[1:] if len(shape) > 2 and side.dtype != object else shape) == 1


def _is_tied(lhs: Any, rhs: Any) -> bool:
    if not isinstance(lhs, BallEntry) or not isinstance(rhs, BallEntry):
        return False
    scale = lhs.value.abs_upper() + rhs.value.abs_upper()
    if lhs.value.contains(0) and rhs.value.contains(0):
        scale = arb(1)  # both may be zero, and then have no scale of their own
    return bool((lhs.value - rhs.value).abs_upper() < scale * arb(fmpq(1, 2**TIE_BITS)))


# ---- how claims write them --------------------------------------------------


def at_most(lhs: Any, rhs: Any) -> Comparison:
    """lhs <= rhs, in every entry.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> at_most(x, 2).decide(RATIONAL).status, at_most(x, 1).decide(RATIONAL).status
    ('holds', 'violated')
    """
    return AtMost(lhs, rhs)


def at_least(lhs: Any, rhs: Any) -> Comparison:
    """lhs >= rhs, in every entry.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> at_least(x, 1).decide(RATIONAL).status, at_least(x, 2).decide(RATIONAL).status
    ('holds', 'violated')
    """
    return AtMost(rhs, lhs, turned=True)


def less_than(lhs: Any, rhs: Any) -> Comparison:
    """lhs < rhs, in every entry.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> less_than(x, 3).decide(RATIONAL).status, less_than(x, 2).decide(RATIONAL).status
    ('holds', 'violated')
    """
    return Less(lhs, rhs)


def more_than(lhs: Any, rhs: Any) -> Comparison:
    """lhs > rhs, in every entry.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> more_than(x, 0).decide(RATIONAL).status, more_than(x, 1).decide(RATIONAL).status
    ('holds', 'violated')
    """
    return Less(rhs, lhs, turned=True)


def equal(lhs: Any, rhs: Any) -> Comparison:
    """lhs == rhs, in every entry.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> decision = equal(x, 1).decide(RATIONAL)
    >>> decision.status, decision.lhs, decision.rhs
    ('violated', 2, 1)
    """
    return Equal(lhs, rhs)


def differ(lhs: Any, rhs: Any) -> Relation:
    """lhs != rhs: that they are not equal, so that one entry at least differs.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> differ(x, 1).decide(RATIONAL).status, differ(x, x).decide(RATIONAL).status
    ('holds', 'violated')
    """
    return Equal(lhs, rhs).negation()


def within(lhs: Any, rhs: Any, error: Any) -> Comparison:
    """|lhs - rhs| <= error in every entry: that they agree up to a stated error.

    >>> from resstream.arithmetic import RATIONAL, exact
    >>> x = RATIONAL.array([["1.4"]])
    >>> within(x * x, 2, exact("0.05")).decide(RATIONAL).status
    'holds'
    """
    difference = lhs - rhs
    return AtMost(absolute(difference) if isinstance(difference, np.ndarray) else abs(difference), error)


def in_some_entry(comparison: Comparison) -> SomeEntry:
    """That one entry at least of a comparison holds; ClaimError for what is no comparison.

    >>> from resstream.arithmetic import RATIONAL
    >>> x = RATIONAL.array([[1, 2]])
    >>> in_some_entry(equal(x, 2)).decide(RATIONAL).status
    'holds'
    """
    if not isinstance(comparison, Comparison):
        got = comparison.wording if isinstance(comparison, Relation) else type(comparison).__name__
        raise ClaimError(f"in_some_entry: expected a comparison (at_most, equal, ...), got {got}")
    return SomeEntry(comparison)
