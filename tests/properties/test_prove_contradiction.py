"""Proofs and refutations never disagree, a model that certifies refutes, and vacuous is said where it is proved."""

import pytest

from resstream.arithmetic import square, total
from resstream.audit import audit
from resstream.audit import run as auditing
from resstream.audit.report.words import headline
from resstream.claim import Instance, at_least, at_most, claim, equal, less_than, more_than
from resstream.domains import Matrix, RowStochastic, Scalar, Vector, Whole
from resstream.errors import Contradiction
from resstream.falsify import falsify
from resstream.prove.answer import PROVED, Answer
from resstream.prove.vacuous import no_instance

N = {"n": range(2, 4)}


def false_at_every_size():
    """Every weight is at least 1/10. (At the top of a module a claim would be collected as a test.)"""
    return claim("false.at_every_size", over={"A": RowStochastic("n")}, sizes=N)(lambda A: at_least(10 * A, 1))


# ---- contradictions -------------------------------------------------------------------------------------------------


def test_a_false_proof_is_raised_and_not_printed_beside_the_counterexample(monkeypatch):
    def prove(_, __, progress):
        progress(Answer({"n": 2}, PROVED))
        progress(Answer({"n": 3}, PROVED))

    monkeypatch.setattr(auditing.proofs.goals, "prove", prove)
    with pytest.raises(Contradiction, match=r"false\.at_every_size is proved at n=[23] by Z3, and a certified"):
        audit(false_at_every_size(), budget=4000, seconds=30)


def test_a_proof_of_other_sizes_or_options_is_no_contradiction(monkeypatch):
    def prove(_, __, progress):
        progress(Answer({"n": 4}, PROVED))

    monkeypatch.setattr(auditing.proofs.goals, "prove", prove)
    assert audit(false_at_every_size(), budget=4000, seconds=30).status == "refuted"


# ---- models ---------------------------------------------------------------------------------------------------------


def false_at_one_number():
    """False at one number alone."""
    over = {"k": Whole(0, 10**9)}
    return claim("false.at_one_number", over=over)(lambda k: less_than(0, square(k - 123_449_929)))


def test_a_model_that_certifies_is_the_verdict():
    found = audit(false_at_one_number(), budget=2000, seconds=30)
    assert found.status == "refuted"
    assert not found.as_expected
    assert found.verdict.counterexample.raw.arrays["k"].item() == 123_449_929
    assert found.verdict.counterexample.engine == "Z3"
    assert headline(found) == "false.at_one_number: refuted, by a certified counterexample"
    assert found.failures is not None
    assert (found.parts, found.necessity, found.strengthened) == ((), (), ())


def test_a_model_that_does_not_certify_is_not(monkeypatch):
    planted = Instance({}, {}, {"k": auditing.proofs.goals.prove(false_at_one_number())[0].model.arrays["k"] + 1})

    def prove(_, __, progress):
        progress(Answer({}, "model", model=planted))

    monkeypatch.setattr(auditing.proofs.goals, "prove", prove)
    assert audit(false_at_one_number(), budget=2000, seconds=30).status == "survived"


# ---- vacuous --------------------------------------------------------------------------------------------------------


def negative(x):
    return less_than(total(square(x)), 0)


def far_below(x):
    return less_than(total(square(x)), -1)


def tiny(x):
    return every_entry_near(x)


def every_entry_near(x):
    return at_most(total(square(x - 123_457)), 1)


def test_vacuous_is_said_where_it_is_proved():
    trial = claim("trial", over={"x": Vector("d")}, assuming=[negative])(lambda x: at_most(x, 1))
    proofs = no_instance(trial)
    assert [proof.sizes for proof in proofs] == [{"d": size} for size in range(1, 7)]
    assert all(proof.proved and "no instance" in proof.detail for proof in proofs)
    assert falsify(trial, 2000).status == "vacuous"


def test_what_is_only_never_met_is_not_vacuous():
    trial = claim("trial", over={"x": Vector("d")}, assuming=[tiny], sizes={"d": range(1, 4)})(lambda x: at_most(x, 1))
    assert no_instance(trial) == ()
    assert falsify(trial, 300, engines=("random",)).status == "gave up"


@pytest.mark.parametrize(
    ("over", "assuming", "sizes"),
    [
        (Vector("d"), [], {}),
        (Vector("d"), [lambda x: more_than(total(square(x)), 1)], {}),
        (Matrix("n", "d"), [far_below], {"n": range(1, 10), "d": range(1, 10)}),  # too many sizes
        (Vector("d"), [lambda x: equal(x.shape[-1], 2)], {}),  # at one size alone
        (Scalar(), [lambda x: at_most(1 / x, 5), lambda x: equal(x, 0 * x + 1)], {}),
    ],
    ids=["no hypotheses", "met", "too many sizes", "met at one size", "met where it has a value"],
)
def test_otherwise_it_is_not_said(over, assuming, sizes):
    assert no_instance(claim("trial", over={"x": over}, assuming=assuming, sizes=sizes)(lambda x: at_most(x, 1))) == ()


def test_a_hypothesis_without_a_value_is_met_nowhere():
    def at_zero(x):
        return equal(x, 0)

    def finite(x):
        return at_most(0 / x, 1)

    trial = claim("trial", over={"x": Scalar()}, assuming=[at_zero, finite])(lambda x: at_most(x, 1))
    assert len(no_instance(trial)) == 1
