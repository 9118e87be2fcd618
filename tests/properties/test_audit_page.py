"""The page of an audit in a headless Chromium: it is whole, its plots are drawn, and the console is silent."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from resstream import audit as audits
from resstream.audit.report import page
from resstream.claims import contraction
from resstream.claims import dobrushin as dobrushin_claims

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)


@pytest.fixture(scope="module")
def browser():
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return pytest.fail(
        "no Chromium on the path: the page cannot be checked. On Debian and Ubuntu: "
        "apt-get update && apt-get install -y chromium"
    )


@pytest.fixture(scope="module")
def found():
    return [
        audits.audit(statement, budget=4096, seconds=120)
        for statement in (contraction.contraction_scores, dobrushin_claims.dobrushin_submultiplicative_by_half)
    ]


@pytest.fixture(scope="module")
def written(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "audit.html"
    page.write_page(found, path)
    return path


def opened(browser, path, profile, *more):
    """What the browser prints when it opens a page: its document and its console."""
    done = subprocess.run(
        [browser, *FLAGS, f"--user-data-dir={profile}", *more, path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


# The page is opened by a frame beside it, whose script measures what was drawn: the page itself has none.
PROBE = """<!doctype html><link rel="icon" href="data:,"><body><script>
window.onerror = message => console.error(message);
document.body.insertAdjacentHTML("beforeend", INNER);
const seen = [...document.querySelectorAll("svg")].map(svg => {
  const box = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll("rect, circle, .curve")].map(mark => mark.getBoundingClientRect());
  const inside = marks.filter(m => (m.width > 0 || m.height > 0) && m.left >= box.left - 1 && m.right <= box.right + 1
    && m.top >= box.top - 1 && m.bottom <= box.bottom + 1);
  return [svg.closest("figure").className, Math.round(box.width), Math.round(box.height), marks.length, inside.length];
});
document.body.innerHTML = "<pre id=seen>" + JSON.stringify({seen, wide: WIDE}) + "</pre>";
</script>"""


def measured(browser, found, tmp_path, width):
    inner = json.dumps("".join(audit._repr_html_() for audit in found)).replace("</", "<\\/")
    wide = "document.documentElement.scrollWidth > window.innerWidth"
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.replace("INNER", inner).replace("WIDE", wide))
    document, console = opened(browser, probe, tmp_path / "profile", "--dump-dom", f"--window-size={width},900")
    assert console == []
    return json.loads(re.search(r'<pre id="seen">(.*?)</pre>', document).group(1))


@pytest.mark.parametrize("width", [1000, 500], ids=["desk", "phone"])
def test_every_plot_is_drawn_inside_its_frame(browser, found, tmp_path, width):
    result = measured(browser, found, tmp_path, width)
    kinds = [kind for kind, *_ in result["seen"]]
    assert set(kinds) == {"map", "margins", "ratio", "profile"}
    for kind, across, down, marks, inside in result["seen"]:
        assert across > 250, kind
        assert down > 100, kind
        assert marks == inside > 1, kind
    assert not result["wide"]  # nothing makes the page scroll sideways


def test_the_page_opens_without_a_word_in_the_console(browser, written, tmp_path):
    document, console = opened(browser, written, tmp_path / "profile", "--dump-dom")
    assert console == []
    assert document.count("<svg") == written.read_text().count("<svg") >= 4
    assert "contraction.scores" in document


def test_a_word_in_the_console_would_be_seen(browser, tmp_path):
    path = tmp_path / "loud.html"
    path.write_text("<script>undefined_function()</script>")
    _, console = opened(browser, path, tmp_path / "profile", "--dump-dom")
    assert any("undefined_function" in line for line in console)


class Links(HTMLParser):
    """Collects what a page would load, and checks that every tag is closed."""

    VOID = ("meta", "link", "hr", "br")

    def __init__(self):
        super().__init__()
        self.loads, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.loads += [value for name, value in attributes if name in ("src", "href", "srcset", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, _tag, attributes):
        self.loads += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(written):
    links = Links()
    text = written.read_text()
    links.feed(text)
    assert links.open == []
    assert links.loads == ["data:,"]
    assert "<script" not in text
    assert "url(" not in text


def test_what_a_claim_says_is_escaped(found):
    audit = found[0]
    hostile = replace(audit, claim=replace(audit.claim, statement="<script>alert(1)</script> & more"))
    assert "<script" not in page.page([hostile])
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page.page([hostile])
