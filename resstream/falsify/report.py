"""What a verdict looks like: one paragraph for a terminal, one object for a program."""

from __future__ import annotations

from typing import Any

from resstream.falsify.search import Verdict


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON-ready data; `counterexample` is null where there is none."""
    tally = verdict.tally
    margin = tally.smallest_margin
    return {
        "status": verdict.status,
        "claim": verdict.claim.id,
        "seed": verdict.seed,
        "budget": verdict.budget,
        "evaluations": tally.evaluations,
        "accepted": tally.accepted,
        "discarded": tally.discarded,
        "acquitted": tally.acquitted,
        "seconds": round(verdict.seconds, 4),
        "engine": tally.engine if verdict.status == "refuted" else None,
        "smallest_margin": None if margin == float("inf") else margin,
        "counterexample": verdict.counterexample.json() if verdict.counterexample else None,
        "error": tally.error or None,
        "notes": list(verdict.notes),
    }


def verdict_text(verdict: Verdict) -> str:
    """What a search found out and did not do, in a few lines; the counterexample is printed beside it."""
    tally = verdict.tally
    counts = (
        f"{tally.evaluations:,} evaluations, {tally.accepted:,} instances met the hypotheses, {tally.discarded:,} did "
        f"not; {tally.judged:,} were judged exactly, {tally.acquitted:,} float64 violations acquitted"
    )
    lines = {
        "refuted": [],
        "survived": [f"{verdict.claim.id} survived: no violation found, which is no proof"],
        "vacuous": [f"{verdict.claim.id} is vacuous: no instance met its hypotheses"],
        "gave up": [f"{verdict.claim.id}: gave up, too few instances met the hypotheses or the run was broken off"],
        "error": [f"{verdict.claim.id}: evaluating the claim raised {tally.error}", *_faulty(verdict)],
    }[verdict.status]
    lines.append(f"{counts}; {verdict.seconds:.2f} s, seed {verdict.seed}")
    if verdict.status != "refuted" and tally.smallest_margin < float("inf"):
        lines.append(f"smallest relative margin {tally.smallest_margin:.3g}")
    lines += [f"note: {note}" for note in verdict.notes]
    return "\n".join(lines)


def _faulty(verdict: Verdict) -> list[str]:
    raw = verdict.tally.faulty
    if raw is None:
        return []
    arrays = [f"  {name} = {values.tolist()}" for name, values in raw.arrays.items()]
    return [f"at {dict(raw.sizes)} {dict(raw.options)}, raw numbers", *arrays]
