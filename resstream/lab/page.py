"""The laboratory as one self-contained page: the modules of `js`, the style and the data, put together as text."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import resstream
from resstream.errors import ResstreamError

ROOM = Path(__file__).parent

MATHEMATICS = ("mathematics", "rational", "cloud_model")
"""The modules that draw nothing, each after those that it imports."""

MODULES = (*MATHEMATICS, "dom", "fragment", "charts", "cloud", "main")
"""The modules of the page."""

ROOMS = {
    "cloud": (
        "Cloud",
        "Attention alone collapses",
        "Every layer of attention replaces each token by an average of tokens, so the cloud can only become narrower: "
        "<math><mi>diam</mi><mo>(</mo><mi>A</mi><mi>X</mi><mo>)</mo><mo>≤</mo><mi>τ</mi><mo>(</mo><mi>A</mi><mo>)</mo>"
        "<mo>·</mo><mi>diam</mi><mo>(</mo><mi>X</mi><mo>)</mo></math>. Drag a token and see what the bound promises "
        "beside what happens.",
    ),
}
"""Every room: its name in the navigation, its heading, and what it is about."""

_IMPORT = re.compile(r"^import\s+(?:\{[^}]*\}\s+from\s+)?\"[^\"]+\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function|const|let|class)", re.MULTILINE)
_NAME = re.compile(r"^export (?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def module(names: tuple[str, ...] = MODULES) -> str:
    """One ES module out of several: every name is its own in all of them, so imports and exports can go."""
    charts = (ROOM / "vendor" / "uplot" / "uPlot.iife.min.js").read_text(encoding="utf-8")
    return charts + "".join(_EXPORT.sub("", _IMPORT.sub("", source(name))) for name in names)


def source(name: str) -> str:
    """The text of a module."""
    return (ROOM / "js" / f"{name}.js").read_text(encoding="utf-8")


def exported(names: tuple[str, ...] = MODULES) -> list[str]:
    """The names that modules export."""
    return [found for name in names for found in _NAME.findall(source(name))]


def style() -> str:
    """The style of every page of the room."""
    return (ROOM / "vendor/uplot/uPlot.min.css").read_text("utf-8") + (ROOM / "style.css").read_text("utf-8")


def embedded(identifier: str, value: Any) -> str:
    """Data as a script element that no text inside can close."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{identifier}">{text}</script>'


@cache
def page() -> str:
    """The whole page."""
    links = "\n".join(f'<a href="#{name}">{title}</a>' for name, (title, _, _) in ROOMS.items())
    rooms = "\n".join(
        f'<section id="{name}" hidden aria-labelledby="{name}-title">\n<h2 id="{name}-title">{heading}</h2>\n'
        f'<p class="lede">{lede}</p>\n<div class="room"></div>\n</section>'
        for name, (_, heading, lede) in ROOMS.items()
    )
    values = {
        "style": style(),
        "links": links,
        "rooms": rooms,
        "version": resstream.__version__,
        "data": embedded("cloud-data", cloud_data()),
        "script": module().replace("</script", "<\\/script"),
    }
    template = (ROOM / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)


def cloud_data() -> dict[str, Any]:
    """The laboratory's tokens and presets."""
    return {
        "tokens": json.loads((ROOM / "data" / "tokens.json").read_text(encoding="utf-8")),
        "presets": json.loads((ROOM / "data" / "presets.json").read_text(encoding="utf-8")),
    }


def write_page(path: str | Path) -> Path:
    """Write the page to a file; a path that cannot be written raises ResstreamError."""
    path = Path(path)
    try:
        path.write_text(page(), encoding="utf-8")
    except OSError as failure:
        raise ResstreamError(f"{path}: cannot be written ({failure.strerror})") from None
    return path
