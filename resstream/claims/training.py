"""What a transformer is trained with: learning rate schedule, cross-entropy, label smoothing; and parameter counts."""

from fractions import Fraction

from resstream.arithmetic import absolute, exact, jacobian, log, maximum, minimum, ones, sqrt, total, where
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.claims.sources import ANNOTATED, PAGE, READING
from resstream.domains import Count, Matrix, Positive, Simplex, Tokens, Vector
from resstream.reference import cross_entropy, logit_lens, noam_rate, smoothed_targets, softmax

# ---- the schedule -----------------------------------------------------------


@claim(
    "noam.schedule",
    over={"step": Positive(), "width": Positive(), "warmup": Positive()},
    source=f"{ANNOTATED}, 19.1",
)
def noam_schedule(step, width, warmup):
    """The learning rate is largest at the last step of the warm-up, where it is 1/sqrt(width warmup)."""
    peak = noam_rate(warmup, width, warmup)
    return every(at_most(noam_rate(step, width, warmup), peak), equal(peak, 1 / sqrt(width * warmup)))


@claim(
    "noam.peak_of_the_base_model",
    over={"width": Count("d"), "warmup": Count("w")},
    sizes={"d": range(512, 513), "w": range(4000, 4001)},
    source=f"{ANNOTATED}, 19.1",
)
def noam_peak_of_the_base_model(width, warmup):
    """At width 512 and a warm-up of 4000 steps the learning rate peaks at 1/sqrt(2,048,000) = 6.988e-4, after 4000
    steps. (Stated of the square, and half a unit of the last digit is allowed.)
    """
    peak = Fraction(1, width * warmup)
    return every(at_least(peak, Fraction("6.9875e-4") ** 2), at_most(peak, Fraction("6.9885e-4") ** 2))


@claim(
    "noam.shape",
    over={"t": Positive(), "width": Positive(), "warmup": Positive()},
    source=f"{ANNOTATED}, 19.1",
)
def noam_shape(t, width, warmup):
    """In units of its peak and of the warm-up the schedule is min(t, 1/sqrt t): straight up, then down as an inverse
    root; the two branches meet at t = 1.
    """
    peak = noam_rate(warmup, width, warmup)
    return equal(noam_rate(t * warmup, width, warmup), peak * minimum(t, 1 / sqrt(t)))


@claim(
    "noam.warmup_is_forgotten",
    over={"first": Positive(), "second": Positive(), "later": Positive(), "width": Positive()},
    source=f"{ANNOTATED}, 19.1",
)
def noam_warmup_is_forgotten(first, second, later, width):
    """After the longer of two warm-ups their learning rates are the same: the warm-up sets the peak, not the decay."""
    step = maximum(first, second) + later
    return equal(noam_rate(step, width, first), noam_rate(step, width, second))


@claim(
    "noam.peak_halves",
    over={"width": Positive(), "warmup": Positive()},
    source="a tempting reading of the schedule",
    expect="fails",
)
def noam_peak_halves(width, warmup):
    """Tempting and false: a warm-up twice as long halves the peak. It divides it by sqrt 2."""
    return equal(2 * noam_rate(2 * warmup, width, 2 * warmup), noam_rate(warmup, width, warmup))


# ---- cross-entropy and label smoothing --------------------------------------


@claim("cross_entropy.gradient", over={"s": Vector("V"), "q": Simplex("V")}, source="textbook")
def cross_entropy_gradient(s, q):
    """The gradient of cross-entropy with respect to the logits is softmax less target, whatever distribution the
    target.
    """
    gradient = jacobian(lambda at: cross_entropy(at, q), s)
    return equal(gradient.mT, softmax(s) - q)


@claim(
    "cross_entropy.of_256_symbols",
    over={"right": Tokens(1, "V")},
    sizes={"V": range(256, 257)},
    source=f"{PAGE}, Induction heads and Where this goes next (Superposition)",
)
def cross_entropy_of_256_symbols(right):
    """Guessing uniformly among 256 symbols costs ln 256 = 5.545 nats; and 24 ln 256 = 133.08, so that the
    Johnson-Lindenstrauss bound that is cited asks for more than 133 dimensions. (Half a unit of the last digit.)
    """
    nats = cross_entropy(0 * right, right)
    return every(
        equal(nats, log(256 * ones((1, 1), like=right))),
        at_most(absolute(nats - exact("5.545")), exact("0.0005")),
        at_most(absolute(24 * nats - exact("133.08")), exact("0.005")),
    )


@claim("cross_entropy.uniform", over={"c": Vector(1), "q": Simplex("V")}, source="textbook")
def cross_entropy_uniform(c, q):
    """Equal logits cost log V nats, whatever the target: ln 256 = 5.545 for the page's induction task."""
    return equal(cross_entropy(c * ones(q.shape[-2:], like=q), q), log(q.shape[-1] * ones((1, 1), like=q)))


SMOOTHED = {"right": Tokens(1, "V"), "a": Positive(), "b": Positive()}
CLASSES = {"V": range(2, 7)}


def _targets(right, a, b):
    """Smoothed targets, with epsilon = a/(a + b) strictly between 0 and 1."""
    return smoothed_targets(right, a / (a + b))


@claim("label_smoothing.sums_to_one", over=SMOOTHED, sizes=CLASSES, source=f"{ANNOTATED}, 19.1")
def label_smoothing_sums_to_one(right, a, b):
    """Smoothed targets are a distribution, with epsilon/(V - 1) of it on every wrong class."""
    q, epsilon = _targets(right, a, b), a / (a + b)
    share = epsilon / (right.shape[-1] - 1)
    wrong = where(right == 1, share, q)
    return every(equal(total(q), 1), equal(wrong, share))


@claim(
    "label_smoothing.minimiser",
    over={**SMOOTHED, "s": Vector("V")},
    sizes=CLASSES,
    source=f"{ANNOTATED}, 19.1; Gibbs' inequality",
)
def label_smoothing_minimiser(right, a, b, s):
    """The smoothed loss is smallest where softmax equals the smoothed targets, and there it is their entropy: not zero,
    but -(1 - epsilon) log(1 - epsilon) - epsilon log(epsilon/(V - 1)).
    """
    q, epsilon, others = _targets(right, a, b), a / (a + b), right.shape[-1] - 1
    entropy = -(1 - epsilon) * log(1 - epsilon) - epsilon * log(epsilon / others)
    return every(at_least(cross_entropy(s, q), entropy), equal(cross_entropy(log(q), q), entropy))


@claim("label_smoothing.entropy", over=SMOOTHED, sizes=CLASSES, source=f"{ANNOTATED}, 19.1")
def label_smoothing_entropy(right, a, b):
    """The least smoothed loss is at most log V, reached where epsilon = (V - 1)/V makes the targets uniform."""
    q, V = _targets(right, a, b), right.shape[-1]
    even = smoothed_targets(right, exact(V - 1, V) * ones((1, 1), like=a))
    return every(at_most(cross_entropy(log(q), q), log(V * ones((1, 1), like=q))), equal(even, exact(1, V)))


@claim("label_smoothing.as_mixture", over=SMOOTHED, sizes=CLASSES, source=f"after {ANNOTATED}, 19.1")
def label_smoothing_as_mixture(right, a, b):
    """The printed smoothing is the mixture with the uniform distribution at the rate epsilon V/(V - 1)."""
    epsilon, V = a / (a + b), right.shape[-1]
    rate = epsilon * V / (V - 1)
    return equal(_targets(right, a, b), (1 - rate) * right + rate / V)


@claim(
    "label_smoothing.is_uniform_mixture",
    over=SMOOTHED,
    sizes=CLASSES,
    source="two forms in use, taken for one",
    expect="fails",
)
def label_smoothing_is_uniform_mixture(right, a, b):
    """Tempting and false: the printed smoothing is the mixture (1 - epsilon) one-hot + epsilon uniform.

    The mixture gives the right class epsilon/V more.
    """
    epsilon, V = a / (a + b), right.shape[-1]
    return equal(_targets(right, a, b), (1 - epsilon) * right + epsilon / V)


@claim(
    "label_smoothing.printed_share",
    over={"right": Tokens(1, "V")},
    sizes=CLASSES,
    source=f"{ANNOTATED}, 19",
    expect="fails",
)
def label_smoothing_printed_share(right):
    """With epsilon = 0.1 every wrong token is given 0.01% of the target: false but for one size of the vocabulary.

    Printed: "90% on the correct token, 0.01% on everything else".
    Right: 0.1/(V - 1) each, which is 0.01% for a vocabulary of 1001 tokens, and 0.0003% for the 37,000 of the original.
    Fault: false.
    """
    q = smoothed_targets(right, exact(1, 10) * ones((1, 1), like=right))
    return equal(where(right == 1, exact(1, 10_000) * ones((1, 1), like=right), q), exact(1, 10_000))


# ---- what is tied, and what is scaled ---------------------------------------


@claim(
    "embedding.all_three_scaled",
    over={"E": Matrix("V", "d"), "tokens": Tokens("n", "V")},
    sizes={"V": range(2, 5), "d": range(2, 5), "n": range(1, 3)},
    source=f"{ANNOTATED}, 4.1",
    expect="fails",
)
def embedding_all_three_scaled(E, tokens):
    """False: with one matrix for embedding and unembedding, it is the same whether the embedding alone is multiplied by
    sqrt d, or both are.

    Printed: one matrix serves source embedding, target embedding and the projection before the softmax; all three are
    tied and scaled by sqrt(d_model).
    Right: all three are tied; the two embeddings are scaled, and the projection is not. (So the original, section 3.4,
    as recalled, not seen.) Scaled as well, it would multiply every logit by sqrt d, an inverse temperature of 22.6 at
    width 512.
    Fault: false.
    """
    root = sqrt(E.shape[-1] * ones((1, 1), like=E))
    return equal(logit_lens(root * (tokens @ E), E.mT), logit_lens(root * (tokens @ E), root * E.mT))


# ---- parameters -------------------------------------------------------------

SHAPE = {"H": Count("H"), "h": Count("h")}


def head_parameters(d, h):
    """Entries of one head's W_Q, W_K, W_V (d x h each) and W_O (h x d)."""
    return 3 * d * h + h * d


def mlp_parameters(d):
    """Entries of the two matrices of an MLP of width 4d."""
    return d * (4 * d) + (4 * d) * d


@claim("counts.block", over=SHAPE, source=f"{ANNOTATED}, 10.1")
def counts_block(H, h):
    """At width d = H h a head's maps have 4d^2/H entries and the MLP's at width 4d have 8d^2, biases aside: so the MLP
    holds two thirds of a block with one attention, and half of a decoder block with cross-attention besides.
    """
    d = H * h
    of_heads, of_mlp = H * head_parameters(d, h), mlp_parameters(d)
    return every(
        equal(of_heads, 4 * d * d),
        equal(of_mlp, 8 * d * d),
        equal(3 * of_mlp, 2 * (of_heads + of_mlp)),
        equal(2 * of_mlp, 2 * of_heads + of_mlp),
    )


@claim("counts.encoder_decoder", over={**SHAPE, "L": Count("L")}, source=f"{ANNOTATED}, 2.1 and 10")
def counts_encoder_decoder(H, h, L):
    """Of all blocks of an encoder-decoder, L of each kind and three attentions to every two MLPs, the MLPs hold four
    sevenths, 57 %.
    """
    of_heads, of_mlp = H * head_parameters(H * h, h), mlp_parameters(H * h)
    return equal(7 * (2 * L * of_mlp), 4 * (3 * L * of_heads + 2 * L * of_mlp))


@claim(
    "counts.mlp_share_of_the_model",
    over={"H": Count("H"), "h": Count("h"), "L": Count("L"), "V": Count("V")},
    sizes={"H": range(8, 9), "h": range(64, 65), "L": range(6, 7), "V": range(37_000, 37_001)},
    source=f"{ANNOTATED}, 10",
    expect="fails",
)
def counts_mlp_share_of_the_model(H, h, L, V):
    """False: in the model whose width is named, the original of six blocks a side and 37,000 tokens, the MLPs hold
    roughly two thirds (here: between 60 and 73 per cent) of the model's parameters.

    Printed: for width 512 the two matrices account for roughly two thirds of the model's parameters.
    Read: of the original model, an encoder-decoder with one table of embeddings; biases and norms aside.
    Right: for 40 per cent of that model, 57 of its blocks together and half of a decoder's block. Two thirds is the
    share of a block with one attention, an encoder's or GPT-2's (counts.block).
    Fault: imprecise.
    """
    of_heads, of_mlp = H * head_parameters(H * h, h), mlp_parameters(H * h)
    model = 3 * L * of_heads + 2 * L * of_mlp + V * H * h
    return every(at_least(100 * 2 * L * of_mlp, 60 * model), at_most(100 * 2 * L * of_mlp, 73 * model))


@claim(
    "counts.neurons_before_the_middle",
    over={"d": Count("d"), "L": Count("L")},
    sizes={"d": range(4096, 4097), "L": range(25, 26)},
    source=f"{READING}, the cramped channel",
)
def counts_neurons_before_the_middle(d, L):
    """25 layers of width 4096 have 409,600 neurons of width 4d, a hundred for each dimension of the stream; the text
    says around 400,000.
    """
    neurons = L * 4 * d
    return every(equal(neurons, 409_600), equal(neurons, 100 * d), at_most(abs(neurons - 400_000), 10_000))
