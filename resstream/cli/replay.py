"""The command `resstream replay`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from resstream.cli.output import REFUTED, UNDECIDED, console
from resstream.errors import ResstreamError


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A counterexample as JSON.")],
    claims_file: Annotated[
        str | None, typer.Option("--claims", metavar="FILE.py", help="The file that states the claim; it is executed.")
    ] = None,
    form: Annotated[str, typer.Option("--as", help="text, latex, python, pytest or json.")] = "text",
) -> None:
    """Judge a counterexample again, from its file alone.

    Exit status: 1 it refutes the claim, 0 it does not, 2 bad usage or a broken file, 3 it could not be decided.
    """
    from resstream.falsify import judge
    from resstream.falsify.replay import replay as judged_again

    counterexample = judged_again(file, claims_file)
    forms: dict[str, Callable[[], str]] = {
        "latex": counterexample.latex,
        "python": counterexample.snippet,
        "pytest": counterexample.pytest_file,
        "json": lambda: json.dumps(counterexample.json(), indent=2),
    }
    outcome = counterexample.judgement.outcome
    if form != "text" and form not in forms:
        raise ResstreamError(f"--as {form}: expected text, {', '.join(forms)}")
    if form != "text":
        sys.stdout.write(forms[form]() + "\n")
    elif outcome == judge.VIOLATED:
        console.print(counterexample)
    else:
        console.print(f"{counterexample.claim.id}: this instance does not refute it ({outcome})", highlight=False)
    if outcome != judge.VIOLATED:
        raise typer.Exit(UNDECIDED if outcome == judge.UNDECIDED else 0)
    raise typer.Exit(REFUTED)


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(replay)
