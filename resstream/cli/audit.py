"""The commands `resstream audit` and `resstream new`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from resstream.cli.output import Budget, Json, Seed, console, notes, print_json, seconds_option
from resstream.targets import require_file


def audit(
    names: Annotated[list[str], typer.Argument(metavar="FILE.py|ID...", help="A file of claims, FILE.py::ID, or ids.")],
    budget: Annotated[int, Budget] = 40_000,
    seconds: Annotated[float, seconds_option("A limit in time for each claim.")] = 45.0,
    seed: Annotated[int, Seed] = 0,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write one self-contained page with plots.")] = None,
    as_markdown: Annotated[bool, typer.Option("--md", help="Print Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Find out what a claim is worth: true on all that was tried, how sharp, which hypotheses it needs, where it fails.

    A file is executed as Python code, as a test file is: audit only what you trust.

    Exit status: 0 every claim does what it is expected to, 1 otherwise, 2 bad usage.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.audit import STAGES, Audit, files, page, screen, words
    from resstream.audit import audit as audit_claim

    chosen = files.targets(names)
    if html is not None:
        require_file("--html", html)
    audits: list[Audit] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("", total=len(STAGES))
        for claim in chosen:

            def at(stage: str, done: int, _: int, name: str = claim.id) -> None:
                progress.update(task, completed=done, description=f"{name}: {stage}")

            audits.append(audit_claim(claim, budget=budget, seed=seed, seconds=seconds, progress=at))
            if not as_json:
                if as_markdown:
                    sys.stdout.write(words.markdown(audits[-1]) + "\n")
                else:
                    screen.show(audits[-1], console)
                    console.print()
            if "interrupted" in audits[-1].missing:
                break
    if as_json:
        print_json([words.to_json(found) for found in audits])
    if html is not None:
        page.write_page(audits, html)
        notes.print(f"wrote {html}", highlight=False)
    if len(audits) < len(chosen):
        notes.print(f"interrupted: {len(chosen) - len(audits)} of {len(chosen)} claims were not audited")
    interrupted = any("interrupted" in found.missing for found in audits)
    if interrupted or not all(found.as_expected for found in audits):
        raise typer.Exit(1)


def new(name: Annotated[str, typer.Argument(metavar="NAME", help="Of the file: NAME.py is written.")]) -> None:
    """Write a commented template of a claim file that runs as it is."""
    from resstream.audit import files

    path = files.new_file(name)
    console.print(f"wrote {path}; next: resstream audit {path}", highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(audit)
    app.command()(new)
