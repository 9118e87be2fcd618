"""The command line as a user meets it: what it prints, its JSON, its exit statuses and its errors."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from resstream import claims, cli
from resstream.falsify import check as checking


def run(*arguments):
    """Run the command in a process of its own, as a shell would."""
    return subprocess.run(
        [sys.executable, "-c", "from resstream.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_check_prints_a_table_and_a_summary_and_exits_with_0():
    done = run("check", "contraction.diameter", "contraction.diameter_squared", "--profile", "quick")
    assert done.returncode == 0, done.stderr
    assert "contraction.diameter_squared" in done.stdout
    assert "1 survived as stated, 1 refuted as expected, 0 not as expected" in done.stdout
    assert "Profile quick, seed 0." in done.stdout


def test_check_json_has_the_documented_fields():
    done = run("check", "contraction.diameter", "--profile", "quick", "--json")
    (row,) = json.loads(done.stdout)
    counts = {"accepted", "discarded", "acquitted", "undecided", "undefined"}
    fields = {"id", "expect", "verdict", "smallest_margin", "seconds", "sizes"} | counts
    assert set(row) == fields
    assert row["sizes"] == {"d": "1..6", "n": "1..6"}
    assert (row["id"], row["expect"], row["verdict"]) == ("contraction.diameter", "holds", "survived")
    assert row["accepted"] > 200


def test_the_number_of_workers_changes_nothing():
    def rows(workers):
        done = run("check", "dobrushin", "--profile", "quick", "--json", "--workers", workers)
        return [{**row, "seconds": 0} for row in json.loads(done.stdout)]

    one, two = rows("1"), rows("2")
    assert len(one) > 1
    assert one == two


@pytest.mark.parametrize(("verdict", "expect"), [("refuted", "holds"), ("survived", "fails"), ("gave up", "holds")])
def test_a_claim_that_does_not_do_what_is_expected_makes_check_exit_with_1(monkeypatch, verdict, expect):
    row = checking.Row("contraction.diameter", expect, verdict, 1, 0, 0, 0, 0, 0.0, 0.0)
    monkeypatch.setattr(checking, "check", lambda *_, **__: iter([row]))
    result = CliRunner().invoke(cli.app, ["check", "contraction.diameter"])
    assert result.exit_code == 1
    assert f"{verdict} (expected: {expect})" in " ".join(result.stdout.split())
    assert "1 not as expected" in result.stdout


def test_a_check_that_is_interrupted_for_real_ends_soon_and_prints_what_it_found():
    """Ctrl-C goes to the whole process group, as a terminal sends it."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from resstream.cli import main; main()", "check", "--json", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and not children.read_text():
        time.sleep(0.05)  # until the check has started its workers
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.search(r"interrupted: \d+ of \d+ claims were not checked", errors)
    assert "Traceback" not in errors
    assert [row["id"] for row in json.loads(output)] == list(claims.library())[: len(json.loads(output))]


def check_one(claim, *_):
    """A check that one claim of three kills; work is sent to other processes by name."""
    if claim.id == "dobrushin.range":
        os.kill(os.getpid(), signal.SIGKILL)
    return checking.Row(claim.id, "holds", "survived", 1, 0, 0, 0, 0, 0.0, 0.0)


def test_a_claim_that_kills_its_process_is_an_error_and_the_others_are_checked(monkeypatch):
    monkeypatch.setattr(checking, "check_one", check_one)
    names = ["dobrushin.two_forms", "dobrushin.range", "dobrushin.convex"]
    rows = list(checking.check(names, "quick", 0, 2))
    assert [row.id for row in rows] == names
    assert [row.verdict for row in rows] == ["survived", "error", "survived"]
    assert "ended twice" in rows[1].message


def test_an_interrupted_check_keeps_what_was_found_and_says_what_is_missing(monkeypatch):
    def interrupted(chosen, *_, **__):
        yield checking.Row(chosen[0].id, "holds", "survived", 1, 0, 0, 0, 0, 0.0, 0.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "check", interrupted)
    result = CliRunner().invoke(cli.app, ["check", "contraction", "--json"])
    assert result.exit_code == 1
    assert "were not checked" in result.output
    assert '"verdict": "survived"' in result.output


BAD_USAGE = {
    "unknown claim": (
        ["check", "contraction.diamter"],
        "unknown claim 'contraction.diamter': did you mean contraction.",
    ),
    "unknown group": (["check", "zzz"], "unknown claim 'zzz': see `resstream list`"),
    "unknown profile": (
        ["check", "--profile", "huge"],
        "profile 'huge': expected one of quick, default, tenfold, deep",
    ),
    "negative seed": (["check", "--seed", "-1"], "Invalid value for '--seed'"),
    "no workers": (["check", "--workers", "0"], "Invalid value for '--workers'"),
    "unknown option": (["check", "--fast"], "No such option"),
    "unknown command": (["chek"], "No such command"),
    "show without id": (["show"], "Missing argument"),
    "show unknown": (["show", "contraction.diametr"], "unknown claim 'contraction.diametr': did you mean"),
}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage_is_explained_and_exits_with_2(case):
    arguments, message = BAD_USAGE[case]
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_list_shows_every_claim():
    listed = json.loads(run("list", "--json").stdout)
    assert [entry["id"] for entry in listed] == [*claims.library(), *claims.statistical()]
    assert all(entry["statement"] and entry["source"] for entry in listed)
    assert all(entry.get("domains") or entry["laws"] for entry in listed)
    plain = run("list", "contraction").stdout
    assert "contraction.diameter" in plain
    assert "layernorm" not in plain


def test_show_prints_statement_source_domains_and_code():
    shown = run("show", "contraction.diameter").stdout
    for part in ("tau(A) diam(X)", "Theorem 1 (i)", "A in RowStochastic(n)", "n = 1..6", "return at_most(diameter("):
        assert part in shown
    as_json = json.loads(run("show", "contraction.diameter", "--json").stdout)
    assert as_json["domains"] == {"A": "RowStochastic(n)", "X": "Matrix(n, d)", "norm": "Norm(d)"}


def test_reproduce_refuses_no_seeds():
    done = run("reproduce", "--seeds", "0")
    assert done.returncode == 2
    assert "Invalid value for '--seeds'" in done.stderr
