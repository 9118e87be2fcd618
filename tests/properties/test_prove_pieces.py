"""What a domain states for proofs covers its set: every piece is gone through, and a model comes back as numbers."""

# ruff: noqa: ARG002, ARG005 - one interface, of which no domain needs every argument

import dataclasses
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from resstream import domains
from resstream.arithmetic import RATIONAL, absolute, exact, largest_entry, square, total, total_entry
from resstream.arithmetic.obligations import noting
from resstream.arithmetic.solver import Formula, SolverEntry
from resstream.arithmetic.symbols import SymbolicEntry
from resstream.arithmetic.unknowns import CASES, SymbolicUnknowns, cases
from resstream.claim import at_least, at_most, claim, equal, every, less_than, more_than
from resstream.errors import NotExpressible
from resstream.falsify.certify import Certificate, certify
from resstream.prove.answer import INEXPRESSIBLE, MODEL, PROVED
from resstream.prove.goals import prove
from resstream.prove.identity import prove_identity
from resstream.prove.statement import evaluated
from resstream.reference import row_norms

PATIENT = 60.0


def determinant(Q):
    return Q[..., :1, :1] * Q[..., 1:, 1:] - Q[..., :1, 1:] * Q[..., 1:, :1]


def is_factor(factor):
    return lambda Q: equal(determinant(Q), factor)


def only(statement, **over):
    (found,) = prove(claim("trial", over=over)(statement), PATIENT, PATIENT)
    return found


# ---- both components, zeros, every permutation ----------------------------------------------------------------------


def test_both_components_of_the_orthogonal_group_are_gone_through():
    found = only(lambda Q: equal(determinant(Q), 1), Q=domains.Orthogonal(2))
    assert found.outcome == MODEL
    assert only(lambda Q: equal(determinant(Q), -1), Q=domains.Orthogonal(2)).outcome == MODEL
    found = only(lambda Q: equal(square(determinant(Q)), 1), Q=domains.Orthogonal(2))
    assert (found.outcome, found.method, found.pieces) == (PROVED, "algebra", 2)
    for factor in (1, -1):
        wrong = claim("trial", over={"Q": domains.Orthogonal(2)})(is_factor(factor))
        assert not prove_identity(wrong).proved


def test_weights_may_be_zero():
    assert only(lambda A: more_than(A, 0), A=domains.RowStochastic(2)).outcome == MODEL
    assert only(lambda A: equal(A * (1 / A), 1), A=domains.RowStochastic(2)).outcome != PROVED
    assert only(lambda A: equal(A / A, 1), A=domains.RowStochastic(2)).outcome != PROVED
    assert only(lambda A: equal(total(A), 1), A=domains.Causal(3)).outcome == PROVED


def test_every_order_and_every_whole_number_is_gone_through():
    found = only(lambda P: equal(P @ P.mT, np.eye(3, dtype=int)), P=domains.Permutation(3))
    assert (found.outcome, found.pieces) == (PROVED, 6)
    assert only(lambda P: equal(P @ P, np.eye(3, dtype=int)), P=domains.Permutation(3)).outcome == MODEL
    k_of = domains.Whole(0, 3)
    assert only(lambda k: equal(k * (k - 1) * (k - 2) * (k - 3), 0), k=k_of).pieces == 4
    assert only(lambda k: equal(k * (k - 1) * (k - 2), 0), k=k_of).outcome == MODEL


def test_pieces_of_stacks_are_multiplied():
    stack = domains.Stack(2, domains.Permutation(2))
    found = only(lambda Ps: equal(Ps[0] @ Ps[1], Ps[1] @ Ps[0]), Ps=stack)
    assert (found.outcome, found.pieces) == (PROVED, 4)


def test_determinants_of_invertible_matrices_may_be_small_and_negative_but_not_zero():
    M_of = domains.Invertible(2)
    assert only(lambda M: more_than(square(determinant(M)), 0), M=M_of).outcome == PROVED
    for false in (
        lambda M: at_least(square(determinant(M)), exact(1, 100)),
        lambda M: at_least(determinant(M), 0),
        lambda M: equal(M[..., :1, :1] / M[..., :1, :1], 1),
        lambda M: more_than(square(M[..., :1, :1]), 0),
    ):
        assert only(false, M=M_of).outcome != PROVED
    trial = claim("trial", over={"M": M_of})(lambda M: at_least(determinant(M), 0))
    assert isinstance(certify(trial, prove(trial, PATIENT, PATIENT)[0].model), Certificate)
    pair = only(lambda M: equal(M[0] @ M[1], np.eye(2, dtype=int)), M=domains.InvertiblePair(2))
    assert (pair.outcome, pair.method) == (PROVED, "algebra")


def test_projections_of_every_rank():
    found = only(lambda P: equal(P @ P, P), P=domains.Projection(2))
    assert (found.outcome, found.pieces) == (PROVED, 3)
    assert only(lambda P: equal(P @ P @ P, 0 * P), P=domains.Projection(2)).outcome == MODEL


def test_more_pieces_than_allowed_are_not_expressible():
    found = only(lambda P: equal(P[0], P[0]), P=domains.Stack(3, domains.Permutation(3)))
    assert found.outcome == INEXPRESSIBLE
    assert "more than 24 pieces" in found.detail


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_cases_are_all_combinations(counts):
    found = [tuple(case.among(range(count)) for count in counts) for case in cases(27)]
    assert found == list(product(*map(range, counts)))


def test_cases_have_a_limit_and_an_unlimited_choice_is_refused():
    with pytest.raises(NotExpressible, match="more than 24 pieces"):
        next(cases()).among(range(CASES + 1))
    with pytest.raises(NotExpressible, match="more than 3 pieces"):
        [case.among(range(2)) + case.among(range(2)) for case in cases(3)]
    with pytest.raises(NotExpressible, match="among nothing"):
        next(cases()).among([])


# ---- domains of a user's own ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Squares(domains.Domain):
    """Squares, and nothing said of their pieces."""

    def parts(self, sizes, options):
        return {"": domains.Part((1, 1))}

    def build(self, raw, options, sizes):
        return square(raw[""])


@dataclasses.dataclass(frozen=True)
class SquaresWithPieces(Squares):
    """Squares."""

    def piece(self, unknowns, sizes, options):
        root = unknowns.real((1, 1))
        return domains.Piece(square(root), {"": root})


@dataclasses.dataclass(frozen=True)
class Halves(SquaresWithPieces):
    """Halves of squares, with the pieces of squares: those are not its own."""

    def build(self, raw, options, sizes):
        return square(raw[""]) / 2


def test_a_domain_that_states_no_pieces_is_not_expressible():
    found = only(lambda x: at_least(x, 0), x=Squares())
    assert (found.outcome, found.detail) == (INEXPRESSIBLE, "the domain Squares, which states no pieces")


def test_a_domain_of_ones_own_may_state_its_pieces():
    assert only(lambda x: at_least(x, 0), x=SquaresWithPieces()).outcome == PROVED
    found = only(lambda x: at_most(x, 4), x=SquaresWithPieces())
    assert found.outcome == MODEL


def test_pieces_of_a_base_class_that_builds_other_objects_are_not_taken():
    found = only(lambda x: equal(x, x), x=Halves())
    assert found.outcome == INEXPRESSIBLE
    assert "Halves" in found.detail


# ---- pieces against the sets ----------------------------------------------------------------------------------------

n, d = 2, 2
SETS = [
    domains.Matrix(n, d),
    domains.NonNegative(n, d),
    domains.Positive(n, d),
    domains.NonZero(n, d),
    domains.NonConstant(3),
    domains.RowStochastic(3),
    domains.Causal(3),
    domains.Simplex(3),
    domains.Permutation(3),
    domains.DoublyStochastic(3),
    domains.Symmetric(2),
    domains.PositiveSemidefinite(2),
    domains.Orthogonal(2),
    domains.Orthogonal(3, 2),
    domains.Scalar(-1, 2),
    domains.Scalar(0),
    domains.Scalar(high=1),
    domains.Whole(2, 4),
    domains.Stack(2, domains.RowStochastic(2)),
    domains.PositiveRows(2),
    domains.EqualRows(2, 3),
    domains.Banded(3),
    domains.SymmetricDoublyStochastic(3),
    domains.Sphere(2, 2),
    domains.Ball(2),
    domains.Invertible(2),
    domains.InvertiblePair(2),
    domains.Projection(2),
    domains.Ordered(3, 0, 2),
    domains.Subset(3),
    domains.Subset(4, 2),
    domains.Tokens(2, 3),
    domains.SymmetricWithSpectrum((3, 1)),
    domains.LowRank(2, 2, 1),
    domains.BlockDiagonal(3, 2),
    domains.Alibi(3),
    domains.NearbyPair(1, 2, 1),
    domains.Product(domains.Simplex(2), domains.Vector(2)),
    domains.Pair(domains.Simplex(2)),
    domains.Pair(domains.Subset(2)),
    domains.Given(0, exact(1, 3)),
    domains.Transformed(domains.Vector(2), square),
]


@pytest.mark.parametrize("domain", SETS, ids=str)
def test_the_instances_of_a_piece_are_what_its_raw_numbers_build(domain):
    """Seeded values of the unknowns that meet the conditions: the object, and what the raw arrays build, are equal."""
    rng = np.random.default_rng(0)
    compared = 0
    for case in cases(60):
        # The pieces given by formulas have an instance for (nearly) all values of their unknowns.
        unknowns = SymbolicUnknowns(case)
        with noting() as notes:
            piece = domain.own_piece(unknowns, {}, {})
        made = list(piece.object) if isinstance(piece.object, (list, tuple)) else [piece.object]
        for _ in range(24):
            point = {
                f"x{k}": Fraction(int(rng.integers(0, 5)), int(rng.integers(1, 4)) * 5) for k in range(unknowns.count)
            }
            if not _meets(unknowns.known, notes, point, made):
                continue

            def value(entries, point=point):
                values = np.empty(entries.shape, dtype=object)
                for index, entry in np.ndenumerate(entries):
                    values[index] = _at(entry, point)
                return values

            raw = domains.raw_values(piece, value)
            built = domain.build({name: RATIONAL.array(values) for name, values in raw.items()}, {}, {})
            made = piece.object if isinstance(piece.object, (list, tuple)) else [piece.object]
            for ours, theirs in zip(made, list(built) if isinstance(built, (list, tuple)) else [built], strict=True):
                assert [entry.value for entry in theirs.flat] == [
                    fmpq(x.numerator, x.denominator) for x in value(ours).flat
                ]
                compared += 1
    assert compared >= 3


def _at(entry, point):
    if not isinstance(entry, SymbolicEntry):
        return Fraction(entry)
    result = entry.value.subs({symbol: _sympy(point[symbol.name]) for symbol in entry.value.free_symbols})
    return Fraction(int(result.p), int(result.q))


def _sympy(fraction):
    import sympy

    return sympy.Rational(fraction.numerator, fraction.denominator)


def symbols_of(entry):
    return entry.value.free_symbols if isinstance(entry, SymbolicEntry) else ()


def _meets(known, notes, point, made):
    if any(
        symbol.is_positive and not point[symbol.name]
        for objects in made
        for entry in objects.flat
        for symbol in symbols_of(entry)
    ):
        return False
    checks = {">=": lambda x: x >= 0, ">": lambda x: x > 0, "==": lambda x: x == 0, "!=": lambda x: x != 0}
    conditions = [(SymbolicEntry(e), kind) for e, kind in known]
    conditions += [(note.entry, note.kind) for note in notes]
    return all(checks[kind](_at(entry, point)) for entry, kind in conditions)


def test_the_solvers_pieces_contain_what_the_domains_build():
    """Exact members of a set satisfy the conditions of one of its pieces, where the objects are the unknowns."""
    checked = 0
    for domain in (domains.RowStochastic(3), domains.Causal(3), domains.DoublyStochastic(2), domains.Orthogonal(2)):
        rng = np.random.default_rng(1)
        for _ in range(10):
            raw = {
                name: RATIONAL.array(part.settle(rng.integers(-3, 4, part.shape)))
                for name, part in domain.parts({}, {}).items()
            }
            member = domain.build(raw, {}, {})
            formula = Formula(next(cases()))
            piece = domain.own_piece(formula, {}, {})
            point = {}
            for unknown, entry in zip(piece.object.flat, member.flat, strict=True):
                if isinstance(unknown, SolverEntry) and list(unknown.polynomial.terms.values()) == [1]:
                    ((monomial, _),) = unknown.polynomial.terms.items()
                    if len(monomial) == 1:
                        point[monomial[0]] = entry.value
            for condition in formula.conditions:
                value = evaluated(condition.polynomial, point)
                assert value == 0 if condition.kind == "==" else value >= 0
                checked += 1
            for unknown, entry in zip(piece.object.flat, member.flat, strict=True):
                assert evaluated(unknown.polynomial, point) == entry.value
    assert checked > 100


# ---- models ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "false"),
    [
        (domains.DoublyStochastic(3), lambda P: at_most(P, exact(2, 3))),
        (domains.Orthogonal(2), lambda P: at_most(P[..., :1, :1], exact(2, 3))),
        (domains.Orthogonal(2), lambda P: at_least(square(determinant(P) + 1), exact(1, 10))),
        # Only near the irrational (1, 1)/sqrt(2):
        (domains.Orthogonal(2), lambda P: at_least(square(P[..., :1, :1] - P[..., 1:, :1]), exact(1, 10**6))),
        (domains.Permutation(3), lambda P: equal(P[..., :1, :1], 1)),
        (domains.Matrix(1, 1), lambda P: at_least(square(square(P) - 2), exact(1, 10**8))),
        (domains.PositiveSemidefinite(2), lambda P: at_least(P, 0)),
        (domains.Whole(0, 10**9), lambda P: less_than(0, square(P - 123449929))),
    ],
    ids=["doubly stochastic", "rotation", "reflection", "irrational direction", "order", "irrational", "Gram", "whole"],
)
def test_models_come_back_as_exact_raw_numbers_that_certify(domain, false):
    trial = claim("trial", over={"P": domain})(false)
    (found,) = prove(trial, PATIENT, PATIENT)
    assert found.outcome == MODEL
    certificate = certify(trial, found.model)
    assert isinstance(certificate, Certificate)
    assert found.covers(found.model)


@pytest.mark.parametrize("d", [1, 2])
def test_norms_of_any_scale_and_basis_come_back(d):
    @claim("trial", over={"x": domains.Vector(d), "norm": domains.Norm(d)})
    def trial(x, norm):
        return at_least(total(absolute(x)), row_norms(x, norm))

    @claim("trial", over={"x": domains.Vector(d), "norm": domains.Norm(d)})
    def other(x, norm):
        return at_most(largest_entry(absolute(x)), row_norms(x, norm) * d)

    for false in (trial, other):
        found = prove(false, PATIENT, PATIENT)[-1]
        assert found.outcome == MODEL, str(found)
        assert isinstance(certify(false, found.model), Certificate)


def test_models_of_several_variables_under_hypotheses():
    def unit(x):
        return at_most(total(square(x)), 1)

    over = {"x": domains.Vector(2), "A": domains.RowStochastic(2)}
    trial = claim("trial", over=over, assuming=[unit])(lambda x, A: at_most(largest_entry(x @ A), exact(9, 10)))
    (found,) = prove(trial, PATIENT, PATIENT)
    assert isinstance(certify(trial, found.model), Certificate)
    everywhere = claim("trial", over=over, assuming=[unit])(lambda x, A: every(at_most(total_entry(x), 2)))
    assert prove(everywhere, PATIENT, PATIENT)[0].outcome == PROVED
