"""Laws: their moments by hand, their draws, and how they are written."""

from fractions import Fraction

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, RATIONAL, exact
from resstream.domains import Gaussian, OnSphere, Signs, Uniform
from resstream.errors import DomainError

SIZES = {"n": 2, "d": 4}


@pytest.mark.parametrize(
    ("law", "powers", "mean"),
    [
        (Gaussian(1, 1), [2], 1), (Gaussian(1, 1), [4], 3), (Gaussian(1, 1), [6], 15), (Gaussian(1, 1), [3], 0),
        (Gaussian(1, 2), [2, 2], 1), (Gaussian(1, 2), [4, 2], 3), (Gaussian(1, 2), [2, 1], 0), (Gaussian(1, 1), [], 1),
        (Gaussian(1, 1, variance=3), [4], 27), (Gaussian(1, 1, variance=0), [2], 0),
        (Gaussian("d", "d", divided_by="d"), [4], Fraction(3, 16)),
        (Gaussian(1, 1, variance=exact(1, 3), divided_by="n"), [2], Fraction(1, 6)),
        (Uniform(1, 1), [1], Fraction(1, 2)), (Uniform(1, 1), [2], Fraction(1, 3)),
        (Uniform(1, 2), [1, 2], Fraction(1, 6)),
        (Uniform(1, 1, low=2, high=4), [1], 3), (Uniform(1, 1, low=2, high=4), [2], Fraction(28, 3)),
        (Uniform(1, 1, low=exact(-1, 2), high=exact(1, 2)), [2], Fraction(1, 12)),
        (Signs(1, 2), [2, 4], 1), (Signs(1, 2), [2, 3], 0), (Signs(1, 1), [1], 0),
        (OnSphere("d"), [2], Fraction(1, 4)), (OnSphere("d"), [4], Fraction(1, 8)), (OnSphere("d"), [1, 1], 0),
        (OnSphere("d"), [2, 2], Fraction(1, 24)), (OnSphere("d", radius=3), [2], Fraction(9, 4)),
        (OnSphere(1, radius=exact(1, 2)), [4], Fraction(1, 16)),
    ],
)  # fmt: skip
def test_moments(law, powers, mean):
    assert law.moment(iter(powers), SIZES) == mean
    assert type(law.moment(powers, SIZES)) is Fraction


def test_draws_are_numpys():
    """In the shape of the sizes, one after another."""

    def drawn(law):
        return law.draw(np.random.default_rng(5), 7, SIZES)

    rng = np.random.default_rng(5)
    assert np.array_equal(drawn(Gaussian("n", "d", variance=9)), 3 * rng.standard_normal((7, 2, 4)))
    rng = np.random.default_rng(5)
    assert np.array_equal(drawn(Gaussian("n", 3, divided_by="d")), rng.standard_normal((7, 2, 3)) / 2)
    rng = np.random.default_rng(5)
    assert np.array_equal(drawn(Uniform("n", "d", low=-1, high=5)), rng.uniform(-1, 5, (7, 2, 4)))
    signs = drawn(Signs("n", "d"))
    assert signs.shape == (7, 2, 4)
    assert set(signs.flat) == {-1.0, 1.0}
    assert drawn(OnSphere("d")).shape == (7, 1, 4)
    assert OnSphere("d").shape(SIZES) == (1, 4)


@pytest.mark.parametrize("system", [FLOAT64, RATIONAL], ids=lambda system: system.name)
def test_what_is_drawn_is_brought_to_the_sphere(system):
    raw = system.array([[[3, 4]], [[-8, 6]]])
    found = OnSphere(2, radius=exact(5, 2)).build(raw)
    assert (2 * found == system.array([[[3, 4]], [[-4, 3]]])).all()
    assert OnSphere(2).build(system.array([[0, 7]])).tolist() == [[0, 1]]
    assert Gaussian(1, 2).build(raw) is raw


def test_laws_are_written_as_they_are_made():
    laws = [
        "Gaussian(d, 2)", "Gaussian(1, 1, variance=2)", "Gaussian(d, d, divided_by=d)", "Uniform(n, d, low=-1, high=2)",
        "Uniform(n, d, high=2)", "Signs(1, d)", "OnSphere(d, 1)", "OnSphere(d, 3)",
    ]  # fmt: skip
    names = {"Gaussian": Gaussian, "Uniform": Uniform, "Signs": Signs, "OnSphere": OnSphere, "d": "d", "n": "n"}
    assert [str(eval(text, names)) for text in laws] == laws
    assert Gaussian("n", 2, divided_by="d").size_names() == {"n", "d"}
    assert OnSphere(3).size_names() == set()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0, 1), "Gaussian: rows: expected a name such as 'n' or a whole number of at least 1"),
        (lambda: Gaussian(1, 1, divided_by=0), "Gaussian: divided_by: expected a name"),
        (lambda: Uniform(1, "2"), "Uniform: columns: expected a name"),
        (lambda: Signs(1, True), "Signs: columns: expected a name"),
        (lambda: OnSphere(0), "OnSphere: dimension: expected a name"),
        (lambda: Gaussian(1, 1, variance=-1), "Gaussian: variance: expected a number of at least 0, got -1"),
        (lambda: Gaussian(1, 1, variance=0.5), r"Gaussian: variance: expected a whole number or a fraction, got 0\.5"),
        (lambda: Uniform(1, 1, low=0.5), r"Uniform: low: expected a whole number or a fraction, got 0\.5"),
        (lambda: Uniform(1, 1, high=0.5), r"Uniform: high: expected a whole number or a fraction, got 0\.5"),
        (lambda: Uniform(1, 1, low=1), "Uniform: low, high: expected low < high, got 1 and 1"),
        (lambda: OnSphere(1, radius=0.5), r"OnSphere: radius: expected a whole number or a fraction, got 0\.5"),
    ],
)
def test_arguments_are_sizes_and_exact_numbers(make, message):
    with pytest.raises(DomainError, match=message):
        make()
