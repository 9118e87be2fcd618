"""Circuits of a head: where it looks and what it moves, in which bases, and as factored matrices.

Row vectors throughout: a stream is read as x @ W and written to by addition, so a head writes into the row space of its
OV circuit W_V W_O and reads through the column space of a map. "The annotated edition" uses rows too; "the framework"
prints columns, and its matrices are turned here.
"""

from dataclasses import replace

import numpy as np

from resstream.arithmetic import eye, ones, power, sqrt, square, total, total_entry
from resstream.claim import at_most, claim, equal, every, more_than
from resstream.claims.models import GIVEN, HEAD_SIZES, OV, QK, add, for_heads, ranges, stacked
from resstream.claims.sources import ANNOTATED, FRAMEWORK, PAGE, READING, SUMMARY, TEXTBOOK
from resstream.domains import (
    Causal,
    Count,
    InvertiblePair,
    Matrix,
    NonConstant,
    NonZero,
    Orthogonal,
    RowStochastic,
    Stack,
    Whole,
)
from resstream.reference import (
    Head,
    centre,
    full_ov_circuit,
    full_qk_circuit,
    head_scores,
    layer_norm,
    ov_circuit,
    qk_circuit,
    rms_norm,
    rotary,
)
from resstream.reference.spectrum import determinant, rank, trace

# ---- heads and the stream ---------------------------------------------------


@claim(
    "circuits.head_writes_sum",
    over=GIVEN,
    sizes=ranges("LHdVn", h=range(1, 3)),
    source=f"{PAGE}, Definition 4; {ANNOTATED}, 13.1",
)
def circuits_head_writes_sum(model, tokens, patterns):
    """The final stream is the embedding plus what every head of every layer wrote, and so are the logits, through U."""
    x0 = tokens @ model.embedding
    run = model.run(x0, patterns=stacked(patterns))
    ov = model.ov_circuits
    writes = [
        A @ state @ ov[..., layer, h, :, :]
        for layer, (state, heads) in enumerate(zip(run.states[:-1], patterns, strict=True))
        for h, A in enumerate(heads)
    ]
    return every(
        equal(run.states[-1], add([x0, *writes])),
        equal(run.logits, add([part @ model.unembedding for part in (x0, *writes)])),
    )


@claim(
    "circuits.head_is_tensor_product",
    over={"A": RowStochastic("n"), "X": Matrix("n", "d"), "W_V": Matrix("d", "h"), "W_O": Matrix("h", "d")},
    sizes={"n": range(1, 4), "d": range(1, 4), "h": range(1, 3)},
    source=f"{FRAMEWORK}; {SUMMARY}",
)
def circuits_head_is_tensor_product(A, X, W_V, W_O):
    """A head acts on the whole stream as A (x) W_OV: entry (i, a) of A X W_OV sums A_ij X_jb W_OV_ba."""
    n, d = X.shape[-2:]
    outer = A[..., :, None, :, None] * ov_circuit(W_V, W_O).mT[..., None, :, None, :]
    flat = X.reshape(*X.shape[:-2], n * d, 1)
    image = outer.reshape(*outer.shape[:-4], n * d, n * d) @ flat
    return equal(A @ X @ W_V @ W_O, image.reshape(X.shape))


@claim(
    "circuits.virtual_head",
    over={
        "X": Matrix("n", "d"),
        "patterns": Stack(2, Causal("n")),
        "W_V": Stack(2, Matrix("d", "h")),
        "W_O": Stack(2, Matrix("h", "d")),
    },
    sizes={"n": range(1, 4), "d": range(1, 4), "h": range(1, 3)},
    source=f"{FRAMEWORK}; {ANNOTATED}, 16.2",
)
def circuits_virtual_head(X, patterns, W_V, W_O):
    """V-composition makes a virtual head: one head reading another's write attends by A_2 A_1, a causal pattern again,
    and moves W_OV_1 W_OV_2.
    """
    (first, second), ovs = patterns, list(map(ov_circuit, W_V, W_O))
    pattern = second @ first
    future = 1 - np.tri(X.shape[-2], dtype=int)
    return every(
        equal(second @ (first @ X @ ovs[0]) @ ovs[1], pattern @ X @ (ovs[0] @ ovs[1])),
        equal(total(pattern), 1),
        equal(pattern * future, 0),
    )


@claim(
    "circuits.virtual_head_is_no_stronger",
    over={"W_V": Stack(2, Matrix("d", "h")), "W_O": Stack(2, Matrix("h", "d"))},
    sizes={"d": range(1, 4), "h": range(1, 3)},
    source=f"{ANNOTATED}, 16.2",
)
def circuits_virtual_head_is_no_stronger(W_V, W_O):
    """What a virtual head moves is no richer than what either head moves: W_OV_1 W_OV_2 has at most the rank of each.

    Printed: two composing heads act like a single more powerful head.
    Right: they act like one head more, with the pattern A_2 A_1 (a product, which one softmax need not be able to make)
    and an OV circuit whose rank is at most that of either; its gain in power is in where it looks.
    Fault: imprecise.
    """
    first, second = map(ov_circuit, W_V, W_O)
    virtual = rank(first @ second)
    return every(at_most(virtual, rank(first)), at_most(virtual, rank(second)))


@claim(
    "circuits.virtual_weights",
    over={
        "x": Matrix("n", "d"),
        "between": Stack("L", Matrix("n", "d")),
        "hidden": Matrix("n", "h"),
        "W_out": Matrix("h", "d"),
        "W_in": Matrix("d", "k"),
    },
    sizes={"n": range(1, 3), "d": range(1, 4), "h": range(1, 3), "k": range(1, 3), "L": range(1, 4)},
    source=f"{TEXTBOOK}, Reading and writing; {READING}",
)
def circuits_virtual_weights(x, between, hidden, W_out, W_in):
    """Whatever lies between, the part of a later layer's input that an earlier one wrote is its activation times
    W_out W_in.
    """
    without = add([x, *between])
    return equal((without + hidden @ W_out) @ W_in - without @ W_in, hidden @ (W_out @ W_in))


@claim(
    "circuits.scores_from_qk",
    over={"X": Matrix("n", "d"), "A": RowStochastic("n"), **QK, **OV},
    sizes={**HEAD_SIZES, "n": range(1, 4)},
    source=f"{ANNOTATED}, 6.2",
)
def circuits_scores_from_qk(X, A, W_Q, W_K, W_V, W_O):
    """A head's scores are x_i W_QK x_j'/sqrt h, and its output, whatever the pattern, sums A_ij x_j W_OV: two products
    say all of it.
    """
    head = Head(W_Q, W_K, W_V, W_O)
    scores = X @ qk_circuit(W_Q, W_K) @ X.mT / sqrt(W_Q.shape[-1] * ones((1, 1), like=X))
    return every(
        equal(head_scores(X, head), scores),
        equal(A @ (X @ W_V) @ W_O, A @ X @ ov_circuit(W_V, W_O)),
    )


@claim(
    "circuits.conventions",
    over={"X": Matrix("n", "d"), **QK, **OV},
    sizes={**HEAD_SIZES, "n": range(1, 4)},
    source=f"{ANNOTATED}, 8.2",
)
def circuits_conventions(X, W_Q, W_K, W_V, W_O):
    """With columns for rows, every matrix is the transpose: the framework's W_QK = W_Q' W_K is the row convention's,
    its W_OV = W_O W_V the transpose, and both give the same scores and writes.
    """
    q, k, v, o = (W.mT for W in (W_Q, W_K, W_V, W_O))  # the maps of columns
    form, move, columns = q.mT @ k, o @ v, X.mT
    return every(
        equal(form, qk_circuit(W_Q, W_K)),
        equal(move, ov_circuit(W_V, W_O).mT),
        equal((q @ columns).mT @ (k @ columns), X @ qk_circuit(W_Q, W_K) @ X.mT),
        equal((move @ columns).mT, X @ ov_circuit(W_V, W_O)),
    )


@claim(
    "circuits.qk_factorisation",
    over={**QK, "change": InvertiblePair("h")},
    sizes=HEAD_SIZES,
    source=f"{READING}, The QK circuit and the OV circuit",
)
def circuits_qk_factorisation(W_Q, W_K, change):
    """Queries through W_Q M and keys through W_K M^-T have the QK circuit of W_Q and W_K, for every invertible M."""
    M, inverse = change
    return equal(qk_circuit(W_Q @ M, W_K @ inverse.mT), qk_circuit(W_Q, W_K))


@claim(
    "circuits.qk_factorisation_with_positions",
    over={"X": Matrix("n", "d"), **QK, "change": InvertiblePair("h")},
    sizes={"n": range(2, 4), "d": range(1, 4), "h": range(2, 3)},
    source=f"a tempting use of {READING}, The QK circuit and the OV circuit, in a model with rotary positions",
    expect="fails",
)
def circuits_qk_factorisation_with_positions(X, W_Q, W_K, change):
    """Tempting and false with rotary positions: such another factorisation leaves the scores as they are.

    The reading speaks of models where nothing stands between the two matrices. Rotary positions act on queries and
    keys, and only an M that commutes with the rotations may go through; query and key biases must be multiplied by M
    and M^-T as well.
    """
    M, inverse = change
    places = range(X.shape[-2])
    scores, changed = (
        rotary(X @ Q, places) @ rotary(X @ K, places).mT for Q, K in ((W_Q, W_K), (W_Q @ M, W_K @ inverse.mT))
    )
    return equal(scores, changed)


@claim(
    "circuits.ov_factorisation",
    over={**OV, "change": InvertiblePair("h")},
    sizes=HEAD_SIZES,
    source=f"{READING}, The QK circuit and the OV circuit",
)
def circuits_ov_factorisation(W_V, W_O, change):
    """Values through W_V M and outputs through M^-1 W_O have the OV circuit of W_V and W_O, for every invertible M."""
    M, inverse = change
    return equal(ov_circuit(W_V @ M, inverse @ W_O), ov_circuit(W_V, W_O))


@claim(
    "circuits.rank",
    over={**QK, **OV, "E": Matrix("V", "d"), "U": Matrix("d", "V")},
    sizes={"d": range(2, 5), "h": range(1, 3), "V": range(2, 5)},
    source=f"{PAGE}, Definition 4; {ANNOTATED}, 6.2 and 9.2",
)
def circuits_rank(W_Q, W_K, W_V, W_O, E, U):
    """QK and OV circuits, from stream to stream or from tokens to tokens, have rank h at most."""
    circuits = (
        qk_circuit(W_Q, W_K),
        ov_circuit(W_V, W_O),
        full_qk_circuit(E, W_Q, W_K),
        full_ov_circuit(E, W_V, W_O, U),
    )
    return every(*(at_most(rank(circuit), W_Q.shape[-1]) for circuit in circuits))


@claim(
    "circuits.rank_of_layer",
    over={"W_V": Stack(2, Matrix("d", "h")), "W_O": Stack(2, Matrix("h", "d"))},
    sizes={"d": range(2, 5), "h": range(1, 2)},
    source="Definition 4's bound for a head, taken for a layer",
    expect="fails",
)
def circuits_rank_of_layer(W_V, W_O):
    """Tempting and false: the OV circuits of a layer's heads sum to a matrix of rank h at most. (It is H h.)"""
    return at_most(rank(add(list(map(ov_circuit, W_V, W_O)))), W_V[0].shape[-1])


# ---- the stream has no privileged basis -------------------------------------


def in_other_basis(model, forward, backward):
    """The model with every write times `forward` and every read after `backward`."""
    reads = {name: for_heads(backward) @ getattr(model, name) for name in ("W_Q", "W_K", "W_V")}
    return replace(
        model,
        embedding=model.embedding @ forward,
        unembedding=backward @ model.unembedding,
        W_O=model.W_O @ for_heads(forward),
        **reads,
    )


def same_in_other_basis(model, tokens, patterns, change):
    """Queries and keys (before positions and biases) and, given the patterns, logits are what they were."""
    patterns, relations = stacked(patterns), []
    models = (model, in_other_basis(model, *change))
    runs = [m.run(tokens @ m.embedding, patterns=patterns) for m in models]
    for layer in range(model.layers):
        streams = [run.states[layer][..., None, :, :] for run in runs]
        for weights in ([m.W_Q for m in models], [m.W_K for m in models]):
            before, after = (x @ W[..., layer, :, :, :] for x, W in zip(streams, weights, strict=True))
            relations.append(equal(after, before))
    return every(*relations, equal(runs[1].logits, runs[0].logits))


@claim(
    "circuits.no_privileged_basis",
    over={**GIVEN, "R": Orthogonal("d")},
    sizes=ranges("LHdVn", h=range(1, 3)),
    source=f"{READING}; {SUMMARY}; {ANNOTATED}, 3.3",
)
def circuits_no_privileged_basis(model, tokens, patterns, R):
    """Rotating every write, and every read back, leaves all queries and keys, hence the patterns, and the logits as
    they are.
    """
    return same_in_other_basis(model, tokens, patterns, (R, R.mT))


@claim(
    "circuits.any_basis",
    over={**GIVEN, "change": InvertiblePair("d")},
    sizes=ranges("LHdVn", h=range(1, 3)),
    source=f"after {ANNOTATED}, 3.3",
)
def circuits_any_basis(model, tokens, patterns, change):
    """Not rotations alone: any invertible B on the writes and B^-1 before the reads will do."""
    return same_in_other_basis(model, tokens, patterns, change)


def rotated_is_not_constant(x, R):
    """The rotated stream is no multiple of the all-ones vector."""
    return more_than(total(square(centre(x @ R))), 0)


@claim(
    "circuits.no_privileged_basis_with_layer_norm",
    over={"x": NonConstant("d"), "R": Orthogonal("d"), "U": Matrix("d", "V")},
    assuming=(rotated_is_not_constant,),
    sizes={"d": range(2, 5), "V": range(1, 4)},
    source=f"{SUMMARY}; {ANNOTATED}, 3.3",
    expect="fails",
)
def circuits_no_privileged_basis_with_layer_norm(x, R, U):
    """False with a LayerNorm before a read: rotating the stream, and every read back, leaves the logits as they are.

    Printed: the stream has no privileged basis; rotate every matrix that interacts with it and nothing changes.
    Read: for the models that these two sources speak of, which have LayerNorm. (The reading of the overview leaves
    LayerNorm out first, and is right.)
    Right: in a model without LayerNorm. LayerNorm singles out the all-ones direction (and its gain, the axes); RMSNorm
    without a gain does not.
    Fault: imprecise.
    """
    return equal(layer_norm(x @ R) @ R.mT @ U, layer_norm(x) @ U)


@claim(
    "circuits.no_privileged_basis_with_rms_norm",
    over={"x": NonZero("n", "d"), "R": Orthogonal("d"), "U": Matrix("d", "V")},
    sizes={"n": range(1, 2), "d": range(2, 5), "V": range(1, 4)},
    source=f"after {READING}",
)
def circuits_no_privileged_basis_with_rms_norm(x, R, U):
    """With RMSNorm (gain 1) before a read, rotating the stream, and every read back, leaves the logits as they are."""
    return equal(rms_norm(x @ R) @ R.mT @ U, rms_norm(x) @ U)


# ---- factored matrices ------------------------------------------------------

FACTORED = {"A": Matrix("d", "h"), "B": Matrix("h", "d")}
FACTORED_SIZES = {"d": range(1, 4), "h": range(1, 3)}


@claim(
    "factored.product",
    over={**FACTORED, "C": Matrix("d", "k"), "D": Matrix("k", "d")},
    sizes={**FACTORED_SIZES, "k": range(1, 3)},
    source=f"{ANNOTATED}, 9.2 and 18.4 (factored matrices)",
)
def factored_product(A, B, C, D):
    """(A B)(C D) is the factored matrix of A and (B C) D, whose inner product is only h x k."""
    return equal((A @ B) @ (C @ D), A @ ((B @ C) @ D))


@claim(
    "factored.frobenius",
    over=FACTORED,
    sizes=FACTORED_SIZES,
    source=f"{ANNOTATED}, 18.4 (factored matrices)",
)
def factored_frobenius(A, B):
    """||A B||_F^2 is the sum of the entries of A'A times those of B B', without the large matrix."""
    return equal(total_entry(square(A @ B)), total_entry((A.mT @ A) * (B @ B.mT)))


@claim(
    "factored.trace",
    over=FACTORED,
    sizes=FACTORED_SIZES,
    source=f"{ANNOTATED}, 9.2 (factored matrices)",
)
def factored_trace(A, B):
    """A B and B A have the same trace."""
    return equal(trace(A @ B), trace(B @ A))


def characteristic(M, t):
    """det(t I - M), at one point t."""
    return determinant(t * eye(M.shape[-1], like=M) - M)


@claim(
    "factored.eigenvalues",
    over={**FACTORED, "t": Whole(-3, 3)},
    sizes={**FACTORED_SIZES, "d": range(2, 4)},
    source=f"{ANNOTATED}, 9.2 (factored matrices)",
)
def factored_eigenvalues(A, B, t):
    """A B has the eigenvalues of the small B A, and zeros: t^h det(t - A B) = t^d det(t - B A) at every t."""
    d, h = A.shape[-2:]
    return equal(power(t, h) * characteristic(A @ B, t), power(t, d) * characteristic(B @ A, t))


@claim(
    "factored.singular_values",
    over={**FACTORED, "t": Whole(-3, 3)},
    sizes={**FACTORED_SIZES, "d": range(2, 4)},
    source=f"{ANNOTATED}, 18.4 (factored matrices)",
)
def factored_singular_values(A, B, t):
    """The squared singular values of A B are the eigenvalues of the small (A'A)(B B'), and zeros."""
    d, h = A.shape[-2:]
    large, small = (A @ B) @ (A @ B).mT, (A.mT @ A) @ (B @ B.mT)
    return equal(power(t, h) * characteristic(large, t), power(t, d) * characteristic(small, t))


@claim(
    "factored.singular_values_swapped",
    over=FACTORED,
    sizes={**FACTORED_SIZES, "d": range(2, 4)},
    source="a tempting analogue of the eigenvalues of a factored matrix",
    expect="fails",
)
def factored_singular_values_swapped(A, B):
    """Tempting and false: as with eigenvalues, A B and B A have the same singular values up to zeros (hence the same
    Frobenius norm).
    """
    return equal(total_entry(square(A @ B)), total_entry(square(B @ A)))


@claim(
    "factored.entries",
    over={"V": Count("V"), "h": Count("h")},
    sizes={"V": range(50257, 50258), "h": range(64, 65)},
    source=f"{ANNOTATED}, 9.2",
)
def factored_entries(V, h):
    """The full OV circuit of a vocabulary of 50,257 has about 2.5 billion entries, 2,525,766,049; its two factors of
    width 64 have 6,432,896.
    """
    return every(equal(V * V, 2_525_766_049), at_most(abs(V * V - 25 * 10**8), 5 * 10**7), equal(2 * V * h, 6_432_896))


@claim(
    "factored.freedom",
    over={"d": Count("d"), "h": Count("h")},
    sizes={"d": range(4096, 4097), "h": range(128, 129)},
    source=f"{READING}, The QK circuit and the OV circuit",
)
def factored_freedom(d, h):
    """A 4096 x 4096 circuit of rank 128 has h (2d - h) numbers of freedom, 1,032,192, of its 16,777,216 entries: 6.2 %.

    Its two factors hold 2 d h numbers, h^2 of which another factorisation changes at will (circuits.qk_factorisation).
    """
    freedom = 2 * d * h - h * h
    return every(equal(freedom, 1_032_192), equal(d * d, 16_777_216), at_most(abs(1000 * freedom - 62 * d * d), d * d))
