"""Identities by algebra: at which sizes, for which options and pieces, and why one is not proved."""

import numpy as np
import pytest

from resstream.arithmetic import absolute, sqrt, square, total
from resstream.claim import at_least, at_most, claim, differ, either, equal, every, implies, less_than, more_than
from resstream.domains import Matrix, Norm, Orthogonal, Permutation, Positive, Scalar, Vector
from resstream.errors import ClaimError
from resstream.prove import identity
from resstream.prove.answer import INEXPRESSIBLE, PROVED, UNDECIDED
from resstream.prove.identity import prove_identity, small_sizes
from resstream.reference import row_norms


def about(conclusion, *assuming, over=None, **more):
    return claim("trial", over=over or {"x": Scalar()}, assuming=assuming, **more)(conclusion)


def proof(conclusion, *assuming, over=None, **more):
    return prove_identity(about(conclusion, *assuming, over=over, **more))


def detail(conclusion, *assuming, over=None):
    found = proof(conclusion, *assuming, over=over)
    return found.outcome, found.detail


def test_identities_are_tried_at_two_and_then_at_one():
    def sizes(**ranges):
        made = about(lambda x: equal(x, x), over={"x": Matrix("n", "d")}, sizes=ranges)
        return [(one["n"], one["d"]) for one in small_sizes(made)]

    assert sizes() == [(2, 2), (1, 1)]
    assert sizes(n=range(3, 6)) == [(3, 2), (3, 1)]
    assert sizes(n=range(2)) == [(1, 2), (1, 1)]
    assert sizes(n=range(4, 9), d=range(2, 3)) == [(4, 2)]
    fitting = about(lambda x: equal(x, x), over={"x": Matrix("n", "d")}, where="n > d")
    assert small_sizes(fitting) == [{"d": 1, "n": 2}]


def test_a_proof_says_what_it_went_through():
    found = proof(lambda x: equal(x / x + x / (2 * x), x / x * 3 / 2), over={"x": Positive(1, 1)})
    assert (found.outcome, found.method, found.detail, found.options) == (PROVED, "algebra", "", "")
    assert (found.pieces, found.obligations) == (1, 3)
    assert 0 < found.seconds < 60
    rows = proof(lambda P: equal(total(P), 1), over={"P": Permutation("n")})
    assert (rows.sizes, rows.pieces, rows.obligations) == ({"n": 2}, 2, 0)
    assert prove_identity(about(lambda x: equal(x, x), over={"x": Vector("d")}), {"d": 3}).sizes == {"d": 3}
    for sizes in ({}, {"d": 1, "n": 1}, {"n": 1}):
        with pytest.raises(ClaimError, match=r"claim trial: expected the sizes \['d'\], got \["):
            prove_identity(about(lambda x: equal(x, x), over={"x": Vector("d")}), sizes)


def test_what_holds_at_one_alone_is_proved_at_one():
    found = proof(lambda x: equal(absolute(total(x)), total(absolute(x))), over={"x": Vector("d")})
    assert (found.outcome, found.sizes) == (PROVED, {"d": 1})
    found = proof(lambda x: equal(absolute(total(x)), total(x)), over={"x": Vector("d")})
    assert (found.outcome, found.sizes) == (UNDECIDED, {"d": 1})
    found = proof(lambda x: equal(total(x) / total(x), 1), over={"x": Vector("d")})  # what it owes is said at once
    assert (found.outcome, found.sizes) == (UNDECIDED, {"d": 2})


def test_every_choice_of_options_is_gone_through():
    over = {"x": Vector(2), "norm": Norm(2, bases=False)}
    assert proof(lambda x, norm: equal(row_norms(2 * x, norm), 2 * row_norms(x, norm)), over=over).pieces == 3
    found = proof(lambda x, norm: equal(row_norms(x, norm), total(absolute(x))), over=over)
    assert found.outcome == UNDECIDED
    assert found.detail == (
        "the difference of the sides does not simplify to zero for norm.kind linf for norm.basis standard"
    )
    both = proof(lambda Q: equal(Q @ Q.mT, np.eye(2, dtype=int)), over={"Q": Orthogonal(2)})
    assert (both.outcome, both.pieces) == (PROVED, 2)


def test_why_one_is_not_proved():
    different = "the difference of the sides does not simplify to zero"
    assert detail(lambda x: equal(x, 2)) == (UNDECIDED, different)
    assert detail(lambda x: every(equal(x, x), every(equal(x, 2)))) == (UNDECIDED, different)
    assert detail(lambda x: every(equal(x, x), at_most(x, 2))) == (UNDECIDED, "it states an inequality (<=)")
    assert detail(lambda x: at_least(x, 2)) == (UNDECIDED, "it states an inequality (>=)")
    assert detail(lambda x: differ(x, 2)) == (UNDECIDED, "it states an inequality (!=)")
    assert detail(lambda x: either(equal(x, x), equal(x, 2))) == (INEXPRESSIBLE, "a relation of type AnyOf")
    assert detail(lambda x: equal(x / (x - x), 1))[1].startswith("a side has no value: division by zero in line ")
    assert detail(lambda x: equal(1, x / (x - x)))[0] == UNDECIDED
    assert detail(lambda x: equal(x / x, 1))[1].startswith("may divide by zero in line ")
    sizes = {"n": 1, "d": 1}
    made = about(lambda x: equal(x, x), over={"x": Matrix("n", "d")}, where="n > d")
    assert prove_identity(made, sizes).detail == "the claim speaks of sizes with n > d"


def test_what_has_no_symbolic_reading_says_why():
    outcome, why = detail(lambda x: equal(x.nothing, x))
    assert outcome == INEXPRESSIBLE
    assert why.startswith("no symbolic reading: claim trial: line ")
    found = prove_identity(about(lambda x: equal(x, x), over={"x": Mute(1, 1)}))
    assert (found.outcome, found.detail) == (INEXPRESSIBLE, "no symbolic reading: TypeError: no piece")


class Mute(Matrix):
    """Matrices whose pieces cannot be made."""

    def piece(self, unknowns, sizes, options):  # noqa: ARG002
        raise TypeError("no piece")


def test_sides_that_cannot_be_negative_may_be_squared():
    def nested(x):
        return sqrt(3 + 2 * sqrt(0 * x + 2)), 1 + sqrt(0 * x + 2)

    assert proof(lambda x: equal(*nested(x))).outcome == PROVED
    assert proof(lambda x: equal(-nested(x)[0], nested(x)[1])).outcome == UNDECIDED  # the squares are equal
    assert proof(lambda x: equal(nested(x)[0], -nested(x)[1])).outcome == UNDECIDED


# ---- what the hypotheses give


def given(*assuming):
    """How many conditions the hypotheses give, by kind, and whether x is then known not to be zero."""
    made = about(lambda x: equal(x / x, 1), *assuming)
    unknowns = identity.SymbolicUnknowns(next(identity.cases()))
    pieces = identity.pieces_of(made, unknowns, {}, {})
    return [kind for _, kind in identity._hypotheses(made, pieces, {})], prove_identity(made).proved


def test_hypotheses_are_used_for_what_is_owed():
    assert given() == ([], False)
    assert given(lambda x: more_than(x, 0)) == ([">"], True)
    assert given(lambda x: less_than(x, 0)) == ([">"], True)
    assert given(lambda x: at_least(x, 0)) == ([">="], False)
    assert given(lambda x: equal(x, 3)) == (["=="], True)
    assert given(lambda x: differ(x, 0)) == (["!="], True)
    assert given(lambda x: every(at_least(x, 0), differ(x, 0))) == ([">=", "!="], True)
    assert given(lambda x: at_least(x, 0), lambda x: at_least(x, 1)) == ([">=", ">="], True)
    assert given(lambda x: at_least(1 / x, -5)) == ([">=", "!="], True)  # it has a value
    assert given(lambda x: implies(at_least(square(x), 0), differ(x, 0))) == ([], False)
    assert given(lambda x: either(more_than(x, 0), less_than(x, 0))) == ([], False)
    assert given(lambda x: every(differ(x, 0), either(at_least(x, 0), at_most(x, 0)))) == (["!="], True)
    assert given(lambda x: differ(x, 0), lambda x: at_most(x.nothing, 5)) == ([], False)
