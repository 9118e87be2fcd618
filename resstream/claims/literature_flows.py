"""Published statements on tokens that attend to each other layer after layer, as a flow or a stack: who ends where.

Flows are of tokens on a sphere, d/dt x_i = P_i (sum_j A_ij x_j) with P_i the projection off x_i: in SA the weights A
are softmax(beta <x_i, x_j>), in USA exp(beta <x_i, x_j>)/n without a normaliser.
"""

import numpy as np

from resstream.arithmetic import absolute, derivative, exact, exp, eye, log, ones, sqrt, square, total, total_entry
from resstream.claim import at_most, claim, equal, every
from resstream.domains import Count, Matrix, NonConstant, Positive, Scalar
from resstream.reference import layer_norm, skip_stack, softmax
from resstream.reference.spectrum import matrix_power

FLOWS = "Rigollet, Mean-field dynamics of transformers (arXiv 2512.01868); Geshkovski and others (arXiv 2312.10794)"
CRITICAL = "Chen and others, Critical attention scaling in long-context transformers (arXiv 2510.05554)"
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
