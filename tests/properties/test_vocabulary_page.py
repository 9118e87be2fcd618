"""The page on vocabulary: all that an expression of the command line may name is on it, with an example that runs."""

import inspect
import re
from fractions import Fraction
from pathlib import Path

import numpy as np

from resstream.arithmetic import RATIONAL, Ball, RationalEntry
from resstream.errors import NotExact
from resstream.falsify.expressions import CONSTANTS, FUNCTIONS, side
from resstream.reference import Norm

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


def read(system):
    arrays = {
        name: system.array(np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object))
        for name, rows in LETTERS.items()
    }
    return {**arrays, "Js": [arrays["W"], arrays["V"]]}


def evaluated(text):
    """The value of an example: fractions where it is rational, ten digits of a certified enclosure elsewhere."""
    names = (*LETTERS, "Js")
    expression = side(text, names, "example")
    for system in (RATIONAL, Ball(256)):
        with system.working():
            scope = read(system)
            try:
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


def signature(name):
    if name in CONSTANTS:
        return name
    parameters = [
        parameter.name if parameter.default is parameter.empty else f"{parameter.name}={shown(parameter.default)}"
        for parameter in inspect.signature(FUNCTIONS[name]).parameters.values()
    ]
    return f"{name}({', '.join(parameters)})"


def shown(default):
    return default.kind.upper() if isinstance(default, Norm) else repr(default)


def rows():
    """Name, row as it stands, and example, of every row of the tables of functions."""
    text = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"<!-- functions -->\n(.*?)<!-- end of functions -->", text, re.S)
    for table in tables:
        for line in table.strip().splitlines()[2:]:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            yield re.match(r"`(\w+)", cells[0])[1], line, cells[2].strip("`")


def row(name, example):
    """The row as the code has it."""
    about = f"The number {name}, exactly." if name in ("pi", "e") else f"The norm {name.lower()} of rows."
    if name not in CONSTANTS:
        about = " ".join(inspect.getdoc(FUNCTIONS[name]).split("\n\n")[0].split()).replace("|", "\\|")
    return f"| `{signature(name)}` | {about} | `{example}` | {evaluated(example)} |"


def test_every_row_is_that_of_the_code_and_its_example_runs():
    compared = 0
    for name, line, example in rows():
        assert line == row(name, example), "\n" + row(name, example)
        assert re.search(rf"\b{name}\b", example), f"the example of {name} is of something else"
        compared += 1
    assert compared > 85


def test_everything_that_an_expression_may_name_is_on_the_page():
    listed = [name for name, _, _ in rows()]
    assert sorted(listed) == sorted({*FUNCTIONS, *CONSTANTS})


def test_the_letters_are_those_of_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in LETTERS.items():
        assert f"{name} = [{'; '.join(' '.join(map(str, line)) for line in lines)}]" in text


def test_an_example_that_is_no_expression_is_refused():
    assert evaluated("total(x) / 3") == "1/3"
    assert evaluated("exp(x)").startswith("0.3678794412 1")
    assert row("abs", "abs(x)") != row("abs", "abs(2 * x)")
