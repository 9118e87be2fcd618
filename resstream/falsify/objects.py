"""Objects that somebody gives a claim: read as the exact numbers that they are, fitted into domains, or taken as balls.

Where a domain asks for exactness that rounding broke (rows that sum to 1 - 3e-8) the object is projected: its rows are
divided by their sums, in rationals, and the distance is reported. Or every number given stands for a ball, of the
rounding of its floats or of a radius of one's own, and the object for all members of its domain inside. Rows further
from one than rounding can be (`resstream.foreign.furthest_sum`) are refused either way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import RATIONAL, Array, BallEntry
from resstream.arithmetic.entries import entries_of
from resstream.claim import Claim
from resstream.domains import Count, Domain, Options, Part, Parts, RowStochastic, Sizes, Stack
from resstream.domains import Norm as NormDomain
from resstream.errors import ArithmeticLimit, DomainError
from resstream.foreign import FURTHEST_SUM, ROUNDINGS, as_numbers, furthest_sum, radii_of_rounding, rounding
from resstream.reference.norms import Norm

# ---- domains of one object, and of what is near it --------------------------


@dataclass(frozen=True)
class Exactly(Domain):
    """One object of another domain: its numbers are the raw arrays, and building puts them into their places."""

    inner: Domain
    template: Any = dataclasses.field(compare=False, repr=False)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {path: Part(array.shape) for path, array in arrays_in(self.template).items()}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return with_arrays(self.template, raw)

    def __str__(self) -> str:
        return f"one member of {self.inner}"


def arrays_in(value: Any, path: str = "") -> dict[str, Array]:
    """The arrays inside an object by the path to them: lists by number, dataclasses by field, "" for an array."""
    if isinstance(value, np.ndarray):
        return {path: value}
    found: dict[str, Array] = {}
    for name, inner in _inner(value):
        found |= arrays_in(inner, f"{path}.{name}" if path else name)
    return found


def with_arrays(value: Any, arrays: Mapping[str, Array], path: str = "") -> Any:
    """The same object with other arrays, by the path to them."""
    if isinstance(value, np.ndarray):
        return arrays[path]
    made = {name: with_arrays(inner, arrays, f"{path}.{name}" if path else name) for name, inner in _inner(value)}
    if isinstance(value, list | tuple):
        return type(value)(made.values())
    return dataclasses.replace(value, **made) if made else value


def _inner(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        return [(str(place), inner) for place, inner in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        return [
            (entry.name, inner)
            for entry in fields(value)
            if isinstance(inner := getattr(value, entry.name), np.ndarray | list | tuple)
        ]
    return []


@dataclass(frozen=True)
class Near(Exactly):
    """What is within some radii of one object, entry by entry, and in another domain: balls, which no rational is."""

    radii: Mapping[str, Array] = dataclasses.field(compare=False, repr=False)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        middles = arrays_in(self.template)
        balls = {path: _balls(array, middles[path], self.radii[path]) for path, array in raw.items()}
        return super().build(balls, options, sizes)

    def __str__(self) -> str:
        return f"members of {self.inner} in a ball"


def _balls(entries: Array, middles: Array, radii: Array) -> Array:
    """The entries widened by their radii; an entry that cannot be below zero says so."""
    if not radii.any():
        return entries
    made = []
    for entry, middle, radius in zip(entries.flat, middles.flat, radii.flat, strict=True):
        if not isinstance(entry, BallEntry):
            raise ArithmeticLimit("a ball of numbers has no reading in rationals")
        width = arb(fmpq(radius.numerator, radius.denominator))
        made.append(BallEntry(entry.value + arb(0, width), Fraction(middle) >= radius))
    return entries_of(made, entries.shape)


# ---- objects as they are given ----------------------------------------------


def taken(name: str, domain: Domain, value: Any) -> Any:
    """An object as somebody gave it, with its arrays as exact numbers and two axes."""
    if isinstance(domain, NormDomain):
        if isinstance(value, str) and value in domain.options()["kind"]:
            return Norm(value)
        if isinstance(value, Norm):
            return value
        raise DomainError(f"{name}: expected a norm, one of {', '.join(domain.options()['kind'])}, got {value!r:.40}")
    if isinstance(domain, Count):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise DomainError(f"{name}: expected a whole number of at least 0, got {value!r:.40}")
        return int(value)
    if isinstance(domain, Stack):
        if isinstance(value, str | bytes) or not hasattr(value, "__len__") or not len(value):
            raise DomainError(f"{name}: expected a list of some objects of {domain.inner}, got {type(value).__name__}")
        return [taken(f"{name}[{place}]", domain.inner, inner) for place, inner in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        arrays = {path: as_numbers(array, f"{name}.{path}") for path, array in arrays_in(value).items()}
        return with_arrays(value, arrays)
    if isinstance(value, list | tuple) and any(is_dataclass(inner) for inner in value):
        return [taken(f"{name}[{place}]", domain, inner) for place, inner in enumerate(value)]
    array = as_numbers(value, name)
    if array.ndim < 2:
        array = array.reshape(1, -1)
    if array.ndim != 2 or not array.size:
        raise DomainError(f"{name}: expected one object with two axes (rows, columns), got shape {array.shape}")
    return array


def sizes_of(claim: Claim, objects: Mapping[str, Any], given: Mapping[str, int]) -> dict[str, int]:
    """The number that each size stands for, by the shapes of the objects; ones that disagree raise DomainError."""
    sizes = dict(given)
    for name, value in objects.items():
        _meet(name, claim.over[name], value, sizes)
    missing = [size for size in claim.size_ranges() if size not in sizes]
    if missing:
        raise DomainError(f"sizes: no object tells {', '.join(missing)}: give sizes={{{missing[0]!r}: ...}}")
    return {size: sizes[size] for size in claim.size_ranges()}


def _meet(name: str, domain: Domain, value: Any, sizes: dict[str, int]) -> None:
    def settle(size: Any, number: int) -> None:
        known = sizes.setdefault(size, number) if isinstance(size, str) else size
        if known is not None and known != number:
            raise DomainError(f"{name}: has {number} where {domain} has {size}, which is {known} elsewhere")

    given = vars(domain)
    if isinstance(domain, Stack):
        settle(domain.length, len(value))
        for place, inner in enumerate(value):
            _meet(f"{name}[{place}]", domain.inner, inner, sizes)
    elif isinstance(domain, Count):
        settle(domain.size, value)
    elif isinstance(value, np.ndarray):
        rows = given.get("rows", given.get("length", given.get("size")))
        columns = given.get("columns", given.get("vocabulary")) or rows
        if type(domain).__name__ == "NonConstant":
            rows, columns = given.get("rows", 1), given["size"]
        elif type(domain).__name__ in ("Scalar", "Whole"):
            rows, columns = given.get("rows", 1), 1
        settle(rows, value.shape[0])
        settle(columns, value.shape[1])


@dataclass(frozen=True)
class Taken:
    """How one object was taken: the object, how far it was moved into its domain, and the balls about it, if any."""

    middle: Any
    distance: Fraction = Fraction(0)
    """Largest l1 distance that a row was moved: 0 where the object was in its domain as given."""
    radii: Mapping[str, Array] | None = None
    """Of every entry of every array; None for a point."""
    kind: str = ""
    """What the radii are: rounding of a kind of floats, or a radius of one's own."""

    @property
    def radius(self) -> Fraction:
        """The largest radius; 0 for a point."""
        return max((max(radii.flat) for radii in (self.radii or {}).values()), default=Fraction(0))

    @property
    def note(self) -> str:
        """In words; empty for an object taken as it was given."""
        if self.radius:
            sums = f"; rows summed to one within {_up(self.distance)}" if self.distance else ""
            return f"every member of its domain whose entries are within {_up(self.radius)} ({self.kind}){sums}"
        if self.distance:
            return f"rows divided by their sums, exactly; no row moved by more than {_up(self.distance)} in l1"
        return ""

    def domain(self, inner: Domain) -> Exactly:
        """What the claim is judged on, in place of the domain that it names."""
        return Exactly(inner, self.middle) if self.radii is None else Near(inner, self.middle, self.radii)


def _up(number: Fraction) -> str:
    """Three digits, not below the number."""
    shown = f"{float(number):.3g}"
    return shown if float(shown) >= float(number) else f"{float(number) * 1.005:.3g}"


ROUNDING = "rounding"
"""The radius that stands for the rounding of the floats that the numbers were given in."""

Radius = float | Fraction | str | None


def fitted(name: str, domain: Domain, value: Any, given: Any, sizes: Sizes, around: Radius) -> Taken:
    """An object as a point of its domain, or as the members of it in a ball; DomainError where it is in neither.

    value: the object as exact numbers (`taken`), given: as it came. A ball is about the numbers given, and wide enough
    to hold the point that they are projected to: it has a member.
    """
    if isinstance(domain, Stack):
        one_by_one = [
            fitted(f"{name}[{place}]", domain.inner, one, given[place], sizes, around)
            for place, one in enumerate(value)
        ]
        return _stacked(one_by_one)
    middle, distance = value, Fraction(0)
    if isinstance(domain, RowStochastic):
        middle, distance = _projected(name, domain, value, rounding(given), sizes)
    try:
        inside = domain.contains(_in_rationals(middle), sizes)
    except NotImplementedError as unknown:
        raise DomainError(f"{name}: {unknown}, so it cannot be given") from None
    if not inside:
        raise DomainError(f"{name}: the object given is not in {domain}")
    if around is None:
        return Taken(middle, distance)
    if isinstance(domain, NormDomain):  # which says how lengths are measured, and is no measured number
        return Taken(middle, distance, {path: _zeros(array) for path, array in arrays_in(middle).items()})
    return _ball(domain, value, middle, distance, given, sizes, around)


def _ball(
    domain: Domain, value: Any, middle: Any, distance: Fraction, given: Any, sizes: Sizes, around: Radius
) -> Taken:
    sources, members = arrays_in(given) if is_dataclass(given) else {"": given}, arrays_in(middle)
    radii: dict[str, Array] = {}
    for path, array in arrays_in(value).items():
        if around == ROUNDING:
            own = radii_of_rounding(sources.get(path, array), array)
        else:
            own = np.full(array.shape, Fraction(around), dtype=object)  # type: ignore[arg-type]
        if isinstance(domain, RowStochastic):
            own[~domain.allowed(sizes)] = Fraction(0)
        moved = [abs(Fraction(a) - Fraction(b)) for a, b in zip(array.flat, members[path].flat, strict=True)]
        radii[path] = own + np.array([*moved, None], dtype=object)[:-1].reshape(array.shape)
    kind = "the rounding of their floats" if around == ROUNDING else f"{float(around):g} asked for"  # type: ignore[arg-type]
    return Taken(value, distance, radii, kind)


def _zeros(array: Array) -> Array:
    return np.full(array.shape, Fraction(0), dtype=object)


def _stacked(found: list[Taken]) -> Taken:
    radii = None
    if all(one.radii is not None for one in found):
        radii = {
            f"{place}.{path}" if path else str(place): array
            for place, one in enumerate(found)
            for path, array in (one.radii or {}).items()
        }
    kind = next((one.kind for one in found if one.kind), "")
    return Taken([one.middle for one in found], max(one.distance for one in found), radii, kind)


def _in_rationals(value: Any) -> Any:
    return with_arrays(value, {path: RATIONAL.array(array) for path, array in arrays_in(value).items()})


def _projected(name: str, domain: RowStochastic, A: Array, epsilon: float, sizes: Sizes) -> tuple[Array, Fraction]:
    """The rows over their sums, and the largest l1 distance of one; the array itself where there is nothing to do."""
    exact = np.empty(A.shape, dtype=object)
    for place, entry in np.ndenumerate(A):
        exact[place] = Fraction(entry)
    allowed = domain.allowed(sizes)
    forbidden: Array = (A != 0) & ~allowed if A.shape == allowed.shape else np.zeros((0, 2), dtype=bool)
    if forbidden.any():
        at_row, at_column = (int(place) for place in np.argwhere(forbidden)[0])
        got = float(A[at_row, at_column])
        raise DomainError(f"{name}: expected 0 at [{at_row}, {at_column}] in {domain}, got {got}")
    bound = furthest_sum(epsilon, A.shape[1])
    furthest = Fraction(0)
    for index, row in enumerate(exact):
        if min(row) < 0:
            column = int(np.argmin(row))
            raise DomainError(
                f"{name}: expected entries of at least 0, got {float(row[column])} at [{index}, {column}]"
            )
        total = sum(row)
        if abs(total - 1) > bound:
            raise DomainError(
                f"{name}: row {index} sums to {float(total):.12g}, which is not 1 within {float(bound):.3g}: "
                f"{ROUNDINGS} roundings an entry of the numbers given, and never more than {float(FURTHEST_SUM):g}"
            )
        moved = row / total
        furthest = max(furthest, sum(abs(row - moved)))
        exact[index] = moved
    return (exact, furthest) if furthest else (A, furthest)
