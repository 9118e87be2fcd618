"""The command `resstream campaign`, and what is done with the store of one: `campaign report`, `campaign merge`."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from resstream.cli.output import Json, On, Patterns, Seed, console, notes, print_json, workers_at
from resstream.targets import require_file

if TYPE_CHECKING:
    from resstream.campaign import Status

SEARCH = "search"


class _Group(TyperGroup):
    """`campaign PATTERN ...` is `campaign search PATTERN ...`: the other commands are told by their names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [SEARCH, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group, help="Search many claims for hours: resstream campaign FILE|PATTERN --hours 8 --store DIR."
)

StoreOf = Annotated[str, typer.Argument(metavar="DIR", help="The store of a campaign.")]


@app.command(SEARCH)
def search(
    patterns: Patterns = None,
    hours: Annotated[float, typer.Option(help="How long, above 0; with the same store it goes on.")] = 1.0,
    store: Annotated[str, typer.Option(metavar="DIR", help="Where all that is found is kept.")] = "campaign",
    seed: Annotated[int, Seed] = 0,
    workers: Annotated[int | None, typer.Option(min=1, max=256, help="Processes; as many as cores by default.")] = None,
    on: Annotated[str | None, On] = None,
) -> None:
    """Search for counterexamples to many claims, for hours, giving time where it pays; a file is executed.

    Whatever ends it, no finished chunk is lost, and the same command goes on. Exit status: 0 nothing was found that is
    not as expected, 1 something was (a claim that is expected to hold is refuted, or raised) or Ctrl-C, 2 bad usage.
    """
    from rich.progress import Progress, TextColumn

    from resstream.campaign import campaign, report
    from resstream.campaign.report import summary

    interrupted, said = False, []
    with Progress(TextColumn("{task.description}"), console=notes, transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def show(status: Status) -> None:
            progress.update(task, description=line_of(status))

        try:
            with workers_at(on, workers) as executor:
                count = workers or os.cpu_count() or 1
                said = campaign(
                    patterns or (), hours, store, seed=seed, workers=count, executor=executor, progress=show
                )
        except KeyboardInterrupt:
            interrupted = True
    for note in said:
        notes.print(note, markup=False, highlight=False, soft_wrap=True)
    if interrupted:
        notes.print("interrupted: the same command goes on")
    data = report(store)
    console.print(summary(data), markup=False, highlight=False, soft_wrap=True)
    wrong = [one["id"] for one in data["claims"] if one["expect"] == "holds" and one["status"] != "open"]
    if wrong:
        console.print(f"not as expected: {', '.join(wrong)}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"next: resstream campaign report {store}", markup=False, highlight=False, soft_wrap=True)
    if interrupted or wrong:
        raise typer.Exit(1)


def line_of(status: Status) -> str:
    """One line of how a campaign stands: the rate, the best margin, the time left."""
    best = f"best margin {status.best:.2g} ({status.best_of})" if status.best_of else "no margin yet"
    return (
        f"{status.chunks:,} chunks, {status.rate:,.0f} evaluations/s, {status.refuted} refuted, {status.open} open, "
        f"{best}, {timedelta(seconds=round(status.left))} left"
    )


@app.command("report")
def report_(
    store: StoreOf,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write one self-contained page.")] = None,
    as_json: Json = False,
) -> None:
    """What a campaign has found: by claim, and over time; also while it is at work."""
    from resstream.campaign import report
    from resstream.campaign.report import page, text

    if html is not None:
        require_file("--html", html)
    data = report(store)
    if as_json:
        print_json(data)
    else:
        sys.stdout.write(text(data))
    if html is not None:
        Path(html).write_text(page(data), encoding="utf-8")
        notes.print(f"wrote {html}", highlight=False)


@app.command("merge")
def merge_(
    store: StoreOf,
    others: Annotated[list[str], typer.Argument(metavar="OTHER...", help="Stores whose contents are put into it.")],
) -> None:
    """Put what other campaigns have found into one store.

    Exit status: 1 where two stores counted the same chunk otherwise: they were made by different versions.
    """
    from resstream.campaign import merge

    differing = 0
    for other in others:
        found = merge(store, other)
        differing += found.differing
        console.print(
            f"{other}: {found.new:,} chunks were new, {found.common:,} were there, {found.differing:,} of those were "
            "counted otherwise",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    if differing:
        raise typer.Exit(1)


def register(root: typer.Typer) -> None:
    """Add what is here to the command line."""
    root.add_typer(app, name="campaign")


__all__ = ["line_of", "register", "search"]
