"""Proofs at small sizes: by Z3 where a claim is polynomial with absolute values and maxima, by algebra for identities.

A proof says that no instance of those sizes violates the claim, over all real numbers. It is reported beside the
verdict of a search and never in its place: the sizes are small, and other sizes may behave otherwise.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from flint import fmpq

from resstream import domains
from resstream.arithmetic import FLOAT64, Array, to_fraction, total, where
from resstream.arithmetic.entries import NoValue
from resstream.arithmetic.solver import Condition, Formula, Polynomial, SolverEntry
from resstream.claim import Batch, Claim, Comparison, Instance
from resstream.domains import Domain, Options, Sizes
from resstream.errors import ArithmeticLimit, DomainError, NotExpressible
from resstream.falsify import judge
from resstream.prove.identity import prove_identity
from resstream.reference.norms import Norm as NormValue

LARGEST = 3
"""Sizes up to which proofs are tried; one size may be 4 where all others are at their least."""

SECONDS_A_GOAL = 2.0
"""How long one goal (fixed sizes and options) may take."""

PROVED, REFUTED, UNDECIDED, INEXPRESSIBLE = "proved", "refuted", "not decided", "not expressible"


@dataclass(frozen=True)
class Goal:
    """A claim at fixed sizes and options, and what came of it.

    outcome: "proved", "refuted" (by `counterexample`, judged exactly), "not decided" or "not expressible"; detail says
    why, and method by what ("Z3" or "algebra").
    """

    sizes: Mapping[str, int]
    options: str
    outcome: str
    detail: str = ""
    method: str = "Z3"
    seconds: float = 0.0
    counterexample: Instance | None = None

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        place = "; ".join(part for part in (sizes, self.options) if part)
        reason = f" ({self.detail})" if self.detail else ""
        return f"{self.outcome}{reason} at {place}" if place else f"{self.outcome}{reason}"


# ---- the goals of a claim ---------------------------------------------------


def prove(
    claim: Claim,
    seconds: float = 6.0,
    seconds_a_goal: float = SECONDS_A_GOAL,
    sizes: Sequence[Mapping[str, int]] | None = None,
    progress: Callable[[Goal], None] = lambda _: None,
) -> list[Goal]:
    """Try to prove a claim at small sizes, smallest first, within a time limit.

    Sizes larger than some at which nothing was decided are not tried, nor is anything after a refutation.
    """
    end = time.monotonic() + seconds
    goals: list[Goal] = []
    for chosen in small_sizes(claim) if sizes is None else sizes:
        by_algebra = _by_algebra(claim, chosen)
        if by_algebra is not None:
            goals.append(by_algebra)
            progress(by_algebra)
            continue
        for label, options in _options_at(claim, chosen):
            left = end - time.monotonic()
            if left <= 0:
                return goals
            if any(_hopeless(goal, chosen, label) for goal in goals):
                continue
            goal = prove_at(claim, chosen, options, label, min(left, seconds_a_goal))
            goals.append(goal)
            progress(goal)
            if goal.outcome == REFUTED:
                return goals
    return goals


def _hopeless(goal: Goal, sizes: Mapping[str, int], label: str) -> bool:
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
    return sorted(chosen, key=lambda sizes: (sum(sizes.values()), sorted(sizes.values())))


def _options_at(claim: Claim, sizes: Sizes) -> Iterator[tuple[str, dict[str, str]]]:
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


def prove_at(claim: Claim, sizes: Sizes, options: Options, label: str, seconds: float) -> Goal:
    """Try to prove a claim at fixed sizes and options."""
    from resstream.prove.solve import settle  # Z3 is an extra, and takes time to import

    start = time.monotonic()
    goal = Goal(dict(sizes), label, UNDECIDED, f"in {seconds:.1f} s")
    try:
        statement = _state(claim, sizes, options)
        proved, model = settle(statement.formula, statement.violations, start + seconds)
        if model is not None:
            raw = _instance(statement, model, sizes, options)
            if raw is not None and _is_violated(claim, raw):
                goal = replace(goal, outcome=REFUTED, detail="", counterexample=raw)
            else:
                goal = replace(goal, detail="the solver's model is no counterexample")
        elif proved:
            goal = replace(goal, outcome=PROVED, detail="")
    except NotExpressible as limit:
        goal = replace(goal, outcome=INEXPRESSIBLE, detail=str(limit))
    return replace(goal, seconds=time.monotonic() - start)


def _is_identity(claim: Claim, sizes: Sizes) -> bool:
    """Whether the claim states equalities only, at some instance."""
    options = {name: values[0] for name, values in claim.option_values().items()}
    rng = np.random.default_rng(0)
    arrays = {name: part.draw(rng, 2) for name, part in claim.parts(sizes, options).items()}
    with FLOAT64.working():
        try:
            return all(r.is_equality for r in claim.conclude(claim.build(Batch(sizes, options, arrays, 2))))
        except Exception:  # what cannot be evaluated at these sizes is nothing to prove
            return False


def _by_algebra(claim: Claim, sizes: Sizes) -> Goal | None:
    start = time.monotonic()
    if not _is_identity(claim, sizes) or not prove_identity(claim, sizes).proved:
        return None
    return Goal(dict(sizes), "", PROVED, method="algebra", seconds=time.monotonic() - start)


def _is_violated(claim: Claim, raw: Instance) -> bool:
    try:
        return judge.judge(claim, raw).outcome == judge.VIOLATED
    except (ArithmeticLimit, DomainError, ZeroDivisionError):
        return False


# ---- what is known of a domain's objects ------------------------------------


@singledispatch
def unknowns(domain: Domain, formula: Formula, sizes: Sizes, options: Options) -> tuple[Any, dict[str, Array] | None]:
    """An unknown object of a domain, and the raw arrays that build it (None where they are not known)."""
    raw = {}
    for name, part in domain.parts(sizes, options).items():
        if part.kind == "whole":
            raw[name] = formula.fresh_whole(part.shape, part.low, part.high)
        else:
            raw[name] = formula.fresh(part.shape)
    return domain.build(raw, options, sizes), raw


def _own_raw(domain: Domain, formula: Formula, sizes: Sizes) -> tuple[Array, dict[str, Array]]:
    """Unknown entries that are their own raw array."""
    entries = formula.fresh(domain.parts(sizes, {})[""].shape)
    return entries, {"": entries}


@unknowns.register
def _(domain: domains.NonNegative, formula: Formula, sizes: Sizes, options: Options) -> Any:
    entries, raw = _own_raw(domain, formula, sizes)
    formula.assume(entries, ">" if isinstance(domain, domains.Positive) else ">=")
    return entries, raw


@unknowns.register
def _(domain: domains.NonZero, formula: Formula, sizes: Sizes, options: Options) -> Any:
    entries, raw = _own_raw(domain, formula, sizes)
    formula.assume(np.reshape(np.sum(entries * entries), (1,)), ">")
    return entries, raw


@unknowns.register
def _(domain: domains.NonConstant, formula: Formula, sizes: Sizes, options: Options) -> Any:
    entries, raw = _own_raw(domain, formula, sizes)
    differences = entries[..., 1:] - entries[..., :1]
    formula.assume(total(differences * differences), ">")
    return entries, raw


@unknowns.register
def _(domain: domains.RowStochastic, formula: Formula, sizes: Sizes, options: Options) -> Any:
    entries, raw = _own_raw(domain, formula, sizes)
    if isinstance(domain, domains.Causal):
        entries = where(np.tri(*entries.shape, dtype=bool), entries, 0)
        raw = {"": entries}
    formula.assume(entries, ">=")
    formula.assume(total(entries) - 1, "==")
    return entries, raw


@unknowns.register
def _(domain: domains.DoublyStochastic, formula: Formula, sizes: Sizes, options: Options) -> Any:
    n = domains.size_of(domain.size, sizes)
    entries = formula.fresh((n, n))
    formula.assume(entries, ">=")
    for axis in (-1, -2):
        formula.assume(total(entries, axis) - 1, "==")
    return entries, None


@unknowns.register
def _(domain: domains.Permutation, formula: Formula, sizes: Sizes, options: Options) -> Any:
    n = domains.size_of(domain.size, sizes)
    entries = formula.fresh_whole((n, n), 0, 1)
    for axis in (-1, -2):
        formula.assume(total(entries, axis) - 1, "==")
    return entries, None


@unknowns.register
def _(domain: domains.Orthogonal, formula: Formula, sizes: Sizes, options: Options) -> Any:
    d = domains.size_of(domain.size, sizes)
    columns = d if domain.columns is None else domains.size_of(domain.columns, sizes)
    entries = formula.fresh((d, columns))
    formula.assume(entries.mT @ entries - np.eye(columns, dtype=int), "==")
    return entries, None


@unknowns.register
def _(domain: domains.Norm, formula: Formula, sizes: Sizes, options: Options) -> Any:
    if domains.size_of(domain.size, sizes) > 1 or options["basis"] == "standard":
        parts = {name: formula.fresh(part.shape) for name, part in domain.parts(sizes, options).items()}
        return domain.build(parts, options, sizes), parts
    # In one dimension every norm is a positive multiple of the absolute value.
    scale = formula.fresh((1, 1))
    formula.assume(scale, ">")
    return NormValue("linf", scale, 1 / scale), {"lower": 0 * scale, "upper": scale}


@unknowns.register
def _(domain: domains.Stack, formula: Formula, sizes: Sizes, options: Options) -> Any:
    layers = [unknowns(domain.inner, formula, sizes, options) for _ in range(domains.size_of(domain.length, sizes))]
    raws = [raw for _, raw in layers]
    known = [raw for raw in raws if raw is not None]
    stacked = {name: np.stack([raw[name] for raw in known]) for name in (known[0] if known else {})}
    return [layer for layer, _ in layers], stacked if len(known) == len(raws) else None


# ---- the formula of a goal --------------------------------------------------


@dataclass
class _Statement:
    """What is known, what would violate the claim, and the raw arrays in terms of the unknowns."""

    formula: Formula
    violations: list[Condition]
    raw: Mapping[str, dict[str, Array] | None]


def _state(claim: Claim, sizes: Sizes, options: Options) -> _Statement:
    formula = Formula()
    objects, raws = {}, {}
    for name, domain in claim.over.items():
        own = {key.rpartition(".")[2]: value for key, value in options.items() if key.rpartition(".")[0] == name}
        objects[name], raws[name] = unknowns(domain, formula, sizes, own)
    try:
        for relation in claim.hypotheses(objects):
            formula.conditions += [
                Condition(difference, "==" if relation.is_equality else ">" if relation.is_strict else ">=")
                for difference in _slacks(relation, formula)
            ]
        violations = []
        for relation in claim.conclude(objects):
            for difference in _slacks(relation, formula):
                if relation.is_equality:
                    violations += [Condition(difference, ">"), Condition(-difference, ">")]
                else:
                    violations.append(Condition(-difference, ">=" if relation.is_strict else ">"))
    except NotExpressible:
        raise
    except Exception as failure:
        # An algorithm of one number system only (a spectrum, sorting) meets entries that it does not know.
        raise NotExpressible(f"{type(failure).__name__}: {failure}") from failure
    return _Statement(formula, violations, raws)


def _slacks(relation: Comparison, formula: Formula) -> Iterator[Polynomial]:
    for lhs, rhs in relation.pairs(formula):
        difference = rhs - lhs
        if isinstance(difference, NoValue):
            raise NotExpressible(difference.reason)
        yield difference.polynomial


def _instance(statement: _Statement, model: Mapping[int, fmpq], sizes: Sizes, options: Options) -> Instance | None:
    """The raw instance of a model; None where a domain has not said how its objects are built."""
    arrays = {}
    for name, parts in statement.raw.items():
        if parts is None:
            return None
        for part, entries in parts.items():
            values = np.empty(entries.shape, dtype=object)
            for index, entry in np.ndenumerate(entries):
                polynomial = entry.polynomial if isinstance(entry, SolverEntry) else Polynomial({(): fmpq(entry)})
                for unknown in polynomial.unknowns():
                    polynomial = polynomial.substitute(unknown, Polynomial({(): model.get(unknown, fmpq(0))}))
                values[index] = to_fraction(polynomial.known())
            arrays[f"{name}.{part}" if part else name] = values
    return Instance(dict(sizes), dict(options), arrays)
