"""Dropping what is damaged in a store, so that the rest can be read again.

Rows that are not what was written are deleted. Where the structure of the file is damaged, what can be read of it is
written to a new one that takes its place, and the old one is kept beside it as STORE.damaged.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from taskorder.files import whole_file
from taskorder.runs.checksums import CHECKED, checksum_in_sql, intact
from taskorder.runs.locks import locked_elsewhere
from taskorder.runs.store import Store
from taskorder.runs.store_file import DamagedStore, StoreError, open_database


class Repaired(NamedTuple):
    """What `repair` kept and dropped."""

    kept: int
    """How many finished runs there are."""
    dropped: tuple[str, ...]
    """The rows that were deleted, by set and seed where these can be read."""
    damaged: Path | None
    """The old file, where a new one took its place: nobody can tell what was in the parts that cannot be read."""


def repair(path: str | Path) -> Repaired:
    """Drop what is damaged in a store and keep the rest.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from taskorder.runs.specs import RunSpec
    >>> specs = [RunSpec("neural.orders.2", {"set": number, "seed": 0}) for number in range(3)]
    >>> with TemporaryDirectory() as folder:
    ...     with Store(f"{folder}/s") as store:
    ...         store.put(specs, [{"y": number} for number in range(3)], seconds=0.1)
    ...     data = Path(f"{folder}/s").read_bytes()
    ...     _ = Path(f"{folder}/s").write_bytes(data.replace(b'{"y": 1}', b'{"y": 7}'))
    ...     repair(f"{folder}/s")
    Repaired(kept=2, dropped=('set 1, seed 0',), damaged=None)
    """
    try:
        with Store(path, create=False) as store:
            dropped = tuple(store.drop_damaged())
            return Repaired(store.count(), dropped, None)
    except DamagedStore:
        return _rebuilt(Path(os.path.realpath(path)))


def _rebuilt(path: Path) -> Repaired:
    """Write what can be read to a new file."""
    damaged = path.with_name(f"{path.name}.damaged")
    if damaged.exists():
        raise StoreError(f"`store` must not have been repaired before, got {damaged}. Move that file elsewhere.")
    try:
        with closing(open_database(f"{path.as_uri()}?mode=ro")) as old, whole_file(path) as part:
            _as_now(old)
            with Store(part) as new:
                for table in CHECKED:
                    new.take(table, _rows(old, table))
                requested = {digest for request in new.requests() for digest in new.digests(request)}
                new.take("results", (row for digest in requested for row in _looked_up(old, digest)))
                kept = new.count()
            if not kept:
                raise StoreError(f"`store` must hold runs that can be read, got none in {path}. Restore a copy of it.")
            if locked_elsewhere(path, requested):
                raise StoreError(f"`store` must not be in use while it is repaired, got {path}. End what runs first.")
            shutil.copy2(path, damaged)
    except OSError as problem:
        raise StoreError(f"`store` must be in a folder with room for a new file, got {path}: {problem}.") from None
    return Repaired(kept, (), damaged)


def _as_now(db: sqlite3.Connection) -> None:
    """Have a store of an older version read like one of this: what it does not hold is empty, and its rows are taken as
    they are."""
    with suppress(sqlite3.DatabaseError):
        for table, columns in CHECKED.items():
            held = {name for (name,) in db.execute(f"select name from pragma_table_info('{table}')")}
            if not held or "checksum" in held:
                continue
            cells = [column if column in held else f"'' as {column}" for column in columns]
            cells += ["rowid"] if table == "requests" else []
            inside = f"select {', '.join(cells)} from main.{table}"
            db.execute(f"create temp view {table} as select *, {checksum_in_sql(table)} as checksum from ({inside})")


def _rows(db: sqlite3.Connection, table: str) -> Iterator[tuple[object, ...]]:
    """All intact rows that are before the first damaged page, or after the last one."""
    key = "rowid" if table == "requests" else "digest"
    for way in ("asc", "desc"):
        with suppress(sqlite3.DatabaseError):
            yield from db.execute(f"select {_columns(table)} from {table} where {intact(table)} order by {key} {way}")


def _looked_up(db: sqlite3.Connection, digest: str) -> list[tuple[object, ...]]:
    """The row of a run between damaged pages, where its own is none."""
    with suppress(sqlite3.DatabaseError):
        ask = f"select {_columns('results')} from results where digest = ? and {intact('results')}"
        return db.execute(ask, (digest,)).fetchall()
    return []


def _columns(table: str) -> str:
    return ", ".join((*CHECKED[table], "checksum"))
