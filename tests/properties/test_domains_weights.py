"""The domains whose members are weights of a block: shapes, zeros, and a batch that is the stack of its singles."""

import numpy as np
import pytest

from resstream.arithmetic import RATIONAL
from resstream.claim import Claim, Instance, at_most
from resstream.domains import Heads, ReluLayer
from resstream.falsify import engines

SIZES = {"H": 2, "d": 3, "h": 4, "v": 5, "w": 6}  # distinct, so that a swapped axis shows


def of_heads(heads):
    return [W for head in heads for W in (head.W_Q, head.W_K, head.W_V, head.W_O)]


def of_layer(layer):
    return [layer.W_1, layer.b_1, layer.W_2, layer.b_2]


CASES = {
    "Heads": (Heads("H", "d", "h", "v"), of_heads, [(3, 4), (3, 4), (3, 5), (5, 3)] * 2),
    "Heads of one width": (Heads("H", "d", "h"), of_heads, [(3, 4), (3, 4), (3, 4), (4, 3)] * 2),
    "ReluLayer": (ReluLayer("d", "w", "h"), of_layer, [(3, 6), (1, 6), (6, 4), (1, 4)]),
    "ReluLayer of one width": (ReluLayer("d", "w"), of_layer, [(3, 6), (1, 6), (6, 3), (1, 3)]),
}


def trivial():
    return at_most(0, 1)


def claim_over(domain):
    names = {field for field in vars(domain).values() if isinstance(field, str)}
    return Claim("trial", {"x": domain}, trivial, sizes={name: range(SIZES[name], SIZES[name] + 1) for name in names})


@pytest.mark.parametrize("case", CASES)
def test_weights_have_their_shapes_and_a_batch_is_its_singles(case):
    domain, weights, shapes = CASES[case]
    claim = claim_over(domain)
    raw = engines.random_batch(claim, np.random.default_rng(0), 18)
    batch = weights(claim.build(raw)["x"])
    assert [W.shape for W in batch] == [(18, *shape) for shape in shapes]
    for index in range(18):
        for one, many in zip(weights(claim.build(raw.at(index))["x"]), batch, strict=True):
            assert np.array_equal(one, many[index])


@pytest.mark.parametrize("case", CASES)
def test_zeros_build_weights_of_zeros_in_rationals(case):
    domain, weights, shapes = CASES[case]
    claim = claim_over(domain)
    parts = claim.parts({name: SIZES[name] for name in claim.size_ranges()}, {})
    raw = Instance(SIZES, {}, {name: np.zeros(part.shape) for name, part in parts.items()})
    built = weights(claim.build(raw, RATIONAL)["x"])
    assert [W.shape for W in built] == shapes
    assert all(np.all(W == 0) for W in built)
