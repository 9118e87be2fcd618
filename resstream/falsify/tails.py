"""How likely a mean of draws lies far below the one that is claimed: enclosed bounds, so that none is too low."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from resstream.arithmetic import to_fmpq

BITS = 256
"""Of the balls in which bounds are computed."""


def binomial(draws: int, most: int, share: Fraction) -> arb:
    """An enclosure of P(K <= most), K the number of the draws that count, each with the probability `share`.

    By it a confidence limit is Clopper and Pearson's.
    """
    with ctx.workprec(BITS):
        if most >= draws:
            return arb(1)
        if most < 0 or share == 1:
            return arb(0)
        odds, tail = arb(to_fmpq(share / (1 - share))), arb(0)
        term = arb(to_fmpq(1 - share)) ** draws
        for k in range(most + 1):
            tail += term
            term = term * odds * (draws - k) / (k + 1)
        return tail


def hoeffding(draws: int, mean: arb, share: Fraction) -> arb:
    """An enclosure of a bound on P(mean of the draws <= mean), of independent numbers in [0, 1] whose mean is `share`.

    It is exp(-n KL(mean || share)) below the share (Hoeffding 1963, Theorem 1), which grows with the mean: so the upper
    end of a ball is what counts. Elsewhere it is 1.
    """
    with ctx.workprec(BITS):
        top, p = mean.upper(), arb(to_fmpq(share))
        if not top < p:
            return arb(1)
        if share == 1:
            return arb(0)
        if not top > 0:
            return (1 - p) ** draws
        divergence = top * (top / p).log() + (1 - top) * ((1 - top) / (1 - p)).log()
        return (-draws * divergence).exp()


def is_below(bound: arb, level: Fraction) -> bool:
    """Whether a bound certainly is at most a level."""
    with ctx.workprec(BITS):
        return bool(bound <= arb(to_fmpq(level)))


__all__ = ["binomial", "hoeffding", "is_below"]
