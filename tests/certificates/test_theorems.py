"""Claims at fixed sizes, for all values of their entries, through Rocq's kernel."""

import random
import re

import numpy as np
import pytest
from flint import fmpq
from typer.testing import CliRunner

from resstream import claims, kernel
from resstream.arithmetic import exp, sqrt, where
from resstream.arithmetic.obligations import noting
from resstream.arithmetic.terms import Terms, variable
from resstream.claim import Claim
from resstream.claims import levels
from resstream.cli import app
from resstream.domains import Matrix, RowStochastic, Whole
from resstream.errors import NotExpressible, Undecided
from resstream.falsify.formats.theorem import digest, proved_by, theorems, with_kernel, write
from resstream.prove import goals
from resstream.prove.answer import PROVED, Answer
from resstream.reference import dobrushin, spectral_norm
from resstream.relations import AnyOf, at_least, at_most, equal

SAMPLE = 2
"""How many of the theorems on record the kernel checks here; the seed is the number of claims on record."""

needs_coqc = pytest.mark.skipif(not kernel.found(), reason=f"no coqc; {kernel.INSTALL}")


def contracts(n, basis="standard"):
    """Theorem 1 (i) as the claim's own code states it, in one dimension, for n tokens."""
    options = {"norm.kind": "linf", "norm.basis": basis}
    return theorems(claims.lookup("contraction.diameter"), {"n": n, "d": 1}, options)


@needs_coqc
def test_theorem_1_on_the_line():
    """For 2, 3 and 4 tokens, and for 2 in every multiple of the absolute value: all norms of the line."""
    found = [*contracts(2), *contracts(3), *contracts(4), *contracts(2, "changed")]
    assert len(found) == 4
    text = write(found)
    answer = kernel.check(text, seconds=600)
    assert answer.accepted, answer.message
    assert text.count("Theorem holds : known -> ") == 4
    assert all(goal.symbol == "<=" for piece in found for goal in piece.goals)


@needs_coqc
def test_a_stronger_theorem_is_rejected():
    text = write(contracts(2))
    stronger = text.replace(" / 2) * ", " / 3) * ")
    assert stronger != text
    assert not kernel.check(stronger, seconds=300).compiled


def _claim(conclusion, **over):
    return Claim("mine", over, conclusion)


TRUE = {
    "product": (_claim(lambda A, B: equal((A @ B).mT, B.mT @ A.mT), A=Matrix("n", "n"), B=Matrix("n", "n")), {"n": 2}),
    "quotient": (_claim(lambda x: equal(x / (1 + x * x) * (1 + x * x), x), x=Matrix(1, 1)), {}),
    "triangle": (_claim(lambda x, y: at_most(abs(x + y), abs(x) + abs(y)), x=Matrix(1, 1), y=Matrix(1, 1)), {}),
    "root": (_claim(lambda x: equal(sqrt(1 + x * x) * sqrt(1 + x * x), 1 + x * x), x=Matrix(1, 1)), {}),
    "exponential": (_claim(lambda x, y: equal(exp(x + y), exp(x) * exp(y)), x=Matrix(1, 1), y=Matrix(1, 1)), {}),
    "branch": (_claim(lambda x: at_least(where(x > 0, x, -x), 0), x=Matrix(1, 1)), {}),
    "whole": (_claim(lambda k: equal(k * (k - 1) * (k - 2), 0 * k), k=Whole(0, 2)), {}),
}

FALSE = {
    "product": (_claim(lambda A, B: equal((A @ B).mT, A.mT @ B.mT), A=Matrix("n", "n"), B=Matrix("n", "n")), {"n": 2}),
    "quotient": (_claim(lambda x: equal(x / x, 1), x=Matrix(1, 1)), {}),  # the theorem asks for the value as well
    "triangle": (_claim(lambda x, y: at_most(abs(x + y), abs(x)), x=Matrix(1, 1), y=Matrix(1, 1)), {}),
    "branch": (_claim(lambda x: at_least(where(x > 0, x, x), 0), x=Matrix(1, 1)), {}),
}


@needs_coqc
def test_identities_and_linear_inequalities_need_no_script():
    """By `ring`, `field` with its divisor proved, cases, roots and exponentials; each case of a branch is a piece."""
    found = {name: theorems(claim, sizes, {}, identity=name != "triangle") for name, (claim, sizes) in TRUE.items()}
    assert [fact.symbol for piece in found["quotient"] for fact in piece.owed] == ["!="]
    assert len(found["branch"]) == 2
    assert len(found["whole"]) == 3
    answer = kernel.check(write([piece for pieces in found.values() for piece in pieces]), 300)
    assert answer.accepted, answer.message


@needs_coqc
@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_no_theorem(name):
    claim, sizes = FALSE[name]
    assert not kernel.check(write(theorems(claim, sizes, {})), 300).compiled


def test_alternatives_of_a_hypothesis_are_cases():
    claim = Claim(
        "mine",
        {"x": Matrix(1, 1)},
        lambda x: at_least(x * x, 1),
        assuming=(lambda x: AnyOf((at_least(x, 1), at_most(x, -1))),),
    )
    first, second = theorems(claim, {}, {})
    assert [fact.symbol for piece in (first, second) for fact in piece.known] == [">=", "<="]


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
    with pytest.raises(NotExpressible, match="the spectral norm of a matrix of rank 3 or more"):
        theorems(_claim(lambda W: at_least(spectral_norm(W), 0), W=Matrix(3, 3)), {}, {})
    with pytest.raises(NotExpressible, match="AnyOf"):
        theorems(_claim(lambda x: AnyOf((at_least(x, 0), at_most(x, 0))), x=Matrix(1, 1)), {}, {})


# ---- the record -------------------------------------------------------------


def on_record():
    """The proofs that the kernel has accepted, with their claims."""
    return [
        (claims.lookup(name), proof)
        for name, record in levels.records().items()
        for proof in record.proofs
        if proof.kernel
    ]


def answer_of(claim, proof):
    """The proof on record as the provers' answer."""
    covered = {}
    if proof.method != "algebra":
        options = next(chosen for label, chosen in goals.options_at(claim, proof.sizes) if label == proof.options)
        covered = goals.covered(claim, proof.sizes, options)
    return Answer(proof.sizes, PROVED, method=proof.method, options=proof.options, covered=covered)


def test_what_is_on_record_is_what_the_code_states():
    """A sample of the statements that the kernel accepted, made anew. (Else: benchmarks/levels.py, for that claim.)"""
    accepted = on_record()
    chosen = random.Random(len(levels.records())).sample(accepted, min(40, len(accepted)))
    assert chosen
    for claim, proof in chosen:
        assert digest(proved_by(claim, answer_of(claim, proof))) == proof.kernel, (claim.id, str(proof))


@needs_coqc
def test_a_sample_of_the_record_is_accepted():
    chosen = random.Random(len(levels.records())).sample(on_record(), min(SAMPLE, len(on_record())))
    found = [piece for claim, proof in chosen for piece in proved_by(claim, answer_of(claim, proof))]
    answer = kernel.check(write(found), 600)
    assert answer.accepted, ([(claim.id, str(proof)) for claim, proof in chosen], answer.message)


def test_another_claim_is_not_checked_under_the_same_name():
    """What is on record is a statement, and not a name."""
    stated = claims.lookup("dobrushin.range")
    proof = next(proof for proof in levels.records()[stated.id].proofs if proof.kernel)
    answer = answer_of(stated, proof)
    assert with_kernel(stated, answer).kernel
    weaker = Claim(stated.id, {"A": RowStochastic("m", "n")}, lambda A: at_least(dobrushin(A), -1))
    assert not with_kernel(weaker, answer).kernel
    with pytest.raises(NotExpressible, match="only what is proved"):
        proved_by(stated, Answer(proof.sizes, "not decided"))


def test_proofs_from_the_command_line(tmp_path):
    """`resstream prove` says where, writes files that the kernel can take, and exits 3 where nothing is proved."""
    done = CliRunner().invoke(app, ["prove", "dobrushin.range", "--seconds", "20", "--save", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "proved at m=1, n=1 by Z3" in done.output
    assert "kernel-checked (on record)" in done.output
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "dobrushin_range_m1_n1.v" in files
    assert all(re.fullmatch(r"[a-z]\w*\.v", name) for name in files)
    text = (tmp_path / "out" / "dobrushin_range_m1_n1.v").read_text()
    assert "Theorem holds : known -> " in text
    assert text.endswith("Print Assumptions all_pieces.\n")
    nothing = CliRunner().invoke(app, ["prove", "contraction.scores", "--seconds", "5"])
    assert nothing.exit_code == 3, nothing.output
    assert "proved at 0 of the" in nothing.output
