"""Where there is no fork, no `_multiprocessing`, nothing that can be written to, no UTF-8 and hardly any width."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import resstream as rs
from resstream import workers
from resstream.workers import forked

WITHOUT = {
    "fork": "import os; del os.fork",
    "multiprocessing": "import sys; sys.modules['_multiprocessing'] = None",
    "spawn_alone": "import multiprocessing as m; m.get_all_start_methods = lambda: ['spawn']",
}
WORK = """
    import json
    import resstream as rs
    from resstream import workers
    from resstream.falsify.report import verdict_json

    assert not workers.can_fork()
    claim = rs.lookup("contraction.diameter")
    false = claim.replace(rhs=lambda rhs: rs.exact("0.99") * rhs)
    for one in (claim, false):
        for workers in (1, 3):
            found = verdict_json(rs.falsify(one, 6000, workers=workers, seconds=60))
            print(json.dumps({**found, "seconds": 0}))
"""


@pytest.mark.parametrize("missing", WITHOUT)
def test_the_same_verdicts_without_processes(missing, tmp_path):
    from resstream.falsify.report import verdict_json

    code = f"{WITHOUT[missing]}\n{textwrap.dedent(WORK)}"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    claim = rs.lookup("contraction.diameter")
    false = claim.replace(rhs=lambda rhs: rs.exact("0.99") * rhs)
    for place, one in enumerate((claim, false)):
        with_processes = {**verdict_json(rs.falsify(one, 6000, workers=2, seconds=60)), "seconds": 0}
        assert lines[2 * place] == lines[2 * place + 1] == json.loads(json.dumps(with_processes))


def test_work_that_raises_or_ends_its_process_is_the_same_here(monkeypatch):
    monkeypatch.setattr(forked, "can_fork", lambda: False)

    def work(pipe):
        pipe.send(1)
        raise SystemExit

    worker = workers.fork(work)
    assert worker.pipe.poll(0)
    assert worker.pipe.recv() == 1
    with pytest.raises(EOFError):
        worker.pipe.recv()
    worker.kill()


def test_a_limit_in_time_is_kept_between_tasks():
    tasks = [workers.Task(abs, number) for number in range(5)]
    run = workers.Run(tasks, workers.Here(), seconds=1e-9)
    assert list(run.results()) == []
    assert run.notes == [workers.TIME_IS_UP]
    whole = workers.Run(tasks, workers.Here())
    assert list(whole.results(lambda number: number == 2)) == [(0, 0), (1, 1), (2, 2)]


CLAIM = """
    import resstream as rs

    @rs.claim("mine.ünïcode", over={"A": rs.domains.RowStochastic("n")})
    def squared(A):
        \"\"\"τ(A)² ≥ τ(A), which is false.\"\"\"
        return rs.at_least(rs.reference.dobrushin(A) * rs.reference.dobrushin(A), rs.reference.dobrushin(A))
"""


def test_commands_work_in_poor_surroundings(tmp_path):
    """No fork, an ASCII locale, 20 columns, warnings as errors, and neither home nor working directory to write to."""
    file = tmp_path / "claims_mine.py"
    file.write_text(textwrap.dedent(CLAIM), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    environment |= {"HOME": "/proc", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "COLUMNS": "20"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    for arguments, status in (
        (["falsify", f"{file}::mine.ünïcode", "--budget", "2000"], 1),
        (["check", str(file), "--profile", "quick"], 1),
        (["list", str(file)], 0),
    ):
        called = ["resstream", *arguments]
        code = f"import os, sys; del os.fork; sys.argv = {called!a}; from resstream.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], cwd="/proc", env=environment, capture_output=True
        )
        assert done.returncode == status, done.stderr.decode("utf-8", "replace")
        assert b"Traceback" not in done.stderr
        assert done.stdout
        done.stdout.decode("ascii")
