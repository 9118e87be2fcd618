"""Replay files that mean harm: each is refused in words of ours, soon, and nothing of it is printed raw."""

import json
import os
import subprocess
import sys
import time

import pytest

from resstream import claims
from resstream.errors import ClaimError
from resstream.falsify import falsify
from resstream.falsify.replay import replay
from resstream.falsify.variants import vary


@pytest.fixture(scope="module")
def honest():
    claim = vary(claims.lookup("contraction.diameter"), rhs="dobrushin(A)**2 * diameter(X, norm)")
    return json.loads(json.dumps(falsify(claim).counterexample.json()))


def changed(data, path, value):
    """A copy with one entry at a path replaced (or, for the value `None`, taken away)."""
    copy = json.loads(json.dumps(data))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


GONE = object()
POWERS = "rhs"
for _ in range(9):
    POWERS = f"({POWERS})**16"

HOSTILE = [
    (("raw",), GONE),
    (("raw",), []),
    (("raw",), {}),
    (("raw", "arrays"), GONE),
    (("raw", "arrays", "A"), GONE),
    (("raw", "arrays", "A"), None),
    (("raw", "arrays", "A"), [["1", "0"], ["1/2"]]),
    (("raw", "arrays", "A"), [["1", "0"], "1"]),
    (("raw", "arrays", "A"), [[["1"], "0"], ["1", "0"]]),
    (("raw", "arrays", "A"), [["1/0", "0"], ["1", "0"]]),
    (("raw", "arrays", "A"), [["1" * 500, "0"], ["1", "0"]]),
    (("raw", "arrays", "A"), [[10**450, 0], [1, 0]]),
    (("raw", "arrays", "A"), [["١", "0"], ["1", "0"]]),
    (("raw", "arrays", "A"), [["1e5", "0"], ["1", "0"]]),
    (("raw", "arrays", "A"), [[0.5, 0], [1, 0]]),
    (("raw", "arrays", "A"), [[float("nan"), 0], [1, 0]]),
    (("raw", "arrays", "A"), [[True, 0], [1, 0]]),
    (("raw", "arrays", "B"), [[1]]),
    (("raw", "sizes", "n"), 2.0),
    (("raw", "sizes", "n"), True),
    (("raw", "sizes", "n"), 10**9),
    (("raw", "sizes", "n"), "2"),
    (("raw", "sizes", "\x1b[2J"), 2),
    (("raw", "sizes"), [2]),
    (("raw", "options", "norm.kind"), "\x1b]0;owned\x07"),
    (("raw", "options"), None),
    (("changes",), []),
    (("changes",), {"over": "A=Causal(n)"}),
    (("changes",), {"over": ["A"]}),
    (("changes",), {"over": {"A": 3}}),
    (("changes",), {"over": {"A": "__import__('os')"}}),
    (("changes",), {"over": {"A": "Causal(0)"}}),
    (("changes",), {"over": 5}),
    (("changes",), {"without": "finite"}),
    (("changes",), {"without": 5}),
    (("changes",), {"sizes": {"n": "²"}}),
    (("changes",), {"sizes": {"n": 3}}),
    (("changes",), {"rhs": 5}),
    (("changes",), {"rhs": POWERS}),
    (("changes",), {"rhs": "square(" * 30 + "rhs" + ")" * 30}),
    (("changes",), {"rhs": " + ".join(["rhs"] * 999)}),
    (("changes",), {"rhs": "rhs * 1e999999999"}),
    (("changes",), {"rhs": "(" * 10_000}),
    (("changes",), {"rhs": "norm"}),
    (("changes",), {"rhs": "A.__class__"}),
    (("changes",), {"what": "rhs"}),
    (("claim",), "no.such\x1b[31m"),
    (("claim",), 5),
    (("claim",), GONE),
    (("file",), "../../etc/passwd\x1b[2J"),
    (("file",), 5),
    (("named",), False),
    (("format",), "other"),
    (("format",), GONE),
]


@pytest.mark.parametrize("case", range(len(HOSTILE)))
def test_a_changed_file_is_refused_in_words_of_ours(tmp_path, honest, case):
    path, value = HOSTILE[case]
    file = tmp_path / "x.json"
    file.write_text(json.dumps(changed(honest, path, value)))
    start = time.monotonic()
    with pytest.raises(ClaimError) as refused:
        replay(file)
    assert time.monotonic() - start < 10
    assert len(str(refused.value)) < 2000


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "null", "[]", '"x"', "1" * 5000, "{}", "\ufeff{}", '{"a": ' * 5000, "\x00"]
)
def test_what_is_no_counterexample_is_refused(tmp_path, text):
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(ClaimError):
        replay(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ClaimError, match="not text in UTF-8"):
        replay(file)


def run(*arguments):
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from resstream.cli import main; main()", *arguments],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_nothing_of_a_file_reaches_the_terminal_raw(tmp_path, honest):
    file = tmp_path / "x.json"
    escape = "\x1b[2J\x1b]0;owned\x07"
    for path in (("engine",), ("file",), ("claim",)):
        file.write_text(json.dumps(changed(honest, path, escape)))
        done = run("replay", str(file))
        assert b"Traceback" not in done.stderr
        assert b"\x1b[2J" not in done.stdout + done.stderr, path
        assert b"\x07" not in done.stdout + done.stderr, path
