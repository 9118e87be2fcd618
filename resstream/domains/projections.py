"""Members near matrices that rounding left outside a domain: exact, in rational entries, and which conditions were
missed by how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, RATIONAL, Array, absolute, eye, total, where
from resstream.domains.base import Condition, Projected
from resstream.errors import DomainError


def require_nonnegative(x: Array) -> None:
    """DomainError for an entry below 0, which no rounding makes of a weight."""
    below = x < 0
    if below.any():
        at = np.argwhere(below)[0]
        raise DomainError(f"expected entries of at least 0, got {float(FLOAT64.array(x)[tuple(at)])} at {_at(at)}")


def require_allowed(x: Array, allowed: Array, domain: object) -> None:
    """DomainError for an entry other than 0 where a mask has none."""
    forbidden = (x != 0) & ~allowed
    if forbidden.any():
        at = np.argwhere(forbidden)[0]
        raise DomainError(f"expected 0 at {_at(at)} in {domain}, got {float(FLOAT64.array(x)[tuple(at)])}")


def _at(place: Array) -> str:
    return f"[{', '.join(str(int(index)) for index in place)}]"


def sums(x: Array, rows: str = "row") -> Iterator[Condition]:
    """The condition of each row that it sums to 1."""
    for place, value in enumerate(total(x).flat):
        yield Condition(f"{rows} {place} sums to", value, 1, x.shape[-1])


def of_row_sums(x: Array) -> Projected:
    """Rows of weights over their sums; one that sums to 0, of which there is no such thing, as it is."""
    weight = total(x)
    return Projected(x / where(weight == 0, 1, weight), "rows divided by their sums, exactly", [*sums(x)])


def balanced(x: Array) -> Projected:
    """The nearest matrix with rows and columns that sum to 1, and as much of the uniform one as leaves none below 0."""
    n = x.shape[-1]
    missed = [*sums(x), *sums(x.mT, "column")]
    rows, columns = 1 - total(x), 1 - total(x, -2)
    near = x + rows / n + columns / n - total(columns) / n**2
    least = min(near.flat)
    if least < 0:
        share = -n * least / (1 - n * least)  # (1 - share) least + share / n = 0
        near = (1 - share) * near + share / n
    return Projected(near, "rows and columns moved to sums of 1, exactly", missed)


def mirrored(x: Array) -> Projected:
    """The mean of a square matrix and its transpose."""
    scale = _largest(x)
    missed = [
        Condition(f"entry [{i}, {j}] less entry [{j}, {i}] is", x[i, j] - x[j, i], 0, len(x), scale)
        for i in range(len(x))
        for j in range(i)
    ]
    return Projected((x + x.mT) / 2, "entries made the means of those across the diagonal, exactly", missed)


def _largest(x: Array) -> Any:
    return max(absolute(x).flat)


def lifted(x: Array, is_semidefinite: Callable[[Array], bool]) -> Projected:
    """A symmetric matrix plus a multiple of the identity that leaves no eigenvalue below 0."""
    even = mirrored(x)
    lowest = float(np.linalg.eigvalsh(FLOAT64.array(even.member)).min())
    lift = max(-lowest, 0.0) or float(np.finfo(float).tiny)
    while not is_semidefinite(member := even.member + RATIONAL.array([[lift]]) * eye(len(x), x)):
        lift *= 2
    missed = Condition("an eigenvalue is as low as", RATIONAL.array([-lift])[0], 0, len(x), _largest(x))
    return Projected(
        member, f"{even.how}, and the diagonal raised until no eigenvalue is below 0", [*even.missed, missed]
    )


def on_the_sphere(x: Array, inside: bool = False) -> Projected:
    """Rows moved to length 1 on a line through a pole opposite to them; inside: only those that are longer."""
    lengths = total(x * x)
    missed = [
        Condition(f"row {place} has the squared length", value, 1, x.shape[-1])
        for place, value in enumerate(lengths.flat)
    ]
    rows = []
    for row, length in zip(x, lengths[:, 0], strict=True):
        if length == 1 or (inside and length <= 1):
            rows.append(row)
            continue
        place = int(np.argmax(absolute(row)))
        pole = -eye(len(row), x)[place] if row[place] > 0 else eye(len(row), x)[place]
        line = row - pole
        rows.append(pole - 2 * (pole * line).sum() / (line * line).sum() * line)
    missed = [one for one in missed if one.value > 1] if inside else missed
    return Projected(np.stack(rows), "rows moved to the length 1, exactly", missed)


_DIGITS = 52
"""Bits after the point of the vectors that a matrix is made orthogonal by."""


def orthonormal(x: Array) -> Projected:
    """A product of as many reflections in rational vectors as there are columns, those of Householder's triangle.

    Over one denominator throughout, as its numbers have some hundred digits a column.
    """
    d, columns = x.shape
    products = x.mT @ x
    missed = [
        Condition(f"columns {j} and {i} have the product" if j < i else f"column {i} has the squared length",
                  products[j, i], int(i == j), d)
        for i in range(columns) for j in range(i + 1)
    ]  # fmt: skip
    left, vectors, signs = FLOAT64.array(x).copy(), [], []
    for k in range(columns):
        v = np.concatenate([np.zeros(k), left[k:, k]])
        sign = -1.0 if v[k] < 0 else 1.0
        v[k] += sign * np.linalg.norm(v)
        v = np.rint(np.ldexp(v, _DIGITS))
        if v.any():
            left = left - 2 * np.outer(v, v @ left) / (v @ v)
        signs.append(-int(sign) if v.any() else 1)
        vectors.append([int(entry) for entry in v])
    numerators = np.array([[signs[j] * (i == j) for j in range(columns)] for i in range(d)], dtype=object)
    denominator = 1
    for vector in reversed(vectors):
        v = np.array(vector, dtype=object)
        length = int(v @ v)
        if length:
            numerators = length * numerators - 2 * np.outer(v, v @ numerators)
            denominator *= length
    exact = np.empty((d, columns), dtype=object)
    for place, numerator in np.ndenumerate(numerators):
        exact[place] = Fraction(numerator, denominator)
    return Projected(RATIONAL.array(exact), "replaced by a product of rational reflections near it", missed)


def of_low_rank(x: Array, rank: int) -> Projected:
    """What elimination by the largest entries, as many as the rank, has taken from a matrix."""
    rest, scale = x.copy(), _largest(x)
    for _ in range(rank):
        row, column = np.unravel_index(int(np.argmax(absolute(rest))), rest.shape)
        if rest[row, column] == 0:
            break
        rest = rest - np.outer(rest[:, column], rest[row]) / rest[row, column]
    missed = [
        Condition(f"{rank} steps of elimination leave at {list(place)}", value, 0, max(x.shape), scale)
        for place, value in np.ndenumerate(rest)
    ]
    return Projected(x - rest, f"what is left after {rank} steps of elimination taken away", missed)
