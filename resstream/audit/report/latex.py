"""An audit as LaTeX."""

from __future__ import annotations

from resstream.audit.report.referee import opening
from resstream.audit.report.words import headline
from resstream.audit.result import Audit
from resstream.cards import text_latex
from resstream.typeset import conclusion


def audit_latex(audit: Audit) -> str:
    """The verdict, the formula where the claim's code is one, the referee's lines, and the counterexample if any."""
    lines = [text_latex(headline(audit)), *(formula.latex for formula in conclusion(audit.claim.conclusion))]
    lines += [text_latex(line) for line in opening(audit)]
    if audit.verdict is not None and audit.verdict.counterexample is not None:
        lines.append(audit.verdict.counterexample.latex())
    rows = " \\\\\n".join(lines)
    return f"$\\displaystyle\n\\begin{{array}}{{l}}\n{rows}\n\\end{{array}}\n$"
