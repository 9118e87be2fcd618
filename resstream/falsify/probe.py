"""Sizes far beyond those that a claim is searched at, tried with a small budget each: some claims fail only there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resstream.claim import Claim
from resstream.errors import ClaimError
from resstream.falsify.run import falsify
from resstream.falsify.variants import sized
from resstream.falsify.verdict import Verdict

SIZES = (8, 12, 16, 24, 32, 64)
"""The sizes that are tried where they lie beyond a claim's own."""

BUDGET = 2048
"""Evaluations at each."""

SECONDS = 5.0
"""Seconds at each."""


@dataclass(frozen=True)
class Probe:
    """What a search at some larger sizes found; the others stay in their ranges.

    stated: whether the claim itself speaks of these sizes, as it states no range for them.
    """

    sizes: dict[str, int]
    stated: bool
    verdict: Verdict

    @property
    def place(self) -> str:
        """The sizes in words."""
        return ", ".join(f"{name} = {size}" for name, size in self.sizes.items())


def larger(claim: Claim, sizes: tuple[int, ...] = SIZES) -> Iterator[dict[str, int]]:
    """The larger sizes of a claim, small ones first: one name at a time, then all together."""
    tops = {name: max(values) for name, values in claim.size_ranges().items()}
    for size in sizes:
        beyond = [name for name, top in tops.items() if size > top]
        yield from ({name: size} for name in beyond)
        if len(beyond) > 1:
            yield dict.fromkeys(beyond, size)


def probe(
    claim: Claim,
    seed: int = 0,
    budget: int = BUDGET,
    seconds: float = SECONDS,
    sizes: tuple[int, ...] = SIZES,
) -> Iterator[Probe]:
    """A short search at each larger size, up to the first that refutes; those without an instance are left out."""
    for chosen in larger(claim, sizes):
        try:
            there = sized(claim, chosen)
        except ClaimError:  # a domain is empty there, or an instance is too large
            continue
        verdict = falsify(there, budget, seed, seconds=seconds)
        yield Probe(chosen, not set(chosen) & set(claim.sizes), verdict)
        if verdict.counterexample is not None:
            return


def said(probes: Sequence[Probe], claim: Claim) -> list[str]:
    """What the probes say, a line each: where the claim fails beyond its sizes, and what was tried."""
    lines = [
        f"{claim.id} fails at {one.place}, beyond the sizes {'searched' if one.stated else 'that it states'}"
        for one in probes
        if one.verdict.counterexample is not None
    ]
    tried = [one.place for one in probes if one.verdict.status == "survived"]
    rest = [
        f"{one.place} ({one.verdict.status})" for one in probes if one.verdict.status not in ("survived", "refuted")
    ]
    if tried:
        lines.append(f"no violation in a short search at {'; '.join(tried)}")
    if rest:
        lines.append(f"no answer at {'; '.join(rest)}")
    return lines or ["no larger sizes were tried"]


__all__ = ["SIZES", "Probe", "larger", "probe", "said"]
