"""The forms in which a counterexample is written down: one module each, and a registry that others can add to.

A form is a name, the suffix of its files, and a function of a counterexample that gives text. Those that stand alone
(`check`, `rocq`, `lean`, `numpy`, `sympy`) are written from its terms, which a few claims cannot be put in: these raise
NotExpressible. An installed distribution adds a form by an entry point of the group `resstream.formats` that names a
`Format`; `register` adds one from Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from resstream.errors import ClaimError
from resstream.falsify.formats import check, lean, numpy_code, rocq, sympy_code
from resstream.falsify.formats.trace import Trace

if TYPE_CHECKING:
    from resstream.falsify.counterexample import Exhibit


@dataclass(frozen=True)
class Format:
    """A form: its name, the suffix of its files, what it is in a few words, and what writes it."""

    name: str
    suffix: str
    summary: str
    write: Callable[[Any], str]
    """Of a `Counterexample`, or of a `Recorded` one, which has the same forms."""


GROUP = "resstream.formats"
"""The entry points by which installed distributions add forms."""

_FORMATS: dict[str, Format] = {}


def register(form: Format) -> None:
    """Add a form; ClaimError for what is none, and where the name is taken."""
    if not isinstance(form, Format):
        raise ClaimError(f"format: expected a resstream.falsify.formats.Format, got {type(form).__name__}")
    if form.name in _FORMATS:
        raise ClaimError(f"format {form.name!r}: there is one of that name already")
    _FORMATS[form.name] = form


@cache
def _of_packs() -> Mapping[str, Format]:
    """The forms of installed distributions; ClaimError for one that cannot be had, or whose name is taken."""
    found: dict[str, Format] = {}
    for point in entry_points(group=GROUP):
        try:
            form = point.load()
        except Exception as failure:  # whatever the code of others raises
            raise ClaimError(f"{GROUP}: {point.name} = {point.value}: {type(failure).__name__}: {failure}") from failure
        if not isinstance(form, Format):
            raise ClaimError(f"{GROUP}: {point.name} = {point.value}: expected a Format, got {type(form).__name__}")
        if form.name in _FORMATS or form.name in found:
            raise ClaimError(f"{GROUP}: {point.name} = {point.value}: there is a form {form.name!r} already")
        found[form.name] = form
    return found


def formats() -> Mapping[str, Format]:
    """Every form by name: the package's own, those that were registered, those of installed distributions."""
    return {**_FORMATS, **_of_packs()}


def lookup(name: str) -> Format:
    """The form of that name; ClaimError with the known ones where there is none."""
    known = formats()
    if name not in known:
        raise ClaimError(f"format {name!r}: expected one of {', '.join(known)}")
    return known[name]


def _of_terms(write: Callable[[Trace], str]) -> Callable[[Exhibit], str]:
    return lambda exhibit: write(exhibit.trace())


for _form in (
    Format("text", ".txt", "as it is printed", str),
    Format(
        "json", ".json", "data, from which `resstream replay` judges it again", lambda c: json.dumps(c.json(), indent=2)
    ),
    Format("latex", ".tex", "an aligned display", lambda c: c.latex()),
    Format("html", ".html", "a fragment of a page", lambda c: c._repr_html_()),
    Format("python", ".py", "code that has this package judge it again", lambda c: c.snippet()),
    Format("pytest", "_test.py", "a test of this package's judgement", lambda c: c.pytest_file()),
    Format("numpy", ".py", "the instance and both sides in floats", _of_terms(numpy_code.write)),
    Format("sympy", ".py", "the instance and both sides as expressions", _of_terms(sympy_code.write)),
    Format("check", ".py", "a file that checks it without this package", _of_terms(check.write)),
    Format("rocq", ".v", "lemmas for Rocq's kernel", _of_terms(rocq.write)),
    Format("lean", ".lean", "a statement for Lean 4 with Mathlib, never run", _of_terms(lean.write)),
):
    register(_form)

__all__ = ["GROUP", "Format", "formats", "lookup", "register"]
