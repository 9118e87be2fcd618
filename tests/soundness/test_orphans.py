"""No worker outlives the process that started it, and Ctrl-C ends what it is meant to end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from resstream.falsify import check as checking

LOOPING = """
from resstream.claim import at_most, claim
from resstream.domains import Vector

@claim("mine.loops", over={"x": Vector("d")})
def loops(x):
    while True:
        pass
"""


def start(*arguments: str, cwd: Path, first: str = "") -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", f"{first}from resstream.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def session(number: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == number and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def wait_until(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


FALSIFY = ("falsify", "mine.py", "--workers", "2")


@pytest.mark.parametrize(
    ("arguments", "first"),
    [(FALSIFY, ""), (FALSIFY, "import os; del os.fork; "), (("reproduce", "--retrain"), "")],
    ids=["forked", "loky", "new interpreters"],
)
def test_no_worker_outlives_a_killed_parent(tmp_path, arguments, first):
    if first:
        pytest.importorskip("loky", reason="not installed: pip install 'resstream[parallel]'")
    (tmp_path / "mine.py").write_text(LOOPING)
    process = start(*arguments, cwd=tmp_path, first=first)
    try:
        assert wait_until(lambda: len(session(process.pid)) >= 3, 60), "no worker was started"
        time.sleep(0.5)
        process.kill()
        process.wait(10)
        assert wait_until(lambda: not session(process.pid), 10), f"left over: {session(process.pid)}"
    finally:
        for left in session(process.pid):
            os.kill(left, signal.SIGKILL)
        process.communicate()


def test_ctrl_c_ends_a_check_of_one_worker(monkeypatch):
    """The search keeps what it has and says that it was interrupted; the check must not take that for a verdict."""
    whole = checking.search

    def interrupted(claim, chunks, *rest):
        return whole(claim, chunks, *rest, progress=raise_interrupt)

    monkeypatch.setattr(checking, "search", interrupted)
    rows = checking.check(["contraction.diameter", "contraction.scores"], "quick", 0, 1)
    with pytest.raises(KeyboardInterrupt):
        next(rows)


def raise_interrupt(_):
    raise KeyboardInterrupt
