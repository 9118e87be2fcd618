"""The ten findings that docs/findings.md opens with, each with its certificate, made anew.

python benchmarks/ten_findings.py        puts them in the place of those that stand there
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from resstream import claims
from resstream.audit.report import numbers
from resstream.falsify.run import falsify

DOCUMENT = Path(__file__).parents[1] / "docs" / "findings.md"

BY_ITSELF = "The audit found it by itself."
PUT_IN = "It was put in; the audit certifies it."


@dataclass(frozen=True)
class Finding:
    """Two sentences, the claims that hold, those that are refuted, and who found it."""

    text: str
    holds: tuple[str, ...]
    refuted: tuple[str, ...]
    found: str


FINDINGS = (
    Finding(
        "Scores of range r give tau(softmax S) <= tanh(r/2), which is attained, where Theorem 1 (ii) prints 1 - "
        "e^-r. For an odd number of keys the exact supremum is lower still: .4208 at three keys and r = 1, beside "
        ".4621 and .6321.",
        ("contraction.scores", "contraction.scores_sharp", "contraction.scores_exact"),
        ("contraction.scores_too_sharp",),
        "The audit found tanh(r/2) by itself; the odd numbers of keys were put in.",
    ),
    Finding(
        "That theorem does not speak of the page's own mask: uniform causal attention has r = 0 and tau = 1 - 1/n."
        " Under the mask tau is exactly one minus the least weight on the first token.",
        ("contraction.causal", "contraction.causal_scores"),
        ("contraction.scores_under_mask",),
        PUT_IN,
    ),
    Finding(
        "One layer of attention takes the distance R of the tokens from their mean to at most ||M|| ||W|| R^3/2, "
        "whatever the number of tokens. So a stack collapses doubly exponentially with a constant that is free of "
        "n, and 1/2 cannot be lowered to 1/3.",
        ("literature.one_layer_collapse", "literature.deviation_stack"),
        ("literature.one_layer_collapse_third",),
        "It was put in, with its proof; that two tokens approach the constant is the audit's.",
    ),
    Finding(
        "With A = softmax(beta X X') the skip X + AX brings no two tokens closer, because AX is the gradient of a "
        "convex function. That is a fact of the Euclidean norm: in the maximum norm, or with a semidefinite value "
        "map, it fails.",
        ("skip.expansive",),
        ("skip.expansive_maximum_norm", "skip.expansive_semidefinite"),
        PUT_IN,
    ),
    Finding(
        "The recursion from which an exponential growth of the variance in pre-LN models is concluded grows it "
        "quadratically: sigma_L <= sigma_1 + (L - 1)/2. The exponential upper bound is met by no sequence that "
        "obeys it.",
        ("depth.variance_recursion",),
        ("depth.variance_grows_exponentially",),
        PUT_IN,
    ),
    Finding(
        "The K-composition circuit of the annotated edition, W_OV W_QK, is that of Q-composition; keys compose "
        "through W_QK W_OV'. Hence the entry that is large for an induction head is (A, A), and not (B, A).",
        ("composition.matrices", "induction.score_is_entry_of_query_and_predecessor"),
        ("composition.same_matrix_for_keys_and_queries", "induction.score_is_entry_of_target_and_query"),
        PUT_IN,
    ),
    Finding(
        "Heads that write and read the very same space need not compose strongly: with singular values 2 and 1 the"
        " score is .825 if the largest meets the largest and .566 if they are crossed. What bounds it is von "
        "Neumann's inequality, not the alignment of spaces.",
        ("composition.largest_score",),
        ("composition.aligned_spaces_are_maximal",),
        PUT_IN,
    ),
    Finding(
        "Softmax is 1/2-Lipschitz, and the local constant stays strictly below 1/2 for three classes or more. For "
        "two classes it does not: at equal scores it is 1/2.",
        ("literature.softmax_lipschitz_half", "literature.softmax_lipschitz_strict_beyond_two"),
        ("literature.softmax_lipschitz_strict",),
        "The audit found by itself that 1/2 takes the place of the constant 1, and that a third class saves it.",
    ),
    Finding(
        "Doubly stochastic mixing of residual streams has norm 1 and is no identity: what tells the streams apart "
        "shrinks by Dobrushin's coefficient in every layer. Only the mean of the streams passes a deep product.",
        ("hyper_connections.norm", "hyper_connections.only_the_mean_survives"),
        ("hyper_connections.norm_preserving",),
        PUT_IN,
    ),
    Finding(
        "The bound on over-squashing, as it is transcribed, has the Lipschitz constant s of the MLPs to the power "
        "L, and is 0 where they write nothing while the skip passes everything. With (1 + s)^L, the constant of "
        "its own proof, it holds.",
        ("oversquashing.repaired",),
        ("oversquashing.as_transcribed",),
        PUT_IN,
    ),
)

START, END = "## Ten findings\n", "\n## Bounds that are not sharp\n"


def as_markdown() -> str:
    """The section, from its heading on. A claim that should be refuted and is not raises AssertionError."""
    lines = [START.strip(), ""]
    for number, finding in enumerate(FINDINGS, 1):
        lines += [f"**{number}.** {finding.text} {finding.found}", ""]
        for identifier in finding.holds:
            proof = "with a proof" if "Proof:" in claims.lookup(identifier).statement else "searched"
            lines.append(f"- `{identifier}` holds ({proof})")
        for identifier in finding.refuted:
            verdict = falsify(claims.lookup(identifier), seed=0)
            assert verdict.counterexample is not None, f"{identifier}: {verdict.status}"
            judged = verdict.counterexample.judgement
            sides = f"{_short(judged.lhs)} against {_short(judged.rhs)}"
            instance = " ".join(numbers.instance(verdict.counterexample).split())
            lines.append(f"- `{identifier}` is refuted: `{instance}` gives {sides}")
        lines.append("")
    return "\n".join(lines)


def _short(side: object) -> str:
    """A side with few digits: a ball by its middle."""
    text = str(side)
    middle = re.match(r"\[([-\d.e+]+) \+/- ", text)
    if middle:
        return f"{float(middle[1]):.6g}..."
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+\.\d+", text) else text


def placed(document: str, section: str) -> str:
    """The document with the section in the place of the one that stands there, or before the first table."""
    head, _, rest = document.partition(END)
    return head.partition(START)[0].rstrip("\n") + "\n\n" + section.rstrip("\n") + "\n" + END + rest


if __name__ == "__main__":
    DOCUMENT.write_text(placed(DOCUMENT.read_text(), as_markdown()))
