"""An earlier revision of the package beside the one that is here, for scripts that time both in one run."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent


@contextmanager
def sources(revision: str) -> Iterator[Path]:
    """A folder with the package as it was at a revision (what git knows it by), for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision, "resstream"], cwd=ROOT, check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def environment(folder: Path) -> dict[str, str]:
    """The environment of a process that runs the package of a folder, on one core."""
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **single, "PYTHONPATH": str(folder)}
