"""Every theorem of the library, stated once: one module a family, found here by id, beside those of claim packs."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import pkgutil
from collections.abc import Container, Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import TypeVar

from resstream import cards
from resstream.claim import STATED, Claim
from resstream.claims import packs
from resstream.claims.kernel import KERNEL_CHECKED
from resstream.errors import ClaimError
from resstream.statistical import StatisticalClaim

Kind = TypeVar("Kind", Claim, StatisticalClaim)


def claims_of(module: ModuleType) -> list[Claim]:
    """The claims that a module holds, each once, in the order in which they stand there.

    By a name, in a list, tuple, set or dictionary, in a class that it states, or under a name that is another's by now.

    >>> from resstream.claims import contraction
    >>> claims_of(contraction)[0].id
    'contraction.diameter'
    """
    return stated_by(module, Claim)


def stated_by(module: ModuleType, kind: type[Kind]) -> list[Kind]:
    """The same of one kind of claims: those of `Claim`, or the statistical ones.

    >>> from resstream.claims import random_model
    >>> stated_by(random_model, StatisticalClaim)[0].id
    'shell.wide_stream'
    """
    return list(_named(module, kind).values()) + unnamed(module, kind)


def _named(module: ModuleType, kind: type[Kind]) -> dict[int, Kind]:
    found: dict[int, Kind] = {}
    for name, value in vars(module).items():
        if name != STATED:
            found |= {id(claim): claim for claim in held(value, module.__name__, kind)}
    return found


def held(value: object, module: str, kind: type[Kind] = Claim) -> list[Kind]:  # type: ignore[assignment]
    """The claims that an attribute of a module is or holds: in a list, tuple, set, dictionary or class of its own.

    >>> from resstream.claims import contraction
    >>> [claim.id for claim in held([library()["contraction.diameter"]], contraction.__name__)]
    ['contraction.diameter']
    """
    if isinstance(value, kind):
        return [value]
    if isinstance(value, type):
        inside = vars(value).values() if value.__module__ == module else ()
    elif type(value) in (list, tuple, set, frozenset):
        inside = value  # type: ignore[assignment]
    else:
        inside = value.values() if type(value) is dict else ()
    return [claim for claim in inside if isinstance(claim, kind)]


def unnamed(module: ModuleType, kind: type[Kind] = Claim) -> list[Kind]:  # type: ignore[assignment]
    """The claims that a module states at its top or in its classes, and that no name leads to any more.

    >>> from resstream.claims import contraction
    >>> unnamed(contraction)
    []
    """
    named = _named(module, kind)
    return [
        claim
        for claim in vars(module).get(STATED, ())
        if isinstance(claim, kind)
        and id(claim) not in named
        and "<locals>" not in getattr(claim.conclusion, "__qualname__", "<locals>")
    ]


class Library(dict[str, Claim]):
    """Claims by id, which a notebook shows as a table.

    >>> isinstance(library(), Library), library()["contraction.diameter"].expect
    (True, 'holds')
    """

    def _repr_html_(self) -> str:
        return cards.library_html(self.values())

    def _repr_latex_(self) -> str:
        return cards.library_latex(self.values())


@cache
def own() -> Mapping[str, Claim]:
    """Every claim that this package states by id, in a fixed order (modules by name, then as they stand in them).

    >>> "contraction.diameter" in own()
    True
    """
    return _collected(Claim, Library())


@cache
def statistical() -> Mapping[str, StatisticalClaim]:
    """Every statistical claim that this package states, by id: a kind of its own, which no search goes through.

    >>> statistical()["paths.short_paths"].draws
    400
    """
    return _collected(StatisticalClaim, {}, own())


def _collected(kind: type[Kind], found: dict[str, Kind], taken: Container[str] = ()) -> dict[str, Kind]:
    """The claims of a kind that the modules here state, added to `found`; no id may be there already, or taken."""
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda entry: entry.name):
        for claim in stated_by(importlib.import_module(f"{__name__}.{entry.name}"), kind):
            if claim.id in found or claim.id in taken:
                raise ClaimError(f"claim {claim.id}: stated twice, the second time in {entry.name}")
            found[claim.id] = claim
    return found


@cache
def _of_packs() -> Mapping[str, tuple[Claim, packs.Pack]]:
    found: dict[str, tuple[Claim, packs.Pack]] = {}
    for pack, module in packs.offered():
        for claim in claims_of(module):
            known = own().get(claim.id), *found.get(claim.id, ())[:1]
            if any(claim is one for one in known):
                continue  # imported
            packs.require_namespaced(pack, claim)
            if any(known):
                raise ClaimError(f"pack {pack}: claim {claim.id}: stated twice")
            found[claim.id] = claim, pack
    return found


@cache
def library() -> Mapping[str, Claim]:
    """Every claim of this package by id, then those of the packs that are installed (see `resstream.claims.packs`).

    >>> len(library()) >= len(own()) > 300
    True
    """
    return Library({**own()} | {name: claim for name, (claim, _) in _of_packs().items()})


def pack_of(identifier: str) -> packs.Pack | None:
    """The pack that a claim of the library comes from; None for one of this package.

    >>> pack_of("contraction.diameter") is None
    True
    """
    return _of_packs()[identifier][1] if identifier in _of_packs() else None


def lookup(identifier: str) -> Claim:
    """The claim of that id; an unknown id raises ClaimError with the nearest ones.

    >>> lookup("contraction.diameter").expect, lookup("contraction.diameter_squared").expect
    ('holds', 'fails')
    """
    if identifier in own():  # a pack may ask for it while it is imported itself
        return own()[identifier]
    claims = library()
    if identifier in claims:
        return claims[identifier]
    if identifier in statistical():
        raise ClaimError(
            f"{identifier} is a statistical claim, which is tested and not searched: resstream.claims.statistical() "
            "has it, and check, falsify, audit, list and show take it"
        )
    near = difflib.get_close_matches(identifier, [*claims, *statistical()], n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "see `resstream list`"
    raise ClaimError(f"unknown claim {identifier!r}: {hint}")


def matching(patterns: list[str]) -> list[Claim]:
    """The claims whose id equals or matches one of the patterns (`contraction.*`; a bare group name takes the group).

    No patterns mean all claims; a pattern that matches none raises ClaimError.

    >>> [claim.id for claim in matching(["contraction.diameter*"])]
    ['contraction.diameter', 'contraction.diameter_squared']
    """
    claims = library()
    chosen: dict[str, Claim] = {} if patterns else dict(claims)
    for pattern in patterns:
        hits = hits_of(pattern, claims)
        if not hits:
            lookup(pattern)  # raises, with the nearest ids
        chosen |= {name: claims[name] for name in hits}
    return [claim for name, claim in claims.items() if name in chosen]


def hits_of(pattern: str, names: Iterable[str]) -> list[str]:
    """Those of some ids that equal or match a pattern, or are of the group that it names.

    >>> hits_of("shell", ["shell.wide_stream", "paths.short_paths"])
    ['shell.wide_stream']
    """
    return [name for name in names if fnmatch.fnmatchcase(name, pattern) or name.startswith(pattern + ".")]


def theorem_of(claim: Claim) -> str:
    """The theorem of `proofs/` that covers a claim of the library, and its file; empty for any other claim.

    >>> theorem_of(lookup("contraction.diameter"))
    'diameter_contracts in proofs/Contraction.v'
    """
    if claim.id not in KERNEL_CHECKED or own().get(claim.id) is not claim:
        return ""
    file, theorem = KERNEL_CHECKED[claim.id]
    return f"{theorem} in proofs/{file}.v"


def family(claim: Claim) -> str:
    """The family of a claim: the module that states it, in words.

    >>> family(lookup("contraction.diameter"))
    'contraction'
    """
    return claim.conclusion.__module__.rpartition(".")[2].replace("_", " ")


def as_markdown() -> str:
    """The claims of the library as a Markdown document, by family, each with its level: what `CLAIMS.md` holds.

    >>> as_markdown().splitlines()[0]
    '# Claims'
    """
    from resstream.claims.levels import level
    from resstream.claims.usage import exercises_reference

    claims = own().values()
    arithmetic = {claim.id for claim in claims if not exercises_reference(claim)}
    holding = sum(claim.expect == "holds" for claim in claims)
    lines = [
        "# Claims",
        "",
        f"{len(claims)} claims, generated by `resstream list --markdown`: {holding} hold, as far as is known, and",
        f"{len(claims) - holding} are false. {len(claims) - len(arithmetic)} exercise the reference implementation;",
        f"{len(arithmetic)} are pure arithmetic: they state something of numbers or matrices and call none of it",
        "(marked +). The level of a claim is the most that is known of it; [docs/trust.md](docs/trust.md) says what",
        "each word rests on:",
        "",
        "- *kernel-checked for all sizes*: a theorem of `proofs/` covers it, which Rocq's kernel checks in CI;",
        "- *derived for all sizes*: by SymPy, in `tests/symbolic`;",
        "- *kernel-checked at* sizes: proved there over all real numbers, and Rocq's kernel accepts a certificate;",
        "- *proved at* sizes: by Z3 or by algebra, over all real numbers (the largest places, of those tried);",
        "- *survived N*: a search met its hypotheses at N instances or more, and found no counterexample, which is no",
        "  proof: see what a pass does not mean in the README;",
        "- *evidence for the limit*, or *the rate*: certified values along doubling sizes look as the claim says, and",
        "  no instance refuted the bounds that it states beside it; that is no proof, and nothing survives by it;",
        "- *refuted, certified*: false as printed, or a tempting modification; it has a certified counterexample.",
        "",
        "What was *pinned* (one model, one number) stands in `tests/regressions`.",
        "[docs/sources.md](docs/sources.md) goes through the sources section by section.",
        "[The gallery](docs/gallery.md) (`resstream gallery DIR`) is this list as a site to look at: a page for each",
        "claim, with its counterexample drawn, its audit and its code.",
    ]
    families: dict[str, list[Claim]] = {}
    for claim in claims:
        families.setdefault(family(claim), []).append(claim)
    for name, chosen in families.items():
        lines += ["", f"## {name.capitalize()} ({len(chosen)})", ""]
        lines += ["| claim | level | statement | source |", "|---|---|---|---|"]
        for claim in chosen:
            mark = " +" if claim.id in arithmetic else ""
            lines.append(
                f"| `{claim.id}` | {_cell(level(claim))} | {_cell(claim.headline)}{mark} | {_cell(claim.source)} |"
            )
    tested = statistical().values()
    lines += [
        "",
        f"## Statistical claims ({len(tested)})",
        "",
        "Of random objects, and not counted above: bounds on probabilities and means. A test of draws refutes such a",
        "claim at the level that is stated, or does not; nothing of it is certified. [docs/trust.md](docs/trust.md)",
        "says what it rests on.",
        "",
        "| claim | level | statement | source |",
        "|---|---|---|---|",
    ]
    for one in tested:
        lines.append(f"| `{one.id}` | {level(one)} | {_cell(one.headline)} | {_cell(one.source)} |")
    lines += [
        "",
        f"## Kernel-checked for all sizes ({len(KERNEL_CHECKED)})",
        "",
        "Of the claims above, those that a theorem of `proofs/` covers, over the real numbers.",
        "",
        "| claim | theorem |",
        "|---|---|",
        *(f"| `{name}` | `{theorem}` in `proofs/{file}.v` |" for name, (file, theorem) in KERNEL_CHECKED.items()),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
