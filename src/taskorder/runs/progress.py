"""How far the requests of a store are, in memory that does not grow with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from taskorder.runs.locks import locked_elsewhere
from taskorder.runs.store import Entry, Failure, Store
from taskorder.runs.store_file import scratch

REQUESTED = "create table requested (digest text not null, request integer not null)"


@dataclass
class RequestProgress:
    """How far one request is, or what the results are that belong to none."""

    name: str
    settings: dict[str, Any]
    done: int = 0
    total: int = 0
    failed: int = 0
    running: int = 0
    seconds: float = 0
    network_steps: int = 0

    def add(self, entry: Entry) -> None:
        """One more is done."""
        self.done += 1
        self.seconds += entry.seconds
        self.network_steps += entry.network_steps


@dataclass
class StoreProgress:
    """How far all requests are."""

    tallies: list[RequestProgress] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    """The first ones."""
    num_failures: int = 0
    made: dict[str, set[str]] = field(default_factory=lambda: {"device": set(), "version": set(), "inputs": set()})
    """What the results were made with."""


def store_progress(store: Store, most_failures: int) -> StoreProgress:
    """What is done, failed and running of each request, what belongs to none, and so many failures at most."""
    progress, others = StoreProgress(), RequestProgress("(others)", {})
    with scratch(REQUESTED) as requested:
        for number, request in enumerate(store.requests()):
            tally = RequestProgress(request.name, request.config)
            rows = ((digest, number) for digest in store.digests(request))
            tally.total = requested.executemany("insert into requested values (?, ?)", rows).rowcount
            progress.tallies.append(tally)
        requested.execute("create index by_digest on requested (digest, request)")

        def requests_of(digest: str) -> list[RequestProgress]:
            rows = requested.execute("select distinct request from requested where digest = ?", (digest,))
            return [progress.tallies[number] for (number,) in rows]

        # Locks are read before results: what finishes in between counts as done, not as running and missing.
        digests = (digest for (digest,) in requested.execute("select distinct digest from requested"))
        running = set() if store.real_path is None else locked_elsewhere(store.real_path, digests)
        for failure in store.each_failure():
            progress.num_failures += 1
            if progress.num_failures <= most_failures:
                progress.failures.append(failure)
            for tally in requests_of(failure.digest) if failure.digest not in running else ():
                tally.failed += 1
        for entry in store.each_entry():
            running.discard(entry.digest)
            for tally in requests_of(entry.digest) or [others]:
                tally.add(entry)
            for key, values in progress.made.items():
                values.add(getattr(entry, key))
        for digest in running:
            for tally in requests_of(digest):
                tally.running += 1
    if others.done:
        others.total = others.done
        progress.tallies.append(others)
    return progress
