"""Verdicts and counterexamples as HTML, for notebooks and pages: words, exact values, and a picture of the instance."""

from __future__ import annotations

from html import escape

from resstream.claim import Claim
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.formats import picture
from resstream.falsify.report import verdict_text
from resstream.falsify.search import Verdict
from resstream.typeset import conclusion, prose

STYLE = (
    picture.STYLE
    + """
.rs { border: 1px solid var(--rs-line); border-radius: 8px; padding: .8em 1em; }
.rs .id { font-weight: 600; } .rs p { margin: .3em 0; overflow-wrap: anywhere; }
.rs .status { border-radius: 1em; padding: .05em .7em; color: var(--rs-card); background: var(--rs-soft); }
.rs .status.survived { background: var(--rs-good); } .rs .status.refuted { background: var(--rs-bad); }
.rs .soft { color: var(--rs-soft); } .rs math { font-size: 1.1em; }
.rs table { border-collapse: collapse; }
.rs th, .rs td { text-align: left; padding: .2em .8em .2em 0; vertical-align: top; }
.rs tbody tr { border-top: 1px solid var(--rs-line); }
.rs code { font: .9em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
"""
)


def block(body: str) -> str:
    """A block of HTML that brings its style with it."""
    return f'<style>{STYLE}</style><div class="rs">{body}</div>'


def claim_body(claim: Claim) -> str:
    """A claim: its words, its conclusion as a formula where it can be read off the code, and its source."""
    formulas = "".join(formula.display() for formula in conclusion(claim.conclusion))
    expected = "" if claim.expect == "holds" else ' <span class="soft">(expected to fail)</span>'
    variables = ", ".join(f"{name} in {domain}" for name, domain in claim.over.items())
    assuming = ", ".join(function.__name__.replace("_", " ") for function in claim.assuming)
    return (
        f'<p><span class="id">{escape(claim.id)}</span>{expected}</p><p>{escape(prose(claim.headline))}</p>{formulas}'
        f'<p class="soft">for {escape(variables)}{escape(f"; assuming {assuming}" if assuming else "")}</p>'
        + (f'<p class="soft">{escape(claim.source)}</p>' if claim.source else "")
    )


def counterexample_body(counterexample: Counterexample) -> str:
    """A counterexample: its pictures, and both sides as they were certified."""
    judged = counterexample.judgement
    certain = "exactly" if judged.bits is None else f"certified at {judged.bits} bits"
    lhs, rhs = (escape(str(side)) for side in (judged.lhs, judged.rhs))
    sizes = ", ".join(f"{name} = {size}" for name, size in counterexample.raw.sizes.items())
    others = [f"{name} = {value}" for name, value in counterexample.arrays() if isinstance(value, str)]
    at = "; ".join(part for part in (sizes, *others) if part)
    return (
        (f"<p>At {escape(at)}:</p>" if at else "") + f"{picture.pictures(counterexample)}"
        f"<p>lhs = <code>{lhs}</code></p><p>rhs = <code>{rhs}</code></p>"
        f"<p>lhs {escape(judged.kind)} rhs fails, {certain}; relative violation {-judged.margin:.3g}, largest seen "
        f"{counterexample.largest_violation:.3g}.</p>"
    )


def counterexample_html(counterexample: Counterexample) -> str:
    """A counterexample as a block of HTML with its style."""
    refuted = '<p><span class="status refuted">refuted</span></p>'
    return block(claim_body(counterexample.claim) + refuted + counterexample_body(counterexample))


def verdict_html(verdict: Verdict) -> str:
    """A verdict as a block of HTML with its style: the claim, how hard was tried, and the counterexample if any."""
    first = verdict.status.split()[0]
    words = verdict_text(verdict).splitlines()
    said = "".join(f"<p>{escape(line)}</p>" for line in words if line.strip())
    body = (
        claim_body(verdict.claim) + f'<p><span class="status {escape(first)}">{escape(verdict.status)}</span></p>{said}'
    )
    if verdict.counterexample:
        body += counterexample_body(verdict.counterexample)
    return block(body)


def claim_html(claim: Claim) -> str:
    """A claim as a block of HTML with its style."""
    return block(claim_body(claim))
