"""Term entries: their tree, their enclosure and their exact value say the same, and what they rest on is noted."""

import operator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpq

from resstream import arithmetic as ar
from resstream.arithmetic import RATIONAL, NoValue
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, ZERO, noting
from resstream.arithmetic.terms import Terms, TermUnknowns, is_below, is_same, leaf, number, proving, variable
from resstream.arithmetic.unknowns import cases
from resstream.errors import DomainError, Undecided

mp = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
mp.dps = 60

TERMS = Terms()
MEANING = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "neg": lambda a: -a, "abs": abs, "max": max, "sqrt": mp.sqrt, "exp": mp.exp, "log": mp.log, "cos": mp.cos,
    "sin": mp.sin, "tanh": mp.tanh, "erf": mp.erf, "pi": lambda: +mp.pi,
}  # fmt: skip


def value_of(term):
    """The number that a tree is, by mpmath."""
    if term.operation == "number":
        return mp.mpf(int(term.exact.p)) / int(term.exact.q)
    return MEANING[term.operation](*map(value_of, term.operands))


def agrees(term):
    """Whether the enclosure holds what the tree is, and the exact value, if there is one, is it."""
    value = value_of(term)
    slack = mp.mpf(10) ** -50 * (1 + abs(value))
    middle, radius = (mp.mpf(part.str(60, radius=False)) for part in (term.enclosure.mid(), term.enclosure.rad()))
    exact = value if term.exact is None else mp.mpf(int(term.exact.p)) / int(term.exact.q)
    return abs(middle - value) <= radius + slack and radius <= slack * 10**5 and abs(exact - value) <= slack


def numbers(*values):
    return TERMS.array(list(values))


BINARY = ("plus", "minus", "times", "over", "larger")
UNARY = ("negative", "size", "square_root", "exponential", "cosine", "sine", "hyperbolic_tangent", "error_function")


def test_trees_enclosures_and_exact_values_agree():
    """Random expressions, of the exact ones also in rational arithmetic."""
    rng = np.random.default_rng(3)
    compared = exact = nothing = 0
    for _ in range(60):
        with TERMS.working():
            start = [Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 5))) for _ in range(3)]
            pool = list(zip(TERMS.array(start), RATIONAL.array(start), strict=True))
            for _ in range(10):
                (a, p), (b, q) = (pool[int(rng.integers(len(pool)))] for _ in range(2))
                if rng.random() < 0.75:
                    name = BINARY[int(rng.integers(len(BINARY)))]
                    result = getattr(a, name)(b)
                    rational = getattr(p, name)(q) if p is not None and q is not None else None
                else:
                    name = UNARY[int(rng.integers(len(UNARY)))]
                    result = getattr(a, name)()
                    rational = getattr(p, name)() if p is not None and name in UNARY[:2] else None
                if isinstance(result, NoValue):
                    nothing += 1
                    continue
                if abs(result.enclosure) < 1000:
                    assert agrees(result), result
                    compared += 1
                    pool.append((result, rational))
                if rational is not None:
                    assert result.exact == rational.value
                    exact += 1
    assert compared >= 300
    assert exact >= 100
    assert nothing >= 5


def test_the_agreement_can_fail():
    with TERMS.working():
        good = number(fmpq(2)).square_root()
    bad = number(fmpq(2)).square_root()
    assert agrees(good)
    bad.enclosure = arb(1)
    assert not agrees(bad)
    bad.enclosure, bad.exact = good.enclosure, fmpq(7, 5)
    assert not agrees(bad)


def test_what_is_known_of_a_value_whatever_it_is():
    x = variable(("x", (0,)))
    assert (x.exact, x.open, x.label, repr(x)) == (None, True, ("x", (0,)), repr(x.enclosure.str()).strip("'"))
    nought, one, two = (number(fmpq(value)) for value in (0, 1, 2))
    assert (x.minus(x).exact, x.times(nought).exact, nought.times(x).exact, x.plus(x).exact) == (0, 0, 0, None)
    assert (x.over(x).exact, nought.over(x).exact, x.over(two).exact, two.over(x).exact) == (1, 0, None, None)
    assert (x.times(x).exact, x.minus(one).exact, x.times(one).exact) == (None, None, None)
    root = two.square_root()
    assert (root.exact, root.times(root).exact, root.times(two).exact, root.plus(root).exact) == (None, 2, None, None)
    assert x.square_root().times(x.square_root()).exact is None
    assert (x.larger(x), root.larger(root)) == (x, root)
    assert x.larger(one).operands == (x, one)
    assert x.negative().negative() is x
    assert (x.negative().exact, x.size().exact, two.negative().exact, number(fmpq(-2)).size().exact) == (
        None,
        None,
        -2,
        2,
    )
    assert (x.times(nought).operation, x.size().operation, x.negative().operation) == ("*", "abs", "neg")
    assert (two.known(), two.negative().known(), x.known()) == (2, None, None)
    assert [repr(entry) for entry in (two, number(fmpq(1, 3)))] == ["2", "1/3"]
    assert repr(root).startswith("[1.414213562")


def test_what_fractions_can_follow():
    with TERMS.working():
        (two,) = numbers(2)
        followed = abs((two + 1) * (two - 3) / -two).larger(two)
        assert followed.rational
        for other in (two.square_root(), two.square_root() + 1, 1 + 2 * abs(two.exponential()), two.pi()):
            assert not other.rational
        assert not variable(("x", ())).plus(two).rational


def test_functions_are_exact_at_one_point():
    with TERMS.working():
        nought, one, two = (number(fmpq(value)) for value in (0, 1, 2))
        for name, at, value in (
            ("exponential", nought, 1), ("cosine", nought, 1), ("sine", nought, 0), ("hyperbolic_tangent", nought, 0),
            ("error_function", nought, 0), ("logarithm", one, 0),
        ):  # fmt: skip
            assert getattr(at, name)().exact == value
            result = getattr(two, name)()
            assert result.exact is None
            assert agrees(result)
        assert agrees(two.pi())
        assert two.pi().exact is None
        x = variable(("x", ()))
        for name in UNARY:
            assert getattr(x, name)().operands == (x,)


def nothing(entry, certain, reason, unbounded=False):
    assert isinstance(entry, NoValue)
    assert (entry.certain, entry.unbounded) == (certain, unbounded)
    assert entry.reason.startswith(reason)


def test_where_there_is_no_value():
    with TERMS.working():
        nought, one, minus = numbers(0, 1, -1)
        around = one.pi().sine()  # zero, and no enclosure tells
        nothing(one / nought, True, "division by zero in line")
        nothing(one / around, False, "division by a number that may be zero")
        nothing(minus.square_root(), True, "square root of the negative number -1")
        nothing((-one.pi()).square_root(), True, "square root of a negative number")
        nothing(around.square_root(), False, "square root of a number that may be negative")
        nothing(nought.logarithm(), True, "logarithm of 0")
        nothing(minus.logarithm(), True, "logarithm of -1")
        nothing((-one.pi()).logarithm(), True, "logarithm of [-3.14")
        nothing(around.logarithm(), False, "logarithm of a number that may not be positive")
        nothing(minus.root(3), True, "logarithm of -1")
        nothing(minus.root(4), True, "square root of the negative number -1")
        nothing(number(fmpq(10) ** 40).exponential().exponential(), False, "an enclosure without bounds", True)
        nothing((-one.pi() / 10).square_root(), True, "square root of a negative number")
        assert nought.square_root().exact == 0
        zero = one.pi() - one.pi() * 1
        zero.enclosure = arb(0)  # what balls may come to, without the value being known to be rational
        assert zero.square_root().operation == "sqrt"
        assert agrees((one.pi() / 10).square_root())
        assert agrees(one.pi().square_root())
        assert agrees(one.pi().logarithm())


def noted(build):
    """What an expression asks for: (entry, kind) of each."""
    with noting() as notes, TERMS.working():
        build()
    assert all(" in line " in note.role for note in notes)
    return [(note.entry, note.kind, note.role.split(" in ")[0]) for note in notes]


def test_divisors_radicands_and_logarithms_are_noted_but_for_numbers():
    x, two = variable(("x", ())), number(fmpq(2))
    pi = two.pi()
    assert noted(lambda: (x / x, two / x, x / two, two / two)) == [(x, NONZERO, "divisor")] * 2
    assert noted(lambda: (x.square_root(), two.square_root(), pi.square_root())) == [
        (x, NONNEGATIVE, "radicand"),
        (pi, NONNEGATIVE, "radicand"),
    ]
    assert noted(lambda: (x.logarithm(), two.logarithm(), pi.logarithm())) == [
        (x, POSITIVE, "logarithm"),
        (pi, POSITIVE, "logarithm"),
    ]


def test_roots():
    with TERMS.working():
        eight, five, nought = numbers(8, 5, 0)
        assert eight.root(3) is number(fmpq(2))
        assert nought.root(3).exact == 0
        assert numbers(Fraction(32, 243))[0].root(5).exact == fmpq(2, 3)
        for degree in (3, 4, 5, 6, 12):
            root = five.root(degree)
            assert abs(value_of(root) ** degree - 5) < mp.mpf(10) ** -50
            assert agrees(root)
        assert (five.root(2).operation, five.root(4).operation, five.root(4).operands[0].operation) == ("sqrt",) * 3
        assert numbers(64)[0].root(6).exact == 2
        assert numbers(16)[0].root(4).exact == 2
    x = variable(("x", ()))
    assert noted(lambda: x.root(3)) == [(x, POSITIVE, "logarithm")]
    assert x.root(3).operation == "exp"
    seven = number(fmpq(7)).plus(number(fmpq(1)))
    ((entry, kind, role),) = noted(lambda: seven.root(3))
    assert (kind, role, entry.operation, entry.operands[0]) == (ZERO, "root of degree 3", "-", seven)
    assert (entry.exact, entry.operands[1].exact, value_of(entry)) == (0, 8, 0)
    assert noted(lambda: number(fmpq(8)).root(3)) == []


# ---- comparisons


def test_comparisons_are_decided_by_enclosures_and_noted():
    with TERMS.working():
        one, pi = numbers(1)[0], numbers(1)[0].pi()
        same_pi, around = one.pi() + 0, one.pi().sine()
        ((third, half),) = numbers([Fraction(1, 3), Fraction(1, 2)])
    cases_of = [
        (one, pi, True, False),
        (pi, one, False, False),
        (third, half, True, False),
        (half, third, False, False),
    ]
    for first, second, below, same in [*cases_of, (pi, pi, False, True), (half, number(fmpq(1, 2)), False, True)]:
        assert (is_below(first, second), is_same(first, second)) == (below, same)
        with noting() as notes:
            assert (first.below(second), first.same(second)) == (below, same)
        if first is second:
            assert notes == []
            continue
        compared, equal = notes
        larger, smaller = (second, first) if below else (first, second)
        assert (compared.kind, compared.entry.operands) == (POSITIVE if below else NONNEGATIVE, (larger, smaller))
        assert (equal.kind, equal.entry.operands) == (ZERO if same else NONZERO, (first, second))
        assert {compared.entry.operation, equal.entry.operation} == {"-"}
        assert compared.role.startswith("branch in line ")
        assert equal.role.startswith("branch in line ")
    for first, second in ((pi, same_pi), (around, number(fmpq(0))), (number(fmpq(0)), around)):
        assert (is_below(first, second), is_same(first, second)) == (None, None)
        assert (first.below(second), first.same(second)) == (None, None)
        with pytest.raises(Undecided):
            assert first <= second
    one, seen = number(fmpq(1)), number(fmpq(0)).plus(pi)
    seen.enclosure = arb(1)  # what balls may come to, without the value being known to be rational
    assert (is_below(one, seen), is_below(seen, one), is_same(one, seen)) == (False, False, None)


def test_a_comparison_in_a_proof_makes_two_cases():
    for question, kinds in ((operator.lt, (POSITIVE, NONNEGATIVE)), (operator.eq, (ZERO, NONZERO))):
        found = []
        for case in cases():
            unknowns = TermUnknowns(case)
            x, y = unknowns.real((2,))
            assert not proving()
            with unknowns.deciding():
                assert proving()
                answer = question(x, y)
            assert not proving()
            ((entry, kind),) = unknowns.known
            assert kind == kinds[0 if answer else 1]
            first, second = (y, x) if question is operator.lt and answer else (x, y)
            assert (entry.operation, entry.operands) == ("-", (first, second))
            found.append(answer)
        assert sorted(found) == [False, True]
    x, y = TermUnknowns().real((2,))
    with pytest.raises(Undecided):
        assert x < y
    with pytest.raises(RuntimeError), TermUnknowns().deciding():
        raise RuntimeError
    assert not proving()


def test_unknown_members_and_what_is_known_of_them():
    unknowns = TermUnknowns()
    x, s, t = unknowns.real((2, 1)), unknowns.nonnegative((1,)), unknowns.positive((2,))
    assert (x.shape, unknowns.count, unknowns.solves, TermUnknowns(None, False).solves) == ((2, 1), 5, True, False)
    assert [entry.label for entry in (*x.flat, *s, *t)] == [(f"x{k}", ()) for k in range(1, 6)]
    assert all(entry.open and entry.operation == "variable" for entry in (*x.flat, *s, *t))
    assert unknowns.known == [(s[0], NONNEGATIVE), (t[0], POSITIVE), (t[1], POSITIVE)]
    assert unknowns.one().exact == 1
    found = [[entry.exact for entry in TermUnknowns(case).whole((2,), -1, 1)] for case in cases()]
    assert found == [[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)]


def test_equal_terms_are_one_node_where_they_are_computed_with():
    with TERMS.working():
        a, b = numbers(2, 3)
        assert a + b is a + b
        assert a + b is not b + a
        assert a - b is not a + b
        assert number(fmpq(2)) is a
        assert numbers(Fraction(2, 3))[0] is not a
        assert a.square_root() is a.square_root()
        assert a.pi() is b.pi()
        named = leaf(fmpq(2), ("A", (0, 1)))
        assert (named.label, named.exact, a.label, named is a) == (("A", (0, 1)), 2, None, False)
        with TERMS.working():
            assert numbers(2)[0] is not a
        assert numbers(2)[0] is a
    assert a + b is not a + b
    assert number(fmpq(2)) is not number(fmpq(2))


def test_values_become_leaves():
    assert (Terms().bits, Terms(64).name) == (256, "terms(64)")
    before = ctx.prec
    with Terms(100).working():
        assert ctx.prec == 100
    assert ctx.prec == before
    (third,) = Terms(300).array([Fraction(1, 3)])
    assert ctx.prec == before
    assert arb(2) ** -310 < third.enclosure.rad() < arb(2) ** -290
    entries = TERMS.array([[0.5, "1/3"], [RATIONAL.array([3])[0], third]])
    assert entries.shape == (2, 2)
    assert [entry.exact for entry in entries.flat] == [fmpq(1, 2), fmpq(1, 3), 3, fmpq(1, 3)]
    assert entries[1, 1] is third
    scalar = TERMS.array(3)
    assert (scalar.shape, scalar.item().exact, third.of(fmpq(2)).exact) == ((), 3, 2)
    with pytest.raises(DomainError, match="expected a finite number"):
        TERMS.array([np.inf])
    assert ar.total(TERMS.array([[1, 2]]))[0, 0].exact == 3
