"""The failure map: where a false claim fails, where it does not, and which added hypothesis saves it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resstream.arithmetic import RATIONAL
from resstream.audit import failures, kinds
from resstream.audit.failures import FAILS, SURVIVES
from resstream.claim import at_least, at_most, claim
from resstream.claims import contraction
from resstream.domains import Ball, Causal, DoublyStochastic, Matrix, NonNegative, Norm, RowStochastic, Scalar, Stack
from resstream.falsify import engines
from resstream.reference import L1, diameter, dobrushin, row_norms


def outcomes(found, options=""):
    return {tuple(cell.sizes.values()): cell.outcome for cell in found.cells if cell.options == options}


def test_tau_squared_fails_from_two_tokens_on_and_survives_for_one_token_or_equal_rows():
    found = failures.failure_map(contraction.contraction_diameter_squared)
    assert (found.rows, found.columns) == ("n", "d")
    assert found.options == ["norm = linf", "norm = l1", "norm = l2"]
    for options in found.options:
        assert outcomes(found, options) == {
            (n, d): SURVIVES if n == 1 else FAILS for n in range(1, 5) for d in range(1, 5)
        }
    saved = [label for label, _ in found.rescue]
    assert "n = 1" in saved
    assert "A in EqualRows(n, n)" in saved
    failing = {change for change, outcome, _ in found.kinds if outcome == FAILS}
    assert {"A in Causal(n)", "A in DoublyStochastic(n)"} <= failing


def test_a_claim_of_one_norm_is_saved_by_that_norm():
    @claim("trial", over={"X": Matrix("n", "d"), "norm": Norm("d")})
    def trial(X, norm):
        return at_least(row_norms(X, norm), row_norms(X, L1))

    found = failures.failure_map(trial)
    assert set(outcomes(found, "norm = l1").values()) == {SURVIVES}
    assert FAILS in outcomes(found, "norm = l2").values()
    assert found.rescue[0][0] == "norm = l1"


def test_a_claim_true_of_more_than_two_tokens_is_saved_by_that_size():
    @claim("trial", over={"A": RowStochastic("n")}, sizes={"n": range(2, 7)})
    def trial(A):
        return at_most(2 * dobrushin(A), A.shape[-1] - 1)

    found = failures.failure_map(trial)
    assert outcomes(found) == {(2,): FAILS, (3,): SURVIVES, (4,): SURVIVES, (5,): SURVIVES}
    assert "n >= 3" in [label for label, _ in found.rescue]


def test_a_claim_that_nothing_saves_says_so():
    @claim("trial", over={"x": Scalar()})
    def trial(x):
        return at_most(x * 0 + 1, 0)

    found = failures.failure_map(trial)
    assert found.rescue == ()
    assert outcomes(found) == {(): FAILS}


def test_no_seconds_left_is_no_error():
    assert failures.failure_map(contraction.contraction_diameter_squared, left=lambda: 0.0).cells == ()


# ---- kinds ------------------------------------------------------------------

WIDER = [
    RowStochastic("n"),
    RowStochastic("n", "d"),
    Matrix("n", "d"),
    Matrix("n", "n"),
    Matrix(1, "n"),
    NonNegative("n", "d"),
    DoublyStochastic("n"),
    Stack(2, RowStochastic("n")),
    Causal("n"),
    Ball("d"),
    Scalar(-1),
    Norm("d"),
]


@pytest.mark.parametrize("wide", WIDER, ids=str)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_narrower_kind_is_a_subset(wide, seed):
    names = list(kinds.narrower(wide))
    assert names
    for domain in names:
        statement = claim("trial", over={"x": domain}, sizes=dict.fromkeys(domain.size_names(), range(2, 4)))(trivial)
        raw = engines.random_batch(statement, np.random.default_rng(seed), 9).at(seed % 9)
        assert wide.contains(statement.build(raw, RATIONAL)["x"], raw.sizes), f"{domain} is not within {wide}"


def trivial():
    return at_most(0, 1)


def test_the_kinds_are_what_they_are_called():
    raw = {"column": RATIONAL.array([[2], [3]]), "row": RATIONAL.array([[1, 5]])}
    assert kinds.RankOne("n", "d").build(raw, {}, {}).tolist() == [[2, 10], [3, 15]]
    positive = kinds.PositiveRows("n").build({"": RATIONAL.array([[0, 3], [-1, 1]])}, {}, {"n": 2})
    assert [[str(x) for x in row] for row in positive] == [["1/4", "3/4"], ["1/2", "1/2"]]
    same = kinds.EqualRows("n", "n").build({"": RATIONAL.array([[1, 3]])}, {}, {"n": 2})
    assert dobrushin(same).item() == 0
    assert diameter(same).item() == 0
