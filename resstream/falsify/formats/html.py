"""Verdicts and counterexamples as HTML, for notebooks and pages: words, exact values, and a picture of the instance."""

from __future__ import annotations

import itertools
from html import escape

from resstream.cards import block, claim_body
from resstream.falsify.counterexample import Counterexample, Exhibit, beside_text
from resstream.falsify.formats import picture
from resstream.falsify.report import verdict_text
from resstream.falsify.verdict import Verdict


def exhibit_body(exhibit: Exhibit) -> str:
    """An instance: where it is, its pictures, and both sides."""
    lhs, rhs = (escape(str(side)) for side in (exhibit.judgement.lhs, exhibit.judgement.rhs))
    sizes = [f"{name} = {size}" for name, size in exhibit.raw.sizes.items()]
    others = [f"{name} = {value}" for name, value in exhibit.arrays() if isinstance(value, str)]
    at = f"<p>At {escape(', '.join([*sizes, *others]))}:</p>" if sizes or others else ""
    return f"{at}{picture.pictures(exhibit)}<p>lhs = <code>{lhs}</code></p><p>rhs = <code>{rhs}</code></p>"


def counterexample_body(counterexample: Counterexample) -> str:
    """A counterexample: its pictures, and both sides as they were certified."""
    judged = counterexample.judgement
    certain = "exactly" if judged.bits is None else f"certified at {judged.bits} bits"
    return (
        f"{exhibit_body(counterexample)}"
        f"<p>lhs {escape(judged.kind)} rhs fails, {certain}; relative violation {-judged.margin:.3g}, largest seen "
        f"{counterexample.largest_violation:.3g}.</p>"
        + "".join(f"<p>{escape(beside_text(one))}</p>" for one in judged.beside)
    )


def exhibit_html(exhibit: Exhibit) -> str:
    """An instance, or the counterexample that it is, as a block of HTML with its style."""
    if not isinstance(exhibit, Counterexample):
        return block(claim_body(exhibit.claim) + exhibit_body(exhibit))
    refuted = '<p><span class="status refuted">refuted</span></p>'
    return block(claim_body(exhibit.claim) + refuted + counterexample_body(exhibit))


def verdict_html(verdict: Verdict) -> str:
    """A verdict as a block of HTML with its style: the claim, how hard was tried, and the counterexample if any."""
    first = verdict.status.split()[0]
    words = [line for line in verdict_text(verdict).splitlines() if line.strip()]
    said = ""
    for is_table, lines in itertools.groupby(words, key=lambda line: line.startswith("  ")):
        body = escape("\n".join(lines))
        said += f"<pre>{body}</pre>" if is_table else "".join(f"<p>{line}</p>" for line in body.splitlines())
    body = (
        claim_body(verdict.claim) + f'<p><span class="status {escape(first)}">{escape(verdict.status)}</span></p>{said}'
    )
    if verdict.counterexample:
        body += counterexample_body(verdict.counterexample)
    return block(body)
