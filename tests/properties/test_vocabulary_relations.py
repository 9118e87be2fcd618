"""The relations on the page on vocabulary: each that an expression may state, with an example that is decided."""

import inspect
import re
from fractions import Fraction
from pathlib import Path

import numpy as np

from resstream.arithmetic import RATIONAL
from resstream.domains.current import Objects, evaluating
from resstream.falsify.expressions import RELATIONS, relation
from resstream.relations import HOLDS

PAGE = Path(__file__).parents[2] / "docs" / "vocabulary.md"
ARRAYS = {"X": [[3, 4], [1, 0], [1, -2]], "x": [[-1, 0, 2]]}
"""Of the examples; they are those of the page's functions."""

SIZES = {"n": 3, "d": 2}
QUANTIFIED = {"exists": "name in domain, relation, *witnesses", "for_all": "name in domain, relation"}
"""How expressions write these: Python takes a function in place of the name."""


def rows():
    """Name, row as it stands, and example, of every row of the table of relations."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.split("<!-- relations -->\n")[1].split("<!-- end of relations -->")[0]
    for line in table.strip().splitlines()[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        yield re.match(r"`(\w+)", cells[0])[1], line, cells[2].strip("`")


def decided(text):
    stated = relation(text, tuple(ARRAYS), "example", tuple(SIZES))
    arrays = {
        name: RATIONAL.array([[Fraction(entry) for entry in row] for row in lines]) for name, lines in ARRAYS.items()
    }
    with evaluating(Objects(arrays, SIZES)):
        found = stated(**{name: arrays[name] for name in inspect.signature(stated).parameters}).decide(RATIONAL)
    return "holds" if found.status == HOLDS else f"fails: {found.lhs} {found.symbol} {found.rhs}"


def row(name, example):
    """The row as the code has it."""
    about = " ".join(inspect.getdoc(RELATIONS[name]).split("\n\n")[0].split()).replace("|", "\\|")
    parameters = ", ".join(
        f"*{one.name}" if one.kind is one.VAR_POSITIONAL else one.name
        for one in inspect.signature(RELATIONS[name]).parameters.values()
    )
    parameters = QUANTIFIED.get(name, parameters)
    return f"| `{name}({parameters})` | {about} | `{example}` | {decided(example)} |"


def test_every_row_is_that_of_the_code_and_its_example_is_decided():
    compared = 0
    for name, line, example in rows():
        assert line == row(name, example), "\n" + row(name, example)
        assert re.search(rf"\b{name}\(", example), f"the example of {name} is of something else"
        compared += 1
    assert compared > 10


def test_every_relation_is_on_the_page():
    assert sorted(name for name, _, _ in rows()) == sorted(RELATIONS)


def test_the_arrays_are_those_of_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in ARRAYS.items():
        assert f"{name} = [{'; '.join(' '.join(map(str, line)) for line in lines)}]" in text


def test_an_example_that_says_otherwise_is_noticed():
    assert decided("at_most(x, 2)") == "holds"
    assert decided("at_most(x, 1)") == "fails: 2 <= 1"
    assert row("at_most", "at_most(x, 1)") != row("at_most", "at_most(x, 2)")
    assert np.shape(ARRAYS["X"]) == (3, 2)
