"""Claims that somebody stated by contortion, in the plain forms of the vocabulary: what is known of each is found."""

import pytest

from resstream.arithmetic import exact, pi, square
from resstream.calculus import lipschitz
from resstream.claim import Claim, at_least, at_most, equal
from resstream.domains import (
    DoublyStochastic,
    Matrix,
    NonConstant,
    PositiveRows,
    RowStochastic,
    Scalar,
    Simplex,
    Vector,
)
from resstream.falsify import falsify
from resstream.reference import (
    L1,
    LINF,
    affine_rank,
    birkhoff_coefficient,
    diameter,
    dispersion,
    dobrushin,
    entropy,
    gelu,
    gelu_tanh,
    hellinger,
    hilbert_metric,
    kl_divergence,
    layer_norm,
    logsumexp,
    mean_pairwise_distance,
    operator_norm,
    rms_norm,
    row_norms,
    singular_values,
    total_variation,
)

CLOUD = {"X": NonConstant("d", "n")}
SMALL = {"d": range(2, 5), "n": range(1, 5)}
TOKENS = {"X": Matrix("n", "d")}
AVERAGED = {"A": DoublyStochastic("n"), "X": Matrix("n", "d")}
PAIRS = {"p": Simplex("n"), "q": Simplex("n")}
POSITIVE = {"A": PositiveRows("n", "m"), "x": PositiveRows(1, "n"), "y": PositiveRows(1, "n")}


def rms(x):
    return rms_norm(x, epsilon=exact(1, 100))


def claim(name, over, conclusion, **fields):
    return Claim(f"plain.{name}", over, conclusion, **fields)


KNOWN = [
    # what is known, the claim, and how many instances are tried
    ("refuted", claim("rank", CLOUD, lambda X: equal(affine_rank(layer_norm(X)), affine_rank(X)), sizes=SMALL), 3_000),
    (
        "refuted",
        claim("rank_1", CLOUD, lambda X: at_least(affine_rank(layer_norm(X)) + 1, affine_rank(X)), sizes=SMALL),
        5_000,
    ),
    (
        "refuted",
        claim(
            "mean_pair",
            {"A": RowStochastic("n"), "X": Matrix("n", "d")},
            lambda A, X: at_most(mean_pairwise_distance(A @ X), dobrushin(A) * mean_pairwise_distance(X)),
        ),
        20_000,
    ),
    (
        "survived",
        claim("mean", AVERAGED, lambda A, X: at_most(mean_pairwise_distance(A @ X), mean_pairwise_distance(X))),
        2_000,
    ),
    (
        "survived",
        claim(
            "dispersion",
            AVERAGED,
            lambda A, X: at_most(dispersion(A @ X), square(singular_values(A)[..., 1:2]) * dispersion(X)),
            sizes={"n": range(2, 4), "d": range(1, 3)},
        ),
        300,
    ),
    ("survived", claim("two", TOKENS, lambda X: at_most(2 * dispersion(X), square(diameter(X)))), 2_000),
    ("survived", lipschitz("plain.rms", rms, Vector("d"), 10), 1_000),
    ("refuted", lipschitz("plain.rms_linf", rms, Vector("d"), 10, LINF), 12_000),  # false for d >= 5 only, and barely
    ("survived", lipschitz("plain.rms_linf_4", rms, Vector("d"), 10, LINF, sizes={"d": range(1, 5)}), 1_000),
    (
        "survived",
        claim(
            "pinsker",
            {"p": Simplex("n"), "q": PositiveRows(1, "n")},
            lambda p, q: at_most(2 * square(total_variation(p, q)), kl_divergence(p, q)),
        ),
        1_000,
    ),
    ("survived", claim("hell_2", PAIRS, lambda p, q: at_most(square(hellinger(p, q)), total_variation(p, q))), 1_000),
    ("refuted", claim("hell_1", PAIRS, lambda p, q: at_most(hellinger(p, q), total_variation(p, q))), 3_000),
    (
        "survived",
        claim(
            "birkhoff",
            POSITIVE,
            lambda A, x, y: at_most(hilbert_metric(x @ A, y @ A), birkhoff_coefficient(A) * hilbert_metric(x, y)),
            sizes={"n": range(1, 4), "m": range(1, 4)},
        ),
        1_000,
    ),
    ("survived", claim("entropy", {"p": Simplex("n")}, lambda p: at_most(entropy(p), logsumexp(0 * p))), 1_000),
    (
        "survived",
        claim(
            "l1_of_linf",
            {"W": Matrix("n", "d")},
            lambda W: at_most(operator_norm(W, LINF, L1), W.shape[-1] * operator_norm(W, LINF)),
        ),
        1_000,
    ),
    (
        "refuted",
        claim("row", {"x": Vector("d")}, lambda x: at_most(operator_norm(x.mT, LINF, L1), exact(3, 2) * row_norms(x))),
        3_000,
    ),
    ("refuted", claim("gelus", {"x": Scalar()}, lambda x: equal(gelu(x), gelu_tanh(x))), 1_000),
    ("survived", claim("pi", {"x": Scalar(0, 3)}, lambda x: at_most(x, pi)), 500),
]  # fmt: skip


@pytest.mark.parametrize(("known", "stated", "budget"), KNOWN, ids=[stated.id for _, stated, _ in KNOWN])
def test_what_is_known_is_found(known, stated, budget):
    verdict = falsify(stated, budget)
    assert verdict.status == known, verdict
    assert verdict.tally.undecided == 0
