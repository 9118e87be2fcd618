"""What a referee would write: true or false and how sure; the sharp form or the repair; what is not needed."""

from __future__ import annotations

from collections.abc import Iterator

from resstream.audit.report.numbers import places
from resstream.audit.report.words import fails_from, saved_by_nothing, sharp, sharper, tried
from resstream.audit.result import (
    ATTAINED,
    CUT_SHORT,
    LOOSE,
    MASKED,
    MEANINGLESS,
    NEARLY,
    REFUTED,
    SUPERFLUOUS,
    SURVIVED,
    UNREACHED,
    Audit,
)
from resstream.audit.vacuity import bounds
from resstream.falsify.report import let_in
from resstream.prove.answer import PROVED


def opening(audit: Audit) -> list[str]:
    """The lines with which a report opens; fewer where there is nothing to say."""
    return [line for line in (_truth(audit), _form(audit), _needs(audit)) if line]


def _truth(audit: Audit) -> str:
    verdict = audit.verdict
    if verdict is None:
        return "Nothing is known: it was not tried."
    tally = verdict.tally
    if verdict.status == "refuted" and verdict.counterexample is not None:
        place = places(verdict.counterexample.raw.sizes)
        expected = ", as was expected" if audit.claim.expect == "fails" else ""
        worst = verdict.counterexample.largest_violation
        how = f"; the largest relative violation seen is {worst:.3g}" if 0 < worst < 1 else ""
        how = "; the sides are equal there" if worst <= 0 else how
        return f"False{f', at {place}' if place else ''}: a counterexample is certified{how}{expected}."
    if verdict.status == "vacuous":
        return "Vacuous: it is proved that no instance meets the hypotheses."
    if verdict.status == "gave up" and not tally.accepted:
        return f"Not known: no instance met the hypotheses, of {tally.discarded:,} that were tried{let_in(tally)}."
    if verdict.status == "evidence" and audit.claim.as_grows is not None:
        growth = audit.claim.as_grows
        return (
            f"Evidence for the {growth.name}, and no proof: certified values look as if the quantity {growth.wording}."
        )
    if verdict.status != "survived":
        why = f" ({tally.error})" if tally.error else ""
        return f"Not known: the search ended as {verdict.status}{why}."
    proved = _proved(audit)
    sure = f"proved at {proved}; " if proved else ""
    beyond = f" But {fails_from(audit.beyond[0])}." if audit.beyond else ""
    met = f"; the hypotheses are {bounds(audit.vacuity)}" if audit.vacuity and bounds(audit.vacuity) else ""
    short = ", but the search was cut short" if audit.status == CUT_SHORT else ""
    return (
        f"No counterexample{short}: {sure}{tried(audit)}, {tally.accepted:,} instances, "
        f"{tally.decided:,} judged exactly{met}.{beyond}"
    )


def _proved(audit: Audit) -> str:
    whole = []
    for goal in audit.proofs:
        alike = [other for other in audit.proofs if other.sizes == goal.sizes]
        if all(other.outcome == PROVED for other in alike) and places(goal.sizes) not in whole:
            whole.append(places(goal.sizes))
    return " | ".join(whole[-2:])


def _form(audit: Audit) -> str:
    if audit.status == "refuted":
        if audit.failures is None:
            return ""
        if not audit.failures.rescue:
            text = saved_by_nothing(audit.failures)
            return f"{text[0].upper()}{text[1:]}."
        rescue = audit.failures.rescue[0]
        return f"With {rescue.label} no counterexample is found ({rescue.evaluations:,} evaluations)."
    said = []
    for part in audit.parts:
        where = f"{part.relation}: " if len(audit.parts) > 1 else ""
        laws = "; ".join(f"by {law.size} the best ratio seems to be {law.closed_form}" for law in part.sharpness.laws)
        better = sharper(part)
        text = sharp(part)[0]
        said.append(where + "; ".join(one for one in (text, laws, better) if one))
    return f"{said[0][0].upper()}{said[0][1:]}." if said else ""


def _needs(audit: Audit) -> str:
    spare = [_dropped(v.change) for v in audit.necessity if v.conclusion == SUPERFLUOUS]
    masked = [_dropped(v.change) for v in audit.necessity if v.conclusion == MASKED]
    needed = [_needed(v.change) for v in audit.necessity if v.status in (REFUTED, MEANINGLESS)]
    open_ = [_dropped(v.change) for v in audit.necessity if v.status == UNREACHED]
    said = []
    if spare:
        said.append(f"not needed: {', '.join(spare)}")
    if needed:
        said.append(f"needed: {', '.join(needed)}")
    if open_:
        said.append(f"not known to be needed: {', '.join(open_)}")
    if masked:
        said.append(f"without effect: {', '.join(masked)}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _dropped(change: str) -> str:
    """What was left out: the hypothesis, or the narrow domain, with the wider one in its place."""
    return _left_out(change, "in place of {}")


def _needed(change: str) -> str:
    """What is needed, of a change that breaks a claim: the hypothesis left out, or the narrow domain."""
    return _left_out(change, "{} is not enough")


def _left_out(change: str, wider: str) -> str:
    """The hypothesis that a change leaves out, or the narrow domain, with what `wider` says of the wider one."""
    wide, instead, narrow = change.partition(" instead of ")
    if not instead:
        return change.removeprefix("without ")
    name, _, domain = wide.partition(" in ")
    return f"{name} in {narrow} ({wider.format(domain)})"


def findings(audit: Audit) -> list[str]:
    """What is worth knowing: unsharp bounds, superfluous hypotheses, failures and where they end."""
    return list(_findings(audit))


def _findings(audit: Audit) -> Iterator[str]:
    for part in audit.parts:
        where = f"{part.relation}: " if len(audit.parts) > 1 else ""
        if part.profile.sharper is not None:
            yield f"{where}not sharp: {sharper(part)}"
        elif (part.sharpness.status in (LOOSE, NEARLY) and not part.sharpness.one_sided) or (
            part.sharpness.status == ATTAINED and part.sharpness.trivial_only
        ):
            yield f"{where}{sharp(part)[0]}"
    for variant in audit.necessity:
        if variant.conclusion == SUPERFLUOUS:
            yield f"superfluous, proved at {' | '.join(variant.proved[:3])}: {variant.change}"
        elif variant.status == UNREACHED and variant.instances:
            yield f"no counterexample found in {variant.evaluations:,} evaluations, but not proved: {variant.change}"
    for variant in audit.strengthened:
        if variant.status == SURVIVED and variant.change in ("strict inequality", "equality"):
            yield f"no counterexample found to the {variant.change} ({variant.evaluations:,} evaluations)"
    for beyond in audit.beyond:
        yield fails_from(beyond)
    if audit.status == "refuted":
        yield "false as stated" if audit.claim.expect == "fails" else "refuted, and was expected to hold"
        if audit.failures is not None and audit.failures.rescue:
            rescue = audit.failures.rescue[0]
            yield f"no counterexample with {rescue.label} added, in {rescue.evaluations:,} evaluations"
