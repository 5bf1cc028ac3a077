"""How far the requests of a store are, in memory that does not grow with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from taskorder.runs.locks import claimed
from taskorder.runs.store import Entry, Failure, Store, scratch

WANTED = "create table wanted (digest text not null, request integer not null)"


@dataclass
class Tally:
    """How far one request is, or what the results are that belong to none."""

    name: str
    settings: dict[str, Any]
    done: int = 0
    of: int = 0
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
class Standing:
    """How far all requests are."""

    tallies: list[Tally] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    """The first ones."""
    num_failures: int = 0
    made: dict[str, set[str]] = field(default_factory=lambda: {"device": set(), "version": set(), "inputs": set()})
    """What the results were made with."""


def standing(store: Store, most_failures: int) -> Standing:
    """What is done, failed and running of each request, what belongs to none, and so many failures at most."""
    found, others = Standing(), Tally("(others)", {})
    with scratch(WANTED) as wanted:
        for number, request in enumerate(store.requests()):
            tally = Tally(request.name, request.config)
            rows = ((digest, number) for digest in store.digests(request))
            tally.of = wanted.executemany("insert into wanted values (?, ?)", rows).rowcount
            found.tallies.append(tally)
        wanted.execute("create index by_digest on wanted (digest, request)")

        def asking(digest: str) -> list[Tally]:
            rows = wanted.execute("select distinct request from wanted where digest = ?", (digest,))
            return [found.tallies[number] for (number,) in rows]

        # claims are looked at before the results: what finishes in between counts as done, not as running and missing
        each = (digest for (digest,) in wanted.execute("select distinct digest from wanted"))
        running = set() if store.path is None else claimed(store.path, each)
        for failure in store.each_failure():
            found.num_failures += 1
            if found.num_failures <= most_failures:
                found.failures.append(failure)
            for tally in asking(failure.digest) if failure.digest not in running else ():
                tally.failed += 1
        for entry in store.each_entry():
            running.discard(entry.digest)
            for tally in asking(entry.digest) or [others]:
                tally.add(entry)
            for key, values in found.made.items():
                values.add(getattr(entry, key))
        for digest in running:
            for tally in asking(digest):
                tally.running += 1
    if others.done:
        others.of = others.done
        found.tallies.append(others)
    return found
