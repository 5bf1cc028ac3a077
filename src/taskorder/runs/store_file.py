"""The SQLite file of a store: opening it, bringing older versions up to date, and every error it can give.

SQLite's rollback journal is kept, not its write-ahead log: commits come seconds apart, so readers hardly ever wait,
and a store at rest is one file that can be copied. Writers take their lock before they read, so that waiting for
another process never turns into a deadlock.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from taskorder.arguments import BadArgument

VERSION = 2
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
WAIT_SECONDS = 60.0
"""How long a process waits for another one that writes."""


class StoreError(BadArgument):
    """The file cannot be read or written; finished runs in it are untouched."""


class StoreFile:
    """An open SQLite file of the current version; in memory without a path."""

    def __init__(self, path: str | Path | None = None, *, create: bool = True) -> None:
        self.path = None if path is None else Path(path)
        self._create = create
        where = ":memory:"
        try:
            if self.path is not None:
                if not create and not self.path.exists():
                    raise BadArgument(
                        f"`store` must be an existing file, got {path}. Make one with: taskorder run CONFIG.toml"
                    )
                self.path.parent.mkdir(parents=True, exist_ok=True)
                where = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
            self._db = sqlite3.connect(where, timeout=WAIT_SECONDS, isolation_level=None, uri=True)
        except (sqlite3.Error, OSError) as problem:
            raise self._refusal(problem) from None
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        """Make the tables, or bring an older file up to date."""
        with self._guard():
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
            if tables and "results" not in tables:
                raise StoreError(f"`store` must be a file that taskorder made, got another database: {self.path}.")
            if not tables and not self._create:
                raise self._refusal("it is empty")
            if version < VERSION:  # another process may have been faster
                for statement in (*([] if tables else [FIRST]), *SECOND, f"pragma user_version = {VERSION}"):
                    self._db.execute(statement)

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
            value = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            value = None
        if not isinstance(value, kind):
            raise StoreError(f"`store` must hold JSON values, got {self.path} with others: it is damaged.")
        return value

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All of it or nothing."""
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

    def _refusal(self, problem: object) -> StoreError:
        """Why the file does not do; who only reads needs another file, or leave to bring an old one up to date."""
        if self._create:
            return StoreError(f"`store` must be a writable SQLite file, got {self.path}: {problem}.")
        if getattr(problem, "sqlite_errorname", "").startswith("SQLITE_READONLY"):
            return StoreError(
                f"`store` must be writable once, for an older version made it, got {self.path}: {problem}. "
                "Copy it to a folder of yours."
            )
        return StoreError(
            f"`store` must be a store that `taskorder run` made, got {self.path}: {problem}. "
            "Name that file, like results/quick.sqlite."
        )


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
