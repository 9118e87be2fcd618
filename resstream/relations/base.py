"""What every relation knows: its float64 margin, what is certain of it, how it is worded, and its negation.

Statuses are three-valued and more: what has no value is neither held nor violated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resstream.arithmetic import Array, NumberSystem
from resstream.errors import ClaimError

if TYPE_CHECKING:
    from resstream.relations.comparisons import Comparison

HOLDS, TIED, VIOLATED, UNDECIDED, UNDEFINED = "holds", "tied", "violated", "undecided", "undefined"

_SLACK_RELATIVE = 1e-9
_SLACK_ABSOLUTE = 1e-12
"""How far what is assumed may miss in float64 before its instance is discarded unjudged."""


@dataclass(frozen=True)
class Margin:
    """How far a batch is from violating: the entry nearest to it, for each instance.

    slack is rhs - lhs there (minus the distance, for equalities), scale is |lhs| + |rhs|, both of shape (count,).

    >>> from resstream.relations import at_most
    >>> margin = at_most(np.array([[[1.0]], [[3.0]]]), 2.0).margin(2)
    >>> (margin.slack / margin.scale).tolist()
    [0.3333333333333333, -0.2]
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
        return self.where(~(chosen | np.isnan(other.relative)), other)

    def where(self, chosen: Array, other: Margin) -> Margin:
        """This one where it is chosen (bool, (count,)), the other elsewhere."""
        chosen = ~chosen
        return Margin(np.where(chosen, other.slack, self.slack), np.where(chosen, other.scale, self.scale))


@dataclass(frozen=True)
class Decision:
    """What is certain of a relation at one instance: a status, and the entry that decides it.

    lhs and rhs are the sides as stated, exact entries; margin is the relative margin there, as a float. reason says why
    there is no value, or no decision. unsure: a side may have no value, so that nothing else counts yet.

    >>> from resstream.arithmetic import RATIONAL
    >>> from resstream.relations import at_most
    >>> decision = at_most(RATIONAL.array([[1, 4]]), 2).decide(RATIONAL)
    >>> decision.status, decision.lhs, decision.symbol, decision.rhs
    ('violated', 4, '<=', 2)
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
    beside: tuple[tuple[str, Any, str, Any], ...] = field(default=(), repr=False)
    """What else it takes to decide, as (what it is, lhs, symbol, rhs): that a premise holds, that others fail too."""


class Relation(ABC):
    """What a hypothesis or a conclusion states.

    >>> from resstream.relations import at_most
    >>> x = np.array([[1.0, 2.0]])
    >>> isinstance(at_most(x, 2), Relation)
    True
    """

    is_strict: ClassVar[bool] = False
    """Whether two equal sides violate it."""

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

    @property
    @abstractmethod
    def wording(self) -> str:
        """How it reads: "lhs <= rhs", "lhs <= rhs or lhs == rhs"."""

    @property
    def conjuncts(self) -> tuple[Relation, ...]:
        """The relations all of which it states: itself, where it is no conjunction."""
        return (self,)

    def met(self, count: int) -> tuple[Array, Array]:
        """Which instances meet it in float64, with slack for rounding (none where it is strict), and by how much each
        misses it.
        """
        met, missing = np.ones(count, dtype=bool), np.zeros(count)
        for part in self.conjuncts:
            margin = part.margin(count)
            least = -(_SLACK_RELATIVE * margin.scale + _SLACK_ABSOLUTE)
            met &= margin.slack > 0 if part.is_strict else margin.slack >= least
            missing += np.maximum(-margin.relative, 0)
        return met, missing

    def missed_on_average(self, count: int) -> Array:
        """By how much each instance misses it, in [0, 1] for each of its parts, the mean over the entries of a part.

        One entry more that meets it counts here, however far off the others are.
        """
        return np.sum([part.mean_miss(count) for part in self.conjuncts], axis=0)

    def mean_miss(self, count: int) -> Array:
        """The same of one part: where it is no comparison of entries, by how much it is missed."""
        return np.maximum(-self.margin(count).relative, 0)


# ---- several decisions ------------------------------------------------------


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


def worst(decisions: Sequence[Decision]) -> Decision:
    """The decision of all of several relations."""
    order = (VIOLATED, UNDECIDED, TIED, HOLDS)
    return _first(decisions, order, lambda found: min(found, key=lambda d: d.margin))


def best(decisions: Sequence[Decision]) -> Decision:
    """The decision of one at least of several relations."""
    order = (HOLDS, TIED, UNDECIDED, VIOLATED)
    return _first(decisions, order, lambda found: max(found, key=lambda d: d.margin))


def together(decisions: Sequence[Decision], chosen: Callable[[Sequence[Decision]], Decision]) -> Decision:
    """The decision of several, with the sides of all."""
    return replace(chosen(decisions), sides=tuple(pair for decision in decisions for pair in decision.sides))
