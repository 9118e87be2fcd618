"""An existing cluster: Dask's, by the address of its scheduler."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from resstream.errors import ResstreamError
from resstream.workers.base import Task, Unreachable
from resstream.workers.carried import Carried, difference, versions

ANSWER = 10.0
"""Seconds that a scheduler has for its first answer."""


@contextmanager
def connected(address: str) -> Iterator[Dask]:
    """The workers of a Dask cluster, by the address of its scheduler ("tcp://host:8786").

    Raises ResstreamError where Dask is not installed, nobody answers, there are no workers, or one computes with other
    versions than those here.
    """
    if not re.fullmatch(r"(tcp|tls|ucx|wss?)://([^\s/:]+|\[[0-9a-f:]+\]):[0-9]{1,5}", address):
        raise ResstreamError(f"--on {address:.80}: expected the address of a Dask scheduler, such as tcp://host:8786")
    try:
        import distributed
    except ModuleNotFoundError:
        raise ResstreamError(f"--on {address}: needs Dask: pip install 'resstream[cluster]'") from None
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)  # of a scheduler that went away it says a page, where a line of ours says it
    try:
        client = distributed.Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError) as failure:
        raise ResstreamError(
            f"--on {address}: no Dask scheduler answers there ({type(failure).__name__}: {failure})"
        ) from None
    try:
        yield Dask.of(client)
    finally:
        client.close(timeout=ANSWER)
        log.setLevel(before)


class Dask(Carried):
    """The workers of a Dask client, twice as many tasks as they have threads, so that none waits for the network."""

    patience = ANSWER
    """Seconds for which a scheduler may be away."""

    def __init__(self, client: Any, slots: int) -> None:
        super().__init__(client.get_executor(pure=False), slots)
        self._client = client

    @classmethod
    def of(cls, client: Any) -> Dask:
        """Those of a client, after a look at their versions; ResstreamError where they will not do."""
        address = client.scheduler.address if client.scheduler else "?"
        try:
            found: dict[str, Any] = client.run(versions, on_error="return")
        except Exception as failure:
            raise ResstreamError(f"{address}: its workers do not answer: {failure}") from None
        if not found:
            raise ResstreamError(f"{address}: the scheduler has no workers")
        for worker, theirs in found.items():
            if isinstance(theirs, BaseException):
                raise ResstreamError(
                    f"{address}: worker {worker} cannot import resstream ({theirs}): install there what is here"
                )
            if other := difference(theirs):
                raise ResstreamError(f"{address}: worker {worker} has other versions than here: {other}")
        return cls(client, 2 * sum(client.nthreads().values()))

    def submit(self, task: Task) -> Future[Any]:
        end = time.monotonic() + self.patience
        while self._client.status != "running":  # a scheduler that was started again is found again
            if time.monotonic() > end or self._client.status == "closed":
                raise Unreachable("the scheduler went away")
            time.sleep(0.1)
        return super().submit(task)
