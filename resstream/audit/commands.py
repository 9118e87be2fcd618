"""What re-runs a finding on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from resstream.claim import Claim
from resstream.domains import Domain
from resstream.falsify.variants import origin_of


def falsify(
    claim: Claim,
    over: Mapping[str, Domain] | None = None,
    sizes: Mapping[str, range] | None = None,
    without: Sequence[str] = (),
) -> str:
    """`resstream falsify` of a claim with these changes; empty where no name leads to the claim."""
    origin = origin_of(claim)
    if origin is None:
        return ""
    words = ["resstream", "falsify", f"{origin.file}::{origin.id}" if origin.file else origin.id]
    for name in without:
        words += ["--without", name]
    for name, domain in (over or {}).items():
        words += ["--over", f"{name}={domain}"]
    for name, values in (sizes or {}).items():
        words += ["--sizes", f"{name}={values[0]}" if len(values) == 1 else f"{name}={values[0]}:{values[-1]}"]
    return shlex.join(words)
