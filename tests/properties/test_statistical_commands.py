"""Statistical claims as a user meets them: the library's own, the commands, and pytest."""

import json
import textwrap

import pytest
from typer.testing import CliRunner

from resstream import claims, cli
from resstream.falsify.statistical import by_draws

FILE = """
    from fractions import Fraction

    from resstream.arithmetic import square, total
    from resstream.claim import at_most
    from resstream.statistical import Gaussian, probability, statistical


    @statistical("mine.most", over={"x": Gaussian(1, "d")}, sizes={"d": 100}, draws=100)
    def most(x):
        '''Nine of ten normal vectors have |x|^2 <= 150.'''
        return probability(at_most(total(square(x)), 150), at_least=Fraction(9, 10))


    @statistical("mine.half", over={"x": Gaussian(1, "d")}, sizes={"d": 100}, draws=100)
    def half(x):
        '''Nine of ten have |x|^2 <= 100.'''
        return probability(at_most(total(square(x)), 100), at_least=Fraction(9, 10))


    @statistical("mine.known", over={"x": Gaussian(1, "d")}, sizes={"d": 100}, draws=100, expect="fails")
    def known(x):
        '''The same, and it is known.'''
        return probability(at_most(total(square(x)), 100), at_least=Fraction(9, 10))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "claims_mine.py"
    path.write_text(textwrap.dedent(FILE))
    return str(path)


def run(*arguments):
    return CliRunner().invoke(cli.app, list(arguments))


@pytest.mark.parametrize("one", claims.statistical().values(), ids=lambda one: one.id)
def test_those_of_the_library_do_what_they_say(one):
    verdict = by_draws(one)
    assert verdict.as_expected, str(verdict)
    assert verdict.undecided == 0
    assert verdict.draws >= 24
    assert one.source
    assert one.headline.endswith(".")


def test_the_library_has_true_and_false_ones_apart_from_all_others():
    tested, table = claims.statistical(), claims.as_markdown()
    assert len(tested) >= 20
    assert {one.expect for one in tested.values()} == {"holds", "fails"}
    assert not set(tested) & set(claims.library())
    with pytest.raises(claims.ClaimError, match="is a statistical claim"):
        claims.lookup("paths.short_paths")
    for name, one in tested.items():
        level = "refuted" if one.expect == "fails" else "not refuted"
        assert f"| `{name}` | {level} at level 1e-9, {one.draws:,} draws (statistical, not certified) |" in table


def test_a_table_counts_them_apart(file):
    done = run("check", file, "contraction.diameter_squared", "--profile", "quick", "--workers", "1")
    assert done.exit_code == 1  # mine.half
    assert "0 survived as stated, 1 refuted as expected, 0 not as expected" in done.output
    assert (
        "Statistical, not certified: 1 not refuted and 1 refuted at their levels as expected, 1 not as" in done.output
    )
    assert "refuted at level 1e-9 (expected: holds)" in done.output
    done = run("check", f"{file}::mine.known", "--json")
    assert done.exit_code == 0
    (row,) = json.loads(done.output)
    assert (row["verdict"], row["level"], row["accepted"]) == ("refuted at level 1e-9", 1e-9, 100)


def test_exit_statuses_and_words_of_falsify(file):
    done = run("falsify", f"{file}::mine.most")
    assert done.exit_code == 0
    assert "mine.most not refuted at level 1e-9 (statistical, not certified)" in done.output
    done = run("falsify", f"{file}::mine.half", "--json")
    assert done.exit_code == 4
    found = json.loads(done.output)
    assert (found["status"], found["certified"], found["places"][0]["draws"]) == ("refuted at level", False, 100)
    done = run("falsify", f"{file}::mine.half", "--budget", "200")
    assert "of 200 draws meet it in float64" in done.output


@pytest.mark.parametrize(
    "option", [("--rhs", "1"), ("--sizes", "d=3"), ("--as", "rocq"), ("--save", "out"), ("--probe-sizes",)]
)
def test_what_is_not_done_to_them_is_refused(file, option):
    with pytest.raises(claims.ClaimError.__mro__[1], match=f"{option[0]}: mine.half is a statistical claim"):
        CliRunner().invoke(
            cli.app, ["falsify", f"{file}::mine.half", *option], catch_exceptions=False, standalone_mode=False
        )


def test_an_audit_gives_limits_and_says_where_it_ends(file):
    done = run("audit", f"{file}::mine.half")
    assert done.exit_code == 1
    assert "100 draws were read in balls, 0 of them undecided" in done.output
    assert "it lies between 0." in done.output
    assert "An audit ends here" in done.output
    assert json.loads(run("audit", f"{file}::mine.known", "--json").output)[0]["certified"] is False


def test_list_and_show(file):
    assert "mine.known" in run("list", file).output
    shown = run("show", "paths.short_paths").output
    assert "not refuted at level 1e-9, 400 draws (statistical, not certified)" in shown
    assert "u ~ Uniform(1, 110)" in shown
    own = run("show", f"{file}::mine.half").output
    assert "Tested at level 1e-9 by 100 draws" in own
    assert "refuted at" not in own
    assert json.loads(run("list", "paths.short_paths", "--json").output)[0]["laws"] == {"u": ["Uniform(1, 110)"]}
    for command in ("prove", "replay"):
        assert run(command, "paths.short_paths").exit_code != 0


def test_pytest_collects_them(pytester):
    pytester.makepyfile(claims_mine=textwrap.dedent(FILE))
    result = pytester.runpytest("claims_mine.py", "-v", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*mine.half: refuted at level 1e-9, expected it holds",
            "*mine.half is refuted at level 1e-9 (statistical, not certified)",
            "*3 claims: 1 not refuted at level 1e-9, 2 refuted at level 1e-9; 1 not as expected*",
        ]
    )
