"""Several trainings at once, each in a process of its own, with one progress for all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

Result = TypeVar("Result")

_steps: Any = None  # in a worker: the number of steps that all workers have done


def in_parallel(
    function: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    steps: int,
    told: Callable[[float], None] | None = None,
) -> list[Result]:
    """Results of a module's function for several arguments, computed on as many cores as there are.

    The function calls `count_step` for each of `steps` steps in all, of which `told` is told the share done.
    """
    context = get_context("spawn")
    counter = context.Value("q", 0)
    workers = min(len(arguments), os.cpu_count() or 1)
    with _one_thread(), ProcessPoolExecutor(workers, context, _share, (counter,)) as pool:
        futures = [pool.submit(function, *each) for each in arguments]
        try:
            while wait(futures, timeout=0.2).not_done:
                if told is not None:
                    told(counter.value / steps)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def count_step(done: int, loss: float) -> None:  # noqa: ARG001 - the signature of a training's progress
    """In a worker: one more step is done."""
    with _steps.get_lock():
        _steps.value += 1


def _share(counter: Any) -> None:
    global _steps
    _steps = counter


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started in this context compute with one thread each, so that they do not fight over cores."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
