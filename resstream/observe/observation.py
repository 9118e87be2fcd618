"""A model looked at: every claim everywhere, head by head, the sums, the stream by depth, what predicts collapse."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from resstream import claims as library
from resstream.claim import Claim
from resstream.errors import ResstreamError
from resstream.falsify.variants import targets
from resstream.observe import certificates, collapse, sources
from resstream.observe.bind import Binding, NotApplicable, Site, bind
from resstream.observe.heads import HeadRow, head_rows
from resstream.observe.seen import Activations, Prompt
from resstream.observe.sources.request import PromptText, Request
from resstream.observe.table import Line, evaluate
from resstream.reference import diameter, relative_spread, row_norms
from resstream.reference.decomposition import six_sums
from resstream.workers import Run, Task, hired

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class SumRow:
    """One decomposition of one prompt: how many parts, how far the sum is from the whole."""

    prompt: int
    name: str
    parts: int
    constant: float
    """Largest entry of the constant term."""
    gap: float
    """Largest difference between the sum and the whole."""
    scale: float
    """Largest entry of any term, by which rounding is to be measured."""


@dataclass(frozen=True)
class DepthRow:
    """The stream at one depth of one prompt."""

    prompt: int
    depth: int
    diameter: float
    norm: float
    """Mean Euclidean norm of a row."""
    spread: float
    """Relative spread, in [0, 1]."""


@dataclass(frozen=True)
class Observation:
    """All that was found of one model.

    >>> found = observe("shipped:two_layers", claims=["contraction.diameter"], layers=[0], sample=2)
    >>> isinstance(found, Observation), found.name
    (True, 'two_layers')
    """

    name: str
    source: str
    layers: int
    heads: int
    causal: bool
    tokens: Sequence[int]
    """Number of tokens of each prompt."""
    notes: Mapping[str, float]
    lines: Sequence[Line]
    not_applicable: Mapping[str, str]
    """Why the other claims do not speak of the model."""
    head_rows: Sequence[HeadRow]
    sums: Sequence[SumRow]
    depths: Sequence[DepthRow]
    collapses: Sequence[collapse.Collapse] = field(repr=False)
    seed: int = 0
    seconds: float = 0.0
    sampled: int | None = None
    around: float | None = None

    @property
    def violated(self) -> list[str]:
        """Claims that are true, and whose violation here is certified: a fault of ours, or of the model's code."""
        return [line.id for line in self.lines if line.violated and line.expect == "holds"]

    def line(self, identifier: str) -> Line:
        """The line of one claim; a claim that does not apply raises ResstreamError with the reason."""
        for line in self.lines:
            if line.id == identifier:
                return line
        reason = self.not_applicable.get(identifier, "it was not asked for")
        raise ResstreamError(f"{identifier} is not in this observation: {reason}")

    def json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "model": self.name,
            "source": self.source,
            "layers": self.layers,
            "heads": self.heads,
            "causal": self.causal,
            "tokens": list(self.tokens),
            "differences": dict(self.notes),
            "claims": [line.json() for line in self.lines],
            "not applicable": dict(self.not_applicable),
            "by head": [row.json() for row in self.head_rows],
            "sums": [asdict(row) for row in self.sums],
            "stream": [asdict(row) for row in self.depths],
            "collapse": {
                "summary": collapse.summary(self.collapses),
                "chains": [asdict(one) for one in self.collapses],
            },
            "seed": self.seed,
            "seconds": self.seconds,
            "sampled": self.sampled,
            "around": self.around,
        }

    def __rich__(self) -> Any:
        from resstream.observe.screen import renderable

        return renderable(self)

    def _repr_html_(self) -> str:
        from resstream.observe.page import fragment

        return fragment(self)


def observe(
    source: Any,
    prompts: Sequence[PromptText] = (),
    *,
    claims: Sequence[str | Claim] = (),
    layers: Sequence[int] | None = None,
    sample: int | None = None,
    certify: int = 0,
    around: float | None = None,
    tokenizer: Any = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Observation:
    """Look at a model: every claim that speaks of it, at every layer, head, position and prompt.

    source: see `resstream.observe.sources`. prompts: texts or lists of token numbers, built-in ones by default. claims:
    ids, groups, patterns, FILE.py::ID (which is executed) or claims of one's own, by default all of the library that
    are expected to hold. layers: these alone. sample: at most so many places of each claim, drawn by the seed. certify:
    judge the tightest so many places of each claim in exact arithmetic; a place that floats find violated is judged in
    any case. around: look at perturbations of every object too, by up to so much an entry. Raises ResstreamError for
    bad arguments.

    >>> found = observe("shipped:two_layers", claims=["contraction.diameter"], layers=[0], sample=2)
    >>> found.layers, found.heads, found.causal
    (2, 2, True)
    """
    start = time.monotonic()
    told: Progress = progress or (lambda _what, _share: None)
    for name, value, least in (("sample", sample, 1), ("certify", certify, 0), ("workers", workers, 1)):
        if value is not None and value < least:
            raise ResstreamError(f"{name}: expected at least {least}, got {value}")
    if around is not None and not 0 < around < float("inf"):
        raise ResstreamError(f"around: expected a positive number, got {around}")
    chosen = _claims(claims)
    seen = sources.see(source, Request(prompts, tokenizer, told))
    wanted = _layers(layers, seen.layers)
    bindings, reasons = [], {}
    for claim in chosen:
        try:
            bindings.append(bind(claim, seen))
        except NotApplicable as reason:
            reasons[claim.id] = str(reason)

    def look(number: int) -> Line:
        binding = bindings[number]
        sites = _sites(binding, seen, wanted, sample, seed)
        line = evaluate(binding, seen, sites, seed, around)
        return certificates.judged(line, binding, seen, certify, seed)

    lines: dict[int, Line] = {}
    tasks = [Task(_looked, look, (number,)) for number in range(len(bindings))]
    run: Run[Line] = Run(tasks, hired(min(workers, max(1, len(bindings))), inherit=True))
    for number, line in run.results():
        lines[number] = line
        told(line.id, len(lines) / len(bindings))
    missing = {bindings[number].claim.id for number in range(len(bindings)) if number not in lines}
    if missing:
        raise ResstreamError(f"a process ended before it was done: {', '.join(sorted(missing))}")
    for number, line in list(lines.items()):
        if not line.places and not line.error:
            reasons[line.id] = line.reason or "it has no place here"
            del lines[number]
    told("heads and sums", 1.0)
    return Observation(
        name=seen.name,
        source=seen.source,
        layers=seen.layers,
        heads=seen.heads,
        causal=seen.causal,
        tokens=[layer.pattern.shape[-1] for layer in (prompt.layers[0] for prompt in seen.prompts)],
        notes=seen.notes,
        lines=[lines[number] for number in sorted(lines)],
        not_applicable=reasons,
        head_rows=[row for row in head_rows(seen) if wanted is None or row.layer in wanted],
        sums=_sums(seen),
        depths=[row for number, prompt in enumerate(seen.prompts) for row in _depths(number, prompt)],
        collapses=collapse.collapses(seen),
        seed=seed,
        seconds=time.monotonic() - start,
        sampled=sample,
        around=around,
    )


def _looked(look: Callable[[int], Line], number: int) -> Line:
    return look(number)


def _claims(wanted: Sequence[str | Claim]) -> list[Claim]:
    named = [one for one in wanted if isinstance(one, str)]
    own = [one for one in wanted if isinstance(one, Claim)]
    if len(named) + len(own) != len(wanted):
        raise ResstreamError("claims: expected ids, groups, patterns or claims")
    if not wanted:
        return [claim for claim in library.matching([]) if claim.expect == "holds"]
    return [*(targets(named) if named else []), *own]


def _layers(wanted: Sequence[int] | None, count: int) -> set[int] | None:
    if wanted is None:
        return None
    if not wanted or not all(0 <= layer < count for layer in wanted):
        raise ResstreamError(f"layers: expected some of 0..{count - 1}, got {list(wanted)}")
    return set(wanted)


def _sites(binding: Binding, seen: Activations, layers: set[int] | None, sample: int | None, seed: int) -> list[Site]:
    sites = [site for site in binding.sites(seen) if layers is None or site.layer is None or site.layer in layers]
    if sample is None or sample >= len(sites):
        return sites
    rng = np.random.default_rng([seed, *binding.claim.seed_words()])
    return [sites[index] for index in sorted(rng.permutation(len(sites))[:sample])]


def _sums(seen: Activations) -> list[SumRow]:
    rows = []
    for number, prompt in enumerate(seen.prompts):
        if seen.model is None or prompt.trace is None:
            continue
        rows += [
            SumRow(
                number,
                found.name,
                len(found.parts),
                float(np.abs(found.constant).max()),
                found.gap.item(),
                found.scale.item(),
            )
            for found in six_sums(seen.model, prompt.trace)
        ]
    return rows


def _depths(number: int, prompt: Prompt) -> list[DepthRow]:
    return [
        DepthRow(
            number,
            depth,
            diameter(state).item(),
            float(row_norms(state).mean()),
            relative_spread(state).item() if state.any() else 0.0,
        )
        for depth, state in enumerate(prompt.states or [])
    ]
