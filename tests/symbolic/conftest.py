"""What the derivations share: one comparison, which proves that two arrays of expressions are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

from resstream.prove.algebra import vanishes


@pytest.fixture(scope="session")
def same() -> Callable[[Any, Any], bool]:
    """Whether two expressions, or arrays of one shape, are proved equal in every entry."""

    def same(left: Any, right: Any) -> bool:
        left, right = (np.asarray(side, dtype=object) for side in (left, right))
        assert left.shape == right.shape, f"shapes {left.shape} and {right.shape}"
        assert left.size > 0
        return all(vanishes(sp.sympify(a) - sp.sympify(b)) for a, b in zip(left.flat, right.flat, strict=True))

    return same


@pytest.fixture(scope="session")
def symbols() -> Callable[..., Any]:
    """An array of real symbols of a shape: symbols("x", 2, 3)."""

    def symbols(name: str, *shape: int, **assumptions: bool) -> Any:
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            label = name + "".join(str(i + 1) for i in index)
            out[index] = sp.Symbol(label, **(assumptions or {"real": True}))
        return out

    return symbols
