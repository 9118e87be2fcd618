"""Transformers of every layout: one code in floats and balls, sums that sum, foldings that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, Array, Ball, BallEntry
from resstream.errors import DomainError, ShapeError
from resstream.reference.decomposition import (
    HEAD,
    LAYER,
    LENGTH,
    Sum,
    number_of_paths,
    path_expansion,
    six_sums,
)
from resstream.reference.folding import centre_unembedding, centre_writing_weights, fold_norms, fold_value_biases
from resstream.reference.positions import (
    ADJACENT,
    HALVES,
    RotaryPositions,
    alibi_bias,
    alibi_slopes,
    halves_to_adjacent,
)
from resstream.reference.transformer import (
    PARALLEL,
    POST,
    PRE,
    RMS,
    AttentionLayer,
    FeedForward,
    NormLayer,
    PredictionHead,
    Transformer,
    TransformerBlock,
)

Number = Callable[[Array], Array]

D, H, WIDTH, SYMBOLS, LAYERS = 6, 2, 5, 7, 2


def made(
    number: Number = np.asarray,
    layout: str = PRE,
    kind: str = "layer",
    *,
    groups: int = H,
    gated: bool = False,
    activation: str = "gelu",
    rotary: str | None = None,
    alibi: bool = False,
    unembedding: bool = True,
    prediction_head: bool = False,
    bare: bool = False,
    seed: int = 0,
) -> Transformer:
    """A model with every weight, gain and bias that its layout allows, entries of `number`."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Array:
        return number(rng.integers(-16, 17, shape) / 8.0)

    def norm() -> NormLayer:
        return NormLayer(kind, draw(1, D), draw(1, D), number(np.array([[1 / 64]])))

    h = 4 if rotary else 3
    blocks = []
    for _ in range(LAYERS):
        shapes = [(H, D, h), (groups, D, h), (groups, D, h), (H, h, D)]
        W_Q, W_K, W_V, W_O = (draw(*shape) for shape in shapes)
        attention = AttentionLayer(
            W_Q, W_K, W_V, W_O, draw(H, 1, h), draw(groups, 1, h), draw(groups, 1, h), draw(1, D)
        )
        gate: dict[str, Any] = {"W_gate": draw(D, WIDTH), "b_gate": draw(1, WIDTH)} if gated else {}
        mlp = FeedForward(draw(D, WIDTH), draw(WIDTH, D), activation, draw(1, WIDTH), draw(1, D), **gate)
        if bare:  # no MLP, no norms, no biases but those of queries and keys
            attention = replace(attention, b_V=None, b_O=None)
            blocks.append(TransformerBlock(attention))
        else:
            blocks.append(TransformerBlock(attention, mlp, norm(), norm(), layout))
    return Transformer(
        draw(SYMBOLS, D),
        blocks,
        None if layout == POST or bare else norm(),
        draw(D, SYMBOLS) if unembedding else None,
        draw(1, SYMBOLS) if unembedding and not bare else None,
        position_embedding=None if rotary or alibi else draw(9, D),
        segment=draw(1, D) if layout == POST else None,
        embedding_norm=norm() if layout == POST or alibi else None,
        rotary=RotaryPositions(2, pairs=rotary) if rotary else None,
        alibi=number(np.array(alibi_slopes(H))[:, None, None]) if alibi else None,
        prediction_head=PredictionHead(draw(D, D), draw(1, D), norm(), activation) if prediction_head else None,
        causal=layout != POST,
    )


CASES: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "gpt-neox": {"layout": PARALLEL, "rotary": HALVES},
    "gpt-j": {"layout": PARALLEL, "rotary": ADJACENT, "activation": "gelu_tanh"},
    "bloom": {"alibi": True, "activation": "gelu_tanh"},
    "llama": {"kind": RMS, "rotary": HALVES, "groups": 1, "gated": True, "activation": "silu"},
    "bert": {"layout": POST, "unembedding": False},
    "bert with a head": {"layout": POST, "prediction_head": True},
    "relu": {"activation": "relu"},
    "attention only": {"bare": True, "rotary": ADJACENT},
}

TOKENS = np.array([3, 0, 6, 3])
ROUNDING = 1e-12


def end_of(model: Transformer) -> Any:
    trace = model.forward(TOKENS)
    return trace.final if trace.logits is None else trace.logits


@pytest.mark.parametrize("name", CASES)
def test_balls_hold_the_floats(name: str) -> None:
    ball = Ball(128)
    with ball.working():
        enclosed = end_of(made(ball.array, **CASES[name]))
        middle = FLOAT64.array(enclosed)
        assert max(float(entry.value.rad()) if isinstance(entry, BallEntry) else 0.0 for entry in enclosed.flat) < 1e-25
    floats = end_of(made(**CASES[name]))
    assert np.abs(floats).max() > 0.1
    assert np.abs(floats - middle).max() <= 1e-9 * np.abs(floats).max()


@pytest.mark.parametrize("name", CASES)
def test_six_sums_sum(name: str) -> None:
    model = made(**CASES[name])
    sums = six_sums(model, model.forward(TOKENS))
    assert len({s.name for s in sums}) == (5 if name == "attention only" else 6)
    for found in sums:
        assert len(found.parts) > 1
        assert found.gap.item() <= ROUNDING * found.scale.item(), found.name


@pytest.mark.parametrize("name", CASES)
def test_a_part_or_the_constant_that_is_missing_shows(name: str) -> None:
    model = made(**CASES[name])
    for found in six_sums(model, model.forward(TOKENS)):
        largest = max(found.parts, key=lambda key: np.abs(found.parts[key]).max())
        rest = {key: part for key, part in found.parts.items() if key != largest}
        assert Sum(found.name, rest, found.constant, found.whole).gap.item() > 1e-6
        if found.name != "logit lens" and name != "attention only":
            assert np.abs(found.constant).max() > 0


def test_the_sum_is_certain_in_balls() -> None:
    ball = Ball(128)
    with ball.working():
        model = made(ball.array)
        trace = model.forward(TOKENS)
        gap = path_expansion(model, trace).gap
    assert FLOAT64.array(gap).item() < 1e-25


@pytest.mark.parametrize("by", [HEAD, LAYER, LENGTH])
def test_paths_are_as_many_as_are_counted(by: str) -> None:
    model = made(alibi=True)
    trace = model.forward(TOKENS)
    assert len(path_expansion(model, trace, by).parts) == number_of_paths(model, by, len(trace.embedded))
    assert number_of_paths(model, HEAD) == 9 + 3 + 1


@pytest.mark.parametrize("name", CASES)
def test_paths_by_layer_gather_those_by_head(name: str) -> None:
    model = made(**CASES[name])
    trace = model.forward(TOKENS)
    gathered: dict[Any, Any] = {}
    for key, part in path_expansion(model, trace).parts.items():
        assert isinstance(key, tuple)
        source, path = key
        coarse = source, tuple(layer for layer, _ in path)
        gathered[coarse] = gathered.get(coarse, 0) + part
    by_layer = path_expansion(model, trace, LAYER).parts
    assert gathered.keys() == by_layer.keys()
    for key, part in by_layer.items():
        assert np.abs(part - gathered[key]).max() <= ROUNDING * (1 + np.abs(part).max())


def test_too_many_paths_are_refused() -> None:
    model = made()
    deep = replace(model, blocks=list(model.blocks) * 5)
    with pytest.raises(DomainError, match=r"expected at most 4096 paths, got .*by='layer'"):
        path_expansion(deep, deep.forward(TOKENS))
    with pytest.raises(DomainError, match="by: expected"):
        path_expansion(model, model.forward(TOKENS), "neuron")


FOLDINGS = [fold_norms, fold_value_biases, centre_writing_weights]


@pytest.mark.parametrize("folding", FOLDINGS)
@pytest.mark.parametrize("name", CASES)
def test_foldings_leave_the_logits(name: str, folding: Any) -> None:
    model = made(**CASES[name])
    post, uncentred = name.startswith("bert"), name in ("llama", "attention only")
    if (folding is fold_norms and post) or (folding is centre_writing_weights and uncentred):
        with pytest.raises(DomainError):
            folding(model)
        return
    before, after = end_of(model), end_of(folding(model))
    assert np.abs(before - after).max() <= ROUNDING * max(1, np.abs(before).max()) * 100


def test_foldings_do_what_they_say() -> None:
    folded = centre_writing_weights(fold_value_biases(fold_norms(made())))
    assert folded.final_norm is not None
    for block in folded.blocks:
        assert block.attention_norm.gain is block.mlp_norm.bias is block.attention.b_V is None
        assert np.abs(block.attention.W_O.mean(-1)).max() < 1e-12
        assert np.abs(block.mlp.W_out.mean(-1)).max() < 1e-12
    assert np.abs(folded.embedding.mean(-1)).max() < 1e-12


def test_centred_unembedding_takes_the_mean_of_each_row() -> None:
    model = made()
    before, after = end_of(model), end_of(centre_unembedding(model))
    assert np.abs(before.mean(-1)).max() > 0.01
    assert np.abs(after - (before - before.mean(-1, keepdims=True))).max() <= ROUNDING * np.abs(before).max()
    with pytest.raises(DomainError, match="unembedding"):
        centre_unembedding(made(unembedding=False))


def test_models_whose_stream_is_read_without_a_norm_cannot_be_centred() -> None:
    with pytest.raises(DomainError, match="without a norm"):
        centre_writing_weights(replace(made(), final_norm=None))
    with pytest.raises(DomainError, match="nowhere to go"):
        fold_norms(made(unembedding=False))


def test_pair_conventions_differ_by_an_order_of_columns() -> None:
    halves, adjacent = RotaryPositions(6, pairs=HALVES), RotaryPositions(6, pairs=ADJACENT)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 8))
    order = halves_to_adjacent(8, 6)
    one = halves.turn(X, halves.rotation(5, X))[:, order]
    other = adjacent.turn(X[:, order], adjacent.rotation(5, X))
    assert np.abs(one - other).max() < 1e-14
    assert np.abs(adjacent.turn(X, adjacent.rotation(5, X))[:, order] - other).max() > 0.1


def test_alibi_falls_with_distance_by_the_slope() -> None:
    slopes = np.array(alibi_slopes(6))[:, None, None]
    assert alibi_slopes(6) == [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    bias = alibi_bias(slopes, 4)
    assert (np.diff(bias, axis=-1) == slopes).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RotaryPositions(3), ShapeError, "width"),
        (lambda: RotaryPositions(2, pairs="thirds"), DomainError, "pairs"),
        (lambda: RotaryPositions(2, base=0), DomainError, "base"),
        (lambda: RotaryPositions(4, factors=np.ones((1, 3))), ShapeError, "factors"),
        (lambda: NormLayer("batch"), DomainError, "kind"),
        (lambda: FeedForward(np.ones((2, 3)), np.ones((3, 2)), "mish"), DomainError, "activation"),
        (lambda: FeedForward(np.ones((2, 3)), np.ones((2, 2))), ShapeError, "W_out"),
        (lambda: replace(made().blocks[0], layout="between"), DomainError, "layout"),
        (lambda: replace(made().blocks[0].attention, W_K=np.ones((3, 6, 3))), ShapeError, "W_K"),
        (lambda: replace(made().blocks[0].attention, b_V=np.ones((1, 3))), ShapeError, "b_V"),
        (lambda: replace(made(), unembedding=np.ones((5, 7))), ShapeError, "unembedding"),
        (lambda: alibi_slopes(0), DomainError, "heads"),
        (lambda: made().forward(np.array([7])), DomainError, "tokens: expected 0..6"),
        (lambda: made().forward(np.array([-1])), DomainError, "tokens: expected 0..6"),
        (lambda: made().forward(np.zeros(10, dtype=int)), DomainError, "at most 9"),
        (lambda: made().forward(np.array([0.5])), DomainError, "integers"),
        (lambda: made().forward(np.array([], dtype=int)), DomainError, "integers"),
        (lambda: replace(made(rotary=HALVES), context=3).forward(TOKENS), DomainError, "at most 3"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
