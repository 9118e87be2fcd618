"""The table of the sources' sections: equal to what is generated, nothing left out, nothing made up."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from resstream import claims

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("sources_table", ROOT / "benchmarks" / "sources.py")
sources = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = sources
SPEC.loader.exec_module(sources)
TABLE = sources.table()


def test_the_document_equals_what_is_generated():
    expected = sources.as_markdown()
    assert (ROOT / "docs" / "sources.md").read_text() == expected, "run: python benchmarks/sources.py > docs/sources.md"


def test_every_source_is_there():
    assert [source.name for source in TABLE] == [getattr(claims.sources, name) for name in sources.NAMES]
    assert [len(source.sections) for source in TABLE] == [12, 11, 6, 4, 66]


@pytest.mark.parametrize("source", TABLE, ids=lambda source: source.name)
def test_no_section_is_without_an_entry(source):
    assert [section.title for section in source.sections if section.is_empty] == []


@pytest.mark.parametrize("source", TABLE, ids=lambda source: source.name)
def test_every_claim_that_names_a_source_stands_in_one_of_its_sections(source):
    assert source.unplaced == []


def test_a_section_knows_its_claims_by_number_and_by_label():
    numbered = {"title": "18.4 Why the Frobenius norm?"}
    assert sources._is_named("18.1 and 18.4", numbered, numbered=True)
    assert not sources._is_named("18 (the baseline 18.4)", numbered, numbered=True)
    assert sources._is_named("Theorem 1 (ii)", {"title": "x", "labels": ["Theorem 1"]}, numbered=False)
    assert not sources._is_named("Theorem 2", {"title": "x", "labels": ["Theorem 1"]}, numbered=False)


def test_what_names_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(sources, "_tests", set)
    with pytest.raises(KeyError, match=r"PAGE, Overview & Motivation: no test and no figure test_laboratory_cloud"):
        sources.table()


def test_what_cannot_be_checked_has_a_reason():
    pairs = [pair for source in TABLE for section in source.sections for pair in section.open]
    assert len(pairs) > 30
    for statement, reason in pairs:
        assert statement.endswith(".")
        assert re.search(r"\w{3,}.*\.$", reason)
