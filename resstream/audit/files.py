"""New files of claims: the template of a file, and of a pack that can be installed."""

from __future__ import annotations

import re
from pathlib import Path

from resstream.errors import ClaimError

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


_PACK = {
    "pyproject.toml": """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
description = "Claims to be checked by resstream"
requires-python = ">=3.11"
dependencies = ["resstream"]

[dependency-groups]
test = ["pytest>=8.2"]

# Every claim of the module has an id that begins with "{name}.".
[project.entry-points."resstream.claims"]
{name} = "{name}.claims"

[tool.hatch.build.targets.wheel]
packages = ["{name}"]

[tool.pytest.ini_options]
testpaths = ["tests"]
""",
    "README.md": """# {name}

A claim pack for resstream. Installed beside it, its claims are seen by every command:

    pip install -e . && resstream check {name} && pytest
""",
    "{name}/__init__.py": "",
    "tests/test_{name}.py": '''"""Every claim of the pack is a test of its own; these see that the pack is found."""

import resstream as rs
from resstream.claims import claims_of

from {name} import claims
from {name}.claims import *  # noqa: F403 - each claim is collected here


def test_the_installed_pack_offers_its_claims():
    stated = claims_of(claims)
    assert stated
    assert all(rs.lookup(claim.id) is claim for claim in stated)
''',
}


def new_pack(name: str) -> Path:
    """Write a package of claims into a directory `NAME`, and give its path; a directory that is there is left alone.

    Raises ClaimError for a name that is no Python name, and where the directory exists.
    """
    root = Path(name)
    if not re.fullmatch(r"[A-Za-z_]\w*", root.name):
        raise ClaimError(f"name {name!r}: expected letters, digits and _ only, as of a Python module")
    if root.exists():
        raise ClaimError(f"{root} exists, and is left as it is: give another name")
    files = {**_PACK, "{name}/claims.py": TEMPLATE}
    title = root.name.replace("_", " ").capitalize()
    try:
        for path, text in files.items():
            place = root / path.format(name=root.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            file = Path(root.name) / "claims.py"
            place.write_text(text.format(name=root.name, title=title, file=file), encoding="utf-8")
    except OSError as failure:
        raise ClaimError(f"{root} cannot be written: {failure.strerror}") from failure
    return root


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
