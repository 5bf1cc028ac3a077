"""Finished runs, kept in one SQLite file: put, get, missing.

A result is one committed row, keyed by the digest of its spec: what is in the file is finished, and running again does
only what is missing. Any number of processes may share a file; the first to finish a spec wins. A failed spec leaves
its error instead, until it succeeds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

from taskorder._version import __version__
from taskorder.parsing import json_values
from taskorder.runs.checksums import CHECKED, NAMED, Cell, checksum, checksum_so_far, fits, intact
from taskorder.runs.specs import RunSpec
from taskorder.runs.store_file import StoreError, StoreFile

ENTRY = (
    "kind, params, seconds, version, inputs, device, finished, "
    f"iif({intact('results')}, cast(coalesce(json_extract(result, '$.network_steps'), 0) as integer), null)"
)
"""What `Entry` holds after the digest; the last is null where the row is damaged."""
PAGE = 1000
"""Rows that are read at a time: writers wait for so many at most."""
DIGEST_PIECE = 2**16
"""Bytes of a list of digests that are read or written at a time."""


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


class Store(StoreFile):
    """Results by spec, in one SQLite file.

    Parameters
    ----------
    path : str or Path, optional
        The file; without one the results are in memory.
    create : bool
        Whether a file that is not there is made; with False it must be a store.

    Examples
    --------
    >>> from taskorder.runs.specs import RunSpec
    >>> specs = [RunSpec("square.1", {"x": x}) for x in (2, 3)]
    >>> with Store() as store:
    ...     store.put(specs[:1], [{"y": 4}], seconds=0.1)
    ...     store.get(specs)
    [{'y': 4}, None]
    """

    _named = False
    """Whether every row was seen to have its digest."""

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
        rest = float(seconds / max(len(specs), 1)), __version__, inputs, device, _now()
        rows = [
            _checked(spec.digest, spec.kind, _text(spec.params), _text(result), *rest)
            for spec, result in zip(specs, results, strict=True)
        ]
        with self._writing():
            self._db.executemany("insert or ignore into results values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("delete from failures where digest = ?", [row[:1] for row in rows])

    def fail(self, spec: RunSpec, error: str, *, device: str = "") -> None:
        """Keep why a spec has no result."""
        row = _checked(spec.digest, spec.kind, _text(spec.params), error, _now(), __version__, device)
        with self._writing():
            self._db.execute("insert or replace into failures values (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def request(self, name: str, config: Mapping[str, Any], specs: Sequence[RunSpec]) -> None:
        """Keep what was asked for, so that anybody can see how much of it is done.

        The digests are a JSON list that is written piece by piece, for there may be millions; they are made before the
        file is locked, for that takes minutes then.
        """
        with SpooledTemporaryFile(DIGEST_PIECE) as draft:
            for number, spec in enumerate(specs):
                draft.write(f'{", " if number else "["}"{spec.digest}"'.encode())
            draft.write(b"]" if specs else b"[]")
            row = name, _text(config), draft.tell()
            draft.seek(0)
            found = checksum_so_far(row[:2], row[2])
            while piece := draft.read(DIGEST_PIECE):
                found.update(piece)
            draft.seek(0)
            ask = "insert or replace into requests values (?, ?, zeroblob(?), ?)"
            with self._writing():
                place = self._db.execute(ask, (*row, found.hexdigest())).lastrowid
                assert place is not None
                with self._db.blobopen("requests", "digests", place) as blob:
                    while piece := draft.read(DIGEST_PIECE):
                        blob.write(piece)

    def forget(self, specs: Iterable[RunSpec]) -> None:
        """Drop what is known of `specs`, so that they are run anew."""
        digests = [(spec.digest,) for spec in specs]
        with self._writing():
            for table in ("results", "failures"):
                self._db.executemany(f"delete from {table} where digest = ?", digests)

    def drop_damaged(self) -> list[str]:
        """Delete all rows that are not what was written; what they are known by."""
        with self._writing():
            names = [
                *(
                    _row_name(*row)
                    for table in ("results", "failures")
                    for row in self._damaged_rows(table, "digest, kind, params")
                ),
                *(f"request {name}" for (name,) in self._damaged_rows("requests", "name")),
            ]
            for table in CHECKED:
                self._db.execute(f"delete from {table} where not {intact(table)}")
        return names

    def _damaged_rows(self, table: str, columns: str) -> list[Any]:
        return self._db.execute(f"select {columns} from {table} where not {intact(table)}").fetchall()

    def take(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Put rows of another store into this one, as they are; those that are there stay."""
        places = ", ".join("?" for _ in (*CHECKED[table], "checksum"))
        with self._writing():
            self._db.executemany(f"insert or ignore into {table} values ({places})", rows)

    def count(self) -> int:
        """How many runs are finished."""
        return int(self._read("select count(*) from results")[0][0])

    def get(self, specs: Iterable[RunSpec]) -> list[dict[str, Any] | None]:
        """The result of each spec, None where it is missing."""
        return [self.result(spec.digest) for spec in specs]

    def result(self, digest: str) -> dict[str, Any] | None:
        """The result of the spec with that digest, None where it is missing."""
        rows = self._read(f"select kind, params, result, {intact('results')} from results where digest = ?", digest)
        if not rows:
            self._refuse_lost()
            return None
        if not rows[0][-1]:
            raise self._damaged_row(digest, *rows[0][:2])
        result: dict[str, Any] = self._parsed(rows[0][2])
        return result

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """The specs that have no result yet, in their order; a damaged one counts, and whoever reads it hears of it."""
        ask = "select 1 from results where digest = ?"
        with self._guard():
            missing = [spec for spec in specs if self._db.execute(ask, (spec.digest,)).fetchone() is None]
        if missing:
            self._refuse_lost()
        return missing

    def _refuse_lost(self) -> None:
        """Refuse a store in which a run has lost its digest: it would seem to be missing. Once, for it reads all."""
        if not self._named:
            for row in self._read(f"select digest, kind, params from results where not {NAMED} limit 1"):
                raise self._damaged_row(*row)
            self._named = True

    def inputs(self, specs: Iterable[RunSpec]) -> set[str]:
        """Digests of the data that the results of `specs` were made from."""
        entries = (self.entry(spec.digest) for spec in specs)
        return {entry.inputs for entry in entries if entry is not None}

    def seconds(self, specs: Iterable[RunSpec]) -> float:
        """What the results of `specs` took, in all."""
        entries = (self.entry(spec.digest) for spec in specs)
        return sum((entry.seconds for entry in entries if entry is not None), 0.0)

    def entry(self, digest: str) -> Entry | None:
        """What is known of the finished run with that digest, None where it is missing."""
        rows = self._read(f"select digest, {ENTRY} from results where digest = ?", digest)
        if not rows:
            self._refuse_lost()
            return None
        return self._entry(rows[0])

    def entries(self) -> list[Entry]:
        """All that is finished, without the results."""
        return list(self.each_entry())

    def each_entry(self) -> Iterator[Entry]:
        """The same one after the other, for stores that may be large."""
        return map(self._entry, self._paged(ENTRY, "results"))

    def _entry(self, row: Sequence[Any]) -> Entry:
        digest, kind, params, *rest = row
        if rest[-1] is None:
            raise self._damaged_row(digest, kind, params)
        return Entry(digest, kind, self._parsed(params), *rest)

    def _damaged_row(self, *cells: object) -> StoreError:
        return self._damage(f"a row is not what was written ({_row_name(*cells)})")

    def failures(self) -> list[Failure]:
        """All that failed and has no result."""
        return list(self.each_failure())

    def each_failure(self) -> Iterator[Failure]:
        """The same one after the other, for stores that may be large."""
        for digest, kind, params, error, failed, whole in self._paged(
            f"kind, params, error, failed, {intact('failures')}", "failures"
        ):
            if not whole:
                raise self._damaged_row(digest, kind, params)
            yield Failure(digest, kind, self._parsed(params), error, failed)

    def requests(self) -> list[Request]:
        """All that was asked for, the latest last; `digests` tells whether they are as they were written."""
        rows = self._read("select name, config, rowid from requests order by rowid")
        return [Request(name, self._parsed(config), place) for name, config, place in rows]

    def digests(self, request: Request) -> Iterator[str]:
        """Those of all specs that were asked for, one after the other; none where it was asked again meanwhile."""
        ask = "select cast(name as blob), cast(config as blob), checksum from requests where rowid = ?"
        with self._guard():
            row = self._db.execute(ask, (request.place,)).fetchone()
            if row is None:
                return
            with self._db.blobopen("requests", "digests", request.place, readonly=True) as blob:
                left, found = b"", checksum_so_far(row[:2], len(blob))
                while piece := blob.read(DIGEST_PIECE):
                    found.update(piece)
                    whole, comma, left = (left + piece).rpartition(b",")
                    if comma:
                        yield from self._digest_list(whole.removeprefix(b"[") + b"]")
                yield from self._digest_list(left.removeprefix(b"["))
            if found.hexdigest() != row[2]:
                raise self._damage(f"what was asked for is not what was written ({request.name})")

    def _digest_list(self, text: bytes) -> list[str]:
        """The digests in the rest of a JSON list."""
        digests = self._parsed(b"[" + text, list)
        if not all(isinstance(digest, str) and digest.isascii() for digest in digests):
            raise self._damage("specs that are not listed by digest")
        return list(digests)

    def _paged(self, columns: str, table: str) -> Iterator[Any]:
        """Rows by digest; no lock is held and no more than a page is in memory while the caller works with them."""
        query = f"select digest, {columns} from {table}"
        page = self._read(f"{query} order by digest limit {PAGE}")
        while page:
            yield from page
            last = page[-1][0]
            page = self._read(f"{query} where digest > ? order by digest limit {PAGE}", last)
            if page and (isinstance(page[-1][0], bytes), page[-1][0]) <= (isinstance(last, bytes), last):
                raise self._damage("rows that are out of order")


def _row_name(digest: object, kind: object, params: object) -> str:
    """What people know a run by, as far as its row tells."""
    cells = (str(cell).encode(errors="replace") for cell in (digest, kind, params))
    if not fits(*cells):
        return f"digest {str(digest)[:12]}"
    known = json_values(str(params))
    names = [f"{key} {known[key]}" for key in ("set", "learned", "seed") if key in known]
    return ", ".join(names) or str(kind)


def _checked(*cells: Cell) -> tuple[Cell, ...]:
    """A row with its checksum."""
    return *cells, checksum(cells)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _text(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except ValueError:
        raise ValueError("A result must hold finite numbers, got NaN or infinity: the run has diverged.") from None
