"""Circuits: composition scores, the full circuits, the logit lens and direct logit attribution, with their faults."""

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from resstream.arithmetic import FLOAT64, RATIONAL, Array, Ball, mean, sqrt, square
from resstream.errors import DomainError, ShapeError
from resstream.reference import (
    Attribution,
    circuit_composition,
    composition_score,
    copying_score,
    direct_logit_attribution,
    frobenius_norm,
    full_ov_circuit,
    full_qk_circuit,
    logit_lens,
    ov_circuit,
    qk_circuit,
    weight_composition,
)

BALL = Ball(192)
EPS = float(np.finfo(np.float64).eps)


def matrices(rows: int, columns: int) -> st.SearchStrategy[Array]:
    """Dyadic matrices without a preference for equal entries."""
    entries = st.integers(-64, 64).map(lambda k: k / 8)
    return st.lists(entries, min_size=rows * columns, max_size=rows * columns).map(
        lambda cells: np.array(cells).reshape(rows, columns)
    )


def nonzero(rows: int, columns: int) -> st.SearchStrategy[Array]:
    return matrices(rows, columns).filter(lambda W: bool(W.any()))


def assert_equal(difference: Array) -> None:
    """The balls hold zero and are small: equal as far as 192 bits tell."""
    for entry in difference.flat:
        assert entry.value.contains(0)
        assert entry.value.rad() < arb(2) ** -120


def assert_close_to_ball(x: Array, judged: Array, allowed: Array) -> None:
    error = [
        abs(float((entry.value - arb(float(value))).mid())) for entry, value in zip(judged.flat, x.flat, strict=True)
    ]
    assert (np.array(error) <= np.broadcast_to(allowed, x.shape).ravel()).all()


# ---- composition ------------------------------------------------------------


def test_known_composition_scores() -> None:
    unit, identity = np.diag([1.0, 0, 0, 0]), np.eye(4)
    assert composition_score(identity, identity).item() == 0.5  # perfect agreement, and not 1
    assert composition_score(unit, unit).item() == 1
    assert composition_score(unit, identity - unit).item() == 0


@pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
def test_a_zero_matrix_has_no_score(system: Ball) -> None:
    identity = system.array(np.eye(2))
    with pytest.raises(DomainError, match="second: a zero matrix has no composition score"):
        composition_score(identity, 0 * identity)
    with pytest.raises(DomainError, match="first: a zero matrix has no composition score"):
        composition_score(0 * identity, identity)


def test_a_zero_matrix_among_many_ends_no_search() -> None:
    stack = np.stack([np.eye(2), np.zeros((2, 2))])
    with FLOAT64.working():
        scores = composition_score(stack, np.eye(2))
    assert scores[0, 0, 0] == composition_score(np.eye(2), np.eye(2)).item()
    assert np.isnan(scores[1, 0, 0])
    with pytest.raises(DomainError, match=r"batch index \[1\]"):
        composition_score(stack, np.eye(2))


@given(nonzero(3, 3), nonzero(3, 2))
def test_scores_are_shares(first: Array, second: Array) -> None:
    with BALL.working():
        score = composition_score(BALL.array(first), BALL.array(second)).item()
        assert not score < 0
        assert not score > 1


@given(nonzero(3, 3), nonzero(3, 2))
def test_the_float_score_is_within_its_rounding_of_the_ball(first: Array, second: Array) -> None:
    # Each entry of the product is off by 3 roundings of sum |a||b|, at most ||first|| ||second|| over all entries; the
    # three norms and two divisions add at most 9 + 4 roundings relative to the score, which is at most 1.
    with BALL.working():
        judged = composition_score(BALL.array(first), BALL.array(second))
    assert_close_to_ball(composition_score(first, second), judged, np.float64((3 + 13) * EPS))


def test_the_two_conventions_read_the_same_head_differently() -> None:
    OV, W_Q, W_K = np.array([[1.0, 0], [0, 0]]), np.array([[1.0], [0]]), np.array([[0.0], [1]])
    other = np.eye(2)
    page = weight_composition(OV, W_Q, W_K, other)
    paper = circuit_composition(OV, W_Q, W_K, other)
    assert (page.queries.item(), page.keys.item()) == (1, 0)
    assert (paper.queries.item(), paper.keys.item()) == (1, 0)  # a lost transpose would exchange the two
    assert page.values.item() == paper.values.item() == composition_score(OV, other).item()


def test_the_transpose_decides_between_keys_and_queries() -> None:
    OV, QK = np.array([[1.0, 0], [0, 0]]), np.array([[0, 1.0], [0, 0]])
    assert composition_score(OV, QK).item() == 1
    assert composition_score(OV, QK.T).item() == 0


def test_random_heads_score_about_one_over_root_d() -> None:
    draw = np.random.default_rng(1).standard_normal
    scores = composition_score(draw((50, 64, 8)) @ draw((50, 8, 64)), draw((50, 64, 8)) @ draw((50, 8, 64)))
    assert abs(scores.mean() - 1 / 8) < 0.01  # ten standard errors: 0.007 / sqrt 50 each


def test_scores_are_rational_where_their_square_is_one() -> None:
    assert composition_score(RATIONAL.array(np.eye(4)), RATIONAL.array(np.eye(4))).item() == fmpq(1, 2)


def test_a_batch_of_scores_is_the_stack_of_its_members() -> None:
    draw = np.random.default_rng(2).standard_normal
    first, second = draw((4, 3, 3)), draw((4, 3, 2))
    singles = np.stack([composition_score(a, b) for a, b in zip(first, second, strict=True)])
    assert np.abs(composition_score(first, second) - singles).max() <= 16 * EPS


# ---- full circuits ----------------------------------------------------------


@given(matrices(4, 3), matrices(3, 2), matrices(2, 3), matrices(3, 4), matrices(3, 2))
def test_full_circuits_are_products_in_exact_rationals(E: Array, W_V: Array, W_O: Array, U: Array, W_Q: Array) -> None:
    E, W_V, W_O, U, W_Q = (RATIONAL.array(matrix) for matrix in (E, W_V, W_O, U, W_Q))
    assert (full_ov_circuit(E, W_V, W_O, U) == E @ W_V @ W_O @ U).all()
    assert (full_qk_circuit(E, W_Q, W_V) == E @ W_Q @ (E @ W_V).mT).all()
    assert (full_qk_circuit(E, W_Q, W_V) == E @ qk_circuit(W_Q, W_V) @ E.mT).all()
    assert (ov_circuit(W_V, W_O) == W_V @ W_O).all()


def test_a_head_that_copies_scores_one_and_one_that_erases_minus_one() -> None:
    E, U = np.eye(4)[:, :3], np.eye(4)[:3]
    assert copying_score(E, np.eye(3), np.eye(3), U).item() == 1
    assert copying_score(E, np.eye(3), -np.eye(3), U).item() == -1


def test_the_copying_score_is_that_of_the_large_circuit() -> None:
    draw = np.random.default_rng(3).standard_normal
    E, W_V, W_O, U = draw((9, 4)), draw((4, 3)), draw((3, 4)), draw((4, 9))
    values = np.linalg.eigvals(full_ov_circuit(E, W_V, W_O, U))
    # Eigenvalues of a matrix that is not normal: a wide allowance, for a wrong factor is far outside it.
    assert abs(copying_score(E, W_V, W_O, U).item() - values.sum().real / np.abs(values).sum()) < 1e-10
    with BALL.working():
        judged = copying_score(*(BALL.array(matrix) for matrix in (E, W_V, W_O, U)))
        assert_close_to_ball(copying_score(E, W_V, W_O, U), judged, np.float64(1e-10))


def test_copying_scores_in_a_batch_are_those_of_its_heads() -> None:
    draw = np.random.default_rng(4).standard_normal
    heads = draw((2, 9, 4)), draw((2, 4, 3)), draw((2, 3, 4)), draw((2, 4, 9))
    scores = copying_score(*heads)
    assert scores.shape == (2, 1, 1)
    for k in range(2):
        assert abs(scores[k] - copying_score(*(matrix[k] for matrix in heads))).item() < 1e-12  # another order of sums
    with pytest.raises(ShapeError, match="unembedding: expected 9 columns, as embedding has rows"):
        copying_score(heads[0], heads[1], heads[2], draw((2, 4, 8)))


def test_a_head_that_writes_nothing_has_no_copying_score() -> None:
    with pytest.raises(DomainError, match="a head that writes nothing has no copying score"):
        copying_score(np.eye(2), np.zeros((2, 1)), np.zeros((1, 2)), np.eye(2))


# ---- lens and attribution ---------------------------------------------------

PARTS = np.array([[3.0, 1, 0, 0], [0, 2, -1, 1], [1, -1, 3, 1]])  # embedding, attention, MLP
GAIN, BIAS = np.array([[2.0, 1, 0.5, 1]]), np.array([[0.1, 0, 0, -0.2]])
UNEMBEDDING, OUTPUT_BIAS = np.array([[1.0, 0, -1], [0, 1, 1], [2, 0, 1], [0, -1, 1]]), np.array([[0.25, 0, -0.5]])
LOGITS = np.array([[3.23675135, 0.2, -5.70747729]])


def final_norm(x: Array) -> Array:
    centered = x - mean(x)
    return centered / sqrt(mean(square(centered)))


def attribution() -> Attribution:
    return direct_logit_attribution([part[None] for part in PARTS], UNEMBEDDING, GAIN, BIAS, OUTPUT_BIAS)


def assert_attributed(logits: Array) -> None:
    assert np.abs(logits - LOGITS).max() < 5e-9  # half a unit of the last printed digit


def test_attributed_parts_and_one_constant_sum_to_the_logits() -> None:
    assert_attributed(attribution().total())
    whole = PARTS.sum(0, keepdims=True)
    assert_attributed((final_norm(whole) * GAIN + BIAS) @ UNEMBEDDING + OUTPUT_BIAS)


@pytest.mark.parametrize("fault", ["no gain and bias", "not centred", "own scale"])
def test_a_faulty_attribution_is_caught(fault: str) -> None:
    parts, whole = [part[None] for part in PARTS], PARTS.sum(0, keepdims=True)
    scale, constant = whole.std(), BIAS @ UNEMBEDDING + OUTPUT_BIAS
    faulty = {
        "no gain and bias": sum((c - mean(c)) / scale @ UNEMBEDDING for c in parts) + OUTPUT_BIAS,
        "not centred": sum(c / scale * GAIN @ UNEMBEDDING for c in parts) + constant,
        "own scale": sum(final_norm(c) * GAIN @ UNEMBEDDING for c in parts) + constant,
    }[fault]
    with pytest.raises(AssertionError):
        assert_attributed(faulty)


@given(st.lists(matrices(2, 4), min_size=1, max_size=4), matrices(4, 3), matrices(1, 4), matrices(1, 4), matrices(1, 3))
def test_attribution_is_exact_in_balls(parts: list[Array], U: Array, gain: Array, bias: Array, b_U: Array) -> None:
    parts = [*parts, np.array([[0.0, 1, 300, 5], [300, 1, 2, 0]])]  # so that no row of the sum is constant
    with BALL.working():
        parts, U, gain, bias, b_U = [BALL.array(p) for p in parts], *(BALL.array(a) for a in (U, gain, bias, b_U))
        logits = (final_norm(sum(parts[1:], start=parts[0])) * gain + bias) @ U + b_U
        assert_equal(direct_logit_attribution(parts, U, gain, bias, b_U).total() - logits)


def test_attribution_with_epsilon_keeps_it_inside_the_root() -> None:
    part = np.array([[0.1, -0.1]])
    shares = direct_logit_attribution([part], np.eye(2), np.ones((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)), 0.01)
    assert np.abs(shares.parts[0] - np.array([[0.70710678, -0.70710678]])).max() < 5e-9


def test_a_constant_stream_has_no_attribution() -> None:
    ones = np.ones((1, 4))
    with pytest.raises(DomainError, match=r"parts: row \[0\] is constant"):
        direct_logit_attribution([ones, 2 * ones], UNEMBEDDING, GAIN, BIAS, OUTPUT_BIAS)


def test_attribution_asks_for_parts_of_one_shape() -> None:
    with pytest.raises(ShapeError, match="parts: expected at least one write, got none"):
        direct_logit_attribution([], UNEMBEDDING, GAIN, BIAS, OUTPUT_BIAS)
    with pytest.raises(ShapeError, match=r"parts\[1\]: expected rows and columns \(1, 4\), got shape \(1, 3\)"):
        direct_logit_attribution([np.ones((1, 4)), np.ones((1, 3))], UNEMBEDDING, GAIN, BIAS, OUTPUT_BIAS)


def test_contributions_add_up_and_states_do_not() -> None:
    x, a, m = (np.array([row]) for row in ([1.0, 2], [0.5, -1], [2.0, 1]))
    assert (logit_lens(x + a + m, np.eye(2)) == sum(logit_lens(part, np.eye(2)) for part in (x, a, m))).all()
    states = x + (x + a) + (x + a + m)  # a stack that is handed states counts the residual again and again
    assert (logit_lens(states, np.eye(2)) != logit_lens(x + a + m, np.eye(2))).any()


def entropy(logits: Array) -> float:
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return float(-(p * np.log(p)).sum())


def test_the_lens_takes_the_scale_of_the_layer_it_reads() -> None:
    early, late = np.array([[1.0, -1, 0.5, -0.5]]), np.array([[12.0, -4, -3, -5]])
    W = np.array([[2.0, 0, 0], [0, 2, 0], [0, 0, 2], [-1, -1, -1]])
    own = logit_lens(early, W, final_norm)
    cached = logit_lens(early, W, lambda x: (x - mean(x)) / late.std())
    assert abs(entropy(own) - 0.55556286) < 5e-9
    assert abs(entropy(cached) - 1.07193238) < 5e-9
    assert own.argmax() == cached.argmax()  # so a test of the winner alone would not see it


def test_the_lens_checks_widths() -> None:
    with pytest.raises(ShapeError, match="unembedding: expected 3 rows, as x has columns"):
        logit_lens(np.ones((1, 3)), np.ones((2, 2)))


def test_shapes_of_circuits_are_checked() -> None:
    with pytest.raises(ShapeError, match="W_O: expected 2 rows, as W_V has columns"):
        ov_circuit(np.ones((3, 2)), np.ones((3, 3)))
    with pytest.raises(ShapeError, match="W_K: expected 2 columns, as W_Q has"):
        qk_circuit(np.ones((3, 2)), np.ones((3, 3)))
    with pytest.raises(ShapeError, match="second: expected 3 rows, as first has columns"):
        composition_score(np.ones((3, 3)), np.ones((2, 2)))


def test_scores_do_not_change_with_scale() -> None:
    draw = np.random.default_rng(4).standard_normal
    first, second = draw((3, 3)), draw((3, 2))
    with BALL.working():
        first, second = BALL.array(first), BALL.array(second)
        assert_equal(composition_score(3 * first, -7 * second) - composition_score(first, second))
        assert_equal(
            composition_score(first, second) * frobenius_norm(first) * frobenius_norm(second)
            - frobenius_norm(first @ second)
        )


def test_the_lens_reads_a_batch_of_states() -> None:
    draw = np.random.default_rng(5).standard_normal
    x, U = draw((2, 3, 4)), draw((4, 5))
    assert np.array_equal(logit_lens(x, U), x @ U)
    many = draw((2, 4, 5))
    assert np.array_equal(logit_lens(x, many), x @ many)
    with pytest.raises(ShapeError, match="the leading axes do not broadcast"):
        logit_lens(x, draw((3, 4, 5)))


def test_the_lens_takes_a_norm_of_a_batch_of_states() -> None:
    x, U = np.arange(24.0).reshape(2, 3, 4), np.eye(4)[:, :2]
    assert np.array_equal(logit_lens(x, U, lambda z: 2 * z), 2 * x[..., :2])


def test_maps_of_different_widths_score_nothing() -> None:
    with pytest.raises(ShapeError, match="W_K: expected 2 columns, as W_Q has"):
        full_qk_circuit(np.eye(3), np.ones((3, 2)), np.ones((3, 1)))


def test_the_epsilon_of_an_attribution_is_zero_where_none_is_given() -> None:
    part, ones = np.array([[1.0, 3.0]]), np.ones((1, 2))
    assert direct_logit_attribution([part], np.eye(2), ones, 0 * ones, 0 * ones).total().tolist() == [[-1, 1]]
