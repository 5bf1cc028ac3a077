"""The finished runs of a store in order, however many: their list is on disk, and one run at a time in memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from taskorder.runs.results import config_key, damaged, score_names
from taskorder.runs.store import Entry, Store
from taskorder.runs.store_file import StoreError, scratch

INDEX_TABLE = (
    "create table runs (config integer not null, number integer not null, seed integer not null, digest not null)"
)
LARGEST = 2**63 - 1


class RunIndex:
    """The finished runs of a store, in order; it can be iterated over repeatedly."""

    def __init__(self, store: Store, rows: sqlite3.Connection, configs: dict[str, int]) -> None:
        self._store, self._rows, self._configs = store, rows, configs

    def __len__(self) -> int:
        return int(self._rows.execute("select count(*) from runs").fetchone()[0])

    def __iter__(self) -> Iterator[Entry]:
        """By kind and settings, set and seed."""
        for _, config in sorted(self._configs.items()):
            yield from self._entries("config = ?", config)

    def of_set(self, number: int) -> list[Entry]:
        """The runs of one task set."""
        return list(self._entries("number = ?", number))

    def set_range(self) -> tuple[int, int]:
        """The smallest and the largest number of a set."""
        low, high = self._rows.execute("select min(number), max(number) from runs").fetchone()
        return low, high

    def setting_names(self) -> list[str]:
        """The settings of all runs, in the order in which they first come."""
        configs = (json.loads(text)[1] for text in sorted(self._configs))
        return list(dict.fromkeys(name for settings in configs for name in sorted({*settings, "set", "seed"})))

    def score_names(self) -> list[str]:
        """The tables that any of the results has."""
        return list(dict.fromkeys(name for text in self._configs for name in score_names(json.loads(text)[1])))

    def _entries(self, where: str, value: int) -> Iterator[Entry]:
        query = f"select digest from runs where {where} order by config, number, seed, digest"
        for (digest,) in self._rows.execute(query, (value,)):
            entry = self._store.entry(digest)
            if entry is None:
                raise StoreError(f"`store` must keep its runs while they are read, got {self._store.path} without one.")
            yield entry


@contextmanager
def run_index(store: Store, kind: str) -> Iterator[RunIndex]:
    """The finished runs whose kind begins with `kind`."""
    configs: dict[str, int] = {}
    with scratch(INDEX_TABLE) as rows:
        rows.executemany("insert into runs values (?, ?, ?, ?)", _index_rows(store, kind, configs))
        rows.execute("create index by_set on runs (config, number, seed, digest)")
        yield RunIndex(store, rows, configs)


def _index_rows(store: Store, kind: str, configs: dict[str, int]) -> Iterator[tuple[int, int, int, str]]:
    """Where each run stands; `configs` numbers the settings as they come."""
    for entry in store.each_entry():
        if entry.kind.startswith(kind):
            number, seed = (entry.params.get(key) for key in ("set", "seed"))
            if type(number) is not int or type(seed) is not int or max(abs(number), abs(seed)) > LARGEST:
                raise damaged(store, "a run without its set and seed")
            yield configs.setdefault(config_key(entry), len(configs)), number, seed, entry.digest
