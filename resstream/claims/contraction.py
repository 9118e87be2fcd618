"""Attention alone collapses: Dobrushin's coefficient, and what one layer or a stack does to the diameter.

Source, where none is named: "The Transformer Block and the Residual Stream" (Definition 2, Theorem 1, Proposition 2).
"""

import numpy as np

from resstream.arithmetic import (
    amax,
    amin,
    constant,
    exact,
    exp,
    mean,
    minimum,
    ones,
    square,
    tanh,
    total,
    total_entry,
    where,
    zeros,
)
from resstream.claim import at_least, at_most, claim, equal, every, less_than
from resstream.claims.sources import PAGE
from resstream.domains import (
    Causal,
    DoublyStochastic,
    Matrix,
    Norm,
    Positive,
    PositiveSemidefinite,
    RowStochastic,
    Scalar,
    Scores,
    Simplex,
    Stack,
)
from resstream.reference import (
    L1,
    LINF,
    causal_mask,
    diameter,
    dobrushin,
    dobrushin_overlap,
    operator_norm,
    pairwise_distances,
    row_norms,
    row_range,
    skip_stack,
    smoothing_stack,
    softmax,
    spectral_norm,
)
from resstream.reference.spectrum import second_modulus

# ---- Dobrushin's coefficient ------------------------------------------------


@claim(
    "dobrushin.two_forms",
    over={"A": RowStochastic("n", "m")},
    source=f"{PAGE}, Definition 2",
)
def dobrushin_two_forms(A):
    """Half the largest l1 distance of two rows is one minus the smallest overlap of two rows.

    Proof: |a - b| = a + b - 2 min(a, b) for numbers, and two probability vectors sum to 2 together.
    """
    return equal(dobrushin(A), dobrushin_overlap(A))


@claim("dobrushin.range", over={"A": RowStochastic("n", "m")}, source=f"{PAGE}, Definition 2")
def dobrushin_range(A):
    """Dobrushin's coefficient lies between 0 and 1."""
    return every(at_least(dobrushin(A), 0), at_most(dobrushin(A), 1))


@claim(
    "dobrushin.zero_iff_equal_rows",
    over={"p": Simplex("m"), "A": RowStochastic("n", "m")},
    source=f"{PAGE}, after Definition 2",
)
def dobrushin_zero_iff_equal_rows(p, A):
    """tau vanishes when all rows are equal, and only then: no two rows differ by more than tau in any entry.

    Proof of the second part: the positive part of a difference of two rows sums to their share of tau, so no single
    entry of it is larger; the negative part likewise.
    """
    equal_rows = ones((*A.shape[-2:-1], 1), like=p) @ p
    return every(equal(dobrushin(equal_rows), 0), at_most(amax(A, -2) - amin(A, -2), dobrushin(A)))


@claim(
    "dobrushin.one_iff_disjoint_rows",
    over={"p": Simplex("m"), "q": Simplex("k"), "A": RowStochastic("n", "m")},
    sizes={"n": range(2, 6), "m": range(1, 5), "k": range(1, 5)},
    source=f"{PAGE}, after Definition 2",
)
def dobrushin_one_iff_disjoint_rows(p, q, A):
    """tau is 1 when two rows have disjoint supports, and only then: 1 - tau is at least the largest entry that the
    least overlapping pair of rows has in common.

    The printed text says "when"; the second form of tau gives "only when" as well.
    """
    disjoint = np.concatenate(
        [np.concatenate([p, 0 * q], axis=-1), np.concatenate([0 * p, q], axis=-1)],
        axis=-2,
    )
    pairs = [minimum(A[..., k:, :], A[..., :-k, :]) for k in range(1, A.shape[-2])]
    shared = amin(amax(np.concatenate(pairs, axis=-2)), -2)
    return every(equal(dobrushin(disjoint), 1), at_least(1 - dobrushin(A), shared))


@claim(
    "dobrushin.positive_is_below_one",
    over={"weights": Positive("n", "m")},
    source="Doeblin's condition; with Definition 2",
)
def dobrushin_positive_is_below_one(weights):
    """A matrix whose columns are bounded below contracts: tau <= 1 - sum_k min_i A_ik, below 1 for positive A.

    Proof: every pair of rows shares at least min_i A_ik in column k. A softmax without a mask is such a matrix.
    """
    A = weights / total(weights)
    return every(at_most(dobrushin(A), 1 - total(amin(A, -2))), less_than(dobrushin(A), 1))


@claim(
    "dobrushin.submultiplicative",
    over={"A": RowStochastic("n", "m"), "B": RowStochastic("m", "k")},
    source="Dobrushin (1956); Seneta, Non-negative Matrices and Markov Chains (1981)",
)
def dobrushin_submultiplicative(A, B):
    """tau(AB) <= tau(A) tau(B).

    Proof: half the l1 diameter of the rows of B is tau(B), so this is `contraction.diameter` with X = B.
    """
    return at_most(dobrushin(A @ B), dobrushin(A) * dobrushin(B))


@claim(
    "dobrushin.submultiplicative_by_half",
    over={"A": RowStochastic("n", "m"), "B": RowStochastic("m", "k")},
    sizes={"n": range(2, 5), "m": range(2, 5), "k": range(2, 5)},
    source="a tempting strengthening of submultiplicativity",
    expect="fails",
)
def dobrushin_submultiplicative_by_half(A, B):
    """Tempting and false: tau(AB) <= tau(A) tau(B) / 2. With A = B = I the left side is 1."""
    return at_most(dobrushin(A @ B), dobrushin(A) * dobrushin(B) / 2)


@claim(
    "dobrushin.bounds_second_eigenvalue",
    over={"A": RowStochastic("n")},
    sizes={"n": range(1, 5)},
    source="Dobrushin (1956); Seneta (1981)",
)
def dobrushin_bounds_second_eigenvalue(A):
    """The second largest modulus of an eigenvalue is at most tau: one fixed layer, repeated, forgets at least
    as fast as tau says.

    Proof: the eigenvector of another eigenvalue than the first is not constant, and `contraction.diameter` holds of
    complex clouds too: |lambda| diam(v) = diam(Av) <= tau diam(v).
    """
    return at_most(second_modulus(A), dobrushin(A))


@claim(
    "dobrushin.second_eigenvalue_from_below",
    over={"A": RowStochastic("n")},
    sizes={"n": range(3, 5)},
    source="a tempting converse of dobrushin.bounds_second_eigenvalue",
    expect="fails",
)
def dobrushin_second_eigenvalue_from_below(A):
    """Tempting and false: |lambda_2| >= tau/100. Rows that hand one token on by steps have tau 1 and lambda_2 0."""
    return at_least(100 * second_modulus(A), dobrushin(A))


@claim(
    "dobrushin.convex",
    over={"A": RowStochastic("n", "m"), "B": RowStochastic("n", "m"), "t": Scalar(0, 1)},
    source="Seneta (1981)",
)
def dobrushin_convex(A, B, t):
    """tau is convex: a mixture of two attention matrices has at most the mixture of their coefficients.

    Proof: tau is a maximum of norms of linear functions of A.
    """
    return at_most(dobrushin(t * A + (1 - t) * B), t * dobrushin(A) + (1 - t) * dobrushin(B))


@claim(
    "dobrushin.distributions",
    over={"p": Simplex("n"), "q": Simplex("n"), "A": RowStochastic("n", "m")},
    source="Dobrushin (1956)",
)
def dobrushin_distributions(p, q, A):
    """Two distributions are closer after a step of the chain, in l1: ||pA - qA||_1 <= tau(A) ||p - q||_1."""
    return at_most(row_norms(p @ A - q @ A, L1), dobrushin(A) * row_norms(p - q, L1))


@claim(
    "dobrushin.distributions_euclidean",
    over={"p": Simplex("n"), "q": Simplex("n"), "A": RowStochastic("n", "m")},
    sizes={"n": range(4, 7), "m": range(2, 4)},
    source="a tempting reading of Dobrushin's contraction",
    expect="fails",
)
def dobrushin_distributions_euclidean(p, q, A):
    """Tempting and false: ||pA - qA||_2 <= tau(A) ||p - q||_2. The contraction of distributions is an l1 statement.

    Stated with squares, so that rationals decide it. Where p and q are uniform on disjoint pairs, and A sends each
    pair to one state, the left side is 2 and the right side 1.
    """
    squared = total(square(p @ A - q @ A))
    return at_most(squared, square(dobrushin(A)) * total(square(p - q)))


@claim(
    "dobrushin.spectral_norm",
    over={"A": RowStochastic("n")},
    sizes={"n": range(2, 6)},
    source="a tempting reading of `row-stochastic`",
    expect="fails",
)
def dobrushin_spectral_norm(A):
    """Tempting and false: a row-stochastic matrix has spectral norm at most 1.

    It has at least 1, since A1 = 1, and more whenever its columns do not sum to one: averaging is no contraction of
    columns in the Euclidean norm, but in the maximum norm.
    """
    return at_most(spectral_norm(A), 1)


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

    Printed: the bound of Theorem 1 (ii), beside a block whose softmax carries a causal mask.
    Right: the bound needs finite scores. Uniform causal attention has r = 0 and tau = 1 - 1/n.
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
    for step in _steps(As, Ws, norm):
        bound = step * bound
    return at_most(diameter(smoothing_stack(As, X, Ws)[-1], norm), bound)


def _steps(As, Ws, norm):
    """tau(A_l) ||W_l|| of every layer."""
    return [dobrushin(A) * operator_norm(W, norm) for A, W in zip(As, Ws, strict=True)]


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
    return every(*(at_most(step, 1) for step in _steps(As, Ws, norm)))


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
    for step in _steps(As, Ws, norm):
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
def skip_stack_product_any_steps(As, X, Ws, norm):
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
    for step in _steps(As, Ws, norm):
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
