"""The command `resstream falsify`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from resstream.cli.apart import OVERTIME, apart
from resstream.cli.output import (
    FORM,
    LONGEST,
    REFUTED,
    REFUTED_AT_LEVEL,
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

if TYPE_CHECKING:
    from resstream.statistical import StatisticalClaim

Claims = Annotated[str, typer.Argument(metavar="ID", help="A claim id, or FILE.py::ID for a claim of your own.")]


def falsify(
    identifier: Claims,
    lhs: Annotated[str | None, typer.Option(metavar="EXPR", help="Another left side (may use lhs, rhs).")] = None,
    rhs: Annotated[str | None, typer.Option(metavar="EXPR", help="Another right side (may use lhs, rhs).")] = None,
    conclusion: Annotated[
        str | None,
        typer.Option(metavar="RELATION", help="Another conclusion: either(at_most(lhs, rhs), ...), limit(L, lhs)."),
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

    A statistical claim is tested with as many draws as the budget, where one is given.

    Exit status: 0 survived (evidence, of a claim about a size that grows), 1 refuted, 2 bad usage, 3 neither (gave up,
    undecided, vacuous, or evaluating the claim raised). Of a statistical claim: 0 not refuted at its level, 4 refuted
    at its level, which is not certified.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from resstream.falsify import probe as probing
    from resstream.falsify import report, run, variants
    from resstream.falsify.memory import DIRECTORY
    from resstream.statistical import StatisticalClaim

    require_form(form)
    if save is not None:
        require_directory("--save", save)
    changes = {"over": _named("--over", over), "sizes": _named("--sizes", sizes)}
    stated = variants.find_stated(identifier)
    if isinstance(stated, StatisticalClaim):
        changed: dict[str, Any] = {"lhs": lhs, "rhs": rhs, "conclusion": conclusion, "assuming": assuming}
        changed |= {"without": without, "over": over, "sizes": sizes, "where": where, "probe-sizes": probe_sizes}
        changed |= {"save": save, "as": form != "text"}
        for option in (f"--{name}" for name, value in changed.items() if value):
            raise ResstreamError(f"{option}: {stated.id} is a statistical claim, which is tested as it stands")
        _test_by_draws(stated, budget, seed, seconds, as_json)
    claim = variants.vary(
        stated,
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


def _test_by_draws(
    claim: StatisticalClaim, budget: int | None, seed: int, seconds: float | None, as_json: bool
) -> NoReturn:
    """Test a statistical claim, print its verdict and leave with its status."""
    from resstream.falsify import statistical

    def work(_: Any) -> tuple[str, dict[str, Any], str]:
        verdict = statistical.by_draws(claim, budget, seed, seconds=seconds)
        return str(verdict), verdict.json(), verdict.status

    answer = apart(work, LONGEST if seconds is None else 1.5 * seconds + OVERTIME, memory=None)
    if answer.value is None:
        raise ResstreamError(f"{claim.id}: {answer.failure}")
    text, data, status = answer.value
    if as_json:
        print_json(data)
    else:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit({statistical.NOT_REFUTED: 0, statistical.REFUTED: REFUTED_AT_LEVEL}.get(status, UNDECIDED))


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
