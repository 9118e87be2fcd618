"""An audit as Markdown."""

from __future__ import annotations

from resstream.audit.report.referee import opening
from resstream.audit.report.words import headline, sections
from resstream.audit.result import Audit

VERBATIM = ("counterexample", "where it fails")
"""Sections whose lines stand as they are: arrays and maps."""


def markdown(audit: Audit) -> str:
    """The audit as Markdown: the referee's lines, then the sections."""
    lines = [f"## {headline(audit)}", ""]
    if audit.claim.statement:
        lines += [audit.claim.headline, ""]
    lines += [f"**{line}**\n" for line in opening(audit)]
    for title, texts in sections(audit):
        lines += [f"### {title.capitalize()}", ""]
        if title in VERBATIM:
            lines += ["```text", *texts, "```", ""]
        else:
            lines += [f"{'  ' if text.startswith('  ') else ''}- {text.strip()}" for text in texts] + [""]
    lines.append(f"Seed {audit.seed}, {audit.seconds:.1f} s.")
    return "\n".join(lines) + "\n"
