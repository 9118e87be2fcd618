"""An audit as one self-contained HTML page: no network, no script; the plots are drawn here, as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from resstream.audit.report import numbers
from resstream.audit.report.referee import opening
from resstream.audit.report.words import headline, maps, sections
from resstream.audit.result import FAILS, SURVIVES, Audit, Cell
from resstream.audit.sample import Sample
from resstream.falsify.counterexample import Exhibit
from resstream.falsify.formats import picture
from resstream.typeset import conclusion

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 10, 40

STYLE = """
.audit { --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --paper: #fff; --card: #f6f8fa; --one: #2f6fb5;
  --two: #c2571a; --good: #237a49; --bad: #c0392b; --none: #b9c0c9; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .audit { --ink: #e6eaf0; --soft: #9aa6b5; --line: #333c48; --paper: #14181e;
  --card: #1c222b; --one: #6fa8e6; --two: #e8935a; --good: #56b884; --bad: #e57366; --none: #59636f; } }
.audit h2 { font-size: 1.3rem; line-height: 1.25; margin: 0 0 .3em; overflow-wrap: anywhere; }
.audit h3 { font-size: 1rem; margin: 1.6em 0 .4em; }
.audit .verdict { display: inline-block; padding: .1em .7em; border-radius: 1em; color: var(--paper); font-size: .9rem;
  background: var(--soft); }
.audit :is(.survived, .evidence) { background: var(--good); } .audit .refuted { background: var(--bad); }
.audit ul { margin: 0; padding-left: 1.2em; } .audit li { overflow-wrap: anywhere; }
.audit li.inner { list-style: none; color: var(--soft); }
.audit pre { background: var(--card); padding: .8em 1em; border-radius: 6px; overflow-x: auto; font-size: .85rem;
  line-height: 1.35; white-space: pre-wrap; }
.audit .plots { margin-top: 1.2em; display: grid; gap: 1em;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); }
.audit figure { margin: 0; background: var(--card); border-radius: 8px; padding: .7em; }
.audit figcaption { font-size: .85rem; margin-bottom: .3em; overflow-wrap: anywhere; }
.audit svg { width: 100%; height: auto; display: block; }
.audit svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.audit .pictures { display: flex; flex-wrap: wrap; gap: 1em; align-items: flex-end; }
.audit .pictures svg { width: auto; max-width: 100%; } .audit .opening { font-weight: 600; margin: .3em 0; }
.audit .axis { stroke: var(--line); } .audit .bar, .audit .dot { fill: var(--one); }
.audit .curve { stroke: var(--one); fill: none; stroke-width: 1.5; }
.audit .other { stroke: var(--two); fill: none; stroke-width: 2; stroke-dasharray: 5 4; }
.audit .fails { fill: var(--bad); } .audit .survives { fill: var(--good); } .audit .unknown { fill: var(--none); }
.audit .foot { color: var(--soft); font-size: .85rem; margin-top: 2em; }
"""


def page(audits: Sequence[Audit]) -> str:
    """A whole page with some audits."""
    return page_of({audit.claim.id: section(audit) for audit in audits})


def page_of(parts: Mapping[str, str]) -> str:
    """A whole page of the sections of some audits, by the ids of their claims."""
    title = next(iter(parts)) if len(parts) == 1 else f"{len(parts)} claims"
    body = "\n<hr>\n".join(parts.values())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>Audit of {escape(title)}</title>\n<style>{STYLE}\nbody {{ margin: 0; }}\n"
        "body > .audit { max-width: 60rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; }\n"
        "@media (prefers-color-scheme: dark) { body { background: #14181e; } }\n"
        "hr { border: 0; border-top: 1px solid #8884; margin: 2em 0; }</style>\n</head>\n<body>\n"
        f'<main class="audit">\n{body}\n</main>\n</body>\n</html>\n'
    )


def write_page(audits: Sequence[Audit], path: str | Path) -> None:
    """Write the page to a file."""
    Path(path).write_text(page(audits), encoding="utf-8")


def fragment(audit: Audit, *, titled: bool = True) -> str:
    """One audit, to be shown inside another page (a notebook); untitled where that page names the claim."""
    return f'<style>{STYLE}</style>\n<div class="audit">{section(audit, titled=titled, drawn=False)}</div>'


def section(audit: Audit, *, titled: bool = True, drawn: bool = True) -> str:
    """What a page says of one audit; drawn: with pictures of its instance, where the other page has none."""
    claim = audit.claim
    parts = [
        f"<h2>{escape(claim.id)}</h2>" if titled else "",
        f'<p><span class="verdict {escape(audit.status.split()[0])}">{escape(audit.status)}</span> '
        f"{escape(headline(audit).partition(': ')[2].removeprefix(audit.status).lstrip(', '))}</p>",
        f"<p>{escape(claim.headline)}</p>" if claim.statement and titled else "",
        *(formula.display() for formula in (conclusion(claim.conclusion) if titled else ())),
    ]
    parts += [f'<p class="opening">{escape(line)}</p>' for line in opening(audit)]
    parts.append(f'<div class="plots">{"".join(_figures(audit))}</div>')
    parts += [_pictures(exhibit) for exhibit in (_instances(audit) if drawn else ())]
    for title, lines in sections(audit):
        if title in ("counterexample", "where it fails"):
            parts.append(f"<h3>{title.capitalize()}</h3><pre>{escape(chr(10).join(lines))}</pre>")
        else:
            parts.append(f"<h3>{title.capitalize()}</h3>" + _list(lines))
    parts.append(f'<p class="foot">resstream audit, seed {audit.seed}, {audit.seconds:.1f} s</p>')
    return "\n".join(part for part in parts if part)


def _instances(audit: Audit) -> Iterator[Exhibit]:
    """What is drawn: the counterexample, or the instances at which the sides come nearest."""
    if audit.verdict is not None and audit.verdict.counterexample is not None:
        yield audit.verdict.counterexample
    for part in audit.parts:
        if part.sharpness.shown is not None and not part.sharpness.one_sided:
            yield part.sharpness.shown


def _pictures(exhibit: Exhibit) -> str:
    return f"<h3>{escape(numbers.places(exhibit.raw.sizes) or 'The instance')}</h3>{picture.pictures(exhibit)}"


def _list(lines: Iterable[str]) -> str:
    items = (f"<li{' class=inner' if line.startswith('  ') else ''}>{escape(line.strip())}</li>" for line in lines)
    return f"<ul>{''.join(items)}</ul>"


# ---- the plots --------------------------------------------------------------


def _figures(audit: Audit) -> Iterable[str]:
    if audit.failures is not None:
        for label, cells in maps(audit.failures):
            title = "Where it fails" + (f", {label}" if label else "")
            yield _figure("map", title, _map(cells, audit.failures.rows, audit.failures.columns))
    if audit.sample is not None and any(audit.sample.counts):
        title = f"Relative margins of {audit.sample.instances:,} random instances"
        yield _figure("margins", title, _histogram(audit.sample))
    for part in audit.parts:
        where = f" ({part.relation})" if len(audit.parts) > 1 else ""
        for name, values in part.sharpness.by_size.items():
            if len(values) > 1:
                points = sorted((float(size), ratio) for size, ratio in values.items())
                title = f"Largest ratio of the sides against {name}{where}"
                yield _figure("ratio", title, _plot(points, name, "ratio", dots=True))
        for name, curve in part.profile.curves.items():
            if len(curve) < 3:
                continue
            sharper = part.profile.sharper
            title = f"Largest ratio of the sides against {name}{where}"
            reference: Sequence[tuple[float, float]] = ()
            if sharper is not None and sharper.quantity == name:
                title += f"; dashed: {sharper.form} over the right side"
                reference = part.profile.reference
            yield _figure("profile", title, _plot(curve, name, "ratio", logarithmic=True, reference=reference))


def _figure(kind: str, title: str, drawing: str) -> str:
    return (
        f'<figure class="{kind}"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{drawing}</svg></figure>'
    )


def _axes(
    x_label: str, y_label: str, x_ticks: Iterable[tuple[float, str]], y_ticks: Iterable[tuple[float, str]]
) -> str:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    drawn = [f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}" fill="none"/>']
    for x, text in x_ticks:
        drawn.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{escape(text)}</text>')
    for y, text in y_ticks:
        drawn.append(f'<path class="axis" d="M{LEFT} {y:.1f}H{right}" opacity=".6"/>')
        drawn.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
    short = x_label if len(x_label) <= 50 else x_label[:49] + "…"
    middle = (LEFT + right) / 2
    drawn.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(short)}</text>')
    turned = f'transform="translate(11 {(TOP + bottom) / 2}) rotate(-90)"'
    drawn.append(f'<text {turned} text-anchor="middle">{escape(y_label)}</text>')
    return "".join(drawn)


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - low) / ((high - low) or 1.0) * (end - start)


def _plot(
    points: Sequence[tuple[float, float]],
    x_label: str,
    y_label: str,
    *,
    dots: bool = False,
    logarithmic: bool = False,
    reference: Sequence[tuple[float, float]] = (),
) -> str:
    turn: Callable[[float], float] = math.log10 if logarithmic else float
    xs = [turn(x) for x, _ in [*points, *reference]]
    margin = 0.35 if dots else 0.0
    to_x = _scale(min(xs) - margin, max(xs) + margin, LEFT, WIDTH - RIGHT)
    to_y = _scale(0, 1, HEIGHT - BOTTOM, TOP + 6)
    if logarithmic:
        powers = range(math.ceil(min(xs)), math.floor(max(xs)) + 1)
        step = max(1, -(-len(powers) // 6))
        x_ticks = [(to_x(power), f"{10.0**power:g}") for power in powers[::step]]
    else:
        x_ticks = [(to_x(x), f"{x:g}") for x, _ in points]
    drawn = _axes(x_label, y_label, x_ticks, [(to_y(y), f"{y:g}") for y in (0, 0.25, 0.5, 0.75, 1)])

    def path(some: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{to_x(turn(x)):.1f} {to_y(y):.1f}" for x, y in some)

    drawn += f'<path class="curve" d="{path(points)}"/>'
    if reference:
        drawn += f'<path class="other" d="{path(reference)}"/>'
    drawn += "".join(f'<circle class="dot" cx="{to_x(turn(x)):.1f}" cy="{to_y(y):.1f}" r="3"/>' for x, y in points)
    return drawn


def _histogram(sample: Sample) -> str:
    count = len(sample.counts)
    first = 0 if any(sample.counts[: count // 2]) else count // 2
    shown = sample.counts[first:]
    top = max(shown)
    low = -1.0 if first == 0 else 0.0
    to_x = _scale(low, 1, LEFT, WIDTH - RIGHT)
    to_y = _scale(0, math.sqrt(top), HEIGHT - BOTTOM, TOP + 6)
    width = 2 / count
    ticks = [low, (low + 1) / 2, 1.0] if low == 0 else [-1.0, -0.5, 0.0, 0.5, 1.0]
    heights = sorted({top, max(1, top // 4), max(1, top // 16)})
    drawn = _axes(
        "relative margin in float64 (red: below 0)",
        "instances (root scale)",
        [(to_x(x), f"{x:g}") for x in ticks],
        [(to_y(math.sqrt(value)), f"{value:,}") for value in heights],
    )
    for place, value in enumerate(shown):
        if value:
            left = low + place * width
            y = to_y(math.sqrt(value))
            drawn += (
                f'<rect class="{"fails" if left + width <= 1e-9 else "bar"}" x="{to_x(left) + 0.5:.1f}" y="{y:.1f}" '
                f'width="{to_x(left + width) - to_x(left) - 1:.1f}" height="{HEIGHT - BOTTOM - y:.1f}"/>'
            )
    return drawn


def _map(cells: Sequence[Cell], rows: str, columns: str) -> str:
    down = list(dict.fromkeys(cell.sizes.get(rows, 0) for cell in cells))
    across = list(dict.fromkeys(cell.sizes.get(columns, 0) for cell in cells))
    bottom = HEIGHT - BOTTOM
    width, height = (WIDTH - LEFT - RIGHT) / len(across), (bottom - TOP) / len(down)
    drawn = []
    for cell in cells:
        i, j = down.index(cell.sizes.get(rows, 0)), across.index(cell.sizes.get(columns, 0))
        kind = {FAILS: "fails", SURVIVES: "survives"}.get(cell.outcome, "unknown")
        x, y = LEFT + j * width, TOP + i * height
        drawn.append(
            f'<rect class="{kind}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{width - 2:.1f}" '
            f'height="{height - 2:.1f}" rx="3">'
            f"<title>{escape(', '.join(f'{k} = {v}' for k, v in cell.sizes.items()))}: {cell.outcome}</title></rect>"
            f'<text x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}" text-anchor="middle" style="fill:#fff">'
            f"{cell.outcome}</text>"
        )
    x_ticks = [(LEFT + (j + 0.5) * width, str(value)) for j, value in enumerate(across)] if columns else []
    y_ticks = [(TOP + (i + 0.5) * height, str(value)) for i, value in enumerate(down)] if rows else []
    return _axes(columns, rows, x_ticks, y_ticks) + "".join(drawn)
