"""Faults planted into functions that are already there: nothing is imported or collected again for a mutant.

Only the tests that ran the changed function when nothing was changed are run again, the quickest first. What runs when
a module is imported (a constant, a default, a body of a class) cannot be changed so, nor what the tests keep of the
time before. So a mutant that is noticed here is noticed, and one that is not is asked again, afresh, of all tests.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

Where = tuple[str, tuple[Any, ...]]


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _where(code: CodeType) -> Where:
    """Names a piece of code of one file: two lambdas of one line stand in different columns."""
    return code.co_qualname, tuple(code.co_positions())


def _itself(code: CodeType) -> tuple[Any, ...]:
    """What a piece of code does, without the functions that are made in it."""
    plain = [(type(c), c) for c in code.co_consts if not isinstance(c, CodeType)]
    return code.co_code, plain, code.co_names, code.co_varnames, code.co_freevars, len(_inner(code))


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    yield old, new
    for before, after in zip(_inner(old), _inner(new), strict=False):
        yield from _pairs(before, after)


def changed_code(original: CodeType, changed: CodeType) -> dict[Where, CodeType] | None:
    """The functions of a file whose code differs, by where they are; None where more than functions differs."""
    found: dict[Where, CodeType] = {}
    for old, new in _pairs(original, changed):
        if not old.co_flags & inspect.CO_OPTIMIZED:  # a module, or the body of a class
            if _itself(old) != _itself(new):
                return None
        elif old != new:
            found[_where(old)] = new
    return found


def functions_of(file: Path) -> list[FunctionType]:
    """The functions of a file that there are by now, those made in others included."""
    every = (thing for thing in gc.get_objects() if type(thing) is FunctionType)
    return [function for function in every if function.__code__.co_filename == str(file)]


def plant(functions: Sequence[FunctionType], changed: dict[Where, CodeType]) -> bool:
    """Change the code of those functions that differ; False where there is none, or one cannot be changed."""
    planted = False
    for function in functions:
        new = changed.get(_where(function.__code__))
        if new is not None:
            try:
                function.__code__ = new
            except ValueError:  # it refers to other names outside than before
                return False
            planted = True
    return planted


UNPLANTED = 99
"""The status of a mutant that cannot be planted so."""


class Planting:
    """A plugin of pytest that runs the tests collected once for every mutant, each time in a fork."""

    def __init__(
        self,
        file: Path,
        changes: Sequence[Callable[[], CodeType]],
        run_all: Callable[[Sequence[Callable[[], int]]], list[tuple[int, float]]],
        answers: Path,
        quick: float,
    ) -> None:
        self.file, self.changes, self.run_all, self.answers, self.quick = file, changes, run_all, answers, quick

    def pytest_runtestloop(self, session: Any) -> bool:
        """In place of pytest's own loop: first without a mutant, for which tests are quick, then with each."""
        seen = self.answers.with_suffix(".seen")
        ((status, _),) = self.run_all([lambda: _run(session.items, self.file, seen)])
        if status != 0:
            raise SystemExit(f"the tests of {self.file} do not pass as it is")
        runs: list[tuple[float, set[Where]]] = pickle.loads(seen.read_bytes())
        known = sorted(zip(runs, session.items, strict=True), key=lambda pair: pair[0][0])
        original = compile(self.file.read_text(), str(self.file), "exec")
        functions = functions_of(self.file)

        def task(change: Callable[[], CodeType]) -> Callable[[], int]:
            def work() -> int:
                changed = changed_code(original, change())
                if not changed or not plant(functions, changed):
                    return UNPLANTED
                asked = [item for (took, reached), item in known if took <= self.quick and reached & changed.keys()]
                return _run(asked, self.file)

            return work

        answers = self.run_all([task(change) for change in self.changes])
        self.answers.write_text(json.dumps([status for status, _ in answers]))
        return True


def _run(items: Sequence[Any], file: Path, seen: Path | None = None) -> int:
    """Run tests until one fails: 1, else 0; with the seconds that each took, and which functions of a file it ran."""
    from _pytest.runner import runtestprotocol

    runs = []
    for item, following in zip(items, [*items[1:], None], strict=False):  # there may be none
        start, reached = time.process_time(), {}
        if seen is not None:
            sys.settrace(_noting(str(file), reached))
        failed = any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
        sys.settrace(None)
        if failed:
            return 1
        runs.append((time.process_time() - start, {_where(code) for code in reached.values()}))
    if seen is not None:
        seen.write_bytes(pickle.dumps(runs))
    return 0


def _noting(file: str, reached: dict[int, CodeType]) -> Callable[..., None]:
    """A tracer that keeps the code of every function of a file that is called."""

    def trace(frame: Any, _event: str, _argument: Any) -> None:
        code = frame.f_code
        if code.co_filename == file:
            reached[id(code)] = code

    return trace


def in_a_fork(work: Callable[[], object]) -> int:
    """The status of a child that does the work: 0, or 1 where it raises."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
