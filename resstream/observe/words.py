"""An observation in sentences and rows, which screen, page and documents share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resstream.observe.observation import Observation
from resstream.observe.table import PERTURBATIONS, Line

BOUND_COLUMNS = ("claim", "at", "places", "met", "violated", "lhs/rhs: median", "least", "most", "vacuous")
HEAD_COLUMNS = (
    "head", "tau", "1 - min A_i1", "score range", "entropy", "||W_OV||", "tau ||W_OV||", "copying", "composes with",
    "score", "logit",
)  # fmt: skip
SUM_COLUMNS = ("sum", "parts", "constant up to", "parts + constant - whole", "of terms up to")
COLLAPSE_COLUMNS = ("bound", "on", "after", "promised (median)", "left (median)", "foreseen: median", "most")


def headline(found: Observation) -> str:
    """What was looked at, in one sentence."""
    shortest, longest = min(found.tokens), max(found.tokens)
    lengths = f"{shortest} to {longest}" if shortest < longest else str(longest)
    prompts = f"{len(found.tokens)} prompts" if len(found.tokens) > 1 else "1 prompt"
    sampled = f", at most {found.sampled} places of each claim" if found.sampled else ", every place"
    if found.around is not None:
        sampled += f", and {PERTURBATIONS} perturbations of each by up to {found.around:g} an entry"
    return (
        f"{found.name} ({found.source}): {_many(found.layers, 'layer')} of {_many(found.heads, 'head')}, "
        f"{'causal' if found.causal else 'not causal'}; {prompts} of {lengths} tokens{sampled}."
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _some(lines: Sequence[Line]) -> str:
    return ", ".join(line.id for line in lines[:3]) + (f" and {len(lines) - 3} more" if len(lines) > 3 else "")


def verdict(found: Observation) -> str:
    """How many claims, and what became of them."""
    if not found.lines:
        few = [f"{name}: {reason}" for name, reason in list(found.not_applicable.items())[:3]]
        who = _many(len(found.not_applicable), "claim")
        return f"Nothing was looked at: none of {who} speaks of what is known here ({'; '.join(few)})."
    places = sum(line.instances for line in found.lines)
    parts = [
        f"{_many(len(found.lines), 'claim')} at {places:,} places",
        f"{len(found.not_applicable)} do not speak of this model",
        f"{sum(line.certified for line in found.lines):,} places certified exactly",
    ]
    bad = found.violated
    parts.append(f"VIOLATED, certified: {', '.join(bad)}" if bad else "none violated")
    false = [line for line in found.lines if line.violated and line.expect == "fails"]
    if false:
        parts.append(f"expected to fail, and violated here, certified: {_some(false)}")
    tied = sum(line.tied for line in found.lines)
    if tied:
        parts.append(f"{tied} the same in every digit computed")
    undecided = [line for line in found.lines if line.undecided]
    if undecided:
        parts.append(f"{sum(line.undecided for line in undecided)} undecided by the judge ({_some(undecided)})")
    unjudged = [line for line in found.lines if line.unjudged and not line.violated]
    if unjudged:
        count = sum(line.unjudged for line in unjudged)
        parts.append(f"{count} that floats find violated were not judged ({_some(unjudged)})")
    balls = sum(line.balls for line in found.lines)
    if balls:
        whole = sum(line.whole_balls for line in found.lines)
        parts.append(f"{whole} of {balls} balls of radius {found.around:g} certified whole")
    parts += [f"{line.id}: {line.error}" for line in found.lines if line.error]
    return "; ".join(parts) + "."


def differences(found: Observation) -> str:
    """How far our forward pass is from the model's own; empty where there is no other."""
    if not found.notes:
        return ""
    each = ", ".join(f"{kind} {value:.1e}" for kind, value in found.notes.items())
    return f"Our forward pass beside the model's own, largest difference over the largest entry: {each}."


def bounds(found: Observation) -> list[Line]:
    """The claims that state an inequality, those that say nothing last."""
    return [line for line in found.lines if line.is_bound or line.met == 0]


def identities(found: Observation) -> list[Line]:
    """The claims that state equalities alone."""
    return [line for line in found.lines if not line.is_bound and line.met > 0]


def identity_sentence(found: Observation) -> str:
    """What became of the equalities."""
    lines = identities(found)
    if not lines:
        return ""
    places = sum(line.instances for line in lines)
    certified = sum(line.certified for line in lines)
    what = "identities" if len(lines) > 1 else "identity"
    return (
        f"{len(lines)} {what} at {places:,} places: both sides agree in float64 to a billionth of one plus their "
        f"largest entry wherever the judge was not asked; {certified:,} certified."
    )


def bound_row(line: Line) -> list[str]:
    """The cells of `BOUND_COLUMNS`."""
    values = line.tightness
    ratios = [f"{value:.3g}" for value in (np.median(values), values[0], values[-1])] if len(values) else ["", "", ""]
    met = f"{line.met:,}" if line.assumes else "all"
    vacuous = "" if line.vacuous is None else f"{line.vacuous:.0%}"
    if line.met == 0:
        met, vacuous = "none", "100%"
    return [line.id, line.unit, f"{line.instances:,}", met, str(len(line.violated)), *ratios, vacuous]


def head_cells(found: Observation) -> list[list[str]]:
    """The cells of `HEAD_COLUMNS`, one row a head."""
    return [
        [
            f"{row.layer}.{row.head}",
            f"{row.tau:.3f}",
            f"{row.first:.3f}",
            _number(row.score_range, ".3g"),
            f"{row.entropy:.2f}",
            _number(row.ov_norm, ".3g"),
            _number(row.tau_ov, ".3g"),
            _number(row.copying, "+.2f"),
            row.composes_with,
            _number(row.composition, ".3f"),
            _number(row.logit, "+.3g"),
        ]
        for row in found.head_rows
    ]


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def sum_cells(found: Observation) -> list[list[str]]:
    """The cells of `SUM_COLUMNS`, the worst prompt of each sum."""
    rows = []
    for name in dict.fromkeys(row.name for row in found.sums):
        worst = max((row for row in found.sums if row.name == name), key=lambda row: row.gap / row.scale)
        cells = [name, f"{worst.parts:,}", f"{worst.constant:.3g}", f"{worst.gap:.1e}", f"{worst.scale:.3g}"]
        rows.append(cells)
    return rows


def collapse_cells(rows: Sequence[dict[str, object]]) -> list[list[str]]:
    """The cells of `COLLAPSE_COLUMNS` of a summary."""
    return [
        [
            str(row["bound"]),
            str(row["of"]),
            f"{row['depth']} layers",
            share(row["bound median"]),
            share(row["left median"]),
            share(row["foreseen median"]),
            share(row["foreseen largest"]),
        ]
        for row in rows
    ]


def share(value: object) -> str:
    """Three digits; what is below 1e-6, which floats next to 1 do not carry, as such; empty for what is not known."""
    if not isinstance(value, float):
        return ""
    return "below 1e-06" if 0 < value < 1e-6 else f"{value:.3g}"


def head_sentence(found: Observation) -> str:
    """What the heads say of the theorems' hypotheses."""
    rows = found.head_rows
    taus = np.array([row.tau for row in rows])
    words = [
        f"tau of the patterns: median {np.median(taus):.3f}, above 0.9 in {(taus > 0.9).sum()} of {len(taus)} heads"
    ]
    ranges = np.array([row.score_range for row in rows if row.score_range is not None])
    if len(ranges):
        left = float(np.exp(-ranges.min()))
        least = f"{1 - left:.3g}" if left > 1e-3 else f"1 - {left:.1e}"
        words.append(f"score ranges {ranges.min():.3g} to {ranges.max():.3g}, so 1 - exp(-r) is at least {least}")
    products = np.array([row.tau_ov for row in rows if row.tau_ov is not None])
    if len(products):
        words.append(f"tau ||W_OV|| above 1 in {(products > 1).sum()} of {len(products)} heads")
    return "; ".join(words) + "."
