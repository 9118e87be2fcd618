"""The identity path through a residual stack: its Jacobian and gradients, where LayerNorm sits, highway gates.

Sublayers are stand-ins with any weights, smooth and nonlinear, that rationals can hold (a square of a linear map plus a
linear map), and attention itself.
"""

from itertools import combinations

import numpy as np

from resstream.arithmetic import eye, jacobian, ones, square, tanh, total, where
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.claims.models import add
from resstream.claims.sources import PAGE, TEXTBOOK
from resstream.domains import (
    Count,
    Heads,
    Matrix,
    NonNegative,
    NonZero,
    Norm,
    Stack,
    Vector,
)
from resstream.reference import (
    backward_recursion,
    causal_mask,
    identity_path_product,
    layer_norm_jacobian,
    multi_head_attention,
    operator_norm,
    plain_stack,
    residual_stack,
    row_norms,
    stack_jacobians,
    subset_sum,
)


def smooth_layers(As, Bs):
    """Sublayers x -> (x A)^2 + x B, squared entry by entry: nonlinear, with derivatives, exact in rationals."""
    return [lambda x, A=A, B=B: square(x @ A) + x @ B for A, B in zip(As, Bs, strict=True)]


def final_state(functions):
    """The map from x_0 to x_L of a residual stack."""
    return lambda x: residual_stack(functions, x)[0][-1]


# ---- the identity path ------------------------------------------------------

SMOOTH_STACK = {"x": Vector("d"), "As": Stack("L", Matrix("d", "d")), "Bs": Stack("L", Matrix("d", "d"))}
JACOBIANS = {"Js": Stack("L", Matrix("d", "d"))}


@claim(
    "identity_path.product",
    over=SMOOTH_STACK,
    sizes={"L": range(1, 4), "d": range(1, 4)},
    source=f"{PAGE}, Theorem 2 (i); {TEXTBOOK}, Gradients ride the identity",
)
def identity_path_is_product(x, As, Bs):
    """The Jacobian of a residual stack is the product of I + J_k, each J_k taken where the forward pass visits layer k.

    In the row convention the factors stand in layer order, from left to right.
    """
    functions = smooth_layers(As, Bs)
    return equal(jacobian(final_state(functions), x), identity_path_product(stack_jacobians(functions, x)))


@claim(
    "identity_path.reversed_product",
    over=SMOOTH_STACK,
    sizes={"L": range(2, 4), "d": range(2, 4)},
    source=f"{PAGE}, Theorem 2 (i), with the order of the factors of the other convention",
    expect="fails",
)
def identity_path_reversed_product(x, As, Bs):
    """A mixture of conventions, and false: the factors I + J_k in the order of the column convention, J_k in that of
    rows.
    """
    functions = smooth_layers(As, Bs)
    return equal(jacobian(final_state(functions), x), identity_path_product(stack_jacobians(functions, x)[::-1]))


@claim(
    "identity_path.jacobians_at_the_input",
    over=SMOOTH_STACK,
    sizes={"L": range(2, 4), "d": range(1, 4)},
    source="a tempting misreading of Theorem 2 (i)",
    expect="fails",
)
def identity_path_jacobians_at_the_input(x, As, Bs):
    """Tempting and false: the same product with every J_k taken at x_0 instead of x_k."""
    functions = smooth_layers(As, Bs)
    return equal(jacobian(final_state(functions), x), identity_path_product([jacobian(f, x) for f in functions]))


@claim(
    "identity_path.subset_sum",
    over=JACOBIANS,
    sizes={"L": range(1, 6), "d": range(1, 4)},
    source=f"{PAGE}, Theorem 2 (i), right form",
)
def identity_path_subset_sum(Js):
    """The product of all I + J_k is the sum, over the 2^L subsets of layers, of the product of their J_k, in order.

    Proof: multiplying out chooses I or J_k at every layer.
    """
    return equal(identity_path_product(Js), subset_sum(Js))


@claim(
    "identity_path.subset_sum_any_order",
    over=JACOBIANS,
    sizes={"L": range(2, 4), "d": range(2, 4)},
    source="a tempting misreading of Theorem 2 (i)",
    expect="fails",
)
def identity_path_subset_sum_any_order(Js):
    """Tempting and false: the order of the factors within a subset does not matter."""
    return equal(identity_path_product(Js), subset_sum(Js[::-1]))


@claim(
    "identity_path.gradient",
    over={"g": Vector("d"), **JACOBIANS},
    sizes={"L": range(1, 5), "d": range(1, 4)},
    source=f"{PAGE}, Theorem 2 (i), last sentence",
)
def identity_path_gradient(g, Js):
    """The gradient at x_l is the gradient at x_L, unchanged, plus one term for every nonempty set of layers above l."""

    def pulled_back(subset):
        gradient = g
        for J in reversed(subset):
            gradient = gradient @ J.mT
        return gradient

    relations = []
    for start, gradient in enumerate(backward_recursion(g, Js)[:-1]):
        sizes = range(1, len(Js) - start + 1)
        terms = [pulled_back(subset) for size in sizes for subset in combinations(Js[start:], size)]
        relations.append(equal(gradient, g + add(terms)))
    return every(*relations)


@claim(
    "identity_path.gradient_never_shrinks",
    over={"g": Vector("d"), **JACOBIANS},
    sizes={"L": range(1, 4), "d": range(1, 4)},
    source=f"a tempting reading of {TEXTBOOK}, Gradients ride the identity, for single instances",
    expect="fails",
)
def identity_path_gradient_never_shrinks(g, Js):
    """Tempting and false: the gradient at the bottom of a residual stack is at least as long as at the top.

    The source speaks of random Jacobians, where 1 + alpha^2 >= 1 is an expectation (growth.at_least_one). With J = -I a
    single layer makes the gradient vanish. What holds of every instance is identity_path.gradient_survives.
    """
    return at_least(row_norms(backward_recursion(g, Js)[0]), row_norms(g))


@claim(
    "identity_path.gradient_survives",
    over={"g": Vector("d"), "Js": Stack("L", Matrix("d", "d")), "growth": NonNegative(1, "L"), "norm": Norm("d")},
    sizes={"L": range(1, 4), "d": range(1, 4)},
    source=f"after {PAGE}, Proposition 2 (the same argument for gradients)",
)
def identity_path_gradient_survives(g, Js, growth, norm):
    """In every norm, a stack whose branches J_k have norms a_k <= 1 keeps prod (1 - a_k) of the gradient at least.

    Proof: ||g + g J|| >= ||g|| - ||g J||, layer by layer. The branches are scaled to norms a_k = s/(1 + s), s >= 0.
    """
    arrived, kept = g, ones((1, 1), like=g)
    for k, J in enumerate(Js):
        size = growth[..., k : k + 1] / (1 + growth[..., k : k + 1])
        length = operator_norm(J, norm)
        arrived = arrived + size * (arrived @ J) / where(length == 0, 1, length)
        kept = kept * (1 - size)
    return at_least(row_norms(arrived, norm), kept * row_norms(g, norm))


@claim(
    "identity_path.gradient_bounded",
    over={"g": Vector("d"), "Js": Stack("L", Matrix("d", "d")), "norm": Norm("d")},
    sizes={"L": range(1, 4), "d": range(1, 4)},
    source=f"after {TEXTBOOK}, Gradients ride the identity (what holds without expectations)",
)
def identity_path_gradient_bounded(g, Js, norm):
    """In every norm, a residual stack makes a gradient longer by the factor prod (1 + ||J_k||) at most."""
    arrived, growth = g, ones((1, 1), like=g)
    for J in Js:
        arrived = arrived + arrived @ J
        growth = growth * (1 + operator_norm(J, norm))
    return at_most(row_norms(arrived, norm), growth * row_norms(g, norm))


# ---- attention sublayers ----------------------------------------------------

BLOCKS = {"X": Matrix("n", "d"), "layers": Stack("L", Heads("H", "d", "h"))}
BLOCK_SIZES = {"L": range(1, 3), "n": range(1, 3), "d": range(2, 3), "H": range(1, 3), "h": range(1, 2)}


def row(X):
    """A sequence (..., n, d) as one row (..., 1, n d), token after token."""
    return X.reshape(*X.shape[:-2], 1, X.shape[-2] * X.shape[-1])


def on_rows(function, X):
    """The same function of sequences of the shape of X, as a function of rows."""
    return lambda x: row(function(x.reshape(*x.shape[:-2], *X.shape[-2:])))


def attention_sublayers(layers, n):
    """Causal multi-head attention, one function of sequences for each layer's heads."""
    return [lambda X, heads=heads: multi_head_attention(X, heads, causal_mask(n)) for heads in layers]


def norm_jacobian(X):
    """LayerNorm's Jacobian on a sequence as one row, block-diagonal: (..., n, d) -> (..., n d, n d)."""
    blocks = [layer_norm_jacobian(X[..., i : i + 1, :]) for i in range(X.shape[-2])]
    rows = [
        np.concatenate([block if i == j else 0 * block for j in range(len(blocks))], axis=-1)
        for i, block in enumerate(blocks)
    ]
    return np.concatenate(rows, axis=-2)


@claim(
    "identity_path.product_of_attention",
    over=BLOCKS,
    sizes=BLOCK_SIZES,
    source=f"{PAGE}, Theorem 2 (i)",
)
def identity_path_product_of_attention(X, layers):
    """The Jacobian of a stack of attention sublayers X + MHA(X), from all entries of the sequence to all entries
    (n d x n d), is the product of I + J_k.
    """
    functions = [on_rows(f, X) for f in attention_sublayers(layers, X.shape[-2])]
    return equal(jacobian(final_state(functions), row(X)), identity_path_product(stack_jacobians(functions, row(X))))


@claim(
    "identity_path.skip_of_attention_is_token_by_token",
    over=BLOCKS,
    sizes={**BLOCK_SIZES, "n": range(2, 3)},
    source=f"{PAGE}, Theorem 2 (i), with the Jacobians of single tokens",
    expect="fails",
)
def identity_path_skip_of_attention_is_token_by_token(X, layers):
    """Tempting and false: what the first token changes in the last one's output is nothing, as the identity joins each
    token with itself alone. The branches J_k join tokens: a Jacobian of single tokens, d x d, leaves that out.
    """
    functions = [on_rows(f, X) for f in attention_sublayers(layers, X.shape[-2])]
    d = X.shape[-1]
    return equal(jacobian(final_state(functions), row(X))[..., :d, -d:], 0)


# ---- backpropagation --------------------------------------------------------


@claim(
    "backprop.recursion",
    over={"g": Vector("d"), **SMOOTH_STACK},
    sizes={"L": range(1, 4), "d": range(1, 4)},
    source=f"{TEXTBOOK}, Gradients ride the identity; {PAGE}, Theorem 2 (i)",
)
def backprop_recursion(g, x, As, Bs):
    """Running g_l = g_{l+1} (I + J_l)' down from the top gives the gradient of the loss <g, x_L> at x_0."""
    functions = smooth_layers(As, Bs)
    gradient = jacobian(lambda x: total(g * final_state(functions)(x)), x).mT
    return equal(backward_recursion(g, stack_jacobians(functions, x))[0], gradient)


@claim(
    "backprop.plain_product",
    over={"g": Vector("d"), **SMOOTH_STACK},
    sizes={"L": range(1, 4), "d": range(1, 4)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def backprop_plain_product(g, x, As, Bs):
    """Without the skip only the product of all Jacobians is left: the gradient of <g, f_L(...f_1(x))>."""
    functions = smooth_layers(As, Bs)
    Js = [jacobian(f, state) for f, state in zip(functions, plain_stack(functions, x)[:-1], strict=True)]
    gradient = jacobian(lambda x: total(g * plain_stack(functions, x)[-1]), x).mT
    return equal(backward_recursion(g, Js, residual=False)[0], gradient)


# ---- plain, highway, residual -----------------------------------------------

HIGHWAY = {"x": Vector("d"), "A": Matrix("d", "d"), "B": Matrix("d", "d"), "C": Matrix("d", "d")}


def highway(A, B, C):
    """The branch f, the gate T(x) = tanh(x C)^2 in [0, 1], which is learned and reads x, and T f + (1 - T) x."""
    (f,) = smooth_layers([A], [B])

    def gate(x):
        return square(tanh(x @ C))

    return f, gate, lambda x: gate(x) * f(x) + (1 - gate(x)) * x


@claim(
    "highway.jacobian",
    over=HIGHWAY,
    sizes={"d": range(1, 4)},
    source=f"{TEXTBOOK}, Plain, highway, residual",
)
def highway_jacobian(x, A, B, C):
    """A highway layer T(x) f(x) + (1 - T(x)) x has the Jacobian J_f diag(T) + diag(1 - T) + J_T diag(f - x).

    The identity is weighed by 1 - T: a gate at T = 1 leaves none of it. The gate reads x too, which adds the last term.
    """
    f, gate, layer = highway(A, B, C)
    weighed = jacobian(f, x) * gate(x) + eye(x.shape[-1], like=x) * (1 - gate(x))
    return equal(jacobian(layer, x), weighed + jacobian(gate, x) * (f(x) - x))


@claim(
    "highway.gate_held_fixed",
    over=HIGHWAY,
    sizes={"d": range(1, 4)},
    source=f"{TEXTBOOK}, Plain, highway, residual, with the gate taken for a constant",
    expect="fails",
)
def highway_gate_held_fixed(x, A, B, C):
    """Tempting and false: a highway layer's Jacobian is J_f diag(T) + diag(1 - T), as if the gate did not read x."""
    f, gate, layer = highway(A, B, C)
    return equal(jacobian(layer, x), jacobian(f, x) * gate(x) + eye(x.shape[-1], like=x) * (1 - gate(x)))


@claim(
    "highway.identity_path",
    over=HIGHWAY,
    sizes={"d": range(1, 4)},
    source="Theorem 2 (i) carried over to highway layers",
    expect="fails",
)
def highway_identity_path(x, A, B, C):
    """Tempting and false: as in a residual layer, a highway layer's Jacobian is the identity plus the branch's."""
    f, gate, layer = highway(A, B, C)
    return equal(jacobian(layer, x), eye(x.shape[-1], like=x) + jacobian(lambda x: gate(x) * f(x), x))


@claim(
    "identity_path.zero_branches",
    over={"g": NonZero(1, "d"), "L": Count("L")},
    sizes={"L": range(1, 6), "d": range(1, 4)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def identity_path_zero_branches(g, L):
    """Branches that write nothing hand the gradient down as it is; the plain stack of the same layers loses it all."""
    Js = [0 * g.mT @ g] * L
    return every(equal(backward_recursion(g, Js)[0], g), equal(backward_recursion(g, Js, residual=False)[0], 0))
