"""Bad input: every public function answers with an error of ours that names the argument."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpq

from resstream.arithmetic import FLOAT64, RATIONAL, SYMBOLIC, Array, Ball, exact, total
from resstream.errors import DomainError, ShapeError, Undecided, Undefined
from resstream.reference import (
    MLP,
    Head,
    Norm,
    attention_scores,
    backward_recursion,
    centre,
    checks,
    diameter,
    dobrushin,
    dobrushin_overlap,
    frobenius_norm,
    head_output,
    identity_path_product,
    largest_row_norm,
    layer_norm,
    layer_norm_jacobian,
    mlp,
    mlp_key_values,
    multi_head_attention,
    operator_norm,
    pairwise_distances,
    plain_stack,
    relative_spread,
    residual_stack,
    rms_norm,
    rms_norm_jacobian,
    row_norms,
    row_range,
    skip_stack,
    smoothing_stack,
    softmax,
    spectral_norm,
    subset_sum,
)
from resstream.reference.checks import require_row_stochastic

BALL = Ball(128)
EPS = float(np.finfo(np.float64).eps)

_MLP = MLP(np.ones((3, 5)), np.ones((1, 5)), np.ones((5, 3)), np.ones((1, 3)))
_HEAD = Head(*(np.ones((3, 2)),) * 3, np.ones((2, 3)))

FUNCTIONS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("row_norms", "X", row_norms),
    ("largest_row_norm", "X", largest_row_norm),
    ("operator_norm", "W", operator_norm),
    ("frobenius_norm", "W", frobenius_norm),
    ("spectral_norm", "W", spectral_norm),
    ("norm.basis", "basis", lambda x: Norm("l1", x, x)),
    ("dobrushin", "A", dobrushin),
    ("dobrushin_overlap", "A", dobrushin_overlap),
    ("diameter", "X", diameter),
    ("pairwise_distances", "X", pairwise_distances),
    ("relative_spread", "X", relative_spread),
    ("row_range", "S", row_range),
    ("smoothing_stack", "X", lambda x: smoothing_stack([], x, [])),
    ("skip_stack", "X", lambda x: skip_stack([], x, [])),
    ("skip_stack.A", r"As\[0\]", lambda x: skip_stack([x], np.ones((3, 3)), [np.eye(3)])),
    ("softmax", "scores", softmax),
    ("attention_scores.Q", "Q", lambda x: attention_scores(x, np.ones((3, 3)))),
    ("attention_scores.K", "K", lambda x: attention_scores(np.ones((3, 3)), x)),
    ("head_output", "X", lambda x: head_output(x, _HEAD)),
    ("multi_head_attention", "X", lambda x: multi_head_attention(x, [_HEAD])),
    ("head.W_Q", "W_Q", lambda x: Head(x, np.ones((3, 2)), np.ones((3, 2)), np.ones((2, 3)))),
    ("centre", "x", centre),
    ("layer_norm", "x", layer_norm),
    ("layer_norm.gain", "gain", lambda x: layer_norm(np.array([[1.0, 2, 4]]), gain=x)),
    ("layer_norm.bias", "bias", lambda x: layer_norm(np.array([[1.0, 2, 4]]), bias=x)),
    ("rms_norm", "x", rms_norm),
    ("layer_norm_jacobian", "x", layer_norm_jacobian),
    ("rms_norm_jacobian", "x", rms_norm_jacobian),
    ("mlp", "x", lambda x: mlp(x, _MLP)),
    ("mlp_key_values", "x", lambda x: mlp_key_values(x, _MLP)),
    ("mlp.W_1", "W_1", lambda x: MLP(x, np.ones((1, 5)), np.ones((5, 3)), np.ones((1, 3)))),
    ("residual_stack", "x", lambda x: residual_stack([], x)),
    ("plain_stack", "x", lambda x: plain_stack([], x)),
    ("identity_path_product", r"Js\[0\]", lambda x: identity_path_product([x])),
    ("subset_sum", r"Js\[0\]", lambda x: subset_sum([x])),
    ("backward_recursion.g", "g", lambda x: backward_recursion(x, [np.eye(3)])),
]

ALL = pytest.mark.parametrize(
    ("argument", "function"), [row[1:] for row in FUNCTIONS], ids=[row[0] for row in FUNCTIONS]
)


def _with(value: float) -> Array:
    x = np.eye(3)
    x[1, 2] = value
    return x


@ALL
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_entries_are_finite(argument: str, function: Callable[[Any], Any], bad: float) -> None:
    with pytest.raises(DomainError, match=rf"^{argument}: expected finite entries, got {bad} at \[1, 2\]$"):
        function(_with(bad))


@ALL
def test_there_is_at_least_one_entry(argument: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises(ShapeError, match=rf"^{argument}: expected at least one entry, got shape \(0, 3\)$"):
        function(np.ones((0, 3)))


@ALL
def test_there_are_two_axes(argument: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises(ShapeError, match=rf"^{argument}: expected two axes or more .*, got shape \(3,\)$"):
        function(np.ones(3))


@ALL
def test_a_list_is_no_array(argument: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises(ShapeError, match=rf"^{argument}: expected a NumPy array .*, got list$"):
        function([[1.0, 2.0]])


@ALL
def test_integers_are_no_entries(argument: str, function: Callable[[Any], Any]) -> None:
    with pytest.raises(DomainError, match=rf"^{argument}: expected float, ball or rational entries, got dtype int64"):
        function(np.eye(3, dtype=np.int64))


@ALL
def test_balls_without_bounds_ask_for_precision(argument: str, function: Callable[[Any], Any]) -> None:
    with BALL.working():
        x = BALL.array(np.eye(3))
        x[1, 2] = arb(1) / arb(0, 1)
        with pytest.raises(Undecided, match=rf"^{argument}: the ball at \[1, 2\] has no finite bounds"):
            function(x)


@pytest.mark.parametrize("function", [dobrushin, diameter, softmax, row_norms, frobenius_norm, layer_norm, rms_norm])
def test_a_bad_instance_in_a_searched_batch_spoils_itself_only(function: Callable[[Array], Array]) -> None:
    good, batch = np.array([[0.25, 0.75], [0.5, 0.5]]), np.empty((3, 2, 2))
    batch[:] = good
    batch[1] = np.nan
    if function in (layer_norm, rms_norm):
        good = batch[:] = np.array([[1.0, 2], [3, 0]])
        batch[1] = 0
    with FLOAT64.working():
        together, alone = function(batch), function(batch[:1])
    assert (together[[0, 2]] == alone).all()
    assert not np.isfinite(together[1]).any()


# ---- shapes that do not agree -----------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: attention_scores(np.ones((5, 3)), np.ones((5, 2))), r"K: expected 3 columns, as Q has, got shape"),
        (lambda: mlp(np.ones((5, 2)), _MLP), r"x: expected 3 columns, as W_1 has rows, got shape \(5, 2\)"),
        (lambda: head_output(np.ones((5, 2)), _HEAD), r"X: expected 3 columns, as the head's maps have rows, got"),
        (lambda: MLP(np.ones((3, 5)), np.ones((1, 3)), np.ones((5, 3)), np.ones((1, 3))), "b_1: expected 5 columns"),
        (lambda: MLP(np.ones((3, 5)), np.ones((1, 5)), np.ones((3, 5)), np.ones((1, 5))), "W_2: expected 5 rows"),
        (lambda: Head(np.ones((3, 2)), np.ones((3, 1)), np.ones((3, 2)), np.ones((2, 3))), "W_K: expected 2 columns"),
        (lambda: Head(np.ones((3, 2)), np.ones((3, 2)), np.ones((2, 2)), np.ones((2, 3))), "W_V: expected 3 rows"),
        (lambda: Head(np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 3))), "W_O: expected 2 rows"),
        (lambda: layer_norm(_with(2), gain=np.ones((1, 2))), r"gain: expected 3 columns, as x has, got shape \(1, 2\)"),
        (lambda: layer_norm_jacobian(_with(2)), r"x: expected one row \(..., 1, d\), got shape \(3, 3\)"),
        (lambda: subset_sum([np.eye(3), np.eye(2)]), r"Js\[1\]: expected 3 columns, as Js\[0\] has, got"),
        (lambda: subset_sum([np.ones((2, 3))]), r"Js\[0\]: expected as many rows as columns, got shape \(2, 3\)"),
        (lambda: identity_path_product([]), "Js: expected at least one Jacobian, got none"),
        (lambda: multi_head_attention(np.ones((2, 3)), []), "heads: expected at least one head, got none"),
        (lambda: residual_stack([centre, lambda x: x[..., :2]], np.eye(3)), r"functions\[1\]: expected a result of"),
        (lambda: mlp(np.ones((2, 1, 3)), MLP(np.ones((5, 3, 5)), *(np.ones(s) for s in ((1, 5), (5, 3), (1, 3))))),
         r"the leading axes do not broadcast: x \(2, 1, 3\), W_1 \(5, 3, 5\)"),
    ],
)  # fmt: skip
def test_shapes_agree(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        function()


# ---- row-stochastic matrices ------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 11, 307])
def test_honest_matrices_pass_whatever_made_them(dtype: type, n: int) -> None:
    rng = np.random.default_rng(n)
    weights = rng.random((n, n)).astype(dtype)
    normalised = weights / weights.sum(-1, keepdims=True)
    # The diagonal as one less the rest: an entry that should be nought may come out a few units below it.
    rest = np.where(np.eye(n, dtype=bool), 0, normalised)
    rest /= rest.sum(-1, keepdims=True)
    by_difference = rest + np.diag(1 - rest.sum(-1))
    product = normalised
    for _ in range(11):
        product = product @ normalised
    for A in (normalised, by_difference, product):
        require_row_stochastic("A", A)
        assert 0 <= dobrushin(A).item() <= 1 + 16 * n * np.finfo(dtype).eps


def test_the_largest_honest_matrix_of_the_reports_passes() -> None:
    T = np.random.default_rng(0).random((2000, 2000))
    np.fill_diagonal(T, 0)
    T /= T.sum(1)[:, None]
    np.fill_diagonal(T, 1 - T.sum(1))
    assert T.min() < 0  # an entry check without slack would refuse it
    require_row_stochastic("T", T)


@pytest.mark.parametrize("leak", [5e-6, -5e-6, 1e-12, -0.8])
@pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
def test_a_leak_is_refused_with_row_sum_and_tolerance(leak: float, system: Ball, checking: Callable) -> None:
    raw = np.stack([np.array([[0.5, 0.5], [0.25, 0.75]])] * 3)
    raw[2, 1, 1] -= leak
    A = system.array(raw)
    within = r" within 7.11e-15(; dividing .*)?" if system is FLOAT64 else ""
    message = rf"^A: expected a row-stochastic matrix, but row \[2, 1\] sums to .*, which is not 1{within}$"
    with checking(system), pytest.raises(DomainError, match=message):
        dobrushin(A)


def test_a_leak_within_float32_is_a_leak_in_float64() -> None:
    A = np.array([[0.5, 0.5 - 1e-7], [0.25, 0.75]])
    require_row_stochastic("A", A.astype(np.float32))
    with pytest.raises(DomainError, match=r"row \[0\] sums to 0.99999989.*, which is not 1 within 7.11e-15"):
        require_row_stochastic("A", A)


@pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
def test_a_negative_weight_is_refused(system: Ball, checking: Callable) -> None:
    A = system.array([[1, 0], [1.25, -0.25]])
    message = r"^A: expected a row-stochastic matrix, but the entry at \[1, 1\] is .*-0.25.*|-1/4.*, below -?[0.]"
    with checking(system), pytest.raises(DomainError, match=message):
        dobrushin(A)


def test_balls_are_judged_by_what_is_certain() -> None:
    with BALL.working():
        weights = BALL.array([[1, 2, 4], [3, 1, 7]])
        require_row_stochastic("A", weights / total(weights))
        require_row_stochastic("A", BALL.array([[1, 0]]) + arb(0, 2.0**-60))
        with pytest.raises(DomainError, match=r"row \[0\] sums to"):
            require_row_stochastic("A", BALL.array([[1, 1 + 2.0**-40]]) / 2)


@pytest.mark.parametrize("n", [1, 3, 64])
def test_the_slack_of_floats_is_that_of_the_row_length(n: int) -> None:
    """Sixteen units for each entry of a sum, one for each entry below zero, and neither beyond a thousandth."""
    unit = EPS * n
    A = np.full((2, n), 1 / n)  # powers of two, or off by a unit at most
    for away, fits in ((15 * unit, True), (-15 * unit, True), (18 * unit, False), (-18 * unit, False)):
        A[1, 0] = 1 / n + away
        assert accepts(A) is fits
    low = np.eye(n + 1)[:, :-1] if n > 1 else np.eye(2)
    low = low[:1]
    m = low.shape[-1]
    for below, fits in ((0.9 * m * EPS, True), (1.5 * m * EPS, False)):
        low[0, -1] = -below
        assert accepts(low) is fits
    halves = np.full((1, 2048), 1 / 2048, dtype=np.float16)
    halves[0, 0] += 3 / 2048
    assert not accepts(halves)  # 3/2048 is above a thousandth, and 16 units of half precision would be far above
    halves[0, 0] -= 1 / 2048
    assert accepts(halves)


def accepts(A: Array) -> bool:
    try:
        require_row_stochastic("A", A)
    except DomainError:
        return False
    return True


def test_what_dividing_would_mend_is_said_to_be_so() -> None:
    close, far = np.array([[0.5, 0.5], [0.5, 0.505]]), np.array([[0.5, 0.505], [0.5, 0.52]])
    with pytest.raises(DomainError, match=r"row \[1\] sums to 1.005, .*; dividing every row by its sum would do$"):
        require_row_stochastic("A", close)
    for rows in (far, 2 - far):
        with pytest.raises(DomainError, match=r"not 1 within 7.11e-15$"):
            require_row_stochastic("A", rows)


@pytest.mark.parametrize("system", [FLOAT64, BALL, RATIONAL], ids=lambda system: system.name)
@pytest.mark.parametrize("ahead", [0.25, 2.0**-50])
def test_nothing_ahead_is_attended_to(system: Ball, ahead: float, checking: Callable) -> None:
    """The diagonal is no part of what is ahead; a search lets floats through, whose result is its own."""
    raw = np.stack([np.array([[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])] * 2)
    with checking(system):
        assert checks.require_causal("A", system.array(raw)).shape == (2, 3, 3)
    raw[1, 1] = [0.5, 0.5 - ahead, ahead]
    with checking(system), pytest.raises(DomainError, match=r"A: expected a causal pattern, .* at \[1, 1, 2\], above"):
        checks.require_causal("A", system.array(raw))
    if system is FLOAT64:
        with system.working():
            assert np.array_equal(checks.require_causal("A", raw), raw)
    with checking(system), pytest.raises(ShapeError, match="A: expected as many rows as columns"):
        checks.require_causal("A", system.array(raw[:, :2]))


def test_rationals_are_judged_exactly() -> None:
    require_row_stochastic("A", RATIONAL.array([["1/3", "2/3"]]))
    with pytest.raises(DomainError, match=r"row \[0\] sums to 999999999999999999999/1000000000000000000000"):
        require_row_stochastic("A", RATIONAL.array([["0.333333333333333333333", "2/3"], [1, 0]])
                               + RATIONAL.array([["-1/3000000000000000000000", 0], [0, 0]])
                               - RATIONAL.array([["1/3000000000000000000000", 0], [0, 0]]))  # fmt: skip


# ---- the comparisons with balls, which must be able to fail -----------------


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda x: row_norms(x) * (1 + 2.0**-45), r"batch \(0,\) .*: off by"),
        (lambda x: row_norms(x) * np.nan, r"batch \(0,\) .*: off by nan"),
        (lambda x: np.where(np.arange(2)[:, None, None] == 1, 2, 1) * row_norms(x) if x.ndim > 2 else row_norms(x),
         r"batch \(1,\) .*: off by"),
        (lambda x: row_norms(x) if x.ndim > 2 else row_norms(x[::-1]), r"single \(0,\) .*: off by"),
    ],
    ids=["45 bits", "NaN", "one of the batch", "single only"],
)  # fmt: skip
def test_rounding_is_told_from_error(
    fault: Callable[[Array], Array], message: str, assert_rounding_only: Callable
) -> None:
    x = np.array([[[1.0, 2, 5], [3, 1, 1]], [[2, 2, 3], [0, 1, 7]]])
    assert_rounding_only(row_norms, x)
    with pytest.raises(AssertionError, match=message):
        assert_rounding_only(lambda x: row_norms(x) if x.dtype == object else fault(x), x)


def test_equal_balls_are_told_from_unequal_and_from_unknown_ones(assert_same_balls: Callable) -> None:
    with BALL.working():
        third = BALL.array([[1, 2]]) / 3
        assert_same_balls(third, 1 - third[:, ::-1])
        with pytest.raises(AssertionError, match="excludes zero"):
            assert_same_balls(third, third + exact(1, 2**100))
        with pytest.raises(AssertionError, match="is not known well enough"):
            assert_same_balls(third, third + arb(0, 2.0**-100))


# ---- the gates by themselves ------------------------------------------------


def test_the_first_place_is_named() -> None:
    bad = np.array([[False, False, False], [False, True, True], [True, True, True]])
    with pytest.raises(DomainError, match=r"^x at \[1, 1\]$"):
        checks.refuse_where(bad, "x at {at}")
    checks.refuse_where(bad[:1], "x at {at}")


@pytest.mark.parametrize("value", [True, np.bool_(1), 2.0, "2", None, 2 + 0j])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(DomainError, match=f"k: expected a whole number, got {type(value).__name__}"):
        checks.require_whole("k", value, 1, 3)


def test_whole_numbers_within_their_bounds_are_integers() -> None:
    for value in (1, 3, np.int8(2), np.uint64(3)):
        found = checks.require_whole("k", value, 1, 3)
        assert (type(found), found) == (int, value)
    with pytest.raises(DomainError, match=r"k: expected a whole number of at least 1, got 0$"):
        checks.require_whole("k", 0, 1, 3)
    with pytest.raises(DomainError, match=r"k: expected a whole number of at most 3, got 4$"):
        checks.require_whole("k", 4, 1, 3)
    with pytest.raises(DomainError, match=r"k: expected a whole number of at most 3, got 100000000000000000000$"):
        checks.require_whole("k", 10**20, 1, 3)
    for huge, sign in ((10**20 + 1, "most 3"), (-(10**20) - 1, "least 1")):
        with pytest.raises(DomainError, match=f"k: expected a whole number of at {sign}, got one of 67 bits$"):
            checks.require_whole("k", huge, 1, 3)


def test_words_are_chosen_from_a_list() -> None:
    assert checks.require_choice("by", "b", ("b", "a")) == "b"
    for wrong in ("c", "", 1, None, ["a"]):
        with pytest.raises(DomainError, match=r"by: expected one of 'a', 'b', got"):
            checks.require_choice("by", wrong, ("b", "a"))


def test_tokens_are_whole_numbers_below_the_vocabulary() -> None:
    for tokens in ([0, 4], np.array([[0], [4]], dtype=np.uint8), np.array([2])):
        assert np.array_equal(checks.require_tokens(tokens, 5), tokens)
    for wrong, message in (
        (np.ma.masked_array([0, 1]), "expected a plain array, got a masked one"),
        ([0.0, 1.0], "expected integers, got dtype float64"),
        ([True], "expected integers, got dtype bool"),
        (3, r"expected integers \(\.\.\., n\), at least one, got shape \(\)"),
        (np.zeros((2, 0), dtype=int), r"at least one, got shape \(2, 0\)"),
        ([0, 5], r"expected 0\.\.4, got 0\.\.5"),
        ([-1, 4], r"expected 0\.\.4, got -1\.\.4"),
    ):
        with pytest.raises(DomainError, match=f"tokens: .*{message}"):
            checks.require_tokens(wrong, 5)
    with pytest.raises(ShapeError, match="lists of different lengths"):
        checks.require_tokens([[0], [0, 1]], 5)


def test_an_epsilon_is_a_number_of_the_system_beside_it() -> None:
    floats, exacts = np.zeros((1, 1)), RATIONAL.array([[0]])
    for value in (2, 2.0, np.float32(2), Fraction(2), exact(2)):
        found = checks.require_epsilon("epsilon", value, floats)
        assert (type(found), found) == (float, 2.0)
    for value in (2, 2.0, np.float32(2), Fraction(2), exact(2)):
        found = checks.require_epsilon("epsilon", value, exacts)
        assert (type(found), found) == (int, 2)
    assert checks.require_epsilon("epsilon", exact(1, 4), floats) == 0.25
    half = checks.require_epsilon("epsilon", Fraction(1, 4), exacts)
    assert (half * exacts + half).item().value == fmpq(1, 4)
    for value, like, message in (
        (0.25, exacts, r"expected an exact number beside exact entries, got 0\.25"),
        (-1, floats, "expected 0 or more, got -1"),
        (float("nan"), floats, "expected 0 or more, got nan"),
        (float("inf"), floats, "expected a number in the range of float64"),
        (True, floats, r"expected a number, exact\(p, q\) or an array"),
        ("1", floats, r"expected a number, exact\(p, q\) or an array"),
        (-np.ones((1, 1)), floats, "expected 0 or more, got less at"),
        (np.ones((1, 1)), exacts, "expected entries of the number system"),
    ):
        with pytest.raises(DomainError, match=f"epsilon: {message}"):
            checks.require_epsilon("epsilon", value, like)


def test_an_epsilon_may_be_an_entry_or_an_array_of_one() -> None:
    x = sp.Symbol("x", positive=True)
    for value, like in (
        (RATIONAL.array([0])[0], RATIONAL.array([[1]])),
        (RATIONAL.array(["1/2"])[0], RATIONAL.array([[1]])),
        (fmpq(1, 2), RATIONAL.array([[1]])),
        (x, SYMBOLIC.array([[1]])),
    ):
        found = checks.require_epsilon("epsilon", value, like)
        assert found.shape == (1, 1)
        assert (found.item() - value + like).item() == 1
    assert checks.require_epsilon("epsilon", np.array([[[0.5]]]), np.ones((3, 2, 2))).tolist() == [[[0.5]]]
    with pytest.raises(DomainError, match=r"epsilon: expected 0 or more, got less at \[0, 0\]"):
        checks.require_epsilon("epsilon", fmpq(-1, 2), RATIONAL.array([[1]]))
    assert checks.require_epsilon("epsilon", sys.float_info.max, np.ones((1, 1))) == sys.float_info.max
    half = checks.require_epsilon("epsilon", Fraction(1, 2), RATIONAL.array([[1]]))
    assert (half * RATIONAL.array([[1]])).item() == Fraction(1, 2)


def test_a_result_that_is_not_finite_is_refused_whatever_made_it() -> None:
    for result in (np.array([[np.inf]]), np.array([np.nan, 0.0]), [np.zeros(1), (np.array([1, np.inf]),)]):
        with pytest.raises(DomainError, match="the result is not finite: these arguments are beyond the range"):
            checks.in_range(lambda result=result: result)()
        with FLOAT64.working():
            assert checks.in_range(lambda result=result: result)() is result
    assert checks.in_range(lambda: "nan")() == "nan"


def test_values_matter_where_there_are_any() -> None:
    assert checks.values_matter(RATIONAL.array([[1]]))
    assert not checks.values_matter(np.empty((0, 2), dtype=object))
    assert not checks.values_matter(SYMBOLIC.array([[1]]))
    assert checks.values_matter(np.ones((1, 1)))
    with FLOAT64.working():
        assert not checks.values_matter(np.ones((1, 1)))


def test_every_exact_matrix_of_a_batch_has_its_number() -> None:
    X = RATIONAL.array(np.arange(24).reshape(2, 3, 2, 2))
    found = checks.number_of_each(X, lambda one: one[0, 0] * one[1, 1] - one[0, 1] * one[1, 0])
    assert found.shape == (2, 3, 1, 1)
    assert (found == -2).all()
    assert checks.number_of_each(X[0, 1], lambda one: one[1, 0]).tolist() == [[6]]
    X[1, 2, 0, 1] = X[1, 2, 0, 1] / 0
    with pytest.raises(Undefined, match="division by zero"):
        checks.number_of_each(X, lambda one: one[0, 0])


def test_foreign_arrays_are_none_whatever_they_hold() -> None:
    class Other(np.ndarray):
        pass

    entries = RATIONAL.array([[1, 2]])
    for foreign in (np.ones((2, 2)).view(Other), np.ma.MaskedArray(np.asarray(entries))):
        with pytest.raises(DomainError, match=f"x: expected a plain NumPy array, got {type(foreign).__name__}"):
            checks.require_entries("x", foreign)
    mixed = np.array([[entries[0, 0], 2]], dtype=object)
    assert (checks.require_entries("x", mixed) == entries).all()
    for infinite in (sp.oo, -sp.oo, sp.zoo, sp.nan):
        with pytest.raises(DomainError, match=r"x: expected float, ball or rational entries, got .* at \[1\]"):
            checks.require_entries("x", np.array([sp.Integer(1), infinite], dtype=object))


def test_a_kind_is_taken_from_an_array_with_an_entry() -> None:
    assert checks.require_like("like", np.ones(1, np.float32)).dtype == np.float64
    with pytest.raises(ShapeError, match="like: expected a NumPy array, got list"):
        checks.require_like("like", [1.0])
    with pytest.raises(ShapeError, match=r"like: expected at least one entry, got shape \(0,\)"):
        checks.require_like("like", np.ones(0))


def test_trailing_axes_are_those_that_are_asked_for() -> None:
    assert checks.require_entry("x", np.ones((5, 1, 1))).shape == (5, 1, 1)
    assert checks.require_shape("x", np.ones((5, 2, 3), np.float32), (2, 3)).dtype == np.float64
    for shape in ((2, 1), (1, 2)):
        with pytest.raises(ShapeError, match=r"x: expected one entry \(\.\.\., 1, 1\), got shape"):
            checks.require_entry("x", np.ones(shape))
    with pytest.raises(ShapeError, match=r"x: expected the shape \(\.\.\., 2, 3\), got \(2, 3, 2\)"):
        checks.require_shape("x", np.ones((2, 3, 2)), (2, 3))
    with pytest.raises(ShapeError, match="x: expected a NumPy array"):
        checks.require_shape("x", [[1.0]], (1, 1))


def test_the_slack_is_that_of_the_rows_in_a_batch_as_well() -> None:
    """At its ends: a sum that is off by 16 m eps and an entry of -m eps pass, and the next floats do not."""
    rows = np.full((1, 64, 2), 0.5)
    for away, fits in ((32 * EPS, True), (33 * EPS, False)):
        rows[0, 7] = [0.5, 0.5 + away]
        assert accepts(rows) is fits
    rows[0, 7] = [1 + 2 * EPS, -2 * EPS]
    assert accepts(rows)
    rows[0, 8] = [1 + 3 * EPS, -3 * EPS]
    with pytest.raises(DomainError, match=r"the entry at \[0, 8, 1\] is -6\.66.*, below -4\.44e-16"):
        require_row_stochastic("A", rows)
    for small, fits in ((1048, True), (1049, False)):  # of 2^20: just within a thousandth, and just beyond
        assert accepts(np.array([[1, small / 2**20]], np.float16)) is fits


def test_the_value_that_is_told_is_the_first_that_is_wrong() -> None:
    with pytest.raises(DomainError, match=r"the entry at \[0, 1\] is -0\.25, below"):
        require_row_stochastic("A", np.array([[1.25, -0.25], [1.5, -0.5]]))
    with pytest.raises(DomainError, match=r"row \[0\] sums to 1\.5, which"):
        require_row_stochastic("A", np.array([[0.5, 1], [1, 1]]))


def test_a_weight_ahead_that_rounding_left_below_zero_is_refused() -> None:
    raw = np.stack([np.stack([np.eye(3)] * 2)] * 5)
    assert checks.require_causal("A", raw).shape == (5, 2, 3, 3)
    raw[4, 1, 0] = [1 + EPS, -EPS, 0]
    with pytest.raises(DomainError, match=r"the entry at \[4, 1, 0, 1\], above the diagonal, is not 0"):
        checks.require_causal("A", raw)


def test_flags_functions_and_lists_are_what_they_are_called() -> None:
    assert [checks.require_flag("f", value) for value in (True, np.bool_(0))] == [True, False]
    assert type(checks.require_flag("f", np.bool_(1))) is bool
    with pytest.raises(DomainError, match="f: expected True or False, got int"):
        checks.require_flag("f", 1)
    checks.require_callable("f", len)
    with pytest.raises(DomainError, match="f: expected a function of an array, got str"):
        checks.require_callable("f", "len")
    assert checks.require_sequence("xs", (), "things") == []
    with pytest.raises(ShapeError, match="xs: expected at least one thing, got none"):
        checks.require_sequence("xs", [], "things", least=1)


def test_a_frozen_holder_keeps_what_the_gate_gave_back() -> None:
    @dataclass(frozen=True)
    class Holder:
        x: Any

    checks.keep(holder := Holder(None), {"x": 1.5})
    assert holder.x == 1.5
