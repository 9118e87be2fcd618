"""The commands `resstream lab` and `resstream gallery`."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

notes = Console(stderr=True)


def lab(
    out: Annotated[
        str | None, typer.Argument(metavar="OUT.html", help="Where to write the page; where none is given, it opens.")
    ] = None,
) -> None:
    """Write the laboratory, one self-contained page to look at and to share, or open it in the browser."""
    from resstream.lab.page import write_page

    if out is not None:
        path = write_page(out)
        notes.print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", highlight=False, soft_wrap=True)
        return
    path = write_page(Path(tempfile.mkdtemp(prefix="resstream-lab-")) / "lab.html")
    notes.print(f"opening {path}", highlight=False, soft_wrap=True)
    if not webbrowser.open(path.as_uri()):
        notes.print("no browser was found: open the file in one", highlight=False)


def gallery(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="A new directory, or one of an older gallery.")],
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Claim ids, groups or patterns; all claims where none is given."),
    ] = None,
    audits: Annotated[
        bool, typer.Option("--audits/--no-audits", help="Audit every claim, or search for a counterexample alone.")
    ] = True,
    seconds: Annotated[float, typer.Option(min=1, max=10.0**7, help="A limit in time for each audit.")] = 30.0,
    seed: Annotated[int, typer.Option(min=0, max=2**64, help="Seed of every random stream.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes; the number of cores by default.")
    ] = None,
) -> None:
    """Write a static site with a page for every claim: statement, verdict, counterexample, audit, code."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream import claims
    from resstream.lab.gallery import write_gallery

    chosen = claims.matching(patterns or [])
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("claims", total=len(chosen))
        count = write_gallery(
            directory,
            chosen,
            audits=audits,
            seconds=seconds,
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            progress=lambda identifier: progress.update(task, advance=1, description=identifier),
        )
    notes.print(f"wrote {count} claims; open {Path(directory) / 'index.html'}", highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(lab)
    app.command()(gallery)
