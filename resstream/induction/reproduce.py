"""Every published figure beside ours: from the shipped weights, or from models trained again.

rows = reproduce()                        # shipped weights, ranges over eight training seeds as stored
rows = reproduce(retrain=True, seeds=8)   # everything anew
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Array
from resstream.errors import TrainingError
from resstream.induction import finance, readings
from resstream.induction.filings import collisions, corpus, fresh_filings, queries
from resstream.induction.measurements import gradient_depth, growth, thin_shell
from resstream.induction.settings import Settings
from resstream.induction.task import held_out_blocks, training_blocks
from resstream.induction.training import Source, initial_weights, keep_memory, train
from resstream.induction.weights import NAMES, load_model, model_of, split
from resstream.reference import AttentionOnlyModel, attention_only
from resstream.workers.fresh import count_step, in_parallel

SHIPPED_SEED = 0
"""The training seed of the shipped weights: one of those where a single layer-0 head looks at the previous token."""

MODELS = ("two_layers", "one_layer", "filing_model", "fresh_names")

Progress = Callable[[str, float], None]
"""Is told what is being done and which share of it is done, 0 to 1."""


@dataclass(frozen=True)
class Figure:
    """A figure as published: "equal" (to its digits), "about", "below" or "above"; and what is known of it.

    verdict: "robust" (every seed agrees), "accident" (of one seed: not to be asserted), "other corpus", or "ours" (not
    in the source, so published is None).
    """

    id: str
    label: str
    published: str | None
    relation: str
    verdict: str
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A figure with our value, and its mean and range over training seeds."""

    figure: Figure
    ours: float
    mean: float
    low: float
    high: float

    @property
    def inside(self) -> bool | None:
        """Whether the published figure, to its digits, lies in our range (a bound: whether every seed keeps it)."""
        if self.figure.published is None:
            return None
        value = float(self.figure.published)
        if self.figure.relation == "below":
            return self.high < value
        if self.figure.relation == "above":
            return self.low > value
        half = half_unit(self.figure.published)
        return self.low - half <= value <= self.high + half

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values."""
        values = {"ours": self.ours, "mean": self.mean, "low": self.low, "high": self.high}
        return {**asdict(self.figure), **values, "inside": self.inside}


def half_unit(printed: str) -> float:
    """Half a unit of the last digit of a printed number.

    >>> half_unit("0.974"), half_unit("2e-14")
    (0.0005, 5e-15)
    """
    digits, _, exponent = printed.partition("e")
    decimals = len(digits.partition(".")[2])
    return float(f"5e{int(exponent or 0) - decimals - 1}")


def figures() -> list[Figure]:
    """The published figures and our own additions, in the order of the table."""
    return [Figure(**entry) for entry in _data("figures.json")]


def stored_ranges() -> dict[str, Any]:
    """Our values over training seeds, as stored: the command that made them, the seeds, and every figure's values."""
    found: dict[str, Any] = _data("seeds.json")
    return found


def _data(name: str) -> Any:
    return json.loads((files("resstream.induction") / "data" / name).read_text())


# ---- models -----------------------------------------------------------------

Models = dict[str, AttentionOnlyModel]


def settings_of(name: str, seed: int) -> Settings:
    """The settings of one of the four models."""
    return Settings(layers=1 if name == "one_layer" else 2, seed=seed)


def source_of(name: str, seed: int) -> Source:
    """The training data of one of the four models."""
    if name == "filing_model":
        return finance.filing_source(corpus(seed).training)
    return finance.filing_source(fresh_filings(seed)) if name == "fresh_names" else training_blocks


def train_models(seed: int, progress: Progress | None = None, checkpoints: Path | None = None) -> Models:
    """Train all four models of a seed, at the same time as far as there are cores.

    With a directory for checkpoints, training goes on from those found there, to the same result.
    """
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    steps = sum(settings_of(name, seed).steps for name in MODELS)
    told = None if progress is None else partial(progress, f"seed {seed}: training {len(MODELS)} models")
    weights = in_parallel(_train, [(name, seed, checkpoints) for name in MODELS], steps, told)
    return {
        name: model_of(split(vector, settings_of(name, seed)), settings_of(name, seed))
        for name, vector in zip(MODELS, weights, strict=True)
    }


def _train(name: str, seed: int, checkpoints: Path | None = None) -> Array:
    file = None if checkpoints is None else checkpoints / f"{name}-{seed}.npz"
    model = train(settings_of(name, seed), source_of(name, seed), progress=count_step, checkpoint=file).model
    return np.concatenate([getattr(model, weight).ravel() for weight in NAMES])


def shipped_models() -> Models:
    """The models whose weights come with the package."""
    models = {}
    for name in MODELS:
        with as_file(files("resstream.induction") / "data" / f"{name}.npz") as path:
            models[name] = load_model(path)[0]
    return models


# ---- readings ---------------------------------------------------------------


def measure(models: Models, seed: int, progress: Progress | None = None) -> dict[str, float]:
    """Every figure's value by its id, for the models of a training seed (which seeds the other measurements too)."""
    values: dict[str, float] = {}
    parts: list[Callable[[Models, int], dict[str, float]]] = [
        _solving, _looking, _composing, _answering, _stacks, _shell, _finance
    ]  # fmt: skip
    keep_memory()
    for index, part in enumerate(parts):
        if progress is not None:
            progress(f"seed {seed}: reading", index / len(parts))
        with FLOAT64.working():
            values |= part(models, seed)
    if progress is not None:
        progress(f"seed {seed}: reading", 1.0)
    return values


def _solving(models: Models, seed: int) -> dict[str, float]:
    model, blocks = models["two_layers"], held_out_blocks(settings_of("two_layers", seed))
    kept, _ = readings.previous_token_head(model, blocks)
    others = [(0, head) for head in range(model.heads) if head != kept[1]]
    values: dict[str, float] = {}
    for name, evaluation in {
        "two_layers": (whole := readings.evaluate(model, blocks)),
        "one_layer": readings.evaluate(models["one_layer"], blocks),
        "cut_keys": readings.evaluate(model, blocks, {1: []}),
        "kept_head": readings.evaluate(model, blocks, {1: [kept]}),
        "other_head": readings.evaluate(model, blocks, {1: others}),
    }.items():
        values |= {f"{name}.loss": evaluation.loss, f"{name}.accuracy": evaluation.accuracy}
    late = whole.accuracy_by_position[39:]
    return {**values, "accuracy_from_39.lowest": float(late.min()), "accuracy_from_39.highest": float(late.max())}


def _looking(models: Models, seed: int) -> dict[str, float]:
    model, blocks = models["two_layers"], held_out_blocks(settings_of("two_layers", seed))
    head, first = readings.previous_token_head(model, blocks)
    second = readings.head_weights(model, blocks, 1)
    kernel = readings.kernel(model, head, blocks.inputs.shape[1])
    by_position = first.previous_by_position[head[1]]
    prefix = readings.prefix_matching_scores(model, _random(seed, 2), settings_of("two_layers", seed))
    moves = {name: readings.score_moves(models[name], blocks, _random(seed, 0)) for name in ("one_layer", "two_layers")}
    return {
        "previous.all": float(first.previous[head[1]]),
        "previous.other": float(np.delete(first.previous, head[1]).max()),
        "previous.near": float(by_position[1:38].mean()),
        "previous.far": float(by_position[39:].mean()),
        "kernel.peak": kernel.peak,
        "kernel.at_1": float(kernel.scores[1]),
        "kernel.at_0": float(kernel.scores[0]),
        "kernel.far_peak": kernel.far_peak,
        "kernel.far": float(kernel.scores[kernel.far_peak]),
        "induction.target.lowest": float(second.target.min()),
        "induction.target.highest": float(second.target.max()),
        "induction.earlier.lowest": float(second.after_earlier.min()),
        "induction.earlier.highest": float(second.after_earlier.max()),
        # A property of the test sequences, so each seed gets its own.
        "misled.share": readings.misleading_share(held_out_blocks(Settings(test_seed=seed))),
        "misled.weight": float(second.misled.mean()),
        "prefix_matching.lowest": float(prefix[1].min()),
        "prefix_matching.layer_0": float(prefix[0].max()),
        "moves.one_layer": float(moves["one_layer"].max()),
        "moves.two_layers": float(moves["two_layers"].mean()),
    }


def _composing(models: Models, seed: int) -> dict[str, float]:
    settings = settings_of("two_layers", seed)
    initial = readings.composition_table(model_of(split(initial_weights(settings), settings), settings))
    values = {"keys.initial": float(initial["keys"].max())}
    for name, scores in readings.composition_table(models["two_layers"]).items():
        values |= {f"{name}.lowest": float(scores.min()), f"{name}.highest": float(scores.max())}
    moved, unmoved = readings.subspace_distance(settings, _random(seed, 1))
    return {
        **values,
        "subspaces.moved": moved,
        "subspaces.unmoved": unmoved,
        "embedding.cosine": readings.root_mean_square_cosine(models["two_layers"].embedding),
        "copying.lowest": float(readings.copying_scores(models["two_layers"])[1].min()),
    }


def _answering(models: Models, seed: int) -> dict[str, float]:
    model, blocks = models["two_layers"], held_out_blocks(settings_of("two_layers", seed))
    shares = readings.path_shares(model, blocks)
    lens = readings.lens_probabilities(model, blocks)
    paths = {"last_layer": shares.last_layer, "rest_alone": shares.first_alone, "error": shares.error}
    kinds: dict[str, list[attention_only.Path]] = {"direct": [()], "layer_0": [], "layer_1": [], "both": []}
    for path in shares.shares:
        if path:
            kinds["both" if len(path) == 2 else f"layer_{path[0][0]}"].append(path)
    paths |= {kind: sum(shares.shares[path] for path in members) for kind, members in kinds.items()}
    return {
        **{f"paths.{name}": value for name, value in paths.items()},
        **{f"lens.{layer}": float(value) for layer, value in enumerate(lens)},
    }


def _stacks(_: Models, seed: int) -> dict[str, float]:
    values: dict[str, float] = {}
    for depth in (6, 12, 24):
        before = gradient_depth(_random(seed, depth), depth, "pre")
        after = gradient_depth(_random(seed, depth + 1), depth, "post")
        values |= {
            f"depth_{depth}.pre": before.last,
            f"depth_{depth}.post": after.last,
            f"depth_{depth}.stream": before.stream,
            f"depth_{depth}.product": before.last * before.stream,
            f"depth_{depth}.first": before.first,
        }
    return {
        **values,
        "depth.ratio": values["depth_6.pre"] / values["depth_24.pre"],
        "depth.post_over_pre": values["depth_24.post"] / values["depth_24.pre"],
        "depth.post_norm": after.stream,
    }


def _shell(_: Models, seed: int) -> dict[str, float]:
    wide, narrow = (thin_shell(_random(seed, 100 + width), width) for width in (512, 8))
    grown = growth(_random(seed, 200), 12, 12**-0.5)
    return {
        "shell.512": wide.radial,
        "shell.8": narrow.radial,
        "shell.512_from_x": wide.from_x,
        "shell.wide": thin_shell(_random(seed, 300), 512, 3.0).radial,
        "growth.residual": grown.residual / grown.residual_expected,
        "growth.plain": grown.plain / grown.plain_expected,
        "growth.forward": grown.forward / grown.forward_expected,
    }


def _finance(models: Models, seed: int) -> dict[str, float]:
    documents = corpus(seed)
    readers = {
        "bigram": finance.bigram_reader(documents.training),
        "direct_path": finance.direct_path_reader(models["filing_model"]),
        **{name: finance.model_reader(models[name]) for name in MODELS},
    }
    values: dict[str, float] = {}
    for name, (seen, unseen) in finance.finance_table(readers, documents.seen, documents.unseen).items():
        values |= {f"finance.{name}.seen": seen, f"finance.{name}.unseen": unseen}
    asked = {"seen": queries(documents.seen), "unseen": queries(documents.unseen)}
    misses = finance.analyse_misses(readers["two_layers"], asked["unseen"])
    longest = max(documents.unseen, key=lambda document: len(queries([document])))
    counted = collisions(documents.training + documents.seen + documents.unseen)
    return {
        **values,
        **{f"finance.queries.{name}": len(found) for name, found in asked.items()},
        "finance.one_filing": float(finance.completed(readers["two_layers"], queries([longest])).mean()),
        **{f"finance.misses.{name}": share for name, share in misses.share_of_misses.items()},
        "finance.clear_accuracy": misses.accuracy["clear"],
        "finance.colliding_words": counted.colliding_words / counted.words,
    }


def _random(seed: int, part: int) -> np.random.Generator:
    return np.random.default_rng([seed, 1000, part])


# ---- the table --------------------------------------------------------------


@dataclass(frozen=True)
class Reproduction:
    """The table, and what its ranges are over: training seeds with every figure's values, and the command."""

    rows: list[Row]
    seeds: list[int]
    values: dict[str, list[float]]
    command: str

    def to_dict(self) -> dict[str, Any]:
        """The table and the values behind its ranges, as plain values."""
        ranges = {"command": self.command, "seeds": self.seeds, "values": self.values}
        return {"rows": [row.to_dict() for row in self.rows], "ranges": ranges}


def reproduce(
    retrain: bool = False,
    seeds: int | None = None,
    progress: Progress | None = None,
    checkpoints: Path | None = None,
) -> Reproduction:
    """Every published figure, ours, and our mean and range over training seeds.

    Ours come from the shipped weights, or with `retrain` from models trained again with the shipped seed. The ranges
    are the stored ones unless `seeds` asks for that many, which are trained (seeds 0, 1, ...). `seeds` without
    `retrain` raises TrainingError. `checkpoints` is a directory that keeps the state of training, so that after an
    interruption the same call goes on from there.
    """
    if seeds is not None and (seeds < 1 or not retrain):
        raise TrainingError(f"seeds: expected 1 or more, together with retraining, got {seeds}, retrain={retrain}")
    models = train_models(SHIPPED_SEED, progress, checkpoints) if retrain else shipped_models()
    ours = measure(models, SHIPPED_SEED, progress)
    ranges = stored_ranges() if seeds is None else _measure_seeds(ours, seeds, progress, checkpoints)
    rows = [row_of(figure, ours[figure.id], ranges["values"][figure.id]) for figure in figures()]
    return Reproduction(rows, ranges["seeds"], ranges["values"], ranges["command"])


def row_of(figure: Figure, ours: float, values: Sequence[float]) -> Row:
    """The row of a figure with its values over seeds."""
    return Row(figure, ours, float(np.mean(values)), float(min(values)), float(max(values)))


def _measure_seeds(
    shipped: dict[str, float], count: int, progress: Progress | None, checkpoints: Path | None
) -> dict[str, Any]:
    measured = [
        shipped if seed == SHIPPED_SEED else measure(train_models(seed, progress, checkpoints), seed, progress)
        for seed in range(count)
    ]
    return {**ranges_of(measured), "command": f"resstream reproduce --retrain --seeds {count}"}


def ranges_of(measured: Sequence[dict[str, float]]) -> dict[str, Any]:
    """What was measured for seeds 0, 1, ..., by figure."""
    values = {name: [figures[name] for figures in measured] for name in measured[0]}
    return {"seeds": list(range(len(measured))), "values": values}
