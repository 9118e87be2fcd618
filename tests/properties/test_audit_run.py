"""The whole audit as a user meets it: in Python, as a command, interrupted, short of time, and given bad input."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import jsonschema
import pytest
from typer.testing import CliRunner

from resstream import audit as audits
from resstream.arithmetic import absolute, amax, amin, exact, square
from resstream.audit import attack, files
from resstream.audit import run as runs
from resstream.audit.report import data, markdown, referee, words
from resstream.claim import at_least, at_most, claim, more_than, size
from resstream.cli import app
from resstream.domains import Matrix, NonConstant, Positive, RowStochastic
from resstream.errors import ClaimError
from resstream.falsify import falsify
from resstream.falsify.counterexample import from_json
from resstream.falsify.search import search
from resstream.falsify.variants import targets
from resstream.reference import diameter, dobrushin, layer_norm

BUDGET = 4096


OVER = {"A": RowStochastic("n"), "X": Matrix("n", "d")}
SIZES = {"n": range(1, 4), "d": range(1, 3)}


@claim("trial.contracts", over=OVER, sizes=SIZES)
def contracts(A, X):
    """diam(AX) <= tau(A) diam(X)."""
    return at_most(diameter(A @ X), dobrushin(A) * diameter(X))


@claim("trial.contracts_twice", over=OVER, sizes=SIZES, expect="fails")
def contracts_twice(A, X):
    """diam(AX) <= tau(A)^2 diam(X)."""
    return at_most(diameter(A @ X), dobrushin(A) * dobrushin(A) * diameter(X))


def audit(statement, **options):
    return audits.audit(statement, budget=BUDGET, seconds=2400, quick=True, **options)


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-c", "from resstream.cli import main; main()", "audit", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
    )


@pytest.fixture(scope="module")
def survivor():
    return audit(contracts)


@pytest.fixture(scope="module")
def refuted():
    return audit(contracts_twice)


def test_a_quick_audit_searches_without_a_domain_as_long_as_the_claim():
    found = audit(claim("trial", over={"x": Positive("d")}, sizes={"d": range(1, 4)})(lambda x: at_most(0, square(x))))
    assert [variant.evaluations for variant in found.necessity] == [BUDGET]


def test_a_true_claim_is_asked_every_question(survivor):
    assert survivor.status == "survived"
    assert survivor.as_expected
    assert survivor.acceptance == 1
    assert not [reason for reason in survivor.missing if not reason.startswith("proof")]  # on a busy machine
    titles = [title for title, _ in words.sections(survivor)]
    assert titles == ["sharpness", "necessity", "strengthened", "proof", "vacuity", "floats"]


def test_a_false_claim_is_mapped_and_keeps_its_counterexample(refuted):
    assert refuted.status == "refuted"
    titles = [title for title, _ in words.sections(refuted)]
    assert titles == ["counterexample", "where it fails", "proof", "vacuity", "floats"]
    assert "false as stated" in referee.findings(refuted)
    assert any(line.startswith("no counterexample with n = 1 added, in ") for line in referee.findings(refuted))


@pytest.mark.parametrize("which", ["survivor", "refuted"])
def test_an_audit_as_json_says_what_the_text_says(which, request):
    found = request.getfixturevalue(which)
    said = json.loads(json.dumps(data.to_json(found)))
    assert (said["claim"], said["status"], said["seed"]) == (found.claim.id, found.status, 0)
    assert said["findings"] == referee.findings(found)
    assert {goal["outcome"] for goal in said["proofs"]} >= {"proved"}
    if said["counterexample"]:
        assert from_json(said["counterexample"], contracts_twice).judgement.outcome == "violated"
    else:
        assert said["parts"][0]["sharpness"]["status"] == "attained"


@pytest.mark.parametrize("which", ["survivor", "refuted"])
def test_the_json_is_as_its_schema_says_and_has_every_sentence(which, request):
    found = request.getfixturevalue(which)
    said = json.loads(json.dumps(data.to_json(found)))
    jsonschema.Draft202012Validator(data.schema()).validate(said)
    assert [sentence["text"] for sentence in said["sentences"]] == [
        line for _, lines in words.sections(found) for line in lines
    ]
    assert 1 <= len(said["opening"]) <= 3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(data.schema()).validate({**said, "status": "true"})


def test_the_report_opens_with_what_a_referee_would_write(survivor, refuted):
    first, second, third = referee.opening(survivor)
    assert first.startswith("No counterexample: proved at ")
    assert second.startswith("Attained: ")
    assert third.startswith("Needed: ")
    assert referee.opening(refuted)[0].startswith("False, at ")


def test_an_audit_as_markdown_has_its_sections(survivor, refuted):
    assert markdown.markdown(survivor).startswith("## trial.contracts: survived ")
    assert "### Where it fails\n\n```text\n" in markdown.markdown(refuted)


def test_the_same_seed_finds_the_same(survivor):
    again = data.to_json(audit(contracts))
    before = data.to_json(survivor)
    for field in ("evaluations", "accepted", "parts", "necessity", "strengthened", "sample"):
        assert again[field] == before[field]


def test_a_claim_whose_hypotheses_are_rarely_met_says_how_often():
    @claim("trial", over={"A": RowStochastic("n")}, sizes={"n": range(2, 5)}, assuming=[tiny])
    def trial(A):
        return at_most(dobrushin(A), 1)

    found = audit(trial)
    assert 0 < found.acceptance < 0.9
    assert "instances met the hypotheses" in dict(words.sections(found))["vacuity"][0]


def tiny(A):
    """tau <= 1/10."""
    return at_most(10 * dobrushin(A), 1)


def impossible(A):
    """No matrix has it."""
    return at_most(1 + dobrushin(A), 0)


def test_a_vacuous_claim_is_called_vacuous():
    statement = claim("trial", over={"A": RowStochastic("n")}, assuming=[impossible])(
        lambda A: at_most(dobrushin(A), 1)
    )
    found = audit(statement)
    assert found.status == "vacuous"
    assert not found.as_expected
    assert words.headline(found) == "trial: vacuous, as it is proved that no instance meets the hypotheses"


# ---- time and interruption --------------------------------------------------


def test_an_interruption_keeps_what_was_found():
    def interrupt(stage, *_):
        if stage == "necessity":
            raise KeyboardInterrupt

    found = audit(contracts, progress=interrupt)
    assert found.missing[-1] == "interrupted"
    assert found.verdict is not None
    assert found.parts
    assert not found.necessity


def test_ctrl_c_in_the_first_search_ends_the_audit_and_not_only_the_search(monkeypatch):
    def broken_off(*arguments, **options):
        return replace(falsify(*arguments, **options), notes=("interrupted",))

    monkeypatch.setattr(runs, "falsify", broken_off)
    found = audit(contracts)
    assert found.missing == ("interrupted",)
    assert found.verdict is not None
    assert found.sample is None


def test_ctrl_c_in_a_later_search_ends_the_audit_and_not_only_the_search(monkeypatch):
    def broken_off(*arguments, **options):
        return replace(search(*arguments, **options), notes=("interrupted",))

    monkeypatch.setattr(attack, "search", broken_off)
    found = audit(contracts_twice)
    assert found.missing == ("interrupted",)
    assert found.verdict.counterexample is not None
    assert found.failures is None


SLOW = """from pathlib import Path
from resstream.arithmetic import absolute, amax, amin, exact, square
from resstream.claim import at_least, at_most, claim, more_than, size
from resstream.domains import Matrix

@claim("slow.first", over={"X": Matrix("n", "d")})
def first(X):
    Path("started").touch()
    return at_most(X, X)

@claim("slow.second", over={"X": Matrix("n", "d")})
def second(X):
    return at_most(X, X)
"""


def test_ctrl_c_on_the_command_line_prints_what_was_found_and_what_was_not(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    code = "from resstream.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "audit", "slow.py", "--budget", "100000000", "--seconds", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        while not (tmp_path / "started").exists() and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=200)
    finally:
        process.kill()
    assert process.returncode == 1, errors
    assert "not answered" in output
    assert "interrupted" in output
    assert "interrupted: 1 of 2 claims were not audited" in errors
    assert "Traceback" not in errors


def test_what_time_did_not_suffice_for_is_named():
    found = audits.audit(contracts, budget=BUDGET, seconds=0.05)
    assert any("time limit" in reason for reason in found.missing)


def test_progress_names_every_question():
    stages = []
    audit(contracts_twice, progress=lambda stage, *_: stages.append(stage))
    assert stages == ["verdict", "proof at small sizes", "sample", "failure map"]


def test_a_proof_needs_z3_and_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "resstream.prove.solve", None)
    found = audit(contracts_twice)
    assert "install resstream[prove]" in found.missing[-1]
    assert found.failures is not None


# ---- the command ------------------------------------------------------------


def test_the_template_runs_as_it_is(tmp_path):
    made = CliRunner().invoke(app, ["new", str(tmp_path / "my_theorem")])
    assert made.exit_code == 0
    assert "my_theorem.py" in made.stdout
    done = run("my_theorem.py", "--budget", str(BUDGET), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    assert (first["claim"], first["status"]) == ("my_theorem.contracts", "survived")
    assert (second["claim"], second["status"]) == ("my_theorem.contracts_twice", "refuted")


def test_the_template_overwrites_nothing_and_wants_a_name(tmp_path):
    files.new_file(str(tmp_path / "mine.py"))
    with pytest.raises(ClaimError, match=r"mine\.py exists, and is left as it is"):
        files.new_file(str(tmp_path / "mine"))
    with pytest.raises(ClaimError, match=r"name '.*/my-theorem': expected letters, digits and _ only"):
        files.new_file(str(tmp_path / "my-theorem"))
    with pytest.raises(ClaimError, match="cannot be written"):
        files.new_file(str(tmp_path / "no_such_directory" / "mine"))


@pytest.mark.parametrize("identifier", ["dobrushin.range", "dobrushin.submultiplicative_by_half"])
def test_the_exit_status_is_0_where_a_claim_does_what_is_expected(identifier, tmp_path):
    path = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["audit", identifier, "--budget", "2048", "--html", str(path)])
    assert result.exit_code == 0
    assert identifier in result.stdout
    assert path.read_text().count("<svg") >= 1


def test_the_exit_status_is_1_where_a_claim_is_refuted_unexpectedly(tmp_path):
    text = (
        "from resstream.claim import at_most, claim\n"
        "from resstream.domains import Matrix\n"
        "from resstream.reference import diameter\n"
        '@claim("mine.wrong", over={"X": Matrix("n", "d")})\n'
        "def wrong(X):\n"
        "    return at_most(diameter(X), 1)\n"
    )
    (tmp_path / "mine.py").write_text(text)
    done = run("mine.py", "--budget", "2048", "--md", cwd=tmp_path)
    assert done.returncode == 1
    assert "## mine.wrong: refuted, by a certified counterexample" in done.stdout


HEAD = "from resstream.claim import at_most, claim\nfrom resstream.domains import Matrix\n"
BAD = {
    "does not import": (HEAD + "x = 1 / 0\n", r"bad\.py cannot be imported: ZeroDivisionError.* \(line 3\)"),
    "is no Python": ("x = (\n", r"bad\.py cannot be imported: SyntaxError.* \(line 1\)"),
    "ends the process": ("import sys\nsys.exit(0)\n", r"bad\.py cannot be imported: SystemExit.* \(line 2\)"),
    "raises what cannot be worded": (
        "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd\n",
        r"bad\.py cannot be imported: Odd.* \(line 3\)",
    ),
    "closes a generator": ("raise GeneratorExit\n", r"bad\.py cannot be imported: GeneratorExit.* \(line 1\)"),
    "has an id that is no text": (
        HEAD + '@claim(7, over={"X": Matrix("n", "d")})\ndef bad(X):\n    return at_most(X, 1)\n',
        r"bad\.py, line 3: claim id 7: expected text",
    ),
    "has a list of domains": (
        HEAD + '@claim("bad.claim", over=[Matrix("n", "d")])\ndef bad(X):\n    return at_most(X, 1)\n',
        r"bad\.py, line 3: claim bad\.claim: over is .*, expected a mapping by name",
    ),
    "assumes a relation": (
        HEAD + '@claim("bad.claim", over={"X": Matrix(1, 1)}, assuming=[at_most(1, 2)])\ndef bad(X):\n    return X\n',
        r"bad\.py, line 3: claim bad\.claim: assuming is .*, expected a list of functions",
    ),
    "states no claim": ("x = 1\n", r"bad\.py states no claim at its top level"),
    "argument without a domain": (
        HEAD + '@claim("bad.claim", over={"X": Matrix("n", "d")})\ndef bad(X, Y):\n    return at_most(X, Y)\n',
        r"argument 'Y' of bad \(.*bad\.py, line 3\) has no domain; expected one of X",
    ),
    "returns no relation": (
        HEAD + '@claim("bad.claim", over={"X": Matrix("n", "d")})\ndef bad(X):\n    return X <= 1\n',
        r"bad \(.*bad\.py, line 3\) returned ndarray, expected a relation",
    ),
    "expects nonsense": (
        HEAD
        + '@claim("bad.claim", over={"X": Matrix("n", "d")}, expect="maybe")\ndef bad(X):\n    return at_most(X, 1)\n',
        r"bad\.py, line 3: claim bad\.claim: expect is 'maybe', expected 'holds' or 'fails'",
    ),
}


def audit_file(path):
    for statement in targets([str(path)]):
        audit(statement)


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_one_clear_error_with_its_line(kind, tmp_path):
    text, message = BAD[kind]
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(ClaimError, match=message):
        audit_file(path)


def test_a_bad_file_makes_the_command_exit_with_2_and_one_line(tmp_path):
    (tmp_path / "bad.py").write_text(HEAD)
    done = run("bad.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["error: bad.py states no claim at its top level"]


def test_unknown_names_and_unwritable_pages_are_refused_before_any_work(tmp_path):
    done = run("contraction.diametre")
    assert done.returncode == 2
    assert "did you mean contraction.diameter" in done.stderr
    done = run("contraction.diameter", "--html", str(tmp_path / "nowhere" / "page.html"))
    assert done.returncode == 2
    assert "expected a file in a directory that exists" in done.stderr


def test_the_help_says_that_a_file_is_executed():
    text = " ".join(CliRunner().invoke(app, ["audit", "--help"]).stdout.split())
    assert "A file is executed as Python code" in text


def test_an_id_of_a_file_and_a_group_of_the_library_can_be_named(tmp_path):
    path = files.new_file(str(tmp_path / "mine"))
    (one,) = targets([f"{path}::mine.contracts"])
    assert one.id == "mine.contracts"
    assert len(targets(["contraction", str(path)])) > 3


def test_a_claim_made_in_a_notebook_can_be_audited():
    statement = claim("made.here", over={"A": RowStochastic("n")})(lambda A: at_most(dobrushin(A), 1))
    found = audit(statement)
    assert found.status == "survived"
    assert found._repr_html_().startswith("<style>")


def beyond(x):
    """Some coordinate of LN(x) exceeds sqrt(d - 1), which none does: a one-hot token reaches it."""
    return more_than(square(amax(absolute(layer_norm(x)))), size("d") - 1)


def test_hypotheses_that_floats_alone_meet_are_said_to_be_met_by_nothing():
    @claim("trial.beyond", over={"x": NonConstant("d")}, assuming=[beyond], sizes={"d": range(2, 4)})
    def leaves(x):
        """Beyond sqrt(d - 1) no coordinate is below -1/2."""
        return at_least(amin(layer_norm(x)), exact(-1, 2))

    found = audit(leaves)
    assert found.status == "vacuous"
    assert "the hypotheses are never met (proved, and by none of" in markdown.markdown(found)
    kept = replace(found.verdict, status="gave up", tally=replace(found.verdict.tally, let_in=5))
    text = markdown.markdown(replace(found, verdict=kept))
    assert "the hypotheses are never met, as far as" in text
    assert "floats let in 5" in text
