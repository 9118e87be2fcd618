"""The sources' sentences on random vectors, maps and stacks: means that are exact, and statements that draws test.

What is exact is an ordinary claim with `expectation`. The others are statistical claims: `check` tests each at its
level, and nothing certified is said of them.
"""

import numpy as np

from resstream.arithmetic import absolute, amax, exact, eye, ones, power, square, total, total_entry, where, zeros
from resstream.claim import at_least, at_most, claim, equal, every, expectation, size
from resstream.claims.sources import ANNOTATED, PAGE, TEXTBOOK
from resstream.domains import Count, Gaussian, Matrix, OnSphere, Orthogonal, Scalar, Signs, Uniform, Vector
from resstream.reference import (
    attention_scores,
    backward_recursion,
    centre,
    gram,
    layer_norm,
    pseudo_inverse,
    row_norms,
    softmax,
    spectral_norm,
)
from resstream.statistical import Laws, average, probability, statistical

SMALL = {"d": range(1, 4)}


def squared(x):
    """Squared length of a row."""
    return total(square(x))


# ---- means that are exact ---------------------------------------------------


@claim("random.unit_vectors", over={"k": Vector("h")}, sizes={"h": range(1, 5)}, source=f"{ANNOTATED}, 6")
def random_unit_vectors(k):
    """The dot product of a vector k with a random unit vector, uniform on the sphere of R^h, has mean 0, mean square
    ||k||^2/h and mean fourth power 3 ||k||^4/(h (h + 2)): of two unit vectors the standard deviation is 1/sqrt h.
    """
    first, second, fourth = (expectation(OnSphere("h"), lambda q, p=p: power(q @ k.mT, p)) for p in (1, 2, 4))
    h = size("h")
    return every(
        equal(first, 0),
        equal(h * second, squared(k)),
        equal(h * (h + 2) * fourth, 3 * square(squared(k))),
    )


@claim(
    "random.unit_vectors_as_printed",
    over={"k": Vector("h")},
    source=f"{ANNOTATED}, 6",
    expect="fails",
)
def random_unit_vectors_as_printed(k):
    """False: the dot product of k and a random unit vector has the mean square h ||k||^2, a standard deviation of
    sqrt h between unit vectors. It is ||k||^2/h (see attention.unit_vectors).
    """
    return equal(expectation(OnSphere("h"), lambda q: square(q @ k.mT)), size("h") * squared(k))


@claim(
    "random.scores",
    over={"k": Vector("h")},
    sizes={"h": range(1, 5)},
    source=f"{ANNOTATED}, 6 (why scores are scaled)",
)
def random_scores(k):
    """For queries of independent entries with variance one, E <q, k>^2 = ||k||^2, of keys of that kind too it is h; and
    scaled by 1/sqrt h a score has variance one, whatever h.
    """
    law = Gaussian(1, "h")
    return every(
        equal(expectation(law, lambda q: square(q @ k.mT)), squared(k)),
        equal(expectation([law, law], lambda q, k: square(q @ k.mT)), size("h")),
        equal(expectation([law, law], lambda q, k: square(attention_scores(q, k))), 1),
    )


@claim(
    "growth.random_map",
    over={"g": Vector("d"), "alpha": Scalar()},
    sizes=SMALL,
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_random_map(g, alpha):
    """A random Jacobian with independent entries of variance alpha^2/d has E ||g J||^2 = alpha^2 ||g||^2, and with the
    skip E ||g + g J||^2 = (1 + alpha^2) ||g||^2, because the cross term has mean zero.
    """
    law = Gaussian("d", "d", divided_by="d")
    return every(
        equal(expectation(law, lambda J: squared(alpha * (g @ J))), square(alpha) * squared(g)),
        equal(expectation(law, lambda J: squared(g + alpha * (g @ J))), (1 + square(alpha)) * squared(g)),
    )


@claim(
    "growth.random_map_adds_norms",
    over={"g": Vector("d"), "alpha": Scalar()},
    sizes=SMALL,
    source=f"a tempting reading of {TEXTBOOK}, Gradients ride the identity",
    expect="fails",
)
def growth_random_map_adds_norms(g, alpha):
    """Tempting and false: a step with a skip multiplies the mean squared gradient by (1 + alpha)^2, as lengths add."""
    law = Gaussian("d", "d", divided_by="d")
    return equal(expectation(law, lambda J: squared(g + alpha * (g @ J))), square(1 + alpha) * squared(g))


@claim(
    "growth.random_stack",
    over={"g": Vector("d"), "alpha": Scalar()},
    sizes={"d": range(1, 3)},
    source=f"{TEXTBOOK}, Gradients ride the identity",
)
def growth_random_stack(g, alpha):
    """After two independent steps the gradient's mean square is (1 + alpha^2)^2 ||g||^2 in a residual stack, and
    alpha^4 ||g||^2 in a plain one.
    """
    laws = [Gaussian("d", "d", divided_by="d")] * 2

    def arrived(residual):
        return lambda *Js: squared(backward_recursion(g + 0 * Js[0][:1], [alpha * J for J in Js], residual)[0])

    return every(
        equal(expectation(laws, arrived(True)), power(1 + square(alpha), 2) * squared(g)),
        equal(expectation(laws, arrived(False)), power(alpha, 4) * squared(g)),
    )


@claim(
    "paths.random_model",
    over={"g": Vector("d"), "alpha": Scalar()},
    sizes={"d": range(1, 3)},
    source=f"{TEXTBOOK}, A residual network is an ensemble of paths, in its own random model",
)
def paths_random_model(g, alpha):
    """In the text's random model the gradients along two different paths are uncorrelated, and the one through k
    sublayers has the mean square alpha^(2k) ||g||^2: so path lengths weigh alpha^(2k). For two sublayers.
    """
    laws = [Gaussian("d", "d", divided_by="d")] * 2
    pairs = [(i, j) for i in range(4) for j in range(i + 1)]

    def products(J, K):
        along = (g, alpha * g @ J, alpha * g @ K, square(alpha) * g @ K @ J)
        return np.concatenate([total(along[i] * along[j]) + 0 * J[:1, :1] for i, j in pairs], axis=-1)

    lengths = [0, 1, 1, 2]
    expected = [power(alpha, 2 * lengths[i]) * squared(g) if i == j else 0 * alpha for i, j in pairs]
    return equal(expectation(laws, products), np.concatenate(expected, axis=-1))


@claim(
    "stream.random_writes",
    over={"x": Vector("d"), "c": Scalar()},
    sizes=SMALL,
    source=f"{TEXTBOOK}, The forward signal grows too",
)
def stream_random_writes(x, c):
    """Independent writes of a fixed length c in directions that are uniform on the sphere add in squares: after S of
    them E ||x_S||^2 = ||x_0||^2 + S c^2. For S = 3.
    """
    grown = expectation([OnSphere("d")] * 3, lambda *ws: squared(x + c * (ws[0] + ws[1] + ws[2])))
    return equal(grown, squared(x) + 3 * square(c))


@claim(
    "random.composition_baseline",
    over={"A": Matrix("n", "d")},
    sizes={"n": range(1, 3), "d": range(1, 4)},
    source=f"{ANNOTATED}, 18 and 18.2 (the baseline 1/sqrt d)",
)
def random_composition_baseline(A):
    """For a random B with independent entries of mean 0 and one variance, d rows wide where it meets A,
    E ||A B||^2 = ||A||^2 E ||B||^2/d: the squared composition score of heads that have nothing to do with each other
    is 1/d, in the mean over what stands above and below.
    """
    law = Gaussian("d", 2)
    product = expectation(law, lambda B: total_entry(square(A @ B)))
    alone = expectation(law, lambda B: total_entry(square(B)))
    return equal(size("d") * product, total_entry(square(A)) * alone)


@claim(
    "random.direction_in_a_subspace",
    over={"B": Orthogonal("d", "k")},
    sizes={"d": range(2, 5), "k": range(1, 3)},
    source=f"{ANNOTATED}, 18 (plain language)",
)
def random_direction_in_a_subspace(B):
    """A random direction of R^d has the mean squared cosine k/d with a k-dimensional subspace: 1/12 for 64 of 768."""
    return equal(size("d") * expectation(OnSphere("d"), lambda q: squared(q @ B)), size("k"))


@claim(
    "shell.mean_and_variance",
    over={"d": Count("d")},
    sizes={"d": range(2, 5)},
    source=f"{PAGE}, after Corollary 1 (the thin shell)",
)
def shell_mean_and_variance(d):
    """For a standard normal x in R^d, ||P x||^2 has the mean d - 1 and the variance 2 (d - 1): beside its mean the
    deviation vanishes as d grows, which is the thin shell.
    """
    law = Gaussian(1, "d")
    length = expectation(law, lambda x: squared(centre(x)))
    spread = expectation(law, lambda x: square(squared(centre(x)) - (d - 1)))
    return every(equal(length, d - 1), equal(spread, 2 * (d - 1)))


JL = {"x": Vector("d")}
JL_SIZES = {"d": range(1, 4)}


@claim(
    "johnson_lindenstrauss.normal",
    over=JL,
    sizes=JL_SIZES,
    source=f"{PAGE}, Where this goes next (superposition; Johnson and Lindenstrauss)",
)
def johnson_lindenstrauss_normal(x):
    """A random map R to two dimensions, of independent normal entries of variance 1/k, keeps squared lengths in the
    mean, E ||x R||^2 = ||x||^2, with the variance 2 ||x||^4/k. Here k = 2.
    """
    law = Gaussian("d", 2, divided_by=2)
    kept = expectation(law, lambda R: squared(x @ R))
    spread = expectation(law, lambda R: square(squared(x @ R) - squared(x)))
    return every(equal(kept, squared(x)), equal(spread, square(squared(x))))


@claim(
    "johnson_lindenstrauss.signs",
    over=JL,
    sizes=JL_SIZES,
    source=f"after {PAGE}, Where this goes next (superposition; Johnson and Lindenstrauss)",
)
def johnson_lindenstrauss_signs(x):
    """Signs over sqrt k do as well as normal entries: the same mean, and a variance of at most 2 ||x||^4/k; it is less
    by 2 sum x_i^4/k. Here k = 2.
    """
    kept = expectation(Signs("d", 2), lambda R: squared(x @ R)) / 2
    spread = expectation(Signs("d", 2), lambda R: square(squared(x @ R) / 2 - squared(x)))
    less = square(squared(x)) - total(power(x, 4))
    return every(equal(kept, squared(x)), equal(spread, less), at_most(spread, square(squared(x))))


# ---- the thin shell, by draws -----------------------------------------------


def radial_change(x):
    """How far LayerNorm moves a centred row, over its length."""
    return row_norms(layer_norm(x) - centre(x)) / row_norms(centre(x))


HALF = exact(1, 2)
SHELL = f"{PAGE}, after Corollary 1 (the thin shell)"


@statistical("shell.wide_stream", over={"x": Gaussian(1, "d")}, sizes={"d": 512}, source=SHELL, draws=400)
def shell_wide_stream(x):
    """At d = 512 the median radial change by LayerNorm is below 0.025."""
    return probability(at_most(radial_change(x), exact("0.025")), at_least=HALF)


@statistical("shell.narrow_stream", over={"x": Gaussian(1, "d")}, sizes={"d": 8}, source=SHELL, draws=400)
def shell_narrow_stream(x):
    """At d = 8 the median radial change by LayerNorm is above 0.1."""
    return probability(at_least(radial_change(x), exact("0.1")), at_least=HALF)


@statistical("shell.from_the_input", over={"x": Gaussian(1, "d")}, sizes={"d": 512}, source=SHELL, draws=400)
def shell_from_the_input(x):
    """At d = 512 the median of ||LN(x) - x||/||x||, so that the centring counts too, is 0.044 (half a unit of the last
    digit): at most half of it lies below 0.0435 or above 0.0445.
    """
    return probability(at_most(row_norms(layer_norm(x) - x), exact("0.0445") * row_norms(x)), at_least=HALF)


@statistical("shell.three_times_as_wide", over={"x": Gaussian(1, "d", 9)}, sizes={"d": 512}, source=SHELL, draws=400)
def shell_three_times_as_wide(x):
    """For x of variance 9 the radial change is about 2/3: within 1/20 of it for nine in ten."""
    return probability(at_most(absolute(radial_change(x) - exact(2, 3)), exact(1, 20)), at_least=exact(9, 10))


@statistical(
    "shell.at_any_width",
    over={"x": Gaussian(1, "d")},
    sizes={"d": 8},
    source="a tempting reading of the same, without its large d",
    expect="fails",
    draws=120,
)
def shell_at_any_width(x):
    """Tempting and false: LayerNorm moves a normal vector by 0.025 of its length in the median at d = 8 too."""
    return probability(at_most(radial_change(x), exact("0.025")), at_least=HALF)


# ---- near-orthogonality, by draws -------------------------------------------


def share_of_length(x, k):
    """Squared cosine of a row and the subspace of its first k coordinates."""
    return squared(x[..., :k]) / squared(x)


@statistical(
    "random.directions_nearly_orthogonal",
    over={"x": Gaussian(1, "d")},
    sizes={"d": 768},
    source=f"{ANNOTATED}, 18 (plain language, of single directions)",
)
def random_directions_nearly_orthogonal(x):
    """Of two random directions in R^768 the cosine is at most 0.15 in 99 cases of 100."""
    return probability(at_most(share_of_length(x, 1), exact("0.0225")), at_least=exact(99, 100))


@statistical(
    "random.subspaces_nearly_orthogonal",
    over={"x": Gaussian(1, "d")},
    sizes={"d": 768},
    source=f"{ANNOTATED}, 18 (plain language)",
    expect="fails",
    draws=60,
)
def random_subspaces_nearly_orthogonal(x):
    """False as printed: two random 64-dimensional subspaces of R^768 are almost certainly nearly orthogonal. A random
    direction of the one has no cosine of at most 1/10 with the other in half of all cases: it is about 0.29.
    """
    return probability(at_most(share_of_length(x, 64), exact(1, 100)), at_least=HALF)


@statistical(
    "random.direction_and_subspace",
    over={"x": Gaussian(1, "d")},
    sizes={"d": 768},
    source=f"after {ANNOTATED}, 18 (plain language)",
    draws=400,
)
def random_direction_and_subspace(x):
    """The cosine of a random direction and a 64-dimensional subspace of R^768 lies between 0.2 and 0.4 in nine cases of
    ten, about sqrt(1/12) = 0.29.
    """
    cosine = share_of_length(x, 64)
    inside = every(at_least(cosine, exact("0.04")), at_most(cosine, exact("0.16")))
    return probability(inside, at_least=exact(9, 10))


@statistical(
    "random.mean_squared_cosine",
    over={"x": Gaussian(1, "d")},
    sizes={"d": 48},
    source=f"after {ANNOTATED}, 18 (plain language)",
    expect="fails",
    draws=400,
)
def random_mean_squared_cosine(x):
    """False, by draws: the mean squared cosine of a random direction and a subspace of a twelfth of the dimensions is
    at most 1/100. That it is 1/12 is exact: random.direction_in_a_subspace.
    """
    return average(share_of_length(x, 4), between=(0, 1), at_most=exact(1, 100))


@statistical(
    "random.largest_cosine",
    over={"X": Gaussian("d", "k")},
    sizes={"d": 768, "k": 64},
    source=f"after {ANNOTATED}, 18 (plain language)",
    draws=24,
)
def random_largest_cosine(X):
    """The largest cosine of two random 64-dimensional subspaces of R^768, one of them turned to be that of the first 64
    coordinates, lies between 1/2 and 3/5 in nine cases of ten: it gathers near 2 sqrt(1/12 (1 - 1/12)) = 0.55.
    """
    k = X.shape[-1]
    largest = spectral_norm(X[..., :k, :] @ pseudo_inverse(X))  # of the projection onto the span of X
    return probability(every(at_least(largest, HALF), at_most(largest, exact(3, 5))), at_least=exact(9, 10))


# ---- gradients and paths, by draws ------------------------------------------


def carried(g, Js, alpha, residual):
    """The length of a gradient at the bottom of a random stack over that at its top."""
    return row_norms(backward_recursion(g, [alpha * J for J in Js], residual)[0]) / row_norms(g)


RIDE = f"{TEXTBOOK}, Gradients ride the identity"
SIXTEEN: dict[str, Laws] = {"g": Gaussian(1, "d"), "Js": [Gaussian("d", "d", divided_by="d")] * 16}


@statistical("growth.residual_stack_by_draws", over=SIXTEEN, sizes={"d": 32}, source=RIDE, draws=300)
def growth_residual_stack_by_draws(g, Js):
    """With alpha = 1/sqrt S a residual stack of S = 16 random steps leaves the gradient between its length and three
    times that in nine cases of ten, about e^(1/2).
    """
    ratio = carried(g, Js, exact(1, 4), True)
    return probability(every(at_least(ratio, 1), at_most(ratio, 3)), at_least=exact(9, 10))


@statistical("growth.plain_stack_by_draws", over=SIXTEEN, sizes={"d": 32}, source=RIDE, draws=300)
def growth_plain_stack_by_draws(g, Js):
    """With alpha = 1/2 a plain stack of 16 random steps leaves less than a thousandth of the gradient in 99 cases of
    100.
    """
    return probability(at_most(carried(g, Js, HALF, False), exact(1, 1000)), at_least=exact(99, 100))


@statistical(
    "growth.knife_edge",
    over={"g": Gaussian(1, "d"), "Js": [Gaussian("d", "d", divided_by="d")] * 64},
    sizes={"d": 4},
    source=f"a tempting reading of {RIDE} (only the knife edge alpha = 1 survives)",
    expect="fails",
    draws=40,
)
def growth_knife_edge(g, Js):
    """Tempting and false: at alpha = 1 a plain stack hands the gradient down. Its mean square does stay what it is; but
    a typical gradient of 64 steps at width 4 has lost nine tenths of its length and more: the mean lives on few draws.
    """
    return probability(at_least(carried(g, Js, exact(1, 1), False), exact(1, 10)), at_least=HALF)


def length_of_path(u, share):
    """How many of the sublayers a random path takes, each with the probability `share`."""
    return total(where(u <= share, ones(u.shape, like=u), zeros(u.shape, like=u)))


ENSEMBLE = f"{TEXTBOOK}, A residual network is an ensemble of paths"


@statistical("paths.short_paths", over={"u": Uniform(1, 110)}, source=ENSEMBLE, draws=400)
def paths_short_paths(u):
    """With a factor alpha = 1/4 a sublayer, so that each is on a path with the probability alpha/(1 + alpha) = 1/5,
    paths of 10 to 34 of 110 sublayers carry 99 parts of 100.
    """
    length = length_of_path(u, exact(1, 5))
    return probability(every(at_least(length, 10), at_most(length, 34)), at_least=exact(99, 100))


@statistical(
    "paths.most_paths_are_short",
    over={"u": Uniform(1, 110)},
    source=f"a tempting reading of {ENSEMBLE}",
    expect="fails",
    draws=60,
)
def paths_most_paths_are_short(u):
    """Tempting and false: most of the 2^110 paths themselves are that short. They take 55 sublayers in the mean; it is
    the weight that falls on short ones.
    """
    return probability(at_most(length_of_path(u, HALF), 34), at_least=HALF)


# ---- softmax and distances, by draws ----------------------------------------

SCORES = {"q": Gaussian(1, "h"), "K": Gaussian(10, "h")}


@statistical("random.scaled_scores_stay_spread", over=SCORES, sizes={"h": 64}, source=f"{ANNOTATED}, 6", draws=300)
def random_scaled_scores_stay_spread(q, K):
    """Scaled by 1/sqrt 64, scores of random queries with ten random keys give the largest weight at most 1/2 in the
    mean.
    """
    return average(amax(softmax(attention_scores(q, K))), between=(0, 1), at_most=HALF)


@statistical("random.unscaled_scores_saturate", over=SCORES, sizes={"h": 64}, source=f"{ANNOTATED}, 6", draws=300)
def random_unscaled_scores_saturate(q, K):
    """Without the scale the softmax is pushed to one key: its largest weight is at least 3/4 in the mean, at h = 64."""
    return average(amax(softmax(q @ K.mT)), between=(0, 1), at_least=exact(3, 4))


@statistical(
    "random.unscaled_scores_stay_spread",
    over=SCORES,
    sizes={"h": 64},
    source=f"the opposite of {ANNOTATED}, 6",
    expect="fails",
    draws=200,
)
def random_unscaled_scores_stay_spread(q, K):
    """False: without the scale the largest of ten weights is at most 1/2 in the mean."""
    return average(amax(softmax(q @ K.mT)), between=(0, 1), at_most=HALF)


def keeps_distances(X):
    """That the images of points at squared distances 2 from each other have them up to a half of that."""
    lengths = total(square(X))
    squares = lengths + lengths.mT - 2 * gram(X)
    return at_most(absolute(squares - 2 * (1 - eye(X.shape[-2], like=X))), 1)


IMAGES = {"X": Gaussian(16, "k", divided_by="k")}
"""Sixteen orthonormal points under a random map to k dimensions."""


@statistical(
    "johnson_lindenstrauss.by_draws",
    over=IMAGES,
    sizes={"k": 134},
    source=f"{PAGE}, Where this goes next (superposition; Johnson and Lindenstrauss)",
    draws=300,
)
def johnson_lindenstrauss_by_draws(X):
    """A random map to 134 dimensions, more than 24 ln n/(3 e^2 - 2 e^3) = 133.08 for n = 16 points and e = 1/2, keeps
    all squared distances of 16 points up to a half in nine cases of ten; the theorem promises one of sixteen.
    """
    return probability(keeps_distances(X), at_least=exact(9, 10))


@statistical(
    "johnson_lindenstrauss.in_eight_dimensions",
    over=IMAGES,
    sizes={"k": 8},
    source="the same with fewer dimensions",
    expect="fails",
    draws=60,
)
def johnson_lindenstrauss_in_eight_dimensions(X):
    """False: a random map to 8 dimensions does so in half of all cases."""
    return probability(keeps_distances(X), at_least=HALF)
