"""The finance case: who completes a company's name, from its weights or from the filing's own earlier text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import TrainingError
from resstream.induction.filings import Filing, Query, queries, symbol, symbols
from resstream.induction.settings import Settings
from resstream.induction.task import Batch, Stream, generator
from resstream.induction.training import Source
from resstream.reference import AttentionOnlyModel

Reader = Callable[[Sequence[Query]], Array]
"""Predicts the symbol after every query's window, (queries,) integers; -1 for no prediction."""


def filing_source(documents: Sequence[Filing]) -> Source:
    """Training batches from filings: windows at random places, with every next word scored."""
    texts = [symbols(document.words) for document in documents]

    def source(settings: Settings, step: int) -> Batch:
        random = generator(settings.seed, Stream.TRAINING, step)
        span = np.arange(settings.length + 1)
        rows = []
        for index in random.integers(len(texts), size=settings.batch):
            room = len(texts[index]) - settings.length
            if room < 1:
                raise TrainingError(
                    f"filings: number {index} has {len(texts[index])} words, too few for {settings.length} and a target"
                )
            rows.append(texts[index][random.integers(room) + span])
        windows = np.stack(rows)
        return Batch(windows[:, :-1], windows[:, 1:], np.ones((settings.batch, settings.length), dtype=bool))

    return source


# ---- readers ----------------------------------------------------------------


def bigram_reader(documents: Sequence[Filing]) -> Reader:
    """The most frequent successor of the query's symbol in the filings (the smallest among equals)."""
    followers: dict[int, Counter[int]] = {}
    for document in documents:
        text = [symbol(word) for word in document.words]
        for first, second in pairwise(text):
            followers.setdefault(first, Counter())[second] += 1
    best = {first: min(counts, key=lambda s: (-counts[s], s)) for first, counts in followers.items()}
    return lambda asked: np.array([best.get(symbol(query.window[-1]), -1) for query in asked])


def direct_path_reader(model: AttentionOnlyModel) -> Reader:
    """The direct path alone: the largest logit of embedding times unembedding at the query's symbol."""
    best = (model.embedding @ model.unembedding).argmax(-1)
    return lambda asked: best[symbols([query.window[-1] for query in asked])]


def model_reader(model: AttentionOnlyModel, length: int = 48, chunk: int = 100) -> Reader:
    """The model on the query's window of words."""

    def read(asked: Sequence[Query]) -> Array:
        # A short window is filled up behind the query word, where a causal model does not look.
        texts = np.zeros((len(asked), length), dtype=int)
        last = np.array([len(query.window) - 1 for query in asked])
        for row, query in enumerate(asked):
            texts[row, : last[row] + 1] = symbols(query.window)
        predicted = []
        for start in range(0, len(asked), chunk):
            part = slice(start, start + chunk)
            x = model.forward(texts[part]).states[-1]
            predicted.append((x[np.arange(len(x)), last[part]] @ model.unembedding).argmax(-1))
        return np.concatenate(predicted)

    return read


def completed(reader: Reader, asked: Sequence[Query]) -> Array:
    """Which queries a reader answers with the right symbol, (queries,) booleans."""
    if not asked:
        raise TrainingError("queries: the test filings hold none")
    return reader(asked) == symbols([query.answer for query in asked])


# ---- why a query is missed --------------------------------------------------

CONTEXTS = ("words", "collision", "far", "near", "clear")
"""What may make a query hard for whoever copies, in the order in which it is asked for (see `context_of`)."""

FAR = 32
"""Words back from which on the match is far: the repeated blocks have periods of at most 24."""

LATE = 39
"""Position from which on the trained previous-token head shares its weight with a second key."""


def context_of(query: Query) -> str:
    """What the window offers whoever finds the query's symbol again and copies the next one.

    "words": the query word itself stood before another word than the answer. "collision": only another word of the same
    symbol did. Otherwise the context is unambiguous, and the nearest match is "far" (more than 32 words back or outside
    the window), "near" (its successor stands at position 39 or later) or, in between, "clear".
    """
    window = query.window
    asked, right = symbol(window[-1]), symbol(query.answer)
    matches = [place for place, word in enumerate(window[:-1]) if symbol(word) == asked]
    misleading = [window[place] for place in matches if symbol(window[place + 1]) != right]
    if window[-1] in misleading:
        return "words"
    if misleading:
        return "collision"
    if not matches or len(window) - 1 - matches[-1] > FAR:
        return "far"
    return "near" if matches[-1] + 1 >= LATE else "clear"


@dataclass(frozen=True)
class Misses:
    """How a reader's misses spread over the contexts, beside all queries; shares and accuracies in [0, 1]."""

    queries: int
    missed: int
    share_of_misses: dict[str, float]
    share_of_queries: dict[str, float]
    accuracy: dict[str, float]
    """Share completed of the queries in each context, NaN where there is none."""


def analyse_misses(reader: Reader, asked: Sequence[Query]) -> Misses:
    """Count in which contexts a reader misses: how far ambiguity, the hash and the distance explain it."""
    right = completed(reader, asked)
    contexts = np.array([context_of(query) for query in asked])
    masks = {name: contexts == name for name in CONTEXTS}
    missed = int((~right).sum())
    return Misses(
        queries=len(asked),
        missed=missed,
        share_of_misses={
            name: float((mask & ~right).sum() / missed) if missed else 0.0 for name, mask in masks.items()
        },
        share_of_queries={name: float(mask.mean()) for name, mask in masks.items()},
        accuracy={name: float(right[mask].mean()) if mask.any() else math.nan for name, mask in masks.items()},
    )


def finance_table(
    readers: dict[str, Reader], seen: Sequence[Filing], unseen: Sequence[Filing]
) -> dict[str, tuple[float, float]]:
    """Share of the queries each reader completes: on filings about seen companies and about unseen ones."""
    asked = [queries(documents) for documents in (seen, unseen)]
    return {
        name: (float(completed(reader, asked[0]).mean()), float(completed(reader, asked[1]).mean()))
        for name, reader in readers.items()
    }
