"""An answer of the provers: what it covers, what contradicts it, and how it reads."""

import pytest

from resstream.claim import Instance, at_least, claim
from resstream.domains import Matrix, Norm
from resstream.errors import Contradiction
from resstream.prove.answer import INEXPRESSIBLE, MODEL, OUTCOMES, PROVED, UNDECIDED, Answer, agree
from resstream.prove.goals import prove
from resstream.reference import diameter


def instance(kind="l1", **sizes):
    return Instance(sizes, {"norm.kind": kind, "norm.basis": "standard"}, {})


def test_what_an_answer_covers():
    every_norm = Answer({"n": 2}, PROVED)
    one_norm = Answer({"n": 2}, PROVED, covered={"norm.kind": ("l1", "l2"), "norm.basis": ("standard",)})
    assert every_norm.covers(instance(n=2))
    assert not every_norm.covers(instance(n=3))
    assert one_norm.covers(instance("l2", n=2))
    assert not one_norm.covers(instance("linf", n=2))
    agree([every_norm, one_norm], [instance("l1", n=3)], "trial")
    agree([Answer({"n": 2}, UNDECIDED)], [instance(n=2)], "trial")
    with pytest.raises(Contradiction, match=r"^claim trial is proved at n=2 by Z3, and a certified"):
        agree([one_norm], [instance("linf", n=2), instance("l1", n=2)], "trial")
    with pytest.raises(Contradiction):  # after an answer that is no proof, and one of elsewhere
        agree([Answer({"n": 2}, UNDECIDED), Answer({"n": 3}, PROVED), every_norm], iter([instance(n=2)]), "trial")
    assert one_norm.covers(Instance({"n": 2}, {}, {}))  # an option that is not named may have any value
    assert not Answer({}, PROVED).covers(instance(n=2))


def test_the_proofs_of_norms_say_what_they_cover():
    @claim("trial", over={"X": Matrix("n", 1), "norm": Norm(1)}, sizes={"n": range(2, 3)})
    def trial(X, norm):
        return at_least(diameter(X, norm), 0)

    (proof,) = prove(trial, 30, 30)
    assert proof.outcome == PROVED
    assert all(proof.covers(instance(kind, n=2)) for kind in ("l1", "l2", "linf"))


def test_an_answer_in_words():
    assert str(Answer({"n": 2, "d": 1}, PROVED, options="any norm")) == "proved at n=2, d=1; any norm"
    assert str(Answer({}, UNDECIDED, "in 2.0 s", options="norm l1")) == "not decided (in 2.0 s) at norm l1"
    assert str(Answer({}, INEXPRESSIBLE, "exp")) == "not expressible (exp)"
    assert str(Answer({"n": 3}, MODEL)) == "model at n=3"
    plain = Answer({}, PROVED)
    assert (plain.pieces, plain.obligations, plain.seconds, plain.kernel, plain.model) == (0, 0, 0.0, False, None)
    assert [Answer({}, outcome).proved for outcome in OUTCOMES] == [True, False, False, False]
