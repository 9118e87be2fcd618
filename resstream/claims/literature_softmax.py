"""Published statements on softmax and on single layers of attention: Lipschitz constants, sharp and flat attention."""

import numpy as np

from resstream.arithmetic import (
    absolute,
    amax,
    amin,
    derivative,
    exact,
    exp,
    eye,
    log,
    ones,
    sqrt,
    square,
    total,
    total_entry,
    zeros,
)
from resstream.claim import at_least, at_most, claim, equal, every, less_than
from resstream.claims.literature_chains import oscillation
from resstream.domains import Count, Matrix, NonConstant, NonZero, Norm, Positive, Scalar, Simplex, Tokens, Vector
from resstream.reference import (
    cross_entropy,
    frobenius_norm,
    largest_row_norm,
    layer_norm,
    row_norms,
    softmax,
    spectral_norm,
)

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
    over={"X": NonConstant("d", "n"), "place": Tokens(1, "n")},
    sizes={"n": range(1, 5), "d": range(2, 5)},
    source="Brody, Alon and Yahav, On the expressivity role of LayerNorm (2023)",
)
def literature_selectable_keys(X, place):
    """After LayerNorm every one of n keys can be selected: queried by itself, no other scores higher, and none as high
    unless it is the same; its lead over key j is ||LN(x_i) - LN(x_j)||^2/2.

    Proof: all have length sqrt d, so none lies inside the hull of the others.
    """
    keys = layer_norm(X)
    own = place @ keys
    lead = own @ own.mT - own @ keys.mT
    return equal(lead, total(square(keys - own)).mT / 2)


@claim(
    "literature.unselectable_key",
    over={"K": Matrix("n", "d"), "weights": Simplex("n"), "q": Vector("d")},
    sizes={"n": range(1, 5), "d": range(1, 4)},
    source="Brody, Alon and Yahav, On the expressivity role of LayerNorm (2023), without LayerNorm",
)
def literature_unselectable_key(K, weights, q):
    """A key in the hull of others scores at most as high as one of them, whatever the query: it cannot be selected."""
    return at_most(q @ (weights @ K).mT, amax(q @ K.mT))


@claim(
    "literature.selectable_raw_keys",
    over={"K": Matrix("n", "d"), "place": Tokens(1, "n")},
    sizes={"n": range(2, 5), "d": range(1, 4)},
    source="literature.selectable_keys without the norm",
    expect="fails",
)
def literature_selectable_raw_keys(K, place):
    """Tempting and false: without LayerNorm too, a key queried by itself scores highest. Long keys win."""
    own = place @ K
    return at_least(own @ own.mT, own @ K.mT)


# ---- how flat, how sharp ----------------------------------------------------


def on_subsets(n):
    """Every subset of n places as a column of zeros and ones: (n, 2^n)."""
    return (np.arange(2**n) >> np.arange(n)[:, None]) & 1


@claim(
    "literature.softmax_sensitivity",
    over={"s": Vector("n"), "u": Vector("n")},
    sizes={"n": range(1, 6)},
    source="Emadi, on the sensitivity of attention (arXiv 2602.18849), its abstract's exact value",
)
def literature_softmax_sensitivity(s, u):
    """The norm of softmax's Jacobian from the maximum norm to l1 is 4 max p(S)(1 - p(S)) over subsets S of the classes:
    it bounds every direction, and the one with signs 1 on S and -1 off it attains it.
    """
    p, subsets = softmax(s), on_subsets(s.shape[-1])
    mass = total((zeros((1, 1), like=p) + subsets) * p.mT, -2)
    largest = amax(4 * mass * (1 - mass))
    signs = (2 * subsets - 1).T + zeros((1, 1), like=p)
    attained = amax(total(absolute(p * (signs - total(p * signs)))), -2)
    return every(at_most(total(absolute(_moved(s, u))), largest * amax(absolute(u))), equal(attained, largest))


@claim(
    "literature.dispersal",
    over={"s": Vector("n")},
    sizes={"n": range(2, 7)},
    source="Velickovic and others, softmax is not enough (arXiv 2410.01104), Lemma 2.1 as quoted; and its exact form",
)
def literature_dispersal(s):
    """Scores of range r give weights between 1/(1 + (n - 1) e^r) and 1/(1 + (n - 1) e^-r), which lie within the quoted
    e^-r/n and e^r/n; both are attained, by one score r above the others or r below. So bounded scores disperse.
    """
    n, r = s.shape[-1], oscillation(s)
    low, high = 1 / (1 + (n - 1) * exp(r)), 1 / (1 + (n - 1) * exp(-r))
    one = (np.arange(n) == 0) * r
    return every(
        at_least(softmax(s), low),
        at_most(softmax(s), high),
        at_least(low, exp(-r) / n),
        at_most(high, exp(r) / n),
        equal(softmax(one)[..., :1], high),
        equal(softmax(-one)[..., :1], low),
    )


def entropy(s):
    """Entropy of the weights of every row of scores: (..., n, m) -> (..., n, 1)."""
    return cross_entropy(s, softmax(s))


def entropy_floor(sigma, n):
    """log(1 + (n - 1) b) + sigma sqrt(n (n - 1)) b/(1 + (n - 1) b) with b = exp(-sigma sqrt(n/(n - 1)))."""
    root = sqrt(n * (n - 1) * ones((1, 1), like=sigma))
    b = exp(-sigma * root / (n - 1))
    return log(1 + (n - 1) * b) + sigma * root * b / (1 + (n - 1) * b)


def sharpest_row(n, like):
    """(n - 1, -1, ..., -1)/sqrt(n (n - 1)), of length 1."""
    first = (np.arange(n) == 0) * n - 1 + zeros((1, n), like=like)
    return first / sqrt(n * (n - 1) * ones((1, 1), like=like))


@claim(
    "literature.entropy_floor",
    over={"X": Matrix("n", "d"), "W": Matrix("d", "d")},
    sizes={"n": range(2, 5), "d": range(1, 4)},
    source="Zhai and others, Stabilizing transformer training (2023), Theorem 3.1 as quoted by notes on it",
)
def literature_entropy_floor(X, W):
    """With sigma = ||W|| ||XX'|| and b = exp(-sigma sqrt(n/(n - 1))), every row of softmax(XWX') has an entropy of at
    least log(1 + (n - 1) b) + sigma sqrt(n (n - 1)) b/(1 + (n - 1) b), which is at most log n. It is attained
    (literature.entropy_floor_attained).
    """
    n = X.shape[-2]
    floor = entropy_floor(spectral_norm(W) * spectral_norm(X @ X.mT), n)
    return every(at_least(entropy(X @ W @ X.mT), floor), at_most(floor, log(n * ones((1, 1), like=X))))


@claim(
    "literature.entropy_floor_attained",
    over={"t": Scalar(0, 4), "n": Count("n")},
    sizes={"n": range(2, 6)},
    source="Zhai and others, Stabilizing transformer training (2023), Theorem 3.1 (tight) as quoted by notes on it",
)
def literature_entropy_floor_attained(t, n):
    """Tokens attain the floor of literature.entropy_floor, for every number of them: X = tI and the reflection W that
    takes the first unit vector to r = (n - 1, -1, ..., -1)/sqrt(n (n - 1)) give the first row the scores t^2 r, of
    length ||W|| ||XX'|| = t^2, and the entropy that is the floor.
    """
    identity, row = eye(n, like=t), sharpest_row(n, like=t)
    apart = identity[:1] - row
    W, X = identity - 2 * (apart.mT @ apart) / total(square(apart)), t * identity
    return every(
        equal(W @ W.mT, identity),
        equal((X @ W @ X.mT)[..., :1, :], square(t) * row),
        equal(entropy(X @ W @ X.mT)[..., :1, :], entropy_floor(square(t), n)),
    )


@claim(
    "literature.entropy_floor_by_range",
    over={"s": Vector("n"), "r": Scalar(0, 20)},
    sizes={"n": range(1, 6)},
    source="beside Zhai and others, Stabilizing transformer training (2023), in terms of the range of the scores",
)
def literature_entropy_floor_by_range(s, r):
    """Scores of range r have an entropy of at least the smallest of log(k e^r + n - k) - k r e^r/(k e^r + n - k) over
    k = 1 .. n, which k scores r and n - k scores 0 attain.

    Proof: entropy is concave, so over weights whose ratios are at most e^r it is least at an extreme point, where only
    two values are left.
    """
    n = s.shape[-1]

    def floor(r):
        masses = [k * exp(r) + (n - k) for k in range(1, n + 1)]
        values = [log(mass) - k * r * exp(r) / mass for k, mass in enumerate(masses, 1)]
        return amin(np.concatenate(values, axis=-1))

    rows = [((np.arange(n) < k) * r) for k in range(1, n + 1)]
    attained = amin(np.concatenate([entropy(row) for row in rows], axis=-1))
    return every(at_least(entropy(s), floor(oscillation(s))), equal(attained, floor(r)))


@claim(
    "literature.attention_on_a_ball",
    over={
        "X": Matrix("n", "d"),
        "A": Matrix("d", "d"),
        "V": Matrix("d", "d"),
        "direction": Matrix("n", "d"),
    },
    sizes={"n": range(1, 4), "d": range(1, 3)},
    source="Castin, Ablin and Peyre, How smooth is attention? (arXiv 2312.14820), a constant as recalled",
)
def literature_attention_on_a_ball(X, A, V, direction):
    """At tokens of length at most R, softmax(XAX')XV moves by at most sqrt 3 ||V|| (||A||^2 R^4 (4n + 1) + n)^(1/2)
    times a move of the tokens, in the Frobenius norm; so that is a Lipschitz constant on the ball of radius R.
    """
    n = X.shape[-2]
    moved = derivative(lambda at: softmax(at @ A @ at.mT) @ at @ V, X, direction)
    radius = square(largest_row_norm(X))
    bound = 3 * square(spectral_norm(V)) * (square(spectral_norm(A) * radius) * (4 * n + 1) + n)
    return at_most(total_entry(square(moved)), bound * total_entry(square(direction)))
