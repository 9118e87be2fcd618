"""What happens as depth grows: limits and rates, with the bounds that are known at every depth stated beside them."""

from fractions import Fraction
from math import comb

from resstream.arithmetic import amax, exact, exp, log, mean, ones, sqrt, square
from resstream.claim import claim, limit, rate, size
from resstream.claims.literature_depth import MARION, deviations
from resstream.claims.sources import PAGE, TEXTBOOK
from resstream.domains import Causal, Count, Matrix, Positive, RowStochastic, Scalar, Stack
from resstream.reference import LINF, diameter, row_norms

# ---- attention alone --------------------------------------------------------

LAYERS = {"As": Stack("L", RowStochastic("n")), "X": Matrix("n", "d"), "eps": Scalar(Fraction(1, 10), Fraction(9, 10))}
CAUSAL = {**LAYERS, "As": Stack("L", Causal("n"))}
CLOUDS = {"n": range(1, 5), "d": range(1, 3)}


def mixed(As, X, eps, shared):
    """The cloud after layers (1 - eps) A + eps S, where S looks at what is shared: `shared(X)`, one row."""
    for A in As:
        X = (1 - eps) * (A @ X) + eps * shared(X)
    return X


def average(X):
    """The mean token, (..., 1, d)."""
    return mean(X, -2)


@claim(
    "depth.attention_collapses",
    over=LAYERS,
    sizes=CLOUDS,
    source=f"after {PAGE}, Theorem 1 (iii)",
    as_grows=limit("L", monotone="decreasing"),
)
def depth_attention_collapses(As, X, eps):
    """Attention alone, each layer of which spends a share eps on all tokens alike, collapses any cloud to one token:
    the diameter tends to 0, and never grows.

    Proof: such a layer has a Dobrushin coefficient of at most 1 - eps, and eps >= 1/10 here.
    """
    return diameter(mixed(As, X, eps, average), LINF)


@claim(
    "depth.attention_collapse_rate",
    over=LAYERS,
    sizes=CLOUDS,
    source=f"after {PAGE}, Theorem 1 (iii)",
    as_grows=rate("L", lambda eps, L: (1 - eps) ** L, constant=lambda X: diameter(X, LINF), monotone="decreasing"),
)
def depth_attention_collapse_rate(As, X, eps):
    """It does so at the rate (1 - eps)^L, with the diameter of the first cloud as the constant."""
    return diameter(mixed(As, X, eps, average), LINF)


@claim(
    "depth.attention_collapse_double_rate",
    over=LAYERS,
    sizes=CLOUDS,
    source="a tempting strengthening of depth.attention_collapse_rate",
    expect="fails",
    as_grows=rate("L", lambda eps, L: (1 - eps) ** (2 * L), constant=lambda X: diameter(X, LINF)),
)
def depth_attention_collapse_double_rate(As, X, eps):
    """Tempting and false: at the rate (1 - eps)^(2 L), with the same constant. Layers that copy attain the single
    rate.
    """
    return diameter(mixed(As, X, eps, average), LINF)


@claim(
    "depth.causal_attention_collapses",
    over=CAUSAL,
    sizes=CLOUDS,
    source=f"beyond {PAGE}, Theorem 1 (ii)",
    as_grows=limit("L", monotone="decreasing"),
)
def depth_causal_attention_collapses(As, X, eps):
    """Causal attention that spends a share eps on the first token at every layer collapses to it: the largest distance
    of a token from the first tends to 0, and never grows.

    Proof: the first token stays, and each layer leaves at most 1 - eps of the largest distance from it.
    """
    X = mixed(As, X, eps, lambda X: X[..., :1, :])
    return amax(row_norms(X - X[..., :1, :], LINF), -2)


# ---- residual stacks --------------------------------------------------------

BRANCHES = {"a": Scalar(0, 2), "L": Count("L")}


@claim(
    "depth.branches_over_depth_limit",
    over=BRANCHES,
    source=f"{MARION}, the worst case",
    as_grows=limit("L", lambda a: exp(a), monotone="increasing"),
)
def depth_branches_over_depth_limit(a, L):
    """L branches of norm a/L that all point one way grow a gradient by (1 + a/L)^L, which tends to e^a from below."""
    return (1 + a * exact(1, L)) ** L


@claim(
    "depth.branches_over_depth_first_order",
    over=BRANCHES,
    source="a tempting reading of branches over depth",
    expect="fails",
    as_grows=limit("L", lambda a: 1 + a, monotone="increasing"),
)
def depth_branches_over_depth_first_order(a, L):
    """Tempting and false: as each branch vanishes, only paths through one of them stay, and the growth tends to 1 + a
    from below. Two layers are beyond it already: (1 + a/2)^2 = 1 + a + a^2/4.
    """
    return (1 + a * exact(1, L)) ** L


@claim(
    "depth.signed_branches_limit",
    over=BRANCHES,
    source=f"{MARION}, weights without independence",
    as_grows=limit("L", lambda a: exp(square(a)), monotone="increasing"),
)
def depth_signed_branches_limit(a, L):
    """With independent random signs, branches of norm a/sqrt L grow a mean square by (1 + a^2/L)^L, which tends to
    e^(a^2) from below.
    """
    return (1 + square(a) * exact(1, L)) ** L


@claim(
    "depth.variance_is_linear",
    over={"sigma": Positive(), "L": Count("L")},
    source="beside depth.variance_recursion",
    as_grows=rate("L", lambda L: L, constant=lambda sigma: sigma + exact(1, 2)),
)
def depth_variance_is_linear(sigma, L):
    """The recursion sigma_{k+1}^2 = sigma_k^2 + sigma_k grows sigma_L in proportion to L at most, not exponentially:
    sigma_L <= (sigma_1 + 1/2) L.
    """
    return deviations(sigma, L)[-1]


@claim(
    "depth.layernorm_scaling_is_logarithmic",
    over={"c": Positive(), "L": Count("L")},
    source="beside depth.layernorm_scaling",
    as_grows=rate("L", lambda c, L: log(1 + L * ones((1, 1), like=c)), monotone="decreasing"),
)
def depth_layernorm_scaling_is_logarithmic(c, L):
    """With the l-th branch over sqrt l, branches of length c and independent signs, the mean squared length is c^2
    (1 + 1 + 1/2 + ... + 1/L), of the order log(1 + L), and its quotient by that falls.
    """
    return square(c) * (1 + sum(exact(1, k) for k in range(1, L + 1)))


@claim(
    "depth.path_lengths_spread",
    over={"c": Positive(), "L": Count("L")},
    source=f"{TEXTBOOK}, A residual network is an ensemble of paths",
    as_grows=rate("L", lambda: 1 / sqrt(size("L")), constant=lambda c: c),
)
def depth_path_lengths_spread(c, L):
    """Of the 2^L paths through L layers no length has a share of more than 1/sqrt L: if each path carries c 2^-L, those
    of the commonest length carry c C(L, L/2)/2^L together.

    Proof: C(2m, m)/4^m <= 1/sqrt(3m + 1).
    """
    return c * exact(comb(L, L // 2), 2**L)
