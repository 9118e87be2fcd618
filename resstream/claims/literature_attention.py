"""Published statements on attention with several heads, with LayerNorm after it, and with distances as scores."""

import numpy as np

from resstream.arithmetic import amax, amin, derivative, exp, eye, maximum, mean, square, total, zeros
from resstream.claim import at_least, at_most, claim, equal, every, less_than
from resstream.claims.literature_collapse import COLLAPSE, composite_squared
from resstream.domains import (
    Count,
    Invertible,
    InvertiblePair,
    Matrix,
    Orthogonal,
    Positive,
    RowStochastic,
    Sphere,
    Stack,
    Vector,
)
from resstream.reference import largest_row_norm, operator_norm, rms_norm, row_norms, softmax
from resstream.reference.norms import L1, LINF

# ---- several heads, in the composite norm -----------------------------------

HEADS = f"{COLLAPSE}, Theorem 2.3, the factor H, constants as recalled"


def _heads(As, X, Ws):
    return [A @ X @ W for A, W in zip(As, Ws, strict=True)]


def _residual(X):
    """Every token less the mean token."""
    return X - mean(X, -2)


def _two_heads(n, x):
    """What two heads write, each of which attends to its own position: a row and its negative; a column of signs."""
    rows, signs = np.arange(n)[:, None], np.where(np.arange(n)[:, None] % 2 == 0, 1, -1)
    start = zeros((1, 1), like=x)
    of_a_row = start + np.where(rows < 2, signs, 0) * np.ones((1, n), dtype=int)
    of_a_column = start + np.where(np.arange(n) == 0, signs, 0)
    return _heads([eye(n, like=x)] * 2, eye(n, like=x), [of_a_row, of_a_column])


@claim(
    "literature.two_heads_exceed",
    over={"n": Count("n"), "x": Vector("n")},
    sizes={"n": range(6, 11, 2)},
    source=f"{HEADS}: two heads, each of which attends to its own position",
)
def literature_two_heads_exceed(n, x):
    """Two heads with composite norms sqrt(2n) and sqrt n whose sum has at least sqrt((n + 1)(n + 2)), more than
    2 sqrt(2n) for n >= 6, whatever token x is taken off every row: so the distance from rank one in that norm, too, is
    not within the number of heads times that of one.

    Proof: half of every column's entries are at least 0 and half at most, so that no x_j makes its absolute sum
    smaller; the row r of ones and 1 more stands there with its negative, and max(|r - x|, |-r - x|) >= |r|.
    """
    first, second = _two_heads(n, x)
    off = composite_squared(first + second - x)
    return every(
        equal(composite_squared(first), 2 * n),
        equal(composite_squared(second), n),
        at_least(off, (n + 1) * (n + 2)),
        less_than(4 * maximum(composite_squared(first), composite_squared(second)), off),
    )


@claim(
    "literature.two_heads_exceed_at_four",
    over={"n": Count("n"), "x": Vector("n")},
    sizes={"n": range(4, 5)},
    source="literature.two_heads_exceed, with fewer tokens",
    expect="fails",
)
def literature_two_heads_exceed_at_four(n, x):
    """Tempting and false: four tokens are enough for those two heads. The root of 30 is less than that of 32."""
    first, second = _two_heads(n, x)
    most = maximum(composite_squared(first), composite_squared(second))
    return less_than(4 * most, composite_squared(first + second - x))


@claim(
    "literature.heads_norm_by_norm",
    over={"As": Stack("H", RowStochastic("n")), "X": Matrix("n", "d"), "Ws": Stack("H", Matrix("d", "d"))},
    sizes={"n": range(1, 5), "d": range(1, 4), "H": range(1, 4)},
    source=f"{HEADS}: what holds in its place",
)
def literature_heads_norm_by_norm(As, X, Ws):
    """H heads leave at most H times the root of the largest induced 1-norm times the largest induced maximum norm that
    one of them leaves, where those two may be of different heads.

    Proof: each of the two is a norm.
    """
    left = [_residual(Y) for Y in _heads(As, X, Ws)]
    columns, rows = (_largest([operator_norm(Y, norm) for Y in left]) for norm in (LINF, L1))
    return at_most(composite_squared(sum(left)), len(Ws) ** 2 * columns * rows)


def _largest(numbers):
    return amax(np.concatenate(numbers, axis=-1))


# ---- LayerNorm between the layers -------------------------------------------

MASKS = "Wu, Ajorlou, Wu and Jadbabaie, On the role of attention masks and LayerNorm (2024)"
NORMED = f"{MASKS}, with LayerNorm and orthogonal values, as recalled"
TOKENS = {"A": RowStochastic("n"), "X": Sphere("d", "n")}
TOKEN_SIZES = {"n": range(2, 5), "d": range(1, 4)}


def no_two_tokens_are_obtuse(X):
    """No two tokens make an obtuse angle."""
    return at_least(_least(X @ X.mT), 0)


def _least(G):
    """The smallest entry: (..., n, m) -> (..., 1, 1)."""
    return amin(amin(G), -2)


def _cosines(A, X, W):
    """Of every two tokens after a layer and its norm: (..., n, n)."""
    after = rms_norm(A @ X @ W)
    return after @ after.mT / X.shape[-1]


@claim(
    "literature.layernorm_collapse",
    over={**TOKENS, "W": Orthogonal("d")},
    assuming=(no_two_tokens_are_obtuse,),
    sizes=TOKEN_SIZES,
    source=f"{NORMED}, one layer, with a constant that is proved here",
)
def literature_layernorm_collapse(A, X, W):
    """LayerNorm (without its centring) does not stop the collapse where values are orthogonal and no two tokens are
    obtuse: the largest 1 - cos of two tokens shrinks by 1 - min_ik sum_j A_ij A_kj, so by 1 - min_i A_i1^2 at least
    under a causal mask, and no two tokens are obtuse afterwards.

    Proof: W changes no angle. With c the smallest cosine, <y_i, y_k> = sum A_ij A_kl <x_j, x_l> is at least
    c + (1 - c) sum_j A_ij A_kj, which is not negative, and dividing by lengths of at most 1 makes it no smaller.
    """
    before, after = _least(X @ X.mT), _least(_cosines(A, X, W))
    return every(at_most(1 - after, (1 - _least(A @ A.mT)) * (1 - before)), at_least(after, 0))


@claim(
    "literature.layernorm_collapse_any_values",
    over={**TOKENS, "W": Invertible("d")},
    assuming=(no_two_tokens_are_obtuse,),
    sizes={"n": range(2, 4), "d": range(2, 4)},
    source=f"a tempting generalisation of {NORMED}",
    expect="fails",
)
def literature_layernorm_collapse_any_values(A, X, W):
    """Tempting and false: so it is with values of any kind. A value map can turn tokens apart."""
    before, after = _least(X @ X.mT), _least(_cosines(A, X, W))
    return at_most(1 - after, (1 - _least(A @ A.mT)) * (1 - before))


@claim(
    "literature.layernorm_collapse_obtuse",
    over={**TOKENS, "W": Orthogonal("d")},
    sizes={"n": range(2, 4), "d": range(2, 4)},
    source=f"a tempting generalisation of {NORMED}",
    expect="fails",
)
def literature_layernorm_collapse_obtuse(A, X, W):
    """Tempting and false: so it is for tokens at any angle. Two opposite tokens, each of which attends to itself most,
    stay opposite at every depth.
    """
    before, after = _least(X @ X.mT), _least(_cosines(A, X, W))
    return at_most(1 - after, (1 - _least(A @ A.mT)) * (1 - before))


@claim(
    "literature.layernorm_keeps_tokens_apart",
    over={"tokens": InvertiblePair(2), "q": Positive()},
    source=f"{MASKS}: with LayerNorm and general values tokens need not collapse, as recalled; derived for two tokens",
)
def literature_layernorm_keeps_tokens_apart(tokens, q):
    """For every two independent tokens X and every causal pattern A that looks at both there is a value map,
    X^-1 A^-1 X, under which attention and its norm leave them where they are: at every depth.
    """
    X, inverse = tokens
    weights = [1 + 0 * q, 0 * q, q / (1 + q), 1 / (1 + q)]
    undone = [1 + 0 * q, 0 * q, -q, 1 + q]
    A, back = (np.concatenate([np.concatenate(m[:2], -1), np.concatenate(m[2:], -1)], -2) for m in (weights, undone))
    W = inverse @ back @ X
    return every(equal(A @ X @ W, X), equal(rms_norm(A @ X @ W), rms_norm(X)))


# ---- distances as scores ----------------------------------------------------

L2_ATTENTION = "Kim, Papamakarios and Mnih, The Lipschitz constant of self-attention (arXiv 2006.04710), L2 attention"
CLOUD = {"X": Matrix("n", "d")}
MOVED = {**CLOUD, "direction": Matrix("n", "d")}
CLOUD_SIZES = {"n": range(1, 5), "d": range(1, 4)}


def _squared_distances(X, Y):
    """Of every token of one cloud to every one of another: (..., n, d), (..., m, d) -> (..., n, m)."""
    return total(square(X)) + total(square(Y)).mT - 2 * X @ Y.mT


def _spread(X):
    """The mean squared distance of what a token attends to: (..., n, d) -> (..., n, 1)."""
    distances = _squared_distances(X, X)
    return total(softmax(-distances) * distances)


@claim(
    "literature.l2_attention_spread",
    over=CLOUD,
    sizes=CLOUD_SIZES,
    source=f"{L2_ATTENTION}, the step to its constant, as recalled",
)
def literature_l2_attention_spread(X):
    """With scores -|x_i - x_j|^2 the mean squared distance m of what a token attends to has m e^(m + 1) <= n - 1: it
    grows with the logarithm of the number of tokens, and not with their distances.

    Proof: at the largest m = sum t_j e^-t_j/(1 + sum e^-t_j) every derivative, in proportion to 1 - t_j + m, is 0. So
    all t_j are m + 1, and then m is (n - 1) e^-(m + 1).
    """
    m = _spread(X)
    return at_most(m * exp(m + 1), X.shape[-2] - 1 + 0 * m)


@claim(
    "literature.l2_attention_spread_halved",
    over=CLOUD,
    sizes={"n": range(2, 6), "d": range(1, 4)},
    source="a tempting strengthening of literature.l2_attention_spread",
    expect="fails",
)
def literature_l2_attention_spread_halved(X):
    """Tempting and false: m e^(m + 2) <= n - 1. Tokens of which all others are at the same distance reach the bound."""
    m = _spread(X)
    return at_most(m * exp(m + 2), X.shape[-2] - 1 + 0 * m)


@claim(
    "literature.l2_attention",
    over=MOVED,
    sizes={"n": range(1, 4), "d": range(1, 3)},
    source=f"{L2_ATTENTION}, one head with maps of norm 1, the constant 4 phi^-1(N - 1) + 1 as recalled",
)
def literature_l2_attention(X, direction):
    """Attention with scores -|x_i - x_j|^2 is Lipschitz: an output moves at most 1 + 4m times as far as the token that
    is moved most, m its mean squared distance (literature.l2_attention_spread), so 1 + 4 phi^-1(n - 1) times with
    phi(x) = x e^(x + 1), everywhere.

    Proof: y_i moves by the mean of the moves, and by sum_j P_ij (x_j - y_i) times the move of its score, which is at
    most 4 |x_i - x_j| max|u|; the mean of |x_j - y_i| |x_j - x_i| is at most m, by Cauchy and Schwarz.
    """
    moved = derivative(lambda at: softmax(-_squared_distances(at, at)) @ at, X, direction)
    return at_most(row_norms(moved), (1 + 4 * _spread(X)) * largest_row_norm(direction))


@claim(
    "literature.l2_attention_untied",
    over=MOVED,
    sizes={"n": range(2, 4), "d": range(1, 3)},
    source=f"{L2_ATTENTION} without its hypothesis that queries and keys have one map",
    expect="fails",
)
def literature_l2_attention_untied(X, direction):
    """Tempting and false: with keys 2x in place of x, too, there is a Lipschitz constant, 100 say. No number would do:
    a token at 0 scores as high as one's own place, and how fast that changes grows with its distance.
    """
    moved = derivative(lambda at: softmax(-_squared_distances(at, 2 * at)) @ at, X, direction)
    return at_most(largest_row_norm(moved), 100 * largest_row_norm(direction))


@claim(
    "literature.l2_attention_averages",
    over=MOVED,
    sizes={"n": range(2, 4), "d": range(1, 3)},
    source="a tempting strengthening of literature.l2_attention",
    expect="fails",
)
def literature_l2_attention_averages(X, direction):
    """Tempting and false: the outputs are averages, and so move no further than the token that is moved most. The
    weights move too.
    """
    moved = derivative(lambda at: softmax(-_squared_distances(at, at)) @ at, X, direction)
    return at_most(largest_row_norm(moved), largest_row_norm(direction))
