"""Modified claims as text, and where a claim came from: what a counterexample needs to be judged again from a file."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import inspect
import json
import re
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from resstream import claims
from resstream.claim import Batch, Claim, place_of, words_of
from resstream.domains import Domain
from resstream.errors import ArithmeticLimit, ClaimError, DomainError, ResstreamError
from resstream.falsify import expressions
from resstream.falsify.written_domains import parse_domain
from resstream.statistical import StatisticalClaim

Stated = Claim | StatisticalClaim
"""What may be named: claims that are searched for counterexamples, and those that are tested by draws."""

LARGEST_SIZE = 64
"""Sizes given as text may not go beyond this."""

LARGEST_RAW = 100_000
"""Raw entries that an instance of a claim with domains given as text may have."""


@dataclass(frozen=True)
class Changes:
    """What was changed of a claim, as text: new sides or another conclusion, hypotheses added and dropped, domains by
    variable, ranges by size, a relation between sizes.
    """

    lhs: str | None = None
    rhs: str | None = None
    conclusion: str | None = None
    assuming: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    over: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None

    def __bool__(self) -> bool:
        return bool(self.given())

    def given(self) -> dict[str, Any]:
        """The changes that were made, by name."""
        values = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
            for name, value in values.items()
            if value not in (None, (), {})
        }


@dataclass(frozen=True)
class Origin:
    """Where a claim can be had again: its id, the file that states it (None: the library), and what was changed.

    digest is the SHA-256 of the file's bytes, so that a counterexample is not judged against another text; so are the
    distribution and its version of a claim that is had from a pack.
    """

    id: str
    file: str | None = None
    digest: str | None = None
    distribution: str | None = None
    version: str | None = None
    changes: Changes = field(default_factory=Changes)


def origin_of(claim: Claim) -> Origin | None:
    """Where a claim can be had again, or None where nothing but the object knows what it says."""
    if isinstance(claim.origin, Origin):
        return claim.origin
    if claims.library().get(claim.id) is not claim:
        return None
    pack = claims.pack_of(claim.id)
    return Origin(claim.id, distribution=pack.distribution, version=pack.version) if pack else Origin(claim.id)


def distinct_name(claim: Claim) -> str:
    """A claim's id, followed by a digest of what was changed where that alone tells it from others of the id."""
    origin = origin_of(claim)
    if origin and origin.changes:
        stated = json.dumps(origin.changes.given(), sort_keys=True)
    elif origin is None and claim.id.endswith("+modified"):
        stated = statement(claim)
    else:
        return claim.id
    return f"{claim.id}-{hashlib.sha256(stated.encode()).hexdigest()[:8]}"


def statement(claim: Stated) -> str:
    """What a claim states, wherever and in which process it was made: two of one id and one statement are one claim."""
    if isinstance(claim, StatisticalClaim):
        laws = {name: list(map(str, claim.laws(name))) for name in claim.over}
        return repr([_stated(claim.conclusion), laws, dict(claim.sizes), claim.draws, claim.level])
    functions = [_stated(function) for function in (*claim.assuming, claim.conclusion)]
    stated = [functions, {name: str(domain) for name, domain in claim.over.items()}, dict(claim.sizes), claim.where]
    if (growth := claim.as_grows) is not None:
        given = {name: _stated(value) if callable(value) else value for name, value in growth.given().items()}
        stated.append([type(growth).__name__, growth.size, growth.bounds, given])
    return repr(stated)


def _stated(value: Any) -> Any:
    """What a function says, wherever and in which process it was made: its code, and what it refers to outside."""
    if isinstance(value, CodeType):
        return value.co_code.hex(), value.co_names, [_stated(constant) for constant in value.co_consts]
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, Claim):
        return value.id, statement(value)
    code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    if code is None:
        return getattr(value, "__name__", None) or repr(value)
    return _stated(code), [_stated(cell.cell_contents) for cell in value.__closure__ or ()]


def vary(
    claim: Claim,
    *,
    lhs: str | None = None,
    rhs: str | None = None,
    conclusion: str | None = None,
    assuming: Sequence[str] = (),
    without: Sequence[str] = (),
    over: Mapping[str, str] | None = None,
    sizes: Mapping[str, str] | None = None,
    where: str | None = None,
) -> Claim:
    """A modified claim, with the changes as text; no change gives the claim itself.

    lhs, rhs: expressions in the claim's variables, `lhs` and `rhs`. conclusion: a relation of the same, such as
    "implies(at_most(rhs, 1), at_most(lhs, 1))", or "limit(L, lhs)", as `expressions.concluding` has it. assuming:
    relations of the variables. without: names of hypotheses to drop. over: domains as "Causal(n)". sizes: inclusive
    ranges as "2:6" or "3". where: a relation between sizes, "n >= d + 1". Raises ExpressionError (with the place) or
    ClaimError.

    >>> half = vary(claims.lookup("contraction.diameter"), rhs="rhs / 2", sizes={"n": "2"})
    >>> half.id, half.size_ranges()["n"]
    ('contraction.diameter+modified', range(2, 3))
    """
    changes = Changes(lhs, rhs, conclusion, tuple(assuming), tuple(without), dict(over or {}), dict(sizes or {}), where)
    if not changes:
        return claim
    changed = {name: parse_domain(text) for name, text in changes.over.items()}
    ranges = {name: parse_range(name, text) for name, text in changes.sizes.items()}
    _require_declared(claim, changed, ranges)
    scope, sizes_of = expressions.scope_of(claim), {*claim.size_ranges(), *ranges}
    _require_small_sizes(claim, {name: max(values) for name, values in ranges.items()})
    varied = claim.replace(
        lhs=None if lhs is None else expressions.side(lhs, scope, "lhs", sizes_of),
        rhs=None if rhs is None else expressions.side(rhs, scope, "rhs", sizes_of),
        **({} if conclusion is None else expressions.concluding(claim, conclusion, sizes_of)),
        assuming=[expressions.relation(text, tuple(claim.over), "assuming", sizes_of) for text in changes.assuming],
        without=changes.without,
        over=changed,
        sizes=ranges,
        where=where,
        expect=claim.expect,
    ).require_sizes()
    if changes.over or changes.sizes:
        _require_small(varied)
    try:
        _try_out(varied)
    except ResstreamError:
        raise
    except Exception as failure:
        given = ", ".join(f"{name} {value}" for name, value in changes.given().items())
        raise ClaimError(f"claim {varied.id}: cannot be evaluated with {given}: {failure}") from failure
    origin = origin_of(claim)
    return dataclasses.replace(varied, origin=origin and dataclasses.replace(origin, changes=changes))


def sized(claim: Claim, sizes: Mapping[str, int]) -> Claim:
    """The claim at some sizes alone, others as they are; as `vary` makes it, and beside what was changed before."""
    origin = origin_of(claim)
    ranges = {name: range(size, size + 1) for name, size in sizes.items()}
    _require_small_sizes(claim, sizes)
    there = claim.replace(sizes=ranges, expect=claim.expect, id=claim.id).require_sizes()
    _require_small(there)
    if origin is None:
        return there
    texts = {**origin.changes.sizes, **{name: str(size) for name, size in sizes.items()}}
    changes = dataclasses.replace(origin.changes, sizes=texts)
    return dataclasses.replace(there, origin=dataclasses.replace(origin, changes=changes))


def _require_declared(claim: Claim, over: Mapping[str, Domain], sizes: Mapping[str, range]) -> None:
    """Refuse a size that neither the claim nor the range given for it declares: it is most often misspelt."""
    for name, domain in over.items():
        for size in sorted(domain.size_names() - set(claim.size_ranges()) - set(sizes)):
            known = ", ".join(claim.size_ranges()) or "none"
            raise ClaimError(
                f"over {name}={domain}: size {size!r} is none of the claim's ({known}): give its range with sizes, "
                f"{size}=1:6"
            )


def _try_out(claim: Claim) -> None:
    """Evaluate a modified claim once, at sizes that differ where they can, so that a wrong shape is met at once.

    A matrix of one row and one column would fit nearly everywhere.
    """
    ranges = claim.size_ranges()
    sizes = {name: values[min(k + 1, len(values) - 1)] for k, (name, values) in enumerate(ranges.items())}
    sizes, rng = claim.nearest_fit(sizes), np.random.default_rng(0)
    for choice in (0, -1):
        options = {name: values[choice] for name, values in claim.option_values().items()}
        arrays = {name: part.draw(rng, 8) for name, part in claim.parts(sizes, options).items()}
        with suppress(ArithmeticLimit, DomainError):  # the search will meet them, and judge
            claim.assess(Batch(sizes, options, arrays, 8))


def _require_small_sizes(claim: Claim, largest: Mapping[str, int]) -> None:
    for name, size in largest.items():
        if size > LARGEST_SIZE:
            raise ClaimError(f"claim {claim.id}: size {name} goes up to {size}, expected at most {LARGEST_SIZE}")


def _require_small(claim: Claim) -> None:
    largest = {name: max(values) for name, values in claim.size_ranges().items()}
    _require_small_sizes(claim, largest)
    for option in (0, -1):
        options = {name: values[option] for name, values in claim.option_values().items()}
        entries = sum(part.entries for part in claim.parts(largest, options).values())
        if entries > LARGEST_RAW:
            raise ClaimError(
                f"claim {claim.id}: its domains take {entries} raw numbers, expected at most {LARGEST_RAW}"
            )


# ---- ranges as text ---------------------------------------------------------


def parse_range(name: str, text: str) -> range:
    """An inclusive range of sizes from text: "2:6" is 2, 3, 4, 5, 6, and "3" is 3 alone."""
    found = re.fullmatch(r"\s*([0-9]{1,4})\s*(?::\s*([0-9]{1,4})\s*)?", text)
    if not found:
        raise ClaimError(f"sizes {name}={text}: expected a whole number or an inclusive range such as 2:6")
    low, high = int(found[1]), int(found[2] or found[1])
    if high < low:
        raise ClaimError(f"sizes {name}={text}: expected the smaller end first")
    return range(low, high + 1)


# ---- claims of a user's file ------------------------------------------------


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def with_origin(claim: Claim, path: Path) -> Claim:
    """The claim with the file that states it, by its path from here where it lies below."""
    here = Path.cwd()
    shown = path.resolve().relative_to(here) if path.resolve().is_relative_to(here) else path
    return dataclasses.replace(claim, origin=Origin(claim.id, shown.as_posix(), digest_of(path)))


def load_claims(path: str | Path) -> dict[str, Claim]:
    """The claims that a Python file states, by id. The file is executed: give only what you trust.

    It may import its siblings. Raises ClaimError where there is no such file, it cannot be imported, states no claim,
    or states two of one id.

    >>> import tempfile
    >>> text = "from resstream.claims import lookup; mine = lookup('contraction.diameter').replace(id='mine.one')"
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     file = Path(directory) / "claims_mine.py"
    ...     _ = file.write_text(text)
    ...     print(list(load_claims(file)))
    ['mine.one']
    """
    found = {name: claim for name, claim in _load(Path(path)).items() if isinstance(claim, Claim)}
    if not found:
        raise ClaimError(f"{path} states no claim at its top level")
    return found


def stated_anew(claim: Claim) -> Claim | None:
    """The claim from its file, executed anew, whose functions so remember no earlier call; None where that cannot be.

    What the file prints or warns of meanwhile is not shown again.
    """
    origin = origin_of(claim)
    if origin is None or origin.file is None:
        return None
    path, before = Path(origin.file), dict(sys.modules)
    try:
        if digest_of(path) != origin.digest:
            return None
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fresh = load_claims(path)[origin.id]
            fresh = vary(fresh, **origin.changes.given())
    except Exception:  # a test module that only pytest can import, say
        return None
    finally:
        sys.modules.update(before)  # what was made of the file's first reading finds its module again
    return dataclasses.replace(fresh, batched=claim.batched)


def _load(path: Path) -> dict[str, Stated]:
    """The claims of either kind that a file states, which is executed once."""
    if not path.is_file():
        raise ClaimError(f"no file {str(path)!r}, expected a Python file with claims at its top level")
    module = _module(path)
    found: dict[str, Stated] = {}
    stated: list[Stated] = [*own_claims(module), *own_statistical(module)]
    for claim in stated:
        if claim.id in found:
            first, second = (place_of(one.conclusion) for one in (found[claim.id], claim))
            raise ClaimError(f"{path} states two claims {claim.id!r}: {first}, and {second}")
        found[claim.id] = claim
    if not found:
        raise ClaimError(f"{path} states no claim at its top level")
    return {name: with_origin(claim, path) if isinstance(claim, Claim) else claim for name, claim in found.items()}


def own_statistical(module: ModuleType) -> list[StatisticalClaim]:
    """The statistical claims that a module states, each once, without those that it imports from the library."""
    library = claims.statistical()
    return [one for one in claims.stated_by(module, StatisticalClaim) if library.get(one.id) is not one]


def own_claims(module: ModuleType) -> list[Claim]:
    """The claims that a module states, each once: what it imports from the library stays the library's."""
    library = claims.library()
    return [claim for claim in claims.claims_of(module) if library.get(claim.id) is not claim]


def _module(path: Path) -> ModuleType:
    name = f"_resstream_claims_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ClaimError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of the file look their module up
    beside = str(path.resolve().parent)  # as for a script, and as under pytest
    sys.path.insert(0, beside)
    try:
        spec.loader.exec_module(module)
    except ResstreamError as failure:
        if str(path) in str(failure):
            raise
        raise type(failure)(f"{path}, line {_line(failure, path)}: {failure}") from failure
    except (Exception, SystemExit, GeneratorExit) as failure:
        what = f"{type(failure).__name__}: {words_of(failure)}"
        raise ClaimError(f"{path} cannot be imported: {what} (line {_line(failure, path)})") from failure
    finally:
        with suppress(ValueError):  # the file itself may have changed the path
            sys.path.remove(beside)
    return module


def _line(failure: BaseException, path: Path) -> int:
    """The line of a file that a failure came from."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(failure.__traceback__)]
    if isinstance(failure, SyntaxError):
        frames.append((failure.filename or "", failure.lineno))
    lines = [line for name, line in frames if Path(name).resolve() == path.resolve()]
    return (lines[-1] if lines else None) or 1


def find(identifier: str) -> Claim:
    """A claim of the library by id, or of a file: "claims_mine.py::my.claim", or the file alone if it states one.

    ClaimError for a statistical one, which `find_stated` finds.
    """
    found = find_stated(identifier)
    if not isinstance(found, Claim):
        raise ClaimError(f"{identifier} is a statistical claim, which is tested: see check, falsify and audit")
    return found


def find_stated(identifier: str) -> Stated:
    """The same, of either kind of claims."""
    file, _, wanted = identifier.partition("::")
    if not file.endswith(".py"):
        known = claims.statistical().get(identifier)
        return claims.lookup(identifier) if known is None else known
    found = _load(Path(file))
    if not wanted and len(found) == 1:
        return next(iter(found.values()))
    if wanted not in found:
        raise ClaimError(f"{file} states no claim {wanted!r}, expected {file}::ID with one of {', '.join(found)}")
    return found[wanted]


def targets(names: Sequence[str]) -> list[Claim]:
    """The claims that some names stand for: a Python file, FILE.py::ID, or ids and patterns of the library.

    No names mean the whole library. A Python file is executed. Raises ClaimError where a file cannot be imported,
    states no claim, or a name is unknown.
    """
    if not names:
        return claims.matching([])
    return [claim for name in names for claim in _chosen(name) if isinstance(claim, Claim)]


def stated_targets(names: Sequence[str]) -> list[Stated]:
    """The same of either kind of claims; statistical ones come last where the library is meant."""
    if not names:
        return [*claims.matching([]), *claims.statistical().values()]
    return [claim for name in names for claim in _chosen(name)]


def _chosen(name: str) -> list[Stated]:
    if name.endswith(".py"):
        return list(_load(Path(name)).values())
    if "::" in name:
        return [find_stated(name)]
    tested = claims.statistical()
    hits: list[Stated] = [tested[one] for one in claims.hits_of(name, tested)]
    searched = claims.hits_of(name, claims.library()) or not hits  # where nothing is hit, `matching` says what is near
    return [*(claims.matching([name]) if searched else []), *hits]
