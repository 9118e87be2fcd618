"""The workers that a call asks for: so many processes of this machine, or those that it was given."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

from resstream.errors import ResstreamError
from resstream.workers.base import Here, Workers
from resstream.workers.carried import Carried
from resstream.workers.cluster import Dask
from resstream.workers.forked import Forked, can_fork, may_have_children
from resstream.workers.loky import Loky


def hired(count: int, executor: Any = None, *, apart: bool = False, inherit: bool = False) -> Workers:
    """Those of an executor, or `count` processes, or this one where 1 will do or no process is to be had.

    Processes are forked where that can be done, as they start at once; they are loky's (if it is installed) where it
    cannot, or should not: on macOS, whose own libraries do not bear it, and in notebooks, which have threads. apart:
    not in this process, which must stay able to end the work. inherit: the work is too large to be sent.
    ResstreamError for what is no executor.
    """
    if executor is not None:
        return _given(executor)
    if count <= 1 and not apart:
        return Here()
    fork_is_safe = sys.platform != "darwin" and "ipykernel" not in sys.modules
    if not (can_fork() and fork_is_safe) and not inherit and find_spec("loky") and may_have_children():
        return Loky(count)
    return Forked(count) if can_fork() else Here()


def _given(executor: Any) -> Workers:
    if isinstance(executor, (Carried, Forked, Here)):
        return executor
    if callable(getattr(executor, "get_executor", None)):
        return Dask.of(executor)
    if not callable(getattr(executor, "submit", None)):
        raise ResstreamError(
            "executor: expected something with submit(function, *arguments), as executors of concurrent.futures, got "
            f"{type(executor).__name__}"
        )
    known = getattr(executor, "_max_workers", None)
    return Carried(executor, 2 * (known if isinstance(known, int) else os.cpu_count() or 1))
