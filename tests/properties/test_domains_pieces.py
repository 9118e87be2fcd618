"""What stands for all of a set in proofs, and the raw arrays that a model goes back to."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import sympy as sp

from resstream.arithmetic import RATIONAL
from resstream.arithmetic.unknowns import SymbolicUnknowns
from resstream.domains import DoublyStochastic, Invertible, Orthogonal, pieces
from resstream.domains.pieces import (
    Piece,
    birkhoff,
    constants,
    fractions,
    raw_values,
    reflected,
    reflections,
    triangular,
    weights,
    with_inverse,
)
from resstream.errors import DomainError, NotExpressible

from .conftest import values


class Solving(SymbolicUnknowns):
    """Unknowns of what solves equations."""

    solves = True


def exactly(rows):
    """Exact numbers as a model has them."""
    return np.vectorize(Fraction, otypes=[object])(np.array(rows, dtype=object))


def read(raw):
    return {name: RATIONAL.array(numbers) for name, numbers in raw.items()}


def are(found, wanted):
    return [sp.simplify(one - other) for one, other in zip(found, wanted, strict=True)] == [0] * len(found)


def test_raw_arrays_are_had_from_values():
    x = np.array([[1.0]])
    assert raw_values(Piece(None, {"a": x, "b": 2 * x}), lambda entries: entries + 1)["b"].tolist() == [[3]]
    assert raw_values(Piece(None, lambda value: {"c": value(x)}), lambda entries: entries + 1)["c"].tolist() == [[2]]
    with pytest.raises(DomainError, match="a piece without raw arrays has no instances"):
        raw_values(Piece(None), lambda entries: entries)


def test_whole_numbers_as_entries_and_as_raw_numbers():
    found = constants([[True, False, 3]], SymbolicUnknowns())
    assert (found.shape, values(found)) == ((1, 3), [1, 0, 3])
    raw = fractions([[1, 0], [2, -1]])
    assert (raw.tolist(), {type(entry) for entry in raw.flat}) == ([[1, 0], [2, -1]], {Fraction})


# ---- weights ----------------------------------------------------------------

ALLOWED = np.array([[True, True, False, True], [False, True, False, False]])


@pytest.mark.parametrize(("positive", "kind", "fact"), [(False, ">=", "is_nonnegative"), (True, ">", "is_positive")])
def test_the_last_weight_of_a_row_is_what_is_left(positive, kind, fact):
    piece = weights(unknowns := SymbolicUnknowns(), ALLOWED, positive)
    a, b = values(piece.object[0, :2])
    assert getattr(a, fact)
    assert getattr(b, fact)
    assert not a.is_positive or positive
    assert values(piece.object) == [a, b, 0, 1 - a - b, 0, 1, 0, 0]
    assert unknowns.known == [(1 - a - b, kind), (1, kind)]
    assert piece.raw[""] is piece.object


@pytest.mark.parametrize("positive", [False, True])
def test_weights_are_solved_for_by_their_sums(positive):
    piece = weights(unknowns := Solving(), ALLOWED, positive)
    a, b, c, d = (values(piece.object)[k] for k in (0, 1, 3, 5))
    assert values(piece.object) == [a, b, 0, c, 0, d, 0, 0]
    assert len({a, b, c, d}) == 4
    assert [value.is_positive for value in (a, c, d)] == [positive or None] * 3
    assert [kind for _, kind in unknowns.known] == ["==", "=="]
    assert are([known for known, _ in unknowns.known], [a + b + c - 1, d - 1])


def test_weights_may_be_zero_unless_they_are_to_be_positive():
    piece = weights(unknowns := SymbolicUnknowns(), ALLOWED[:1])
    assert [value.is_positive for value in values(piece.object[0, :2])] == [None, None]
    assert [kind for _, kind in unknowns.known] == [">="]


def test_a_row_without_places_has_no_weights():
    with pytest.raises(NotExpressible, match="without columns, which is empty"):
        weights(SymbolicUnknowns(), np.array([[True, False], [False, False]]))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_doubly_stochastic_matrix_is_mixed_of_permutations(n):
    domain, sizes = DoublyStochastic("n"), {"n": n}
    parts = domain.parts(sizes, {})
    rng, compared = np.random.default_rng(0), 0
    orders = list(permutations(range(n)))
    for _ in range(6):
        shares = [Fraction(int(share)) for share in rng.integers(0, 4, len(orders))]
        shares[0] += 1
        matrix = exactly(np.zeros((n, n), dtype=int))
        for share, order in zip(shares, orders, strict=True):
            for row, column in enumerate(order):
                matrix[row, column] += share / sum(shares)
        before = matrix.copy()
        raw = birkhoff(matrix, parts)
        assert {name: x.shape for name, x in raw.items()} == {name: part.shape for name, part in parts.items()}
        assert (matrix == before).all()
        assert raw["weights"].sum() == 1
        assert all(sorted(row) == list(range(n)) for row in raw["orders"].tolist())
        assert (domain.build(read(raw), {}, sizes) == RATIONAL.array(matrix)).all()
        compared += 1
    assert compared == 6
    identity = birkhoff(exactly(np.eye(n, dtype=int)), parts)
    assert identity["weights"].tolist() == [[1] + [0] * (parts["weights"].shape[1] - 1)]
    assert (identity["orders"] == np.arange(n)).all()


# ---- reflections ------------------------------------------------------------


def test_rows_are_reflected_in_unknown_vectors():
    start = constants([[1, 2], [0, 1]], SymbolicUnknowns())
    assert reflected(unknowns := SymbolicUnknowns(), start, 0) is start
    assert unknowns.known == []
    once = reflected(unknowns := SymbolicUnknowns(), start, 1)
    x, y = sp.symbols("x0 x1", real=True)
    assert unknowns.known == [(x * x + y * y, ">")]
    mirror = sp.eye(2) - 2 * sp.Matrix([x, y]) * sp.Matrix([[x, y]]) / (x * x + y * y)
    assert are(values(once), sp.Matrix([[1, 2], [0, 1]]) * mirror)
    assert reflected(SymbolicUnknowns(), constants([[1, 0, 0]], SymbolicUnknowns()), 1).shape == (1, 3)
    u, v = sp.symbols("x2 x3", real=True)
    twice = reflected(unknowns := SymbolicUnknowns(), start, 2)
    other = sp.eye(2) - 2 * sp.Matrix([u, v]) * sp.Matrix([[u, v]]) / (u * u + v * v)
    assert are(values(twice), sp.Matrix([[1, 2], [0, 1]]) * mirror * other)
    assert [kind for _, kind in unknowns.known] == [">", ">"]


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
        [["2/3", "-1/3", "2/3"], ["2/3", "2/3", "-1/3"], ["-1/3", "2/3", "2/3"]],
        [["3/5", "4/5", 0], ["4/5", "-3/5", 0], [0, 0, -1]],
    ],
)
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_an_orthogonal_matrix_is_a_product_of_the_reflections_that_it_is_taken_apart_to(rows, columns):
    matrix = exactly(rows)[:, :columns]
    before = matrix.copy()
    vectors = reflections(matrix)
    assert vectors.shape == (3, 3)
    assert {type(entry) for entry in vectors.flat} == {Fraction}
    assert not vectors[columns:].any()
    assert (matrix == before).all()
    raw = read({"vectors": vectors, "flip": fractions([[0]])})
    assert (Orthogonal(3, columns).build(raw, {}, {}) == RATIONAL.array(matrix)).all()
    if rows[0] == [1, 0, 0]:
        assert not vectors.any()


# ---- inverses ---------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_unknown_matrix_has_its_inverse_by_minors(d):
    matrix, inverse = with_inverse(unknowns := SymbolicUnknowns(), d)
    assert matrix.shape == inverse.shape == (d, d)
    M = sp.Matrix(d, d, values(matrix))
    ((known, kind),) = unknowns.known
    assert (sp.expand(known - M.det(method="berkowitz")), kind) == (0, "!=")
    adjugate = [sp.expand(sp.cancel(value * known)) for value in values(inverse)]
    assert [sp.expand(x - y) for x, y in zip(adjugate, M.adjugate(), strict=True)] == [0] * d * d


def test_an_inverse_is_solved_for_from_both_sides():
    matrix, inverse = with_inverse(unknowns := Solving(), 2)
    M, N = sp.Matrix(2, 2, values(matrix)), sp.Matrix(2, 2, values(inverse))
    assert len({*M, *N}) == 8
    assert [kind for _, kind in unknowns.known] == ["=="] * 8
    assert are([known for known, _ in unknowns.known], [*(M * N - sp.eye(2)), *(N * M - sp.eye(2))])
    one, inverse = with_inverse(unknowns := Solving(), 1)
    assert values(one * inverse) == [1]
    assert unknowns.known == [(one.item().value, "!=")]


def test_determinants_are_written_out_up_to_four_rows():
    four = SymbolicUnknowns().real((4, 4))
    found = pieces._determinant(four).value
    numbers = dict(zip(values(four), (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3), strict=True))
    assert found.subs(numbers) == sp.Matrix(4, 4, list(numbers.values())).det() == 98
    assert pieces._determinant(four[:0, :0]) == 1
    with pytest.raises(NotExpressible, match="a determinant of 5 rows"):
        with_inverse(SymbolicUnknowns(), 5)


@pytest.mark.parametrize(
    "rows",
    [
        [[3]],
        [[0, 1], [2, 0]],
        [[4, "-3/2"], [8, "-7/2"]],
        [[0, 0, 4], [1, 0, 0], [0, 2, 0]],
        [[0, 2, 1], [0, 4, 5], [3, 1, 1]],
        [[1, 2, 3], [4, 5, 6], [7, 8, 10]],
        [[1, 2, 3], [1, 2, 4], [2, 5, "1/3"]],
    ],
)
def test_an_invertible_matrix_is_built_of_the_triangles_that_it_is_taken_apart_to(rows):
    matrix = exactly(rows)
    before, d = matrix.copy(), len(rows)
    raw = triangular(matrix)
    assert {name: x.shape for name, x in raw.items()} == {"lower": (d, d), "upper": (d, d), "order": (1, d)}
    assert (matrix == before).all()
    assert (Invertible(d).build(read(raw), {}, {}) == RATIONAL.array(matrix)).all()
    assert sorted(raw["order"][0]) == list(range(d))
    assert not np.triu(raw["lower"]).any()
    assert not np.tril(raw["upper"], -1).any()


@pytest.mark.parametrize("rows", [[[0]], [[1, 2], [2, 4]], [[1, 0, 0], [0, 0, 0], [0, 0, 1]]])
def test_a_matrix_without_an_inverse_has_no_triangles(rows):
    with pytest.raises(DomainError, match="a matrix without an inverse has no raw arrays"):
        triangular(exactly(rows))
