"""The command `resstream check`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from resstream.cli.output import Json, On, Patterns, Seed, console, notes, print_json, workers_at

if TYPE_CHECKING:
    from resstream.falsify.check import Row


def check(
    patterns: Patterns = None,
    profile: Annotated[str, typer.Option(help="quick, default, tenfold or deep.")] = "default",
    seed: Annotated[int, Seed] = 0,
    workers: Annotated[int | None, typer.Option(min=1, max=256, help="Processes; as many as cores by default.")] = None,
    on: Annotated[str | None, On] = None,
    as_json: Json = False,
) -> None:
    """Search for a counterexample to every claim, and judge what is found exactly; a file is executed.

    Statistical claims are tested by draws, and have verdicts and a count of their own.

    Exit status: 0 when every claim does what it is expected to, 1 otherwise, 2 on bad usage.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.falsify import check as checking
    from resstream.falsify.profiles import profile as profile_named
    from resstream.falsify.variants import stated_targets

    profile_named(profile)
    chosen = stated_targets(patterns or [])
    rows: list[Row] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    interrupted = False
    shown = Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal)
    with workers_at(on, workers) as executor, shown as progress:
        task = progress.add_task("checking", total=len(chosen))
        try:
            for row in checking.check(chosen, profile, seed, workers or os.cpu_count() or 1, executor=executor):
                rows.append(row)
                progress.update(task, advance=1, description=row.id)
        except KeyboardInterrupt:
            interrupted = True
    if as_json:
        print_json([row.json() for row in rows])
    else:
        _print_rows(rows, profile, seed)
    if interrupted:
        notes.print(f"interrupted: {len(chosen) - len(rows)} of {len(chosen)} claims were not checked")
    if interrupted or not all(row.as_expected for row in rows):
        raise typer.Exit(1)


def _print_rows(rows: Sequence[Row], profile: str, seed: int) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("claim", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("sizes", overflow="fold")
    for name in ("met", "discarded", "undecided", "margin", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        margin = "" if row.smallest_margin is None else f"{row.smallest_margin:.2g}"
        verdict = row.verdict if row.as_expected else f"{row.verdict} (expected: {row.expect})"
        style = "" if row.as_expected else "bold red"
        counts = (row.accepted, row.discarded, row.undecided + row.undefined)
        sizes = ", ".join(f"{name} {swept}" for name, swept in row.sizes.items())
        cells = (row.id, verdict, sizes, *(f"{count:,}" for count in counts), margin, f"{row.seconds:.2f}")
        table.add_row(*cells, style=style)
    console.print(table)
    for row in rows:
        if row.message:
            console.print(f"{row.id}: {row.message}", style="red", markup=False)
    tested = [row for row in rows if row.level is not None]
    rows = [row for row in rows if row.level is None]
    held, refuted, wrong = _counted(rows)
    evident = sum(row.as_expected and row.verdict == "evidence" for row in rows)
    held -= evident
    limits = f"{evident} with evidence for a limit or a rate, " if evident else ""
    console.print(
        f"\n{held} survived as stated, {limits}{refuted} refuted as expected, {wrong} not as expected; "
        f"{sum(row.accepted for row in rows):,} instances met their hypotheses, "
        f"{sum(row.acquitted for row in rows):,} float64 violations were acquitted, "
        f"{sum(row.undecided + row.undefined for row in rows):,} instances could not be decided. "
        f"Profile {profile}, seed {seed}.",
        highlight=False,
        soft_wrap=True,
    )
    if tested:
        held, refuted, wrong = _counted(tested)
        console.print(
            f"Statistical, not certified: {held} not refuted and {refuted} refuted at their levels as expected, "
            f"{wrong} not as expected; {sum(row.accepted for row in tested):,} draws.",
            highlight=False,
            soft_wrap=True,
        )


def _counted(rows: Sequence[Row]) -> tuple[int, int, int]:
    """How many held as they say, failed as they say, and did something else."""
    held = sum(row.as_expected and row.expect == "holds" for row in rows)
    refuted = sum(row.as_expected and row.expect == "fails" for row in rows)
    return held, refuted, len(rows) - held - refuted


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(check)
