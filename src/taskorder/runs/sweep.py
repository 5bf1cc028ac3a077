"""The loop shared by all executors: send batches to workers, write their results to the store.

Workers return results, and only this process writes. The number of batches in flight is bounded and specs are read
batch by batch, so a million specs need no more memory than a thousand if the sequence generates them lazily.
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
"""Called before every batch, and repeatedly while waiting, with (specs done, specs in total); a true return value stops
the run."""
Device = str | Callable[[], str]
"""The name of the device, or a function that returns it on the worker."""
Finished = Callable[[Sequence[RunSpec], Sequence[dict[str, Any]]], object]
"""Called with every batch after it is written to the store."""
CHUNK = 1000
"""Number of specs held in memory while the finished ones are counted."""
RETRY_SECONDS = 0.5
"""How long to wait before checking again when other processes run all remaining specs."""


class Interrupted(Exception):
    """The caller stopped the run; finished batches are in the store."""


class Done(NamedTuple):
    """What a worker returns."""

    results: Sequence[dict[str, Any]]
    seconds: float
    device: str


class Workers(Protocol):
    """An executor of batches."""

    def batch_size(self, ask: Callable[[], None]) -> int:
        """The number of specs per batch; called once, and must call `ask` repeatedly while it waits."""

    def room(self) -> int:
        """The maximum number of batches in flight: the running ones, and a few queued ones to keep workers busy."""

    def start(self, batch: Sequence[RunSpec]) -> Hashable:
        """Submit a batch and return a ticket for it."""

    def wait(self) -> tuple[Hashable, Done | Exception] | None:
        """A finished ticket with its outcome, or None if none finished within a moment."""

    def cancel(self) -> None:
        """Cancel all batches in flight."""


class _Out(NamedTuple):
    batch: list[RunSpec]
    lock: ExitStack


def timed(run_batch: RunBatch, batch: Sequence[RunSpec], device: Device) -> Done:
    """Run a batch in this process, and measure its time."""
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
    """Run the `specs` that are missing from the store, write their results and return the number of failed specs.

    Batch boundaries do not depend on what is missing and each batch is stored as a whole, so an interrupted run has the
    same batches as an uninterrupted one. Specs that another process is running are not repeated but waited for.
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
        """Wait a moment for a finished batch, and store it."""
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
                if len(batch) > 1:  # retry one by one, so that only the failing specs are lost
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

    with SpecLocks(store.real_path) as locks:
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
                            if mine := left_of(batch):  # another process may just have finished it
                                out[workers.start(mine)] = _Out(mine, lock.pop_all())
                        else:
                            elsewhere = True
                    while len(out) >= workers.room():
                        receive()
                # Other processes hold all remaining specs: check again in a moment.
                if elsewhere and not worked:
                    time.sleep(RETRY_SECONDS)
        finally:
            workers.cancel()
            for _, lock in out.values():
                lock.close()
    return len(failed)


def chunks(specs: Sequence[RunSpec], size: int = CHUNK) -> Iterator[Sequence[RunSpec]]:
    """Split the specs into parts of `size`."""
    return (specs[start : start + size] for start in range(0, len(specs), size))


def error_text(problem: BaseException) -> str:
    """The text of an error in the store."""
    return f"{type(problem).__name__}: {problem}"
