"""Every theorem of the library, stated once: one module a family, found here by id."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from resstream.claim import Claim
from resstream.errors import ClaimError


def claims_of(module: ModuleType) -> list[Claim]:
    """The claims at the top level of a module, in the order in which they stand there."""
    return [value for value in vars(module).values() if isinstance(value, Claim)]


@cache
def library() -> Mapping[str, Claim]:
    """Every claim of the library by id, in a fixed order (modules by name, then as they stand in them)."""
    found: dict[str, Claim] = {}
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda entry: entry.name):
        for claim in claims_of(importlib.import_module(f"{__name__}.{entry.name}")):
            if claim.id in found:
                raise ClaimError(f"claim {claim.id}: stated twice, the second time in {entry.name}")
            found[claim.id] = claim
    return found


def lookup(identifier: str) -> Claim:
    """The claim of that id; an unknown id raises ClaimError with the nearest ones."""
    claims = library()
    if identifier in claims:
        return claims[identifier]
    near = difflib.get_close_matches(identifier, claims, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "see `resstream list`"
    raise ClaimError(f"unknown claim {identifier!r}: {hint}")


def matching(patterns: list[str]) -> list[Claim]:
    """The claims whose id equals or matches one of the patterns (`contraction.*`; a bare group name takes the group).

    No patterns mean all claims; a pattern that matches none raises ClaimError.
    """
    claims = library()
    chosen: dict[str, Claim] = {} if patterns else dict(claims)
    for pattern in patterns:
        hits = [name for name in claims if fnmatch.fnmatchcase(name, pattern) or name.startswith(pattern + ".")]
        if not hits:
            lookup(pattern)  # raises, with the nearest ids
        chosen |= {name: claims[name] for name in hits}
    return [claim for name, claim in claims.items() if name in chosen]
