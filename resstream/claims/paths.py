"""Paths through an attention-only model: the expansion, the direct path, and what one layer and two can see.

Row vectors throughout: a stream is read as x @ W and written to by addition, so a head writes into the row space of its
OV circuit W_V W_O and reads through the column space of a map. "The annotated edition" uses rows too; "the framework"
prints columns, and its matrices are turned here.
"""

from dataclasses import replace

import numpy as np

from resstream.arithmetic import eye, log, ones, sqrt, total, zeros
from resstream.claim import at_most, claim, equal, every
from resstream.claims.models import GIVEN, HEAD_SIZES, OV, QK, add, given_patterns, ranges, silenced, stacked
from resstream.claims.sources import ANNOTATED, PAGE, READING, SUMMARY, TEXTBOOK
from resstream.domains import AttentionOnly, Causal, Count, Matrix, Stack, Tokens
from resstream.reference import Head, full_ov_circuit, full_qk_circuit, head_scores, ov_circuit, paths, softmax
from resstream.reference.spectrum import rank

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
    source=f"a tempting reading of {SUMMARY}, method, without its last words",
    expect="fails",
)
def circuits_one_path_per_subset_of_heads(L, H):
    """Tempting and false: there is one path for every subset of the L H heads.

    The source adds "that composes along the depth axis": a path takes one head of a layer or none, which makes
    (1 + H)^L paths, not 2^(L H). The two agree for one head a layer.
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

    Printed: entry (s, d) of W_E W_U is proportional to log P(next token = d | current token = s).
    Right: the entries of a row equal the log-probabilities up to an additive constant of the row.
    Fault: imprecise.
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
    Fault: imprecise.
    """
    table = full_ov_circuit(E, W_V, W_O, U)
    return equal(A @ tokens @ E @ ov_circuit(W_V, W_O) @ U, A @ table[..., : A.shape[-1], :])


@claim(
    "circuits.full_ov_entry",
    over={"model": given_patterns(1, "H"), "tokens": Tokens("n", "V"), "patterns": Stack("H", Causal("n"))},
    sizes=ranges("HdV", n=range(2, 4), h=range(1, 3)),
    source=f"{ANNOTATED}, 9.2",
)
def circuits_full_ov_entry(model, tokens, patterns):
    """Where a head of a one-layer model looks at one token alone, it changes the last position's logits by that token's
    row of the head's full OV circuit: entry (s, d) is what the logit of d gains.
    """
    x0, last = tokens @ model.embedding, tokens.shape[-2] - 1
    relations = []
    for h in range(model.heads):
        looking = [pattern.copy() for pattern in patterns]
        looking[h][..., last:, :] = eye(last + 1, like=x0)[:1]
        quiet = replace(model, W_O=model.W_O * (np.arange(model.heads) != h).astype(int)[:, None, None])
        with_it, without = (m.run(x0, patterns=stacked([looking])).logits[..., last:, :] for m in (model, quiet))
        table = full_ov_circuit(
            model.embedding, model.W_V[..., 0, h, :, :], model.W_O[..., 0, h, :, :], model.unembedding
        )
        relations.append(equal(with_it - without, tokens[..., :1, :] @ table))
    return every(*relations)


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
    Fault: imprecise.
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
    over={"model": given_patterns(2, "H"), "tokens": Tokens("n", "V"), "patterns": Stack(2, Stack("H", Causal("n")))},
    sizes=ranges("HdV", n=range(2, 4), h=range(1, 3)),
    source=f"{PAGE}, Proposition 5",
)
def two_layer_key_contains_predecessor(model, tokens, patterns):
    """Layer 1 reads x_1[j] = x_0[j] + sum_h sum_k A_jk x_0[k] W_OV, whatever the patterns; where one head of layer 0
    looks at the previous token, every layer-1 head's unrotated key at j is that of x_0[j] and of the other heads'
    writes, plus x_0[j - 1] W_OV W_K.
    """
    x0, ov = tokens @ model.embedding, model.ov_circuits
    previous = previous_token(x0.shape[-2], like=x0) + 0 * patterns[0][0]
    before = np.concatenate([x0[..., :1, :], x0[..., :-1, :]], axis=-2)
    relations = []
    for first in (patterns[0], [previous, *patterns[0][1:]]):
        x1 = model.run(x0, patterns=stacked([first, patterns[1]])).states[1]
        relations.append(equal(x1, add([x0, *(A @ x0 @ ov[..., 0, h, :, :] for h, A in enumerate(first))])))
    others = add([x0, *(A @ x0 @ ov[..., 0, h + 1, :, :] for h, A in enumerate(patterns[0][1:]))])
    for h in range(model.heads):
        W_K = model.W_K[..., 1, h, :, :]
        relations.append(equal(x1 @ W_K, others @ W_K + before @ ov[..., 0, 0, :, :] @ W_K))
    return every(*relations)


@claim(
    "two_layer.delivered_effect_sees_source_token",
    over={
        "model": given_patterns(2, "H"),
        "tokens": Tokens("n", "V"),
        "others": Tokens("n", "V"),
        "patterns": Stack(2, Stack("H", Causal("n"))),
    },
    sizes=ranges("dV", H=range(1, 2), n=range(2, 4), h=range(1, 3)),
    source=f"{READING}, The QK circuit and the OV circuit",
    expect="fails",
)
def two_layer_delivered_effect_sees_source_token(model, tokens, others, patterns):
    """False after the first layer: what a head delivers from a position depends on the token there alone.

    Printed: once it is settled where to attend, the delivered effect is a function of the source token alone.
    Read: for any layer of a model, with the patterns held fixed.
    Right: in the first layer, where the stream at a position is that token's embedding. Later it also holds what
    earlier heads moved there; the effect is a function of the source position's stream.
    Fault: imprecise.
    """
    runs = [model.run(T @ model.embedding, patterns=stacked(patterns)) for T in (tokens, others)]
    same = total(tokens * others)
    values = [run.states[1] @ model.ov_circuits[..., 1, 0, :, :] for run in runs]
    return equal(same * values[0], same * values[1])


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

    Printed: induction requires scoring based on what token follows j, a property of position j + 1, which is impossible
    in one layer.
    Read: of the score of position j, as it says. (What is to be copied is indeed the token that follows the earlier A.)
    Right: no causal key at j can depend on that. The head looks at j for the token before it, t_{j-1}, and copies t_j,
    as section 17.2 of the same source has it.
    Fault: false.
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
    Fault: false.
    """
    x0 = tokens @ E
    previous = previous_token(x0.shape[-2], like=x0)
    term = x0 @ W_QK @ (previous @ x0 @ W_OV).mT
    table = E @ W_OV @ W_QK @ E.mT
    return equal(term, (tokens @ table @ tokens.mT).mT)
