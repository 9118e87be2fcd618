"""Does giving time where it pays find more than equal shares? Both over the same recorded chunks, in one run.

    python benchmarks/campaign.py [FILE ...] [--seconds N] [--seed N] [--json]

FILE holds claims with known truth (see benchmarks/stated.py). Each claim is searched once, chunk after chunk,
for N seconds or until it is refuted; what its chunks cost and brought is recorded. Then both strategies are played over
the record, which needs no search and meets both with the same pace of the machine: how many of the false claims are
refuted after a quarter, a half and all of the time that equal shares take to find all of them, and how much later each.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from stated import DEFAULT_FILE, Unsupported, translate

from resstream.campaign.strategy import Standing, choose, equal, region_of
from resstream.claim import Claim
from resstream.falsify.search import run_chunk, stream


class Brought(NamedTuple):
    """What one chunk cost and brought."""

    seconds: float
    margin: float | None
    region: str
    refuted: bool


def recorded(claim: Claim, seconds: float, seed: int) -> list[Brought]:
    """The chunks of a claim until it is refuted, or so many seconds were spent on it."""
    found: list[Brought] = []
    for chunk in stream(claim):
        start = time.perf_counter()
        tally = run_chunk(claim, chunk, seed)
        margin = tally.smallest_margin if tally.closest is not None else None
        region = region_of(tally.closest, tally.smallest_margin)
        found.append(Brought(time.perf_counter() - start, margin, region, tally.violating is not None))
        if tally.finished or sum(one.seconds for one in found) >= seconds:
            break
    return found


Strategy = Callable[..., str | None]


def played(record: Mapping[str, Sequence[Brought]], strategy: Strategy) -> dict[str, float]:
    """When each claim that the record refutes is refuted, in seconds of one worker.

    A claim whose record ends without a refutation goes on as its last chunk did: it takes its time, and brings nothing.
    """
    standings = {name: Standing() for name in record}
    at, clock = dict.fromkeys(record, 0), 0.0
    left = {name for name, chunks in record.items() if chunks[-1].refuted}
    refuted: dict[str, float] = {}
    while left:
        name = strategy(standings.items())
        assert name is not None
        chunks, place = record[name], at[name]
        brought = chunks[place] if place < len(chunks) else chunks[-1]._replace(margin=None, region="", refuted=False)
        clock, at[name] = clock + brought.seconds, place + 1
        standings[name].saw(brought.margin, brought.region, brought.seconds)
        if brought.refuted:
            refuted[name] = clock
            left.discard(name)
            del standings[name]
    return refuted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[DEFAULT_FILE, DEFAULT_FILE.with_name("hard.jsonl")])
    parser.add_argument("--seconds", type=float, default=20.0, help="of the search of each claim that is recorded")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    record: dict[str, list[Brought]] = {}
    left_out = []
    for line in "".join(file.read_text() for file in options.files).splitlines():
        entry = json.loads(line)
        try:
            claim = translate(entry)
        except Unsupported:
            left_out.append(entry["id"])
            continue
        record[claim.id] = recorded(claim, options.seconds, options.seed)
    if not any(chunks[-1].refuted for chunks in record.values()):
        print("no claim was refuted: there is nothing to compare", file=sys.stderr)
        return 1
    when = {name: played(record, strategy) for name, strategy in (("where it pays", choose), ("equal shares", equal))}
    whole = max(when["equal shares"].values())
    later = [when["equal shares"][name] / when["where it pays"][name] for name in when["equal shares"]]
    result: dict[str, Any] = {
        "claims": len(record),
        "refuted": len(later),
        "left out": left_out,
        "seconds of equal shares": round(whole, 1),
        "seconds where it pays": round(max(when["where it pays"].values()), 1),
        "refuted by then": {
            name: [sum(at <= share * whole for at in found.values()) for share in (0.25, 0.5, 1.0)]
            for name, found in when.items()
        },
        "mean seconds to a refutation": {
            name: round(statistics.mean(found.values()), 2) for name, found in when.items()
        },
        "equal shares take so many times as long, in the median": round(statistics.median(later), 2),
    }
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for name, value in result.items():
            print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
