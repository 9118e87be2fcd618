"""Work in a process of its own: what it does to that process is a failure of the work, and nothing else."""

import os
import signal
import time

import pytest

from resstream.cli.apart import apart
from resstream.errors import ClaimError, ResstreamError


def test_an_answer_and_what_is_told_on_the_way():
    heard = []
    answer = apart(lambda tell: (tell(1), tell(2), 3)[-1], 30, told=heard.append)
    assert (answer.value, answer.failure, answer.interrupted, heard) == (3, "", False, [1, 2])


@pytest.mark.parametrize(
    ("work", "failure"),
    [
        (lambda _: time.sleep(60), "it did not end within 0.5 s"),
        (lambda _: os._exit(0), "its process ended without an answer (something called an exit)"),
        (lambda _: exit(0), "its process ended without an answer (something called an exit)"),
        (lambda _: os._exit(5), "its process ended without an answer (status 5)"),
        (lambda _: os.kill(os.getpid(), signal.SIGKILL), "its process ended without an answer (signal 9"),
    ],
    ids=["sleeps", "os._exit(0)", "sys.exit", "os._exit(5)", "crashes"],
)
def test_what_comes_to_no_end_is_a_failure_that_keeps_what_was_told(work, failure):
    answer = apart(lambda tell: (tell("so far"), work(tell))[-1], 0.5)
    assert answer.failure.startswith(failure)
    assert answer.value == "so far"


def test_an_error_of_ours_stays_one():
    def refuse(_):
        raise ClaimError("x: not so")

    with pytest.raises(ResstreamError, match="x: not so"):
        apart(refuse, 30)


def test_memory_has_a_limit():
    with pytest.raises(ResstreamError, match="more than 1 GB of memory would be needed"):
        apart(lambda _: bytearray(3 << 30), 30, memory=1 << 30)
