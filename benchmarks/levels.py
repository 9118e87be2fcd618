"""Writes resstream/claims/levels.json: what every claim survived, where it is proved, and what Rocq's kernel accepts.

    python benchmarks/levels.py            # claims that are not on record yet
    python benchmarks/levels.py ID ...     # these (also patterns and groups), again
    python benchmarks/levels.py --all      # all of them, again

Then `resstream list --markdown > CLAIMS.md`. A proof counts as kernel-checked where `coqc` accepts its certificate in
300 seconds; those of one claim are tried in one file, and one by one where that is not accepted.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from resstream import claims, kernel
from resstream.audit import proofs
from resstream.claims import levels
from resstream.errors import NotExpressible
from resstream.falsify import profiles
from resstream.falsify.formats.theorem import digest, proved_by, write
from resstream.falsify.search import search

SECONDS = 300.0
"""That the kernel has for a file."""

ALONE = 2
"""How many proofs of a claim are tried one by one where they are not accepted together."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", help="ids, groups or patterns")
    parser.add_argument("--all", action="store_true", help="all claims again")
    parser.add_argument("--seconds", type=float, default=4.0, help="for the proofs of a claim (default 4; 0 for none)")
    parser.add_argument("--together", type=int, default=4, help="proofs of a claim that the kernel tries (default 4)")
    parser.add_argument("--no-search", action="store_true", help="keep what the search survived on record")
    parser.add_argument("--out", type=Path, default=levels.RECORD, help="another file to read and write")
    chosen = parser.parse_args()
    if not kernel.found():
        print(f"no coqc: {kernel.INSTALL}", file=sys.stderr)
        return 2
    known = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    holding = [claim for claim in claims.library().values() if claim.expect == "holds"]
    again = {claim.id for claim in claims.matching(chosen.claims)} if chosen.claims else set()
    counted = Counter()
    for claim in holding:
        if not chosen.all and claim.id not in again and (chosen.claims or claim.id in known):
            continue
        start = time.perf_counter()
        known[claim.id] = record(
            claim,
            chosen.seconds,
            chosen.together,
            known[claim.id]["survived"] if chosen.no_search and claim.id in known else None,
        )
        kept = {claim.id: known[claim.id] for claim in holding if claim.id in known}
        lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in kept.items()]
        chosen.out.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        checked = sum(bool(proof["kernel"]) for proof in known[claim.id]["proofs"])
        counted += Counter(claims=1, proved=bool(known[claim.id]["proofs"]), checked=bool(checked))
        print(
            f"{claim.id}: survived {known[claim.id]['survived']:,}, {len(known[claim.id]['proofs'])} proofs kept, "
            f"{checked} kernel-checked ({time.perf_counter() - start:.1f} s)",
            flush=True,
        )
    print(f"{counted['claims']} claims, {counted['proved']} proved somewhere, {counted['checked']} by the kernel")
    return 0


def record(claim, seconds, together, survived) -> dict:
    """What is kept of one claim: proofs at the largest places, and those that the kernel accepted."""
    if survived is None:
        verdict = search(claim, profiles.profile("default").chunks())
        survived = rounded(verdict.tally.accepted) if verdict.status == "survived" else 0
    answers = []
    if seconds:
        proofs.prove(claim, seconds, answers.append)
    answers = [answer for answer in answers if answer.proved]
    accepted = by_kernel(claim, answers, together)
    found = [
        levels.Proof(dict(a.sizes), a.options, a.method, accepted.get(place, "")) for place, a in enumerate(answers)
    ]
    kept = [p for p in found if p.kernel or not any(p.lies_below(other) for other in found)]
    return {"survived": survived, "proofs": [vars(proof) for proof in kept]}


def by_kernel(claim, answers, together) -> dict[int, str]:
    """The digests of what the kernel accepts, by place: sizes of at least 2 are tried first, then small ones."""
    places = sorted(
        range(len(answers)),
        key=lambda k: (sum(size < 2 for size in answers[k].sizes.values()), sum(answers[k].sizes.values())),
    )
    theorems = {}
    for place in places:
        if len(theorems) == together:
            break
        try:
            theorems[place] = proved_by(claim, answers[place])
        except NotExpressible as reason:
            print(f"  {claim.id}: {answers[place]}: {reason}")
    if not theorems:
        return {}
    if kernel.check(write([each for found in theorems.values() for each in found]), SECONDS).accepted:
        return {place: digest(found) for place, found in theorems.items()}
    alone = list(theorems)[:ALONE] if len(theorems) > 1 else []
    return {place: digest(theorems[place]) for place in alone if kernel.check(write(theorems[place]), SECONDS).accepted}


def rounded(count: int) -> int:
    """Down to one digit, so that a small change of the search changes nothing."""
    unit = 10 ** (len(str(count)) - 1)
    return count // unit * unit


if __name__ == "__main__":
    sys.exit(main())
