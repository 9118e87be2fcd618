"""Circuits: paths through an attention-only model, what heads read and write, and how two heads compose.

Row vectors throughout: a stream is read as x @ W and written to by addition, so a head writes into the row space of its
OV circuit W_V W_O and reads through the column space of a map. "The annotated edition" uses rows too; "the framework"
prints columns, and its matrices are turned here.
"""

from dataclasses import replace

import numpy as np

from resstream.arithmetic import (
    absolute,
    eye,
    log,
    mean,
    ones,
    power,
    sqrt,
    square,
    total,
    total_entry,
    zeros,
)
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.domains import (
    AttentionOnly,
    Causal,
    Count,
    InvertiblePair,
    Matrix,
    NonConstant,
    NonZero,
    Orthogonal,
    Positive,
    Projection,
    RowStochastic,
    Stack,
    Tokens,
    Vector,
    Whole,
)
from resstream.reference import (
    Head,
    centre,
    circuit_composition,
    composition_score,
    copying_score,
    direct_logit_attribution,
    frobenius_norm,
    full_ov_circuit,
    full_qk_circuit,
    head_scores,
    layer_norm,
    logit_lens,
    ov_circuit,
    paths,
    qk_circuit,
    rms_norm,
    rotary,
    softmax,
    spectral_norm,
    weight_composition,
)
from resstream.reference.spectrum import determinant, eigenvalue_moduli, rank, singular_values, spectral_radius, trace

PAGE = "The Transformer Block and the Residual Stream"
TEXTBOOK = "The residual stream (a textbook's section 5.1)"
FRAMEWORK = "A Mathematical Framework for Transformer Circuits"
READING = f"a reading of {FRAMEWORK} (Transformer Overview)"
SUMMARY = f"a summary of {FRAMEWORK}"
ANNOTATED = "The Annotated Transformer, Circuit Framework Edition"

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


# ---- paths ------------------------------------------------------------------


@claim(
    "circuits.path_expansion",
    over=GIVEN,
    sizes=ranges("HdVn", L=range(1, 4), h=range(1, 3)),
    source=f"{PAGE}, Theorem 3",
)
def circuits_path_expansion(model, tokens, patterns):
    """Given the attention patterns, whatever they are, the logits are the sum over all paths of
    A_m ... A_1 x_0 W_OV_1 ... W_OV_m U; the empty path is x_0 U.

    Proof: a layer is x + sum_h A_h x W_OV_h, where A acts from the left and W_OV from the right; distribute.
    """
    x0, patterns = tokens @ model.embedding, stacked(patterns)
    return equal(model.run(x0, patterns=patterns).logits, add(list(model.path_expansion(x0, patterns).values())))


@claim(
    "circuits.number_of_paths",
    over={"L": Count("L"), "H": Count("H")},
    sizes={"L": range(5), "H": range(4)},
    source=f"{PAGE}, Theorem 3",
)
def circuits_number_of_paths(L, H):
    """L layers of H heads have (1 + H)^L paths."""
    return equal(len(paths(L, H)), (1 + H) ** L)


@claim(
    "circuits.one_path_per_subset_of_heads",
    over={"L": Count("L"), "H": Count("H")},
    sizes={"L": range(1, 5), "H": range(1, 4)},
    source=f"{SUMMARY}, method",
    expect="fails",
)
def circuits_one_path_per_subset_of_heads(L, H):
    """False: there is one path for every subset of the L H heads.

    Printed: a sum over end-to-end paths, one path per subset of heads that composes along the depth axis.
    Right: heads of one layer do not compose with each other, so a path takes one head of a layer or none: (1 + H)^L
    paths, not 2^(L H). The two agree for one head a layer.
    """
    return equal(len(paths(L, H)), 2 ** (L * H))


@claim(
    "circuits.path_order_of_values",
    over=GIVEN,
    sizes=ranges("HdVn", L=range(2, 3), h=range(1, 3)),
    source="Theorem 3 with the order of the other convention",
    expect="fails",
)
def circuits_path_order_of_values(model, tokens, patterns):
    """A mixture of conventions, and false: the OV circuits of a path multiply in the order of the patterns,
    A_2 A_1 x_0 W_OV_2 W_OV_1 U.
    """
    x0, (first, second) = tokens @ model.embedding, stacked(patterns)
    ov = model.ov_circuits
    stream = x0
    for h in range(model.heads):
        stream = (
            stream + first[..., h, :, :] @ x0 @ ov[..., 0, h, :, :] + second[..., h, :, :] @ x0 @ ov[..., 1, h, :, :]
        )
        for k in range(model.heads):
            moved = second[..., k, :, :] @ first[..., h, :, :] @ x0
            stream = stream + moved @ ov[..., 1, k, :, :] @ ov[..., 0, h, :, :]
    return equal(model.run(x0, patterns=[first, second]).logits, stream @ model.unembedding)


@claim(
    "circuits.removal_is_sum_of_paths",
    over={"model": AttentionOnly(2, 1, "d", "h", "V"), "tokens": Tokens("n", "V")},
    sizes=ranges("dhV", n=range(2, 4)),
    source="public reports of path sums taken with moving patterns",
    expect="fails",
)
def circuits_removal_is_sum_of_paths(model, tokens):
    """False with live patterns: removing layer 0 changes the logits by the sum of the paths through layer 0.

    Layer 1 recomputes its pattern on the stream without layer 0; the expansion is linear in the values alone.
    """
    x0 = tokens @ model.embedding
    run = model.run(x0)
    through = [logits for path, logits in model.path_expansion(x0, run.patterns).items() if (0, 0) in path]
    return equal(run.logits - silenced(model, 0).run(x0).logits, add(through))


@claim(
    "circuits.removal_with_frozen_patterns",
    over={
        "model": given_patterns(2, "H"),
        "tokens": Tokens("n", "V"),
        "patterns": Stack(2, Stack("H", Causal("n"))),
    },
    sizes=ranges("HdVn", h=range(1, 3)),
    source=f"{PAGE}, Theorem 3",
)
def circuits_removal_with_frozen_patterns(model, tokens, patterns):
    """With the patterns held fixed, removing layer 0 changes the logits by the sum of the paths through layer 0."""
    x0, patterns = tokens @ model.embedding, stacked(patterns)
    change = model.run(x0, patterns=patterns).logits - silenced(model, 0).run(x0, patterns=patterns).logits
    expansion = model.path_expansion(x0, patterns)
    return equal(change, add([logits for path, logits in expansion.items() if any(layer == 0 for layer, _ in path)]))


def silenced(model, layer):
    """The model with a layer whose heads write nothing."""
    return replace(model, W_O=with_layer(model.W_O, layer, 0 * layer_of(model.W_O, layer)))


# ---- the direct path --------------------------------------------------------


@claim(
    "circuits.direct_path_is_bigram",
    over=GIVEN,
    sizes=ranges("LHdVn", h=range(1, 3)),
    source=f"{PAGE}, after Theorem 3; {TEXTBOOK}, Reading and writing; {ANNOTATED}, 14",
)
def circuits_direct_path_is_bigram(model, tokens, patterns):
    """The direct path's logits at a position are the row of the table E U that the current token names, and so do not
    depend on any other token; a model without writes has these logits alone.
    """
    x0, patterns = tokens @ model.embedding, stacked(patterns)
    table = model.embedding @ model.unembedding
    quiet = replace(model, W_O=0 * model.W_O)
    return every(
        equal(model.path_expansion(x0, patterns)[()], tokens @ table),
        equal(quiet.run(x0, patterns=patterns).logits, tokens @ table),
    )


@claim(
    "circuits.bigram_rank",
    over={"E": Matrix("V", "d"), "U": Matrix("d", "V")},
    sizes={"V": range(2, 5), "d": range(1, 4)},
    source=f"{ANNOTATED}, 14.2",
)
def circuits_bigram_rank(E, U):
    """The bigram table E U has rank d at most, so fewer dimensions than symbols cannot hold every table."""
    return at_most(rank(E @ U), E.shape[-1])


@claim(
    "circuits.tied_bigram_is_symmetric",
    over={"E": Matrix("V", "d")},
    sizes={"V": range(2, 5), "d": range(1, 4)},
    source=f"after {ANNOTATED}, 4.2",
)
def circuits_tied_bigram_is_symmetric(E):
    """With tied embeddings, U = E', the bigram table is symmetric: it gives b after a the logit of a after b."""
    table = E @ E.mT
    return equal(table, table.mT)


@claim(
    "circuits.logits_are_log_probabilities_up_to_a_shift",
    over={"logits": Matrix("V", "V")},
    sizes={"V": range(2, 4)},
    source=f"after {ANNOTATED}, 14",
)
def circuits_logits_are_log_probabilities_up_to_a_shift(logits):
    """A table of logits is that of the log-probabilities it predicts plus a constant of each row."""
    shift = logits - log(softmax(logits))
    return equal(shift, shift[..., :1])


@claim(
    "circuits.logits_proportional_to_log_probabilities",
    over={"logits": Matrix(1, "V")},
    sizes={"V": range(2, 4)},
    source=f"{ANNOTATED}, 14 (plain language)",
    expect="fails",
)
def circuits_logits_proportional_to_log_probabilities(logits):
    """False as printed: the entries of the bigram table are proportional to the log-probabilities of the next token.

    Printed: entry (s, d) of W_E W_U is proportional to log P(next token = d | current token = s); and (14.2) the table
    is learned to approximate the unigram distribution.
    Right: the entries of a row equal the log-probabilities up to an additive constant of the row, and the table is that
    of bigrams.
    """
    predicted = log(softmax(logits))
    return equal(logits * predicted[..., :1], logits[..., :1] * predicted)


# ---- one layer --------------------------------------------------------------


@claim(
    "circuits.one_layer_is_bigram_plus_skip_trigrams",
    over={
        "model": given_patterns(1, "H"),
        "tokens": Tokens("n", "V"),
        "patterns": Stack("H", Causal("n")),
    },
    sizes=ranges("HdVn", h=range(1, 3)),
    source=f"{ANNOTATED}, 15.1; {SUMMARY}",
)
def circuits_one_layer_is_bigram_plus_skip_trigrams(model, tokens, patterns):
    """One-layer logits are the bigram row of the current token plus, for every head, the rows of the full OV circuit
    that the earlier tokens name, weighed by the head's pattern, whatever that is.
    """
    logits = tokens @ (model.embedding @ model.unembedding)
    for h, A in enumerate(patterns):
        W_V, W_O = model.W_V[..., 0, h, :, :], model.W_O[..., 0, h, :, :]
        logits = logits + A @ tokens @ full_ov_circuit(model.embedding, W_V, W_O, model.unembedding)
    return equal(model.run(tokens @ model.embedding, patterns=stacked([patterns])).logits, logits)


@claim(
    "circuits.full_ov_row_of_position",
    over={**OV, "E": Matrix("V", "d"), "U": Matrix("d", "V"), "tokens": Tokens("n", "V"), "A": Causal("n")},
    sizes={**HEAD_SIZES, "V": range(3, 5), "n": range(2, 4)},
    source=f"{ANNOTATED}, 15.1",
    expect="fails",
)
def circuits_full_ov_row_of_position(W_V, W_O, E, U, tokens, A):
    """False as printed: attending to position s' adds row s' of the full OV circuit.

    Printed: the term of position s' is row s' of the full OV circuit.
    Right: the circuit's rows belong to tokens, so it is the row of the token t_{s'} at that position.
    """
    table = full_ov_circuit(E, W_V, W_O, U)
    return equal(A @ tokens @ E @ ov_circuit(W_V, W_O) @ U, A @ table[..., : A.shape[-1], :])


@claim(
    "circuits.full_ov_entry",
    over={**OV, "E": Matrix("V", "d"), "U": Matrix("d", "V"), "source": Tokens(1, "V"), "x": Vector("d")},
    sizes={**HEAD_SIZES, "V": range(2, 5)},
    source=f"{ANNOTATED}, 9.2",
)
def circuits_full_ov_entry(W_V, W_O, E, U, source, x):
    """Attending to one token alone adds that token's row of the full OV circuit to the logits."""
    before, after = x @ U, (x + source @ E @ ov_circuit(W_V, W_O)) @ U
    return equal(after - before, source @ full_ov_circuit(E, W_V, W_O, U))


@claim(
    "circuits.full_qk_entry",
    over={**QK, "E": Matrix("V", "d"), "tokens": Tokens("n", "V")},
    sizes={**HEAD_SIZES, "V": range(2, 4), "n": range(1, 4)},
    source=f"{ANNOTATED}, 9.3",
)
def circuits_full_qk_entry(W_Q, W_K, E, tokens):
    """Without positions and biases, the score of two positions times sqrt h is the entry of the full QK circuit that
    their two tokens name.
    """
    x = tokens @ E
    scores = head_scores(x, Head(W_Q, W_K, W_K, W_Q.mT)) * sqrt(W_Q.shape[-1] * ones((1, 1), like=x))
    return equal(scores, tokens @ full_qk_circuit(E, W_Q, W_K) @ tokens.mT)


def shared(tokens, others):
    """1 where both sequences have the same tokens at positions i and j, else 0: (..., n, n)."""
    same = total(tokens * others)
    return same @ same.mT


@claim(
    "one_layer.score_sees_two_tokens",
    over={"model": AttentionOnly(1, "H", "d", "h", "V"), "tokens": Tokens("n", "V"), "others": Tokens("n", "V")},
    sizes=ranges("HdhV", n=range(2, 5)),
    source=f"{PAGE}, Proposition 5",
)
def one_layer_score_sees_two_tokens(model, tokens, others):
    """A one-layer score of positions i and j is the same in any two sequences that agree at i and at j; the token
    before j is not seen.
    """
    agree = shared(tokens, others)[..., None, :, :]
    scores, changed = (model.scores(0, T @ model.embedding) for T in (tokens, others))
    return equal(agree * scores, agree * changed)


@claim(
    "one_layer.weight_sees_two_tokens",
    over={"model": AttentionOnly(1, "H", "d", "h", "V"), "tokens": Tokens("n", "V"), "others": Tokens("n", "V")},
    sizes=ranges("HdhV", n=range(2, 5)),
    source=f"{ANNOTATED}, 15 (plain language)",
    expect="fails",
)
def one_layer_weight_sees_two_tokens(model, tokens, others):
    """False as printed: what a head moves from position j to i depends on the two tokens there alone.

    Printed: skip-trigrams depend on two specific tokens, not on their positions nor on what happened between them.
    Right: the score does (without positional terms); the weight shares its row's normaliser with every other token.
    """
    agree = shared(tokens, others)[..., None, :, :]
    weights, changed = (model.run(T @ model.embedding).patterns[0] for T in (tokens, others))
    return equal(agree * weights, agree * changed)


@claim(
    "two_layer.score_sees_two_tokens",
    over={"model": AttentionOnly(2, "H", "d", "h", "V"), "tokens": Tokens("n", "V"), "others": Tokens("n", "V")},
    sizes=ranges("HdhV", n=range(2, 4)),
    source=f"{PAGE}, Proposition 5, carried over to a second layer",
    expect="fails",
)
def two_layer_score_sees_two_tokens(model, tokens, others):
    """False in the second layer: its score of i and j is the same in any two sequences that agree at i and j."""
    agree = shared(tokens, others)[..., None, :, :]
    scores, changed = (model.scores(1, model.run(T @ model.embedding).states[1]) for T in (tokens, others))
    return equal(agree * scores, agree * changed)


# ---- two layers -------------------------------------------------------------


def previous_token(n, like):
    """The pattern that looks at the position before, and at itself in the first: (n, n)."""
    shift = np.eye(n, k=-1, dtype=int)
    shift[0, 0] = 1
    return zeros((n, n), like) + shift


@claim(
    "two_layer.key_contains_predecessor",
    over={"model": given_patterns(2, 1), "tokens": Tokens("n", "V"), "patterns": Stack(2, Causal("n"))},
    sizes=ranges("dV", n=range(2, 5), h=range(1, 3)),
    source=f"{PAGE}, Proposition 5",
)
def two_layer_key_contains_predecessor(model, tokens, patterns):
    """Layer 1 reads x_0[j] + sum_k A_jk x_0[k] W_OV; with a layer-0 head on the previous token, its unrotated keys at j
    are those of x_0[j] plus those of what the head wrote of x_0[j - 1].
    """
    x0 = tokens @ model.embedding
    ov, W_K = model.ov_circuits[..., 0, 0, :, :], model.W_K[..., 1, 0, :, :]
    previous = previous_token(x0.shape[-2], like=x0)
    relations = []
    for A in (patterns[0], previous):
        first = np.broadcast_to(A, patterns[0].shape)
        x1 = model.run(x0, patterns=stacked([[first], [patterns[1]]])).states[1]
        relations.append(equal(x1, x0 + A @ x0 @ ov))
    before = np.concatenate([x0[..., :1, :], x0[..., :-1, :]], axis=-2)
    return every(*relations, equal(x1 @ W_K, x0 @ W_K + before @ ov @ W_K))


@claim(
    "two_layer.key_is_blind_to_successor",
    over={
        "model": AttentionOnly(2, "H", "d", "h", "V"),
        "tokens": Tokens("n", "V"),
        "later": Tokens("m", "V"),
        "other": Tokens("m", "V"),
    },
    sizes=ranges("HhV", d=range(2, 3), n=range(1, 3), m=range(1, 3)),
    source=f"{ANNOTATED}, 17.3",
)
def two_layer_key_is_blind_to_successor(model, tokens, later, other):
    """The layer-1 keys up to position j are the same whatever comes after j.

    Printed: induction requires scoring by what token follows j, a property of position j + 1.
    Right: no causal key at j can depend on that. The head looks at j for the token before it, t_{j-1}, and copies t_j,
    as section 17.2 of the same source has it.
    """
    n = tokens.shape[-2]
    keys = []
    for rest in (later, other):
        x0 = np.concatenate([tokens, rest], axis=-2) @ model.embedding
        keys.append(model.keys(1, model.run(x0).states[1])[..., :n, :])
    return equal(keys[0], keys[1])


@claim(
    "induction.score_is_entry_of_query_and_predecessor",
    over={
        "E": Matrix("V", "d"),
        "W_OV": Matrix("d", "d"),
        "W_QK": Matrix("d", "d"),
        "tokens": Tokens("n", "V"),
    },
    sizes={"V": range(2, 4), "d": range(1, 4), "n": range(2, 5)},
    source=f"{ANNOTATED}, 17.2, put right",
)
def induction_score_is_entry_of_query_and_predecessor(E, W_OV, W_QK, tokens):
    """With a previous-token head before it, a head's K-composition term at (i, j) is the entry (t_i, t_{j-1}) of
    E W_QK W_OV' E'. At the induction target both are the current token A, so the entry that must be large is (A, A).
    """
    x0 = tokens @ E
    previous = previous_token(x0.shape[-2], like=x0)
    term = x0 @ W_QK @ (previous @ x0 @ W_OV).mT
    table = E @ W_QK @ W_OV.mT @ E.mT
    return equal(term, tokens @ table @ (previous @ tokens).mT)


@claim(
    "induction.score_is_entry_of_target_and_query",
    over={
        "E": Matrix("V", "d"),
        "W_OV": Matrix("d", "d"),
        "W_QK": Matrix("d", "d"),
        "tokens": Tokens("n", "V"),
    },
    sizes={"V": range(2, 4), "d": range(1, 4), "n": range(2, 5)},
    source=f"{ANNOTATED}, 17.2",
    expect="fails",
)
def induction_score_is_entry_of_target_and_query(E, W_OV, W_QK, tokens):
    """False as printed: that term is the entry (t_j, t_i) of E W_OV W_QK E', for [A][B] ... [A] the entry (B, A).

    Printed: entry (B, A) of W_E W_OV W_QK W_E' is large, so the second A finds the first B.
    Right: the key at the first B holds the token before it, which is A; the large entry is (A, A), and of
    W_E W_QK W_OV' W_E'.
    """
    x0 = tokens @ E
    previous = previous_token(x0.shape[-2], like=x0)
    term = x0 @ W_QK @ (previous @ x0 @ W_OV).mT
    table = E @ W_OV @ W_QK @ E.mT
    return equal(term, (tokens @ table @ tokens.mT).mT)


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
    source=f"{READING}, The QK circuit and the OV circuit, for a model with rotary positions",
    expect="fails",
)
def circuits_qk_factorisation_with_positions(X, W_Q, W_K, change):
    """False with rotary positions: such another factorisation leaves the scores as they are.

    Printed: factor the two matrices differently and the intermediate vectors differ, yet the model behaves identically.
    Right: so it does where nothing stands between them. Rotary positions act on queries and keys, and only an M that
    commutes with the rotations may go through; query and key biases must be multiplied by M and M^-T as well.
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
    source=f"{READING}; {SUMMARY} (without the condition that the model has no LayerNorm)",
    expect="fails",
)
def circuits_no_privileged_basis_with_layer_norm(x, R, U):
    """False with a LayerNorm before a read: rotating the stream, and every read back, leaves the logits as they are.

    Printed: the stream has no privileged basis; rotate every matrix that interacts with it and nothing changes.
    Right: in a model without LayerNorm. LayerNorm singles out the all-ones direction (and its gain, the axes); RMSNorm
    without a gain does not.
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


# ---- composition scores -----------------------------------------------------

PAIR = {"first": NonZero("d", "e"), "second": NonZero("e", "f")}
PAIR_SIZES = {"d": range(1, 4), "e": range(1, 4), "f": range(1, 4)}


@claim(
    "composition.range",
    over=PAIR,
    sizes=PAIR_SIZES,
    source=f"{PAGE}, Definition 4; {ANNOTATED}, 18.1",
)
def composition_range(first, second):
    """A composition score lies between 0 and 1. (The Frobenius norm of a product is at most the product of theirs.)"""
    score = composition_score(first, second)
    return every(at_least(score, 0), at_most(score, 1))


@claim(
    "composition.scale_free",
    over={**PAIR, "a": NonZero(1, 1), "b": NonZero(1, 1)},
    sizes=PAIR_SIZES,
    source=f"{PAGE}, Definition 4",
)
def composition_scale_free(first, second, a, b):
    """Scaling either matrix, by any nonzero number, leaves the score as it is."""
    return equal(composition_score(a * first, b * second), composition_score(first, second))


def first_writes_inside(first, P):
    """Something of the first matrix is written into the subspace of P."""
    return more_than(total_entry(square(first @ P)), 0)


def second_reads_outside(second, P):
    """Something of the second matrix is read from outside the subspace of P."""
    return more_than(total_entry(square(second - P @ second)), 0)


@claim(
    "composition.zero_iff_product_is_zero",
    over={**PAIR, "P": Projection("e")},
    assuming=(
        first_writes_inside,
        second_reads_outside,
    ),
    sizes={**PAIR_SIZES, "e": range(2, 4)},
    source=f"{PAGE}, Proposition 4",
)
def composition_zero_iff_product_is_zero(first, second, P):
    """The score is 0 where the earlier head writes where the later one does not read, and the score times both norms is
    the product's norm, so it is 0 nowhere else.
    """
    unheard = composition_score(first @ P, second - P @ second)
    score = composition_score(first, second) * frobenius_norm(first) * frobenius_norm(second)
    return every(equal(unheard, 0), equal(score, frobenius_norm(first @ second)))


@claim(
    "composition.rank_one_reaches_one",
    over={"u": NonZero(1, "d"), "v": NonZero(1, "e"), "w": NonZero(1, "f")},
    sizes=PAIR_SIZES,
    source=f"{PAGE}, Definition 4 (where the score is largest)",
)
def composition_rank_one_reaches_one(u, v, w):
    """Two matrices of rank one, one writing exactly the direction that the other reads, score 1."""
    return equal(composition_score(u.mT @ v, v.mT @ w), 1)


@claim(
    "composition.of_orthogonal_matrices",
    over={"Q": Orthogonal("d"), "R": Orthogonal("d")},
    sizes={"d": range(1, 5)},
    source=f"after {ANNOTATED}, 18",
)
def composition_of_orthogonal_matrices(Q, R):
    """Two orthogonal matrices, which share every direction, score 1/sqrt d: full rank keeps a score low."""
    return equal(square(composition_score(Q, R)) * Q.shape[-1], 1)


@claim(
    "composition.aligned_spaces_score_one",
    over={"Q": Orthogonal("d", "k"), "R": Orthogonal("d", "k")},
    sizes={"d": range(2, 5), "k": range(2, 3)},
    source=f"{ANNOTATED}, 18 (plain language)",
    expect="fails",
)
def composition_aligned_spaces_score_one(Q, R):
    """Tempting and false: where one head writes exactly the subspace that the other reads, the score is 1.

    Printed: if the two spaces are perfectly aligned, the product has maximal norm.
    Right: projections onto one k-dimensional subspace score 1/sqrt k. A score of 1 needs matrices of rank one.
    """
    writer = R @ R.mT  # writes the columns' span, which is what the reader reads
    return equal(composition_score(writer, R @ Q.mT), 1)


@claim(
    "composition.at_least_baseline",
    over=PAIR,
    sizes={**PAIR_SIZES, "e": range(2, 4)},
    source=f"{ANNOTATED}, 18 (the baseline 1/sqrt d, taken for a floor)",
    expect="fails",
)
def composition_at_least_baseline(first, second):
    """Tempting and false: a composition score is at least 1/sqrt d, where that of random matrices lies."""
    return at_least(square(composition_score(first, second)) * first.shape[-1], 1)


def columns_inside(M, P):
    """Something of M has its columns in the subspace of P."""
    return more_than(total_entry(square(P @ M)), 0)


def rows_outside(N, P):
    """Something of N has its rows outside the subspace of P."""
    return more_than(total_entry(square(N - N @ P)), 0)


@claim(
    "composition.column_space_against_row_space",
    over={"M": Matrix("d", "d"), "N": Matrix("d", "d"), "P": Projection("d")},
    assuming=(
        columns_inside,
        rows_outside,
    ),
    sizes={"d": range(2, 4)},
    source=f"{ANNOTATED}, 18 and 18.2",
    expect="fails",
)
def composition_column_space_against_row_space(M, N, P):
    """False as printed, in rows: two heads score 0 when the column space of W_A and the row space of W_B do not meet in
    a product.

    Printed: the score compares W_A's column space (what it writes) with W_B's row space (what it reads).
    Right: in the row convention of that source W_A writes into its row space, and W_B reads through its column space.
    W_B W_A = 0 (stated here) says nothing of the score ||W_A W_B||.
    """
    W_A, W_B = P @ M, N - N @ P
    return equal(composition_score(W_A, W_B), 0)


@claim(
    "composition.frobenius_is_singular_values",
    over={"M": Matrix("d", "e")},
    sizes={"d": range(1, 4), "e": range(1, 4)},
    source=f"{ANNOTATED}, 18.1 and 18.4",
)
def composition_frobenius_is_singular_values(M):
    """The squared Frobenius norm is the sum of the squared singular values, which is the trace of M' M."""
    squared = total_entry(square(M))
    return every(equal(squared, total(square(singular_values(M)))), equal(squared, trace(M.mT @ M)))


COMPOSING = {"W_V": NonZero("d", "h"), "W_O": NonZero("h", "d"), "W_Q": NonZero("d", "h"), "W_K": NonZero("d", "h")}


def earlier_head_writes(W_V, W_O):
    """The earlier head's OV circuit is not zero."""
    return more_than(total_entry(square(W_V @ W_O)), 0)


def later_head_scores(W_Q, W_K):
    """The later head's QK circuit is not zero."""
    return more_than(total_entry(square(W_Q @ W_K.mT)), 0)


@claim(
    "composition.conventions_agree_for_orthonormal_maps",
    over={**COMPOSING, "Q": Orthogonal("d", "h"), "K": Orthogonal("d", "h")},
    assuming=(earlier_head_writes,),
    sizes={"d": range(2, 4), "h": range(1, 3)},
    source=f"{PAGE}, Definition 4, beside {FRAMEWORK}",
)
def composition_conventions_agree_for_orthonormal_maps(W_V, W_O, W_Q, W_K, Q, K):
    """Scores by W_K and W_Q are the framework's, by W_QK' and W_QK, where the other side's map is orthonormal: W_Q for
    keys, W_K for queries.
    """
    writer = ov_circuit(W_V, W_O)
    return every(
        equal(weight_composition(writer, Q, W_K, writer).keys, circuit_composition(writer, Q, W_K, writer).keys),
        equal(weight_composition(writer, W_Q, K, writer).queries, circuit_composition(writer, W_Q, K, writer).queries),
    )


@claim(
    "composition.conventions_agree",
    over=COMPOSING,
    assuming=(earlier_head_writes, later_head_scores),
    sizes={"d": range(2, 4), "h": range(2, 3)},
    source=f"{PAGE}, Definition 4, beside {FRAMEWORK}",
    expect="fails",
)
def composition_conventions_agree(W_V, W_O, W_Q, W_K):
    """Tempting and false: the page's K-composition score, by W_K, is the framework's, by the whole QK circuit."""
    writer = ov_circuit(W_V, W_O)
    by_weights, by_circuits = (c(writer, W_Q, W_K, writer) for c in (weight_composition, circuit_composition))
    return equal(by_weights.keys, by_circuits.keys)


COMPOSED = {
    "X": Matrix("n", "d"),
    "A": Causal("n"),
    "W_OV": Matrix("d", "d"),
    "W_Q": Matrix("d", "h"),
    "W_K": Matrix("d", "h"),
}


@claim(
    "composition.matrices",
    over=COMPOSED,
    sizes={"n": range(1, 4), "d": range(1, 4), "h": range(1, 3)},
    source=f"{ANNOTATED}, 16.1, put right",
)
def composition_matrices(X, A, W_OV, W_Q, W_K):
    """The K-composition term of a score, query from x_0 and key from an earlier head's write, goes through
    W_QK W_OV'; the Q-composition term, query from the write and key from x_0, through W_OV W_QK.
    """
    W_QK, write = qk_circuit(W_Q, W_K), A @ X @ W_OV
    return every(
        equal((X @ W_Q) @ (write @ W_K).mT, X @ (W_QK @ W_OV.mT) @ (A @ X).mT),
        equal((write @ W_Q) @ (X @ W_K).mT, (A @ X) @ (W_OV @ W_QK) @ X.mT),
    )


@claim(
    "composition.same_matrix_for_keys_and_queries",
    over=COMPOSED,
    sizes={"n": range(1, 4), "d": range(2, 4), "h": range(1, 3)},
    source=f"{ANNOTATED}, 16.1 and 16.2",
    expect="fails",
)
def composition_same_matrix_for_keys_and_queries(X, A, W_OV, W_Q, W_K):
    """False as printed: the K-composition term goes through W_OV W_QK, as the Q-composition term does.

    Printed: the K-composition circuit is W_OV W_QK, and the Q-composition circuit is the same matrix.
    Right: that is Q-composition. A key is the second factor of a score, so K-composition is W_QK W_OV'.
    """
    write = A @ X @ W_OV
    return equal((X @ W_Q) @ (write @ W_K).mT, X @ (W_OV @ qk_circuit(W_Q, W_K)) @ (A @ X).mT)


ONE_MORE_LAYER = {
    "model": AttentionOnly(1, "H", "d", "h", "V"),
    "x0": Matrix("n", "d"),
    "written": Matrix("n", "d"),
}


@claim(
    "composition.score_terms",
    over=ONE_MORE_LAYER,
    sizes=ranges("HdhVn"),
    source=f"{FRAMEWORK}; {ANNOTATED}, 13.2",
)
def composition_score_terms(model, x0, written):
    """The score of a layer that reads x_0 plus earlier writes is the sum of four terms: no composition (with all
    biases), Q, K, and Q and K together.
    """
    return equal(add(list(model.score_terms(0, x0, written))), model.scores(0, x0 + written))


@claim(
    "composition.three_score_terms",
    over=ONE_MORE_LAYER,
    sizes=ranges("HdhVn"),
    source=f"{ANNOTATED}, 13.2 (its list stops after the K-term)",
    expect="fails",
)
def composition_three_score_terms(model, x0, written):
    """Tempting and false: three terms are enough, without the one in which query and key both read earlier writes."""
    terms = model.score_terms(0, x0, written)
    return equal(terms.none + terms.queries + terms.keys, model.scores(0, x0 + written))


# ---- subspaces --------------------------------------------------------------


def unheard(model, P, *readers):
    """The model with a layer 0 that writes through P, and readers (W_K, W_Q) of layer 1 that first take away P."""
    hidden = eye(P.shape[-1], like=P) - P
    written = with_layer(model.W_O, 0, layer_of(model.W_O, 0) @ for_heads(P))
    reads = {
        name: with_layer(getattr(model, name), 1, for_heads(hidden) @ layer_of(getattr(model, name), 1))
        for name in readers
    }
    return replace(model, W_O=written, **reads)


SUBSPACES = {"model": AttentionOnly(2, "H", "d", "h", "V"), "tokens": Tokens("n", "V"), "P": Projection("d")}
READS = {
    "model": given_patterns(2, "H"),
    "tokens": Tokens("n", "V"),
    "patterns": Stack(2, Stack("H", Causal("n"))),
    "P": Projection("d"),
}


def reads_unchanged(model, name, tokens, patterns, P):
    """What layer 1 reads by W_K or W_Q is the same from x_1 as from x_0, before biases and positions."""
    model = unheard(model, P, name)
    x0 = tokens @ model.embedding
    x1 = model.run(x0, patterns=stacked(patterns)).states[1]
    before, after = (x[..., None, :, :] @ getattr(model, name)[..., 1, :, :, :] for x in (x0, x1))
    return equal(before, after)


@claim(
    "subspaces.keys_unchanged",
    over=READS,
    sizes=ranges("HdVn", h=range(1, 3)),
    source=f"{PAGE}, Proposition 4",
)
def subspaces_keys_unchanged(model, tokens, patterns, P):
    """If W_OV W_K = 0 for every layer-0 head, a layer-1 head's keys are the same from x_1 as from x_0.

    Biases and positions are put on after the product, so they need not be looked at.
    """
    return reads_unchanged(model, "W_K", tokens, patterns, P)


@claim(
    "subspaces.queries_unchanged",
    over=READS,
    sizes=ranges("HdVn", h=range(1, 3)),
    source=f"{PAGE}, Proposition 4",
)
def subspaces_queries_unchanged(model, tokens, patterns, P):
    """If W_OV W_Q = 0 for every layer-0 head, a layer-1 head's queries are the same from x_1 as from x_0."""
    return reads_unchanged(model, "W_Q", tokens, patterns, P)


@claim(
    "subspaces.pattern_unchanged",
    over=SUBSPACES,
    sizes=ranges("Hdh", V=range(2, 3), n=range(1, 3)),
    source=f"{PAGE}, Proposition 4",
)
def subspaces_pattern_unchanged(model, tokens, P):
    """If both products vanish, a layer-1 head has the same pattern with and without layer 0's output."""
    model = unheard(model, P, "W_K", "W_Q")
    x0 = tokens @ model.embedding
    alone = model.run(x0, keys_read={1: []}, queries_read={1: []})
    return equal(model.run(x0).patterns[1], alone.patterns[1])


@claim(
    "subspaces.pattern_unchanged_by_keys_alone",
    over=SUBSPACES,
    sizes=ranges("HdhV", n=range(2, 4)),
    source=f"{PAGE}, Proposition 4, without its second condition",
    expect="fails",
)
def subspaces_pattern_unchanged_by_keys_alone(model, tokens, P):
    """False: W_OV W_K = 0 alone leaves a layer-1 head's pattern as it is without layer 0's output. Its queries read
    what layer 0 wrote.
    """
    model = unheard(model, P, "W_K")
    x0 = tokens @ model.embedding
    alone = model.run(x0, keys_read={1: []}, queries_read={1: []})
    return equal(model.run(x0).patterns[1], alone.patterns[1])


@claim(
    "subspaces.largest_cosine",
    over={"A": Orthogonal("d", "k"), "B": Orthogonal("d", "k")},
    sizes={"d": range(2, 5), "k": range(1, 3)},
    source=f"after {ANNOTATED}, 18",
)
def subspaces_largest_cosine(A, B):
    """The largest cosine between two k-dimensional subspaces is at least sqrt k times the composition score of the
    projections onto them, and at most k times it.

    Proof: the cosines are the singular values of A' B, whose squares sum to k^2 times the squared score.
    """
    cosine, score = spectral_norm(A.mT @ B), composition_score(A @ A.mT, B @ B.mT)
    k = A.shape[-1]
    return every(at_least(square(cosine), k * square(score)), at_most(square(cosine), k * k * square(score)))


@claim(
    "subspaces.nearly_orthogonal",
    over={"A": Orthogonal("d", "k"), "B": Orthogonal("d", "k")},
    sizes={"d": range(4, 7), "k": range(2, 3)},
    source=f"{ANNOTATED}, 18 (plain language)",
    expect="fails",
)
def subspaces_nearly_orthogonal(A, B):
    """False: no cosine between two subspaces exceeds 1/sqrt d, the composition score of random ones.

    Printed: two random 64-dimensional subspaces of R^768 are almost certainly orthogonal, their overlap essentially
    zero.
    Right: the score 1/sqrt 768 = 0.036 averages over all directions. The root mean square cosine of such subspaces is
    sqrt(64/768) = 0.29, and the largest about 2 sqrt(1/12 (1 - 1/12)) = 0.55.
    """
    return at_most(square(spectral_norm(A.mT @ B)) * A.shape[-2], 1)


# ---- reading logits off the stream ------------------------------------------


@claim(
    "lens.exact_without_final_norm",
    over=GIVEN,
    sizes=ranges("LHdVn", h=range(1, 3)),
    source=f"{PAGE}, Induction heads; {TEXTBOOK}, Decomposing the output, exactly",
)
def lens_exact_without_final_norm(model, tokens, patterns):
    """Without a final norm, the logit lens after layer l gives the logits of the model that ends there."""
    x0, patterns = tokens @ model.embedding, stacked(patterns)
    relations = []
    for layer, state in enumerate(model.run(x0, patterns=patterns).states):
        cut = model
        for later in range(layer, model.layers):
            cut = silenced(cut, later)
        relations.append(equal(logit_lens(state, model.unembedding), cut.run(x0, patterns=patterns).logits))
    return every(*relations)


LENS = {"early": NonConstant("d"), "late": NonConstant("d"), "U": Matrix("d", "V")}


@claim(
    "lens.kept_scale_keeps_the_order",
    over=LENS,
    sizes={"d": range(2, 5), "V": range(2, 4)},
    source="public reports of a lens that keeps the last layer's scale",
)
def lens_kept_scale_keeps_the_order(early, late, U):
    """A lens that divides an early stream by the last layer's scale gives logits in proportion to the right ones: the
    same winner, which is why the fault is not seen there.
    """
    own, last = (sqrt(mean(square(centre(x)))) for x in (early, late))
    return equal(logit_lens(early, U, layer_norm) * own, centre(early) / last @ U * last)


@claim(
    "lens.kept_scale",
    over=LENS,
    sizes={"d": range(2, 5), "V": range(2, 4)},
    source="public reports of a lens that keeps the last layer's scale",
    expect="fails",
)
def lens_kept_scale(early, late, U):
    """False: the logit lens may divide every state by the scale of the last one. (It flattens the early readings.)"""
    last = sqrt(mean(square(centre(late))))
    return equal(softmax(logit_lens(early, U, layer_norm)), softmax(centre(early) / last @ U))


ATTRIBUTION = {
    "parts": Stack("S", Matrix("n", "d")),
    "U": Matrix("d", "V"),
    "gain": Vector("d"),
    "bias": Vector("d"),
    "output_bias": Vector("V"),
    "epsilon": Positive(1, 1),
}
ATTRIBUTION_SIZES = {"S": range(1, 4), "n": range(1, 3), "d": range(2, 4), "V": range(1, 3)}


@claim(
    "attribution.direct_logit",
    over=ATTRIBUTION,
    sizes=ATTRIBUTION_SIZES,
    source=f"{TEXTBOOK}, Decomposing the output, exactly; {PAGE}, Honest caveats",
)
def attribution_direct_logit(parts, U, gain, bias, output_bias, epsilon):
    """With a final LayerNorm of any gain, bias and epsilon, the logits are the sum of every write centred, divided by
    the scale of the whole stream, times gain and unembedding, plus one constant.
    """
    logits = layer_norm(add(parts), gain, bias, epsilon) @ U + output_bias
    return equal(direct_logit_attribution(parts, U, gain, bias, output_bias, epsilon).total(), logits)


def stream_is_not_constant(parts):
    """The sum of the parts is no multiple of the all-ones vector."""
    return more_than(total(square(centre(add(parts)))), 0)


@claim(
    "attribution.own_scale",
    over={"parts": Stack("S", NonConstant("d")), "U": Matrix("d", "V")},
    assuming=(stream_is_not_constant,),
    sizes={"S": range(2, 4), "d": range(2, 4), "V": range(1, 3)},
    source=f"a tempting simplification of {TEXTBOOK}, Decomposing the output, exactly",
    expect="fails",
)
def attribution_own_scale(parts, U):
    """False: the logits are the sum of every write's own LayerNorm through the unembedding."""
    return equal(add([layer_norm(part) @ U for part in parts]), layer_norm(add(parts)) @ U)


@claim(
    "attribution.without_centring",
    over=ATTRIBUTION,
    sizes=ATTRIBUTION_SIZES,
    source="public reports of residual stacks that do not add up to the logits",
    expect="fails",
)
def attribution_without_centring(parts, U, gain, bias, output_bias, epsilon):
    """False: the writes may be divided by the scale of the whole stream without being centred."""
    scale = sqrt(mean(square(centre(add(parts)))) + epsilon)
    logits = layer_norm(add(parts), gain, bias, epsilon) @ U + output_bias
    return equal(add([part / scale * gain @ U for part in parts]) + bias @ U + output_bias, logits)


@claim(
    "attribution.without_gain_and_bias",
    over=ATTRIBUTION,
    sizes=ATTRIBUTION_SIZES,
    source="public reports of residual stacks that do not add up to the logits",
    expect="fails",
)
def attribution_without_gain_and_bias(parts, U, gain, bias, output_bias, epsilon):
    """False: gain and bias of the final norm may be left out of the attribution."""
    logits = layer_norm(add(parts), gain, bias, epsilon) @ U + output_bias
    plain = direct_logit_attribution(parts, U, 1 + 0 * gain, 0 * bias, output_bias, epsilon)
    return equal(plain.total(), logits)


@claim(
    "attribution.is_effect_of_removal",
    over=ATTRIBUTION,
    sizes={**ATTRIBUTION_SIZES, "S": range(2, 4)},
    source=f"a tempting reading of {TEXTBOOK}, Decomposing the output, exactly",
    expect="fails",
)
def attribution_is_effect_of_removal(parts, U, gain, bias, output_bias, epsilon):
    """False, even of the last write: removing a write changes the logits by its attribution. The scale was frozen, and
    is another one without the write.
    """
    logits, without = (layer_norm(add(kept), gain, bias, epsilon) @ U for kept in (parts, parts[:-1]))
    return equal(direct_logit_attribution(parts, U, gain, bias, output_bias, epsilon).parts[-1], logits - without)


# ---- copying and erasing ----------------------------------------------------

TOKEN_CIRCUIT = {"E": Matrix("V", "d"), "W_V": Matrix("d", "h"), "W_O": Matrix("h", "d"), "U": Matrix("d", "V")}
TOKEN_SIZES = {"V": range(2, 5), "d": range(1, 4), "h": range(1, 3)}


def circuit_has_an_eigenvalue(E, W_V, W_O, U):
    """The full OV circuit has an eigenvalue other than 0."""
    return more_than(spectral_radius(W_O @ U @ (E @ W_V)), 0)


@claim(
    "copying.score",
    over=TOKEN_CIRCUIT,
    assuming=(circuit_has_an_eigenvalue,),
    sizes=TOKEN_SIZES,
    source=f"{FRAMEWORK}, copying; {SUMMARY}",
)
def copying_score_range(E, W_V, W_O, U):
    """The copying score, the sum of the full OV circuit's eigenvalues over the sum of their moduli, is in [-1, 1]; the
    sum of the eigenvalues is the trace, the total of what attending to each token adds to its own logit.
    """
    score, small = copying_score(E, W_V, W_O, U), W_O @ U @ (E @ W_V)
    own = trace(full_ov_circuit(E, W_V, W_O, U))
    return every(
        at_most(absolute(score), 1),
        equal(own, trace(small)),
        equal(score * total(eigenvalue_moduli(small)), own),
    )


def score_is_positive(E, W_V, W_O, U):
    """The copying score is positive: it has the sign of the trace of the full OV circuit."""
    return more_than(trace(W_O @ U @ E @ W_V), 0)


@claim(
    "copying.positive_score_raises_every_token",
    over=TOKEN_CIRCUIT,
    assuming=(score_is_positive,),
    sizes=TOKEN_SIZES,
    source=f"{SUMMARY} (the eigenvalues as a copying detector)",
    expect="fails",
)
def copying_positive_score_raises_every_token(E, W_V, W_O, U):
    """Tempting and false: a head with a positive copying score raises the logit of each token it attends to.

    It does so on average: the score has the sign of the trace.
    """
    circuit = full_ov_circuit(E, W_V, W_O, U)
    return at_least(total(circuit * eye(circuit.shape[-1], like=circuit)), 0)


@claim(
    "erasing.head",
    over={"x": Matrix("n", "d"), "P": Projection("d")},
    sizes={"n": range(1, 3), "d": range(1, 4)},
    source=f"{READING}, the cramped channel; {SUMMARY}",
)
def erasing_head(x, P):
    """A head on its own position with the OV circuit -P, P a projection, deletes what P reads and keeps the rest."""
    erased = x + np.eye(x.shape[-2], dtype=int) @ x @ -P
    return every(equal(erased @ P, 0), equal(erased, x - x @ P))


@claim(
    "erasing.through_attention",
    over={"x": Matrix("n", "d"), "A": Causal("n"), "P": Projection("d")},
    sizes={"n": range(2, 4), "d": range(1, 4)},
    source=f"{READING}, the cramped channel (for any pattern)",
    expect="fails",
)
def erasing_through_attention(x, A, P):
    """False: such a head deletes what P reads wherever it looks. Of another position it writes that one's negative."""
    return equal((x - A @ x @ P) @ P, 0)


@claim(
    "erasing.any_read",
    over={"x": Matrix("n", "d"), "W": Matrix("d", "d")},
    sizes={"n": range(1, 3), "d": range(1, 4)},
    source=f"{READING}, figure 3 (for any map)",
    expect="fails",
)
def erasing_any_read(x, W):
    """Tempting and false: writing the negative of what was read, -x W, deletes what W reads. W must be a projection."""
    return equal((x - x @ W) @ W, 0)


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
