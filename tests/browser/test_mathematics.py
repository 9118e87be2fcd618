"""The page's mathematics is the package's: every function on 1,000 random states, within 1e-12."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from resstream.arithmetic import RATIONAL
from resstream.lab import page as pages
from resstream.reference import (
    L1,
    LINF,
    causal_mask,
    centre,
    diameter,
    dobrushin,
    frobenius_norm,
    identity_path_product,
    layer_norm,
    layer_norm_jacobian,
    operator_norm,
    pairwise_distances,
    relative_spread,
    rms_norm,
    rms_norm_jacobian,
    row_range,
    skip_stack,
    smoothing_stack,
    softmax,
    spectral_norm,
    subset_sum,
)

STATES, DRAWN = 1000, 1300  # some are left out where a function needs a condition
WITHIN = 1e-12

# ---- the states -------------------------------------------------------------


@st.composite
def arrays(draw):
    """Draws arrays of floats: generic ones from a seed, every fourth time with few digits, so that there are ties."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    digits = draw(st.sampled_from([5, 5, 5, 1]))
    return lambda *shape, low=-4.0, high=4.0: random.uniform(low, high, shape).round(digits)


@st.composite
def state(draw):
    """A stream X, scores S, weights over them, square maps, and settings of the cloud."""
    n, d = draw(st.integers(2, 6)), draw(st.integers(2, 4))
    entries = draw(arrays())
    weights = np.floor(entries(n, n, low=0, high=draw(st.sampled_from([3, 1000]))))
    weights[:, 0] += weights.sum(-1) == 0
    return {
        "n": n,
        "d": d,
        "X": entries(n, d).tolist(),
        "S": entries(n, n, low=-20, high=20).tolist(),
        "weights": weights.tolist(),
        "A": (weights / weights.sum(-1, keepdims=True)).tolist(),
        "W": entries(d, d).tolist(),
        "Js": entries(3, d, d).tolist(),
        "cloud": {
            "tokens": entries(n, 2).tolist(),
            "beta": draw(st.integers(1, 40)) / 20,
            "depth": draw(st.integers(1, 3)),
            "step": draw(st.integers(0, 20)) / 10,
            "size": draw(st.integers(0, 20)) / 10,
            "angle": draw(st.integers(-36, 36)) * 5,
            "stretch": draw(st.integers(-20, 20)) / 10,
            "mask": draw(st.booleans()),
            "skip": draw(st.booleans()),
            "norm": draw(st.sampled_from(["none", "rms", "layer"])),
            "placement": draw(st.sampled_from(["pre", "post"])),
        },
    }


@pytest.fixture(scope="module")
def states():
    found = []

    @settings(
        max_examples=DRAWN,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(state())
    def collect(drawn):
        found.append(drawn)

    collect()
    assert len({repr(drawn) for drawn in found}) > STATES
    return found


@pytest.fixture(scope="module")
def page(browser, exposed, states):
    opened = browser.new_page()
    opened.goto(exposed.as_uri())
    opened.evaluate("text => { globalThis.states = JSON.parse(text); }", json.dumps(states))
    yield opened
    opened.close()


# ---- the functions ----------------------------------------------------------


def far(X):
    """Whether every row is far enough from a constant one, and from zero, for a norm to be well conditioned."""
    X = np.array(X)
    return bool((np.ptp(X, axis=-1) > 0.005).all() and (np.abs(X).max(-1) > 0.005).all())


def cloud(drawn):
    """The cloud's states by the package."""
    given = drawn["cloud"]
    t = np.deg2rad(given["angle"])
    turn = np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])
    W = given["step"] * (given["size"] * turn @ np.diag([1, given["stretch"]]))
    plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    norms = {
        "none": lambda X: X,
        "rms": lambda X: rms_norm(X, epsilon=1e-5),
        "layer": lambda X: layer_norm(X @ plane, epsilon=1e-5) @ plane.T,
    }
    before = norms[given["norm"]] if given["placement"] == "pre" else norms["none"]
    after = norms[given["norm"]] if given["placement"] == "post" else norms["none"]
    X = np.array(given["tokens"])
    mask = causal_mask(len(X)) if given["mask"] else None
    found = [X]
    for _ in range(given["depth"]):
        read = before(X)
        A = softmax(given["beta"] * read @ read.T, mask)
        X = after(
            (skip_stack if given["skip"] and read is X else smoothing_stack)([A], read, [W])[-1]
            + (X if given["skip"] and read is not X else 0)
        )
        found.append(X)
    return np.array(found)


def alone(value):
    return np.asarray(value).reshape(-1)


# name: (JavaScript of a state s, the package's value, whether a state is taken)
FUNCTIONS = {
    "multiply": ("lab.multiply(s.A, s.X)", lambda A, X, **_: A @ X, None),
    "multiplyTransposed": ("lab.multiplyTransposed(s.X, s.X)", lambda X, **_: X @ X.mT, None),
    "softmax": ("lab.softmax(s.S)", lambda S, **_: softmax(S), None),
    "softmax, causal": (
        "lab.softmax(s.S, lab.causalMask(s.n))",
        lambda S, **_: softmax(S, causal_mask(S.shape[-1])),
        None,
    ),
    "diameter": ("lab.diameter(s.X)", lambda X, **_: diameter(X), None),
    "diameter, l1": ("lab.diameter(s.X, 'l1')", lambda X, **_: diameter(X, L1), None),
    "diameter, linf": ("lab.diameter(s.X, 'linf')", lambda X, **_: diameter(X, LINF), None),
    "widestPair": (
        "lab.rowNorm(lab.add([s.X[lab.widestPair(s.X)[0]]], lab.scale(-1, [s.X[lab.widestPair(s.X)[1]]]))[0])",
        lambda X, **_: diameter(X),
        None,
    ),
    "pairwiseDistances": ("lab.pairwiseDistances(s.X)", lambda X, **_: pairwise_distances(X), None),
    "dobrushin": ("lab.dobrushin(s.A)", lambda A, **_: dobrushin(A), None),
    "relativeSpread": ("lab.relativeSpread(s.X)", lambda X, **_: relative_spread(X), lambda s: far(s["X"])),
    "rowRange": ("lab.rowRange(s.S)", lambda S, **_: row_range(S), None),
    "frobeniusNorm": ("lab.frobeniusNorm(s.W)", lambda W, **_: frobenius_norm(W), None),
    "operatorNorm": ("lab.operatorNorm(s.W)", lambda W, **_: spectral_norm(W), None),
    "operatorNorm, l1": ("lab.operatorNorm(s.W, 'l1')", lambda W, **_: operator_norm(W, L1), None),
    "operatorNorm, linf": ("lab.operatorNorm(s.W, 'linf')", lambda W, **_: operator_norm(W, LINF), None),
    "operatorNorm, oblong": ("lab.operatorNorm(s.X)", lambda X, **_: spectral_norm(X), None),
    "singularValues": ("lab.singularValues(s.W)", lambda W, **_: np.linalg.svd(W, compute_uv=False), None),
    "centre": ("lab.centre(s.X)", lambda X, **_: centre(X), None),
    "layerNorm": ("lab.layerNorm(s.X)", lambda X, **_: layer_norm(X), lambda s: far(s["X"])),
    "rmsNorm": ("lab.rmsNorm(s.X)", lambda X, **_: rms_norm(X), lambda s: far(s["X"])),
    "layerNorm, epsilon": ("lab.layerNorm(s.X, 0.01)", lambda X, **_: layer_norm(X, epsilon=0.01), None),
    "rmsNorm, epsilon": ("lab.rmsNorm(s.X, 0.01)", lambda X, **_: rms_norm(X, epsilon=0.01), None),
    "layerNormJacobian": (
        "lab.layerNormJacobian(s.X[0])",
        lambda X, **_: layer_norm_jacobian(X[:1]),
        lambda s: far(s["X"][:1]),
    ),
    "rmsNormJacobian": (
        "lab.rmsNormJacobian(s.X[0])",
        lambda X, **_: rms_norm_jacobian(X[:1]),
        lambda s: far(s["X"][:1]),
    ),
    "identityPathProduct": ("lab.identityPathProduct(s.Js)", lambda Js, **_: identity_path_product(list(Js)), None),
    "pathsByLength": (
        "lab.pathsByLength(s.Js)",
        lambda Js, **_: [
            np.eye(Js.shape[-1]),
            sum(Js),
            Js[0] @ Js[1] + Js[0] @ Js[2] + Js[1] @ Js[2],
            Js[0] @ Js[1] @ Js[2],
        ],
        None,
    ),
    "pathsByLength, summed": (
        "lab.pathsByLength(s.Js).reduce(lab.add)",
        lambda Js, **_: subset_sum(list(Js)),
        None,
    ),
    "runCloud": (
        "lab.runCloud(s.cloud).states",
        None,
        lambda s: far(s["cloud"]["tokens"]),
    ),
}  # fmt: skip


def call(page, script):
    """What a script gives for every state, flat; as text, since the driver is slow at many numbers."""
    return json.loads(page.evaluate(f"JSON.stringify(states.map(s => [{script}].flat(9)))"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_pages_function_is_the_packages(page, states, name):
    script, function, condition = FUNCTIONS[name]
    compared = 0
    for drawn, values in zip(states, call(page, script), strict=True):
        if condition is not None and not condition(drawn):
            continue
        if function is None:
            expected = alone(cloud(drawn))
        else:
            arrays = {key: np.array(drawn[key]) for key in ("X", "S", "A", "W", "Js")}
            expected = alone(function(**arrays))
        assert len(values) == len(expected)
        bound = WITHIN * np.maximum(1, np.abs(expected).max())
        assert (np.abs(np.array(values) - expected) <= bound).all(), f"{name} on {drawn}"
        compared += 1
    assert compared >= STATES


def test_a_small_error_would_be_seen(page, states):
    found = call(page, "lab.scale(1 + 4e-12, lab.softmax(s.S))")
    worst = max(
        np.abs(np.array(values) - alone(softmax(np.array(drawn["S"])))).max()
        for drawn, values in zip(states, found, strict=True)
    )
    assert worst > WITHIN


# ---- rationals --------------------------------------------------------------


def test_exact_arithmetic_is_the_packages(page, states):
    """The certificate's fractions, on every state: tau and both sides in the l1 and the maximum norm."""
    found = page.evaluate(
        """states.map(s => {
          const X = s.X.map(r => r.map(x => lab.rounded(x, 100000)));
          const found = lab.certify(s.weights.map(r => r.map(lab.ofFloat)), X);
          const sides = found.sides.filter(k => k.norm !== "l2 squared").flatMap(k => [k.lhs, k.rhs]);
          return [found.tau, ...sides].map(lab.fraction);
        })"""
    )
    with RATIONAL.working():
        for drawn, texts in zip(states, found, strict=True):
            weights = RATIONAL.array(np.array(drawn["weights"]).astype(int).astype(object))
            A = weights / weights.sum(-1, keepdims=True)
            exact = [[Fraction(round(x * 100_000), 100_000) for x in row] for row in drawn["X"]]
            X = RATIONAL.array(np.array(exact, dtype=object))
            tau = dobrushin(A)
            expected = [tau.item()]
            for norm in (L1, LINF):
                expected += [diameter(A @ X, norm).item(), (tau * diameter(X, norm)).item()]
            assert texts == [str(value) for value in expected]


@pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, -3.5, 2.0**60 + 1])
def test_a_float_is_read_exactly(page, value):
    numerator, denominator = float(value).as_integer_ratio()
    text = str(numerator) if denominator == 1 else f"{numerator}/{denominator}"
    assert page.evaluate("x => lab.fraction(lab.ofFloat(x))", value) == text


@pytest.mark.parametrize("script", ["lab.ofFloat(NaN)", "lab.ofFloat(Infinity)", "lab.rational(1n, 0n)"])
def test_what_is_no_fraction_is_refused(page, script):
    assert page.evaluate(
        f"() => {{ try {{ {script}; return false; }} catch (e) {{ return e instanceof RangeError; }} }}"
    )


def test_the_functions_of_the_mathematical_modules_are_compared():
    """Every exported function is called by some comparison of these files."""
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    inner = {
        "EPSILON",
        "matrix",
        "transpose",
        "dot",
        "identity",
        "rowNorm",
        "plus",
        "minus",
        "times",
        "over",
        "compare",
    }
    inner |= {"magnitude", "toNumber", "exactProduct", "exactRowStochastic", "exactDiameter", "exactDobrushin"}
    inner |= {"valueMap", "normalised", "broadcast", "relativeMargin"}  # called by those above
    missing = [name for name in pages.exported(pages.MATHEMATICS) if f"lab.{name}" not in text and name not in inner]
    assert missing == []
