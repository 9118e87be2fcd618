"""Means over random objects, exactly: all members of finite domains, and moments of polynomials."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Array, Entry, constant, is_screening
from resstream.arithmetic.entries import entries_of
from resstream.arithmetic.polynomials import Monomial, averaged, unknowns
from resstream.arithmetic.rationals import exact_value
from resstream.domains import cubature
from resstream.domains.base import Domain, Sizes
from resstream.domains.current import leading_now, read_now, sizes_now
from resstream.domains.finite import MOST, members
from resstream.domains.laws import Law
from resstream.errors import ClaimError, DomainError, Undecided

Randomness = Law | Domain
"""What may be random: a law, or a finite domain, each member of which is as likely."""


def expectation(of: Randomness | Sequence[Randomness], function: Callable[..., Array]) -> Array:
    """The mean of a function of random objects, one or independent ones, exactly: the shape of its values, (..., n, d).

    of: a finite domain, whose members are gone through (each counted once, at most 256 choices in all), or a law
    (Gaussian, Uniform, Signs, OnSphere) for which the function is a polynomial of the entries, so that moments give the
    mean; or a list of such, for a function of as many objects. In every reading: floats in a batch, balls, rationals,
    expressions. ClaimError for a domain that is not finite, and for what is no polynomial.

    >>> from resstream.arithmetic import total
    >>> from resstream.claim import claim, equal
    >>> from resstream.domains import Gaussian, Vector
    >>> @claim("mine.product", over={"k": Vector("d")})
    ... def product(k):
    ...     \"\"\"E <q, k>^2 = |k|^2 for independent entries of q of variance one.\"\"\"
    ...     return equal(expectation(Gaussian(1, "d"), lambda q: (q @ k.mT) ** 2), total(k**2))
    >>> product.at(k=[1, 2, 3])
    <mine.product holds (certified)>
    """
    chosen: Sequence[Randomness] = of if isinstance(of, (list, tuple)) else (of,)
    for one in chosen:
        if not isinstance(one, (Law, Domain)):
            raise ClaimError(
                f"expectation: expected a law such as Gaussian(1, 'd') or a finite domain, got {one!r:.40}"
            )
    if not chosen:
        raise ClaimError("expectation: expected a law or a finite domain, got none")
    sizes = sizes_now("expectation")
    choices = [(one,) if isinstance(one, Law) else _distinct(one, sizes) for one in chosen]
    if np.prod([len(some) for some in choices], dtype=float) > MOST:
        raise Undecided(f"expectation: more than {MOST} choices are not gone through")
    zero = _zero()
    sums: Array | None = None
    for case in itertools.product(*choices):
        value = _mean_of(case, function, sizes, zero)
        sums = value if sums is None else sums + value
    assert sums is not None  # a domain has members at every size that a claim speaks of
    count = np.prod([len(some) for some in choices], dtype=int)
    return sums / constant(int(count), sums)


def _zero() -> Any:
    """The number 0 of the reading that is going on."""
    like = leading_now()
    if like is None:
        return 0.0 if is_screening() else RATIONAL.array([0])[0]
    return constant(0, like)


def _distinct(domain: Domain, sizes: Sizes) -> Sequence[Any]:
    """The members of a finite domain, each once."""
    try:
        found = members(domain, sizes)
    except DomainError as failure:
        raise ClaimError(f"expectation: {failure}; laws such as Gaussian(1, 'd') are random without an end") from None
    once: dict[Any, Any] = {}
    for member in found:
        if not isinstance(member, np.ndarray):
            raise ClaimError(f"expectation: {domain}: expected a domain of arrays, got {type(member).__name__}")
        once.setdefault(tuple(str(exact_value(entry)) for entry in member.flat), member)
    return list(once.values())


def _mean_of(case: Sequence[Any], function: Callable[..., Array], sizes: Sizes, zero: Any) -> Array:
    """The mean over the laws among some objects, the others being members that were chosen."""
    laws = [one for one in case if isinstance(one, Law)]
    floats_of_laws_alone = not isinstance(zero, Entry) and len(laws) == len(case)
    if floats_of_laws_alone and _batch() >= cubature.WORTH_IT:
        rule = cubature.known(function, laws, sizes)
        mean = None if rule is None else rule.mean(function)
        if mean is not None:
            return mean
    objects, numbers, count = [], [], 0
    for one in case:
        if isinstance(one, Law):
            entries = unknowns(one.shape(sizes), zero, count)
            numbers.append(range(count, count + entries.size))
            count += entries.size
            objects.append(entries)
        else:
            objects.append(read_now(one))
    value = function(*objects)
    if not isinstance(value, np.ndarray):
        raise ClaimError(f"expectation: expected a function with arrays as values, got {type(value).__name__}")
    if value.dtype != object or not laws:
        return value
    known: dict[Monomial, Any] = {}

    def moment(monomial: Monomial) -> Any:
        if monomial not in known:
            exactly = Fraction(1)
            for own, law in zip(numbers, laws, strict=True):
                exactly = exactly * law.moment([power for unknown, power in monomial if unknown in own], sizes)
            known[monomial] = constant(exactly, zero)
        return known[monomial]

    means = [averaged(entry, moment) for entry in value.flat]
    if isinstance(zero, Entry):
        return entries_of(means, value.shape)
    if floats_of_laws_alone:
        cubature.learn(function, laws, sizes, known, known.__getitem__)
    return np.array(means).reshape(value.shape)


def _batch() -> int:
    """How many instances are evaluated at once."""
    like = leading_now()
    return len(like) if like is not None and like.ndim > 2 else 1


__all__ = ["Randomness", "expectation"]
