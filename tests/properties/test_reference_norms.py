"""Norms: float64 against balls and NumPy, and the rigorous spectral norm where it is hard."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

import numpy as np
import pytest
from flint import arb, arb_mat
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from resstream.arithmetic import FLOAT64, RATIONAL, SYMBOLIC, Array, Ball, derivative, exact, sqrt, to_float, total
from resstream.arithmetic.obligations import noting
from resstream.arithmetic.terms import Terms
from resstream.errors import ClaimError, DomainError, NotExact, NotExpressible, ShapeError, Undecided
from resstream.reference import (
    L1,
    L2,
    LINF,
    Lp,
    Norm,
    frobenius_norm,
    largest_row_norm,
    norms,
    operator_norm,
    row_norms,
    spectral_norm,
)

BALL = Ball(160)
EPS = float(np.finfo(np.float64).eps)
KINDS = pytest.mark.parametrize("norm", [L1, L2, LINF], ids=str)
ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}

# Dyadic numbers, and all sizes whose squares floats can hold.
ENTRIES = st.integers(-40, 40).map(lambda k: k / 8) | st.floats(2.0**-20, 2.0**20) | st.floats(-(2.0**20), -(2.0**-20))


def matrices(rows: int, columns: int, *batch: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (*batch, rows, columns), elements=ENTRIES, fill=st.nothing())


def svd_bound(W: Array) -> float:
    """8 max(rows, columns) units in the last place of the largest singular value: a backward stable SVD's order."""
    return 8 * max(W.shape[-2:]) * EPS * float(np.linalg.norm(W))


# ---- vectors ----------------------------------------------------------------


@KINDS
@given(X=matrices(3, 5, 2))
def test_row_norms_are_rounding_away_from_the_ball(norm: Norm, X: Array, assert_rounding_only: Callable) -> None:
    assert_rounding_only(lambda x: row_norms(x, norm), X)
    assert_rounding_only(lambda x: largest_row_norm(x, norm), X)


@KINDS
@given(X=matrices(3, 5, 2))
def test_row_norms_agree_with_numpy(norm: Norm, X: Array) -> None:
    expected = np.linalg.norm(X, ORDERS[norm.kind], axis=-1, keepdims=True)
    # Two sums of 5 nonnegative terms: some 7 roundings of half a unit each, on either side.
    np.testing.assert_allclose(row_norms(X, norm), expected, rtol=7 * EPS, atol=0)


@KINDS
def test_a_change_of_basis_is_the_norm_of_the_coordinates(norm: Norm) -> None:
    X, basis = RATIONAL.array([[3, 0], [0, 4]]), RATIONAL.array([[1, 0], [1, 1]])
    changed = Norm(norm.kind, basis, RATIONAL.array([[1, 0], [-1, 1]]))
    expected = {"l1": [[3], [8]], "l2": [[3], [0]], "linf": [[3], [4]]}[norm.kind]
    if norm is L2:
        with pytest.raises(NotExact, match="square root of 32"):
            row_norms(X, changed)
        X, expected = X[:1], expected[:1]
    assert (row_norms(X, changed) == RATIONAL.array(expected)).all()
    assert (row_norms(X, changed) == row_norms(X @ basis, norm)).all()


def test_the_root_of_the_largest_is_exact_more_often() -> None:
    X = RATIONAL.array([[1, 1], [3, 4]])
    assert largest_row_norm(X).item() == 5
    with pytest.raises(NotExact):
        row_norms(X)


# ---- operator norms ---------------------------------------------------------


@KINDS
@given(W=matrices(5, 5, 2), x=matrices(1, 5))
def test_the_operator_norm_bounds_every_image(norm: Norm, W: Array, x: Array) -> None:
    with BALL.working():
        for matrix in W:
            image, size = row_norms(BALL.array(x) @ BALL.array(matrix), norm), row_norms(BALL.array(x), norm)
            assert not (image > operator_norm(BALL.array(matrix), norm) * size).any()


@KINDS
@given(W=matrices(5, 7))
def test_the_operator_norm_is_reached(norm: Norm, W: Array) -> None:
    # l1: a unit vector; linf: the signs of a column; l2: the first left singular vector. Rows are multiplied from the
    # left, hence l1 is NumPy's linf norm of the matrix and the other way round.
    if norm.kind == "l1":
        best = np.eye(5)
    elif norm.kind == "linf":
        best = np.where(W.T < 0, -1.0, 1.0)
    else:
        best = np.linalg.svd(W)[0].T
    reached = (row_norms(best @ W, norm) / row_norms(best, norm)).max()
    allowed = 2 * svd_bound(W)
    assert abs(reached - operator_norm(W, norm).item()) <= allowed
    flipped = {"l1": np.inf, "l2": 2, "linf": 1}[norm.kind]
    assert abs(np.linalg.norm(W, flipped) - operator_norm(W, norm).item()) <= allowed


def test_operator_norms_of_one_matrix_differ() -> None:
    W = RATIONAL.array([[3, 4], [0, 0]])
    assert [operator_norm(W, norm).item() for norm in (L1, L2, LINF)] == [7, 5, 4]


@KINDS
def test_after_a_change_of_basis_the_operator_is_conjugated(norm: Norm, assert_same_balls: Callable) -> None:
    raw = [[2, 1, 0], [0, 1, 0], [1, 0, 3]]
    inverse = [["1/2", "-1/2", 0], [0, 1, 0], ["-1/6", "1/6", "1/3"]]
    with BALL.working():
        B, W = BALL.array(raw), BALL.array([[1, -2, 5], [0, 3, 1], [4, 1, 1]])
        changed = Norm(norm.kind, B, BALL.array([[str(entry) for entry in row] for row in inverse]))
        assert_same_balls(operator_norm(W, changed), operator_norm(changed.inverse @ W @ B, norm))
        x = BALL.array([[1, -1, 2]])
        assert (row_norms(x @ W, changed) <= operator_norm(W, changed) * row_norms(x, changed)).all()


# ---- the spectral norm ------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (5, 1), (2, 3), (3, 3), (3, 7), (7, 3), (5, 5)])
@given(data=st.data())
def test_the_spectral_norm_of_floats_lies_by_the_ball(
    rows: int, columns: int, data: st.DataObject, assert_within: Callable
) -> None:
    W = data.draw(matrices(rows, columns, 2))
    together = spectral_norm(W)
    for matrix, value in zip(W, together, strict=True):
        with BALL.working():
            judged = spectral_norm(BALL.array(matrix))
        assert judged.item().value.rad() <= arb(2) ** -150 * judged.item().value
        assert_within(value, judged, svd_bound(matrix))
        assert_within(spectral_norm(matrix), judged, svd_bound(matrix))
        assert_within(np.linalg.svd(matrix, compute_uv=False)[:1, None], judged, svd_bound(matrix))


@given(W=matrices(3, 5))
def test_the_enclosure_is_the_largest_root_of_the_characteristic_polynomial(W: Array) -> None:
    # Independent of how it is found: the determinant of (s^2 I - W W') changes sign across the enclosure, and none of
    # its values beyond it is anything but positive.
    with Ball(512).working():
        enclosure, entries = spectral_norm(Ball(160).array(W)).item().value, Ball(512).array(W)
        G = np.frompyfunc(lambda entry: entry.value, 1, 1)(entries @ entries.mT)
        if not enclosure > 0:
            assert not W.any()
            return
        above = _determinant(_shifted(G, enclosure.upper() * (1 + arb(2) ** -100)))
        assert above > 0
        trace, bound = np.sum(G * G), enclosure.upper() ** 4
        assert trace < 3 * bound * (1 + arb(2) ** -100)
        assert not trace < enclosure.lower() ** 4 * (1 - arb(2) ** -100)


def _shifted(G: Array, s: arb) -> Array:
    return s * s * np.eye(3, dtype=int).astype(object) - G


def _determinant(M: Array) -> arb:
    (a, b, c), (d, e, f), (g, h, i) = M
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def _rotation(size: int) -> list[list[str]]:
    """A rational orthogonal matrix without zeros in its first rows: a product of two reflections I - 2vv'/v'v."""
    first, second = np.arange(1, size + 1), np.arange(size + 2, 2, -1)
    reflect = [RATIONAL.array(np.eye(size, dtype=int)) - 2 * _outer(v) / int(v @ v) for v in (first, second)]
    return reflect[0] @ reflect[1]


def _outer(v: Array) -> Array:
    return RATIONAL.array(np.outer(v, v))


class _GivesUp:
    """FLINT's matrix, where it does not tell the eigenvalues apart."""

    def __init__(self, G: arb_mat) -> None:
        self.G = G

    def eig(self, multiple: bool) -> NoReturn:
        raise ValueError(f"failed to isolate eigenvalues ({multiple=})")


@pytest.mark.parametrize("bits", [64, 128, 512])
@pytest.mark.parametrize("gives_up", [False, True], ids=["by eigenvalues", "by squaring"])
@pytest.mark.parametrize(
    "spectrum",
    [
        [3, 3, 1, 1, 0],
        [2, 2, 2, 2, 2],
        [5, 0, 0, 0, 0],
        [1, 1 - 2**-40, 1, 0, 0],
        [7, 7, 7, 7, 6],
        [2**600, 2**300, 1, 0, 0],
    ],
    ids=["double", "scalar", "rank one", "nearly triple", "quadruple", "far apart"],
)
def test_multiple_singular_values_cost_no_precision(
    spectrum: list[float], bits: int, gives_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if gives_up:
        monkeypatch.setattr("resstream.reference.norms.acb_mat", _GivesUp)
    # U D V' with rational orthogonal factors has exactly this spectrum; as balls its entries are rounded.
    W = _rotation(5) @ RATIONAL.array(np.diag(np.array(spectrum, dtype=object))) @ _rotation(5)[:, ::-1]
    with Ball(bits).working():
        enclosure = spectral_norm(Ball(bits).array(W)).item().value
    assert enclosure.contains(max(spectrum))
    # The entries are known to 2^-bits of their size, at most the norm; 25 of them move the norm by their root sum.
    assert float(enclosure.rad() / arb(max(spectrum))) <= 8 * 2.0**-bits


def test_an_exact_multiple_value_is_enclosed_by_squaring(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whole numbers, so that nothing is rounded: R diag(27, 27, 9) R for R = (1 2 2; 2 1 -2; 2 -2 1) / 3.
    monkeypatch.setattr("resstream.reference.norms.acb_mat", _GivesUp)
    R = np.array([[1, 2, 2], [2, 1, -2], [2, -2, 1]])
    with Ball(192).working():
        enclosure = norms._largest_singular_value(arb_mat((R @ np.diag([3, 3, 1]) @ R).tolist()), 64)
    assert enclosure.contains(27)
    assert float(enclosure.rad()) < 27 * 2.0**-63


def test_values_that_blocks_share_are_found_as_eigenvalues() -> None:
    # To many more digits than squaring is asked for; without more of them than that, squaring has its turn.
    with Ball(320).working():
        block = [[2, 1, 0, 0], [1, 1, 0, 0]]
        shared = norms._largest_singular_value(arb_mat([*block, *(line[2:] + line[:2] for line in block)]), 128)
        apart = norms._largest_singular_value(arb_mat([[2**300, 0], [0, 1]]), 128)
        assert shared.overlaps((3 + arb(5).sqrt()) / 2)
        assert shared.rel_accuracy_bits() > 250
        assert apart.contains(2**300)
        assert apart.rel_accuracy_bits() >= 128


@pytest.mark.parametrize(
    ("matrix", "norm"),
    [
        ([[0, 0, 0], [0, 0, 0]], 0),
        ([[-3]], 3),
        ([[3, 4, 0]], 5),
        ([[3], [4], [12]], 13),
        (np.eye(7), 1),
        (np.eye(5)[[2, 0, 1, 4, 3]], 1),
        (np.diag([2.0, -7.0, 7.0]), 7),
        ([[3, 4], [4, 3]], 7),
        ([[2, 4, 4], [1, 2, 2], [2, 4, 4]], 9),
    ],
    ids=["zero", "1x1", "row", "column", "identity", "permutation", "diagonal", "2x2", "rank one"],
)
def test_exact_cases_are_exact(matrix: Array, norm: int) -> None:
    assert spectral_norm(RATIONAL.array(matrix)).item() == norm
    with BALL.working():
        enclosure = spectral_norm(BALL.array(matrix)).item()
    assert enclosure == norm  # an exact ball
    assert abs(spectral_norm(FLOAT64.array(matrix)).item() - norm) <= 8 * 7 * EPS * norm


def test_an_irrational_spectral_norm_is_not_exact() -> None:
    with pytest.raises(NotExact, match="spectral norm"):
        spectral_norm(RATIONAL.array([[1, 2, 0], [0, 1, 1], [1, 0, 5]]))
    with pytest.raises(NotExact, match="square root of 5"):
        spectral_norm(RATIONAL.array([[1, 2]]))


def norm_of(W: Array) -> arb:
    return spectral_norm(W).item().value


def test_wide_entries_move_the_enclosure_by_their_radius() -> None:
    with BALL.working():
        third = BALL.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]]) / 3
        nothing = third - third
        assert norm_of(nothing).contains(0)
        assert not norm_of(nothing) < 0
        assert 3 * norm_of(third).mid() - norm_of(3 * third).mid() < arb(2) ** -150
        wide = third + BALL.array([[0, 0, 0]] * 3) + BALL.array([arb(0, 1)])
        assert norm_of(wide).contains(norm_of(third + 1).mid())
        assert norm_of(wide).contains(norm_of(third - 1).mid())
        assert norm_of(wide).rad() < 4
        with pytest.raises(Undecided, match="division by a number that may be zero"):
            spectral_norm(BALL.array([[1, 2], [3, 4]]) / nothing[:2, :2])


def test_one_bad_matrix_ends_no_search() -> None:
    W = np.stack([np.eye(3), np.full((3, 3), np.inf), 2 * np.eye(3)])
    with FLOAT64.working():
        values = spectral_norm(W)[:, 0, 0]
    assert values[0] == 1
    assert np.isnan(values[1])
    assert values[2] == 2


@pytest.mark.parametrize("system", [FLOAT64, RATIONAL, BALL], ids=lambda system: system.name)
def test_the_spectral_norm_refuses_derivatives(system: Ball) -> None:
    error, message = (DomainError, "floats have no derivative") if system is FLOAT64 else (NotExpressible, "derivative")
    with system.working(), pytest.raises(error, match=message):
        derivative(spectral_norm, system.array([[1, 2, 0], [0, 1, 1], [2, 0, 1]]), system.array(np.eye(3)))


@given(W=matrices(3, 5, 2))
def test_the_frobenius_norm(W: Array, assert_rounding_only: Callable) -> None:
    assert_rounding_only(frobenius_norm, W)
    expected = np.linalg.norm(W, "fro", axis=(-2, -1), keepdims=True)
    np.testing.assert_allclose(frobenius_norm(W), expected, rtol=15 * EPS, atol=0)  # 15 nonnegative terms
    # The spectral norm lies between the Frobenius norm over the root of the rank and the Frobenius norm.
    assert (spectral_norm(W) <= frobenius_norm(W) * (1 + 100 * EPS)).all()
    assert (spectral_norm(W) * np.sqrt(3) >= frobenius_norm(W) * (1 - 100 * EPS)).all()


# ---- stating a norm ---------------------------------------------------------


def test_a_norm_is_stated_whole() -> None:
    with pytest.raises(DomainError, match="kind: expected one of l1, l2, linf, or such as l3/2, got 'max'"):
        Norm("max")
    with pytest.raises(ShapeError, match="basis, inverse: expected both or neither"):
        Norm("l1", np.eye(2))
    with pytest.raises(ShapeError, match=r"basis: expected as many rows as columns, got shape \(2, 3\)"):
        Norm("l1", np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(ShapeError, match="inverse: expected the size of basis"):
        Norm("l1", np.eye(2), np.eye(3))
    with pytest.raises(ShapeError, match=r"norm.basis: expected 3 rows, as X has columns, got shape \(2, 2\)"):
        row_norms(np.ones((4, 3)), Norm("l2", np.eye(2), np.eye(2)))
    assert str(Norm("l1", np.eye(2), np.eye(2))) == "l1 after a change of basis"


def test_a_batch_of_bases_is_a_batch_of_norms() -> None:
    scales = np.array([1.0, 2.0, 4.0])[:, None, None] * np.eye(5)
    X = np.arange(35.0).reshape(7, 5)
    expected = total(X) * np.array([1.0, 2.0, 4.0])[:, None, None]
    assert (row_norms(X, Norm("l1", scales, np.linalg.inv(scales))) == expected).all()
    with pytest.raises(ShapeError, match=r"leading axes do not broadcast: X .* basis"):
        row_norms(np.ones((2, 7, 5)), Norm("l1", scales, scales))


def test_a_map_between_spaces_with_bases_of_their_own() -> None:
    """y -> y @ (B^-1 W C): W need not be square, and each basis has the size of its side."""
    rng = np.random.default_rng(0)
    W, B, C = rng.standard_normal((2, 3)), np.diag([2.0, 4.0]), np.diag([1.0, 2.0, 8.0])
    first, second = Norm("l2", B, np.linalg.inv(B)), Norm("l2", C, np.linalg.inv(C))
    expected = np.linalg.norm(np.linalg.inv(B) @ W @ C, 2)
    assert abs(operator_norm(W, first, second).item() - expected) <= 16 * EPS * expected
    plain = np.linalg.norm(W @ C, 2)
    assert abs(operator_norm(W, L2, second).item() - plain) <= 16 * EPS * plain
    batch = rng.standard_normal((4, 2, 3))
    assert operator_norm(batch, first, second).shape == (4, 1, 1)
    for norm, norm_out, message in (
        (second, None, "W: expected as many rows as columns"),
        (second, second, r"norm.basis: expected 2 rows"),
        (first, first, r"norm_out.basis: expected 3 rows"),
    ):
        with pytest.raises(ShapeError, match=message):
            operator_norm(W, norm, norm_out)


@pytest.mark.parametrize(
    ("kind", "exponent", "dual"),
    [("l1", 1, "linf"), ("l2", 2, "l2"), ("linf", None, "l1"), ("l3", 3, "l3/2"), ("l5/4", Fraction(5, 4), "l5"),
     ("l100", 100, "l100/99")],
)  # fmt: skip
def test_an_exponent_and_its_dual(kind: str, exponent: Fraction | None, dual: str) -> None:
    norm = Norm(kind)
    assert norm.exponent == exponent
    assert (norm.dual_kind, Norm(dual).dual_kind) == (dual, kind)
    if exponent is not None:
        assert Lp(Fraction(exponent)).kind == kind
        assert Lp(exact(Fraction(exponent).numerator, Fraction(exponent).denominator)).kind == kind


def test_what_is_no_exponent_is_refused() -> None:
    for p in (0, -1, Fraction(99, 100), 101, Fraction(101, 100), Fraction(100, 101)):
        with pytest.raises(DomainError, match=rf"p: expected a fraction of at least 1 with terms up to 100, got {p}"):
            Lp(p)
    for wrong, shown in ((2.0, "2.0"), (True, "True"), ("3", "'3'"), ("x" * 100, "'" + "x" * 39 + "$")):
        with pytest.raises(DomainError, match=f"p: expected a whole number or a fraction, got {shown}"):
            Lp(wrong)  # type: ignore[arg-type]
    for kind in ("l0", "l4/2", "l3/1", "l-2", "L2", "l03", "l3/0", "", "x" * 100):
        with pytest.raises(DomainError, match=f"got '{kind[:40]}'$"):
            Norm(kind)
    for kind in ("l1/2", "l101"):
        with pytest.raises(DomainError, match="p: expected a fraction of at least 1"):
            Norm(kind)
    with pytest.raises(DomainError, match="kind: expected one of l1, l2, linf"):
        Norm(2)  # type: ignore[arg-type]


def test_the_inverse_is_made_once_and_only_for_an_operator_norm() -> None:
    made = []

    def inverse() -> Array:
        made.append(1)
        return np.diag([0.5, 0.25])

    norm = Norm("l1", np.diag([2.0, 4.0]), inverse)
    assert row_norms(np.ones((1, 2)), norm).item() == 6
    assert made == []
    W = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert operator_norm(W, norm).item() == operator_norm(np.diag([0.5, 0.25]) @ W @ np.diag([2.0, 4.0]), L1).item()
    assert np.array_equal(norm.inverse, np.diag([0.5, 0.25]))
    assert made == [1]
    with pytest.raises(AttributeError, match="Norm has no attribute 'outverse'"):
        norm.outverse  # noqa: B018
    for wrong, message in ((np.ones((3, 3)), "inverse: expected the size of basis"), (np.ones((2, 3)), "as columns")):
        with pytest.raises(ShapeError, match=message):
            operator_norm(W, Norm("l1", np.diag([2.0, 4.0]), lambda wrong=wrong: wrong))


SHAPES = pytest.mark.parametrize("shape", [(1, 3), (2, 2), (4, 3), (3, 5)], ids=str)


@SHAPES
@pytest.mark.parametrize(
    "kinds", [("linf", "l1"), ("linf", "l2"), ("linf", "l3"), ("l2", "l1"), ("l3/2", "l1")], ids=str
)
def test_maxima_over_signs_are_reached_and_bound_every_image(shape: tuple[int, int], kinds: tuple[str, str]) -> None:
    """At a corner of the cube; or, towards l1, where the sum of x W with the signs of a corner is largest."""
    norm, norm_out = (Norm(kind) for kind in kinds)
    rng = np.random.default_rng(0)
    batch = rng.standard_normal((7, *shape))
    found = operator_norm(batch, norm, norm_out)
    assert found.shape == (7, 1, 1)
    for W, value in zip(batch, found[:, 0, 0], strict=True):
        corners = np.array(list(itertools.product((1.0, -1.0), repeat=shape[0] if kinds[0] == "linf" else shape[1])))
        if kinds[0] == "linf":
            rows = corners
        else:  # the row of the unit sphere at which a linear function is largest, by Hoelder's equality
            p = float(Fraction(kinds[0][1:]))
            slopes = corners @ W.T
            rows = np.sign(slopes) * np.abs(slopes) ** (1 / (p - 1))
        quotients = row_norms(rows @ W, norm_out) / row_norms(rows, norm)
        assert value == pytest.approx(quotients.max(), rel=1e-12)
        others = rng.standard_normal((50, shape[0]))
        assert (row_norms(others @ W, norm_out) <= value * row_norms(others, norm) * (1 + 1e-12)).all()
        assert operator_norm(W, norm, norm_out).item() == pytest.approx(value, rel=1e-15)


def test_so_many_signs_and_no_more() -> None:
    W = np.ones((13, 12))
    assert operator_norm(W, LINF, L1).item() == operator_norm(W.T, LINF, L1).item() == 13 * 12
    assert operator_norm(W.T, LINF, L2).item() == pytest.approx(12 * 13**0.5, rel=1e-14)
    assert operator_norm(W[None], LINF, L1).item() == operator_norm(W.T[None], LINF, L1).item() == 13 * 12
    for norm, norm_out, rows in ((LINF, L2, W), (L2, L1, W.T), (LINF, L1, np.ones((13, 13)))):
        with pytest.raises(ShapeError, match="W: expected at most 12 rows of signs to go through, got 13"):
            operator_norm(rows, norm, norm_out)
    for norm, norm_out in ((L2, Lp(3)), (Lp(3), L2), (Lp(3), Lp(3))):
        with pytest.raises(ClaimError, match=f"operator norm from {norm.kind} to {norm_out.kind}; expected"):
            operator_norm(W, norm, norm_out)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("p", [3, Fraction(3, 2)])
def test_lp_norms_of_rows_of_any_size(scale: float, p: Fraction) -> None:
    """Powers of the entries leave the range of floats where the norm does not."""
    X = np.random.default_rng(0).standard_normal((5, 4, 3))
    expected = (np.abs(X) ** float(p)).sum(-1, keepdims=True) ** (1 / float(p))
    assert np.abs(row_norms(scale * X, Lp(p)) / scale - expected).max() <= 1e-14
    assert np.abs(largest_row_norm(scale * X, Lp(p)) / scale - expected.max(-2, keepdims=True)).max() <= 1e-14
    step = np.random.default_rng(1).standard_normal(X.shape)
    signed = np.sign(X) * np.abs(X) ** (float(p) - 1)
    slope = (signed * step).sum(-1, keepdims=True) * expected ** (1 - float(p))
    assert np.abs(derivative(lambda x: row_norms(x, Lp(p)), X, step) - slope).max() <= 1e-13


def test_rows_of_very_different_size_do_not_disturb_each_other() -> None:
    X = np.array([[3.0, 4.0, 5.0]]) * np.array([[1e-200], [1.0], [1e200]])
    assert np.abs(row_norms(X, Lp(3)) / np.array([[1e-200], [1.0], [1e200]]) - 6).max() <= 1e-14


def test_norms_of_rational_rows_are_rational_where_their_roots_are() -> None:
    assert row_norms(RATIONAL.array([[3, 4, 5]]), Lp(3)).item() == 6
    assert row_norms(RATIONAL.array([[1, 4, 4]]), Lp(Fraction(1, 1))).item() == 9
    with pytest.raises(NotExact):
        row_norms(RATIONAL.array([[1, 1]]), Lp(3))


@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (5, 4)], ids=str)
def test_a_narrow_enclosure_of_the_spectral_norm_holds_a_much_narrower_one(shape: tuple[int, int]) -> None:
    """Of whole numbers, whose enclosure is as narrow as the precision allows."""
    rng, compared = np.random.default_rng(0), 0
    for bits in (53, 64, 80):
        for _ in range(4):
            W = rng.integers(-9, 10, shape)
            found = []
            for system in (Ball(bits), Ball(400)):
                with system.working():
                    found.append(norm_of(system.array(W)))
            with Ball(400).working():
                assert found[0].contains(found[1])
            assert found[0].rad() < arb(2) ** (4 - bits) * found[0].mid()
            compared += 1
    assert compared == 12


@pytest.mark.parametrize("row", [[[3, 4]], [[3], [4]]], ids=["row", "column"])
def test_the_spectral_norm_of_a_row_or_column_is_its_length_in_every_number_system(row: list[list[int]]) -> None:
    W = np.array(row)
    assert str(spectral_norm(SYMBOLIC.array(W)).item()) == "5"
    for system in (RATIONAL, BALL):
        with system.working():
            slope = derivative(spectral_norm, system.array(W), system.array(np.ones_like(W)))
            assert abs(to_float(slope.item()) - 7 / 5) < 1e-15
    with pytest.raises(NotExpressible, match="of other numbers than floats, rationals and enclosures"):
        spectral_norm(SYMBOLIC.array(np.eye(2, dtype=int)))


def test_bases_with_more_leading_axes_than_one() -> None:
    scales = np.arange(1.0, 11).reshape(2, 5, 1, 1) * np.eye(3)
    norm = Norm("l1", scales, np.linalg.inv(scales))
    assert np.abs(row_norms(np.ones((1, 3)), norm)[..., 0, 0] - 3 * scales[..., 0, 0]).max() <= 1e-14
    W = np.arange(9.0).reshape(3, 3)
    assert np.abs(operator_norm(W, norm) - operator_norm(W, L1)).max() <= 1e-13  # a scale is no change of shape
    W = np.stack([np.stack([W] * 5)] * 2)
    assert operator_norm(W, norm).shape == operator_norm(W, L2).shape == (2, 5, 1, 1)
    with pytest.raises(ShapeError, match=r"the leading axes do not broadcast: basis \(5, 3, 3\), inverse \(2, 3, 3\)"):
        Norm("l1", scales[0], scales[:, 0])
    one = Norm("l1", scales[0], np.linalg.inv(scales[0]))
    for norm, norm_out in ((one, L1), (L1, one)):
        with pytest.raises(ShapeError, match=r"the leading axes do not broadcast: W \(2, 3, 3\), basis \(5, 3, 3\)"):
            operator_norm(W[:, 0], norm, norm_out)


@pytest.mark.parametrize("radius", [2.0**-10, 0.1, 0.3])
def test_a_blur_moves_the_spectral_norm_by_its_size(radius: float) -> None:
    """With a closed form and without; around zero the norm is still none that could be negative."""
    with BALL.working():
        for middle in (np.diag([3, 1]), np.array([[3, 1, 0], [1, 1, 1], [0, 2, 1]])):
            wide = BALL.array(middle) + BALL.array([[arb(0, radius)] * len(middle)] * len(middle))
            found = norm_of(wide)
            for moved in (-radius, radius):
                assert found.contains(norm_of(BALL.array(middle + moved)))
            assert found.rad() <= len(middle) * radius * 1.001
        root = sqrt(spectral_norm(BALL.array([[arb(0, radius)] * 3] * 2))).item().value
        assert root.contains(0)
        assert root < (3 * radius) ** 0.5


def test_what_has_no_closed_form_has_no_words() -> None:
    with (terms := Terms()).working(), noting():
        assert spectral_norm(terms.array(np.array([[3, 4], [4, 3]]))).item().exact == 7
        with pytest.raises(NotExpressible, match="the spectral norm of a matrix of rank 3 or more"):
            spectral_norm(terms.array(np.array([[1, 2, 0], [0, 1, 1], [1, 0, 5]])))
