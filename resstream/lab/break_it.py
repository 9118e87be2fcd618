"""The claims that the laboratory breaks: their sides as expressions, and the package's certified counterexamples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from resstream import claims
from resstream.errors import ResstreamError
from resstream.falsify import falsify
from resstream.falsify.variants import vary
from resstream.typeset import prose


@dataclass(frozen=True)
class Statement:
    """A claim of the library with its sides as expressions; `typed` is another right side that it opens with."""

    id: str
    lhs: str
    relation: str
    rhs: str
    typed: str = ""


STATEMENTS = (
    Statement("contraction.diameter_squared", "diameter(A @ X, norm)", "<=", "dobrushin(A)**2 * diameter(X, norm)"),
    Statement("contraction.every_pair", "pairwise_distances(A @ X)", "<=", "pairwise_distances(X)"),
    Statement(
        "contraction.deviation",
        "total_entry(square(A @ X - mean(A @ X, -2)))",
        "<=",
        "total_entry(square(X - mean(X, -2)))",
    ),
    Statement(
        "contraction.other_operator_norm",
        "diameter(A @ X @ W, L1)",
        "<=",
        "dobrushin(A) * operator_norm(W, LINF) * diameter(X, L1)",
    ),
    Statement("contraction.scores_quarter", "dobrushin(softmax(S))", "<=", "tanh(row_range(S) / 4)"),
    Statement("dobrushin.spectral_norm", "spectral_norm(A)", "<=", "1"),
    Statement("dobrushin.submultiplicative_by_half", "dobrushin(A @ B)", "<=", "dobrushin(A) * dobrushin(B) / 2"),
    Statement(
        "skip.expansive_maximum_norm",
        "pairwise_distances(X + softmax(X @ transpose(X)) @ X, LINF)",
        ">=",
        "pairwise_distances(X, LINF)",
    ),
    Statement("layernorm.nonexpansive", "total(square(layer_norm(x) - layer_norm(y)))", "<=", "total(square(x - y))"),
    Statement("contraction.diameter", "diameter(A @ X, norm)", "<=", "dobrushin(A) * diameter(X, norm)", "0.9 * rhs"),
    Statement("contraction.scores_sharp", "dobrushin(softmax(S))", "<=", "tanh(row_range(S) / 2)", "0.95 * rhs"),
)

KINDS = {"RowStochastic": "weights", "Norm": "norm"}
"""How the page edits a variable, by the name of its domain; the others are matrices of numbers."""

BUDGET = 20_000


@cache
def break_data() -> list[dict[str, Any]]:
    """Every statement with its claim's words and a counterexample found, shrunk and certified now."""
    return [_described(statement) for statement in STATEMENTS]


def _described(statement: Statement) -> dict[str, Any]:
    claim = claims.lookup(statement.id)
    attacked = vary(claim, rhs=statement.typed) if statement.typed else claim
    counterexample = falsify(attacked, budget=BUDGET).counterexample
    if counterexample is None:
        raise ResstreamError(
            f"{attacked.id}: no counterexample was found with {BUDGET} evaluations, so nothing to show"
        )
    found = counterexample.json()
    return {
        "id": claim.id,
        "headline": prose(claim.headline),
        "source": claim.source,
        "expect": claim.expect,
        "lhs": statement.lhs,
        "relation": statement.relation,
        "rhs": statement.rhs,
        "typed": statement.typed,
        "over": {name: KINDS.get(type(domain).__name__, "matrix") for name, domain in claim.over.items()},
        "sizes": list(claim.size_ranges()),
        "found": {
            "arrays": found["raw"]["arrays"],
            "values": found["values"],
            "lhs": found["lhs"],
            "rhs": found["rhs"],
            "largest": found["largest_violation"],
        },
    }
