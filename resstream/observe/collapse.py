"""What predicts how attention patterns collapse: the taus, their product, the first token, or the smallest weight.

The measured quantity: how much of a cloud's spread is left after the patterns of some layers, one after the other and
without values and skips: diam(A_l ... A_1 X)/diam(X), for X what the first layer reads. Every bound is certain; the
question is which is near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resstream.arithmetic import Array
from resstream.observe.bind import normalised
from resstream.observe.seen import Activations
from resstream.reference import diameter, dobrushin, row_norms

PRODUCT_OF_TAUS = "product of the taus"
TAU_OF_PRODUCT = "tau of the product"
FIRST = "distance to the first token: product of 1 - min_i A_i1"
SMALLEST = "rooted mask: product of 1 - (smallest allowed weight)"
CARRIED = "distances to the first token, carried by the patterns"
CENTRED = "spectral norm of the centred product"

DIAMETER, TO_FIRST, SPREAD = "diameter", "largest distance to the first token", "distance to the mean (Frobenius)"

SPEAKS_OF = {
    PRODUCT_OF_TAUS: (DIAMETER,),
    TAU_OF_PRODUCT: (DIAMETER,),
    SMALLEST: (DIAMETER,),
    FIRST: (TO_FIRST,),
    CARRIED: (TO_FIRST,),
    CENTRED: (SPREAD,),
}
"""What each bound is a bound on. The claims: `contraction.diameter` with `dobrushin.submultiplicative`,
`dobrushin.positive_is_below_one` (whose sum has the smallest weight as one of its terms), `contraction.first_token`,
`contraction.carried_distances` and `contraction.centred_deviation`.
"""


@dataclass(frozen=True)
class Collapse:
    """One product of patterns: which heads, after how many layers, what is left of the cloud, and what was promised."""

    prompt: int
    chain: str
    depth: int
    left: Mapping[str, float]
    """Of each quantity that some bound speaks of: what is left, over what there was."""
    bounds: Mapping[str, float]
    """Each bound on what is left; CENTRED may exceed 1."""


def collapses(seen: Activations) -> list[Collapse]:
    """Every depth of every chain: the heads of one index through the layers, and the mean of the heads."""
    found = []
    for number, prompt in enumerate(seen.prompts):
        X = prompt.layers[0].read
        if X is None:
            X = prompt.layers[0].stream
        if X is None or not np.ptp(X, axis=0).any():  # all tokens are alike: nothing is left to collapse
            continue
        heads = min(layer.pattern.shape[0] for layer in prompt.layers)
        chains: dict[str, list[Array]] = {
            f"head {head}": [normalised(layer.pattern[head]) for layer in prompt.layers] for head in range(heads)
        }
        chains["mean of the heads"] = [normalised(layer.pattern.mean(0)) for layer in prompt.layers]
        for name, patterns in chains.items():
            found += _one_chain(number, name, patterns, X, seen.causal)
    return found


def _one_chain(prompt: int, name: str, patterns: Sequence[Array], X: Array, causal: bool) -> list[Collapse]:
    product = np.eye(len(X))
    promised = {PRODUCT_OF_TAUS: 1.0, FIRST: 1.0, SMALLEST: 1.0}
    wide, distances, spread = diameter(X).item(), _to_first(X), _spread(X)
    far = distances.max()
    found = []
    for depth, A in enumerate(patterns, start=1):
        product = A @ product
        promised[PRODUCT_OF_TAUS] *= dobrushin(A).item()
        promised[SMALLEST] *= 1 - _smallest(A, causal)
        promised[FIRST] *= 1 - A[:, 0].min() if causal else 1.0
        bounds = {
            **promised,
            TAU_OF_PRODUCT: dobrushin(normalised(product)).item(),
            CENTRED: float(np.linalg.norm(product - product.mean(0) - product.mean(1, keepdims=True) + 1 / len(X), 2)),
            CARRIED: float((product @ distances).max() / far),
        }
        smoothed = product @ X
        left = {
            DIAMETER: diameter(smoothed).item() / wide,
            TO_FIRST: float(_to_first(smoothed).max() / far),
            SPREAD: _spread(smoothed) / spread,
        }
        if not causal:  # the first token is a token like the others
            del bounds[FIRST], bounds[CARRIED], left[TO_FIRST]
        found.append(Collapse(prompt, name, depth, left, bounds))
    return found


def _to_first(X: Array) -> Array:
    """(n, 1)"""
    return row_norms(X - X[:1])


def _spread(X: Array) -> float:
    return float(np.linalg.norm(X - X.mean(0)))


def _smallest(A: Array, causal: bool) -> float:
    """The smallest weight of a pair that the mask allows: what a rooted-mask rate has for one layer (radius 1)."""
    return float(A[np.tri(len(A), dtype=bool)].min() if causal else A.min())


def summary(found: Sequence[Collapse]) -> list[dict[str, Any]]:
    """For each bound at full depth: its median, what was left, the median and largest ratio of the two logarithms.

    The ratio is log(bound)/log(left): the share of the collapse, in orders of magnitude, that the bound foresees; 1 is
    exact, 0 says nothing. The bound with the largest median predicts best.
    """
    rows = []
    deepest = max((one.depth for one in found), default=0)
    last = [one for one in found if one.depth == deepest]
    names = list(dict.fromkeys(name for one in last for name in one.bounds))
    for name in names:
        for what in SPEAKS_OF[name]:
            known = [one for one in last if 0 < one.left[what] < 1]
            shares = [_share(one.bounds[name], one.left[what]) for one in known]
            rows.append(
                {
                    "bound": name,
                    "of": what,
                    "depth": deepest,
                    "chains": len(known),
                    "bound median": float(np.median([one.bounds[name] for one in known])) if known else None,
                    "left median": float(np.median([one.left[what] for one in known])) if known else None,
                    "foreseen median": float(np.median(shares)) if known else None,
                    "foreseen largest": float(np.max(shares)) if known else None,
                    "violated": sum(bool(one.left[what] > one.bounds[name] * (1 + 1e-9)) for one in known),
                }
            )
    return sorted(rows, key=lambda row: -(row["foreseen median"] or 0))


def _share(bound: float, left: float) -> float:
    """log(bound)/log(left), at most 1; nothing is foreseen by a bound of 1."""
    return float(np.log(max(bound, np.finfo(float).tiny)) / np.log(left)) if bound < 1 else 0.0
