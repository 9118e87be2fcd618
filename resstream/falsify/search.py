"""The search: chunks of work, each a pure function of (claim, engine, number, seed), and what they add up to.

The lowest refuting chunk wins, so a verdict does not depend on how many workers ran, nor on their order.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Batch, Claim, Instance, Margin
from resstream.errors import ArithmeticLimit, ClaimError, ClaimFault, DomainError
from resstream.falsify import batches, corners, exhaustion, integers
from resstream.falsify.certify import Certificate, certify
from resstream.falsify.evidence import weighed
from resstream.falsify.registry import BATCH, ENGINE_OF, REGISTRY, SUSPECTS, Orders
from resstream.falsify.scores import Scoring, scores_of
from resstream.falsify.variants import stated_anew
from resstream.falsify.verdict import Tally, Verdict, add_up, conclude
from resstream.workers import Run, Task, hired

ENGINES = tuple(REGISTRY)
"""The names of the engines, in the order in which a plan first calls them."""

AMPLE = 100_000
"""Evaluations from which a search has the engines of structures, patterns, growth and gradients before all else."""

EXAMPLES = 100
"""Instances in a chunk of the Hypothesis engine."""

EVERY = 16
"""Instances in a chunk of those that are gone through one by one."""

NEAR = 1e-9
"""Relative float64 margins below this make a suspect: near enough for rounding to hide a violation."""

NUDGE = 1e-9
"""Relative change of the raw entries under which a real violation stays, and a rounding artefact jumps."""

SELDOM = 1 / 8
"""Part of the batches whose suspects are judged where some dozens of them were cleared in the same chunk."""

FAULTS = 32
"""Instances on which evaluation raised that a chunk looks into; more of them are counted, and not judged."""

FLOOR = 100
"""Accepted instances below which a search is no survival: it gave up."""


STREAM = 2_000_000
"""Evaluations by which scans and exhaustion are measured in a search without an end."""

KNOWN = 256
"""Claims that a process remembers to be settled."""

ONE_BY_ONE = "evaluated one instance at a time, which is slower: it cannot be evaluated on a batch"


@dataclass(frozen=True)
class Chunk:
    """A piece of a search: which engine, and the number that makes its random stream its own."""

    engine: str
    number: int
    size: int


def plan(examples: int, batches: int, corner_shapes: int = 8, climbs: int = 1, batch: int = BATCH) -> list[Chunk]:
    """The chunks of a check: corners and climbs, then Hypothesis-drawn instances, between batches drawn at random."""
    random = [Chunk("random", number, batch) for number in range(batches)]
    near = [
        *(Chunk("corners", number, 128) for number in range(corner_shapes)),
        *(Chunk("climb", number, 1024) for number in range(climbs)),
    ]
    drawn = [
        Chunk("hypothesis", number, min(EXAMPLES, examples - number * EXAMPLES))
        for number in range(-(-examples // EXAMPLES))
    ]
    return [*random[:1], *near, *drawn, *random[1:]]


def budget_plan(claim: Claim, budget: int, chosen: Sequence[str] = ENGINES) -> list[Chunk]:
    """The chunks of a search with a budget of evaluations, small and cheap ones first, by the chosen engines."""
    if not chosen:
        raise ClaimError(f"engines: expected some of {', '.join(ENGINES)}, got none")
    for name in chosen:
        if name not in ENGINES:
            raise ClaimError(f"engine {name!r}: expected some of {', '.join(ENGINES)}")
    if budget < 1:
        raise ClaimError(f"budget: expected at least 1 evaluation, got {budget}")
    if all(name in _idle(claim) for name in chosen):
        raise ClaimError(
            f"engines: {', '.join(chosen)} look at hypotheses or whole numbers, of which {claim.id} has none"
        )
    if tuple(chosen) == ENGINES and (every := exhaustion_plan(claim, budget)):
        return every
    left = budget
    chunks: list[Chunk] = []
    for chunk in _endless(claim, budget):
        if ENGINE_OF[chunk.engine].name not in chosen:
            continue
        size = min(chunk.size, left)
        chunks.append(Chunk(chunk.engine, chunk.number, size))
        left -= size
        if left == 0:
            return chunks
    return chunks


def _idle(claim: Claim) -> set[str]:
    """The engines that have nothing to look at."""
    return {*(() if claim.assuming else ("equations",)), *(() if integers.has_integers(claim) else ("integers",))}


def exhaustion_plan(claim: Claim, budget: int) -> list[Chunk]:
    """The chunks that judge every instance of a claim; none where it has no end of them, or more than the budget."""
    instances = exhaustion.count(claim) or 0
    starts = range(0, instances, EVERY) if instances <= budget else ()
    return [Chunk("exhaustion", number, min(EVERY, instances - start)) for number, start in enumerate(starts)]


def _endless(claim: Claim, budget: int) -> Iterator[Chunk]:
    shapes = corners.shapes(claim)

    def near(start: int, stop: int, size: int) -> Iterator[Chunk]:
        for number in range(start, min(stop, len(shapes))):
            values = corners.enumerable(claim.parts(*shapes[number]), size)
            yield Chunk("corners", number, corners.combinations(values) if values else size)

    def round_of_moves(number: int) -> Iterator[Chunk]:
        yield Chunk("structures", number, 6144)
        yield Chunk("patterns", number, 4096)
        if claim.assuming:
            yield Chunk("equations", number, 2048)
        yield Chunk("growth", number, BATCH)
        yield Chunk("descent", number, BATCH)
        for more in range(2):
            yield Chunk("curvature", 2 * number + more, BATCH)

    yield from near(0, 16, 2048)
    yield Chunk("random", 0, 2048)
    for number in range(4):
        yield Chunk("climb", number, 4096)
    ample = budget >= AMPLE
    if ample and integers.has_integers(claim):
        for number in range(2):
            yield Chunk("scans", number, BATCH)
            yield Chunk("sums", number, BATCH)
    for number in range(corners.scan_blocks(claim, BATCH, 3 * budget // (5 * BATCH))):
        yield Chunk("scan", number, BATCH)
    if ample:
        yield from round_of_moves(0)
        yield from round_of_moves(1)
        yield Chunk("hypothesis", 0, EXAMPLES)
        yield from near(16, 28, 2048)
        for number in range(4, 6):
            yield Chunk("climb", number, BATCH)
        yield from round_of_moves(2)
        yield from near(28, 48, 2048)
        for number in range(6, 8):
            yield Chunk("climb", number, BATCH)
    else:
        yield from near(16, 48, 2048)
        yield Chunk("hypothesis", 0, EXAMPLES)
        for number in range(4, 8):
            yield Chunk("climb", number, BATCH)
    number = 1
    while True:
        yield Chunk("random", number, BATCH)
        yield Chunk("evolution", number, BATCH)
        for more in range(4):
            yield Chunk("climb", 4 + 4 * number + more, BATCH)
        yield Chunk("corners", 47 + number, 2048)
        yield Chunk("hypothesis", number, EXAMPLES)
        yield from round_of_moves(2 + number)
        if integers.has_integers(claim):
            yield Chunk("scans", 1 + number, BATCH)
            yield Chunk("sums", 1 + number, BATCH)
        number += 1


def stream(claim: Claim) -> Iterator[Chunk]:
    """The chunks of a search without an end; of a claim with few instances, those that judge each of them."""
    return iter(exhaustion_plan(claim, STREAM) or _endless(claim, STREAM))


def search(
    claim: Claim,
    chunks: Sequence[Chunk],
    seed: int = 0,
    floor: int = FLOOR,
    progress: Callable[[Chunk], None] = lambda _: None,
    workers: int = 1,
    seconds: float | None = None,
    executor: Any = None,
) -> Verdict:
    """Run chunks in order until one refutes or raises, and say what they add up to.

    Where the chunks are those of `exhaustion_plan` the verdict says of how many instances it is, and that they are all.
    With several workers, or a limit in seconds, chunks run in processes of their own; with an executor, there. Whatever
    ends a run early (the limit, Ctrl-C, a worker that died) is said in the verdict's notes, and what was judged by then
    is kept.
    """
    start = time.perf_counter()
    done: dict[int, Tally] = {}
    notes: list[str] = []
    end = None if seconds is None else start + seconds
    if claim.as_grows is not None and seconds is not None:
        seconds /= 2  # the rest is for following sequences
    tasks = [Task(_chunk_done, claim, (chunk, seed)) for chunk in chunks]
    run: Run[Tally] = Run(tasks, hired(workers, executor, apart=seconds is not None), seconds)
    try:
        for number, tally in run.results(lambda tally: tally.finished):
            done[number] = tally
            progress(chunks[number])
    except KeyboardInterrupt:
        notes.append("interrupted")
    notes += run.notes
    tally, wanted = add_up(done, len(chunks))
    missing = sum(number not in done for number in range(wanted))
    if missing:
        notes.append(f"{missing} of {len(chunks)} chunks were not done")
    mode = (ONE_BY_ONE,) if tally.single else ()
    if tally.single:
        claim = replace(claim, batched=False)
    if tally.violating is not None and tally.certificate is None:
        _certify_again(claim, tally)
    if tally.violating is not None and tally.certificate is not None:
        _certify_anew(claim, tally)
    whole = not missing and not tally.finished and all(chunk.engine == "exhaustion" for chunk in chunks)
    every = sum(chunk.size for chunk in chunks) if chunks and whole else None
    verdict = conclude(claim, tally, seed, floor, time.perf_counter() - start, tuple(notes), every)
    verdict = replace(verdict, notes=(*verdict.notes, *mode, *claim.notes))
    if claim.as_grows is None:
        return verdict
    return weighed(verdict, None if end is None else end - time.perf_counter())


def _chunk_done(claim: Claim, chunk: Chunk, seed: int) -> Tally:
    return run_chunk(claim, chunk, seed).light()


def _certify_again(claim: Claim, tally: Tally) -> None:
    """The certificate of an instance that another process has certified."""
    assert tally.violating is not None
    try:
        again = certify(claim, tally.violating)
    except ClaimFault as failure:
        tally.error, tally.faulty = _fault(claim, failure), tally.violating
        return
    if isinstance(again, Certificate):
        tally.certificate = again
    else:
        tally.error = f"not deterministic: an instance was read as violated, and then as {again.outcome}"
        tally.faulty = tally.violating


def _certify_anew(claim: Claim, tally: Tally) -> None:
    """What refutes a claim of a file refutes it also where the file is read anew, or its functions remember calls."""
    fresh = stated_anew(claim)
    if fresh is None or tally.violating is None:
        return
    try:
        again = certify(fresh, tally.violating)
    except ClaimFault as failure:
        said = f"raised {failure}"
    else:
        said = "" if isinstance(again, Certificate) else f"was read as {again.outcome}"
    if said:
        tally.error = (
            f"claim {claim.id} is not deterministic: an instance was read as violated, and {said} where the claim's "
            "file was executed anew: its functions remember earlier calls"
        )
        tally.faulty, tally.certificate = tally.violating, None


_settled_before: dict[int, tuple[Claim, Claim]] = {}
"""Claims (by identity, and kept, so that the identity stays theirs) and what was found out of them in this process."""


def _settled(claim: Claim) -> Claim:
    """`batches.settled`, once for each claim and process: where chunks run, as a claim may hang or end its process."""
    known = _settled_before.get(id(claim))
    if known is None or known[0] is not claim:
        if len(_settled_before) >= KNOWN:
            _settled_before.clear()
        known = _settled_before[id(claim)] = (claim, batches.settled(claim))
    return known[1]


def _fault(claim: Claim, failure: Exception) -> str:
    """What is said of a failure: it names the claim."""
    return str(failure) if claim.id in str(failure) else f"claim {claim.id}: {failure}"


class _Finished(Exception):
    """A chunk has found what ends it, or has spent its evaluations."""


def run_chunk(claim: Claim, chunk: Chunk, seed: int) -> Tally:
    """One chunk of the search; the same arguments always give the same tally.

    Raises ClaimError for a badly stated claim.
    """
    try:
        claim = _settled(claim)
    except ClaimFault as failure:
        return Tally(error=_fault(claim, failure))
    engine = ENGINE_OF.get(chunk.engine)
    if engine is None and chunk.engine != "exhaustion":
        raise ClaimError(f"engine {chunk.engine!r}: expected some of {', '.join(ENGINE_OF)}")
    words = [seed, *claim.seed_words(), *chunk.engine.encode(), chunk.number]
    rng = np.random.default_rng(words)
    lots = np.random.default_rng([*words, 1])  # so that what is judged has no say in what is drawn
    tally = Tally(engine=engine.name if engine else chunk.engine, single=claim.batched is False)
    judged: set[bytes] = set()

    def show(raw: Batch, by_lot: int = 0, scoring: Scoring = scores_of, ties: bool = True) -> Array:
        left = chunk.size - tally.evaluations
        if left <= 0:  # no engine spends more than its chunk has
            raise _Finished
        spent = raw.count > left
        if spent:
            raw = raw.take(np.arange(left))
        scores = examine(claim, raw, lots, tally, by_lot, judged, scoring, ties)
        if tally.finished or spent:
            raise _Finished
        return scores

    # What an engine computes is a guess: where it leaves the floats it is a bad one, and no warning to whoever called.
    with contextlib.suppress(_Finished), np.errstate(all="ignore"):
        if engine is None:
            _judge_every(claim, chunk, tally)
        else:
            engine.kinds[chunk.engine](Orders(claim, chunk.number, chunk.size, rng, show))
    return tally


def _judge_every(claim: Claim, chunk: Chunk, tally: Tally) -> None:
    start = chunk.number * EVERY
    for raw in exhaustion.instances(claim, start, start + chunk.size):
        tally.evaluations += 1
        tally.accepted += 1  # what the judge finds outside the hypotheses is taken off again
        _judge_one(claim, raw, float("nan"), tally)
        if tally.finished:
            return


def examine(
    claim: Claim,
    raw: Batch,
    rng: np.random.Generator,
    tally: Tally,
    by_lot: int = SUSPECTS,
    judged: set[bytes] | None = None,
    scoring: Scoring = scores_of,
    ties: bool = True,
) -> Array:
    """Evaluate a batch in float64, judge its suspects and some by lot, and count what was seen in `tally`.

    Returns a score for each instance, the lower the nearer to a violation (see `scores_of`). Instances whose digest is
    in `judged` are not judged again; without `ties` what float64 shows as a tie is none of the suspects.
    """
    try:
        assessment = claim.assess(raw)
    except ClaimFault as failure:
        return _examine_halves(claim, raw, rng, tally, failure, judged, scoring, ties)
    except ClaimError:
        raise
    except Exception as failure:
        return _examine_halves(claim, raw, rng, tally, failure, judged, scoring, ties)
    margin = assessment.conclusion
    accepted = raw if assessment.met.all() else raw.take(np.flatnonzero(assessment.met))
    tally.evaluations += raw.count
    tally.accepted += accepted.count
    tally.discarded += raw.count - accepted.count
    scores = scoring(assessment)
    if accepted.count < raw.count:
        tally.nearest_miss = min(tally.nearest_miss, float(np.min(assessment.missing[~assessment.met])))
    if not accepted.count:
        return scores
    relative = margin.relative
    clear = relative >= NEAR
    if clear.any():
        nearest = int(np.argmin(np.where(clear, relative, np.inf)))
        tally.nearer(float(relative[nearest]), accepted.at(nearest))
    tally.suspects += int(np.count_nonzero(relative < 0))
    most = SUSPECTS
    if tally.acquitted >= 3 * SUSPECTS:
        # A chunk whose suspects were all cleared so far looks at fewer of the next ones, and then at fewer batches.
        most = 2 if tally.acquitted < 12 * SUSPECTS or rng.random() < SELDOM else 0
    for index in _to_judge(claim, accepted, margin, rng, by_lot, most, NEAR if ties else 0.0):
        instance = accepted.at(index)
        if judged is not None:
            digest = b"".join(values.tobytes() for values in instance.arrays.values())
            if digest in judged:
                continue
            judged.add(digest)
        _judge_one(claim, instance, float(relative[index]), tally)
        if tally.finished:
            break
    return scores


def _softened(margin: Margin) -> Array:
    """Relative margins that count for nothing what is tiny beside the usual scale of the batch.

    The relative margin of an artefact such as 1e-17 against an exact zero is -1, worse than that of many a violation.
    """
    finite = margin.scale[np.isfinite(margin.scale)]
    usual = float(np.median(finite)) if len(finite) else 1.0
    with np.errstate(all="ignore"):
        return margin.slack / (margin.scale + 1e-6 * usual + 1e-300)


def _to_judge(
    claim: Claim, accepted: Batch, margin: Margin, rng: np.random.Generator, by_lot: int, most: int, near: float
) -> list[int]:
    """Indices to judge: the most suspicious in three orders, then some by lot, without repeats.

    Rounding artefacts can be many, and worse in float64 than any real violation. So the first order has those only that
    stay as they are when the raw entries are nudged, the second is softened, the third the relative margin as it is.
    """
    relative = margin.relative
    suspicious = np.flatnonzero(~(relative >= near))
    orders = [_softened(margin), relative]
    ranked = [suspicious[np.argsort(order[suspicious], kind="stable")] for order in orders]
    certain = _steady(claim, accepted, ranked, relative)[: SUSPECTS // 2] if most else []
    picked = [*certain, *(place for order in ranked for place in order[: most // 2])][: max(most, len(certain))]
    picked += list(np.flatnonzero(np.isnan(relative))[:SUSPECTS])  # where there may be no value at all
    if by_lot:
        lots = [suspicious, np.arange(len(relative))]
        picked += [place for lot in lots if len(lot) for place in rng.choice(lot, min(len(lot), by_lot // 2), False)]
    return list(dict.fromkeys(int(place) for place in picked))


def _steady(claim: Claim, accepted: Batch, ranked: Sequence[Array], relative: Array) -> list[int]:
    """Those of the first suspects whose violation stays under a nudge of the raw entries, the worst first."""
    several = np.array(
        list(dict.fromkeys(int(place) for order in ranked for place in order[: 8 * SUSPECTS])), dtype=int
    )
    several = several[relative[several] < 0]
    if len(several) < SUSPECTS:
        return []
    nudged = steady(claim, accepted.take(several), relative[several])
    kept = several[nudged]
    return [int(place) for place in kept[np.argsort(relative[kept], kind="stable")]]


def steady(claim: Claim, raw: Batch, relative: Array) -> Array:
    """Whether each negative relative margin of a batch stays about the same when the raw entries are nudged."""
    parts = claim.parts(raw.sizes, raw.options)
    signs = np.random.default_rng(0)
    arrays = {
        name: x if parts[name].kind == "whole" else x * (1 + NUDGE * signs.choice([-1.0, 1.0], x.shape))
        for name, x in raw.arrays.items()
    }
    try:
        again = claim.assess(Batch(raw.sizes, raw.options, arrays, raw.count))
    except Exception:  # what raises beside a suspect is looked into when it is met itself
        return np.zeros(raw.count, dtype=bool)
    moved = np.full(len(relative), np.inf)
    moved[again.met] = again.conclusion.relative
    with np.errstate(all="ignore"):
        return np.abs(moved - relative) <= 0.2 * np.abs(relative)


def _judge_one(claim: Claim, raw: Instance, margin: float, tally: Tally) -> None:
    # Where floats were wrong of a violation already, the next one is likely rounding too.
    looks_tied = abs(margin) < NEAR or (margin < 0 and tally.acquitted > 0)
    try:
        answer = certify(claim, raw, looks_tied=looks_tied)
    except ClaimError as failure:
        if not isinstance(failure, ClaimFault):
            raise
        tally.judged += 1
        tally.error, tally.faulty = _fault(claim, failure), raw
        return
    tally.count(raw, answer, margin)


_FLOAT_FAULTS = (ArithmeticLimit, DomainError, ArithmeticError, np.linalg.LinAlgError)
"""Errors that may be the doing of float64: it can leave a domain that the exact value is in, or overflow."""


def _examine_halves(
    claim: Claim,
    raw: Batch,
    rng: np.random.Generator,
    tally: Tally,
    failure: Exception,
    judged: set[bytes] | None,
    scoring: Scoring,
    ties: bool,
) -> Array:
    """Find the instances on which evaluating the claim raises, and let the judge say whether rounding is to blame."""
    if raw.count == 1:
        tally.evaluations += 1
        tally.faults += 1
        if not isinstance(failure, _FLOAT_FAULTS):
            tally.error, tally.faulty = _fault(claim, failure), raw.at(0)
        elif tally.faults <= FAULTS:
            tally.accepted += 1
            _judge_one(claim, raw.at(0), float("nan"), tally)
        return np.array([4.0])
    count = raw.count
    scores = np.full(count, 4.0)
    for half in (np.arange(count // 2), np.arange(count // 2, count)):
        if not tally.finished:
            scores[half] = examine(claim, raw.take(half), rng, tally, 0, judged, scoring, ties)
    return scores


__all__ = [
    "ENGINES",
    "Chunk",
    "budget_plan",
    "examine",
    "exhaustion_plan",
    "plan",
    "run_chunk",
    "scores_of",
    "search",
    "stream",
]
