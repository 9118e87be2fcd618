"""The page on vocabulary: all that an expression of the command line may name is on it, with an example that runs."""

import inspect
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL, Ball, RationalEntry
from resstream.domains.current import Objects, evaluating
from resstream.errors import NotExact
from resstream.falsify.expressions import CONSTANTS, FUNCTIONS, RELATIONS, relation, side
from resstream.reference import Norm
from resstream.relations import HOLDS

PAGE = Path(__file__).parents[2] / "docs" / "vocabulary.md"

LETTERS = {
    "A": [["1/2", "1/2", 0], ["1/4", "1/2", "1/4"], [0, "1/2", "1/2"]],
    "P": [["1/2", "1/4", "1/4"], ["1/8", "3/8", "1/2"]],
    "Q": [["1/3", "1/3", "1/3"], ["1/4", "1/2", "1/4"]],
    "X": [[3, 4], [1, 0], [1, -2]],
    "W": [[2, 1], [0, 3]],
    "V": [[1, 2], [-1, 1]],
    "x": [[-1, 0, 2]],
}
"""The arrays of the examples, which the page shows."""

SIZES = {"n": 3, "d": 2}
BINDING = {
    "exists": "name in domain, relation, *witnesses",
    "expectation": "name in law, value",
    "for_all": "name in domain, relation",
}
"""How expressions write these: Python takes a function in place of the name."""


def read(system):
    arrays = {
        name: system.array(np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object))
        for name, rows in LETTERS.items()
    }
    return {**arrays, "Js": [arrays["W"], arrays["V"]]}


def evaluated(text):
    """The value of an example: fractions where it is rational, ten digits of a certified enclosure elsewhere."""
    names = (*LETTERS, "Js")
    expression = side(text, names, "example", tuple(SIZES))
    for system in (RATIONAL, Ball(256)):
        with system.working():
            scope = read(system)
            try:
                with evaluating(Objects(scope, SIZES)):
                    value = expression(**{name: scope[name] for name in inspect.signature(expression).parameters})
                value = value * system.array([1]) if not isinstance(value, np.ndarray) else value
            except NotExact:
                continue
            return "; ".join(" ".join(map(written, row)) for row in np.atleast_2d(value))
    raise AssertionError(f"{text}: neither rational nor a ball")


def written(entry):
    if isinstance(entry, RationalEntry):
        return str(entry)
    assert entry.value.rel_accuracy_bits() > 60 or entry.value.rad() < 1e-30
    return entry.value.mid().str(10, radius=False)


def decided(text):
    """What an example of a relation comes to: that it holds, or the entries at which it fails."""
    stated = relation(text, ("X", "x"), "example", tuple(SIZES))
    scope = read(RATIONAL)
    with evaluating(Objects(scope, SIZES)):
        found = stated(**{name: scope[name] for name in inspect.signature(stated).parameters}).decide(RATIONAL)
    return "holds" if found.status == HOLDS else f"fails: {found.lhs} {found.symbol} {found.rhs}"


def signature(name):
    if name in CONSTANTS:
        return name
    if name in BINDING:
        return f"{name}({BINDING[name]})"
    parameters = [
        ("*" if one.kind is one.VAR_POSITIONAL else "")
        + (one.name if one.default is one.empty else f"{one.name}={shown(one.default)}")
        for one in inspect.signature({**FUNCTIONS, **RELATIONS}[name]).parameters.values()
    ]
    return f"{name}({', '.join(parameters)})"


def shown(default):
    return default.kind.upper() if isinstance(default, Norm) else repr(default)


TABLES = {"functions": ({*FUNCTIONS, *CONSTANTS}, evaluated), "relations": ({*RELATIONS}, decided)}
"""What each kind of table lists, and what its examples come to."""


def rows(kind):
    """Name, row as it stands, and example, of every row of the tables of a kind."""
    text = PAGE.read_text(encoding="utf-8")
    for table in re.findall(rf"<!-- {kind} -->\n(.*?)<!-- end of {kind} -->", text, re.S):
        for line in table.strip().splitlines()[2:]:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            yield re.match(r"`(\w+)", cells[0])[1], line, cells[2].strip("`")


def row(kind, name, example):
    """The row as the code has it."""
    about = f"The number {name}, exactly." if name in ("pi", "e") else f"The norm {name.lower()} of rows."
    if name not in CONSTANTS:
        definition = {**FUNCTIONS, **RELATIONS}[name]
        about = " ".join(inspect.getdoc(definition).split("\n\n")[0].split()).replace("|", "\\|")
    return f"| `{signature(name)}` | {about} | `{example}` | {TABLES[kind][1](example)} |"


@pytest.mark.parametrize("kind", TABLES)
def test_every_row_is_that_of_the_code_and_its_example_runs(kind):
    for name, line, example in rows(kind):
        assert line == row(kind, name, example), "\n" + row(kind, name, example)
        assert re.search(rf"\b{name}\b", example), f"the example of {name} is of something else"


@pytest.mark.parametrize("kind", TABLES)
def test_everything_that_an_expression_may_name_is_on_the_page(kind):
    assert len(TABLES[kind][0]) > 10
    assert sorted(name for name, _, _ in rows(kind)) == sorted(TABLES[kind][0])


def test_the_letters_are_those_of_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in LETTERS.items():
        assert f"{name} = [{'; '.join(' '.join(map(str, line)) for line in lines)}]" in text


def test_an_example_that_says_otherwise_is_noticed():
    assert evaluated("total(x) / 3") == "1/3"
    assert evaluated("exp(x)").startswith("0.3678794412 1")
    assert row("functions", "abs", "abs(x)") != row("functions", "abs", "abs(2 * x)")
    assert decided("at_most(x, 2)") == "holds"
    assert decided("at_most(x, 1)") == "fails: 2 <= 1"
    assert row("relations", "at_most", "at_most(x, 1)") != row("relations", "at_most", "at_most(x, 2)")
