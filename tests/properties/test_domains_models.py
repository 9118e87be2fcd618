"""Tokens, heads and models: what is built of raw numbers, of which shapes, and what is held."""

from dataclasses import replace

import numpy as np
import pytest

from resstream.arithmetic import FLOAT64
from resstream.arithmetic.unknowns import SymbolicUnknowns, cases
from resstream.domains import AttentionOnly, Heads, ReluLayer, SharedHeads, Tokens
from resstream.errors import DomainError
from resstream.reference import MLP, Head

from .conftest import SYSTEMS

SIZES = {"H": 4, "G": 2, "d": 3, "h": 2, "v": 5, "L": 6, "V": 7}


def shapes(domain, sizes=SIZES):
    return {name: part.shape for name, part in domain.parts(sizes, {}).items()}


def raw(domain, system=FLOAT64, sizes=SIZES):
    """Raw arrays of which no two entries are alike."""
    arrays, start = {}, 1
    for name, shape in shapes(domain, sizes).items():
        count = int(np.prod(shape))
        arrays[name] = system.array(np.arange(start, start + count).reshape(shape))
        start += count
    return arrays


# ---- tokens -----------------------------------------------------------------


@SYSTEMS
def test_tokens_are_one_hot_rows(system):
    tokens = Tokens("n", "V")
    sizes = {"n": 3, "V": 4}
    (part,) = tokens.parts(sizes, {}).values()
    assert (part.shape, part.kind, part.low, part.high) == ((3, 1), "whole", 0, 3)
    built = tokens.build({"": system.array([[[0], [3], [1]]])}, {}, sizes)
    assert built.shape == (1, 3, 4)
    assert (built[0] == np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]])).all()
    assert type(built.flat[0]) is type(system.array([1]).flat[0])
    assert tokens.shape() == ("n", "V")
    assert tokens.contains(built[0], sizes)
    for wrong in (built[0][:2], 2 * built[0], 0 * built[0], 1 - built[0], built[0] / 2 + built[0][::-1] / 2, "tokens"):
        assert not tokens.contains(wrong, sizes)


def test_all_sequences_of_tokens_are_pieces():
    pieces = [Tokens(2, 3).piece(SymbolicUnknowns(case), {}, {}) for case in cases()]
    found = [[int(np.flatnonzero([entry.value == 1 for entry in row])[0]) for row in piece.object] for piece in pieces]
    assert found == [[i, j] for i in range(3) for j in range(3)]
    for piece, tokens in zip(pieces, found, strict=True):
        assert piece.object.shape == (2, 3)
        assert sum(entry.value for entry in piece.object.flat) == 2
        assert [int(x) for x in piece.raw(None)[""].flat] == tokens
        assert piece.raw(None)[""].shape == (2, 1)


# ---- attention-only models ---------------------------------------------------


def test_an_attention_only_model_has_its_shapes_and_biases():
    domain = AttentionOnly("L", "H", "d", "h", "V", base=100)
    wanted = {
        "embedding": (7, 3), "unembedding": (3, 7), "W_Q": (6, 4, 3, 2), "W_K": (6, 4, 3, 2), "W_V": (6, 4, 3, 2),
        "W_O": (6, 4, 2, 3), "b_Q": (6, 4, 1, 2), "b_K": (6, 4, 1, 2),
    }  # fmt: skip
    assert shapes(domain) == wanted
    model = domain.build(raw(domain), {}, SIZES)
    assert model.base == 100
    for name, values in raw(domain).items():
        assert np.array_equal(getattr(model, name), values)
    assert domain.contains(model, SIZES)
    unbiased = replace(domain, biased=False)
    assert shapes(unbiased) == {name: shape for name, shape in wanted.items() if name not in ("b_Q", "b_K")}
    without = unbiased.build(raw(unbiased), {}, SIZES)
    assert (without.b_Q.shape, without.b_K.shape) == ((6, 4, 1, 2), (6, 4, 1, 2))
    assert not without.b_Q.any()
    assert not without.b_K.any()
    assert unbiased.contains(without, SIZES)
    zeros = unbiased.build({name: 0 * values for name, values in raw(unbiased).items()}, {}, SIZES)
    assert not zeros.b_Q.any()
    assert domain.contains(without, SIZES)
    for wrong in (model, replace(without, b_K=without.b_K + 1), replace(without, b_Q=without.b_Q + 1)):
        assert not unbiased.contains(wrong, SIZES)
    for wrong, sizes in ((replace(model, base=99), SIZES), (model, {**SIZES, "L": 5}), ("model", SIZES)):
        assert not domain.contains(wrong, sizes)
    piece = AttentionOnly(1, 1, 1, 2, 1).piece(SymbolicUnknowns(next(cases())), {}, {})
    assert piece.object.W_Q.shape == (1, 1, 1, 2)


def test_rotary_positions_ask_for_an_even_head_width():
    rotary, plain = AttentionOnly(1, 1, 1, "h", 1), AttentionOnly(1, 1, 1, "h", 1, base=None)
    assert rotary.base == 10_000
    assert rotary.biased
    assert rotary.excluded({"h": 3}) == "rotary positions need an even head width, not 3"
    assert [rotary.excluded({"h": 2}), plain.excluded({"h": 3})] == ["", ""]
    assert AttentionOnly(1, 1, 1, 2, 1, base=1).base == 1
    for wrong in (0, -1, True, 1.5, "1"):
        with pytest.raises(
            DomainError, match="AttentionOnly: base: expected a whole number of at least 1 or None, got"
        ):
            AttentionOnly(1, 1, 1, 2, 1, base=wrong)
    with pytest.raises(DomainError, match="AttentionOnly: layers: expected a name"):
        AttentionOnly(0, 1, 1, 2, 1)


# ---- heads ------------------------------------------------------------------


@SYSTEMS
@pytest.mark.parametrize("value_width", [None, "v"])
def test_heads_are_the_slices_of_their_stacks(system, value_width):
    domain = Heads("H", "d", "h", value_width)
    v = 5 if value_width else 2
    assert shapes(domain) == {"W_Q": (4, 3, 2), "W_K": (4, 3, 2), "W_V": (4, 3, v), "W_O": (4, v, 3)}
    arrays = raw(domain, system)
    heads = domain.build(arrays, {}, SIZES)
    assert len(heads) == 4
    for k, head in enumerate(heads):
        for name, values in arrays.items():
            assert (getattr(head, name) == values[k]).all()
    assert domain.contains(heads, SIZES)
    assert Heads(0, 1, 1).contains([], {})
    biased = replace(heads[1], b_Q=system.array([[1, 1]]))
    keyed = replace(heads[1], b_K=system.array([[1, 1]]))
    for wrong in (
        tuple(heads),
        heads[:3],
        [*heads[:3], "head"],
        [heads[0], biased, *heads[2:]],
        [heads[0], keyed, *heads[2:]],
    ):
        assert not domain.contains(wrong, SIZES)
    assert not domain.contains(heads, {**SIZES, "d": 4})
    piece = Heads(1, 1, 1).piece(SymbolicUnknowns(next(cases())), {}, {})
    assert [head.W_Q.shape for head in piece.object] == [(1, 1)]


@SYSTEMS
def test_shared_heads_have_the_keys_and_values_of_their_group(system):
    domain = SharedHeads("H", "d", "h", "v", groups="G")
    assert shapes(domain) == {"W_Q": (4, 3, 2), "W_K": (2, 3, 2), "W_V": (2, 3, 5), "W_O": (4, 5, 3)}
    arrays = raw(domain, system)
    heads = domain.build(arrays, {}, SIZES)
    for k, head in enumerate(heads):
        for name, place in (("W_Q", k), ("W_K", k // 2), ("W_V", k // 2), ("W_O", k)):
            assert (getattr(head, name) == arrays[name][place]).all()
    assert len(heads) == 4
    assert domain.contains(heads, SIZES)
    assert domain.wider() == Heads("H", "d", "h", "v")
    assert domain.wider().contains(heads, SIZES)
    for name in ("W_K", "W_V"):
        own = replace(heads[3], **{name: getattr(heads[3], name) + 1})
        assert not domain.contains([*heads[:3], own], SIZES)
        assert Heads("H", "d", "h", "v").contains([*heads[:3], own], SIZES)
    other = [replace(head, W_K=heads[k % 2].W_K + k % 2) for k, head in enumerate(heads)]
    assert not domain.contains(other, SIZES)
    assert not domain.contains(heads[:3], SIZES)
    piece = SharedHeads(2, 1, 1).piece(SymbolicUnknowns(next(cases())), {}, {})
    assert piece.object[0].W_K.item() == piece.object[1].W_K.item()
    assert SharedHeads(2, 1, 1).groups == 1


def test_heads_make_groups_of_equal_size():
    domain = SharedHeads("H", 1, 1, groups="G")
    assert [domain.excluded({"H": heads, "G": groups}) for heads, groups in ((4, 2), (3, 3), (6, 1))] == [""] * 3
    for heads, groups in ((4, 3), (2, 4), (0, 1)):
        assert domain.excluded({"H": heads, "G": groups}) == f"{heads} heads do not make {groups} groups of equal size"


# ---- layers -----------------------------------------------------------------


@SYSTEMS
@pytest.mark.parametrize("out", [None, "v"])
def test_a_relu_layer_has_its_weights(system, out):
    domain, e = ReluLayer("d", "H", out), 5 if out else 3
    assert shapes(domain) == {"W_1": (3, 4), "b_1": (1, 4), "W_2": (4, e), "b_2": (1, e)}
    arrays = raw(domain, system)
    layer = domain.build(arrays, {}, SIZES)
    assert isinstance(layer, MLP)
    assert all((getattr(layer, name) == values).all() for name, values in arrays.items())
    assert domain.contains(layer, SIZES)
    assert not domain.contains(layer, {**SIZES, "d": 2})
    assert not domain.contains(Head(*[system.array([[1]])] * 4), SIZES)
    piece = ReluLayer(1, 2).piece(SymbolicUnknowns(next(cases())), {}, {})
    assert piece.object.W_1.shape == (1, 2)
