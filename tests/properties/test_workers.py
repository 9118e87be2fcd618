"""Whoever does the work, the verdict is the same bit for bit; what is lost with a process is tried again, then said."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

import resstream as rs
from resstream.errors import ResstreamError
from resstream.falsify.report import verdict_json
from resstream.falsify.variants import load_claims
from resstream.workers import Here, Run, Task, carried, hired
from resstream.workers.carried import Carried, serve, versions
from resstream.workers.forked import Forked

HINT = "not installed: pip install 'resstream[cluster]'"
FACTOR = rs.exact("0.99")
BUDGET = 6000


def true():  # claims at the top of a file of tests would be collected
    return rs.lookup("contraction.diameter")


def false():
    return true().replace(rhs=lambda rhs: FACTOR * rhs)  # a closure over this module, which workers do not have


def said(verdict):
    return json.loads(json.dumps({**verdict_json(verdict), "seconds": 0}))


def verdicts(**workers):
    return [said(rs.falsify(one, BUDGET, **workers)) for one in (true(), false())]


@pytest.fixture(scope="module")
def expected():
    found = verdicts()
    assert [one["status"] for one in found] == ["survived", "refuted"]
    return found


# ---- on one machine ---------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 3, 40])
def test_forked_processes(expected, workers):
    assert verdicts(workers=workers, seconds=300) == expected


def test_threads(expected):
    """FLINT's precision is global to a process: the chunks come one at a time, and none goes on after the verdict."""
    with ThreadPoolExecutor(4) as executor:
        assert verdicts(executor=executor) == expected


def test_loky(expected, monkeypatch):
    loky = pytest.importorskip("loky", reason=HINT)
    monkeypatch.setattr("resstream.workers.hire.can_fork", lambda: False)
    assert type(hired(2)).__name__ == "Loky"
    try:
        assert verdicts(workers=2) == expected
        run = Run([Task(ends_its_process, "loky", (number,)) for number in range(4)], hired(2))
        assert sorted(number for number, _ in run.results()) == [0, 1, 3]
        assert [note.partition(":")[0] for note in run.notes] == ["chunk 2 was lost"]
    finally:
        loky.get_reusable_executor().shutdown(kill_workers=True)


def ends_its_process(_, number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_subject_that_comes_later_is_inherited_all_the_same():
    seen = []
    staff = Forked(2)
    for rounds in range(2):  # a lock cannot be sent
        tasks = (Task(describe, (threading.Lock(), rounds, number)) for number in range(4))
        seen += [outcome for _, outcome in sorted(Run(tasks, staff).results())]
    assert seen == [(rounds, number) for rounds in range(2) for number in range(4)]


def describe(subject):
    return subject[1:]


def test_where_no_process_may_be_started_the_work_is_done_here(monkeypatch):
    monkeypatch.setattr("multiprocessing.process._current_process._config", {"daemon": True})
    assert isinstance(hired(3), Here)


# ---- what goes wrong --------------------------------------------------------


class Fragile:
    """An executor that loses tasks: the attempts at which it does are given."""

    def __init__(self, fails):
        self.fails, self.attempts, self.flying, self.company = fails, [], 0, []

    def submit(self, function, *arguments):
        number = pickle.loads(arguments[-1])[0]
        self.attempts.append(number)
        self.company.append(self.flying)
        self.flying += 1
        future = Counted(self)
        if self.fails(number, self.attempts.count(number)):
            future.set_exception(BrokenProcessPool("all at once"))
        else:
            future.set_result(function(*arguments))
        return future


class Counted(Future):
    def __init__(self, executor):
        super().__init__()
        self.executor = executor

    def result(self, timeout=None):
        self.executor.flying -= 1
        return super().result(timeout)


def square(_, number):
    return number**2


def squares(executor, count=6):
    run = Run([Task(square, "numbers", (number,)) for number in range(count)], Carried(executor, 2))
    return dict(run.results()), run.notes


def test_a_lost_task_is_tried_again_alone():
    executor = Fragile(lambda number, attempt: number == 3 and attempt == 1)
    assert squares(executor) == ({number: number**2 for number in range(6)}, [])
    second = [place for place, number in enumerate(executor.attempts) if number == 3][1]
    assert executor.company[second] == 0
    assert max(executor.company) == 1


def test_a_task_that_is_lost_twice_is_said_and_the_others_are_done():
    executor = Fragile(lambda number, _: number == 3)
    found, notes = squares(executor)
    assert sorted(found) == [0, 1, 2, 4, 5]
    assert notes == ["chunk 3 was lost: BrokenProcessPool: all at once"]


def test_workers_that_cannot_be_reached_end_the_run():
    class Gone:
        def submit(self, *_):
            raise ConnectionRefusedError("nobody there")

    assert squares(Gone()) == ({}, ["no worker can be given work: ConnectionRefusedError: nobody there"])
    verdict = rs.falsify(true(), BUDGET, executor=Gone())
    assert verdict.status == "gave up"
    assert any("chunks were not done" in note for note in verdict.notes)


def test_what_a_task_raises_is_raised():
    with ThreadPoolExecutor(2) as executor, pytest.raises(ResstreamError, match="engine 'guess'"):
        rs.falsify(true(), BUDGET, engines=["guess"], executor=executor)
    with ThreadPoolExecutor(2) as executor, pytest.raises(ZeroDivisionError):
        list(Run([Task(divide, 1, (0,))], Carried(executor, 2)).results())


def divide(above, below):
    return above / below


def test_other_versions_are_refused_before_anything_is_unpacked():
    others = tuple((name, "0.0" if name == "numpy" else value) for name, value in versions())
    answer = serve(others, "", "", b"no pickle", b"no pickle")
    with pytest.raises(ResstreamError, match=r"other versions than here: numpy 0\.0 \(here: [0-9.]+\)$"):
        Carried(None, 1).result(finished(pickle.dumps(("differs", others))))
    assert pickle.loads(answer) == ("differs", versions())
    assert carried.difference(versions()) == ""


def finished(value):
    future = Future()
    future.set_result(value)
    return future


def test_bad_executors_and_claims_that_cannot_be_sent():
    with pytest.raises(ResstreamError, match=r"executor: expected something with submit.*got int"):
        rs.falsify(true(), BUDGET, executor=3)
    lock = threading.Lock()
    locked = true().replace(rhs=lambda rhs: rhs if lock else 0 * rhs, id="mine.locked")
    pytest.importorskip("cloudpickle", reason=HINT)
    with ThreadPoolExecutor(1) as executor, pytest.raises(ResstreamError, match=r"mine\.locked cannot be sent"):
        rs.falsify(locked, BUDGET, executor=executor)


# ---- files of claims travel -------------------------------------------------

FILE = """
    from dataclasses import dataclass
    import resstream as rs
    from lies_beside_travels import half

    @rs.claim("mine.travels", over={"A": rs.domains.RowStochastic("n")})
    def travels(A):
        return rs.at_most(rs.reference.dobrushin(A), half(A) + half(A))
"""
NEIGHBOUR = """
    import resstream as rs

    def half(A):
        return rs.reference.dobrushin(A) * rs.exact(1, 2)
"""
FAR = "import sys; from resstream.workers.carried import serve; import pickle; " + (
    "sys.stdout.buffer.write(serve(*pickle.loads(sys.stdin.buffer.read())))"
)


def test_a_claim_of_a_file_needs_neither_it_nor_its_neighbours_at_the_far_end(tmp_path):
    pytest.importorskip("cloudpickle", reason=HINT)
    write(tmp_path)
    stated = load_claims(tmp_path / "claims_mine.py")["mine.travels"]
    captured = []

    class Captures:
        def submit(self, function, *arguments):
            captured.append(arguments)
            return finished(function(*arguments))

    here = said(rs.falsify(stated, 2000, executor=Captures()))
    assert here["status"] == "survived"
    shutil.rmtree(tmp_path)
    sent = pickle.dumps(captured[0])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if "site-packages" in path)}
    environment["PYTHONPATH"] += os.pathsep + str(Path(rs.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", FAR], input=sent, capture_output=True, env=environment, cwd="/")
    assert done.returncode == 0, done.stderr.decode()
    kind, tally = pickle.loads(done.stdout)
    assert (kind, tally.error) == ("value", "")
    assert tally.accepted > 0


def write(folder):
    import textwrap

    (folder / "claims_mine.py").write_text(textwrap.dedent(FILE))
    (folder / "lies_beside_travels.py").write_text(textwrap.dedent(NEIGHBOUR))
