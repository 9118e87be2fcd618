"""Theorems of an exercise that needed contortions, in plain forms: how many can be stated so, and what is found."""

import importlib.util
from pathlib import Path

import pytest

from resstream.claims import claims_of
from resstream.falsify import falsify

FILE = Path(__file__).parents[2] / "examples" / "claims_plain.py"
_spec = importlib.util.spec_from_file_location("claims_plain", FILE)
plain = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(plain)
CLAIMS = {claim.id.removeprefix("plain."): claim for claim in claims_of(plain)}

SLOW = {"a08", "c09", "f13"}
"""Claims whose sides are equal singular values, or nearly: judging them takes minutes."""

OPEN = {"a04"}
"""Claims on ranks of irrational matrices, which enclosures do not tell."""

BY_ONE_CALL = {"c09", "c10", "c11", "c12", "c13"}
"""Claims that `lipschitz` makes, whose code is its own."""

BUDGETS = {"holds": 300, "fails": 20_000}
RARE = {"a10": 1_000, "c17": 1_000, "f10": 4_000}
"""Evaluations of those of which few instances meet the hypotheses, or are small."""


def test_how_many_can_be_stated_plainly():
    assert len(CLAIMS) == 45
    assert set(plain.STILL) < set(plain.CONTORTED) < set(CLAIMS)
    assert (len(plain.CONTORTED), len(plain.STILL)) == (25, 3)
    for name, claim in CLAIMS.items():
        code = "\n".join(claim.code())
        assert "0 *" not in code, f"{name} makes a number of the claim's system by hand"
        assert ".shape" not in code or name in BY_ONE_CALL, f"{name} reads a size off an array"


@pytest.mark.parametrize("name", sorted(set(CLAIMS) - SLOW))
def test_what_is_known_of_each_is_found(name):
    claim = CLAIMS[name]
    verdict = falsify(claim, RARE.get(name, BUDGETS[claim.expect]), seed=1)
    if name in OPEN:
        assert verdict.status in ("undecided", "survived")
    else:
        assert verdict.as_expected, str(verdict)
