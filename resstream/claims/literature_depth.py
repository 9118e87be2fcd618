"""Published statements on depth: the variance of the stream under pre-LN, and branches that are scaled.

A paper that was not seen itself is cited as quoted by others, and nothing here says what it prints.
"""

from fractions import Fraction

import numpy as np

from resstream.arithmetic import (
    absolute,
    amax,
    constant,
    exact,
    exp,
    eye,
    jacobian,
    log,
    mean,
    ones,
    sqrt,
    square,
    total,
    zeros,
)
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.claims.models import add
from resstream.domains import (
    Count,
    Matrix,
    NonConstant,
    NonZero,
    Norm,
    Positive,
    Scalar,
    Stack,
    Vector,
)
from resstream.reference import (
    identity_path_product,
    layer_norm,
    layer_norm_jacobian,
    operator_norm,
    residual_stack,
    row_norms,
    spectral_norm,
)

CURSE = "Sun and others, The curse of depth in large language models (arXiv 2502.05795)"
MARION = "Marion and others, Scaling ResNets in the large-depth regime (arXiv 2206.06929)"

# ---- variance under pre-LN --------------------------------------------------


def deviations(sigma, L):
    """sigma_1 .. sigma_L of the recursion sigma_{k+1}^2 = sigma_k^2 + sigma_k."""
    found = [sigma]
    for _ in range(L - 1):
        found.append(sqrt(square(found[-1]) + found[-1]))
    return found


@claim(
    "depth.variance_recursion",
    over={"sigma": Positive(), "L": Count("L")},
    sizes={"L": range(1, 33)},
    source=f"{CURSE}, its recursion as quoted by notes on it",
)
def depth_variance_recursion(sigma, L):
    """The recursion sigma_{k+1}^2 = sigma_k^2 (1 + 1/sigma_k), from which an exponential growth of the stream's
    variance in pre-LN models is concluded, grows it quadratically at most: sigma_L <= sigma_1 + (L - 1)/2; and the
    product of all 1 + 1/sigma_k is sigma_L^2/sigma_1^2, no more.

    Proof: s^2 + s < (s + 1/2)^2.
    """
    found = deviations(sigma, L)
    product = ones((1, 1), like=sigma)
    for before in found[:-1]:
        product = product * (1 + 1 / before)
    return every(at_most(found[-1], sigma + exact(L - 1, 2)), equal(product * square(sigma), square(found[-1])))


@claim(
    "depth.variance_grows_exponentially",
    over={"sigma": Positive(), "L": Count("L")},
    sizes={"L": range(1, 65, 9)},
    source=f"{CURSE}, abstract",
    expect="fails",
)
def depth_variance_grows_exponentially(sigma, L):
    """False of that recursion: sigma_L^2 is at least sigma_1^2 e^((L - 1)/10).

    Printed: the output variance of pre-LN models grows exponentially with depth.
    Read: for the recursion from which it is concluded, as quoted by notes on the paper, with the rate 1/10. (As an
    upper bound exp(L) is right; no sequence that obeys the recursion comes near it, at any rate. Of what trained models
    do, nothing is said here.)
    Right: quadratically at most (depth.variance_recursion), so that the variance is below (sigma_1 + L/2)^2.
    Fault: imprecise.
    """
    return at_least(square(deviations(sigma, L)[-1]), square(sigma) * exp(exact(L - 1, 10) * ones((1, 1), like=sigma)))


SCALED = {"x": Vector("d"), "writes": Matrix("L", "d")}


def scaled_average(x, writes):
    """Mean squared length of x plus the writes, the l-th over sqrt l, with independent signs: over all 2^L of them."""
    L = writes.shape[-2]
    signs = 2 * ((np.arange(2**L)[:, None] >> np.arange(L)) & 1) - 1
    parts = add([w * signs[:, k : k + 1] for k, w in enumerate(split_rows(writes))])
    return mean(total(square(x + parts)), -2)


def split_rows(writes):
    """The rows (..., 1, d) of a matrix, the l-th over sqrt l."""
    like = writes
    return [
        writes[..., k : k + 1, :] / sqrt(constant(k + 1, like) * ones((1, 1), like=like))
        for k in range(writes.shape[-2])
    ]


@claim(
    "depth.layernorm_scaling",
    over=SCALED,
    sizes={"L": range(1, 6), "d": range(1, 3)},
    source=f"{CURSE}, LayerNorm scaling as quoted by notes on it",
)
def depth_layernorm_scaling(x, writes):
    """With the l-th LayerNorm's output over sqrt l and branches of independent random signs, the mean squared length of
    the stream is ||x_0||^2 + sum ||w_l||^2/l: for branches of one size c^2 that is at most c^2 (1 + log L) more, so it
    grows as log L at initialisation, not as L.
    """
    L = writes.shape[-2]
    lengths = total(square(writes))
    shares = add([lengths[..., k : k + 1, :] * exact(1, k + 1) for k in range(L)])
    largest = amax(lengths, -2)
    bound = largest * (1 + log(L * ones((1, 1), like=x)))
    return every(equal(scaled_average(x, writes), total(square(x)) + shares), at_most(shares, bound))


@claim(
    "depth.layernorm_scaling_is_linear",
    over={"x": NonZero(1, "d"), "L": Count("L")},
    sizes={"L": range(1, 65, 9), "d": range(1, 3)},
    source=f"{CURSE}, the lower bound Theta(L) of LayerNorm scaling as quoted by notes on it, at initialisation",
    expect="fails",
)
def depth_layernorm_scaling_is_linear(x, L):
    """Tempting and false at initialisation: with the l-th branch over sqrt l the mean squared length is at least L/4
    times the first one, for branches as long as x_0. (It is 1 + H_L times, H_L the harmonic number.)
    """
    size = total(square(x))
    harmonic = sum(Fraction(1, k) for k in range(1, L + 1))
    return at_least(4 * size * exact(1 + harmonic), L * size)


@claim(
    "depth.pre_ln_grows_linearly",
    over={"x": NonConstant("d"), "Ws": Stack("L", Matrix("d", "d")), "epsilon": Positive()},
    sizes={"L": range(1, 5), "d": range(2, 4)},
    source="beside Kan and others, Stability of transformers under layer normalization (arXiv 2510.09904)",
)
def depth_pre_ln_grows_linearly(x, Ws, epsilon):
    """With weights of norm at most w, a pre-LN stream grows by at most w sqrt d a layer: branches W LN(x) have a length
    of at most ||W|| sqrt d. Faster growth needs weights that grow with depth.
    """
    layers = [lambda y, W=W: layer_norm(y, epsilon=epsilon) @ W for W in Ws]
    root = sqrt(x.shape[-1] * ones((1, 1), like=x))
    return at_most(row_norms(residual_stack(layers, x)[0][-1]), row_norms(x) + root * add(list(map(spectral_norm, Ws))))


# ---- scaled branches --------------------------------------------------------


@claim(
    "depth.branches_over_depth",
    over={"Js": Stack("L", Matrix("d", "d")), "a": Scalar(0, 4), "norm": Norm("d")},
    sizes={"L": range(1, 5), "d": range(1, 4)},
    source=f"{MARION}, the worst case",
)
def depth_branches_over_depth(Js, a, norm):
    """Branches of norm at most a/L keep a stack's Jacobian, and so its gradients, within e^a in every norm, whatever
    the depth. In the worst case nothing larger does: see depth.branches_over_root.
    """
    L = len(Js)
    scaled = []
    for J in Js:
        size = operator_norm(J, norm)
        scaled.append(a * exact(1, L) * J / (1 + size))
    return at_most(operator_norm(identity_path_product(scaled), norm), exp(a))


@claim(
    "depth.branches_over_root",
    over={"a": Scalar(0, 4), "L": Count("L")},
    sizes={"L": range(1, 65, 9)},
    source=f"{MARION}, weights without independence",
)
def depth_branches_over_root(a, L):
    """Branches of norm a/sqrt L may grow a gradient by (1 + a/sqrt L)^L >= e^(a sqrt L - a^2/2), where they all point
    one way; with independent random signs the mean square is (1 + a^2/L)^L, at most e^(a^2).
    """
    root = sqrt(L * ones((1, 1), like=a))
    worst, square_mean = ones((1, 1), like=a), ones((1, 1), like=a)
    for _ in range(L):
        worst, square_mean = worst * (1 + a / root), square_mean * (1 + square(a) * exact(1, L))
    return every(at_least(worst, exp(a * root - square(a) / 2)), at_most(square_mean, exp(square(a))))


@claim(
    "depth.branches_over_root_are_safe",
    over={"a": Scalar(0, 4), "L": Count("L")},
    sizes={"L": range(1, 65, 9)},
    source=f"a tempting reading of {MARION}, without the independence of weights",
    expect="fails",
)
def depth_branches_over_root_are_safe(a, L):
    """Tempting and false: branches of norm at most a/sqrt L keep every gradient within e^(a^2)."""
    root, grown = sqrt(L * ones((1, 1), like=a)), ones((1, 1), like=a)
    for _ in range(L):
        grown = grown * (1 + a / root)
    return at_most(grown, exp(square(a)))


def bend(z):
    """z/(1 + z^2), entry by entry: nonlinear, with slopes between -1/8 and 1, and exact in rationals."""
    return z / (1 + square(z))


def bent_branch(W):
    """x -> bend(x W)."""
    return lambda x: bend(x @ W)


@claim(
    "depth.rezero",
    over={"x": Vector("d"), "Ws": Stack("L", Matrix("d", "d"))},
    sizes={"L": range(1, 4), "d": range(1, 4)},
    source="Bachlechner and others, ReZero is all you need (2020), as recalled",
)
def depth_rezero(x, Ws):
    """x + a f(x) with a = 0, as ReZero starts, is the identity with the identity's Jacobian at every depth; the
    gradient with respect to a layer's a is <g, f(x)>, so that it can learn at once.
    """
    start = zeros((1, len(Ws)), like=x)

    def stack(scales, at):
        layers = [lambda y, W=W, k=k: scales[..., k : k + 1] * bend(y @ W) for k, W in enumerate(Ws)]
        return residual_stack(layers, at)[0][-1]

    moved = jacobian(lambda scales: stack(scales, x), start)
    written = np.concatenate([bend(x @ W) for W in Ws], axis=-2)
    return every(
        equal(stack(start, x), x),
        equal(jacobian(lambda at: stack(start, at), x), eye(x.shape[-1], like=x)),
        equal(moved, written),
    )


@claim(
    "depth.layerscale",
    over={"x": Vector("d"), "W": Matrix("d", "d"), "scale": Vector("d")},
    sizes={"d": range(1, 4)},
    source="Touvron and others, Going deeper with image transformers (2021), as recalled",
)
def depth_layerscale(x, W, scale):
    """x + f(x) diag(s), LayerScale, has the Jacobian I + J_f diag(s), within max|s| ||J_f|| of the identity."""
    branch = bent_branch(W)
    J, own = jacobian(lambda y: y + branch(y) * scale, x), jacobian(branch, x)
    distance = spectral_norm(J - eye(x.shape[-1], like=x))
    return every(
        equal(J, eye(x.shape[-1], like=x) + own * scale),
        at_most(distance, amax(absolute(scale)) * spectral_norm(own)),
    )


def deepnorm_is_defined(x, W, alpha):
    """What is normalised is no multiple of the all-ones vector."""
    written = alpha * x + bend(x @ W)
    return more_than(total(square(written - mean(written))), 0)


@claim(
    "depth.deepnorm",
    over={"x": NonConstant("d"), "W": Matrix("d", "d"), "alpha": Positive()},
    assuming=(deepnorm_is_defined,),
    sizes={"d": range(2, 4)},
    source="Wang and others, DeepNet (2022), as recalled",
)
def depth_deepnorm(x, W, alpha):
    """DeepNorm's LN(alpha x + f(x)) has the Jacobian (alpha I + J_f) J_LN(alpha x + f(x)). Without a branch the factor
    alpha cancels, LN(alpha x) = LN(x); so all it does is to shrink the branch by 1/alpha: LN(alpha x + f) = LN(x +
    f/alpha).
    """
    branch = bent_branch(W)
    J = jacobian(lambda y: layer_norm(alpha * y + branch(y)), x)
    product = (alpha * eye(x.shape[-1], like=x) + jacobian(branch, x)) @ layer_norm_jacobian(alpha * x + branch(x))
    return every(equal(J, product), equal(layer_norm(alpha * x + branch(x)), layer_norm(x + branch(x) / alpha)))
