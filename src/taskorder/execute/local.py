"""Run what is missing on this machine, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from taskorder.records import RunSpec
from taskorder.store import Store

RunBatch = Callable[[Sequence[RunSpec]], Sequence[dict[str, Any]]]
Report = Callable[[int, int], bool | None]
"""Called after every batch with (specs done, specs in all); a true answer asks for an early end."""


class Interrupted(Exception):
    """The caller asked for an early end; finished batches are in the store."""


def run(
    specs: Sequence[RunSpec], run_batch: RunBatch, store: Store, *, batch_size: int = 50, report: Report | None = None
) -> list[dict[str, Any]]:
    """The results of all `specs`, in their order; batches that the store lacks are run and kept one by one."""
    left = store.missing(specs)
    done = len(specs) - len(left)
    for start in range(0, len(left), batch_size):
        if report is not None and report(done + start, len(specs)):
            raise Interrupted
        batch = left[start : start + batch_size]
        began = time.perf_counter()
        results = run_batch(batch)
        store.put(batch, results, time.perf_counter() - began)
    found = store.get(specs)
    return [result for result in found if result is not None]
