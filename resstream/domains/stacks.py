"""Several objects of one domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.domains.base import Domain, Options, Part, Parts, Size, Sizes, size_of


@dataclass(frozen=True)
class Stack(Domain):
    """A list of objects of one domain, one for each layer (or head)."""

    length: Size
    inner: Domain

    def options(self) -> dict[str, tuple[str, ...]]:
        return self.inner.options()

    def parts(self, sizes: Sizes, options: Options) -> dict[str, Part]:
        length = size_of(self.length, sizes)
        return {
            name: Part((length, *part.shape), part.kind, part.low, part.high)
            for name, part in self.inner.parts(sizes, options).items()
        }

    def build(self, raw: Parts, options: Options, sizes: Sizes) -> Any:
        depth = {name: len(part.shape) for name, part in self.parts(sizes, options).items()}
        return [
            self.inner.build({name: np.take(raw[name], k, axis=-depth[name]) for name in raw}, options, sizes)
            for k in range(size_of(self.length, sizes))
        ]

    def wider(self) -> Domain | None:
        inner = self.inner.wider()
        return None if inner is None else Stack(self.length, inner)
