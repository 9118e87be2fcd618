"""The pytest plugin: claims are collected, searched, and reported by their counterexample, under xdist too."""

import json
import textwrap

import pytest

CLAIMS = """
    from resstream.claim import at_most, claim
    from resstream.domains import Matrix, RowStochastic
    from resstream.reference import diameter, dobrushin

    over = {"A": RowStochastic("n"), "X": Matrix("n", "d")}


    @claim("mine.true", over=over)
    def true(A, X):
        return at_most(diameter(A @ X), dobrushin(A) * diameter(X))


    @claim("mine.false", over=over)
    def false(A, X):
        return at_most(diameter(A @ X), dobrushin(A) * dobrushin(A) * diameter(X))


    @claim("mine.known_to_fail", over=over, expect="fails")
    def known_to_fail(A, X):
        return at_most(diameter(A @ X), dobrushin(A) * dobrushin(A) * diameter(X))


    @claim("mine.wrongly_doubted", over=over, expect="fails")
    def wrongly_doubted(A, X):
        return at_most(diameter(A @ X), dobrushin(A) * diameter(X))


    @claim("mine.says_nothing", over=over)
    def says_nothing(A, X):
        return None


    the_same = true
"""
IDS = ["mine.true", "mine.false", "mine.known_to_fail", "mine.wrongly_doubted", "mine.says_nothing"]


@pytest.fixture
def project(pytester):
    pytester.makepyfile(claims_mine=textwrap.dedent(CLAIMS))
    return pytester


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", "--claim-budget=3000", *arguments)


def test_every_claim_of_a_module_is_one_test_in_its_order(project):
    result = project.runpytest_subprocess("--collect-only", "-q", "-p", "no:cacheprovider")
    collected = [line.split("::")[1] for line in result.outlines if "::" in line]
    assert collected == IDS


@pytest.mark.parametrize("arguments", [(), ("-n", "2"), ("claims_mine.py",)], ids=["plain", "xdist", "by_name"])
def test_claims_pass_and_fail_by_what_they_say_of_themselves(project, arguments):
    result = run(project, *arguments)
    result.assert_outcomes(passed=2, failed=3)
    for identifier in ("mine.true", "mine.known_to_fail"):
        result.stdout.re_match_lines([rf".*(PASSED.*{identifier}|{identifier}.*PASSED).*"])


def test_a_failure_is_reported_by_its_counterexample_and_no_traceback(project):
    result = run(project)
    result.stdout.fnmatch_lines(
        [
            "mine.false: refuted, expected it holds",
            "*at d = 1, n = 2",
            "lhs = 1/2",
            "rhs = 1/4",
            "mine.wrongly_doubted: survived, expected it fails",
            "mine.says_nothing: claim mine.says_nothing: *returned NoneType, expected a relation*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


@pytest.mark.parametrize("name", ["test_mine.py", "mine_test.py"])
def test_claims_in_test_files_are_collected_beside_tests(pytester, name):
    path = pytester.path / name
    path.write_text(textwrap.dedent(CLAIMS) + "\n\ndef test_plain():\n    assert true.id == 'mine.true'\n")
    run(pytester).assert_outcomes(passed=3, failed=3)


def test_other_modules_and_other_objects_are_left_alone(pytester):
    pytester.makepyfile(
        helpers=textwrap.dedent(CLAIMS), test_plain="Claim = 3\n\ndef test_plain():\n    assert Claim == 3"
    )
    run(pytester).assert_outcomes(passed=1)


def test_counterexamples_are_saved_and_run_as_tests(project):
    run(project, "--claim-save=found")
    saved = sorted(path.name for path in (project.path / "found").iterdir())
    assert [name for name in saved if name.endswith(".json")] == ["mine.false.json", "mine.known_to_fail.json"]
    data = json.loads((project.path / "found" / "mine.false.json").read_text())
    assert data["file"] == "claims_mine.py"
    project.runpytest_subprocess("-p", "no:cacheprovider", "found").assert_outcomes(passed=2)


def test_the_seed_and_the_budget_are_options(project):
    result = run(project, "--claim-seed=7", "-k", "mine.true", "-rA")
    result.assert_outcomes(passed=1)
    run(project, "--claim-budget=0").stderr.fnmatch_lines(["*--claim-budget: expected at least 1 evaluation*"])
    run(project, "--claim-seed=-1").stderr.fnmatch_lines(["*--claim-seed: expected a whole number of at least 0*"])


def test_the_plugin_alone_imports_nothing_heavy(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_light():
            assert not {"scipy", "sympy", "flint"} & set(sys.modules)
        """
    )
    run(pytester).assert_outcomes(passed=1)
