"""How long claims take to check, beside an earlier revision of this repository, in one run.

    python benchmarks/check_time.py REVISION [--claims N] [--profile quick] [--seed N]

Claims that both revisions have, all or N of them drawn by the seed, are checked by both, one process each and in turn,
so that a change of the machine's pace meets both. Printed: the processor time of each claim and of all, their ratio,
and where verdicts or numbers of instances differ, as then a time says little.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

from earlier import ROOT, environment, sources

WORKER = """
import inspect, json, sys, time
from resstream import claims
from resstream.falsify import check
profile, seed = sys.argv[1], int(sys.argv[2])
takes_claims = "claim" in inspect.signature(check.check_one).parameters
print(json.dumps(sorted(claims.library())), flush=True)
for line in sys.stdin:
    name = line.strip()
    start = time.process_time()
    row = check.check_one(claims.lookup(name) if takes_claims else name, profile, seed)
    taken = time.process_time() - start
    print(json.dumps([taken, row.verdict, row.accepted + row.discarded]), flush=True)
"""


class Checker:
    """A process that checks claims by the sources in a folder."""

    def __init__(self, folder: Path, profile: str, seed: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, profile, str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment(folder),
        )
        self.claims: list[str] = json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def check(self, name: str) -> tuple[float, str, int]:
        """Seconds of processor time, the verdict, and how many instances were looked at."""
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        seconds, verdict, instances = json.loads(self._line())
        return seconds, verdict, instances


def compare(before: Checker, now: Checker, names: list[str]) -> None:
    """Check the claims by both, in turn, and print what came out."""
    warm = names[0]  # imports and caches are not what is measured
    before.check(warm), now.check(warm)
    total, differ = [0.0, 0.0], 0
    for number, name in enumerate(names):
        first, second = (before, now) if number % 2 else (now, before)
        answers = {checker: checker.check(name) for checker in (first, second)}
        old, new = answers[before], answers[now]
        total = [total[0] + old[0], total[1] + new[0]]
        differ += old[1:] != new[1:]
        note = "" if old[1:] == new[1:] else f"  {old[1]}, {old[2]:,} instances, and now {new[1]}, {new[2]:,}"
        print(f"{name:60} {old[0]:7.2f} {new[0]:7.2f}{note}", flush=True)
    print(f"{len(names)} claims, {differ} of which differ: {total[0]:.1f} s before, {total[1]:.1f} s now, ", end="")
    print(f"ratio {total[1] / total[0]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="what git knows the earlier state by")
    parser.add_argument("--claims", type=int, help="how many claims, drawn by the seed; all by default")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with sources(options.revision) as folder:
        before, now = (Checker(path, options.profile, options.seed) for path in (folder, ROOT))
        try:
            names = [name for name in before.claims if name in set(now.claims)]
            if options.claims is not None:
                names = random.Random(options.seed).sample(names, min(options.claims, len(names)))
            compare(before, now, names)
        finally:
            before.process.kill()
            now.process.kill()


if __name__ == "__main__":
    main()
