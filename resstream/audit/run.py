"""The audit of a claim: every question asked in turn, within a time limit, and kept as far as it was answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from resstream import claims
from resstream.audit import failures as failing
from resstream.audit import necessity, proofs, restate, vacuity
from resstream.audit import profile as profiles
from resstream.audit import sample as samples
from resstream.audit import sharpness as sharp
from resstream.audit import thresholds as limits
from resstream.audit import worst as violations
from resstream.audit.attack import Attack, certified, heeded
from resstream.audit.result import LOOSE, NEEDED, REFUTED, UNSURE, Audit, Part, Threshold
from resstream.audit.witnesses import Witnesses
from resstream.claim import Claim, Instance
from resstream.errors import ClaimError, ClaimFault, ResstreamError
from resstream.falsify import batches, engines, falsify
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.memory import Memory
from resstream.falsify.run import refuted_by
from resstream.falsify.verdict import TIME_IS_UP, Verdict

BUDGET = 40_000
"""Evaluations of the search for a counterexample; every search of a changed claim has as many."""

SECONDS = 45.0
"""How long an audit may take where nothing else is said."""

AIM = 10.0
"""Seconds that an audit takes where there is something left to search for."""

PROOFS = 8.0
"""How long proofs may take."""

SHARE = 0.06
"""The share of the time that is left, after the main search, that a search of a changed claim may take."""

FARTHEST = 65
"""Up to which size a law of the best ratio is followed."""

PROFILED = 0.3
"""The share of what is left that a search of a sharper bound may take, which is as long as the main one."""

LONGER = 8
"""How many times the budget a claim has whose hypotheses were met too rarely."""

STAGES = (
    "verdict",
    "proof at small sizes",
    "sample",
    "vacuity",
    "sizes beyond",
    "sharpness",
    "necessity",
    "strengthened variants",
    "failure map",
    "thresholds",
    "a longer search",
)
"""The questions, in the order asked; map and thresholds are of a refuted claim, those before and the last of others."""


@dataclass
class _Run:
    """An audit under way."""

    claim: Claim
    seed: int
    budget: int
    begun: float
    end: float
    quick: bool
    memory: str | Path | None
    progress: Callable[[str, int, int], None]
    kept: Callable[[Audit], None]
    witnesses: Witnesses = field(default_factory=Witnesses)
    audit: Audit = field(init=False)
    attack: Attack = field(init=False)

    def __post_init__(self) -> None:
        self.audit = Audit(self.claim, self.seed, self.budget, theorem=claims.theorem_of(self.claim))
        self.attack = Attack(self.seed, self.left)

    def left(self) -> float:
        """The seconds that are left."""
        return self.end - time.monotonic()

    def keep(self, **values: object) -> None:
        """Keep something that was found."""
        self.audit = replace(self.audit, **values)  # type: ignore[arg-type]

    def miss(self, reason: str) -> None:
        """Say what was not answered."""
        self.keep(missing=(*self.audit.missing, reason))

    @property
    def is_refuted(self) -> bool:
        """Whether there is a certified counterexample."""
        return self.audit.status == "refuted"

    def refute(self, raw: Instance, engine: str) -> None:
        """Change the verdict, if this instance of the claim certifies that it is false."""
        verdict = self.audit.verdict
        if verdict is None or self.is_refuted:
            return
        refuted = refuted_by(verdict, raw, engine, max(min(self.left(), 8.0), 1.0))
        if refuted is not None and refuted.counterexample is not None:
            self.keep(verdict=refuted, parts=(), necessity=(), strengthened=(), beyond=())
            self.witnesses.keep(refuted.counterexample)

    @contextmanager
    def stage(self, name: str) -> Iterator[bool]:
        """A question: whether there is time for it. Interrupting or failing, it leaves what it has kept."""
        self.progress(name, STAGES.index(name), len(STAGES))
        if self.left() <= 0:
            self.miss(f"{name}: {TIME_IS_UP}")
            yield False
            return
        yield True
        if self.left() <= 0 and not any(reason.startswith(name) for reason in self.audit.missing):
            self.miss(f"{name}: broken off by the time limit")
        self.kept(self.audit)


def audit(
    claim: Claim,
    *,
    budget: int = BUDGET,
    seed: int = 0,
    seconds: float = SECONDS,
    quick: bool = False,
    memory: str | Path | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    kept: Callable[[Audit], None] = lambda _: None,
) -> Audit:
    """Everything there is to ask about a claim, within a limit in seconds.

    budget: evaluations of the search for a counterexample. quick: no thresholds, no sizes beyond the stated ones, no
    longer search with the time that is left, and what is changed is searched no longer than the claim. memory: a
    directory of counterexamples of earlier runs, which join the pool, and in which new ones are kept. progress: called
    with each question, its number and their number.
    kept: called with the audit as it stands after each question, for a caller that may have to end a claim that does
    not end by itself. Ctrl-C ends the audit, and what was found by then is returned. Raises ClaimError for a badly
    stated claim, and Contradiction where a proof and a certified counterexample speak of the same instances.

    >>> import resstream as rs
    >>> small = rs.claim("mine.small", over={"x": rs.domains.Vector(1)})(lambda x: rs.at_most(x, 1))
    >>> found = audit(small, budget=500, quick=True)
    >>> found.verdict.status, found.verdict.counterexample.judgement.lhs
    ('refuted', 3)
    """
    if not isinstance(claim, Claim):
        raise ClaimError(
            f"{claim!r:.80}: expected a claim; of a statistical one falsify(...) has the verdict, and "
            "resstream.falsify.statistical.by_draws(..., limits=True) confidence limits"
        )
    begun = time.monotonic()
    run = _Run(claim, seed, budget, begun, begun + seconds, quick, memory, progress, kept)
    try:
        _ask(run)
    except KeyboardInterrupt:
        run.miss("interrupted")
    proofs.agree(run.audit.proofs, run.audit.certified(), claim.id)
    return replace(run.audit, seconds=time.monotonic() - begun, witnesses=len(run.witnesses.found))


def _ask(run: _Run) -> None:
    with run.stage("verdict"):
        verdict = _verdict(run)
    if verdict.status in ("error", "vacuous") or not verdict.tally.accepted:
        if verdict.status == "gave up" and run.claim.assuming:
            with run.stage("vacuity") as there_is_time:
                if there_is_time:
                    run.keep(vacuity=vacuity.vacuity(run.claim, run.attack, PROOFS))
        run.miss(f"everything but the verdict: the search ended as {verdict.status}")
        return
    if run.claim.as_grows is not None:
        run.miss(
            f"everything but the verdict: it says what holds as {run.claim.as_grows.size} grows, and nothing of a size"
        )
        return
    if not run.quick:
        _climb(run, stream=0)
    with run.stage("proof at small sizes") as there_is_time:
        if there_is_time:
            _prove(run)
    with run.stage("sample") as there_is_time:
        if there_is_time:
            run.keep(sample=samples.sample(run.claim, run.seed, run.left))
    if run.claim.assuming:
        with run.stage("vacuity") as there_is_time:
            if there_is_time:
                run.keep(vacuity=vacuity.vacuity(run.claim, run.attack))
    if not run.is_refuted:
        _ask_of_survivor(run)
    if run.is_refuted:
        _ask_of_refuted(run)


def _verdict(run: _Run) -> Verdict:
    """The main search; the claim is found out about once, and a slow one is asked less of from then on."""
    for budget in (run.budget, LONGER * run.budget):
        verdict = falsify(run.claim, budget, run.seed, seconds=max(0.6 * run.left(), 0.1), memory=run.memory)
        run.keep(verdict=verdict)
        # What rounding alone lets in, more instances do not bring nearer: that there are none may be provable.
        if heeded(verdict).status != "gave up" or verdict.tally.let_in:
            break
        run.keep(budget=LONGER * run.budget)
    if verdict.counterexample is not None:
        run.witnesses.keep(verdict.counterexample)
        if verdict.counterexample.worst is not None:
            run.witnesses.add(verdict.counterexample.worst, run.seed)
    for raw in Memory(run.memory).recall(run.claim) if run.memory is not None else ():
        certificate = certified(run.claim, raw)
        if certificate is not None:
            run.witnesses.add(certificate, run.seed, "memory")
    if verdict.status != "error":
        with suppress(ClaimFault):
            run.claim = batches.settled(run.claim)
    run.attack.rate = _pace(run.claim, verdict)
    run.budget = max(min(run.budget, int(SHARE * run.left() * run.attack.rate)), 1024)
    return verdict


def _pace(claim: Claim, verdict: Verdict) -> float:
    """Evaluations a second: of the main search, or, where a counterexample ended it at once, of a batch."""
    if verdict.tally.evaluations > 8192 and verdict.status != "refuted":
        return max(verdict.tally.evaluations / max(verdict.seconds, 1e-3), 100.0)
    rng = np.random.default_rng(0)
    done, begun = 0, time.monotonic()
    while done < 4096 and time.monotonic() < begun + 0.2:
        raw = engines.random_batch(claim, rng, 256)
        with suppress(ResstreamError, ArithmeticError, np.linalg.LinAlgError):
            claim.assess(raw)
        done += raw.count
    return max(0.5 * done / max(time.monotonic() - begun, 1e-3), 100.0)


def _prove(run: _Run) -> None:
    def keep(answer: proofs.Answer) -> None:
        run.keep(proofs=(*run.audit.proofs, answer))

    reason = proofs.prove(run.claim, min(PROOFS, run.left()), keep)
    if reason:
        run.miss(f"proof at small sizes: {reason}")
    answers = []
    for answer in run.audit.proofs:
        certificate = None if answer.model is None else certified(run.claim, answer.model)
        if certificate is not None:
            run.witnesses.add(certificate, run.seed, answer.method)
            run.refute(certificate.raw, answer.method)
            answer = replace(answer, outcome=REFUTED)
        answers.append(answer)
    run.keep(proofs=tuple(answers))


# ---- of a claim that stands -------------------------------------------------


def _ask_of_survivor(run: _Run) -> None:
    claim = run.claim
    if not run.quick:
        with run.stage("sizes beyond") as there_is_time:
            if there_is_time:
                for found in limits.beyond(claim, run.attack, run.budget):
                    run.keep(beyond=(*run.audit.beyond, found))
                for found in limits.far_beyond(claim, run.audit.beyond, run.seed, run.left):
                    run.keep(beyond=(*run.audit.beyond, found))
    with run.stage("sharpness") as there_is_time:
        if there_is_time:
            relations = restate.relations_of(claim)
            if not relations:
                run.miss("sharpness: asked of conclusions that are comparisons, one or several")
            for index, relation in enumerate(relations):
                if not relation.is_equality:
                    _part(run, index, len(relations), relation.shown)
                if run.is_refuted:
                    return
            if not run.quick:
                _follow_laws(run)
    with run.stage("necessity") as there_is_time:
        if there_is_time:
            for variant in necessity.needs(claim, run.attack, _as_main(run), run.left):
                run.keep(necessity=(*run.audit.necessity, variant))
    with run.stage("strengthened variants") as there_is_time:
        if there_is_time:
            run.keep(strengthened=tuple(necessity.strengthened(claim, run.audit.parts, run.attack, run.budget)))
    if run.quick:
        return
    with run.stage("thresholds") as there_is_time:
        if there_is_time:
            _thresholds_of_needed(run)
    with run.stage("a longer search") as there_is_time:
        if there_is_time:
            _search_on(run)


def _follow_laws(run: _Run) -> None:
    """The sizes beyond the stated ones at which a law of the best ratio says that a claim fails."""
    for law in (law for part in run.audit.parts for law in part.sharpness.laws):
        if any(known.size == law.size for known in run.audit.beyond):
            continue
        stated = run.claim.size_ranges()[law.size]
        start = next((n for n in range(stated[-1] + 1, FARTHEST) if sharp.value_at(law, n) > 1), None)
        if start is not None:
            found = limits.from_on(run.claim, run.attack, run.budget, law.size, range(start, start + 1))
            if found is not None:
                run.keep(beyond=(*run.audit.beyond, found))


def _part(run: _Run, index: int, count: int, kind: str) -> None:
    one = restate.only(run.claim, index) if count > 1 else run.claim
    budget = min(sharp.BUDGET, 2 * run.budget)
    found, refuting, telling = sharp.sharpness(one, run.attack, budget)
    thin = run.audit.vacuity is not None and run.audit.vacuity.thin
    if found.status == LOOSE and (thin or found.evaluations < run.audit.budget):
        # Special instances tell of nothing else, and "not sharp" is searched no less than the claim.
        found = replace(found, status=UNSURE, constant=None)
    for certificate in refuting:
        run.refute(certificate.raw, "ascent")
        if run.is_refuted:
            return
    extremals = [*(e.raw for e in (found.extremal, found.shown) if e is not None), *telling]
    # A sharper bound is searched as long as the claim, or not named.
    fits = run.audit.budget <= PROFILED * run.left() * run.attack.rate
    seen = profiles.profile(run.claim, index, run.attack, extremals, run.audit.budget if fits else 0)
    relation = f"lhs {kind} rhs" if count == 1 else f"part {index + 1} of {count}: lhs {kind} rhs"
    run.keep(parts=(*run.audit.parts, Part(relation, found, seen)))


def _thresholds_of_needed(run: _Run) -> None:
    """Where the claim fails without a hypothesis that is needed, in the hypothesis's own quantity."""
    for hypothesis in run.claim.assuming:
        name = hypothesis.__name__
        for variant in run.audit.necessity:
            if variant.change != f"without {name}" or variant.conclusion != NEEDED or variant.exhibit is None:
                continue
            dropped = run.claim.replace(without=name)
            for quantity in limits.quantities(run.claim, [hypothesis])[:1]:
                start = variant.exhibit.raw
                _keep_thresholds(run, limits.ends(dropped, run.attack, quantity, start, run.budget, f"without {name}"))


def _keep_thresholds(run: _Run, found: Iterator[Threshold]) -> None:
    for threshold in found:
        run.keep(thresholds=(*run.audit.thresholds, threshold))


def _climb(run: _Run, stream: int) -> None:
    """Climbs of their own at every size, whose seeds `stream` tells from others: what they find changes the verdict."""
    verdict = run.audit.verdict
    if verdict is not None and verdict.status == "survived" and verdict.tally.closest is not None:
        certificate = violations.uphill(run.claim, run.attack, verdict.tally.closest, stream)
        if certificate is not None:
            run.refute(certificate.raw, "ascent")


def _search_on(run: _Run) -> None:
    """What is left of the time goes to the claim itself, with seeds of their own."""
    verdict = run.audit.verdict
    assert verdict is not None
    _climb(run, stream=1)
    if run.is_refuted:
        return
    number = 0
    while verdict.status == "survived":
        spare = min(run.left(), run.begun + AIM - time.monotonic())
        budget = int(min(run.attack.rate * spare * 0.5, 4 * run.budget))
        if budget < 2048:
            return
        number += 1
        found = run.attack(run.claim, budget, 1, climb=number <= 2)
        for more in found.verdicts:
            tally = replace(verdict.tally)
            tally.add(more.tally)
            verdict = replace(verdict, tally=tally, budget=verdict.budget + budget)
        run.attack.seed += 1
        if found.certificate is not None:
            run.attack.seed = run.seed
            run.refute(found.certificate.raw, found.engine)
            return
        run.keep(verdict=verdict)
    run.attack.seed = run.seed


# ---- of a claim that fails --------------------------------------------------


def _ask_of_refuted(run: _Run) -> None:
    with run.stage("failure map") as there_is_time:
        if there_is_time:
            found = violations.worst(run.claim, run.attack, run.witnesses)
            _keep_worst(run, found)
            run.keep(failures=failing.failure_map(run.claim, run.attack, run.witnesses, _as_main(run)))
    if run.quick:
        return
    with run.stage("thresholds") as there_is_time:
        if there_is_time:
            for name, table in found.by_size.items() if found else ():
                crossed = limits.crossing(table)
                if crossed is not None:
                    root, text = crossed
                    run.keep(thresholds=(*run.audit.thresholds, Threshold(name, root, root, "above", closed_form=text)))
            _thresholds_of_refuted(run)


def _as_main(run: _Run) -> int:
    """Evaluations for each of two seeds, of a rescue or of what may be superfluous: together no less than asked.

    A quick audit has no more than that.
    """
    half = -(-run.audit.budget // failing.SEEDS)
    return half if run.quick else max(run.budget, half)


def _keep_worst(run: _Run, found: violations.Worst) -> None:
    """The counterexample with the largest violation that is known by now."""
    verdict = run.audit.verdict
    assert verdict is not None
    shown = verdict.counterexample
    if shown is None or shown.certificate is None or found.certificate is None:
        return
    if found.certificate.judgement.margin < -shown.largest_violation:
        again = Counterexample.of(shown.certificate, shown.seed, shown.engine, found.certificate)
        run.keep(verdict=replace(verdict, counterexample=again))


def _thresholds_of_refuted(run: _Run) -> None:
    """The range of a quantity in which counterexamples lie, at the least sizes of one."""
    verdict = run.audit.verdict
    assert verdict is not None
    shown = verdict.counterexample
    if shown is None:
        return
    for quantity in limits.quantities(run.claim, run.claim.assuming):
        if run.left() <= 0:
            return
        _keep_thresholds(run, limits.ends(run.claim, run.attack, quantity, shown.raw, run.budget))
