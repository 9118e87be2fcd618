"""The residual stream: a sum of writes, the identity path through its Jacobian, and how fast it grows.

Sublayers are stand-ins with any weights: smooth nonlinear ones that rationals can hold (a square of a linear map plus
a linear map), and tanh(x W) as in the textbook's own example. The growth of random stacks is a matter of moments, and
is derived symbolically; what holds of every instance stands here.
"""

from itertools import combinations
from math import comb

import numpy as np

from resstream.arithmetic import exact, exp, eye, jacobian, mean, ones, power, sqrt, square, tanh, total, where
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.claims.sources import ANNOTATED, PAGE, TEXTBOOK
from resstream.domains import (
    Count,
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Norm,
    Orthogonal,
    Positive,
    Scalar,
    Stack,
    Vector,
)
from resstream.reference import (
    backward_recursion,
    centre,
    identity_path_product,
    layer_norm,
    layer_norm_jacobian,
    operator_norm,
    plain_stack,
    residual_stack,
    row_norms,
    spectral_norm,
    stack_jacobians,
    subset_sum,
)

STACK = {"L": range(1, 4), "n": range(1, 3), "d": range(1, 4)}


def tanh_layer(W):
    """The sublayer x -> tanh(x W)."""
    return lambda x: tanh(x @ W)


def smooth_layers(As, Bs):
    """Sublayers x -> (x A)^2 + x B, squared entry by entry: nonlinear, with derivatives, exact in rationals."""
    return [lambda x, A=A, B=B: square(x @ A) + x @ B for A, B in zip(As, Bs, strict=True)]


def final_state(functions):
    """The map from x_0 to x_L of a residual stack."""
    return lambda x: residual_stack(functions, x)[0][-1]


def add(terms):
    """The sum of arrays."""
    return sum(terms[1:], start=terms[0])


# ---- the stream is a running sum --------------------------------------------


@claim(
    "stream.running_sum",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes=STACK,
    source=f"{TEXTBOOK}, Unroll it, and the stream becomes a sum",
)
def stream_running_sum(x, Ws):
    """The final stream is the embedding plus everything that every sublayer wrote."""
    functions = [tanh_layer(W) for W in Ws]
    states, _ = residual_stack(functions, x)
    return equal(states[-1], add([x, *(f(state) for f, state in zip(functions, states[:-1], strict=True))]))


@claim(
    "stream.writes_recovered",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes=STACK,
    source=f"{TEXTBOOK}, Unroll it, and the stream becomes a sum",
)
def stream_writes_recovered(x, Ws):
    """Each write is the difference of the two states around it, and what the sublayer makes of the earlier one."""
    functions = [tanh_layer(W) for W in Ws]
    states, _ = residual_stack(functions, x)
    return every(
        *(equal(after - before, f(before)) for f, before, after in zip(functions, states, states[1:], strict=False))
    )


@claim(
    "stream.zero_write_is_identity",
    over={"x": Matrix("n", "d"), "before": Stack("L", Matrix("d", "d")), "after": Stack("L", Matrix("d", "d"))},
    sizes={"L": range(1, 3), "n": range(1, 3), "d": range(1, 4)},
    source=f"{TEXTBOOK}, A block computes a correction, not a replacement",
)
def stream_zero_write_is_identity(x, before, after):
    """A sublayer that writes zeros can be left out: the stack around it gives the same stream."""
    first, last = ([tanh_layer(W) for W in Ws] for Ws in (before, after))
    return equal(final_state([*first, lambda x: 0 * x, *last])(x), final_state([*first, *last])(x))


@claim(
    "stream.last_write_can_be_subtracted",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes=STACK,
    source=f"{TEXTBOOK}, Unroll it, and the stream becomes a sum",
)
def stream_last_write_can_be_subtracted(x, Ws):
    """Switching the last sublayer off takes its write from the final stream, and nothing else."""
    functions = [tanh_layer(W) for W in Ws]
    states, writes = residual_stack(functions, x)
    return equal(residual_stack(functions[:-1], x)[0][-1], states[-1] - writes[-1])


@claim(
    "stream.any_write_can_be_subtracted",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes={"L": range(2, 4), "n": range(1, 3), "d": range(1, 4)},
    source=f"a tempting extension of {TEXTBOOK}, which tells direct from total effects",
    expect="fails",
)
def stream_any_write_can_be_subtracted(x, Ws):
    """Tempting and false: switching the first sublayer off takes its write from the final stream, and nothing else.

    Later sublayers read a stream without that write, and write something else: the indirect effect.
    """
    functions = [tanh_layer(W) for W in Ws]
    states, writes = residual_stack(functions, x)
    return equal(residual_stack(functions[1:], x)[0][-1], states[-1] - writes[0])


@claim(
    "stream.sum_of_states_counts_twice",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes={"L": range(1, 4), "n": range(1, 3), "d": range(1, 4)},
    source="public reports of sublayers whose recorded output already holds the stream",
    expect="fails",
)
def stream_sum_of_states_counts_twice(x, Ws):
    """A reported fault: the final stream is the embedding plus the sum of the states after every sublayer.

    Where a sublayer's recorded output already holds the skip, adding it counts every earlier write again.
    """
    states, _ = residual_stack([tanh_layer(W) for W in Ws], x)
    return equal(states[-1], add(states))


@claim(
    "stream.norm_at_most_sum",
    over={"x": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d")), "norm": Norm("d")},
    sizes=STACK,
    source=f"{TEXTBOOK}, The forward signal grows too (what holds without expectations)",
)
def stream_norm_at_most_sum(x, Ws, norm):
    """In every norm, the final stream is at most as long as the embedding and all writes laid end to end."""
    states, writes = residual_stack([tanh_layer(W) for W in Ws], x)
    return at_most(row_norms(states[-1], norm), add([row_norms(part, norm) for part in (x, *writes)]))


@claim(
    "stream.orthogonal_writes",
    over={"directions": Orthogonal("d"), "lengths": Matrix("d", 1)},
    sizes={"d": range(1, 6)},
    source=f"{TEXTBOOK}, The forward signal grows too (what holds without expectations)",
)
def stream_orthogonal_writes(directions, lengths):
    """Where all writes are orthogonal to each other and to the embedding, squared norms add: growth is linear."""
    parts = lengths * directions
    return equal(total(square(total(parts, -2))), total(total(square(parts)), -2))


@claim(
    "stream.squares_add",
    over={"parts": Matrix("S", "d")},
    sizes={"S": range(2, 5), "d": range(1, 4)},
    source=f"{TEXTBOOK}, The forward signal grows too (read as a statement about single instances)",
    expect="fails",
)
def stream_squares_add(parts):
    """Tempting and false: the squared norm of the stream is the sum of those of the embedding and the writes.

    Printed: writes of a fixed size add like independent vectors, and ||x_S||^2 is about ||x_0||^2 + S c.
    Right: that is the expectation over independent writes of mean zero; equal writes give S^2 c.
    """
    return equal(total(square(total(parts, -2))), total(total(square(parts)), -2))


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
    source=f"{TEXTBOOK}, Gradients ride the identity",
    expect="fails",
)
def identity_path_gradient_never_shrinks(g, Js):
    """Tempting and false: the gradient at the bottom of a residual stack is at least as long as at the top.

    Printed: the residual network can never vanish, since 1 + alpha^2 >= 1; its gradient never drops below 1.
    Right: 1 + alpha^2 is an expectation over random J; with J = -I a single layer makes the gradient vanish. What holds
    of every instance is identity_path.gradient_survives.
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


# ---- where LayerNorm sits ---------------------------------------------------

WITH_NORM = {"x": NonConstant("d"), "A": Matrix("d", "d"), "B": Matrix("d", "d")}


@claim(
    "pre_ln.jacobian_factor",
    over=WITH_NORM,
    sizes={"d": range(2, 5)},
    source=f"{PAGE}, Theorem 2 (ii)",
)
def pre_ln_jacobian_factor(x, A, B):
    """The branch F(LN(x)) of a pre-LN stack has the Jacobian J_LN(x) J_F(LN x): in rows, LayerNorm's factor first."""
    (F,) = smooth_layers([A], [B])
    return equal(jacobian(lambda x: F(layer_norm(x)), x), layer_norm_jacobian(x) @ jacobian(F, layer_norm(x)))


@claim(
    "pre_ln.branch_bound",
    over={"x": NonConstant("d"), "W": Matrix("d", "d")},
    sizes={"d": range(3, 5)},
    source=f"{PAGE}, Theorem 2 (ii)",
)
def pre_ln_branch_bound(x, W):
    """For d >= 3 LayerNorm's factor has the norm sqrt d/||Px||, so the branch's is at most that times ||J_F||."""
    factor, size = layer_norm_jacobian(x), row_norms(centre(x))
    root = sqrt(x.shape[-1] * ones((1, 1), like=x))
    return every(
        equal(spectral_norm(factor) * size, root),
        at_most(spectral_norm(factor @ W) * size, root * spectral_norm(W)),
    )


@claim(
    "pre_ln.branch_shrinks_as_stream_grows",
    over={"scale": Positive(1, 1), **WITH_NORM},
    sizes={"d": range(2, 5)},
    source=f"{PAGE}, Theorem 2 (ii)",
)
def pre_ln_branch_shrinks_as_stream_grows(scale, x, A, B):
    """A stream c times as long has a branch Jacobian exactly c times as small; the identity term does not change.

    Proof: LN(c x) = LN(x), and J_LN(c x) = J_LN(x)/c.
    """
    (F,) = smooth_layers([A], [B])

    def branch(x):
        return layer_norm_jacobian(x) @ jacobian(F, layer_norm(x))

    return equal(scale * branch(scale * x), branch(x))


def stream_is_not_constant(x, A, B):
    """What the norm reads is no multiple of the all-ones vector."""
    (F,) = smooth_layers([A], [B])
    return more_than(mean(square(centre(x + F(x)))), 0)


@claim(
    "post_ln.every_path_normalised",
    over=WITH_NORM,
    assuming=(stream_is_not_constant,),
    sizes={"d": range(2, 4)},
    source=f"{PAGE}, Theorem 2 (iii)",
)
def post_ln_every_path_normalised(x, A, B):
    """A post-LN layer LN(x + F(x)) has the Jacobian (I + J_F) J_LN(x + F(x)): the skip passes through LayerNorm too."""
    (F,) = smooth_layers([A], [B])
    identity = eye(x.shape[-1], like=x)
    product = (identity + jacobian(F, x)) @ layer_norm_jacobian(x + F(x))
    return equal(jacobian(lambda x: layer_norm(x + F(x)), x), product)


@claim(
    "post_ln.norm_is_sqrt_d",
    over=WITH_NORM,
    assuming=(stream_is_not_constant,),
    sizes={"d": range(2, 6)},
    source=f"{PAGE}, after Theorem 2",
)
def post_ln_norm_is_sqrt_d(x, A, B):
    """After a post-LN layer the stream has the squared norm d, whatever was written."""
    (F,) = smooth_layers([A], [B])
    return equal(total(square(layer_norm(x + F(x)))), x.shape[-1])


@claim(
    "post_ln.identity_path",
    over={"x": NonConstant("d")},
    sizes={"d": range(2, 5)},
    source="Theorem 2 (i) carried over to post-LN stacks",
    expect="fails",
)
def post_ln_identity_path(x):
    """Tempting and false: in a post-LN layer whose sublayer writes nothing, the Jacobian is the identity.

    It is LayerNorm's own, which sends the all-ones vector and x to zero.
    """
    return equal(jacobian(layer_norm, x), eye(x.shape[-1], like=x))


@claim(
    "post_ln.running_sum",
    over=WITH_NORM,
    assuming=(stream_is_not_constant,),
    sizes={"d": range(2, 5)},
    source=f"{ANNOTATED}, 2.1 and 2.2",
    expect="fails",
)
def post_ln_running_sum(x, A, B):
    """False for the block that the source describes: its output is the input plus what the sublayer wrote.

    Printed: every sublayer is LayerNorm(x + f(x)), and because every sublayer adds its output, the final output is
    literally the embedding plus the sum of all writes.
    Right: that holds of pre-LN blocks (x + f(LN x)) and of blocks without a norm. A norm after the addition rescales
    everything written before it.
    """
    (F,) = smooth_layers([A], [B])
    return equal(layer_norm(x + F(x)), x + F(x))


# ---- growth and path lengths ------------------------------------------------


@claim(
    "growth.at_least_one",
    over={"alpha": NonNegative(1, 1), "S": Count("S")},
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_at_least_one(alpha, S):
    """The root-mean-square growth of a residual stack, (1 + a^2)^(S/2), is at least 1 and the plain stack's a^S.

    (Stated of the squares.)
    """
    residual = power(1 + square(alpha), S)
    return every(at_least(residual, 1), at_least(residual, power(square(alpha), S)))


@claim(
    "growth.at_most_exponential",
    over={"alpha": Scalar(0, 20), "S": Count("S")},
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_at_most_exponential(alpha, S):
    """(1 + a^2)^(S/2) is at most e^(a^2 S/2), which the text gives as its size. (Stated of the squares.)"""
    return at_most(power(1 + square(alpha), S), exp(S * square(alpha)))


@claim(
    "growth.exponential_is_attained",
    over={"alpha": Scalar(0, 2), "S": Count("S")},
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, Gradients ride the identity (the sign of the approximation, turned round)",
    expect="fails",
)
def growth_exponential_is_attained(alpha, S):
    """False: (1 + a^2)^(S/2) is at least e^(a^2 S/2)."""
    return at_least(power(1 + square(alpha), S), exp(S * square(alpha)))


@claim(
    "growth.scaled_branches",
    over={"c": Scalar(0, 1), "S": Count("S")},
    sizes={"S": range(1, 25)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_scaled_branches(c, S):
    """With a^2 = c/S, c <= 1, the squared growth (1 + c/S)^S rises with the depth S and stays at most e^c <= e."""
    growth, deeper = power(1 + exact(1, S) * c, S), power(1 + exact(1, S + 1) * c, S + 1)
    return every(at_most(growth, deeper), at_most(growth, exp(c)), at_most(exp(c), exp(1 + 0 * c)))


def path_weights(alpha, S):
    """Share of the paths through k of S sublayers, C(S, k) a^k/(1 + a)^S, k = 0 .. S: (..., 1, S + 1)."""
    terms = [comb(S, k) * power(alpha, k) + 0 * alpha for k in range(S + 1)]
    return np.concatenate(terms, axis=-1) / power(1 + alpha, S)


PATHS = {"alpha": NonNegative(1, 1), "S": Count("S")}


@claim(
    "paths.binomial_weights",
    over=PATHS,
    sizes={"S": range(1, 9)},
    source=f"{TEXTBOOK}, A residual network is an ensemble of paths",
)
def paths_binomial_weights(alpha, S):
    """The weights C(S, k) a^k/(1 + a)^S of path lengths sum to one, with mean S a/(1 + a), variance S a/(1 + a)^2."""
    weights, lengths = path_weights(alpha, S), np.arange(S + 1)
    average = total(weights * lengths)
    return every(
        equal(total(weights), 1),
        equal(average, S * alpha / (1 + alpha)),
        equal(total(weights * lengths * lengths) - square(average), S * alpha / square(1 + alpha)),
    )


@claim(
    "paths.unequal_weights",
    over={"alphas": NonNegative(1, "S")},
    sizes={"S": range(1, 6)},
    source=f"after {TEXTBOOK}, A residual network is an ensemble of paths",
)
def paths_unequal_weights(alphas):
    """With a factor a_k of its own for every sublayer, all paths weigh prod (1 + a_k) and have the mean length
    sum a_k/(1 + a_k).
    """
    S = alphas.shape[-1]
    weights, lengths = [], []
    for size in range(S + 1):
        for subset in combinations(range(S), size):
            weight = 1 + 0 * alphas[..., :1]
            for k in subset:
                weight = weight * alphas[..., k : k + 1]
            weights.append(weight)
            lengths.append(size)
    whole, weighed = add(weights), add([length * w for length, w in zip(lengths, weights, strict=True)])
    product = 1
    for k in range(S):
        product = product * (1 + alphas[..., k : k + 1])
    return every(equal(whole, product), equal(weighed / whole, total(alphas / (1 + alphas))))


@claim(
    "paths.mean_is_half",
    over=PATHS,
    sizes={"S": range(1, 9)},
    source="a tempting reading of the ensemble of paths",
    expect="fails",
)
def paths_mean_is_half(alpha, S):
    """Tempting and false: the gradient travels through half of the sublayers on average, as most of the 2^S paths do.

    That is the case a = 1; sublayers that shrink the gradient favour the short paths.
    """
    return equal(2 * total(path_weights(alpha, S) * np.arange(S + 1)), S)


# ---- plain, highway, residual -----------------------------------------------

HIGHWAY = {"x": Vector("d"), "A": Matrix("d", "d"), "B": Matrix("d", "d"), "gate": Vector("d")}


@claim(
    "highway.jacobian",
    over=HIGHWAY,
    sizes={"d": range(1, 4)},
    source=f"{TEXTBOOK}, Plain, highway, residual",
)
def highway_jacobian(x, A, B, gate):
    """A highway layer t f(x) + (1 - t) x with its gate held fixed has the Jacobian J_f diag(t) + diag(1 - t).

    The identity is weighed by 1 - t: a gate at t = 1 leaves none of it, and the layer is a plain one.
    """
    (f,) = smooth_layers([A], [B])
    product = jacobian(f, x) * gate + eye(x.shape[-1], like=x) * (1 - gate)
    return equal(jacobian(lambda x: gate * f(x) + (1 - gate) * x, x), product)


@claim(
    "highway.identity_path",
    over=HIGHWAY,
    sizes={"d": range(1, 4)},
    source="Theorem 2 (i) carried over to highway layers",
    expect="fails",
)
def highway_identity_path(x, A, B, gate):
    """Tempting and false: as in a residual layer, a highway layer's Jacobian is the identity plus the branch's."""
    (f,) = smooth_layers([A], [B])
    branch = jacobian(lambda x: gate * f(x), x)
    return equal(jacobian(lambda x: gate * f(x) + (1 - gate) * x, x), eye(x.shape[-1], like=x) + branch)


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
