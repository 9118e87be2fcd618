"""Checking many claims of the library: one search each, on as many processes as wanted, reported in order."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from resstream import claims
from resstream.falsify.profiles import profile
from resstream.falsify.search import Verdict, search


@dataclass(frozen=True)
class Row:
    """What a check says of one claim.

    accepted and discarded are numbers of instances (that met the hypotheses, and that did not); acquitted are the
    float64 violations that exact arithmetic cleared; smallest_margin is relative, None if nothing was accepted.
    """

    id: str
    expect: str
    verdict: str
    accepted: int
    discarded: int
    acquitted: int
    smallest_margin: float | None
    seconds: float
    message: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether the claim did what it says of itself."""
        return self.verdict == ("survived" if self.expect == "holds" else "refuted")

    def json(self) -> dict[str, Any]:
        """The row as JSON-ready data; `message` (of an error) only where there is one."""
        values = asdict(self)
        if not self.message:
            del values["message"]
        return values


def row_of(verdict: Verdict) -> Row:
    """The row of a verdict."""
    tally = verdict.tally
    margin = tally.judgement.margin if tally.judgement else tally.smallest_margin
    return Row(
        id=verdict.claim.id,
        expect=verdict.claim.expect,
        verdict=verdict.status,
        accepted=tally.accepted,
        discarded=tally.discarded,
        acquitted=tally.acquitted,
        smallest_margin=None if margin == float("inf") else margin,
        seconds=round(verdict.seconds, 3),
        message=tally.error,
    )


def check_one(identifier: str, profile_name: str, seed: int) -> Row:
    """Search for a counterexample to one claim of the library."""
    settings = profile(profile_name)
    return row_of(search(claims.lookup(identifier), settings.chunks(), seed, settings.floor))


def check(identifiers: Sequence[str], profile_name: str, seed: int, workers: int) -> Iterator[Row]:
    """Check claims of the library, yielding rows in the given order as soon as each is ready.

    The rows do not depend on the number of workers, but for their seconds.
    """
    if workers <= 1:
        for identifier in identifiers:
            yield check_one(identifier, profile_name, seed)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(check_one, identifier, profile_name, seed) for identifier in identifiers]
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
