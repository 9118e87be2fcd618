"""The walk through one audit is executed: its file, its commands and what they print, its Python."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "audit.md").read_text()
((NAME, CODE),) = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)^```$", TEXT, flags=re.M | re.S)
CONSOLE = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", TEXT, flags=re.M | re.S)


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("command", "expected"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_the_commands_print_what_is_shown(command, expected, tmp_path):
    """Spaces aside; `...` stands for anything."""
    (tmp_path / NAME).write_text(CODE)
    arguments = shlex.split(command)
    assert arguments.pop(0) == "resstream"
    done = subprocess.run(
        [sys.executable, "-c", "from resstream.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode == ("refuted" in expected.splitlines()[0]), done.stderr
    pattern = ".*?".join(re.escape(words(part)) for part in expected.split("..."))
    assert re.fullmatch(pattern, words(done.stdout), flags=re.S), done.stdout


def test_the_walk_has_a_false_theorem_and_a_true_one():
    first_lines = [expected.splitlines()[0] for _, expected in CONSOLE]
    assert [line.partition(": ")[2].split()[0].rstrip(",") for line in first_lines] == ["refuted", "survived"]


def test_the_python_example_gives_what_it_says():
    (code,) = re.findall(r"^```python\n(from resstream\.audit.*?)^```$", TEXT, flags=re.M | re.S)
    *setup, last = code.strip().splitlines()
    scope = {}
    exec("\n".join(setup), scope)
    expression, _, comment = last.partition("  # ")
    assert repr(eval(expression, scope)) == comment.partition(":")[0]


def test_files_that_the_walk_names_exist():
    for name in re.findall(r"`((?:docs|benchmarks|resstream)/[\w./]+)`", TEXT):
        assert (ROOT / name).exists(), name
