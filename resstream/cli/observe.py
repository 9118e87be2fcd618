"""The command `resstream observe`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from resstream.cli.output import Json, Seed, Workers, console, notes, print_json
from resstream.errors import ResstreamError
from resstream.targets import require_file

VIOLATED = 1  # exit status


def observe(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder with config.json and safetensors, an .npz or .safetensors file of activations, "
            "or shipped:two_layers.",
        ),
    ],
    claims: Annotated[
        list[str] | None,
        typer.Option("--claims", metavar="ID|FILE.py::ID", help="These claims, groups, files alone; may be repeated."),
    ] = None,
    layers: Annotated[str | None, typer.Option(metavar="0,2-5", help="These layers alone.")] = None,
    prompts: Annotated[
        str | None, typer.Option(metavar="FILE", help="One text a line, or a JSON list of texts and of token numbers.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most N places of each claim, drawn by the seed.")
    ] = None,
    certify: Annotated[
        int, typer.Option(min=0, metavar="N", help="Judge the N tightest places of each claim exactly.")
    ] = 0,
    around: Annotated[
        float | None, typer.Option(metavar="EPS", help="Look at perturbations of every object too, by up to EPS.")
    ] = None,
    seed: Annotated[int, Seed] = 0,
    workers: Annotated[int | None, Workers] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write one self-contained page with plots.")] = None,
    as_json: Json = False,
) -> None:
    """Look at a trained model: every claim at every layer, head, position and prompt. Nothing of it is executed.

    Exit status: 0 no claim that holds is violated, 1 one is, or could not be evaluated, 2 bad usage, or no claim that
    speaks of the model.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.observe import observe as look
    from resstream.observe.page import write_page
    from resstream.observe.sources.request import read_prompts

    if html is not None:
        require_file("--html", html)
    chosen = None if layers is None else numbers(layers)
    given = [] if prompts is None else read_prompts(Path(prompts))
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("reading", total=1.0)
        found = look(
            source,
            given,
            claims=claims or (),
            layers=chosen,
            sample=sample,
            certify=certify,
            around=around,
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            progress=lambda what, share: progress.update(task, completed=share, description=what),
        )
    if as_json:
        print_json(found.json())
    else:
        console.print(found)
    if html is not None:
        write_page(found, html)
        notes.print(f"wrote {html}", highlight=False)
    if not found.lines:
        raise ResstreamError("none of the claims speaks of what is known of this model")
    if found.violated or any(line.error for line in found.lines):
        raise typer.Exit(VIOLATED)


def numbers(text: str) -> list[int]:
    """Numbers and ranges of them, as in 0,2-5; anything else raises ResstreamError."""
    found: list[int] = []
    for part in text.split(","):
        given = re.fullmatch(r"\s*([0-9]{1,4})\s*(?:-\s*([0-9]{1,4})\s*)?", part)
        if given is None:
            raise ResstreamError(f"--layers {text}: expected numbers and ranges of them, as in 0,2-5")
        found += range(int(given[1]), int(given[2] or given[1]) + 1)
    return found


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(observe)
