"""Instances, arrays and places in a line of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from resstream.falsify.counterexample import Exhibit


def places(sizes: Mapping[str, int]) -> str:
    """`n = 2, d = 3`; empty where a claim has no sizes."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


def instance(exhibit: Exhibit) -> str:
    """An instance on one line."""
    values = [f"{name} = {on_one_line(value)}" for name, value in exhibit.arrays()]
    return "; ".join(part for part in (places(exhibit.raw.sizes), *values) if part)


def on_one_line(value: Any) -> str:
    """An array with its rows behind one another, or a text cut short."""
    if not isinstance(value, np.ndarray):
        text = " ".join(str(value).split())
        return text if len(text) <= 60 else text[:59] + "…"
    if value.ndim > 2:
        return f"[{', '.join(on_one_line(block) for block in value)}]"
    return f"[{'; '.join(' '.join(_entry(entry) for entry in row) for row in np.atleast_2d(value))}]"


def _entry(entry: Any) -> str:
    text = str(entry)
    if len(text) <= 12:
        return text
    top, _, bottom = text.partition("/")
    try:
        return f"~{int(top) / int(bottom or 1):.6g}"
    except ValueError:
        return f"{text[:11]}…"


def table(row: Mapping[int, float]) -> str:
    """A table by size on one line."""
    return ", ".join(f"{size}: {value:.4g}" for size, value in sorted(row.items()))
