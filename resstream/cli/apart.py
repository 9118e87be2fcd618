"""Work on what others wrote, in a process of its own with limits in time and memory: a file, or a claim of one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from resstream.errors import ResstreamError

if TYPE_CHECKING:
    from resstream.workers import Pipe

T = TypeVar("T")

MEMORY = 4 << 30
"""Bytes of address space that such a process may have."""

OVERTIME = 10.0
"""Seconds beyond its limit after which work that looks at the clock is taken to hang."""

GRACE = 5.0
"""Seconds that it has for an answer after Ctrl-C."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What the work returned, or what it had told last where it did not come to an end; and why it did not."""

    value: T | None
    failure: str = ""
    interrupted: bool = False


def apart(
    work: Callable[[Callable[[T], None]], T],
    seconds: float,
    *,
    memory: int | None = MEMORY,
    told: Callable[[T], None] = lambda _: None,
) -> Answer[T]:
    """What `work` returns, in plain data; an error of ours that it raises is raised.

    work: gets a function to tell what it has so far. A process that takes longer, needs more memory, or ends without an
    answer (`sys.exit`, `os._exit`, a fault below Python) is a failure, and so is its end by Ctrl-C without an answer.
    """
    from resstream import workers

    worker = workers.fork(lambda pipe: _serve(pipe, work, memory), interruptible=True)
    end, last, interrupted = time.monotonic() + seconds, None, False
    try:
        while True:
            try:
                if not worker.pipe.poll(max(end - time.monotonic(), 0)):
                    reason = "interrupted" if interrupted else f"it did not end within {seconds:g} s"
                    return Answer(last, reason, interrupted)
                kind, value = worker.pipe.recv()
            except KeyboardInterrupt:
                interrupted, end = True, min(end, time.monotonic() + GRACE)
                with suppress(OSError):
                    os.kill(worker.process.pid, signal.SIGINT)
                continue
            except (EOFError, OSError):
                worker.process.join(1)
                return Answer(last, f"its process ended without an answer{_how(worker.process.exitcode)}", interrupted)
            if kind == "done":
                return Answer(value, "", interrupted)
            if kind == "refused":
                raise ResstreamError(value)
            last = value
            told(value)
    finally:
        worker.kill()


def _serve(pipe: Pipe, work: Callable[[Callable[[Any], None]], Any], memory: int | None) -> None:
    from resstream import workers

    if memory is not None and workers.can_fork():  # elsewhere the limit would be one of this process
        import resource

        with suppress(ValueError, OSError):  # the system's own limit is lower
            resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        answer = ("done", work(lambda value: pipe.send(("so far", value))))
    except ResstreamError as error:
        answer = ("refused", str(error))
    except MemoryError:
        answer = ("refused", f"more than {(memory or 0) >> 30} GB of memory would be needed")
    except (SystemExit, KeyboardInterrupt):
        return
    pipe.send(answer)


def _how(status: int | None) -> str:
    if not status:
        return " (something called an exit)"
    return f" (signal {-status}: out of memory, or a fault below Python)" if status < 0 else f" (status {status})"
