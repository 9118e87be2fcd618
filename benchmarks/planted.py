"""Faults planted into functions that are already there: nothing is imported or collected again for a mutant.

Only the tests that ran the changed function when nothing was changed are run again: first the quickest, and those that
noticed other faults of that function. What runs when a module is imported (a constant, a default, a body of a class)
cannot be changed so, nor what the tests keep of the time before. So a mutant that is noticed here is noticed, and one
that is not is asked again, afresh, of all tests.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import pickle
import sys
import time
from collections import Counter
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

UNTRIED = 0.1
"""Of the faults of a function, as if every test had noticed so many already."""


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
        ((status, _),) = self.run_all([lambda: _look(session.items, self.file, seen)])
        if status != 0:
            raise SystemExit(f"the tests of {self.file} do not pass as it is")
        runs: list[tuple[float, set[Where]]] = pickle.loads(seen.read_bytes())
        known = list(zip(runs, session.items, strict=True))
        original = compile(self.file.read_text(), str(self.file), "exec")
        functions = functions_of(self.file)
        noticed = self.answers.with_suffix(".noticed")  # a line for each fault: the function, and the test that noticed

        def task(change: Callable[[], CodeType]) -> Callable[[], int]:
            def work() -> int:
                changed = changed_code(original, change())
                if not changed or not plant(functions, changed):
                    return UNPLANTED
                places = {function for function, _ in changed}
                lines = noticed.read_text().splitlines() if noticed.exists() else []
                before = Counter(test for place, test in (line.split(" ", 1) for line in lines) if place in places)
                known.sort(key=lambda run: run[0][0] / (before[run[1].nodeid] + UNTRIED))
                asked = [item for (took, reached), item in known if took <= self.quick and reached & changed.keys()]
                failed = _first_to_fail(asked)
                if failed is None:
                    return 0
                with noticed.open("a") as found:
                    found.writelines(f"{place} {failed.nodeid}\n" for place in places)
                return 1

            return work

        answers = self.run_all([task(change) for change in self.changes])
        self.answers.write_text(json.dumps([status for status, _ in answers]))
        return True


def _first_to_fail(items: Sequence[Any], done: Callable[[], object] = lambda: None) -> Any:
    """Run tests until one fails, which is given back; None where none does. `done` is called after each that passes."""
    from _pytest.runner import runtestprotocol

    for item, following in zip(items, [*items[1:], None], strict=False):  # there may be none
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item
        done()
    return None


def _look(items: Sequence[Any], file: Path, seen: Path) -> int:
    """Run every test, for the seconds that each takes and the functions of a file that it runs: 1 where one fails."""
    runs: list[tuple[float, set[Where]]] = []
    reached: dict[int, CodeType] = {}
    start = time.process_time()

    def note() -> None:
        nonlocal start
        runs.append((time.process_time() - start, {_where(code) for code in reached.values()}))
        reached.clear()
        sys.settrace(trace)  # which a test may have ended
        start = time.process_time()

    trace = _noting(str(file), reached)
    sys.settrace(trace)
    failed = _first_to_fail(items, note)
    sys.settrace(None)
    if failed is not None:
        return 1
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
