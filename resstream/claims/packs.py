"""Claim packs: installed distributions that offer claims by the entry-point group `resstream.claims`.

An entry point names a namespace and a module (or a package, all of whose modules are looked into). Every claim of the
pack has an id that begins with the namespace, so that no two packs can meet.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from resstream.claim import Claim
from resstream.errors import ClaimError

GROUP = "resstream.claims"


@dataclass(frozen=True)
class Pack:
    """Where a claim of an installed distribution comes from."""

    namespace: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


def offered() -> Iterator[tuple[Pack, ModuleType]]:
    """The modules of every pack installed, in the order of their namespaces; ClaimError where one cannot be imported.

    Two distributions that offer one namespace are an error too.
    """
    taken: dict[str, Pack] = {}
    for entry in sorted(set(entry_points(group=GROUP)), key=lambda entry: (entry.name, entry.value)):
        pack = Pack(entry.name, entry.dist.name if entry.dist else "?", entry.dist.version if entry.dist else "?")
        if not entry.name.isidentifier():
            raise ClaimError(
                f"pack {pack}: its namespace is {entry.name!r}, expected a name such as of a Python module"
            )
        if taken.setdefault(entry.name, pack) != pack:
            raise ClaimError(f"packs {taken[entry.name]} and {pack} both offer the namespace {entry.name!r}")
        for module in _modules(pack, entry):
            yield pack, module


def _modules(pack: Pack, entry: EntryPoint) -> Iterator[ModuleType]:
    try:
        module = importlib.import_module(entry.value)
        if getattr(module.__spec__, "_initializing", False):
            raise ClaimError("it asks for the claims of packs while it is imported itself")
        yield module
        for inner in sorted(pkgutil.iter_modules(getattr(module, "__path__", ())), key=lambda inner: inner.name):
            yield importlib.import_module(f"{module.__name__}.{inner.name}")
    except Exception as failure:  # whatever a distribution's own code raises
        what = f"{type(failure).__name__}: {failure}"
        raise ClaimError(f"pack {pack} cannot be imported: {what} (uninstall it, or mend it)") from failure


def require_namespaced(pack: Pack, claim: Claim) -> None:
    """Refuse a claim of a pack whose id does not begin with the pack's namespace."""
    if not claim.id.startswith(f"{pack.namespace}."):
        raise ClaimError(f"pack {pack}: claim {claim.id!r}: expected an id that begins with {pack.namespace + '.'!r}")
