"""Whether an expression is zero: a decision by exact algebra, with a bound on its work and no clock.

An expression is written as a quotient of polynomials in its symbols and in *quantities*: a square root s of some
polynomial f, an absolute value, the exponential of a term, the sine and cosine of a term. A quantity obeys the relation
that defines it (s^2 = f, sin^2 = 1 - cos^2), and every product is reduced by these. If the numerator reduces to zero,
the expression is zero wherever it has a value: that is a proof. If not, nothing is said, as it may still be zero by a
relation unknown here.

The rules hold at every real value of the symbols at which the expression is defined, signs included: sqrt(fg) is split
only where f and g cannot be negative, sqrt(f^2) is |f|, and max(a, b) is (a + b + |a - b|)/2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd
from typing import Any

import sympy as sp
from flint import Ordering, fmpq, fmpq_mat, fmpq_mpoly_ctx, fmpz

from resstream.errors import Undecided

WORK = 250_000
"""How many products of two terms one decision may take."""

QUANTITIES = 64
"""How many symbols and quantities an expression may have."""

_GCD_SIZE, _FACTOR_SIZE = 20_000, 400  # terms up to which common factors are looked for
_MULTIPLE = 24  # the most units that an angle or an exponent may have


def vanishes(expression: Any, work: int = WORK, known: Iterable[tuple[Any, str]] = ()) -> bool:
    """Whether an expression in real symbols is proved to be zero; False says nothing.

    known: conditions (expression, kind), each `kind` 0; of ">=" and ">" the sign is used where an absolute value is
    taken of what is said to have it.

    Undecided is raised where that would take more work than allowed, or a function for which there is no rule.

    >>> x, y = sp.symbols("x y", real=True)
    >>> vanishes(sp.sqrt(x**2 * (1 + y**2)) - abs(x) * sp.sqrt(1 + y**2))
    True
    >>> vanishes(sp.sqrt(x**2) - x)
    False
    """
    expression, algebra = sp.sympify(expression), Algebra(work)
    algebra.settle_units(expression)
    for each, kind in known:
        if kind in (">=", ">"):
            algebra.take_as_nonnegative(each)
    return not algebra.read(expression)[0]


def _parts(expression: Any) -> Iterator[Any]:
    """Every subexpression once, the inner ones first."""
    seen, stack = set(), [(expression, False)]
    while stack:
        e, done = stack.pop()
        if done:
            yield e
        elif e not in seen:
            seen.add(e)
            stack.append((e, True))
            stack.extend((part, False) for part in e.args)


Polynomial = Any  # flint.fmpq_mpoly
Fraction = tuple[Polynomial, Polynomial]
Terms = dict[str, fmpq]  # what the terms of a fraction are without their numbers, and the numbers
Exponent = tuple[Terms, Fraction]


class Algebra:
    """Quotients of polynomials in the quantities met so far."""

    def __init__(self, work: int) -> None:
        self.ring = fmpq_mpoly_ctx.get(("q", QUANTITIES), Ordering.lex)
        self.one, self.zero = self.ring.constant(1), self.ring.constant(0)
        self.left = work
        self.known: dict[Any, Polynomial] = {}  # what a quantity is -> its generator
        self.squares: dict[int, Polynomial] = {}  # index of a quantity -> the polynomial that its square is
        self.nonnegative: set[int] = set()
        self.positive: set[int] = set()
        self.taken: set[str] = set()  # polynomials known to be nonnegative, scaled so that they lead with 1 or -1
        self.exponents: list[Exponent] = []
        self.logarithms: dict[str, Fraction] = {}  # of the exponentials met
        self.angles: dict[str, list[tuple[fmpq, fmpq]]] = {}  # of a term: (unit, largest number of it met)
        self.read_before: dict[Any, Fraction] = {}

    # -- quantities

    def quantity(
        self, key: Any, *, square: Polynomial | None = None, nonnegative: bool = False, positive: bool = False
    ) -> Polynomial:
        """The generator that stands for `key`, made when it is first asked for."""
        if key not in self.known:
            index = len(self.known)
            if index == QUANTITIES:
                raise Undecided(f"the expression has more than {QUANTITIES} symbols and quantities")
            self.known[key] = self.ring.gens()[index]
            if square is not None:
                self.squares[index] = square
            if nonnegative or positive:
                self.nonnegative.add(index)
            if positive:
                self.positive.add(index)
        return self.known[key]

    def is_nonnegative(self, p: Polynomial) -> bool:
        """Whether every term is certainly at least zero."""
        return all(
            coefficient > 0 and all(e % 2 == 0 or i in self.nonnegative for i, e in enumerate(powers))
            for powers, coefficient in p.terms()
        )

    def take_as_nonnegative(self, expression: Any) -> None:
        """Know an expression to be at least zero."""
        p, q = self.read(expression)
        if q == self.one and p:
            self.taken.add(str(self.scaled(p)))

    def scaled(self, p: Polynomial) -> Polynomial:
        """A positive multiple that leads with 1 or -1."""
        return p / abs(p.leading_coefficient())

    # -- arithmetic

    def times(self, p: Polynomial, q: Polynomial) -> Polynomial:
        """A product, in which no quantity with a known square has a power above one."""
        self.left -= len(p) * len(q)
        if self.left < 0:
            raise Undecided("the expression takes more work than one decision may take")
        return self.reduce(p * q)

    def reduce(self, p: Polynomial) -> Polynomial:
        for index in sorted(self.squares, reverse=True):
            if p.degrees()[index] < 2:
                continue
            parts: dict[int, dict[tuple[int, ...], fmpq]] = {}
            for powers, coefficient in p.terms():
                half, odd = divmod(powers[index], 2)
                rest = (*powers[:index], odd, *powers[index + 1 :])
                parts.setdefault(half, {})[rest] = coefficient
            p = self.zero
            for half, terms in parts.items():
                p = p + self.times(self.ring.from_dict(terms), self.power(self.squares[index], half))
        return p

    def power(self, p: Polynomial, exponent: int) -> Polynomial:
        result = self.one
        for _ in range(exponent):
            result = self.times(result, p)
        return result

    def quotient(self, p: Polynomial, q: Polynomial) -> Fraction:
        """p/q without their common factor, where that is cheap to find."""
        if not q:
            raise Undecided("the expression divides by zero")
        if not p:
            return self.zero, self.one
        if len(p) * len(q) <= _GCD_SIZE:
            common = p.gcd(q)
            p, q = p / common, q / common
        leading = q.leading_coefficient()
        return p / leading, q / leading

    def add(self, fractions: Iterable[Fraction]) -> Fraction:
        alike: dict[str, Fraction] = {}
        for p, q in fractions:
            key = str(q)
            alike[key] = (alike[key][0] + p, q) if key in alike else (p, q)
        p, q = self.zero, self.one
        for more, over in alike.values():
            common = q.gcd(over) if len(q) * len(over) <= _GCD_SIZE else self.one
            p = self.times(p, over / common) + self.times(more, q / common)
            q = self.times(q, over / common)
        return self.quotient(p, q)

    def multiply(self, factors: Iterable[Fraction]) -> Fraction:
        p, q = self.one, self.one
        for more, over in factors:
            p, q = self.quotient(self.times(p, more), self.times(q, over))
        return p, q

    def raise_to(self, base: Fraction, exponent: int) -> Fraction:
        p, q = base if exponent >= 0 else (base[1], base[0])
        return self.quotient(self.power(p, abs(exponent)), self.power(q, abs(exponent)))

    # -- roots and absolute values

    def factors(self, p: Polynomial) -> tuple[fmpq, list[tuple[Polynomial, int]]]:
        if len(p) > _FACTOR_SIZE:
            return fmpq(1), [(p, 1)]
        content, factors = p.factor()
        return content, sorted(((f, int(e)) for f, e in factors), key=lambda entry: str(entry[0]))

    def absolute(self, x: Fraction) -> Fraction:
        sides = []
        for side in x:
            content, factors = self.factors(side)
            size = self.ring.constant(abs(content))
            for factor, exponent in factors:
                size = self.times(size, self.power(self.size_of(factor), exponent))
            sides.append(size)
        return self.quotient(*sides)

    def size_of(self, f: Polynomial) -> Polynomial:
        """|f| of a factor, which is one quantity for f and -f."""
        if f.leading_coefficient() < 0:
            f = -f
        if self.is_nonnegative(f):
            return f
        for signed in (f, -f) if self.taken else ():
            if str(self.scaled(signed)) in self.taken:
                return signed
        return self.quantity(("absolute", str(f)), square=self.times(f, f), nonnegative=True)

    def root(self, x: Fraction) -> Fraction:
        """sqrt(p/q) = sqrt(pq)/|q|, and out of the root of pq goes what is a square or cannot be negative."""
        if not x[0]:
            return x
        content, factors = self.factors(self.times(*x))
        outside, inside = self.one, self.one
        for factor, exponent in factors:
            outside = self.times(outside, self.power(self.size_of(factor), exponent // 2))
            if exponent % 2 and self.is_nonnegative(factor):
                root = self.quantity(("root", str(factor)), square=factor, nonnegative=True)
                outside = self.times(outside, root)
            elif exponent % 2:
                inside = self.times(inside, factor)
        sign = -1 if content < 0 else 1
        if inside == self.one and sign < 0:
            raise Undecided("the expression has the square root of a negative number")
        outside = self.times(outside, self.root_of_number(sign * content))
        if inside != self.one:
            inside = sign * inside
            outside = self.times(outside, self.quantity(("root", str(inside)), square=inside, nonnegative=True))
        return self.multiply([(outside, self.one), self.raise_to(self.absolute((x[1], self.one)), -1)])

    def root_of_number(self, number: fmpq) -> Polynomial:
        """sqrt(a/b) = sqrt(ab)/b, by the primes of ab."""
        outside = self.ring.constant(fmpq(1, number.q))
        for prime, exponent in fmpz(number.p * number.q).factor():
            outside = outside * int(prime) ** (exponent // 2)
            if exponent % 2:
                prime_itself = self.ring.constant(int(prime))
                outside = outside * self.quantity(("root", str(prime)), square=prime_itself, positive=True)
        return outside

    # -- exponentials and angles

    def terms(self, x: Fraction) -> list[tuple[str, fmpq]]:
        """The terms of a fraction, each as what it is without its number, and the number."""
        p, q = x
        for index in self.squares:  # a root below becomes a root above, so that equal terms look equal
            if all(powers[index] for powers, _ in q.terms()):
                root = self.ring.gens()[index]
                p, q = self.quotient(self.times(p, root), self.times(q, root))
        return [(f"{powers} over {q}", number) for powers, number in sorted(p.terms(), key=str)]

    def settle_units(self, expression: Any) -> None:
        """Find arguments of which those of all exponentials, sines and cosines are small multiples.

        So exp(x) is the square of exp(x/2), and cos(3x) a polynomial in cos(x); what is inside another is read first.
        """
        for e in _parts(expression):
            if isinstance(e, (sp.exp, sp.tanh)):
                self.settle_exponent(self.exponent(e))
            elif isinstance(e, (sp.cos, sp.sin)):
                for key, number in self.terms(self.read(e.args[0])):
                    self.settle_angle(key, abs(number))
        self.read_before.clear()

    def exponent(self, e: Any) -> Fraction:
        """x of exp(x), and 2x of tanh(x) = 1 - 2/(exp(2x) + 1)."""
        return self.read(e.args[0] if isinstance(e, sp.exp) else 2 * e.args[0], opaque=True)

    def settle_exponent(self, x: Fraction) -> None:
        terms = dict(self.terms(x))
        numbers = self.combination(terms)
        if numbers is None:
            self.exponents.append((terms, x))
        elif all(number.q <= _MULTIPLE for number in numbers):
            self.exponents = [
                ({key: value / number.q for key, value in unit.items()}, (p / number.q, q))
                for (unit, (p, q)), number in zip(self.exponents, numbers, strict=True)
            ]

    def combination(self, terms: Terms) -> list[fmpq] | None:
        """The numbers by which the known exponents, which are independent, add up to this one, if they do."""
        columns = [*(unit for unit, _ in self.exponents), terms]
        keys = sorted({key for column in columns for key in column})
        reduced, rank = fmpq_mat([[column.get(key, fmpq(0)) for column in columns] for key in keys]).rref()
        known = len(self.exponents)
        return [reduced[i, known] for i in range(known)] if rank == known else None

    def exponential(self, x: Fraction) -> Fraction:
        """exp of a sum of known exponents is the product of their powers."""
        if not x[0]:
            return self.one, self.one
        terms = dict(self.terms(x))
        numbers = self.combination(terms)
        if numbers is None or any(number.q != 1 or abs(number.p) > _MULTIPLE for number in numbers):
            return self.exponential_of((terms, x)), self.one
        return self.multiply(
            self.raise_to((self.exponential_of(unit), self.one), int(number.p))
            for unit, number in zip(self.exponents, numbers, strict=True)
            if number != 0
        )

    def exponential_of(self, exponent: Exponent) -> Polynomial:
        terms, x = exponent
        result = self.quantity(("exp", str(terms)), positive=True)
        self.logarithms[str(result)] = x
        return result

    def logarithm(self, x: Fraction) -> Fraction:
        """log of a product is the sum over its factors, where none can be negative."""
        parts: list[Fraction] = []
        for side, sign in zip(x, (1, -1), strict=True):
            content, factors = self.factors(side)
            if not (content > 0 and all(self.is_nonnegative(factor) for factor, _ in factors)):
                return self.quantity(("log", str(x[0]), str(x[1]))), self.one
            for number, of in ((content.p, sign), (content.q, -sign)):
                parts += [(of * int(e) * self.quantity(("log", str(prime))), self.one) for prime, e in number.factor()]
            for factor, exponent in factors:
                p, q = self.logarithms.get(str(factor)) or (self.quantity(("log", str(factor))), self.one)
                parts.append((sign * exponent * p, q))
        return self.add(parts)

    def settle_angle(self, key: str, number: fmpq) -> None:
        units = self.angles.setdefault(key, [])
        for i, (unit, largest) in enumerate(units):
            common = fmpq(gcd(int(unit.p * number.q), int(number.p * unit.q)), unit.q * number.q)
            if max(largest, number) <= _MULTIPLE * common:
                units[i] = (common, max(largest, number))
                return
        units.append((number, number))

    def steps(self, key: str, number: fmpq) -> tuple[fmpq, int]:
        """A known angle and how many of it make `number` times a term."""
        for unit, _ in self.angles.get(key, []):
            whole = number / unit
            if whole.q == 1 and abs(whole.p) <= _MULTIPLE:
                return unit, int(whole.p)
        return abs(number), 1 if number > 0 else -1

    def turn(self, x: Fraction) -> tuple[Polynomial, Polynomial]:
        """(cos, sin) of a sum, by the addition theorems."""
        c, s = self.one, self.zero
        for key, number in self.terms(x):
            unit, count = self.steps(key, number)
            c_1 = self.quantity(("cos", key, str(unit)))
            s_1 = self.quantity(("sin", key, str(unit)), square=1 - c_1 * c_1)
            for _ in range(abs(count)):
                step = s_1 if count > 0 else -s_1
                c, s = self.times(c, c_1) - self.times(s, step), self.times(s, c_1) + self.times(c, step)
        return c, s

    # -- reading expressions

    def read(self, expression: Any, opaque: bool = False) -> Fraction:
        """An expression as a fraction; `opaque` keeps maxima as quantities of their own (softmax's shift cancels)."""
        key = (expression, opaque)
        if key not in self.read_before:
            self.read_before[key] = self._read(expression, opaque)
        return self.read_before[key]

    def _read(self, e: Any, opaque: bool) -> Fraction:
        if e.is_Rational:
            return self.ring.constant(fmpq(int(e.p), int(e.q))), self.one
        if e.is_Symbol:
            if not e.is_extended_real:
                raise Undecided(f"the symbol {e} is not known to be real")
            return self.quantity(e, nonnegative=bool(e.is_nonnegative), positive=bool(e.is_positive)), self.one
        if e.is_Add:
            return self.add([self.read(part, opaque) for part in e.args])
        if e.is_Mul:
            return self.multiply([self.read(part, opaque) for part in e.args])
        if e is sp.E:
            return self.exponential((self.one, self.one))
        if e.is_Pow and e.exp.is_Rational and e.exp.q & (e.exp.q - 1) == 0:
            base = self.read(e.base, opaque)
            for _ in range(int(e.exp.q).bit_length() - 1):
                base = self.root(base)
            return self.raise_to(base, int(e.exp.p))
        return self._apply(e, opaque)

    def _apply(self, e: Any, opaque: bool) -> Fraction:
        if isinstance(e, (sp.Max, sp.Min)) and opaque:
            return self.quantity(e), self.one
        if isinstance(e, sp.exp):
            return self.exponential(self.exponent(e))
        if isinstance(e, sp.tanh):
            grown, over = self.exponential(self.exponent(e))
            return self.quotient(grown - over, grown + over)
        if isinstance(e, (sp.cos, sp.sin)):
            return self.turn(self.read(e.args[0], opaque))[isinstance(e, sp.sin)], self.one
        if isinstance(e, sp.log):
            return self.logarithm(self.read(e.args[0], opaque))
        if isinstance(e, sp.Abs):
            return self.absolute(self.read(e.args[0], opaque))
        if isinstance(e, sp.sign):
            x = self.read(e.args[0], opaque)
            return self.multiply([x, self.raise_to(self.absolute(x), -1)])
        if isinstance(e, sp.Heaviside):
            return self.read((1 + sp.sign(e.args[0])) / 2, opaque)
        if isinstance(e, (sp.Max, sp.Min)):
            return self.extreme([self.read(part) for part in e.args], 1 if isinstance(e, sp.Max) else -1)
        raise Undecided(f"no rule for {e.func.__name__}")

    def extreme(self, values: list[Fraction], sign: int) -> Fraction:
        """max(a, b) = (a + b + |a - b|)/2, and the minimum with a minus."""
        result = values[0]
        minus, half = (-self.one, self.one), (self.one / 2, self.one)
        for value in values[1:]:
            gap = self.absolute(self.add([result, self.multiply([minus, value])]))
            result = self.multiply([half, self.add([result, value, (sign * gap[0], gap[1])])])
        return result
