"""Published statements on depth: variance of the stream, scaled branches, wide streams, what reaches the last token.

A paper that was not seen itself is cited as quoted by others, and nothing here says what it prints.
"""

from fractions import Fraction

import numpy as np

from resstream.arithmetic import (
    absolute,
    amax,
    amin,
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
from resstream.claim import at_least, at_most, claim, equal, every, less_than, more_than
from resstream.claims.models import add
from resstream.domains import (
    Causal,
    Count,
    DoublyStochastic,
    Matrix,
    NonConstant,
    NonZero,
    Norm,
    Positive,
    RowStochastic,
    Scalar,
    Stack,
    Vector,
)
from resstream.reference import (
    diameter,
    dobrushin,
    identity_path_product,
    layer_norm,
    layer_norm_jacobian,
    operator_norm,
    residual_stack,
    row_norms,
    softmax,
    spectral_norm,
)
from resstream.reference.spectrum import rank

CURSE = "Sun and others, The curse of depth in large language models (arXiv 2502.05795)"
GLASSES = "Barbero and others, Transformers need glasses! (arXiv 2406.04267), in a transcription"
LAMBDA = "on lambda-skip connections (arXiv 2410.10609), as quoted by its reviews"
HYPER = "Xie and others, mHC: Manifold-constrained hyper-connections (2025), as quoted by notes on it"
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
    Read: for the recursion from which it is concluded, as notes on the paper quote it, with the rate 1/10; the upper
    bound exp(L) is met by no sequence that obeys it, at any rate.
    Right: quadratically at most (depth.variance_recursion), so that the variance is below (sigma_1 + L/2)^2.
    Fault: false.
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


# ---- several streams, and sums over depth -----------------------------------


@claim(
    "hyper_connections.norm",
    over={"H": DoublyStochastic("s"), "G": DoublyStochastic("s")},
    sizes={"s": range(1, 4)},
    source=HYPER,
)
def hyper_connections_norm(H, G):
    """Doubly stochastic mixing of residual streams has spectral norm exactly 1, and products of such matrices are such
    matrices again.
    """
    product = H @ G
    return every(
        equal(spectral_norm(H), 1),
        equal(total(product), 1),
        equal(total(product, -2), 1),
        at_least(product, 0),
    )


@claim(
    "hyper_connections.only_the_mean_survives",
    over={"Hs": Stack("L", DoublyStochastic("s")), "X": Matrix("s", "d"), "norm": Norm("d")},
    sizes={"s": range(2, 4), "d": range(1, 3), "L": range(1, 4)},
    source=f"beyond {HYPER}; with dobrushin.submultiplicative",
)
def hyper_connections_only_the_mean_survives(Hs, X, norm):
    """Through a product of doubly stochastic matrices the mean of the streams passes unchanged, and how far they are
    apart shrinks by the product of the Dobrushin coefficients, below 1 for matrices with a positive column.
    """
    mixed, bound = X, diameter(X, norm)
    for H in Hs:
        mixed, bound = H @ mixed, dobrushin(H) * bound
    return every(equal(mean(mixed, -2), mean(X, -2)), at_most(diameter(mixed, norm), bound))


@claim(
    "hyper_connections.norm_preserving",
    over={"H": DoublyStochastic("s"), "X": Matrix("s", "d")},
    sizes={"s": range(2, 4), "d": range(1, 3)},
    source=f"a tempting reading of {HYPER} (norm preserving, an identity mapping restored)",
    expect="fails",
)
def hyper_connections_norm_preserving(H, X):
    """Tempting and false: doubly stochastic mixing keeps the length of the streams. Permutations do; all others shrink
    what tells the streams apart.
    """
    return equal(total(total(square(H @ X)), -2), total(total(square(X)), -2))


def scores_are_moderate(scores):
    """The scores differ by 1000 at most: beyond, the smallest weight is lost in an enclosure's digits."""
    return at_most(amax(scores) - amin(scores), 1000)


@claim(
    "depth_attention.convex",
    assuming=(scores_are_moderate,),
    over={"scores": Vector("L"), "states": Matrix("L", "d"), "norm": Norm("d")},
    sizes={"L": range(1, 6), "d": range(1, 4)},
    source="a summary of A Mathematical Framework for Transformer Circuits, related work (attention residuals)",
)
def depth_attention_convex(scores, states, norm):
    """Where a layer reads a softmax over the depth history in place of the sum of all writes, what it reads is never
    longer than the longest of them, in every norm; and the embedding's share is below 1 as soon as there are others.
    """
    weights = softmax(scores)
    longest = amax(row_norms(states, norm), -2)
    bounded = at_most(row_norms(weights @ states, norm), longest)
    return bounded if scores.shape[-1] == 1 else every(bounded, less_than(weights[..., :1], 1))


# ---- what reaches the last token --------------------------------------------


def path_matrix(As):
    """The product of I + A_l over the layers, entry (n, i) the sum over all paths from token i to token n."""
    product = eye(As[0].shape[-1], like=As[0])
    for A in As:
        product = (eye(A.shape[-1], like=A) + A) @ product
    return product


def decoder(As, slope):
    """Tokens on the line, as one row, through layers z = (I + A) v, v' = z + slope z/(1 + z^2): patterns held fixed."""

    def run(row):
        v = row.mT
        for A in As:
            z = v + A @ v
            v = z + slope * bend(z)
        return v.mT

    return run


OVER_SQUASHING = {"As": Stack("L", Causal("n")), "x": Vector("n"), "slope": Scalar(0, 4)}


@claim(
    "oversquashing.repaired",
    over=OVER_SQUASHING,
    sizes={"L": range(1, 4), "n": range(1, 4)},
    source=f"{GLASSES}, Theorem 5.1, with the constant of its proof",
)
def oversquashing_repaired(As, x, slope):
    """How much token i can move the output at n is at most (1 + s)^L times the sum over all paths of products of the
    weights a_kj + delta_kj, s the Lipschitz constant of the MLPs; patterns held fixed, norms taken for 1, tokens on the
    line.
    """
    moved = jacobian(decoder(As, slope), x).mT
    bound = path_matrix(As)
    for _ in As:
        bound = bound * (1 + slope)
    return at_most(absolute(moved), bound)


@claim(
    "oversquashing.as_transcribed",
    over=OVER_SQUASHING,
    sizes={"L": range(1, 4), "n": range(1, 4)},
    source=f"{GLASSES}, Theorem 5.1",
    expect="fails",
)
def oversquashing_as_transcribed(As, x, slope):
    """Tempting and false: the same with s^L in place of (1 + s)^L. The skip around an MLP passes what the MLP does not:
    with MLPs that write nothing, s = 0, the bound is 0 and the derivative is the path sum itself.
    """
    moved, bound = jacobian(decoder(As, slope), x).mT, path_matrix(As)
    for _ in As:
        bound = bound * slope
    return at_most(absolute(moved), bound)


@claim(
    "decoder.matrix_is_diagonalisable",
    over={"a": Scalar(0, 1), "p": RowStochastic(1, 2)},
    source=f"{GLASSES}, Proposition B.8",
    expect="fails",
)
def decoder_matrix_is_diagonalisable(a, p):
    """Tempting and false: causal attention matrices are diagonalisable, here one of three tokens of which the last two
    keep the share a of themselves: (A - I)(A - aI) = 0. At a = 1/2 and rows (1/2, 1/2, 0), (1/4, 1/4, 1/2) it is not
    zero.

    The limit of the powers, rows (1, 0, 0), does not need it: decoder.powers_tend_to_the_first_token.
    """
    zero = 0 * a
    first = np.concatenate([zero + 1, zero, zero], axis=-1)
    second = np.concatenate([1 - a, a, zero], axis=-1)
    third = np.concatenate([(1 - a) * p[..., :1], (1 - a) * p[..., 1:], a], axis=-1)
    A = np.concatenate([first, second, third], axis=-2)
    identity = eye(3, like=A)
    return equal((A - identity) @ (A - a * identity), 0)


@claim(
    "decoder.defective_matrix",
    over={"b": Positive()},
    source=f"beside {GLASSES}, Proposition B.8",
)
def decoder_defective_matrix(b):
    """[[1, 0, 0], [1/2, 1/2, 0], [c, 1/2 - c, 1/2]] with 0 < c < 1/2, a causal attention matrix that meets the
    assumptions, has the eigenvalue 1/2 twice and one eigenvector for it: A - I/2 has rank 2.
    """
    half, c = exact(1, 2), b / (2 * (1 + b))
    zero = 0 * b
    first = np.concatenate([zero + 1, zero, zero], axis=-1)
    second = np.concatenate([zero + half, zero + half, zero], axis=-1)
    third = np.concatenate([c, half - c, zero + half], axis=-1)
    A = np.concatenate([first, second, third], axis=-2)
    return every(equal(total(A), 1), equal(rank((A - half * eye(3, like=A)) * (1 + b)), 2))


@claim(
    "decoder.powers_tend_to_the_first_token",
    over={"A": Causal("n"), "k": Count("k")},
    sizes={"n": range(1, 4), "k": range(1, 9)},
    source=f"{GLASSES}, Lemma B.6, with a rate",
)
def decoder_powers_tend_to_the_first_token(A, k):
    """What k equal layers of causal attention leave outside the first token is at most (1 - min_i A_i1)^k."""
    power, left, bound = A, 1 - _least_first(A), ones((1, 1), like=A)
    for _ in range(k - 1):
        power = A @ power
    for _ in range(k):
        bound = bound * left
    return at_most(1 - power[..., :1], bound)


def _least_first(A):
    return -amax(-A[..., :1], -2)


# ---- the lambda-skip --------------------------------------------------------


def condition(a, S, C, lam):
    """lambda^2 > a (S C + |lambda|)^2, as quoted."""
    return more_than(square(lam), a * square(S * C + absolute(lam)))


@claim(
    "lambda_skip.guarantee_decays",
    over={"a": Scalar(0, 2), "S": Scalar(0, 4), "C": Scalar(0, 4), "lam": Scalar(-100, 100)},
    assuming=(condition,),
    source=LAMBDA,
)
def lambda_skip_guarantee_decays(a):
    """The condition under which a skip lambda X is said to keep mu^2 at a^L times its start forces a < 1: the guarantee
    itself decays geometrically, and at infinite depth it promises nothing.
    """
    return less_than(a, 1)


@claim(
    "lambda_skip.every_sign",
    over={"X": Matrix(2, "d"), "t": Scalar(0, 1)},
    sizes={"d": range(1, 4)},
    source=f"{LAMBDA}, read for every sign of lambda",
    expect="fails",
)
def lambda_skip_every_sign(X, t):
    """Tempting and false: A X + lambda X keeps at least a millionth of the squared distance of two tokens, for some
    small a and any lambda. With A = ((1 + t, 1 - t), (1 - t, 1 + t))/2 and lambda = -t both rows are equal.
    """
    high, low = (1 + t) / 2, (1 - t) / 2
    rows = [np.concatenate(pair, axis=-1) for pair in ((high, low), (low, high))]
    Y = np.concatenate(rows, axis=-2) @ X - t * X
    apart = [total(square(M[..., :1, :] - M[..., 1:, :])) for M in (X, Y)]
    return at_least(1_000_000 * apart[1], apart[0])
