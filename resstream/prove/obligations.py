"""What a proof owes: that each divisor is nonzero, each radicand nonnegative, each argument of a logarithm positive.

By signs first: of terms, of factors, of what is known outright; then by Z3, within a bound on its work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flint import fmpq

from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, Obligation
from resstream.arithmetic.solver import Condition, Polynomial, variable
from resstream.arithmetic.symbols import sympy
from resstream.errors import Undecided

_FAULTS = {NONZERO: "divide by zero", NONNEGATIVE: "take the root of a negative number"}
_FAULTS[POSITIVE] = "take the logarithm of what is not positive"


def wording(obligation: Obligation) -> str:
    """What may go wrong, and where: "may divide by zero in line 7 of mine.py"."""
    fault = "stand at a kink" if obligation.role.startswith("distance") else _FAULTS[obligation.kind]
    return f"may {fault} in {obligation.role.partition(' in ')[2]}"


def opposite(polynomial: Polynomial, kind: str) -> Condition:
    """What is the case where a polynomial is not `kind` 0."""
    if kind == NONZERO:
        return Condition(polynomial, "==")
    return Condition(-polynomial, ">=" if kind == POSITIVE else ">")


# ---- signs of polynomials ---------------------------------------------------


def certain(polynomial: Polynomial, kind: str, conditions: Iterable[Condition]) -> bool:
    """Whether a polynomial is `kind` 0 by the signs of its terms, or as a multiple of what a condition speaks of.

    >>> x = variable(0)
    >>> certain(x * x + variable(1), POSITIVE, [Condition(variable(1), ">")])
    True
    >>> certain(x * x, POSITIVE, [])
    False
    """
    conditions = list(conditions)
    if any(_follows(polynomial, kind, condition) for condition in conditions):
        return True
    signs = {
        condition.polynomial: condition.kind for condition in conditions if len(condition.polynomial.unknowns()) == 1
    }
    if kind == NONZERO:
        return _by_terms(polynomial, POSITIVE, signs) or _by_terms(-polynomial, POSITIVE, signs)
    return _by_terms(polynomial, kind, signs)


def _follows(polynomial: Polynomial, kind: str, condition: Condition) -> bool:
    """Whether a condition on a multiple of the polynomial says what is asked."""
    if not polynomial.terms or polynomial.terms.keys() != condition.polynomial.terms.keys():
        return False
    monomial = next(iter(polynomial.terms))
    factor = polynomial.terms[monomial] / condition.polynomial.terms[monomial]
    if condition.polynomial.times(factor) != polynomial:
        return False
    if kind == NONZERO:
        return condition.kind in (NONZERO, POSITIVE)
    return factor > 0 and condition.kind in ((POSITIVE,) if kind == POSITIVE else (POSITIVE, NONNEGATIVE))


def _by_terms(polynomial: Polynomial, kind: str, signs: dict[Polynomial, str]) -> bool:
    """Whether no term is negative, and for "positive" one is above 0."""
    strict = False
    for monomial, coefficient in polynomial.terms.items():
        if coefficient < 0:
            return False
        nonzero = True
        for unknown in set(monomial):
            sign = signs.get(variable(unknown), "")
            if monomial.count(unknown) % 2 and sign not in (POSITIVE, NONNEGATIVE):
                return False
            nonzero &= sign in (POSITIVE, NONZERO)
        strict |= nonzero
    return strict or kind == NONNEGATIVE


# ---- obligations of expressions ---------------------------------------------


class Signs:
    """The signs of polynomials in the quantities of an algebra, where some expressions are known to be `kind` 0."""

    def __init__(self, known: Sequence[tuple[Any, str]], expression: Any) -> None:
        from resstream.prove.algebra import WORK, Algebra  # SymPy is imported only where it is asked for

        self.algebra = Algebra(WORK)
        for each in (*(e for e, _ in known), expression):
            self.algebra.settle_units(each)
        self.conditions: list[Condition] = []
        for each, kind in known:
            p, q = self.algebra.read(each)
            side = p if kind in ("==", NONZERO) else self.algebra.times(p, q)
            self.conditions.append(Condition(_polynomial(side), kind))
        self.stated: set[int] = set()
        """The quantities of which the facts are among the conditions."""

    def holds(self, expression: Any, kind: str) -> bool:
        """Whether an expression is `kind` 0 wherever it has a value."""
        p, q = self.algebra.read(expression)
        return self.is_certain(p if kind == NONZERO else self.algebra.times(p, q), kind)

    def is_certain(self, p: Any, kind: str) -> bool:
        """Whether a polynomial in the quantities is `kind` 0: as it stands, factor by factor, or by Z3."""
        self.state_facts(i for i, degree in enumerate(p.degrees()) if degree)
        if certain(_polynomial(p), kind, self.conditions):
            return True
        content, factors = self.algebra.factors(p)
        if len(factors) > 1 or (factors and factors[0][1] > 1):
            odd = [factor for factor, exponent in factors if exponent % 2]
            even = [factor for factor, exponent in factors if exponent % 2 == 0]
            if content < 0 and odd:
                odd[0] = -odd[0]
            elif content < 0 and kind != NONZERO:
                return False
            needed = NONNEGATIVE if kind == NONNEGATIVE else kind
            if all(self.is_certain(f, needed) for f in odd) and (
                kind == NONNEGATIVE or all(self.is_certain(f, NONZERO) for f in even)
            ):
                return True
        elif kind == NONZERO and self._by_its_square(p):
            return True
        return self._by_solver(p, kind)

    def _by_its_square(self, p: Any) -> bool:
        """Whether p is a multiple of a root or an absolute value of what is not zero."""
        used = [i for i, degree in enumerate(p.degrees()) if degree]
        return (
            len(p) == 1
            and len(used) == 1
            and used[0] in self.algebra.squares
            and self.is_certain(self.algebra.squares[used[0]], NONZERO)
        )

    def state_facts(self, quantities: Iterable[int]) -> None:
        """Add what is known of quantities: signs, and the squares of those that certainly have a real value."""
        keys = list(self.algebra.known)
        for index in quantities:
            if index in self.stated:
                continue
            self.stated.add(index)
            key, itself = keys[index], variable(index)
            square = self.algebra.squares.get(index)
            if square is not None:
                self.state_facts(i for i, degree in enumerate(square.degrees()) if degree)
            is_root = isinstance(key, tuple) and key[0] == "root"
            if is_root and not self.is_certain(square, NONNEGATIVE):
                continue
            if square is not None:
                self.conditions.append(Condition(itself * itself - _polynomial(square), "=="))
            if index in self.algebra.positive or (is_root and certain(_polynomial(square), POSITIVE, self.conditions)):
                self.conditions.append(Condition(itself, POSITIVE))
            elif index in self.algebra.nonnegative:
                self.conditions.append(Condition(itself, NONNEGATIVE))

    def _by_solver(self, p: Any, kind: str) -> bool:
        try:
            from resstream.prove.solve import has_no_model
        except ModuleNotFoundError:  # Z3 is an extra
            return False
        self.state_facts(range(len(self.algebra.known)))
        return has_no_model([opposite(_polynomial(p), kind), *self.conditions])


def _polynomial(p: Any) -> Polynomial:
    """A polynomial of FLINT as one of the solver's, quantity by quantity."""
    return Polynomial(
        {
            tuple(index for index, exponent in enumerate(powers) for _ in range(int(exponent))): fmpq(coefficient)
            for powers, coefficient in p.terms()
        }
    )


def unproved(obligations: Iterable[Obligation], known: Sequence[tuple[Any, str]]) -> Obligation | None:
    """The first obligation on expressions that is not proved from what is known; None where all are."""
    seen = set()
    for obligation in obligations:
        expression = obligation.entry.value
        if (expression, obligation.kind) in seen:
            continue
        seen.add((expression, obligation.kind))
        if not _is_proved(expression, obligation.kind, known):
            return obligation
    return None


def _is_proved(expression: Any, kind: str, known: Sequence[tuple[Any, str]]) -> bool:
    if _by_form(sympy().sympify(expression), kind):
        return True
    try:
        return Signs(known, expression).holds(expression, kind)
    except Undecided:  # too large, or without a rule
        return False


def _by_form(e: Any, kind: str) -> bool:
    """Whether an expression is `kind` 0 by its form, wherever it has a real value: sums, products, powers of such."""
    if kind == NONZERO:
        return bool(e.is_nonzero) or _by_form(e, POSITIVE)
    if e.is_positive or (kind == NONNEGATIVE and e.is_nonnegative):
        return True
    if e.is_Add:
        return all(_by_form(part, NONNEGATIVE) for part in e.args) and (
            kind == NONNEGATIVE or any(_by_form(part, POSITIVE) for part in e.args)
        )
    if e.is_Mul:
        return all(_by_form(part, kind) for part in e.args)
    if e.is_Pow and e.exp.is_Rational:
        is_even = e.exp.is_Integer and e.exp % 2 == 0
        return _by_form(e.base, kind) or (kind == NONNEGATIVE and (is_even or not e.exp.is_Integer))
    return False


__all__ = ["Signs", "certain", "opposite", "unproved", "wording"]
