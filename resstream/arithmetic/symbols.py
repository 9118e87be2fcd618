"""Symbolic entries (SymPy expressions in real symbols), for closed forms and for proofs at small sizes.

A comparison is decided where the difference has a known sign, and is not expressible elsewhere: two expressions that
look different may still be equal. What an expression divides by, and takes roots and logarithms of, is noted as an
obligation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from flint import fmpq

from resstream.arithmetic.entries import Entry, NoValue, place
from resstream.arithmetic.literals import to_fmpq
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, Obligation, note, noted
from resstream.arithmetic.rationals import RationalEntry, one_entry
from resstream.errors import Kink, NotExpressible


def sympy() -> Any:
    """SymPy, imported when it is first needed: it takes longer than all the rest."""
    import sympy as module

    return module


def is_expression(value: Any) -> bool:
    """Whether a value is a SymPy expression, bare or as an entry.

    >>> import sympy as sp
    >>> is_expression(sp.Symbol("x")), is_expression(1.0)
    (True, False)
    """
    return isinstance(value, SymbolicEntry) or ("sympy" in sys.modules and isinstance(value, sympy().Basic))


def _has_fewer(expression: Any, nodes: int) -> bool:
    """Whether an expression, written out without sharing, has fewer nodes than that."""
    return sum(1 for _ in islice(sympy().preorder_traversal(expression), nodes)) < nodes


def _is_small(expression: Any) -> bool:
    """Whether SymPy may look for a simpler form: on large expressions that takes longer than all else."""
    return _has_fewer(expression, 60)


LARGEST = 20_000
"""Nodes of an expression that is differentiated: what shares much grows without end when it is gone through."""


def to_expression(value: Any) -> Any:
    """A number as a SymPy rational; an expression as it is."""
    if isinstance(value, SymbolicEntry):
        return value.value
    if is_expression(value):
        return value
    value = to_fmpq(value.value if isinstance(value, RationalEntry) else value)
    return sympy().Rational(int(value.p), int(value.q))


class SymbolicEntry(Entry):
    """A real number given by an expression.

    >>> import sympy as sp
    >>> x = SymbolicEntry(sp.Symbol("x"))
    >>> (x * x - 1).value
    x**2 - 1
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return str(self.value)

    def _sympy_(self) -> Any:
        """How SymPy's own functions read the entry."""
        return self.value

    def of(self, value: fmpq) -> Entry:
        return SymbolicEntry(to_expression(value))

    def adopt(self, value: Any) -> Entry | None:
        return SymbolicEntry(value) if is_expression(value) else None

    def plus(self, other: Any) -> Entry:
        return SymbolicEntry(self.value + other.value)

    def minus(self, other: Any) -> Entry:
        return SymbolicEntry(self.value - other.value)

    def times(self, other: Any) -> Entry:
        return SymbolicEntry(self.value * other.value)

    def over(self, other: Any) -> Entry:
        if _sign(other.value) == 0:
            return NoValue("division by zero", True)
        if not other.value.is_Rational:
            note(other, NONZERO, f"divisor in {place()}")
        return SymbolicEntry(self.value / other.value)

    def negative(self) -> Entry:
        return SymbolicEntry(-self.value)

    def size(self) -> Entry:
        return SymbolicEntry(abs(self.value))

    def larger(self, other: Any) -> Entry:
        evaluate = _is_small(self.value) and _is_small(other.value)
        return SymbolicEntry(sympy().Max(self.value, other.value, evaluate=evaluate))

    def below(self, other: Any) -> bool | None:
        return self._sign_of_difference(other) < 0

    def same(self, other: Any) -> bool | None:
        difference = self.value - other.value
        if difference.is_zero is False:
            return False
        return self._sign_of_difference(other) == 0

    def _sign_of_difference(self, other: Any) -> int:
        sign = _sign(self.value - other.value)
        if sign is None:
            raise NotExpressible("a branch on the values")
        return sign

    def square_root(self) -> Entry:
        if _sign(self.value) == -1:
            return NoValue(f"square root of {self.value}", True)
        if not self.value.is_Rational:
            note(self, NONNEGATIVE, f"radicand in {place()}")
        return SymbolicEntry(sympy().sqrt(self.value))

    def root(self, degree: int) -> Entry:
        if _sign(self.value) == -1:
            return NoValue(f"root of {self.value}", True)
        if not self.value.is_Rational:
            note(self, NONNEGATIVE, f"radicand in {place()}")
        return SymbolicEntry(sympy().root(self.value, degree))

    def exponential(self) -> Entry:
        return self._applied("exp")

    def logarithm(self) -> Entry:
        if _sign(self.value) in (-1, 0):
            return NoValue(f"logarithm of {self.value}", True)
        if not self.value.is_Rational:
            note(self, POSITIVE, f"argument of a logarithm in {place()}")
        return self._applied("log")

    def cosine(self) -> Entry:
        return self._applied("cos")

    def sine(self) -> Entry:
        return self._applied("sin")

    def hyperbolic_tangent(self) -> Entry:
        return self._applied("tanh")

    def error_function(self) -> Entry:
        return self._applied("erf")

    def pi(self) -> Entry:
        return SymbolicEntry(sympy().pi)

    def _applied(self, name: str) -> Entry:
        return SymbolicEntry(getattr(sympy(), name)(self.value, evaluate=_is_small(self.value)))

    def frozen(self) -> Entry:
        return SymbolicEntry(self.value.xreplace(dict.fromkeys(_times, sympy().S.Zero))) if _times else self

    # -- derivatives

    def slope(self, time: Any) -> Entry:
        """The derivative by a symbol, where that is 0. A kink raises Undecided; that there is none is noted."""
        if not _has_fewer(self.value, LARGEST):
            raise NotExpressible("the derivative of so large an expression")
        slope = self.value.diff(time)
        if not _has_fewer(slope, 10 * LARGEST):
            raise NotExpressible("the derivative of so large an expression")
        for jump in sorted(slope.atoms(sympy().sign, sympy().Heaviside), key=str):
            at = SymbolicEntry(jump.args[0].subs(time, 0))
            if at.value.is_zero:
                raise Kink("derivative asked at a kink (absolute value, maximum or ReLU of equal values)")
            note(at, NONZERO, f"distance to a kink in {place()}")
        return SymbolicEntry(slope.xreplace({time: sympy().S.Zero}))


def _sign(expression: Any) -> int | None:
    """The sign of an expression where SymPy is certain of it: -1, 0, 1, or None."""
    if expression.is_zero:
        return 0
    if expression.is_positive:
        return 1
    return -1 if expression.is_negative else None


_times: list[Any] = []
"""The symbols along which derivatives are being taken."""


@contextmanager
def along() -> Iterator[SymbolicEntry]:
    """The t of f(x + t direction), a symbol of its own for each derivative."""
    time = sympy().Dummy("t", real=True)
    _times.append(time)
    before = len(noted())
    try:
        yield SymbolicEntry(time)
    finally:
        _times.pop()
        # What is asked for along the way is asked for where it starts; a root has no slope at 0.
        notes = noted()
        for index, obligation in enumerate(notes[before:], before):
            if time in obligation.entry.value.free_symbols:
                start = SymbolicEntry(obligation.entry.value.xreplace({time: sympy().S.Zero}))
                kind = POSITIVE if obligation.kind == NONNEGATIVE else obligation.kind
                notes[index] = Obligation(start, kind, obligation.role)


@dataclass(frozen=True)
class Symbolic:
    """The number system of expressions."""

    name: str = "symbolic"

    def array(self, values: Any) -> np.ndarray[Any, Any]:
        """Expressions stay as they are; numbers become exact ones."""
        with np.errstate(all="ignore"):  # as FLINT may leave flags of the processor set
            made = np.frompyfunc(lambda value: SymbolicEntry(to_expression(value)), 1, 1)
            out = made(np.asarray(values, dtype=object))
        return out if isinstance(out, np.ndarray) else one_entry(out)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Where the entries are computed with: anywhere."""
        yield


SYMBOLIC = Symbolic()
