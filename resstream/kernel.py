"""Rocq's kernel: whether it accepts a file, and on which axioms the theorems of that file rest."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from resstream.errors import ResstreamError

INSTALL = "apt-get update && apt-get install -y --no-install-recommends coq libcoq-interval"

REAL_AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
"""By these four the standard library has the real numbers and their analysis."""

_ANSWER = re.compile(r"^(Axioms:|Closed under the global context)", re.MULTILINE)
_AXIOM = re.compile(r"^(?!Axioms:|Closed under)([A-Za-z_][\w.']*)", re.MULTILINE)


class NoKernel(ResstreamError):
    """The program `coqc` was not found."""


@dataclass(frozen=True)
class Checked:
    """What the kernel said of one file.

    theorems counts those whose assumptions the file prints; axioms are the axioms they rest on, all together.
    """

    compiled: bool
    theorems: int
    axioms: frozenset[str]
    message: str
    seconds: float

    @property
    def accepted(self) -> bool:
        """It compiled, it states at least one theorem, and none rests on more than the real numbers."""
        return self.compiled and self.theorems > 0 and self.axioms <= REAL_AXIOMS


def found() -> bool:
    """Whether `coqc` is on the path."""
    return shutil.which("coqc") is not None


def check(text: str, seconds: float = 120.0) -> Checked:
    """Have `coqc` check the text of one .v file that prints its theorems' assumptions, in at most `seconds`.

    A file that does not compile, or not in time, is not accepted. NoKernel where `coqc` is not installed.
    """
    program = shutil.which("coqc")
    if program is None:
        raise NoKernel(f"coqc: not found; {INSTALL} brings it on Debian")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "certificate.v")
        path.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                [program, "-q", path.name], cwd=directory, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return Checked(False, 0, frozenset(), f"not checked in {seconds:g} seconds", time.perf_counter() - start)
    taken = time.perf_counter() - start
    if done.returncode != 0:
        return Checked(False, 0, frozenset(), done.stderr.strip(), taken)
    theorems, axioms = assumptions(done.stdout)
    return Checked(True, theorems, axioms, done.stderr.strip(), taken)


def assumptions(output: str) -> tuple[int, frozenset[str]]:
    """From what `Print Assumptions` printed: how many answers there are, and every axiom that they name.

    What tactics print before the first answer is no axiom; what is printed after it counts as one.
    """
    first = _ANSWER.search(output)
    return len(_ANSWER.findall(output)), frozenset(_AXIOM.findall(output[first.start() :] if first else ""))
