"""A real cluster of Dask: a scheduler and two workers as processes, one of which is killed in mid-run."""

import json
import os
import socket
import subprocess
import sys
import textwrap
import time

import pytest
from typer.testing import CliRunner

import resstream as rs
from resstream.cli import app
from resstream.errors import ResstreamError
from resstream.falsify.report import verdict_json
from resstream.workers import Run, Task, connected

distributed = pytest.importorskip("distributed", reason="not installed: pip install 'resstream[cluster]'")

BUDGET = 8_000


class Cluster:
    """A scheduler, two workers of one thread without a nurse, and the address of the scheduler."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = self.start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
        self.workers = [self.add() for _ in range(2)]

    def add(self):
        return self.start("dask_worker", self.address, "--nthreads", "1", "--no-nanny")

    def start(self, what, *arguments):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{what}", *arguments, "--no-dashboard"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def wait_for(self, count):
        with distributed.Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)
            return client

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("far"))
    try:
        started.wait_for(2)
        yield started
    finally:
        started.end()


def said(verdict):
    return json.loads(json.dumps({**verdict_json(verdict), "seconds": 0}))


def false():
    return rs.lookup("contraction.diameter").replace(rhs=lambda rhs: rs.exact("0.99") * rhs)


CLAIM = """
    import resstream as rs

    @rs.claim("mine.squared", over={"A": rs.domains.RowStochastic("n")})
    def squared(A):
        return rs.at_least(rs.reference.dobrushin(A) * rs.reference.dobrushin(A), rs.reference.dobrushin(A))
"""


@pytest.fixture
def resstream(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims_mine.py").write_text(textwrap.dedent(CLAIM))
    return lambda *arguments: CliRunner().invoke(app, arguments)


def test_commands_on_a_cluster_say_the_same_and_files_travel(cluster, resstream):
    on = ("--json", "--on", cluster.address)
    for command in (
        ("falsify", "claims_mine.py", "--budget", "3000", "--no-memory"),
        ("check", "claims_mine.py", "contraction.diameter", "--profile", "quick"),
    ):
        there, here = (json.loads(resstream(*command, *more).stdout) for more in (on, ("--json",)))
        assert without_times(there) == without_times(here)
    audited = json.loads(resstream("audit", "claims_mine.py", "--quick", "--budget", "500", *on).stdout)
    assert [(one["claim"], one["status"]) for one in audited] == [("mine.squared", "refuted")]


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name != "seconds"}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_what_cannot_be_reached_is_said(cluster, resstream):
    for arguments, reason in (
        (["--on", "nowhere"], "expected the address of a Dask scheduler, such as tcp://host:8786"),
        (["--on", cluster.address, "--workers", "2"], "expected one of the two"),
    ):
        failure = resstream("check", "contraction.diameter", *arguments).exception
        assert isinstance(failure, ResstreamError)
        assert reason in str(failure)


def test_workers_of_other_versions_are_refused(cluster, monkeypatch):
    monkeypatch.setattr("resstream.workers.cluster.versions", other_versions)
    refused = pytest.raises(ResstreamError, match=r"worker tcp://\S+ has other versions than here: python none")
    with refused, connected(cluster.address):
        pass


def other_versions():
    return (("numpy", "0.0"),)


def test_a_worker_killed_in_mid_run_changes_nothing_and_a_scheduler_that_goes_is_said(cluster):
    expected = [said(rs.falsify(one, BUDGET)) for one in (rs.lookup("contraction.diameter"), false())]
    assert [one["status"] for one in expected] == ["survived", "refuted"]
    killed = []

    def kill(_):
        if not killed:
            killed.append(cluster.workers[0].pid)
            cluster.workers[0].kill()

    with connected(cluster.address) as workers:
        assert workers.slots == 4
        found = rs.falsify(rs.lookup("contraction.diameter"), BUDGET, executor=workers, progress=kill)
        assert killed
        assert [said(found), said(rs.falsify(false(), BUDGET, executor=workers))] == expected
        assert 0 < workers.received < workers.sent < 1_000_000

    with distributed.Client(cluster.address, set_as_default=False) as client:  # as somebody has one of his own
        assert said(rs.falsify(false(), BUDGET, executor=client)) == expected[1]

    with connected(cluster.address) as workers:
        workers.patience = 1.0
        run = Run([Task(later, "x", (number,)) for number in range(40)], workers)
        done = []
        for number, _ in run.results():
            done.append(number)
            cluster.scheduler.kill()
    assert 1 <= len(done) < 40
    assert "the scheduler went away" in run.notes


def later(_, number):
    time.sleep(0.2)
    return number
