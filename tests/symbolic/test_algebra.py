"""The decision whether an expression is zero: what it proves, and what it must never prove."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from resstream.errors import Undecided
from resstream.prove.algebra import vanishes

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
}


@pytest.mark.parametrize("name", ZERO)
def test_zero_is_proved(name: str) -> None:
    assert vanishes(ZERO[name])


@pytest.mark.parametrize("name", NOT_ZERO)
def test_what_is_not_zero_is_never_proved(name: str) -> None:
    assert not vanishes(NOT_ZERO[name])


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


def test_what_is_proved_of_random_expressions_is_zero_in_numbers() -> None:
    """Differences of random expressions, half of them zero up to a sign that was guessed."""
    rng = np.random.default_rng(0)
    point = {x: sp.Integer(-3), y: sp.Integer(2), p: sp.Integer(5)}
    pick = lambda choices: choices[rng.integers(len(choices))]  # noqa: E731
    term = lambda: sum(int(rng.integers(-2, 3)) * leaf for leaf in (x, y, p, 1))  # noqa: E731
    proved = 0
    for _ in range(100):
        first, second = term(), term()
        left = pick([abs(first * second), sp.sqrt(first**2 * second**2), 2 * sp.Max(first, second)])
        right = pick([abs(first) * second, abs(first) * abs(second), first + second + abs(first - second)])
        if vanishes(left - right):
            proved += left != right
            assert abs(sp.N(left.subs(point) - right.subs(point), 30)) < 1e-20
    assert proved >= 20  # or nothing was tested


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
