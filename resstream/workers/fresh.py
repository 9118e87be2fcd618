"""New interpreters, for long work that wants nothing of this process: functions of modules, one thread of BLAS each."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from resstream.orphans import die_with
from resstream.workers.base import ONE_THREAD

Result = TypeVar("Result")

# In a worker: the number of steps that all workers have done, and whether they are to stop.
_steps: Any = None
_stop: Any = None


@contextmanager
def interpreters(count: int, steps: Any = None, stop: Any = None) -> Iterator[ProcessPoolExecutor]:
    """An executor of so many new processes; whatever ends the context early cancels what was not begun."""
    with _one_thread():
        pool = ProcessPoolExecutor(count, get_context("spawn"), _share, (steps, stop, os.getpid()))
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def in_parallel(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    steps: int,
    told: Callable[[float], None] | None = None,
) -> list[Result]:
    """Results of a module's function for several arguments, computed on as many cores as there are.

    The function calls `count_step` for each of `steps` steps in all, of which `told` is told the share done. An error
    in the caller (an interruption, say) stops every worker at its next step.
    """
    context = get_context("spawn")
    counter, stop = context.Value("q", 0), context.Event()
    with interpreters(min(len(arguments), os.cpu_count() or 1), counter, stop) as pool:
        futures = [pool.submit(function, *each) for each in arguments]
        try:
            while wait(futures, timeout=0.2).not_done:
                if told is not None:
                    told(counter.value / steps)
        except BaseException:
            stop.set()
            raise
        return [future.result() for future in futures]


def count_step(done: int, loss: float) -> None:  # noqa: ARG001 - the signature of a training's progress
    """In a worker: one more step is done. Raises KeyboardInterrupt where the caller has stopped."""
    with _steps.get_lock():
        _steps.value += 1
    if _stop.is_set():
        raise KeyboardInterrupt


def _share(counter: Any, stop: Any, caller: int) -> None:
    global _steps, _stop  # what a worker process shares with its caller is given to it once, at its start
    _steps, _stop = counter, stop
    die_with(caller)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the caller's to handle


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started in this context compute with one thread each."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
