"""The command `resstream replay`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from resstream.cli.apart import apart
from resstream.cli.output import FORM, REFUTED, UNDECIDED, rendered, require_form, seconds_option
from resstream.errors import ResstreamError


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A counterexample as JSON.")],
    claims_file: Annotated[
        str | None, typer.Option("--claims", metavar="FILE.py", help="The file that states the claim; it is executed.")
    ] = None,
    form: Annotated[str, typer.Option("--as", help=FORM)] = "text",
    seconds: Annotated[float, seconds_option("A limit in time.")] = 120.0,
) -> None:
    """Judge a counterexample again, from its file alone.

    Without the code of a claim that is not of the library, by the terms that the file records, and that is said.
    Exit status: 1 it refutes the claim, 0 it does not, 2 bad usage or a broken file, 3 it could not be decided.
    """
    require_form(form)
    answer = apart(lambda _: _judged(file, claims_file, form), seconds)
    if answer.value is None:
        raise ResstreamError(f"{file}: {answer.failure}")
    outcome, text = answer.value
    sys.stdout.write(text)
    raise typer.Exit({"violated": REFUTED, "undecided": UNDECIDED, "undefined": UNDECIDED}.get(outcome, 0))


def _judged(file: str, claims_file: str | None, form: str) -> tuple[str, str]:
    """The outcome, and what is printed."""
    from resstream.falsify.counterexample import Counterexample
    from resstream.falsify.recorded import Recorded
    from resstream.falsify.replay import replay as judged_again

    found = judged_again(file, claims_file)
    outcome = found.judgement.outcome
    if isinstance(found, Recorded) and outcome != "violated":
        return outcome, f"{found.claim.id}: its recorded terms do not refute it ({found.judgement.reason})\n"
    if not isinstance(found, (Counterexample, Recorded)):
        return outcome, f"{found.claim.id}: this instance does not refute it ({outcome})\n"
    return outcome, rendered(found) if form == "text" else found.to(form).rstrip("\n") + "\n"


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(replay)
