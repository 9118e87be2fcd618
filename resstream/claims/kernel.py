"""Claims that a theorem of `proofs/` covers: checked by Rocq's kernel, for all sizes."""

from __future__ import annotations

from collections.abc import Mapping

KERNEL_CHECKED: Mapping[str, tuple[str, str]] = {
    "softmax.rows_stochastic": ("Scores", "softmax_positive_stochastic"),
    "dobrushin.range": ("Contraction", "dobrushin_range"),
    "dobrushin.submultiplicative": ("Contraction", "dobrushin_submultiplicative"),
    "dobrushin.convex": ("Contraction", "dobrushin_convex"),
    "dobrushin.distributions": ("Contraction", "distributions_contract"),
    "contraction.diameter": ("Contraction", "diameter_contracts"),
    "contraction.seminorm": ("Contraction", "diameter_contracts"),
    "contraction.scores": ("Scores", "scores_contract"),
    "contraction.value_map": ("Stacks", "layer_contracts"),
    "contraction.stack": ("Stacks", "stack_contracts"),
    "skip.diameter": ("Stacks", "skip_keeps"),
    "skip.pairs": ("Stacks", "skip_keeps_pairs"),
    "skip.stack_product": ("Stacks", "skip_stack_keeps"),
}
"""The file and the theorem, by claim: over the real numbers, for all sizes, and in every seminorm where a norm occurs.
(Of ||W|| the theorems use that it bounds what W does to any vector.)
"""
