"""The page as a whole: it is one file, nothing serious is wrong with its accessibility, and it fits every width."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from typer.testing import CliRunner

from resstream.cli import app
from resstream.errors import ResstreamError
from resstream.lab import page as pages

ROOMS = list(pages.ROOMS)


def serious(page, **options):
    found = Axe().run(page, options=options).response["violations"]
    return [(v["id"], [n["target"] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("room", ROOMS)
def test_axe_finds_nothing_serious(visit, laboratory, room):
    seen = visit(laboratory, f"#{room}", color_scheme="light", viewport={"width": 1200, "height": 900})
    seen.settle()
    assert serious(seen.page) == []
    seen.page.emulate_media(color_scheme="dark")
    assert serious(seen.page, runOnly=["color-contrast"]) == []


def test_axe_would_find_something(visit, tmp_path):
    (tmp_path / "bad.html").write_text(
        '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>x</title><input><img src="data:,">'
    )
    assert serious(visit(tmp_path / "bad.html").page) != []


@pytest.mark.parametrize("room", ROOMS)
def test_no_width_scrolls_sideways(visit, laboratory, room):
    seen = visit(laboratory, f"#{room}", viewport={"width": 1400, "height": 800})
    for width in (1400, 800, 360):
        seen.page.set_viewport_size({"width": width, "height": 800})
        seen.settle()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_room_opens_from_the_navigation(visit, laboratory):
    seen = visit(laboratory)
    for room in ROOMS:
        seen.page.locator(f"nav a[href='#{room}']").click()
        assert seen.page.locator(f"#{room}").is_visible()
        assert seen.page.locator("main > section:visible").count() == 1
        assert seen.page.locator(f"#{room} .room > *").count() > 0


def test_the_theme_is_turned_by_hand(visit, laboratory):
    seen = visit(laboratory, color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    before = seen.page.evaluate(paper)
    seen.page.get_by_role("button", name="light or dark").click()
    assert seen.page.evaluate(paper) != before


def test_a_request_would_be_refused_and_seen(visit, tmp_path, laboratory):
    """The page's policy forbids what it never does: an image put into it from elsewhere is not asked for."""
    seen = visit(laboratory)
    seen.page.evaluate("document.body.append(Object.assign(new Image(), { src: 'https://example.invalid/x.png' }))")
    seen.page.wait_for_timeout(100)
    assert any("Content Security Policy" in line for line in seen.console)
    seen.console.clear()
    seen.requests.clear()
    (tmp_path / "loud.html").write_text(
        '<!doctype html><link rel="icon" href="data:,"><img src="https://example.invalid/x.png">'
    )
    loud = visit(tmp_path / "loud.html")
    assert loud.requests[-1].startswith("https://example.invalid")
    loud.requests.clear()
    loud.console.clear()


def test_no_name_is_made_twice():
    """The modules are put together as one: a name that two of them make would be an error in the browser alone."""
    names = pages.made(pages.MODULES)
    assert len(names) == len(set(names)) > 50


def test_a_path_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    with pytest.raises(ResstreamError, match="cannot be written"):
        pages.write_page(tmp_path / "no" / "such" / "lab.html")


# ---- the command ------------------------------------------------------------


def test_the_command_writes_the_page(tmp_path):
    result = CliRunner().invoke(app, ["lab", str(tmp_path / "lab.html")])
    assert result.exit_code == 0
    assert (tmp_path / "lab.html").read_text() == pages.page()


def test_the_command_opens_the_page(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    assert CliRunner().invoke(app, ["lab"]).exit_code == 0
    (url,) = opened
    assert url.startswith("file:")
    assert url.endswith("lab.html")
