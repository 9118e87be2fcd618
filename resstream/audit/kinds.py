"""Narrower domains: kinds of matrices to which an audit restricts a variable, to see where a false claim survives."""

from __future__ import annotations

from collections.abc import Iterator

from resstream.domains import (
    Ball,
    Causal,
    Domain,
    DoublyStochastic,
    EqualRows,
    Invertible,
    Matrix,
    NonConstant,
    NonNegative,
    NonZero,
    Norm,
    Orthogonal,
    Permutation,
    Positive,
    PositiveRows,
    PositiveSemidefinite,
    RankOne,
    RowStochastic,
    Scalar,
    SlidingWindow,
    Sphere,
    Stack,
    Symmetric,
    SymmetricDoublyStochastic,
)


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
            yield NonConstant(domain.columns)
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
    elif type(domain) is Causal:
        yield SlidingWindow(domain.rows)
    elif type(domain) is DoublyStochastic:
        yield from (SymmetricDoublyStochastic(domain.size), Permutation(domain.size))
    elif isinstance(domain, Ball):
        yield Sphere(domain.size, domain.rows)
    elif isinstance(domain, Norm) and domain.bases:
        yield Norm(domain.size, domain.kinds, bases=False)


def _lies_within(inner: Scalar, outer: Scalar) -> bool:
    if inner == outer:
        return False
    above = outer.low is None or (inner.low is not None and inner.low >= outer.low)
    below = outer.high is None or (inner.high is not None and inner.high <= outer.high)
    return above and below
