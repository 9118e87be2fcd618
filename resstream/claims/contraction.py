"""Attention alone collapses: Dobrushin's coefficient, and what one layer or a stack does to the diameter.

Source, where none is named: "The Transformer Block and the Residual Stream" (Definition 2, Theorem 1).
"""

from resstream.claim import at_most, claim
from resstream.domains import Matrix, Norm, RowStochastic
from resstream.reference import diameter, dobrushin

PAGE = "The Transformer Block and the Residual Stream"


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
