"""Attention-only models as the claims on circuits, paths and composition quantify over them."""

from dataclasses import replace

import numpy as np

from resstream.domains import AttentionOnly, Causal, Matrix, Stack, Tokens

MODEL = AttentionOnly("L", "H", "d", "h", "V")


def given_patterns(layers, heads):
    """Models whose patterns are given: positions and biases, which act on the patterns alone, are left out."""
    return AttentionOnly(layers, heads, "d", "h", "V", base=None, biased=False)


PATTERNS = Stack("L", Stack("H", Causal("n")))
GIVEN = {"model": given_patterns("L", "H"), "tokens": Tokens("n", "V"), "patterns": PATTERNS}


RANGES = {
    "L": range(1, 3),
    "H": range(1, 3),
    "d": range(2, 4),
    "h": range(2, 3),
    "V": range(2, 4),
    "n": range(1, 4),
}


def ranges(names, **others):
    """The usual ranges of the sizes named, small enough to judge whole models, and others in their place."""
    return {**{name: RANGES[name] for name in names}, **others}


MODEL_SIZES = ranges("LHdhVn")
QK = {"W_Q": Matrix("d", "h"), "W_K": Matrix("d", "h")}
OV = {"W_V": Matrix("d", "h"), "W_O": Matrix("h", "d")}
HEAD_SIZES = {"d": range(2, 5), "h": range(1, 3)}


def add(terms):
    """The sum of arrays."""
    return sum(terms[1:], start=terms[0])


def stacked(patterns):
    """Attention patterns by layer, each (..., H, n, n), from lists of heads in layers."""
    return [np.stack(heads, axis=-3) for heads in patterns]


def with_layer(weights, layer, new):
    """The weights (..., L, H, rows, columns) of a model with others for one layer, (..., 1, H, rows, columns)."""
    return np.concatenate([weights[..., :layer, :, :, :], new, weights[..., layer + 1 :, :, :, :]], axis=-4)


def layer_of(weights, layer):
    """The weights of one layer, (..., 1, H, rows, columns)."""
    return weights[..., layer : layer + 1, :, :, :]


def for_heads(M):
    """A matrix (..., d, d) that multiplies the weights of every head."""
    return M[..., None, None, :, :]


def silenced(model, layer):
    """The model with a layer whose heads write nothing."""
    return replace(model, W_O=with_layer(model.W_O, layer, 0 * layer_of(model.W_O, layer)))
