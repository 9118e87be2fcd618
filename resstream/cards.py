"""Claims as HTML and LaTeX, for notebooks and pages, and the style of everything that is shown in one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

from resstream.typeset import conclusion, prose

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

FRAME = """
.rs.frame { border: 1px solid var(--rs-line); border-radius: 8px; padding: .8em 1em; }
.rs.frame .id { font-weight: 600; } .rs.frame p { margin: .3em 0; overflow-wrap: anywhere; }
.rs.frame .status { border-radius: 1em; padding: .05em .7em; color: var(--rs-card); background: var(--rs-soft); }
.rs.frame .status:is(.survived, .evidence) { background: var(--rs-good); }
.rs.frame .status.refuted { background: var(--rs-bad); }
.rs.frame .soft { color: var(--rs-soft); } .rs.frame math { font-size: 1.1em; }
.rs.frame table { border-collapse: collapse; }
.rs.frame th, .rs.frame td { text-align: left; padding: .2em .8em .2em 0; vertical-align: top; }
.rs.frame tbody tr { border-top: 1px solid var(--rs-line); }
.rs.frame code { font: .9em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.rs.frame .long { max-height: 32em; overflow: auto; }
"""
"""Of what stands alone in a notebook: a frame, and what is inside."""


def block(body: str) -> str:
    """A block of HTML that brings its style with it."""
    return f'<style>{STYLE}{FRAME}</style><div class="rs frame">{body}</div>'


def claim_body(claim: Any) -> str:
    """A claim: its words, its conclusion as a formula where it can be read off the code, and its source."""
    formulas = "".join(formula.display() for formula in conclusion(claim.conclusion))
    expected = "" if claim.expect == "holds" else ' <span class="soft">(expected to fail)</span>'
    growth = f"<p>The quantity {escape(claim.as_grows.wording)}.</p>" if claim.as_grows else ""
    variables = ", ".join(f"{name} in {domain}" for name, domain in claim.over.items())
    assuming = ", ".join(function.__name__.replace("_", " ") for function in claim.assuming)
    return (
        f'<p><span class="id">{escape(claim.id)}</span>{expected}</p><p>{escape(prose(claim.headline))}</p>'
        f"{growth}{formulas}"
        f'<p class="soft">for {escape(variables)}{escape(f"; assuming {assuming}" if assuming else "")}</p>'
        + (f'<p class="soft">{escape(claim.source)}</p>' if claim.source else "")
    )


def claim_html(claim: Any) -> str:
    """A claim as a block of HTML."""
    return block(claim_body(claim))


def claim_latex(claim: Any) -> str | None:
    """What a claim states, as LaTeX, each relation on its own line; None where its code is no formula."""
    formulas = conclusion(claim.conclusion)
    if not formulas:
        return None
    lines = " \\\\\n".join(f"&{formula.latex}" for formula in formulas)
    return f"$\\displaystyle\n\\begin{{aligned}}\n{lines}\n\\end{{aligned}}\n$"


def text_latex(text: str) -> str:
    """Plain text inside a formula."""
    return r"\text{" + re.sub(r"([\\{}_^#%&$~])", lambda found: _ESCAPED.get(found[1], "\\" + found[1]), text) + "}"


_ESCAPED = {"\\": "/", "^": "\\^{}", "~": "-"}


def library_latex(claims: Iterable[Any]) -> str:
    """Claims as an array: id, and the formula where the code is one, else the words."""
    rows = []
    for claim in claims:
        formulas = conclusion(claim.conclusion)
        shown = formulas[0].latex if formulas else text_latex(prose(claim.headline))
        rows.append(f"{text_latex(claim.id)} & {shown}")
    lines = " \\\\\n".join(rows)
    return f"$\\displaystyle\n\\begin{{array}}{{ll}}\n{lines}\n\\end{{array}}\n$"


def library_html(claims: Iterable[Any]) -> str:
    """Claims as a table: id, what is expected, statement, source."""
    rows = "".join(
        f"<tr><td><code>{escape(claim.id)}</code></td><td>{'holds' if claim.expect == 'holds' else 'fails'}</td>"
        f'<td>{escape(prose(claim.headline))}</td><td class="soft">{escape(claim.source)}</td></tr>'
        for claim in claims
    )
    head = "<tr><th>claim</th><th>expected</th><th>statement</th><th>source</th></tr>"
    return block(f'<div class="long"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>')
