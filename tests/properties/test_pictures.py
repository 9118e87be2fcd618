"""The pictures of the documents show what the code gives; the check of the site sees what is not whole."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pictures = loaded(ROOT / "docs" / "pictures.py")
whole = loaded(ROOT / "docs" / "whole.py")


def words(svg):
    return "".join(re.findall(r"<text[^>]*>(.*?)</text>", svg, flags=re.S))


def test_the_panel_is_the_counterexample_of_the_six_lines():
    assert len(pictures.six_lines().splitlines()) == 6
    kept = (ROOT / "docs" / "panel.svg").read_text()
    assert words(kept) == words(pictures.panel()), "run: python docs/pictures.py"
    assert "1/4" in words(kept)
    assert "url(" not in re.sub(r"url\(#", "", kept)  # it asks for nothing from elsewhere


def test_the_curves_are_the_clouds():
    def points(svg):
        numbers = [[float(x) for x in re.split("[ ,]", p)] for p in re.findall(r'points="([^"]*)"', svg)]
        return [round(x) for line in numbers for x in line]

    widths, bounds = pictures.layers()
    assert all(width <= bound for width, bound in zip(widths, bounds, strict=True))
    kept, made = points((ROOT / "docs" / "cloud.svg").read_text()), points(pictures.plot(widths, bounds))
    assert len(kept) == len(made) == 2 * 2 * (pictures.LAYERS + 1)
    assert max(abs(a - b) for a, b in zip(kept, made, strict=True)) <= 1, "run: python docs/pictures.py"  # a pixel
    lower = points(pictures.plot([0.5 * width for width in widths], bounds))
    assert max(abs(a - b) for a, b in zip(kept, lower, strict=True)) > 1


@pytest.mark.parametrize("name", ["rooms.svg", "life.svg"])
def test_the_drawn_rooms_exist(name):
    drawn = set(re.findall(r'data-room="([\w.]+)"', (ROOT / "docs" / name).read_text()))
    assert len(drawn) >= 7
    for room in drawn:
        path = ROOT / "resstream" / room.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), room


def test_the_layers_are_drawn_in_their_order():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = (one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    layers = [name.strip().removeprefix("resstream.") for line in contract["layers"] for name in line.split("|")]
    drawn = re.findall(r'data-room="([\w.]+)"', (ROOT / "docs" / "rooms.svg").read_text())
    assert len(set(drawn) & set(layers)) >= 12
    assert [room for room in drawn if room in layers] == [layer for layer in layers if layer in drawn]


# ---- the site ---------------------------------------------------------------


def test_a_whole_site_has_no_fault(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="a/page.html#here">y</a><a href="https://x.org">z</a>'
    )
    (tmp_path / "a" / "page.html").write_text(
        '<link rel="canonical" href="https://x.org"><p id="here"><a href="..">up</a>'
    )
    assert list(whole.faults(tmp_path)) == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="b.html">b</a>', "no such file: b.html"),
        ('<a href="#there">b</a>', "no such place: #there"),
        ('<img src="missing.png">', "no such file: missing.png"),
        ('<script src="https://cdn.example.org/x.js"></script>', "loads https://cdn.example.org/x.js"),
        ('<link rel="stylesheet" href="//fonts.example.org/x.css">', "loads //fonts.example.org/x.css"),
    ],
)
def test_what_is_not_whole_is_a_fault(tmp_path, page, fault):
    (tmp_path / "index.html").write_text(page)
    assert list(whole.faults(tmp_path)) == [f"index.html: {fault}"]


def test_no_page_at_all_is_a_fault(tmp_path):
    assert list(whole.faults(tmp_path)) == [f"{tmp_path}: no page at all"]
