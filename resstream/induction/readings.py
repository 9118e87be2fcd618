"""What a trained model does, read off its states, patterns and weights.

Heads are identified by what they do (the largest weight on the previous token), never by their index. Long readings go
through the test sequences a hundred at a time. Every reading is of floats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import TrainingError
from resstream.induction.settings import Settings
from resstream.induction.task import Batch, RepeatedBlocks
from resstream.induction.training import initial_weights
from resstream.induction.weights import model_of, split
from resstream.reference import (
    AttentionOnlyModel,
    copying_score,
    logit_lens,
    softmax,
    weight_composition,
)
from resstream.reference.attention_only import Head, Path, Reads

CHUNK = 100
BUILT_DEVIATION = 0.2
"""Of the weights of the model built for `subspace_distance`: not stated in the source, inferred from its figure."""


@dataclass(frozen=True)
class Evaluation:
    """Loss in nats and accuracy over the scored positions, and accuracy at each position (NaN where none is scored)."""

    loss: float
    accuracy: float
    accuracy_by_position: Array


def evaluate(model: AttentionOnlyModel, batch: Batch, keys_read: Reads | None = None) -> Evaluation:
    """Loss and accuracy of the model, whole or with the keys of some layers cut (see `AttentionOnlyModel.run`)."""
    if not batch.scored.any():
        raise TrainingError("batch: expected at least one scored position, got none")
    losses, hits = [], []
    for part in batch.parts(CHUNK):
        x = model.run(model.embed(part.inputs), keys_read=keys_read).states[-1]
        logits, targets = logit_lens(x[part.scored], model.unembedding), part.targets[part.scored]
        top = logits.max(-1)
        losses.append(np.log(np.exp(logits - top[:, None]).sum(-1)) + top - _at(logits, targets))
        hits.append(logits.argmax(-1) == targets)
    hit = np.zeros(batch.scored.shape, dtype=bool)
    hit[batch.scored] = np.concatenate(hits)
    with np.errstate(invalid="ignore"):
        by_position = hit.sum(0) / batch.scored.sum(0)
    return Evaluation(float(np.concatenate(losses).mean()), float(np.concatenate(hits).mean()), by_position)


# ---- what heads look at -----------------------------------------------------


@dataclass(frozen=True)
class HeadWeights:
    """Mean attention weights of one layer's heads, each an array (heads,), on positions of three kinds."""

    previous: Array
    """On the token before, over all positions from 1 on."""
    previous_by_position: Array
    """The same for each position: (heads, n), 0 at position 0."""
    target: Array
    """On the induction target, one period back and one on, over the scored positions."""
    after_earlier: Array
    """On the positions after any earlier occurrence of the current symbol, over the scored positions."""
    misled: Array
    """On those of them that hold another symbol than the target, over the scored positions."""
    misled_alone: Array
    """The same over the scored positions that have such a one."""


def head_weights(model: AttentionOnlyModel, blocks: RepeatedBlocks, layer: int) -> HeadWeights:
    """Read the patterns of a layer on repeated blocks. Source: Induction heads."""
    previous, target, after, misled = [], [], [], []
    for part in blocks.parts(CHUNK):
        patterns = model.forward(part.inputs).patterns[layer]
        copies, wrong = earlier_occurrences(part)
        previous.append(np.diagonal(patterns, -1, axis1=-2, axis2=-1).sum(0))
        places = np.maximum(np.arange(part.inputs.shape[1]) - part.periods + 1, 0)  # unscored ones are left out below
        target.append(np.take_along_axis(patterns, places[:, None, :, None], -1)[..., 0])
        after.append((patterns * copies[:, None]).sum(-1))
        misled.append((patterns * wrong[:, None]).sum(-1))
    scored = blocks.scored
    affected = scored & np.concatenate([earlier_occurrences(part)[1].any(-1) for part in blocks.parts(CHUNK)])
    by_position = np.pad(sum(previous) / len(blocks), ((0, 0), (1, 0)))

    def over(weights: list[Array], where: Array) -> Array:
        return np.concatenate(weights).swapaxes(0, 1)[:, where].mean(-1)

    return HeadWeights(
        previous=by_position[:, 1:].mean(-1),
        previous_by_position=by_position,
        target=over(target, scored),
        after_earlier=over(after, scored),
        misled=over(misled, scored),
        misled_alone=over(misled, affected),
    )


def earlier_occurrences(batch: Batch) -> tuple[Array, Array]:
    """Booleans (B, n, n) at (i, j): j follows an earlier occurrence of symbol i; and j holds another than target i."""
    tokens = batch.inputs
    same = tokens[:, :, None] == tokens[:, None, :]
    n = tokens.shape[1]
    copies = np.zeros_like(same)
    copies[:, :, 1:] = same[:, :, :-1] & np.tri(n, n - 1, -1, dtype=bool)
    return copies, copies & (tokens[:, None, :] != batch.targets[:, :, None])


def misleading_share(batch: Batch) -> float:
    """Share of the scored positions where one after an earlier occurrence holds another symbol than the target."""
    wrong = np.concatenate([earlier_occurrences(part)[1].any(-1) for part in batch.parts(CHUNK)])
    return float(wrong[batch.scored].mean())


def previous_token_head(model: AttentionOnlyModel, blocks: RepeatedBlocks) -> tuple[Head, HeadWeights]:
    """The layer-0 head with the most weight on the token before, and what layer 0 looks at."""
    weights = head_weights(model, blocks, 0)
    return (0, int(weights.previous.argmax())), weights


def prefix_matching_scores(model: AttentionOnlyModel, random: np.random.Generator, settings: Settings) -> Array:
    """Mean weight on what followed the earlier occurrence, in a random block of distinct symbols given twice: (L, H).

    In [0, 1]. Source: the prefix-matching score of "In-context Learning and Induction Heads".
    """
    half = settings.length // 2
    if half > settings.symbols:
        raise TrainingError(f"symbols: expected at least {half} for a block of distinct ones, got {settings.symbols}")
    block = random.permuted(np.tile(np.arange(settings.symbols), (CHUNK, 1)), axis=1)[:, :half]
    patterns = model.forward(np.tile(block, 2)).patterns
    return np.stack([np.diagonal(A[..., half:, :], 1, axis1=-2, axis2=-1)[..., :half].mean((0, -1)) for A in patterns])


def copying_scores(model: AttentionOnlyModel) -> Array:
    """The copying score of every head, in [-1, 1]: (L, H)."""
    return copying_score(model.embedding, model.W_V, model.W_O, model.unembedding)[..., 0, 0]


# ---- how heads compose ------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A head's content-free scores by offset, in nats: the largest, and the largest later one that is a local peak."""

    scores: Array
    peak: int
    far_peak: int


def kernel(model: AttentionOnlyModel, head: Head, length: int) -> Kernel:
    """The content-free kernel of a head over the offsets 0..length-1. Source: Induction heads."""
    scores = model.content_free_kernel(range(length))[head][0]
    peak = int(scores.argmax())
    inner = [k for k in range(peak + 1, length - 1) if scores[k - 1] < scores[k] > scores[k + 1]]
    return Kernel(scores, peak, max(inner, key=lambda k: float(scores[k]), default=peak))


def composition_table(model: AttentionOnlyModel, earlier: int = 0, later: int = 1) -> dict[str, Array]:
    """K-, Q- and V-composition of every pair of heads in two layers: three arrays (heads, heads), rows the earlier."""
    writers, later_circuits = model.ov_circuits[earlier][:, None], model.ov_circuits[later][None]
    scores = weight_composition(writers, model.W_Q[later][None], model.W_K[later][None], later_circuits)
    return {name: getattr(scores, name)[..., 0, 0] for name in ("keys", "queries", "values")}


def score_moves(model: AttentionOnlyModel, blocks: RepeatedBlocks, random: np.random.Generator) -> Array:
    """How far the last layer's scores at (n - 1, j) move when the symbol before a random j changes: (B, H), in nats.

    Source: Proposition 5 and its measurement in Induction heads.
    """
    count, n = blocks.inputs.shape
    places = random.integers(1, n, count)
    changed = blocks.inputs.copy()
    rows, shift = np.arange(count), random.integers(1, model.embedding.shape[-2], count)
    changed[rows, places - 1] = (changed[rows, places - 1] + shift) % model.embedding.shape[-2]
    moves = []
    for start in range(0, count, CHUNK):
        part = slice(start, start + CHUNK)
        scores = [_last_scores(model, tokens[part]) for tokens in (blocks.inputs, changed)]
        moves.append(np.abs(scores[1] - scores[0])[np.arange(len(scores[0])), :, places[part]])
    return np.concatenate(moves)


def _last_scores(model: AttentionOnlyModel, tokens: Array) -> Array:
    trace = model.forward(tokens)
    return (trace.queries[-1][..., -1:, :] @ trace.keys[-1].mT)[..., 0, :]


def root_mean_square_cosine(embedding: Array) -> float:
    """Root mean square of the cosines between different rows: (V, d), in [0, 1]."""
    rows = embedding / np.linalg.norm(embedding, axis=-1, keepdims=True)
    squares = (rows @ rows.T) ** 2
    count = len(rows)
    return float(np.sqrt((squares.sum() - np.trace(squares)) / (count * (count - 1))))


# ---- where the answer is ----------------------------------------------------


def lens_probabilities(model: AttentionOnlyModel, batch: Batch) -> Array:
    """Mean probability of the target at the scored positions, read off the stream at every depth: (L + 1,)."""
    sums = np.zeros(model.layers + 1)
    for part in batch.parts(CHUNK):
        for layer, x in enumerate(model.forward(part.inputs).states):
            probabilities = softmax(logit_lens(x[part.scored], model.unembedding))
            sums[layer] += _at(probabilities, part.targets[part.scored]).sum()
    return sums / batch.scored.sum()


@dataclass(frozen=True)
class PathShares:
    """The target's centred logit (less the mean over symbols) at the scored positions, split into paths."""

    shares: dict[Path, float]
    """The mean part of each path over the mean of the whole: they sum to one."""
    last_layer: float
    """Median over positions of the share of the paths that end in the last layer."""
    first_alone: float
    """How often the paths that do not end there alone rank the target first."""
    error: float
    """Largest difference of the paths' sum from the logits."""


def path_shares(model: AttentionOnlyModel, batch: Batch) -> PathShares:
    """Split the target's logit into paths, given the patterns. Source: Theorem 3 and Induction heads."""
    parts: dict[Path, list[Array]] = {}
    last, first_hits, errors = [], [], []
    for part in batch.parts(CHUNK):
        trace = model.forward(part.inputs)
        expansion = model.path_expansion(trace.states[0], trace.patterns)
        rest = np.zeros((*part.inputs.shape, model.embedding.shape[-2]))
        for path, logits in expansion.items():
            centred = _at(logits, part.targets) - logits.mean(-1)
            parts.setdefault(path, []).append(centred[part.scored])
            if not _ends_last(path, model):
                rest = rest + logits
        logits = trace.logits
        errors.append(np.abs(sum(expansion.values()) - logits).max())
        first_hits.append((rest.argmax(-1) == part.targets)[part.scored])
        whole = (_at(logits, part.targets) - logits.mean(-1))[part.scored]
        last.append(sum(parts[path][-1] for path in expansion if _ends_last(path, model)) / whole)
    means = {path: float(np.concatenate(values).mean()) for path, values in parts.items()}
    return PathShares(
        shares={path: mean / sum(means.values()) for path, mean in means.items()},
        last_layer=float(np.median(np.concatenate(last))),
        first_alone=float(np.concatenate(first_hits).mean()),
        error=float(max(errors)),
    )


def _ends_last(path: Path, model: AttentionOnlyModel) -> bool:
    return bool(path) and path[-1][0] == model.layers - 1


def subspace_distance(settings: Settings, random: np.random.Generator) -> tuple[float, float]:
    """A built two-layer model whose layer-1 keys cannot read layer 0: how far its patterns move, as total variation.

    Layer 0 writes into the first half of the coordinates; layer 1's keys read the second. Returned are the means over
    rows when layer 0's output is removed from its queries as well: with queries that read everything, and with queries
    that read the second half alone (0). Source: the example after Proposition 4.
    """
    half = settings.width // 2
    distances = []
    tokens = random.integers(settings.symbols, size=(CHUNK, settings.length))
    for blind in (False, True):
        weights = split(initial_weights(replace(settings, weight_deviation=BUILT_DEVIATION)), settings)
        weights["W_O"][0, ..., half:] = 0
        weights["W_K"][1, :, :half] = 0
        if blind:
            weights["W_Q"][1, :, :half] = 0
        model = model_of(weights, settings)
        x0, alone = model.embed(tokens), {1: list[Head]()}
        whole, cut = model.run(x0).patterns[1], model.run(x0, keys_read=alone, queries_read=alone).patterns[1]
        distances.append(float(np.abs(whole - cut).sum(-1).mean()) / 2)
    return distances[0], distances[1]


def _at(values: Array, places: Array) -> Array:
    """The entry of the last axis at each place: (..., V), (...,) -> (...,)."""
    return np.take_along_axis(values, places[..., None], -1)[..., 0]
