"""Processes to work in, made by fork: claims hold functions, which no pickle carries over.

A process may be killed or hang. The pool then says so, replaces it, and goes on; it loses no result it was sent.
Where there is no fork (other systems, a Python without `_multiprocessing`) all is done here, task after task: results
are the same, and limits in time are looked at between tasks alone.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from resstream.falsify.verdict import TIME_IS_UP
from resstream.orphans import die_with

T = TypeVar("T")


def can_fork() -> bool:
    """Whether there are processes to work in; asked anew each time, and nothing of them is touched on import."""
    try:
        import multiprocessing.connection
    except ImportError:
        return False
    return hasattr(os, "fork") and "fork" in multiprocessing.get_all_start_methods()


class Pipe(Protocol):
    """What the two ends of the work are connected by, as `multiprocessing.connection.Connection`."""

    def send(self, value: Any, /) -> None: ...

    def recv(self) -> Any: ...

    def poll(self, timeout: float | None = 0, /) -> bool: ...

    def close(self) -> None: ...


@dataclass
class _Here:
    """A pipe to work that was done in this process, to its end, before anybody asked."""

    sent: deque[Any] = field(default_factory=deque)
    pid: int | None = None
    exitcode: int | None = None

    def send(self, value: Any, /) -> None:
        self.sent.append(value)

    def recv(self) -> Any:
        if not self.sent:
            raise EOFError
        return self.sent.popleft()

    def poll(self, timeout: float | None = 0, /) -> bool:
        del timeout  # nothing comes any more
        return True

    def close(self) -> None:
        self.sent.clear()

    kill = close

    def join(self, timeout: float | None = None) -> None:
        """There is nothing to wait for."""


@dataclass
class Worker:
    """A forked process, the pipe to it, and the number of the task it is at."""

    process: Any
    pipe: Pipe
    task: int | None = None
    since: float = 0.0

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def fork(target: Callable[[Pipe], None], *, interruptible: bool = False) -> Worker:
    """Start a process that runs `target` with its end of a pipe; Ctrl-C is left to the parent, whose end is its own.

    interruptible: the process may have workers of its own, and the first SIGINT raises KeyboardInterrupt in it. Where
    there is no fork, `target` is run here; what it raises ends it, as it would end a process.
    """
    if not can_fork():
        here = _Here()
        with suppress(Exception, SystemExit):
            target(here)
        return Worker(here, here)
    import multiprocessing

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    parent = os.getpid()

    def run() -> None:
        die_with(parent)
        signal.signal(signal.SIGINT, _interrupted_once if interruptible else signal.SIG_IGN)
        ours.close()
        target(theirs)

    process = context.Process(target=run, daemon=not interruptible)
    with warnings.catch_warnings():
        # Python warns of forking beside threads; the child only computes, and takes no lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    return Worker(process, ours)


def _interrupted_once(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


class Pool(Generic[T]):
    """Runs `function(0), function(1), ...` in forked processes; `seconds` is a limit to it all."""

    def __init__(self, function: Callable[[int], T], workers: int, seconds: float | None = None) -> None:
        self.function = function
        self.workers = workers
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.notes: list[str] = []
        self.took: list[float] = []

    def run(self, count: int, is_last: Callable[[T], bool]) -> Iterator[tuple[int, T]]:
        """Yield (number, result) as they come. After a result that is the last, only lower numbers are still run."""
        if not can_fork():
            yield from self._here(count, is_last)
            return
        from multiprocessing.connection import wait

        waiting = list(range(count))[::-1]
        tried: dict[int, int] = {}
        staff: list[Worker] = []
        limit = count
        try:
            while True:
                waiting = [number for number in waiting if number < limit]
                staff = [worker for worker in staff if self._still_useful(worker, limit)]
                self._give_out(waiting, staff)
                busy = [worker for worker in staff if worker.task is not None]
                if not busy:
                    return
                left = None if self.deadline is None else self.deadline - time.monotonic()
                pipes: Any = [worker.pipe for worker in busy]
                ready = wait(pipes, left if left is None else max(left, 0))
                if not ready:
                    self.notes += [TIME_IS_UP, *self._hanging(busy)]
                    return
                for worker in [worker for worker in busy if worker.pipe in ready]:
                    number = worker.task
                    assert number is not None
                    try:
                        outcome = worker.pipe.recv()
                    except (EOFError, OSError):
                        staff.remove(worker)
                        worker.kill()
                        self._died(number, tried, waiting)
                        continue
                    worker.task = None
                    self.took.append(time.monotonic() - worker.since)
                    if isinstance(outcome, BaseException):
                        raise outcome
                    if is_last(outcome):
                        limit = min(limit, number)
                    yield number, outcome
        finally:
            for worker in staff:
                worker.kill()

    def _here(self, count: int, is_last: Callable[[T], bool]) -> Iterator[tuple[int, T]]:
        for number in range(count):
            if self.deadline is not None and time.monotonic() >= self.deadline:
                self.notes.append(TIME_IS_UP)
                return
            outcome = self.function(number)
            yield number, outcome
            if is_last(outcome):
                return

    def _hanging(self, busy: list[Worker]) -> Iterator[str]:
        """What is still at work far longer than others took: it may never end, so nothing is known of it."""
        usual = sorted(self.took)[len(self.took) // 2] if self.took else 0.0
        for worker in busy:
            lasted = time.monotonic() - worker.since
            if self.took and lasted > max(1.0, 20 * usual):
                yield f"chunk {worker.task} was at work for {lasted:.1f} s without an end (others took {usual:.2f} s)"

    def _still_useful(self, worker: Worker, limit: int) -> bool:
        if worker.task is None or worker.task <= limit:
            return True
        worker.kill()
        return False

    def _give_out(self, waiting: list[int], staff: list[Worker]) -> None:
        while waiting:
            idle = next((worker for worker in staff if worker.task is None), None)
            if idle is None:
                if len(staff) >= self.workers:
                    return
                try:
                    idle = fork(self._serve)
                except OSError:  # no more processes or files to be had: those that are there do it all
                    if not staff:
                        raise
                    self.workers = len(staff)
                    return
                staff.append(idle)
            idle.task, idle.since = waiting[-1], time.monotonic()
            try:
                idle.pipe.send(idle.task)
            except OSError:  # it died while idle: another one takes its place
                staff.remove(idle)
                idle.kill()
                continue
            waiting.pop()

    def _serve(self, pipe: Pipe) -> None:
        while True:
            try:
                number = pipe.recv()
            except EOFError:
                return
            try:
                outcome: Any = self.function(number)
            except Exception as failure:  # it is raised where the outcome is asked for
                outcome = failure
            pipe.send(outcome)

    def _died(self, number: int, tried: dict[int, int], waiting: list[int]) -> None:
        tried[number] = tried.get(number, 0) + 1
        if tried[number] == 1:
            waiting.append(number)
        else:
            self.notes.append(f"chunk {number} ended its process twice")
