"""Every command with odd values in every place: an error of ours, a status of its own or bad usage, never a crash.

Commands and their options are found by walking the command line, so a new command without good arguments here fails.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from resstream import claims
from resstream.audit import proofs
from resstream.campaign import Store
from resstream.cli import app
from resstream.cli import audit as audit_command
from resstream.cli.output import plain
from resstream.errors import ResstreamError
from resstream.falsify import check as checking
from resstream.falsify import run
from resstream.induction import reproduce as reproducing
from resstream.lab import gallery

GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = {
    f"{name} {inner}".strip(): command
    for name, group in GROUP.commands.items()
    for inner, command in getattr(group, "commands", {"": group}).items()
}

GOOD: dict[str, dict[str, str]] = {
    "check": {"patterns": "contraction.diameter", "--profile": "quick", "--workers": "1"},
    "list": {"patterns": "contraction"},
    "show": {"identifier": "contraction.diameter"},
    "falsify": {"identifier": "contraction.diameter_squared", "--budget": "64", "--no-memory": ""},
    "replay": {"file": "honest.json", "--seconds": "20"},
    "prove": {"identifier": "contraction.diameter_squared"},
    "audit": {"names": "contraction.diameter_squared"},
    "new": {"name": "theorem"},
    "campaign search": {"patterns": "contraction.diameter", "--hours": "1", "--store": "new", "--workers": "1"},
    "campaign report": {"store": "kept"},
    "campaign merge": {"store": "merged", "others": "kept"},
    "reproduce": {},
    "observe": {"source": "tiny.npz", "--claims": "contraction.diameter", "--workers": "1"},
    "lab": {"out": "lab.html"},
    "gallery": {"directory": "site", "patterns": "contraction.diameter", "--workers": "1"},
}
"""Arguments and options with which each command works, or ends soon."""

HONEST = json.dumps(run.falsify(claims.lookup("contraction.diameter_squared")).counterexample.json())

VALUES = (
    *("", " ", "x", "-1", "0", "1", "1.5", "nan", "inf", "-inf", "1e300", "1e-320", "9" * 30, "٣", "²", "True", "None"),
    *("--", "-", "=", "n=", "=2", "n=2", "n=2:3", "n=3:2", "n=9999", "A=Causal(n)", "A=Causal(0)", "A=Causal(-3)"),
    *('A=Causal("n d")', "A=Causal(m)", 'A=Stack("L", 3)', "A=Scalar(5, 1)", 'A=Scalar(None, "a")', "A=Matrix(n, d)"),
    *("norm=Norm(d, kinds=())", "norm=Norm(d, kinds=5)", "norm=Norm(0)", "A=__import__('os')", "A=Causal(n).x", "A"),
    *("norm", "amax(A, 99)", "total(A, -9)", "L1", "1/0", "rhs @ X", "((rhs)**16)**16", "A.T", "lambda: 1", "rhs[0]"),
    *("log(0 * rhs)", "sqrt(-1)", "rotary(X, 3)", "diameter(norm)", "subset_sum(A)", "(" * 200, "rhs;rhs", "'", "{}"),
    *(
        "/",
        "/dev/null",
        "/dev/full",
        "/dev/null/x",
        "/proc/x",
        "/no/such",
        "..",
        ".",
        "~",
        "nul\\x",
        "a" * 300,
        "é" * 200,
    ),
    *(
        "\x1b[2J",
        "a\nb",
        "\u202e",
        "[red]x[/red]",
        "%s",
        "{0}",
        "$HOME",
        "*",
        "?",
        "nosuch.py",
        "nosuch.py::x",
        "::",
        ".py",
    ),
    *("text", "json", "quick", "deeep", "contraction.*", "[", "0,2-5", "5-2", "0-99999999999", "shipped:two_layers:x"),
)


def values_of(parameter: Any) -> list[str]:
    return [] if getattr(parameter, "is_flag", False) else list(VALUES)


def place_of(parameter: Any) -> str:
    return parameter.name if parameter.param_type_name == "argument" else parameter.opts[0]


def line(command: str, given: dict[str, str]) -> list[str]:
    """A command line: options first, then the arguments behind `--`."""
    options = [
        part
        for name, value in given.items()
        if name.startswith("-")
        for part in ([name] if name == "--no-memory" else [name, value])
    ]
    return [*command.split(), *options, "--", *(value for name, value in given.items() if not name.startswith("-"))]


def outcome(arguments: list[str]) -> tuple[str, str]:
    """What a command line comes to: "ours", "exit N", or what is a fault."""
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            GROUP.main(args=arguments, prog_name="resstream")
    except SystemExit as ending:
        return f"exit {ending.code}", printed.getvalue()
    except (ResstreamError, OSError) as failure:  # `run` says both in one line
        return "ours", str(failure)
    except BaseException as failure:
        return "foreign", f"{type(failure).__name__}: {failure}"
    return "exit 0", printed.getvalue()


def test_every_command_has_good_arguments_here() -> None:
    assert set(COMMANDS) <= set(GOOD), "a command without arguments to start from"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The work of commands that work long is left out here: what is tried are their arguments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        audit_command, "_audited", lambda *_: audit_command.Answer(audit_command.Found(1, "", "", {}, "", True))
    )
    monkeypatch.setattr(checking, "check", lambda *_, **__: iter(()))
    monkeypatch.setattr(run, "falsify", nothing)
    monkeypatch.setattr(proofs, "prove", nothing)
    monkeypatch.setattr("resstream.campaign.run._Campaign.run", nothing)
    monkeypatch.setattr(reproducing, "reproduce", nothing)
    monkeypatch.setattr(gallery, "write_gallery", nothing)
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    Path("honest.json").write_text(HONEST)
    Store("kept").close()
    np.savez("tiny.npz", **{"layers.0.pattern": np.tri(3)[None] / np.arange(1, 4)[:, None], "layers.0.read": np.eye(3)})


def nothing(*_: object, **__: object) -> None:
    """In place of a search, once its arguments have been read."""
    raise typer.Exit(0)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_odd_values_are_refused_in_words_of_ours_or_taken(command: str) -> None:
    faults, tried = [], 0
    for parameter in COMMANDS[command].params:
        place = place_of(parameter)
        for value in values_of(parameter)[:: 1 if command == "falsify" else 2]:
            kind, text = outcome(line(command, {**GOOD[command], place: value}))
            tried += 1
            if kind not in ("ours", "exit 0", "exit 1", "exit 2", "exit 3"):
                faults.append(f"{place} {value[:40]!r}: {kind} {text[:200]}")
            if "Traceback" in text:
                faults.append(f"{place} {value[:40]!r}: a traceback")
    assert faults == []
    assert tried >= 40


def test_what_is_printed_of_a_message_obeys_nobody() -> None:
    assert plain("a\x1b[2Jb\x07\u202e\n\ud800c") == "a\\x1b[2Jb\\x07\\u202e\n\\ud800c"


# ---- surroundings -----------------------------------------------------------

SURROUNDINGS = {
    "closed output": ("exec {0} list contraction >&-", 0, "standard output is closed"),
    "all streams closed": ("exec {0} list contraction >&- 2>&- <&-", 0, ""),
    "a full device": ("exec {0} list contraction --json > /dev/full", 2, "No space left on device"),
    "no directory": (
        "mkdir x; cd x; rmdir ../x; exec {0} falsify contraction.diameter_squared --budget 2000",
        1,
        "deleted",
    ),
    "few files": ("ulimit -n 12; exec {0} check contraction.diameter --profile quick --workers 8", 0, ""),
}


@pytest.mark.parametrize("case", SURROUNDINGS)
def test_surroundings_are_borne_or_named(case: str, tmp_path: Path) -> None:
    script, status, message = SURROUNDINGS[case]
    command = f"'{sys.executable}' -c 'from resstream.cli import main; main()'"
    done = subprocess.run(
        ["bash", "-c", script.format(command)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
    )
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
