"""Finished runs, kept in one SQLite file: put, get, missing.

A result is one committed row, keyed by the digest of its spec: what is in the file is finished, and running again does
only what is missing. Any number of processes may share a file; the first to finish a spec wins. A failed spec leaves
its error instead, until it succeeds.

SQLite's rollback journal is kept, not its write-ahead log: commits come seconds apart, so readers hardly ever wait,
and a store at rest is one file that can be copied. Writers take their lock before they read, so that waiting for
another process never turns into a deadlock.

The file is past 350 lines because every statement that touches a store, and every way it can be refused, is here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any, NamedTuple

from taskorder._version import __version__
from taskorder.runs.specs import RunSpec

SCHEMA = 2
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
ENTRY = (
    "cast(kind as text), params, cast(seconds as real), cast(version as text), cast(inputs as text), "
    "cast(device as text), cast(finished as text), "
    "cast(coalesce(json_extract(result, '$.network_steps'), 0) as integer)"
)
PAGE = 1000
"""Rows that are read at a time: writers wait for so many at most."""
PIECE = 2**16
"""Bytes of a list of digests that are read or written at a time."""
WAIT_SECONDS = 60.0
"""How long a process waits for another one that writes."""


class StoreError(ValueError):
    """The file cannot be read or written; finished runs in it are untouched."""


class Entry(NamedTuple):
    """A finished run, without its result."""

    digest: str
    kind: str
    params: dict[str, Any]
    seconds: float
    version: str
    inputs: str
    """Digest of the data that it was made from; empty where the spec says everything."""
    device: str
    finished: str
    """UTC, ISO 8601."""
    network_steps: int


class Failure(NamedTuple):
    """A run that ended in an error."""

    digest: str
    kind: str
    params: dict[str, Any]
    error: str
    failed: str
    """UTC, ISO 8601."""


class Request(NamedTuple):
    """What somebody asked for."""

    name: str
    config: dict[str, Any]
    place: int
    """Its row in the file, for `Store.digests`."""


class Store:
    """Results by spec; `path=None` keeps them in memory, `create=False` wants a store that is there."""

    def __init__(self, path: str | Path | None = None, *, create: bool = True) -> None:
        self.path = None if path is None else Path(path)
        self._create = create
        where = ":memory:"
        try:
            if self.path is not None:
                if not create and not self.path.exists():
                    raise ValueError(
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
            if self._version() == SCHEMA:
                return
        with self._writing():
            version = self._version()
            tables = {row[0] for row in self._db.execute("select name from sqlite_master where type = 'table'")}
            if version > SCHEMA:
                raise StoreError(
                    f"`store` must be of version {SCHEMA} or older, got {self.path} of version {version}. "
                    "A newer taskorder made it: update this one."
                )
            if tables and "results" not in tables:
                raise StoreError(f"`store` must be a file that taskorder made, got another database: {self.path}.")
            if not tables and not self._create:
                raise self._refusal("it is empty")
            if version < SCHEMA:  # another process may have been faster
                for statement in (*([] if tables else [FIRST]), *SECOND, f"pragma user_version = {SCHEMA}"):
                    self._db.execute(statement)

    def _version(self) -> int:
        return int(self._db.execute("pragma user_version").fetchone()[0])

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def put(
        self,
        specs: Sequence[RunSpec],
        results: Sequence[Mapping[str, Any]],
        seconds: float,
        *,
        inputs: str = "",
        device: str = "",
    ) -> None:
        """Keep the results of a batch that took `seconds`, all in one transaction."""
        rest = seconds / max(len(specs), 1), __version__, inputs, device, _now()
        rows = [
            (spec.digest, spec.kind, _text(spec.params), _text(result), *rest)
            for spec, result in zip(specs, results, strict=True)
        ]
        with self._writing():
            self._db.executemany("insert or ignore into results values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("delete from failures where digest = ?", [row[:1] for row in rows])

    def fail(self, spec: RunSpec, error: str, *, device: str = "") -> None:
        """Keep why a spec has no result."""
        row = spec.digest, spec.kind, _text(spec.params), error, _now(), __version__, device
        with self._writing():
            self._db.execute("insert or replace into failures values (?, ?, ?, ?, ?, ?, ?)", row)

    def request(self, name: str, config: Mapping[str, Any], specs: Sequence[RunSpec]) -> None:
        """Keep what was asked for, so that anybody can see how much of it is done.

        The digests are a JSON list that is written piece by piece, for there may be millions; they are made before the
        file is locked, for that takes minutes then.
        """
        with SpooledTemporaryFile(PIECE) as draft:
            for number, spec in enumerate(specs):
                draft.write(f'{", " if number else "["}"{spec.digest}"'.encode())
            draft.write(b"]" if specs else b"[]")
            row = name, _text(config), draft.tell()
            draft.seek(0)
            with self._writing():
                place = self._db.execute("insert or replace into requests values (?, ?, zeroblob(?))", row).lastrowid
                assert place is not None
                with self._db.blobopen("requests", "digests", place) as paper:
                    while piece := draft.read(PIECE):
                        paper.write(piece)

    def forget(self, specs: Iterable[RunSpec]) -> None:
        """Drop what is known of `specs`, so that they are run anew."""
        digests = [(spec.digest,) for spec in specs]
        with self._writing():
            for table in ("results", "failures"):
                self._db.executemany(f"delete from {table} where digest = ?", digests)

    def get(self, specs: Iterable[RunSpec]) -> list[dict[str, Any] | None]:
        """The result of each spec, None where it is missing."""
        return [self.result(spec.digest) for spec in specs]

    def result(self, digest: str) -> dict[str, Any] | None:
        """The result of the spec with that digest, None where it is missing."""
        rows = self._read("select result from results where digest = ?", digest)
        return self._parsed(rows[0][0]) if rows else None

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """The specs that have no result yet, in their order."""
        ask = "select 1 from results where digest = ?"
        with self._guard():
            return [spec for spec in specs if self._db.execute(ask, (spec.digest,)).fetchone() is None]

    def inputs(self, specs: Iterable[RunSpec]) -> set[str]:
        """Digests of the data that the results of `specs` were made from."""
        ask = "select inputs from results where digest = ?"
        with self._guard():
            return {inputs for spec in specs for (inputs,) in self._db.execute(ask, (spec.digest,))}

    def seconds(self, specs: Iterable[RunSpec]) -> float:
        """What the results of `specs` took, in all."""
        spent = dict(self._read("select digest, seconds from results"))
        return float(sum(spent.get(spec.digest, 0.0) for spec in specs))

    def entry(self, digest: str) -> Entry | None:
        """What is known of the finished run with that digest, None where it is missing."""
        rows = self._read(f"select digest, {ENTRY} from results where digest = ?", digest)
        return self._entry(rows[0]) if rows else None

    def entries(self) -> list[Entry]:
        """All that is finished, without the results."""
        return list(self.each_entry())

    def each_entry(self) -> Iterator[Entry]:
        """The same one after the other, for stores that may be large."""
        return map(self._entry, self._paged(ENTRY, "results"))

    def _entry(self, row: Sequence[Any]) -> Entry:
        digest, kind, params, *rest = row
        return Entry(digest, kind, self._parsed(params), *rest)

    def failures(self) -> list[Failure]:
        """All that failed and has no result."""
        return list(self.each_failure())

    def each_failure(self) -> Iterator[Failure]:
        """The same one after the other, for stores that may be large."""
        for digest, kind, params, *rest in self._paged(
            "kind, params, cast(error as text), cast(failed as text)", "failures"
        ):
            yield Failure(digest, kind, self._parsed(params), *rest)

    def requests(self) -> list[Request]:
        """All that was asked for, the latest last."""
        rows = self._read("select cast(name as text), config, rowid from requests order by rowid")
        return [Request(name, self._parsed(config), place) for name, config, place in rows]

    def digests(self, request: Request) -> Iterator[str]:
        """Those of all specs that were asked for, one after the other; none where it was asked again meanwhile."""
        with self._guard():
            if not self._db.execute("select 1 from requests where rowid = ?", (request.place,)).fetchone():
                return
            with self._db.blobopen("requests", "digests", request.place, readonly=True) as paper:
                left = b""
                while piece := paper.read(PIECE):
                    whole, comma, left = (left + piece).rpartition(b",")
                    if comma:
                        yield from self._listed(whole.removeprefix(b"[") + b"]")
                yield from self._listed(left.removeprefix(b"["))

    def _listed(self, text: bytes) -> list[str]:
        """The digests in the rest of a JSON list."""
        found = self._parsed(b"[" + text, list)
        if not all(isinstance(digest, str) and digest.isascii() for digest in found):
            raise StoreError(f"`store` must list its specs by digest, got {self.path} with others: it is damaged.")
        return list(found)

    def _paged(self, columns: str, table: str) -> Iterator[Any]:
        """Rows by digest; no lock is held and no more than a page is in memory while the caller works with them."""
        query = f"select digest, {columns} from {table}"
        page = self._read(f"{query} order by digest limit {PAGE}")
        while page:
            yield from page
            last = page[-1][0]
            page = self._read(f"{query} where digest > ? order by digest limit {PAGE}", last)
            if page and (isinstance(page[-1][0], bytes), page[-1][0]) <= (isinstance(last, bytes), last):
                raise StoreError(f"`store` must be in order, got {self.path} with rows that are not: it is damaged.")

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._guard():
            return self._db.execute(query, values).fetchall()

    def _parsed(self, text: Any, kind: type = dict) -> Any:
        """The JSON object or list in a cell; SQLite lets any cell hold anything."""
        try:
            found = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            found = None
        if not isinstance(found, kind):
            raise StoreError(f"`store` must hold JSON values, got {self.path} with others: it is damaged.")
        return found

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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _text(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except ValueError:
        raise ValueError("A result must hold finite numbers, got NaN or infinity: the run has diverged.") from None


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
