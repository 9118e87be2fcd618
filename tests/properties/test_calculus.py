"""Gradients, second derivatives, and the claims that one call makes of a function's derivatives."""

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb

from resstream.arithmetic import (
    FLOAT64,
    RATIONAL,
    SYMBOLIC,
    Ball,
    absolute,
    derivative,
    exact,
    exp,
    gradient,
    hessian,
    jacobian,
    log,
    pi,
    relu,
    sin,
    tanh,
    total,
)
from resstream.arithmetic.terms import Terms
from resstream.calculus import jacobian_is, lipschitz
from resstream.claim import Instance
from resstream.domains import Matrix, NonConstant, Pair, RowStochastic, Scalar, Simplex, Vector
from resstream.errors import ClaimError, DomainError, Kink, ShapeError
from resstream.falsify import falsify
from resstream.falsify.judge import judge
from resstream.reference import (
    L1,
    L2,
    LINF,
    Lp,
    entropy,
    gelu,
    layer_norm,
    layer_norm_jacobian,
    logsumexp,
    row_norms,
    softmax,
    spectral_norm,
)

POINT = [[0.25, -0.5, 1.25]]

FUNCTIONS = {
    # of rows to numbers, and the same of three numbers in SymPy
    "cubic": (lambda x: total(x) ** 3 + total(x * x), lambda a, b, c: (a + b + c) ** 3 + a**2 + b**2 + c**2),
    "quotient": (lambda x: 1 / (3 + total(x)), lambda a, b, c: 1 / (3 + a + b + c)),
    "logsumexp": (logsumexp, lambda a, b, c: sp.log(sp.exp(a) + sp.exp(b) + sp.exp(c))),
    "gelu": (
        lambda x: total(gelu(x)) * total(x),
        lambda *x: sum(v * (1 + sp.erf(v / sp.sqrt(2))) / 2 for v in x) * sum(x),
    ),
    "l3": (lambda x: row_norms(x, Lp(3)), lambda *x: sum(sp.sqrt(v**2) ** 3 for v in x) ** sp.Rational(1, 3)),
    "sine": (lambda x: sin(total(x)) + log(4 + total(tanh(x))),
             lambda *x: sp.sin(sum(x)) + sp.log(4 + sum(map(sp.tanh, x)))),
}  # fmt: skip


def second_derivatives(name):
    """By SymPy, at the point, to 40 digits."""
    symbols = sp.symbols("a b c", real=True)
    at = dict(zip(symbols, map(sp.Rational, POINT[0]), strict=True))
    matrix = sp.hessian(FUNCTIONS[name][1](*symbols), symbols).subs(at)
    return [mpmath.mpf(str(entry)) for entry in matrix.evalf(40)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_are_those_of_sympy_in_every_reading(name):
    function, _ = FUNCTIONS[name]
    compared = 0
    with mpmath.workdps(40):
        values = second_derivatives(name)
        scale = max(map(abs, values))
        with (system := Ball(192)).working():
            for entry, value in zip(hessian(function, system.array(POINT)).flat, values, strict=True):
                assert abs(mpmath.mpf(entry.value.mid().str(40, radius=False)) - value) < mpmath.mpf(10) ** -30
                assert entry.value.rad() < 1e-40
                compared += 1
        floats = hessian(function, FLOAT64.array(POINT))
        assert all(abs(float(x) - value) < 1e-11 * scale for x, value in zip(floats.flat, values, strict=True))
        for entry, value in zip(hessian(function, SYMBOLIC.array(POINT)).flat, values, strict=True):
            assert abs(mpmath.mpf(str(entry.value.evalf(40))) - value) < mpmath.mpf(10) ** -30
            compared += 1
        with (system := Terms(256)).working():
            for entry, value in zip(hessian(function, system.array(POINT)).flat, values, strict=True):
                assert abs(mpmath.mpf(entry.enclosure.mid().str(40, radius=False)) - value) < mpmath.mpf(10) ** -30
                compared += 1
    assert compared == 27


def test_second_derivatives_of_rationals_are_exact():
    found = hessian(FUNCTIONS["cubic"][0], RATIONAL.array([[1, 2, 3]]))
    assert [[str(entry) for entry in row] for row in found] == [
        ["38", "36", "36"],
        ["36", "38", "36"],
        ["36", "36", "38"],
    ]
    third = derivative(
        lambda y: hessian(FUNCTIONS["cubic"][0], y), RATIONAL.array([[1, 2, 3]]), RATIONAL.array([[1, 0, 0]])
    )
    assert {str(entry) for entry in third.flat} == {"6"}


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_second_derivatives_of_floats_keep_to_each_instances_scale(scale):
    rows = np.stack([scale * np.array(POINT), np.array([[1.0, 2.0, 3.0]])])
    found = hessian(lambda x: total(x) ** 3, rows)
    assert np.allclose(found[0], 6 * scale, rtol=1e-10, atol=0)
    assert np.allclose(found[1], 36, rtol=1e-10, atol=0)


def test_a_gradient_has_the_shape_of_its_argument():
    X = np.arange(6.0).reshape(2, 3)
    assert np.allclose(gradient(lambda x: total(total(x**2), -2), X), 2 * X, rtol=1e-14, atol=0)
    batch = np.stack([X, X + 1])
    assert gradient(lambda x: total(total(x**2), -2), batch).shape == (2, 2, 3)
    exactly = gradient(lambda x: total(total(x * x), -2), RATIONAL.array(X))
    assert [str(entry) for entry in exactly.flat] == ["0", "2", "4", "6", "8", "10"]
    with pytest.raises(
        ShapeError, match=r"function: expected values of shape \(..., 1, 1\), got \(1, 3\); see jacobian"
    ):
        gradient(lambda x: x, np.ones((1, 3)))


def test_a_complex_number_of_a_user_is_still_refused():
    with pytest.raises(DomainError, match="x: expected real entries, got dtype complex128"):
        derivative(lambda x: x, np.ones((1, 1)) * 1j, np.ones((1, 1)))


def test_kinks_say_what_they_are():
    zero = RATIONAL.array([[0, 1]])
    for system, at in ((RATIONAL, zero), (SYMBOLIC, SYMBOLIC.array([[0, 1]]))):
        with system.working(), pytest.raises(Kink, match="derivative asked at a kink"):
            jacobian(absolute, at)
    with (system := Ball(64)).working():
        around = system.array([[arb(0, 1e-10), 1]])
        with pytest.raises(Exception, match="not known") as raised:
            jacobian(relu, around)
    assert not isinstance(raised.value, Kink)


# ---- claims ------------------------------------------------------------------

TRUE = {
    "softmax in l2": lambda: lipschitz("t.a", softmax, Vector("d"), exact(1, 2)),
    "softmax from l1 to linf": lambda: lipschitz("t.b", softmax, Vector("d"), exact(1, 4), L1, LINF),
    "relu, with kinks": lambda: lipschitz("t.c", relu, Vector("d"), 1),
    "gelu": lambda: lipschitz("t.d", gelu, Scalar(), exact(113, 100)),
    "tanh in l3": lambda: lipschitz("t.e", tanh, Vector("d"), 1, Lp(3)),
    "sin(pi x)": lambda: lipschitz("t.f", lambda x: sin(pi * x), Scalar(), pi),
    "attention": lambda: lipschitz(
        "t.g", lambda x, A: A @ x, Matrix("n", "d"), lambda A: spectral_norm(A), over={"A": RowStochastic("n")}
    ),
    "x.x on the simplex": lambda: lipschitz("t.h", lambda x: total(x * x), Simplex("d"), 1, L1),
    "the Jacobian of LayerNorm": lambda: jacobian_is("t.i", layer_norm, layer_norm_jacobian, NonConstant("d")),
    "the Jacobian of x A": lambda: jacobian_is(
        "t.j", lambda x, A: x @ A, lambda x, A: A + 0 * x.mT, Vector("n"), over={"A": RowStochastic("n")}
    ),
}
FALSE = {
    "softmax in l2": lambda: lipschitz("f.a", softmax, Vector("d"), exact(49, 100)),
    "relu": lambda: lipschitz("f.b", relu, Vector("d"), exact(99, 100)),
    "gelu": lambda: lipschitz("f.c", gelu, Scalar(), exact(1128, 1000)),
    "attention": lambda: lipschitz("f.d", lambda x, A: A @ x, Matrix("n", "d"), 1, over={"A": RowStochastic("n")}),
    "entropy": lambda: lipschitz("f.e", entropy, Simplex("d"), 2),
    "x.x on all rows": lambda: lipschitz("f.f", lambda x: total(x * x), Vector("d"), 1, L1),
    "the Jacobian of LayerNorm": lambda: jacobian_is(
        "f.g", layer_norm, lambda x: 2 * layer_norm_jacobian(x), NonConstant("d")
    ),
    "the Jacobian of exp": lambda: jacobian_is("f.h", exp, lambda x: exp(x) + 0 * x.mT, Vector("d")),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_survives_and_nothing_is_undecided(name):
    verdict = falsify(TRUE[name](), 1_200)
    assert verdict.status == "survived", verdict
    assert (verdict.tally.accepted >= 200, verdict.tally.undecided) == (True, 0)


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_refuted(name):
    assert falsify(FALSE[name](), 3_000).status == "refuted"


def test_the_jacobian_alone_refutes_at_one_point():
    """Pairs of equal rows say nothing; the operator norm at such a point does."""
    raw = Instance({}, {}, {name: np.zeros((1, 2)) for name in ("pair.0", "pair.1")})
    assert judge(lipschitz("t.point", softmax, Vector(2), exact(49, 100)), raw).outcome == "violated"
    assert judge(lipschitz("t.point", softmax, Vector(2), exact(1, 2)), raw).outcome == "holds"
    assert judge(lipschitz("t.pairs", softmax, Simplex(2), exact(49, 100)), raw).outcome == "holds"


def test_a_set_without_an_inside_says_nothing_of_the_jacobian():
    """x -> 5 x is constant on a set of one point, and x -> x - x^T on symmetric matrices."""

    @dataclass(frozen=True)
    class Diagonal(Matrix):
        def build(self, raw, options, sizes):  # noqa: ARG002
            return 0 * raw[""] + raw[""][..., :1, :1]

        def contains(self, value, sizes):  # noqa: ARG002
            return bool(np.all(value == value[:1, :1]))

    assert falsify(lipschitz("t.one", lambda x: 5 * x, Scalar(2, 2), 1), 500).status != "refuted"
    assert falsify(lipschitz("t.two", lambda x: 5 * x, Scalar(2, 3), 1), 500).status == "refuted"
    constant = lipschitz("t.tied", lambda x: 5 * (x[..., :1] - x[..., 1:]), Diagonal(1, 2), 1)
    assert falsify(constant, 2_000).status == "survived"
    assert (
        falsify(lipschitz("t.free", lambda x: 5 * (x[..., :1] - x[..., 1:]), Matrix(1, 2), 1), 500).status == "refuted"
    )


def test_a_claim_says_what_it_is_of():
    claim = lipschitz("t.said", softmax, Vector("d"), exact(1, 2), L1, LINF, source="here", sizes={"d": range(2, 4)})
    said = "softmax is Lipschitz from l1 to linf with the constant 1/2"
    assert claim.headline == f"{said}, which its Jacobian at pair[0] does not exceed."
    assert lipschitz("t.pairs", softmax, Simplex("d"), exact(1, 2), L1, LINF).headline == f"{said}."
    assert lipschitz("t.own", softmax, Simplex("d"), 1, statement="As I say.").headline == "As I say."
    assert (claim.source, claim.size_ranges(), claim.over["pair"]) == ("here", {"d": range(2, 4)}, Pair(Vector("d")))
    assert jacobian_is("t.s", exp, lambda x: x, Vector("d")).headline == "The Jacobian of exp is the function."
    with pytest.raises(ClaimError, match=r"over: expected other names than x and pair"):
        lipschitz("t.bad", softmax, Vector("d"), 1, over={"x": Vector("d")})
    with pytest.raises(ClaimError, match=r"over: expected other names than x, which"):
        jacobian_is("t.bad", softmax, softmax, Vector("d"), over={"x": Vector("d")})
    with pytest.raises(ClaimError, match=r"constant: expected a number, a literal or a function, got 0.5"):
        lipschitz("t.bad", softmax, Vector("d"), 0.5)
    with pytest.raises(ClaimError, match=r"claim t.bad: .*unexpected keyword argument 'sorce'"):
        lipschitz("t.bad", softmax, Vector("d"), 1, L2, sorce="here")
