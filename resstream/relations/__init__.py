"""Relations between numbers: what a claim and its hypotheses state.

A relation is an object that knows its float64 margin (for the search), its exact status (for the judge), how it is
worded, and its negation.
"""

from resstream.relations.base import (
    HOLDS,
    TIED,
    UNDECIDED,
    UNDEFINED,
    VIOLATED,
    Decision,
    Margin,
    Relation,
)
from resstream.relations.comparisons import (
    NEGATED,
    AtMost,
    Comparison,
    Differ,
    Equal,
    Less,
    SomeEntry,
    at_least,
    at_most,
    differ,
    equal,
    in_some_entry,
    less_than,
    more_than,
    within,
)
from resstream.relations.several import (
    AnyOf,
    Every,
    Guarded,
    either,
    every,
    iff,
    implies,
    is_guarded,
    negation,
)

__all__ = [
    "HOLDS",
    "NEGATED",
    "TIED",
    "UNDECIDED",
    "UNDEFINED",
    "VIOLATED",
    "AnyOf",
    "AtMost",
    "Comparison",
    "Decision",
    "Differ",
    "Equal",
    "Every",
    "Guarded",
    "Less",
    "Margin",
    "Relation",
    "SomeEntry",
    "at_least",
    "at_most",
    "differ",
    "either",
    "equal",
    "every",
    "iff",
    "implies",
    "in_some_entry",
    "is_guarded",
    "less_than",
    "more_than",
    "negation",
    "within",
]
