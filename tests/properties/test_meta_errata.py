"""The errata: the document equals what is generated, and a claim cannot be half of one."""

import dataclasses
import re
from pathlib import Path

import pytest

from resstream import claims
from resstream.claim import at_least, at_most, claim
from resstream.domains import Matrix, Vector
from resstream.errors import ClaimError
from resstream.falsify import errata
from resstream.reference import row_norms

DOCUMENT = Path(__file__).parents[2] / "docs" / "errata.md"


def test_the_document_equals_what_is_generated():
    expected = errata.as_markdown()
    assert DOCUMENT.read_text() == expected, "run: python -m resstream.falsify.errata > docs/errata.md"


def test_every_word_printed_belongs_to_an_erratum():
    found = {erratum.claim.id for erratum in errata.errata()}
    assert found == {name for name, stated in claims.library().items() if "\nPrinted: " in f"\n{stated.statement}"}
    assert len(found) >= 20


def stated(identifier, text, relation, expect="fails"):
    def conclusion(x):
        return relation(row_norms(x), 1)

    conclusion.__doc__ = text
    return claim(identifier, over={"x": Vector("d")}, source="a page", expect=expect)(conclusion)


@pytest.fixture
def library(monkeypatch):
    def replace(*stated):
        monkeypatch.setattr(claims, "library", lambda: {one.id: one for one in stated})

    return replace


BOTH = "Too short.\n\nPrinted: rows are\nshort.\nRead: all rows.\nRight: some are not.\nFault: false.\n\nA proof."


def test_an_erratum_shows_what_is_printed_what_is_right_and_a_counterexample(library):
    library(stated("rows.short", BOTH, at_most), stated("rows.other", "Nothing here.", at_most))
    text = errata.as_markdown()
    assert "1 statements of the sources" in text
    section = (
        "## `rows.short`\n\na page. Fault: false.\n\n*Printed.* Rows are short.\n\n*Read.* All rows.\n\n"
        "*Right.* Some are not.\n\n```text\nat d = 1\n"
    )
    assert section in text
    assert re.search(r"  x = (\d+)\n\nlhs = \1\nrhs = 1\nlhs <= rhs fails: lhs > rhs exactly\n```\n", text)
    assert "A proof" not in text
    assert "rows.other" not in text


@pytest.mark.parametrize(
    "text",
    [
        "Printed: rows are short.",
        "Right: some are not.",
        "Printed: a.\nRight: b.",
        "Right: a.\nPrinted: b.\nFault: false.",
    ],
)
def test_half_an_erratum_is_refused(text, library):
    library(stated("rows.half", f"One.\n\n{text}", at_most))
    expected = r"claim rows.half: expected lines 'Printed: ...', 'Right: ...' and 'Fault: ...', in order"
    with pytest.raises(ClaimError, match=expected):
        errata.errata()


def test_an_unknown_fault_is_refused(library):
    library(stated("rows.ugly", "One.\n\nPrinted: a.\nRight: b.\nFault: ugly.", at_most))
    with pytest.raises(ClaimError, match=r"claim rows.ugly: fault 'ugly', expected one of false, imprecise"):
        errata.errata()


def test_what_is_not_refuted_is_no_erratum(library):
    """A statement that is true after all must not stand in the document as a false one."""

    @claim("rows.long", over={"X": Matrix("n", "d")}, source="a page", expect="fails")
    def long(X):
        return at_least(row_norms(X), 0)

    library(dataclasses.replace(long, statement=BOTH))
    with pytest.raises(
        ClaimError, match=r"claim rows.long: expected a counterexample to what is printed, got survived"
    ):
        errata.as_markdown()
