"""Files of claims: which claims a target names, and the template of a new file."""

from __future__ import annotations

import re
from pathlib import Path

from resstream import claims
from resstream.claim import Claim
from resstream.errors import ClaimError
from resstream.falsify import load_claims
from resstream.falsify.variants import find

TEMPLATE = '''"""{title}: claims to be audited.

    resstream audit {file}

Everything here is plain Python. A claim is a function of some variables that returns a relation: `at_most(lhs, rhs)`,
`at_least`, `less_than`, `more_than`, `equal`, or `every(...)` of several. It must be written with operators and with
the functions of `resstream.arithmetic` (`exp`, `sqrt`, `maximum`, ...) and `resstream.reference`, never with `np.exp`
and the like, so that it can be read in floats, in balls and in exact rationals. Every object has two axes: tokens are
the rows of a matrix, a vector is one row, a number is 1 x 1. Sizes are names ("n", "d") that run from 1 to 6 unless
said otherwise.
"""

from resstream.claim import at_most, claim
from resstream.domains import Matrix, RowStochastic
from resstream.reference import diameter, dobrushin


# What the claim speaks of: every row-stochastic matrix A (n x n) and every cloud X of n tokens in d dimensions.
# Other domains: Causal("n"), Scores("n"), Vector("d"), NonConstant("d"), Norm("d"), Simplex("n"), Orthogonal("d"),
# Scalar(low, high), Stack("L", Matrix("d", "d")), ... (see `resstream.domains`).
@claim("{name}.contracts", over={{"A": RowStochastic("n"), "X": Matrix("n", "d")}})
def contracts(A, X):
    """Attention brings tokens together: diam(AX) <= tau(A) diam(X), in the Euclidean norm."""
    return at_most(diameter(A @ X), dobrushin(A) * diameter(X))


# A hypothesis is a function of the same variables that returns a relation, too. `assuming` takes any number of them,
# and the audit tells which are needed.
def not_very_mixing(A):
    """tau(A) >= 1/2."""
    return at_most(1, 2 * dobrushin(A))


# `expect="fails"` says that you expect a refutation: the exit status is 0 when a claim does what it is expected to.
# Exact numbers are whole ones, and `exact(99, 100)` of `resstream.arithmetic`; never a Python float.
@claim(
    "{name}.contracts_twice",
    over={{"A": RowStochastic("n"), "X": Matrix("n", "d")}},
    assuming=[not_very_mixing],
    sizes={{"n": range(1, 5), "d": range(1, 4)}},
    expect="fails",
)
def contracts_twice(A, X):
    """Plausible and false: diam(AX) <= tau(A)^2 diam(X)."""
    return at_most(diameter(A @ X), dobrushin(A) * dobrushin(A) * diameter(X))
'''


def targets(names: list[str]) -> list[Claim]:
    """The claims that some names stand for: a Python file, FILE.py::ID, or ids and patterns of the library.

    A Python file is executed. Raises ClaimError where a file cannot be imported, states no claim, or a name is unknown.
    """
    found: list[Claim] = []
    for name in names:
        if name.endswith(".py"):
            found += load_claims(name).values()
        elif "::" in name:
            found.append(find(name))
        else:
            found += claims.matching([name])
    return found


def new_file(name: str) -> Path:
    """Write the template of a claim file, `NAME.py`, and give its path; a file that is there is left alone.

    Raises ClaimError for a name that is no Python name, and where the file exists.
    """
    path = Path(name if name.endswith(".py") else f"{name}.py")
    stem = path.stem
    if not re.fullmatch(r"[A-Za-z_]\w*", stem):
        raise ClaimError(f"name {name!r}: expected letters, digits and _ only, as of a Python module")
    if path.exists():
        raise ClaimError(f"{path} exists, and is left as it is: give another name")
    text = TEMPLATE.format(title=stem.replace("_", " ").capitalize(), file=path, name=stem)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as failure:
        raise ClaimError(f"{path} cannot be written: {failure.strerror}") from failure
    return path
