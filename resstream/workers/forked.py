"""Processes made by fork: they start in a moment, and inherit what no pickle carries over.

A process may be killed or hang. It is then replaced, and no result that it was sent is lost. Where there is no fork
(other systems, a Python without `_multiprocessing`) the work of one process can be done here, to its end.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from resstream.orphans import die_with
from resstream.workers.base import Lost, Task


def may_have_children() -> bool:
    """Whether processes can be started here at all; nothing of them is touched on import."""
    try:
        import multiprocessing.connection
    except ImportError:  # of `_multiprocessing`, which not every Python has
        return False
    return not multiprocessing.current_process().daemon  # a worker of somebody's pool may start none


def can_fork() -> bool:
    """Whether there are processes to work in; asked anew each time."""
    if not may_have_children():
        return False
    import multiprocessing

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
    """A forked process, the pipe to it, the future of the task it is at, and how many subjects it has inherited."""

    process: Any
    pipe: Pipe
    future: Future[Any] | None = None
    knows: int = 0

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
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        ours.close()
        target(theirs)

    process = context.Process(target=run, daemon=not interruptible)
    with warnings.catch_warnings(), _undisturbed():
        # Python warns of forking beside threads; the child only computes, and takes no lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    return Worker(process, ours)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until a fork is over: what Python itself runs about one would swallow it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interrupted_once(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


class _Future(Future[Any]):
    """The future of a forked process: there is no thread that waits for it, so whoever wants its result does."""

    def __init__(self, forked: Forked) -> None:
        super().__init__()
        self._forked = forked

    def result(self, timeout: float | None = None) -> Any:
        if not self.done():
            self._forked.wait([self], timeout)
        return super().result(0)


class Forked:
    """Up to `slots` forked processes. One that dies takes its own task with it, and no other."""

    blames = True

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._staff: list[Worker] = []
        self._subjects: list[Any] = []
        self._place: dict[int, int] = {}

    def expect(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._known(task.subject)

    def _known(self, subject: Any) -> int:
        """The place of a subject in what processes that are forked from now on inherit."""
        if id(subject) not in self._place:  # and it is kept, so that the identity stays its own
            self._place[id(subject)] = len(self._subjects)
            self._subjects.append(subject)
        return self._place[id(subject)]

    def submit(self, task: Task) -> Future[Any]:
        place = self._known(task.subject)
        while True:
            worker = self._idle(place)
            try:
                worker.pipe.send((task.function, place, task.arguments))
            except OSError:  # it died while idle: another one takes its place
                self._end(worker)
                continue
            worker.future = _Future(self)
            return worker.future

    def _idle(self, place: int) -> Worker:
        """A process without work that has inherited the subject there."""
        idle = [worker for worker in self._staff if worker.future is None]
        for worker in idle:
            if worker.knows > place:
                return worker
            self._end(worker)
        try:
            worker = fork(self._serve)
        except OSError:  # no more processes or files to be had: those that are there do it all
            busy = [worker.future for worker in self._staff if worker.future is not None]
            if not busy:
                raise
            self.slots = len(self._staff)
            self.wait(busy, None)
            return self._idle(place)
        worker.knows = len(self._subjects)
        self._staff.append(worker)
        return worker

    def wait(self, futures: Collection[Future[Any]], seconds: float | None) -> list[Future[Any]]:
        from multiprocessing.connection import wait

        done = [future for future in futures if future.done()]
        busy: dict[Any, Worker] = {worker.pipe: worker for worker in self._staff if worker.future in futures}
        if done or not busy:
            return done
        for pipe in wait(list(busy), seconds):
            worker = busy[pipe]
            assert worker.future is not None
            done.append(worker.future)
            try:
                failure, value = worker.pipe.recv()
            except (EOFError, OSError):
                worker.future.set_exception(Lost("ended its process twice"))
                self._end(worker)
                continue
            future, worker.future = worker.future, None
            if failure is not None:
                future.set_exception(failure)
            else:
                future.set_result(value)
        return done

    def result(self, future: Future[Any]) -> Any:
        return future.result()

    def drop(self, future: Future[Any]) -> None:
        for worker in [worker for worker in self._staff if worker.future is future]:
            self._end(worker)

    def close(self, at_once: bool) -> None:
        del at_once  # a worker that is idle has nothing to lose
        for worker in list(self._staff):
            self._end(worker)

    def _end(self, worker: Worker) -> None:
        self._staff.remove(worker)
        worker.kill()

    def _serve(self, pipe: Pipe) -> None:
        while True:
            try:
                function, place, arguments = pipe.recv()
            except EOFError:
                return
            outcome: tuple[Exception | None, Any]
            try:
                outcome = None, function(self._subjects[place], *arguments)
            except Exception as failure:  # it is raised where the outcome is asked for
                outcome = failure, None
            pipe.send(outcome)
