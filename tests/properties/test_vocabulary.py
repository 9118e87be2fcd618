"""The functions of a claim, each in every reading, against an independent library (mpmath) at 50 digits.

The table gives for each function the arguments and what mpmath makes of them. Balls must hold that value and be narrow,
rationals must be it, expressions and terms, evaluated, too, and floats must be within `FLOATS` of it.
"""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from resstream import arithmetic as ar
from resstream import reference as ref
from resstream.arithmetic import EXPONENTIAL, FLOAT64, RATIONAL, SYMBOLIC, Ball, exact, jacobian
from resstream.arithmetic.obligations import noting
from resstream.arithmetic.solver import Formula
from resstream.arithmetic.terms import Terms
from resstream.claim import Claim, Instance, equal
from resstream.domains import Matrix
from resstream.errors import ArithmeticLimit, NotExact, NotExpressible, ResstreamError, Undecided, Undefined
from resstream.falsify.judge import read
from resstream.reference import L1, L2, LINF, Lp

DIGITS = 50
CLOSE = 30
"""Digits to which enclosures and expressions agree."""

FLOATS = 64 * np.finfo(float).eps
"""Relative to the largest entry of the result, for arguments whose condition is small."""

mp = mpmath.mp.clone()
mp.dps = DIGITS


def matrix(*rows):
    return np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object)


X = matrix([1, 2, 4], [3, -1, 1], [2, "1/2", 5])
Y = matrix([2, 1, 1], [-1, "1/3", 4])
P = matrix(["1/2", "1/4", "1/4"], [0, "1/3", "2/3"])
Q = matrix(["1/3", "1/3", "1/3"], ["1/8", "1/8", "3/4"])
A = matrix([1, 2, "1/2"], [3, 1, 1], ["1/5", 2, 7])
W = matrix([1, 2], [3, 4], [5, 7])
SINGULAR = matrix([1, 2, 3], [2, 4, 6], [1, 0, 1])
DIAGONAL = matrix([3, 0, 0], [0, -2, 0])
VALUES = matrix([-4, -1, "-1/3", 0, "1/7", 1, "5/2", 30])
ROOTS = matrix([1, 4, "9/4", 0, 2])
LARGE = matrix(["1e20", "1e20"], [3, -4])


def numbers(M):
    return mp.matrix([[mp.mpf(entry.numerator) / entry.denominator for entry in row] for row in M])


def rows(M):
    """The rows of a matrix of mpmath as lists."""
    return [[M[i, j] for j in range(M.cols)] for i in range(M.rows)]


def each(function):
    return lambda M: [[function(x) for x in row] for row in rows(M)]


def by_row(function):
    return lambda *Ms: [[function(*lines)] for lines in zip(*map(rows, Ms), strict=True)]


def norm(x, p):
    return max(map(abs, x)) if p is None else mp.fsum(abs(v) ** p for v in x) ** (1 / mp.mpf(p))


def singular(M):
    return sorted((v for v in mp.svd_r(M, compute_uv=False)), reverse=True)


def pairs(n):
    return itertools.combinations(range(n), 2)


def less(x, y):
    return [a - b for a, b in zip(x, y, strict=True)]


def difference(M, i, j):
    return less(rows(M)[i], rows(M)[j])


def exponent(norm):
    return norm.exponent and mp.mpf(norm.exponent.numerator) / norm.exponent.denominator


def induced(M, p, q):
    """An operator norm where it is a maximum over the corners of the unit ball of lp, or of the dual of lq."""
    if p == 1:
        return max(norm(row, q) for row in rows(M))
    if p is None:
        corners = itertools.product((-1, 1), repeat=M.rows)
        return max(
            norm([mp.fsum(s * M[i, j] for i, s in enumerate(sign)) for j in range(M.cols)], q) for sign in corners
        )
    dual = None if q == 1 else mp.mpf(q) / (q - 1) if q else 1
    return induced(M.T, dual, 1 / (1 - 1 / mp.mpf(p)))


def entropy(p):
    return -mp.fsum(v * mp.log(v) for v in p if v)


def rank_of(M):
    return sum(value > mp.mpf(10) ** -30 for value in singular(M))


def projective(x, y):
    quotients = [a / b for a, b in zip(x, y, strict=True)]
    return mp.log(max(quotients) / min(quotients))


def pinv(M):
    """By the limit that defines it, at a step far below 50 digits."""
    with mp.workdps(300):
        step = mp.mpf(10) ** -120
        return rows((M.T * M + step * mp.eye(M.cols)) ** -1 * M.T)


HALF3 = exact(3, 2)
T = mp.mpf(3) / 2

TABLE = {
    # name: (function, arguments, what mpmath makes of them)
    "pi": (lambda x: ar.pi * x, [X], each(lambda x: mp.pi * x)),
    "e": (lambda x: x / ar.e + ar.e / 2, [X], each(lambda x: x / mp.e + mp.e / 2)),
    "erf": (ar.erf, [VALUES], each(mp.erf)),
    "root": (lambda x: ar.root(x, 3), [abs(VALUES)], each(mp.cbrt)),
    "root of degree 6": (lambda x: ar.root(x, 6), [ROOTS], each(lambda x: mp.root(x, 6))),
    "gelu": (ref.gelu, [VALUES], each(lambda x: x * (1 + mp.erf(x / mp.sqrt(2))) / 2)),
    "gelu_tanh": (
        ref.gelu_tanh,
        [VALUES],
        each(lambda x: x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.mpf(np.pi)) * (x + mp.mpf("0.044715") * x**3)))),
    ),
    "silu": (ref.silu, [VALUES], each(lambda x: x / (1 + mp.exp(-x)))),
    "sigmoid": (ref.sigmoid, [VALUES], each(lambda x: 1 / (1 + mp.exp(-x)))),
    "softplus": (ref.softplus, [VALUES], each(lambda x: mp.log(1 + mp.exp(x)))),
    "logsumexp": (ref.logsumexp, [X], by_row(lambda x: mp.log(mp.fsum(map(mp.exp, x))))),
    "log_softmax": (
        ref.log_softmax,
        [X],
        lambda M: [[x - mp.log(mp.fsum(map(mp.exp, row))) for x in row] for row in rows(M)],
    ),
    "entropy": (ref.entropy, [P], by_row(entropy)),
    "kl_divergence": (
        ref.kl_divergence,
        [P, Q],
        by_row(lambda p, q: mp.fsum(a * mp.log(a / b) for a, b in zip(p, q, strict=True) if a)),
    ),
    "total_variation": (ref.total_variation, [P, Q], by_row(lambda p, q: norm(less(p, q), 1) / 2)),
    "hellinger": (
        ref.hellinger,
        [P, Q],
        by_row(lambda p, q: mp.sqrt(1 - mp.fsum(mp.sqrt(a * b) for a, b in zip(p, q, strict=True)))),
    ),
    "hilbert_metric": (ref.hilbert_metric, [A, A[[1, 2, 0]]], by_row(projective)),
    "birkhoff_coefficient": (
        ref.birkhoff_coefficient,
        [A],
        lambda M: [[mp.tanh(max(projective(rows(M)[i], rows(M)[j]) for i, j in pairs(3)) / 4)]],
    ),
    "row_norms in l1": (lambda x: ref.row_norms(x, Lp(1)), [X], by_row(lambda x: norm(x, 1))),
    "row_norms in l3": (lambda x: ref.row_norms(x, Lp(3)), [X], by_row(lambda x: norm(x, 3))),
    "row_norms in l3/2": (lambda x: ref.row_norms(x, Lp(HALF3)), [X], by_row(lambda x: norm(x, T))),
    "diameter in l4": (
        lambda x: ref.diameter(x, Lp(4)),
        [X],
        lambda M: [[max(norm(difference(M, i, j), 4) for i, j in pairs(3))]],
    ),
    **{
        f"operator_norm from {p} to {q}": (
            lambda w, p=p, q=q: ref.operator_norm(w, p, q),
            [W],
            lambda M, p=p, q=q: [[singular(M)[0] if p is q is L2 else induced(M, exponent(p), exponent(q))]],
        )
        for p, q in (
            *itertools.product((L1, L2, LINF), repeat=2),
            *((L1, Lp(3)), (Lp(HALF3), LINF), (LINF, Lp(3)), (Lp(3), L1)),
        )
    },
    "schatten_norm, nuclear": (lambda w: ref.schatten_norm(w, L1), [W], lambda M: [[mp.fsum(singular(M))]]),
    "schatten_norm in l3": (lambda w: ref.schatten_norm(w, Lp(3)), [W], lambda M: [[norm(singular(M), 3)]]),
    "schatten_norm of a diagonal": (lambda w: ref.schatten_norm(w, L1), [DIAGONAL], lambda _: [[mp.mpf(5)]]),
    "singular_values": (ref.singular_values, [W], lambda M: [singular(M)]),
    "smallest_singular_value": (ref.smallest_singular_value, [W], lambda M: [singular(M)[-1:]]),
    "condition_number": (ref.condition_number, [W], lambda M: [[singular(M)[0] / singular(M)[-1]]]),
    "condition_number of a diagonal": (ref.condition_number, [DIAGONAL], lambda _: [[T]]),
    "eigenvalue_moduli": (
        ref.eigenvalue_moduli,
        [X],
        lambda M: [sorted(map(abs, mp.eig(M, left=False, right=False)), reverse=True)],
    ),
    "spectral_radius": (ref.spectral_radius, [X], lambda M: [[max(map(abs, mp.eig(M, left=False, right=False)))]]),
    "rank": (ref.rank, [SINGULAR], lambda M: [[mp.mpf(rank_of(M))]]),
    "affine_rank": (
        ref.affine_rank,
        [SINGULAR],
        lambda M: [[mp.mpf(rank_of(mp.matrix([difference(M, i, 0) for i in (1, 2)])))]],
    ),
    "determinant": (ref.determinant, [X], lambda M: [[mp.det(M)]]),
    "trace": (ref.trace, [X], lambda M: [[mp.fsum(M[i, i] for i in range(3))]]),
    "pseudo_inverse": (ref.pseudo_inverse, [W], pinv),
    "pseudo_inverse of a wide one": (lambda w: ref.pseudo_inverse(w.mT), [W], lambda M: pinv(M.T)),
    "pseudo_inverse of a square": (ref.pseudo_inverse, [X], pinv),
    "pseudo_inverse of a singular one": (ref.pseudo_inverse, [SINGULAR], pinv),
    "pairwise_distances": (
        ref.pairwise_distances,
        [X],
        lambda M: [[norm(difference(M, i, j), 2) for j in range(3)] for i in range(3)],
    ),
    "mean_pairwise_distance": (
        lambda x: ref.mean_pairwise_distance(x, L1),
        [X],
        lambda M: [[mp.fsum(norm(difference(M, i, j), 1) for i, j in pairs(3)) / 3]],
    ),
    "dispersion": (
        ref.dispersion,
        [X],
        lambda M: [[mp.fsum(norm(difference(M, i, j), 2) ** 2 for i in range(3) for j in range(3)) / 18]],
    ),
    "gram": (ref.gram, [X], lambda M: rows(M * M.T)),
    "cosine_similarity": (
        ref.cosine_similarity,
        [X, Y],
        lambda M, N: [[mp.fdot(x, y) / norm(x, 2) / norm(y, 2) for y in rows(N)] for x in rows(M)],
    ),
    "cosine_similarity of large ones": (
        ref.cosine_similarity,
        [LARGE],
        lambda M: [[mp.fdot(x, y) / norm(x, 2) / norm(y, 2) for y in rows(M)] for x in rows(M)],
    ),
    "ascending": (ref.ascending, [X], lambda M: [sorted(row) for row in rows(M)]),
    "top_k": (lambda x: ref.top_k(x, 2), [X], lambda M: [sorted(row, reverse=True)[:2] for row in rows(M)]),
    "one_hot_argmax": (ref.one_hot_argmax, [X], lambda M: [[mp.mpf(x == max(row)) for x in row] for row in rows(M)]),
}  # fmt: skip

WITHOUT = {
    "symbolic": {
        *("schatten_norm, nuclear", "schatten_norm in l3", "schatten_norm of a diagonal", "singular_values"),
        *("smallest_singular_value", "condition_number", "condition_number of a diagonal", "eigenvalue_moduli"),
        *("spectral_radius", "rank", "affine_rank", "pseudo_inverse of a singular one", "operator_norm from l2 to l2"),
    },
    "terms": {
        *("schatten_norm, nuclear", "schatten_norm in l3", "singular_values", "smallest_singular_value"),
        *("condition_number", "eigenvalue_moduli", "spectral_radius", "pseudo_inverse of a singular one"),
    },
}
"""What these readings have no words for, and say so."""


def wanted(name):
    _, arguments, value = TABLE[name]
    return [entry for row in value(*map(numbers, arguments)) for entry in row]


def agrees(value, middle, radius=0):
    """Whether a number is the wanted one to 30 digits, or as near as its radius says, where that is small too."""
    slack = mp.mpf(10) ** -CLOSE * (1 + abs(value))
    return abs(middle - value) <= radius + slack / 1000 and radius <= slack


def of_ball(ball):
    return mp.mpf(ball.mid().str(DIGITS, radius=False)), mp.mpf(ball.rad().str(10, radius=False))


def entries_of(name, system):
    function, arguments, _ = TABLE[name]
    result = function(*(system.array(argument) for argument in arguments))
    assert result.ndim == 2
    for entry in result.flat:
        if isinstance(entry, ar.NoValue):
            entry.demand()
    return list(result.flat)


def test_the_balls_hold_what_mpmath_finds():
    compared = 0
    for name in TABLE:
        with (system := Ball(192)).working():
            found = [of_ball(entry.value) for entry in entries_of(name, system)]
        for (middle, radius), value in zip(found, wanted(name), strict=True):
            assert agrees(value, middle, radius), (name, middle, value)
            compared += 1
    assert compared > 200


def test_the_rationals_are_what_mpmath_finds_where_they_are_rational():
    compared, refused = 0, set()
    for name in TABLE:
        try:
            found = entries_of(name, RATIONAL)
        except NotExact:
            refused.add(name)
            continue
        for entry, value in zip(found, wanted(name), strict=True):
            number = ar.to_fraction(entry.value)
            assert agrees(value, mp.mpf(number.numerator) / number.denominator), (name, entry, value)
            compared += 1
    assert compared >= 80
    assert refused > {"pi", "e", "erf", "entropy", "hilbert_metric", "singular_values"}
    assert not refused & {"rank", "determinant", "pseudo_inverse of a singular one", "gram", "total_variation", "top_k"}


def largest_float_error(name):
    with np.errstate(all="ignore"):
        found = entries_of(name, FLOAT64)
    values = wanted(name)
    scale = max(abs(value) for value in values)
    return float(max(abs(mp.mpf(float(x)) - value) for x, value in zip(found, values, strict=True)) / scale)


def test_the_floats_are_near():
    errors = {name: largest_float_error(name) for name in TABLE}
    assert len(errors) == len(TABLE) > 55
    assert {name: error for name, error in errors.items() if not error < FLOATS} == {}


@pytest.mark.parametrize("system", [SYMBOLIC, Terms(256)], ids=["symbolic", "terms"])
def test_expressions_are_what_mpmath_finds_or_say_that_they_have_no_words(system):
    compared, without = 0, set()
    for name in TABLE:
        with system.working(), noting():
            try:
                found = entries_of(name, system)
            except (NotExpressible, NotExact):
                without.add(name)
                continue
        for entry, value in zip(found, wanted(name), strict=True):
            if system is SYMBOLIC:
                middle, radius = mp.mpf(str(entry.value.evalf(DIGITS))), 0
            else:
                middle, radius = of_ball(entry.enclosure)
            assert agrees(value, middle, radius), (name, entry, value)
            compared += 1
    assert compared > 150
    assert without == WITHOUT["symbolic" if system is SYMBOLIC else "terms"]


def test_the_solver_has_what_is_algebraic():
    """Known numbers as polynomials: what stays known is what the rationals find; the rest is an unknown or no word."""
    compared, unknown, without = 0, 0, set()
    for name in TABLE:
        try:
            found = entries_of(name, Formula())
        except (NotExpressible, NotExact):
            without.add(name)
            continue
        for entry, value in zip(found, wanted(name), strict=True):
            known = entry.polynomial.known()
            if known is None:
                unknown += 1
                continue
            assert agrees(value, mp.mpf(int(known.p)) / int(known.q)), (name, known, value)
            compared += 1
    assert compared > 60
    assert unknown > 5
    assert without > {"pi", "erf", "entropy", "rank", "singular_values"}
    assert not without & {"determinant", "pseudo_inverse", "total_variation", "gram", "row_norms in l3", "hellinger"}


SMOOTH = {
    "erf": VALUES, "gelu": VALUES, "sigmoid": VALUES, "softplus": VALUES, "root": abs(VALUES) + 1, "log_softmax": X,
    "logsumexp": X, "row_norms in l3": X, "determinant": X, "pseudo_inverse of a square": X, "dispersion": X,
    "hilbert_metric": A, "birkhoff_coefficient": A, "mean_pairwise_distance": X,
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_in_balls_and_floats_are_those_of_mpmath(name):
    function, arguments, value = TABLE[name]
    at = SMOOTH[name]
    rest = arguments[1:]
    direction = matrix(*[[Fraction(k * 7 % 5 - 2, 3) for k in range(i, i + at.shape[1])] for i in range(at.shape[0])])

    def moved(t):
        given = numbers(at)
        for i, j in np.ndindex(*at.shape):
            given[i, j] += t * mp.mpf(direction[i, j].numerator) / direction[i, j].denominator
        return [entry for row in value(given, *map(numbers, rest)) for entry in row]

    step = mp.mpf(10) ** -17
    slopes = [(b - a) / (2 * step) for a, b in zip(moved(-step), moved(step), strict=True)]
    with (system := Ball(192)).working():
        others = [system.array(one) for one in rest]
        found = ar.derivative(lambda x: function(x, *others), system.array(at), system.array(direction))
        for entry, slope in zip(found.flat, slopes, strict=True):
            middle, _ = of_ball(entry.value)
            assert abs(middle - slope) < mp.mpf(10) ** -CLOSE * 1000 * (1 + abs(slope))
    others = [FLOAT64.array(one) for one in rest]
    floats = ar.derivative(lambda x: function(x, *others), FLOAT64.array(at), FLOAT64.array(direction))
    scale = max(map(abs, slopes))
    assert all(abs(mp.mpf(float(x)) - s) < 1e-12 * (1 + scale) for x, s in zip(floats.flat, slopes, strict=True))


def test_the_comparison_can_fail():
    assert not agrees(mp.mpf(1), 1 + mp.mpf(10) ** -29)
    assert not agrees(mp.mpf(1), mp.mpf(1), mp.mpf(10) ** -20)
    with Ball(192).working():
        assert agrees(mp.pi, *of_ball(arb.pi()))
        assert not agrees(mp.pi, *of_ball(arb(3)))


# ---- in batches, and what is refused -----------------------------------------


def test_a_batch_is_its_instances():
    compared = 0
    rng = np.random.default_rng(0)
    for name, (function, arguments, _) in TABLE.items():
        batch = [np.stack([FLOAT64.array(one)] * 3) for one in arguments]
        if name not in ("entropy", "kl_divergence", "total_variation", "hellinger", "rank", "affine_rank"):
            batch = [one * (1 + rng.random((3, 1, 1))) for one in batch]
        together = function(*batch)
        for k in range(3):
            alone = function(*(one[k] for one in batch))
            assert together[k].shape == alone.shape
            assert np.allclose(together[k], alone, rtol=1e-9, atol=1e-12), name
            compared += 1
    assert compared == 3 * len(TABLE)


def test_what_has_no_value_is_refused_by_name():
    refused = [
        (lambda: ref.entropy(np.array([[0.5, 0.6]])), "P: expected a row-stochastic matrix"),
        (lambda: ref.kl_divergence(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])), r"infinite, as Q is 0 at \[0, 1\]"),
        (lambda: ref.total_variation(np.eye(2), np.full((2, 3), 1 / 3)), "Q: expected 2 columns, as P has"),
        (lambda: ref.hilbert_metric(np.eye(2), np.eye(2)), r"X: expected positive entries, got another at \[0, 1\]"),
        (lambda: ref.birkhoff_coefficient(np.eye(2)), "A: expected positive entries"),
        (lambda: ref.cosine_similarity(np.zeros((2, 2))), r"X: row \[0\] is zero, so the cosine is not defined"),
        (lambda: ref.one_hot_argmax(np.ones((2, 2))), r"x: row \[0\]: it is not decided which of two equal entries"),
        (lambda: ref.top_k(np.ones((2, 2)), 3), "k: expected a whole number from 1 to 2, the columns of x, got 3"),
        (lambda: ref.condition_number(np.diag([1.0, 0.0])), "condition_number: .* beyond the range"),
        (lambda: Lp(exact(1, 2)), "p: expected a fraction of at least 1"),
        (lambda: Lp(1.5), "p: expected a whole number or a fraction, got 1.5"),
        (lambda: ref.operator_norm(np.eye(2), L2, Lp(3)), "no certified value of an operator norm from l2 to l3"),
        (lambda: ref.operator_norm(np.eye(13), LINF, L2), "at most 12 rows of signs to go through, got 13"),
        (lambda: ref.schatten_norm(np.eye(2), ref.Norm("l1", np.eye(2), np.eye(2))), "norm: expected L1, L2, LINF"),
        (lambda: ar.root(np.ones((1, 1)), 0), "degree: expected a whole number of at least 1, got 0"),
    ]
    for call, message in refused:
        with pytest.raises(ResstreamError, match=message):
            call()
    assert len(refused) == 15


def test_enclosures_decide_or_say_that_they_do_not():
    with (system := Ball(64)).working():
        third = system.array([[Fraction(1, 3)]])
        tied = np.concatenate([third, 1 - 2 * third, 0 * third], axis=-1)
        with pytest.raises(Undecided, match="not known at this precision"):
            ref.one_hot_argmax(tied)
        assert [int(x == 1) for x in ref.one_hot_argmax(tied + system.array([[0, 0, 1]])).flat] == [0, 0, 1]
        with pytest.raises(Undecided, match="not certainly of full rank"):
            ref.pseudo_inverse(third * system.array([[1, 2], [2, 4]]))
    with pytest.raises(Undefined, match="which of two equal entries is the largest"):
        assert ref.one_hot_argmax(RATIONAL.array([[1, 1]])).item(0) == 1


def sevens(function):
    return lambda X: equal(function(ref.softmax(X)), 7)


def test_a_reading_without_words_for_a_function_never_says_that_there_is_no_value():
    """What the spectrum of a softmax is no exact system says; that is a limit of theirs, and no fault of the claim."""
    raw = Instance({}, {}, {"X": np.array([[1.0, 2.0], [0.5, 1.5]])})  # of rank one after softmax
    compared = 0
    for function in (
        ref.rank,
        ref.singular_values,
        ref.spectral_norm,
        ref.spectral_radius,
        ref.condition_number,
        lambda P: ref.operator_norm(P, LINF, L2),
        lambda P: ref.schatten_norm(P, L1),
        lambda P: ref.determinant(P + np.eye(2, dtype=int)),
        lambda P: ref.pseudo_inverse(P + np.eye(2, dtype=int)),
        lambda P: ref.hellinger(P, P),
        lambda P: ref.kl_divergence(P, P),
        lambda P: ref.row_norms(P, Lp(3)),
    ):
        claim = Claim("t.reading", {"X": Matrix(2, 2)}, sevens(function))
        for system in (RATIONAL, EXPONENTIAL, Ball(128)):
            outcome = read(claim, raw, system).outcome
            assert outcome in ("violated", "undecided"), (function, system.name, outcome)
            compared += 1
    assert compared == 36


# ---- pi and e ----------------------------------------------------------------


def test_literals_of_irrational_numbers_compute_among_themselves():
    made = (2 * ar.pi - ar.e / 3) ** 2 + exact(1, 7) - abs(-ar.pi)
    value = (2 * mp.pi - mp.e / 3) ** 2 + mp.mpf(1) / 7 - mp.pi
    with (system := Ball(192)).working():
        assert agrees(value, *of_ball((made * system.array([1]))[0].value))
    assert abs(ar.to_float(made) - value) < 1e-14
    assert str(2 * ar.pi / ar.e) == "((2 * pi) / e)"
    assert ar.pi > 3
    assert exact(22, 7) > ar.pi
    assert ar.e != ar.pi
    with pytest.raises(Undecided):
        assert 2 * ar.pi == ar.pi + ar.pi
    with pytest.raises(NotExact, match="pi is not rational"):
        _ = RATIONAL.array([1]) * ar.pi
    with pytest.raises(NotExact, match="pi is not rational"):
        ar.to_fmpq(ar.pi)


def test_literals_stand_beside_arrays():
    with (system := Ball(192)).working():
        x = system.array([[3, 4]])
        larger, chosen = ar.maximum(x, ar.pi), ar.where(np.array([[True, False]]), ar.e, x)
        assert [larger[0, 0] > 3, larger[0, 1] == 4, chosen[0, 0] < 3, chosen[0, 1] == 4] == [True] * 4
    assert ar.maximum(np.array([[3.0, 4.0]]), ar.pi).tolist() == [[np.pi, 4.0]]
    assert ar.minimum(exact(7, 2), np.array([[3.0, 4.0]])).tolist() == [[3.0, 3.5]]
    assert jacobian(lambda x: ar.pi * x, np.array([[1.0]])).tolist() == [[np.pi]]


def test_a_root_of_what_may_be_negative_is_not_taken():
    with (system := Ball(64)).working():
        (minus, around) = ar.root(np.array([system.array([-8])[0], ar.BallEntry(arb(0, 1))], dtype=object), 3)
    assert [minus.certain, around.certain] == [True, False]
    with pytest.raises(Undefined, match="root of the negative number"):
        minus.demand()
    assert issubclass(NotExact, ArithmeticLimit)


def test_one_row_has_the_coefficient_zero() -> None:
    assert np.array_equal(ref.birkhoff_coefficient(np.full((3, 1, 2), 0.5)), np.zeros((3, 1, 1)))


# ---- what only some arguments show -------------------------------------------


def test_a_row_of_a_batch_is_named_by_its_place():
    with pytest.raises(ResstreamError, match="from 1 to 4, the columns of x, got 5"):
        ref.top_k(np.ones((1, 2, 3, 4)), 5)
    assert ref.top_k(np.ones((1, 2, 3, 4)), 4).shape == (1, 2, 3, 4)
    with pytest.raises(ResstreamError, match=r"x: row \[0, 1\]: it is not decided"):
        ref.one_hot_argmax(np.array([[[1.0, 2, 3], [5, 4, 5]]]))
    with pytest.raises(ResstreamError, match=r"x: row \[0\]: it is not decided"):
        ref.one_hot_argmax(np.array([[7.0, 7]]))  # twice, not more often


@pytest.mark.parametrize("system", [FLOAT64, RATIONAL], ids=lambda system: system.name)
def test_the_largest_of_every_row_of_a_batch_is_marked(system):
    x = np.arange(24).reshape(2, 3, 4)
    x[..., 1] += 9
    assert FLOAT64.array(ref.one_hot_argmax(system.array(x))).tolist() == [[[0, 1, 0, 0]] * 3] * 2


def test_a_tie_is_decided_whatever_is_not_known_of_smaller_entries():
    with (system := Ball(64)).working():
        third = system.array([["1/3"]])
        hot = ref.one_hot_argmax(np.concatenate([system.array([[5, 5]]), third, 1 - 2 * third], axis=-1))
    with pytest.raises(Undefined, match="which of two equal entries is the largest"):
        hot[0, 0].demand()


@pytest.mark.parametrize("place", [0, 1])
def test_an_entry_without_a_value_is_in_no_order(place):
    x = RATIONAL.array([[1, 2]])
    x[0, place] = x[0, place] / 0
    with pytest.raises(Undefined, match="division by zero"):
        ref.one_hot_argmax(x)


def test_logarithms_of_distributions_stay_in_range():
    assert ref.log_softmax(np.array([[1000.0, 0]])).tolist() == [[0, -1000]]
    with (system := Ball(64)).working():
        over = ref.softplus(system.array([[2**200]])).item().value - arb(2**200)
    assert over.contains(0)
    assert over.rad() < arb(2**140)
    (symbolic,) = ref.softplus(SYMBOLIC.array([[3]])).flat
    assert str(symbolic.value) == "log(1 + exp(3))"  # without a shift, which expressions do not need


@pytest.mark.parametrize("system", [FLOAT64, RATIONAL], ids=lambda system: system.name)
def test_what_has_no_share_in_either_is_no_divergence(system):
    assert ref.kl_divergence(system.array([[1, 0]]), system.array([[1, 0]])).item() == 0


def test_two_distributions_of_batches_that_do_not_broadcast_are_refused():
    with pytest.raises(ResstreamError, match=r"leading axes do not broadcast: P \(2, 1, 2\), Q \(3, 1, 2\)"):
        ref.total_variation(np.full((2, 1, 2), 0.5), np.full((3, 1, 2), 0.5))


@pytest.mark.parametrize("n", [4, 5])
def test_birkhoffs_coefficient_is_that_of_the_two_rows_furthest_apart(n):
    """Wherever the two stand: (1, 81) and (81, 1) are log 81^2 apart, and tanh(log(81^2) / 4) is 80/82."""
    compared = 0
    for i, j in pairs(n):
        A = np.ones((n, 2), dtype=int)
        A[i], A[j] = (1, 81), (81, 1)
        assert ref.birkhoff_coefficient(RATIONAL.array(A)).item() == Fraction(40, 41)
        compared += 1
    assert compared == n * (n - 1) // 2
