"""The MLP, its key-value form and the two blocks, against Definition 1 written out in scalars."""

from collections.abc import Callable

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from resstream.arithmetic import RATIONAL, Array, Ball, exact, relu, square, total
from resstream.errors import DomainError, ShapeError
from resstream.reference import (
    MLP,
    Block,
    Head,
    causal_mask,
    layer_norm,
    mlp,
    mlp_key_values,
    multi_head_attention,
    plain_stack,
    post_ln_block,
    pre_ln_block,
    pre_ln_sublayers,
    residual_stack,
    rms_norm,
    sublayers,
)

BALL = Ball(192)
ENTRIES = st.integers(-16, 16).map(lambda k: k / 8)

# A quarter of the profile's examples: each draws a hundred numbers or more, and judges them twice.
FEWER = settings(max_examples=settings.default.max_examples // 4)


def matrices(rows: int, columns: int, *batch: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (*batch, rows, columns), elements=ENTRIES, fill=st.nothing())


# ---- the MLP ----------------------------------------------------------------


@FEWER
@given(x=matrices(3, 5, 2), W_1=matrices(5, 7), b_1=matrices(1, 7), W_2=matrices(7, 5), b_2=matrices(1, 5))
def test_the_mlp_is_rounding_away_from_the_ball_and_from_its_key_value_form(
    x: Array, W_1: Array, b_1: Array, W_2: Array, b_2: Array, assert_rounding_only: Callable
) -> None:
    for form in (mlp, mlp_key_values):
        assert_rounding_only(lambda x, *weights, form=form: form(x, MLP(*weights)), x, W_1, b_1, W_2, b_2)
    exactly = MLP(*(RATIONAL.array(W) for W in (W_1, b_1, W_2, b_2)))
    assert (mlp(RATIONAL.array(x), exactly) == mlp_key_values(RATIONAL.array(x), exactly)).all()


def assert_gates_are_rectified(implementation: Callable[[Array, MLP], Array]) -> None:
    """One neuron on, one off, one at the kink, and a bias on either side."""
    weights = MLP(*(RATIONAL.array(W) for W in ([[1, -1, 2]], [[0, 0, -4]], [[1, 10], [2, 20], [3, 30]], [[5, -5]])))
    expected = RATIONAL.array([[7, 15], [5, -5], [7, 15]])
    assert (implementation(RATIONAL.array([[2], [0], [-1]]), weights) == expected).all(), "the gates are wrong"


def test_gates_are_rectified() -> None:
    assert_gates_are_rectified(mlp)
    assert_gates_are_rectified(mlp_key_values)


@pytest.mark.parametrize(
    "fault",
    [
        lambda x, w: (x @ w.W_1 + w.b_1) @ w.W_2 + w.b_2,
        lambda x, w: relu(x @ w.W_1) @ w.W_2 + w.b_2,
        lambda x, w: relu(x @ w.W_1 + w.b_1) @ w.W_2,
        lambda x, w: relu((x @ w.W_1 + w.b_1) @ w.W_2 + w.b_2),
    ],
    ids=["no ReLU", "no inner bias", "no outer bias", "ReLU at the end"],
)
def test_faults_in_the_mlp_are_caught(fault: Callable[[Array, MLP], Array]) -> None:
    with pytest.raises(AssertionError, match="the gates are wrong"):
        assert_gates_are_rectified(fault)


# ---- blocks, against scalars ------------------------------------------------


def small_block(seed: int) -> tuple[Block, Array]:
    """Three tokens of width 5, two heads of widths 2 and 3, an MLP of width 7, in balls."""
    rng = np.random.default_rng(seed)

    def draw(rows: int, columns: int) -> Array:
        return BALL.array(rng.integers(-8, 9, (rows, columns)) / 8)

    heads = [Head(*(draw(5, h) for _ in range(3)), draw(h, 5), draw(1, h), draw(1, h)) for h in (2, 3)]
    return Block(heads, MLP(draw(5, 7), draw(1, 7), draw(7, 5), draw(1, 5))), draw(3, 5)


def plain(X: Array) -> list[list[arb]]:
    """The balls behind the entries: what follows is written with nothing but FLINT's numbers."""
    return [[entry.value for entry in row] for row in X]


def scalar_product(x: list[arb], W: Array) -> list[arb]:
    return [sum((x[i] * W[i, j].value for i in range(len(x))), arb(0)) for j in range(W.shape[1])]


def scalar_norm(x: list[arb]) -> list[arb]:
    mean = sum(x, arb(0)) / len(x)
    deviation = (sum(((entry - mean) ** 2 for entry in x), arb(0)) / len(x)).sqrt()
    return [(entry - mean) / deviation for entry in x]


def scalar_attention(X: list[list[arb]], heads: list[Head]) -> list[list[arb]]:
    out = []
    for i in range(len(X)):
        written = [arb(0)] * len(X[0])
        for head in heads:
            width = head.W_Q.shape[1]
            q = [a + b for a, b in zip(scalar_product(X[i], head.W_Q), plain(head.b_Q)[0], strict=True)]
            weights = []
            for j in range(i + 1):
                k = [a + b for a, b in zip(scalar_product(X[j], head.W_K), plain(head.b_K)[0], strict=True)]
                weights.append((sum((a * b for a, b in zip(q, k, strict=True)), arb(0)) / arb(width).sqrt()).exp())
            values = [scalar_product(X[j], head.W_V @ head.W_O) for j in range(i + 1)]
            for c in range(len(written)):
                written[c] += sum((w * v[c] for w, v in zip(weights, values, strict=True)), arb(0)) / sum(
                    weights, arb(0)
                )
        out.append(written)
    return out


def scalar_mlp(X: list[list[arb]], weights: MLP) -> list[list[arb]]:
    out = []
    for x in X:
        inner = [
            (a + b).max(arb(0)) for a, b in zip(scalar_product(x, weights.W_1), plain(weights.b_1)[0], strict=True)
        ]
        out.append([a + b for a, b in zip(scalar_product(inner, weights.W_2), plain(weights.b_2)[0], strict=True)])
    return out


def scalar_sum(X: list[list[arb]], Y: list[list[arb]]) -> list[list[arb]]:
    return [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(X, Y, strict=True)]


Step = Callable[..., Array]


def assert_is_pre_ln(implementation: Step, assert_same_balls: Callable) -> None:
    with BALL.working():
        for seed in range(3):
            block, X = small_block(seed)
            stream = plain(X)
            stream = scalar_sum(stream, scalar_attention([scalar_norm(x) for x in stream], list(block.heads)))
            stream = scalar_sum(stream, scalar_mlp([scalar_norm(x) for x in stream], block.mlp))
            assert_same_balls(implementation(X, block, causal_mask(3)), BALL.array(stream))


def assert_is_post_ln(implementation: Step, assert_same_balls: Callable) -> None:
    with BALL.working():
        for seed in range(3):
            block, X = small_block(seed)
            stream = plain(X)
            stream = [scalar_norm(x) for x in scalar_sum(stream, scalar_attention(stream, list(block.heads)))]
            stream = [scalar_norm(x) for x in scalar_sum(stream, scalar_mlp(stream, block.mlp))]
            assert_same_balls(implementation(X, block, causal_mask(3)), BALL.array(stream))


def test_the_blocks_are_definition_1(assert_same_balls: Callable) -> None:
    assert_is_pre_ln(pre_ln_block, assert_same_balls)
    assert_is_post_ln(post_ln_block, assert_same_balls)


def parallel_block(X: Array, block: Block, mask: Array) -> Array:
    return X + multi_head_attention(layer_norm(X), block.heads, mask) + mlp(layer_norm(X), block.mlp)


def double_counting_block(X: Array, block: Block, mask: Array) -> Array:
    written = X + multi_head_attention(layer_norm(X), block.heads, mask)  # already contains the stream
    X = X + written
    return X + mlp(layer_norm(X), block.mlp)


def normed_skip_block(X: Array, block: Block, mask: Array) -> Array:
    X = layer_norm(X)
    X = layer_norm(X + multi_head_attention(X, block.heads, mask))
    return X + mlp(X, block.mlp)


@pytest.mark.parametrize("fault", [parallel_block, double_counting_block, normed_skip_block, post_ln_block])
def test_other_blocks_are_told_from_pre_ln(fault: Step, assert_same_balls: Callable) -> None:
    with pytest.raises(AssertionError, match="excludes zero"):
        assert_is_pre_ln(fault, assert_same_balls)


@pytest.mark.parametrize("fault", [parallel_block, double_counting_block, normed_skip_block, pre_ln_block])
def test_other_blocks_are_told_from_post_ln(fault: Step, assert_same_balls: Callable) -> None:
    with pytest.raises(AssertionError, match="excludes zero"):
        assert_is_post_ln(fault, assert_same_balls)


def test_blocks_as_stacks_of_their_sublayers(assert_same_balls: Callable) -> None:
    with BALL.working():
        block, X = small_block(3)
        mask = causal_mask(3)
        states, writes = residual_stack(pre_ln_sublayers(block, mask), X)
        assert_same_balls(states[-1], pre_ln_block(X, block, mask))
        assert_same_balls(X + writes[0] + writes[1], states[-1])
        attend, feed = sublayers(block, mask)
        after = [lambda x, f=f: layer_norm(x + f(x)) for f in (attend, feed)]
        assert_same_balls(plain_stack(after, X)[-1], post_ln_block(X, block, mask))


def test_a_block_takes_another_norm(assert_same_balls: Callable) -> None:
    with BALL.working():
        block, X = small_block(4)
        by_rms = post_ln_block(X, block, norm=lambda x: rms_norm(x, epsilon=exact(1, 2**20)))
        assert all(abs(entry - 5) < arb(2) ** -10 for entry in total(square(by_rms)).flat)
        by_layer_norm = post_ln_block(X, block)
        assert_same_balls(total(by_layer_norm), BALL.array(np.zeros((3, 1))))
        assert_same_balls(total(square(by_layer_norm)), BALL.array(np.full((3, 1), 5)))


@FEWER
@given(X=matrices(3, 5, 2), data=st.data())
def test_a_block_is_rounding_away_from_the_ball(X: Array, data: st.DataObject, assert_rounding_only: Callable) -> None:
    shapes = [(5, 2), (5, 2), (5, 3), (3, 5), (5, 7), (1, 7), (7, 5), (1, 5)]

    def step(x: Array, *maps: Array) -> Array:
        # Positive epsilon: the norm is smooth everywhere, so that rounding stays rounding.
        block = Block([Head(*maps[:4])], MLP(*maps[4:]))
        return pre_ln_block(x, block, causal_mask(3), lambda z: rms_norm(z, epsilon=exact(1)))

    assert_rounding_only(step, X, *(data.draw(matrices(*shape)) for shape in shapes))


def test_an_mlp_in_a_batch_is_a_batch_of_mlps() -> None:
    """Leading axes of the weights, of the stream, or of both, and what they are kept as."""
    rng = np.random.default_rng(0)
    shapes = ((2, 3, 4), (2, 1, 4), (2, 4, 5), (2, 1, 5))
    weights = MLP(*(rng.standard_normal(shape).astype(np.float32) for shape in shapes))
    assert {W.dtype for W in (weights.W_1, weights.b_1, weights.W_2, weights.b_2)} == {np.dtype(np.float64)}
    x = rng.standard_normal((2, 6, 3))
    for form in (mlp, mlp_key_values):
        assert form(x, weights).shape == (2, 6, 5)
        for k in range(2):
            alone = MLP(weights.W_1[k], weights.b_1[k], weights.W_2[k], weights.b_2[k])
            assert np.abs(form(x, weights)[k] - form(x[k], alone)).max() < 1e-14  # a few roundings of sums below 20
            assert np.abs(form(x[0], weights)[k] - form(x[0], alone)).max() < 1e-14
        with pytest.raises(ShapeError, match="x"):
            form(rng.standard_normal((3, 6, 3)), weights)
    with pytest.raises(ShapeError, match="W_1"):
        MLP(weights.W_1, np.zeros((3, 1, 4)), weights.W_2, weights.b_2)


def test_what_is_no_block_of_the_stream_is_refused_by_name() -> None:
    d = 3
    head = Head(*(np.ones((d, 2)),) * 3, np.ones((2, d)))
    mlp_of = lambda out: MLP(np.ones((d, 4)), np.ones((1, 4)), np.ones((4, out)), np.ones((1, out)))  # noqa: E731
    X, block = np.eye(d), Block([head], mlp_of(d))
    with pytest.raises(ShapeError, match="heads: expected at least one head, got none"):
        Block([], mlp_of(d))
    for function in (pre_ln_block, post_ln_block):
        with pytest.raises(ShapeError, match=r"mlp.W_2: expected 3 columns, as X has, got shape \(4, 1\)"):
            function(X, Block([head], mlp_of(1)))
        batch = MLP(*(np.stack([W] * 2) for W in (np.ones((d, 4)), np.ones((1, 4)), np.ones((4, d)), np.ones((1, d)))))
        with pytest.raises(ShapeError, match=r"the leading axes do not broadcast: X \(5, 3, 3\), W_1 \(2, 3, 4\)"):
            function(np.stack([X] * 5), Block([head], batch))
        with pytest.raises(DomainError, match="norm: expected a function"):
            function(X, block, norm=None)
    for function in (sublayers, pre_ln_sublayers):
        with pytest.raises(DomainError, match="block: expected a Block, got MLP"):
            function(mlp_of(d))
    with pytest.raises(DomainError, match="norm: expected a function"):
        pre_ln_sublayers(block, norm=2)
