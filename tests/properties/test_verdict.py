"""What a search saw, added up, and the one word that it amounts to."""

import dataclasses
import math

import numpy as np
import pytest

from resstream.claim import Claim, Instance, at_most
from resstream.domains import Scalar
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.judge import HOLDS, OUTSIDE, TIED, UNDECIDED, UNDEFINED, Judgement
from resstream.falsify.verdict import STATUSES, TIME_IS_UP, Tally, Verdict, add_up, conclude


class Trial:
    """Where pytest does not look for claims."""

    __test__ = False

    stated = Claim("trial", {"x": Scalar()}, lambda x: at_most(x, 2))


A, B = (Instance({}, {}, {"x": np.array([[value]])}) for value in (3.0, 5.0))
NAN = float("nan")
COUNTS = [field.name for field in dataclasses.fields(Tally) if field.type == "int"]


@pytest.fixture(scope="module")
def certificate():
    found = certify(Trial.stated, A)
    assert isinstance(found, Certificate)
    return found


def test_counts_add_up():
    assert len(COUNTS) == 13
    first = Tally(**{name: k + 1 for k, name in enumerate(COUNTS)})
    first.add(Tally(**{name: 100 * (k + 1) for k, name in enumerate(COUNTS)}))
    assert [getattr(first, name) for name in COUNTS] == [101 * (k + 1) for k in range(len(COUNTS))]
    assert [getattr(Tally(), name) for name in COUNTS] == [0] * len(COUNTS)


def test_a_tally_that_saw_nothing_has_nothing():
    nothing = Tally()
    assert (nothing.smallest_margin, nothing.nearest_miss) == (math.inf, math.inf)
    assert (nothing.closest, nothing.violating, nothing.undecided_at, nothing.undefined_at) == (None,) * 4
    assert (nothing.error, nothing.single, nothing.finished, nothing.decided) == ("", False, False, 0)
    assert Tally(judged=7, undecided=3).decided == 4


def test_the_nearest_stay():
    tally = Tally(smallest_margin=0.5, closest=A, nearest_miss=0.25)
    tally.add(Tally(smallest_margin=0.5, closest=B, nearest_miss=0.5))
    assert (tally.smallest_margin, tally.closest, tally.nearest_miss) == (0.5, A, 0.25)
    tally.add(Tally(smallest_margin=0.25, closest=B, nearest_miss=0.125))
    assert (tally.smallest_margin, tally.closest, tally.nearest_miss) == (0.25, B, 0.125)
    undecided = [(0.5, A, "first"), (0.5, B, "as near"), (0.25, B, "nearer"), (0.75, A, "farther")]
    kept = []
    for found in undecided:
        tally.add(Tally(undecided_at=found))
        kept.append(tally.undecided_at[2])
    tally.add(Tally())
    assert kept == ["first", "first", "nearer", "nearer"]
    assert tally.undecided_at[2] == "nearer"


def test_the_first_violation_the_first_error_and_the_first_undefined_instance_stay(certificate):
    other = dataclasses.replace(certificate, raw=B)
    tally = Tally()
    tally.add(Tally(engine="corners"))
    assert (tally.violating, tally.engine) == (None, "")
    tally.add(Tally(violating=A, certificate=certificate, engine="corners", error="first", faulty=A))
    tally.add(Tally(violating=B, certificate=other, engine="climb", error="second", faulty=B))
    assert (tally.violating, tally.certificate, tally.engine) == (A, certificate, "corners")
    assert (tally.error, tally.faulty) == ("first", A)
    tally = Tally(undefined_at=(A, "here"))
    tally.add(Tally(undefined_at=(B, "there"), single=True))
    assert tally.undefined_at == (A, "here")
    assert tally.single
    tally.add(Tally())
    assert tally.single
    nothing = Tally()
    nothing.add(Tally(undefined_at=(B, "there")))
    assert nothing.undefined_at == (B, "there")
    assert not nothing.single


def test_a_violation_or_an_error_ends_a_search(certificate):
    assert Tally(violating=A, certificate=certificate).finished
    assert Tally(error="it raised").finished
    light = Tally(violating=A, certificate=certificate, judged=3).light()
    assert (light.certificate, light.violating, light.judged) == (None, A, 3)


def counted(answer, float_margin=-0.25, **before):
    tally = Tally(accepted=5, **before)
    tally.count(B, answer, float_margin)
    assert tally.judged == 1 + before.get("judged", 0)
    return tally


def test_a_certificate_is_counted(certificate):
    tally = counted(certificate, judged=2)
    assert (tally.violating, tally.certificate) == (B, certificate)
    assert (tally.smallest_margin, tally.closest) == (certificate.judgement.margin, B)
    assert tally.smallest_margin == -0.2
    assert (tally.acquitted, tally.accepted, tally.decided) == (0, 5, 3)


def test_an_instance_outside_is_no_accepted_one():
    tally = counted(Judgement(OUTSIDE))
    assert (tally.accepted, tally.discarded, tally.outside, tally.acquitted) == (4, 1, 1, 0)


def test_an_undecided_instance_is_kept_with_what_the_judge_said():
    tally = counted(Judgement(UNDECIDED, 4096, reason="they overlap"))
    assert (tally.undecided, tally.decided, tally.acquitted) == (1, 0, 0)
    assert tally.undecided_at == (-0.25, B, "they overlap (at 4096 bits)")
    assert counted(Judgement(UNDECIDED), NAN).undecided_at[0] == -2  # nearer than any margin that there is


def test_an_undefined_instance_is_kept():
    tally = counted(Judgement(UNDEFINED, reason="division by zero"))
    assert (tally.undefined, tally.undefined_at, tally.acquitted) == (1, (B, "division by zero"), 0)
    tally.count(A, Judgement(UNDEFINED, reason="again"), 0.5)
    assert (tally.undefined, tally.undefined_at[1]) == (2, "division by zero")


def test_suspects_that_are_cleared_are_acquitted_and_ties_are_counted():
    holds = counted(Judgement(HOLDS, margin=0.125))
    assert (holds.tied, holds.acquitted, holds.smallest_margin, holds.closest) == (0, 1, 0.125, B)
    assert counted(Judgement(HOLDS, margin=0.5), 0.0).acquitted == 0
    assert counted(Judgement(HOLDS, margin=0.5), NAN).acquitted == 0
    tied = counted(Judgement(TIED, margin=0.0), 0.5)
    assert (tied.tied, tied.acquitted) == (1, 0)
    with pytest.raises(AssertionError):
        counted(Judgement("violated"))  # a violation that no certificate vouches for


def test_chunks_are_added_up_to_the_first_that_ends_the_search():
    done = {2: Tally(judged=4), 0: Tally(judged=1), 1: Tally(judged=2, error="it raised")}
    tally, wanted = add_up(done, 9)
    assert (tally.judged, wanted) == (3, 1)
    tally, wanted = add_up({1: Tally(judged=2), 0: Tally(judged=1)}, 9)
    assert (tally.judged, wanted) == (3, 9)


def status(floor=100, notes=(), **seen):
    return conclude(Trial.stated, Tally(**{"accepted": 100, **seen}), 0, floor, 1.0, notes).status


def test_every_status_and_what_it_takes(certificate):
    seen = {
        "refuted": status(violating=A, certificate=certificate, error="too", undecided=1, undefined=1),
        "error": status(error="it raised", undecided=1),
        "undecided": status(judged=9, undecided=1, undefined=1),
        "undefined": status(judged=9, undefined=1),
        "gave up": status(accepted=99),
        "survived": status(judged=9),
    }
    assert all(found == wanted for wanted, found in seen.items())
    elsewhere = {"vacuous", "evidence"}  # the one is said by proofs alone, the other of sizes that grow
    assert set(seen) | elsewhere == set(STATUSES)
    assert status(violating=A) == "survived"  # without a certificate nothing is refuted
    assert status(accepted=1, floor=1) == "survived"


def test_what_floats_alone_let_in_met_nothing():
    tally = counted(Judgement(HOLDS, margin=0.5, met=False))
    assert (tally.open, counted(Judgement(HOLDS, margin=0.5)).open) == (1, 0)
    verdict = conclude(Trial.stated, Tally(accepted=100, discarded=7, judged=9, outside=8, open=1), 0, 10, 0.0)
    assert verdict.status == "gave up"
    assert (verdict.tally.let_in, verdict.tally.accepted, verdict.tally.discarded) == (100, 0, 107)
    assert "never met in 107 tries (floats let in 100, exact arithmetic none of the 9 that it judged)" in str(verdict)
    assert status(judged=9, outside=8) == "survived"  # one of them was certain
    assert status(judged=9, open=9) == "survived"  # where no hypothesis was found to fail


def test_a_claim_without_a_value_wherever_it_was_judged_is_an_error():
    assert status(judged=4, undefined=3, undecided=1) == "error"
    assert status(judged=4, undefined=3, outside=1) == "error"
    assert status(judged=5, undefined=3, outside=1) == "undefined"
    assert status(judged=5, undefined=3, undecided=1) == "undecided"
    assert status(judged=1, undecided=1) == "undecided"
    verdict = conclude(Trial.stated, Tally(judged=1, undefined=1, undefined_at=(A, "0/0")), 0, 0, 0.0)
    assert verdict.tally.error == "undefined wherever it was judged: 0/0"
    assert conclude(Trial.stated, Tally(judged=1, undefined=1), 0, 0, 0.0).tally.error.endswith("judged: ")


def test_where_every_instance_was_judged_one_that_meets_the_hypotheses_is_enough():
    def word(**seen):
        return conclude(Trial.stated, Tally(**seen), 0, 100, 1.0, (), 8).status

    assert word(accepted=3, judged=8, outside=5) == "survived"
    assert word(accepted=8, judged=8) == "survived"
    assert word(judged=8, outside=8) == "vacuous"
    assert word(judged=8, outside=3) == "gave up"


def test_instances_that_were_all_outside_are_no_survival():
    assert status(judged=3, outside=3) == "gave up"
    assert status(judged=3, outside=2) == "survived"
    assert status(judged=1, outside=1) == "gave up"
    assert status(judged=0, outside=0) == "survived"


def test_a_run_that_was_broken_off_is_no_survival_unless_by_its_own_limit():
    assert status(notes=("interrupted",)) == "gave up"
    assert status(notes=(TIME_IS_UP,)) == "survived"
    assert status(notes=(TIME_IS_UP, "3 of 9 chunks were not done")) == "survived"
    assert status(notes=(TIME_IS_UP, "a worker died")) == "gave up"


def test_a_verdict_has_what_it_was_made_of():
    tally = Tally(accepted=3)
    verdict = conclude(Trial.stated, tally, 7, 2, 1.5, ("a note",))
    assert (verdict.claim, verdict.seed, verdict.tally, verdict.seconds) == (Trial.stated, 7, tally, 1.5)
    assert (verdict.notes, verdict.budget, verdict.counterexample) == (("a note",), 0, None)
    assert Verdict(Trial.stated, "survived", 0).seconds == 0
    assert Verdict(Trial.stated, "survived", 0).notes == ()


def test_what_was_expected():
    expected = {
        (expect, found): Verdict(dataclasses.replace(Trial.stated, expect=expect), found, 0).as_expected
        for expect in ("holds", "fails")
        for found in STATUSES
    }
    assert [pair for pair, answer in expected.items() if answer] == [
        ("holds", "survived"),
        ("holds", "evidence"),
        ("fails", "refuted"),
    ]


def test_how_a_verdict_reads():
    verdict = Verdict(Trial.stated, "survived", 0, Tally(accepted=100))
    assert str(verdict) == repr(verdict)
    assert str(verdict).startswith("trial survived: no violation found")
    shown = Verdict(Trial.stated, "refuted", 0, Tally(), counterexample="what was found")
    assert str(shown).startswith("what was found\n")
    assert "trial" in verdict._repr_html_()


def test_a_verdict_in_a_notebook_is_typeset():
    from resstream.falsify.formats.html import verdict_html
    from resstream.falsify.formats.latex import verdict_latex

    verdict = Verdict(Trial.stated, "survived", 0, Tally())
    assert verdict._repr_latex_() == verdict_latex(verdict) != ""
    assert verdict._repr_html_() == verdict_html(verdict) != ""
