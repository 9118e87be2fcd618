"""Where commands print, and what they share: consoles, exit statuses, options of the same name."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Annotated, Any

import typer
from rich.console import Console

from resstream.errors import ResstreamError

REFUTED, USAGE, UNDECIDED, REFUTED_AT_LEVEL = 1, 2, 3, 4
"""Exit statuses; 0 is "survived", "evidence" or "not refuted at level", and 1 also "something is not as expected"."""

console = Console(width=None if sys.stdout.isatty() else 160, emoji=False)  # a file has no width to fit a table to
notes = Console(stderr=True, emoji=False)  # and :x: is what somebody typed

LONGEST = 10.0**6
"""Seconds of the longest limit in time, some days: as far as the system can wait."""


def _seconds(value: float | None) -> float | None:
    if value is not None and not 0 < value <= LONGEST:  # click lets NaN through
        raise typer.BadParameter(f"expected a number above 0 and up to {LONGEST:.0f}, got {value}")
    return value


def workers_at(address: str | None, workers: int | None = None) -> AbstractContextManager[Any]:
    """The workers of `--on`, for as long as the work lasts; None where it was not given."""
    if address is None:
        return nullcontext()
    if workers is not None and workers > 1:
        raise ResstreamError(f"--on {address} --workers {workers}: expected one of the two")
    from resstream.workers import connected

    return connected(address)


def seconds_option(text: str) -> Any:
    """A limit in time, `--seconds`."""
    return typer.Option(callback=_seconds, help=text)


Workers = typer.Option(min=1, max=256, help="Processes; the result is the same for any number.")
On = typer.Option(
    "--on",
    metavar="ADDRESS",
    help="Have the work done by a Dask cluster (tcp://host:8786, of its scheduler); the result is the same.",
)
Budget = typer.Option(
    min=1,
    max=10**12,
    help="Evaluations of the search for a counterexample; where falsify is given none, the claim's own, or 200,000.",
)
Seed = typer.Option(min=0, max=2**64, help="Seed of every random stream.")

FORM = "text, or another form: json, latex, html, python, pytest, numpy, sympy, check, rocq, lean, or a pack's."
"""What --as takes."""


Json = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
Patterns = Annotated[
    list[str] | None,
    typer.Argument(
        help="Claim ids, groups (contraction), patterns (layernorm.*), FILE.py, FILE.py::ID; all claims by default."
    ),
]


def require_form(form: str) -> None:
    """Refuse what is no form of a counterexample."""
    from resstream.falsify import formats

    if form not in formats.formats():
        raise ResstreamError(f"--as {form}: expected {', '.join(formats.formats())}")


def say(message: str) -> None:
    """Print one message of an error."""
    with suppress(OSError):  # where standard error is full or closed nobody can be told
        notes.print(plain(message), style="bold red", markup=False, highlight=False, soft_wrap=True)


def plain(text: str) -> str:
    """The text without what a terminal would obey: control characters are shown as their escapes."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def rendered(value: Any) -> str:
    """What the console would print of a value, as text."""
    with console.capture() as captured:
        console.print(value)
    return captured.get()


def print_json(value: Any) -> None:
    """Print a value as JSON, on standard output and unstyled."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
