"""Work on what others wrote, in a process of its own with limits in time and memory: a file, or a claim of one."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TypeVar

from resstream.errors import ResstreamError

T = TypeVar("T")

MEMORY = 4 << 30
"""Bytes of the address space of such a process."""


def apart(
    what: str,
    work: Callable[[Callable[[str], None]], T],
    seconds: float,
    told: Callable[[str], None] = lambda _: None,
    memory: int | None = MEMORY,
) -> T:
    """What `work` returns (it must be plain data), or the error of ours that it raised.

    work: gets a function that it may tell where it is. A process that takes longer, needs more memory, or ends without
    an answer (`sys.exit`, `os._exit`, a fault below Python) raises ResstreamError, which says so and where it was.
    """
    from resstream.falsify import pool

    def run(pipe: Connection) -> None:
        if memory is not None:
            _limit(memory)
        try:
            answer: object = ("done", work(lambda place: pipe.send(("at", place))))
        except ResstreamError as error:
            answer = ("refused", str(error))
        except MemoryError:
            answer = ("refused", f"{what}: needs more than {MEMORY >> 30} GB of memory")
        except SystemExit:
            return
        pipe.send(answer)

    worker = pool.fork(run)
    end, place = time.monotonic() + seconds, ""
    try:
        with suppress(EOFError, OSError):
            while worker.pipe.poll(max(end - time.monotonic(), 0)):
                kind, value = worker.pipe.recv()
                if kind == "done":
                    return value
                if kind == "refused":
                    raise ResstreamError(value)
                place = value
                told(value)
            raise ResstreamError(f"{what}: not done within {seconds:g} s{_at(place)}")
        worker.process.join(1)
        raise ResstreamError(f"{what}: its process ended without an answer{_at(place)}{_how(worker.process.exitcode)}")
    finally:
        worker.kill()


def _at(place: str) -> str:
    return f", while at: {place}" if place else ""


def _how(status: int | None) -> str:
    if status is None or status == 0:
        return " (it called an exit)"
    return f" (signal {-status}: memory, or a fault below Python)" if status < 0 else f" (exit status {status})"


def _limit(memory: int) -> None:
    with suppress(ValueError, OSError):  # the system's own limit is lower, or it has none of the kind
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
