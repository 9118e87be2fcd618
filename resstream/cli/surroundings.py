"""What a command is run in: closed streams, full devices, and faults that must not look like findings."""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

BROKEN_PIPE, CRASHED = 128 + 13, 70
"""Exit statuses: as of a process that SIGPIPE ended, and EX_SOFTWARE; a crash must not look like a finding."""


def open_streams() -> bool:
    """Have the three standard streams open, on /dev/null where the caller closed them.

    Otherwise the next file or pipe gets their number, and what is printed ends up in it. Returns whether standard
    output was open.
    """
    printing = True
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
        except OSError:
            printing &= number != 1
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            stream = os.fdopen(number, mode, encoding="utf-8")
            setattr(sys, ("stdin", "stdout", "stderr")[number], stream)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError):  # a test may have put something else in their place
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return printing


def stand_somewhere() -> bool:
    """Go to a directory of our own, which is removed in the end, where the working directory was deleted.

    Libraries look for it as soon as they are imported. Returns whether there was one.
    """
    try:
        os.getcwd()  # noqa: PTH109 - what is asked is whether it fails
    except OSError:
        directory = tempfile.mkdtemp(prefix="resstream-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        os.chdir(directory)
        return False
    return True


def run(command: Callable[[], object], say: Callable[[str], None], usage: int, ours: type[Exception]) -> NoReturn:
    """Run a command and exit; whatever goes wrong is said in one line, and never has the exit status of a finding.

    `usage` is the status of errors of ours and of the system. RESSTREAM_TRACEBACK=1 shows the traceback of a crash.
    """
    status: int | str | None = 0
    try:
        command()
    except SystemExit as ending:
        status = ending.code
    except ours as error:
        say(f"error: {error}")
        status = usage
    except KeyboardInterrupt:
        say("interrupted")
        status = 128 + 2
    except MemoryError:
        say("error: out of memory")
        status = usage
    except OSError as failure:
        if os.environ.get("RESSTREAM_TRACEBACK"):
            traceback.print_exc()
        status = BROKEN_PIPE if failure.errno == errno.EPIPE else usage
        if status == usage:
            say(f"error: {failure.strerror or failure}{f': {failure.filename}' if failure.filename else ''}")
    except Exception as failure:
        if os.environ.get("RESSTREAM_TRACEBACK"):
            traceback.print_exc()
        where = traceback.extract_tb(failure.__traceback__)[-1]
        say(
            f"internal error: {type(failure).__name__}: {failure} ({where.filename}, line {where.lineno}); "
            "this is a fault of resstream: RESSTREAM_TRACEBACK=1 shows where"
        )
        status = CRASHED
    code = _flushed(status if isinstance(status, int) else 0 if status is None else 1, say, usage)
    sys.exit(code)


def _flushed(status: int, say: Callable[[str], None], usage: int) -> int:
    """The exit status once everything is written, or what it is where it could not be."""
    try:
        sys.stdout.flush()
    except OSError as failure:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python tries again at its end, and says so
        if failure.errno == errno.EPIPE:
            return BROKEN_PIPE
        say(f"error: the output could not be written: {failure.strerror}")
        return usage
    return status
