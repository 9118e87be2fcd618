"""Every public definition has a docstring with an example, which the documents' tests execute."""

import doctest
import importlib
import importlib.util
import inspect
from pathlib import Path

import pytest

import resstream as rs

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "docs" / "build.py"


def rooms():
    """The rooms of which the API reference has a page, as the site's build states them."""
    constants = {}
    for line in BUILD.read_text().partition("ROOMS = {")[2].partition("}")[0].splitlines():
        name, colon, _ = line.strip().partition(":")
        if colon:
            constants[name.strip('"')] = None
    return list(constants)


def public(module):
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return [name for name in own if not name.startswith("_")]


def definitions():
    """Functions and classes that the top of the package names, and those of the rooms, each once."""
    found = {}
    for module in (rs, *(importlib.import_module(f"resstream.{room}") for room in rooms())):
        for name in public(module):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


def examples_of(value):
    """The statements that doctest finds in the docstring of a definition, in the module that states it."""
    module = importlib.import_module(value.__module__)
    where = f"{value.__module__}.{value.__qualname__}"
    if getattr(vars(module).get(value.__name__), "__module__", None) != value.__module__:
        return []  # doctest would not come by
    found = doctest.DocTestFinder(recurse=False).find(value, where, module)
    return [example for test in found for example in test.examples if not example.options.get(doctest.SKIP)]


def without(found):
    return sorted(name for name, value in found.items() if not any(e.want for e in examples_of(value)))


def test_every_public_definition_has_an_executed_example():
    found = definitions()
    assert len(found) > 300
    assert len(rooms()) > 10
    assert without(found) == []


def bare():
    """Nothing to see."""


def skipped():
    """Something that is not executed."""


class Silent:
    """Executed, and nothing is compared.

    >>> x = 1
    """


def good():
    """As it should be.

    >>> 1 + 1
    2
    """


def test_a_definition_without_one_is_found(monkeypatch):
    monkeypatch.setattr(skipped, "__doc__", ">>> 1 + 1  # doctest: +SKIP\n3\n")
    assert without({"bare": bare, "skipped": skipped, "Silent": Silent, "good": good}) == ["Silent", "bare", "skipped"]


def test_the_examples_are_executed_by_the_test_command():
    options = (ROOT / "pyproject.toml").read_text()
    assert '"--doctest-modules"' in options
    assert '"resstream"' in options.partition("testpaths = ")[2].partition("\n")[0]


@pytest.mark.parametrize("room", rooms())
def test_the_rooms_are_those_of_the_build(room):
    assert importlib.util.find_spec(f"resstream.{room}") is not None
