"""That there is no member: proved by Z3 over all that a domain's pieces cover, and never said where there is one."""

import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL, absolute, amax, amin, exact, largest_entry, log, mean, square, total
from resstream.claim import Claim, at_least, at_most, equal, exists, less_than, more_than, negation
from resstream.domains import (
    Causal,
    DoublyStochastic,
    Matrix,
    NonNegative,
    Permutation,
    Positive,
    RowStochastic,
    Scalar,
    Simplex,
    Symmetric,
    Vector,
)
from resstream.domains.current import Objects, size
from resstream.falsify import falsify
from resstream.falsify.certify import Certificate, certify
from resstream.prove.absence import none_meets
from resstream.relations import HOLDS, UNDECIDED, VIOLATED

HALF = Fraction(1, 2)

MEMBERS = [
    # a domain, a member of it, and what no member is
    (Matrix(2, 2), [[1, -2], [3, 0]], lambda M: less_than(total(square(M)), 0)),
    (NonNegative(1, 3), [[0, 2, 5]], lambda M: less_than(total(M), 0)),
    (Positive(), [[HALF]], lambda c: at_most(c, 0)),
    (Scalar(0, 1), [[1]], lambda c: more_than(c * (1 - c), exact(1, 4))),
    (Simplex(3), [[0, HALF, HALF]], lambda p: more_than(amax(p), 1)),
    (RowStochastic(2), [[1, 0], [HALF, HALF]], lambda A: less_than(amin(total(A), -2), 1)),
    (Causal(2), [[1, 0], [HALF, HALF]], lambda A: more_than(A[:1, 1:], 0)),
    (DoublyStochastic(2), [[HALF, HALF], [HALF, HALF]], lambda A: equal(A, [[1, 0], [1, 0]])),
    (Symmetric(2), [[1, 2], [2, 3]], lambda S: less_than(total(square(S[:1, 1:] - S[1:, :1])), 0)),
    (Permutation(2), [[0, 1], [1, 0]], lambda P: more_than(P[:1, :1] + P[:1, 1:], 1)),
]


def rational(rows):
    return RATIONAL.array(np.array([[Fraction(v) for v in row] for row in rows], dtype=object))


@pytest.mark.parametrize(("domain", "member", "impossible"), MEMBERS, ids=[str(one[0]) for one in MEMBERS])
def test_what_no_member_meets_is_proved_and_what_one_meets_is_not(domain, member, impossible):
    known = rational(member)
    assert domain.contains(known, {})
    assert not none_meets(domain, lambda one: equal(one, known), {}, None)
    assert not none_meets(domain, lambda one: at_most(absolute(one - known), exact(1, 1000)), {}, None)
    assert not none_meets(domain, lambda one: equal(one, one), {}, None)

    def stated(one):
        found = impossible(one)
        return found if not isinstance(getattr(found, "rhs", None), list) else equal(one, rational(found.rhs))

    assert none_meets(domain, stated, {}, None)
    assert not none_meets(domain, lambda one: negation(stated(one)), {}, None)


def test_members_drawn_at_random_are_never_said_to_be_none():
    rng, compared = np.random.default_rng(0), 0
    for domain, _, _ in MEMBERS:
        for _ in range(3):
            arrays = {key: RATIONAL.array(part.draw(rng, 1)[0]) for key, part in domain.parts({}, {}).items()}
            built = domain.build(arrays, {}, {})
            assert not none_meets(domain, lambda one, built=built: at_most(absolute(one - built), 0), {}, None)
            compared += 1
    assert compared == 3 * len(MEMBERS)


@dataclass(frozen=True)
class Own(Matrix):
    """A user's own domain, whose pieces nobody vouches for."""

    def piece(self, unknowns, sizes, options):
        piece = super().piece(unknowns, sizes, options)
        unknowns.assume(-1 - square(piece.object), ">=")  # which leaves nothing
        return piece


def test_of_what_is_not_expressible_nothing_is_proved():
    def divided(c):
        return equal(1 / c, 0)  # no member has it, and the quotient may have no value

    assert not none_meets(Matrix(1, 1), divided, {}, None)
    assert not none_meets(Matrix(1, 1), lambda c: less_than(log(c), log(c)), {}, None)
    assert not none_meets(Own(1, 1), lambda c: less_than(c * c, 0), {}, None)
    assert none_meets(Matrix(1, 1), lambda c: less_than(c * c, 0), {}, None)
    assert not none_meets(Matrix("n", 1), lambda c: less_than(c, c), {}, None)  # of no known size


def test_the_relation_may_speak_of_the_sizes_of_its_objects():
    objects = Objects({"x": rational([[1, 2]])}, {"n": 2})
    assert none_meets(Matrix(1, "n"), lambda c: less_than(total(square(c)), size("n") - 2), {"n": 2}, objects)
    assert not none_meets(Matrix(1, "n"), lambda c: less_than(total(square(c)), size("n") - 1), {"n": 2}, objects)


def near(parts, turned=lambda relation: relation):
    def stated(X):
        bound = largest_entry(amax(X, -2) - amin(X, -2)) / parts
        middle = (amax(X, -2) + amin(X, -2)) / 2
        return turned(exists(Matrix(1, "d"), lambda c: at_most(absolute(X - c), bound), witnesses=[middle]))

    return Claim("absence.near", {"X": Matrix("n", "d")}, stated, sizes={"n": range(1, 4), "d": range(1, 3)})


def test_an_existential_is_refuted_through_the_one_door():
    verdict = falsify(near(3), 600)
    assert verdict.status == "refuted"
    shown = verdict.counterexample
    assert "that no other member does is proved by Z3" in str(shown)
    assert shown.judgement.bits is None
    again = certify(near(3), shown.raw)
    assert isinstance(again, Certificate)
    assert again.confirmation.outcome == VIOLATED
    assert falsify(near(2), 600).status == "survived"


def test_that_there_is_none_holds_where_it_is_proved():
    X = [[3, 1], [1, 0]]
    assert near(3, negation).at(X=X).outcome == HOLDS
    assert near(2, negation).at(X=X).outcome == VIOLATED
    assert falsify(near(3, negation), 300).status == "refuted"  # of one token there is one
    assert near(3).at(X=X).outcome == VIOLATED


def test_without_z3_it_stays_undecided(monkeypatch):
    monkeypatch.setitem(sys.modules, "resstream.prove.solve", None)
    said = near(3).at(X=[[3, 1], [1, 0]])
    assert said.outcome == UNDECIDED
    assert "that there is no other cannot be told" in str(said)


def test_where_the_nearest_witness_is_no_member_nothing_is_said():
    def stated(x):
        return exists(NonNegative(1, "d"), lambda y: equal(x, y), witnesses=[x])

    said = Claim("absence.outside", {"x": Vector("d")}, stated).at(x=[-1, 2])
    assert said.outcome == UNDECIDED


def test_irrational_objects_are_left_undecided():
    def stated(x):
        return exists(Scalar(), lambda c: less_than(square(c) + total(square(x)), log(2 + mean(x) - mean(x))), [0 * x])

    claim = Claim("absence.log", {"x": Vector(1)}, stated)
    assert claim.at(x=[3]).outcome == UNDECIDED
    assert claim.at(x=[0]).outcome == HOLDS


def test_a_bound_of_squares():
    def stated(X):
        largest = largest_entry(total(square(X - mean(X, -2))))
        return exists(Matrix(1, "d"), lambda c: at_most(total(square(X - c)), largest / 4), witnesses=[mean(X, -2)])

    over, sizes = {"X": Matrix("n", "d")}, {"n": range(2, 4), "d": range(1, 3)}
    assert falsify(Claim("absence.squares", over, stated, sizes=sizes), 400).status == "refuted"
    assert at_least(rational([[1]]), 1).decide(RATIONAL).status == HOLDS
