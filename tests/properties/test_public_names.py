"""`import resstream as rs`: the public names, by which other repositories use the package; light to import, typed."""

import inspect
import subprocess
import sys

import pytest

import resstream as rs

NAMES = {
    *(
        "differ",
        "either",
        "exists",
        "expectation",
        "for_all",
        "iff",
        "implies",
        "in_some_entry",
        "limit",
        "negation",
        "rate",
        "size",
        "within",
    ),
    *(
        "Array",
        "Claim",
        "Counterexample",
        "Relation",
        "ResstreamError",
        "Verdict",
        "__version__",
        "arithmetic",
        "at_least",
    ),
    *(
        "at_least",
        "at_most",
        "audit",
        "check",
        "claim",
        "domains",
        "equal",
        "errors",
        "every",
        "exact",
        "falsify",
        "less_than",
    ),
    *(
        "library",
        "lookup",
        "more_than",
        "average",
        "probability",
        "statistical",
        "reference",
        "strategies",
        "Certified",
        "certified",
        "assert_encloses",
    ),
}


def test_the_list_of_public_names():
    assert set(rs.__all__) == NAMES
    assert set(dir(rs)) >= NAMES  # what a prompt completes
    assert all(getattr(rs, name) is not None for name in NAMES)
    with pytest.raises(AttributeError, match="has no attribute 'falsifie'"):
        _ = rs.falsifie


def python(*lines):
    done = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_import_is_light_and_names_come_when_asked_for():
    heavy = python(
        "import sys, resstream as rs",
        "print(*sorted({'numpy', 'scipy', 'sympy', 'flint', 'hypothesis', 'rich'} & set(sys.modules)))",
    )
    assert heavy == []
    asked = python("import resstream as rs", *(f"rs.{name}" for name in NAMES), "print(len(rs.library()) > 300)")
    assert asked == ["True"]


@pytest.mark.parametrize("name", ["claim", "falsify", "audit"])
def test_a_module_is_called_as_its_function_in_whatever_order_it_is_imported(name):
    said = python(
        "import resstream as rs",
        f"before = rs.{name}",
        f"import resstream.{name}",
        f"from resstream.{name} import {name} as function",
        "import inspect",
        f"print(callable(rs.{name}), before is rs.{name}, inspect.signature(rs.{name}) == inspect.signature(function))",
    )
    assert said == ["True", "True", "True"]
    assert inspect.ismodule(getattr(rs, name))


def test_a_claim_is_stated_and_falsified_by_public_names():
    @rs.claim("mine.squared", over={"A": rs.domains.RowStochastic("n"), "X": rs.domains.Matrix("n", "d")})
    def squared(A, X):
        """Plausible and false."""
        return rs.at_most(rs.reference.diameter(A @ X), rs.exact("0.99") * rs.reference.dobrushin(A))

    verdict = rs.falsify(squared, budget=2000)
    assert isinstance(verdict, rs.Verdict)
    assert verdict.status == "refuted"
    assert isinstance(verdict.counterexample, rs.Counterexample)
    relation = squared(A=verdict.counterexample.values()["A"], X=verdict.counterexample.values()["X"])
    assert isinstance(relation, rs.Relation)
    with pytest.raises(rs.ResstreamError, match=r"called with \['A'\], expected its variables \['A', 'X'\]"):
        squared(A=1)
