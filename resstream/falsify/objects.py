"""Objects that somebody gives a claim: read as the exact numbers that they are, fitted into domains, or taken as balls.

Where a domain asks for exactness that rounding broke (rows that sum to 1 - 3e-8) the object is projected, as the domain
says: its rows are divided by their sums, in rationals, and the distance is reported. Or every number given stands for a
ball, of the rounding of its floats or of a radius of one's own, and the object for all members of its domain inside.
What misses a condition by more than rounding can (`resstream.foreign.furthest_sum`) is refused either way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from resstream.arithmetic import RATIONAL, Array, BallEntry, to_fraction
from resstream.arithmetic.entries import entries_of
from resstream.arithmetic.rationals import exact_value
from resstream.claim import Claim
from resstream.domains import Count, Domain, Options, Pair, Part, Parts, Product, Sizes, Stack
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


@dataclass(frozen=True)
class Drawn:
    """An object by the raw arrays and options that its domain builds it from, in whatever number system it is read."""

    raw: Mapping[str, Array]
    options: Options


def taken(name: str, domain: Domain, value: Any) -> Any:
    """An object as somebody gave it, with its arrays as exact numbers and two axes."""
    if isinstance(value, Drawn):
        return value
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
    if (several := _several(domain)) is not None:
        if not isinstance(value, list | tuple) or len(value) != len(several):
            got = f"{len(value)} of them" if isinstance(value, list | tuple) else type(value).__name__
            of_each = ", ".join(map(str, several))
            raise DomainError(f"{name}: expected a tuple of one object of each of {of_each}, got {got}")
        return tuple(taken(f"{name}[{place}]", *pair) for place, pair in enumerate(zip(several, value, strict=True)))
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
        if not isinstance(value, Drawn):
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

    if isinstance(domain, Stack):
        settle(domain.length, len(value))
    for place, inner in enumerate(_inside(domain, value)):
        _meet(f"{name}[{place}]", *inner, sizes)
    if isinstance(domain, Count):
        settle(domain.size, value)
    elif isinstance(value, np.ndarray) and (shape := domain.shape()) is not None:
        for size, length in zip(shape, value.shape, strict=True):
            settle(size, length)


def _several(domain: Domain) -> list[Domain] | None:
    """The domains of what is a tuple of one object of each; None for other domains."""
    if isinstance(domain, Product):
        return list(domain.factors)
    return [domain.inner, domain.inner] if isinstance(domain, Pair) else None


def _inside(domain: Domain, value: Any) -> list[tuple[Domain, Any]]:
    """The objects that one consists of, each with its domain: a stack, or a tuple."""
    inner = [domain.inner] * len(value) if isinstance(domain, Stack) else _several(domain)
    return [] if inner is None else list(zip(inner, value, strict=True))


@dataclass(frozen=True)
class Taken:
    """How one object was taken: the object, how far it was moved into its domain, and the balls about it, if any."""

    middle: Any
    distance: Fraction = Fraction(0)
    """Largest l1 distance that a row was moved: 0 where the object was in its domain as given."""
    how: str = ""
    """How it was moved."""
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
            near = f"; one of them ({self.how}) has no row further than {_up(self.distance)} in l1"
            every = f"every member of its domain whose entries are within {_up(self.radius)} ({self.kind})"
            return every + (near if self.distance else "")
        if self.distance:
            return f"{self.how}; no row moved by more than {_up(self.distance)} in l1"
        return ""

    def arrays(self) -> Mapping[str, Array]:
        """The raw arrays of what the claim is judged on."""
        return self.middle.raw if isinstance(self.middle, Drawn) else arrays_in(self.middle)

    def options(self) -> Options:
        """Its options."""
        return self.middle.options if isinstance(self.middle, Drawn) else {}

    def domain(self, inner: Domain) -> Domain:
        """What the claim is judged on, in place of the domain that it names."""
        if isinstance(self.middle, Drawn):
            return inner
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
    if isinstance(value, Drawn):
        return Taken(value)
    if isinstance(domain, Stack) or _several(domain) is not None:
        one_by_one = [
            fitted(f"{name}[{place}]", inner, one, given[place], sizes, around)
            for place, (inner, one) in enumerate(_inside(domain, value))
        ]
        return _together(one_by_one, type(value))
    point = Taken(value)
    try:
        if not domain.contains(_in_rationals(value), sizes):
            point = _projected(name, domain, value, rounding(given), sizes)
    except NotImplementedError as unknown:
        raise DomainError(f"{name}: {unknown}, so it cannot be given") from None
    if around is None:
        return point
    if isinstance(domain, NormDomain):  # which says how lengths are measured, and is no measured number
        return dataclasses.replace(point, radii={path: _zeros(array) for path, array in arrays_in(value).items()})
    return _ball(domain, value, point, given, sizes, around)


def _ball(domain: Domain, value: Any, point: Taken, given: Any, sizes: Sizes, around: Radius) -> Taken:
    sources, members = arrays_in(given) if is_dataclass(given) else {"": given}, arrays_in(point.middle)
    allowed = domain.allowed(sizes)
    radii: dict[str, Array] = {}
    for path, array in arrays_in(value).items():
        if around == ROUNDING:
            own = radii_of_rounding(sources.get(path, array), array)
        else:
            own = np.full(array.shape, Fraction(around), dtype=object)  # type: ignore[arg-type]
        if allowed is not None:
            own[~allowed] = Fraction(0)
        moved = [abs(Fraction(a) - Fraction(b)) for a, b in zip(array.flat, members[path].flat, strict=True)]
        radii[path] = own + np.array([*moved, None], dtype=object)[:-1].reshape(array.shape)
    kind = "the rounding of their floats" if around == ROUNDING else f"{float(around):g} asked for"  # type: ignore[arg-type]
    return dataclasses.replace(point, middle=value, radii=radii, kind=kind)


def _zeros(array: Array) -> Array:
    return np.full(array.shape, Fraction(0), dtype=object)


def _together(found: list[Taken], kind_of: type) -> Taken:
    radii = None
    if all(one.radii is not None for one in found):
        radii = {
            f"{place}.{path}" if path else str(place): array
            for place, one in enumerate(found)
            for path, array in (one.radii or {}).items()
        }
    how = "; ".join(dict.fromkeys(one.how for one in found if one.how))
    kind = "; ".join(dict.fromkeys(one.kind for one in found if one.kind))
    return Taken(kind_of(one.middle for one in found), max(one.distance for one in found), how, radii, kind)


def _in_rationals(value: Any) -> Any:
    return with_arrays(value, {path: RATIONAL.array(array) for path, array in arrays_in(value).items()})


def _projected(name: str, domain: Domain, value: Any, epsilon: float, sizes: Sizes) -> Taken:
    """The member that the domain offers for numbers that rounding moved out of it, and how far its rows are in l1.

    DomainError where it offers none, and for what misses a condition by more than rounding can.
    """
    try:
        found = domain.projected(_in_rationals(value), sizes) if isinstance(value, np.ndarray) else None
    except DomainError as reason:
        raise DomainError(f"{name}: {reason}") from None
    if found is None:
        raise DomainError(f"{name}: the object given is not in {domain}")
    for one in found.missed:
        got, scale = to_fraction(exact_value(one.value)), to_fraction(exact_value(one.scale))
        bound, most = furthest_sum(epsilon, one.terms) * scale, float(FURTHEST_SUM * scale)
        if abs(got - one.wanted) > bound:
            raise DomainError(
                f"{name}: {one.text} {float(got):.12g}, which is not {one.wanted} within {float(bound):.3g}: "
                f"{ROUNDINGS} roundings an entry of the numbers given, and never more than {most:g}"
            )
    if not domain.contains(found.member, sizes):
        raise DomainError(f"{name}: the object given is not in {domain}, nor with {found.how}")
    exact, furthest = np.empty(value.shape, dtype=object), Fraction(0)
    for place, entry in np.ndenumerate(found.member):
        exact[place] = to_fraction(exact_value(entry))
    for row, moved in zip(value, exact, strict=True):
        furthest = max(furthest, sum((abs(Fraction(a) - b) for a, b in zip(row, moved, strict=True)), Fraction(0)))
    return Taken(exact, furthest, found.how)
