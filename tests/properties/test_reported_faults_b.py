"""Faults of test suites that people reported in public, each as its whole kind, held against this suite itself.

What was not verified and is counted as passed; tolerances by default; random matrices that are degenerate; workers that
collect different tests, or fight over the cores.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stock
from typer.testing import CliRunner

from resstream import claims
from resstream.arithmetic import FLOAT64
from resstream.claim import Claim, at_least, at_most, claim
from resstream.cli import app
from resstream.domains import RowStochastic, Vector
from resstream.falsify import search
from resstream.falsify.engines import instances, random_batch
from resstream.reference import dobrushin, row_norms

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("tests/**/*.py"), *ROOT.glob("resstream/**/*.py"), ROOT / "conftest.py"])


# ---- what was not verified is never counted as passed ------------------------


def _fates() -> dict[str, Claim]:
    """One claim for every way in which a search can end."""
    over = {"x": Vector("d")}

    def never(x):
        return at_most(row_norms(x), -1)

    def seldom(x):  # what only the slack for rounding lets through, where x is enormous
        return at_least(row_norms(x), row_norms(x) + 1)

    @claim("fate.held", over=over)
    def held(x):
        return at_least(row_norms(x), 0)

    @claim("fate.falsified", over=over)
    def falsified(x):
        return at_most(row_norms(x), 1)

    @claim("fate.refuted_as_expected", over=over, expect="fails")
    def refuted_as_expected(x):
        return at_most(row_norms(x), 1)

    @claim("fate.unexpected_pass", over=over, expect="fails")
    def unexpected_pass(x):
        return at_least(row_norms(x), 0)

    @claim("fate.vacuous", over=over, assuming=(never,))
    def vacuous(x):
        return at_least(row_norms(x), 0)

    @claim("fate.gave_up", over=over, assuming=(seldom,))
    def gave_up(x):
        return at_least(row_norms(x), 0)

    @claim("fate.error", over=over)
    def error(x):
        raise RuntimeError(f"a fault in the claim, at {x.shape}")

    return {value.id: value for value in locals().values() if isinstance(value, Claim)}


FATES = _fates()
VERIFIED = {"fate.held", "fate.refuted_as_expected"}


@pytest.fixture
def checked(monkeypatch):
    monkeypatch.setattr(claims, "library", lambda: FATES)
    monkeypatch.setattr(claims, "statistical", dict)
    arguments = ["check", "--profile", "quick", "--workers", "1"]
    return lambda *more: CliRunner().invoke(app, [*arguments, *more])


def test_every_fate_has_a_name_of_its_own(checked):
    rows = {row["id"]: row["verdict"] for row in json.loads(checked("--json").stdout)}
    assert rows == {
        "fate.held": "survived",
        "fate.falsified": "refuted",
        "fate.refuted_as_expected": "refuted",
        "fate.unexpected_pass": "survived",
        "fate.vacuous": "gave up",
        "fate.error": "error",
        "fate.gave_up": "gave up",
    }


def test_the_report_counts_as_verified_only_what_is(checked):
    """Of seven claims two did what they say; the five others are counted apart, and the exit status tells."""
    done = checked()
    assert done.exit_code == 1
    words = " ".join(done.stdout.split())
    assert "1 survived as stated, 1 refuted as expected, 5 not as expected" in words
    assert "survived (expected: fails)" in words  # an unexpected pass is shown
    assert checked(*sorted(VERIFIED)).exit_code == 0
    for identifier in sorted(set(FATES) - VERIFIED):
        assert checked(identifier).exit_code == 1, identifier


FATES_FILE = """
from resstream.claim import at_least, at_most, claim
from resstream.domains import Vector
from resstream.reference import row_norms

OVER = {"x": Vector("d")}


def never(x):
    return at_most(row_norms(x), -1)


held = claim("held", over=OVER)(lambda x: at_least(row_norms(x), 0))
refuted = claim("refuted", over=OVER, expect="fails")(lambda x: at_most(row_norms(x), 1))
unexpected = claim("unexpected", over=OVER, expect="fails")(lambda x: at_least(row_norms(x), 0))
vacuous = claim("vacuous", over=OVER, assuming=(never,))(lambda x: at_least(row_norms(x), 0))
error = claim("error", over=OVER)(lambda x: 1 / 0)
"""


def test_a_claim_collected_by_pytest_passes_only_if_verified(tmp_path):
    """The same through the plugin: two pass, nothing is skipped, everything else fails."""
    (tmp_path / "test_fates.py").write_text(FATES_FILE)
    options = ["-q", "-p", "no:cacheprovider", "--claim-budget", "2000"]
    command = [sys.executable, "-m", "pytest", *options, "test_fates.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "3 failed, 2 passed" in done.stdout
    assert "skipped" not in done.stdout
    assert "xfailed" not in done.stdout


SILENT = {"skip", "skipif", "xfail", "importorskip"}


def silenced(source: str) -> list[str]:
    """Names in a test file that keep a test from running or from counting."""
    return [
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr in SILENT
        and isinstance(node.value, (ast.Name, ast.Attribute))
        and ast.unparse(node.value) in ("pytest", "pytest.mark", "unittest")
    ]


WITHOUT_WHAT_THEY_TEST = {
    "tests/certificates/test_proofs.py": ["skipif"],  # where coqc is not found, with the command that brings it
    "tests/certificates/test_rocq.py": ["skipif"],
    "tests/certificates/test_theorems.py": ["skipif"],
    "tests/models/conftest.py": ["importorskip"],  # where torch and transformers are not installed
    "tests/properties/test_cluster.py": ["importorskip"],  # where Dask, which the tests' extra brings, is not installed
    "tests/properties/test_workers.py": ["importorskip"] * 3,  # loky and cloudpickle likewise
    "tests/soundness/test_orphans.py": ["importorskip"],
}


def test_no_test_of_this_suite_is_silenced():
    found = {str(path.relative_to(ROOT)): names for path in SOURCES if (names := silenced(path.read_text()))}
    assert found == WITHOUT_WHAT_THEY_TEST
    assert len(silenced("import pytest\n@pytest.mark.skip\ndef test(): pytest.importorskip('x'); pytest.xfail()")) == 3


# ---- tolerances are stated ---------------------------------------------------

STATED = {"allclose": {"atol"}, "isclose": {"atol"}, "assert_allclose": {"atol"}, "approx": {"rel", "abs"}}


def unstated(source: str) -> list[str]:
    """Comparisons of floats that leave the tolerance to its default: an absolute one passes anything that is small."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        wanted = STATED.get(node.func.attr)
        if wanted and ast.unparse(node.func.value) in ("np", "np.testing", "pytest", "math"):
            given_by_name = {keyword.arg for keyword in node.keywords}
            if not given_by_name & wanted:
                found.append(f"line {node.lineno}: {ast.unparse(node.func)}")
    return found


def test_no_comparison_of_this_suite_has_a_default_tolerance():
    found = {str(path.relative_to(ROOT)): calls for path in SOURCES if (calls := unstated(path.read_text()))}
    assert found == {}
    assert unstated("np.allclose(a, b)\npytest.approx(1)\nnp.isclose(a, b, rtol=1e-3)") == [
        "line 1: np.allclose",
        "line 2: pytest.approx",
        "line 3: np.isclose",
    ]
    assert unstated("np.allclose(a, b, rtol=1e-9, atol=0)\npytest.approx(1, rel=1e-9)") == []
    r = 0.2**12  # what twelve contractions leave: the default calls it equal to its triple
    assert np.isclose(r, 3 * r, rtol=1e-5, atol=1e-8)
    assert not np.isclose(r, 3 * r, rtol=1e-5, atol=0)


# ---- random matrices are not degenerate --------------------------------------

SIZE = 6


@claim("variety", over={"A": RowStochastic("n")}, sizes={"n": range(SIZE, SIZE + 1)})
def stochastic(A):
    return at_most(dobrushin(A), 1)


def share_with_equal_rows(matrices):
    return np.mean([any((A[i] == A[j]).all() for i in range(SIZE) for j in range(i)) for A in matrices])


def share_of_constants(matrices):
    return np.mean([len(np.unique(A)) == 1 for A in matrices])


def distinct(matrices):
    """Median number of different values among the 36 entries."""
    return np.median([len(np.unique(A)) for A in matrices])


def drawn(strategy):
    """What a strategy draws in 300 examples, without shrinking or steering."""
    seen = []

    @seed(0)
    @settings(
        max_examples=300, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def look(value):
        seen.append(value)

    look()
    return seen


def built(raws, stated=None):
    stated = stated or stochastic
    with FLOAT64.working():
        return np.array([stated.build(raw)["A"] for raw in raws])


@pytest.fixture(scope="module")
def of_strategy():
    return built(drawn(instances(stochastic)))


@pytest.fixture(scope="module")
def of_sampler():
    with FLOAT64.working():
        return stochastic.build(random_batch(stochastic, np.random.default_rng(0), 3000))["A"]


def test_the_strategy_is_not_mostly_degenerate(of_strategy):
    """Ties are drawn on purpose, but rarely; beyond that a matrix seldom repeats a row or a value.

    The stock strategy for arrays, which fills most cells with one value, does not pass the same three conditions.
    """

    def varied(matrices):
        return (
            share_with_equal_rows(matrices) <= 0.1 and share_of_constants(matrices) <= 0.03 and distinct(matrices) >= 8
        )

    assert varied(of_strategy)
    plain = drawn(stock.arrays(float, (SIZE, SIZE), elements=st.floats(0, 1)))
    assert not varied(plain)
    assert share_with_equal_rows(plain) > 0.6
    assert share_of_constants(plain) > 0.1


def test_the_engine_does_not_steer_towards_degenerate_ones(monkeypatch):
    """As drawn in a run, with its climb on the margin: a trivial tie is the nearest thing to a violation there is."""
    seen = []
    looked_at = search.examine

    def examine(claim, raw, *rest, **named):
        seen.append(raw.at(0))
        return looked_at(claim, raw, *rest, **named)

    monkeypatch.setattr(search, "examine", examine)
    contraction = claims.lookup("contraction.diameter").replace(sizes={"n": range(SIZE, SIZE + 1), "d": range(2, 3)})
    search.run_chunk(contraction, search.Chunk("hypothesis", 1, 200), 0)
    assert len(seen) >= 200
    assert share_with_equal_rows(built(seen, contraction)) <= 0.15


def test_the_sampler_keeps_a_generic_half(of_sampler):
    """Recipes with ties, one-hot and rank-one rows are four of nine; of the rest hardly one repeats a row."""
    assert share_with_equal_rows(of_sampler) <= 0.25
    assert share_of_constants(of_sampler) <= 0.01
    generic = [A for A in of_sampler if len(np.unique(A)) == SIZE * SIZE]
    assert len(generic) >= len(of_sampler) // 3


def test_both_reach_what_the_theorems_turn_on(of_sampler):
    """Coefficients of 0 and 1, and every quarter of [0, 1]: the sampler at 6 x 6, the strategy at 3 x 3."""
    small = stochastic.replace(sizes={"n": range(3, 4)})
    for matrices in (of_sampler, built(drawn(instances(small)), small)):
        coefficients = dobrushin(matrices).ravel()
        assert (coefficients == 0).any()
        assert (np.abs(coefficients - 1) <= SIZE * np.finfo(float).eps).any()
        quarters = np.histogram(coefficients, bins=4, range=(0, 1))[0] / len(coefficients)
        assert (quarters > 0.01).all(), quarters


# ---- workers ----------------------------------------------------------------


def collected(files: list[str], hash_seed: str) -> list[str]:
    """The tests of these files that a worker with this hash seed collects, in order."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONHASHSEED"] = hash_seed
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_another_worker_collects_the_same_tests_in_the_same_order(request):
    """Sets are ordered by hashes, which differ between processes: with another hash seed the collection must not."""
    here = [item.nodeid for item in request.session.items]
    files = list(dict.fromkeys(name.partition("::")[0] for name in here))
    chosen = set(here)
    assert [name for name in collected(files, "1") if name in chosen] == here


def test_parameters_in_a_set_would_be_seen():
    """The check above can fail: names in a set come in another order for another hash seed."""
    program = "print(*{'one', 'two', 'three', 'four', 'five', 'six'})"
    orders = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in range(1, 5)
    }
    assert len(orders) > 1


CAPS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
WATCH = """
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy" and not seen:
            seen.append([os.environ.get(cap) for cap in {caps}])
seen = []
sys.meta_path.insert(0, Watch())
{run}
print(seen)
"""


@pytest.mark.parametrize(
    "run",
    [
        f"import runpy; runpy.run_path({str(ROOT / 'conftest.py')!r})",
        "import resstream.cli, resstream.claims",
    ],
    ids=["conftest", "command line"],
)
def test_threads_are_capped_before_numpy_is_imported(run):
    """One BLAS thread for each worker: set later it has no effect, and set by the user it stays."""
    unset = {name: value for name, value in os.environ.items() if name not in CAPS}
    for environment, expected in ((unset, ["1"] * 3), ({**unset, "OMP_NUM_THREADS": "4"}, ["1", "4", "1"])):
        program = WATCH.format(caps=CAPS, run=run)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        assert done.stdout.splitlines()[-1] == str([expected])


def test_no_deadline_makes_a_cold_start_a_failure():
    """Profiles of this suite: no deadline, no database between runs, and derandomised but for the deep one."""
    current = settings()
    assert current.deadline is None
    assert current.database is None
    assert current.derandomize == (os.environ.get("RESSTREAM_PROFILE", "default") != "deep")
