"""The settings of a training run: everything that decides its result, in one explicit object."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from resstream.errors import TrainingError


@dataclass(frozen=True)
class Settings:
    """Shape of the model, its initial weights, the task and the optimiser.

    `seed` moves the initial weights and the training data, which are separate streams of random numbers; `test_seed`
    moves the test data alone. Settings that cannot work raise TrainingError.
    """

    layers: int = 2
    heads: int = 2
    width: int = 32
    head_width: int = 16
    symbols: int = 256
    base: int = 10_000
    """Base of the rotary positions, applied after the biases."""

    embedding_deviation: float = 1.0
    weight_deviation: float = 0.1
    """Of the unembedding and every head's maps; biases start at zero."""

    length: int = 48
    """Input positions; the targets are the symbols one place on."""
    shortest_period: int = 6
    longest_period: int = 24

    steps: int = 1000
    batch: int = 32
    rate: float = 0.01
    momentum: float = 0.9
    square_momentum: float = 0.999
    epsilon: float = 1e-8

    test_sequences: int = 1000
    seed: int = 0
    test_seed: int = 0

    def __post_init__(self) -> None:
        for name, lowest in (
            ("layers", 0), ("heads", 1), ("width", 1), ("head_width", 2), ("symbols", 2), ("base", 2), ("length", 2),
            ("shortest_period", 1), ("longest_period", 1), ("steps", 0), ("batch", 1), ("test_sequences", 1),
            ("seed", 0), ("test_seed", 0),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise TrainingError(f"{name}: expected an integer of {lowest} or more, got {value!r}")
        for name in ("embedding_deviation", "weight_deviation", "rate", "epsilon"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise TrainingError(f"{name}: expected a positive number, got {value!r}")
        for name in ("momentum", "square_momentum"):
            if not 0 <= getattr(self, name) < 1:
                raise TrainingError(f"{name}: expected a number in [0, 1), got {getattr(self, name)!r}")
        if self.head_width % 2:
            raise TrainingError(
                f"head_width: rotary positions turn pairs, so expected an even width, got {self.head_width}"
            )
        if self.longest_period < self.shortest_period:
            raise TrainingError(
                f"longest_period: expected at least the shortest, {self.shortest_period}, got {self.longest_period}"
            )
        if self.longest_period >= self.length:
            raise TrainingError(
                f"longest_period: expected less than the length {self.length}, or nothing repeats within the inputs, "
                f"got {self.longest_period}"
            )

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Settings from plain values; unknown names raise TrainingError."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise TrainingError(f"settings: unknown names {', '.join(unknown)}")
        return cls(**values)
