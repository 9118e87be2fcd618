"""What a claim needs and what it gives away: hypotheses dropped, domains widened, bounds made stronger."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import exact
from resstream.audit import restate
from resstream.claim import Batch, Claim, Hypothesis, Relation, at_most, every
from resstream.errors import ResstreamError
from resstream.falsify import corners, judge
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.verdict import Verdict

Attack = Callable[[Claim], Verdict]
"""The search that a claim is put to, with its budget, seed and time limit."""

SURVIVED, REFUTED, MEANINGLESS, UNREACHED = "survived", "refuted", "no meaning", "not reached"

SHAPES, INSTANCES = 4, 4
"""Shapes, and instances of each, at which a relaxed variable is set to zero."""


@dataclass(frozen=True)
class Variant:
    """A changed claim and what the search said of it.

    status: that of the verdict, "no meaning" where the claim's own functions refuse what the change lets in, or "not
    reached" where the dropped hypothesis keeps out so little that a search does not meet it.
    """

    change: str
    status: str
    instances: int
    detail: str = ""
    counterexample: Counterexample | None = None

    def __str__(self) -> str:
        if self.status == SURVIVED:
            rest = f", but {self.detail}" if self.detail else ""
            return f"{self.change}: still survives ({self.instances:,} instances{rest})"
        if self.status == REFUTED:
            return f"{self.change}: refuted" + (f" ({self.detail})" if self.detail else "")
        if self.status == MEANINGLESS:
            return f"{self.change}: has no meaning there ({self.detail})"
        if self.status == UNREACHED:
            return f"{self.change}: not known, as a search does not meet what the hypothesis keeps out"
        return f"{self.change}: {self.status}" + (f" ({self.detail})" if self.detail else "")


def tried(change: str, claim: Claim, attack: Attack) -> Variant:
    """A changed claim, put to the search."""
    verdict = attack(claim)
    detail = verdict.tally.error
    status = verdict.status
    kind = detail.partition(":")[0]
    if status == "undefined" and verdict.tally.undefined_at:
        status, detail = MEANINGLESS, verdict.tally.undefined_at[1]
    elif status == "error" and detail.startswith("undefined wherever"):
        status = MEANINGLESS
    elif status == "error" and kind in {error.__name__ for error in ResstreamError.__subclasses__()} | {
        "ZeroDivisionError"
    }:
        status, detail = MEANINGLESS, detail.partition(": ")[2]
    if status == SURVIVED and verdict.tally.undecided:
        detail = f"{verdict.tally.undecided} could not be decided"
    if verdict.counterexample and _is_zero(verdict.counterexample):
        detail = "where both sides are zero"
    return Variant(change, status, verdict.tally.accepted, detail, verdict.counterexample)


def _is_zero(counterexample: Counterexample) -> bool:
    return bool(counterexample.judgement.lhs == 0 and counterexample.judgement.rhs == 0)


def necessity(claim: Claim, attack: Attack, thorough: Attack) -> Iterator[Variant]:
    """Every hypothesis dropped in turn (searched thoroughly), every domain relaxed to the next wider one."""
    for hypothesis in claim.assuming:
        name = hypothesis.__name__
        without = claim.replace(without=name)
        variant = tried(f"without {name}", _named(without, "without"), thorough)
        if variant.status == SURVIVED:
            # Only where the hypothesis fails can a true claim break, so that is looked at alone as well.
            reverse = _named(without.replace(assuming=[_reversed(hypothesis)]), "outside")
            outside = tried(variant.change, reverse, attack)
            if outside.status == REFUTED:
                variant = outside
            elif _is_thin(claim, hypothesis):
                variant = dataclasses.replace(variant, status=UNREACHED)
        yield variant
    for name, domain in claim.over.items():
        wider = domain.wider()
        if wider is not None:
            change = f"{name} in {wider} instead of {domain}"
            changed = _named(claim.replace(over={name: wider}), f"{name}.wider")
            variant = tried(change, changed, attack)
            yield (_at_zero(change, changed, name) or variant) if variant.status == SURVIVED else variant


def _is_thin(claim: Claim, hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis keeps out equalities only, which a search meets by luck."""
    relations = restate.relations_of(dataclasses.replace(claim, conclusion=hypothesis, assuming=()))
    return bool(relations) and all(relation.is_strict for relation in relations)


def _at_zero(change: str, claim: Claim, name: str) -> Variant | None:
    """Whether a claim has no meaning where a variable's raw numbers are zero, which narrow domains often keep out."""
    rng = np.random.default_rng(0)
    for shape in corners.shapes(claim)[:SHAPES]:
        raw = corners.corner_batch(claim, shape, rng, INSTANCES)
        zeros = {key: 0 * x if key.partition(".")[0] == name else x for key, x in raw.arrays.items()}
        for index in range(raw.count):
            try:
                outcome = judge.judge(claim, Batch(raw.sizes, raw.options, zeros, raw.count).at(index)).outcome
            except (ResstreamError, ZeroDivisionError) as refused:
                return Variant(change, MEANINGLESS, 0, str(refused))
            if outcome == judge.UNDECIDED:
                return Variant(change, MEANINGLESS, 0, f"cannot be decided where {name} is zero")
    return None


def _reversed(hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis with every inequality the other way round."""

    def reverse(**objects: Any) -> Relation:
        relations = hypothesis(**objects)
        return every(*(at_most(r.rhs, r.lhs) if not r.is_equality else r for r in relations))

    reverse.__signature__ = inspect.signature(hypothesis)  # type: ignore[attr-defined]
    return reverse


def _named(claim: Claim, name: str) -> Claim:
    return restate.restated(claim, name, lambda relations, _: relations)


FACTORS = (exact(99, 100), exact(9, 10), exact(1, 2))


def strengthened(claim: Claim, attack: Attack) -> Iterator[Variant]:
    """The right side times 0.99, 0.9 and 0.5, the strict inequality, the equality: for claims of inequalities only.

    Factors are tried from the smallest on: what survives a factor survives every larger one.
    """
    relations = restate.relations_of(claim)
    if not relations or any(relation.is_equality for relation in relations):
        return
    survivor: Variant | None = None
    variants = []
    for factor in reversed(FACTORS):
        change = f"the right side times {float(factor.value):g}"
        if survivor is None:
            variant = tried(change, restate.with_factor(claim, factor), attack)
            survivor = variant if variant.status == SURVIVED else None
        else:
            variant = Variant(change, SURVIVED, survivor.instances, "as a smaller factor survives")
        variants.append(variant)
    yield from reversed(variants)
    if any(not relation.is_strict for relation in relations):
        yield tried("strict inequality", restate.strict(claim), attack)
    yield tried("equality", restate.equality(claim), attack)
