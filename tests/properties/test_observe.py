"""Observing a model: every place is looked at, what is planted is found, what is broken is refused."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import resstream.observe
from resstream import claims
from resstream.arithmetic import exact
from resstream.claim import at_most, claim, equal, every
from resstream.cli import app
from resstream.domains import (
    Causal,
    Invertible,
    InvertiblePair,
    Matrix,
    NonConstant,
    Norm,
    Orthogonal,
    Product,
    Projection,
    RowStochastic,
    size,
)
from resstream.errors import ClaimError, ResstreamError, WeightsError
from resstream.falsify import falsify
from resstream.observe import Observation, certificates, given, observe, words
from resstream.observe.bind import _built, _draw
from resstream.observe.certificates import MOST_SUSPECTS
from resstream.observe.collapse import (
    CARRIED,
    FIRST,
    PRODUCT_OF_TAUS,
    SPEAKS_OF,
    TAU_OF_PRODUCT,
    collapses,
    summary,
)
from resstream.observe.page import page
from resstream.observe.sources import see
from resstream.observe.sources.request import Request, read_prompts
from resstream.observe.table import PERTURBATIONS
from resstream.reference import diameter, dobrushin, row_norms

LAYERS, HEADS, N, D, WIDTH = 3, 2, 6, 5, 2
FEW = ["contraction.diameter", "contraction.scores", "contraction.causal", "layernorm.invariant", "skip.stack_sum"]


def table(causal: bool = False, seed: int = 0) -> dict[str, Any]:
    """Activations of a model that was never trained, by their documented names, in float32."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {"final": rng.standard_normal((N, D))}
    for layer in range(LAYERS):
        weights = np.exp(rng.standard_normal((HEADS, N, N))) * (np.tri(N) if causal else 1)
        found[f"layers.{layer}.pattern"] = weights / weights.sum(-1, keepdims=True)
        for name in ("read", "stream"):
            found[f"layers.{layer}.{name}"] = rng.standard_normal((N, D))
        found[f"layers.{layer}.scores"] = rng.standard_normal((HEADS, N, N))
        for name in ("W_Q", "W_K", "W_V"):
            found[f"layers.{layer}.{name}"] = rng.standard_normal((HEADS, D, WIDTH))
        found[f"layers.{layer}.W_O"] = rng.standard_normal((HEADS, WIDTH, D))
    return {name: array.astype(np.float32) for name, array in found.items()}


@pytest.fixture(scope="module")
def trained() -> Observation:
    """The shipped model of two layers, on a few claims."""
    return observe("shipped:two_layers", claims=FEW)


def test_every_place_is_looked_at(trained: Observation) -> None:
    assert (trained.layers, trained.heads, trained.causal, list(trained.tokens)) == (2, 2, True, [48] * 3)
    diameters = trained.line("contraction.diameter")
    assert len({str(place.site) for place in diameters.places}) == len(diameters.places) == 3 * 2 * 2 * 3
    assert trained.line("layernorm.invariant").instances == 3 * 3 * 48
    assert trained.line("skip.stack_sum").met == 0  # tau times the norm of W_OV is above 1 in every chain
    assert trained.line("contraction.diameter").vacuous == 1.0
    with pytest.raises(ResstreamError, match="has no mask"):
        trained.line("contraction.scores")
    with pytest.raises(ResstreamError, match="was not asked for"):
        trained.line("contraction.cubic")


def test_values_are_those_of_the_reference() -> None:
    arrays = table()
    found = observe(arrays, claims=["contraction.diameter"])
    A = arrays["layers.1.pattern"][1].astype(float)
    X = arrays["layers.1.read"].astype(float)
    A /= A.sum(-1, keepdims=True)
    place = next(p for p in found.lines[0].places if str(p.site) == "prompt 0, layer 1, head 1, l2")
    expected = diameter(A @ X).item() / (dobrushin(A).item() * diameter(X).item())
    assert place.tightness == pytest.approx(expected, rel=1e-12)
    row = next(row for row in found.head_rows if (row.layer, row.head) == (1, 1))
    assert row.tau == pytest.approx(dobrushin(A).item(), rel=1e-12)
    assert row.first == pytest.approx(1 - A[:, 0].min(), rel=1e-12)
    W = arrays["layers.1.W_V"][1].astype(float) @ arrays["layers.1.W_O"][1].astype(float)
    assert row.ov_norm == pytest.approx(np.linalg.norm(W, 2), rel=1e-12)
    assert next(depth.norm for depth in found.depths) == pytest.approx(
        row_norms(arrays["layers.0.stream"].astype(float)).mean(), rel=1e-12
    )


def test_entropy_and_composition_are_what_they_say() -> None:
    arrays = table()
    arrays["layers.0.pattern"] = np.full((HEADS, N, N), 1 / N)
    arrays["layers.1.pattern"] = np.tile(np.eye(N), (HEADS, 1, 1))
    rows = observe(arrays, claims=["contraction.diameter"]).head_rows
    assert rows[0].entropy == pytest.approx(1, rel=1e-12)
    assert (rows[0].tau, rows[2].tau, rows[2].entropy) == (pytest.approx(0, abs=1e-15), 1, 0)
    assert rows[0].composes_with == ""
    from resstream.reference import composition_score

    W_OV = [arrays["layers.0.W_V"][h].astype(float) @ arrays["layers.0.W_O"][h] for h in range(HEADS)]
    readers = [arrays[f"layers.1.{name}"][0].astype(float) for name in ("W_Q", "W_K", "W_V")]
    best = max(composition_score(W, reader).item() for W in W_OV for reader in readers)
    assert rows[2].composition == pytest.approx(best, rel=1e-9)


def planted() -> list[Any]:
    """Claims of one's own, two of which are false; made here, so that pytest does not take them for tests."""

    @claim("planted.tau", over={"A": RowStochastic("n")})
    def tau_is_small(A: Any) -> Any:
        """Planted and false: tau <= 1/100."""
        return at_most(dobrushin(A), exact(1, 100))

    @claim("planted.norm", over={"x": NonConstant("d")})
    def rows_are_small(x: Any) -> Any:
        """Planted and false: rows of the stream have a norm of at most 1/100."""
        return at_most(row_norms(x), exact(1, 100))

    @claim("planted.drawn", over={"X": Matrix("n", "d"), "Z": Matrix("n", "d")})
    def no_such_object(X: Any, Z: Any) -> Any:
        """A statement of two clouds, of which a model has one."""
        return at_most(diameter(X + Z), diameter(X) + diameter(Z))

    return [tau_is_small, rows_are_small, no_such_object]


def test_claims_of_ones_own_are_looked_at_and_what_is_false_shows() -> None:
    found = observe(table(), claims=planted())
    assert sum(place.suspects for place in found.line("planted.tau").places) == LAYERS * HEADS
    assert sum(place.suspects for place in found.line("planted.norm").places) == (LAYERS + 1) * N
    assert "Z is no object" in found.not_applicable["planted.drawn"]
    assert found.violated == ["planted.tau", "planted.norm"]
    assert len(found.line("planted.tau").violated) == MOST_SUSPECTS
    assert found.line("planted.tau").unjudged == LAYERS * HEADS - MOST_SUSPECTS
    assert found.line("planted.tau").undecided == 0


def test_the_tightest_places_are_certified_if_asked_for() -> None:
    found = observe(table(), claims=["contraction.diameter", "layernorm.invariant"], certify=2)
    assert (found.line("contraction.diameter").certified, found.line("contraction.diameter").tied) == (2, 0)
    assert (found.line("layernorm.invariant").certified, found.line("layernorm.invariant").tied) == (0, 2)
    assert found.violated == []


def test_perturbations_are_looked_at_and_stay_in_their_domains() -> None:
    found = observe(table(causal=True), claims=["contraction.causal", "contraction.diameter"], around=0.05)
    still = observe(table(causal=True), claims=["contraction.causal", "contraction.diameter"])
    for line in found.lines:
        assert len(line.places) == len(still.line(line.id).places) * (1 + PERTURBATIONS)
        assert line.error == ""
        assert sum(place.suspects for place in line.places) == 0
    ratios = found.line("contraction.diameter").tightness
    assert len(set(ratios.round(12))) > len(set(still.line("contraction.diameter").tightness.round(12)))


def test_what_is_false_near_the_objects_alone_is_found_and_judged() -> None:
    arrays = {"layers.0.pattern": np.tile(np.eye(4), (1, 1, 1)), "layers.0.read": np.zeros((4, 3))}

    @claim("planted.near", over={"X": Matrix("n", "d")})
    def all_zero(X: Any) -> Any:
        """Planted: true of the objects, false of everything near them."""
        return at_most(diameter(X), 0)

    assert observe(arrays, claims=[all_zero]).violated == []
    found = observe(arrays, claims=[all_zero], around=1e-3)
    assert found.violated == ["planted.near"]
    with pytest.raises(ResstreamError, match="around: expected a positive number"):
        observe(arrays, around=-1.0)


def test_claims_of_a_file_are_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "claims_mine.py"
    file.write_text(
        "from resstream.claim import at_most, claim\nfrom resstream.domains import RowStochastic\n"
        "from resstream.reference import dobrushin\n\n\n"
        "@claim('mine.half', over={'A': RowStochastic('n')})\ndef half(A):\n    return at_most(2 * dobrushin(A), 1)\n"
    )
    assert observe(table(), claims=[f"{file}::mine.half"]).violated == ["mine.half"]


def test_true_claims_of_the_library_have_no_suspects() -> None:
    found = observe(table(causal=True))
    assert len(found.lines) > 60
    assert {line.id: line.error for line in found.lines if line.error} == {}
    assert [line.id for line in found.lines if sum(place.suspects for place in line.places)] == []
    assert set(found.not_applicable) | {line.id for line in found.lines} == {
        one.id for one in claims.matching([]) if one.expect == "holds"
    }


def test_the_same_with_two_processes() -> None:
    one, two = (observe(table(), claims=FEW, workers=workers).json() for workers in (1, 2))
    for found in (one, two):
        del found["seconds"]
        for line in found["claims"]:
            del line["seconds"]
    assert one == two


def test_layers_and_samples_are_taken() -> None:
    arrays = table()
    found = observe(arrays, claims=["contraction.diameter"], layers=[1])
    assert {place.site.layer for place in found.lines[0].places} == {1} == {row.layer for row in found.head_rows}
    sampled = observe(arrays, claims=["contraction.diameter"], sample=4, seed=3).lines[0].places
    assert len(sampled) == 4
    other = observe(arrays, claims=["contraction.diameter"], sample=4, seed=4).lines[0].places
    assert [str(place.site) for place in sampled] != [str(place.site) for place in other]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": [3]}, "layers: expected some of 0..2"),
        ({"layers": []}, "layers"),
        ({"sample": 0}, "sample: expected at least 1"),
        ({"certify": -1}, "certify"),
        ({"workers": 0}, "workers"),
        ({"claims": ["no.such"]}, "no.such"),
        ({"claims": [3]}, "claims"),
        ({"prompts": ["text"]}, "prompts of their own"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ResstreamError, match=message):
        observe(table(), **arguments)


@pytest.mark.parametrize("source", [3, None, [1, 2], "no/such/folder", "no.npz", "shipped:nothing"])
def test_no_source_is_refused(source: Any) -> None:
    with pytest.raises(ResstreamError):
        observe(source)


def test_collapse_bounds_hold() -> None:
    for causal in (True, False):
        found = collapses(see(table(causal), Request()))
        assert len(found) == LAYERS * (HEADS + 1)
        for one in found:
            assert all(left >= 0 for left in one.left.values())
            for bound, quantities in SPEAKS_OF.items():
                if bound in one.bounds:
                    assert one.left[quantities[0]] <= one.bounds[bound] * (1 + 1e-9)
            assert one.bounds[TAU_OF_PRODUCT] <= one.bounds[PRODUCT_OF_TAUS] * (1 + 1e-12)
            assert (FIRST in one.bounds) == (CARRIED in one.bounds) == causal
            if causal:
                assert one.bounds[FIRST] == pytest.approx(one.bounds[PRODUCT_OF_TAUS], rel=1e-9)
        rows = summary(found)
        assert len(rows) == (6 if causal else 4)
        assert all(row["violated"] == 0 and row["chains"] == HEADS + 1 for row in rows)


# ---- sources ----------------------------------------------------------------


def test_the_shipped_model_says_the_same_as_a_transformer() -> None:
    from importlib.resources import as_file, files

    from resstream.induction.weights import load_model
    from resstream.observe.sources.shipped import as_transformer

    tokens = np.arange(20) % 7
    for name in ("two_layers", "one_layer"):
        with as_file(files("resstream.induction") / "data" / f"{name}.npz") as path:
            model = load_model(path)[0]
        logits = as_transformer(model).forward(tokens).logits
        assert logits is not None
        assert np.abs(logits - model.forward(tokens).logits).max() <= 1e-12 * np.abs(logits).max()


@pytest.mark.parametrize("suffix", ["npz", "table"])
def test_saved_activations_are_seen_as_they_are(suffix: str, tmp_path: Path) -> None:
    arrays = {f"prompts.{p}.{k}": v for p in (0, 1) for k, v in table(seed=p).items() if ".W_" not in k}
    arrays |= {k: v for k, v in table().items() if ".W_" in k}
    source: Any = arrays
    if suffix == "npz":
        source = tmp_path / "saved.npz"
        np.savez(source, **arrays)
    seen = see(str(source) if suffix == "npz" else source, Request())
    assert (len(seen.prompts), seen.layers, seen.heads) == (2, LAYERS, HEADS)
    assert (seen.prompts[1].layers[2].pattern == arrays["prompts.1.layers.2.pattern"]).all()
    assert seen.weights[1].attention is not None
    assert len(seen.prompts[0].states or []) == LAYERS + 1


def changed(**changes: Any) -> dict[str, Any]:
    found = {**table(), **{name.replace("__", "."): value for name, value in changes.items()}}
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "got no pattern"),
        ({"pattern": np.ones((1, 2, 2))}, "is no name of an activation"),
        (changed(layers__1__pattern=None), "layer 1: expected a pattern"),
        (changed(layers__4__pattern=np.ones((2, 6, 6)) / 6), "expected layers 0, 1"),
        (changed(layers__0__pattern=np.ones((2, 6, 5)) / 6), "rows, not 5"),
        (changed(layers__0__pattern=-np.ones((2, 6, 6))), "nonnegative"),
        (changed(layers__0__pattern=np.full((2, 6, 6), np.nan)), "NaN"),
        (changed(layers__0__pattern=np.ones((2, 6, 6))), r"row \d of head \d sums to 6"),
        (changed(layers__0__read=np.ones((4, 5))), "read has 4 rows"),
        (changed(layers__0__read=np.ones(5)), "expected 2 axes"),
        (changed(layers__0__read=np.array(["a", "b"])), "real numbers"),
        (changed(layers__0__read=np.ones((6, 5), dtype=complex)), "real numbers"),
        (changed(layers__0__W_O=None), "together"),
        (changed(layers__1__pattern=np.full((1, 6, 6), 1 / 6)), r"layer 1: pattern: expected the shape \(2, 6, 6\)"),
        (changed(layers__0__pattern=np.ones((2, 5, 5)) / 5), "rows, not 5|has 6 rows"),
        (changed(layers__0__scores=np.ones((3, 6, 6))), r"scores: expected the shape \(2, 6, 6\)"),
        (changed(layers__0__queries=np.ones((5, 6, 3))), "queries: expected the shape"),
        (changed(layers__0__read=np.ones((6, 4))), r"one width d, got read \(6, 4\), stream \(6, 5\)"),
        (changed(layers__1__W_K=np.ones((3, 5, 2))), "layer 1: W_K: expected a number of key heads"),
    ],
)
def test_broken_activations_are_refused(arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(ResstreamError, match=message):
        observe(arrays, claims=["contraction.diameter"])


def test_a_pickle_in_an_npz_is_not_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    np.savez(tmp_path / "trap.npz", final=np.array([Trap()], dtype=object))
    (tmp_path / "pure.npz").write_bytes(pickle.dumps(Trap()))
    for name in ("trap.npz", "pure.npz"):
        with pytest.raises(WeightsError, match="pickles may run code and are not read"):
            observe(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_prompts_are_read_from_texts_and_lists(tmp_path: Path) -> None:
    file = tmp_path / "prompts"
    file.write_text("one\n\ntwo words\n")
    assert read_prompts(file) == ["one", "two words"]
    file.write_text('["text", [3, 4]]')
    assert read_prompts(file) == ["text", [3, 4]]
    found = observe("shipped:one_layer", [[1, 2, 3, 1], [5, 6]], claims=["contraction.causal"])
    assert list(found.tokens) == [4, 2]
    for broken in ("", "[", "[[]]", "[[1.5]]", "[]", "[true]"):
        file.write_text(broken)
        with pytest.raises(ResstreamError, match="--prompts"):
            read_prompts(file)
    with pytest.raises(ResstreamError, match="--prompts"):
        read_prompts(tmp_path / "missing")


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("a text", "came without a tokenizer"),
        ([1.5], "whole numbers"),
        ([], "expected 1 to"),
        ([999], "expected 0..255"),
    ],
)
def test_bad_prompts_are_refused(prompt: Any, message: str) -> None:
    with pytest.raises(ResstreamError, match=message):
        observe("shipped:one_layer", [prompt])


def test_a_missing_package_says_how_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    (tmp_path / "saved.safetensors").write_bytes(b"")
    with pytest.raises(ResstreamError, match=r"pip install 'resstream\[models\]'"):
        observe(tmp_path / "saved.safetensors")


# ---- what is shown ----------------------------------------------------------


def test_the_package_is_the_function() -> None:
    assert isinstance(resstream.observe(table(), claims=["contraction.diameter"]), Observation)


def test_it_reads_on_a_terminal_and_as_a_page(trained: Observation) -> None:
    console = Console(width=160, record=True, file=sys.stderr)
    console.print(trained)
    text = console.export_text()
    for expected in (
        "contraction.diameter",
        "100%",
        "two_layers (shipped induction model): 2 layers of 2 heads",
        "none",
    ):
        assert expected in text
    html = page(trained)
    assert html.count('<figure class="heatmap"') == 9
    assert html.count('<figure class="lines"') >= 3
    assert "<script" not in html
    assert "http" not in html.replace('xmlns="http', "")


def test_hostile_names_are_escaped_in_the_page() -> None:
    @claim("planted.script", over={"A": RowStochastic("n")})
    def hostile(A: Any) -> Any:
        """<script>alert(1)</script>"""
        return at_most(dobrushin(A), 1)

    assert "<script" not in page(observe(table(), claims=[hostile]))


def test_the_command_prints_writes_and_exits(tmp_path: Path) -> None:
    runner = CliRunner()
    file, out = tmp_path / "saved.npz", tmp_path / "page.html"
    np.savez(file, **table())
    few = ["--claims", "contraction.diameter", "--workers", "1"]
    done = runner.invoke(app, ["observe", str(file), *few, "--html", str(out), "--layers", "0,1-2"])
    assert done.exit_code == 0, done.output
    assert "contraction.diameter" in done.output
    assert out.read_text().startswith("<!doctype html>")
    found = json.loads(runner.invoke(app, ["observe", str(file), *few, "--json", "--sample", "2"]).stdout)
    assert (found["layers"], len(found["claims"][0]["places"]), len(found["by head"])) == (3, 2, 6)
    for bad in (["--layers", "x"], ["--layers", "9"], ["--html", str(tmp_path / "no" / "page.html")]):
        refused = runner.invoke(app, ["observe", str(file), *few, *bad])
        assert isinstance(refused.exception, ResstreamError)


def test_a_claim_that_says_nothing_or_fails_is_no_success(tmp_path: Path) -> None:
    runner, file, own = CliRunner(), tmp_path / "saved.npz", tmp_path / "claims_mine.py"
    np.savez(file, **table())
    nothing = runner.invoke(app, ["observe", str(file), "--claims", "contraction.causal", "--workers", "1"])
    assert "Nothing was looked at: none of 1 claim speaks" in nothing.stdout
    assert isinstance(nothing.exception, ResstreamError)
    own.write_text(
        "from resstream.claim import at_most, claim\nfrom resstream.domains import RowStochastic\n\n\n"
        "@claim('mine.raises', over={'A': RowStochastic('n')})\ndef raises(A):\n    return at_most(A[:, 99], 1)\n"
    )
    failed = runner.invoke(app, ["observe", str(file), "--claims", f"{own}::mine.raises", "--workers", "1"])
    assert failed.exit_code == 1
    assert "IndexError" in failed.stdout


def test_whole_balls_about_the_objects_are_judged_where_perturbations_are_asked_for() -> None:
    found = observe(table(), claims=["contraction.diameter", "layernorm.invariant"], around=1e-9, certify=3)
    line = found.line("contraction.diameter")
    assert (line.balls, line.whole_balls, line.certified) == (3, 3, 3)
    assert found.line("layernorm.invariant").balls == 0  # an equality says nothing of a ball
    assert "3 of 3 balls of radius 1e-09 certified whole" in words.verdict(found)
    wide = observe(table(), claims=["contraction.diameter"], around=10.0, certify=3).line("contraction.diameter")
    assert (wide.balls, wide.whole_balls, wide.violated) == (3, 0, [])


def test_sizes_and_relations_between_them_are_those_of_the_model() -> None:
    def wide(X: Any) -> Any:
        """Planted: true, and of sizes."""
        return at_most(diameter(X), size("d") * diameter(X))

    few = claim("planted.few", over={"X": Matrix("n", "d")}, where="n > d")(wide)
    many = claim("planted.many", over={"X": Matrix("n", "d")}, where="n < d")(wide)
    found = observe(table(), claims=[few, many], around=0.1, certify=1)
    assert (found.line("planted.few").certified, found.line("planted.few").error) == (1, "")
    assert found.not_applicable == {"planted.many": "the claim speaks of sizes with n < d"}


def test_what_is_drawn_is_built_again_for_the_judge_and_decided() -> None:
    """A rotation or an inverse that is drawn in floats is no exact one: the judge is given what built it."""

    @claim("planted.turned", over={"R": Orthogonal("d"), "P": Projection("d"), "x": NonConstant("d")})
    def turned(R: Any, P: Any, x: Any) -> Any:
        """True of rotations and projections alone."""
        return every(equal(row_norms(x @ R), row_norms(x)), equal(P @ P, P))

    @claim("planted.undone", over={"pair": InvertiblePair("d"), "x": NonConstant("d")})
    def undone(pair: Any, x: Any) -> Any:
        """True of a matrix and its exact inverse."""
        return equal(x @ pair[0] @ pair[1], x)

    found = observe(table(), claims=[turned, undone], certify=2)
    for name in ("planted.turned", "planted.undone"):
        line = found.line(name)
        assert (line.certified + line.tied, line.undecided, line.violated) == (2, 0, [])
    assert found.line("planted.undone").certified == 2


def test_what_is_drawn_too_large_to_be_built_exactly_is_undecided_and_says_so(monkeypatch: Any) -> None:
    monkeypatch.setattr(certificates, "MOST_DRAWN", 2 * D * D)
    assert observe(table(), claims=["erasing.head"], certify=1).line("erasing.head").undecided == 1
    monkeypatch.setattr(certificates, "MOST_DRAWN", 3 * D * D)
    line = observe(table(), claims=["erasing.head"], certify=1).line("erasing.head")
    assert (line.undecided, line.certified) == (0, 1)


def test_what_is_drawn_is_well_conditioned_at_any_width() -> None:
    """Triangular factors of standard normal numbers have inverses that grow like a power of the width."""
    for domain in (Invertible(256), Projection(256)):
        drawn = claim("planted.drawn", over={"M": domain})(lambda M: at_most(diameter(M), diameter(M)))
        M = _draw(drawn, "M", {}, np.random.default_rng(0), _built)
        assert np.linalg.norm(M, 2) < 10
        assert not isinstance(domain, Invertible) or np.linalg.cond(M) < 100
        assert not isinstance(domain, Projection) or np.abs(M @ M - M).max() < 1e-12


def test_what_is_undecided_says_why() -> None:
    def nearly(x: Any) -> Any:
        return at_most((1 + exact(1, 10**12)) * row_norms(x), row_norms(x))

    @claim("planted.nearly", over={"x": NonConstant("d")}, assuming=[nearly])
    def met_in_floats(x: Any) -> Any:
        """Its hypothesis is missed by less than the slack of the floats."""
        return at_most(row_norms(x), 2 * row_norms(x))

    found = observe(table(), claims=[met_in_floats], certify=1)
    line = found.line("planted.nearly")
    assert (line.certified, line.undecided, line.violated) == (0, 1, [])
    assert "its hypotheses are not met exactly, by less than floats can tell" in line.unsettled
    assert "1 undecided by the judge (planted.nearly)" in words.verdict(found)


def test_what_is_expected_to_fail_is_said_apart() -> None:
    found = observe(table(), claims=["contraction.diameter_squared"])
    assert found.violated == []
    assert found.lines[0].violated
    assert "none violated; expected to fail, and violated here, certified: contraction.diameter_squared" in (
        words.verdict(found)
    )


# ---- data as a domain --------------------------------------------------------


def test_heads_are_members_of_a_domain_with_what_belongs_to_them() -> None:
    arrays = table(causal=True)
    domain = given(arrays, "A", "X", "W_V", layers=[0, 2])
    assert len(domain.tables) == 2 * HEADS
    for place, member in enumerate(domain.tables):
        layer, head = 2 * (place // HEADS), place % HEADS
        A, X, W = (np.array(matrix, dtype=object) for matrix in member.tables)
        assert all(sum(row) == 1 for row in A)  # fractions: rows sum to one exactly
        assert np.abs(A.astype(float) - arrays[f"layers.{layer}.pattern"][head]).max() < 1e-7
        assert (X.astype(float) == arrays[f"layers.{layer}.read"]).all()
        assert (W.astype(float) == arrays[f"layers.{layer}.W_V"][head]).all()
    assert Causal(N).contains(np.array(given(arrays, "A").tables[0], dtype=object), {})


def test_one_claim_in_general_and_on_a_model() -> None:
    @claim("planted.halves", over={"head": Product(Causal("n"), Matrix("n", "d"))}, sizes={"n": range(1, 3)})
    def halves(head: Any) -> Any:
        """A head halves what it reads: false in general, true where every token looks everywhere alike."""
        A, X = head
        return at_most(2 * diameter(A @ X), diameter(X))

    uniform = np.tri(2) / np.tri(2).sum(-1, keepdims=True)
    arrays = {"layers.0.pattern": np.tile(uniform, (2, 1, 1)), "layers.0.read": np.array([[3.0], [1.0]])}
    assert falsify(halves).status == "refuted"
    here = falsify(halves.replace(over={"head": given(arrays, "A", "X")}, id="planted.halves.here"))
    assert (here.status, here.tally.violating, here.every) == ("survived", None, 2)
    assert "the search was exhaustive, it holds at each of its 2 instances" in str(here)
    arrays["layers.0.pattern"] = np.tile(np.eye(2), (2, 1, 1))
    there = falsify(halves.replace(over={"head": given(arrays, "A", "X")}, id="planted.halves.there"))
    assert there.status == "refuted"


def test_variables_of_one_head_are_given_together() -> None:
    """What belongs to one head stays together, and sizes of the other variables are those of the model."""
    diameters = claims.lookup("contraction.diameter")
    heads = given(table(), "A", "X", layers=[0, 1])
    norm = Norm("d", ("l1", "linf"), bases=False)
    here = diameters.replace(over={("A", "X"): heads, "norm": norm})
    assert (list(here.over), here.size_ranges()) == (["A_X", "norm"], {"d": range(D, D + 1)})
    verdict = falsify(here)
    assert (verdict.status, verdict.every, verdict.tally.judged) == ("survived", 2 * HEADS * 2, 2 * HEADS * 2)
    apart = diameters.replace(over={"A": given(table(), "A"), "X": given(table(), "X", layers=[0]), "norm": norm})
    assert falsify(apart).every == LAYERS * HEADS * HEADS * 2  # every pattern with every cloud
    halved = diameters.replace(over={("A", "X"): heads, "norm": norm}, rhs=lambda A, rhs: dobrushin(A) * rhs / 9)
    refuted = falsify(halved)
    assert (refuted.status, refuted.every, refuted.tally.engine) == ("refuted", None, "exhaustion")
    assert refuted.counterexample is not None
    assert [name for name, _ in refuted.counterexample.arrays()] == ["A_X[0]", "A_X[1]", "norm"]
    # A hypothesis may speak of some of them too.
    some = diameters.replace(over={("A", "X"): heads, "norm": norm}, assuming=[lambda A: at_most(dobrushin(A), 0)])
    assert falsify(some).status == "vacuous"


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({("A", "Z"): None}, "over='Z', expected one of its variables"),
        ({("A", "X"): None, "A": Causal("n")}, r"over='A', expected each once"),
        ({("A", "X"): Causal("n")}, "expected a domain of tuples of 2 objects"),
        ({("A",): None}, "expected a domain of tuples of 1 objects"),
        ({("A", "X"): 3}, r"over\[\('A', 'X'\)\]: expected a domain"),
    ],
)
def test_what_cannot_vary_together_is_refused(over: dict[Any, Any], message: str) -> None:
    heads = given(table(), "A", "X")
    with pytest.raises(ClaimError, match=message):
        claims.lookup("contraction.diameter").replace(over={k: v or heads for k, v in over.items()})


@pytest.mark.parametrize(
    ("names", "named", "message"),
    [
        ((), {}, "names: expected some of A, X"),
        (("A", "Z"), {}, "names: expected some of A, X"),
        (("A",), {"layers": [9]}, "layers: expected some of 0..2"),
        (("Q",), {}, "the queries are not known"),
    ],
)
def test_what_no_head_has_is_refused(names: tuple[str, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(ResstreamError, match=message):
        given(table(), *names, **named)


def test_prompts_of_several_lengths_make_no_domain() -> None:
    with pytest.raises(ResstreamError, match="expected prompts of one length"):
        given("shipped:two_layers", "A", prompts=[[1, 2], [1, 2, 3]])
