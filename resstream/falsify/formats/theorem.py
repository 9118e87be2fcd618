"""A claim at fixed sizes as a theorem for Rocq: for all values of its objects' entries, and not for one instance.

The claim's own code is read in terms over variables; what the domains say of their entries are hypotheses, and what the
code divides by, and the like, is part of what is to be proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from flint import fmpq

from resstream import domains
from resstream.arithmetic import Array
from resstream.arithmetic.obligations import noting
from resstream.arithmetic.terms import Terms, number, variable
from resstream.claim import Claim
from resstream.domains.current import Objects
from resstream.errors import NotExpressible, Undecided
from resstream.falsify.formats.program import Program, in_order
from resstream.falsify.formats.rocq import LANGUAGE, SYMBOLS, plain_preamble
from resstream.falsify.formats.trace import Fact, conditions, pairs
from resstream.reference.norms import Norm
from resstream.relations import Comparison, Every, Relation

_TACTICS = """\
Ltac settle_cases := unfold Rmax, Rabs; repeat (destruct Rle_dec || destruct Rcase_abs).
Ltac settle_condition := first [assumption | lra | nra | settle_cases; first [lra | nra]].
Ltac settle_equality := first [ring | field; repeat split; settle_condition | settle_cases; first [lra | nra]].
Ltac settle_inequality := first [lra | nra | settle_cases; first [lra | nra]].
"""


@dataclass(frozen=True)
class Script:
    """A proof that the general tactics do not find: lemmas before it, and the tactics for its one goal."""

    lemmas: str
    proof: str


@dataclass(frozen=True)
class Theorem:
    """What is to be proved: facts about the entries of arrays, from facts that are known of them."""

    claim: Claim
    sizes: Mapping[str, int]
    arrays: tuple[tuple[str, Array], ...]
    known: tuple[Fact, ...]
    owed: tuple[Fact, ...]
    goals: tuple[Fact, ...]


def theorem(claim: Claim, sizes: Mapping[str, int], options: Mapping[str, str]) -> Theorem:
    """The theorem of a claim at some sizes and options.

    NotExpressible where its code branches on values, or its domains are not given by conditions on entries.
    """
    system = Terms()
    with system.working(), noting() as notes:
        arrays: list[tuple[str, Array]] = []
        known: list[Fact] = []
        unknown = {
            name: _unknown(name, domain, sizes, _own(name, options), arrays, known)
            for name, domain in claim.over.items()
        }
        objects = Objects(unknown, sizes)
        try:
            if claim.assuming:
                known += _facts(claim.hypotheses(objects), system, "hypothesis")
            given = len(notes)
            goals = _facts(claim.conclude(objects), system, "conclusion")
        except Undecided as branch:
            raise NotExpressible(f"a branch on the values: {branch}") from None
        known += conditions(notes[:given], known)
        owed = tuple(conditions(notes[given:], goals))
    return Theorem(claim, dict(sizes), tuple(arrays), tuple(known), owed, tuple(goals))


def _own(name: str, options: Mapping[str, str]) -> dict[str, str]:
    return {key.rpartition(".")[2]: value for key, value in options.items() if key.rpartition(".")[0] == name}


def _unknown(
    name: str,
    domain: domains.Domain,
    sizes: Mapping[str, int],
    options: Mapping[str, str],
    arrays: list[tuple[str, Array]],
    known: list[Fact],
) -> Any:
    """An object of variables, and what the domain says of them."""

    def entries(*shape: int) -> Array:
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            out[index] = variable((name, index))
        arrays.append((name, out))
        return out

    def at_least(lower: int, values: Array) -> None:
        known.extend(Fact(f"{name} in {domain}", entry, ">=", number(fmpq(lower))) for entry in values.flat)

    size = domains.size_of
    if isinstance(domain, domains.Norm):
        if options["basis"] != "standard":
            raise NotExpressible("a norm in another basis")
        return Norm(options["kind"])
    if isinstance(domain, domains.Stack):
        places = range(size(domain.length, sizes))
        return [_unknown(f"{name}_{place}", domain.inner, sizes, options, arrays, known) for place in places]
    if type(domain) is domains.Matrix:
        return entries(size(domain.rows, sizes), size(domain.columns, sizes))
    if type(domain) is domains.RowStochastic:
        rows = size(domain.rows, sizes)
        values = entries(rows, rows if domain.columns is None else size(domain.columns, sizes))
        at_least(0, values)
        one = number(fmpq(1))
        known.extend(Fact(f"{name} in {domain}", sum(row[1:], start=row[0]), "==", one) for row in values)
        return values
    raise NotExpressible(f"unknown members of {type(domain).__name__}")


def _facts(relation: Relation, system: Terms, about: str) -> list[Fact]:
    if isinstance(relation, Comparison):
        return [Fact(about, lhs, relation.shown, rhs) for lhs, rhs in pairs(relation, system)]
    if isinstance(relation, Every):
        return [fact for part in relation.relations for fact in _facts(part, system, about)]
    raise NotExpressible(f"a relation of the kind {type(relation).__name__}")


# ---- as a file --------------------------------------------------------------


def write(found: Theorem, script: Script | None = None) -> str:
    """The file, as text; a script takes the place of the general tactics."""
    return "\n".join(_lines(found, script)) + "\n"


def _lines(found: Theorem, script: Script | None) -> Iterator[str]:
    facts = [*found.known, *found.owed, *found.goals]
    program = Program.of(LANGUAGE, found.arrays, facts)
    names = count(1)

    def stated(fact: Fact) -> str:
        return f"{program.name(fact.lhs)} {SYMBOLS.get(fact.symbol, fact.symbol)} {program.name(fact.rhs)}"

    sizes = ", ".join(f"{name} = {size}" for name, size in found.sizes.items())
    yield f"(** {found.claim.id} at {sizes}, for all values of the entries. *)\n"
    yield plain_preamble() + _TACTICS + (script.lemmas if script else "") + "\nSection At_these_sizes.\n"
    variables = [program.names[id(entry)] for _, value in found.arrays for entry in value.flat]
    yield f"Variables {' '.join(variables)} : R."

    def definitions(fact: Fact) -> Iterator[str]:
        for node in program.due(fact.lhs, fact.rhs):
            yield f"Definition {program.names[id(node)]} : R := {program.expression(node)}."

    for fact in found.known:
        yield from definitions(fact)
        yield f"Hypothesis known_{next(names)} : {stated(fact)}."
    proved = []
    for place, fact in enumerate([*found.owed, *found.goals], 1):
        yield from definitions(fact)
        proved.append(f"fact_{place}")
        yield f"Lemma {proved[-1]} : {stated(fact)}."
        tactic = script.proof if script else "settle_equality." if fact.symbol == "==" else "settle_inequality."
        yield f"Proof. {_unfolded(program, fact)}{tactic} Qed."
    yield "\nTheorem holds : " + " /\\ ".join(f"({stated(fact)})" for fact in [*found.owed, *found.goals]) + "."
    proof = proved[-1]
    for name in reversed(proved[:-1]):
        proof = f"(conj {name} {proof})"
    yield f"Proof. exact {proof}. Qed.\n\nEnd At_these_sizes.\n\nPrint Assumptions holds."


def _unfolded(program: Program, fact: Fact) -> str:
    """A tactic that unfolds every step of a fact, the last first."""
    nodes = [program.names[id(node)] for node in in_order([fact.lhs, fact.rhs]) if id(node) in program.names]
    steps = [name for name in reversed(nodes) if re.fullmatch(r"t\d+", name)]
    return f"unfold {', '.join(steps)}; " if steps else ""
