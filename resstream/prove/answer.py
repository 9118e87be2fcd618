"""What came of an attempt to prove a claim at fixed sizes: the one type of answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from resstream.claim import Instance
from resstream.errors import Contradiction

PROVED, MODEL, UNDECIDED, INEXPRESSIBLE = "proved", "model", "not decided", "not expressible"

OUTCOMES = (PROVED, MODEL, UNDECIDED, INEXPRESSIBLE)


@dataclass(frozen=True)
class Answer:
    """What is known of a claim at fixed sizes, for some of its options.

    outcome: "proved" (no instance of these sizes and options violates it, and at each that meets the hypotheses both
    sides have a value), "model" (`model` may violate it: only `resstream.falsify.certify` can tell), "not decided" or
    "not expressible"; detail says why. method: "algebra" or "Z3". pieces and obligations: how many parts of the sets,
    and how many divisors, radicands and arguments of logarithms, a proof went through.
    """

    sizes: Mapping[str, int]
    outcome: str
    detail: str = ""
    method: str = "Z3"
    options: str = ""
    """The options in words; empty where it speaks of all of them."""
    covered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of every option that it speaks of; all of them where an option is not named."""
    pieces: int = 0
    obligations: int = 0
    seconds: float = 0.0
    model: Instance | None = None
    kernel: bool = False
    """Whether Rocq's kernel has accepted a certificate of this proof."""

    @property
    def proved(self) -> bool:
        """Whether it is a proof."""
        return self.outcome == PROVED

    def covers(self, raw: Instance) -> bool:
        """Whether it speaks of an instance of these sizes and options."""
        return dict(raw.sizes) == dict(self.sizes) and all(
            name not in raw.options or raw.options[name] in values for name, values in self.covered.items()
        )

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        place = "; ".join(part for part in (sizes, self.options) if part)
        reason = f" ({self.detail})" if self.detail else ""
        return f"{self.outcome}{reason} at {place}" if place else f"{self.outcome}{reason}"


def agree(answers: Iterable[Answer], certified: Iterable[Instance], claim: str) -> None:
    """Raise Contradiction where a certified counterexample lies at sizes and options that a proof covers."""
    instances = list(certified)
    for answer in answers:
        for raw in instances:
            if answer.proved and answer.covers(raw):
                raise Contradiction(
                    f"claim {claim} is {answer} by {answer.method}, and a certified counterexample lies there: "
                    f"this is a fault of resstream, please report it with the claim; raw arrays: {dict(raw.arrays)}"
                )


__all__ = ["INEXPRESSIBLE", "MODEL", "OUTCOMES", "PROVED", "UNDECIDED", "Answer", "agree"]
