"""A headless Chromium for the pages: every request and every word in the console is kept, and neither is allowed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from resstream.lab import page as pages

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("no Chromium on the path: on Debian and Ubuntu, apt-get update && apt-get install -y chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield launched
        launched.close()


@dataclass
class Visit:
    """A page that was opened, with all that it asked for and said."""

    page: Page
    context: BrowserContext
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Wait until what was asked for is drawn: the page draws once a frame."""
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def copied(self, button: str, within: str = "main") -> str:
        """What a button of the page copies, read where the clipboard would take it."""
        self.page.evaluate(
            "navigator.clipboard.writeText = text => { globalThis.copied = text; return Promise.resolve(); }"
        )
        self.page.locator(within).get_by_role("button", name=button, exact=True).click()
        text = self.page.evaluate("globalThis.copied")
        assert isinstance(text, str)
        return text


Opener = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Opener]:
    """Opens a file in a context of its own that is offline; afterwards, its silence is asserted."""
    visits: list[Visit] = []

    def opened(path: Path, fragment: str = "", **options: Any) -> Visit:
        context = browser.new_context(**options)
        context.set_offline(True)
        seen = Visit(context.new_page(), context)
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("console", lambda message: seen.console.append(message.text))
        seen.page.on("pageerror", lambda error: seen.console.append(str(error)))
        seen.page.goto(path.as_uri() + fragment)
        visits.append(seen)
        return seen

    yield opened
    for seen in visits:
        asked = [url for url in seen.requests if not url.startswith(("file:", "data:"))]
        console = list(seen.console)
        seen.context.close()
        assert asked == []
        assert console == []


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the laboratory."""
    return pages.write_page(tmp_path_factory.mktemp("laboratory") / "lab.html")


@pytest.fixture(scope="session")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page without drawing whose window has the functions of the mathematical modules, for calling them."""
    script = pages.module(pages.MATHEMATICS)
    names = sorted(set(pages.exported(pages.MATHEMATICS)))
    path = tmp_path_factory.mktemp("exposed") / "mathematics.html"
    path.write_text(
        f'<!doctype html><link rel="icon" href="data:,"><script type="module">{script}\n'
        f"globalThis.lab = {{ {', '.join(names)} }};</script>",
        encoding="utf-8",
    )
    return path
