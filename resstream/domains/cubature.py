"""Means over laws in float64, for large batches: weighted sums of a function's values at points.

The weights are exact (but for rounding) for the monomials that the function was seen to have. Polynomial entries go
through a batch instance by instance in Python; this goes through a few hundred points, and each by NumPy. Floats only
look for suspects, so nothing rests on it; where two sets of points disagree it gives no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.arithmetic.polynomials import Monomial
from resstream.domains.base import Sizes
from resstream.domains.laws import Law

WORTH_IT = 64
"""Instances of a batch from which this is faster."""

MOST = 400
"""Monomials for which weights are looked for."""

SPARE = 8
AGREEMENT = 1e-6
"""Of the sum of all absolute terms: by how much two sets of points may differ."""


@dataclass(frozen=True)
class Rule:
    """Points, an array (N, n, d) for each law, and the weights of their two halves."""

    points: Sequence[Array]
    weights: tuple[Array, Array]

    def mean(self, function: Callable[..., Array]) -> Array | None:
        """The mean of a function of the laws' objects; None where the two halves disagree."""
        half = len(self.weights[0])
        found = []
        for start, weights in zip((0, half), self.weights, strict=True):
            total: Any = 0.0
            scale: Any = 0.0
            for number, weight in enumerate(weights, start):
                value = weight * function(*(raw[number] for raw in self.points))
                total, scale = total + value, scale + np.abs(value)
            found.append((total, scale))
        (first, scale), (second, _) = found
        return first if np.all(np.abs(first - second) <= AGREEMENT * scale) else None


_rules: dict[Hashable, Rule | None] = {}


def known(function: Callable[..., Array], laws: Sequence[Law], sizes: Sizes) -> Rule | None:
    """The rule that was made for a function of laws."""
    return _rules.get(_key(function, laws, sizes))


def learn(
    function: Callable[..., Array],
    laws: Sequence[Law],
    sizes: Sizes,
    monomials: Iterable[Monomial],
    moment: Callable[[Monomial], float],
) -> None:
    """Make the rule of a function, by the monomials that it has, unless there is one."""
    key = _key(function, laws, sizes)
    if key is None or key in _rules:
        return
    chosen = sorted(set(monomials))
    if len(_rules) >= MOST:
        _rules.clear()
    _rules[key] = _rule(laws, sizes, chosen, moment) if len(chosen) <= MOST else None


def _rule(
    laws: Sequence[Law], sizes: Sizes, monomials: Sequence[Monomial], moment: Callable[[Monomial], float]
) -> Rule:
    rng, half = np.random.default_rng(0), len(monomials) + SPARE
    points = [law.build(law.draw(rng, 2 * half, sizes)) for law in laws]
    numbers = np.concatenate([raw.reshape(2 * half, -1) for raw in points], axis=1)
    values = np.ones((len(monomials), 2 * half))
    for row, monomial in zip(values, monomials, strict=True):
        for unknown, power in monomial:
            row *= numbers[:, unknown] ** power
    means = np.array([moment(monomial) for monomial in monomials])
    weights = [np.linalg.lstsq(values[:, part], means)[0] for part in (slice(0, half), slice(half, None))]
    return Rule(points, (weights[0], weights[1]))


def _key(function: Callable[..., Array], laws: Sequence[Law], sizes: Sizes) -> Hashable:
    """What tells functions with other monomials apart, as far as that can be seen; None where it cannot."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    fixed = [*(function.__defaults__ or ()), *cells]
    numbers = tuple(one for one in fixed if isinstance(one, (bool, int, str)))
    return code, numbers, tuple(laws), tuple(sorted(sizes.items()))


__all__ = ["WORTH_IT", "Rule", "known", "learn"]
