"""The campaign itself: claims in, chunks given out where they pay, all that comes back into the store."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resstream.arithmetic import RATIONAL
from resstream.campaign.store import Done, Store, key_of
from resstream.campaign.strategy import Standing, choose, region_of
from resstream.claim import Claim, Instance
from resstream.errors import ClaimError, ResstreamError
from resstream.falsify.counterexample import raw_from_json, raw_to_json
from resstream.falsify.run import refuted_by
from resstream.falsify.search import Chunk, run_chunk, stream
from resstream.falsify.variants import targets
from resstream.falsify.verdict import GAVE_UP, Tally, Verdict
from resstream.workers import TIME_IS_UP, Run, Task, Workers, hired

LONGEST = 24.0 * 365
"""Hours of the longest campaign, a year."""

PATIENCE = 600.0
"""Seconds that a chunk may take; one that takes longer is given up, and its process ended."""

LOSSES = 2
"""Chunks of a claim that may be lost before it is set aside for this session."""

SHRINKING, LAST = 20.0, 3.0
"""Seconds for shrinking a counterexample, and where the campaign's time is up."""


@dataclass(frozen=True)
class Status:
    """How a campaign stands: chunks and evaluations of this session, claims refuted and open, the best margin.

    >>> status = Status(chunks=2, evaluations=6000, seconds=2.0, left=9.0, refuted=0, open=1, best=0.5, best_of="mine")
    >>> status.rate
    3000.0
    """

    chunks: int
    evaluations: int
    seconds: float
    left: float
    refuted: int
    open: int
    best: float
    """The smallest margin of this session that is above 0: inf where there is none."""
    best_of: str
    """The claim that has it."""

    @property
    def rate(self) -> float:
        """Evaluations a second."""
        return self.evaluations / self.seconds if self.seconds else 0.0


def campaign(
    names: Sequence[str | Claim],
    hours: float,
    store: str | Path,
    *,
    seed: int = 0,
    workers: int = 1,
    executor: Any = None,
    progress: Callable[[Status], None] = lambda _: None,
) -> list[str]:
    """Search for counterexamples to many claims for some hours, or until each is refuted; what was not done, and why.

    names: ids, groups, patterns, files of claims (which are executed) or claims, as for `check`. store: a directory,
    which the same call goes on with after whatever end; `report` says what is in it. The chunks are those of `falsify`
    and go on where its budget ends; which claim the next is given to, `resstream.campaign.strategy` says. Raises
    ResstreamError for hours that are none, an unknown name, a store that is broken, in use or of another version.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as store:
    ...     campaign(["contraction.diameter_squared"], hours=1, store=store)
    []
    """
    if not 0 < hours <= LONGEST:  # NaN is not
        raise ResstreamError(f"hours: expected a number above 0 and up to {LONGEST:.0f}, got {hours}")
    chosen = [claim for name in names for claim in (targets([name]) if isinstance(name, str) else [name])]
    claims = {key_of(claim): claim for claim in (chosen if names else targets([]))}
    with Store(store) as kept:
        kept.claim_it()
        return _Campaign(kept, claims, seed, 3600 * hours, progress).run(hired(workers, executor, apart=True))


class _Campaign:
    def __init__(
        self, store: Store, claims: Mapping[str, Claim], seed: int, seconds: float, progress: Callable[[Status], None]
    ) -> None:
        self.store, self.claims, self.seed, self.progress = store, claims, seed, progress
        self.start = time.monotonic()
        self.end = self.start + seconds
        self.session = store.begin(claims, seed)
        self.standings = {key: Standing() for key in claims}
        self.over: set[str] = set()
        self.chunks = {key: self._to_do(key) for key in claims}
        found = {key: one for key, one in store.violations().items() if key in claims}
        self.over |= found.keys()
        self.refuted = len(found)
        # What violates a claim and was not shrunk yet: also what a session that was killed has left.
        self.unshown = {key: (one["raw"], one["engine"]) for key, one in found.items() if one["text"] is None}
        self.showing: set[str] = set()
        self.given: dict[int, tuple[str, Chunk | None]] = {}
        self.lost: dict[str, int] = {}
        self.status = Status(0, 0, 0.0, seconds, self.refuted, len(claims) - len(self.over), math.inf, "")

    def _to_do(self, key: str) -> Iterator[Chunk]:
        """The chunks of a claim that the store lacks, endlessly; those that it has count for the claim's standing."""
        done = self.store.chunks(key)
        for one in done:
            self.standings[key].saw(one.margin, one.region, one.seconds)
            if one.error:
                self.over.add(key)
        known = {(one.engine, one.number) for one in done if one.seed == str(self.seed)}
        return (chunk for chunk in stream(self.claims[key]) if (chunk.engine, chunk.number) not in known)

    def run(self, workers: Workers) -> list[str]:
        workers.expect([Task(_worked, claim) for claim in self.claims.values()])
        left = max(self.end - time.monotonic(), 0)
        run: Run[Any] = Run(self._tasks(), workers, left, each=PATIENCE, lost=self._was_lost)
        for number, found in run.results():
            key, chunk = self.given.pop(number)
            if chunk is None:
                self._show(key, found)
            else:
                self._keep(key, chunk, *found)
        for key in self.unshown:  # there was no time for them
            self._show(key, _shrunk(self.claims[key], self.seed, *self.unshown[key], LAST))
        aside = [f"{self.claims[key].id} was set aside" for key, count in self.lost.items() if count >= LOSSES]
        return [note for note in run.notes if note != TIME_IS_UP] + aside

    def _tasks(self) -> Iterator[Task]:
        turn = 0
        while True:
            following = next((key for key in self.unshown if key not in self.showing), None)
            if following is not None:
                self.showing.add(following)
                self.given[turn] = following, None
                yield Task(_shrunk, self.claims[following], (self.seed, *self.unshown[following], SHRINKING))
                turn += 1
                continue
            key = choose((key, one) for key, one in self.standings.items() if key not in self.over)
            if key is None:
                return
            chunk = next(self.chunks[key], None)
            if chunk is None:  # each of its instances was judged
                self.over.add(key)
                continue
            self.standings[key].pending += 1
            self.given[turn] = key, chunk
            yield Task(_worked, self.claims[key], (chunk, self.seed))
            turn += 1

    def _was_lost(self, number: int) -> None:
        key, chunk = self.given.pop(number)
        if chunk is None:  # a claim that is violated, and cannot be shrunk
            del self.unshown[key]
            return
        self.standings[key].pending -= 1
        self.lost[key] = self.lost.get(key, 0) + 1
        if self.lost[key] >= LOSSES:
            self.over.add(key)

    def _keep(self, key: str, chunk: Chunk, tally: Tally, seconds: float) -> None:
        margin = tally.smallest_margin if math.isfinite(tally.smallest_margin) else None
        region = region_of(tally.closest, tally.smallest_margin)
        done = Done(
            claim=key,
            engine=chunk.engine,
            number=chunk.number,
            seed=str(self.seed),
            evaluations=tally.evaluations,
            accepted=tally.accepted,
            discarded=tally.discarded,
            judged=tally.judged,
            acquitted=tally.acquitted,
            undecided=tally.undecided,
            undefined=tally.undefined,
            margin=margin,
            region=region,
            error=tally.error,
            seconds=seconds,
            at=time.time(),
            session=self.session,
        )
        violating = _exactly(tally.violating)
        self.store.keep(done, _exactly(tally.closest), violating)
        standing = self.standings[key]
        standing.pending -= 1
        standing.saw(margin, region, seconds)
        if tally.finished:
            self.over.add(key)
        if violating is not None and key not in self.unshown:
            self.refuted += 1
            self.unshown[key] = json.dumps(violating), tally.engine
        now, before = time.monotonic(), self.status
        best, best_of = before.best, before.best_of
        if margin is not None and 0 < margin < best:
            best, best_of = margin, self.claims[key].id
        self.status = Status(
            chunks=before.chunks + 1,
            evaluations=before.evaluations + tally.evaluations,
            seconds=now - self.start,
            left=max(self.end - now, 0.0),
            refuted=self.refuted,
            open=len(self.claims) - len(self.over),
            best=best,
            best_of=best_of,
        )
        self.progress(self.status)

    def _show(self, key: str, shown: tuple[dict[str, Any], str] | None) -> None:
        if shown is not None:
            self.store.show(key, *shown)
            self.unshown.pop(key, None)


def _exactly(raw: Instance | None) -> dict[str, Any] | None:
    """The exact numbers that the floats of an instance are, as JSON data."""
    if raw is None:
        return None
    return raw_to_json(dataclasses.replace(raw, arrays={name: RATIONAL.array(x) for name, x in raw.arrays.items()}))


def _shrunk(claim: Claim, seed: int, raw: str, engine: str, seconds: float) -> tuple[dict[str, Any], str] | None:
    """What an instance (as JSON) shrinks to, as data and as text; None where it certifies nothing."""
    verdict = Verdict(claim, GAVE_UP, seed, Tally())
    try:
        shown = refuted_by(verdict, raw_from_json(claim, json.loads(raw)), engine, seconds)
    except ClaimError:  # not deterministic: the violation stays as it is
        return None
    counterexample = shown and shown.counterexample
    return (counterexample.json(), str(counterexample)) if counterexample else None


def _worked(claim: Claim, chunk: Chunk, seed: int) -> tuple[Tally, float]:
    """A chunk, and the seconds that it took; a claim that is badly stated is an error of it alone."""
    start = time.perf_counter()
    try:
        tally = run_chunk(claim, chunk, seed).light()
    except ClaimError as failure:
        tally = Tally(error=str(failure))
    return tally, time.perf_counter() - start
