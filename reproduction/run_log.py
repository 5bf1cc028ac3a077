"""Logs of finished runs: packed text that grows by whole batches, for processes that may be killed at any moment."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.running import load_tables
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Entry, Store

LOG = ".runs.jsonl.gz"
LOG_BYTES = 12_000_000
"""A log that is larger is followed by a new one: what carries files back may refuse large ones."""


class Log:
    """A file of finished runs in a folder, a line each; every batch is a whole piece of packed text behind the others.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> Log(folder).add([RunSpec("square.1", {"x": 2})], [{"y": 4}], {"seconds": 0.1})
    >>> [(row["params"], row["result"]) for path in folder.iterdir() for row in rows_of(path)]
    [({'x': 2}, {'y': 4})]
    """

    def __init__(self, folder: Path) -> None:
        self._begin = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}"
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> Path:
        """The file that is written to now."""
        return self._begin.with_name(f"{self._begin.name}-{self._number}{LOG}")

    @property
    def num_bytes(self) -> int:
        """Its size."""
        return self.path.stat().st_size if self.path.exists() else 0

    def add(self, specs: Sequence[RunSpec], results: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> None:
        """Write a batch. about: seconds, device and inputs of each of its runs."""
        rows = [
            {"kind": spec.kind, "params": dict(spec.params), **about, "result": result}
            for spec, result in zip(specs, results, strict=True)
        ]
        self._number += self.num_bytes > LOG_BYTES
        text = "".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows)
        with open(self.path, "ab") as file:
            file.write(gzip.compress(text.encode(), 6))


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The runs in a log; a batch at its end that was being written when the process was killed is left out."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        try:
            yield from map(json.loads, file)
        except (EOFError, gzip.BadGzipFile) as problem:
            print(f"{path.name} ends within a batch: {problem}")


def load_kept(folder: Path, store: Store) -> int:
    """Put the runs in a folder, in logs, stores or what figures keep, into a store; how many were new."""
    before = store.count()
    load_tables(folder, store)
    for path in sorted(folder.glob(f"*{LOG}")):
        for row in rows_of(path):
            about = {"inputs": row["inputs"], "device": row["device"]}
            store.put([RunSpec(row["kind"], row["params"])], [row["result"]], row["seconds"], **about)
    with tempfile.TemporaryDirectory() as copies:  # a store of an older version is changed when it is opened
        for path in sorted(folder.glob("*.sqlite")):
            with Store(shutil.copy(path, copies), create=False) as other:
                copy_runs(other, store, other.each_entry())
    return store.count() - before


def copy_runs(source: Store, target: Store, entries: Iterable[Entry]) -> None:
    """Put some runs of a store into another."""
    for entry in entries:
        result, about = source.result(entry.digest), {"inputs": entry.inputs, "device": entry.device}
        target.put([RunSpec(entry.kind, entry.params)], [result or {}], entry.seconds, **about)
