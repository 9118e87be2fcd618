"""Dobrushin's coefficient of row-stochastic matrices.

Source, where none is named: "The Transformer Block and the Residual Stream" (Definition 2).
"""

import numpy as np

from resstream.arithmetic import (
    amax,
    amin,
    minimum,
    ones,
    square,
    total,
)
from resstream.claim import at_least, at_most, claim, equal, every, less_than
from resstream.claims.sources import PAGE
from resstream.domains import (
    Positive,
    RowStochastic,
    Scalar,
    Simplex,
)
from resstream.reference import (
    L1,
    dobrushin,
    dobrushin_overlap,
    row_norms,
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
