"""The pytest plugin: claims are collected, searched, and reported by their counterexample, under xdist too."""

import json
import textwrap
import xml.etree.ElementTree as ET

import pytest

from resstream.falsify import load_claims

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


def test_counterexamples_are_saved_and_run_as_tests(project, monkeypatch):
    run(project, "--claim-save=found")
    saved = sorted(path.name for path in (project.path / "found").iterdir())
    assert [name for name in saved if name.endswith(".json")] == ["mine.false.json", "mine.known_to_fail.json"]
    data = json.loads((project.path / "found" / "mine.false.json").read_text())
    assert data["file"] == "claims_mine.py"
    elsewhere = project.mkdir("elsewhere")
    monkeypatch.chdir(elsewhere)  # they find the claims from where they are
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "--rootdir", elsewhere, project.path / "found")
    result.assert_outcomes(passed=2)
    shown = (project.path / "found" / "test_mine_false.py").read_text()
    assert "  A = [  1    0]\n      [1/2  1/2]\n" in shown
    assert "lhs = 1/2\n" in shown


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


PRELUDE = """
    import pytest

    from resstream.claim import at_most, claim
    from resstream.domains import Matrix, RowStochastic
    from resstream.reference import diameter, dobrushin

    over = {"A": RowStochastic("n"), "X": Matrix("n", "d")}
"""
TRUE = "at_most(diameter(A @ X), dobrushin(A) * diameter(X))"
FALSE = "at_most(diameter(A @ X), dobrushin(A) * dobrushin(A) * diameter(X))"


def run_here(pytester, *arguments):
    """The same without a process of its own, which takes a second less."""
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v", "--claim-budget=3000", *arguments)


def state(pytester, text, name="claims_mine"):
    """Write a module that begins with the prelude; `TRUE` and `FALSE` stand for a conclusion."""
    body = textwrap.dedent(PRELUDE) + textwrap.dedent(text).replace("FALSE", FALSE).replace("TRUE", TRUE)
    pytester.makepyfile(**{name: body})


HIDDEN_PLACES = """
    @claim("mine.shadowed", over=over)
    def same(A, X):
        return TRUE

    @claim("mine.shadowing", over=over)
    def same(A, X):
        return TRUE

    def make(k):
        @claim(f"mine.made.{k}", over=over, sizes={"n": range(1, k)})
        def made(A, X):
            return TRUE
        return made

    LISTED = [make(2), make(3)]
    NAMED = {"one": make(4)}

    for k in range(2):
        @claim(f"mine.loop.{k}", over=over)
        def loop(A, X):
            return TRUE

    class TestThere:
        @claim("mine.in_test_class", over=over)
        def one(A, X):
            return TRUE

        @claim("mine.again_in_test_class", over=over)
        def one(A, X):
            return TRUE

        def test_plain(self):
            pass

    class Plain:
        @claim("mine.in_plain_class", over=over)
        def one(A, X):
            return TRUE

        def test_not_collected(self):
            raise AssertionError

    contracts = LISTED[0].replace(id="contracts")
    also = contracts
"""
PLACES = {
    *("mine.shadowed", "mine.shadowing", "mine.made.2", "mine.made.3", "mine.made.4", "mine.loop.0", "mine.loop.1"),
    *(
        "TestThere::mine.in_test_class",
        "TestThere::mine.again_in_test_class",
        "Plain::mine.in_plain_class",
        "contracts",
    ),
}


def test_no_claim_is_dropped_wherever_it_stands_and_the_command_line_sees_the_same(pytester):
    state(pytester, HIDDEN_PLACES)
    result = pytester.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider")
    collected = [line.split("::", 1)[1] for line in result.outlines if "::" in line]
    assert sorted(collected) == sorted([*PLACES, "TestThere::test_plain"])
    found = load_claims(pytester.path / "claims_mine.py")
    assert set(found) == {name.rpartition("::")[2] for name in PLACES}


def test_lists_of_a_test_module_are_data_of_its_tests_and_a_class_may_be_left_out(pytester):
    state(
        pytester, HIDDEN_PLACES + "\n    class Left:\n        __test__ = False\n        one = LISTED[0]\n", "test_mine"
    )
    result = pytester.runpytest_inprocess("--collect-only", "-q", "-p", "no:cacheprovider")
    collected = [line.split("::", 1)[1] for line in result.outlines if "::" in line]
    assert sorted(collected) == sorted(
        [*PLACES - {"mine.made.2", "mine.made.3", "mine.made.4"}, "TestThere::test_plain"]
    )


def test_claims_of_a_conftest_are_collected_and_nothing_else_of_it(pytester):
    state(
        pytester,
        """
        @claim("mine.beside_fixtures", over=over)
        def one(A, X):
            return TRUE

        class TestIt:
            @claim("mine.in_its_class", over=over)
            def one(A, X):
                return TRUE

        @pytest.fixture
        def three():
            return 3

        def test_not_collected():
            raise AssertionError
        """,
        "conftest",
    )
    pytester.makepyfile(test_plain="def test_plain(three):\n    assert three == 3")
    result = run_here(pytester)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*conftest.py::mine.beside_fixtures PASSED*", "*TestIt::mine.in_its_class PASSED*"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            """
            class TestIt:
                def __init__(self):
                    pass

                @claim("mine.one", over=over)
                def one(A, X):
                    return TRUE
            """,
            "*class TestIt states the claim 'mine.one', and has a constructor, __init__*",
        ),
        (
            """
            @pytest.mark.parametrize("k", [1])
            @claim("mine.one", over=over)
            def one(A, X):
                return TRUE
            """,
            "*claim mine.one: parametrize: expected some of d, n, A, X, lhs, *, got 'k'*",
        ),
        (
            """
            @claim("mine.one", over=over)
            def one(A, X):
                return TRUE

            class TestIt:
                @claim("mine.one", over=over)
                def other(A, X):
                    return FALSE
            """,
            "*two claims 'mine.one': *claims_mine.py:9 and *claims_mine.py:14*",
        ),
    ],
    ids=["constructor", "parameter", "same_id"],
)
def test_what_cannot_be_collected_is_an_error(pytester, text, said):
    state(pytester, text)
    result = run_here(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])


def test_two_files_may_not_give_one_id_to_two_statements(pytester):
    state(pytester, "one = claim('mine.one', over=over)(lambda A, X: TRUE)", "claims_a")
    state(pytester, "one = claim('mine.one', over=over)(lambda A, X: FALSE)", "claims_b")
    state(pytester, "from claims_a import one", "test_imports_it")
    result = run_here(pytester)
    result.stdout.fnmatch_lines(["*claims_b.py: two claims 'mine.one': *claims_a.py:* and *claims_b.py:*"])
    result.assert_outcomes(errors=1)


def test_a_plugin_with_claims_that_nothing_collects_is_refused(pytester):
    state(pytester, "one = claim('mine.one', over=over)(lambda A, X: TRUE)", "helpers")
    pytester.makeconftest("pytest_plugins = ['helpers']")
    pytester.makepyfile("def test_plain(): pass")
    pytester.syspathinsert()
    run_here(pytester).stderr.fnmatch_lines(
        ["*helpers.py is a plugin that states the claim 'mine.one', and is not collected*"]
    )


MARKED = """
    pytestmark = pytest.mark.usefixtures("counted")
    COUNT = []

    @pytest.fixture
    def counted():
        COUNT.append(1)

    @pytest.mark.xfail(reason="known")
    @claim("mine.above", over=over)
    def above(A, X):
        return FALSE

    @claim("mine.below", over=over)
    @pytest.mark.xfail
    def below(A, X):
        return FALSE

    @pytest.mark.skip
    @claim("mine.skipped", over=over)
    def skipped(A, X):
        return FALSE

    @pytest.mark.xfail(strict=True)
    @claim("mine.passes_against_xfail", over=over)
    def passes(A, X):
        return TRUE

    @pytest.mark.parametrize("n", [1, range(2, 4), pytest.param(5, marks=pytest.mark.skip)])
    @claim("mine.sizes", over=over)
    def sizes(A, X):
        return TRUE

    @pytest.mark.parametrize(
        ("rhs", "expect"), [(None, None), ("dobrushin(A)**2 * diameter(X)", "fails")], ids=["as_stated", "squared"]
    )
    @claim("mine.variants", over=over, budget=2500)
    def variants(A, X):
        return TRUE

    @pytest.mark.parametrize("A", ["Causal(n)", RowStochastic("n")])
    @claim("mine.domains", over=over)
    def domains(A, X):
        return TRUE

    def test_fixtures_are_used_and_a_marked_claim_is_still_a_claim():
        assert len(COUNT) == 10
        assert above.id == "mine.above"
        assert above.expect == "holds"
"""


def test_marks_above_and_below_do_what_they_do_to_tests(pytester):
    state(pytester, MARKED, "test_marked")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v", "--strict-markers", "-W", "error")
    result.assert_outcomes(passed=7, failed=1, xfailed=2, skipped=2)
    result.stdout.fnmatch_lines(
        [
            "*::mine.above XFAIL*",
            "*::mine.below XFAIL*",
            "*::mine.skipped SKIPPED*",
            "*::mine.passes_against_xfail FAILED*",
            "*::mine.sizes[[]1] PASSED*",
            "*::mine.sizes[[]n1] PASSED*",
            "*::mine.sizes[[]5] SKIPPED*",
            "*::mine.variants[[]as_stated] PASSED*",
            "*::mine.variants[[]squared] PASSED*",
            "*::mine.domains[[]Causal(n)] PASSED*",
            "mine.variants[[]as_stated] *survived * 2,500",
        ]
    )


ERROR = """
    @claim("mine.broken", over=over)
    def broken(A, X):
        weight = {"a": 1}
        return at_most(weight["b"], 1)

    squared = claim("mine.true", over=over)(lambda A, X: TRUE).replace(
        rhs=lambda A, X: dobrushin(A) * dobrushin(A) * diameter(X), id="mine.modified"
    )
"""


def test_a_report_has_file_line_numbers_and_the_users_own_lines(pytester):
    state(pytester, ERROR)
    result = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "--junitxml=report.xml", "-o", "junit_family=xunit1"
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            '>       return at_most(weight["b"], 1)',
            "E       KeyError: 'b'",
            "*mine.broken: error, expected it holds*",
            "claims_mine.py:12: KeyError",
            "mine.modified: refuted, expected it holds",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")
    result.stdout.no_fnmatch_line("*resstream/claim.py*")
    cases = {case.get("name"): case for case in ET.parse(pytester.path / "report.xml").iter("testcase")}
    assert (cases["mine.broken"].get("file"), cases["mine.broken"].get("line")) == ("claims_mine.py", "8")
    assert cases["mine.modified"].get("line") == "13"
    properties = {p.get("name"): p.get("value") for p in cases["mine.modified"].iter("property")}
    assert properties["verdict"] == "refuted"
    assert set(properties) >= {"met", "undecided", "margin", "evaluations", "seed"}
    assert int(properties["met"]) > 0
    assert float(properties["margin"]) < 0


def test_settings_come_from_the_command_line_the_claim_and_the_ini_file_in_that_order(pytester):
    state(
        pytester,
        """
        @claim("mine.plain", over=over)
        def plain(A, X):
            return TRUE

        @claim("mine.own", over=over, budget=2500)
        def own(A, X):
            return TRUE
        """,
    )
    pytester.makeini("[pytest]\nclaim_budget = 4000\nclaim_seed = 5\nclaim_seconds = 50")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "2")
    result.stdout.fnmatch_lines_random(
        ["mine.plain *survived* 4,000", "mine.own *survived* 2,500", "2 claims: * seed 5"]
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--claim-budget=3000", "--claim-seed=6")
    result.stdout.fnmatch_lines(["mine.plain *survived* 3,000", "mine.own *survived* 3,000", "2 claims: * seed 6"])
    pytester.makeini("[pytest]\nclaim_seconds = soon")
    pytester.runpytest_inprocess().stderr.fnmatch_lines(["*claim_seconds: expected a number above 0, got 'soon'*"])


def test_a_claim_that_hangs_ends_with_its_seconds(pytester):
    state(
        pytester,
        """
        @claim("mine.hangs", over=over)
        def hangs(A, X):
            while True:
                pass
        """,
    )
    result = run_here(pytester, "--claim-seconds=1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["mine.hangs: gave up, expected it holds", "*note: the time limit was reached"])
