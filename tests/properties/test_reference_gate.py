"""Every array of a function of the reference through the gate: sizes that must agree, batches, kinds, finite entries.

A size that two places of a signature share must agree, any other may be what it likes; a batch is its instances one by
one; and whatever is wrong is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from resstream import reference as ref
from resstream.arithmetic import FLOAT64, RATIONAL, Ball
from resstream.errors import DomainError, ResstreamError, ShapeError
from resstream.reference import MLP, Block, Head
from resstream.reference.normalisation import layer_norm_scale
from resstream.reference.ordering import one_hot_argmax, top_k

SIZES = {"n": 4, "m": 5, "d": 3, "h": 2, "e": 6, "V": 7, "1": 1, "4": 4}
BALL = Ball(64)

COUNT = 8
"""Instances of a batch: unlike every size, so that one taken for the other shows."""


def head(*maps: Any) -> Head:
    return Head(*maps[:4], *maps[4:])


def written(parts: Any) -> Any:
    return parts.parts[0], parts.parts[1], parts.constant


def _two(x: Any) -> Any:
    return x * x


CASES: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "ov_circuit": (ref.ov_circuit, {"W_V": "d h", "W_O": "h e"}),
    "qk_circuit": (ref.qk_circuit, {"W_Q": "d h", "W_K": "e h"}),
    "composition_score": (ref.composition_score, {"first": "d e", "second": "e h"}),
    "weight_composition": (ref.weight_composition, {"writer": "e d", "W_Q": "d h", "W_K": "d m", "W_OV": "d V"}),
    "circuit_composition": (ref.circuit_composition, {"writer": "e d", "W_Q": "d h", "W_K": "d h", "W_OV": "d V"}),
    "full_ov_circuit": (
        ref.full_ov_circuit,
        {"embedding": "V d", "W_V": "d h", "W_O": "h e", "unembedding": "e m"},
    ),
    "full_qk_circuit": (ref.full_qk_circuit, {"embedding": "V d", "W_Q": "d h", "W_K": "d h"}),
    "copying_score": (ref.copying_score, {"embedding": "V d", "W_V": "d h", "W_O": "h e", "unembedding": "e V"}),
    "logit_lens": (ref.logit_lens, {"x": "n d", "unembedding": "d V"}),
    "direct_logit_attribution": (
        lambda p, q, U, g, b, o: written(ref.direct_logit_attribution([p, q], U, g, b, o)),
        {"parts[0]": "n d", "parts[1]": "n d", "unembedding": "d V", "gain": "1 d", "bias": "1 d",
         "output_bias": "1 V"},
    ),
    "attention_scores": (ref.attention_scores, {"Q": "n h", "K": "m h"}),
    "attention_weights": (ref.attention_weights, {"Q": "n h", "K": "m h"}),
    "attention": (ref.attention, {"Q": "n h", "K": "m h", "V": "m d"}),
    "head_output": (
        lambda X, *maps: ref.head_output(X, head(*maps)),
        {"X": "n d", "W_Q": "d h", "W_K": "d h", "W_V": "d e", "W_O": "e m", "b_Q": "1 h", "b_K": "1 h"},
    ),
    "concatenated_attention": (
        lambda X, *maps: ref.concatenated_attention(X, [head(*maps), head(*maps)]),
        {"X": "n d", "W_Q": "d h", "W_K": "d h", "W_V": "d e", "W_O": "e m"},
    ),
    "identity_path_product": (lambda *Js: ref.identity_path_product(Js), {"Js[0]": "d d", "Js[1]": "d d"}),
    "subset_sum": (lambda *Js: ref.subset_sum(Js), {"Js[0]": "d d", "Js[1]": "d d", "Js[2]": "d d"}),
    "backward_recursion": (
        lambda g, *Js: tuple(ref.backward_recursion(g, Js)[:-1]),
        {"g": "1 d", "Js[0]": "d d", "Js[1]": "d d"},
    ),
    "stack_jacobians": (lambda x: tuple(ref.stack_jacobians([_two, _two], x)), {"x": "1 d"}),
    "layer_norm": (ref.layer_norm, {"x": "n d", "gain": "1 d", "bias": "1 d"}),
    "rms_norm": (ref.rms_norm, {"x": "n d", "gain": "1 d", "bias": "1 d"}),
    "layer_norm_jacobian": (ref.layer_norm_jacobian, {"x": "1 d", "gain": "1 d"}),
    "rms_norm_jacobian": (ref.rms_norm_jacobian, {"x": "1 d", "gain": "1 d"}),
    "layer_norm_scale": (lambda x: layer_norm_scale("x", x), {"x": "n d"}),
    "mlp": (
        lambda x, *maps: ref.mlp(x, MLP(*maps)),
        {"x": "n d", "W_1": "d e", "b_1": "1 e", "W_2": "e m", "b_2": "1 m"},
    ),
    "pre_ln_block": (
        lambda X, W_Q, W_K, W_V, W_O, W_1, b_1, W_2, b_2: ref.pre_ln_block(
            X, Block([Head(W_Q, W_K, W_V, W_O)], MLP(W_1, b_1, W_2, b_2))
        ),
        {"X": "n d", "W_Q": "d h", "W_K": "d h", "W_V": "d e", "W_O": "e d", "W_1": "d m", "b_1": "1 m", "W_2": "m d",
         "b_2": "1 d"},
    ),
    "smoothing_stack": (
        lambda X, W, V: tuple(ref.smoothing_stack([np.eye(SIZES["n"])] * 2, X, [W, V])[1:]),
        {"X": "4 d", "Ws[0]": "d d", "Ws[1]": "d d"},
    ),
    "cosine_similarity": (ref.cosine_similarity, {"X": "n d", "Y": "m d"}),
    "top_k": (lambda x: top_k(x, 2), {"x": "n d"}),
    "one_hot_argmax": (one_hot_argmax, {"x": "n d"}),
}  # fmt: skip

ARGUMENTS = [(case, name) for case, (_, signature) in CASES.items() for name in signature]


def arrays(case: str, batch: tuple[int, ...] = (), **sizes: int) -> dict[str, Any]:
    rng, known = np.random.default_rng(0), {**SIZES, **sizes}
    shapes = {name: [known[size] for size in text.split()] for name, text in CASES[case][1].items()}
    return {name: rng.standard_normal((*batch, *shape)) for name, shape in shapes.items()}


def results(case: str, given: dict[str, Any]) -> tuple[Any, ...]:
    found = CASES[case][0](*given.values())
    return tuple(found) if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("case", CASES)
def test_a_batch_is_its_instances_one_by_one(case: str) -> None:
    given = arrays(case, (COUNT,))
    together = results(case, given)
    for place in range(COUNT):
        alone = results(case, {name: x[place] for name, x in given.items()})
        for whole, one in zip(together, alone, strict=True):
            assert np.allclose(np.broadcast_to(whole, (COUNT, *one.shape))[place], one, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("case", "name"), ARGUMENTS)
def test_sizes_agree_where_they_are_shared_and_only_there(case: str, name: str) -> None:
    signature = CASES[case][1]
    every = " ".join(signature.values()).split()
    for axis, size in enumerate(signature[name].split()):
        for batch in ((), (COUNT,)):
            given = arrays(case, batch)
            given[name] = np.concatenate([given[name], np.take(given[name], [0], axis - 2) + 1 / 7], axis - 2)
            if size in "14" or every.count(size) > 1:
                with pytest.raises(ShapeError) as refused:
                    results(case, given)
                sharing = [other for other, text in signature.items() if size in text.split()]
                assert any(other.split("[")[0] in str(refused.value) for other in sharing), refused.value
            else:
                results(case, given)


@pytest.mark.parametrize(("case", "name"), ARGUMENTS)
def test_what_does_not_go_together_is_refused_by_name(case: str, name: str) -> None:
    of_other_length = {**arrays(case, (COUNT,)), name: arrays(case, (2,))[name]}
    one_axis, not_finite = arrays(case), arrays(case)
    one_axis[name] = one_axis[name][0]
    not_finite[name][..., -1] = np.nan
    wrong: list[tuple[dict[str, Any], type[ResstreamError]]] = [(one_axis, ShapeError), (not_finite, DomainError)]
    if len(CASES[case][1]) > 1:
        exact = {**arrays(case), name: BALL.array(arrays(case)[name])}
        wrong += [(of_other_length, ShapeError), (exact, DomainError)]
    for given, error in wrong:
        with pytest.raises(error) as refused:
            results(case, given)
        assert name.split("[")[0] in str(refused.value), refused.value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ref.causal_mask(0), "n: expected a whole number of at least 1"),
        (lambda: ref.banded_mask(0, 1), "n: expected a whole number of at least 1"),
        (lambda: ref.banded_mask(1, -1), "reach: expected a whole number of at least 0"),
        (lambda: ref.sliding_window_mask(0, 1), "n: expected a whole number of at least 1"),
        (lambda: ref.sliding_window_mask(1, 0), "window: expected a whole number of at least 1"),
        (lambda: ref.block_mask(0, 1), "n: expected a whole number of at least 1"),
        (lambda: ref.head_output(np.eye(2), None), "head: expected a Head"),  # type: ignore[arg-type]
        (lambda: Block([None], None), r"heads\[0\]: expected a Head"),  # type: ignore[list-item,arg-type]
        (lambda: ref.residual_stack([lambda x: x[:1]], np.eye(2)), r"functions\[0\]: expected a result of the shape"),
        (lambda: ref.stack_jacobians([_two], np.eye(2)), "x: expected one row"),
        (lambda: top_k(np.eye(3), 0), "k"),
        (lambda: top_k(np.eye(3), 4), "k"),
    ],
)
def test_what_is_no_array_is_refused_by_name(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ResstreamError, match=message):
        call()


def test_smallest_and_largest_counts_are_counts() -> None:
    assert ref.causal_mask(1).tolist() == ref.banded_mask(1, 0).tolist() == ref.block_mask(1, 1).tolist() == [[True]]
    assert ref.sliding_window_mask(1, 1).tolist() == [[True]]
    x = np.array([[3.0, 1.0, 2.0]])
    assert [top_k(x, k).tolist() for k in (1, 3)] == [[[3.0]], [[3.0, 2.0, 1.0]]]


def test_the_largest_entry_is_marked_in_every_number_system() -> None:
    x = np.array([[1.0, 2.0, -3.0], [0.0, -0.5, -1.0]])
    for system in (FLOAT64, RATIONAL, BALL):
        assert (one_hot_argmax(system.array(x)) == np.array([[0, 1, 0], [1, 0, 0]])).all()
    for system in (FLOAT64, RATIONAL):
        with pytest.raises(ResstreamError, match="it is not decided which of two equal entries"):
            assert (one_hot_argmax(system.array(np.array([[1.0, 2.0], [0.5, 0.5]]))) == 1).any()


def test_composition_scores_are_of_whole_matrices_however_far_apart_their_rows_are() -> None:
    first, second = np.array([[1e200, 0.0], [0.0, 1.0]]), np.array([[1.0], [0.0]])
    assert ref.composition_score(first, second).item() == pytest.approx(1, rel=1e-12)
    assert ref.composition_score(np.array([[1.0, 1.0]]), 1e200 * second + 1).item() == pytest.approx(2**-0.5, rel=1e-12)
