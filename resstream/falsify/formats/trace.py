"""A counterexample as terms: its objects, what must hold of them, and the comparison that fails, in exact expressions.

The claim's own code is read once more, in the number system of terms. What comes out no longer needs that code: every
number is an expression of the instance's entries, every branch that the code took is a fact to be checked, and so is
every divisor and radicand.
"""

from __future__ import annotations

import dataclasses
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from resstream.arithmetic import Array, NoValue
from resstream.arithmetic.obligations import Obligation, noting
from resstream.arithmetic.terms import NUMBER, TermEntry, Terms, is_below, is_same, leaf, number
from resstream.domains.current import Objects
from resstream.errors import NotExpressible, Undecided
from resstream.relations import NEGATED, AnyOf, Comparison, Every, Guarded, Relation, SomeEntry

if TYPE_CHECKING:
    from resstream.claim import Claim, Instance

BITS = 256
"""Of the enclosures by which branches are decided."""

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True, eq=False)
class Fact:
    """lhs `symbol` rhs, with symbol one of < <= > >= == !=, and what it is about, in words."""

    about: str
    lhs: TermEntry
    symbol: str
    rhs: TermEntry

    @property
    def turned(self) -> Fact:
        """The same fact with its sides exchanged."""
        return Fact(self.about, self.rhs, _TURNED[self.symbol], self.lhs)

    @property
    def forward(self) -> Fact:
        """The same fact with < or <= in place of > or >=."""
        return self.turned if self.symbol in (">", ">=") else self

    @property
    def exact(self) -> bool:
        """Whether both sides are known to be rational."""
        return self.lhs.exact is not None and self.rhs.exact is not None

    def holds(self) -> bool | None:
        """Whether it is true; None where the enclosures cannot tell."""
        fact = self.forward
        if fact.symbol in ("==", "!="):
            same = is_same(fact.lhs, fact.rhs)
            return same if same is None or fact.symbol == "==" else not same
        if fact.symbol == "<":
            return is_below(fact.lhs, fact.rhs)
        beyond = is_below(fact.rhs, fact.lhs)
        return None if beyond is None else not beyond


@dataclass(frozen=True, eq=False)
class Trace:
    """Everything that makes an instance a counterexample.

    id, statement: the claim's. objects: the entries of its variables, by name, or text for what has no entries. domain,
    hypotheses and conditions (of branches, divisors, radicands) are facts that hold; violation is the fact that
    contradicts the conclusion, in the order in which the claim states its sides. (A conclusion of alternatives has
    several.)
    """

    id: str
    statement: str
    sizes: Mapping[str, int]
    objects: tuple[tuple[str, Array | str], ...]
    domain: tuple[Fact, ...]
    hypotheses: tuple[Fact, ...]
    conditions: tuple[Fact, ...]
    violation: tuple[Fact, ...]

    @property
    def arrays(self) -> list[tuple[str, Array]]:
        """The objects that have entries."""
        return [(name, value) for name, value in self.objects if isinstance(value, np.ndarray)]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The objects that have none, in words."""
        return [(name, value) for name, value in self.objects if isinstance(value, str)]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All of them, the violation last."""
        return (*self.domain, *self.hypotheses, *self.conditions, *self.violation)

    @property
    def rational(self) -> bool:
        """Whether fractions can follow every operation."""
        return all(fact.lhs.rational and fact.rhs.rational for fact in self.facts)


def trace(claim: Claim, raw: Instance, bits: int = BITS) -> Trace:
    """The terms of an instance that refutes a claim.

    Raises NotExpressible where the claim asks for what terms have no words for (a spectrum), and Undecided where the
    enclosures do not tell which way the code branches, or whether the claim fails.
    """
    system = Terms(bits)
    with system.working(), noting() as notes:
        listed: list[tuple[str, Array | str]] = []
        built = claim.build(raw, system)
        objects = Objects({name: _with_names(name, value, listed) for name, value in built.items()}, raw.sizes)
        notes.clear()  # of how the objects were built: their entries are checked as they are
        domain = tuple(_membership(claim, objects, raw.sizes))
        assumed = claim.hypotheses(objects) if claim.assuming else None
        hypotheses = tuple(_holding(assumed, system, "hypothesis")) if assumed is not None else ()
        concluded = claim.conclude(objects)
        # Facts of the sides alone, asked for below, are no branches of the code.
        asked = list(notes)
        violation = tuple(_violating(concluded, system))
        side = tuple(conditions(asked, (*domain, *hypotheses, *violation)))
    return Trace(claim.id, claim.statement, raw.sizes, tuple(listed), domain, hypotheses, side, violation)


# ---- objects ----------------------------------------------------------------


def _with_names(name: str, value: Any, found: list[tuple[str, Array | str]]) -> Any:
    """An object whose entries carry names, rational ones as leaves, however they were built; its arrays are listed."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        called = identifier(name)
        named = np.empty_like(value)
        for index in np.ndindex(value.shape):
            named[index] = _named(value[index], (called, index))
        found.append((called, named))
        return named
    if isinstance(value, (list, tuple)):
        items = [_with_names(f"{name}[{place}]", part, found) for place, part in enumerate(value)]
        return tuple(items) if isinstance(value, tuple) else items
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        known = {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
        parts = {
            key: _with_names(f"{name}.{key}", part, found)
            for key, part in known.items()
            if isinstance(part, (np.ndarray, list, tuple))
        }
        if len(parts) < len(known):
            found.append((name, str(value) if type(value).__str__ is not object.__str__ else type(value).__name__))
        return dataclasses.replace(value, **parts) if parts else value
    found.append((name, str(value.tolist() if isinstance(value, np.ndarray) else value)))
    return value


_TAKEN = re.compile(
    r"t\d+|[QR]|iv|sys|math|np|sp|lhs|rhs|Ball|checked|require|interval|nonzero|larger|sqrt|exp|log|cos|sin|tanh|abs|max|pi|erf"
)


def identifier(name: str) -> str:
    """A name that every language takes, and that no file uses for something else."""
    plain = re.sub(r"\W+", "_", name).strip("_")
    return plain + "_" if keyword.iskeyword(plain) or _TAKEN.fullmatch(plain) else plain


def _named(entry: Any, label: tuple[str, tuple[int, ...]]) -> TermEntry:
    if isinstance(entry, NoValue):
        entry.demand()
    if entry.exact is not None:
        return leaf(entry.exact, label)
    if entry.label is None:
        entry.label = label
    return entry


def _membership(claim: Claim, objects: Mapping[str, Any], sizes: Mapping[str, int]) -> Iterator[Fact]:
    """What makes each object a member of its domain: the comparisons by which the domain says so."""
    for name, domain in claim.over.items():
        with noting() as asked:
            try:
                if not domain.contains(objects[name], sizes):
                    raise NotExpressible(f"{name} is no member of {domain}")
            except (NotImplementedError, Undecided):
                continue  # it is a member by how it is built
        for fact in _noted(asked):
            yield dataclasses.replace(fact, about=f"{name} is a member of {domain}")


# ---- relations --------------------------------------------------------------


def pairs(relation: Comparison, system: Terms) -> list[tuple[TermEntry, TermEntry]]:
    """The pairs of sides of a comparison, as stated; what has no value raises its error."""
    pairs: list[tuple[TermEntry, TermEntry]] = []
    for lhs, rhs in relation.pairs(system):
        for side in (lhs, rhs):
            if isinstance(side, NoValue):
                side.demand()
        assert isinstance(lhs, TermEntry) and isinstance(rhs, TermEntry), "entries of one system"  # noqa: PT018
        pairs.append((rhs, lhs) if relation.turned else (lhs, rhs))
    return pairs


def _certain(facts: Sequence[Fact]) -> list[Fact]:
    """The facts, all of which must be certain; Undecided or NotExpressible for the first that is not."""
    for fact in facts:
        answer = fact.holds()
        if answer is None:
            raise Undecided(f"{fact.about}: the enclosures do not tell")
        if not answer:
            raise NotExpressible(f"{fact.about}: it does not hold")
    return list(facts)


def _holding(relation: Relation, system: Terms, about: str) -> list[Fact]:
    """The facts by which a relation holds."""
    if isinstance(relation, Comparison):
        return _certain([Fact(about, lhs, relation.shown, rhs) for lhs, rhs in pairs(relation, system)])
    if isinstance(relation, Every):
        return [fact for part in relation.relations for fact in _holding(part, system, about)]
    if isinstance(relation, AnyOf):
        for part in relation.relations:
            try:
                return _holding(part, system, about)
            except (Undecided, NotExpressible):
                continue
        raise Undecided(f"{about}: no alternative is certain")
    if isinstance(relation, SomeEntry):
        comparison = relation.comparison
        facts = [Fact(about, lhs, comparison.shown, rhs) for lhs, rhs in pairs(comparison, system)]
        for fact in facts:
            if fact.holds():
                return [fact]
        raise Undecided(f"{about}: of no entry it is certain")
    if isinstance(relation, Guarded):
        premise, conclusion = relation.premise, relation.conclusion
        if relation.otherwise:
            try:
                return _violating(premise, system, f"{about}: a premise fails")
            except (Undecided, NotExpressible):
                return _holding(conclusion, system, about)
        return [*_holding(premise, system, about), *_holding(conclusion, system, about)]
    raise NotExpressible(f"a relation of the kind {type(relation).__name__}")


def _violating(relation: Relation, system: Terms, about: str = "conclusion fails") -> list[Fact]:
    """The facts by which a relation fails: for a comparison of arrays, at the entry where it fails by most."""
    if isinstance(relation, Comparison):
        failed = [Fact(about, lhs, NEGATED[relation.shown], rhs) for lhs, rhs in pairs(relation, system)]
        certain = [fact for fact in failed if fact.holds()]
        if not certain:
            raise Undecided("the enclosures do not tell that the conclusion fails")
        return [max(certain, key=_by_how_much)]
    if isinstance(relation, Every):
        limit: Exception = Undecided("the enclosures do not tell that the conclusion fails")
        for part in relation.relations:
            try:
                return _violating(part, system, about)
            except (Undecided, NotExpressible) as unclear:
                limit = unclear
        raise limit
    if isinstance(relation, AnyOf):
        return [fact for part in relation.relations for fact in _violating(part, system, about)]
    if isinstance(relation, SomeEntry):
        symbol = NEGATED[relation.comparison.shown]
        facts = [Fact(about, lhs, symbol, rhs) for lhs, rhs in pairs(relation.comparison, system)]
        if all(fact.holds() for fact in facts):
            return facts
        raise Undecided("the enclosures do not tell that the conclusion fails")
    if isinstance(relation, Guarded):
        premise, conclusion = relation.premise, relation.conclusion
        if relation.otherwise:
            holding = _holding(premise, system, "premise of the conclusion")
            return [*holding, *_violating(conclusion, system, about)]
        try:
            return _violating(premise, system, about)
        except (Undecided, NotExpressible):
            return _violating(conclusion, system, about)
    raise NotExpressible(f"a relation of the kind {type(relation).__name__}")


def _by_how_much(fact: Fact) -> float:
    lhs, rhs = float(fact.lhs.enclosure.mid()), float(fact.rhs.enclosure.mid())
    return abs(lhs - rhs) / (abs(lhs) + abs(rhs)) if lhs or rhs else 0.0


# ---- conditions -------------------------------------------------------------

_FOR_A_VALUE = ("divisor", "radicand", "logarithm")


def conditions(notes: Sequence[Obligation], facts: Sequence[Fact]) -> Iterator[Fact]:
    """What was noted, once each: all branches, and of divisors and radicands those that the facts depend on."""
    branches = [note for note in notes if not note.role.startswith(_FOR_A_VALUE)]
    needed = reachable([*(side for fact in facts for side in (fact.lhs, fact.rhs)), *(note.entry for note in branches)])
    yield from _noted([note for note in notes if note in branches or id(note.entry) in needed])


def _noted(notes: Sequence[Obligation]) -> Iterator[Fact]:
    """Notes as facts, once each. A comparison was noted as a difference; of numbers alone it says nothing."""
    seen = set()
    for note in notes:
        fact = compared(note.role, note.entry, note.kind)
        key = (id(fact.lhs), fact.symbol, id(fact.rhs))
        plain = all(side.operation == NUMBER and side.label is None for side in (fact.lhs, fact.rhs))
        if key not in seen and not plain:
            seen.add(key)
            yield fact


def compared(about: str, entry: TermEntry, symbol: str) -> Fact:
    """That an entry is `symbol` 0; of a difference, as a comparison of its two parts."""
    lhs, rhs = entry.operands if entry.operation == "-" else (entry, number(fmpq(0)))
    return Fact(about, lhs, symbol, rhs)


def reachable(roots: Sequence[TermEntry]) -> set[int]:
    """The ids of all nodes below some nodes, these included."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found.add(id(node))
            waiting += node.operands
    return found
