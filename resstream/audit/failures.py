"""Where a false claim fails and where it survives: a map over sizes, options and kinds of matrices."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from resstream.audit.attack import searched
from resstream.audit.kinds import narrower
from resstream.audit.restate import restated
from resstream.claim import Claim
from resstream.domains import Domain, Norm

LARGEST = 4
"""How many values of a size the map has."""

CELL = 2048
"""Evaluations for a cell of the map."""

FULL = 16_384
"""Evaluations for an added hypothesis under which every cell survived."""

FAILS, SURVIVES, UNKNOWN = "fails", "survives", "unknown"


@dataclass(frozen=True)
class Cell:
    """One place of the map: sizes held fixed, options held fixed, a variable restricted to a kind."""

    sizes: Mapping[str, int]
    options: str
    outcome: str
    instances: int = 0


@dataclass(frozen=True)
class FailureMap:
    """Where a claim fails.

    cells: every combination of up to four values of the first two sizes and every option. kinds: each variable
    restricted to narrower domains, at all sizes. rescue: the first added hypotheses under which the claim survives a
    full search, from the least restrictive on.
    """

    rows: str
    columns: str
    cells: tuple[Cell, ...] = ()
    kinds: tuple[tuple[str, str, int], ...] = ()
    rescue: tuple[tuple[str, int], ...] = ()

    @property
    def options(self) -> list[str]:
        """The combinations of options, each a map of its own."""
        return list(dict.fromkeys(cell.options for cell in self.cells))


@dataclass
class _Search:
    """The small searches of a map."""

    seed: int
    left: Callable[[], float]

    def outcome(self, claim: Claim, budget: int) -> tuple[str, int]:
        """What a search of a restricted claim says."""
        verdict = searched(claim, budget, self.seed, floor=50)
        names = {"refuted": FAILS, "survived": SURVIVES}
        return names.get(verdict.status, UNKNOWN), verdict.tally.accepted


def _fixed(claim: Claim, sizes: Mapping[str, range], over: Mapping[str, Domain]) -> Claim:
    """The claim with sizes and domains of its own, under its own name: the random streams are the same throughout."""
    changed = claim.replace(over=dict(over))
    known = changed.size_ranges()
    changed = changed.replace(sizes={name: values for name, values in sizes.items() if name in known})
    return restated(changed, "map", lambda relations, _: relations)


def failure_map(
    claim: Claim,
    seed: int = 0,
    left: Callable[[], float] = lambda: float("inf"),
    progress: Callable[[], None] = lambda: None,
) -> FailureMap:
    """Where a claim fails; `left` gives the seconds that are left, and what they did not suffice for is left out."""
    small = _Search(seed, left)
    ranges = {name: tuple(values)[:LARGEST] for name, values in claim.size_ranges().items()}
    axes = sorted((name for name in ranges if len(ranges[name]) > 1), key=lambda name: _first_use(claim, name))[:2]
    cells: list[Cell] = []
    for label, restriction in _options(claim):
        for values in itertools.product(*(ranges[name] for name in axes)):
            if left() <= 0:
                break
            sizes = dict(zip(axes, values, strict=True))
            fixed = {name: range(value, value + 1) for name, value in sizes.items()}
            outcome, instances = small.outcome(_fixed(claim, fixed, restriction), CELL)
            cells.append(Cell(sizes, label, outcome, instances))
            progress()
    kinds = []
    for name, kind in _kinds(claim):
        if left() <= 0:
            break
        outcome, instances = small.outcome(_fixed(claim, {}, {name: kind}), CELL)
        kinds.append((f"{name} in {kind}", outcome, instances))
        progress()
    rows, columns = (*axes, "", "")[:2]
    return FailureMap(rows, columns, tuple(cells), tuple(kinds), tuple(_rescues(claim, small, axes, cells, kinds)))


def _first_use(claim: Claim, name: str) -> int:
    """Where a size is first named in the domains, as they are written."""
    written = " ".join(str(domain) for domain in claim.over.values())
    place = re.search(rf"\b{re.escape(name)}\b", written)
    return place.start() if place else len(written)


def _options(claim: Claim) -> Iterator[tuple[str, dict[str, Domain]]]:
    """Every combination of options, as a label and the domains that have it."""
    norms = {name: domain for name, domain in claim.over.items() if isinstance(domain, Norm)}
    if not norms:
        yield "", {}
        return
    for kinds in itertools.product(*(domain.kinds for domain in norms.values())):
        chosen = dict(zip(norms, kinds, strict=True))
        label = ", ".join(f"{name} = {kind}" for name, kind in chosen.items())
        yield label, {name: Norm(norms[name].size, (kind,), bases=False) for name, kind in chosen.items()}


def _kinds(claim: Claim) -> Iterator[tuple[str, Domain]]:
    for name, domain in claim.over.items():
        for kind in narrower(domain):
            yield name, kind


def _rescues(
    claim: Claim, small: _Search, axes: list[str], cells: list[Cell], kinds: list[tuple[str, str, int]]
) -> Iterator[tuple[str, int]]:
    """Restrictions under which no cell fails, verified by a longer search: options, kinds, then sizes, then pairs."""
    found = 0
    for label, sizes, over in _restrictions(claim, axes, cells, kinds):
        if small.left() <= 0 or found == 3:
            return
        outcome, instances = small.outcome(_fixed(claim, sizes, over), FULL)
        if outcome == SURVIVES:
            found += 1
            yield label, instances


def _restrictions(
    claim: Claim, axes: list[str], cells: list[Cell], kinds: list[tuple[str, str, int]]
) -> Iterator[tuple[str, dict[str, range], dict[str, Domain]]]:
    options = dict(_options(claim))
    for label, over in options.items():
        if label and _all_survive([cell for cell in cells if cell.options == label]):
            yield label, {}, over
    surviving = {change for change, outcome, _ in kinds if outcome == SURVIVES}
    for name, kind in _kinds(claim):
        if f"{name} in {kind}" in surviving:
            yield f"{name} in {kind}", {}, {name: kind}
    for name in axes:
        values = sorted({cell.sizes[name] for cell in cells})
        good = [value for value in values if _all_survive([cell for cell in cells if cell.sizes[name] == value])]
        if good:
            yield from _size_restriction(claim, name, good, {}, "")
    for name, (label, over) in itertools.product(axes, options.items()):
        chosen = [cell for cell in cells if cell.options == label]
        values = sorted({cell.sizes[name] for cell in chosen})
        good = [value for value in values if _all_survive([cell for cell in chosen if cell.sizes[name] == value])]
        if label and good:
            yield from _size_restriction(claim, name, good, over, f" and {label}")


def _size_restriction(
    claim: Claim, name: str, good: list[int], over: dict[str, Domain], further: str
) -> Iterator[tuple[str, dict[str, range], dict[str, Domain]]]:
    """Sizes at which all cells survive: from a value on if they reach the end of the map, else up to a value."""
    values = list(claim.size_ranges()[name])
    shown = values[:LARGEST]
    upper = [value for value in shown if all(v in good for v in shown if v >= value)]
    lower = [value for value in shown if all(v in good for v in shown if v <= value)]
    if upper and upper[0] != shown[0]:
        yield f"{name} >= {upper[0]}{further}", {name: range(upper[0], values[-1] + 1)}, over
    elif lower and lower[-1] != shown[-1]:
        sign = "=" if lower[-1] == shown[0] else "<="
        yield f"{name} {sign} {lower[-1]}{further}", {name: range(values[0], lower[-1] + 1)}, over


def _all_survive(cells: list[Cell]) -> bool:
    return bool(cells) and all(cell.outcome == SURVIVES for cell in cells)
