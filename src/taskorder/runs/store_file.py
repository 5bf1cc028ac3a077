"""The SQLite file of a store: opening it, bringing older versions up to date, and every error it can give.

SQLite notices damage to the structure of its file, which is checked when a store is opened, but not to what its rows
say: every row has a checksum (runs/checksums.py).

SQLite's rollback journal is kept, not its write-ahead log: commits come seconds apart, so readers hardly ever wait,
and a store at rest is one file that can be copied. Writers take their lock before they read, so that waiting for
another process never turns into a deadlock.
"""

from __future__ import annotations

import functools
import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from taskorder.arguments import BadArgument
from taskorder.parsing import json_values
from taskorder.runs.checksums import CHECKED, add_functions, checksum_in_sql

VERSION = 3
"""Version of the file, in its `user_version`; stores of version 1 wrote no number."""
FIRST = """
create table results (
  digest text primary key, kind text not null, params text not null, result text not null,
  seconds real not null, version text not null
) without rowid
"""
SECOND = (
    "alter table results add column inputs text not null default ''",
    "alter table results add column device text not null default ''",
    "alter table results add column finished text not null default ''",
    "create table failures (digest text primary key, kind text not null, params text not null, error text not null, "
    "failed text not null, version text not null, device text not null) without rowid",
    "create table requests (name text not null, config text primary key, digests text not null)",
)
THIRD = tuple(
    statement
    for table in CHECKED
    for statement in (
        f"alter table {table} add column checksum text not null default ''",
        f"update {table} set checksum = {checksum_in_sql(table)}",
    )
)
"""The rows of older versions are taken as they are; from now on they cannot change unnoticed."""
UPGRADES = (FIRST,), SECOND, THIRD
STATISTICS = "CREATE TABLE sqlite_stat1(tbl,idx,stat)"
"""What SQLite adds where somebody asks it to look at a store."""
MOUNTS = Path("/proc/self/mountinfo")
"""Linux tells there what is mounted."""
WAIT_SECONDS = 60.0
"""How long a process waits for another one that writes."""


class StoreError(BadArgument):
    """The file cannot be read or written; finished runs in it are untouched."""


class DamagedStore(StoreError):
    """What is in the file is not what was written."""


class StoreFile:
    """An open SQLite file of the current version; in memory without a path."""

    def __init__(self, path: str | Path | None = None, *, create: bool = True) -> None:
        self.path = None if path is None else Path(path)
        self.real_path = None if path is None else Path(os.path.realpath(path))
        """The file that is meant, whatever links lead to it and whatever becomes of the working folder."""
        self._create = create
        where = ":memory:"
        try:
            if self.path is not None:
                if not create and not self.path.exists():
                    raise BadArgument(
                        f"`store` must be an existing file, got {path}. Make one with: taskorder run CONFIG.toml"
                    )
                assert self.real_path is not None
                self.real_path.parent.mkdir(parents=True, exist_ok=True)
                where = f"{self.real_path.as_uri()}?mode={'rwc' if create else 'rw'}"
            self._db = open_database(where)
        except (sqlite3.Error, OSError) as problem:
            raise self._refusal(problem) from None
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        """Make the tables, or bring an older file up to date."""
        if self._create and self.real_path is not None and self.real_path.exists():
            self._refuse_other_names()
        with self._guard():
            if self._version() <= VERSION:
                self._check_schema()
                self._check_structure()
            if self._version() == VERSION:
                return
        with self._writing():
            version = self._version()
            tables = {row[0] for row in self._db.execute("select name from sqlite_master where type = 'table'")}
            if version > VERSION:
                raise StoreError(
                    f"`store` must be of version {VERSION} or older, got {self.path} of version {version}. "
                    "A newer taskorder made it: update this one."
                )
            if not tables and not self._create:
                raise self._refusal("it is empty")
            if version < VERSION:  # another process may have been faster
                for step in UPGRADES[max(version, bool(tables)) :]:
                    for statement in step:
                        self._db.execute(statement)
                self._db.execute(f"pragma user_version = {VERSION}")

    def _check_schema(self) -> None:
        """Refuse tables that are not ours: a view, a computed column or a check may take any time and memory."""
        found = schema_of(self._db)
        if found and found not in our_schemas():
            tables = {name for (name,) in self._db.execute("select name from sqlite_master where type = 'table'")}
            got = "other tables in" if "results" in tables else "another database:"
            raise StoreError(f"`store` must be a file that taskorder made, got {got} {self.path}.")

    def _check_structure(self) -> None:
        """Refuse a file in which rows are lost or out of place: what its pages hold must be all that they can hold."""
        found = self._db.execute("pragma quick_check(1)").fetchall()
        if found != [("ok",)]:
            raise self._damage(" ".join(str(found[0][0]).split()))

    def _refuse_other_names(self) -> None:
        """Refuse to write to one of several names of a file: SQLite and we keep a journal and locks beside the name."""
        assert self.real_path is not None
        several = "" if os.stat(self.real_path).st_nlink < 2 else "which has hard links"
        if several := several or ("which is mounted by itself" if is_mount(self.real_path) else ""):
            raise StoreError(
                f"`store` must be a file with one name to be written to, got {self.path}, {several}. "
                "Use its folder, a symbolic link or a copy."
            )

    def _version(self) -> int:
        return int(self._db.execute("pragma user_version").fetchone()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._guard():
            return self._db.execute(query, values).fetchall()

    def _parsed(self, text: Any, kind: type = dict) -> Any:
        """The JSON object or list in a cell; SQLite lets any cell hold anything."""
        try:
            value = json_values(text) if isinstance(text, str | bytes) else None
        except ValueError:
            value = None
        if not isinstance(value, kind):
            raise StoreError(f"`store` must hold JSON values, got {self.path} with others: it is damaged.")
        return value

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All of it or nothing."""
        if not self._create and self.real_path is not None:  # to repair, or bring up to date
            self._refuse_other_names()
        with self._guard():
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            finally:
                if self._db.in_transaction:
                    self._db.execute("rollback")

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as problem:  # SQLite may quote what is no text
            if getattr(problem, "sqlite_errorname", "").startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE")):
                raise StoreError(
                    f"`store` must have room to grow, got {self.path}: {problem}. What is finished is kept: make room."
                ) from None
            raise self._refusal(problem) from None

    def _damage(self, problem: object) -> DamagedStore:
        """What has changed since it was written, and what to do."""
        fix = f"Drop what is damaged with: taskorder repair {shlex.quote(str(self.path))}"
        return DamagedStore(
            f"`store` must be as it was written, got {self.path}, which is damaged: {problem}. {fix}, "
            "then do it again with the command that made the store."
        )

    def _refusal(self, problem: object) -> StoreError:
        """Why the file does not do; who only reads needs another file, or leave to bring an old one up to date."""
        name = getattr(problem, "sqlite_errorname", "")
        if name.startswith("SQLITE_CORRUPT"):
            return self._damage(problem)
        if self._create:
            return StoreError(f"`store` must be a writable SQLite file, got {self.path}: {problem}.")
        if name.startswith("SQLITE_READONLY"):
            return StoreError(
                f"`store` must be writable once, for an older version made it, got {self.path}: {problem}. "
                "Copy it to a folder of yours."
            )
        return StoreError(
            f"`store` must be a store that `taskorder run` made, got {self.path}: {problem}. "
            "Name that file, like results/quick.sqlite."
        )


def open_database(where: str) -> sqlite3.Connection:
    """An SQLite database that knows checksums, and shows the text in damaged cells as far as it is text."""
    db = sqlite3.connect(where, timeout=WAIT_SECONDS, isolation_level=None, uri=True)
    add_functions(db)
    db.text_factory = lambda data: data.decode(errors="replace")
    return db


def schema_of(db: sqlite3.Connection) -> frozenset[str]:
    """All that a database was told to make, without the layout of the statements."""
    rows = db.execute("select sql from sqlite_master where sql is not null and sql != ?", (STATISTICS,))
    return frozenset(" ".join(statement.split()) for (statement,) in rows)


@functools.cache
def our_schemas() -> tuple[frozenset[str], ...]:
    """That of a store of each version."""
    with closing(open_database(":memory:")) as db:
        schemas = []
        for step in UPGRADES:
            for statement in step:
                db.execute(statement)
            schemas.append(schema_of(db))
    return tuple(schemas)


def is_mount(path: Path) -> bool:
    """Whether a file, not only its folder, is mounted from elsewhere; where that cannot be told it is not."""
    try:
        mounts = MOUNTS.read_bytes().split(b"\n")
    except OSError:
        return False
    return os.fsencode(path) in (line.split()[4].decode("unicode_escape").encode("latin-1") for line in mounts if line)


@contextmanager
def scratch(schema: str) -> Iterator[sqlite3.Connection]:
    """A database for the time of the block, on disk where it is large, for what memory should not have to hold."""
    db = sqlite3.connect("", isolation_level=None)
    try:
        for statement in ("pragma journal_mode = off", "begin", schema):
            db.execute(statement)
        yield db
    except sqlite3.Error as problem:
        raise StoreError(f"The folder for temporary files must have room, got: {problem}. Set TMPDIR to one.") from None
    finally:
        db.close()
