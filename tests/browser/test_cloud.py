"""The cloud in a real browser: it is dragged by mouse, finger and keyboard, and what it shows is what was computed."""

import json
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64, RATIONAL
from resstream.falsify import judge
from resstream.falsify.replay import replay
from resstream.lab.page import cloud_data
from resstream.reference import L1, LINF, diameter, dobrushin

PINNED = json.loads((Path(__file__).parents[1] / "regressions" / "laboratory_cloud.json").read_text())
FIGURES = {figure["id"]: figure for figure in PINNED["figures"]}
BETAS = ("0.25", "0.5", "1", "2", "4")


def test_the_presets_tokens_are_the_pinned_ones():
    assert cloud_data()["tokens"] == [[float(entry) for entry in row] for row in PINNED["tokens"]]


# ---- the pinned figures -----------------------------------------------------

RUN = """([beta, skip, depth]) => lab.runCloud({
  tokens: TOKENS, beta, depth, step: 1, size: 1, angle: 0, stretch: 1, mask: false, skip, norm: "none",
  placement: "pre" })""".replace("TOKENS", json.dumps(cloud_data()["tokens"]))


@pytest.fixture(scope="module")
def runs(browser, exposed):
    page = browser.new_page()
    page.goto(exposed.as_uri())
    found = {(beta, False): page.evaluate(RUN, [float(beta), False, 18]) for beta in BETAS}
    found |= {(beta, True): page.evaluate(RUN, [float(beta), True, 12]) for beta in BETAS}
    page.close()
    return found


def apart(X):
    X = np.array(X)
    return np.linalg.norm(X[:, None] - X[None], axis=-1)


def clusters(run):
    distances = apart(run["states"][12])
    near = 2 * distances[0] < run["diameters"][12]
    return [np.flatnonzero(near), np.flatnonzero(~near)]


def leaders(run):
    return np.argmax(run["patterns"][0], axis=-1)


def longest_four(run):
    return set(np.argsort(-np.linalg.norm(run["states"][0], axis=-1))[:4])


def excess(runs):
    pure = [run for (_, skip), run in runs.items() if not skip]
    return max(d - b for run in pure for d, b in zip(run["diameters"], run["bounds"], strict=True))


def growth(runs):
    skipped = [run["diameters"] for (_, skip), run in runs.items() if skip]
    return min(after / before for d in skipped for before, after in pairwise(d))


def common_token(run):
    A = np.array(run["patterns"][6])
    return A[:, A[0].argmax()].min()


PAGE_FIGURES = {
    "diameter of the cloud": lambda r: r["1", False]["diameters"][0],
    **{f"pure, beta {b}: tau of layer 1": lambda r, b=b: r[b, False]["taus"][0] for b in BETAS},
    **{f"pure, beta {b}: diameter after layer 12": lambda r, b=b: r[b, False]["diameters"][12] for b in BETAS},
    "pure, beta 4: smallest tau of layers 1 to 12": lambda r: min(r["4", False]["taus"][:12]),
    "pure, beta 4: bound after layer 12": lambda r: r["4", False]["bounds"][12],
    "pure, beta 4: relative spread after layer 12": lambda r: r["4", False]["spreads"][12],
    "pure, beta 4: tokens in the larger cluster after layer 12": lambda r: max(map(len, clusters(r["4", False]))),
    "pure, beta 4: tokens in the smaller cluster after layer 12": lambda r: min(map(len, clusters(r["4", False]))),
    "pure, beta 4: widest cluster after layer 12": lambda r: max(
        apart(np.array(r["4", False]["states"][12])[rows]).max() for rows in clusters(r["4", False])
    ),
    "pure, beta 4: diameter after layer 16": lambda r: r["4", False]["diameters"][16],
    "pure, beta 4: diameter after layer 18": lambda r: r["4", False]["diameters"][18],
    "pure, beta 4: tokens with less than half their weight on themselves": lambda r: (
        np.diagonal(r["4", False]["patterns"][0]) < 0.5
    ).sum(),
    "pure, beta 4: tokens with the largest weight of some row of layer 1": lambda r: len(set(leaders(r["4", False]))),
    "pure, beta 4: of these, tokens among the four longest": lambda r: len(
        set(leaders(r["4", False])) & longest_four(r["4", False])
    ),
    "pure, every beta: largest excess of the diameter over the bound, layers 0 to 18": excess,
    **{
        f"skip, beta 0.25: tau of layer {layer}": lambda r, layer=layer: r["0.25", True]["taus"][layer - 1]
        for layer in range(1, 9)
    },
    "skip, beta 0.25: smallest weight on the common token in layer 7": lambda r: common_token(r["0.25", True]),
    "skip, beta 0.25: diameter after layer 12 over the first": lambda r: (
        r["0.25", True]["diameters"][12] / r["0.25", True]["diameters"][0]
    ),
    "skip, beta 0.25: relative spread after layer 12": lambda r: r["0.25", True]["spreads"][12],
    "skip, beta 1: diameter after layer 12 over the first": lambda r: (
        r["1", True]["diameters"][12] / r["1", True]["diameters"][0]
    ),
    "skip, beta 1: smallest distance of two tokens after layer 12": lambda r: apart(r["1", True]["states"][12])[
        ~np.eye(10, dtype=bool)
    ].min(),
    "skip, every beta: smallest growth of the diameter in a layer": growth,
}


def agrees(value, figure):
    """Whether a float has the printed digits; a limit that is met exactly may be missed by 18 layers' rounding."""
    printed, tolerance = float(figure["digits"]), float(figure["tolerance"])
    slack = 18 * 10 * 16 * 2.0**-52
    return {
        "==": abs(value - printed) <= tolerance,
        "<": value < printed + tolerance,
        "<=": value <= printed + max(tolerance, slack),
        ">": value > printed - tolerance,
        ">=": value >= printed - max(tolerance, slack),
    }[figure["relation"]]


def test_every_pinned_figure_is_the_pages(runs):
    wrong = {
        name: (float(PAGE_FIGURES[name](runs)), figure["relation"], figure["digits"])
        for name, figure in FIGURES.items()
        if not agrees(float(PAGE_FIGURES[name](runs)), figure)
    }
    assert wrong == {}
    assert len(FIGURES) >= 36


def test_a_wrong_figure_would_be_seen(runs):
    noticed = 0
    for name, figure in FIGURES.items():
        if figure["relation"] == "==":
            off = max(2 * float(figure["tolerance"]), 1e-9)
            for digits in (float(figure["digits"]) + off, float(figure["digits"]) - off):
                noticed += not agrees(float(PAGE_FIGURES[name](runs)), {**figure, "digits": digits})
    assert noticed == 2 * sum(figure["relation"] == "==" for figure in FIGURES.values()) > 20


# ---- dragging ---------------------------------------------------------------

FIRST = ".handle[aria-label='token 1']"


def tokens_of(seen):
    """The tokens in the address, once it is written; those of the laboratory where it says nothing."""
    seen.page.wait_for_timeout(350)
    found = re.search(r"tokens=([^&]*)", seen.page.url)
    if not found:
        return cloud_data()["tokens"]
    return [[float(entry) for entry in row.split(",")] for row in found[1].split(";")]


def centre_of(seen, selector):
    box = seen.page.locator(f"{selector} .ring").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_token_is_dragged_with_the_mouse(visit, laboratory):
    seen = visit(laboratory, viewport={"width": 1400, "height": 1000})
    before = seen.page.locator(".readout").inner_text()
    x, y = centre_of(seen, FIRST)
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 40, y + 30, steps=5)
    seen.page.mouse.move(x + 80, y + 60, steps=5)
    seen.page.mouse.up()
    seen.page.mouse.move(5, 5)
    width = seen.page.locator(".stage").bounding_box()["width"]
    moved = tokens_of(seen)
    assert moved[0] == pytest.approx([-0.35 + 80 * 4 / width, 1.53 - 60 * 4 / width], abs=0.02)
    assert moved[1:] == cloud_data()["tokens"][1:]
    new = centre_of(seen, FIRST)
    assert new == pytest.approx((x + 80, y + 60), abs=2)
    assert seen.page.locator(".readout").inner_text() != before


def test_a_token_is_dragged_with_a_finger(visit, laboratory):
    seen = visit(laboratory, viewport={"width": 400, "height": 900}, has_touch=True, is_mobile=True)
    x, y = centre_of(seen, FIRST)
    touch = seen.context.new_cdp_session(seen.page)

    def finger(kind, *points):
        places = [{"x": a, "y": b} for a, b in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    finger("touchStart", (x, y))
    for step in range(1, 6):
        finger("touchMove", (x + 10 * step, y + 8 * step))
    finger("touchEnd")
    width = seen.page.locator(".stage").bounding_box()["width"]
    assert tokens_of(seen)[0] == pytest.approx([-0.35 + 50 * 4 / width, 1.53 - 40 * 4 / width], abs=0.03)
    assert seen.page.evaluate("scrollY") == 0


def test_a_token_is_moved_with_the_keyboard(visit, laboratory):
    seen = visit(laboratory)
    seen.page.locator(FIRST).focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowDown", "ArrowUp"):
        seen.page.keyboard.press(key)
    assert tokens_of(seen)[0] == [-0.31, 1.35]
    assert seen.page.locator(FIRST).get_attribute("aria-valuetext") == "x -0.31, y 1.35"


def test_the_readout_is_what_the_package_computes(visit, laboratory):
    seen = visit(laboratory, "#cloud?beta=1&depth=3")
    from resstream.reference import softmax

    X = np.array(cloud_data()["tokens"])
    for _ in range(3):
        X = softmax(X @ X.T) @ X
    shown = re.search(r"diameter ([\d.]+)", seen.page.locator(".readout").inner_text())[1]
    assert float(shown) == pytest.approx(diameter(X).item(), rel=1e-3)


# ---- motion -----------------------------------------------------------------

MOVES = """(milliseconds) => new Promise(done => {
    let seen = 0;
    const observer = new MutationObserver(list => { seen += list.length; });
    observer.observe(document.querySelector(".stage"), { attributes: true, childList: true, subtree: true });
    setTimeout(() => { observer.disconnect(); done(seen); }, milliseconds);
})"""
"""How often what is drawn changes by itself."""


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_by_itself_where_no_motion_is_asked_for(visit, laboratory, motion):
    seen = visit(laboratory, "#cloud?depth=6&layer=0", viewport=WIDE, reduced_motion=motion)
    still = motion == "reduce"
    layer = seen.page.locator(".player input")
    before = tokens_drawn(seen)
    seen.page.locator(".player .play").click()
    seen.settle()
    moves = seen.page.evaluate(MOVES, 600)
    assert (moves == 0) is still, moves
    assert seen.page.locator(".player .play").inner_text() == ("▶ Play" if still else "❚❚ Pause")
    assert tokens_drawn(seen) != before  # a step is made all the same
    if still:
        assert layer.input_value() == "1"
        seen.page.locator(".player .play").click()
        assert layer.input_value() == "2"
    slides = seen.page.evaluate(
        """getComputedStyle(document.querySelector('input[role="switch"]'), "::after").transitionDuration"""
    )
    assert slides == ("0s" if still else "0.12s")


def tokens_drawn(seen):
    seen.settle()
    return seen.page.locator(".stage").inner_html()


# ---- the address ------------------------------------------------------------


def test_a_link_shows_what_its_sender_saw(visit, laboratory):
    sender = visit(laboratory, "#cloud?beta=0.5&depth=7&skip=1&norm=layer&placement=post&layer=2", viewport=WIDE)
    sender.page.locator(FIRST).focus()
    sender.page.keyboard.press("ArrowLeft")
    sender.page.locator("label", has_text="causal mask").click()
    moved = tokens_of(sender)
    receiver = visit(laboratory, "#" + sender.page.url.split("#")[1], viewport=WIDE)
    assert tokens_of(receiver) == moved
    for seen in (sender, receiver):
        assert seen.page.get_by_role("switch", name="causal mask").is_checked()
        assert seen.page.get_by_label("norm", exact=True).input_value() == "layer"
    assert sender.page.locator(".readout").inner_text() == receiver.page.locator(".readout").inner_text()


WIDE = {"width": 1400, "height": 1000}
HOSTILE = (
    "#cloud?depth=1e9&beta=-3&layer=99",
    "#cloud?tokens=a,b;c",
    "#cloud?tokens=1,2,3;4,5,6",
    "#cloud?tokens=" + "1,2;" * 5000 + "1,2",
    "#cloud?beta=NaN&norm=<script>alert(1)</script>&placement=x",
    "#nowhere?x=1",
    "#cloud?tokens=0,0&depth=24",
    "#%E0%A4%A?beta=%",
)


@pytest.mark.parametrize("fragment", HOSTILE, ids=range(len(HOSTILE)))
def test_a_link_that_makes_no_sense_opens_the_room(visit, laboratory, fragment):
    seen = visit(laboratory, fragment)
    assert seen.page.locator(".readout").inner_text().startswith("After ")
    assert 1 <= seen.page.locator(".frame").count() <= 25


# ---- the certificate --------------------------------------------------------


def rationals(rows):
    return RATIONAL.array(np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object))


def certificate_of(seen):
    seen.page.get_by_role("button", name="Certify").click()
    texts = seen.page.locator(".certificate .fraction").all_inner_texts()
    verdicts = seen.page.locator(".certificate td:last-child").all_inner_texts()
    return [Fraction(text.replace("−", "-")) for text in texts], verdicts


@pytest.mark.parametrize(
    "query", ["layer=0", "layer=9&grain=100", "beta=1&layer=1", "mask=1&beta=2&layer=3", "beta=0.3&skip=1"]
)
def test_the_certificate_is_the_packages(visit, laboratory, query, tmp_path):
    seen = visit(laboratory, f"#cloud?{query}")
    (tau, *sides), verdicts = certificate_of(seen)
    text = seen.copied("JSON")
    raw = json.loads(text)["raw"]["arrays"]
    weights, X = rationals(raw["A"]), rationals(raw["X"])
    A = weights / weights.sum(-1, keepdims=True)
    with RATIONAL.working():
        assert Fraction(str(dobrushin(A).item())) == tau
        expected = []
        for norm in (L1, None, LINF):
            if norm is None:  # l2, squared: the page stays rational
                squares = [max(((M[i] - M[j]) ** 2).sum() for i in range(len(M)) for j in range(i)) for M in (A @ X, X)]
                expected += [squares[0], dobrushin(A).item() ** 2 * squares[1]]
            else:
                expected += [diameter(A @ X, norm).item(), (dobrushin(A) * diameter(X, norm)).item()]
    assert [Fraction(str(value)) for value in expected] == sides
    holds = [left <= right for left, right in zip(sides[::2], sides[1::2], strict=True)]
    assert all(holds) == all(verdict.startswith("holds") for verdict in verdicts)
    assert len(verdicts) == 3
    # The copied instance is judged by the package from its file alone.
    (tmp_path / "instance.json").write_text(text)
    assert replay(tmp_path / "instance.json").judgement.outcome in (judge.HOLDS, judge.TIED)


# ---- copied code ------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "beta=1&depth=4",
        "beta=2&depth=5&mask=1&skip=1&norm=layer&step=0.5",
        "norm=rms&placement=post&angle=35&stretch=-0.5",
    ],
)
def test_the_copied_python_computes_what_the_page_shows(visit, laboratory, query, capsys):
    seen = visit(laboratory, f"#cloud?{query}")
    code = seen.copied("Python")
    with FLOAT64.working():
        exec(compile(code, "copied", "exec"), {})
    last = capsys.readouterr().out.splitlines()[-1].split()
    shown = re.search(r"After (\d+) layers: diameter (\S+),", seen.page.locator(".readout").inner_text())
    mantissa, _, exponent = shown[2].partition("·10")
    power = int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    assert int(last[0]) == int(shown[1])
    assert float(last[2]) == pytest.approx(float(mantissa) * 10.0**power, rel=6e-3)
