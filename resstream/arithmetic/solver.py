"""The SMT reading: entries are polynomials in unknown reals, so that a claim of fixed sizes becomes a formula.

What is not polynomial gets an unknown of its own, with what is known of it: a quotient q of a and b has q b = a, a root
s of a has s >= 0 and s^2 = a, a maximum m is at least each of its alternatives and equals one of them. That b is not 0,
and a not negative, is not known: it is noted, to be proved. A branch on a value makes two cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from resstream.arithmetic.entries import Entry, NoValue, place
from resstream.arithmetic.literals import to_fmpq
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, note
from resstream.arithmetic.rationals import exact_root
from resstream.arithmetic.unknowns import Case, Unknowns
from resstream.errors import NotExpressible

Array = np.ndarray[Any, Any]

Monomial = tuple[int, ...]
"""The numbers of its unknowns in ascending order, with repeats."""

MONOMIALS = 2000
"""How many monomials one entry may have."""


class Polynomial:
    """A polynomial with rational coefficients, as a mapping of monomials to coefficients other than zero."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, fmpq]) -> None:
        self.terms = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient != 0}

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, fmpq(0)) + coefficient
        return Polynomial(terms)

    def __neg__(self) -> Polynomial:
        return self.times(fmpq(-1))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        if len(self.terms) * len(other.terms) > MONOMIALS:
            raise NotExpressible(f"more than {MONOMIALS} monomials")
        terms: dict[Monomial, fmpq] = {}
        for first, a in self.terms.items():
            for second, b in other.terms.items():
                monomial = tuple(sorted(first + second))
                terms[monomial] = terms.get(monomial, fmpq(0)) + a * b
        return Polynomial(terms)

    def times(self, number: fmpq) -> Polynomial:
        """A multiple."""
        return Polynomial({monomial: number * coefficient for monomial, coefficient in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset((m, int(c.p), int(c.q)) for m, c in self.terms.items()))

    def unknowns(self) -> set[int]:
        """The numbers of the unknowns that occur."""
        return {unknown for monomial in self.terms for unknown in monomial}

    def known(self) -> fmpq | None:
        """The value of a constant polynomial, None for others."""
        return self.terms.get((), fmpq(0)) if set(self.terms) <= {()} else None

    def substitute(self, unknown: int, value: Polynomial) -> Polynomial:
        """The polynomial with another in place of one unknown."""
        result = Polynomial({m: c for m, c in self.terms.items() if unknown not in m})
        for monomial, coefficient in self.terms.items():
            if unknown in monomial:
                term = Polynomial({tuple(u for u in monomial if u != unknown): coefficient})
                for _ in range(monomial.count(unknown)):
                    term = term * value
                result = result + term
        return result


def variable(unknown: int) -> Polynomial:
    """One unknown as a polynomial."""
    return Polynomial({(unknown,): fmpq(1)})


def number(value: Any) -> Polynomial:
    """A known number as a polynomial."""
    return Polynomial({(): to_fmpq(value)})


def root_of_square(polynomial: Polynomial) -> Polynomial | None:
    """The polynomial whose square one is, up to its sign, if there is one: the root's terms, one after the other.

    >>> difference = variable(0) - variable(1).times(fmpq(2))
    >>> root_of_square(difference * difference).terms
    {(0,): 1, (1,): -2}
    """
    if polynomial.known() is not None:
        return None
    first, lead = _leading(polynomial)
    half = first[::2]
    if lead <= 0 or half != first[1::2]:
        return None
    scale = fmpq(lead.p.isqrt(), lead.q.isqrt())
    if scale * scale != lead:
        return None
    root = Polynomial({half: scale})
    for _ in range(len(polynomial.terms)):
        rest = polynomial - root * root
        if rest.known() == 0:
            return root
        monomial, coefficient = _leading(rest)
        factor = _without(monomial, half)
        if factor is None:
            return None
        root = root + Polynomial({factor: coefficient / (2 * scale)})
    return None


def _leading(polynomial: Polynomial) -> tuple[Monomial, fmpq]:
    """The term that is first by degree, then by the first unknowns."""
    monomial = max(polynomial.terms, key=lambda m: (len(m), tuple(-u for u in m)))
    return monomial, polynomial.terms[monomial]


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """The quotient of two monomials, if it is one."""
    left = list(monomial)
    for unknown in divisor:
        if unknown not in left:
            return None
        left.remove(unknown)
    return tuple(left)


@dataclass(frozen=True)
class Condition:
    """polynomial `kind` 0, with kind one of ">=", ">", "==", "!="."""

    polynomial: Polynomial
    kind: str


@dataclass(frozen=True)
class Choice:
    """A maximum: the unknown is at least each of the alternatives, and equals one of them if these are the whole."""

    unknown: int
    alternatives: tuple[Polynomial, ...]
    whole: bool = True


class Formula(Unknowns):
    """The unknowns of one goal, and what is known of them: the number system of the goal."""

    name = "solver"
    solves = True

    def __init__(self, case: Case | None = None) -> None:
        super().__init__(case)
        self.conditions: list[Condition] = []
        self.choices: dict[int, Choice] = {}
        self.integral: set[int] = set()
        """The unknowns that are whole numbers."""
        self.made_of: dict[int, set[int]] = {}
        """For every unknown the fresh ones that it depends on (itself, if it is fresh)."""

    def array(self, values: Any) -> Array:
        """Known numbers (any shape) as entries."""
        values = np.asarray(values, dtype=object)
        entries = np.empty(values.shape, dtype=object)
        for index in np.ndindex(values.shape):
            entries[index] = SolverEntry(self, number(values[index]))
        return entries

    @contextmanager
    def working(self) -> Iterator[None]:
        """Where the entries are computed with: anywhere."""
        yield

    def knowing(self, conditions: Iterable[Condition]) -> Formula:
        """The same unknowns with other conditions."""
        other = copy(self)
        other.conditions = list(conditions)
        return other

    def real(self, shape: tuple[int, ...], depends_on: set[int] | None = None) -> Array:
        """Unknown real numbers: fresh ones, or such as depend on others."""
        entries = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            unknown = len(self.made_of)
            self.made_of[unknown] = {unknown} if depends_on is None else depends_on
            entries[index] = SolverEntry(self, variable(unknown))
        return entries

    def nonnegative(self, shape: tuple[int, ...]) -> Array:
        entries = self.real(shape)
        self.assume(entries, ">=")
        return entries

    def positive(self, shape: tuple[int, ...]) -> Array:
        entries = self.real(shape)
        self.assume(entries, ">")
        return entries

    def whole(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        entries = self.real(shape)
        for entry in entries.flat:
            self.integral |= entry.polynomial.unknowns()
        self.assume(entries - low, ">=")
        self.assume(high - entries, ">=")
        return entries

    def one(self) -> Any:
        return SolverEntry(self, number(1))

    def assume(self, entries: Array, kind: str) -> None:
        self.conditions += [Condition(entry.polynomial, kind) for entry in entries.flat]

    def base(self, unknowns: Iterable[int]) -> set[int]:
        """The fresh unknowns on which some unknowns depend."""
        return set().union(*(self.made_of[unknown] for unknown in unknowns))

    def maximum(self, alternatives: tuple[Polynomial, ...]) -> SolverEntry:
        """The largest of some polynomials."""
        base = self.base(u for polynomial in alternatives for u in polynomial.unknowns())
        entry: SolverEntry = self.real((), base).item()
        (unknown,) = entry.polynomial.unknowns()
        self.choices[unknown] = Choice(unknown, alternatives)
        return entry


class SolverEntry(Entry):
    """A polynomial in the unknowns of a formula. A branch on a value makes cases, and outside a proof is refused."""

    __slots__ = ("formula", "polynomial")

    def __init__(self, formula: Formula, polynomial: Polynomial) -> None:
        self.formula = formula
        self.polynomial = polynomial

    def __repr__(self) -> str:
        known = self.polynomial.known()
        return "an unknown" if known is None else str(known)

    def of(self, value: fmpq) -> SolverEntry:
        return SolverEntry(self.formula, number(value))

    def _fresh(self, *polynomials: Polynomial) -> SolverEntry:
        """A new unknown that depends on some polynomials."""
        base = self.formula.base(u for polynomial in polynomials for u in polynomial.unknowns())
        entry: SolverEntry = self.formula.real((), base).item()
        return entry

    def plus(self, other: Any) -> SolverEntry:
        return SolverEntry(self.formula, self.polynomial + other.polynomial)

    def times(self, other: Any) -> SolverEntry:
        return SolverEntry(self.formula, self.polynomial * other.polynomial)

    def negative(self) -> SolverEntry:
        return SolverEntry(self.formula, -self.polynomial)

    def over(self, other: Any) -> Entry:
        """A quotient is an unknown q with q b = a; that b is not zero is noted, to be proved."""
        value = other.polynomial.known()
        if value is not None:
            if value == 0:
                return NoValue("division by zero", True)
            return SolverEntry(self.formula, self.polynomial.times(1 / value))
        if Condition(other.polynomial, "==") in self.formula.conditions:  # the case in which it is zero
            return NoValue("division by zero", True)
        note(other, NONZERO, f"divisor in {place()}", len(self.formula.conditions))
        quotient = self._fresh(self.polynomial, other.polynomial)
        defined = Condition(quotient.polynomial * other.polynomial - self.polynomial, "==")
        self.formula.conditions.append(defined)
        return quotient

    def larger(self, other: Any) -> SolverEntry:
        first, second = self.polynomial.known(), other.polynomial.known()
        if first is not None and second is not None:
            return self.of(max(first, second))
        if (self.polynomial - other.polynomial).known() == 0:
            return self
        return self.formula.maximum((*self._alternatives(), *other._alternatives()))

    def _alternatives(self) -> tuple[Polynomial, ...]:
        """Those of a maximum, so that a maximum of maxima is one; itself for others."""
        if len(self.polynomial.terms) == 1:
            ((monomial, coefficient),) = self.polynomial.terms.items()
            if coefficient == 1 and len(monomial) == 1 and monomial[0] in self.formula.choices:
                return self.formula.choices[monomial[0]].alternatives
        return (self.polynomial,)

    def square_root(self) -> Entry:
        value = self.polynomial.known()
        if value is not None and value < 0:
            return NoValue(f"square root of {value}", True)
        roots = [root_of_square(alternative) for alternative in self._alternatives()]
        if all(root is not None for root in roots):
            # The root of a largest square is the largest absolute value.
            return self.formula.maximum(tuple(side for root in roots if root is not None for side in (root, -root)))
        note(self, NONNEGATIVE, f"radicand in {place()}", len(self.formula.conditions))
        root = self._fresh(self.polynomial)
        self.formula.conditions += [
            Condition(root.polynomial, ">="),
            Condition(root.polynomial * root.polynomial - self.polynomial, "=="),
        ]
        return root

    def root(self, degree: int) -> Entry:
        value = self.polynomial.known()
        if value is not None and value < 0:
            return NoValue(f"root of {value}", True)
        exact = None if value is None else exact_root(value, degree)
        if exact is not None:
            return self.of(exact)
        note(self, NONNEGATIVE, f"radicand in {place()}", len(self.formula.conditions))
        root = self._fresh(self.polynomial)
        power = root.polynomial
        for _ in range(degree - 1):
            power = power * root.polynomial
        self.formula.conditions += [
            Condition(root.polynomial, ">="),
            Condition(power - self.polynomial, "=="),
        ]
        return root

    def _branch(self, difference: Polynomial, kind: str, otherwise: str) -> bool:
        """Whether difference `kind` 0: as far as it is known, and elsewhere in each of two cases."""
        value = difference.known()
        if value is not None:
            return bool(value > 0 if kind == ">" else value == 0)
        case = self.formula.case
        if case is None:
            raise NotExpressible("a branch on the values")
        holds = case.among((True, False))
        negated = difference if otherwise == "!=" else -difference
        self.formula.conditions.append(Condition(difference, kind) if holds else Condition(negated, otherwise))
        return holds

    def below(self, other: Any) -> bool | None:
        return self._branch(other.polynomial - self.polynomial, ">", ">=")

    def same(self, other: Any) -> bool | None:
        return self._branch(self.polynomial - other.polynomial, "==", "!=")

    def exponential(self) -> Entry:
        raise NotExpressible("exp")

    def logarithm(self) -> Entry:
        raise NotExpressible("log")

    def cosine(self) -> Entry:
        raise NotExpressible("cos")

    def sine(self) -> Entry:
        raise NotExpressible("sin")

    def hyperbolic_tangent(self) -> Entry:
        raise NotExpressible("tanh")

    def error_function(self) -> Entry:
        raise NotExpressible("erf")

    def pi(self) -> Entry:
        raise NotExpressible("pi")
