"""Hypothesis's observability records of a search: written where Hypothesis was asked for them.

That is by `HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY`, into `.hypothesis/observed/`, or by a callback. What the engine
`hypothesis` drew has records of its own, by the name of the claim (or of the test that it is); the verdict is one more,
of the type "info".
"""

from __future__ import annotations

import time

from hypothesis.internal import observability

from resstream.falsify.report import verdict_json
from resstream.falsify.verdict import Verdict


def observe(verdict: Verdict) -> None:
    """Hand the verdict to whoever asked; an earlier Hypothesis, which has no such records, is passed over."""
    is_enabled = getattr(observability, "observability_enabled", None)
    if is_enabled is None or not is_enabled():
        return
    start = time.time() - verdict.seconds
    content = verdict_json(verdict)
    title = f"{verdict.claim.id}: {verdict.status}"
    record = observability.InfoObservation(
        type="info", property=verdict.claim.id, run_start=start, title=title, content=content
    )
    observability.deliver_observation(record)
