"""The interface of a domain, and how its arguments and sizes are checked."""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Array, Entry, Exact
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.parts import Part
from resstream.domains.pieces import Piece
from resstream.errors import DomainError, NotExpressible

Size = int | str
Sizes = Mapping[str, int]
Parts = Mapping[str, Array]
Options = Mapping[str, str]

COUNT = {"least": 0}
"""Metadata of a size that may be 0: how many there are of something."""


def size_of(size: Size, sizes: Sizes) -> int:
    """The number that a size stands for; an unknown name raises DomainError.

    >>> size_of("n", {"n": 3}), size_of(2, {})
    (3, 2)
    """
    if isinstance(size, int):
        return size
    if size not in sizes:
        raise DomainError(f"size {size!r}: expected one of {sorted(sizes)}")
    return sizes[size]


@dataclass(frozen=True)
class Condition:
    """What a domain asks of its members and rounding breaks: a sum that is 1, two entries that are equal."""

    text: str
    """What has the value, as the front of a sentence: "row 3 sums to"."""
    value: Any
    """What it is, exactly."""
    wanted: int
    terms: int
    """How many rounded numbers it is made of."""
    scale: Any = 1
    """The size of the numbers that it is made of."""


@dataclass(frozen=True)
class Projected:
    """A member near an array that rounding left outside a domain, how it was found, and the conditions missed."""

    member: Array
    how: str
    missed: Sequence[Condition]


@dataclass(frozen=True)
class Domain(ABC):
    """A set of mathematical objects, reached from raw arrays by `build`.

    Subclasses are frozen dataclasses. Fields of the type `Size` are sizes, whole numbers or names; fields of the type
    `Domain` are domains: both are checked when the domain is made, and so is that a set of known sizes is not empty.

    >>> from resstream.domains import Matrix, Stack
    >>> domain = Stack("L", Matrix("n", "d"))
    >>> isinstance(domain, Domain), sorted(domain.size_names()), str(domain)
    (True, ['L', 'd', 'n'], 'Stack(L, Matrix(n, d))')
    """

    def __post_init__(self) -> None:
        for entry in fields(self):
            _check(self, entry)
        if not self.size_names():
            reason = self.excluded({})
            if reason:
                raise DomainError(f"{self} has no members: {reason}")

    # -- what a subclass states

    @abstractmethod
    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        """The raw arrays that one object is built from, by name ("" where there is one only)."""

    @abstractmethod
    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        """The object, from raw arrays in any number system, with or without leading batch axes."""

    def contains(self, value: Any, sizes: Sizes) -> bool:
        """Whether one object (no batch) is a member, exactly: floats count as the numbers that they are.

        Of enclosures that overlap it raises Undecided. NotImplementedError where the domain does not say.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it contains")

    def shape(self) -> tuple[Size, Size] | None:
        """Rows and columns of a member, as sizes, where it is one matrix: what the sizes of a given one are told by."""
        return None

    def shapes(self) -> list[tuple[Size, Size] | None]:
        """The shape of each of the objects that a member consists of: of one, unless it is a tuple."""
        return [self.shape()]

    def allowed(self, sizes: Sizes) -> Array | None:
        """Booleans, where an entry of a member may be other than 0; None for everywhere."""
        return None

    def projected(self, x: Array, sizes: Sizes) -> Projected | None:
        """A member near a matrix of rational entries, for given numbers that rounding moved out of the set.

        DomainError for what no rounding explains (an entry below 0). None where the domain offers none.
        """
        return None

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        """An unknown member, for proofs: over all values of the unknowns, and all of `unknowns.among`, all of the set.

        NotExpressible where the domain does not say.
        """
        raise NotExpressible(f"the domain {type(self).__name__}, which states no pieces")

    def why_empty(self, sizes: Sizes) -> str:
        """Why there is no member at these sizes; empty where there is one."""
        return ""

    def options(self) -> dict[str, tuple[str, ...]]:
        """Discrete choices, each with its values from the simplest on."""
        return {}

    def wider(self) -> Domain | None:
        """The next wider domain, or None: what an audit relaxes to."""
        return None

    def grows_with(self, size: str) -> bool:
        """Whether the first k of a larger object are one of size k, as with layers: what `beginning` gives."""
        return False

    def beginning(self, value: Any, count: int) -> Any:
        """The object that the first `count` are, of one that grows with a size."""
        raise NotImplementedError(f"{type(self).__name__} does not say what an object of it begins with")

    # -- what follows

    def strategy(self, sizes: Mapping[str, Any] | None = None, **settings: Any) -> Any:
        """Its members as a Hypothesis strategy: `resstream.strategies.members` of this domain, with its settings."""
        from resstream.strategies import members  # a room above this one, which is asked when it is needed

        return members(self, sizes, **settings)

    def own_piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        """The piece, unless it is that of a base class whose raw arrays or objects are others: NotExpressible then."""
        line = type(self).__mro__
        says, builds, draws = (next(c for c in line if name in vars(c)) for name in ("piece", "build", "parts"))
        if says is not Domain and min(line.index(builds), line.index(draws)) < line.index(says):
            raise NotExpressible(f"the domain {type(self).__name__}, which states no pieces of its own")
        return self.piece(unknowns, sizes, options)

    def shape_at(self, sizes: Sizes) -> tuple[int, int]:
        """Rows and columns of a member at these sizes; DomainError where it is no matrix."""
        shape = self.shape()
        if shape is None:
            raise DomainError(f"{self}: expected a domain of matrices")
        return size_of(shape[0], sizes), size_of(shape[1], sizes)

    def as_built(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        """The piece of a set that is built, without a branch, from any real raw numbers."""
        raw = {name: unknowns.real(part.shape) for name, part in self.parts(sizes, options).items()}
        return Piece(self.build(raw, options, sizes), raw)

    def inner_domains(self) -> Iterator[Domain]:
        """The domains among the fields."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Domain))

    def size_names(self) -> set[str]:
        """The names among the sizes, those of inner domains included."""
        values = (getattr(self, entry.name) for entry in fields(self) if _is_size(entry))
        own = {value for value in values if isinstance(value, str)}
        return own.union(*(inner.size_names() for inner in self.inner_domains()))

    def excluded(self, sizes: Sizes) -> str:
        """Why the domain cannot be had at these sizes: one is too small, or the set is empty. Empty where it can."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if _is_size(entry) and value is not None and size_of(value, sizes) < _least(entry):
                return f"{entry.name} is {size_of(value, sizes)}, expected at least {_least(entry)}"
        for inner in self.inner_domains():
            reason = inner.excluded(sizes)
            if reason:
                return reason
        return self.why_empty(sizes)

    def __str__(self) -> str:
        """As it is written in a claim, without what is left at its default: `RowStochastic(n)`."""
        values = [(entry, getattr(self, entry.name)) for entry in fields(self) if entry.init]
        shown = [
            written(value) if entry.default is MISSING else f"{entry.name}={written(value)}"
            for entry, value in values
            if value != entry.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


# ---- arguments --------------------------------------------------------------


def written(value: Any) -> str:
    """An argument as it is written in a claim of the command line."""
    if isinstance(value, tuple):
        inner = ", ".join(repr(one) if isinstance(one, str) else written(one) for one in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return str(value)


_SIZES = ("Size", "Size | None", "domains.Size", "int | str", "int | str | None", Size, Size | None)
"""How the type of a size may be written, in a module with annotations as text and in one without."""


def _least(entry: Field[Any]) -> int:
    return int(entry.metadata.get("least", 1))


def _is_size(entry: Field[Any]) -> bool:
    return entry.type in _SIZES


def _check(domain: Domain, entry: Field[Any]) -> None:
    owner, value = type(domain).__name__, getattr(domain, entry.name)
    if _is_size(entry):
        if value is not None or "None" not in str(entry.type):
            require_size(owner, entry.name, value, _least(entry))
    elif entry.type in ("Domain", Domain):
        require_domain(f"{owner}: {entry.name}", value)
    elif entry.type in ("bool", bool) and not isinstance(value, bool):
        raise DomainError(f"{owner}: {entry.name}: expected True or False, got {value!r:.40}")


def require_size(owner: str, name: str, value: Any, least: int = 1) -> None:
    """Refuse what is neither a name nor a whole number of at least `least`, with a DomainError."""
    if isinstance(value, str):
        if value.isidentifier() and not keyword.iskeyword(value):
            return
    elif isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return
    raise DomainError(
        f"{owner}: {name}: expected a name such as 'n' or a whole number of at least {least}, got {value!r:.40}"
    )


def require_domain(name: str, value: Any) -> None:
    """Refuse what is no domain, with a DomainError that says how to make it one.

    >>> require_domain("A", 3)
    Traceback (most recent call last):
        ...
    resstream.errors.DomainError: A: expected a domain such as Matrix('n', 'd'), got int 3
    """
    if isinstance(value, Domain):
        return
    if isinstance(value, type) and issubclass(value, Domain):
        got = f"the class {value.__name__}: call it with its sizes, {value.__name__}(...)"
    elif isinstance(value, str):
        got = f"the text {value!r:.40}: write it without quotes"
    else:
        got = f"{type(value).__name__} {value!r:.40}"
    raise DomainError(f"{name}: expected a domain such as Matrix('n', 'd'), got {got}")


# ---- membership -------------------------------------------------------------


def entries(value: Any, shape: tuple[int, ...]) -> Array | None:
    """The entries of an array of that shape, exactly (floats as the rationals that they are); None for anything else.

    Entries of a number system stay what they are.

    >>> entries(np.array([[0.5, 1.0]]), (1, 2)).tolist(), entries(np.array([[np.nan]]), (1, 1))
    ([[1/2, 1]], None)
    """
    if not isinstance(value, np.ndarray) or value.shape != shape:
        return None
    if value.dtype == object and all(isinstance(entry, Entry) for entry in value.flat):
        return value
    try:
        return RATIONAL.array(value)
    except DomainError:  # NaN, infinities and what is no number
        return None


def is_all(condition: Any) -> bool:
    """Whether a comparison holds of every entry.

    >>> is_all(RATIONAL.array([[1, 2]]) >= 1)
    True
    """
    return bool(np.all(condition))


def rank_of(matrix: Array) -> int:
    """The rank of a matrix (n, d), by elimination; Undecided where enclosures do not tell."""
    rest, rank = matrix.copy(), 0
    for column in range(rest.shape[1]):
        pivots = [row for row in range(rank, len(rest)) if rest[row, column] != 0]
        if not pivots:
            continue
        rest[[rank, pivots[0]]] = rest[[pivots[0], rank]]
        for row in range(rank + 1, len(rest)):
            rest[row] = rest[row] - rest[row, column] / rest[rank, column] * rest[rank]
        rank += 1
    return rank


def number(owner: str, name: str, value: Any) -> int | Fraction:
    """An argument that is an exact number (a whole one, a Fraction, `exact(1, 3)`), or DomainError."""
    value = value.value if isinstance(value, Exact) else value
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        mend = f": write exact({str(value)!r})" if isinstance(value, float) else ""
        raise DomainError(f"{owner}: {name}: expected a whole number or a fraction, got {value!r:.40}{mend}")
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


__all__ = [
    "COUNT",
    "Condition",
    "Domain",
    "Options",
    "Part",
    "Parts",
    "Projected",
    "Size",
    "Sizes",
    "entries",
    "field",
    "is_all",
    "number",
    "rank_of",
    "require_domain",
    "require_size",
    "size_of",
    "written",
]
