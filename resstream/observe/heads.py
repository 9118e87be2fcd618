"""Head by head: how strongly it mixes, how sharp it looks, what it writes, with whom it composes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.observe.bind import NotApplicable, head_of, normalised
from resstream.observe.seen import Activations, Prompt
from resstream.reference import composition_score, copying_score, dobrushin, spectral_norm
from resstream.reference.decomposition import attribution_by_head
from resstream.reference.spectrum import eigenvalue_moduli, trace


@dataclass(frozen=True)
class HeadRow:
    """What is measured of one head: largest, smallest or mean over the prompts as named; None where it is not known."""

    layer: int
    head: int
    tau: float
    """Dobrushin coefficient of the pattern, in [0, 1], mean over prompts."""
    first: float
    """1 - min_i A_i1, what the head leaves to tokens other than the first, mean over prompts."""
    score_range: float | None
    """Largest range of a row of allowed scores, mean over prompts."""
    entropy: float
    """Mean entropy of a row of the pattern in nats, over what a uniform row over its allowed keys has."""
    ov_norm: float | None
    """Spectral norm of W_OV."""
    tau_ov: float | None
    """tau times that norm: below 1, Proposition 2 has something to say."""
    copying: float | None
    """Copying score, in [-1, 1]: of the full OV circuit where there is an unembedding, else of W_OV itself."""
    composes_with: str
    """The earlier head whose output this one reads most, and whether by its keys (K), queries (Q) or values (V)."""
    composition: float | None
    logit: float | None
    """What it adds to the target's logit at the last position, mean over prompts."""

    def json(self) -> dict[str, Any]:
        """As a table of plain values."""
        return asdict(self)


def head_rows(seen: Activations) -> list[HeadRow]:
    """Every head of every layer."""
    direct = [_direct(seen, prompt) for prompt in seen.prompts]
    rows = []
    for layer in range(seen.layers):
        for head in range(seen.prompts[0].layers[layer].pattern.shape[0]):
            patterns = [normalised(prompt.layers[layer].pattern[head]) for prompt in seen.prompts]
            taus = [dobrushin(A).item() for A in patterns]
            norm = _ov_norm(seen, layer, head)
            partner, strength = _composition(seen, layer, head)
            logits = [shares[f"head {layer}.{head}"] for shares in direct if shares]
            rows.append(
                HeadRow(
                    layer,
                    head,
                    float(np.mean(taus)),
                    float(np.mean([1 - A[:, 0].min() for A in patterns])),
                    _range(seen, layer, head),
                    float(np.mean([_entropy(A, seen.causal) for A in patterns])),
                    norm,
                    None if norm is None else norm * float(np.mean(taus)),
                    _copying(seen, layer, head),
                    partner,
                    strength,
                    float(np.mean(logits)) if logits else None,
                )
            )
    return rows


def _direct(seen: Activations, prompt: Prompt) -> Mapping[str, float]:
    """Each head's share of the target's logit at the last position; empty where nothing is known of it."""
    if seen.model is None or prompt.trace is None or prompt.target is None or prompt.logits is None:
        return {}
    if seen.model.prediction_head is not None:
        return {}
    parts = attribution_by_head(seen.model, prompt.trace).parts
    return {str(name): float(part[-1, prompt.target]) for name, part in parts.items()}


def _range(seen: Activations, layer: int, head: int) -> float | None:
    ranges = []
    for prompt in seen.prompts:
        scores = prompt.layers[layer].scores
        if scores is None:
            return None
        S, n = scores[head], scores.shape[-1]
        allowed = np.tri(n, dtype=bool) if seen.causal else np.ones((n, n), dtype=bool)
        rows = np.where(allowed, S, -np.inf).max(-1) - np.where(allowed, S, np.inf).min(-1)
        ranges.append(rows.max())
    return float(np.mean(ranges))


def _entropy(A: Array, causal: bool) -> float:
    """Mean over the rows of entropy/log(keys allowed); rows with a single key have none and are left out."""
    n = len(A)
    keys = np.arange(1, n + 1) if causal else np.full(n, n)
    logs = np.log(A, out=np.zeros_like(A), where=A > 0)
    entropies = -(A * logs).sum(-1)
    return float(np.mean(entropies[keys > 1] / np.log(keys[keys > 1]))) if n > 1 else 0.0


def _ov_norm(seen: Activations, layer: int, head: int) -> float | None:
    try:
        return float(spectral_norm(head_of(seen.weights[layer], "OV", head)).item())
    except NotApplicable:
        return None


def _copying(seen: Activations, layer: int, head: int) -> float | None:
    attention, model = seen.weights[layer].attention, seen.model
    if attention is None:
        return None
    W_V, W_O = attention.values_map[head], attention.W_O[head]
    if model is not None and model.unembedding is not None:
        return float(copying_score(model.embedding, W_V, W_O, model.unembedding).item())
    small = W_O @ W_V
    sizes = eigenvalue_moduli(small).sum()
    return float(trace(small).item() / sizes) if sizes > 0 else None


def _composition(seen: Activations, layer: int, head: int) -> tuple[str, float | None]:
    """The strongest composition with a head of an earlier layer, and its score."""
    best: tuple[str, float | None] = ("", None)
    attention = seen.weights[layer].attention
    if attention is None:
        return best
    readers = {
        "K": attention.keys_map[head],
        "Q": attention.W_Q[head],
        "V": attention.values_map[head],
    }
    for earlier in range(layer):
        writer = seen.weights[earlier].attention
        if writer is None:
            continue
        for other in range(writer.heads):
            # W_OV @ reader has the norm of (triangle of W_V) W_O @ reader, which is h rows and not d.
            through = np.linalg.qr(writer.values_map[other], mode="r") @ writer.W_O[other]
            for kind, reader in readers.items():
                if not through.any() or not reader.any():
                    continue
                score = composition_score(through, reader).item()
                if best[1] is None or score > best[1]:
                    best = (f"{kind} of {earlier}.{other}", float(score))
    return best
