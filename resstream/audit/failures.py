"""Where a false claim fails and what saves it: a map over sizes, options and kinds of matrices.

Nothing is said to survive against which a certified counterexample is known, whoever found it: after every search the
whole map is held against the pool again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resstream.audit import commands, proofs
from resstream.audit.attack import Attack, certified
from resstream.audit.kinds import narrower
from resstream.audit.restate import restated
from resstream.audit.result import FAILS, SURVIVES, UNKNOWN, Cell, FailureMap, Kind, Rescue
from resstream.audit.vacuity import is_thin
from resstream.audit.witnesses import Witness, Witnesses
from resstream.claim import Claim, Instance
from resstream.domains import Domain, EqualRows, Norm, Permutation, Stack

LONGEST = 16
"""How many values of a size a map of one size has."""

LARGEST = 6
"""How many values of each of two sizes a map has."""

CELLS = 72

LEAST, MOST = 1024, 8192
"""Evaluations for a cell of the map: as many for each as there is time for."""

SHARE = 0.3
"""The share of what is left in time that the cells have."""

FLOOR = 50

RESCUES = 3
"""How many restrictions are looked for."""

SEEDS = 2

FURTHER = 2
"""By what factor the sizes grow at which a restriction is tried beyond the stated ones."""

LARGEST_TRIED = 16

PROOF = 3.0
"""Seconds for proofs of a restriction, at the smallest sizes."""

STRETCHED = 4
"""Counterexamples of the pool that are continued to the sizes of a cell, at most."""

SPECIAL = "only special instances meet the equality among the hypotheses"


@dataclass
class _Map:
    claim: Claim
    attack: Attack
    witnesses: Witnesses
    budget: int
    thin: bool
    """Whether only special instances meet the hypotheses, so that a search that finds nothing says little."""

    def known(self, sizes: Mapping[str, range], over: Mapping[str, Domain]) -> Witness | None:
        return self.witnesses.within(sizes, over)

    def stretched(self, sizes: Mapping[str, range], over: Mapping[str, Domain]) -> bool:
        """Whether a counterexample of smaller sizes refutes there, with zeros or its last row and column repeated."""
        fixed = fixed_claim(self.claim, sizes, over)
        for witness in self.witnesses.found[:STRETCHED]:
            raw = witness.raw
            place = {**raw.sizes, **{name: values[0] for name, values in sizes.items() if name in raw.sizes}}
            options = {name: values[0] for name, values in fixed.option_values().items()}
            parts = fixed.parts(place, {**raw.options, **options})
            if set(parts) != set(raw.arrays):
                continue
            for mode in ("constant", "edge"):
                arrays = {name: _padded(raw.arrays[name], parts[name].shape, mode) for name in parts}
                if any(values is None for values in arrays.values()):
                    break
                certificate = certified(fixed, Instance(place, {**raw.options, **options}, arrays))
                if certificate is not None:
                    self.witnesses.add(certificate, self.attack.seed, "the pool")
                    return True
        return False

    def outcome(self, claim: Claim, budget: int, seeds: int = 1) -> tuple[str, int, int, str]:
        """What a search of a restricted claim says; what refutes it goes into the pool."""
        found = self.attack(claim, budget, seeds, FLOOR)
        if found.certificate is not None:
            self.witnesses.add(found.certificate, self.attack.seed, found.engine)
        evidence = "a certified counterexample" if found.outcome == FAILS else found.reason
        if found.outcome == SURVIVES and self.thin and is_thin(claim, self.attack.seed):
            return UNKNOWN, found.instances, found.evaluations, SPECIAL
        return found.outcome, found.instances, found.evaluations, evidence


def failure_map(
    claim: Claim,
    attack: Attack,
    witnesses: Witnesses,
    budget: int,
    progress: Callable[[], None] = lambda: None,
) -> FailureMap:
    """Where a claim fails, by searches of equal length, and what saves it, by searches as long as `budget`."""
    at = _Map(claim, attack, witnesses, budget, bool(claim.assuming) and is_thin(claim, attack.seed))
    axes, values = _axes(claim, witnesses)
    places = [
        (label, over, dict(zip(axes, chosen, strict=True)))
        for label, over in options_of(claim)
        for chosen in itertools.product(*(values[name] for name in axes))
    ]
    share = SHARE * attack.left() * attack.rate / max(len(places), 1)
    each = int(min(max(share, LEAST), MOST, max(budget, 1)))
    cells = []
    for label, over, sizes in places:
        fixed = {name: range(value, value + 1) for name, value in sizes.items()}
        if at.known(fixed, over) is not None:
            cells.append(Cell(sizes, label, FAILS, evidence="a counterexample of the pool lies there"))
        elif attack.left() <= 0:
            cells.append(Cell(sizes, label, UNKNOWN, evidence="time was short"))
        elif at.stretched(fixed, over):
            cells.append(Cell(sizes, label, FAILS, evidence="a counterexample of the pool, continued to these sizes"))
        else:
            cells.append(Cell(sizes, label, *at.outcome(fixed_claim(claim, fixed, over), each)))
        progress()
    kinds = [_kind(at, name, kind, each) for name, kind in kinds_of(claim)]
    rescues: list[tuple[Rescue, dict[str, range], dict[str, Domain]]] = []
    tried = set()
    for _ in range(24):
        cells, kinds = _held_against_the_pool(at, cells, kinds)
        rescues = [one for one in rescues if at.known(*one[1:]) is None]
        candidate = next(
            (
                one
                for one in _restrictions(claim, axes, cells, kinds)
                if one[0] not in tried and at.known(*one[1:]) is None
            ),
            None,
        )
        if candidate is None or len(rescues) == RESCUES or attack.left() <= 0:
            break
        tried.add(candidate[0])
        rescue = _rescue(at, *candidate)
        if rescue is not None:
            rescues.append((rescue, *candidate[1:]))
        progress()
    cells, kinds = _held_against_the_pool(at, cells, kinds)
    rescues = [one for one in rescues if at.known(*one[1:]) is None]
    rows, columns = (*axes, "", "")[:2]
    return FailureMap(rows, columns, tuple(cells), tuple(kinds), tuple(one[0] for one in rescues))


def _padded(values: Any, shape: tuple[int, ...], mode: Any) -> Any:
    """An array continued to a larger shape; None where it is not larger."""
    values = np.asarray(values)
    wider = [new - old for new, old in zip(shape, values.shape, strict=False)]
    if len(shape) != values.ndim or min(wider, default=0) < 0:
        return None
    return np.pad(values, [(0, more) for more in wider], mode=mode)


def fixed_claim(claim: Claim, sizes: Mapping[str, range], over: Mapping[str, Domain]) -> Claim:
    """The claim with sizes and domains of its own, under its own name: the random streams are the same throughout."""
    changed = claim.replace(over=dict(over))
    known = changed.size_ranges()
    changed = changed.replace(sizes={name: values for name, values in sizes.items() if name in known})
    return restated(changed, "map", lambda relations, _: relations)


def _axes(claim: Claim, witnesses: Witnesses) -> tuple[list[str], dict[str, list[int]]]:
    """The sizes along which the map is drawn, and their values: the counterexamples' sizes are among them."""
    ranges = claim.size_ranges()
    axes = sorted((name for name in ranges if len(ranges[name]) > 1), key=lambda name: _first_use(claim, name))[:2]
    most = LONGEST if len(axes) == 1 else LARGEST
    choices = max(len(list(options_of(claim))), 1)
    while len(axes) == 2 and most > 3 and most * most * choices > CELLS:
        most -= 1
    values = {}
    for name in axes:
        known = [w.raw.sizes[name] for w in witnesses.found if name in w.raw.sizes]
        chosen = set(list(ranges[name])[:most])
        for size in known[:3]:
            place = ranges[name].index(size) if size in ranges[name] else None
            if place is not None:
                chosen |= set(list(ranges[name])[max(place - 1, 0) : place + 3])
        values[name] = sorted(chosen)
    return axes, values


def _first_use(claim: Claim, name: str) -> int:
    """Where a size is first named in the domains, as they are written."""
    written = " ".join(str(domain) for domain in claim.over.values())
    place = re.search(rf"\b{re.escape(name)}\b", written)
    return place.start() if place else len(written)


def options_of(claim: Claim) -> Iterator[tuple[str, dict[str, Domain]]]:
    """Every combination of options, as a label and the domains that have it."""
    norms = {name: domain for name, domain in claim.over.items() if isinstance(domain, Norm) and len(domain.kinds) > 1}
    if not norms:
        yield "", {}
        return
    for kinds in itertools.product(*(domain.kinds for domain in norms.values())):
        chosen = dict(zip(norms, kinds, strict=True))
        label = ", ".join(f"{name} = {kind}" for name, kind in chosen.items())
        yield label, {name: replace(norms[name], kinds=(kind,)) for name, kind in chosen.items()}


def kinds_of(claim: Claim) -> Iterator[tuple[str, Domain]]:
    """Every variable with each of the narrower domains that the command line knows."""
    for name, domain in claim.over.items():
        for kind in narrower(domain):
            if not kind.excluded({size: max(values) for size, values in claim.size_ranges().items()}):
                yield name, kind


def _kind(at: _Map, name: str, kind: Domain, budget: int) -> Kind:
    label = f"{name} in {kind}"
    if at.known({}, {name: kind}) is not None:
        return Kind(label, name, str(kind), FAILS, evidence="a counterexample of the pool lies there")
    if at.attack.left() <= 0:
        return Kind(label, name, str(kind), UNKNOWN, evidence="time was short")
    return Kind(label, name, str(kind), *at.outcome(fixed_claim(at.claim, _failing_sizes(at), {name: kind}), budget))


def _failing_sizes(at: _Map) -> dict[str, range]:
    """From the least sizes of the known counterexamples on, where a restriction has something to save."""
    ranges = at.claim.size_ranges()
    least = {name: min((w.raw.sizes.get(name, 0) for w in at.witnesses.found), default=0) for name in ranges}
    return {name: values[values.index(least[name]) :] for name, values in ranges.items() if least[name] in values}


def _held_against_the_pool(at: _Map, cells: list[Cell], kinds: list[Kind]) -> tuple[list[Cell], list[Kind]]:
    """The map once more, with every counterexample that is known by now."""
    options = dict(options_of(at.claim))
    domains = {f"{name} in {kind}": (name, kind) for name, kind in kinds_of(at.claim)}
    now = []
    for cell in cells:
        fixed = {name: range(value, value + 1) for name, value in cell.sizes.items()}
        fails = cell.outcome != FAILS and at.known(fixed, options[cell.options]) is not None
        now.append(replace(cell, outcome=FAILS, evidence="a counterexample of the pool lies there") if fails else cell)
    seen = []
    for kind in kinds:
        name, domain = domains[kind.label]
        fails = kind.outcome != FAILS and at.known({}, {name: domain}) is not None
        seen.append(replace(kind, outcome=FAILS, evidence="a counterexample of the pool lies there") if fails else kind)
    return now, seen


# ---- what saves it ----------------------------------------------------------


def _rescue(at: _Map, label: str, sizes: dict[str, range], over: dict[str, Domain]) -> Rescue | None:
    """The restriction, if no search refutes it: at its sizes, where the claim fails, and beyond the stated sizes."""
    failing = _failing_sizes(at)
    narrowed = {name: sizes.get(name, values) for name, values in failing.items()}
    instances = evaluations = 0
    searches = [(sizes, SEEDS)]
    if not sizes and narrowed != at.claim.size_ranges():
        searches.append((narrowed, SEEDS))
    further = {name: _further(name, sizes, at.claim) for name in at.claim.size_ranges() if name not in sizes}
    for chosen, seeds in searches:
        outcome, met, spent, _ = at.outcome(fixed_claim(at.claim, chosen, over), at.budget, seeds)
        instances, evaluations = instances + met, evaluations + spent
        if outcome != SURVIVES:
            return None
    if further and any(len(values) > 1 for values in further.values()):
        outcome, met, spent, _ = at.outcome(fixed_claim(at.claim, {**sizes, **further}, over), at.budget)
        if outcome == FAILS:
            return None
    proved = _proved(at, fixed_claim(at.claim, sizes, over))
    if proved is None:
        return None
    return Rescue(label, instances, evaluations, commands.falsify(at.claim, over, sizes), proved)


def _proved(at: _Map, restricted: Claim) -> tuple[str, ...] | None:
    """The sizes at which a restricted claim is proved; none if the model of a proof certifies that it fails."""
    answers: list[proofs.Answer] = []
    proofs.prove(restricted, min(PROOF, max(at.attack.left(), 0.0)), answers.append)
    for answer in answers:
        certificate = None if answer.model is None else certified(restricted, answer.model)
        if certificate is not None:
            at.witnesses.add(certificate, at.attack.seed, answer.method)
            return None
    return tuple(
        ", ".join(f"{name} = {size}" for name, size in sizes.items()) or "every size" for sizes in proofs.whole(answers)
    )


def _further(name: str, sizes: Mapping[str, range], claim: Claim) -> range:
    """Sizes up to twice the largest stated one."""
    values = sizes.get(name, claim.size_ranges()[name])
    top = max(values)
    return range(min(values), min(max(FURTHER * top, top + 2), max(LARGEST_TRIED, top)) + 1, values.step)


_TRIVIAL = (EqualRows, Permutation)


def _is_trivial(kind: Domain) -> bool:
    """Whether a kind leaves so little that it saves many a claim and explains none."""
    return isinstance(kind.inner if isinstance(kind, Stack) else kind, _TRIVIAL)


def _restrictions(
    claim: Claim, axes: list[str], cells: list[Cell], kinds: list[Kind]
) -> Iterator[tuple[str, dict[str, range], dict[str, Domain]]]:
    """Candidates, the widest first: options, kinds, several sizes; then one size alone, and kinds that leave little."""
    options = dict(options_of(claim))
    for label, over in options.items():
        if label and _all_survive([cell for cell in cells if cell.options == label]):
            yield label, {}, over
    saved = {kind.label for kind in kinds if kind.outcome == SURVIVES}
    domains = [(name, kind) for name, kind in kinds_of(claim) if f"{name} in {kind}" in saved]
    by_size = []
    for name in axes:
        by_size += list(_size_restrictions(claim, name, cells, {}, ""))
    for name, (label, over) in itertools.product(axes, options.items()):
        if label:
            by_size += list(
                _size_restrictions(claim, name, [c for c in cells if c.options == label], over, f" and {label}")
            )
    yield from ((f"{name} in {kind}", {}, {name: kind}) for name, kind in domains if not _is_trivial(kind))
    yield from (one for one in by_size if any(len(values) > 1 for values in one[1].values()))
    yield from (one for one in by_size if all(len(values) == 1 for values in one[1].values()))
    yield from ((f"{name} in {kind}", {}, {name: kind}) for name, kind in domains if _is_trivial(kind))


def _size_restrictions(
    claim: Claim, name: str, cells: list[Cell], over: dict[str, Domain], further: str
) -> Iterator[tuple[str, dict[str, range], dict[str, Domain]]]:
    """Sizes at which all cells survive: from a value on if they reach the end of the map, else up to a value."""
    shown = sorted({cell.sizes[name] for cell in cells})
    values = list(claim.size_ranges()[name])
    good = [value for value in shown if _all_survive([cell for cell in cells if cell.sizes[name] == value])]
    upper = [value for value in shown if all(v in good for v in shown if v >= value)]
    lower = [value for value in shown if all(v in good for v in shown if v <= value)]
    step = claim.size_ranges()[name].step
    if upper and upper[0] != shown[0]:
        yield f"{name} >= {upper[0]}{further}", {name: range(upper[0], values[-1] + 1, step)}, over
    if lower and lower[-1] != shown[-1]:
        sign = "=" if lower[-1] == values[0] else "<="
        yield f"{name} {sign} {lower[-1]}{further}", {name: range(values[0], lower[-1] + 1, step)}, over


def _all_survive(cells: list[Cell]) -> bool:
    return bool(cells) and all(cell.outcome == SURVIVES for cell in cells)
