"""The bench's notation in the package's expressions: each name means what NumPy has for it."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from resstream.claim import Batch
from resstream.falsify import falsify

FILE = Path(__file__).parents[2] / "benchmarks" / "stated.py"


@pytest.fixture(scope="module")
def stated():
    spec = importlib.util.spec_from_file_location("stated", FILE)
    module = sys.modules["stated"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


X = np.array([[3.0, 4.0, -1.0], [1.0, 0.0, 2.0], [1.0, -2.0, 0.5]])
v = np.array([1.0, -2.0, 4.0])
c = v - v.mean()
u = c / np.linalg.norm(c)
LOWER = np.where(np.tri(3, dtype=bool), X, -np.inf)

VALUES = {
    "v @ v": v @ v,
    "X @ v": X @ v,
    "v @ X": v @ X,
    "X.T @ X": X.T @ X,
    "outer(v, v) - diag(v)": np.outer(v, v) - np.diag(v),
    "diagof(X) * onehot(3, 1)": np.diag(X) * [0, 1, 0],
    "v[1:] + X[0, :2]": v[1:] + X[0, :2],
    "X[:, 1]": X[:, 1],
    "X[1] + X[n - 1]": X[1] + X[2],
    "v[2] ** n - v[0] ** -1": 64.0 - 1.0,
    "vmax(X) + vmin(v) - vsum(X)": 4 - 2 - X.sum(),
    "min(n, 2) * max(v)": 8.0,
    "n // 2 + n / 2": 2.5,
    "nrm(v, 1) + nrm(v) + nrm(v, INF)": 7 + np.linalg.norm(v) + 4,
    "nrm(X, 1) - npnorminf(X)": np.linalg.norm(X, 1) - np.linalg.norm(X, np.inf),
    "opn(X, 1) + opn(X)": np.linalg.norm(X, np.inf) + np.linalg.norm(X, 2),
    "sv(X)": np.linalg.svd(X, compute_uv=False),
    "mpow(X, 3)": X @ X @ X,
    "eigremin(X) + lam2(eye(n))": np.linalg.eigvals(X).real.min() + 1,
    "pd(X, 1)": np.abs(X[:, None] - X[None]).sum(-1),
    "cen(X) + cmean(X)": X,
    "rowrange(X)": np.ptp(X, axis=1),
    "crowrange(X)": [0.0, 1.0, 3.0],
    "colrange(X) - colmin(X)": np.ptp(X, axis=0) - X.min(axis=0),
    "rowmax(X) * rownorms(X, INF)": X.max(axis=1) * np.abs(X).max(axis=1),
    "tau(X)": 0.5 * np.abs(X[:, None] - X[None]).sum(-1).max(),
    "topgap(v) + tv(v, 2 * v)": 3.0 + 3.5,
    "csoftmax(X)": np.exp(LOWER) / np.exp(LOWER).sum(axis=1, keepdims=True),
    "LN(v) + RMS(v)": c / c.std() + v / np.sqrt((v @ v) / 3),
    "JLN(v)": np.sqrt(3 / (c @ c)) * (np.eye(3) - 1 / 3 - np.outer(u, u)),
    "rot(v[:2], 2)": [np.cos(2) + 2 * np.sin(2), np.sin(2) - 2 * np.cos(2)],
    "hcat(X, X)[:, 4:] - vcat(X, X)[1:4, 1:]": X[:, 1:] - X[[1, 2, 0], 1:],
    "2 * cube(2) - 1": [[-1, -1], [-1, 1], [1, -1], [1, 1]],
}


@pytest.mark.parametrize(("text", "expected"), VALUES.items(), ids=list(VALUES))
def test_a_text_means_what_it_means_in_numpy(stated, text, expected):
    variables = {"X": {"kind": "real", "shape": ["n", "n"]}, "v": {"kind": "real", "shape": ["n"]}}
    entry = {"id": "one", "dims": {"n": [3, 3]}, "vars": variables}
    batch = Batch({"n": 3}, {}, {"X": X[None], "v": v[None, None]}, 1)
    expected = np.asarray(expected, dtype=float)
    for place in np.ndindex(expected.shape):
        rewritten = f"({text})[{', '.join(map(str, place))}]" if place else text
        claim = stated.translate({**entry, "lhs": rewritten, "rel": "<=", "rhs": str(round(expected[place], 9) + 1)})
        assert claim.assess(batch).conclusion.slack.item() == pytest.approx(1, abs=1e-7)


def test_kinds_of_variables_hypotheses_and_abbreviations(stated):
    entry = {
        "id": "two",
        "dims": {"n": [2, None], "m": [1, 3]},
        "vars": {
            "A": {"kind": "causal", "shape": ["n", "n"]},
            "c": {"kind": "nonzero", "shape": ["n"]},
            "k": {"kind": "int", "min": 1, "max": 100},
            "p": {"kind": "choice", "values": [1, "inf"]},
        },
        "let": [["B", "mpow(A, k)"]],
        "pre": ["0 < c[0] <= 1 and eq(c, c)", "tau(B) != 1"],
        "lhs": "diam(B, p)",
        "rel": "<",
        "rhs": "m / 2",
    }
    found = stated.stated(entry)
    assert found.over["m"] == 'Count("m")'
    assert found.over["k"] == 'Count("k")'
    assert {name: (values[0], values[-1]) for name, values in found.sizes.items()} == {
        "n": (2, 17),
        "m": (1, 3),
        "k": (1, 64),
    }
    assert found.assuming == [
        "more_than(abs(c), 0)",
        "every(every(less_than(0, c[:, 0]), at_most(c[:, 0], 1)), equal(c, c))",
        "differ(diameter(matrix_power(A, k), L1) / 2, 1)",
    ]
    assert found.conclusion == "less_than(diameter(matrix_power(A, k), p), m / 2)"
    assert stated.translate(entry).size_ranges()["n"] == range(2, 18)


@pytest.mark.parametrize(
    "text",
    ["X ** 0.3", "X.real", "nothing", "nothing(X)", "v[0][0]", "v[::2]", "nrm(v, 3)", "X if n else v", "opn()"],
)
def test_what_has_no_words_is_said(stated, text):
    variables = {"X": {"kind": "real", "shape": ["n", "n"]}, "v": {"kind": "real", "shape": ["n"]}}
    with pytest.raises(stated.Unsupported):
        stated.translate({"id": "x", "dims": {"n": [3, 3]}, "vars": variables, "lhs": text, "rel": "<=", "rhs": "0"})


def test_a_false_claim_is_refuted_and_a_true_one_survives(stated):
    entry = {
        "id": "norms",
        "dims": {"d": [1, None]},
        "vars": {"x": {"kind": "real", "shape": ["d"]}},
        "lhs": "nrm(x, 1)",
        "rel": "<=",
    }
    assert falsify(stated.translate({**entry, "rhs": "1.5 * nrm(x)"}), 2_000).status == "refuted"
    assert falsify(stated.translate({**entry, "rhs": "d ** 0.5 * nrm(x)"}), 2_000).status == "survived"
