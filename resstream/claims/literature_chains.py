"""Published statements on products of stochastic matrices, which attention patterns are."""

import numpy as np

from resstream.arithmetic import amax, amin, eye, log, minimum, ones, power, tanh, where, zeros
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.domains import Causal, Mask, RowStochastic, Scores, Simplex, Stack, Vector
from resstream.reference import (
    L1,
    dobrushin,
    dobrushin_overlap,
    largest_row_norm,
    row_norms,
    sliding_window_mask,
    softmax,
)
from resstream.reference.spectrum import matrix_power, second_modulus, spectral_radius

# ---- Birkhoff, Hajnal, Seneta -----------------------------------------------


def oscillation(x):
    """Range of every row."""
    return amax(x) - amin(x)


@claim(
    "literature.birkhoff_rows",
    over={"s": Vector("n"), "t": Vector("n")},
    source="after Birkhoff, Extensions of Jentzsch's theorem (1957)",
)
def literature_birkhoff_rows(s, t):
    """Two rows of weights differ in total variation by at most tanh(r/4), r the range of the difference of their
    scores.

    Proof: the likelihood ratio of p = softmax(s) and q = softmax(t) lies in some [a, b] with log(b/a) = r. For given a
    and b the distance is largest where the ratio takes these two values alone, and there it is (1 - a)(b - 1)/(b - a),
    at most (sqrt b - sqrt a)/(sqrt b + sqrt a) = tanh(r/4), reached at ab = 1.
    """
    distance = row_norms(softmax(s) - softmax(t), L1) / 2
    return at_most(distance, tanh(oscillation(s - t) / 4))


@claim(
    "literature.birkhoff",
    over={"S": Scores("n", "m")},
    sizes={"n": range(2, 6), "m": range(1, 6)},
    source="Birkhoff (1957); Seneta (1981)",
)
def literature_birkhoff_bounds_dobrushin(S):
    """Dobrushin's coefficient is at most Birkhoff's: tau(A) <= tanh(D/4), D the projective diameter of A = softmax S.

    D is the largest range of a difference of two rows of scores; the statement is `literature.birkhoff_rows` of each
    pair of rows.
    """
    return at_most(dobrushin(softmax(S)), tanh(_projective_diameter(S) / 4))


def _projective_diameter(S):
    """Largest range of a difference of two rows: (..., n, m) -> (..., 1, 1)."""
    pairs = [S[..., k:, :] - S[..., :-k, :] for k in range(1, S.shape[-2])]
    return amax(oscillation(np.concatenate(pairs, axis=-2)), -2)


@claim(
    "literature.birkhoff_contraction",
    over={"S": Scores("n", "m"), "s": Vector("n"), "t": Vector("n")},
    sizes={"n": range(2, 5), "m": range(2, 5)},
    source="Birkhoff (1957)",
)
def literature_birkhoff_contraction(S, s, t):
    """A positive matrix contracts Hilbert's projective distance of positive rows by tanh(D/4), D its projective
    diameter.

    Hilbert's distance of p and q is the range of log p - log q.
    """
    A, p, q = softmax(S), softmax(s), softmax(t)
    after = oscillation(log(p @ A) - log(q @ A))
    return at_most(after, tanh(_projective_diameter(S) / 4) * oscillation(s - t))


@claim(
    "literature.hajnal",
    over={"A": RowStochastic("n", "m"), "B": RowStochastic("m", "k")},
    source="Hajnal, Weak ergodicity in non-homogeneous Markov chains (1958)",
)
def literature_hajnal(A, B):
    """The largest range of a column of AB is at most tau(A) times that of B.

    Proof: `contraction.diameter` of each column of B, a cloud on the line.
    """
    return at_most(_column_range(A @ B), dobrushin(A) * _column_range(B))


def _column_range(A):
    """Largest range of a column: (..., n, m) -> (..., 1, 1)."""
    return amax(amax(A, -2) - amin(A, -2))


@claim(
    "literature.hajnal_stack",
    over={"As": Stack("L", RowStochastic("n"))},
    sizes={"n": range(1, 5), "L": range(1, 5)},
    source="Hajnal (1958); Seneta (1981)",
)
def literature_hajnal_stack(As):
    """Over a stack of attention patterns the rows of the product agree up to the product of the coefficients: no column
    of A_L ... A_1 has a range above tau(A_L) ... tau(A_1).
    """
    product, bound = As[0], dobrushin(As[0])
    for A in As[1:]:
        product, bound = A @ product, dobrushin(A) * bound
    return at_most(_column_range(product), bound)


@claim(
    "literature.hajnal_columns",
    over={"A": RowStochastic("n", "m"), "B": RowStochastic("m", "k")},
    sizes={"n": range(2, 4), "m": range(4, 6), "k": range(2, 4)},
    source="Hajnal's inequality with the other coefficient",
    expect="fails",
)
def literature_hajnal_columns(A, B):
    """Tempting and false: the largest column ranges multiply, range(AB) <= range(A) range(B).

    A may spread a difference over many columns, which B gathers. (With up to three columns the range is tau itself.)
    """
    return at_most(_column_range(A @ B), _column_range(A) * _column_range(B))


@claim(
    "literature.seneta_range",
    over={"A": RowStochastic("n", "m")},
    source="Seneta, Coefficients of ergodicity: structure and applications (1979)",
)
def literature_seneta_range(A):
    """tau lies between the largest range of a column and half the number of columns times it."""
    widest = _column_range(A)
    return every(at_most(widest, dobrushin(A)), at_most(2 * dobrushin(A), A.shape[-1] * widest))


@claim(
    "literature.seneta_perturbation",
    over={"p": Simplex("n"), "q": Simplex("n"), "A": RowStochastic("n", "m"), "B": RowStochastic("n", "m")},
    source="Seneta, Perturbation of the stationary distribution measured by ergodicity coefficients (1988)",
)
def literature_seneta_perturbation(p, q, A, B):
    """A step of another chain: ||pA - qB||_1 <= tau(A) ||p - q||_1 + the largest l1 distance of rows of A and B.

    Proof: pA - qB = (p - q)A + q(A - B). For stationary p = pA and q = qB it bounds how far they are apart, by the
    second term over 1 - tau(A).
    """
    return at_most(row_norms(p @ A - q @ B, L1), dobrushin(A) * row_norms(p - q, L1) + largest_row_norm(A - B, L1))


# ---- masks ------------------------------------------------------------------


@claim(
    "literature.causal_sink",
    over={"As": Stack("L", Causal("n"))},
    sizes={"n": range(1, 5), "L": range(1, 5)},
    source="Wu, Ajorlou, Wu and Jadbabaie, On the role of attention masks and LayerNorm (2024), the causal mask",
)
def literature_causal_sink(As):
    """Causal attention stacks drift to the first token: what the product leaves to the other tokens is at most the
    product of what the layers leave to them, tau of the product at most the product of all 1 - min_i A_i1.

    Proof: `contraction.causal` makes both sides Dobrushin coefficients, which are submultiplicative.
    """
    product, left = As[0], 1 - amin(As[0][..., :1], -2)
    for A in As[1:]:
        product, left = A @ product, (1 - amin(A[..., :1], -2)) * left
    return every(at_most(1 - amin(product[..., :1], -2), left), at_most(dobrushin(product), left))


def allowed(G):
    """A mask with every token's sight of itself, which the paper assumes."""
    return G | np.eye(G.shape[-1], dtype=bool)


def a_token_reaches_all(S, G):
    """Some token reaches all others in as many steps as there are layers."""
    step = zeros((1, 1), like=S[0]) + allowed(G).astype(int)
    walks = matrix_power(step, len(S))
    return at_least(amax(amin(walks, -2)), 1)


@claim(
    "literature.masked_collapse",
    over={"S": Stack("L", Scores("n")), "G": Mask("n")},
    assuming=(a_token_reaches_all,),
    sizes={"n": range(1, 5), "L": range(1, 5)},
    source="Wu, Ajorlou, Wu and Jadbabaie, On the role of attention masks and LayerNorm (2024), as recalled",
)
def literature_masked_collapse(S, G):
    """Under any mask in which every token sees itself and one token reaches all others in L steps, L layers contract by
    1 - e^L, e the least allowed weight, although each of them alone may not (literature.masked_layer_collapses).

    Proof: along a chain of L allowed weights every token sees that one, so its column of the product is at least e^L.
    """
    mask, product = allowed(G), eye(S[0].shape[-1], like=S[0])
    least = ones((1, 1), like=S[0])
    for scores in S:
        A = softmax(scores, mask)
        product, least = A @ product, minimum(least, amin(amin(where(mask, A, 1)), -2))
    return at_most(dobrushin(product), 1 - power(least, len(S)))


@claim(
    "literature.masked_layer_collapses",
    over={"S": Scores("n")},
    sizes={"n": range(3, 6)},
    source="Theorem 1 (iii) taken for a stack under a sliding window",
    expect="fails",
)
def literature_masked_layer_collapses(S):
    """Tempting and false: under a window of one earlier token, too, a single layer contracts, by 1 - e, e the least
    allowed weight. It takes n - 1 layers (literature.masked_collapse): the first and the third token share no key.
    """
    n = S.shape[-1]
    window = sliding_window_mask(n, 2)
    A = softmax(S, window)
    return at_most(dobrushin_overlap(A), 1 - amin(amin(where(window, A, 1)), -2))


@claim(
    "literature.without_its_mean",
    over={"A": RowStochastic("n")},
    sizes={"n": range(1, 5)},
    source="Nait Saada, Naderi and Tanner, Mind the gap (arXiv 2410.07799), for every row-stochastic matrix",
)
def literature_without_its_mean(A):
    """Attention less the uniform pattern, A - 11'/n, has the second largest modulus of A's eigenvalues as its spectral
    radius: taking the mean off removes the eigenvalue 1 and leaves all others.
    """
    n = A.shape[-1]
    return equal(spectral_radius(A - ones((n, n), like=A) / n), second_modulus(A))
