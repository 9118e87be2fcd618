"""Small cases made after faults in public reports, and after the sources' own examples, judged exactly by the claims.

Each case is one instance of a claim of the library: what the claim says of it, and in which arithmetic, is pinned.
"""

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL
from resstream.claim import Instance
from resstream.claims import lookup
from resstream.falsify.judge import judge


def judged(identifier, **arrays):
    """The judgement on one instance; sizes are read off the shapes of the raw arrays ("gain" or "As.part")."""
    claim = lookup(identifier)
    arrays = {name.replace("__", "."): np.array(values) for name, values in arrays.items()}
    for sizes in _sizes(claim):
        parts = claim.parts(sizes, {})
        if all(parts[name].shape == values.shape for name, values in arrays.items()):
            return judge(claim, Instance(sizes, {}, arrays))
    raise AssertionError(f"no sizes of {identifier} fit the given arrays")


def _sizes(claim):
    names, ranges = list(claim.size_ranges()), list(claim.size_ranges().values())
    for flat in np.ndindex(*(len(values) for values in ranges)):
        yield {name: values[k] for name, values, k in zip(names, ranges, flat, strict=True)}


# What is reported: the claim, the raw arrays, the outcome.
CASES = {
    "rank collapse lemma, range 2: factor 7.389 > 5": (
        "literature.collapse_lemma_unbounded",
        {"S": [[0, 20]], "E": [[2, 0]]},
        "violated",
    ),
    "rank collapse lemma, range 1.25: still below 1 + 2m": (
        "literature.collapse_lemma",
        {"S": [[0, 40]], "E": [[1.25, 0]]},
        "holds",
    ),
    "rank collapse lemma, range 1.26: outside its assumption": (
        "literature.collapse_lemma",
        {"S": [[0, 40]], "E": [[1.26, 0]]},
        "outside",
    ),
    "rank collapse lemma, range 1.26: above 1 + 2m": (
        "literature.collapse_lemma_boundary",
        {"s": [[0, 40]]},
        "violated",
    ),
    "rank collapse lemma, exponential form at range 2": (
        "literature.collapse_lemma_exponential",
        {"S": [[0, 20]], "E": [[2, 0]]},
        "holds",
    ),
    "softmax at two equal scores: its constant is 1/2": (
        "literature.softmax_lipschitz_strict",
        {"s": [[0, 0]], "u": [[1, -1]]},
        "violated",
    ),
    "softmax at two equal scores: not 0.49": (
        "literature.softmax_lipschitz_below_half",
        {"s": [[0, 0]], "u": [[1, -1]]},
        "violated",
    ),
    "softmax at three scores: below 1/2, if only by a hundred-thousandth": (
        "literature.softmax_lipschitz_strict_beyond_two",
        {"s": [[0, 0, -10]], "u": [[1, -1, 0]]},
        "holds",
    ),
    "half of submultiplicativity at two identities": (
        "dobrushin.submultiplicative_by_half",
        {"A": [[1, 0], [0, 1]], "B": [[1, 0], [0, 1]]},
        "violated",
    ),
    "half of submultiplicativity where shrinking stopped": (
        "dobrushin.submultiplicative_by_half",
        {"A": [[0, 1], [1, 1]], "B": [[0, 1], [1, 1]]},
        "violated",
    ),
    "a score below the usual mask constants": (
        "softmax.mask_is_exact",
        {"S": [[-120_000, 0, 0], [0, 0, 0], [0, 0, 0]]},
        "holds",
    ),
    "LayerNorm far from the origin": (
        "layernorm.invariant",
        {"x": [[0, 1, 2, 3]], "c": [[1]], "s": [[1e9]]},
        "tied",
    ),
    "LayerNorm with the sample variance": ("layernorm.sample_variance", {"x": [[4, 0, 0, 0, 0]]}, "violated"),
    "epsilon outside the root, at a variance like epsilon": (
        "layernorm.epsilon_outside_the_root",
        {"x": [[0.1, -0.1]], "epsilon": [[0.1]]},
        "violated",
    ),
    "folding a gain with a negative entry, and a bias": (
        "literature.layernorm_folding",
        {
            "x": [[1, 4, -2]],
            "gain": [[2, -1, 0.5]],
            "bias": [[0.5, 0, 1]],
            "W": [[1, 2], [0, 1], [3, -1]],
            "b": [[0, 1]],
        },
        "tied",
    ),
    "folding the gain and forgetting the bias": (
        "literature.layernorm_folding_without_bias",
        {
            "x": [[1, 4, -2]],
            "gain": [[2, -1, 0.5]],
            "bias": [[0.5, 0, 1]],
            "W": [[1, 2], [0, 1], [3, -1]],
            "b": [[0, 1]],
        },
        "violated",
    ),
    "centring a writer under LayerNorm": (
        "literature.centred_writers",
        {"x": [[0, 0]], "h": [[1]], "W": [[3, 1]]},
        "holds",
    ),
    "centring a writer under RMSNorm": (
        "literature.centred_writers_rmsnorm",
        {"x": [[0, 0]], "h": [[1]], "W": [[3, 1]]},
        "violated",
    ),
    "a tiny move between tokens at 2000 and -2000": (
        "literature.attention_lipschitz",
        {"X": [[0], [2000], [-2000]], "direction": [[1], [0], [0]]},
        "violated",
    ),
    "the page's merged pair": ("skip.merged_pair", {"p": [[90, 9, 1]], "width": [[10]]}, "holds"),
    "uniform causal attention": ("contraction.scores_under_mask", {"S": [[0, 0], [0, 0]]}, "violated"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_reported_case_is_judged_as_it_should_be(case):
    identifier, arrays, outcome = CASES[case]
    assert judged(identifier, **arrays).outcome == outcome


def test_the_merged_pair_has_the_printed_numbers_exactly():
    """The page prints tokens (0, 0.1, 10), tau 0.01 and, with the skip, (1, 1, 11)."""
    A = RATIONAL.array([["9/10", "0", "1/10"], ["91/100", "0", "9/100"], ["9/10", "0", "1/10"]])
    X = RATIONAL.array([["0"], ["1/10"], ["10"]])
    assert (RATIONAL.array([[1], [1], [11]]) == X + A @ X).all()


def test_the_strict_form_is_decided_by_rationals_or_exact_balls():
    judgement = judged("literature.softmax_lipschitz_strict", s=[[0, 0]], u=[[1, -1]])
    assert judgement.lhs == 2
    assert judgement.rhs == 2
