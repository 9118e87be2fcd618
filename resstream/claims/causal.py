"""What causal attention contracts: distances to the first token, which no query can look past.

tau is nearly 1 of every causal pattern that somebody trained (see docs/real-models.md), so that Theorem 1 says nothing
there; these say more.
"""

from resstream.arithmetic import amax, amin, mean, square, total_entry
from resstream.claim import at_most, claim
from resstream.claims.sources import PAGE
from resstream.domains import Causal, Matrix, Norm, RowStochastic, Stack
from resstream.reference import row_norms, spectral_norm


def _to_first(X, norm):
    """Distance of every token to the first: (..., n, d) -> (..., n, 1)."""
    return row_norms(X - X[..., :1, :], norm)


@claim(
    "contraction.first_token",
    over={"A": Causal("n"), "X": Matrix("n", "d"), "norm": Norm("d")},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source=f"in place of {PAGE}, Theorem 1 (i), under the causal mask",
)
def contraction_first_token(A, X, norm):
    """Causal attention shrinks the largest distance to the first token by 1 - min_i A_i1.

    Proof: the first token stays where it is, and (AX)_i - x_1 is the sum of A_ij (x_j - x_1) over j > 1, whose weights
    add up to 1 - A_i1.
    """
    left = 1 - amin(A[..., :1], -2)
    return at_most(amax(_to_first(A @ X, norm), -2), left * amax(_to_first(X, norm), -2))


@claim(
    "contraction.carried_distances",
    over={"A": Causal("n"), "X": Matrix("n", "d"), "norm": Norm("d")},
    sizes={"n": range(1, 6), "d": range(1, 5)},
    source=f"in place of {PAGE}, Theorem 1 (i), under the causal mask; sharper than contraction.first_token",
)
def contraction_carried_distances(A, X, norm):
    """Causal attention averages the distances to the first token at most by its own pattern: d(AX) <= A d(X), token by
    token and in every norm.

    Proof: (AX)_i - x_1 is the sum of A_ij (x_j - x_1), and a norm of an average is at most the average of the norms.
    """
    return at_most(_to_first(A @ X, norm), A @ _to_first(X, norm))


@claim(
    "contraction.carried_by_a_stack",
    over={"As": Stack("L", Causal("n")), "X": Matrix("n", "d"), "norm": Norm("d")},
    sizes={"n": range(1, 5), "d": range(1, 4), "L": range(1, 4)},
    source=f"in place of {PAGE}, Theorem 1 (iii), under the causal mask",
)
def contraction_carried_by_a_stack(As, X, norm):
    """So do layers of causal attention, by the product of their patterns: d(A_L ... A_1 X) <= A_L ... A_1 d(X).

    Proof: patterns are nonnegative, so `contraction.carried_distances` may be applied layer by layer.
    """
    distances = _to_first(X, norm)
    for A in As:
        X, distances = A @ X, A @ distances
    return at_most(_to_first(X, norm), distances)


@claim(
    "contraction.carried_without_a_mask",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "norm": Norm("d")},
    sizes={"n": range(2, 5), "d": range(1, 4)},
    source="a tempting generalisation of contraction.carried_distances",
    expect="fails",
)
def contraction_carried_without_a_mask(A, X, norm):
    """Tempting and false: d(AX) <= A d(X) without the mask. Two tokens that change places keep their distance, and the
    right side is 0 for the one that takes the first place's content away.
    """
    return at_most(_to_first(A @ X, norm), A @ _to_first(X, norm))


@claim(
    "contraction.centred_deviation",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d")},
    sizes={"n": range(1, 5), "d": range(1, 4)},
    source=f"beside {PAGE}, Theorem 1 (i), for the distance to the mean token",
)
def contraction_centred_deviation(A, X):
    """The Frobenius distance to the mean token shrinks at least by the spectral norm of the centred pattern, P A P with
    P = I - 11'/n, which may be above 1.

    Proof: A 1 = 1, so P A X = P A P X, and a product has at most the spectral norm times the Frobenius norm.
    """
    centred = A - mean(A, -2)
    centred = centred - mean(centred)
    size, before = spectral_norm(centred), total_entry(square(X - mean(X, -2)))
    smoothed = A @ X
    return at_most(total_entry(square(smoothed - mean(smoothed, -2))), square(size) * before)
