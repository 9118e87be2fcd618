"""Whether no instance at all meets a claim's hypotheses: proved at every size that it speaks of, or not said."""

from __future__ import annotations

import itertools
import time
from math import prod

from resstream.arithmetic.solver import Condition, Formula, number
from resstream.arithmetic.unknowns import cases
from resstream.claim import Claim
from resstream.domains import Options, Sizes
from resstream.errors import NotExpressible
from resstream.prove.answer import PROVED, Answer
from resstream.prove.goals import covered, options_at
from resstream.prove.statement import met, state

GOALS = 64
"""How many combinations of sizes and options are gone through."""

SECONDS = 30.0
"""How long that may take."""


def no_instance(claim: Claim, seconds: float = SECONDS) -> tuple[Answer, ...]:
    """The proofs that no instance meets the hypotheses, for every size and option of the claim; empty where one fails.

    ModuleNotFoundError without Z3, which is an extra.
    """
    end = time.monotonic() + seconds
    ranges = claim.size_ranges()
    if not claim.assuming or prod(map(len, ranges.values())) * prod(map(len, claim.option_values().values())) > GOALS:
        return ()
    proofs = []
    for values in itertools.product(*ranges.values()):
        sizes = dict(zip(ranges, values, strict=True))
        if not claim.fits(sizes):
            continue
        for label, options in options_at(claim, sizes):
            pieces = _without_instance(claim, sizes, options, end)
            if not pieces:
                return ()
            proofs.append(
                Answer(
                    sizes,
                    PROVED,
                    "no instance meets the hypotheses",
                    options=label,
                    covered=covered(claim, sizes, options),
                    pieces=pieces,
                )
            )
    return tuple(proofs)


def _without_instance(claim: Claim, sizes: Sizes, options: Options, end: float) -> int:
    """How many pieces the sets have, where no instance in any of them meets the hypotheses; 0 where that is open."""
    from resstream.prove.solve import settle  # Z3 takes time to import

    anything = [Condition(number(1), ">")]
    count = 0
    try:
        for case in cases():
            statement = state(claim, Formula(case), sizes, options, conclusion=False)
            given = [met(obligation) for obligation in statement.given]
            for assumed in statement.assumed:
                known = [*statement.formula.conditions, *assumed, *given]
                if not settle(statement.formula.knowing(known), anything, end)[0]:
                    return 0
            count += 1
    except NotExpressible:
        return 0
    return count


__all__ = ["no_instance"]
