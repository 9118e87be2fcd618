"""Deciding formulas of the SMT reading with Z3: a model of a violation, or a proof that there is none.

Z3 decides few formulas with products and maxima as they stand. So a violation is split into cases by hand: a maximum
on its left is one of its alternatives; a maximum elsewhere is first known only from below, and becomes one of its
alternatives where that is not enough. What a case does not mention is left out. All this can only add models, so a case
without a model is proved. Cases that differ in the names of their unknowns only are decided once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3
from flint import fmpq

from resstream.arithmetic.solver import Choice, Condition, Formula, Polynomial, variable

QUICK = 0.5
"""Seconds for the first attempt at a whole goal, or a sixteenth of the time that there is, if that is more."""

GLANCE = 0.4
"""Seconds for one case before it is split further."""

LONG = 60.0
"""Seconds that work is cut off at where its amount is what bounds it."""

GLIMPSE = 300_000
"""Steps of Z3 for that nothing meets a relation at one instance, a tenth of a second's worth or so."""

WORK = 2_000_000
"""Steps of Z3 for one obligation of an identity, about a second's worth."""

Model = dict[int, fmpq]


def settle(formula: Formula, violations: Sequence[Condition], end: float) -> tuple[bool, Model | None]:
    """(True, None) if no violation is possible, (False, model) for a violation, (False, None) if not decided.

    `end` is the time of `time.monotonic()` at which to give up. Values of a model that are irrational are rounded.
    """
    violations = [v for v in violations if not (v.kind == ">" and v.polynomial.known() == 0)]
    left = end - time.monotonic()
    answer, model = _whole(formula, violations, min(max(QUICK, left / 16), left))
    if answer != "unknown":
        return answer == "unsat", model
    settled: set[Any] = set()
    for case in _cases(formula, violations):
        case = _relevant(case)
        if _has_a_model(case, end) or not _has_no_model(case, settled, end):
            # The last resort of a whole goal is all the time that is left.
            answer, model = _whole(formula, violations, end - time.monotonic())
            return answer == "unsat", model
    return True, None


# ---- Z3 ---------------------------------------------------------------------


def _term(polynomial: Polynomial, unknowns: Mapping[int, Any]) -> Any:
    terms = []
    for monomial, coefficient in polynomial.terms.items():
        factors = [unknowns[u] for u in monomial]
        if coefficient != 1 or not factors:
            factors.insert(0, z3.RealVal(f"{coefficient.p}/{coefficient.q}"))
        terms.append(z3.Product(factors) if len(factors) > 1 else factors[0])
    return z3.Sum(terms) if terms else z3.RealVal(0)


def _condition(condition: Condition, unknowns: Mapping[int, Any]) -> Any:
    term = _term(condition.polynomial, unknowns)
    kinds = {">=": lambda: term >= 0, ">": lambda: term > 0, "==": lambda: term == 0, "!=": lambda: term != 0}
    return kinds[condition.kind]()


def _whole(formula: Formula, violations: Sequence[Condition], seconds: float) -> tuple[str, Model | None]:
    """Ask for a model of everything that is known and of some violation."""
    if seconds <= 0:
        return "unknown", None
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * seconds)))
    unknowns = _stated(formula, solver)
    solver.add(z3.Or([_condition(violation, unknowns) for violation in violations]))
    answer = str(solver.check())
    if answer != "sat":
        return answer, None
    model = solver.model()
    return answer, {u: _rational(model.eval(unknown, model_completion=True)) for u, unknown in unknowns.items()}


def _rational(value: Any) -> fmpq:
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    fraction = value.as_fraction()
    return fmpq(fraction.numerator, fraction.denominator)


def has_no_model(conditions: Sequence[Condition], work: int = WORK) -> bool:
    """Whether some conditions on reals are certain to have no model, within a bound on the work and not on the time."""
    return _conjunction(conditions, LONG, work)


def nothing_meets(formula: Formula, conditions: Sequence[Condition], work: int = GLIMPSE) -> bool:
    """Whether what a formula knows and some conditions are certain to have no model, within a bound on the work."""
    solver = z3.Solver()
    solver.set("timeout", int(1000 * LONG))
    solver.set("rlimit", work)
    unknowns = _stated(formula, solver)
    solver.add(*(_condition(condition, unknowns) for condition in conditions))
    return str(solver.check()) == "unsat"


def _stated(formula: Formula, solver: Any) -> dict[int, Any]:
    """The unknowns of a formula, all that is known of which is stated to a solver."""
    unknowns = {u: z3.ToReal(z3.Int(f"k{u}")) if u in formula.integral else z3.Real(f"x{u}") for u in formula.made_of}
    solver.add(*(_condition(condition, unknowns) for condition in formula.conditions))
    for choice in formula.choices.values():
        largest = unknowns[choice.unknown]
        alternatives = [_term(alternative, unknowns) for alternative in choice.alternatives]
        solver.add(*(largest >= alternative for alternative in alternatives))
        solver.add(z3.Or([largest == alternative for alternative in alternatives]))
    return unknowns


def _conjunction(conditions: Sequence[Condition], seconds: float, work: int = 0) -> bool:
    """Whether some conditions are certain to have no model."""
    names = {u for condition in conditions for u in condition.polynomial.unknowns()}
    unknowns = {u: z3.Real(f"x{u}") for u in names}
    steps = ("simplify", "solve-eqs", "purify-arith", "tseitin-cnf", "nlsat")
    solver = z3.Then(*steps).solver()
    solver.set("timeout", max(1, int(1000 * seconds)))
    solver.set("rlimit", work)
    solver.add(*(_condition(condition, unknowns) for condition in conditions))
    return str(solver.check()) == "unsat"


def _has_a_model(case: _Case, end: float) -> bool:
    """Whether a case as a whole is seen to have a model, so that there is no use in splitting it."""
    formula = Formula().knowing([*case.conditions, *case.below()])
    formula.made_of = dict(case.made_of)
    formula.choices = {choice.unknown: choice for choice in case.choices if choice.whole}
    return _whole(formula, [case.violation], min(GLANCE, end - time.monotonic()))[0] == "sat"


# ---- cases ------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    """One violation, with the conditions and maxima that bear on it."""

    violation: Condition
    conditions: tuple[Condition, ...]
    choices: tuple[Choice, ...]
    made_of: Mapping[int, set[int]]

    def below(self) -> list[Condition]:
        """What is known of the maxima without asking which alternative each of them is."""
        return [
            Condition(variable(choice.unknown) - alternative, ">=")
            for choice in self.choices
            for alternative in choice.alternatives
        ]

    def substitute(self, choice: Choice, value: Polynomial) -> _Case:
        """The case in which a maximum is one of its alternatives."""

        def swap(polynomial: Polynomial) -> Polynomial:
            return polynomial.substitute(choice.unknown, value)

        conditions = [Condition(swap(c.polynomial), c.kind) for c in self.conditions]
        conditions += [Condition(value - other, ">=") for other in choice.alternatives if other is not value]
        choices = [
            Choice(c.unknown, tuple(map(swap, c.alternatives)), c.whole) for c in self.choices if c is not choice
        ]
        violation = Condition(swap(self.violation.polynomial), self.violation.kind)
        return _Case(violation, tuple(conditions), tuple(choices), self.made_of)


def _cases(formula: Formula, violations: Sequence[Condition]) -> Iterator[_Case]:
    """The violations, with every maximum on the left of one replaced by each of its alternatives."""
    conditions, choices = tuple(formula.conditions), tuple(formula.choices.values())
    waiting = [_Case(violation, conditions, choices, formula.made_of) for violation in reversed(violations)]
    while waiting:
        case = waiting.pop()
        choice = next((c for c in case.choices if _is_on_the_left(c.unknown, case.violation.polynomial)), None)
        if choice is None:
            yield case
        else:
            waiting += [case.substitute(choice, alternative) for alternative in reversed(choice.alternatives)]


def _is_on_the_left(unknown: int, violation: Polynomial) -> bool:
    occurrences = [(m, c) for m, c in violation.terms.items() if unknown in m]
    return len(occurrences) == 1 and occurrences[0][0] == (unknown,) and occurrences[0][1] > 0


def _relevant(case: _Case) -> _Case:
    """The case without what speaks of other fresh unknowns than the violation does, and without maxima of no use."""

    def base(polynomial: Polynomial) -> set[int]:
        return set().union(*(case.made_of[u] for u in polynomial.unknowns()))

    mentioned = {u for u in case.violation.polynomial.unknowns() if case.made_of[u] == {u}}
    if not mentioned:
        return case
    conditions = tuple(c for c in case.conditions if base(c.polynomial) <= mentioned)
    choices = []
    for choice in case.choices:
        alternatives = tuple(a for a in choice.alternatives if base(a) <= mentioned)
        whole = len(alternatives) == len(choice.alternatives)
        choices.append(Choice(choice.unknown, alternatives, choice.whole and whole))
    # Alternatives are made before their maximum, so one pass from the last to the first finds what is used.
    used = case.violation.polynomial.unknowns().union(*(c.polynomial.unknowns() for c in conditions))
    kept = []
    for choice in sorted(choices, key=lambda choice: choice.unknown, reverse=True):
        if choice.unknown in used and choice.alternatives:
            kept.append(choice)
            used |= set().union(*(a.unknowns() for a in choice.alternatives))
    return _Case(case.violation, conditions, tuple(kept), case.made_of)


def _has_no_model(case: _Case, settled: set[Any], end: float) -> bool:
    """Whether a case is proved: as it stands, or in each of the cases of one of its maxima."""
    name = canonical(case)
    if name in settled:
        return True
    left = end - time.monotonic()
    if left <= 0:
        return False
    proved = _conjunction([case.violation, *case.conditions, *case.below()], min(GLANCE, left)) or any(
        all(_has_no_model(case.substitute(choice, a), settled, end) for a in choice.alternatives)
        for choice in _to_split(case)
    )
    if proved:
        settled.add(name)
    return proved


def _to_split(case: _Case) -> list[Choice]:
    """The maxima in the violation of which all alternatives are known."""
    occurring = case.violation.polynomial.unknowns()
    return [choice for choice in case.choices if choice.whole and choice.unknown in occurring]


# ---- cases that differ in names only ----------------------------------------


def canonical(case: _Case) -> Any:
    """A case with its unknowns numbered by what is said of them.

    Cases with the same result are the same up to a renaming. (The converse may fail, and costs only time.)
    """
    kinds = {">=": 0, ">": 1, "==": 2, "!=": 3}
    facts = [
        (role, kinds[fact.kind], [(m, (int(c.p), int(c.q))) for m, c in fact.polynomial.terms.items()])
        for role, some in enumerate(([case.violation], case.conditions, case.below()))
        for fact in some
    ]
    groups = {choice.unknown: (len(choice.alternatives), choice.whole) for choice in case.choices}
    unknowns = {u for *_, terms in facts for monomial, _ in terms for u in monomial}
    colours = _refine(facts, {u: hash(groups.get(u, (0, False))) for u in unknowns})
    while len(set(colours.values())) < len(colours):
        classes: dict[int, list[int]] = {}
        for unknown, colour in colours.items():
            classes.setdefault(colour, []).append(unknown)
        tied = min((colour for colour, members in classes.items() if len(members) > 1))
        colours = _refine(facts, {**colours, min(classes[tied]): hash((tied, 1))})
    rank = {u: position for position, u in enumerate(sorted(colours, key=lambda u: colours[u]))}
    renamed = frozenset(
        (role, kind, frozenset((tuple(sorted(rank[u] for u in monomial)), c) for monomial, c in terms))
        for role, kind, terms in facts
    )
    return renamed, frozenset((rank[u], group) for u, group in groups.items() if u in rank)


def _refine(facts: Sequence[tuple[int, int, Any]], colours: dict[int, int]) -> dict[int, int]:
    """Colour unknowns by the facts they occur in and by the colours found there, until no colour splits further."""
    count = len(set(colours.values()))
    while True:
        seen: dict[int, list[int]] = {u: [] for u in colours}
        for role, kind, terms in facts:
            shapes = [hash((c, *sorted(colours[u] for u in monomial))) for monomial, c in terms]
            fact = hash((role, kind, *sorted(shapes)))
            for (monomial, _), shape in zip(terms, shapes, strict=True):
                for u in monomial:
                    seen[u].append(hash((fact, shape)))
        colours = {u: hash((colours[u], *sorted(seen[u]))) for u in colours}
        now = len(set(colours.values()))
        if now == count:
            return colours
        count = now
