"""The page as a whole: it is one file, nothing serious is wrong with its accessibility, and it fits every width."""

import re

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


# ---- the address ------------------------------------------------------------

CHANGED = """room => {
  const moved = [];
  for (const control of document.querySelectorAll(`#${room} :is(input, select)`)) {
    if (control.disabled || control.offsetParent === null || control.closest("[aria-hidden]")) continue;
    if (control.type === "checkbox") { control.click(); moved.push(control); continue; }
    if (control.tagName === "SELECT") control.selectedIndex = control.selectedIndex ? 0 : 1;
    else if (control.type === "range") control.value = String(Number(control.value) + Number(control.step || 1));
    else if (control.type === "number") control.value = String(Number(control.value) + 1);
    else control.value = room === "break" ? "diameter(X, norm) / 3" : "abcabc";
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.dispatchEvent(new Event("change", { bubbles: true }));
    moved.push(control);
  }
  return moved.length;
}"""
SHOWN = """room => [...document.querySelectorAll(`#${room} :is(input, select)`)].map(
  control => control.type === "checkbox" ? control.checked : control.value)"""


@pytest.mark.parametrize("room", ROOMS)
def test_a_link_shows_every_control_as_its_sender_left_it(visit, laboratory, room):
    sender = visit(laboratory, f"#{room}", viewport={"width": 1400, "height": 1000})
    sender.settle()
    untouched = sender.page.evaluate(SHOWN, room)
    assert sender.page.evaluate(CHANGED, room) >= 4
    sender.page.wait_for_url(re.compile(r"\?"))
    sender.page.wait_for_timeout(400)  # the address is written when it has been quiet
    left = sender.page.evaluate(SHOWN, room)
    assert left != untouched
    receiver = visit(laboratory, "#" + sender.page.url.split("#")[1], viewport={"width": 1400, "height": 1000})
    receiver.settle()
    assert receiver.page.evaluate(SHOWN, room) == left
    assert receiver.page.locator(f"#{room} .readout, #{room} .verdict-line").first.inner_text() == (
        sender.page.locator(f"#{room} .readout, #{room} .verdict-line").first.inner_text()
    )


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
