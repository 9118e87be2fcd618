"""The provers against numbers: the solver's encoding, what is proved of random expressions, and planted faults."""

import numpy as np
import pytest
import sympy as sp
from flint import fmpq

from resstream.arithmetic import RATIONAL, NoValue, absolute, maximum, minimum, relu, sqrt, square, total
from resstream.arithmetic.obligations import NONNEGATIVE, NONZERO, POSITIVE, Obligation, noting
from resstream.arithmetic.solver import Condition, Formula, Polynomial, SolverEntry, variable
from resstream.arithmetic.symbols import SymbolicEntry
from resstream.errors import ArithmeticLimit
from resstream.prove.algebra import Algebra, vanishes
from resstream.prove.obligations import certain, unproved
from resstream.prove.statement import evaluated

HOLDS = {">=": lambda x: x >= 0, ">": lambda x: x > 0, "==": lambda x: x == 0, "!=": lambda x: x != 0}


# ---- the solver's encoding ------------------------------------------------------------------------------------------


def random_program(rng, depth):
    """A function of arrays in any number system, by random operations on its entries."""
    if depth == 0:
        place, shift = int(rng.integers(0, 4)), int(rng.integers(-2, 3))
        return (
            (lambda x: x[..., place : place + 1] + shift) if rng.random() < 0.8 else (lambda x: 0 * x[..., :1] + shift)
        )
    f, g = random_program(rng, depth - 1), random_program(rng, depth - 1)
    return [
        lambda x: f(x) + g(x),
        lambda x: f(x) - 2 * g(x),
        lambda x: f(x) * g(x),
        lambda x: f(x) / g(x),
        lambda x: maximum(f(x), g(x)),
        lambda x: minimum(f(x), g(x)),
        lambda x: absolute(f(x) - g(x)),
        lambda x: relu(f(x)),
        lambda x: sqrt(square(f(x))),
        lambda x: sqrt(square(f(x)) * square(g(x))),
        lambda x: total(np.concatenate([f(x), g(x)], axis=-1)),
        lambda x: f(x) ** -2,
    ][int(rng.integers(0, 12))]


def valued(formula, point):
    """The values of all unknowns, the derived ones by what defines them (0 for what has no value)."""
    values = dict(point)
    definitions = {c.unknown: c for c in formula.choices.values()}
    conditions = list(formula.conditions)
    for unknown in range(len(formula.made_of)):
        if unknown in values:
            continue
        if unknown in definitions:
            values[unknown] = max(evaluated(a, values) for a in definitions[unknown].alternatives)
            continue
        defining = next(c for c in conditions if c.kind == "==" and max(c.polynomial.unknowns()) == unknown)
        squared = (unknown, unknown) in defining.polynomial.terms
        at = {u: v for u, v in values.items() if u < unknown}
        nought = evaluated(defining.polynomial, {**at, unknown: fmpq(0)})
        if squared:
            values[unknown] = fmpq((-nought).p.isqrt(), nought.q.isqrt()) if nought < 0 else fmpq(0)
        else:
            slope = evaluated(defining.polynomial, {**at, unknown: fmpq(1)}) - nought
            values[unknown] = -nought / slope if slope != 0 else fmpq(0)
    return values


def compare_encoding(seed, count):
    """How often a random program at random rational numbers had a value, which the encoding admits and gives."""
    rng = np.random.default_rng(seed)
    compared = undefined = 0
    for _ in range(count):
        program = random_program(rng, int(rng.integers(1, 4)))
        numbers = [fmpq(int(p), int(q)) for p, q in zip(rng.integers(-4, 5, 4), rng.integers(1, 4, 4), strict=True)]
        try:
            (exact,) = program(RATIONAL.array([numbers])).flat
        except ArithmeticLimit:  # an irrational root
            continue
        formula = Formula()
        try:
            with noting() as notes:
                x = formula.real((1, 4))
                (entry,) = program(x).flat
        except ArithmeticLimit:  # too large
            continue
        if isinstance(entry, NoValue):
            assert isinstance(exact, NoValue)
            continue
        values = valued(formula, dict(enumerate(numbers)))
        owed = all(HOLDS[note.kind](evaluated(note.entry.polynomial, values)) for note in notes)
        if isinstance(exact, NoValue):
            assert not owed, "nothing was noted of what has no value"
            undefined += 1
            continue
        assert owed, "an obligation fails where there is a value"
        for condition in formula.conditions:
            assert HOLDS[condition.kind](evaluated(condition.polynomial, values)), (
                "the encoding excludes a real instance"
            )
        assert evaluated(entry.polynomial, values) == exact.value
        compared += 1
    return compared, undefined


def test_the_solvers_encoding_admits_what_rationals_compute_and_gives_the_same():
    compared, undefined = compare_encoding(0, 1200)
    assert compared >= 500
    assert undefined >= 30


@pytest.mark.parametrize("fault", ["larger", "square_root", "over", "negative"])
def test_a_fault_of_the_encoding_is_found(monkeypatch, fault):
    faults = {
        "larger": lambda self, _: self,
        "square_root": lambda self: self,
        "over": lambda self, other: self.times(other),
        "negative": lambda self: self,
    }
    monkeypatch.setattr(SolverEntry, fault, faults[fault])
    with pytest.raises(AssertionError):
        compare_encoding(0, 200)


def test_an_obligation_that_is_not_noted_is_found(monkeypatch):
    monkeypatch.setattr("resstream.arithmetic.solver.note", lambda *_: None)
    with pytest.raises(AssertionError, match="nothing was noted"):
        compare_encoding(0, 400)


# ---- signs ----------------------------------------------------------------------------------------------------------


def compare_certain(seed, count, decide=certain):
    """How many signs of random polynomials were certain, each held against points that meet the conditions."""
    rng = np.random.default_rng(seed)
    said = 0
    for _ in range(count):
        p = Polynomial({})
        for _ in range(int(rng.integers(1, 4))):
            monomial = tuple(sorted(map(int, rng.integers(0, 3, int(rng.integers(0, 4))))))
            p = p + Polynomial({monomial: fmpq(int(rng.integers(-1, 3)))})
        conditions = [
            Condition(variable(u), kind) for u, kind in enumerate(rng.choice(["", ">=", ">", "!="], 3)) if kind
        ]
        if rng.random() < 0.3:
            conditions.append(Condition(p.times(fmpq(int(rng.choice([-2, 3])))), str(rng.choice([">=", ">", "!="]))))
        kind = str(rng.choice([NONZERO, NONNEGATIVE, POSITIVE]))
        if not decide(p, kind, conditions):
            continue
        points = [dict(enumerate(map(fmpq, map(int, rng.integers(-2, 3, 3))))) for _ in range(30)]
        met = [v for v in points if all(HOLDS[c.kind](evaluated(c.polynomial, v)) for c in conditions)]
        assert all(HOLDS[kind](evaluated(p, v)) for v in met)
        said += bool(met)
    return said


def test_what_is_certain_by_signs_holds_at_random_points():
    assert compare_certain(0, 1500) >= 200


def test_signs_that_are_only_guessed_are_found():
    with pytest.raises(AssertionError):
        compare_certain(0, 200, lambda p, _, __: all(c > 0 for c in p.terms.values()))


x, y = sp.symbols("x y", real=True)
p = sp.Symbol("p", positive=True)
ATOMS = [x, y, p, x - y, x * y, x**2, sp.exp(x), sp.Abs(x), sp.sqrt(p), x + p, sp.Integer(1), sp.Integer(-1)]


def compare_obligations(seed, count, decide=unproved):
    """How many random obligations were proved, each held against points that meet the conditions."""
    rng = np.random.default_rng(seed)
    points = [
        (sp.Rational(int(a), 2), sp.Rational(int(b), 2), sp.Rational(int(c), 2))
        for a, b, c in zip(rng.integers(-4, 5, 40), rng.integers(-4, 5, 40), rng.integers(1, 6, 40), strict=True)
    ]
    said = 0
    for _ in range(count):
        e = sp.Add(
            *(sp.Mul(*(ATOMS[int(i)] for i in rng.integers(0, len(ATOMS), 2))) for _ in range(int(rng.integers(1, 4))))
        )
        known = [
            (ATOMS[int(i)], str(k))
            for i, k in zip(rng.integers(0, 6, 1), rng.choice([">=", ">", "!="], 1), strict=True)
        ]
        kind = str(rng.choice([NONZERO, NONNEGATIVE, POSITIVE]))
        if decide([Obligation(SymbolicEntry(e), kind, "divisor in line 1 of nowhere")], known) is not None:
            continue
        met = 0
        for a, b, c in points:
            at = {x: a, y: b, p: c}
            if all(HOLDS[k](sp.sympify(f).subs(at)) for f, k in known):
                met += 1
                value = e.subs(at)
                holds = sp.simplify(value) != 0 if kind == "!=" else HOLDS[kind](sp.N(value, 30))
                assert holds, f"{e} {kind} 0 from {known} at {at}"
        said += met > 0
    return said


def test_obligations_that_are_proved_hold_at_random_points():
    assert compare_obligations(0, 150) >= 25


def test_obligations_that_are_waved_through_are_found():
    with pytest.raises(AssertionError):
        compare_obligations(0, 60, lambda *_: None)


# ---- identities -----------------------------------------------------------------------------------------------------


def random_identity(rng, depth):
    if depth == 0:
        return [x, y, p, sp.Integer(2), x - y][int(rng.integers(0, 5))]
    f, g = random_identity(rng, depth - 1), random_identity(rng, depth - 1)
    return [
        lambda: f + g,
        lambda: f * g,
        lambda: sp.Abs(f),
        lambda: sp.sqrt(f**2 + g**2),
        lambda: sp.sqrt(f**2 * g**2),
        lambda: sp.Max(f, g),
        lambda: sp.exp(f),
        lambda: f / (1 + g**2),
    ][int(rng.integers(0, 8))]()


def compare_identities(seed, count):
    """How many differences of an expression and a rewriting of it were proved to be zero, each held against points."""
    rng = np.random.default_rng(seed)
    proved = 0
    for _ in range(count):
        e = random_identity(rng, 2)
        f = [
            sp.expand(e),
            e.subs(x, -x),
            sp.Abs(e),
            sp.sqrt(e**2),
            sp.Max(e, -e),
            e.subs({x: y, y: x}, simultaneous=True),
            sp.sqrt(e) ** 2,
        ][int(rng.integers(0, 7))]
        try:
            if not vanishes(e - f, work=20_000):
                continue
        except ArithmeticLimit:
            continue
        for _ in range(4):
            at = {s: sp.Rational(int(rng.integers(1 if s is p else -6, 7)), 3) for s in (x, y, p)}
            left, right = (sp.N(side.subs(at), 30) for side in (e, f))
            if right.is_real:  # a root of a negative number is an obligation's matter
                assert abs(left - right) < 1e-20 * (1 + abs(left)), f"{e} = {f} at {at}"
                proved += 1
    return proved


def test_what_vanishes_is_zero_at_random_points():
    assert compare_identities(0, 120) >= 60


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("is_nonnegative", lambda *_: True),
        ("size_of", lambda _, f: f),
        ("reduce", lambda self, p: self.zero if len(p) > 1 else p),
    ],
    ids=["signs", "absolute values", "reduction"],
)
def test_a_fault_of_the_algebra_is_found(monkeypatch, name, fault):
    monkeypatch.setattr(Algebra, name, fault)
    with pytest.raises(AssertionError):
        compare_identities(0, 120)
