"""Checking many claims of the library: one search each, on as many processes as wanted, reported in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from resstream.claim import Claim
from resstream.falsify.profiles import profile
from resstream.falsify.search import exhaustion_plan, search
from resstream.falsify.statistical import StatisticalVerdict, by_draws
from resstream.falsify.variants import find_stated
from resstream.falsify.verdict import Verdict, does_as_expected
from resstream.statistical import StatisticalClaim
from resstream.workers import Run, Task, hired


@dataclass(frozen=True)
class Row:
    """What a check says of one claim.

    accepted and discarded are numbers of instances (that met the hypotheses, and that did not); acquitted are the
    float64 violations that exact arithmetic cleared, undecided and undefined the judged instances of which nothing is
    certain and at which a side has no value; smallest_margin is relative, None if nothing was accepted.
    """

    id: str
    expect: str
    verdict: str
    accepted: int
    discarded: int
    acquitted: int
    undecided: int
    undefined: int
    smallest_margin: float | None
    seconds: float
    message: str = ""
    sizes: Mapping[str, str] = field(default_factory=dict)
    """The range of every size that was swept."""
    level: float | None = None
    """Of a statistical claim, whose verdict is not certified: the level of its test; accepted are its draws."""

    @property
    def as_expected(self) -> bool:
        """Whether the claim did what it says of itself."""
        return does_as_expected(self.expect, self.verdict)

    def json(self) -> dict[str, Any]:
        """The row as JSON-ready data; `message` (of an error) and `level` only where there is one."""
        values = asdict(self)
        for name in ("message", "level"):
            if not values[name]:
                del values[name]
        return values


def row_of(verdict: Verdict) -> Row:
    """The row of a verdict."""
    tally = verdict.tally
    margin = tally.smallest_margin
    sizes = {name: f"{values[0]}..{values[-1]}" for name, values in verdict.claim.size_ranges().items()}
    if verdict.evidence is not None and verdict.evidence.shown is not None:
        sizes[verdict.evidence.size] += f" and doubled to {verdict.evidence.shown.lengths[-1]}"
    return Row(
        id=verdict.claim.id,
        expect=verdict.claim.expect,
        verdict=verdict.status,
        accepted=tally.accepted,
        discarded=tally.discarded,
        acquitted=tally.acquitted,
        undecided=tally.undecided,
        undefined=tally.undefined,
        smallest_margin=None if margin == float("inf") else margin,
        seconds=round(verdict.seconds, 3),
        message=tally.error,
        sizes=sizes,
    )


def row_of_draws(verdict: StatisticalVerdict) -> Row:
    """The row of a statistical verdict."""
    claim = verdict.claim
    return Row(
        claim.id,
        claim.expect,
        verdict.verdict,
        accepted=verdict.draws,
        discarded=0,
        acquitted=0,
        undecided=verdict.undecided,
        undefined=0,
        smallest_margin=None,
        seconds=round(verdict.seconds, 3),
        message=verdict.error,
        sizes={name: ", ".join(map(str, values)) for name, values in claim.sizes.items()},
        level=float(claim.level),
    )


def check_one(claim: Claim | StatisticalClaim, profile_name: str, seed: int) -> Row:
    """Search for a counterexample to one claim; a statistical one is tested, with its own draws in every profile."""
    if isinstance(claim, StatisticalClaim):
        return row_of_draws(by_draws(claim, seed=seed))
    settings = profile(profile_name)
    chunks = settings.chunks()
    chunks = exhaustion_plan(claim, sum(chunk.size for chunk in chunks)) or chunks
    verdict = search(claim, chunks, seed, settings.floor)
    if any(note.startswith("interrupted") for note in verdict.notes):
        raise KeyboardInterrupt  # which the search has caught: it ends the check, not one claim of it
    return row_of(verdict)


def check(
    names: Sequence[str | Claim | StatisticalClaim],
    profile_name: str = "default",
    seed: int = 0,
    workers: int = 1,
    *,
    executor: Any = None,
) -> Iterator[Row]:
    """Check claims, those of the library by id, yielding rows in the given order as soon as each is ready.

    The rows do not depend on the workers, but for their seconds. executor: see `falsify`. An unknown id or profile
    raises ClaimError or ResstreamError.

    >>> import resstream as rs
    >>> [(row.id, row.verdict) for row in rs.check(["contraction.diameter"], "quick")]
    [('contraction.diameter', 'survived')]
    """
    chosen = [find_stated(name) if isinstance(name, str) else name for name in names]
    tasks = [Task(check_one, claim, (profile_name, seed)) for claim in chosen]
    run: Run[Row] = Run(tasks, hired(workers, executor))
    done: dict[int, Row] = {}
    following = 0
    for number, row in run.results():
        done[number] = row
        while following in done:
            yield done[following]
            following += 1
    for number in range(following, len(chosen)):  # after a claim that ended its process twice
        yield done.get(number) or _lost(chosen[number])


def _lost(claim: Claim | StatisticalClaim) -> Row:
    message = "its process was ended twice, from outside or by a fault below Python"
    return Row(claim.id, claim.expect, "error", 0, 0, 0, 0, 0, None, 0.0, message)
