"""What a campaign has done, in SQLite: chunks, the nearest misses, counterexamples, and when the campaign ran.

A chunk is in the store as soon as its result is here, in one transaction with what it found, so a process that is
killed loses what it was at and nothing that it had. Claims are told apart by what they state, not by their ids alone:
chunks of a claim that was changed since do not count for it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from resstream.claim import Claim
from resstream.errors import ResstreamError
from resstream.falsify.search import STREAM, exhaustion_plan
from resstream.falsify.variants import origin_of, statement
from resstream.targets import require_directory

FILE = "campaign.sqlite"
FORMAT = 2
"""The version of the tables below, kept as SQLite's user_version."""

MISSES = 4
"""Nearest misses that are kept of a claim."""

TABLES = """
CREATE TABLE claims (key TEXT PRIMARY KEY, id TEXT, expect TEXT, headline TEXT, origin TEXT, pieces INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, started REAL, ended REAL, seed TEXT);
CREATE TABLE chunks (
  claim TEXT, engine TEXT, number INTEGER, seed TEXT, evaluations INTEGER, accepted INTEGER, discarded INTEGER,
  judged INTEGER, acquitted INTEGER, undecided INTEGER, undefined INTEGER, margin REAL, region TEXT, error TEXT,
  seconds REAL, at REAL, session TEXT, PRIMARY KEY (claim, engine, number, seed)) WITHOUT ROWID;
CREATE TABLE misses (claim TEXT, margin REAL, engine TEXT, number INTEGER, seed TEXT, raw TEXT,
  PRIMARY KEY (claim, engine, number, seed)) WITHOUT ROWID;
CREATE TABLE violations (claim TEXT PRIMARY KEY, engine TEXT, number INTEGER, seed TEXT, raw TEXT, at REAL,
  counterexample TEXT, text TEXT) WITHOUT ROWID;
"""

_NATURAL = {
    "claims": ("key",),
    "sessions": ("id",),
    "chunks": ("claim", "engine", "number", "seed"),
    "misses": ("claim", "engine", "number", "seed"),
    "violations": ("claim",),
}
"""The tables, and by what their rows are told apart."""


@dataclass(frozen=True)
class Done:
    """One chunk that was done: whose, which, what it counted, the region that it came nearest in, and when.

    margin: the smallest relative one, None where no instance met the hypotheses. at: seconds since 1970.
    """

    claim: str
    engine: str
    number: int
    seed: str
    evaluations: int
    accepted: int
    discarded: int
    judged: int
    acquitted: int
    undecided: int
    undefined: int
    margin: float | None
    region: str
    error: str
    seconds: float
    at: float
    session: str


@dataclass(frozen=True)
class Merged:
    """What merging has brought: new chunks, those that both had, and those of them that the two counted otherwise.

    >>> Merged(new=2, common=1, differing=0).new
    2
    """

    new: int
    common: int
    differing: int


def key_of(claim: Claim) -> str:
    """What a claim is told apart by: its id, and a digest of what it states."""
    return f"{claim.id}#{hashlib.sha256(statement(claim).encode()).hexdigest()[:16]}"


class Store:
    """The store in a directory; made where there is none, unless `create` forbids it.

    ResstreamError where the directory cannot be had, or holds no store of this version, or a broken one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory, Store(directory) as kept:
    ...     kept.violations()
    {}
    """

    def __init__(self, directory: str | Path, *, create: bool = True) -> None:
        self.directory = require_directory("--store", directory)
        self._file = self.directory / FILE
        if not create and not self._file.is_file():
            raise ResstreamError(f"--store {directory}: expected the store of a campaign, and there is no {FILE}")
        self._lock: IO[bytes] | None = None
        with self._explained():
            self.directory.mkdir(parents=True, exist_ok=True)
            new = not self._file.exists() or self._file.stat().st_size == 0
            self._database = sqlite3.connect(self._file, isolation_level=None)
            if new:
                self._database.executescript(f"BEGIN;{TABLES}PRAGMA user_version = {FORMAT};COMMIT;")
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version != FORMAT:
                self._database.close()
                raise ResstreamError(
                    f"--store {directory}: its version is {version}, expected {FORMAT}: made by another resstream"
                )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")  # the system may crash for it, a process may not
            if (said := self._database.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(said)
            for table in _NATURAL:
                self._database.execute(f"SELECT * FROM {table} LIMIT 1")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite or the system says, as an error of ours."""
        try:
            yield
        except sqlite3.Error as failure:
            raise ResstreamError(
                f"--store {self.directory}: no store of a campaign, or a broken one: {failure}"
            ) from None
        except OSError as failure:
            raise ResstreamError(f"--store {self.directory}: {failure.strerror}") from None

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing

    def claim_it(self) -> None:
        """Let no other campaign work with this store until it is closed; ResstreamError where one does already."""
        try:
            import fcntl
        except ModuleNotFoundError:  # no such lock on this system: two campaigns would do chunks twice, and lose none
            return
        with self._explained():
            self._lock = (self.directory / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResstreamError(f"--store {self.directory}: another campaign is at work with it") from None

    def begin(self, claims: Mapping[str, Claim], seed: int) -> str:
        """A new session over some claims, by their keys; its id."""
        session = uuid4().hex
        with self._written() as write:
            for key, claim in claims.items():
                origin = origin_of(claim)
                stated = json.dumps(asdict(origin)) if origin else ""
                row = (key, claim.id, claim.expect, claim.headline, stated, len(exhaustion_plan(claim, STREAM)))
                write("INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?, ?, ?)", row)
            now = time.time()
            write("INSERT INTO sessions VALUES (?, ?, ?, ?)", (session, now, now, str(seed)))
        return session

    def keep(self, done: Done, raw: Any = None, violating: Any = None) -> None:
        """A chunk, its nearest miss (as JSON data) if it is one of the nearest of its claim, and what violates it."""
        which = (done.engine, done.number, done.seed)
        row = tuple(getattr(done, entry.name) for entry in fields(Done))
        with self._written() as write:
            write(f"INSERT OR REPLACE INTO chunks VALUES ({', '.join('?' * len(row))})", row)
            write("UPDATE sessions SET ended = ? WHERE id = ?", (done.at, done.session))
            if raw is not None and done.margin is not None and violating is None:
                miss = (done.claim, done.margin, *which, json.dumps(raw))
                write("INSERT OR REPLACE INTO misses VALUES (?, ?, ?, ?, ?, ?)", miss)
                _keep_nearest(write, done.claim)
            if violating is not None:
                found = (done.claim, *which, json.dumps(violating), done.at)
                write("INSERT OR IGNORE INTO violations VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)", found)

    def show(self, claim: str, counterexample: Mapping[str, Any], text: str) -> None:
        """The shrunk counterexample of a claim whose violation is here."""
        with self._written() as write:
            shown = (json.dumps(counterexample), text, claim)
            write("UPDATE violations SET counterexample = ?, text = ? WHERE claim = ?", shown)

    def take(self, other: Store) -> Merged:
        """All that another store has; of two counterexamples of a claim the present one stays."""
        before = self._count("SELECT count(*) FROM chunks")
        with self._explained():
            self._database.execute("ATTACH ? AS other", (str(other._file),))
        try:
            same = " AND ".join(f"a.{name} = b.{name}" for name in _NATURAL["chunks"])
            both = f"SELECT count(*) FROM chunks a JOIN other.chunks b ON {same}"
            counts = ("evaluations", "accepted", "judged", "undecided", "margin", "error")
            common = self._count(both)
            differing = self._count(f"{both} WHERE " + " OR ".join(f"a.{name} IS NOT b.{name}" for name in counts))
            with self._written() as write:
                for table in _NATURAL:
                    write(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM other.{table}", ())
                for (claim,) in self._database.execute("SELECT key FROM claims").fetchall():
                    _keep_nearest(write, claim)
        finally:
            with self._explained():
                self._database.execute("DETACH other")
        return Merged(self._count("SELECT count(*) FROM chunks") - before, common, differing)

    @contextmanager
    def _written(self) -> Iterator[Any]:
        with self._explained():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database.execute
            except BaseException:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    # -- reading

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
        """What a query gives, by the names of its columns."""
        with self._explained(), closing(self._database.execute(query, values)) as cursor:
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def _count(self, query: str) -> int:
        with self._explained():
            return int(self._database.execute(query).fetchone()[0])

    def chunks(self, claim: str) -> list[Done]:
        """The chunks of a claim, in the order in which they were done."""
        return [Done(**row) for row in self.rows("SELECT * FROM chunks WHERE claim = ? ORDER BY at", (claim,))]

    def violations(self) -> dict[str, dict[str, Any]]:
        """What violates claims, by their keys."""
        return {row["claim"]: row for row in self.rows("SELECT * FROM violations")}


def _keep_nearest(write: Any, claim: str) -> None:
    which = "engine, number, seed"
    nearest = f"SELECT {which} FROM misses WHERE claim = ? ORDER BY margin, {which} LIMIT {MISSES}"
    write(f"DELETE FROM misses WHERE claim = ? AND ({which}) NOT IN ({nearest})", (claim, claim))


def merge(directory: str | Path, other: str | Path) -> Merged:
    """Put all that is in the store `other` into the one in `directory`, which is made if need be.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as ours, TemporaryDirectory() as theirs:
    ...     Store(theirs).close()
    ...     merge(ours, theirs)
    Merged(new=0, common=0, differing=0)
    """
    with Store(other, create=False) as giver, Store(directory) as taker:
        if giver.directory.resolve() == taker.directory.resolve():
            raise ResstreamError(f"{other}: expected another store than {directory}")
        taker.claim_it()
        return taker.take(giver)
