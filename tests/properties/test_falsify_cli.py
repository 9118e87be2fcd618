"""The commands `resstream falsify` and `resstream replay`: what they print, and their exit status."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from resstream.cli import app
from resstream.errors import ResstreamError

SQUARED = ("falsify", "contraction.diameter", "--rhs", "dobrushin(A)**2 * diameter(X, norm)")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        return CliRunner().invoke(app, list(arguments))

    return call


def test_the_example_of_the_documents(run):
    result = run(*SQUARED)
    assert result.exit_code == 1
    for line in ("contraction.diameter+modified is refuted", "at d = 1, n = 2", "lhs = 1/2", "rhs = 1/4"):
        assert line in result.output


def test_the_output_for_programs(run):
    result = run(*SQUARED, "--json", "--seed", "4", "--budget", "50000")
    verdict = json.loads(result.output)
    assert result.exit_code == 1
    wanted = ["status", "claim", "seed", "budget", "evaluations", "accepted", "discarded", "seconds", "engine"]
    assert set(wanted) | {"smallest_margin", "counterexample"} <= set(verdict)
    assert (verdict["status"], verdict["seed"], verdict["budget"]) == ("refuted", 4, 50_000)
    assert {"raw", "values", "lhs", "rhs", "bits", "largest_violation"} <= set(verdict["counterexample"])
    assert verdict["counterexample"]["values"]["A"] == [["1", "0"], ["1/2", "1/2"]]


def test_a_claim_that_survives(run):
    result = run("falsify", "contraction.diameter", "--budget", "5000", "--over", "A=Causal(n)", "--sizes", "n=2:3")
    assert result.exit_code == 0
    assert "survived: no violation found, which is no proof" in result.output
    assert "smallest relative margin" in result.output


def test_a_hypothesis_can_be_dropped(run):
    assert run("falsify", "skip.stack_product", "--budget", "5000").exit_code == 0
    result = run("falsify", "skip.stack_product", "--without", "every_step_at_most_one", "--json")
    verdict = json.loads(result.output)
    assert (result.exit_code, verdict["status"], verdict["discarded"]) == (1, "refuted", 0)
    assert verdict["counterexample"]["changes"] == {"without": ["every_step_at_most_one"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("contraction.diametre",), "did you mean contraction.diameter"),
        (("contraction.diameter", "--rhs", "A.T"), "attribute access is not allowed"),
        (("contraction.diameter", "--over", "A"), "expected NAME=VALUE"),
        (("contraction.diameter", "--over", "B=Causal(n)"), "over='B'"),
        (("contraction.diameter", "--sizes", "n=6:2"), "expected the smaller end first"),
        (("contraction.diameter", "--without", "finite"), "without='finite'"),
        (("absent.py::mine",), "no file 'absent.py'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_usage_is_said_and_not_traced(run, arguments, message):
    result = run("falsify", *arguments)
    assert isinstance(result.exception, ResstreamError)  # `main` prints it and ends with status 2
    assert message in str(result.exception)


@pytest.mark.parametrize("arguments", [("--budget", "0"), ("--workers", "0"), ("--seconds", "0"), ("--seed", "-1")])
def test_numbers_out_of_range_are_bad_usage(run, arguments):
    assert run("falsify", "contraction.diameter", *arguments).exit_code == 2


def test_a_file_that_states_no_claim_or_fails_is_bad_usage(run, tmp_path):
    (tmp_path / "empty.py").write_text("x = 3\n")
    (tmp_path / "broken.py").write_text("raise OSError('no disc')\n")
    for name, message in (("empty", "states no claim"), ("broken", "cannot be imported: OSError: no disc")):
        assert message in str(run("falsify", f"{name}.py").exception)


def test_a_saved_counterexample_is_replayed_in_every_form(run):
    assert run(*SQUARED, "--save", "found").exit_code == 1
    (saved,) = map(str, Path("found").glob("contraction.diameter+modified-????????.json"))
    result = run("replay", saved)
    assert result.exit_code == 1
    assert "lhs = 1/2" in result.output
    for form, piece in (
        ("latex", "pmatrix"),
        ("python", "assert isinstance(certificate, Certificate)"),
        ("pytest", "def test_"),
        ("json", '"raw"'),
        ("check", "require("),
        ("rocq", "Print Assumptions counterexample."),
    ):
        assert piece in run("replay", saved, "--as", form).output
    assert "expected text, json, latex, html, python, pytest, numpy, sympy, check, rocq, lean" in str(
        run("replay", saved, "--as", "word").exception
    )


def test_modifications_of_one_claim_are_saved_beside_each_other(run, tmp_path):
    run(*SQUARED, "--save", "found")
    run("falsify", "contraction.diameter", "--rhs", "rhs / 2", "--no-memory", "--save", "found")
    run(*SQUARED, "--save", "found", "--seed", "3")  # the same modification again
    saved = sorted((tmp_path / "found").glob("*.json"))
    assert len(saved) == len(list((tmp_path / "found").glob("test_*.py"))) == 2
    assert {json.loads(path.read_text())["changes"]["rhs"] for path in saved} == {SQUARED[3], "rhs / 2"}


def test_a_search_that_saw_too_few_instances_is_no_survival(run):
    result = run("falsify", "skip.stack_product", "--budget", "1", "--no-memory")
    assert (result.exit_code, "gave up, too few instances met the hypotheses (1)" in result.output) == (3, True)


def test_arguments_that_would_have_no_part_are_refused(run, tmp_path):
    assert "expected neither names nor --json" in str(run("list", "--markdown", "nosuch").exception)
    run(*SQUARED, "--save", "found")
    (saved,) = map(str, (tmp_path / "found").glob("*.json"))
    assert "--claims nosuch.py has no part in it" in str(run("replay", saved, "--claims", "nosuch.py").exception)


def test_a_counterexample_is_printed_in_a_form_alone(run):
    """What is printed is the file, and runs as it is."""
    result = run(*SQUARED, "--no-memory", "--as", "check")
    assert result.exit_code == 1
    scope = {"__name__": "certificate"}
    exec(compile(result.stdout, "certificate", "exec"), scope)
    assert scope["checked"] > 2
    assert "expected text, json" in str(run(*SQUARED, "--as", "word").exception)


def test_an_instance_that_does_not_refute_ends_with_0(run, tmp_path):
    run(*SQUARED, "--save", "found")
    (path,) = (tmp_path / "found").glob("contraction.diameter+modified-*.json")
    data = json.loads(path.read_text())
    data["raw"]["arrays"]["X"] = [["1"], ["1"]]
    path.write_text(json.dumps(data))
    result = run("replay", str(path))
    assert result.exit_code == 0
    assert "this instance does not refute it (holds)" in result.output


CLAIM_FILE = """
from resstream.claim import at_most, claim
from resstream.domains import Vector

@claim("mine.only", over={"x": Vector("d")})
def only(x):
    return at_most(x, 1)
"""


def test_a_claim_of_ones_own_is_replayed_by_its_code_or_by_its_recorded_terms(run, tmp_path):
    (tmp_path / "mine.py").write_text(CLAIM_FILE)
    assert run("falsify", "mine.py", "--save", "found").exit_code == 1
    saved = "found/mine.only.json"
    by_terms = run("replay", saved)
    assert by_terms.exit_code == 1
    assert "the claim's own code was not run" in " ".join(by_terms.output.replace("│", " ").split())
    assert run("replay", saved, "--claims", "mine.py").exit_code == 1
    (tmp_path / "mine.py").write_text(CLAIM_FILE.replace("x, 1", "x, 9"))
    assert "SHA-256 differs" in str(run("replay", saved, "--claims", "mine.py").exception)


def test_what_was_found_is_tried_first_next_time_unless_told_not_to(run):
    engines = [json.loads(run(*SQUARED, "--json", *more).output)["engine"] for more in ((), (), ("--no-memory",))]
    assert engines == ["corners", "memory", "corners"]
