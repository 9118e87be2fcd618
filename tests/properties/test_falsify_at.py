"""A claim at given objects: exact numbers in, hypotheses, sides and a certificate out; what cannot be is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from resstream import claims
from resstream.errors import ClaimError, DomainError
from resstream.falsify.at import At
from resstream.foreign import as_numbers, rounding
from resstream.reference import Norm, diameter, dobrushin


def pattern(n: int = 5, dtype: Any = np.float32, causal: bool = False) -> Any:
    """A softmax, whose rows sum to one up to the rounding of its dtype."""
    weights = np.exp(np.random.default_rng(0).standard_normal((n, n))) * (np.tri(n) if causal else 1)
    weights = weights.astype(dtype)
    return weights / weights.sum(-1, keepdims=True)


def cloud(n: int = 5, d: int = 3, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(1).standard_normal((n, d)).astype(dtype)


def judged(name: str, **objects: Any) -> At:
    found = claims.lookup(name).at(**objects)
    assert isinstance(found, At)
    return found


def test_a_float32_pattern_is_taken_and_certified() -> None:
    A, X = pattern(), cloud()
    assert (A.astype(float).sum(-1) != 1).any()
    found = judged("contraction.diameter", A=A, X=X, norm="l2")
    assert (found.outcome, found.certified) == ("holds", True)
    exact = A.astype(float) / A.astype(float).sum(-1, keepdims=True)
    lhs, rhs = diameter(exact @ X).item(), (dobrushin(exact) * diameter(X.astype(float))).item()
    assert found.tightness == pytest.approx(lhs / rhs, rel=1e-6)
    assert found.margin == pytest.approx((rhs - lhs) / (rhs + lhs), rel=1e-6)
    assert set(found.projected) == {"A"}
    assert "rows divided by their sums, exactly" in found.projected["A"]


def test_what_is_exact_is_not_moved() -> None:
    found = judged("contraction.diameter", A=[[0.5, 0.5], [0.25, 0.75]], X=[[1], [0]], norm="linf")
    assert found.projected == {}
    assert (found.tightness, found.margin) == (1, 0)


def test_a_false_claim_is_violated_with_a_certificate() -> None:
    found = judged("contraction.diameter_squared", A=[[0.5, 0.5], [0.25, 0.75]], X=[[1], [0]], norm="l2")
    assert (found.outcome, found.certified, found.tightness) == ("violated", True, 4)
    assert found.margin < 0


def test_hypotheses_are_shown_met_or_not_with_their_values() -> None:
    A, X = pattern(), cloud()
    small, large = np.eye(3) / 8, 9 * np.eye(3)
    met = judged("skip.stack_product", As=[A, A], X=X, Ws=[small, small], norm="l2")
    assert [(one.name, one.status) for one in met.hypotheses] == [("every_step_at_most_one", "met")]
    assert met.outcome == "holds"
    missed = judged("skip.stack_product", As=[A], X=X, Ws=[large], norm="l2")
    assert (missed.outcome, missed.certified) == ("outside", True)
    assert missed.hypotheses[0].status == "violated"
    assert float(missed.hypotheses[0].shown.split(" <= ")[0]) > 1


def test_an_equality_of_irrational_numbers_is_tied_and_not_called_certified() -> None:
    found = judged("layernorm.invariant", x=cloud()[0], c=[[2]], s=[[1]])
    assert (found.outcome, found.certified, found.tightness) == ("tied", False, None)
    assert "as far as can be told" in str(found)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rows_may_miss_one_by_the_rounding_of_their_dtype_alone(dtype: Any) -> None:
    A = pattern(8, dtype)
    assert judged("dobrushin.range", A=A).outcome == "holds"
    off = A.copy()
    off[3] *= dtype(1 + 300 * float(np.finfo(dtype).eps))
    with pytest.raises(DomainError, match=r"A: row 3 sums to .*, which is not 1 within .*: 16 roundings an entry"):
        judged("dobrushin.range", A=off)


def test_short_floats_are_no_excuse_for_any_row() -> None:
    """Two roundings an entry of 128 halves of bfloat16 are two: a row of zeros is not one that was rounded."""

    class Tensor:
        dtype = "torch.bfloat16"

        def __init__(self, row: list[float]) -> None:
            self.row = row

        def detach(self) -> Any:
            return self

        cpu = double = detach

        def numpy(self) -> Any:
            return np.array([self.row])

    def short(row: list[float]) -> At:
        return judged("dobrushin.range", A=Tensor(row))

    assert short([1 / 128] * 128).outcome == "holds"
    for row in ([0.0] * 128, [1 / 64] * 128, [0.9 / 128] * 128):
        with pytest.raises(DomainError, match=r"never more than 0\.0625"):
            short(row)


# ---- balls ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("around", ["rounding", 1e-3, Fraction(1, 100)])
def test_a_ball_holds_every_member_near_the_numbers(dtype: Any, around: Any) -> None:
    """Both sides at members drawn from the ball lie in the enclosures of the sides."""
    A, X = pattern(dtype=dtype, causal=True), cloud(dtype=dtype)
    found = judged("contraction.first_token", A=A, X=X, norm="l2", around=around)
    point = judged("contraction.first_token", A=A, X=X, norm="l2")
    assert (found.outcome, found.certified, found.balls, point.balls) == ("holds", True, True, False)
    assert "every member of the domains in the balls" in str(found)
    assert found.projected == {}
    radius = float(np.finfo(dtype).eps) / 2 if around == "rounding" else float(around)
    assert float(found.taken["A"].radius) >= radius * A.max()
    assert float(found.taken["A"].radius) <= radius + float(found.taken["A"].distance)
    rng = np.random.default_rng(2)
    for _ in range(50):
        B = A.astype(float)
        B = B + (B > 0) * rng.uniform(-1, 1, B.shape) * radius * (B if around == "rounding" else 1) / 4
        B = np.abs(B) / np.abs(B).sum(-1, keepdims=True)
        Y = X + rng.uniform(-1, 1, X.shape) * radius * (np.abs(X) if around == "rounding" else 1)
        distances = np.linalg.norm(Y - Y[0], axis=-1)
        new = np.linalg.norm(B @ Y - B[0] @ Y, axis=-1).max()
        for side, value in ((found.lhs, new), (found.rhs, (1 - B[:, 0].min()) * distances.max())):
            assert abs(value - float(side.value.mid())) <= float(side.value.rad()) * (1 + 1e-6) + 1e-15


def test_what_is_false_near_the_numbers_is_violated_there_or_undecided_and_never_holds() -> None:
    near = {"A": [[0.5, 0.5], [0.25, 0.75]], "X": [[1], [0]], "norm": "l2"}
    assert judged("contraction.diameter_squared", **near, around=1e-3).outcome == "violated"
    wide = judged("contraction.diameter_squared", **near, around=0.5)
    assert (wide.outcome, wide.certified) == ("undecided", False)
    assert "too wide to tell" in str(wide)
    # At tau = 1 the squared bound holds and is attained; just beside it, it fails.
    edge = judged("contraction.diameter_squared", A=[[1, 0], [0, 1]], X=[[1], [0]], norm="l2", around=1e-6)
    assert judged("contraction.diameter_squared", A=[[1, 0], [0, 1]], X=[[1], [0]], norm="l2").outcome == "holds"
    assert edge.outcome == "undecided"


def test_hypotheses_are_met_in_a_whole_ball_or_not() -> None:
    A, X = pattern(), cloud()
    given = {"As": [A], "X": X, "norm": "linf"}
    met = judged("skip.stack_product", **given, Ws=[np.eye(3) / 8], around=1e-4)
    assert (met.outcome, met.hypotheses[0].status) == ("holds", "met")
    missed = judged("skip.stack_product", **given, Ws=[9 * np.eye(3)], around=1e-4)
    assert (missed.outcome, missed.certified) == ("outside", True)
    B = A.astype(float)
    tau = dobrushin(B / B.sum(-1, keepdims=True)).item()
    edge = judged("skip.stack_product", **given, Ws=[np.eye(3) / tau], around=1e-4)
    # Met by some members and not by others, and true of all: the conclusion is certain on its own.
    assert (edge.hypotheses[0].status, edge.outcome) == ("undecided", "holds")


def test_whole_numbers_zeros_and_norms_have_no_rounding() -> None:
    exact = judged("contraction.diameter", A=[[1, 0], [0, 1]], X=[[3], [1]], norm="l2", around="rounding")
    assert (exact.balls, exact.outcome, exact.tightness) == (False, "holds", 1)
    found = judged("contraction.diameter", A=[[1.0, 0.0], [0.5, 0.5]], X=[[3], [1]], norm="l2", around="rounding")
    assert (found.taken["A"].radii or {})[""][0, 1] == 0
    assert found.taken["A"].radius == Fraction(1, 2**53)
    assert found.taken["norm"].radius == found.taken["X"].radius == 0
    tiny = judged("contraction.diameter", A=np.eye(2), X=[[5e-324], [0.0]], norm="l2", around="rounding")
    assert tiny.taken["X"].radius == Fraction(1, 2**1075)


@pytest.mark.parametrize("around", [0, -1, np.nan, np.inf, "wide", True, [1]])
def test_a_radius_that_is_none_is_refused(around: Any) -> None:
    with pytest.raises(DomainError, match=r"around: expected None, \"rounding\" or a positive number"):
        judged("dobrushin.range", A=pattern(), around=around)


def test_numbers_come_from_anywhere_exactly() -> None:
    third = Fraction(1, 3)
    exact = judged("dobrushin.range", A=[[third, third, third], [1, 0, 0]])
    assert exact.projected == {}

    class Tensor:
        """What torch's tensors and JAX's arrays have in common with NumPy's."""

        dtype = "torch.bfloat16"

        def __init__(self, values: Any) -> None:
            self.values = np.asarray(values)

        def detach(self) -> Any:
            return self

        cpu = double = detach

        def numpy(self) -> Any:
            return self.values.astype(float)

    assert rounding(Tensor(0)) == 2.0**-7
    assert judged("dobrushin.range", A=Tensor([[0.5, 0.498046875], [0, 1]])).projected
    assert as_numbers(np.float16(0.1), "x") == float(np.float16(0.1))
    assert as_numbers([2**70, 1], "x")[0] == 2**70


def test_arrays_that_only_turn_into_arrays_of_numpy_are_taken() -> None:
    """As those of JAX do, whose kind of numbers is the name of their dtype."""

    class Jax:
        dtype = "bfloat16"

        def __init__(self, values: Any) -> None:
            self.values = np.asarray(values, dtype=np.float32)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            del copy
            return self.values.astype(dtype or np.float32)

    found = judged("contraction.diameter", A=Jax([[0.5, 0.498046875], [0, 1]]), X=Jax([[1], [0]]), norm="l1")
    assert (found.outcome, set(found.projected)) == ("holds", {"A"})
    ball = judged("contraction.diameter", A=Jax([[0.5, 0.5], [0, 1]]), X=Jax([[1], [0]]), norm="l1", around="rounding")
    assert ball.taken["X"].radius == Fraction(1, 2**8)


@pytest.mark.parametrize("value", ["text", [[1, 2], [3]], [1j], [None], [np.nan], [np.inf], [[Fraction(1), "a"]], [{}]])
def test_what_is_no_array_of_numbers_is_refused(value: Any) -> None:
    with pytest.raises(DomainError, match=r"x: "):
        as_numbers(value, "x")


@pytest.mark.parametrize(
    ("name", "objects", "message"),
    [
        ("contraction.diameter", {"X": cloud(4)}, "X: has 4 where Matrix"),
        ("contraction.diameter", {"A": -pattern()}, r"A: expected entries of at least 0, got .* at \[0"),
        ("contraction.diameter", {"A": pattern()[:3]}, "A: has 5|A: has 3"),
        ("contraction.diameter", {"norm": "l3"}, "norm: expected a norm, one of"),
        ("contraction.diameter", {"norm": 2}, "norm: expected a norm, one of"),
        ("contraction.diameter", {"X": np.ones((2, 5, 3))}, "two axes"),
        ("contraction.diameter", {"X": np.ones((0, 3))}, "two axes"),
        ("contraction.first_token", {}, r"A: expected 0 at \[0, 1\] in Causal"),
        ("contraction.stack", {"A": None, "As": pattern(), "Ws": [np.eye(3)]}, "As|Ws"),
    ],
)
def test_objects_outside_their_domains_are_refused_by_name(name: str, objects: dict[str, Any], message: str) -> None:
    given = {"A": pattern(), "X": cloud(), "norm": "l2", **objects}
    with pytest.raises(DomainError, match=message):
        judged(name, **{key: value for key, value in given.items() if value is not None})


def test_variables_too_many_and_too_few_are_refused() -> None:
    with pytest.raises(ClaimError, match="X is missing"):
        judged("contraction.diameter", A=pattern(), norm="l2")
    with pytest.raises(ClaimError, match="B is no variable"):
        judged("contraction.diameter", A=pattern(), X=cloud(), norm="l2", B=1)


def test_a_norm_of_ones_own_must_be_one() -> None:
    basis = np.array([[2.0, 0.0], [0.0, 1.0]])
    given = {"A": pattern(), "X": cloud(d=2)}
    found = judged("contraction.diameter", **given, norm=Norm("l1", basis, np.linalg.inv(basis)))
    assert found.outcome == "holds"
    with pytest.raises(DomainError, match="norm: the object given is not in Norm"):
        judged("contraction.diameter", **given, norm=Norm("l1", basis, basis))


def test_it_reads_in_text_page_and_json() -> None:
    found = judged("contraction.diameter", A=pattern(), X=cloud(), norm="l2")
    console = Console(file=StringIO(), width=120)
    console.print(found)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for text in (str(found), shown, found._repr_html_()):
        for expected in ("contraction.diameter", "holds (certified)", "tightness", "was projected"):
            assert expected in text
    data = json.loads(json.dumps(found.json()))
    assert (data["outcome"], data["certified"], data["relation"]) == ("holds", True, "<=")
    assert data["taken"]["A"]["as"] == "projected"
    assert 0 < data["taken"]["A"]["distance"] < 1e-6
    assert data["taken"]["X"] == {"as": "given", "distance": 0, "radius": 0, "note": None}
    assert repr(found) == "<contraction.diameter holds (certified)>"
    ball = judged("contraction.diameter", A=pattern(), X=cloud(), norm="l2", around="rounding")
    assert ball.json()["taken"]["X"]["as"] == "ball"
    assert "±" in ball._repr_html_()
