"""The audit of a claim: every question asked in turn, within a time limit, and kept as far as it was answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection

from resstream.audit import failures as failing
from resstream.audit import necessity as needs
from resstream.audit import profile as profiles
from resstream.audit import restate
from resstream.audit import sample as samples
from resstream.audit import sharpness as sharp
from resstream.audit.attack import heeded
from resstream.audit.failures import FailureMap
from resstream.audit.necessity import Variant
from resstream.audit.profile import Profile
from resstream.audit.sample import Sample
from resstream.audit.sharpness import Sharpness
from resstream.claim import Claim, Instance
from resstream.falsify import falsify, pool
from resstream.falsify.run import refuted_by
from resstream.falsify.verdict import Verdict
from resstream.prove import goals as proofs
from resstream.prove.answer import Answer, agree

BUDGET = 40_000
"""Evaluations of the search for a counterexample; the other questions have a share of it."""

SECONDS = 45.0
"""How long an audit may take where nothing else is said."""

PROOFS = 8.0
"""How long proofs may take of that."""

GRACE = 1.0
"""By how much the last proof may overrun it."""

LONGER = 8
"""How many times the budget a claim has whose hypotheses were met too rarely."""

STAGES = (
    "verdict",
    "sample",
    "sharpness",
    "necessity",
    "strengthened variants",
    "failure map",
    "proof at small sizes",
)
"""The questions, in the order asked; the map is drawn for a refuted claim, the middle ones are asked of others."""


@dataclass(frozen=True)
class Part:
    """What was found of one relation of a claim."""

    relation: str
    sharpness: Sharpness
    profile: Profile


@dataclass(frozen=True)
class Audit:
    """What was learned about a claim. `missing` names the questions that were not answered, each with the reason."""

    claim: Claim
    seed: int
    verdict: Verdict | None = None
    sample: Sample | None = None
    parts: tuple[Part, ...] = ()
    necessity: tuple[Variant, ...] = ()
    strengthened: tuple[Variant, ...] = ()
    failures: FailureMap | None = None
    proofs: tuple[Answer, ...] = ()
    missing: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """The verdict's status."""
        return self.verdict.status if self.verdict else "unknown"

    @property
    def as_expected(self) -> bool:
        """Whether the claim did what it says of itself."""
        return self.verdict is not None and self.verdict.as_expected

    @property
    def acceptance(self) -> float:
        """The share of the drawn instances that met the hypotheses."""
        if self.verdict is None:
            return 0.0
        tally = self.verdict.tally
        drawn = tally.accepted + tally.discarded
        return tally.accepted / drawn if drawn else 0.0

    def _repr_html_(self) -> str:
        from resstream.audit.page import fragment

        return fragment(self)

    def _repr_latex_(self) -> str:
        from resstream.audit.latex import audit_latex

        return audit_latex(self)


@dataclass
class _Run:
    """An audit under way."""

    claim: Claim
    seed: int
    budget: int
    end: float
    progress: Callable[[str, int, int], None]
    kept: Callable[[Audit], None]
    audit: Audit = field(init=False)

    def __post_init__(self) -> None:
        self.audit = Audit(self.claim, self.seed)

    def left(self) -> float:
        """The seconds that are left."""
        return self.end - time.monotonic()

    def keep(self, **values: object) -> None:
        """Keep something that was found."""
        self.audit = replace(self.audit, **values)  # type: ignore[arg-type]

    def attack(self, claim: Claim, share: float = 0.5) -> Verdict:
        """The search that a changed claim is put to, with a share of the budget."""
        return heeded(falsify(claim, max(int(self.budget * share), 1), self.seed, seconds=max(self.left(), 0.1)))

    def attack_thoroughly(self, claim: Claim) -> Verdict:
        """The search for what a hypothesis keeps out."""
        return self.attack(claim, 1.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[bool]:
        """A question: whether there is time for it. Interrupting or failing, it leaves what it has kept."""
        self.progress(name, STAGES.index(name), len(STAGES))
        if self.left() <= 0:
            self.keep(missing=(*self.audit.missing, f"{name}: the time limit was reached"))
            yield False
            return
        yield True
        if self.left() <= 0 and not any(reason.startswith(name) for reason in self.audit.missing):
            self.keep(missing=(*self.audit.missing, f"{name}: broken off by the time limit"))
        self.kept(self.audit)


def audit(
    claim: Claim,
    *,
    budget: int = BUDGET,
    seed: int = 0,
    seconds: float = SECONDS,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    kept: Callable[[Audit], None] = lambda _: None,
) -> Audit:
    """Everything there is to ask about a claim, within a limit in seconds.

    budget: evaluations of the search for a counterexample. progress: called with each question, its number and their
    number. kept: called with the audit as it stands after each question, for a caller that may have to end a claim
    that does not end by itself. Ctrl-C ends the audit, and what was found by then is returned. Raises ClaimError for a
    badly stated claim.
    """
    start = time.monotonic()
    run = _Run(claim, seed, budget, start + seconds, progress, kept)
    try:
        _ask(run)
    except KeyboardInterrupt:
        run.keep(missing=(*run.audit.missing, "interrupted"))
    return replace(run.audit, seconds=time.monotonic() - start)


def _ask(run: _Run) -> None:
    claim = run.claim
    with run.stage("verdict"):
        for budget in (run.budget, LONGER * run.budget):
            verdict = falsify(claim, budget, run.seed, seconds=max(0.6 * run.left(), 0.1))
            run.keep(verdict=verdict)
            if heeded(verdict).status != "gave up":
                break
    if verdict.status in ("error", "vacuous") or verdict.tally.evaluations == 0:
        run.keep(missing=(f"everything but the verdict: the search ended as {verdict.status}",))
        return
    # A slow claim is asked less of, so that every question has its turn.
    rate = verdict.tally.evaluations / max(verdict.seconds, 1e-3)
    run.budget = max(min(run.budget, int(0.15 * run.left() * rate)), 1024)
    with run.stage("sample") as there_is_time:
        if there_is_time:
            run.keep(sample=samples.sample(claim, run.seed, run.left))
    if verdict.status == "refuted":
        with run.stage("failure map") as there_is_time:
            if there_is_time:
                run.keep(failures=failing.failure_map(claim, run.seed, run.left))
    else:
        _ask_of_survivor(run)
    with run.stage("proof at small sizes") as there_is_time:
        if there_is_time:
            _prove(run)
            _heed_models(run)
    agree(run.audit.proofs, _certified(run.audit.verdict), claim.id)


def _certified(verdict: Verdict | None) -> list[Instance]:
    """The instances that are certain to refute the claim."""
    if verdict is None or verdict.tally.certificate is None:
        return []
    shrunk = [] if verdict.counterexample is None else [verdict.counterexample.raw]
    return [verdict.tally.certificate.raw, *shrunk]


def _heed_models(run: _Run) -> None:
    """A solver's model that certifies refutes the claim, and what was found of a survivor is said no longer."""
    verdict = run.audit.verdict
    if verdict is None or verdict.status == "refuted":
        return
    for answer in run.audit.proofs:
        if answer.model is None:
            continue
        refuted = refuted_by(verdict, answer.model, answer.method, max(run.left(), 1.0))
        if refuted is not None:
            run.keep(verdict=refuted, parts=(), necessity=(), strengthened=())
            with run.stage("failure map") as there_is_time:
                if there_is_time:
                    run.keep(failures=failing.failure_map(run.claim, run.seed, run.left))
            return


def _prove(run: _Run) -> None:
    """Proofs, made in a process of their own: neither Z3 nor exact algebra can be trusted to look at the clock."""
    seconds = min(PROOFS, run.left())

    def work(pipe: Connection) -> None:
        try:
            proofs.prove(run.claim, seconds, progress=pipe.send)
            pipe.send(None)
        except ModuleNotFoundError as missing:  # Z3 is an extra
            pipe.send(f"{missing}; install resstream[prove]")
        except Exception as failure:  # what cannot be evaluated has been reported by the search
            pipe.send(f"{type(failure).__name__}: {failure}")

    worker = pool.fork(work)
    end = time.monotonic() + seconds + GRACE
    try:
        with suppress(EOFError, OSError):
            while worker.pipe.poll(max(end - time.monotonic(), 0)):
                goal = worker.pipe.recv()
                if goal is None:
                    return
                if isinstance(goal, str):
                    run.keep(missing=(*run.audit.missing, f"proof at small sizes: {goal}"))
                    return
                run.keep(proofs=(*run.audit.proofs, goal))
        run.keep(missing=(*run.audit.missing, "proof at small sizes: broken off"))
    finally:
        worker.kill()


def _ask_of_survivor(run: _Run) -> None:
    claim = run.claim
    with run.stage("sharpness") as there_is_time:
        if there_is_time:
            relations = restate.relations_of(claim)
            for index, relation in enumerate(relations):
                if relation.is_equality:
                    continue
                part = _part(run, index, len(relations), relation.shown)
                run.keep(parts=(*run.audit.parts, part))
    with run.stage("necessity") as there_is_time:
        if there_is_time:
            for variant in needs.necessity(claim, run.attack, run.attack_thoroughly):
                run.keep(necessity=(*run.audit.necessity, variant))
                if run.left() <= 0:
                    break
    with run.stage("strengthened variants") as there_is_time:
        if there_is_time:
            run.keep(strengthened=tuple(needs.strengthened(claim, run.attack)))


def _part(run: _Run, index: int, count: int, kind: str) -> Part:
    one = restate.only(run.claim, index) if count > 1 else run.claim
    found = sharp.sharpness(one, run.seed, min(sharp.BUDGET, run.budget), run.left)
    extremal = found.extremal.raw if found.extremal else None
    seen = profiles.profile(run.claim, index, run.seed, extremal, min(profiles.CHECKED, run.budget))
    relation = f"lhs {kind} rhs" if count == 1 else f"part {index + 1} of {count}: lhs {kind} rhs"
    return Part(relation, found, seen)
