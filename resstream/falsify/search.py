"""The search: chunks of work, each a pure function of (claim, engine, number, seed), and what they add up to.

The lowest refuting chunk wins, so a verdict does not depend on how many workers ran, nor on their order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Claim, Margin, Raw
from resstream.errors import ArithmeticLimit, ClaimError, DomainError
from resstream.falsify import engines, judge

BATCH = 8192
"""Instances in a chunk of the random engine."""

EXAMPLES = 100
"""Instances in a chunk of the Hypothesis engine."""

SUSPECTS = 8
"""Instances of a chunk that are judged for their float64 margin; as many again are judged by lot."""

NEAR = 1e-9
"""Relative float64 margins below this make a suspect: near enough for rounding to hide a violation."""

FLOOR = 100
"""Accepted instances below which a search is no survival: it gave up."""


@dataclass(frozen=True)
class Chunk:
    """A piece of a search: which engine, and the number that makes its random stream its own."""

    engine: str
    number: int
    size: int


@dataclass
class Tally:
    """What was seen, of one chunk or of many.

    accepted and discarded count instances that met their hypotheses and that did not. Suspects are those whose float64
    margin was negative; judged are those that exact arithmetic looked at, acquitted the suspects that it cleared.
    """

    evaluations: int = 0
    accepted: int = 0
    discarded: int = 0
    suspects: int = 0
    judged: int = 0
    acquitted: int = 0
    undecided: int = 0
    smallest_margin: float = float("inf")
    closest: Raw | None = None
    violating: Raw | None = None
    judgement: judge.Judgement | None = None
    engine: str = ""
    error: str = ""
    faulty: Raw | None = None

    def add(self, other: Tally) -> None:
        """Count another tally in; the first violation and the first error stay."""
        for name in ("evaluations", "accepted", "discarded", "suspects", "judged", "acquitted", "undecided"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._nearer(other.smallest_margin, other.closest)
        if self.violating is None and other.violating is not None:
            self.violating, self.judgement, self.engine = other.violating, other.judgement, other.engine
        if not self.error:
            self.error, self.faulty = other.error, other.faulty

    def _nearer(self, margin: float, raw: Raw | None) -> None:
        if margin < self.smallest_margin:
            self.smallest_margin, self.closest = margin, raw

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to look for."""
        return self.violating is not None or bool(self.error)


@dataclass(frozen=True)
class Verdict:
    """What a search found out about a claim.

    status: "refuted" (by a certified counterexample), "survived", "gave up" (too few instances met the hypotheses),
    "vacuous" (none did) or "error" (evaluating the claim raised).
    """

    claim: Claim
    status: str
    seed: int
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0

    @property
    def as_expected(self) -> bool:
        """Whether the claim did what it says of itself."""
        return self.status == ("survived" if self.claim.expect == "holds" else "refuted")


def plan(examples: int, batches: int) -> list[Chunk]:
    """The chunks of a run: a first batch, then the Hypothesis-drawn instances, then the other batches."""
    random = [Chunk("random", number, BATCH) for number in range(batches)]
    drawn = [
        Chunk("hypothesis", number, min(EXAMPLES, examples - number * EXAMPLES))
        for number in range(-(-examples // EXAMPLES))
    ]
    return [*random[:1], *drawn, *random[1:]]


def search(
    claim: Claim,
    chunks: Sequence[Chunk],
    seed: int = 0,
    floor: int = FLOOR,
    progress: Callable[[Chunk], None] = lambda _: None,
) -> Verdict:
    """Run chunks in order until one refutes or raises, and say what they add up to."""
    start = time.perf_counter()
    tally = Tally()
    for chunk, result in _run(claim, chunks, seed):
        tally.add(result)
        progress(chunk)
        if tally.finished:
            break
    return conclude(claim, tally, seed, floor, time.perf_counter() - start)


def conclude(claim: Claim, tally: Tally, seed: int, floor: int, seconds: float) -> Verdict:
    """The verdict that a tally amounts to."""
    if tally.violating is not None:
        status = "refuted"
    elif tally.error:
        status = "error"
    elif tally.accepted == 0:
        status = "vacuous"
    else:
        status = "survived" if tally.accepted >= floor else "gave up"
    return Verdict(claim, status, seed, tally, seconds)


def _run(claim: Claim, chunks: Iterable[Chunk], seed: int) -> Iterator[tuple[Chunk, Tally]]:
    for chunk in chunks:
        yield chunk, run_chunk(claim, chunk, seed)


def run_chunk(claim: Claim, chunk: Chunk, seed: int) -> Tally:
    """One chunk of the search; the same arguments always give the same tally."""
    words = [seed, *claim.seed_words(), *chunk.engine.encode(), chunk.number]
    rng = np.random.default_rng(words)
    tally = Tally(engine=chunk.engine)
    if chunk.engine == "random":
        examine(claim, engines.random_batch(claim, rng, chunk.size), rng, tally)
    elif chunk.engine == "hypothesis":
        shown = 0

        def visit(raw: Raw) -> bool:
            nonlocal shown
            shown += 1
            examine(claim, raw.batch(), rng, tally, by_lot=0)
            return tally.finished

        engines.hypothesis_instances(claim, chunk.size, int(rng.integers(2**32)), visit)
    else:
        raise ClaimError(f"engine {chunk.engine!r}: expected 'random' or 'hypothesis'")
    return tally


def examine(claim: Claim, raw: Raw, rng: np.random.Generator, tally: Tally, by_lot: int = SUSPECTS) -> None:
    """Evaluate a batch in float64, judge its suspects and some by lot, and count what was seen in `tally`."""
    assert raw.count is not None
    try:
        met, margin = claim.margin(raw)
    except ClaimError:
        raise
    except Exception as failure:
        _examine_halves(claim, raw, rng, tally, failure)
        return
    accepted = raw.take(np.flatnonzero(met))
    tally.evaluations += raw.count
    tally.accepted += accepted.count or 0
    tally.discarded += raw.count - (accepted.count or 0)
    if not accepted.count:
        return
    relative = margin.relative
    clear = relative >= NEAR
    if clear.any():
        nearest = int(np.argmin(np.where(clear, relative, np.inf)))
        tally._nearer(float(relative[nearest]), accepted.at(nearest))
    tally.suspects += int(np.count_nonzero(relative < 0))
    for index in _to_judge(margin, rng, by_lot):
        _judge_one(claim, accepted.at(index), bool(relative[index] < 0), tally)
        if tally.finished:
            return


def _to_judge(margin: Margin, rng: np.random.Generator, by_lot: int) -> list[int]:
    """Indices to judge: the most suspicious in two orders, then some by lot, without repeats.

    The relative margin of an artefact such as 1e-17 against an exact zero is -1, worse than that of many a real
    violation. Measured against the usual scale of the batch it is nothing; so both orders have their share.
    """
    relative = margin.relative
    suspicious = np.flatnonzero(~(relative >= NEAR))
    usual = float(np.median(margin.scale[np.isfinite(margin.scale)])) if np.isfinite(margin.scale).any() else 1.0
    with np.errstate(all="ignore"):  # infinite over infinite: NaN, and suspicious as such
        softened = margin.slack / (margin.scale + 1e-6 * usual + 1e-300)
    orders = [
        suspicious[np.argsort(order[suspicious], kind="stable")][: SUSPECTS // 2] for order in (softened, relative)
    ]
    lots = [suspicious, np.arange(len(relative))]
    drawn = [rng.choice(lot, min(len(lot), by_lot // 2), replace=False) for lot in lots if len(lot)]
    return list(dict.fromkeys(int(i) for i in np.concatenate([*orders, *drawn])))


def _judge_one(claim: Claim, raw: Raw, suspect: bool, tally: Tally) -> None:
    tally.judged += 1
    try:
        judgement = judge.judge(claim, raw)
    except ClaimError:
        raise
    except Exception as failure:
        tally.error, tally.faulty = f"{type(failure).__name__}: {failure}", raw
        return
    if judgement.outcome == judge.VIOLATED:
        tally.violating, tally.judgement = raw, judgement
        return
    if judgement.outcome == judge.OUTSIDE:
        # The slack of the float filter had let it in.
        tally.accepted -= 1
        tally.discarded += 1
    elif judgement.outcome == judge.UNDECIDED:
        tally.undecided += 1
    else:
        tally._nearer(judgement.margin, raw)
        tally.acquitted += suspect


def _examine_halves(claim: Claim, raw: Raw, rng: np.random.Generator, tally: Tally, failure: Exception) -> None:
    """Find the instances on which evaluating the claim raises, and let the judge say whether rounding is to blame."""
    count = raw.count or 0
    if count == 1:
        tally.evaluations += 1
        if isinstance(failure, (ArithmeticLimit, DomainError)):
            # A float can leave a domain that the exact value is in (rounded to a constant vector, say).
            tally.accepted += 1
            _judge_one(claim, raw.at(0), False, tally)
        else:
            tally.error, tally.faulty = f"{type(failure).__name__}: {failure}", raw.at(0)
        return
    for half in (np.arange(count // 2), np.arange(count // 2, count)):
        if not tally.finished:
            examine(claim, raw.take(half), rng, tally, by_lot=0)


__all__ = ["Array", "Chunk", "Tally", "Verdict", "plan", "run_chunk", "search"]
