"""Quasi-Newton ascent from an instance: where climbing by chance finds the hill, this finds its top to many digits.

Gradients are differences, taken in one batch; what is minimised is any score of a batch, the lower the better.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim, Instance
from resstream.falsify import corners

Score = Callable[[Batch], Array]

ENTRIES = 80
"""Raw numbers beyond which gradients by differences cost too much."""

ITERATIONS = 60

WALL = 9.0
"""The score where there is none."""


class _Enough(Exception):
    """No seconds are left."""


def ascend(
    claim: Claim,
    start: Instance,
    score: Score,
    left: Callable[[], float] = lambda: float("inf"),
    iterations: int = ITERATIONS,
) -> tuple[float, Instance]:
    """The best score found from a start, and the instance (float64 raw numbers) that has it."""
    parts = claim.parts(start.sizes, start.options)
    moving = corners.real(parts)
    count = sum(int(np.prod(part.shape)) for part in moving.values())
    floats = {name: np.asarray(start.arrays[name], dtype=float) for name in parts}
    best: list[tuple[float, Instance]] = [
        (float(score(Instance(start.sizes, start.options, floats).batch())[0]), start)
    ]
    if not count or count > ENTRIES:
        return best[0]
    from scipy.optimize import minimize  # which takes time to import

    begin = np.concatenate([floats[name].reshape(-1) for name in moving])
    scale = float(np.abs(begin).max()) or 1.0
    offsets = np.concatenate([np.zeros((1, count)), np.eye(count), -np.eye(count)])

    def value_and_slope(point: Array) -> tuple[float, Array]:
        if left() <= 0:
            raise _Enough
        point = np.clip(point * scale, -1e30, 1e30)
        step = 1e-6 * (np.abs(point) + 1e-2 * np.abs(point).max() + 1e-300)
        rows = point + offsets * step
        arrays = corners.split(moving, rows)
        arrays |= {name: np.repeat(floats[name][None], len(rows), 0) for name in parts if name not in moving}
        batch = Batch(start.sizes, start.options, {name: arrays[name] for name in parts}, len(rows))
        values = np.nan_to_num(score(batch), nan=WALL, posinf=WALL, neginf=WALL)
        lowest = int(np.argmin(values))
        if values[lowest] < best[0][0]:
            best[0] = (float(values[lowest]), batch.at(lowest))
        slope = (values[1 : count + 1] - values[count + 1 :]) / (2 * step) * scale
        return float(values[0]), np.clip(slope, -1e12, 1e12)

    options = {"maxiter": iterations, "gtol": 1e-12}
    with np.errstate(all="ignore"), suppress(_Enough, FloatingPointError, np.linalg.LinAlgError):
        minimize(value_and_slope, begin / scale, jac=True, method="BFGS", options=options)
    return best[0]
