"""Run what is missing on this machine, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from taskorder.execute.claims import Claims
from taskorder.records import RunSpec
from taskorder.store import Store, StoreError

RunBatch = Callable[[Sequence[RunSpec]], Sequence[dict[str, Any]]]
Report = Callable[[int, int], bool | None]
"""Called before every batch with (specs done, specs in all); a true answer asks for an early end."""
LOOK_AGAIN_SECONDS = 0.5
"""While other processes run all that is left."""


class Interrupted(Exception):
    """The caller asked for an early end; finished batches are in the store."""


def run(
    specs: Sequence[RunSpec], run_batch: RunBatch, store: Store, *, batch_size: int = 50, report: Report | None = None
) -> list[dict[str, Any]]:
    """The results of all `specs`, in their order; what the store lacks is run first."""
    complete(specs, run_batch, store, batch_size=batch_size, report=report)
    results = [result for result in store.get(specs) if result is not None]
    if len(results) < len(specs):
        raise RuntimeError(f"The store lost {len(specs) - len(results)} of {len(specs)} results while they were read.")
    return results


def complete(
    specs: Sequence[RunSpec],
    run_batch: RunBatch,
    store: Store,
    *,
    batch_size: int = 50,
    report: Report | None = None,
    keep_going: bool = False,
    inputs: str = "",
    device: str = "",
) -> int:
    """Run and keep, batch by batch, what the store lacks of `specs`; how many failed.

    Batches are cut at the same places whatever is missing, and kept whole, so that a run that was interrupted has the
    batches of one that was not. What another process is running is left to it, and waited for.

    keep_going: leave the errors of failing specs in the store and go on with the others.
    inputs, device: digest of the data and name of the device, kept with every result.
    """
    batches = [specs[start : start + batch_size] for start in range(0, len(specs), batch_size)]
    failed: set[str] = set()

    def left_of(batch: Sequence[RunSpec]) -> list[RunSpec]:
        return [spec for spec in store.missing(batch) if spec.digest not in failed]

    def attempt(batch: list[RunSpec]) -> None:
        began = time.perf_counter()
        try:
            results = run_batch(batch)
            store.put(batch, results, time.perf_counter() - began, inputs=inputs, device=device)
        except (StoreError, Interrupted):
            raise
        except Exception as problem:
            if not keep_going:
                raise
            if len(batch) > 1:  # one by one, to lose only those that fail
                for spec in batch:
                    attempt([spec])
                return
            store.fail(batch[0], f"{type(problem).__name__}: {problem}", device=device)
            failed.add(batch[0].digest)

    with Claims(store.path) as claims:
        left = left_of(specs)
        while left:
            worked = False
            done, wanted = len(specs) - len(left), {spec.digest for spec in left}
            for batch in batches:
                digests = [spec.digest for spec in batch]
                if wanted.isdisjoint(digests):
                    continue
                if report is not None and report(done, len(specs)):
                    raise Interrupted
                with claims.take(digests) as taken:
                    if taken:
                        worked = True
                        if mine := left_of(batch):  # another process may have finished it just now
                            attempt(mine)
                        done += len(wanted.intersection(digests))
            left = left_of(specs)
            if left and not worked:
                time.sleep(LOOK_AGAIN_SECONDS)
    return len(failed)
