"""A claims file with types, as `mypy --strict` takes it: `.ci/run` has it look."""

from typing import assert_type

import resstream as rs


@rs.claim("typed.contracts", over={"A": rs.domains.RowStochastic("n"), "X": rs.domains.Matrix("n", "d")})
def contracts(A: rs.Array, X: rs.Array) -> rs.Relation:
    """Attention brings tokens together: diam(AX) <= tau(A) diam(X)."""
    return rs.at_most(rs.reference.diameter(A @ X), rs.reference.dobrushin(A) * rs.reference.diameter(X))


assert_type(contracts, rs.Claim)

if __name__ == "__main__":
    verdict = rs.falsify(contracts, budget=10_000)
    assert_type(verdict, rs.Verdict)
    assert verdict.status == "survived"
