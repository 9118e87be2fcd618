"""Every kind of function in the files that check a counterexample without this package, or a word that it cannot be."""

import mpmath
import pytest

from resstream.arithmetic import amax, e, erf, exact, pi, root, square, total
from resstream.claim import Claim, at_least, at_most, equal
from resstream.domains import Matrix, Positive, PositiveRows, Scalar, Simplex, Vector
from resstream.errors import NotExpressible
from resstream.falsify import falsify
from resstream.falsify.formats.check import _INTERVALS
from resstream.reference import (
    L1,
    L2,
    LINF,
    Lp,
    affine_rank,
    birkhoff_coefficient,
    cosine_similarity,
    determinant,
    diameter,
    dispersion,
    dobrushin,
    entropy,
    frobenius_norm,
    gelu,
    hellinger,
    hilbert_metric,
    kl_divergence,
    log_softmax,
    logsumexp,
    mean_pairwise_distance,
    one_hot_argmax,
    operator_norm,
    pseudo_inverse,
    rank,
    row_norms,
    schatten_norm,
    sigmoid,
    softplus,
    spectral_norm,
    spectral_radius,
    top_k,
    total_variation,
)

SIMPLEX = {"p": Simplex("n"), "q": Simplex("n")}
POSITIVE = {"p": PositiveRows(1, "n"), "q": PositiveRows(1, "n")}
ROW, CLOUD, SQUARE = {"x": Vector("d")}, {"X": Matrix("n", "d")}, {"W": Matrix("d", "d")}

FALSE = {
    "pi": ({"x": Scalar(3, 4)}, lambda x: at_most(x, pi)),
    "e": ({"x": Scalar(2, 4)}, lambda x: at_most(x, e)),
    "erf": ({"x": Scalar(0, 4)}, lambda x: at_most(erf(x), exact(9, 10))),
    "root": ({"x": Scalar(0, 4)}, lambda x: at_most(root(x, 3), exact(3, 2))),
    "root of a cube": ({"x": Scalar(0, 9)}, lambda x: at_most(root(x, 3), exact(199, 100))),
    "gelu": ({"x": Scalar()}, lambda x: at_least(gelu(x), exact(-1, 10))),
    "softplus": ({"x": Scalar()}, lambda x: at_most(softplus(x), 3)),
    "sigmoid": ({"x": Scalar()}, lambda x: at_most(sigmoid(x), exact(3, 4))),
    "logsumexp": (ROW, lambda x: at_most(logsumexp(x), amax(x))),
    "log_softmax": (ROW, lambda x: at_least(log_softmax(x), -2)),
    "entropy": ({"p": Simplex("n")}, lambda p: at_most(entropy(p), 1)),
    "kl_divergence": (POSITIVE, lambda p, q: at_most(kl_divergence(p, q), total_variation(p, q))),
    "hellinger": (SIMPLEX, lambda p, q: at_most(hellinger(p, q), total_variation(p, q))),
    "hilbert_metric": (POSITIVE, lambda p, q: at_most(hilbert_metric(p, q), 1)),
    "birkhoff": ({"A": PositiveRows("n", "n")}, lambda A: at_most(birkhoff_coefficient(A), dobrushin(A))),
    "l3": (CLOUD, lambda X: at_most(row_norms(X, Lp(3)), exact(9, 10) * row_norms(X, L2))),
    "l3/2": (CLOUD, lambda X: at_most(row_norms(X, Lp(exact(3, 2))), row_norms(X, L2))),
    "linf to l1": (SQUARE, lambda W: at_most(operator_norm(W, LINF, L1), 2 * operator_norm(W, L1, LINF))),
    "linf to l2": (SQUARE, lambda W: at_most(operator_norm(W, LINF, L2), operator_norm(W, L1, L2))),
    "nuclear": (SQUARE, lambda W: at_most(schatten_norm(W, L1), frobenius_norm(W))),
    "rank": (SQUARE, lambda W: equal(rank(W), W.shape[-1])),
    "affine_rank": (CLOUD, lambda X: equal(affine_rank(X), rank(X))),
    "determinant": (SQUARE, lambda W: at_most(determinant(W), 1)),
    "spectral_radius": (SQUARE, lambda W: at_least(spectral_radius(W), spectral_norm(W))),
    "inverse": ({"W": Matrix(1, 2)}, lambda W: at_most(frobenius_norm(pseudo_inverse(W + 1)), 1)),
    "mean distance": (CLOUD, lambda X: at_least(mean_pairwise_distance(X), diameter(X))),
    "dispersion": (CLOUD, lambda X: at_most(dispersion(X), 1)),
    "cosine": ({"X": Positive(3, "d")}, lambda X: at_least(cosine_similarity(X), exact(1, 2))),
    "argmax": ({"x": Positive(1, "d")}, lambda x: equal(total(one_hot_argmax(square(x)) * x), total(x))),
    "top_k": ({"x": Vector(4)}, lambda x: at_most(total(top_k(x, 2)), total(x))),
}


@pytest.fixture(scope="module")
def found():
    """A counterexample to a claim of the table, searched once."""
    known = {}

    def counterexample(name):
        if name not in known:
            over, function = FALSE[name]
            claim = Claim(f"f.{name.replace(' ', '_').replace('/', '_')}", over, function)
            known[name] = falsify(claim, 3_000).counterexample
        return known[name]

    return counterexample


def accepted(text):
    """Whether a file that checks a counterexample runs to its end, and how many checks it made."""
    scope = {"__name__": "__main__", "print": lambda *_: None}
    try:
        exec(compile(text, "certificate", "exec"), scope)
    except SystemExit:
        return 0
    return scope["checked"]


@pytest.mark.parametrize("name", FALSE)
def test_a_counterexample_is_checked_without_this_package(found, name):
    assert accepted(found(name).to("check")) >= 3
    for form in ("numpy", "sympy"):
        printed = []
        exec(
            compile(found(name).to(form), form, "exec"),
            {"print": lambda *a, printed=printed: printed.append(" ".join(map(str, a)))},
        )
        assert printed[-1].endswith("True"), printed


def test_what_has_no_words_says_so(found):
    with pytest.raises(NotExpressible, match="erf: there is no such function in this form"):
        found("erf").to("rocq")
    singular = Claim("f.pinv", SQUARE, lambda W: equal(W @ pseudo_inverse(W), pseudo_inverse(W) @ W))
    with pytest.raises(NotExpressible, match="not certainly of full rank"):
        falsify(singular, 3_000).counterexample.to("check")


def test_the_error_function_of_a_file_is_an_enclosure():
    """Against mpmath at 100 digits, and with an interval of some width."""
    scope = {"require": lambda what, holds: pytest.fail(what) if holds is not True else None}
    exec("from fractions import Fraction as Q\n" + _INTERVALS.read_text(encoding="utf-8"), scope)
    compared = 0
    with mpmath.workdps(100):
        for text in ("-25", "-3", "-1/7", "1/1000000", "1/3", "1", "5/2", "7", "20", "41/2", "1000"):
            value = scope["Q"](text)
            ball = scope["erf"](value).value
            exactly = mpmath.erf(mpmath.mpf(value.numerator) / value.denominator)
            assert ball.a <= exactly <= ball.b, text
            assert ball.delta < mpmath.mpf(10) ** -60
            compared += 1
        wide = scope["erf"](scope["Ball"](mpmath.iv.mpf([0, "0.5"]))).value
        assert wide.a <= 0
        assert wide.b >= mpmath.erf(0.5)
    assert compared == 11
    assert scope["erf"](scope["Q"](0)) == 0
    with pytest.raises(pytest.fail.Exception, match="an argument of erf is bounded"):
        scope["erf"](scope["Ball"](mpmath.iv.mpf([0, 100])))
