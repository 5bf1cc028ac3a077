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
from taskorder.runs.specs import RunSpec
from taskorder.runs.store_file import StoreError, StoreFile

ENTRY = (
    "cast(kind as text), params, cast(seconds as real), cast(version as text), cast(inputs as text), "
    "cast(device as text), cast(finished as text), "
    "cast(coalesce(json_extract(result, '$.network_steps'), 0) as integer)"
)
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
        with SpooledTemporaryFile(DIGEST_PIECE) as draft:
            for number, spec in enumerate(specs):
                draft.write(f'{", " if number else "["}"{spec.digest}"'.encode())
            draft.write(b"]" if specs else b"[]")
            row = name, _text(config), draft.tell()
            draft.seek(0)
            with self._writing():
                place = self._db.execute("insert or replace into requests values (?, ?, zeroblob(?))", row).lastrowid
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
            with self._db.blobopen("requests", "digests", request.place, readonly=True) as blob:
                left = b""
                while piece := blob.read(DIGEST_PIECE):
                    whole, comma, left = (left + piece).rpartition(b",")
                    if comma:
                        yield from self._digest_list(whole.removeprefix(b"[") + b"]")
                yield from self._digest_list(left.removeprefix(b"["))

    def _digest_list(self, text: bytes) -> list[str]:
        """The digests in the rest of a JSON list."""
        digests = self._parsed(b"[" + text, list)
        if not all(isinstance(digest, str) and digest.isascii() for digest in digests):
            raise StoreError(f"`store` must list its specs by digest, got {self.path} with others: it is damaged.")
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
                raise StoreError(f"`store` must be in order, got {self.path} with rows that are not: it is damaged.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _text(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except ValueError:
        raise ValueError("A result must hold finite numbers, got NaN or infinity: the run has diverged.") from None
