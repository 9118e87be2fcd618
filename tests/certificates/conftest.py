"""Counterexamples to every refuted claim of the library, found once for all tests of this folder."""

from functools import cache

import pytest

from resstream import claims
from resstream.falsify import falsify

REFUTED = [claim for claim in claims.library().values() if claim.expect == "fails"]


@cache
def counterexample_to(claim_id):
    """The counterexample that a search with the default budget finds."""
    verdict = falsify(claims.lookup(claim_id))
    assert verdict.counterexample is not None, verdict
    return verdict.counterexample


@pytest.fixture
def counterexample():
    """A function that gives the counterexample to a claim."""
    return counterexample_to


def pytest_generate_tests(metafunc):
    if "refuted" in metafunc.fixturenames:
        metafunc.parametrize("refuted", [claim.id for claim in REFUTED])
