"""Identities proved at small sizes: a claim is built from symbols, and the difference of its sides is shown to be zero.

A proof covers every instance of those sizes at which the symbols stand for what the raw arrays may hold: any real
number, a positive number for a weight, each value of a whole number, each order of a permutation. What a domain
makes of a special raw array (weights that are all zero mean a uniform row) is left to the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import prod
from typing import Any

import numpy as np

from resstream.arithmetic import SYMBOLIC, Array
from resstream.claim import Claim, Instance
from resstream.domains import Part, Permutation
from resstream.errors import ClaimError, Undecided

VALUES = 16
"""How many combinations of whole numbers a proof may go through."""


@dataclass(frozen=True)
class Identity:
    """What came of an attempt: proved for every choice of the claim's options, or not decided for the reason given."""

    proved: bool
    sizes: Mapping[str, int]
    reason: str = ""

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items()) or "its size"
        return f"proved at {sizes}" if self.proved else f"not decided at {sizes}: {self.reason}"


def small_sizes(claim: Claim) -> list[dict[str, int]]:
    """The sizes at which an identity is tried: all 2, or as near to 2 as the claim has them; then the smallest."""
    ranges = claim.size_ranges().items()
    twos = {name: min(values, key=lambda size: abs(size - 2)) for name, values in ranges}
    ones = {name: min(values, key=lambda size: abs(size - 1)) for name, values in ranges}
    return [twos] if twos == ones else [twos, ones]


def prove_identity(claim: Claim, sizes: Mapping[str, int] | None = None) -> Identity:
    """Try to prove a claim that states equalities, at the sizes given or the first of `small_sizes` that can be done.

    Nothing is assumed: a proof does not use the claim's hypotheses. The work is bounded, not the time, so the answer is
    the same everywhere. Unknown or missing sizes raise ClaimError.
    """
    if sizes is not None and set(sizes) != set(claim.size_ranges()):
        raise ClaimError(f"claim {claim.id}: expected the sizes {sorted(claim.size_ranges())}, got {sorted(sizes)}")
    for chosen in small_sizes(claim) if sizes is None else [dict(sizes)]:
        try:
            reason = _difference(claim, chosen)
            return Identity(not reason, chosen, reason)
        except Undecided as limit:
            result = Identity(False, chosen, str(limit))
        except Exception as error:  # a claim may compute what has no symbolic reading: sorting, eigenvalues
            return Identity(False, chosen, f"no symbolic reading ({type(error).__name__}: {error})")
    return result


def _difference(claim: Claim, sizes: Mapping[str, int]) -> str:
    """Why the differences of the sides are not known to be zero for all options; empty if they are."""
    names = claim.option_values()
    for choice in product(*names.values()):
        options = dict(zip(names, choice, strict=True))
        for raw in _symbolic_instances(claim, sizes, options):
            for relation in claim.conclude(claim.build(raw, SYMBOLIC)):
                if not relation.is_equality:
                    return f"it states an inequality ({relation.shown})"
                if not all(_same(lhs, rhs) for lhs, rhs in relation.pairs(SYMBOLIC)):
                    which = "".join(f" for {option} {value}" for option, value in options.items())
                    return "the difference of the sides does not simplify to zero" + which
    return ""


def _same(lhs: Any, rhs: Any) -> bool:
    """Whether the difference is zero, or that of the squares of sides that cannot be negative."""
    from resstream.prove.algebra import vanishes  # SymPy is imported only where an identity is asked for

    lhs, rhs = (side.value for side in (lhs, rhs))
    if vanishes(lhs - rhs):
        return True
    return bool(lhs.is_nonnegative and rhs.is_nonnegative) and vanishes(lhs * lhs - rhs * rhs)


def _symbolic_instances(claim: Claim, sizes: Mapping[str, int], options: Mapping[str, str]) -> list[Instance]:
    """Symbols for all raw numbers, but for whole numbers and orders, which take each of their values in turn."""
    choices: dict[str, list[Array]] = {}
    for name, part in claim.parts(sizes, options).items():
        entries = int(np.prod(part.shape))
        if isinstance(claim.over.get(name), Permutation):
            values: Iterable[tuple[int, ...]] = permutations(range(entries))
        elif part.kind == "whole":
            span = range(part.low, part.high + 1)
            if len(span) > VALUES:
                raise Undecided(f"it has more than {VALUES} combinations of whole numbers")
            values = product(span, repeat=entries)
        else:
            choices[name] = [_symbols(name, part)]
            continue
        choices[name] = [np.reshape(value, part.shape) for value in islice(values, VALUES + 1)]
    if prod(map(len, choices.values())) > VALUES:
        raise Undecided(f"it has more than {VALUES} combinations of whole numbers")
    return [Instance(sizes, options, dict(zip(choices, chosen, strict=True))) for chosen in product(*choices.values())]


def _symbols(name: str, part: Part) -> Array:
    import sympy

    kind = {"positive": True} if part.kind == "weight" else {"real": True}
    out = np.empty(part.shape, dtype=object)
    for index in np.ndindex(part.shape):
        out[index] = sympy.Symbol(f"{name}_{''.join(map(str, index))}", **kind)
    return out
