"""Moves of a climb that know columns, rows and two scales: an offset, and a spread that is far below it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch
from resstream.domains import Part
from resstream.falsify import climb, corners


def vary(parts: Mapping[str, Part], elites: Batch, rng: np.random.Generator, count: int) -> Batch:
    """`count` children of the elites: half by the moves of the plain climb, half by those of columns and rows."""
    plain = climb.vary(parts, elites, rng, count // 2)
    parents = np.minimum((rng.random(count - count // 2) ** 2 * elites.count).astype(int), elites.count - 1)
    names = list(corners.real(parts))
    arrays = {name: values[parents].copy() for name, values in elites.arrays.items()}
    if names:
        chosen = rng.integers(len(names), size=len(parents))
        for index, name in enumerate(names):
            which = np.flatnonzero(chosen == index)
            part = parts[name]
            flat = arrays[name][which].reshape(-1, *part.shape[-2:])
            arrays[name][which] = part.settle(_moved(flat, rng).reshape(len(which), *part.shape))
    return climb.joined(plain, dataclasses.replace(elites, arrays=arrays, count=len(parents)))


def _moved(x: Array, rng: np.random.Generator) -> Array:
    """Matrices (count, rows, columns), each with one of the moves made in one column, or in all."""
    count, rows, columns = x.shape
    if not count:
        return x
    each = (count, 1, 1)
    middle = x.mean(axis=1, keepdims=True)
    spread = np.abs(x - middle).max(axis=1, keepdims=True)
    usual = np.where(spread > 0, spread, 10.0 ** rng.uniform(-3, 1, each))
    here = np.arange(columns) == rng.integers(columns, size=each)
    here = here | (rng.random(each) < 0.25)
    row = np.arange(rows)[:, None] == rng.integers(rows, size=each)
    steps = rng.integers(1, 8, each)
    shuffled = np.take_along_axis(
        x, rng.permuted(np.broadcast_to(np.arange(rows), (count, rows)), axis=1)[..., None], 1
    )
    ordered = middle + usual * (2 * np.argsort(rng.random(x.shape), axis=1) / max(rows - 1, 1) - 1)
    other = np.take_along_axis(x, np.broadcast_to(rng.integers(rows, size=each), (count, 1, columns)), 1)
    moves = (
        x + rng.choice([-1.0, 1.0], each) * 10.0 ** rng.uniform(-1, 4, each),
        x - middle,
        middle + (x - middle) * 10.0 ** rng.uniform(-2, 2, each),
        middle * 10.0 ** rng.uniform(-2, 2, each) + (x - middle),
        x + np.where(row, usual * rng.standard_normal(each) * 10.0 ** rng.uniform(-2, 0, each), 0),
        x + usual * rng.standard_normal(x.shape) * 10.0 ** rng.uniform(-5, 0, each),
        np.where(row, other, x),
        np.where(row, middle + usual * rng.integers(-3, 4, each) / 3, x),
        np.where(row, 2 * middle - x, x),
        middle + usual * np.rint((x - middle) / usual * steps) / steps,
        ordered,
        shuffled,
        middle + usual * rng.choice([-1.0, 1.0], x.shape),
    )
    pick = rng.integers(len(moves), size=count)
    out = np.stack([np.broadcast_to(moves[kind], x.shape)[k] for k, kind in enumerate(pick)])
    return np.clip(np.nan_to_num(np.where(here, out, x)), -1e30, 1e30)
