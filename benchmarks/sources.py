"""docs/sources.md: section by section of each source, the claims, derivations and pinned numbers, and what is open.

python benchmarks/sources.py > docs/sources.md

Which sections there are, and what belongs to one besides the claims that name it, stands in docs/sources.toml.
"""

from __future__ import annotations

import fnmatch
import json
import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resstream import claims
from resstream.claims import sources

ROOT = Path(__file__).parents[1]
NAMES = ("PAGE", "TEXTBOOK", "READING", "SUMMARY", "ANNOTATED")


@dataclass
class Section:
    """A section with what belongs to it; `open` are pairs of a statement and why it cannot be checked here."""

    title: str
    claims: list[str]
    derived: list[str] = field(default_factory=list)
    pinned: list[str] = field(default_factory=list)
    open: list[list[str]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is said of the section."""
        return not (self.claims or self.derived or self.pinned or self.open)


@dataclass
class Source:
    """A source with its sections, and the ids of claims that name it and none of its sections."""

    name: str
    sections: list[Section]
    unplaced: list[str]


def labels_of(source: str, name: str) -> list[str]:
    """How a claim's `source` names places of the source called so: what follows its name, up to the next semicolon."""
    # A reading or a summary of the framework has the framework's name in its own.
    return [part.split(name, 1)[1].strip(" ,:") for part in source.split(";") if name in part]


def _is_named(label: str, section: dict[str, Any], numbered: bool) -> bool:
    if numbered:
        places = re.findall(r"\d+(?:\.\d+)?", re.sub(r"\(.*?\)", "", label))
        return section["title"].split()[0] in places
    wanted = section.get("labels", [section["title"]])
    return any(label == "" if want == "" else want in label for want in wanted)


def table() -> list[Source]:
    """Every source with its sections. Entries that name nothing raise KeyError."""
    entries = tomllib.loads((ROOT / "docs" / "sources.toml").read_text())["source"]
    library = _stated()
    tests = _tests()
    figures = [f["id"] for f in json.loads((ROOT / "resstream/induction/data/figures.json").read_text())]
    result = []
    for entry in entries:
        name, numbered = getattr(sources, entry["name"]), entry.get("numbered", False)
        labels = {claim.id: labels_of(claim.source, name) for claim in library.values()}
        placed: set[str] = set()
        sections = []
        for section in entry["section"]:
            for identifier in section.get("claims", []):
                library[identifier]
            for wanted in (*section.get("derived", []), *section.get("pinned", [])):
                if not (wanted in tests or any(fnmatch.fnmatchcase(figure, wanted) for figure in figures)):
                    raise KeyError(f"{entry['name']}, {section['title']}: no test and no figure {wanted}")
            named = [i for i, found in labels.items() if any(_is_named(label, section, numbered) for label in found)]
            placed |= {*named, *section.get("claims", [])}
            ids = list(dict.fromkeys([*named, *section.get("claims", [])]))
            rest = {key: section.get(key, []) for key in ("derived", "pinned", "open")}
            sections.append(Section(section["title"], ids, **rest))
        unplaced = [identifier for identifier, found in labels.items() if found and identifier not in placed]
        result.append(Source(name, sections, unplaced))
    return result


def _stated() -> dict[str, Any]:
    """The claims of the library by id, with the statistical ones."""
    return {**claims.library(), **claims.statistical()}


def _tests() -> set[str]:
    """Every test function as file::name."""
    files = [*(ROOT / "tests" / "symbolic").glob("test_*.py"), *(ROOT / "tests" / "regressions").glob("test_*.py")]
    return {f"{file.name}::{name}" for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)}


def as_markdown() -> str:
    """The document."""
    found = table()
    used = {identifier for source in found for section in source.sections for identifier in section.claims}
    lines = [
        "# The sources, section by section",
        "",
        "What of each section is stated as a claim, what is derived by SymPy, which printed numbers are pinned,",
        f"and what cannot be checked here, with the reason. Of {len(_stated())} claims in all {len(used)}",
        "are named; the others are of the literature, or beyond. *F* marks claims that are expected to be refuted:",
        "false as printed ([errata](errata.md)) or a tempting misreading; *S* statistical claims, which draws test.",
        "",
        "Written by `python benchmarks/sources.py > docs/sources.md` from `docs/sources.toml`; a test holds both.",
    ]
    for source in found:
        lines += [
            "",
            f"## {source.name}",
            "",
            "| section | claims | derived, pinned | not checkable here |",
            "|---|---|---|---|",
        ]
        lines += [_row(section) for section in source.sections]
    return "\n".join(lines) + "\n"


def _row(section: Section) -> str:
    library, tested = _stated(), claims.statistical()
    marks = {i: " *F*" * (library[i].expect == "fails") + " *S*" * (i in tested) for i in section.claims}
    stated = ", ".join(f"`{i}`{mark}" for i, mark in marks.items())
    evidence = ", ".join(f"`{name.replace('::test_', ': ')}`" for name in (*section.derived, *section.pinned))
    unchecked = " ".join(f"*{statement}* {reason}" for statement, reason in section.open)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (section.title, stated, evidence, unchecked)) + " |"


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
