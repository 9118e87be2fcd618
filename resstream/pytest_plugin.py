"""pytest plugin: a `Claim` at the top level of a `test_*.py` or `claims_*.py` is a test, named by the claim's id.

A claim expected to hold passes when a search with a budget of evaluations finds no counterexample; one expected to fail
passes when it is refuted. The report of a failure is the counterexample, not a traceback.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# This module is imported by every pytest run beside an installed resstream, so the rest of it is imported when needed.
if TYPE_CHECKING:
    from resstream.claim import Claim
    from resstream.falsify.verdict import Verdict

BUDGET = 20_000


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("resstream", "claims collected as tests")
    group.addoption("--claim-budget", type=int, default=BUDGET, help=f"evaluations for a claim (default {BUDGET})")
    group.addoption("--claim-seed", type=int, default=0, help="seed of the search (default 0)")
    group.addoption("--claim-save", metavar="DIR", help="write counterexamples into this directory")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--claim-budget") < 1:
        raise pytest.UsageError("--claim-budget: expected at least 1 evaluation")
    if config.getoption("--claim-seed") < 0:
        raise pytest.UsageError("--claim-seed: expected a whole number of at least 0")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if file_path.suffix != ".py" or not file_path.name.startswith("claims_"):
        return None
    patterns = parent.config.getini("python_files")
    if parent.session.isinitpath(file_path) or any(file_path.match(pattern) for pattern in patterns):
        return None  # pytest collects it anyway
    module: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
    return module


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[ClaimItem] | None:
    kind: Any = type(obj)
    if (kind.__module__, kind.__qualname__) != ("resstream.claim", "Claim") or not isinstance(collector, pytest.Module):
        return None
    claim: Any = obj
    values: Any = vars(collector.obj)
    named = [(key, value) for key, value in values.items() if type(value) is kind and value.id == claim.id]
    others = [key for key, value in named if value is not obj]
    if others:
        raise collector.CollectError(f"{collector.path}: two claims {claim.id!r}: {name} and {others[0]}")
    return [ClaimItem.from_parent(collector, name=claim.id, claim=claim)] if named[0][0] == name else []


class ClaimFailed(Exception):
    """A claim did not do what it says of itself."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"{verdict.claim.id}: {verdict.status}, expected it {verdict.claim.expect}")
        self.verdict = verdict


class ClaimItem(pytest.Item):
    """One claim, searched for a counterexample."""

    def __init__(self, *, claim: Claim, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.claim = claim

    def runtest(self) -> None:
        from resstream.falsify.memory import DIRECTORY
        from resstream.falsify.run import falsify
        from resstream.falsify.variants import origin_of, with_origin

        claim = self.claim if origin_of(self.claim) else with_origin(self.claim, self.path)
        option = self.config.getoption
        verdict = falsify(
            claim,
            option("--claim-budget"),
            option("--claim-seed"),
            memory=self.config.rootpath / DIRECTORY,
            save=option("--claim-save"),
        )
        if not verdict.as_expected:
            raise ClaimFailed(verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from resstream.errors import ResstreamError
        from resstream.falsify.report import verdict_text

        if isinstance(excinfo.value, ClaimFailed):
            verdict = excinfo.value.verdict
            shown = [str(verdict.counterexample)] if verdict.counterexample else []
            return "\n".join([str(excinfo.value), *shown, verdict_text(verdict)])
        if isinstance(excinfo.value, ResstreamError):
            return f"{self.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"claim {self.name}"
