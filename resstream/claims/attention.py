"""Softmax, attention, heads, the MLP, and the block that they make.

Source, where none is named: "The Transformer Block and the Residual Stream" (Definition 1, Proposition 1).
"""

from dataclasses import replace

import numpy as np

from resstream.arithmetic import amax, amin, exp, eye, jacobian, log, ones, sqrt, square, total, where
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.claims.sources import ANNOTATED, PAGE, SUMMARY
from resstream.domains import (
    Heads,
    Matrix,
    NonConstant,
    NonZero,
    Norm,
    Orthogonal,
    Permutation,
    Positive,
    ReluLayer,
    Scores,
    Vector,
)
from resstream.reference import (
    LINF,
    Block,
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
    concatenated_attention,
    layer_norm,
    mlp,
    mlp_key_values,
    multi_head_attention,
    operator_norm,
    post_ln_block,
    pre_ln_block,
    row_norms,
    softmax,
)
from resstream.reference.spectrum import rank

# ---- softmax ----------------------------------------------------------------


@claim("softmax.rows_stochastic", over={"S": Scores("n", "m")}, source=f"{PAGE}, Definition 1")
def softmax_rows_stochastic(S):
    """Softmax makes every row of finite scores a probability vector, in which no weight is zero."""
    A = softmax(S)
    return every(equal(total(A), 1), more_than(A, 0))


@claim(
    "softmax.shift_invariant",
    over={"S": Scores("n", "m"), "shift": Matrix("n", 1)},
    source=f"{PAGE}, Definition 1",
)
def softmax_shift_invariant(S, shift):
    """A number added to a whole row of scores changes no weight: exp of it cancels."""
    return equal(softmax(S + shift), softmax(S))


@claim(
    "softmax.scale_invariant",
    over={"S": Scores("n", "m"), "c": Positive()},
    source="a tempting analogy",
    expect="fails",
)
def softmax_scale_invariant(S, c):
    """Tempting and false: a positive factor on all scores changes no weight. It is the inverse temperature."""
    return equal(softmax(c * S), softmax(S))


@claim("softmax.mask_is_exact", over={"S": Scores("n")}, source=f"{PAGE}, Definition 1, on the causal mask")
def softmax_mask_is_exact(S):
    """Under the causal mask every weight above the diagonal is exactly zero, however low the allowed scores are, and
    row i is the softmax of its first i scores alone.
    """
    n = S.shape[-1]
    A = softmax(S, causal_mask(n))
    rows = [equal(A[..., i : i + 1, : i + 1], softmax(S[..., i : i + 1, : i + 1])) for i in range(n)]
    return every(equal(where(causal_mask(n), 0, A), 0), *rows)


@claim("softmax.jacobian", over={"s": Vector("n")}, source="textbook; used by every backward pass of attention")
def softmax_jacobian(s):
    """The Jacobian of softmax at a row of scores is diag(p) - p'p, which is symmetric and kills the all-ones vector."""
    p = softmax(s)
    closed = p * eye(s.shape[-1], like=p) - p.mT @ p
    return every(equal(jacobian(softmax, s), closed), equal(total(closed), 0), equal(closed, closed.mT))


def spread_is_moderate(s):
    """The scores differ by 1000 at most: beyond, the smallest weight is lost in an enclosure's digits."""
    return at_most(amax(s) - amin(s), 1000)


@claim(
    "softmax.null_space",
    assuming=(spread_is_moderate,),
    over={"s": Vector("n"), "u": NonConstant("n")},
    sizes={"n": range(2, 6)},
    source=f"{SUMMARY}, related work (the null space of softmax's Jacobian)",
)
def softmax_null_space(s, u):
    """Only the all-ones direction is lost: for finite scores u J u' is the variance of u under the weights, which
    is positive unless u is constant.
    """
    p, J = softmax(s), jacobian(softmax, s)
    variance = total(p * square(u - total(p * u)))
    return every(equal(u @ J @ u.mT, variance), more_than(variance, 0))


@claim(
    "softmax.key_bias",
    over={"Q": Matrix("n", "h"), "K": Matrix("m", "h"), "b": Vector("h")},
    source="from softmax.shift_invariant; without rotary positions",
)
def softmax_key_bias(Q, K, b):
    """One vector added to every key changes no attention weight: row i of the scores moves by <q_i, b> as a whole."""
    return equal(attention_weights(Q, K + b), attention_weights(Q, K))


@claim(
    "softmax.query_bias",
    over={"Q": Matrix("n", "h"), "K": Matrix("m", "h"), "b": Vector("h")},
    source="a tempting analogy to softmax.key_bias",
    expect="fails",
)
def softmax_query_bias(Q, K, b):
    """Tempting and false: one vector added to every query changes no weight. Its share <b, k_j> tells keys apart."""
    return equal(attention_weights(Q + b, K), attention_weights(Q, K))


@claim(
    "attention.unit_vectors",
    over={"Q": Orthogonal("h"), "k": NonZero(1, "h")},
    source=f"{ANNOTATED}, 6",
)
def attention_unit_vectors(Q, k):
    """Dot products of unit vectors have mean square 1/h: over any orthonormal basis q_1 .. q_h, and so over every
    distribution of queries that no rotation changes, the mean of <q, k>^2 is ||k||^2/h, and that of <q, k> over q and
    -q is 0. So their standard deviation is 1/sqrt h, and none exceeds 1.

    Printed: the dot product of two random unit vectors in high dimensions has standard deviation sqrt(d_k).
    Right: that is the case of vectors with independent entries of unit *variance*, whose length is about sqrt(d_k).
    Between unit vectors the dot product never exceeds 1, and its standard deviation is 1/sqrt(d_k).
    Fault: false.
    """
    products, length, h = k @ Q, total(square(k)), Q.shape[-1]
    scores = attention_scores(k, Q.mT)  # <k, q>/sqrt h for every q of the basis
    return every(
        equal(total(square(scores)), length / h),
        equal(h * square(scores), square(products)),
        at_most(square(products), length),
    )


@claim(
    "attention.log_rank",
    over={"Q": Matrix("n", "h"), "K": Matrix("m", "h")},
    sizes={"n": range(1, 5), "m": range(1, 5), "h": range(1, 3)},
    source=f"{PAGE}, after Definition 4 (the attention topic's one-head rank bound)",
)
def attention_log_rank(Q, K):
    """One head's pattern has log A of rank h + 1 at most: it is the scores, of rank h at most, less one number a row.

    Only h + 1 numbers a row and h + 1 a column say which patterns a head can make.
    """
    normaliser = attention_scores(Q, K) - log(attention_weights(Q, K))
    return every(equal(normaliser, normaliser[..., :1]), at_most(rank(Q @ K.mT), Q.shape[-1]))


# ---- attention --------------------------------------------------------------

QUERIES_KEYS_VALUES = {"Q": Matrix("n", "h"), "K": Matrix("m", "h"), "V": Matrix("m", "v")}


@claim(
    "attention.convex_hull",
    over={**QUERIES_KEYS_VALUES, "u": Vector("v")},
    source=f"{PAGE}, Proposition 1 (i): a kernel smoother averages",
)
def attention_convex_hull(Q, K, V, u):
    """Every output of attention lies in the convex hull of the values: no linear functional separates it from them."""
    seen, values = total(attention(Q, K, V) * u), total(V * u)
    return every(at_most(seen, amax(values, -2)), at_least(seen, amin(values, -2)))


@claim(
    "attention.kernel_smoother",
    over=QUERIES_KEYS_VALUES,
    source=f"{PAGE}, Proposition 1 (i): Nadaraya and Watson's smoother",
)
def attention_kernel_smoother(Q, K, V):
    """Attention is the Nadaraya-Watson smoother of the kernel exp(<q, k>/sqrt h): kernel-weighted values over the mass
    of the kernel.
    """
    kernel = exp(Q @ K.mT / sqrt(Q.shape[-1] * ones((1, 1), like=Q)))
    return equal(attention(Q, K, V), kernel @ V / total(kernel))


@claim(
    "attention.linear_in_values",
    over={**QUERIES_KEYS_VALUES, "U": Matrix("m", "v"), "W": Matrix("v", "e")},
    sizes={"n": range(1, 5), "m": range(1, 5)},
    source=f"{PAGE}, Proposition 1 (i)",
)
def attention_linear_in_values(Q, K, V, U, W):
    """For given queries and keys attention is linear in the values: it passes through sums and through a map W."""
    return equal(attention(Q, K, (V + U) @ W), attention(Q, K, V) @ W + attention(Q, K, U) @ W)


@claim(
    "attention.linear_in_stream",
    over={"X": Matrix("n", "d"), "Y": Matrix("n", "d")},
    sizes={"n": range(2, 5), "d": range(1, 4)},
    source="a tempting reading of attention.linear_in_values",
    expect="fails",
)
def attention_linear_in_stream(X, Y):
    """Tempting and false: self-attention is linear in the stream. It is linear only where the pattern is held fixed."""
    return equal(attention(X + Y, X + Y, X + Y), attention(X, X, X) + attention(Y, Y, Y))


@claim("attention.doubled_context", over=QUERIES_KEYS_VALUES, source="from the kernel smoother's form")
def attention_doubled_context(Q, K, V):
    """A context repeated in full changes no output, without positions and mask: every weight is halved and counted
    twice.
    """
    twice = [np.concatenate([M, M], axis=-2) for M in (K, V)]
    return equal(attention(Q, *twice), attention(Q, K, V))


@claim(
    "attention.repeated_token",
    over=QUERIES_KEYS_VALUES,
    sizes={"m": range(2, 6)},
    source="a tempting reading of attention.doubled_context",
    expect="fails",
)
def attention_repeated_token(Q, K, V):
    """Tempting and false: a token of the context that is repeated once more changes no output. It gains weight."""
    more = [np.concatenate([M, M[..., :1, :]], axis=-2) for M in (K, V)]
    return equal(attention(Q, *more), attention(Q, K, V))


@claim(
    "attention.first_token",
    over={"Q": Matrix("n", "h"), "K": Matrix("n", "h"), "V": Matrix("n", "v")},
    source=f"{PAGE}, Definition 1, on the causal mask",
)
def attention_first_token(Q, K, V):
    """Under the causal mask the first token reads itself alone: its output is its own value, exactly."""
    return equal(attention(Q, K, V, causal_mask(Q.shape[-2]))[..., :1, :], V[..., :1, :])


# ---- heads ------------------------------------------------------------------

ATTENTION = {"X": Matrix("n", "d"), "heads": Heads("H", "d", "h", "v")}
ATTENTION_SIZES = {"n": range(1, 4), "d": range(1, 4), "h": range(1, 4), "v": range(1, 4), "H": range(1, 4)}


def _both_masks(n):
    """No mask, and the causal one."""
    return [None, causal_mask(n)]


@claim("heads.are_smoothers", over=ATTENTION, sizes=ATTENTION_SIZES, source=f"{PAGE}, Proposition 1 (i)")
def heads_are_smoothers(X, heads):
    """Multi-head attention is the sum of smoothed copies of the stream, each written by its own output map:
    MHA(X) = sum_h Attn(X W_Q, X W_K, X W_V) W_O, with the causal mask and without.
    """
    return every(
        *(
            equal(
                multi_head_attention(X, heads, mask),
                sum(attention(X @ head.W_Q, X @ head.W_K, X @ head.W_V, mask) @ head.W_O for head in heads),
            )
            for mask in _both_masks(X.shape[-2])
        )
    )


@claim(
    "heads.sum_is_concat",
    over=ATTENTION,
    sizes=ATTENTION_SIZES,
    source=f"{PAGE}, Proposition 1 (i); {ANNOTATED}, 7.2",
)
def heads_sum_is_concat(X, heads):
    """Heads side by side times their output maps stacked are the sum of what the heads write alone."""
    return every(
        *(
            equal(concatenated_attention(X, heads, mask), multi_head_attention(X, heads, mask))
            for mask in _both_masks(X.shape[-2])
        )
    )


@claim(
    "attention.causal_no_future",
    over={**ATTENTION, "later": Matrix("m", "d")},
    sizes=ATTENTION_SIZES | {"m": range(1, 4)},
    source=f"{PAGE}, Definition 1, on the causal mask; {ANNOTATED}, 6",
)
def attention_causal_no_future(X, heads, later):
    """Under the causal mask a later token never changes an earlier output."""
    n = X.shape[-2]
    longer = np.concatenate([X, later], axis=-2)
    seen = multi_head_attention(longer, heads, causal_mask(longer.shape[-2]))
    return equal(seen[..., :n, :], multi_head_attention(X, heads, causal_mask(n)))


@claim(
    "attention.unmasked_no_future",
    over={"X": Matrix("n", "d"), "later": Matrix(1, "d")},
    sizes={"n": range(1, 4), "d": range(1, 4)},
    source="attention.causal_no_future without its mask",
    expect="fails",
)
def attention_unmasked_no_future(X, later):
    """Tempting and false: without a mask a later token changes no earlier output."""
    longer = np.concatenate([X, later], axis=-2)
    return equal(attention(longer, longer, longer)[..., : X.shape[-2], :], attention(X, X, X))


@claim(
    "attention.permutation_equivariant",
    over={**ATTENTION, "order": Permutation("n")},
    sizes=ATTENTION_SIZES,
    source=f"{ANNOTATED}, 5",
)
def attention_permutation_equivariant(X, heads, order):
    """Without mask and positions, permuted tokens give permuted outputs: MHA(PX) = P MHA(X)."""
    return equal(multi_head_attention(order @ X, heads), order @ multi_head_attention(X, heads))


@claim(
    "attention.permutation_equivariant_masked",
    over={"X": Matrix("n", "d"), "order": Permutation("n")},
    sizes={"n": range(2, 5), "d": range(1, 4)},
    source="a tempting extension of attention.permutation_equivariant",
    expect="fails",
)
def attention_permutation_equivariant_masked(X, order):
    """Tempting and false: permutation equivariance under the causal mask. The mask alone tells positions apart."""
    mask, moved = causal_mask(X.shape[-2]), order @ X
    return equal(attention(moved, moved, moved, mask), order @ attention(X, X, X, mask))


# ---- MLP and block ----------------------------------------------------------


@claim(
    "mlp.key_value_sum",
    over={"X": Matrix("n", "d"), "layer": ReluLayer("d", "w", "e")},
    source=f"{PAGE}, Proposition 1 (ii)",
)
def mlp_key_value_sum(X, layer):
    """A ReLU layer is a memory: its bias plus, for every neuron, the value (a row of W_2) times the gate
    ReLU(<x, key> + b_1), the key a column of W_1.
    """
    return equal(mlp(X, layer), mlp_key_values(X, layer))


@claim(
    "mlp.positionwise",
    over={"X": Matrix("n", "d"), "layer": ReluLayer("d", "w"), "order": Permutation("n")},
    sizes={"n": range(1, 5), "d": range(1, 5), "w": range(1, 5)},
    source=f"{ANNOTATED}, 10",
)
def mlp_positionwise(X, layer, order):
    """The MLP treats every token alone and alike: it commutes with every order of the tokens."""
    return equal(mlp(order @ X, layer), order @ mlp(X, layer))


@claim(
    "mlp.lipschitz",
    over={"x": Vector("d"), "y": Vector("d"), "layer": ReluLayer("d", "w", "e"), "norm": Norm("d", bases=False)},
    sizes={"d": range(1, 5), "w": range(1, 5), "e": range(1, 5)},
    source="textbook",
)
def mlp_lipschitz(x, y, layer, norm):
    """A ReLU layer stretches distances by at most ||W_1|| ||W_2||, in l1, l2 and the maximum norm."""
    constant = operator_norm(layer.W_1, norm) * operator_norm(layer.W_2, norm)
    return at_most(row_norms(mlp(x, layer) - mlp(y, layer), norm), constant * row_norms(x - y, norm))


@claim(
    "mlp.lipschitz_of_product",
    over={"x": Vector("d"), "y": Vector("d"), "layer": ReluLayer("d", "w", "e")},
    sizes={"d": range(1, 4), "w": range(2, 5), "e": range(1, 4)},
    source="a tempting composition of maps",
    expect="fails",
)
def mlp_lipschitz_of_product(x, y, layer):
    """Tempting and false: a ReLU layer stretches distances by at most ||W_1 W_2|| (in the maximum norm here).

    ReLU breaks the cancellation inside the product: W_1 = (1, -1), W_2 = (1, 1)' multiply to 0 and compute |x|.
    """
    constant = operator_norm(layer.W_1 @ layer.W_2, LINF)
    return at_most(row_norms(mlp(x, layer) - mlp(y, layer), LINF), constant * row_norms(x - y, LINF))


BLOCK = {**ATTENTION, "layer": ReluLayer("d", "w"), "epsilon": Positive()}
BLOCK_SIZES = {name: range(1, 3) for name in "Hhvw"} | {"n": range(1, 4), "d": range(2, 4)}


def _norm(epsilon):
    return lambda X: layer_norm(X, epsilon=epsilon)


@claim("block.pre_ln", over=BLOCK, sizes=BLOCK_SIZES, source=f"{PAGE}, Definition 1")
def block_pre_ln(X, heads, layer, epsilon):
    """A pre-LN block adds to the stream what its heads make of the normalised stream, then what its MLP makes of the
    new stream, normalised: the stream itself is never normalised.
    """
    norm, mask = _norm(epsilon), causal_mask(X.shape[-2])
    attended = X + concatenated_attention(norm(X), heads, mask)
    written = attended + mlp_key_values(norm(attended), layer)
    return equal(pre_ln_block(X, Block(heads, layer), mask, norm), written)


@claim("block.post_ln", over=BLOCK, sizes=BLOCK_SIZES, source=f"{PAGE}, Definition 1")
def block_post_ln(X, heads, layer, epsilon):
    """A post-LN block normalises the stream after each of its two writes."""
    norm, mask = _norm(epsilon), causal_mask(X.shape[-2])
    attended = norm(X + concatenated_attention(X, heads, mask))
    written = norm(attended + mlp_key_values(attended, layer))
    return equal(post_ln_block(X, Block(heads, layer), mask, norm), written)


@claim(
    "block.placement_matters",
    over=BLOCK,
    sizes=BLOCK_SIZES,
    source="a tempting reading of the two block forms",
    expect="fails",
)
def block_placement_matters(X, heads, layer, epsilon):
    """Tempting and false: where LayerNorm sits matters little: the pre-LN block's output, normalised, is the post-LN
    block's output.
    """
    norm, block = _norm(epsilon), Block(heads, layer)
    return equal(norm(pre_ln_block(X, block, norm=norm)), post_ln_block(X, block, norm=norm))


@claim(
    "block.causal_no_future",
    over={**BLOCK, "later": Matrix(1, "d")},
    sizes=BLOCK_SIZES,
    source=f"{PAGE}, Definition 1; {ANNOTATED}, 6 and 10",
)
def block_causal_no_future(X, heads, layer, epsilon, later):
    """A whole pre-LN block under the causal mask keeps the future out: only attention moves anything between tokens."""
    norm, block, n = _norm(epsilon), Block(heads, layer), X.shape[-2]
    longer = np.concatenate([X, later], axis=-2)
    seen = pre_ln_block(longer, block, causal_mask(n + 1), norm)
    return equal(seen[..., :n, :], pre_ln_block(X, block, causal_mask(n), norm))


@claim(
    "block.no_writes_is_identity",
    over=BLOCK,
    sizes=BLOCK_SIZES,
    source="The residual stream (a textbook's section 5.1): a sublayer that writes zeros is the identity",
)
def block_no_writes_is_identity(X, heads, layer, epsilon):
    """A pre-LN block whose output maps are zero hands the stream on unchanged, bit for bit."""
    silent = [replace(head, W_O=0 * head.W_O) for head in heads]
    quiet = replace(layer, W_2=0 * layer.W_2, b_2=0 * layer.b_2)
    return equal(pre_ln_block(X, Block(silent, quiet), norm=_norm(epsilon)), X)


@claim(
    "block.attention_only",
    over=BLOCK,
    sizes=BLOCK_SIZES,
    source=f"{ANNOTATED}, 1.2",
    expect="fails",
)
def block_attention_only(X, heads, layer, epsilon):
    """False: a block of a model such as GPT-2 or Llama is its attention alone.

    Printed: decoder-only, attention-only models (no MLPs, no encoder) are precisely the architecture used in modern
    language models (GPT-2, GPT-3, Pythia, Llama).
    Read: with "attention-only (no MLPs)" as part of what is said to be used. (Of "decoder-only, no encoder" it is
    right.)
    Right: those are decoder-only models with an MLP in every block, which holds two thirds of the block's weights
    (counts.block) and whose write is not zero. The framework is exact for its own attention-only models.
    Fault: imprecise.
    """
    norm, mask = _norm(epsilon), causal_mask(X.shape[-2])
    return equal(pre_ln_block(X, Block(heads, layer), mask, norm), X + multi_head_attention(norm(X), heads, mask))
