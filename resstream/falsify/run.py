"""A claim in, a verdict out: search, shrink, look for the worst, and keep what was found."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, overload

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim, Instance
from resstream.errors import NotDeterministic
from resstream.falsify import climb
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.judge import PRECISIONS
from resstream.falsify.memory import Memory
from resstream.falsify.observability import observe
from resstream.falsify.search import ENGINES, Chunk, budget_plan, scores_of, search
from resstream.falsify.shrink import Shrinker
from resstream.falsify.statistical import StatisticalVerdict, by_draws
from resstream.falsify.verdict import ERROR, GAVE_UP, REFUTED, VACUOUS, Tally, Verdict, conclude
from resstream.prove import vacuous
from resstream.statistical import StatisticalClaim
from resstream.targets import unwritable
from resstream.workers import Pipe, fork

BUDGET = 200_000
"""Evaluations of a search where nothing else is said."""

WORST = 1536
"""Evaluations spent on the largest violation, once there is one."""

GRACE = 1.0
"""Seconds for shrinking where the time limit left less."""

Report = Callable[[str, Instance], None]


@overload
def falsify(
    claim: Claim,
    budget: int | None = None,
    seed: int = 0,
    workers: int = 1,
    engines: Sequence[str] = ENGINES,
    *,
    seconds: float | None = None,
    memory: str | Path | None = None,
    save: str | Path | None = None,
    progress: Callable[[Chunk], None] = lambda _: None,
    executor: Any = None,
) -> Verdict: ...


@overload
def falsify(
    claim: StatisticalClaim, budget: int | None = None, seed: int = 0, *, seconds: float | None = None
) -> StatisticalVerdict: ...


def falsify(
    claim: Claim | StatisticalClaim,
    budget: int | None = None,
    seed: int = 0,
    workers: int = 1,
    engines: Sequence[str] = ENGINES,
    *,
    seconds: float | None = None,
    memory: str | Path | None = None,
    save: str | Path | None = None,
    progress: Callable[[Chunk], None] = lambda _: None,
    executor: Any = None,
) -> Verdict | StatisticalVerdict:
    """Try to refute a claim with a budget of evaluations; a refutation is certified, shrunk, and in `counterexample`.

    budget: the claim's own, or 200,000, where nothing is said. The verdict and the counterexample depend on the claim,
    the budget, the seed and the engines, not on the workers.
    seconds: a limit in time, kept even if the claim hangs. memory: a directory in which counterexamples are kept; those
    of earlier runs are tried first. save: a directory that the counterexample is written to as soon as it is judged.
    Of a claim with finitely many instances, no more than the budget and 4,096, each is judged exactly, and that is said
    (`Verdict.every`): so it is over `Given`, with finite domains beside it.
    executor: anything with `submit(function, *arguments)` that returns futures (a pool of `concurrent.futures` or loky,
    a Dask client) does the chunks in place of `workers`; ResstreamError where it computes with other versions.
    Whatever ended the run early is in the verdict's `notes`. A statistical claim is tested by as many draws as the
    budget (`resstream.falsify.statistical.by_draws`). Raises ClaimError for a badly stated claim.

    >>> from resstream.claims import lookup
    >>> falsify(lookup("contraction.diameter"), budget=2000).status
    'survived'
    >>> falsify(lookup("contraction.diameter_squared"), budget=2000).counterexample.judgement.lhs
    1/2
    """
    if isinstance(claim, StatisticalClaim):
        return by_draws(claim, budget, seed, seconds=seconds)
    start = time.monotonic()
    budget = claim.budget or BUDGET if budget is None else budget
    store = None if memory is None else Memory(memory)
    chunks = budget_plan(claim, budget, engines)
    verdict = _recalled(claim, store, seed) if store else None
    if verdict is None:
        verdict = search(claim, chunks, seed, progress=progress, workers=workers, seconds=seconds, executor=executor)
    verdict = dataclasses.replace(verdict, budget=budget)
    if verdict.status == GAVE_UP and not verdict.tally.accepted:
        verdict = _perhaps_vacuous(verdict, seconds)
    found = verdict.tally.violating
    if verdict.tally.certificate is not None and found is not None:
        left = None if seconds is None else max(seconds - (time.monotonic() - start), GRACE)
        try:
            verdict = _finished(verdict, found, left, save)
        except NotDeterministic as failure:
            tally = dataclasses.replace(verdict.tally, error=str(failure), faulty=found)
            verdict = dataclasses.replace(verdict, status=ERROR, tally=tally)
        if store and verdict.counterexample and not store.remember(claim, verdict.counterexample.raw):
            forgotten = f"not remembered: {memory} cannot be written"
            verdict = dataclasses.replace(verdict, notes=(*verdict.notes, forgotten))
    verdict = dataclasses.replace(verdict, seconds=time.monotonic() - start)
    observe(verdict)
    return verdict


def _perhaps_vacuous(verdict: Verdict, seconds: float | None) -> Verdict:
    """The verdict, or that no instance meets the hypotheses, where that is proved; in a process that can be stopped."""
    limit = vacuous.SECONDS if seconds is None else min(seconds, vacuous.SECONDS)

    def work(pipe: Pipe) -> None:
        try:
            pipe.send(len(vacuous.no_instance(verdict.claim, limit)))
        except ModuleNotFoundError:  # Z3 is an extra
            pipe.send(0)

    worker = fork(work)
    try:
        with suppress(EOFError, OSError):
            if worker.pipe.poll(limit + GRACE) and worker.pipe.recv():
                return dataclasses.replace(verdict, status=VACUOUS)
    finally:
        worker.kill()
    return verdict


def _recalled(claim: Claim, store: Memory, seed: int) -> Verdict | None:
    """The refutation by the first instance in memory that still violates the claim."""
    for raw in store.recall(claim):
        try:
            certificate = certify(claim, raw)
        except Exception:  # the search will meet what raises, and report it with its instance
            continue
        if isinstance(certificate, Certificate):
            tally = Tally(1, 1, judged=1, violating=raw, certificate=certificate, engine="memory")
            return conclude(claim, tally, seed, 0, 0.0)
    return None


def refuted_by(verdict: Verdict, raw: Instance, engine: str, seconds: float | None = None) -> Verdict | None:
    """The verdict with an instance that somebody else found (a solver), shrunk; None where it certifies nothing.

    NotDeterministic where two readings of it contradict each other.
    """
    certificate = certify(verdict.claim, raw, exactly=True)
    if not isinstance(certificate, Certificate):
        return None
    tally = dataclasses.replace(verdict.tally, violating=raw, certificate=certificate, engine=engine)
    refuted = dataclasses.replace(verdict, status=REFUTED, tally=tally, counterexample=None)
    return _finished(refuted, raw, seconds, None)


def _finished(verdict: Verdict, found: Instance, seconds: float | None, save: str | Path | None) -> Verdict:
    """The verdict with its counterexample: shrunk, and with the largest violation, as far as time and Ctrl-C allow."""
    claim = verdict.claim
    best = {"shrunk": found, "worst": found}
    notes = list(verdict.notes)
    try:
        if save is not None:
            with suppress(OSError):  # said below, where it is tried again
                _counterexample(verdict, best).save(save)
        for step in _steps(claim, found, seconds, notes):
            best |= [step]
    except KeyboardInterrupt:
        notes.append("interrupted while shrinking: simpler counterexamples may exist")
    counterexample = _counterexample(verdict, best)
    if save is not None:
        try:
            counterexample.save(save)
        except OSError as failure:
            notes.append(str(unwritable("the counterexample in", save, failure)))
    return dataclasses.replace(verdict, notes=tuple(notes), counterexample=counterexample)


def _counterexample(verdict: Verdict, best: dict[str, Instance]) -> Counterexample:
    claim, tally = verdict.claim, verdict.tally
    shrunk = certify(claim, best["shrunk"], exactly=True)
    largest = certify(claim, best["worst"])
    for answer in (shrunk, largest):
        if not isinstance(answer, Certificate):
            raise NotDeterministic(
                f"claim {claim.id} is not deterministic: a certified violation was read again as {answer.outcome}"
            )
    assert isinstance(shrunk, Certificate)
    assert isinstance(largest, Certificate)
    worst = largest if largest.judgement.margin < shrunk.judgement.margin else shrunk
    return Counterexample.of(shrunk, verdict.seed, tally.engine, worst)


def _steps(claim: Claim, found: Instance, seconds: float | None, notes: list[str]) -> Iterator[tuple[str, Instance]]:
    """What shrinking and climbing report, as it comes; in a process of its own where there is a limit in time."""
    if seconds is None:
        reports: list[tuple[str, Instance]] = []
        try:
            finish(claim, found, lambda kind, raw: reports.append((kind, raw)))
        finally:
            yield from dict(reports).items()
        return

    def work(pipe: Pipe) -> None:
        finish(claim, found, lambda kind, raw: pipe.send((kind, raw)))
        pipe.send(None)

    worker = fork(work)
    deadline = time.monotonic() + seconds
    try:
        with suppress(EOFError, OSError):
            while worker.pipe.poll(max(deadline - time.monotonic(), 0)):
                report = worker.pipe.recv()
                if report is None:
                    return
                yield report
        notes.append("shrinking was broken off: simpler counterexamples may exist")
    finally:
        worker.kill()


def finish(claim: Claim, found: Instance, report: Report) -> None:
    """Shrink a violating instance and look for the largest violation near it, reporting "shrunk" and "worst" ones."""
    shrinker = Shrinker.of(claim, found, lambda raw: report("shrunk", raw))
    report("shrunk", shrinker.exact)
    shrinker.run()
    for raw in worst_near(claim, found):
        report("worst", raw)


def worst_near(claim: Claim, found: Instance) -> list[Instance]:
    """The instance near `found` with the largest certified relative violation, if one is larger than its own."""
    arrays = {k: np.asarray(x, dtype=float) for k, x in found.arrays.items()}
    start = Instance(found.sizes, found.options, arrays).batch()
    seen: list[tuple[float, Instance]] = []

    def show(raw: Batch) -> Array:
        try:
            scores = scores_of(claim.assess(raw))
        except Exception:  # a claim that raises there is a finding of its own, and no larger violation
            return np.full(raw.count, 4.0)
        best = int(np.argmin(scores))
        if scores[best] < 0:
            seen.append((float(scores[best]), raw.at(best)))
        return scores

    climb.climb(claim, np.random.default_rng(0), WORST, show, start)
    for _, raw in sorted(seen, key=lambda pair: pair[0])[:3]:
        with suppress(Exception):  # as above
            if isinstance(certify(claim, raw, PRECISIONS[:2]), Certificate):
                return [raw]
    return []


__all__ = ["BUDGET", "falsify", "finish", "refuted_by", "worst_near"]
