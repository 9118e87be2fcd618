"""The decision whether an expression is zero: what it proves, and what it must never prove."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from resstream.errors import Undecided
from resstream.prove import algebra as module
from resstream.prove.algebra import Algebra, vanishes

x, y, z = sp.symbols("x y z", real=True)
p, q = sp.symbols("p q", positive=True)

ZERO = {
    "common factor": (x**2 - y**2) / (x - y) - x - y,
    "root of a square": sp.sqrt(x**2 * (1 + y**2)) - abs(x) * sp.sqrt(1 + y**2),
    "root below": 1 / sp.sqrt(2) - sp.sqrt(2) / 2,
    "root of a quotient": sp.sqrt((x - y) ** 2 / p) - abs(y - x) / sp.sqrt(p),
    "nested roots": sp.sqrt(sp.sqrt(1 + x**2)) ** 4 - 1 - x**2,
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
    "primes below roots": sp.sqrt(12 * p) - 2 * sp.sqrt(3) * sp.sqrt(p),
    "roots of fractions": sp.sqrt(sp.Rational(3, 8) * p) * 4 - sp.sqrt(6 * p),
    "a root of a negative multiple": sp.sqrt(-4 * x * p) - 2 * sp.sqrt(-x) * sp.sqrt(p),
    "a cube below a root": sp.sqrt(p**3 * (x**2 + 1) ** 2) - p * (x**2 + 1) * sp.sqrt(p),
    "a fourth root": sp.root(p, 4) ** 2 - sp.sqrt(p),
    "a power of a root": sp.sqrt(p) ** -3 * p**2 - sp.sqrt(p),
    "an absolute quotient": abs(-3 * x / y) - 3 * abs(x) / abs(y),
    "signs": sp.sign(-x * y) + sp.sign(x) * sp.sign(y),
    "sums below a common divisor": 1 / (x + y) + 1 / (x - y) - 2 * x / (x**2 - y**2),
    "a negative power": x**-2 * x**3 - x,
    "exponents with a common unit": sp.exp(x / 2) * sp.exp(x / 3) - sp.exp(5 * x / 6),
    "exponents below zero": sp.exp(-2 * x + 3 * y) * sp.exp(x) ** 2 - sp.exp(y) ** 3,
    "the number e": sp.exp(2) - sp.E**2,
    "an odd function": sp.tanh(-x) + sp.tanh(x),
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
    assert vanishes(ZERO[name])


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
