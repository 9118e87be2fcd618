"""The four questions of every domain: bad arguments refused, all values are members, the extremes are reached, and
zeros (what shrinking ends in) build the documented simplest object.
"""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import find, given, settings
from hypothesis import strategies as st

from resstream import domains
from resstream.arithmetic import FLOAT64, RATIONAL, Ball
from resstream.claim import Batch, Claim, at_most
from resstream.errors import ClaimError, DomainError
from resstream.falsify import engines
from resstream.reference import dobrushin, row_norms

SIZES = {"n": 3, "d": 5, "L": 2}  # distinct, so that a swapped axis shows

DOMAINS = {
    "Matrix": domains.Matrix("n", "d"),
    "Vector": domains.Vector("d"),
    "Scores": domains.Scores("n"),
    "NonNegative": domains.NonNegative("n", "d"),
    "Positive": domains.Positive("n", "d"),
    "NonZero": domains.NonZero("n", "d"),
    "NonConstant": domains.NonConstant("d"),
    "RowStochastic": domains.RowStochastic("n", "d"),
    "Causal": domains.Causal("n"),
    "Simplex": domains.Simplex("d"),
    "Permutation": domains.Permutation("n"),
    "DoublyStochastic": domains.DoublyStochastic("n"),
    "Orthogonal": domains.Orthogonal("d"),
    "OrthogonalColumns": domains.Orthogonal("d", "n"),
    "PositiveSemidefinite": domains.PositiveSemidefinite("n"),
    "Symmetric": domains.Symmetric("n"),
    "Invertible": domains.Invertible("n"),
    "Projection": domains.Projection("n"),
    "Scalar": domains.Scalar(0, 1),
    "Whole": domains.Whole(2, 9),
    "Tokens": domains.Tokens("n", "d"),
    "Stack": domains.Stack("L", domains.RowStochastic("n")),
}


def trivial():
    return at_most(0, 1)


def claim_over(domain):
    sizes = {name: range(SIZES[name], SIZES[name] + 1) for name in domain.size_names()}
    return Claim("trial", {"x": domain}, trivial, sizes=sizes)


def sums_to_one(x):
    return np.all(x >= 0) and all(sum(row) == 1 for row in x)


MEMBERS = {
    "Matrix": lambda x: x.shape == (3, 5),
    "Vector": lambda x: x.shape == (1, 5),
    "Scores": lambda x: x.shape == (3, 3),
    "NonNegative": lambda x: x.shape == (3, 5) and np.all(x >= 0),
    "Positive": lambda x: x.shape == (3, 5) and np.all(x > 0),
    "NonZero": lambda x: x.shape == (3, 5) and np.any(x != 0),
    "NonConstant": lambda x: x.shape == (1, 5) and np.any(x != x[:, :1]),
    "RowStochastic": lambda x: x.shape == (3, 5) and sums_to_one(x),
    "Causal": lambda x: x.shape == (3, 3) and sums_to_one(x) and np.all(x[np.triu_indices(3, 1)] == 0),
    "Simplex": lambda x: x.shape == (1, 5) and sums_to_one(x),
    "Permutation": lambda x: x.shape == (3, 3) and sums_to_one(x) and sums_to_one(x.T) and np.all((x == 0) | (x == 1)),
    "DoublyStochastic": lambda x: x.shape == (3, 3) and sums_to_one(x) and sums_to_one(x.T),
    "Orthogonal": lambda x: x.shape == (5, 5) and np.all(x.T @ x == np.eye(5, dtype=int)),
    "OrthogonalColumns": lambda x: x.shape == (5, 3) and np.all(x.T @ x == np.eye(3, dtype=int)),
    "PositiveSemidefinite": lambda x: np.all(x == x.T) and all(principal_minors(x)),
    "Symmetric": lambda x: x.shape == (3, 3) and np.all(x == x.T),
    "Invertible": lambda x: x.shape == (3, 3) and determinant(x) != 0,
    "Projection": lambda x: x.shape == (3, 3) and np.all(x @ x == x),
    "Scalar": lambda x: x.shape == (1, 1) and 0 <= x[0, 0] <= 1,
    "Whole": lambda x: x.shape == (1, 1) and 2 <= x[0, 0] <= 9 and x[0, 0].value.q == 1,
    "Tokens": lambda x: x.shape == (3, 5) and sums_to_one(x) and np.all((x == 0) | (x == 1)),
    "Stack": lambda x: len(x) == 2 and all(m.shape == (3, 3) and sums_to_one(m) for m in x),
}


def determinant(x):
    if len(x) == 1:
        return x[0, 0]
    minors = (np.delete(x[1:], k, axis=1) for k in range(len(x)))
    return sum((-1) ** k * x[0, k] * determinant(minor) for k, minor in enumerate(minors))


def principal_minors(x):
    indices = [[k for k in range(len(x)) if mask >> k & 1] for mask in range(1, 2 ** len(x))]
    return [determinant(x[np.ix_(chosen, chosen)]) >= 0 for chosen in indices]


@pytest.mark.parametrize("name", DOMAINS)
def test_every_drawn_value_is_exactly_a_member(name):
    """Hypothesis-drawn instances, judged in rationals, where membership has no tolerance."""
    claim, seen = claim_over(DOMAINS[name]), 0

    @settings(max_examples=40)
    @given(engines.instances(claim))
    def check(raw):
        nonlocal seen
        seen += 1
        assert MEMBERS[name](claim.build(raw, RATIONAL)["x"])

    check()
    assert seen >= (8 if name == "Whole" else 20)  # there are but eight whole numbers to draw


@pytest.mark.parametrize("name", DOMAINS)
def test_every_sampled_value_is_exactly_a_member_and_a_batch_is_its_singles(name):
    claim = claim_over(DOMAINS[name])
    raw = engines.random_batch(claim, np.random.default_rng(0), 54)
    batch = claim.build(raw)["x"]
    for index in range(54):
        single = raw.at(index)
        assert MEMBERS[name](claim.build(single, RATIONAL)["x"])
        built = claim.build(single)["x"]
        pairs = zip(built, batch, strict=True) if isinstance(batch, list) else [(built, batch)]
        for one, many in pairs:
            scale = np.abs(one).max() + 1
            assert np.all(np.abs(one - many[index]) <= 32 * 2.0**-52 * scale)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_perturbed_raw_array_stays_in_the_domain(name):
    claim = claim_over(DOMAINS[name])
    rng = np.random.default_rng(1)
    raw = engines.random_batch(claim, rng, 8)
    parts = claim.parts(raw.sizes, raw.options)
    moved = {key: parts[key].settle(values + rng.standard_normal(values.shape)) for key, values in raw.arrays.items()}
    for index in range(8):
        single = Batch(raw.sizes, raw.options, moved, 8).at(index)
        assert MEMBERS[name](claim.build(single, RATIONAL)["x"])


@pytest.mark.parametrize("name", MEMBERS)
def test_the_membership_checks_can_fail(name):
    rows, columns = 7, 2
    wrong = RATIONAL.array(np.arange(rows * columns).reshape(rows, columns) - 3)
    with pytest.raises((AssertionError, ValueError, TypeError, IndexError)):
        assert MEMBERS[name](wrong)


ZEROS = {
    "Positive": np.ones((3, 5)),
    "NonZero": np.eye(3, 5)[:, :] * np.array([[1], [0], [0]]),
    "NonConstant": np.eye(1, 5),
    "Causal": np.tri(3) / np.tri(3).sum(1, keepdims=True),
    "Simplex": np.full((1, 5), 0.2),
    "Permutation": np.eye(3),
    "DoublyStochastic": np.eye(3),
    "Orthogonal": np.eye(5),
    "Invertible": np.eye(3),
    "Tokens": np.eye(1, 5).repeat(3, axis=0),
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_build_the_documented_simplest_member(name):
    domain = DOMAINS[name]
    parts = domain.parts(SIZES, {})
    raw = {key: np.zeros(part.shape) for key, part in parts.items()}
    assert np.array_equal(domain.build(raw, {}, SIZES), ZEROS[name])


REACHES = {
    "tau exactly 0": lambda A: dobrushin(A)[0, 0] == 0 and len(A) > 1,
    "tau exactly 1": lambda A: dobrushin(A)[0, 0] == 1,
    "tau strictly between": lambda A: 0 < dobrushin(A)[0, 0] < 1,
    "one token": lambda A: A.shape == (1, 1),
    "a zero entry": lambda A: np.any(A == 0),
    "all positive": lambda A: np.all(A > 0),
}


@pytest.mark.parametrize("goal", REACHES)
def test_stochastic_matrices_reach_what_theorems_turn_on(goal):
    """By the Hypothesis strategy and by the batched sampler, each alone."""
    claim = Claim("trial", {"A": domains.RowStochastic("n")}, trivial)

    def reaches(raw):
        return REACHES[goal](claim.build(raw, RATIONAL)["A"])

    find(engines.instances(claim), reaches, settings=settings(max_examples=2000, database=None))
    rng = np.random.default_rng(0)
    batches = [engines.random_batch(claim, rng, 100) for _ in range(20)]
    assert any(reaches(raw.at(k)) for raw in batches for k in range(100))


MATRIX_REACHES = {
    "equal tokens": lambda X: len(X) > 1 and np.all(X[0] == X[1]),
    "saturated scores": lambda X: np.max(X) - np.min(X) > 1000,
    "scores below any mask constant": lambda X: np.min(X) < -100_000,
    "width 2": lambda X: X.shape[-1] == 2,
    "zero": lambda X: np.all(X == 0),
    "tiny and nonzero": lambda X: np.any((X != 0) & (np.abs(X) < 0.01)),
}


@pytest.mark.parametrize("goal", MATRIX_REACHES)
def test_matrices_reach_the_regimes_that_theorems_turn_on(goal):
    claim = Claim("trial", {"X": domains.Matrix("n", "d")}, trivial)

    def reaches(raw):
        return bool(MATRIX_REACHES[goal](raw.arrays["X"]))

    find(engines.instances(claim), reaches, settings=settings(max_examples=2000, database=None))
    rng = np.random.default_rng(0)
    batches = [engines.random_batch(claim, rng, 100) for _ in range(60)]
    assert any(reaches(raw.at(k)) for raw in batches for k in range(100))


def test_the_smallest_drawn_instance_is_all_zeros_of_the_smallest_sizes():
    claim = Claim("trial", {"A": domains.RowStochastic("n"), "X": domains.Matrix("n", "d")}, trivial)
    raw = find(engines.instances(claim), lambda _: True, settings=settings(database=None))
    assert raw.sizes == {"n": 1, "d": 1}
    assert all(np.all(values == 0) for values in raw.arrays.values())


def test_an_invertible_matrix_comes_with_its_exact_inverse():
    claim = claim_over(domains.Invertible("n"))
    for index in range(30):
        raw = engines.random_batch(claim, np.random.default_rng(index), 9).at(index % 9)
        parts = {name.removeprefix("x."): RATIONAL.array(values) for name, values in raw.arrays.items()}
        matrix, inverse = domains.InvertiblePair("n").build(parts, {}, raw.sizes)
        assert np.all(matrix @ inverse == np.eye(3, dtype=int))


@given(st.lists(st.integers(-9, 9), min_size=10, max_size=10), st.sampled_from(["l1", "l2", "linf"]))
def test_a_norm_after_a_change_of_basis_is_a_norm(numbers, kind):
    raw = {"lower": np.array(numbers[:4]).reshape(2, 2), "upper": np.array(numbers[4:8]).reshape(2, 2)}
    with Ball(128).working():
        arrays = {name: Ball(128).array(values) for name, values in raw.items()}
        norm = domains.Norm("d").build(arrays, {"kind": kind, "basis": "changed"}, {"d": 2})
        x, y = Ball(128).array([numbers[8:]]), Ball(128).array([numbers[:2]])
        size = row_norms(x, norm)[0, 0]
        assert size > 0 or all(v == 0 for v in numbers[8:])
        assert not row_norms(x + y, norm)[0, 0] > size + row_norms(y, norm)[0, 0]
        assert row_norms(3 * x, norm)[0, 0].value.overlaps(3 * size.value)


def test_the_options_of_a_norm_start_with_the_simplest():
    assert domains.Norm("d").options() == {"kind": ("linf", "l1", "l2"), "basis": ("standard", "changed")}
    assert domains.Norm("d", bases=False).options()["basis"] == ("standard",)
    assert domains.Norm("d").parts({"d": 2}, {"kind": "l1", "basis": "standard"}) == {}


def test_a_scalar_beyond_its_ends_stands_for_the_end():
    domain = domains.Scalar(0, 1)
    for system in (FLOAT64, RATIONAL):
        values = [domain.build({"": system.array([[v]])}, {}, {})[0, 0] for v in (-3, 0.25, 7)]
        assert values == [0, fmpq(1, 4) if system is RATIONAL else 0.25, 1]


def test_projections_of_every_rank_are_reached():
    claim = claim_over(domains.Projection("n"))
    raw = engines.random_batch(claim, np.random.default_rng(0), 200)
    ranks = {
        int(sum(np.diagonal(claim.build(raw.at(k), RATIONAL)["x"])).value) for k in range(200)
    }  # of idempotents: the trace
    assert ranks == {0, 1, 2, 3}


def test_an_invertible_pair_is_a_matrix_and_its_exact_inverse():
    claim = claim_over(domains.InvertiblePair("n"))
    raw = engines.random_batch(claim, np.random.default_rng(0), 30)
    for index in range(30):
        matrix, inverse = claim.build(raw.at(index), RATIONAL)["x"]
        assert np.all(matrix @ inverse == np.eye(3, dtype=int))
        assert np.all(inverse @ matrix == np.eye(3, dtype=int))


def test_a_count_is_the_size_itself():
    claim = claim_over(domains.Count("d"))
    raw = engines.random_batch(claim, np.random.default_rng(0), 4)
    assert claim.build(raw)["x"] == claim.build(raw.at(0), RATIONAL)["x"] == SIZES["d"]


@pytest.mark.parametrize("biased", [True, False])
def test_an_attention_only_model_has_the_shapes_that_its_sizes_name(biased):
    """In a batch and alone; the batch's logits are those of its models one by one."""
    claim = claim_over(domains.AttentionOnly("L", 3, "d", 2, "n", biased=biased))
    raw = engines.random_batch(claim, np.random.default_rng(0), 6)
    models = claim.build(raw)["x"]
    assert models.W_Q.shape == (6, 2, 3, 5, 2)
    assert models.embedding.shape == (6, 3, 5)
    assert np.any(models.b_K != 0) == biased
    batch = models.forward(np.array([0, 2, 1])).logits
    for index in range(6):
        model = claim.build(raw.at(index))["x"]
        assert (model.layers, model.heads, model.base) == (2, 3, 10_000)
        logits = model.forward(np.array([0, 2, 1])).logits
        assert np.all(np.abs(logits - batch[index]) <= 2**-40 * np.abs(batch[index]).max())


def test_every_wider_domain_holds_the_narrower_one():
    wider = {name: type(domain.wider()).__name__ for name, domain in DOMAINS.items() if domain.wider() is not None}
    assert wider == {
        "NonNegative": "Matrix",
        "Positive": "NonNegative",
        "NonZero": "Matrix",
        "NonConstant": "Matrix",
        "RowStochastic": "NonNegative",
        "Causal": "RowStochastic",
        "Simplex": "NonNegative",
        "Permutation": "DoublyStochastic",
        "DoublyStochastic": "RowStochastic",
        "Orthogonal": "Matrix",
        "OrthogonalColumns": "Matrix",
        "PositiveSemidefinite": "Symmetric",
        "Symmetric": "Matrix",
        "Invertible": "Matrix",
        "Projection": "Matrix",
        "Scalar": "Scalar",
        "Stack": "Stack",
    }


def test_a_domain_prints_as_it_is_written():
    assert str(domains.RowStochastic("n")) == "RowStochastic(n)"
    assert str(domains.RowStochastic("n", "m")) == "RowStochastic(n, columns=m)"
    assert str(domains.Stack("L", domains.Matrix("d", 2))) == "Stack(L, Matrix(d, 2))"


def test_an_unknown_size_is_refused():
    with pytest.raises(DomainError, match=r"size 'm': expected one of \['n'\]"):
        domains.Matrix("n", "m").parts({"n": 2}, {})


def test_a_range_without_sizes_is_refused():
    with pytest.raises(ClaimError, match="size n has the range"):
        Claim("trial", {"A": domains.RowStochastic("n")}, trivial, sizes={"n": range(0)})
