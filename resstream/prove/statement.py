"""The formula of a claim at fixed sizes, options and pieces: what is known, what would violate it, what must exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from flint import fmpq

from resstream.arithmetic import Array, NoValue, to_fraction
from resstream.arithmetic.obligations import Obligation, noting
from resstream.arithmetic.solver import Condition, Formula, Polynomial, SolverEntry
from resstream.arithmetic.unknowns import Unknowns
from resstream.claim import Claim, Instance, sealed
from resstream.domains import Options, Piece, Sizes, raw_values
from resstream.domains.current import Objects
from resstream.errors import DomainError, NotExpressible
from resstream.relations import (
    AnyOf,
    AtMost,
    Comparison,
    Differ,
    Equal,
    Every,
    Guarded,
    Less,
    Relation,
    SomeEntry,
    is_guarded,
)

BRANCHES = 64
"""How many alternatives a statement may have."""

Conjunction = tuple[Condition, ...]


@dataclass(frozen=True)
class Statement:
    """A claim of unknown objects.

    A violation is one of `violations`, where what is known holds together with one of `assumed`, the alternatives that
    the hypotheses leave. `given` are the obligations of the hypotheses, which are met where these hold.
    """

    formula: Formula
    pieces: Mapping[str, Piece]
    assumed: tuple[Conjunction, ...]
    given: tuple[Obligation, ...]
    violations: tuple[Conjunction, ...]
    obligations: tuple[Obligation, ...]


def pieces_of(claim: Claim, unknowns: Unknowns, sizes: Sizes, options: Options) -> dict[str, Piece]:
    """An unknown object for every variable of a claim."""
    pieces = {}
    for name, domain in claim.over.items():
        own = {key.rpartition(".")[2]: value for key, value in options.items() if key.rpartition(".")[0] == name}
        pieces[name] = domain.own_piece(unknowns, sizes, own)
    return pieces


def objects_of(pieces: Mapping[str, Piece], sizes: Sizes) -> dict[str, Any]:
    """The objects of pieces at these sizes, read-only."""
    return Objects({name: sealed(piece.object) for name, piece in pieces.items()}, sizes)


def state(claim: Claim, formula: Formula, sizes: Sizes, options: Options, conclusion: bool = True) -> Statement:
    """The statement of a claim in a new formula; without its conclusion, what the hypotheses say alone.

    NotExpressible where the solver has no words for it, and where the claim says nothing of the sizes.
    """
    if not claim.fits(sizes):
        raise NotExpressible(f"the claim speaks of sizes with {claim.where}")
    if conclusion and claim.as_grows is not None:
        raise NotExpressible(f"what holds as {claim.as_grows.size} grows, of which no size is a part")
    try:
        with noting() as made:
            pieces = pieces_of(claim, formula, sizes, options)
        with noting() as given:
            hypotheses = claim.hypotheses(objects_of(pieces, sizes)) if claim.assuming else None
            assumed = ((),) if hypotheses is None else known(hypotheses, formula)
        if given and hypotheses is not None and is_guarded(hypotheses):
            raise NotExpressible("a hypothesis that may hold where a part of it has no value")
        with noting() as asked:
            violations = violated(claim.conclude(objects_of(pieces, sizes)), formula) if conclusion else ()
    except NotExpressible:
        raise
    except Exception as failure:
        # An algorithm of one number system only (a spectrum, sorting) meets entries that it does not know.
        raise NotExpressible(f"{type(failure).__name__}: {failure}") from failure
    return Statement(formula, pieces, assumed, tuple(given), violations, (*made, *asked))


def known(relation: Relation, formula: Formula) -> tuple[Conjunction, ...]:
    """The alternatives under one of which a relation holds."""
    match relation:
        case Comparison():
            kind = _kind(relation)
            return (tuple(Condition(difference, kind) for difference in _differences(relation, formula)),)
        case Every():
            return _all_of([known(each, formula) for each in relation.relations])
        case AnyOf():
            return tuple(found for each in relation.relations for found in known(each, formula))
        case SomeEntry():
            kind = _kind(relation.comparison)
            return tuple((Condition(difference, kind),) for difference in _differences(relation.comparison, formula))
        case Guarded(otherwise=True):
            return (*violated(relation.premise, formula), *known(relation.conclusion, formula))
        case Guarded():
            return _all_of([known(part, formula) for part in (relation.premise, relation.conclusion)])
    raise NotExpressible(f"a relation of type {type(relation).__name__}")


def violated(relation: Relation, formula: Formula) -> tuple[Conjunction, ...]:
    """The alternatives under one of which a relation fails (where its sides have values)."""
    match relation:
        case Comparison():
            kind = _kind(relation)
            return tuple(
                (failure,) for difference in _differences(relation, formula) for failure in _failures(difference, kind)
            )
        case Every():
            return tuple(found for each in relation.relations for found in violated(each, formula))
        case AnyOf():
            return _all_of([violated(each, formula) for each in relation.relations])
        case SomeEntry():
            kind = _kind(relation.comparison)
            differences = list(_differences(relation.comparison, formula))
            return _all_of([tuple((failure,) for failure in _failures(one, kind)) for one in differences])
        case Guarded(otherwise=True):
            return _all_of([known(relation.premise, formula), violated(relation.conclusion, formula)])
        case Guarded():
            return (*violated(relation.premise, formula), *violated(relation.conclusion, formula))
    raise NotExpressible(f"a relation of type {type(relation).__name__}")


def _all_of(alternatives: Iterable[tuple[Conjunction, ...]]) -> tuple[Conjunction, ...]:
    """The alternatives of several statements together."""
    result: tuple[Conjunction, ...] = ((),)
    for some in alternatives:
        if len(result) * len(some) > BRANCHES:
            raise NotExpressible(f"more than {BRANCHES} alternatives")
        result = tuple((*before, *after) for before, after in product(result, some))
    return result


def _kind(relation: Comparison) -> str:
    kinds: dict[type[Comparison], str] = {AtMost: ">=", Less: ">", Equal: "==", Differ: "!="}
    if type(relation) not in kinds:
        raise NotExpressible(f"a relation of type {type(relation).__name__}")
    return kinds[type(relation)]


def _failures(difference: Polynomial, kind: str) -> list[Condition]:
    """Under which conditions, one of them, the difference is not `kind` 0."""
    return {
        ">=": [Condition(-difference, ">")],
        ">": [Condition(-difference, ">=")],
        "==": [Condition(difference, ">"), Condition(-difference, ">")],
        "!=": [Condition(difference, "==")],
    }[kind]


def _differences(relation: Comparison, formula: Formula) -> Iterator[Polynomial]:
    """rhs - lhs of every entry."""
    for lhs, rhs in relation.pairs(formula):
        difference = rhs - lhs
        if isinstance(difference, NoValue):
            raise NotExpressible(f"a side without a value: {difference.reason}")
        yield difference.polynomial


def met(obligation: Obligation) -> Condition:
    """That an obligation is met."""
    return Condition(obligation.entry.polynomial, obligation.kind)


# ---- models -----------------------------------------------------------------


def instance(statement: Statement, model: Mapping[int, fmpq], sizes: Sizes, options: Options) -> Instance | None:
    """The raw instance of a model; None where a domain does not say how its objects are built."""

    def value(entries: Array) -> Array:
        values = np.empty(entries.shape, dtype=object)
        for index, entry in np.ndenumerate(entries):
            values[index] = to_fraction(evaluated(entry.polynomial, model) if isinstance(entry, SolverEntry) else entry)
        return values

    arrays: dict[str, Array] = {}
    for name, piece in statement.pieces.items():
        try:
            found = raw_values(piece, value)
        except DomainError:
            return None
        arrays |= {f"{name}.{part}" if part else name: values for part, values in found.items()}
    return Instance(dict(sizes), dict(options), arrays)


def evaluated(polynomial: Polynomial, values: Mapping[int, fmpq]) -> fmpq:
    """The value of a polynomial where its unknowns have the values given (0 elsewhere)."""
    result = fmpq(0)
    for monomial, coefficient in polynomial.terms.items():
        for unknown in monomial:
            coefficient = coefficient * values.get(unknown, fmpq(0))
        result += coefficient
    return result


__all__ = ["Statement", "evaluated", "instance", "known", "met", "objects_of", "pieces_of", "state", "violated"]
