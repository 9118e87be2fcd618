"""The command line: `resstream check`, `list`, `show`, `falsify`, `replay`, `audit`, `new`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

# Before NumPy is imported: matrices here are small, and workers must not fight over the cores.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import typer  # noqa: E402
from rich.console import Console  # noqa: E402

from resstream.errors import ResstreamError  # noqa: E402
from resstream.lab import commands as lab_commands  # noqa: E402

if TYPE_CHECKING:
    from resstream.claim import Claim
    from resstream.falsify.check import Row

app = typer.Typer(
    help="State a theorem once, and have it attacked, certified and explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

lab_commands.register(app)

USAGE = 2  # exit status of bad usage; 1 says that something was found

console = Console(width=None if sys.stdout.isatty() else 160)  # a file has no width to fit a table to
notes = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
Patterns = Annotated[
    list[str] | None,
    typer.Argument(help="Claim ids, groups (contraction) or patterns (layernorm.*); all claims where none is given."),
]


def main() -> None:
    """Entry point of the `resstream` command."""
    try:
        app()
    except ResstreamError as error:
        notes.print(f"error: {error}", style="bold red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(USAGE)


def print_json(value: Any) -> None:
    """Print a value as JSON, on standard output and unstyled."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


# ---- check ------------------------------------------------------------------


@app.command()
def check(
    patterns: Patterns = None,
    profile: Annotated[str, typer.Option(help="quick, default, tenfold or deep.")] = "default",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; the number of cores by default.")] = None,
    as_json: Json = False,
) -> None:
    """Search for a counterexample to every claim, and judge what is found exactly.

    Exit status: 0 when every claim does what it is expected to, 1 otherwise, 2 on bad usage.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream import claims
    from resstream.falsify import check as checking
    from resstream.falsify.profiles import profile as profile_named

    profile_named(profile)
    chosen = [claim.id for claim in claims.matching(patterns or [])]
    rows: list[Row] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    interrupted = False
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("checking", total=len(chosen))
        try:
            for row in checking.check(chosen, profile, seed, workers or os.cpu_count() or 1):
                rows.append(row)
                progress.update(task, advance=1, description=row.id)
        except KeyboardInterrupt:
            interrupted = True
    if as_json:
        print_json([row.json() for row in rows])
    else:
        _print_rows(rows, profile, seed)
    if interrupted:
        notes.print(f"interrupted: {len(chosen) - len(rows)} of {len(chosen)} claims were not checked")
    if interrupted or not all(row.as_expected for row in rows):
        raise typer.Exit(1)


def _print_rows(rows: Sequence[Row], profile: str, seed: int) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("claim", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for name in ("met", "discarded", "margin", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        margin = "" if row.smallest_margin is None else f"{row.smallest_margin:.2g}"
        verdict = row.verdict if row.as_expected else f"{row.verdict} (expected: {row.expect})"
        style = "" if row.as_expected else "bold red"
        cells = (row.id, verdict, f"{row.accepted:,}", f"{row.discarded:,}", margin, f"{row.seconds:.2f}")
        table.add_row(*cells, style=style)
    console.print(table)
    for row in rows:
        if row.message:
            console.print(f"{row.id}: {row.message}", style="red", markup=False)
    held = sum(row.as_expected and row.expect == "holds" for row in rows)
    refuted = sum(row.as_expected and row.expect == "fails" for row in rows)
    wrong = len(rows) - held - refuted
    console.print(
        f"\n{held} survived as stated, {refuted} refuted as expected, {wrong} not as expected; "
        f"{sum(row.accepted for row in rows):,} instances met their hypotheses, "
        f"{sum(row.acquitted for row in rows):,} float64 violations were acquitted. "
        f"Profile {profile}, seed {seed}.",
        highlight=False,
        soft_wrap=True,
    )


# ---- list and show ----------------------------------------------------------


@app.command("list")
def list_claims(
    patterns: Patterns = None,
    as_json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print all claims as Markdown (CLAIMS.md).")] = False,
) -> None:
    """List the claims of the library."""
    from rich.table import Table

    from resstream import claims

    if markdown:
        sys.stdout.write(claims.as_markdown())
        return
    chosen = claims.matching(patterns or [])
    if as_json:
        print_json([_described(claim) for claim in chosen])
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("claim", "expect", "statement"):
        table.add_column(name, overflow="fold")
    for claim in chosen:
        table.add_row(claim.id, claim.expect, claim.headline)
    console.print(table)


@app.command()
def show(identifier: Annotated[str, typer.Argument(metavar="ID", help="A claim id.")], as_json: Json = False) -> None:
    """Show one claim: its statement, source, domains and code."""
    from rich.syntax import Syntax

    from resstream import claims

    claim = claims.lookup(identifier)
    if as_json:
        print_json(_described(claim))
        return
    console.print(f"{claim.id}  (expected: {claim.expect})", style="bold", highlight=False)
    console.print(claim.statement + "\n", markup=False, highlight=False)
    console.print(f"Source: {claim.source}", markup=False, highlight=False)
    ranges = claim.size_ranges()
    for name, domain in claim.over.items():
        console.print(f"  {name} in {domain}", markup=False, highlight=False)
    if ranges:
        console.print("  " + ", ".join(f"{n} = {_shown_range(r)}" for n, r in ranges.items()), highlight=False)
    for hypothesis in claim.assuming:
        console.print(f"  assuming {hypothesis.__name__}", markup=False, highlight=False)
    console.print()
    for code in claim.code():
        if console.is_terminal:
            console.print(Syntax(code, "python", background_color="default", word_wrap=True))
        else:  # as it stands in the file, not cut to a width
            sys.stdout.write(code + "\n")


def _described(claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "expect": claim.expect,
        "statement": claim.statement,
        "source": claim.source,
        "domains": {name: str(domain) for name, domain in claim.over.items()},
        "sizes": {name: _shown_range(values) for name, values in claim.size_ranges().items()},
        "assuming": [function.__name__ for function in claim.assuming],
        "code": "\n".join(claim.code()),
    }


def _shown_range(values: range) -> str:
    step = f":{values.step}" if values.step != 1 else ""
    return f"{values[0]}..{values[-1]}{step}"


# ---- falsify and replay -----------------------------------------------------

REFUTED, UNDECIDED = 1, 3  # exit statuses; 0 is "survived"

Claims = Annotated[str, typer.Argument(metavar="ID", help="A claim id, or FILE.py::ID for a claim of your own.")]


@app.command()
def falsify(
    identifier: Claims,
    lhs: Annotated[str | None, typer.Option(metavar="EXPR", help="Another left side (may use lhs, rhs).")] = None,
    rhs: Annotated[str | None, typer.Option(metavar="EXPR", help="Another right side (may use lhs, rhs).")] = None,
    without: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Drop a hypothesis.")] = None,
    over: Annotated[list[str] | None, typer.Option(metavar="NAME=DOMAIN", help="Another domain: A=Causal(n).")] = None,
    sizes: Annotated[list[str] | None, typer.Option(metavar="NAME=RANGE", help="Another range: n=2:6.")] = None,
    budget: Annotated[int, typer.Option(min=1, help="Evaluations.")] = 200_000,
    seconds: Annotated[float | None, typer.Option(min=0.01, help="A limit in time.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes; the result is the same for any number.")] = 1,
    save: Annotated[str | None, typer.Option(metavar="DIR", help="Write the counterexample into a directory.")] = None,
    memory: Annotated[bool, typer.Option(help="Try counterexamples of earlier runs first, and keep new ones.")] = True,
    as_json: Json = False,
) -> None:
    """Try to refute a claim, as it stands or modified, and print the smallest counterexample found.

    Exit status: 0 survived, 1 refuted, 2 bad usage, 3 neither (gave up, vacuous, or evaluating the claim raised).
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.falsify import report, run, variants
    from resstream.falsify.memory import DIRECTORY

    changes = {"over": _named("--over", over), "sizes": _named("--sizes", sizes)}
    claim = variants.vary(variants.find(identifier), lhs=lhs, rhs=rhs, without=without or (), **changes)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("searching", total=budget)
        verdict = run.falsify(
            claim,
            budget,
            seed,
            workers,
            seconds=seconds,
            memory=DIRECTORY if memory else None,
            save=save,
            progress=lambda chunk: progress.update(task, advance=chunk.size, description=chunk.engine),
        )
    if as_json:
        print_json(report.verdict_json(verdict))
    else:
        if verdict.counterexample:
            console.print(verdict.counterexample)
        console.print(report.verdict_text(verdict), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit({"survived": 0, "refuted": REFUTED}.get(verdict.status, UNDECIDED))


def _named(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """NAME=VALUE options by name."""
    pairs = [entry.partition("=") for entry in given or ()]
    for name, separator, value in pairs:
        if not (name.strip() and separator and value.strip()):
            raise ResstreamError(f"{option} {name}{separator}{value}: expected NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in pairs}


@app.command()
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A counterexample as JSON.")],
    claims_file: Annotated[
        str | None, typer.Option("--claims", metavar="FILE.py", help="The file that states the claim; it is executed.")
    ] = None,
    form: Annotated[str, typer.Option("--as", help="text, latex, python, pytest or json.")] = "text",
) -> None:
    """Judge a counterexample again, from its file alone.

    Exit status: 1 it refutes the claim, 0 it does not, 2 bad usage or a broken file, 3 it could not be decided.
    """
    from resstream.falsify import judge
    from resstream.falsify.replay import replay as judged_again

    counterexample = judged_again(file, claims_file)
    forms: dict[str, Callable[[], str]] = {
        "latex": counterexample.latex,
        "python": counterexample.snippet,
        "pytest": counterexample.pytest_file,
        "json": lambda: json.dumps(counterexample.json(), indent=2),
    }
    outcome = counterexample.judgement.outcome
    if form != "text" and form not in forms:
        raise ResstreamError(f"--as {form}: expected text, {', '.join(forms)}")
    if form != "text":
        sys.stdout.write(forms[form]() + "\n")
    elif outcome == judge.VIOLATED:
        console.print(counterexample)
    else:
        console.print(f"{counterexample.claim.id}: this instance does not refute it ({outcome})", highlight=False)
    if outcome != judge.VIOLATED:
        raise typer.Exit(UNDECIDED if outcome == judge.UNDECIDED else 0)
    raise typer.Exit(REFUTED)


# ---- audit and new ----------------------------------------------------------


@app.command()
def audit(
    names: Annotated[list[str], typer.Argument(metavar="FILE.py|ID...", help="A file of claims, FILE.py::ID, or ids.")],
    budget: Annotated[int, typer.Option(min=1, help="Evaluations of the search for a counterexample.")] = 40_000,
    seconds: Annotated[float, typer.Option(min=1, help="A limit in time for each claim.")] = 45.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 0,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write one self-contained page with plots.")] = None,
    as_markdown: Annotated[bool, typer.Option("--md", help="Print Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Find out what a claim is worth: true on all that was tried, how sharp, which hypotheses it needs, where it fails.

    A file is executed as Python code, as a test file is: audit only what you trust.

    Exit status: 0 every claim does what it is expected to, 1 otherwise, 2 bad usage.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.audit import STAGES, Audit, files, page, screen, words
    from resstream.audit import audit as audit_claim

    chosen = files.targets(names)
    if html is not None:
        page.require_writable(html)
    audits: list[Audit] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task("", total=len(STAGES))
        for claim in chosen:

            def at(stage: str, done: int, _: int, name: str = claim.id) -> None:
                progress.update(task, completed=done, description=f"{name}: {stage}")

            audits.append(audit_claim(claim, budget=budget, seed=seed, seconds=seconds, progress=at))
            if not as_json:
                if as_markdown:
                    sys.stdout.write(words.markdown(audits[-1]) + "\n")
                else:
                    screen.show(audits[-1], console)
                    console.print()
            if "interrupted" in audits[-1].missing:
                break
    if as_json:
        print_json([words.to_json(found) for found in audits])
    if html is not None:
        page.write_page(audits, html)
        notes.print(f"wrote {html}", highlight=False)
    if len(audits) < len(chosen):
        notes.print(f"interrupted: {len(chosen) - len(audits)} of {len(chosen)} claims were not audited")
    if len(audits) < len(chosen) or not all(found.as_expected for found in audits):
        raise typer.Exit(1)


@app.command()
def new(name: Annotated[str, typer.Argument(metavar="NAME", help="Of the file: NAME.py is written.")]) -> None:
    """Write a commented template of a claim file that runs as it is."""
    from resstream.audit import files

    path = files.new_file(name)
    console.print(f"wrote {path}; next: resstream audit {path}", highlight=False, soft_wrap=True)


# ---- reproduce --------------------------------------------------------------


@app.command()
def reproduce(
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Train the models again instead of reading weights.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Training seeds to measure anew (implies --retrain).")
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the state of training here, and go on from what is there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare every published figure of the trained models with ours: from the shipped weights, or trained again.

    Exit status: 0 done (a published figure outside our range is shown as such), 1 interrupted, 2 bad usage.
    """
    from resstream.induction import report
    from resstream.induction.reproduce import reproduce as reproduced

    with report.shown_progress(notes) as progress:
        found = reproduced(
            retrain=retrain or seeds is not None, seeds=seeds, progress=progress, checkpoints=checkpoints
        )
    if as_json:
        sys.stdout.write(report.to_json(found) + "\n")
    else:
        report.print_table(found, console)
