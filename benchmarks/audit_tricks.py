"""Every trick claim of the soundness suite through the audit: no verdict and no proof of it may be a lie.

    python benchmarks/audit_tricks.py [NAME ...] [--seconds 15] [--workers N]

The test suite audits a sample of them. Exit status: 0 where no lie was told, 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from resstream.audit import audit

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "soundness"))

from tricks import TRICKS


def said(name: str, seconds: float) -> set[str]:
    """The words that an audit says of a trick: its verdict, and "proved" where something is."""
    found = audit(TRICKS[name][2], seconds=seconds, quick=True)
    return {found.status} | {"proved" for answer in found.proofs if answer.proved}


def main() -> int:
    """Audit the tricks named, and count the lies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="all of them where none is given")
    parser.add_argument("--seconds", type=float, default=15.0, help="a limit in time for each audit")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    names = arguments.names or list(TRICKS)
    counts: Counter[str] = Counter()
    lies = 0
    with ProcessPoolExecutor(arguments.workers) as pool:
        for name, words in zip(names, pool.map(partial(said, seconds=arguments.seconds), names), strict=True):
            told = sorted(words & TRICKS[name][1])
            lies += len(told)
            counts.update(words)
            print(f"{name:60} {', '.join(sorted(words))}{f'  A LIE: {told}' if told else ''}", flush=True)
    print(f"{len(names)} tricks, {lies} lies; " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))
    return 1 if lies or not names else 0


if __name__ == "__main__":
    sys.exit(main())
