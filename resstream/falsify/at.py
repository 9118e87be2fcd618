"""A claim at given objects: numbers that somebody has, read as the exact numbers that they are, and judged.

Where a domain asks for exactness that rounding broke (rows that sum to 1 - 3e-8) the object is projected: its rows are
divided by their sums, in rationals, and the distance is reported. Beyond 16 roundings an entry it is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

from resstream.arithmetic import RATIONAL, Array, Ball, to_float
from resstream.claim import Claim, Instance
from resstream.domains import Count, Domain, Options, Part, Parts, RowStochastic, Sizes, Stack
from resstream.domains import Norm as NormDomain
from resstream.errors import ArithmeticLimit, ClaimError, DomainError
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.judge import HOLDS, OUTSIDE, PRECISIONS, TIED, VIOLATED, Judgement
from resstream.foreign import as_numbers, rounding
from resstream.reference.norms import Norm

ROUNDINGS = 16
"""How many roundings an entry the sum of a row may be away from one."""


# ---- a domain with one member -----------------------------------------------


@dataclass(frozen=True)
class Exactly(Domain):
    """One object of another domain: its numbers are the raw arrays, and building puts them into their places."""

    inner: Domain
    template: Any = dataclasses.field(compare=False, repr=False)

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {path: Part(array.shape) for path, array in arrays_in(self.template).items()}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return with_arrays(self.template, raw)

    def __str__(self) -> str:
        return f"one member of {self.inner}"


def arrays_in(value: Any, path: str = "") -> dict[str, Array]:
    """The arrays inside an object by the path to them: lists by number, dataclasses by field, "" for an array."""
    if isinstance(value, np.ndarray):
        return {path: value}
    found: dict[str, Array] = {}
    for name, inner in _inner(value):
        found |= arrays_in(inner, f"{path}.{name}" if path else name)
    return found


def with_arrays(value: Any, arrays: Mapping[str, Array], path: str = "") -> Any:
    """The same object with other arrays, by the path to them."""
    if isinstance(value, np.ndarray):
        return arrays[path]
    made = {name: with_arrays(inner, arrays, f"{path}.{name}" if path else name) for name, inner in _inner(value)}
    if isinstance(value, list | tuple):
        return type(value)(made.values())
    return dataclasses.replace(value, **made) if made else value


def _inner(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        return [(str(place), inner) for place, inner in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        return [
            (entry.name, inner)
            for entry in fields(value)
            if isinstance(inner := getattr(value, entry.name), np.ndarray | list | tuple)
        ]
    return []


# ---- the answer -------------------------------------------------------------


@dataclass(frozen=True)
class Checked:
    """One hypothesis at the objects: its name, whether it holds, and its sides where it is decided."""

    name: str
    status: str
    shown: str


@dataclass(frozen=True, repr=False)
class At:
    """A claim at given objects, judged exactly."""

    claim: Claim
    raw: Instance
    hypotheses: Sequence[Checked]
    judgement: Judgement
    projected: Mapping[str, str]
    """What was moved to be in its domain, and how far."""

    @property
    def outcome(self) -> str:
        """ "holds", "violated", "tied" (an equality that 1024 bits cannot tell from one), "outside", "undecided"..."""
        return self.judgement.outcome

    @property
    def certified(self) -> bool:
        """Whether exact arithmetic decided: ties and what is undecided are not."""
        return self.outcome in (HOLDS, VIOLATED, OUTSIDE)

    @property
    def lhs(self) -> Any:
        """The left side as stated, at the entry nearest to a violation: a ball or a rational."""
        return self.judgement.lhs

    @property
    def rhs(self) -> Any:
        """The right side as stated, there."""
        return self.judgement.rhs

    @property
    def margin(self) -> float:
        """(rhs - lhs)/(|lhs| + |rhs|) there, for lhs at most rhs; negative for a violation."""
        return self.judgement.margin

    @property
    def tightness(self) -> float | None:
        """The smaller side over the larger, 1 where a bound is attained; None for an equality, or without sides."""
        if self.judgement.kind in ("", "==", "!="):
            return None
        lhs, rhs = (_as_float(side) for side in (self.lhs, self.rhs))
        small, large = (rhs, lhs) if self.judgement.kind in (">=", ">") else (lhs, rhs)
        if small is None or large is None:
            return None
        return small / large if large else (1.0 if small == 0 else None)

    def __repr__(self) -> str:
        return f"<{self.claim.id} {self._verdict()}>"

    def _verdict(self) -> str:
        certified = "certified" if self.certified else "not certified"
        if self.outcome == OUTSIDE:
            return f"says nothing here: a hypothesis fails ({certified})"
        if self.outcome == TIED:
            return "holds as far as can be told: the sides agree in every digit computed"
        return f"{self.outcome} ({certified})"

    def rows(self) -> list[tuple[str, str]]:
        """What there is to say, by name."""
        rows = [("verdict", self._verdict())]
        rows += [(f"hypothesis {one.name}", f"{one.status}: {one.shown}") for one in self.hypotheses]
        if self.judgement.kind:
            rows += [("left side", _number(self.lhs)), ("right side", _number(self.rhs))]
            rows += [("relation", f"left {self.judgement.kind} right"), ("relative margin", f"{self.margin:.4g}")]
        if self.tightness is not None:
            rows.append(("tightness", f"{self.tightness:.6g}"))
        if self.judgement.reason:
            rows.append(("reason", self.judgement.reason))
        rows += [(f"{name} was projected", note) for name, note in self.projected.items()]
        rows.append(("sizes", ", ".join(f"{name} = {size}" for name, size in self.raw.sizes.items())))
        rows.append(("read in", self.judgement.reading))
        return rows

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows())
        return "\n".join([self.claim.id, *(f"  {name:<{width}}  {text}" for name, text in self.rows())])

    def __rich__(self) -> Any:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for name, text in self.rows():
            table.add_row(Text(name, style="bold"), Text(text))
        return Panel(table, title=Text(self.claim.id), title_align="left", expand=False)

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.rows())
        return f'<table class="resstream-at"><caption>{escape(self.claim.id)}</caption>{cells}</table>'

    def json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "claim": self.claim.id,
            "outcome": self.outcome,
            "certified": self.certified,
            "hypotheses": [dataclasses.asdict(one) for one in self.hypotheses],
            "lhs": _number(self.lhs) if self.judgement.kind else None,
            "relation": self.judgement.kind or None,
            "rhs": _number(self.rhs) if self.judgement.kind else None,
            "margin": None if np.isnan(self.margin) else self.margin,
            "tightness": self.tightness,
            "projected": dict(self.projected),
            "sizes": dict(self.raw.sizes),
            "reading": self.judgement.reading,
            "reason": self.judgement.reason,
        }


def _as_float(side: Any) -> float | None:
    try:
        return to_float(side)
    except (TypeError, ValueError):
        return None


def _number(side: Any) -> str:
    value = _as_float(side)
    return str(side) if value is None else f"{value:.12g}"


# ---- judging ----------------------------------------------------------------


def at(
    claim: Claim,
    objects: Mapping[str, Any],
    sizes: Mapping[str, int] | None = None,
    precisions: tuple[int, ...] = PRECISIONS,
) -> At:
    """Judge a claim at given objects, one for each of its variables.

    Arrays of NumPy, torch or JAX and nested lists; a norm as "l1", "l2" or "linf"; a stack as a list. sizes: those that
    no shape tells. Raises ClaimError for a variable too many or too few, DomainError for an object that is not in its
    domain, by name.
    """
    for name in (*objects, *claim.over):
        if name not in claim.over or name not in objects:
            what = "is no variable of it" if name not in claim.over else "is missing"
            raise ClaimError(f"claim {claim.id}: {name} {what}; expected {', '.join(claim.over)}")
    taken = {name: _taken(name, domain, objects[name]) for name, domain in claim.over.items()}
    known = sizes_of(claim, taken, sizes or {})
    projected: dict[str, str] = {}
    members = {}
    for name, domain in claim.over.items():
        members[name], note = _member(name, domain, taken[name], objects[name], known)
        if note:
            projected[name] = note
    pinned = dataclasses.replace(
        claim, over={name: Exactly(claim.over[name], members[name]) for name in claim.over}, sizes={}
    )
    raw = Instance(
        known,
        {},
        {
            f"{name}.{path}" if path else name: array
            for name, member in members.items()
            for path, array in arrays_in(member).items()
        },
    )
    found = certify(pinned, raw, precisions)
    judgement = found.judgement if isinstance(found, Certificate) else found
    return At(claim, raw, _hypotheses(pinned, raw), judgement, projected)


def _hypotheses(claim: Claim, raw: Instance) -> list[Checked]:
    checked = []
    for function in claim.assuming:
        system = Ball(PRECISIONS[0])
        with system.working():
            one = dataclasses.replace(claim, assuming=(function,))
            try:
                decision = one.hypotheses(one.build(raw, system)).decide(system)
            except (DomainError, ArithmeticLimit) as limit:
                checked.append(Checked(function.__name__, "undecided", str(limit)))
                continue
            shown = f"{_number(decision.lhs)} {decision.symbol} {_number(decision.rhs)}"
            checked.append(Checked(function.__name__, "met" if decision.status == HOLDS else decision.status, shown))
    return checked


def _taken(name: str, domain: Domain, value: Any) -> Any:
    """An object as somebody gave it, with its arrays as exact numbers and two axes."""
    if isinstance(domain, NormDomain):
        if isinstance(value, str) and value in domain.options()["kind"]:
            return Norm(value)
        if isinstance(value, Norm):
            return value
        raise DomainError(f"{name}: expected a norm, one of {', '.join(domain.options()['kind'])}, got {value!r:.40}")
    if isinstance(domain, Count):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise DomainError(f"{name}: expected a whole number of at least 0, got {value!r:.40}")
        return int(value)
    if isinstance(domain, Stack):
        if isinstance(value, str | bytes) or not hasattr(value, "__len__") or not len(value):
            raise DomainError(f"{name}: expected a list of some objects of {domain.inner}, got {type(value).__name__}")
        return [_taken(f"{name}[{place}]", domain.inner, inner) for place, inner in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        arrays = {path: as_numbers(array, f"{name}.{path}") for path, array in arrays_in(value).items()}
        return with_arrays(value, arrays)
    if isinstance(value, list | tuple) and any(is_dataclass(inner) for inner in value):
        return [_taken(f"{name}[{place}]", domain, inner) for place, inner in enumerate(value)]
    array = as_numbers(value, name)
    if array.ndim < 2:
        array = array.reshape(1, -1)
    if array.ndim != 2 or not array.size:
        raise DomainError(f"{name}: expected one object with two axes (rows, columns), got shape {array.shape}")
    return array


def sizes_of(claim: Claim, objects: Mapping[str, Any], given: Mapping[str, int]) -> dict[str, int]:
    """The number that each size stands for, by the shapes of the objects; ones that disagree raise DomainError."""
    sizes = dict(given)
    for name, value in objects.items():
        _meet(name, claim.over[name], value, sizes)
    missing = [size for size in claim.size_ranges() if size not in sizes]
    if missing:
        raise DomainError(f"sizes: no object tells {', '.join(missing)}: give sizes={{{missing[0]!r}: ...}}")
    return {size: sizes[size] for size in claim.size_ranges()}


def _meet(name: str, domain: Domain, value: Any, sizes: dict[str, int]) -> None:
    def settle(size: Any, number: int) -> None:
        known = sizes.setdefault(size, number) if isinstance(size, str) else size
        if known is not None and known != number:
            raise DomainError(f"{name}: has {number} where {domain} has {size}, which is {known} elsewhere")

    given = vars(domain)
    if isinstance(domain, Stack):
        settle(domain.length, len(value))
        for place, inner in enumerate(value):
            _meet(f"{name}[{place}]", domain.inner, inner, sizes)
    elif isinstance(domain, Count):
        settle(domain.size, value)
    elif isinstance(value, np.ndarray):
        rows = given.get("rows", given.get("length", given.get("size")))
        columns = given.get("columns", given.get("vocabulary")) or rows
        if "rows" not in given and "length" not in given and type(domain).__name__ == "NonConstant":
            rows, columns = 1, given["size"]
        elif type(domain).__name__ == "NonConstant":
            rows, columns = given.get("rows", 1), given["size"]
        elif type(domain).__name__ in ("Scalar", "Whole"):
            rows, columns = given.get("rows", 1), 1
        settle(rows, value.shape[0])
        settle(columns, value.shape[1])


def _member(name: str, domain: Domain, value: Any, given: Any, sizes: Sizes) -> tuple[Any, str]:
    """The object, moved into its domain where rounding alone put it outside, and how far; DomainError elsewhere."""
    if isinstance(domain, Stack):
        found = [_member(f"{name}[{k}]", domain.inner, one, given[k], sizes) for k, one in enumerate(value)]
        notes = [note for _, note in found if note]
        return [one for one, _ in found], notes[0] if notes else ""
    note = ""
    if isinstance(domain, RowStochastic):
        value, note = _projected(name, domain, value, rounding(given), sizes)
    try:
        inside = domain.contains(_in_rationals(value), sizes)
    except NotImplementedError as unknown:
        raise DomainError(f"{name}: {unknown}, so it cannot be given") from None
    if not inside:
        raise DomainError(f"{name}: the object given is not in {domain}")
    return value, note


def _in_rationals(value: Any) -> Any:
    return with_arrays(value, {path: RATIONAL.array(array) for path, array in arrays_in(value).items()})


def _projected(name: str, domain: RowStochastic, A: Array, epsilon: float, sizes: Sizes) -> tuple[Array, str]:
    exact = np.empty(A.shape, dtype=object)
    for place, entry in np.ndenumerate(A):
        exact[place] = Fraction(entry)
    allowed = domain.allowed(sizes)
    forbidden: Array = (A != 0) & ~allowed if A.shape == allowed.shape else np.zeros((0, 2), dtype=bool)
    if forbidden.any():
        at_row, at_column = (int(place) for place in np.argwhere(forbidden)[0])
        got = float(A[at_row, at_column])
        raise DomainError(f"{name}: expected 0 at [{at_row}, {at_column}] in {domain}, got {got}")
    bound = ROUNDINGS * A.shape[1] * Fraction(epsilon)
    furthest = Fraction(0)
    for index, row in enumerate(exact):
        if min(row) < 0:
            column = int(np.argmin(row))
            raise DomainError(
                f"{name}: expected entries of at least 0, got {float(row[column])} at [{index}, {column}]"
            )
        total = sum(row)
        if abs(total - 1) > bound:
            raise DomainError(
                f"{name}: row {index} sums to {float(total):.12g}, which is not 1 within {float(bound):.3g}, "
                f"{ROUNDINGS} roundings an entry of the numbers given"
            )
        moved = row / total
        furthest = max(furthest, sum(abs(row - moved)))
        exact[index] = moved
    if not furthest:
        return A, ""
    return exact, f"rows divided by their sums, exactly; no row moved by more than {float(furthest):.3g} in l1"
