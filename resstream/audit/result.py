"""What an audit is: the answers to its questions, each with the evidence that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from resstream.audit.sample import Sample
from resstream.claim import Claim, Instance
from resstream.falsify.counterexample import Exhibit
from resstream.falsify.verdict import TIME_IS_UP, Verdict
from resstream.prove.answer import Answer

# ---- where it fails ---------------------------------------------------------

FAILS, SURVIVES, UNKNOWN = "fails", "survives", "unknown"


@dataclass(frozen=True)
class Cell:
    """One place of the map: sizes and options held fixed.

    outcome: "fails" (a certified counterexample lies there), "survives" (a whole search of `evaluations` found none) or
    "unknown" (the search was cut short, or met too few instances). evidence says which.
    """

    sizes: Mapping[str, int]
    options: str
    outcome: str
    instances: int = 0
    evaluations: int = 0
    evidence: str = ""


@dataclass(frozen=True)
class Kind:
    """A variable restricted to a narrower domain, and what was found there."""

    label: str
    variable: str
    domain: str
    outcome: str
    instances: int = 0
    evaluations: int = 0
    evidence: str = ""


@dataclass(frozen=True)
class Rescue:
    """A restriction under which no counterexample was found, by a search as long as the main one, of several seeds."""

    label: str
    instances: int
    evaluations: int
    command: str = ""
    """What re-runs it on the command line."""
    proved: tuple[str, ...] = ()
    """Where it was proved as well."""


@dataclass(frozen=True)
class FailureMap:
    """Where a claim fails.

    cells: combinations of values of the first two sizes and every option; the sizes of the counterexample are among
    them. kinds: each variable restricted to narrower domains. rescue: restrictions that save it, the widest first.
    """

    rows: str
    columns: str
    cells: tuple[Cell, ...] = ()
    kinds: tuple[Kind, ...] = ()
    rescue: tuple[Rescue, ...] = ()

    @property
    def options(self) -> list[str]:
        """The combinations of options, each a map of its own."""
        return list(dict.fromkeys(cell.options for cell in self.cells))


@dataclass(frozen=True)
class Threshold:
    """A value at which truth changes.

    quantity: in the claim's own words; value: the last one with a certified counterexample, at `instance`; beyond: the
    nearest value on the other side, from which on a whole search found none. side: "below" or "above", where it fails.
    """

    quantity: str
    value: float
    beyond: float
    side: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    closed_form: str = ""
    given: str = ""
    """What the claim was changed by: a hypothesis dropped."""
    instance: Exhibit | None = None
    evaluations: int = 0


@dataclass(frozen=True)
class Beyond:
    """A size beyond the stated ones at which a claim that survives them fails, with the instance."""

    size: str
    holds_to: int
    fails_from: int
    counterexample: Exhibit
    evaluations: int = 0
    """Spent at the size before, without a counterexample."""


# ---- how sharp it is --------------------------------------------------------

ATTAINED, AT_ZERO, NEARLY, LOOSE, UNSURE = "attained", "attained at zero", "approached", "loose", "unknown"


@dataclass(frozen=True)
class Family:
    """Instances in a row, by geometric steps, and the certified ratios of the sides there: they rise to `limit`."""

    direction: str
    variables: tuple[str, ...]
    """Those whose built objects grow or shrink on the way; none where the way is another."""
    ratios: tuple[float, ...]
    gaps: tuple[float, ...]
    """Distances from 1, which may be too small to be told from it in the ratios."""
    limit: float


@dataclass(frozen=True)
class Law:
    """A best ratio as a function of a size: a closed form that agrees with `matched` values of the table."""

    size: str
    closed_form: str
    matched: int
    limit: float
    """What it tends to as the size grows."""
    evaluations: int = 0
    """Spent in looking for an instance that exceeds it."""


@dataclass(frozen=True)
class Constant:
    """The largest ratio in closed form: proposed by its digits or by symbols, and no instance exceeds it."""

    closed_form: str
    value: float
    evidence: str


@dataclass(frozen=True)
class Sharpness:
    """How sharp one relation of a claim is.

    status: "attained" (the sides are equal at an instance where they are not zero), "attained at zero" (0 = 0 only),
    "approached" (the gap is seen to close along `family`), "loose" or "unknown". ratio: the smaller side over the
    larger one, certified, at `extremal`, the instance found; by_size: the same for every value of every size;
    nontrivial: the largest at sizes of at least 2.
    """

    status: str
    ratio: float
    gap: float = 0.0
    extremal: Exhibit | None = None
    shown: Exhibit | None = None
    """A simpler instance of nearly that ratio."""
    family: Family | None = None
    directions: tuple[str, ...] = ()
    by_size: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    limits: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """The same with what the ratios tend to along families."""
    trivial_only: bool = False
    """Whether it is attained where a size is 1 only."""
    nontrivial: float | None = None
    laws: tuple[Law, ...] = ()
    constant: Constant | None = None
    searched: int = 0
    """Evaluations of a search, by two seeds, in which no instance exceeded the largest ratio of a loose bound."""
    one_sided: str = ""
    """Why a ratio says nothing: a side that is zero or of the other sign throughout."""
    evaluations: int = 0


@dataclass(frozen=True)
class Sharper:
    """A lower bound than the printed one that survived: `form` on the right; attained if the sample meets it."""

    form: str
    quantity: str
    survived: int
    evaluations: int
    attained: bool


@dataclass(frozen=True)
class Profile:
    """What the sides do in a sample: `curves` holds, by quantity, points (value, largest ratio of the sides there).

    reference holds, at the same points of the sharper bound's quantity, that bound as a share of the printed one.
    """

    curves: Mapping[str, list[tuple[float, float]]] = field(default_factory=dict)
    sharper: Sharper | None = None
    reference: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """What was found of one relation of a claim."""

    relation: str
    sharpness: Sharpness
    profile: Profile = field(default_factory=Profile)


# ---- what it needs ----------------------------------------------------------

SURVIVED, REFUTED, MEANINGLESS, UNREACHED = "survived", "refuted", "no meaning", "not known"

NEEDED, SUPERFLUOUS, MASKED, NOT_KNOWN = "needed", "superfluous", "masked", "not known"


@dataclass(frozen=True)
class Variant:
    """A changed claim and what is known of it.

    status: "refuted" (by a certified instance), "survived", "no meaning" (the claim's own functions refuse what the
    change lets in) or "not known". conclusion, of what was left out: "needed", "superfluous" (and why: `detail`),
    "masked" (a change that changes nothing: another hypothesis keeps the rest out) or "not known".
    """

    change: str
    status: str
    conclusion: str
    instances: int = 0
    evaluations: int = 0
    detail: str = ""
    proved: tuple[str, ...] = ()
    exhibit: Exhibit | None = None


# ---- how often its hypotheses are met ---------------------------------------


@dataclass(frozen=True)
class Vacuity:
    """Where the hypotheses are met. sizes: those at which they were never met; proved: which of those for certain.

    trivial_only: every instance that met them had equal rows, was a signed permutation or was zero. thin: whether none
    that met them still did after a nudge, as where an equality is asked for, so that only special ones were seen.
    """

    met: int = 0
    drawn: int = 0
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    tried: int = 0
    """Instances drawn at each of those sizes, at least."""
    proved: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    trivial_only: str = ""
    thin: bool = False


# ---- the whole --------------------------------------------------------------

CUT_SHORT = "cut short"


@dataclass(frozen=True)
class Audit:
    """What was learned about a claim. `missing` names the questions that were not answered, each with the reason.

    >>> import resstream as rs
    >>> found = Audit(rs.lookup("contraction.diameter"), seed=0)
    >>> found.claim.id, found.verdict is None
    ('contraction.diameter', True)
    """

    claim: Claim
    seed: int
    budget: int = 0
    """Evaluations that were asked of the search for a counterexample."""
    verdict: Verdict | None = None
    sample: Sample | None = None
    vacuity: Vacuity | None = None
    parts: tuple[Part, ...] = ()
    necessity: tuple[Variant, ...] = ()
    strengthened: tuple[Variant, ...] = ()
    failures: FailureMap | None = None
    thresholds: tuple[Threshold, ...] = ()
    beyond: tuple[Beyond, ...] = ()
    proofs: tuple[Answer, ...] = ()
    theorem: str = ""
    """The theorem of `proofs/` that covers it for all sizes; none but a claim of the library, unchanged, has one."""
    witnesses: int = 0
    """How many certified counterexamples every restriction was held against."""
    missing: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """The verdict's status, but "cut short" for a survivor that was not searched as long as was asked."""
        if self.verdict is None:
            return "unknown"
        ended_early = any(note == TIME_IS_UP or "not done" in note for note in self.verdict.notes)
        if self.verdict.status == "survived" and ended_early and self.verdict.tally.evaluations < self.budget:
            return CUT_SHORT
        return self.verdict.status

    @property
    def as_expected(self) -> bool:
        """Whether the claim did what it says of itself."""
        return self.verdict is not None and self.status != CUT_SHORT and self.verdict.as_expected

    @property
    def acceptance(self) -> float:
        """The share of the drawn instances that met the hypotheses."""
        if self.verdict is None:
            return 0.0
        tally = self.verdict.tally
        drawn = tally.accepted + tally.discarded
        return tally.accepted / drawn if drawn else 0.0

    def certified(self) -> list[Instance]:
        """Raw instances of the claim that are certain to refute it."""
        found = self.verdict.counterexample if self.verdict else None
        return [] if found is None else [found.raw, *([found.largest_raw] if found.largest_raw else [])]

    forms: ClassVar[dict[str, Callable[[Audit], str]]] = {}
    """How a notebook shows an audit; the reports, which know what an audit is, enter themselves."""

    def _repr_html_(self) -> str:
        return self.forms["html"](self)

    def _repr_latex_(self) -> str:
        return self.forms["latex"](self)
