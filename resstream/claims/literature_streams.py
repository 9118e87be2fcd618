"""Published statements on streams: several of them, sums over depth, and what reaches the last token of a decoder.

A paper that was not seen itself is cited as quoted by others, and nothing here says what it prints.
"""

import numpy as np

from resstream.arithmetic import (
    absolute,
    amax,
    amin,
    exact,
    eye,
    jacobian,
    mean,
    ones,
    square,
    total,
)
from resstream.claim import at_least, at_most, claim, equal, every, less_than, more_than
from resstream.claims.literature_depth import bend
from resstream.domains import (
    Causal,
    Count,
    DoublyStochastic,
    Matrix,
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
    row_norms,
    softmax,
    spectral_norm,
)
from resstream.reference.spectrum import rank

GLASSES = "Barbero and others, Transformers need glasses! (arXiv 2406.04267), in a transcription"
LAMBDA = "on lambda-skip connections (arXiv 2410.10609), as quoted by its reviews"
HYPER = "Xie and others, mHC: Manifold-constrained hyper-connections (2025), as quoted by notes on it"

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
