"""Degenerate and tiny instances: where most false claims break, and what a diffuse draw never meets.

Tiny shapes are enumerated over small integers. Larger ones are filled with named corners (zeros, identity, one-hot
rows, equal rows, ...), then scaled by powers of ten, tied, brought near to a tie, or coupled with each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim
from resstream.domains import Part
from resstream.domains.parts import LEVELS

Shape = tuple[dict[str, int], dict[str, str]]
"""Sizes and options: what the instances of a batch share."""

Show = Callable[[Batch], Array]
"""What an engine shows its batches to; the answer is a score an instance, the lower the nearer to a violation."""

DECADES = 13
"""Scales and gaps run over 10^-13 to 10^13."""

SHAPES = 512
"""Shapes looked at, smallest first."""


def shapes(claim: Claim) -> list[Shape]:
    """Sizes and options of the claim from the smallest on: by the sum of the sizes, then in order."""
    ranges = claim.size_ranges()
    options = claim.option_values()
    choices = [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]
    wanted = -(-SHAPES // len(choices))
    reach = 1
    while reach ** len(ranges) < wanted and any(reach < len(values) for values in ranges.values()):
        reach += 1
    by_size = sorted(itertools.product(*(sorted(values)[: reach + 1] for values in ranges.values())), key=sum)
    near = [sizes for values in by_size if claim.fits(sizes := dict(zip(ranges, values, strict=True)))]
    near = near or list(itertools.islice(claim.size_choices(), wanted))
    near = near or [dict(zip(ranges, by_size[0], strict=True))]  # of no instance that meets the claim
    return [(sizes, choice) for sizes in near[:wanted] for choice in choices]


def drawn_options(claim: Claim, rng: np.random.Generator) -> dict[str, str]:
    """Options, drawn evenly."""
    return {name: values[int(rng.integers(len(values)))] for name, values in claim.option_values().items()}


def enumerable(parts: Mapping[str, Part], limit: int) -> list[list[float]] | None:
    """The values of every raw entry, of the richest level with at most `limit` combinations; None if there are more."""
    best = None
    for level in range(LEVELS):
        choices = [(part.simple(level), part.entries) for part in parts.values()]
        if sum(entries * math.log(len(values)) for values, entries in choices) > math.log(limit) + 1e-9:
            break
        best = [values for values, entries in choices for _ in range(entries)]
    return best


def enumeration(parts: Mapping[str, Part], values: Sequence[Sequence[float]], numbers: Array) -> dict[str, Array]:
    """The combinations of those numbers, in the order in which the first entry changes fastest."""
    flat = np.empty((len(numbers), len(values)))
    rest = numbers.copy()
    for column, choices in enumerate(values):
        flat[:, column] = np.asarray(choices, dtype=float)[rest % len(choices)]
        rest //= len(choices)
    return split(parts, flat)


def real(parts: Mapping[str, Part]) -> dict[str, Part]:
    """The parts whose numbers may be moved a little: all but the whole ones."""
    return {name: part for name, part in parts.items() if part.kind != "whole"}


def split(parts: Mapping[str, Part], flat: Array) -> dict[str, Array]:
    """Raw arrays from flat rows (count, entries)."""
    arrays, start = {}, 0
    for name, part in parts.items():
        stop = start + part.entries
        arrays[name] = flat[:, start:stop].reshape(len(flat), *part.shape)
        start = stop
    return arrays


def combinations(values: Sequence[Sequence[float]]) -> int:
    """How many instances an enumeration has."""
    return math.prod(len(choices) for choices in values)


def corner_batch(claim: Claim, shape: Shape, rng: np.random.Generator, size: int) -> Batch:
    """At most `size` corners of one shape: all small integers where they are few, samples elsewhere."""
    parts = claim.parts(*shape)
    values = enumerable(parts, size)
    if values is not None:
        arrays = enumeration(parts, values, np.arange(combinations(values)))
        count = combinations(values)
    else:
        arrays, count = sample(parts, rng, size), size
    return Batch(*shape, arrays, count)


# ---- samples ----------------------------------------------------------------


def sample(parts: Mapping[str, Part], rng: np.random.Generator, count: int) -> dict[str, Array]:
    """A batch of corners: each part by itself from named corners, small integers and its own mixture, then bent."""
    arrays = {name: _part_sample(part, rng, count) for name, part in parts.items()}
    return bend(parts, arrays, rng, count)


def _part_sample(part: Part, rng: np.random.Generator, count: int) -> Array:
    if part.kind == "whole":
        return part.draw(rng, count)
    shape = (count, *part.shape)
    named = np.stack(list(_named(part.shape)))
    density = rng.random(_each(shape))
    unit = rng.choice([1.0, 1.0, -1.0], shape) * (rng.random(shape) < density)
    wider = rng.integers(-3, 4, shape) * (rng.random(shape) < density)
    if part.is_bounded:  # named corners mostly lie beyond its ends
        return _mix(rng, count, (0.7, part.draw(rng, count)), (0.3, part.settle(wider.astype(float))))
    return _mix(
        rng,
        count,
        (0.35, named[rng.integers(len(named), size=count)]),
        (0.35, unit),
        (0.15, wider.astype(float)),
        (0.15, part.draw(rng, count)),
    )


def _named(shape: tuple[int, ...]) -> Iterator[Array]:
    rows, columns = shape[-2:]
    i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
    matrices: list[Array] = [
        i * j * 0,
        i * 0 + j * 0 + 1,
        i == j,
        -1 * (i == j),
        2 * (i == j),
        (i + 1) * (i == j),
        (-1) ** i * (i == j),
        i + j == rows - 1,
        (i + 1) % rows == j,
        i + 1 == j,
        i == j + 1,
        i >= j,
        i <= j,
        (i == 0) & (j == 0),
        (i == 0) & (j == columns - 1),
        (i == rows - 1) & (j == 0),
        (i * 0 == 0) & (j == 0),
        (i == 0) & (j * 0 == 0),
        (i % 2 == 0) & (j == 0),
        i * 0 + j,
        i + j * 0,
        (-1) ** (i + j),
        (-1) ** i + j * 0,
        (i // 2) == j,
        i == (j // 2),
    ]
    for matrix in matrices:
        yield np.broadcast_to(np.asarray(matrix, dtype=float), shape)


def bend(parts: Mapping[str, Part], arrays: dict[str, Array], rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Scale, tie, nearly tie and couple the raw arrays of a batch; a good half of the instances stays as it is."""
    out: dict[str, Array] = {}
    for name, part in real(parts).items():
        x = arrays[name]
        x = _mix(
            rng, count, (0.4, x), (0.25, x * _factor(rng, x.shape)), (0.15, x * _decade(rng, x.shape)), (0.2, None)
        )
        earlier = [other for other in out if parts[other].shape == part.shape]
        if earlier:
            other = out[earlier[int(rng.integers(len(earlier)))]]
            gap = _decade(rng, x.shape) * _unit_entry(rng, x.shape)
            square = other.mT if x.shape[-1] == x.shape[-2] else -other
            coupled = (0.5, x), (0.2, other + gap), (0.08, other), (0.06, -other), (0.06, square), (0.1, other + x)
            x = _mix(rng, count, *coupled)
        out[name] = x
    return {name: part.settle(out.get(name, arrays[name])) for name, part in parts.items()}


def _mix(rng: np.random.Generator, count: int, *shares: tuple[float, Array | None]) -> Array:
    """One of several batches for each instance, by the given probabilities; None stands for near ties of the first."""
    first = shares[0][1]
    assert first is not None
    out = first.copy()
    pick = rng.choice(len(shares), size=count, p=[share for share, _ in shares])
    for index, (_, batch) in enumerate(shares):
        chosen = pick == index
        if batch is None:
            near = first[chosen]
            out[chosen] = near + _decade(rng, near.shape) * _unit_entry(rng, near.shape)
        elif index:
            out[chosen] = batch[chosen]
    return out


def _each(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], *([1] * (len(shape) - 1)))


def _factor(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.choice([0.5, 2.0, 0.1, 10.0, 0.25, 3.0, 100.0, 0.9], _each(shape))


def _decade(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return 10.0 ** rng.integers(-DECADES, DECADES + 1, _each(shape))


def _unit_entry(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """1 in one place of each instance, 0 elsewhere."""
    entries = math.prod(shape[1:])
    return (np.arange(entries) == rng.integers(entries, size=(shape[0], 1))).reshape(shape).astype(float)


# ---- whole numbers ----------------------------------------------------------


def whole_entries(claim: Claim) -> list[tuple[str, int, Part]]:
    """The raw entries of the smallest shape that are whole numbers: name, place in the flat part, part."""
    found = []
    for name, part in claim.parts(*shapes(claim)[0]).items():
        if part.kind == "whole":
            found += [(name, place, part) for place in range(part.entries)]
    return found


def _scanned(claim: Claim, block: int) -> list[tuple[str, int, Part, int]]:
    """The whole numbers of the smallest shape that no enumeration goes through, and how many blocks each one takes."""
    return [
        (name, place, part, -(-(part.high - part.low + 1) // block))
        for name, place, part in whole_entries(claim)
        if part.high - part.low >= 4
    ]


def scan_blocks(claim: Claim, block: int, most: int) -> int:
    """How many blocks a full scan of every whole number takes, at most `most`."""
    return min(most, sum(blocks for *_, blocks in _scanned(claim, block)))


def scan_batch(claim: Claim, rng: np.random.Generator, number: int, block: int) -> Batch:
    """Block `number` of a scan: one whole number takes each of its values in turn, all else is drawn from corners.

    The values go from the one nearest to zero to the high end, and on from the low end.
    """
    scanned = _scanned(claim, block)
    number %= sum(blocks for *_, blocks in scanned)
    while number >= scanned[0][3]:
        number -= scanned.pop(0)[3]
    name, place, part, _ = scanned[0]
    span = part.high - part.low + 1
    steps = np.arange(number * block, min((number + 1) * block, span))
    values = part.low + (part.anchor - part.low + steps) % span
    shape = shapes(claim)[0]
    arrays = sample(claim.parts(*shape), rng, len(values))
    arrays[name].reshape(len(values), -1)[:, place] = values
    return Batch(*shape, arrays, len(values))
