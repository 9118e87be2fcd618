"""Softmax, masks, heads and multi-head attention, against SciPy and the balls, with the faults people reported."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy.special
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from resstream.arithmetic import FLOAT64, RATIONAL, Array, Ball, jacobian, total
from resstream.errors import DomainError, NotExact, ShapeError
from resstream.reference import (
    Head,
    attention,
    attention_scores,
    attention_weights,
    banded_mask,
    block_mask,
    causal_mask,
    concatenated_attention,
    dobrushin,
    head_output,
    head_scores,
    head_weights,
    multi_head_attention,
    sliding_window_mask,
    softmax,
)

BALL = Ball(160)
EPS = float(np.finfo(np.float64).eps)
SYSTEMS = pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
ENTRIES = st.integers(-16, 16).map(lambda k: k / 8)
SCORES = ENTRIES | st.floats(-800, 800) | st.sampled_from([-1e5, 1e5, -1e300, 1e300])

# A quarter of the profile's examples: each draws a hundred numbers or more, and judges them twice.
FEWER = settings(max_examples=settings.default.max_examples // 4)


def matrices(rows: int, columns: int, *batch: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (*batch, rows, columns), elements=ENTRIES, fill=st.nothing())


def score_matrices(rows: int, columns: int, *batch: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (*batch, rows, columns), elements=SCORES, fill=st.nothing())


def heads(d: int, h: int, v: int) -> st.SearchStrategy[Head]:
    return st.builds(
        Head, matrices(d, h), matrices(d, h), matrices(d, v), matrices(v, d), matrices(1, h), matrices(1, h)
    )


def as_balls(head: Head) -> Head:
    return Head(*(Ball(256).array(getattr(head, name)) for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K")))


# ---- softmax ----------------------------------------------------------------


@given(scores=score_matrices(3, 5, 2))
def test_softmax_is_a_few_units_from_the_ball(scores: Array, assert_within: Callable) -> None:
    together = softmax(scores)
    for batch, single in enumerate(scores):
        with Ball(256).working():
            judged = softmax(Ball(256).array(single))
        # The shifted score is rounded, which moves its exponential by that much of the score's size; the exponential
        # and the sum of 5 add some units more. Below the smallest normal number floats lose their relative precision.
        size = np.where(judged_float(judged) > 0, single.max(-1, keepdims=True) - single, 0)
        bound = (size + 5 + 5) * EPS * judged_float(judged) + np.finfo(np.float64).tiny
        assert_within(together[batch], judged, bound)
        assert_within(softmax(single), judged, bound)


def judged_float(balls: Array) -> Array:
    return np.vectorize(lambda ball: float(ball.value.mid()), otypes=[float])(balls)


@given(scores=arrays(np.float64, (2, 3, 5), elements=ENTRIES | st.floats(-800, 800), fill=st.nothing()))
def test_softmax_agrees_with_scipy(scores: Array) -> None:
    # Both shift by the maximum and divide by a sum of 5: they differ by the order of the sum, and by an exponential's
    # last place, which the shift turns into the size of the score.
    np.testing.assert_allclose(
        softmax(scores), scipy.special.softmax(scores, axis=-1), rtol=16 * EPS, atol=np.finfo(np.float64).tiny
    )


@given(scores=score_matrices(3, 5), shift=st.integers(-8, 8))
def test_rows_are_probabilities_whatever_the_shift(scores: Array, shift: int, assert_same_balls: Callable) -> None:
    scores = np.clip(scores, -1e5, 1e5)  # a shift of larger scores would itself be rounded
    with BALL.working():
        weights = softmax(BALL.array(scores))
        assert_same_balls(total(weights), BALL.array(np.ones((3, 1))))
        assert all(entry.value >= 0 or entry.value.contains(0) for entry in weights.flat)
        assert_same_balls(softmax(BALL.array(scores) + shift), weights)
    assert (softmax(scores) >= 0).all()
    assert 0 <= dobrushin(softmax(scores)).item() <= 1 + 16 * 5 * EPS


def test_extreme_scores_saturate_without_nan() -> None:
    assert (softmax(np.array([[1000.0, 0, -1000]])) == [[1, 0, 0]]).all()
    assert (softmax(np.array([[-1.7e308, 1.7e308]])) == [[0, 1]]).all()
    assert (softmax(np.full((1, 2), -1e300)) == 0.5).all()
    with BALL.working():
        tail = softmax(BALL.array([[0, -1e5]]))[0, 1]
        assert tail > 0
        assert tail < arb(2) ** -100_000


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_scores_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(DomainError, match=rf"scores: expected finite entries, got {bad} at \[0, 1\]"):
        softmax(np.array([[0.0, bad, 1.0]]))


def test_rationals_are_exact_where_scores_are_equal() -> None:
    scores = RATIONAL.array([["1/3", "1/3", 7], [5, 5, 5]])
    mask = np.array([[True, True, False], [True, True, True]])
    assert (softmax(scores, mask) == RATIONAL.array([["1/2", "1/2", 0], ["1/3", "1/3", "1/3"]])).all()
    with pytest.raises(NotExact, match="exp"):
        softmax(scores)


@SYSTEMS
def test_softmax_is_differentiable_at_equal_scores(system: Ball) -> None:
    # diag(p) - p'p with p uniform; the shift by the maximum has a kink here, which is none of the softmax's.
    with system.working():
        J = jacobian(softmax, system.array([[4, 4, 4, 4]]))
        difference = J - (4 * system.array(np.eye(4)) - 1) / 16
        if system is FLOAT64:
            assert abs(difference).max() <= EPS  # sums and quotients of sixteenths, of size below one
        else:
            assert all(entry == 0 if system is RATIONAL else entry.value.contains(0) for entry in difference.flat)


# ---- masks ------------------------------------------------------------------

_LARGEST = float(np.finfo(np.float64).max)


def assert_masked_entries_weigh_nothing(implementation: Callable[[Array, Array], Array]) -> None:
    """Exactly nothing, also where the allowed scores are below any constant one might put in their place."""
    for size in (0.0, 1.2e5, 1e9, 1e30, _LARGEST):
        for spread in (0.0, 1.0):
            scores = np.array([[-size, spread, 2.0], [spread - size, -size, 3.0], [-size] * 3])
            weights = implementation(scores, causal_mask(3))
            assert (weights[~causal_mask(3)] == 0).all(), "the future has a weight"
            assert (weights[causal_mask(3)] >= 0).all(), "a weight is negative"
            assert abs(weights.sum(-1) - 1).max() <= 4 * EPS, "the weights do not sum to one"


def test_masked_entries_weigh_nothing() -> None:
    assert_masked_entries_weigh_nothing(softmax)


@pytest.mark.parametrize("constant", [-1e4, -1e5, -1e9, -1e30, -_LARGEST])
def test_a_large_finite_constant_for_a_mask_is_caught(constant: float) -> None:
    with pytest.raises(AssertionError, match="the future has a weight"):
        assert_masked_entries_weigh_nothing(lambda scores, mask: softmax(np.where(mask, scores, constant)))


def test_a_mask_put_on_after_the_softmax_is_caught() -> None:
    with pytest.raises(AssertionError, match="the weights do not sum to one"):
        assert_masked_entries_weigh_nothing(lambda scores, mask: np.where(mask, softmax(scores), 0))


@given(scores=score_matrices(5, 5, 2), data=st.data())
def test_a_masked_score_never_matters(scores: Array, data: st.DataObject) -> None:
    mask = data.draw(arrays(np.bool_, (5, 5))) | np.eye(5, dtype=bool)
    other = np.where(mask, scores, data.draw(score_matrices(5, 5, 2)))
    weights = softmax(scores, mask)
    assert (weights == softmax(other, mask)).all()
    assert (weights[:, ~mask] == 0).all()
    for i in range(5):  # a masked row is the softmax of what is left of it
        np.testing.assert_allclose(
            weights[:, i, mask[i]],
            scipy.special.softmax(np.clip(scores[:, i, mask[i]], -1e300, 1e300), axis=-1),
            rtol=16 * EPS,
            atol=np.finfo(np.float64).tiny,
        )


@SYSTEMS
def test_a_row_that_allows_nothing_is_refused_by_name(system: Ball) -> None:
    causal_and_padded = causal_mask(4) & np.array([False, True, True, True])
    with system.working():
        scores = system.array(np.zeros((4, 4)))
        with pytest.raises(DomainError, match=r"mask: row \[0\] allows no entry, so its softmax is not defined"):
            softmax(scores, causal_and_padded)
        batch = np.stack([causal_mask(4), causal_mask(4) & ~np.eye(4, dtype=bool)])
        with pytest.raises(DomainError, match=r"mask: row \[1, 0\] allows no entry"):
            softmax(np.stack([scores, scores]), batch)


def test_padding_leaves_the_other_rows_alone() -> None:
    keys = np.array([True, True, False, False])
    with pytest.raises(DomainError, match=r"mask: row \[\] allows no entry"):
        softmax(np.zeros((4, 4)), np.zeros(4, dtype=bool))
    weights = softmax(np.zeros((4, 4)), causal_mask(4) & keys)
    values = np.arange(8.0).reshape(4, 2)
    assert np.isfinite(weights @ (weights @ values)).all()
    assert (weights[2:] @ values == [[1, 2], [1, 2]]).all()


def test_a_mask_is_made_of_booleans() -> None:
    for mask in (np.tril(np.ones((3, 3))), np.where(causal_mask(3), 0.0, -np.inf), [[True]]):
        with pytest.raises(DomainError, match="mask: expected booleans"):
            softmax(np.zeros((3, 3)), mask)
    with pytest.raises(ShapeError, match=r"mask: expected the shape \(3, 3\) of the scores, got \(2, 3\)"):
        softmax(np.zeros((3, 3)), np.ones((2, 3), dtype=bool))


def test_the_causal_mask_allows_the_past_and_the_present() -> None:
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


# ---- attention and heads ----------------------------------------------------


@FEWER
@given(Q=matrices(5, 3, 2), K=matrices(7, 3, 2), V=matrices(7, 2, 2))
def test_attention_is_rounding_away_from_the_ball(Q: Array, K: Array, V: Array, assert_rounding_only: Callable) -> None:
    assert_rounding_only(attention_scores, Q, K)
    assert_rounding_only(attention_weights, Q, K)
    assert_rounding_only(attention, Q, K, V)


@given(Q=matrices(5, 3, 2), K=matrices(7, 3, 2))
def test_attention_is_the_formula(Q: Array, K: Array) -> None:
    scores = np.einsum("bih,bjh->bij", Q, K) / 3**0.5
    # Products of eighths are exact; what is left is a root, a quotient, and the softmax's own few units.
    np.testing.assert_allclose(attention_scores(Q, K), scores, rtol=4 * EPS, atol=0)
    weights = scipy.special.softmax(scores, axis=-1)
    np.testing.assert_allclose(attention_weights(Q, K), weights, rtol=(16 + 4 * abs(scores).max()) * EPS, atol=0)


def test_scores_are_over_the_root_of_the_head_width() -> None:
    Q, K = RATIONAL.array([[1, 2, 3, 4]]), RATIONAL.array([[1, 1, 1, 1], [0, 0, 0, 2]])
    assert (attention_scores(Q, K) == RATIONAL.array([[5, 4]])).all()
    with pytest.raises(NotExact, match="square root of 3 is not rational"):
        attention_scores(Q[:, :3], K[:, :3])


@FEWER
@given(X=matrices(5, 7, 2), head=heads(7, 3, 2))
def test_a_head_is_rounding_away_from_the_ball(X: Array, head: Head, assert_within: Callable) -> None:
    mask = causal_mask(5)
    together = head_output(X, head, mask)
    for batch, single in enumerate(X):
        with Ball(256).working():
            judged = head_output(Ball(256).array(single), as_balls(head), mask)
        # Scores are exact but for a root and a quotient, 4 units of at most |s|; the weights inherit that twice, with
        # 16 units of their own; the three products that follow are exact or sums of 5 and of 2 terms.
        size = abs(head_scores(single, head)).max()
        scale = head_weights(single, head, mask) @ abs(single) @ abs(head.W_V) @ abs(head.W_O)
        bound = (8 * size + 16 + 7 + 2 + 5) * EPS * scale + np.finfo(np.float64).tiny
        assert_within(together[batch], judged, bound)
        assert_within(head_output(single, head, mask), judged, bound)


@pytest.mark.parametrize("masked", [False, True])
@FEWER
@given(X=matrices(5, 7), first=heads(7, 3, 2), second=heads(7, 2, 3))
def test_the_sum_of_heads_is_their_concatenation(
    masked: bool, X: Array, first: Head, second: Head, assert_same_balls: Callable
) -> None:
    mask = causal_mask(5) if masked else None
    with Ball(256).working():
        x, both = Ball(256).array(X), [as_balls(first), as_balls(second)]
        summed = multi_head_attention(x, both, mask)
        assert_same_balls(summed, concatenated_attention(x, both, mask))
        assert_same_balls(summed, head_output(x, both[0], mask) + head_output(x, both[1], mask))


def test_a_head_of_equal_tokens_writes_its_value_in_rationals() -> None:
    head = Head(*(RATIONAL.array(W) for W in ([[1, 2, 0, 1]] * 2, [[0, 1, 1, 3]] * 2, [[1], [-1]], [[2, 5]])))
    X = RATIONAL.array([[3, 1]] * 3)
    assert (head_weights(X, head) * 3 == 1).all()
    assert (head_output(X, head, causal_mask(3)) == RATIONAL.array([[4, 10]] * 3)).all()


def test_biases_act_on_queries_and_keys() -> None:
    X = RATIONAL.array([[1, 0], [0, 1]])
    maps = [RATIONAL.array(W) for W in ([[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 1, 0, 0], [1, 0, 0, 0]])]
    head = Head(*maps, maps[0], maps[0].mT)
    assert (head_scores(X, head) * 2 == RATIONAL.array([[0, 1], [1, 0]])).all()
    biased = replace(head, b_Q=RATIONAL.array([[0, 0, 2, 0]]), b_K=RATIONAL.array([[4, 0, 3, 0]]))
    assert (head_scores(X, biased) * 2 == RATIONAL.array([[10, 11], [7, 6]])).all()


@given(X=matrices(5, 7), head=heads(7, 3, 2), token=st.integers(1, 4))
def test_a_later_token_never_changes_an_earlier_output(X: Array, head: Head, token: int) -> None:
    changed = X.copy()
    changed[token] += 1
    before, after = (head_output(x, head, causal_mask(5)) for x in (X, changed))
    assert (before[:token] == after[:token]).all()


def test_values_of_another_batch_are_refused() -> None:
    queries, values = np.zeros((2, 3, 4)), np.zeros((5, 3, 4))
    with pytest.raises(ShapeError, match="V"):
        attention(queries, queries, values)
    assert attention(queries, queries, values[0]).shape == (2, 3, 4)


def test_masks_entry_by_entry() -> None:
    for n in (1, 4):
        places = [(i, j) for i in range(n) for j in range(n)]
        assert causal_mask(n).tolist() == [[j <= i for j in range(n)] for i in range(n)]
        for size in (0, 1, 3):
            assert all(banded_mask(n, size)[i, j] == (abs(i - j) <= size) for i, j in places)
        for size in (1, 2, 3):
            assert all(sliding_window_mask(n, size)[i, j] == (0 <= i - j < size) for i, j in places)
            assert all(block_mask(n, size)[i, j] == (i // size == j // size) for i, j in places)


def test_the_maps_of_a_head_are_one_batch_and_are_kept_as_float64() -> None:
    maps = {"W_Q": (2, 1), "W_K": (2, 1), "W_V": (2, 3), "W_O": (3, 2), "b_Q": (1, 1)}
    head = Head(**{name: np.ones(shape, np.float16) for name, shape in maps.items()})
    assert {getattr(head, name).dtype for name in maps} == {np.dtype(np.float64)}
    with pytest.raises(ShapeError, match="the leading axes do not broadcast"):
        Head(**{name: np.ones((2 + (name == "W_O"), *shape)) for name, shape in maps.items()})


def test_as_many_tokens_as_a_mask_may_have() -> None:
    with pytest.raises(DomainError, match="block: expected a whole number of at most 65536"):
        block_mask(2, 65_537)
    assert block_mask(2, 65_536).all()
