"""Work that travels: to loky's processes, to a cluster's, or to whatever has a `submit`; claims and files by value.

What a task is about is pickled once and sent with every task of it, so nobody needs the sender's files, and a process
that joins late needs nothing that was sent before. What pickles in the standard library names (a function of a claim
file, a lambda of a notebook) is carried by value, by cloudpickle. Before anything is unpacked, the versions of both
ends are compared: other versions may compute other numbers.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import queue
import sys
import threading
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from resstream.errors import ResstreamError
from resstream.workers.base import Lost, Task, Unreachable

COMPUTE = ("numpy", "scipy", "sympy", "python-flint", "hypothesis", "cloudpickle")
"""Distributions whose version may have a say in a number, or in what can be unpacked."""

PACKS = "resstream.claims"
"""The entry points of installed claims, which are had by their names at the far end."""

LOOK = 1.0
"""Seconds after which a wait looks whether there is still somebody to wait for."""

SUBJECTS = 64
"""Subjects that a process keeps unpacked."""

Versions = tuple[tuple[str, str], ...]


@cache
def versions() -> Versions:
    """What computes here, by name: Python, this package with a digest of its sources, packs, and what they stand on."""
    return (
        ("python", f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"),
        ("resstream", _sources()),
        *((name, _version_of(name)) for name in COMPUTE),
        *sorted({(entry.dist.name, entry.dist.version) for entry in entry_points(group=PACKS) if entry.dist}),
    )


def _sources() -> str:
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return f"{sys.modules['resstream'].__version__} ({digest.hexdigest()[:12]})"


def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def difference(theirs: Versions) -> str:
    """How other versions differ from those here, as text; nothing where they do not."""
    ours, other = dict(versions()), dict(theirs)
    return ", ".join(
        f"{name} {other.get(name, 'none')} (here: {ours.get(name, 'none')})"
        for name in dict.fromkeys([*ours, *other])
        if ours.get(name) != other.get(name)
    )


# ---- at the far end ---------------------------------------------------------

PROCESS = uuid4().hex
"""Tells this process from any other, of any machine."""

_subjects: dict[str, Any] = {}
_alone = threading.Lock()
"""Some of what exact arithmetic stands on is global to a process (FLINT's precision): one task at a time."""
_ended: set[str] = set()
"""Work of this very process that nobody waits for any more."""


def serve(theirs: Versions, work: str, digest: str, packed: bytes, arguments: bytes) -> bytes:
    """Do a task that was sent: (whether it returned, what it returned or raised), packed; or that versions differ."""
    if theirs != versions():
        return pickle.dumps(("differs", versions()))
    with _alone:
        if work in _ended:
            return b""
        if digest not in _subjects:
            while len(_subjects) >= SUBJECTS:
                del _subjects[next(iter(_subjects))]
            _subjects[digest] = pickle.loads(packed)
        function, subject = _subjects[digest]
        try:
            outcome = "value", function(subject, *pickle.loads(arguments))
        except Exception as failure:  # it is raised where the outcome is asked for
            outcome = "raised", failure
        try:
            return pickle.dumps(outcome) if outcome[0] == "value" else dumps(outcome)
        except Exception as failure:
            return pickle.dumps(("raised", ResstreamError(f"what came out cannot be sent: {failure}")))


# ---- at the near end --------------------------------------------------------


def dumps(value: Any) -> bytes:
    """A value, packed: functions and classes of files by value where cloudpickle is there, by name otherwise."""
    try:
        import cloudpickle
    except ModuleNotFoundError:
        return pickle.dumps(value)
    with _by_value(cloudpickle):
        packed: bytes = cloudpickle.dumps(value)
        return packed


@contextmanager
def _by_value(cloudpickle: Any) -> Iterator[None]:
    """Modules that another machine cannot import by their names, which travel as their contents."""
    theirs = cloudpickle.list_registry_pickle_by_value()
    own = {module.__name__: module for module in list(sys.modules.values()) if _is_own(module)}
    carried = [module for name, module in own.items() if name not in theirs]
    for module in carried:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in carried:
            cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: Any) -> bool:
    """Whether a module is a file of somebody's, and of no installed distribution (nor an extension, nor of Python)."""
    file = getattr(module, "__file__", None)
    if not (isinstance(module, ModuleType) and isinstance(file, str) and file.endswith(".py")):
        return False
    return sys.modules.get(module.__name__) is module and not file.startswith(_installed())


@cache
def _installed() -> tuple[str, ...]:
    """Folders of what is installed at the far end too: Python's own modules, distributions, this package."""
    import sysconfig

    places = {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places |= {place for place in sys.path if Path(place).name in ("site-packages", "dist-packages")}
    return tuple(place + os.sep for place in (*places, str(Path(__file__).parent.parent)))


class Carried:
    """Tasks for an executor: anything whose `submit(function, *arguments)` returns a future.

    Such a future has `add_done_callback`, `result` and, if it can be, `cancel`. Traffic is counted in bytes.
    """

    blames = False

    def __init__(self, executor: Any, slots: int) -> None:
        self.executor = executor
        self.slots = slots
        self.sent = self.received = 0
        self._packed: dict[int, tuple[Task, str, bytes]] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._work = uuid4().hex

    def expect(self, tasks: Iterable[Task]) -> None:
        """A subject travels with its tasks."""

    def submit(self, task: Task) -> Future[Any]:
        _, digest, packed = self._pack(task)
        arguments = pickle.dumps(task.arguments)
        for attempt in (1, 2):
            try:
                future: Future[Any] = self.executor.submit(serve, versions(), self._work, digest, packed, arguments)
                break
            except Exception as failure:
                if attempt == 2:
                    raise Unreachable(f"no worker can be given work: {_said(failure)}") from failure
        self.sent += len(packed) + len(arguments)
        future.add_done_callback(self._done.put)
        return future

    def _pack(self, task: Task) -> tuple[Task, str, bytes]:
        known = self._packed.get(id(task.subject))
        if known is None or known[0].function is not task.function:
            try:
                packed = dumps((task.function, task.subject))
            except Exception as failure:
                what = getattr(task.subject, "id", None) or type(task.subject).__name__
                raise ResstreamError(f"{what} cannot be sent to another process: {_said(failure)}") from failure
            known = task, hashlib.sha256(packed).hexdigest(), packed
            self._packed[id(task.subject)] = known  # with its task, so that the identity stays its own
        return known

    def wait(self, futures: Collection[Future[Any]], seconds: float | None) -> list[Future[Any]]:
        done: list[Future[Any]] = []
        with suppress(queue.Empty):
            done.append(self._done.get(timeout=LOOK if seconds is None else min(seconds, LOOK)))
            while True:
                done.append(self._done.get_nowait())
        return [future for future in done if future in futures]

    def result(self, future: Future[Any]) -> Any:
        try:
            answer: bytes = future.result()
            kind, value = pickle.loads(answer)
        except KeyboardInterrupt:
            raise
        except BaseException as failure:  # CancelledError among them
            # Dask has tried it on several workers, all of which died.
            raise Lost(f"was lost: {_said(failure)}", again=type(failure).__name__ != "KilledWorker") from failure
        self.received += len(answer)
        if kind == "differs":
            raise ResstreamError(f"a worker computes with other versions than here: {difference(value)}")
        if kind == "raised":
            raise value
        return value

    def drop(self, future: Future[Any]) -> None:
        with suppress(Exception):
            future.cancel()

    def close(self, at_once: bool) -> None:
        del at_once  # the executor is its owner's; here no task of ours must go on, since it would disturb exact work
        _ended.add(self._work)
        with _alone:
            pass


def _said(failure: BaseException) -> str:
    """One line of what a failure says."""
    lines = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {lines[0]}" if lines else type(failure).__name__


__all__ = ["Carried", "Versions", "difference", "dumps", "serve", "versions"]
