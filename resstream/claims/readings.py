"""Reading a model off its stream: the logit lens, attribution to writes, copying and erasing heads."""

import numpy as np

from resstream.arithmetic import absolute, eye, mean, sqrt, square, total
from resstream.claim import at_least, at_most, claim, equal, every, more_than
from resstream.claims.models import GIVEN, add, ranges, silenced, stacked
from resstream.claims.sources import FRAMEWORK, PAGE, READING, SUMMARY, TEXTBOOK
from resstream.domains import Causal, Matrix, NonConstant, Positive, Projection, Stack, Vector
from resstream.reference import (
    centre,
    copying_score,
    direct_logit_attribution,
    full_ov_circuit,
    layer_norm,
    logit_lens,
    softmax,
)
from resstream.reference.spectrum import eigenvalue_moduli, spectral_radius, trace

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
