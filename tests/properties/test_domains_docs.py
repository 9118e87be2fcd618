"""The page on domains: its table is that of the code."""

import inspect
from pathlib import Path

from resstream import domains
from resstream.domains import Domain
from resstream.falsify.written_domains import domain_makers

PAGE = Path(__file__).parents[2] / "docs" / "domains.md"


def table() -> list[str]:
    rows = ["| domain | its members |", "| --- | --- |"]
    for name, maker in sorted(domain_makers().items()):
        parameters = ", ".join(map(_written, inspect.signature(maker).parameters.values()))
        first = " ".join(inspect.getdoc(maker).split("\n\n")[0].split()).replace("|", "\\|")
        rows.append(f"| `{name}({parameters})` | {first} |")
    return rows


def _written(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"


def test_the_table_is_that_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    shown = text.split("<!-- table -->\n")[1].split("<!-- end of table -->")[0].strip().splitlines()
    assert shown == table(), "\n".join(table())


def test_every_public_domain_is_in_the_table():
    classes = {name for name in domains.__all__ if isinstance(getattr(domains, name), type)}
    public = {name for name in classes if issubclass(getattr(domains, name), Domain)} - {"Domain"}
    assert public < set(domain_makers())
    assert len(table()) == 2 + len(domain_makers()) > 45
