"""Rotary positions: a rotation of pairs, scores that depend on the offset alone, and the fault of mixed conventions."""

from collections.abc import Callable

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from resstream.arithmetic import (
    FLOAT64,
    RATIONAL,
    Array,
    Ball,
    RationalEntry,
    cos,
    derivative,
    exact,
    exp,
    log,
    sin,
    square,
    total,
)
from resstream.errors import DomainError, NotExact, ShapeError
from resstream.reference import rotary, rotary_inverse, sinusoidal
from resstream.reference.rotary import MOST, Rotation, rotation

BALL = Ball(192)
QUERY = np.array([[1.0, 2, 3, 4]])
KEY = np.array([[2.0, -1, 0.5, 1]])
EPS = float(np.finfo(np.float64).eps)

widths = st.integers(1, 4).map(lambda half: 2 * half)
places = st.integers(-60, 60)


@st.composite
def rows(draw: st.DrawFn, width: int) -> Array:
    """Two rows of small dyadic numbers."""
    entries = st.integers(-64, 64).map(lambda k: k / 8)
    return np.array([[draw(entries) for _ in range(width)] for _ in range(2)])


def assert_equal(difference: Array) -> None:
    """The balls hold zero and are small: equal as far as 192 bits tell."""
    for entry in difference.flat:
        assert entry.value.contains(0)
        assert entry.value.rad() < arb(2) ** -120


def assert_offset_alone(turn: Callable[..., Array], offset: int) -> None:
    """Scores of two fixed rows `offset` apart are the same wherever the pair stands."""
    with BALL.working():
        q, k = BALL.array(QUERY), BALL.array(KEY)
        scores = [turn(q, [m], 100) @ turn(k, [m + offset], 100).mT for m in (0, 3, 7)]
        for score in scores[1:]:
            assert_equal(score - scores[0])


def mixed_conventions(X: Array, positions: list[int], base: int) -> Array:
    """The fault: frequencies of adjacent pairs, but turned as two halves."""
    half = X.shape[-1] // 2
    base_entry = 0 * X[:1, :1] + base
    angles = [positions[0] * exp(exact(-2 * (i // 2), 2 * half) * log(base_entry)) for i in range(2 * half)]
    angle = np.concatenate(angles, axis=-1)
    return X * cos(angle) + np.concatenate([-X[..., half:], X[..., :half]], axis=-1) * sin(angle)


@given(st.data())
def test_rotary_keeps_the_norm_of_every_row(data: st.DataObject) -> None:
    X = data.draw(rows(data.draw(widths)))
    with BALL.working():
        balls = BALL.array(X)
        assert_equal(total(square(rotary(balls, [data.draw(places), data.draw(places)]))) - total(square(balls)))


@given(st.data())
def test_scores_depend_on_the_offset_alone(data: st.DataObject) -> None:
    q, k = data.draw(rows(data.draw(st.just(6)))), data.draw(rows(6))
    m, n, shift = data.draw(places), data.draw(places), data.draw(places)
    with BALL.working():
        q, k = BALL.array(q), BALL.array(k)
        here = rotary(q, [m, m]) @ rotary(k, [n, n]).mT
        there = rotary(q, [m + shift] * 2) @ rotary(k, [n + shift] * 2).mT
        assert_equal(here - there)


@given(st.data())
def test_the_inverse_undoes_rotary(data: st.DataObject) -> None:
    X, where = data.draw(rows(6)), [data.draw(places), data.draw(places)]
    with BALL.working():
        assert_equal(rotary_inverse(rotary(BALL.array(X), where), where) - BALL.array(X))


def test_adjacent_pairs_give_the_published_score_at_every_place() -> None:
    for m in (0, 3, 7):
        score = rotary(QUERY, [m], 100) @ rotary(KEY, [m + 2], 100).mT
        assert abs(score.item() - 9.73818398) < 5e-9  # half a unit of the last printed digit


def test_mixed_conventions_are_caught() -> None:
    assert_offset_alone(rotary, 2)
    with pytest.raises(AssertionError):
        assert_offset_alone(mixed_conventions, 2)
    values = [(mixed_conventions(QUERY, [m], 100) @ mixed_conventions(KEY, [m + 2], 100).mT).item() for m in (0, 3, 7)]
    assert np.abs(np.array(values) - [3.51446127, 2.97785129, 6.72387555]).max() < 5e-9
    assert (mixed_conventions(QUERY, [0], 100) == QUERY).all()  # position 0 hides the fault


def test_the_first_pair_turns_by_the_position_itself() -> None:
    with BALL.working():
        turned = rotary(BALL.array([[1, 0, 1, 0]]), [3], 10_000)
        assert turned[0, 0].value.overlaps(arb(3).cos())
        assert turned[0, 1].value.overlaps(arb(3).sin())
        assert turned[0, 2].value.overlaps((arb(3) / 100).cos())  # base^(-2/4) = 1/100


@given(st.data())
def test_float_lies_within_the_rounding_of_its_angle(data: st.DataObject) -> None:
    # Relative error of an angle: 3 roundings in the exponent 2i/d log base, then exp and a product. Each of the four
    # roundings of the turned pair is relative to |a| + |b|.
    X, where, base = (
        data.draw(rows(8)),
        [data.draw(places), data.draw(places)],
        data.draw(st.sampled_from([10, 10_000])),
    )
    with BALL.working():
        judged = rotary(BALL.array(X), where, base)
    largest_angle = np.abs(np.array(where))[:, None]
    allowed = (
        EPS * (4 + largest_angle * (2 + 3 * np.log(base))) * np.repeat(np.abs(X[:, 0::2]) + np.abs(X[:, 1::2]), 2, 1)
    )
    error = np.array(
        [abs(float(entry.value.mid()) - x) for entry, x in zip(judged.flat, rotary(X, where, base).flat, strict=True)]
    )
    assert (error.reshape(X.shape) <= allowed).all()


def test_a_batch_is_the_stack_of_its_members() -> None:
    X = np.random.default_rng(1).standard_normal((3, 2, 5, 6))
    batch = rotary(X, range(5))
    for index in np.ndindex(3, 2):
        assert (batch[index] == rotary(X[index], range(5))).all()


def test_positions_may_differ_within_a_batch() -> None:
    X = np.random.default_rng(2).standard_normal((2, 3, 4))
    where = np.array([[[0], [1], [2]], [[5], [6], [7]]])
    assert (rotary(X, where)[1] == rotary(X[1], [5, 6, 7])).all()


def test_the_derivative_of_a_rotation_is_the_rotation() -> None:
    assert np.abs(derivative(lambda x: rotary(x, [3]), QUERY, KEY) - rotary(KEY, [3])).max() <= 8 * EPS
    with BALL.working():
        slope = derivative(lambda x: rotary(x, [3]), BALL.array(QUERY), BALL.array(KEY))
        assert_equal(slope - rotary(BALL.array(KEY), [3]))


def test_sinusoidal_encodings_shift_by_rotation() -> None:
    with BALL.working():
        like = BALL.array([[0]])
        here, there = sinusoidal([2, 9], 6, like=like), sinusoidal([6, 13], 6, like=like)
        assert_equal(rotary(here, [-4, -4]) - there)


def test_sinusoidal_columns_are_sine_and_cosine_of_the_position() -> None:
    encodings = sinusoidal([0, 2], 4, like=np.zeros(1))
    assert (encodings[0] == [0, 1, 0, 1]).all()
    assert np.abs(encodings[1] - [np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)]).max() <= 64 * EPS


def test_rationals_turn_at_position_zero_only() -> None:
    X = RATIONAL.array([[1, 2]])
    assert (rotary(X, [0]) == X).all()
    with pytest.raises(NotExact, match="position other than 0 is not rational"):
        rotary(X, [1])


@pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
def test_an_odd_width_is_refused(system: Ball) -> None:
    with pytest.raises(ShapeError, match=r"expected an even, positive width \(pairs of columns\), got 3"):
        rotary(system.array([[1, 2, 3]]), [0])


def test_as_many_positions_as_rows_are_asked_for() -> None:
    with pytest.raises(ShapeError, match=r"X: expected 3 rows of width 2, as the rotation has, got shape \(2, 2\)"):
        rotary(np.ones((2, 2)), [0, 1, 2])
    with pytest.raises(ShapeError, match=r"positions: expected integers \(n,\) or entries \(\.\.\., n, 1\)"):
        rotary(np.ones((2, 2)), np.zeros((2, 2)))


def test_rational_entries_stay_rational() -> None:
    assert all(isinstance(entry, RationalEntry) for entry in rotary(RATIONAL.array([[1, 2]]), [0]).flat)


# ---- shapes, kinds and ends -------------------------------------------------


def test_the_inverse_in_a_batch_undoes_it() -> None:
    X = np.random.default_rng(3).standard_normal((2, 3, 4))
    assert np.abs(rotary_inverse(rotary(X, [1, 2, 3]), [1, 2, 3]) - X).max() <= 8 * EPS * 4


def test_positions_are_a_row_or_a_column_of_integers_of_either_sign() -> None:
    X = np.random.default_rng(4).standard_normal((3, 4))
    expected = rotary(X, [-1, 0, 2])
    for positions in (np.array([-1, 0, 2]), np.array([[-1], [0], [2]]), range(-1, 5, 1)[:1]):
        found = rotary(X[: len(positions)], positions)
        assert np.array_equal(found, expected[: len(positions)])
    one = rotation([2], 4, like=X)
    assert np.array_equal(one.turn(X)[2:], expected[2:])
    assert np.array_equal(rotary(X[:, :2], [1, 2, 3], base=1), rotary(X[:, :2], [1, 2, 3]))


def test_angles_have_a_derivative_by_the_position() -> None:
    at, step = np.array([[0.5], [1.5]]), np.ones((2, 1))
    slope = derivative(lambda places: sinusoidal(places, 2, like=at), at, step)
    assert np.abs(slope - np.concatenate([np.cos(at), -np.sin(at)], axis=-1)).max() <= 8 * EPS


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Rotation(np.ones((2, 2)), np.ones((2, 3))), ShapeError, r"sines: expected the shape \(2, 2\)"),
        (lambda: Rotation(np.ones((1, 1)), RATIONAL.array([[0]])), DomainError, "cosines: expected entries"),
        (lambda: rotation([0], 2, like=QUERY).turn([[1.0, 0.0]]), ShapeError, "X: expected a NumPy array"),
        (lambda: Rotation(*np.ones((2, 3, 1, 1))).turn(np.ones((2, 1, 2))), ShapeError, "X"),
        (lambda: Rotation(*np.ones((2, 2, 1))).turn(np.ones((3, 2))), ShapeError, "X: expected 2 rows of width 2"),
        (lambda: rotation([0], 0, like=QUERY), DomainError, "width: expected a whole number of at least 1"),
        (lambda: rotation([0], 1, like=QUERY), ShapeError, "expected an even, positive width"),
        (lambda: rotation([0], 2, 0, like=QUERY), DomainError, "base: expected a whole number of at least 1"),
        (lambda: rotary(QUERY, np.zeros((0, 1), dtype=int)), ShapeError, "positions: expected integers"),
        (lambda: rotary(QUERY, np.zeros((1, 2), dtype=int)), ShapeError, "positions: expected integers"),
        (lambda: rotary(QUERY, RATIONAL.array([[0]])), DomainError, "positions: expected floats or integers"),
        (lambda: rotary(RATIONAL.array(QUERY), np.zeros((1, 1))), DomainError, "positions: expected exact entries"),
    ],
)
def test_what_cannot_turn_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_whole_numbers_up_to_the_largest_position_are_floats() -> None:
    assert float(MOST - 1) == MOST - 1
    assert float(MOST + 1) != MOST + 1
    assert rotation([MOST], 2, like=np.zeros(1)).cosines.item() == np.cos(2.0**53)
    with pytest.raises(DomainError, match="positions: expected a whole number of at most 9007199254740992"):
        rotation([MOST + 1], 2, like=np.zeros(1))
