"""The one interface for workers: futures of tasks, as in `concurrent.futures`, which may be lost with a process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""What a worker's environment has, so that processes do not fight over cores."""


class Task(NamedTuple):
    """One piece of work, `function(subject, *arguments)`: the same result wherever and how often it is done.

    subject: what it is about (a claim, a closure), which many tasks share, and which is sent to a process once where
    that can be had. arguments: plain data, small.
    """

    function: Callable[..., Any]
    subject: Any
    arguments: tuple[Any, ...] = ()

    def done(self) -> Any:
        """Its result; what the function raises is raised."""
        return self.function(self.subject, *self.arguments)


class Lost(Exception):
    """A task came to no end, for no fault that Python could tell: its process died, or its scheduler went away.

    again: whether it is worth trying elsewhere.
    """

    def __init__(self, reason: str, again: bool = True) -> None:
        super().__init__(reason)
        self.again = again


class Unreachable(Exception):
    """There is nobody to give work to any more."""


class Workers(Protocol):
    """What does tasks: `slots` of them at once, or so many that none of its processes waits for work."""

    slots: int
    blames: bool
    """Whether it is known which task a process died of; otherwise all that were under way are suspects."""

    def expect(self, tasks: Iterable[Task]) -> None:
        """What will be submitted, as far as that is known: a forked process inherits it."""

    def submit(self, task: Task) -> Future[Any]:
        """Give a task out. Raises Unreachable where there is nobody to do it."""

    def wait(self, futures: Collection[Future[Any]], seconds: float | None) -> list[Future[Any]]:
        """Those that are done; waits for the first, but not longer than `seconds` (at most a moment longer)."""

    def result(self, future: Future[Any]) -> Any:
        """The result of one that is done. Raises what the task raised, or Lost."""

    def drop(self, future: Future[Any]) -> None:
        """Nobody wants its result any more: it is ended where that can be had."""

    def close(self, at_once: bool) -> None:
        """End; `at_once`: whatever is under way. What was hired for longer than this work is left alone."""


class Here:
    """This process: a task is done as soon as it is given out. What it raises, Ctrl-C with it, is raised there."""

    slots = 1
    blames = True

    def expect(self, tasks: Iterable[Task]) -> None:
        """All is at hand."""

    def submit(self, task: Task) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(task.done())
        return future

    def wait(self, futures: Collection[Future[Any]], seconds: float | None) -> list[Future[Any]]:
        del seconds  # all of them are done
        return list(futures)

    def result(self, future: Future[Any]) -> Any:
        return future.result()

    def drop(self, future: Future[Any]) -> None:
        """It is done."""

    def close(self, at_once: bool) -> None:
        """There is nothing to end."""
