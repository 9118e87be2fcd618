"""What a claim says of a quantity as a size grows: that it has a limit, or is of an order.

No value at a size refutes or proves either. What can be refuted is what is stated beside it, a monotone bound, which
says something at every size; the rest is looked at along doubling sizes, and what is seen there is evidence.
"""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from resstream.arithmetic import Exact, Literal, largest_entry
from resstream.errors import ClaimError
from resstream.relations.base import Relation
from resstream.relations.comparisons import at_least, at_most
from resstream.relations.several import every

Values = Callable[[Any, int], Any]
"""The value at a size of a number or of a function of the claim's variables; of None, that of the claim's quantity."""

DECREASING, INCREASING = "decreasing", "increasing"


@dataclass(frozen=True)
class Growth(ABC):
    """What a claim says of the quantity that its function returns, as the size of that name grows without end.

    >>> isinstance(limit("L"), Growth)
    True
    """

    size: str

    name: ClassVar[str]
    """How a claim writes it, and what there may be evidence for."""

    def __post_init__(self) -> None:
        if not isinstance(self.size, str) or not self.size.isidentifier() or keyword.iskeyword(self.size):
            raise ClaimError(f"{self.name}: size: expected a name such as 'L', got {self.size!r:.40}")

    @abstractmethod
    def given(self) -> Mapping[str, Any]:
        """The numbers, and functions of the claim's variables, that it is stated with, by argument."""

    @abstractmethod
    def stated(self, values: Values, count: int) -> Relation:
        """What it says at one size: the stated bounds, or where there are none what is true of any quantity."""

    @abstractmethod
    def measure(self, values: Values, count: int) -> Any:
        """What is followed along doubling sizes, (..., 1, 1) and at least 0: a distance, or a ratio."""

    @property
    @abstractmethod
    def wording(self) -> str:
        """What it says, in words."""

    @property
    @abstractmethod
    def bounds(self) -> str:
        """The stated bounds in words, which an instance may refute; empty where there are none."""


@dataclass(frozen=True)
class Limit(Growth):
    """The quantity tends to `to`, from above where it is said to be decreasing, from below where increasing.

    >>> Limit("L", 0, "decreasing").bounds
    'decreasing in L, at least its limit'
    """

    to: Any = 0
    monotone: str | None = None

    name: ClassVar[str] = "limit"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_value(self, "to", self.to)
        if self.monotone not in (None, DECREASING, INCREASING):
            raise ClaimError(f"limit: monotone: expected 'decreasing', 'increasing' or None, got {self.monotone!r:.40}")

    def given(self) -> Mapping[str, Any]:
        return {"to": self.to}

    def stated(self, values: Values, count: int) -> Relation:
        here, to = values(None, count), values(self.to, count)
        if self.monotone is None:
            return at_least(abs(here - to), 0)
        side, later = (at_least, at_most) if self.monotone == DECREASING else (at_most, at_least)
        return every(side(here, to), *(later(here, values(None, before)) for before in _before(count)))

    def measure(self, values: Values, count: int) -> Any:
        return _largest(values(None, count) - values(self.to, count))

    @property
    def wording(self) -> str:
        return f"tends to {_worded(self.to, 'its stated limit')} as {self.size} grows"

    @property
    def bounds(self) -> str:
        if self.monotone is None:
            return ""
        return f"{self.monotone} in {self.size}, at {'least' if self.monotone == DECREASING else 'most'} its limit"


@dataclass(frozen=True)
class Rate(Growth):
    """The size of the quantity is at most a constant times `order`, a positive function of the size.

    constant: that constant, where it is stated. monotone: "decreasing", where the quotient by the order is said to be.

    >>> Rate("L", 1, constant=3).bounds
    'at most 3 times the order'
    """

    order: Any = 1
    constant: Any = None
    monotone: str | None = None

    name: ClassVar[str] = "rate"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_value(self, "order", self.order)
        if self.constant is not None:
            _require_value(self, "constant", self.constant)
        if self.monotone not in (None, DECREASING):
            raise ClaimError(f"rate: monotone: expected 'decreasing' or None, got {self.monotone!r:.40}")

    def given(self) -> Mapping[str, Any]:
        return {"order": self.order, **({} if self.constant is None else {"constant": self.constant})}

    def stated(self, values: Values, count: int) -> Relation:
        here, order = abs(values(None, count)), values(self.order, count)
        found = [] if self.constant is None else [at_most(here, values(self.constant, count) * order)]
        if self.monotone == DECREASING:
            earlier = (abs(values(None, before)) / values(self.order, before) for before in _before(count))
            found += [at_most(here / order, before) for before in earlier]
        return every(*found) if found else at_least(abs(here / order), 0)

    def measure(self, values: Values, count: int) -> Any:
        return _largest(values(None, count) / values(self.order, count))

    @property
    def wording(self) -> str:
        constant = "a constant" if self.constant is None else _worded(self.constant, "its stated constant")
        return f"is at most {constant} times {_worded(self.order, 'its stated order')} as {self.size} grows"

    @property
    def bounds(self) -> str:
        stated = ["" if self.constant is None else f"at most {_worded(self.constant, 'its constant')} times the order"]
        stated.append("" if self.monotone is None else f"the quotient decreasing in {self.size}")
        return ", ".join(part for part in stated if part)


def _before(count: int) -> list[int]:
    """The sizes that one is compared with: the one before it, and half of it."""
    return sorted({count - 1, count // 2} - {0, count})


def _largest(value: Any) -> Any:
    return largest_entry(abs(value))


def _worded(value: Any, function: str) -> str:
    return function if callable(value) else str(value.value if hasattr(value, "value") else value)


def _require_value(growth: Growth, argument: str, value: Any) -> None:
    if isinstance(value, Fraction):  # which meets no float array
        object.__setattr__(growth, argument, Exact(value))
        return
    if callable(value) or (isinstance(value, (int, Literal)) and not isinstance(value, bool)):
        return
    mend = f": write exact({str(value)!r})" if isinstance(value, float) else ""
    raise ClaimError(
        f"{growth.name}: {argument}: expected a whole number, a Fraction, exact(...) or a function of the claim's "
        f"variables, got {value!r:.40}{mend}"
    )


# ---- how claims write them --------------------------------------------------


def limit(size: str, to: Any = 0, *, monotone: str | None = None) -> Limit:
    """That the quantity a claim's function returns tends to `to` as a size grows: `@claim(..., as_grows=limit("L"))`.

    size: the length of a Stack, or a Count. to: an exact number, or a function of the claim's variables that do not
    grow. monotone: "decreasing" states that it never rises from one size to the next and never lies below `to`,
    "increasing" the reverse; an instance may refute that, and with it the claim. ClaimError for other arguments.

    >>> limit("L", monotone="decreasing").wording
    'tends to 0 as L grows'
    """
    return Limit(size, to, monotone)


def rate(size: str, order: Any = 1, *, constant: Any = None, monotone: str | None = None) -> Rate:
    """That the quantity a claim's function returns is at most a constant times `order` as a size grows.

    order: a positive function of the claim's variables and of the size, `lambda eps, L: (1 - eps) ** L`; 1 for "stays
    bounded". constant: that constant, and monotone="decreasing": that the quotient by the order never rises, where the
    claim states it; an instance may refute these, and with them the claim. ClaimError for other arguments.

    >>> rate("L", lambda L: L, constant=2).wording
    'is at most 2 times its stated order as L grows'
    """
    return Rate(size, order, constant, monotone)


__all__ = ["Growth", "Limit", "Rate", "Values", "limit", "rate"]
