"""An observation as one self-contained HTML page: no network, no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from resstream.observe import collapse, plots, words
from resstream.observe.observation import Observation
from resstream.observe.table import Line

STYLE = """
.observation { --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --paper: #fff; --card: #f6f8fa; --one: #2f6fb5;
  color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .observation { --ink: #e6eaf0; --soft: #9aa6b5; --line: #333c48;
  --paper: #14181e; --card: #1c222b; --one: #6fa8e6; } }
.observation h2 { font-size: 1.3rem; margin: 0 0 .3em; overflow-wrap: anywhere; }
.observation h3 { font-size: 1rem; margin: 1.6em 0 .4em; }
.observation .wide { overflow-x: auto; }
.observation table { border-collapse: collapse; font-size: .85rem; }
.observation th, .observation td { padding: .15em .7em .15em 0; text-align: right; white-space: nowrap; }
.observation th:first-child, .observation td:first-child { text-align: left; }
.observation th { border-bottom: 1px solid var(--line); font-weight: 600; vertical-align: bottom; }
.observation .plots { display: grid; gap: 1em; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); }
.observation figure { margin: 0; background: var(--card); border-radius: 8px; padding: .7em; }
.observation figcaption { font-size: .85rem; margin-bottom: .3em; overflow-wrap: anywhere; }
.observation svg { width: 100%; height: auto; display: block; }
.observation svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.observation .axis { stroke: var(--line); } .observation .cell { fill: var(--one); }
.observation .series { stroke-width: 1.8; }
.observation .s0 { --hue: 212; } .observation .s1 { --hue: 22; } .observation .s2 { --hue: 140; }
.observation .s3 { --hue: 282; } .observation .s4 { --hue: 50; } .observation .s5 { --hue: 340; }
.observation .series { stroke: hsl(var(--hue) 60% 52%); }
.observation .key { font-size: .8rem; color: hsl(var(--hue) 60% 45%); overflow-wrap: anywhere; }
.observation .bad { color: #c0392b; font-weight: 600; }
.observation .foot, .observation details { color: var(--soft); font-size: .85rem; margin-top: 1em; }
"""

MEASURES = (
    ("tau of the pattern", "tau"),
    ("1 - min over i of A_i1", "first"),
    ("largest range of a row of scores", "score_range"),
    ("entropy of a row over that of a uniform one", "entropy"),
    ("spectral norm of W_OV", "ov_norm"),
    ("tau times the norm of W_OV", "tau_ov"),
    ("copying score", "copying"),
    ("strongest composition with an earlier head", "composition"),
    ("contribution to the target's logit", "logit"),
)


def page(found: Observation) -> str:
    """A whole page."""
    return framed(f"{found.name}, observed", _body(found))


def framed(title: str, body: str) -> str:
    """A whole page of some sections: no network, no script."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}\nbody {{ margin: 0; }}\n"
        "body > .observation { max-width: 70rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; }\n"
        "@media (prefers-color-scheme: dark) { body { background: #14181e; } }</style>\n</head>\n<body>\n"
        f'<main class="observation">\n{body}\n</main>\n</body>\n</html>\n'
    )


def fragment(found: Observation) -> str:
    """An observation to be shown inside another page (a notebook)."""
    return f'<style>{STYLE}</style>\n<div class="observation">{_body(found)}</div>'


def write_page(found: Observation, path: str | Path) -> None:
    """Write the page to a file."""
    Path(path).write_text(page(found), encoding="utf-8")


def _body(found: Observation) -> str:
    verdict = escape(words.verdict(found))
    parts = [
        f"<h2>{escape(found.name)}</h2>",
        f"<p>{escape(words.headline(found))}</p>",
        f'<p class="bad">{verdict}</p>' if found.violated else f"<p>{verdict}</p>",
        f"<p>{escape(words.differences(found))}</p>",
        f'<div class="plots">{"".join(_figures(found))}</div>',
        "<h3>Bounds</h3>",
        table(words.BOUND_COLUMNS, [words.bound_row(line) for line in words.bounds(found)]),
        f"<p>{escape(words.identity_sentence(found))}</p>",
        _details("Identities", [f"{line.id}: {line.statement}" for line in words.identities(found)]),
        "<h3>Head by head</h3>",
        f"<p>{escape(words.head_sentence(found))}</p>",
        table(words.HEAD_COLUMNS, words.head_cells(found)),
    ]
    if found.sums:
        parts += ["<h3>Sums</h3>", table(words.SUM_COLUMNS, words.sum_cells(found))]
    rows = words.collapse_cells(collapse.summary(found.collapses))
    if rows:
        parts += ["<h3>What predicts the collapse of the patterns</h3>", table(words.COLLAPSE_COLUMNS, rows)]
    unsettled = [f"{line.id}: {line.unsettled}" for line in found.lines if line.unsettled]
    if unsettled:
        parts.append(_details(f"{len(unsettled)} claims of which the judge left places undecided", unsettled))
    reasons = [f"{name}: {reason}" for name, reason in found.not_applicable.items()]
    parts.append(_details(f"{len(reasons)} claims that do not speak of this model", reasons))
    parts.append(f'<p class="foot">resstream observe, seed {found.seed}, {found.seconds:.1f} s</p>')
    return "\n".join(part for part in parts if part not in ("", "<p></p>"))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, as HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _details(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<details><summary>{escape(title)}</summary><ul>{items}</ul></details>"


def _figures(found: Observation) -> list[str]:
    drawn = []
    for title, name in MEASURES:
        cells = {
            (row.layer, row.head): float(value) for row in found.head_rows if (value := getattr(row, name)) is not None
        }
        if cells:
            drawn.append(plots.heatmap(title, cells, found.layers, found.heads))
    tightness = {line.id: by_layer for line in words.bounds(found) if len(by_layer := _by_layer(line)) > 1}
    for names in _groups(list(tightness)):
        series = {name: tightness[name] for name in names}
        drawn.append(plots.lines("Tightness (lhs/rhs, median) by depth", series, "layer", "lhs/rhs", top=1.0))
    for title, name in (("Diameter of the stream", "diameter"), ("Mean norm of the stream", "norm")):
        by_prompt = {
            f"prompt {prompt}": [(float(row.depth), getattr(row, name)) for row in found.depths if row.prompt == prompt]
            for prompt in sorted({row.prompt for row in found.depths})
        }
        if by_prompt:
            drawn.append(plots.lines(title, by_prompt, "depth", name))
    return drawn


def _by_layer(line: Line) -> list[tuple[float, float]]:
    """The median tightness of each layer."""
    layers: dict[int, list[float]] = {}
    for place in line.places:
        if place.tightness is not None and place.site.layer is not None:
            layers.setdefault(place.site.layer, []).append(min(place.tightness, 1.0))
    return [(float(layer), float(np.median(values))) for layer, values in sorted(layers.items())]


def _groups(names: list[str], size: int = 5) -> list[list[str]]:
    """The names of one family of claims together, a few at a time."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(name.split(".")[0], []).append(name)
    return [family[start : start + size] for family in families.values() for start in range(0, len(family), size)]
