"""The walk through one audit is executed: its file, its commands and what they print, its Python."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from resstream import claims

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "audit.md").read_text()
((NAME, CODE),) = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)^```$", TEXT, flags=re.M | re.S)
CONSOLE = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", TEXT, flags=re.M | re.S)


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("command", "expected"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_the_commands_print_what_is_shown(command, expected, tmp_path):
    """Spaces aside; `...` stands for anything."""
    (tmp_path / NAME).write_text(CODE)
    arguments = shlex.split(command)
    assert arguments.pop(0) == "resstream"
    if arguments[0] == "audit":
        arguments += ["--seconds", "240"]  # a busy machine leaves less to each question
    done = subprocess.run(
        [sys.executable, "-c", "from resstream.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert done.returncode == ("refuted" in expected.splitlines()[0]), done.stderr
    pattern = ".*?".join(re.escape(words(part)) for part in expected.split("..."))
    assert re.fullmatch(pattern, words(done.stdout), flags=re.S), done.stdout


def test_the_walk_has_a_false_theorem_and_a_true_one():
    first_lines = [expected.splitlines()[0] for _, expected in CONSOLE]
    assert [line.partition(": ")[2].split()[0].rstrip(",") for line in first_lines] == ["refuted", "survived"]


def test_the_python_example_gives_what_it_says():
    (code,) = re.findall(r"^```python\n(from resstream\.audit.*?)^```$", TEXT, flags=re.M | re.S)
    *setup, last = code.strip().splitlines()
    scope = {}
    exec("\n".join(setup), scope)
    expression, _, comment = last.partition("  # ")
    assert repr(eval(expression, scope)) == comment.partition(":")[0]


def test_files_that_the_walk_names_exist():
    for name in re.findall(r"`((?:docs|benchmarks|resstream)/[\w./]+)`", TEXT):
        assert (ROOT / name).exists(), name


# ---- what the audits of the library found -----------------------------------

FINDINGS = (ROOT / "docs" / "findings.md").read_text()


def section(title):
    return FINDINGS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_claim_named_in_the_findings_is_in_the_library():
    named = set(re.findall(r"^\| `([\w.]+)`", FINDINGS, flags=re.M))
    assert len(named) > 100
    assert named <= set(claims.library())


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Bounds that are not sharp", "`contraction.scores` | tanh(row_range(S)/2)"),
        ("Statements that are false as printed or as reported", "`composition.same_matrix_for_keys_and_queries`"),
        ("Statements that are false as printed or as reported", "`induction.score_is_entry_of_target_and_query`"),
        ("Statements that are false as printed or as reported", "`literature.softmax_lipschitz_strict`"),
        ("Statements that are false as printed or as reported", "`literature.collapse_lemma_unbounded`"),
    ],
    ids=["tanh(r/2)", "K-composition's matrix", "the entry (B, A)", "strict softmax", "rank-collapse lemma"],
)
def test_the_findings_hold_what_is_known_to_be_there(title, words):
    assert words in section(title)


def test_the_strict_softmax_is_saved_by_a_third_class():
    (row,) = (line for line in FINDINGS.splitlines() if line.startswith("| `literature.softmax_lipschitz_strict` "))
    assert "`n >= 3`" in row


def test_the_ratio_beside_the_sharper_bound_is_that_bound():
    """The curve found by the search lies on tanh(q/2) over the printed right side, up to the six digits shown."""
    curve = section("Bounds that are not sharp").partition("`contraction.scores`, as a function of row_range(S):")[2]
    rows = re.findall(r"^\| ([\d.e-]+) \| ([\d.]+) \| ([\d.]+) \|$", curve.partition("\n\n`")[0], flags=re.M)
    assert len(rows) >= 5
    for _, ratio, bound in rows:
        assert float(ratio) <= float(bound) + 2e-6
    assert sum(ratio == bound for _, ratio, bound in rows) >= len(rows) // 2


def test_the_tables_of_the_findings_are_whole():
    for table in re.findall(r"^\|.*(?:\n\|.*)*", FINDINGS, flags=re.M):
        cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()]
        assert len(set(cells)) == 1, table.splitlines()[0]
    for line in FINDINGS.splitlines():
        assert line == line.strip()
        assert not line.startswith(("[", "]"))


def test_the_findings_open_with_the_ten_and_their_certificates():
    spec = importlib.util.spec_from_file_location("ten_findings", ROOT / "benchmarks" / "ten_findings.py")
    sys.modules[spec.name] = ten = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ten)
    expected = ten.as_markdown()
    assert ten.placed(FINDINGS, expected) == FINDINGS, "run: python benchmarks/ten_findings.py"
    assert FINDINGS.index("## Ten findings") == FINDINGS.index("\n## ") + 1
    assert len(ten.FINDINGS) == 10
    for finding in ten.FINDINGS:
        assert len(re.findall(r"[.](?= [A-Z]|$)", finding.text)) == 2, "two sentences each"
    for identifier in (name for finding in ten.FINDINGS for name in (*finding.holds, *finding.refuted)):
        expected = "fails" if any(identifier in finding.refuted for finding in ten.FINDINGS) else "holds"
        assert claims.lookup(identifier).expect == expected
