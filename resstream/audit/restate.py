"""Claims made of a claim: one of its relations, a relation with something to spare, another factor on the right."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Exact, Literal, absolute, constant
from resstream.claim import Batch, Claim, Comparison, Relation, at_most, equal, every, less_than
from resstream.errors import ArithmeticLimit, DomainError
from resstream.falsify import engines


def restated(claim: Claim, suffix: str, change: Callable[[Relation, Mapping[str, Any]], Relation]) -> Claim:
    """The claim with another conclusion, made by `change` of its own and of the objects."""

    def conclusion(**objects: Any) -> Relation:
        return change(claim.conclude(objects), objects)

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in claim.over]
    conclusion.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return dataclasses.replace(claim, id=f"{claim.id}+{suffix}", conclusion=conclusion, expect="holds", origin=None)


def relations_of(claim: Claim) -> list[Comparison]:
    """The comparisons of the conclusion, at an instance of the smallest sizes.

    None where that cannot be evaluated, and where the conclusion is no conjunction of comparisons.
    """
    rng = np.random.default_rng(0)
    sizes = claim.nearest_fit({name: min(values) for name, values in claim.size_ranges().items()})
    options = {name: values[0] for name, values in claim.option_values().items()}
    for _ in range(8):
        raw = Batch(
            sizes, options, {name: part.draw(rng, 16) for name, part in claim.parts(sizes, options).items()}, 16
        )
        with FLOAT64.working():
            try:
                parts = claim.conclude(claim.build(raw)).conjuncts
                found = [one for one in parts if isinstance(one, Comparison)]
                return found if len(found) == len(parts) else []
            except (ArithmeticLimit, DomainError, ArithmeticError):
                sizes = engines.draw_shape(claim, rng)[0]
    return []


def only(claim: Claim, index: int) -> Claim:
    """The claim with one of its relations."""
    return restated(claim, f"part{index + 1}", lambda relations, _: list(relations)[index])


def _parts(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Both sides as arrays or numbers that can be computed with."""
    if isinstance(lhs, Literal):
        lhs = constant(lhs, rhs)
    if isinstance(rhs, Literal):
        rhs = constant(rhs, lhs)
    return lhs, rhs


def _absolute(side: Any) -> Any:
    return absolute(side) if isinstance(side, np.ndarray) else abs(side)


def with_margin(claim: Claim, margin: Exact) -> Claim:
    """The claim whose inequalities have a relative margin to spare: rhs - lhs >= margin (|lhs| + |rhs|).

    Two zeros meet it, so what violates it has sides that say something; with margin (1 - c)/(1 + c) and sides of one
    sign it says that lhs <= c rhs (that rhs <= c lhs, for negative ones).
    """

    def change(relations: Relation, _: Mapping[str, Any]) -> Relation:
        changed = []
        for relation in relations:
            lhs, rhs = _parts(relation.lhs, relation.rhs)
            changed.append(at_most(margin * (_absolute(lhs) + _absolute(rhs)), rhs - lhs))
        return every(*changed)

    return restated(claim, "margin", change)


def nearer(claim: Claim, factor: Exact) -> Claim:
    """The claim that the ratio of the smaller to the larger side is at most a factor below one, whatever their sign."""
    share = factor.value
    return with_margin(claim, Exact((1 - share) / (1 + share)))


def strict(claim: Claim) -> Claim:
    """The claim with every inequality strict."""
    return restated(claim, "strict", lambda relations, _: every(*(less_than(r.lhs, r.rhs) for r in relations)))


def equality(claim: Claim) -> Claim:
    """The claim with every inequality an equality."""
    return restated(claim, "equality", lambda relations, _: every(*(equal(r.lhs, r.rhs) for r in relations)))
