"""Published statements on rank collapse, and the same with constants that are proved here."""

import numpy as np

from resstream.arithmetic import (
    absolute,
    amax,
    constant,
    exact,
    exp,
    eye,
    maximum,
    mean,
    ones,
    sqrt,
    square,
    tanh,
    total,
    total_entry,
    zeros,
)
from resstream.claim import at_most, claim, equal, every
from resstream.claims.literature_chains import oscillation
from resstream.domains import Count, Matrix, Norm, Scores, Stack, Vector
from resstream.reference import (
    diameter,
    identity_path_product,
    largest_row_norm,
    operator_norm,
    skip_stack,
    softmax,
    spectral_norm,
)

COLLAPSE = "Dong, Cordonnier and Loukas, Attention is not all you need (2021)"

# ---- rank collapse ----------------------------------------------------------

PERTURBED = {"S": Scores("n", "m"), "E": Matrix("n", "m")}
PERTURBED_SIZES = {"n": range(1, 4), "m": range(1, 5)}


def perturbation_at_most_five_quarters(E):
    """No two entries of a row of E differ by more than 5/4."""
    return at_most(oscillation(E), exact(5, 4))


@claim(
    "literature.collapse_lemma",
    over=PERTURBED,
    assuming=(perturbation_at_most_five_quarters,),
    sizes=PERTURBED_SIZES,
    source=f"{COLLAPSE}, a technical lemma with the assumption that its author added",
)
def literature_collapse_lemma(S, E):
    """P = softmax(S) and Q = softmax(S - E) satisfy (1 - m_i) Q <= P <= (1 + 2 m_i) Q in row i, m_i the range of that
    row of E, if all m_i <= 5/4; and the same with P and Q exchanged. The lower half needs no assumption.

    Proof: the factor lies between exp(-m) and exp(m) (literature.collapse_lemma_exponential); exp(-m) >= 1 - m, and
    exp(m) <= 1 + 2m up to the root m = 1.2564... of equality.
    """
    m, P, Q = oscillation(E), softmax(S), softmax(S - E)
    return every(
        *(
            relation
            for first, second in ((Q, P), (P, Q))
            for relation in (at_most((1 - m) * first, second), at_most(second, (1 + 2 * m) * first))
        )
    )


@claim(
    "literature.collapse_lemma_unbounded",
    over=PERTURBED,
    sizes={"n": range(1, 3), "m": range(2, 6)},
    source=f"{COLLAPSE}, the technical lemma as first printed, as quoted by the report on which its author mended it",
    expect="fails",
)
def literature_collapse_lemma_unbounded(S, E):
    """Scores that are perturbed by E change no softmax weight by more than a factor 1 + 2m, for every range m of E:
    false.

    Printed: the bound 1 + 2m without an assumption on m.
    Right: the factor is exp(m), at most 1 + 2m only for m <= 1.2564...; scores (0, 20) and E = (2, 0) give 7.389 > 5.
    Fault: false.
    """
    return at_most(softmax(S), (1 + 2 * oscillation(E)) * softmax(S - E))


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


@claim(
    "literature.collapse_lemma_exponential",
    over=PERTURBED,
    sizes=PERTURBED_SIZES,
    source=f"{COLLAPSE}, the technical lemma's right form",
)
def literature_collapse_lemma_exponential(S, E):
    """Scores that are perturbed by E change every softmax weight by a factor between exp(-m) and exp(m), m the range of
    E.

    Proof: the new weight over the old is exp(E_k) over a weighted mean of the exp(E_j).
    """
    m = oscillation(E)
    return every(at_most(softmax(S + E), exp(m) * softmax(S)), at_most(softmax(S), exp(m) * softmax(S + E)))


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


def deviation_squared(X):
    """Squared Frobenius distance of a cloud from its mean token: (..., n, d) -> (..., 1, 1)."""
    return total_entry(square(X - mean(X, -2)))


@claim(
    "literature.one_layer_collapse",
    over={"X": Matrix("n", "d"), "M": Matrix("d", "d"), "W": Matrix("d", "d")},
    sizes={"n": range(1, 5), "d": range(1, 4)},
    source=f"{COLLAPSE}, the cubic rate of one layer, with a constant that is proved here",
)
def literature_one_layer_collapse(X, M, W):
    """One layer of attention cubes the Frobenius distance from the mean token, with a constant free of the number of
    tokens: with A = softmax(XMX') and R the distance of X, that of AXW is at most ||M|| ||W|| R^3/2.

    Proof: compare every output with that of the mean query. Along the segment from the mean token to x_i the output
    moves by (x_i - mean) M Cov, Cov the covariance of the tokens under the weights, whose norm is a variance of <x_k,
    u> for a unit vector u, at most a quarter of its squared range, and so at most R^2/2. Sum the squares over i.
    """
    before, after = deviation_squared(X), deviation_squared(softmax(X @ M @ X.mT) @ X @ W)
    factor = square(spectral_norm(M) * spectral_norm(W)) / 4
    return at_most(after, factor * before * before * before)


@claim(
    "literature.deviation_stack",
    over={"X": Matrix("n", "d"), "Ms": Stack("L", Matrix("d", "d")), "Ws": Stack("L", Matrix("d", "d"))},
    sizes={"n": range(1, 4), "d": range(1, 3), "L": range(1, 4)},
    source=f"{COLLAPSE}, the rate of a stack, with a constant that is proved here",
)
def literature_deviation_stack(X, Ms, Ws):
    """L layers of pure attention take the Frobenius distance R from the mean token to the power 3^L, with the constants
    c_l = ||M_l|| ||W_l||/2 of the layers: R_{l+1} <= c_l R_l^3, whatever the number of tokens and heads' patterns.
    """
    bound = deviation_squared(X)
    for M, W in zip(Ms, Ws, strict=True):
        X = softmax(X @ M @ X.mT) @ X @ W
        bound = square(spectral_norm(M) * spectral_norm(W)) / 4 * bound * bound * bound
    return at_most(deviation_squared(X), bound)


@claim(
    "literature.one_layer_collapse_third",
    over={"X": Matrix("n", "d"), "M": Matrix("d", "d")},
    sizes={"n": range(2, 4), "d": range(1, 3)},
    source="a tempting strengthening of literature.one_layer_collapse",
    expect="fails",
)
def literature_one_layer_collapse_third(X, M):
    """Tempting and false: the same with the constant 1/3. Two tokens approach 1/2 (and three, four, five stay below
    .38).
    """
    before, after = deviation_squared(X), deviation_squared(softmax(X @ M @ X.mT) @ X)
    return at_most(9 * after, square(spectral_norm(M)) * before * before * before)


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
    whole, first, second = (sqrt(composite_squared(one)) for one in (X + Y, X, Y))
    return at_most(whole, first + second)


def composite_squared(X):
    """Largest absolute column sum times the largest absolute row sum: (..., n, d) -> (..., 1, 1)."""
    return amax(total(absolute(X), -2)) * amax(total(absolute(X)), -2)


@claim(
    "literature.composite_norm_gap",
    over={"n": Count("n"), "x": Vector(1)},
    sizes={"n": range(1, 9)},
    source=f"beside {COLLAPSE}, the factor H for several heads as quoted by notes on it",
)
def literature_composite_norm_gap(n, x):
    """A matrix of one row of n ones and one of one column of n ones have the composite norm sqrt n each and n + 1
    together: a bound on each head's composite norm alone does not bound that of H heads by a factor H. (At n = 64: 8, 8
    and 65.)
    """
    like = 0 * x
    row, column = (like + (np.indices((n, n))[axis] == 0).astype(int) for axis in (0, 1))
    return every(
        equal(composite_squared(row), n),
        equal(composite_squared(column), n),
        equal(composite_squared(row + column), (n + 1) ** 2),
    )


# ---- layers that collapse ---------------------------------------------------

ALMAN = "Alman and Song, Only large weights (and not skip connections) can prevent rank collapse (arXiv 2505.16284)"
LAYERS = {"X": Matrix("n", "d"), "Ws": Stack("L", Matrix("d", "d"))}
LAYER_SIZES = {"n": range(1, 5), "d": range(1, 4), "L": range(1, 4)}


def one_layer_of(X, Ws):
    """X + AXV, A uniform and V = (I + W_1) ... (I + W_L) - I: the one layer into which uniform ones collapse."""
    value_map = identity_path_product(Ws) - eye(X.shape[-1], like=X)
    return X + mean(X, -2) @ value_map


@claim(
    "layer_collapse.uniform_attention", over=LAYERS, sizes=LAYER_SIZES, source=f"{ALMAN}, abstract, at scores of zero"
)
def layer_collapse_uniform_attention(X, Ws):
    """Layers X + AXW of uniform attention collapse into one, X + AX((I + W_1) ... (I + W_L) - I); and their tokens do
    not collapse at all: how each differs from the mean token is what it was.
    """
    n = X.shape[-2]
    last = skip_stack([softmax(zeros((n, n), like=X))] * len(Ws), X, Ws)[-1]
    return every(equal(last, one_layer_of(X, Ws)), equal(last - mean(last, -2), X - mean(X, -2)))


@claim(
    "layer_collapse.small_scores",
    over={**LAYERS, "S": Stack("L", Scores("n")), "norm": Norm("d")},
    sizes=LAYER_SIZES,
    source=f"beside {ALMAN}, with a constant that is proved here",
)
def layer_collapse_small_scores(X, Ws, S, norm):
    """Layers X + AXW whose scores have ranges of at most r are, token by token and in every norm, within tanh(r/4)
    diam(X) P sum w_l/(1 + w_l) of that one layer, w_l = ||W_l|| and P the product of all 1 + w_l: small scores collapse
    the layers, for any number of tokens.

    Proof: a row of weights is within tanh(r/4) of the uniform one in total variation (literature.birkhoff_rows), so
    that a layer is within tanh(r/4) w diam of its uniform one; distances and errors grow by 1 + w a layer at most.
    """
    last = skip_stack([softmax(scores) for scores in S], X, Ws)[-1]
    product = ones((1, 1), like=X)
    share, largest = 0 * product, 0 * product
    for W, scores in zip(Ws, S, strict=True):
        size = operator_norm(W, norm)
        product, share = product * (1 + size), share + size / (1 + size)
        largest = maximum(largest, amax(oscillation(scores), -2))
    error = largest_row_norm(last - one_layer_of(X, Ws), norm)
    return at_most(error, tanh(largest / 4) * diameter(X, norm) * product * share)


@claim(
    "layer_collapse.is_of_tokens",
    over={**LAYERS, "X": Matrix("n", "d")},
    sizes={**LAYER_SIZES, "n": range(2, 5), "L": range(3, 5)},
    source=f"a tempting reading of {ALMAN} (rank collapse, in spite of skips)",
    expect="fails",
)
def layer_collapse_is_of_tokens(X, Ws):
    """Tempting and false: where layers collapse in spite of the skips, so do tokens, and three layers of uniform
    attention halve the diameter. It stays as it is (layer_collapse.uniform_attention, skip.diameter).
    """
    n = X.shape[-2]
    return at_most(2 * diameter(skip_stack([softmax(zeros((n, n), like=X))] * len(Ws), X, Ws)[-1]), diameter(X))
