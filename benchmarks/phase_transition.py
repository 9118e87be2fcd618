"""When induction heads form: loss and prefix matching along the training of our models, as numbers and as a plot.

python benchmarks/phase_transition.py        writes docs/phase-transition.json and docs/phase-transition.svg

The models are those of `resstream reproduce`, trained step by step and read every 25 steps on held-out sequences.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

from resstream.induction import readings
from resstream.induction.settings import Settings
from resstream.induction.task import held_out_blocks
from resstream.induction.training import train

DOCS = Path(__file__).parents[1] / "docs"
EVERY = 25
SEEDS = (0, 1, 2)


def course(layers: int, seed: int, steps: int, every: int = EVERY) -> dict[str, list[float]]:
    """Held-out loss, accuracy and the best head's prefix matching every so many steps, 0 included."""
    found: dict[str, list[float]] = {"step": [], "loss": [], "accuracy": [], "prefix_matching": []}
    whole = Settings(layers=layers, seed=seed, test_sequences=100)
    with tempfile.TemporaryDirectory() as directory:
        checkpoint = Path(directory) / "run.npz"
        for done in range(0, steps + 1, every):
            settings = replace(whole, steps=max(1, done))
            run = train(settings, checkpoint=checkpoint if done else None)
            model = run.model if done else run.initial
            evaluation = readings.evaluate(model, held_out_blocks(settings))
            scores = readings.prefix_matching_scores(model, np.random.default_rng([seed, done]), settings)
            values = (done, evaluation.loss, evaluation.accuracy, float(scores[-1].max()))
            for name, value in zip(found, values, strict=True):
                found[name].append(round(value, 4))
    return found


def transition(run: dict[str, list[float]]) -> tuple[int, int]:
    """The steps between which prefix matching goes from a tenth to nine tenths of its last value."""
    steps, scores = run["step"], run["prefix_matching"]
    first, last = (next(s for s, v in zip(steps, scores, strict=True) if v >= part * scores[-1]) for part in (0.1, 0.9))
    return int(first), int(last)


# ---- the plot ---------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP = 720, 360, 50, 20
COLOURS = ("#1f5fa8", "#4d8fd1", "#9cc3ea", "#b04a2f")


def plot(runs: dict[str, dict[str, list[float]]]) -> str:
    """Loss (solid) and prefix matching (dashed) of every run, against the steps, as SVG."""
    last = max(run["step"][-1] for run in runs.values())

    def line(run: dict[str, list[float]], name: str, top: float, style: str) -> str:
        points = " ".join(
            f"{LEFT + WIDTH * step / last:.1f},{TOP + HEIGHT * (1 - value / top):.1f}"
            for step, value in zip(run["step"], run[name], strict=True)
        )
        return f'<polyline fill="none" {style} points="{points}"/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 110} {HEIGHT + 70}" font-family="sans-serif" '
        'font-size="12">',
        "<title>Held-out loss (solid) and prefix matching (dashed) along the training</title>",
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
    ]
    for colour, run in zip(COLOURS, runs.values(), strict=True):
        parts.append(line(run, "loss", 6.0, f'stroke="{colour}" stroke-width="2"'))
        parts.append(line(run, "prefix_matching", 1.0, f'stroke="{colour}" stroke-width="1.5" stroke-dasharray="5 3"'))
    for tick in range(7):
        y = TOP + HEIGHT * (1 - tick / 6)
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{tick}</text>')
        parts.append(f'<text x="{LEFT + WIDTH + 8}" y="{y + 4:.0f}">{tick / 6:.2f}</text>')
    for step in range(0, last + 1, 200):
        x = LEFT + WIDTH * step / last
        parts.append(f'<text x="{x:.0f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{step}</text>')
    for k, (colour, name) in enumerate(zip(COLOURS, runs, strict=True)):
        parts.append(f'<text x="{LEFT + 160 * k}" y="{TOP + HEIGHT + 40}" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{LEFT}" y="14">nats (solid)</text>')
    parts.append(f'<text x="{LEFT + WIDTH}" y="14" text-anchor="end">prefix matching (dashed)</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    runs = {f"two layers, seed {seed}": course(2, seed, 1000) for seed in SEEDS}
    runs["one layer, seed 0"] = course(1, 0, 1000)
    (DOCS / "phase-transition.json").write_text(json.dumps(runs) + "\n")
    (DOCS / "phase-transition.svg").write_text(plot(runs))
    for name, run in runs.items():
        print(name, "loss", run["loss"][-1], "prefix matching", run["prefix_matching"][-1], transition(run))


if __name__ == "__main__":
    main()
