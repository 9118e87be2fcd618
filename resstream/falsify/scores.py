"""How near each instance of a batch is to a violation: what engines climb by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from resstream.arithmetic import Array
from resstream.claim import Assessment, Margin

Scoring = Callable[[Assessment], Array]


def scores_of(assessment: Assessment) -> Array:
    """How near each instance of a batch is to a violation: negative beyond it, at most 1 where the hypotheses hold.

    Elsewhere from 2 to 3, by how far the hypotheses are from holding; 4 where there is no float value.
    """
    return _scores(assessment.met, assessment.missing, _informed(assessment.conclusion))


def gauged_scores(assessment: Assessment) -> Array:
    """The same, where hypotheses are far off by the mean over their entries, and beside zero a side counts by its size.

    A quadratic form that is to be at least 0 has the relative margin 1 wherever it is positive: nothing to climb by.
    """
    margin = assessment.conclusion
    missing = assessment.missing
    if assessment.assumed and not assessment.met.all():
        missing = np.sum([relation.missed_on_average(len(missing)) for relation in assessment.assumed], axis=0)
    of_conclusion = _informed(margin)
    with np.errstate(all="ignore"):
        alone = np.abs(margin.slack) == margin.scale
        if alone[np.isfinite(margin.scale)].all():
            of_conclusion = margin.slack / (1 + np.abs(margin.slack))
    return _scores(assessment.met, missing, of_conclusion)


def _scores(met: Array, missing: Array, of_conclusion: Array) -> Array:
    scores = 2 + missing / (1 + missing)
    scores[met] = of_conclusion
    return np.where(np.isnan(scores), 4.0, scores)


def _informed(margin: Margin) -> Array:
    """Relative margins that go to 1 where both sides vanish beside the usual scale of the batch.

    There a margin says nothing: it is rounding, or a tie of two zeros, and a climb would never leave it again.
    """
    finite = margin.scale[np.isfinite(margin.scale)]
    least = 1e-9 * (float(np.median(finite)) if len(finite) else 1.0) + 1e-300
    with np.errstate(all="ignore"):
        return (margin.slack + least) / (margin.scale + least)
