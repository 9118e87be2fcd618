"""Norms on row vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes
from resstream.domains.invertible import Invertible
from resstream.reference.norms import Norm as NormValue


@dataclass(frozen=True)
class Norm(Domain):
    """A norm on row vectors of width d: l1, l2 or linf, as it stands or after an invertible change of basis.

    `kinds` limits the choice; `bases=False` leaves the changes of basis out.
    """

    size: Size
    kinds: tuple[str, ...] = ("linf", "l1", "l2")
    bases: bool = True

    def options(self) -> dict[str, tuple[str, ...]]:
        return {"kind": self.kinds, "basis": ("standard", "changed") if self.bases else ("standard",)}

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {} if options["basis"] == "standard" else Invertible(self.size).parts(sizes, options)

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        if options["basis"] == "standard":
            return NormValue(options["kind"])
        return NormValue(options["kind"], *Invertible(self.size).build_pair(raw))
