"""Every public function of the reference, odd arguments in every place: an error of ours that names it, or a result.

The functions are found by walking the package, so a new one without good arguments here fails the first test.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from resstream import reference
from resstream.errors import ResstreamError
from resstream.reference import (
    activations,
    attention_only,
    decomposition,
    distributions,
    folding,
    normalisation,
    norms,
    positions,
    spectrum,
    transformer,
)
from resstream.reference.rotary import rotation

NO_CALLS = {
    # what comes out of a function, and is not made by a caller
    *("attention_only.Trace", "attention_only.ScoreTerms", "circuits.Composition", "circuits.Attribution"),
    *("decomposition.Sum", "transformer.BlockTrace", "transformer.TransformerTrace"),
}
"""Public names that take no arrays of a caller's."""

GATES = ("checks", "magnitudes", "noted")
"""Modules that the others are made with."""


def public() -> dict[str, Callable[..., Any]]:
    """The public functions and classes of the reference's modules, and the public methods of the classes."""
    found = {}
    for module in pkgutil.iter_modules(reference.__path__):
        if module.name in GATES:
            continue
        for name, value in vars(importlib.import_module(f"resstream.reference.{module.name}")).items():
            ours = getattr(value, "__module__", "") == f"resstream.reference.{module.name}"
            if name.startswith("_") or not ours or not callable(value):
                continue
            found[f"{module.name}.{name}"] = value
    return {name: value for name, value in found.items() if name not in NO_CALLS}


rng = np.random.default_rng(0)


def some(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


X, SQUARE, ROW = some(3, 2), some(3, 3), some(1, 3)
STOCHASTIC = np.array([[0.5, 0.25, 0.25], [0, 1.0, 0], [0.125, 0.375, 0.5]])
CAUSAL = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
ONE = np.array([[2.0]])
HEAD_WEIGHTS = {
    "W_Q": some(2, 2), "W_K": some(2, 2), "W_V": some(2, 4), "W_O": some(4, 2), "b_Q": some(1, 2), "b_K": some(1, 2)
}  # fmt: skip
HEAD = reference.Head(**HEAD_WEIGHTS)
MLP = reference.MLP(some(2, 5), some(1, 5), some(5, 2), some(1, 2))
BLOCK = reference.Block([HEAD], MLP)
MODEL = {
    "embedding": some(5, 4), "unembedding": some(4, 5), "W_Q": some(2, 2, 4, 2), "W_K": some(2, 2, 4, 2),
    "W_V": some(2, 2, 4, 2), "W_O": some(2, 2, 2, 4), "b_Q": some(2, 2, 1, 2), "b_K": some(2, 2, 1, 2), "base": 10_000,
}  # fmt: skip
model = reference.AttentionOnlyModel(**MODEL)
STREAM = model.embed(np.array([0, 1, 2]))
PATTERNS = [np.stack([CAUSAL, CAUSAL])] * 2
MASK = np.tri(3, dtype=bool)
HEAD_MAPS = {"embedding": some(5, 4), "W_V": some(4, 2), "W_O": some(2, 4), "unembedding": some(4, 5)}
LINEAR = some(2, 2)


def layer(x: np.ndarray) -> np.ndarray:
    return x / 2


NORM_LAYER = transformer.NormLayer("layer", some(1, 4), some(1, 4), 0.5)
ATTENTION = {
    "W_Q": some(2, 4, 2), "W_K": some(1, 4, 2), "W_V": some(1, 4, 3), "W_O": some(2, 3, 4),
    "b_Q": some(2, 1, 2), "b_K": some(1, 1, 2), "b_V": some(1, 1, 3), "b_O": some(1, 4),
}  # fmt: skip
FEED = {
    "W_in": some(4, 6), "W_out": some(6, 4), "activation": "silu", "b_in": some(1, 6), "b_out": some(1, 4),
    "W_gate": some(4, 6), "b_gate": some(1, 6),
}  # fmt: skip
PARTS = {
    "attention": transformer.AttentionLayer(**ATTENTION), "mlp": transformer.FeedForward(**FEED),
    "attention_norm": NORM_LAYER, "mlp_norm": NORM_LAYER, "layout": "pre",
}  # fmt: skip
PREDICTION = {"W": some(4, 4), "b": some(1, 4), "norm": NORM_LAYER, "activation": "gelu"}
WHOLE = {
    "embedding": some(5, 4), "blocks": [transformer.TransformerBlock(**PARTS)], "final_norm": NORM_LAYER,
    "unembedding": some(4, 5), "output_bias": some(1, 5), "position_embedding": some(7, 4), "segment": some(1, 4),
    "embedding_norm": NORM_LAYER, "rotary": positions.RotaryPositions(2), "alibi": some(2, 1, 1),
    "prediction_head": transformer.PredictionHead(**PREDICTION), "causal": True, "context": 7,
}  # fmt: skip
trained = transformer.Transformer(**{**WHOLE, "prediction_head": None, "embedding_norm": None})
TRACE = trained.forward(np.array([0, 1, 2]))
SEEN = {"model": trained, "trace": TRACE}

CASES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "activations.gelu": (activations.gelu, {"x": X}),
    "activations.gelu_tanh": (activations.gelu_tanh, {"x": X}),
    "activations.silu": (activations.silu, {"x": X}),
    "activations.sigmoid": (activations.sigmoid, {"x": X}),
    "activations.softplus": (activations.softplus, {"x": X}),
    "attention.softmax": (reference.softmax, {"scores": SQUARE, "mask": MASK}),
    "attention.banded_mask": (reference.banded_mask, {"n": 3, "reach": 1}),
    "attention.block_mask": (reference.block_mask, {"n": 3, "block": 2}),
    "attention.causal_mask": (reference.causal_mask, {"n": 3}),
    "attention.sliding_window_mask": (reference.sliding_window_mask, {"n": 3, "window": 2}),
    "attention.attention_scores": (reference.attention_scores, {"Q": X, "K": some(3, 2)}),
    "attention.attention_weights": (reference.attention_weights, {"Q": X, "K": some(3, 2), "mask": MASK}),
    "attention.attention": (reference.attention, {"Q": X, "K": some(3, 2), "V": some(3, 4), "mask": MASK}),
    "attention.Head": (
        reference.Head,
        HEAD_WEIGHTS,
    ),
    "attention.head_scores": (reference.head_scores, {"X": X, "head": HEAD}),
    "attention.head_weights": (reference.head_weights, {"X": X, "head": HEAD, "mask": MASK}),
    "attention.head_output": (reference.head_output, {"X": X, "head": HEAD, "mask": MASK}),
    "attention.multi_head_attention": (reference.multi_head_attention, {"X": X, "heads": [HEAD], "mask": MASK}),
    "attention.concatenated_attention": (reference.concatenated_attention, {"X": X, "heads": [HEAD], "mask": MASK}),
    "attention_only.AttentionOnlyModel": (reference.AttentionOnlyModel, MODEL),
    "attention_only.AttentionOnlyModel.embed": (model.embed, {"tokens": np.array([0, 1, 2])}),
    "attention_only.AttentionOnlyModel.forward": (model.forward, {"tokens": np.array([0, 1, 2])}),
    "attention_only.AttentionOnlyModel.run": (
        model.run, {"x0": STREAM, "positions": [0, 1, 2], "keys_read": {1: [(0, 0)]}, "queries_read": {1: []}}
    ),
    "attention_only.AttentionOnlyModel.run with patterns": (model.run, {"x0": STREAM, "patterns": PATTERNS}),
    "attention_only.AttentionOnlyModel.queries": (model.queries, {"layer": 0, "x": STREAM, "positions": [0, 1, 2]}),
    "attention_only.AttentionOnlyModel.keys": (model.keys, {"layer": 1, "x": STREAM, "positions": [0, 1, 2]}),
    "attention_only.AttentionOnlyModel.rotation": (model.rotation, {"x": STREAM, "positions": [0, 1, 2]}),
    "attention_only.AttentionOnlyModel.score_scale": (model.score_scale, {"like": STREAM}),
    "attention_only.AttentionOnlyModel.scores": (
        model.scores, {"layer": 0, "queries_from": STREAM, "keys_from": some(3, 4), "positions": [0, 1, 2]}
    ),
    "attention_only.AttentionOnlyModel.score_terms": (
        model.score_terms, {"layer": 1, "x0": STREAM, "written": some(3, 4), "positions": [0, 1, 2]}
    ),
    "attention_only.AttentionOnlyModel.content_free_kernel": (model.content_free_kernel, {"offsets": [0, 1, 2]}),
    "attention_only.AttentionOnlyModel.path_expansion": (model.path_expansion, {"x0": STREAM, "patterns": PATTERNS}),
    "attention_only.paths": (reference.paths, {"layers": 2, "heads": 2}),
    "blocks.Block": (reference.Block, {"heads": [HEAD], "mlp": MLP}),
    "blocks.pre_ln_block": (reference.pre_ln_block, {"X": X, "block": BLOCK, "mask": MASK, "norm": layer}),
    "blocks.post_ln_block": (reference.post_ln_block, {"X": X, "block": BLOCK, "mask": MASK, "norm": layer}),
    "blocks.sublayers": (reference.sublayers, {"block": BLOCK}),
    "blocks.pre_ln_sublayers": (reference.pre_ln_sublayers, {"block": BLOCK, "norm": reference.layer_norm}),
    "circuits.ov_circuit": (reference.ov_circuit, {"W_V": some(3, 2), "W_O": some(2, 3)}),
    "circuits.qk_circuit": (reference.qk_circuit, {"W_Q": some(3, 2), "W_K": some(3, 2)}),
    "circuits.composition_score": (reference.composition_score, {"first": SQUARE, "second": some(3, 2)}),
    "circuits.weight_composition": (
        reference.weight_composition, {"writer": SQUARE, "W_Q": some(3, 2), "W_K": some(3, 2), "W_OV": some(3, 3)}
    ),
    "circuits.circuit_composition": (
        reference.circuit_composition, {"writer": SQUARE, "W_Q": some(3, 2), "W_K": some(3, 2), "W_OV": some(3, 3)}
    ),
    "circuits.full_ov_circuit": (reference.full_ov_circuit, HEAD_MAPS),
    "circuits.full_qk_circuit": (
        reference.full_qk_circuit, {"embedding": some(5, 4), "W_Q": some(4, 2), "W_K": some(4, 2)}
    ),
    "circuits.copying_score": (reference.copying_score, HEAD_MAPS),
    "circuits.logit_lens": (
        reference.logit_lens, {"x": X, "unembedding": some(2, 5), "final_norm": reference.layer_norm}
    ),
    "circuits.direct_logit_attribution": (
        reference.direct_logit_attribution,
        {"parts": [X, some(3, 2)], "unembedding": some(2, 5), "gain": some(1, 2), "bias": some(1, 2),
         "output_bias": some(1, 5), "epsilon": ONE},
    ),
    **{
        f"decomposition.{name}": (getattr(decomposition, name), SEEN)
        for name in (
            "stream_sum", "attribution_by_layer", "attribution_by_head", "logit_lens_increments", "six_sums",
        )
    },
    "decomposition.neuron_terms": (decomposition.neuron_terms, {**SEEN, "layer": 0, "position": -1}),
    "decomposition.path_expansion": (decomposition.path_expansion, {**SEEN, "by": "head"}),
    "decomposition.number_of_paths": (
        decomposition.number_of_paths, {"model": trained, "by": "layer", "embedded": 2}
    ),
    **{
        f"folding.{name}": (getattr(folding, name), {"model": trained})
        for name in ("fold_norms", "fold_value_biases", "centre_writing_weights", "centre_unembedding")
    },
    "positions.RotaryPositions": (
        positions.RotaryPositions, {"width": 4, "base": 100, "pairs": "halves", "factors": some(1, 2)}
    ),
    "positions.RotaryPositions.rotation": (positions.RotaryPositions(2).rotation, {"n": 3, "like": X}),
    "positions.RotaryPositions.turn": (
        positions.RotaryPositions(2).turn, {"X": X, "rotation": positions.RotaryPositions(2).rotation(3, X)}
    ),
    "positions.alibi_bias": (positions.alibi_bias, {"slopes": some(2, 1, 1), "n": 3}),
    "positions.alibi_slopes": (positions.alibi_slopes, {"heads": 3}),
    "positions.halves_to_adjacent": (positions.halves_to_adjacent, {"width": 4, "turning": 2}),
    "transformer.NormLayer": (
        transformer.NormLayer, {"kind": "rms", "gain": some(1, 4), "bias": some(1, 4), "epsilon": 0.5}
    ),
    "transformer.NormLayer.__call__": (NORM_LAYER, {"x": STREAM}),
    "transformer.AttentionLayer": (transformer.AttentionLayer, ATTENTION),
    "transformer.FeedForward": (transformer.FeedForward, FEED),
    "transformer.TransformerBlock": (transformer.TransformerBlock, PARTS),
    "transformer.PredictionHead": (transformer.PredictionHead, PREDICTION),
    "transformer.Transformer": (transformer.Transformer, WHOLE),
    "transformer.Transformer.embed": (trained.embed, {"tokens": np.array([0, 1])}),
    "transformer.Transformer.forward": (trained.forward, {"tokens": np.array([0, 1])}),
    "transformer.sum_of": (transformer.sum_of, {"parts": {"tokens": X}}),
    "mlp.MLP": (reference.MLP, {"W_1": some(2, 5), "b_1": some(1, 5), "W_2": some(5, 2), "b_2": some(1, 2)}),
    "mlp.mlp": (reference.mlp, {"x": X, "weights": MLP}),
    "mlp.mlp_key_values": (reference.mlp_key_values, {"x": X, "weights": MLP}),
    "normalisation.centre": (reference.centre, {"x": X}),
    "normalisation.layer_norm": (
        reference.layer_norm, {"x": X, "gain": some(1, 2), "bias": some(1, 2), "epsilon": ONE}
    ),
    "normalisation.rms_norm": (reference.rms_norm, {"x": X, "gain": some(1, 2), "bias": some(1, 2), "epsilon": 0.5}),
    "normalisation.layer_norm_jacobian": (
        reference.layer_norm_jacobian, {"x": ROW, "gain": some(1, 3), "epsilon": ONE}
    ),
    "normalisation.rms_norm_jacobian": (reference.rms_norm_jacobian, {"x": ROW, "gain": some(1, 3), "epsilon": 0}),
    "normalisation.layer_norm_scale": (normalisation.layer_norm_scale, {"name": "x", "x": X, "epsilon": 0}),
    "normalisation.rms_norm_scale": (normalisation.rms_norm_scale, {"x": X, "epsilon": 0}),
    "norms.Norm": (reference.Norm, {"kind": "l1", "basis": np.eye(3), "inverse": np.eye(3)}),
    "norms.in_basis": (norms.in_basis, {"X": ROW, "norm": reference.Norm("l2", np.eye(3), np.eye(3))}),
    "norms.row_norms": (reference.row_norms, {"X": X, "norm": reference.L2}),
    "norms.largest_row_norm": (reference.largest_row_norm, {"X": X, "norm": reference.L1}),
    "norms.operator_norm": (
        reference.operator_norm,
        {"W": SQUARE, "norm": reference.Norm("l2", np.eye(3), np.eye(3)), "norm_out": reference.LINF},
    ),
    "norms.Lp": (reference.Lp, {"p": Fraction(3, 2)}),
    "norms.frobenius_norm": (reference.frobenius_norm, {"W": X}),
    "norms.spectral_norm": (reference.spectral_norm, {"W": X}),
    "residual.residual_stack": (reference.residual_stack, {"functions": [layer, layer], "x": X}),
    "residual.plain_stack": (reference.plain_stack, {"functions": [layer, layer], "x": X}),
    "residual.stack_jacobians": (reference.stack_jacobians, {"functions": [layer, layer], "x": some(1, 2)}),
    "residual.identity_path_product": (reference.identity_path_product, {"Js": [SQUARE, SQUARE]}),
    "residual.subset_sum": (reference.subset_sum, {"Js": [SQUARE, SQUARE]}),
    "residual.backward_recursion": (reference.backward_recursion, {"g": ROW, "Js": [SQUARE, SQUARE], "residual": True}),
    "rotary.rotary": (reference.rotary, {"X": X, "positions": np.array([[0.5], [1], [2]]), "base": 100}),
    "rotary.rotary_inverse": (reference.rotary_inverse, {"X": X, "positions": [0, 1, 2], "base": 100}),
    "rotary.Rotation": (reference.Rotation, {"cosines": X, "sines": X}),
    "rotary.rotation": (rotation, {"positions": [0, 1], "width": 4, "base": 100, "like": X}),
    "rotary.sinusoidal": (reference.sinusoidal, {"positions": [0, 1], "width": 4, "base": 100, "like": X}),
    "smoothing.dobrushin": (reference.dobrushin, {"A": STOCHASTIC}),
    "smoothing.dobrushin_overlap": (reference.dobrushin_overlap, {"A": STOCHASTIC}),
    "smoothing.diameter": (reference.diameter, {"X": X, "norm": reference.LINF}),
    "smoothing.pairwise_distances": (reference.pairwise_distances, {"X": X, "norm": reference.L2}),
    "smoothing.relative_spread": (reference.relative_spread, {"X": X}),
    "smoothing.row_range": (reference.row_range, {"S": X}),
    "smoothing.smoothing_stack": (reference.smoothing_stack, {"As": [STOCHASTIC], "X": X, "Ws": [LINEAR]}),
    "smoothing.skip_stack": (reference.skip_stack, {"As": [STOCHASTIC], "X": X, "Ws": [LINEAR]}),
    "smoothing.mean_pairwise_distance": (reference.mean_pairwise_distance, {"X": X, "norm": reference.L1}),
    "enclosing.enclosing_radius": (reference.enclosing_radius, {"X": X, "norm": reference.L2}),
    "enclosing.squared_enclosing_radius": (reference.squared_enclosing_radius, {"X": X}),
    "nearest.distance_to_constant": (reference.distance_to_constant, {"X": X, "norm": reference.L2}),
    "smoothing.dispersion": (reference.dispersion, {"X": X}),
    "smoothing.gram": (reference.gram, {"X": X}),
    "smoothing.cosine_similarity": (reference.cosine_similarity, {"X": X, "Y": some(4, 2)}),
    "spectrum.matrix_power": (spectrum.matrix_power, {"W": SQUARE, "exponent": 3}),
    **{
        f"spectrum.{name}": (getattr(spectrum, name), {"W": SQUARE})
        for name in spectrum.__all__
        if name not in ("affine_rank", "matrix_power", "schatten_norm")
    },
    "spectrum.affine_rank": (spectrum.affine_rank, {"X": X}),
    "spectrum.schatten_norm": (spectrum.schatten_norm, {"W": SQUARE, "norm": reference.L1}),
    **{
        f"distributions.{name}": (getattr(distributions, name), given)
        for name, given in {
            "logsumexp": {"scores": X},
            "log_softmax": {"scores": X},
            "entropy": {"P": STOCHASTIC},
            "kl_divergence": {"P": STOCHASTIC, "Q": np.full((3, 3), 1 / 3)},
            "total_variation": {"P": STOCHASTIC, "Q": np.eye(3)},
            "hellinger": {"P": STOCHASTIC, "Q": np.eye(3)},
            "hilbert_metric": {"X": np.exp(X), "Y": np.exp(some(3, 2))},
            "birkhoff_coefficient": {"A": np.exp(SQUARE)},
        }.items()
    },
    "ordering.ascending": (reference.ascending, {"x": X}),
    "ordering.top_k": (reference.top_k, {"x": X, "k": 2}),
    "ordering.one_hot_argmax": (reference.one_hot_argmax, {"x": X}),
    "training.cross_entropy": (reference.cross_entropy, {"logits": SQUARE, "targets": STOCHASTIC}),
    "training.smoothed_targets": (reference.smoothed_targets, {"right": np.eye(3), "epsilon": np.array([[0.1]])}),
    "training.noam_rate": (reference.noam_rate, {"step": ONE, "width": ONE, "warmup": ONE}),
}  # fmt: skip


def test_every_public_function_has_good_arguments_here() -> None:
    missing = set(public()) - set(CASES)
    assert missing == set(), f"public functions without a case: {sorted(missing)}"
    methods = {
        f"attention_only.AttentionOnlyModel.{name}"
        for name, value in vars(attention_only.AttentionOnlyModel).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    assert methods - set(CASES) == set()
    parameters = {
        name: set(inspect.signature(function).parameters)
        - set().union(*(given for key, (_, given) in CASES.items() if key.split(" ")[0] == name))
        for name, (function, _) in CASES.items()
        if " " not in name
    }  # fmt: skip
    untried = {name: sorted(left) for name, left in parameters.items() if left - {"mask"}}
    assert untried == {}, f"arguments that no case gives: {untried}"


def test_the_good_arguments_are_good() -> None:
    for name, (function, given) in CASES.items():
        assert is_finite(function(**given)), name


def is_finite(result: Any) -> bool:
    if isinstance(result, np.ndarray):
        return result.dtype.kind not in "fcO" or bool(np.isfinite(result.astype(complex)).all())
    if isinstance(result, Mapping):
        return all(is_finite(part) for part in result.values())
    if isinstance(result, (list, tuple)):
        return all(is_finite(part) for part in result)
    return all(is_finite(part) for part in vars(result).values()) if hasattr(result, "__dict__") else True


# ---- odd arrays in the place of arrays --------------------------------------


@cache
def _infinite(shape: tuple[int, ...], value: float) -> np.ndarray:
    x = np.ones(shape)
    x[(-1,) * len(shape)] = value
    return x


def refused(good: np.ndarray) -> Iterator[tuple[str, Any]]:
    """What no argument that is an array of numbers may be."""
    yield "NaN", _infinite(good.shape, np.nan)
    yield "infinite", _infinite(good.shape, np.inf)
    yield "minus infinity", _infinite(good.shape, -np.inf)
    yield "complex", good.astype(complex)
    yield "masked", np.ma.masked_array(good, good > 0)
    yield "nothing", np.full(good.shape, None)
    yield "objects", good.astype(object)
    yield "whole objects", np.ones(good.shape, dtype=object)
    yield "fractions", np.full(good.shape, Fraction(1, 2))
    yield "mixed", np.resize(np.array([1.0, None, "a", Fraction(1, 2)], dtype=object), good.shape)
    yield "text", good.astype("U8")
    yield "bytes", good.astype("S8")
    yield "truth", good > 0
    yield "integers", np.ones(good.shape, dtype=int)
    yield "dates", np.zeros(good.shape, dtype="M8[s]")
    yield "times", np.zeros(good.shape, dtype="m8[s]")
    yield "structured", np.zeros(good.shape, dtype=[("a", "f8"), ("b", "i4")])
    yield "long double", good.astype(np.longdouble)
    yield "no rows", np.ones((0, good.shape[-1]))
    yield "no columns", np.ones((good.shape[-2], 0))
    yield "one axis", good[0].ravel()
    yield "no axes", np.array(1.0)
    yield "a list", good.tolist()
    yield "a number", 1.5
    yield "a scalar", np.float64(1.5)
    yield "a word", "l2"
    yield "a date", datetime(2026, 11, 30)
    yield "an object", object()
    yield "a class", np.ndarray
    yield "a dictionary", {"x": good}


def doubtful(good: np.ndarray) -> Iterator[tuple[str, Any]]:
    """What may be refused, or give a finite result."""
    for dtype in (np.float16, np.float32, ">f8"):
        yield str(dtype), good.astype(dtype)
    for size in (1e200, 1e-200, 1.7e308, 5e-324):
        yield f"times {size}", np.clip(good, -1, 1) * size
    yield "all equal", np.full(good.shape, 0.1)
    yield "zero", np.zeros(good.shape)
    yield "negative", -np.abs(good)
    yield "a row more", np.concatenate([good, good[..., :1, :]], axis=-2)
    yield "a column more", np.concatenate([good, good[..., :1]], axis=-1)
    yield "transposed", good.mT
    yield "a batch", np.stack([good, good])
    yield "a batch of seven", np.stack([good] * 7)
    yield "read only", _frozen(good)
    yield "by columns", np.asfortranarray(good)
    yield "backwards", good[::-1, ::-1]
    yield "missing", None


def _frozen(good: np.ndarray) -> np.ndarray:
    copy = good.copy()
    copy.flags.writeable = False
    return copy


ODD = (None, True, -1, 0, 2.5, float("nan"), float("inf"), 10**400, -(10**400), "x", "", b"x", (), [], {}, {9: []},
       [None], [object()], object(), np.float32(2), np.int8(3), np.ones((2, 2)), np.ones(3), np.array("x"), 1j,
       Fraction(1, 3), np.transpose, str, abs, range(3), np.array([[np.nan]]))  # fmt: skip
"""In the place of what is no array."""


def places(given: Mapping[str, Any]) -> Iterator[tuple[str, Any, Callable[[Any], dict[str, Any]]]]:
    """Every argument, and every entry of one that is a list: its name, its value, and the arguments with another."""
    for name, value in given.items():
        yield name, value, lambda other, name=name: {**given, name: other}
        if isinstance(value, list) and isinstance(value[0], np.ndarray):
            for k in range(len(value)):
                changed = lambda other, name=name, value=value, k=k: {  # noqa: E731
                    **given, name: [*value[:k], other, *value[k + 1 :]]
                }  # fmt: skip
                yield f"{name}[{k}]", value[k], changed


def answer(function: Callable[..., Any], given: dict[str, Any]) -> tuple[str, str]:
    """What a call comes to: "refused" with our message, "finite", or what is a fault."""
    try:
        result = function(**given)
    except ResstreamError as failure:
        return "refused", str(failure)
    except Exception as failure:
        return "foreign", f"{type(failure).__name__}: {failure}"
    return ("finite", "") if is_finite(result) else ("not finite", "")


def names(message: str, place: str) -> bool:
    """Whether a message names the argument; `parts` for `parts[0]` is not enough, the other way round is."""
    return re.search(rf"(?<!\w){re.escape(place)}(?!\w)", message) is not None


@pytest.mark.parametrize("name", CASES)
def test_odd_arguments_are_refused_by_name_or_give_a_finite_result(name: str) -> None:
    function, given = CASES[name]
    faults, tried = [], 0
    for place, good, with_other in places(given):
        numbers = isinstance(good, np.ndarray) and good.dtype.kind == "f"
        oddities = [(kind, odd, True) for kind, odd in (refused(good) if numbers else ())]
        oddities += [(kind, odd, False) for kind, odd in (doubtful(good) if numbers else ())]
        if not numbers:
            oddities += [(f"{type(odd).__name__} {str(odd)[:20]}", odd, False) for odd in ODD]
        for kind, odd, must in oddities:
            outcome, message = answer(function, with_other(odd))
            tried += 1
            if place == "epsilon" and kind in ("a number", "a scalar"):
                must = False
            if place == "like" and kind in ("one axis", "no axes", "NaN", "infinite", "minus infinity"):
                must = False  # only its number system is asked for
            if place == "positions" and kind in ("integers", "a list"):
                must = False
            if outcome in ("foreign", "not finite") or (must and outcome == "finite"):
                faults.append(f"{place}: {kind}: {outcome} {message[:150]}")
            elif must and not names(message, place):
                faults.append(f"{place}: {kind}: not named in {message[:150]!r}")
    assert faults == []
    assert tried >= 30 * len(given)
