"""Processes of loky, where there is no fork: started afresh, kept for the next call, work carried by value."""

from __future__ import annotations

import os
import signal
from typing import Any

from resstream.orphans import die_with
from resstream.workers.base import ONE_THREAD
from resstream.workers.carried import Carried

IDLE = 300
"""Seconds after which a process that is given nothing ends."""


class Loky(Carried):
    """So many processes of loky. When one dies, all that is under way is lost, and tried again by new ones."""

    def __init__(self, slots: int) -> None:
        super().__init__(_Kept(slots), slots)

    def close(self, at_once: bool) -> None:
        super().close(at_once)
        if at_once:
            self.executor.pool().shutdown(kill_workers=True)


class _Kept:
    """The executor that loky keeps, made anew where a process of it has died."""

    def __init__(self, count: int) -> None:
        self._count = count

    def pool(self) -> Any:
        from loky import get_reusable_executor

        begin = {"initializer": _begin, "initargs": (os.getpid(),)}
        return get_reusable_executor(self._count, timeout=IDLE, env=ONE_THREAD, **begin)

    def submit(self, function: Any, *arguments: Any) -> Any:
        return self.pool().submit(function, *arguments)


def _begin(caller: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the caller's to handle
    die_with(caller)
