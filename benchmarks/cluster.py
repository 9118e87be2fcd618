"""One search here, by one and two local workers and by a Dask cluster of two: verdicts, chunk cost and traffic.

    python benchmarks/cluster.py [--claim ID] [--budget N] [--rounds N] [--json]

Needs the extra `cluster`. All in one run, in turn, so that a change of the machine's pace meets all; the scheduler and
its two workers are processes of this machine. Fails where two verdicts differ. What a hundred machines would give is
computed from what was measured: chunks of that cost, through one client that spends so much on each.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import distributed
from loky import ProcessPoolExecutor

import resstream as rs
from resstream.falsify.report import verdict_json
from resstream.falsify.search import budget_plan
from resstream.workers import connected

MACHINES, CORES = 100, 32
LINK = 1e9 / 8
"""Bytes a second of the client's network, one gigabit."""


def started(stack: ExitStack) -> str:
    """The address of a new scheduler with two workers, which end with the stack."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    commands = [["dask_scheduler", "--host", "127.0.0.1", "--port", port]]
    commands += 2 * [["dask_worker", address, "--nthreads", "1", "--no-nanny"]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for name, *rest in commands:
        command = [sys.executable, "-m", f"distributed.cli.{name}", *rest, "--no-dashboard"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.kill)
    with distributed.Client(address, timeout=120, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
    return address


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claim", default="contraction.diameter")
    parser.add_argument("--budget", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    claim = rs.lookup(options.claim)
    false = claim.replace(rhs=lambda rhs: rs.exact("0.99") * rhs)
    chunks = len(budget_plan(claim, options.budget))

    with ExitStack() as stack:
        workers = stack.enter_context(connected(started(stack)))
        loky = stack.enter_context(ProcessPoolExecutor(2))
        ways: dict[str, dict[str, Any]] = {
            "in this process": {},
            "1 forked worker": {"seconds": 1e6},
            "2 forked workers": {"workers": 2},
            "2 processes of loky": {"executor": loky},
            "Dask, 2 workers": {"executor": workers},
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        work: dict[str, list[float]] = {name: [] for name in ways}  # of this process
        verdicts: dict[str, list[str]] = {name: [] for name in ways}
        for way in ways.values():  # processes start and import what they need: not what is measured
            rs.falsify(claim, 4000, **way)
        traffic = {"sent": 0, "received": 0}
        for seed in range(options.rounds):
            for name, way in ways.items():
                before, start, busy = (workers.sent, workers.received), time.perf_counter(), time.process_time()
                found = rs.falsify(claim, options.budget, seed, **way)
                seconds[name].append(time.perf_counter() - start)
                work[name].append(time.process_time() - busy)
                traffic["sent"] += workers.sent - before[0]
                traffic["received"] += workers.received - before[1]
                both = [found, rs.falsify(false, options.budget, seed, **way)]
                verdicts[name].append(json.dumps([{**verdict_json(one), "seconds": 0} for one in both]))

    differing = [name for name, found in verdicts.items() if found != verdicts["in this process"]]
    took = {name: statistics.median(found) for name, found in seconds.items()}
    # By the processor's time, which other work on the machine leaves alone.
    cost, client = (statistics.median(work[name]) / chunks for name in ("in this process", "Dask, 2 workers"))
    each = {way: amount / (options.rounds * chunks) for way, amount in traffic.items()}
    most = min(MACHINES * CORES, cost / client, LINK * cost / sum(each.values()))
    result = {
        "claim": claim.id,
        "budget": options.budget,
        "chunks": chunks,
        "verdicts the same": not differing,
        "seconds": {name: round(value, 3) for name, value in took.items()},
        "times this process": {name: round(took["in this process"] / value, 2) for name, value in took.items()},
        "milliseconds a chunk": round(1000 * cost, 2),
        "bytes sent a chunk": round(each["sent"]),
        "bytes received a chunk": round(each["received"]),
        "client's milliseconds a chunk": round(1000 * client, 2),
        "cores that one client keeps busy": round(most),
    }
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for name, value in result.items():
            print(f"{name}: {value}")
        cores, longer = MACHINES * CORES, max(1, MACHINES * CORES / most)
        print(
            f"On paper, {MACHINES} machines of {CORES} cores: one client keeps {most:,.0f} of {cores:,} cores busy "
            f"with chunks of {1000 * cost:.0f} ms, and all of them with chunks {longer:.1f} times as long."
        )
    if differing:
        print(f"other verdicts: {', '.join(differing)}", file=sys.stderr)
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
