"""Transformers of every layout: one code in floats and balls, sums that sum, foldings that change nothing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, RATIONAL, Array, Ball, BallEntry
from resstream.errors import DomainError, ShapeError
from resstream.reference import decomposition
from resstream.reference.decomposition import (
    HEAD,
    LAYER,
    LENGTH,
    Sum,
    _fits,
    attribution_by_head,
    attribution_by_layer,
    logit_lens_increments,
    neuron_terms,
    number_of_paths,
    path_expansion,
    six_sums,
    stream_sum,
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
    sum_of,
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


# ---- the model, written out position by position ----------------------------


def normed(norm: NormLayer | None, x: Array) -> Array:
    if norm is None:
        return x
    x = x - x.mean(-1, keepdims=True) if norm.kind == "layer" else x
    out = x / np.sqrt((x**2).mean(-1, keepdims=True) + norm.epsilon)
    return out * (1 if norm.gain is None else norm.gain) + (0 if norm.bias is None else norm.bias)


def affine(x: Array, W: Array, b: Array | None) -> Array:
    return x @ W + (0 if b is None else b)


ACTIVATE = {
    "gelu": np.vectorize(lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def attended(model: Transformer, layer: AttentionLayer, x: Array) -> tuple[Array, Array]:
    """What attention writes, and its pattern: every head, query and key by itself."""
    n, h = len(x), layer.W_Q.shape[-1]
    heads = len(layer.W_Q)
    shared = heads // len(layer.W_K)
    pattern, write = np.zeros((heads, n, n)), np.zeros((n, layer.W_O.shape[-1]))
    for head in range(heads):
        group = head // shared
        q = affine(x, layer.W_Q[head], None if layer.b_Q is None else layer.b_Q[head])
        k = affine(x, layer.W_K[group], None if layer.b_K is None else layer.b_K[group])
        v = affine(x, layer.W_V[group], None if layer.b_V is None else layer.b_V[group])
        if model.rotary is not None:
            q, k = (model.rotary.turn(z, model.rotary.rotation(n, z)) for z in (q, k))
        for i in range(n):
            seen = i + 1 if model.causal else n
            scores = np.array([q[i] @ k[j] / math.sqrt(h) for j in range(seen)])
            if model.alibi is not None:
                scores += model.alibi[head].item() * np.arange(seen)
            weights = np.exp(scores - scores.max())
            pattern[head, i, :seen] = weights / weights.sum()
            write[i] += pattern[head, i] @ v @ layer.W_O[head]
    return write + (0 if layer.b_O is None else layer.b_O), pattern


def fed(mlp: FeedForward | None, x: Array) -> Array:
    if mlp is None:
        return np.zeros_like(x)
    inner, activate = affine(x, mlp.W_in, mlp.b_in), ACTIVATE[mlp.activation]
    gated = activate(inner) if mlp.W_gate is None else activate(affine(x, mlp.W_gate, mlp.b_gate)) * inner
    return affine(gated, mlp.W_out, mlp.b_out)


@pytest.mark.parametrize("name", CASES)
def test_the_model_is_what_is_written_out(name: str) -> None:
    model = made(**CASES[name])
    trace = model.forward(TOKENS)
    x = model.embedding[TOKENS]
    if model.position_embedding is not None:
        x = x + model.position_embedding[: len(TOKENS)]
    x = normed(model.embedding_norm, x + (0 if model.segment is None else model.segment))
    for block, seen in zip(model.blocks, trace.blocks, strict=True):
        assert np.abs(seen.stream - x).max() < ROUNDING * 100
        post = block.layout == POST
        write, pattern = attended(model, block.attention, x if post else normed(block.attention_norm, x))
        assert np.abs(seen.pattern - pattern).max() < ROUNDING
        assert np.abs(seen.attention_write - write).max() < ROUNDING * 100
        if post:
            x = normed(block.attention_norm, x + write)
            x = normed(block.mlp_norm, x + fed(block.mlp, x))
        elif block.layout == PARALLEL:
            x = x + write + fed(block.mlp, normed(block.mlp_norm, x))
        else:
            x = x + write
            x = x + fed(block.mlp, normed(block.mlp_norm, x))
    assert np.abs(trace.final - x).max() < ROUNDING * 100
    if model.unembedding is None:
        assert trace.logits is None
        return
    x = normed(model.final_norm, x)
    if model.prediction_head is not None:
        head = model.prediction_head
        x = normed(head.norm, ACTIVATE[head.activation](affine(x, head.W, head.b)))
    assert np.abs(trace.logits - affine(x, model.unembedding, model.output_bias)).max() < ROUNDING * 100


@pytest.mark.parametrize("kind", ["layer", RMS])
def test_a_norm_is_frozen_at_the_scales_of_its_input(kind: str) -> None:
    """Linear in the part, whose sum is the norm without its bias."""
    rng = np.random.default_rng(0)
    x, part = rng.standard_normal((2, 3, D))
    for gain, bias in ((None, None), (rng.standard_normal((1, D)), rng.standard_normal((1, D)))):
        norm = NormLayer(kind, gain, bias, 0.25)
        linear = norm.frozen(x)
        whole = linear(part) + linear(x - part) + (0 if bias is None else bias)
        assert np.abs(whole - norm(x)).max() < ROUNDING
        assert np.abs(linear(2 * part) - 2 * linear(part)).max() < ROUNDING
        assert np.abs(norm(x) - normed(norm, x)).max() < ROUNDING


def test_weights_are_kept_as_float64() -> None:
    """Whatever precision they come in, and in every part of a model."""

    def kept(part: Any) -> set[np.dtype[Any]]:
        if isinstance(part, np.ndarray):
            return {part.dtype}
        if dataclasses.is_dataclass(part):
            weights = (f.name for f in dataclasses.fields(part) if f.name != "epsilon")
            return set().union(*(kept(getattr(part, name)) for name in weights))
        return set().union(*map(kept, part)) if isinstance(part, (list, tuple)) else set()

    def coarse(x: Array) -> Array:
        return np.asarray(x, dtype=np.float32)

    for name in ("gpt2", "llama", "bert with a head", "bloom"):
        model = made(coarse, **CASES[name])
        assert kept(model.blocks) == kept(model.final_norm or model.prediction_head) == {np.dtype(np.float64)}
        assert {model.embedding.dtype, model.unembedding.dtype} == {np.dtype(np.float64)}


def stacked(parts: list[Any]) -> Any:
    """Models of one shape as one model of weights with leading axes."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.stack(parts)
    if dataclasses.is_dataclass(first):
        changes = {
            f.name: stacked([getattr(part, f.name) for part in parts])
            for f in dataclasses.fields(first)
            if not isinstance(getattr(first, f.name), (str, int, float, type(None)))
        }
        return replace(first, **changes)  # type: ignore[type-var]
    return [stacked(list(each)) for each in zip(*parts, strict=True)]


def test_models_in_batches_are_stacks_of_models() -> None:
    """Weights with leading axes: one model each."""
    models = [made(seed=seed) for seed in (0, 1)]
    together = stacked(models)
    logits = together.forward(TOKENS).logits
    assert logits.shape == (2, len(TOKENS), SYMBOLS)
    for found, model in zip(logits, models, strict=True):
        assert np.abs(found - model.forward(TOKENS).logits).max() < ROUNDING * 100


# ---- decompositions ---------------------------------------------------------


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


@pytest.mark.parametrize("name", CASES)
def test_paths_by_length_gather_those_by_layer(name: str) -> None:
    model = made(**CASES[name])
    trace = model.forward(TOKENS)
    gathered: dict[Any, Any] = {}
    for key, part in path_expansion(model, trace, LAYER).parts.items():
        source, path = key  # type: ignore[misc]
        gathered[source, len(path)] = gathered.get((source, len(path)), 0) + part
    by_length = path_expansion(model, trace, LENGTH).parts
    assert gathered.keys() == by_length.keys()
    for key, part in by_length.items():
        assert np.abs(part - gathered[key]).max() <= ROUNDING * (1 + np.abs(part).max())


def test_terms_are_called_by_what_they_are() -> None:
    model = made()
    trace = model.forward(TOKENS)
    sources = ["tokens", "positions"]
    by_layer = [*sources, "attention 0", "mlp 0", "attention 1", "mlp 1"]
    assert list(stream_sum(model, trace).parts) == by_layer
    assert list(attribution_by_layer(model, trace).parts) == by_layer
    heads = [f"head {layer}.{head}" for layer in range(LAYERS) for head in range(H)]
    assert list(attribution_by_head(model, trace).parts) == [*sources, *heads[:2], "mlp 0", *heads[2:], "mlp 1"]
    assert list(logit_lens_increments(model, trace).parts) == ["embedding", "block 0", "block 1"]
    expected = [
        "stream",
        "attribution by layer",
        "attribution by head",
        "neurons of mlp 1",
        "logit lens",
        "paths by head",
    ]
    assert [found.name for found in six_sums(model, trace)] == expected
    keys = path_expansion(model, trace).parts
    assert ("tokens", ((0, 1), (1, 0))) in keys
    assert ("mlp 0", ((1, 1),)) in keys
    assert ("mlp 1", ()) in keys
    assert ("positions", 2) in path_expansion(model, trace, LENGTH).parts


def test_neurons_are_asked_for_by_layer_and_position() -> None:
    model = made()
    trace = model.forward(TOKENS)
    n = len(TOKENS)
    for layer in range(LAYERS):
        write = trace.blocks[layer].mlp_write
        for position in (-n, -1, 0, n - 1):
            found = neuron_terms(model, trace, layer, position)
            assert np.array_equal(found.whole, write[[position]])
            assert list(found.parts) == [f"neuron {layer}.{k}" for k in range(WIDTH)]
            assert found.gap.item() <= ROUNDING * found.scale.item()
        assert np.array_equal(neuron_terms(model, trace, layer).whole, write[[-1]])
    for layer, position in ((LAYERS, 0), (-1, 0), (0, n), (0, -n - 1)):
        with pytest.raises(DomainError):
            neuron_terms(model, trace, layer, position)
    bare = made(bare=True)
    with pytest.raises(DomainError, match="layer: expected one with an MLP, got 0"):
        neuron_terms(bare, bare.forward(TOKENS), 0)
    block = model.blocks[0]
    without = replace(model, blocks=[replace(block, mlp=replace(block.mlp, b_out=None))])
    found = neuron_terms(without, without.forward(TOKENS), 0)
    assert not found.constant.any()
    assert found.gap.item() <= ROUNDING * found.scale.item()


def test_a_block_without_an_mlp_or_norms_is_decomposed() -> None:
    """Some blocks with, some without: the sums hold, and as many paths are counted as there are."""
    model = made()
    with_it, without = model.blocks
    for blocks in (
        [with_it, replace(without, mlp=None)],
        [replace(with_it, mlp=None), without],
        [replace(with_it, mlp_norm=None, attention_norm=None), without],
        [replace(with_it, attention=replace(with_it.attention, b_V=None, b_O=None)), without],
        [],
    ):
        for more in ({}, {"final_norm": None}, {"output_bias": None}, {"embedding_norm": model.final_norm}):
            changed = replace(model, blocks=blocks, **more)
            trace = changed.forward(TOKENS)
            for found in six_sums(changed, trace):
                assert found.gap.item() <= ROUNDING * found.scale.item(), found.name
            for by in (HEAD, LAYER, LENGTH):
                count = number_of_paths(changed, by, len(trace.embedded))
                assert len(path_expansion(changed, trace, by).parts) == count


def test_the_paths_are_counted() -> None:
    """Of 3 layers of 2 heads: 27 by head from the embedding, 9 and 3 and 1 from the MLPs; 8 4 2 1; 4 3 2 1."""
    model = made()
    three = replace(model, blocks=[*model.blocks, model.blocks[0]])
    assert [number_of_paths(three, by) for by in (HEAD, LAYER, LENGTH)] == [27 + 13, 8 + 7, 4 + 6]
    assert [number_of_paths(three, by, 2) for by in (HEAD, LAYER, LENGTH)] == [54 + 13, 16 + 7, 8 + 6]
    assert number_of_paths(three, HEAD, 0) == 13
    for wrong in (-1, 4097, 0.5):
        with pytest.raises(DomainError, match="embedded"):
            number_of_paths(three, HEAD, wrong)  # type: ignore[arg-type]
    with pytest.raises(DomainError, match="by: expected"):
        number_of_paths(three, "neuron")


def test_paths_are_as_fine_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made()
    trace = model.forward(TOKENS)
    counts = [number_of_paths(model, by, 2) for by in (HEAD, LAYER, LENGTH)]
    size = len(TOKENS) * SYMBOLS
    for most, entries, expected in (
        (counts[0], counts[0] * size, "paths by head"),
        (counts[0] - 1, counts[0] * size, "paths by layer"),
        (counts[0], counts[0] * size - 1, "paths by layer"),
        (counts[1], counts[1] * size - 1, "paths by length"),
        (counts[2], 0, "paths by length"),
    ):
        monkeypatch.setattr(decomposition, "MOST_PATHS", most)
        monkeypatch.setattr(decomposition, "MOST_ENTRIES", entries)
        assert six_sums(model, trace)[-1].name == expected
    monkeypatch.setattr(decomposition, "MOST_PATHS", counts[0])
    assert len(path_expansion(model, trace).parts) == counts[0]
    monkeypatch.setattr(decomposition, "MOST_PATHS", counts[0] - 1)
    with pytest.raises(DomainError, match=rf"at most {counts[0] - 1} paths, got {counts[0]}; by='layer' has fewer"):
        path_expansion(model, trace)
    monkeypatch.setattr(decomposition, "MOST_PATHS", counts[1] - 1)
    with pytest.raises(DomainError, match=r"by='length' has fewer"):
        path_expansion(model, trace, LAYER)


def test_a_sum_knows_its_gap_and_its_scale() -> None:
    found = Sum(
        "s", {"a": np.array([[1.0, -7.0]]), "b": np.array([[2.0, 0.0]])}, np.array([[0.5, 1.0]]), np.ones((1, 2))
    )
    assert np.array_equal(found.total, [[3.5, -6]])
    assert found.gap.item() == 7
    assert found.scale.item() == 7
    assert Sum("s", {}, np.array([[-9.0]]), np.array([[1.0]])).scale.item() == 9
    assert Sum("s", {}, np.array([[1.0]]), np.array([[-8.0]])).scale.item() == 8


@pytest.mark.parametrize(
    "function",
    [
        stream_sum,
        attribution_by_layer,
        attribution_by_head,
        lambda model, trace: neuron_terms(model, trace, 0),
        logit_lens_increments,
        path_expansion,
        six_sums,
    ],
)
def test_a_decomposition_wants_a_model_and_its_trace(function: Any) -> None:
    model = made()
    trace = model.forward(TOKENS)
    for wrong, name in (((None, trace), "model"), ((model, None), "trace")):
        with pytest.raises(DomainError, match=f"{name}: expected"):
            function(*wrong)
    with pytest.raises(ShapeError, match="trace: expected one of 2 blocks, as the model has, got 1"):
        function(model, replace(trace, blocks=trace.blocks[:1]))


# ---- foldings ---------------------------------------------------------------

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


@pytest.mark.parametrize("folding", FOLDINGS)
def test_models_in_batches_are_folded_one_by_one(folding: Any) -> None:
    models = [made(seed=seed) for seed in (0, 1, 2)]
    logits = folding(stacked(models)).forward(TOKENS).logits
    assert logits.shape == (3, len(TOKENS), SYMBOLS)
    for found, model in zip(logits, models, strict=True):
        assert np.abs(found - model.forward(TOKENS).logits).max() < ROUNDING * 100


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


def test_what_is_missing_is_folded_as_nothing() -> None:
    """Norms, gains and biases are all optional, block by block."""
    model = made(gated=True)
    first, second = model.blocks
    gain_alone, bias_alone = replace(first.attention_norm, bias=None), replace(first.attention_norm, gain=None)
    no_biases = replace(first.attention, b_Q=None, b_K=None, b_V=None, b_O=None)
    bare_mlp = replace(first.mlp, b_in=None, b_out=None, b_gate=None)
    for blocks in (
        [replace(first, attention_norm=gain_alone), replace(second, mlp_norm=bias_alone)],
        [replace(first, attention_norm=bias_alone, attention=no_biases), replace(second, mlp_norm=gain_alone)],
        [replace(first, attention=no_biases, mlp=bare_mlp), second],
        [replace(first, mlp=None), second],
    ):
        changed = replace(model, blocks=blocks)
        for folding in (fold_norms, fold_value_biases, centre_writing_weights):
            before, after = end_of(changed), end_of(folding(changed))
            assert np.abs(before - after).max() <= ROUNDING * max(1, np.abs(before).max()) * 100
    bare = [replace(first, attention_norm=None, mlp_norm=None), second]
    for more in ({}, {"final_norm": None}, {"output_bias": None}):
        changed = replace(model, blocks=bare, **more)
        folded = fold_norms(changed)
        assert np.abs(end_of(changed) - end_of(folded)).max() <= ROUNDING * 100 * np.abs(end_of(changed)).max()
        assert folded.blocks[0].attention_norm is None


def test_centring_says_what_it_cannot_centre() -> None:
    model = made()
    first, second = model.blocks
    rms = NormLayer(RMS)
    for changed, message in (
        (replace(model, blocks=[replace(first, layout=POST), second]), "norms before every sublayer, or after every"),
        (replace(model, blocks=[replace(first, attention_norm=None), second]), "a sublayer reads the stream without"),
        (replace(model, blocks=[first, replace(second, mlp_norm=None)]), "a sublayer reads the stream without"),
        (replace(model, blocks=[replace(first, attention_norm=rms), second]), "RMSNorm sees the mean"),
        (replace(model, final_norm=rms), "RMSNorm sees the mean"),
        (replace(model, embedding_norm=rms), "RMSNorm sees the mean"),
    ):
        with pytest.raises(DomainError, match=message):
            centre_writing_weights(changed)
    without = replace(model, blocks=[replace(first, mlp=None, mlp_norm=None), second])
    before, after = end_of(without), end_of(centre_writing_weights(without))
    assert np.abs(before - after).max() <= ROUNDING * 100 * np.abs(before).max()


def test_a_post_ln_model_without_a_norm_of_its_embedding_keeps_that() -> None:
    """Its first block attends to the embedding as it is, so the mean of that is part of the model."""
    model = replace(made(layout=POST), embedding_norm=None)
    centred = centre_writing_weights(model)
    assert np.array_equal(centred.embedding, model.embedding)
    before, after = end_of(model), end_of(centred)
    assert np.abs(before - after).max() <= ROUNDING * 100 * np.abs(before).max()
    whole = centre_writing_weights(made(layout=POST))
    for rows in (whole.embedding, whole.position_embedding, whole.segment):
        assert np.abs(rows.mean(-1)).max() < ROUNDING
    for block in whole.blocks:
        for rows in (block.attention.W_O, block.attention.b_O, block.mlp.W_out, block.mlp.b_out):
            assert np.abs(rows.mean(-1)).max() < ROUNDING


def test_post_ln_gains_cannot_be_folded() -> None:
    model = made()
    with pytest.raises(DomainError, match="part of the stream, and cannot be folded"):
        fold_norms(replace(model, blocks=[model.blocks[0], replace(model.blocks[1], layout=POST)]))


@pytest.mark.parametrize("folding", [fold_norms, fold_value_biases, centre_writing_weights, centre_unembedding])
def test_what_is_no_model_is_refused(folding: Any) -> None:
    with pytest.raises(DomainError, match="model: expected"):
        folding(None)


def test_models_whose_stream_is_read_without_a_norm_cannot_be_centred() -> None:
    with pytest.raises(DomainError, match="the unembedding reads the stream without a norm"):
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


def test_what_is_taken_apart_is_what_the_model_says() -> None:
    """The logits; the last state where there are none, or where a head that is not linear comes before them."""
    for name, case in CASES.items():
        model = made(**case)
        trace = model.forward(TOKENS)
        end = trace.final if name.startswith("bert") else trace.logits
        for found in (
            attribution_by_layer(model, trace),
            attribution_by_head(model, trace),
            path_expansion(model, trace),
        ):
            assert found.whole is end
        assert stream_sum(model, trace).whole is trace.final
        assert logit_lens_increments(model, trace).whole is (trace.final if trace.logits is None else trace.logits)


@pytest.mark.parametrize("name", CASES)
def test_models_in_batches_are_decomposed_one_by_one(name: str) -> None:
    models = [made(seed=seed, **CASES[name]) for seed in (0, 1, 2)]
    together = stacked(models)
    each = [six_sums(model, model.forward(TOKENS)) for model in models]
    for number, found in enumerate(six_sums(together, together.forward(TOKENS))):
        assert found.total.shape == found.whole.shape
        for index, alone in enumerate(sums[number] for sums in each):
            assert list(found.parts) == list(alone.parts)
            scale = ROUNDING * alone.scale.item()
            assert np.abs(found.total[index] - alone.total).max() <= scale
            for key, part in alone.parts.items():
                assert np.abs(found.parts[key][index] - part).max() <= scale


def test_the_neurons_of_the_last_mlp_are_summed() -> None:
    model = made()
    for more in (0, 1):
        longer = replace(model, blocks=[*model.blocks, *model.blocks[:more]])
        names = [found.name for found in six_sums(longer, longer.forward(TOKENS))]
        assert names[3:5] == [f"neurons of mlp {1 + more}", "logit lens"]
    single = replace(model, blocks=model.blocks[:1])
    assert six_sums(single, single.forward(TOKENS))[3].name == "neurons of mlp 0"
    block = replace(model.blocks[0], mlp=replace(model.blocks[0].mlp, b_out=None))
    single = replace(model, blocks=[block])
    neurons = neuron_terms(single, single.forward(TOKENS), 0)
    assert neurons.total.shape == neurons.whole.shape == (1, D)


@pytest.mark.parametrize("logits", [True, False])
def test_how_many_paths_and_entries_are_taken(logits: bool) -> None:
    """4,096 paths, of fifty million entries together: 3 paths of 16,666,667 numbers are one too many."""
    model = made(bare=True, rotary=HALVES)
    assert number_of_paths(model, LENGTH, 4096) == 3 * 4096
    layers = replace(model, blocks=[*model.blocks, *model.blocks] * 3)
    assert number_of_paths(layers, LAYER) == 4096
    assert len(path_expansion(layers, layers.forward(TOKENS), LAYER).parts) == 4096
    fed_last = replace(layers, blocks=[*layers.blocks[:-1], replace(layers.blocks[-1], mlp=made().blocks[0].mlp)])
    with pytest.raises(DomainError, match="at most 4096 paths, got 4097"):
        path_expansion(fed_last, fed_last.forward(TOKENS), LAYER)
    one = replace(model, blocks=model.blocks[:1])
    trace = one.forward(TOKENS)
    for by, rows, width, fits in (
        (LAYER, 5_000, 5_000, True),
        (LAYER, 5_000, 5_001, False),
        (HEAD, 16_666_667, 1, False),
        (HEAD, 16_666_666, 1, True),
    ):
        end = np.broadcast_to(np.zeros(1), (7, rows, width))
        seen = replace(trace, final=end[..., :1] if logits else end, logits=end if logits else None)
        assert _fits(one, seen, by) is fits


def test_maps_are_batches_that_broadcast() -> None:
    """In every part of a model: what has two leading axes of 2 and of 3 is refused where it is made."""

    def two(*shape: int) -> Array:
        return np.ones((2, *shape))

    def three(*shape: int) -> Array:
        return np.ones((3, *shape))

    first = made().blocks[0].attention
    for make in (
        lambda: NormLayer("layer", two(1, 4), three(1, 4)),
        lambda: AttentionLayer(two(1, 4, 3), three(1, 4, 3), two(1, 4, 3), two(1, 3, 4)),
        lambda: replace(first, W_Q=two(H, D, 3), b_O=three(1, D)),
        lambda: FeedForward(two(4, 5), three(5, 4)),
        lambda: PredictionHead(two(4, 4), three(1, 4), NormLayer()),
        lambda: Transformer(two(7, 4), [], unembedding=three(4, 7)),
        lambda: sum_of({"a": two(4, 4), "b": three(4, 4)}),
    ):
        with pytest.raises(ShapeError, match="the leading axes do not broadcast"):
            make()
    assert replace(made(alibi=True), embedding=two(SYMBOLS, D)).alibi.shape == (H, 1, 1)  # a slope for each head
    assert replace(first, W_Q=three(H, D, 3), b_O=three(1, D)).W_Q.shape == (3, H, D, 3)


def test_parts_of_a_model_have_the_sizes_of_each_other() -> None:
    block = made().blocks[0]
    for make, message in (
        (lambda: NormLayer("layer", np.ones((1, 3)), np.ones((1, 2))), r"bias: expected the shape \(\.\.\., 1, 3\)"),
        (lambda: NormLayer("layer", np.ones((2, 3))), r"gain: expected the shape \(\.\.\., 1, 3\)"),
        (lambda: AttentionLayer(*[np.ones((4, 4))] * 4), r"W_Q: expected the shape \(\.\.\., heads, rows, columns\)"),
        (lambda: PredictionHead(np.ones((2, 3)), np.ones((1, 2)), NormLayer()), r"b: expected the shape .* 1, 3\)"),
        (lambda: Transformer(np.ones((7, 5)), [block]), r"blocks\[0\]\.W_Q: expected 5 rows, as embedding has columns"),
        (
            lambda: Transformer(np.ones((7, D)), [replace(block, mlp=FeedForward(np.ones((5, 4)), np.ones((4, 5))))]),
            r"blocks\[0\]\.W_in: expected 6 rows, as embedding has columns",
        ),
        (lambda: made().forward(TOKENS[None]), r"tokens: expected integers \(n,\), got shape \(1, 4\)"),
        (lambda: sum_of({"a": np.ones((3, 4)), "b": np.ones((3, 1))}), "parts: expected one width, and one number of"),
        (lambda: sum_of({"a": np.ones((3, 4)), "b": np.ones((2, 4))}), "parts: expected one width, and one number of"),
    ):
        with pytest.raises(ShapeError, match=message):
            make()
    assert PredictionHead(np.ones((5, 2, 3)), np.ones((1, 3)), NormLayer()).b.shape == (1, 3)


def test_what_a_part_is_where_nothing_is_said() -> None:
    x = np.array([[1.0, 3]])
    assert NormLayer()(x).tolist() == [[-1, 1]]
    assert Transformer(np.ones((7, D)), []).causal
    rational = NormLayer(epsilon=RATIONAL.array([[3]]))  # an epsilon says by itself in what numbers it is
    assert rational(RATIONAL.array([[1, 3]])).tolist() == [[Fraction(-1, 2), Fraction(1, 2)]]
    shared = made(**CASES["llama"]).blocks[0].attention
    assert np.array_equal(shared.keys_map, shared.W_K[[0, 0]])


@pytest.mark.parametrize("most", [1, 4, 1 << 53])
def test_a_model_takes_as_many_tokens_as_its_context_holds(most: int) -> None:
    model = replace(made(rotary=HALVES), context=most)
    n = min(most, 4)
    assert model.forward(TOKENS[:n]).final.shape == (n, D)
    if most < 5:
        with pytest.raises(DomainError, match=f"tokens: expected at most {most}, as far as"):
            model.forward(np.array([0, 1, 2, 3, 4]))
    for wrong in (0, 2**53 + 1):
        with pytest.raises(DomainError, match="context: expected a whole number"):
            replace(model, context=wrong)
    learned = made()
    assert learned.forward(np.zeros(9, dtype=int)).final.shape == (9, D)
