"""Theorems about the transformer residual stream, stated once, attacked, certified and explained.

    import resstream as rs

`rs.claim` states a claim over `rs.domains` with `rs.at_most` and the other relations and the mathematics of
`rs.reference`; `rs.falsify`, `rs.audit` and `rs.check` attack one; `rs.library()` and `rs.lookup(id)` have those that
are stated already. What is not in `resstream.__all__`, nor in that of a module named there, is private.

>>> import resstream as rs
>>> rs.lookup("contraction.diameter").headline[:43]
'A row-stochastic matrix shrinks the diamete'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from resstream import arithmetic, domains, errors, reference, strategies
    from resstream.arithmetic import Array, exact
    from resstream.audit import audit
    from resstream.claim import Claim, claim, expectation, size
    from resstream.claims import library, lookup
    from resstream.enclosures import Certified, assert_encloses, certified
    from resstream.errors import ResstreamError
    from resstream.falsify import Counterexample, Verdict, falsify
    from resstream.falsify.check import check
    from resstream.relations import (
        Relation,
        at_least,
        at_most,
        differ,
        either,
        equal,
        every,
        exists,
        for_all,
        iff,
        implies,
        in_some_entry,
        less_than,
        limit,
        more_than,
        negation,
        rate,
        within,
    )
    from resstream.statistical import average, probability, statistical

_HOME = {
    "Array": "arithmetic",
    "Certified": "enclosures",
    "Claim": "claim",
    "Counterexample": "falsify",
    "Relation": "relations",
    "ResstreamError": "errors",
    "Verdict": "falsify",
    "arithmetic": "",
    "average": "statistical",
    "assert_encloses": "enclosures",
    "at_least": "relations",
    "at_most": "relations",
    "audit": "",
    "certified": "enclosures",
    "check": "falsify.check",
    "claim": "",
    "differ": "relations",
    "domains": "",
    "either": "relations",
    "equal": "relations",
    "errors": "",
    "every": "relations",
    "exact": "arithmetic",
    "exists": "relations",
    "expectation": "claim",
    "falsify": "",
    "for_all": "relations",
    "iff": "relations",
    "implies": "relations",
    "in_some_entry": "relations",
    "less_than": "relations",
    "library": "claims",
    "limit": "relations",
    "lookup": "claims",
    "more_than": "relations",
    "negation": "relations",
    "probability": "statistical",
    "rate": "relations",
    "reference": "",
    "size": "claim",
    "statistical": "",
    "strategies": "",
    "within": "relations",
}
"""The module that each public name is had from when it is first asked for; "" for what is a module itself.

`claim`, `falsify`, `audit` and `statistical` are modules that are called as the function of the same name in them.
"""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'resstream' has no attribute {name!r}")
    home = _HOME[name]
    value = getattr(import_module(f"resstream.{home}"), name) if home else import_module(f"resstream.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "Array",
    "Certified",
    "Claim",
    "Counterexample",
    "Relation",
    "ResstreamError",
    "Verdict",
    "__version__",
    "arithmetic",
    "assert_encloses",
    "at_least",
    "at_most",
    "audit",
    "average",
    "certified",
    "check",
    "claim",
    "differ",
    "domains",
    "either",
    "equal",
    "errors",
    "every",
    "exact",
    "exists",
    "expectation",
    "falsify",
    "for_all",
    "iff",
    "implies",
    "in_some_entry",
    "less_than",
    "library",
    "limit",
    "lookup",
    "more_than",
    "negation",
    "probability",
    "rate",
    "reference",
    "size",
    "statistical",
    "strategies",
    "within",
]
