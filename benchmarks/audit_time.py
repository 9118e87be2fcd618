"""How long quick audits take, beside an earlier revision of this repository, in one run, and whether they say the same.

    python benchmarks/audit_time.py REVISION [FILE::ID|ID ...] [--claims N] [--seed N]

Claims of the library drawn by the seed, and those named, are audited by both revisions in turn as a user would, by
`resstream audit ID --quick --json`, one process each, so that a change of the machine's pace meets both. Printed: the
processor time of each with all that it starts, the time on the wall, medians and their ratios; and where what was found
differs. Times, and how much was tried, are no findings: searches are as long as the time allows.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from earlier import ROOT, environment, sources

EFFORT = {"seconds", "budget", "evaluations", "instances", "accepted", "discarded", "judged", "searched", "acceptance"}
"""Fields of an audit that say how much was tried."""

COUNTED = re.compile(r"\d[\d,]* (?=evaluations|instances|judged|seconds|random)")
"""The same within sentences."""

WARM = "counts.block"
"""A claim that takes a moment."""

LONGEST = 100
"""Characters of a value that are shown."""


def absolute(target: str) -> str:
    """A target with the path of its file, if it has one, from the root, as audits are run elsewhere."""
    file, separator, name = target.partition("::")
    return f"{Path(file).resolve()}{separator}{name}" if file.endswith(".py") else target


def audit(folder: Path, target: str, seed: int) -> tuple[float, float, Any]:
    """Seconds of processor time, seconds on the wall, and the JSON of an audit by the sources in a folder."""
    keeping = {**environment(folder), "PYTHONDONTWRITEBYTECODE": ""}  # what is compiled is kept, as with a user
    command = [sys.executable, "-m", "resstream", "audit", target, "--quick", "--json", "--no-memory"]
    before = os.times()
    start = time.monotonic()
    done = subprocess.run([*command, "--seed", str(seed)], cwd=folder, env=keeping, capture_output=True, text=True)
    wall = time.monotonic() - start
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, wall, json.loads(done.stdout) if done.stdout.strip() else done.stderr


def differences(before: Any, now: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two findings differ: the place, and both values. An instance is shown by its sides."""
    if isinstance(before, dict) and isinstance(now, dict):
        instances = "raw" in before and "raw" in now
        for key in ["lhs", "kind", "rhs"] if instances else [*before, *(key for key in now if key not in before)]:
            if key not in EFFORT:
                yield from differences(before.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from differences(old, new, f"{path}[{place}]")
    elif isinstance(before, str) and isinstance(now, str):
        if COUNTED.sub("", before) != COUNTED.sub("", now):
            yield path, before, now
    elif before != now:
        yield path, before, now


def compare(before: Path, now: Path, targets: list[str], seed: int) -> None:
    """Audit the claims by both, in turn, and print what came out."""
    rows: list[tuple[float, ...]] = []
    differ = 0
    for folder in (before, now):
        audit(folder, WARM, seed)  # as modules are compiled once
    print(f"{'':60} {'processor, s':>15} {'wall, s':>15}")
    for number, target in enumerate(targets):
        first, second = (before, now) if number % 2 else (now, before)
        answers = {folder: audit(folder, target, seed) for folder in (first, second)}
        old, new = answers[before], answers[now]
        rows.append((old[0], new[0], old[1], new[1]))
        print(f"{target[-60:]:60}" + "".join(f" {value:7.2f}" for value in rows[-1]), flush=True)
        found = list(differences(old[2], new[2]))
        differ += bool(found)
        for path, was, is_now in found:
            print(f"    {path}: {str(was)[:LONGEST]}, and now {str(is_now)[:LONGEST]}", flush=True)
    middle = [median(column) for column in zip(*rows, strict=True)]
    print(
        f"{len(rows)} claims, {differ} of which differ; in the median {middle[0]:.2f} s of processor time before, ",
        end="",
    )
    print(f"{middle[1]:.2f} s now, ratio {middle[1] / middle[0]:.2f}; {middle[2]:.2f} s on the wall before, ", end="")
    print(f"{middle[3]:.2f} s now, ratio {middle[3] / middle[2]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="what git knows the earlier state by")
    parser.add_argument("targets", nargs="*", help="claims that are audited besides those drawn")
    parser.add_argument("--claims", type=int, default=24, help="how many claims of the library are drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the draw, and of every audit")
    options = parser.parse_args()
    from resstream import claims

    drawn = random.Random(options.seed).sample(sorted(claims.library()), options.claims)
    named = [absolute(target) for target in options.targets]
    with sources(options.revision) as folder:
        compare(folder, ROOT, [*drawn, *named], options.seed)


if __name__ == "__main__":
    main()
