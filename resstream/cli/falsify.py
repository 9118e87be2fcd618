"""The command `resstream falsify`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from resstream.cli.output import (
    FORM,
    LONGEST,
    REFUTED,
    UNDECIDED,
    Budget,
    Json,
    On,
    Seed,
    Workers,
    console,
    notes,
    print_json,
    require_form,
    seconds_option,
    workers_at,
)
from resstream.errors import ResstreamError
from resstream.targets import require_directory

Claims = Annotated[str, typer.Argument(metavar="ID", help="A claim id, or FILE.py::ID for a claim of your own.")]


def falsify(
    identifier: Claims,
    lhs: Annotated[str | None, typer.Option(metavar="EXPR", help="Another left side (may use lhs, rhs).")] = None,
    rhs: Annotated[str | None, typer.Option(metavar="EXPR", help="Another right side (may use lhs, rhs).")] = None,
    conclusion: Annotated[
        str | None, typer.Option(metavar="RELATION", help="Another conclusion: either(at_most(lhs, rhs), ...).")
    ] = None,
    assuming: Annotated[list[str] | None, typer.Option(metavar="RELATION", help="A further hypothesis.")] = None,
    without: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Drop a hypothesis.")] = None,
    over: Annotated[list[str] | None, typer.Option(metavar="NAME=DOMAIN", help="Another domain: A=Causal(n).")] = None,
    sizes: Annotated[list[str] | None, typer.Option(metavar="NAME=RANGE", help="Another range: n=2:6.")] = None,
    where: Annotated[
        str | None, typer.Option(metavar="RELATION", help="Only sizes of which this holds: n >= d + 1.")
    ] = None,
    probe_sizes: Annotated[
        bool, typer.Option("--probe-sizes", help="Then try sizes of 8 to 64, a little each.")
    ] = False,
    budget: Annotated[int | None, Budget] = None,
    seconds: Annotated[float | None, seconds_option("A limit in time.")] = None,
    seed: Annotated[int, Seed] = 0,
    workers: Annotated[int, Workers] = 1,
    on: Annotated[str | None, On] = None,
    save: Annotated[str | None, typer.Option(metavar="DIR", help="Write the counterexample into a directory.")] = None,
    memory: Annotated[bool, typer.Option(help="Try counterexamples of earlier runs first, and keep new ones.")] = True,
    form: Annotated[str, typer.Option("--as", help=FORM)] = "text",
    as_json: Json = False,
) -> None:
    """Try to refute a claim, as it stands or modified, and print the smallest counterexample found.

    Exit status: 0 survived (evidence, of a claim about a size that grows), 1 refuted, 2 bad usage, 3 neither (gave up,
    undecided, vacuous, or evaluating the claim raised).
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.falsify import probe as probing
    from resstream.falsify import report, run, variants
    from resstream.falsify.memory import DIRECTORY

    require_form(form)
    if save is not None:
        require_directory("--save", save)
    changes = {"over": _named("--over", over), "sizes": _named("--sizes", sizes)}
    claim = variants.vary(
        variants.find(identifier),
        lhs=lhs,
        rhs=rhs,
        conclusion=conclusion,
        assuming=assuming or (),
        without=without or (),
        where=where,
        **changes,
    )
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal)
    with workers_at(on, workers) as executor, shown as progress:
        task = progress.add_task("searching", total=budget or claim.budget or run.BUDGET)
        verdict = run.falsify(
            claim,
            budget,
            seed,
            workers,
            seconds=LONGEST if seconds is None else seconds,  # a limit: so a claim that ends its process ends a worker
            memory=DIRECTORY if memory else None,
            save=save,
            progress=lambda chunk: progress.update(task, advance=chunk.size, description=chunk.engine),
            executor=executor,
        )
    if probe_sizes and verdict.status == "survived":
        probes = list(probing.probe(claim, seed))
        found = probes[-1] if probes and probes[-1].verdict.counterexample else None
        told = (*verdict.notes, *probing.said(probes, claim))
        if found is not None and found.stated:
            verdict = replace(found.verdict, notes=(*found.verdict.notes, *told))
            if save is not None and verdict.counterexample:
                verdict.counterexample.save(save)
        else:
            verdict = replace(verdict, notes=told)
    if as_json:
        print_json(report.verdict_json(verdict))
    elif form != "text" and verdict.counterexample:
        sys.stdout.write(verdict.counterexample.to(form).rstrip("\n") + "\n")
    else:
        if verdict.counterexample:
            console.print(verdict.counterexample)
        console.print(report.verdict_text(verdict), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit({"survived": 0, "evidence": 0, "refuted": REFUTED}.get(verdict.status, UNDECIDED))


def _named(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """NAME=VALUE options by name."""
    pairs = [entry.partition("=") for entry in given or ()]
    for name, separator, value in pairs:
        if not (name.strip() and separator and value.strip()):
            raise ResstreamError(f"{option} {name}{separator}{value}: expected NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in pairs}


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command()(falsify)
