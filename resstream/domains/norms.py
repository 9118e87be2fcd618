"""Norms on row vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resstream.arithmetic import Array, absolute, where
from resstream.arithmetic.unknowns import Unknowns
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of
from resstream.domains.invertible import are_inverse
from resstream.domains.pieces import Piece, triangular, with_inverse
from resstream.domains.triangular import diagonal_of, triangular_pair
from resstream.errors import DomainError
from resstream.reference.norms import KINDS
from resstream.reference.norms import Norm as NormValue


@dataclass(frozen=True)
class Norm(Domain):
    """Norms of row vectors of width d: x -> ||x B||, in l1, l2 or linf, with any invertible B.

    `kinds` limits the choice; `bases=False` leaves the changes of basis out. B is unit lower times upper triangular,
    with a positive diagonal (a raw zero there stands for 1): all such norms are met, as permuting the columns of B, and
    changing their signs, changes none of the three.

    >>> Norm("d", kinds=("l1", "l2")).options()
    {'kind': ('l1', 'l2'), 'basis': ('standard', 'changed')}
    """

    size: Size
    kinds: tuple[str, ...] = ("linf", "l1", "l2")
    bases: bool = True

    def __post_init__(self) -> None:
        kinds = tuple(self.kinds) if isinstance(self.kinds, (tuple, list)) else ()
        if not kinds or any(kind not in KINDS for kind in kinds) or len(set(kinds)) < len(kinds):
            known = ", ".join(KINDS)
            raise DomainError(f"Norm: kinds: expected a tuple of some of {known}, each once, got {self.kinds!r:.40}")
        object.__setattr__(self, "kinds", kinds)
        super().__post_init__()

    def options(self) -> dict[str, tuple[str, ...]]:
        return {"kind": self.kinds, "basis": ("standard", "changed") if self.bases else ("standard",)}

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        d = size_of(self.size, sizes)
        return {} if options["basis"] == "standard" else {"lower": Part((d, d)), "upper": Part((d, d))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        if options["basis"] == "standard":
            return NormValue(options["kind"])
        diagonal = absolute(diagonal_of(raw["upper"]))
        scales = where(diagonal == 0, 1, diagonal)
        basis, inverse = triangular_pair(raw["lower"], raw["upper"], scales)
        return NormValue(options["kind"], basis, inverse)

    def piece(self, unknowns: Unknowns, sizes: Sizes, options: Options) -> Piece:
        if options["basis"] == "standard":
            return Piece(NormValue(options["kind"]), {})
        d = size_of(self.size, sizes)
        if d == 1:  # every norm is a positive multiple of the absolute value
            scale = unknowns.positive((1, 1))
            return Piece(NormValue("linf", scale, 1 / scale), {"lower": 0 * scale, "upper": scale})
        basis, inverse = with_inverse(unknowns, d)
        return Piece(NormValue(options["kind"], basis, inverse), lambda value: _raw_of(value(basis)))

    def contains(self, value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, NormValue) or value.kind not in self.kinds:
            return False
        if value.basis is None or value.inverse is None:
            return value.basis is None and value.inverse is None
        return self.bases and are_inverse(value.basis, value.inverse, size_of(self.size, sizes))


def _raw_of(basis: Array) -> Parts:
    """The raw arrays of the same norm as that of an invertible matrix of rational numbers: its columns in an order."""
    turned = triangular(basis.mT)
    columns = basis[:, [int(place) for place in turned["order"][0]]]
    # With its columns in this order the matrix needs no exchange of rows. (Signs of columns do not matter.)
    return {name: values for name, values in triangular(columns).items() if name != "order"}
