"""How two heads compose through the stream: composition scores, and subspaces that do not meet.

Row vectors throughout: a stream is read as x @ W and written to by addition, so a head writes into the row space of its
OV circuit W_V W_O and reads through the column space of a map. "The annotated edition" uses rows too; "the framework"
prints columns, and its matrices are turned here.
"""

from dataclasses import replace
from itertools import combinations

from resstream.arithmetic import absolute, descending, eye, square, total, total_entry
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.claims.models import add, for_heads, given_patterns, layer_of, ranges, stacked, with_layer
from resstream.claims.sources import ANNOTATED, FRAMEWORK, PAGE
from resstream.domains import (
    AttentionOnly,
    Causal,
    Matrix,
    NonZero,
    Orthogonal,
    Permutation,
    Projection,
    Stack,
    Tokens,
    Whole,
)
from resstream.reference import (
    circuit_composition,
    composition_score,
    frobenius_norm,
    ov_circuit,
    qk_circuit,
    spectral_norm,
    weight_composition,
)
from resstream.reference.spectrum import singular_values, trace

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
    assuming=(first_writes_inside, second_reads_outside),
    sizes={**PAIR_SIZES, "e": range(2, 4)},
    source=f"{PAGE}, Proposition 4",
)
def composition_zero_iff_product_is_zero(first, second, P):
    """The score is 0 where the earlier head writes where the later one does not read, and only there: it is at least
    any entry of the product over both norms, so that a score of 0 leaves no entry.
    """
    unheard = composition_score(first @ P, second - P @ second)
    score = composition_score(first, second) * frobenius_norm(first) * frobenius_norm(second)
    return every(equal(unheard, 0), at_least(score, absolute(first @ second)))


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
    "composition.largest_score",
    over={"first": NonZero("d", "e"), "second": NonZero("e", "f")},
    sizes=PAIR_SIZES,
    source=f"after {ANNOTATED}, 18.4; von Neumann's trace inequality",
)
def composition_largest_score(first, second):
    """For given singular values s and t, both in descending order, the score is at most sqrt(sum (s_k t_k)^2)/(|s|
    |t|).

    Proof: ||AB||_F^2 = tr(A'A B B') is at most sum s_k^2 t_k^2. It is reached where the largest singular vectors meet
    the largest.
    """
    s, t = singular_values(first), singular_values(second)
    shared = min(s.shape[-1], t.shape[-1])
    largest = total(square(s[..., :shared] * t[..., :shared])) / (total(square(s)) * total(square(t)))
    return at_most(square(composition_score(first, second)), largest)


@claim(
    "composition.aligned_spaces_are_maximal",
    over={"s": Whole(1, 9, 1, "d"), "t": Whole(1, 9, 1, "d"), "Q": Orthogonal("d"), "order": Permutation("d")},
    sizes={"d": range(2, 4)},
    source=f"{ANNOTATED}, 18 (plain language)",
    expect="fails",
)
def composition_aligned_spaces_are_maximal(s, t, Q, order):
    """False: where one head writes exactly the space that the other reads, the product has the largest norm that its
    singular values allow.

    Printed: if the column space of W_A and the row space of W_B are perfectly aligned, the product has maximal norm.
    Read: maximal among products of matrices with these singular values, as the score divides by both norms.
    Right: it is the singular vectors that must meet, the largest with the largest (composition.largest_score). With
    singular values 2 and 1 on both sides, the score is .825 if they do and .566 if they are crossed, in one and the
    same plane. Projections onto one k-dimensional space score 1/sqrt k.
    Fault: false.
    """
    first, second = Q * s, (order @ (t.mT * order.mT)) @ Q.mT
    s, t = descending(s), descending(t)
    largest = total(square(s * t)) / (total(square(s)) * total(square(t)))
    return equal(square(composition_score(first, second)), largest)


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
    Fault: false.
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
    Fault: false.
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
    source=f"a tempting reading of {ANNOTATED}, 13.2",
    expect="fails",
)
def composition_three_score_terms(model, x0, written):
    """Tempting and false: three terms are enough, without the one in which query and key both read earlier writes.

    The source ends its list of three with dots, and is not wrong.
    """
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
    "subspaces.mean_square_cosine",
    over={"B": Orthogonal("d", "k"), "Q": Orthogonal("d")},
    sizes={"d": range(2, 6), "k": range(1, 3)},
    source=f"{ANNOTATED}, 18 (plain language)",
)
def subspaces_mean_square_cosine(B, Q):
    """The mean square of the cosines between a fixed subspace and all that k vectors of an orthonormal basis span, k
    dimensions of d, is k/d: so it is for every distribution of subspaces that no rotation changes.

    Printed: two random 64-dimensional subspaces of R^768 are almost certainly orthogonal, their overlap essentially
    zero.
    Right: their cosines have the root mean square sqrt(64/768) = 0.29, and the largest of the 64 is about
    2 sqrt(1/12 (1 - 1/12)) = 0.55, as measured (tests/regressions/test_random_subspaces.py). The score
    1/sqrt 768 = 0.036 is small because it averages over all directions.
    Fault: false.
    """
    d, k = B.shape[-2:]
    overlaps = total(square(Q.mT @ B))  # of each basis vector with the subspace
    squares = [add([overlaps[..., i : i + 1, :] for i in chosen]) for chosen in combinations(range(d), k)]
    return equal(add(squares) * d, len(squares) * k * k)
