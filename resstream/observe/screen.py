"""An observation on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from resstream.observe import collapse, words
from resstream.observe.observation import Observation

MOST_HEADS = 24
"""Rows of the table by head on a terminal; where there are more of them, the pages and the JSON have it."""


def renderable(found: Observation) -> RenderableType:
    """Everything that is short: the bounds, the sums, what predicts collapse; heads and identities in a sentence."""
    lines: list[RenderableType] = [Text(words.headline(found), style="bold"), Text(words.verdict(found))]
    if words.differences(found):
        lines.append(Text(words.differences(found)))
    bounds = [words.bound_row(line) for line in words.bounds(found)]
    if bounds:
        lines += [Text(), _table(words.BOUND_COLUMNS, bounds, left=2)]
    if words.identity_sentence(found):
        lines += [Text(), Text(words.identity_sentence(found))]
    if found.head_rows:
        lines += [Text(), Text(words.head_sentence(found))]
    if 0 < len(found.head_rows) <= MOST_HEADS:
        lines += [Text(), _table(words.HEAD_COLUMNS, words.head_cells(found))]
    if found.sums:
        lines += [Text(), _table(words.SUM_COLUMNS, words.sum_cells(found))]
    rows = words.collapse_cells(collapse.summary(found.collapses))
    if rows:
        lines += [Text(), _table(words.COLLAPSE_COLUMNS, rows, left=2)]
    if found.depths:
        first = [row for row in found.depths if row.prompt == 0]
        diameters = ", ".join(f"{row.diameter:.1f}" for row in first)
        norms = ", ".join(f"{row.norm:.1f}" for row in first)
        lines += [Text(), Text(f"Stream by depth (prompt 0): diameter {diameters}; mean norm {norms}.")]
    lines += [
        Text(),
        Text(f"Seed {found.seed}, {found.seconds:.1f} s. Place by place: --json; head by head, with plots: --html."),
    ]
    return Group(*lines)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index, name in enumerate(columns):
        table.add_column(name, justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
