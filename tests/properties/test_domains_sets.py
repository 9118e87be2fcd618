"""Each domain is its set: what is built lies in it exactly, at every size that it accepts, and all of it is reached."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from resstream import domains
from resstream.arithmetic import FLOAT64, RATIONAL, Ball, absolute, exact
from resstream.claim import Claim, at_least, at_most, equal, more_than
from resstream.domains import Domain, Part, Size, entries, is_all, size_of
from resstream.domains.trial import require_its_set
from resstream.errors import ClaimError, DomainError, Undecided
from resstream.falsify import corners, engines
from resstream.falsify.run import falsify
from resstream.reference import row_norms


def halved(matrix):
    return matrix / 2


n, d, k, L = "n", "d", "k", "L"
SETS: list[Domain] = [
    domains.Matrix(n, d),
    domains.Vector(d),
    domains.Scores(n),
    domains.NonNegative(n, d),
    domains.Positive(n, d),
    domains.Positive(),
    domains.NonZero(n, d),
    domains.NonConstant(d),
    domains.NonConstant(d, n),
    domains.Symmetric(d),
    domains.PositiveSemidefinite(d),
    domains.SymmetricWithSpectrum((4, exact(1, 2), exact(1, 2))),
    domains.LowRank(n, d, k),
    domains.RankOne(n, d),
    domains.BlockDiagonal(d, k),
    domains.Alibi(n),
    domains.NearbyPair(n, d),
    domains.NearbyPair(n, d, exact(1, 10)),
    domains.Pair(domains.RowStochastic(n, d)),
    domains.Pair(domains.Product(domains.Norm(d), domains.Tokens(n, d), domains.Scalar(0, 3))),
    domains.RowStochastic(n, d),
    domains.Simplex(d),
    domains.PositiveRows(n, d),
    domains.EqualRows(n, d),
    domains.Causal(n),
    domains.Banded(n, k),
    domains.SlidingWindow(n, k),
    domains.BlockStochastic(n, k),
    domains.Mask(n, d),
    domains.CausalMask(n),
    domains.BandedMask(n, k),
    domains.SlidingWindowMask(n, k),
    domains.BlockMask(n, k),
    domains.Permutation(n),
    domains.DoublyStochastic(n),
    domains.SymmetricDoublyStochastic(n),
    domains.Orthogonal(d),
    domains.Orthogonal(d, 1),
    domains.Sphere(d, n),
    domains.Ball(d, n),
    domains.Invertible(d),
    domains.InvertiblePair(d),
    domains.Projection(d),
    domains.Norm(d),
    domains.Norm(d, ("l1",), bases=False),
    domains.Scalar(),
    domains.Scalar(exact(1, 3), 5),
    domains.Scalar(None, -7),
    domains.Scalar(1000),
    domains.Ordered(k, 0, exact(7, 2)),
    domains.Whole(-3, 9, n, d),
    domains.Integers(),
    domains.Subset(n),
    domains.Subset(n, 1),
    domains.Count(n),
    domains.Tokens(n, d),
    domains.Stack(L, domains.Norm(d)),
    domains.Product(domains.Causal(n), domains.Norm(d), domains.Scalar(0)),
    domains.Given([[1, 0]], [[0, exact(1, 3)]], [[-2, 5]]),
    domains.Given((np.eye(2), [[1], [2]]), ([[0, 1], [1, 0]], [[exact(1, 3)], [0]])),
    domains.Transformed(
        domains.RowStochastic(n), halved, member=lambda x: domains.RowStochastic(n).contains(2 * x, {n: len(x)})
    ),
    domains.AttentionOnly(L, 2, d, 2, n),
    domains.Heads(L, d, 2),
    domains.SharedHeads(2, d, n, groups=1),
    domains.SharedHeads(4, d, n, 1, groups=2),
    domains.ReluLayer(d, n),
]


def trivial():
    return at_most(0, 1)


def claim_over(domain: Domain, most: int = 4) -> Claim:
    names = domain.size_names()
    return Claim("trial", {"x": domain}, trivial, sizes={name: range(1, most + 1) for name in names})


def written(domain: Domain) -> str:
    return str(domain)


def raws(claim: Claim, rng: np.random.Generator, count: int):
    """Instances of every shape of a claim, drawn, at corners, and of zeros."""
    for sizes, options in corners.shapes(claim):
        parts = claim.parts(sizes, options)
        drawn = {name: part.draw(rng, count) for name, part in parts.items()}
        zeros = {name: part.settle(np.zeros((1, *part.shape))) for name, part in parts.items()}
        batches = (drawn, corners.sample(parts, rng, count), zeros)
        for arrays in batches:
            size = next((len(values) for values in arrays.values()), 1)
            for index in range(size):
                yield sizes, options, {name: values[index] for name, values in arrays.items()}


def built(domain: Domain, sizes, options, arrays, system=RATIONAL) -> Any:
    return domain.build({name[2:]: system.array(values) for name, values in arrays.items()}, own(options), sizes)


def own(options):
    return {name[2:]: value for name, value in options.items()}


@pytest.mark.parametrize("domain", SETS, ids=written)
def test_what_is_built_lies_in_the_set_exactly_at_every_size(domain):
    claim, seen = claim_over(domain), 0
    for sizes, options, arrays in raws(claim, np.random.default_rng(0), 3):
        assert domain.contains(built(domain, sizes, options, arrays), sizes), (sizes, options, arrays)
        seen += 1
    assert seen >= len(corners.shapes(claim))


OUTSIDE: dict[str, Callable[[dict[str, int]], Any]] = {
    "Matrix": lambda s: np.ones((s[n], s[d] + 1)),
    "NonNegative": lambda s: -np.ones((s[n], s[d])),
    "Positive": lambda s: np.zeros((s.get(n, 1), s.get(d, 1))),
    "NonZero": lambda s: np.zeros((s[n], s[d])),
    "NonConstant": lambda s: np.full((s.get(n, 1), s[d]), 0.1),
    "Symmetric": lambda s: np.arange(s[d] ** 2).reshape(s[d], s[d]) * 1.0,
    "PositiveSemidefinite": lambda s: np.ones((s[d], s[d])) - 2 * np.eye(s[d]),
    "SymmetricWithSpectrum": lambda _: np.diag([4.0, 0.5, 0.25]),
    "LowRank": lambda s: np.vander(1.0 + np.arange(3), 3)[: s[n], : s[d]],
    "BlockDiagonal": lambda s: np.ones((s[d], s[d])),
    "Alibi": lambda s: np.abs(np.subtract.outer(np.arange(s[n]), np.arange(s[n]))) * 1.0,
    "NearbyPair": lambda s: (np.zeros((s[n], s[d])), np.full((s[n], s[d]), np.nan)),
    "Pair": lambda s: (np.eye(s[n], s[d]), np.full((s[n], s[d]), 0.1)),
    "RowStochastic": lambda s: np.full((s.get(n, 1), s[d]), 0.1),  # ten times the float 0.1 is not 1
    "PositiveRows": lambda s: np.eye(s[n], s[d]),
    "EqualRows": lambda s: np.eye(3)[[0, *range(s[n] - 1)]][:, : s[d]],
    "Causal": lambda s: np.eye(s[n])[::-1],
    "Banded": lambda s: np.full((s[n], s[n]), fmpq(1, s[n])),
    "SlidingWindow": lambda s: np.eye(s[n])[::-1],
    "BlockStochastic": lambda s: np.full((s[n], s[n]), fmpq(1, s[n])),
    "Mask": lambda s: np.zeros((s[n], s[d]), dtype=bool),
    "CausalMask": lambda s: np.ones((s[n], s[n]), dtype=bool),
    "BandedMask": lambda s: np.ones((s[n], s[n]), dtype=bool),
    "SlidingWindowMask": lambda s: np.ones((s[n], s[n]), dtype=bool),
    "BlockMask": lambda s: np.ones((s[n], s[n]), dtype=bool),
    "Permutation": lambda s: np.full((s[n], s[n]), fmpq(1, s[n])),
    "DoublyStochastic": lambda s: np.eye(s[n])[[0] * s[n]],
    "SymmetricDoublyStochastic": lambda s: np.roll(np.eye(s[n]), 1, axis=0),
    "Orthogonal": lambda s: 0.6 * np.eye(s[d])[:, :1],
    "Sphere": lambda s: np.full((s[n], s[d]), 0.5**0.5),
    "Ball": lambda s: np.ones((s[n], s[d])) + 2.0**-40,
    "Invertible": lambda s: np.ones((s[d], s[d])),
    "InvertiblePair": lambda s: (np.eye(s[d]), 2 * np.eye(s[d])),
    "Projection": lambda s: 0.5 * np.eye(s[d]),
    "Norm": lambda _: "l2",
    "Scalar": lambda _: np.array([["x"]]),
    "Ordered": lambda s: tuple(np.array([[3.0 - i]]) for i in range(s[k])),
    "Whole": lambda s: np.full((s.get(n, 1), s.get(d, 1)), 0.5),
    "Subset": lambda s: np.full((1, s[n]), 2),
    "Count": lambda s: s[n] + 1,
    "Tokens": lambda s: np.ones((s[n], s[d])),
    "Stack": lambda _: [],
    "Product": lambda s: (np.eye(s[n]), "l1", np.array([[1.0]])),
    "Given": lambda _: np.array([[1.0, 1.0]]),
    "Transformed": lambda s: np.eye(s[n]),
    "AttentionOnly": lambda _: None,
    "Heads": lambda s: [None] * s[L],
    "SharedHeads": lambda _: [],
    "ReluLayer": lambda s: np.eye(s[d]),
}
LARGE = {n: 3, d: 3, k: 2, L: 2}


@pytest.mark.parametrize("domain", SETS, ids=written)
def test_membership_can_fail(domain):
    narrow = (domains.Banded, domains.BandedMask, domains.SlidingWindow, domains.LowRank)
    sizes = {**LARGE, k: 1} if isinstance(domain, narrow) else LARGE
    assert not domain.contains(OUTSIDE[type(domain).__name__](sizes), sizes)


def test_every_public_domain_is_tried():
    public = {getattr(domains, name) for name in domains.__all__}
    classes = {value for value in public if isinstance(value, type) and issubclass(value, Domain)} - {Domain}
    assert {type(domain) for domain in SETS} == classes
    assert set(OUTSIDE) == {value.__name__ for value in classes}


def test_membership_of_enclosures_is_three_valued():
    system = Ball(64)
    with system.working():
        third = system.array(np.full((1, 3), fmpq(1, 3), dtype=object))
        with pytest.raises(Undecided):
            domains.Simplex(3).contains(third, {})
        assert not domains.Simplex(3).contains(2 * third, {})
        assert domains.NonNegative(1, 3).contains(third, {})


# ---- all of it is reached ---------------------------------------------------

det = np.linalg.det


def smallest_eigenvalue(x):
    return np.linalg.eigvalsh(x).min()


REACHED = [
    ("a rotation", domains.Orthogonal(d), lambda x: len(x) == 2 and det(x) > 0 and abs(x[0, 1]) > 0.1),
    ("a reflection", domains.Orthogonal(d), lambda x: len(x) == 2 and det(x) < 0),
    ("a rotation of three", domains.Orthogonal(d), lambda x: len(x) == 3 and det(x) > 0 and abs(x[0, 1]) > 0.1),
    ("a reflection of three", domains.Orthogonal(d), lambda x: len(x) == 3 and det(x) < 0 and abs(x[0, 1]) > 0.1),
    ("minus one", domains.Orthogonal(d), lambda x: np.array_equal(x, [[-1]])),
    ("both ends of a line", domains.Sphere(d), lambda x: np.array_equal(x, [[-1]])),
    ("far from the first axis", domains.Sphere(d), lambda x: x.shape[1] == 4 and x[0, 0] < -0.5),
    ("inside a ball", domains.Ball(d), lambda x: 0 < np.sum(x * x) < 0.5),
    ("on the sphere", domains.Ball(3), lambda x: abs(np.sum(x * x) - 1) < 1e-12 and abs(x[0, 1]) > 0.1),
    ("the centre", domains.Ball(d), lambda x: np.all(x == 0)),
    ("a determinant below 0", domains.Invertible(d), lambda x: len(x) == 2 and det(x) < 0),
    ("a determinant near 0", domains.Invertible(d), lambda x: len(x) == 2 and 0 < abs(det(x)) < 1e-3),
    ("a 1 x 1 matrix below 1", domains.Invertible(d), lambda x: len(x) == 1 and 0 < x[0, 0] < 1),
    ("a corner of zero", domains.Invertible(3), lambda x: x[0, 0] == 0 and x[0, 1] != 0 and x[1, 1] != 0),
    ("zeros on the diagonal", domains.Invertible(d), lambda x: len(x) == 3 and np.all(np.diagonal(x) == 0)),
    ("no zero", domains.Invertible(d), lambda x: len(x) == 3 and np.all(x != 0)),
    ("a short first axis", domains.Norm(d), lambda x: row_norms(np.eye(4)[:1, : width(x)], x)[0, 0] < 0.5),
    ("a long first axis", domains.Norm(d), lambda x: row_norms(np.eye(4)[:1, : width(x)], x)[0, 0] > 20),
    ("rank 1 of 3", domains.PositiveSemidefinite(d), lambda x: len(x) == 3 and np.linalg.matrix_rank(x) == 1),
    ("definite", domains.PositiveSemidefinite(d), lambda x: len(x) == 3 and smallest_eigenvalue(x) > 0.05),
    ("zero", domains.PositiveSemidefinite(d), lambda x: len(x) == 3 and np.all(x == 0)),
    ("no square of a rational", domains.PositiveSemidefinite(d), lambda x: x.shape == (1, 1) and x[0, 0] == 2),
    ("indefinite", domains.Symmetric(d), lambda x: len(x) == 2 and det(x) < 0),
    ("below 1", domains.Positive(n, d), lambda x: np.all(x < 1)),
    ("far above 1", domains.Positive(n, d), lambda x: np.all(x > 100)),
    ("nonnegative zeros", domains.NonNegative(n, d), lambda x: np.all(x == 0)),
    ("zero weights", domains.RowStochastic(n), lambda x: len(x) == 3 and np.sum(x == 0) == 5),
    ("equal rows", domains.RowStochastic(n), lambda x: len(x) == 3 and np.all(x == x[:1]) and np.all(x > 0)),
    ("distinct rows", domains.RowStochastic(n), lambda x: len(np.unique(x, axis=0)) == 4),
    ("a mixture", domains.DoublyStochastic(n), lambda x: len(x) == 3 and np.all((x > 0) & (x < 1))),
    ("an extreme point", domains.DoublyStochastic(n), lambda x: len(x) == 3 and np.all((x == 0) | (x == 1))),
    ("a symmetric permutation", domains.SymmetricDoublyStochastic(n), lambda x: np.array_equal(x, [[0, 1], [1, 0]])),
    ("rank 0", domains.LowRank(n, d, k), lambda x: np.all(x == 0)),
    ("full rank", domains.LowRank(3, 3, 3), lambda x: np.linalg.matrix_rank(x) == 3),
    ("the low end", domains.Scalar(exact(1, 2), 3), lambda x: x[0, 0] == 0.5),
    ("the high end", domains.Scalar(exact(1, 2), 3), lambda x: x[0, 0] == 3),
    ("between the ends", domains.Scalar(exact(1, 2), 3), lambda x: 1.5 < x[0, 0] < 2),
    ("near the low end", domains.Scalar(1000, 1001), lambda x: 1000 < x[0, 0] < 1000.001),
    ("in the middle", domains.Scalar(1000, 1001), lambda x: 1000.3 < x[0, 0] < 1000.7),
    ("a whole number within", domains.Scalar(0, 10), lambda x: x[0, 0] == 3),
    ("beyond the only end", domains.Scalar(1000), lambda x: 1001 < x[0, 0] < 1010),
    ("equal numbers", domains.Ordered(3, 0, 9), lambda x: x[0] == x[1] == x[2] and 0 < x[0][0, 0] < 9),
    ("distinct numbers", domains.Ordered(3, 0, 9), lambda x: x[0] < x[1] < x[2]),
    ("a small whole number", domains.Integers(), lambda x: x[0, 0] == -2),
    ("a large whole number", domains.Integers(), lambda x: abs(x[0, 0]) > 1e12),
    ("nothing", domains.Subset(n), lambda x: x.shape[1] == 4 and not x.any()),
    ("everything", domains.Subset(n), lambda x: x.shape[1] == 4 and x.all()),
    ("the last ones", domains.Subset(4, 2), lambda x: np.array_equal(x, [[0, 0, 1, 1]])),
    ("equal matrices", domains.NearbyPair(n, d), lambda x: x[0].size > 1 and np.array_equal(*x)),
    ("matrices near each other", domains.NearbyPair(n, d), lambda x: 0 < np.abs(x[0] - x[1]).max() < 1e-3),
    (
        "distributions near each other",
        domains.Pair(domains.RowStochastic(n, d)),
        lambda x: 0 < np.abs(x[0] - x[1]).max() < 1e-3,
    ),
    ("equal distributions", domains.Pair(domains.RowStochastic(n, d)), lambda x: x[0].size > 1 and np.array_equal(*x)),
    ("at the distance allowed", domains.NearbyPair(1, 1, 1), lambda x: x[1][0, 0] - x[0][0, 0] == 1),
    ("each of a table", domains.Given(2, 3, 5), lambda x: x[0, 0] == 5),
    ("a mask of one place", domains.Mask(3), lambda x: x.sum() == 3),
    ("no axes", domains.SymmetricWithSpectrum((2, 0)), lambda x: np.array_equal(x, np.ones((2, 2)))),
    (
        "heads of one key",
        domains.SharedHeads(2, 2, 1),
        lambda x: np.all(x[0].W_K == x[1].W_K) and np.all(x[0].W_Q != x[1].W_Q),
    ),
    ("a band that is full", domains.Banded(3, 1), lambda x: np.sum(x == 0) == 2),
]


def width(norm) -> int:
    return 4 if norm.basis is None else norm.basis.shape[-1]


@pytest.mark.parametrize(("what", "domain", "reached"), REACHED, ids=[what for what, *_ in REACHED])
def test_all_of_the_set_is_reached(what, domain, reached):
    """Within 60 batches of the engines' draws, where a search makes hundreds."""
    claim, rng = claim_over(domain), np.random.default_rng(0)
    shapes = corners.shapes(claim)
    for number in range(60):
        batches = [
            engines.random_batch(claim, rng, 64),
            corners.corner_batch(claim, shapes[number % len(shapes)], rng, 64),
        ]
        for batch in batches:
            for raw in batch.instances():
                value = built(domain, raw.sizes, raw.options, raw.arrays, FLOAT64)
                if bool(np.all(reached(value))):
                    return
    pytest.fail(f"{what}: never met by {domain}")


def determinant(x):
    if x.shape[-1] == 1:
        return x
    minors = (np.delete(x[..., 1:, :], j, -1) for j in range(x.shape[-1]))
    return sum((-1) ** j * x[..., :1, j : j + 1] * determinant(minor) for j, minor in enumerate(minors))


FALSE = {
    "det M >= 1": ({"M": domains.Invertible(d)}, lambda M: at_least(determinant(M), 1)),
    "|det M| >= 1": ({"M": domains.Invertible(3)}, lambda M: at_least(absolute(determinant(M)), 1)),
    "every 1 x 1 invertible matrix is >= 1": ({"M": domains.Invertible(1)}, lambda M: at_least(M, 1)),
    "e1 has length >= 1 in every norm": (
        {"norm": domains.Norm(2), "x": domains.Given([1, 0])},
        lambda norm, x: at_least(row_norms(x, norm), 1),
    ),
    "det Q = 1": ({"Q": domains.Orthogonal(d)}, lambda Q: equal(determinant(Q), 1)),
    "det Q = -1": ({"Q": domains.Orthogonal(3)}, lambda Q: equal(determinant(Q), -1)),
    "no pivot is 0": ({"M": domains.Invertible(3)}, lambda M: more_than(absolute(M[..., :1, :1]), 0)),
    "away from the middle": ({"x": domains.Scalar(5, 7)}, lambda x: at_least(absolute(x - 6), exact(1, 100))),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_of_a_part_of_the_set_alone_is_refuted(name):
    over, conclusion = FALSE[name]
    sizes = {size: range(1, 4) for domain in over.values() for size in domain.size_names()}
    assert falsify(Claim("trial", over, conclusion, sizes=sizes), 40_000).status == "refuted"


def fractions(rng, *shape):
    values = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        values[index] = fmpq(int(rng.integers(-4, 5)), int(rng.integers(1, 5)))
    return values


def plu(matrix):
    """Raw arrays of an invertible matrix, by elimination with any pivot that is not zero."""
    size = len(matrix)
    rows, left, lower = list(range(size)), matrix.copy(), np.full((size, size), fmpq(0), dtype=object)
    for column in range(size):
        pivot = next(row for row in range(column, size) if left[row, column] != 0)
        for array in (left, lower):
            array[[column, pivot]] = array[[pivot, column]]
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(column + 1, size):
            lower[row, column] = left[row, column] / left[column, column]
            left[row] = left[row] - lower[row, column] * left[column]
    upper = left.copy()
    for row in range(size):
        upper[row] = upper[row] / left[row, row]
        upper[row, row] = left[row, row]
    # Columns of U are scaled by the diagonal, so its entries are over that of their column.
    for row in range(size):
        for column in range(row + 1, size):
            upper[row, column] = left[row, column] / left[column, column]
    order = np.empty((1, size), dtype=object)
    for place, row in enumerate(rows):  # row `row` of the matrix is row `place` of L U
        order[0, place] = fmpq(row)
    return {"lower": lower, "upper": upper, "order": order}


def test_every_invertible_matrix_has_raw_arrays():
    rng, seen = np.random.default_rng(0), 0
    for _ in range(60):
        size = int(rng.integers(1, 5))
        matrix = fractions(rng, size, size) * rng.integers(0, 2, (size, size))
        if not domains.Invertible(size).contains(matrix, {}):
            continue
        raw = {name: RATIONAL.array(values) for name, values in plu(matrix).items()}
        assert np.all(domains.Invertible(size).build(raw, {}, {}) == RATIONAL.array(matrix))
        seen += 1
    assert seen > 20


def test_every_point_of_the_ball_is_itself_and_every_unit_vector_a_reflection():
    rng = np.random.default_rng(0)
    for _ in range(40):
        v = RATIONAL.array(fractions(rng, 1, 3))
        inside = v / (1 + np.sum(v * v))
        raw = {"vectors": inside, "edge": RATIONAL.array([[0]])}
        assert np.all(domains.Ball(3).build(raw, {}, {}) == inside)
        unit = domains.Sphere(3).build({"": v}, {}, {})
        first = RATIONAL.array(np.eye(1, 3))
        assert np.all(domains.Sphere(3).build({"": unit - first}, {}, {}) == unit)


def test_every_semidefinite_matrix_is_reached_as_a_rational():
    rng = np.random.default_rng(0)
    for _ in range(30):
        lower, pivots = fractions(rng, 3, 3), np.abs(rng.integers(-2, 3, (1, 3)))
        matrix = domains.PositiveSemidefinite(3).build(
            {"lower": RATIONAL.array(lower), "pivots": RATIONAL.array(pivots)}, {}, {}
        )
        assert np.all(matrix == matrix.mT)
        assert smallest_eigenvalue(FLOAT64.array([[entry.value for entry in row] for row in matrix])) > -1e-9


# ---- sizes and arguments ----------------------------------------------------


def test_sizes_at_which_a_set_is_empty_are_left_out_and_said():
    claim = Claim("trial", {"x": domains.NonConstant("d")}, trivial)
    assert claim.size_ranges() == {"d": range(2, 7)}
    assert claim.notes == ("d = 1 is left out: NonConstant(d) has no members there (a row of width 1 is constant)",)
    assert Claim("trial", {"x": domains.Vector("d")}, trivial).notes == ()
    with pytest.raises(ClaimError, match=r"NonConstant\(d\) has no members at any of its sizes"):
        claim.replace(sizes={"d": range(1, 2)})


def test_two_sizes_that_leave_a_set_empty_are_refused():
    with pytest.raises(ClaimError, match=r"Orthogonal\(d, columns=k\) has no members at d = 1, k = 2 \(no 2 columns"):
        Claim("trial", {"Q": domains.Orthogonal("d", "k")}, trivial)
    sizes = {"d": range(3, 5), "k": range(1, 4)}
    assert Claim("trial", {"Q": domains.Orthogonal("d", "k")}, trivial, sizes=sizes).size_ranges() == sizes


def test_rotary_positions_leave_even_widths():
    claim = Claim("trial", {"m": domains.AttentionOnly(1, 1, 2, "h", 2)}, trivial, sizes={"h": range(2, 7)})
    assert list(claim.size_ranges()["h"]) == [2, 4, 6]
    assert len(claim.notes) == 2


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: domains.Whole(5, 2), "Whole: low, high: expected the smaller end first, got 5 and 2"),
    (lambda: domains.Scalar(5, 2), "Scalar: low, high: expected the smaller end first, got 5 and 2"),
    (lambda: domains.Scalar(0.1), r"Scalar: low: .*got 0.1: write exact\('0.1'\)"),
    (lambda: domains.Scalar(None, "a"), "Scalar: high: expected a whole number or a fraction, got 'a'"),
    (
        lambda: domains.Matrix(-1, 2),
        "Matrix: rows: expected a name such as 'n' or a whole number of at least 1, got -1",
    ),
    (lambda: domains.Orthogonal(2, 3), r"Orthogonal\(2, columns=3\) has no members: no 3 columns of height 2"),
    (lambda: domains.Causal(0), "Causal: rows: .*got 0"),
    (lambda: domains.Causal(True), "Causal: rows: .*got True"),
    (lambda: domains.Causal(""), "Causal: rows: .*got ''"),
    (lambda: domains.Causal("n d"), "Causal: rows: .*got 'n d'"),
    (lambda: domains.Causal("for"), "Causal: rows: .*got 'for'"),
    (lambda: domains.Causal(2.0), "Causal: rows: .*got 2.0"),
    (lambda: domains.Norm("d", kinds=()), r"Norm: kinds: .*got \(\)"),
    (lambda: domains.Norm("d", kinds=5), "Norm: kinds: .*got 5"),
    (lambda: domains.Norm("d", kinds="l1"), "Norm: kinds: .*got 'l1'"),
    (lambda: domains.Norm("d", kinds=("l3",)), "Norm: kinds: expected a tuple of some of l1, l2, linf"),
    (lambda: domains.Norm("d", bases=1), "Norm: bases: expected True or False, got 1"),
    (lambda: domains.Whole(0, 10**20), "Whole: high: expected a whole number from -2.53 to 2.53"),
    (lambda: domains.Whole(0, 2.5), "Whole: high: expected a whole number"),
    (lambda: domains.NonConstant(1), "NonConstant.1. has no members: a row of width 1 is constant"),
    (lambda: domains.Stack("L", "Causal"), "Stack: inner: expected a domain such as Matrix.*the text 'Causal'"),
    (lambda: domains.Stack("L", domains.Causal), "Stack: inner: .*the class Causal: call it with its sizes"),
    (lambda: domains.Stack(-1, domains.Causal(2)), "Stack: length: .*at least 0, got -1"),
    (lambda: domains.Product(), "Product: factors: expected at least one domain"),
    (lambda: domains.Product(domains.Causal("n"), 3), "Product: factor 1: expected a domain"),
    (lambda: domains.Given(), "Given: expected at least one number or matrix"),
    (lambda: domains.Given([[1, 2], [3]]), "Given: member 0: expected a number, or rows of equal length"),
    (lambda: domains.Given(1, [1, 2]), "Given: expected members of one shape"),
    (lambda: domains.Given((np.eye(2), np.eye(2)), (np.eye(2), np.eye(3))), "Given: expected members of one shape"),
    (lambda: domains.Given((np.eye(2),), np.eye(2)), "Given: expected members of one shape"),
    (lambda: domains.Given(float("nan")), "Given: member 0: expected a finite number"),
    (lambda: domains.Given(None), "Given: member 0: expected a real number, got NoneType"),
    (lambda: domains.Transformed(domains.Causal("n"), 5), "Transformed: function: expected a function, got 5"),
    (lambda: domains.Subset(2, 3), "2 things have no subset of 3"),
    (lambda: domains.SharedHeads(3, 2, 2, groups=2), "3 heads do not make 2 groups of equal size"),
    (lambda: domains.Ordered(1), "one number has no order"),
    (lambda: domains.NearbyPair("n", "d", 0), "NearbyPair: within: expected a number above 0 or None, got 0"),
    (lambda: domains.SymmetricWithSpectrum(()), r"SymmetricWithSpectrum: spectrum: expected numbers"),
    (lambda: domains.SymmetricWithSpectrum((1, 0.5)), "spectrum: .*write exact"),
    (lambda: domains.AttentionOnly(1, 1, 2, 3, 2), "rotary positions need an even head width, not 3"),
    (lambda: domains.AttentionOnly(1, 1, 2, 2, 2, base=0), "AttentionOnly: base: expected a whole number"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_arguments_are_refused_by_name(make, message):
    with pytest.raises(DomainError, match=message):
        make()


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"x": "Matrix(n, d)"}, r"over\['x'\]: expected a domain .*the text 'Matrix\(n, d\)': write it without quotes"),
        ({"x": domains.Matrix}, r"over\['x'\]: .*the class Matrix: call it with its sizes, Matrix\(...\)"),
        ({"x": 5}, r"over\['x'\]: expected a domain .*got int 5"),
    ],
)
def test_what_is_no_domain_is_refused_when_the_claim_is_made(over, message):
    with pytest.raises(ClaimError, match=message):
        Claim("trial", over, trivial)


@pytest.mark.parametrize("sizes", [{"n": 3}, {"n": [1, 2]}, {"n": range(-1, 3)}, {"n": range(0)}])
def test_what_is_no_range_of_sizes_is_refused(sizes):
    with pytest.raises(ClaimError, match="size n has the range"):
        Claim("trial", {"A": domains.RowStochastic("n")}, trivial, sizes=sizes)


def test_sizes_in_the_thousands_are_refused_only_where_an_instance_is_too_large():
    with pytest.raises(ClaimError, match="raw numbers at the largest sizes, expected at most 4,000,000"):
        Claim("trial", {"A": domains.RowStochastic("n")}, trivial, sizes={"n": range(1000, 5001)})
    claim = Claim("trial", {"x": domains.Vector("d")}, trivial, sizes={"d": range(3000, 5000)})
    assert engines.random_batch(claim, np.random.default_rng(0), 8192).count < 8192
    assert corners.corner_batch(claim, corners.shapes(claim)[0], np.random.default_rng(0), 4).count == 4


def test_corners_of_large_sizes_do_not_overflow():
    claim = Claim("trial", {"A": domains.RowStochastic(40), "X": domains.Matrix(40, 20)}, trivial)
    assert corners.enumerable(claim.parts({}, {}), 2048) is None


def test_a_scan_of_whole_numbers_starts_near_zero_and_meets_every_value():
    claim = Claim("trial", {"k": domains.Whole(-10, 30), "m": domains.Whole(0, 2)}, trivial)
    blocks = corners.scan_blocks(claim, 16, 100)
    rng = np.random.default_rng(0)
    seen = [corners.scan_batch(claim, rng, number, 16).arrays["k"].ravel() for number in range(blocks)]
    assert blocks == 3
    assert seen[0][0] == 0
    assert sorted(np.concatenate(seen)) == list(range(-10, 31))
    far = Claim("trial", {"k": domains.Integers()}, trivial)
    assert corners.scan_batch(far, rng, 1, 16).arrays["k"].ravel().tolist() == list(range(16, 32))


# ---- domains of a user ------------------------------------------------------


@dataclass(frozen=True)
class Halves(Domain):
    """Rows of halves: a user's domain, right or wrong."""

    size: Size
    fault: str = ""

    def parts(self, sizes, _options):
        return {"": Part((1, size_of(self.size, sizes)), "whole", 0, 1)}

    def build(self, raw, _options, _sizes):
        if self.fault == "raises":
            return raw[""].no_such_thing
        if self.fault == "batch":
            return raw[""] / 2 if raw[""].ndim == 2 else raw[""]
        if self.fault == "axes":
            return raw[""][..., 0, :] / 2
        return raw[""] / (3 if self.fault == "outside" else 2)

    def contains(self, value, sizes):
        if self.fault in ("silent", "batch", "axes"):
            raise NotImplementedError
        x = entries(value, (1, size_of(self.size, sizes)))
        return x is not None and is_all((x == 0) | (2 * x == 1))


def small(x):
    return at_most(x, exact(1, 2))


def test_a_domain_of_a_user_is_checked_when_it_is_first_used():
    def status(domain, over="x"):
        return falsify(Claim("trial", {over: domain}, small), 2000)

    for fault in ("", "silent"):
        assert status(Halves("d", fault)).status == "survived"
    outside = status(Halves("d", "outside"))
    assert outside.status == "error"
    assert re.search(r"is not its set: raw = .* builds .*1/3.*, which it does not contain", outside.tally.error)
    assert "no_such_thing" in status(Halves("d", "raises")).tally.error
    assert "of a batch something else" in status(Halves("d", "batch")).tally.error
    assert "expected two axes" in status(Halves("d", "axes")).tally.error
    inside = Claim("trial", {"x": domains.Stack(2, Halves("d", "outside"))}, lambda x: small(x[0]))
    assert "is not its set" in falsify(inside, 2000).tally.error


def test_the_trial_of_a_domain_passes_every_domain_of_ours():
    """So what it refuses in a user's domain is not its own fault."""
    for domain in SETS:
        require_its_set(domain, claim_over(domain).size_ranges())
