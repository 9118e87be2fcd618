"""Whether a claim says the same of a batch as of each of its instances: asked once, before any search."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.claim import Batch, Claim
from resstream.domains.trial import foreign, require_its_set
from resstream.errors import ArithmeticLimit, ClaimFault, DomainError, NotDeterministic, ShapeError
from resstream.relations import Relation

COUNT = 3

Evaluate = Callable[[Mapping[str, Any]], Relation]


def settled(claim: Claim) -> Claim:
    """The claim with `batched` decided, by evaluating a few generic instances as a batch and one by one.

    Where the two differ, it is to be evaluated one instance at a time. Raises NotDeterministic where the same instance,
    asked again, gives another answer, and ClaimFault where a user's own domain is not the set that it states; what a
    single instance raises is left to the search, which reports it.
    """
    _try_domains(claim)
    if claim.batched is not None:
        return claim
    rng = np.random.default_rng(0)
    asked: list[Evaluate] = [claim.conclude, *([claim.hypotheses] if claim.assuming else [])]
    for raw in _batches(claim, rng):
        for evaluate in asked:
            singles = _singly(claim, raw, evaluate)
            if singles is None:
                continue
            _require_same(claim, singles, _singly(claim, raw, evaluate))
            if not _is_same_in_a_batch(claim, raw, evaluate, singles):
                return dataclasses.replace(claim, batched=False)
    return dataclasses.replace(claim, batched=True)


def _try_domains(claim: Claim) -> None:
    """Let a user's own domains show that they build what they contain; ClaimFault where they do not."""
    for domain in (inner for outer in claim.over.values() for inner in foreign(outer)):
        try:
            require_its_set(domain, claim.size_ranges())
        except DomainError as failure:
            raise ClaimFault(f"claim {claim.id}: {failure}") from failure


def _batches(claim: Claim, rng: np.random.Generator) -> Iterator[Batch]:
    """Generic batches of two shapes: sizes in the middle of their ranges, and the largest."""
    options = {name: values[0] for name, values in claim.option_values().items()}
    ranges = claim.size_ranges()
    shapes = [{name: values[place(len(values))] for name, values in ranges.items()} for place in (_middle, _last)]
    shapes = [claim.nearest_fit(sizes) for sizes in shapes]
    for sizes in shapes if shapes[0] != shapes[1] else shapes[:1]:
        parts = claim.parts(sizes, options)
        arrays = {
            name: part.draw(rng, COUNT) if part.kind == "whole" else rng.standard_normal((COUNT, *part.shape))
            for name, part in parts.items()
        }
        yield Batch(sizes, options, arrays, COUNT)


def _middle(count: int) -> int:
    return count // 2


def _last(count: int) -> int:
    return count - 1


def _singly(claim: Claim, raw: Batch, evaluate: Evaluate) -> list[tuple[float, float]] | None:
    """(slack, scale) of each instance evaluated alone; None where that raises."""
    with FLOAT64.working():
        try:
            margins = [evaluate(claim.build(instance)).margin(1) for instance in raw.instances()]
        except (ClaimFault, DomainError, ArithmeticLimit, ShapeError, ArithmeticError, np.linalg.LinAlgError):
            return None
    return [(float(margin.slack[0]), float(margin.scale[0])) for margin in margins]


def _require_same(claim: Claim, first: list[tuple[float, float]], second: list[tuple[float, float]] | None) -> None:
    for index, (before, after) in enumerate(zip(first, second or [(np.nan, np.nan)] * COUNT, strict=True)):
        if not np.array_equal(before, after, equal_nan=True):
            raise NotDeterministic(
                f"claim {claim.id} is not deterministic: two evaluations of the same instance (number {index} of "
                f"{COUNT}) differ: rhs - lhs is {before[0]:.6g} and then {after[0]:.6g}"
            )


def _is_same_in_a_batch(claim: Claim, raw: Batch, evaluate: Evaluate, singles: list[tuple[float, float]]) -> bool:
    with FLOAT64.working():
        try:
            batch = evaluate(claim.build(raw)).margin(COUNT)
        except Exception:  # whatever a claim written for one instance does to a batch
            return False
    return not any(
        _differ(slack, single, scale)
        for slack, scale, (single, _) in zip(batch.slack, batch.scale, singles, strict=True)
    )


def _differ(one: float, other: float, scale: Array) -> bool:
    """Whether two evaluations differ by far more than rounding in another order could make them.

    No verdict rests on the bound: it chooses between a batch and one instance at a time, and suspects of both are
    judged exactly.
    """
    return bool(np.isfinite(one) and np.isfinite(other) and abs(one - other) > 1e-6 * (1 + scale))
