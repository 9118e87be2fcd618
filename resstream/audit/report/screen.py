"""An audit on one screen of a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from resstream.audit.report.referee import opening
from resstream.audit.report.words import headline, sections
from resstream.audit.result import Audit

COLOURS = {"survived": "green", "evidence": "green", "refuted": "red"}


def summary(audit: Audit) -> RenderableType:
    """What was found, as something that rich prints."""
    colour = COLOURS.get(audit.status, "yellow")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for title, lines in sections(audit):
        table.add_row(title, Text("\n".join(lines)))
    parts: list[RenderableType] = [Text(headline(audit), style=f"bold {colour}")]
    if audit.claim.statement:
        parts.append(Text(audit.claim.headline, style="italic"))
    known = opening(audit)
    if known:
        parts.append(Text("\n".join(known), style="bold"))
    parts.append(table)
    parts.append(Text(f"seed {audit.seed}, {audit.seconds:.1f} s", style="dim"))
    return Group(*parts)


def show(audit: Audit, console: Console) -> None:
    """Print the summary."""
    console.print(summary(audit), highlight=False)
