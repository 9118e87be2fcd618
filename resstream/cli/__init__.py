"""The command line: one module a command, each with a `register` that is named in `COMMANDS`."""

from __future__ import annotations

import os
from typing import Annotated

# Before NumPy is imported: matrices here are small, and workers must not fight over the cores.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from resstream.cli.surroundings import open_streams, run, stand_somewhere  # noqa: E402

_printing, _placed = open_streams(), stand_somewhere()  # before anything else can take their numbers, or look there

import typer  # noqa: E402

from resstream import __version__  # noqa: E402
from resstream.cli import audit, campaign, check, falsify, listing, observe, prove, replay, reproduce  # noqa: E402
from resstream.cli.output import USAGE, say  # noqa: E402
from resstream.errors import ResstreamError  # noqa: E402
from resstream.lab import commands as lab  # noqa: E402

COMMANDS = (check, listing, falsify, replay, prove, audit, campaign, reproduce, observe, lab)
"""The modules of the commands, in the order of the help; a command of another room is one more entry."""

app = typer.Typer(
    help="State a theorem once, and have it attacked, certified and explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _module in COMMANDS:
    _module.register(app)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"resstream {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Its number.")
    ] = False,
) -> None:
    """State a theorem once, and have it attacked, certified and explained."""


def main() -> None:
    """Entry point of the `resstream` command."""
    if not _printing:
        say("standard output is closed: nothing will be printed")
    if not _placed:
        say("the working directory was deleted: what is written into it will be lost")
    run(app, say, USAGE, ResstreamError)


__all__ = ["COMMANDS", "app", "main"]
