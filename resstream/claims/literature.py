"""Published statements that users of this field lean on, true or false as stated, each with its source."""

import numpy as np

from resstream.arithmetic import (
    absolute,
    amax,
    amin,
    constant,
    derivative,
    exact,
    exp,
    log,
    mean,
    sqrt,
    square,
    tanh,
    total,
    total_entry,
    zeros,
)
from resstream.claim import at_least, at_most, claim, equal, every, less_than, more_than
from resstream.domains import (
    Causal,
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Norm,
    Positive,
    RowStochastic,
    Scores,
    Simplex,
    Stack,
    Vector,
)
from resstream.reference import (
    L1,
    centre,
    diameter,
    dobrushin,
    frobenius_norm,
    largest_row_norm,
    layer_norm,
    rms_norm,
    row_norms,
    softmax,
    spectral_norm,
)

SOFTMAX = "on the Lipschitz constant of softmax (arXiv 2510.23012)"
COLLAPSE = "Dong, Cordonnier and Loukas, Attention is not all you need (2021)"
FOLDING = "public reports on folding weights in interpretability libraries"

# ---- softmax is Lipschitz ---------------------------------------------------


def _moved(s, u):
    """Softmax's Jacobian at s, applied to u: what the weights do as the scores move along u."""
    p = softmax(s)
    return p * (u - total(p * u))


@claim(
    "literature.softmax_lipschitz_one",
    over={"s": Vector("n"), "t": Vector("n")},
    source="the constant long in use for softmax in the Euclidean norm",
)
def literature_softmax_lipschitz_one(s, t):
    """Softmax is 1-Lipschitz in the Euclidean norm. (True and loose: see literature.softmax_lipschitz_half.)"""
    return at_most(row_norms(softmax(s) - softmax(t)), row_norms(s - t))


@claim(
    "literature.softmax_lipschitz_half",
    over={"s": Vector("n"), "t": Vector("n"), "norm": Norm("n", bases=False)},
    source=SOFTMAX,
)
def literature_softmax_lipschitz_half(s, t, norm):
    """Softmax is 1/2-Lipschitz, in l1, l2 and the maximum norm alike.

    Proof: its Jacobian diag(p) - pp' is symmetric with absolute row sums 2 p_i (1 - p_i) <= 1/2, which bounds its norm
    in the maximum norm, by symmetry in l1, and between them in l2. Integrate along the segment from s to t.
    """
    return at_most(2 * row_norms(softmax(s) - softmax(t), norm), row_norms(s - t, norm))


@claim(
    "literature.softmax_lipschitz_strict",
    over={"s": Vector("n"), "u": NonZero(1, "n")},
    sizes={"n": range(2, 5)},
    source=f"{SOFTMAX}, the abstract's strict form read for every number of classes",
    expect="fails",
)
def literature_softmax_lipschitz_strict(s, u):
    """Everywhere the local Lipschitz constant of softmax in l2 is strictly below 1/2: false for two classes.

    Printed: for 1 < p < infinity the local Lipschitz constant of softmax stays strictly below 1/2.
    Right: for three classes or more. With two equal scores the Jacobian is ((1, -1), (-1, 1))/4, whose norm is 1/2.

    Stated with squares, so that rationals decide it: 4 |Ju|^2 < |u|^2.
    """
    return less_than(4 * total(square(_moved(s, u))), total(square(u)))


@claim(
    "literature.softmax_lipschitz_strict_beyond_two",
    over={"s": Vector("n"), "u": NonZero(1, "n")},
    sizes={"n": range(3, 7)},
    source=SOFTMAX,
)
def literature_softmax_lipschitz_strict_beyond_two(s, u):
    """For three classes or more the local Lipschitz constant of softmax in l2 is strictly below 1/2 (which it
    approaches).

    Proof: u'Ju is the variance of u under p, at most (max u - min u)^2/4 <= |u|^2/2. Equality on the left asks for half
    of the mass at either extreme, on the right for u = c(1, -1, 0, ...): then the third class has no mass, but softmax
    gives it some. (J is positive semidefinite, so its norm is the largest u'Ju/|u|^2.)
    """
    return less_than(4 * total(square(_moved(s, u))), total(square(u)))


@claim(
    "literature.softmax_lipschitz_quarter",
    over={"s": Vector("n"), "t": Vector("n")},
    sizes={"n": range(2, 5)},
    source="the constant of the logistic function, taken over to softmax",
    expect="fails",
)
def literature_softmax_lipschitz_quarter(s, t):
    """Tempting and false: softmax is 1/4-Lipschitz in the Euclidean norm, as the logistic function is."""
    return at_most(4 * row_norms(softmax(s) - softmax(t)), row_norms(s - t))


@claim(
    "literature.softmax_lipschitz_below_half",
    over={"s": Vector("n"), "u": NonZero(1, "n")},
    sizes={"n": range(2, 4)},
    source="a tempting strengthening of literature.softmax_lipschitz_half",
    expect="fails",
)
def literature_softmax_lipschitz_below_half(s, u):
    """Tempting and false: the local Lipschitz constant of softmax in l2 is at most 0.49."""
    return at_most(total(square(_moved(s, u))), exact(49, 100) ** 2 * total(square(u)))


@claim(
    "literature.attention_derivative_unbounded",
    over={"c": Positive()},
    source="Kim, Papamakarios and Mnih, The Lipschitz constant of self-attention (arXiv 2006.04710)",
)
def literature_attention_derivative_unbounded(c):
    """Dot-product self-attention has no finite Lipschitz constant: for tokens 0, c and -c on the line, the first output
    of softmax(XX')X moves (1 + 2c^2)/3 times as fast as the first token.

    Proof: at the zero token all weights are 1/3, so its derivative is the variance 2c^2/3 of the tokens it sees, plus
    the 1/3 with which it reads itself.
    """
    tokens = np.concatenate([0 * c, c, -c], axis=-2)
    first = np.concatenate([0 * c + 1, 0 * c, 0 * c], axis=-2)
    moved = derivative(lambda X: softmax(X @ X.mT) @ X, tokens, first)
    return equal(moved[..., :1, :], (1 + 2 * square(c)) / 3)


@claim(
    "literature.attention_lipschitz",
    over={"X": Matrix("n", "d"), "direction": Matrix("n", "d")},
    sizes={"n": range(2, 4), "d": range(1, 3)},
    source="the contrary of Kim, Papamakarios and Mnih's theorem, with a number",
    expect="fails",
)
def literature_attention_lipschitz(X, direction):
    """Tempting and false: softmax(XX')X is 100-Lipschitz in the Frobenius norm, everywhere. No number would do."""
    moved = derivative(lambda at: softmax(at @ at.mT) @ at, X, direction)
    return at_most(frobenius_norm(moved), 100 * frobenius_norm(direction))


# ---- Birkhoff, Hajnal, Seneta -----------------------------------------------


def _oscillation(x):
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
    return at_most(distance, tanh(_oscillation(s - t) / 4))


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
    return amax(_oscillation(np.concatenate(pairs, axis=-2)), -2)


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
    after = _oscillation(log(p @ A) - log(q @ A))
    return at_most(after, tanh(_projective_diameter(S) / 4) * _oscillation(s - t))


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


@claim(
    "literature.causal_sink",
    over={"As": Stack("L", Causal("n"))},
    sizes={"n": range(1, 5), "L": range(1, 5)},
    source="the sink of causal attention stacks: Wu, Ajorlou, Wu and Jadbabaie (2024)",
)
def literature_causal_sink(As):
    """Causal attention stacks drift to the first token: what the product leaves to the other tokens is at most the
    product of what the layers leave to them.

    Proof: `contraction.causal` makes both sides Dobrushin coefficients, which are submultiplicative.
    """
    product, left = As[0], 1 - amin(As[0][..., :1], -2)
    for A in As[1:]:
        product, left = A @ product, (1 - amin(A[..., :1], -2)) * left
    return at_most(1 - amin(product[..., :1], -2), left)


# ---- rank collapse ----------------------------------------------------------

PERTURBED = {"s": Vector("n"), "E": Vector("n")}


def perturbation_at_most_five_quarters(E):
    """No two entries of E differ by more than 5/4."""
    return at_most(_oscillation(E), exact(5, 4))


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
    return at_most(softmax(s + E), (1 + 2 * _oscillation(E)) * softmax(s))


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
    m = _oscillation(E)
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


# ---- sharp attention --------------------------------------------------------


@claim("literature.saturation", over={"s": Vector("n"), "lead": Positive()}, source="textbook")
def literature_saturation(s, lead):
    """A leading score takes nearly all the weight: n other scores, all of them below it by some lead or more, share at
    most n exp(-lead).
    """
    others = softmax(np.concatenate([amax(s) + lead, s], axis=-1))[..., 1:]
    return at_most(total(others), s.shape[-1] * exp(-lead))


@claim(
    "literature.large_scores_are_one_hot",
    over={"s": Vector("n"), "lead": Positive()},
    sizes={"n": range(1, 4)},
    source="a tempting reading of the limit of softmax at low temperature",
    expect="fails",
)
def literature_large_scores_are_one_hot(s, lead):
    """Tempting and false: scores times 1000 give a leading score a weight of 0.99.

    The limit is one-hot, and not uniformly: a lead of 1/1000 is a lead of 1 afterwards.
    """
    scores = np.concatenate([amax(s) + lead, s], axis=-1)
    return at_least(softmax(1000 * scores)[..., :1], exact(99, 100))


@claim(
    "literature.temperature",
    over={"s": Vector("n"), "beta": Positive()},
    source="textbook",
)
def literature_temperature(s, beta):
    """A higher inverse temperature sharpens: multiplying the scores by 1 + beta never lowers the largest weight, nor
    raises the smallest.

    Proof: the largest weight is 1/sum_k exp(-lead over k), and every lead grows; the smallest likewise.
    """
    before, after = softmax(s), softmax((1 + beta) * s)
    return every(at_least(amax(after), amax(before)), at_most(amin(after), amin(before)))


@claim(
    "literature.selectable_keys",
    over={"x": NonConstant("d"), "y": NonConstant("d")},
    sizes={"d": range(2, 7)},
    source="Brody, Alon and Yahav, On the expressivity role of LayerNorm (2023)",
)
def literature_selectable_keys(x, y):
    """After LayerNorm every token scores itself highest: <LN(x), LN(x)> exceeds <LN(x), LN(y)> by ||LN(x) -
    LN(y)||^2/2.

    Proof: both have length sqrt d. So any key can be selected, by itself as the query: none hides in the hull of
    others.
    """
    x, y = layer_norm(x), layer_norm(y)
    return equal(total(x * x) - total(x * y), total(square(x - y)) / 2)


@claim(
    "literature.selectable_raw_keys",
    over={"x": Vector("d"), "y": Vector("d")},
    source="literature.selectable_keys without the norm",
    expect="fails",
)
def literature_selectable_raw_keys(x, y):
    """Tempting and false: every token scores itself highest, <x, x> >= <x, y>. Long tokens win: scores are dot
    products.
    """
    return at_least(total(x * x), total(x * y))


# ---- folding weights --------------------------------------------------------


@claim(
    "literature.value_bias_folding",
    over={
        "A": RowStochastic("n"),
        "X": Matrix("n", "d"),
        "W_V": Matrix("d", "v"),
        "b": Vector("v"),
        "W_O": Matrix("v", "d"),
    },
    sizes={name: range(1, 4) for name in "ndv"},
    source=FOLDING,
)
def literature_value_bias_folding(A, X, W_V, b, W_O):
    """A value bias b can be folded into the output bias as b W_O: attention weights sum to one, so every token gets it
    once.
    """
    return equal(A @ (X @ W_V + b) @ W_O, A @ X @ W_V @ W_O + b @ W_O)


@claim(
    "literature.value_bias_folding_unnormalised",
    over={"A": NonNegative("n", "n"), "V": Matrix("n", "v"), "b": Vector("v")},
    sizes={name: range(1, 4) for name in "nv"},
    source=f"{FOLDING}; with weights that do not sum to one",
    expect="fails",
)
def literature_value_bias_folding_unnormalised(A, V, b):
    """Tempting and false: a value bias can be folded for any nonnegative weights. Row i receives it as often as its
    weights sum to: ReLU or linear attention, or a row whose keys are all masked, do not fold.
    """
    return equal(A @ (V + b), A @ V + b)


FOLDED = {
    "x": NonConstant("d"),
    "gain": Vector("d"),
    "bias": Vector("d"),
    "W": Matrix("d", "e"),
    "b": Vector("e"),
}
FOLDED_SIZES = {"d": range(2, 5), "e": range(1, 4)}


def _folded(gain, W):
    return gain.mT * W


def _centred_columns(W):
    """Every column less its mean: (..., d, e) -> (..., d, e)."""
    return W - mean(W, -2)


@claim("literature.layernorm_folding", over=FOLDED, sizes=FOLDED_SIZES, source=FOLDING)
def literature_layernorm_folding(x, gain, bias, W, b):
    """LayerNorm's gain and bias fold into the next map, (LN(x) g + c) W + b = LN(x) F + (b + cW) with F = diag(g) W;
    and centring the columns of F changes nothing, as LN(x) sums to zero.
    """
    F, shifted = _folded(gain, W), b + bias @ W
    out = layer_norm(x, gain, bias) @ W + b
    return every(
        equal(layer_norm(x) @ F + shifted, out),
        equal(layer_norm(x) @ _centred_columns(F) + shifted, out),
    )


@claim(
    "literature.layernorm_folding_without_bias",
    over=FOLDED,
    sizes=FOLDED_SIZES,
    source=f"{FOLDING}; a fold that passes where gain is 1 and bias 0",
    expect="fails",
)
def literature_layernorm_folding_without_bias(x, gain, bias, W, b):
    """Tempting and false: folding the gain alone is enough. The bias must go into the next map's bias as cW."""
    return equal(layer_norm(x) @ _folded(gain, W) + b, layer_norm(x, gain, bias) @ W + b)


@claim(
    "literature.rmsnorm_folding",
    over={**FOLDED, "x": NonZero(1, "d")},
    sizes=FOLDED_SIZES,
    source=FOLDING,
)
def literature_rmsnorm_folding(x, gain, bias, W, b):
    """RMSNorm's gain and bias fold into the next map in the same way."""
    out = rms_norm(x, gain, bias) @ W + b
    return equal(rms_norm(x) @ _folded(gain, W) + (b + bias @ W), out)


@claim(
    "literature.rmsnorm_folding_centred",
    over={"x": NonZero(1, "d"), "W": Matrix("d", "e")},
    sizes=FOLDED_SIZES,
    source=f"{FOLDING}; LayerNorm's step taken with RMSNorm",
    expect="fails",
)
def literature_rmsnorm_folding_centred(x, W):
    """Tempting and false: the map that reads an RMSNorm may be centred as one that reads a LayerNorm may."""
    return equal(rms_norm(x) @ _centred_columns(W), rms_norm(x) @ W)


WRITERS = {"x": Vector("d"), "h": Vector("e"), "W": Matrix("e", "d")}


def stream_off_the_line(x, h, W):
    """The stream after the write is no multiple of the all-ones vector."""
    return more_than(total(square(centre(x + h @ W))), 0)


@claim(
    "literature.centred_writers",
    over=WRITERS,
    assuming=(stream_off_the_line,),
    sizes=FOLDED_SIZES,
    source=FOLDING,
)
def literature_centred_writers(x, h, W):
    """What writes to the stream may be centred where LayerNorm reads it: LN(x + hW) = LN(x + hWP), P = I - 11'/d.

    Proof: the two streams differ by a multiple of the all-ones vector.
    """
    return equal(layer_norm(x + h @ centre(W)), layer_norm(x + h @ W))


def stream_and_centred_stream_not_zero(x, h, W):
    """Neither stream is zero."""
    return every(
        more_than(total(square(x + h @ W)), 0),
        more_than(total(square(x + h @ centre(W))), 0),
    )


@claim(
    "literature.centred_writers_rmsnorm",
    over=WRITERS,
    assuming=(stream_and_centred_stream_not_zero,),
    sizes=FOLDED_SIZES,
    source=f"{FOLDING}; the same with RMSNorm",
    expect="fails",
)
def literature_centred_writers_rmsnorm(x, h, W):
    """Tempting and false: writers may be centred where RMSNorm reads the stream. RMSNorm sees the mean direction."""
    return equal(rms_norm(x + h @ centre(W)), rms_norm(x + h @ W))
