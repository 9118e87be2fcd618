"""Judging a counterexample again from its file alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from resstream import claims
from resstream.claim import Claim
from resstream.errors import ClaimError
from resstream.falsify import counterexample
from resstream.falsify.counterexample import FORMAT, Counterexample, Exhibit
from resstream.falsify.recorded import judged, require_same
from resstream.falsify.variants import digest_of, load_claims, vary
from resstream.given import parse_json, read_text

LARGEST_FILE = 4_000_000
"""Bytes of a counterexample file."""


def replay(path: str | Path, claims_file: str | Path | None = None) -> Exhibit:
    """The instance of a file, judged anew: a `Counterexample` where it refutes, elsewhere an `Exhibit`.

    A claim of the library is looked up by its id, and so is one of a pack that is installed in the same version. A
    claim of a user's file is taken from `claims_file`, which is executed and must be the text that the counterexample
    was found with; a path inside it is never followed. Where the claim's code is not at hand, the terms that the file
    records are judged, as data: a `Recorded`, which says so. Where it is, its sides must be those recorded.
    Raises ClaimError where the file is missing, broken, not a counterexample, or does not fit its claim.
    """
    path = Path(path)
    data = parse_json(str(path), read_text("", path, LARGEST_FILE, ClaimError), ClaimError)
    if isinstance(data, dict) and "format" not in data and isinstance(data.get("counterexample"), dict):
        data = data["counterexample"]  # the whole output of --json
    try:
        claim = claim_of(data, claims_file)
    except _NotAtHand as reason:
        try:
            return judged(data)
        except ClaimError as failure:
            raise ClaimError(f"{reason} ({failure})") from None
    found = counterexample.from_json(data, claim)
    terms = data.get("terms")
    if isinstance(found, Counterexample) and terms is not None and "missing" not in terms:
        require_same(judged(data), found)
    return found


class _NotAtHand(ClaimError):
    """The code of the claim is not to be had, or is that of another version."""


def claim_of(data: Any, claims_file: str | Path | None = None) -> Claim:
    """The claim, with its changes, of the data of a counterexample; ClaimError where it cannot be had."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ClaimError(f"not a counterexample: expected an object whose format is {FORMAT!r}")
    if not isinstance(data.get("raw"), dict):
        raise ClaimError("not a counterexample: expected its raw numbers, an object named 'raw'")
    if not re.fullmatch(r"[a-z ]{0,40}", str(data.get("engine", ""))):
        raise ClaimError("not a counterexample: expected the name of an engine, in lower case letters")
    identifier, file = data.get("claim"), data.get("file")
    if not isinstance(identifier, str) or not isinstance(file, (str, type(None))):
        raise ClaimError("not a counterexample: expected the claim's id, and its file or null, as text")
    if data.get("named") is not True:
        if claims_file is not None:
            raise ClaimError(f"claim {identifier} was made of functions on the spot: {claims_file} does not state it")
        raise _NotAtHand(f"claim {identifier} was made of functions on the spot, so no file can name it")
    if file is None:
        if claims_file is not None:
            raise ClaimError(f"claim {identifier} is one of the library: --claims {claims_file} has no part in it")
        _require_pack(identifier, data.get("distribution"), data.get("version"))
        claim = claims.lookup(identifier)
    elif claims_file is None:
        raise _NotAtHand(f"claim {identifier} is stated in a file ({file}): name it with --claims, if you trust it")
    else:
        if not Path(claims_file).is_file():
            raise ClaimError(f"no file {str(claims_file)!r}, expected the Python file that states {identifier}")
        if digest_of(Path(claims_file)) != data.get("digest"):
            raise ClaimError(
                f"{claims_file} is not the text that the counterexample was found with (SHA-256 differs); without "
                "--claims the recorded terms are judged"
            )
        found = load_claims(claims_file)
        if identifier not in found:
            raise ClaimError(f"{claims_file} states no claim {identifier!r}, expected one of {', '.join(found)}")
        claim = found[identifier]
    return vary(claim, **_changes(data.get("changes", {})))


def _require_pack(identifier: str, distribution: Any, version: Any) -> None:
    """Refuse a claim of a pack that is not installed, or of another version: it may state something else there."""
    if not all(value is None or isinstance(value, str) for value in (distribution, version)):
        raise ClaimError(
            "not a counterexample: expected the distribution of the claim and its version, as text or null"
        )
    pack = claims.pack_of(identifier)
    there = (pack.distribution, pack.version) if pack else (None, None)
    if there != (distribution, version):
        found = f"{distribution} {version}" if distribution else "this package itself"
        now = f"{pack} is installed" if pack else "no pack that is installed has it"
        raise _NotAtHand(f"claim {identifier[:80]} was found false in {found[:80]}, and {now}")


def _changes(given: Any) -> dict[str, Any]:
    """The arguments of `vary`, refusing what is not text."""
    texts = {
        "lhs": str,
        "rhs": str,
        "conclusion": str,
        "assuming": list,
        "without": list,
        "over": dict,
        "sizes": dict,
        "where": str,
    }
    if not isinstance(given, dict) or not set(given) <= set(texts):
        raise ClaimError(f"changes: expected an object with some of {', '.join(texts)}")
    for name, value in given.items():
        entries = value.values() if isinstance(value, dict) else value
        if not isinstance(value, texts[name]) or not all(isinstance(entry, str) for entry in entries):
            raise ClaimError(f"changes: expected text for {name}, got {str(value)[:40]!r}")
    return given
