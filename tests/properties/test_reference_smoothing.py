"""Dobrushin coefficient, diameter, spread and stacks, with the regimes that theorems turn on."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from resstream.arithmetic import FLOAT64, RATIONAL, Array, Ball, absolute, amax, to_float, total, total_entry
from resstream.errors import DomainError, ShapeError
from resstream.reference import (
    L1,
    L2,
    LINF,
    Norm,
    cosine_similarity,
    diameter,
    dispersion,
    dobrushin,
    dobrushin_overlap,
    frobenius_norm,
    mean_pairwise_distance,
    pairwise_distances,
    relative_spread,
    row_norms,
    row_range,
    skip_stack,
    smoothing,
    smoothing_stack,
)

BALL = Ball(160)
EPS = float(np.finfo(np.float64).eps)
KINDS = pytest.mark.parametrize("norm", [L1, L2, LINF], ids=str)
ENTRIES = st.integers(-40, 40).map(lambda k: k / 8) | st.floats(2.0**-20, 2.0**20) | st.floats(-(2.0**20), -(2.0**-20))


def matrices(rows: int, columns: int, *batch: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (*batch, rows, columns), elements=ENTRIES, fill=st.nothing())


def stochastic_matrices(rows: int, columns: int, *batch: int) -> st.SearchStrategy[Array]:
    """Sixty-fourths that sum to one exactly, as floats and in every other number system: gaps between sorted cuts."""
    places = st.sampled_from([0, 64]) | st.integers(0, 64)
    cuts = arrays(np.int64, (*batch, rows, columns - 1), elements=places, fill=st.nothing())
    return cuts.map(lambda c: np.diff(np.sort(c), axis=-1, prepend=0, append=64) / 64)


# ---- what is drawn ----------------------------------------------------------


@given(A=stochastic_matrices(3, 5, 2))
def test_the_strategy_draws_row_stochastic_matrices(A: Array) -> None:
    assert (A >= 0).all()
    assert (A.sum(-1) == 1).all()


def test_the_strategy_reaches_the_ends_and_shrinks_to_the_documented_minimum() -> None:
    zero = find(stochastic_matrices(3, 3), lambda A: dobrushin(A).item() == 0)
    assert (zero == [[0, 0, 1]] * 3).all()
    one = find(stochastic_matrices(3, 3), lambda A: dobrushin(A).item() == 1)
    assert sorted(set(one.ravel().tolist())) == [0, 1]
    find(stochastic_matrices(3, 3), lambda A: 0 < dobrushin(A).item() < 1)


# ---- the Dobrushin coefficient ----------------------------------------------


def assert_dobrushin_is_one_less_the_overlap(implementation: Callable[[Array], Array]) -> None:
    """Exactly, in rationals: two unlike rows, equal rows, disjoint rows, one row, many rows."""
    for rows in (
        [[1, 2], [2, 1]],
        [[1, 1]] * 3,
        [[1, 1, 0, 0], [0, 0, 1, 1]],
        [[3, 4]],
        [[1, 2, 3], [0, 1, 0], [5, 1, 1]],
    ):
        weights = RATIONAL.array(rows)
        A = weights / total(weights)
        assert implementation(A).item() == dobrushin_overlap(A).item(), "tau is not one less the overlap"


def test_dobrushin_is_one_less_the_overlap() -> None:
    assert_dobrushin_is_one_less_the_overlap(dobrushin)


@pytest.mark.parametrize(
    "fault",
    [
        lambda A: 2 * dobrushin(A),  # without the half
        lambda A: amax(total(absolute(A - A[..., :1, :])), -2) / 2,  # pairs with the first row only
        lambda A: amax(amax(absolute(A[..., 1:, :] - A[..., :-1, :])), -2) if A.shape[-2] > 1 else 0 * A[:, :1],
    ],
    ids=["without the half", "first row only", "largest entry"],
)
def test_faults_in_dobrushin_are_caught(fault: Callable[[Array], Array]) -> None:
    with pytest.raises(AssertionError, match="tau is not one less the overlap"):
        assert_dobrushin_is_one_less_the_overlap(fault)


@given(A=stochastic_matrices(5, 3, 2))
def test_both_forms_agree_and_stay_within_zero_and_one(A: Array, assert_rounding_only: Callable) -> None:
    assert (dobrushin(A) == dobrushin_overlap(A)).all()  # sixty-fourths: no rounding at all
    assert ((dobrushin(A) >= 0) & (dobrushin(A) <= 1)).all()
    exact = [dobrushin(RATIONAL.array(a)).item() for a in A]
    assert [to_float(value) for value in exact] == dobrushin(A).ravel().tolist()
    assert_rounding_only(dobrushin, A)


@given(weights=arrays(np.float64, (2, 5, 3), elements=st.floats(0.125, 8), fill=st.nothing()))
def test_the_forms_agree_to_rounding_on_normalised_floats(weights: Array) -> None:
    A = weights / total(weights)
    # Each row sum is off by 3 roundings at most, and either form adds as many again, on a scale of one.
    np.testing.assert_allclose(dobrushin(A), dobrushin_overlap(A), rtol=0, atol=12 * EPS)


@given(A=stochastic_matrices(5, 3))
def test_dobrushin_is_half_the_largest_l1_distance(A: Array) -> None:
    loop = max(0.5 * np.abs(A[i] - A[j]).sum() for i in range(5) for j in range(5))
    assert dobrushin(A).item() == loop
    assert (dobrushin(A) == pairwise_distances(A, L1).max() / 2).all()


@pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
@pytest.mark.parametrize("columns", [1, 3])
def test_one_token_has_coefficient_and_diameter_exactly_zero(system: Ball, columns: int) -> None:
    with system.working():
        A = system.array(np.eye(columns)[:1])
        for value in (dobrushin(A), dobrushin_overlap(A), diameter(A), diameter(A, L1), pairwise_distances(A)):
            assert value.shape == (1, 1)
            assert value.item() == 0


@pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
def test_equal_rows_give_exactly_zero_and_disjoint_rows_exactly_one(system: Ball) -> None:
    with system.working():
        weights = system.array([[1, 2, 4]] * 5)
        assert dobrushin(weights / total(weights)).item() == 0 if system is not BALL else True
        assert dobrushin(system.array([[1, 0, 0], [0, 1, 0]])).item() == 1
        assert diameter(system.array([[3, -1, 5]] * 5)).item() == 0


# ---- diameters and distances ------------------------------------------------


@KINDS
@given(X=matrices(5, 3, 2))
def test_the_diameter_is_rounding_away_from_the_ball(norm: Norm, X: Array, assert_rounding_only: Callable) -> None:
    assert_rounding_only(lambda x: diameter(x, norm), X)
    assert_rounding_only(lambda x: pairwise_distances(x, norm), X)


@KINDS
@given(X=matrices(5, 3, 2))
def test_the_diameter_is_the_largest_of_the_pairwise_distances(norm: Norm, X: Array) -> None:
    distances = pairwise_distances(X, norm)
    assert distances.shape == (2, 5, 5)
    assert (distances == distances.mT).all()
    assert (np.diagonal(distances, axis1=-2, axis2=-1) == 0).all()
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm.kind]
    loop = [[[np.linalg.norm(x - y, order) for y in cloud] for x in cloud] for cloud in X]
    np.testing.assert_allclose(distances, loop, rtol=6 * EPS, atol=0)  # sums of 3 nonnegative terms on either side
    np.testing.assert_allclose(diameter(X, norm)[:, 0, 0], distances.max((1, 2)), rtol=6 * EPS, atol=0)


def test_the_diameter_after_a_change_of_basis() -> None:
    X, basis = RATIONAL.array([[0, 0], [1, 1], [3, 0]]), RATIONAL.array([[2, 0], [1, 1]])
    norm = Norm("l1", basis, RATIONAL.array([["1/2", 0], ["-1/2", 1]]))
    assert diameter(X, norm).item() == diameter(X @ basis, L1).item() == 6
    assert (pairwise_distances(X, norm) == pairwise_distances(X @ basis, L1)).all()


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("norm", [L1, LINF], ids=str)
def test_the_mean_distance_is_that_of_all_pairs(norm: Norm, n: int) -> None:
    X = RATIONAL.array(np.random.default_rng(n).integers(-9, 10, (5, n, 3)))
    found, every = mean_pairwise_distance(X, norm), total_entry(pairwise_distances(X, norm))
    assert found.shape == (5, 1, 1)
    assert (found * max(1, n * (n - 1)) == every).all()  # a pair in both orders, and a row with itself adds nothing


@pytest.mark.parametrize("together", [1, 20, 50, 1 << 20])
def test_the_largest_of_the_pairs_however_many_are_taken_at_a_time(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smoothing, "TOGETHER", together)
    X = np.random.default_rng(0).integers(-9, 10, (11, 7, 2)).astype(float)
    pairs = pairwise_distances(X, L1).max((-2, -1))
    assert (diameter(X, L1)[:, 0, 0] == pairs).all()
    assert [diameter(x, L1).item() for x in X] == pairs.tolist()


@given(X=matrices(5, 3, 2).filter(lambda X: X.any(axis=(-2, -1)).all()))
def test_spread_and_range(X: Array, assert_rounding_only: Callable) -> None:
    assert_rounding_only(row_range, X)
    assert (row_range(X)[:, 0, 0] == (X.max(-1) - X.min(-1)).max(-1)).all()
    with BALL.working():
        for cloud in X:
            spread = relative_spread(BALL.array(cloud)).item()
            assert not spread > 1
            assert spread.value.overlaps(relative_spread(3 * BALL.array(cloud)).item().value)
            # Pythagoras: the mean row and what is left of X are orthogonal.
            average = total(BALL.array(cloud), -2) / 5
            rest = spread**2 * frobenius_norm(BALL.array(cloud)).item() ** 2
            whole = rest + 5 * total_entry(average**2).item()
            assert whole.value.overlaps(total_entry(BALL.array(cloud) ** 2).item().value)


def test_the_relative_spread_of_known_clouds(checking: Callable) -> None:
    assert relative_spread(np.array([[1.0, 2], [1, 2], [1, 2]])).item() == 0
    assert relative_spread(np.array([[3.0, -4], [-3, 4]])).item() == 1
    assert relative_spread(RATIONAL.array([[3, 4], [3, -4]])).item() * 5 == 4
    for system in (FLOAT64, BALL, RATIONAL):
        with checking(system):
            zero = system.array(np.zeros((3, 2)))
            with pytest.raises(DomainError, match="X: the relative spread of a zero matrix is not defined"):
                relative_spread(zero)


# ---- stacks -----------------------------------------------------------------


def _layers(depth: int) -> tuple[list[Array], Array, list[Array]]:
    weights = [RATIONAL.array([[1, k, 0], [2, 1, 3], [0, 0, k + 1]]) for k in range(depth)]
    maps = [RATIONAL.array([[1, k], [-k, 2]]) for k in range(depth)]
    return [w / total(w) for w in weights], RATIONAL.array([[1, 2], [0, -1], [4, 3]]), maps


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_stacks_follow_their_recursions(depth: int) -> None:
    As, X, Ws = _layers(depth)
    pure, skip = smoothing_stack(As, X, Ws), skip_stack(As, X, Ws)
    assert len(pure) == len(skip) == depth + 1
    assert (pure[0] == X).all()
    assert (skip[0] == X).all()
    for k in range(depth):
        assert (pure[k + 1] == As[k] @ pure[k] @ Ws[k]).all()
        assert (skip[k + 1] - skip[k] == As[k] @ skip[k] @ Ws[k]).all()


def test_the_merged_pair() -> None:
    A = RATIONAL.array([["9/10", 0, "1/10"], ["91/100", 0, "9/100"], ["9/10", 0, "1/10"]])
    X = RATIONAL.array([[0], ["1/10"], [10]])
    merged = skip_stack([A], X, [RATIONAL.array([[1]])])[-1]
    assert dobrushin(A).item() * 100 == 1
    assert (merged == RATIONAL.array([[1], [1], [11]])).all()
    assert diameter(merged).item() == diameter(X).item() == 10
    assert (row_norms(merged, LINF) == merged).all()


def test_stacks_refuse_layers_that_do_not_fit() -> None:
    As, X, Ws = (np.full((3, 3), 1 / 3), np.ones((3, 2)), np.eye(2))
    with pytest.raises(ShapeError, match="As, Ws: expected one W for every A, got 2 and 1"):
        smoothing_stack([As, As], X, [Ws])
    with pytest.raises(ShapeError, match=r"As\[1\]: expected 3 columns, as X has rows, got shape \(2, 2\)"):
        skip_stack([As, np.eye(2)], X, [Ws, Ws])
    with pytest.raises(ShapeError, match=r"Ws\[0\]: expected 2 rows, as X has columns, got shape \(3, 3\)"):
        smoothing_stack([As], X, [np.eye(3)])
    with pytest.raises(DomainError, match=r"As\[0\]: expected a row-stochastic matrix, but row \[0\] sums to 1.5"):
        skip_stack([As * 1.5], X, [Ws])


def test_one_token_in_each_of_a_batch() -> None:
    one = np.ones((3, 2, 1, 4))
    for found in (dobrushin(one / 4), dobrushin_overlap(one / 4), diameter(one, L1), mean_pairwise_distance(one)):
        assert np.array_equal(found, np.zeros((3, 2, 1, 1)))


def test_the_dispersion_counts_tokens_and_not_columns() -> None:
    assert dispersion(np.array([[0.0], [6], [3]])).item() == 6
    assert dispersion(np.array([[0.0, 1, 2, 3], [2, 3, 4, 5]])).item() == 4


def test_every_row_has_its_own_scale_in_a_cosine_and_all_have_one_in_a_spread() -> None:
    X = np.array([[3e200, 4e200], [3e-200, -4e-200], [0.0, 2.0]])
    wanted = np.array([[1, -0.28, 0.8], [-0.28, 1, -0.8], [0.8, -0.8, 1]])
    assert np.abs(cosine_similarity(X) - wanted).max() < 8 * EPS
    assert abs(relative_spread(np.array([[1e200], [1.0]])).item() - 0.5**0.5) < 4 * EPS


def test_a_zero_row_of_either_matrix_is_named() -> None:
    unit, zero = np.array([[0.0, 1.0]]), np.zeros((1, 2))
    for X, Y, name in ((zero, unit, "X"), (unit, zero, "Y")):
        with pytest.raises(DomainError, match=rf"{name}: row \[0\] is zero, so the cosine is not defined"):
            cosine_similarity(X, Y)
