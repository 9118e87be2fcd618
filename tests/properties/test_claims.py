"""Every claim of the library does what it says: it holds on all that was tried, or is refuted with a certificate."""

import pytest

from resstream import claims
from resstream.falsify.search import search


@pytest.mark.parametrize("identifier", claims.library())
def test_claim_does_what_it_says(identifier, profile):
    claim = claims.lookup(identifier)
    verdict = search(claim, profile.chunks(), floor=profile.floor)
    assert verdict.as_expected, f"{identifier}: expected it {claim.expect}, {verdict.status}\n{verdict.tally}"
