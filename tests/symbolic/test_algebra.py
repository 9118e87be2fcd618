"""The decision whether an expression is zero: what it proves, and what it must never prove."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import pytest
import sympy as sp
from flint import fmpq

from resstream.errors import Undecided
from resstream.prove import algebra as module
from resstream.prove.algebra import Algebra, vanishes

x, y, z = sp.symbols("x y z", real=True)
p, q = sp.symbols("p q", positive=True)


def root(e: Any, degree: int = 2) -> Any:
    """As it is: SymPy would take out of the root what it can, and nothing would be left to prove."""
    return sp.Pow(e, sp.Rational(1, degree), evaluate=False)


ZERO = {
    "common factor": (x**2 - y**2) / (x - y) - x - y,
    "root of a square": root(x**2 * (1 + y**2)) - abs(x) * sp.sqrt(1 + y**2),
    "root of a number": root(8 * x**2) - 2 * sp.sqrt(2) * abs(x),
    "root of a quotient": root((x - y) ** 2 / p) - abs(y - x) / sp.sqrt(p),
    "nested roots": root(root((1 + x**2) ** 4)) - 1 - x**2,
    "absolute product": abs(x * y - x * z) - abs(x) * abs(z - y),
    "maximum and minimum": sp.Max(x, y) + sp.Min(x, y) - x - y,
    "three of them": sp.Max(x, y, z) + sp.Min(-x, -y, -z),
    "sign": sp.sign(x) * abs(x) - x,
    "step": sp.Heaviside(x) * x - sp.Max(x, 0),
    "exponents": sp.exp(x - y) * sp.exp(y) / sp.exp(x / 3) ** 3 - 1,
    "hyperbolic": sp.tanh(p / 2) - (1 - 2 / (sp.exp(p) + 1)),
    "shift of softmax": sp.exp(x - sp.Max(x, y)) / (sp.exp(x - sp.Max(x, y)) + sp.exp(y - sp.Max(x, y)))
    - 1 / (1 + sp.exp(y - x)),
    "addition theorem": sp.cos(x + y) - sp.cos(x) * sp.cos(y) + sp.sin(x) * sp.sin(y),
    "triple angle": sp.sin(3 * x) - 3 * sp.sin(x) + 4 * sp.sin(x) ** 3,
    "angles of numbers": sp.cos(sp.Rational(4, 100)) - 2 * sp.cos(sp.Rational(2, 100)) ** 2 + 1,
    "logarithm of a product": sp.log(8 * p / (q * (1 + x**2)))
    - 3 * sp.log(2)
    - sp.log(p)
    + sp.log(q)
    + sp.log(1 + x**2),
    "logarithm of an exponential": sp.log(sp.exp(x) / (sp.exp(x) + sp.exp(y))) + sp.log(1 + sp.exp(y - x)),
    "logarithm": sp.log(1 / p + 1 / q) - sp.log((p + q) / (p * q)),
    "logarithms of numbers": sp.log(sp.Rational(4, 9)) - 2 * sp.log(2) + 2 * sp.log(3),
    "logarithm of a power": sp.log(p**3 * q**2) - 3 * sp.log(p) - 2 * sp.log(q),
    "primes below roots": root(12 * p) - 2 * sp.sqrt(3) * sp.sqrt(p),
    "roots of fractions": root(sp.Rational(3, 8) * p) * 4 - root(6 * p),
    "a root of a negative multiple": root(-4 * x * p) - 2 * sp.sqrt(-x) * sp.sqrt(p),
    "a cube below a root": root(p**3 * (x**2 + 1) ** 2) - p * (x**2 + 1) * sp.sqrt(p),
    "a fourth root": root(p**2, 4) - sp.sqrt(p),
    "a power of a root": sp.Mul(sp.Pow(root(p**2 * q), -3, evaluate=False), p**3 * q**2, evaluate=False) - sp.sqrt(q),
    "an absolute quotient": abs(-3 * x / y) - 3 * abs(x) / abs(y),
    "signs": sp.sign(-x * y) + sp.sign(x) * sp.sign(y),
    "sums below a common divisor": 1 / (x + y) + 1 / (x - y) - 2 * x / (x**2 - y**2),
    "a negative power": sp.Pow(x**2, -2, evaluate=False) * x**5 - x,
    "exponents with a common unit": sp.Mul(sp.exp(x / 2), sp.exp(x / 3), evaluate=False) - sp.exp(5 * x / 6),
    "exponents below zero": sp.exp(-2 * x + 3 * y) * sp.exp(x) ** 2 - sp.exp(y) ** 3,
    "an exponential inside another": sp.exp(sp.exp(x)) - sp.exp(sp.Mul(sp.exp(x / 2), sp.exp(x / 2), evaluate=False)),
    "the number e": sp.Mul(sp.exp(x), sp.E, evaluate=False) - sp.exp(x + 1),
    "an odd function": sp.tanh(-x, evaluate=False) + sp.tanh(x),
    "angles below zero": sp.sin(x - 2 * y) - sp.sin(x) * sp.cos(2 * y) + sp.cos(x) * sp.sin(2 * y),
    "angles with a common unit": sp.cos(x / 2 + x / 3) - sp.cos(x / 2) * sp.cos(x / 3) + sp.sin(x / 2) * sp.sin(x / 3),
    "a large multiple of an angle": sp.cos(12 * x) - 2 * sp.cos(6 * x) ** 2 + 1,
}

NOT_ZERO = {
    "a constant": sp.Rational(1, 10**30),
    "a sign": sp.sqrt(x**2) - x,
    "a sign hidden in a product": sp.sqrt(x * y) ** 2 - abs(x) * abs(y),
    "a split root": abs(x + y) - abs(x) - abs(y),
    "a maximum": sp.Max(x, y) - (x + y) / 2,
    "a step on the other side": sp.Heaviside(-x) * x - sp.Max(x, 0),
    "an exponent": sp.exp(x + y) - sp.exp(x) - sp.exp(y),
    "an angle": sp.cos(x + y) - sp.cos(x) * sp.cos(y) - sp.sin(x) * sp.sin(y),
    "an angle of numbers": sp.cos(sp.Rational(4, 100)) - sp.cos(sp.Rational(2, 100)) ** 2,
    "a logarithm of what may be negative": sp.log(x * y) - sp.log(x) - sp.log(y),
    "a logarithm": sp.log(p + q) - sp.log(p) - sp.log(q),
    "logarithms of numbers, wrong": sp.log(sp.Rational(4, 9)) - 2 * sp.log(2) - 2 * sp.log(3),
    "primes below roots, wrong": sp.sqrt(12 * p) - 3 * sp.sqrt(2) * sp.sqrt(p),
    "an odd function, wrong": sp.tanh(-x) - sp.tanh(x),
    "a minimum": sp.Min(x, y) - sp.Max(x, y),
    "an absolute quotient, wrong": abs(x / y) - abs(x) * abs(y),
    "a square of an angle": sp.sin(x) ** 2 - sp.cos(x) ** 2 - 1,
    "an exponent below zero": sp.exp(-x) - sp.exp(x),
}


@pytest.mark.parametrize("name", ZERO)
def test_zero_is_proved(name: str) -> None:
    assert ZERO[name] != 0  # SymPy has not seen it by itself
    assert vanishes(ZERO[name])


# ---- what is read has the value of the expression


def valued(algebra: Algebra, at: dict[Any, Any]) -> Any:
    """A function that gives the value of a fraction, with every quantity as what it stands for."""
    values: dict[str, Any] = {}

    def of(text: str) -> Any:
        return eval(re.sub(r"\b\d+", r"mpf(\g<0>)", text.replace("^", "**")), {**values, "mpf": mpmath.mpf})

    def fraction(x: Any) -> Any:
        return of(str(x[0])) / of(str(x[1]))

    for index, (key, generator) in enumerate(algebra.known.items()):
        if not isinstance(key, tuple):
            value = mpmath.mpf(sp.N(key.subs(at), 30))
        elif key[0] == "absolute":
            value = abs(of(key[1]))
        elif key[0] == "root":
            value = mpmath.sqrt(of(key[1]))
        elif key[0] == "exp":
            value = mpmath.exp(fraction(algebra.logarithms[str(generator)]))
        elif key[0] == "log":
            value = mpmath.log(of(key[1]) / of(key[2]) if len(key) > 2 else of(key[1]))
        else:
            powers, below = key[1].split(" over ")
            term = mpmath.fprod(values[f"q{i}"] ** e for i, e in enumerate(eval(powers)) if e) / of(below)
            value = getattr(mpmath, key[0])(of(key[2]) * term)
        values[f"q{index}"] = value
    return fraction


READ = {
    **{name: e for name, e in ZERO.items() if name != "angles of numbers"},
    "no root": root(0 * x) + root(x**2),
    "roots of numbers": root(sp.Rational(5, 12)) + root(sp.Integer(98)) * x,
    "a root of a large power": root(p**5 * q**4) + root(p**7),
    "a root of a multiple": root(-9 * p * x / (2 * y**2)),
    "a root above and below": root(p / q) + root(3 * x**2 / p**3),
    "absolute values of either sign": abs(y - x) + 2 * abs(x - y) + abs(-3 * x**3 * y) / abs(2 - x * y),
    "an exponential of nothing": sp.exp(0 * x, evaluate=False) + sp.exp(-x / (1 + y**2)),
    "a mean of exponentials": sp.exp(x / 7) / (sp.exp(x / 7) + sp.exp(-2 * x / 7)),
    "logarithms of several": sp.log(sp.Rational(12, 35) * p**2 / q**3, evaluate=False),
    "a logarithm of an unknown sign": sp.log(-x * p) + sp.log((3 - x) / 5),
    "angles": sp.cos(2 * x - 3 * y) + sp.sin(-x * y / 5) * sp.cos(-x, evaluate=False),
    "an angle below a root": sp.sin(x / root(p)) + sp.exp(x / (root(p) * (1 + y**2))),
    "extremes": sp.Max(x, 2 * y, p) - sp.Min(3 * x, y) + sp.sign(x - y) * sp.Heaviside(y - x, 1),
    "powers": sp.Pow(x, -3, evaluate=False) + root(p) ** -3 + x**0,
    "a sum of quotients": 1 / (x - y) + 1 / (x + y) - 1 / (x**2 - y**2) + x / (2 * p + 2 * q) - 1 / (p + q),
}


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("name", READ)
def test_what_is_read_has_the_value_of_the_expression(name: str, settled: bool) -> None:
    algebra = Algebra(10**6)
    if settled:
        algebra.settle_units(READ[name])
    found = algebra.read(READ[name])
    compared = 0
    with mpmath.workdps(30):
        for values in ((-3, 5, 2, 7, 2), (-1, -2, -6, 1, 3), (-2, -7, 1, 3, 5)):
            at = dict(zip((x, y, z, p, q), (sp.Rational(v, 2) for v in values), strict=True))
            wanted = sp.N(READ[name].subs(at), 30, chop=False)
            if wanted.is_real or abs(sp.im(wanted)) < 1e-25:
                assert abs(valued(algebra, at)(found) - mpmath.mpf(sp.re(wanted))) < 1e-20 * (1 + abs(wanted))
                compared += 1
    assert compared >= 1


def test_the_comparison_of_values_can_fail() -> None:
    algebra = Algebra(1000)
    p_, q_ = algebra.read(root(x**2) + 1)
    with mpmath.workdps(30):
        assert abs(valued(algebra, {x: sp.Integer(-3)})((p_, q_)) - 4) < 1e-20
        assert abs(valued(algebra, {x: sp.Integer(-3)})((p_ + fmpq(1, 10**9), q_)) - 4) > 1e-10


@pytest.mark.parametrize("name", NOT_ZERO)
def test_what_is_not_zero_is_never_proved(name: str) -> None:
    assert not vanishes(NOT_ZERO[name])


@pytest.mark.parametrize(("conditions", "size"), [
    ([(x, ">=")], x),
    ([(x, ">")], x),
    ([(-3 * x, ">=")], -x),
    ([(x, "!=")], None),
    ([(x, "==")], None),
    ([(y, ">=")], None),
    ([(x / y, ">=")], None),
    ([(0 * x, ">=")], None),
])  # fmt: skip
def test_what_is_known_not_to_be_negative_is_its_own_absolute_value(conditions: list[Any], size: Any) -> None:
    found = [side for side in (x, -x) if vanishes(abs(x) - side, known=conditions)]
    assert found == ([] if size is None else [size])
    assert vanishes(abs(y - x) - x + y, known=[(2 * x - 2 * y, ">=")])
    assert not vanishes(abs(y - x) - y + x, known=[(2 * x - 2 * y, ">=")])


def test_multiples_of_angles_and_exponents_have_a_limit() -> None:
    """Beyond 24 of a unit they stand for themselves: less is proved."""
    for count, wanted in ((24, True), (25, False)):
        for unit in (x, x / count):
            powers = sp.Add(*(sp.exp(k * unit) for k in range(count)))
            assert vanishes((sp.exp(unit) - 1) * powers - sp.exp(count * unit) + 1) is wanted
        multiple = sp.cos(count * x) * sp.cos(x) + sp.sin(count * x) * sp.sin(x) - sp.cos((count - 1) * x)
        assert vanishes(multiple, work=10**6) is wanted


def test_the_work_is_counted_in_products_of_two_terms() -> None:
    for work in (5, 6):
        algebra = Algebra(work)
        a, b, c = (algebra.quantity(name) for name in "abc")
        if work < 6:
            with pytest.raises(Undecided, match="more work than one decision may take"):
                algebra.times(a + b, a + b + c)
        else:
            assert algebra.times(a + b, a + b + c) == (a + b) * (a + b + c)
            assert algebra.left == 0


def test_a_quantity_is_made_once_and_obeys_its_square() -> None:
    algebra = Algebra(1000)
    a = algebra.quantity("a", nonnegative=True)
    s = algebra.quantity("s", square=a + 1, positive=True)
    assert algebra.quantity("s") == s
    assert (algebra.nonnegative, algebra.positive) == ({0, 1}, {1})
    assert algebra.power(s, 5) == (a + 1) ** 2 * s
    assert algebra.reduce(s**5 * a - 3 * s**2 + s) == a * (a + 1) ** 2 * s - 3 * (a + 1) + s
    nested = algebra.quantity("t", square=s)
    assert algebra.reduce(nested**4) == a + 1
    assert algebra.power(nested, 0) == algebra.one


def test_common_factors_are_looked_for_where_that_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    algebra = Algebra(1000)
    a, b = algebra.quantity("a"), algebra.quantity("b")
    monkeypatch.setattr(module, "_GCD_SIZE", 4)
    assert algebra.quotient(2 * a * a - 2 * b * b, 2 * a + 2 * b) == (a - b, algebra.one)
    p, q = (a + b) * (a + 2 * b), 3 * a + 3 * b
    assert algebra.quotient(p, q) == (p / 3, q / 3)  # six products
    monkeypatch.setattr(module, "_FACTOR_SIZE", 3)
    assert algebra.factors(2 * p) == (2, [(a + 2 * b, 1), (a + b, 1)])
    assert algebra.factors(p + 1) == (1, [(p + 1, 1)])
    assert algebra.quotient(algebra.zero, q) == (algebra.zero, algebra.one)


def test_sums_are_taken_over_the_least_common_divisor_where_that_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(largest: int) -> int:
        monkeypatch.setattr(module, "_GCD_SIZE", largest)
        algebra = Algebra(1000)
        a, b, c = (algebra.quantity(name) for name in "abc")
        p, q = algebra.add([(algebra.one, (a + b) * (a + c)), (algebra.one, (a + b) * (b + c))])
        assert p * (a + b) * (a + c) * (b + c) == q * (a + b + 2 * c)
        return 1000 - algebra.left

    cheap, dear = spent(16), spent(0)
    assert cheap < dear
    assert (spent(15), spent(10**6)) == (dear, cheap)  # each of the divisors has four terms


# ---- signs


def test_what_is_certainly_at_least_zero() -> None:
    algebra = Algebra(1000)
    a, b = algebra.quantity("a", nonnegative=True), algebra.quantity("b")
    for p_, wanted in (
        (a, True),
        (b, False),
        (b**2 + a / 2, True),
        (-a / 2, False),
        (a - b**2 / 3, False),
        (a * b, False),
    ):
        assert algebra.is_nonnegative(p_) is wanted
    for kind in (algebra.absolute((b, algebra.one)), algebra.root((a, algebra.one)), algebra.root((b, algebra.one))):
        assert kind[0] not in (a, b)
        assert algebra.is_nonnegative(kind[0])
        assert algebra.absolute(kind) == kind
    assert algebra.is_nonnegative(algebra.root_of_number(fmpq(6)))
    assert algebra.root((algebra.zero, algebra.one)) == (algebra.zero, algebra.one)


def test_an_absolute_value_is_one_quantity_for_either_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FACTOR_SIZE", 0)  # what is too long to be split into factors
    algebra = Algebra(1000)
    a, b = algebra.quantity("a"), algebra.quantity("b")
    for number in (fmpq(1, 2), fmpq(1), fmpq(3)):
        first, second = (algebra.size_of(sign * number * (a - b)) for sign in (1, -1))
        assert first == second
        assert first in algebra.ring.gens()


# ---- multiples


def test_exponents_are_settled_as_small_multiples_of_one() -> None:
    for below, unit in ((24, fmpq(1, 24)), (25, fmpq(1))):
        algebra = Algebra(1000)
        a = algebra.quantity("a")
        algebra.settle_exponent((a, algebra.one))
        algebra.settle_exponent((a / below, algebra.one))
        ((terms, fraction),) = algebra.exponents
        assert (list(terms.values()), fraction) == ([unit], (unit * a, algebra.one))
    assert Algebra(10).exponential((algebra.zero, algebra.one))[0] == algebra.one


def test_an_angle_is_so_many_times_a_known_one_or_itself() -> None:
    algebra = Algebra(1000)
    algebra.settle_angle("t", fmpq(1))
    algebra.settle_angle("t", fmpq(30))
    for number, wanted in ((fmpq(-3), (1, -3)), (fmpq(24), (1, 24)), (fmpq(60), (30, 2)), (fmpq(25), (25, 1))):
        assert algebra.steps("t", number) == wanted
    for number in (fmpq(1, 2), fmpq(-1, 2), fmpq(1), fmpq(-1), fmpq(3), fmpq(-3)):
        unit, count = algebra.steps("another", number)
        assert (unit * count, abs(count)) == (number, 1)
        unit, count = algebra.steps("t", number)
        assert unit * count == number


def test_maxima_in_exponents_are_quantities_of_their_own() -> None:
    algebra = Algebra(1000)
    algebra.read(sp.exp(x - sp.Max(x, y)))
    assert sp.Max(x, y) in algebra.known
    assert not any(isinstance(key, tuple) and key[0] == "absolute" for key in algebra.known)


def test_a_logarithm_of_a_negative_multiple_stands_for_itself() -> None:
    algebra = Algebra(1000)
    a = algebra.quantity("a", positive=True)
    (found, _), (other, _) = (algebra.logarithm((number * a, algebra.one)) for number in (fmpq(-1, 2), fmpq(1, 2)))
    assert found in algebra.ring.gens()
    assert other not in algebra.ring.gens()


def test_parts_come_once_and_the_inner_ones_first() -> None:
    expression = sp.exp(x + 1) * sp.cos(sp.exp(x + 1)) + x
    parts = list(module._parts(expression))
    assert len(parts) == len(set(parts)) > 5
    assert all(parts.index(inner) < parts.index(outer) for outer in parts for inner in outer.args)


@pytest.mark.parametrize("name", [*ZERO, *NOT_ZERO])
def test_the_examples_are_what_they_are_called(name: str) -> None:
    """The lists above against numbers: 30 digits at a few points, both signs among them."""
    expression = {**ZERO, **NOT_ZERO}[name]
    sizes = []
    for values in ((-3, 5, 2, 7, 2), (4, -1, -6, 1, 3), (-2, -7, 1, 3, 5)):
        point = dict(zip((x, y, z, p, q), map(sp.Integer, values), strict=True))
        sizes.append(abs(sp.N(sp.sympify(expression).subs(point), 30, chop=False)))
    # Thirty digits of terms below e^14: what is zero leaves less than 10^-20; what is not shows at one point at least.
    assert (max(sizes) < 1e-20) == (name in ZERO) or name == "a constant"


def test_too_much_work_and_unknown_functions_are_undecided() -> None:
    with pytest.raises(Undecided, match="more work than one decision may take"):
        vanishes((x + y + z + 1) ** 12 - 1, work=1000)
    with pytest.raises(Undecided, match="no rule for gamma"):
        vanishes(sp.gamma(x) - 1)
    with pytest.raises(Undecided, match="the symbol w is not known to be real"):
        vanishes(sp.Symbol("w") - 1)
    with pytest.raises(Undecided, match="square root of a negative number"):
        vanishes(sp.sqrt(-1 - x**2) - 1)
    with pytest.raises(Undecided, match="divides by zero"):
        vanishes(1 / (sp.sqrt(p) ** 2 - sp.sqrt(p**2) + sp.Max(x, 0) - sp.Heaviside(x) * x))
    with pytest.raises(Undecided, match="more than 64 symbols and quantities"):
        vanishes(sum(sp.symbols("u:65", real=True)))
