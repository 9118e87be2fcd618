"""The least enclosing ball, and the nearest matrix with equal rows in any lp norm: against mpmath, at 30 digits."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy.optimize import linprog

from resstream.arithmetic import (
    FLOAT64,
    RATIONAL,
    SYMBOLIC,
    Ball,
    BallEntry,
    absolute,
    derivative,
    exact,
    sqrt,
    square,
    total_entry,
)
from resstream.claim import Claim, at_least, at_most, claim, size
from resstream.domains import Matrix, Vector
from resstream.domains import Norm as AnyNorm
from resstream.errors import DomainError, NotExact, NotExpressible
from resstream.falsify import falsify
from resstream.reference import (
    L1,
    L2,
    LINF,
    Lp,
    Norm,
    diameter,
    distance_to_constant,
    enclosing_radius,
    row_norms,
    squared_enclosing_radius,
)
from resstream.reference.nearest import _power, _slope

DIGITS = mpmath.mpf(10) ** -30
CLOUDS = [(2, 3), (3, 1), (3, 2), (4, 2), (5, 3), (6, 4), (7, 2), (30, 3)]


def cloud(n, d, seed=0):
    return np.random.default_rng(seed).integers(-9, 10, (n, d)) / 4


def smallest(points):
    """The squared radius by another way: the least circumscribed sphere of all sets that holds every point."""
    points = [mpmath.matrix(list(map(float, point))) for point in points]
    n, d, best = len(points), len(points[0]), mpmath.inf
    for k in range(2, min(n, d + 1) + 1):
        for chosen in itertools.combinations(points, k):
            edges = [point - chosen[0] for point in chosen[1:]]
            products = mpmath.matrix([[(x.T * y)[0] for y in edges] for x in edges])
            try:
                others = mpmath.lu_solve(products, mpmath.matrix([(x.T * x)[0] / 2 for x in edges]))
            except ZeroDivisionError:
                continue
            centre = chosen[0] + sum((w * x for w, x in zip(others, edges, strict=True)), 0 * edges[0])
            squared = mpmath.fsum((chosen[0] - centre)[i] ** 2 for i in range(d))
            if squared < best and all(
                mpmath.fsum((p - centre)[i] ** 2 for i in range(d)) <= squared * (1 + mpmath.mpf(10) ** -35)
                for p in points
            ):
                best = squared
    return best


def digits(entry):
    return mpmath.mpf(entry.value.str(40, radius=False))


@pytest.mark.parametrize(("n", "d"), [one for one in CLOUDS if one[0] < 8])
def test_the_squared_radius_is_that_of_mpmath(n, d):
    X = cloud(n, d)
    with mpmath.workdps(45):
        wanted = smallest(X)
        exactly = squared_enclosing_radius(RATIONAL.array(X)).item().value
        assert abs(mpmath.mpf(int(exactly.p)) / int(exactly.q) - wanted) <= DIGITS
        for bits in (128, 1024):
            with (system := Ball(bits)).working():
                found = squared_enclosing_radius(system.array(X)).item()
                assert found.value.contains(exactly)
                assert found.value.rad() < arb(2) ** (20 - bits)
                assert abs(digits(found) - wanted) <= DIGITS
        assert abs(squared_enclosing_radius(X).item() - wanted) <= 1e-12 * (1 + wanted)


def test_a_large_cloud_and_a_batch():
    X = cloud(30, 3)
    exactly = float(Fraction(str(squared_enclosing_radius(RATIONAL.array(X)).item())))
    both = squared_enclosing_radius(np.stack([X, 2 * X]))[:, 0, 0]
    assert np.abs(both - [exactly, 4 * exactly]).max() <= 1e-12 * exactly
    small = np.stack([cloud(4, 2, seed) for seed in range(20)])
    singly = [squared_enclosing_radius(one).item() for one in small]
    assert np.abs(squared_enclosing_radius(small)[:, 0, 0] - singly).max() <= 1e-12


@pytest.mark.parametrize(
    ("rows", "squared"),
    [
        ([[1, 2]], 0),
        ([[1, 2]] * 4, 0),
        ([[0, 0], [0, 2], [2, 0], [2, 2], [1, 1]], 2),  # four support points where two suffice
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0], [4, 0, 0]], 4),  # in a line
        ([[0, 0], [10, 0], [5, 1]], 25),  # an obtuse triangle
        ([[0, 0], [4, 0], [2, 3]], Fraction(169, 36)),
    ],
)
def test_degenerate_clouds(rows, squared):
    exactly = squared_enclosing_radius(RATIONAL.array(np.array(rows)))
    assert exactly.item() == squared
    assert abs(squared_enclosing_radius(np.array(rows, dtype=float)).item() - squared) <= 1e-12
    with (system := Ball(256)).working():
        found = squared_enclosing_radius(system.array(np.array(rows))).item().value
        assert found.contains(arb(squared.numerator) / squared.denominator if squared else 0)
        assert found.rad() < arb(2) ** -200


def test_a_ball_of_clouds_holds_the_radius_of_each():
    rng, middle, radius, compared = np.random.default_rng(0), cloud(5, 2), 2.0**-8, 0
    with (system := Ball(128)).working():
        wide = system.array(middle)
        for index in np.ndindex(wide.shape):
            wide[index] = BallEntry(wide[index].value + arb(0, radius))
        found = squared_enclosing_radius(wide).item().value
        for _ in range(50):
            member = middle + radius * rng.choice([-1.0, 1.0, 0.5], middle.shape)
            assert found.contains(squared_enclosing_radius(RATIONAL.array(member)).item().value)
            compared += 1
    assert compared == 50
    assert found.rad() < 0.2


def test_a_wrong_support_gives_a_wide_enclosure_and_none_that_is_false(monkeypatch):
    from resstream.reference import enclosing

    X = cloud(6, 3)
    exactly = squared_enclosing_radius(RATIONAL.array(X)).item().value
    monkeypatch.setattr(enclosing, "_support", lambda _: ([0, 1], np.array([0.5, 0.5]), 1.0))
    assert squared_enclosing_radius(RATIONAL.array(X)).item() == exactly  # found among all sets
    with (system := Ball(128)).working():
        found = squared_enclosing_radius(system.array(X)).item().value
        assert found.contains(exactly)
        assert found.rad() > 0.1


def test_norms_and_what_is_refused():
    X = cloud(5, 2)
    assert enclosing_radius(RATIONAL.array(X), LINF).item() == Fraction(np.ptp(X, axis=0).max() / 2)
    turned = np.stack([X.sum(1), X[:, 0] - X[:, 1]], axis=1)
    assert enclosing_radius(RATIONAL.array(X), L1).item() == Fraction(np.ptp(turned, axis=0).max() / 2)
    basis = np.array([[2.0, 1.0], [0.0, 1.0]])
    changed = Norm("l2", basis, np.linalg.inv(basis))
    assert enclosing_radius(X, changed).item() == enclosing_radius(X @ basis).item()
    assert enclosing_radius(X).item() ** 2 == pytest.approx(squared_enclosing_radius(X).item(), rel=1e-14)
    with pytest.raises(DomainError, match="expected L2, LINF, or L1 in up to two dimensions, got l1 in 3"):
        enclosing_radius(cloud(4, 3), L1)
    with pytest.raises(DomainError, match="got l3 in 2"):
        enclosing_radius(X, Lp(3))
    with pytest.raises(NotExpressible):
        squared_enclosing_radius(SYMBOLIC.array(X))
    with pytest.raises(DomainError, match="real entries"):
        squared_enclosing_radius(X * 1j)
    with FLOAT64.working():  # a search screens what left the range of floats
        assert np.isnan(squared_enclosing_radius(np.array([[0.0], [np.inf], [1.0]])).item())


OVER = {"X": Matrix("n", "d")}
SIZES = {"n": range(1, 5), "d": range(1, 4)}


@pytest.mark.parametrize(
    ("factor", "wanted"),
    [(lambda: exact(1, 2) * size("d") / (size("d") + 1), "survived"), (lambda: exact(1, 4), "refuted")],
)
def test_jungs_theorem_is_a_claim(factor, wanted):
    """The squared radius is at most d/(2(d + 1)) times the squared diameter, and not always a quarter of it."""
    stated = Claim(
        "trial.jung", OVER, lambda X: at_most(squared_enclosing_radius(X), factor() * square(diameter(X))), sizes=SIZES
    )
    assert falsify(stated, 3_000).status == wanted


def test_it_stands_for_there_is_a_centre():
    over = {**OVER, "c": Matrix(1, "d"), "norm": AnyNorm("d", kinds=("linf", "l2"))}

    def stated(X, c, norm):
        gaps = row_norms(X - c, norm)
        return at_least(gaps.max(axis=-2, keepdims=True) if gaps.dtype != object else _largest(gaps), radius(X, norm))

    def radius(X, norm):
        return enclosing_radius(X, norm)

    assert falsify(Claim("trial.centre", over, stated, sizes=SIZES), 2_000).status == "survived"


def _largest(gaps):
    from resstream.arithmetic import amax

    return amax(gaps, -2)


# ---- the nearest matrix with equal rows -------------------------------------


def least(X, kind):
    """The distance by linear programming, or by least squares."""
    n, d = X.shape
    if kind == "l2":
        return np.sqrt(((X - X.mean(0)) ** 2).sum())
    if kind == "linf":
        A = np.array([[*(-s * (np.arange(d) == j)), -1] for i in range(n) for j in range(d) for s in (1, -1)])
        b = np.array([-s * X[i, j] for i in range(n) for j in range(d) for s in (1, -1)])
        return linprog([0] * d + [1], A, b, bounds=[(None, None)] * (d + 1)).fun
    cost = [0] * d + [1] * (n * d)
    slack = np.eye(n * d)
    places = [(i, j, s) for i in range(n) for j in range(d) for s in (1, -1)]
    A = np.array([[*(-s * (np.arange(d) == j)), *-slack[i * d + j]] for i, j, s in places])
    b = np.array([-s * X[i, j] for i, j, s in places])
    return linprog(cost, A, b, bounds=[(None, None)] * len(cost)).fun


@pytest.mark.parametrize("norm", [L1, L2, LINF], ids=lambda norm: norm.kind)
def test_the_distance_to_equal_rows(norm):
    rng, compared = np.random.default_rng(0), 0
    for n, d in ((1, 2), (2, 2), (3, 1), (4, 2), (5, 3)):
        numbers = rng.integers(-9, 10, (n, d)) / 4
        wanted = least(numbers, norm.kind)
        assert abs(distance_to_constant(numbers, norm).item() - wanted) <= 1e-9 * (1 + wanted)
        for system in (RATIONAL, Ball(256)):
            with system.working():
                X = system.array(numbers)
                squared = distance_to_constant(X, norm) if norm.kind != "l2" or system is not RATIONAL else None
                if squared is not None:
                    assert abs(FLOAT64.array(squared).item() - wanted) <= 1e-9 * (1 + wanted)
                    compared += 1
        batch = np.stack([numbers, 2 * numbers])
        off = np.abs(distance_to_constant(batch, norm)[:, 0, 0] - [wanted, 2 * wanted])
        assert off.max() <= 1e-9 * (1 + wanted)
    assert compared >= 5
    exactly = distance_to_constant(RATIONAL.array([[1, 2], [Fraction(1, 3), 5], [2, 2]]), LINF)
    assert exactly.item() == Fraction(3, 2)


def test_it_stands_for_there_is_a_row():
    @claim("nearest.l1", over={"X": Matrix("n", "d"), "c": Vector("d")})
    def stated(X, c):
        return at_most(distance_to_constant(X, L1), total_entry(absolute(X - c)))

    assert falsify(stated, 6000).status == "survived"
    for norm in (AnyNorm("d"), "l1"):
        with pytest.raises((DomainError, AttributeError)):
            distance_to_constant(np.eye(2), norm)


@pytest.mark.parametrize("p", [Fraction(3, 2), Fraction(11, 10), 3, 4])
def test_the_distance_in_lp_is_that_of_mpmath(p):
    compared = 0
    for n, d in ((1, 2), (2, 2), (4, 2), (5, 1)):
        X = cloud(n, d)
        with mpmath.workdps(45), (system := Ball(256)).working():
            q, whole = mpmath.mpf(Fraction(p).numerator) / Fraction(p).denominator, mpmath.mpf(0)
            for column in X.T:
                points = [mpmath.mpf(float(v)) for v in column]

                def slope(c, points=points, q=q):
                    return mpmath.fsum(mpmath.sign(c - v) * abs(c - v) ** (q - 1) for v in points)

                low, high = min(points), max(points)
                for _ in range(200):
                    middle = (low + high) / 2
                    low, high = (low, middle) if slope(middle) > 0 else (middle, high)
                whole += mpmath.fsum(abs(low - v) ** q for v in points)
            wanted = whole ** (1 / q)
            found = distance_to_constant(system.array(X), Lp(p)).item()
            assert found.value.rad() < arb(2) ** -200
            assert abs(digits(found) - wanted) <= DIGITS
            assert abs(distance_to_constant(X, Lp(p)).item() - wanted) <= 1e-12 * (1 + wanted)
            compared += 1
    assert compared == 4


@pytest.mark.parametrize("kind", ["l1", "l2", "linf"])
def test_a_norm_in_another_basis_is_asked_of_the_changed_cloud(kind):
    X, basis = cloud(4, 2), np.array([[2.0, 1.0], [0.0, 1.0]])
    changed = Norm(kind, basis, np.linalg.inv(basis))
    plain = {"l1": L1, "l2": L2, "linf": LINF}[kind]
    assert distance_to_constant(X, changed).item() == distance_to_constant(X @ basis, plain).item()
    if kind != "l2":
        exactly = Norm(kind, RATIONAL.array(basis), RATIONAL.array(np.linalg.inv(basis)))
        found = distance_to_constant(RATIONAL.array(X), exactly).item()
        assert found == distance_to_constant(RATIONAL.array(X @ basis), plain).item()


def test_an_enclosure_of_clouds_holds_the_distance_of_each():
    rng, middle, radius, compared = np.random.default_rng(1), cloud(4, 2), 2.0**-8, 0
    with (system := Ball(128)).working():
        wide = system.array(middle)
        for index in np.ndindex(wide.shape):
            wide[index] = BallEntry(wide[index].value + arb(0, radius))
        found = distance_to_constant(wide, Lp(3)).item().value
        for _ in range(8):
            member = system.array(middle + radius * rng.choice([-1.0, 1.0, 0.25], middle.shape))
            assert found.overlaps(distance_to_constant(member, Lp(3)).item().value)
            compared += 1
    assert compared == 8
    assert found.rad() < 1


def test_what_has_no_least_distance_in_its_numbers():
    assert distance_to_constant(RATIONAL.array([[1, 2], [1, 2]]), Lp(3)).item() == 0
    with pytest.raises(NotExact, match="l3"):
        distance_to_constant(RATIONAL.array([[1], [2]]), Lp(3))
    with pytest.raises(NotExpressible, match="l3"):
        distance_to_constant(SYMBOLIC.array([[1], [2]]), Lp(3))
    with pytest.raises(DomainError, match="real entries"):
        distance_to_constant(np.array([[1j], [2]]), Lp(3))
    assert FLOAT64.array(distance_to_constant(np.array([[1.0], [3.0]]), Lp(3))).item() == pytest.approx(
        2 ** (1 / 3), rel=1e-14
    )


def test_of_rows_that_are_equal_nothing_is_left():
    for system in (RATIONAL, SYMBOLIC, FLOAT64):
        assert distance_to_constant(system.array([[1, 2]]), Lp(3)).item() == 0
    with (system := Ball(128)).working():  # a root of it is taken, as it is a distance though it may be zero
        X = system.array([[1], [1]])
        for index in np.ndindex(X.shape):
            X[index] = BallEntry(X[index].value + arb(0, 0.25))
        assert sqrt(distance_to_constant(X, Lp(3))).item().value.contains(0)
    with pytest.raises(DomainError, match="real entries, and floats have no derivative of it here"):
        derivative(lambda X: distance_to_constant(X, Lp(3)), np.eye(2), np.eye(2))


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**600])
def test_distances_in_lp_scale_and_come_in_batches(scale):
    """The best entry of -1 and 1 is 0; of 1, 1 and -1 in l3/2 it is 3/5, where 2 |1 - c|^(1/2) is |1 + c|^(1/2)."""
    two, three = np.array([[-1.0, 0], [1, 0]]), np.array([[1.0], [1], [-1]])
    wanted = 2 ** (1 / 3)
    found = distance_to_constant(scale * np.stack([[two, 2 * two, 0 * two]] * 2), Lp(3)) / scale
    assert found.shape == (2, 3, 1, 1)
    assert np.abs(found[..., 0, 0] - [[wanted, 2 * wanted, 0]] * 2).max() < 1e-14
    wanted = (2 * (2 / 5) ** 1.5 + (8 / 5) ** 1.5) ** (2 / 3)
    found = distance_to_constant(scale * three, Lp(Fraction(3, 2))).item() / scale
    assert abs(found - wanted) < 1e-14


@pytest.mark.parametrize("order", list(itertools.permutations([0, 10, 11])))
def test_the_order_of_rows_is_no_matter(order):
    """In l3 the best entry c is where c^2 = (10 - c)^2 + (11 - c)^2, which is 21 - 2 sqrt(55)."""
    with mpmath.workdps(45), (system := Ball(256)).working():
        c = 21 - 2 * mpmath.sqrt(55)
        wanted = mpmath.cbrt(c**3 + (10 - c) ** 3 + (11 - c) ** 3)
        assert abs(digits(distance_to_constant(system.array([[x] for x in order]), Lp(3)).item()) - wanted) <= DIGITS


def test_a_wide_enclosure_holds_the_distance_of_its_nearest_and_its_furthest_clouds():
    """Of numbers within 1/4 of -1 and of 1 the best entry is anywhere within 1/4 of 0, and is not made out."""
    compared = 0
    with (system := Ball(128)).working():
        wide = system.array([[-1], [1]])
        for index in np.ndindex(wide.shape):
            wide[index] = BallEntry(wide[index].value + arb(0, 0.25))
        found = distance_to_constant(wide, Lp(3)).item().value
        for left, right in itertools.product((-1.25, -0.75), (0.75, 1.25)):
            member = distance_to_constant(system.array([[left], [right]]), Lp(3)).item().value
            assert found.contains(member)
            compared += 1
    assert compared == 4


def test_slopes_and_powers_of_enclosures():
    assert _slope([arb(0, 0.5)], arb(0), Fraction(3)).contains(arb(0, 0.25))  # that of x^3 / 3 on either side
    assert _slope([arb(-1), arb(3)], arb(1), Fraction(3)) == 0
    assert _slope([arb(-2)], arb(1), Fraction(3)) == 9
    assert [_power(arb(x), Fraction(3)) for x in (0, 1, 2)] == [0, 1, 8]
    assert _power(arb(4), Fraction(3, 2)) == 8
    touching = _power(arb(2, 2), Fraction(3, 2))
    assert touching.contains(0)
    assert touching.contains(8)
    assert touching.upper() < 9


# ---- how the smallest ball is found and certified ----------------------------


def test_two_tokens_have_a_ball_in_every_number_system():
    for system in (SYMBOLIC, RATIONAL, FLOAT64):
        assert squared_enclosing_radius(system.array([[1, 2], [4, 6]])).item() == Fraction(25, 4)
    with pytest.raises(DomainError, match="real entries, and floats have no derivative of it here"):
        derivative(squared_enclosing_radius, np.eye(3), np.eye(3))


def test_radii_in_l1_and_in_one_dimension():
    apart, along = np.array([[0.0, 0], [3, -3]]), np.array([[5.0, 5], [6, 6]])
    assert [enclosing_radius(X, L1).item() for X in (apart, along)] == [3, 1]
    batch = np.stack([apart, along, 2 * apart])[:, [0, 1, 1]]
    assert enclosing_radius(batch, L1).tolist() == [[[3]], [[1]], [[6]]]
    line = np.stack([[[0.0], [1], [5]], [[2], [2], [2]]])
    for norm in (L1, Lp(3), LINF):
        assert enclosing_radius(line, norm).tolist() == [[[2.5]], [[0]]]


@pytest.mark.parametrize("n", [4, 30])
def test_a_radius_scales_with_its_cloud(n):
    X = cloud(n, 3)
    plain = squared_enclosing_radius(X).item()
    found = squared_enclosing_radius(np.stack([2.0**-400 * X, 2.0**400 * X]))
    assert found.shape == (2, 1, 1)
    assert np.abs(found[:, 0, 0] * [2.0**800, 2.0**-800] / plain - 1).max() < 1e-12


def test_a_cloud_that_may_be_one_point_has_a_radius():
    with (system := Ball(128)).working():
        X = system.array([[1], [1], [1]])
        for index in np.ndindex(X.shape):
            X[index] = BallEntry(X[index].value + arb(0, 0.3))
        assert enclosing_radius(X).item().value.contains(0.25)


@pytest.fixture
def supported_by(monkeypatch):
    """What floats are to have found: the support, and its weights."""
    from resstream.reference import enclosing

    def found(support, weights=()):
        monkeypatch.setattr(enclosing, "_support", lambda _: (support, np.array(weights), 0.0))

    return found


def test_a_sphere_is_no_smallest_one_unless_its_centre_is_among_its_points(supported_by):
    supported_by([0, 1, 2])  # the sphere through all three is larger than that of the first two
    assert squared_enclosing_radius(RATIONAL.array([[0, 0], [4, 0], [1, 1]])).item() == 4
    supported_by([0, 1])  # twice the same token, which has no sphere
    assert squared_enclosing_radius(RATIONAL.array([[0, 0], [0, 0], [4, 0]])).item() == 4


def test_sets_are_gone_through_up_to_a_number(supported_by, monkeypatch):
    from resstream.reference import enclosing

    supported_by([0, 1])
    X = RATIONAL.array([[0], [1], [2]])
    monkeypatch.setattr(enclosing, "MOST_SETS", 2)  # (0, 1) as it was found, (0, 1) again, (0, 2)
    assert squared_enclosing_radius(X).item() == 1
    monkeypatch.setattr(enclosing, "MOST_SETS", 1)
    with pytest.raises(NotExact, match="the enclosing radius of 3 tokens: no support was found in 1 sets"):
        squared_enclosing_radius(X)


@pytest.mark.parametrize("far", [0, 1, 2])
def test_an_enclosure_reaches_to_the_farthest_token(far, supported_by):
    """Whichever it is, though the support that was found leaves it out: two tokens at 0 and 2, and one at 10."""
    near = [k for k in range(3) if k != far]
    X = np.zeros((3, 1))
    X[far], X[near[1]] = 10, 2
    supported_by(near, [0.5, 0.5])
    with (system := Ball(128)).working():
        found = squared_enclosing_radius(system.array(X)).item().value
        assert found.contains(25)
        assert found.contains(1)
        assert found.contains(81)


@pytest.mark.parametrize("weights", [[0.5, 0, 0.5], [2, -1, 2]])
def test_weights_of_dependent_tokens_are_those_of_floats_and_made_to_sum_to_one(weights, supported_by):
    supported_by([0, 1, 2], weights)
    with (system := Ball(128)).working():
        found = squared_enclosing_radius(system.array([[0], [0], [4]])).item().value
        assert found.contains(4)
        assert found.rad() < 1e-30
