"""Whether a built site is whole: links lead to something, nothing is loaded from elsewhere, examples are code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
LINKS = {"canonical", "alternate", "edit"}
"""Kinds of <link> that load nothing."""


class Page(HTMLParser):
    """What a page names, loads and links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.quoted = re.search(r"(?:<blockquote>\s*){3}", text) is not None
        """Whether something is quoted three deep: the >>> of an example that was not taken for code."""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "link" and set(given.get("rel", "").split()) & LINKS:
            return
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])


def faults(site: Path) -> Iterator[str]:
    """One line for each thing that is missing, and for each that would be asked of the network."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site}: no page at all"
    for path, page in pages.items():
        own = path.relative_to(site)
        if own.name == "404.html":  # its links start at the root of a host
            continue
        if page.quoted:
            yield f"{own}: an example is shown as a quotation"
        yield from (f"{own}: loads {url}" for url in page.loaded if _elsewhere(url))
        for url in page.loaded + page.links:
            if _elsewhere(url) or url.startswith(("data:", "mailto:")):
                continue
            parts = urlsplit(url)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            placed = unquote(parts.fragment) in ({"", "__search"} | pages[target].places if target in pages else {""})
            if not target.is_file():
                yield f"{own}: no such file: {url}"
            elif not placed and target.name != "lab.html":  # the laboratory's fragments are states
                yield f"{own}: no such place: {url}"


def _elsewhere(url: str) -> bool:
    return urlsplit(url).scheme in ("http", "https") or url.startswith("//")
