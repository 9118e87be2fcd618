"""Published statements on rank collapse, and the same with constants that are proved here."""

import numpy as np

from resstream.arithmetic import absolute, amax, constant, exact, exp, mean, sqrt, square, total, total_entry, zeros
from resstream.claim import at_most, claim, every
from resstream.claims.literature_chains import oscillation
from resstream.domains import Matrix, Norm, Stack, Vector
from resstream.reference import diameter, largest_row_norm, softmax, spectral_norm

COLLAPSE = "Dong, Cordonnier and Loukas, Attention is not all you need (2021)"

# ---- rank collapse ----------------------------------------------------------

PERTURBED = {"s": Vector("n"), "E": Vector("n")}


def perturbation_at_most_five_quarters(E):
    """No two entries of E differ by more than 5/4."""
    return at_most(oscillation(E), exact(5, 4))


@claim(
    "literature.collapse_lemma",
    over=PERTURBED,
    assuming=(perturbation_at_most_five_quarters,),
    source=f"{COLLAPSE}, a technical lemma with the assumption that its author added",
)
def literature_collapse_lemma(s, E):
    """Scores that are perturbed by E change no softmax weight by more than a factor 1 + 2m, m the range of E, if m <=
    5/4.

    Proof: the factor is at most exp(m) (literature.collapse_lemma_exponential), and exp(m) <= 1 + 2m up to the root m =
    1.2564... of equality.
    """
    return at_most(softmax(s + E), (1 + 2 * oscillation(E)) * softmax(s))


@claim(
    "literature.collapse_lemma_unbounded",
    over=PERTURBED,
    sizes={"n": range(2, 6)},
    source=f"{COLLAPSE}, the technical lemma as first printed",
    expect="fails",
)
def literature_collapse_lemma_unbounded(s, E):
    """Scores that are perturbed by E change no softmax weight by more than a factor 1 + 2m, for every range m of E:
    false.

    Printed: the bound 1 + 2m without an assumption on m.
    Right: the factor is exp(m), at most 1 + 2m only for m <= 1.2564...; scores (0, 20) and E = (2, 0) give 7.389 > 5.
    Fault: false.
    """
    return literature_collapse_lemma.conclusion(s, E)


@claim(
    "literature.collapse_lemma_boundary",
    over={"s": Vector("n")},
    sizes={"n": range(2, 6)},
    source=f"{COLLAPSE}, the technical lemma just beyond its assumption",
    expect="fails",
)
def literature_collapse_lemma_boundary(s):
    """Tempting and false: the factor 1 + 2m at m = 1.26. There exp(m) = 3.5254 and 1 + 2m = 3.52."""
    m = exact(126, 100)
    first = zeros((1, s.shape[-1]), like=s) + (np.arange(s.shape[-1]) == 0) * constant(1, s)
    return at_most(softmax(s + m * first)[..., :1], (1 + 2 * m) * softmax(s)[..., :1])


@claim("literature.collapse_lemma_exponential", over=PERTURBED, source=f"{COLLAPSE}, the technical lemma's right form")
def literature_collapse_lemma_exponential(s, E):
    """Scores that are perturbed by E change every softmax weight by a factor between exp(-m) and exp(m), m the range of
    E.

    Proof: the new weight over the old is exp(E_k) over a weighted mean of the exp(E_j).
    """
    m = oscillation(E)
    return every(at_most(softmax(s + E), exp(m) * softmax(s)), at_most(softmax(s), exp(m) * softmax(s + E)))


@claim(
    "literature.residual_and_diameter",
    over={"X": Matrix("n", "d"), "norm": Norm("d")},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source="textbook",
)
def literature_residual_and_diameter(X, norm):
    """The diameter and the largest distance of a token from the mean token measure the same collapse, in every norm:
    the first is at most twice the second, the second at most 1 - 1/n of the first.
    """
    n = X.shape[-2]
    residual = largest_row_norm(X - mean(X, -2), norm)
    return every(
        at_most(diameter(X, norm), 2 * residual),
        at_most(n * residual, (n - 1) * diameter(X, norm)),
    )


@claim(
    "literature.one_layer_collapse",
    over={"X": Matrix("n", "d"), "M": Matrix("d", "d"), "W": Matrix("d", "d")},
    sizes={"n": range(1, 5), "d": range(1, 4)},
    source=f"{COLLAPSE}, the cubic rate of one layer, with a constant that is proved here",
)
def literature_one_layer_collapse(X, M, W):
    """One layer of attention cubes the Frobenius distance from the mean token: with A = softmax(XMX') and R the
    distance of X, that of AXW is at most (sqrt(n - 1)/2) ||M|| ||W|| R^3.

    Proof: `contraction.cubic` bounds the diameter of AXW by ||M|| ||W|| diam(X)^3/4. The squared distance from the mean
    is 1/n times the sum of squares over pairs, so at most (n - 1)/2 squared diameters; and diam(X)^2 <= 2 R^2.
    """
    before, after = (total_entry(square(Y - mean(Y, -2))) for Y in (X, softmax(X @ M @ X.mT) @ X @ W))
    factor = square(spectral_norm(M) * spectral_norm(W)) * (X.shape[-2] - 1) / 4
    return at_most(after, factor * before * before * before)


@claim(
    "literature.doubly_exponential_collapse",
    over={"X": Matrix("n", "d"), "Ms": Stack(2, Matrix("d", "d")), "Ws": Stack(2, Matrix("d", "d"))},
    sizes={"n": range(1, 5), "d": range(1, 4)},
    source=f"{COLLAPSE}, the rate of a stack, with a constant that is proved here",
)
def literature_doubly_exponential_collapse(X, Ms, Ws):
    """Two layers of pure attention take the diameter to its ninth power: diam(X_2) <= c_2 c_1^3 diam(X_0)^9 with
    c_l = ||M_l|| ||W_l||/4; L layers, to the power 3^L.
    """
    bound = diameter(X)
    for M, W in zip(Ms, Ws, strict=True):
        X = softmax(X @ M @ X.mT) @ X @ W
        bound = spectral_norm(M) * spectral_norm(W) / 4 * bound * bound * bound
    return at_most(diameter(X), bound)


@claim(
    "literature.composite_norm",
    over={"X": Matrix("n", "d"), "Y": Matrix("n", "d")},
    sizes={"n": range(2, 5), "d": range(2, 5)},
    source=f"a tempting reading of {COLLAPSE}, who measure with sqrt(||X||_1 ||X||_inf)",
    expect="fails",
)
def literature_composite_norm(X, Y):
    """Tempting and false: the geometric mean of the induced 1- and maximum norms of a matrix is a norm.

    It scales as a norm does, but one heavy row plus one heavy column violate the triangle inequality.
    """
    return at_most(_composite(X + Y), _composite(X) + _composite(Y))


def _composite(X):
    """Root of the largest absolute column sum times the largest absolute row sum."""
    return sqrt(amax(total(absolute(X), -2)) * amax(total(absolute(X)), -2))
