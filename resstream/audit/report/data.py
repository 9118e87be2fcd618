"""An audit as JSON-ready data, described by `audit.schema.json` beside this file."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from resstream.audit.report.referee import findings, opening
from resstream.audit.report.words import regimes, sentences
from resstream.audit.result import Audit, FailureMap, Part
from resstream.falsify.counterexample import Exhibit

FORMAT = "resstream-audit-2"


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of what `to_json` gives."""
    text = resources.files("resstream.audit.report").joinpath("audit.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def to_json(audit: Audit) -> dict[str, Any]:
    """The audit as JSON-ready data."""
    verdict = audit.verdict
    tally = verdict.tally if verdict else None
    return {
        "format": FORMAT,
        "claim": audit.claim.id,
        "statement": audit.claim.statement,
        "expect": audit.claim.expect,
        "seed": audit.seed,
        "seconds": round(audit.seconds, 3),
        "status": audit.status,
        "opening": opening(audit),
        "budget": audit.budget,
        "evaluations": tally.evaluations if tally else 0,
        "accepted": tally.accepted if tally else 0,
        "discarded": tally.discarded if tally else 0,
        "judged": tally.judged if tally else 0,
        "undecided": tally.undecided if tally else 0,
        "acceptance": audit.acceptance,
        "counterexample": verdict.counterexample.json() if verdict and verdict.counterexample else None,
        "evidence": verdict.evidence.json() if verdict and verdict.evidence else None,
        "witnesses": audit.witnesses,
        "parts": [_part(part) for part in audit.parts],
        "regimes": [text for part in audit.parts for text in regimes(part)],
        "necessity": [plain(variant) for variant in audit.necessity],
        "strengthened": [plain(variant) for variant in audit.strengthened],
        "failures": None if audit.failures is None else _failures(audit.failures),
        "thresholds": [plain(threshold) for threshold in audit.thresholds],
        "fails_beyond": {beyond.size: beyond.fails_from for beyond in audit.beyond},
        "beyond": [plain(beyond) for beyond in audit.beyond],
        "vacuity": None if audit.vacuity is None else plain(audit.vacuity),
        "vacuous_sizes": {} if audit.vacuity is None else plain(audit.vacuity.sizes),
        "theorem": audit.theorem,
        "proofs": [plain(goal, without=("model",)) for goal in audit.proofs],
        "sample": None if audit.sample is None else plain(audit.sample),
        "sentences": [plain(sentence) for sentence in sentences(audit)],
        "findings": findings(audit),
        "missing": list(audit.missing),
    }


def _part(part: Part) -> dict[str, Any]:
    sharpness = plain(part.sharpness, without=("extremal", "shown"))
    extremal, shown = part.sharpness.extremal, part.sharpness.shown
    return {
        "relation": part.relation,
        "sharpness": sharpness,
        "extremal": None if extremal is None else extremal.json(),
        "shown": None if shown is None else shown.json(),
        "profile": plain(part.profile),
    }


def _failures(found: FailureMap) -> dict[str, Any]:
    return {
        "rows": found.rows,
        "columns": found.columns,
        "cells": plain(found.cells),
        "kinds": [[kind.label, kind.outcome, kind.instances, kind.evaluations, kind.evidence] for kind in found.kinds],
        "rescue": [[one.label, one.instances, one.evaluations, one.command, list(one.proved)] for one in found.rescue],
    }


def plain(value: Any, without: tuple[str, ...] = ()) -> Any:
    """Data classes, mappings and tuples as what JSON has; what is no number is null."""
    if isinstance(value, Exhibit):
        return value.json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [entry.name for entry in dataclasses.fields(value) if entry.name not in without]
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
