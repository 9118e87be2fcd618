"""What a notebook shows: the widget is dragged and read back, and verdicts, claims and audits are drawn."""

import base64
import json
import sys

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from resstream import audit, claims, lab
from resstream.errors import ResstreamError, ShapeError
from resstream.falsify import falsify
from resstream.lab.notebook import CLOUD_MODULES, DEFAULTS
from resstream.lab.page import exported, module, style

X = [[-1.0, 0.5], [1.25, -0.75], [0.0, 1.5]]

MODEL = """
const kept = %s;
const calls = {};
globalThis.saved = 0;
globalThis.model = {
  get: name => structuredClone(kept[name]),
  set: (name, value) => { kept[name] = value; },
  save_changes: () => { globalThis.saved += 1; },
  on: (event, call) => { calls[event] = call; },
  change: (name, value) => { kept[name] = value; calls[`change:${name}`](); },
};
const { default: widget } = await import("data:text/javascript;base64,%s");
widget.render({ model, el: document.getElementById("cell") });
globalThis.ready = true;
"""


@pytest.fixture
def cell(visit, tmp_path):
    """A page that stands for a notebook: it hands the widget's module a model with the traits of Python's side."""
    widget = lab.cloud(X, beta=2.0, depth=4)
    assert widget._esm.endswith(module(CLOUD_MODULES)[-200:])
    traits = json.dumps({name: getattr(widget, name) for name in ("tokens", "settings", "presets")})
    script = MODEL % (traits, base64.b64encode(module(CLOUD_MODULES).encode()).decode())
    (tmp_path / "cell.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>cell</title>'
        f'<style>{style()}</style><main id="cell"></main><script type="module">{script}</script></html>',
        encoding="utf-8",
    )
    seen = visit(tmp_path / "cell.html", viewport={"width": 1000, "height": 1200})
    seen.page.wait_for_function("globalThis.ready")
    return seen


def test_a_token_dragged_in_the_widget_is_handed_to_python(cell):
    handle = cell.page.locator(".handle[aria-label='token 2']")
    box = handle.locator(".ring").bounding_box()
    width = cell.page.locator(".stage").bounding_box()["width"]
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    cell.page.mouse.move(x, y)
    cell.page.mouse.down()
    cell.page.mouse.move(x - 50, y - 20, steps=4)
    cell.page.mouse.up()
    tokens = cell.page.evaluate("model.get('tokens')")
    assert tokens[1] == pytest.approx([1.25 - 50 * 4 / width, -0.75 + 20 * 4 / width], abs=0.02)
    assert [tokens[0], tokens[2]] == [X[0], X[2]]
    assert cell.page.evaluate("saved") > 0
    # and the other way: what Python sets is shown
    cell.page.evaluate("model.change('tokens', [[0.5, 0.25], [1, 1]])")
    cell.settle()
    assert cell.page.locator(".handle").count() == 2
    assert cell.page.locator(".handle").first.get_attribute("aria-valuetext") == "x 0.5, y 0.25"


def test_the_widgets_settings_are_the_rooms(cell):
    assert "After 4 layers" in cell.page.locator(".readout").inner_text()
    cell.page.locator("label", has_text="skip connection").click()
    assert cell.page.evaluate("model.get('settings').skip") is True
    assert set(cell.page.evaluate("model.get('settings')")) == set(DEFAULTS)


def test_the_value_is_the_tokens():
    widget = lab.cloud(X)
    assert widget.value.tolist() == X
    widget.tokens = [[0.0, 1.0]]
    assert widget.value.shape == (1, 2)
    assert lab.cloud().value.shape == (10, 2)
    assert lab.cloud(np.array(X), norm="layer", skip=True).settings["norm"] == "layer"


@pytest.mark.parametrize(
    "tokens",
    [[1.0, 2.0], [[1.0, 2.0, 3.0]], np.zeros((0, 2)), np.full((3, 2), np.nan), [[9.0, 0.0]], "x", [[1, 2], [3]]],
)
def test_tokens_that_do_not_fit_are_refused(tokens):
    with pytest.raises(ShapeError, match="X: expected"):
        lab.cloud(tokens)


@pytest.mark.parametrize("settings", [{"colour": "red"}, {"beta": "4"}, {"skip": 1}, {"depth": True}])
def test_settings_that_do_not_fit_are_refused(settings):
    with pytest.raises(ResstreamError, match="expected"):
        lab.cloud(X, **settings)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ResstreamError, match=r"resstream\[notebook\]"):
        lab.cloud(X)


def test_no_name_of_the_widget_is_made_twice():
    names = exported(CLOUD_MODULES)
    assert len(names) == len(set(names))


# ---- rich forms -------------------------------------------------------------

SHOWN = ("contraction.diameter_squared", "skip.expansive_maximum_norm", "contraction.diameter", "softmax.mask_is_exact")


@pytest.fixture(scope="module")
def verdicts():
    return {identifier: falsify(claims.lookup(identifier), 3000) for identifier in SHOWN}


def test_rich_forms_are_drawn_and_accessible(visit, tmp_path, verdicts):
    audited = audit.audit(claims.lookup("contraction.scores_sharp"), budget=2000, seconds=2)
    forms = [verdict._repr_html_() for verdict in verdicts.values()]
    forms += [verdicts["contraction.diameter_squared"].counterexample._repr_html_(), audited._repr_html_()]
    forms += [claims.lookup("contraction.diameter")._repr_html_(), claims.library()._repr_html_()]
    (tmp_path / "forms.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>forms</title>'
        f"<body><main><h1>forms</h1>{''.join(forms)}</main></body></html>"
    )
    seen = visit(tmp_path / "forms.html", viewport={"width": 360, "height": 800})
    assert all("<pre" not in form for form in forms[:5])
    assert seen.page.locator(".rs svg").count() >= 8
    assert seen.page.locator(".rs math").count() >= 5
    assert seen.page.locator(".rs tbody tr").count() == len(claims.library())
    boxes = seen.page.eval_on_selector_all(".rs svg", "all => all.map(svg => svg.getBoundingClientRect().right)")
    assert max(boxes) <= 361
    found = Axe().run(seen.page, options={"runOnly": ["color-contrast"]}).response["violations"]
    assert [node["target"] for violation in found for node in violation["nodes"]] == []


def test_latex_forms_are_balanced(verdicts):
    audited = audit.audit(claims.lookup("contraction.diameter_squared"), budget=2000, seconds=2)
    counterexample = verdicts["contraction.diameter_squared"].counterexample
    shown = [counterexample, *verdicts.values(), audited, claims.library(), claims.lookup("contraction.diameter")]
    for one in shown:
        text = one._repr_latex_()
        assert text.startswith("$")
        assert text.endswith("$")
        assert text.count("{") == text.count("}")
        assert text.count(r"\begin") == text.count(r"\end") >= 1
        assert text.count(r"\left") == text.count(r"\right")
    assert r"\operatorname{diam}" in claims.lookup("contraction.diameter")._repr_latex_()
    assert claims.lookup("softmax.mask_is_exact")._repr_latex_() is None
    assert r"\tfrac{1}{2}" in verdicts["contraction.diameter_squared"]._repr_latex_()
