"""Residual stacks in exact rationals: states and writes, the product, the sum over subsets, and the way back."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resstream.arithmetic import RATIONAL, Array, Ball, eye, jacobian, square
from resstream.errors import ShapeError
from resstream.reference import (
    backward_recursion,
    identity_path_product,
    layer_norm,
    layer_norm_jacobian,
    plain_stack,
    residual_stack,
    stack_jacobians,
    subset_sum,
)

BALL = Ball(192)
CELLS = st.integers(-3, 3)

# A quarter of the profile's examples: each draws a hundred numbers or more, and judges them twice.
FEWER = settings(max_examples=settings.default.max_examples // 4)


def rationals(rows: int, columns: int) -> st.SearchStrategy[Array]:
    cells = st.lists(CELLS, min_size=rows * columns, max_size=rows * columns)
    return cells.map(lambda values: RATIONAL.array(values).reshape(rows, columns))


def jacobians() -> st.SearchStrategy[list[Array]]:
    return st.lists(rationals(3, 3), min_size=1, max_size=4)


def quadratic(W: Array, V: Array) -> Callable[[Array], Array]:
    """A layer whose Jacobian depends on where it is taken: x -> x W + (x*x) V."""
    return lambda x: x @ W + square(x) @ V


LAYERS = st.lists(st.builds(quadratic, rationals(3, 3), rationals(3, 3)), min_size=1, max_size=3)


# ---- the stream -------------------------------------------------------------


@given(layers=LAYERS, x=rationals(1, 3))
def test_the_stream_is_the_running_sum_of_its_writes(layers: list[Callable], x: Array) -> None:
    states, writes = residual_stack(layers, x)
    assert len(states) == len(writes) + 1 == len(layers) + 1
    for k, layer in enumerate(layers):
        assert (writes[k] == layer(states[k])).all()
        assert (states[k + 1] == states[k] + writes[k]).all()
    assert (states[-1] == x + sum(writes, start=0 * x)).all()
    plain = plain_stack(layers, x)
    assert all((plain[k + 1] == layer(plain[k])).all() for k, layer in enumerate(layers))


def test_a_stack_of_no_layers_is_its_input() -> None:
    x = RATIONAL.array([[1, 2, 5]])
    states, writes = residual_stack([], x)
    assert len(states) == 1
    assert states[0] is x
    assert writes == []
    assert plain_stack([], x) == [x]
    assert stack_jacobians([], x) == []


def test_what_contains_the_stream_is_counted_twice() -> None:
    # A sublayer that adds the stream itself is no contribution: pre + attention = mid, mid + mlp = post fail.
    x, a, m = (RATIONAL.array([row]) for row in ([1, 2], ["1/2", -1], [2, 1]))
    states, _ = residual_stack([lambda _: a, lambda _: m], x)
    assert (states[-1] == x + a + m).all()
    doubled, _ = residual_stack([lambda s: s + a, lambda s: s + m], x)
    assert (doubled[-1] == 4 * x + 2 * a + m).all()


# ---- Jacobians --------------------------------------------------------------


@given(layers=LAYERS, x=rationals(1, 3))
def test_the_product_is_the_jacobian_of_the_stack(layers: list[Callable], x: Array) -> None:
    Js = stack_jacobians(layers, x)
    whole = jacobian(lambda z: residual_stack(layers, z)[0][-1], x)
    assert (identity_path_product(Js) == whole).all()
    assert (subset_sum(Js) == whole).all()
    plain = [jacobian(layer, state) for layer, state in zip(layers, plain_stack(layers, x)[:-1], strict=True)]
    gradients = backward_recursion(RATIONAL.array([[1, -2, 3]]), plain, residual=False)
    whole = jacobian(lambda z: plain_stack(layers, z)[-1], x)
    assert (gradients[0] == RATIONAL.array([[1, -2, 3]]) @ whole.mT).all()


Form = Callable[[Sequence[Array]], Array]

UPPER = [RATIONAL.array(J) for J in ([[0, 1], [0, 0]], [[0, 0], [1, 0]], [[1, 0], [0, 2]])]


def assert_is_the_product(implementation: Form) -> None:
    """On matrices that do not commute, at depths 1 to 3, and with equal ones."""
    for Js in (UPPER[:1], UPPER[:2], UPPER, UPPER[::-1], [UPPER[0]] * 3, [UPPER[2]] * 3):
        assert (implementation(Js) == identity_path_product(Js)).all(), "the sum over subsets is not the product"


def test_the_sum_over_subsets_is_the_product() -> None:
    assert_is_the_product(subset_sum)


def by_subsets(ordered: Callable[[tuple], Sequence], empty: bool = True, longest: int = 9) -> Form:
    def implementation(Js: Sequence[Array]) -> Array:
        result = eye(2, Js[0]) * (1 if empty else 0)
        for size in range(1, min(longest, len(Js)) + 1):
            for subset in combinations(Js, size):
                term = eye(2, Js[0])
                for J in ordered(subset):
                    term = term @ J
                result = result + term
        return result

    return implementation


def test_the_planted_sum_without_a_fault_passes() -> None:
    assert_is_the_product(by_subsets(tuple))


@pytest.mark.parametrize(
    "fault",
    [
        by_subsets(lambda subset: subset[::-1]),
        by_subsets(tuple, empty=False),
        by_subsets(tuple, longest=1),
        by_subsets(tuple, longest=2),
    ],
    ids=["wrong order", "no empty subset", "single layers only", "pairs at most"],
)
def test_faults_in_the_sum_over_subsets_are_caught(fault: Form) -> None:
    with pytest.raises(AssertionError, match="the sum over subsets is not the product"):
        assert_is_the_product(fault)


@given(Js=jacobians())
def test_all_three_forms_agree(Js: list[Array]) -> None:
    product = identity_path_product(Js)
    assert (subset_sum(Js) == product).all()
    g = RATIONAL.array([[1, 10, 100]])
    gradients = backward_recursion(g, Js)
    assert len(gradients) == len(Js) + 1
    assert (gradients[-1] == g).all()
    for k, J in enumerate(Js):
        assert (gradients[k] == gradients[k + 1] + gradients[k + 1] @ J.mT).all()
    assert (gradients[0] == g @ product.mT).all()


def test_the_order_is_the_row_conventions() -> None:
    J, K = UPPER[:2]
    assert (identity_path_product([J, K]) == eye(2, J) + J + K + J @ K).all()
    assert (identity_path_product([K, J]) != identity_path_product([J, K])).any()


@FEWER
@given(data=st.data())
def test_floats_and_batches_lie_by_the_ball(data: st.DataObject, assert_rounding_only: Callable) -> None:
    draws = [data.draw(st.lists(rationals(3, 3), min_size=2, max_size=2)) for _ in range(3)]
    stacks = [np.array([[[float(e.value.p) / 7 for e in row] for row in J] for J in draw]) for draw in draws]
    assert_rounding_only(lambda *Js: identity_path_product(Js), *stacks)
    assert_rounding_only(lambda *Js: subset_sum(Js), *stacks)
    assert_rounding_only(lambda *Js: backward_recursion(Js[0][..., :1, :], Js)[0], *stacks)


def test_jacobians_of_normalised_layers_have_the_norms_factor(assert_same_balls: Callable) -> None:
    # Theorem 2 (ii) and (iii): F(LN x) has the Jacobian J_LN J_F, and a post-LN step (I + J_F) J_LN.
    with BALL.working():
        W, x = BALL.array([[1, 2, 0], [0, -1, 3], [2, 0, 1]]), BALL.array([[1, 4, -2]])
        (J,) = stack_jacobians([lambda z: square(layer_norm(z)) @ W], x)
        F = jacobian(lambda z: square(z) @ W, layer_norm(x))
        assert_same_balls(J, layer_norm_jacobian(x) @ F)
        F = jacobian(lambda z: square(z) @ W, x)
        post = jacobian(lambda z: layer_norm(z + square(z) @ W), x)
        assert_same_balls(post, identity_path_product([F]) @ layer_norm_jacobian(x + square(x) @ W))


def test_the_gradient_fits_the_jacobians() -> None:
    with pytest.raises(ShapeError, match=r"g: expected 2 columns, as Js\[0\] has, got shape \(1, 3\)"):
        backward_recursion(RATIONAL.array([[1, 2, 3]]), UPPER)


def test_a_plain_stack_is_its_functions_one_after_the_other() -> None:
    x = np.array([[1.0, 2.0]])
    states = plain_stack([lambda x: 2 * x, lambda x: x + 1, lambda x: x * x], x)
    assert [state.tolist() for state in states] == [[[1, 2]], [[2, 4]], [[3, 5]], [[9, 25]]]
    with pytest.raises(ShapeError, match=r"functions\[1\]: expected a result of the shape \(1, 2\) of its input"):
        plain_stack([lambda x: x, lambda x: x[:, :1]], x)


def test_jacobians_may_have_leading_axes_and_are_of_one_size() -> None:
    Js = list(np.random.default_rng(0).standard_normal((3, 2, 5, 4, 4)))
    product, summed = identity_path_product(Js), subset_sum(Js)
    assert product.shape == summed.shape == (2, 5, 4, 4)
    assert np.abs(product - summed).max() <= 1e-12 * np.abs(product).max()
    g = np.ones((1, 4))
    gradients = backward_recursion(g, Js)
    assert np.abs(gradients[0] - g @ product.mT).max() <= 1e-12 * np.abs(gradients[0]).max()
    assert [gradient.shape for gradient in gradients] == [(2, 5, 1, 4)] * 3 + [(1, 4)]
    for function in (identity_path_product, subset_sum, lambda Js: backward_recursion(g, Js)):
        with pytest.raises(ShapeError, match=r"Js\[1\]: expected 4 columns, as Js\[0\] has, got shape \(3, 3\)"):
            function([np.eye(4), np.eye(3)])
        with pytest.raises(ShapeError, match=r"Js\[0\]: expected as many rows as columns"):
            function([np.ones((4, 3))])
