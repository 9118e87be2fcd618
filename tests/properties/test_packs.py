"""Claim packs: installed distributions whose claims every command sees, under ids of their own."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from resstream import claims
from resstream.audit.files import new_pack
from resstream.claims import _of_packs, library, own
from resstream.cli import app
from resstream.errors import ClaimError
from resstream.falsify import falsify, load_claims
from resstream.falsify.recorded import Recorded
from resstream.falsify.replay import replay
from resstream.falsify.variants import origin_of


def install(site, name, value, namespace, version="1.0"):
    """What an installer leaves of a distribution that offers claims."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[resstream.claims]\n{namespace} = {value}\n")
    return info


def forget():
    library.cache_clear()
    _of_packs.cache_clear()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory in which packages are found."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    forget()
    yield tmp_path
    forget()
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.fixture
def pack(site):
    (site / "source").mkdir()
    root = new_pack(str(site / "source" / "gauge"))
    (root / "gauge").rename(site / "gauge")
    install(site, "gauge-pack", "gauge.claims", "gauge")
    return root


def run(*arguments, status=0):
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == status, result.output
    return result.output


@pytest.mark.usefixtures("pack")
def test_every_command_sees_the_claims_of_a_pack():
    assert set(library()) - set(own()) == {"gauge.contracts", "gauge.contracts_twice"}
    rows = json.loads(run("check", "gauge", "--profile", "quick", "--json", "--workers", "1"))
    assert [(row["id"], row["verdict"]) for row in rows] == [
        ("gauge.contracts", "survived"),
        ("gauge.contracts_twice", "refuted"),
    ]
    assert "gauge.contracts_twice" in run("list", "gauge.*")
    assert "Pack: gauge-pack 1.0" in run("show", "gauge.contracts")
    assert "survived" in run("falsify", "gauge.contracts", "--budget", "2000", "--no-memory")
    assert "gauge.contracts" not in claims.as_markdown()
    assert str(origin_of(claims.lookup("gauge.contracts")).distribution) == "gauge-pack"


def test_the_package_that_new_writes_passes_its_own_tests(pack, site):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]
    done = subprocess.run(command, cwd=pack, env=environment, capture_output=True, text=True)
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    with pytest.raises(ClaimError, match="exists, and is left as it is"):
        new_pack(str(pack))
    with pytest.raises(ClaimError, match="name 'my-pack': expected letters, digits and _ only"):
        new_pack("my-pack")
    assert "next: pip install -e other" in run("new", "--pack", "other")


@pytest.mark.usefixtures("pack")
def test_a_counterexample_of_a_pack_is_replayed_by_the_same_version_alone(site):
    found = falsify(claims.lookup("gauge.contracts_twice"), budget=4000, save=site / "found").counterexample
    path = site / "found" / "gauge.contracts_twice.json"
    data = json.loads(path.read_text())
    assert (data["file"], data["distribution"], data["version"]) == (None, "gauge-pack", "1.0")
    assert replay(path).judgement.lhs == found.judgement.lhs
    assert "claims.lookup('gauge.contracts_twice')" in found.pytest_file()
    (site / "gauge_pack-1.0.dist-info").rename(site / "gauge_pack-2.0.dist-info")
    (site / "gauge_pack-2.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: gauge-pack\nVersion: 2.0\n"
    )
    forget()
    recorded = replay(path)  # by its terms, since another version may state something else under that name
    assert isinstance(recorded, Recorded)
    assert recorded.judgement.outcome == "violated"
    path.write_text(json.dumps({**data, "terms": None}))
    with pytest.raises(ClaimError, match=r"was found false in gauge-pack 1\.0, and gauge-pack 2\.0 is installed"):
        replay(path)
    (site / "gauge_pack-2.0.dist-info" / "entry_points.txt").unlink()
    forget()
    with pytest.raises(ClaimError, match=r"was found false in gauge-pack 1\.0, and no pack that is installed has it"):
        replay(path)
    path.write_text(json.dumps({**data, "claim": "contraction.diameter"}))
    with pytest.raises(ClaimError, match="expected the id of the claim that the counterexample names"):
        replay(path)
    path.write_text(json.dumps({**data, "distribution": 3}))
    with pytest.raises(ClaimError, match="expected the distribution of the claim and its version, as text or null"):
        replay(path)


ONE = """
import resstream as rs

one = rs.claim({id!r}, over={{"A": rs.domains.RowStochastic("n")}})(lambda A: rs.at_most(rs.reference.dobrushin(A), 1))
"""


@pytest.mark.parametrize(
    ("text", "namespace", "said"),
    [
        (
            ONE.format(id="other.one"),
            "mine",
            r"pack mine-pack 1\.0: claim 'other\.one': expected .* begins with 'mine\.'",
        ),
        (ONE.format(id="contraction.diameter"), "contraction", r"claim contraction\.diameter: stated twice"),
        ("import no_such_module", "mine", r"pack mine-pack 1\.0 cannot be imported: ModuleNotFoundError"),
        (ONE.format(id="a-b.one"), "a-b", r"its namespace is 'a-b', expected a name"),
    ],
    ids=["foreign_id", "taken_id", "broken", "no_name"],
)
def test_a_pack_that_cannot_be_taken_is_named_and_not_passed_over(site, text, namespace, said):
    (site / "mine_pack.py").write_text(text)
    install(site, "mine-pack", "mine_pack", namespace)
    with pytest.raises(ClaimError, match=said):
        library()


def test_a_pack_may_look_up_the_library_while_it_is_imported_but_not_packs(site):
    (site / "mine_pack.py").write_text(
        ONE.format(id="mine.one") + "other = rs.lookup('contraction.diameter').replace(id='mine.other')\n"
    )
    install(site, "mine-pack", "mine_pack", "mine")
    import mine_pack

    assert claims.lookup("mine.other") is mine_pack.other
    (site / "mine_late.py").write_text("import resstream as rs\nKNOWN = rs.library()\n" + ONE.format(id="late.one"))
    install(site, "late-pack", "mine_late", "late")
    forget()
    with pytest.raises(ClaimError, match="asks for the claims of packs while it is imported itself"):
        import mine_late  # noqa: F401


def test_two_packs_may_not_offer_one_namespace(site):
    (site / "mine_a.py").write_text(ONE.format(id="mine.a"))
    (site / "mine_b.py").write_text(ONE.format(id="mine.b"))
    install(site, "pack-a", "mine_a", "mine")
    install(site, "pack-b", "mine_b", "mine")
    with pytest.raises(ClaimError, match=r"packs pack-a 1\.0 and pack-b 1\.0 both offer the namespace 'mine'"):
        library()


@pytest.mark.usefixtures("pack")
def test_a_claim_that_is_imported_stays_whose_it_is(site):
    (site / "claims_here.py").write_text(
        "import resstream as rs\nfrom gauge.claims import contracts\ntheirs = rs.lookup('contraction.diameter')\n"
        + ONE.format(id="here.one")
    )
    assert list(load_claims(site / "claims_here.py")) == ["here.one"]
    assert origin_of(claims.lookup("gauge.contracts")).file is None
    assert origin_of(claims.lookup("contraction.diameter")).distribution is None


def test_check_and_list_and_show_take_files_as_audit_does(site):
    (site / "claims_here.py").write_text(ONE.format(id="here.one"))
    rows = json.loads(
        run("check", "claims_here.py", "dobrushin.range", "--profile", "quick", "--json", "--workers", "1")
    )
    assert [row["id"] for row in rows] == ["here.one", "dobrushin.range"]
    assert "here.one" in run("list", "claims_here.py")
    assert json.loads(run("show", "claims_here.py::here.one", "--json"))["id"] == "here.one"
    assert "states no claim 'here.two'" in str(CliRunner().invoke(app, ["check", "claims_here.py::here.two"]).exception)
