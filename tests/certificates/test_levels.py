"""The levels of claims: what is on record is what a search finds and the code states, and each word is earned."""

import random
from pathlib import Path

import pytest

from resstream import claims
from resstream.audit.report import words
from resstream.audit.result import Audit
from resstream.claim import Claim
from resstream.claims import levels
from resstream.claims.kernel import KERNEL_CHECKED
from resstream.falsify import profiles
from resstream.falsify.search import search
from resstream.prove.answer import PROVED, Answer

SYMBOLIC = Path(__file__).parents[1] / "symbolic"


def test_what_is_on_record_is_in_the_library():
    """And is expected to hold. (`benchmarks/levels.py` makes the record of claims that have none yet.)"""
    holding = {claim.id for claim in claims.library().values() if claim.expect == "holds"}
    assert set(levels.records()) <= holding
    assert len(levels.records()) >= 264


def test_a_search_survives_what_is_on_record():
    """A sample of 4, the seed of which is the number of claims."""
    chosen = random.Random(len(levels.records())).sample(sorted(levels.records()), 4)
    for name in chosen:
        verdict = search(claims.lookup(name), profiles.profile("default").chunks())
        assert verdict.status == "survived"
        assert verdict.tally.accepted >= levels.records()[name].survived > 0, name


@pytest.mark.parametrize("name", levels.DERIVED)
def test_a_derived_claim_has_its_derivation(name):
    file, test = levels.DERIVED[name]
    assert f"def {test}(" in (SYMBOLIC / f"{file}.py").read_text()
    assert levels.level(claims.lookup(name)).startswith("derived for all sizes")


def test_levels_are_in_words():
    assert levels.level(claims.lookup("contraction.diameter_squared")) == "refuted, certified"
    for name in KERNEL_CHECKED:
        assert levels.level(claims.lookup(name)).startswith("kernel-checked for all sizes; survived ")
    assert levels.level(Claim("mine", {}, lambda: None)) == "survived"


def test_places_are_the_largest():
    """What lies below another of the same options is not named, and options stay apart."""
    proofs = [
        levels.Proof({"n": n, "d": d}, options, "Z3")
        for n, d, options in ((2, 1, ""), (2, 2, ""), (1, 3, ""), (2, 1, "norm l1"), (1, 1, "norm l1"))
    ]
    assert levels._places(proofs) == " at n=2, d=2 | n=1, d=3 and 1 more"
    assert proofs[0].lies_below(proofs[1])
    assert not proofs[0].lies_below(proofs[2])
    assert not proofs[3].lies_below(proofs[1])
    assert levels._places([levels.Proof({}, "", "algebra")]) == ""


def test_only_the_claim_of_the_library_has_its_theorem():
    """Not one of the same name, nor a modified one."""
    stated = claims.lookup("contraction.diameter")
    assert claims.theorem_of(stated) == "diameter_contracts in proofs/Contraction.v"
    assert claims.theorem_of(stated.replace(rhs=lambda rhs: rhs / 2)) == ""
    assert claims.theorem_of(Claim(stated.id, stated.over, stated.conclusion)) == ""
    assert claims.theorem_of(claims.lookup("contraction.causal")) == ""


def test_an_audit_says_what_the_kernel_has_checked():
    """A sentence for the theorem and one for the places, with evidence of their own; none for a proof without it."""
    stated = claims.lookup("contraction.diameter")
    proofs = tuple(
        Answer({"n": n, "d": 1}, PROVED, options="any norm", covered={}, kernel=checked)
        for n, checked in ((2, True), (3, True), (4, False))
    )
    audit = Audit(stated, 0, proofs=proofs, theorem=claims.theorem_of(stated))
    said = [sentence.text for sentence in words.sentences(audit) if sentence.evidence == "kernel-checked"]
    assert said == [
        "for all sizes: diameter_contracts in proofs/Contraction.v, checked by Rocq's kernel",
        "of these Rocq's kernel has checked n=2, d=1 (any norm) | n=3, d=1 (any norm)",
    ]
    assert "kernel" not in " ".join(s.text for s in words.sentences(Audit(stated, 0, proofs=proofs[2:])))
