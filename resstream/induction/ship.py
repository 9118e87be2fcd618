"""Make the data that comes with the package: `python -m resstream.induction.ship [SEEDS]`.

Trains the models of the shipped seed, writes their weights, measures every figure for SEEDS seeds (8 by default) and
writes the values. About a minute a seed on one core.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from resstream.induction.report import shown_progress
from resstream.induction.reproduce import (
    MODELS,
    SHIPPED_SEED,
    Progress,
    measure,
    ranges_of,
    settings_of,
    train_models,
)
from resstream.induction.weights import provenance, save_model


def ship(directory: Path, seeds: int, progress: Progress | None = None) -> None:
    """Write the weights of the shipped seed, and every figure's values over seeds 0, 1, ..., into a directory."""
    measured = []
    for seed in range(seeds):
        models = train_models(seed, progress)
        if seed == SHIPPED_SEED:
            for name in MODELS:
                save_model(directory / f"{name}.npz", models[name], settings_of(name, seed), command=COMMAND)
        measured.append(measure(models, seed, progress))
        ranges = {**ranges_of(measured), "command": f"{COMMAND} {seeds}", "made with": provenance()}
        (directory / "seeds.json").write_text(json.dumps(ranges, indent=1) + "\n")


COMMAND = "python -m resstream.induction.ship"

if __name__ == "__main__":
    with shown_progress(Console(stderr=True)) as shown:
        ship(Path(__file__).parent / "data", int(sys.argv[1]) if len(sys.argv) > 1 else 8, shown)
