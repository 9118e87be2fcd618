"""Forty-five theorems that somebody stated while the vocabulary was small, in the plain forms that it has now.

`resstream check examples/claims_plain.py` says of each what is known (some fail at large sizes alone, and need a larger
budget than a check's: `resstream falsify FILE.py::plain.c07`). `CONTORTED` are those that had to be worked around: a
size as `0 * x + 1` times a number, a hypothesis on a size, a function that was missing, a Jacobian by hand, "there is"
as a smallest entry. Of `STILL` one step is not plain yet: a second singular value is a slice.
"""

from resstream.arithmetic import exact, exp, log, mean, sqrt, square, total
from resstream.calculus import lipschitz
from resstream.claim import (
    at_least,
    at_most,
    claim,
    equal,
    every,
    exists,
    less_than,
    more_than,
    size,
)
from resstream.domains import (
    Count,
    DoublyStochastic,
    Matrix,
    NonConstant,
    NonZero,
    Norm,
    Permutation,
    Positive,
    RowStochastic,
    Scalar,
    Simplex,
    Stack,
    Subset,
    Vector,
)
from resstream.reference import (
    L1,
    L2,
    LINF,
    affine_rank,
    centre,
    diameter,
    distance_to_constant,
    dobrushin,
    frobenius_norm,
    largest_row_norm,
    layer_norm,
    mean_pairwise_distance,
    pairwise_distances,
    rank,
    rms_norm,
    row_norms,
    singular_values,
    spectral_norm,
)
from resstream.reference.spectrum import second_modulus

CONTORTED = (
    *("a01", "a02", "a03", "a05", "a06", "a08", "a10", "a11", "a12"),
    *("c01", "c04", "c05", "c08", "c09", "c10", "c11", "c12", "c13", "c16", "c17", "c19", "c20"),
    *("f02", "f10", "f13"),
)
STILL = ("a08", "a12", "f13")

# ---- rank, averages, coefficients of ergodicity -----------------------------

CLOUD = {"X": NonConstant("d", "n")}
CLOUDS = {"d": range(2, 5), "n": range(1, 5)}
AVERAGED = {"A": DoublyStochastic("n"), "X": Matrix("n", "d")}
TWO = {"A": DoublyStochastic("n"), "B": DoublyStochastic("n"), "t": Scalar(0, 1)}


@claim("plain.a01", over=CLOUD, sizes=CLOUDS, expect="fails")
def a01(X):
    """Layer normalisation preserves affine rank."""
    return equal(affine_rank(layer_norm(X)), affine_rank(X))


@claim("plain.a02", over=CLOUD, sizes=CLOUDS, expect="fails")
def a02(X):
    """It lowers the affine rank by at most one."""
    return at_least(affine_rank(layer_norm(X)) + 1, affine_rank(X))


@claim("plain.a03", over=CLOUD, sizes=CLOUDS)
def a03(X):
    """It lowers the affine rank by at most two."""
    return at_least(affine_rank(layer_norm(X)) + 2, affine_rank(X))


@claim("plain.a04", over=CLOUD, sizes=CLOUDS)
def a04(X):
    """It preserves the rank of the centred cloud."""
    return equal(rank(layer_norm(X)), rank(centre(X)))


@claim("plain.a05", over={"A": RowStochastic("n"), "X": Matrix("n", "d")}, expect="fails")
def a05(A, X):
    """The mean pairwise distance contracts by tau(A)."""
    return at_most(mean_pairwise_distance(A @ X), dobrushin(A) * mean_pairwise_distance(X))


@claim("plain.a06", over=AVERAGED)
def a06(A, X):
    """For doubly stochastic A the mean pairwise distance never grows."""
    return at_most(mean_pairwise_distance(A @ X), mean_pairwise_distance(X))


@claim("plain.a07", over={"A": RowStochastic("n"), "B": RowStochastic("n"), "t": Scalar(0, 1)})
def a07(A, B, t):
    """tau squared is convex."""
    return at_most(dobrushin(t * A + (1 - t) * B) ** 2, t * dobrushin(A) ** 2 + (1 - t) * dobrushin(B) ** 2)


def second(A):
    """The second singular value."""
    return singular_values(A)[..., 1:2]


@claim("plain.a08", over=TWO, sizes={"n": range(2, 4)})
def a08(A, B, t):
    """The second singular value is convex on doubly stochastic matrices."""
    return at_most(second(t * A + (1 - t) * B), t * second(A) + (1 - t) * second(B))


@claim("plain.a09", over=TWO, sizes={"n": range(2, 5)}, expect="fails")
def a09(A, B, t):
    """The second largest modulus of an eigenvalue is convex on doubly stochastic matrices."""
    return at_most(second_modulus(t * A + (1 - t) * B), t * second_modulus(A) + (1 - t) * second_modulus(B))


@claim("plain.a10", over={"A": RowStochastic("n"), "pi": Simplex("n")})
def a10(A, pi):
    """tau(A) is at most the largest l1 distance of a row of A to any distribution."""
    return at_most(dobrushin(A), largest_row_norm(A - pi, L1))


@claim("plain.a11", over={"A": RowStochastic("n"), "pi": Simplex("n")}, expect="fails")
def a11(A, pi):
    """... and to half of it."""
    return at_most(2 * dobrushin(A), largest_row_norm(A - pi, L1))


@claim("plain.a12", over=AVERAGED, sizes={"n": range(2, 5), "d": range(1, 4)})
def a12(A, X):
    """Doubly stochastic A contracts the distance to equal rows by its second singular value."""
    return at_most(distance_to_constant(A @ X), second(A) * distance_to_constant(X))


# ---- norms, constants that depend on the dimension, tiny scales --------------

ENERGY = {"X": Matrix("n", "d"), "p": Simplex("n"), "q": Simplex("n"), "norm": Norm("d")}


@claim("plain.c01", over={"x": Vector("d")})
def c01(x):
    """||x||_1 <= sqrt(d) ||x||_2."""
    return at_most(row_norms(x, L1), sqrt(size("d")) * row_norms(x))


@claim("plain.c02", over={"x": Vector("d")})
def c02(x):
    """||x||_1 <= d ||x||_2."""
    return at_most(row_norms(x, L1), size("d") * row_norms(x))


@claim("plain.c03", over={"A": RowStochastic("n")})
def c03(A):
    """||A||_2 <= n for row-stochastic A."""
    return at_most(spectral_norm(A), size("n"))


@claim("plain.c04", over={"x": Vector("d")})
def c04(x):
    """||x||_1 <= 7/2 ||x||_2, which fails from d = 13 on alone: --probe-sizes finds it."""
    return at_most(row_norms(x, L1), exact(7, 2) * row_norms(x))


@claim("plain.c05", over={"x": Vector("d")}, sizes={"d": range(1, 17)}, expect="fails")
def c05(x):
    """The same with d up to 16."""
    return at_most(row_norms(x, L1), exact(7, 2) * row_norms(x))


def energies(X, p, q, norm):
    """Mean distances within two groups, and twice that between them."""
    D = pairwise_distances(X, norm)
    return p @ D @ p.mT + q @ D @ q.mT, 2 * (p @ D @ q.mT)


@claim("plain.c06", over={**ENERGY, "norm": Norm("d", kinds=("l1", "l2"))}, sizes={"n": range(1, 5), "d": range(1, 4)})
def c06(X, p, q, norm):
    """Two groups of tokens are on average at least as far apart as within, in l1 and l2."""
    return at_most(*energies(X, p, q, norm))


GROUPS = {"X": Matrix("n", "d"), "p": Simplex("n"), "q": Simplex("n")}


@claim("plain.c07", over=GROUPS, where="n >= 5 and d >= 3", expect="fails")
def c07(X, p, q):
    """In the maximum norm too, with five tokens in three dimensions or more."""
    return at_most(*energies(X, p, q, LINF))


@claim("plain.c08", over=ENERGY, where="n <= 4", sizes={"d": range(1, 4)})
def c08(X, p, q, norm):
    """In every norm, with four tokens at most."""
    return at_most(*energies(X, p, q, norm))


def smoothed(x):
    """RMSNorm with epsilon = 1/100."""
    return rms_norm(x, epsilon=exact(1, 100))


def softened(x):
    """RMSNorm with epsilon = 1."""
    return rms_norm(x, epsilon=1)


WIDE = {"d": range(1, 7)}
c09 = lipschitz("plain.c09", smoothed, Vector("d"), 10, L2, L2, sizes=WIDE)
c10 = lipschitz("plain.c10", smoothed, Vector("d"), 10, LINF, LINF, sizes={"d": range(1, 5)})
c11 = lipschitz("plain.c11", softened, Vector("d"), 1, LINF, LINF, sizes=WIDE, expect="fails")
c12 = lipschitz("plain.c12", softened, Vector("d"), exact(11, 10), LINF, LINF, sizes=WIDE)
c13 = lipschitz("plain.c13", softened, Vector("d"), 1, LINF, LINF, sizes={"d": range(1, 5)})


@claim("plain.c14", over={"x": NonConstant("d")}, sizes={"d": range(2, 7)}, expect="fails")
def c14(x):
    """With epsilon = 1e-18 LayerNorm keeps half of the squared length."""
    return at_least(2 * total(square(layer_norm(x, epsilon=exact("1e-18")))), size("d"))


def spread_out(x):
    """The variance is at least 1e-12."""
    return at_least(mean(square(centre(x))), exact("1e-12"))


@claim("plain.c15", over={"x": NonConstant("d")}, sizes={"d": range(2, 7)}, assuming=[spread_out])
def c15(x):
    """With a variance of at least 1e-12 it does."""
    return at_least(2 * total(square(layer_norm(x, epsilon=exact("1e-18")))), size("d"))


def long_rows(x, y, r):
    """Both are at least r long."""
    return every(at_least(row_norms(x), r), at_least(row_norms(y), r))


@claim(
    "plain.c16",
    over={"x": NonConstant("d"), "y": NonConstant("d"), "r": Positive()},
    sizes={"d": range(2, 7)},
    assuming=[long_rows],
    expect="fails",
)
def c16(x, y, r):
    """LayerNorm is sqrt(d)/r-Lipschitz outside the ball of radius r."""
    return at_most(row_norms(layer_norm(x) - layer_norm(y)), sqrt(size("d")) / r * row_norms(x - y))


@claim("plain.c17", over={"x": NonZero(1, "d"), "y": NonZero(1, "d"), "r": Positive()}, assuming=[long_rows])
def c17(x, y, r):
    """RMSNorm is."""
    return at_most(row_norms(rms_norm(x) - rms_norm(y)), sqrt(size("d")) / r * row_norms(x - y))


@claim(
    "plain.c18",
    over={"L": Count("L"), "Js": Stack("L", NonZero("d", "d")), "x": NonZero(1, "d")},
    sizes={"L": range(1, 9), "d": range(1, 4)},
    expect="fails",
)
def c18(L, Js, x):
    """L residual layers with branches of norm 1/L stretch by at most 5/2 (false for L >= 6 alone)."""
    y = x
    for J in Js:
        y = y + y @ J / (L * frobenius_norm(J))
    return at_most(2 * row_norms(y), 5 * row_norms(x))


def from_mean(X):
    """Squared distances from the mean token."""
    return total(square(X - mean(X, -2)))


@claim("plain.c19", over={"X": Matrix("n", "d")}, sizes={"n": range(1, 5), "d": range(1, 4)})
def c19(X):
    """There is a token whose squared distance to the mean is at most (n - 1)/(2n) diam^2."""
    bound = (size("n") - 1) / (2 * size("n")) * diameter(X) ** 2
    return exists(Subset("n", 1), lambda j: at_most(j @ from_mean(X), bound))


@claim("plain.c20", over={"X": Matrix("n", "d")}, expect="fails")
def c20(X):
    """Jung with the mean as centre: every token is within sqrt(d/(2(d + 1))) diam of the mean token."""
    return at_most(from_mean(X), size("d") / (2 * (size("d") + 1)) * diameter(X) ** 2)


# ---- odds and ends ----------------------------------------------------------


@claim("plain.f01", over={"x": Scalar(0)})
def f01(x):
    """x/(1 + x^2/100) <= 2000."""
    return at_most(x / (1 + x**2 / 100), 2000)


@claim("plain.f02", over={"x": Vector("d")})
def f02(x):
    """||x||_1 <= 1.0005 sqrt(d) ||x||_2."""
    return at_most(row_norms(x, L1), exact("1.0005") * sqrt(size("d")) * row_norms(x))


def mixing(P):
    """tau(P) < 1."""
    return less_than(dobrushin(P), 1)


def apart(a, b):
    """a < b."""
    return less_than(a, b)


@claim("plain.f04", over={"a": Scalar(), "b": Scalar()}, assuming=[apart])
def f04(a, b):
    """a < b implies a + b < 2b."""
    return less_than(a + b, 2 * b)


@claim("plain.f05", over={"x": Scalar()}, expect="fails")
def f05(x):
    """exp(x)(1 + 2^-110) = exp(x)."""
    return equal(exp(x) * (1 + exact(1, 2**110)), exp(x))


@claim("plain.f06", over={"x": Scalar()}, expect="fails")
def f06(x):
    """x(1 + 2^-110) = x."""
    return equal(x * (1 + exact(1, 2**110)), x)


@claim("plain.f07", over={"x": Vector("d")})
def f07(x):
    """-2|x|^2 <= -|x|^2."""
    return at_most(-2 * total(square(x)), -total(square(x)))


@claim("plain.f08", over={"x": Scalar(), "y": Positive()}, expect="fails")
def f08(x, y):
    """sqrt(x^2 y) = x sqrt(y)."""
    return equal(sqrt(square(x) * y), x * sqrt(y))


def other_than_zero(x):
    """x is positive or negative."""
    return more_than(square(x), 0)


@claim("plain.f09", over={"x": Scalar()}, assuming=[other_than_zero])
def f09(x):
    """log(x^2) = 2 log|x| where x is not 0."""
    return equal(log(square(x)), 2 * log(abs(x)))


def centred(X):
    """The mean token is 0."""
    return equal(mean(X, -2), 0)


@claim("plain.f10", over={"X": Matrix("n", "d")}, sizes={"n": range(2, 6)}, assuming=[centred])
def f10(X):
    """For a centred cloud |X|_F^2 <= (n - 1)/2 diam^2."""
    return at_most(frobenius_norm(X) ** 2, (size("n") - 1) / 2 * diameter(X) ** 2)


@claim("plain.f11", over={"x": Scalar(0, 1)})
def f11(x):
    """x(1 - x) <= 1/4 + 10^-6."""
    return at_most(x * (1 - x), exact(1, 4) + exact("1e-6"))


@claim("plain.f12", over={"A": RowStochastic("n")}, sizes={"n": range(2, 13)}, expect="fails")
def f12(A):
    """No column sums to more than 10 (false for n >= 11 alone)."""
    return at_most(total(A, -2), 10)


@claim("plain.f13", over=AVERAGED, sizes={"n": range(2, 4), "d": range(1, 3)})
def f13(A, X):
    """a12 at smaller sizes."""
    return at_most(distance_to_constant(A @ X), second(A) * distance_to_constant(X))


@claim("plain.f03", over={"P": Permutation("n"), "X": Matrix("n", "d")}, sizes={"n": range(1, 2)}, assuming=[mixing])
def f03(P, X):
    """A permutation with tau < 1 merges all tokens: there is such a one of a single token alone."""
    return equal(diameter(P @ X), 0)
