"""Structured instances of every size that a claim allows: matrices of combinatorics and their like.

A diffuse draw meets a Hadamard matrix, an order of tokens or a permutation of given order at tiny sizes alone. Here
each part is filled with one of the classical patterns, then scaled, set at an offset, tied to and coupled with others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim
from resstream.domains import Part
from resstream.falsify import corners
from resstream.falsify.corners import Shape, Show

BANK = 192
"""Patterns that are made of one shape, for a batch to choose from."""

WORK = 2**19
"""Numbers that a batch makes: larger shapes have fewer instances."""

BATCH = 512
"""Instances of a batch of small shapes."""

LEAST = 16
"""Instances of a batch of the largest shapes; those that would make more work are left out."""

Pattern = Callable[[np.random.Generator, int, int], Array]

Theme = tuple[float, ...]
"""Places in [0, 1) of families in their list; none for all."""


def wide_shape(claim: Claim, rng: np.random.Generator) -> Shape:
    """A shape from the whole of the ranges, smaller sizes likelier, half of the time all alike; of bounded work."""
    ranges = {name: sorted(values) for name, values in claim.size_ranges().items()}
    options = corners.drawn_options(claim, rng)
    together = rng.random() < 0.5
    longest = max((len(values) for values in ranges.values()), default=1)
    levels = {name: rng.random() ** (1.5 if longest > 8 else 1) for name in ranges}
    if together and levels:
        levels = dict.fromkeys(levels, next(iter(levels.values())))
    while True:
        sizes = {name: values[int(levels[name] * len(values))] for name, values in ranges.items()}
        if together and sizes:  # the same number, where the ranges have it
            wanted = next(iter(sizes.values()))
            sizes = {name: wanted if wanted in ranges[name] else size for name, size in sizes.items()}
        shape = claim.nearest_fit(sizes), options
        if work(claim.parts(*shape)) <= WORK // LEAST or max(levels.values(), default=0.0) < 1e-3:
            return shape
        levels = {name: level / 2 for name, level in levels.items()}


def work(parts: Mapping[str, Part]) -> int:
    """About how many numbers an instance makes: those of a square matrix counted as its cube."""
    return sum(part.entries * max(part.shape[-2:]) for part in parts.values())


def affordable(parts: Mapping[str, Part], count: int) -> int:
    """How many of `count` instances make a batch of about the same work at every size."""
    return max(LEAST, min(count, WORK // max(1, work(parts))))


def sweep(claim: Claim, rng: np.random.Generator, size: int, show: Show) -> None:
    """Structured batches of one shape after the other, for `size` evaluations."""
    spent = 0
    while spent < size:
        shape = wide_shape(claim, rng)
        count = min(affordable(claim.parts(*shape), BATCH), size - spent)
        show(structured_batch(claim, shape, rng, count))
        spent += count


def structured_batch(claim: Claim, shape: Shape, rng: np.random.Generator, count: int) -> Batch:
    """A batch of structured instances of one shape."""
    parts = claim.parts(*shape)
    chosen = theme(rng)
    arrays = {name: _filled(part, rng, count, chosen) for name, part in parts.items()}
    return Batch(*shape, corners.bend(parts, arrays, rng, count), count)


def _filled(part: Part, rng: np.random.Generator, count: int, chosen: Theme) -> Array:
    if part.kind == "whole":
        return part.draw(rng, count)
    patterns = bank(rng, part, chosen, min(BANK, count * math.prod(part.shape[:-2])))
    picked = patterns[rng.integers(len(patterns), size=(count, *part.shape[:-2]))]
    dressed = _dressed(rng, picked)
    each = (count, *[1] * len(part.shape))
    return part.settle(np.where(rng.random(each) < 0.15, part.draw(rng, count), dressed))


def theme(rng: np.random.Generator) -> Theme:
    """The families that a batch draws from: all, or one or two, so that several parts are often of the same kind."""
    if rng.random() < 0.4:
        return ()
    return tuple(rng.random(int(rng.integers(1, 3))))


def families(part: Part, chosen: Theme) -> Sequence[Pattern]:
    """The families of a theme that fit a part: weights are mostly the edges of a graph."""
    fitting = GRAPHS if part.kind == "weight" else PATTERNS
    return [fitting[int(place * len(fitting))] for place in chosen] or fitting


def bank(rng: np.random.Generator, part: Part, chosen: Theme, count: int) -> Array:
    """Patterns (count, rows, columns), of every family about as many."""
    rows, columns = part.shape[-2:]
    fitting = families(part, chosen)
    order = rng.permutation(len(fitting))  # of few patterns any family may be the first
    made = [fitting[order[k % len(fitting)]](rng, rows, columns) for k in range(count)]
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), (rows, columns)) for x in made])


def _dressed(rng: np.random.Generator, x: Array) -> Array:
    """Patterns as they are, or with a spread and a common offset of other scales, or with other values."""
    each = (len(x), *[1] * (x.ndim - 1))
    kind = rng.random(each)
    spread = 10.0 ** rng.uniform(-2, 2, each)
    offset = 10.0 ** rng.uniform(0, 4, each) * rng.choice([-1.0, 1.0], each)
    along = rng.random((len(x), *[1] * (x.ndim - 2), x.shape[-1])) < rng.choice([0.5, 1.0], each)
    # Columns of scales of their own, some of them far off: what a softmax makes of those is a pattern of the others.
    of_columns = 10.0 ** (rng.integers(-4, 1, along.shape) * (rng.random(each) < 0.6))
    shifted = spread * of_columns * np.where(rng.random(each) < 0.5, rng.standard_normal(x.shape), x) + offset * along
    mixed = spread * x + 10.0 ** rng.uniform(-3, 1, each) * rng.standard_normal(x.shape)
    return np.select([kind < 0.5, kind < 0.6, kind < 0.88], [x, spread * x, shifted], mixed)


# ---- patterns -----------------------------------------------------------------------------------------------------


def _grid(rows: int, columns: int) -> tuple[Array, Array]:
    return np.arange(rows)[:, None], np.arange(columns)[None, :]


def _values(rng: np.random.Generator, mask: Array) -> Array:
    """A pattern of two values: 0 and 1, -1 and 1, or two small integers."""
    low, high = [(0, 1), (0, 1), (-1, 1), (-1, 1), (1, 0), tuple(rng.integers(-3, 4, 2))][int(rng.integers(6))]
    return np.where(mask, high, low).astype(float)


def _alphabet(rng: np.random.Generator) -> list[int]:
    return [[0, 1], [-1, 1], [-1, 0, 1], [0, 1, 2], [1, 2]][int(rng.integers(5))]


def _characters(_: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    parity = np.vectorize(lambda a, b: int(a & b).bit_count() % 2)(i, j)
    return 1.0 - 2 * parity


def _residues(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """The quadratic residues of an odd modulus as a circulant, with or without a border (Paley, Jacobsthal)."""
    i, j = _grid(rows, columns)
    border = int(rng.random() < 0.5)
    modulus = max(3, (max(rows, columns) - border) | 1)
    squares = {k * k % modulus for k in range(1, modulus)}
    step = (j - i if rng.random() < 0.7 else i + j) % modulus
    x = np.where(step == 0, 0, np.where(np.isin(step, list(squares)), 1, -1)).astype(float)
    if border:
        x = np.roll(np.roll(x, 1, 0), 1, 1)
        x[0, :], x[:, 0] = 1, -1 if rng.random() < 0.5 else 1
        x[0, 0] = 0
    return x + rng.choice([0, 1, -1]) * (i == j)


def _circulant(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    first = rng.choice(_alphabet(rng), columns)
    return first[(j - int(rng.integers(1, 4)) * i) % columns].astype(float)


def _toeplitz(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    values = rng.choice(_alphabet(rng), rows + columns)
    return values[(i + j) if rng.random() < 0.3 else (j - i + rows)].astype(float)


def _tiled(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """A small block again and again, some numbers of another size now and then: alternating rows and their like."""
    i, j = _grid(rows, columns)
    height, width = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    block = rng.choice(_alphabet(rng), (height, width)) * 10.0 ** (
        rng.uniform(-2, 1) * (rng.random((height, width)) < 0.3)
    )
    return block[i % height, j % width]


def _several_out(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Row i leads to k i, ..., k i + k - 1, as in a graph of words (de Bruijn)."""
    i, j = _grid(rows, columns)
    k = int(rng.integers(1, max(2, min(columns, 5))))
    return ((j - k * i) % columns < k).astype(float)


def order(rng: np.random.Generator, n: int) -> Array:
    """A permutation of n: a shift, an affine map, a shuffle, a reversal, cycles of bounded length, or any."""
    kind = int(rng.integers(6))
    i = np.arange(n)
    if kind == 0:
        return (i + int(rng.integers(n))) % n
    if kind == 1:
        factors = [a for a in range(1, n + 1) if math.gcd(a, n) == 1]
        return (int(rng.choice(factors)) * i + int(rng.integers(n))) % n
    if kind == 2:  # the shuffle of k piles, with any pile first
        k = int(rng.integers(2, max(3, n // 2 + 1)))
        piles = [i[start::k] for start in rng.permutation(min(k, n))]
        turned = np.concatenate(piles)
        return turned if rng.random() < 0.5 else np.argsort(turned)
    if kind == 3:
        return i[::-1].copy()
    if kind == 4:
        return _of_cycles(rng, n)
    return rng.permutation(n)


def _of_cycles(rng: np.random.Generator, n: int) -> Array:
    """A permutation whose cycles have one length, short ones likelier, and some points that stay."""
    length = min(n, 1 + int(rng.geometric(0.45)))
    places = rng.permutation(n)
    out = np.arange(n)
    for start in range(0, n - length + 1, length):
        cycle = places[start : start + length]
        if rng.random() < 0.85:
            out[cycle] = np.roll(cycle, 1)
    return out


def _permutation(rng: np.random.Generator, rows: int, columns: int) -> Array:
    n = max(rows, columns)
    return np.eye(n)[order(rng, n)][:rows, :columns]


def _cycles(rng: np.random.Generator, rows: int, columns: int) -> Array:
    n = max(rows, columns)
    return np.eye(n)[_of_cycles(rng, n)][:rows, :columns]


def _permutation_and_more(rng: np.random.Generator, rows: int, columns: int) -> Array:
    x = _permutation(rng, rows, columns) if rng.random() < 0.5 else np.roll(np.eye(rows, columns), 1, 1)
    for _ in range(int(rng.integers(1, 3))):
        x[rng.integers(rows), rng.integers(columns)] += rng.choice([1, 1, 2, -1])
    return x


def _companion(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    x = (j == i + 1).astype(float)
    x[-1] = rng.choice(_alphabet(rng), columns)
    return x


def _nilpotent(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    reach = int(rng.integers(1, max(2, columns)))
    x = np.where((j > i) & (j - i <= reach), rng.choice(_alphabet(rng), (rows, columns)), 0)
    return x.astype(float) if rng.random() < 0.6 else (j == i + reach).astype(float)


def _block(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """A small block in a corner of zeros or of the identity, repeated on the diagonal, or with every entry repeated."""
    height, width = int(rng.integers(1, min(rows, 4) + 1)), int(rng.integers(1, min(columns, 4) + 1))
    small = rng.choice(_alphabet(rng), (height, width)).astype(float)
    if rng.random() < 0.3:
        small = np.array([[1.0, 1], [1, -1]])[:rows, :columns]
        height, width = small.shape
    i, j = _grid(rows, columns)
    kind = int(rng.integers(4))
    if kind < 2:
        x = np.zeros((rows, columns)) if kind else np.eye(rows, columns)
        x[:height, :width] = small
        return x
    if kind == 2:
        return small[i % height, j % width] * (i // height == j // width)
    return small[i * height // rows, j * width // columns]


def _subsets(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """The rows of the incidence of all subsets of one size, in order; or of all subsets."""
    k = int(rng.integers(1, columns + 1))
    found = list(itertools.islice(itertools.combinations(range(columns), k), max(rows, 1)))
    x = np.zeros((rows, columns), dtype=bool)
    for row in range(rows):
        x[row, list(found[row % len(found)])] = True
    if rng.random() < 0.2:
        i, j = _grid(rows, columns)
        x = (i >> np.minimum(j, 30)) & 1 == 1
    return _values(rng, x)


def _orders(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """One column, or every row, has equal steps in some order; the other columns are constant."""
    if rng.random() < 0.6:
        x = np.zeros((rows, columns))
        for column in range(columns):
            if column == 0 or rng.random() < 0.3:
                x[:, column] = rng.integers(0, rows + 1, rows) if rng.random() < 0.4 else order(rng, rows)
        return x[:, rng.permutation(columns)]
    return np.stack([order(rng, columns) for _ in range(rows)]).astype(float)


def _outlier(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """All alike, but for one entry, row or column."""
    x = np.full((rows, columns), float(rng.choice([0, 1, 1, -1])))
    value = float(rng.choice([0, 2, -1, 3, 10, -columns, columns, rows, 0.5]))
    row, column = int(rng.integers(rows)), int(rng.integers(columns))
    place: tuple[int | slice, int | slice] = [(row, column), (row, slice(None)), (slice(None), column)][
        int(rng.integers(3))
    ]  # type: ignore[assignment]
    x[place] = value
    return x


def _progression(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    ratio = float(rng.choice([0.5, 2.0, -1.0, 3.0, 0.1, 10.0]))
    limit = 300 / max(1.0, abs(math.log10(abs(ratio))) * (rows + columns + 1) + 1)
    kind = int(rng.integers(7))
    powers = np.minimum(i + j, limit * 10)
    return [
        i + j + 1.0 + 0 * i,
        (i + 1.0) * (j + 1),
        ratio ** np.minimum(j + 0 * i, powers),
        ratio ** np.minimum(i + 0 * j, powers),
        (np.linspace(-1, 1, rows)[:, None] if rng.random() < 0.5 else i + 1.0) ** np.minimum(j, 40),
        1.0 / (i + j + 1),
        1.0 * ((i * j) % max(2, columns)),
    ][kind]


def _centred(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    n = max(rows, columns)
    return float(rng.choice([n, 2, 1])) * (i == j) - 1.0


def _waves(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    period = float(rng.choice([rows, columns, 2 * rows, 2 * columns, rows + 1]))
    turn = 2 * np.pi * i * (j + 1 if rng.random() < 0.5 else (j // 2 + 1)) / period
    return np.where(j % 2 == 0, np.cos(turn), np.sin(turn)) if rng.random() < 0.5 else np.cos(turn)


def _two_values(rng: np.random.Generator, rows: int, columns: int) -> Array:
    density = rng.random((rows, 1)) if rng.random() < 0.5 else rng.random()
    return _values(rng, rng.random((rows, columns)) < density)


def _letters(rng: np.random.Generator, rows: int, columns: int) -> Array:
    x = rng.choice(_alphabet(rng), (rows, columns)).astype(float)
    if rng.random() < 0.3 and rows == columns:
        x = np.where(np.tri(rows, dtype=bool), x, rng.choice([1, -1]) * x.T)
    return x


def _constant(rng: np.random.Generator, rows: int, columns: int) -> Array:
    i, j = _grid(rows, columns)
    kept = int(rng.integers(1, columns + 1))  # as many entries of each row
    return (j < kept) * 1.0 + 0 * i if rng.random() < 0.5 else (-1.0) ** (i * rng.integers(2) + j)


PATTERNS: tuple[Pattern, ...] = (
    *(_characters, _residues, _circulant, _toeplitz, _several_out, _permutation, _permutation, _permutation_and_more),
    *(_companion, _nilpotent, _block, _subsets, _subsets, _orders, _orders, _outlier, _progression, _centred, _waves),
    *(_two_values, _two_values, _letters, _letters, _constant, _tiled),
)
"""The families, as often as they stand here."""

GRAPHS: tuple[Pattern, ...] = (
    *(_permutation, _permutation, _cycles, _cycles, _cycles, _permutation_and_more, _permutation_and_more),
    *(_several_out, _companion, _circulant, _nilpotent, _block, _two_values, _two_values, _letters, _constant),
    *(_outlier, _progression, _tiled),
)
"""Those of weights, which are mostly the edges of a graph."""
