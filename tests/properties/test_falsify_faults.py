"""What goes wrong while a claim is attacked: the run ends with what it found, and says what it did not do."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from resstream.errors import ClaimError
from resstream.falsify.variants import load_claims

CLAIM_FILE = """
    import os, signal, time
    from resstream.arithmetic import FLOAT64
    from resstream.claim import at_most, claim
    from resstream.domains import Matrix, RowStochastic
    from resstream.reference import diameter, dobrushin

    over = {"A": RowStochastic("n"), "X": Matrix("n", "d")}


    def squared(A, X):
        return at_most(diameter(A @ X), dobrushin(A) * dobrushin(A) * diameter(X))


    def true(A, X):
        return at_most(diameter(A @ X), dobrushin(A) * diameter(X))


    @claim("mine.raises", over=over)
    def raises(A, X):
        if A.shape[-1] == 3:
            raise RuntimeError("three tokens are too many")
        return true(A, X)


    @claim("mine.returns_nothing", over=over)
    def returns_nothing(A, X):
        true(A, X)


    @claim("mine.hangs", over=over)
    def hangs(A, X):
        while A.shape[-1] == 3:
            time.sleep(0.01)
        return true(A, X)


    @claim("mine.hangs_when_shrunk", over=over, sizes={"n": range(3, 7)})
    def hangs_when_shrunk(A, X):
        while A.shape[:-2] and A.shape[0] == 1:  # the first batch of one is met by shrinking
            time.sleep(0.01)
        return squared(A, X)


    @claim("mine.kills_its_worker", over=over)
    def kills_its_worker(A, X):
        if A.shape[-1] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return true(A, X)


    @claim("mine.kills_once", over=over)
    def kills_once(A, X):
        if A.shape[-1] == 2 and not os.path.exists("killed"):
            open("killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return squared(A, X)


    @claim("mine.slow", over=over)
    def slow(A, X):
        open("started", "w").close()
        time.sleep(0.2)
        return true(A, X)


    @claim("mine.slow_to_shrink", over=over, sizes={"n": range(2, 7)})
    def slow_to_shrink(A, X):
        if os.path.exists("out/mine.slow_to_shrink.json"):  # written as soon as it was judged
            time.sleep(0.2)
        return squared(A, X)
"""


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "claims_mine.py").write_text(textwrap.dedent(CLAIM_FILE))
    return tmp_path


def command(*arguments):
    return [
        sys.executable,
        "-c",
        "from resstream.cli import main; main()",
        "falsify",
        *arguments,
        "--no-memory",
        "--json",
    ]


def run(directory, *arguments):
    done = subprocess.run(command(*arguments), cwd=directory, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_claim_that_raises_is_an_error_with_its_instance(directory, workers):
    status, verdict = run(directory, "claims_mine.py::mine.raises", "--workers", workers)
    assert (status, verdict["status"]) == (3, "error")
    assert verdict["error"].endswith("raised RuntimeError: three tokens are too many")
    assert verdict["accepted"] > 0


def test_a_claim_that_returns_no_relation_is_bad_usage(directory):
    done = subprocess.run(
        command("claims_mine.py::mine.returns_nothing"), cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "returned NoneType, expected a relation" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_claim_that_hangs_ends_at_the_time_limit(directory):
    for seconds in ("3", "12", "48"):  # a chunk hangs if it takes twenty times what others do: more, on a busy machine
        status, verdict = run(directory, "claims_mine.py::mine.hangs", "--seconds", seconds)
        assert "the time limit was reached" in verdict["notes"]
        assert any("chunks were not done" in note for note in verdict["notes"])
        if any("without an end" in note for note in verdict["notes"]) and verdict["accepted"] > 100:
            break
    assert (status, verdict["status"]) == (3, "gave up")
    assert any("without an end" in note for note in verdict["notes"])
    assert verdict["accepted"] > 100


def test_shrinking_that_hangs_is_broken_off_and_keeps_what_was_judged(directory):
    status, verdict = run(directory, "claims_mine.py::mine.hangs_when_shrunk", "--seconds", "3", "--save", "out")
    assert (status, verdict["status"]) == (1, "refuted")
    assert "shrinking was broken off: simpler counterexamples may exist" in verdict["notes"]
    saved = json.loads((directory / "out" / "mine.hangs_when_shrunk.json").read_text())
    assert saved["raw"] == verdict["counterexample"]["raw"]


def test_a_worker_killed_once_is_replaced_and_nothing_is_lost(directory):
    status, verdict = run(directory, "claims_mine.py::mine.kills_once", "--workers", "2")
    assert (status, verdict["status"]) == (1, "refuted")
    assert verdict["notes"] == []
    assert verdict["counterexample"]["raw"]["sizes"] == {"d": 1, "n": 2}


def test_a_chunk_that_kills_every_worker_is_named_and_the_others_are_done(directory):
    status, verdict = run(directory, "claims_mine.py::mine.kills_its_worker", "--workers", "2", "--budget", "20000")
    assert (status, verdict["status"]) == (3, "gave up")
    assert any("ended its process twice" in note for note in verdict["notes"])
    assert any("chunks were not done" in note for note in verdict["notes"])
    assert verdict["accepted"] > 100


def interrupted(directory, wait_for, *arguments):
    """Run, send Ctrl-C once the file `wait_for` is there, and return the exit status and the verdict."""
    process = subprocess.Popen(command(*arguments), cwd=directory, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (directory / wait_for).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    return process.returncode, json.loads(output)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_search_says_what_it_did_not_do(directory, workers):
    status, verdict = interrupted(directory, "started", "claims_mine.py::mine.slow", "--workers", workers)
    assert (status, verdict["status"]) == (3, "gave up")
    assert "interrupted" in verdict["notes"]
    assert any("chunks were not done" in note for note in verdict["notes"])


def test_an_interruption_while_shrinking_keeps_the_counterexample(directory):
    saved = "out/mine.slow_to_shrink.json"
    status, verdict = interrupted(directory, saved, "claims_mine.py::mine.slow_to_shrink", "--save", "out")
    assert (status, verdict["status"]) == (1, "refuted")
    assert "interrupted while shrinking: simpler counterexamples may exist" in verdict["notes"]
    assert json.loads((directory / saved).read_text())["raw"] == verdict["counterexample"]["raw"]
    assert not list((directory / "out").glob("*.part"))


# ---- files ------------------------------------------------------------------

TWICE = """
from resstream.claim import at_most, claim
from resstream.domains import Scalar

@claim("mine.same", over={"x": Scalar()})
def first(x):
    return at_most(x, 0)

@claim("mine.same", over={"x": Scalar()})
def second(x):
    return at_most(x, x)
"""


def test_two_claims_of_one_id_are_an_error_that_names_both(tmp_path):
    file = tmp_path / "claims_twice.py"
    file.write_text(TWICE)
    with pytest.raises(ClaimError, match=r"two claims 'mine.same': first \(.*line 5\), and second \(.*line 9\)"):
        load_claims(file)


def test_the_plugin_does_not_collect_two_claims_of_one_id(pytester):
    pytester.makepyfile(claims_twice=TWICE)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*two claims 'mine.same': * and *"])


def test_a_claims_file_may_import_its_neighbour_and_what_is_the_librarys_stays_so(tmp_path):
    (tmp_path / "neighbour.py").write_text("LARGEST = 7\n")
    file = tmp_path / "claims_mine.py"
    file.write_text(
        "from neighbour import LARGEST\n"
        "from resstream.claims.contraction import contraction_diameter\n"
        "from resstream.claim import at_most, claim\n"
        "from resstream.domains import Scalar\n\n"
        '@claim("mine.bounded", over={"x": Scalar(0, 1)})\n'
        "def bounded(x):\n"
        "    return at_most(x, LARGEST)\n\n"
        "again = bounded\n"
    )
    assert list(load_claims(file)) == ["mine.bounded"]
    assert str(tmp_path) not in sys.path
