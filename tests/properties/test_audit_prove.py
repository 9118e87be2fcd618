"""Proofs at small sizes: what is true is proved, what is false never, and what cannot be said is named."""

import pytest

from resstream import domains
from resstream.arithmetic import exact, largest_entry, smallest_entry, square, total, total_entry
from resstream.claim import at_least, at_most, claim, equal, every, less_than
from resstream.claims import contraction
from resstream.claims import dobrushin as dobrushin_claims
from resstream.domains import Matrix, Norm, RowStochastic
from resstream.falsify.certify import Certificate, certify
from resstream.prove import goals as prove
from resstream.prove.answer import MODEL, PROVED
from resstream.reference import L1, diameter, dobrushin, softmax

PATIENT = 300.0  # seconds for what takes twenty at most: a busy machine is no failure


def goal(statement, sizes, seconds=PATIENT):
    (found,) = prove.prove(statement, seconds, seconds, sizes=[sizes])
    return found


@pytest.mark.parametrize("n", [2, 3, 4])
def test_dobrushins_contraction_is_proved_in_one_dimension_for_every_norm(n):
    found = goal(contraction.contraction_diameter, {"n": n, "d": 1})
    assert str(found) == f"proved at n={n}, d=1; any norm"


def contraction_by(factor):
    @claim("trial", over={"A": RowStochastic("n"), "X": Matrix("n", 1)})
    def trial(A, X):
        return at_most(diameter(A @ X), factor * dobrushin(A) * diameter(X))

    return trial


@pytest.mark.parametrize("n", [2, 3])
def test_a_bound_a_little_too_small_is_refuted_by_a_model_that_exact_arithmetic_confirms(n):
    found = goal(contraction_by(exact(999, 1000)), {"n": n})
    assert found.outcome == MODEL
    assert isinstance(certify(contraction_by(exact(999, 1000)), found.model), Certificate)


def test_a_claim_that_first_fails_at_three_is_proved_at_two_only():
    @claim("trial", over={"A": RowStochastic("n"), "X": Matrix("n", 1)})
    def trial(A, X):
        return equal(diameter(A @ X), dobrushin(A) * diameter(X))

    assert [g.outcome for g in prove.prove(trial, PATIENT, PATIENT, sizes=[{"n": 2}])] == [PROVED]
    assert goal(trial, {"n": 3}).outcome == MODEL


def test_an_identity_is_proved_by_algebra():
    found = goal(dobrushin_claims.dobrushin_two_forms, {"n": 2, "m": 3})
    assert (found.outcome, found.method) == (PROVED, "algebra")


def test_an_exponential_cannot_be_said():
    found = goal(contraction.contraction_scores, {"n": 2, "m": 2})
    assert str(found) == "not expressible (exp) at n=2, m=2"


def test_hypotheses_are_used():
    def positive(X):
        return at_least(X, 1)

    over = {"X": Matrix("n", "n")}
    with_it = claim("trial", over=over, assuming=[positive])(lambda X: at_least(total_entry(X @ X), 4))
    without = claim("trial", over=over)(lambda X: at_least(total_entry(X @ X), 4))
    assert goal(with_it, {"n": 2}).outcome == PROVED
    assert goal(without, {"n": 2}).outcome == MODEL


def test_nothing_larger_is_tried_after_what_was_not_decided():
    @claim("trial", over={"X": Matrix("n", "n")})
    def trial(X):
        return at_least(softmax(X), 0)

    goals = prove.prove(trial, PATIENT)
    assert [g.sizes for g in goals] == [{"n": 1}]


def test_the_time_limit_is_kept_by_leaving_goals_out():
    assert prove.prove(contraction.contraction_diameter, seconds=0) == []


# ---- what is assumed of each domain: true statements are proved, false ones never ------------------------------------

n, d = "n", "d"
ORTHOGONAL = domains.Orthogonal(d)
STATEMENTS = {
    "Matrix": (domains.Matrix(n, d), lambda x: at_least(square(x), 0), lambda x: at_least(x, 0)),
    "NonNegative": (domains.NonNegative(n, d), lambda x: at_least(x, 0), lambda x: less_than(0, x)),
    "Positive": (domains.Positive(n, d), lambda x: less_than(0, x), lambda x: at_least(x, exact(1, 100))),
    "NonZero": (
        domains.NonZero(n, d),
        lambda x: less_than(0, total_entry(square(x))),
        lambda x: less_than(0, square(x)),
    ),
    "NonConstant": (
        domains.NonConstant(d),
        lambda x: less_than(smallest_entry(x), largest_entry(x)),
        lambda x: less_than(0, largest_entry(x)),
    ),
    "RowStochastic": (domains.RowStochastic(n), lambda x: at_most(x, 1), lambda x: less_than(x, 1)),
    "Causal": (
        domains.Causal(n),
        lambda x: equal(x[..., :1, 1:], 0),
        lambda x: equal(x[..., 1:, :1], 0),
    ),
    "DoublyStochastic": (
        domains.DoublyStochastic(n),
        lambda x: equal(total(x, -2), 1),
        lambda x: equal(x, x.mT * 0 + exact(1, 2)),
    ),
    "Permutation": (
        domains.Permutation(n),
        lambda x: equal(x * x, x),
        lambda x: equal(x[..., :1, :1], 1),
    ),
    "Orthogonal": (ORTHOGONAL, lambda x: at_most(x, 1), lambda x: less_than(x, 1)),
    "Symmetric": (domains.Symmetric(d), lambda x: equal(x, x.mT), lambda x: at_least(x, 0)),
    "PositiveSemidefinite": (
        domains.PositiveSemidefinite(d),
        lambda x: at_least(x[..., :1, :1], 0),
        lambda x: at_least(x, 0),
    ),
    "Invertible": (domains.Invertible(d), lambda x: equal(x, x), lambda x: at_least(x, 0)),
    "Scalar": (domains.Scalar(0, 1), lambda x: every(at_least(x, 0), at_most(x, 1)), lambda x: less_than(x, 1)),
    "Whole": (domains.Whole(2, 4), lambda x: at_least(square(2 * x - 5), 1), lambda x: at_least(x, 3)),
    "Stack": (
        domains.Stack(2, RowStochastic(n)),
        lambda x: at_most(x[0] @ x[1], 1),
        lambda x: equal(x[0], x[1]),
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_of_every_domain_what_is_true_is_proved_and_what_is_false_is_not(name):
    domain, true, false = STATEMENTS[name]
    statements = [claim("trial", over={"x": domain})(statement) for statement in (true, false)]
    sizes = dict.fromkeys(statements[0].size_ranges(), 2)
    proof, model = (goal(statement, sizes) for statement in statements)
    assert (proof.outcome, model.outcome) == (PROVED, MODEL)
    assert isinstance(certify(statements[1], model.model), Certificate)


def test_a_norm_in_one_dimension_is_a_multiple_of_the_absolute_value():
    @claim("trial", over={"X": Matrix("n", "d"), "norm": Norm("d")})
    def trial(X, norm):
        return at_most(diameter(X, norm), diameter(X))

    assert goal(trial, {"n": 2, "d": 1}).outcome == MODEL  # norms twice as large exist


def test_a_norm_that_may_not_be_scaled_is_not_called_any_norm():
    @claim("trial", over={"X": Matrix("n", "d"), "norm": Norm("d", bases=False)})
    def trial(X, norm):
        return at_most(diameter(X, norm), diameter(X, L1))

    def labels(**sizes):
        return [(g.outcome, g.options) for g in prove.prove(trial, PATIENT, PATIENT, sizes=[sizes])]

    assert labels(n=2, d=1) == [(PROVED, "")]
    assert labels(n=2, d=2) == [(PROVED, f"norm {kind}") for kind in ("linf", "l1", "l2")]
