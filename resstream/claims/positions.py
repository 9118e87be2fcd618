"""Positions and second streams: rotary and sinusoidal encodings, positions kept out of the values, cross-attention."""

import numpy as np

from resstream.arithmetic import amax, amin, cos, exact, exp, log, ones, sin, sqrt, square, total, zeros
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.claims.sources import ANNOTATED, PAGE
from resstream.domains import AttentionOnly, Count, Matrix, Permutation, RowStochastic, Tokens, Vector, Whole
from resstream.reference import (
    Head,
    attention,
    attention_weights,
    full_ov_circuit,
    full_qk_circuit,
    head_output,
    head_weights,
    ov_circuit,
    qk_circuit,
    rotary,
    rotary_inverse,
    sinusoidal,
    softmax,
)

EVEN = range(2, 7, 2)
PLACES = Whole(0, 4096, "n", 1)
ONE_PLACE = Whole(0, 4096)

# ---- rotary positions -------------------------------------------------------


@claim(
    "rotary.isometry",
    over={"X": Matrix("n", "d"), "places": PLACES},
    sizes={"n": range(1, 4), "d": EVEN},
    source=f"{PAGE}, Definition 1 (rotary positions)",
)
def rotary_isometry(X, places):
    """Rotary positions keep the length of every row."""
    return equal(total(square(rotary(X, places))), total(square(X)))


@claim(
    "rotary.relative_offset",
    over={"Q": Matrix("n", "d"), "K": Matrix("n", "d"), "at": PLACES, "keys_at": PLACES, "shift": ONE_PLACE},
    sizes={"n": range(1, 3), "d": EVEN},
    source=f"{PAGE}, Definition 1 (rotary positions)",
)
def rotary_relative_offset(Q, K, at, keys_at, shift):
    """Moving queries and keys by the same distance leaves their scores as they are."""
    scores = rotary(Q, at) @ rotary(K, keys_at).mT
    return equal(rotary(Q, at + shift) @ rotary(K, keys_at + shift).mT, scores)


@claim(
    "rotary.one_side_moved",
    over={"Q": Matrix("n", "d"), "K": Matrix("n", "d"), "at": PLACES, "shift": ONE_PLACE},
    sizes={"n": range(1, 3), "d": EVEN},
    source="a tempting strengthening of the relative offset",
    expect="fails",
)
def rotary_one_side_moved(Q, K, at, shift):
    """False: moving the queries alone leaves the scores as they are."""
    return equal(rotary(Q, at + shift) @ rotary(K, at).mT, rotary(Q, at) @ rotary(K, at).mT)


@claim(
    "rotary.score_is_rotation_by_offset",
    over={"q": Vector("d"), "k": Vector("d"), "m": ONE_PLACE, "n": ONE_PLACE},
    sizes={"d": EVEN},
    source=f"{PAGE}, Induction heads",
)
def rotary_score_is_rotation_by_offset(q, k, m, n):
    """The score of a query at m and a key at n is that of the query as it is and the key turned back by m - n."""
    return equal(rotary(q, m) @ rotary(k, n).mT, q @ rotary_inverse(k, m - n).mT)


@claim(
    "rotary.composes",
    over={"X": Matrix("n", "d"), "places": PLACES, "more": PLACES},
    sizes={"n": range(1, 3), "d": EVEN},
    source=f"{PAGE}, Definition 1 (rotary positions)",
)
def rotary_composes(X, places, more):
    """Turning by one position and then by another is turning by their sum; turning back undoes it."""
    turned = rotary(X, places)
    return every(equal(rotary(turned, more), rotary(X, places + more)), equal(rotary_inverse(turned, places), X))


@claim(
    "rotary.before_the_map",
    over={"X": Matrix("n", "d"), "W": Matrix("d", "d"), "places": PLACES},
    sizes={"n": range(1, 3), "d": EVEN},
    source=f"{PAGE}, proof of Proposition 4 (the rotation comes after the product)",
    expect="fails",
)
def rotary_before_the_map(X, W, places):
    """False: the stream may be turned before the query map instead of the queries after it."""
    return equal(rotary(X, places) @ W, rotary(X @ W, places))


@claim(
    "rotary.mixed_conventions",
    over={"X": Matrix("n", "d"), "places": PLACES},
    sizes={"n": range(1, 3), "d": range(4, 7, 2)},
    source="public reports of models that mixed two rotary conventions",
    expect="fails",
)
def rotary_mixed_conventions(X, places):
    """A reported fault: angles laid out for neighbouring pairs, turning column i with column i + d/2, keep lengths.

    Either convention does when used throughout; the mixture is no rotation, except at position 0.
    """
    d = X.shape[-1]
    rates = np.concatenate([frequency(2 * (i // 2), d, like=X) for i in range(d)], axis=-1)
    halves = np.concatenate([-X[..., d // 2 :], X[..., : d // 2]], axis=-1)
    angles = places * rates
    return equal(total(square(X * cos(angles) + halves * sin(angles))), total(square(X)))


def frequency(i, d, like):
    """10000^(-i/d), shape (1, 1)."""
    return exp(exact(-i, d) * log(10_000 * ones((1, 1), like)))


@claim(
    "rotary.content_free_kernel",
    over={"model": AttentionOnly(1, "H", "d", "h", "V"), "n": Count("n")},
    sizes={"H": range(1, 3), "d": range(2, 4), "h": range(2, 5, 2), "V": range(2, 3), "n": range(1, 5)},
    source=f"{PAGE}, Induction heads",
)
def rotary_content_free_kernel(model, n):
    """The part of a score that comes from the biases is b_q R(-D) b_k/sqrt h, a function of the offset D alone."""
    scores = model.scores(0, zeros((n, model.embedding.shape[-1]), like=model.embedding))
    kernel = model.content_free_kernel(range(1 - n, n))[..., 0, :, 0, :]
    offsets = np.arange(n)[:, None] - np.arange(n)[None, :]
    return equal(scores, np.take(kernel, offsets + n - 1, axis=-1))


@claim(
    "rotary.own_kernel_peaks_at_zero",
    over={"b": Vector("d"), "offset": ONE_PLACE},
    sizes={"d": EVEN},
    source=f"after {PAGE}, Induction heads",
)
def rotary_own_kernel_peaks_at_zero(b, offset):
    """Where the query bias is the key bias, no offset scores higher than 0. (A rotation keeps the length.)"""
    return at_most(b @ rotary_inverse(b, offset).mT, b @ b.mT)


@claim(
    "rotary.kernel_peaks_at_zero",
    over={"b_q": Vector("d"), "b_k": Vector("d"), "offset": ONE_PLACE},
    sizes={"d": EVEN},
    source="a tempting reading of rotary positions as decay with distance",
    expect="fails",
)
def rotary_kernel_peaks_at_zero(b_q, b_k, offset):
    """Tempting and false: the content-free score is largest at offset 0. A previous-token head has its peak at 1."""
    return at_most(b_q @ rotary_inverse(b_k, offset).mT, b_q @ b_k.mT)


# ---- sinusoidal encodings ---------------------------------------------------


@claim(
    "sinusoidal.shift_is_rotation",
    over={"places": PLACES, "shift": ONE_PLACE, "X": Matrix("n", "d")},
    sizes={"n": range(1, 4), "d": EVEN},
    source=f"{ANNOTATED}, 5.1",
)
def sinusoidal_shift_is_rotation(places, shift, X):
    """The encoding of a position k further on is a fixed rotation of the encoding, which depends on k alone."""
    encoding = sinusoidal(places, X.shape[-1], like=X)
    return equal(sinusoidal(places + shift, X.shape[-1], like=X), rotary(encoding, -shift + 0 * places))


@claim(
    "sinusoidal.inner_product_depends_on_offset",
    over={"a": ONE_PLACE, "b": ONE_PLACE, "x": Vector("d")},
    sizes={"d": EVEN},
    source=f"{ANNOTATED}, 5.1",
)
def sinusoidal_inner_product_depends_on_offset(a, b, x):
    """The inner product of two encodings is the sum of cos((a - b) w) over the frequencies w: even in the offset, and
    d/2 at offset 0.
    """
    d = x.shape[-1]
    first, second = (sinusoidal(place, d, like=x) for place in (a, b))
    rates = np.concatenate([frequency(i, d, like=x) for i in range(0, d, 2)], axis=-1)
    return every(
        equal(first @ second.mT, total(cos((a - b) * rates))),
        equal(2 * total(square(first)), d),
    )


@claim(
    "sinusoidal.inner_product_decays",
    over={"near": Whole(0, 64), "further": Whole(0, 64), "x": Vector("d")},
    sizes={"d": EVEN},
    source="a tempting reading of sinusoidal encodings as a distance",
    expect="fails",
)
def sinusoidal_inner_product_decays(near, further, x):
    """Tempting and false: the further apart two positions, the smaller the inner product of their encodings."""
    origin, first, second = (sinusoidal(at, x.shape[-1], like=x) for at in (0 * near, near, near + further))
    return at_least(origin @ first.mT, origin @ second.mT)


# ---- where positions go -----------------------------------------------------

HEAD = {"W_Q": Matrix("d", "h"), "W_K": Matrix("d", "h"), "W_V": Matrix("d", "h"), "W_O": Matrix("h", "d")}
HEAD_SIZES = {"n": range(2, 4), "d": range(1, 4), "h": range(1, 3)}


@claim(
    "positions.order_is_invisible",
    over={"X": Matrix("n", "d"), "order": Permutation("n"), **HEAD},
    sizes=HEAD_SIZES,
    source=f"{ANNOTATED}, 5 (plain language)",
    expect="fails",
)
def positions_order_is_invisible(X, order, W_Q, W_K, W_V, W_O):
    """False as printed: without positions, attention gives the same output for any order of the tokens.

    Printed: a pure self-attention model cannot tell two orders of the same words apart; they would produce the same
    output.
    Read: the output as a matrix with a row for each position, from which the next word is predicted. (As a set of rows,
    one for each word, it is the same, which is what the sentence is after.)
    Right: the outputs are permuted with the tokens (attention.permutation_equivariant), so each token's own output is
    the same in any order, and the matrix of outputs is not.
    Fault: imprecise.
    """
    head = Head(W_Q, W_K, W_V, W_O)
    return equal(head_output(order @ X, head), head_output(X, head))


@claim(
    "positions.mean_output_is_invariant",
    over={"X": Matrix("n", "d"), "order": Permutation("n"), **HEAD},
    sizes=HEAD_SIZES,
    source=f"{ANNOTATED}, 5, put right",
)
def positions_mean_output_is_invariant(X, order, W_Q, W_K, W_V, W_O):
    """Without positions and mask, what is summed over all tokens of a head's output does not depend on their order."""
    head = Head(W_Q, W_K, W_V, W_O)
    return equal(total(head_output(order @ X, head), -2), total(head_output(X, head), -2))


SPLIT = {"content": Matrix("n", "d"), "places": Matrix("n", "d"), "W_Q": Matrix("d", "h"), "W_K": Matrix("d", "h")}
SPLIT_SIZES = {"n": range(1, 4), "d": range(1, 4), "h": range(1, 3)}


SHORTFORMER = {"X": Matrix("n", "d"), "P": Matrix("n", "d"), **HEAD, "u": Vector("d")}


def inside_the_hull(outputs, values, u):
    """Seen through the functional u, every output lies between the least and the largest value."""
    seen, given = total(outputs * u), total(values * u)
    return every(at_most(seen, amax(given, -2)), at_least(seen, amin(given, -2)))


@claim(
    "shortformer.values_position_blind",
    over=SHORTFORMER,
    sizes=HEAD_SIZES,
    source=f"{ANNOTATED}, 5.2 (positions in queries and keys only)",
)
def shortformer_values_position_blind(X, P, W_Q, W_K, W_V, W_O, u):
    """With positions added to queries and keys alone, positions choose among contents and add nothing of their own:
    every output lies in the hull of the writes x_j W_OV that the tokens make without positions, whatever the positions
    are.
    """
    weights, contents = head_weights(X + P, Head(W_Q, W_K, W_V, W_O)), X @ ov_circuit(W_V, W_O)
    return inside_the_hull(weights @ contents, contents, u)


@claim(
    "shortformer.values_position_blind_in_the_stream",
    over=SHORTFORMER,
    sizes=HEAD_SIZES,
    source=f"{ANNOTATED}, 5.2 (the standard scheme)",
    expect="fails",
)
def shortformer_values_position_blind_in_the_stream(X, P, W_Q, W_K, W_V, W_O, u):
    """False of positions added to the stream: every output lies in the hull of what the tokens write without them."""
    return inside_the_hull(head_output(X + P, Head(W_Q, W_K, W_V, W_O)), X @ ov_circuit(W_V, W_O), u)


@claim(
    "positional_split.sum",
    over={
        "model": AttentionOnly(1, "H", "d", "h", "V", base=None, biased=False),
        "tokens": Tokens("n", "V"),
        "places": Matrix("n", "d"),
    },
    sizes={"H": range(1, 3), "d": range(1, 4), "h": range(1, 3), "V": range(2, 4), "n": range(1, 4)},
    source=f"{ANNOTATED}, 5.2 and 9.4",
)
def positional_split_sum(model, tokens, places):
    """With positions in the stream, a score times sqrt h is the entry of the full QK circuit that the two tokens name,
    plus the entry of W_pos W_QK W_pos' that the two positions name, and two cross terms.
    """
    scores = model.scores(0, tokens @ model.embedding + places)
    root = sqrt(model.W_Q.shape[-1] * ones((1, 1), like=places))
    relations = []
    for head in range(model.heads):
        W_Q, W_K = model.W_Q[..., 0, head, :, :], model.W_K[..., 0, head, :, :]
        content = tokens @ full_qk_circuit(model.embedding, W_Q, W_K) @ tokens.mT
        position = full_qk_circuit(places, W_Q, W_K)
        crossed = tokens @ model.embedding @ qk_circuit(W_Q, W_K) @ places.mT
        back = places @ qk_circuit(W_Q, W_K) @ (tokens @ model.embedding).mT
        relations.append(equal(scores[..., head, :, :] * root, content + position + crossed + back))
    return every(*relations)


@claim(
    "positional_split.without_cross_terms",
    over=SPLIT,
    sizes=SPLIT_SIZES,
    source=f"{ANNOTATED}, 5.2 (without its cross terms)",
    expect="fails",
)
def positional_split_without_cross_terms(content, places, W_Q, W_K):
    """Tempting and false: a score is what the tokens say plus what the positions say."""
    W_QK, X = qk_circuit(W_Q, W_K), content + places
    return equal((X @ W_Q) @ (X @ W_K).mT, content @ W_QK @ content.mT + places @ W_QK @ places.mT)


# ---- cross-attention --------------------------------------------------------

TWO_STREAMS = {"X": Matrix("n", "d"), "Y": Matrix("m", "d"), **HEAD}
TWO_STREAM_SIZES = {"n": range(1, 3), "m": range(1, 4), "d": range(1, 4), "h": range(1, 3)}


@claim("cross_attention.circuits", over=TWO_STREAMS, sizes=TWO_STREAM_SIZES, source=f"{ANNOTATED}, 12")
def cross_attention_circuits(X, Y, W_Q, W_K, W_V, W_O):
    """Queries from one stream, keys and values from another: two products say all of it. The pattern is softmax of
    x_i W_QK y_j'/sqrt h, and the output sums A_ij y_j W_OV, linear in the other stream where the pattern is given.
    """
    scores = X @ qk_circuit(W_Q, W_K) @ Y.mT / sqrt(W_Q.shape[-1] * ones((1, 1), like=X))
    whole = attention(X @ W_Q, Y @ W_K, Y @ W_V) @ W_O
    return equal(whole, softmax(scores) @ Y @ ov_circuit(W_V, W_O))


@claim(
    "cross_attention.of_one_stream",
    over={"X": Matrix("n", "d"), **HEAD},
    sizes=HEAD_SIZES,
    source=f"{ANNOTATED}, 12.1",
)
def cross_attention_of_one_stream(X, W_Q, W_K, W_V, W_O):
    """Cross-attention of a stream with itself has the pattern of self-attention."""
    return equal(attention_weights(X @ W_Q, X @ W_K), head_weights(X, Head(W_Q, W_K, W_V, W_O)))


@claim(
    "cross_attention.translation_table",
    over={
        "A": RowStochastic("n", "m"),
        "source": Tokens("m", "V"),
        "written": Matrix("m", "d"),
        "E": Matrix("V", "d"),
        "W_V": Matrix("d", "h"),
        "W_O": Matrix("h", "d"),
        "U": Matrix("d", "T"),
    },
    sizes={"n": range(1, 3), "m": range(1, 3), "V": range(2, 4), "T": range(1, 3), "d": range(1, 3), "h": range(1, 2)},
    source=f"{ANNOTATED}, 12 (plain language) and 12.2",
    expect="fails",
)
def cross_attention_translation_table(A, source, written, E, W_V, W_O, U):
    """False as printed: what cross-attention adds to the logits is read off a table with a row for each source token.

    Printed: the full OV circuit W_E W_OV W_U of cross-attention is literally a learned translation table.
    Right: for an encoder without layers. Otherwise cross-attention reads the encoder's output, the embedding plus all
    that the encoder wrote, and the table holds the embedding's share alone.
    Fault: imprecise.
    """
    added = A @ (source @ E + written) @ ov_circuit(W_V, W_O) @ U
    return equal(added, A @ source @ full_ov_circuit(E, W_V, W_O, U))


@claim(
    "cross_attention.encoder_share",
    over={
        "A": RowStochastic("n", "m"),
        "source": Tokens("m", "V"),
        "written": Matrix("m", "d"),
        "E": Matrix("V", "d"),
        "W_V": Matrix("d", "h"),
        "W_O": Matrix("h", "d"),
        "U": Matrix("d", "T"),
    },
    sizes={"n": range(1, 3), "m": range(1, 3), "V": range(2, 4), "T": range(1, 3), "d": range(1, 3), "h": range(1, 2)},
    source=f"{ANNOTATED}, 12.2, put right",
)
def cross_attention_encoder_share(A, source, written, E, W_V, W_O, U):
    """Cross-attention adds the table's rows of the source tokens plus the encoder's writes through W_OV U."""
    added = A @ (source @ E + written) @ ov_circuit(W_V, W_O) @ U
    return equal(added, A @ (source @ full_ov_circuit(E, W_V, W_O, U) + written @ W_V @ W_O @ U))
