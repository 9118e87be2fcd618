"""The laboratory as one self-contained page: the modules of `js`, the style and the data, put together as text."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

import resstream
from resstream.errors import ResstreamError
from resstream.induction.filings import fresh_filings, queries, symbol
from resstream.induction.settings import Settings
from resstream.induction.weights import NAMES, load_model
from resstream.lab.break_it import break_data
from resstream.reference import AttentionOnlyModel

ROOM = Path(__file__).parent

MATHEMATICS = ("mathematics", "rational", "cloud_model", "model", "expressions", "paths")
"""The modules that draw nothing, each after those that it imports."""

MODULES = (*MATHEMATICS, "dom", "fragment", "charts", "points", "cloud", "break_it", "induction", "norms", "main")
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
    "break": (
        "Break it",
        "False claims, and where they break",
        "Plausible sentences that are false as printed. Drag the tokens and the weights until the margin turns "
        "negative, or type a right side of your own; beside it stands the counterexample that the package found, "
        "shrank and certified in exact arithmetic.",
    ),
    "induction": (
        "Induction",
        "Two layers learn to copy",
        "A trained model of two layers with two heads each, and nothing else: one head of layer 0 looks at the token "
        "before, and the heads of layer 1 find where the present token stood before and copy what followed. Its 24,704 "
        "weights lie in this page; everything below is computed from them as you type.",
    ),
    "norms": (
        "Norms and gradients",
        "What LayerNorm forgets",
        "LayerNorm forgets the mean and the length of a token. In three dimensions that leaves a circle, and its "
        "Jacobian sends two directions to zero: <math><mn>1</mn></math> and <math><mi>x</mi><mo>−</mo>"
        "<mover><mi>x</mi><mo>¯</mo></mover></math>. RMSNorm forgets the length alone.",
    ),
}
"""Every room: its name in the navigation, its heading, and what it is about."""

_IMPORT = re.compile(r"^import\s+(?:\{[^}]*\}\s+from\s+)?\"[^\"]+\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class))", re.MULTILINE)
_NAME = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def module(names: tuple[str, ...] = MODULES) -> str:
    """One ES module out of several: every name is its own in all of them, so imports and exports can go."""
    plain = "".join(_EXPORT.sub("", _IMPORT.sub("", source(name))) for name in names)
    if "charts" not in names:
        return plain
    charts = (ROOM / "vendor" / "uplot" / "uPlot.iife.min.js").read_text(encoding="utf-8")
    return charts + plain


def source(name: str) -> str:
    """The text of a module."""
    return (ROOM / "js" / f"{name}.js").read_text(encoding="utf-8")


def exported(names: tuple[str, ...] = MODULES) -> list[str]:
    """The names that modules export."""
    return [found for name in names for found in _EXPORTED.findall(source(name))]


def made(names: tuple[str, ...] = MODULES) -> list[str]:
    """The names that modules make, each of which must be made once."""
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
        "data": "".join(
            embedded(f"{name}-data", data)
            for name, data in (("cloud", cloud_data()), ("break", break_data()), ("induction", induction_data()))
        ),
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


FILINGS = 12
"""How many examples of filings the page has."""


def shipped_model() -> tuple[AttentionOnlyModel, Settings]:
    """The two-layer model that the package ships, and its settings."""
    with as_file(files("resstream.induction") / "data" / "two_layers.npz") as path:
        model, settings, _ = load_model(path)
    return model, settings


@cache
def induction_data() -> dict[str, Any]:
    """The shipped two-layer model in base64, and filings whose company names no model has met."""
    model, settings = shipped_model()
    weights = [(name, getattr(model, name)) for name in NAMES]
    vector = np.concatenate([values.ravel() for _, values in weights]).astype("<f8")
    asked = [query for query in queries(fresh_filings(0, 40)) if len(query.window) == settings.length]
    chosen = asked[:: len(asked) // FILINGS][:FILINGS]
    return {
        "model": {
            "shapes": [(name, values.shape) for name, values in weights],
            "base": settings.base,
            "weights": base64.b64encode(vector.tobytes()).decode("ascii"),
        },
        "filings": [
            {
                "words": list(query.window),
                "symbols": [symbol(word) for word in query.window],
                "answer": query.answer,
                "symbol": symbol(query.answer),
            }
            for query in chosen
        ],
    }


def write_page(path: str | Path) -> Path:
    """Write the page to a file; a path that cannot be written raises ResstreamError."""
    path = Path(path)
    try:
        path.write_text(page(), encoding="utf-8")
    except OSError as failure:
        raise ResstreamError(f"{path}: cannot be written ({failure.strerror})") from None
    return path
