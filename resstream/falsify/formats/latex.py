"""A verdict as LaTeX; a counterexample has its own."""

from __future__ import annotations

from resstream.cards import text_latex
from resstream.falsify.verdict import Verdict
from resstream.typeset import conclusion


def verdict_latex(verdict: Verdict) -> str:
    """The claim, its formula where its code is one, the verdict, and the counterexample if there is one."""
    lines = [f"{text_latex(verdict.claim.id + ': ' + verdict.status)}"]
    lines += [formula.latex for formula in conclusion(verdict.claim.conclusion)]
    if verdict.counterexample:
        lines.append(verdict.counterexample.latex())
    else:
        lines.append(text_latex(f"{verdict.tally.accepted:,} instances met the hypotheses"))
    rows = " \\\\\n".join(lines)
    return f"$\\displaystyle\n\\begin{{array}}{{l}}\n{rows}\n\\end{{array}}\n$"
