"""Published statements on folding weights into their neighbours."""

import numpy as np

from resstream.arithmetic import mean, ones, square, total
from resstream.claim import claim, equal, every, more_than
from resstream.claims.sources import READING
from resstream.domains import Matrix, NonConstant, NonNegative, NonZero, Positive, RowStochastic, Vector
from resstream.reference import Head, centre, head_scores, layer_norm, rms_norm

FOLDING = "public reports on folding weights in interpretability libraries"

# ---- folding weights --------------------------------------------------------


@claim(
    "literature.value_bias_folding",
    over={
        "A": RowStochastic("n"),
        "X": Matrix("n", "d"),
        "W_V": Matrix("d", "v"),
        "b": Vector("v"),
        "W_O": Matrix("v", "d"),
    },
    sizes={name: range(1, 4) for name in "ndv"},
    source=FOLDING,
)
def literature_value_bias_folding(A, X, W_V, b, W_O):
    """A value bias b can be folded into the output bias as b W_O: attention weights sum to one, so every token gets it
    once.
    """
    return equal(A @ (X @ W_V + b) @ W_O, A @ X @ W_V @ W_O + b @ W_O)


@claim(
    "literature.value_bias_folding_unnormalised",
    over={"A": NonNegative("n", "n"), "V": Matrix("n", "v"), "b": Vector("v")},
    sizes={name: range(1, 4) for name in "nv"},
    source=f"{FOLDING}; with weights that do not sum to one",
    expect="fails",
)
def literature_value_bias_folding_unnormalised(A, V, b):
    """Tempting and false: a value bias can be folded for any nonnegative weights. Row i receives it as often as its
    weights sum to: ReLU or linear attention, or a row whose keys are all masked, do not fold.
    """
    return equal(A @ (V + b), A @ V + b)


FOLDED = {
    "x": NonConstant("d"),
    "gain": Vector("d"),
    "bias": Vector("d"),
    "W": Matrix("d", "e"),
    "b": Vector("e"),
}
FOLDED_SIZES = {"d": range(2, 5), "e": range(1, 4)}


def _folded(gain, W):
    return gain.mT * W


def _centred_columns(W):
    """Every column less its mean: (..., d, e) -> (..., d, e)."""
    return W - mean(W, -2)


@claim("literature.layernorm_folding", over=FOLDED, sizes=FOLDED_SIZES, source=FOLDING)
def literature_layernorm_folding(x, gain, bias, W, b):
    """LayerNorm's gain and bias fold into the next map, (LN(x) g + c) W + b = LN(x) F + (b + cW) with F = diag(g) W;
    and centring the columns of F changes nothing, as LN(x) sums to zero.
    """
    F, shifted = _folded(gain, W), b + bias @ W
    out = layer_norm(x, gain, bias) @ W + b
    return every(
        equal(layer_norm(x) @ F + shifted, out),
        equal(layer_norm(x) @ _centred_columns(F) + shifted, out),
    )


@claim(
    "literature.layernorm_folding_without_bias",
    over=FOLDED,
    sizes=FOLDED_SIZES,
    source=f"{FOLDING}; a fold that passes where gain is 1 and bias 0",
    expect="fails",
)
def literature_layernorm_folding_without_bias(x, gain, bias, W, b):
    """Tempting and false: folding the gain alone is enough. The bias must go into the next map's bias as cW."""
    return equal(layer_norm(x) @ _folded(gain, W) + b, layer_norm(x, gain, bias) @ W + b)


@claim(
    "literature.rmsnorm_folding",
    over={**FOLDED, "x": NonZero(1, "d")},
    sizes=FOLDED_SIZES,
    source=FOLDING,
)
def literature_rmsnorm_folding(x, gain, bias, W, b):
    """RMSNorm's gain and bias fold into the next map in the same way."""
    out = rms_norm(x, gain, bias) @ W + b
    return equal(rms_norm(x) @ _folded(gain, W) + (b + bias @ W), out)


@claim(
    "literature.rmsnorm_folding_centred",
    over={"x": NonZero(1, "d"), "W": Matrix("d", "e")},
    sizes=FOLDED_SIZES,
    source=f"{FOLDING}; LayerNorm's step taken with RMSNorm",
    expect="fails",
)
def literature_rmsnorm_folding_centred(x, W):
    """Tempting and false: the map that reads an RMSNorm may be centred as one that reads a LayerNorm may."""
    return equal(rms_norm(x) @ _centred_columns(W), rms_norm(x) @ W)


WRITERS = {"x": Vector("d"), "h": Vector("e"), "W": Matrix("e", "d")}


def stream_off_the_line(x, h, W):
    """The stream after the write is no multiple of the all-ones vector."""
    return more_than(total(square(centre(x + h @ W))), 0)


@claim(
    "literature.centred_writers",
    over=WRITERS,
    assuming=(stream_off_the_line,),
    sizes=FOLDED_SIZES,
    source=FOLDING,
)
def literature_centred_writers(x, h, W):
    """What writes to the stream may be centred where LayerNorm reads it: LN(x + hW) = LN(x + hWP), P = I - 11'/d.

    Proof: the two streams differ by a multiple of the all-ones vector.
    """
    return equal(layer_norm(x + h @ centre(W)), layer_norm(x + h @ W))


def stream_and_centred_stream_not_zero(x, h, W):
    """Neither stream is zero."""
    return every(
        more_than(total(square(x + h @ W)), 0),
        more_than(total(square(x + h @ centre(W))), 0),
    )


@claim(
    "literature.centred_writers_rmsnorm",
    over=WRITERS,
    assuming=(stream_and_centred_stream_not_zero,),
    sizes=FOLDED_SIZES,
    source=f"{FOLDING}; the same with RMSNorm",
    expect="fails",
)
def literature_centred_writers_rmsnorm(x, h, W):
    """Tempting and false: writers may be centred where RMSNorm reads the stream. RMSNorm sees the mean direction."""
    return equal(rms_norm(x + h @ centre(W)), rms_norm(x + h @ W))


# ---- what does not fold -----------------------------------------------------


@claim(
    "folding.layer_norm_is_folded",
    over={"x": NonConstant("d"), "c": Positive(), "W": Matrix("d", "e")},
    sizes=FOLDED_SIZES,
    source=f"{READING}, Simplifications",
    expect="fails",
)
def folding_layer_norm_is_folded(x, c, W):
    """False: LayerNorm and a linear map after it are one linear map of the stream, as folding into weights would make
    them: LN(cx) W = c LN(x) W.

    Printed: layer normalisation and biases are dropped, as they can be folded into adjacent weights.
    Read: exactly, for every stream.
    Right: the gain and the centring fold (literature.layernorm_folding), the division by the deviation does not: it is
    another number for each token. Biases fold where the stream has a dimension that is always one
    (folding.bias_needs_a_constant_dimension).
    Fault: imprecise.
    """
    return equal(layer_norm(c * x) @ W, c * (layer_norm(x) @ W))


FOLDED_HEAD = {"X": Matrix("n", "d"), "W_Q": Matrix("d", "h"), "W_K": Matrix("d", "h"), "b": Vector("h")}


@claim(
    "folding.bias_needs_a_constant_dimension",
    over=FOLDED_HEAD,
    sizes={"n": range(1, 4), "d": range(1, 4), "h": range(1, 3)},
    source=f"{READING}, Simplifications",
)
def folding_bias_needs_a_constant_dimension(X, W_Q, W_K, b):
    """A query bias folds into the query map as one row more, for a stream with one coordinate more that is always 1."""
    wider = np.concatenate([X, ones((1, 1), like=X) + 0 * X[..., :1]], axis=-1)
    none = 0 * W_K[..., :1, :]
    query, key = (np.concatenate(rows, axis=-2) for rows in ((W_Q, b), (W_K, none)))
    folded = Head(query, key, key, query.mT)
    return equal(head_scores(wider, folded), head_scores(X, Head(W_Q, W_K, W_K, W_Q.mT, b, none)))


@claim(
    "folding.bias_without_a_constant_dimension",
    over={**FOLDED_HEAD, "F": Matrix("d", "h")},
    sizes={"n": range(1, 3), "d": range(1, 3), "h": range(1, 3)},
    source=f"{READING}, Simplifications, for a stream without a constant dimension",
    expect="fails",
)
def folding_bias_without_a_constant_dimension(X, W_Q, W_K, b, F):
    """Tempting and false: a query bias folds into the query map as it is, for some map F in its place. At x = 0 a map
    without bias gives 0.
    """
    none = 0 * b
    biased, folded = Head(W_Q, W_K, W_K, W_Q.mT, b, none), Head(F, W_K, W_K, W_Q.mT)
    return equal(head_scores(X, biased), head_scores(X, folded))
