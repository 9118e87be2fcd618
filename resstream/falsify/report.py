"""What a verdict looks like: one paragraph for a terminal, one object for a program."""

from __future__ import annotations

from typing import Any

from resstream.claim import Instance
from resstream.falsify.verdict import Tally, Verdict


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON-ready data; `counterexample` is null where there is none."""
    tally = verdict.tally
    margin = tally.smallest_margin
    return {
        "status": verdict.status,
        "claim": verdict.claim.id,
        "seed": verdict.seed,
        "budget": verdict.budget,
        "every": verdict.every,
        "evaluations": tally.evaluations,
        "accepted": tally.accepted,
        "let_in_by_floats": tally.let_in,
        "discarded": tally.discarded,
        "judged": tally.judged,
        "acquitted": tally.acquitted,
        "tied": tally.tied,
        "undecided": tally.undecided,
        "undecided_at": _at(*tally.undecided_at[1:]) if tally.undecided_at else None,
        "undefined": tally.undefined,
        "undefined_at": _at(*tally.undefined_at) if tally.undefined_at else None,
        "seconds": round(verdict.seconds, 4),
        "engine": tally.engine if verdict.status == "refuted" else None,
        "smallest_margin": None if margin == float("inf") else margin,
        "counterexample": verdict.counterexample.json() if verdict.counterexample else None,
        "evidence": verdict.evidence.json() if verdict.evidence else None,
        "error": tally.error or None,
        "notes": list(verdict.notes),
    }


def _at(raw: Instance, reason: str) -> dict[str, Any]:
    arrays = {name: values.tolist() for name, values in _floats(raw).items()}
    return {"reason": reason, "sizes": dict(raw.sizes), "options": dict(raw.options), "raw": arrays}


def _floats(raw: Instance) -> dict[str, Any]:
    return {name: values.astype(float) for name, values in raw.arrays.items()}


def verdict_text(verdict: Verdict) -> str:
    """What a search found out and did not do, in a few lines; the counterexample is printed beside it."""
    claim, tally = verdict.claim, verdict.tally
    lines = {
        "refuted": [],
        "survived": [_survived(verdict)],
        "evidence": [f"{claim.id}: {_evidence_for(verdict)}, which is no proof: {_stated(verdict)}"],
        "undecided": _undecided(verdict),
        "undefined": [f"{claim.id} is undefined at {tally.undefined:,} of {tally.judged:,} judged instances"],
        "vacuous": [f"{claim.id} is vacuous: it is proved that no instance meets its hypotheses"],
        "gave up": _gave_up(verdict),
        "error": [f"{claim.id}: evaluating the claim raised {tally.error}", *where(tally.faulty)],
    }[verdict.status]
    if verdict.evidence is not None:
        lines += verdict.evidence.lines()
    if verdict.status == "undecided" and tally.undecided_at:
        lines += [f"nearest: {tally.undecided_at[2]}", *where(tally.undecided_at[1])]
    if verdict.status == "undefined" and tally.undefined_at:
        lines += [f"for instance: {tally.undefined_at[1]}", *where(tally.undefined_at[0])]
    lines.append(f"{counts(tally)}; {verdict.seconds:.2f} s, seed {verdict.seed}")
    if verdict.status != "refuted" and claim.as_grows is None and tally.smallest_margin < float("inf"):
        lines.append(f"smallest relative margin {tally.smallest_margin:.3g}")
    lines += [f"note: {note}" for note in verdict.notes]
    return "\n".join(lines)


def _survived(verdict: Verdict) -> str:
    if verdict.every is None:
        return f"{verdict.claim.id} survived: no violation found, which is no proof"
    ranges = verdict.claim.size_ranges()
    sizes = ", ".join(f"{name} = {_range(values)}" for name, values in ranges.items())
    tied = f", {verdict.tally.tied:,} of them as far as digits tell" if verdict.tally.tied else ""
    met = f" that meets its hypotheses ({verdict.tally.accepted:,})" if verdict.tally.accepted < verdict.every else ""
    return (
        f"{verdict.claim.id} survived: the search was exhaustive, it holds at each of its {verdict.every:,} instances"
        f"{met}{tied}" + (f"; {sizes}" if sizes else "")
    )


def _range(values: range) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]}..{values[-1]}"


def _evidence_for(verdict: Verdict) -> str:
    growth = verdict.claim.as_grows
    return f"evidence for the {growth.name}" if growth is not None else "evidence"


def _stated(verdict: Verdict) -> str:
    growth = verdict.claim.as_grows
    return f"the quantity {growth.wording}" if growth is not None else ""


def _undecided(verdict: Verdict) -> list[str]:
    claim, tally, evidence = verdict.claim, verdict.tally, verdict.evidence
    if evidence is None:
        return [f"{claim.id} is undecided: {tally.undecided:,} of {tally.judged:,} judged instances could not be"]
    if evidence.unsettled:
        return [f"{claim.id} is undecided: {evidence.unsettled}"]
    return [f"{claim.id} is undecided, with evidence against it, which refutes nothing: {_stated(verdict)}"]


def counts(tally: Tally) -> str:
    """How many instances were looked at, and how the judged ones came out."""
    rest = [
        f"{tally.acquitted:,} float64 violations acquitted",
        *(f"{number:,} {name}" for name, number in _unsettled(tally) if number),
    ]
    return (
        f"{tally.evaluations:,} evaluations, {tally.accepted:,} instances met the hypotheses, {tally.discarded:,} did "
        f"not; {tally.decided:,} were judged exactly, {', '.join(rest)}"
    )


def _unsettled(tally: Tally) -> list[tuple[str, int]]:
    return [("tied", tally.tied), ("undecided", tally.undecided), ("undefined", tally.undefined)]


def _gave_up(verdict: Verdict) -> list[str]:
    tally = verdict.tally
    if tally.accepted == 0 and not verdict.notes:
        missed = f", missed by {tally.nearest_miss:.3g} at the least" if tally.nearest_miss < float("inf") else ""
        return [
            f"{verdict.claim.id}: gave up, hypotheses never met in {tally.discarded:,} tries{let_in(tally) or missed}"
        ]
    few = f"too few instances met the hypotheses ({tally.accepted:,}) or the run was broken off"
    return [f"{verdict.claim.id}: gave up, {few}"]


def let_in(tally: Tally) -> str:
    """What floats said of hypotheses that nothing is known to meet; empty where they agreed."""
    if not tally.let_in:
        return ""
    return f" (floats let in {tally.let_in:,}, exact arithmetic none of the {tally.judged:,} that it judged)"


def where(raw: Instance | None) -> list[str]:
    """An instance by its raw numbers, a line each."""
    if raw is None:
        return []
    arrays = [f"  {name} = {values.tolist()}" for name, values in _floats(raw).items()]
    options = f" {dict(raw.options)}" if raw.options else ""
    return [f"at {dict(raw.sizes)}{options}, raw numbers", *arrays]
