"""The loop that every executor shares: batches out to workers, results into the store.

Workers return, and only this process writes. Few batches are out at a time, and specs are looked at batch by batch:
a million of them need no more memory than a thousand, if the sequence that gives them makes them as they are asked for.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

from taskorder.runs.locks import SpecLocks
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.store_file import StoreError

RunBatch = Callable[[Sequence[RunSpec]], Sequence[dict[str, Any]]]
RunReport = Callable[[int, int], bool | None]
"""Called before every batch, and now and then while waiting, with (specs done, specs in all); a true answer asks for an
early end."""
Device = str | Callable[[], str]
"""The name of the device, or what says it where the batch is run."""
Finished = Callable[[Sequence[RunSpec], Sequence[dict[str, Any]]], object]
"""Called with every batch that is in the store."""
CHUNK = 1000
"""Specs that are in memory at a time while those that are done are counted."""
RETRY_SECONDS = 0.5
"""While other processes run all that is left."""


class Interrupted(Exception):
    """The caller asked for an early end; finished batches are in the store."""


class Done(NamedTuple):
    """What a worker returns."""

    results: Sequence[dict[str, Any]]
    seconds: float
    device: str


class Workers(Protocol):
    """Where batches are run."""

    def batch_size(self, ask: Callable[[], None]) -> int:
        """How many specs make a batch; asked once, and `ask` is to be called while waiting for the answer."""

    def room(self) -> int:
        """How many batches may be out at a time: those at work, and some that wait so that no worker does."""

    def start(self, batch: Sequence[RunSpec]) -> Hashable:
        """Hand a batch out; a ticket for it."""

    def wait(self) -> tuple[Hashable, Done | Exception] | None:
        """A ticket that is through with what came of it, or None when a moment has passed and nothing came."""

    def cancel(self) -> None:
        """End all that is out."""


class _Out(NamedTuple):
    batch: list[RunSpec]
    lock: ExitStack


def timed(run_batch: RunBatch, batch: Sequence[RunSpec], device: Device) -> Done:
    """Run a batch here."""
    began = time.perf_counter()
    results = list(run_batch(batch))
    return Done(results, time.perf_counter() - began, device if isinstance(device, str) else device())


def sweep(
    specs: Sequence[RunSpec],
    workers: Workers,
    store: Store,
    *,
    report: RunReport | None,
    keep_going: bool,
    inputs: str,
    device: Device,
    finished: Finished | None,
) -> int:
    """Have the workers run what the store lacks of `specs`, and keep it; how many failed.

    Batches are cut at the same places whatever is missing, and kept whole, so that a run that was interrupted has the
    batches of one that was not. What another process is running is left to it, and waited for.
    """
    failed: set[str] = set()
    out: dict[Hashable, _Out] = {}
    alone: deque[list[RunSpec]] = deque()
    done, batch_size, elsewhere = 0, 0, True

    def left_of(batch: Sequence[RunSpec]) -> list[RunSpec]:
        missing = store.missing(batch)
        return [spec for spec in missing if spec.digest not in failed] if failed else missing

    def check_interrupt() -> None:
        if report is not None and report(done, len(specs)):
            raise Interrupted

    def receive() -> None:
        """Wait a moment for a batch to come back, and keep it."""
        nonlocal done
        arrived = workers.wait()
        if arrived is None:
            check_interrupt()
            return
        ticket, outcome = arrived
        batch, lock = out.pop(ticket)
        with lock:
            try:
                if isinstance(outcome, Exception):
                    raise outcome
                store.put(batch, outcome.results, outcome.seconds, inputs=inputs, device=outcome.device)
            except (StoreError, Interrupted):
                raise
            except Exception as problem:
                if not keep_going:
                    raise
                if len(batch) > 1:  # one by one, to lose only those that fail
                    alone.extend([spec] for spec in batch)
                    return
                store.fail(batch[0], error_text(problem), device=device if isinstance(device, str) else "")
                failed.add(batch[0].digest)
            else:
                if finished is not None:
                    finished(batch, outcome.results)
        done += len(batch)

    def todo() -> Iterator[Sequence[RunSpec]]:
        for batch in chunks(specs, batch_size):
            yield batch
            while alone:
                yield alone.popleft()
        while out or alone:
            if alone:
                yield alone.popleft()
            else:
                receive()

    with SpecLocks(store.path) as locks:
        try:
            while elsewhere and (left := sum(len(left_of(part)) for part in chunks(specs))):
                done, worked, elsewhere = len(specs) - left, False, False
                batch_size = batch_size or workers.batch_size(check_interrupt)
                for batch in todo():
                    if not left_of(batch):
                        continue
                    check_interrupt()
                    with ExitStack() as lock:
                        if lock.enter_context(locks.hold([spec.digest for spec in batch])):
                            worked = True
                            if mine := left_of(batch):  # another process may have finished it just now
                                out[workers.start(mine)] = _Out(mine, lock.pop_all())
                        else:
                            elsewhere = True
                    while len(out) >= workers.room():
                        receive()
                # Other processes hold all that is left: look again in a moment.
                if elsewhere and not worked:
                    time.sleep(RETRY_SECONDS)
        finally:
            workers.cancel()
            for _, lock in out.values():
                lock.close()
    return len(failed)


def chunks(specs: Sequence[RunSpec], size: int = CHUNK) -> Iterator[Sequence[RunSpec]]:
    """The specs, so many at a time."""
    return (specs[start : start + size] for start in range(0, len(specs), size))


def error_text(problem: BaseException) -> str:
    """What the store keeps of an error."""
    return f"{type(problem).__name__}: {problem}"
