"""Expectations: exact over finite domains and by moments, in every reading, against SymPy's and SciPy's own."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import sympy.stats
from scipy.stats import norm, uniform

from resstream.arithmetic import FLOAT64, RATIONAL, Ball, amax, exp, jacobian, relu, sqrt, square, total
from resstream.claim import claim, equal, expectation, size
from resstream.domains import (
    Gaussian,
    Given,
    Matrix,
    OnSphere,
    Permutation,
    RowStochastic,
    Signs,
    Subset,
    Uniform,
    Vector,
    Whole,
    cubature,
)
from resstream.domains.current import Objects, evaluating
from resstream.errors import ClaimError, DomainError, Undecided
from resstream.falsify import falsify
from resstream.prove import identity

SYSTEMS = [FLOAT64, RATIONAL, Ball(128)]


def mean(of, function, sizes=None, system=RATIONAL, **arrays):
    """An expectation in a number system, beside arrays of it."""
    read = {name: system.array(np.array(value, dtype=object)) for name, value in arrays.items()}
    with system.working(), evaluating(Objects(read or {"x": system.array([[1]])}, sizes or {})):
        return expectation(of, lambda *objects: function(*objects, *read.values()))


def value(array):
    (entry,) = array.flat
    return Fraction(str(entry))


# ---- laws -------------------------------------------------------------------


@pytest.mark.parametrize("power", range(1, 9))
def test_moments_of_one_entry_are_scipys(power):
    assert value(mean(Gaussian(1, 1), lambda x: x**power)) == round(norm.moment(power))
    half = value(mean(Gaussian(1, 1, variance=Fraction(1, 4)), lambda x: x**power))
    assert float(half) == pytest.approx(norm(scale=0.5).moment(power), abs=1e-14)
    found = value(mean(Uniform(1, 1, low=-1, high=Fraction(5, 2)), lambda x: x**power))
    assert float(found) == pytest.approx(uniform(-1, 3.5).moment(power), rel=1e-12)
    assert value(mean(Signs(1, 1), lambda x: x**power)) == 1 - power % 2


@pytest.mark.parametrize("powers", [(2, 0, 0), (2, 2, 0), (4, 0, 0), (2, 2, 2), (1, 1, 0), (4, 2, 0)])
def test_moments_on_the_sphere_are_those_of_a_gaussian_over_its_length(powers):
    """E prod x_i^p of a Gaussian factors into E |x|^s and that of the direction; E |x|^s = d (d+2) ... (d+s-2)."""

    def product(x):
        return x[:, :1] ** powers[0] * x[:, 1:2] ** powers[1] * x[:, 2:] ** powers[2]

    on_sphere, gaussian = (value(mean(law, product)) for law in (OnSphere(3), Gaussian(1, 3)))
    assert on_sphere * int(np.prod(range(3, 3 + sum(powers), 2))) == gaussian
    assert value(mean(OnSphere(3, radius=2), product)) == 2 ** sum(powers) * on_sphere


def test_a_mean_that_sympy_takes():
    x, y = sp.stats.Normal("x", 0, sp.Rational(1, 2)), sp.stats.Uniform("y", -1, 2)
    expected = sp.stats.E((x + x * y + y**2 + 3) ** 2)
    laws = [Gaussian(1, 1, variance=Fraction(1, 4)), Uniform(1, 1, low=-1, high=2)]
    assert value(mean(laws, lambda x, y: (x + x * y + y**2 + 3) ** 2)) == Fraction(str(expected))


@pytest.mark.parametrize("law", [Gaussian(2, 2), Uniform(2, 2, low=-1, high=3), Signs(2, 2), OnSphere(4)], ids=str)
def test_draws_have_these_moments(law):
    """The mean of a polynomial over 100,000 draws is within six standard errors of the exact one."""

    def polynomial(x):
        return total(total(square(x)), -2) + x[..., :1, :1] * x[..., :1, 1:2]

    drawn = polynomial(law.build(law.draw(np.random.default_rng(0), 100_000, {}))).ravel()
    exact_mean = float(value(mean(law, polynomial)))
    assert abs(np.mean(drawn) - exact_mean) < 6 * np.std(drawn) / 100_000**0.5 + 1e-12
    assert np.std(drawn) < 100


def test_bad_laws():
    for make, message in [
        (lambda: Gaussian(1, 1, variance=-1), "variance: expected a number of at least 0"),
        (lambda: Gaussian(1, 0), "columns: expected a name"),
        (lambda: Gaussian(1, 1, variance=0.5), "write exact"),
        (lambda: Uniform(1, 1, low=1, high=1), "expected low < high"),
    ]:
        with pytest.raises(DomainError, match=message):
            make()
    assert str(Gaussian("n", "d")) == "Gaussian(n, d)"
    assert str(OnSphere("d", radius=2)) == "OnSphere(d, 2)"
    assert Gaussian("d", 2, divided_by="k").size_names() == {"d", "k"}


# ---- readings ---------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_the_same_mean_in_every_reading(system):
    """E |g (I + J)|^2 = (1 + 1) |g|^2 for entries of variance 1/d."""
    found = mean(
        Gaussian("d", "d", divided_by="d"), lambda J, g: total(square(g + g @ J)), {"d": 3}, system, g=[[1, 2, 3]]
    )
    assert found.shape == (1, 1)
    assert found.dtype == (np.float64 if system is FLOAT64 else object)
    with system.working():
        assert np.all(abs(found - system.array([[28]])) < system.array([[Fraction(1, 10**12)]]))


def test_floats_in_a_batch():
    rng = np.random.default_rng(0)
    g = rng.standard_normal((5, 1, 3))
    with FLOAT64.working(), evaluating(Objects({"g": g}, {"d": 3})):
        found = expectation([Signs("d", "d"), Whole(0, 1)], lambda J, b: b * square(g @ J))
        branch = expectation(Subset("d"), lambda S: amax(S * g))
    np.testing.assert_allclose(
        found, np.broadcast_to(np.sum(g * g, -1, keepdims=True) / 2, (5, 1, 3)), rtol=1e-13, atol=0
    )
    every = [[(k >> i) & 1 for i in range(3)] for k in range(8)]
    np.testing.assert_allclose(
        branch[:, 0, 0], np.mean([np.max(s * g[:, 0], -1) for s in every], 0), rtol=1e-13, atol=0
    )


def test_expressions_prove_an_identity():
    """In the expressions of a proof: for every g, at d = 2 and 3."""

    @claim("mine.random_map", over={"g": Vector("d")}, sizes={"d": range(2, 4)})
    def random_map(g):
        """E |g J|^2 = |g|^2."""
        return equal(expectation(Gaussian("d", "d", divided_by="d"), lambda J: total(square(g @ J))), total(square(g)))

    assert falsify(random_map, 2_000).status == "survived"
    assert identity.prove_identity(random_map, {"d": 2}).proved


def test_derivatives_go_through():
    """The gradient of E <g, x>^2 = |g|^2 by g."""
    g = RATIONAL.array([[1, 2]])
    with evaluating(Objects({"g": g}, {})):
        found = jacobian(lambda y: expectation(Gaussian(1, 2), lambda x: square(x @ y.mT)), g)
    assert found.ravel().tolist() == [2, 4]


# ---- finite domains ---------------------------------------------------------


def test_a_member_that_is_made_twice_counts_once():
    assert value(mean(Given(1, 1, 4), lambda x: x)) == Fraction(5, 2)
    assert value(mean(Permutation(3), lambda P, x: total(square(x @ P - x)), x=[[1, 2, 3]])) == 4


def test_more_than_256_choices_stay_undecided():
    with pytest.raises(Undecided):
        mean([Whole(0, 99), Whole(0, 99)], lambda a, b: a * b)
    assert value(mean(Signs(10, 10), lambda S: total(total(S), -2) ** 2)) == 100  # by moments there is no limit


# ---- what is refused --------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: sqrt(square(x)), "a square root"),
        (lambda x: exp(x), "an exponential"),
        (lambda x: 1 / x, "a quotient by random entries"),
        (lambda x: relu(x), "a maximum of random entries"),
        (lambda x: np.where(x > 0, x, 0 * x), "a comparison of random entries"),
    ],
)
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_what_is_no_polynomial(function, what, system):
    with pytest.raises(ClaimError, match=f"expectation: {what} in line .* is no polynomial"):
        mean(Gaussian(1, 1), function, system=system)


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (Matrix("n", 1), "expected a finite domain"),
        (RowStochastic("n"), "expected a finite domain"),
        ([], "got none"),
        ("Gaussian", "expected a law such as"),
    ],
)
def test_what_is_not_random(of, message):
    with pytest.raises(ClaimError, match=message):
        mean(of, lambda x: x, {"n": 2})


def test_a_wrong_expectation_is_refuted_with_a_certificate():
    @claim("mine.wrong", over={"k": Vector("d")}, sizes={"d": range(1, 4)})
    def wrong(k):
        """E <q, k>^4 = d |k|^4 for q of independent normal entries, which is 3 |k|^4."""
        fourth = expectation(Gaussian(1, "d"), lambda q: (q @ k.mT) ** 4)
        return equal(fourth, size("d") * square(total(square(k))))

    verdict = falsify(wrong, 2_000)
    assert verdict.status == "refuted"
    found = verdict.counterexample.judgement
    assert (str(found.lhs), str(found.rhs)) == ("3", "1")


def test_constants_inside_are_numbers():
    """The root of what is no random number, and a maximum of such, are taken as ever."""
    found = mean(Gaussian(1, 1), lambda x, c: square(x * sqrt(c)) + sqrt(c + 0 * x) + 0 * x, c=[[4]])
    assert value(found) == 6


def test_a_product_of_very_long_polynomials_stays_undecided():
    with pytest.raises(Undecided, match="a product of polynomials"):
        mean(Gaussian(1, 40), lambda x: total(x) ** 6)


def test_only_the_stated_reading_of_a_claim_is_asked():
    with pytest.raises(ClaimError, match="no instance is being evaluated"):
        expectation(Gaussian(1, "d"), lambda x: x)


# ---- large batches of floats ------------------------------------------------


def test_a_large_batch_has_the_means_of_its_instances():
    """Weighted sums over points against polynomial entries, instance by instance."""
    g = np.random.default_rng(0).standard_normal((200, 1, 2))
    laws = [Gaussian("d", "d", divided_by="d"), OnSphere("d"), Uniform(1, 1, low=-1, high=2), Signs(1, "d")]

    def carried(rows):
        def function(J, q, u, s):
            return square(total(rows + rows @ J)) * total(q * s) ** 2 * u

        with FLOAT64.working(), evaluating(Objects({"g": rows}, {"d": 2})):
            return expectation(laws, function)

    by_instance = np.concatenate([carried(g[k : k + 1]) for k in range(200)])
    with FLOAT64.working(), evaluating(Objects({"g": g}, {"d": 2})):
        assert cubature.WORTH_IT < 200
    np.testing.assert_allclose(carried(g), by_instance, rtol=1e-8, atol=0)


def test_points_that_do_not_fit_a_function_give_no_answer():
    """A rule made for the monomials of degree two, asked for a fourth power, and for a function with no mean."""
    cubature.learn(two := lambda x: x * x, [Gaussian(1, 1)], {}, [(), ((0, 2),)], {(): 1.0, ((0, 2),): 1.0}.get)
    rule = cubature.known(two, [Gaussian(1, 1)], {})
    assert rule.mean(two) == pytest.approx(1, abs=1e-9)
    assert rule.mean(lambda x: x**4) is None
    assert rule.mean(lambda x: x * x * np.nan) is None
