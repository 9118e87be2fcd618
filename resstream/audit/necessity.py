"""What a claim needs and what it gives away: hypotheses dropped, domains widened, bounds made stronger.

A hypothesis is needed where a certified instance without it refutes the claim; superfluous where that is proved at
small sizes and no search finds one; masked where nothing that it keeps out gets past the others; and else not known.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Exact
from resstream.audit import proofs, restate
from resstream.audit.attack import Attack, Outcome, certified
from resstream.audit.restate import restated
from resstream.audit.result import (
    ATTAINED,
    LOOSE,
    MASKED,
    MEANINGLESS,
    NEEDED,
    NOT_KNOWN,
    REFUTED,
    SUPERFLUOUS,
    SURVIVED,
    SURVIVES,
    UNREACHED,
    UNSURE,
    Part,
    Sharpness,
    Variant,
)
from resstream.audit.sharpness import value_at
from resstream.audit.vacuity import met_at
from resstream.claim import Batch, Claim, Hypothesis, Relation
from resstream.errors import ResstreamError
from resstream.falsify import corners, engines, judge
from resstream.falsify.counterexample import Counterexample, Exhibit

SEEDS = 2

PROOF = 4.0
"""Seconds for a proof of a claim without a hypothesis, or over a wider domain."""

SHAPES, INSTANCES = 4, 4
"""Shapes, and instances of each, at which a relaxed variable is set to zero."""

MASK_BATCHES = 24
"""Batches in which instances of a wider domain are looked for that the narrow one keeps out."""


def needs(claim: Claim, attack: Attack, budget: int, seconds: Callable[[], float]) -> Iterator[Variant]:
    """Every hypothesis dropped in turn, every domain relaxed to the next wider one, searched as long as the claim."""
    for hypothesis in claim.assuming:
        yield _without(claim, hypothesis, attack, budget, seconds)
    for name, domain in claim.over.items():
        wider = domain.wider()
        if wider is None or wider.excluded({size: max(values) for size, values in claim.size_ranges().items()}):
            continue
        changed = _named(claim.replace(over={name: wider}), f"{name}.wider")
        yield _wider(f"{name} in {wider} instead of {domain}", claim, changed, name, attack, budget, seconds)


def _without(
    claim: Claim, hypothesis: Hypothesis, attack: Attack, budget: int, seconds: Callable[[], float]
) -> Variant:
    name = hypothesis.__name__
    change = f"without {name}"
    dropped = claim.replace(without=name)
    without = _named(dropped, "without")
    found = attack(without, budget, SEEDS)
    variant = _variant(change, found, attack)
    if variant.status != SURVIVED:
        return variant
    # Only where the hypothesis fails can a true claim break: that is searched alone, and away from where 0 = 0.
    outside = _named(dropped.replace(assuming=[negated(hypothesis)]), "outside")
    alone = attack(outside, budget, SEEDS, floor=1)
    seen = _variant(change, alone, attack)
    seen = dataclasses.replace(
        seen, instances=found.instances + alone.instances, evaluations=found.evaluations + alone.evaluations
    )
    if seen.status in (REFUTED, MEANINGLESS):
        return seen
    met = alone.instances
    if alone.outcome != SURVIVES or met < 100:
        detail = "a search hardly meets what it keeps out" if met else "no instance outside it was met"
        return dataclasses.replace(seen, status=UNREACHED, conclusion=NOT_KNOWN, detail=detail)
    detail = f"no counterexample among {met:,} instances outside it"

    def is_open(sizes: Mapping[str, int]) -> bool:
        fixed = outside.replace(sizes={size: range(value, value + 1) for size, value in sizes.items()})
        return met_at(fixed, attack, set())[0] > 0

    return _decided(seen, without, seconds, detail, is_open)


def _decided(
    variant: Variant,
    changed: Claim,
    seconds: Callable[[], float],
    detail: str,
    is_open: Callable[[Mapping[str, int]], bool] = lambda _: True,
) -> Variant:
    """Superfluous where the change is proved at sizes of 2 or more at which it lets something in; else not known."""
    proved = [sizes for sizes in proofs.places(changed, min(PROOF, max(seconds(), 0.0))) if is_open(sizes)]
    if not proved:
        return dataclasses.replace(variant, status=UNREACHED, conclusion=NOT_KNOWN, detail=detail)
    texts = tuple(", ".join(f"{name} = {size}" for name, size in sizes.items()) or "every size" for sizes in proved)
    return dataclasses.replace(variant, status=SURVIVED, conclusion=SUPERFLUOUS, detail=detail, proved=texts)


def _variant(change: str, found: Outcome, attack: Attack) -> Variant:
    """What a search of a changed claim says."""
    counts = (found.instances, found.evaluations)
    if found.certificate is not None:
        shown = Counterexample.of(found.certificate, attack.seed, found.engine)
        detail = "where both sides are zero" if shown.judgement.at_zero else ""
        return Variant(change, REFUTED, NEEDED, *counts, detail=detail, exhibit=shown)
    for verdict in found.verdicts:
        undefined = verdict.tally.undefined_at
        if undefined is not None:
            return Variant(change, MEANINGLESS, NEEDED, *counts, detail=undefined[1])
        if verdict.status == "error":
            return Variant(change, MEANINGLESS, NEEDED, *counts, detail=verdict.tally.error)
    if found.outcome == SURVIVES:
        return Variant(change, SURVIVED, NOT_KNOWN, *counts)
    return Variant(change, UNREACHED, NOT_KNOWN, *counts, detail=found.reason)


def _wider(
    change: str, claim: Claim, changed: Claim, name: str, attack: Attack, budget: int, seconds: Callable[[], float]
) -> Variant:
    found = attack(changed, budget, SEEDS)
    variant = _variant(change, found, attack)
    if variant.status != SURVIVED:
        return variant
    at_zero = _at_zero(change, changed, name)
    if at_zero is not None:
        return at_zero
    outside = _outside(claim, changed, name, attack)
    if outside is None:
        return dataclasses.replace(variant, status=UNREACHED, detail="the domain does not say what it contains")
    kept_out, met = outside
    if met == 0 and kept_out:
        detail = f"none of {kept_out:,} instances outside {claim.over[name]} met the hypotheses: they keep those out"
        return dataclasses.replace(variant, conclusion=MASKED, detail=detail)
    if met == 0:
        return dataclasses.replace(variant, status=UNREACHED, detail="no instance outside it was met")
    return _decided(variant, changed, seconds, f"no counterexample among {met:,} instances outside {claim.over[name]}")


def _outside(claim: Claim, changed: Claim, name: str, attack: Attack) -> tuple[int, int] | None:
    """How many drawn instances lie outside of the narrow domain, and how many of those meet the hypotheses."""
    rng = np.random.default_rng([attack.seed, *changed.seed_words(), 17])
    shapes = corners.shapes(changed)
    kept_out = met = 0
    for number in range(MASK_BATCHES):
        if attack.left() <= 0:
            break
        shape = shapes[int(rng.integers(len(shapes)))]
        raw = corners.corner_batch(changed, shape, rng, 24) if number % 2 else engines.random_batch(changed, rng, 24)
        try:
            assessment = changed.assess(raw)
        except (ResstreamError, ArithmeticError, np.linalg.LinAlgError):
            continue
        for index in range(min(raw.count, 24)):
            try:
                with RATIONAL.working():
                    built = changed.build_one(name, raw.at(index), RATIONAL)
                if claim.over[name].contains(built, raw.sizes):
                    continue
            except NotImplementedError:
                return None
            except (ResstreamError, ArithmeticError):
                continue
            kept_out += 1
            met += bool(assessment.met[index])
    return kept_out, met


def _at_zero(change: str, claim: Claim, name: str) -> Variant | None:
    """Whether a claim has no meaning where a variable's raw numbers are zero, which narrow domains often keep out."""
    rng = np.random.default_rng(0)
    for shape in corners.shapes(claim)[:SHAPES]:
        raw = corners.corner_batch(claim, shape, rng, INSTANCES)
        zeros = {key: 0 * x if key.partition(".")[0] == name else x for key, x in raw.arrays.items()}
        for index in range(raw.count):
            try:
                found = judge.judge(claim, Batch(raw.sizes, raw.options, zeros, raw.count).at(index))
            except (ResstreamError, ZeroDivisionError) as refused:
                return Variant(change, MEANINGLESS, NEEDED, detail=str(refused))
            if found.outcome == judge.UNDEFINED:
                return Variant(change, MEANINGLESS, NEEDED, detail=found.reason)
            if found.outcome == judge.UNDECIDED:
                detail = f"cannot be decided where {name} is zero"
                return Variant(change, UNREACHED, NOT_KNOWN, detail=detail)
    return None


def negated(hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis's negation."""

    def negation(**objects: Any) -> Relation:
        return hypothesis(**objects).negation()

    negation.__signature__ = inspect.signature(hypothesis)  # type: ignore[attr-defined]
    return negation


def _named(claim: Claim, name: str) -> Claim:
    return restated(claim, name, lambda relations, _: relations)


# ---- strengthened variants --------------------------------------------------

FACTORS = ("99/100", "9/10", "1/2")


def strengthened(claim: Claim, parts: Sequence[Part], attack: Attack, budget: int) -> Iterator[Variant]:
    """The sides a factor of 0.99, 0.9 and 0.5 nearer, the strict inequality, the equality: for claims of inequalities.

    The instances of `parts` come first: what they refute is not searched for.
    """
    relations = restate.relations_of(claim)
    if not relations or any(relation.is_equality for relation in relations):
        return
    shown = [e for part in parts for e in (part.sharpness.extremal, part.sharpness.shown) if e is not None]
    says = [part for part in parts if not part.sharpness.one_sided]
    if says:
        bound_away = all(part.sharpness.status == LOOSE for part in says)
        top = max(_largest(claim, part.sharpness) for part in says)
        searched = min(part.sharpness.searched for part in says)
        survivor: Variant | None = None
        variants = []
        for text in reversed(FACTORS):
            factor = Fraction(text)
            change = f"the right side times {float(factor):g}"
            changed = restate.nearer(claim, Exact(factor))
            if survivor is not None:
                detail = "as a smaller factor survives"
                variants.append(dataclasses.replace(survivor, change=change, detail=detail))
                continue
            if bound_away and searched and top < factor:
                # The search for a larger ratio was one for this.
                survivor = Variant(change, SURVIVED, NOT_KNOWN, searched, searched)
                variants.append(survivor)
                continue
            variant = _tried(change, changed, shown, attack, budget)
            if variant.status == SURVIVED and (not bound_away or top >= factor):
                unsure = "a law of the ratio foresees one" if bound_away else "the largest ratio is not known"
                detail = f"no instance refutes it, though {unsure}"
                variant = dataclasses.replace(variant, status=UNREACHED, detail=detail)
            survivor = variant if variant.status == SURVIVED else None
            variants.append(variant)
        yield from reversed(variants)
    if any(not relation.is_strict for relation in relations):
        attained = any(part.sharpness.status == ATTAINED for part in parts)
        variant = _tried("strict inequality", restate.strict(claim), shown, attack, budget)
        if variant.status == SURVIVED and any(part.sharpness.status == UNSURE for part in says):
            detail = "no instance refutes it, though the largest ratio is not known"
            variant = dataclasses.replace(variant, status=UNREACHED, detail=detail)
        yield (
            variant
            if not (attained and variant.status == SURVIVED)
            else dataclasses.replace(
                variant, status=REFUTED, conclusion=NEEDED, detail="equality is attained, as far as can be told"
            )
        )
    yield _tried("equality", restate.equality(claim), shown, attack, budget)


def _largest(claim: Claim, found: Sharpness) -> float:
    """The largest ratio that is known, seen to be tended to, or foreseen by a law at a size that the claim states."""
    ranges = claim.size_ranges()
    foreseen = [value_at(law, n) for law in found.laws for n in ranges[law.size] if n > 1]
    return max(found.ratio, found.family.limit if found.family else 0.0, *foreseen)


def _tried(change: str, claim: Claim, shown: Sequence[Exhibit], attack: Attack, budget: int) -> Variant:
    """A stronger claim, put to the instances that are known and then to a search."""
    for exhibit in shown:
        certificate = certified(claim, exhibit.raw)
        if certificate is not None:
            known = Counterexample.of(certificate, attack.seed, "the pool")
            detail = "where both sides are zero" if known.judgement.at_zero else ""
            return Variant(change, REFUTED, NEEDED, detail=detail, exhibit=known)
    return _variant(change, attack(claim, budget), attack)
