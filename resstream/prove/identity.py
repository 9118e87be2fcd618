"""Identities proved at small sizes: a claim of symbols, where the difference of its sides is shown to be zero.

A proof goes through every choice of the claim's options and every piece of its domains, and owes that all that is
divided by is nonzero, and the like: from the conditions of the pieces and, for the conclusion, from the hypotheses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from resstream.arithmetic import SYMBOLIC, NoValue
from resstream.arithmetic.obligations import noting
from resstream.arithmetic.unknowns import CASES, SymbolicUnknowns, cases
from resstream.claim import Claim
from resstream.errors import ClaimError, NotExpressible, ResstreamError, Undecided
from resstream.prove.answer import INEXPRESSIBLE, PROVED, UNDECIDED, Answer
from resstream.prove.statement import objects_of, pieces_of
from resstream.relations import AtMost, Comparison, Differ, Equal, Every, Less, Relation, is_guarded

Known = list[tuple[Any, str]]


class _NotProved(Exception):
    """Why an identity is not proved."""


def small_sizes(claim: Claim) -> list[dict[str, int]]:
    """The sizes at which an identity is tried: all 2, or as near to 2 as the claim has them; then the smallest."""
    ranges = claim.size_ranges().items()
    twos = {name: min(values, key=lambda size: abs(size - 2)) for name, values in ranges}
    least = {name: min(values) for name, values in ranges}
    twos, ones = claim.nearest_fit(twos), claim.nearest_fit(least)
    return [twos] if twos == ones else [twos, ones]


def prove_identity(claim: Claim, sizes: Mapping[str, int] | None = None) -> Answer:
    """Try to prove a claim that states equalities, at the sizes given or the first of `small_sizes` that can be done.

    The hypotheses are used for what the conclusion divides by and the like, and for nothing else. The work is bounded,
    not the time, so the answer is the same everywhere. Unknown or missing sizes raise ClaimError.
    """
    if sizes is not None and set(sizes) != set(claim.size_ranges()):
        raise ClaimError(f"claim {claim.id}: expected the sizes {sorted(claim.size_ranges())}, got {sorted(sizes)}")
    for chosen in small_sizes(claim) if sizes is None else [dict(sizes)]:
        start = time.monotonic()
        pieces = obligations = 0
        outcome, detail = PROVED, ""
        try:
            for owed in _proofs(claim, chosen):
                pieces, obligations = pieces + 1, obligations + owed
        except _NotProved as reason:
            outcome, detail = UNDECIDED, str(reason)
        except (NotExpressible, Undecided) as limit:
            outcome, detail = INEXPRESSIBLE if isinstance(limit, NotExpressible) else UNDECIDED, str(limit)
        except Exception as error:  # a claim may compute what has no symbolic reading: sorting, eigenvalues
            said = str(error) if isinstance(error, ResstreamError) else f"{type(error).__name__}: {error}"
            outcome, detail = INEXPRESSIBLE, f"no symbolic reading: {said}"
        seconds = time.monotonic() - start
        result = Answer(chosen, outcome, detail, "algebra", pieces=pieces, obligations=obligations, seconds=seconds)
        if result.proved or (outcome == UNDECIDED and detail.startswith("may ")):
            return result
    return result


def _proofs(claim: Claim, sizes: Mapping[str, int]) -> Iterator[int]:
    """The number of obligations of every piece, for each choice of options; _NotProved where one is not proved."""
    if claim.as_grows is not None:
        raise NotExpressible(f"what holds as {claim.as_grows.size} grows, of which no size is a part")
    names = claim.option_values()
    for choice in product(*names.values()):
        options = dict(zip(names, choice, strict=True))
        for case in cases(CASES):
            yield _prove(claim, SymbolicUnknowns(case), sizes, options)


def _prove(claim: Claim, unknowns: SymbolicUnknowns, sizes: Mapping[str, int], options: Mapping[str, str]) -> int:
    if not claim.fits(sizes):
        raise _NotProved(f"the claim speaks of sizes with {claim.where}")
    from resstream.prove.obligations import unproved, wording  # SymPy is imported only where it is asked for

    with noting() as made:
        pieces = pieces_of(claim, unknowns, sizes, options)
    with noting() as asked:
        relation = claim.conclude(objects_of(pieces, sizes))
        for comparison in _equalities(relation):
            if not all(_same(lhs, rhs, unknowns.known) for lhs, rhs in comparison.pairs(SYMBOLIC)):
                which = "".join(f" for {option} {value}" for option, value in options.items())
                raise _NotProved("the difference of the sides does not simplify to zero" + which)
    for owed, known in ((made, unknowns.known), (asked, None)):
        if not owed:
            continue
        failed = unproved(owed, [*unknowns.known, *_hypotheses(claim, pieces, sizes)] if known is None else known)
        if failed is not None:
            raise _NotProved(wording(failed))
    return len(made) + len(asked)


def _equalities(relation: Relation) -> Iterator[Equal]:
    """The comparisons of a statement that equalities hold, all of them."""
    if isinstance(relation, Every):
        for each in relation.relations:
            yield from _equalities(each)
    elif type(relation) is Equal:
        yield relation
    elif isinstance(relation, Comparison):
        raise _NotProved(f"it states an inequality ({relation.shown})")
    else:
        raise NotExpressible(f"a relation of type {type(relation).__name__}")


def _same(lhs: Any, rhs: Any, known: Known) -> bool:
    """Whether the difference is zero, or that of the squares of sides that cannot be negative."""
    from resstream.prove.algebra import vanishes

    for side in (lhs, rhs):
        if isinstance(side, NoValue):
            raise _NotProved(f"a side has no value: {side.reason}")
    lhs, rhs = (side.value for side in (lhs, rhs))
    if vanishes(lhs - rhs, known=known):
        return True
    return bool(lhs.is_nonnegative and rhs.is_nonnegative) and vanishes(lhs * lhs - rhs * rhs, known=known)


def _hypotheses(claim: Claim, pieces: Mapping[str, Any], sizes: Mapping[str, int]) -> Known:
    """What the hypotheses say, and that they have values: where one has none, an instance does not meet it.

    Hypotheses without a symbolic reading, or with alternatives, say nothing here.
    """
    if not claim.assuming:
        return []
    kinds = {AtMost: ">=", Less: ">", Equal: "==", Differ: "!="}
    try:
        with noting() as given:
            relation = claim.hypotheses(objects_of(pieces, sizes))
            known: Known = []
            if is_guarded(relation):
                return []
            for each in relation.conjuncts:
                if type(each) in kinds:
                    assert isinstance(each, Comparison)
                    known += [((rhs - lhs).value, kinds[type(each)]) for lhs, rhs in each.pairs(SYMBOLIC)]
    except Exception:  # sorting, eigenvalues, ...: to know less of an instance only proves less
        return []
    return known + [(obligation.entry.value, obligation.kind) for obligation in given]


__all__ = ["prove_identity", "small_sizes"]
