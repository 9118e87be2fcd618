"""Certificates of the library's refuted claims: how many have each form, how many pass, and in how many seconds.

    python benchmarks/certificates.py            # all of them; Rocq checks them in books of 20, which load it once each
    python benchmarks/certificates.py --alone 8  # and a sample of 8, each in a file and a process of its own

`check` files run in a process of their own (`python -I`) that sees nothing of this package. The last line is a ratio of
two times of the same run: checking all `check` files, and finding the counterexamples.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import random
import statistics
import subprocess
import sys
import time

from resstream import claims, kernel
from resstream.errors import NotExpressible, Undecided
from resstream.falsify import falsify
from resstream.falsify.formats import rocq
from resstream.falsify.formats.trace import trace

BOOK = 20
RUN = ("check", "numpy", "sympy")
WRITTEN = ("rocq", "lean")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alone", type=int, default=4, help="how many Rocq files are checked one by one (default 4)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    chosen = parser.parse_args()

    start = time.perf_counter()
    found = {c.id: falsify(c).counterexample for c in claims.library().values() if c.expect == "fails"}
    finding = time.perf_counter() - start
    print(f"{len(found)} refuted claims, counterexamples found in {finding:.1f} s\n")
    print("form    written  passed  median s  worst s")

    checking = failures = 0
    texts: dict[str, dict[str, str]] = {}
    for form in (*RUN, *WRITTEN):
        texts[form], reasons = {}, {}
        for name, counterexample in found.items():
            try:
                texts[form][name] = counterexample.to(form)
            except (NotExpressible, Undecided) as reason:
                reasons[name] = str(reason)
        seconds, passed = [], 0
        for text in texts[form].values() if form in RUN else ():
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, check=False)
            seconds.append(time.perf_counter() - start)
            passed += done.returncode == 0 and (form == "check" or done.stdout.rstrip().endswith("True"))
        if form == "check":
            checking = sum(seconds)
            failures += len(found) - passed
        times = f"{statistics.median(seconds):8.2f}  {max(seconds):7.2f}" if seconds else "     not run"
        print(f"{form:7} {len(texts[form]):7}  {passed if seconds else '-':>6}  {times}")
        for name, reason in reasons.items():
            print(f"        {name}: {reason}")

    if kernel.found():
        failures += by_rocq(found, texts["rocq"], chosen.alone, chosen.seed)
    else:
        print(f"\nno coqc: {kernel.INSTALL}")
    print(f"\nchecking with `check` takes {checking / finding:.2f} times as long as finding ({checking:.1f} s)")
    return 1 if failures else 0


def by_rocq(found, texts, alone, seed) -> int:
    """All files by the kernel, in books; a sample alone. How many are not accepted."""
    names, failures, seconds = list(texts), 0, 0.0
    for start in range(0, len(names), BOOK):
        some = names[start : start + BOOK]
        answer = kernel.check(rocq.write_book([trace(found[name].claim, found[name].raw) for name in some]), 3600)
        seconds += answer.seconds
        if not answer.accepted:
            failures += len(some)
            print(f"not accepted, one of {', '.join(some)}: {answer.message[-300:]} {sorted(answer.axioms)}")
    print(f"\nRocq's kernel accepts {len(names) - failures} of {len(names)}, in books of {BOOK}: {seconds:.0f} s")
    single = []
    for name in random.Random(seed).sample(names, min(alone, len(names))):
        answer = kernel.check(texts[name], 3600)
        failures += not answer.accepted
        single.append(answer.seconds)
    if single:
        each = seconds / len(names)
        print(f"{len(single)} of them alone: median {statistics.median(single):.1f} s, worst {max(single):.1f} s")
        print(f"alone takes {statistics.median(single) / each:.1f} times as long as in a book ({each:.1f} s each)")
    return failures


if __name__ == "__main__":
    sys.exit(main())
