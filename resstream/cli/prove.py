"""The command `resstream prove`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resstream.cli.falsify import Claims
from resstream.cli.output import UNDECIDED, console, seconds_option
from resstream.errors import NotExpressible, ResstreamError
from resstream.targets import require_directory

if TYPE_CHECKING:
    from resstream.prove.answer import Answer

KERNEL_SECONDS = 300.0
"""That Rocq's kernel has for a certificate."""


def prove(
    identifier: Claims,
    seconds: Annotated[float, seconds_option("A limit in time for the proofs.")] = 10.0,
    save: Annotated[str | None, typer.Option(metavar="DIR", help="Write the certificates, as files for Rocq.")] = None,
    kernel: Annotated[bool, typer.Option("--kernel", help="Have Rocq's kernel (coqc) check the certificates.")] = False,
) -> None:
    """Try to prove a claim at small sizes, over all real numbers, and write certificates of the proofs.

    Exit status: 0 something is proved, 2 bad usage, 3 nothing is. That it is proved there says nothing of other sizes.
    """
    from resstream import kernel as rocq
    from resstream.audit.proofs import prove as proved
    from resstream.falsify import variants
    from resstream.falsify.formats.theorem import proved_by, write

    claim = variants.find(identifier)
    if save is not None:
        require_directory("--save", save)
    if kernel and not rocq.found():
        raise ResstreamError(f"--kernel: coqc was not found; {rocq.INSTALL} brings it on Debian")
    found: list[Answer] = []
    broken = proved(claim, seconds, found.append)
    for answer in found:
        said = f"{answer} by {answer.method}" if answer.proved else str(answer)
        if answer.proved:
            try:
                text = write(proved_by(claim, answer))
            except NotExpressible as reason:
                said += f"; no certificate: {reason}"
            else:
                if save is not None:
                    said += f"; {_saved(Path(save), claim.id, answer, text)}"
                if kernel:
                    checked = rocq.check(text, KERNEL_SECONDS)
                    said += f"; kernel-checked in {checked.seconds:.1f} s" if checked.accepted else "; not accepted"
                elif answer.kernel:
                    said += "; kernel-checked (on record)"
        console.print(said, markup=False, highlight=False, soft_wrap=True)
    if broken:
        console.print(f"no more proofs: {broken}", markup=False, highlight=False, soft_wrap=True)
    count = sum(answer.proved for answer in found)
    console.print(f"{claim.id}: proved at {count} of the {len(found)} places tried.", markup=False, highlight=False)
    raise typer.Exit(0 if count else UNDECIDED)


def _saved(directory: Path, claim: str, answer: Answer, text: str) -> Path:
    """Where a certificate was written, under a name that Rocq takes for a file."""
    sizes = " ".join(f"{name}{size}" for name, size in answer.sizes.items())
    name = re.sub(r"\W+", "_", f"{claim} {sizes} {answer.options}").strip("_")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.v"
    path.write_text(text, encoding="utf-8")
    return path


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(prove)
