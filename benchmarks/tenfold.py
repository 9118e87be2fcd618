"""No counterexample for any claim expected to hold, at ten times the default budget of `resstream falsify`.

    python benchmarks/tenfold.py [PATTERN ...] [--budget N] [--seed N] [--workers N] [--json]

Takes hours for the whole library on one core, so it is no part of the test suite: that runs every claim in its own
profile. Exit status: 0 when every claim survives, 1 otherwise; each claim is printed when it is done, and Ctrl-C keeps
what was found.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from resstream import claims
from resstream.falsify.report import verdict_json
from resstream.falsify.run import BUDGET, falsify


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="claim ids, groups or patterns; all claims where none is given")
    parser.add_argument("--budget", type=int, default=10 * BUDGET)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    rows = []
    chosen = [claim for claim in claims.matching(arguments.patterns) if claim.expect == "holds"]
    for claim in chosen:
        verdict = falsify(claim, arguments.budget, arguments.seed, arguments.workers)
        rows.append(verdict_json(verdict))
        if not arguments.json:
            tally = verdict.tally
            print(
                f"{claim.id:50} {verdict.status:10} {tally.accepted:>10,} met, {tally.suspects:>9,} suspects, "
                f"{tally.judged:>7,} judged, {tally.acquitted:>7,} acquitted, {verdict.seconds:7.1f} s",
                flush=True,
            )
        if "interrupted" in verdict.notes:
            break
    survived = sum(row["status"] == "survived" for row in rows)
    if arguments.json:
        print(json.dumps({"survived": survived, "total": len(chosen), "rows": rows}, indent=2))
    else:
        print(f"{survived} of {len(chosen)} survived {arguments.budget:,} evaluations each")
    return 0 if survived == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
