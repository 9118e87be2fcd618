"""How sharp a bound is: the largest certified ratio of its sides, for every size, and what it tends to along families.

For sides of one sign the ratio of the smaller to the larger one is (1 - m)/(1 + m) with m the relative margin, so what
is climbed is the margin; instances at which both sides vanish say nothing about a bound and are left out. Floats find
the instances; every ratio that is reported was judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

import numpy as np

from resstream.arithmetic import Array, Exact, exact
from resstream.audit import forms, restate
from resstream.audit.ascent import ascend
from resstream.audit.attack import Attack, Outcome, certified
from resstream.audit.families import SMALLEST, best_family, judgement, measure, measured
from resstream.audit.result import (
    AT_ZERO,
    ATTAINED,
    FAILS,
    LOOSE,
    NEARLY,
    SURVIVES,
    UNSURE,
    Constant,
    Family,
    Law,
    Sharpness,
)
from resstream.claim import Batch, Claim, Instance, Margin
from resstream.errors import ResstreamError
from resstream.falsify import climb, corners, engines, judge
from resstream.falsify.certify import Certificate
from resstream.falsify.counterexample import Exhibit
from resstream.falsify.search import NEAR as NO_SUSPECT
from resstream.falsify.search import scores_of
from resstream.falsify.shrink import Shrinker

BUDGET = 32_768
"""Evaluations of the climbs over all sizes."""

CLIMB = 3072
"""Evaluations of a climb at one shape, before the ascent."""

STARTS = 6
"""Climbs at a shape of the table, at most: as many as it takes for two to end at the best."""

NEAR = 1e-3
"""How near to the best of its shape a climb must end, relatively, to be as good."""

VALUES = 12
"""Values of a size that the table has."""

SURE = Fraction(9999, 10_000)
"""A ratio beyond this, without a family that closes the gap, is not called loose."""

TIE = exact(1, 2**90)
"""Relative margin below which two sides are taken to be equal: their balls at 128 bits tell them apart beyond it."""

SHAPES = 48
"""Shapes that are looked at before the climb."""

EXTREMALS = 6
"""Instances, of as many shapes, that are given to the search for a sharper bound."""

KEPT = 4
"""Instances of a shape that are judged."""

SUSPECTS = 24
"""Instances that floats call violations, which are judged."""

CLEAR = 1e-6
"""Relative margins below this may be rounding: the best one beyond it is kept as well."""

TIED = 1e-15
"""A relative margin that floats cannot tell from none."""

SEEDS = 2

TRIES = 3
"""How often a search for a larger ratio may find one before the bound is left unsure."""

SHRUNK = 40
"""Raw numbers of an instance beyond which it is shown as it was found."""

EXCEEDS = 1e-6
"""By how much, relatively, an instance must exceed a largest ratio to deny it."""

CHECKED = 4096
"""Evaluations of the search for 0 = 0."""


def ratio_of(margin: Any) -> Any:
    """The ratio of two sides of one sign with this relative margin."""
    return (1 - margin) / (1 + margin)


def saying(margin: Margin, least: float = 0.0) -> Array:
    """Relative margins, with NaN where both sides vanish or are far below what is usual in the batch, or `least`."""
    finite = margin.scale[np.isfinite(margin.scale) & (margin.scale > 0)]
    usual = float(np.median(finite)) if len(finite) else 1.0
    return np.where(margin.scale > 1e-9 * max(usual, least), margin.relative, np.nan)


class _TimeIsUp(Exception):
    """No seconds are left for a climb."""


Shape = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, str], ...]]


def _shape(raw: Batch | Instance) -> Shape:
    return tuple(raw.sizes.items()), tuple(raw.options.items())


class _Record:
    """What the climbs saw: the best instances of every shape, those that floats may lie about and those beside them."""

    def __init__(self, claim: Claim, seed: int, left: Callable[[], float]) -> None:
        self.claim = claim
        self.rng = np.random.default_rng([seed, *claim.seed_words(), 7])
        self.left = left
        self.evaluations = 0
        self.found: dict[Shape, list[tuple[float, Instance]]] = {}
        self.clear: dict[Shape, tuple[float, Instance]] = {}
        self.suspects: list[Instance] = []
        self.usual: list[float] = []
        """Scales of the sides in the first batches: a climb must not end where all is rounding."""
        self.informed = 0
        """Instances whose sides have one sign, and are not zero: those of which a ratio says something."""

    def show(self, raw: Batch) -> Array:
        """Score a batch for the climb: the margin, where it says something."""
        if self.left() <= 0:
            raise _TimeIsUp
        scores = np.full(raw.count, 4.0)
        self.evaluations += raw.count
        try:
            assessment = self.claim.assess(raw)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):  # outside of where it can be evaluated in float64
            return scores
        scale = assessment.conclusion.scale
        if len(self.usual) < SHAPES and np.any(scale > 0):
            self.usual.append(float(np.median(scale[scale > 0])))
        margins = saying(assessment.conclusion, float(np.median(self.usual or [0.0])))
        self.informed += int(np.count_nonzero(np.abs(margins) < 1))
        scores = scores_of(assessment)
        # What is far below 0 is a violation, to be judged, or rounding beside an exact zero: no ratio to climb to.
        beyond = margins < -CLEAR
        scores[assessment.met] = np.where(np.isnan(margins) | beyond, 1.5, np.maximum(margins, 0))
        places = np.flatnonzero(assessment.met)[beyond][: max(SUSPECTS - len(self.suspects), 0)]
        self.suspects += [raw.at(int(place)) for place in places]
        self._keep(raw, scores)
        return scores

    def _keep(self, raw: Batch, scores: Array) -> None:
        shape = _shape(raw)
        known = self.found.setdefault(shape, [])
        worst = known[-1][0] if len(known) == KEPT else 1.0
        for place in np.argsort(scores, kind="stable")[:2]:
            if scores[place] < worst:
                known.append((float(scores[place]), raw.at(int(place))))
        known.sort(key=lambda pair: pair[0])
        del known[KEPT:]
        clear = np.where(scores > CLEAR, scores, 4.0)
        place = int(np.argmin(clear))
        if clear[place] < 1 and (shape not in self.clear or clear[place] < self.clear[shape][0]):
            self.clear[shape] = (float(clear[place]), raw.at(place))

    def best(self, shape: Shape) -> float:
        """The best score of a shape."""
        known = self.found.get(shape)
        return known[0][0] if known else 4.0

    def simplest(self, shape: Shape) -> tuple[float, int]:
        """By which shapes are ordered: their best scores, and the sum of their sizes where these are as good."""
        return _digits(self.best(shape)), sum(size for _, size in shape[0])

    def candidates(self, shape: Shape) -> Iterator[tuple[float, Instance]]:
        """Instances of a shape worth judging, with their scores, the best first."""
        yield from self.found.get(shape, ())
        if shape in self.clear:
            yield self.clear[shape]

    def climb_at(self, shape: Shape, evaluations: int = CLIMB, fresh: bool = False) -> float:
        """Climb at one shape, then ascend; the score where that ended. fresh: not from what is known."""
        sizes, options = dict(shape[0]), dict(shape[1])
        start = climb.starts(self.claim, (sizes, options), self.rng, min(1024, evaluations // 2))
        ended: list[tuple[float, Instance]] = []

        def show(raw: Batch) -> Array:
            scores = self.show(raw)
            best = int(np.argmin(scores))
            if not ended or scores[best] < ended[0][0]:
                ended[:] = [(float(scores[best]), raw.at(best))]
            return scores

        climb.climb(self.claim, self.rng, evaluations, show, start)
        ends = [ended[0]] if ended else []
        if not fresh:
            ends += [pair for pair in self.found.get(shape, [])[:1] if pair[1] is not (ended[0][1] if ended else None)]
        reached = 4.0
        for score, raw in ends:
            top = score
            if TIED < score < 2 and self.claim.batched is not False:
                for _ in range(2):
                    top, raw = ascend(self.claim, raw, self.show)
            reached = min(reached, top)
        return reached


class _Judged:
    """The largest certified ratio of every shape, and the counterexamples met on the way."""

    def __init__(self, claim: Claim, record: _Record) -> None:
        self.claim, self.record = claim, record
        self.best: dict[Shape, tuple[float, float, Instance]] = {}
        """Gap (one less the ratio), ratio, instance."""
        self.refuting: list[Certificate] = []
        self._seen: dict[int, Instance] = {}

    def attains(self, shape: Shape) -> bool:
        """Whether an instance of a shape has equal sides: no ratio is larger."""
        return shape in self.best and self.best[shape][0] == 0

    def adds_nothing(self, shape: Shape) -> bool:
        """Whether equality is known at every value that the sizes of a shape have, and at sizes of 2 or more."""
        equal = [dict(known[0]) for known in self.best if self.attains(known)]
        beyond = any(all(size >= 2 for size in sizes.values()) for sizes in equal)
        return beyond and all(any(sizes[name] == value for sizes in equal) for name, value in shape[0])

    def look_at(self, shape: Shape, most: int | None = None) -> None:
        """Judge the candidates of a shape, the best first, as long as one may be better than what is known."""
        for score, raw in islice(self.record.candidates(shape), most):
            if self.attains(shape) or (shape in self.best and score >= NO_SUSPECT):
                return
            if id(raw) not in self._seen:
                self._seen[id(raw)] = raw
                self.judge(raw)

    def judge(self, raw: Instance) -> None:
        """Judge an instance, and keep it if its ratio is the largest of its shape."""
        if not _says_something(self.claim, raw):  # first, as two zeros take long to be told from each other
            return
        found = judgement(self.claim, raw)
        if found is not None and found.outcome == judge.VIOLATED:
            certificate = certified(self.claim, raw)
            if certificate is not None:
                self.refuting.append(certificate)
        one = None if found is None else measured(self.claim, raw, found)
        if one is None:
            return
        shape = _shape(raw)
        gap = float(one.gap)
        if gap == 0 and one.gap != 0:
            gap = SMALLEST  # no equality
        if shape not in self.best or gap < self.best[shape][0]:
            self.best[shape] = (gap, _from_below(one.ratio), raw)


def _from_below(ratio: Any) -> float:
    """A float that the ratio certainly reaches."""
    value = float(ratio.lower()) if hasattr(ratio, "lower") else float(ratio)
    return max(0.0, min(value, 1.0))


def _says_something(claim: Claim, raw: Instance) -> bool:
    """Whether the sides at the entry nearest to a violation are not both zero, and the hypotheses hold."""
    try:
        return judge.judge(restate.with_margin(claim, exact(1, 1)), raw).outcome == judge.VIOLATED
    except (ResstreamError, ValueError, ArithmeticError):
        return False


def sharpness(
    claim: Claim, attack: Attack, budget: int = BUDGET
) -> tuple[Sharpness, list[Certificate], list[Instance]]:
    """How sharp a claim of a single inequality is; counterexamples met on the way; its most telling instances."""
    record = _Record(claim, attack.seed, attack.left)
    shapes = corners.shapes(claim)
    judged = _Judged(claim, record)
    with suppress(_TimeIsUp):
        for number in range(SHAPES):
            record.show(corners.corner_batch(claim, shapes[number % len(shapes)], record.rng, budget // (4 * SHAPES)))
            record.show(engines.random_batch(claim, record.rng, budget // (4 * SHAPES)))
        if record.informed:
            climb.climb(claim, record.rng, max(budget - record.evaluations, 1), record.show)
    if not record.informed and record.evaluations:
        return _without_ratio(claim, attack, record), [], []
    ends: dict[Shape, list[float]] = {}
    with suppress(_TimeIsUp):
        for shape in _targets(claim, record):
            if record.best(shape) <= TIED:
                judged.look_at(shape, most=1)
            if judged.attains(shape):
                continue
            ends[shape] = [record.climb_at(shape), record.climb_at(shape, fresh=True)]
            while len(ends[shape]) < STARTS and not _is_settled(ends[shape], record.best(shape)):
                ends[shape].append(record.climb_at(shape, fresh=True))
    for raw in record.suspects:
        certificate = certified(claim, raw)
        if certificate is not None:
            judged.refuting.append(certificate)
    for shape in sorted(record.found, key=record.simplest):
        if not judged.adds_nothing(shape):
            judged.look_at(shape)
    if not judged.best:
        return Sharpness(UNSURE, 0.0, evaluations=record.evaluations), judged.refuting, []
    telling = [raw for _, raw in sorted(record.clear.values(), key=lambda pair: pair[0])[:EXTREMALS]]
    settled = all(
        _is_settled(ended, judged.best[shape][0] / (2 - judged.best[shape][0]))
        for shape, ended in ends.items()
        if shape in judged.best
    )
    said = _said(claim, attack, record, judged)
    for _ in range(TRIES):
        found = _as_right_side(claim, attack, said, budget)
        record.evaluations += found.evaluations
        if found.certificate is None:
            break
        judged.judge(found.certificate.raw)
        said = _said(claim, attack, record, judged)
    said = replace(said, laws=tuple(_borne_out(claim, attack, said.laws, budget)), evaluations=record.evaluations)
    if said.status == LOOSE and not settled:
        said = replace(said, status=UNSURE, constant=None)  # a hill on which few climbs end may have a higher neighbour
    if said.status == LOOSE:
        searched = 0 if found.outcome == FAILS else found.evaluations
        said = replace(said, status=LOOSE if found.outcome == SURVIVES else UNSURE, searched=searched)
        if said.status == UNSURE:
            said = replace(said, constant=None)
    return said, judged.refuting, telling


def _is_settled(ended: Sequence[float], best: float) -> bool:
    """Whether two climbs of a shape or more ended at a relative margin that is as good as the best one."""
    return sum(ratio_of(max(score, 0.0)) >= ratio_of(max(best, 0.0)) * (1 - NEAR) for score in ended) >= 2


def _as_right_side(claim: Claim, attack: Attack, said: Sharpness, budget: int) -> Outcome:
    """A search for an instance that exceeds the largest ratio of a bound called loose, or its closed form."""
    top = max(said.ratio, said.family.limit if said.family else 0.0, said.constant.value if said.constant else 0.0)
    if said.status != LOOSE or not 0 < top < 1:
        return Outcome(SURVIVES)
    return attack(restate.nearer(claim, _above(top)), budget, SEEDS)


def _above(ratio: float) -> Exact:
    """A rational a little above a ratio, and at most 1."""
    return Exact(min(Fraction(ratio * (1 + EXCEEDS)).limit_denominator(10**12), Fraction(1)))


def _borne_out(claim: Claim, attack: Attack, laws: Sequence[Law], budget: int) -> Iterator[Law]:
    """The laws that no instance exceeds: searched at each size of the table, all together as long as the claim."""
    for law in laws:
        table = {n: value_at(law, n) for n in list(claim.size_ranges()[law.size])[:VALUES]}
        below = {n: ratio for n, ratio in table.items() if 0 < ratio < 1}
        spent = 0
        for n, ratio in below.items():
            fixed = claim.replace(sizes={law.size: range(n, n + 1)})
            found = attack(restate.nearer(fixed, _above(ratio)), max(budget // len(below), 1024))
            spent += found.evaluations
            if found.outcome != SURVIVES:
                break
        else:
            yield replace(law, evaluations=spent)


def value_at(law: Law, n: int) -> float:
    """The value of a law; 0 where it has none."""
    try:
        return forms.value(law.closed_form, **{law.size: n})
    except (ArithmeticError, ValueError):
        return 0.0


def _targets(claim: Claim, record: _Record) -> Iterator[Shape]:
    """For every value of every size: the best shape that has it, and the one with all else as at the best shape."""
    done = set()
    for _ in range(1):
        best = _best_shapes(record)
        for name, values in claim.size_ranges().items():
            for value in list(values)[:VALUES]:
                having = sorted((s for s in record.found if dict(s[0])[name] == value), key=record.best)
                chosen = having[:1]
                for shape in best:
                    sizes = {**dict(shape[0]), name: value}
                    chosen.append((tuple(sizes.items()), shape[1]))
                for shape in chosen:
                    if shape not in done:
                        done.add(shape)
                        yield shape


def _best_shapes(record: _Record) -> list[Shape]:
    """The best shape of all, and the best of those whose sizes are 2 or more (last, if there is one)."""
    ordered = sorted(record.found, key=record.simplest)
    ordered = [shape for shape in ordered if record.best(shape) < 1]
    nontrivial = [shape for shape in ordered if all(size >= 2 for _, size in shape[0])]
    return list(dict.fromkeys([*ordered[:1], *nontrivial[:1]]))


def _digits(score: float) -> float:
    """A score to nine digits, so that rounding does not choose among shapes that are equally good."""
    return float(f"{max(score, 1e-12):.8e}")


def _is_trivial(shape: Shape) -> bool:
    return any(size == 1 for _, size in shape[0])


def _said(claim: Claim, attack: Attack, record: _Record, judged: _Judged) -> Sharpness:
    """What the judged instances and the families through them amount to."""
    ordered = sorted(judged.best.items(), key=lambda item: (_digits(item[1][0]), sum(size for _, size in item[0][0])))
    families: dict[Shape, Family] = {}
    first: list[tuple[str, ...]] = []
    looked = list(dict.fromkeys([shape for shape, _ in ordered[:2]] + _rows(claim, judged)))
    for shape in looked:
        if attack.left() <= 0:
            break
        gap, _, raw = judged.best[shape]
        # An instance at the limits of float64 is no start of a family: one that is clear of them is tried too.
        starts = [raw, *([record.clear[shape][1]] if shape in record.clear else [])] if gap > 0 else []
        for start in starts[:: -1 if gap < CLEAR else 1]:
            family = best_family(claim, start, attack.left, first)
            if family is not None and (shape not in families or family.limit > families[shape].limit):
                families[shape] = family
                first = [family.variables, *first] if family.variables else first
            if shape in families and families[shape].limit == 1:
                break
    by_size, limits = _tables(judged, families)
    shape, (gap, ratio, raw) = ordered[0]
    # Among instances that are about as good, one of sizes beyond 1 says more.
    nontrivial = [item for item in ordered if not _is_trivial(item[0])]
    if nontrivial and nontrivial[0][1][0] <= gap + 1e-12:
        shape, (gap, ratio, raw) = nontrivial[0]
    shown, extremal = _exhibits(claim, attack, gap, raw)
    # The simple instance of nearly that ratio is a tie too, unless the sides only come near to each other.
    attained = gap == 0 if shown is None else _is_tie(shown)
    family = max(families.values(), key=lambda f: f.limit, default=None)
    if not attained and shown is not None and (family is None or family.limit < 1) and attack.left() > 0:
        # What a climb ends at is off by its last step; the simple instance beside it has the limit itself.
        simple = best_family(claim, shown.raw, attack.left, first)
        if simple is not None and simple.limit > max(ratio, family.limit if family else 0.0):
            families[shape] = family = simple
            by_size, limits = _tables(judged, families)
    top = max(ratio, family.limit if family else 0.0)
    if attained:
        status, family = ATTAINED, None
        ratio, gap = 1.0, 0.0
        by_size = _with_ones(by_size, shape)
    elif family is not None and family.limit == 1:
        status = NEARLY
    elif top <= SURE:
        status = LOOSE
    else:
        status = UNSURE
    table = {name: {**values, **limits.get(name, {})} for name, values in by_size.items()}
    laws = tuple(_laws(claim, table))
    constant = _constant(top, family, shown or extremal, record) if status == LOOSE and not laws else None
    others = [entry[1] for key, entry in judged.best.items() if not _is_trivial(key)]
    beyond = [families[key].limit for key in families if not _is_trivial(key)]
    at_two = max([*others, *beyond], default=None) if claim.size_ranges() else None
    trivial_only = status in (ATTAINED, NEARLY) and at_two is not None and at_two < 1 - 1e-9 and _is_trivial(shape)
    return Sharpness(
        status,
        ratio,
        gap,
        extremal,
        shown,
        family,
        _directions(family, table, laws, status),
        by_size,
        limits,
        trivial_only,
        at_two,
        laws,
        constant,
        evaluations=record.evaluations,
    )


def _rows(claim: Claim, judged: _Judged) -> list[Shape]:
    """The best shape of every value of every size."""
    found = []
    for name, values in claim.size_ranges().items():
        for value in list(values)[:VALUES]:
            having = [shape for shape in judged.best if dict(shape[0])[name] == value]
            if having:
                found.append(min(having, key=lambda shape: judged.best[shape][0]))
    return found


def _tables(
    judged: _Judged, families: dict[Shape, Family]
) -> tuple[dict[str, dict[int, float]], dict[str, dict[int, float]]]:
    by_size: dict[str, dict[int, float]] = {}
    limits: dict[str, dict[int, float]] = {}
    for shape, (_, ratio, _) in judged.best.items():
        for name, value in shape[0]:
            row = by_size.setdefault(name, {})
            row[value] = max(row.get(value, 0.0), ratio)
    for shape, family in families.items():
        for name, value in shape[0]:
            if family.limit > by_size[name][value]:
                row = limits.setdefault(name, {})
                row[value] = max(row.get(value, 0.0), family.limit)
    return (
        {name: dict(sorted(row.items())) for name, row in sorted(by_size.items())},
        {name: dict(sorted(row.items())) for name, row in sorted(limits.items())},
    )


def _with_ones(table: dict[str, dict[int, float]], shape: Shape) -> dict[str, dict[int, float]]:
    """The table with what a simplified instance attains."""
    sizes = dict(shape[0])
    return {
        name: {value: 1.0 if sizes[name] == value else r for value, r in row.items()} for name, row in table.items()
    }


def _laws(claim: Claim, table: dict[str, dict[int, float]]) -> Iterator[Law]:
    for name, row in table.items():
        if len(claim.size_ranges()[name]) < forms.LEAST_POINTS:
            continue
        for least in (2, 1):
            found = forms.law_of({n: v for n, v in row.items() if n >= least}, name)
            if found is not None:
                text, matched = found
                yield Law(name, text, matched, forms.limit_of(text, name))
                break


def _directions(
    family: Family | None, table: dict[str, dict[int, float]], laws: tuple[Law, ...], status: str
) -> tuple[str, ...]:
    """What grows or shrinks on the way to 1, and the sizes as which grow the ratio tends to 1."""
    found = []
    if family is not None and family.limit == 1:
        word = "grows" if "grow" in family.direction.rpartition(" ")[2] else "shrinks"
        found += [f"{name} {word}" for name in family.variables]
    for name, row in table.items():
        law = next((law for law in laws if law.size == name), None)
        gaps = [1 - value for size, value in sorted(row.items()) if size >= 2]
        if (law is not None and law.limit > 0.88 and gaps[-1] < gaps[0]) or (
            law is None and status == LOOSE and len(gaps) > 3 and _closes(gaps)
        ):
            found.append(f"{name} grows")
    return tuple(found)


def _closes(gaps: list[float]) -> bool:
    """Whether gaps fall like a power of the size: by the table alone, to be told from one that comes to a halt."""
    return all(later < 0.85 * earlier for earlier, later in pairwise(gaps)) and gaps[-1] < 0.4 * gaps[0]


# ---- the largest ratio in closed form ---------------------------------------


def _constant(top: float, family: Family | None, exhibit: Exhibit | None, record: _Record) -> Constant | None:
    """A closed form of the largest ratio, where no instance exceeds it and it is met or approached along a family."""
    candidates = []
    if family is not None and family.limit >= top - 1e-12:
        candidates.append((forms.name_of(top, 1e-10), f"approached as {family.direction}"))
    else:
        if exhibit is not None:
            candidates.append((_by_symbols(exhibit, top), "the ratio at the instance found"))
        candidates.append((forms.name_of(top), "the instance found has it to eleven digits"))
    for text, evidence in candidates:
        if not text:
            continue
        value = forms.value(text)
        if abs(value - top) <= 1e-9 * top:
            return Constant(
                text, value, f"{evidence}; no larger ratio is certified in {record.evaluations:,} evaluations"
            )
    return None


def _by_symbols(exhibit: Exhibit, top: float) -> str:
    """The ratio of the sides at a simple instance, as an expression; empty where that is long, or another number."""
    import sympy

    from resstream.arithmetic.symbols import SYMBOLIC

    with suppress(Exception), SYMBOLIC.working():  # what symbols cannot express is no fault: a name is a courtesy
        relation = next(iter(exhibit.claim.conclude(exhibit.claim.build(exhibit.raw, SYMBOLIC))))
        for lhs, rhs in relation.pairs(SYMBOLIC):
            left, right = (side._sympy_() if hasattr(side, "_sympy_") else sympy.sympify(side) for side in (lhs, rhs))
            if right == 0:
                continue
            ratio = sympy.simplify(left / right)
            number = float(ratio)
            text = str(ratio if number <= 1 else sympy.simplify(right / left)).replace("E", "exp(1)")
            if abs(min(number, 1 / number) - top) < 1e-9 and len(text) <= 60:
                forms.value(text)
                return text
    return ""


# ---- instances to show ------------------------------------------------------


def _exhibits(claim: Claim, attack: Attack, gap: float, raw: Instance) -> tuple[Exhibit | None, Exhibit | None]:
    """A simpler instance of nearly this ratio, and the instance found."""
    margin = gap / (2 - gap)
    count = sum(np.size(values) for values in raw.arrays.values())
    simple = _simplified(claim, margin, raw, attack.left) if count <= SHRUNK else None
    try:
        found = Exhibit(claim, raw, judge.judge(claim, raw), attack.seed, "climb")
    except (ResstreamError, ArithmeticError):
        found = None
    return simple, found


def _is_tie(exhibit: Exhibit) -> bool:
    """Whether the sides are equal at an instance (to 2^-100 of their size, where they are irrational)."""
    measured = measure(exhibit.claim, exhibit.raw)
    return measured is not None and bool(measured.gap == 0)


def _without_ratio(claim: Claim, attack: Attack, record: _Record) -> Sharpness:
    """Where one side is always zero, or of the other sign, a ratio says nothing; equality can only be 0 = 0."""
    strictly = attack(restate.strict(claim), CHECKED, climb=False)
    tied = strictly.outcome == "fails" or any(verdict.tally.tied for verdict in strictly.verdicts)
    why = "one side is zero, or of the other sign, at every instance met"
    return Sharpness(AT_ZERO if tied else LOOSE, 0.0, one_sided=why, evaluations=record.evaluations)


def _simplified(claim: Claim, margin: float, raw: Instance, left: Callable[[], float]) -> Exhibit | None:
    """The extremal instance rounded to simple numbers, as far as the ratio survives it."""

    def better(_: Instance) -> None:
        if left() <= 0:
            raise _TimeIsUp

    # An instance of sizes beyond 1 is not made one of size 1: that would say less.
    ranges = {name: values for name, values in claim.size_ranges().items() if raw.sizes[name] >= 2}
    claim = claim.replace(
        sizes={name: range(max(values[0], 2), values[-1] + 1, values.step) for name, values in ranges.items()},
        id=claim.id,
    )
    tolerances = [TIE, exact(1, 10**9)] if margin < 1e-9 else []
    for tolerance in (*tolerances, exact(Fraction(min(1.001 * margin + 1e-9, 1.0)).limit_denominator(10**12))):
        nearer = restate.with_margin(claim, tolerance)
        try:
            if judge.judge(nearer, raw).outcome != judge.VIOLATED:
                continue
            shrinker = Shrinker.of(nearer, raw, better)
            with suppress(_TimeIsUp):
                shrinker.run()
            judgement = judge.judge(claim, shrinker.exact)
        except (ResstreamError, ValueError, ArithmeticError):
            continue
        return Exhibit(claim, shrinker.exact, judgement, engine="climb")
    return None
