"""Positions inside the scores: rotary pairs in either convention, and ALiBi's slopes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from resstream.arithmetic import Array, constant, cos, exact, exp, log, ones, sin, zeros
from resstream.errors import DomainError, ShapeError
from resstream.reference.attention import LONGEST
from resstream.reference.checks import (
    in_range,
    keep,
    require_choice,
    require_entry,
    require_instance,
    require_like,
    require_matrix,
    require_shape,
    require_whole,
)
from resstream.reference.rotary import MOST, Rotation

ADJACENT, HALVES = "adjacent", "halves"
"""How the columns of a head are paired: (2i, 2i + 1), or (i, i + r/2) with r the columns that turn."""


@dataclass(frozen=True, eq=False)
class RotaryPositions:
    """Rotary positions of a model: the first `width` columns of queries and keys turn, the others stay.

    pairs: "adjacent" or "halves". base: that of the frequencies base^(-2i/width). factors: one number for each pair
    that its frequency is multiplied by (1, width/2), None for ones. An odd width, and another name, raise.
    Source: Su et al., RoFormer (2021), equation 15; the halves are the convention of GPT-NeoX and of `transformers`.
    """

    width: int
    base: int | float = 10_000
    pairs: str = HALVES
    factors: Array | None = None

    def __post_init__(self) -> None:
        require_choice("pairs", self.pairs, (ADJACENT, HALVES))
        if require_whole("width", self.width, 2, MOST) % 2:
            raise ShapeError(f"width: expected an even number of columns of at least 2, got {self.width}")
        if isinstance(self.base, bool) or not isinstance(self.base, (int, float)) or not 0 < self.base <= MOST:
            raise DomainError(f"base: expected a positive number of at most {MOST}, got {str(self.base)[:40]}")
        if self.factors is not None:
            keep(self, {"factors": require_shape("factors", self.factors, (1, self.width // 2))})

    def rotation(self, n: int, like: Array) -> Rotation:
        """Cosines and sines of positions 0..n-1, (n, width/2), in the number system of `like`."""
        n, like = require_whole("n", n, 1, LONGEST), require_like("like", like)
        pairs = _entries(np.arange(0, self.width, 2)[None, :], like)
        base = constant(Fraction(self.base), like) * ones((1, 1), like)
        frequencies = exp(exact(-1, self.width) * pairs * log(base))
        if self.factors is not None:
            frequencies = frequencies * self.factors
        angles = _entries(np.arange(n)[:, None], like) * frequencies
        return Rotation(cos(angles), sin(angles))

    def turn(self, X: Array, rotation: Rotation) -> Array:
        """Queries or keys (..., n, h) with their pairs turned: (..., n, h); a narrower h raises ShapeError."""
        X = require_matrix("X", X)
        require_instance("rotation", rotation, Rotation)
        if X.shape[-1] < self.width:
            raise ShapeError(f"X: expected at least the {self.width} columns that turn, got shape {X.shape}")
        if rotation.cosines.shape[-1] != self.width // 2 or rotation.cosines.shape[-2] not in (1, X.shape[-2]):
            expected = f"(..., {X.shape[-2]}, {self.width // 2})"
            raise ShapeError(f"rotation: expected cosines {expected} for X, got {rotation.cosines.shape}")
        turning, staying = X[..., : self.width], X[..., self.width :]
        if self.pairs == ADJACENT:
            turned = rotation.turn(turning)
        else:
            half = self.width // 2
            first, second = turning[..., :half], turning[..., half:]
            turned = np.concatenate(
                [
                    first * rotation.cosines - second * rotation.sines,
                    first * rotation.sines + second * rotation.cosines,
                ],
                axis=-1,
            )
        return np.concatenate([turned, staying], axis=-1)


def halves_to_adjacent(width: int, turning: int | None = None) -> Array:
    """The order of columns that makes one pair convention the other: integers (width,).

    `W[..., halves_to_adjacent(h)]` applied to the query and the key map of a head with halves gives the same scores
    with adjacent pairs. turning: how many of the first columns turn, all by default.
    """
    width = require_whole("width", width, 1, LONGEST)
    turning = width if turning is None else require_whole("turning", turning, 0, width)
    if turning % 2:
        raise ShapeError(f"turning: expected an even number of columns, got {turning}")
    first = np.arange(turning // 2)
    return np.concatenate([np.stack([first, first + turning // 2], axis=-1).reshape(-1), np.arange(turning, width)])


def alibi_slopes(heads: int) -> list[float]:
    """The slope of every head: 2^(-8k/m) for the largest power of two m <= heads, then every other one of 2m's.

    Source: Press, Smith and Lewis, Train Short, Test Long (2021), section 3 and its published code.

    >>> alibi_slopes(8)[:3]
    [0.5, 0.25, 0.125]
    """
    heads = require_whole("heads", heads, 1, LONGEST)
    power = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * k / power) for k in range(1, power + 1)]
    between = [2.0 ** (-8 * k / (2 * power)) for k in range(1, 2 * power, 2)]
    return [*slopes, *between[: heads - power]]


@in_range
def alibi_bias(slopes: Array, n: int) -> Array:
    """What ALiBi adds to the scores of every head: slopes (H, 1, 1) -> (H, 1, n), the slope times the key's position.

    A row's softmax is the same for this and for minus the slope times the distance, its printed form.
    """
    slopes = require_entry("slopes", slopes)
    n = require_whole("n", n, 1, LONGEST)
    return slopes * _entries(np.arange(n)[None, :], slopes)


def _entries(integers: Array, like: Array) -> Array:
    return zeros((1, 1), like) + (integers if like.dtype != object else integers.astype(object))
