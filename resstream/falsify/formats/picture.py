"""An instance drawn as SVG: its matrices as heatmaps with their entries, its cloud before and after, and its margin."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
from flint import arb

from resstream.arithmetic import Array
from resstream.falsify.counterexample import Counterexample

LARGEST = 8
"""Rows and columns of a matrix that are drawn; a larger one is cut, and says so."""

STYLE = """
.rs { color-scheme: light dark; --rs-ink: light-dark(#1b2330, #e7ebf1); --rs-soft: light-dark(#566173, #a3afbf);
  --rs-line: light-dark(#d3dae2, #36414e); --rs-card: light-dark(#ffffff, #181e26);
  --rs-one: light-dark(#1f5fa8, #7db4f2); --rs-two: light-dark(#c2541a, #f0a068);
  --rs-good: light-dark(#1d7446, #63c894); --rs-bad: light-dark(#b3261e, #f2897f);
  color: var(--rs-ink); background: var(--rs-card); font: 14px/1.5 system-ui, sans-serif; }
.rs svg { display: block; max-width: 100%; height: auto; overflow: visible; }
.rs svg text { font: 11px system-ui, sans-serif; fill: var(--rs-ink); } .rs svg .soft { fill: var(--rs-soft); }
.rs .pictures { display: flex; flex-wrap: wrap; gap: 1.2em; align-items: flex-end; margin: .8em 0; }
.rs figure { margin: 0; } .rs figcaption { font-size: .85em; color: var(--rs-soft); }
"""
"""Of everything under the class `rs`, light and dark."""

INKS = ("#1f77b4", "#d9660f", "#2a8f2a", "#c62828", "#7f56b3", "#8c5c50", "#c758a5", "#66707c")


def pictures(counterexample: Counterexample) -> str:
    """Everything that can be drawn of a counterexample, as figures."""
    values = dict(counterexample.arrays())
    figures = [_figure(name, heatmap(name, value)) for name, value in _matrices(values)]
    A, X = values.get("A"), values.get("X")
    if isinstance(A, np.ndarray) and isinstance(X, np.ndarray) and A.ndim == X.ndim == 2 and len(A.T) == len(X):
        figures.append(_figure("X as rings, AX as dots", cloud(floats(X), floats(A) @ floats(X))))
    figures.append(_figure("both sides", margin(counterexample)))
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
    return np.array([float(entry.mid()) if isinstance(entry, arb) else float(entry) for entry in value.flat]).reshape(
        value.shape
    )


def _written(entry: Any) -> str:
    text = entry.str(4, radius=False) if isinstance(entry, arb) else str(entry)
    if len(text) <= 7:
        return text.replace("-", "−")
    number = float(entry.mid()) if isinstance(entry, arb) else float(entry)
    return f"{number:.3g}".replace("-", "−")


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


def margin(counterexample: Counterexample) -> str:
    """Both sides as bars from zero, with the relation that fails."""
    judged = counterexample.judgement
    sides = []
    for entry in (judged.lhs, judged.rhs):
        value = float(entry.mid()) if isinstance(entry, arb) else float(entry)
        sides.append(value if np.isfinite(value) else 0.0)
    low, high = min(0.0, *sides), max(0.0, *sides)
    scale = 190 / ((high - low) or 1.0)
    drawn = []
    for k, (name, value, entry) in enumerate(zip(("lhs", "rhs"), sides, (judged.lhs, judged.rhs), strict=True)):
        start, length = 30 + (min(value, 0) - low) * scale, abs(value) * scale
        ink = "var(--rs-bad)" if k == 0 else "var(--rs-soft)"
        drawn.append(
            f'<text class="soft" x="0" y="{k * 30 + 14}">{name}</text>'
            f'<rect x="{start:.1f}" y="{k * 30}" width="{max(length, 1.5):.1f}" height="20" rx="3" fill="{ink}"/>'
            f'<text x="{30 + 196}" y="{k * 30 + 14}">{escape(_written(entry))}</text>'
        )
    return _svg(290, 54, f"the sides, of which lhs {judged.kind} rhs fails", "".join(drawn))


def _svg(width: float, height: float, label: str, drawing: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{drawing}</svg>'
    )
