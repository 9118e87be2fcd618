"""What the sources print that is false or imprecise, what is right, and a certified counterexample.

Collected from the claims whose statement has a paragraph "Printed: ... (Read: ...) Right: ... Fault: ...", as Markdown:
`python -m resstream.falsify.errata > docs/errata.md`. A tempting misreading is no erratum, and has no such paragraph.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from textwrap import fill

from resstream import claims
from resstream.claim import Claim
from resstream.errors import ClaimError
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.run import falsify

_PARAGRAPH = re.compile(
    r"^Printed: (?P<printed>.*?)(?:\nRead: (?P<read>.*?))?\nRight: (?P<right>.*?)\nFault: (?P<fault>.*?)\.(?:\n\n|\Z)",
    re.M | re.S,
)

FAULTS = {
    "false": "The sentence is wrong in every reading that its source allows.",
    "imprecise": "The sentence is right in some reading or setting and wrong in the one that its words give.",
}
"""How a sentence can be at fault, and what that means."""

_HEAD = """\
# Errata

{count} statements of the sources that are false or imprecise as printed, each with the reading that is refuted, where
there are several, and with what is right. A claim that states what is printed is refuted: its counterexample is shrunk,
in exact numbers (or enclosed, where they are not rational), and certified. A claim that states what is right is checked
like every other. A tempting misreading of a sentence that is right is no erratum: CLAIMS.md has those.

{faults}

Written by `python -m resstream.falsify.errata > docs/errata.md`; a test holds this file to it.
"""


@dataclass(frozen=True)
class Erratum:
    """One claim, and what its statement says of the source."""

    claim: Claim
    printed: str
    right: str
    fault: str
    read: str = ""


def errata() -> list[Erratum]:
    """The errata of the library, in its order; a statement with some of the words alone raises ClaimError."""
    found = []
    for claim in claims.library().values():
        paragraph = _PARAGRAPH.search(claim.statement)
        if paragraph:
            if paragraph["fault"] not in FAULTS:
                raise ClaimError(f"claim {claim.id}: fault {paragraph['fault']!r}, expected one of {', '.join(FAULTS)}")
            printed, right = (_sentence(paragraph[name]) for name in ("printed", "right"))
            read = _sentence(paragraph["read"]) if paragraph["read"] else ""
            found.append(Erratum(claim, printed, right, paragraph["fault"], read))
        elif re.search(r"^(Printed|Read|Right|Fault):", claim.statement, re.M):
            raise ClaimError(
                f"claim {claim.id}: expected lines 'Printed: ...', 'Right: ...' and 'Fault: ...', in order"
            )
    return found


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[0].upper() + text[1:]


def as_markdown() -> str:
    """The errata as a document. A claim that should be refuted and is not raises ClaimError."""
    found = errata()
    counted = {kind: sum(erratum.fault == kind for erratum in found) for kind in FAULTS}
    faults = "\n".join(f"- *{kind}* ({counted[kind]}): {meaning}" for kind, meaning in FAULTS.items())
    return _HEAD.format(count=len(found), faults=faults) + "".join(map(_section, found))


def _section(erratum: Erratum) -> str:
    claim = erratum.claim
    read = [f"*Read.* {erratum.read}"] if erratum.read else []
    paragraphs = [
        f"{claim.source}. Fault: {erratum.fault}.",
        f"*Printed.* {erratum.printed}",
        *read,
        f"*Right.* {erratum.right}",
    ]
    if claim.expect == "fails":
        verdict = falsify(claim, seed=0)
        if verdict.counterexample is None:
            raise ClaimError(f"claim {claim.id}: expected a counterexample to what is printed, got {verdict.status}")
        shown = f"```text\n{_instance(verdict.counterexample)}\n```"
    else:
        shown = "The claim states what is right."
    return "\n\n".join([f"\n## `{claim.id}`", *(fill(text, 120) for text in paragraphs), shown]) + "\n"


def _instance(counterexample: Counterexample) -> str:
    """The part of a counterexample's text that does not depend on how it was found: where it is, and both sides."""
    _, _, text = str(counterexample).partition("\n\n")
    return re.sub(r"; relative violation .*(\n.*)*", "", text)


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
