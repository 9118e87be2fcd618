"""Every entry operation of every number system, against high-precision values of an independent library (mpmath)."""

import ast
import inspect
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq

from resstream import arithmetic as ar
from resstream.arithmetic import RATIONAL, SYMBOLIC, Ball, BallEntry, DualEntry, NoValue, RationalEntry
from resstream.arithmetic.entries import Entry
from resstream.claim import at_most
from resstream.errors import ClaimFault, ForeignNumber, NotExact, Undecided

DIGITS = 60
CASES = 60
BALL = Ball(160)

mp = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
mp.dps = DIGITS

UNARY = {
    "exponential": (mp.exp, lambda x: abs(x) < 500),
    "logarithm": (mp.log, lambda x: x > 0),
    "square_root": (mp.sqrt, lambda x: x >= 0),
    "cosine": (mp.cos, lambda _: True),
    "sine": (mp.sin, lambda _: True),
    "hyperbolic_tangent": (mp.tanh, lambda _: True),
    "error_function": (mp.erf, lambda _: True),
    "size": (abs, lambda _: True),
    "negative": (lambda x: -x, lambda _: True),
}
BINARY = {
    "plus": lambda x, y: x + y,
    "minus": lambda x, y: x - y,
    "times": lambda x, y: x * y,
    "over": lambda x, y: x / y,
    "larger": max,
}


def fractions(seed, count=CASES):
    """Rationals of many sizes: whole, tied, tiny, large, and ordinary ones."""
    rng = np.random.default_rng(seed)
    values = [Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(10) ** 12, Fraction(1, 10**12)]
    while len(values) < count:
        values.append(Fraction(int(rng.integers(-(10**6), 10**6)), int(rng.integers(1, 10 ** int(rng.integers(1, 7))))))
    return values


def known(x):
    """A rational as a number of mpmath."""
    return mp.mpf(x.numerator) / x.denominator


def encloses(entry, value):
    """Whether a ball holds a value known to 60 digits, and is narrow."""
    middle, radius = (mp.mpf(part.str(DIGITS, radius=False)) for part in (entry.value.mid(), entry.value.rad()))
    slack = mp.mpf(10) ** (5 - DIGITS) * (1 + abs(value))
    return abs(middle - value) <= radius + slack and radius <= mp.mpf(10) ** -30 * (1 + abs(value))


def entries(system, *numbers):
    return [system.array([number])[0] for number in numbers]


@pytest.mark.parametrize("name", UNARY)
def test_balls_enclose_functions_of_one_number(name):
    function, is_defined = UNARY[name]
    compared = 0
    with BALL.working():
        for x in fractions(1):
            (entry,) = entries(BALL, x)
            result = getattr(entry, name)()
            if not is_defined(x):
                assert isinstance(result, NoValue) or abs(x) >= 500, (name, x)
                continue
            assert encloses(result, function(known(x))), (name, x, result)
            compared += 1
    assert compared >= 20


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("system", [BALL, RATIONAL], ids=["ball", "rational"])
def test_functions_of_two_numbers(name, system):
    compared = 0
    with system.working():
        for x, y in zip(fractions(2), fractions(3)[::-1], strict=True):
            first, second = entries(system, x, y)
            result = getattr(first, name)(second)
            if name == "over" and y == 0:
                assert isinstance(result, NoValue)
                assert result.certain
                continue
            exact = Fraction(BINARY[name](x, y))
            if system is RATIONAL:
                assert result.value == fmpq(exact.numerator, exact.denominator)
            else:
                assert encloses(result, known(exact)), (name, x, y)
            compared += 1
    assert compared >= 50


def test_the_enclosure_check_can_fail():
    with BALL.working():
        one = BALL.array([1])[0]
        assert not encloses(one, mp.mpf(1) + mp.mpf(10) ** -40)
        assert not encloses(BallEntry(arb(1, 1e-3)), mp.mpf(1))


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("size", "negative")])
def test_rationals_are_exact_or_say_that_they_are_not(name):
    function, is_defined = UNARY[name]
    exact = refused = 0
    for x in [*fractions(4), Fraction(4, 9), Fraction(25)]:
        (entry,) = entries(RATIONAL, x)
        try:
            result = getattr(entry, name)()
        except NotExact:
            refused += 1
            continue
        if isinstance(result, NoValue):
            assert not is_defined(x)
            continue
        assert abs(known(ar.to_fraction(result.value)) - function(known(x))) < mp.mpf(10) ** (8 - DIGITS)
        exact += 1
    assert exact >= 1
    assert refused >= 10


def test_comparisons_are_right_or_undecided():
    decided = undecided = 0
    with BALL.working():
        pairs = [*zip(fractions(5), fractions(6), strict=True), *[(x, x) for x in fractions(7, 20)]]
        for x, y in pairs:
            for system in (BALL, RATIONAL, SYMBOLIC):
                first, second = entries(system, x, y)
                for sign, right in (("__lt__", x < y), ("__le__", x <= y), ("__eq__", x == y), ("__ne__", x != y)):
                    try:
                        answer = getattr(first, sign)(second)
                    except Undecided:
                        assert system is BALL
                        assert x == y
                        undecided += 1
                        continue
                    assert answer is right, (system.name, x, sign, y)
                    decided += 1
    assert decided >= 500
    assert undecided >= 10


def test_overlapping_balls_are_never_told_apart():
    with BALL.working():
        wide, narrow = BallEntry(arb(1, 0.5)), BallEntry(arb(1.25))
        for question in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
            with pytest.raises(Undecided):
                getattr(wide, question)(narrow)


DIFFERENTIABLE = ["exponential", "logarithm", "square_root", "cosine", "sine", "hyperbolic_tangent", "error_function"]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_slopes_are_derivatives(name):
    function, is_defined = UNARY[name]
    compared = 0
    with BALL.working():
        for x in (number / 1000 for number in fractions(8, 200)):
            if not is_defined(x) or x == 0 or abs(x) > 50 or abs(x) < Fraction(1, 100):
                continue
            value, slope = entries(BALL, x, Fraction(3, 7))
            result = getattr(DualEntry(value, slope, 1), name)()
            wanted = mp.diff(function, known(x)) * mp.mpf(3) / 7
            with mp.workdps(DIGITS):
                assert abs(mp.mpf(result.slope.value.mid().str(40, radius=False)) - wanted) <= mp.mpf(10) ** -20 * (
                    1 + abs(wanted)
                ), (name, x)
            compared += 1
    assert compared >= 10


def test_the_nonnegative_flag_is_never_wrong():
    """Random expressions, evaluated in balls and in rationals: what is flagged nonnegative is so."""
    rng = np.random.default_rng(9)
    flagged = 0
    with BALL.working():
        for _ in range(400):
            numbers = fractions(10, 8)
            pool = list(zip(entries(BALL, *numbers), entries(RATIONAL, *numbers), strict=True))
            for _ in range(6):
                (a, p), (b, q) = (pool[int(rng.integers(len(pool)))] for _ in range(2))
                name = ("plus", "minus", "times", "larger", "size", "negative")[int(rng.integers(6))]
                others = () if name in ("size", "negative") else (b, q)
                pool.append(tuple(getattr(e, name)(*others[k : k + 1]) for k, e in enumerate((a, p))))
            for ball, rational in pool:
                if ball.nonnegative:
                    assert rational.value >= 0
                    flagged += 1
    assert flagged >= 500


def test_every_number_system_states_the_whole_table():
    """A number system without one of the operations would meet it in the middle of a claim."""
    table = {*UNARY, *BINARY, "of", "below", "same", "pi", "root"}
    systems = [*Entry.__subclasses__()]
    assert len(systems) >= 5
    for system in systems:
        missing = [name for name in table if getattr(system, name) is getattr(Entry, name) and name not in INHERITED]
        assert missing == [], (system.__name__, missing)


INHERITED = {"minus", "size"}
"""Operations that `Entry` makes of others."""


FLINT_AT_HAND = {
    "reference/spectrum.py": "polynomials and matrices of FLINT, on numbers that are exact or bounded by hand",
    "reference/norms.py": "the spectral norm by squaring, on exact midpoints",
    "reference/checks.py": "FLINT's numbers become entries at the gate",
    "falsify/certify.py": "whether two enclosures overlap",
    "falsify/counterexample.py": "reads numbers",
    "reference/noted.py": "the rank of a rational matrix",
    "relations/comparisons.py": "how wide a tie may be",
    "audit/sample.py": "measures rounding",
    "audit/families.py": "certified ratios along families",
    "enclosures.py": "holds floats against enclosures",
    "domains/finite.py": "members of finite sets become rational entries",
    "falsify/statistical.py": "sums of draws that are read in balls",
    "falsify/tails.py": "bounds on how likely a mean is, each enclosed",
    "statistical.py": "what a draw says, as a ball",
    "falsify/evidence.py": "how a ratio grows with the size, as evidence and no verdict",
    "reference/enclosing.py": "matrices of FLINT, on numbers that are exact or bounded by hand",
    "reference/nearest.py": "bounds of distances, from both sides",
    "falsify/recorded.py": "reads recorded numbers, each below a bound",
    "falsify/objects.py": "numbers that are given with a radius become enclosures",
}
"""Where FLINT's two-valued comparisons are within reach, outside the number systems, the proofs and the certificates
(which write numbers down), and for what.
"""


def test_no_raw_comparison_of_exact_numbers_remains():
    """Entries compare in three values; FLINT's numbers in two. So few places import FLINT, each with its reason."""
    package = Path(ar.__file__).parent.parent
    looked, found = 0, set()
    for file in sorted(package.rglob("*.py")):
        place = file.relative_to(package).as_posix()
        looked += 1
        imports = {
            alias.name if isinstance(node, ast.Import) else node.module
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        if "flint" in imports and not place.startswith(("arithmetic/", "prove/", "falsify/formats/")):
            found.add(place)
    assert looked > 100
    assert found <= set(FLINT_AT_HAND), found - set(FLINT_AT_HAND)
    assert found, "the walk finds none of the places that are known"


def test_rational_entries_are_what_they_are_made_of():
    assert [entry.value for entry in RATIONAL.array(["1/3", 2, 0.5])] == [fmpq(1, 3), fmpq(2), fmpq(1, 2)]
    assert isinstance(RATIONAL.array([1])[0], RationalEntry)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (3, 8, 2), (5, 5, 5)])
def test_products_of_matrices_are_those_of_their_entries(shape):
    n, k, m = shape
    rng = np.random.default_rng(n * 100 + k * 10 + m)
    first, second = (rng.integers(-99, 99, size).astype(object) for size in ((n, k), (k, m)))
    right = [
        [Fraction(sum(int(a) * int(b) for a, b in zip(row, column, strict=True)), 49) for column in second.T]
        for row in first
    ]
    for system in (RATIONAL, BALL):
        with system.working():
            A, B = (system.array([[Fraction(int(e), 7) for e in row] for row in X]) for X in (first, second))
            product = A @ B
            assert product.shape == (n, m)
            for i, j in np.ndindex(n, m):
                if system is RATIONAL:
                    assert product[i, j] == right[i][j]
                else:
                    assert encloses(product[i, j], known(right[i][j]))
                    assert not product[i, j].nonnegative or right[i][j] >= 0
            assert (A @ B[:, 0]).shape == (n,)


def test_squares_in_a_gram_matrix_are_known_to_be_nonnegative():
    with BALL.working():
        around_zero = BALL.array([[arb(0, 1e-20), arb(0, 1e-20)], [arb(1), arb(0, 1e-20)]])
        gram = around_zero @ around_zero.T
        assert [entry.nonnegative for entry in gram.ravel()] == [True, False, False, True]
        absolute = ar.absolute(around_zero)
        assert all(entry.nonnegative for entry in (absolute @ absolute).ravel())
        assert not any(entry.nonnegative for entry in (around_zero @ absolute).ravel())


def test_a_full_reduction_takes_axes_as_a_scalar_of_numpy_does():
    x = RATIONAL.array([[1, 2], [3, 4]])
    for found, value in ((np.trace(x), 5), (np.sum(x), 10), (np.einsum("ii->", x), 5)):
        assert found[..., None, None].shape == (1, 1)
        assert found[..., None, None][0, 0] == value
    with pytest.raises(TypeError, match="not iterable"):
        list(x[0, 0])


@pytest.mark.parametrize("number", [1e23, 2.0**53, -(2.0**60), np.float32(2**60)])
def test_whole_floats_that_may_have_been_rounded_are_refused(number):
    for system in (RATIONAL, BALL, SYMBOLIC):
        (entry,) = system.array([1])
        with pytest.raises(ForeignNumber):
            entry + number
        assert entry + 2.0 == 3


def test_a_foreign_side_is_refused_with_the_line_that_states_it():
    stated = at_most(RATIONAL.array([[1]]), np.array([[0.5]]))
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(ClaimFault, match=rf"the float 0\.5 in line {line} of test_entries\.py"):
        stated.decide(RATIONAL)
