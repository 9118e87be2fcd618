"""Draw the pictures of the README: the certified panel, and the cloud's diameter beside its bound.

    python docs/pictures.py        writes docs/panel.svg and docs/cloud.svg

The panel is what rich prints, without the web fonts that its template asks for. A test holds both to the code.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from resstream.lab.page import cloud_data
from resstream.reference import L2, diameter, dobrushin, softmax

DOCS = Path(__file__).parent
SCALE, LAYERS = 4, 18
WIDTH, HEIGHT, LEFT, TOP = 640, 300, 64, 44


def six_lines() -> str:
    """The first example of the README, as a reader copies it."""
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    example = readme.split("```pycon\n", 1)[1].split("```", 1)[0]
    return "\n".join(line[4:] for line in example.splitlines() if line.startswith(">>> "))


def panel() -> str:
    """The counterexample of the six lines as SVG, as a terminal shows it."""
    given: dict[str, Any] = {}
    exec(six_lines(), given)
    console = Console(record=True, file=io.StringIO(), width=104, force_terminal=True, color_system="truecolor")
    console.print(given["verdict"].counterexample)
    template = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.S)
    return console.export_svg(title="resstream", code_format=template, unique_id="resstream")


def layers() -> tuple[list[float], list[float]]:
    """The diameter of the laboratory's ten tokens after every layer of attention, and what Theorem 1 (i) promises."""
    X = np.array(cloud_data()["tokens"], dtype=float)
    widths = [float(diameter(X, L2).item())]
    bounds = list(widths)
    for _ in range(LAYERS):
        A = softmax(SCALE * X @ X.T)
        X = A @ X
        widths.append(float(diameter(X, L2).item()))
        bounds.append(bounds[-1] * float(dobrushin(A).item()))
    return widths, bounds


def plot(widths: Sequence[float], bounds: Sequence[float]) -> str:
    """Both curves over layers, on a logarithmic scale."""
    lowest = math.floor(math.log10(min(widths)))

    def place(layer: int, value: float) -> tuple[float, float]:
        return LEFT + layer * WIDTH / LAYERS, TOP + HEIGHT * (1 - (math.log10(value) - lowest) / (1 - lowest))

    def curve(values: Sequence[float], style: str) -> str:
        points = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in enumerate(values))
        return f'<polyline points="{points}" fill="none" stroke-width="2.5" {style}/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 100} {HEIGHT + 92}" font-family="sans-serif" '
        f'font-size="14" role="img" aria-label="The diameter of ten tokens by layer, and its bound">',
        '<rect width="100%" height="100%" rx="8" fill="#fff"/>',
        '<g fill="#444">',
    ]
    for power in range(lowest, 2):
        _, y = place(0, 10.0**power)
        name = {0: "1", 1: "10"}.get(power, f'10<tspan dy="-5" font-size="10">−{-power}</tspan>')
        parts.append(f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#e3e6ea"/>')
        if power % 2 == 0:
            parts.append(f'<text x="{LEFT - 8}" y="{y + 5:.1f}" text-anchor="end">{name}</text>')
    for layer in range(0, LAYERS + 1, 3):
        x, y = place(layer, 10.0**lowest)
        parts.append(f'<text x="{x:.1f}" y="{y + 22:.1f}" text-anchor="middle">{layer}</text>')
    parts += [
        f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 42}" text-anchor="middle">layer of attention</text></g>',
        curve(bounds, 'stroke="#c2541a" stroke-dasharray="7 5"'),
        curve(widths, 'stroke="#1f5fa8"'),
        '<text x="64" y="26" fill="#1f5fa8">— diameter of ten tokens</text>',
        '<text x="270" y="26" fill="#c2541a">- - what Theorem 1 promises: diam(X) times the product of the τ(A)</text>',
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Write both."""
    (DOCS / "panel.svg").write_text(panel(), encoding="utf-8")
    (DOCS / "cloud.svg").write_text(plot(*layers()), encoding="utf-8")


if __name__ == "__main__":
    main()
