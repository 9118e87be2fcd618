"""An audit in words: sections of lines, shared by the terminal, Markdown and the page; and as JSON-ready data."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from resstream.audit.failures import FAILS, SURVIVES, Cell, FailureMap
from resstream.audit.necessity import SURVIVED, Variant
from resstream.audit.run import Audit
from resstream.audit.sharpness import ATTAINED, LOOSE, NEARLY
from resstream.falsify.counterexample import Exhibit
from resstream.prove.answer import INEXPRESSIBLE, MODEL, PROVED, UNDECIDED, Answer

GOALS_SHOWN = 6

MARKS = {FAILS: "x", SURVIVES: "."}
"""How the map is written where there is no colour."""


def headline(audit: Audit) -> str:
    """The verdict in one line."""
    verdict = audit.verdict
    if verdict is None:
        return f"{audit.claim.id}: not tried"
    tally = verdict.tally
    if verdict.status == "refuted":
        return f"{audit.claim.id}: refuted, by a certified counterexample"
    if verdict.status == "survived":
        return f"{audit.claim.id}: survived {tally.accepted:,} instances, {tally.judged:,} of them judged exactly"
    if verdict.status == "gave up":
        return f"{audit.claim.id}: gave up, with {tally.accepted:,} instances that met the hypotheses"
    if verdict.status == "vacuous":
        return f"{audit.claim.id}: vacuous, as it is proved that no instance meets the hypotheses"
    return f"{audit.claim.id}: {verdict.status} ({tally.error})"


def sections(audit: Audit) -> list[tuple[str, list[str]]]:
    """Titles, each with its lines; sections without lines are left out."""
    found = [
        ("counterexample", _counterexample(audit)),
        ("sharpness", list(_sharpness(audit))),
        ("necessity", [str(variant) for variant in audit.necessity]),
        ("strengthened", _strengthened(audit.strengthened)),
        ("where it fails", [] if audit.failures is None else list(_failures(audit.failures))),
        ("proof", proofs(audit.proofs)),
        ("vacuity", _vacuity(audit)),
        ("floats", [str(audit.sample.honesty)] if audit.sample else []),
        ("not answered", list(audit.missing)),
    ]
    return [(title, lines) for title, lines in found if lines]


def _counterexample(audit: Audit) -> list[str]:
    if audit.verdict is None or audit.verdict.counterexample is None:
        return []
    _, _, body = str(audit.verdict.counterexample).partition("\nat ")
    return ("at " + body).splitlines() if body else str(audit.verdict.counterexample).splitlines()[1:]


def _sharpness(audit: Audit) -> Iterator[str]:
    for part in audit.parts:
        prefix = f"{part.relation}: " if len(audit.parts) > 1 else ""
        yield prefix + str(part.sharpness)
        if part.sharpness.extremal is not None and part.sharpness.status in (ATTAINED, NEARLY, LOOSE):
            yield "  at " + instance(part.sharpness.extremal)
        if part.profile.sharper is not None:
            yield f"  sharper: {part.profile.sharper}"


def instance(counterexample: Exhibit) -> str:
    """An instance on one line."""
    sizes = ", ".join(f"{name} = {size}" for name, size in counterexample.raw.sizes.items())
    values = [f"{name} = {_on_one_line(value)}" for name, value in counterexample.arrays()]
    return "; ".join(part for part in (sizes, *values) if part)


def _on_one_line(value: Any) -> str:
    """An array with its rows behind one another, or a text cut short."""
    if not isinstance(value, np.ndarray):
        text = " ".join(str(value).split())
        return text if len(text) <= 60 else text[:59] + "…"
    if value.ndim > 2:
        return f"[{', '.join(_on_one_line(block) for block in value)}]"
    return f"[{'; '.join(' '.join(_entry(entry) for entry in row) for row in np.atleast_2d(value))}]"


def _entry(entry: Any) -> str:
    text = str(entry)
    return text if len(text) <= 12 else f"{float(entry.p) / float(entry.q):.6g}" if hasattr(entry, "p") else text[:12]


def _strengthened(variants: tuple[Variant, ...]) -> list[str]:
    """Refuted and surviving ones, a line each."""
    lines = []
    for status, group in itertools.groupby(sorted(variants, key=lambda v: v.status), key=lambda v: v.status):
        names = [v.change + (f" ({v.detail})" if v.detail else "") for v in group]
        lines.append(f"{'still survives' if status == SURVIVED else status}: {', '.join(names)}")
    return lines


def maps(found: FailureMap) -> list[tuple[str, list[Cell]]]:
    """The maps, one for each combination of options; those that look the same share one, with their labels joined."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for options in found.options:
        look = tuple(cell.outcome for cell in found.cells if cell.options == options)
        alike.setdefault(look, []).append(options)
    return [(" or ".join(labels), [c for c in found.cells if c.options == labels[0]]) for labels in alike.values()]


def _failures(found: FailureMap) -> Iterator[str]:
    for label, cells in maps(found):
        if not found.rows:
            yield f"{label or 'everywhere'}: {cells[0].outcome}"
            continue
        if label:
            yield label
        columns = list(dict.fromkeys(cell.sizes.get(found.columns, 0) for cell in cells))
        head = f"{found.rows} \\ {found.columns}" if found.columns else found.rows
        width = max(len(head), 5)
        yield f"  {head:>{width}} " + " ".join(f"{value:>3}" if found.columns else "" for value in columns)
        for value, row in itertools.groupby(cells, key=lambda cell: cell.sizes[found.rows]):
            yield f"  {value:>{width}} " + " ".join(f"{MARKS.get(cell.outcome, '?'):>3}" for cell in row)
    if found.cells and found.rows:
        unknown = any(cell.outcome not in MARKS for cell in found.cells)
        yield "x fails, . survives" + (", ? too few instances met the hypotheses" if unknown else "")
    for outcome, word in ((FAILS, "fails also with"), (SURVIVES, "no counterexample found with")):
        kinds = [change for change, seen, _ in found.kinds if seen == outcome]
        if kinds:
            yield f"{word} {', '.join(kinds)}"
    if found.rescue:
        label, instances = found.rescue[0]
        yield f"survives under the added hypothesis {label} ({instances:,} instances)"
        others = ", ".join(label for label, _ in found.rescue[1:])
        if others:
            yield f"so it does under {others}"
    else:
        yield "no restriction of the map saves it"


def proofs(goals: tuple[Answer, ...]) -> list[str]:
    """What was proved, in short: no place that lies below another, the largest first; then what was not."""
    lines = []
    for method in dict.fromkeys(goal.method for goal in goals if goal.outcome == PROVED):
        proved = [goal for goal in goals if goal.outcome == PROVED and goal.method == method]
        places = _largest(proved, goals)
        more = f" and {len(places) - GOALS_SHOWN} more" if len(places) > GOALS_SHOWN else ""
        smaller = ", and at smaller sizes" if len({tuple(goal.sizes.values()) for goal in proved}) > len(places) else ""
        lines.append(f"proved by {method} at {' | '.join(places[:GOALS_SHOWN])}{more}{smaller}")
    lines += [
        f"{goal.method} has a model of a violation at {_sizes(goal.sizes)}" for goal in goals if goal.outcome == MODEL
    ]
    lines += dict.fromkeys(f"not expressible ({goal.detail})" for goal in goals if goal.outcome == INEXPRESSIBLE)
    undecided = [
        f"{_sizes(goal.sizes)}{''.join(f' ({text})' for text in (goal.options, goal.detail) if text)}"
        for goal in goals
        if goal.outcome == UNDECIDED
    ]
    if undecided:
        more = f" and {len(undecided) - 3} more" if len(undecided) > 3 else ""
        lines.append(f"not decided at {' | '.join(undecided[:3])}{more}")
    return lines


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "every size"


def _largest(proved: list[Answer], goals: tuple[Answer, ...]) -> list[str]:
    """The places of proved goals; options are named where they were not all proved at these sizes."""
    places: dict[tuple[int, ...], list[Answer]] = {}
    for goal in proved:
        places.setdefault(tuple(goal.sizes.values()), []).append(goal)
    whole = {
        sizes: len(found) == sum(tuple(g.sizes.values()) == sizes for g in goals) for sizes, found in places.items()
    }

    def is_below(sizes: tuple[int, ...]) -> bool:
        return any(
            sizes != other and all(map(int.__le__, sizes, other)) and (whole[other] or not whole[sizes])
            for other in places
        )

    shown = sorted((sizes for sizes in places if not is_below(sizes)), key=lambda s: (-min(s, default=0), -sum(s)))
    texts = []
    for sizes in shown:
        options = [goal.options for goal in places[sizes]]
        some = not whole[sizes] or options[0].startswith("any ")
        texts.append(_sizes(places[sizes][0].sizes) + (f" ({'; '.join(options)})" if some and options[0] else ""))
    return texts


def _vacuity(audit: Audit) -> list[str]:
    if audit.verdict is None:
        return []
    if not audit.claim.assuming:
        return ["no hypotheses: every instance counts"]
    tally = audit.verdict.tally
    return [f"{audit.acceptance:.1%} of {tally.accepted + tally.discarded:,} instances met the hypotheses"]


def findings(audit: Audit) -> list[str]:
    """What is worth knowing: unsharp bounds, superfluous hypotheses, failures and where they end."""
    found = []
    for part in audit.parts:
        where = f"{part.relation}: " if len(audit.parts) > 1 else ""
        if part.profile.sharper is not None:
            found.append(f"{where}not sharp: {part.profile.sharper}")
        elif part.sharpness.status == LOOSE and part.sharpness.ratio > 0:
            found.append(f"{where}not sharp: {part.sharpness}")
        elif part.sharpness.status == NEARLY:
            found.append(f"{where}{part.sharpness}")
    found += [
        f"superfluous, as far as the search tells: {v}"
        for v in audit.necessity
        if v.status == SURVIVED and not v.detail
    ]
    found += [
        str(v) for v in audit.strengthened if v.status == SURVIVED and v.change in ("strict inequality", "equality")
    ]
    if audit.status == "refuted":
        found.append("false as stated" if audit.claim.expect == "fails" else "refuted, and was expected to hold")
        if audit.failures is not None and audit.failures.rescue:
            found.append(f"survives under the added hypothesis {audit.failures.rescue[0][0]}")
    return found


# ---- Markdown and JSON ------------------------------------------------------


def markdown(audit: Audit) -> str:
    """The audit as Markdown."""
    lines = [f"## {headline(audit)}", ""]
    if audit.claim.statement:
        lines += [audit.claim.headline, ""]
    for title, texts in sections(audit):
        lines += [f"### {title.capitalize()}", ""]
        if title in ("counterexample", "where it fails"):
            lines += ["```text", *texts, "```", ""]
        else:
            lines += [f"{'  ' if text.startswith('  ') else ''}- {text.strip()}" for text in texts] + [""]
    lines.append(f"Seed {audit.seed}, {audit.seconds:.1f} s.")
    return "\n".join(lines) + "\n"


def to_json(audit: Audit) -> dict[str, Any]:
    """The audit as JSON-ready data."""
    verdict = audit.verdict
    tally = verdict.tally if verdict else None
    return {
        "claim": audit.claim.id,
        "statement": audit.claim.statement,
        "expect": audit.claim.expect,
        "seed": audit.seed,
        "seconds": round(audit.seconds, 3),
        "status": audit.status,
        "evaluations": tally.evaluations if tally else 0,
        "accepted": tally.accepted if tally else 0,
        "discarded": tally.discarded if tally else 0,
        "acceptance": audit.acceptance,
        "counterexample": verdict.counterexample.json() if verdict and verdict.counterexample else None,
        "parts": [
            {
                "relation": part.relation,
                "sharpness": _plain(part.sharpness, without=("extremal",)),
                "extremal": None if part.sharpness.extremal is None else part.sharpness.extremal.json(),
                "profile": _plain(part.profile),
            }
            for part in audit.parts
        ],
        "necessity": [_plain(variant, without=("counterexample",)) for variant in audit.necessity],
        "strengthened": [_plain(variant, without=("counterexample",)) for variant in audit.strengthened],
        "failures": None if audit.failures is None else _plain(audit.failures),
        "proofs": [_plain(goal, without=("model",)) for goal in audit.proofs],
        "sample": None if audit.sample is None else _plain(audit.sample),
        "findings": findings(audit),
        "missing": list(audit.missing),
    }


def _plain(value: Any, without: tuple[str, ...] = ()) -> Any:
    """Data classes, mappings and tuples as what JSON has."""
    if dataclasses.is_dataclass(value):
        fields = [entry.name for entry in dataclasses.fields(value) if entry.name not in without]
        return {name: _plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


__all__ = ["findings", "headline", "instance", "maps", "markdown", "proofs", "sections", "to_json"]
