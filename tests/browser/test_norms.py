"""LayerNorm's circle and gradient paths in the page: computed as by the package, and shown as computed."""

import json
import re

import numpy as np
import pytest

from resstream.claims.residual import path_weights
from resstream.reference import identity_path_product, layer_norm, layer_norm_jacobian, rms_norm, rms_norm_jacobian


@pytest.fixture(scope="module")
def page(browser, exposed):
    opened = browser.new_page()
    opened.goto(exposed.as_uri())
    yield opened
    opened.close()


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_expected_shares_are_the_packages(page, alpha):
    for layers in range(1, 25):
        found = page.evaluate("([L, a]) => lab.pathWeights(L, a)", [layers, alpha])
        expected = path_weights(np.array([[alpha**2]]), layers)[0]
        assert np.abs(np.array(found) - expected).max() <= 1e-12


def test_gains_and_shares_are_those_of_the_jacobians(page):
    compared = 0
    for seed, alpha in enumerate(np.linspace(0.1, 2, 40)):
        layers, d = 1 + seed % 9, 3 + seed % 4
        script = "a => JSON.stringify([lab.randomJacobians(...a), lab.gradientPaths(...a)])"
        Js, found = json.loads(page.evaluate(script, [layers, d, float(alpha), seed]))
        Js = np.array(Js)
        by_length = [np.eye(d)] + [np.zeros((d, d))] * layers
        for J in Js:
            by_length = [by_length[0]] + [by_length[s] + by_length[s - 1] @ J for s in range(1, layers + 1)]
        squares = np.array([(P**2).sum() for P in by_length])
        assert np.abs(np.array(found["shares"]) - squares / squares.sum()).max() <= 1e-12
        residual = np.linalg.norm(identity_path_product(list(Js))) / d**0.5
        assert found["residual"] == pytest.approx(residual, rel=1e-12)
        plain = np.linalg.norm(np.linalg.multi_dot([np.eye(d), *Js])) / d**0.5
        assert found["plain"] == pytest.approx(plain, rel=1e-12)
        assert found["residualExpected"] == pytest.approx((1 + alpha**2) ** (layers / 2), rel=1e-12)
        assert found["plainExpected"] == pytest.approx(alpha**layers, rel=1e-12)
        lengths = path_weights(np.array([[alpha**2]]), layers)[0]
        assert found["meanLength"] == pytest.approx(lengths @ np.arange(layers + 1), rel=1e-9)
        compared += 1
    assert compared == 40


def test_the_drawn_jacobians_have_the_stated_variance(page):
    Js = np.array(page.evaluate("lab.randomJacobians(24, 16, 0.7, 5)"))
    assert Js.var() * 16 == pytest.approx(0.49, rel=0.06)
    assert abs(Js.mean()) < 0.01
    numbers = page.evaluate(
        "(() => { const draw = lab.normals(1); return Array.from({length: 4000}, () => draw()); })()"
    )
    assert np.mean(np.abs(numbers) < 1) == pytest.approx(0.683, abs=0.03)


# ---- the room ---------------------------------------------------------------


def shown_numbers(text):
    return [float(entry.replace("−", "-")) for entry in re.findall(r"[−\d.]*\d", text)]


@pytest.mark.parametrize(
    ("norm", "function", "jacobian"),
    [("layer", layer_norm, layer_norm_jacobian), ("rms", rms_norm, rms_norm_jacobian)],
)
def test_the_token_and_its_jacobian_are_shown(visit, laboratory, norm, function, jacobian):
    seen = visit(laboratory, f"#norms?x1=0.5&x2=-1.25&x3=2&norm={norm}")
    seen.settle()
    x = np.array([[0.5, -1.25, 2.0]])
    said = seen.page.locator(".sphere-readout").inner_text()
    image = shown_numbers(re.search(r"\(x\) = \(([^)]*)\)", said)[1])
    assert image == pytest.approx(function(x)[0].tolist(), abs=0.006)
    cells = [float(text.replace("−", "-")) for text in seen.page.locator(".jacobian td").all_inner_texts()]
    assert cells == pytest.approx(jacobian(x).ravel().tolist(), abs=6e-4)
    values = seen.page.locator(".jacobian .note").inner_text().removeprefix("Jacobian, singular values ").split(", ")
    rank = {"layer": 1, "rms": 2}[norm]
    assert [value == "0" for value in values] == [False] * rank + [True] * (3 - rank)
    assert seen.page.locator(".sphere .image-set").count() == (48 if norm == "layer" else 0)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_the_copied_python_computes_what_the_page_shows(visit, laboratory, norm, capsys):
    seen = visit(laboratory, f"#norms?x1=0.5&x2=-1.25&x3=2&norm={norm}")
    seen.settle()
    exec(compile(seen.copied("Python", "#norms"), "copied", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    image, values = ([float(number) for number in re.findall(r"[-+.\de]*\d", line)] for line in lines)
    said = re.search(r"\(x\) = \(([^)]*)\)", seen.page.locator(".sphere-readout").inner_text())[1]
    assert shown_numbers(said) == pytest.approx(image, abs=0.006)
    note = seen.page.locator(".jacobian .note").inner_text().removeprefix("Jacobian, singular values ")
    assert shown_numbers(note) == pytest.approx(values, abs=6e-4)


def test_the_view_turns_by_mouse_and_keys(visit, laboratory):
    seen = visit(laboratory, "#norms", viewport={"width": 1200, "height": 900})
    seen.settle()
    where = "document.querySelector('.sphere .image').getAttribute('cx')"
    places = [seen.page.evaluate(where)]
    seen.page.locator(".sphere").focus()
    seen.page.keyboard.press("ArrowLeft")
    seen.settle()
    places.append(seen.page.evaluate(where))
    box = seen.page.locator(".sphere").bounding_box()
    seen.page.mouse.move(box["x"] + 100, box["y"] + 100)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 160, box["y"] + 100, steps=4)
    seen.page.mouse.up()
    seen.settle()
    places.append(seen.page.evaluate(where))
    assert len(set(places)) == 3


def test_the_scale_moves_the_gains(visit, laboratory):
    seen = visit(laboratory, "#norms?alpha=1&layers=10")
    seen.settle()
    assert seen.page.locator("#norms .losses td:last-child").all_inner_texts() == ["32.00", "1.000"]
    seen.page.get_by_label("scale α").fill("0.5")
    seen.settle()
    assert seen.page.locator("#norms .losses td:last-child").all_inner_texts() == ["3.052", "9.77·10⁻⁴"]


@pytest.mark.parametrize(
    "fragment", ["#norms?x1=0&x2=0&x3=0", "#norms?x1=1&x2=1&x3=1", "#norms?layers=1e9&alpha=-7&pitch=x"]
)
def test_where_nothing_is_defined_it_says_so(visit, laboratory, fragment):
    seen = visit(laboratory, fragment)
    seen.settle()
    said = seen.page.locator(".sphere-readout").inner_text()
    assert ("not defined" in said) == ("x1" in fragment)
    assert seen.page.locator("#norms .losses td").count() == 4
