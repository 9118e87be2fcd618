"""An audit in sentences, each with its evidence: shared by the terminal, Markdown, the page and JSON."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from resstream.audit.report.numbers import instance, places, table
from resstream.audit.result import (
    AT_ZERO,
    ATTAINED,
    CUT_SHORT,
    FAILS,
    LOOSE,
    MASKED,
    MEANINGLESS,
    NEARLY,
    REFUTED,
    SUPERFLUOUS,
    SURVIVED,
    SURVIVES,
    Audit,
    Beyond,
    Cell,
    FailureMap,
    Part,
    Threshold,
    Variant,
)
from resstream.audit.vacuity import bounds
from resstream.falsify.report import let_in, verdict_text
from resstream.falsify.verdict import VACUOUS
from resstream.prove.answer import INEXPRESSIBLE, MODEL, PROVED, UNDECIDED, Answer

GOALS_SHOWN = 6

REACHED, BELOW = 1e-9, 1e-3
"""How near to 1 a ratio is where a bound is met, and how far at least where it is not."""

KERNEL = "kernel-checked"

MARKS = {FAILS: "x", SURVIVES: "."}
"""How the map is written where there is no colour."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of the report, and what it rests on."""

    section: str
    text: str
    evidence: str
    """"certified", "kernel-checked", "proved", "search" (of a stated length), "measured" or "not known"."""


def headline(audit: Audit) -> str:
    """The verdict in one line."""
    verdict = audit.verdict
    if verdict is None:
        return f"{audit.claim.id}: not tried"
    tally = verdict.tally
    if audit.status == CUT_SHORT:
        return f"{audit.claim.id}: cut short, with no counterexample in {tried(audit)}"
    if verdict.status == "refuted":
        return f"{audit.claim.id}: refuted, by a certified counterexample"
    if verdict.status == "survived":
        return f"{audit.claim.id}: survived {tally.accepted:,} instances, {tally.decided:,} of them judged exactly"
    if verdict.evidence is not None and verdict.status in ("evidence", "undecided"):
        return verdict_text(verdict).splitlines()[0]
    if verdict.status == "undecided":
        return f"{audit.claim.id}: undecided, at {tally.undecided:,} of {tally.judged:,} judged instances"
    if verdict.status == "undefined":
        return f"{audit.claim.id}: undefined at {tally.undefined:,} of {tally.judged:,} judged instances"
    if verdict.status == "gave up":
        return f"{audit.claim.id}: gave up, with {tally.accepted:,} instances that met the hypotheses{let_in(tally)}"
    if verdict.status == "vacuous":
        return f"{audit.claim.id}: vacuous, as it is proved that no instance meets the hypotheses"
    return f"{audit.claim.id}: {verdict.status} ({tally.error})"


def tried(audit: Audit) -> str:
    """How many evaluations the main search made, and how many were asked of it if it was cut short."""
    done = audit.verdict.tally.evaluations if audit.verdict else 0
    asked = f" of {audit.budget:,}" if audit.status == CUT_SHORT else ""
    return f"{done:,}{asked} evaluations"


def sections(audit: Audit) -> list[tuple[str, list[str]]]:
    """Titles, each with its lines; sections without lines are left out."""
    return [(title, [s.text for s in group]) for title, group in grouped(audit)]


def grouped(audit: Audit) -> list[tuple[str, list[Sentence]]]:
    """The sentences by section."""
    return [(title, list(group)) for title, group in itertools.groupby(sentences(audit), key=lambda s: s.section)]


def sentences(audit: Audit) -> list[Sentence]:
    """Every sentence of the report, section by section."""
    found = [Sentence("counterexample", line, "certified") for line in _counterexample(audit)]
    if audit.verdict is not None and audit.verdict.evidence is not None:
        found += [Sentence("as a size grows", line, "measured") for line in audit.verdict.evidence.lines()]
    for part in audit.parts:
        found += _sharpness(part, len(audit.parts) > 1)
    found += [Sentence("necessity", need(variant), _evidence(variant)) for variant in audit.necessity]
    found += [Sentence("strengthened", line, how) for line, how in _strengthened(audit.strengthened)]
    if audit.failures is not None:
        found += [Sentence("where it fails", line, how) for line, how in _failures(audit.failures)]
    for beyond in audit.beyond:
        found.append(Sentence("beyond the stated sizes", fails_from(beyond), "certified"))
        found.append(Sentence("beyond the stated sizes", f"  at {instance(beyond.counterexample)}", "certified"))
    for threshold in audit.thresholds:
        found.append(Sentence("thresholds", threshold_text(threshold), "search"))
    if audit.theorem:
        found.append(Sentence("proof", f"for all sizes: {audit.theorem}, checked by Rocq's kernel", KERNEL))
    found += [Sentence("proof", line, how) for line, how in proofs(audit.proofs)]
    found += [Sentence("vacuity", line, how) for line, how in _vacuity(audit)]
    if audit.sample:
        found.append(Sentence("floats", str(audit.sample.honesty), "measured"))
    found += [Sentence("not answered", line, "not known") for line in audit.missing]
    return found


def _counterexample(audit: Audit) -> list[str]:
    if audit.verdict is None or audit.verdict.counterexample is None:
        return []
    _, _, body = str(audit.verdict.counterexample).partition("\nat ")
    return ("at " + body).splitlines() if body else str(audit.verdict.counterexample).splitlines()[1:]


# ---- sharpness --------------------------------------------------------------


def sharp(part: Part) -> tuple[str, str]:
    """How sharp a relation is, in a sentence, and on what evidence."""
    s = part.sharpness
    if s.one_sided:
        zero = "equality was seen only as 0 = 0" if s.status == AT_ZERO else "equality was not seen"
        return f"a ratio says nothing: {s.one_sided}; {zero}", "search"
    if s.status == ATTAINED:
        place = places(s.shown.raw.sizes if s.shown else {})
        tail = ""
        if s.trivial_only and s.nontrivial is not None:
            tail = f", only where a size is 1: elsewhere the largest ratio found is {s.nontrivial:.6g}"
        return f"attained: the sides are equal at {place or 'an instance'}, where they are not zero{tail}", "certified"
    if s.status == NEARLY and s.family is not None:
        gaps = ", ".join(f"{gap:.1g}" for gap in s.family.gaps[::2])
        return f"approached as {s.family.direction}: the ratio of the sides is 1 less {gaps}, ...", "certified"
    if s.constant is not None:
        best = f"the best constant seems to be {s.constant.closed_form} = {s.constant.value:.10g}"
        return f"loose, as far as {s.evaluations:,} evaluations tell: {best} ({s.constant.evidence})", "search"
    if s.status == LOOSE and s.ratio > 0:
        tends = f"; it tends to {s.family.limit:.8g} as {s.family.direction}" if s.family else ""
        return (
            f"loose, as far as {s.evaluations:,} evaluations tell: "
            f"the largest ratio of the sides found is {s.ratio:.6g}{tends}",
            "search",
        )
    count = f"{s.evaluations:,} evaluations"
    return f"the largest ratio of the sides found is {s.ratio:.6g} ({count}); not known to be sharp", "search"


def _sharpness(part: Part, several: bool) -> Iterator[Sentence]:
    s = part.sharpness
    text, how = sharp(part)
    yield Sentence("sharpness", f"{part.relation}: {text}" if several else text, how)
    shown = s.shown or s.extremal
    if shown is not None and not s.one_sided:
        yield Sentence("sharpness", f"  at {instance(shown)}", "certified")
    for law in s.laws:
        held = f"; no instance exceeds it in {law.evaluations:,} evaluations" if law.evaluations else ""
        text = f"  by {law.size}: {law.closed_form} (agrees with {law.matched} sizes{held})"
        yield Sentence("sharpness", text, "search")
    for name, row in s.by_size.items():
        if len({round(value, 6) for value in row.values()}) > 1:
            yield Sentence("sharpness", f"  largest ratio found by {name}: {table(row)}", "certified")
    for text in regimes(part):
        yield Sentence("sharpness", f"  {text}", "search")
    if part.profile.sharper is not None:
        yield Sentence("sharpness", f"  sharper: {sharper(part)}", "search")


def regimes(part: Part) -> Iterator[str]:
    """At which sizes of at least 2 the bound is met or approached, where that is so at some of them only."""
    for name, row in part.sharpness.by_size.items():
        best = {n: max(v, part.sharpness.limits.get(name, {}).get(n, 0.0)) for n, v in row.items() if n >= 2}
        reached = [n for n, v in best.items() if v > 1 - REACHED]
        below = {n: v for n, v in best.items() if v < 1 - BELOW}
        if reached and below and len(reached) + len(below) == len(best):
            alone = f"{name} = {', '.join(map(str, reached))}"
            yield f"the ratio comes to 1 at {alone} alone; elsewhere at most {max(below.values()):.6g} was found"


def sharper(part: Part) -> str:
    """The bound that may take the place of the printed one."""
    found = part.profile.sharper
    if found is None:
        return ""
    met = "; it is attained" if found.attained else ""
    return f"{found.form} takes the place of the right side and survives {found.evaluations:,} evaluations{met}"


# ---- necessity --------------------------------------------------------------


def need(variant: Variant) -> str:
    """What is known of a hypothesis or of a domain."""
    searched = f"no counterexample in {variant.evaluations:,} evaluations"
    detail = f" ({variant.detail})" if variant.detail else ""
    if variant.status == REFUTED:
        at = f": fails at {instance(variant.exhibit)}" if variant.exhibit else ""
        return f"{variant.change}: needed{at}{detail}"
    if variant.status == MEANINGLESS:
        return f"{variant.change}: needed, as the claim has no meaning there{detail}"
    if variant.conclusion == SUPERFLUOUS:
        return f"{variant.change}: superfluous, proved at {' | '.join(variant.proved[:3])}; {searched}{detail}"
    if variant.conclusion == MASKED:
        return f"{variant.change}: changes nothing{detail}"
    if variant.status == SURVIVED:
        return f"{variant.change}: not known to be needed; {searched}{detail}"
    return f"{variant.change}: not known{detail}" + (f"; {searched}" if variant.evaluations else "")


def _evidence(variant: Variant) -> str:
    if variant.status in (REFUTED, MEANINGLESS):
        return "certified"
    return "proved" if variant.conclusion == SUPERFLUOUS else "search" if variant.status == SURVIVED else "not known"


def _strengthened(variants: tuple[Variant, ...]) -> Iterator[tuple[str, str]]:
    """Refuted and surviving ones, a line each."""
    for status, group in itertools.groupby(sorted(variants, key=lambda v: v.status), key=lambda v: v.status):
        names = [v.change + (f" ({'; '.join(notes)})" if (notes := _notes(v)) else "") for v in group]
        word = "no counterexample found" if status == SURVIVED else status
        how = "certified" if status == REFUTED else "search" if status == SURVIVED else "not known"
        yield f"{word}: {', '.join(names)}", how


def _notes(variant: Variant) -> list[str]:
    """What is said of a stronger claim beside its name: how long it was searched, unless it is refuted."""
    length = f"{variant.evaluations:,} evaluations" if variant.status == SURVIVED else ""
    return [note for note in (length, variant.detail) if note]


# ---- where it fails ---------------------------------------------------------


def maps(found: FailureMap) -> list[tuple[str, list[Cell]]]:
    """The maps, one for each combination of options; those that look the same share one, with their labels joined."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for options in found.options:
        look = tuple(cell.outcome for cell in found.cells if cell.options == options)
        alike.setdefault(look, []).append(options)
    return [(" or ".join(labels), [c for c in found.cells if c.options == labels[0]]) for labels in alike.values()]


def _failures(found: FailureMap) -> Iterator[tuple[str, str]]:
    for label, cells in maps(found):
        if not found.rows:
            where = label or "no size to tell instances apart by"
            yield f"{where}: {cells[0].outcome}", "certified" if cells[0].outcome == FAILS else "search"
            continue
        if label:
            yield label, "search"
        columns = list(dict.fromkeys(cell.sizes.get(found.columns, 0) for cell in cells))
        head = f"{found.rows} \\ {found.columns}" if found.columns else found.rows
        width = max(len(head), 5)
        yield f"  {head:>{width}} " + " ".join(f"{v:>3}" if found.columns else "" for v in columns), "search"
        for value, row in itertools.groupby(cells, key=lambda cell: cell.sizes[found.rows]):
            yield f"  {value:>{width}} " + " ".join(f"{MARKS.get(cell.outcome, '?'):>3}" for cell in row), "search"
    if found.cells and found.rows:
        searched = [cell.evaluations for cell in found.cells if cell.outcome == SURVIVES]
        each = f" ({min(searched):,} evaluations or more each)" if searched else ""
        unknown = any(cell.outcome not in MARKS for cell in found.cells)
        reasons = dict.fromkeys(cell.evidence for cell in found.cells if cell.outcome not in MARKS and cell.evidence)
        tail = f", ? not known ({'; '.join(reasons) or 'too few instances'})" if unknown else ""
        yield f"x a certified counterexample, . none found{each}{tail}", "search"
    for outcome, word in ((FAILS, "fails also with"), (SURVIVES, "no counterexample found with")):
        kinds = [kind for kind in found.kinds if kind.outcome == outcome]
        if kinds:
            least = min(kind.evaluations for kind in kinds)
            each = f" ({least:,} evaluations or more each)" if outcome == SURVIVES else ""
            names = ", ".join(kind.label for kind in kinds)
            yield f"{word} {names}{each}", "certified" if outcome == FAILS else "search"
    for place, rescue in enumerate(found.rescue):
        word = "no counterexample is found under the added hypothesis" if place == 0 else "nor under"
        proved = f"; proved at {' | '.join(rescue.proved)}" if rescue.proved else ""
        yield f"{word} {rescue.label} ({rescue.evaluations:,} evaluations{proved})", "search"
        if rescue.command:
            yield f"  {rescue.command}", "search"
    if not found.rescue:
        yield saved_by_nothing(found), "search"


def saved_by_nothing(found: FailureMap) -> str:
    """That no restriction is known to save a claim, or that there is none to try."""
    if len(found.cells) <= 1 and not found.kinds:
        return "there is no restriction to try: one size, one kind of argument"
    return "no restriction of the map was found to save it"


def fails_from(beyond: Beyond) -> str:
    """Up to which size it holds, and from which on it fails."""
    b = beyond
    count = f" ({b.evaluations:,} evaluations there)" if b.evaluations else ""
    return (
        f"fails at {b.size} = {b.fails_from}, beyond the stated sizes; "
        f"no counterexample was found for {b.size} <= {b.holds_to}{count}"
    )


def threshold_text(threshold: Threshold) -> str:
    """Where truth changes."""
    t = threshold
    name = f", which is {t.closed_form} to nine digits" if t.closed_form not in ("", f"{t.value:g}") else ""
    at = f" at {places(t.sizes)}" if t.sizes else ""
    if t.instance is None:
        return f"the largest ratio, linear in {t.quantity}, is 1 at {t.quantity} = {t.value:.8g}{name}"
    last = "at most" if t.side == "below" else "at least"
    given = f"{t.given}, " if t.given else ""
    return (
        f"{given}{t.quantity} is {last} {t.value:.8g} at every counterexample found{at}{name}; "
        f"none beyond {t.beyond:.6g} ({t.evaluations:,} evaluations)"
    )


# ---- proofs and vacuity -----------------------------------------------------


def proofs(goals: tuple[Answer, ...]) -> Iterator[tuple[str, str]]:
    """What was proved, in short: no place that lies below another, the largest first; then what was not."""
    for method in dict.fromkeys(goal.method for goal in goals if goal.outcome == PROVED):
        proved = [goal for goal in goals if goal.outcome == PROVED and goal.method == method]
        shown = _largest(proved, goals)
        more = f" and {len(shown) - GOALS_SHOWN} more" if len(shown) > GOALS_SHOWN else ""
        smaller = ", and at smaller sizes" if len({tuple(g.sizes.values()) for g in proved}) > len(shown) else ""
        yield f"proved by {method} at {' | '.join(shown[:GOALS_SHOWN])}{more}{smaller}", "proved"
    checked = [_place(goal) for goal in goals if goal.outcome == PROVED and goal.kernel]
    if checked:
        more = f" and {len(checked) - GOALS_SHOWN} more" if len(checked) > GOALS_SHOWN else ""
        yield f"of these Rocq's kernel has checked {' | '.join(checked[:GOALS_SHOWN])}{more}", KERNEL
    for goal in goals:
        if goal.outcome == REFUTED:
            yield f"refuted at {_place(goal)} (the model of {goal.method}, certified)", "certified"
        elif goal.outcome == MODEL:
            yield f"not decided at {_place(goal)} ({goal.method} has a model that certifies nothing)", "not known"
    for text in dict.fromkeys(f"not expressible ({g.detail})" for g in goals if g.outcome == INEXPRESSIBLE):
        yield text, "not known"
    undecided = [
        f"{_place(goal)}{f' ({goal.detail})' if goal.detail else ''}" for goal in goals if goal.outcome == UNDECIDED
    ]
    if undecided:
        more = f" and {len(undecided) - 3} more" if len(undecided) > 3 else ""
        yield f"not decided at {' | '.join(undecided[:3])}{more}", "not known"


def _place(goal: Answer) -> str:
    return _sizes(goal) + (f" ({goal.options})" if goal.options else "")


def _sizes(goal: Answer) -> str:
    return ", ".join(f"{name}={size}" for name, size in goal.sizes.items()) or "every size"


def _largest(proved: list[Answer], goals: tuple[Answer, ...]) -> list[str]:
    """The places of proved goals; options are named where they were not all proved at these sizes."""
    found: dict[tuple[int, ...], list[Answer]] = {}
    for goal in proved:
        found.setdefault(tuple(goal.sizes.values()), []).append(goal)
    whole = {
        sizes: len(there) == sum(tuple(g.sizes.values()) == sizes for g in goals) for sizes, there in found.items()
    }

    def is_below(sizes: tuple[int, ...]) -> bool:
        return any(
            sizes != other and all(map(int.__le__, sizes, other)) and (whole[other] or not whole[sizes])
            for other in found
        )

    shown = sorted((sizes for sizes in found if not is_below(sizes)), key=lambda s: (-min(s, default=0), -sum(s)))
    texts = []
    for sizes in shown:
        options = [goal.options for goal in found[sizes]]
        some = not whole[sizes] or options[0].startswith("any ")
        texts.append(_sizes(found[sizes][0]) + (f" ({'; '.join(options)})" if some and options[0] else ""))
    return texts


def _vacuity(audit: Audit) -> Iterator[tuple[str, str]]:
    if audit.verdict is None:
        return
    if not audit.claim.assuming:
        yield "no hypotheses: every instance counts", "certified"
        return
    tally = audit.verdict.tally
    drawn = tally.accepted + tally.discarded
    if audit.verdict.status == VACUOUS:
        yield f"the hypotheses are never met (proved, and by none of {drawn:,} instances)", "proved"
    elif not tally.accepted:
        yield f"the hypotheses are never met, as far as {drawn:,} instances tell{let_in(tally)}", "search"
    else:
        yield f"{audit.acceptance:.1%} of {drawn:,} instances met the hypotheses ({tally.accepted:,})", "measured"
    found = audit.vacuity
    if found is None:
        return
    if bounds(found):
        yield f"the hypotheses are {bounds(found)}", "proved" if found.proved == found.sizes else "search"
    if found.trivial_only:
        yield f"met by trivial instances only: every one seen that met them is {found.trivial_only}", "search"
    elif found.thin:
        yield "none of those that met them still did after a nudge: only special instances were seen", "search"
