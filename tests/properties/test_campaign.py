"""Campaigns: what is in the store stays there whatever ends the process, and time goes where it pays."""

import contextlib
import dataclasses
import json
import os
import sqlite3
import subprocess
import sys
import textwrap

import pytest
from typer.testing import CliRunner

import resstream as rs
from resstream.campaign import Store, campaign, merge, report
from resstream.campaign.report import page, summary, text
from resstream.campaign.run import Status, _Campaign
from resstream.campaign.store import FILE, key_of
from resstream.campaign.strategy import Standing, choose, equal, region_of
from resstream.claim import Instance, at_least, claim
from resstream.cli import app
from resstream.cli.campaign import line_of
from resstream.domains import Whole
from resstream.errors import ResstreamError
from resstream.workers import Here

NAMES = ("contraction.diameter", "contraction.mean_token")
SECOND = 1 / 3600


def searched(store, chunks, names=NAMES, seed=0):
    """A campaign of so many chunks in this process."""

    class Enough(Exception):
        pass

    def count(status):
        if status.chunks >= chunks:
            raise Enough

    claims = {key_of(rs.lookup(name)): rs.lookup(name) for name in names}
    with Store(store) as kept, contextlib.suppress(Enough):
        _Campaign(kept, claims, seed, 3600.0, count).run(Here())
    return report(store)


def by_id(data):
    return {one["id"]: one for one in data["claims"]}


def counted(store):
    with Store(store, create=False) as kept:
        return {
            tuple(row[name] for name in ("claim", "engine", "number", "seed")): (row["evaluations"], row["margin"])
            for row in kept.rows("SELECT * FROM chunks")
        }


# ---- the store --------------------------------------------------------------


def test_a_campaign_goes_on_and_does_no_chunk_twice(tmp_path):
    first = searched(tmp_path / "a", 4)
    second = searched(tmp_path / "a", 4)
    assert [one["chunks"] for one in (first, second)] == [4, 8]
    assert len(second["sessions"]) == 2
    whole = searched(tmp_path / "b", 8)
    assert counted(tmp_path / "a") == counted(tmp_path / "b")  # chunks are pure, and so is where they go
    assert by_id(second)["contraction.mean_token"]["status"] == "refuted"
    assert by_id(second)["contraction.mean_token"]["as expected"]
    assert by_id(second)["contraction.diameter"]["status"] == "open"
    assert by_id(whole)["contraction.diameter"]["evaluations"] > 0


def test_a_violation_is_shrunk_kept_and_replayed_by_a_later_session(tmp_path):
    found = searched(tmp_path / "a", 2, ("contraction.mean_token",))
    assert found["claims"][0]["status"] == "refuted"
    if found["claims"][0]["text"] is None:  # broken off before it was shrunk
        assert "not shrunk yet" in text(found)
        found = searched(tmp_path / "a", 9, ("contraction.mean_token",))
    (one,) = found["claims"]
    assert one["chunks"] == 1
    assert "is refuted" in one["text"]
    assert one["counterexample"]["lhs"] == "3/4"
    (tmp_path / "found.json").write_text(json.dumps(one["counterexample"]))
    assert CliRunner().invoke(app, ["replay", str(tmp_path / "found.json")]).exit_code == 1


LOOP = """
    import sys
    from resstream.campaign import campaign

    def told(status):
        print(status.chunks, flush=True)

    campaign(["contraction.diameter"], 1.0, sys.argv[1], progress=told)
"""


def test_a_killed_campaign_loses_no_finished_chunk_and_leaves_no_worker(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(LOOP), "store"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    finished = 0
    while finished < 6:
        finished = int(process.stdout.readline())
    with pytest.raises(ResstreamError, match="another campaign is at work"):
        campaign(["contraction.diameter"], SECOND, tmp_path / "store")
    assert report(tmp_path / "store")["chunks"] >= 6  # it can be read meanwhile
    process.kill()
    rest = process.stdout.read().split()  # ends when nobody holds the pipe any more: its worker neither
    process.stdout.close()
    process.wait()
    finished = int(rest[-1]) if rest else finished
    assert report(tmp_path / "store")["chunks"] in (finished, finished + 1)
    again = searched(tmp_path / "store", 2, ("contraction.diameter",))
    assert again["chunks"] >= finished + 2


def test_two_stores_are_merged(tmp_path):
    searched(tmp_path / "a", 5)
    searched(tmp_path / "b", 3)
    searched(tmp_path / "c", 3, seed=7)
    chunks = counted(tmp_path / "a") | counted(tmp_path / "c")
    same = merge(tmp_path / "a", tmp_path / "b")
    assert (same.new, same.common, same.differing) == (0, 3, 0)
    other = merge(tmp_path / "a", tmp_path / "c")
    assert (other.new, other.common) == (len(chunks) - 5, 0)
    assert counted(tmp_path / "a") == chunks
    assert len(report(tmp_path / "a")["sessions"]) == 3
    with sqlite3.connect(tmp_path / "b" / FILE) as database:
        database.execute("UPDATE chunks SET evaluations = 0")
    database.close()
    assert merge(tmp_path / "a", tmp_path / "b").differing == 3
    with pytest.raises(ResstreamError, match="expected another store"):
        merge(tmp_path / "a", tmp_path / "a")


def test_a_claim_that_was_changed_is_another_claim():
    claim = rs.lookup("contraction.diameter")
    other = claim.replace(rhs=lambda rhs: 2 * rhs, id=claim.id)
    assert key_of(other) != key_of(claim) == key_of(rs.lookup(claim.id))


# ---- what is given ----------------------------------------------------------


@pytest.mark.parametrize("hours", [0, -1, float("nan"), float("inf"), 1e9])
def test_hours_that_are_none(tmp_path, hours):
    with pytest.raises(ResstreamError, match="hours: expected a number above 0"):
        campaign(NAMES, hours, tmp_path / "a")
    assert not (tmp_path / "a").exists()
    done = CliRunner().invoke(app, ["campaign", "contraction", "--hours", str(hours), "--store", str(tmp_path / "a")])
    assert isinstance(done.exception, ResstreamError)


def test_stores_that_are_none(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ResstreamError, match=r"--store .*file: expected a directory"):
        campaign(NAMES, SECOND, tmp_path / "file")
    with pytest.raises(ResstreamError, match=r"expected the store of a campaign, and there is no campaign\.sqlite"):
        report(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(ResstreamError, match=r"claim 'contraction\.nothing'|contraction\.nothing"):
        campaign(["contraction.nothing"], SECOND, tmp_path / "unknown")
    assert not (tmp_path / "unknown").exists()
    searched(tmp_path / "good", 2)
    broken = "no store of a campaign, or a broken one"
    for name, spoil, reason in (
        ("foreign", lambda path: path.write_bytes(b"SQLite it is not" * 300), broken),
        ("cut", lambda path: os.truncate(path, 5000), broken),
        ("later", later, "its version is 99, expected 2"),
        ("empty", emptied, f"{broken}: no such table"),
    ):
        (tmp_path / name).mkdir()
        path = tmp_path / name / FILE
        path.write_bytes((tmp_path / "good" / FILE).read_bytes())
        spoil(path)
        for ask in (lambda where: campaign(NAMES, SECOND, where), report):
            with pytest.raises(ResstreamError, match=reason):
                ask(tmp_path / name)


def later(path):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def emptied(path):
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE misses")
    database.close()


# ---- where time goes --------------------------------------------------------


def standings(**seen):
    found = {key: Standing() for key in seen}
    for key, chunks in seen.items():
        for margin, region, seconds in chunks:
            found[key].saw(margin, region, seconds)
    return found


def played(given, strategy, chunks):
    """How many of the next chunks each claim has, where all go on as they did."""
    count = dict.fromkeys(given, 0)
    for number in range(chunks):
        key = strategy(given.items())
        count[key] += 1
        new = key == "moving"
        given[key].saw(0.5, f"n={number} {key}" if new else "n=2 1e-1", given[key].cost)
    return count


def test_time_goes_where_something_new_is_seen_and_nothing_is_given_up():
    still = [(0.5, "n=2 1e-1", 1.0)] * 40
    moving = [(0.5, f"n={k}", 1.0) for k in range(40)]
    assert played(standings(still=still, moving=moving), equal, 100) == {"still": 50, "moving": 50}
    shares = played(standings(still=still, moving=moving), choose, 400)
    assert shares["still"] > 0
    assert shares["moving"] > 2 * shares["still"]


def test_what_is_new_comes_first_what_is_dear_has_fewer_chunks_and_what_is_under_way_counts():
    given = standings(cheap=[(0.5, "a", 0.1)] * 3, dear=[(0.5, "a", 10.0)] * 3, new=[])
    assert choose(given.items()) == "new"
    given["new"].pending = 1
    del given["new"]
    assert choose(given.items()) == "cheap"
    given["cheap"].pending = 1000
    assert choose(given.items()) == "dear"
    assert choose({}.items()) is None
    assert equal({}.items()) is None


def test_a_standing_counts_regions_and_falls():
    one = Standing()
    assert one.saw(0.5, "n=2 1e-1", 1.0)  # the first region
    assert not one.saw(0.5, "n=2 1e-1", 1.0)
    assert not one.saw(0.499, "n=2 1e-1", 1.0)  # by less than a hundredth
    assert one.saw(0.4, "n=2 1e-1", 1.0)
    assert one.saw(0.4, "n=3 1e-1", 1.0)
    assert not one.saw(None, "", 1.0)
    assert (one.best, one.chunks, one.seconds, one.cost) == (0.4, 6, 6.0, 1.0)
    assert region_of(Instance({"n": 2}, {"norm": "l1"}, {}), 0.02) == "n=2 norm=l1 1e-2"
    assert region_of(Instance({"n": 2}, {}, {}), 0.0) == "n=2 0"
    assert region_of(None, 1.0) == ""


def test_a_claim_whose_chunks_are_lost_is_set_aside(tmp_path):
    claim = rs.lookup("contraction.diameter")
    with Store(tmp_path / "a") as kept:
        running = _Campaign(kept, {key_of(claim): claim}, 0, 3600.0, lambda _: None)
        tasks = running._tasks()
        for number in range(2):
            next(tasks)
            running._was_lost(number)
        assert next(tasks, None) is None
        assert running.standings[key_of(claim)].pending == 0


# ---- what is said -----------------------------------------------------------


def test_reports_say_what_is_there(tmp_path):
    data = searched(tmp_path / "a", 5)
    assert json.loads(json.dumps(data)) == data
    diameter = by_id(data)["contraction.diameter"]
    chunks = [one for key, one in counted(tmp_path / "a").items() if "diameter#" in key[0]]
    assert diameter["evaluations"] == sum(evaluations for evaluations, _ in chunks)
    assert 1 <= len(diameter["nearest misses"]) <= 4
    assert [miss["margin"] for miss in diameter["nearest misses"]] == sorted(
        miss["margin"] for miss in diameter["nearest misses"]
    )
    last = data["progress"][-1]
    assert (last["chunks"], last["refuted"], last["evaluations"]) == (5, 1, data["evaluations"])
    seconds = [point["seconds"] for point in data["progress"]]
    assert seconds == sorted(seconds)
    said = text(data)
    assert "2 claims: 1 refuted, 1 open, 0 raised. 5 chunks" in said
    assert "it is no proof" in said
    shown = page(data)
    assert shown.count("<svg") == 3
    assert "contraction.mean_token" in shown
    assert "http" not in shown.replace("http://www.w3.org", "")


@claim("trial.few", over={"k": Whole(-20, 20)})
def few(k):
    """Of 41 numbers the square is at least the number."""
    return at_least(k * k, k)


def test_a_claim_of_which_each_instance_was_judged_is_not_called_open(tmp_path):
    def status(claim, store):
        campaign([claim], hours=0.05, store=store)
        (one,) = report(store)["claims"]
        return one["status"], one["as expected"], summary(report(store))

    called, expected, said = status(few, tmp_path / "a")
    assert (called, expected) == ("judged", True)
    assert "1 claims: 0 refuted, 1 judged at each of their instances, 0 open" in said
    without_a_value = few.replace(conclusion=lambda k: at_least(1 / k, -1), id="trial.open")
    assert status(without_a_value, tmp_path / "b")[0] == "open"  # at 0


def test_one_piece_that_is_missing_leaves_a_claim_open(tmp_path):
    campaign([few], hours=0.05, store=tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "campaign.sqlite")) as database:
        database.execute("DELETE FROM chunks WHERE number = 1")
        database.commit()
    assert [one["status"] for one in report(tmp_path)["claims"]] == ["open"]


def test_the_command_searches_reports_and_merges(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    done = run(app, ["campaign", "contraction.mean_token", "--hours", "0.01", "--store", "a", "--workers", "1"])
    assert (done.exit_code, done.exception) == (0, None)  # as expected, and over long before the time is up
    assert "1 claims: 1 refuted, 0 open" in done.stdout
    assert "is refuted" in run(app, ["campaign", "report", "a", "--html", "a.html"]).stdout
    assert "Counterexamples" in (tmp_path / "a.html").read_text()
    assert json.loads(run(app, ["campaign", "report", "a", "--json"]).stdout)["claims"][0]["status"] == "refuted"
    assert "1 chunks were new" in run(app, ["campaign", "merge", "b", "a"]).stdout
    (tmp_path / "claims_mine.py").write_text(textwrap.dedent(WRONG))
    done = run(app, ["campaign", "claims_mine.py", "--hours", "0.01", "--store", "c", "--workers", "1"])
    assert done.exit_code == 1
    assert "not as expected: mine.wrong" in done.stdout


WRONG = """
    import resstream as rs

    @rs.claim("mine.wrong", over={"A": rs.domains.RowStochastic("n")})
    def wrong(A):
        return rs.at_least(rs.reference.dobrushin(A) * rs.reference.dobrushin(A), rs.reference.dobrushin(A))
"""


def test_the_status_line_has_rate_margin_and_time_left():
    status = Status(12, 24_000, 10.0, 3599.6, 1, 3, 1.5e-5, "mine.claim")
    assert line_of(status) == (
        "12 chunks, 2,400 evaluations/s, 1 refuted, 3 open, best margin 1.5e-05 (mine.claim), 1:00:00 left"
    )
    assert "no margin yet" in line_of(dataclasses.replace(status, best_of=""))
