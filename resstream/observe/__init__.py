"""Real models: what the theorems say of weights and activations that somebody trained.

The package is called as the function that it is named after: `resstream.observe(source)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from resstream.observe.members import given
from resstream.observe.observation import Observation, observe


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **named: Any) -> Observation:
        return observe(*arguments, **named)


sys.modules[__name__].__class__ = _Callable

__all__ = ["Observation", "given", "observe"]
