"""Attention alone collapses: what one layer or a stack does to the diameter of a cloud of tokens.

Source, where none is named: "The Transformer Block and the Residual Stream" (Theorem 1).
"""

import numpy as np

from resstream.arithmetic import (
    amax,
    amin,
    exact,
    exp,
    mean,
    ones,
    square,
    tanh,
    total_entry,
    where,
    zeros,
)
from resstream.claim import at_most, claim, equal, every
from resstream.claims.sources import PAGE
from resstream.domains import (
    Causal,
    DoublyStochastic,
    Matrix,
    Norm,
    RowStochastic,
    Scalar,
    Scores,
    Stack,
)
from resstream.reference import (
    L1,
    LINF,
    causal_mask,
    diameter,
    dobrushin,
    operator_norm,
    pairwise_distances,
    row_range,
    smoothing_stack,
    softmax,
    spectral_norm,
)

# ---- one layer --------------------------------------------------------------


@claim(
    "contraction.diameter",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "norm": Norm("d")},
    source=f"{PAGE}, Theorem 1 (i)",
)
def contraction_diameter(A, X, norm):
    """A row-stochastic matrix shrinks the diameter at least by its Dobrushin coefficient, in every norm:
    diam(AX) <= tau(A) diam(X).
    """
    return at_most(diameter(A @ X, norm), dobrushin(A) * diameter(X, norm))


@claim(
    "contraction.diameter_squared",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "norm": Norm("d")},
    source="a tempting strengthening of Theorem 1 (i)",
    expect="fails",
)
def contraction_diameter_squared(A, X, norm):
    """Tempting and false: diam(AX) <= tau(A)^2 diam(X). The bound of the theorem is attained, at tau = 1/2 for one."""
    return at_most(diameter(A @ X, norm), dobrushin(A) * dobrushin(A) * diameter(X, norm))


@claim(
    "contraction.seminorm",
    over={
        "A": RowStochastic("n"),
        "X": Matrix("n", "d"),
        "T": Matrix("d", "e"),
        "norm": Norm("e", bases=False),
    },
    sizes={"n": range(1, 6), "d": range(1, 5), "e": range(1, 5)},
    source=f"after {PAGE}, Theorem 1 (i)",
)
def contraction_seminorm(A, X, T, norm):
    """The contraction holds in every seminorm too: seen through any linear map T, the cloud shrinks by tau.

    Proof: (AX)T = A(XT), so this is `contraction.diameter` of the cloud XT. A subspace that a later head reads is one.
    """
    return at_most(diameter(A @ X @ T, norm), dobrushin(A) * diameter(X @ T, norm))


@claim(
    "contraction.duality",
    over={"A": RowStochastic("n", "m")},
    sizes={"n": range(1, 6), "m": range(1, 6)},
    source=f"after {PAGE}, Theorem 1 (i)",
)
def contraction_duality(A):
    """tau is the best constant: tau(A) is the largest diameter of A x over clouds x of zeros and ones on the line.

    Proof: for rows i and j take x = 1 where A_ik > A_jk; the two images differ by the positive part, which sums to
    their share of tau. So for every A some cloud in one dimension attains the bound of Theorem 1 (i).
    """
    m = A.shape[-1]
    subsets = (np.arange(2**m) >> np.arange(m)[:, None]) & 1
    clouds = where(subsets == 1, ones((1, 1), A), zeros((1, 1), A))
    images = A @ clouds
    return equal(dobrushin(A), amax(amax(images, -2) - amin(images, -2)))


@claim(
    "contraction.value_map",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "W": Matrix("d", "d"), "norm": Norm("d")},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source=f"{PAGE}, Theorem 1 (iii), one layer",
)
def contraction_value_map(A, X, W, norm):
    """A layer with a value map: diam(AXW) <= tau(A) ||W|| diam(X), the operator norm taken in the same norm."""
    return at_most(diameter(A @ X @ W, norm), dobrushin(A) * operator_norm(W, norm) * diameter(X, norm))


@claim(
    "contraction.other_operator_norm",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "W": Matrix("d", "d")},
    sizes={"n": range(2, 5), "d": range(2, 5)},
    source="a tempting misreading of Theorem 1 (iii): numpy.linalg.norm(W, 1) is the norm of W as a map of columns",
    expect="fails",
)
def contraction_other_operator_norm(A, X, W):
    """Tempting and false: in the l1 norm, diam(AXW) <= tau(A) N diam(X) with N the largest absolute *column* sum of W.

    Row vectors need the largest row sum; the largest column sum belongs to the maximum norm.
    """
    return at_most(diameter(A @ X @ W, L1), dobrushin(A) * operator_norm(W, LINF) * diameter(X, L1))


@claim(
    "contraction.every_pair",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d")},
    sizes={"n": range(3, 6), "d": range(1, 4)},
    source="a tempting reading of Theorem 1 (i)",
    expect="fails",
)
def contraction_every_pair(A, X):
    """Tempting and false: averaging brings every single pair closer, ||(AX)_i - (AX)_j|| <= ||x_i - x_j||.

    Only the widest pair must shrink: two equal tokens that look at different ends of the cloud move apart.
    """
    return at_most(pairwise_distances(A @ X), pairwise_distances(X))


@claim(
    "contraction.deviation",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d")},
    sizes={"n": range(3, 6), "d": range(1, 4)},
    source="a tempting reading of Theorem 1 (i)",
    expect="fails",
)
def contraction_deviation(A, X):
    """Tempting and false: averaging never raises the Frobenius distance of the cloud from its mean token.

    X = (0, 0, 0, 1) and rows that copy tokens 1, 1, 4, 4: the squared deviation grows from 3/4 to 1.
    """
    return at_most(_squared_deviation(A @ X), _squared_deviation(X))


@claim(
    "contraction.deviation_doubly_stochastic",
    over={"A": DoublyStochastic("n"), "X": Matrix("n", "d")},
    sizes={"n": range(1, 5), "d": range(1, 4)},
    source="the case in which `contraction.deviation` is true",
)
def contraction_deviation_doubly_stochastic(A, X):
    """Where the columns of A sum to one as well, the mean token stays and the Frobenius distance from it never grows.

    Proof: A is a mixture of permutations, which keep both.
    """
    return every(equal(mean(A @ X, -2), mean(X, -2)), at_most(_squared_deviation(A @ X), _squared_deviation(X)))


@claim(
    "contraction.mean_token",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d")},
    sizes={"n": range(2, 6), "d": range(1, 4)},
    source="a tempting reading of `attention averages`",
    expect="fails",
)
def contraction_mean_token(A, X):
    """Tempting and false: attention keeps the mean token. That needs columns that sum to one."""
    return equal(mean(A @ X, -2), mean(X, -2))


def _squared_deviation(X):
    """Squared Frobenius distance of a cloud from its mean token: (..., n, d) -> (..., 1, 1)."""
    return total_entry(square(X - mean(X, -2)))


# ---- scores -----------------------------------------------------------------


@claim("contraction.scores", over={"S": Scores("n", "m")}, source=f"{PAGE}, Theorem 1 (ii)")
def contraction_scores(S):
    """Scores whose rows have range at most r give tau(softmax S) <= 1 - exp(-r)."""
    return at_most(dobrushin(softmax(S)), 1 - exp(-row_range(S)))


@claim(
    "contraction.scores_sharp",
    over={"S": Scores("n", "m")},
    source=f"sharper than {PAGE}, Theorem 1 (ii); from Birkhoff's contraction",
)
def contraction_scores_sharp(S):
    """Scores whose rows have range at most r give tau(softmax S) <= tanh(r/2), attained with an even number of keys.

    Proof: the log-ratio of two rows of weights ranges over at most 2r, so this is `literature.birkhoff_rows`. Equality:
    one row of n/2 scores r and n/2 scores 0, and the same row reversed. tanh(r/2) <= 1 - exp(-r), as both are
    (1 - exp(-r)) over 1 + exp(-r) and over 1.
    """
    return at_most(dobrushin(softmax(S)), tanh(row_range(S) / 2))


def extreme_tau(r, m):
    """Total variation of two rows of m weights, of which k = floor(m/2) are e^r times the others in the one and the
    others e^r times those in the other: k e^r/(k e^r + m - k) - k/(k + (m - k) e^r), (..., 1, 1).
    """
    k, grown = m // 2, exp(r)
    return k * grown / (k * grown + (m - k)) - k / (k + (m - k) * grown)


@claim(
    "contraction.scores_exact",
    over={"S": Scores("n", "m"), "r": Scalar(0)},
    sizes={"n": range(2, 5), "m": range(1, 7)},
    source=f"the supremum in {PAGE}, Theorem 1 (ii)",
)
def contraction_scores_exact(S, r):
    """The largest tau(softmax S) of m keys whose rows have range r is f(k) = k e^r/(k e^r + m - k) - k/(k + (m - k)
    e^r) at k = floor(m/2), and it is attained: tanh(r/2) for an even number of keys, less for an odd one (.4208 in
    place of .4621 at m = 3, r = 1).

    Proof: on the k keys where one row is heavier it has at most k e^r/(k e^r + m - k), and the other at least
    k/(k + (m - k) e^r). As a function of k, f is symmetric about m/2 and rises up to there.
    """
    m = S.shape[-1]
    first = np.arange(m) < m // 2
    rows = [r * places + 0 * S[..., :1, :] for places in (first, ~first)]
    attained = softmax(np.concatenate(rows, axis=-2))
    return every(
        at_most(dobrushin(softmax(S)), extreme_tau(row_range(S), m)),
        equal(dobrushin(attained), extreme_tau(r, m)),
    )


@claim(
    "contraction.scores_too_sharp",
    over={"S": Scores("n")},
    sizes={"n": range(2, 5)},
    source="a tempting strengthening of contraction.scores_sharp",
    expect="fails",
)
def contraction_scores_too_sharp(S):
    """Tempting and false: tau(softmax S) <= 0.99 tanh(r/2). At n = 2, scores (r, 0) and (0, r) attain tanh(r/2)."""
    return at_most(dobrushin(softmax(S)), exact(99, 100) * tanh(row_range(S) / 2))


@claim(
    "contraction.scores_quarter",
    over={"S": Scores("n")},
    sizes={"n": range(2, 5)},
    source="a tempting reading of Birkhoff's contraction",
    expect="fails",
)
def contraction_scores_quarter(S):
    """Tempting and false: tau(softmax S) <= tanh(r/4) for rows of range r.

    tanh(r/4) is for the range r of a *difference* of two rows; two rows of range r may differ by a row of range 2r.
    """
    return at_most(dobrushin(softmax(S)), tanh(row_range(S) / 4))


@claim("contraction.causal", over={"A": Causal("n")}, source=f"beyond {PAGE}, Theorem 1 (ii)")
def contraction_causal(A):
    """Under the causal mask tau(A) = 1 - min_i A_i1: all that two rows must share is the first token.

    Proof: row 1 is (1, 0, ..., 0), so its overlap with row i is exactly A_i1. Any two rows share at least the smaller
    of their first entries, so no pair overlaps less than the worst of these.
    """
    return equal(dobrushin(A), 1 - amin(A[..., :1], -2))


@claim("contraction.causal_scores", over={"S": Scores("n")}, source=f"beyond {PAGE}, Theorem 1 (ii)")
def contraction_causal_scores(S):
    """Causal attention whose allowed scores range over at most r has tau <= 1 - 1/(1 + (n - 1) exp(r)).

    Proof: by `contraction.causal`, tau is one minus a first weight, and a first weight is at least
    1/(1 + (n - 1) exp(r)), as no other allowed score is more than r above the first.

    The printed bound 1 - exp(-r) speaks of rows whose scores all are finite, hence not of the page's own mask.
    """
    n = S.shape[-1]
    A, r = softmax(S, causal_mask(n)), _causal_range(S)
    return at_most(dobrushin(A), 1 - 1 / (1 + (n - 1) * exp(r)))


@claim(
    "contraction.scores_under_mask",
    over={"S": Scores("n")},
    sizes={"n": range(2, 6)},
    source=f"a tempting use of {PAGE}, Theorem 1 (ii)",
    expect="fails",
)
def contraction_scores_under_mask(S):
    """Tempting and false: tau <= 1 - exp(-r) also under the causal mask, with r the range of the allowed scores.

    The bound needs finite scores, and its source states it of such. Uniform causal attention has r = 0, tau = 1 - 1/n.
    """
    A = softmax(S, causal_mask(S.shape[-1]))
    return at_most(dobrushin(A), 1 - exp(-_causal_range(S)))


def _causal_range(S):
    """Largest range of the allowed scores of a row: (..., n, n) -> (..., 1, 1)."""
    return row_range(where(causal_mask(S.shape[-1]), S, S[..., :1]))


@claim(
    "contraction.cubic",
    over={"X": Matrix("n", "d"), "M": Matrix("d", "d")},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source=f"beyond {PAGE}, which cites Dong, Cordonnier and Loukas (2021) for the doubly exponential rate",
)
def contraction_cubic(X, M):
    """With A = softmax(X M X'), diam(AX) <= tanh(||M|| diam(X)^2 / 4) diam(X), hence at most ||M|| diam(X)^3 / 4:
    a small cloud shrinks to the third power of its diameter, so a stack collapses doubly exponentially.

    Proof: the scores of tokens i and j differ by (x_i - x_j) M x_k, whose range over k is at most ||M|| diam(X)^2. So
    `literature.birkhoff_rows` gives tau(A) <= tanh(||M|| diam(X)^2 / 4), and `contraction.diameter` finishes.
    """
    before = diameter(X)
    after = diameter(softmax(X @ M @ X.mT) @ X)
    step = spectral_norm(M) * square(before) / 4
    return every(at_most(after, tanh(step) * before), at_most(after, step * before))


# ---- stacks -----------------------------------------------------------------

LAYERS = {"n": range(1, 5), "d": range(1, 4), "L": range(1, 4)}


@claim(
    "contraction.stack",
    over={
        "As": Stack("L", RowStochastic("n")),
        "X": Matrix("n", "d"),
        "Ws": Stack("L", Matrix("d", "d")),
        "norm": Norm("d"),
    },
    sizes=LAYERS,
    source=f"{PAGE}, Theorem 1 (iii)",
)
def contraction_stack(As, X, Ws, norm):
    """The pure attention stack shrinks the diameter at least by the product of tau(A_l) ||W_l||, in every norm."""
    bound = diameter(X, norm)
    for step in steps(As, Ws, norm):
        bound = step * bound
    return at_most(diameter(smoothing_stack(As, X, Ws)[-1], norm), bound)


def steps(As, Ws, norm):
    """tau(A_l) ||W_l|| of every layer."""
    return [dobrushin(A) * operator_norm(W, norm) for A, W in zip(As, Ws, strict=True)]
