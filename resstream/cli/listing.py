"""The commands `resstream list` and `resstream show`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resstream.cli.output import Json, Patterns, console, print_json
from resstream.errors import ResstreamError

if TYPE_CHECKING:
    from resstream.claim import Claim
    from resstream.statistical import StatisticalClaim


def list_claims(
    patterns: Patterns = None,
    as_json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print all claims as Markdown (CLAIMS.md).")] = False,
) -> None:
    """List the claims of the library, of packs, or of files, which are executed."""
    from rich.table import Table

    from resstream import claims
    from resstream.falsify.variants import stated_targets

    if markdown:
        if patterns or as_json:
            raise ResstreamError("--markdown: prints all claims as one table, expected neither names nor --json")
        sys.stdout.write(claims.as_markdown())
        return
    chosen = stated_targets(patterns or [])
    if as_json:
        print_json([_described(claim) for claim in chosen])
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("claim", "expect", "statement"):
        table.add_column(name, overflow="fold")
    for claim in chosen:
        table.add_row(claim.id, claim.expect, claim.headline)
    console.print(table)


def show(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="A claim id, or FILE.py::ID.")], as_json: Json = False
) -> None:
    """Show one claim: its statement, source, domains and code."""
    from resstream import claims
    from resstream.claim import Claim
    from resstream.claims import levels
    from resstream.falsify.variants import find_stated, origin_of

    claim = find_stated(identifier)
    if as_json:
        print_json(_described(claim))
        return
    console.print(f"{claim.id}  (expected: {claim.expect})", style="bold", highlight=False)
    console.print(claim.statement + "\n", markup=False, highlight=False)
    console.print(f"Source: {claim.source}", markup=False, highlight=False)
    if not isinstance(claim, Claim):
        _show_law(claim)
        return
    origin = origin_of(claim)
    if origin and origin.distribution:
        console.print(f"Pack: {origin.distribution} {origin.version}", markup=False, highlight=False)
    if claims.own().get(claim.id) is claim:
        console.print(f"Level: {levels.level(claim)}", markup=False, highlight=False)
    ranges = claim.size_ranges()
    for name, domain in claim.over.items():
        console.print(f"  {name} in {domain}", markup=False, highlight=False)
    if ranges:
        console.print("  " + ", ".join(f"{n} = {_shown_range(r)}" for n, r in ranges.items()), highlight=False)
    if claim.where:
        console.print(f"  where {claim.where}", markup=False, highlight=False)
    if claim.as_grows is not None:
        console.print(f"  the quantity {claim.as_grows.wording}", markup=False, highlight=False)
        if claim.as_grows.bounds:
            console.print(f"  stated beside it: {claim.as_grows.bounds}", markup=False, highlight=False)
    for hypothesis in claim.assuming:
        console.print(f"  assuming {hypothesis.__name__}", markup=False, highlight=False)
    _show_code(claim)


def _show_law(claim: StatisticalClaim) -> None:
    """Of what a statistical claim speaks, and how it is tested."""
    from resstream import claims
    from resstream.claims import levels
    from resstream.statistical import level_text

    if claims.statistical().get(claim.id) is claim:
        console.print(f"Level: {levels.level(claim)}", markup=False, highlight=False)
    else:
        console.print(f"Tested at level {level_text(claim.level)} by {claim.draws:,} draws", highlight=False)
    for name in claim.over:
        console.print(f"  {name} ~ {', '.join(map(str, claim.laws(name)))}", markup=False, highlight=False)
    for place in claim.places():
        console.print("  " + ", ".join(f"{size} = {value}" for size, value in place.items()), highlight=False)
    _show_code(claim)


def _show_code(claim: Claim | StatisticalClaim) -> None:
    from rich.syntax import Syntax

    console.print()
    for code in claim.code():
        if console.is_terminal:
            console.print(Syntax(code, "python", background_color="default", word_wrap=True))
        else:  # as it stands in the file, not cut to a width
            sys.stdout.write(code + "\n")


def _described(claim: Claim | StatisticalClaim) -> dict[str, Any]:
    from resstream.claim import Claim

    if not isinstance(claim, Claim):
        return {
            "id": claim.id,
            "expect": claim.expect,
            "statement": claim.statement,
            "source": claim.source,
            "laws": {name: [str(law) for law in claim.laws(name)] for name in claim.over},
            "sizes": {name: list(values) for name, values in claim.sizes.items()},
            "draws": claim.draws,
            "level": float(claim.level),
            "code": "\n".join(claim.code()),
        }
    return {
        "id": claim.id,
        "expect": claim.expect,
        "statement": claim.statement,
        "source": claim.source,
        "domains": {name: str(domain) for name, domain in claim.over.items()},
        "sizes": {name: _shown_range(values) for name, values in claim.size_ranges().items()},
        "where": claim.where,
        "assuming": [function.__name__ for function in claim.assuming],
        **({"as_grows": claim.as_grows.wording, "bounds": claim.as_grows.bounds} if claim.as_grows else {}),
        "code": "\n".join(claim.code()),
    }


def _shown_range(values: range) -> str:
    step = f":{values.step}" if values.step != 1 else ""
    return f"{values[0]}..{values[-1]}{step}"


def register(app: typer.Typer) -> None:
    """Add what is here to the command line."""
    app.command("list")(list_claims)
    app.command()(show)
