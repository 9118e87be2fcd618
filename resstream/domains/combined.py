"""Domains made of others: several objects of one domain, one of each, a finite table, the image under a function."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import Array, Exact, constant, to_fraction
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import (
    COUNT,
    Domain,
    Options,
    Part,
    Parts,
    Size,
    Sizes,
    entries,
    require_domain,
    size_of,
)
from resstream.domains.pieces import Piece, Value, fractions, raw_values
from resstream.errors import DomainError


@dataclass(frozen=True)
class Stack(Domain):
    """Lists of `length` objects of one domain, one for each layer (or head).

    >>> from resstream.domains import Matrix
    >>> Stack("L", Matrix("d", "d")).contains([np.eye(2), np.ones((2, 2))], {"L": 2, "d": 2})
    True
    """

    length: Size = field(metadata=COUNT)
    inner: Domain

    def options(self) -> dict[str, tuple[str, ...]]:
        return self.inner.options()

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        length = size_of(self.length, sizes)
        return {name: part.stacked(length) for name, part in self.inner.parts(sizes, options).items()}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        depth = {name: len(part.shape) for name, part in self.parts(sizes, options).items()}
        return [
            self.inner.build({name: np.take(raw[name], k, axis=-depth[name]) for name in raw}, options, sizes)
            for k in range(size_of(self.length, sizes))
        ]

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        pieces = [self.inner.own_piece(unknowns, sizes, options) for _ in range(size_of(self.length, sizes))]

        def raw(value: Value) -> Parts:
            found = [raw_values(piece, value) for piece in pieces]
            return {name: np.stack([each[name] for each in found]) for name in found[0]}

        if not pieces:
            parts = self.parts(sizes, options)
            return Piece([], {name: fractions(np.zeros(part.shape)) for name, part in parts.items()})
        return Piece([piece.object for piece in pieces], None if any(piece.raw is None for piece in pieces) else raw)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        right = isinstance(value, list) and len(value) == size_of(self.length, sizes)
        return right and all(self.inner.contains(one, sizes) for one in value)

    def wider(self) -> Domain | None:
        inner = self.inner.wider()
        return None if inner is None else Stack(self.length, inner)

    def grows_with(self, size: str) -> bool:
        return self.length == size and size not in self.inner.size_names()

    def beginning(self, value: Any, count: int) -> Any:
        return value[:count]


@dataclass(frozen=True, init=False)
class Product(Domain):
    """Tuples of one object of each of the domains given: Product(Simplex("n"), Matrix("n", "d")).

    >>> from resstream.domains import Matrix, Simplex
    >>> p, X = Product(Simplex(2), Matrix(2, 1)).build({"0": np.array([[1.0, 3.0]]), "1": np.ones((2, 1))}, {}, {})
    >>> p.tolist(), X.shape
    ([[0.25, 0.75]], (2, 1))
    """

    factors: tuple[Domain, ...]

    def __init__(self, *factors: Domain) -> None:
        object.__setattr__(self, "factors", factors)
        self.__post_init__()

    def __post_init__(self) -> None:
        if not self.factors:
            raise DomainError("Product: factors: expected at least one domain, got none")
        for place, factor in enumerate(self.factors):
            require_domain(f"Product: factor {place}", factor)
        super().__post_init__()

    def shapes(self) -> list[tuple[Size, Size] | None]:
        return [factor.shape() for factor in self.factors]

    def options(self) -> dict[str, tuple[str, ...]]:
        return {
            f"{place}.{name}": values
            for place, factor in enumerate(self.factors)
            for name, values in factor.options().items()
        }

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {
            f"{place}.{name}" if name else str(place): part
            for place, factor in enumerate(self.factors)
            for name, part in factor.parts(sizes, _of(place, options)).items()
        }

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return tuple(
            factor.build(_of(place, raw), _of(place, options), sizes) for place, factor in enumerate(self.factors)
        )

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        pieces = [f.own_piece(unknowns, sizes, _of(place, options)) for place, f in enumerate(self.factors)]

        def raw(value: Value) -> Parts:
            return {
                f"{place}.{name}" if name else str(place): values
                for place, piece in enumerate(pieces)
                for name, values in raw_values(piece, value).items()
            }

        return Piece(tuple(piece.object for piece in pieces), None if any(p.raw is None for p in pieces) else raw)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        right = isinstance(value, tuple) and len(value) == len(self.factors)
        return right and all(factor.contains(one, sizes) for factor, one in zip(self.factors, value, strict=True))

    def __str__(self) -> str:
        return f"Product({', '.join(map(str, self.factors))})"


@dataclass(frozen=True)
class Pair(Domain):
    """Pairs (x, y) of members of one domain as a tuple, near each other as often as not: for claims of Lipschitz kind.

    y is built from the raw arrays of x and what is added to them.

    >>> from resstream.domains import Matrix
    >>> x, y = Pair(Matrix(1, 1)).build({"0": np.array([[1.0]]), "1": np.array([[0.5]])}, {}, {})
    >>> x.item(), y.item()
    (1.0, 1.5)
    """

    inner: Domain

    @property
    def _both(self) -> Product:
        return Product(self.inner, self.inner)

    def shapes(self) -> list[tuple[Size, Size] | None]:
        return self._both.shapes()

    def options(self) -> dict[str, tuple[str, ...]]:
        return self._both.options()

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        # What is added has no ends, as a domain builds a member of any raw numbers.
        parts = self._both.parts(sizes, options)
        return {name: Part(parts[name].shape) if _added_to(name, parts) else parts[name] for name in parts}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        parts = self._both.parts(sizes, options)
        moved = {name: raw[first] + raw[name] for name in parts if (first := _added_to(name, parts))}
        return self._both.build({**raw, **moved}, options, sizes)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        piece, parts = self._both.piece(unknowns, sizes, options), self._both.parts(sizes, options)

        def raw(value: Value) -> Parts:
            found = raw_values(piece, value)
            added = {name: found[name] - found[first] for name in parts if (first := _added_to(name, parts))}
            return {**found, **added}

        return Piece(piece.object, None if piece.raw is None else raw)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        return self._both.contains(value, sizes)

    def wider(self) -> Domain | None:
        inner = self.inner.wider()
        return None if inner is None else Pair(inner)


def _added_to(name: str, parts: Mapping[str, Part]) -> str:
    """The part of the first of a pair to which one of the second is added; empty for whole numbers and the first."""
    first = "0" + name[1:]
    alike = first in parts and parts[first].shape == parts[name].shape and parts[name].kind != "whole"
    return first if name != first and alike else ""


def _of(place: int, named: Any) -> dict[str, Any]:
    """What belongs to one factor, by its own names."""
    own = str(place)
    return {name[len(own) + 1 :]: value for name, value in named.items() if name == own or name.startswith(own + ".")}


@dataclass(frozen=True, init=False)
class Given(Domain):
    """A finite table of numbers, of matrices (..., n, d) of one shape, or of tuples of matrices: Given(0, exact(1, 3)).

    Entries are whole numbers, fractions, `exact(1, 3)`, or floats that are meant as the exact numbers that they are. A
    tuple of matrices keeps together what belongs together, as `Product` does: the pattern and the cloud of one head.

    >>> from resstream.arithmetic import RATIONAL, exact
    >>> Given(0, exact(1, 3)).contains(RATIONAL.array([[exact(1, 3)]]), {})
    True
    """

    tables: tuple[Any, ...]

    def __init__(self, *tables: Any) -> None:
        if not tables:
            raise DomainError("Given: expected at least one number or matrix, got none")
        object.__setattr__(self, "tables", tuple(_member(place, table) for place, table in enumerate(tables)))
        shapes = {tuple(_shape(one) for one in _parts(table)) for table in self.tables}
        if len(shapes) > 1 or len({_is_tuple(table) for table in self.tables}) > 1:
            raise DomainError(f"Given: expected members of one shape, got {sorted(shapes)}")
        self.__post_init__()

    def _columns(self) -> list[Array]:
        """What the members have in each place of their tuples (one place where they are no tuples): (members, n, d)."""
        return [np.array(tables, dtype=object) for tables in zip(*map(_parts, self.tables), strict=True)]

    def _made(self, arrays: list[Array]) -> Any:
        return tuple(arrays) if _is_tuple(self.tables[0]) else arrays[0]

    def shapes(self) -> list[tuple[Size, Size] | None]:
        return [_shape(table) for table in _parts(self.tables[0])]

    def shape(self) -> tuple[Size, Size] | None:
        return None if _is_tuple(self.tables[0]) else _shape(_parts(self.tables[0])[0])

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, 1), "whole", 0, len(self.tables) - 1)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        number = raw[""]
        place = np.argmax(number == np.arange(len(self.tables)), axis=-1)[..., 0]
        return self._made([_chosen(values, place, number) for values in self._columns()])

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        place = unknowns.among(range(len(self.tables)))
        chosen = [values[place] * unknowns.one() for values in self._columns()]
        return Piece(self._made(chosen), lambda _: {"": fractions([[place]])})

    def contains(self, value: Any, sizes: Sizes) -> bool:
        columns = self._columns()
        if _is_tuple(self.tables[0]) and not (isinstance(value, tuple) and len(value) == len(columns)):
            return False
        given = list(value) if _is_tuple(self.tables[0]) else [value]
        found = [entries(one, values.shape[1:]) for one, values in zip(given, columns, strict=True)]
        return any(
            all(x is not None and _are_equal(x, values[place]) for x, values in zip(found, columns, strict=True))
            for place in range(len(self.tables))
        )

    def __str__(self) -> str:
        shapes = [_shape(table) for table in _parts(self.tables[0])]
        if len(self.tables) * sum(rows * columns for rows, columns in shapes) <= _MOST_SHOWN:
            return f"Given({', '.join(_shown(table) for table in self.tables)})"
        of = " and ".join(f"{rows} x {columns}" for rows, columns in shapes)
        digest = zlib.crc32(repr(self.tables).encode())
        return f"Given(<{len(self.tables)} members of {of}, checksum {digest:08x}>)"


_MOST_SHOWN = 256
"""Numbers of a table that are written out; of larger ones it is said what they are."""


def _chosen(values: Array, place: Array, number: Array) -> Array:
    """The members of those places, in the number system of `number`."""
    if number.dtype != object:
        return values.astype(float)[place]
    chosen = np.empty((*np.shape(place), *values.shape[1:]), dtype=object)
    for index, value in np.ndenumerate(values[place]):
        chosen[index] = constant(value, number)
    return chosen


def _are_equal(x: Array, table: Array) -> bool:
    return all(entry == constant(known, x) for entry, known in zip(x.flat, table.flat, strict=True))


Table = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class _Together:
    """Matrices that are one member of a table."""

    tables: tuple[Table, ...]


def _is_tuple(member: Table | _Together) -> bool:
    return isinstance(member, _Together)


def _parts(member: Table | _Together) -> tuple[Table, ...]:
    return member.tables if isinstance(member, _Together) else (member,)


def _shape(table: Table) -> tuple[int, int]:
    return len(table), len(table[0])


def _member(place: int, given: Any) -> Table | _Together:
    """A number, a row or a matrix as rows of fractions; a tuple of matrices as several."""
    if isinstance(given, tuple) and given and all(_is_matrix(one) for one in given):
        return _Together(tuple(_table(place, one) for one in given))
    return _table(place, given)


def _is_matrix(given: Any) -> bool:
    if isinstance(given, np.ndarray):
        return given.ndim == 2
    return isinstance(given, (list, tuple)) and bool(given) and all(isinstance(row, (list, tuple)) for row in given)


def _table(place: int, table: Any) -> Table:
    """A number, a row or a matrix as rows of fractions."""
    if isinstance(table, np.ndarray):
        table = table.tolist()
    rows = table if isinstance(table, (list, tuple)) else [table]
    rows = rows if all(isinstance(row, (list, tuple)) for row in rows) else [rows]
    try:
        exact_rows = tuple(tuple(_fraction(entry) for entry in row) for row in rows)
    except (DomainError, TypeError) as failure:
        raise DomainError(f"Given: member {place}: {failure}") from None
    if not exact_rows or not exact_rows[0] or len({len(row) for row in exact_rows}) > 1:
        raise DomainError(f"Given: member {place}: expected a number, or rows of equal length, got {table!r:.60}")
    return exact_rows


def _fraction(entry: Any) -> Fraction:
    if isinstance(entry, bool):
        raise DomainError("expected numbers, got a boolean")
    return entry.value if isinstance(entry, Exact) else to_fraction(entry)


def _shown(member: Table | _Together) -> str:
    if isinstance(member, _Together):
        inner = ", ".join(_rows_shown(table) for table in member.tables)
        return f"({inner},)" if len(member.tables) == 1 else f"({inner})"
    return str(member[0][0]) if _shape(member) == (1, 1) else _rows_shown(member)


def _rows_shown(table: Table) -> str:
    return f"[{', '.join('[' + ', '.join(map(str, row)) + ']' for row in table)}]"


@dataclass(frozen=True)
class Transformed(Domain):
    """The images of a domain's objects under a function, which is written with `resstream.arithmetic` like a claim.

    `member`: whether one value is such an image, exactly; without it membership is not known.

    >>> from resstream.domains import Matrix
    >>> squares = Transformed(Matrix(1, 1), lambda x: x * x)
    >>> squares.build({"": np.array([[3.0]])}, {}, {}).item()
    9.0
    """

    inner: Domain
    function: Callable[[Any], Any]
    member: Callable[[Any], bool] | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DomainError(f"Transformed: function: expected a function, got {self.function!r:.40}")
        if self.member is not None and not callable(self.member):
            raise DomainError(f"Transformed: member: expected a function or None, got {self.member!r:.40}")
        super().__post_init__()

    def options(self) -> dict[str, tuple[str, ...]]:
        return self.inner.options()

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return self.inner.parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return self.function(self.inner.build(raw, options, sizes))

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        inner = self.inner.own_piece(unknowns, sizes, options)
        return Piece(self.function(inner.object), inner.raw)

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if self.member is None:
            return super().contains(value, sizes)
        return bool(self.member(value))

    def __str__(self) -> str:
        return f"Transformed({self.inner}, {getattr(self.function, '__name__', repr(self.function))})"
