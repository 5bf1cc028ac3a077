"""Finished runs, kept in one SQLite file: put, get, missing.

A result is one committed row, keyed by the digest of its spec: what is in the file is finished, and running again does
only what is missing. Any number of processes may share a file; the first to finish a spec wins.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from taskorder._version import __version__
from taskorder.records import RunSpec

SCHEMA = """
create table if not exists results (
  digest text primary key, kind text not null, params text not null, result text not null,
  seconds real not null, version text not null
) without rowid
"""


class Store:
    """Results by spec; `path=None` keeps them in memory."""

    def __init__(self, path: str | Path | None = None) -> None:
        where = ":memory:" if path is None else str(path)
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(where, timeout=60)
            with self._db:
                self._db.execute(SCHEMA)
        except (sqlite3.Error, OSError) as problem:
            raise ValueError(f"`store` must be a writable SQLite file, got {where}: {problem}.") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def put(self, specs: Sequence[RunSpec], results: Sequence[Mapping[str, Any]], seconds: float) -> None:
        """Keep the results of a batch that took `seconds`, all in one transaction."""
        rows = [
            (spec.digest, spec.kind, _text(spec.params), _text(result), seconds / len(specs), __version__)
            for spec, result in zip(specs, results, strict=True)
        ]
        with self._db:
            self._db.executemany("insert or ignore into results values (?, ?, ?, ?, ?, ?)", rows)

    def get(self, specs: Iterable[RunSpec]) -> list[dict[str, Any] | None]:
        """The result of each spec, None where it is missing."""
        with closing(self._db.cursor()) as cursor:
            rows = [
                cursor.execute("select result from results where digest = ?", (s.digest,)).fetchone() for s in specs
            ]
        return [None if row is None else json.loads(row[0]) for row in rows]

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """The specs that have no result yet, in their order."""
        known = {row[0] for row in self._db.execute("select digest from results")}
        return [spec for spec in specs if spec.digest not in known]

    def seconds(self, specs: Iterable[RunSpec]) -> float:
        """What the results of `specs` took, in all."""
        spent = dict(self._db.execute("select digest, seconds from results").fetchall())
        return float(sum(spent.get(spec.digest, 0.0) for spec in specs))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
