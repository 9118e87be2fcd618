"""Another repository, as others have it: plugin, pack, strategies and saved files together; and the files for CI."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from resstream.audit.files import new_pack

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ci"

CLAIMS = '''
import pytest
import resstream as rs
from gauge.claims import contracts

over = {"A": rs.domains.RowStochastic("n"), "X": rs.domains.Matrix("n", "d")}


@pytest.mark.parametrize("n", [2, 3])
@rs.claim("theirs.contracts", over=over, budget=1000)
def theirs(A, X):
    """diam(AX) <= tau(A) diam(X)."""
    return rs.at_most(rs.reference.diameter(A @ X), rs.reference.dobrushin(A) * rs.reference.diameter(X))


@pytest.mark.xfail(reason="false", strict=True)
@rs.claim("theirs.squared", over=over)
def squared(A, X):
    """diam(AX) <= tau(A)^2 diam(X)."""
    return rs.at_most(rs.reference.diameter(A @ X), rs.reference.dobrushin(A) ** 2 * rs.reference.diameter(X))
'''
TESTS = """
import os

import numpy as np
import resstream as rs
from hypothesis import given, settings


@settings(max_examples=10, deadline=None)
@given(A=rs.strategies.row_stochastic(n=3), X=rs.strategies.matrix(n=3, d=2))
def test_our_product(A, X):
    rs.assert_encloses(np.einsum("ij,jk->ik", A, X), rs.certified(lambda A, X: A @ X, A, X))


def test_the_pack_is_seen_and_there_is_no_fork():
    assert not hasattr(os, "fork")
    assert rs.lookup("gauge.contracts").statement
"""


@pytest.fixture
def repository(tmp_path):
    """A repository with claims and tests of its own beside an installed pack, on a system without fork."""
    (tmp_path / "source").mkdir()
    (new_pack(str(tmp_path / "source" / "gauge")) / "gauge").rename(tmp_path / "gauge")
    info = tmp_path / "gauge-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gauge\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[resstream.claims]\ngauge = gauge.claims\n")
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "claims_theirs.py").write_text(CLAIMS)
    (ours / "test_theirs.py").write_text(TESTS)
    (ours / "conftest.py").write_text("import os\n\nif hasattr(os, 'fork'):\n    del os.fork\n")
    return ours


def run(directory, *arguments):
    path = os.pathsep.join([str(directory.parent), str(ROOT), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_another_repository_uses_all_of_it(repository):
    quiet = ("-p", "no:cacheprovider", "-q", "--strict-markers", "-W", "error")
    done = run(
        repository, "pytest", *quiet, "-n", "2", "--claim-save=found", "--claim-seconds=600", "--junitxml=all.xml"
    )
    assert "5 passed, 1 xfailed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"theirs\.squared +refuted", done.stdout)
    saved = sorted(path.name for path in (repository / "found").iterdir())
    assert saved == ["test_theirs_squared.py", "theirs.squared.json"]
    again = run(repository.parent, "pytest", *quiet, str(repository / "found"), "--rootdir", str(repository))
    assert "1 passed" in again.stdout, again.stdout + again.stderr
    replayed = run(
        repository, "resstream", "replay", "found/theirs.squared.json", "--claims", "claims_theirs.py", "--as", "json"
    )
    assert replayed.returncode == 1, replayed.stderr
    assert json.loads(replayed.stdout)["claim"] == "theirs.squared"
    elsewhere = run(repository.parent, "resstream", "replay", "ours/found/theirs.squared.json")
    assert elsewhere.returncode == 1, elsewhere.stderr
    assert "theirs.squared fails, by its recorded terms" in elsewhere.stdout


# ---- files for CI -----------------------------------------------------------


def test_the_action_says_what_it_needs_and_its_check_runs(repository):
    action = yaml.safe_load((EXAMPLES / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    asked = set(re.findall(r"inputs\.(\w+)", json.dumps(steps)))
    assert asked == set(action["inputs"])
    assert all(("uses" in step) != ("run" in step) and ("shell" in step) == ("run" in step) for step in steps)
    (check,) = (step for step in steps if step.get("name") == "Check the claims")
    values = {name: value["default"] for name, value in action["inputs"].items()} | {"files": "claims_theirs.py"}
    environment = {name: values[re.search(r"inputs\.(\w+)", text)[1]] for name, text in check["env"].items()}
    path = os.pathsep.join([str(repository.parent), str(ROOT), *sys.path])
    bin_first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", check["run"]],
        cwd=repository,
        env={**os.environ, **environment, "PYTHONPATH": path, "PATH": bin_first},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (keep,) = (step for step in steps if step.get("if") == "failure()")
    kept = keep["with"]["path"].split()
    assert [name for name in kept if not (repository / name).exists()] == []


def test_the_hook_takes_the_files_of_claims_and_its_entry_runs(repository):
    (source,) = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text())["repos"]
    (hook,) = source["hooks"]
    assert {"id", "name", "language", "entry", "files"} <= set(hook)
    taken = [
        name
        for name in ("claims_theirs.py", "a/claims_b.py", "test_theirs.py", "claims_x.txt")
        if re.search(hook["files"], name)
    ]
    assert taken == ["claims_theirs.py", "a/claims_b.py"]
    command, *arguments = shlex.split(hook["entry"])
    assert command == "resstream"
    done = run(repository, "resstream", *arguments, "claims_theirs.py")
    assert done.returncode == 1
    assert "theirs.squared" in done.stdout
    (repository / "claims_theirs.py").write_text(CLAIMS.partition("@pytest.mark.xfail")[0])
    assert run(repository, "resstream", *arguments, "claims_theirs.py").returncode == 0
