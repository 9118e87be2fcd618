"""Documents are held to the code: tables, commands, names of files and defaults."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from resstream import claims
from resstream.claims.usage import exercises_reference
from resstream.falsify import profiles
from resstream.falsify.search import search

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_claims_table_equals_the_registry():
    assert (ROOT / "CLAIMS.md").read_text() == claims.as_markdown(), "run: resstream list --markdown > CLAIMS.md"


def test_every_claim_stands_in_the_table_once():
    table = claims.as_markdown().partition("## Kernel-checked")[0]  # where some stand again
    for identifier in claims.library():
        assert len(re.findall(rf"^\| `{re.escape(identifier)}` \|", table, flags=re.M)) == 1


def test_the_readme_counts_apart_what_exercises_the_reference():
    total = len(claims.library())
    exercising = sum(map(exercises_reference, claims.library().values()))
    figure = (
        f"Of the {total} claims {exercising} exercise the reference implementation; "
        f"{total - exercising} are pure arithmetic"
    )
    assert figure in " ".join(README.split()), f"the README should say: {figure}"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.M | re.S)


def test_two_commands_of_the_readme_do_all_the_setup():
    for marker, last in (("main", ".venv/bin/resstream check"), ("tests", ".venv/bin/pytest -n auto")):
        (command,) = re.findall(rf"<!-- {marker} -->\n```sh\n(.*?)\n```", README, flags=re.S)
        assert "python3 -m venv .venv && .venv/bin/pip install" in command
        assert command.endswith(f"&& {last}")
    assert "<!-- tests -->" in (ROOT / ".ci" / "run").read_text(), "CI takes its test command from the README"


CONSOLE = blocks("console")


@pytest.mark.parametrize("number", range(len(CONSOLE)))
def test_a_console_example_of_the_readme_prints_what_it_says(number, tmp_path):
    """Seconds and spaces aside. A line `...` stands for any lines."""
    command, _, expected = CONSOLE[number].partition("\n")
    assert command.startswith("$ resstream ")
    arguments = shlex.split(command.removeprefix("$ resstream "))
    done = subprocess.run(
        [sys.executable, "-c", "from resstream.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    pattern = ".*?".join(re.escape(normal(part)) for part in re.split(r"^\.\.\.$", expected, flags=re.M))
    assert re.fullmatch(pattern, normal(done.stdout), flags=re.S), done.stdout


def normal(text):
    """Without what differs from machine to machine: seconds, counts that hang on the last bit, widths of columns."""
    text = re.sub(r"\b\d{1,3}(,\d{3})+\b|\b\d+(?= float64 violations)", "N", text)
    text = re.sub(r"\b\d+\.\d\d?(?= ?s\b|$)", "S", text, flags=re.M)
    return " ".join(text.split())


def test_every_file_that_the_readme_names_exists():
    named = set(
        re.findall(r"`((?:resstream|tests|benchmarks|docs)/[\w./*-]+|[A-Z]+\.md|conftest\.py|pyproject\.toml)`", README)
    )
    assert len(named) >= 10
    for name in named:
        assert list(ROOT.glob(name.rstrip("/"))), name


def test_every_command_that_the_readme_names_exists():
    from resstream.cli import app

    known = {c.name or c.callback.__name__ for c in app.registered_commands}
    used = set(re.findall(r"resstream (\w+)\b", " ".join(blocks("console") + blocks("sh"))))
    assert used
    assert used <= known


def test_the_table_of_profiles_equals_the_code():
    assert f"<!-- profiles -->\n{profiles.as_markdown()}\n" in README


def test_the_python_example_of_the_readme_is_a_claim_that_survives():
    (example,) = blocks("python")
    namespace = {}
    exec(compile(example, "README.md", "exec"), namespace)
    assert search(namespace["two_layers"], profiles.profile("quick").chunks()).status == "survived"
