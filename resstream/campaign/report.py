"""What is in a store: by claim, and by time; as data, as text, and as one self-contained page."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from resstream.campaign.store import Store

POINTS = 60
"""Points in time of the progress, at most."""

JUDGED = "judged"
"""Of a claim with finitely many instances, each of which was judged exactly: as `Verdict.every` of `falsify`."""

UNREFUTED = ("open", JUDGED)

_BY_CLAIM = """
SELECT key, id, expect, headline, pieces, count(chunks.claim) AS chunks, coalesce(sum(seconds), 0) AS seconds,
  coalesce(sum(evaluations), 0) AS evaluations, coalesce(sum(accepted), 0) AS accepted,
  coalesce(sum(undecided + undefined), 0) AS undecided, coalesce(sum(acquitted), 0) AS acquitted, min(margin) AS margin,
  count(DISTINCT nullif(region, '')) AS regions, max(error) AS error,
  count(DISTINCT CASE WHEN engine = 'exhaustion' THEN number END) AS judged_pieces
FROM claims LEFT JOIN chunks ON chunks.claim = key GROUP BY key ORDER BY id, key
"""


def report(store: str | Path) -> dict[str, Any]:
    """All that a campaign found, as JSON-ready data; ResstreamError where there is no store.

    Of each claim: "status" ("refuted" by a certified counterexample, "error", "judged": it has finitely many instances,
    each was judged exactly and none violates it, or "open": nothing was found among so many instances), what was
    counted, the smallest margin, the nearest misses, the counterexample. "progress": what there was at up to 60 points
    in time, which leave out the hours between sessions.

    >>> from tempfile import TemporaryDirectory
    >>> from resstream.campaign.run import campaign
    >>> with TemporaryDirectory() as store:
    ...     _ = campaign(["contraction.diameter_squared"], hours=1, store=store)
    ...     print([(one["id"], one["status"]) for one in report(store)["claims"]])
    [('contraction.diameter_squared', 'refuted')]
    """
    with Store(store, create=False) as kept:
        violations = kept.violations()
        found = [_claim(row, violations.get(row["key"]), _misses(kept, row["key"])) for row in kept.rows(_BY_CLAIM)]
        sessions = kept.rows("SELECT * FROM sessions ORDER BY started")
        chunks = kept.rows("SELECT claim, evaluations, margin, at, session FROM chunks ORDER BY at")
        return {
            "store": str(store),
            "sessions": sessions,
            "seconds": sum(one["ended"] - one["started"] for one in sessions),
            "chunks": len(chunks),
            "evaluations": sum(one["evaluations"] for one in chunks),
            "claims": found,
            "progress": _progress(sessions, chunks, sorted(one["at"] for one in violations.values())),
        }


def _misses(store: Store, key: str) -> list[dict[str, Any]]:
    rows = store.rows("SELECT margin, engine, number, seed, raw FROM misses WHERE claim = ? ORDER BY margin", (key,))
    return [{**row, "raw": json.loads(row["raw"])} for row in rows]


def _claim(row: dict[str, Any], violation: Mapping[str, Any] | None, misses: list[dict[str, Any]]) -> dict[str, Any]:
    whole = row["pieces"] and row["judged_pieces"] == row["pieces"] and not row["undecided"]
    status = "refuted" if violation else "error" if row["error"] else JUDGED if whole else "open"
    shown = violation and violation["counterexample"]
    return {
        **{name: value for name, value in row.items() if name not in ("key", "pieces", "judged_pieces")},
        "error": row["error"] or None,
        "status": status,
        "as expected": status in (("refuted",) if row["expect"] == "fails" else UNREFUTED),
        "violation": violation and {"raw": json.loads(violation["raw"]), "engine": violation["engine"]},
        "counterexample": json.loads(shown) if shown else None,
        "text": violation["text"] if violation else None,
        "nearest misses": misses,
    }


def _progress(
    sessions: Sequence[Mapping[str, Any]], chunks: Sequence[Mapping[str, Any]], refuted_at: Sequence[float]
) -> list[dict[str, Any]]:
    """Chunks, evaluations, refuted claims and falls of a claim's smallest margin, by seconds at work."""
    begun, before = {}, 0.0
    for one in sessions:
        begun[one["id"]] = before - one["started"]
        before += one["ended"] - one["started"]
    points, best, evaluations, falls = [], dict[str, float](), 0, 0
    for count, chunk in enumerate(chunks, 1):
        evaluations += chunk["evaluations"]
        margin = chunk["margin"]
        if margin is not None and margin < best.get(chunk["claim"], float("inf")):
            falls += chunk["claim"] in best
            best[chunk["claim"]] = margin
        if count % max(1, len(chunks) // POINTS) == 0 or count == len(chunks):
            points.append(
                {
                    "seconds": round(max(begun.get(chunk["session"], 0.0) + chunk["at"], 0.0), 3),
                    "chunks": count,
                    "evaluations": evaluations,
                    "refuted": sum(at <= chunk["at"] for at in refuted_at),
                    "margins fell": falls,
                }
            )
    return points


def rows(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table of a report: a head, then a row a claim."""
    head = ("claim", "status", "chunks", "evaluations", "met", "undecided", "regions", "margin", "minutes")
    found: list[tuple[str, ...]] = [head]
    for one in data["claims"]:
        surprising = one["expect"] == "holds" and one["status"] not in UNREFUTED
        status = f"{one['status']} (expected: holds)" if surprising else one["status"]
        counts = (f"{one[name]:,}" for name in ("chunks", "evaluations", "accepted", "undecided", "regions"))
        margin = "" if one["margin"] is None else f"{one['margin']:.2g}"
        found.append((one["id"], status, *counts, margin, f"{one['seconds'] / 60:.1f}"))
    return found


def summary(data: Mapping[str, Any]) -> str:
    """One sentence: how much was done, and what came of it."""
    counts = Counter(one["status"] for one in data["claims"])
    judged = f"{counts[JUDGED]} judged at each of their instances, " if counts[JUDGED] else ""
    return (
        f"{len(data['claims'])} claims: {counts['refuted']} refuted, {judged}{counts['open']} open, "
        f"{counts['error']} raised. "
        f"{data['chunks']:,} chunks and {data['evaluations']:,} evaluations in {len(data['sessions'])} sessions of "
        f"{data['seconds'] / 3600:.2f} hours together. Open: nothing was found so far; it is no proof."
    )


def text(data: Mapping[str, Any]) -> str:
    """The report as text: the table, what refutes, the progress."""
    lines = _aligned(rows(data), left=2)
    for one in data["claims"]:
        if one["text"]:
            lines += ["", one["text"]]
        elif one["violation"]:
            lines += ["", f"{one['id']}: violated, and not shrunk yet: the campaign goes on with it"]
        if one["error"]:
            lines += ["", f"{one['id']}: {one['error']}"]
    lines += ["", "progress"]
    names = ("seconds", "chunks", "evaluations", "refuted", "margins fell")
    every = max(1, len(data["progress"]) // 8)
    shown = [*data["progress"][:-1:every], *data["progress"][-1:]]
    cells = [names, *(tuple(f"{point[name]:,.0f}" for name in names) for point in shown)]
    lines += _aligned(cells)
    return "\n".join([*lines, "", summary(data)]) + "\n"


def _aligned(cells: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Lines of a table: the first columns to the left, others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    aligned = (
        [f"{cell:{'<' if place < left else '>'}{widths[place]}}" for place, cell in enumerate(row)] for row in cells
    )
    return ["  ".join(row).rstrip() for row in aligned]


def page(data: Mapping[str, Any]) -> str:
    """The report as a page: no network, no script."""
    from resstream.observe.page import framed, table
    from resstream.observe.plots import lines

    points = [{"seconds": 0, "chunks": 0, "evaluations": 0, "refuted": 0, "margins fell": 0}, *data["progress"]]
    drawn = (
        lines(name, {name: [(point["seconds"] / 60, point[name]) for point in points]}, "minutes", name)
        for name in ("refuted", "margins fell", "evaluations")
    )
    found = (f"<h3>{escape(one['id'])}</h3><pre>{escape(one['text'])}</pre>" for one in data["claims"] if one["text"])
    when = [tuple(_clock(one[end]) for end in ("started", "ended")) for one in data["sessions"]]
    parts = [
        "<h2>Campaign</h2>",
        f"<p>{escape(summary(data))}</p>",
        f'<div class="plots">{"".join(drawn)}</div>',
        "<h3>Claims</h3>",
        table(*_head_and_rest(data)),
        "<h3>Counterexamples</h3>",
        "".join(found) or "<p>None.</p>",
        "<h3>Sessions</h3>",
        table(("started", "ended"), when),
    ]
    return framed("Campaign", "\n".join(parts))


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _head_and_rest(data: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    head, *rest = rows(data)
    return head, rest
