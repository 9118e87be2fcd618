"""How many instances a second are judged, beside a plain Hypothesis test, and how many false alarms there are.

    python benchmarks/throughput.py [--instances N] [--chunk N] [--seed N] [--json]

One core, one run, side by side. The first figure is the ratio of instances of `contraction.diameter` (n and d in 2..6)
that this suite screens and judges in a second to those of a plain Hypothesis test of the same inequality with stock
`arrays()`. The second is the number of false alarms (claims expected to hold that were refuted or raised) over all such
claims; the float64 violations that the judge acquitted, which a float suite would have had to hide, are counted too.
"""

from __future__ import annotations

import argparse
import json
import os
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rich.progress import Progress

from resstream import claims
from resstream.falsify.search import BATCH, Chunk, plan, search

SIZE = 65_536  # instances in a chunk of the timed run; of each chunk 16 are judged, so that larger ones cost less


def plain_hypothesis(examples: int) -> float:
    """Instances a second of a plain test of Theorem 1 (i): stock arrays, one instance at a time, a tolerance."""
    seen = 0

    @settings(max_examples=examples, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data(), st.integers(2, 6), st.integers(2, 6))
    def contracts(data: st.DataObject, n: int, d: int) -> None:
        nonlocal seen
        weights = data.draw(arrays(np.float64, (n, n), elements=st.floats(0, 1)))
        X = data.draw(arrays(np.float64, (n, d), elements=st.floats(-10, 10)))
        sums = weights.sum(1, keepdims=True)
        A = np.where(sums > 0, weights / np.where(sums > 0, sums, 1), 1 / n)

        def diameter(Y: np.ndarray) -> float:
            return float(np.linalg.norm(Y[:, None] - Y[None], axis=-1).max())

        tau = 0.5 * float(np.abs(A[:, None] - A[None]).sum(-1).max())
        assert diameter(A @ X) <= tau * diameter(X) * (1 + 1e-9) + 1e-9
        seen += 1

    start = time.perf_counter()
    contracts()
    return seen / (time.perf_counter() - start)


def ours(batches: int, seed: int, size: int = SIZE) -> float:
    """Instances a second of our search on the same claim and sizes in chunks of `size`, judging included."""
    claim = claims.lookup("contraction.diameter").replace(sizes={"n": range(2, 7), "d": range(2, 7)})
    chunks = [Chunk("random", number, size) for number in range(batches)]
    search(claim, chunks[:1], seed)  # imports and caches are not what is measured
    start = time.perf_counter()
    verdict = search(claim, chunks, seed)
    seconds = time.perf_counter() - start
    assert verdict.status == "survived", verdict
    return verdict.tally.accepted / seconds


def false_alarms(instances: int, seed: int) -> dict[str, object]:
    """Search all claims expected to hold, each for its share of the instances, and count what went wrong."""
    holding = [claim for claim in claims.library().values() if claim.expect == "holds"]
    batches = -(-instances // (len(holding) * BATCH))
    total = {"instances": 0, "suspects": 0, "judged": 0, "acquitted": 0, "undecided": 0}
    alarms: list[str] = []
    start = time.perf_counter()
    with Progress() as progress:
        task = progress.add_task("false alarms", total=len(holding))
        for claim in holding:
            verdict = search(claim, plan(0, batches), seed)
            if verdict.status in ("refuted", "error"):
                alarms.append(claim.id)
            total["instances"] += verdict.tally.accepted
            for key in ("suspects", "judged", "acquitted", "undecided"):
                total[key] += getattr(verdict.tally, key)
            progress.update(task, advance=1, description=claim.id)
    return {
        "claims": len(holding),
        **total,
        "false_alarms": alarms,
        "seconds": round(time.perf_counter() - start, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=10_000_000, help="over all claims expected to hold")
    parser.add_argument("--chunk", type=int, default=SIZE, help="instances in a chunk of the timed run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    # In turn, so that a change of the machine's pace meets both.
    rounds = [(ours(40, options.seed + k, options.chunk), plain_hypothesis(1500)) for k in range(3)]
    mine, plain = (float(np.median(column)) for column in zip(*rounds, strict=True))
    result = {
        "chunk": options.chunk,
        "instances_per_second": round(mine),
        "plain_hypothesis_per_second": round(plain),
        "ratio": round(mine / plain, 1),
        "alarms": false_alarms(options.instances, options.seed),
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"contraction.diameter, n and d in 2..6, chunks of {options.chunk:,}, one core, median of three:")
    print(f"this suite: {mine:,.0f} instances a second")
    print(f"plain Hypothesis with stock arrays(): {plain:,.0f} instances a second; ratio {mine / plain:,.0f}")
    for key, value in result["alarms"].items():
        print(f"  {key.replace('_', ' ')}: {value if isinstance(value, list) else format(value, ',')}")


if __name__ == "__main__":
    main()
