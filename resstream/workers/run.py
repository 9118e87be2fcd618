"""Tasks, done by workers, with a limit in time; what is lost with a process is tried again elsewhere, then reported."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from resstream.workers.base import Lost, Task, Unreachable, Workers

T = TypeVar("T")

TIME_IS_UP = "the time limit was reached"


class Run(Generic[T]):
    """Has tasks done, numbered from 0 as they come; `seconds` is a limit to it all, `each` one to every task.

    notes say what was not done, and why; they are complete when the results are. `lost` is told the number of each task
    that nothing will come of.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        workers: Workers,
        seconds: float | None = None,
        *,
        each: float | None = None,
        lost: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.workers = workers
        self.each, self.lost = each, lost
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.notes: list[str] = []
        if isinstance(tasks, list):  # else they are made as they are asked for
            workers.expect(tasks)
        self._tasks = iter(tasks)
        self._count = 0
        self._given: dict[int, Task] = {}
        self._flying: dict[Future[Any], tuple[int, float]] = {}
        self._took: list[float] = []
        self._again: list[int] = []
        self._tried: set[int] = set()
        self._limit: int | None = None

    def results(self, is_last: Callable[[T], bool] = lambda _: False) -> Iterator[tuple[int, T]]:
        """Yield (number, result) as they come. After a result that is the last, only lower numbers are still run.

        Raises what a task raises.
        """
        ended = False
        try:
            while self._give_out():
                done = self.workers.wait(self._flying, self._patience())
                self._give_up_overdue(done)
                if not done and self._left() == 0:
                    self.notes += [TIME_IS_UP, *self._hanging()]
                    return
                for future in done:
                    number, since = self._flying.pop(future)
                    try:
                        outcome = self.workers.result(future)
                    except Lost as failure:
                        self._was_lost(number, failure)
                        continue
                    self._took.append(time.monotonic() - since)
                    del self._given[number]
                    if is_last(outcome):
                        self._limit = number if self._limit is None else min(self._limit, number)
                    yield number, outcome
            ended = not self._flying
        finally:
            self.workers.close(at_once=not ended)

    def _left(self) -> float | None:
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0)

    def _patience(self) -> float | None:
        """Seconds until there is something to do even if nobody says anything."""
        if self.each is None:
            return self._left()
        overdue = min(since for _, since in self._flying.values()) + self.each - time.monotonic()
        return max(min(overdue, math.inf if self.deadline is None else self.deadline - time.monotonic()), 0)

    def _give_up_overdue(self, done: Collection[Future[Any]]) -> None:
        for future, (number, since) in list(self._flying.items()):
            if self.each is not None and future not in done and time.monotonic() - since >= self.each:
                self.workers.drop(future)
                del self._flying[future]
                self._nothing_comes_of(number, f"was given up after {self.each:g} s")

    def _wanted(self, number: int) -> bool:
        return self._limit is None or number < self._limit

    def _give_out(self) -> bool:
        """Keep the workers at work; whether anything is under way."""
        for future, (number, _) in list(self._flying.items()):
            if not self._wanted(number):
                self.workers.drop(future)
                del self._flying[future]
        while len(self._flying) < self.workers.slots and (following := self._next()) is not None:
            if self._left() == 0:
                if not self._flying:
                    self.notes.append(TIME_IS_UP)
                break
            try:
                self._flying[self.workers.submit(self._given[following])] = following, time.monotonic()
            except Unreachable as failure:
                self.notes.append(str(failure))
                return False
        return bool(self._flying)

    def _next(self) -> int | None:
        """The number of the next task to give out, if there is one now."""
        self._again = sorted(filter(self._wanted, self._again))
        if self._again and (self.workers.blames or not self._flying):
            return self._again.pop(0)
        if self._again:  # a suspect is tried when nothing else is under way, so that nothing else is lost with it
            return None
        number = self._count
        if not self._wanted(number):
            return None
        task = next(self._tasks, None)
        if task is None:
            return None
        self._count += 1
        self._given[number] = task
        return number

    def _was_lost(self, number: int, failure: Lost) -> None:
        if failure.again and number not in self._tried:
            self._again.append(number)
        else:
            self._nothing_comes_of(number, str(failure))
        self._tried.add(number)

    def _nothing_comes_of(self, number: int, reason: str) -> None:
        self.notes.append(f"chunk {number} {reason}")
        del self._given[number]
        self.lost(number)

    def _hanging(self) -> Iterator[str]:
        """What is still at work far longer than others took: it may never end, so nothing is known of it."""
        usual = sorted(self._took)[len(self._took) // 2] if self._took else 0.0
        for number, since in self._flying.values():
            lasted = time.monotonic() - since
            if self._took and lasted > max(1.0, 20 * usual):
                yield f"chunk {number} was at work for {lasted:.1f} s without an end (others took {usual:.2f} s)"
