"""Domains as Hypothesis strategies, and float results held against certified values: for code without theorems."""

import json
import textwrap
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import resstream as rs
from resstream import strategies
from resstream.domains import Matrix, RowStochastic, Transformed
from resstream.errors import ArithmeticLimit, DomainError, NotExact, ShapeError
from resstream.falsify.objects import arrays_in
from resstream.falsify.written_domains import domain_makers

FEW = settings(max_examples=4, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
OF_ARGUMENTS = {
    "stack": (2, RowStochastic("n")),
    "pair": (RowStochastic("n"),),
    "product": (RowStochastic("n"), Matrix("n", "d")),
    "whole": (0, 3),
    "symmetric_with_spectrum": ((1, 3),),
    "given": (0, Fraction(1, 3)),
    "transformed": (Matrix("n", "d"), lambda X: X + X),
}


def test_there_is_a_strategy_for_every_domain():
    assert len(strategies._MAKERS) == len(domain_makers())
    assert {"row_stochastic", "any_of_no_such"} & set(dir(strategies)) == {"row_stochastic"}
    with pytest.raises(AttributeError, match="has no attribute 'any_of_no_such'"):
        strategies.any_of_no_such  # noqa: B018


@pytest.mark.parametrize("name", sorted(strategies._MAKERS))
def test_every_strategy_draws_members(name):
    drawn = []

    @FEW
    @given(getattr(strategies, name)(*OF_ARGUMENTS.get(name, ())))
    def draw(value):
        drawn.append(value)
        assert all(array.ndim == 2 for array in arrays_in(value).values() if name not in ("heads", "attention_only"))

    draw()
    assert drawn


@FEW
@given(A=strategies.row_stochastic(n=range(2, 5), dtype=Fraction))
def test_an_exact_member_lies_in_its_set(A):
    assert 2 <= len(A) < 5
    assert RowStochastic("n").contains(A, {"n": len(A)})
    assert all(isinstance(entry, Fraction) for entry in A.flat)


@FEW
@given(
    X=strategies.matrix(
        n=3, d=st.integers(1, 2), elements=st.sampled_from([0, 7]), dtype=st.sampled_from(["f2", "f4"])
    ),
    A=RowStochastic("n").strategy({"n": 3}, dtype=np.float32),
)
def test_sizes_elements_and_dtypes_are_as_asked_for(X, A):
    assert X.shape in {(3, 1), (3, 2)}
    assert set(X.ravel().tolist()) <= {0.0, 7.0}
    assert X.dtype in (np.float16, np.float32)
    assert (A @ X).shape == X.shape
    assert A.dtype == np.float32


def test_members_shrink_to_the_simplest_exact_ones():
    shrunk = find(strategies.matrix(n=2, d=2, dtype=Fraction), lambda X: X[0, 0] > 1, settings=settings(deadline=None))
    assert shrunk.tolist() == [[2, 0], [0, 0]]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: strategies.row_stochastic(n=-1), r"n: expected a whole number, a range or a strategy, got -1"),
        (
            lambda: strategies.row_stochastic(n=3, m=4, k=5),
            r"row_stochastic: expected the arguments .*, got \['n', 'm', 'k'\]",
        ),
        (lambda: strategies.members(RowStochastic("n"), {"m": 3}), r"has no size 'm', expected some of \['n'\]"),
        (lambda: strategies.members("RowStochastic"), r"expected a domain such as Matrix\('n', 'd'\), got the text"),
        (lambda: strategies.matrix(2, 2, dtype="int8"), r"expected a float dtype or Fraction, got 'int8'"),
        (lambda: strategies.whole(1), r"whole: .*missing 1 required positional argument: 'high'"),
        (lambda: strategies.non_constant(d=1), r"has no members"),
    ],
)
def test_what_is_no_strategy_is_refused(make, said):
    with pytest.raises(DomainError, match=said):
        make()


def test_an_irrational_member_is_not_exact():
    roots = Transformed(Matrix(1, 1), lambda X: rs.arithmetic.exp(X * X + 1))
    with pytest.raises(NotExact):
        find(roots.strategy(dtype=Fraction), lambda _: True, settings=FEW)


def test_the_example_database_and_observability_work_as_with_any_strategy(pytester, monkeypatch):
    pytester.makepyfile(
        textwrap.dedent(
            """
            import resstream as rs
            from hypothesis import given, settings
            from hypothesis.database import DirectoryBasedExampleDatabase

            # Both said outright: where CI is in the environment, Hypothesis keeps no examples unless it is told to.
            kept = DirectoryBasedExampleDatabase(".hypothesis/examples")

            @settings(max_examples=20, deadline=None, derandomize=False, database=kept)
            @given(X=rs.strategies.matrix(n=2, d=1))
            def test_small(X):
                assert abs(X).max() < 3
            """
        )
    )
    monkeypatch.setenv("HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY", "1")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    assert list((pytester.path / ".hypothesis" / "examples").iterdir())
    observed = list((pytester.path / ".hypothesis" / "observed").glob("*_testcases.jsonl"))
    assert any("X" in json.loads(line)["arguments"] for line in observed[0].read_text().splitlines())


def test_a_search_leaves_a_record_where_it_is_asked_for():
    from hypothesis.internal import observability

    records = []
    claim = rs.lookup("contraction.diameter")
    with observability.with_observability_callback(records.append):
        verdict = rs.falsify(claim, budget=500, engines=["random"])
    (info,) = records
    assert (info.type, info.property, info.title) == ("info", claim.id, f"{claim.id}: survived")
    assert info.content["evaluations"] == verdict.tally.evaluations == 500
    rs.falsify(claim, budget=100, engines=["random"])
    assert len(records) == 1  # where nobody asked


# ---- certified values -------------------------------------------------------


def kernel(Q, K, V, scale=1):
    """Attention as one would write it, in the dtype of its arguments."""
    scores = Q @ K.T / np.sqrt(Q.dtype.type(Q.shape[-1]))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ V * Q.dtype.type(scale)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounding_passes_and_a_fault_does_not(dtype):
    rng = np.random.default_rng(0)
    ratios = []
    for n, d in ((1, 1), (4, 2), (6, 8)):
        Q, K, V = (rng.standard_normal((n, d)).astype(dtype) for _ in range(3))
        exact = rs.certified(rs.reference.attention, Q, K, V)
        ratios.append(rs.assert_encloses(kernel(Q, K, V), exact))
        off = 1 + 64 * float(np.finfo(dtype).eps) * (n + d)
        with pytest.raises(
            AssertionError, match=rf"the certified value is .* rounding in {np.dtype(dtype).name} does not"
        ):
            rs.assert_encloses(kernel(Q, K, V, off), exact, ulp=1)
    assert max(ratios) > 0
    assert len(ratios) == 3


def test_a_forgotten_scale_and_a_wrong_mask_are_faults():
    rng = np.random.default_rng(1)
    Q, K, V = (rng.standard_normal((5, 4)).astype(np.float32) for _ in range(3))
    causal = rs.certified(rs.reference.attention, Q, K, V, rs.reference.causal_mask(5))
    with pytest.raises(AssertionError, match=r"entry \(\d, \d\) is "):
        rs.assert_encloses(kernel(Q, K, V), causal)
    with pytest.raises(AssertionError, match="does not explain it"):
        rs.assert_encloses(kernel(2 * Q, K, V), rs.certified(rs.reference.attention, Q, K, V))


def test_a_bound_takes_the_place_of_what_rounding_can_do():
    x = np.array([[1.0, 2.0]])
    exact = rs.certified(rs.reference.softmax, x)
    near = np.array([[0.2689, 0.7311]])
    assert 0 < rs.assert_encloses(near, exact, bound=Fraction(1, 10_000)) <= 1
    with pytest.raises(AssertionError, match="times the bound, allowed 1"):
        rs.assert_encloses(near, exact, bound=1e-6)


def test_an_assertion_that_compares_nothing_or_what_does_not_fit_is_refused():
    x = np.array([[1.0, 2.0]])
    exact = rs.certified(rs.reference.softmax, x)
    with pytest.raises(ShapeError, match=r"shape \(1, 1\), expected \(1, 2\)"):
        rs.assert_encloses(np.ones((1, 1)), exact)
    with pytest.raises(DomainError, match="finite"):
        rs.assert_encloses(np.array([[np.nan, 1.0]]), exact)
    with pytest.raises(DomainError, match="ulp: expected a number above 0"):
        rs.assert_encloses(x, exact, ulp=0)
    with pytest.raises(DomainError, match="there is nothing to compare"):
        rs.assert_encloses(np.ones((0, 2)), rs.certified(lambda X: X, np.ones((0, 2))))
    with pytest.raises(DomainError, match="expected a function that returns an array of numbers"):
        rs.assert_encloses(x, rs.certified(lambda _: 3, x))
    with pytest.raises(ArithmeticLimit):
        rs.assert_encloses(
            np.float16([[1.0]]), rs.certified(lambda X: 1 / (X + 1 - X - rs.exact("0.9999")), np.float16([[3.0]]))
        )
