"""Published statements on tokens that attend to each other layer after layer, as a flow or a stack: who ends where.

Flows are of tokens on a sphere, d/dt x_i = P_i (sum_j A_ij x_j) with P_i the projection off x_i: in SA the weights A
are softmax(beta <x_i, x_j>), in USA exp(beta <x_i, x_j>)/n without a normaliser.
"""

import numpy as np

from resstream.arithmetic import (
    absolute,
    amin,
    derivative,
    exact,
    exp,
    eye,
    log,
    mean,
    ones,
    sqrt,
    square,
    total,
    total_entry,
    zeros,
)
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.domains import Count, Matrix, NonConstant, Positive, Scalar, Scores, Sphere
from resstream.reference import causal_mask, layer_norm, row_norms, skip_stack, softmax
from resstream.reference.spectrum import matrix_power

FLOWS = "Rigollet, Mean-field dynamics of transformers (arXiv 2512.01868); Geshkovski and others (arXiv 2312.10794)"
CRITICAL = "Chen and others, Critical attention scaling in long-context transformers (arXiv 2510.05554)"
CLUSTERING = "Chen, Lin, Polyanskiy and Rigollet, Quantitative clustering, as quoted by Rigollet (arXiv 2512.01868)"
CAUSAL = "Karagodin, Polyanskiy and Rigollet, Clustering in causal attention masking (arXiv 2411.04990), abstract"
DOVONON = "Dovonon, Bronstein and Kusner, Setting the record straight on transformer oversmoothing (arXiv 2401.04301)"

# ---- equiangular tokens -----------------------------------------------------


def equiangular(rho, n):
    """Inner products of n unit tokens at the same angle: 1 on the diagonal, rho elsewhere, (..., n, n)."""
    identity = eye(n, like=rho)
    return identity + rho * (1 - identity)


def turning(A, G):
    """d/dt <x_1, x_2> under the flow with weights A, from the inner products G of unit tokens alone: (..., 1, 1)."""
    pulled = A @ G
    first = pulled[..., :1, 1:2] - pulled[..., :1, :1] * G[..., :1, 1:2]
    second = pulled[..., 1:2, :1] - pulled[..., 1:2, 1:2] * G[..., :1, 1:2]
    return first + second


EQUIANGULAR = {"rho": Scalar(-1, 1), "beta": Scalar(0, 20), "n": Count("n")}


@claim("flow.equiangular", over=EQUIANGULAR, sizes={"n": range(2, 7)}, source=f"{FLOWS}, SA")
def flow_equiangular(rho, beta, n):
    """Tokens at one common angle stay so under attention, and the cosine rho grows at the rate
    2 e^(beta rho)(1 - rho)((n - 1) rho + 1)/(e^beta + (n - 1) e^(beta rho)).
    """
    G = equiangular(rho, n)
    pull = exp(beta * rho)
    rate = 2 * pull * (1 - rho) * ((n - 1) * rho + 1) / (exp(beta) + (n - 1) * pull)
    return equal(turning(softmax(beta * G), G), rate)


@claim("flow.equiangular_unnormalised", over=EQUIANGULAR, sizes={"n": range(2, 7)}, source=f"{FLOWS}, USA")
def flow_equiangular_unnormalised(rho, beta, n):
    """Without the normaliser the cosine grows at the rate (2/n) e^(beta rho)(1 - rho)((n - 1) rho + 1)."""
    G = equiangular(rho, n)
    rate = 2 * exp(beta * rho) * (1 - rho) * ((n - 1) * rho + 1) / n
    return equal(turning(exp(beta * G) / n, G), rate)


@claim(
    "flow.equiangular_rate_is_softmax_free",
    over=EQUIANGULAR,
    sizes={"n": range(2, 5)},
    source=f"a tempting reading of {FLOWS}, one rate for both flows",
    expect="fails",
)
def flow_equiangular_rate_is_softmax_free(rho, beta, n):
    """Tempting and false: the normaliser only changes the units of time, by one constant e^beta of all angles."""
    G = equiangular(rho, n)
    return equal(turning(softmax(beta * G), G) * exp(beta), turning(exp(beta * G) / n, G))


def beta_is_moderate(beta):
    """beta <= 64: beyond, exp(beta) outgrows the digits to which a speed of zero is known."""
    return at_most(beta, 64)


@claim(
    "flow.energy",
    over={"X": NonConstant("d", "n"), "beta": Positive()},
    assuming=(beta_is_moderate,),
    sizes={"n": range(1, 4), "d": range(2, 4)},
    source=f"{FLOWS}, the energy of USA",
)
def flow_energy(X, beta):
    """The energy (1/(2 beta n^2)) sum_ij e^(beta <x_i, x_j>) never falls along USA: its rate is the mean squared speed
    of the tokens, (1/n) sum ||x_i'||^2. (Tokens are on the unit sphere: LN(x)/sqrt d.)
    """
    n, d = X.shape[-2:]
    unit = layer_norm(X) / sqrt(d * ones((1, 1), like=X))

    def energy(at):
        return total_entry(exp(beta * (at @ at.mT))) / (2 * beta * n * n)

    pull = exp(beta * (unit @ unit.mT)) @ unit / n
    velocity = pull - total(pull * unit) * unit
    return equal(derivative(energy, unit, velocity), total_entry(square(velocity)) / n)


# ---- how fast tokens gather -------------------------------------------------


def speed(A, X):
    """How unit tokens move under the weights A, P_i (sum_j A_ij x_j): (..., n, d)."""
    pulled = A @ X
    return pulled - total(pulled * X) * X


def uniform(X):
    """The weights at beta = 0, 1/n each."""
    return softmax(zeros((X.shape[-2], X.shape[-2]), like=X))


@claim(
    "clustering.equiangular_solution",
    over={"y": Positive(), "z": Scalar(0, 1), "n": Count("n")},
    sizes={"n": range(2, 7)},
    source=f"beside {CLUSTERING}, the rate e^(-t/100), at beta = 0",
)
def clustering_equiangular_solution(y, z, n):
    """At beta = 0 tokens at one common angle have an explicit course: with y the first (1 - rho)/(1 + (n - 1) rho), the
    cosine is (1 - y z)/(1 + (n - 1) y z) at z = e^(-2t), and the squared Wasserstein distance to the point where they
    meet lies between u/(1 + u) and u = (n - 1) y z. So that distance falls as e^-t, a hundred times as fast as quoted.

    (They meet in the direction of their mean m, and the squared distance is 2 (1 - |m|), |m|^2 the mean of all
    cosines.)
    """

    def cosine(at):
        return (1 - y * at) / (1 + (n - 1) * y * at)

    G, u = equiangular(cosine(z), n), (n - 1) * y * z
    distance = 2 * (1 - sqrt(total_entry(G)) / n)
    return every(
        equal(derivative(cosine, z, -2 * z), turning(uniform(G), G)),
        at_most(distance, u),
        at_least(distance * (1 + u), u),
    )


def tokens_on_the_side_of_their_mean(X):
    """No token makes an obtuse angle with the mean token."""
    return at_least(X @ mean(X, -2).mT, 0)


@claim(
    "clustering.rate_at_beta_zero",
    over={"X": Sphere("d", "n")},
    assuming=(tokens_on_the_side_of_their_mean,),
    sizes={"n": range(1, 5), "d": range(1, 4)},
    source=f"beside {CLUSTERING}, with a rate that is proved here",
)
def clustering_rate_at_beta_zero(X):
    """At beta = 0, where no token makes an obtuse angle with the mean m, none ever will, d/dt <x_i, m> being at least
    <x_i, m>(1 - <x_i, m>); and |m|^2 grows by at least 2 |m|^2 (1 - |m|). So 1 - |m|^2, the tokens' mean squared
    distance to their mean, falls at the rate 2 |m|^2/(1 + |m|) at least, which only grows.

    Proof: with c_i = <x_i, m>, of mean |m|^2 and at most |m|, d/dt |m|^2 = 2 (|m|^2 - mean c_i^2), and mean c_i^2 is at
    most |m| mean c_i. And d/dt c_i = |m|^2 - c_i^2 + c_i - <x_i, mean c_j x_j>, whose last term is at most mean c_j.
    """
    middle, velocity = mean(X, -2), speed(uniform(X), X)
    length, lead = row_norms(middle), X @ middle.mT
    return every(
        at_least(derivative(lambda at: total(square(mean(at, -2))), X, velocity), 2 * square(length) * (1 - length)),
        at_least(derivative(lambda at: at @ mean(at, -2).mT, X, velocity), lead * (1 - lead)),
    )


@claim(
    "clustering.from_any_start",
    over={"X": Sphere("d", "n")},
    sizes={"n": range(2, 5), "d": range(2, 4)},
    source=f"a tempting reading of {CLUSTERING}, for tokens in place of a density",
    expect="fails",
)
def clustering_from_any_start(X):
    """Tempting and false: R = |m| > 0 is all that tokens need to gather: at beta = 0, R^2 grows by at least a
    thousandth of R^2 (1 - R^2). Tokens (a, a, -a) rest, at R = 1/3: a token opposite to the mean stays there.
    """
    size = total(square(mean(X, -2)))
    grown = derivative(lambda at: total(square(mean(at, -2))), X, speed(uniform(X), X))
    return at_least(1000 * grown, size * (1 - size))


CAUSAL_TOKENS = {"X": Sphere("d", "n"), "S": Scores("n")}
CAUSAL_SIZES = {"n": range(2, 5), "d": range(2, 4)}


def approach(X, S):
    """How fast every token's cosine with the first grows under causal attention, those cosines, and the weights."""
    A = softmax(S, causal_mask(X.shape[-2]))
    rate = derivative(lambda at: at @ at[..., :1, :].mT, X, speed(A, X))
    return rate, X @ X[..., :1, :].mT, A


def scores_are_moderate(S):
    """No score is beyond 500: there the smallest weight would be lost in an enclosure's digits."""
    return at_most(absolute(S), 500)


@claim(
    "causal_clustering.leaders", over=CAUSAL_TOKENS, assuming=(scores_are_moderate,), sizes=CAUSAL_SIZES, source=CAUSAL
)
def causal_clustering_leaders(X, S):
    """Under causal attention on the sphere, values as they are and whatever the scores, the first token rests, and the
    second one's cosine c with it grows at the rate A_21 (1 - c^2).
    """
    rate, cosine, A = approach(X, S)
    return every(
        equal(speed(A, X)[..., :1, :], 0),
        equal(rate[..., 1:2, :], A[..., 1:2, :1] * (1 - square(cosine[..., 1:2, :]))),
    )


def tokens_on_the_side_of_the_first(X):
    """No token makes an obtuse angle with the first."""
    return at_least(X @ X[..., :1, :].mT, 0)


@claim(
    "causal_clustering.in_a_hemisphere",
    over=CAUSAL_TOKENS,
    assuming=(tokens_on_the_side_of_the_first,),
    sizes=CAUSAL_SIZES,
    source=f"beside {CAUSAL}, with a rate that is proved here",
)
def causal_clustering_in_a_hemisphere(X, S):
    """Where no token makes an obtuse angle with the first, causal attention gathers them all there: c_k, the cosine of
    token k with the first, grows at the rate A_k1 (1 - c_k^2) - (1 - A_k1)(c_k - m) at least, m the smallest of them.
    So m itself grows at A_k1 (1 - m^2) at least, whatever the scores are.

    Proof: the rate is the sum of A_kj (c_j - c_k <x_j, x_k>), whose terms are at least A_kj (m - c_k).
    """
    rate, cosine, A = approach(X, S)
    to_first = A[..., :1]
    return at_least(rate, to_first * (1 - square(cosine)) - (1 - to_first) * (cosine - amin(cosine, -2)))


@claim(
    "causal_clustering.each_approaches",
    over=CAUSAL_TOKENS,
    assuming=(tokens_on_the_side_of_the_first,),
    sizes={"n": range(3, 5), "d": range(2, 4)},
    source=f"a tempting reading of {CAUSAL}",
    expect="fails",
)
def causal_clustering_each_approaches(X, S):
    """Tempting and false: on the way to the first token no token ever moves away from it. The third may follow the
    second, which is on the way too.
    """
    return at_least(approach(X, S)[0], 0)


@claim(
    "causal_clustering.from_every_start",
    over=CAUSAL_TOKENS,
    sizes=CAUSAL_SIZES,
    source=f"a tempting reading of {CAUSAL} (almost all starts, taken for all)",
    expect="fails",
)
def causal_clustering_from_every_start(X, S):
    """Tempting and false: the second token approaches the first from everywhere, at a rate of at least
    A_21 (1 - c)/100. From the opposite point it does not move: the theorem speaks of almost all starts.
    """
    rate, cosine, A = approach(X, S)
    return at_least(100 * rate[..., 1:2, :], A[..., 1:2, :1] * (1 - cosine[..., 1:2, :]))


# ---- one step of critical attention -----------------------------------------

STEP = {"rho": Scalar(0, 1), "n": Count("n")}


def critical_pattern(rho, n):
    """Weights of equiangular tokens at the inverse temperature log n/(1 - rho), at which beta (1 - rho) is log n."""
    lead = log(n * ones((1, 1), like=rho))
    return softmax(lead * eye(n, like=rho) + 0 * rho)


@claim("critical.half_the_weight_is_spread", over=STEP, sizes={"n": range(2, 9)}, source=CRITICAL)
def critical_half_the_weight_is_spread(rho, n):
    """At the critical temperature of equiangular tokens a token keeps n/(2n - 1) of its weight, about a half, and all
    others share the rest equally, 1/(2n - 1) each.

    Printed: at criticality attention concentrates on a sublinear set of neighbours.
    Read: in the paper's own solvable model of equiangular tokens.
    Right: there the other half of the weight is uniform over all n - 1 other tokens.
    Fault: imprecise.
    """
    A, identity = critical_pattern(rho, n), eye(n, like=rho)
    return equal((2 * n - 1) * A, n * identity + (1 - identity))


@claim("critical.angle", over=STEP, sizes={"n": range(2, 17, 2)}, source=CRITICAL)
def critical_angle(rho, n):
    """One step of critical attention, normalised, takes the common cosine rho to 4 rho/(1 + 3 rho), within 3/n."""
    A, G = critical_pattern(rho, n), equiangular(rho, n)
    H = A @ G @ A.mT
    cosine, limit = H[..., :1, 1:2] / H[..., :1, :1], 4 * rho / (1 + 3 * rho)
    return at_most(absolute(cosine - limit), exact(3, n))


# ---- skips and oversmoothing ------------------------------------------------

TWO_TOKENS = {"X": Matrix(2, "d"), "p": Scalar(0, 1), "H": Matrix("d", "d"), "L": Count("L")}


def two_token_pattern(p):
    """((1 - p/2, p/2), (p/2, 1 - p/2)): the eigenvalues 1 (both tokens alike) and 1 - p (their difference)."""
    rows = [np.concatenate(pair, axis=-1) for pair in ((1 - p / 2, p / 2), (p / 2, 1 - p / 2))]
    return np.concatenate(rows, axis=-2)


def sum_and_gap(X):
    """The sum and the difference of two tokens."""
    return X[..., :1, :] + X[..., 1:, :], X[..., :1, :] - X[..., 1:, :]


@claim("oversmoothing.two_tokens", over=TWO_TOKENS, sizes={"d": range(1, 3), "L": range(1, 5)}, source=DOVONON)
def oversmoothing_two_tokens(X, p, H, L):
    """With a fixed pattern, X + AXH acts on every pair of eigenvalues of A and H as 1 + lambda_A lambda_H. For two
    tokens: their sum goes through (I + H)^L and their difference through (I + (1 - p) H)^L, so which of the two takes
    over is decided by H, not by the skip alone.
    """
    last = skip_stack([two_token_pattern(p)] * L, X, [H] * L)[-1]
    identity = eye(X.shape[-1], like=X)
    (sum_0, gap_0), (sum_L, gap_L) = map(sum_and_gap, (X, last))
    return every(
        equal(sum_L, sum_0 @ matrix_power(identity + H, L)),
        equal(gap_L, gap_0 @ matrix_power(identity + (1 - p) * H, L)),
    )


@claim(
    "oversmoothing.always",
    over={**TWO_TOKENS, "X": Matrix(2, 1), "H": Matrix(1, 1)},
    sizes={"L": range(1, 3)},
    source=f"the contrary of {DOVONON}",
    expect="fails",
)
def oversmoothing_always(X, p, H, L):
    """Tempting and false: with a skip, attention brings two tokens closer relative to their sum. H < 0 sharpens."""
    last = skip_stack([two_token_pattern(p)] * L, X, [H] * L)[-1]
    (sum_0, gap_0), (sum_L, gap_L) = map(sum_and_gap, (X, last))
    return at_most(absolute(gap_L * sum_0), absolute(gap_0 * sum_L))
