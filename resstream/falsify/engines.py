"""Where suspects come from: generators of raw instances, each a pure function of (claim, chunk number, seed)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings, target
from hypothesis import strategies as st

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim, Instance
from resstream.domains import Part
from resstream.falsify import corners

LARGEST_BATCH = 2**23
"""Raw numbers of a batch."""


def draw_shape(claim: Claim, rng: np.random.Generator) -> corners.Shape:
    """Sizes and options for a batch, drawn evenly from the claim's ranges."""
    sizes = {name: int(values[rng.integers(len(values))]) for name, values in claim.size_ranges().items()}
    return claim.nearest_fit(sizes), corners.drawn_options(claim, rng)


def random_batch(claim: Claim, rng: np.random.Generator, count: int) -> Batch:
    """A batch of `count` instances of one shape, drawn from each part's mixture."""
    sizes, options = draw_shape(claim, rng)
    parts = claim.parts(sizes, options)
    count = fitting(parts, count)
    return Batch(sizes, options, {name: part.draw(rng, count) for name, part in parts.items()}, count)


def fitting(parts: Mapping[str, Part], count: int) -> int:
    """How many of `count` instances fit into one batch: fewer of large ones."""
    entries = sum(part.entries for part in parts.values())
    return max(1, min(count, LARGEST_BATCH // max(1, entries)))


# ---- Hypothesis -------------------------------------------------------------

NEAR = 64
"""How far whole numbers are drawn by themselves; those farther away are drawn by their digits to this base."""

TIE = 24
"""One in about this many drawn matrices gets tied rows on purpose."""

_ENTRIES = st.one_of(
    st.integers(-3, 3),
    st.integers(-64, 64).map(lambda k: k / 8),
    st.sampled_from([1e-6, -1e-3, 1e3, -1e6]),
)
WholeNumbers = Callable[[int, int], st.SearchStrategy[int]]
"""A strategy for the whole numbers from one to another."""

_WEIGHTS = st.one_of(st.integers(0, 4), st.integers(0, 64).map(lambda k: k / 8), st.sampled_from([1e-6, 1e6]))


@cache  # a strategy made anew is validated anew, which costs more than the draw
def part_values(part: Part, whole: WholeNumbers | None = None) -> st.SearchStrategy[Array]:
    """Raw arrays of a part: small integers and dyadic numbers, at times with tied rows; shrinks towards zeros.

    whole: how whole numbers between two are drawn, where not as `whole_numbers` does.
    """
    elements = _elements(part, whole or whole_numbers)
    count = part.entries

    def tie(flat: list[Any], rows: list[int]) -> Array:
        values = part.settle(np.array(flat, dtype=float).reshape(part.shape))
        for block in values.reshape(math.prod(part.shape[:-2]), *part.shape[-2:]):
            block[:] = block[[row if row < len(block) else k for k, row in enumerate(rows)]]
        return values

    rows = part.shape[-2]
    # An index beyond the matrix leaves a row as it is, so the plain matrix is what ties shrink towards. They are rare:
    # where they abound, claims about generic matrices are hardly tested.
    plain, tied = st.just([rows] * rows), st.lists(st.integers(0, rows - 1), min_size=rows, max_size=rows)
    middle = TIE // 2  # of the range, since Hypothesis draws the ends of one more often
    ties = st.integers(0, TIE).flatmap(lambda k: tied if k == middle else plain)
    return st.builds(tie, st.lists(elements, min_size=count, max_size=count), ties)


def whole_numbers(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers from low to high, all of them, those near to zero often.

    Of wide ranges `st.integers` at times draws a constant that it has read in the source text of the modules that are
    loaded, so that what a seed gives would depend on what was imported before. Here no range is wide.
    """
    nearest, span = min(max(0, low), high), high - low + 1
    near = st.integers(max(low - nearest, -NEAR), min(high - nearest, NEAR)).map(lambda offset: nearest + offset)
    if nearest - low <= NEAR and high - nearest <= NEAR:
        return near

    def placed(negative: bool, digits: list[int]) -> int:
        offset = reduce(lambda value, digit: NEAR * value + digit, digits, 0)
        return low + (nearest - low + (-offset if negative else offset)) % span

    length = math.ceil(span.bit_length() / math.log2(NEAR))
    return near | st.builds(placed, st.booleans(), st.lists(st.integers(0, NEAR - 1), max_size=length))


def _elements(part: Part, whole: WholeNumbers) -> st.SearchStrategy[Any]:
    if part.kind == "whole":
        return whole(part.low, part.high)
    if part.kind == "weight":
        return _WEIGHTS
    if not part.is_bounded:
        return _ENTRIES
    low, high = part.reach(8.0)
    return st.one_of(_ENTRIES, st.integers(0, 64).map(lambda k: low + (high - low) * k / 64))


@st.composite
def instances(draw: st.DrawFn, claim: Claim) -> Instance:
    """Single raw instances of a claim, of all its sizes and options."""
    sizes = {name: draw(st.sampled_from(list(values))) for name, values in claim.size_ranges().items()}
    sizes = claim.nearest_fit(sizes)
    options = {name: draw(st.sampled_from(values)) for name, values in claim.option_values().items()}
    arrays = {name: draw(part_values(part)) for name, part in claim.parts(sizes, options).items()}
    return Instance(sizes, options, arrays)


def hypothesis_instances(claim: Claim, count: int, seed_value: int, score: Callable[[Batch], float]) -> None:
    """Show `count` Hypothesis-drawn instances (batches of one) to `score`, and steer Hypothesis towards low scores.

    What is shown depends on the seed alone. What `score` raises ends the run and is passed on.
    """

    def show(raw: Instance) -> None:
        value = score(raw.batch())
        if value != 0:  # a trivial tie is no summit: climbing to one would end the search there
            target(-value)

    show.__name__ = "_" + re.sub(r"\W", "_", claim.id)  # by which records of observability call it, outside of pytest
    limits = settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        derandomize=False,  # these two whatever the profile says, which is another one on CI
        backend="hypothesis",
    )
    seed(seed_value)(limits(given(instances(claim))(show)))()
