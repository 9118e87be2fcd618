"""The gallery: a static site of claims, each with its statement, verdict, counterexample, audit and code."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

import resstream
from resstream import claims
from resstream.arithmetic import to_float
from resstream.audit import Audit, audit
from resstream.audit.report.page import fragment
from resstream.cards import STYLE
from resstream.claim import Claim
from resstream.errors import NotExpressible, ResstreamError, Undecided
from resstream.falsify import falsify, formats
from resstream.falsify.counterexample import Counterexample
from resstream.falsify.formats import html, picture
from resstream.falsify.verdict import Verdict
from resstream.lab.break_it import STATEMENTS
from resstream.lab.page import ROOM, embedded, module, style, write_page
from resstream.typeset import conclusion, prose
from resstream.workers import Here, Run, Task, hired
from resstream.workers.forked import may_have_children

BUDGET = 20_000
"""Evaluations of a search, with and without an audit."""

SECONDS = 30.0
"""How long the audit of a claim may take."""

ROOMS = {
    "break": tuple(statement.id for statement in STATEMENTS),
    "norms": ("layernorm", "rmsnorm", "identity_path", "paths", "growth", "pre_ln", "post_ln"),
    "induction": ("circuits", "composition", "one_layer", "two_layer", "induction", "lens", "subspaces", "copying"),
    "cloud": ("contraction", "dobrushin", "skip", "softmax", "attention"),
}
"""The room of the laboratory that a claim, or its family, is opened in."""


@dataclass(frozen=True)
class Entry:
    """What the list says of one claim."""

    id: str
    family: str
    expect: str
    status: str
    statement: str
    source: str
    sharpness: str
    thumbnail: str


@dataclass(frozen=True)
class Made:
    """One claim of the gallery: its line in the list, its page, and its counterexample in every form, by file name."""

    entry: Entry
    page: str
    files: Mapping[str, str] = field(default_factory=dict)


Progress = Callable[[str], None]


def write_gallery(
    directory: str | Path,
    chosen: Sequence[Claim],
    *,
    audits: bool = True,
    seconds: float = SECONDS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = lambda _: None,
) -> int:
    """Write the site: index.html, claims/ID.html and lab.html; returns how many claims it holds.

    A directory that holds anything but an older gallery raises ResstreamError. Interrupted, it holds what was done.
    """
    root = _prepared(Path(directory))
    (root / "claims").mkdir()
    found: dict[str, Entry] = {}
    try:
        for made in _made([claim.id for claim in chosen], audits, seconds, seed, workers):
            for name, text in {f"{made.entry.id}.html": made.page, **made.files}.items():
                (root / "claims" / name).write_text(text, encoding="utf-8")
            found[made.entry.id] = made.entry
            progress(made.entry.id)
    finally:
        entries = [found[claim.id] for claim in chosen if claim.id in found]
        (root / "index.html").write_text(index_page(entries, len(chosen), seed), encoding="utf-8")
        write_page(root / "lab.html")
    return len(entries)


def _prepared(root: Path) -> Path:
    """The directory, emptied of an older gallery."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        others = sorted({path.name for path in root.iterdir()} - {"index.html", "lab.html", "claims"})
        if others:
            raise ResstreamError(f"{root}: expected a new directory or an older gallery, found {', '.join(others[:3])}")
        shutil.rmtree(root / "claims", ignore_errors=True)
    except OSError as failure:
        raise ResstreamError(f"{root}: cannot be written ({failure.strerror})") from None
    return root


def _made(identifiers: Sequence[str], audits: bool, seconds: float, seed: int, workers: int) -> Iterator[Made]:
    tasks = [Task(made_of, identifier, (audits, seconds, seed)) for identifier in identifiers]
    # An audit starts processes of its own, which forked workers may not.
    with _interpreters(workers) if workers > 1 and may_have_children() else nullcontext(Here()) as executor:
        run: Run[Made] = Run(tasks, hired(workers, executor))
        yield from (made for _, made in run.results())
        if run.notes:
            raise ResstreamError("; ".join(run.notes))


def _interpreters(workers: int) -> AbstractContextManager[Any]:
    from resstream.workers.fresh import interpreters  # where there is no `_multiprocessing` it cannot be imported

    return interpreters(workers)


def made_of(identifier: str, audits: bool, seconds: float, seed: int) -> Made:
    """One claim of the library, searched or audited, and its page."""
    claim = claims.lookup(identifier)
    if audits:
        audited: Audit | None = audit(claim, budget=BUDGET, seconds=seconds, seed=seed)
        verdict = audited.verdict if audited else None
    else:
        audited, verdict = None, falsify(claim, BUDGET, seed)
    sharpness = "; ".join(part.sharpness.status for part in audited.parts) if audited else ""
    counterexample = verdict.counterexample if verdict else None
    entry = Entry(
        id=claim.id,
        family=claim.id.partition(".")[0],
        expect=claim.expect,
        status=verdict.status if verdict else "unknown",
        statement=prose(claim.headline),
        source=prose(claim.source),
        sharpness=sharpness,
        thumbnail=thumbnail(counterexample) if counterexample else "",
    )
    files = forms_of(counterexample) if counterexample else {}
    return Made(entry, claim_page(claim, entry, verdict, audited, seed, files), files)


def forms_of(counterexample: Counterexample) -> dict[str, str]:
    """A counterexample in every form that it can be put in, but for that of the page, by the name of its file."""
    found = {}
    for name, form in formats.formats().items():
        if name == "html":
            continue
        with suppress(NotExpressible, Undecided):  # what terms have no words for
            found[f"{counterexample.claim.id}.{name}{form.suffix}"] = form.write(counterexample)
    return found


# ---- one claim --------------------------------------------------------------


def claim_page(
    claim: Claim, entry: Entry, verdict: Verdict | None, audited: Audit | None, seed: int, files: Iterable[str] = ()
) -> str:
    """The page of one claim; files are those beside it that hold its counterexample."""
    counterexample = verdict.counterexample if verdict else None
    paragraphs = "".join(f"<p>{escape(prose(' '.join(text.split())))}</p>" for text in claim.statement.split("\n\n"))
    formulas = "".join(formula.display() for formula in conclusion(claim.conclusion))
    assuming = "".join(f"<li>assuming {escape(f.__name__.replace('_', ' '))}</li>" for f in claim.assuming)
    domains = "".join(f"<li>{escape(f'{name} in {domain}')}</li>" for name, domain in claim.over.items())
    expected = "" if claim.expect == "holds" else " <span>expected to fail</span>"
    parts = [
        f'<div class="card"><p>{badge(entry.status)}{expected}</p><div class="statement">{paragraphs}</div>'
        + (
            f'<div class="formulas" tabindex="0" role="group" aria-label="the statement as a formula">{formulas}</div>'
            if formulas
            else ""
        )
        + f'<ul class="domains">{domains}{assuming}</ul><p class="note">{escape(prose(claim.source))}</p>'
        + f'<p><a class="open" href="{laboratory_link(claim, counterexample)}">Open in the laboratory</a></p></div>',
    ]
    if counterexample:
        body = html.counterexample_body(counterexample)
        links = ", ".join(f'<a href="{escape(quote(name))}">{escape(_form(claim, name))}</a>' for name in files)
        beside = f'<p class="note">The counterexample as a file: {links}.</p>' if links else ""
        parts.append(f'<h2>Counterexample</h2><div class="card rs">{body}{beside}</div>')
    if audited:
        parts.append(f'<h2>Audit</h2><div class="card">{fragment(audited, titled=False)}</div>')
    elif verdict:
        tally = verdict.tally
        if verdict.evidence:
            lines = escape("\n".join(verdict.evidence.lines()))
            parts.append(f'<div class="card"><pre tabindex="0">{lines}</pre></div>')
        parts.append(
            f'<div class="card"><p>{tally.accepted:,} instances met the hypotheses, {tally.judged:,} were judged '
            f"exactly, {tally.acquitted:,} float64 violations were acquitted.</p></div>"
        )
    code = escape("\n\n".join(claim.code()))
    parts.append(f'<h2>Code</h2><pre class="card" tabindex="0"><code>{code}</code></pre>')
    links = '<a href="../index.html">All claims</a>\n<a href="../lab.html">Laboratory</a>'
    return _page(claim.id, breakable(claim.id), links, f'<div class="room claim">{"".join(parts)}</div>', seed)


def breakable(identifier: str) -> str:
    """An id as HTML that a narrow column breaks between its words and not inside one."""
    return re.sub(r"(?<=[._])", "<wbr>", escape(identifier))


def _form(claim: Claim, file: str) -> str:
    """The form that a file of a counterexample is in."""
    return file.removeprefix(f"{claim.id}.").partition(".")[0].removesuffix("_test")


def badge(status: str) -> str:
    """A verdict as a coloured word."""
    return f'<span class="status {escape(status.split()[0])}">{escape(status)}</span>'


def laboratory_link(claim: Claim, counterexample: Counterexample | None) -> str:
    """Where the laboratory shows the claim: its counterexample where it can be dragged, else the room of its family."""
    family = claim.id.partition(".")[0]
    room = next((name for name, ids in ROOMS.items() if claim.id in ids or family in ids), "cloud")
    query = ""
    if room == "break":
        settings = {"claim": claim.id, **(_state_of(counterexample) if counterexample else {})}
        query = "?" + "&".join(f"{name}={quote(value, safe=',;')}" for name, value in settings.items())
    return f"../lab.html#{room}{query}"


def _state_of(counterexample: Counterexample) -> dict[str, str]:
    """The state of the room of false claims at a counterexample: raw weights, other matrices as they are built."""
    given: dict[str, str] = {}
    raw = counterexample.raw
    values = dict(counterexample.arrays())
    for name, value in values.items():
        shown = raw.arrays[name] if name in ("A", "B") else value
        if isinstance(shown, np.ndarray):
            given[name] = ";".join(",".join(f"{to_float(entry):.12g}" for entry in row) for row in np.atleast_2d(shown))
            given.setdefault(
                "n" if name in ("A", "B", "X", "S") else "d", str(len(shown) if name != "x" else len(shown.T))
            )
    for size in ("n", "d"):
        if size in raw.sizes:
            given[size] = str(raw.sizes[size])
    if raw.options.get("norm.kind"):
        given["norm"] = raw.options["norm.kind"]
    return given


def thumbnail(counterexample: Counterexample) -> str:
    """A small picture of a counterexample: its cloud if it has one, else its first matrix."""
    values = dict(counterexample.arrays())
    A, X = values.get("A"), values.get("X")
    if isinstance(A, np.ndarray) and isinstance(X, np.ndarray) and A.ndim == X.ndim == 2 and len(A.T) == len(X):
        before = picture.floats(X)
        return picture.cloud(before, picture.floats(A) @ before)
    first = next((value for value in values.values() if isinstance(value, np.ndarray) and value.ndim == 2), None)
    return "" if first is None else picture.heatmap("an instance", first[:4, :4])


# ---- the list ---------------------------------------------------------------


def index_page(entries: Sequence[Entry], wanted: int, seed: int) -> str:
    """The list of claims, with search and filters."""
    cards = "\n".join(_card(entry) for entry in entries)
    missing = f" Interrupted: {wanted - len(entries)} of {wanted} are missing." if wanted > len(entries) else ""
    refuted = sum(entry.status == "refuted" for entry in entries)
    lede = (
        f'<p class="lede">{len(entries)} claims about the transformer residual stream: {refuted} are refuted by a '
        f"certified counterexample, the others were searched for one.{missing}</p>"
    )
    main = f'{lede}<div id="filters"></div><p id="count" class="note" role="status"></p><ul class="claims">{cards}</ul>'
    data = [{name: value for name, value in asdict(entry).items() if name != "thumbnail"} for entry in entries]
    script = module(("dom", "fragment", "gallery")).replace("</script", "<\\/script")
    return _page(
        "Claims of the residual stream",
        "The gallery of claims",
        '<a href="index.html" aria-current="page">All claims</a>\n<a href="lab.html">Laboratory</a>',
        main,
        seed,
        embedded("gallery-data", data) + f'\n<script type="module">\n{script}\n</script>',
    )


def _card(entry: Entry) -> str:
    drawn = f'<div class="rs thumbnail" aria-hidden="true">{entry.thumbnail}</div>' if entry.thumbnail else ""
    return (
        f'<li class="card" data-id="{escape(entry.id)}"><div><h2><a href="claims/{escape(entry.id)}.html">'
        f"{breakable(entry.id)}</a></h2><p>{badge(entry.status)}</p><p>{escape(entry.statement)}</p>"
        f'<p class="note">{escape(entry.source)}</p></div>{drawn}</li>'
    )


def _page(title: str, heading: str, links: str, main: str, seed: int, script: str = "") -> str:
    values = {
        "title": escape(title),
        "heading": heading,
        "links": links,
        "main": main,
        "script": script,
        "style": style() + STYLE,
        "version": resstream.__version__,
        "seed": str(seed),
    }
    template = (ROOM / "gallery.html").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)
