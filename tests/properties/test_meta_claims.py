"""Whether the claims can fail: planted faults must be caught, and every claim must be there to be read and traced."""

import importlib
import pkgutil
import re
import sys

import numpy as np
import pytest

from resstream import claims, reference
from resstream.arithmetic import FLOAT64, Ball, eye, mean, sqrt, square, where
from resstream.claim import at_least, claim, equal
from resstream.claims import claims_of, library, lookup
from resstream.claims.usage import exercises_reference, files_used
from resstream.domains import Matrix
from resstream.falsify.search import search
from resstream.reference import centre, layer_norm
from resstream.reference.rotary import rotation

EPS = float(np.finfo(np.float64).eps)

# ---- planted faults ---------------------------------------------------------


def jacobian_without_width(x, gain=None, epsilon=0):
    """LayerNorm's Jacobian with the 1/d left out of its radial term."""
    c = centre(x)
    s = sqrt(mean(square(c)) + epsilon)
    return _with_gain((centre(eye(x.shape[-1], like=x)) - c.mT @ c / square(s)) / s, gain)


def jacobian_without_radial_term(x, gain=None, epsilon=0):
    """LayerNorm's Jacobian with the scale taken for a constant: only the mean is differentiated."""
    return _with_gain(centre(eye(x.shape[-1], like=x)) / sqrt(mean(square(centre(x))) + epsilon), gain)


def jacobian_without_mean_term(x, gain=None, epsilon=0):
    """LayerNorm's Jacobian with the mean taken for a constant."""
    c, d = centre(x), x.shape[-1]
    s = sqrt(mean(square(c)) + epsilon)
    return _with_gain((eye(d, like=x) - c.mT @ c / (d * square(s))) / s, gain)


def _with_gain(J, gain):
    return J if gain is None else J * gain


def dobrushin_without_half(A):
    """The largest l1 distance of two rows, not half of it."""
    return 2 * reference.dobrushin(A)


def softmax_with_large_constant(scores, mask=None):
    """A mask that adds a large finite constant, which a real score may undercut."""
    return reference.softmax(scores if mask is None else scores + where(mask, 0 * scores, 0 * scores - 100_000))


def rotary_of_mixed_conventions(X, positions, base=10_000):
    """Frequencies of adjacent pairs, with the rotation of half-split ones."""
    turned, half = rotation(positions, X.shape[-1], base, like=X), X.shape[-1] // 2
    across = np.concatenate([-X[..., half:], X[..., :half]], axis=-1)
    return X * np.repeat(turned.cosines, 2, axis=-1) + across * np.repeat(turned.sines, 2, axis=-1)


def subset_sum_in_reverse(Js):
    """The sum over subsets of layers, each product in the reverse of the layers' order."""
    return reference.subset_sum(Js[::-1])


def norm_that_does_not_centre(x, gain=None, bias=None, epsilon=0):
    """RMSNorm where LayerNorm is asked for."""
    return reference.rms_norm(x, gain, bias, epsilon)


def unscaled_attention(Q, K, V, mask=None):
    """Attention without the division of the scores by sqrt h."""
    return reference.softmax(Q @ K.mT, mask) @ V


FAULTS = {
    "a Jacobian of LayerNorm without 1/d": (
        {"layernorm.layer_norm_jacobian": jacobian_without_width},
        ["layernorm.jacobian", "layernorm.kills_ones_and_input", "layernorm.spectrum"],
    ),
    "a Jacobian of LayerNorm without its radial term": (
        {"layernorm.layer_norm_jacobian": jacobian_without_radial_term},
        ["layernorm.jacobian", "layernorm.kills_ones_and_input", "layernorm.jacobian_with_gain"],
    ),
    "a Jacobian of LayerNorm without its mean term": (
        {"layernorm.layer_norm_jacobian": jacobian_without_mean_term},
        ["layernorm.jacobian", "layernorm.kills_ones_and_input", "layernorm.jacobian_with_gain"],
    ),
    "tau without the half": (
        {"contraction.dobrushin": dobrushin_without_half, "dobrushin.dobrushin": dobrushin_without_half},
        ["dobrushin.range", "dobrushin.two_forms", "contraction.duality", "contraction.causal", "contraction.scores"],
    ),
    "a mask that is a large finite constant": (
        {"attention.softmax": softmax_with_large_constant},
        ["softmax.mask_is_exact"],
    ),
    "a mask that is a large finite constant, in every head": (
        {"reference.attention.softmax": softmax_with_large_constant},
        ["attention.causal_no_future", "attention.first_token", "block.causal_no_future"],
    ),
    "scores without their scale": (
        {"attention.attention": unscaled_attention},
        ["attention.kernel_smoother", "heads.are_smoothers"],
    ),
    "LayerNorm that does not centre": (
        {"layernorm.layer_norm": norm_that_does_not_centre},
        ["layernorm.sphere_in_hyperplane", "layernorm.invariant", "layernorm.jacobian"],
    ),
    "rotary of mixed conventions": (
        {"positions.rotary": rotary_of_mixed_conventions},
        ["rotary.isometry", "rotary.relative_offset"],
    ),
    "a subset sum in the wrong order": (
        {"identity_path.subset_sum": subset_sum_in_reverse},
        ["identity_path.subset_sum"],
    ),
}

PLANTED = [
    pytest.param(replacements, identifier, id=f"{name}: {identifier}")
    for name, (replacements, identifiers) in FAULTS.items()
    for identifier in identifiers
]


@pytest.mark.parametrize(("replacements", "identifier"), PLANTED)
def test_a_planted_fault_is_caught(replacements, identifier, monkeypatch, profile):
    """A faulty implementation in the place of the right one makes the search refute a claim, or report an error."""
    for place, faulty in replacements.items():
        module, _, name = place.rpartition(".")
        module = sys.modules["resstream." + (module if module.startswith("reference") else "claims." + module)]
        monkeypatch.setattr(module, name, faulty)
    verdict = search(lookup(identifier), profile.chunks(), floor=profile.floor)
    assert verdict.status in ("refuted", "error"), f"{identifier} survived:\n{verdict.tally}"


def one_pass_layer_norm(x):
    """LayerNorm with the variance as the mean square less the square of the mean."""
    return centre(x) / sqrt(mean(square(x)) - square(mean(x)))


def largest_float_error(norm, x):
    """Largest error of a float64 LayerNorm against the balls, in units of what a centred row allows.

    Centring d numbers of size up to m makes an error of at most (d + 1) m eps, which is divided by the deviation of the
    row; the relative error of the deviation is no larger, and the entries of the result are at most sqrt d.
    """
    d = x.shape[-1]
    bits = Ball(256)
    with bits.working():
        exact_rows = [layer_norm(bits.array(row)) for row in x]
    with np.errstate(all="ignore"):
        error = np.abs(norm(x) - np.array([FLOAT64.array(row.astype(object)) for row in map(_middles, exact_rows)]))
    allowed = (d + 1) * EPS * np.abs(x).max(-1, keepdims=True) / x.std(-1, keepdims=True) * (1 + np.sqrt(d))
    return np.where(np.isnan(error), np.inf, error / allowed).max()


def _middles(balls):
    return np.vectorize(lambda ball: float(ball.value.mid()), otypes=[float])(balls)


def test_a_one_pass_variance_is_caught_by_its_floats():
    """Exact arithmetic cannot tell the two variances apart (layernorm.variance_forms holds), so floats must."""
    rng = np.random.default_rng(0)
    x = 10.0 ** rng.uniform(0, 9, (200, 1, 1)) + rng.standard_normal((200, 1, 5))
    assert largest_float_error(layer_norm, x) <= 2
    assert largest_float_error(one_pass_layer_norm, x) > 1000


# ---- every claim ------------------------------------------------------------

IDENTIFIERS = list(library())
MODULES = [importlib.import_module(f"{claims.__name__}.{name}") for _, name, _ in pkgutil.iter_modules(claims.__path__)]
FAMILIES = {module.__name__.rpartition(".")[2]: module for module in MODULES if claims_of(module)}


def test_every_claim_of_every_family_is_in_the_library_once():
    stated = [claim.id for family in FAMILIES.values() for claim in claims_of(family)]
    assert len(stated) == len(set(stated))
    assert set(stated) == set(IDENTIFIERS)


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_a_claim_is_documented_and_sourced(identifier):
    claim = lookup(identifier)
    statement = claim.statement.split("\n\n")[0]
    assert statement.rstrip().endswith((".", ")")), f"the statement is no sentence: {statement!r}"
    assert claim.source, "a claim names where it is from"
    lines = claim.statement.splitlines()
    printed, right = (sum(line.startswith(word) for line in lines) for word in ("Printed: ", "Right: "))
    assert printed == right, "what is printed stands beside what is right"


@pytest.mark.parametrize("identifier", [name for name in IDENTIFIERS if lookup(name).assuming])
def test_a_hypothesis_has_a_name_and_a_line_to_read(identifier):
    for hypothesis in lookup(identifier).assuming:
        assert hypothesis.__name__.isidentifier(), "`without=NAME` drops a hypothesis by its name"
        assert hypothesis.__doc__, f"{hypothesis.__name__} does not say what it asks"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_claims_that_hold_and_claims_that_fail(family):
    assert {claim.expect for claim in claims_of(FAMILIES[family])} == {"holds", "fails"}


# ---- what a claim runs ------------------------------------------------------


def test_a_claim_that_runs_the_reference_is_told_from_one_that_does_not():
    @claim("mine.with", over={"X": Matrix("n", "d")})
    def with_reference(X):
        return at_least(reference.diameter(X), 0)

    @claim("mine.without", over={"X": Matrix("n", "d")})
    def without(X):
        return equal(X + X, 2 * X)

    assert exercises_reference(with_reference)
    assert not exercises_reference(without)
    assert any(file.endswith("smoothing.py") for file in files_used(with_reference))


def test_most_claims_exercise_the_reference():
    """What the table marks as pure arithmetic is what runs none of it, and is a small part."""
    arithmetic = {name for name in IDENTIFIERS if not exercises_reference(lookup(name))}
    marked = set(re.findall(r"^\| `([^`]+)` \| .* \+ \|", claims.as_markdown(), flags=re.M))
    assert marked == arithmetic
    assert 0 < len(arithmetic) < len(IDENTIFIERS) / 5
