"""Trick claims: each tempts one of the tools to say what is not so, and names the answers that would be lies.

A kind of trick is a fault that a tool of this sort has had, here or elsewhere. The claims are those of a plain claim
file: they go through the falsifier, the proofs, the plugin, the audit and replay as a user's would.
"""

import itertools
import math
import random
from fractions import Fraction

import numpy as np

from resstream.arithmetic import (
    absolute,
    amax,
    amin,
    cos,
    descending,
    exact,
    exp,
    largest_entry,
    log,
    maximum,
    mean,
    power,
    relu,
    sin,
    sqrt,
    square,
    tanh,
    total,
    total_entry,
    where,
)
from resstream.claim import (
    at_least,
    at_most,
    claim,
    differ,
    either,
    equal,
    every,
    exists,
    for_all,
    iff,
    implies,
    in_some_entry,
    less_than,
    more_than,
    negation,
    within,
)
from resstream.domains import (
    Causal,
    DoublyStochastic,
    Invertible,
    InvertiblePair,
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Norm,
    Orthogonal,
    Permutation,
    Positive,
    PositiveSemidefinite,
    Projection,
    RowStochastic,
    Scalar,
    Scores,
    Simplex,
    Stack,
    Symmetric,
    Vector,
    Whole,
)
from resstream.reference import centre, diameter, dobrushin, layer_norm, row_norms, softmax
from resstream.reference.spectrum import determinant

REFUTED, SURVIVED, PROVED = "refuted", "survived", "proved"

TRICKS = {}
"""Of every claim: its kind, and the answers that would be lies."""


def trick(kind, *lies, over, **settings):
    """Register a function as a claim of a kind. A lie is a verdict, or "proved"."""

    def decorate(function):
        name = f"{kind}.{function.__name__}"
        made = claim(name, over=over, **settings)(function)
        TRICKS[name] = (kind, frozenset(lies), made)
        return made

    return decorate


x, X, t, s = {"x": Vector("d")}, {"X": Matrix("n", "d")}, {"t": Positive()}, {"x": Scalar()}
SMALL = {"n": range(1, 4), "d": range(1, 4)}
D, N = {"d": range(1, 4)}, {"n": range(1, 4)}
TWO, TWOS = {"d": range(2, 4)}, {"n": range(2, 4)}

# ---- a foreign number or function enters: no verdict rests on it, and no proof ------------------

ANY = (REFUTED, SURVIVED, PROVED)


@trick("foreign", *ANY, over=x, sizes=D)
def mean_of_cast_floats(x):
    return at_most(np.mean(x.astype(float), -1, keepdims=True), np.max(x.astype(float), -1, keepdims=True))


@trick("foreign", *ANY, over=x, sizes=D)
def a_tenth_from_the_left(x):
    return equal(10 * (0.1 * x), x)


@trick("foreign", *ANY, over=x, sizes=D)
def a_tenth_from_the_right(x):
    return equal((x * 0.1) * 10, x)


@trick("foreign", *ANY, over=x, sizes=D)
def a_tenth_added(x):
    return at_most(x, x + 0.1)


@trick("foreign", *ANY, over=x, sizes=D)
def a_tenth_subtracted_from(x):
    return equal(0.1 - x + x, exact("0.1"))


@trick("foreign", *ANY, over=x, sizes=D)
def a_quotient_by_a_float(x):
    return equal(x / 0.3 * 3, x * 10)


@trick("foreign", *ANY, over=x, sizes=D)
def a_float_divided(x):
    return equal(0.3 / (1 + square(x)) * (1 + square(x)), exact("0.3"))


@trick("foreign", *ANY, over=x, sizes=D)
def a_float_as_a_side(x):
    return at_most(-square(x), 0.1 + 0.2 - 0.3)


@trick("foreign", *ANY, over=x, sizes=D)
def an_array_of_floats_as_a_side(x):
    return at_least(square(x) + 1, np.full((1, 1), 0.5))


@trick("foreign", *ANY, over=x, sizes=D)
def a_float64_scalar(x):
    return equal(np.float64(0.7) * x / np.float64(0.7), x)


@trick("foreign", *ANY, over=x, sizes=D)
def a_float32_scalar(x):
    return equal(np.float32(0.1) * x * 10, x)


@trick("foreign", *ANY, over=x, sizes=D)
def a_comparison_with_a_float(x):
    return equal(where(x > 0.5, 1 + 0 * x, 1 + 0 * x), 1)


@trick("foreign", *ANY, over=x, sizes=D)
def infinity(x):
    return at_most(x, math.inf)


@trick("foreign", *ANY, over=x, sizes=D)
def not_a_number(x):
    return at_most(x * math.nan, 1)


@trick("foreign", *ANY, over=x, sizes=D)
def a_complex_number(x):
    return equal((x * (1 + 0j)), x)


@trick("foreign", *ANY, over=x, sizes=D)
def an_exponential_of_numpy(x):
    return more_than(np.exp(x), 0)


@trick("foreign", *ANY, over=x, sizes=D)
def a_root_of_numpy(x):
    return equal(np.sqrt(square(x)), absolute(x))


@trick("foreign", *ANY, over=x, sizes=D)
def a_logarithm_of_numpy(x):
    return at_least(np.log(1 + square(x)), 0)


@trick("foreign", *ANY, over=x, sizes=D)
def a_hyperbolic_tangent_of_numpy(x):
    return at_most(np.tanh(x), 1)


@trick("foreign", *ANY, over=X, sizes=TWO | N)
def a_norm_of_numpy(X):
    return at_least(np.linalg.norm(X, axis=(-2, -1), keepdims=True), 0)


@trick("foreign", *ANY, over={"M": Matrix("d", "d")}, sizes=TWO)
def a_determinant_of_numpy(M):
    return equal(np.linalg.det(M)[..., None, None], determinant(M))


@trick("foreign", *ANY, over=x, sizes=D)
def rounded(x):
    return at_most(np.round(x), x + 1)


@trick("foreign", *ANY, over=x, sizes=D)
def the_floor(x):
    return at_most(np.floor(x), x)


@trick("foreign", REFUTED, over=x, sizes=D)
def a_whole_float_beyond_its_digits(x):
    """True as meant; the float 1e23 is no power of ten."""
    return equal(x * 1e23, x * 10**23)


@trick("foreign", REFUTED, over=s)
def a_whole_float_that_swallowed_one(x):
    return equal(x + (1e16 + 1) - 1e16, x + 1)


@trick("foreign", *ANY, over={"x": Scalar()})
def a_python_float(x):
    return equal(float(np.ravel(x)[0]) * (0 * x + 1), x)


@trick("foreign", *ANY, over={"x": Scalar()})
def a_python_integer(x):
    return at_most(int(np.ravel(x)[0]) + 0 * x, x)


@trick("foreign", *ANY, over=x, sizes=D)
def a_power_that_is_not_whole(x):
    return equal(square(x) ** 0.5, absolute(x))


@trick("foreign", *ANY, over=x, sizes=D)
def close_in_floats(x):
    return at_most(np.isclose(x, x, atol=1e-9) * 1.0, 1)


@trick("foreign", *ANY, over=x, sizes=D)
def a_standard_deviation_of_numpy(x):
    return at_least(np.std(x, axis=-1, keepdims=True), 0)


def within_a_third(x):
    return at_most(absolute(x), 1 / 3)


@trick("foreign", *ANY, over=x, sizes=D, assuming=[within_a_third])
def a_float_in_a_hypothesis(x):
    return at_most(square(x), exact(1, 9))


# ---- a branch on what is not decided -------------------------------------------------------------


@trick("branch", REFUTED, over=t)
def above_one_by_little(t):
    return equal(where(exp(power(t, 9)) > 1, 0 * t + 1, 0), 1)


@trick("branch", REFUTED, over=t)
def at_least_one(t):
    return equal(where(exp(power(t, 9)) >= 1, 0 * t + 1, 0), 1)


@trick("branch", REFUTED, over=t)
def a_truth_value_as_a_number(t):
    return equal((exp(power(t, 9)) > 1) * 1, 1)


@trick("branch", REFUTED, over=t)
def a_truth_value_turned_round(t):
    return equal((exp(power(t, 9)) <= 1) * 1, 0)


@trick("branch", REFUTED, over=t)
def an_index_of_the_largest(t):
    pair = np.concatenate([exp(power(t, 9)), 1 + 0 * t], axis=-1)
    return equal(np.argmax(pair, axis=-1)[..., None], 0)


@trick("branch", REFUTED, over=t)
def an_order(t):
    pair = np.concatenate([exp(power(t, 9)), 1 + 0 * t], axis=-1)
    return equal(np.argsort(pair, axis=-1)[..., :1], 1)


@trick("branch", REFUTED, over=t)
def a_sign(t):
    return equal(np.sign(exp(power(t, 9)) - 1), 1)


@trick("branch", REFUTED, over=t)
def beyond_every_float(t):
    return equal(where(exp(1000 * t + 1) > exp(1000 * t), 0 * t + 1, 0), 1)


@trick("branch", REFUTED, over={"A": RowStochastic("n")}, sizes=TWOS)
def rows_sum_to_one(A):
    return equal(where(total(A) >= 1, 1 + 0 * total(A), 0), 1)


@trick("branch", REFUTED, over={"A": RowStochastic("n")}, sizes=TWOS)
def rows_sum_to_no_more_than_one(A):
    return equal(where(total(A) > 1, 1 + 0 * total(A), 0), 0)


@trick("branch", REFUTED, over={"S": Scores("n")}, sizes=TWOS)
def softmax_rows(S):
    sums = total(softmax(S))
    return equal(where(sums >= 1, 1 + 0 * sums, 0), 1)


@trick("branch", REFUTED, over={"x": NonConstant("d")}, sizes=TWO)
def nonnegative_or_negative(x):
    sums = total(layer_norm(x))
    return equal(where(sums >= 0, 1 + 0 * sums, 0) + where(sums < 0, 1 + 0 * sums, 0), 1)


@trick("branch", REFUTED, over=x, sizes=D)
def equal_or_not(x):
    root = sqrt(square(x) + 1)
    return equal(where(root * root == square(x) + 1, 1 + 0 * x, 0), 1)


@trick("branch", REFUTED, over=x, sizes=D)
def a_python_if(x):
    size = total(square(x)) + sqrt(1 + 0 * total(x) + 1)
    return at_least(size, 0) if np.all(size * size > 1) else at_least(-1 + 0 * size, 0)


@trick("branch", REFUTED, over=x, sizes=TWO)
def numpy_maximum_of_equal_roots(x):
    root = sqrt(total(square(x)) + 2)
    return equal(np.maximum(root, root), root)


@trick("branch", REFUTED, over=x, sizes=TWO)
def sorted_by_numpy(x):
    return at_most(np.sort(x, axis=-1)[..., :1], np.sort(x, axis=-1)[..., -1:])


# ---- writing in place -----------------------------------------------------------------------------


def doubles(t):
    t *= 2
    return at_most(t, 4)


@trick("writes", REFUTED, over=t, assuming=[doubles])
def what_a_hypothesis_doubled(t):
    return at_most(t, 2)


def zeroes_a_column(X):
    X[..., 0] = 0
    return at_most(largest_entry(absolute(X)), 5)


@trick("writes", REFUTED, PROVED, over=X, sizes=SMALL, assuming=[zeroes_a_column])
def what_a_hypothesis_zeroed(X):
    return equal(X[..., :1], 0)


def adds_with_out(x):
    np.add(x, 1, out=x)
    return at_least(total(square(x)), 0)


@trick("writes", REFUTED, over=x, sizes=D, assuming=[adds_with_out])
def what_a_hypothesis_shifted(x):
    return at_least(square(x - 1), 0)


def sorts_in_place(x):
    x.sort(axis=-1)
    return at_least(total(square(x)), 0)


@trick("writes", SURVIVED, PROVED, over=x, sizes={"d": range(2, 3)}, assuming=[sorts_in_place])
def what_a_hypothesis_sorted(x):
    return at_most(x[..., :1], x[..., 1:])


def fills(A):
    A.fill(0)
    return at_least(total_entry(A), 0)


@trick("writes", REFUTED, over={"A": RowStochastic("n")}, sizes=N, assuming=[fills])
def what_a_hypothesis_filled(A):
    return equal(total(A), 1)


def makes_writeable(x):
    x.flags.writeable = True
    x.fill(0)
    return at_most(x, 4)


@trick("writes", SURVIVED, PROVED, over=x, sizes=D, assuming=[makes_writeable])
def what_a_hypothesis_made_writeable(x):
    return at_most(x, 0)


def writes_below(x):
    if x.base is not None:
        np.asarray(x.base).fill(0)
    return at_most(x, 4)


@trick("writes", SURVIVED, PROVED, over=x, sizes=D, assuming=[writes_below])
def what_a_hypothesis_wrote_below(x):
    return at_most(x, 0)


def turns_round(Ws):
    Ws.reverse()
    return at_most(Ws[0], 4)


@trick("writes", REFUTED, over={"Ws": Stack(2, Scalar())}, assuming=[turns_round, lambda Ws: at_most(Ws[1], 0)])
def what_a_hypothesis_turned_round(Ws):
    return at_most(Ws[1], 0)


@trick("writes", SURVIVED, PROVED, over=x, sizes=D)
def a_conclusion_that_writes(x):
    x -= x
    return equal(x, 0)


# ---- a side that does not exist -------------------------------------------------------------------


@trick("defined", *ANY, over=s)
def a_number_over_itself(x):
    return equal(x / x, 1)


@trick("defined", REFUTED, PROVED, SURVIVED, over=s)
def squares_first(x):
    return every(more_than(square(x) + 1, 0), at_most(x / x, 1))


@trick("defined", REFUTED, PROVED, over=s)
def positive_and_over_itself(x):
    return every(more_than(square(x), 0), at_most(x / x, 1))


@trick("defined", PROVED, SURVIVED, over=s)
def a_root_of_any_number(x):
    return every(at_least(square(x), 0), at_least(sqrt(x), 0))


@trick("defined", PROVED, REFUTED, SURVIVED, over=x, sizes=D)
def a_logarithm_of_negatives(x):
    return equal(log(-1 - square(x)), 5)


@trick("defined", PROVED, REFUTED, SURVIVED, over={"A": Causal("n")}, sizes=TWOS)
def an_entropy_with_zeros(A):
    return at_least(total_entry(-A * log(A)), 0)


def tiny(t):
    return at_most(t, exact(1, 10**5))


@trick("defined", REFUTED, SURVIVED, PROVED, over=t, assuming=[tiny])
def a_root_that_does_not_exist(t):
    return at_least(sqrt(1 - exp(power(t, 9))), 1)


@trick("defined", REFUTED, SURVIVED, PROVED, over=s)
def overflow(x):
    return at_least(exp(exp(exp(exp(square(x) + 10)))), 0)


@trick("defined", REFUTED, SURVIVED, PROVED, over=x, sizes=D)
def divided_by_a_difference(x):
    return equal(1 / (x - x), 1 / (x - x))


@trick("defined", PROVED, SURVIVED, over=x, sizes=TWO)
def normalised_vectors(x):
    return equal(total(square(x / sqrt(total(square(x))))), 1)


@trick("defined", PROVED, SURVIVED, over={"M": Matrix(2, 2)})
def an_inverse_of_any_matrix(M):
    a, b, c, d = M[..., :1, :1], M[..., :1, 1:], M[..., 1:, :1], M[..., 1:, 1:]
    return equal((a * d - b * c) / (a * d - b * c), 1)


@trick("defined", PROVED, over={"x": Positive()})
def a_negative_power(x):
    return at_most(x**-1, 1)


@trick("defined", PROVED, SURVIVED, over=s)
def a_negative_power_of_any(x):
    return equal(x**-1 * x, 1)


@trick("defined", SURVIVED, PROVED, over=x, sizes=TWO)
def layer_norm_of_any_vector(x):
    return equal(total(layer_norm(x)), 0)


@trick("defined", SURVIVED, PROVED, over={"A": Matrix("n", "n")}, sizes=TWOS)
def a_coefficient_of_any_matrix(A):
    return at_most(dobrushin(A), 1)


@trick("defined", SURVIVED, PROVED, over=s)
def cancelled_factors(x):
    return equal((square(x) - 1) / (x - 1), x + 1)


@trick("defined", REFUTED, over=x, sizes=D)
def a_guarded_quotient(x):
    return equal(where(x == 0, 1, x / x), 1)


@trick("defined", REFUTED, over=x, sizes=D)
def a_guarded_root(x):
    return equal(where(x < 0, 0, square(sqrt(relu(x)))), relu(x))


@trick("defined", REFUTED, over={"p": Simplex("n")}, sizes=N)
def a_guarded_entropy(p):
    return at_least(total(where(p == 0, 0, -p * log(p))), 0)


# ---- looks like, and is -----------------------------------------------------------------------------


@trick("looks", SURVIVED, PROVED, over={"A": RowStochastic(2)})
def no_zero_weights(A):
    return equal(where(A == 0, 0 * A + 1, 0), 0)


@trick("looks", SURVIVED, PROVED, over=x, sizes=D)
def safe_normalisation(x):
    size = total(square(x))
    return equal(size / where(size == 0, 1, size), 1)


@trick("looks", PROVED, over={"x": Vector("d"), "y": Vector("d")}, sizes=D)
def two_tokens_apart(x, y):
    size = total(square(x + exact(1, 7) - y))
    return equal(size / where(size == 0, 1, size), 1)


@trick("looks", SURVIVED, PROVED, over={"x": Vector("d"), "y": Vector("d")}, sizes=D)
def never_the_same(x, y):
    return equal(where(x == y, 1 + 0 * x, 0), 0)


@trick("looks", REFUTED, over=s)
def the_same_in_two_forms(x):
    return equal(where(square(x + 1) == square(x) + 2 * x + 1, 1 + 0 * x, 0), 1)


@trick("looks", SURVIVED, PROVED, over=s)
def a_root_of_a_square(x):
    return equal(sqrt(square(x)), x)


@trick("looks", SURVIVED, PROVED, over={"x": Scalar(), "y": Scalar()})
def a_root_of_a_product(x, y):
    return equal(sqrt(square(x * y)), x * y)


@trick("looks", SURVIVED, PROVED, over={"A": RowStochastic("n")}, sizes={"n": range(2, 3)})
def an_entry_that_is_not_one(A):
    return less_than(largest_entry(A), 1)


@trick("looks", SURVIVED, PROVED, over={"P": Permutation(3)})
def every_permutation_is_even(P):
    return equal(determinant(P), 1)


@trick("looks", SURVIVED, PROVED, over={"k": Whole(0, 4)})
def a_polynomial_at_four_points(k):
    return equal(k * (k - 1) * (k - 2) * (k - 3), 0)


# ---- domains are their sets -------------------------------------------------------------------------


@trick("domain", SURVIVED, PROVED, over={"M": Invertible("d")}, sizes=D)
def determinants_above_one(M):
    return at_least(absolute(determinant(M)), 1)


@trick("domain", SURVIVED, PROVED, over={"M": Invertible(1)})
def invertible_numbers_above_one(M):
    return at_least(M, 1)


@trick("domain", SURVIVED, PROVED, over={"M": Invertible("d")}, sizes=D)
def determinants_above_zero(M):
    return more_than(determinant(M), 0)


@trick("domain", SURVIVED, PROVED, over={"M": Invertible(2)})
def a_corner_that_is_never_zero(M):
    return more_than(square(M[..., :1, :1]), 0)


@trick("domain", SURVIVED, PROVED, over={"one": Whole(1, 1), "norm": Norm(1)})
def the_first_axis_is_long(one, norm):
    return at_least(row_norms(one, norm), 1)


@trick("domain", SURVIVED, PROVED, over={"Q": Orthogonal(2)})
def rotations_only(Q):
    return equal(determinant(Q), 1)


@trick("domain", SURVIVED, PROVED, over={"Q": Orthogonal(2)})
def reflections_only(Q):
    return equal(determinant(Q), -1)


@trick("domain", SURVIVED, PROVED, over={"Q": Orthogonal(3)})
def rotations_of_space_only(Q):
    return equal(determinant(Q), 1)


@trick("domain", SURVIVED, PROVED, over={"Q": Orthogonal(1)})
def orthogonal_numbers(Q):
    return equal(Q, 1)


@trick("domain", SURVIVED, PROVED, over={"x": Positive()})
def positive_above_one(x):
    return at_least(x, 1)


@trick("domain", SURVIVED, PROVED, over={"G": PositiveSemidefinite("d")}, sizes=TWO)
def definite(G):
    return more_than(determinant(G), 0)


@trick("domain", SURVIVED, PROVED, over={"A": Symmetric("d")}, sizes=TWO)
def semidefinite(A):
    return at_least(determinant(A), 0)


@trick("domain", SURVIVED, PROVED, over={"P": Projection(2)})
def projections_are_symmetric(P):
    return equal(P, P.mT)


@trick("domain", SURVIVED, PROVED, over={"A": DoublyStochastic(3)})
def mixtures_are_positive(A):
    return more_than(A, 0)


@trick("domain", SURVIVED, PROVED, over={"A": Causal("n")}, sizes=TWOS)
def the_diagonal_is_positive(A):
    return more_than(A[..., -1:, -1:], 0)


@trick("domain", SURVIVED, PROVED, over={"x": NonZero(1, "d")}, sizes=TWO)
def no_entry_is_zero(x):
    return more_than(amin(absolute(x)), 0)


@trick("domain", SURVIVED, PROVED, over={"x": NonNegative(1, "d")}, sizes=D)
def nonnegative_is_positive(x):
    return more_than(x, 0)


@trick("domain", REFUTED, over={"x": NonConstant("d")}, sizes=TWO)
def not_constant(x):
    return more_than(total(square(centre(x))), 0)


@trick("domain", REFUTED, over={"pair": InvertiblePair("d")}, sizes=D)
def inverses(pair):
    M, inverse = pair
    return equal(total_entry(M @ inverse), M.shape[-1])


@trick("domain", SURVIVED, PROVED, over={"x": Scalar(exact(1, 3), exact(2, 3))})
def an_end_that_is_no_float(x):
    return less_than(x, exact(2, 3))


@trick("domain", SURVIVED, PROVED, over={"k": Whole(-3, 10**9)})
def the_far_end_of_whole_numbers(k):
    return less_than(k, 10**9)


@trick("domain", SURVIVED, PROVED, over={"x": Scalar(0, 1)})
def inside_the_interval(x):
    return less_than(x * (1 - x), exact(1, 4))


# ---- what could not be decided is not held ------------------------------------------------------------


def sums_to_one(z):
    return equal(total(softmax(z)), 1)


@trick("undecided", SURVIVED, PROVED, over={"z": Scores("n")}, sizes=TWOS, assuming=[sums_to_one])
def under_a_true_hypothesis(z):
    return at_most(dobrushin(softmax(z)), exact(1, 2))


def roots_multiply(x):
    return equal(sqrt(2 + square(x)) * sqrt(3 + square(x)), sqrt((2 + square(x)) * (3 + square(x))))


@trick("undecided", SURVIVED, PROVED, over=s, assuming=[roots_multiply])
def under_roots_that_multiply(x):
    return at_most(square(x), 5)


def angles(x):
    return equal(square(sin(x)) + square(cos(x)), 1)


@trick("undecided", SURVIVED, PROVED, over=s, assuming=[angles])
def under_pythagoras(x):
    return at_least(x, -3)


@trick("undecided", SURVIVED, PROVED, over=x, sizes=TWO)
def below_what_balls_can_tell(x):
    return at_most(exp(total(x)), exp(total(x)) - exact(1, 10**1100))


@trick("undecided", REFUTED, over=x, sizes=TWO)
def a_tie_of_irrational_sides(x):
    return at_most(sqrt(2 + total(square(x))) * sqrt(3 + 0 * total(x)), sqrt(3 * (2 + total(square(x)))))


@trick("undecided", SURVIVED, PROVED, over=s)
def a_strict_tie(x):
    return less_than(sqrt(2 + square(x)) * sqrt(2 + square(x)), 2 + square(x))


# ---- a claim that answers differently when it is asked again ---------------------------------------------

_calls = itertools.count()
_coins = random.Random(7)
_seen = []


@trick("flaky", REFUTED, SURVIVED, PROVED, over=x, sizes=D)
def counts_its_calls(x):
    return at_most(0 * total(x) + (next(_calls) % 7 == 0), 0)


@trick("flaky", REFUTED, SURVIVED, PROVED, over=x, sizes=D)
def throws_a_coin(x):
    return at_most(0 * total(x) + _coins.randint(0, 3), 2)


@trick("flaky", REFUTED, SURVIVED, PROVED, over=x, sizes=D)
def adds_up_over_calls(x):
    _seen.append(1)
    return at_most(0 * total(x) + len(_seen), 10)


@trick("flaky", REFUTED, SURVIVED, PROVED, over=x, sizes=D)
def alternates(x):
    return equal(0 * total(x) + next(_calls) % 2, 0)


_first = {}


@trick("flaky", REFUTED, over=x, sizes={"d": range(1, 2)})
def remembers_the_first_of_its_kind(x):
    return equal(_first.setdefault((str(x.dtype), x.shape), x), x)


_times = itertools.count()


@trick("flaky", REFUTED, SURVIVED, over=x, sizes=D)  # a prover reads it once or twice, when it still holds
def fails_from_some_call_on(x):
    return at_most(0 * total(x) + (next(_times) > 40), 0)


def flips(x):
    return at_most(0 * total(x) + next(_calls) % 2, 0)


@trick("flaky", REFUTED, PROVED, over=x, sizes=D, assuming=[flips])
def under_a_hypothesis_that_flips(x):
    return at_most(total(square(x)), -1)


# ---- mistakes: one broken claim ------------------------------------------------------------------------------


@trick("broken", *ANY, over=x, sizes=D)
def has_no_attribute(x):
    return at_most(x.nothing, 1)


@trick("broken", *ANY, over=x, sizes=D)
def raises_system_exit(x):
    raise SystemExit(0)


@trick("broken", *ANY, over=x, sizes=D)
def raises_a_generator_exit(x):
    raise GeneratorExit


@trick("broken", *ANY, over=x, sizes=D)
def recurses(x):
    return _again(x)


def _again(x):
    return _again(x + 1)


class _Unsayable(Exception):
    def __str__(self):
        raise ValueError


@trick("broken", *ANY, over=x, sizes=D)
def raises_what_cannot_be_worded(x):
    raise _Unsayable


@trick("broken", *ANY, over=x, sizes=D)
def asserts(x):
    raise AssertionError("not so")


@trick("broken", *ANY, over=X, sizes=TWO | N)
def shapes_that_do_not_fit(X):
    return at_most(X, np.zeros((7, 11)))


@trick("broken", *ANY, over=X, sizes={"n": range(2, 4), "d": range(5, 6)})
def a_product_that_does_not_fit(X):
    return at_most(total_entry(X @ X), 0)


@trick("broken", *ANY, over=x, sizes=D)
def an_index_out_of_range(x):
    return at_most(x[..., 40], 1)


@trick("broken", *ANY, over=x, sizes=D)
def nothing_to_compare(x):
    return at_most(x[..., :0], 1)


@trick("broken", *ANY, over=x, sizes=D)
def text_as_a_side(x):
    return at_most(x, "large")


@trick("broken", *ANY, over=x, sizes=D)
def none_as_a_side(x):
    return at_most(None, x)


@trick("broken", *ANY, over=x, sizes=D)
def a_condition_of_numbers(x):
    return at_most(where(x, x, 0), 1)


# ---- what a tolerance would hide, and what it would make up -----------------------------------------------------


@trick("tolerance", SURVIVED, PROVED, over=x, sizes=D)
def a_violation_of_one_in_a_septillion(x):
    return at_most(square(x) + 1 + exact(1, 2**80), square(x) + 1)


@trick("tolerance", SURVIVED, PROVED, over=x, sizes=D)
def an_equality_that_is_none(x):
    return equal(x + exact(1, 10**40), x)


@trick("tolerance", SURVIVED, PROVED, over=s)
def an_equality_of_exponentials_that_is_none(x):
    return equal(exp(-square(x)) + exact(1, 10**90), exp(-square(x)))


@trick("tolerance", SURVIVED, PROVED, over={"x": Scalar(0, 1)})
def strictly_below_its_largest_value(x):
    return less_than(x, 1)


@trick("tolerance", SURVIVED, PROVED, over={"A": RowStochastic("n")}, sizes=TWOS)
def strictly_below_one(A):
    return less_than(dobrushin(A), 1)


@trick("tolerance", REFUTED, over={"A": RowStochastic("n"), "X": Matrix("n", "d")}, sizes={**TWOS, **D})
def a_true_bound_with_rounding(A, X):
    return at_most(diameter(A @ X), dobrushin(A) * diameter(X))


@trick("tolerance", REFUTED, over=x, sizes=D)
def a_sum_in_another_order(x):
    return equal(total(x), total(x[..., ::-1]))


@trick("tolerance", REFUTED, over=x, sizes={"d": range(3, 4)})
def association(x):
    a, b, c = x[..., :1], x[..., 1:2], x[..., 2:]
    return equal((a + b) + c, a + (b + c))


@trick("tolerance", REFUTED, over=X, sizes=SMALL)
def centred_sums_vanish(X):
    return equal(total(X - mean(X)), 0)


@trick("tolerance", REFUTED, over=x, sizes=D)
def a_square_is_no_less_than_zero_after_cancelling(x):
    return at_least(square(x + 1) - 2 * x - 1, 0)


@trick("tolerance", REFUTED, over=s)
def a_large_number_and_one(x):
    return more_than((x + 10**17 + 1) - (x + 10**17), 0)


@trick("tolerance", REFUTED, over={"S": Scores("n")}, sizes=TWOS)
def softmax_is_below_one(S):
    return at_most(largest_entry(softmax(S)), 1)


@trick("tolerance", REFUTED, over=x, sizes=TWO)
def sorting_keeps_the_sum(x):
    return equal(total(descending(x)), total(x))


@trick("tolerance", REFUTED, over=x, sizes=TWO)
def the_larger_of_two(x):
    return at_least(maximum(x, -x), amax(x) * 0)


@trick("tolerance", REFUTED, over=s)
def a_fraction_of_pythons(x):
    return equal(x * exact(Fraction(1, 3)) * 3, x)


@trick("tolerance", REFUTED, over=s)
def a_bounded_function(x):
    return less_than(tanh(x), exact("1." + "0" * 300 + "1"))


# ---- relations of relations: what one part says is not what the whole says ----------------------

TWICE = {"x": Scalar(), "y": Scalar()}


@trick("compound", REFUTED, over=TWICE)
def one_of_two_orders(x, y):
    """True, and each alternative alone is false."""
    return either(at_most(x, y), at_most(y, x))


@trick("compound", SURVIVED, PROVED, over=x, sizes=TWO)
def one_of_two_orders_of_vectors(x):
    """False: neither x <= 0 nor x >= 0, where signs are mixed."""
    return either(at_most(x, 0), at_least(x, 0))


@trick("compound", REFUTED, over=s)
def a_quotient_behind_its_premise(x):
    """True: where x = 0 it says nothing, and needs no value."""
    return implies(differ(x, 0), more_than(1 / square(x), 0))


@trick("compound", SURVIVED, PROVED, over=s)
def a_quotient_before_its_premise(x):
    """False (x = 1), and without a value at 0 where the premise holds."""
    return implies(at_least(x, 0), at_least(1 / x, 2))


@trick("compound", SURVIVED, PROVED, REFUTED, over=s)
def an_alternative_without_a_value(x):
    """Without a value at 0, whatever the other alternative says."""
    return either(at_most(x, 0), more_than(1 / x, 0))


def _above(x):
    return implies(differ(x, 0), at_least(1 / x, 1))


@trick("compound", SURVIVED, PROVED, over=s, assuming=[_above])
def a_hypothesis_that_holds_without_a_value(x):
    """False at 0, where the hypothesis is met and its quotient has no value."""
    return differ(x, 0)


@trick("compound", REFUTED, over=s)
def a_premise_that_ties(x):
    """True, as sqrt(2) sqrt(3) = sqrt(6): no precision tells that the premise fails, and the conclusion is false."""
    root = sqrt(square(x) + 2) * sqrt(3 + 0 * x)
    return implies(less_than(root, sqrt(3 * square(x) + 6)), at_most(square(x) + 1, 0))


@trick("compound", SURVIVED, PROVED, over={"x": Vector("d"), "y": Vector("d")}, sizes=TWO)
def the_negation_of_an_order_is_no_order(x, y):
    """False: of two vectors that do not compare, neither lies above the other in every entry."""
    return implies(negation(at_most(x, y)), more_than(x, y))


@trick("compound", REFUTED, over={"x": Vector("d"), "y": Vector("d")}, sizes=TWO)
def vectors_that_are_not_equal_differ_somewhere(x, y):
    """True; in every entry they need not differ."""
    return either(equal(x, y), differ(x, y))


@trick("compound", SURVIVED, PROVED, over=TWICE)
def squares_compare_as_their_roots(x, y):
    """False: x = -1, y = 0."""
    return iff(at_most(square(x), square(y)), at_most(x, y))


@trick("compound", REFUTED, over=x, sizes=D)
def some_entry_is_at_most_the_mean(x):
    """True, and the mean of equal entries is a tie in each."""
    return in_some_entry(at_most(x, mean(x)))


@trick("compound", SURVIVED, PROVED, over={"x": Scalar(0, 1)})
def within_a_quarter_but_for_one_point(x):
    """False at 1/2 alone."""
    return either(
        within(square(x), x, exact("0.2499999999999999")), at_most(x, exact("0.4")), at_least(x, exact("0.6"))
    )


# ---- there is, and for all ----------------------------------------------------------------------


@trick("quantified", REFUTED, over=x, sizes=D)
def some_order_is_the_descending_one(x):
    """True, and false of every single order."""
    return exists(Permutation("d"), lambda P: equal(x @ P, descending(x)))


@trick("quantified", SURVIVED, PROVED, over=x, sizes=TWO)
def some_signs_balance(x):
    """False for nearly all x, and true for the simplest ones."""
    return exists(Whole(0, 1, 1, "d"), lambda s: equal(total(x * (2 * s - 1)), 0))


@trick("quantified", SURVIVED, PROVED, REFUTED, over=s)
def a_root_that_is_no_witness(x):
    """True (sqrt(x^2 + 2)), but the witness given is not one: nothing is known."""
    return exists(Scalar(), lambda y: equal(square(y), square(x) + 2), witnesses=[x])


@trick("quantified", SURVIVED, PROVED, REFUTED, over=s)
def a_witness_outside_of_its_domain(x):
    """False, as y = -1 - x^2 is below 0: what meets the relation is no member."""
    return exists(Positive(), lambda y: equal(y, -1 - square(x)), witnesses=[-1 - square(x)])


@trick("quantified", SURVIVED, PROVED, over=s)
def that_there_is_none(x):
    """False: y = x + 1."""
    return negation(exists(Scalar(), lambda y: more_than(y, x), witnesses=[x - 1, x + 1]))


@trick("quantified", SURVIVED, PROVED, over=x, sizes=TWO)
def every_order_is_the_same(x):
    """False unless all entries are equal."""
    return for_all(Permutation("d"), lambda P: equal(x @ P, x))
