"""Plots of an observation as SVG: heatmaps of layers by heads, and lines by depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 40


def heatmap(title: str, cells: Mapping[tuple[int, int], float], layers: int, heads: int) -> str:
    """A figure with one cell for each (layer, head), darker where the value is larger; each says its value."""
    low, high = min(cells.values()), max(cells.values())
    width, height = (WIDTH - LEFT - RIGHT) / heads, (HEIGHT - TOP - BOTTOM) / layers
    drawn = []
    for (layer, head), value in cells.items():
        share = (value - low) / (high - low) if high > low else 0.5
        x, y = LEFT + head * width, TOP + layer * height
        drawn.append(
            f'<rect class="cell" x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{max(width - 1, 0.5):.1f}" '
            f'height="{max(height - 1, 0.5):.1f}" style="fill-opacity:{0.06 + 0.94 * share:.3f}">'
            f"<title>layer {layer}, head {head}: {value:.4g}</title></rect>"
        )
    drawn += [_text(LEFT + (head + 0.5) * width, HEIGHT - BOTTOM + 14, str(head)) for head in _some(heads)]
    drawn += [_text(LEFT - 6, TOP + (layer + 0.5) * height + 4, str(layer), "end") for layer in _some(layers)]
    drawn.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "head"))
    drawn.append(_turned("layer"))
    ends = f"{low:.3g} (pale) to {high:.3g}"
    if f"{low:.3g}" == f"{high:.3g}" and low < high:  # colours show what three digits do not
        ends = f"{high:.3g}, pale {high - low:.1e} below"
    return figure("heatmap", f"{title}: {ends}", "".join(drawn))


def lines(
    title: str, series: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str, top: float | None = None
) -> str:
    """A figure with one line a name, over the same axes; y starts at 0."""
    points = [point for one in series.values() for point in one]
    xs, highest = [point[0] for point in points], top or max(point[1] for point in points) or 1.0
    low, high = min(xs), max(xs)

    def at(point: tuple[float, float]) -> str:
        across = LEFT + (point[0] - low) / ((high - low) or 1) * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f} {HEIGHT - BOTTOM - point[1] / highest * (HEIGHT - BOTTOM - TOP):.1f}"

    drawn = [f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>']
    for share in (0.0, 0.5, 1.0):
        height = HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
        drawn.append(_text(LEFT - 6, height + 4, f"{share * highest:.3g}", "end"))
    for value in sorted(set(xs)):
        if value == int(value) and (high - low <= 14 or int(value - low) % 4 == 0):
            across = LEFT + (value - low) / ((high - low) or 1) * (WIDTH - LEFT - RIGHT)
            drawn.append(_text(across, HEIGHT - BOTTOM + 14, f"{value:g}"))
    for index, (name, one) in enumerate(series.items()):
        path = "M" + "L".join(at(point) for point in one)
        drawn.append(f'<path class="series s{index % 6}" fill="none" d="{path}"><title>{escape(name)}</title></path>')
    drawn.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x))
    drawn.append(_turned(y))
    named = "".join(f'<span class="key s{index % 6}">{escape(name)}</span> ' for index, name in enumerate(series))
    return figure("lines", title, "".join(drawn), named if 1 < len(series) <= 8 else "")


def figure(kind: str, title: str, drawing: str, below: str = "") -> str:
    """A figure with its caption."""
    return (
        f'<figure class="{kind}"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{drawing}</svg>{below}</figure>'
    )


def _some(count: int) -> range:
    return range(0, count, max(1, -(-count // 16)))


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _turned(text: str) -> str:
    turn = f'transform="translate(11 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
    return f'<text {turn} text-anchor="middle">{escape(text)}</text>'
