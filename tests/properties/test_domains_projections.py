"""Objects that rounding left outside their domains: exact members near them, said so, and refused beyond rounding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL, total
from resstream.claim import Claim, at_most, claim
from resstream.domains import (
    Alibi,
    Ball,
    BlockDiagonal,
    Domain,
    DoublyStochastic,
    EqualRows,
    Invertible,
    LowRank,
    Matrix,
    NonConstant,
    Orthogonal,
    Pair,
    Permutation,
    PositiveSemidefinite,
    Product,
    Projection,
    RowStochastic,
    Simplex,
    Sphere,
    Subset,
    Symmetric,
    SymmetricDoublyStochastic,
    Tokens,
    Whole,
    projections,
)
from resstream.domains.base import Projected
from resstream.errors import DomainError
from resstream.falsify.at import At
from resstream.falsify.objects import Taken


def about(domain: Domain) -> Claim:
    """A claim that is true of everything small, over one domain."""

    @claim("projected.small", over={"Q": domain})
    def small(Q: Any) -> Any:
        return at_most(total(total(Q * Q), -2), 10**9)

    return small


def judged(domain: Domain, value: Any, around: Any = None) -> At:
    found = about(domain).at(Q=value, around=around)
    assert isinstance(found, At)
    return found


def rotation(n: int, rng: np.random.Generator) -> Any:
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def balanced(n: int, rng: np.random.Generator) -> Any:
    weights = np.exp(rng.standard_normal((n, n)))
    for _ in range(300):
        weights /= weights.sum(-1, keepdims=True)
        weights /= weights.sum(-2, keepdims=True)
    return weights


def gram(n: int, rng: np.random.Generator) -> Any:
    factor = rng.standard_normal((n, n - 1))  # singular, so that rounding puts an eigenvalue below 0 as often as not
    return factor @ factor.T


def rows(n: int, rng: np.random.Generator) -> Any:
    x = rng.standard_normal((3, n))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def slopes(n: int, rng: np.random.Generator) -> Any:
    return -rng.uniform(0.1, 1) * np.abs(np.subtract.outer(np.arange(n), np.arange(n)))


def equal(n: int, rng: np.random.Generator) -> Any:
    x = np.exp(rng.standard_normal((1, n)))
    return np.repeat(x / x.sum(), n, axis=0)


KINDS: dict[str, tuple[Domain, Any]] = {
    "orthogonal": (Orthogonal("n"), rotation),
    "orthonormal columns": (Orthogonal("n", 2), lambda n, rng: rotation(n, rng)[:, :2]),
    "doubly stochastic": (DoublyStochastic("n"), balanced),
    "symmetric doubly stochastic": (
        SymmetricDoublyStochastic("n"),
        lambda n, rng: (x := balanced(n, rng)) / 2 + x.T / 2,
    ),
    "equal rows": (EqualRows("n", "n"), equal),
    "semidefinite": (PositiveSemidefinite("n"), gram),
    "sphere": (Sphere("n", 3), rows),
    "ball": (Ball("n", 3), rows),
    "low rank": (LowRank("n", "n", 1), lambda n, rng: np.outer(rng.standard_normal(n), rng.standard_normal(n))),
    "alibi": (Alibi("n"), slopes),
}


def member_of(taken: Taken) -> list[Fraction]:
    return [Fraction(entry) for entry in taken.middle.flat]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rounded_member_is_moved_to_an_exact_one_by_no_more_than_rounding(kind: str, dtype: Any) -> None:
    domain, make = KINDS[kind]
    rng, moved = np.random.default_rng(0), 0
    for n in (3, 5, 5, 8):
        value = make(n, rng).astype(dtype)
        found = judged(domain, value)
        taken = found.taken["Q"]
        member = RATIONAL.array(taken.middle)
        assert domain.contains(member, {"n": n})
        off = max(abs(exact - Fraction(float(one))) for exact, one in zip(member_of(taken), value.flat, strict=True))
        assert off <= 16 * n * float(np.finfo(dtype).eps) * max(1, np.abs(value).max())
        assert found.outcome == "holds"
        assert (taken.distance > 0) == (off > 0)
        if taken.distance:
            moved += 1
            assert taken.how
            assert taken.how in str(found)
            assert found.json()["taken"]["Q"]["as"] == "projected"
            ball = judged(domain, value, "rounding").taken["Q"]
            for middle, exact, radius in zip(value.flat, member_of(taken), (ball.radii or {})[""].flat, strict=True):
                assert abs(Fraction(float(middle)) - exact) <= radius
    assert moved, "nothing was moved"


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_rounding_explains_is_refused_by_place_and_bound(kind: str) -> None:
    domain, make = KINDS[kind]
    value = make(5, np.random.default_rng(0)).astype(np.float32)
    value[1, 0] += 1e-2 * (1 + np.abs(value).max())
    with pytest.raises(DomainError, match=r"Q: .*\d.*, which is not [01] within \S+: 16 roundings an entry"):
        judged(domain, value)
    with pytest.raises(DomainError, match="16 roundings an entry"):
        judged(domain, value, "rounding")


@pytest.mark.parametrize(
    ("domain", "value", "message"),
    [
        (DoublyStochastic(2), [[1.0, 0.0], [0.1, 0.9]], "Q: row 0 sums|Q: column 0 sums to 1.1, which is not 1"),
        (DoublyStochastic(2), [[1.1, -0.1], [-0.1, 1.1]], r"Q: expected entries of at least 0, got -0.1 at \[0, 1\]"),
        (Orthogonal(2), [[1.0, 0.0], [0.1, 1.0]], "Q: column 0 has the squared length 1.01, which is not 1"),
        (Orthogonal(2), [[0.8, 0.8], [0.6, 0.6]], "Q: columns 0 and 1 have the product 1, which is not 0"),
        (Sphere(2), [[1.0, 0.1]], "Q: row 0 has the squared length 1.01"),
        (BlockDiagonal(2, 1), [[1.0, 0.5], [0.0, 1.0]], r"Q: expected 0 at \[0, 1\] in BlockDiagonal"),
        (Symmetric(2), [[1.0, 0.5], [0.25, 1.0]], r"Q: entry \[1, 0\] less entry \[0, 1\] is -0.25"),
        (Permutation(2), [[1.0, 1e-17], [0.0, 1.0]], "Q: the object given is not in Permutation"),
        (Projection(2), [[1.0, 1e-17], [0.0, 1.0]], "Q: the object given is not in Projection"),
    ],
)
def test_the_message_names_what_is_wrong(domain: Domain, value: Any, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        judged(domain, value)


def test_a_projection_that_is_no_member_is_found_out() -> None:
    @dataclass(frozen=True)
    class Careless(RowStochastic):
        def projected(self, x: Any, sizes: Any) -> Projected:  # noqa: ARG002
            return Projected(x, "left as it was", [])

    third = np.float32(1) / np.float32(3)
    with pytest.raises(DomainError, match="nor with left as it was"):
        judged(Careless(1, 3), [[third, third, third]])


def test_the_shape_that_a_domain_states_is_that_of_what_it_builds() -> None:
    domains = [
        Alibi("n"), Ball("n", 3), BlockDiagonal("n", 2), DoublyStochastic("n"), EqualRows("m", "n"), Invertible("n"),
        LowRank("m", "n", 1), Matrix("m", "n"), NonConstant("n", "m"), Orthogonal("n"), Orthogonal("n", 2),
        Permutation("n"), PositiveSemidefinite("n"), Projection("n"), RowStochastic("m", "n"), Simplex("n"),
        Sphere("n", 3), Subset("n"), Symmetric("n"), Tokens("m", "n"), Whole(0, 3, "m", "n"),
    ]  # fmt: skip
    sizes = {"m": 2, "n": 4}
    for domain in domains:
        raw = {name: np.zeros(part.shape) for name, part in domain.parts(sizes, {}).items()}
        assert domain.build(raw, {}, sizes).shape == domain.shape_at(sizes), domain


def test_sizes_are_told_by_objects_of_any_shape() -> None:
    """As they were not where a domain names its rows last."""
    assert judged(Sphere("d"), [[0.6, 0.8, 0.0]]).raw.sizes == {"d": 3}
    assert judged(Whole(0, 9, "m", "n"), [[1, 2, 3], [4, 5, 6]]).raw.sizes == {"m": 2, "n": 3}


def test_a_pair_and_a_tuple_are_given_as_tuples() -> None:
    @claim("projected.pair", over={"head": Product(RowStochastic("n"), Matrix("n", "d")), "xs": Pair(Matrix(1, "d"))})
    def pair(head: Any, xs: Any) -> Any:
        A, X = head
        return at_most(total(total((A @ X) ** 2), -2), 10**6 + total((xs[0] - xs[1]) ** 2))

    third = np.float32(1) / np.float32(3)
    A, X = np.full((3, 3), third), np.eye(3, 2, dtype=np.float32)
    found = pair.at(head=(A, X), xs=([1.0, 2.0], [3.0, 4.0]))
    assert (found.outcome, found.raw.sizes) == ("holds", {"d": 2, "n": 3})
    assert "rows divided by their sums" in found.projected["head"]
    assert pair.at(head=(A, X), xs=([1.0, 2.0], [3.0, 4.0]), around="rounding").outcome == "holds"
    with pytest.raises(
        DomainError, match=r"head: expected a tuple of one object of each of RowStochastic\(n\), Matrix"
    ):
        pair.at(head=A, xs=([1.0, 2.0], [3.0, 4.0]))
    with pytest.raises(DomainError, match=r"head\[0\]: row 0 sums to 0.9"):
        pair.at(head=(A * np.float32(0.9), X), xs=([1.0, 2.0], [3.0, 4.0]))


# ---- each by itself, by hand -------------------------------------------------


def told(found: Projected) -> list[tuple[str, Any, int, int, Any]]:
    return [(one.text, one.value, one.wanted, one.terms, one.scale) for one in found.missed]


def test_rows_are_divided_by_their_sums_unless_they_sum_to_zero() -> None:
    found = projections.of_row_sums(RATIONAL.array([[1, 2, 1], [0, 0, 0]]))
    assert (found.member == RATIONAL.array([["1/4", "1/2", "1/4"], [0, 0, 0]])).all()
    assert told(found) == [("row 0 sums to", 4, 1, 3, 1), ("row 1 sums to", 0, 1, 3, 1)]


def test_rows_and_columns_are_moved_to_sums_of_one_and_away_from_what_is_below_zero() -> None:
    found = projections.balanced(RATIONAL.array([[1, 0], [1, 1]]))
    assert (found.member == RATIONAL.array([["3/4", "1/4"], ["1/4", "3/4"]])).all()
    assert [one[:3] for one in told(found)] == [
        ("row 0 sums to", 1, 1), ("row 1 sums to", 2, 1), ("column 0 sums to", 2, 1), ("column 1 sums to", 1, 1),
    ]  # fmt: skip
    below = projections.balanced(RATIONAL.array([[2, -1], [-1, 2]])).member
    assert (below == RATIONAL.array([[1, 0], [0, 1]])).all()
    three = RATIONAL.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]])
    assert (total(projections.balanced(three).member) == 1).all()
    assert (total(projections.balanced(three).member, -2) == 1).all()


def test_entries_across_the_diagonal_are_made_alike() -> None:
    found = projections.mirrored(RATIONAL.array([[1, 2, 3], [4, -9, 6], [7, 8, 0]]))
    assert (found.member == RATIONAL.array([[1, 3, 5], [3, -9, 7], [5, 7, 0]])).all()
    assert told(found) == [
        ("entry [1, 0] less entry [0, 1] is", 2, 0, 3, 9),
        ("entry [2, 0] less entry [0, 2] is", 4, 0, 3, 9),
        ("entry [2, 1] less entry [1, 2] is", 2, 0, 3, 9),
    ]


def test_rows_are_moved_to_the_sphere_along_a_line_from_a_pole() -> None:
    """The pole is opposite to the largest entry: (0, -1) for (0, 2)."""
    x = RATIONAL.array([[0, 2], [-3, 0], ["3/5", "4/5"], ["1/2", 0]])
    found = projections.on_the_sphere(x)
    assert (found.member == RATIONAL.array([[0, 1], [-1, 0], ["3/5", "4/5"], [1, 0]])).all()
    assert [one[:4] for one in told(found)] == [
        ("row 0 has the squared length", 4, 1, 2), ("row 1 has the squared length", 9, 1, 2),
        ("row 2 has the squared length", 1, 1, 2), ("row 3 has the squared length", Fraction(1, 4), 1, 2),
    ]  # fmt: skip
    inside = projections.on_the_sphere(x, inside=True)
    assert (inside.member == RATIONAL.array([[0, 1], [-1, 0], ["3/5", "4/5"], ["1/2", 0]])).all()
    assert [one[0] for one in told(inside)] == ["row 0 has the squared length", "row 1 has the squared length"]
    oblique = projections.on_the_sphere(RATIONAL.array([[1, 2]])).member  # from (0, -1) through (1, 2)
    assert (oblique == RATIONAL.array([["3/5", "4/5"]])).all()


def test_elimination_takes_away_what_is_of_low_rank() -> None:
    x = RATIONAL.array([[1, 2, 1], [2, 4, 3]])
    found = projections.of_low_rank(x, 1)
    assert (found.member == RATIONAL.array([["1", "2", "3/2"], [2, 4, 3]])).all()
    assert told(found)[2] == ("1 steps of elimination leave at [0, 2]", Fraction(-1, 2), 0, 3, 4)
    assert len(told(found)) == 6
    assert (projections.of_low_rank(x, 2).member == x).all()
    assert (projections.of_low_rank(x, 3).member == x).all()
    assert (projections.of_low_rank(0 * x, 1).member == 0).all()


def test_places_that_are_refused_are_named() -> None:
    x = RATIONAL.array([[0, 0, 0], [1, -2, -3]])
    with pytest.raises(DomainError, match=r"expected entries of at least 0, got -2\.0 at \[1, 1\]"):
        projections.require_nonnegative(x)
    projections.require_nonnegative(x[:1])
    with pytest.raises(DomainError, match=r"expected 0 at \[1, 1\] in Somewhere, got -2\.0"):
        projections.require_allowed(x, np.array([[True, True, True], [True, False, False]]), "Somewhere")
    projections.require_allowed(x, np.array([[False, False, False], [True, True, True]]), "Somewhere")


def test_the_diagonal_is_raised_until_no_eigenvalue_is_below_zero() -> None:
    def is_nonnegative(x: Any) -> bool:
        return bool((x[0, 0] >= 0) & (x[1, 1] >= 0))

    found = projections.lifted(RATIONAL.array([[-2, 0], [0, 3]]), is_nonnegative)
    assert found.member[0, 0] >= 0
    assert found.member[0, 0] < Fraction(1, 10**10)
    assert found.member[1, 1] - found.member[0, 0] == 5
    text, value, wanted, terms, scale = told(found)[-1]
    assert (text, wanted, terms, scale) == ("an eigenvalue is as low as", 0, 2, 3)
    assert value + 2 == -found.member[0, 0]
    assert len(told(found)) == 2
    assert projections.lifted(RATIONAL.array([[1, 0], [0, 1]]), is_nonnegative).member[0, 0] == 1 + Fraction(2.0**-1022)
