"""Modules that are called as the function of their own name: `resstream.claim(...)` is `resstream.claim.claim(...)`.

Python sets a module as an attribute of its package when it is imported, over whatever had the name; so the two are one.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that stands for the function of its own name."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(_function_of(self))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _function_of(self)(*arguments, **named)


def _function_of(module: ModuleType) -> Any:
    return vars(module)[module.__name__.rpartition(".")[2]]


def make_callable(name: str) -> None:
    """Let the module of that name be called; it must hold a function of its own last name by then."""
    sys.modules[name].__class__ = CallableModule
