"""Term entries: how a number was computed, over exact rational leaves, beside its enclosure.

The same code that is judged in balls leaves in these entries what a reader can check without this package: an
expression of +, -, x, /, absolute values, maxima, roots, exponentials and so on, in which subterms are shared. Maxima
and absolute values stay in the expression. Where the code itself branches (a comparison, a `where`, a sort), the
enclosures decide, and the decision is noted beside what divisors and radicands must be (`obligations`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic.balls import precision
from resstream.arithmetic.entries import Entry, NoValue, place
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, ZERO, note
from resstream.arithmetic.rationals import exact_root, exact_value, one_entry
from resstream.arithmetic.unknowns import Case, Unknowns

Array = np.ndarray[Any, Any]

NUMBER, VARIABLE = "number", "variable"
BRANCH = "branch"

_FUNCTIONS = {"exp": (0, 1), "cos": (0, 1), "sin": (0, 0), "tanh": (0, 0), "erf": (0, 0), "log": (1, 0)}
"""The one rational point of each function, and its value there."""

_known_terms: ContextVar[dict[Any, TermEntry] | None] = ContextVar("terms", default=None)


class TermEntry(Entry):
    """One node of an expression: an operation on earlier nodes, or a rational number.

    exact is its value where that is known to be rational, enclosure a ball that holds it. label names an entry of an
    object, such as ("A", (0, 1)).
    """

    __slots__ = ("enclosure", "exact", "label", "operands", "operation")

    def __init__(
        self, operation: str, operands: tuple[TermEntry, ...], exact: fmpq | None, enclosure: arb | None = None
    ) -> None:
        self.operation = operation
        self.operands = operands
        self.exact = exact
        self.enclosure = arb(exact) if enclosure is None else enclosure
        self.label: tuple[str, tuple[int, ...]] | None = None

    def __repr__(self) -> str:
        return str(self.enclosure) if self.exact is None else str(self.exact)

    @property
    def rational(self) -> bool:
        """Whether every operation below is one of rational numbers, so that fractions can follow."""
        return self.operation in _RATIONAL and all(operand.rational for operand in self.operands)

    @property
    def open(self) -> bool:
        """Whether it is made of variables, so that nothing is known of its value."""
        return not self.enclosure.is_finite()

    def of(self, value: fmpq) -> TermEntry:
        return number(value)

    def known(self) -> fmpq | None:
        """The rational number of a leaf; what is computed is known by its tree alone."""
        return None if self.operands else self.exact

    # -- operations

    def plus(self, other: Any) -> Entry:
        return _node("+", (self, other), _both(self, other, lambda a, b: a + b), lambda: _ball(self) + _ball(other))

    def minus(self, other: Any) -> Entry:
        exact = fmpq(0) if self is other else _both(self, other, lambda a, b: a - b)
        return _node("-", (self, other), exact, lambda: _ball(self) - _ball(other))

    def times(self, other: Any) -> Entry:
        exact = _both(self, other, lambda a, b: a * b)
        if exact is None and 0 in (self.exact, other.exact):
            exact = fmpq(0)
        elif exact is None and self is other and self.operation == "sqrt":
            exact = self.operands[0].exact
        return _node("*", (self, other), exact, lambda: _ball(self) * _ball(other))

    def over(self, other: Any) -> Entry:
        if other.exact == 0:
            return NoValue("division by zero", True)
        if other.enclosure.contains(0) and not other.open:
            return NoValue("division by a number that may be zero", False)
        if other.operation != NUMBER:
            note(other, NONZERO, f"divisor in {place()}")
        exact = _both(self, other, lambda a, b: a / b)
        if exact is None and (self is other or self.exact == 0):
            exact = fmpq(1 if self is other else 0)
        return _node("/", (self, other), exact, lambda: _ball(self) / _ball(other))

    def negative(self) -> Entry:
        if self.operation == "neg":
            return self.operands[0]
        return _node("neg", (self,), None if self.exact is None else -self.exact, lambda: -_ball(self))

    def size(self) -> Entry:
        return _node("abs", (self,), None if self.exact is None else abs(self.exact), lambda: abs(_ball(self)))

    def larger(self, other: Any) -> Entry:
        if self is other:
            return self
        return _node("max", (self, other), _both(self, other, max), lambda: _ball(self).max(_ball(other)))

    def square_root(self) -> Entry:
        if self.exact is not None:
            if self.exact < 0:
                return NoValue(f"square root of the negative number {self.exact}", True)
            root = fmpq(self.exact.p.isqrt(), self.exact.q.isqrt())
            exact = root if root * root == self.exact else None
        elif self.enclosure < 0:
            return NoValue("square root of a negative number", True)
        elif not self.enclosure >= 0 and not self.open:
            return NoValue("square root of a number that may be negative", False)
        else:
            exact = None
        if self.operation != NUMBER:
            note(self, NONNEGATIVE, f"radicand in {place()}")
        return _node("sqrt", (self,), exact, lambda: _ball(self).sqrt())

    def root(self, degree: int) -> Entry:
        """By square roots, exponentials and logarithms, which every form has words for."""
        if degree % 2 == 0:
            half = self.square_root()
            return half if degree == 2 else half.root(degree // 2)
        if self.exact is not None and self.exact >= 0:
            found = exact_root(self.exact, degree)
            if found is not None:  # a number whose power is this one
                power = number(found)
                for _ in range(degree - 1):
                    power = power * number(found)
                if self.operation != NUMBER:
                    note(self.minus(power), ZERO, f"root of degree {degree} in {place()}")
                return number(found)
        logarithm = self.logarithm()
        return logarithm if isinstance(logarithm, NoValue) else logarithm.over(number(fmpq(degree))).exponential()

    def _function(self, name: str) -> Entry:
        at, value = _FUNCTIONS[name]
        exact = fmpq(value) if self.exact == at else None
        result = _node(name, (self,), exact, lambda: getattr(_ball(self), name)())
        return (
            result
            if result.enclosure.is_finite() or self.open
            else NoValue("an enclosure without bounds", False, unbounded=True)
        )

    def exponential(self) -> Entry:
        return self._function("exp")

    def logarithm(self) -> Entry:
        if self.enclosure <= 0:
            return NoValue(f"logarithm of {self}", True)
        if not self.enclosure > 0 and not self.open:
            return NoValue("logarithm of a number that may not be positive", False)
        if self.operation != NUMBER:
            note(self, POSITIVE, f"logarithm in {place()}")
        return self._function("log")

    def cosine(self) -> Entry:
        return self._function("cos")

    def sine(self) -> Entry:
        return self._function("sin")

    def hyperbolic_tangent(self) -> Entry:
        return self._function("tanh")

    def error_function(self) -> Entry:
        return self._function("erf")

    def pi(self) -> Entry:
        return _node("pi", (), None, arb.pi)

    # -- branches

    def below(self, other: Any) -> bool | None:
        """Whether it is less; a decision is noted, as the code may branch on it."""
        answer = is_below(self, other)
        if answer is None:
            return _in_cases(other.minus(self), POSITIVE, self.minus(other), NONNEGATIVE)
        if self is not other:
            first, second = (other, self) if answer else (self, other)
            note(first.minus(second), POSITIVE if answer else NONNEGATIVE, f"{BRANCH} in {place()}")
        return answer

    def same(self, other: Any) -> bool | None:
        """Whether it is equal; a decision is noted, as the code may branch on it."""
        answer = is_same(self, other)
        if answer is None:
            return _in_cases(self.minus(other), ZERO, self.minus(other), NONZERO)
        if self is not other:
            note(self.minus(other), ZERO if answer else NONZERO, f"{BRANCH} in {place()}")
        return answer


_RATIONAL = frozenset({NUMBER, "+", "-", "*", "/", "neg", "abs", "max"})


def is_below(first: TermEntry, second: TermEntry) -> bool | None:
    """Whether first < second; None where the enclosures cannot tell."""
    if first.exact is not None and second.exact is not None:
        return bool(first.exact < second.exact)
    if first.enclosure < second.enclosure:
        return True
    return False if first is second or first.enclosure >= second.enclosure else None


def is_same(first: TermEntry, second: TermEntry) -> bool | None:
    """Whether first == second; None where the enclosures cannot tell."""
    if first is second:
        return True
    if first.exact is not None and second.exact is not None:
        return bool(first.exact == second.exact)
    return False if first.enclosure != second.enclosure else None


def number(value: fmpq) -> TermEntry:
    """A rational number as a leaf."""
    terms = _known_terms.get()
    key = (NUMBER, int(value.p), int(value.q))
    if terms is None:
        return TermEntry(NUMBER, (), value)
    return terms.setdefault(key, TermEntry(NUMBER, (), value))


def leaf(value: fmpq, label: tuple[str, tuple[int, ...]]) -> TermEntry:
    """A rational number with a name of its own, which shares its node with no other."""
    entry = TermEntry(NUMBER, (), value)
    entry.label = label
    return entry


def variable(label: tuple[str, tuple[int, ...]]) -> TermEntry:
    """A number of which nothing is known: what is divided by it, and the like, is noted as an obligation."""
    entry = TermEntry(VARIABLE, (), None, arb(0, float("inf")))
    entry.label = label
    return entry


# ---- unknown members --------------------------------------------------------

_unknown_terms: ContextVar[TermUnknowns | None] = ContextVar("unknown_terms", default=None)


class TermUnknowns(Unknowns):
    """Variables, of which `known` collects the conditions: (entry, kind), each `kind` 0.

    Inside `deciding` a comparison that no enclosure decides is made in each of two cases, and known in each. solves:
    whether conditions that are equations are wanted (as for inequalities) or formulas (as for identities).
    """

    def __init__(self, case: Case | None = None, solves: bool = True) -> None:
        super().__init__(case)
        self.solves = solves
        self.count = 0
        self.known: list[tuple[TermEntry, str]] = []

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Where comparisons of variables make cases."""
        before = _unknown_terms.set(self)
        try:
            yield
        finally:
            _unknown_terms.reset(before)

    def real(self, shape: tuple[int, ...]) -> Array:
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            self.count += 1
            out[index] = variable((f"x{self.count}", ()))
        return out

    def nonnegative(self, shape: tuple[int, ...]) -> Array:
        entries = self.real(shape)
        self.assume(entries, NONNEGATIVE)
        return entries

    def positive(self, shape: tuple[int, ...]) -> Array:
        entries = self.real(shape)
        self.assume(entries, POSITIVE)
        return entries

    def whole(self, shape: tuple[int, ...], low: int, high: int) -> Array:
        """Each value in turn."""
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            out[index] = number(fmpq(self.among(range(low, high + 1))))
        return out

    def one(self) -> TermEntry:
        return number(fmpq(1))

    def assume(self, entries: Array, kind: str) -> None:
        self.known += [(entry, kind) for entry in entries.flat]


def proving() -> bool:
    """Whether what is computed is to hold for all values of variables."""
    return _unknown_terms.get() is not None


def _in_cases(first: Entry, kind: str, second: Entry, otherwise: str) -> bool | None:
    """Whether the first is `kind` 0: in another case the second is `otherwise` 0. None outside a proof."""
    unknowns = _unknown_terms.get()
    if unknowns is None:
        return None
    holds = unknowns.among((True, False))
    assert isinstance(first, TermEntry)
    assert isinstance(second, TermEntry)
    unknowns.known.append((first, kind) if holds else (second, otherwise))
    return holds


def _both(first: TermEntry, second: TermEntry, operation: Any) -> fmpq | None:
    return None if first.exact is None or second.exact is None else operation(first.exact, second.exact)


def _ball(entry: TermEntry) -> arb:
    return entry.enclosure


def _node(operation: str, operands: tuple[TermEntry, ...], exact: fmpq | None, enclosure: Any) -> TermEntry:
    """The node of an operation: the one that there is already, if the operands are the same nodes."""
    terms = _known_terms.get()
    key = (operation, *(id(operand) for operand in operands))
    if terms is None:
        return TermEntry(operation, operands, exact, None if exact is not None else enclosure())
    found = terms.get(key)
    if found is None:
        found = terms[key] = TermEntry(operation, operands, exact, None if exact is not None else enclosure())
    return found


@dataclass(frozen=True)
class Terms:
    """The number system of terms, with enclosures at a working precision of `bits` bits."""

    bits: int = 256

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"terms({self.bits})"

    def array(self, values: Any) -> np.ndarray[Any, Any]:
        """The values (floats, integers, `Fraction`, `fmpq`; any shape) as leaves."""
        with precision(self.bits):
            out = np.frompyfunc(_entry, 1, 1)(np.asarray(values, dtype=object))
        return out if isinstance(out, np.ndarray) else one_entry(out)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Where the entries are computed with, and equal subterms are shared."""
        before = _known_terms.set({})
        try:
            with precision(self.bits):
                yield
        finally:
            _known_terms.reset(before)


def _entry(value: Any) -> TermEntry:
    return value if isinstance(value, TermEntry) else number(exact_value(value))
