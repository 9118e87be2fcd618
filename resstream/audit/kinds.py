"""Narrower domains: kinds of matrices to which an audit restricts a variable, to see where a false claim survives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from resstream.arithmetic import absolute, ones, total, where
from resstream.domains import (
    Causal,
    Domain,
    DoublyStochastic,
    Invertible,
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Norm,
    Options,
    Orthogonal,
    Part,
    Parts,
    Permutation,
    Positive,
    PositiveSemidefinite,
    RowStochastic,
    Scalar,
    Size,
    Sizes,
    Stack,
    Symmetric,
    size_of,
)


@dataclass(frozen=True)
class RankOne(Domain):
    """A matrix (..., rows, columns) that is a column times a row."""

    rows: Size
    columns: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"column": Part((size_of(self.rows, sizes), 1)), "row": Part((1, size_of(self.columns, sizes)))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw["column"] @ raw["row"]


@dataclass(frozen=True)
class PositiveRows(RowStochastic):
    """A row-stochastic matrix (..., rows, columns) without zeros."""

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        weights = where(raw[""] == 0, 1, absolute(raw[""]))
        return weights / total(weights)


@dataclass(frozen=True)
class EqualRows(Domain):
    """A row-stochastic matrix (..., rows, columns) of rank one: all rows are the same."""

    rows: Size
    columns: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, size_of(self.columns, sizes)), "weight")}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        row = RowStochastic(1, self.columns).build(raw, options, sizes)
        return ones((size_of(self.rows, sizes), 1), row) @ row


def narrower(domain: Domain) -> Iterator[Domain]:
    """Domains whose members are all members of this one, from the widest kind on."""
    if isinstance(domain, Stack):
        for inner in narrower(domain.inner):
            yield Stack(domain.length, inner)
    elif type(domain) is RowStochastic:
        columns = domain.rows if domain.columns is None else domain.columns
        yield PositiveRows(domain.rows, domain.columns)
        if columns == domain.rows and domain.rows != 1:
            yield from (Causal(domain.rows), DoublyStochastic(domain.rows))
        if domain.rows != 1:
            yield EqualRows(domain.rows, columns)
        if columns == domain.rows and domain.rows != 1:
            yield Permutation(domain.rows)
    elif type(domain) is Matrix:
        yield NonZero(domain.rows, domain.columns)
        yield NonNegative(domain.rows, domain.columns)
        yield Positive(domain.rows, domain.columns)
        if domain.rows == 1 and domain.columns != 1:
            yield RowStochastic(1, domain.columns)
            yield from (NonConstant(domain.columns),) if isinstance(domain.columns, str) else ()
        elif domain.rows == domain.columns and domain.rows != 1:
            size = domain.rows
            yield from (Invertible(size), Symmetric(size), PositiveSemidefinite(size))
            yield from (RowStochastic(size), Orthogonal(size), DoublyStochastic(size), Permutation(size))
        if domain.rows != 1 and domain.columns != 1:
            yield RankOne(domain.rows, domain.columns)
    elif type(domain) is NonNegative:
        yield Positive(domain.rows, domain.columns)
        if domain.rows != 1 or domain.columns != 1:
            yield RowStochastic(domain.rows, domain.columns)
    elif type(domain) is Scalar:
        yield from (d for d in (Scalar(0), Scalar(0, 1)) if _lies_within(d, domain))
    elif isinstance(domain, DoublyStochastic):
        yield Permutation(domain.size)
    elif isinstance(domain, Norm) and domain.bases:
        yield Norm(domain.size, domain.kinds, bases=False)


def _lies_within(inner: Scalar, outer: Scalar) -> bool:
    if inner == outer:
        return False
    above = outer.low is None or (inner.low is not None and inner.low >= outer.low)
    below = outer.high is None or (inner.high is not None and inner.high <= outer.high)
    return above and below
