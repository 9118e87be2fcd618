"""How often, how fast and how small: the falsifier on claims with known truth, beside plain tools, in one run.

    python benchmarks/falsification.py [FILE] [--seeds N] [--json] [--budget N] [--no-peers] [--no-shrink]
        [--only ID] [--keep FILE]

FILE holds one claim a line, as benchmarks/stated.py reads it. The peers see the same claim in float64, and are judged
exactly: a "false alarm" is a violation that they report and exact arithmetic denies. With --keep the rows are appended
to a file, and a run that was broken off goes on from there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as stock_arrays
from scipy.optimize import differential_evolution
from stated import DEFAULT_FILE, translate

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim, Instance
from resstream.domains import Part
from resstream.falsify import corners, judge
from resstream.falsify.run import BUDGET, falsify
from resstream.falsify.search import budget_plan, search
from resstream.falsify.verdict import REFUTED

# ---- peers --------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a tool made of a claim: "refuted", "false alarm", "survived" or "error"; of a counterexample its size and
    the engine that found it."""

    status: str
    seconds: float
    nonzero: int | None = None
    engine: str = ""


def nonzero_entries(raw: Instance) -> int:
    return sum(int(np.count_nonzero(np.frompyfunc(lambda v: v != 0, 1, 1)(x))) for x in raw.arrays.values())


TOLERANCE = 1e-9
"""Relative violations below this are passed over by the peers, as a careful float test would."""


def _margin(claim: Claim, raw: Instance) -> float | None:
    """The relative float margin of one instance, or None where a hypothesis fails or there is no value."""
    met, margin = claim.margin(raw.batch())
    return float(margin.relative[0]) if met[0] and np.isfinite(margin.relative[0]) else None


def _judged(claim: Claim, raw: Instance | None, start: float) -> Outcome:
    seconds = time.perf_counter() - start
    if raw is None:
        return Outcome("survived", seconds)
    certain = judge.judge(claim, raw).outcome == judge.VIOLATED
    return Outcome("refuted" if certain else "false alarm", seconds, nonzero_entries(raw))


@st.composite
def stock_instances(draw: st.DrawFn, claim: Claim) -> Instance:
    """Instances made with Hypothesis's own `arrays()`."""
    sizes = {name: draw(st.sampled_from(list(values))) for name, values in claim.size_ranges().items()}
    options = {name: draw(st.sampled_from(values)) for name, values in claim.option_values().items()}
    arrays = {}
    for name, part in claim.parts(sizes, options).items():
        low, high = (part.low, part.high) if part.kind == "whole" else (0 if part.kind == "weight" else -10, 10)
        elements = st.integers(low, high).map(float) if part.kind == "whole" else st.floats(low, high)
        arrays[name] = draw(stock_arrays(np.float64, part.shape, elements=elements))
    return Instance(sizes, options, arrays)


def plain_hypothesis(claim: Claim, seed: int, examples: int, steered: bool) -> Outcome:
    """`@given` with stock arrays, and `target()` on the margin where it is steered; Hypothesis shrinks."""
    last: list[Instance] = []

    @hypothesis_seed(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink, *([Phase.target] if steered else [])],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(stock_instances(claim))
    def test(raw: Instance) -> None:
        margin = _margin(claim, raw)
        if margin is None:
            return
        if steered:
            target(-margin)
        if margin < -TOLERANCE:
            last[:] = [raw]
            raise AssertionError

    start = time.perf_counter()
    try:
        test()
    except AssertionError:
        return _judged(claim, last[0], start)
    except Exception:
        return Outcome("error", time.perf_counter() - start)
    return _judged(claim, None, start)


def plain_evolution(claim: Claim, seed: int, evaluations: int) -> Outcome:
    """SciPy's differential evolution alone, on the float margin, shape after shape from the smallest."""
    start = time.perf_counter()
    left = evaluations
    for shape in corners.shapes(claim)[:12]:
        parts = claim.parts(*shape)
        bounds = [
            (part.low, part.high) if part.kind == "whole" else (0 if part.kind == "weight" else -10, 10)
            for part in parts.values()
            for _ in range(int(np.prod(part.shape)))
        ]
        if not bounds:
            continue

        def score(columns: Array, parts: dict[str, Part] = parts, shape: corners.Shape = shape) -> Array:
            nonlocal left
            rows = np.atleast_2d(columns.T)
            left -= len(rows)
            arrays = {name: parts[name].settle(x) for name, x in corners.split(parts, rows).items()}
            met, margin = claim.margin(Batch(*shape, arrays, len(rows)))
            values = np.full(len(rows), 1e9)
            values[met] = np.nan_to_num(margin.relative, nan=1e9)
            return values if columns.ndim > 1 else values[0]

        share = max(evaluations // 12, 1)
        size = max(5, min(15, 400 // len(bounds)))
        try:
            found = differential_evolution(
                score,
                bounds,
                popsize=size,
                maxiter=max(share // (size * len(bounds)) - 1, 1),
                tol=0,
                polish=False,
                rng=seed,
                vectorized=True,
                updating="deferred",
                callback=lambda intermediate_result: intermediate_result.fun < -TOLERANCE,
            )
        except Exception:
            return Outcome("error", time.perf_counter() - start)
        if found.fun < -TOLERANCE:
            arrays = {name: parts[name].settle(x)[0] for name, x in corners.split(parts, found.x[None]).items()}
            return _judged(claim, Instance(*shape, arrays), start)
        if left <= 0:
            break
    return _judged(claim, None, start)


# ---- the run --------------------------------------------------------------------------------------------------------


def searched(claim: Claim, seed: int, budget: int) -> Outcome:
    """The search alone: what refutes is certified, and not shrunk, so it has no size to speak of."""
    verdict = search(claim, budget_plan(claim, budget), seed)
    return Outcome(verdict.status, verdict.seconds, engine=verdict.tally.engine if verdict.status == REFUTED else "")


def ours(claim: Claim, seed: int, budget: int) -> Outcome:
    verdict = falsify(claim, budget, seed)
    if verdict.counterexample is None:
        return Outcome(verdict.status, verdict.seconds)
    certain = verdict.counterexample.judgement.outcome == judge.VIOLATED
    size = nonzero_entries(verdict.counterexample.raw)
    return Outcome("refuted" if certain else "false alarm", verdict.seconds, size, verdict.tally.engine)


def known_size(entry: Mapping[str, Any]) -> int | None:
    """Nonzero entries of the small counterexample that the file knows."""
    values = (entry.get("counterexample") or {}).get("values")
    if values is None:
        return None

    def count(value: Any) -> int:
        return sum(map(count, value)) if isinstance(value, list) else int(Fraction(str(value)) != 0)

    variables = {name: value for name, value in values.items() if entry["vars"][name]["kind"] != "choice"}
    return sum(count(value) for value in variables.values())


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of one tool over its rows (a row is a claim with one seed)."""
    false, true = ([row for row in rows if row["truth"] is truth] for truth in (False, True))
    refuted = [row for row in false if row["status"] == "refuted"]
    seconds = sorted(row["seconds"] for row in refuted)
    sizes = [row["nonzero"] for row in refuted if row["nonzero"] is not None]
    ratios = [row["nonzero"] / max(row["known"], 1) for row in refuted if None not in (row["nonzero"], row["known"])]
    return {
        "false_refuted": len(refuted),
        "false_total": len(false),
        "true_survived": sum(row["status"] == "survived" for row in true),
        "true_total": len(true),
        "false_alarms": sum(row["status"] == "false alarm" for row in rows)
        + sum(row["status"] == "refuted" for row in true),
        "found_by": dict(Counter(row["engine"] for row in refuted if row["engine"]).most_common()),
        "median_seconds": round(statistics.median(seconds), 4) if seconds else None,
        "p95_seconds": round(float(np.quantile(seconds, 0.95)), 4) if seconds else None,
        "size_median": statistics.median(sizes) if sizes else None,
        "size_ratio_median": round(statistics.median(ratios), 3) if ratios else None,
    }


def outcome_of(entry: Mapping[str, Any], tool: Callable[[Claim, int], Outcome], seed: int) -> Outcome:
    """What a tool makes of an entry; one that fails must not end the run."""
    start = time.perf_counter()
    try:
        return tool(translate(entry), seed)
    except Exception as failure:
        sys.stderr.write(f"{entry['id']}: {type(failure).__name__}: {failure}\n")
        return Outcome("error", time.perf_counter() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE)
    parser.add_argument("--seeds", type=int, default=1, help="run every claim with this many seeds")
    parser.add_argument("--budget", type=int, default=BUDGET, help="evaluations of a search of ours")
    parser.add_argument("--examples", type=int, default=10_000, help="examples of the plain Hypothesis tests")
    parser.add_argument("--no-shrink", action="store_true", help="our search alone, without the sizes of what it finds")
    parser.add_argument("--no-peers", action="store_true", help="leave the other tools out")
    parser.add_argument("--only", action="append", help="only the claims whose id starts with this")
    parser.add_argument("--keep", type=Path, help="append the rows to this file, and leave out those that it has")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    entries = [json.loads(line) for line in arguments.file.read_text().splitlines() if line.strip()]
    if arguments.only:
        entries = [entry for entry in entries if entry["id"].startswith(tuple(arguments.only))]
    our_tool = searched if arguments.no_shrink else ours
    tools: dict[str, Callable[[Claim, int], Outcome]] = {"resstream": lambda c, s: our_tool(c, s, arguments.budget)}
    if not arguments.no_peers:
        tools["hypothesis"] = lambda c, s: plain_hypothesis(c, s, arguments.examples, False)
        tools["hypothesis+target"] = lambda c, s: plain_hypothesis(c, s, arguments.examples, True)
        tools["scipy evolution"] = lambda c, s: plain_evolution(c, s, arguments.budget // 4)
    kept = arguments.keep
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    done = {(row["id"], row["seed"], row["tool"]): row for row in known if row["budget"] == arguments.budget}
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in tools}
    for seed, entry, (name, tool) in itertools.product(range(arguments.seeds), entries, tools.items()):
        row = done.get((entry["id"], seed, name))
        if row is None:
            row = {
                "tool": name,
                "budget": arguments.budget,
                "id": entry["id"],
                "truth": entry["truth"],
                "seed": seed,
                "known": known_size(entry),
                **vars(outcome_of(entry, tool, seed)),
                "load": round(os.getloadavg()[0], 1),
            }
            if kept:
                with kept.open("a") as file:
                    file.write(json.dumps(row) + "\n")
        rows[name].append(row)
        if not arguments.json:
            good = row["status"] == ("survived" if entry["truth"] else "refuted")
            print(
                f"{entry['id']:12} {'true ' if entry['truth'] else 'false'} seed {seed}  {name:18} "
                f"{row['status']:12} {row['seconds']:8.3f} s  size {row['nonzero']} of {row['known']}"
                f"  {row['engine']}"
                f"{'' if good else '   <--'}",
                flush=True,
            )
    figures = {name: summary(found) for name, found in rows.items()}
    if arguments.json:
        result = {**figures["resstream"], "peers": figures, "rows": rows}
        print(json.dumps(result, indent=2))
    else:
        for name, values in figures.items():
            print(f"\n{name}\n  " + "  ".join(f"{key}={value}" for key, value in values.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
