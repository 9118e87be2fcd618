"""LayerNorm is a sphere in a hyperplane; RMSNorm is the sphere alone. Their Jacobians, gains, biases and epsilons.

Source, where none is named: "The Transformer Block and the Residual Stream" (Definition 3, Proposition 3, Corollary 1).
"""

from resstream.arithmetic import (
    absolute,
    amax,
    constant,
    exact,
    eye,
    jacobian,
    mean,
    ones,
    sqrt,
    square,
    total,
    total_entry,
    where,
)
from resstream.claim import at_least, at_most, claim, equal, every, less_than, more_than
from resstream.claims.sources import ANNOTATED, PAGE
from resstream.domains import Matrix, NonConstant, NonZero, Orthogonal, Permutation, Positive, Scalar, Vector
from resstream.reference import (
    centre,
    layer_norm,
    layer_norm_jacobian,
    rms_norm,
    rms_norm_jacobian,
    row_norms,
    spectral_norm,
)

WIDTHS = {"d": range(2, 7)}
"""LayerNorm needs two coordinates at least."""


def _squared_length(x):
    """Squared Euclidean length of every row: (..., n, d) -> (..., n, 1)."""
    return total(square(x))


def _scale(x):
    """sqrt(d)/||Px||, the factor of LayerNorm's Jacobian: (..., 1, d) -> (..., 1, 1)."""
    return sqrt(constant(x.shape[-1], x) / _squared_length(centre(x)))


def _trace(J):
    return total_entry(where(eye(J.shape[-1], like=J) == 1, J, 0))


# ---- LayerNorm --------------------------------------------------------------


@claim(
    "layernorm.sphere_in_hyperplane",
    over={"x": NonConstant("d")},
    sizes=WIDTHS,
    source=f"{PAGE}, Proposition 3",
)
def layernorm_sphere_in_hyperplane(x):
    """LayerNorm projects onto the hyperplane orthogonal to the all-ones vector, then radially onto its sphere of radius
    sqrt d: LN(x) = sqrt(d) Px/||Px||, with sum 0 and squared length d.
    """
    y = layer_norm(x)
    return every(equal(y, _scale(x) * centre(x)), equal(total(y), 0), equal(_squared_length(y), x.shape[-1]))


@claim(
    "layernorm.invariant",
    over={"x": NonConstant("d"), "c": Positive(), "s": Scalar()},
    sizes=WIDTHS,
    source=f"{PAGE}, Proposition 3",
)
def layernorm_invariant(x, c, s):
    """A positive factor and a shift along the all-ones vector change nothing: LN(cx + s1) = LN(x) for c > 0, any s."""
    return equal(layer_norm(c * x + s), layer_norm(x))


@claim(
    "layernorm.odd",
    over={"x": NonConstant("d"), "c": Positive()},
    sizes=WIDTHS,
    source=f"after {PAGE}, Proposition 3",
)
def layernorm_odd(x, c):
    """A negative factor flips LayerNorm: LN(-cx) = -LN(x) for c > 0."""
    return equal(layer_norm(-c * x), -layer_norm(x))


def factor_not_zero(c):
    """c is not 0."""
    return more_than(square(c), 0)


@claim(
    "layernorm.invariant_to_sign",
    over={"x": NonConstant("d"), "c": Matrix(1, 1)},
    assuming=(factor_not_zero,),
    sizes=WIDTHS,
    source=f"{PAGE}, Proposition 3, with its condition on c weakened",
    expect="fails",
)
def layernorm_invariant_to_sign(x, c):
    """Tempting and false: LN(cx) = LN(x) for every c other than 0. A negative c flips the sign."""
    return equal(layer_norm(c * x), layer_norm(x))


@claim("layernorm.idempotent", over={"x": NonConstant("d")}, sizes=WIDTHS, source=f"{PAGE}, Proposition 3")
def layernorm_idempotent(x):
    """LayerNorm after LayerNorm changes nothing: its values are on the sphere in the hyperplane already."""
    return equal(layer_norm(layer_norm(x)), layer_norm(x))


@claim(
    "layernorm.idempotent_with_gain",
    over={"x": NonConstant("d"), "gain": Positive(1, "d")},
    sizes={"d": range(3, 7)},
    source="a tempting extension of layernorm.idempotent",
    expect="fails",
)
def layernorm_idempotent_with_gain(x, gain):
    """Tempting and false: LayerNorm with a positive gain is idempotent. An uneven gain leaves the hyperplane."""
    once = layer_norm(x, gain)
    return equal(layer_norm(once, gain), once)


@claim("layernorm.is_rms_of_centered", over={"x": NonConstant("d")}, sizes=WIDTHS, source=f"{PAGE}, Proposition 3")
def layernorm_is_rms_of_centered(x):
    """LayerNorm is RMSNorm of the centred vector: LN(x) = RMS(Px)."""
    return equal(layer_norm(x), rms_norm(centre(x)))


@claim(
    "layernorm.two_dimensions",
    over={"x": NonConstant(2)},
    source=f"{PAGE}, Proposition 3, at d = 2",
)
def layernorm_two_dimensions(x):
    """At d = 2 the sphere in the hyperplane is two points: LN(x) is (1, -1) or (-1, 1), by the sign of x_1 - x_2."""
    y = layer_norm(x)
    return every(
        equal(absolute(y), 1), equal(y[..., :1], -y[..., 1:]), more_than(y[..., :1] * (x[..., :1] - x[..., 1:]), 0)
    )


@claim(
    "layernorm.permutation_equivariant",
    over={"x": NonConstant("d"), "order": Permutation("d")},
    sizes=WIDTHS,
    source=f"after {PAGE}, Proposition 3",
)
def layernorm_permutation_equivariant(x, order):
    """LayerNorm commutes with permutations of the coordinates, which keep the all-ones vector."""
    return equal(layer_norm(x @ order), layer_norm(x) @ order)


def rotated_off_the_line(x, Q):
    """The rotated vector is no multiple of the all-ones vector either."""
    return more_than(_squared_length(centre(x @ Q)), 0)


@claim(
    "layernorm.rotation_equivariant",
    over={"x": NonConstant("d"), "Q": Orthogonal("d")},
    assuming=(rotated_off_the_line,),
    sizes=WIDTHS,
    source="a tempting analogy to rmsnorm.rotation_equivariant",
    expect="fails",
)
def layernorm_rotation_equivariant(x, Q):
    """Tempting and false: LayerNorm commutes with rotations of the stream. It singles out the all-ones direction."""
    return equal(layer_norm(x @ Q), layer_norm(x) @ Q)


@claim(
    "layernorm.nonexpansive",
    over={"x": NonConstant("d"), "y": NonConstant("d")},
    sizes=WIDTHS,
    source="a tempting reading of `normalisation`",
    expect="fails",
)
def layernorm_nonexpansive(x, y):
    """Tempting and false: LayerNorm is 1-Lipschitz. Near the all-ones line it stretches without bound."""
    return at_most(_squared_length(layer_norm(x) - layer_norm(y)), _squared_length(x - y))


@claim(
    "layernorm.lipschitz_off_the_line",
    over={"x": NonConstant("d"), "y": NonConstant("d")},
    sizes=WIDTHS,
    source="Dunkl and Williams (1964), with Proposition 3",
)
def layernorm_lipschitz_off_the_line(x, y):
    """LayerNorm stretches by at most 2 sqrt(d)/(||Px|| + ||Py||), so sqrt(d)/r where both are r off the all-ones line.

    Proof: Dunkl and Williams' inequality ||u/|u| - v/|v||| <= 2 ||u - v||/(||u|| + ||v||) of Euclidean space, for
    u = Px and v = Py; and P does not lengthen x - y.
    """
    lengths = row_norms(centre(x)) + row_norms(centre(y))
    root = sqrt(constant(x.shape[-1], x) * ones((1, 1), like=x))
    return at_most(row_norms(layer_norm(x) - layer_norm(y)) * lengths, 2 * root * row_norms(x - y))


@claim("layernorm.variance_forms", over={"x": Vector("d")}, source="textbook")
def layernorm_variance_forms(x):
    """The mean square less the square of the mean is the variance, and is not negative: an identity of real numbers.

    In floats the two forms part: for entries near 50,000 a few units apart, single precision gives the difference of
    squares as -256. LayerNorm here centres first.
    """
    return every(
        equal(mean(square(x)) - square(mean(x)), mean(square(centre(x)))),
        at_least(mean(square(centre(x))), 0),
    )


@claim(
    "layernorm.sample_variance",
    over={"x": NonConstant("d")},
    sizes=WIDTHS,
    source="public reports of LayerNorm written by hand with a library's default standard deviation",
    expect="fails",
)
def layernorm_sample_variance(x):
    """Tempting and false: LayerNorm divides by the sample standard deviation. It is the population's: d, not d - 1."""
    d = x.shape[-1]
    return equal(layer_norm(x), centre(x) / sqrt(_squared_length(centre(x)) / (d - 1)))


@claim(
    "layernorm.undone_by_gain_and_bias",
    over={"x": NonConstant("d"), "c": Positive()},
    sizes=WIDTHS,
    source=f"{ANNOTATED}, 11",
    expect="fails",
)
def layernorm_undone_by_gain_and_bias(x, c):
    """A gain and a bias that give x back give cx back as well: false, so no learned gain and bias undo LayerNorm.

    Printed: the learned scale and shift allow the network to undo the normalisation if needed, as when a dimension's
    scale is important to later layers.
    Read: of each token's own vector, which is what is normalised. (The scale that a dimension has over all tokens, the
    source's example, they can restore.)
    Right: they can set the scale and mean of what comes out, the same for every token. The length and the mean of each
    token are lost: LN(cx) = LN(x).
    Fault: imprecise.
    """
    gain = sqrt(mean(square(centre(x)))) * ones((1, x.shape[-1]), like=x)
    bias = mean(x) * ones((1, x.shape[-1]), like=x)
    return every(equal(layer_norm(x, gain, bias), x), equal(layer_norm(c * x, gain, bias), c * x))


@claim(
    "layernorm.linear_at_equal_norms",
    over={"x": NonConstant("d"), "Q": Orthogonal("d")},
    assuming=(rotated_off_the_line,),
    sizes=WIDTHS,
    source=f"{ANNOTATED}, 11",
    expect="fails",
)
def layernorm_linear_at_equal_norms(x, Q):
    """On inputs of equal length LayerNorm is one linear map, centring times a number: false.

    Printed: on inputs of approximately constant norm LayerNorm is approximately linear.
    Right: on inputs whose *centred* part has constant norm, that is, of constant standard deviation. What is printed
    holds of RMSNorm.
    Fault: imprecise.
    """
    return equal(layer_norm(x @ Q), _scale(x) * centre(x @ Q))


# ---- LayerNorm's Jacobian ---------------------------------------------------


@claim("layernorm.jacobian", over={"x": NonConstant("d")}, sizes=WIDTHS, source=f"{PAGE}, Corollary 1")
def layernorm_jacobian(x):
    """The Jacobian of LayerNorm is (sqrt(d)/||Px||) (P - u'u), u = Px/||Px||: formula, code and derivative agree."""
    centred = centre(x)
    u = centred / row_norms(centred)
    closed = _scale(x) * (centre(eye(x.shape[-1], like=x)) - u.mT @ u)
    return every(equal(layer_norm_jacobian(x), closed), equal(jacobian(layer_norm, x), closed))


@claim("layernorm.jacobian_symmetric", over={"x": NonConstant("d")}, sizes=WIDTHS, source=f"{PAGE}, Corollary 1")
def layernorm_jacobian_symmetric(x):
    """LayerNorm's Jacobian is symmetric, so rows and columns conventions agree on it."""
    J = layer_norm_jacobian(x)
    return equal(J, J.mT)


@claim("layernorm.kills_ones_and_input", over={"x": NonConstant("d")}, sizes=WIDTHS, source=f"{PAGE}, Corollary 1")
def layernorm_kills_ones_and_input(x):
    """LayerNorm's Jacobian sends the all-ones vector and x itself to zero: moving along either changes nothing."""
    J = layer_norm_jacobian(x)
    return every(equal(ones(x.shape, like=x) @ J, 0), equal(x @ J, 0))


@claim(
    "layernorm.losses_without_gradient",
    over={"x": NonConstant("d")},
    sizes=WIDTHS,
    source="public reports of gradient checks of LayerNorm that could not fail",
)
def layernorm_losses_without_gradient(x):
    """The sum of LayerNorm's outputs and the sum of their squares are constants, so as losses they have no gradient:
    a gradient check with either passes whatever the backward pass does.
    """
    J = jacobian(layer_norm, x)
    return every(equal(total(J), 0), equal(J @ layer_norm(x).mT, 0))


@claim("layernorm.spectrum", over={"x": NonConstant("d")}, sizes=WIDTHS, source=f"{PAGE}, Corollary 1")
def layernorm_spectrum(x):
    """The singular values of LayerNorm's Jacobian are s = sqrt(d)/||Px||, d - 2 times, and 0, twice.

    Stated without roots of polynomials: J is symmetric with J^2 = sJ, so its eigenvalues are s and 0, and its trace
    (d - 2)s says how many are s. At d = 2 it is zero.
    """
    J, s = layer_norm_jacobian(x), _scale(x)
    return every(equal(J @ J, s * J), equal(_trace(J), (x.shape[-1] - 2) * s))


@claim(
    "layernorm.jacobian_norm",
    over={"x": NonConstant("d")},
    sizes={"d": range(3, 5)},
    source=f"{PAGE}, Corollary 1; used in Theorem 2 (ii)",
)
def layernorm_jacobian_norm(x):
    """For d >= 3 the largest stretch of LayerNorm at x is exactly sqrt(d)/||Px||."""
    return equal(spectral_norm(layer_norm_jacobian(x)), _scale(x))


@claim(
    "layernorm.jacobian_norm_in_the_plane",
    over={"x": NonConstant("d")},
    sizes={"d": range(2, 5)},
    source=f"{PAGE}, Corollary 1, read for every d >= 2",
    expect="fails",
)
def layernorm_jacobian_norm_in_the_plane(x):
    """Tempting and false: the norm of LayerNorm's Jacobian is sqrt(d)/||Px|| for every d >= 2.

    At d = 2 that singular value has multiplicity zero, and the Jacobian is zero: the printed d >= 3 is needed.
    """
    return equal(spectral_norm(layer_norm_jacobian(x)), _scale(x))


# ---- gain, bias, epsilon ----------------------------------------------------


@claim(
    "layernorm.jacobian_with_gain",
    over={"x": Vector("d"), "gain": Vector("d"), "bias": Vector("d"), "epsilon": Positive()},
    sizes={"d": range(1, 6)},
    source=f"after {PAGE}, Corollary 1; Ba, Kiros and Hinton (2016) add the epsilon",
)
def layernorm_jacobian_with_gain(x, gain, bias, epsilon):
    """With gain g, bias and epsilon > 0, for every x: J = (P - c'c/(d s^2)) diag(g)/s, c = Px and s^2 the variance plus
    epsilon; formula, code and derivative agree.
    """
    c, d = centre(x), x.shape[-1]
    s = sqrt(mean(square(c)) + epsilon)
    closed = (centre(eye(d, like=x)) - c.mT @ c / (d * square(s))) / s * gain
    return every(
        equal(layer_norm_jacobian(x, gain, epsilon), closed),
        equal(jacobian(lambda at: layer_norm(at, gain, bias, epsilon), x), closed),
    )


@claim(
    "layernorm.epsilon_shrinks",
    over={"x": NonConstant("d"), "epsilon": Positive()},
    sizes=WIDTHS,
    source=f"after {PAGE}, Definition 3",
)
def layernorm_epsilon_shrinks(x, epsilon):
    """With epsilon > 0 LayerNorm falls short of the sphere: the squared length is d v/(v + epsilon), v the variance."""
    v = mean(square(centre(x)))
    length, d = _squared_length(layer_norm(x, epsilon=epsilon)), x.shape[-1]
    return every(equal(length * (v + epsilon), d * v), less_than(length, d))


@claim(
    "layernorm.lipschitz_with_epsilon",
    over={
        "x": Vector("d"),
        "y": Vector("d"),
        "gain": Vector("d"),
        "bias": Vector("d"),
        "epsilon": Positive(),
    },
    sizes={"d": range(1, 5)},
    source=f"after {PAGE}, Corollary 1, with an epsilon",
)
def layernorm_lipschitz_with_epsilon(x, y, gain, bias, epsilon):
    """With epsilon > 0 LayerNorm and RMSNorm are Lipschitz everywhere: with the constant max|g|/sqrt(epsilon), which
    also bounds the norm of either Jacobian.

    Proof: the Jacobian is a contraction over s, s^2 at least epsilon, times diag(g).
    """
    steepest = amax(absolute(gain)) / sqrt(epsilon)
    moved = [norm(x, gain, bias, epsilon) - norm(y, gain, bias, epsilon) for norm in (layer_norm, rms_norm)]
    jacobians = [layer_norm_jacobian(x, gain, epsilon), rms_norm_jacobian(x, gain, epsilon)]
    return every(
        *(at_most(row_norms(difference), steepest * row_norms(x - y)) for difference in moved),
        *(at_most(spectral_norm(J), steepest) for J in jacobians),
    )


@claim(
    "layernorm.epsilon_is_small",
    over={"x": NonConstant("d")},
    sizes=WIDTHS,
    source="a tempting reading of `a small constant`",
    expect="fails",
)
def layernorm_epsilon_is_small(x):
    """Tempting and false: with epsilon = 1/100000 LayerNorm's output has squared length at least 0.98 d for every
    non-constant x. Where the variance is below 5/10000, it has not.
    """
    return at_least(_squared_length(layer_norm(x, epsilon=exact(1, 100_000))), exact(98, 100) * x.shape[-1])


@claim(
    "layernorm.epsilon_scales",
    over={"x": Vector("d"), "c": Positive(), "s": Scalar(), "epsilon": Positive()},
    source=f"after {PAGE}, Proposition 3",
)
def layernorm_epsilon_scales(x, c, s, epsilon):
    """With epsilon > 0 a shift still changes nothing, and a factor c > 0 is a smaller epsilon: epsilon/c^2."""
    return equal(layer_norm(c * x + s, epsilon=epsilon), layer_norm(x, epsilon=epsilon / square(c)))


@claim(
    "layernorm.invariant_with_epsilon",
    over={"x": NonConstant("d"), "c": Positive(), "epsilon": Positive()},
    sizes=WIDTHS,
    source=f"{PAGE}, Proposition 3, with an epsilon",
    expect="fails",
)
def layernorm_invariant_with_epsilon(x, c, epsilon):
    """Tempting and false: LN(cx) = LN(x) for c > 0, also with epsilon > 0. See layernorm.epsilon_scales."""
    return equal(layer_norm(c * x, epsilon=epsilon), layer_norm(x, epsilon=epsilon))


@claim(
    "layernorm.epsilon_outside_the_root",
    over={"x": NonConstant("d"), "epsilon": Positive()},
    sizes=WIDTHS,
    source="public reports of LayerNorm with epsilon added to the standard deviation",
    expect="fails",
)
def layernorm_epsilon_outside_the_root(x, epsilon):
    """Tempting and false: epsilon may be added to the standard deviation instead, as its square to the variance."""
    outside = centre(x) / (sqrt(mean(square(centre(x)))) + epsilon)
    return equal(outside, layer_norm(x, epsilon=square(epsilon)))


# ---- RMSNorm ----------------------------------------------------------------


@claim("rmsnorm.sphere", over={"x": NonZero(1, "d"), "c": Positive()}, source=f"{PAGE}, Definition 3")
def rmsnorm_sphere(x, c):
    """RMSNorm moves x along its ray to the sphere of radius sqrt d; a positive factor changes nothing."""
    y = rms_norm(x)
    return every(
        equal(y * row_norms(x), sqrt(constant(x.shape[-1], x) * ones((1, 1), like=x)) * x),
        equal(_squared_length(y), x.shape[-1]),
        equal(rms_norm(c * x), y),
    )


@claim(
    "rmsnorm.rotation_equivariant",
    over={"x": NonZero(1, "d"), "Q": Orthogonal("d")},
    sizes={"d": range(1, 6)},
    source=f"after {PAGE}, Definition 3",
)
def rmsnorm_rotation_equivariant(x, Q):
    """RMSNorm with gain 1 commutes with rotations: RMS(xQ) = RMS(x)Q. It knows no privileged direction."""
    return equal(rms_norm(x @ Q), rms_norm(x) @ Q)


@claim(
    "rmsnorm.rotation_with_gain",
    over={"x": NonZero(1, "d"), "Q": Orthogonal("d"), "gain": Positive(1, "d")},
    sizes={"d": range(2, 5)},
    source="a tempting extension of rmsnorm.rotation_equivariant",
    expect="fails",
)
def rmsnorm_rotation_with_gain(x, Q, gain):
    """Tempting and false: RMSNorm with a learned gain commutes with rotations. The gain belongs to coordinates."""
    return equal(rms_norm(x @ Q, gain), rms_norm(x, gain) @ Q)


@claim(
    "rmsnorm.shift_invariant",
    over={"x": Positive(1, "d"), "s": Positive()},
    sizes=WIDTHS,
    source="a tempting analogy to layernorm.invariant",
    expect="fails",
)
def rmsnorm_shift_invariant(x, s):
    """Tempting and false: RMSNorm ignores a shift along the all-ones vector. It does not centre."""
    return equal(rms_norm(x + s), rms_norm(x))


@claim("rmsnorm.jacobian", over={"x": NonZero(1, "d")}, source=f"after {PAGE}, Corollary 1")
def rmsnorm_jacobian(x):
    """The Jacobian of RMSNorm is (sqrt(d)/||x||) (I - u'u) with u = x/||x||; it is symmetric and sends x to zero."""
    d = x.shape[-1]
    u = x / row_norms(x)
    closed = sqrt(constant(d, x) / _squared_length(x)) * (eye(d, like=x) - u.mT @ u)
    J = rms_norm_jacobian(x)
    return every(equal(J, closed), equal(jacobian(rms_norm, x), closed), equal(J, J.mT), equal(x @ J, 0))


@claim("rmsnorm.spectrum", over={"x": NonZero(1, "d")}, source=f"after {PAGE}, Corollary 1")
def rmsnorm_spectrum(x):
    """RMSNorm's Jacobian has the singular values s = sqrt(d)/||x||, d - 1 times, and 0, once: J^2 = sJ and the trace is
    (d - 1)s.
    """
    J, d = rms_norm_jacobian(x), x.shape[-1]
    s = sqrt(constant(d, x) / _squared_length(x))
    return every(equal(J @ J, s * J), equal(_trace(J), (d - 1) * s))


@claim(
    "rmsnorm.jacobian_norm_on_the_line",
    over={"x": NonZero(1, "d")},
    sizes={"d": range(1, 4)},
    source="rmsnorm.spectrum read for every d >= 1",
    expect="fails",
)
def rmsnorm_jacobian_norm_on_the_line(x):
    """Tempting and false: the norm of RMSNorm's Jacobian is sqrt(d)/||x|| for every d >= 1.

    At d = 1 RMSNorm is the sign of x, and its Jacobian is zero.
    """
    return equal(spectral_norm(rms_norm_jacobian(x)), sqrt(constant(x.shape[-1], x) / _squared_length(x)))


@claim(
    "rmsnorm.jacobian_with_gain",
    over={"x": Vector("d"), "gain": Vector("d"), "bias": Vector("d"), "epsilon": Positive()},
    sizes={"d": range(1, 6)},
    source=f"after {PAGE}, Corollary 1; Zhang and Sennrich (2019)",
)
def rmsnorm_jacobian_with_gain(x, gain, bias, epsilon):
    """With gain g, bias and epsilon > 0, for every x: J = (I - x'x/(d s^2)) diag(g)/s, s^2 the mean square plus
    epsilon; formula, code and derivative agree.
    """
    d = x.shape[-1]
    s = sqrt(mean(square(x)) + epsilon)
    closed = (eye(d, like=x) - x.mT @ x / (d * square(s))) / s * gain
    return every(
        equal(rms_norm_jacobian(x, gain, epsilon), closed),
        equal(jacobian(lambda at: rms_norm(at, gain, bias, epsilon), x), closed),
    )
