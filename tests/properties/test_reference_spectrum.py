"""Spectra: floats against LAPACK's other routes, balls that hold what is known exactly, and rationals."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from resstream.arithmetic import FLOAT64, RATIONAL, SYMBOLIC, Ball, derivative, exact, sqrt, to_float
from resstream.arithmetic.obligations import ZERO, noting
from resstream.arithmetic.terms import Terms
from resstream.errors import DomainError, NotExact, NotExpressible, ShapeError, Undecided, Undefined
from resstream.reference import L1, L2, LINF, spectrum

BALL = Ball(128)
NILPOTENT = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
ROTATION = np.array([[0, -2], [2, 0]])
JORDAN = np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2]])
STOCHASTIC = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1]])
FUNCTIONS = (
    spectrum.singular_values,
    spectrum.eigenvalue_moduli,
    spectrum.second_modulus,
    spectrum.spectral_radius,
    spectrum.smallest_singular_value,
    spectrum.smallest_real_part,
    spectrum.determinant,
    spectrum.trace,
    spectrum.rank,
)


def holds(ball, value):
    return ball.value.contains(value) and ball.value.rad() < 1e-6


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_the_ball_holds_the_float_within_its_rounding(function, seed):
    W = np.random.default_rng(seed).standard_normal((4, 4))
    with BALL.working():
        balls = function(BALL.array(W))
    floats = function(W)
    # Backward stability: eigenvalues of these well-separated matrices move by their condition (below 100) times eps.
    slack = 1e4 * np.finfo(float).eps * np.linalg.norm(W) ** 4
    assert balls.shape == floats.shape
    assert all(abs(to_float(b.value.mid()) - f) <= slack for b, f in zip(balls.flat, floats.flat, strict=True))


@pytest.mark.parametrize(
    ("matrix", "moduli", "real"),
    [
        (NILPOTENT, [0, 0, 0], 0),
        (ROTATION, [2, 2], 0),
        (JORDAN, [2, 2, 2], 2),
        (STOCHASTIC, [3, 0, 0], 0),
        (np.eye(3, dtype=int), [1, 1, 1], 1),
        (np.array([[-5]]), [5], -5),
    ],
)
def test_multiple_eigenvalues_are_enclosed(matrix, moduli, real):
    with BALL.working():
        W = BALL.array(matrix)
        assert all(holds(b, m) for b, m in zip(spectrum.eigenvalue_moduli(W).flat, moduli, strict=True))
        assert holds(spectrum.smallest_real_part(W).item(), real)
        blurred = W * exact(1, 3) * 3  # no longer an exact matrix
        assert all(b.value.contains(m) for b, m in zip(spectrum.eigenvalue_moduli(blurred).flat, moduli, strict=True))


def test_singular_values_of_defective_matrices_are_enclosed():
    with BALL.working():
        for W in (BALL.array(NILPOTENT), BALL.array(NILPOTENT) * exact(1, 3) * 3):
            values = spectrum.singular_values(W)
            assert all(holds(b, m) for b, m in zip(values.flat, [1, 1, 0], strict=True))
            assert holds(spectrum.smallest_singular_value(W).item(), 0)


def test_rationals_are_exact_where_the_spectrum_is_rational():
    assert [str(v) for v in spectrum.eigenvalue_moduli(RATIONAL.array(JORDAN)).flat] == ["2", "2", "2"]
    assert [str(v) for v in spectrum.singular_values(RATIONAL.array(NILPOTENT)).flat] == ["1", "1", "0"]
    assert str(spectrum.determinant(RATIONAL.array([["1/2", "1/3"], [1, 1]])).item()) == "1/6"
    with pytest.raises(NotExact, match="an eigenvalue of this matrix is not rational"):
        spectrum.eigenvalue_moduli(RATIONAL.array([[0, 2], [1, 0]]))


def test_rank_is_exact_or_undecided_and_never_guessed():
    tiny = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-15]])
    assert spectrum.rank(tiny).item() == 1  # the tolerance of floats, as stated
    assert spectrum.rank(RATIONAL.array(tiny)).item() == 2
    with BALL.working():
        assert spectrum.rank(BALL.array(tiny)).item() == 2
        assert spectrum.rank(BALL.array(STOCHASTIC)).item() == 1
        blurred = spectrum.rank(BALL.array(STOCHASTIC) * exact(1, 3)).item()
        assert blurred > exact(1, 2)  # certified from below, and no more than that
        assert blurred.value.contains(3)
        with pytest.raises(Undecided, match="not known"):
            assert blurred == 1


def test_batches_are_stacks_of_singles():
    W = np.random.default_rng(0).standard_normal((2, 3, 4, 4))
    for function in FUNCTIONS:
        batch = function(W)
        singles = [function(W[index]) for index in np.ndindex(2, 3)]
        assert np.array_equal(batch.reshape(6, *batch.shape[-2:]), np.stack(singles))
    exacts = RATIONAL.array(np.stack([NILPOTENT, JORDAN]))
    assert spectrum.rank(exacts).shape == (2, 1, 1)


def test_matrices_that_are_not_finite_give_nan_in_a_search():
    W = np.full((2, 3, 3), np.nan)
    W[1] = np.eye(3)
    with FLOAT64.working():
        for function in (spectrum.singular_values, spectrum.eigenvalue_moduli, spectrum.rank):
            assert np.isnan(function(W)[0]).all()
            assert not np.isnan(function(W)[1]).any()


def test_powers_multiply():
    assert np.array_equal(spectrum.matrix_power(ROTATION.astype(float), 4), 16 * np.eye(2))
    assert np.array_equal(spectrum.matrix_power(ROTATION.astype(float), 0), np.eye(2))
    for exponent, bound in ((-1, "least 0"), (100_001, "most 100000")):
        with pytest.raises(DomainError, match=f"exponent: expected a whole number of at {bound}, got {exponent}"):
            spectrum.matrix_power(np.eye(2), exponent)


def test_shapes_are_checked():
    for function in (spectrum.eigenvalue_moduli, spectrum.determinant, spectrum.trace, spectrum.smallest_real_part):
        with pytest.raises(ShapeError, match="W: expected as many rows as columns"):
            function(np.ones((2, 3)))


# ---- what a small fault would break -----------------------------------------

TERMS = Terms()
TALL = np.array([[3, 0], [0, 4], [0, 0]])
TURNED = np.array([[3, 0, 0], [0, -2, 0], [0, 0, 1]])


@pytest.mark.parametrize("W", [TALL, TALL.T, TALL[:2]], ids=["tall", "wide", "square"])
def test_singular_values_of_either_shape(W):
    """As many as the shorter side has, in every number system; a blurred ball still holds them, widened by its blur."""
    assert np.array_equal(spectrum.singular_values(W.astype(float)), [[4, 3]])
    assert [str(v) for v in spectrum.singular_values(RATIONAL.array(W)).flat] == ["4", "3"]
    with TERMS.working():
        assert [v.exact for v in spectrum.singular_values(TERMS.array(W)).flat] == [4, 3]
    with BALL.working():
        values = spectrum.singular_values(BALL.array(W))
        assert values.shape == (1, 2)
        assert all(holds(v, m) for v, m in zip(values.flat, (4, 3), strict=True))
        wide = spectrum.singular_values(blurred(W, 1))
        assert all(v.value.contains(arb(m)) for v, m in zip(wide.flat, (4, 3), strict=True))
        for moved in (1, -1):  # both ends of the blur
            inside = BALL.array(W + moved * (W == 4))
            largest = spectrum.singular_values(inside)[0, 0].value
            assert wide[0, 0].value.contains(largest)
        assert wide[0, 1].value.lower() >= 0


def blurred(W, radius):
    """A ball matrix around a whole one, every entry other than zero with that radius."""
    balls = BALL.array(W)
    for index, value in np.ndenumerate(W):
        if value:
            balls[index] = type(balls[index])(arb(int(value), radius))
    return balls


def test_the_root_of_the_smallest_singular_value_of_a_blurred_matrix_exists():
    for radius in (2.0**-10, 0.001, 0.1, 0.3):
        with BALL.working():
            root = sqrt(spectrum.smallest_singular_value(blurred(STOCHASTIC, radius))).item().value
        assert root.contains(0)


@pytest.mark.parametrize("system", [FLOAT64, RATIONAL, BALL], ids=lambda system: system.name)
def test_the_second_modulus_and_the_radius(system):
    with system.working():
        assert to_float(spectrum.second_modulus(system.array(TURNED)).item()) == 2
        assert to_float(spectrum.spectral_radius(system.array(TURNED)).item()) == 3
        for one in ([[5]], [[0]]):
            assert to_float(spectrum.second_modulus(system.array(np.array(one))).item()) == 0
        assert to_float(spectrum.second_modulus(system.array(TURNED[:2, :2])).item()) == 2
        assert spectrum.second_modulus(system.array(np.stack([TURNED] * 5))).shape == (5, 1, 1)
        stack = system.array(np.stack([[TURNED, 2 * TURNED]] * 5))
        assert spectrum.second_modulus(stack).shape == (5, 2, 1, 1)
        assert to_float(spectrum.second_modulus(stack)[4, 1, 0, 0]) == 4


def test_what_is_no_matrix_is_refused():
    for function in (*FUNCTIONS, lambda W: spectrum.matrix_power(W, 2)):
        with pytest.raises(ShapeError, match="W: expected a NumPy array"):
            function([[0, 1], [1, 0]])


def test_the_rank_of_floats_is_relative():
    """Above 1e-9 of the largest singular value, whatever that is; a zero matrix has none."""
    assert spectrum.rank(np.zeros((3, 3))).item() == 0
    for scale in (1e-12, 1.0, 1e12):
        assert spectrum.rank(scale * np.diag([1.0, 1e-8, 1e-10])).item() == 2
    assert spectrum.rank(np.diag([1.0, spectrum.RANK_TOLERANCE])).item() == 1  # above, not at


def test_stacks_of_any_shape():
    """The axes before the last two are a batch, of exact matrices too, and of one."""
    whole = np.array(np.stack([[TURNED, STOCHASTIC]] * 5))
    for stack in (whole, whole[:1, :1], whole[0, :1]):
        ranks = spectrum.rank(RATIONAL.array(stack))
        assert ranks.shape == (*stack.shape[:-2], 1, 1)
        assert [str(r) for r in ranks.flat] == ["3", "1"] * (ranks.size // 2) + ["3"] * (ranks.size % 2)
        assert np.array_equal(spectrum.matrix_power(stack.astype(float), 2), stack @ stack)
        assert np.array_equal(spectrum.trace(stack.astype(float))[..., 0, 0], np.trace(stack, axis1=-2, axis2=-1))


def test_what_has_no_spectrum_says_why():
    with RATIONAL.working(), pytest.raises(Undefined, match="division by zero"):
        spectrum.determinant(RATIONAL.array([[1]]) / RATIONAL.array([[0]]))
    with pytest.raises(NotExpressible, match="the derivative of a spectrum or rank"):
        derivative(spectrum.eigenvalue_moduli, RATIONAL.array(JORDAN), RATIONAL.array(JORDAN))
    for function in (spectrum.singular_values, spectrum.eigenvalue_moduli, spectrum.smallest_real_part, spectrum.rank):
        with pytest.raises(DomainError, match="floats have no derivative of it here"):
            derivative(function, JORDAN.astype(float), JORDAN.astype(float))
    assert derivative(spectrum.determinant, RATIONAL.array(JORDAN), RATIONAL.array(JORDAN)).item() == 24
    with BALL.working(), pytest.raises(Undecided, match=r"W: the ball at \[0, 0\] has no finite bounds"):
        spectrum.determinant(blurred(JORDAN, arb("inf")))


def test_rational_roots_are_looked_for_up_to_a_size():
    """A characteristic polynomial with coefficients of 512 bits is factored, and of 513 it is not."""
    assert spectrum.spectral_radius(RATIONAL.array([[2**512 - 1]])).item().value == 2**512 - 1
    with pytest.raises(NotExact, match="too large to look for rational roots"):
        spectrum.spectral_radius(RATIONAL.array([[2**512]]))


def test_eigenvalues_that_cannot_be_told_apart_move_by_at_most_what_the_blur_allows():
    """Bhatia, Elsner and Krause's bound is attained up to its constant: a corner e moves the roots of a nilpotent block
    by e^(1/d), and the enclosure holds them; it is 4 (2 ||A|| + ||E||)^(1 - 1/d) ||E||^(1/d) wide, no more.
    """
    size, radius = 3, Fraction(1, 512)
    with BALL.working():
        around = BALL.array(NILPOTENT)
        around[2, 0] = type(around[2, 0])(arb(0, arb(1) / 512))
        moduli = spectrum.eigenvalue_moduli(around)
        moved = spectrum.eigenvalue_moduli(BALL.array(NILPOTENT + np.array([[0] * 3, [0] * 3, [radius, 0, 0]])))
    assert all(wide.value.contains(inner.value) for wide, inner in zip(moduli.flat, moved.flat, strict=True))
    # Of real and imaginary part alike, so that the modulus is at most sqrt 2 times as much.
    change = 4 * (2 * np.sqrt(2) + float(radius)) ** (1 - 1 / size) * float(radius) ** (1 / size)
    assert to_float(moduli[0, 0].value.upper()) == pytest.approx(np.sqrt(2) * change, rel=1e-6)  # arb's bounds


def test_close_but_simple_eigenvalues_of_a_blurred_matrix_are_narrow():
    """Where FLINT tells the eigenvalues apart, the enclosure is as narrow as the blur."""
    with BALL.working():
        moduli = spectrum.eigenvalue_moduli(blurred(TURNED, arb(1) / 2**40))
    assert all(
        value.value.rad() < 1e-9 and value.value.contains(m) for value, m in zip(moduli.flat, (3, 2, 1), strict=True)
    )


def test_ranks_of_blurred_matrices_of_either_shape():
    """Certain where the smaller Gram matrix is regular, or the smallest singular value away from zero."""
    with BALL.working():
        for W in (TALL, TALL.T, TALL[:2]):
            assert to_float(spectrum.rank(blurred(W, arb(1) / 1024)).item()) == 2
            any_rank = spectrum.rank(blurred(W, 8)).item().value
            assert all(any_rank.contains(r) for r in range(3))
            assert not any_rank.contains(3)
        assert to_float(spectrum.rank(BALL.array(TALL)).item()) == 2


def test_terms_are_noted():
    with TERMS.working(), noting() as notes:
        assert spectrum.rank(TERMS.array(STOCHASTIC)).item().exact == 1
        assert [v.exact for v in spectrum.eigenvalue_moduli(TERMS.array(JORDAN)).flat] == [2, 2, 2]
        assert spectrum.determinant(TERMS.array(TURNED)).item().exact == -6
    assert any(note.kind == ZERO for note in notes)
    assert spectrum.determinant(RATIONAL.array(TURNED)).item().value == -6


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
def test_the_smaller_gram_matrix_says_that_a_rank_is_full(shape):
    """Where the blur of a large entry is larger than the smallest singular value, too, in whatever unit."""
    with BALL.working():
        W = BALL.array(np.eye(*shape, dtype=int))
        W[0, 0] = type(W[0, 0])(arb(100, 1.5))
        for unit in (1, exact(1, 1024)):
            assert spectrum.rank(unit * W).item().value == 2


def test_the_affine_rank_of_single_rows_is_zero_in_a_batch():
    assert np.array_equal(spectrum.affine_rank(np.ones((5, 1, 3))), np.zeros((5, 1, 1)))
    assert np.array_equal(spectrum.affine_rank(np.eye(3)[None].repeat(2, 0)), np.full((2, 1, 1), 2.0))


@pytest.mark.parametrize(
    ("rows", "dimension"),
    [
        ([[1, 2]], 0),
        ([[1, 2], [1, 2]], 0),
        ([[1, 2], [3, 4]], 1),
        ([[1, 0], [2, 1], [3, 2]], 1),  # a line that misses the origin
        ([[0, 0], [1, 0], [0, 1]], 2),
        ([[1, 1, 1], [2, 1, 1], [1, 2, 1], [2, 2, 1]], 2),
    ],
)
def test_the_affine_rank_is_the_dimension_of_the_flat(rows, dimension):
    rows = np.array(rows)
    for system in (FLOAT64, RATIONAL, BALL):
        with system.working():
            assert to_float(spectrum.affine_rank(system.array(rows)).item()) == dimension
    if dimension == min(len(rows) - 1, rows.shape[1]):  # the most that there can be: certain in a blurred matrix
        with BALL.working():
            assert spectrum.affine_rank(blurred(rows + 1, arb(1) / 2**20)).item().value == dimension


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
def test_pseudo_inverses_of_either_shape(shape):
    W = np.random.default_rng(0).standard_normal((4, *shape))
    found = spectrum.pseudo_inverse(W)
    assert found.shape == (4, shape[1], shape[0])
    assert np.abs(found - np.linalg.pinv(W)).max() < 1e-12  # well conditioned: a thousand roundings


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
def test_pseudo_inverses_have_the_derivative_that_keeps_their_product(shape):
    """Of full rank, the product with W on the shorter side stays the identity."""
    W, step = np.random.default_rng(1).standard_normal((2, *shape))
    slope, found = derivative(spectrum.pseudo_inverse, W, step), np.linalg.pinv(W)
    changed = slope @ W + found @ step if shape[0] >= shape[1] else W @ slope + step @ found
    assert np.abs(changed).max() < 1e-11  # well conditioned: some thousand roundings
    assert np.abs(slope).max() > 0.1
    both = derivative(spectrum.pseudo_inverse, np.stack([W, 2 * W]), np.stack([step, 2 * step]))
    assert np.abs(both - [slope, slope / 2]).max() < 1e-11


SHAPES_AND_RANKS = {
    "zero": [[0, 0, 0], [0, 0, 0]],
    "zero row": [[0, 0, 0]],
    "row": [[1, -2, 3]],
    "column": [[1], [-2], [3]],
    "square": [[2, 1], [7, 4]],
    "wide": [[1, 0, 2], [0, 1, 1]],
    "tall of rank one": [[1, 2], [2, 4], [3, 6]],
    "singular": [[0, 1, 2], [0, 2, 4], [1, 0, 1]],
    "regular": [[2, 1, 0], [0, 3, 1], [1, 0, 1]],
}


def assert_pseudo_inverse(P, W, same):
    """Penrose's four equations, which one matrix alone fulfils."""
    assert P.shape == (W.shape[-1], W.shape[-2])
    assert same(W @ P @ W, W)
    assert same(P @ W @ P, P)
    assert same(W @ P, (W @ P).mT)
    assert same(P @ W, (P @ W).mT)


def assert_hold(balls, exactly, radius):
    with Ball(512).working():
        for ball, number in zip(balls.flat, exactly.flat, strict=True):
            assert ball.value.contains(number.value)
            assert ball.value.rad() <= radius


@pytest.mark.parametrize("rows", SHAPES_AND_RANKS.values(), ids=SHAPES_AND_RANKS)
def test_the_pseudo_inverse_fulfils_penroses_equations(rows):
    W = RATIONAL.array(np.array(rows))
    P = spectrum.pseudo_inverse(W)
    assert_pseudo_inverse(P, W, lambda x, y: (x == y).all())
    floats = np.array(rows, dtype=float)
    assert_pseudo_inverse(spectrum.pseudo_inverse(floats), floats, np.allclose)
    with BALL.working():  # of radius zero: the rational one, rounded
        assert_hold(spectrum.pseudo_inverse(BALL.array(np.array(rows))), P, 1e-30)
        wide = blurred(np.array(rows), arb(1) / 2**60)
        if spectrum.rank(W).item() == min(W.shape):
            assert_hold(spectrum.pseudo_inverse(wide), P, 1e-9)
        elif np.any(rows):
            with pytest.raises(Undecided, match="not certainly of full rank"):
                spectrum.pseudo_inverse(wide)
    if spectrum.rank(W).item() == min(W.shape):
        with TERMS.working(), noting():
            found = spectrum.pseudo_inverse(TERMS.array(np.array(rows)))
            assert [entry.exact for entry in found.flat] == [entry.value for entry in P.flat]


@pytest.mark.parametrize("system", [FLOAT64, RATIONAL, BALL], ids=lambda system: system.name)
def test_the_condition_number_is_the_largest_over_the_smallest(system):
    with system.working():
        W = system.array(np.stack([np.diag([2, -8, 4]), np.diag([3, 3, 3])]))
        assert [to_float(number) for number in spectrum.condition_number(W).flat] == [4, 1]
        assert spectrum.condition_number(W).shape == (2, 1, 1)


def test_the_schatten_norm_in_l2_and_of_one_row_or_column_asks_for_no_spectrum():
    """The root of the sum of squares, whose singular values no other number system than floats and balls may have."""
    W = np.array([[1, 2], [2, 0]])
    for system in (FLOAT64, RATIONAL, SYMBOLIC):
        assert float(str(spectrum.schatten_norm(system.array(W)).item())) == 3
        for line in ([[3, 4]], [[3], [4]]):
            for norm in (L1, L2, LINF):
                assert float(str(spectrum.schatten_norm(system.array(np.array(line)), norm).item())) == 5
    with pytest.raises(NotExact):
        spectrum.schatten_norm(RATIONAL.array(W), L1)
    one = np.diag([3.0, 4.0])[None]  # a batch of one is no row
    for norm, expected in ((L1, 7), (L2, 5), (LINF, 4)):
        assert spectrum.schatten_norm(one, norm)[0, 0, 0] == pytest.approx(expected, rel=1e-14)


def test_determinants_of_expressions_are_written_out_up_to_five_rows():
    with TERMS.working(), noting():
        assert spectrum.determinant(TERMS.array(2 * np.eye(5, dtype=int)[[1, 0, 2, 3, 4]])).item().exact == -32
        with pytest.raises(NotExpressible, match="a determinant of 6 rows"):
            spectrum.determinant(TERMS.array(np.eye(6, dtype=int)))
