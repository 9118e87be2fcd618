"""The table of `reproduce` as text and as JSON, and a progress bar for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from resstream.induction.reproduce import Progress as Report
from resstream.induction.reproduce import Reproduction, Row


@contextmanager
def shown_progress(console: Console) -> Iterator[Report]:
    """A progress bar on a console (standard error, so that output stays clean) for as long as the context lasts."""
    share = TextColumn("{task.percentage:3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), share, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=1.0)
        yield lambda label, share: bar.update(task, description=label, completed=share)


def print_table(found: Reproduction, console: Console) -> None:
    """Print each figure as published, ours, our mean and range over seeds, and whether the published one is in it."""
    table = Table(title=f"Published figures and ours (mean and range over {len(found.seeds)} training seeds)")
    table.add_column("figure")
    for heading in ("published", "ours", "mean", "range"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("in range", justify="center")
    table.add_column("kind")
    for row in found.rows:
        numbers = [_number(value, row) for value in (row.ours, row.mean, row.low, row.high)]
        spread = f"{numbers[2]} .. {numbers[3]}"
        table.add_row(row.figure.label, _published(row), *numbers[:2], spread, _inside(row), row.figure.verdict)
    console.print(table)
    published = [row for row in found.rows if row.inside is not None]
    outside = Counter(row.figure.verdict for row in published if not row.inside)
    console.print(
        f"{sum(outside.values())} of {len(published)} published figures lie outside our range: "
        + ", ".join(f"{count} {verdict}" for verdict, count in outside.items())
        + ".\nRobust: the finding holds for every seed. Accident: it moves with the seed. Other corpus: only the "
        "pattern can agree. Ours: not in the source.",
        highlight=False,
    )
    notes: dict[str, list[str]] = {}
    for row in found.rows:
        if row.figure.note:
            notes.setdefault(row.figure.note, []).append(row.figure.id)
    for note, ids in notes.items():
        console.print(f"  {', '.join(ids)}: {note}", highlight=False)


def to_markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown, without our value of one seed."""
    lines = ["| figure | published | mean | range | in range | kind |", "|---|---|---|---|---|---|"]
    for row in rows:
        mean, low, high = (_number(value, row) for value in (row.mean, row.low, row.high))
        cells = (row.figure.label, _published(row), mean, f"{low} .. {high}", _inside(row), row.figure.verdict)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def to_json(found: Reproduction) -> str:
    """The table, and the values behind its ranges, as JSON."""
    return json.dumps(found.to_dict(), indent=1)


def _published(row: Row) -> str:
    sign = {"below": "< ", "above": "> ", "about": "~ "}.get(row.figure.relation, "")
    return "" if row.figure.published is None else sign + row.figure.published


def _inside(row: Row) -> str:
    return {None: "", True: "yes", False: "no"}[row.inside]


def _number(value: float, row: Row) -> str:
    """A value with the digits of the published figure, at least three decimals beside a bound or nothing."""
    printed = row.figure.published
    if printed is None:
        return f"{value:.3f}"
    if "e" in printed:
        return f"{value:.0e}"
    decimals = len(printed.partition(".")[2])
    return f"{value:.{decimals if row.figure.relation == 'equal' else max(3, decimals)}f}"
