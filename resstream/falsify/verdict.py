"""What a search saw (`Tally`) and what it amounts to (`Verdict`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from resstream.claim import Claim, Instance
from resstream.falsify.certify import Certificate
from resstream.falsify.judge import HOLDS, OUTSIDE, TIED, UNDECIDED, UNDEFINED, Judgement
from resstream.workers import TIME_IS_UP

if TYPE_CHECKING:
    from resstream.falsify.counterexample import Counterexample
    from resstream.falsify.evidence import Evidence

REFUTED, SURVIVED, GAVE_UP, VACUOUS, ERROR = "refuted", "survived", "gave up", "vacuous", "error"
EVIDENCE = "evidence"
STATUSES = (REFUTED, SURVIVED, EVIDENCE, UNDECIDED, UNDEFINED, GAVE_UP, VACUOUS, ERROR)
"""The verdicts, and nothing between them."""

REFUTED_AT, NOT_REFUTED_AT = "refuted at level", "not refuted at level"
"""How verdicts on statistical claims begin, which `resstream.falsify.statistical` gives; the level follows."""

_COUNTS = (
    "evaluations",
    "accepted",
    "discarded",
    "suspects",
    "judged",
    "acquitted",
    "tied",
    "undecided",
    "undefined",
    "outside",
    "open",
    "faults",
    "let_in",
)


@dataclass
class Tally:
    """What was seen, of one chunk or of many.

    accepted and discarded count instances that met their hypotheses and that did not. Suspects are those whose float64
    margin was negative; judged are those that exact arithmetic looked at: acquitted the suspects that it cleared, tied
    those whose sides cannot be told apart, outside those that do not meet the hypotheses after all, open those where
    the conclusion holds and the hypotheses were not decided, undefined those where a side has no value, undecided those
    of which nothing is certain. `undecided_at` and `undefined_at` are the first such instances (of the undecided, the
    one nearest to a violation) with what the judge said.
    """

    evaluations: int = 0
    accepted: int = 0
    discarded: int = 0
    suspects: int = 0
    judged: int = 0
    acquitted: int = 0
    tied: int = 0
    undecided: int = 0
    undefined: int = 0
    outside: int = 0
    open: int = 0
    smallest_margin: float = float("inf")
    closest: Instance | None = None
    nearest_miss: float = float("inf")
    """By how little the hypotheses were missed where they were missed least (relative, summed)."""
    violating: Instance | None = None
    certificate: Certificate | None = None
    undecided_at: tuple[float, Instance, str] | None = None
    undefined_at: tuple[Instance, str] | None = None
    engine: str = ""
    error: str = ""
    faulty: Instance | None = None
    faults: int = 0
    single: bool = False
    """Whether the claim was evaluated one instance at a time."""
    let_in: int = 0
    """How many instances met their hypotheses by floats alone: exact arithmetic turned down each that it looked at."""

    def light(self) -> Tally:
        """The same without its certificate, whose balls cannot be sent from one process to another."""
        return replace(self, certificate=None)

    @property
    def decided(self) -> int:
        """How many instances were judged, and something was certain of them."""
        return self.judged - self.undecided

    def add(self, other: Tally) -> None:
        """Count another tally in; the first violation and the first error stay."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.nearer(other.smallest_margin, other.closest)
        self.nearest_miss = min(self.nearest_miss, other.nearest_miss)
        self.single |= other.single
        self.undefined_at = self.undefined_at or other.undefined_at
        if other.undecided_at is not None:
            self._undecided_nearer(other.undecided_at)
        if self.violating is None and other.violating is not None:
            self.violating, self.certificate, self.engine = other.violating, other.certificate, other.engine
        if not self.error:
            self.error, self.faulty = other.error, other.faulty

    def nearer(self, margin: float, raw: Instance | None) -> None:
        """Keep an instance if it is the nearest to a violation so far."""
        if margin < self.smallest_margin:
            self.smallest_margin, self.closest = margin, raw

    def _undecided_nearer(self, found: tuple[float, Instance, str]) -> None:
        if self.undecided_at is None or found[0] < self.undecided_at[0]:
            self.undecided_at = found

    def count(self, raw: Instance, answer: Certificate | Judgement, float_margin: float) -> None:
        """Count what the judge said of an instance whose relative float64 margin is given (NaN for none)."""
        self.judged += 1
        if isinstance(answer, Certificate):
            self.violating, self.certificate = raw, answer
            self.nearer(answer.judgement.margin, raw)
        elif answer.outcome == OUTSIDE:
            # The slack of the float filter had let it in.
            self.accepted -= 1
            self.discarded += 1
            self.outside += 1
        elif answer.outcome == UNDECIDED:
            self.undecided += 1
            reason = f"{answer.reason} (at {answer.reading})"
            self._undecided_nearer((float_margin if float_margin == float_margin else -2.0, raw, reason))
        elif answer.outcome == UNDEFINED:
            self.undefined += 1
            self.undefined_at = self.undefined_at or (raw, answer.reason)
        else:
            assert answer.outcome in (HOLDS, TIED)
            self.tied += answer.outcome == TIED
            self.open += not answer.met
            self.acquitted += float_margin < 0
            self.nearer(answer.margin, raw)

    def turn_down(self) -> None:
        """Take back that instances met their hypotheses: of those that were judged none did, so of none it is known."""
        self.let_in, self.accepted, self.discarded = self.accepted, 0, self.discarded + self.accepted
        self.smallest_margin, self.closest = float("inf"), None

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to look for."""
        return self.violating is not None or bool(self.error)


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a search found out about a claim.

    status: "refuted" (by a certified counterexample), "survived", "evidence" (for what a claim says of a size that
    grows, of which nothing survives), "undecided" (some instance could not be judged),
    "undefined" (a side has no value at some instance that meets the hypotheses), "gave up" (too few instances met the
    hypotheses), "vacuous" (it is proved that none does) or "error" (evaluating the claim raised).

    >>> import resstream as rs
    >>> verdict = rs.falsify(rs.lookup("contraction.diameter_squared"))
    >>> isinstance(verdict, Verdict), verdict.status, verdict.tally.engine
    (True, 'refuted', 'corners')
    """

    claim: Claim
    status: str
    seed: int
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """What the run did not do, and why."""
    budget: int = 0
    every: int | None = None
    """How many instances the claim has, where each of them was judged exactly: the search left none out."""
    counterexample: Counterexample | None = None
    """The shrunk counterexample, where `falsify` found one."""
    evidence: Evidence | None = None
    """What was seen along doubling sizes, of a claim about a size that grows."""

    @property
    def as_expected(self) -> bool:
        """Whether the claim did what it says of itself."""
        return does_as_expected(self.claim.expect, self.status)

    def __str__(self) -> str:
        from resstream.falsify.report import verdict_text

        shown = [str(self.counterexample)] if self.counterexample else []
        return "\n".join([*shown, verdict_text(self)])

    __repr__ = __str__  # what a prompt shows is to be read

    def _repr_html_(self) -> str:
        from resstream.falsify.formats.html import verdict_html

        return verdict_html(self)

    def _repr_latex_(self) -> str:
        from resstream.falsify.formats.latex import verdict_latex

        return verdict_latex(self)


def does_as_expected(expect: str, status: str) -> bool:
    """Whether a status, that of a statistical claim with its level, is what a claim expects: "holds" or "fails"."""
    if expect == "holds":
        return status in (SURVIVED, EVIDENCE) or status.startswith(NOT_REFUTED_AT)
    return status == REFUTED or status.startswith(REFUTED_AT)


def add_up(done: Mapping[int, Tally], count: int) -> tuple[Tally, int]:
    """The tally of the chunks done, by number up to the first that ends the search, and how many were wanted for it."""
    tally = Tally()
    for number in sorted(done):
        tally.add(done[number])
        if done[number].finished:
            return tally, number
    return tally, count


def conclude(
    claim: Claim,
    tally: Tally,
    seed: int,
    floor: int,
    seconds: float,
    notes: tuple[str, ...] = (),
    every: int | None = None,
) -> Verdict:
    """The verdict that a tally amounts to; a run that was broken off is no survival, and what is not known is not held.

    floor: how many instances must have met the hypotheses. every: how many there are, where the judge saw them all.
    """
    if tally.outside and tally.judged == tally.outside + tally.open:
        tally.turn_down()
    if tally.violating is not None and tally.certificate is not None:
        status = REFUTED
    elif tally.error:
        status = ERROR
    elif tally.undefined and tally.undefined + tally.undecided >= tally.judged - tally.outside:
        status = ERROR  # a statement without a value anywhere states nothing
        tally.error = f"undefined wherever it was judged: {tally.undefined_at[1] if tally.undefined_at else ''}"
    elif tally.undecided:
        status = UNDECIDED
    elif tally.undefined:
        status = UNDEFINED
    elif every is not None and (tally.accepted or tally.outside == tally.judged):
        status = SURVIVED if tally.accepted else VACUOUS
    elif tally.accepted < floor or tally.let_in or any(note != TIME_IS_UP and "not done" not in note for note in notes):
        status = GAVE_UP
    else:
        status = SURVIVED
    return Verdict(claim, status, seed, tally, seconds, notes=notes, every=every)


__all__ = ["STATUSES", "TIME_IS_UP", "Tally", "Verdict", "add_up", "conclude", "does_as_expected"]
