"""What is on record of every claim: where it was proved, what of that Rocq's kernel accepted, and what it survived.

`benchmarks/levels.py` runs the searches, the provers and the kernel, and writes the record; tests hold it to the code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from resstream.claim import Claim
from resstream.claims.kernel import KERNEL_CHECKED
from resstream.statistical import StatisticalClaim, level_text

RECORD = Path(__file__).with_name("levels.json")

DERIVED: Mapping[str, tuple[str, str]] = {
    "softmax.jacobian": ("test_softmax", "test_jacobian_for_every_number_of_classes"),
    "layernorm.jacobian": ("test_layer_norm", "test_jacobian_for_every_d"),
    "layernorm.jacobian_symmetric": ("test_layer_norm", "test_jacobian_for_every_d"),
    "layernorm.jacobian_with_gain": ("test_layer_norm", "test_jacobian_for_every_d"),
    "layernorm.kills_ones_and_input": ("test_layer_norm", "test_kernel_square_and_trace_for_every_d"),
    "paths.binomial_weights": ("test_schedule_and_counts", "test_path_weights_at_every_depth"),
    "noam.schedule": ("test_schedule_and_counts", "test_noam_is_continuous_and_largest_at_the_end_of_the_warm_up"),
    "counts.block": ("test_schedule_and_counts", "test_parameters_of_a_block"),
}
"""Claims that a derivation in `tests/symbolic` covers for all sizes: its file and its test."""

SHOWN = 2
"""How many places a level names."""


@dataclass(frozen=True)
class Proof:
    """Where a claim was proved: sizes, the options in words (empty for all), and by what.

    kernel is the digest of the certificate that Rocq's kernel accepted; empty where there is none.
    """

    sizes: Mapping[str, int]
    options: str
    method: str
    kernel: str = ""

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{sizes} ({self.options})" if sizes and self.options else sizes or self.options

    def lies_below(self, other: Proof) -> bool:
        """Whether the other one says the same at sizes that are at least as large, and not all the same."""
        return (
            self.sizes != other.sizes
            and self.options == other.options
            and all(size <= other.sizes[name] for name, size in self.sizes.items())
        )


@dataclass(frozen=True)
class Record:
    """survived: how many instances met the hypotheses in a search that found no counterexample, rounded down."""

    survived: int
    proofs: tuple[Proof, ...]

    @property
    def digests(self) -> frozenset[str]:
        """Of the certificates that the kernel accepted."""
        return frozenset(proof.kernel for proof in self.proofs if proof.kernel)


@cache
def records() -> Mapping[str, Record]:
    """The record of every claim that is expected to hold, by id."""
    data = json.loads(RECORD.read_text(encoding="utf-8"))
    return {
        name: Record(found["survived"], tuple(Proof(**proof) for proof in found["proofs"]))
        for name, found in data.items()
    }


def level(claim: Claim | StatisticalClaim) -> str:
    """What is known of a claim of the library, in words: the most that it has, and what it survived."""
    if isinstance(claim, StatisticalClaim):
        refuted = "refuted" if claim.expect == "fails" else "not refuted"
        return f"{refuted} at level {level_text(claim.level)}, {claim.draws:,} draws (statistical, not certified)"
    if claim.expect == "fails":
        return "refuted, certified"
    if claim.as_grows is not None:
        return f"evidence for the {claim.as_grows.name}"
    record = records().get(claim.id)
    if record is None:  # every claim is searched in CI
        return "survived"
    said = []
    if claim.id in KERNEL_CHECKED:
        said.append("kernel-checked for all sizes")
    else:
        if claim.id in DERIVED:
            said.append("derived for all sizes")
        checked = [proof for proof in record.proofs if proof.kernel]
        proved = [p for p in record.proofs if not p.kernel and not any(p.lies_below(other) for other in checked)]
        said += [f"{word}{_places(some)}" for word, some in (("kernel-checked", checked), ("proved", proved)) if some]
    if record.survived:
        said.append(f"survived {record.survived:,}")
    return "; ".join(said)


def _places(proofs: Sequence[Proof]) -> str:
    """The largest places, those with the fewest sizes of 1 first."""
    largest = [proof for proof in proofs if not any(proof.lies_below(other) for other in proofs)]
    largest.sort(key=lambda proof: (sum(s < 2 for s in proof.sizes.values()), -sum(proof.sizes.values())))
    texts = list(dict.fromkeys(str(proof) for proof in largest))
    if not texts[0]:
        return ""
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return f" at {' | '.join(texts[:SHOWN])}{more}"


__all__ = ["DERIVED", "RECORD", "Proof", "Record", "level", "records"]
