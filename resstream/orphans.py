"""Worker processes that end when the process that started them does, however that ended (SIGKILL included)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1  # of Linux, see prctl(2)


def die_with(parent: int) -> None:
    """In a worker: end as soon as the process `parent`, which started it, has ended.

    Linux sends the signal itself, also where the worker computes below Python; elsewhere a thread looks every second.
    """
    if not (sys.platform.startswith("linux") and _ask_linux()):
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    elif os.getppid() != parent:  # it ended before it was asked for
        os._exit(1)


def _ask_linux() -> bool:
    try:
        return ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
