"""Statements and code set as formulas: what is known is set, and what is not is left alone."""

import re
from html.parser import HTMLParser

import pytest

from resstream import claims
from resstream.arithmetic import exact
from resstream.claim import at_most, every
from resstream.reference import (
    L1,
    LINF,
    Lp,
    diameter,
    dobrushin,
    kl_divergence,
    operator_norm,
    pseudo_inverse,
    row_norms,
    schatten_norm,
    trace,
)
from resstream.typeset import conclusion, prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tau(A)^2 <= ||W||", "τ(A)² ≤ ‖W‖"),
        ("x_0 -> x_i, (1 + c/S)^S", "x₀ → xᵢ, (1 + c/S)ˢ"),
        ("W_OV W_QK stays", "W_OV W_QK stays"),
        ("contraction.tau_of_beta stays", "contraction.tau_of_beta stays"),
        ("alphabet, epsilon >= 0 and `code`", "alphabet, ε ≥ 0 and code"),
        ("x^1.5 stays", "x^1.5 stays"),
    ],
)
def test_prose(text, expected):
    assert prose(text) == expected


def test_a_conclusion_is_read_off_its_code():
    formulas = conclusion(claims.lookup("contraction.diameter").conclusion)
    assert [formula.latex for formula in formulas] == [
        r"\operatorname{diam}\left(A\, X\right) \le \tau\left(A\right) \cdot \operatorname{diam}\left(X\right)"
    ]
    words = re.sub(r"<[^>]+>", " ", formulas[0].mathml).split()
    assert words == ["diam", "(", "A", "&#x2062;", "X", ")", "≤", "τ", "(", "A", ")", "·", "diam", "(", "X", ")"]


def test_norms_and_functions_have_the_signs_of_their_field():
    def stated(p, q, W, X):
        return at_most(
            kl_divergence(p, q) + trace(pseudo_inverse(W)),
            operator_norm(W, LINF, L1) * row_norms(X, Lp(exact(3, 2))) + schatten_norm(W, L1) + diameter(X, Lp(3)),
        )

    (formula,) = conclusion(stated)
    assert formula.latex == (
        r"\operatorname{KL}\left(p, q\right) + \operatorname{tr}\left({W}^{+}\right) \le "
        r"\left\|W\right\|_{\infty \to 1} \cdot \left\|X\right\|_{3/2} + \left\|W\right\|_{S_{1}} + "
        r"\operatorname{diam}_{3}\left(X\right)"
    )
    assert "<mn>∞ → 1</mn>" in formula.mathml
    assert "<mn>S1</mn>" in formula.mathml


def test_several_relations_and_definitions():
    def stated(A, B, X):
        product = A @ B
        return every(at_most(diameter(product @ X), 1), at_most(dobrushin(A) ** 2 / (1 - dobrushin(B)), -1))

    first, second, where = conclusion(stated)
    assert first.latex.startswith(r"\operatorname{diam}")
    assert r"\frac{{\tau\left(A\right)}^{2}}{1 - \tau\left(B\right)} \le -1" in second.latex
    assert r"\text{where } \mathrm{product} = A\, B" in where.latex


def test_too_much_code_is_no_formula():
    def stated(A):
        for _ in range(3):
            A = A @ A
        return at_most(dobrushin(A), 1)

    assert conclusion(stated) == []
    assert conclusion(len) == []


class Nested(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, _attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_every_formula_of_the_library_is_well_formed():
    found = 0
    for claim in claims.library().values():
        for formula in conclusion(claim.conclusion):
            parser = Nested()
            parser.feed(formula.display())
            assert parser.open == []
            assert formula.latex.count("{") == formula.latex.count("}")
            assert formula.latex.count(r"\left") == formula.latex.count(r"\right")
            found += 1
    assert found > 100
