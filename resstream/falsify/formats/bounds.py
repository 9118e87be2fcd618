"""Rational bounds of balls."""

from __future__ import annotations

from flint import arb, fmpq

DIGITS = 25
"""Of the bounds that a certificate states for a side that is no rational number."""


def dyadic(value: arb) -> fmpq:
    """The exact value of a ball without radius."""
    mantissa, exponent = value.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def decimal_bounds(value: arb, digits: int = DIGITS) -> tuple[fmpq, fmpq]:
    """Decimal fractions of about that many digits, a little below and above a number."""
    middle, radius = dyadic(value.mid()), dyadic(value.rad())
    size = abs(middle) + radius
    magnitude = len(str(int(size.p // size.q))) - len(str(int(size.q // size.p))) if size else 0
    unit = fmpq(10) ** (magnitude - digits)
    return (_floor((middle - radius) / unit) - 1) * unit, (_floor((middle + radius) / unit) + 2) * unit


def _floor(value: fmpq) -> fmpq:
    return fmpq(value.p // value.q)
