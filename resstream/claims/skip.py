"""The skip keeps the diameter: Proposition 2 of "The Transformer Block and the Residual Stream", and around it."""

import numpy as np

from resstream.arithmetic import (
    constant,
    eye,
    ones,
    square,
    total,
)
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.claims.contraction import LAYERS, steps
from resstream.claims.sources import PAGE
from resstream.domains import (
    Count,
    Matrix,
    Norm,
    Positive,
    PositiveSemidefinite,
    RowStochastic,
    Scalar,
    Simplex,
    Stack,
    Tokens,
)
from resstream.reference import (
    LINF,
    diameter,
    dobrushin,
    operator_norm,
    pairwise_distances,
    skip_stack,
    softmax,
)

# ---- the skip ---------------------------------------------------------------


@claim(
    "skip.diameter",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "W": Matrix("d", "d"), "norm": Norm("d")},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source=f"{PAGE}, Proposition 2",
)
def skip_diameter(A, X, W, norm):
    """With the skip, X' = X + AXW keeps its widest gap: diam(X') >= (1 - tau(A) ||W||) diam(X)."""
    kept = 1 - dobrushin(A) * operator_norm(W, norm)
    return at_least(diameter(X + A @ X @ W, norm), kept * diameter(X, norm))


@claim(
    "skip.pairs",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "W": Matrix("d", "d"), "norm": Norm("d")},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source=f"{PAGE}, Proposition 2",
)
def skip_pairs(A, X, W, norm):
    """With the skip no pair loses more than tau(A) ||W|| diam(X), whatever its own gap."""
    correction = dobrushin(A) * operator_norm(W, norm) * diameter(X, norm)
    return at_least(pairwise_distances(X + A @ X @ W, norm), pairwise_distances(X, norm) - correction)


@claim(
    "skip.pairs_in_proportion",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "w": Scalar(0, 1)},
    sizes={"n": range(3, 6), "d": range(1, 4)},
    source=f"a tempting reading of {PAGE}, Proposition 2",
    expect="fails",
)
def skip_pairs_in_proportion(A, X, w):
    """Tempting and false: the skip keeps every pair apart, ||x'_i - x'_j|| >= (1 - tau(A) ||W||) ||x_i - x_j||, W = wI.

    The correction is relative to the diameter, not to the pair's own gap: see `skip.merged_pair`.
    """
    kept = 1 - dobrushin(A) * w
    return at_least(pairwise_distances(X + A @ X * w, LINF), kept * pairwise_distances(X, LINF))


@claim(
    "skip.merged_pair",
    over={"p": Simplex(3), "width": Positive()},
    source=f"{PAGE}, after Proposition 2",
)
def skip_merged_pair(p, width):
    """A small gap can vanish under the skip while the diameter stays: a family in which the first two tokens merge.

    For probabilities (p_1, p_2, p_3): tokens 0, p_3 b and b on the line, attention rows (p_1, 0, p_2 + p_3),
    (p_1 + p_3, 0, p_2) and the first again, so tau = p_3. The printed case is p = (0.9, 0.09, 0.01), b = 10.
    """
    p_1, p_2, p_3 = p[..., :1], p[..., 1:2], p[..., 2:]
    outer = np.concatenate([p_1, 0 * p_1, p_2 + p_3], axis=-1)
    inner = np.concatenate([p_1 + p_3, 0 * p_1, p_2], axis=-1)
    A = np.concatenate([outer, inner, outer], axis=-2)
    X = np.concatenate([0 * width, p_3 * width, width], axis=-2)
    after = X + A @ X
    return every(
        equal(dobrushin(A), p_3),
        equal(after[..., :1, :], after[..., 1:2, :]),
        equal(diameter(after), width),
        equal(diameter(X), width),
    )


def every_step_at_most_one(As, Ws, norm):
    """tau(A_l) ||W_l|| <= 1 in every layer."""
    return every(*(at_most(step, 1) for step in steps(As, Ws, norm)))


SKIP_STACK = {
    "As": Stack("L", RowStochastic("n")),
    "X": Matrix("n", "d"),
    "Ws": Stack("L", Matrix("d", "d")),
    "norm": Norm("d"),
}


@claim(
    "skip.stack_product",
    over=SKIP_STACK,
    assuming=(every_step_at_most_one,),
    sizes=LAYERS,
    source=f"{PAGE}, Proposition 2",
)
def skip_stack_product(As, X, Ws, norm):
    """A stack with the skip keeps at least the product of 1 - tau(A_l) ||W_l|| of the diameter, where no factor is
    negative.
    """
    bound = diameter(X, norm)
    for step in steps(As, Ws, norm):
        bound = (1 - step) * bound
    return at_least(diameter(skip_stack(As, X, Ws)[-1], norm), bound)


@claim(
    "skip.stack_product_any_steps",
    over={
        "As": Stack(2, RowStochastic("n")),
        "X": Matrix("n", "d"),
        "Ws": Stack(2, Matrix("d", "d")),
        "norm": Norm("d"),
    },
    sizes={"n": range(2, 5), "d": range(1, 3)},
    source=f"{PAGE}, Proposition 2, without its condition",
    expect="fails",
)
def skip_stack_product_anysteps(As, X, Ws, norm):
    """Tempting and false: the product bound without its condition. Two negative factors have a positive product."""
    return skip_stack_product.conclusion(As, X, Ws, norm)


@claim(
    "skip.stack_sum",
    over=SKIP_STACK,
    assuming=(every_step_at_most_one,),
    sizes=LAYERS,
    source=f"{PAGE}, Proposition 2",
)
def skip_stack_sum(As, X, Ws, norm):
    """A stack of small updates cannot erase the diameter: the product of 1 - a_l is at least 1 - sum a_l, for
    a_l = tau(A_l) ||W_l|| in [0, 1], and so is what the stack keeps of the diameter.
    """
    product, kept = constant(1, X), constant(1, X)
    for step in steps(As, Ws, norm):
        product, kept = product * (1 - step), kept - step
    return every(
        at_least(product, kept),
        at_least(diameter(skip_stack(As, X, Ws)[-1], norm), kept * diameter(X, norm)),
    )


@claim(
    "skip.common_translation",
    over={"p": Simplex("n"), "X": Matrix("n", "d"), "W": Matrix("d", "d")},
    source=f"{PAGE}, after Proposition 2",
)
def skip_common_translation(p, X, W):
    """Where all attention rows are equal, the skip only translates the cloud: every difference of tokens is kept."""
    A = ones((X.shape[-2], 1), like=p) @ p
    after = X + A @ X @ W
    return equal(after - after[..., :1, :], X - X[..., :1, :])


@claim(
    "skip.common_token_doubles",
    over={"X": Matrix("n", "d"), "L": Count("L"), "token": Tokens(1, "n")},
    sizes={"n": range(2, 5), "d": range(1, 4), "L": range(1, 9)},
    source=f"{PAGE}, after Proposition 2",
)
def skip_common_token_doubles(X, L, token):
    """Once every row sits on one token x_j, L layers of the skip add (2^L - 1) x_j to every token: differences stay,
    the common part doubles with each layer, and so the relative spread tends to a half of what it was, layer by layer.
    """
    A = ones((X.shape[-2], 1), like=X) @ token
    identity = eye(X.shape[-1], like=X)
    last = skip_stack([A] * L, X, [identity] * L)[-1]
    return equal(last, X + (2**L - 1) * (token @ X))


@claim(
    "skip.expansive",
    over={"X": Matrix("n", "d"), "beta": Scalar(0)},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source=f"beyond {PAGE}, which reports that the laboratory's diameters never shrink",
)
def skip_expansive(X, beta):
    """With A = softmax(beta X X'), beta >= 0, the skip X + AX brings no two tokens closer in the Euclidean norm.

    Proof: (AX)_i is the gradient at x_i of log(sum_k exp(beta <q, x_k>))/beta, a convex function of q. Gradients of
    convex functions are monotone, so <x_i - x_j, (AX)_i - (AX)_j> >= 0, and the cross term of the new squared distance
    is not negative. (At beta = 0 the gradient is the mean token, the same for all.)
    """
    return at_least(_squared_distances(X + softmax(beta * (X @ X.mT)) @ X), _squared_distances(X))


@claim(
    "skip.expansive_maximum_norm",
    over={"X": Matrix("n", "d")},
    sizes={"n": range(3, 6), "d": range(2, 5)},
    source="a tempting reading of skip.expansive",
    expect="fails",
)
def skip_expansive_maximum_norm(X):
    """Tempting and false: X + softmax(XX')X brings no two tokens closer in the maximum norm. Monotone is Euclidean."""
    return at_least(pairwise_distances(X + softmax(X @ X.mT) @ X, LINF), pairwise_distances(X, LINF))


@claim(
    "skip.expansive_semidefinite",
    over={"X": Matrix("n", "d"), "W": PositiveSemidefinite("d")},
    sizes={"n": range(3, 6), "d": range(2, 4)},
    source="a tempting reading of skip.expansive",
    expect="fails",
)
def skip_expansive_semidefinite(X, W):
    """Tempting and false: X + softmax(XX')XW brings no two tokens closer where W is positive semidefinite.

    The product of two positive semidefinite matrices need not have a nonnegative quadratic form.
    """
    return at_least(_squared_distances(X + softmax(X @ X.mT) @ X @ W), _squared_distances(X))


def _squared_distances(X):
    """Squared Euclidean distance of every pair of rows: (..., n, d) -> (..., n, n). No root, so ties are exact."""
    return np.concatenate([total(square(X - X[..., i : i + 1, :])) for i in range(X.shape[-2])], axis=-1)
