"""Whether a claim says the same of a batch as of each of its instances: asked before any search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64
from resstream.claim import Claim, Conjunction, Raw, float_margin
from resstream.errors import ClaimError

COUNT = 3

HINT = (
    "Arrays may carry leading batch axes: transpose with X.mT, index and reduce the two trailing axes only "
    "(axis=-1, axis=-2), and reduce with the functions of resstream.arithmetic, which keep their axis"
)


def require_batch_safe(claim: Claim) -> None:
    """Evaluate a few generic instances as a batch and one by one; ClaimError, with a hint, where the two differ.

    A claim that raises on single instances too is let through: the search reports that with the instance.
    """
    rng = np.random.default_rng(0)
    sizes = {name: values[len(values) // 2] for name, values in claim.size_ranges().items()}
    options = {name: values[0] for name, values in claim.option_values().items()}
    arrays = {
        name: part.draw(rng, COUNT) if part.kind == "whole" else rng.standard_normal((COUNT, *part.shape))
        for name, part in claim.parts(sizes, options).items()
    }
    raw = Raw(sizes, options, arrays, COUNT)
    _compare(claim, raw, claim.conclude, "conclusion")
    if claim.assuming:
        _compare(claim, raw, claim.hypotheses, "hypotheses")


def _compare(claim: Claim, raw: Raw, evaluate: Callable[[Mapping[str, Any]], Conjunction], which: str) -> None:
    with FLOAT64.working():
        try:
            singles = [float_margin(evaluate(claim.build(raw.at(k))), 1) for k in range(COUNT)]
        except ClaimError:
            raise
        except Exception:  # the search reports it, with the instance that did it
            return
        try:
            batch = float_margin(evaluate(claim.build(raw)), COUNT)
        except Exception as failure:
            raise ClaimError(
                f"claim {claim.id}: the {which} can be evaluated for one instance, but for a batch of {COUNT} raised "
                f"{type(failure).__name__}: {failure}. {HINT}"
            ) from failure
    for k, single in enumerate(singles):
        if _differ(batch.slack[k], single.slack[0], batch.scale[k]):
            raise ClaimError(
                f"claim {claim.id}: the {which} of one instance and of the same instance in a batch of {COUNT} differ "
                f"(rhs - lhs is {single.slack[0]:.6g} and {batch.slack[k]:.6g}). {HINT}"
            )


def _differ(one: float, other: float, scale: float) -> bool:
    """Whether two evaluations differ by far more than rounding in another order could make them."""
    return bool(np.isfinite(one) and np.isfinite(other) and abs(one - other) > 1e-6 * (1 + scale))
