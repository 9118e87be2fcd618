"""Where commands print, and what they share: consoles, exit statuses, options of the same name."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

REFUTED, USAGE, UNDECIDED = 1, 2, 3
"""Exit statuses; 0 is "survived", and 1 also "something is not as expected"."""

console = Console(width=None if sys.stdout.isatty() else 160)  # a file has no width to fit a table to
notes = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
Patterns = Annotated[
    list[str] | None,
    typer.Argument(help="Claim ids, groups (contraction) or patterns (layernorm.*); all claims where none is given."),
]


def print_json(value: Any) -> None:
    """Print a value as JSON, on standard output and unstyled."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
