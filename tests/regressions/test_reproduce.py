"""Every published figure: pinned from the shipped weights, held after training again, shown as it is when outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from resstream.errors import TrainingError
from resstream.induction import finance, readings, report, reproduce, ship
from resstream.induction.filings import corpus, queries
from resstream.induction.reproduce import Figure, Reproduction, Row, half_unit, row_of
from resstream.induction.task import held_out_blocks
from resstream.induction.training import train
from resstream.induction.weights import NAMES, load_model
from resstream.reference import AttentionOnlyModel

PINNED = json.loads((Path(__file__).parent / "induction.json").read_text())
DATA = files("resstream.induction") / "data"
STORED = reproduce.stored_ranges()


def assert_pinned(pin: dict, value: float) -> None:
    if "below" in pin:
        assert abs(value) < pin["below"]
        return
    tolerance = pin["tolerance"].get("absolute", pin["tolerance"].get("relative", 0) * abs(pin["value"]))
    assert abs(value - pin["value"]) <= tolerance, f"{pin['id']}: got {value}, pinned {pin['value']} ({pin['reason']})"


# ---- pinned figures ---------------------------------------------------------


@pytest.mark.parametrize("pin", PINNED["shipped"], ids=lambda pin: pin["id"])
def test_the_shipped_weights_give_the_pinned_figure(pin: dict, shipped_values: dict[str, float]) -> None:
    assert_pinned(pin, shipped_values[pin["id"]])


def test_every_figure_is_measured_pinned_and_stored(shipped_values: dict[str, float]) -> None:
    ids = [figure.id for figure in reproduce.figures()]
    assert len(set(ids)) == len(ids) > 80
    assert set(ids) <= set(shipped_values)
    assert {pin["id"] for pin in PINNED["shipped"]} == set(shipped_values) == set(STORED["values"])
    assert all(len(values) == len(STORED["seeds"]) == 8 for values in STORED["values"].values())


@pytest.mark.parametrize("name", sorted(set(STORED["values"]) - {"paths.error"}))
def test_the_first_stored_seed_is_the_shipped_one(name: str, shipped_values: dict[str, float]) -> None:
    stored = STORED["values"][name][reproduce.SHIPPED_SEED]
    pin = next(pin for pin in PINNED["shipped"] if pin["id"] == name)
    assert_pinned({"value": stored, **{key: pin[key] for key in pin if key != "value"}}, shipped_values[name])


def test_the_pins_tell_a_change(shipped_values: dict[str, float]) -> None:
    pin = next(pin for pin in PINNED["shipped"] if pin["id"] == "two_layers.loss")
    with pytest.raises(AssertionError, match=r"two_layers\.loss: got"):
        assert_pinned(pin, shipped_values["two_layers.loss"] * (1 + 1e-8))


def test_what_is_shipped_is_small() -> None:
    assert sum(len((DATA / f"{name}.npz").read_bytes()) for name in reproduce.MODELS) < 1_000_000


# ---- trained again ----------------------------------------------------------


@pytest.mark.parametrize("name", ["two_layers", "one_layer"])
def test_a_model_trained_again_gives_the_figures(name: str, retrained: Callable[[str], AttentionOnlyModel]) -> None:
    models = {other: retrained(name) for other in ("two_layers", "one_layer")}  # the other's readings are not looked at
    if name == "two_layers":
        values = {}
        for part in (reproduce._solving, reproduce._looking, reproduce._composing, reproduce._answering):
            values |= part(models, reproduce.SHIPPED_SEED)
    else:
        found = readings.evaluate(models[name], held_out_blocks(reproduce.settings_of(name, reproduce.SHIPPED_SEED)))
        values = {"one_layer.loss": found.loss, "one_layer.accuracy": found.accuracy}
    pins = [pin for pin in PINNED["retrained"] if pin["id"].startswith("one_layer.") == (name == "one_layer")]
    for pin in pins:
        assert_pinned(pin, values[pin["id"]])
    assert len(pins) == (2 if name == "one_layer" else 21)
    if name == "two_layers":
        assert values["keys.lowest"] > max(values["queries.highest"], values["values.highest"], values["keys.initial"])
        assert values["kernel.peak"] == 1
        assert values["moves.two_layers"] > 2


def test_a_model_trained_on_filings_keeps_names_in_its_weights_long_before_the_last_step() -> None:
    documents = corpus(reproduce.SHIPPED_SEED)
    settings = replace(reproduce.settings_of("filing_model", reproduce.SHIPPED_SEED), steps=300)
    reader = finance.model_reader(train(settings, finance.filing_source(documents.training)).model)
    assert finance.completed(reader, queries(documents.seen)).mean() > 0.6
    assert finance.completed(reader, queries(documents.unseen)).mean() < 0.02


# ---- what holds for every seed ----------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_qualitative_findings_hold_for_every_seed(seed: int) -> None:
    value = {name: values[seed] for name, values in STORED["values"].items()}
    # Two layers solve the task, one does not, and cut keys are worse than one layer and about as bad as guessing.
    assert value["two_layers.loss"] < 0.25
    assert value["two_layers.accuracy"] > 0.96
    assert 4.1 < value["one_layer.loss"] < 4.5
    assert 0.09 < value["one_layer.accuracy"] < 0.13
    assert value["cut_keys.loss"] > value["one_layer.loss"] + 1
    # Keys compose; queries and values do not, and initial weights do not.
    assert value["keys.lowest"] > 1.5 * max(value["queries.highest"], value["values.highest"])
    assert value["keys.lowest"] > value["keys.initial"]
    # A positional head whose kernel peaks one back; heads that look behind earlier occurrences.
    assert value["kernel.peak"] == 1
    assert value["previous.near"] > 0.9
    assert value["induction.earlier.lowest"] > 0.85
    assert value["moves.one_layer"] == 0
    assert value["moves.two_layers"] > 2
    # The answer exists only after the second layer.
    assert value["lens.0"] < 0.01
    assert value["lens.1"] < 0.01
    assert value["lens.2"] > 0.9
    assert value["paths.last_layer"] > 0.98
    # Depth: the pre-LN gradient falls as one over the root, the post-LN one does not.
    assert 1.6 < value["depth.ratio"] < 2.4
    assert 0.75 < value["depth_6.post"] / value["depth_24.post"] < 1.35
    assert 0.8 < value["depth_6.product"] / value["depth_24.product"] < 1.25


@pytest.mark.parametrize("seed", range(8))
def test_memory_knows_seen_names_alone_and_induction_copies_both(seed: int) -> None:
    value = {name: values[seed] for name, values in STORED["values"].items() if name.startswith("finance.")}
    for reader in ("bigram", "direct_path", "filing_model"):
        assert value[f"finance.{reader}.seen"] > 0.3
        assert value[f"finance.{reader}.unseen"] < 0.05  # a collision of the hash can make a wrong memory right
    for names in ("seen", "unseen"):
        assert value[f"finance.two_layers.{names}"] > 0.5
        assert value[f"finance.one_layer.{names}"] < 0.15
        assert value[f"finance.fresh_names.{names}"] < 0.1  # names that are always new are neither memorised nor copied
    assert value["finance.misses.clear"] < 0.2
    assert value["finance.clear_accuracy"] > 0.95


# ---- what is published ------------------------------------------------------

OUTSIDE = {
    "one_layer.loss": (1.24, "1000 other test sequences move it by 0.013"),
    "one_layer.accuracy": (0.55, "as the loss"),
    "cut_keys.loss": (0.10, "how badly a cut model guesses is luck"),
    "induction.earlier.highest": (0.13, "the higher of two heads"),
    "depth_12.pre": (1.18, "eight draws of a construction that is inferred"),
    "depth_12.stream": (4.10, "the initial weights are inferred"),
    "depth_24.stream": (1.75, "the initial weights are inferred"),
}
"""Robust figures that lie outside our range of eight seeds nevertheless: by how many per cent, and why."""

ROBUST = [figure for figure in reproduce.figures() if figure.verdict == "robust" and figure.published is not None]


def missed_by(found: Row) -> float:
    """By how many per cent a published figure lies outside our range; negative inside."""
    value = float(found.figure.published or 0)
    return 100 * max(found.low / value - 1, value / found.high - 1)


@pytest.mark.parametrize("figure", ROBUST, ids=lambda figure: figure.id)
def test_a_robust_figure_is_published_within_our_range(figure: Figure) -> None:
    values = STORED["values"][figure.id]
    found = row_of(figure, values[0], values)
    assert found.inside == (figure.id not in OUTSIDE)
    if figure.id in OUTSIDE:
        assert missed_by(found) == pytest.approx(OUTSIDE[figure.id][0], abs=0.01)


def test_no_exception_is_out_of_date() -> None:
    assert set(OUTSIDE) <= {figure.id for figure in ROBUST}
    assert len(ROBUST) > 40


# ---- the table --------------------------------------------------------------


@pytest.fixture
def table(shipped_values: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> Reproduction:
    monkeypatch.setattr(reproduce, "measure", lambda models, seed, progress=None: shipped_values)  # noqa: ARG005
    return reproduce.reproduce()


def test_the_table_has_every_figure_with_its_range(table: Reproduction) -> None:
    assert [row.figure.id for row in table.rows] == [figure.id for figure in reproduce.figures()]
    for row in table.rows:
        assert row.low <= row.mean <= row.high
    assert table.seeds == list(range(8))
    assert table.command == "python -m resstream.induction.ship 8"


def test_the_printed_table_shows_what_lies_outside(table: Reproduction) -> None:
    out = StringIO()
    report.print_table(table, Console(file=out, width=160))
    text = out.getvalue()
    for row in table.rows:
        assert row.figure.label[:30] in text
    outside = [row for row in table.rows if row.inside is False]
    published = [row for row in table.rows if row.inside is not None]
    assert f"{len(outside)} of {len(published)} published figures lie outside our range" in text
    assert "moves.two_layers: size varies by a fifth" in text
    assert "two layers: loss" in text
    assert "0.157" in text


def test_the_json_is_the_table(table: Reproduction) -> None:
    found = json.loads(report.to_json(table))
    assert [row["id"] for row in found["rows"]] == [row.figure.id for row in table.rows]
    assert set(found["rows"][0]) == {
        "id", "label", "published", "relation", "verdict", "note", "ours", "mean", "low", "high", "inside",
    }  # fmt: skip
    assert found["ranges"]["values"] == STORED["values"]


def test_the_document_holds_the_table() -> None:
    document = (Path(__file__).parents[2] / "docs" / "trained-models.md").read_text()
    values = STORED["values"]
    rows = [row_of(figure, values[figure.id][0], values[figure.id]) for figure in reproduce.figures()]
    assert document.endswith(report.to_markdown(rows))
    outside = sum(row.inside is False for row in rows)
    published = sum(row.inside is not None for row in rows)
    assert f"{outside} of {published} published figures lie outside our range" in " ".join(document.split())


def row(published: str | None, relation: str, values: Sequence[float]) -> Row:
    return row_of(Figure("id", "label", published, relation, "robust"), values[0], values)


@pytest.mark.parametrize(
    ("published", "relation", "values", "inside"),
    [
        ("0.157", "equal", [0.1561, 0.1564], False),
        ("0.157", "equal", [0.1561, 0.1566], True),
        ("0.157", "equal", [0.15749], True),
        ("0.157", "equal", [0.1576, 0.2], False),
        ("4.45", "equal", [4.0, 5.0], True),
        ("0.5", "below", [0.4, 0.49], True),
        ("0.5", "below", [0.4, 0.51], False),
        ("0.9", "above", [0.99, 0.91], True),
        ("0.9", "above", [0.99, 0.89], False),
        ("39", "equal", [39, 39], True),
        ("39", "equal", [20, 20], False),
        (None, "equal", [1.0], None),
    ],
)
def test_a_published_figure_is_inside_to_its_digits(
    published: str | None, relation: str, values: list[float], inside: bool | None
) -> None:
    assert row(published, relation, values).inside is inside


def test_half_a_unit_of_the_last_digit() -> None:
    assert [half_unit(printed) for printed in ("0.974", "251", "1e-12", "4.45")] == [5e-4, 0.5, 5e-13, 5e-3]


def test_seeds_are_asked_for_with_retraining_only() -> None:
    with pytest.raises(TrainingError, match="seeds: expected 1 or more, together with retraining, got 3, retrain=F"):
        reproduce.reproduce(seeds=3)
    with pytest.raises(TrainingError, match="seeds: expected 1 or more, together with retraining, got 0, retrain=T"):
        reproduce.reproduce(retrain=True, seeds=0)


def test_retraining_measures_the_seeds_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [figure.id for figure in reproduce.figures()]
    trained: list[int] = []
    told: list[tuple[str, float]] = []

    def train_models(seed: int, progress: reproduce.Progress, checkpoints: Path | None) -> dict[str, int]:
        assert checkpoints == Path("kept")
        trained.append(seed)
        progress("training", 0.5)
        return {"seed": seed}

    def measure(models: dict[str, int], seed: int, progress: reproduce.Progress) -> dict[str, float]:
        progress("reading", 1)
        assert models["seed"] == seed
        return dict.fromkeys(ids, seed + 1.0)

    monkeypatch.setattr(reproduce, "train_models", train_models)
    monkeypatch.setattr(reproduce, "measure", measure)
    found = reproduce.reproduce(True, 3, lambda label, share: told.append((label, share)), Path("kept"))
    assert trained == [0, 1, 2]
    assert {label for label, _ in told} == {"training", "reading"}
    assert all((r.ours, r.mean, r.low, r.high) == (1, 2, 1, 3) for r in found.rows)
    assert found.command == "resstream reproduce --retrain --seeds 3"


def test_what_is_shipped_can_be_made_again(
    tmp_path: Path, shipped_values: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    models = reproduce.shipped_models()
    monkeypatch.setattr(ship, "train_models", lambda seed, progress: models)  # noqa: ARG005
    monkeypatch.setattr(ship, "measure", lambda models, seed, progress: shipped_values)  # noqa: ARG005
    ship.ship(tmp_path, seeds=2)
    for name in reproduce.MODELS:
        again, settings, header = load_model(tmp_path / f"{name}.npz")
        assert all((getattr(again, weight) == getattr(models[name], weight)).all() for weight in NAMES)
        assert settings == reproduce.settings_of(name, reproduce.SHIPPED_SEED)
        assert header["command"] == "python -m resstream.induction.ship"
    found = json.loads((tmp_path / "seeds.json").read_text())
    assert (found["seeds"], found["command"]) == ([0, 1], "python -m resstream.induction.ship 2")
    assert found["values"]["two_layers.loss"] == [shipped_values["two_layers.loss"]] * 2


def test_the_progress_bar_shows_and_vanishes() -> None:
    out = StringIO()
    with report.shown_progress(Console(file=out, force_terminal=True, width=80)) as shown:
        shown("seed 0: training two_layers (loss 1.000)", 0.5)
    assert "training two_layers" in out.getvalue()
