"""An instance drawn as SVG: its matrices as heatmaps with their entries, its cloud before and after, and its margin."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from resstream.arithmetic import Array, BallEntry, NoValue, to_float
from resstream.falsify.counterexample import Exhibit
from resstream.relations import VIOLATED

LARGEST = 8
"""Rows and columns of a matrix that are drawn; a larger one is cut, and says so."""

INKS = ("#1f77b4", "#d9660f", "#2a8f2a", "#c62828", "#7f56b3", "#8c5c50", "#c758a5", "#66707c")


def pictures(exhibit: Exhibit) -> str:
    """Everything that can be drawn of an instance, as figures."""
    values = dict(exhibit.arrays())
    figures = [_figure(name, heatmap(name, value)) for name, value in _matrices(values)]
    A, X = values.get("A"), values.get("X")
    if isinstance(A, np.ndarray) and isinstance(X, np.ndarray) and A.ndim == X.ndim == 2 and len(A.T) == len(X):
        figures.append(_figure("X as rings, AX as dots", cloud(floats(X), floats(A) @ floats(X))))
    figures.append(_figure("both sides", margin(exhibit)))
    return f'<div class="pictures">{"".join(figures)}</div>'


def _matrices(values: dict[str, Any]) -> Iterator[tuple[str, Array]]:
    for name, value in values.items():
        if not isinstance(value, np.ndarray):
            continue
        if value.ndim > 2:
            flat = value.reshape(-1, *value.shape[-2:])
            yield from ((f"{name}[{k}]", matrix) for k, matrix in enumerate(flat[:4]))
        else:
            yield name, np.atleast_2d(value)


def _figure(caption: str, drawing: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def floats(value: Array) -> Array:
    """The entries of rationals or balls (..., n, m) as floats, of the same shape."""
    return np.array([_float(entry) for entry in value.flat]).reshape(value.shape)


def _float(entry: Any) -> float:
    return float("nan") if isinstance(entry, NoValue) else to_float(entry)


def _written(entry: Any) -> str:
    text = entry.value.str(4, radius=False) if isinstance(entry, BallEntry) else str(entry)
    if len(text) <= 7:
        return text.replace("-", "−")
    return f"{_float(entry):.3g}".replace("-", "−")


def heatmap(name: str, value: Array) -> str:
    """A matrix (n, m) of rationals or balls as an SVG: blue above zero, orange below, with every entry."""
    shown, numbers = value[:LARGEST, :LARGEST], floats(value[:LARGEST, :LARGEST])
    largest = float(np.nanmax(np.abs(np.where(np.isfinite(numbers), numbers, 0)), initial=0)) or 1.0
    texts = [[_written(entry) for entry in row] for row in shown]
    width = max(34, 8 + 7 * max(len(text) for row in texts for text in row))
    cells = []
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            share = min(abs(numbers[i, j]) / largest, 1.0) if np.isfinite(numbers[i, j]) else 1.0
            ink = "var(--rs-one)" if numbers[i, j] >= 0 else "var(--rs-two)"
            cells.append(
                f'<rect x="{j * width}" y="{i * 26}" width="{width - 2}" height="24" rx="3" fill="{ink}" '
                f'fill-opacity="{0.06 + 0.34 * share:.2f}"/>'
                f'<text x="{(j + 0.5) * width - 1:.0f}" y="{i * 26 + 16}" text-anchor="middle">{escape(text)}</text>'
            )
    rows, columns = numbers.shape
    across, down = columns * width, rows * 26
    cut = value.shape[0] > LARGEST or value.shape[1] > LARGEST
    note = (
        f'<text class="soft" x="0" y="{down + 12}">cut from {value.shape[0]} x {value.shape[1]}</text>' if cut else ""
    )
    return _svg(
        max(across, 110 if cut else across), down + (16 if cut else 0), f"the matrix {name}", "".join(cells) + note
    )


def cloud(before: Array, after: Array) -> str:
    """Tokens (n, d) before a layer as rings and after it as dots: the first two coordinates, or one on a line."""
    if before.shape[1] == 1:
        before, after = (np.hstack([X, np.zeros_like(X)]) for X in (before, after))
    points = np.vstack([before[:, :2], after[:, :2]])
    low, high = points.min(0), points.max(0)
    half = max(float((high - low).max()) / 2, 1e-9) * 1.25
    middle = (low + high) / 2
    side = 150

    def place(point: Array) -> tuple[float, float]:
        x, y = (point - middle) / half
        return side / 2 * (1 + float(x)), side / 2 * (1 - float(y))

    drawn = [f'<rect width="{side}" height="{side}" rx="6" fill="none" stroke="var(--rs-line)"/>']
    for i, (old, new) in enumerate(zip(before, after, strict=False)):
        (a, b), (c, d) = place(old[:2]), place(new[:2])
        ink = INKS[i % len(INKS)]
        drawn.append(
            f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" stroke="{ink}" stroke-opacity=".5"/>'
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="7" fill="none" stroke="{ink}" stroke-width="2"/>'
            f'<circle cx="{c:.1f}" cy="{d:.1f}" r="4" fill="{ink}"/>'
        )
    return _svg(side, side, "the tokens before and after", "".join(drawn))


def margin(exhibit: Exhibit) -> str:
    """Both sides as bars from zero: the left one red where the relation fails."""
    judged = exhibit.judgement
    fails = judged.outcome == VIOLATED
    sides = []
    for entry in (judged.lhs, judged.rhs):
        value = _float(entry)
        sides.append(value if np.isfinite(value) else 0.0)
    low, high = min(0.0, *sides), max(0.0, *sides)
    scale = 190 / ((high - low) or 1.0)
    drawn = []
    for k, (name, value, entry) in enumerate(zip(("lhs", "rhs"), sides, (judged.lhs, judged.rhs), strict=True)):
        start, length = 30 + (min(value, 0) - low) * scale, abs(value) * scale
        ink = ("var(--rs-bad)" if fails else "var(--rs-one)") if k == 0 else "var(--rs-soft)"
        drawn.append(
            f'<text class="soft" x="0" y="{k * 30 + 14}">{name}</text>'
            f'<rect x="{start:.1f}" y="{k * 30}" width="{max(length, 1.5):.1f}" height="20" rx="3" fill="{ink}"/>'
            f'<text x="{30 + 196}" y="{k * 30 + 14}">{escape(_written(entry))}</text>'
        )
    return _svg(290, 54, f"the sides of lhs {judged.kind} rhs{', which fails' if fails else ''}", "".join(drawn))


def _svg(width: float, height: float, label: str, drawing: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{drawing}</svg>'
    )
