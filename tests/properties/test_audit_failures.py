"""The failure map: where a false claim fails, where it does not, and which added hypothesis saves it."""

import shlex

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from resstream.arithmetic import RATIONAL, absolute, amax, square, total
from resstream.audit import failures, kinds
from resstream.audit.attack import Attack, certified
from resstream.audit.result import FAILS, SURVIVES
from resstream.audit.witnesses import Witnesses
from resstream.claim import Instance, at_least, at_most, claim, equal
from resstream.claims import contraction
from resstream.cli import app
from resstream.domains import (
    Ball,
    Causal,
    DoublyStochastic,
    EqualRows,
    Matrix,
    NonNegative,
    Norm,
    Permutation,
    RowStochastic,
    Scalar,
    Stack,
    Vector,
)
from resstream.falsify import engines, falsify
from resstream.falsify.variants import find
from resstream.reference import L1, diameter, dobrushin, row_norms


def outcomes(found, options=""):
    return {tuple(cell.sizes.values()): cell.outcome for cell in found.cells if cell.options == options}


def mapped(statement, budget=4096, left=lambda: float("inf")):
    """The map of a claim, as an audit draws it: with the counterexample of its main search in the pool."""
    pool = Witnesses()
    verdict = falsify(statement, budget)
    if verdict.counterexample is not None:
        pool.keep(verdict.counterexample)
    return failures.failure_map(statement, Attack(0, left), pool, budget)


def saved(found):
    return [rescue.label for rescue in found.rescue]


def test_tau_squared_fails_from_two_tokens_on_and_survives_for_one_token():
    found = mapped(contraction.contraction_diameter_squared)
    assert (found.rows, found.columns) == ("n", "d")
    assert found.options == ["norm = linf", "norm = l1", "norm = l2"]
    for options in found.options:
        for (n, _), outcome in outcomes(found, options).items():
            assert outcome == (SURVIVES if n == 1 else FAILS)
    assert saved(found)[0] == "n = 1"
    failing = {kind.label for kind in found.kinds if kind.outcome == FAILS}
    assert {"A in Causal(n)", "A in DoublyStochastic(n)"} <= failing


def test_a_claim_of_one_norm_is_saved_by_that_norm_and_says_how_to_run_it():
    @claim("trial", over={"X": Matrix("n", "d"), "norm": Norm("d", bases=False)})
    def trial(X, norm):
        return at_least(row_norms(X, norm), row_norms(X, L1))

    found = mapped(trial)
    assert set(outcomes(found, "norm = l1").values()) == {SURVIVES}
    assert FAILS in outcomes(found, "norm = l2").values()
    assert saved(found)[0] == "norm = l1"


def test_a_claim_true_of_more_than_two_tokens_is_saved_by_that_size():
    @claim("trial", over={"A": RowStochastic("n")}, sizes={"n": range(2, 7)})
    def trial(A):
        return at_most(2 * dobrushin(A), A.shape[-1] - 1)

    found = mapped(trial)
    assert outcomes(found) == {(n,): FAILS if n == 2 else SURVIVES for n in range(2, 7)}
    assert "n >= 3" in saved(found)


def test_a_claim_that_nothing_saves_says_so():
    @claim("trial", over={"x": Scalar()})
    def trial(x):
        return at_most(x * 0 + 1, 0)

    found = mapped(trial)
    assert found.rescue == ()
    assert outcomes(found) == {(): FAILS}


def test_a_restriction_is_searched_once_by_each_seed():
    found = mapped(claim("trial", over={"x": Scalar()})(lambda x: at_most(0, x)))
    assert [rescue.evaluations for rescue in found.rescue] == [2 * 4096] * len(saved(found))
    assert "x in Scalar(low=0)" in saved(found)


def test_no_seconds_left_is_no_error_and_nothing_survives():
    found = mapped(contraction.contraction_diameter_squared, left=lambda: 0.0)
    assert SURVIVES not in {cell.outcome for cell in found.cells}
    assert found.rescue == ()


# ---- the pool ---------------------------------------------------------------


def unit(x):
    """|x| = 1."""
    return equal(total(square(x)), 1)


def test_a_counterexample_counts_in_every_cell_and_kind_that_it_lies_in():
    @claim("trial", over={"x": Vector("d")}, sizes={"d": range(1, 5)}, assuming=[unit])
    def trial(x):
        """False at (1/2, 1/2, 1/2, 1/2) and few others that a search meets."""
        return at_least(amax(absolute(x)), 1)

    pool = Witnesses()
    raw = Instance({"d": 4}, {}, {"x": np.full((1, 4), 0.5)})
    pool.add(certified(trial, raw))
    found = failures.failure_map(trial, Attack(0), pool, 512)
    assert outcomes(found)[(4,)] == FAILS
    kinds_of = {kind.label: kind.outcome for kind in found.kinds}
    assert kinds_of["x in NonZero(1, d)"] == kinds_of["x in NonNegative(1, d)"] == FAILS
    assert not any(label.startswith(("x in NonZero", "x in NonNegative", "x in Positive")) for label in saved(found))


def test_a_counterexample_of_one_size_says_nothing_of_another_or_of_a_kind_that_it_is_not_of():
    @claim("trial", over={"A": RowStochastic("n")}, sizes={"n": range(2, 5)})
    def trial(A):
        return at_most(2 * dobrushin(A), 1)

    pool = Witnesses()
    pool.add(certified(trial, Instance({"n": 2}, {}, {"A": np.eye(2)})))
    assert pool.within({"n": range(2, 3)}, {}) is not None
    assert pool.within({"n": range(3, 5)}, {}) is None
    assert pool.within({}, {"A": Permutation("n")}) is not None
    assert pool.within({}, {"A": EqualRows("n", "n")}) is None


def test_every_rescue_of_a_named_claim_is_a_command_that_runs(tmp_path):
    lines = [
        "from resstream.claim import at_most, claim",
        "from resstream.domains import RowStochastic",
        "from resstream.reference import dobrushin",
        '@claim("mine.half", over={"A": RowStochastic("n")}, sizes={"n": range(1, 4)})',
        "def half(A):",
        "    return at_most(2 * dobrushin(A), 1)",
    ]
    path = tmp_path / "mine.py"
    path.write_text("\n".join(lines) + "\n")
    found = mapped(find(f"{path}::mine.half"))
    assert found.rescue
    for rescue in found.rescue:
        program, *arguments = shlex.split(rescue.command)
        assert program == "resstream"
        done = CliRunner().invoke(app, [*arguments, "--budget", "2000", "--no-memory"])
        assert done.exit_code == 0, (rescue.command, done.output)


# ---- kinds ------------------------------------------------------------------

WIDER = [
    RowStochastic("n"),
    RowStochastic("n", "d"),
    Matrix("n", "d"),
    Matrix("n", "n"),
    Matrix(1, "n"),
    NonNegative("n", "d"),
    DoublyStochastic("n"),
    Stack(2, RowStochastic("n")),
    Causal("n"),
    Ball("d"),
    Scalar(-1),
    Norm("d"),
]


@pytest.mark.parametrize("wide", WIDER, ids=str)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_narrower_kind_is_a_subset(wide, seed):
    names = list(kinds.narrower(wide))
    assert names
    for domain in names:
        statement = claim("trial", over={"x": domain}, sizes=dict.fromkeys(domain.size_names(), range(2, 4)))(trivial)
        raw = engines.random_batch(statement, np.random.default_rng(seed), 9).at(seed % 9)
        assert wide.contains(statement.build(raw, RATIONAL)["x"], raw.sizes), f"{domain} is not within {wide}"


def trivial():
    return at_most(0, 1)


def test_the_kinds_are_what_they_are_called():
    raw = {"column": RATIONAL.array([[2], [3]]), "row": RATIONAL.array([[1, 5]])}
    assert kinds.RankOne("n", "d").build(raw, {}, {}).tolist() == [[2, 10], [3, 15]]
    positive = kinds.PositiveRows("n").build({"": RATIONAL.array([[0, 3], [-1, 1]])}, {}, {"n": 2})
    assert [[str(x) for x in row] for row in positive] == [["1/4", "3/4"], ["1/2", "1/2"]]
    same = kinds.EqualRows("n", "n").build({"": RATIONAL.array([[1, 3]])}, {}, {"n": 2})
    assert dobrushin(same).item() == 0
    assert diameter(same).item() == 0
