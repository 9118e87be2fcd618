"""The pool of certified counterexamples: each is held against a cell, a kind or a restriction before that survives.

Whoever found one (the search, a cell of the map, a solver's model), it counts wherever its objects lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resstream.arithmetic import RATIONAL
from resstream.claim import Claim, Instance
from resstream.domains import Domain
from resstream.errors import ArithmeticLimit, ResstreamError
from resstream.falsify.certify import Certificate
from resstream.falsify.counterexample import Counterexample


@dataclass(frozen=True)
class Witness:
    """A certified counterexample, and the exact objects that it consists of (those that are rational)."""

    counterexample: Counterexample
    objects: Mapping[str, Any]

    @property
    def raw(self) -> Instance:
        """Its raw numbers, those of its own claim's domains."""
        return self.counterexample.raw

    def lies_in(self, name: str, domain: Domain) -> bool:
        """Whether the object of a variable is certainly in a domain."""
        own = self.counterexample.claim.over[name]
        if own == domain:
            return True
        if name not in self.objects:
            return False
        try:
            return domain.contains(self.objects[name], self.raw.sizes)
        except (ResstreamError, NotImplementedError, ArithmeticError):
            return False


@dataclass
class Witnesses:
    """All certified counterexamples of an audit; claims with fewer members than the audited one give theirs too."""

    found: list[Witness] = field(default_factory=list)

    def add(self, certificate: Certificate, seed: int = 0, engine: str = "") -> Witness:
        """Keep a certified counterexample."""
        counterexample = Counterexample.of(certificate, seed, engine)
        return self.keep(counterexample)

    def keep(self, counterexample: Counterexample) -> Witness:
        """Keep a counterexample, once."""
        for known in self.found:
            if known.counterexample.raw is counterexample.raw:
                return known
        witness = Witness(counterexample, _objects(counterexample.claim, counterexample.raw))
        self.found.append(witness)
        return witness

    def within(self, sizes: Mapping[str, range | tuple[int, ...]], over: Mapping[str, Domain]) -> Witness | None:
        """A counterexample with sizes in these ranges whose objects lie in these domains."""
        for witness in self.found:
            own = witness.raw.sizes
            at_sizes = all(own[name] in values for name, values in sizes.items() if name in own)
            if at_sizes and all(witness.lies_in(name, domain) for name, domain in over.items()):
                return witness
        return None


def _objects(claim: Claim, raw: Instance) -> dict[str, Any]:
    objects = {}
    with RATIONAL.working():
        for name in claim.over:
            try:
                objects[name] = claim.build_one(name, raw, RATIONAL)
            except (ArithmeticLimit, ArithmeticError, ResstreamError):
                continue
    return objects
