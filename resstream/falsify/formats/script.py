"""What the files in Python have in common: the instance as nested lists, and steps as assignments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from resstream.arithmetic.terms import NUMBER, TermEntry
from resstream.falsify.formats.program import Program
from resstream.falsify.formats.trace import Trace

ARITHMETIC = {
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "/": "({} / {})",
    "neg": "(-{})",
    "abs": "abs({})",
    "max": "max({}, {})",
}


def instance(trace: Trace, program: Program, wrap: Callable[[str], str] = str) -> Iterator[str]:
    """Lines that state the objects; those with entries that are no numbers come after the steps that make these."""
    sizes = ", ".join(f"{name} = {size}" for name, size in trace.sizes.items())
    yield f"# The instance{', at ' + sizes if sizes else ''}"
    for name, text in trace.texts:
        yield f"# {name}: {' '.join(text.split())}"
    made = []
    for name, value in trace.arrays:
        if all(entry.operation == NUMBER for entry in value.flat):
            yield f"{name} = {wrap(program.nested(value))}"
        else:
            made.append((name, value))
    for name, value in made:
        yield from assignments(program, *value.flat)
        yield f"{name} = {wrap(program.nested(value))}"


def assignments(program: Program, *nodes: TermEntry) -> Iterator[str]:
    """Lines that compute the named nodes below some nodes, those that were not computed before."""
    for node in program.due(*nodes):
        yield f"{program.names[id(node)]} = {program.expression(node)}"


def quoted(text: str) -> str:
    """Text for a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")
