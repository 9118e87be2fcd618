"""The command `resstream reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from resstream.cli.output import Json, console, notes
from resstream.errors import ResstreamError
from resstream.targets import require_directory


def reproduce(
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Train the models again instead of reading weights.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Training seeds to measure anew (implies --retrain).")
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the state of training here, and go on from what is there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare every published figure of the trained models with ours: from the shipped weights, or trained again.

    Exit status: 0 done (a published figure outside our range is shown as such), 1 interrupted, 2 bad usage.
    """
    if checkpoints is not None:
        if not retrain and seeds is None:
            raise ResstreamError("--checkpoints: expected --retrain or --seeds beside it, else nothing is trained")
        require_directory("--checkpoints", checkpoints)
    from resstream.induction import report
    from resstream.induction.reproduce import reproduce as reproduced

    with report.shown_progress(notes) as progress:
        found = reproduced(
            retrain=retrain or seeds is not None, seeds=seeds, progress=progress, checkpoints=checkpoints
        )
    if as_json:
        sys.stdout.write(report.to_json(found) + "\n")
    else:
        report.print_table(found, console)


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(reproduce)
