"""Should the solver's polynomials be FLINT's? The work of a goal in both, side by side.

    python benchmarks/polynomials.py [--unknowns 229] [--terms 4] [--rounds 300]

A goal of the library has up to 229 unknowns (one for each quotient, root and maximum), and polynomials of up to five
terms; a ring of FLINT's has a fixed number of generators, and each monomial an exponent for every one of them. What a
goal does with polynomials: multiply, subtract, go through the terms (to hand them to Z3), put another in the place of
an unknown (where a maximum is one of its alternatives). The ratio is the time of FLINT's to that of the solver's.

Measured, twice, on a busy machine: multiply 0.03 and 0.8, subtract 0.01 and 0.15, go through terms 1,900 and 9,200,
substitute 40 and 25. Stating all goals of the library takes two seconds in all, so that FLINT would save little and
cost more. So there are two kinds of polynomials: FLINT's in the algebra (few quantities, many terms, common factors)
and sparse ones in the solver (many unknowns, few terms).
"""

from __future__ import annotations

import argparse
import operator
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly_ctx

from resstream.arithmetic.solver import Polynomial


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unknowns", type=int, default=229)
    parser.add_argument("--terms", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    ring = fmpq_mpoly_ctx.get(("q", options.unknowns), Ordering.lex)

    def drawn() -> dict[tuple[int, ...], fmpq]:
        pairs = rng.integers(0, options.unknowns, (options.terms, 2))
        return {tuple(sorted(map(int, pair))): fmpq(int(rng.integers(1, 9)), 7) for pair in pairs}

    def flint(terms: dict[tuple[int, ...], fmpq]) -> Any:
        powers = {tuple(m.count(u) for u in range(options.unknowns)): c for m, c in terms.items()}
        return ring.from_dict(powers)

    drawn_pairs = [(drawn(), drawn()) for _ in range(20)]
    ours = [(Polynomial(a), Polynomial(b)) for a, b in drawn_pairs]
    theirs = [(flint(a), flint(b)) for a, b in drawn_pairs]
    print(f"{options.unknowns} unknowns, {options.terms} terms; microseconds: the solver's, FLINT's, and the ratio")
    for name, operation in (("multiply", operator.mul), ("subtract", operator.sub)):
        report(name, options.rounds, *([partial(operation, p, q) for p, q in side] for side in (ours, theirs)))
    report("go through terms", options.rounds, [p.terms.copy for p, _ in ours], [p.to_dict for p, _ in theirs])
    places = [next(iter(p.unknowns())) for p, _ in ours]
    generators = ring.gens()
    swapped = [
        partial(p.compose, *(q if u == place else x for u, x in enumerate(generators)))
        for (p, q), place in zip(theirs, places, strict=True)
    ]
    ours_swapped = [partial(p.substitute, place, q) for (p, q), place in zip(ours, places, strict=True)]
    report("substitute", options.rounds, ours_swapped, swapped)


def report(name: str, rounds: int, *sides: list[Callable[[], object]]) -> None:
    seconds = []
    for calls in sides:
        start = time.perf_counter()
        for k in range(rounds):
            calls[k % len(calls)]()
        seconds.append((time.perf_counter() - start) / rounds)
    print(f"{name:18} {1e6 * seconds[0]:9.1f} {1e6 * seconds[1]:9.1f} {seconds[1] / seconds[0]:8.2f}")


if __name__ == "__main__":
    main()
