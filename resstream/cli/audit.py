"""The commands `resstream audit` and `resstream new`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resstream.cli.apart import OVERTIME, Answer, apart
from resstream.cli.output import (
    Budget,
    Json,
    On,
    Seed,
    console,
    notes,
    print_json,
    rendered,
    seconds_option,
    workers_at,
)
from resstream.targets import require_file

if TYPE_CHECKING:
    from resstream.falsify.variants import Stated
    from resstream.statistical import StatisticalClaim

ENDS_HERE = "An audit ends here: what it asks else is asked of instances, and no instance refutes a statistical claim."


def audit(
    names: Annotated[list[str], typer.Argument(metavar="FILE.py|ID...", help="A file of claims, FILE.py::ID, or ids.")],
    budget: Annotated[int, Budget] = 40_000,
    seconds: Annotated[float, seconds_option("A limit in time for each claim.")] = 45.0,
    seed: Annotated[int, Seed] = 0,
    on: Annotated[str | None, On] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out thresholds, larger sizes and longer searches.")
    ] = False,
    memory: Annotated[bool, typer.Option(help="Try counterexamples of earlier runs first, and keep new ones.")] = True,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write one self-contained page with plots.")] = None,
    as_markdown: Annotated[bool, typer.Option("--md", help="Print Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Find out what a claim is worth: true on all that was tried, how sharp, which hypotheses it needs, where it fails.

    A file is executed as Python code, as a test file is: audit only what you trust.

    Exit status: 0 every claim does what it is expected to, 1 otherwise, 2 bad usage.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.audit import STAGES
    from resstream.audit.report import page
    from resstream.falsify.variants import stated_targets

    chosen = stated_targets(names)
    if html is not None:
        require_file("--html", html)
    found: dict[str, Found] = {}
    interrupted = False
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal)
    asked = (budget, seed, seconds, quick, memory)
    with workers_at(on) as executor, shown as progress:
        task = progress.add_task("", total=len(STAGES))

        def asked_so_far(one: Found) -> None:
            progress.update(task, completed=one.stage)

        here = ((claim, _audited(claim, asked, asked_so_far)) for claim in chosen)
        for claim, answer in here if executor is None else _audited_there(chosen, asked, executor):
            interrupted = answer.interrupted
            if answer.value is None and interrupted:
                break
            found[claim.id] = one = answer.value or _nothing(claim, answer.failure)
            if answer.failure:
                notes.print(f"{claim.id}: {answer.failure}", style="red", markup=False, highlight=False)
            if not as_json:
                sys.stdout.write(one.markdown + "\n" if as_markdown else one.screen)
            if interrupted:
                break
    if as_json:
        print_json([one.data for one in found.values()])
    if html is not None:
        Path(html).write_text(page.page_of({name: one.section for name, one in found.items()}), encoding="utf-8")
        notes.print(f"wrote {html}", highlight=False)
    if len(found) < len(chosen):
        notes.print(f"interrupted: {len(chosen) - len(found)} of {len(chosen)} claims were not audited")
    if interrupted or not all(one.as_expected for one in found.values()):
        raise typer.Exit(1)


@dataclass(frozen=True)
class Found:
    """What an audit has found, as plain data: how it is printed, and how many questions were asked."""

    stage: int
    screen: str
    markdown: str
    data: dict[str, Any]
    section: str
    as_expected: bool


Asked = tuple[int, int, float, bool, bool]
"""Budget, seed, seconds, whether quick, whether with the memory of earlier runs."""


def _audited(claim: Stated, asked: Asked, told: Callable[[Found], None]) -> Answer[Found]:
    """The audit of a claim in a process of its own, so that what the claim does to it is an error of that claim."""
    # An audit looks at the clock between its questions; what is far beyond hangs in the claim itself.
    return apart(lambda tell: _found(claim, asked, tell), 1.5 * asked[2] + OVERTIME, memory=None, told=told)


def _audited_there(chosen: Sequence[Stated], asked: Asked, executor: Any) -> Iterator[tuple[Stated, Answer[Found]]]:
    """Audits by other workers, in the order in which they end; what was lost, or not begun, is a failure.

    A worker keeps no memory of earlier runs. Ctrl-C ends all, and what has ended is kept.
    """
    from resstream.workers import Run, Task, hired

    asked = (*asked[:-1], False)
    run: Run[Found] = Run([Task(_found, claim, (asked,)) for claim in chosen], hired(1, executor))
    left = dict(enumerate(chosen))
    try:
        for number, one in run.results():
            yield left.pop(number), Answer(one)
    except KeyboardInterrupt:
        yield next(iter(left.values())), Answer(None, interrupted=True)
        return
    for claim in left.values():
        yield claim, Answer(None, "; ".join(run.notes))


def _found(claim: Stated, asked: Asked, tell: Callable[[Found], None] = lambda _: None) -> Found:
    """The audit of a claim, as it is printed; `tell` has what is known after each question."""
    from resstream.claim import Claim

    if not isinstance(claim, Claim):
        return _of_draws(claim, seed=asked[1], seconds=asked[2])
    from resstream.audit import Audit
    from resstream.audit import audit as audit_claim
    from resstream.audit.report import data, markdown, page, screen
    from resstream.falsify.memory import DIRECTORY

    budget, seed, seconds, quick, memory = asked

    def shown(audit: Audit, stage: int) -> Found:
        text = rendered(screen.summary(audit)) + "\n"
        return Found(stage, text, markdown.markdown(audit), data.to_json(audit), page.section(audit), audit.as_expected)

    stages = [("", 0)]  # as they begin

    def kept(audit: Audit) -> None:
        stage, done = stages[-1]
        missing = f"what comes after {stage}: the claim did not come to an end"
        so_far = shown(dataclasses.replace(audit, missing=(*audit.missing, missing)), done)
        tell(dataclasses.replace(so_far, as_expected=False))

    audited = audit_claim(
        claim,
        budget=budget,
        seed=seed,
        seconds=seconds,
        quick=quick,
        memory=DIRECTORY if memory else None,
        progress=lambda stage, done, _: stages.append((stage, done)),
        kept=kept,
    )
    return shown(audited, len(stages))


def _of_draws(claim: StatisticalClaim, seed: int, seconds: float) -> Found:
    """What there is to say of a statistical claim: the verdict of its test, and confidence limits at its level."""
    from resstream.falsify.statistical import by_draws

    verdict = by_draws(claim, seed=seed, seconds=seconds, limits=True)
    text = f"{verdict}\n{ENDS_HERE}\n"
    data = verdict.json() | {"statement": claim.statement, "expect": claim.expect}
    section = f"<h2>{escape(claim.id)}</h2><pre>{escape(text)}</pre>"
    return Found(0, text, f"## {claim.id}\n\n```text\n{text}```\n", data, section, verdict.as_expected)


def _nothing(claim: Stated, failure: str) -> Found:
    """What is printed of a claim whose audit ended before it had found anything."""
    text = f"{claim.id}: error: {failure}\n"
    data = {"claim": claim.id, "status": "error", "error": failure}
    return Found(0, text, f"## {claim.id}\n\n**error**: {failure}\n", data, f"<h2>{escape(text)}</h2>", False)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the file: NAME.py is written.")],
    pack: Annotated[bool, typer.Option("--pack", help="Write a package NAME of claims that can be installed.")] = False,
) -> None:
    """Write a commented template of a claim file that runs as it is, or of a package of such."""
    from resstream.audit import files

    if pack:
        root = files.new_pack(name)
        console.print(f"wrote {root}; next: pip install -e {root}", highlight=False, soft_wrap=True)
        return
    path = files.new_file(name)
    console.print(f"wrote {path}; next: resstream audit {path}", highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(audit)
    app.command()(new)
