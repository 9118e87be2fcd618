"""Every hand-written gradient: exact in balls, close to differences in floats, and no mutant passes.

Upstream gradients are drawn at random: a sum of LayerNorm's outputs, or of their squares, is constant, so a gradient
check with such a loss would compare nothing with nothing.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from flint import arb

from resstream.arithmetic import FLOAT64, Array, Ball, derivative, total_entry
from resstream.induction import gradients, stacks
from resstream.induction.gradients import loss_and_gradient, mean_loss, stream_gradient
from resstream.induction.measurements import StackSettings, random_block
from resstream.induction.settings import Settings
from resstream.induction.stacks import layer_norm_gradient, stack_gradient, stack_loss
from resstream.induction.task import Batch, repeated_blocks, training_blocks
from resstream.induction.training import initial_weights
from resstream.induction.weights import NAMES, model_of, split
from resstream.reference import MLP, AttentionOnlyModel, Block, Head, layer_norm

BALL = Ball(128)
SMALL = Settings(
    symbols=5, width=4, head_width=2, length=5, shortest_period=2, longest_period=3, batch=2, weight_deviation=0.7
)


def units(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Every coordinate direction of an array of balls."""
    for index in np.ndindex(shape):
        direction = BALL.array(np.zeros(shape))
        direction[index] = arb(1)
        yield index, direction


def assert_is_gradient(loss: Callable[[Array], Array], x: Array, gradient: Array) -> None:
    """The gradient equals the exact derivative of the loss (a sum over every axis) along every coordinate."""
    compared = 0
    for index, direction in units(x.shape):
        slope = total_entry(derivative(loss, x, direction)).sum()
        difference = slope - gradient[index]
        assert difference.value.contains(0), f"at {index}: derivative {slope}, gradient {gradient[index]}"
        assert difference.value.rad() < arb(2) ** -60
        compared += 1
    assert compared == gradient.size > 0


def small_model(seed: int = 0, layers: int = 2) -> AttentionOnlyModel:
    """A small model in balls, with biases that are not zero."""
    settings = replace(SMALL, layers=layers)
    draw = np.random.default_rng(seed)
    weights = split(initial_weights(settings), settings)
    for name in ("b_Q", "b_K"):
        weights[name][...] = draw.standard_normal(weights[name].shape)
    return model_of({name: BALL.array(weights[name]) for name in NAMES}, settings)


def balls(random: np.random.Generator, *shape: int) -> Array:
    return BALL.array(random.integers(-16, 17, shape) / 8)


def small_batch() -> Batch:
    return repeated_blocks(np.random.default_rng(1), 2, SMALL)


# ---- the attention-only model -----------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_the_loss_is_its_exact_derivative(name: str) -> None:
    with BALL.working():
        model, batch = small_model(), small_batch()
        _, gradient = loss_and_gradient(model, batch)
        loss = lambda weight: mean_loss(replace(model, **{name: weight}), batch)  # noqa: E731
        assert_is_gradient(loss, getattr(model, name), gradient[name])


def check_stream_gradient(computed: Callable[..., dict[str, Array]], layers: int = 2) -> None:
    """Compare a backward pass with the exact derivative, for a random upstream gradient."""
    with BALL.working():
        random = np.random.default_rng(2)
        model, x0 = small_model(layers=layers), balls(random, 3, 4)
        upstream = balls(random, 3, 4)
        gradient = computed(model, model.run(x0), upstream)
        assert_is_gradient(lambda x: upstream * model.run(x).states[-1], x0, gradient["x0"])
        for name in NAMES[2:]:
            loss = lambda weight, name=name: upstream * replace(model, **{name: weight}).run(x0).states[-1]  # noqa: E731
            assert_is_gradient(loss, getattr(model, name), gradient[name])


@pytest.mark.parametrize("layers", [1, 2])
def test_the_backward_pass_is_right_for_any_upstream_gradient(layers: int) -> None:
    check_stream_gradient(stream_gradient, layers)


def test_the_loss_of_the_gradient_is_the_loss() -> None:
    with BALL.working():
        model, batch = small_model(), small_batch()
        assert loss_and_gradient(model, batch)[0].item().value.overlaps(mean_loss(model, batch).item().value)


def test_the_gradient_agrees_with_differences_at_full_size() -> None:
    # The rounding of two losses of 6 nats, each some 6 eps, over 2 h; h^2 times a third derivative is less at h = 1e-5.
    settings = Settings()
    random = np.random.default_rng(3)
    weights = split(initial_weights(settings), settings)
    for name in ("b_Q", "b_K"):
        weights[name][...] = 0.1 * random.standard_normal(weights[name].shape)
    model, batch, h = model_of(weights, settings), training_blocks(settings, 0), 1e-5
    _, gradient = loss_and_gradient(model, batch)
    allowed = 4 * 6 * float(np.finfo(float).eps) / h
    for name in NAMES:
        weight = weights[name]
        for index in zip(*(random.integers(size, size=4) for size in weight.shape), strict=True):
            before = weight[index]
            losses = []
            for moved in (before + h, before - h):
                weight[index] = moved
                losses.append(mean_loss(model, batch).item())
            weight[index] = before
            assert abs((losses[0] - losses[1]) / (2 * h) - gradient[name][index]) <= allowed
        assert np.abs(gradient[name]).max() > 1e5 * allowed  # so the comparison is one of five digits


# ---- mutants ----------------------------------------------------------------


def mutant(module: ModuleType, name: str, old: str, new: str) -> Any:
    """The function `name` of a module with one piece of its source replaced (which must be there exactly once)."""
    source = inspect.getsource(getattr(module, name))
    assert source.count(old) == 1, f"{name} holds {old!r} {source.count(old)} times"
    namespace = dict(vars(module))
    exec(
        compile("from __future__ import annotations\n" + source.replace(old, new), module.__file__ or "", "exec"),
        namespace,
    )
    return namespace[name]


MODEL_MUTANTS = [
    ("a factor", "trace.keys[layer] / scale", "trace.keys[layer]"),
    ("a sign", "dx = dx + total(", "dx = dx - total("),
    ("a transposed pattern", "A.mT @ d_read", "A @ d_read"),
    ("transposed scores", "d_scores.mT @ trace.queries", "d_scores @ trace.queries"),
    ("rotation not undone", "turned.inverse()", "turned"),
    ("rotation left out", "if back is not None", "if back is None"),
    ("no mean in the softmax", " - total(d_read * read)", ""),
    ("no pattern in the softmax", "d_scores = A * (", "d_scores = 1 * ("),
    ("no term through the values", " + d_values @ W_V.mT", ""),
    ("no term through the keys", " + d_keys @ W_K.mT", ""),
    ("a bias at one position", "total(d_keys, -2)", "d_keys[..., :1, :]"),
]


@pytest.mark.parametrize(("old", "new"), [pytest.param(*pair, id=name) for name, *pair in MODEL_MUTANTS])
def test_a_wrong_backward_pass_of_the_model_is_caught(old: str, new: str) -> None:
    faulty = mutant(gradients, "stream_gradient", old, new)
    with pytest.raises(AssertionError, match="derivative"):
        check_stream_gradient(faulty)


# ---- LayerNorm --------------------------------------------------------------


def check_layer_norm_gradient(computed: Callable[..., tuple[Array, Array, Array]]) -> None:
    with BALL.working():
        random = np.random.default_rng(4)
        x, gain, bias = balls(random, 2, 4), balls(random, 1, 4), balls(random, 1, 4)
        g = balls(random, 2, 4)
        dx, d_gain, d_bias = computed(x, g, gain, arb(1) / 8)
        assert_is_gradient(lambda x: g * layer_norm(x, gain, bias, arb(1) / 8), x, dx)
        assert_is_gradient(lambda gain: g * layer_norm(x, gain, bias, arb(1) / 8), gain, d_gain)
        assert_is_gradient(lambda bias: g * layer_norm(x, gain, bias, arb(1) / 8), bias, d_bias)


def test_the_gradient_of_layer_norm_is_its_exact_derivative() -> None:
    check_layer_norm_gradient(layer_norm_gradient)


NORM_MUTANTS = [
    ("no mean", "(g - mean(g) - ", "(g - "),
    ("no radial term", " - normalised * mean(g * normalised)", ""),
    ("a sign", "g - mean(g) - normalised", "g - mean(g) + normalised"),
    ("the variance for its root", ") / scale\n    return", ") / scale**2\n    return"),
    ("no gain", "upstream * gain", "upstream"),
    ("no epsilon", " + epsilon", ""),
    ("the gain's gradient without the input", "upstream * normalised, -2", "upstream, -2"),
]


@pytest.mark.parametrize(("old", "new"), [pytest.param(*pair, id=name) for name, *pair in NORM_MUTANTS])
def test_a_wrong_gradient_of_layer_norm_is_caught(old: str, new: str) -> None:
    faulty = mutant(stacks, "layer_norm_gradient", old, new)
    with pytest.raises(AssertionError, match="derivative"):
        check_layer_norm_gradient(faulty)


def test_an_upstream_gradient_of_ones_would_catch_nothing() -> None:
    x, ones = np.array([[1.0, 2, 4, -3]]), np.ones((1, 4))
    faulty = mutant(stacks, "layer_norm_gradient", " - normalised * mean(g * normalised)", "")
    assert np.abs(faulty(x, ones)[0]).max() <= 4 * np.finfo(float).eps
    g = np.array([[1.0, 2, -1, 0.5]])
    right = [0.14708710, 0.58457694, -0.50160473, -0.23005931]
    assert np.abs(layer_norm_gradient(x, g)[0] - right).max() < 5e-9
    assert np.abs(faulty(x, g)[0] - right).max() > 0.1


# ---- stacks -----------------------------------------------------------------


def small_blocks(random: np.random.Generator, count: int = 2) -> list[Block]:
    d, w, h = 4, 3, 2
    return [
        Block(
            [
                Head(balls(random, d, h), balls(random, d, h), balls(random, d, h), balls(random, h, d))
                for _ in range(2)
            ],
            MLP(balls(random, d, w), balls(random, 1, w), balls(random, w, d), balls(random, 1, d)),
        )
        for _ in range(count)
    ]


def check_stack_gradient(module: Any, placement: stacks.Placement) -> None:
    with BALL.working():
        random = np.random.default_rng(5)
        x0, blocks, readout = balls(random, 3, 4), small_blocks(random), balls(random, 3, 4)
        found = module.stack_gradient(x0, blocks, readout, placement)
        assert_is_gradient(lambda x: stack_loss(x, blocks, readout, placement), x0, found.x0)
        for k, block in enumerate(blocks):
            for name in [field.name for field in fields(MLP)]:

                def with_mlp(weight: Array, k: int = k, block: Block = block, name: str = name) -> Array:
                    moved = Block(block.heads, replace(block.mlp, **{name: weight}))
                    return stack_loss(x0, [*blocks[:k], moved, *blocks[k + 1 :]], readout, placement)

                assert_is_gradient(with_mlp, getattr(block.mlp, name), getattr(found.blocks[k].mlp, name))
            for h, head in enumerate(block.heads):
                for name in ("W_Q", "W_K", "W_V", "W_O"):

                    def with_head(
                        weight: Array, k: int = k, h: int = h, block: Block = block, head: Head = head, name: str = name
                    ) -> Array:
                        heads = [*block.heads[:h], replace(head, **{name: weight}), *block.heads[h + 1 :]]
                        moved = Block(heads, block.mlp)
                        return stack_loss(x0, [*blocks[:k], moved, *blocks[k + 1 :]], readout, placement)

                    assert_is_gradient(with_head, getattr(head, name), getattr(found.blocks[k].heads[h], name))


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_the_gradient_of_a_stack_is_its_exact_derivative(placement: stacks.Placement) -> None:
    check_stack_gradient(stacks, placement)


STACK_MUTANTS = [
    ("pre", "mlp_gradient", "before > 0", "before > -100", "the gate left open"),
    ("pre", "mlp_gradient", "x.mT @ d_before", "x.mT @ relu(before)", "another matrix"),
    ("pre", "attention_gradient", "dX = dX + d_Q", "dX = dX - d_Q", "a sign"),
    ("pre", "attention_gradient", " + d_K @ head.W_K.mT", "", "no term through the keys"),
    ("pre", "attention_gradient", "A.mT @ d_read", "A @ d_read", "a transposed pattern"),
    ("pre", "block_gradient", "d_middle = upstream + ", "d_middle = ", "no identity around the MLP"),
    ("pre", "block_gradient", "return d_middle + layer_norm", "return layer_norm", "no identity around attention"),
    ("post", "block_gradient", "return d_attended + dX", "return dX", "no identity around attention"),
    ("post", "block_gradient", "d_sum + d_fed", "d_fed", "no identity around the MLP"),
    ("pre", "stack_gradient", "readout / readout.shape[-2]", "readout", "a sum for a mean"),
]


@pytest.mark.parametrize(
    ("placement", "name", "old", "new"), [pytest.param(*m[:4], id=f"{m[0]}-{m[1]}-{m[4]}") for m in STACK_MUTANTS]
)
def test_a_wrong_gradient_of_a_stack_is_caught(
    placement: stacks.Placement, name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, name, mutant(stacks, name, old, new))
    with pytest.raises(AssertionError, match="derivative"):
        check_stack_gradient(stacks, placement)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_the_gradient_of_a_stack_agrees_with_differences_at_full_size(placement: stacks.Placement) -> None:
    # The loss is a mean of inner products of 64 terms, of size 8: some 64 eps each way, over 2 h; h^2 times a third
    # derivative is less.
    random, settings, h = np.random.default_rng(8), StackSettings(draws=1), 1e-5
    blocks = [random_block(random, settings) for _ in range(3)]
    x0, readout = random.standard_normal((1, 8, 64)), random.standard_normal((1, 8, 64))
    found = stack_gradient(x0, blocks, readout, placement)
    allowed = 64 * float(np.finfo(float).eps) / h
    pairs = [(x0, found.x0)]
    for block, gradient in zip(blocks, found.blocks, strict=True):
        pairs += [(getattr(block.mlp, f.name), getattr(gradient.mlp, f.name)) for f in fields(MLP)]
        for head, d_head in zip(block.heads, gradient.heads, strict=True):
            pairs += [(getattr(head, name), getattr(d_head, name)) for name in ("W_Q", "W_K", "W_V", "W_O")]
    for x, gradient in pairs:
        index = tuple(int(random.integers(size)) for size in x.shape)
        before, losses = x[index], []
        for moved in (before + h, before - h):
            x[index] = moved
            losses.append(stack_loss(x0, blocks, readout, placement).item())
        x[index] = before
        assert abs((losses[0] - losses[1]) / (2 * h) - gradient[index]) <= allowed
        assert np.abs(gradient).max() > 1e5 * allowed


def test_a_batch_of_draws_is_the_stack_of_its_members() -> None:
    random = np.random.default_rng(6)
    draw = lambda *shape: random.standard_normal((3, *shape))  # noqa: E731
    blocks = [
        Block(
            [Head(draw(4, 2), draw(4, 2), draw(4, 2), draw(2, 4))], MLP(draw(4, 5), draw(1, 5), draw(5, 4), draw(1, 4))
        )
    ]
    x0, readout = draw(3, 4), draw(3, 4)
    with FLOAT64.working():
        batch = stack_gradient(x0, blocks, readout, "pre")
    for k in range(3):
        one = [
            Block(
                [replace(head, **{f.name: getattr(head, f.name)[k] for f in fields(Head)[:4]}) for head in block.heads],
                MLP(*(getattr(block.mlp, f.name)[k] for f in fields(MLP))),
            )
            for block in blocks
        ]
        single = stack_gradient(x0[k], one, readout[k], "pre")
        # The same sums in another order, on numbers of the size of the gradient's largest entry.
        scale = np.abs(single.blocks[0].mlp.W_2).max()
        assert np.abs(batch.blocks[0].mlp.W_2[k] - single.blocks[0].mlp.W_2).max() <= 1e-12 * scale
