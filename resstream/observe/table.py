"""Every claim at every place of a model: met, violated, how tight, how often vacuous."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Array, Literal, to_float
from resstream.claim import Claim
from resstream.errors import ResstreamError
from resstream.falsify.objects import Drawn
from resstream.observe.bind import Binding, Made, NotApplicable, Site
from resstream.observe.seen import Activations
from resstream.reference import L2, diameter, operator_norm
from resstream.relations import Comparison

SUSPECT = -1e-9
"""A relative margin in float64 below which a place goes to the judge; what is above and below 0 is a tie."""

EQUAL = 1e-9
"""How far the sides of an equality may be apart, over 1 + their largest entries, before the place goes to the judge."""

PERTURBATIONS = 8
"""Of the objects at each site, besides themselves, where perturbations are asked for."""

NEAR = 0.99
"""A bound at least this share of what is known without the theorem says nothing: it is vacuous."""


@dataclass(frozen=True)
class Place:
    """What a claim does at one site: how many instances it is there (rows, say), and how they stand."""

    site: Site
    instances: int
    met: int
    tightness: float | None
    """Largest lhs/rhs of an inequality there; None for an equality, or where no hypothesis is met."""
    vacuous: bool | None
    """Whether the bound says no more than is known without the theorem; None where nobody says what that is."""
    suspects: int
    worst: int
    """The instance nearest to a violation."""
    draw: int = 0
    """Which perturbation of the objects there; 0 is the objects themselves."""


@dataclass(frozen=True)
class Line:
    """One claim over the whole model."""

    id: str
    expect: str
    statement: str
    assumes: bool
    """Whether it has hypotheses."""
    unit: str
    drawn: tuple[str, ...]
    places: Sequence[Place]
    left_out: int = 0
    """Sites at which the shapes do not fit."""
    seconds: float = 0.0
    violated: Sequence[str] = ()
    """Sites whose violation is certified."""
    undecided: int = 0
    unjudged: int = 0
    """Places that floats find violated and that the judge was not asked about, having seen several."""
    unsettled: str = ""
    """Why the first of those that are undecided is."""
    certified: int = 0
    """Sites that the judge found to hold."""
    tied: int = 0
    """Sites whose sides the judge could not tell apart: what an equality of irrational numbers comes to at best."""
    reason: str = ""
    """Why the first site that was left out does not fit."""
    error: str = ""
    around: float | None = None
    """By how much the objects were perturbed besides."""
    balls: int = 0
    """How many places were judged as balls of that radius."""
    whole_balls: int = 0
    """Those of which every member was found to hold."""

    @property
    def instances(self) -> int:
        """How many instances were evaluated."""
        return sum(place.instances for place in self.places)

    @property
    def met(self) -> int:
        """How many met the hypotheses."""
        return sum(place.met for place in self.places)

    @property
    def tightness(self) -> Array:
        """lhs/rhs of every site of an inequality, in order of size."""
        return np.sort([place.tightness for place in self.places if place.tightness is not None])

    @property
    def is_bound(self) -> bool:
        """Whether it states an inequality somewhere, and so has a tightness."""
        return any(place.tightness is not None for place in self.places)

    def json(self) -> dict[str, Any]:
        """Everything, place by place, as plain values; the tightness is its median, least and largest."""
        return {
            "claim": self.id,
            "at": self.unit,
            "drawn": list(self.drawn),
            "instances": self.instances,
            "met": self.met,
            "tightness": [float(np.median(self.tightness)), *map(float, self.tightness[[0, -1]])]
            if self.is_bound
            else None,
            "vacuous": self.vacuous,
            "places": [
                {
                    "prompt": place.site.prompt,
                    "layer": place.site.layer,
                    "head": place.site.head,
                    "norm": place.site.norm or None,
                    "instances": place.instances,
                    "met": place.met,
                    "tightness": place.tightness,
                    "vacuous": place.vacuous,
                    "suspects": place.suspects,
                    "perturbation": place.draw,
                }
                for place in self.places
            ],
            "left out": self.left_out,
            "certified": self.certified,
            "violated": list(self.violated),
            "tied": self.tied,
            "undecided": self.undecided,
            "unjudged": self.unjudged,
            "why undecided": self.unsettled or None,
            "balls": self.balls,
            "balls certified": self.whole_balls,
            "error": self.error or None,
            "seconds": self.seconds,
        }

    @property
    def vacuous(self) -> float | None:
        """Share of the sites at which the bound says nothing; None where it is not known what that means."""
        known = [place.vacuous for place in self.places if place.vacuous is not None]
        return sum(known) / len(known) if known else None


def evaluate(
    binding: Binding,
    seen: Activations,
    sites: Iterable[Site],
    seed: int = 0,
    around: float | None = None,
) -> Line:
    """A claim at some sites, in float64; around: also at perturbations of the objects there by up to so much."""
    claim, places, left_out, reason, error = binding.claim, [], 0, "", ""
    start = time.monotonic()
    for site in sites:
        try:
            with FLOAT64.working():
                for draw in range(1 if around is None else 1 + PERTURBATIONS):
                    objects = _objects(binding, site, seen, seed, draw, around)
                    places.append(_place(claim, site, objects, draw))
        except NotApplicable as misfit:
            reason = reason or str(misfit)
            left_out += 1
        except (ResstreamError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as failure:
            error = error or f"{site}: {failure}"
            left_out += 1
    return Line(
        claim.id,
        claim.expect,
        claim.headline,
        bool(claim.assuming),
        binding.unit,
        binding.drawn,
        places,
        left_out,
        time.monotonic() - start,
        reason=reason,
        error=error,
        around=around,
    )


def objects_at(binding: Binding, place: Place, seen: Activations, seed: int, around: float | None) -> dict[str, Any]:
    """The objects that a place was evaluated at, the drawn ones as what they are built from, for the judge."""
    return _objects(binding, place.site, seen, seed, place.draw, around, lambda *made: Drawn(*made[2:]))


def _objects(
    binding: Binding,
    site: Site,
    seen: Activations,
    seed: int,
    draw: int,
    around: float | None,
    drawn: Made | None = None,
) -> dict[str, Any]:
    objects = binding.objects(site, seen, np.random.default_rng([seed, *binding.claim.seed_words()]), drawn)
    if not draw or around is None:
        return objects
    rng = np.random.default_rng([seed, draw, *binding.claim.seed_words()])
    return binding.perturbed(objects, around, rng)


def _place(claim: Claim, site: Site, objects: dict[str, Any], draw: int) -> Place:
    batches = [len(value) for value in objects.values() if isinstance(value, np.ndarray) and value.ndim > 2]
    count = max(batches, default=1)
    met = np.ones(count, dtype=bool)
    for hypothesis in claim.hypotheses(objects).conjuncts if claim.assuming else ():
        met &= ~(hypothesis.margin(count).relative < SUSPECT)
    suspects, nearest = np.zeros(count, dtype=bool), np.full(count, np.inf)
    largest, bound = np.full(count, -np.inf), -np.inf
    conclusion = claim.conclude(objects)
    for relation in conclusion.conjuncts:
        margin = relation.margin(count)
        nearest = np.minimum(nearest, np.nan_to_num(margin.relative, nan=-np.inf))
        if not isinstance(relation, Comparison):
            suspects |= ~(margin.relative >= SUSPECT)
            continue
        lhs, rhs = _sides(relation, count)
        scale = np.abs(lhs).max(-1) + np.abs(rhs).max(-1)
        if relation.is_equality:
            suspects |= ~(np.abs(rhs - lhs).max(-1) <= EQUAL * (1 + scale))
            continue
        suspects |= ~((rhs - lhs).min(-1) >= SUSPECT * scale)
        bound = max(bound, float(rhs[met].max(initial=-np.inf)))
        largest = np.maximum(largest, _ratio(lhs, rhs).max(-1))
    suspects &= met
    tightness = vacuous = None
    if bound > -np.inf:
        tightness = float(largest[met].max())
        without = TRIVIAL.get(claim.id)
        if without is not None:
            vacuous = bound >= NEAR * without(objects)
        elif claim.id in AT_LEAST_ZERO:
            vacuous = tightness <= 0
    worst = int(np.argmin(np.where(met, nearest, np.inf)))
    return Place(site, count, int(met.sum()), tightness, vacuous, int(suspects.sum()), worst, draw)


def _sides(relation: Comparison, count: int) -> tuple[Array, Array]:
    """Both sides as (count, entries)."""
    sides = []
    for side in np.broadcast_arrays(*(_floats(side) for side in (relation.lhs, relation.rhs))):
        full = side if side.ndim > 2 or count == 1 else np.broadcast_to(side, (count, *side.shape))
        sides.append(full.reshape(count, -1))
    return sides[0], sides[1]


def _floats(side: Any) -> Array:
    return np.asarray(to_float(side) if isinstance(side, Literal) else side, dtype=np.float64)


def _ratio(lhs: Array, rhs: Array) -> Array:
    """lhs/rhs where the right side is positive; 1 where both are zero, and 0 where the left side is below."""
    with np.errstate(all="ignore"):
        ratio = np.where(rhs > 0, lhs / rhs, np.where(lhs == rhs, 1.0, 0.0))
    return np.clip(ratio, 0, None)


AT_LEAST_ZERO = ("skip.diameter", "skip.pairs", "skip.stack_product", "skip.stack_sum")
"""Claims that bound a distance from below, which without them is at least 0."""


def _spread(objects: Mapping[str, Any]) -> float:
    return diameter(objects["X"], objects.get("norm", L2)).item()


def _size(objects: Mapping[str, Any], W: str = "W") -> float:
    return operator_norm(objects[W], objects["norm"]).item()


def _sizes_of_stack(objects: Mapping[str, Any]) -> float:
    return float(np.prod([operator_norm(W, objects["norm"]).item() for W in objects["Ws"]]))


def _one(_: Mapping[str, Any]) -> float:
    return 1.0


TRIVIAL: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "contraction.diameter": _spread,  # averages stay within the cloud
    "contraction.value_map": lambda objects: _size(objects) * _spread(objects),
    "contraction.stack": lambda objects: _sizes_of_stack(objects) * _spread(objects),
    "contraction.scores": _one,
    "contraction.scores_sharp": _one,
    "contraction.causal_scores": _one,
    "contraction.cubic": _spread,
    "dobrushin.positive_is_below_one": _one,
    "dobrushin.submultiplicative": _one,
    "literature.causal_sink": _one,
}
"""What bounds the left side without the theorem (tau at most 1), for claims that improve on it."""
