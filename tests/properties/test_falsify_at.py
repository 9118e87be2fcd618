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
    with pytest.raises(DomainError, match=r"A: row 3 sums to .*, which is not 1 within .*, 16 roundings an entry"):
        judged("dobrushin.range", A=off)


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
    assert repr(found) == "<contraction.diameter holds (certified)>"
