"""Evidence for what a claim says of a size that grows: certified values along doubling sizes, and what they look like.

It is no proof, whatever it looks like, and refutes nothing: that is left to the bounds that a claim states beside its
limit, which `certify` judges at each of the sizes looked at here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb

from resstream.arithmetic import FLOAT64, Ball, BallEntry, RationalEntry
from resstream.claim import Batch, Claim, Instance
from resstream.domains import Count
from resstream.errors import ArithmeticLimit, ClaimFault, DomainError
from resstream.falsify import corners, engines
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.judge import PRECISIONS, UNDECIDED, UNDEFINED
from resstream.falsify.verdict import ERROR, EVIDENCE, GAVE_UP, REFUTED, SURVIVED, TIME_IS_UP, Verdict
from resstream.relations import HOLDS, Limit
from resstream.workers import Pipe, fork

FARTHEST = 64
"""The size that doubling goes to, where the claim states no range; where nothing is drawn for each of its members..."""

FARTHEST_COUNT = 1024
"""... this one: a count costs nothing to make larger, what is summed over it little."""

LEAST = 4
"""How many sizes it takes to tell anything."""

BATCHES = 6
"""Shapes that are looked at: half drawn at random, half corners."""

DRAWN = 64
"""Sequences drawn of each, of which the one that float64 finds slowest is looked at, and one by lot."""
CLOSES = 0.8
"""To what share at most a distance must fall at each of the last three doublings, to be called evidence; and the steps
of a ratio that rises."""

REST = 0.25
"""What share of the last distance at most may be left, where the last three are continued (by Aitken's process)."""

FALLEN = 1e-6
"""The share of the first distance below which the last one is taken for what is on its way to nothing."""

STEEPER = 1.5
"""By what factor the logarithms may fall faster or slower in the size at the last doubling, to be called geometric."""

NOTHING = 1e-12
"""By how much one fit must be better than the other, in squares of logarithms, to be chosen."""

TIE = arb(2) ** -100
"""Two numbers that no precision tells apart, and differ by less than this share of their scale, are called equal."""

REACHED, TENDS, OPEN = "reached", "tends", "open"


@dataclass(frozen=True)
class Followed:
    """One sequence: its beginnings of doubling sizes, and the certified distance (or ratio) at each.

    outcome: "reached" (nothing is left), "tends" (what is called evidence), "open" (with the reason). fit describes
    the last values and bounds nothing.
    """

    raw: Instance
    lengths: tuple[int, ...]
    measured: tuple[str, ...]
    outcome: str
    reason: str = ""
    fit: str = ""
    last: float = 0.0

    def rows(self) -> Iterator[tuple[str, str]]:
        """(size, certified value) of each beginning."""
        return ((str(length), value) for length, value in zip(self.lengths, self.measured, strict=True))


@dataclass(frozen=True)
class Evidence:
    """What was seen along doubling sizes. shown: the sequence that speaks least for the claim."""

    size: str
    what: str
    """What is measured: "distance to 0", "ratio to the order"."""
    wording: str
    bounds: str
    followed: int
    open: int
    shown: Followed | None
    violating: Instance | None = None
    """An instance that violates the stated bounds, of which `certify` has said so."""
    unsettled: str = ""
    """Why an instance could not be judged, or followed."""
    judged: int = 0

    @property
    def speaks_for_it(self) -> bool:
        """Whether every sequence that was followed looks as the claim says."""
        return bool(self.followed) and not self.open and not self.unsettled

    def lines(self) -> list[str]:
        """What was seen, in a few lines."""
        if self.shown is None:
            return []
        seen = f"all of {self.followed:,} sequences look so; the slowest"
        if self.open:
            seen = f"{self.open:,} of {self.followed:,} sequences do not look so; one of them"
        elif self.followed == 1:
            seen = "the one sequence that there is"
        shape = ", ".join(f"{name} = {value}" for name, value in self.shown.raw.sizes.items() if name != self.size)
        width = max(len(self.size), *(len(size) for size, _ in self.shown.rows()))
        lines = [f"certified values along doubling {self.size}: {seen}{f', at {shape}' if shape else ''}:"]
        lines.append(f"  {self.size:>{width}}  {self.what}")
        lines += [f"  {size:>{width}}  {value}" for size, value in self.shown.rows()]
        if self.shown.reason:
            lines.append(self.shown.reason)
        if self.shown.fit:
            lines.append(f"these values are fitted by {self.shown.fit}, which describes them and bounds nothing")
        if self.bounds:
            lines.append(
                f"stated beside it, and refuted by no instance judged: {self.bounds} ({self.judged:,} judged here)"
            )
        else:
            lines.append("no bound is stated beside it, so no instance could refute it")
        return lines

    def json(self) -> dict[str, Any]:
        """The same as JSON-ready data."""
        shown = self.shown
        return {
            "size": self.size,
            "says": self.wording,
            "bounds": self.bounds or None,
            "followed": self.followed,
            "open": self.open,
            "judged": self.judged,
            "speaks_for_it": self.speaks_for_it,
            "unsettled": self.unsettled or None,
            "shown": None
            if shown is None
            else {
                "sizes": dict(shown.raw.sizes),
                "options": dict(shown.raw.options),
                "measured": self.what,
                "along": [{"size": int(size), "value": value} for size, value in shown.rows()],
                "outcome": shown.outcome,
                "reason": shown.reason or None,
                "fit": shown.fit or None,
            },
        }


# ---- sequences --------------------------------------------------------------


def lengths_of(claim: Claim) -> tuple[int, ...]:
    """The sizes looked at: doubling, within the range that the claim states, or from its least size to 64."""
    assert claim.as_grows is not None
    name = claim.as_grows.size
    values = claim.size_ranges()[name]
    is_drawn = any(name in domain.size_names() and not isinstance(domain, Count) for domain in claim.over.values())
    last = max(values) if name in claim.sizes else FARTHEST if is_drawn else FARTHEST_COUNT
    found, length = [], max(min(values), 1)
    while length <= last:
        found.append(length)
        length *= 2
    return tuple(found)


def beginning(claim: Claim, raw: Instance, count: int) -> Instance:
    """The instance that the first `count` of the objects that grow are."""
    assert claim.as_grows is not None
    sizes = {**raw.sizes, claim.as_grows.size: count}
    parts = claim.parts(sizes, raw.options)
    arrays = {name: x[tuple(slice(0, n) for n in parts[name].shape)] for name, x in raw.arrays.items()}
    return Instance(sizes, raw.options, arrays)


def _drawn(claim: Claim, lengths: Sequence[int], rng: np.random.Generator) -> Iterator[Instance]:
    """Sequences to follow: of each batch those that are slowest in float64, and one by lot."""
    assert claim.as_grows is not None
    name = claim.as_grows.size
    shapes = corners.shapes(claim)
    for number in range(BATCHES):
        if number % 2:
            sizes, options = shapes[(number // 2 * 5 + 1) % len(shapes)]
        else:
            sizes, options = engines.draw_shape(claim, rng)
        sizes = {**sizes, name: lengths[-1]}
        if not claim.fits(sizes):
            continue
        count = engines.fitting(claim.parts(sizes, options), DRAWN)
        if number % 2:
            raw = corners.corner_batch(claim, (sizes, options), rng, count)
        else:
            parts = claim.parts(sizes, options)
            raw = Batch(sizes, options, {key: part.draw(rng, count) for key, part in parts.items()}, count)
        yield from _slowest(claim, raw, lengths, rng)


def _slowest(claim: Claim, raw: Batch, lengths: Sequence[int], rng: np.random.Generator) -> Iterator[Instance]:
    growth = claim.as_grows
    assert growth is not None
    share = np.full(raw.count, -1.0)
    for index in range(raw.count) if claim.batched is False else [slice(None)]:
        one = raw.at(index) if isinstance(index, int) else raw
        try:
            with FLOAT64.working(), np.errstate(all="ignore"):
                values = claim.along(claim.build(one), np.zeros((1, 1)))
                last, before = (
                    np.asarray(growth.measure(values, length)).reshape(-1) for length in (lengths[-1], lengths[-LEAST])
                )
                share[index] = np.nan_to_num(last / before, nan=-1.0, posinf=1e300)
        except (ClaimFault, DomainError, ArithmeticLimit, ArithmeticError, np.linalg.LinAlgError):
            continue  # what it raises the search reports
    yield from (raw.at(place) for place in dict.fromkeys((int(np.argmax(share)), int(rng.integers(raw.count)))))


# ---- certified values -------------------------------------------------------


def _read(claim: Claim, raw: Instance, lengths: Sequence[int]) -> tuple[list[arb], list[int]]:
    """The distances or ratios at each length, and the lengths at which the stated bounds do not certainly hold.

    As balls fine enough to be compared, or of the last precision, of objects that are built once. ArithmeticLimit or
    DomainError where there is a value missing.
    """
    growth = claim.as_grows
    assert growth is not None
    for bits in PRECISIONS[1:]:
        system = Ball(bits)
        with system.working():
            values = claim.along(claim.build(raw, system), system.array([[0]]))
            found = [_ball(growth.measure(values, length)) for length in lengths]
            stated = [growth.stated(values, length).decide(system).status for length in lengths if growth.bounds]
        if all(_is_fine(value) for value in found):
            break
    return found, [length for length, status in zip(lengths, stated, strict=False) if status != HOLDS]


def _is_fine(value: arb) -> bool:
    return bool(value == 0) or (not value.contains(0) and value.rel_accuracy_bits() > 100)


def _ball(measured: Any) -> arb:
    (entry,) = np.asarray(measured).reshape(-1)
    if isinstance(entry, RationalEntry):
        return arb(entry.value)
    if not isinstance(entry, BallEntry):
        entry.demand()  # it has no value, and says why
    return entry.value


def _meets(claim: Claim, raw: Instance) -> bool:
    """Whether it certainly meets the hypotheses."""
    if not claim.assuming:
        return True
    for bits in PRECISIONS[:2]:
        system = Ball(bits)
        with system.working():
            try:
                return claim.hypotheses(claim.build(raw, system)).decide(system).status == HOLDS
            except (ArithmeticLimit, DomainError):
                continue
    return False


# ---- what they look like ----------------------------------------------------


def _followed(claim: Claim, raw: Instance, lengths: Sequence[int], values: Sequence[arb]) -> Followed:
    assert claim.as_grows is not None
    outcome, reason = _approach(lengths, values) if isinstance(claim.as_grows, Limit) else _boundedness(values)
    texts = tuple(_digits(value) for value in values)
    last = float(values[-1].abs_upper() / (values[-LEAST].abs_upper() + arb(2) ** -1000))
    return Followed(raw, tuple(lengths), texts, outcome, reason, _fit(claim.as_grows.size, lengths, values), last)


def _digits(value: arb) -> str:
    return "0" if value == 0 else value.str(10, radius=not _is_fine(value))


def _is_nothing(value: arb, scale: arb) -> bool:
    return bool(value == 0) or bool(value.contains(0) and value.abs_upper() <= TIE * scale)


def _approach(lengths: Sequence[int], values: Sequence[arb]) -> tuple[str, str]:
    """What distances look like that are to vanish: they fall, and continued by a law they leave nothing."""
    if _is_nothing(values[-1], 1 + _scale(values)):
        return REACHED, ""
    last = values[-LEAST:]
    for before, after in pairwise(last):
        if not bool(after < before):
            return OPEN, "the distance did not fall at each of the last three doublings"
        if not bool(after <= CLOSES * before):
            return OPEN, f"the distance fell to more than {CLOSES:g} of itself at one of the last three doublings"
    if bool(last[-1] <= FALLEN * values[0]):
        return TENDS, ""
    rest = _continued(last)
    if bool(abs(rest) <= REST * last[-1]) or _is_geometric(lengths[-LEAST:], last):
        return TENDS, ""
    return OPEN, f"continued, the last three would leave about {float(rest.mid()):.3g}"


def _continued(values: Sequence[arb]) -> arb:
    """What a sequence of doublings tends to, by Aitken's process on its last three; of a power law nothing is left."""
    first, second, third = values[-3:]
    return third - (third - second) ** 2 / ((third - second) - (second - first))


def _is_geometric(lengths: Sequence[int], values: Sequence[arb]) -> bool:
    """Whether the logarithms fall about as fast with the size at the last doubling as at the one before."""
    logs = [value.log() for value in values[-3:]]
    first, second = ((b - a) / (m - n) for (a, b), (n, m) in zip(pairwise(logs), pairwise(lengths[-3:]), strict=True))
    return bool(second >= STEEPER * first) and bool(second <= first / STEEPER)


def _scale(values: Sequence[arb]) -> arb:
    return max((value.abs_upper() for value in values), key=float)


def _boundedness(values: Sequence[arb]) -> tuple[str, str]:
    """What ratios look like that are to stay bounded: they fall, or rise by steps that close."""
    scale = _scale(values)
    if _is_nothing(values[-1], 1 + scale):
        return REACHED, ""
    last = values[-LEAST:]
    steps = [after - before for before, after in pairwise(last)]
    for before, after in pairwise(steps):
        falls = bool(after <= 0) or _is_nothing(after, scale)
        closes = bool(before > 0) and bool(after <= CLOSES * before)
        if not (falls or closes):
            return OPEN, "the ratio rose at one of the last doublings, by no smaller a step than before"
    return TENDS, ""


def _fit(size: str, lengths: Sequence[int], values: Sequence[arb]) -> str:
    """The better of c L^p and c q^L through the last values, by least squares of logarithms; empty where none fits."""
    pairs = [(n, v.mid()) for n, v in zip(lengths, values, strict=True) if v > 0][-LEAST:]
    if len(pairs) < LEAST:
        return ""
    logs = np.array([float(value.log().mid()) for _, value in pairs])
    sizes = np.array([float(n) for n, _ in pairs])
    found = []
    for at in (np.log(sizes), sizes):
        slope, start = np.polyfit(at, logs, 1)
        law = f"{np.exp(slope):.4g}^{size}" if at is sizes else f"{size}^{slope:.2f}"
        found.append((float(np.sum((slope * at + start - logs) ** 2)), start, law))
    power, geometric = found
    _, start, law = geometric if geometric[0] < power[0] - NOTHING else power
    return f"{np.exp(start):.3g} * {law}" if start < 100 else ""


# ---- the whole --------------------------------------------------------------


def weigh(claim: Claim, seed: int = 0, keep: Callable[[Evidence], None] = lambda _: None) -> Evidence:
    """Follow some sequences of a claim about growth along doubling sizes, and judge its stated bounds at each.

    The same claim and seed give the same evidence. keep: called with what there is after each sequence. Raises
    ClaimFault as the judge does.
    """
    growth = claim.as_grows
    assert growth is not None
    lengths = lengths_of(claim)
    what = "its distance to that limit" if isinstance(growth, Limit) else "its ratio to that order"
    found = Evidence(growth.size, what, growth.wording, growth.bounds, 0, 0, None)
    if len(lengths) < LEAST:
        few = f"{growth.size} doubles too few times in the range stated, {lengths}: expected {LEAST} sizes or more"
        return replace(found, unsettled=few)
    rng = np.random.default_rng([seed, *claim.seed_words(), *b"growth"])
    met: set[bytes] = set()
    for raw in _drawn(claim, lengths, rng):
        digest = repr((raw.sizes, raw.options)).encode() + b"".join(values.tobytes() for values in raw.arrays.values())
        if digest in met:
            continue
        met.add(digest)
        fitting = [length for length in lengths if claim.fits({**raw.sizes, growth.size: length})]
        if len(fitting) < LEAST or not _meets(claim, raw):
            continue
        found = _with(found, claim, raw, fitting)
        keep(found)
        if found.violating is not None or found.unsettled:
            break
    return found


def _with(found: Evidence, claim: Claim, raw: Instance, lengths: Sequence[int]) -> Evidence:
    """The evidence with one more sequence."""
    try:
        values, doubtful = _read(claim, raw, lengths)
    except (ArithmeticLimit, DomainError) as limit:
        return replace(found, unsettled=f"{limit} (up to {found.size} = {lengths[-1]})")
    found = replace(found, judged=found.judged + (len(lengths) if found.bounds else 0))
    for length in doubtful:
        answer = certify(claim, one := beginning(claim, raw, length))
        if isinstance(answer, Certificate):
            return replace(found, violating=one)
        if answer.outcome in (UNDECIDED, UNDEFINED):
            return replace(found, unsettled=f"{answer.reason} (at {answer.reading}, {found.size} = {length})")
    followed = _followed(claim, raw, lengths, values)
    is_open = followed.outcome == OPEN
    worse = found.shown is None or (is_open, followed.last) > (found.shown.outcome == OPEN, found.shown.last)
    return replace(
        found, followed=found.followed + 1, open=found.open + is_open, shown=followed if worse else found.shown
    )


def weighed(verdict: Verdict, seconds: float | None = None) -> Verdict:
    """The verdict on a claim about growth, of which a search has refuted no stated bound: with the evidence there is.

    "evidence" where every sequence looks as the claim says, "refuted" where one violates a stated bound, "undecided" or
    "gave up" elsewhere. seconds: a limit in time, kept even if the claim hangs.
    """
    if verdict.status != SURVIVED:
        return verdict
    found: Evidence | None = None
    notes: list[str] = []
    error = ""
    try:
        for latest in _weighing(verdict, seconds, notes):
            found = latest
    except KeyboardInterrupt:
        notes.append("interrupted")
    except ClaimFault as failure:
        error = str(failure)
    verdict = replace(verdict, evidence=found, every=None, notes=tuple(dict.fromkeys([*verdict.notes, *notes])))
    if error:
        return replace(verdict, status=ERROR, tally=replace(verdict.tally, error=error))
    if found is not None and found.violating is not None:
        certificate = certify(verdict.claim, found.violating)
        if isinstance(certificate, Certificate):
            tally = replace(verdict.tally, violating=found.violating, certificate=certificate, engine="doubling")
            return replace(verdict, status=REFUTED, tally=tally)
    if found is not None and found.unsettled:
        return replace(verdict, status=UNDECIDED)
    if found is None or notes or not found.followed:
        return replace(verdict, status=GAVE_UP)
    return replace(verdict, status=EVIDENCE if found.speaks_for_it else UNDECIDED)


def _weighing(verdict: Verdict, seconds: float | None, notes: list[str]) -> Iterator[Evidence]:
    """The evidence as it grows; in a process of its own where there is a limit in time, which is said in the notes."""
    if seconds is None:
        yield weigh(verdict.claim, verdict.seed)
        return

    def work(pipe: Pipe) -> None:
        try:
            pipe.send((True, weigh(verdict.claim, verdict.seed, lambda found: pipe.send((False, found)))))
        except ClaimFault as failure:
            pipe.send((True, failure))

    worker = fork(work)
    end = time.monotonic() + seconds
    try:
        with suppress(EOFError, OSError):
            while worker.pipe.poll(max(end - time.monotonic(), 0)):
                is_last, found = worker.pipe.recv()
                if isinstance(found, ClaimFault):
                    raise found
                yield found
                if is_last:
                    return
        notes.append(TIME_IS_UP)
    finally:
        worker.kill()


__all__ = ["Evidence", "Followed", "beginning", "lengths_of", "weigh", "weighed"]
