"""The gallery in a browser: every page is silent and whole, the list is searched, and its links lead somewhere."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from axe_playwright_python.sync_playwright import Axe
from typer.testing import CliRunner

from resstream import claims
from resstream.cli import app
from resstream.errors import ResstreamError
from resstream.falsify import formats
from resstream.lab import gallery

CHOSEN = (
    "contraction.diameter",
    "contraction.diameter_squared",
    "layernorm.nonexpansive",
    "circuits.rank_of_layer",
    "layernorm.jacobian_norm_in_the_plane",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("gallery") / "site"
    chosen = [claims.lookup(identifier) for identifier in CHOSEN]
    assert gallery.write_gallery(directory, chosen, audits=False) == len(CHOSEN)
    return directory


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, _tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src")]


def test_every_link_leads_to_a_file_of_the_site(site):
    pages = [site / "index.html", *sorted((site / "claims").glob("*.html"))]
    assert len(pages) == 1 + len(CHOSEN)
    followed = 0
    for path in pages:
        links = Links()
        links.feed(path.read_text())
        for link in links.found:
            if not link.startswith("data:"):
                assert (path.parent / link.partition("#")[0]).resolve().is_file(), f"{path.name}: {link}"
                followed += 1
    assert followed > 4 * len(CHOSEN)


def test_a_counterexample_is_beside_its_page_in_every_form(site):
    """As many files as there are forms, but for the page's own; the one that checks it does so, and links are named."""
    claim = "contraction.diameter_squared"
    expected = {f"{claim}.{name}{form.suffix}" for name, form in formats.formats().items() if name != "html"}
    assert {path.name for path in (site / "claims").glob(f"{claim}.*")} == expected | {f"{claim}.html"}
    done = subprocess.run([sys.executable, "-I", site / "claims" / f"{claim}.check.py"], check=False, timeout=60)
    assert done.returncode == 0
    assert f'<a href="{claim}.rocq.v">rocq</a>' in (site / "claims" / f"{claim}.html").read_text()
    assert not list((site / "claims").glob("contraction.diameter.check*")), "it is not refuted"


def test_a_page_shows_statement_verdict_counterexample_and_code(visit, site):
    seen = visit(site / "claims" / "contraction.diameter_squared.html")
    text = seen.page.locator("main").inner_text()
    assert "diam(AX) ≤ τ(A)² diam(X)" in text
    assert "refuted" in text
    assert "lhs = 1/2" in text
    assert "def contraction_diameter_squared(A, X, norm):" in text
    assert seen.page.locator(".formulas math").count() == 1
    assert seen.page.locator(".pictures svg").count() == 4  # A, X, the cloud before and after, both sides
    assert seen.page.locator(".pictures circle").count() == 4


def test_the_list_is_searched_and_filtered(visit, site):
    seen = visit(site / "index.html")
    shown = seen.page.locator("li[data-id]:visible")
    assert shown.count() == len(CHOSEN)
    seen.page.get_by_label("search").fill("lipschitz tempting")
    assert shown.count() == 1
    assert seen.page.locator("#count").inner_text() == f"1 of {len(CHOSEN)} claims"
    seen.page.get_by_label("search").fill("")
    seen.page.get_by_label("verdict").select_option("survived")
    assert [card.get_attribute("data-id") for card in shown.all()] == ["contraction.diameter"]
    seen.page.get_by_label("family").select_option("circuits")
    assert shown.count() == 0
    seen.page.wait_for_timeout(400)
    assert "status=survived" in seen.page.url
    again = visit(site / "index.html", "#" + seen.page.url.split("#")[1])
    assert again.page.locator("li[data-id]:visible").count() == 0
    assert again.page.get_by_label("family").input_value() == "circuits"


def test_a_claim_is_opened_in_the_laboratory_at_its_counterexample(visit, site):
    seen = visit(site / "claims" / "contraction.diameter_squared.html")
    seen.page.get_by_role("link", name="Open in the laboratory").click()
    seen.page.locator("#break .verdict-line").wait_for()
    seen.settle()
    assert "0.5000 ≤ 0.2500 fails" in seen.page.locator("#break .verdict-line").inner_text()
    assert "maximum" in seen.page.get_by_label("norm").first.evaluate("list => list.selectedOptions[0].textContent")


@pytest.mark.parametrize("identifier", CHOSEN)
def test_every_claim_opens_in_a_room(visit, site, identifier):
    text = (site / "claims" / f"{identifier}.html").read_text()
    (link,) = re.findall(r'href="\.\./lab\.html(#[^"]*)"', text)
    seen = visit(site / "lab.html", link.replace("&amp;", "&"))
    assert seen.page.locator("main > section:visible").get_attribute("id") == link[1:].partition("?")[0]


@pytest.mark.parametrize("name", ["index.html", "claims/contraction.diameter_squared.html"])
def test_axe_finds_nothing_serious_in_the_gallery(visit, site, name):
    seen = visit(site / name, color_scheme="light")
    for scheme in ("light", "dark"):
        seen.page.emulate_media(color_scheme=scheme)
        found = Axe().run(seen.page).response["violations"]
        assert [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in ("serious", "critical")] == []
    seen.page.set_viewport_size({"width": 360, "height": 800})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_an_audited_page_has_its_sharpness_curve(visit, tmp_path):
    made = gallery.made_of("contraction.scores", audits=True, seconds=8, seed=0)
    (tmp_path / "claim.html").write_text(made.page)
    seen = visit(tmp_path / "claim.html")
    assert made.entry.status == "survived"
    assert made.entry.sharpness
    assert seen.page.locator(".audit figure.ratio svg, .audit figure.profile svg").count() >= 1
    assert "instances, " in seen.page.locator(".audit").inner_text()


# ---- the command ------------------------------------------------------------


def test_the_command_writes_a_site_over_an_older_one(tmp_path):
    arguments = ["gallery", str(tmp_path / "site"), "contraction.diameter_squared", "--no-audits", "--workers", "1"]
    for _ in range(2):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "site").iterdir()} == {"index.html", "lab.html", "claims"}


def test_workers_write_the_same_pages(tmp_path):
    chosen = [claims.lookup(identifier) for identifier in CHOSEN[:2]]
    for workers in (1, 2):
        gallery.write_gallery(tmp_path / str(workers), chosen, audits=False, workers=workers)
    for identifier in CHOSEN[:2]:
        one, two = ((tmp_path / str(k) / "claims" / f"{identifier}.html").read_text() for k in (1, 2))
        assert one == two


def test_a_directory_with_other_things_is_refused(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ResstreamError, match=r"found precious\.txt"):
        gallery.write_gallery(tmp_path, [])
    (tmp_path / "file").write_text("")
    with pytest.raises(ResstreamError, match="cannot be written"):
        gallery.write_gallery(tmp_path / "file", [])


def test_what_was_done_before_an_interruption_is_kept(tmp_path):
    chosen = [claims.lookup(identifier) for identifier in CHOSEN[:3]]

    def interrupt(identifier):
        if identifier == CHOSEN[1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gallery.write_gallery(tmp_path / "site", chosen, audits=False, progress=interrupt)
    text = (tmp_path / "site" / "index.html").read_text()
    assert "Interrupted: 1 of 3 are missing." in text
    assert (tmp_path / "site" / "claims" / f"{CHOSEN[0]}.html").is_file()


def test_what_a_claim_says_is_escaped():
    claim = replace(claims.lookup("contraction.diameter"), statement="<script>alert(1)</script> & more")
    entry = gallery.Entry("x", "x", "holds", "survived", "<b>", "<i>", "", "")
    page = gallery.claim_page(claim, entry, None, None, 0)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    listed = gallery.index_page([entry], 1, 0)
    assert "<b>" not in listed
    assert "&lt;b&gt;" in listed
