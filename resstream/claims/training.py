"""What a transformer is trained with: learning rate schedule, cross-entropy, label smoothing; and parameter counts."""

import numpy as np

from resstream.arithmetic import exact, jacobian, log, maximum, minimum, ones, sqrt, total, where
from resstream.claim import at_least, at_most, claim, equal, every
from resstream.claims.sources import ANNOTATED
from resstream.domains import Count, Positive, Simplex, Tokens, Vector
from resstream.reference import MLP, Head, cross_entropy, noam_rate, smoothed_targets, softmax

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
    Right: 0.1/(V - 1) each, which is 0.01% for a vocabulary of 1001 tokens.
    """
    q = smoothed_targets(right, exact(1, 10) * ones((1, 1), like=right))
    return equal(where(right == 1, exact(1, 10_000) * ones((1, 1), like=right), q), exact(1, 10_000))


# ---- parameters -------------------------------------------------------------

SHAPE = {"H": Count("H"), "h": Count("h")}


def _block_parameters(H, h):
    """Entries of one head's four maps and of the MLP's two, for width d = H h and an MLP of width 4d."""
    d = H * h
    inward, outward = np.zeros((d, h)), np.zeros((h, d))
    head = Head(inward, inward, inward, outward)
    layer = MLP(np.zeros((d, 4 * d)), np.zeros((1, 4 * d)), np.zeros((4 * d, d)), np.zeros((1, d)))
    return sum(W.size for W in (head.W_Q, head.W_K, head.W_V, head.W_O)), layer.W_1.size + layer.W_2.size


@claim("counts.block", over=SHAPE, source=f"{ANNOTATED}, 10.1")
def counts_block(H, h):
    """At width d = H h a head's maps have 4d^2/H entries, so all heads' 4d^2, and the MLP's at width 4d have 8d^2: two
    thirds of the block's.
    """
    d, (of_head, of_mlp) = H * h, _block_parameters(H, h)
    return every(
        equal(of_head * H, 4 * d * d),
        equal(of_mlp, 8 * d * d),
        equal(3 * of_mlp, 2 * (H * of_head + of_mlp)),
    )


@claim(
    "counts.mlp_share_of_the_model",
    over={**SHAPE, "L": Count("L"), "V": Count("V")},
    source=f"{ANNOTATED}, 10",
    expect="fails",
)
def counts_mlp_share_of_the_model(H, h, L, V):
    """The MLPs hold two thirds of the model's parameters: false as soon as the embeddings are counted.

    Printed: the two matrices account for roughly two thirds of the model's parameters.
    Right: for two thirds of the block's, exactly, biases aside. An embedding of V tokens adds V d to the model.
    """
    of_head, of_mlp = _block_parameters(H, h)
    model = L * (H * of_head + of_mlp) + V * H * h
    return at_least(3 * L * of_mlp, 2 * model)
