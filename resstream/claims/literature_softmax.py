"""Published statements on softmax and on single layers of attention: Lipschitz constants, sharp and flat attention."""

import numpy as np

from resstream.arithmetic import amax, amin, derivative, exact, exp, square, total
from resstream.claim import at_least, at_most, claim, equal, every, less_than
from resstream.domains import Matrix, NonConstant, NonZero, Norm, Positive, Vector
from resstream.reference import frobenius_norm, layer_norm, row_norms, softmax

SOFTMAX = "on the Lipschitz constant of softmax (arXiv 2510.23012)"

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
    Fault: imprecise.

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
