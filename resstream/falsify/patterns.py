"""Local search among patterns of few values: where a claim is flat, or has equations that only small integers solve."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim
from resstream.domains import Part
from resstream.falsify import corners, structures
from resstream.falsify.corners import Show

CHAINS = 16
"""Searches that run side by side."""

PATIENCE = 80
"""Steps without a better score after which a chain begins anew."""

WORSE = 0.02
"""How often a step to a worse score is taken all the same."""

ALPHABETS = (
    (-1.0, 1.0),
    (0.0, 1.0),
    (-1.0, 0.0, 1.0),
    (0.0, 1.0, 2.0),
    (0.0, 1.0, 2.0, 3.0),
    (-2.0, -1.0, 0.0, 1.0, 2.0),
    (1.0, 2.0, 3.0),
)


def pattern_search(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """Change, exchange and copy entries of instances over small alphabets, many chains at once, for `size` steps."""
    shape = structures.wide_shape(claim, rng)
    parts = claim.parts(*shape)
    if not parts:
        return
    count = structures.affordable(parts, min(CHAINS, max(size // 8, 1)))
    letters, dress = _letters(parts, rng, count), _dress(parts, rng, count)
    fresh = _starts(parts, letters, rng, count)
    now, scores = fresh, show(Batch(*shape, _dressed(parts, fresh, dress), count))
    best, waited = scores.copy(), np.zeros(count, dtype=int)
    for _ in range(size // count - 1):
        step = _stepped(parts, now, letters, rng, count)
        stale = waited > PATIENCE
        if stale.any():
            fresh = _starts(parts, letters, rng, count)
            step = {name: np.where(_along(stale, x), fresh[name], x) for name, x in step.items()}
        its_scores = show(Batch(*shape, _dressed(parts, step, dress), count))
        taken = (its_scores <= scores) | (rng.random(count) < WORSE) | stale
        now = {name: np.where(_along(taken, x), step[name], x) for name, x in now.items()}
        scores = np.where(taken, its_scores, scores)
        better = stale | (scores < best)
        best = np.where(better, scores, best)
        waited = np.where(better, 0, waited + 1)


def _along(chosen: Array, x: Array) -> Array:
    return chosen.reshape(len(chosen), *[1] * (x.ndim - 1))


def _letters(parts: Mapping[str, Part], rng: np.random.Generator, count: int) -> dict[str, Array]:
    """The alphabet of each chain and part, padded to the same length by repetition."""
    table = np.array([np.resize(letters, 30) for letters in ALPHABETS])
    return {name: table[rng.integers(len(table), size=count)] for name in parts}


def _dress(parts: Mapping[str, Part], rng: np.random.Generator, count: int) -> dict[str, tuple[Array, Array]]:
    """What the letters of each chain stand for: themselves, or numbers of a scale and an offset of each column.

    So a softmax far off, which takes the largest of a column, sees patterns as well.
    """
    found = {}
    plain = rng.random(count) < 0.6
    for name, part in corners.real(parts).items():
        if part.kind != "weight":
            columns = (count, *[1] * (len(part.shape) - 1), part.shape[-1])
            each = (*columns[:-1], 1)
            off = rng.random(columns) < rng.choice([0.3, 1.0], each)
            scale = 10.0 ** (rng.uniform(-1, 1, each) + rng.integers(-3, 1, columns) * (rng.random(columns) < 0.5))
            offset = off * 10.0 ** rng.uniform(1, 4, each) * rng.choice([-1.0, 1.0], columns)
            found[name] = np.where(_along(plain, scale), 1.0, scale), np.where(_along(plain, offset), 0.0, offset)
    return found


def _dressed(
    parts: Mapping[str, Part], patterns: Mapping[str, Array], dress: Mapping[str, tuple[Array, Array]]
) -> dict[str, Array]:
    return {
        name: parts[name].settle(x * dress[name][0] + dress[name][1]) if name in dress else x
        for name, x in patterns.items()
    }


def _drawn(letters: Array, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    flat = np.take_along_axis(letters, rng.integers(letters.shape[1], size=(len(letters), int(np.prod(shape[1:])))), 1)
    return flat.reshape(shape)


def _starts(
    parts: Mapping[str, Part], letters: Mapping[str, Array], rng: np.random.Generator, count: int
) -> dict[str, Array]:
    out = {}
    chosen = structures.theme(rng)
    for name, part in parts.items():
        if part.kind == "whole":
            out[name] = part.draw(rng, count)
            continue
        patterns = np.rint(structures.bank(rng, part, chosen, structures.BANK))
        picked = patterns[rng.integers(len(patterns), size=(count, *part.shape[:-2]))]
        drawn = _drawn(letters[name], rng, (count, *part.shape))
        density = rng.random((count, *[1] * len(part.shape)))
        sparse = np.where(rng.random(drawn.shape) < density, drawn, letters[name][:, :1].reshape(density.shape))
        kind = rng.random(density.shape)
        out[name] = part.settle(np.select([kind < 0.4, kind < 0.8], [drawn, picked], sparse))
    return out


def _stepped(
    parts: Mapping[str, Part],
    now: Mapping[str, Array],
    letters: Mapping[str, Array],
    rng: np.random.Generator,
    count: int,
) -> dict[str, Array]:
    """One part of each chain with one of the moves made: some entries changed, two exchanged, a row copied."""
    names = list(parts)
    weights = np.sqrt([part.entries for part in parts.values()])
    chosen = rng.choice(len(names), size=count, p=weights / weights.sum())
    out = {}
    for index, (name, part) in enumerate(parts.items()):
        x = now[name].copy()
        rows = np.flatnonzero(chosen == index)
        if part.kind == "whole":
            x[rows] = part.settle(x[rows] + rng.integers(-2, 3, x[rows].shape))
        else:
            flat = x.reshape(count, -1)
            flat[rows] = _moved(flat[rows], part, letters[name][rows], rng)
            x = part.settle(x)
        out[name] = x
    return out


def _moved(flat: Array, part: Part, letters: Array, rng: np.random.Generator) -> Array:
    many, entries = flat.shape
    width, height = part.shape[-1], part.shape[-2]
    each = np.arange(many)
    kind = rng.random(many)
    one, two = rng.integers(entries, size=many), rng.integers(entries, size=many)
    letter = letters[each, rng.integers(letters.shape[1], size=many)]
    out = flat.copy()
    # Another letter in one place, or in two.
    changed = kind < 0.5
    out[each[changed], one[changed]] = letter[changed]
    twice = kind < 0.15
    out[each[twice], two[twice]] = letters[each, rng.integers(letters.shape[1], size=many)][twice]
    # Two entries exchanged, of the same row, of the same column, or any.
    in_row = one // width * width + rng.integers(width, size=many)
    in_column = (one % width + width * (rng.integers(height, size=many))) % entries
    other = np.where(kind < 0.65, in_row, np.where(kind < 0.73, in_column, two))
    swapped = (kind >= 0.5) & (kind < 0.8)
    out[each[swapped], one[swapped]] = flat[each, other][swapped]
    out[each[swapped], other[swapped]] = flat[each, one][swapped]
    # A place and its mirror image, of a square matrix.
    mirrored = (kind >= 0.8) & (kind < 0.87)
    mirror = (one % width) * width + one // width
    fits = mirrored & (mirror < entries)
    out[each[fits], one[fits]], out[each[fits], mirror[fits]] = letter[fits], -letter[fits]
    # Two rows or two columns exchanged, or a row copied, with its sign turned now and then.
    for k in np.flatnonzero(kind >= 0.87):
        blocks = out[k].reshape(-1, width)
        a, b = rng.integers(len(blocks), size=2)
        if kind[k] >= 0.98:
            blocks[a] = blocks[b] * rng.choice([1, 1, -1])
        elif kind[k] >= 0.93:
            blocks[[a, b]] = blocks[[b, a]]
        else:
            a, b = rng.integers(width, size=2)
            blocks[:, [a, b]] = blocks[:, [b, a]]
    return out
