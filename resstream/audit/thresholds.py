"""Where truth changes: at a size beyond the stated ones, or at a value of a quantity of the claim.

A threshold has a certified counterexample on one side; on the other a whole search found none.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from resstream.arithmetic import FLOAT64, Array, Ball, BallEntry, Exact, Literal, minimum, to_float
from resstream.audit import forms
from resstream.audit.ascent import ENTRIES, WALL, ascend
from resstream.audit.attack import Attack, certified, scores
from resstream.audit.profile import Quantities
from resstream.audit.restate import restated
from resstream.audit.result import SURVIVES, Beyond, Threshold
from resstream.claim import Batch, Claim, Hypothesis, Instance, at_least, at_most, every
from resstream.domains.current import evaluating
from resstream.errors import ClaimError, ResstreamError
from resstream.falsify import climb, corners, engines, probe
from resstream.falsify.certify import Certificate
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.judge import judge
from resstream.falsify.run import falsify
from resstream.falsify.shrink import Shrinker
from resstream.falsify.variants import sized

LARGEST = 16
"""Sizes beyond the stated ones go up to this, by one more at least."""

FAR_SIZES = (24, 32, 64)
FAR_BUDGET = 512
FAR_SECONDS = 2.0
SHARE = 0.1
"""Sizes far beyond, what is spent on each, and the share of the time left that all of them may take."""

FEW, FEW_SECONDS = 8, 0.005
"""Instances of a larger size that are timed, and what they may take for that size to be searched at."""

JUDGED, JUDGED_SHARE = 300, 0.25
"""Instances that a search judges exactly, about, and the share of the time left that this may take at a larger size."""

CLIMB = 4096
"""Evaluations of the climb to the end of a quantity's range."""

SHRINKING = 2.0
"""Seconds for making a counterexample of a larger size simpler."""

QUANTITIES = 4

PAST = 1e-3
"""How far beyond the last counterexample, relatively, a search is made for further ones."""

FAR = 1e6
"""A quantity that counterexamples take beyond this has no threshold there; below its inverse, none either."""

NAMED = 1e-9


# ---- sizes ------------------------------------------------------------------


def beyond(claim: Claim, attack: Attack, budget: int) -> Iterator[Beyond]:
    """The sizes beyond the stated ones at which a claim fails that survives those."""
    for name, values in claim.size_ranges().items():
        top, step = values[-1], values.step
        further = range(top + step, LARGEST + 1, step) or range(top + step, top + step + 1)
        found = from_on(claim, attack, budget, name, further)
        if found is not None:
            yield found


def from_on(claim: Claim, attack: Attack, budget: int, name: str, further: range) -> Beyond | None:
    """The first of some sizes beyond the stated ones at which a claim is seen to fail, by bisection."""
    top, step = claim.size_ranges()[name][-1], further.step
    further = _searchable(claim, name, further, attack.seed, JUDGED_SHARE * attack.left() / JUDGED)
    if attack.left() <= 0 or not further:
        return None
    found = attack(restated(_sized(claim, name, further), "beyond", lambda relations, _: relations), budget)
    if found.certificate is None:
        return None
    certificate, engine = found.certificate, found.engine
    low, high, spent = top, certificate.raw.sizes[name], 0
    while high - low > step and attack.left() > 0:
        middle = low + step * max((high - low) // (2 * step), 1)
        nearer = attack(_sized(claim, name, range(middle, middle + 1)), budget)
        if nearer.certificate is not None:
            certificate, engine, high = nearer.certificate, nearer.engine, nearer.certificate.raw.sizes[name]
        else:
            low, spent = middle, nearer.evaluations
    shown = simpler(_sized(claim, name, range(high, high + 1)), certificate, attack.left)
    return Beyond(name, high - step, high, Counterexample.of(shown, attack.seed, engine), spent)


def _searchable(claim: Claim, name: str, further: range, seed: int, seconds: float) -> range:
    """The sizes up to which every domain has members (of no 5 columns of height 3 are orthonormal) and a search can be
    broken off in time: what sums over subsets, say, soon takes minutes. `seconds` is what one exact judgement may take.
    """
    rng = np.random.default_rng([seed, *claim.seed_words(), 41])
    for place, value in enumerate(further):
        try:
            _sized(claim, name, further[: place + 1])
            there = _sized(claim, name, range(value, value + 1))
        except ClaimError:
            return further[:place]
        start = judging = time.process_time()
        with suppress(ResstreamError, ValueError, ArithmeticError, np.linalg.LinAlgError):
            few = engines.random_batch(there, rng, FEW)
            there.assess(few)
            judging = time.process_time()
            judge(there, few.at(0))
        if judging - start > FEW_SECONDS or time.process_time() - judging > seconds:
            return further[:place]
    return further


def simpler(claim: Claim, certificate: Certificate, left: Callable[[], float]) -> Certificate:
    """The certificate of a simpler counterexample, as far as there is time to shrink it."""

    def look(_: Instance) -> None:
        if left() <= 0 or time.monotonic() > end:
            raise TimeoutError

    end = time.monotonic() + SHRINKING
    with suppress(TimeoutError, ResstreamError, ArithmeticError, ValueError):
        shrinker = Shrinker.of(claim, certificate.raw, look)
        with suppress(TimeoutError):
            shrinker.run()
        return certified(claim, shrinker.exact) or certificate
    return certificate


def far_beyond(claim: Claim, known: Sequence[Beyond], seed: int, left: Callable[[], float]) -> Iterator[Beyond]:
    """The first of a few large sizes, one name at a time, at which a short search refutes."""
    end = left() * (1 - SHARE)
    for name in [name for name in claim.size_ranges() if name not in {one.size for one in known}]:
        holds_to = max(LARGEST, *claim.size_ranges()[name])
        for sizes in probe.larger(claim, FAR_SIZES):
            size = sizes.get(name, 0)
            seconds = min(FAR_SECONDS, left() - end)
            if len(sizes) > 1 or size <= holds_to or seconds <= 0:
                continue
            try:
                there = sized(claim, sizes)
            except ClaimError:  # a domain is empty there, or an instance is too large
                continue
            verdict = falsify(there, FAR_BUDGET, seed, seconds=seconds)
            if verdict.counterexample is not None:
                yield Beyond(name, holds_to, size, verdict.counterexample)
                break
            if verdict.status == "survived":
                holds_to = size


def _sized(claim: Claim, name: str, values: range) -> Claim:
    return claim.replace(sizes={name: values})


# ---- quantities -------------------------------------------------------------


@dataclass(frozen=True)
class Quantity:
    """A number that an instance has, in words of the claim, in any number system."""

    label: str
    function: Callable[[Mapping[str, Any]], Any]


def quantities(claim: Claim, hypotheses: Sequence[Hypothesis] = ()) -> list[Quantity]:
    """What thresholds are looked for in: what the hypotheses compare, then the calls in the conclusion."""
    found = [*_compared(hypotheses)]
    recorded = Quantities(claim.conclusion)

    def named(text: str) -> Callable[[Mapping[str, Any]], Any]:
        return lambda objects: recorded.of(objects)[text]

    found += [Quantity(text, named(text)) for text in recorded.names]
    return found[: QUANTITIES + len(hypotheses)]


def _compared(hypotheses: Sequence[Hypothesis]) -> Iterator[Quantity]:
    """The side that a hypothesis bounds by a number, or the quotient of its sides; those of one constant together."""
    literals = [_literal(hypothesis) for hypothesis in hypotheses]
    for hypothesis, (text, number) in zip(hypotheses, literals, strict=True):
        alike = [
            h for h, other in zip(hypotheses, literals, strict=True) if number is not None and other == (text, number)
        ]
        if len(alike) > 1:
            if hypothesis is alike[0]:
                label = f"{text} in {' and '.join(h.__name__ for h in alike)}"
                yield Quantity(label, _together(alike, number or 1.0))
        else:
            yield Quantity(_label(hypothesis), _one(hypothesis))


def _literal(hypothesis: Hypothesis) -> tuple[str, float | None]:
    """The number by which a side of a hypothesis is multiplied, as written; none where it is not plain."""
    try:
        source = inspect.getsource(hypothesis)
    except (OSError, TypeError):
        return "", None
    found = re.findall(r"exact\((\d+)(?:,\s*(\d+))?\)\s*\*", source)
    if len(found) != 1:
        return "", None
    top, bottom = found[0]
    return f"{top}/{bottom or 1}", int(top) / int(bottom or 1)


def _label(hypothesis: Hypothesis) -> str:
    """The two sides of a hypothesis, as its source has them."""
    try:
        source = inspect.getsource(hypothesis)
    except (OSError, TypeError):
        return str(getattr(hypothesis, "__name__", "a hypothesis"))
    found = re.search(r"return (?:at_most|at_least|less_than|more_than)\((.*)\)\s*$", source, re.S)
    if not found:
        return f"the sides of {hypothesis.__name__}"
    depth, place = 0, -1
    for index, letter in enumerate(found[1]):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            place = index
            break
    left, right = " ".join(found[1][:place].split()), " ".join(found[1][place + 1 :].split())
    if _is_number(right):
        return left
    if _is_number(left):
        return right
    return f"{left} / ({right})"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[\d.]+|exact\([\d\s,*-]+\)", text) is not None


def _one(hypothesis: Hypothesis) -> Callable[[Mapping[str, Any]], Any]:
    names = tuple(inspect.signature(hypothesis).parameters)

    def value(objects: Mapping[str, Any]) -> Any:
        left, _, right = next(iter(hypothesis(**{name: objects[name] for name in names}))).stated
        if isinstance(right, (int, Literal)):
            return left
        if isinstance(left, (int, Literal)):
            return right
        return left / right

    return value


def _together(hypotheses: Sequence[Hypothesis], number: float) -> Callable[[Mapping[str, Any]], Any]:
    """The least of the quotients that a constant bounds, in units in which the constant is as written."""

    def value(objects: Mapping[str, Any]) -> Any:
        least = None
        for hypothesis in hypotheses:
            names = tuple(inspect.signature(hypothesis).parameters)
            relation = next(iter(hypothesis(**{name: objects[name] for name in names})))
            left, _, right = relation.stated
            quotient = left / right
            least = quotient if least is None else minimum(least, quotient)
        return least * Exact(Fraction(number).limit_denominator(10**9))

    return value


# ---- the ends of a quantity's range -----------------------------------------


def ends(
    claim: Claim, attack: Attack, quantity: Quantity, start: Instance, budget: int, given: str = ""
) -> Iterator[Threshold]:
    """The largest and the smallest value of a quantity at the counterexamples of one shape, where these are finite."""
    try:
        _value_of(claim, quantity, start.batch())
    except (KeyError, ValueError, ArithmeticError, AttributeError):  # no single number
        return
    for sign in (1, -1):
        if attack.left() <= 0:
            return
        found = _last(claim, attack, quantity, start, sign)
        if found is None:
            continue
        value, raw = found
        certificate = _just_inside(claim, raw, start)
        if certificate is None:
            continue
        certain = _certain_value(claim, quantity, certificate.raw)
        if certain is None or not 1 / FAR < abs(certain) < FAR:
            continue
        past = certain * (1 + PAST) if sign * certain > 0 else certain * (1 - PAST)
        further = _further(claim, quantity, past, sign, certificate.raw.sizes)
        outcome = attack(further, budget)
        if outcome.outcome != SURVIVES:
            continue  # the climb had not come to the end, or the quantity has no values there
        yield Threshold(
            quantity.label,
            certain,
            past,
            "below" if sign > 0 else "above",
            dict(certificate.raw.sizes),
            forms.name_of(abs(value), NAMED) if value > 0 else "",
            given,
            Counterexample.of(certificate, attack.seed, "ascent"),
            outcome.evaluations,
        )


def _value_of(claim: Claim, quantity: Quantity, raw: Batch) -> Array:
    with FLOAT64.working():
        objects = claim.build(raw)
        with evaluating(objects):
            value = quantity.function(objects)
        value = to_float(value) if isinstance(value, Literal) else value
        return np.broadcast_to(np.asarray(value, dtype=float).reshape(-1), (raw.count,))


def _last(
    claim: Claim, attack: Attack, quantity: Quantity, start: Instance, sign: int
) -> tuple[float, Instance] | None:
    """The last value, and a float instance that has about it, by climbing and then by constrained optimisation."""
    near = scores(claim)

    def show(raw: Batch) -> Array:
        if attack.left() <= 0:
            raise TimeoutError
        values = near(raw)
        violating = values < -1e-12
        if violating.any():
            try:
                q = sign * _value_of(claim, quantity, raw)
            except (ValueError, ArithmeticError):
                return values
            values = np.where(violating & np.isfinite(q), -1 - q / (1 + np.abs(q)), np.maximum(values, 0))
        best = int(np.argmin(values))
        if values[best] < seen[0][0]:
            seen[0] = (float(values[best]), raw.at(best))
        return values

    seen: list[tuple[float, Instance]] = [(0.0, start)]
    floats = {key: np.asarray(x, dtype=float) for key, x in start.arrays.items()}
    begin = Instance(start.sizes, start.options, floats)
    try:
        show(begin.batch())
        rng = np.random.default_rng(attack.seed)
        climb.climb(claim, rng, CLIMB, show, begin.batch())
        for _ in range(2):
            ascend(claim, seen[0][1], show)
        polished = _constrained(claim, quantity, seen[0][1], sign, attack.left)
    except (TimeoutError, KeyError, ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None
    values = [
        (float(_value_of(claim, quantity, raw.batch())[0]), raw) for raw in (seen[0][1], polished) if raw is not None
    ]
    return max(values, key=lambda pair: sign * pair[0])


def _constrained(
    claim: Claim, quantity: Quantity, start: Instance, sign: int, left: Callable[[], float]
) -> Instance | None:
    """The quantity made as large (or small) as it goes while the relative margin stays at most 0."""
    from scipy.optimize import minimize

    parts = claim.parts(start.sizes, start.options)
    moving = corners.real(parts)
    count = sum(int(np.prod(part.shape)) for part in moving.values())
    if not 0 < count <= ENTRIES:
        return None
    near = scores(claim)
    floats = {name: np.asarray(start.arrays[name], dtype=float) for name in parts}
    begin = np.concatenate([floats[name].reshape(-1) for name in moving])
    scale = float(np.abs(begin).max()) or 1.0
    offsets = np.concatenate([np.zeros((1, count)), np.eye(count), -np.eye(count)])
    cache: dict[bytes, tuple[Array, Array]] = {}

    def both(point: Array) -> tuple[Array, Array]:
        key = point.tobytes()
        if key not in cache:
            if left() <= 0:
                raise TimeoutError
            at = point * scale
            step = 1e-6 * (np.abs(at) + 1e-2 * np.abs(at).max() + 1e-300)
            rows = at + offsets * step
            arrays = corners.split(moving, rows)
            arrays |= {name: np.repeat(floats[name][None], len(rows), 0) for name in parts if name not in moving}
            batch = Batch(start.sizes, start.options, {name: arrays[name] for name in parts}, len(rows))
            functions = []
            for values in (sign * _value_of(claim, quantity, batch), -np.clip(near(batch), -1, WALL)):
                values = np.nan_to_num(values, nan=-WALL)
                slope = (values[1 : count + 1] - values[count + 1 :]) / (2 * step) * scale
                functions.append(np.concatenate([values[:1], slope]))
            cache[key] = (functions[0], functions[1])
        return cache[key]

    with np.errstate(all="ignore"):
        found = minimize(
            lambda p: -both(p)[0][0],
            begin / scale,
            jac=lambda p: -both(p)[0][1:],
            constraints=[{"type": "ineq", "fun": lambda p: both(p)[1][0], "jac": lambda p: both(p)[1][1:]}],
            method="SLSQP",
            options={"maxiter": 100, "ftol": 1e-14},
        )
    if not np.isfinite(found.x).all() or both(found.x)[1][0] < -1e-9:
        return None
    arrays = {key: values[0] for key, values in corners.split(moving, (found.x * scale)[None]).items()}
    return Instance(start.sizes, start.options, {name: arrays.get(name, floats[name]) for name in parts})


def _just_inside(claim: Claim, raw: Instance, inner: Instance) -> Any:
    """A certified counterexample as near to an instance as can be had, on the way to one that is certain."""
    for share in (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4):
        arrays = {
            name: (1 - share) * np.asarray(x, dtype=float) + share * np.asarray(inner.arrays[name], dtype=float)
            for name, x in raw.arrays.items()
        }
        certificate = certified(claim, Instance(raw.sizes, raw.options, arrays))
        if certificate is not None:
            return certificate
    return None


def _certain_value(claim: Claim, quantity: Quantity, raw: Instance) -> float | None:
    """The quantity at an instance, in balls."""
    system = Ball(256)
    with system.working():
        try:
            objects = claim.build(raw, system)
            with evaluating(objects):
                value = quantity.function(objects)
        except (ResstreamError, ArithmeticError, TypeError):
            return None
        entries = np.asarray(value, dtype=object).reshape(-1)
        entry = entries[0] if len(entries) == 1 else None
        return float(entry.value.mid()) if isinstance(entry, BallEntry) else None


def _further(claim: Claim, quantity: Quantity, past: float, sign: int, sizes: Mapping[str, int]) -> Claim:
    """The claim at the same sizes, of instances beyond a value of the quantity only."""
    bound = Exact(Fraction(past).limit_denominator(10**9))

    def further(**objects: Any) -> Any:
        value = quantity.function(objects)
        return every(at_least(value, bound) if sign > 0 else at_most(value, bound))

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in claim.over]
    further.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ranges = {name: range(size, size + 1) for name, size in sizes.items()}
    return replace(claim.replace(assuming=(further,), sizes=ranges), id=f"{claim.id}+past", origin=None)


# ---- a size as a number -----------------------------------------------------


def crossing(table: Mapping[int, float]) -> tuple[float, str] | None:
    """Where the largest ratio, a linear function of a size as far as the table tells, is 1; and its name."""
    points = sorted(table.items())
    if len(points) < 4:
        return None
    (n, first), (m, last) = points[0], points[-1]
    slope = (last - first) / (m - n)
    if slope == 0 or any(abs(first + slope * (k - n) - v) > 1e-9 * abs(v) for k, v in points):
        return None
    root = n + (1 - first) / slope
    return (root, forms.name_of(root, NAMED)) if n < root < m else None
