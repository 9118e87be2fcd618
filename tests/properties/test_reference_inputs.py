"""The gate of the reference: range, precision and kind of arrays, and what is no array."""

import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import arb

from resstream.arithmetic import FLOAT64, RATIONAL, Array, Ball, derivative, exact
from resstream.errors import DomainError, ShapeError
from resstream.reference import (
    L1,
    L2,
    LINF,
    AttentionOnlyModel,
    causal_mask,
    composition_score,
    diameter,
    direct_logit_attribution,
    dobrushin,
    dobrushin_overlap,
    frobenius_norm,
    largest_row_norm,
    layer_norm,
    layer_norm_jacobian,
    noam_rate,
    operator_norm,
    pairwise_distances,
    paths,
    relative_spread,
    rms_norm,
    rms_norm_jacobian,
    rotary,
    row_norms,
    sinusoidal,
    softmax,
)

HALF = np.float16


# ---- half and single precision ----------------------------------------------


def test_half_precision_is_computed_in_float64() -> None:
    assert np.array_equal(rms_norm(np.array([[300, 300, -300]], HALF)), [[1, 1, -1]])
    root = 1.5**0.5
    assert np.allclose(layer_norm(np.array([[0, 300, 600]], HALF)), [[-root, 0, root]], rtol=1e-15, atol=0)
    assert np.allclose(layer_norm(np.array([[0, 1e-4, 2e-4]], HALF)), [[-root, 0, root]], rtol=1e-3, atol=1e-3)
    assert np.allclose(softmax(np.zeros((1, 70_000), HALF)), 1 / 70_000, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ">f8", ">f4"])
@pytest.mark.parametrize("function", [row_norms, layer_norm, rms_norm, softmax, diameter, relative_spread])
def test_every_dtype_gives_what_its_values_give_in_float64(function: Callable[[Array], Array], dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(dtype)
    result = function(x)
    assert result.dtype == np.float64
    assert np.array_equal(result, function(x.astype(np.float64)))


def test_a_tolerance_has_a_ceiling_and_no_zero_row_passes() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        for columns in (1, 2, 64, 4096):
            for A in (np.zeros((2, columns), dtype), np.full((2, columns), 0.5 / columns, dtype)):
                with pytest.raises(DomainError, match=r"^A: expected a row-stochastic matrix, but row \[0\] sums to"):
                    dobrushin(A)
    negative = np.zeros((2, 1024), HALF)
    negative[0, :2] = 1.5, -0.5
    negative[1, 0] = 1
    with pytest.raises(DomainError, match=r"entry at \[0, 1\] is -0.5, below -0.001"):
        dobrushin(negative)


def test_rounded_rows_pass_within_their_own_dtype() -> None:
    weights = np.random.default_rng(1).random((5, 64))
    A = weights / weights.sum(-1, keepdims=True)
    for dtype in (np.float16, np.float32):
        assert abs(dobrushin(A.astype(dtype)) - dobrushin(A)).item() < 64 * np.finfo(dtype).eps
    with pytest.raises(DomainError, match=r"which is not 1 within .*; dividing every row by its sum would do"):
        dobrushin(np.array([[0.3333, 0.3333, 0.3333], [0.5, 0.25, 0.25]]))


# ---- range ------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-300])
@pytest.mark.parametrize("norm", [L1, L2, LINF], ids=str)
def test_lengths_survive_squares_out_of_range(norm: Any, scale: float) -> None:
    X = np.array([[[3.0, -4, 12], [1, 0, 2], [0, 0, 0]], [[1, 1, 1], [1, 1, 1], [1, 1, 1]]])
    for function in (row_norms, largest_row_norm, diameter, pairwise_distances):
        together = function(scale * X, norm)
        assert np.allclose(together / scale, function(X, norm), rtol=1e-14, atol=0)
        assert np.allclose(function(scale * X[0], norm), together[0], rtol=1e-15, atol=0)
    assert np.allclose(frobenius_norm(scale * X) / scale, frobenius_norm(X), rtol=1e-14, atol=0)
    assert np.allclose(operator_norm(scale * X, norm) / scale, operator_norm(X, norm), rtol=1e-14, atol=0)


def test_one_extreme_instance_leaves_the_others_of_a_batch_alone() -> None:
    X = np.random.default_rng(2).standard_normal((3, 4, 2))
    plain = [f(X) for f in (row_norms, diameter, frobenius_norm)]
    X[1] *= 1e200
    for function, before in zip((row_norms, diameter, frobenius_norm), plain, strict=True):
        after = function(X)
        assert np.array_equal(after[[0, 2]], before[[0, 2]])
        assert np.allclose(after[1] / 1e200, before[1], rtol=1e-14, atol=0)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_what_has_no_scale_is_the_same_at_every_scale(scale: float) -> None:
    x = np.array([[1.0, 2, 4], [3, 0, 5]])
    for function in (layer_norm, rms_norm, relative_spread):
        assert np.allclose(function(scale * x), function(x), rtol=1e-14, atol=0)
    for function in (layer_norm_jacobian, rms_norm_jacobian):
        assert np.allclose(function(scale * x[:1]) * scale, function(x[:1]), rtol=1e-14, atol=0)
    first, second = np.array([[1.0, 2], [3, 5]]), np.array([[1.0, -1], [2, 0]])
    assert np.allclose(
        composition_score(scale * first, second / scale), composition_score(first, second), rtol=1e-14, atol=0
    )


def test_epsilon_counts_beside_tiny_and_huge_rows() -> None:
    tiny = np.array([[1e-200, -1e-200]])
    assert np.allclose(rms_norm(tiny, epsilon=0.25), 2 * tiny, rtol=1e-15, atol=0)
    assert np.allclose(rms_norm(tiny, epsilon=1e-320), tiny / 1e-160, rtol=1e-3, atol=0)
    assert np.array_equal(rms_norm(np.array([[1e200, -1e200]]), epsilon=exact(1, 100)), [[1, -1]])


def test_a_result_beyond_float64_is_refused() -> None:
    with pytest.raises(DomainError, match=r"^row_norms: overflow.* beyond the range of float64"):
        row_norms(np.full((1, 4), 1.7e308))
    with pytest.raises(DomainError, match=r"^frobenius_norm: .* beyond the range"):
        frobenius_norm(np.full((4, 4), 1e308))
    with FLOAT64.working():
        assert np.isinf(row_norms(np.full((1, 4), 1.7e308))).all()


# ---- kinds ------------------------------------------------------------------


def test_complex_numbers_are_the_derivatives_alone() -> None:
    P = np.array([[0.5, 0.5, 0], [0.2, 0.5, 0.3], [0, 0.1, 0.9]], complex)
    for function in (dobrushin, frobenius_norm, softmax, layer_norm, row_norms):
        with pytest.raises(DomainError, match=r"^\w+: expected real entries, got dtype complex128"):
            function(P)
        direction = np.ones((3, 3)) if function is not dobrushin else np.array([[1.0, -1, 0]] * 3)
        assert np.isfinite(derivative(function, P.real, direction)).all()
    with pytest.raises(DomainError, match=r"^x: expected real entries, got dtype complex128"):
        derivative(frobenius_norm, P, P)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ma.masked_array(np.eye(2), np.eye(2) > 0), "X: expected a plain NumPy array .*, got MaskedArray"),
        (np.eye(2, dtype=np.longdouble), "X: expected float, ball or rational entries, got dtype float128"),
        (np.eye(2).astype("U3"), "X: expected float, ball or rational entries, got dtype <U3"),
        (np.eye(2).astype("S3"), r"X: expected float, ball or rational entries, got dtype \|S3"),
        (np.eye(2) > 0, "X: expected float, ball or rational entries, got dtype bool"),
        (np.zeros((2, 2), "M8[s]"), r"X: expected float, ball or rational entries, got dtype datetime64\[s\]"),
        (np.zeros((2, 2), [("a", "f8")]), "X: expected float, ball or rational entries, got dtype"),
        (np.array([[None, None]]), r"X: .*, got NoneType at \[0, 0\] of an object array"),
        (np.array([[1, 2]], object), r"X: .*, got int at \[0, 0\] of an object array"),
        (np.array([[0.5, 2.0]], object), r"X: .*, got float at \[0, 0\] of an object array"),
        (np.array([[Fraction(1, 2)]]), r"X: .*, got Fraction at \[0, 0\] of an object array"),
        (np.array([[arb(1), "a"]], object), r"X: .*, got str at \[0, 1\] of an object array"),
        (np.array([[sp.Symbol("a"), sp.nan]]), r"X: .*, got NaN at \[0, 1\] of an object array"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value.dtype),
)  # fmt: skip
def test_arrays_of_another_kind_are_refused_by_name(x: Array, message: str) -> None:
    with pytest.raises(DomainError, match=rf"^{message}"):
        row_norms(x)


def test_a_matrix_class_of_numpy_is_refused() -> None:
    with pytest.warns(PendingDeprecationWarning):
        old = np.matrix([[1.0, 2.0]])
    with pytest.raises(DomainError, match="X: expected a plain NumPy array"):
        row_norms(old)


def test_a_mapped_file_is_an_array(tmp_path: Any) -> None:
    stored = np.memmap(tmp_path / "x", dtype=np.float32, mode="w+", shape=(1, 2))
    stored[:] = 3, 4
    assert row_norms(stored).item() == 5


def test_floats_and_exact_entries_do_not_mix() -> None:
    with pytest.raises(DomainError, match=r"^gain: expected entries of the number system of x, got floats"):
        layer_norm(RATIONAL.array([[1, 2, 3]]), gain=np.ones((1, 3)), epsilon=exact(1, 3))
    with pytest.raises(DomainError, match=r"^epsilon: expected an exact number beside exact entries, got 0.1"):
        layer_norm(RATIONAL.array([[1, 2, 3]]), epsilon=0.1)
    with Ball(80).working():
        assert layer_norm(Ball(80).array([[1, 2, 3]]), epsilon=1).shape == (1, 3)


# ---- arguments that let NaN through -----------------------------------------

NAN = np.array([[np.nan]])
ROW = np.array([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda: rotary(np.full((1, 2), np.nan), [0]), "X"),
        (lambda: rotary(ROW, NAN), "positions"),
        (lambda: sinusoidal(NAN, 2, like=ROW), "positions"),
        (lambda: noam_rate(NAN, np.ones((1, 1)), np.ones((1, 1))), "step"),
        (lambda: noam_rate(np.ones((1, 1)), NAN, np.ones((1, 1))), "width"),
        (lambda: noam_rate(np.ones((1, 1)), np.ones((1, 1)), NAN), "warmup"),
        (lambda: direct_logit_attribution([ROW], np.eye(2), NAN * ROW, ROW, ROW), "gain"),
        (lambda: direct_logit_attribution([ROW], np.eye(2), ROW, NAN * ROW, ROW), "bias"),
        (lambda: direct_logit_attribution([ROW], np.eye(2), ROW, ROW, NAN * ROW), "output_bias"),
        (lambda: direct_logit_attribution([ROW], np.eye(2), ROW, ROW, ROW, NAN), "epsilon"),
        (lambda: layer_norm(ROW, epsilon=NAN), "epsilon"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_nan_is_refused_in_every_argument(function: Callable[[], Any], argument: str) -> None:
    with pytest.raises(DomainError, match=f"^{argument}: expected finite entries, got nan"):
        function()
    with np.errstate(all="ignore"), pytest.raises(DomainError, match=f"^{argument}: expected finite"):
        function()  # what a user thinks of warnings is no consent


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: noam_rate(np.zeros((1, 1)), *[np.ones((1, 1))] * 2), "step: expected positive numbers"),
        (lambda: rotary(ROW, [0.5]), "positions: expected a whole number, got float"),
        (lambda: rotary(ROW, [True]), "positions: expected a whole number, got bool"),
        (lambda: rotary(ROW, [10**400]), "positions: expected a whole number of at most"),
        (lambda: rotary(ROW, [0], base=0), "base: expected a whole number of at least 1, got 0"),
        (lambda: sinusoidal([0], 10**400, like=ROW), "width: expected a whole number of at most .* of 1329 bits"),
        (lambda: causal_mask(2.0), "n: expected a whole number, got float"),
        (lambda: causal_mask(0), "n: expected a whole number of at least 1"),
        (lambda: paths(40, 5), "layers, heads: expected at most 1,000,000 paths"),
        (lambda: row_norms(ROW, "l2"), "norm: expected a Norm, got str"),
        (lambda: layer_norm(ROW, epsilon="1"), "epsilon: expected a number, .*, got str"),
        (lambda: layer_norm(ROW, epsilon=True), "epsilon: expected a number, .*, got bool"),
        (lambda: layer_norm(ROW, epsilon=10**400), "epsilon: expected a number in the range of float64"),
        (lambda: layer_norm(ROW, epsilon=np.inf), "epsilon: expected a number in the range of float64"),
        (lambda: layer_norm(ROW, epsilon=np.array([[-1.0]])), r"epsilon: expected 0 or more, got less at \[0, 0\]"),
        (lambda: softmax(ROW, np.ma.masked_array([True, True])), "mask: expected booleans .*; got MaskedArray"),
    ],
)  # fmt: skip
def test_what_is_no_array_is_checked_too(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(DomainError, match=f"^{message}"):
        function()


def test_a_constant_stream_has_no_attribution_whatever_its_mean_rounds_to() -> None:
    one, nought = np.ones((1, 3)), np.zeros((1, 3))
    with pytest.raises(DomainError, match=r"^parts: row \[0\] is constant"):
        direct_logit_attribution([np.full((1, 3), 0.1)], np.eye(3), one, nought, nought)


# ---- interventions ----------------------------------------------------------


def model() -> tuple[AttentionOnlyModel, Array]:
    r = np.random.default_rng(0).standard_normal
    shapes = ((5, 4), (4, 5), *[(2, 2, 4, 2)] * 3, (2, 2, 2, 4), *[(2, 2, 1, 2)] * 2)
    found = AttentionOnlyModel(*(r(shape) for shape in shapes))
    return found, found.embed(np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys_read": {7: []}}, "keys_read, a layer: expected a whole number of at most 1, got 7"),
        ({"keys_read": {-1: []}}, "keys_read, a layer: expected a whole number of at least 0, got -1"),
        ({"queries_read": {"1": []}}, "queries_read, a layer: expected a whole number, got str"),
        ({"keys_read": {1: [(0, 0), (0, 0)]}}, r"keys_read\[1\]: expected every head once"),
        ({"keys_read": {1: [(0, 2)]}}, r"keys_read: layer 1 cannot read a head \(0, 2\)"),
        ({"keys_read": {1: [(1, 0)]}}, r"keys_read: layer 1 cannot read a head \(1, 0\)"),
        ({"keys_read": {1: [0]}}, r"keys_read\[1\]: expected heads \(layer, index\), got 0"),
        ({"keys_read": [1]}, "keys_read: expected a mapping of layers to lists of heads, got list"),
        ({"patterns": [np.full((2, 3, 3), 0.1)] * 2}, r"patterns\[0\]: expected a row-stochastic matrix, but row"),
        ({"patterns": [np.full((2, 3, 3), 1 / 3)] * 2}, r"patterns\[0\]: expected a causal pattern, .*\[0, 0, 1\]"),
        ({"patterns": [np.full((2, 3, 3), np.nan)] * 2}, r"patterns\[0\]: expected finite entries, got nan"),
        ({"patterns": [np.stack([np.eye(3)] * 2)] * 2, "keys_read": {1: []}}, "keys_read: expected none beside pat"),
        ({"patterns": [np.stack([np.eye(3)] * 2)] * 2, "positions": [0, 1, 2]}, "positions: expected none beside pat"),
    ],
)  # fmt: skip
def test_an_intervention_that_would_do_nothing_or_nonsense_is_refused(changes: dict[str, Any], message: str) -> None:
    found, x0 = model()
    assert np.abs(found.run(x0, keys_read={1: []}).logits - found.run(x0).logits).max() > 1e-3
    with pytest.raises(DomainError, match=f"^{message}"):
        found.run(x0, **changes)


def test_patterns_of_another_shape_are_refused() -> None:
    found, x0 = model()
    with pytest.raises(ShapeError, match=r"^patterns\[0\]: expected the shape \(..., 2, 3, 3\), got \(1, 3, 3\)"):
        found.run(x0, patterns=[np.eye(3)[None]] * 2)
    with pytest.raises(ShapeError, match=r"^patterns: expected a list of arrays, got ndarray"):
        found.path_expansion(x0, np.broadcast_to(np.eye(3), (2, 2, 3, 3)))


@pytest.mark.parametrize("tokens", [[], 3, [0.5], [True], [[0], [1, 2]], ["a"], np.ma.masked_array([0, 1])])
def test_tokens_are_whole_numbers(tokens: Any) -> None:
    with pytest.raises((DomainError, ShapeError), match=r"^tokens: expected"):
        model()[0].forward(tokens)


# ---- memory -----------------------------------------------------------------


@pytest.mark.parametrize("function", [dobrushin, dobrushin_overlap, diameter, lambda A: diameter(A, L1)])
def test_all_pairs_are_never_held_at_once(function: Callable[[Array], Array]) -> None:
    n = 400
    A = softmax(np.random.default_rng(0).standard_normal((n, n)), causal_mask(n))
    rows = np.array([np.abs(A[i] - A[i + 1 :]).sum(-1).max() for i in range(n - 1)]).max()
    distances = np.array([((A[i] - A[i + 1 :]) ** 2).sum(-1).max() for i in range(n - 1)]).max() ** 0.5
    right = {dobrushin: rows / 2, dobrushin_overlap: rows / 2, diameter: distances}.get(function, rows)
    tracemalloc.start()
    try:
        found = function(A).item()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == pytest.approx(right, rel=1e-12)
    assert peak < 60e6  # all pairs are 255 MB
