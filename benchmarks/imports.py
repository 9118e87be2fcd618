"""How long `import resstream` takes, warm and cold, beside the libraries that it does not import until it needs them.

    python benchmarks/imports.py [--rounds 9]

Each figure is the least of some fresh interpreters, less what one takes that imports nothing, in seconds of CPU (which
a loaded machine changes little) and of the clock. Cold: compiled anew, with a cache of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

SHOWN = {
    "import resstream": "import resstream",
    "... and all public names": "import resstream as rs; [getattr(rs, name) for name in rs.__all__]",
    "... and the library": "import resstream as rs; rs.library()",
    "import numpy": "import numpy",
    "import hypothesis": "import hypothesis",
    "import scipy.stats": "import scipy.stats",
}


def run(code: str, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of CPU and of the clock of a fresh interpreter."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def least(code: str, rounds: int, cold: bool) -> tuple[float, float]:
    """The least of each over some interpreters."""

    def one(caches: str | None) -> tuple[float, float]:
        return run(code, {**os.environ, **({"PYTHONPYCACHEPREFIX": caches} if caches else {})})

    found = []
    for _ in range(rounds):
        if cold:
            with tempfile.TemporaryDirectory() as caches:
                found.append(one(caches))
        else:
            found.append(one(None))
    return min(cpu for cpu, _ in found), min(clock for _, clock in found)


def main(say: Callable[[str], None] = print) -> None:
    """Read the arguments, measure and print."""
    options = argparse.ArgumentParser(description="Measure imports.")
    options.add_argument("--rounds", type=int, default=9)
    rounds = options.parse_args().rounds
    bare = {cold: least("pass", rounds, cold) for cold in (False, True)}
    say(f"{'':26}{'warm, CPU':>12}{'clock':>9}{'cold, CPU':>12}{'clock':>9}   (s, the least of {rounds})")
    warm = {}
    for name, code in SHOWN.items():
        figures = []
        for cold in (False, True):
            cpu, clock = least(code, rounds, cold)
            figures += [cpu - bare[cold][0], clock - bare[cold][1]]
        warm[name] = figures[0]
        say(f"{name:26}{figures[0]:12.3f}{figures[1]:9.3f}{figures[2]:12.3f}{figures[3]:9.3f}")
    ours = max(warm["import resstream"], 1e-4)
    for name in list(SHOWN)[3:]:
        say(f"{name} takes {warm[name] / ours:,.0f} times as much CPU, warm")


if __name__ == "__main__":
    main()
