"""Claims at fixed sizes, for all values of their entries, through Rocq's kernel."""

import numpy as np
import pytest
from flint import fmpq

from resstream import claims, kernel
from resstream.arithmetic import sqrt, where
from resstream.arithmetic.obligations import noting
from resstream.arithmetic.terms import Terms, variable
from resstream.claim import Claim
from resstream.domains import Matrix
from resstream.errors import NotExpressible, Undecided
from resstream.falsify.formats.scripts import contraction
from resstream.falsify.formats.theorem import theorem, write
from resstream.relations import at_most, equal

ON_THE_LINE = {"norm.kind": "linf", "norm.basis": "standard"}

needs_coqc = pytest.mark.skipif(not kernel.found(), reason=f"no coqc; {kernel.INSTALL}")


def contracts(n):
    return theorem(claims.lookup("contraction.diameter"), {"n": n, "d": 1}, ON_THE_LINE)


@needs_coqc
@pytest.mark.parametrize("n", [2, 3, 4])
def test_theorem_1_on_the_line(n):
    """Theorem 1 (i) as the claim's own code states it, in one dimension, for n tokens."""
    text = write(contracts(n), contraction(n))
    answer = kernel.check(text, seconds=600)
    assert answer.accepted, answer.message
    stated = text[text.index("Lemma fact_1") :].split("\n")[0]
    assert stated.count("Rabs") >= 1
    assert " <= " in stated


@needs_coqc
def test_a_stronger_theorem_is_rejected():
    text = write(contracts(2), contraction(2))
    stronger = text.replace(" / 2) * ", " / 3) * ")
    assert stronger != text
    assert not kernel.check(stronger, seconds=300).compiled


def _claim(conclusion, **over):
    return Claim("mine", over, conclusion)


@needs_coqc
def test_identities_and_linear_inequalities_need_no_script():
    """A product rule by `ring`, a quotient by `field` with its divisor proved, a triangle inequality by cases."""
    product = _claim(lambda A, B: equal((A @ B).mT, B.mT @ A.mT), A=Matrix("n", "n"), B=Matrix("n", "n"))
    assert kernel.check(write(theorem(product, {"n": 2}, {})), 300).accepted
    quotient = _claim(lambda x: equal(x / (1 + x * x) * (1 + x * x), x), x=Matrix(1, 1))
    found = theorem(quotient, {}, {})
    assert [fact.symbol for fact in found.owed] == ["!="]
    assert kernel.check(write(found), 300).accepted
    triangle = _claim(lambda x, y: at_most(abs(x + y), abs(x) + abs(y)), x=Matrix(1, 1), y=Matrix(1, 1))
    assert kernel.check(write(theorem(triangle, {}, {})), 300).accepted
    false = _claim(lambda x, y: at_most(abs(x + y), abs(x)), x=Matrix(1, 1), y=Matrix(1, 1))
    assert not kernel.check(write(theorem(false, {}, {})), 300).compiled


@needs_coqc
def test_a_divisor_that_may_be_zero_is_no_theorem():
    """x/x = 1 holds where it has a value; the theorem asks for the value as well."""
    answer = kernel.check(write(theorem(_claim(lambda x: equal(x / x, 1), x=Matrix(1, 1)), {}, {})), 300)
    assert not answer.compiled


def test_of_variables_nothing_is_known():
    with Terms().working(), noting() as notes:
        x = np.array([variable(("x", (0,)))])
        for branch in (lambda: x < 1, lambda: x == 0, lambda: x > x * x):
            with pytest.raises(Undecided):
                branch()
        assert notes == []
        1 / x
        sqrt(x)
        assert [note.kind for note in notes] == ["!=", ">="]
        assert (x - x)[0].exact == fmpq(0)
    with pytest.raises(NotExpressible, match="a branch on the values"):
        theorem(_claim(lambda x: at_most(where(x > 0, 0, x), 0), x=Matrix(1, 1)), {}, {})
    with pytest.raises(NotExpressible, match="unknown members of"):
        theorem(claims.lookup("skip.expansive_semidefinite"), {"n": 3, "d": 2}, {})
