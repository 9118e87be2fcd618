"""The identity path through a residual stack: its Jacobian and gradients, where LayerNorm sits, highway gates.

Sublayers are stand-ins with any weights, smooth and nonlinear, that rationals can hold (a square of a linear map plus a
linear map), and attention itself.
"""

from itertools import combinations

from resstream.arithmetic import eye, jacobian, mean, ones, sqrt, square, total, where
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.claims.models import add
from resstream.claims.sources import ANNOTATED, PAGE, TEXTBOOK
from resstream.domains import (
    Count,
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Norm,
    Positive,
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
