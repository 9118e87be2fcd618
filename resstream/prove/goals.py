"""Proofs at small sizes: by Z3 where a claim is polynomial with absolute values and maxima, by algebra for identities.

A proof says that every instance of those sizes at which the hypotheses hold has both sides and does not violate the
claim, over all real numbers. It is reported beside the verdict of a search and never in its place: the sizes are small,
and other sizes may behave otherwise.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from resstream import domains
from resstream.arithmetic import FLOAT64
from resstream.arithmetic.obligations import Obligation
from resstream.arithmetic.solver import Condition, Formula
from resstream.arithmetic.unknowns import cases
from resstream.claim import Batch, Claim
from resstream.domains import Options, Sizes
from resstream.errors import NotExpressible
from resstream.prove.answer import INEXPRESSIBLE, MODEL, PROVED, UNDECIDED, Answer
from resstream.prove.identity import prove_identity
from resstream.prove.obligations import certain, opposite, wording
from resstream.prove.statement import Conjunction, Statement, met, state

LARGEST = 3
"""Sizes up to which proofs are tried; one size may be 4 where all others are at their least."""

SECONDS_A_GOAL = 2.0
"""How long one goal (fixed sizes and options) may take."""
READINGS = 12
"""How often a claim is read before a proof of it is believed: it must answer the same every time."""


# ---- the goals of a claim ---------------------------------------------------


def prove(
    claim: Claim,
    seconds: float = 6.0,
    seconds_a_goal: float = SECONDS_A_GOAL,
    sizes: Sequence[Mapping[str, int]] | None = None,
    progress: Callable[[Answer], None] = lambda _: None,
) -> list[Answer]:
    """Try to prove a claim at small sizes, smallest first, within a time limit.

    Sizes larger than some at which nothing was decided are not tried, nor is anything after a model.
    """
    end = time.monotonic() + seconds
    goals: list[Answer] = []
    for chosen in small_sizes(claim) if sizes is None else sizes:
        by_algebra = _by_algebra(claim, chosen)
        if by_algebra is not None and by_algebra.proved:
            by_algebra = _if_steady(claim, by_algebra)
            goals.append(by_algebra)
            progress(by_algebra)
            continue
        for label, options in options_at(claim, chosen):
            left = end - time.monotonic()
            if left <= 0:
                return goals
            if any(_hopeless(goal, chosen, label) for goal in goals):
                continue
            goal = prove_at(claim, chosen, options, label, min(left, seconds_a_goal))
            if goal.outcome == INEXPRESSIBLE and by_algebra is not None and by_algebra.outcome == UNDECIDED:
                goal = replace(by_algebra, options=label, covered=goal.covered)
            goal = _if_steady(claim, goal) if goal.proved else goal
            goals.append(goal)
            progress(goal)
            if goal.outcome == MODEL:
                return goals
    return goals


def _hopeless(goal: Answer, sizes: Mapping[str, int], label: str) -> bool:
    if goal.outcome not in (UNDECIDED, INEXPRESSIBLE):
        return False
    alike = goal.options == label or any(size == 1 for size in goal.sizes.values())
    return alike and all(sizes[name] >= size for name, size in goal.sizes.items())


def small_sizes(claim: Claim) -> list[dict[str, int]]:
    """The sizes at which proofs are tried, smallest first."""
    ranges = claim.size_ranges()
    small = {name: [v for v in values if v <= LARGEST] or [min(values)] for name, values in ranges.items()}
    chosen = [dict(zip(small, values, strict=True)) for values in itertools.product(*small.values())]
    least = {name: values[0] for name, values in small.items()}
    chosen += [
        {**least, name: LARGEST + 1} for name, values in ranges.items() if LARGEST + 1 in values and least[name] < 4
    ]
    return sorted(filter(claim.fits, chosen), key=lambda sizes: (sum(sizes.values()), sorted(sizes.values())))


def options_at(claim: Claim, sizes: Sizes) -> Iterator[tuple[str, dict[str, str]]]:
    """The choices of options, each with a label. Of norms in one dimension, one stands for all."""
    values = claim.option_values()
    for name, domain in claim.over.items():
        if isinstance(domain, domains.Norm) and domains.size_of(domain.size, sizes) == 1:
            values |= {f"{name}.kind": domain.kinds[:1], f"{name}.basis": values[f"{name}.basis"][-1:]}
    for choice in itertools.product(*values.values()):
        options = dict(zip(values, choice, strict=True))
        labels = [_label(claim, name, value, sizes) for name, value in options.items()]
        yield " ".join(label for label in labels if label), options


def _label(claim: Claim, name: str, value: str, sizes: Sizes) -> str:
    """What an option is called: "norm l1", "in any basis"; in one dimension a norm that may be scaled is "any norm"."""
    owner, _, option = name.rpartition(".")
    domain = claim.over.get(owner)
    if isinstance(domain, domains.Norm) and domains.size_of(domain.size, sizes) == 1:
        return f"any {owner}" if value == "changed" else ""
    if option == "basis":
        return "in any basis" if value == "changed" else ""
    return f"{owner} {value}"


def prove_at(claim: Claim, sizes: Sizes, options: Options, label: str, seconds: float) -> Answer:
    """Try to prove a claim at fixed sizes and options, for every piece of its domains."""
    start = time.monotonic()
    end = start + seconds
    answer = Answer(dict(sizes), PROVED, options=label, covered=covered(claim, sizes, options))
    try:
        for case in cases():
            statement = state(claim, Formula(case), sizes, options)
            found = _settle(claim, statement, answer, end)
            answer = replace(found, pieces=answer.pieces + 1)
            if not answer.proved:
                break
    except NotExpressible as limit:
        answer = replace(answer, outcome=INEXPRESSIBLE, detail=str(limit))
    seconds_used = time.monotonic() - start
    late = answer.outcome == UNDECIDED and not answer.detail
    return replace(answer, seconds=seconds_used, detail=f"in {seconds:.1f} s" if late else answer.detail)


def _settle(claim: Claim, statement: Statement, answer: Answer, end: float) -> Answer:
    """The answer for one piece: the violations have no model, and all that was noted is proved."""
    from resstream.prove.models import candidate
    from resstream.prove.solve import settle  # Z3 is an extra, and takes time to import

    sizes, options = answer.sizes, {name: values[0] for name, values in answer.covered.items()}
    formula = statement.formula
    owed = [met(obligation) for obligation in statement.obligations]
    given = [met(obligation) for obligation in statement.given]
    for assumed in statement.assumed:
        known = [*formula.conditions, *assumed, *given, *owed]
        for some in _grouped(statement.violations):
            further, violations = some
            proved, model = settle(formula.knowing([*known, *further]), violations, end)
            if model is not None:
                raw = candidate(claim, statement, model, sizes, options)
                if raw is None:
                    return replace(answer, outcome=UNDECIDED, detail="the solver's model is no counterexample")
                return replace(answer, outcome=MODEL, model=raw)
            if not proved:
                return replace(answer, outcome=UNDECIDED)
        for index, obligation in enumerate(statement.obligations):
            before = [*formula.conditions[: obligation.known], *assumed, *given, *owed[:index]]
            if not _is_met(formula.knowing(before), obligation, end):
                return replace(answer, outcome=UNDECIDED, detail=wording(obligation))
    return replace(answer, obligations=answer.obligations + len(owed))


def _grouped(violations: Sequence[Conjunction]) -> Iterator[tuple[Conjunction, list[Condition]]]:
    """What is to be refuted together: single conditions at once, each of several together for itself."""
    single = [violation[0] for violation in violations if len(violation) == 1]
    if single:
        yield (), single
    yield from ((violation[1:], [violation[0]]) for violation in violations if len(violation) > 1)


def _is_met(formula: Formula, obligation: Obligation, end: float) -> bool:
    """Whether what is known proves an obligation."""
    from resstream.prove.solve import settle

    polynomial = obligation.entry.polynomial
    if certain(polynomial, obligation.kind, formula.conditions):
        return True
    proved, _ = settle(formula, [opposite(polynomial, obligation.kind)], end)
    return proved


def covered(claim: Claim, sizes: Sizes, options: Options) -> dict[str, tuple[str, ...]]:
    """The values of the options that a goal speaks of: its own, and in one dimension those of every norm."""
    values: dict[str, tuple[str, ...]] = {name: (value,) for name, value in options.items()}
    for name, domain in claim.over.items():
        if isinstance(domain, domains.Norm) and domains.size_of(domain.size, sizes) == 1:
            values[f"{name}.kind"] = (
                options[f"{name}.kind"],
                *(k for k in domain.kinds if k != options[f"{name}.kind"]),
            )
            if options[f"{name}.basis"] == "changed":
                values[f"{name}.basis"] = ("changed", "standard")
    return values


def _drawn(claim: Claim, sizes: Sizes) -> Batch:
    """Two instances, at the first options."""
    options = {name: values[0] for name, values in claim.option_values().items()}
    rng = np.random.default_rng(0)
    arrays = {name: part.draw(rng, 2) for name, part in claim.parts(sizes, options).items()}
    return Batch(sizes, options, arrays, 2)


def _is_identity(claim: Claim, sizes: Sizes) -> bool:
    """Whether the claim states equalities only, at some instance."""
    with FLOAT64.working():
        try:
            return all(r.is_equality for r in claim.conclude(claim.build(_drawn(claim, sizes))))
        except Exception:  # what cannot be evaluated at these sizes is nothing to prove
            return False


def _if_steady(claim: Claim, answer: Answer) -> Answer:
    """The answer, unless the claim answers differently when it is asked again: then nothing is proved."""
    batch = _drawn(claim, answer.sizes)

    def read() -> str:
        try:
            found = claim.assess(batch)
        except Exception as failure:
            return f"{type(failure).__name__}: {failure}"
        return repr((found.met, found.missing, found.conclusion.slack, found.conclusion.scale))

    if len({read() for _ in range(READINGS)}) == 1:
        return answer
    return replace(answer, outcome=UNDECIDED, detail="the claim answers differently when it is asked again")


def _by_algebra(claim: Claim, sizes: Sizes) -> Answer | None:
    return prove_identity(claim, sizes) if _is_identity(claim, sizes) else None


__all__ = ["LARGEST", "SECONDS_A_GOAL", "covered", "options_at", "prove", "prove_at", "small_sizes"]
