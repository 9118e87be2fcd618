"""The task that takes two heads: random blocks of symbols, repeated, where the next symbol can be copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Self

import numpy as np

from resstream.arithmetic import Array
from resstream.induction.settings import Settings


class Stream(IntEnum):
    """Separate streams of random numbers, so that changing what one draws leaves the others as they were."""

    WEIGHTS = 0
    TRAINING = 1
    TEST = 2


def generator(seed: int, stream: Stream, part: int = 0) -> np.random.Generator:
    """The random numbers of one part (a training step, say) of one stream."""
    return np.random.default_rng([seed, int(stream), part])


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences of symbols: inputs and targets (B, n) of integers; which positions are scored, (B, n) of booleans."""

    inputs: Array
    targets: Array
    scored: Array

    def __len__(self) -> int:
        return len(self.inputs)

    def parts(self, size: int) -> Iterator[Self]:
        """The sequences in batches of at most `size`."""
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield type(self)(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True, eq=False)
class RepeatedBlocks(Batch):
    """Sequences that repeat a block: input i is block[i mod p], scored from i = p on. Periods p are (B, 1) integers."""

    periods: Array


def repeated_blocks(random: np.random.Generator, count: int, settings: Settings) -> RepeatedBlocks:
    """Draw sequences: uniform symbols in a block of a uniform period, repeated to one symbol more than the length.

    From input p on the next symbol is predictable: symbol p - 1 is the last of the first block, and only from the next
    one on has the current symbol occurred before. Source: Induction heads of "The Transformer Block and the Residual
    Stream".
    """
    periods = random.integers(settings.shortest_period, settings.longest_period + 1, (count, 1))
    blocks = random.integers(settings.symbols, size=(count, settings.longest_period))
    places = np.arange(settings.length + 1)
    sequences = np.take_along_axis(blocks, places % periods, axis=1)
    return RepeatedBlocks(sequences[:, :-1], sequences[:, 1:], places[:-1] >= periods, periods)


def training_blocks(settings: Settings, step: int) -> RepeatedBlocks:
    """The fresh sequences of one training step."""
    return repeated_blocks(generator(settings.seed, Stream.TRAINING, step), settings.batch, settings)


def held_out_blocks(settings: Settings) -> RepeatedBlocks:
    """The test sequences, the same for every training seed."""
    return repeated_blocks(generator(settings.test_seed, Stream.TEST), settings.test_sequences, settings)
