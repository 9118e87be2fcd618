"""Claims modified as text: what the expressions mean, and that everything but arithmetic is refused, with its place."""

import re
from fractions import Fraction

import numpy as np
import pytest

from resstream import claims
from resstream.arithmetic import RATIONAL, total
from resstream.claim import at_most, claim
from resstream.domains import (
    Causal,
    Given,
    Matrix,
    Norm,
    Product,
    RowStochastic,
    Scalar,
    Stack,
    SymmetricWithSpectrum,
    Vector,
)
from resstream.errors import ClaimError, DomainError
from resstream.falsify import falsify, vary
from resstream.falsify.expressions import side
from resstream.falsify.syntax import ExpressionError
from resstream.falsify.variants import parse_range
from resstream.falsify.written_domains import parse_domain


@pytest.fixture
def contraction():
    return claims.lookup("contraction.diameter")


def value(text, **scope):
    return side(text, tuple(scope), "rhs")(**{name: scope[name] for name in scope if name in text})


HOSTILE = [
    ("X.mT", 1, "attribute access is not allowed"),
    ("X.__class__", 1, "attribute access is not allowed"),
    ("().__class__.__bases__", 1, "attribute access is not allowed"),
    ("__import__('os')", 1, "unknown function '__import__'"),
    ("lhs + __builtins__", 7, "unknown name '__builtins__'"),
    ("eval('1')", 1, "unknown function 'eval'"),
    ("open('x')", 1, "unknown function 'open'"),
    ("getattr(X, 'T')", 1, "unknown function 'getattr'"),
    ("(lambda: 1)()", 2, "expected the plain name of a function"),
    ("[x for x in X]", 1, "a comprehension is not allowed"),
    ("lhs if rhs else lhs", 1, "a condition is not allowed"),
    ("lhs < rhs", 1, "a comparison is not allowed"),
    ("lhs and rhs", 1, "and/or is not allowed"),
    ("X[0]", 3, "expected two places"),
    ("X[0, 1, 2]", 3, "expected two places"),
    ("X[0, ::2]", 8, "expected no step"),
    ("X[0, lhs]", 6, "expected a whole number"),
    ("X[0, 1.5]", 6, "expected a whole number"),
    ("X[0, 100]", 6, "expected a place from 0 to"),
    ("X[0, 5:5]", 6, "expected one place at least"),
    ("X[0, n // 0]", 6, "cannot be evaluated: division by zero"),
    ("norm[0, 0]", 1, "expected a matrix, got Norm"),
    ("identity(2 / 3)", 10, "expected a whole number"),
    ("identity(rhs)", 10, "expected a whole number"),
    ("X ** (n - rows(A) - 1)", 7, "expected an exponent between 0 and 1024, got -1"),
    ("X ** (20 * n)", 1, "powers up to 1,280, expected at most 1,024"),
    ("matrix_power(A, 2000)", 1, "powers up to 2,000, expected at most 1,024"),
    ("(y := 1)", 2, "an assignment is not allowed"),
    ("'a' * 10", 1, "expected a whole number or a decimal"),
    ("f'{lhs}'", 1, "a string is not allowed"),
    ("1j * lhs", 1, "expected a whole number or a decimal"),
    ("True", 1, "expected a whole number or a decimal"),
    ("lhs % 2", 1, "this operator is not allowed"),
    ("~lhs", 1, "unaryop is not allowed"),
    ("2 ** 999999999", 6, "expected a whole exponent between 0 and 16"),
    ("2 ** lhs", 6, "expected a whole exponent between 0 and 16"),
    ("lhs ** -1", 8, "expected a whole exponent between 0 and 16"),
    ("lhs ** 0.5", 8, "expected a whole exponent between 0 and 16"),
    ("9" * 41, 1, "expected a whole number or a decimal of at most 40 characters"),
    ("1e999 * lhs", 1, "expected an exponent between -300 and 300"),
    ("dobrushin", 1, "dobrushin is a function, expected a call"),
    ("dobrushin(A, A)", 1, "too many positional arguments"),
    ("dobrushin(*A)", 11, "expected no *"),
    ("dobrushin(**A)", 13, r"expected no \*\*"),
    ("diameter(X, norms=norm)", 1, "unexpected keyword argument"),
    ("diametre(X)", 1, "unknown function 'diametre', expected one such as diameter"),
    ("dobrushin(A) * nrom", 16, "unknown name 'nrom', expected one of lhs, rhs, A, X, norm"),
    ("diameter(X, Lp(1/2))", 13, "p: expected a fraction of at least 1"),
    ("diameter(X, Lp(rhs))", 13, "Lp: expected numbers, not variables"),
    ("pi(1)", 1, "unknown function 'pi'"),
    ("dobrushin(A", 10, "not an expression"),
    ("", 1, "not an expression"),
    ("import os", 1, "not an expression"),
    ("lhs; rhs", 4, "not an expression"),
    ("lhs\nrhs", 1, "expected a single line"),
    ("(" * 60 + "lhs" + ")" * 60, 1, "brackets 60 deep"),
    ("-" * 60 + "lhs", 42, "nested more than 40 deep"),
    ("lhs + " * 200 + "lhs", 1, "1203 characters, expected at most 1000"),
    ("+".join(["lhs"] * 60), 1, "nested more than 40 deep"),
]


@pytest.mark.parametrize(("text", "column", "message"), HOSTILE, ids=[text[:20].strip() for text, _, _ in HOSTILE])
def test_what_is_no_arithmetic_is_refused_with_its_place(contraction, text, column, message):
    with pytest.raises(ExpressionError, match=message) as raised:
        vary(contraction, rhs=text)
    head, *shown = str(raised.value).split("\n")
    assert head.startswith(f"rhs, column {column}: ")
    assert shown[-1].strip() == "^"
    if len(text) < 60 and "\n" not in text:
        assert shown == [f"  {text}", " " * (column + 1) + "^"]


def test_exact_numbers_inside_an_expression_are_bounded(contraction):
    with pytest.raises(ExpressionError, match="a number of more than 4096 bits"):
        vary(contraction, rhs="((((10 ** 16) ** 16) ** 16) ** 16) * rhs")


def test_shapes_that_do_not_fit_are_said_with_their_place(contraction):
    with pytest.raises(ExpressionError, match="rhs, column 1: cannot be evaluated: matmul"):
        vary(contraction, rhs="X @ A @ X")


def test_a_division_by_zero_is_said_with_its_place(contraction):
    with pytest.raises(ExpressionError, match="column 7: cannot be evaluated: division by zero"):
        vary(contraction, rhs="rhs + 1 / (2 - 2)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.99 * x", "99/50"),
        ("x / 3", "2/3"),
        ("1 / 3 + x", "7/3"),
        ("x ** 3 - 1e-2", "799/100"),
        ("-x + 2 * (x - 1)", "0"),
        ("x ** 0", "1"),
        ("2 ** 4 / x", "8"),
        ("maximum(x, 3 * x)", "6"),
        ("total(x @ x)", "4"),
        ("abs(-x)", "2"),
        ("transpose(x)", "2"),
        ("beside(x, 3 * x, x)[0, 1:2]", "6"),
        ("above(x, 3 * x)[-1, :]", "6"),
        ("beside(x, 3 * x)[:, rows(x)]", "6"),
        ("matrix_power(x, 3)", "8"),
        ("7 // 2 + x", "5"),
        ("-3 // 2 + x", "0"),
        ("root(4 * x, 3)", "2"),
        ("row_norms(x, Lp(3))", "2"),
        ("operator_norm(x, LINF, L1) + rank(x)", "3"),
    ],
)
def test_numbers_are_exact_fractions(text, expected):
    assert str(value(text, x=RATIONAL.array([[2]])).item()) == expected


def test_the_present_sides_may_be_used(contraction):
    assert falsify(vary(contraction, rhs="0.9 * rhs"), 10_000).status == "refuted"
    assert falsify(vary(contraction, lhs="0.9 * lhs", rhs="1.1 * rhs"), 10_000).status == "survived"


def test_no_change_is_the_claim_itself(contraction):
    assert vary(contraction) is contraction


def test_domains_are_read_from_text():
    assert parse_domain("Causal(n)") == Causal("n")
    assert parse_domain("Matrix(n, 3)") == Matrix("n", 3)
    assert parse_domain("Norm(d, kinds=('l1', 'l2'), bases=False)") == Norm("d", ("l1", "l2"), False)
    assert parse_domain("Stack(L, Matrix(d, d))") == Stack("L", Matrix("d", "d"))
    assert parse_domain("Scalar(-0.1, 1/3)") == Scalar(Fraction(-1, 10), Fraction(1, 3))
    assert parse_domain("Given([1, 1/2], [0, 3])") == Given([1, Fraction(1, 2)], [0, 3])
    assert parse_domain("Product(Simplex(n), Vector(d))") == Product(RowStochastic(1, "n"), Matrix(1, "d"))
    assert parse_domain("SymmetricWithSpectrum((2, 0.5))") == SymmetricWithSpectrum((2, Fraction(1, 2)))


def test_a_size_that_nothing_declares_is_refused(contraction):
    with pytest.raises(ClaimError, match=r"size 'm' is none of the claim's \(d, n\): give its range with sizes, m=1:6"):
        vary(contraction, over={"A": "RowStochastic(m)"})
    with pytest.raises(ClaimError, match=r"norm.basis: expected"):
        vary(contraction, over={"norm": "Norm(n)"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Causal", "expected a domain such as Causal(n)"),
        ("Causl(n)", "unknown domain 'Causl'"),
        ("Causal(n, n, n)", "Causal: too many positional arguments"),
        ("Matrix(n, [d])", "Matrix: columns: expected a name"),
        ("Matrix(n, d.e)", "expected a size, a number"),
        ("__import__('os')", "unknown domain '__import__'"),
        ("Matrix(*n)", "expected a size, a number"),
        ("Matrix(**n)", "expected no **"),
        ("Whole(0, 99999999999999999999)", "expected a number of at most 10^18"),
        ("Whole(0, 999999999999999999)", "Whole: high: expected a whole number from -2^53 to 2^53"),
        ("Whole(5, 2)", "Whole: low, high: expected the smaller end first, got 5 and 2"),
        ("Scalar(1/0)", "division by zero"),
        ("Scalar(0.1, 0)", "Scalar: low, high: expected the smaller end first, got 1/10 and 0"),
        ("Scalar(1e99999)", "at most 2000 digits"),
        ("Scalar(None, 'a')", "Scalar: high: expected a whole number or a fraction"),
        ("Causal(0)", "Causal: rows: expected a name such as 'n' or a whole number of at least 1, got 0"),
        ("Causal(True)", "Causal: rows: expected a name"),
        ("Causal('n d')", "Causal: rows: expected a name"),
        ("Stack(L, 3)", "Stack: inner: expected a domain"),
        ("Norm(d, kinds=())", "Norm: kinds: expected a tuple"),
        ("Norm(d, kinds=5)", "Norm: kinds: expected a tuple"),
        ("Orthogonal(2, 3)", "no 3 columns of height 2 are orthonormal"),
        ("Given([[1, 2], [3]])", "rows of equal length"),
        ("Transformed(Causal(n), abs)", "takes a function: state such a claim in a file"),
    ],
)
def test_what_is_no_domain_is_refused(text, message):
    with pytest.raises(ExpressionError, match=re.escape(message)):
        parse_domain(text)


def test_ranges_are_inclusive_and_checked(contraction):
    assert parse_range("n", "2:6") == range(2, 7)
    assert parse_range("n", "3") == range(3, 4)
    for text in ("6:2", "n", "", "1:2:3", "-1:2"):
        with pytest.raises(ClaimError, match="sizes n="):
            parse_range("n", text)
    with pytest.raises(ClaimError, match="size n goes up to 999, expected at most 64"):
        vary(contraction, sizes={"n": "999"})
    with pytest.raises(ClaimError, match="sizes='k'"):
        vary(contraction, sizes={"k": "2"})
    with pytest.raises(ClaimError, match=r"raw numbers .*expected at most"):
        vary(contraction, over={"X": "Matrix(n, 1000000)"})
    with pytest.raises(ClaimError, match="over='B'"):
        vary(contraction, over={"B": "Causal(n)"})
    with pytest.raises(ClaimError, match="without='finite'"):
        vary(contraction, without=["finite"])


def test_errors_of_the_reference_keep_their_own_kind(contraction):
    with pytest.raises(ClaimError, match="raised ShapeError: K: expected"):
        vary(contraction, rhs="total_entry(attention_scores(A, X))")
    broken = side("dobrushin(x)", ("x",), "rhs")
    with pytest.raises(DomainError, match="row-stochastic"):
        broken(x=np.array([[2.0]]))


# ---- there is, and for all --------------------------------------------------


@claim("expressions.row", over={"x": Vector("n"), "X": Matrix("n", "d")}, sizes={"n": range(1, 4), "d": range(1, 3)})
def a_row(x, X):
    """A row and a cloud."""
    return at_most(x - x, total(X - X, -2)[..., :1])


MIDDLE = "(amax(X, -2) + amin(X, -2)) / 2"


@pytest.mark.parametrize(
    ("conclusion", "wanted"),
    [
        ("exists(j in Subset(n, 1), at_most(total(j * x), mean(x)))", "survived"),
        ("exists(j in Subset(n, 1), less_than(total(j * x), mean(x)))", "refuted"),
        ("for_all(P in Permutation(n), equal(total(x @ P), total(x)))", "survived"),
        ("for_all(s in Whole(-1, 1, 1, n), at_most(total(s * x), total(abs(x))))", "survived"),
        ("for_all(s in Whole(-1, 1, 1, n), at_most(total(s * x), amax(abs(x))))", "refuted"),
        ("exists(P in Permutation(n), equal(x @ P, descending(x)))", "survived"),
        (f"exists(c in Matrix(1, d), at_most(abs(X - c), enclosing_radius(X, LINF)), {MIDDLE})", "survived"),
        ("exists(c in Matrix(1, d), at_most(abs(X - c), enclosing_radius(X, LINF) / 2), mean(X, -2))", "refuted"),
        ("for_all(P in Permutation(n), exists(Q in Permutation(n), equal(x @ P @ Q, x)))", "survived"),
        ("negation(exists(j in Subset(n, 1), at_least(total(j * x), amax(x) + 1)))", "survived"),
        ("equal(expectation(s in Signs(1, n), total(s * x) ** 2), total(x ** 2))", "survived"),
        ("equal(expectation(s in Signs(1, n), total(s * x) ** 2), total(x) ** 2)", "refuted"),
        ("equal(expectation(P in Permutation(n), x @ P), mean(x))", "survived"),
        ("equal(expectation(q in OnSphere(n), total(q * x) ** 2), total(x ** 2))", "refuted"),
        ("equal(expectation(q in Gaussian(1, n, variance=1/2), total(q * x) ** 2), total(x ** 2) / 2)", "survived"),
        ("for_all(P in Permutation(n), equal(expectation(s in Signs(1, n), total(s * x @ P)), 0))", "survived"),
    ],
)  # fmt: skip
def test_quantified_relations_as_text(conclusion, wanted):
    varied = vary(a_row, conclusion=conclusion)
    assert falsify(varied, 600).status == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exists(Permutation(n), equal(x, x))", "expected a new name and its domain, as in exists"),
        ("exists(P == Permutation(n), equal(x, x))", "expected `in` between the name and its domain"),
        ("exists(x in Permutation(n), equal(x, x))", "the name x has a meaning already"),
        ("exists(n in Permutation(n), equal(x, x))", "the name n has a meaning already"),
        ("exists(pi in Permutation(n), equal(x, x))", "the name pi has a meaning already"),
        ("exists(P in Permutation(m), equal(x, x))", r"size 'm' is none of the claim's \(d, n\)"),
        ("exists(P in Permutations(n), equal(x, x))", "unknown domain 'Permutations'"),
        ("exists(P in 3, equal(x, x))", "expected a domain such as"),
        ("for_all(P in Permutation(n), equal(x, x), x)", r"expected for_all\(P in Permutation\(n\), relation\)"),
        ("exists(P in Permutation(n))", "expected exists"),
        ("exists(q in Gaussian(1, n), equal(x, x))", "unknown domain 'Gaussian'"),
        ("equal(expectation(q in Gaussian(1, n)), x)", r"expected expectation\(q in Gaussian\(1, d\), value\)"),
        ("equal(expectation(Gaussian(1, n), x), x)", "expected a new name and its domain, as in expectation"),
        ("equal(expectation(q in Vector(n), q), x)", "finite"),
        ("equal(expectation(q in Gaussian(1, m), total(q)), total(x))", "size 'm' is none of the claim's"),
        ("equal(expectation(q in Nothing(1, n), q), x)", "unknown domain 'Nothing'"),
        ("exists(P in Permutation(n), equal(x, x), witnesses=x)", "expected exists"),
        ("every(exists(P in Permutation(n), equal(x, x)), equal(P, P))", "unknown name 'P'"),
        ("exists(P in Permutation(n), exists(P in Permutation(n), equal(x, x)))", "the name P has a meaning already"),
        ("at_most(x in Matrix(n, d), x)", "a comparison is not allowed"),
        ("exists(P in Transformed(n), equal(x, x))", "takes a function"),
        ("exists(P in Permutation(n), P)", "cannot be evaluated|expected a function that gives a relation"),
        ("exists(P in Matrix(n, n), equal(x, x))", "expected a finite domain"),
    ],
)
def test_what_is_no_quantified_relation_is_refused(text, message):
    with pytest.raises(ClaimError, match=message):
        falsify(vary(a_row, conclusion=text), 100)


def test_a_mean_is_a_side():
    grown = vary(a_row, lhs="expectation(s in Signs(1, n), total(s * x) ** 2)", rhs="total(x ** 2)")
    assert falsify(grown, 600).status == "survived"


def test_a_side_states_no_relation():
    with pytest.raises(ExpressionError, match="unknown function 'exists'"):
        side("exists(P in Permutation(n), equal(x, x))", ("x",), "rhs", ("n",))
