"""A claim at given objects: numbers that somebody has, read as the exact numbers that they are, and judged.

As points, moved into their domains exactly where rounding left them outside, or as balls about the numbers given, of
which all members of the domains are judged at once (`resstream.falsify.objects`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

from resstream.arithmetic import Ball, BallEntry, to_float
from resstream.claim import Claim, Instance
from resstream.errors import ArithmeticLimit, ClaimError, DomainError
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.counterexample import beside_text
from resstream.falsify.judge import HOLDS, OUTSIDE, PRECISIONS, TIED, UNDECIDED, VIOLATED, Judgement
from resstream.falsify.objects import ROUNDING, Radius, Taken, fitted, sizes_of, taken

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
    taken: Mapping[str, Taken]
    """How each object was taken: as given, moved into its domain and how far, or as a ball and how wide."""

    @property
    def balls(self) -> bool:
        """Whether the answer is of all members of the domains in balls about the objects, not of points."""
        return any(one.radius for one in self.taken.values())

    @property
    def projected(self) -> dict[str, str]:
        """What was moved to be in its domain, and how far, in words."""
        return {name: one.note for name, one in self.taken.items() if one.distance and not one.radius}

    @property
    def outcome(self) -> str:
        """ "holds", "violated", "tied" (an equality that 1,024 bits cannot tell from one), "outside", "undecided"..."""
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
        if self.balls:
            return f"{_OF_BALLS.get(self.outcome, self.outcome)} ({certified})"
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
            rows += [("because", beside_text(one)) for one in self.judgement.beside]
            rows += [("relation", f"left {self.judgement.kind} right"), ("relative margin", f"{self.margin:.4g}")]
        if self.tightness is not None:
            rows.append(("tightness", f"{self.tightness:.6g}"))
        if self.judgement.reason:
            rows.append(("reason", self.judgement.reason))
        for name, one in self.taken.items():
            rows += [(f"{name} was {'taken as a ball' if one.radius else 'projected'}", one.note)] if one.note else []
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
            "taken": {
                name: {
                    "as": "ball" if one.radius else "projected" if one.distance else "given",
                    "distance": float(one.distance),
                    "radius": float(one.radius),
                    "note": one.note or None,
                }
                for name, one in self.taken.items()
            },
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
    """Twelve digits, or an enclosure that is wider than that."""
    value = _as_float(side)
    if value is None:
        return str(side)
    if isinstance(side, BallEntry) and (wide := float(side.value.rad())) > 1e-12 * abs(value):
        return f"{value:.6g} ± {wide:.2g}"
    return f"{value:.12g}"


_OF_BALLS = {
    HOLDS: "holds for every member of the domains in the balls",
    VIOLATED: "violated by every member of the domains in the balls",
    OUTSIDE: "says nothing of any member of the domains in the balls: a hypothesis fails",
    UNDECIDED: "undecided: the balls are too wide to tell, or hold members of either kind",
}


# ---- judging ----------------------------------------------------------------


def at(
    claim: Claim,
    objects: Mapping[str, Any],
    sizes: Mapping[str, int] | None = None,
    around: Radius = None,
    precisions: tuple[int, ...] = PRECISIONS,
) -> At:
    """Judge a claim at given objects, one for each of its variables.

    Arrays of NumPy, torch or JAX and nested lists; a norm as "l1", "l2" or "linf"; a stack as a list. sizes: those that
    no shape tells. around: None for the objects themselves; "rounding" for all members of the domains in balls of the
    rounding of the floats given; a positive number for all whose entries are within so much. Raises ClaimError for a
    variable too many or too few and for a claim about a size that grows, DomainError for an object that is not in its
    domain, by name, and for other radii.
    """
    for name in (*objects, *claim.over):
        if name not in claim.over or name not in objects:
            what = "is no variable of it" if name not in claim.over else "is missing"
            raise ClaimError(f"claim {claim.id}: {name} {what}; expected {', '.join(claim.over)}")
    if claim.as_grows is not None:
        raise ClaimError(f"claim {claim.id}: its quantity {claim.as_grows.wording}, which no objects hold or violate")
    _require_radius(around)
    numbers = {name: taken(name, domain, objects[name]) for name, domain in claim.over.items()}
    known = sizes_of(claim, numbers, sizes or {})
    found = {
        name: fitted(name, domain, numbers[name], objects[name], known, around) for name, domain in claim.over.items()
    }
    pinned = dataclasses.replace(
        claim,
        over={name: found[name].domain(domain) for name, domain in claim.over.items()},
        sizes={name: range(size, size + 1) for name, size in known.items()},
    )
    raw = Instance(
        known,
        {f"{name}.{option}": choice for name, one in found.items() for option, choice in one.options().items()},
        {
            f"{name}.{path}" if path else name: array
            for name, one in found.items()
            for path, array in one.arrays().items()
        },
    )
    # More bits make no ball of given numbers narrower.
    wide = any(one.radius for one in found.values())
    certified = certify(pinned, raw, precisions[:1] if wide else precisions)
    judgement = certified.judgement if isinstance(certified, Certificate) else certified
    return At(claim, raw, _hypotheses(pinned, raw), judgement, found)


def _require_radius(around: Radius) -> None:
    if around is None or around == ROUNDING:
        return
    if isinstance(around, bool | str) or not isinstance(around, int | float | Fraction) or not 0 < around < np.inf:
        raise DomainError(f'around: expected None, "{ROUNDING}" or a positive number, got {around!r:.40}')


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
