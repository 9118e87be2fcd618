"""Numbers: real, whole, and the number that a size stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resstream.arithmetic import constant, maximum, minimum, zeros
from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of


@dataclass(frozen=True)
class Scalar(Domain):
    """A number (..., 1, 1) from low to high (None: no end); a raw number beyond an end stands for the end."""

    low: int | None = None
    high: int | None = None

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {"": Part((1, 1))}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        x = raw[""]
        if self.low is not None:
            x = maximum(x, zeros((1, 1), x) + constant(self.low, x))
        if self.high is not None:
            x = minimum(x, zeros((1, 1), x) + constant(self.high, x))
        return x

    def wider(self) -> Domain | None:
        return None if self.low is None and self.high is None else Scalar()


@dataclass(frozen=True)
class Whole(Domain):
    """Whole numbers (..., rows, columns) from low to high, as entries of the number system."""

    low: int
    high: int
    rows: Size = 1
    columns: Size = 1

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        shape = (size_of(self.rows, sizes), size_of(self.columns, sizes))
        return {"": Part(shape, "whole", self.low, self.high)}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return raw[""]


@dataclass(frozen=True)
class Count(Domain):
    """The number that a size stands for, as a Python int (the same for a whole batch): how many layers, say."""

    size: Size

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        return {}

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        return size_of(self.size, sizes)
