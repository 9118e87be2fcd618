"""Counterexamples go through Rocq's kernel; a changed digit does not. All of them: `benchmarks/certificates.py`."""

import random
import re

import pytest
from flint import arb, fmpq

from resstream import kernel
from resstream.arithmetic import Ball
from resstream.falsify.formats import rocq
from resstream.falsify.formats.trace import trace

from .conftest import REFUTED

SAMPLE = 12
"""How many counterexamples of the library are checked here, together in one file; the seed is the number of claims."""

needs_coqc = pytest.mark.skipif(not kernel.found(), reason=f"no coqc; {kernel.INSTALL}")


def traced(counterexample, claim_id):
    found = counterexample(claim_id)
    return trace(found.claim, found.raw)


def test_every_refuted_claim_is_written(refuted, counterexample):
    """The terms reach all of them."""
    text = counterexample(refuted).to("rocq")
    assert text.count("Lemma fact_") >= 1
    assert "Admitted" not in text
    assert text.endswith("Print Assumptions counterexample.\n")


@needs_coqc
def test_a_sample_is_accepted(counterexample):
    """The kernel accepts them, and they rest on the real numbers' axioms alone."""
    chosen = random.Random(len(REFUTED)).sample([claim.id for claim in REFUTED], SAMPLE)
    answer = kernel.check(rocq.write_book([traced(counterexample, claim_id) for claim_id in chosen]), seconds=600)
    assert answer.compiled, (chosen, answer.message)
    assert answer.accepted, answer.axioms
    assert answer.theorems == 1, "one for the whole book"


@needs_coqc
@pytest.mark.parametrize("claim_id", ["contraction.diameter_squared", "contraction.scores_quarter"])
def test_a_changed_digit_is_rejected(counterexample, claim_id):
    """A file alone is accepted; with one digit of a stated value, of a bound or of the instance changed it is not."""
    text = counterexample(claim_id).to("rocq")
    answer = kernel.check(text, seconds=300)
    assert answer.accepted, answer.message
    rejected = 0
    for pattern in (r"^Definition \w+_1_1 : R := (\d)", r"^Lemma (?:value|bounds)_\w+ : .*?(\d)\.?\)?\.$"):
        place = re.search(pattern, text, re.MULTILINE).start(1)
        mutant = text[:place] + str(int(text[place]) % 9 + 1) + text[place + 1 :]
        rejected += not kernel.check(mutant, seconds=300).compiled
    assert rejected == 2


@needs_coqc
def test_a_false_statement_is_rejected(counterexample):
    """The comparison turned round."""
    text = counterexample("contraction.diameter_squared").to("rocq")
    turned = re.sub(r"(Lemma fact_\d+ : .*?) > ", r"\1 < ", text)
    assert turned != text
    assert not kernel.check(turned).compiled


def test_bounds_are_dyadic_and_outside():
    with Ball(256).working():
        for value in (arb(2).sqrt(), -arb(3).sqrt() * 10**9, (-(arb(10) ** 4)).exp(), arb(0.25, 1e-9)):
            low, high = rocq.outwards(value, 64)
            assert arb(low) < value < arb(high)
            assert fmpq(low.q, high.q).q == 1 or fmpq(high.q, low.q).q == 1
    assert rocq.outwards((-(arb(10) ** 4)).exp(), 64)[0] == 0, "tiny and positive"
