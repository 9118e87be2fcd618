"""Unknown numbers with conditions, from which a domain makes the unknown objects that cover its set.

Both readings that prove something make them: expressions (`SymbolicUnknowns`) and the solver's polynomials
(`resstream.arithmetic.solver.Formula`). A set that one formula does not cover is covered by several pieces: a domain
asks `among` for one of finitely many things, and what it makes is made again for each of them (`cases`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from resstream.arithmetic.symbols import SymbolicEntry, sympy
from resstream.errors import NotExpressible

Array = np.ndarray[Any, Any]
T = TypeVar("T")

CASES = 24
"""How many pieces a proof may go through."""


class Case:
    """One sequence of choices among finitely many things."""

    def __init__(self, path: list[tuple[int, int]], limit: int = CASES) -> None:
        self.path, self.limit = path, limit
        self.position = 0

    def among(self, values: Iterable[T]) -> T:
        """The value of this case; NotExpressible where there are too many, or none."""
        found = list(islice(values, self.limit + 1))
        if not 0 < len(found) <= self.limit:
            raise NotExpressible(f"more than {self.limit} pieces" if found else "a choice among nothing")
        if self.position == len(self.path):
            self.path.append((0, len(found)))
        chosen, _ = self.path[self.position]
        self.position += 1
        return found[chosen]


def cases(limit: int = CASES) -> Iterator[Case]:
    """Every case of what is made inside the loop; NotExpressible where they are more than the limit.

    >>> [(case.among("ab"), case.among([1, 2])) for case in cases()]
    [('a', 1), ('a', 2), ('b', 1), ('b', 2)]
    """
    path: list[tuple[int, int]] = []
    for _ in range(limit):
        case = Case(path, limit)
        yield case
        path = case.path[: case.position]
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        chosen, count = path.pop()
        path.append((chosen + 1, count))
    raise NotExpressible(f"more than {limit} pieces")


class Unknowns(ABC):
    """A maker of unknown numbers of one reading, as arrays of entries, and of what is known of them."""

    solves: bool
    """Whether equations among the conditions are of use; otherwise an object is to be given by a formula."""

    def __init__(self, case: Case | None = None) -> None:
        self.case = case

    @abstractmethod
    def real(self, shape: tuple[int, ...]) -> Array:
        """Unknown real numbers."""

    @abstractmethod
    def nonnegative(self, shape: tuple[int, ...]) -> Array:
        """Unknown numbers of at least 0."""

    @abstractmethod
    def positive(self, shape: tuple[int, ...]) -> Array:
        """Unknown numbers above 0."""

    @abstractmethod
    def whole(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        """Unknown whole numbers from low to high."""

    @abstractmethod
    def one(self) -> Any:
        """The number 1, as an entry."""

    @abstractmethod
    def assume(self, entries: Array, kind: str) -> None:
        """Add what is known: every entry `kind` 0, with kind one of ">=", ">", "==", "!="."""

    def among(self, values: Iterable[T]) -> T:
        """One of finitely many values: what is made is made for each of them."""
        if self.case is None:
            raise NotExpressible("a choice, outside a proof by cases")
        return self.case.among(values)


class SymbolicUnknowns(Unknowns):
    """Real symbols. `known` collects the conditions: (expression, kind)."""

    solves = False

    def __init__(self, case: Case | None = None) -> None:
        super().__init__(case)
        self.count = 0
        self.known: list[tuple[Any, str]] = []

    def _symbols(self, shape: tuple[int, ...], **assumptions: bool) -> Array:
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            out[index] = SymbolicEntry(sympy().Symbol(f"x{self.count}", **assumptions))
            self.count += 1
        return out

    def real(self, shape: tuple[int, ...]) -> Array:
        return self._symbols(shape, real=True)

    def nonnegative(self, shape: tuple[int, ...]) -> Array:
        return self._symbols(shape, nonnegative=True)

    def positive(self, shape: tuple[int, ...]) -> Array:
        return self._symbols(shape, positive=True)

    def whole(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        """Each value in turn."""
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            out[index] = SymbolicEntry(sympy().Integer(self.among(range(low, high + 1))))
        return out

    def one(self) -> Any:
        return SymbolicEntry(sympy().Integer(1))

    def assume(self, entries: Array, kind: str) -> None:
        self.known += [(entry.value, kind) for entry in entries.flat]


__all__ = ["CASES", "Case", "SymbolicUnknowns", "Unknowns", "cases"]
