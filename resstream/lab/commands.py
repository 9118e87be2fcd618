"""The commands `resstream lab` and `resstream gallery`."""

from __future__ import annotations

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


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(lab)
