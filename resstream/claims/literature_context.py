"""Published statements on what one layer of attention can know of its context: induction is a matter of size."""

import numpy as np

from resstream.arithmetic import amax, exp, total
from resstream.claim import claim, equal
from resstream.claims.models import add
from resstream.domains import AttentionOnly, Permutation, Tokens

INDUCTION = (
    "Sanford, Hsu and Telgarsky, One-layer transformers fail to solve the induction heads task (arXiv 2408.14332)"
)


@claim(
    "one_layer.context_is_a_sum",
    over={"model": AttentionOnly(1, "H", "d", "h", "V"), "tokens": Tokens("n", "V"), "more": Tokens("m", "V")},
    sizes={
        "H": range(1, 3),
        "V": range(2, 3),
        "d": range(1, 3),
        "h": range(2, 3),
        "n": range(1, 3),
        "m": range(1, 3),
    },
    source=f"{INDUCTION}, the step of its proof",
)
def one_layer_context_is_a_sum(model, tokens, more):
    """All that the last logits of a one-layer model know of a part of the context is, for each head, one number and one
    vector: the part's kernel mass and its kernel-weighted sum of values.

    So H heads of width h in p bits tell at most 2^(H (h + 1) p) such parts apart, and to complete n pairs which may
    each be either of two takes 2^n: one layer needs a size in proportion to the context, where two need none. That a
    single layer cannot is a statement on size.
    """
    stream, split = np.concatenate([tokens, more], axis=-2) @ model.embedding, tokens.shape[-2]
    scores = model.scores(0, stream)[..., -1:, :]
    kernel = exp(scores - amax(scores))
    written = []
    for h in range(model.heads):
        values = stream @ model.ov_circuits[..., 0, h, :, :]
        parts = [
            (total(weights), weights @ moved)
            for weights, moved in (
                (kernel[..., h, :, :split], values[..., :split, :]),
                (kernel[..., h, :, split:], values[..., split:, :]),
            )
        ]
        (mass, moved), (other_mass, also_moved) = parts
        written.append((moved + also_moved) / (mass + other_mass))
    logits = (stream[..., -1:, :] + add(written)) @ model.unembedding
    return equal(model.run(stream).logits[..., -1:, :], logits)


CONTEXTS = {"tokens": Tokens("n", "V"), "last": Tokens(1, "V"), "order": Permutation("n")}
CONTEXT_SIZES = {name: range(1, 3) for name in "Hdh"} | {"V": range(2, 4), "n": range(2, 4)}


def last_logits(model, tokens, last):
    """The logits at the last token, after a context: (..., 1, V)."""
    return model.run(np.concatenate([tokens, last], axis=-2) @ model.embedding).logits[..., -1:, :]


@claim(
    "one_layer.order_is_invisible",
    over={"model": AttentionOnly(1, "H", "d", "h", "V", base=None), **CONTEXTS},
    sizes=CONTEXT_SIZES,
    source=f"beside {INDUCTION}, without positions",
)
def one_layer_order_is_invisible(model, tokens, last, order):
    """Without positions the last logits of a one-layer model are the same in any order of the earlier tokens: of no
    size does it complete both [A B C D A] by B and [A D C B A] by D.
    """
    return equal(last_logits(model, order @ tokens, last), last_logits(model, tokens, last))


@claim(
    "two_layer.order_is_invisible",
    over={"model": AttentionOnly(2, "H", "d", "h", "V", base=None), **CONTEXTS},
    sizes=CONTEXT_SIZES,
    source=f"a tempting extension of one_layer.order_is_invisible, beside {INDUCTION}",
    expect="fails",
)
def two_layer_order_is_invisible(model, tokens, last, order):
    """Tempting and false: nor do two causal layers without positions see the order of the earlier tokens. The causal
    mask alone tells the second layer what came first.
    """
    return equal(last_logits(model, order @ tokens, last), last_logits(model, tokens, last))
